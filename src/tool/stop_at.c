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

/* The signals of NAME or NAME,NAME; whether these are names of some. */
static bool signals_of(int signals[2], char *names)
{
    char *second = strchr(names, ',');
    if (second) *second++ = '\0';
    signals[0] = signal_of(names);
    signals[1] = second ? signal_of(second) : 0;
    return signals[0] && (!second || signals[1]);
}

int stop_at_read(tool *t)
{
    const char *text = getenv("WISP_STOP_AT");
    stop_point *s = &t->monitor.stop;
    char names[16], more;
    int rank = 0, signals[2];
    if (!text || !*text) return EXIT_FINE;
    const int n = sscanf(text, "%15[A-Z0-9,]:%31[a-z ]:%lf@%d%c", names, s->point, &s->from, &rank, &more);
    if (n < 3 || n > 4 || !signals_of(signals, names) || !(s->from >= 0))
        return tool_usage(t, "WISP_STOP_AT=%s: take SIGNAL:POINT:NUMBER, as TERM:moments:0.01, or unset it", text);
    if (rank == t->process) memcpy(s->signals, signals, sizeof signals);
    return EXIT_FINE;
}

void stop_at(stop_point *s, const char *point, double reached)
{
    if (!s->signals[0] || reached < s->from || strcmp(s->point, point)) return;
    for (int i = 0; i < 2; i++) {
        const int number = s->signals[i];
        s->signals[i] = 0; /* once */
        if (number) raise(number);
    }
}

bool stop_at_names(const stop_point *s, const char *point) { return !strcmp(s->point, point); }
