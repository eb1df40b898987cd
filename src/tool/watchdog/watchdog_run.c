/* The watchdog of a process: what counts as a failure, and what follows.

   Failures are: its process has died; it has been stopped for too long while another one ran; its launcher is gone;
   nothing has been heard of a peer for too long, or its connection has ended without a word. Whoever finds one tells
   all peers, and kills its own process; so do they. The lowest one of those that can be heard says why.

   No progress is asked of a process: it may be in a function of the user's, or wait for a file. Time counts only while
   some process runs, and anew when this watchdog itself has been stopped, as by a batch system that suspends the run.
 */
#include "../tool.h"
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "watchdog_net.h"

enum { BEATS = 4, CHECKS = 8 }; /* in the time of silence that is a failure */
static const double connect_seconds = 5, farewell_seconds = 1;

typedef struct {
    network net;
    int control;
    pid_t process, launcher;
    double timeout, beaten, checked;
    double anew; /* when all clocks began */
    bool as_json, said, warned, spoken;
    bool stopped;
    double stopped_since;
    enum { WATCHING, LEAVING, FAILING } phase;
    note last; /* what this watchdog says at its end */
    double until;
} guard;

/* ---- its process ------------------------------------------------------------------------------- */

/* State and parent of the process, and the status that it ends with; false: it can't be looked at. */
static bool look(pid_t process, char *state, pid_t *parent, int *status)
{
    char name[32], text[1024];
    snprintf(name, sizeof name, "/proc/%d/stat", (int)process);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    const char *at = strrchr(text, ')'), *end = strrchr(text, ' '); /* the name may have blanks */
    if (!at || at[1] != ' ' || !end) return false;
    *state = at[2];
    *parent = (pid_t)atoi(at + 3);
    *status = atoi(end);
    return true;
}

static bool alive(const guard *g) { return getppid() == g->process; }

/* ---- words ------------------------------------------------------------------------------------- */

static void print_line(const guard *g, const char *before, const char *text)
{
    char line[512];
    if (g->as_json)
        snprintf(line, sizeof line, "{\"event\":\"%s\",\"message\":\"%s\"}\n", *before ? "log" : "error", text);
    else
        snprintf(line, sizeof line, "%swisp: %s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", before, text);
    if (write(STDERR_FILENO, line, strlen(line)) < 0) return; /* nobody is there to read it */
}

