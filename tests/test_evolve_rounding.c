/* How far states of an evolution along complex times are off, against what is told (wisp_evolve_opts.off): random small
   matrices, also such that lie far from 0, where rounding is most of it, and long double arithmetic. */
#include <stdbool.h>
#include <complex.h>
#include <float.h>
#include <math.h>
#include "evolve_cases.h"
#include "kpm_dense.h"

typedef _Complex long double wide;
enum { ROWS = 9, TIMES = 6, CASES = 400 };

static double uniform(ref_rng *r) { return (1 + ref_uniform(r)) / 2; }
/* Between a and b, evenly by their logarithms. */
static double any_size(ref_rng *r, double a, double b) { return a * pow(b / a, uniform(r)); }

/* x becomes exp(-i w (H - shift)) x over its norm, whose logarithm is added to *log_norm: Taylor, in short steps. */
static void propagate_wide(const ref_mat *H, double shift, wide w, wide *x, long double *log_norm)
{
    enum { TERMS = 30 };
    const int64_t n = H->rows;
    long double reach = 0;
    for (int64_t i = 0; i < n; i++) {
        long double row = 0;
        for (int64_t j = 0; j < n; j++) row += cabsl((wide)REF_AT(*H, i, j) - (i == j ? (wide)shift : 0));
        reach = fmaxl(reach, row);
    }
    const int64_t steps = 1 + (int64_t)(reach * cabsl(w));
    for (int64_t s = 0; s < steps; s++) {
        wide power[ROWS], next[ROWS];
        long double square = 0;
        for (int64_t i = 0; i < n; i++) power[i] = x[i];
        for (int k = 1; k <= TERMS; k++) {
            for (int64_t i = 0; i < n; i++) {
                next[i] = 0;
                for (int64_t j = 0; j < n; j++)
                    next[i] += ((wide)REF_AT(*H, i, j) - (i == j ? (wide)shift : 0)) * power[j];
            }
            for (int64_t i = 0; i < n; i++) power[i] = next[i] * (-(wide)I * w / (long double)(k * steps));
            for (int64_t i = 0; i < n; i++) x[i] += power[i];
        }
        for (int64_t i = 0; i < n; i++) square += creall(x[i] * conjl(x[i]));
        for (int64_t i = 0; i < n; i++) x[i] /= sqrtl(square);
        *log_norm += logl(square) / 2;
    }
}

typedef struct {
    const ref_mat *H, *start;
    wide direction;
    double shift, *log_norm, *off, worst, worst_log;
    const double *time;
} record_of;

static int compare(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    record_of *r = arg;
    const int64_t n = r->H->rows;
    ref_mat is = ref_get(psi);
    (void)norm;
    for (int64_t j = 0; j < is.cols; j++) {
        wide x[ROWS];
        long double log_norm = 0, square = 0, own = 0;
        for (int64_t k = 0; k < n; k++) x[k] = REF_AT(*r->start, k, j);
        propagate_wide(r->H, r->shift, r->direction * r->time[i], x, &log_norm);
        const wide phase = -(wide)I * r->shift * r->direction * (long double)r->time[i];
        log_norm += creall(phase);
        for (int64_t k = 0; k < n; k++) own += creall((wide)REF_AT(is, k, j) * conjl((wide)REF_AT(is, k, j)));
        for (int64_t k = 0; k < n; k++) {
            const wide apart = x[k] * cexpl((wide)I * cimagl(phase)) - (wide)REF_AT(is, k, j) / sqrtl(own);
            square += creall(apart * conjl(apart));
        }
        r->worst = fmax(r->worst, (double)sqrtl(square) / r->off[i]);
        r->worst_log = fmax(r->worst_log, (double)fabsl(log_norm - r->log_norm[i * is.cols + j]) / r->off[i]);
    }
    ref_free(is);
    return 0;
}

/* rounded: its numbers are of that type; else the solver's matrix is rounded from them. */
static ref_mat near(ref_rng *r, wisp_type type, bool rounded, int64_t n, double center, double size)
{
    ref_mat H = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double re = size * (2 * uniform(r) - 1) + (i == j ? center : 0), im = size * (2 * uniform(r) - 1);
            if (i == j || !wisp_type_is_complex(type)) im = 0;
            if (rounded && (type == WISP_S || type == WISP_C)) re = (float)re, im = (float)im;
            if (i != j && ref_below(r, 3) == 0) continue;
            REF_AT(H, i, j) = re + I * im;
            REF_AT(H, j, i) = re - I * im;
        }
    return H;
}

