/* Time evolution: against eigenvectors by LAPACK, closed forms of bonds and chains, tolerances, bounds, refusals. */
#include "evolve_cases.h"
#include "evolve_dense.h"
#include <stdbool.h>
#include "solver/solver.h"

/* ---- Bessel functions and where their series is cut ------------------------------------------------ */

static void bessel_functions(void **state)
{
    (void)state;
    static const double xs[] = {0, 1e-300, 1e-9, 9e-7, 2e-6, 1e-3, 0.5, 1, 3, 10, 77.7, 400, -0.3, -25};
    enum { N = 500 };
    double J[N];
    for (size_t i = 0; i < sizeof xs / sizeof xs[0]; i++)
        for (int n = 1; n <= N; n = 2 * n + 3) {
            wisp__bessel(xs[i], n, J);
            for (int k = 0; k < n; k++)
                if (!(fabs(J[k] - jn(k, xs[i])) <= 2e-14))
                    fail_msg("J_%d(%g) of %d is %.17g, should be %.17g", k, xs[i], n, J[k], jn(k, xs[i]));
        }
    /* The tail is within the tolerance, and not cut much later than it must be. */
    for (double x = 1e-6; x < 3e3; x *= 3.7)
        for (double tolerance = 1e-2; tolerance > 1e-15; tolerance *= 1e-2) {
            const int64_t n = wisp__chebyshev_terms(x, tolerance);
            double tail = 0, *all = calloc((size_t)n + 400, sizeof *all);
            wisp__bessel(x, n + 400, all);
            for (int64_t k = n; k < n + 400; k++) tail += 2 * fabs(all[k]);
            if (!(tail <= tolerance * 1.001)) fail_msg("x = %g, tolerance %g: the tail is %g", x, tolerance, tail);
            for (int64_t k = n - 1; k >= 0 && k > n - 4 - n / 8; k--) tail += 2 * fabs(all[k]);
            if (!(tail > tolerance))
                fail_msg("x = %g, tolerance %g: %lld terms are too many", x, tolerance, (long long)n);
            free(all);
        }
    assert_int_equal(wisp__chebyshev_terms(0, 1e-3), 1);
    assert_int_equal(wisp__chebyshev_terms(-30, 1e-9), wisp__chebyshev_terms(30, 1e-9));
}

/* ---- random matrices, by eigenvectors ------------------------------------------------------------ */

static void random_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        wisp_type mat, blk;
    } combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
                 {WISP_S, WISP_C}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    static const double time[] = {0, 0.2, 0.4, 0.6, -1, -1, 3, 11};
    enum { TIMES = 8 };
    ref_rng r = {5};
    for (int c = 0; c < 6; c++)
        for (int at_once = 0; at_once <= 8; at_once += 4)
            for (int width = 1; width < 5; width += 2) {
                ref_mat H = random_hermitian(&r, combo[c].mat, 1 + ref_below(&r, 40), 0.2);
                ref_mat start = ref_random_block(&r, combo[c].blk, H.rows, width);
                wisp_mat *A = ref_mat_of(ctx, H, combo[c].mat);
                wisp_blk *psi;
                REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), combo[c].blk, width));
                ref_put(psi, start);
                record seen = {.seen = 0};
                wisp_evolution e;
                const wisp_evolve_opts o = {
                    .at_once = at_once, .depth = width == 3 ? 5 : 0, .observe = keep, .observe_arg = &seen};
                REF_OK(ctx, wisp_evolve(&e, A, psi, TIMES, time, &o));
                assert_int_equal(seen.seen, TIMES);
                assert_int_equal(e.done, TIMES);
                assert_true(e.sequences >= TIMES / 8 && e.sequences <= TIMES && e.flops > 0);
                if (at_once) assert_int_equal(e.sequences, TIMES / at_once);
                const double tolerance = combo[c].blk == WISP_C ? 1e-4 : 1e-10;
                for (int i = 0; i < TIMES; i++) {
                    ref_mat should = propagate(H, start, time[i], NULL);
                    const double error = relative_error(seen.psi[i], should);
                    if (!(error <= tolerance)) fail_msg("types %d, time %g: off by %g", c, time[i], error);
                    for (int j = 0; j < width; j++) {
                        const double exact = column_norm(start, j);
                        assert_true(fabs(seen.norm[i][j] - exact) <= tolerance * exact);
                    }
                    ref_free(should);
                }
                ref_mat last = ref_get(psi);
                assert_memory_equal(last.a, seen.psi[TIMES - 1].a, (size_t)(last.rows * width) * sizeof *last.a);
                ref_free(last);
                forget(&seen);
                wisp_blk_free(psi);
                wisp_mat_free(A);
                ref_free(H), ref_free(start);
            }
}

