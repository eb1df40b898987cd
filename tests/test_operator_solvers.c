/* A matrix that is a function of the user's, in solvers: moments, counts, bounds, evolution as of the stored one. */
#include "operator_cases.h"
#include <math.h>

static const wisp_bounds around = {.center = 0.1, .halfwidth = 9};

static void moments(void **state)
{
    (void)state;
    for (int k = 0; k < REF_PAIRS; k++)
        for (int v = 0; v < 4; v++) { /* the variants; the first in calls of four steps, too */
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
            wisp_mat *A;
            stored s;
            wisp_moments want, got;
            const wisp_type type = ref_pair[k].mat;
            const char *name =
                wisp_type_is_complex(type) ? "topi:nx=5,ny=4,nz=3" : "anderson:nx=7,ny=6,nz=5,disorder=2";
            REF_OK(ctx, wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.type = type}));
            wisp_mat *B = operator_of(ctx, &s, A);
            const wisp_kpm_opts o = {.moments = 41,
                                     .vectors = 5,
                                     .type = ref_pair[k].blk,
                                     .variant = (wisp_kpm_variant)(v % 3),
                                     .depth = v == 3 ? 4 : 0,
                                     .bounds.method = WISP_BOUNDS_GIVEN,
                                     .bounds.given = around};
            REF_OK(ctx, wisp_kpm(&want, A, &o));
            REF_OK(ctx, wisp_kpm(&got, B, &o));
            assert_true(got.depth == 1 && got.vectors == 5 && got.n == 41 && s.calls > 0);
            for (int64_t i = 0; i < got.vectors * got.n; i++)
                if (!(fabs(got.mu[i] - want.mu[i]) <= 400 * ref_eps(o.type) * want.mu[i - i % got.n]))
                    fail_msg("%s, variant %d: moment %lld of vector %lld is %g, should be %g",
                             wisp_type_name(ref_pair[k].blk), v % 3, (long long)(i % got.n), (long long)(i / got.n),
                             got.mu[i], want.mu[i]);
            wisp_moments_free(&want), wisp_moments_free(&got);
            wisp_mat_free(B), wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
}

/* In one go, with bounds by Lanczos: as many states as there are, and as many below zero as the stored matrix has. */
static void counted(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ring g = {500, 0.25};
    wisp_mat *A = ring_of(ctx, &g);
    wisp_moments m;
    double below, all;
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 1000, .trace = WISP_TRACE_EXACT}));
    REF_OK(ctx, wisp_count(ctx, &m, NULL, -1, -INFINITY, INFINITY, &all, NULL));
    REF_OK(ctx, wisp_count(ctx, &m, NULL, -1, -INFINITY, 0, &below, NULL));
    int want = 0;
    for (int i = 0; i < 500; i++) want += g.center - 2 * cos(2 * M_PI * i / 500) < 0;
    assert_true(fabs(all - 500) < 1e-6 && fabs(below - want) < 2);
    wisp_moments_free(&m);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* y = center x + width D x, where D is diagonal, from -1 to 1. */
typedef struct {
    double center, width;
} diagonal;

static wisp_status apply_diagonal(void *arg, wisp_blk *y, const wisp_blk *x)
{
    const diagonal *d = arg;
    const int64_t n = wisp_map_rows(wisp_blk_map(x));
    ref_mat m = ref_get(x);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m.cols; j++)
            REF_AT(m, i, j) *= d->center + d->width * (n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0);
    ref_put(y, m);
    ref_free(m);
    return WISP_OK;
}

static void check_diagonal(wisp_ctx *ctx, wisp_type type, int64_t rows, uint64_t seed, diagonal d)
{
    wisp_map *map;
    wisp_mat *A;
    wisp_bounds b;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    REF_OK(ctx, wisp_mat_from_apply(&A, ctx,
                                    &(wisp_operator){.map = map, .type = type, .apply = apply_diagonal, .arg = &d}));
    REF_OK(ctx, wisp_bounds_find(&b, A, &(wisp_bounds_opts){.seed = seed}));
    const double w = rows == 1 ? 0 : d.width, rounding = type == WISP_D ? 0 : 1e-6 * (w + fabs(d.center)),
                 least = fmax(w, 1e-6 * fabs(d.center)) + 100 * rounding;
    if (!(b.center - b.halfwidth <= d.center - w + rounding && b.center + b.halfwidth >= d.center + w - rounding))
        fail_msg("%s, %g -+ %g, %lld rows: bounds %g -+ %g", wisp_type_name(type), d.center, w, (long long)rows,
                 b.center, b.halfwidth);
    if ((w > 0 || d.center != 0) && !(b.halfwidth <= 1.3 * least))
        fail_msg("%s, %g -+ %g, %lld rows: bounds %g -+ %g are wide", wisp_type_name(type), d.center, w,
                 (long long)rows, b.center, b.halfwidth);
    wisp_mat_free(A);
    wisp_map_free(map);
}

