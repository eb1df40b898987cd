/* The command `wisp`: finds the subcommand, reads its options, runs it. */
#include "system.h"
#include "weights.h"
#include "out/out.h"
#include "out/text.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const command_def commands[] = {
#define COMMAND(...) {__VA_ARGS__},
#include "commands.h"
};

int tool_flush(tool *t)
{
    errno = EIO; /* of a failure before, which is not known any more */
    if (t->process == 0 && (fflush(stdout) || ferror(stdout)) && !t->unprinted) t->unprinted = errno;
    return t->unprinted;
}

int tool_end(tool *t, int rc, const char *format, ...)
{
    WISP_FORMATTED(text, 1600, format);
    if (!tool_is_stopped(t)) tool_flush(t); /* what was printed before comes first, also in a log of both */
    monitor_error(&t->monitor, text);
    return rc;
}

const char *tool_message_of(tool *t, const wisp_ctx *ctx)
{
    char text[WISP_MESSAGE];
    return fields_to_options(&t->monitor, wisp_ctx_message(ctx, text, sizeof text), t->message, sizeof t->message);
}

const char *tool_message(tool *t) { return tool_message_of(t, t->ctx); }

int tool_fail_ctx(tool *t)
{
    if (tool_is_stopped(t)) return tool_stopped(t);
    const char *message = tool_message(t);
    return tool_fail(t, "%s", *message ? message : "the library reported a failure without a message");
}

int tool_fail_matrix(tool *t, wisp_status status)
{
    if (status != WISP_ERR_HERMITIAN && status != WISP_ERR_NUMERIC) return tool_fail_ctx(t);
    return tool_fail_named(t);
}

int tool_fail_named(tool *t)
{
    if (tool_is_stopped(t)) return tool_stopped(t);
    return tool_fail(t, "%s: %s", t->opt.arg[0], tool_message(t));
}

bool tool_is_stopped(const tool *t) { return caught_signal() && !t->keeping; }

void tool_keep(tool *t)
{
    catch_only_noted(true);
    wisp_ctx_resume(t->ctx);
    t->keeping = true;
}

void tool_heed(tool *t)
{
    if (t->by_mpi || wisp_ctx_rank(t->ctx) == 0) catch_only_noted(false);
    t->keeping = false;
}

int tool_stopped(tool *t)
{
    if (!t->done && t->kept.file)
        return tool_fail(t, "stopped by %s; the last state that was kept is in %s", caught_signal(), t->kept.file);
    if (!t->done) return tool_fail(t, "stopped by %s; nothing was kept", caught_signal());
    return tool_fail(t, "stopped by %s; complete and kept: %s", caught_signal(), t->done);
}

/* What the library logs last is why it can't start: then it is the one line of the failure. */
static int make_context(tool *t, bool no_pin)
{
    monitor *mon = &t->monitor;
    monitor_open(mon, t->cmd, &t->opt);
    wisp_ctx_opts o = {.threads = (int)t->opt.threads,
                       .no_pin = no_pin,
                       .device = t->opt.device,
                       .memory_limit = t->opt.mem_limit,
                       .device_memory_limit = t->opt.device_mem_limit,
                       .isa = like_isa(t),
                       .weights = t->opt.weights ? t->opt.weights : t->like.weights,
                       .log = monitor_log,
                       .log_arg = mon,
                       .level = mon->level,
                       .progress = monitor_progress,
                       .progress_arg = mon};
    mon->holding = true;
    wisp_status status = processes_context(t, &o);
    if (status == WISP_ERR_UNSUPPORTED && o.isa) { /* which is told once there is a context */
        *mon->held = '\0';
        o.isa = NULL;
        status = processes_context(t, &o);
    }
    mon->holding = false;
    if (status != WISP_OK) return tool_fail(t, "%s", *mon->held ? mon->held : wisp_status_string(status));
    monitor_release(mon);
    return EXIT_FINE;
}