/* The name of a host, without what would break a line. */
static const char *host_of(const guard *g, int r, char *buf)
{
    snprintf(buf, WATCHDOG_HOST, "%s", g->net.place[r].host);
    for (char *c = buf; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\') *c = '?';
    return buf;
}

static void print_failure(const guard *g)
{
    char host[WATCHDOG_HOST], text[384], who[128], how[64] = "";
    const int status = g->last.detail;
    snprintf(who, sizeof who, "process %d on %s", g->last.subject, host_of(g, g->last.subject, host));
    switch (g->last.why) {
    case WHY_DIED:
        if (status >= 0 && WIFSIGNALED(status))
            snprintf(how, sizeof how, " (killed by signal %d)", WTERMSIG(status));
        else if (status >= 0)
            snprintf(how, sizeof how, " (exit status %d)", WEXITSTATUS(status));
        snprintf(text, sizeof text, "%s has died%s", who, how);
        break;
    case WHY_STOPPED:
        snprintf(text, sizeof text, "%s has been stopped for %d seconds, while others ran", who, status);
        break;
    case WHY_SILENT:
        snprintf(text, sizeof text, "nothing was heard of %s for %d seconds: its host or the network is down", who,
                 status);
        break;
    case WHY_GONE: snprintf(text, sizeof text, "the watchdog of %s has died", who); break;
    case WHY_LAUNCHER: snprintf(text, sizeof text, "the launcher of %s has died", who); break;
    default: return; /* said already */
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "; all %d processes are ended", g->net.n);
    print_line(g, "", text);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static double patience_with(const guard *g, int r)
{
    const double theirs = g->net.peer[r].timeout;
    return theirs > g->timeout ? theirs : g->timeout;
}

/* It has been heard of late. */
static bool is_there(const guard *g, int r)
{
    const peer *p = &g->net.peer[r];
    return p->state == PEER_UP && g->net.now - p->heard < patience_with(g, r) / 2;
}

static bool may_come(const guard *g, int r)
{
    return net_pending(&g->net, r) && g->net.now - g->net.began < connect_seconds;
}

static void say_last(guard *g, int r)
{
    net_send(&g->net, r, g->last);
    net_shut(&g->net, r);
}

static void end_with(guard *g, note last, double seconds)
{
    g->last = last;
    g->until = g->net.now + seconds;
    for (int r = 0; r < g->net.n; r++) say_last(g, r);
}

static void leave(guard *g)
{
    if (g->phase != WATCHING) return;
    g->phase = LEAVING;
    end_with(g, (note){.kind = NOTE_BYE}, farewell_seconds);
}

/* The finder of a failure also names who prints it, because a watchdog that was stopped itself can't know whether
   another one has printed it already. */
static void speak(guard *g, int speaker)
{
    if (speaker == g->net.rank && !g->spoken) print_failure(g);
    g->spoken = g->spoken || speaker == g->net.rank;
}

static void fail_with(guard *g, note x)
{
    if (g->phase == WATCHING) {
        g->phase = FAILING;
        if (alive(g)) kill(g->process, SIGKILL);
        alarm(10); /* whatever the standard error is, this ends */
        x.kind = NOTE_FAILURE;
        end_with(g, x, farewell_seconds);
    }
    if (g->phase == FAILING) speak(g, x.speaker);
}

static void fail(guard *g, int subject, int why, int detail)
{
    int speaker = 0;
    if (g->phase != WATCHING) return; /* others end, too */
    while (speaker < g->net.rank && !is_there(g, speaker)) speaker++;
    fail_with(g, (note){.subject = subject, .why = why, .detail = detail, .speaker = speaker});
}

static bool is_through(const guard *g)
{
    bool waits = false;
    for (int r = 0; r < g->net.n; r++) {
        const peer *p = &g->net.peer[r];
        if (g->phase == FAILING && may_come(g, r)) return false; /* it must hear of the failure */
        waits = waits || p->state == PEER_UP || p->state == PEER_GREETED;
    }
    return !waits || g->net.now >= g->until;
}

/* ---- peers ------------------------------------------------------------------------------------- */

static note beat(const guard *g)
{
    return (note){.kind = NOTE_BEAT, .stopped = g->stopped, .timeout = (float)g->timeout};
}

static void heard(void *arg, int r, const note *x)
{
    guard *g = arg;
    peer *p = &g->net.peer[r];
    if (!x) return fail(g, r, WHY_GONE, -1);
    if (p->heard == 0) { /* it is up now */
        p->running_since = g->net.now;
        p->timeout = WATCHDOG_USUAL;
        if (g->phase == WATCHING)
            net_send(&g->net, r, beat(g));
        else
            say_last(g, r);
    }
    p->heard = g->net.now;
    switch (x->kind) {
    case NOTE_BEAT:
        if (p->stopped && !x->stopped) p->running_since = g->net.now;
        p->stopped = x->stopped;
        if (x->timeout > 0) p->timeout = x->timeout;
        break;
    case NOTE_FAILURE:
        if (x->subject >= 0 && x->subject < g->net.n) fail_with(g, *x);
        break;
    case NOTE_BYE: net_close(&g->net, r); break;
    default: break;
    }
}

static void check_peers(guard *g)
{
    const double now = g->net.now;
    bool some_run = !g->stopped;
    for (int r = 0; r < g->net.n; r++) some_run = some_run || (is_there(g, r) && !g->net.peer[r].stopped);
    if (!some_run) g->anew = now; /* all are stopped together, which is no failure */
    for (int r = 0; r < g->net.n; r++) {
        const peer *p = &g->net.peer[r];
        if (p->state != PEER_UP) continue;
        const double since = p->heard > g->anew ? p->heard : g->anew;
        if (now - since > patience_with(g, r)) return fail(g, r, WHY_SILENT, (int)patience_with(g, r));
    }
}

/* Of the peers that have not been reached by now the first process speaks, for all others connect to it. */
static void check_reached(guard *g)
{
    if (g->warned || g->net.rank > 0 || g->net.now - g->net.began < WATCHDOG_USUAL) return;
    int first = -1, n = 0;
    for (int r = g->net.n - 1; r > 0; r--)
        if (net_pending(&g->net, r)) first = r, n++;
    g->warned = true;
    if (n == 0) return;
    char text[256], host[WATCHDOG_HOST];
    snprintf(text, sizeof text,
             "the watchdogs of %d process%s (first: %d on %s) are not reached by TCP; if they end, this may not be "
             "noticed",
             n, n == 1 ? "" : "es", first, host_of(g, first, host));
    print_line(g, "warning: ", text);
}

/* ---- the loop ---------------------------------------------------------------------------------- */

/* Stopped by a signal, not by a debugger (t). */
static void check_process(guard *g)
{
    char state = 'R';
    pid_t parent = g->launcher;
    int status;
    const double now = g->net.now;
    if (!look(g->process, &state, &parent, &status) || state == 'Z' || state == 'X') return; /* `control` tells it */
    if (parent != g->launcher) return fail(g, g->net.rank, WHY_LAUNCHER, -1);
    const bool stopped = state == 'T';
    if (stopped && !g->stopped) g->stopped_since = now;
    if (stopped != g->stopped) g->beaten = 0;
    g->stopped = stopped;
    for (int r = 0; stopped && r < g->net.n; r++) {
        const peer *p = &g->net.peer[r];
        if (!is_there(g, r) || p->stopped) continue;
        double since = p->running_since > g->stopped_since ? p->running_since : g->stopped_since;
        if (g->anew > since) since = g->anew;
        if (now - since > g->timeout) return fail(g, g->net.rank, WHY_STOPPED, (int)(now - since));
    }
}

/* The process has ended without a word; what it dies of shows until its parent has taken note. */
static void process_died(guard *g)
{
    char state;
    pid_t parent;
    int status;
    if (!look(g->process, &state, &parent, &status)) status = -1;
    const bool launcher_gone = g->launcher > 1 && kill(g->launcher, 0) && errno == ESRCH;
    fail(g, g->net.rank, g->said ? WHY_SAID : launcher_gone ? WHY_LAUNCHER : WHY_DIED, status);
}

static bool read_all(int fd, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t n = recv(fd, at, bytes, MSG_WAITALL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static void be_told(guard *g)
{
    tell x;
    if (!read_all(g->control, &x, sizeof x)) return process_died(g);
    if (x.kind == TELL_SET) {
        g->timeout = x.seconds;
        g->as_json = x.as_json;
        g->beaten = 0;
    } else if (x.kind == TELL_SAID) {
        g->said = true;
    } else if (x.kind == TELL_END) {
        leave(g);
    }
}

/* What a process of its own needs: nothing of the launcher's but the standard error, and none of its signals. It is in
   a session of its own, for launchers stop and kill by groups. */
static void settle_down(int control, int listener)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGTTOU, SIGTTIN};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* should it be stopped when its process ends */
    setsid();
    DIR *open_files = opendir("/proc/self/fd");
    for (const struct dirent *d; open_files && (d = readdir(open_files));) {
        const int fd = atoi(d->d_name);
        if (fd > STDERR_FILENO && fd != control && fd != listener && fd != dirfd(open_files)) close(fd);
    }
    if (open_files) closedir(open_files);
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        close(nothing);
    }
    if (chdir("/")) return; /* it only keeps a file system busy */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files)) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static bool start(guard *g, tell *x)
{
    char state;
    int status;
    if (!read_all(g->control, x, sizeof *x) || x->kind != TELL_START || x->n < 1) return false;
    watchdog_place *place = calloc((size_t)x->n, sizeof *place);
    if (!place || !read_all(g->control, place, (size_t)x->n * sizeof *place)) return false;
    g->timeout = x->seconds;
    g->net.n = x->n;
    g->net.rank = x->rank;
    g->net.key = x->key;
    g->net.place = place;
    g->net.event = heard;
    g->net.arg = g;
    return look(g->process, &state, &g->launcher, &status) && net_make(&g->net);
}