/* ---- chains ------------------------------------------------------------------------------------ */

/* Hopping `hop` along n sites, energy `on` at each. */
static ref_mat chain(int64_t n, double hop, double on)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        REF_AT(m, i, i) = on;
        if (i + 1 < n) REF_AT(m, i, i + 1) = REF_AT(m, i + 1, i) = hop;
    }
    return m;
}

static wisp_blk *at_site(wisp_ctx *ctx, const wisp_mat *A, int64_t site)
{
    wisp_blk *psi;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_fill_units(psi, &site));
    return psi;
}

/* One bond: |psi_1|^2 = sin^2(hop t). An infinite chain: psi_n = (-i)^n J_n(2 hop t), as long as the front is inside.
 */
static void bond_and_chain(void **state)
{
    wisp_ctx *ctx = *state;
    static const double time[] = {0.1, 0.5, 1, 2, 4, 8, 16, 30};
    enum { TIMES = 8, LONG = 201, MIDDLE = 100 };
    for (int bond = 0; bond < 2; bond++) {
        ref_mat H = bond ? chain(2, 0.7, 0) : chain(LONG, 1, 0);
        wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
        wisp_blk *psi = at_site(ctx, A, bond ? 0 : MIDDLE);
        record seen = {.seen = 0};
        REF_OK(ctx, wisp_evolve(NULL, A, psi, TIMES, time, &(wisp_evolve_opts){.observe = keep, .observe_arg = &seen}));
        for (int i = 0; i < TIMES; i++) {
            assert_true(fabs(seen.norm[i][0] - 1) < 1e-10);
            for (int64_t site = 0; site < H.rows; site++) {
                const cplx v = seen.psi[i].a[site];
                const int n = (int)llabs(site - MIDDLE);
                const cplx turn[4] = {1, -i_unit, -1, i_unit};
                const cplx should = !bond       ? turn[n % 4] * jn(n, 2 * time[i])
                                    : site == 0 ? cos(0.7 * time[i])
                                                : -i_unit * sin(0.7 * time[i]);
                if (!(cabs(v - should) < 1e-9))
                    fail_msg("time %g, site %lld: %g%+gi, should be %g%+gi", time[i], (long long)site, creal(v),
                             cimag(v), creal(should), cimag(should));
            }
        }
        forget(&seen);
        wisp_blk_free(psi);
        wisp_mat_free(A);
        ref_free(H);
    }
}

/* A bond and a state of any size, in its own time: right, or refused, whose products leave what numbers hold. */
static void any_size(void **state)
{
    wisp_ctx *ctx = *state;
    int right = 0, refused = 0;
    for (int single = 0; single < 2; single++) {
        const wisp_type type = single ? WISP_C : WISP_Z;
        const int most = single ? 30 : 290;
        const double tolerance = single ? 1e-3 : 1e-9, a = 2;
        for (int h = -most; h <= most; h += most / 5)
            for (int p = -most; p <= most; p += most / 5) {
                const double t = a / 0.7 * pow(10, -h), size = pow(10, p);
                ref_mat H = chain(2, 0.7 * pow(10, h), 0), start = ref_new(2, 1);
                wisp_mat *A = ref_mat_of(ctx, H, type);
                wisp_blk *psi;
                start.a[0] = size;
                REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), type, 1));
                ref_put(psi, start);
                const wisp_status status =
                    wisp_evolve(NULL, A, psi, 1, &t, &(wisp_evolve_opts){.tolerance = tolerance});
                ref_mat end = ref_get(psi);
                const double off = hypot(cabs(end.a[0] / size - cos(a)), cabs(end.a[1] / size + i_unit * sin(a)));
                if (status != WISP_ERR_NUMERIC && (status != WISP_OK || !(off <= tolerance)))
                    fail_msg("|H| 1e%d, |psi| 1e%d, type %d: status %d, off by %g", h, p, (int)type, (int)status, off);
                right += status == WISP_OK, refused += status != WISP_OK;
                assert_true(status == WISP_OK || h * p > 0);
                wisp_blk_free(psi), wisp_mat_free(A);
                ref_free(H), ref_free(start), ref_free(end);
            }
    }
    assert_true(right > 100 && refused > 10);
}