/* What one may not expect of a run by several processes, or under mpirun. */
static void warn_of_ranks(tool *t)
{
    const int ranks = wisp_ctx_processes(t->ctx);
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
    const int ours = system_processors();
    if (ranks > 1 && t->opt.depth > 1)
        wisp_ctx_logf(t->ctx, WISP_LOG_WARN, "--depth %lld: several processes do not interleave steps; it is 1",
                      (long long)t->opt.depth);
    const char *way = t->opt.halo == WISP_HALO_AUTO ? getenv("WISP_HALO") : wisp_halo_name((wisp_halo)t->opt.halo);
    if (ranks > 1 && way && !strcmp(way, wisp_halo_name(WISP_HALO_NOCOMM)))
        wisp_ctx_logf(t->ctx, WISP_LOG_WARN,
                      "--halo nocomm: halos are never exchanged, for measurements: the results are wrong");
    if (t->by_mpi && ours > 0 && (long)ours * ranks < all)
        wisp_ctx_logf(t->ctx, WISP_LOG_PERF,
                      "%d of this machine's %ld processors are left by the launcher to each process; mpirun --bind-to "
                      "none leaves all",
                      ours, all);
}

int tool_start(tool *t)
{
    int rc = stop_at_read(t);
    if (!rc) rc = weights_check(t);
    rc = processes_agree(t, rc);
    if (!rc) rc = make_context(t, false);
    if (!rc) rc = tool_agree(t, weights_keep(t));
    if (!rc) warn_of_ranks(t);
    if (!rc && (t->by_mpi || wisp_ctx_rank(t->ctx) == 0)) catch_signals(t->ctx);
    return rc;
}

int tool_begin(tool *t)
{
    int rc = like_read(t);
    if (!rc) rc = weights_refuse_pipe(t);
    if (!rc) rc = checkpoint_check(t);
    if (!rc) rc = tool_start(t);
    if (!rc) like_begin(t);
    return rc ? rc : outputs_check(t);
}

wisp_status tool_step(tool *t, const char *task, double done, double flops)
{
    wisp_ctx_enter(t->ctx);
    return wisp_ctx_leave(t->ctx, wisp_ctx_step(t->ctx, task, done, flops));
}

int tool_agree(tool *t, int rc)
{
    wisp_ctx_enter(t->ctx);
    const wisp_status own = rc ? wisp_ctx_fail(t->ctx, WISP_ERR_IO, t->monitor.error) : WISP_OK;
    const bool any = wisp_ctx_leave(t->ctx, own) != WISP_OK;
    return any && !rc ? tool_fail_ctx(t) : rc;
}

/* The command line as one could type it again; of one of thousands of sites the first part, for an HDF5 attribute
   holds 64 KiB. */
static char *join_command_line(int argc, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    fputs("wisp", f);
    for (int i = 1; i < argc; i++) {
        bool plain = *argv[i] && strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                 "_-+=:,./@%") == strlen(argv[i]);
        fputs(plain ? " " : " '", f);
        for (const char *c = argv[i]; *c; c++) {
            if (*c == '\'')
                fputs("'\\''", f);
            else
                fputc(iscntrl((unsigned char)*c) ? '?' : *c, f);
        }
        if (!plain) fputc('\'', f);
    }
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    enum { LONGEST = 32000 };
    if (strlen(text) > LONGEST) strcpy(text + LONGEST - 4, " ...");
    return text;
}

static void print_help(void)
{
    puts("Usage: wisp COMMAND ARGUMENTS [options]\n\n"
         "wisp computes spectral properties of very large sparse matrices, and solves linear\n"
         "systems with them.\n");
    for (int i = 0; i < COMMANDS; i++) printf("  %-10s%s\n", commands[i].name, commands[i].summary);
    puts("\n"
         "  -h, --help  this text; wisp COMMAND --help tells all of one command\n"
         "  --version   version, optional parts, instruction set\n\n"
         "An example, which draws the density of states of a topological insulator:\n"
         "  wisp dos topi:nx=20,ny=20,nz=10 --plot dos.svg");
}

