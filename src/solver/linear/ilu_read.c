/* Rows of a matrix for incomplete factors: read once, and put into an order of levels. One order serves both factors:
   of two rows, one of which needs the other in L or in U, the former has the lower level. */
#include "ilu.h"
#include <math.h>

/* ---- read ---------------------------------------------------------------------------------------- */

/* How many entries rows have, in the columns of other ranks, too, and room for a diagonal. */
static void count_rows(wisp__ilu_run *r, wisp__ilu_part *p, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const int n = r->src.row(r->src.arg, r->f->first + i, NULL, NULL);
        if (n < 0) wisp__ilu_refuse(p, i, WISP_ERR_CALLBACK, 0);
        r->rows.begin[i + 1] = n + 1;
    }
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Numbers of a row, times the factor; the largest part of one without it. */
static double put_numbers(wisp__ilu_run *r, const char *from, int64_t at, int n)
{
    double largest = 0;
    if (r->src.type == WISP_D) {
        double *to = (double *)r->rows.val + at;
        for (int k = 0; k < n; k++) {
            const double v = ((const double *)(const void *)from)[k];
            to[k] = r->factor * v, largest = larger(fabs(v), largest);
        }
        return largest;
    }
    for (int k = 0; k < n; k++) {
        const double complex v = wisp__number_at(r->src.type, from, k);
        largest = larger(larger(fabs(creal(v)), fabs(cimag(v))), largest);
        wisp__number_put(r->f->pairs ? WISP_Z : WISP_D, r->rows.val, at + k, r->factor * v);
    }
    return largest;
}

/* The least size that a pivot may have is a small part of this. */
static double size_of(const wisp__ilu_run *r, int64_t at, int n, int lower)
{
    const int reals = r->f->pairs ? 2 : 1;
    const double *val = (const double *)r->rows.val + at * reals;
    double most = 0;
    if (r->f->hermitian) return val[lower * reals];
    for (int k = 0; k < n * reals; k++) most = larger(fabs(val[k]), most);
    return most > 0 ? most : 1;
}

static void read_row(wisp__ilu_run *r, wisp__ilu_part *p, int64_t i)
{
    const wisp__ilu *f = r->f;
    const wisp__ilu_rows *rows = &r->rows;
    const int64_t at = rows->begin[i];
    const int n = wisp__read_own(&r->src, f->first, f->rows, i, p->col, p->val);
    if (n < 0 || n > rows->begin[i + 1] - at) {
        wisp__ilu_refuse(p, i, WISP_ERR_CALLBACK, 0);
        return;
    }
    int lower = 0;
    for (int k = 0; k < n; k++) rows->col[at + k] = (int32_t)p->col[k], lower += p->col[k] < i;
    const double largest = put_numbers(r, p->val, at, n);
    rows->count[i] = n, rows->lower[i] = lower;
    const double size = rows->size[i] = size_of(r, at, n, lower);
    const double diagonal = creal(wisp__number_at(r->src.type, p->val, lower));
    if (f->hermitian && !(diagonal > 0))
        wisp__ilu_refuse(p, i, WISP_ERR_INDEFINITE, diagonal);
    else if (f->hermitian ? !(size > 0) : largest > 0 && r->factor * largest == 0)
        wisp__ilu_refuse(p, i, WISP_ERR_NUMERIC, largest);
}

static void read_rows(wisp__ilu_run *r, wisp__ilu_part *p, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) read_row(r, p, i);
}

