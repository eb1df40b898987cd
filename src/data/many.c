/* One row of a source that gives many at once (rows.h): a reader keeps the rows that it was given last. */
#include "halo.h"

/* Rows are asked for in ranges that begin at a multiple of their length, so that those that are read in an order of
   windows (sorted by length, say) are there as well. A call costs as much as many rows do: a range pays where one of
   FEW rows is read. */
enum { ENTRIES = 1 << 14, FIRST = 64, FACTOR = 4, FEW = 8 }; /* room; length at first, and how it grows and shrinks */

static int64_t room_for(const wisp_src *src)
{
    return WISP__MAX(src->max_row, WISP__MIN(src->max_row * WISP__PIECE, ENTRIES));
}

int64_t wisp__many_bytes(const wisp_src *src)
{
    return 8 * (WISP__PIECE + 1) + room_for(src) * (int64_t)(sizeof(int64_t) + wisp_type_size(src->type));
}

wisp_status wisp__many_open(wisp__row_reader *r, wisp_ctx *ctx)
{
    wisp__many *m = &r->many;
    wisp_status status;
    *m = (wisp__many){.ask = FIRST, .room = room_for(r->src)};
    WISP_TRY(wisp__alloc_raw(ctx, &m->rowptr, WISP__PIECE + 1, sizeof *m->rowptr));
    WISP_TRY(wisp__alloc_raw(ctx, &m->col, (size_t)m->room, sizeof *m->col));
    WISP_TRY(wisp__alloc_raw(ctx, &m->val, (size_t)m->room, wisp_type_size(r->src->type)));
out:
    return status;
}

/* Asks for m->rows rows from m->first on; *n: the entries that they have. */
static wisp_status call(wisp__row_reader *r, wisp_ctx *ctx, int64_t room, int64_t *n)
{
    wisp__many *m = &r->many;
    const wisp_src *src = r->src;
    const long long first = wisp__row_number(src, m->first), last = first + m->rows - 1;
    if (!src->many_at_once) pthread_mutex_lock(&ctx->source_lock);
    *n = src->many(src->arg, m->first, m->rows, room, m->rowptr, room ? m->col : NULL, room ? m->val : NULL);
    if (!src->many_at_once) pthread_mutex_unlock(&ctx->source_lock);
    if (*n < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_CALLBACK, "the callback for many rows failed at rows %lld to %lld", first,
                              last);
    bool rises = m->rowptr[0] == 0 && m->rowptr[m->rows] == *n;
    for (int64_t i = 0; i < m->rows; i++) rises = rises && m->rowptr[i + 1] >= m->rowptr[i];
    if (rises) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_CALLBACK,
                          "the callback for many rows gave rows %lld to %lld row pointers that do not rise from 0 to "
                          "the number of entries that it returned (%lld)",
                          first, last, (long long)*n);
}

/* Few rows of the last ones were read, or a wider range would have had this one, too. */
static void learn(wisp__many *m, int64_t row)
{
    const int64_t wider = m->ask * FACTOR;
    if (m->rows == 0) return;
    if (m->read * FEW < m->rows || (m->rows > 1 && m->read == 1))
        m->ask = WISP__MAX(m->ask / FACTOR, 1);
    else if (row / wider == m->first / wider)
        m->ask = WISP__MIN(wider, WISP__PIECE);
}

/* As many as fit the room, if they have as many entries each as the last ones. */
static int64_t rows_that_fit(const wisp__many *m)
{
    const double entries = m->rows ? (double)m->rowptr[m->rows] / (double)m->rows : 0;
    int64_t rows = m->ask;
    while (rows > 1 && entries * (double)rows > 0.9 * (double)m->room) rows /= 2;
    return rows;
}

/* Fills the range from m->first on; where not all fit, as many as do, perhaps none. */
static wisp_status fill(wisp__row_reader *r, wisp_ctx *ctx)
{
    wisp__many *m = &r->many;
    int64_t n, again;
    wisp_status status = call(r, ctx, m->room, &n);
    m->counted = false;
    if (status != WISP_OK || n <= m->room) return status;
    while (m->rowptr[m->rows] > m->room) m->rows--;
    if (m->rows == 0) return WISP_OK;
    n = m->rowptr[m->rows];
    status = call(r, ctx, m->room, &again);
    if (status != WISP_OK || n == again) return status;
    return wisp_ctx_failf(ctx, WISP_ERR_CALLBACK,
                          "the callback for many rows gave %lld entries from row %lld on, and %lld before, when there "
                          "was no room for more; each call must give the same rows",
                          (long long)again, (long long)wisp__row_number(r->src, m->first), (long long)n);
}

/* A range with `row` in it. */
static wisp_status fetch(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, bool fills)
{
    wisp__many *m = &r->many;
    const bool own = r->src->own_rows && ctx->ranks > 1;
    const int64_t rows = r->src->rows, *w = r->src->weights;
    const int64_t low = own ? wisp__share_begin(ctx, w, rows, ctx->rank) : 0; /* it answers for these alone */
    const int64_t end = own ? wisp__share_begin(ctx, w, rows, ctx->rank + 1) : rows;
    const int64_t ask = row < low || row >= end ? 1 : fills ? rows_that_fit(m) : m->ask;
    const int64_t first = ask == 1 ? row : WISP__MAX(row / ask * ask, low);
    wisp_status status = WISP_OK;
    m->read = 0;
    m->first = first;
    m->rows = ask == 1 ? 1 : WISP__MIN(row / ask * ask + ask, end) - first;
    if (fills) status = fill(r, ctx);
    if (fills && status == WISP_OK && row >= m->first + m->rows && row > first) { /* it did not fit behind the others */
        m->first = row;
        m->rows = WISP__MIN(ask, end - row);
        status = fill(r, ctx);
    }
    if (status == WISP_OK && (!fills || m->rows == 0)) {
        int64_t n;
        m->counted = true;
        if (m->rows == 0) m->rows = 1; /* it is longer than max_row */
        status = call(r, ctx, 0, &n);
    }
    if (status != WISP_OK) m->rows = 0;
    return status;
}

wisp_status wisp__many_row(wisp__row_reader *r, wisp_ctx *ctx, int64_t row, bool fills, int64_t *n)
{
    wisp__many *m = &r->many;
    const bool is_there = row >= m->first && row < m->first + m->rows;
    if (!is_there) learn(m, row);
    if (!is_there || (fills && m->counted)) {
        const wisp_status status = fetch(r, ctx, row, fills);
        if (status != WISP_OK) return status;
    }
    const int64_t begin = m->rowptr[row - m->first];
    m->read++;
    *n = m->rowptr[row - m->first + 1] - begin;
    if (m->counted && fills && *n <= r->src->max_row)
        return wisp_ctx_failf(
            ctx, WISP_ERR_CALLBACK,
            "the callback for many rows gave %lld entries of row %lld, and more before, when there was "
            "no room for them; each call must give the same rows",
            (long long)*n, (long long)wisp__row_number(r->src, row));
    if (m->counted) return WISP_OK;
    r->col = m->col + begin;
    r->val = (const char *)m->val + (size_t)begin * wisp_type_size(r->src->type);
    return WISP_OK;
}