/* A chain of n sites from its closed form, in extended precision: what the tolerance is measured with. */
static ref_mat exact_chain(int64_t n, int64_t start, long double hop, long double on, long double t)
{
    ref_mat out = ref_new(n, 1);
    const long double pi = acosl(-1);
    for (int64_t i = 0; i < n; i++) {
        long double re = 0, im = 0;
        for (int64_t k = 1; k <= n; k++) {
            const long double q = pi * (long double)k / (long double)(n + 1), E = on + 2 * hop * cosl(q);
            const long double w =
                2 / (long double)(n + 1) * sinl(q * (long double)(start + 1)) * sinl(q * (long double)(i + 1));
            re += w * cosl(E * t);
            im -= w * sinl(E * t);
        }
        out.a[i] = (double)re + i_unit * (double)im;
    }
    return out;
}

static void tolerances_are_met(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 40, START = 7 };
    static const double spans[] = {1e-3, 0.1, 2, 40, 1e3};
    ref_mat H = chain(N, 1, 0.375);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    for (int s = 0; s < 5; s++)
        for (double tolerance = 1e-3; tolerance > 5e-13; tolerance *= 1e-3)
            for (int times = 1; times <= 9; times += 8) {
                double time[9];
                for (int i = 0; i < times; i++) time[i] = spans[s] * (i + 1) / times;
                wisp_blk *psi = at_site(ctx, A, START);
                wisp_evolution e;
                const wisp_evolve_opts o = {.tolerance = tolerance, .at_once = times == 9 ? 3 : 0};
                REF_OK(ctx, wisp_evolve(&e, A, psi, times, time, &o));
                ref_mat got = ref_get(psi), should = exact_chain(N, START, 1, 0.375L, (long double)spans[s]);
                const double error = relative_error(got, should);
                if (!(error <= tolerance))
                    fail_msg("time %g in %d parts, tolerance %g: off by %g", spans[s], times, tolerance, error);
                /* Each sequence is as short as its share of the tolerance allows. */
                const int64_t terms = wisp__chebyshev_terms(e.bounds.halfwidth * spans[s], tolerance);
                if (times == 1) assert_int_equal(e.sweeps, terms - 1);
                ref_free(got), ref_free(should);
                wisp_blk_free(psi);
            }
    wisp_blk *psi = at_site(ctx, A, START);
    const double late = 1e5;
    const wisp_evolve_opts o = {.tolerance = 1e-12};
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &late, &o), WISP_ERR_ARG, "rounding alone");
    wisp_blk_free(psi);
    wisp_mat_free(A);
    ref_free(H);
}

/* ---- what goes wrong ------------------------------------------------------------------------------ */

static int stop_at_2(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    (void)arg, (void)psi, (void)norm;
    return i == 2;
}

static int cancel_late(void *arg, const wisp_progress *p)
{
    return !strcmp(p->task, "evolution") && p->done > *(const double *)arg;
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat H = chain(30, 1, 0), G = chain(30, 1, 0);
    REF_AT(G, 3, 4) = 1.25;
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D), *B = ref_mat_of(ctx, G, WISP_D);
    wisp_blk *psi = at_site(ctx, A, 3), *real, *of_b = at_site(ctx, B, 3);
    REF_OK(ctx, wisp_blk_create(&real, ctx, wisp_mat_map(A), WISP_D, 1));
    double time[5] = {1, 2, 3, 4, 5};
    wisp_evolve_opts o = {.observe = stop_at_2};
    wisp_evolution e;
