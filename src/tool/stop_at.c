/* WISP_STOP_AT, for tests: a signal at a named point of the run, in the place of one that comes at some time. */
#include "tool.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of a signal; 0: of no name that is known. */
static int signal_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"INT", SIGINT}, {"TERM", SIGTERM}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"KILL", SIGKILL}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(name, known[i].name)) return known[i].number;
    return 0;
}

int stop_at_read(tool *t)
{
    const char *text = getenv("WISP_STOP_AT");
    stop_point *s = &t->monitor.stop;
    char name[8], more;
    int rank = 0;
    if (!text || !*text) return EXIT_FINE;
    const int n = sscanf(text, "%7[A-Z0-9]:%31[a-z ]:%lf@%d%c", name, s->point, &s->from, &rank, &more);
    const int number = n >= 3 ? signal_of(name) : 0;
    if (n < 3 || n > 4 || !number || !(s->from >= 0))
        return tool_usage(t, "WISP_STOP_AT=%s: take SIGNAL:POINT:NUMBER, as TERM:moments:0.01, or unset it", text);
    if (rank == t->process) s->signal = number;
    return EXIT_FINE;
}

void stop_at(stop_point *s, const char *point, double reached)
{
    const int number = s->signal;
    if (!number || reached < s->from || strcmp(s->point, point)) return;
    s->signal = 0; /* once */
    raise(number);
}

bool stop_at_names(const stop_point *s, const char *point) { return !strcmp(s->point, point); }
