/* The processes that mpirun, srun and the like start: the first one speaks and writes for all. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "out/text.h"
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <sys/random.h>
#include <wisp/mpi.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

/* What launchers tell each process: how many there are, and which it is; the third must be there, too, if it is named.
   A script of sbatch has SLURM's numbers, and only a process that srun starts for PMIx has that one's. */
static const char *const number_name[][3] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                             {"PMI_SIZE", "PMI_RANK"},
                                             {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_RANK"}};

/* The variable that tells it, or NULL. */
static const char *launcher(int *processes, int *process)
{
    for (size_t i = 0; i < sizeof number_name / sizeof *number_name; i++) {
        const char *size = getenv(number_name[i][0]), *rank = getenv(number_name[i][1]);
        if (!size || !rank || (number_name[i][2] && !getenv(number_name[i][2]))) continue;
        *processes = atoi(size);
        *process = atoi(rank);
        return number_name[i][0];
    }
    return NULL;
}

#ifdef WISP_HAVE_MPI
/* Of all processes, for what they tell each other beside the calls of a context. After the begin that is
   processes_agree alone, so that one that has failed meets the others in whichever they come to next. */
static MPI_Comm all_processes = MPI_COMM_NULL;

/* All watchdogs learn where the others are. One that could not be made is a warning. */
static void start_watchdogs(tool *t, const watchdog_place *own)
{
    unsigned char key[WATCHDOG_KEY] = "";
    const size_t n = (size_t)t->processes;
    watchdog_place *all = calloc(n, sizeof *all);
    int without = 0, first = 0, ready = all && (t->process > 0 || getrandom(key, sizeof key, 0) == sizeof key);
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, all_processes);
    if (!ready) {
        watchdog_end(&t->watchdog);
        free(all);
        return;
    }
    MPI_Bcast(key, sizeof key, MPI_BYTE, 0, all_processes);
    MPI_Allgather(own, sizeof *own, MPI_BYTE, all, sizeof *own, MPI_BYTE, all_processes);
    for (int r = t->processes - 1; r >= 0; r--)
        if (!all[r].port) without++, first = r;
    if (without > 0 && t->process == 0)
        fprintf(stderr, "wisp: warning: %d of %d processes have no watchdog (first: %d on %s: %s)\n", without,
                t->processes, first, all[first].host, strerror(all[first].error));
    watchdog_start(&t->watchdog, all, t->processes, t->process, key);
    free(all);
}

/* Whether this process was given other words than the first one. */
static void compare_words(tool *t, int argc, char **argv)
{
    uint64_t mine = 0, first;
    for (int i = 1; i < argc; i++) mine = XXH3_64bits_withSeed(argv[i], strlen(argv[i]) + 1, mine);
    first = mine;
    MPI_Bcast(&first, 1, MPI_UINT64_T, 0, all_processes);
    t->unlike = mine != first;
}

/* Of the launcher's processes, each of which MPI takes for the only one, the first speaks. */
static int refuse_launcher(tool *t, const char *name, int processes, int process)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;
    t->monitor.off = process > 0;
    MPI_Get_library_version(mpi, &n);
    for (char *c = mpi; *c; c++) /* MPICH's, of its number */
        if (*c == '\t') *c = ' ';
    return tool_fail(
        t,
        "started as one of %d processes (%s), which the MPI of this build (%.*s) does not see: each would do "
        "all of the work; take that MPI's launcher, or unset %s to run by one process",
        processes, name, (int)strcspn(mpi, ",\n"), mpi, name);
}

/* Whether the standard error, a pipe to mpirun, ends at a terminal: mpirun's own. */
static bool launcher_has_terminal(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)getppid());
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    const bool terminal = fd >= 0 && isatty(fd);
    if (fd >= 0) close(fd);
    return terminal;
}

int processes_begin(tool *t, int argc, char **argv)
{
    int level;
    watchdog_place own;
    int launched = 1, place = 0;
    const char *name = launcher(&launched, &place);
    t->processes = 1;
    if (!name) return EXIT_FINE;
    const bool watched = launched > 1;
    if (watched) watchdog_make(&t->watchdog, &own, argc, argv);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &all_processes);
    MPI_Comm_size(all_processes, &t->processes);
    MPI_Comm_rank(all_processes, &t->process);
    t->by_mpi = true;
    if (launched > 1 && t->processes == 1) {
        watchdog_end(&t->watchdog);
        return refuse_launcher(t, name, launched, place);
    }
    if (watched) start_watchdogs(t, &own);
    if (t->process > 0) {
        t->monitor.off = true;
        text_silence();
    }
    t->monitor.terminal = t->process == 0 && launcher_has_terminal();
    compare_words(t, argc, argv);
    if (level < MPI_THREAD_FUNNELED)
        return tool_fail(t, "this MPI allows no threads (MPI_THREAD_FUNNELED); take one that does");
    return EXIT_FINE;
}

