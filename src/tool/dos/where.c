/* --where of wisp dos, ldos, map and spectral: rows by their positions, by a list, or by a file of numbers. */
#include "dos.h"
#include "../positions.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions on positions: x<3,z>=0.5 ---------------------------------------------------------- */

enum { CONDITIONS = 16 };
typedef struct {
    int axis; /* 0 to 2 */
    bool less, equal;
    double number;
} condition;

static bool begins_condition(const char *text)
{
    return *text >= 'x' && *text <= 'z' && (text[1] == '<' || text[1] == '>');
}

/* Also a mistaken one, such as x=1. */
bool where_by_position(const char *text)
{
    return begins_condition(text) || (*text >= 'x' && *text <= 'z' && text[1] == '=');
}

/* How many there are; 0: this is none. */
static int read_conditions(const char *text, condition *all)
{
    for (int n = 0; n < CONDITIONS && begins_condition(text); text++) {
        condition *c = all + n++;
        c->axis = *text - 'x';
        c->less = text[1] == '<';
        c->equal = text[2] == '=';
        text += c->equal ? 3 : 2;
        char *end;
        c->number = strtod(text, &end);
        if (end == text || isspace((unsigned char)*text)) return 0;
        text = end;
        if (!*text) return n;
        if (*text != ',') return 0;
    }
    return 0;
}

static bool holds(const condition *c, const double *xyz)
{
    const double v = xyz[c->axis];
    return (c->less ? v < c->number : v > c->number) || (c->equal && v == c->number);
}

static int by_position(tool *t, char *in, int64_t rows)
{
    condition all[CONDITIONS];
    wisp_positions p = {0};
    const int n = read_conditions(t->opt.where, all);
    if (!n)
        return tool_usage(
            t, "--where %s: expected conditions on x, y or z such as x<3,z>=0.5, with <, <=, > or >=", t->opt.where);
    int rc = tool_agree(t, positions_open(t, t->opt.arg[0], rows, &p));
    for (int64_t row = 0; row < rows && !rc; row++) {
        double xyz[3] = {0};
        if (p.at(p.arg, row, xyz)) rc = tool_fail(t, "the position of row %lld can't be had", (long long)row);
        in[row] = 1;
        for (int i = 0; i < n; i++) in[row] = in[row] && holds(all + i, xyz);
    }
    wisp_positions_close(&p);
    return rc;
}

/* ---- numbers --------------------------------------------------------------------------------------- */

/* 5,8,10-14 with commas or blanks between; `line` for the message, 0: the option. */
static int take_numbers(tool *t, const char *text, int64_t line, char *in, int64_t rows)
{
    char where[64] = "";
    if (line) snprintf(where, sizeof where, ", line %lld", (long long)line);
    for (;;) {
        text += strspn(text, " \t\r\n,");
        if (!*text || *text == '#') return EXIT_FINE;
        char *end = NULL;
        errno = 0;
        const long long a = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : -1;
        long long b = a;
        if (end && *end == '-' && isdigit((unsigned char)end[1])) b = strtoll(end + 1, &end, 10);
        if (!end || errno || (*end && !strchr(" \t\r\n,#", *end)) || b < a)
            return tool_fail(t, "--where %s%s: expected row numbers (from 0) such as 5,8,10-14", t->opt.where, where);
        if (b >= rows)
            return tool_fail(t, "--where %s%s: row %lld is not there; the matrix has rows 0 to %lld", t->opt.where,
                             where, b, (long long)rows - 1);
        memset(in + a, 1, (size_t)(b - a + 1));
        text = end;
    }
}

static int by_file(tool *t, char *in, int64_t rows)
{
    FILE *f = fopen(t->opt.where, "r");
    char *line = NULL;
    size_t room = 0;
    int rc = EXIT_FINE;
    if (!f)
        return tool_fail(t, "--where %s: %s; nor is it rows such as 0-9,12, or conditions such as x<3", t->opt.where,
                         strerror(errno));
    errno = 0;
    for (int64_t number = 1; !rc && getline(&line, &room, f) >= 0; number++)
        rc = take_numbers(t, line, number, in, rows);
    if (!rc && (ferror(f) || errno == ENOMEM)) rc = tool_fail(t, "--where %s: %s", t->opt.where, strerror(errno));
    free(line);
    fclose(f);
    return rc;
}

int where_find(tool *t, where *w, int64_t rows)
{
    const char *text = t->opt.where;
    if (!text) return EXIT_FINE;
    if (rows < 1) return tool_fail(t, "the matrix has no rows for --where");
    if (wisp_alloc(t->ctx, &w->in, (size_t)rows, 1)) return tool_fail_ctx(t);
    w->ctx = t->ctx;
    w->rows = rows;
    int rc = where_by_position(text)         ? by_position(t, w->in, rows)
             : isdigit((unsigned char)*text) ? take_numbers(t, text, 0, w->in, rows)
                                             : by_file(t, w->in, rows);
    rc = tool_agree(t, rc);
    for (int64_t i = 0; i < rows && !rc; i++) w->count += w->in[i];
    if (!rc && !w->count) rc = tool_fail(t, "--where %s: no row is there", text);
    return rc;
}

void where_free(where *w)
{
    wisp_free(w->ctx, w->in);
    *w = (where){0};
}

/* ---- what is made of them --------------------------------------------------------------------------- */

static int projector_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const where *w = arg;
    if (col && w->in[row]) *col = row, *(double *)val = 1;
    return w->in[row];
}

void where_projector(where *w, wisp_src *src)
{
    *src = (wisp_src){.rows = w->rows, .cols = w->rows, .max_row = 1, .type = WISP_D, .row = projector_row, .arg = w};
}

int where_sites(tool *t, const where *w)
{
    options *o = &t->opt;
    if (!w->count || o->site_count) return EXIT_FINE;
    o->sites = malloc((size_t)w->count * sizeof *o->sites);
    if (!o->sites) return tool_fail(t, "out of memory for %lld rows", (long long)w->count);
    for (int64_t i = 0; i < w->rows; i++)
        if (w->in[i]) o->sites[o->site_count++] = i;
    return EXIT_FINE;
}
