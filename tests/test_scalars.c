/* Steps of scalars: the same numbers on every device, and no waiting for them. (What the steps compute is tested by the
   methods that are made of them, test_solve*.c.) */
#include "ref.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 2, MOST_WIDTH = 33, MOST = (WISP_SETS + RECORDS) * MOST_WIDTH };

/* Of any size; now and then what no iteration should meet. */
static double some(ref_rng *r)
{
    static const double odd[] = {0, -0.0, 1, NAN, INFINITY, -INFINITY, DBL_MIN, DBL_MAX, -1e-300, 1e300};
    if (ref_below(r, 6) == 0) return odd[ref_below(r, (int64_t)(sizeof odd / sizeof *odd))];
    return ref_uniform(r) * pow(10, (double)ref_below(r, 9) - 4);
}

static void fill(ref_rng *r, wisp_scalar *n, int width)
{
    for (int i = 0; i < (WISP_SETS + RECORDS) * width; i++)
        n[i] = (wisp_scalar){some(r), ref_below(r, 2) ? some(r) : 0};
    for (int j = 0; j < width; j++) {
        wisp_scalar *state = &n[WISP_SET_STATE * width + j];
        *state = (wisp_scalar){ref_below(r, 4) == 0, ref_below(r, 4) == 0 ? WISP_STATE_BREAKDOWN : 0};
    }
}

/* Column j alone, as if the others were not there. */
static void alone(wisp_ctx *ctx, wisp_step step, const double *numbers, const wisp_scalar *before, int width, int j,
                  wisp_scalar *after)
{
    enum { SETS = WISP_SETS + RECORDS };
    wisp_scalar column[SETS];
    wisp_slot *s;
    for (int i = 0; i < SETS; i++) column[i] = before[i * width + j];
    REF_OK(ctx, wisp_slot_create(&s, ctx, SETS));
    REF_OK(ctx, wisp_slot_write(s, 0, SETS, column));
    REF_OK(ctx, wisp_scalars((wisp_place){s, 0}, step, 1, numbers));
    REF_OK(ctx, wisp_slot_read(s, 0, SETS, column));
    for (int i = 0; i < SETS; i++) after[i * width + j] = column[i];
    wisp_slot_free(s);
}

/* On the device that is far, behind a queue, from a place within a slot; on the CPU column by column. */
static void the_same_anywhere(void **state)
{
    (void)state;
    static wisp_scalar before[MOST], there[MOST], here[MOST];
    static const int widths[] = {1, 3, 5, 33};
    if (ref_ranks() > 1) return; /* each rank for itself */
    wisp_ctx *far = ref_ctx(&(wisp_ctx_opts){.device = "far", .threads = 1});
    wisp_ctx *cpu = ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 1});
    for (uint64_t seed = 1; seed <= 400; seed++) {
        ref_rng r = {seed * 15485863};
        const int width = widths[seed % 4], first = (int)ref_below(&r, 9), n = (WISP_SETS + RECORDS) * width;
        const wisp_step step = (wisp_step)(WISP_STEP_CG + ref_below(&r, WISP_STEPS - WISP_STEP_CG));
        double numbers[WISP_NUMBERS];
        wisp_slot *s;
        for (int i = 0; i < WISP_NUMBERS; i++) numbers[i] = fabs(some(&r));
        numbers[WISP_NUMBER_RECORD] = (double)ref_below(&r, RECORDS + 1) - 1;
        numbers[WISP_NUMBER_PRECOND] = (double)ref_below(&r, 3);
        numbers[WISP_NUMBER_EPS] = DBL_EPSILON;
        fill(&r, before, width);
        REF_OK(far, wisp_slot_create(&s, far, n + first));
        REF_OK(far, wisp_slot_write(s, first, n, before));
        REF_OK(far, wisp_scalars((wisp_place){s, first}, step, width, numbers));
        REF_OK(far, wisp_slot_read(s, first, n, there));
        wisp_slot_free(s);
        for (int j = 0; j < width; j++) alone(cpu, step, numbers, before, width, j, here);
        if (memcmp(here, there, (size_t)n * sizeof *here))
            fail_msg("seed %d, step %d: other bits", (int)seed, (int)step);
        int changed = 0;
        for (int j = 0; j < width; j++) {
            const wisp_scalar was = before[WISP_SET_STATE * width + j];
            for (int i = WISP_SET_STATE; i < WISP_SET_RECORD && (was.re != 0 || was.im != 0); i++)
                changed += memcmp(&before[i * width + j], &there[i * width + j], sizeof *there) != 0;
        }
        if (changed) fail_msg("seed %d, step %d: a column that has ended is changed", (int)seed, (int)step);
    }
    wisp_ctx_free(far);
    wisp_ctx_free(cpu);
}

