/* How tests run: by one rank, by ranks as threads, by processes of mpirun. */
#include "ref.h"
#include <stdlib.h>
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <mpi.h>
#include <stdio.h>
#include "comm/mpi_world.h"
#endif

int ref_setup(void **state)
{
    *state = ref_isa_ctx(NULL, 2);
    return 0;
}

int ref_setup_all(void **state)
{
    *state = ref_ctx(NULL);
    return 0;
}

int ref_teardown(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* As mpirun or srun started it. */
int ref_by_mpi(void)
{
#ifdef WISP_HAVE_MPI
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") ||
           (getenv("PMIX_RANK") && getenv("SLURM_STEP_NUM_TASKS"));
#else
    return 0;
#endif
}

int ref_ranks(void)
{
#ifdef WISP_HAVE_MPI
    int ranks;
    if (ref_by_mpi() && !MPI_Comm_size(MPI_COMM_WORLD, &ranks)) return ranks;
#endif
    return getenv("WISP_RANKS") ? atoi(getenv("WISP_RANKS")) : 1;
}

bool ref_has_factors(void) { return ref_ranks() == 1 && strstr(wisp_features(), "mumps") != NULL; }

typedef struct {
    struct CMUnitTest test;
    CMFixtureFunction setup, teardown;
} rank_test;

static int on_rank(void *arg, int rank)
{
    const rank_test *t = arg;
    void *state = t->test.initial_state;
    (void)rank;
    if (t->setup) assert_int_equal(t->setup(&state), 0);
    if (t->test.setup_func) assert_int_equal(t->test.setup_func(&state), 0);
    t->test.test_func(&state);
    if (t->test.teardown_func) assert_int_equal(t->test.teardown_func(&state), 0);
    if (t->teardown) assert_int_equal(t->teardown(&state), 0);
    return 0;
}

/* A test, by all ranks side by side. */
static void on_all_ranks(void **state)
{
    int result = 0;
    assert_int_equal(wisp_ranks_run(ref_ranks(), on_rank, *state, &result), WISP_OK);
    assert_int_equal(result, 0);
}

#ifdef WISP_HAVE_MPI
/* Each process runs the tests, together with contexts of all of them; the first one tells. */
static int run_by_mpi(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup, CMFixtureFunction teardown,
                      bool together)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    int level, rank;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(world, &rank);
    if (rank > 0 && !freopen("/dev/null", "w", stdout)) MPI_Abort(world, 1);
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* the others would wait for a process that has failed */
    if (together) wisp__mpi_set(&world);
    const int failed = _cmocka_run_group_tests("tests", tests, count, setup, teardown);
    MPI_Finalize();
    return failed;
}
#endif

int ref_run_tests(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup, CMFixtureFunction teardown)
{
#ifdef WISP_HAVE_MPI
    if (ref_by_mpi()) return run_by_mpi(tests, count, setup, teardown, true);
#endif
    if (ref_ranks() == 1) return _cmocka_run_group_tests("tests", tests, count, setup, teardown);
    struct CMUnitTest *wrapped = calloc(count, sizeof *wrapped);
    rank_test *t = calloc(count, sizeof *t);
    for (size_t i = 0; i < count; i++) {
        t[i] = (rank_test){tests[i], setup, teardown};
        wrapped[i] = (struct CMUnitTest){.name = tests[i].name, .test_func = on_all_ranks, .initial_state = &t[i]};
    }
    /* What fails on a thread of its own can't go back to where the tests began. */
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    const int failed = _cmocka_run_group_tests("tests", wrapped, count, NULL, NULL);
    free(wrapped);
    free(t);
    return failed;
}

#ifdef WISP_HAVE_MPI
/* Who has nothing to do in a test leaves the cores to those that have, as the library does where it waits: MPI_Barrier
   would look without end. Who slept until an event would move none of MPI's messages, which others may wait for. All
   wait until all are there. */
static void await_all(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0, turns = 0; !done; wisp__mpi_give_way(&turns)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static int each_by_mpi(int ranks, wisp_rank_fn fn, void *arg)
{
    MPI_Comm some = MPI_COMM_NULL;
    int rank, size, result = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    await_all();
    if (ranks > 1 && ranks <= size) MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &some);
    if (some != MPI_COMM_NULL) wisp__mpi_set(&some);
    if (some != MPI_COMM_NULL || ranks == 1) result = fn(arg, ranks > 1 ? rank : 0);
    wisp__mpi_set(NULL);
    if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
    await_all();
    return result;
}
#endif

void ref_ranks_each(int ranks, wisp_rank_fn fn, void *arg)
{
    int result = 0;
#ifdef WISP_HAVE_MPI
    if (ref_by_mpi())
        result = each_by_mpi(ranks, fn, arg);
    else
#endif
        assert_int_equal(wisp_ranks_run(ranks, fn, arg, &result), WISP_OK);
    assert_int_equal(result, 0);
}

int ref_run_rank_tests(const struct CMUnitTest *tests, size_t count)
{
#ifdef WISP_HAVE_MPI
    if (ref_by_mpi()) return run_by_mpi(tests, count, NULL, NULL, false);
#endif
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a rank's thread has nowhere else to go */
    return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
}
