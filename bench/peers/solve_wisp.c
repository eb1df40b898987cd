/* A kept solver (wisp_solver), as the peers keep theirs, with its default variant. PROGRAM FILE METHOD ITERATIONS
 * TOLERANCE: so many iterations at most. */
#include "peer.h"
#include <wisp/wisp.h>

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *b;
    wisp_solver *solver;
    wisp_solve_opts opts;
    int64_t iterations;
} linear_system;

static void check(wisp_ctx *ctx, wisp_status status)
{
    char text[WISP_MESSAGE];
    if (status != WISP_OK) peer_fail(wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
}

static int fill(void *arg, int64_t row, int column, void *val)
{
    (void)arg;
    *(double *)val = peer_x(row, column, 0);
    return 0;
}

static void step(void *arg)
{
    linear_system *p = arg;
    wisp_solution s;
    const wisp_status status = wisp_solver_solve(p->solver, &s, p->x, p->b, 0);
    if (status != WISP_ERR_ITERATIONS && status != WISP_ERR_STAGNATION) check(p->ctx, status);
    p->iterations = s.iterations;
    wisp_solution_free(&s);
}

static double square(void *arg)
{
    linear_system *p = arg;
    double norm;
    check(p->ctx, wisp_norm(p->x, &norm));
    return norm * norm;
}

static int64_t iterations(void *arg) { return ((linear_system *)arg)->iterations; }

static wisp_method method_of(const char *name)
{
    return strstr(name, "cgs") || !strcmp(name, "bicgstab") ? WISP_BICGSTAB
           : !strcmp(name, "gmres")                         ? WISP_GMRES
           : !strcmp(name, "minres")                        ? WISP_MINRES
                                                            : WISP_CG;
}

int main(int argc, char **argv)
{
    if (argc < 5) peer_fail("usage", "FILE METHOD ITERATIONS TOLERANCE");
    linear_system p = {
        .opts = {.method = method_of(argv[2]), .max_iterations = atoi(argv[3]), .tolerance = atof(argv[4])}};
#pragma omp parallel
    peer_threads(); /* those of the load test start before this thread is bound to a core */
    check(NULL, wisp_ctx_create(&p.ctx, NULL));
    check(p.ctx, wisp_mat_open(&p.A, p.ctx, argv[1], &(wisp_mat_opts){.width = 1}));
    check(p.ctx, wisp_blk_create(&p.x, p.ctx, wisp_mat_map(p.A), WISP_D, 1));
    check(p.ctx, wisp_blk_create(&p.b, p.ctx, wisp_mat_map(p.A), WISP_D, 1));
    check(p.ctx, wisp_blk_fill_fn(p.b, fill, NULL));
    check(p.ctx, wisp_solver_create(&p.solver, p.A, WISP_D, 1, &p.opts));
    wisp_mat_info info;
    wisp_mat_get_info(p.A, &info);
    static const char *const format[] = {"default", "sell", "compressed", "hermitian"};
    char version[256];
    snprintf(version, sizeof version, "%s, %s; %s, %.2f bytes per nonzero", wisp_version(), wisp_ctx_isa(p.ctx),
             format[info.format], (double)info.bytes / (double)info.nnz);
    peer_serve(
        &(peer){.version = version, .step = step, .square = square, .arg = &p, .ranks = 1, .iterations = iterations});
    wisp_solver_free(p.solver);
    wisp_blk_free(p.x);
    wisp_blk_free(p.b);
    wisp_mat_free(p.A);
    wisp_ctx_free(p.ctx);
    return 0;
}
