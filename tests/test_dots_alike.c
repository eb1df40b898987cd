/* The dots of a product have the same bits whatever else is asked for beside them, and with a power of two as factor of
   the matrix: kernels have constants for some terms and not for others, and solvers promise the same digits whatever
   the unit. */
#include "ref.h"

enum { MOST_WIDTH = 12, SETS = 4, ALL = (1 << SETS) - 1, SCALE = 4 };
static const unsigned dot_of[SETS] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *y, *u;
    wisp_scalar dot[SETS][MOST_WIDTH];
} product;

/* Those dots of the sets whose bits are in `sets`, over what the factor makes of them. */
static void dots(product *p, int sets, double factor)
{
    wisp_scalar all[SETS * MOST_WIDTH];
    wisp_aug aug = {.dot = all, .u = sets & 8 ? p->u : NULL, .alpha = {factor, 0}};
    const int width = wisp_blk_width(p->x);
    if (factor != 1) aug.terms = WISP_SCALE;
    for (int s = 0; s < SETS; s++)
        if (sets & 1 << s) aug.terms |= dot_of[s];
    REF_OK(p->ctx, wisp_spmmv(p->y, p->A, p->x, &aug));
    for (int s = 0; s < SETS; s++) {
        const double over = s == 0 ? 1 : s == 2 ? factor * factor : factor;
        for (int j = 0; j < width && sets & 1 << s; j++)
            p->dot[s][j] = (wisp_scalar){all[s * width + j].re / over, all[s * width + j].im / over};
    }
}

static void check(product *p, const char *what)
{
    for (int s = 0; s < SETS; s++) {
        dots(p, 1 << s, 1);
        const product alone = *p;
        for (int sets = 1; sets <= ALL; sets++)
            for (int scaled = 0; scaled < 2 && sets & 1 << s; scaled++) {
                dots(p, sets, scaled ? SCALE : 1);
                for (int j = 0; j < wisp_blk_width(p->x); j++)
                    if (!(p->dot[s][j].re == alone.dot[s][j].re && p->dot[s][j].im == alone.dot[s][j].im))
                        fail_msg(
                            "%s, %d columns of %s: dot %d of column %d is %.17g, and with sets %x, scaled: %d, %.17g",
                            what, wisp_blk_width(p->x), wisp_type_name(wisp_blk_type(p->x)), s, j, alone.dot[s][j].re,
                            sets, scaled, p->dot[s][j].re);
            }
    }
}

static void of_block(product *p, const char *what, wisp_type type, int width)
{
    wisp_blk **blk[] = {&p->x, &p->u, &p->y};
    for (int i = 0; i < 3; i++) {
        REF_OK(p->ctx, wisp_blk_create(blk[i], p->ctx, wisp_mat_map(p->A), type, width));
        if (i < 2) REF_OK(p->ctx, wisp_blk_fill_random(*blk[i], WISP_RANDOM_GAUSS, 7, (uint32_t)i, 0));
    }
    check(p, what);
    for (int i = 0; i < 3; i++) wisp_blk_free(*blk[i]);
}

/* Rows in bundles, and alone; of chunks; of rows one after the other, with values and with patterns. */
static void are_alike(void **state)
{
    (void)state;
    static const char *const real_ones[] = {"laplace:points=7,nx=10,ny=11,nz=9", "graphene:nx=20,ny=9,vacancies=0.03",
                                            "delaunay:nx=20,ny=20", "anderson:nx=9,ny=8,nz=7,disorder=3"};
    static const char *const complex_ones[] = {"topi:nx=6,ny=5,nz=4", "graphene:nx=12,ny=9,vacancies=0.03"};
    static const int widths[] = {1, 2, 3, 4, 5, 8, MOST_WIDTH};
    static const struct {
        wisp_type mat, blk;
    } types[] = {{WISP_D, WISP_D}, {WISP_S, WISP_S}, {WISP_D, WISP_Z}, {WISP_S, WISP_D},
                 {WISP_Z, WISP_Z}, {WISP_C, WISP_C}, {WISP_C, WISP_Z}};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        product p = {.ctx = ref_isa_ctx(ref_isa[isa], 2)};
        for (int t = 0; p.ctx && t < 7; t++)
            for (int m = 0; m < (t < 4 ? 4 : 2); m++) {
                const char *spec = t < 4 ? real_ones[m] : complex_ones[m];
                REF_OK(p.ctx, wisp_mat_open(&p.A, p.ctx, spec, &(wisp_mat_opts){.type = types[t].mat}));
                for (int w = 0; w < 7; w++) of_block(&p, spec, types[t].blk, widths[w]);
                wisp_mat_free(p.A);
            }
        if (p.ctx) wisp_ctx_free(p.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
