/* Evolution that is not unitary, under H - iW: against small steps of a power series in long double, closed forms, what
   it says of its error, refusals. */
#include <stdbool.h>
#include "evolve_cases.h"
#include "kpm_dense.h"
#include "solver/solver.h"

typedef long double complex lcplx;
static const cplx i_unit = I;

/* ---- the series ---------------------------------------------------------------------------------- */

/* (-i)^n j_n exp(-c) of the series of exp(-i (u (a + c)/2 + (a - c)/2/u)), n < all: means over the circle. */
static lcplx *by_means(double a, double c, int64_t all)
{
    const int64_t points = 2 * all + 400;
    lcplx *root = calloc((size_t)(2 * points + all), sizeof *root), *value = root + points, *mean = value + points;
    for (int64_t i = 0; i < points; i++) {
        const long double theta = 2 * acosl(-1) * (long double)i / (long double)points;
        const lcplx u = cosl(theta) + sinl(theta) * (lcplx)i_unit;
        const lcplx z = ((long double)a + c) / 2 * u + ((long double)a - c) / 2 / u;
        root[i] = conjl(u);
        value[i] = cexpl(-(lcplx)i_unit * z - c) / points;
    }
    for (int64_t n = 0; n < all; n++)
        for (int64_t i = 0; i < points; i++) mean[n] += value[i] * root[n * i % points];
    memmove(root, mean, (size_t)all * sizeof *root);
    return root;
}

static void series(void **state)
{
    (void)state;
    enum { MORE = 40 };
    static const double sizes[] = {1e-200, 1e-9, 9e-7, 2e-6, 1e-3, 0.3, 7, 280};
    static const double heights[] = {0, 1e-9, 0.02, 0.3, 1, 1.0001, 50, 1e6};
    if (ref_elsewhere()) return; /* it is of the host alone */
    /* A sanitizer sees longest and shortest ones. */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s += REF_SANITIZED ? 7 : 1)
        for (size_t h = 0; h < sizeof heights / sizeof heights[0]; h++) {
            const double c = heights[h] > 1 ? sizes[s] : sizes[s] * heights[h],
                         a = heights[h] > 1 ? sizes[s] / heights[h] : sizes[s];
            for (double tolerance = 1e-2; tolerance > 1e-15; tolerance *= 1e-6) {
                const int64_t n = wisp__faber_terms(a, c, c, tolerance), all = n + MORE;
                double *j = calloc((size_t)all, sizeof *j), tail = 0;
                lcplx *should = by_means(a, c, all), turn = 1;
                wisp__faber_series(a, c, all, j);
                for (int64_t k = 0; k < all; k++, turn *= -(lcplx)i_unit) {
                    const double error = (double)cabsl(turn * j[k] - should[k]);
                    if (!(error <= 1e-14 * (1 + sqrt(a + c))))
                        fail_msg("a = %g, c = %g: j_%d is off by %g", a, c, (int)k, error);
                    if (k >= n) tail += 2 * fabs(j[k]);
                }
                if (!(tail <= tolerance * 1.001 + 1e-14)) fail_msg("a = %g, c = %g: the tail is %g", a, c, tail);
                free(j);
                free(should);
            }
        }
    assert_int_equal(wisp__faber_terms(0, 0, 0, 1e-3), 1);
}

/* ---- random matrices ------------------------------------------------------------------------------- */

/* exp(-i A t) psi, by as many steps of a power series as make each of norm 1 about. */
static ref_mat exact(ref_mat A, ref_mat psi, double t)
{
    enum { TERMS = 30 };
    const int64_t n = A.rows, width = psi.cols;
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        double row = 0;
        for (int64_t j = 0; j < n; j++) row += cabs(REF_AT(A, i, j));
        norm = fmax(norm, row);
    }
    const int64_t steps = 1 + (int64_t)(norm * fabs(t));
    const long double step = (long double)t / steps;
    lcplx *v = calloc((size_t)(3 * n), sizeof *v), *w = v + n, *sum = w + n;
    ref_mat out = ref_new(n, width);
    for (int64_t c = 0; c < width; c++) {
        for (int64_t i = 0; i < n; i++) sum[i] = REF_AT(psi, i, c);
        for (int64_t s = 0; s < steps; s++) {
            memcpy(v, sum, (size_t)n * sizeof *v);
            for (int k = 1; k < TERMS; k++) {
                for (int64_t i = 0; i < n; i++) {
                    w[i] = 0;
                    for (int64_t j = 0; j < n; j++) w[i] += (lcplx)REF_AT(A, i, j) * v[j];
                }
                for (int64_t i = 0; i < n; i++) v[i] = -(lcplx)i_unit * step / k * w[i], sum[i] += v[i];
            }
        }
        for (int64_t i = 0; i < n; i++) REF_AT(out, i, c) = (cplx)sum[i];
    }
    free(v);
    return out;
}

