/* The iterations that `wisp bench solve` times: some of each call of wisp_solve, without what comes before and after
   them. */
#include "bench.h"

enum { ITERATIONS = 30, SHADOW = 4 }; /* of IDR: whole cycles */

static bool is_classical(const bench_case *c) { return c->variant == VARIANT_CLASSICAL; }

static wisp_solve_opts options_of(const bench_case *c)
{
    static const wisp_variant variant[VARIANTS] = {
        [VARIANT_PIPELINED] = WISP_PIPELINED, [VARIANT_CLASSICAL] = WISP_CLASSICAL, [VARIANT_PREDICT] = WISP_PREDICT};
    const bool gmres = c->method == WISP_GMRES;
    return (wisp_solve_opts){.method = c->method,
                             .variant = variant[c->variant],
                             .restart = c->restart,
                             .shadow = SHADOW,
                             .tolerance = 1e-150, /* which none reaches */
                             .max_iterations = gmres ? 2 * c->restart : ITERATIONS + 1};
}

/* ---- time ---------------------------------------------------------------------------------------- */

/* A clock that is read after iterations. It begins after the first one; of GMRES, whose iterations grow until it
   restarts, after the first cycle, so that it covers a whole one with its restart. */
typedef struct {
    wisp_ctx *ctx;
    int64_t from, last; /* iterations */
    double began, ended;
    wisp_counts before, after;
} stopwatch;

static int observe(void *arg, int64_t iteration, double residual)
{
    stopwatch *w = arg;
    (void)residual;
    if (iteration < w->from) return 0;
    w->last = iteration;
    w->ended = wisp_now();
    wisp_ctx_counts(w->ctx, &w->after);
    if (iteration > w->from) return 0;
    w->before = w->after;
    w->began = w->ended;
    return 0;
}

/* One call; *s is freed by the caller. That it has not converged is as it should be. */
static wisp_status run(bench_runner *r, stopwatch *w, wisp_solution *s)
{
    wisp_solve_opts o = options_of(&r->what);
    *w = (stopwatch){.ctx = r->ctx, .from = r->what.method == WISP_GMRES ? r->what.restart : 1};
    o.observe = observe;
    o.observe_arg = w;
    const wisp_status status = wisp_solve(s, r->v, r->A, r->w, &o);
    if (w->last > w->from && status != WISP_ERR_CANCELLED) return WISP_OK;
    if (status != WISP_OK && status != WISP_ERR_ITERATIONS) return status;
    return wisp_ctx_failf(r->ctx, WISP_ERR_ARG, "%s ends after %lld iterations, too few to be timed",
                          solve_method_name(r->what.method), (long long)s->iterations);
}

wisp_status bench_solve_time(bench_runner *r, int64_t calls, double *seconds)
{
    double sum = 0;
    for (int64_t i = 0; i < calls; i++) {
        stopwatch w;
        wisp_solution s;
        const wisp_status status = run(r, &w, &s);
        wisp_solution_free(&s);
        if (status != WISP_OK) return status;
        sum += (w.ended - w.began) / (double)(w.last - w.from);
    }
    *seconds = sum / (double)calls;
    return WISP_OK;
}

/* ---- cost ---------------------------------------------------------------------------------------- */

/* Multiply-adds of an iteration for each row and column beside the products, as textbooks count: updates and dots. */
static double multiply_adds(const bench_case *c)
{
    switch (c->method) {
    case WISP_BICGSTAB: return 6 + 5;
    case WISP_GMRES: return c->restart + 3; /* the mean over a cycle */
    case WISP_MINRES: return 6 + 2;
    case WISP_IDR: return (3.0 * SHADOW * SHADOW + 5 * SHADOW + 5) / (SHADOW + 1); /* the same */
    default: return 3 + 2;
    }
}

/* Blocks that an iteration writes. */
static double written_blocks(const bench_case *c)
{
    const bool classical = is_classical(c);
    switch (c->method) {
    case WISP_BICGSTAB: return classical ? 8 : 6;
    case WISP_GMRES: return classical ? 0.5 * c->restart + 2 : 2;
    case WISP_MINRES: return classical ? 7 : 4;
    case WISP_IDR: return classical ? 2 * SHADOW + 1 + 2.0 / (SHADOW + 1) : (6.0 * SHADOW + 1) / (SHADOW + 1);
    default: return 4;
    }
}

double bench_solve_blocks(wisp_ctx *ctx, const bench_case *c)
{
    enum { ROWS = 1 << 20 };
    const wisp_mat_info like = {.rows = ROWS, .cols = ROWS, .local_rows = ROWS, .type = c->type};
    const wisp_solve_opts o = options_of(c);
    const double block = (double)ROWS * (double)wisp_type_size(c->type) * c->width;
    wisp_plan plan = {0}; /* stays so where the run will fail */
    wisp_solve_plan(&plan, ctx, &like, c->type, c->width, &o, NULL);
    return 2 + (double)plan.bytes / block;
}

/* Least traffic and operations of an iteration. The product's y is read before it is written, unless it is stored past
   the caches. */
static void find_cost(bench_runner *r, const stopwatch *w, double bytes)
{
    const bench_case *c = &r->what;
    const double n = (double)(w->last - w->from), products = c->method == WISP_BICGSTAB ? 2 : 1;
    const double elements = (double)r->info.rows * c->width, block = elements * (double)wisp_type_size(c->type);
    const bool past = is_classical(c) && bench_stores_past(r, block);
    r->passes = (double)(w->after.passes - w->before.passes) / n;
    r->reductions = (double)(w->after.reductions - w->before.reductions) / n;
    r->cost.flops = products * r->cost.flops + (wisp_type_is_complex(c->type) ? 8 : 2) * multiply_adds(c) * elements;
    r->cost.bytes = r->least_bytes = bytes;
    r->write_bytes = written_blocks(c) * block;
    r->read_bytes = bytes - r->write_bytes + (past ? 0 : products * block);
    r->gather_bytes *= products;
    r->stores_past = false;
    r->working_bytes = (double)r->info.bytes + bench_solve_blocks(r->ctx, c) * block;
}

wisp_status bench_solve_open(bench_runner *r)
{
    wisp_status status = WISP_OK;
    stopwatch w;
    wisp_solution s = {0};
    WISP_TRY(wisp_blk_fill_random(r->w, WISP_RANDOM_GAUSS, 1, 1, 0));
    WISP_TRY(run(r, &w, &s));
    find_cost(r, &w, s.bytes);
out:
    wisp_solution_free(&s);
    return status;
}
