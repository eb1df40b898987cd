/* A solver that is kept: each of its calls ends in what a fresh call of wisp_solve makes, bit by bit, whatever came
   before; new right-hand sides, guesses and values; memory, and what happens where there is none. */
#include "solve_random.h"
#include <math.h>
#include <stdbool.h>

static int setup(void **state)
{
    *state = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    return 0;
}

static int teardown(void **state)
{
    ref_nothing_left(*state);
    wisp_ctx_free(*state);
    return 0;
}

static wisp_blk *block(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width)
{
    wisp_blk *x;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, width));
    return x;
}

/* ---- the same as fresh calls ----------------------------------------------------------------------- */

static void same_solution(const wisp_solution *a, const wisp_solution *b, const char *what)
{
    if (a->columns != b->columns || a->converged != b->converged || a->iterations != b->iterations ||
        memcmp(&a->residual, &b->residual, sizeof a->residual) || a->method != b->method || a->variant != b->variant ||
        a->precond != b->precond || a->restart != b->restart || a->replacements != b->replacements)
        fail_msg("%s: %lld iterations to %g, and by a fresh call %lld to %g", what, (long long)a->iterations,
                 a->residual, (long long)b->iterations, b->residual);
    if (a->columns == 0) return;
    const size_t n = (size_t)a->columns;
    assert_memory_equal(a->status, b->status, n * sizeof *a->status);
    assert_memory_equal(a->residuals, b->residuals, n * sizeof *a->residuals);
    assert_memory_equal(a->iterations_of, b->iterations_of, n * sizeof *a->iterations_of);
    if (!a->history != !b->history) fail_msg("%s: one has a history alone", what);
    if (a->history) assert_memory_equal(a->history, b->history, (size_t)(a->iterations + 1) * sizeof *a->history);
}

/* One call of the solver, and a fresh one of the same x and b; x becomes the solution. */
static wisp_status compare(wisp_ctx *ctx, wisp_solver *S, const wisp_mat *A, wisp_blk *x, const wisp_blk *b,
                           const wisp_solve_opts *opts, const char *what)
{
    wisp_solution kept, fresh;
    wisp_blk *y = block(ctx, A, wisp_blk_type(b), wisp_blk_width(b));
    REF_OK(ctx, wisp_copy(y, x));
    const wisp_status a = wisp_solver_solve(S, &kept, x, b, opts->guess);
    const wisp_status f = wisp_solve(&fresh, y, A, b, opts);
    if (a != f) fail_msg("%s: %s, and by a fresh call %s", what, wisp_status_string(a), wisp_status_string(f));
    same_solution(&kept, &fresh, what);
    ref_mat p = ref_get(x), q = ref_get(y);
    for (int64_t i = 0; i < p.rows * p.cols; i++)
        if (memcmp(p.a + i, q.a + i, sizeof *p.a)) fail_msg("%s: element %lld of x differs", what, (long long)i);
    ref_free(p), ref_free(q);
    wisp_solution_free(&kept), wisp_solution_free(&fresh);
    wisp_blk_free(y);
    return a;
}

static void put_sides(ref_rng *r, const linear *l, wisp_blk *b)
{
    ref_mat v = right_sides(r, l, (int)l->b.cols);
    ref_put(b, v);
    ref_free(v);
}

/* Guesses are what the call before left; after one that failed that may be anything finite. */
static void random_calls_of(wisp_ctx *ctx, uint64_t seed, int64_t *of)
{
    ref_rng r = {seed * 104729};
    char what[160];
    const kind k = ref_below(&r, 3) ? (kind)ref_below(&r, KINDS) : DEFINITE;
    const ref_types types = ref_pair[ref_below(&r, REF_PAIRS)];
    linear l = random_linear(ctx, &r, k, types, 1 + ref_below(&r, 60), 1 + (int)ref_below(&r, 5));
    wisp_solve_opts o = random_options(&r, &l);
    wisp_mat *D = o.precond == WISP_PRECOND_APPLY ? random_diagonal(ctx, &r, &l) : NULL;
    wisp_solver *S;
    o.apply = by_diagonal, o.apply_arg = D;
    REF_OK(ctx, wisp_solver_create(&S, l.mat, types.blk, (int)l.b.cols, &o));
    wisp_blk *x = block(ctx, l.mat, types.blk, (int)l.b.cols), *b = block(ctx, l.mat, types.blk, (int)l.b.cols);
    ref_put(b, l.b);
    for (int call = 0; call < 4; call++) {
        snprintf(what, sizeof what, "seed %llu, call %d: %s, %s, preconditioner %d", (unsigned long long)seed, call,
                 kind_name[k], method_name[o.method], (int)o.precond);
        o.guess = call > 0 && ref_below(&r, 2);
        of[compare(ctx, S, l.mat, x, b, &o, what)]++;
        if (call == 1) put_sides(&r, &l, b);
    }
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_solver_free(S);
    wisp_mat_free(D);
    linear_free(&l);
}

