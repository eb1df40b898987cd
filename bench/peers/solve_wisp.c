/* A kept solver (wisp_solver), as the peers keep theirs, with its default variant. PROGRAM FILE METHOD ITERATIONS
 * TOLERANCE PRECOND: so many iterations at most; PRECOND is a name of wisp's.
 * By threads, or by the processes that mpiexec starts, where the library and this program are built with MPI. */
#if __has_include(<mpi.h>)
#include "peer_mpi.h"
#include <wisp/mpi.h>
#else
#include "peer.h"
#include <wisp/wisp.h>
#endif

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *b;
    wisp_solver *solver;
    wisp_solve_opts opts;
    int once;        /* a call ends after one iteration */
    wisp_solution s; /* of the last call, but for its arrays */
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

static int end_early(void *arg, int64_t iteration, double residual)
{
    (void)residual;
    return iteration > 0 && ((linear_system *)arg)->once;
}

static wisp_solution solve(linear_system *p)
{
    wisp_solution s;
    const wisp_status status = wisp_solver_solve(p->solver, &s, p->x, p->b, 0);
    if (status != WISP_ERR_ITERATIONS && status != WISP_ERR_STAGNATION && !p->once) check(p->ctx, status);
    const wisp_solution numbers = s;
    wisp_solution_free(&s);
    return numbers;
}

static void step(void *arg)
{
    linear_system *p = arg;
    p->s = solve(p);
}

/* By the first call that needs it. What a call before its iterations does besides is in that of each step, too. */
static double setup(void *arg)
{
    linear_system *p = arg;
    wisp_solver_update(p->solver);
    p->once = 1;
    const double seconds = solve(p).setup_seconds - p->s.setup_seconds;
    p->once = 0;
    return seconds;
}

static double square(void *arg)
{
    linear_system *p = arg;
    double norm;
    check(p->ctx, wisp_norm(p->x, &norm));
    return norm * norm;
}

static int64_t iterations(void *arg) { return ((linear_system *)arg)->s.iterations; }
static double residual(void *arg) { return ((linear_system *)arg)->s.residual; }

static wisp_method method_of(const char *name)
{
    return strstr(name, "cgs") || !strcmp(name, "bicgstab") ? WISP_BICGSTAB
           : !strcmp(name, "gmres")                         ? WISP_GMRES
           : !strcmp(name, "minres")                        ? WISP_MINRES
                                                            : WISP_CG;
}

static wisp_precond precond_of(const char *name)
{
    static const struct {
        const char *name;
        wisp_precond precond;
    } all[] = {
        {"none", WISP_PRECOND_NONE}, {"jacobi", WISP_JACOBI}, {"ilu", WISP_ILU}, {"ic", WISP_IC}, {"amg", WISP_AMG}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i].name)) return all[i].precond;
    peer_fail(name, "not a preconditioner that is compared");
    return WISP_PRECOND_NONE;
}

/* Of all processes, where there are several; *all becomes what they tell each other. */
static wisp_status make_context(wisp_ctx **ctx, peer *all)
{
#if __has_include(<mpi.h>)
    int level, ranks = 1;
    if (getenv("OMPI_COMM_WORLD_SIZE")) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    if (ranks > 1) {
        MPI_Comm_rank(MPI_COMM_WORLD, &all->rank);
        all->ranks = ranks;
        all->barrier = barrier;
        all->told = told;
        return wisp_ctx_create_mpi(ctx, MPI_COMM_WORLD, NULL);
    }
#endif
    (void)all;
    return wisp_ctx_create(ctx, NULL);
}

int main(int argc, char **argv)
{
    if (argc < 6) peer_fail("usage", "FILE METHOD ITERATIONS TOLERANCE PRECOND");
    linear_system p = {.opts = {.method = method_of(argv[2]),
                                .max_iterations = atoi(argv[3]),
                                .tolerance = atof(argv[4]),
                                .precond = precond_of(argv[5]),
                                .observe = end_early,
                                .observe_arg = &p}};
#pragma omp parallel
    peer_threads(); /* those of the load test start before this thread is bound to a core */
    peer all = {.step = step,
                .square = square,
                .arg = &p,
                .ranks = 1,
                .iterations = iterations,
                .residual = residual,
                .setup = p.opts.precond ? setup : NULL};
    check(NULL, make_context(&p.ctx, &all));
    check(p.ctx, wisp_mat_open(&p.A, p.ctx, argv[1], &(wisp_mat_opts){.width = 1}));
    check(p.ctx, wisp_blk_create(&p.x, p.ctx, wisp_mat_map(p.A), WISP_D, 1));
    check(p.ctx, wisp_blk_create(&p.b, p.ctx, wisp_mat_map(p.A), WISP_D, 1));
    check(p.ctx, wisp_blk_fill_fn(p.b, fill, NULL));
    check(p.ctx, wisp_solver_create(&p.solver, p.A, WISP_D, 1, &p.opts));
    wisp_mat_info info;
    wisp_mat_get_info(p.A, &info);
    static const char *const format[] = {"default", "sell", "compressed", "hermitian"};
    char version[256];
    snprintf(version, sizeof version, "%s, %s%s; %s, %.2f bytes per nonzero", wisp_version(), wisp_ctx_isa(p.ctx),
             all.barrier ? ", by processes" : "", format[info.format], (double)info.bytes / (double)info.nnz);
    all.version = version;
    peer_serve(&all);
    wisp_solver_free(p.solver);
    wisp_blk_free(p.x);
    wisp_blk_free(p.b);
    wisp_mat_free(p.A);
    wisp_ctx_free(p.ctx);
#if __has_include(<mpi.h>)
    if (all.barrier) MPI_Finalize();
#endif
    return 0;
}
