/* Plane waves by positions, waves that fit a sample, and moments of vectors that are made as they are needed. */
#include "ref.h"
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24 };

static wisp_mat *open_lattice(wisp_ctx *ctx, const char *spec, wisp_positions *at)
{
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, spec, NULL));
    REF_OK(ctx, wisp_positions_open_gallery(at, ctx, spec));
    assert_int_equal(at->rows, wisp_map_rows(wisp_mat_map(A)));
    return A;
}

/* Each element against its definition, for orbitals and all rows, in both precisions. */
static void values(void **state)
{
    wisp_ctx *ctx = *state;
    static const char *const spec[] = {"haldane:nx=5,ny=4", "kagome:nx=3,ny=5,vacancies=0.2", "topi:nx=3,ny=2,nz=2",
                                       "square:nx=4,ny=7"};
    ref_rng r = {3};
    for (int i = 0; i < 16; i++) {
        enum { W = 5 };
        const wisp_type type = i % 2 ? WISP_Z : WISP_C;
        wisp_positions at;
        wisp_mat *A = open_lattice(ctx, spec[i / 2 % 4], &at);
        wisp_blk *x;
        double k[3 * W];
        int orbital[W];
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, W));
        for (int j = 0; j < 3 * W; j++) k[j] = 7 * ref_uniform(&r);
        for (int j = 0; j < W; j++) orbital[j] = (int)ref_below(&r, at.orbitals + 1) - 1;
        REF_OK(ctx, wisp_blk_fill_waves(x, &at, k, i < 8 ? orbital : NULL));
        const ref_mat got = ref_get(x);
        for (int j = 0; j < W; j++) {
            int64_t count = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int64_t row = 0; row < at.rows; row++) {
                    double xyz[3];
                    assert_int_equal(at.at(at.arg, row, xyz), 0);
                    const int64_t own = at.orbital ? at.orbital(at.arg, row) : row % at.orbitals;
                    const bool is = i >= 8 || orbital[j] < 0 || orbital[j] == own;
                    count += !pass && is;
                    const double phase = k[3 * j] * xyz[0] + k[3 * j + 1] * xyz[1] + k[3 * j + 2] * xyz[2];
                    const cplx want = is ? cexp(I * phase) / sqrt((double)count) : 0;
                    if (pass) assert_true(cabs(REF_AT(got, row, j) - want) <= (i % 2 ? 1e-14 : 1e-6));
                }
        }
        ref_free(got);
        wisp_blk_free(x);
        wisp_mat_free(A);
        wisp_positions_close(&at);
    }
}

/* A wave that fits goes into itself around the sample, is not far, and stays. */
static void fitted(void **state)
{
    wisp_ctx *ctx = *state;
    static const char *const spec[] = {"graphene:nx=7,ny=4", "graphene:nx=7,ny=4,periodic=y",
                                       "square:nx=5,ny=3,periodic=none", "topi:nx=3,ny=4,nz=5",
                                       "laplace:nx=9,periodic=x"};
    ref_rng r = {4};
    for (int i = 0; i < 50; i++) {
        wisp_positions at;
        double k[3], first[3], span = 0;
        REF_OK(ctx, wisp_positions_open_gallery(&at, ctx, spec[i % 5]));
        for (int d = 0; d < 3; d++) k[d] = first[d] = 9 * ref_uniform(&r);
        assert_int_equal(wisp_positions_fit_wave(&at, k), WISP_OK);
        double moved = 0;
        for (int d = 0; d < 3; d++) moved += (k[d] - first[d]) * (k[d] - first[d]);
        for (int v = 0; v < 3; v++) {
            if (!(at.periodic >> v & 1)) continue;
            const double *a = at.cell[v], turns = (k[0] * a[0] + k[1] * a[1] + k[2] * a[2]) / (2 * M_PI);
            assert_true(fabs(turns - nearbyint(turns)) < 1e-12);
            span += 1 / sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
        }
        assert_true(sqrt(moved) <= 2 * M_PI * span + 1e-15);
        memcpy(first, k, sizeof k);
        assert_int_equal(wisp_positions_fit_wave(&at, k), WISP_OK);
        for (int d = 0; d < 3; d++) assert_true(fabs(k[d] - first[d]) < 1e-12);
        wisp_positions_close(&at);
    }
}

typedef struct {
    wisp_positions at;
    double k[3 * N];
    int calls, fails;
} maker;

