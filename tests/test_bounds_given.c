/* Bounds by the options of each solver: given ones, which leave the bits as they are, and bad ones; Gershgorin's, and a
   seed of their own. */
#include <stdbool.h>
#include "kpm_dense.h"

static int energy_itself(void *arg, double energy, wisp_scalar *value)
{
    (void)arg;
    *value = (wisp_scalar){energy, 0};
    return 0;
}

static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
static bool is_single(wisp_type t) { return t == WISP_S || t == WISP_C; }
static wisp_type complex_of(wisp_type t) { return is_single(t) ? WISP_C : WISP_Z; }

/* A random Hermitian matrix times `scale`, positive definite with a condition below ten. */
static wisp_mat *positive(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t n, double scale)
{
    ref_mat m = random_hermitian(r, type, n, 0.1);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += i == j ? 0 : cabs(REF_AT(m, i, j));
        REF_AT(m, i, i) = 1.5 * sum + 1;
    }
    for (int64_t i = 0; i < n * n; i++) m.a[i] *= scale;
    ref_round(m, type);
    wisp_mat *A = ref_mat_of(ctx, m, type);
    ref_free(m);
    return A;
}

static wisp_bounds_opts given(wisp_bounds b)
{
    return (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {b.center, b.halfwidth, 0}};
}

static void assert_same(const wisp_bounds *a, const wisp_bounds *b)
{
    if (a->center != b->center || a->halfwidth != b->halfwidth)
        fail_msg("bounds %.17g -+ %.17g, and %.17g -+ %.17g", a->center, a->halfwidth, b->center, b->halfwidth);
}

static void assert_same_block(const wisp_blk *x, const wisp_blk *y)
{
    ref_mat a = ref_get(x), b = ref_get(y);
    assert_true(a.rows == b.rows && a.cols == b.cols);
    assert_memory_equal(a.a, b.a, (size_t)(a.rows * a.cols) * sizeof *a.a);
    ref_free(a), ref_free(b);
}

/* ---- the bounds that a solver finds, given to it ------------------------------------------------------ */

static void same_moments(const wisp_mat *A, wisp_type type)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_kpm_opts o = {.moments = 40, .vectors = 3, .type = type, .seed = 5};
    wisp_moments want, got;
    REF_OK(ctx, wisp_kpm(&want, A, &o));
    o.bounds = given(want.bounds);
    REF_OK(ctx, wisp_kpm(&got, A, &o));
    assert_same(&want.bounds, &got.bounds);
    assert_true(want.bounds_method == WISP_BOUNDS_LANCZOS && got.bounds_method == WISP_BOUNDS_GIVEN);
    assert_true(isnan(got.bounds.failure_probability));
    assert_memory_equal(want.mu, got.mu, 3 * 40 * sizeof *got.mu);
    wisp_moments_free(&want), wisp_moments_free(&got);
}

static void same_evolution(const wisp_mat *A, wisp_type type, double scale)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    const double time = 2 / scale;
    wisp_evolve_opts o = {.tolerance = is_single(type) ? 1e-3 : 0};
    wisp_evolution want, got;
    wisp_blk *psi[2];
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_create(&psi[i], ctx, wisp_mat_map(A), complex_of(type), 2));
        REF_OK(ctx, wisp_blk_fill_random(psi[i], WISP_RANDOM_GAUSS, 3, 8, 0));
    }
    REF_OK(ctx, wisp_evolve(&want, A, psi[0], 1, &time, &o));
    o.bounds = given(want.bounds);
    REF_OK(ctx, wisp_evolve(&got, A, psi[1], 1, &time, &o));
    assert_same(&want.bounds, &got.bounds);
    assert_true(isnan(got.bounds.failure_probability));
    assert_same_block(psi[0], psi[1]);
    for (int i = 0; i < 2; i++) wisp_blk_free(psi[i]);
}