static void refusals(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    const double numbers[WISP_NUMBERS] = {[WISP_NUMBER_RECORD] = -1}, record[WISP_NUMBERS] = {0};
    wisp_slot *s;
    REF_OK(ctx, wisp_slot_create(&s, ctx, WISP_SETS));
    REF_OK(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEP_CG, 1, numbers));
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEP_CG, 1, record), WISP_ERR_ARG, "of a slot of");
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 1}, WISP_STEP_CG, 1, numbers), WISP_ERR_ARG, "from 1 on");
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEP_CG, 2, numbers), WISP_ERR_ARG, "of a slot of");
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEP_CG, 0, numbers), WISP_ERR_ARG, "of 0 columns");
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEPS, 1, numbers), WISP_ERR_ARG, "step");
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, (wisp_step)0, 1, numbers), WISP_ERR_ARG, "step 0");
    static const double far[] = {1e6, 1e18, NAN, -1, -1e6};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        const double beyond[WISP_NUMBERS] = {[WISP_NUMBER_RECORD] = -1, [WISP_NUMBER_PRECOND] = far[i]};
        REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEP_CG_TURN, 1, beyond), WISP_ERR_ARG, "scalars: ");
    }
    REF_FAILS(ctx, wisp_scalars((wisp_place){s, 0}, WISP_STEP_CG, 1, NULL), WISP_ERR_ARG, "numbers");
    assert_int_equal(wisp_scalars((wisp_place){NULL, 0}, WISP_STEP_CG, 1, numbers), WISP_ERR_ARG);
    wisp_slot_free(s);
    wisp_ctx_free(ctx);
}

/* ---- how often solvers wait ------------------------------------------------------------------------ */

static int64_t trips(wisp_ctx *ctx)
{
    wisp_counts c;
    wisp_ctx_counts(ctx, &c);
    return c.round_trips;
}

static const struct {
    wisp_solve_opts o;
    int each;   /* in an iteration */
    int begins; /* |b|, and in the end the residual, with x; 0: not counted, for a preconditioner is made, too */
} methods[] = {{{.method = WISP_CG, .variant = WISP_PIPELINED}, 0, 2},
               {{.method = WISP_CG, .variant = WISP_PREDICT}, 0, 2},
               {{.method = WISP_CG, .variant = WISP_HIDDEN}, 0, 2},
               {{.method = WISP_CG, .precond = WISP_JACOBI}, 0, 0},
               {{.method = WISP_CG, .precond = WISP_BLOCK_JACOBI}, 0, 0},
               {{.method = WISP_CG, .precond = WISP_CHEBYSHEV}, 0, 0},
               {{.method = WISP_BICGSTAB}, 0, 2},
               {{.method = WISP_BICGSTAB, .precond = WISP_CHEBYSHEV, .degree = 1}, 0, 0},
               {{.method = WISP_MINRES}, 0, 6}, /* it asks first whether x = 0 makes the residual least */
               {{.method = WISP_MINRES, .precond = WISP_JACOBI}, 0, 0}};

static int64_t trips_of(wisp_ctx *ctx, const wisp_mat *A, const wisp_solve_opts *opts, int64_t iterations)
{
    wisp_blk *x, *b;
    wisp_solution s;
    wisp_solve_opts o = *opts;
    o.tolerance = 1e-14;
    o.max_iterations = iterations;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 9, 1, 0));
    const int64_t before = trips(ctx);
    const wisp_status status = wisp_solve(&s, x, A, b, &o);
    if (status != WISP_ERR_ITERATIONS)
        fail_msg("method %d, preconditioner %d: %s after %lld", (int)o.method, (int)o.precond,
                 wisp_status_string(status), (long long)s.iterations);
    const int64_t n = trips(ctx) - before;
    assert_int_equal(s.iterations, iterations);
    wisp_solution_free(&s);
    wisp_blk_free(x);
    wisp_blk_free(b);
    return n;
}

/* Once for the numbers of each call of so many iterations. */
static void round_trips(void **state)
{
    (void)state;
    enum { SHORT = 16, LONG = 32 };
    if (ref_ranks() > 1) return; /* sums wait */
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "far", .threads = 1});
    const int each = wisp_ctx_look_every(ctx);
    wisp_mat *A;
    assert_int_equal(each, 16);
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=7,nx=31,ny=29,nz=27", NULL));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const int64_t brief = trips_of(ctx, A, &methods[i].o, SHORT), full = trips_of(ctx, A, &methods[i].o, LONG);
        const int64_t more = (LONG - SHORT) / each + (int64_t)methods[i].each * (LONG - SHORT);
        const int64_t most = methods[i].begins ? SHORT / each + methods[i].begins : INT64_MAX;
        if (full - brief != more || (brief != most && methods[i].begins))
            fail_msg("method %d: %lld trips, and %lld", (int)i, (long long)brief, (long long)full);
    }
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_anywhere),
        cmocka_unit_test(refusals),
        cmocka_unit_test(round_trips),
    };
    return REF_RUN(tests);
}