static wisp_status make(void *arg, int64_t first, wisp_blk *x)
{
    maker *m = arg;
    m->calls++;
    if (m->fails) return wisp_ctx_fail(wisp_blk_ctx(x), WISP_ERR_IO, "no vectors today");
    return wisp_blk_fill_waves(x, &m->at, m->k + 3 * first, NULL);
}

/* Of a ring each fitting wave is an eigenvector, so that moment n is T_n of its energy; in all variants and widths. The
   same as those of a block of all vectors, to rounding. */
static void moments(void **state)
{
    wisp_ctx *ctx = *state;
    maker m = {.calls = 0};
    wisp_mat *A = open_lattice(ctx, "laplace:nx=24,ny=1,periodic=x,points=5", &m.at);
    wisp_blk *all;
    ref_rng r = {8};
    for (int j = 0; j < N; j++) {
        m.k[3 * j] = 7 * ref_uniform(&r);
        assert_int_equal(wisp_positions_fit_wave(&m.at, m.k + 3 * j), WISP_OK);
    }
    REF_OK(ctx, wisp_blk_create(&all, ctx, wisp_mat_map(A), WISP_Z, N));
    REF_OK(ctx, wisp_blk_fill_waves(all, &m.at, m.k, NULL));
    for (int i = 0; i < 9; i++) {
        wisp_kpm_opts o = {.moments = 20 + i, .vectors = N, .trace = WISP_TRACE_GIVEN, .type = WISP_Z};
        wisp_moments one, other;
        o.variant = (wisp_kpm_variant)(i % 3), o.width = i % 3 ? 0 : i + 1;
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.center = 4, .halfwidth = 4.2}};
        o.start = make, o.start_arg = &m, m.calls = 0;
        REF_OK(ctx, wisp_kpm(&one, A, &o));
        assert_int_equal(m.calls, i % 3 ? N : (N + i) / (i + 1));
        o.start = NULL, o.right = all;
        REF_OK(ctx, wisp_kpm(&other, A, &o));
        assert_true(one.n == other.n && one.vectors == N && one.trace == WISP_TRACE_GIVEN);
        for (int64_t v = 0; v < one.n * N; v++) assert_true(fabs(one.mu[v] - other.mu[v]) < 1e-13);
        for (int j = 0; j < N; j++) {
            const double x = -2 * cos(m.k[3 * j]) / 4.2;
            for (int64_t n = 0; n < one.n; n++)
                assert_true(fabs(one.mu[j * one.n + n] - cos((double)n * acos(x))) < 1e-12);
        }
        wisp_moments_free(&one), wisp_moments_free(&other);
    }
    wisp_blk_free(all);
    wisp_mat_free(A);
    wisp_positions_close(&m.at);
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    maker m = {.fails = 1};
    wisp_moments made;
    wisp_mat *A = open_lattice(ctx, "square:nx=4,ny=4", &m.at);
    wisp_blk *x, *real;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_create(&real, ctx, wisp_mat_map(A), WISP_D, 1));
    const double k[3] = {1, NAN, 0}, zero[3] = {0};
    REF_FAILS(ctx, wisp_blk_fill_waves(x, &m.at, k, NULL), WISP_ERR_ARG, "not finite");
    REF_FAILS(ctx, wisp_blk_fill_waves(real, &m.at, zero, NULL), WISP_ERR_UNSUPPORTED, "complex");
    REF_FAILS(ctx, wisp_blk_fill_waves(x, &m.at, zero, (int[]){1}), WISP_ERR_ARG, "no orbital 1");
    m.at.rows = 15;
    REF_FAILS(ctx, wisp_blk_fill_waves(x, &m.at, zero, NULL), WISP_ERR_MISMATCH, "15 positions for 16 rows");
    m.at.rows = 16;
    wisp_kpm_opts o = {.vectors = 2, .type = WISP_Z, .trace = WISP_TRACE_GIVEN, .start = make, .start_arg = &m};
    REF_FAILS(ctx, wisp_kpm(&made, A, &o), WISP_ERR_IO, "no vectors today");
    o.trace = WISP_TRACE_RANDOM;
    REF_FAILS(ctx, wisp_kpm(&made, A, &o), WISP_ERR_ARG, "opts.start");
    o.trace = WISP_TRACE_GIVEN, o.right = x, o.vectors = 1;
    REF_FAILS(ctx, wisp_kpm(&made, A, &o), WISP_ERR_ARG, "opts.start");
    wisp_blk_free(x), wisp_blk_free(real);
    wisp_mat_free(A);
    wisp_positions_close(&m.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(fitted), cmocka_unit_test(moments),
                                       cmocka_unit_test(refusals)};
    return REF_RUN_ALL(tests);
}
