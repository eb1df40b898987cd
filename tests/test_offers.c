/* A function that a state is offered to, or that observes, ends the call of any solver: by any number but 0, on one
   rank or all. */
#include <stdbool.h>
#include "kpm_dense.h"

typedef struct {
    wisp_ctx *ctx;
    int left, result; /* offers to the one that this ends; 0: none */
    bool here, says;  /* on this rank; with words */
    bool alone;       /* and on no other, which might end the call before this one gets there */
    int offers;
} ending;

static void assert_reached(const ending *e, int64_t reached, int64_t at)
{
    assert_true(!e->here || reached == at || (!e->alone && reached < at));
}

static int offered(void *arg, wisp_state *state)
{
    ending *e = arg;
    assert_false(wisp_state_is_kept(state));
    if (wisp_state_is_whole(state)) return 1; /* it ends nothing */
    e->offers++;
    if (--e->left != 0 || !e->here) return 0;
    if (e->says) (void)wisp_ctx_failf(e->ctx, WISP_ERR_IO, "the disk of number %d is full", e->result);
    return e->result;
}

typedef wisp_status (*solver_fn)(const wisp_mat *A, ending *e);

static wisp_status moments(const wisp_mat *A, ending *e)
{
    wisp_moments m;
    const wisp_status status =
        wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = 64, .vectors = 8, .width = 4, .offer = offered, .offer_arg = e});
    assert_true(status == WISP_OK ? m.vectors == 8 && !m.partial : m.vectors <= 4 && m.partial);
    wisp_moments_free(&m);
    return status;
}

static wisp_status conductivity(const wisp_mat *A, ending *e)
{
    wisp_moments m;
    const wisp_kubo_opts o = {.moments = 24, .vectors = 2, .left = 9, .width = 4, .offer = offered, .offer_arg = e};
    const wisp_status status = wisp_kubo(&m, A, A, A, &o);
    assert_true(status == WISP_OK ? m.vectors == 2 && !m.partial : m.vectors <= 1 && m.partial);
    wisp_moments_free(&m);
    return status;
}

static wisp_status evolution(const wisp_mat *A, ending *e)
{
    wisp_evolution out;
    wisp_blk *psi;
    const double time[] = {1, 4};
    REF_OK(e->ctx, wisp_blk_create(&psi, e->ctx, wisp_mat_map(A), WISP_Z, 2));
    REF_OK(e->ctx, wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 1, 9, 0));
    const wisp_status status = wisp_evolve(
        &out, A, psi, 2, time, &(wisp_evolve_opts){.at_once = 1, .depth = 1, .offer = offered, .offer_arg = e});
    /* The first time may be one call of wisp_mpk alone. */
    assert_true(status == WISP_OK ? out.done == 2 : out.done <= ref_far(e->ctx));
    wisp_blk_free(psi);
    return status;
}

