/* Progress, messages and Ctrl-C. */
#include "out/out.h"
#include "out/text.h"
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A signal handler has no argument of ours, so these must be of the file. */
static wisp_ctx *volatile signal_ctx;
static wisp_checkpoint *volatile signal_checkpoint;
static volatile sig_atomic_t signal_number, only_noted;
static volatile double signal_time; /* of the first one, as wisp_now */

/* `timeout`, launchers and batch systems send one signal to the process and again to its group. What comes so many
   seconds after the first is that one; a person who wants no more than the end presses Ctrl-C once more later. */
static const double same_signal = 1;

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

static void on_signal(int number);

/* What is written once it is known that the run ends is written to its end, whatever else comes. */
static void set_flags(void)
{
    struct sigaction is;
    for (int i = 0; i < 3; i++) {
        if (sigaction(numbers[i], NULL, &is) || is.sa_handler != on_signal) continue;
        is.sa_flags = only_noted || signal_number ? SA_RESTART : 0;
        sigaction(numbers[i], &is, NULL);
    }
}

/* Another one. That of a terminal which ends comes from the system and, whenever it ends, from the shell. */
static void on_another(int number)
{
    if (number == SIGHUP || wisp_now() - signal_time < same_signal) return;
    signal(number, SIG_DFL);
    raise(number);
}

static void on_signal(int number)
{
    if (signal_number) {
        on_another(number);
        return;
    }
    signal_time = wisp_now();
    signal_number = number;
    if (signal_checkpoint)
        wisp_checkpoint_request(signal_checkpoint, 1);
    else if (signal_ctx && !only_noted)
        wisp_ctx_cancel(signal_ctx);
    set_flags();
}

static volatile sig_atomic_t requested;

static void on_request(int number)
{
    (void)number;
    requested = 1;
    wisp_checkpoint_request(signal_checkpoint, 0);
}

void catch_requests(void) { signal(SIGUSR1, on_request); }

void catch_for_checkpoint(wisp_checkpoint *checkpoint)
{
    signal_checkpoint = checkpoint;
    if (signal_number) wisp_checkpoint_request(checkpoint, 1); /* noted before there was anything to write */
    if (requested) wisp_checkpoint_request(checkpoint, 0);
}

void catch_only_noted(bool only)
{
    only_noted = only;
    set_flags();
}

void catch_signals(wisp_ctx *ctx)
{
    signal_ctx = ctx;
    for (int i = 0; i < 3; i++) {
        struct sigaction old, new = {.sa_handler = ctx ? on_signal : SIG_DFL};
        /* One that was ignored from the start (nohup, a shell's background job) stays so. */
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN) sigaction(numbers[i], &new, NULL);
    }
}

const char *caught_signal(void)
{
    switch (signal_number) {
    case 0: return NULL;
    case SIGINT: return "Ctrl-C";
    case SIGHUP: return "the end of its terminal";
    default: return "a signal to end";
    }
}

const char *stop_reason(void) { return caught_signal() ? caught_signal() : "request"; }

void monitor_open(monitor *mon, const command_def *cmd, const options *o)
{
    const bool asked = option_seen(o, "log"), terminal = mon->terminal || isatty(STDERR_FILENO);
    *mon = (monitor){
        .level = WISP_LOG_WARN, .off = mon->off, .terminal = mon->terminal, .stop = mon->stop, .cmd = cmd, .opt = o};
    if (mon->off) return;
    if (asked && o->log == 1)
        mon->mode = MONITOR_JSON;
    else if (terminal && !o->quiet)
        mon->mode = MONITOR_BAR;
    else if (asked)
        mon->mode = MONITOR_TEXT;
    if (asked)
        mon->level = WISP_LOG_INFO;
    else if (terminal)
        mon->level = WISP_LOG_PERF;
}

