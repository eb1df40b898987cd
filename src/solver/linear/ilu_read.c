/* The order of rows for incomplete factors, by levels. One serves both factors: of two rows with an entry at their
   crossing, the one that comes first in A has the lower level. The pattern is read before the numbers are, and kept no
   longer. */
#include "ilu.h"

/* Of the rank's rows in their own order. */
typedef struct wisp__ilu_pattern {
    int64_t *begin;         /* [rows + 1]; there may be room for more than a row has */
    int32_t *count, *lower; /* [rows] entries of a row; those before its diagonal */
    int32_t *col;           /* from 0, rising in a row */
} pattern;

/* ---- read ---------------------------------------------------------------------------------------- */

/* How many entries rows have, in the columns of other ranks, too, and room for a diagonal. */
static void count_rows(wisp__ilu_run *r, wisp__ilu_part *p, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int n = r->src.row(r->src.arg, r->f->first + i, NULL, NULL);
        if (n < 0) wisp__ilu_refuse(p, i, WISP_ERR_CALLBACK, 0);
        r->pattern->begin[i + 1] = n + 1;
    }
}

static void read_rows(wisp__ilu_run *r, wisp__ilu_part *p, int64_t from, int64_t to)
{
    const pattern *own = r->pattern;
    for (int64_t i = from; i < to; i++) {
        const int64_t at = own->begin[i];
        const int n = wisp__read_own(&r->src, r->f->first, r->f->rows, i, p->col, p->val);
        int lower = 0;
        if (n < 0 || n > own->begin[i + 1] - at) {
            wisp__ilu_refuse(p, i, WISP_ERR_CALLBACK, 0);
            continue;
        }
        for (int k = 0; k < n; k++) own->col[at + k] = (int32_t)p->col[k], lower += p->col[k] < i;
        own->count[i] = n, own->lower[i] = lower;
    }
}

static wisp_status read_pattern(wisp__ilu_run *r, pattern *own)
{
    wisp_ctx *ctx = r->f->ctx;
    const size_t n = (size_t)r->f->rows + 1;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &own->begin, n, sizeof *own->begin));
    WISP_TRY(wisp_alloc(ctx, &own->count, n, sizeof *own->count));
    WISP_TRY(wisp_alloc(ctx, &own->lower, n, sizeof *own->lower));
    WISP_TRY(wisp__ilu_each_row(r, 0, r->f->rows, count_rows));
    if (wisp__ilu_refused(r)) WISP_TRY(wisp__ilu_refusal(r, wisp__ilu_refused(r), NULL));
    for (int64_t i = 0; i < r->f->rows; i++) own->begin[i + 1] += own->begin[i];
    WISP_TRY(wisp_alloc(ctx, &own->col, (size_t)own->begin[r->f->rows] + 1, sizeof *own->col));
    WISP_TRY(wisp__ilu_each_row(r, 0, r->f->rows, read_rows));
    if (wisp__ilu_refused(r)) WISP_TRY(wisp__ilu_refusal(r, wisp__ilu_refused(r), NULL));
out:
    return status;
}

static void free_pattern(wisp_ctx *ctx, pattern *own)
{
    wisp_free(ctx, own->begin);
    wisp_free(ctx, own->count);
    wisp_free(ctx, own->lower);
    wisp_free(ctx, own->col);
    *own = (pattern){0};
}

/* ---- levels -------------------------------------------------------------------------------------- */

/* A row's level is one more than the highest of those before it that it needs, or that need it for U. How many. */
static int64_t number_levels(const wisp__ilu_run *r, int32_t *level)
{
    const pattern *rows = r->pattern;
    int32_t most = -1;
    for (int64_t i = 0; i < r->f->rows; i++) {
        const int32_t *col = rows->col + rows->begin[i];
        int32_t own = level[i];
        for (int k = 0; k < rows->lower[i]; k++)
            if (level[col[k]] >= own) own = level[col[k]] + 1;
        level[i] = own;
        for (int k = rows->lower[i] + 1; k < rows->count[i]; k++)
            if (level[col[k]] <= own) level[col[k]] = own + 1;
        if (own > most) most = own;
    }
    return most + 1;
}

/* Rows of a level stay in their own order. */
static wisp_status find_order(wisp__ilu_run *r)
{
    wisp__ilu *f = r->f;
    int32_t *level = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(f->ctx, &level, (size_t)f->rows + 1, sizeof *level));
    f->where = level;
    WISP_TRY(wisp_alloc(f->ctx, &r->order, (size_t)f->rows + 1, sizeof *r->order));
    f->levels = number_levels(r, level);
    WISP_TRY(wisp_alloc(f->ctx, &f->begin, (size_t)f->levels + 2, sizeof *f->begin));
    for (int64_t i = 0; i < f->rows; i++) f->begin[level[i] + 2]++;
    for (int64_t k = 2; k < f->levels + 2; k++) f->begin[k] += f->begin[k - 1];
    for (int64_t i = 0; i < f->rows; i++) {
        const int64_t at = f->begin[level[i] + 1]++;
        r->order[at] = (int32_t)i;
        level[i] = (int32_t)at; /* which becomes `where` */
    }
out:
    return status;
}

static wisp_status begin_triangles(wisp__ilu_run *r)
{
    wisp__triangle *lower = &r->f->side[WISP__LOWER], *upper = &r->f->side[WISP__UPPER];
    const size_t n = (size_t)r->f->rows + 1;
    wisp_status status;
    WISP_TRY(wisp_alloc(r->f->ctx, &lower->begin, n, sizeof *lower->begin));
    WISP_TRY(wisp_alloc(r->f->ctx, &upper->begin, n, sizeof *upper->begin));
    for (int64_t k = 0; k < r->f->rows; k++) {
        const int32_t i = r->order[k], before = r->pattern->lower[i];
        lower->begin[k + 1] = lower->begin[k] + before;
        upper->begin[k + 1] = upper->begin[k] + r->pattern->count[i] - before - 1;
    }
out:
    return status;
}

static wisp_status make_room(wisp__ilu_run *r)
{
    wisp__ilu *f = r->f;
    const size_t n = (size_t)f->rows + 1, size = f->pairs ? sizeof(double complex) : sizeof(double);
    wisp_status status;
    WISP_TRY(wisp_alloc(f->ctx, &f->inverse, n, size));
    WISP_TRY(wisp_alloc(f->ctx, &r->size, n, sizeof *r->size));
    for (wisp__triangle *t = f->side; t < f->side + 2; t++) {
        WISP_TRY(wisp_alloc(f->ctx, &t->col, (size_t)t->begin[f->rows] + 1, sizeof *t->col));
        WISP_TRY(wisp_alloc(f->ctx, &t->val, (size_t)t->begin[f->rows] + 1, size));
    }
out:
    return status;
}

wisp_status wisp__ilu_levels(wisp__ilu_run *r)
{
    pattern own = {0};
    wisp_status status;
    r->pattern = &own;
    WISP_TRY(read_pattern(r, &own));
    WISP_TRY(find_order(r));
    WISP_TRY(begin_triangles(r));
    free_pattern(r->f->ctx, &own);
    status = make_room(r);
out:
    free_pattern(r->f->ctx, &own);
    r->pattern = NULL;
    return status;
}
