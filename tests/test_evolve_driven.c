/* Evolution under H(t): closed forms of two levels, random matrices against many short steps in long double, what it
   says of its error, tables that have kinks and jumps, refusals. */
#include <math.h>
#include <stdbool.h>
#include "evolve_cases.h"

typedef _Complex long double wide;
enum { MOST_DRIVES = 2, ROWS = 7, TIMES = 4 };

/* ---- functions of time ------------------------------------------------------------------------------- */

typedef struct {
    double size[MOST_DRIVES], rate[MOST_DRIVES], phase[MOST_DRIVES];
    double jump; /* f_0 is another one from this time on; NAN: it is not */
    int64_t calls, fails_at;
} pulses;

static double pulse(const pulses *p, int j, double t)
{
    const double f = p->size[j] * cos(p->rate[j] * t + p->phase[j]);
    return j == 0 && t > p->jump ? 2 - f : f;
}

static int drive_at(void *arg, double t, double *f)
{
    pulses *p = arg;
    for (int j = 0; j < MOST_DRIVES; j++) f[j] = pulse(p, j, t);
    return ++p->calls == p->fails_at;
}

/* ---- matrices on one map ----------------------------------------------------------------------------- */

static wisp_mat *on_map(wisp_ctx *ctx, ref_mat m, wisp_type type, const wisp_mat *like)
{
    wisp_mat *A;
    wisp_src src = ref_dense_src(m, type);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = wisp_mat_map(like)}));
    wisp_src_close(&src);
    return A;
}

/* Hermitian, of numbers that single precision holds. */
static ref_mat hermitian(ref_rng *r, wisp_type type, int64_t n, double size)
{
    ref_mat H = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double re = (float)(size * ref_uniform(r)),
                         im = i == j || !wisp_type_is_complex(type) ? 0 : (float)(size * ref_uniform(r));
            REF_AT(H, i, j) = re + I * im;
            REF_AT(H, j, i) = re - I * im;
        }
    return H;
}

/* H(t) and the functions in it. */
typedef struct {
    ref_mat H[1 + MOST_DRIVES];
    pulses p;
} scene;

static scene random_scene(ref_rng *r, wisp_type type, int64_t n)
{
    scene s = {.p = {.jump = NAN}};
    for (int j = 0; j <= MOST_DRIVES; j++) s.H[j] = hermitian(r, type, n, j ? 0.5 : 1);
    for (int j = 0; j < MOST_DRIVES; j++) {
        s.p.size[j] = 0.2 + fabs(ref_uniform(r));
        s.p.rate[j] = 3 * ref_uniform(r);
        s.p.phase[j] = ref_uniform(r);
    }
    return s;
}

static void free_scene(scene *s)
{
    for (int j = 0; j <= MOST_DRIVES; j++) ref_free(s->H[j]);
}

/* ---- the oracle: Runge and Kutta's fourth order, in short steps of long double ------------------------- */

static void slope(const scene *s, long double t, const wide *x, wide *dx)
{
    const int64_t n = s->H[0].rows;
    double f[MOST_DRIVES];
    for (int j = 0; j < MOST_DRIVES; j++) f[j] = pulse(&s->p, j, (double)t);
    for (int64_t i = 0; i < n; i++) {
        dx[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            wide h = REF_AT(s->H[0], i, k);
            for (int j = 0; j < MOST_DRIVES; j++) h += (wide)REF_AT(s->H[1 + j], i, k) * f[j];
            dx[i] += h * x[k];
        }
        dx[i] *= -(wide)I;
    }
}

static void short_steps(const scene *s, wide *x, double from, double to)
{
    const int64_t n = s->H[0].rows, steps = 1 + (int64_t)(fabs(to - from) * 600);
    const long double h = ((long double)to - from) / steps;
    wide k[4][ROWS], y[ROWS];
    for (int64_t i = 0; i < steps; i++) {
        const long double t = from + h * i;
        slope(s, t, x, k[0]);
        for (int64_t a = 0; a < n; a++) y[a] = x[a] + h / 2 * k[0][a];
        slope(s, t + h / 2, y, k[1]);
        for (int64_t a = 0; a < n; a++) y[a] = x[a] + h / 2 * k[1][a];
        slope(s, t + h / 2, y, k[2]);
        for (int64_t a = 0; a < n; a++) y[a] = x[a] + h * k[2][a];
        slope(s, t + h, y, k[3]);
        for (int64_t a = 0; a < n; a++) x[a] += h / 6 * (k[0][a] + 2 * k[1][a] + 2 * k[2][a] + k[3][a]);
    }
}

