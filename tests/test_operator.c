/* Operators: a matrix that is a function of the user's does what the stored one does, in products and powers; it fails
   as the function fails; what needs entries is refused. */
#include "operator_cases.h"
#include "data/store/store.h"
#include <math.h>
#include <stdio.h>

/* ---- products -------------------------------------------------------------------------------- */

static void products(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 5, 33};
    static const int64_t rows[] = {1, 7, 200, 3000};
    ref_rng r = {71};
    for (int k = 0; k < REF_PAIRS; k++)
        for (int n = 0; n < 4; n++) {
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + (int)ref_below(&r, 3), .no_pin = 1});
            const wisp_type type = ref_pair[k].mat;
            wisp_src src = ref_random_src(&r, type, rows[n], rows[n], 9);
            ref_sparse sparse = ref_sparse_of(&src, type);
            wisp_mat *A;
            stored s;
            char what[80];
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
            wisp_mat *B = operator_of(ctx, &s, A);
            snprintf(what, sizeof what, "%s operator, %lld rows", wisp_type_name(type), (long long)rows[n]);
            for (unsigned terms = 0; terms < REF_ALL_TERMS; terms += n == 2 ? 1 : 13) {
                ref_call c =
                    ref_call_new(&r, &sparse, ref_pair[k].blk, widths[ref_below(&r, 4)], terms, (int)ref_below(&r, 2));
                const int before = s.calls;
                ref_check_call(ctx, B, &c, (int)ref_below(&r, REF_VIEWS + 1), what);
                assert_int_equal(s.calls, before + 1);
                ref_call_free(&c);
            }
            wisp_mat_free(B);
            assert_int_equal(s.freed, 1);
            wisp_mat_free(A);
            ref_sparse_free(sparse);
            src.free_arg(src.arg);
            wisp_ctx_free(ctx);
        }
}

/* Rows in an order of their own: the function sees blocks as they are stored. */
static void ordered(void **state)
{
    (void)state;
    ref_rng r = {72};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    stored s;
    wisp_src src;
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:points=7,nx=6,ny=7,nz=8"));
    ref_mat dense = ref_dense(&src);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = WISP_ROWS_RCM}));
    wisp_mat *B = operator_of(ctx, &s, A);
    ref_check_product(ctx, &r, B, dense, WISP_D, 4, REF_KPM, 0, "in another order");
    wisp_mat_free(B), wisp_mat_free(A);
    wisp_src_close(&src);
    ref_free(dense);
    wisp_ctx_free(ctx);
}

/* Blocks without room for the halo of the matrix inside: the function moves x, and what lies in the same memory. */
static void moved(void **state)
{
    (void)state;
    enum { N = 500, WIDTH = 2, PARTS = 4 };
    ref_rng r = {75};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_mat *A;
    stored s;
    wisp_blk *all, *b[PARTS]; /* x, y, z, u */
    wisp_src src = ref_random_src(&r, WISP_D, N, N, 7);
    ref_mat dense = ref_dense(&src), in[PARTS];
    const wisp_scalar one = {1, 0}, ones[WIDTH] = {{1, 0}, {1, 0}};
    REF_OK(ctx, wisp_map_create(&map, ctx, N));
    REF_OK(ctx, wisp_blk_create(&all, ctx, map, WISP_D, PARTS * WIDTH));
    for (int i = 0; i < PARTS; i++) {
        in[i] = ref_random_block(&r, WISP_D, N, WIDTH);
        REF_OK(ctx, wisp_blk_cols(&b[i], all, i * WIDTH, WIDTH));
        ref_put(b[i], in[i]);
    }
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = map}));
    wisp_mat *B = operator_of(ctx, &s, A);
    const wisp_aug aug = {.terms = WISP_AXPBY | WISP_CHAIN | WISP_ADD,
                          .beta = one,
                          .delta = one,
                          .eta = one,
                          .z = b[2],
                          .u = b[3],
                          .add = ones};
    REF_OK(ctx, wisp_spmmv(b[1], B, b[0], &aug));
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < WIDTH; j++) {
            for (int64_t k = 0; k < N; k++) REF_AT(in[1], i, j) += REF_AT(dense, i, k) * REF_AT(in[0], k, j);
            REF_AT(in[1], i, j) += REF_AT(in[3], i, j);
            REF_AT(in[2], i, j) += REF_AT(in[1], i, j);
        }
    for (int i = 0; i < PARTS; i++) {
        ref_mat got = ref_get(b[i]);
        ref_assert_close("moved", got, in[i], 1e-12);
        ref_free(got), ref_free(in[i]);
        wisp_blk_free(b[i]);
    }
    wisp_blk_free(all);
    wisp_mat_free(B), wisp_mat_free(A);
    wisp_map_free(map);
    ref_free(dense);
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

