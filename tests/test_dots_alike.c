/* The dots of a product have the same bits whatever else is asked for beside them, and with a power of two as factor of
   the matrix: kernels have constants for some terms and not for others, and solvers promise the same digits whatever
   the unit. */
#include "ref.h"
#include <stdlib.h>

enum { MOST_WIDTH = 12, SETS = 4, ALL = (1 << SETS) - 1, SCALE = 4, UY = 1 << 3 };
static const unsigned dot_of[SETS] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *y, *u;
    wisp_scalar dot[SETS][MOST_WIDTH];
} product;

/* Those dots of the sets whose bits are in `sets`, divided by what the factor makes of them. */
static void dots(product *p, int sets, double factor)
{
    wisp_scalar all[SETS * MOST_WIDTH];
    wisp_aug aug = {.dot = all, .u = sets & UY ? p->u : NULL, .alpha = {factor, 0}};
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

/* Set s with others of `all`. */
static void check(product *p, int s, int all, const char *what)
{
    dots(p, 1 << s, 1);
    const product alone = *p;
    for (int sets = 1; sets <= ALL; sets++)
        for (int scaled = 0; scaled < 2 && sets & 1 << s && !(sets & ~all); scaled++) {
            dots(p, sets, scaled ? SCALE : 1);
            for (int j = 0; j < wisp_blk_width(p->x); j++) {
                const wisp_scalar one = alone.dot[s][j], now = p->dot[s][j];
                if (!(one.re == now.re && one.im == now.im))
                    fail_msg("%s, %d columns of %s: dot %d of column %d is %.17g + %.17g i; with sets %x, scaled: %d, "
                             "%.17g + %.17g i",
                             what, wisp_blk_width(p->x), wisp_type_name(wisp_blk_type(p->x)), s, j, one.re, one.im,
                             sets, scaled, now.re, now.im);
            }
        }
}

static void blocks_new(product *p, wisp_type type, int width)
{
    wisp_blk **blk[] = {&p->x, &p->u, &p->y};
    for (int i = 0; i < 3; i++) {
        wisp_map *map = i ? wisp_mat_map(p->A) : wisp_mat_col_map(p->A);
        REF_OK(p->ctx, wisp_blk_create(blk[i], p->ctx, map, type, width));
        REF_OK(p->ctx, wisp_blk_fill_random(*blk[i], WISP_RANDOM_GAUSS, 7, (uint32_t)i, 0));
    }
}

static void blocks_free(product *p) { wisp_blk_free(p->x), wisp_blk_free(p->u), wisp_blk_free(p->y); }

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
                for (int w = 0; w < 7; w++) {
                    blocks_new(&p, types[t].blk, widths[w]);
                    for (int s = 0; s < SETS; s++) check(&p, s, ALL, spec);
                    blocks_free(&p);
                }
                wisp_mat_free(p.A);
            }
        if (p.ctx) wisp_ctx_free(p.ctx);
    }
}

/* Dots of y with itself and with u, of a matrix that has far more rows than columns: x has no row for most of y's.
   Arrays end at a page that nobody may touch. */
static void of_tall_matrices(void **state)
{
    (void)state;
    enum { ROWS = 3001, COLUMNS = 5, WIDTHS = 5 };
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    static const int widths[WIDTHS] = {1, 2, 3, 4, 8};
    ref_rng r = {51};
    setenv("WISP_ALLOC_GUARD", REF_SANITIZED ? "0" : "1", 1);
    for (int k = 0; k < REF_ISAS * 4 * 2; k++) {
        const wisp_type type = types[k / 2 % 4];
        product p = {.ctx = ref_isa_ctx(ref_isa[k / 8], 2)};
        if (!p.ctx) continue;
        wisp_src src = ref_random_src(&r, type, ROWS, COLUMNS, 4);
        REF_OK(p.ctx, wisp_mat_create(&p.A, p.ctx, &src, &(wisp_mat_opts){.C = k % 2 ? 16 : 1}));
        for (int w = 0; w < WIDTHS; w++) {
            blocks_new(&p, type, widths[w]);
            for (int s = 2; s < SETS; s++) check(&p, s, ALL & ~3, "a tall matrix");
            blocks_free(&p);
        }
        wisp_mat_free(p.A);
        src.free_arg(src.arg);
        wisp_ctx_free(p.ctx);
    }
    unsetenv("WISP_ALLOC_GUARD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(are_alike), cmocka_unit_test(of_tall_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