static wisp_status read_all(wisp__ilu_run *r, const char *definite)
{
    wisp_ctx *ctx = r->f->ctx;
    wisp__ilu_rows *rows = &r->rows;
    const size_t n = (size_t)r->f->rows + 1, size = r->f->pairs ? sizeof(double complex) : sizeof(double);
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &rows->begin, n, sizeof *rows->begin));
    WISP_TRY(wisp_alloc(ctx, &rows->count, n, sizeof *rows->count));
    WISP_TRY(wisp_alloc(ctx, &rows->lower, n, sizeof *rows->lower));
    WISP_TRY(wisp_alloc(ctx, &rows->size, n, sizeof *rows->size));
    WISP_TRY(wisp__ilu_each_row(r, 0, r->f->rows, count_rows));
    if (wisp__ilu_refused(r)) WISP_TRY(wisp__ilu_refusal(r, wisp__ilu_refused(r), NULL));
    for (int64_t i = 0; i < r->f->rows; i++) rows->begin[i + 1] += rows->begin[i];
    const size_t entries = (size_t)rows->begin[r->f->rows] + 1;
    WISP_TRY(wisp_alloc(ctx, &rows->col, entries, sizeof *rows->col));
    WISP_TRY(wisp_alloc(ctx, &rows->val, entries, size));
    WISP_TRY(wisp__ilu_each_row(r, 0, r->f->rows, read_rows));
    if (wisp__ilu_refused(r)) WISP_TRY(wisp__ilu_refusal(r, wisp__ilu_refused(r), definite));
out:
    return status;
}

/* ---- levels -------------------------------------------------------------------------------------- */

/* A row's level is one more than the highest of those before it that it needs, or that need it for U. How many. */
static int64_t number_levels(const wisp__ilu_run *r, int32_t *level)
{
    const wisp__ilu_rows *rows = &r->rows;
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
    WISP_TRY(wisp_alloc(f->ctx, &r->rows.order, (size_t)f->rows + 1, sizeof *r->rows.order));
    f->levels = number_levels(r, level);
    WISP_TRY(wisp_alloc(f->ctx, &f->begin, (size_t)f->levels + 2, sizeof *f->begin));
    for (int64_t i = 0; i < f->rows; i++) f->begin[level[i] + 2]++;
    for (int64_t k = 2; k < f->levels + 2; k++) f->begin[k] += f->begin[k - 1];
    for (int64_t i = 0; i < f->rows; i++) {
        const int64_t at = f->begin[level[i] + 1]++;
        r->rows.order[at] = (int32_t)i;
        level[i] = (int32_t)at; /* which becomes `where` */
    }
out:
    return status;
}

static wisp_status make_room(wisp__ilu_run *r)
{
    wisp__ilu *f = r->f;
    const size_t n = (size_t)f->rows + 1, size = f->pairs ? sizeof(double complex) : sizeof(double);
    wisp__triangle *lower = &f->side[WISP__LOWER], *upper = &f->side[WISP__UPPER];
    wisp_status status;
    WISP_TRY(wisp_alloc(f->ctx, &f->inverse, n, size));
    WISP_TRY(wisp_alloc(f->ctx, &lower->begin, n, sizeof *lower->begin));
    WISP_TRY(wisp_alloc(f->ctx, &upper->begin, n, sizeof *upper->begin));
    for (int64_t k = 0; k < f->rows; k++) {
        const int before = r->rows.lower[r->rows.order[k]];
        lower->begin[k + 1] = lower->begin[k] + before;
        upper->begin[k + 1] = upper->begin[k] + r->rows.count[r->rows.order[k]] - before - 1;
    }
    for (wisp__triangle *t = lower; t <= upper; t++) {
        WISP_TRY(wisp_alloc(f->ctx, &t->col, (size_t)t->begin[f->rows] + 1, sizeof *t->col));
        WISP_TRY(wisp_alloc(f->ctx, &t->val, (size_t)t->begin[f->rows] + 1, size));
    }
out:
    return status;
}

wisp_status wisp__ilu_read(wisp__ilu_run *r, const char *definite)
{
    wisp_status status;
    WISP_TRY(read_all(r, definite));
    WISP_TRY(find_order(r));
    status = make_room(r);
out:
    return status;
}

void wisp__ilu_rows_free(wisp_ctx *ctx, wisp__ilu_rows *rows)
{
    wisp_free(ctx, rows->begin);
    wisp_free(ctx, rows->count);
    wisp_free(ctx, rows->lower);
    wisp_free(ctx, rows->col);
    wisp_free(ctx, rows->val);
    wisp_free(ctx, rows->size);
    wisp_free(ctx, rows->order);
}
