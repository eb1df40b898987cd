/* Slots: numbers in the device's memory, where ops put dots and take factors. With places ops do what they do with
   arrays; and nothing is waited for. */
#include "ref.h"
#include <stdlib.h>
#include <string.h>

enum { ROOM = 40 };

static void written_and_read(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2}), *other = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    wisp_slot *s;
    wisp_scalar put[3] = {{1, 2}, {3, 4}, {5, 6}}, got[ROOM];
    REF_OK(ctx, wisp_slot_create(&s, ctx, ROOM));
    REF_OK(ctx, wisp_slot_read(s, 0, ROOM, got));
    for (int i = 0; i < ROOM; i++) assert_true(got[i].re == 0 && got[i].im == 0);
    REF_OK(ctx, wisp_slot_write(s, 5, 3, put));
    for (int i = 0; i < 3; i++) put[i] = (wisp_scalar){-1, -1}; /* it was read */
    REF_OK(ctx, wisp_slot_read(s, 4, 5, got));
    for (int i = 0; i < 5; i++)
        assert_true(got[i].re == (i > 0 && i < 4 ? 2 * i - 1 : 0) && got[i].im == (i > 0 && i < 4 ? 2 * i : 0));
    REF_OK(ctx, wisp_slot_read(s, ROOM, 0, got));
    REF_OK(ctx, wisp_slot_sum(s, 5, 3));
    REF_OK(ctx, wisp_slot_read(s, 5, 3, got));
    for (int i = 0; i < 3; i++)
        assert_true(got[i].re == ref_ranks() * (2 * i + 1) && got[i].im == ref_ranks() * (2 * i + 2));
    REF_FAILS(ctx, wisp_slot_read(s, ROOM - 2, 3, got), WISP_ERR_ARG, "of a slot of 40");
    REF_FAILS(ctx, wisp_slot_write(s, -1, 1, put), WISP_ERR_ARG, "from -1 on");
    REF_FAILS(ctx, wisp_slot_write(s, 1, -1, put), WISP_ERR_ARG, "-1 numbers");
    REF_FAILS(ctx, wisp_slot_sum(s, INT64_MAX, 2), WISP_ERR_ARG, "of a slot");
    wisp_slot *none;
    REF_FAILS(ctx, wisp_slot_create(&none, ctx, 0), WISP_ERR_ARG, "a slot of 0");
    assert_null(none);
    wisp_blk *x;
    wisp_map *map;
    REF_OK(other, wisp_map_create(&map, other, 7));
    REF_OK(other, wisp_blk_create(&x, other, map, WISP_D, 2));
    const wisp_inner elsewhere = {.x = x, .y = x, .dot_at = {s, 0}};
    REF_FAILS(other, wisp_fuse(NULL, 0, &elsewhere, 1, 0), WISP_ERR_MISMATCH, "another context");
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(other);
    wisp_ctx_free(ctx); /* it lives as long as its slot does */
    wisp_slot_free(s);
    wisp_slot_free(NULL);
}

/* ---- ops -------------------------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *y, *u;
    wisp_slot *slot; /* shift[width], add, factors, then dots */
    wisp_scalar *f;  /* the same factors: [3][width] */
    int width;
} scene;

static scene scene_open(wisp_ctx *ctx, const char *matrix, wisp_type type, int width, wisp_halo halo)
{
    scene s = {.ctx = ctx, .width = width, .f = calloc(3 * (size_t)width, sizeof *s.f)};
    wisp_blk **all[] = {&s.x, &s.y, &s.u};
    ref_rng r = {(uint64_t)width + 7};
    assert_non_null(s.f);
    REF_OK(ctx, wisp_mat_open(&s.A, ctx, matrix, &(wisp_mat_opts){.type = type, .halo = halo}));
    for (int i = 0; i < 3; i++) {
        REF_OK(ctx, wisp_blk_create(all[i], ctx, wisp_mat_map(s.A), type, width));
        REF_OK(ctx, wisp_blk_fill_random(*all[i], WISP_RANDOM_GAUSS, 9, (uint32_t)i, 0));
    }
    REF_OK(ctx, wisp_slot_create(&s.slot, ctx, 20 * width));
    for (int i = 0; i < 3 * width; i++)
        s.f[i] = (wisp_scalar){ref_uniform(&r), wisp_type_is_complex(type) ? ref_uniform(&r) : 0};
    REF_OK(ctx, wisp_slot_write(s.slot, 0, 3 * width, s.f));
    return s;
}

static void scene_close(scene *s)
{
    wisp_blk_free(s->x), wisp_blk_free(s->y), wisp_blk_free(s->u);
    wisp_slot_free(s->slot);
    wisp_mat_free(s->A);
    free(s->f);
}

