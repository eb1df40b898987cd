/* --drive OPERATOR:EXPR or OPERATOR:TABLE. */
#include "drives.h"
#include "expectations.h"
#include "expression.h"
#include "../out/out.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static bool is_table(const char *function)
{
    return has_extension(function, "txt") || has_extension(function, "dat") || has_extension(function, "csv");
}

/* ---- tables ------------------------------------------------------------------------------------------ */

static double at_in_table(const drive *d, double t)
{
    int64_t low = 0, high = d->points - 1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (d->time[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    const double width = d->time[high] - d->time[low], part = (t - d->time[low]) / width;
    const double line = d->value[low] + part * (d->value[high] - d->value[low]);
    return d->second ? line + spline_bend(width, part, d->second[low], d->second[high]) : line;
}

/* Behind blanks and one comma: between two of them there would be an empty field. */
static char *next_field(char *text)
{
    text += strspn(text, " \t");
    if (*text == ',') text++;
    return text + strspn(text, " \t");
}

static int add_point(tool *t, drive *d, const char *text, int64_t line)
{
    char *end = NULL, *last = NULL;
    const double time = strtod(text, &end);
    char *second = next_field(end);
    const double value = strtod(second, &last);
    if (end == text || second == end || last == second || last[strspn(last, " \t\r\n")] || !isfinite(time) ||
        !isfinite(value))
        return tool_fail(t, "%s, line %lld: expected a time and a value, with blanks or a comma between them",
                         d->function, (long long)line);
    if (d->points && time <= d->time[d->points - 1])
        return tool_fail(t, "%s, line %lld: time %g is not after the one before, %g", d->function, (long long)line,
                         time, d->time[d->points - 1]);
    const size_t size = (size_t)(d->points + 1) * sizeof *d->time;
    double *times = realloc(d->time, size), *values = times ? realloc(d->value, size) : NULL;
    if (times) d->time = times;
    if (values) d->value = values;
    if (!values) return tool_fail(t, "out of memory for %s", d->function);
    d->time[d->points] = time;
    d->value[d->points++] = value;
    return EXIT_FINE;
}

static int read_table(tool *t, drive *d)
{
    char *text = NULL;
    size_t size = 0;
    int rc = EXIT_FINE;
    errno = 0;
    FILE *f = fopen(d->function, "re");
    if (!f) return tool_fail(t, "cannot read %s: %s", d->function, strerror(errno));
    for (int64_t line = 1; !rc && getline(&text, &size, f) >= 0; line++) {
        const size_t blanks = strspn(text, " \t\r\n");
        if (text[blanks] && text[blanks] != '#') rc = add_point(t, d, text + blanks, line);
    }
    if (!rc && ferror(f)) rc = tool_fail(t, "cannot read %s", d->function);
    if (!rc && d->points < 2) rc = tool_fail(t, "%s: a table of at least two times is needed", d->function);
    free(text);
    fclose(f);
    return rc;
}

/* --smooth */
static int bend_table(tool *t, drive *d)
{
    const size_t n = (size_t)d->points;
    if (n < 4) return tool_fail(t, "%s: --smooth needs a table of at least four times", d->function);
    double *above = malloc(n * sizeof *above);
    d->second = malloc(n * sizeof *d->second);
    const bool room = above && d->second;
    const bool fits = room && spline_fit(d->points, d->time, d->value, d->second, above);
    free(above);
    if (!room) return tool_fail(t, "out of memory for %s", d->function);
    return fits ? EXIT_FINE : tool_fail(t, "%s: the values are too far apart for a smooth curve", d->function);
}

/* ---- all of them ------------------------------------------------------------------------------------- */

static int open_function(tool *t, drive *d, double from, double to)
{
    const double low = fmin(from, to), high = fmax(from, to);
    if (!is_table(d->function)) {
        double value;
        const char *wrong = expression_value(d->function, from, &value);
        if (!wrong) return EXIT_FINE;
        char names[128];
        expression_names(names, sizeof names);
        return tool_usage(t,
                          "--drive: %s can't be read %s%s; expected an expression such as 0.1*sin(2*t)*exp(-t^2), of "
                          "numbers, + - * / ^, brackets and %s, or a table (.txt, .dat, .csv)",
                          d->function, *wrong ? "at " : "to its end", wrong, names);
    }
    int rc = read_table(t, d);
    if (!rc && t->opt.smooth) rc = bend_table(t, d);
    if ((rc = tool_agree(t, rc))) return rc;
    if (d->time[0] <= low && d->time[d->points - 1] >= high) return EXIT_FINE;
    return tool_fail(t, "%s goes from time %g to %g; the evolution from %g to %g", d->function, d->time[0],
                     d->time[d->points - 1], low, high);
}

static int open_one(tool *t, drives *all, int i, int64_t rows, double from, double to)
{
    drive *d = all->one + i;
    const char *text = t->opt.drive_list[i], *colon = strrchr(text, ':');
    uint64_t hash = 0;
    if (!colon || colon == text || !colon[1])
        return tool_usage(t, "--drive %s: expected OPERATOR:EXPR, such as x.mtx:cos(t), or OPERATOR:TABLE", text);
    d->function = colon + 1;
    d->name = strndup(text, (size_t)(colon - text));
    if (!d->name) return tool_fail(t, "out of memory for --drive");
    int rc = open_function(t, d, from, to);
    if (rc) return rc;
    if (wisp_src_open(&d->src, t->ctx, d->name)) return tool_fail_ctx(t);
    if ((rc = source_fits(t, &d->src, "drive", d->name, rows))) return rc;
    if ((t->opt.checkpoint || t->opt.resume) && wisp_src_hash(t->ctx, &d->src, &hash)) return tool_fail_ctx(t);
    const size_t bytes = (size_t)d->points * sizeof *d->time;
    all->hash = all->hash * 31 + hash + XXH3_64bits(d->function, strlen(d->function));
    all->smooth |= d->second != NULL;
    if (d->second) all->hash++;
    if (d->points) all->hash = all->hash * 31 + XXH3_64bits(d->time, bytes) + 7 * XXH3_64bits(d->value, bytes);
    return EXIT_FINE;
}

static int collect_breaks(tool *t, drives *all)
{
    size_t n = 0;
    if (t->opt.smooth) return EXIT_FINE; /* a spline has no jumps, nor kinks */
    for (int i = 0; i < all->count; i++) n += (size_t)all->one[i].points;
    if (n == 0) return EXIT_FINE;
    if (wisp_alloc(t->ctx, &all->breaks, n, sizeof *all->breaks)) return tool_fail_ctx(t);
    for (int i = 0; i < all->count; i++)
        for (int64_t k = 0; k < all->one[i].points; k++) all->breaks[all->break_count++] = all->one[i].time[k];
    return EXIT_FINE;
}

int drives_open(tool *t, drives *d, int64_t rows, double from, double to)
{
    int rc = EXIT_FINE;
    const size_t n = (size_t)t->opt.drives;
    if (n == 0) return EXIT_FINE;
    if (wisp_alloc(t->ctx, &d->one, n, sizeof *d->one) || wisp_alloc(t->ctx, &d->mat, n, sizeof(wisp_mat *)))
        return tool_fail_ctx(t);
    d->count = t->opt.drives;
    for (int i = 0; i < d->count && !rc; i++) rc = open_one(t, d, i, rows, from, to);
    if (!rc && t->opt.smooth && !d->smooth)
        return tool_usage(t, "--smooth is for tables of --drive (.txt, .dat, .csv)");
    return rc ? rc : collect_breaks(t, d);
}

int drives_make(tool *t, drives *d, const wisp_mat *A, wisp_type type)
{
    for (int i = 0; i < d->count; i++) {
        const wisp_mat_opts mo = expectations_options(&d->one[i].src, type, wisp_mat_map(A));
        wisp_mat_props p;
        if (wisp_mat_create(d->mat + i, t->ctx, &d->one[i].src, &mo)) return tool_fail_ctx(t);
        wisp_src_close(&d->one[i].src);
        if (wisp_mat_get_props(d->mat[i], &p)) return tool_fail_ctx(t);
        if (!p.hermitian) return tool_fail(t, "--drive: %s is not Hermitian", d->one[i].name);
    }
    return EXIT_FINE;
}

static int drive_at(void *arg, double t, double *f)
{
    const drives *d = arg;
    for (int i = 0; i < d->count; i++)
        if (d->one[i].points)
            f[i] = at_in_table(d->one + i, t);
        else if (expression_value(d->one[i].function, t, f + i))
            return 1;
    return 0;
}

void drives_set(const tool *t, const drives *d, wisp_evolve_opts *opts)
{
    opts->longest_step = t->opt.longest_step;
    opts->drives = d->count;
    opts->drive = (const wisp_mat *const *)d->mat;
    opts->drive_at = drive_at;
    opts->drive_arg = (void *)(uintptr_t)d;
    opts->breaks = d->break_count;
    opts->break_at = d->breaks;
}

wisp_status drives_items(const tool *t, const drives *d, wisp_state *s)
{
    (void)t;
    return wisp_state_samef(s, "--drive", "%d, %016llx", d->count, (unsigned long long)d->hash);
}

int drives_bytes(tool *t, const drives *d, wisp_type type, bool most, int64_t *bytes, int64_t *making)
{
    int rc = EXIT_FINE;
    for (int i = 0; i < d->count && !rc; i++) rc = expectations_add_bytes(t, &d->one[i].src, type, most, bytes, making);
    return rc;
}

void drives_close(tool *t, drives *d)
{
    for (int i = 0; i < d->count; i++) {
        wisp_src_close(&d->one[i].src);
        wisp_mat_free(d->mat[i]);
        free(d->one[i].name), free(d->one[i].time), free(d->one[i].value), free(d->one[i].second);
    }
    wisp_free(t->ctx, d->breaks);
    wisp_free(t->ctx, d->mat);
    wisp_free(t->ctx, d->one);
}
