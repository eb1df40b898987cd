/* Evolution along complex times: against eigenvectors by LAPACK, closed forms, what it says of its error, refusals. */
#include "evolve_cases.h"
#include "evolve_dense.h"
#include <stdbool.h>
#include "solver/solver.h"

/* ---- the series ---------------------------------------------------------------------------------- */

/* Coefficient k of exp(-i z E - |Im z|): a mean over the half circle, which converges as fast as the series. */
static cplx by_mean(cplx z, int64_t k, int64_t points)
{
    cplx sum = 0;
    for (int64_t j = 0; j < points; j++) {
        const double theta = M_PI * ((double)j + 0.5) / (double)points;
        sum += cexp(-i_unit * z * cos(theta) - fabs(cimag(z))) * cos((double)k * theta);
    }
    return (k ? 2 : 1) * sum / (double)points;
}

static void series(void **state)
{
    (void)state;
    enum { MORE = 60, ANGLES = 9 };
    static const double sizes[] = {1e-300, 1e-9, 3e-7, 2e-6, 1e-3, 0.3, 1, 7, 60, 300};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int a = 0; a < ANGLES; a++) {
            const double angle = 2 * M_PI * a / (ANGLES - 1);
            const wisp_scalar z = {sizes[s] * cos(angle), a % 4 == 0 ? 0 : sizes[s] * sin(angle)};
            const cplx zc = z.re + i_unit * z.im;
            for (double tolerance = 1e-2; tolerance > 1e-15; tolerance *= 1e-4) {
                const int64_t n = wisp__chebyshev_terms_of(z, tolerance), all = n + MORE;
                wisp_scalar *c = calloc((size_t)all, sizeof *c);
                double tail = 0, left = 0;
                wisp__exponential_series(z, all, c);
                for (int64_t k = 0; k < all; k++) {
                    const cplx is = c[k].re + i_unit * c[k].im, should = by_mean(zc, k, all + 400);
                    if (!(cabs(is - should) <= 4e-15 * (1 + sqrt(sizes[s]))))
                        fail_msg("z = %g%+gi: c_%d is %g%+gi, should be %g%+gi", z.re, z.im, (int)k, creal(is),
                                 cimag(is), creal(should), cimag(should));
                    if (k >= n) tail += cabs(is);
                    if (k >= n - 4 - n / 3) left += cabs(is);
                }
                if (!(tail <= tolerance * 1.001 + 1e-15)) fail_msg("z = %g%+gi: the tail is %g", z.re, z.im, tail);
                if (!(left > tolerance) && sizes[s] > 1e-3)
                    fail_msg("z = %g%+gi, tolerance %g: %d terms are too many", z.re, z.im, tolerance, (int)n);
                free(c);
            }
        }
    assert_int_equal(wisp__chebyshev_terms_of((wisp_scalar){0, 0}, 1e-3), 1);
}

/* ---- random matrices ------------------------------------------------------------------------------- */

enum { TIMES = 7, WIDTH = 3 };
static void scale_columns(ref_mat x, double *norm)
{
    for (int64_t j = 0; j < x.cols; j++) {
        norm[j] = column_norm(x, j);
        for (int64_t i = 0; i < x.rows; i++) REF_AT(x, i, j) /= norm[j];
    }
}

/* Whatever was observed is as near as is said, and that is within the tolerance. */
static void compare(ref_mat H, ref_mat start, cplx direction, const double *time, const record *seen,
                    const double *log_norm, const double *off, double tolerance)
{
    for (int64_t i = 0; i < seen->seen; i++) {
        double growth, norm[WIDTH];
        ref_mat should = propagate(H, start, direction * time[i], &growth);
        scale_columns(should, norm);
        for (int64_t j = 0; j < start.cols; j++) assert_true(fabs(seen->norm[i][j] - 1) < 1e-5);
        const double error = relative_error(seen->psi[i], should);
        /* The oracle rounds, too: its eigenvalues alone by a few units of the largest. */
        const double allowed = off[i] + 1e-14 * (double)H.rows * (1 + cabs(direction * time[i]));
        if (!(off[i] <= tolerance)) fail_msg("time %g: %g is told, above the tolerance", time[i], off[i]);
        if (!(error <= allowed)) fail_msg("time %g: off by %g, and %g is told", time[i], error, off[i]);
        for (int64_t j = 0; j < start.cols; j++) {
            const double exact = growth + log(norm[j]), is = log_norm[i * start.cols + j];
            if (!(fabs(is - exact) <= allowed + 1e-13 * fabs(exact)))
                fail_msg("time %g, column %d: the logarithm is %.17g, should be %.17g", time[i], (int)j, is, exact);
        }
        ref_free(should);
    }
}