static void told(void **state)
{
    wisp_ctx *ctx = *state;
    static const ref_types combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
                                      {WISP_S, WISP_C}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    ref_rng rng = {5};
    int whole = 0;
    for (int run = 0; run < CASES; run++) {
        const ref_types t = combo[run % 6];
        const bool single = t.blk == WISP_C;
        const double size = any_size(&rng, 0.01, 100), far = run % 4 ? any_size(&rng, 1, single ? 1e3 : 1e9) : 0,
                     center = (run % 8 < 4 ? 1 : -1) * (run % 3 ? exp2(round(log2(1 + far * size))) : far * size),
                     angle = run % 5 == 0   ? M_PI / 2
                             : run % 5 == 1 ? -M_PI / 2
                             : run % 5 == 2 ? 0.01
                                            : M_PI * uniform(&rng) * 2,
                     span = any_size(&rng, 0.01, 100) / size / (far > 1e3 ? sqrt(far) / 30 : 1);
        ref_mat H = near(&rng, t.mat, !single, 1 + ref_below(&rng, run % 7 < 5 ? 3 : ROWS), center, size);
        ref_mat start = ref_random_block(&rng, t.blk, H.rows, 1 + run % 2);
        if (run % 7 < 3)
            for (int64_t i = 0; i < H.rows; i++) REF_AT(start, i, 0) = i == 0;
        wisp_mat *A = ref_mat_of(ctx, H, t.mat);
        wisp_blk *psi;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), t.blk, (int)start.cols));
        ref_put(psi, start);
        double time[TIMES], log_norm[2 * TIMES], off[TIMES];
        for (int i = 0; i < TIMES; i++) time[i] = span * (run % 3 ? (i + 1.0) / TIMES : 2 * uniform(&rng) - 1);
        const wisp_scalar direction = {run % 5 < 2 ? 0 : cos(angle), run % 5 < 2 ? -sin(angle) : -sin(angle)};
        record_of seen = {.H = &H,
                          .start = &start,
                          .direction = direction.re + (wide)I * direction.im,
                          .shift = creal(H.a[0]),
                          .log_norm = log_norm,
                          .off = off,
                          .time = time};
        const wisp_evolve_opts o = {.tolerance = 0.5,
                                    .direction = direction,
                                    .at_once = (int)(run / 6 % 3) * 4,
                                    .observe = compare,
                                    .observe_arg = &seen,
                                    .log_norm = log_norm,
                                    .off = off};
        const wisp_status status = wisp_evolve(NULL, A, psi, TIMES, time, &o);
        if (status && status != WISP_ERR_PRECISION && status != WISP_ERR_ARG)
            fail_msg("run %d: %s", run, message_of(ctx));
        whole += status == WISP_OK;
        if (!(seen.worst <= 1 && seen.worst_log <= 1))
            fail_msg("run %d: off by %g of what is told, the logarithm by %g", run, seen.worst, seen.worst_log);
        wisp_blk_free(psi);
        wisp_mat_free(A);
        ref_free(H), ref_free(start);
    }
    assert_true(whole > CASES / 2);
}

/* Rows far from 0 in single precision, at the edge of the bounds, where all Chebyshev vectors are the same: what their
   number, the center, and the products with both are rounded by adds up in each step and over the whole time. */
