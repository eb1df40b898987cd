/* Ops on the device `far` beside the CPU: what looks at a matrix of the device's finds the same, and it is counted what
   waits for a device (wisp_counts.round_trips). */
#include "ref.h"
#include "data/data.h"
#include <wisp/solve.h>
#include <wisp/solvers.h>
#include <stdio.h>

/* ---- what looks at a matrix ------------------------------------------------------------------- */

enum { EDGE = 20, SIZE = EDGE * EDGE * EDGE, COLUMNS = 16, STEPS = 4 };

/* What is found, to be compared with what a CPU's context finds. */
typedef struct {
    wisp_mat_props props;
    int64_t histogram[12];
    double row[SIZE]; /* sums of values, and of values times columns */
    wisp_gather gather;
    double fill_in;
    double power[SIZE * COLUMNS];
    int depth;
    wisp_bounds bounds;
    double x[SIZE * COLUMNS];
} findings;

static int double_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp_src *of = arg;
    const int n = of->row(of->arg, row, col, val);
    for (int k = 0; col && k < n; k++) ((double *)val)[k] *= 2;
    return n;
}

/* New values come from a source that looks at another matrix of the device's. */
static void update(wisp_ctx *ctx, wisp_mat *A, const wisp_mat *from)
{
    wisp_src src;
    REF_OK(ctx, wisp_src_open_mat(&src, from));
    wisp_src twice = src;
    twice.row = double_row;
    twice.arg = &src;
    twice.free_arg = NULL;
    REF_OK(ctx, wisp_mat_update(A, &twice));
    wisp_src_close(&src);
}

static void read_rows(wisp_ctx *ctx, const wisp_mat *A, double *sum)
{
    wisp_src src;
    int64_t col[16];
    double val[16];
    REF_OK(ctx, wisp_src_open_mat(&src, A));
    for (int64_t i = 0; i < SIZE; i++) {
        const int n = src.row(src.arg, i, col, val);
        sum[i] = 0;
        for (int k = 0; k < n; k++) sum[i] += val[k] * (double)(1 + col[k]);
    }
    wisp_src_close(&src);
}

static void multiply(wisp_ctx *ctx, const wisp_mat *A, findings *f)
{
    wisp_blk *v[2];
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, COLUMNS));
    REF_OK(ctx, wisp_blk_fill_random(v[1], WISP_RANDOM_GAUSS, 7, 0, 0));
    REF_OK(ctx, wisp_mpk(v, 2, A, &(wisp_mpk_opts){.steps = STEPS, .depth = STEPS, .depth_used = &f->depth}));
    REF_OK(ctx, wisp_blk_get(v[(STEPS + 1) % 2], WISP_ROW_MAJOR, f->power, COLUMNS));
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
}

static void solve(wisp_ctx *ctx, const wisp_mat *A, findings *f)
{
    wisp_blk *x, *b;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, COLUMNS));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, COLUMNS));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 8, 0, 0));
    /* before a residual is replaced, which is where it is looked at */
    const wisp_solve_opts o = {.precond = WISP_BLOCK_JACOBI, .tolerance = 1e-12, .max_iterations = 12};
    assert_int_equal(wisp_solve(NULL, x, A, b, &o), WISP_ERR_ITERATIONS);
    REF_OK(ctx, wisp_blk_get(x, WISP_ROW_MAJOR, f->x, COLUMNS));
    wisp_blk_free(x);
    wisp_blk_free(b);
}

static void look_all_ways(const char *device, wisp_format format, findings *f)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device, .threads = 1});
    const wisp_mat_opts o = {.format = format, .order = WISP_ROWS_NATURAL};
    wisp_mat *A, *from;
    char name[64];
    snprintf(name, sizeof name, "laplace:points=7,nx=%d,ny=%d,nz=%d", EDGE, EDGE, EDGE);
    REF_OK(ctx, wisp_mat_open(&from, ctx, name, &o));
    REF_OK(ctx, wisp_mat_open(&A, ctx, name, &o));
    update(ctx, A, from);
    REF_OK(ctx, wisp_mat_get_props(A, &f->props));
    REF_OK(ctx, wisp_mat_row_histogram(A, f->histogram, 12));
    read_rows(ctx, A, f->row);
    REF_OK(ctx, wisp_mat_gather(A, WISP_D, COLUMNS, &f->gather));
    REF_OK(ctx, wisp_mat_fill_in(A, 16, 1, &f->fill_in));
    multiply(ctx, A, f);
    REF_OK(ctx, wisp_bounds_find(&f->bounds, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN}));
    solve(ctx, A, f);
    wisp_mat_free(A);
    wisp_mat_free(from);
    wisp_ctx_free(ctx);
}

