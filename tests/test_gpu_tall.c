/* Products of tall and skinny blocks on GPUs, by tiles, and compensated sums: those of the CPU up to rounding, whatever
   the shape and the size of groups. */
#include "gpu_devices.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    wisp_type type;
    int64_t rows;
    int p, q;
} tall_case;
typedef struct {
    ref_mat w, v, upper; /* with what is beside the views */
    wisp_scalar *gram, *careful, *square;
} tall_result;

/* Products of views; one in place; and one of which V's last columns are not needed, and are NaN. */
static tall_result tall_make(wisp_ctx *ctx, const tall_case *c)
{
    const int p = c->p, q = c->q, some = q < p ? q : p, even = (some + 1) / 2 * 2;
    const wisp_scalar zero = {0}, one = {1, 0}, factor = {1.25, wisp_type_is_complex(c->type) ? -0.5 : 0},
                      beta = {-0.75, wisp_type_is_complex(c->type) ? 0.25 : 0};
    ref_rng r = {(uint64_t)(c->rows * 1000 + p * 10 + q)};
    tall_result t = {.gram = calloc((size_t)(p * q), sizeof *t.gram),
                     .careful = calloc((size_t)(p * q), sizeof *t.careful),
                     .square = calloc((size_t)(p * p), sizeof *t.square)};
    wisp_scalar *x = calloc((size_t)(p * q), sizeof *x);
    wisp_map *map;
    wisp_blk *base[3], *v, *w, *u, *first, *rest;
    REF_OK(ctx, wisp_map_create(&map, ctx, c->rows));
    for (int i = 0; i < 3; i++) {
        ref_mat b = ref_random_block(&r, c->type, c->rows, (i == 0 ? p : q) + 3);
        REF_OK(ctx, wisp_blk_create(&base[i], ctx, map, c->type, (i == 0 ? p : q) + 3));
        ref_put(base[i], b);
        ref_free(b);
    }
    REF_OK(ctx, wisp_blk_cols(&v, base[0], 1, p));
    REF_OK(ctx, wisp_blk_cols(&w, base[1], 2, q));
    REF_OK(ctx, wisp_blk_cols(&u, base[2], 0, q));
    for (int i = 0; i < p * q; i++) x[i] = ref_scalar(ref_value(&r, c->type));
    REF_OK(ctx, wisp_tsm_gram(t.gram, q, one, v, w, zero, 0));
    REF_OK(ctx, wisp_tsm_gram(t.careful, q, one, v, w, zero, WISP_KAHAN));
    REF_OK(ctx, wisp_tsm_gram(t.square, p, one, v, v, zero, 0));
    REF_OK(ctx, wisp_tsm_update(w, factor, v, x, q, beta));
    REF_OK(ctx, wisp_blk_cols(&first, v, 0, some));
    REF_OK(ctx, wisp_tsm_update(first, factor, v, x, q, beta));
    if (even < p) {
        REF_OK(ctx, wisp_blk_cols(&rest, v, even, p - even));
        REF_OK(ctx, wisp_blk_fill(rest, (wisp_scalar){ctx->backend == &wisp__backend_cpu ? 1 : NAN, 0}));
        wisp_blk_free(rest);
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < q; j++)
            if (j < i) x[i * q + j] = zero;
    REF_OK(ctx, wisp_tsm_update(u, one, v, x, q, factor));
    if (even < p) {
        REF_OK(ctx, wisp_blk_cols(&rest, v, even, p - even));
        REF_OK(ctx, wisp_blk_fill(rest, one));
        wisp_blk_free(rest);
    }
    t.v = ref_get(base[0]), t.w = ref_get(base[1]), t.upper = ref_get(base[2]);
    wisp_blk *const views[] = {first, u, w, v, base[0], base[1], base[2]};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) wisp_blk_free(views[i]);
    wisp_map_free(map);
    free(x);
    return t;
}

static void tall_free(tall_result *t)
{
    ref_free(t->v), ref_free(t->w), ref_free(t->upper);
    free(t->gram), free(t->careful), free(t->square);
}

static void tall_check(wisp_ctx *ctx, const tall_case *c, const tall_result *want, const tall_result *same)
{
    tall_result t = tall_make(ctx, c);
    const double eps = 100 * ref_eps(c->type), sums = eps * (double)(c->rows + 10);
    ref_assert_close("W = V X + beta W", t.w, want->w, eps * (c->p + 1));
    ref_assert_close("V = V X in place", t.v, want->v, eps * (c->p + 1));
    ref_assert_close("W = V X, X upper", t.upper, want->upper, eps * (c->p + 1));
    near_scalars(t.gram, want->gram, c->p * c->q, sums, "product");
    near_scalars(t.careful, want->careful, c->p * c->q, sums, "compensated product");
    near_scalars(t.square, want->square, c->p * c->p, sums, "square");
    if (same) { /* sums along a row don't hang on the group */
        same_block(t.w, same->w, "W = V X");
        same_block(t.v, same->v, "V = V X");
        same_block(t.upper, same->upper, "W = V X, X upper");
    }
    tall_free(&t);
}

/* With groups of so many items. */
static wisp_ctx *grouped(const char *items)
{
    setenv("WISP_GROUP", items, 1);
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    setenv("WISP_GROUP", "8", 1);
    return ctx;
}