/* |is - exact| over |start| at each time, of the worst column; the way goes by the times, in pieces where f jumps. */
static void errors_of(scene *s, ref_mat start, const ref_mat *is, const double *time, double *worst)
{
    for (int64_t i = 0; i < TIMES; i++) worst[i] = 0;
    for (int64_t c = 0; c < start.cols; c++) {
        wide x[ROWS];
        double from = 0;
        for (int64_t a = 0; a < start.rows; a++) x[a] = REF_AT(start, a, c);
        for (int64_t i = 0; i < TIMES; from = time[i++]) {
            const double jump = s->p.jump;
            const bool crosses = (from - jump) * (time[i] - jump) < 0;
            scene one = *s;
            for (int part = crosses ? 0 : 1; part < 2; part++) {
                const double a = part ? (crosses ? jump : from) : from, b = part ? time[i] : jump;
                if (!isnan(jump)) one.p.jump = a / 2 + b / 2 > jump ? -HUGE_VAL : HUGE_VAL;
                short_steps(&one, x, a, b);
            }
            double square = 0;
            for (int64_t a = 0; a < start.rows; a++)
                square += (double)pow((double)cabsl(x[a] - REF_AT(is[i], a, c)), 2);
            worst[i] = fmax(worst[i], sqrt(square) / column_norm(start, c));
        }
    }
}

/* ---- random matrices --------------------------------------------------------------------------------- */

static void random_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    static const ref_types combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
                                      {WISP_S, WISP_C}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    static const double times[][TIMES] = {{0, 0.3, 0.7, 3}, {1, -1, -1, 2}, {0.01, 0.02, 4, 4.01}};
    static const int widths[] = {1, 3, 5};
    ref_rng r = {31};
    const bool alone = ref_ranks() == 1; /* of several each sweep waits for messages */
    /* A sanitizer sees each pair of types by each list of times once. */
    for (int run = 0; run < (!alone ? 6 : REF_SANITIZED ? 18 : 36); run++) {
        const ref_types t = combo[run % 6];
        const double *time = times[run / 6 % 3], tolerance = t.blk == WISP_C || !alone ? 1e-3 : run % 2 ? 1e-9 : 1e-5;
        scene s = random_scene(&r, t.mat, 1 + ref_below(&r, ROWS));
        if (run % 4 == 3) s.p.jump = 0.4375;
        ref_mat start = ref_random_block(&r, t.blk, s.H[0].rows, widths[ref_below(&r, 3)]);
        wisp_mat *A = ref_mat_of(ctx, s.H[0], t.mat);
        const wisp_mat *drive[] = {on_map(ctx, s.H[1], t.mat, A), on_map(ctx, s.H[2], t.mat, A)};
        wisp_blk *psi;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), t.blk, (int)start.cols));
        ref_put(psi, start);
        record seen = {.seen = 0};
        double off[TIMES];
        wisp_evolution e;
        const wisp_evolve_opts o = {.tolerance = tolerance,
                                    .observe = keep,
                                    .observe_arg = &seen,
                                    .off = off,
                                    .drives = MOST_DRIVES,
                                    .drive = drive,
                                    .drive_at = drive_at,
                                    .drive_arg = &s.p,
                                    .breaks = run % 4 == 3,
                                    .break_at = &s.p.jump};
        REF_OK(ctx, wisp_evolve(&e, A, psi, TIMES, time, &o));
        assert_int_equal(seen.seen, TIMES);
        assert_true(e.done == TIMES && e.steps > 0 && (s.H[0].rows == 1 || (e.sweeps > e.steps && e.flops > 0)));
        double error[TIMES];
        errors_of(&s, start, seen.psi, time, error);
        for (int64_t i = 0; i < TIMES; i++) {
            if (!(error[i] <= off[i]))
                fail_msg("run %d, time %g: off by %g, and %g is told", run, time[i], error[i], off[i]);
            if (!(off[i] <= 3 * tolerance)) fail_msg("run %d: %g is told", run, off[i]);
        }
        forget(&seen);
        wisp_blk_free(psi);
        wisp_mat_free((wisp_mat *)(uintptr_t)drive[0]), wisp_mat_free((wisp_mat *)(uintptr_t)drive[1]);
        wisp_mat_free(A);
        free_scene(&s), ref_free(start);
    }
}