static wisp_status solution(const wisp_mat *A, ending *e, wisp_method method)
{
    wisp_solution s;
    wisp_blk *x, *b;
    REF_OK(e->ctx, wisp_blk_create(&x, e->ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(e->ctx, wisp_blk_create(&b, e->ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(e->ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 9, 0));
    const wisp_status status =
        wisp_solve(&s, x, A, b, &(wisp_solve_opts){.method = method, .offer = offered, .offer_arg = e});
    assert_true(s.converged || status != WISP_OK); /* x may be there when the call is ended */
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    return status;
}
static wisp_status cg(const wisp_mat *A, ending *e) { return solution(A, e, WISP_CG); }
static wisp_status bicgstab(const wisp_mat *A, ending *e) { return solution(A, e, WISP_BICGSTAB); }
static wisp_status gmres(const wisp_mat *A, ending *e) { return solution(A, e, WISP_GMRES); }
static wisp_status idr(const wisp_mat *A, ending *e) { return solution(A, e, WISP_IDR); }
static wisp_status minres(const wisp_mat *A, ending *e) { return solution(A, e, WISP_MINRES); }

static wisp_status pairs(const wisp_mat *A, ending *e, wisp_eig_opts o)
{
    wisp_eigen v;
    o.offer = offered, o.offer_arg = e;
    const wisp_status status = wisp_eig(&v, A, &o);
    assert_int_equal(v.complete, status == WISP_OK);
    wisp_eigen_free(&v);
    return status;
}
static wisp_status lanczos(const wisp_mat *A, ending *e)
{
    return pairs(A, e, (wisp_eig_opts){.method = WISP_LANCZOS, .count = 4});
}
static wisp_status largest_real(const wisp_mat *A, ending *e)
{
    return pairs(A, e, (wisp_eig_opts){.method = WISP_KRYLOV_SCHUR, .which = WISP_EIG_LARGEST_REAL, .count = 2});
}
static wisp_status chebfd(const wisp_mat *A, ending *e)
{
    return pairs(A, e, (wisp_eig_opts){.method = WISP_CHEBFD, .which = WISP_EIG_INTERVAL, .low = 0.2, .high = 0.6});
}

static void ends(wisp_ctx *ctx, const wisp_mat *A, solver_fn solver, ending e)
{
    char words[80];
    const int at = e.left;
    snprintf(words, sizeof words, e.says ? "the disk of number %d is full" : "ended by offer()", e.result);
    (void)wisp_ctx_failf(ctx, WISP_OK, "of another call");
    REF_FAILS(ctx, solver(A, &e), WISP_ERR_CANCELLED, words);
    assert_reached(&e, e.offers, at);
}

/* At the first offers, one in the middle, and the last one. */
static void each_solver(void **state)
{
    static const struct {
        solver_fn fn;
        bool general;
    } solver[] = {{moments, false}, {conductivity, false}, {evolution, false}, {cg, false},
                  {bicgstab, true}, {gmres, true},         {idr, true},        {minres, false},
                  {lanczos, false}, {largest_real, true},  {chebfd, false}};
    enum { KEEP = 3 };
    static const int results[] = {1, -1, WISP_ERR_IO, WISP_ERR_CANCELLED, 1 << 30};
    wisp_ctx *ctx = *state;
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    wisp_mat *A, *G;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=18,ny=17", NULL));
    REF_OK(ctx, wisp_mat_open(&G, ctx, "matpde:nx=16,ny=15", NULL));
    for (size_t i = 0; i < sizeof solver / sizeof *solver; i++) {
        const wisp_mat *of = solver[i].general ? G : A;
        ending none = {.ctx = ctx};
        REF_OK(ctx, solver[i].fn(of, &none));
        assert_true(none.offers > 1);
        const int at[] = {1, 2, 1 + none.offers / 2, none.offers};
        for (int k = 0; k < 4 * 4; k++) {
            const int by = k % (ranks + 1);        /* a rank, or all */
            if (i < KEEP && k / 4 > 1) continue;   /* they keep what is done */
            if (ranks > 1 && k / 4 == 1) continue; /* who ends it makes no difference between the first two */
            ends(ctx, of, solver[i].fn,
                 (ending){.ctx = ctx,
                          .left = at[k / 4],
                          .result = results[k % 5],
                          .here = by == ranks || by == rank,
                          .alone = by == rank || ranks == 1,
                          .says = k % 2});
        }
    }
    wisp_mat_free(A), wisp_mat_free(G);
}

/* ---- observers ---------------------------------------------------------------------------------------- */

static int seen(ending *e)
{
    e->offers++;
    return --e->left == 0 && e->here ? e->result : 0;
}
static int seen_time(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    return (void)i, (void)psi, (void)norm, seen(arg);
}
static int seen_iteration(void *arg, int64_t iteration, double residual)
{
    return (void)iteration, (void)residual, seen(arg);
}
static int seen_round(void *arg, int round, int found, double wanted, double residual)
{
    return (void)round, (void)found, (void)wanted, (void)residual, seen(arg);
}

/* Solver `number`, of 8. */
static wisp_status observed(wisp_ctx *ctx, const wisp_mat *A, int number, ending *e)
{
    static const wisp_eig_opts question[] = {
        {.method = WISP_LANCZOS, .count = 8, .search = 20},
        {.method = WISP_KRYLOV_SCHUR, .which = WISP_EIG_LARGEST_REAL, .count = 8},
        {.method = WISP_CHEBFD, .which = WISP_EIG_INTERVAL, .low = 0.2, .high = 0.6, .tolerance = 1e-13}};
    enum { QUESTIONS = sizeof question / sizeof *question, METHODS = WISP_MINRES };
    wisp_status status;
    wisp_blk *x, *b;
    if (number < QUESTIONS) {
        wisp_eigen v;
        wisp_eig_opts o = question[number];
        o.observe = seen_round, o.observe_arg = e;
        status = wisp_eig(&v, A, &o);
        assert_int_equal(v.complete, status == WISP_OK);
        wisp_eigen_free(&v);
        return status;
    }
    number -= QUESTIONS;
    const wisp_type type = number < METHODS ? WISP_D : WISP_Z;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), type, 2));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 9, 0));
    if (number < METHODS) {
        wisp_solution s;
        const wisp_solve_opts o = {
            .method = (wisp_method)(WISP_CG + number), .observe = seen_iteration, .observe_arg = e};
        status = wisp_solve(&s, x, A, b, &o);
        if (status != WISP_OK) assert_reached(e, s.iterations, 2);
        wisp_solution_free(&s);
    } else {
        wisp_evolution out;
        const double time[] = {1, 2, 3};
        status = wisp_evolve(&out, A, b, 3, time, &(wisp_evolve_opts){.observe = seen_time, .observe_arg = e});
        assert_int_equal(out.done, e->offers);
    }
    wisp_blk_free(x), wisp_blk_free(b);
    return status;
}

static void each_observer(void **state)
{
    wisp_ctx *ctx = *state;
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=18,ny=17", NULL));
    for (int number = 0; number < 8; number++)
        for (int by = 0; by <= ranks; by++) { /* a rank, or all */
            ending e = {.ctx = ctx,
                        .left = 2,
                        .result = by % 2 ? -1 : 7,
                        .here = by == ranks || by == rank,
                        .alone = by == rank || ranks == 1};
            REF_FAILS(ctx, observed(ctx, A, number, &e), WISP_ERR_CANCELLED, "ended by opts.observe");
            assert_reached(&e, e.offers, 2);
        }
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_solver), cmocka_unit_test(each_observer)};
    return REF_RUN_ALL(tests);
}