/* A polynomial serves a hundred times. */
static void same_solution(const wisp_mat *A, wisp_type type, wisp_precond precond)
{
    enum { DEGREE = 3, WIDTH = 2 };
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_solve_opts o = {.method = WISP_CG, .precond = precond, .degree = DEGREE};
    wisp_bounds bounds;
    wisp_blk *x[2], *b;
    wisp_solution s[2];
    REF_OK(ctx, wisp_bounds_find(&bounds, A, &(wisp_bounds_opts){.sweeps = 100 * DEGREE * WIDTH, .width = WIDTH}));
    assert_true(bounds.center - bounds.halfwidth > (bounds.center + bounds.halfwidth) / 30);
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), type, WIDTH));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 3, 8, 0));
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_create(&x[i], ctx, wisp_mat_map(A), type, WIDTH));
        if (i == 1) o.bounds = given(bounds);
        REF_OK(ctx, wisp_solve(&s[i], x[i], A, b, &o));
    }
    assert_true(s[0].iterations == s[1].iterations);
    assert_same_block(x[0], x[1]);
    for (int i = 0; i < 2; i++) wisp_solution_free(&s[i]), wisp_blk_free(x[i]);
    wisp_blk_free(b);
}

static void same_pairs(const wisp_mat *A, wisp_eig_opts o)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_eigen want, got;
    REF_OK(ctx, wisp_eig(&want, A, &o));
    o.bounds = given(want.bounds);
    REF_OK(ctx, wisp_eig(&got, A, &o));
    assert_same(&want.bounds, &got.bounds);
    assert_true(isnan(got.bounds.failure_probability));
    assert_true(want.found > 0);
    assert_int_equal(want.found, got.found);
    assert_memory_equal(want.value, got.value, (size_t)want.found * sizeof *want.value);
    assert_same_block(want.vectors, got.vectors);
    if (want.method == WISP_CHEBFD)
        assert_true(want.moments->bounds_method == WISP_BOUNDS_LANCZOS &&
                    got.moments->bounds_method == WISP_BOUNDS_GIVEN);
    wisp_eigen_free(&want), wisp_eigen_free(&got);
}

static void same_bits(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 150 };
    for (int t = 0; t < 4; t++)
        for (int far = -1; far <= 1; far++) {
            const double scale = ldexp(1, far * (is_single(types[t]) ? 20 : 60));
            ref_rng r = {(uint64_t)(10 * t + far + 1)};
            wisp_mat *A = positive(ctx, &r, types[t], N, scale);
            wisp_eigen e;
            same_moments(A, types[t]);
            same_evolution(A, types[t], scale);
            same_solution(A, types[t], WISP_CHEBYSHEV);
            same_solution(A, types[t], WISP_NEUMANN);
            for (int m = 0; m < 2; m++)
                same_pairs(A, (wisp_eig_opts){
                                  .which = WISP_EIG_SMALLEST, .method = m ? WISP_LANCZOS : WISP_EIG_DENSE, .count = 3});
            REF_OK(ctx, wisp_eig(&e, A, &(wisp_eig_opts){.which = WISP_EIG_SMALLEST, .count = 3}));
            same_pairs(A, (wisp_eig_opts){
                              .which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = e.value[1].re, .count = 2});
            wisp_eigen_free(&e);
            wisp_mat_free(A);
        }
}

/* ---- those that are refused --------------------------------------------------------------------------- */

/* Each solver, its plan, and wisp_bounds_find say the same. */
static void refused(const wisp_mat *A, wisp_bounds_opts bad, wisp_status status, const char *words)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_bounds b;
    wisp_moments m;
    wisp_eigen e;
    wisp_plan cost;
    wisp_blk *x, *y;
    const double time = 1;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 3, 8, 0));