enum { TIMES = 7 };
/* ||a - b|| of the worst column, over the norm of start's. */
static double error_of(ref_mat a, ref_mat b, ref_mat start)
{
    ref_mat difference = ref_new(a.rows, a.cols);
    double worst = 0;
    for (int64_t i = 0; i < a.rows * a.cols; i++) difference.a[i] = a.a[i] - b.a[i];
    for (int64_t j = 0; j < a.cols; j++) worst = fmax(worst, column_norm(difference, j) / column_norm(start, j));
    ref_free(difference);
    return worst;
}

/* As wisp has the numbers: rounded to the matrix's type. */
static ref_mat as_stored(ref_mat A, wisp_type type)
{
    ref_mat B = ref_new(A.rows, A.cols);
    const bool single = type == WISP_S || type == WISP_C;
    for (int64_t i = 0; i < A.rows * A.cols; i++) {
        const wisp_scalar v = {creal(A.a[i]), cimag(A.a[i])};
        volatile float re = (float)v.re, im = (float)v.im;
        B.a[i] = single ? (double)re + i_unit * (double)im : A.a[i];
    }
    return B;
}

enum { POTENTIAL, EITHER_SIGN, GENERAL, NONE, UNIFORM, ALONE, KINDS };

/* Adds -iW to H. */
static void add_absorption(ref_rng *r, ref_mat H, wisp_type type, int kind, double size)
{
    const bool real = !wisp_type_is_complex(type);
    for (int64_t i = 0; i < H.rows; i++)
        for (int64_t j = 0; j < H.rows; j++) {
            const double u = ref_uniform(r);
            if (kind == ALONE && !real) REF_AT(H, i, j) = 0;
            if (kind == GENERAL || (real && kind != NONE))
                REF_AT(H, i, j) += size / sqrt((double)H.rows) * ref_value(r, type);
            else if (i == j && !real && (kind == POTENTIAL || kind == ALONE))
                REF_AT(H, i, j) -= i_unit * size * u;
            else if (i == j && !real && kind == EITHER_SIGN)
                REF_AT(H, i, j) -= i_unit * size * (u - 0.3);
            else if (i == j && !real && kind == UNIFORM)
                REF_AT(H, i, j) -= i_unit * size;
        }
}

static void compare(const char *what, ref_mat A, ref_mat start, const double *time, const record *seen,
                    const double *off, double tolerance, const wisp_evolution *e)
{
    for (int64_t i = 0; i < seen->seen; i++) {
        const wisp_bounds *w = &e->absorption;
        const double growth = exp(fmax(0, -w->center * time[i] + w->halfwidth * fabs(time[i])));
        ref_mat should = exact(A, start, time[i]);
        const double error = error_of(seen->psi[i], should, start);
        if (!(off[i] <= 3 * tolerance * growth * (1 + 1e-9))) /* of rounding three times as much is told */
            fail_msg("%s, time %g: %g is told, far above the tolerance", what, time[i], off[i]);
        if (!(error <= off[i])) fail_msg("%s, time %g: off by %g, and %g is told", what, time[i], error, off[i]);
        for (int64_t j = 0; j < start.cols; j++)
            if (!(fabs(seen->norm[i][j] - column_norm(should, j)) <= off[i] * column_norm(start, j)))
                fail_msg("%s, time %g: the norm is %g, should be %g", what, time[i], seen->norm[i][j],
                         column_norm(should, j));
        ref_free(should);
    }
}