/* The same numbers, but for the signs of zeros. */
static void same(const scene *s, wisp_blk *a, wisp_blk *b)
{
    ref_mat x = ref_get(a), y = ref_get(b);
    for (int64_t i = 0; i < x.rows; i++)
        for (int j = 0; j < s->width; j++) assert_true(REF_AT(x, i, j) == REF_AT(y, i, j));
    ref_free(x), ref_free(y);
}

static void same_dots(const scene *s, int64_t at, const wisp_scalar *want, int n)
{
    wisp_scalar *got = malloc((size_t)n * sizeof *got);
    assert_non_null(got);
    REF_OK(s->ctx, wisp_slot_read(s->slot, at, n, got));
    for (int i = 0; i < n; i++) assert_true(got[i].re == want[i].re && got[i].im == want[i].im);
    free(got);
}

static int64_t trips(wisp_ctx *ctx)
{
    wisp_counts c;
    wisp_ctx_counts(ctx, &c);
    return c.round_trips;
}

/* A product with all that goes with it. */
static void multiply(scene *s, wisp_blk *copy)
{
    const int w = s->width;
    wisp_scalar *dot = calloc(4 * (size_t)w, sizeof *dot);
    assert_non_null(dot);
    wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_ADD | WISP_DOT_XY | WISP_DOT_YY | WISP_DOT_UY,
                    .alpha = {0.5, 0},
                    .beta = {-1, 0},
                    .shift = s->f,
                    .add = s->f + w,
                    .u = s->u,
                    .dot = dot};
    REF_OK(s->ctx, wisp_copy(copy, s->y));
    REF_OK(s->ctx, wisp_spmmv(copy, s->A, s->x, &aug));
    aug.shift = aug.add = NULL;
    aug.dot = NULL;
    aug.shift_at = (wisp_place){s->slot, 0};
    aug.add_at = (wisp_place){s->slot, w};
    aug.dot_at = (wisp_place){s->slot, 5 * w};
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_spmmv(s->y, s->A, s->x, &aug));
    assert_true(ref_ranks() > 1 || trips(s->ctx) == before);
    same(s, s->y, copy);
    same_dots(s, 5 * w, dot, 4 * w);
    aug.dot_at.first = 17 * w;
    REF_FAILS(s->ctx, wisp_spmmv(s->y, s->A, s->x, &aug), WISP_ERR_ARG, "spmmv: ");
    /* Dots may go where the factors are: these are taken before. */
    aug.terms &= ~(unsigned)WISP_AXPBY;
    aug.dot_at.first = 5 * w;
    REF_OK(s->ctx, wisp_spmmv(copy, s->A, s->x, &aug));
    aug.dot_at.first = w > 1 ? 1 : 0;
    REF_OK(s->ctx, wisp_spmmv(s->y, s->A, s->x, &aug));
    same(s, s->y, copy);
    REF_OK(s->ctx, wisp_slot_write(s->slot, 0, 3 * w, s->f));
    /* Places of terms that are not asked for are not looked at. */
    const wisp_aug plain = {.shift_at = {s->slot, 21 * w}, .add_at = {s->slot, -1}, .dot_at = {s->slot, 21 * w}};
    REF_OK(s->ctx, wisp_spmmv(copy, s->A, s->x, &plain));
    free(dot);
}

/* Updates with factors of places, some of them beside those of arrays; dots that stay beside others that come. */
static void fuse(scene *s, wisp_blk *copy)
{
    const int w = s->width;
    wisp_scalar *dot = calloc(3 * (size_t)w, sizeof *dot), *here = calloc((size_t)w, sizeof *here);
    assert_true(dot && here);
    REF_OK(s->ctx, wisp_copy(copy, s->y));
    wisp_term term[3] = {{.x = copy, .factor = s->f}, {.x = s->x, .factor = s->f + 2 * w}, {.x = s->u}};
    wisp_update update = {copy, 3, term};
    wisp_inner inner[3] = {{.x = copy, .y = copy, .dot = dot},
                           {.x = s->x, .y = copy, .dot = dot + w},
                           {.x = s->u, .y = copy, .dot = dot + 2 * w}};
    REF_OK(s->ctx, wisp_fuse(&update, 1, inner, 3, 0));
    term[0].x = update.y = s->y;
    term[1].factor = NULL;
    term[1].factor_at = (wisp_place){s->slot, 2 * w};
    for (int i = 0; i < 3; i++) inner[i].y = s->y;
    inner[0] = (wisp_inner){.x = s->y, .y = s->y, .dot_at = {s->slot, 10 * w}};
    inner[1].dot = here;
    inner[2].dot = NULL;
    inner[2].dot_at = (wisp_place){s->slot, 12 * w};
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_fuse(&update, 1, inner, 3, 0));
    assert_true(ref_ranks() > 1 || trips(s->ctx) == before + 1);
    same(s, s->y, copy);
    same_dots(s, 10 * w, dot, w);
    same_dots(s, 12 * w, dot + 2 * w, w);
    for (int j = 0; j < w; j++) assert_true(here[j].re == dot[w + j].re && here[j].im == dot[w + j].im);
    term[1].factor_at.first = 20 * w;
    REF_FAILS(s->ctx, wisp_fuse(&update, 1, NULL, 0, 0), WISP_ERR_ARG, "fuse: ");
    wisp_cost cost;
    REF_FAILS(s->ctx, wisp_fuse_cost(&update, 1, NULL, 0, &cost), WISP_ERR_ARG, "fuse: ");
    free(dot), free(here);
}