void watchdog_run(int control, int listener)
{
    guard g = {.control = control, .process = getppid(), .net.listener = listener};
    tell first;
    settle_down(control, listener);
    send(control, "", 1, MSG_NOSIGNAL); /* its process waits for it */
    if (!start(&g, &first)) _exit(EXIT_FAILURE);
    g.anew = g.net.now;
    while (g.phase == WATCHING || !is_through(&g)) {
        const bool watching = g.phase == WATCHING;
        const double tick = watching ? (g.timeout / CHECKS < 1 ? g.timeout / CHECKS : 1) : 0.1, before = g.net.now;
        const bool told = net_wait(&g.net, watching ? control : -1, tick);
        if (told) be_told(&g);
        if (g.phase != WATCHING) continue;
        if (g.net.now - before > tick + g.timeout / BEATS) g.anew = g.net.now; /* this one was stopped itself */
        if (g.net.now - g.checked >= tick) {
            g.checked = g.net.now;
            check_process(&g);
            check_peers(&g);
            check_reached(&g);
        }
        if (g.phase == WATCHING && g.net.now - g.beaten >= g.timeout / BEATS) {
            g.beaten = g.net.now;
            net_send_all(&g.net, beat(&g));
        }
    }
    _exit(EXIT_SUCCESS);
}
#endif