static void random_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    static const ref_types combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
                                      {WISP_S, WISP_C}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    static const double times[][TIMES] = {
        {0, 0.1, 0.3, -0.2, -0.2, 1, 2.5}, {1, 2, 3, 4, 5, 6, 20}, {0, 0, 0, 0, 0, 0, 40}};
    static const int widths[] = {1, 3, 5};
    ref_rng r = {5};
    int whole = 0;
    const int runs = ref_few() ? 36 : 72; /* each pair of types with each kind, once or twice */
    for (int run = 0; run < runs; run++) {
        const ref_types t = combo[run % 6];
        const int kind = run / 6 % KINDS, width = widths[ref_below(&r, 3)], way = (int)ref_below(&r, 3);
        const bool single = t.mat == WISP_S || t.mat == WISP_C, in_single = t.blk == WISP_C;
        const double powers[] = {1, 1, 1e30, 1e-30, single ? 1e20 : 1e200, single ? 1e-20 : 1e-200},
                     power = powers[ref_below(&r, 6)];
        char what[80];
        ref_mat H = random_hermitian(&r, t.mat, 1 + ref_below(&r, 30), 0.2);
        add_absorption(&r, H, t.mat, kind, run % 5 ? 0.1 : 2);
        for (int64_t i = 0; i < H.rows * H.rows; i++) H.a[i] *= power;
        ref_mat A = as_stored(H, t.mat), start = ref_random_block(&r, t.blk, H.rows, width);
        double time[TIMES], off[TIMES];
        for (int i = 0; i < TIMES; i++) time[i] = times[way][i] / power;
        wisp_mat *M = ref_mat_of(ctx, A, t.mat);
        wisp_blk *psi;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), t.blk, width));
        ref_put(psi, start);
        record seen = {.seen = 0};
        wisp_evolution e;
        const double tolerance = in_single ? 1e-2 : run % 2 ? 1e-6 : 1e-9;
        const wisp_evolve_opts o = {.tolerance = tolerance,
                                    .non_hermitian = 1,
                                    .at_once = (int)ref_below(&r, 3) * 4,
                                    .observe = keep,
                                    .observe_arg = &seen,
                                    .off = off};
        const wisp_status status = wisp_evolve(&e, M, psi, TIMES, time, &o);
        snprintf(what, sizeof what, "run %d (%s %s, kind %d, way %d, power %g)", run, wisp_type_name(t.mat),
                 wisp_type_name(t.blk), kind, way, power);
        if (status != WISP_OK && status != WISP_ERR_PRECISION && status != WISP_ERR_ARG)
            fail_msg("%s: %s", what, message_of(ctx));
        whole += status == WISP_OK;
        if (status == WISP_OK) assert_int_equal(seen.seen, TIMES);
        compare(what, A, start, time, &seen, off, tolerance, &e);
        forget(&seen);
        wisp_blk_free(psi);
        wisp_mat_free(M);
        ref_free(H), ref_free(start), ref_free(A);
    }
    if (whole < runs / 2) fail_msg("only %d of %d runs reached their end", whole, runs);
}

/* ---- closed forms ----------------------------------------------------------------------------------- */

/* A long chain: a packet that runs into an absorbing layer does not come back, and the probability that is left does
   not rise. */
static void chain_absorbs(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 240, LAYER = 80 };
    ref_mat A = ref_new(N, N), start = ref_new(N, 1);
    double time[TIMES], off[TIMES], before = 1;
    for (int64_t i = 0; i < N; i++) {
        const double depth = fmax(0, (double)(i - (N - LAYER)) / (LAYER - 1.0));
        REF_AT(A, i, i) = -0.6 * depth * depth * i_unit;
        if (i + 1 < N) REF_AT(A, i, i + 1) = REF_AT(A, i + 1, i) = -1;
        const double x = ((double)i - 60) / 12; /* at the largest velocity, 2 */
        REF_AT(start, i, 0) = exp(-x * x / 2) * cexp(i_unit * M_PI / 2 * (double)i) / sqrt(12 * sqrt(M_PI));
    }
    for (int i = 0; i < TIMES; i++) time[i] = 20.0 * (i + 1);
    wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
    wisp_blk *psi;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), WISP_Z, 1));
    ref_put(psi, start);
    record seen = {.seen = 0};
    const wisp_evolve_opts o = {
        .non_hermitian = 1, .observe = keep, .observe_arg = &seen, .off = off, .tolerance = 1e-11};
    REF_OK(ctx, wisp_evolve(NULL, M, psi, TIMES, time, &o));
    for (int i = 0; i < TIMES; i++) {
        assert_true(seen.norm[i][0] <= before + off[i] && off[i] < 1e-11);
        before = seen.norm[i][0];
    }
    forget(&seen);
    if (!(before < 1e-4)) fail_msg("%g is left", before);
    wisp_blk_free(psi);
    wisp_mat_free(M);
    ref_free(A), ref_free(start);
}