/* Steps, one after the other and interleaved: their dots, of all steps in one place. */
static void steps(scene *s)
{
    enum { STEPS = 3 };
    const int w = s->width;
    wisp_scalar *dot = calloc(4 * STEPS * (size_t)w, sizeof *dot);
    const wisp_scalar alpha[STEPS] = {{0.1, 0}, {0.2, 0}, {0.1, 0}}, beta[STEPS] = {{0, 0}, {-1, 0}, {-1, 0}};
    wisp_blk *v[2];
    assert_non_null(dot);
    for (int i = 0; i < 2; i++)
        REF_OK(s->ctx, wisp_blk_create(&v[i], s->ctx, wisp_mat_map(s->A), wisp_blk_type(s->x), w));
    for (int depth = 1; depth <= STEPS; depth += STEPS - 1) {
        wisp_mpk_opts o = {.steps = STEPS,
                           .alpha = alpha,
                           .beta = beta,
                           .terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY | WISP_DOT_UY,
                           .dot = dot,
                           .depth = depth,
                           .u = s->u};
        REF_OK(s->ctx, wisp_copy(v[0], s->x));
        REF_OK(s->ctx, wisp_mpk(v, 2, s->A, &o));
        o.dot = NULL;
        o.dot_at = (wisp_place){s->slot, 5 * w};
        REF_OK(s->ctx, wisp_copy(v[0], s->x));
        const int64_t before = trips(s->ctx);
        REF_OK(s->ctx, wisp_mpk(v, 2, s->A, &o));
        assert_true(ref_ranks() > 1 || trips(s->ctx) == before);
        same_dots(s, 5 * w, dot, 4 * STEPS * w);
        o.dot_at.first = 20 * w - 1;
        REF_FAILS(s->ctx, wisp_mpk(v, 2, s->A, &o), WISP_ERR_ARG, "mpk: ");
    }
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
    free(dot);
}

/* What one op puts there the next one takes, and the host waits once, in the end. */
static void from_op_to_op(scene *s, wisp_blk *copy)
{
    enum { TIMES = 6 };
    const int w = s->width;
    wisp_scalar *dot = calloc((size_t)w, sizeof *dot);
    assert_non_null(dot);
    REF_OK(s->ctx, wisp_scal(s->x, (wisp_scalar){0.01, 0}));
    REF_OK(s->ctx, wisp_copy(copy, s->y));
    for (int i = 0; i < TIMES; i++) { /* y += <x, y> x */
        const wisp_inner inner = {.x = s->x, .y = copy, .dot = dot};
        REF_OK(s->ctx, wisp_fuse(NULL, 0, &inner, 1, 0));
        const wisp_term term[2] = {{.x = copy}, {.x = s->x, .factor = dot}};
        REF_OK(s->ctx, wisp_fuse(&(wisp_update){copy, 2, term}, 1, NULL, 0, 0));
    }
    const int64_t before = trips(s->ctx);
    for (int i = 0; i < TIMES; i++) {
        const wisp_inner inner = {.x = s->x, .y = s->y, .dot_at = {s->slot, 15 * w}};
        REF_OK(s->ctx, wisp_fuse(NULL, 0, &inner, 1, 0));
        const wisp_term term[2] = {{.x = s->y}, {.x = s->x, .factor_at = {s->slot, 15 * w}}};
        REF_OK(s->ctx, wisp_fuse(&(wisp_update){s->y, 2, term}, 1, NULL, 0, 0));
    }
    assert_true(ref_ranks() > 1 || trips(s->ctx) == before);
    same(s, s->y, copy);
    same_dots(s, 15 * w, dot, w);
    free(dot);
}

static const char *matrix_of(wisp_type type)
{
    return wisp_type_is_complex(type) ? "topi:nx=5,ny=4,nz=3" : "laplace:nx=9,ny=7,nz=5";
}