static void coherent(void **state)
{
    wisp_ctx *ctx = *state;
    enum { STARTS = 40, ROW_PAIR = 2 };
    const double P = 1024, half = P * FLT_EPSILON / 2, time = 4;
    ref_rng rng = {3};
    double all = 0;
    for (int run = 0; run < STARTS; run++) {
        ref_mat H = ref_new(ROW_PAIR, ROW_PAIR), start = ref_random_block(&rng, WISP_C, ROW_PAIR, 1);
        const double way = run % 2 ? 1 : -1;
        for (int64_t i = 0; i < ROW_PAIR; i++) REF_AT(H, i, i) = P + 2 + half - way * half / 50;
        wisp_mat *A = ref_mat_of(ctx, H, WISP_S);
        wisp_blk *psi;
        double log_norm, off;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_C, 1));
        ref_put(psi, start);
        record_of seen = {.H = &H,
                          .start = &start,
                          .direction = 1 - (wide)I * 1e-6,
                          .shift = P,
                          .log_norm = &log_norm,
                          .off = &off,
                          .time = &time};
        const wisp_evolve_opts o = {.tolerance = 0.5,
                                    .direction = {1, -1e-6},
                                    .observe = compare,
                                    .observe_arg = &seen,
                                    .log_norm = &log_norm,
                                    .off = &off,
                                    .bounds.method = WISP_BOUNDS_GIVEN,
                                    .bounds.given = {P + 1 + half + way * half / 50, 1, 0}};
        REF_OK(ctx, wisp_evolve(NULL, A, psi, 1, &time, &o));
        all = fmax(all, fmax(seen.worst, seen.worst_log));
        wisp_blk_free(psi);
        wisp_mat_free(A);
        ref_free(H), ref_free(start);
    }
    if (!(all <= 1)) fail_msg("off by %g of what is told", all);
}

/* Real times, with tolerances that rounding alone just allows. */
static void real_times(void **state)
{
    wisp_ctx *ctx = *state;
    static const ref_types combo[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C}, {WISP_S, WISP_C}};
    enum { REAL_CASES = 300 };
    ref_rng rng = {23};
    for (int run = 0; run < REAL_CASES; run++) {
        const ref_types t = combo[run % 4];
        const bool single = t.blk == WISP_C;
        const double size = any_size(&rng, 0.01, 100), center = (run % 3 - 1) * size * any_size(&rng, 1, 1e3),
                     epsilon = single ? (double)FLT_EPSILON : DBL_EPSILON,
                     span = any_size(&rng, 0.01, 100) / (size + fabs(center));
        ref_mat H = near(&rng, t.mat, true, 1 + ref_below(&rng, ROWS), center, size);
        ref_mat start = ref_random_block(&rng, t.blk, H.rows, 1 + run % 2);
        double time[TIMES], log_norm[2 * TIMES], off[TIMES], path = 0, low = HUGE_VAL, high = -HUGE_VAL;
        for (int i = 0; i < TIMES; i++) {
            time[i] = span * (run % 3 ? (i + 1.0) / TIMES : 2 * uniform(&rng) - 1);
            path += fabs(time[i] - (i ? time[i - 1] : 0));
        }
        for (int64_t i = 0; i < H.rows; i++) {
            double radius = 0;
            for (int64_t j = 0; j < H.rows; j++) radius += i == j ? 0 : cabs(REF_AT(H, i, j));
            low = fmin(low, creal(REF_AT(H, i, i)) - radius), high = fmax(high, creal(REF_AT(H, i, i)) + radius);
        }
        const wisp_bounds given = {low / 2 + high / 2, (high / 2 - low / 2) * (1 + 1e-6) + 1e-5 * size, 0};
        wisp_mat *A = ref_mat_of(ctx, H, t.mat);
        wisp_blk *psi;
        REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), t.blk, (int)start.cols));
        ref_put(psi, start);
        record_of seen = {.H = &H,
                          .start = &start,
                          .direction = 1,
                          .shift = creal(H.a[0]),
                          .log_norm = log_norm,
                          .off = off,
                          .time = time};
        const wisp_evolve_opts o = {.tolerance =
                                        fmin(0.5, 1.01 * epsilon * (4 + (given.halfwidth + fabs(given.center)) * path)),
                                    .at_once = run / 6 % 3 * 4,
                                    .observe = compare,
                                    .observe_arg = &seen,
                                    .log_norm = log_norm,
                                    .off = off,
                                    .bounds.method = WISP_BOUNDS_GIVEN,
                                    .bounds.given = given};
        REF_OK(ctx, wisp_evolve(NULL, A, psi, TIMES, time, &o));
        if (!(seen.worst <= 1 && seen.worst_log <= 1))
            fail_msg("run %d: off by %g of what is told, the logarithm by %g", run, seen.worst, seen.worst_log);
        wisp_blk_free(psi);
        wisp_mat_free(A);
        ref_free(H), ref_free(start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(told), cmocka_unit_test(coherent),
                                       cmocka_unit_test(real_times)};
    return REF_RUN_CTX(tests);
}