#define REFUSED(mat, block, status, words) \
    REF_FAILS(ctx, wisp_evolve(&e, mat, block, 5, time, &o), WISP_ERR_##status, words)
    REFUSED(A, real, ARG, "must be complex");
    REFUSED(B, of_b, HERMITIAN, "(3, 4)");
    REFUSED(A, of_b, MISMATCH, "map");
    REFUSED(A, psi, CANCELLED, "opts.observe at time 3");
    assert_int_equal(e.done, 3);
    time[1] = NAN;
    REFUSED(A, psi, ARG, "time 1 is nan");
    time[1] = 2;
    for (int i = 0; i < 3; i++) {
        o.tolerance = (double[]){-1, 1, NAN}[i];
        REFUSED(A, psi, ARG, "between 0 and 1");
    }
    o.tolerance = 1e-17;
    REFUSED(A, psi, ARG, "rounding alone");
    o.tolerance = 0;
    o.depth = -1;
    REFUSED(A, psi, ARG, "opts.depth is -1");
    o.depth = 0;
    o.bytes = -1;
    REFUSED(A, psi, ARG, "opts.bytes is -1");
    o.bytes = 0;
    o.at_once = 9;
    REFUSED(A, psi, ARG, "1 to 8");
    o.at_once = 1;
    o.bounds.method = WISP_BOUNDS_GIVEN;
    REFUSED(A, psi, ARG, "no interval");
    const int64_t site = 3;
    for (int high = 0; high < 2; high++) {
        o.bounds.given = (wisp_bounds){high ? -0.4 : 0.4, 1.6, 0};
        REF_OK(ctx, wisp_blk_fill_units(psi, &site));
        time[0] = 20;
        REFUSED(A, psi, BOUNDS, "beyond the bounds");
        assert_int_equal(e.done, 0);
        /* Far too narrow ones show soon, however long the sequence is. */
        o.bounds.given.halfwidth = 0.4;
        REF_OK(ctx, wisp_blk_fill_units(psi, &site));
        time[0] = 1e5;
        REFUSED(A, psi, BOUNDS, "beyond the bounds");
        assert_in_range(e.sweeps, 1, 1024);
        time[0] = 1;
        /* And so narrow that no term of the series seems to be needed. */
        o.bounds.given.halfwidth = high ? 1e-12 : 1e-14;
        REF_OK(ctx, wisp_blk_fill_units(psi, &site));
        REFUSED(A, psi, BOUNDS, "beyond the bounds");
    }
    o = (wisp_evolve_opts){.at_once = 1};
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){INFINITY, 0}));
    REFUSED(A, psi, NUMERIC, "psi has a NaN");
    /* Zero stays zero; no times: nothing is done. */
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){0, 0}));
    REF_OK(ctx, wisp_evolve(NULL, A, psi, 5, time, NULL));
    REF_OK(ctx, wisp_evolve(&e, A, psi, 0, NULL, NULL));
    assert_int_equal(e.sweeps, 0);
    wisp_blk_free(psi), wisp_blk_free(real), wisp_blk_free(of_b);
    wisp_mat_free(A), wisp_mat_free(B);
    ref_free(H), ref_free(G);
}

/* Bounds that leave out one eigenvalue, of which psi has a part so small that its square does not show in the norm: it
   is told, or the tolerance is met, but for the distance of the eigenvalue. */
static void small_parts_outside(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 20 };
    int told = 0, met = 0;
    for (int single = 0; single < 2; single++)
        for (double coupling = 1e-8; coupling < 0.01; coupling *= 8)
            for (double cut = 1e-3; cut < 0.4; cut *= 3)
                for (double time = 7; time < 500; time *= 4) {
                    const double tolerance = single ? 1e-3 : 1e-10;
                    ref_mat H = ref_new(N, N);
                    for (int i = 0; i < N; i++) REF_AT(H, i, i) = i == N - 1 ? 1.5 : (float)cos(i);
                    REF_AT(H, 0, N - 1) = REF_AT(H, N - 1, 0) = (float)coupling;
                    wisp_mat *A = ref_mat_of(ctx, H, single ? WISP_S : WISP_D);
                    wisp_blk *psi;
                    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), single ? WISP_C : WISP_Z, 1));
                    const int64_t site = 0;
                    REF_OK(ctx, wisp_blk_fill_units(psi, &site));
                    ref_mat start = ref_get(psi);
                    const wisp_evolve_opts o = {.tolerance = tolerance,
                                                .bounds.method = WISP_BOUNDS_GIVEN,
                                                .bounds.given = {0.2 - cut / 2, 1.3 - cut / 2, 0}};
                    const wisp_status status = wisp_evolve(NULL, A, psi, 1, &time, &o);
                    if (status == WISP_OK) {
                        ref_mat should = propagate(H, start, time, NULL), is = ref_get(psi);
                        const double error = relative_error(is, should);
                        if (!(error <= 3 * tolerance))
                            fail_msg("coupling %g, cut %g, time %g: off by %g, and nobody says so", coupling, cut, time,
                                     error);
                        ref_free(should), ref_free(is);
                        met++;
                    } else {
                        if (status != WISP_ERR_BOUNDS) fail_msg("%s", message_of(ctx));
                        told++;
                    }
                    ref_free(start);
                    wisp_blk_free(psi);
                    wisp_mat_free(A);
                    ref_free(H);
                }
    assert_true(told > 20 && met > 20);
}