#define REFUSED(call)                               \
    do {                                            \
        REF_FAILS(ctx, call, status, words);        \
        assert_null(strchr(message_of(ctx), '\n')); \
    } while (0)
    REFUSED(wisp_bounds_find(&b, A, &bad));
    assert_true(b.center == 0 && b.halfwidth == 0 && b.failure_probability == 0);
    REFUSED(wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 8, .vectors = 1, .bounds = bad}));
    assert_null(m.mu);
    REFUSED(wisp_evolve(NULL, A, x, 1, &time, &(wisp_evolve_opts){.bounds = bad}));
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    REFUSED(wisp_kpm_plan(&cost, ctx, &info, &(wisp_kpm_opts){.moments = 8, .vectors = 1, .bounds = bad}, NULL));
    REFUSED(wisp_evolve_plan(&cost, ctx, &info, WISP_Z, 1, 1, &time, &(wisp_evolve_opts){.bounds = bad}, NULL));
    const wisp_scalar one = {1, 0};
    const wisp_function f = {.value = energy_itself}, constant = {.c = &one, .terms = 1};
    const wisp_chebyshev_opts of = {.bounds = bad};
    REFUSED(wisp_chebyshev_apply(NULL, &y, A, x, 1, &f, &of));
    REFUSED(wisp_chebyshev_plan(&cost, ctx, &info, WISP_Z, 1, 1, &f, &of, NULL));
    if (bad.method == WISP_BOUNDS_GIVEN) REFUSED(wisp_chebyshev_apply(NULL, &y, A, x, 1, &constant, &of));
    static const wisp_precond preconds[] = {WISP_CHEBYSHEV, WISP_NEUMANN};
    for (int p = 0; p < 2; p++)
        for (int method = WISP_METHOD_DEFAULT; method <= WISP_IDR; method = ref_next_method(method)) {
            const wisp_solve_opts o = {
                .method = (wisp_method)method, .precond = preconds[p], .degree = 2, .bounds = bad};
            REFUSED(wisp_solve(NULL, y, A, x, &o));
            REFUSED(wisp_solve_plan(&cost, ctx, &info, WISP_Z, 1, &o, NULL));
        }
    for (int method = 0; method <= WISP_EIG_DENSE; method++) {
        wisp_eig_opts o = {.method = (wisp_eig_method)method, .bounds = bad};
        if (method == WISP_CHEBFD) o.which = WISP_EIG_NEAREST;
        REFUSED(wisp_eig(&e, A, &o));
        assert_null(e.value);
        REFUSED(wisp_eig_plan(&cost, NULL, A, &o));
    }
    wisp_blk_free(x), wisp_blk_free(y);
}

static void bad_bounds(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_bounds none[] = {{0, 0, 0},         {0, -1, 0},       {2, -0.0, 0},         {NAN, 1, 0},
                                       {0, NAN, 0},       {HUGE_VAL, 1, 0}, {-HUGE_VAL, 1, 0},    {0, HUGE_VAL, 0},
                                       {0, -HUGE_VAL, 0}, {1e300, 1, 0},    {-1e308, 1.7e308, 0}, {1e308, 1e308, 0}};
    ref_rng r = {4};
    for (int far = -1; far <= 1; far++) { /* eig works with far matrices in units of its own */
        wisp_mat *A = positive(ctx, &r, WISP_D, 20, ldexp(1, 300 * far));
        for (size_t i = 0; i < sizeof none / sizeof *none; i++)
            refused(A, given(none[i]), WISP_ERR_ARG, "are no interval");
        refused(A, (wisp_bounds_opts){.given = {1, 2, 0}}, WISP_ERR_ARG, "with the method WISP_BOUNDS_GIVEN alone");
        refused(A, (wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN, .given = {1, 0, 0}}, WISP_ERR_ARG,
                "with the method WISP_BOUNDS_GIVEN alone");
        refused(A, (wisp_bounds_opts){.method = (wisp_bounds_method)3}, WISP_ERR_ARG, "bounds: unknown method 3");
        refused(A, (wisp_bounds_opts){.width = -1}, WISP_ERR_ARG, "none may be negative");
        refused(A, (wisp_bounds_opts){.sweeps = NAN}, WISP_ERR_ARG, "none may be negative");
        for (int i = 0; i < 4; i++) {
            wisp_bounds_opts later = {.method = WISP_BOUNDS_LANCZOS};
            later.reserved[i] = 1;
            refused(A, later, WISP_ERR_UNSUPPORTED, "wisp_bounds_opts");
        }
        wisp_mat_free(A);
    }
}