/* Also where the squares of all its numbers are none of the type. */
static void bounds(void **state)
{
    (void)state;
    static const diagonal cases[] = {{0, 1},    {0, 1e-8}, {3, 1},     {-1e4, 1}, {1e6, 1e-3}, {7, 0},    {0, 0},
                                     {1e12, 5}, {-2, 1e9}, {0, 1e-25}, {0, 1e25}, {1, 1e-7},   {1e-9, 0}, {5, 4.999}};
    static const int64_t rows[] = {1, 2, 300};
    static const double units[][5] = {{1e-300, 1e-165, 1, 1e165, 1e300}, {1e-37, 1e-23, 1, 1e22, 1e35}};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int n = 0; n < 3; n++)
            for (uint64_t seed = 0; seed < 3; seed++) check_diagonal(ctx, WISP_D, rows[n], seed, cases[i]);
    static const diagonal plain[] = {{0, 1}, {3, 1}, {-1, 4}, {0.5, 0}};
    for (int single = 0; single < 2; single++)
        for (int u = 0; u < 5; u++)
            for (int i = 0; i < 4; i++) {
                const double by = units[single][u];
                const diagonal d = {plain[i].center * by, plain[i].width * by};
                for (int n = 0; n < 3; n++) check_diagonal(ctx, single ? WISP_S : WISP_D, rows[n], 0, d);
            }
    wisp_ctx_free(ctx);
}

/* About those of the stored matrix, in each type. */
static void bounds_of_stored(void **state)
{
    (void)state;
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int t = 0; t < 4; t++) {
        wisp_mat *A;
        stored s;
        wisp_bounds want, got;
        const char *name = wisp_type_is_complex(types[t]) ? "topi:nx=6,ny=6,nz=6" : "laplace:nx=9,ny=8,nz=7";
        REF_OK(ctx, wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.type = types[t]}));
        wisp_mat *B = operator_of(ctx, &s, A);
        REF_OK(ctx, wisp_bounds_find(&want, A, NULL));
        REF_OK(ctx, wisp_bounds_find(&got, B, NULL));
        assert_true(got.failure_probability > 0);
        assert_true(fabs(got.center - want.center) < 0.1 * want.halfwidth);
        assert_true(fabs(got.halfwidth - want.halfwidth) < 0.1 * want.halfwidth);
        wisp_mat_free(B), wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
}

static void evolution(void **state)
{
    (void)state;
    const double time[] = {0.7, 2, 5};
    static const wisp_type types[][2] = {{WISP_D, WISP_Z}, {WISP_Z, WISP_Z}, {WISP_C, WISP_C}, {WISP_S, WISP_C}};
    for (int t = 0; t < 4; t++)
        for (int width = 1; width <= 33; width += 32) {
            wisp_ctx *ctx = ref_ctx(NULL);
            wisp_mat *A;
            stored s;
            wisp_blk *psi[2];
            ref_mat out[2];
            wisp_evolution e;
            const int z = wisp_type_is_complex(types[t][0]), single = types[t][1] == WISP_C;
            REF_OK(ctx, wisp_mat_open(&A, ctx, z ? "topi:nx=4,ny=3,nz=3" : "laplace:nx=5,ny=4,nz=6",
                                      &(wisp_mat_opts){.type = types[t][0]}));
            wisp_mat *B = operator_of(ctx, &s, A);
            for (int i = 0; i < 2; i++) {
                REF_OK(ctx, wisp_blk_create(&psi[i], ctx, wisp_mat_map(A), types[t][1], width));
                REF_OK(ctx, wisp_blk_fill_random(psi[i], WISP_RANDOM_GAUSS, 3, 0, 0));
                REF_OK(ctx, wisp_evolve(&e, i ? B : A, psi[i], 3, time, NULL));
                out[i] = ref_get(psi[i]);
                wisp_blk_free(psi[i]);
            }
            assert_int_equal(e.depth, 1);
            ref_assert_close("evolution", out[1], out[0], single ? 2e-3 : 1e-8);
            ref_free(out[0]), ref_free(out[1]);
            wisp_mat_free(B), wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
}

static int decay(void *arg, double energy, wisp_scalar *value)
{
    (void)arg;
    *value = (wisp_scalar){exp(-energy / 3), 0};
    return 0;
}

static void functions(void **state)
{
    (void)state;
    static const wisp_type types[][2] = {{WISP_D, WISP_D}, {WISP_Z, WISP_Z}, {WISP_C, WISP_C}, {WISP_S, WISP_S}};
    for (int t = 0; t < 4; t++) {
        enum { WIDTH = 3 };
        wisp_ctx *ctx = ref_ctx(NULL);
        wisp_mat *A;
        stored s;
        wisp_blk *x[2];
        ref_mat out[2];
        const wisp_function f = {.value = decay};
        const int z = wisp_type_is_complex(types[t][0]), single = types[t][1] == WISP_C || types[t][1] == WISP_S;
        REF_OK(ctx, wisp_mat_open(&A, ctx, z ? "topi:nx=4,ny=3,nz=3" : "laplace:nx=5,ny=4,nz=6",
                                  &(wisp_mat_opts){.type = types[t][0]}));
        wisp_mat *B = operator_of(ctx, &s, A);
        for (int i = 0; i < 2; i++) {
            REF_OK(ctx, wisp_blk_create(&x[i], ctx, wisp_mat_map(A), types[t][1], WIDTH));
            REF_OK(ctx, wisp_blk_fill_random(x[i], WISP_RANDOM_GAUSS, 3, 0, 0));
            REF_OK(ctx, wisp_chebyshev_apply(NULL, &x[i], i ? B : A, x[i], 1, &f, NULL));
            out[i] = ref_get(x[i]);
            wisp_blk_free(x[i]);
        }
        ref_assert_close("functions", out[1], out[0], single ? 2e-3 : 1e-8);
        ref_free(out[0]), ref_free(out[1]);
        wisp_mat_free(B), wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments),          cmocka_unit_test(counted),   cmocka_unit_test(bounds),
        cmocka_unit_test(bounds_of_stored), cmocka_unit_test(evolution), cmocka_unit_test(functions),
    };
    return REF_RUN(tests);
}