void monitor_clear(monitor *mon)
{
    if (!mon->bar_shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    mon->bar_shown = false;
}

/* One JSON object as a line; takes the object. */
static void json_line(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    if (text) fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(object);
}

/* Whatever the name of a file, or a file that is read, holds: a message is one line. */
static char *one_line(char *text)
{
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
    return text;
}

static void print_error(monitor *mon, const char *message)
{
    if (mon->off || mon->waits) return;
    monitor_clear(mon);
    if (mon->mode == MONITOR_JSON)
        json_line(JSON_NEW(J("event", "error"), J("message", message)));
    else
        fprintf(stderr, "wisp: %s\n", message);
}

void monitor_error(monitor *mon, const char *message)
{
    snprintf(mon->error, sizeof mon->error, "%s", message);
    print_error(mon, one_line(mon->error));
}

void monitor_error_more(monitor *mon, const char *format, ...)
{
    WISP_FORMATTED(text, sizeof mon->error, format);
    const size_t n = strlen(mon->error);
    snprintf(mon->error + n, sizeof mon->error - n, "%s%s", n ? "; " : "", one_line(text));
    print_error(mon, text);
}

static void print_message(monitor *mon, wisp_log_level level, const char *message)
{
    static const char *const names[] = {"none", "warning", "performance", "info", "debug"};
    if (mon->off) return;
    monitor_clear(mon);
    if (mon->mode == MONITOR_JSON)
        json_line(JSON_NEW(J("event", "log"), J("level", names[level]), J("message", message)));
    else
        fprintf(stderr, "wisp: %s%s%s\n", level == WISP_LOG_INFO ? "" : names[level],
                level == WISP_LOG_INFO ? "" : ": ", message);
}

void monitor_release(monitor *mon)
{
    if (*mon->held) print_message(mon, mon->held_level, mon->held);
    *mon->held = '\0';
}

void monitor_log(void *arg, wisp_log_level level, const char *message)
{
    monitor *mon = arg;
    char text[sizeof mon->held];
    fields_to_options(mon, message, text, sizeof text);
    one_line(text);
    if (!mon->holding) {
        print_message(mon, level, text);
        return;
    }
    monitor_release(mon);
    mon->held_level = level;
    memcpy(mon->held, text, sizeof text);
}

/* How far a solver is, or which realization it is of; nothing for others. TEXT bytes. */
static const char *iteration_text(char *buf, const monitor *mon)
{
    *buf = '\0';
    if (mon->pairs && isfinite(mon->wanted))
        snprintf(buf, TEXT, ", round %lld, %d of %.0f, residual %.1e", (long long)mon->iteration, mon->found,
                 mon->wanted, mon->residual);
    else if (mon->pairs)
        snprintf(buf, TEXT, ", round %lld, %d found, residual %.1e", (long long)mon->iteration, mon->found,
                 mon->residual);
    else if (mon->iteration > 0)
        snprintf(buf, TEXT, ", iteration %lld, residual %.1e", (long long)mon->iteration, mon->residual);
    else if (mon->parts > 0)
        snprintf(buf, TEXT, ", realization %d of %d", mon->part, mon->parts);
    return buf;
}

static void print_bar(monitor *mon, const wisp_progress *p, double rate, double left)
{
    enum { CELLS = 30 };
    char bar[CELLS + 1], text[TEXT], rest[2 * TEXT] = "";
    int full = (int)(p->done * CELLS + 0.5);
    for (int i = 0; i < CELLS; i++) bar[i] = i < full ? '#' : '.';
    bar[CELLS] = '\0';
    if (isfinite(left)) snprintf(rest, sizeof rest, "  %s left", text_seconds(text, left));
    if (rate > 0) snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "  %.1f Gflop/s", rate);
    /* A line that the terminal would wrap can't be overwritten. */
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    char line[256];
    snprintf(line, sizeof line, "%-10.10s [%s] %3.0f%%%s%s", p->task, bar, 100 * p->done, iteration_text(text, mon),
             rest);
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    fflush(stderr);
    mon->bar_shown = true;
}