static void ops_with_places(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 5, 33};
    static const wisp_halo halos[] = {WISP_HALO_OVERLAP, WISP_HALO_COLUMNS};
    for (int h = 0; h < (ref_ranks() > 1 ? 2 : 1); h++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2});
        for (wisp_type type = WISP_S; type <= WISP_Z; type++)
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
                scene s = scene_open(ctx, matrix_of(type), type, widths[i], halos[h]);
                wisp_blk *copy;
                REF_OK(ctx, wisp_blk_create(&copy, ctx, wisp_mat_map(s.A), type, widths[i]));
                multiply(&s, copy);
                fuse(&s, copy);
                from_op_to_op(&s, copy);
                steps(&s);
                wisp_blk_free(copy);
                scene_close(&s);
            }
        wisp_ctx_free(ctx);
    }
}

/* Half storage, and a function: the same product. */
static wisp_status apply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp_scalar *dot = calloc((size_t)wisp_blk_width(x), sizeof *dot); /* ops of the function have dots, too */
    wisp_status status = dot ? wisp_dot(x, x, dot) : WISP_ERR_NOMEM;
    free(dot);
    return status == WISP_OK ? wisp_spmmv(y, arg, x, NULL) : status;
}

static void other_matrices(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2});
    for (int kind = 0; kind < 2; kind++) {
        scene s = scene_open(ctx, matrix_of(WISP_Z), WISP_Z, 3, WISP_HALO_AUTO);
        wisp_mat *stored = s.A;
        wisp_blk *copy;
        REF_OK(ctx, wisp_blk_create(&copy, ctx, wisp_mat_map(stored), WISP_Z, 3));
        if (kind == 0) {
            if (ref_ranks() > 1) wisp_blk_free(copy), scene_close(&s);
            if (ref_ranks() > 1) continue; /* halves are of one rank */
            REF_OK(ctx, wisp_mat_open(&s.A, ctx, matrix_of(WISP_Z),
                                      &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .order = WISP_ROWS_NATURAL}));
            wisp_blk_free(copy), wisp_blk_free(s.x), wisp_blk_free(s.y), wisp_blk_free(s.u);
            wisp_blk **all[] = {&s.x, &s.y, &s.u, &copy};
            for (int i = 0; i < 4; i++) {
                REF_OK(ctx, wisp_blk_create(all[i], ctx, wisp_mat_map(s.A), WISP_Z, 3));
                REF_OK(ctx, wisp_blk_fill_random(*all[i], WISP_RANDOM_GAUSS, 9, (uint32_t)i, 0));
            }
            multiply(&s, copy);
        } else {
            const wisp_operator o = {.map = wisp_mat_map(stored), .type = WISP_Z, .apply = apply, .arg = stored};
            wisp_scalar dot[12];
            REF_OK(ctx, wisp_mat_from_apply(&s.A, ctx, &o));
            wisp_aug aug = {.terms = WISP_SHIFT | WISP_ADD | WISP_DOT_XY | WISP_DOT_UY,
                            .shift = s.f,
                            .add = s.f + 3,
                            .u = s.u,
                            .dot = dot};
            memset(dot, 0, sizeof dot);
            REF_OK(ctx, wisp_spmmv(copy, s.A, s.x, &aug));
            aug.shift_at = (wisp_place){s.slot, 0};
            aug.add_at = (wisp_place){s.slot, 3};
            aug.dot_at = (wisp_place){s.slot, 15};
            aug.shift = aug.add = NULL, aug.dot = NULL;
            REF_OK(ctx, wisp_spmmv(s.y, s.A, s.x, &aug));
            same(&s, s.y, copy);
            same_dots(&s, 15, dot, 12);
        }
        wisp_blk_free(copy);
        wisp_mat_free(s.A);
        s.A = stored;
        scene_close(&s);
    }
    wisp_ctx_free(ctx);
}

/* Of factors for real blocks the real parts are taken, on every device. */
static void real_parts(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    wisp_map *map;
    wisp_blk *x;
    wisp_slot *s;
    const wisp_scalar f[2] = {{2, 7}, {3, -1}};
    wisp_scalar dot[2];
    REF_OK(ctx, wisp_map_create(&map, ctx, 10));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 2));
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){1, 0}));
    REF_OK(ctx, wisp_slot_create(&s, ctx, 2));
    REF_OK(ctx, wisp_slot_write(s, 0, 2, f));
    const wisp_term term = {.x = x, .factor_at = {s, 0}};
    REF_OK(ctx, wisp_fuse(&(wisp_update){x, 1, &term}, 1, NULL, 0, 0));
    REF_OK(ctx, wisp_dot(x, x, dot));
    assert_true(dot[0].re == 40 && dot[1].re == 90);
    wisp_slot_free(s);
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(ops_with_places),
        cmocka_unit_test(other_matrices),
        cmocka_unit_test(real_parts),
    };
    return REF_RUN(tests);
}