static void no_rows(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ring g = {0};
    wisp_mat *A = ring_of(ctx, &g);
    wisp_blk *v[3];
    wisp_moments m;
    wisp_mat_info info;
    wisp_scalar dot[4] = {{7, 7}, {7, 7}, {7, 7}, {7, 7}};
    for (int i = 0; i < 3; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 1));
    const wisp_aug aug = {.terms = WISP_AXPBY | WISP_DOTS, .beta = {1, 0}, .dot = dot, .u = v[0]};
    REF_OK(ctx, wisp_spmmv(v[1], A, v[0], &aug));
    for (int i = 0; i < 4; i++) assert_true(dot[i].re == 0 && dot[i].im == 0);
    REF_OK(ctx, wisp_mpk(v, 3, A, &(wisp_mpk_opts){.steps = 4}));
    wisp_mat_get_info(A, &info);
    assert_true(info.rows == 0 && info.format == WISP_FORMAT_OPERATOR);
    REF_FAILS(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 8, .vectors = 1}), WISP_ERR_ARG, "no rows");
    for (int i = 0; i < 3; i++) wisp_blk_free(v[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* ---- powers ---------------------------------------------------------------------------------- */

enum { STEPS = 5, SUMS = 2, MOST_BLOCKS = STEPS + 2 };

/* What a recurrence leaves: the last two blocks of v, the sums, the dots. */
typedef struct {
    ref_mat block[2 + SUMS];
    wisp_scalar dot[STEPS * 4 * 33];
} outcome;

static outcome run_powers(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored_blocks, int depth)
{
    ref_rng r = {73};
    const int parts = wisp_type_is_complex(type);
    wisp_blk *v[MOST_BLOCKS], *z[SUMS], *u;
    wisp_scalar f[3][STEPS], eta[SUMS * STEPS], add[STEPS * 33];
    outcome o = {0};
    int depth_used = 0;
    for (int i = 0; i < 3 * STEPS; i++)
        f[i / STEPS][i % STEPS] = (wisp_scalar){0.4 * ref_uniform(&r), parts * 0.2 * ref_uniform(&r)};
    for (int i = 0; i < SUMS * STEPS; i++) eta[i] = (wisp_scalar){i == 3 ? 0 : ref_uniform(&r), 0};
    for (int i = 0; i < STEPS * width; i++) add[i] = (wisp_scalar){ref_uniform(&r), 0};
    const int blocks = stored_blocks + SUMS + 1;
    for (int i = 0; i < blocks; i++) {
        wisp_blk **b = i < stored_blocks ? &v[i] : i < stored_blocks + SUMS ? &z[i - stored_blocks] : &u;
        REF_OK(ctx, wisp_blk_create(b, ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_fill_random(*b, WISP_RANDOM_GAUSS, 5, (uint32_t)i, 0));
    }
    const wisp_mpk_opts opts = {.steps = STEPS,
                                .alpha = f[0],
                                .beta = f[1],
                                .gamma = f[2],
                                .terms = WISP_DOTS,
                                .dot = o.dot,
                                .sums = SUMS,
                                .z = z,
                                .eta = eta,
                                .depth = depth,
                                .depth_used = &depth_used,
                                .u = u,
                                .add = add};
    REF_OK(ctx, wisp_mpk(v, stored_blocks, A, &opts));
    if (!A->local.how->row) assert_int_equal(depth_used, 1);
    for (int i = 0; i < 2; i++) o.block[i] = ref_get(v[(STEPS + i) % stored_blocks]);
    for (int i = 0; i < SUMS; i++) o.block[2 + i] = ref_get(z[i]);
    for (int i = 0; i < stored_blocks; i++) wisp_blk_free(v[i]);
    for (int i = 0; i < SUMS; i++) wisp_blk_free(z[i]);
    wisp_blk_free(u);
    return o;
}

static void powers(void **state)
{
    (void)state;
    ref_rng r = {74};
    static const int widths[] = {1, 33};
    for (int k = 0; k < REF_PAIRS; k++)
        for (int way = 0; way < 4; way++) {
            const int width = widths[way % 2], blocks = way < 2 ? 2 : STEPS + 2;
            const wisp_type type = ref_pair[k].blk;
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
            wisp_src src = ref_random_src(&r, ref_pair[k].mat, 400, 400, 5);
            wisp_mat *A;
            stored s;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
            wisp_mat *B = operator_of(ctx, &s, A);
            outcome want = run_powers(ctx, A, type, width, blocks, 1),
                    got = run_powers(ctx, B, type, width, blocks, way % 2 ? 0 : 4);
            const double eps = 40 * ref_eps(type);
            for (int i = 0; i < 2 + SUMS; i++) {
                ref_assert_close("powers", got.block[i], want.block[i], eps);
                ref_free(want.block[i]), ref_free(got.block[i]);
            }
            for (int i = 0; i < STEPS * 4 * width; i++) {
                const double size = hypot(want.dot[i].re, want.dot[i].im);
                if (hypot(want.dot[i].re - got.dot[i].re, want.dot[i].im - got.dot[i].im) > eps * (4000 + 40 * size))
                    fail_msg("%s, dot %d: %g, should be %g", wisp_type_name(type), i, got.dot[i].re, want.dot[i].re);
            }
            wisp_mat_free(B), wisp_mat_free(A);
            src.free_arg(src.arg);
            wisp_ctx_free(ctx);
        }
}

/* ---- failures -------------------------------------------------------------------------------- */

static void failing_functions(void **state)
{
    (void)state;
    static const struct {
        wisp_status status, want;
        const char *words, *told;
    } cases[] = {{WISP_ERR_IO, WISP_ERR_CALLBACK, "the tape is torn", "input or output failed: the tape is torn"},
                 {WISP_ERR_NUMERIC, WISP_ERR_CALLBACK, NULL, "operator's function failed: a value is not finite"},
                 {WISP_ERR_CALLBACK, WISP_ERR_CALLBACK, NULL, "operator's function failed"},
                 {WISP_ERR_CANCELLED, WISP_ERR_CANCELLED, "enough", "enough"}};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    stored s;
    wisp_blk *v[2];
    wisp_moments m;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=5,nz=5", NULL));
    wisp_mat *B = operator_of(ctx, &s, A);
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 3));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const wisp_aug aug = {.terms = WISP_AXPBY, .beta = {1, 0}};
        s = (stored){.A = A, .fails_at = 1, .status = cases[i].status, .words = cases[i].words};
        REF_FAILS(ctx, wisp_spmmv(v[1], B, v[0], &aug), cases[i].want, cases[i].told);
        s.calls = 0, s.fails_at = 3;
        REF_FAILS(ctx, wisp_mpk(v, 2, B, &(wisp_mpk_opts){.steps = 5}), cases[i].want, cases[i].told);
        s.calls = 0, s.fails_at = 2;
        REF_FAILS(ctx, wisp_kpm(&m, B, &(wisp_kpm_opts){.moments = 64, .vectors = 2}), cases[i].want, cases[i].told);
        wisp_moments_free(&m);
    }
    s = (stored){.A = A};
    REF_OK(ctx, wisp_spmmv(v[1], B, v[0], NULL));
    wisp_ctx_cancel(ctx);
    REF_FAILS(ctx, wisp_spmmv(v[1], B, v[0], NULL), WISP_ERR_CANCELLED, "cancelled");
    assert_int_equal(s.calls, 1);
    wisp_ctx_resume(ctx);
    REF_OK(ctx, wisp_spmmv(v[1], B, v[0], NULL));
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
    wisp_mat_free(B), wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Each allocation fails in turn: refusals, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* they count their allocations apart */
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    wisp_mat *A;
    wisp_blk *v[2];
    stored s;
    int64_t before, after;
    int failures = 0;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=5,nz=5", NULL));
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 3));
    wisp_scalar gamma[2] = {{1, 0}, {2, 0}}, beta[2] = {{1, 0}, {1, 0}}, dot[2 * 3 * 3];
    const wisp_mpk_opts o = {.steps = 2, .gamma = gamma, .beta = beta, .terms = WISP_DOT_XY, .dot = dot};
    wisp_ctx_memory(ctx, &before, NULL);
    for (unsigned n = 1; n < 60; n++) {
        wisp_mat *B = NULL;
        s = (stored){.A = A};
        const wisp_operator op = {
            .map = wisp_mat_map(A), .type = WISP_D, .apply = apply_stored, .arg = &s, .free_arg = count_free};
        ctx->alloc_fail_at = atomic_load(&ctx->alloc_number) + n;
        wisp_status status = wisp_mat_from_apply(&B, ctx, &op);
        const int made = B != NULL;
        if (status == WISP_OK) status = wisp_mpk(v, 2, B, &o);
        ctx->alloc_fail_at = 0;
        wisp_mat_free(B);
        assert_int_equal(s.freed, made);
        if (status == WISP_OK) continue; /* there are fewer, or it was not needed */
        assert_true(status == WISP_ERR_NOMEM || status == WISP_ERR_CALLBACK);
        failures++;
    }
    assert_in_range(failures, 8, 58);
    wisp_ctx_memory(ctx, &after, NULL);
    assert_true(after - before < 4096); /* scratch memory */
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    enum { N = 200 };
    wisp_ctx *ctx = ref_ctx(NULL);
    ring g = {N, 2};
    wisp_mat *A = ring_of(ctx, &g), *B;
    wisp_map *map = wisp_mat_map(A), *other;
    wisp_blk *x, *y, *single;
    wisp_mat_props props;
    wisp_gather gather;
    wisp_bounds b;
    wisp_src src;
    int64_t hist[3];
    double ratio;
    static const char none[] = "whose entries are not known";
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=200"));
    REF_FAILS(ctx, wisp_mat_get_props(A, &props), WISP_ERR_UNSUPPORTED, none);
    REF_FAILS(ctx, wisp_mat_row_histogram(A, hist, 3), WISP_ERR_UNSUPPORTED, none);
    REF_FAILS(ctx, wisp_mat_fill_in(A, 4, 1, &ratio), WISP_ERR_UNSUPPORTED, none);
    REF_FAILS(ctx, wisp_mat_gather(A, WISP_D, 4, &gather), WISP_ERR_UNSUPPORTED, none);
    REF_FAILS(ctx, wisp_mat_update(A, &src), WISP_ERR_UNSUPPORTED, none);
    REF_FAILS(ctx, wisp_bounds_find(&b, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN}), WISP_ERR_UNSUPPORTED,
              "WISP_BOUNDS_GIVEN");
    REF_FAILS(ctx, wisp_mat_create(&B, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_OPERATOR}), WISP_ERR_ARG,
              "format");
    REF_FAILS(ctx, wisp_mat_from_apply(&B, ctx, &(wisp_operator){.map = map, .apply = apply_ring}), WISP_ERR_ARG,
              "type of its entries");
    assert_null(B);
    REF_FAILS(ctx, wisp_mat_from_apply(&B, ctx, &(wisp_operator){.map = map, .type = WISP_D}), WISP_ERR_ARG, "apply");
    REF_FAILS(ctx, wisp_mat_from_apply(&B, ctx, &(wisp_operator){.apply = apply_ring, .type = WISP_D}), WISP_ERR_ARG,
              "map");
    REF_OK(ctx, wisp_map_create(&other, ctx, N));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&y, ctx, other, WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&single, ctx, map, WISP_S, 2));
    REF_FAILS(ctx, wisp_spmmv(y, A, x, NULL), WISP_ERR_MISMATCH, "row map");
    REF_FAILS(ctx, wisp_spmmv(x, A, x, NULL), WISP_ERR_ARG, "overlap");
    REF_FAILS(ctx, wisp_spmmv(single, A, single, NULL), WISP_ERR_UNSUPPORTED, "single block");
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(single);
    wisp_map_free(other);
    wisp_src_close(&src);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void what_is_told(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ring g = {1000, 2};
    wisp_mat *A = ring_of(ctx, &g);
    wisp_mat_info info;
    wisp_choice c;
    wisp_cost plain, step;
    wisp_mat_get_info(A, &info);
    assert_true(info.rows == 1000 && info.cols == 1000 && info.nnz == 0 && info.bytes == 0 && info.type == WISP_D);
    assert_true(info.format == WISP_FORMAT_OPERATOR && (info.spill_bytes == 8000 || ref_ranks() > 1));
    REF_OK(ctx, wisp_mat_choose(A, WISP_D, 100, 100, &c));
    assert_true(c.width == 16 && c.seconds == 0);
    REF_OK(ctx, wisp_mat_choose(A, WISP_Z, 3, 100, &c));
    assert_int_equal(c.width, 3);
    REF_OK(ctx, wisp_spmmv_cost(A, WISP_D, 4, 0, &plain));
    const double column = 8 * (double)info.local_rows;
    assert_true(plain.bytes == 2 * 4 * column && plain.flops == 0);
    REF_OK(ctx, wisp_spmmv_cost(A, WISP_D, 4, REF_KPM, &step));
    assert_true(step.bytes == (2 + 3 + 3 + 3) * 4 * column && (step.flops > 0 || info.local_rows == 0));
    /* Freed after its context, with the block that it keeps. */
    wisp_blk *x, *y;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_AXPBY, .beta = {1, 0}}));
    wisp_blk_free(x), wisp_blk_free(y);
    wisp_ctx_free(ctx);
    wisp_mat_free(A);
}