static void random_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    static const ref_types combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
                                      {WISP_S, WISP_C}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    static const double time[TIMES] = {0, 0.1, 0.3, -0.2, -0.2, 1, 2.5};
    ref_rng r = {11};
    int whole = 0, ended = 0;
    for (int run = 0; run < 120; run++) {
        const ref_types t = combo[run % 6];
        const int width = run % 2 ? WIDTH : 1;
        const double angle = run % 5 == 0 ? M_PI / 2 : M_PI * (double)ref_below(&r, 1000) / 500,
                     size = run % 3 ? 1 : 0.3;
        ref_mat H = random_hermitian(&r, t.mat, 1 + ref_below(&r, 40), 0.2);
        ref_mat start = ref_random_block(&r, t.blk, H.rows, width);
        wisp_mat *A = ref_mat_of(ctx, H, t.mat);
        wisp_blk *psi;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), t.blk, width));
        ref_put(psi, start);
        record seen = {.seen = 0};
        double log_norm[TIMES * WIDTH], off[TIMES];
        const wisp_scalar direction = {size * cos(angle), -size * sin(angle)};
        const double tolerance = t.blk == WISP_C ? 1e-2 : 1e-8;
        const wisp_evolve_opts o = {.tolerance = tolerance,
                                    .direction = direction,
                                    .at_once = (int)(run / 6 % 3) * 4,
                                    .observe = keep,
                                    .observe_arg = &seen,
                                    .log_norm = log_norm,
                                    .off = off};
        const wisp_status status = wisp_evolve(NULL, A, psi, TIMES, time, &o);
        if (status != WISP_OK && status != WISP_ERR_PRECISION) fail_msg("run %d: %s", run, message_of(ctx));
        if (status == WISP_OK) assert_int_equal(seen.seen, TIMES);
        whole += status == WISP_OK;
        ended += status != WISP_OK;
        compare(H, start, direction.re + i_unit * direction.im, time, &seen, log_norm, off, tolerance);
        forget(&seen);
        wisp_blk_free(psi);
        wisp_mat_free(A);
        ref_free(H), ref_free(start);
    }
    if (whole < 60) fail_msg("only %d of %d runs reached their end", whole, whole + ended);
}

/* A chain of n sites cools to its ground state, whose energy is -2 cos(pi/(n + 1)); over a long time, and far from 0.
 */
static void chain_cools(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 24, LONG = 3 };
    static const double time[LONG] = {1, 200, 700};
    for (int far = 0; far < 2; far++) {
        const double on = far ? -3000 : 0, ground = on - 2 * cos(M_PI / (N + 1));
        ref_mat H = ref_new(N, N);
        for (int64_t i = 0; i < N; i++) {
            REF_AT(H, i, i) = on;
            if (i + 1 < N) REF_AT(H, i, i + 1) = REF_AT(H, i + 1, i) = -1;
        }
        wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
        wisp_blk *psi;
        const int64_t site = 5;
        double log_norm[LONG], off[LONG];
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
        REF_OK(ctx, wisp_blk_fill_units(psi, &site));
        wisp_evolution e;
        const wisp_evolve_opts o = {.tolerance = 1e-5,
                                    .direction = {0, -1},
                                    .log_norm = log_norm,
                                    .off = off,
                                    .bounds.method = WISP_BOUNDS_GIVEN,
                                    .bounds.given = {on, 1.985, 0}};
        REF_OK(ctx, wisp_evolve(&e, A, psi, LONG, time, &o));
        ref_mat got = ref_get(psi);
        double error = 0;
        const double overlap = sqrt(2.0 / (N + 1)) * sin(M_PI * (double)(site + 1) / (N + 1));
        for (int64_t i = 0; i < N; i++) {
            const double should = sqrt(2.0 / (N + 1)) * sin(M_PI * (double)(i + 1) / (N + 1));
            error += pow(cabs(got.a[i] - should), 2);
        }
        assert_true(sqrt(error) <= off[LONG - 1] && off[LONG - 1] <= o.tolerance);
        const double should = log(overlap) - ground * time[LONG - 1];
        assert_true(fabs(log_norm[LONG - 1] - should) <= off[LONG - 1] + 1e-14 * fabs(should));
        /* Terms go as the root of the time. */
        assert_true(e.sweeps < 2000);
        ref_free(got);
        wisp_blk_free(psi);
        wisp_mat_free(A);
        ref_free(H);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat H = ref_new(3, 3);
    for (int64_t i = 0; i < 3; i++) REF_AT(H, i, i) = (double)i;
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    wisp_blk *psi;
    const int64_t top = 2;
    double time = 30, off = 0;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    wisp_evolve_opts o = {.direction = {0, -1}, .off = &off};
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_NUMERIC, "column 0 of psi is 0");
    REF_OK(ctx, wisp_blk_fill_units(psi, &top));
    /* All that grows is rounding. */
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_PRECISION, "may be off by all of it");
    REF_OK(ctx, wisp_blk_fill_units(psi, &top));
    time = -30; /* the other way it stays */
    o.start_off = 1e-12;
    REF_OK(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o));
    assert_true(off >= 1e-12 && off < 1e-10);
    o.start_off = 1e-9;
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_ARG, "opts.start_off, 1e-09, is all of");
    o.start_off = -1;
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_ARG, "opts.start_off");
    o = (wisp_evolve_opts){.direction = {NAN, 0}};
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_ARG, "opts.direction");
    /* A real direction is a scale of times; the norm is kept. */
    double log_norm = 7, twice = -60;
    ref_mat one, two;
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_OK(ctx, wisp_evolve(NULL, A, psi, 1, &twice, &(wisp_evolve_opts){.log_norm = &log_norm}));
    assert_true(fabs(log_norm - log(3) / 2) < 1e-10);
    one = ref_get(psi);
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_OK(ctx, wisp_evolve(NULL, A, psi, 1, &time, &(wisp_evolve_opts){.direction = {2, 0}}));
    two = ref_get(psi);
    assert_true(relative_error(one, two) == 0);
    ref_free(one), ref_free(two);
    /* Bounds that hold only a part. */
    time = 40;
    o = (wisp_evolve_opts){.direction = {0, -1}, .bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = {1.5, 0.8, 0}};
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_BOUNDS, "opts.bounds");
    wisp_blk_free(psi);
    wisp_mat_free(A);
    ref_free(H);
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    assert_true(
        ref_failing_memory(evolve_all, &(whole_case){"graphene:nx=6,ny=6", 1, {.direction = {0.1, -1}}}, 200, 20) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(series), cmocka_unit_test(random_matrices),
                                       cmocka_unit_test(chain_cools), cmocka_unit_test(refusals),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