static void tall(void **state)
{
    static const tall_case cases[] = {{WISP_D, 0, 3, 2},     {WISP_D, 1, 1, 1},    {WISP_D, 1003, 1, 1},
                                      {WISP_S, 77, 1, 3},    {WISP_C, 203, 2, 5},  {WISP_D, 131, 5, 1},
                                      {WISP_Z, 97, 3, 33},   {WISP_D, 500, 8, 8},  {WISP_S, 65, 33, 2},
                                      {WISP_D, 67, 130, 70}, {WISP_Z, 40, 33, 65}, {WISP_D, 2000, 33, 33}};
    enum { COUNT = sizeof cases / sizeof cases[0] };
    wisp_ctx *cpu = ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 1}), *plain = grouped("8"),
             *others[] = {grouped("1"), grouped("32")}, *both[DEVICES];
    (void)state;
    contexts(both);
    for (int i = 0; i < COUNT; i++) {
        tall_result want = tall_make(cpu, &cases[i]), same = tall_make(plain, &cases[i]);
        tall_check(plain, &cases[i], &want, &same);
        for (int k = 0; k < 2 && (i == 2 || i >= COUNT - 3); k++) tall_check(others[k], &cases[i], &want, &same);
        if (both[1] && (i == 2 || i >= COUNT - 3)) tall_check(both[1], &cases[i], &want, &same);
        tall_free(&want);
        tall_free(&same);
    }
    contexts_free(both);
    wisp_ctx_free(plain);
    for (int k = 0; k < 2; k++) wisp_ctx_free(others[k]);
    wisp_ctx_free(cpu);
}

/* Sums of which rounding leaves nothing are right if they are compensated. */
static void compensated(void **state)
{
    enum { ROWS = 3000, WIDTH = 3 };
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    (void)state;
    for (int t = 0; t < 4; t++) {
        wisp_ctx *ctx[DEVICES];
        wisp_scalar dot[DEVICES][WIDTH], gram[DEVICES][WIDTH * WIDTH];
        contexts(ctx);
        for (int d = 0; d < DEVICES; d++) {
            wisp_map *map;
            wisp_blk *x, *y;
            if (!ctx[d]) continue;
            ref_mat v = ref_new(ROWS, WIDTH);
            const bool im = wisp_type_is_complex(types[t]);
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < WIDTH; j++)
                    v.a[i * WIDTH + j] = (i % 3 == 0 ? 0x1p70 : i % 3 == 1 ? 1 + j : -0x1p70) * (im ? I : 1);
            REF_OK(ctx[d], wisp_map_create(&map, ctx[d], ROWS));
            REF_OK(ctx[d], wisp_blk_create(&x, ctx[d], map, types[t], WIDTH));
            REF_OK(ctx[d], wisp_blk_create(&y, ctx[d], map, types[t], WIDTH));
            ref_put(x, v);
            REF_OK(ctx[d], wisp_blk_fill(y, (wisp_scalar){1, 0}));
            REF_OK(ctx[d], wisp_dot_kahan(y, x, dot[d]));
            REF_OK(ctx[d], wisp_tsm_gram(gram[d], WIDTH, (wisp_scalar){1, 0}, y, x, (wisp_scalar){0}, WISP_KAHAN));
            for (int j = 0; j < WIDTH; j++) {
                const double sum = ROWS / 3 * (1 + j);
                if (dot[d][j].re != (im ? 0 : sum) || dot[d][j].im != (im ? sum : 0))
                    fail_msg("%s: a compensated sum of %s is %g%+gi, not %g", device[d], wisp_type_name(types[t]),
                             dot[d][j].re, dot[d][j].im, sum);
                for (int i = 0; i < WIDTH; i++)
                    assert_memory_equal(&gram[d][i * WIDTH + j], &dot[d][j], sizeof dot[d][j]);
            }
            ref_free(v);
            wisp_blk_free(x);
            wisp_blk_free(y);
            wisp_map_free(map);
        }
        contexts_free(ctx);
    }
}

/* What a device holds for the sums of a product is little beside the blocks. */
static void sums_are_few(void **state)
{
    enum { ROWS = 2048, WIDTH = 64 };
    const double blocks = 2.0 * ROWS * WIDTH * sizeof(double);
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp_scalar *x = calloc(WIDTH * WIDTH, sizeof *x);
    wisp_map *map;
    wisp_blk *v, *w;
    (void)state;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&v, ctx, map, WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_create(&w, ctx, map, WISP_D, WIDTH));
    REF_OK(ctx, wisp_tsm_gram(x, WIDTH, (wisp_scalar){1, 0}, v, w, (wisp_scalar){0}, 0));
    const double held = (double)atomic_load(&ctx->device_calls);
    if (!(held > 0 && held <= blocks / 16)) fail_msg("%.0f bytes for sums beside blocks of %.0f", held, blocks);
    wisp_blk_free(v);
    wisp_blk_free(w);
    wisp_map_free(map);
    free(x);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tall), cmocka_unit_test(compensated),
                                       cmocka_unit_test(sums_are_few)};
    look_for_devices();
    return devices_done("test_gpu_tall", cmocka_run_group_tests(tests, NULL, NULL));
}