static void random_calls(void **state)
{
    int64_t of[STATUSES] = {0};
    const uint64_t seeds = ref_few() ? 60 : 300;
    for (uint64_t seed = 1; seed <= seeds; seed++) random_calls_of(*state, seed, of);
    assert_true(of[WISP_OK] > 0 && of[WISP_ERR_ITERATIONS] > 0);
}

/* ---- values, sizes --------------------------------------------------------------------------------- */

enum { N = 40, WIDTH = 3 };

/* A chain, whose diagonal rises with the row. */
static int chain_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const double *slope = arg;
    double *v = val;
    int n = 0;
    if (!col) return row > 0 && row < N - 1 ? 3 : 2;
    if (row > 0) col[n] = row - 1, v[n++] = -1;
    col[n] = row, v[n++] = 2.5 + *slope * (double)row;
    if (row < N - 1) col[n] = row + 1, v[n++] = -1;
    return n;
}
static wisp_src chain(double *slope)
{
    return (wisp_src){.rows = N, .cols = N, .max_row = 3, .type = WISP_D, .row = chain_row, .arg = slope};
}

static void new_values(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_precond preconds[] = {WISP_PRECOND_NONE, WISP_JACOBI, WISP_BLOCK_JACOBI, WISP_CHEBYSHEV,
                                            WISP_NEUMANN};
    for (int m = WISP_CG; m < METHODS; m = ref_next_method(m))
        for (size_t p = 0; p < sizeof preconds / sizeof *preconds; p++) {
            double slope = 0.1, other = 7e4; /* so that a preconditioner of the one is of little use to the other */
            wisp_src src = chain(&slope), changed = chain(&other);
            wisp_solve_opts o = {.method = (wisp_method)m, .precond = preconds[p]};
            wisp_mat *A;
            wisp_solver *S;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
            wisp_blk *x = block(ctx, A, WISP_D, WIDTH), *b = block(ctx, A, WISP_D, WIDTH);
            REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0));
            REF_OK(ctx, wisp_solver_create(&S, A, WISP_DEFAULT, WIDTH, &o));
            assert_int_equal(compare(ctx, S, A, x, b, &o, "old values"), WISP_OK);
            REF_OK(ctx, wisp_mat_update(A, &changed));
            wisp_solver_update(S);
            (void)compare(ctx, S, A, x, b, &o, "new values");
            REF_OK(ctx, wisp_mat_update(A, &src));
            wisp_solver_update(S);
            assert_int_equal(compare(ctx, S, A, x, b, &o, "old values again"), WISP_OK);
            wisp_solver_free(S);
            wisp_blk_free(x), wisp_blk_free(b);
            wisp_mat_free(A);
        }
}

/* Nobody has said that there are new values: the residual is that of these all the same. */
static void old_preconditioner(void **state)
{
    wisp_ctx *ctx = *state;
    double slope = 0.1, other = 0.3;
    wisp_src src = chain(&slope), changed = chain(&other);
    wisp_mat *A;
    wisp_solver *S;
    wisp_solution s;
    double norm, left;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    wisp_blk *x = block(ctx, A, WISP_D, 1), *b = block(ctx, A, WISP_D, 1), *r = block(ctx, A, WISP_D, 1);
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0));
    REF_OK(ctx, wisp_solver_create(&S, A, WISP_D, 1, &(wisp_solve_opts){.precond = WISP_BLOCK_JACOBI}));
    REF_OK(ctx, wisp_solver_solve(S, NULL, x, b, 0));
    REF_OK(ctx, wisp_mat_update(A, &changed));
    REF_OK(ctx, wisp_solver_solve(S, &s, x, b, 1));
    REF_OK(ctx, wisp_spmmv(r, A, x, NULL));
    REF_OK(ctx, wisp_vaxpby(r, &(wisp_scalar){-1, 0}, b, &(wisp_scalar){1, 0}));
    REF_OK(ctx, wisp_norm(r, &left));
    REF_OK(ctx, wisp_norm(b, &norm));
    assert_true(left <= 1.01e-8 * norm);
    assert_true(fabs(left / norm - s.residual) <= 1e-14);
    assert_true(s.iterations > 0);
    wisp_solution_free(&s);
    /* A guess that is a solution takes no iteration. */
    REF_OK(ctx, wisp_solver_solve(S, &s, x, b, 1));
    assert_int_equal(s.iterations, 0);
    wisp_solution_free(&s);
    wisp_solver_free(S);
    wisp_blk_free(x), wisp_blk_free(b), wisp_blk_free(r);
    wisp_mat_free(A);
}