static int print_version(tool *t)
{
    const int rc = make_context(t, true);
    if (rc) return rc;
    const char *features = wisp_features();
    if (t->process == 0)
        printf("wisp %s\nfeatures: %s\ninstruction set: %s\n", wisp_version(), *features ? features : "none",
               wisp_ctx_isa(t->ctx));
    return EXIT_FINE;
}

enum { HELP = -1, VERSION = -2 };

/* Number of the command that argv[1] names, or what it asks for instead; if *rc is not EXIT_FINE: none. */
static int find_command(tool *t, int argc, char **argv, int *rc)
{
    const char *names[COMMANDS + 1], *near;
    *rc = EXIT_FINE;
    if (argc < 2) {
        *rc = tool_usage(t, "no command given; see wisp --help");
    } else if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
        return HELP;
    } else if (!strcmp(argv[1], "--version")) {
        return VERSION;
    } else {
        int n = 0;
        for (int i = 0; i < COMMANDS; i++) {
            names[n++] = commands[i].name;
            if (!strcmp(argv[1], commands[i].name)) return i;
        }
        names[n] = NULL;
        const char *what = argv[1][0] == '-' ? "option" : "command";
        if (!strcmp(argv[1], "plan"))
            *rc = tool_usage(t, "unknown command \"plan\"; it is an option of others: wisp dos MATRIX --plan");
        else if (argv[1][0] != '-' && (near = nearest_name(argv[1], names)))
            *rc = tool_usage(t, "unknown %s \"%.40s\"; did you mean \"%s\"?", what, argv[1], near);
        else
            *rc = tool_usage(t, "unknown %s \"%.40s\"; see wisp --help", what, argv[1]);
    }
    return -1;
}

typedef struct {
    tool *t; /* [ranks] */
    int (*run)(tool *t);
} rank_run;

/* The first rank speaks and writes for all. */
static int run_rank(void *arg, int rank)
{
    const rank_run *r = arg;
    if (rank > 0) text_silence();
    return r->run(&r->t[rank]);
}

/* WISP_RANKS=N: by so many ranks, as threads of this process, for tests. */
static int run_on_ranks(tool *t, const char *number)
{
    char *end;
    const long ranks = strtol(number, &end, 10);
    int rc = EXIT_FAILED;
    rank_run r = {.run = t->cmd->run};
    if (*end || ranks < 1 || ranks > 1024)
        return tool_usage(t, "WISP_RANKS=%s: take a number from 1 to 1024, or unset it", number);
    if (t->cmd->ranks != RANKS_ANY) return tool_usage(t, "WISP_RANKS is not for wisp %s; unset it", t->cmd->name);
    r.t = calloc((size_t)ranks, sizeof *r.t);
    if (!r.t) return tool_fail(t, "out of memory for %ld ranks", ranks);
    for (long i = 0; i < ranks; i++) {
        tool *own = &r.t[i];
        *own = *t;
        own->processes = (int)ranks;
        own->process = (int)i;
        if (i == 0) continue;
        own->monitor.off = own->opt.quiet = true;
    }
    if (wisp_ranks_run((int)ranks, run_rank, &r, &rc)) rc = tool_fail(t, "%s", tool_message_of(t, NULL));
    catch_signals(NULL);
    for (long i = 0; i < ranks; i++) {
        wisp_ctx_free(r.t[i].ctx);
        weights_free(&r.t[i]);
        like_free(&r.t[i]);
        if (i > 0) free(r.t[i].done);
    }
    t->monitor = r.t[0].monitor;
    t->monitor.opt = &t->opt;
    t->done = r.t[0].done;
    t->printed = r.t[0].printed;
    t->unprinted = r.t[0].unprinted;
    t->keeping = r.t[0].keeping;
    free(r.t);
    return rc;
}

