/* The processes that mpirun, srun and the like start: the first one speaks and writes for all. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <sys/random.h>
#include <wisp/mpi.h>
#endif

enum { PLACE = 256 }; /* bytes of the words on where a process is */

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
/* All watchdogs learn where the others are. One that could not be made is a warning. */
static void start_watchdogs(tool *t, const watchdog_place *own)
{
    unsigned char key[WATCHDOG_KEY] = "";
    const size_t n = (size_t)t->processes;
    watchdog_place *all = calloc(n, sizeof *all);
    int without = 0, first = 0, ready = all && (t->process > 0 || getrandom(key, sizeof key, 0) == sizeof key);
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!ready) {
        watchdog_end(&t->watchdog);
        free(all);
        return;
    }
    MPI_Bcast(key, sizeof key, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allgather(own, sizeof *own, MPI_BYTE, all, sizeof *own, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = t->processes - 1; r >= 0; r--)
        if (!all[r].port) without++, first = r;
    if (without > 0 && t->process == 0)
        fprintf(stderr, "wisp: warning: %d of %d processes have no watchdog (first: %d on %s: %s)\n", without,
                t->processes, first, all[first].host, strerror(all[first].error));
    watchdog_start(&t->watchdog, all, t->processes, t->process, key);
    free(all);
}

int processes_begin(tool *t, int argc, char **argv)
{
    int level;
    watchdog_place own;
    t->processes = 1;
    if (!launcher(&t->processes, &t->process)) return EXIT_FINE;
    const bool watched = t->processes > 1;
    if (watched) watchdog_make(&t->watchdog, &own, argc, argv);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &t->processes);
    MPI_Comm_rank(MPI_COMM_WORLD, &t->process);
    t->by_mpi = true;
    if (watched) start_watchdogs(t, &own);
    if (t->process > 0) {
        t->monitor.off = true;
        text_silence();
    }
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

/* A process that fails alone leaves the others in the middle of their work. They are ended then. */
int processes_end(tool *t, int rc)
{
    const double patience = 10; /* seconds */
    const double began = tool_now();
    MPI_Request request;
    int worst, done = 0;
    if (!t->by_mpi) return rc;
    if (rc != EXIT_FINE && t->process == 0) watchdog_said(&t->watchdog);
    MPI_Iallreduce(&rc, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) {
        if (rc != EXIT_FINE && tool_now() - began > patience) {
            watchdog_said(&t->watchdog);
            if (t->process > 0) /* which has not said it yet */
                fprintf(stderr, "wisp: process %d of %d has failed: %s\n", t->process, t->processes, t->monitor.error);
            MPI_Abort(MPI_COMM_WORLD, rc);
        }
        usleep(1000);
    }
    if (worst != EXIT_FINE) watchdog_said(&t->watchdog); /* the launcher may kill who is slow to end */
    MPI_Finalize();
    watchdog_end(&t->watchdog);
    return t->process == 0 ? worst : EXIT_FINE;
}

static void describe(const tool *t, char *text)
{
    const int threads = wisp_ctx_threads(t->ctx);
    char host[64] = "";
    int *cpu = calloc((size_t)threads, sizeof *cpu), used = 0;
    gethostname(host, sizeof host - 1);
    used = snprintf(text, PLACE, "%s, %d thread%s", host, threads, threads == 1 ? "" : "s");
    if (!cpu || wisp_ctx_placement(t->ctx, cpu)) return free(cpu);
    used += snprintf(text + used, (size_t)(PLACE - used), cpu[0] >= 0 ? ", on" : ", not pinned, now on");
    for (int i = 0; i < threads && used < PLACE - 16; i++)
        used += snprintf(text + used, (size_t)(PLACE - used), " %d", cpu[i] >= 0 ? cpu[i] : -1 - cpu[i]);
    free(cpu);
}

int processes_print(tool *t)
{
    char own[PLACE] = "", *all = calloc((size_t)t->processes, PLACE);
    int rc = all ? EXIT_FINE : tool_fail(t, "out of memory for %d processes", t->processes);
    describe(t, own);
    MPI_Gather(own, PLACE, MPI_CHAR, all, PLACE, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int r = 0; r < t->processes && !rc; r++) {
        char name[PLACE];
        snprintf(name, sizeof name, "process %d", r);
        text_line(name, "%s", all + (size_t)r * PLACE);
    }
    free(all);
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

int processes_end(tool *t, int rc)
{
    (void)t;
    return rc;
}

int processes_print(tool *t)
{
    (void)t;
    return EXIT_FINE;
}
#endif