/* Of an operator there are no circles, and each solver tells. */
static wisp_status twice(void *arg, wisp_blk *y, const wisp_blk *x)
{
    (void)arg;
    return wisp_axpby(y, (wisp_scalar){2, 0}, x, (wisp_scalar){0, 0});
}

static void no_circles(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_map *map;
    wisp_mat *A;
    REF_OK(ctx, wisp_map_create(&map, ctx, 30));
    REF_OK(ctx, wisp_mat_from_apply(&A, ctx, &(wisp_operator){.map = map, .type = WISP_D, .apply = twice}));
    refused(A, (wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN}, WISP_ERR_UNSUPPORTED, "no entries for Gershgorin");
    wisp_mat_free(A);
    wisp_map_free(map);
}

/* ---- how they are found ------------------------------------------------------------------------------- */

/* A solver's bounds are those of wisp_bounds_find by its options, if these say all. */
static void found_like(const wisp_mat *A, wisp_bounds_opts how)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_bounds want;
    wisp_moments m;
    wisp_evolution evolution;
    wisp_blk *psi;
    wisp_mat_info info;
    const double time = 0;
    wisp_mat_get_info(A, &info);
    REF_OK(ctx, wisp_bounds_find(&want, A, &how));
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 8, .vectors = 4, .seed = 77, .bounds = how}));
    assert_same(&want, &m.bounds);
    assert_int_equal(m.bounds_method, how.method);
    wisp_moments_free(&m);
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), complex_of(info.type), 4));
    REF_OK(ctx, wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 3, 8, 0));
    REF_OK(ctx, wisp_evolve(&evolution, A, psi, 1, &time, &(wisp_evolve_opts){.bounds = how}));
    assert_same(&want, &evolution.bounds);
    const wisp_function f = {.value = energy_itself};
    wisp_expansion expansion;
    REF_OK(ctx, wisp_chebyshev_apply(&expansion, &psi, A, psi, 1, &f,
                                     &(wisp_chebyshev_opts){.tolerance = 1e-3, .bounds = how}));
    assert_same(&want, &expansion.bounds);
    wisp_blk_free(psi);
    for (int method = 0; method < 3; method++) {
        static const wisp_eig_method methods[] = {WISP_LANCZOS, WISP_CHEBFD, WISP_EIG_DENSE};
        wisp_eigen e;
        const wisp_eig_opts o = {.which = method == 1 ? WISP_EIG_NEAREST : WISP_EIG_SMALLEST,
                                 .method = methods[method],
                                 .target = want.center,
                                 .seed = 77,
                                 .bounds = how};
        REF_OK(ctx, wisp_eig(&e, A, &o));
        const double off = fabs(e.bounds.center - want.center) + fabs(e.bounds.halfwidth - want.halfwidth);
        if (!(off <= 0)) fail_msg("method %d: off by %g of %g", e.method, off, want.halfwidth);
        if (e.moments) assert_int_equal(e.moments->bounds_method, how.method);
        wisp_eigen_free(&e);
    }
}

static void told_how(void **state)
{
    wisp_ctx *ctx = *state;
    for (int t = 0; t < 4; t++)
        for (int far = -1; far <= 1; far++) {
            const int by = far * (is_single(types[t]) ? 90 : 900);
            ref_rng r = {(uint64_t)(10 * t + far + 1)};
            wisp_mat *A = positive(ctx, &r, types[t], 60, ldexp(1, by));
            found_like(A, (wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN});
            /* eig takes a far matrix as an operator, for which Lanczos begins elsewhere. */
            for (int seed = 1; far == 0 && seed < 4; seed++) {
                found_like(A, (wisp_bounds_opts){.seed = (uint64_t)seed, .sweeps = 500, .width = 1 + seed % 2});
                found_like(A, (wisp_bounds_opts){.seed = (uint64_t)seed, .sweeps_per_halfwidth = 99, .width = 2});
            }
            wisp_mat_free(A);
        }
}

