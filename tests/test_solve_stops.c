/* wisp_solve on several ranks of which one is cancelled, between two iterations or within one: all stop at the same
 * step, and x is that of this step. */
#include "solve_cancel.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 3, WIDTH = 3 };

typedef struct {
    wisp_solve_opts opts;
    wisp_type type;
    int who, at;     /* this rank is cancelled in this call of: */
    bool in_product; /* else of the observer */
} stop_case;

/* What is told of x holds of x, and x is better than the start. */
static void expect_x(wisp_ctx *ctx, const wisp_mat *A, const wisp_blk *x, wisp_blk *b, const wisp_solution *s,
                     const char *what)
{
    const wisp_aug aug = {.terms = WISP_SCALE | WISP_AXPBY, .alpha = {-1, 0}, .beta = {1, 0}};
    double norm[WIDTH], left[WIDTH], sum = (double)s->iterations;
    REF_OK(ctx, wisp_norm(b, norm));
    REF_OK(ctx, wisp_spmmv(b, A, x, &aug));
    REF_OK(ctx, wisp_norm(b, left));
    for (int j = 0; j < WIDTH; j++)
        if (!(fabs(left[j] / norm[j] - s->residuals[j]) <= 1e-4 * s->residuals[j]) || !(s->residuals[j] < 0.9))
            fail_msg("%s: the residual of column %d is %g, not %g", what, j, left[j] / norm[j], s->residuals[j]);
    REF_OK(ctx, wisp_ctx_sum(ctx, &sum, 1));
    if (sum != RANKS * (double)s->iterations) fail_msg("%s: %d iterations", what, (int)s->iterations);
}

static int stopped_rank(void *arg, int rank)
{
    const stop_case *c = arg;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    wisp_mat *A, *op;
    wisp_blk *x, *b;
    wisp_solution s;
    char what[120];
    snprintf(what, sizeof what, "method %d, variant %d, precond %d, type %d, rank %d cancelled in %s %d",
             c->opts.method, c->opts.variant, c->opts.precond, c->type, c->who, c->in_product ? "product" : "iteration",
             c->at);
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=12,ny=11,nz=10", &(wisp_mat_opts){.type = c->type}));
    canceller stop = {.ctx = ctx, .A = A, .at = rank == c->who ? c->at : 0};
    const wisp_operator o = {.map = wisp_mat_map(A), .type = c->type, .apply = cancel_in_product, .arg = &stop};
    REF_OK(ctx, wisp_mat_from_apply(&op, ctx, &o));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), c->type, WIDTH));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), c->type, WIDTH));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 5, 1, 0));
    wisp_solve_opts so = c->opts;
    so.tolerance = c->type == WISP_C ? 1e-6 : 1e-12;
    so.observe = c->in_product ? NULL : cancel_in_observer, so.observe_arg = &stop;
    const wisp_status status = wisp_solve(&s, x, c->in_product ? op : A, b, &so);
    if (status != WISP_ERR_CANCELLED) fail_msg("%s: %s", what, message_of(ctx));
    wisp_ctx_resume(ctx);
    expect_x(ctx, A, x, b, &s, what);
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b), wisp_mat_free(op), wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void stop_together(void **state)
{
    (void)state;
    const stop_case cases[] = {{{.method = WISP_CG}, WISP_D, 1, 9, false},
                               {{.method = WISP_CG}, WISP_Z, 0, 11, true},
                               {{.method = WISP_CG, .variant = WISP_CLASSICAL}, WISP_D, 2, 8, true},
                               {{.method = WISP_CG, .variant = WISP_PREDICT}, WISP_D, 2, 8, true},
                               {{.method = WISP_CG, .variant = WISP_HIDDEN}, WISP_D, 1, 12, true},
                               {{.method = WISP_CG, .precond = WISP_JACOBI}, WISP_C, 0, 7, false},
                               {{.method = WISP_CG, .precond = WISP_NEUMANN}, WISP_D, 2, 3, false},
                               {{.method = WISP_MINRES}, WISP_D, 0, 9, true},
                               {{.method = WISP_MINRES}, WISP_Z, 1, 9, false},
                               {{.method = WISP_GMRES}, WISP_D, 2, 9, true},
                               {{.method = WISP_GMRES, .restart = 5}, WISP_Z, 1, 12, false},
                               {{.method = WISP_BICGSTAB}, WISP_D, 1, 15, true},
                               {{.method = WISP_BICGSTAB}, WISP_D, 0, 9, false}};
    for (int late = 0; late < 2; late++) {
        setenv("WISP_RANKS_JITTER", late ? "200" : "0", 1);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            ref_ranks_each(RANKS, stopped_rank, (void *)(uintptr_t)&cases[i]);
    }
    unsetenv("WISP_RANKS_JITTER");
}

/* One rank's observer ends the run, in units in which x has to be scaled back. */
static int observed_to_the_end(void *arg, int64_t iteration, double residual)
{
    (void)residual;
    return *(int *)arg == 1 && iteration == 5;
}

static int ended_rank(void *arg, int rank)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    wisp_mat *A;
    wisp_blk *x, *b;
    wisp_solution s;
    const wisp_scalar tiny = {ldexp(1, -200), 0};
    const wisp_solve_opts o = {.method = *(wisp_method *)arg, .observe = observed_to_the_end, .observe_arg = &rank};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=12,ny=11,nz=10", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 5, 1, 0));
    REF_OK(ctx, wisp_scal(b, tiny));
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_CANCELLED, "ended by opts.observe after 5 iterations");
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b), wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void one_ends_it(void **state)
{
    (void)state;
    wisp_method methods[] = {WISP_CG, WISP_MINRES, WISP_GMRES, WISP_BICGSTAB, WISP_IDR};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) ref_ranks_each(RANKS, ended_rank, &methods[i]);
}

static int holding_rank(void *arg, int rank)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    wisp_mat *A;
    wisp_blk *x, *y;
    (void)arg, (void)rank;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=5,nz=5", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 1));
    wisp_ctx_hold(ctx, 1);
    wisp_ctx_hold(ctx, 1);
    wisp_ctx_hold(ctx, 0);
    wisp_ctx_cancel(ctx);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL)); /* the outer one still holds */
    REF_FAILS(ctx, wisp_ctx_step(ctx, "holding", 0, 0), WISP_ERR_CANCELLED, "holding");
    wisp_ctx_hold(ctx, 0);
    REF_FAILS(ctx, wisp_spmmv(y, A, x, NULL), WISP_ERR_CANCELLED, "multiplying");
    wisp_ctx_resume(ctx);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void holds_nest(void **state)
{
    (void)state;
    ref_ranks_each(1, holding_rank, NULL);
    ref_ranks_each(RANKS, holding_rank, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stop_together), cmocka_unit_test(one_ends_it),
                                       cmocka_unit_test(holds_nest)};
    return ref_run_rank_tests(tests, sizeof tests / sizeof tests[0]);
}