static void sizes(void **state)
{
    wisp_ctx *ctx = *state;
    double slope = 0.1;
    wisp_src src = chain(&slope);
    wisp_mat *A;
    wisp_solver *S;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    wisp_blk *x = block(ctx, A, WISP_D, 2), *b = block(ctx, A, WISP_D, 2), *z = block(ctx, A, WISP_Z, 2);
    wisp_blk *y = block(ctx, A, WISP_D, 3), *c = block(ctx, A, WISP_D, 3);
    REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
    assert_int_equal(wisp_solver_create(&S, A, WISP_D, 0, NULL), WISP_ERR_ARG);
    assert_null(S);
    assert_int_equal(wisp_solver_create(&S, A, WISP_D, 2, &(wisp_solve_opts){.tolerance = 2}), WISP_ERR_ARG);
    REF_OK(ctx, wisp_solver_create(&S, A, WISP_D, 2, NULL));
    assert_int_equal(wisp_solver_solve(S, NULL, y, c, 0), WISP_ERR_MISMATCH);
    assert_non_null(strstr(message_of(ctx), "of width 3"));
    assert_int_equal(wisp_solver_solve(S, NULL, z, z, 0), WISP_ERR_MISMATCH);
    assert_int_equal(wisp_solver_solve(S, NULL, x, x, 0), WISP_ERR_ARG);
    REF_OK(ctx, wisp_solver_solve(S, NULL, x, b, 0));
    wisp_solver_free(S);
    wisp_blk_free(x), wisp_blk_free(b), wisp_blk_free(z), wisp_blk_free(y), wisp_blk_free(c);
    wisp_mat_free(A);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Calls take no more than the plan says, and hold no more between them than it tells as bytes; a second call allocates
   no vectors. */
static void planned_memory(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_mat_info info;
    /* Bytes are counted alike everywhere. */
    REF_OK(ctx, wisp_mat_open(&A, ctx, REF_SANITIZED ? "laplace:nx=10,ny=8,nz=8" : "laplace:nx=20,ny=20,nz=10", NULL));
    wisp_mat_get_info(A, &info);
    for (int m = WISP_CG; m < METHODS; m = ref_next_method(m))
        for (int width = 1; width <= 5; width += 2)
            for (int p = WISP_PRECOND_NONE; p <= WISP_CHEBYSHEV; p++) {
                const wisp_solve_opts o = {.method = (wisp_method)m, .precond = (wisp_precond)p, .restart = 12};
                wisp_plan plan;
                wisp_solver *S;
                int64_t before, first, second;
                wisp_blk *x = block(ctx, A, WISP_D, width), *b = block(ctx, A, WISP_D, width);
                REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0));
                REF_OK(ctx, wisp_solve_plan(&plan, ctx, &info, WISP_D, width, &o, NULL));
                wisp_ctx_memory(ctx, &before, NULL);
                REF_OK(ctx, wisp_solver_create(&S, A, WISP_D, width, &o));
                REF_OK(ctx, wisp_solver_solve(S, NULL, x, b, 0));
                wisp_ctx_memory(ctx, &first, NULL);
                REF_OK(ctx, wisp_solver_solve(S, NULL, x, b, 0));
                wisp_ctx_memory(ctx, &second, NULL);
                if (first - before > plan.bytes || second - before > plan.bytes)
                    fail_msg("%s, width %d, preconditioner %d: %lld and %lld bytes are held, %lld were told",
                             method_name[m], width, p, (long long)(first - before), (long long)(second - before),
                             (long long)plan.bytes);
                wisp_solver_free(S);
                wisp_blk_free(x), wisp_blk_free(b);
            }
    wisp_mat_free(A);
}

/* A call that had no memory is made again, and ends well. */
static wisp_status calls(wisp_ctx *ctx, void *arg)
{
    const wisp_solve_opts *o = arg;
    double slope = 0.1;
    wisp_src src = chain(&slope);
    wisp_mat *A = NULL;
    wisp_solver *S = NULL;
    wisp_blk *x = NULL, *b = NULL;
    wisp_status status = wisp_mat_create(&A, ctx, &src, NULL);
    if (status == WISP_OK) status = wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, WIDTH);
    if (status == WISP_OK) status = wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, WIDTH);
    if (status == WISP_OK) status = wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0);
    if (status == WISP_OK) status = wisp_solver_create(&S, A, WISP_D, WIDTH, o);
    for (int call = 0; call < 2 && status == WISP_OK; call++) {
        status = wisp_solver_solve(S, NULL, x, b, 0);
        if (status != WISP_OK) assert_int_equal(wisp_solver_solve(S, NULL, x, b, 0), WISP_OK);
        wisp_solver_update(S);
    }
    wisp_solver_free(S);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_elsewhere()) return;
    for (int m = WISP_CG; m < METHODS; m = ref_next_method(m))
        for (int p = WISP_PRECOND_NONE; p <= WISP_CHEBYSHEV; p++) {
            wisp_solve_opts o = {.method = (wisp_method)m, .precond = (wisp_precond)p, .restart = 10};
            assert_true(ref_failing_memory(calls, &o, 200, 60) > 10);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_calls),       cmocka_unit_test(new_values),
                                       cmocka_unit_test(old_preconditioner), cmocka_unit_test(sizes),
                                       cmocka_unit_test(planned_memory),     cmocka_unit_test(failing_memory)};
    return REF_RUN_WITH(tests, setup, teardown);
}