/* Where all times are that of psi(0), psi stays as it is. */
static void no_time(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 7 };
    static const double time[] = {0, 0};
    double norm[2], off[2];
    ref_mat A = ref_new(N, N), start = ref_new(N, 1);
    for (int64_t i = 0; i < N; i++) {
        REF_AT(A, i, i) = -0.5 * (double)i * i_unit;
        if (i + 1 < N) REF_AT(A, i, i + 1) = REF_AT(A, i + 1, i) = 1;
        REF_AT(start, i, 0) = (double)i - 2;
    }
    wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
    wisp_blk *psi;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), WISP_Z, 1));
    ref_put(psi, start);
    const wisp_evolve_opts o = {.non_hermitian = 1, .log_norm = norm, .off = off};
    REF_OK(ctx, wisp_evolve(NULL, M, psi, 2, time, &o));
    for (int i = 0; i < 2; i++)
        if (!(fabs(exp(2 * norm[i]) - 35) < 1e-12 && off[i] <= 1e-10)) fail_msg("%g, off by %g", norm[i], off[i]);
    wisp_blk_free(psi);
    wisp_mat_free(M);
    ref_free(A), ref_free(start);
}

/* A Jordan block, far from normal: exp(-i t (c + N)) has the powers of -i t N over factorials. */
static void jordan_block(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 12 };
    const double time = 6, decay = 0.3;
    ref_mat A = ref_new(N, N), start = ref_new(N, 1);
    for (int64_t i = 0; i < N; i++) {
        REF_AT(A, i, i) = 2 - decay * i_unit;
        if (i) REF_AT(A, i, i - 1) = 1;
    }
    start.a[0] = 1;
    wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
    wisp_blk *psi;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), WISP_Z, 1));
    ref_put(psi, start);
    double off, log_norm;
    const wisp_evolve_opts o = {.non_hermitian = 1, .off = &off, .log_norm = &log_norm};
    REF_OK(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o));
    ref_mat got = ref_get(psi), should = ref_new(N, 1);
    cplx power = cexp(-i_unit * time * REF_AT(A, 0, 0));
    for (int64_t i = 0; i < N; i++) {
        should.a[i] = power;
        power *= -i_unit * time / (double)(i + 1);
    }
    const double error = error_of(got, should, start);
    if (!(error <= off)) fail_msg("off by %g, and %g is told", error, off);
    assert_true(fabs(log_norm - log(column_norm(should, 0))) < 1e-9);
    wisp_blk_free(psi);
    wisp_mat_free(M);
    ref_free(A), ref_free(start), ref_free(got), ref_free(should);
}

/* Near what rounding makes in single precision a tolerance is met, and not refused for what is told of it. */
static void near_rounding(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 40 };
    ref_rng r = {17};
    double worst = 0, most = 0;
    for (int run = 0; run < (ref_few() ? 3 : 20); run++) {
        ref_mat A = ref_new(N, N), start = ref_random_block(&r, WISP_C, N, 3);
        for (int64_t i = 0; i < N; i++) {
            REF_AT(A, i, i) = -(run % 3) * 0.25 * (i > N / 2) * i_unit;
            if (i + 1 < N) REF_AT(A, i, i + 1) = REF_AT(A, i + 1, i) = -1;
        }
        wisp_mat *M = ref_mat_of(ctx, A, WISP_C);
        wisp_blk *psi;
        const double time = 30;
        double off;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), WISP_C, 3));
        ref_put(psi, start);
        const wisp_evolve_opts o = {.non_hermitian = 1, .off = &off, .tolerance = 4e-5};
        REF_OK(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o));
        ref_mat got = ref_get(psi), should = exact(A, start, time);
        worst = fmax(worst, error_of(got, should, start) / off);
        most = fmax(most, off);
        wisp_blk_free(psi);
        wisp_mat_free(M);
        ref_free(A), ref_free(start), ref_free(got), ref_free(should);
    }
    if (!(worst <= 1)) fail_msg("off by %g of what is told", worst);
    assert_true(most > 4e-5);
}

/* A state may be off by more than its norm: what comes of it is off by as much more. */
static void below_its_error(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat A = ref_new(2, 2), start = ref_new(2, 1);
    for (int64_t i = 0; i < 2; i++) REF_AT(A, i, i) = (double)i - 0.5 * i_unit;
    start.a[0] = start.a[1] = 1;
    wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
    wisp_blk *psi;
    const double time = 2;
    double off;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), WISP_Z, 1));
    ref_put(psi, start);
    wisp_evolve_opts o = {.non_hermitian = 1, .start_off = 7, .off = &off};
    REF_OK(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o));
    if (!(fabs(off - 7 * exp(-1)) < 1e-9)) fail_msg("%g is told", off);
    o.start_off = INFINITY;
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_ARG, "opts.start_off is inf");
    wisp_blk_free(psi);
    wisp_mat_free(M);
    ref_free(A), ref_free(start);
}