/* An operator that is made of another one. */
static wisp_status apply_twice(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp_blk *v[3] = {NULL, (wisp_blk *)x, y};
    return wisp_mpk(v, 3, arg, &(wisp_mpk_opts){.steps = 1});
}

static void nested(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ring g = {64, 1.5};
    wisp_mat *A = ring_of(ctx, &g), *B;
    wisp_blk *b[4];
    ref_mat out[2];
    wisp_scalar dot[2][3 * 2];
    const wisp_scalar shift[2] = {{0.5, 0}, {0.25, 0}};
    REF_OK(ctx, wisp_mat_from_apply(
                    &B, ctx, &(wisp_operator){.map = wisp_mat_map(A), .type = WISP_D, .apply = apply_twice, .arg = A}));
    for (int i = 0; i < 4; i++) {
        REF_OK(ctx, wisp_blk_create(&b[i], ctx, wisp_mat_map(A), WISP_D, 2));
        REF_OK(ctx, wisp_blk_fill_random(b[i], WISP_RANDOM_GAUSS, 1, (uint32_t)(i % 2), 0));
    }
    for (int i = 0; i < 2; i++) {
        const wisp_aug aug = {.terms = REF_KPM, .alpha = {2, 0}, .beta = {-1, 0}, .shift = shift, .dot = dot[i]};
        REF_OK(ctx, wisp_spmmv(b[2 * i + 1], i ? B : A, b[2 * i], &aug));
        out[i] = ref_get(b[2 * i + 1]);
    }
    ref_assert_close("nested", out[1], out[0], 0);
    assert_memory_equal(dot[0], dot[1], 4 * sizeof(wisp_scalar));
    for (int i = 0; i < 2; i++) ref_free(out[i]);
    for (int i = 0; i < 4; i++) wisp_blk_free(b[i]);
    wisp_mat_free(B), wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),  cmocka_unit_test(ordered),  cmocka_unit_test(moved),
        cmocka_unit_test(no_rows),   cmocka_unit_test(powers),   cmocka_unit_test(failing_functions),
        cmocka_unit_test(no_memory), cmocka_unit_test(refusals), cmocka_unit_test(what_is_told),
        cmocka_unit_test(nested),
    };
    return REF_RUN(tests);
}
