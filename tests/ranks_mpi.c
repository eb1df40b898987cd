/* Contexts of MPI's processes, as a program makes them: groups, long sums, and failures of one process at any time. Run
   by tests/test_mpi.sh under mpirun, by any number of processes. "all" as an argument: see no_memory. */
#include "ref.h"
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/mpi.h>

static int rank, ranks, all_allocations;

static wisp_ctx *ctx_with(MPI_Comm comm, wisp_ctx_opts o)
{
    wisp_ctx *ctx;
    o.threads = o.no_pin = 1;
    assert_int_equal(wisp_ctx_create_mpi(&ctx, comm, &o), WISP_OK);
    return ctx;
}

static wisp_ctx *ctx_of(MPI_Comm comm) { return ctx_with(comm, (wisp_ctx_opts){0}); }

/* A context ends with the last object on it, and its communicator when it ends on all: the others would wait for ever
   for a process that keeps one. It fails here, and so ends them. */
static void end_ctx(wisp_ctx *ctx)
{
    if (ctx) ref_nothing_left(ctx);
    wisp_ctx_free(ctx);
}

/* All processes have the same number. */
static void same(int64_t number)
{
    int64_t most = number, least = number;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    assert_int_equal(most, least);
}

static wisp_status moments_by(wisp_ctx *ctx, const char *spec, int width, wisp_moments *m)
{
    wisp_mat *A = NULL;
    *m = (wisp_moments){0};
    wisp_status status = wisp_mat_open(&A, ctx, spec, &(wisp_mat_opts){.width = width});
    if (status == WISP_OK)
        status = wisp_kpm(m, A, &(wisp_kpm_opts){.moments = 64, .vectors = 2 * width, .width = width});
    wisp_mat_free(A);
    return status;
}

static void same_moments(const wisp_moments *a, const wisp_moments *b, double tolerance)
{
    assert_true(a->n == b->n && a->vectors == b->vectors && a->rows == b->rows && a->nnz == b->nnz);
    for (int64_t i = 0; i < a->n * a->vectors; i++)
        assert_true(fabs(a->mu[i] - b->mu[i]) <= tolerance * (double)a->rows);
}

static void bad_communicators(void **state)
{
    wisp_ctx *ctx;
    (void)state;
    assert_int_equal(wisp_ctx_create_mpi(&ctx, MPI_COMM_NULL, NULL), WISP_ERR_ARG);
    assert_null(ctx);
    assert_non_null(strstr(message_of(NULL), "MPI_COMM_NULL"));
    assert_int_equal(wisp_ctx_create_mpi(NULL, MPI_COMM_WORLD, NULL), WISP_ERR_ARG);
    /* One process alone asks for what can't be had: nobody gets a context. */
    assert_int_equal(wisp_ctx_create_mpi(&ctx, MPI_COMM_WORLD, &(wisp_ctx_opts){.threads = rank == ranks - 1 ? -1 : 1}),
                     WISP_ERR_ARG);
    assert_null(ctx);
    assert_non_null(strstr(message_of(NULL), "opts.threads is -1"));
}

/* Several groups of processes, each process alone, and all of them, side by side. */
static void groups(void **state)
{
    static const char spec[] = "topi:nx=8,ny=7,nz=5";
    wisp_moments alone, half, all;
    MPI_Comm group;
    (void)state;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &group);
    wisp_ctx *ctx[] = {ctx_of(MPI_COMM_SELF), ctx_of(group), ctx_of(MPI_COMM_WORLD)};
    assert_int_equal(wisp_ctx_processes(ctx[0]), 1);
    assert_int_equal(wisp_ctx_processes(ctx[2]), ranks);
    assert_int_equal(wisp_ctx_rank(ctx[2]), rank);
    REF_OK(ctx[0], moments_by(ctx[0], spec, 4, &alone));
    REF_OK(ctx[1], moments_by(ctx[1], spec, 4, &half));
    REF_OK(ctx[2], moments_by(ctx[2], spec, 4, &all));
    same_moments(&alone, &half, 1e-12);
    same_moments(&alone, &all, 1e-12);
    wisp_moments_free(&alone), wisp_moments_free(&half), wisp_moments_free(&all);
    for (int i = 0; i < 3; i++) end_ctx(ctx[i]);
    MPI_Comm_free(&group);
}