/* All that looks at a matrix, in every format: the same on both devices. */
static void looks(void **state)
{
    (void)state;
    static const wisp_format formats[] = {WISP_FORMAT_SELL, WISP_FORMAT_COMPRESSED, WISP_FORMAT_HERMITIAN};
    static findings far, near;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        memset(&far, 0, sizeof far);
        memset(&near, 0, sizeof near);
        look_all_ways("far", formats[i], &far);
        look_all_ways("cpu", formats[i], &near);
        assert_true(far.props.hermitian && far.props.largest == 12);
        ref_same_props(&far.props, &near.props);
        assert_memory_equal(far.histogram, near.histogram, sizeof far.histogram);
        assert_int_equal(far.histogram[7], (EDGE - 2) * (EDGE - 2) * (EDGE - 2));
        assert_memory_equal(far.row, near.row, sizeof far.row);
        assert_true(far.gather.excess == near.gather.excess && far.gather.from_l3 == near.gather.from_l3);
        assert_true(far.fill_in == near.fill_in && far.fill_in >= 1);
        assert_int_equal(far.depth, formats[i] == WISP_FORMAT_HERMITIAN ? 1 : STEPS);
        assert_memory_equal(far.power, near.power, sizeof far.power);
        assert_true(far.bounds.center == near.bounds.center && far.bounds.halfwidth == near.bounds.halfwidth);
        assert_memory_equal(far.x, near.x, sizeof far.x);
    }
}

/* ---- what waits ------------------------------------------------------------------------------ */

enum { ROWS = 59 * 17 };

static int64_t trips(wisp_ctx *ctx)
{
    wisp_counts c;
    wisp_ctx_counts(ctx, &c);
    return c.round_trips;
}

/* What waits, on either device. */
static void round_trips(void **state)
{
    (void)state;
    enum { STEPS_OF_ALL = 64 };
    static const char *const device[] = {"far", "cpu"};
    for (int d = 0; d < 2; d++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 2});
        wisp_mat *A;
        wisp_blk *v[2];
        static double got[2 * ROWS];
        static wisp_scalar dot[STEPS_OF_ALL][3][2];
        double norm[2];
        REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=5,nx=59,ny=17", NULL));
        for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 2));
        const int64_t before = trips(ctx);
        REF_OK(ctx, wisp_blk_fill(v[1], (wisp_scalar){1e-3, 0}));
        REF_OK(ctx, wisp_spmmv(v[0], A, v[1], NULL));
        REF_OK(ctx, wisp_axpy(v[0], (wisp_scalar){2, 0}, v[1]));
        REF_OK(ctx, wisp_copy(v[0], v[1]));
        assert_int_equal(trips(ctx) - before, 0);
        REF_OK(ctx, wisp_spmmv(v[0], A, v[1], &(wisp_aug){.terms = WISP_DOT_XY | WISP_DOT_YY, .dot = dot[0][0]}));
        assert_int_equal(trips(ctx) - before, 1);
        const wisp_scalar alpha[STEPS_OF_ALL] = {{0.2, 0}};
        const wisp_mpk_opts o = {
            .steps = STEPS_OF_ALL, .alpha = alpha, .terms = WISP_DOT_XX | WISP_DOT_XY, .dot = dot[0][0]};
        REF_OK(ctx, wisp_mpk(v, 2, A, &o));
        assert_int_equal(trips(ctx) - before, 2); /* one for the dots of all steps */
        const wisp_term term = {.x = v[1]};
        const wisp_inner inner[2] = {{.x = v[0], .y = v[1], .dot = dot[0][0]},
                                     {.x = v[1], .y = v[1], .dot = dot[0][1]}};
        REF_OK(ctx, wisp_fuse(&(wisp_update){v[0], 1, &term}, 1, inner, 2, 0));
        assert_int_equal(trips(ctx) - before, 3);
        REF_OK(ctx, wisp_blk_fill(v[1], (wisp_scalar){1, 0}));
        REF_OK(ctx, wisp_norm(v[1], norm));
        REF_OK(ctx, wisp_blk_get(v[1], WISP_ROW_MAJOR, got, 2));
        assert_int_equal(trips(ctx) - before, 5);
        REF_OK(ctx, wisp_ctx_finish(ctx));
        assert_int_equal(trips(ctx) - before, 6);
        REF_OK(ctx, wisp_scal(v[1], (wisp_scalar){1e-200, 0})); /* by squares of a multiple, of both columns at once */
        REF_OK(ctx, wisp_norm(v[1], norm));
        assert_int_equal(trips(ctx) - before, 8);
        for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(looks), cmocka_unit_test(round_trips)};
    return REF_RUN(tests);
}
