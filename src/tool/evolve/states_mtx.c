/* States as the columns of a dense Matrix Market file. How many there will be is not known before the end: the numbers
   of the size line have room, and are written again then. */
#include "states.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct states_set {
    tool *t;
    FILE *f;
    const char *path;
    states_kind kind;
    long size_at; /* where the size line begins */
    int64_t count;
};

static int failed(const states_set *s)
{
    return tool_fail(s->t, "cannot write %s: %s", s->path, strerror(errno ? errno : EIO));
}

static void write_size(const states_set *s) { fprintf(s->f, "%" PRId64 " %-19" PRId64 "\n", s->kind.rows, s->count); }

static int begin(tool *t, states_set **set, const char *name, const char *path, const states_kind *kind, int64_t times,
                 const double *time)
{
    states_set *s = calloc(1, sizeof *s);
    if (!s) return tool_fail(t, "out of memory for %s", path);
    *set = s;
    *s = (states_set){.t = t, .path = path, .kind = *kind};
    errno = 0;
    if (!(s->f = fopen(name, "we"))) return failed(s);
    fprintf(s->f,
            "%%%%MatrixMarket matrix array complex general\n%% wisp %s: %s\n%% column j is psi at time j of these:\n",
            wisp_version(), t->command_line);
    for (int64_t i = 0; i < times; i++) fprintf(s->f, "%% %.17g\n", time[i]);
    s->size_at = ftell(s->f);
    write_size(s);
    return ferror(s->f) || s->size_at < 0 ? failed(s) : EXIT_FINE;
}

static int add(states_set *s, const states_at *at, const void *psi)
{
    enum { MOST = 64, DOUBLE = 17, SINGLE = 9 };
    const int digits = type_is_single(s->kind.type) ? SINGLE : DOUBLE;
    (void)at;
    errno = 0;
    for (int64_t i = 0; i < s->kind.rows && !ferror(s->f); i++) {
        const wisp_scalar v = type_load(s->kind.type, psi, i);
        fprintf(s->f, "%.*g %.*g\n", digits, v.re, digits, v.im);
    }
    if (fflush(s->f) || ferror(s->f)) return failed(s);
    s->count++;
    return EXIT_FINE;
}

static int end(states_set *s)
{
    errno = 0;
    if (fseek(s->f, s->size_at, SEEK_SET)) return failed(s);
    write_size(s);
    const bool bad = ferror(s->f), unwritten = fclose(s->f);
    s->f = NULL;
    return bad || unwritten ? failed(s) : EXIT_FINE;
}

static void drop(states_set *s)
{
    if (s && s->f) fclose(s->f);
    free(s);
}

const states_format states_mtx = {begin, add, end, drop};