/* A seed of the solver's is that of its bounds, unless they have one. */
static void seeds(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = mat_of_spec(ctx, "anderson:nx=9,ny=8,nz=7,disorder=9", NULL);
    wisp_kpm_opts o = {.moments = 30, .vectors = 4, .seed = 8};
    wisp_bounds_opts how = wisp_kpm_bounds_opts(WISP_D, 504, &o);
    assert_true(how.method == WISP_BOUNDS_LANCZOS && how.seed == 8 && how.sweeps == 60 && how.width == 4);
    o.bounds = (wisp_bounds_opts){.seed = 9, .width = 2};
    how = wisp_kpm_bounds_opts(WISP_D, 504, &o);
    assert_true(how.seed == 9 && how.sweeps == 60 && how.width == 2);
    o.bounds = (wisp_bounds_opts){.sweeps_per_halfwidth = 7, .width = 8};
    how = wisp_kpm_bounds_opts(WISP_D, 504, &o);
    assert_true(how.seed == 8 && how.sweeps == 0 && how.sweeps_per_halfwidth == 7 && how.width == 4);
    o.bounds = given((wisp_bounds){1, 20, 0});
    how = wisp_kpm_bounds_opts(WISP_D, 504, &o);
    assert_true(how.method == WISP_BOUNDS_GIVEN && how.given.center == 1 && how.given.halfwidth == 20);
    wisp_mat_info info;
    wisp_plan plan;
    wisp_mat_get_info(A, &info);
    REF_OK(ctx, wisp_bounds_plan(&plan, ctx, &info, &how, NULL));
    assert_true(plan.products == 0 && plan.sweeps == 0 && plan.seconds == 0 && plan.bytes_most == 0);
    wisp_mat_free(A);
}

/* Bounds that cut off the eigenvalue nearest to the target, by little: others are never called the nearest ones. */
static void cut_off(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_eigen e;
    wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 2, .count = 2};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=50,ny=50,nz=1", NULL));
    o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {6.00385, 3.99615, 0}};
    REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_BOUNDS, "2.00758668");
    assert_int_equal(e.complete, 0);
    wisp_eigen_free(&e);
    o.bounds.given = (wisp_bounds){6.00375, 3.99625, 0};
    REF_OK(ctx, wisp_eig(&e, A, &o));
    assert_true(e.complete && fabs(e.value[0].re - 2.007586685) < 1e-7);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
}

/* ---- bounds that hold, but for rounding --------------------------------------------------------------- */

/* Values within the bounds on the diagonal, both ends among them, which are rounded to the type; a vector for each
   end. */
static wisp_mat *at_the_edge(wisp_ctx *ctx, ref_rng *r, wisp_type type, wisp_bounds b, wisp_blk **ends)
{
    enum { N = 24 };
    ref_mat m = ref_new(N, N), x = ref_new(N, 2);
    for (int64_t i = 0; i < N; i++)
        REF_AT(m, i, i) = b.center + b.halfwidth * (i < 2 ? (double)(2 * i) - 1 : ref_uniform(r));
    REF_AT(x, 0, 0) = REF_AT(x, 1, 1) = 1;
    wisp_mat *A = ref_mat_of(ctx, m, type);
    REF_OK(ctx, wisp_blk_create(ends, ctx, wisp_mat_map(A), type, 2));
    ref_put(*ends, x);
    ref_free(m), ref_free(x);
    return A;
}

static wisp_status moments_of(const wisp_mat *A, const wisp_blk *x, wisp_bounds b, int64_t n, bool left, double *most)
{
    wisp_moments m;
    wisp_kpm_opts o = {.moments = n, .trace = WISP_TRACE_GIVEN, .right = x, .bounds = given(b)};
    if (left) o.left = x;
    const wisp_status status = wisp_kpm(&m, A, &o);
    *most = 0;
    for (int64_t i = 0; status == WISP_OK && i < 2 * n; i++) *most = fmax(*most, fabs(m.mu[i]));
    wisp_moments_free(&m);
    return status;
}

