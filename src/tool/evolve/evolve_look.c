/* What some rows tell of an evolution before the matrix is made: what rounding does at least, and about how far the
   spectrum reaches. */
#include "evolve.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS = 256 };

/* Of rows that were looked at: the largest norm of one, and the ends of their Gershgorin circles. */
typedef struct {
    double norm, low, high;
} seen;

/* Whether an entry comes in parts, which may cancel; of a long row that is not known. */
static bool in_parts(const int64_t *col, int n)
{
    enum { LONG = 512 };
    for (int i = 1; i < n && n <= LONG; i++)
        for (int k = 0; k < i; k++)
            if (col[i] == col[k]) return true;
    return n > LONG;
}

static bool look_at(const wisp_src *src, int64_t row, int64_t *col, void *val, seen *s)
{
    double norm = 0, around = 0, diagonal = 0;
    const int n = src->row(src->arg, row, col, val);
    for (int i = 0; i < n; i++) {
        const wisp_scalar a = type_load(src->type, val, i);
        const double size = hypot(a.re, a.im);
        norm = hypot(norm, size);
        if (col[i] == row)
            diagonal += a.re;
        else
            around += size;
    }
    if (!in_parts(col, n)) s->norm = fmax(s->norm, norm);
    s->low = fmin(s->low, diagonal - around), s->high = fmax(s->high, diagonal + around);
    return n >= 0;
}

static bool look(const wisp_src *src, seen *s, int64_t *rows)
{
    *rows = src->rows < ROWS ? src->rows : ROWS;
    *s = (seen){0, INFINITY, -INFINITY};
    int64_t *col = calloc((size_t)src->max_row + 1, sizeof *col);
    void *val = calloc((size_t)src->max_row + 1, sizeof(wisp_scalar));
    bool fine = col && val;
    for (int64_t i = 0; i < *rows && fine; i++)
        fine = look_at(src, *rows > 1 ? i * ((src->rows - 1) / (*rows - 1)) : 0, col, val, s);
    free(col), free(val);
    return fine && isfinite(s->norm) && isfinite(s->low) && isfinite(s->high);
}

/* |center| + halfwidth of the bounds is the norm of H at least, and that is no less than the norm of a row: what
   rounding does with such bounds it does with those that will be found. */
static wisp_status check_rounding(tool *t, const evolve_inputs *in, double norm)
{
    const evolve_results *r = in->r;
    const wisp_mat_info a = {.rows = in->src->rows, .cols = in->src->rows, .type = in->mo->type};
    wisp_evolve_opts o = r->opts;
    wisp_plan unused;
    o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.halfwidth = norm}};
    const wisp_status status = wisp_evolve_plan(&unused, t->ctx, &a, r->type, 1, r->times - 1, r->time + 1, &o, NULL);
    return status == WISP_ERR_ARG ? status : WISP_OK;
}

int evolve_look(tool *t, evolve_inputs *in)
{
    const evolve_results *r = in->r;
    seen s;
    in->looked = 0;
    /* A rank may not know the others' rows; H(t) and H - iW are others. */
    if (wisp_ctx_processes(t->ctx) > 1 || !in->src->row || in->src->rows < 1 || r->opts.drives || r->absorbs ||
        r->opts.bounds.method == WISP_BOUNDS_GIVEN || !look(in->src, &s, &in->looked) || !(s.norm > 0))
        return EXIT_FINE;
    in->reach = (wisp_bounds){.center = (s.low + s.high) / 2, .halfwidth = (s.high - s.low) / 2};
    return check_rounding(t, in, s.norm) ? tool_fail_ctx(t) : EXIT_FINE;
}
