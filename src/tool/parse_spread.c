/* Reads values that are numbers from one to another, and vectors. */
#include "parse.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number i of n from a to b, at equal steps, or ratios: by logarithms, for b / a may be too large a number. */
static double between(double a, double b, int64_t i, int64_t n, bool ratios)
{
    const double x = n > 1 ? (double)i / (double)(n - 1) : 0;
    if (i == 0 || i == n - 1) return i ? b : a;
    return ratios ? exp(log(a) + (log(b) - log(a)) * x) : (1 - x) * a + x * b;
}

/* Numbers, and A:B:N, N of them from A to B: 0.25,0.5,1:100:5. With ratios they are above 0. */
static bool read_spread(option_value *v, bool ratios, const char *what, double **list, int64_t *count)
{
    const char *text = v->text;
    free(*list);
    *list = NULL, *count = 0;
    do {
        double a, b;
        int64_t n = 1;
        if (!read_number(&text, &a) || (ratios && a <= 0))
            return refuse(v, "expected %s, or A:B:N, N of them from A to B", what);
        b = a;
        if (*text == ':' &&
            (text++, !read_number(&text, &b) || b <= a || *text++ != ':' || !read_whole(&text, &n) || n < 2))
            return refuse(v, "expected %s, or A:B:N, N of them from A to B (at least 2, A below B)", what);
        if (*text && *text != ',') return refuse(v, "expected %s, or A:B:N, N of them from A to B", what);
        if (n > v->def->max - *count)
            return refuse(v, "at most %lld %.12s at a time", (long long)v->def->max,
                          ratios ? "temperatures" : "numbers");
        double *more = realloc(*list, (size_t)(*count + n) * sizeof *more);
        if (!more) return refuse(v, "out of memory");
        *list = more;
        for (int64_t i = 0; i < n; i++) more[(*count)++] = between(a, b, i, n, ratios);
    } while (*text++ == ',');
    return true;
}

bool parse_temperatures(option_value *v)
{
    return read_spread(v, true, "temperatures above 0 such as 0.25,0.5", &v->o->temperatures, &v->o->temperature_count);
}

bool parse_potentials(option_value *v)
{
    return read_spread(v, false, "chemical potentials such as -0.5,0", &v->o->mu, &v->o->mu_count);
}

bool parse_frequencies(option_value *v)
{
    static const char what[] = "frequencies above 0 such as 0.5,1";
    options *o = v->o;
    if (!read_spread(v, false, what, &o->optical, &o->optical_count)) return false;
    for (int64_t i = 0; i < o->optical_count; i++)
        if (!(o->optical[i] > 0)) return refuse(v, "expected %s, or A:B:N, N of them from A to B", what);
    return true;
}

/* Vectors of 1 to 3 numbers each; those that are not given are 0. */
bool parse_cell(option_value *v)
{
    options *o = v->o;
    const char *text = v->text;
    memset(o->cell, 0, sizeof o->cell);
    for (o->cell_vectors = 0; o->cell_vectors < 3;) {
        double *c = o->cell[o->cell_vectors++];
        for (int d = 0; d < 3; d++) {
            if (!read_number(&text, c + d))
                return refuse(v, "expected vectors such as 10,0:0,10 or 10,0,0:0,10,0:0,0,5");
            if (*text != ',' || d == 2) break;
            text++;
        }
        if (!*text) return true;
        if (*text++ != ':') return refuse(v, "expected vectors such as 10,0:0,10 or 10,0,0:0,10,0:0,0,5");
    }
    return refuse(v, "at most 3 vectors");
}

/* A number, or a number of pi, over a whole number: 0.5, pi, -2pi/3. */
static bool read_phase(const char **text, double *x)
{
    const char *at = *text;
    int64_t over = 1;
    if (!read_number(&at, x)) {
        *x = *at == '-' ? -1 : 1;
        at += *at == '-';
        if (strncmp(at, "pi", 2)) return false;
    }
    if (!strncmp(at, "pi", 2)) *x *= M_PI, at += 2;
    if (*at == '/' && (at++, !read_whole(&at, &over) || over < 1)) return false;
    *x /= (double)over;
    *text = at;
    return true;
}

/* A corner of 1 to 3 numbers; those that are not given are 0. */
static bool read_corner(const char **text, double *k)
{
    memset(k, 0, 3 * sizeof *k);
    for (int d = 0; d < 3; d++) {
        if (!read_phase(text, k + d)) return false;
        if (**text != ',' || d == 2) break;
        ++*text;
    }
    return !**text || **text == ':';
}

bool parse_path(option_value *v)
{
    static const char what[] = "expected corners such as 0,0:2pi/3,0:pi,pi";
    options *o = v->o;
    const char *text = v->text;
    o->corners = 0;
    do {
        double(*more)[3] = realloc(o->path, (size_t)(o->corners + 1) * sizeof *more);
        if (!more) return refuse(v, "out of memory");
        o->path = more;
        double *k = more[o->corners++];
        if (!read_corner(&text, k)) return refuse(v, what);
        if (o->corners > 1 && !memcmp(k, more[o->corners - 2], sizeof *more))
            return refuse(v, "two corners that follow each other are equal");
    } while (*text++ == ':');
    return true;
}

/* Whether three corners span a grid. */
static bool spans(const double (*corner)[3])
{
    double aa = 0, ab = 0, bb = 0;
    for (int d = 0; d < 3; d++) {
        const double a = corner[1][d] - corner[0][d], b = corner[2][d] - corner[0][d];
        aa += a * a, ab += a * b, bb += b * b;
    }
    return aa * bb - ab * ab > 1e-12 * aa * bb;
}

/* Points along both sides, and three corners. */
bool parse_grid(option_value *v)
{
    static const char what[] =
        "expected points along both sides, 2 or more, such as 41,41, or 41,41:-pi,-pi:pi,-pi:-pi,pi with corners";
    options *o = v->o;
    const char *text = v->text;
    o->grid_corners = 0;
    if (!read_whole(&text, o->grid) || *text++ != ',' || !read_whole(&text, o->grid + 1) || o->grid[0] < 2 ||
        o->grid[1] < 2)
        return refuse(v, what);
    if (o->grid[0] > v->def->max / o->grid[1]) return refuse(v, "at most %lld points", (long long)v->def->max);
    while (*text == ':' && o->grid_corners < 3)
        if (text++, !read_corner(&text, o->grid_corner[o->grid_corners++])) return refuse(v, what);
    if (*text || (o->grid_corners && o->grid_corners < 3)) return refuse(v, what);
    if (o->grid_corners && !spans((const double(*)[3])o->grid_corner))
        return refuse(v, "the corners lie on a line, and span no grid");
    return true;
}