/* ---- two levels -------------------------------------------------------------------------------------- */

/* H = (w0 s_z + W (cos(w t) s_x + sin(w t) s_y))/2: exp(-i w t s_z/2) exp(-i t ((w0 - w) s_z + W s_x)/2) psi(0). */
static void rabi(void **state)
{
    wisp_ctx *ctx = *state;
    static const double time[] = {0.5, 2, 7, 20, -3};
    enum { MOMENTS = 5 };
    for (int detuned = 0; detuned < 3; detuned++) {
        const double w0 = 1.5, w = w0 - 0.4 * detuned, W = 0.3, d = w0 - w, E = hypot(d, W);
        scene s = {.p = {.size = {1, 1}, .rate = {w, w}, .phase = {0, -M_PI / 2}, .jump = NAN}};
        for (int j = 0; j < 3; j++) s.H[j] = ref_new(2, 2);
        REF_AT(s.H[0], 0, 0) = w0 / 2, REF_AT(s.H[0], 1, 1) = -w0 / 2;
        REF_AT(s.H[1], 0, 1) = REF_AT(s.H[1], 1, 0) = W / 2;
        REF_AT(s.H[2], 0, 1) = -I * W / 2, REF_AT(s.H[2], 1, 0) = I * W / 2;
        wisp_mat *A = ref_mat_of(ctx, s.H[0], WISP_Z);
        const wisp_mat *drive[] = {on_map(ctx, s.H[1], WISP_Z, A), on_map(ctx, s.H[2], WISP_Z, A)};
        for (double tolerance = 1e-2; tolerance > (ref_ranks() == 1 ? 5e-10 : 1e-3); tolerance *= 1e-3) {
            wisp_blk *psi;
            const int64_t site = 0;
            REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
            REF_OK(ctx, wisp_blk_fill_units(psi, &site));
            record seen = {.seen = 0};
            double off[MOMENTS], log_norm[MOMENTS];
            wisp_evolution e;
            const wisp_evolve_opts o = {.tolerance = tolerance,
                                        .observe = keep,
                                        .observe_arg = &seen,
                                        .off = off,
                                        .log_norm = log_norm,
                                        .drives = 2,
                                        .drive = drive,
                                        .drive_at = drive_at,
                                        .drive_arg = &s.p};
            REF_OK(ctx, wisp_evolve(&e, A, psi, MOMENTS, time, &o));
            for (int i = 0; i < MOMENTS; i++) {
                const double t = time[i], c = cos(E * t / 2), n = sin(E * t / 2) / E;
                const cplx up = cexp(-I * w * t / 2) * (c - I * n * d), down = cexp(I * w * t / 2) * (-I * n * W);
                const double error = hypot(cabs(seen.psi[i].a[0] - up), cabs(seen.psi[i].a[1] - down));
                if (!(error <= off[i] + 1e-14 && off[i] <= 3 * tolerance))
                    fail_msg("tolerance %g, time %g: off by %g, and %g is told", tolerance, t, error, off[i]);
                assert_true(fabs(log_norm[i]) <= off[i] + 1e-14);
            }
            if (tolerance < 2e-9 && e.steps > 4000) fail_msg("%d steps", (int)e.steps); /* of fourth order */
            forget(&seen);
            wisp_blk_free(psi);
        }
        wisp_mat_free((wisp_mat *)(uintptr_t)drive[0]), wisp_mat_free((wisp_mat *)(uintptr_t)drive[1]);
        wisp_mat_free(A);
        free_scene(&s);
    }
}

