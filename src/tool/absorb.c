/* --absorb of wisp evolve: an absorbing potential W, from a file with one number for each row, or layers by the
   positions of rows. In a layer such as x>90:0.2 W grows like the square of how deep a row is, to 0.2 at the deepest
   one, so that little is reflected where it begins. */
#include "absorb.h"
#include "positions.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 16, MOST_ENTRIES = 16 }; /* MOST_ENTRIES: of a row of a file of one column, which count together */
typedef struct {
    int axis;                       /* 0 to 2 */
    bool less, closed;              /* closed: written with <= or >= */
    double from, strength, deepest; /* deepest: of all rows */
} layer;

typedef struct {
    wisp_src h, w; /* w: of a file, one column; without rows: layers */
    wisp_positions positions;
    layer layers[LAYERS];
    int count;
} absorber;

static bool begins_layer(const char *text)
{
    return *text >= 'x' && *text <= 'z' && (text[1] == '<' || text[1] == '>');
}

static bool take_number(const char **text, double *number)
{
    char *end;
    errno = 0;
    *number = strtod(*text, &end);
    if (end == *text || errno || !isfinite(*number) || isspace((unsigned char)**text)) return false;
    *text = end;
    return true;
}

/* How many there are, LAYERS + 1 if that is too many; 0: these are none. */
static int read_layers(const char *text, layer *all)
{
    for (int n = 0; begins_layer(text); text++) {
        if (n == LAYERS) return LAYERS + 1;
        layer *l = all + n++;
        *l = (layer){.axis = *text - 'x', .less = text[1] == '<', .closed = text[2] == '=', .deepest = -HUGE_VAL};
        text += l->closed ? 3 : 2;
        if (!take_number(&text, &l->from) || *text++ != ':' || !take_number(&text, &l->strength)) return 0;
        if (!*text) return n;
        if (*text != ',') return 0;
    }
    return 0;
}

static double depth_in(const layer *l, const double *xyz)
{
    return l->less ? l->from - xyz[l->axis] : xyz[l->axis] - l->from;
}

static int find_deepest(tool *t, absorber *a, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        double xyz[3] = {0};
        if (a->positions.at(a->positions.arg, row, xyz))
            return tool_fail(t, "the position of row %lld can't be had", (long long)row);
        for (int i = 0; i < a->count; i++)
            a->layers[i].deepest = fmax(a->layers[i].deepest, depth_in(a->layers + i, xyz));
    }
    for (int i = 0; i < a->count; i++) {
        const layer *l = a->layers + i;
        char name[48];
        snprintf(name, sizeof name, "layer %d, %c%c%s%g", i + 1, 'x' + l->axis, l->less ? '<' : '>',
                 l->closed ? "=" : "", l->from);
        if (l->deepest == 0)
            return tool_fail(t, "--absorb %s: rows of %s, are at its edge alone, where W is 0; begin it before them",
                             t->opt.absorb, name);
        if (!(l->deepest > 0)) return tool_fail(t, "--absorb %s: no row is in %s", t->opt.absorb, name);
    }
    return EXIT_FINE;
}

static int open_layers(tool *t, absorber *a)
{
    const int64_t rows = a->h.rows;
    a->count = read_layers(t->opt.absorb, a->layers);
    if (a->count > LAYERS)
        return tool_usage(t, "--absorb: there are at most %d layers; a file with W of each row takes any number",
                          LAYERS);
    if (!a->count)
        return tool_usage(t,
                          "--absorb %s: expected layers such as x<10:0.2,x>90:0.2, each with its strength, or a file",
                          t->opt.absorb);
    const int rc = tool_agree(t, positions_open(t, t->opt.arg[0], rows, &a->positions));
    return rc ? rc : tool_agree(t, find_deepest(t, a, rows));
}

static int open_file(tool *t, absorber *a)
{
    const int rc = start_open(t, &a->w, t->opt.absorb, "potential", a->h.rows);
    if (rc) return rc;
    if (a->w.cols != 1)
        return tool_fail(t, "--absorb %s has %lld columns; a potential is one column", t->opt.absorb,
                         (long long)a->w.cols);
    if (a->w.max_row > MOST_ENTRIES)
        return tool_fail(t, "--absorb %s has rows of %lld entries; W is one number a row", t->opt.absorb,
                         (long long)a->w.max_row);
    if (wisp_type_is_complex(a->w.type))
        return tool_fail(t, "--absorb %s has complex numbers; W of H - iW is real", t->opt.absorb);
    return EXIT_FINE;
}

/* W of a row; NaN, which is refused later: it can't be had. */
static double strength_at(const absorber *a, int64_t row)
{
    double w = 0, xyz[3] = {0};
    if (a->w.row) {
        int64_t col[MOST_ENTRIES];
        double val[MOST_ENTRIES];
        const int n = a->w.row(a->w.arg, row, col, val);
        for (int i = 0; i < n; i++) w += type_load(a->w.type, val, i).re;
        return n < 0 ? NAN : w;
    }
    if (a->positions.at(a->positions.arg, row, xyz)) return NAN;
    for (int i = 0; i < a->count; i++) {
        const double d = depth_in(a->layers + i, xyz) / a->layers[i].deepest;
        if (d > 0) w += a->layers[i].strength * d * d;
    }
    return w;
}

/* n real numbers become complex where they are. */
static void make_complex(wisp_type type, int n, void *val)
{
    float *s = val;
    double *d = val;
    for (int k = n - 1; k >= 0; k--)
        if (type == WISP_S) {
            const float v = s[k];
            s[2 * k] = v, s[2 * k + 1] = 0;
        } else if (type == WISP_D) {
            const double v = d[k];
            d[2 * k] = v, d[2 * k + 1] = 0;
        }
}

/* A row of H, and its entry of -iW, which is added to what is on the diagonal. */
static int row_of(void *arg, int64_t row, int64_t *col, void *val)
{
    const absorber *a = arg;
    const int n = a->h.row(a->h.arg, row, col, val);
    if (n < 0) return n;
    if (!col) return n + 1;
    make_complex(a->h.type, n, val);
    const double w = strength_at(a, row);
    col[n] = row;
    if (type_is_single(a->h.type)) {
        float *v = (float *)val + 2 * (ptrdiff_t)n;
        v[0] = 0, v[1] = (float)-w;
    } else {
        double *v = (double *)val + 2 * (ptrdiff_t)n;
        v[0] = 0, v[1] = -w;
    }
    return n + 1;
}

static void close_absorber(void *arg)
{
    absorber *a = arg;
    wisp_src_close(&a->h);
    wisp_src_close(&a->w);
    wisp_positions_close(&a->positions);
    free(a);
}

int absorb_source(tool *t, wisp_src *src)
{
    absorber *a = calloc(1, sizeof *a);
    if (!a) {
        wisp_src_close(src);
        return tool_fail(t, "out of memory for --absorb");
    }
    a->h = *src;
    *src = (wisp_src){.arg = a, .free_arg = close_absorber};
    int rc = source_square(t, &a->h, "an absorbing potential is for a square one");
    if (!rc) rc = begins_layer(t->opt.absorb) ? open_layers(t, a) : open_file(t, a);
    if (rc) {
        wisp_src_close(src);
        return rc;
    }
    *src = (wisp_src){.rows = a->h.rows,
                      .cols = a->h.cols,
                      .max_row = a->h.max_row + 1,
                      .type = type_in(a->h.type, WISP_Z),
                      .row = row_of,
                      .arg = a,
                      .free_arg = close_absorber,
                      .own_rows = a->h.own_rows || a->w.own_rows,
                      .weights = a->h.weights};
    return EXIT_FINE;
}