/* T_n x for n = terms - 1. */
static wisp_status polynomial_of(const wisp_mat *A, const wisp_blk *x, wisp_bounds b, int64_t terms)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_scalar *c = calloc((size_t)terms, sizeof *c);
    wisp_blk *y;
    c[terms - 1].re = 1;
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), wisp_blk_type(x), 2));
    const wisp_status status = wisp_chebyshev_apply(NULL, &y, A, x, 1, &(wisp_function){.c = c, .terms = terms},
                                                    &(wisp_chebyshev_opts){.bounds = given(b)});
    wisp_blk_free(y);
    free(c);
    return status;
}

/* As long as rounding of |center| + 1 may make no more than twice the moments; bounds that cut an end off are told. */
static void far_from_zero(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    for (int i = 0; i < 120; i++) {
        const wisp_type type = types[i % 4];
        const double eps = is_single(type) ? 0x1p-23 : 0x1p-52;
        const double center = (i % 8 < 4 ? 1 : -1) * (is_single(type) ? 3e3 : 3e6) * pow(fabs(ref_uniform(&r)), 2);
        const int64_t most = (int64_t)(1.3 / sqrt(8 * eps * (1 + fabs(center)))), n = most < 500 ? most : 500;
        wisp_blk *ends;
        wisp_mat *A = at_the_edge(ctx, &r, type, (wisp_bounds){center, 1, 0}, &ends);
        double largest;
        for (int left = 0; left < 2; left++) {
            REF_OK(ctx, moments_of(A, ends, (wisp_bounds){center, 1, 0}, n, left, &largest));
            if (largest > 1.6) fail_msg("center %g, %s: a moment of %g", center, wisp_type_name(type), largest);
            REF_FAILS(ctx, moments_of(A, ends, (wisp_bounds){center - 0.02, 0.99, 0}, 64, left, &largest),
                      WISP_ERR_BOUNDS, "take wider opts.bounds");
        }
        REF_OK(ctx, polynomial_of(A, ends, (wisp_bounds){center, 1, 0}, n));
        REF_FAILS(ctx, polynomial_of(A, ends, (wisp_bounds){center - 0.02, 0.99, 0}, 64), WISP_ERR_BOUNDS,
                  "take wider opts.bounds");
        wisp_blk_free(ends);
        wisp_mat_free(A);
    }
}

/* An upper end that single precision stores as more, by 2^-16 - 2^-24: T_n of it reaches cosh(n / 181). */
static void rounded_away(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {12};
    const wisp_bounds b = {300, 1 + 0x1p-16 + 0x1p-24, 0};
    wisp_blk *ends;
    wisp_mat *A = at_the_edge(ctx, &r, WISP_S, b, &ends);
    double largest;
    REF_OK(ctx, polynomial_of(A, ends, b, 300));
    REF_FAILS(ctx, moments_of(A, ends, b, 2000, false, &largest), WISP_ERR_BOUNDS, "rounding alone may do so");
    REF_FAILS(ctx, polynomial_of(A, ends, b, 2000), WISP_ERR_BOUNDS, "rounding alone may do so");
    REF_FAILS(ctx, polynomial_of(A, ends, (wisp_bounds){b.center, 0.9, 0}, 40), WISP_ERR_BOUNDS, "wider opts.bounds");
    assert_null(strstr(message_of(ctx), "rounding"));
    wisp_blk_free(ends);
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits),     cmocka_unit_test(bad_bounds),
                                       cmocka_unit_test(cut_off),       cmocka_unit_test(no_circles),
                                       cmocka_unit_test(told_how),      cmocka_unit_test(seeds),
                                       cmocka_unit_test(far_from_zero), cmocka_unit_test(rounded_away)};
    return REF_RUN_ALL(tests);
}