/* ---- what a step does not see by its nodes -------------------------------------------------------------- */

typedef struct {
    double at[3], width[3], area[3]; /* of pulses exp(-((t - at)/width)^2) */
} kicks;

static int kick_at(void *arg, double t, double *f)
{
    const kicks *k = arg;
    f[0] = 0;
    for (int i = 0; i < 3; i++) {
        const double x = (t - k->at[i]) / k->width[i];
        f[0] += k->area[i] / (k->width[i] * sqrt(M_PI)) * exp(-x * x);
    }
    return 0;
}

static double turned(const kicks *k, double t)
{
    double all = 0;
    for (int i = 0; i < 3; i++)
        all += k->area[i] / 2 * (erf((t - k->at[i]) / k->width[i]) + erf(k->at[i] / k->width[i]));
    return all;
}

/* Under s_x alone psi turns by the area of the pulses, however narrow they are and far from each other. */
static void narrow_pulses(void **state)
{
    wisp_ctx *ctx = *state;
    static const double time[] = {7, 30};
    ref_mat none = ref_new(2, 2), x = ref_new(2, 2);
    ref_rng r = {77};
    REF_AT(x, 0, 1) = REF_AT(x, 1, 0) = 1;
    wisp_mat *A = ref_mat_of(ctx, none, WISP_Z), *X = on_map(ctx, x, WISP_Z, A);
    for (int run = 0; run < (ref_few() ? 3 : 16); run++) {
        kicks k;
        wisp_blk *psi;
        wisp_evolution e;
        const int64_t site = 0;
        for (int i = 0; i < 3; i++) {
            k.at[i] = 30 * fabs(ref_uniform(&r));
            k.width[i] = exp2(-9 * fabs(ref_uniform(&r)));
            k.area[i] = 2 * ref_uniform(&r);
        }
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
        REF_OK(ctx, wisp_blk_fill_units(psi, &site));
        record seen = {.seen = 0};
        double off[2];
        const wisp_evolve_opts o = {.tolerance = run % 2 ? 1e-9 : 1e-4,
                                    .observe = keep,
                                    .observe_arg = &seen,
                                    .off = off,
                                    .drives = 1,
                                    .drive = (const wisp_mat *const[]){X},
                                    .drive_at = kick_at,
                                    .drive_arg = &k};
        REF_OK(ctx, wisp_evolve(&e, A, psi, 2, time, &o));
        for (int i = 0; i < 2; i++) {
            const double a = turned(&k, time[i]);
            const double error = hypot(cabs(seen.psi[i].a[0] - cos(a)), cabs(seen.psi[i].a[1] + I * sin(a)));
            if (!(error <= off[i] + 1e-14 && off[i] <= 3 * o.tolerance))
                fail_msg("run %d, time %g: off by %g, and %g is told", run, time[i], error, off[i]);
        }
        forget(&seen);
        wisp_blk_free(psi);
    }
    wisp_mat_free(A), wisp_mat_free(X);
    ref_free(none), ref_free(x);
}

/* A saw, straight between whole numbers: its breaks may stand in any order, and time may go back. */
static int saw_at(void *arg, double t, double *f)
{
    (void)arg;
    f[0] = t - floor(t);
    return 0;
}

