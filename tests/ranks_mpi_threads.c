/* Multigrid of several processes by two threads of each at once, in any order: none waits for ever. Run by
   tests/test_mpi.sh under mpirun. Exit 77: MPI has no threads here, or wisp no multigrid. */
#include "ref.h"
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/mpi.h>

static int rank, ranks;

typedef struct {
    MPI_Comm comm;
    int iterations[8], calls;
} job;

static wisp_ctx *ctx_of(MPI_Comm comm)
{
    wisp_ctx *ctx;
    assert_int_equal(wisp_ctx_create_mpi(&ctx, comm, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}), WISP_OK);
    return ctx;
}

/* The preconditioner is made anew in each call, and freed. */
static void *solve(void *arg)
{
    job *j = arg;
    wisp_ctx *ctx = ctx_of(j->comm);
    wisp_mat *A;
    wisp_blk *x, *b;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=9,ny=8,nz=7", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0));
    for (int i = 0; i < j->calls; i++) {
        wisp_solution s;
        REF_OK(ctx, wisp_solve(&s, x, A, b, &(wisp_solve_opts){.precond = WISP_AMG}));
        j->iterations[i] = (int)s.iterations;
        wisp_solution_free(&s);
    }
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    job jobs[2] = {{.calls = 8}, {.calls = 8}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, solve, &jobs[(i + rank) % 2]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        for (int c = 0; c < jobs[i].calls; c++) assert_int_equal(jobs[i].iterations[c], jobs[0].iterations[0]);
        MPI_Comm_free(&jobs[i].comm);
    }
}

/* Of processes in another order nobody could say whose turn it is: that is refused while the others have theirs. */
static void another_order(void **state)
{
    (void)state;
    if (ranks == 1) return;
    MPI_Comm other;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    wisp_ctx *ctx = ctx_of(MPI_COMM_WORLD), *turned = ctx_of(other);
    const wisp_solve_opts o = {.precond = WISP_AMG};
    wisp_solver *S;
    wisp_mat *A, *B;
    wisp_blk *x, *b, *y;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=4,nz=3", NULL));
    REF_OK(turned, wisp_mat_open(&B, turned, "laplace:nx=5,ny=4,nz=3", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(turned, wisp_blk_create(&y, turned, wisp_mat_map(B), WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
    REF_OK(turned, wisp_blk_fill(y, (wisp_scalar){1, 0}));
    REF_OK(ctx, wisp_solver_create(&S, A, WISP_D, 1, &o));
    REF_OK(ctx, wisp_solver_solve(S, NULL, x, b, 0));
    wisp_blk *z;
    REF_OK(turned, wisp_blk_create(&z, turned, wisp_mat_map(B), WISP_D, 1));
    char text[WISP_MESSAGE];
    assert_int_equal(wisp_solve(NULL, z, B, y, &o), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(wisp_ctx_message(turned, text, sizeof text), "in use by another context"));
    wisp_solver_free(S);
    REF_OK(turned, wisp_solve(NULL, z, B, y, &o));
    wisp_blk_free(x), wisp_blk_free(b), wisp_blk_free(y), wisp_blk_free(z);
    wisp_mat_free(A), wisp_mat_free(B);
    wisp_ctx_free(ctx), wisp_ctx_free(turned);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_threads), cmocka_unit_test(another_order)};
    int level, failed = 77;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank > 0 && !freopen("/dev/null", "w", stdout)) MPI_Abort(MPI_COMM_WORLD, 1);
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* the others would wait for a process that has failed */
    if (level == MPI_THREAD_MULTIPLE && strstr(wisp_features(), "hypre"))
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