wisp_status processes_context(tool *t, const wisp_ctx_opts *o)
{
    return t->by_mpi ? wisp_ctx_create_mpi(&t->ctx, MPI_COMM_WORLD, o) : wisp_ctx_create(&t->ctx, o);
}

void processes_watch(tool *t)
{
    if (t->opt.watchdog != 0 || t->opt.log == 1)
        watchdog_set(&t->watchdog, t->opt.watchdog != 0 ? t->opt.watchdog : WATCHDOG_USUAL, t->opt.log == 1);
}

/* A process that fails alone may leave the others in the middle of their work. They are ended then. */
static void await(tool *t, MPI_Request *request, int rc)
{
    const double patience = 10; /* seconds */
    const double began = wisp_now();
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done) {
        if (rc != EXIT_FINE && wisp_now() - began > patience) {
            watchdog_said(&t->watchdog);
            if (t->process > 0) /* which has not said it yet */
                fprintf(stderr, "wisp: process %d of %d has failed: %s\n", t->process, t->processes, t->monitor.error);
            MPI_Abort(MPI_COMM_WORLD, rc);
        }
        usleep(1000);
    }
}

int processes_agree(tool *t, int rc)
{
    int mine[] = {rc, rc ? -t->process : -t->processes}, most[2];
    MPI_Request request;
    if (!t->by_mpi || t->failed) return rc;
    if (rc != EXIT_FINE && t->process == 0) watchdog_said(&t->watchdog);
    MPI_Iallreduce(mine, most, 2, MPI_INT, MPI_MAX, all_processes, &request);
    await(t, &request, rc);
    if (most[0] == EXIT_FINE) return EXIT_FINE;
    const int first = -most[1]; /* that has failed */
    char words[sizeof t->monitor.error];
    memcpy(words, t->monitor.error, sizeof words);
    if (first > 0) MPI_Bcast(words, sizeof words, MPI_CHAR, first, all_processes);
    if (first > 0 && t->process == 0) tool_fail(t, "process %d: %s", first, words);
    watchdog_said(&t->watchdog); /* the launcher may kill who is slow to end */
    t->failed = true;
    return most[0];
}

int processes_end(tool *t, int rc)
{
    if (!t->by_mpi) return rc;
    rc = processes_agree(t, rc);
    MPI_Comm_free(&all_processes);
    MPI_Finalize();
    watchdog_end(&t->watchdog);
    return t->process == 0 ? rc : EXIT_FINE;
}

int processes_gather(tool *t, int rc, const char *own, char **all, size_t *size)
{
    *all = NULL;
    *size = 0;
    if ((rc = processes_agree(t, rc))) return rc; /* first: who has failed before takes part in this call alone */
    int most = (int)strlen(own) + 1;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, all_processes);
    char *mine = calloc(1, (size_t)most), *texts = calloc((size_t)t->processes, (size_t)most);
    rc = processes_agree(t, mine && texts ? EXIT_FINE : tool_fail(t, "out of memory for %d processes", t->processes));
    if (!rc) {
        strcpy(mine, own);
        MPI_Gather(mine, most, MPI_CHAR, texts, most, MPI_CHAR, 0, all_processes);
    }
    free(mine);
    if (!rc && t->process == 0) {
        *all = texts;
        *size = (size_t)most;
    } else {
        free(texts);
    }
    return rc;
}
#else
int processes_begin(tool *t, int argc, char **argv)
{
    (void)argc, (void)argv;
    const char *name = launcher(&t->processes, &t->process);
    if (!name || t->processes <= 1) {
        t->processes = 1;
        return EXIT_FINE;
    }
    if (t->process > 0) t->monitor.off = true; /* it is said once */
    return tool_fail(t,
                     "started as one of %d processes (%s), but built without MPI: each would do all of the work; "
                     "install libopenmpi-dev and build again, or start one process",
                     t->processes, name);
}

wisp_status processes_context(tool *t, const wisp_ctx_opts *o) { return wisp_ctx_create(&t->ctx, o); }

void processes_watch(tool *t) { (void)t; }

int processes_agree(tool *t, int rc)
{
    (void)t;
    return rc;
}

int processes_end(tool *t, int rc)
{
    (void)t;
    return rc;
}

int processes_gather(tool *t, int rc, const char *own, char **all, size_t *size)
{
    (void)t, (void)own, (void)size;
    *all = NULL;
    return rc;
}
#endif
