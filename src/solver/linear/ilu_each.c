/* Runs over the rows of incomplete factors by threads, and rows that are refused there. */
#include "ilu.h"

static void some_rows(void *arg, int64_t i, int number_of_part)
{
    wisp__ilu_run *r = arg;
    const int64_t begin = r->from + i * r->at_a_time, end = begin + r->at_a_time;
    r->some(r, r->parts ? r->parts + number_of_part : NULL, begin, end < r->to ? end : r->to);
}

/* Asks whether the user wants to stop, from time to time. */
static wisp_status ask(wisp__ilu_run *r, int64_t rows)
{
    r->since += rows;
    if (r->at_once == 0 || r->since < r->at_once) return WISP_OK;
    r->since = 0;
    return wisp_ctx_step(r->f->ctx, "factoring", 0, 0);
}

wisp_status wisp__ilu_each_row(wisp__ilu_run *r, int64_t from, int64_t to, wisp__ilu_fn some)
{
    wisp_status status = WISP_OK;
    r->some = some;
    for (int64_t next; from < to; from = next) {
        next = r->at_once > 0 && to - from > r->at_once ? from + r->at_once : to;
        r->from = from, r->to = next;
        WISP_TRY(wisp_ctx_each(r->f->ctx, (next - from + r->at_a_time - 1) / r->at_a_time, some_rows, r));
        WISP_TRY(ask(r, next - from));
    }
out:
    return status;
}

const wisp__ilu_part *wisp__ilu_refused(const wisp__ilu_run *r)
{
    const wisp__ilu_part *first = NULL;
    for (int t = 0; t < wisp_ctx_threads(r->f->ctx); t++)
        if (r->parts[t].row >= 0 && (!first || r->parts[t].row < first->row)) first = &r->parts[t];
    return first;
}

/* Rows of one level, or of small ones that follow each other, by one thread. */
static wisp_status alone(wisp__ilu_run *r, int64_t from, int64_t to, wisp__ilu_fn some)
{
    r->alone = true;
    some(r, r->parts, from, to);
    r->alone = false;
    return ask(r, to - from);
}

/* Levels that are too small to be shared are done in one go: no thread is waited for between them. */
wisp_status wisp__ilu_each_level(wisp__ilu_run *r, int side, wisp__ilu_fn some)
{
    const int64_t *begin = r->f->begin, count = r->f->levels;
    const int64_t least = wisp_ctx_threads(r->f->ctx) > 1 ? 2 * r->at_a_time : INT64_MAX;
    const int64_t most = r->at_once > 0 ? r->at_once : INT64_MAX;
    wisp_status status = WISP_OK;
    for (int64_t k = 0, next; k < count && !(r->parts && wisp__ilu_refused(r)); k = next) {
        const bool up = side == WISP__LOWER;
        int64_t from = begin[up ? k : count - 1 - k], to = begin[up ? k + 1 : count - k];
        next = k + 1;
        if (to - from >= least) {
            WISP_TRY(wisp__ilu_each_row(r, from, to, some));
            continue;
        }
        for (; next < count && to - from < most; next++) {
            const int64_t a = begin[up ? next : count - 1 - next], b = begin[up ? next + 1 : count - next];
            if (b - a >= least) break;
            if (up)
                to = b;
            else
                from = a;
        }
        WISP_TRY(alone(r, from, to, some));
    }
out:
    return status;
}

void wisp__ilu_refuse(wisp__ilu_part *p, int64_t row, wisp_status why, double pivot)
{
    if (p->row >= 0 && p->row < row) return;
    p->row = row, p->why = why, p->pivot = pivot;
}

wisp_status wisp__ilu_refusal(const wisp__ilu_run *r, const wisp__ilu_part *p, const char *definite)
{
    wisp_ctx *ctx = r->f->ctx;
    const long long row = r->f->first + p->row;
    if (p->why == WISP_ERR_INDEFINITE)
        return wisp_ctx_failf(ctx, p->why,
                              "the diagonal of row %lld is %g, so that the matrix is not positive definite: take %s",
                              row, p->pivot, definite ? definite : "another opts.precond");
    if (p->why == WISP_ERR_NUMERIC)
        return wisp_ctx_failf(ctx, p->why,
                              "the entries of row %lld, at most %g, are too small for factors in double arithmetic: "
                              "scale rows and columns to one size, or take another opts.precond",
                              row, p->pivot);
    return wisp_ctx_failf(ctx, p->why, "preconditioner: row %lld of the matrix can't be read", row);
}