/* ---- what goes wrong -------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat A = ref_new(3, 3);
    for (int64_t i = 0; i < 3; i++) REF_AT(A, i, i) = (double)i - 0.5 * i_unit * (double)i;
    wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
    wisp_blk *psi;
    double time = 3, off;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(M), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    wisp_evolve_opts o = {.off = &off};
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_HERMITIAN, "not Hermitian");
    o.absorption = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {0.5, 0.5, 0}};
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_ARG, "opts.absorption goes with");
    o.non_hermitian = 2;
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_ARG, "opts.non_hermitian is 2");
    o.non_hermitian = 1;
    o.direction = (wisp_scalar){0, -1};
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_ARG, "it is real");
    o.direction = (wisp_scalar){0, 0};
    REF_OK(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o)); /* bounds of W are given, those of H are found */
    o.absorption.given.halfwidth = -1;
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_ARG, "no interval");
    /* Bounds that hold only a part of either. */
    time = 40;
    o.absorption.given = (wisp_bounds){0.9, 0.1, 0};
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_BOUNDS, "opts.absorption");
    o.absorption = (wisp_bounds_opts){0};
    o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {0.5, 0.1, 0}};
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_BOUNDS, "opts.bounds");
    /* Back in time the norm grows by exp(t): beyond all numbers. */
    o.bounds = (wisp_bounds_opts){0};
    time = -900;
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_NUMERIC, "beyond all numbers");
    time = 1e14;
    REF_FAILS(ctx, wisp_evolve(NULL, M, psi, 1, &time, &o), WISP_ERR_ARG, "rounding alone");
    wisp_blk_free(psi);
    wisp_mat_free(M);
    ref_free(A);
}

/* Memory and sweeps are what is told before. */
static void plans(void **state)
{
    (void)state;
    static const char *const specs[] = {"matpde:nx=7,ny=9", "matpde:nx=90,ny=80", "graphene:nx=9,ny=9",
                                        "band:n=999,bandwidth=9"};
    static const double time[] = {0.5, 1, 90};
    for (int c = 0; c < 24; c++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + c % 2, .no_pin = 1});
        wisp_mat *A;
        wisp_blk *psi;
        wisp_mat_info info;
        wisp_plan plan;
        wisp_evolution e;
        int64_t before, made, peak;
        const bool single = c / 4 % 2;
        const int width = 1 + c % 3;
        wisp_evolve_opts o = {.non_hermitian = 1, .tolerance = single ? 1e-1 : 1e-6, .at_once = c % 5};
        if (c % 3) {
            o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {4, 9, 0}};
            o.absorption = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {0, 0.02, 0}};
        }
        REF_OK(ctx, wisp_mat_open(&A, ctx, specs[c % 4], &(wisp_mat_opts){.type = single ? WISP_S : WISP_D}));
        wisp_mat_get_info(A, &info);
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), single ? WISP_C : WISP_Z, width));
        REF_OK(ctx, wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 1, 2, 0));
        wisp_ctx_memory(ctx, &before, &made);
        double *ballast; /* so that the call is what takes most */
        REF_OK(ctx, wisp_alloc(ctx, &ballast, (size_t)made / sizeof *ballast, sizeof *ballast));
        wisp_ctx_memory(ctx, &before, NULL);
        const wisp_status planned = wisp_evolve_plan(&plan, ctx, &info, wisp_blk_type(psi), width, 3, time, &o, NULL);
        const wisp_status status = wisp_evolve(&e, A, psi, 3, time, &o);
        wisp_ctx_memory(ctx, NULL, &peak);
        if (planned == WISP_OK && peak - before > plan.bytes_most)
            fail_msg("%s: %lld bytes are held, at most %lld were told", specs[c % 4], (long long)(peak - before),
                     (long long)plan.bytes_most);
        if (planned == WISP_OK && c % 3 && status == WISP_OK) assert_true(plan.sweeps == (double)e.sweeps);
        if (planned == WISP_OK && c % 3 == 0) assert_true(isnan(plan.sweeps));
        if (planned != WISP_OK) assert_int_equal(planned, status);
        wisp_free(ctx, ballast);
        wisp_blk_free(psi);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

static void failing_memory(void **state)
{
    (void)state;
    whole_case c = {"matpde:nx=6,ny=6", 1e-3, {.non_hermitian = 1, .tolerance = 1e-6}};
    if (ref_ranks() > 1) return;
    assert_true(ref_failing_memory(evolve_all, &c, 200, 60) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(series),        cmocka_unit_test(random_matrices),
                                       cmocka_unit_test(chain_absorbs), cmocka_unit_test(no_time),
                                       cmocka_unit_test(jordan_block),  cmocka_unit_test(refusals),
                                       cmocka_unit_test(near_rounding), cmocka_unit_test(below_its_error),
                                       cmocka_unit_test(plans),         cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