static void breaks_in_any_order(void **state)
{
    wisp_ctx *ctx = *state;
    enum { BREAKS = 41 };
    ref_mat none = ref_new(2, 2), x = ref_new(2, 2);
    REF_AT(x, 0, 1) = REF_AT(x, 1, 0) = 1;
    wisp_mat *A = ref_mat_of(ctx, none, WISP_Z), *X = on_map(ctx, x, WISP_Z, A);
    for (int run = 0; run < 4; run++) {
        const double time[] = {run < 2 ? 12.5 : -11.25, 3.25}, step = run % 2 ? 7 : 1;
        double at[BREAKS], off[2];
        for (int i = 0; i < BREAKS; i++) at[i] = (double)((int)step * i % BREAKS) - 20;
        wisp_blk *psi;
        wisp_evolution e;
        const int64_t site = 0;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
        REF_OK(ctx, wisp_blk_fill_units(psi, &site));
        record seen = {.seen = 0};
        const wisp_evolve_opts o = {.tolerance = 1e-9,
                                    .observe = keep,
                                    .observe_arg = &seen,
                                    .off = off,
                                    .drives = 1,
                                    .drive = (const wisp_mat *const[]){X},
                                    .drive_at = saw_at,
                                    .breaks = BREAKS,
                                    .break_at = at};
        REF_OK(ctx, wisp_evolve(&e, A, psi, 2, time, &o));
        for (int i = 0; i < 2; i++) {
            const double t = time[i], rest = t - floor(t), a = floor(t) / 2 + rest * rest / 2;
            const double error = hypot(cabs(seen.psi[i].a[0] - cos(a)), cabs(seen.psi[i].a[1] + I * sin(a)));
            if (!(error <= off[i] + 1e-14 && off[i] <= 3e-9))
                fail_msg("run %d: off by %g, told %g", run, error, off[i]);
        }
        if (e.refused > 3 || e.steps > 250) fail_msg("run %d: %d steps", run, (int)e.steps); /* none sees a corner */
        forget(&seen);
        wisp_blk_free(psi);
    }
    wisp_mat_free(A), wisp_mat_free(X);
    ref_free(none), ref_free(x);
}

/* ---- what goes wrong --------------------------------------------------------------------------------- */

static int stop_at_1(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    (void)arg, (void)psi, (void)norm;
    return i == 1;
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    static const double time[] = {1, 2};
    ref_rng r = {3};
    scene s = random_scene(&r, WISP_Z, 5);
    wisp_mat *A = ref_mat_of(ctx, s.H[0], WISP_Z);
    const wisp_mat *drive[] = {on_map(ctx, s.H[1], WISP_Z, A), on_map(ctx, s.H[2], WISP_Z, A)};
    const wisp_mat *none[] = {drive[0], NULL};
    wisp_blk *psi;
    wisp_evolution e;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    const wisp_evolve_opts good = {
        .tolerance = 1e-2, .drives = 2, .drive = drive, .drive_at = drive_at, .drive_arg = &s.p};
    wisp_evolve_opts o = good;
#define REFUSED(status, words)                                                          \
    do {                                                                                \
        REF_FAILS(ctx, wisp_evolve(&e, A, psi, 2, time, &o), WISP_ERR_##status, words); \
        o = good;                                                                       \
    } while (0)
    o.drives = -1;
    REFUSED(ARG, "opts.drives is -1");
    o.drive = none;
    REFUSED(ARG, "one of them is NULL");
    o.drive_at = NULL;
    REFUSED(ARG, "one of them is NULL");
    o.breaks = 1;
    REFUSED(ARG, "one of them is NULL");
    o.direction = (wisp_scalar){0, -1};
    REFUSED(ARG, "times are real");
    o.non_hermitian = 1;
    REFUSED(ARG, "H(t) is Hermitian");
    o.longest_step = NAN;
    REFUSED(ARG, "opts.longest_step nan");
    o.breaks = 1, o.break_at = &(double){INFINITY};
    REFUSED(ARG, "opts.break_at[0] is inf");
    s.p.fails_at = s.p.calls + 9;
    REFUSED(CALLBACK, "opts.drive_at failed at time");
    s.p.fails_at = 0, s.p.phase[1] = NAN;
    REFUSED(NUMERIC, "f_1 = nan");
    s.p.phase[1] = 0, s.p.size[1] = 1e20;
    REFUSED(ARG, "H(t) is as large as");
    s.p.size[1] = 1;
    o.observe = stop_at_1;
    REFUSED(CANCELLED, "opts.observe at time 2");
    assert_int_equal(e.done, 2);
    o.tolerance = 1e-17;
    REFUSED(ARG, "rounding alone");
    o.bounds.method = WISP_BOUNDS_GIVEN, o.bounds.given = (wisp_bounds){0, 1e-3, 0};
    REFUSED(BOUNDS, "bounds");
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){NAN, 0}));
    REFUSED(NUMERIC, "psi has a NaN");
    REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){0, 0}));
    REF_OK(ctx, wisp_evolve(NULL, A, psi, 2, time, &o));
    REF_OK(ctx, wisp_evolve(NULL, A, psi, 0, NULL, &o));
    wisp_blk_free(psi);
    wisp_mat_free((wisp_mat *)(uintptr_t)drive[0]), wisp_mat_free((wisp_mat *)(uintptr_t)drive[1]);
    wisp_mat_free(A);
    free_scene(&s);
}