/* In the order of the ranks, whatever their length. */
static void sums(void **state)
{
    static const size_t length[] = {0, 1, 30, 31, 5000, 300001};
    wisp_ctx *ctx = ctx_of(MPI_COMM_WORLD);
    (void)state;
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        double *x = calloc(length[k] + 1, sizeof *x), *want = calloc(length[k] + 1, sizeof *want);
        for (int r = 0; r < ranks; r++) {
            ref_rng rng = {(uint64_t)(100 * k + (size_t)r)};
            for (size_t i = 0; i < length[k]; i++) {
                const double v = ref_uniform(&rng);
                want[i] = r ? want[i] + v : v;
                if (r == rank) x[i] = v;
            }
        }
        REF_OK(ctx, wisp_ctx_sum(ctx, x, length[k]));
        assert_memory_equal(x, want, length[k] * sizeof *x + 1);
        free(x), free(want);
    }
    end_ctx(ctx);
}

/* Each allocation of one process fails in turn, until no more are made: all have the same status, and the context still
   works. By more than two processes each third one does, unless all are asked for. */
static void no_memory(void **state)
{
    enum { QUIET = 40 }; /* allocations that some processes do not make, or do without */
    const int step = ranks > 2 && !all_allocations ? 3 : 1;
    int failures = 0, last = 0;
    (void)state;
    for (int at = 1; at - last < QUIET; at += step) {
        char where[40];
        wisp_ctx *ctx = NULL;
        wisp_moments m = {0};
        snprintf(where, sizeof where, "%d@%d", at, at % ranks);
        setenv("WISP_ALLOC_FAIL_AT", where, 1);
        wisp_status status = wisp_ctx_create_mpi(&ctx, MPI_COMM_WORLD, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        if (status == WISP_OK) status = moments_by(ctx, "graphene:nx=12,ny=10,vacancies=0.1", 2, &m);
        same(status);
        assert_true(status == WISP_OK || status == WISP_ERR_NOMEM);
        failures += status != WISP_OK;
        if (status != WISP_OK) last = at;
        if (ctx && status != WISP_OK) {
            if (at % ranks && rank == 0) assert_non_null(strstr(message_of(ctx), "process "));
            REF_OK(ctx, moments_by(ctx, "graphene:nx=12,ny=10", 2, &m));
        }
        wisp_moments_free(&m);
        end_ctx(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(failures > 40 && last > 90);
}

/* This process cancels at one of these calls. 0: never. */
static struct {
    wisp_ctx *ctx;
    int at_progress, at_messages;
    int progress, messages; /* calls so far */
} cancel;

static int on_progress(void *arg, const wisp_progress *progress)
{
    (void)arg, (void)progress;
    return ++cancel.progress == cancel.at_progress;
}

/* The library's messages of an exchange go out here, by MPI's own way in for tools. */
int MPI_Startall(int n, MPI_Request request[])
{
    const int status = PMPI_Startall(n, request);
    if (++cancel.messages == cancel.at_messages) wisp_ctx_cancel(cancel.ctx);
    return status;
}

/* One process is cancelled, between two products or while long messages are on their way, from the first of them to the
   last: all stop, and go on with the right results. One alone has no messages; test_cancel does it. */
static void cancelled(void **state)
{
    static const char spec[] = "topi:nx=16,ny=16,nz=8";
    enum { TIMES = 12 };
    (void)state;
    if (ranks == 1) skip();
    wisp_ctx *ctx = ctx_with(MPI_COMM_WORLD, (wisp_ctx_opts){.progress = on_progress});
    wisp_moments want, m;
    cancel.ctx = ctx;
    cancel.progress = cancel.messages = 0;
    REF_OK(ctx, moments_by(ctx, spec, 32, &want));
    const int progress = cancel.progress, messages = cancel.messages;
    assert_true(progress > 30 && messages > 30);
    for (int i = 0; i < TIMES; i++) {
        const int who = i / 2 % ranks, calls = i % 2 ? messages : progress,
                  at = 1 + (calls - 1) * (i / 2) / (TIMES / 2 - 1);
        cancel.at_progress = who == rank && i % 2 == 0 ? at : 0;
        cancel.at_messages = who == rank && i % 2 ? at : 0;
        cancel.progress = cancel.messages = 0;
        const wisp_status status = moments_by(ctx, spec, 32, &m);
        wisp_ctx_resume(ctx);
        assert_int_equal(status, WISP_ERR_CANCELLED);
        if (who == rank) assert_in_range(i % 2 ? cancel.messages : cancel.progress, at, at + 1);
        wisp_moments_free(&m);
        cancel.at_progress = cancel.at_messages = 0;
        REF_OK(ctx, moments_by(ctx, spec, 32, &m));
        same_moments(&want, &m, 0);
        wisp_moments_free(&m);
    }
    wisp_moments_free(&want);
    end_ctx(ctx);
}

/* This program asks MPI for fewer threads than a task takes: then it is not said to be one. */
static void halo_without_threads(void **state)
{
    wisp_ctx *ctx;
    int level;
    (void)state;
    MPI_Query_thread(&level);
    wisp_mat_info info;
    wisp_mat *A;
    const wisp_ctx_opts o = {.threads = 1, .no_pin = 1};
    const wisp_mat_opts task = {.halo = WISP_HALO_TASK};
    assert_int_equal(wisp_ctx_create_mpi(&ctx, MPI_COMM_WORLD, &o), WISP_OK);
    assert_int_equal(wisp_mat_open(&A, ctx, "laplace:nx=30", &task), WISP_OK);
    const int may = level >= MPI_THREAD_SERIALIZED || ranks == 1;
    wisp_mat_get_info(A, &info);
    assert_int_equal(info.halo, WISP_HALO_TASK);
    assert_int_equal(info.halo_used, may ? WISP_HALO_TASK : WISP_HALO_OVERLAP);
    wisp_mat_free(A);
    end_ctx(ctx);
}

/* Libraries call this MPI_Allreduce, too. It counts its calls by the main thread, which alone may call MPI here, and by
   others. */
static pthread_t main_thread;
static int calls, others;

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    __atomic_add_fetch(pthread_equal(pthread_self(), main_thread) ? &calls : &others, 1, __ATOMIC_RELAXED);
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

static void parts_by_one_thread(void **state)
{
    (void)state;
    if (!strstr(wisp_features(), "scotch")) return;
    wisp_ctx *ctx = ctx_of(MPI_COMM_WORLD);
    wisp_src src, parts;
    REF_OK(ctx, wisp_src_open(&src, ctx, "delaunay:nx=30,ny=30"));
    calls = others = 0;
    REF_OK(ctx, wisp_src_partition(&parts, ctx, &src, WISP_PARTITION_SCOTCH));
    assert_true(calls > 0 || ranks == 1);
    assert_int_equal(others, 0);
    wisp_src_close(&parts), wisp_src_close(&src);
    end_ctx(ctx);
}

/* Multigrid by HYPRE, whose ranks are these processes: about as many iterations as by one, and the same x; also where
   some have no rows, and where one has a row that is refused. */
static void multigrid(void **state)
{
    (void)state;
    if (!strstr(wisp_features(), "hypre")) return;
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *b, *r;
    wisp_solution s;
    MPI_Comm comm;
    int64_t weights[64] = {0};
    double norm[3], left[3];
    for (int i = 0; i < ranks && i < 64; i++) weights[i] = 1 + i % 3;
    if (ranks > 2) weights[1] = 0;
    for (int weighted = 0; weighted < 2; weighted++) {
        ctx = ctx_with(MPI_COMM_WORLD, (wisp_ctx_opts){.weights = weighted && ranks <= 64 ? weights : NULL});
        assert_int_equal(wisp_ctx_mpi_comm(ctx, &comm), 1);
        assert_int_equal(wisp_mat_open(&A, ctx, "laplace:nx=13,ny=11,nz=9", NULL), WISP_OK);
        assert_int_equal(wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 3), WISP_OK);
        assert_int_equal(wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 3), WISP_OK);
        assert_int_equal(wisp_blk_create(&r, ctx, wisp_mat_map(A), WISP_D, 3), WISP_OK);
        REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0));
        for (int hidden = 0; hidden < 2; hidden++) {
            REF_OK(ctx, wisp_solve(&s, x, A, b,
                                   &(wisp_solve_opts){.method = WISP_CG,
                                                      .variant = hidden ? WISP_HIDDEN : WISP_VARIANT_DEFAULT,
                                                      .precond = WISP_AMG}));
            assert_true(s.iterations <= 20);
            wisp_solution_free(&s);
            REF_OK(ctx, wisp_spmmv(r, A, x, NULL));
            REF_OK(ctx, wisp_vaxpby(r, (wisp_scalar[]){{-1, 0}, {-1, 0}, {-1, 0}}, b,
                                    (wisp_scalar[]){{1, 0}, {1, 0}, {1, 0}}));
            REF_OK(ctx, wisp_norm(r, left));
            REF_OK(ctx, wisp_norm(b, norm));
            for (int j = 0; j < 3; j++) assert_true(left[j] <= 1.01e-8 * norm[j]);
        }
        wisp_blk_free(x), wisp_blk_free(b), wisp_blk_free(r);
        wisp_mat_free(A);
        assert_int_equal(wisp_mat_open(&A, ctx, "graphene:nx=9,ny=8,disorder=1,vacancies=0.1", NULL), WISP_OK);
        assert_int_equal(wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1), WISP_OK);
        assert_int_equal(wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1), WISP_OK);
        REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
        const wisp_solve_opts minres = {.method = WISP_MINRES, .precond = WISP_AMG};
        const wisp_status refused = wisp_solve(NULL, x, A, b, &minres);
        same(refused);
        assert_int_equal(refused, WISP_ERR_INDEFINITE);
        wisp_blk_free(x), wisp_blk_free(b);
        wisp_mat_free(A);
        end_ctx(ctx);
    }
    ctx = ctx_of(MPI_COMM_SELF);
    assert_int_equal(wisp_ctx_mpi_comm(ctx, NULL), 0);
    assert_int_equal(wisp_ctx_mpi_comm(NULL, &comm), 0);
    end_ctx(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_communicators),   cmocka_unit_test(groups),    cmocka_unit_test(sums),
        cmocka_unit_test(no_memory),           cmocka_unit_test(cancelled), cmocka_unit_test(halo_without_threads),
        cmocka_unit_test(parts_by_one_thread), cmocka_unit_test(multigrid)};
    wisp_ctx *ctx;
    int level;
    main_thread = pthread_self();
    if (wisp_ctx_create_mpi(&ctx, MPI_COMM_WORLD, NULL) != WISP_ERR_ARG || ctx ||
        !strstr(message_of(NULL), "MPI_Init_thread"))
        return 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    all_allocations = argc > 1 && !strcmp(argv[1], "all");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank > 0 && !freopen("/dev/null", "w", stdout)) MPI_Abort(MPI_COMM_WORLD, 1);
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* the others would wait for a process that has failed */
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