static void print_progress(monitor *mon, const wisp_progress *p, double seconds)
{
    const double more = p->done - mon->started_done, flops = p->flops - mon->started_flops;
    double rate = flops > 0 && seconds > 0.05 ? flops / seconds * 1e-9 : 0;
    double left = more > 0.002 && seconds > 0.3 ? seconds * (1 - p->done) / more : INFINITY;
    char text[TEXT];
    if (mon->mode == MONITOR_BAR) {
        print_bar(mon, p, rate, left);
    } else if (mon->mode == MONITOR_TEXT) {
        fprintf(stderr, "wisp: %s %.0f%%%s", p->task, 100 * p->done, iteration_text(text, mon));
        if (isfinite(left) && p->done < 1) fprintf(stderr, ", %s left", text_seconds(text, left));
        if (rate > 0) fprintf(stderr, ", %.1f Gflop/s", rate);
        fputc('\n', stderr);
    } else {
        const bool solves = mon->iteration > 0;
        json_line(JSON_NEW(J("event", "progress"), J("task", p->task), J("done", p->done), J("seconds", seconds),
                           J_MAYBE(isfinite(left), "seconds_left", left),
                           J_MAYBE(mon->parts > 0, "realization", mon->part),
                           J_MAYBE(mon->parts > 0, "realizations", mon->parts),
                           J_MAYBE(solves, mon->pairs ? "round" : "iteration", mon->iteration),
                           J_MAYBE(solves, "residual", mon->residual), J_MAYBE(mon->pairs, "found", mon->found),
                           J_MAYBE(mon->pairs, "wanted", mon->wanted), J_MAYBE(rate > 0, "gflops", rate)));
    }
}

void monitor_iteration(monitor *mon, int64_t iteration, double residual)
{
    mon->iteration = iteration;
    mon->residual = residual;
}

void monitor_part(monitor *mon, int part, int parts)
{
    mon->part = part;
    mon->parts = parts;
}

void monitor_pairs(monitor *mon, int round, int found, double wanted, double residual)
{
    monitor_iteration(mon, round, residual);
    mon->pairs = round > 0;
    mon->found = found;
    mon->wanted = wanted;
}

/* Realizations that were whole before this task of one. */
static double parts_before(const monitor *mon, const char *task)
{
    return mon->parts > 0 && strcmp(task, "realizations") ? mon->part - 1 : 0;
}

int monitor_progress(void *arg, const wisp_progress *progress)
{
    monitor *mon = arg;
    if (progress->task) stop_at(&mon->stop, progress->task, progress->done + parts_before(mon, progress->task));
    /* While a system is proved to be singular no state is offered, so that the request for one would not end it. */
    if (progress->task && signal_number && signal_checkpoint && !strcmp(progress->task, "proving")) return 1;
    if (mon->mode == MONITOR_SILENT || !progress->task) return 0;
    wisp_progress p = *progress;
    p.done = p.done > 0 ? (p.done < 1 ? p.done : 1) : 0;
    double now = wisp_now();
    bool new_task = strncmp(mon->task, p.task, sizeof mon->task - 1) != 0 || p.done < mon->printed_done;
    if (new_task) {
        snprintf(mon->task, sizeof mon->task, "%s", p.task);
        mon->started = now;
        mon->started_done = p.done;
        mon->started_flops = p.flops;
        mon->printed = now;
        mon->printed_done = p.done;
    }
    double since = now - mon->printed, more = p.done - mon->printed_done;
    bool last = p.done >= 1 && (more > 0 || new_task);
    if (mon->mode == MONITOR_BAR) new_task = last = false; /* a bar for a moment would only flicker */
    /* Ten times a second; as lines for people, at each tenth or each ten seconds. */
    bool due = mon->mode == MONITOR_TEXT ? (since >= 1 && more >= 0.1) || since >= 10 : since >= 0.1;
    if (!new_task && !last && !due) return 0;
    print_progress(mon, &p, now - mon->started);
    mon->printed = now;
    mon->printed_done = p.done;
    return 0;
}