/* A clock that does not begin at 0: the same states, at the times that it shows, also in messages. */
static void start_time(void **state)
{
    wisp_ctx *ctx = *state;
    enum { TIMES = 5 };
    static const double lapse[TIMES] = {0, 0.5, 2, 2, -3};
    ref_mat H = chain(30, 1, 0);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    for (int damped = 0; damped < 2; damped++)
        for (int at_once = 0; at_once < 5; at_once += 4) {
            record seen[2] = {{.seen = 0}};
            wisp_plan plan[2];
            wisp_mat_info info;
            for (int late = 0; late < 2; late++) {
                const double start = late ? 1024 : 0;
                double time[TIMES];
                for (int i = 0; i < TIMES; i++) time[i] = start + lapse[i];
                const wisp_evolve_opts o = {.start_time = start,
                                            .direction = {1, damped ? -0.5 : 0},
                                            .at_once = at_once,
                                            .bounds.method = WISP_BOUNDS_GIVEN,
                                            .bounds.given = {0, 2, 0},
                                            .observe = keep,
                                            .observe_arg = seen + late};
                wisp_blk *psi = at_site(ctx, A, 3);
                REF_OK(ctx, wisp_evolve(NULL, A, psi, TIMES, time, &o));
                wisp_mat_get_info(A, &info);
                REF_OK(ctx, wisp_evolve_plan(plan + late, ctx, &info, WISP_Z, 1, TIMES, time, &o, NULL));
                wisp_blk_free(psi);
            }
            for (int i = 0; i < TIMES; i++) assert_true(relative_error(seen[1].psi[i], seen[0].psi[i]) == 0);
            assert_true(plan[0].sweeps == plan[1].sweeps && plan[0].bytes_most == plan[1].bytes_most);
            forget(seen), forget(seen + 1);
        }
    const double time = 3, end[3] = {1001, 1002, 1003};
    wisp_blk *psi = at_site(ctx, A, 3);
    wisp_evolve_opts o = {.start_time = 1000, .observe = stop_at_2};
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 3, end, &o), WISP_ERR_CANCELLED, "opts.observe at time 1003");
    o.start_time = NAN;
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o), WISP_ERR_ARG, "opts.start_time is nan");
    wisp_blk_free(psi);
    wisp_mat_free(A);
    ref_free(H);
}

/* What was reached before a cancel is known. */
static void cancelled(void **state)
{
    (void)state;
    double when = 0.5, time[10];
    for (int i = 0; i < 10; i++) time[i] = 10 * (i + 1);
    const wisp_ctx_opts co = {.threads = 2, .no_pin = 1, .progress = cancel_late, .progress_arg = &when};
    wisp_ctx *ctx = ref_ctx(&co);
    ref_mat H = chain(30, 1, 0);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    wisp_blk *psi = at_site(ctx, A, 3);
    wisp_evolution e;
    record seen = {.seen = 0};
    const wisp_evolve_opts o = {.at_once = 2, .observe = keep, .observe_arg = &seen};
    assert_int_equal(wisp_evolve(&e, A, psi, 10, time, &o), WISP_ERR_CANCELLED);
    assert_int_equal(e.done, 4);
    assert_int_equal(seen.seen, 4);
    forget(&seen);
    wisp_blk_free(psi);
    wisp_mat_free(A);
    ref_free(H);
    wisp_ctx_free(ctx);
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    assert_true(ref_failing_memory(evolve_all, &(whole_case){.spec = "graphene:nx=6,ny=6", .unit = 1}, 200, 20) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bessel_functions),    cmocka_unit_test(random_matrices),
                                       cmocka_unit_test(bond_and_chain),      cmocka_unit_test(any_size),
                                       cmocka_unit_test(tolerances_are_met),  cmocka_unit_test(refusals),
                                       cmocka_unit_test(small_parts_outside), cmocka_unit_test(start_time),
                                       cmocka_unit_test(cancelled),           cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