/* Steps no longer than is allowed, and memory no more than is told. */
static void steps_and_memory(void **state)
{
    (void)state;
    for (int width = 1; width < 4; width++) {
        if (ref_ranks() > 1) break; /* a plan speaks of one rank */
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + width % 2, .no_pin = 1});
        static const double time[] = {0.5, 2};
        wisp_mat *A, *B;
        wisp_blk *psi;
        wisp_mat_info info;
        wisp_plan plan;
        wisp_evolution e;
        int64_t before, made, peak;
        pulses p = {.size = {0.1, 0.2}, .rate = {1, 2}, .jump = NAN};
        REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=40,ny=30", NULL));
        REF_OK(ctx, wisp_mat_open(&B, ctx, "graphene:nx=40,ny=30", &(wisp_mat_opts){.map = wisp_mat_map(A)}));
        wisp_mat_get_info(A, &info);
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, width));
        REF_OK(ctx, wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 1, 2, 0));
        wisp_ctx_memory(ctx, &before, &made);
        double *ballast;
        REF_OK(ctx, wisp_alloc(ctx, &ballast, (size_t)made / sizeof *ballast, sizeof *ballast));
        wisp_ctx_memory(ctx, &before, NULL);
        const wisp_mat *drive[] = {B, B};
        const wisp_evolve_opts o = {.tolerance = 1e-3,
                                    .drives = 2,
                                    .drive = drive,
                                    .drive_at = drive_at,
                                    .drive_arg = &p,
                                    .longest_step = 0.03125};
        REF_OK(ctx, wisp_evolve_plan(&plan, ctx, &info, WISP_Z, width, 2, time, &o, NULL));
        REF_OK(ctx, wisp_evolve(&e, A, psi, 2, time, &o));
        wisp_ctx_memory(ctx, NULL, &peak);
        assert_true(isnan(plan.sweeps) && e.steps >= 64);
        if (peak - before > plan.bytes_most)
            fail_msg("%lld bytes are held, at most %lld were told", (long long)(peak - before),
                     (long long)plan.bytes_most);
        wisp_free(ctx, ballast);
        wisp_blk_free(psi);
        wisp_mat_free(A), wisp_mat_free(B);
        wisp_ctx_free(ctx);
    }
}

static wisp_status evolve_driven(wisp_ctx *ctx, void *arg)
{
    static const double time[] = {0.5};
    pulses p = {.size = {0.1, 0.2}, .rate = {1, 2}, .jump = NAN};
    wisp_mat *A = NULL, *B = NULL;
    wisp_blk *psi = NULL;
    wisp_status status;
    (void)arg;
    WISP_TRY(wisp_mat_open(&A, ctx, "graphene:nx=6,ny=6", NULL));
    WISP_TRY(wisp_mat_open(&B, ctx, "graphene:nx=6,ny=6", &(wisp_mat_opts){.map = wisp_mat_map(A)}));
    WISP_TRY(wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 2));
    WISP_TRY(wisp_blk_fill(psi, (wisp_scalar){1, 0}));
    const wisp_evolve_opts o = {.tolerance = 1e-3,
                                .drives = 2,
                                .drive = (const wisp_mat *const[]){B, B},
                                .drive_at = drive_at,
                                .drive_arg = &p};
    status = wisp_evolve(NULL, A, psi, 1, time, &o);
out:
    wisp_blk_free(psi);
    wisp_mat_free(A), wisp_mat_free(B);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    assert_true(ref_failing_memory(evolve_driven, NULL, 300, 40) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_matrices), cmocka_unit_test(rabi),
                                       cmocka_unit_test(narrow_pulses),   cmocka_unit_test(breaks_in_any_order),
                                       cmocka_unit_test(refusals),        cmocka_unit_test(steps_and_memory),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