/* Words that can be refused before anything is done; *command as find_command gives it. */
static int read_words(tool *t, int argc, char **argv, int *command)
{
    int rc;
    char error[512];
    *command = find_command(t, argc, argv, &rc);
    if (rc || *command < 0) return rc;
    t->cmd = &commands[*command];
    t->command_line = t->typed_line = join_command_line(argc, argv);
    if (!options_parse(&t->opt, t->cmd, argc - 2, argv + 2, error, sizeof error)) return tool_usage(t, "%s", error);
    const char *missing = t->cmd->args; /* the first one, or the second */
    if (t->opt.args) missing += strcspn(missing, " ") + 1;
    if (!t->opt.help && t->opt.args < t->cmd->min_args)
        return tool_usage(t, "%.*s is missing; see wisp %s --help", (int)strcspn(missing, " "), missing, t->cmd->name);
    if (!t->opt.help && (rc = outputs_names(t))) return rc;
    return t->command_line ? EXIT_FINE : tool_fail(t, "out of memory");
}

static int run(tool *t, int argc, char **argv)
{
    int i, rc = read_words(t, argc, argv, &i);
    if (!rc && t->unlike) rc = tool_usage(t, "its arguments are not those of process 0; give all the same ones");
    if ((rc = processes_agree(t, rc))) return rc;
    if (i == VERSION) return print_version(t);
    if (i == HELP || t->opt.help) {
        if (t->process == 0 && i == HELP) print_help();
        if (t->process == 0 && i != HELP) options_help(stdout, t->cmd);
        return EXIT_FINE;
    }
    processes_watch(t);
    if (t->processes > 1 && t->cmd->ranks == RANKS_ONE)
        return tool_usage(t, "wisp %s runs as one process; start it without mpirun", t->cmd->name);
    if (t->process > 0) t->opt.quiet = true;
    const char *ranks = getenv("WISP_RANKS");
    return ranks && *ranks && !t->by_mpi ? run_on_ranks(t, ranks) : t->cmd->run(t);
}

/* With --json (read before what is refused) a failure is JSON, too; not a stop by a signal. */
static void print_failure(tool *t, int rc)
{
    if (rc == EXIT_FINE || !t->opt.json || t->printed || t->process > 0 || tool_is_stopped(t)) return;
    (void)json_print_new(t, JSON_NEW(J("version", wisp_version()), J("command", t->command_line),
                                     J("error", t->monitor.error), J("exit_status", rc)));
}

/* Standard streams that are closed: no file that is opened may get their numbers, and what is printed with it. What is
   printed there fails, as it does on closed ones. */
static void guard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_FAILED);
}

/* hwloc's plugins look for what nobody asks here (screens, OpenCL), and bring dozens of libraries of theirs into each
   process. MPI, which may look for a network's card by them, keeps them. */
static void leave_plugins_out(const tool *t)
{
    if (!t->by_mpi) setenv("HWLOC_PLUGINS_PATH", "/dev/null", 0);
}

int main(int argc, char **argv)
{
    guard_streams();
    tool t = {.started = wisp_now()};
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of writing, which is told */
    int rc = processes_begin(&t, argc, argv);
    leave_plugins_out(&t);
    if (!rc) rc = run(&t, argc, argv);
    monitor_clear(&t.monitor);
    print_failure(&t, rc);
    const int unprinted = tool_flush(&t);
    catch_signals(NULL);
    if (rc == EXIT_FINE && t.process == 0 && tool_is_stopped(&t)) /* others are through */
        rc = tool_stopped(&t);
    else if (tool_has_results(rc) && unprinted)
        rc = tool_fail(&t, "cannot write to the standard output: %s", strerror(unprinted));
    wisp_ctx_free(t.ctx);
    options_free(&t.opt);
    free(t.typed_line);
    weights_free(&t);
    like_free(&t);
    free(t.done);
    return processes_end(&t, rc);
}
