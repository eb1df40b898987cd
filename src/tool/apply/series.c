/* --series of wisp apply: a function by the coefficients of its Chebyshev series, of a text file. */
#include "apply.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 22 }; /* as wisp_function has them */

/* The numbers of a line, up to a #, behind `terms` others, of at most so many. c: NULL, to count them. */
static int read_line(tool *t, const char *text, int64_t line, int64_t most, wisp_scalar *c, int64_t *terms)
{
    for (const char *at = text + strspn(text, " \t\r\n"); *at && *at != '#'; at += strspn(at, " \t\r\n")) {
        char *end;
        const double v = strtod(at, &end);
        if (end == at || !isfinite(v) || (*end && !strchr(" \t\r\n#", *end)))
            return tool_fail(t, "%s:%lld: expected numbers, the coefficients of T_0, T_1, ..", t->opt.series,
                             (long long)line);
        if (*terms == most) return tool_fail(t, "%s has more than %lld coefficients", t->opt.series, (long long)most);
        if (c) c[*terms] = (wisp_scalar){v, 0};
        ++*terms, at = end;
    }
    return EXIT_FINE;
}

static int read_all(tool *t, FILE *f, int64_t most, wisp_scalar *c, int64_t *terms)
{
    char *text = NULL;
    size_t size = 0;
    int rc = EXIT_FINE;
    *terms = 0;
    for (int64_t line = 1; !rc && getline(&text, &size, f) >= 0; line++) rc = read_line(t, text, line, most, c, terms);
    if (!rc && ferror(f)) rc = tool_fail(t, "cannot read %s: %s", t->opt.series, strerror(errno));
    free(text);
    return rc;
}

int series_read(tool *t, apply_run *r)
{
    int64_t terms, again = 0;
    FILE *f = fopen(t->opt.series, "r");
    if (!f) return tool_fail(t, "cannot read %s: %s", t->opt.series, strerror(errno));
    int rc = read_all(t, f, MOST, NULL, &terms);
    if (!rc && terms == 0) rc = tool_fail(t, "%s has no coefficients", t->opt.series);
    if (!rc && wisp_alloc(t->ctx, &r->c, (size_t)terms, sizeof *r->c)) rc = tool_fail_ctx(t);
    rewind(f);
    if (!rc) rc = read_all(t, f, terms, r->c, &again);
    if (!rc && again != terms) rc = tool_fail(t, "%s can't be read a second time; keep it in a file", t->opt.series);
    fclose(f);
    r->f = (wisp_function){.terms = terms, .c = r->c};
    return rc;
}
