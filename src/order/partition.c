/* A source dealt out anew, so that ranks need fewer rows of each other: its rows get new numbers, by parts of its
   graph, and go to the ranks that have these. */
#include "../comm/comm.h"
#include "order.h"
#include <string.h>

/* ---- new numbers ------------------------------------------------------------------------------ */

typedef struct {
    wisp_ctx *ctx;
    wisp__part part; /* of the source as it comes */
    int32_t *len;    /* [rows] */
    int32_t *level;  /* [rows] of the graph, or the part */
    int64_t levels;
    int64_t *place; /* [rows + halo rows] their new numbers */
} renumber;

/* Level by level, and in a level as they come. */
static wisp_status number_rows(renumber *r)
{
    wisp_ctx *ctx = r->ctx;
    const size_t levels = (size_t)r->levels, ranks = (size_t)ctx->ranks;
    int64_t *own = NULL, *all = NULL, before = 0;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &own, levels, sizeof *own));
    WISP_TRY(wisp_alloc(ctx, &all, levels * ranks, sizeof *all));
    for (int64_t i = 0; i < r->part.src.rows; i++) own[r->level[i]]++;
    WISP_TRY(ctx->comm->gather(ctx, own, levels * sizeof *own, all));
    for (size_t l = 0; l < levels; l++)
        for (size_t rank = 0; rank < ranks; rank++) {
            if ((int)rank == ctx->rank) own[l] = before;
            before += all[rank * levels + l];
        }
    for (int64_t i = 0; i < r->part.src.rows; i++) r->place[i] = own[r->level[i]]++;
out:
    wisp_free(ctx, own);
    wisp_free(ctx, all);
    return status;
}

/* The new numbers of the halo, from the ranks that have its rows. */
static wisp_status number_halo(renumber *r)
{
    wisp_ctx *ctx = r->ctx;
    const wisp__halo *h = r->part.halo;
    int64_t *send = NULL;
    wisp__message *list = NULL, *from;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &send, (size_t)h->sends, sizeof *send));
    WISP_TRY(wisp_alloc(ctx, &list, (size_t)(h->to_count + h->from_count), sizeof *list));
    from = list + h->to_count;
    for (int64_t i = 0; i < h->sends; i++) send[i] = r->place[h->send[i]];
    for (int i = 0; i < h->to_count; i++)
        list[i] = (wisp__message){h->to[i].rank, send + h->to[i].first, (size_t)h->to[i].count * sizeof *send};
    for (int i = 0; i < h->from_count; i++)
        from[i] = (wisp__message){h->from[i].rank, r->place + r->part.src.rows + h->from[i].first,
                                  (size_t)h->from[i].count * sizeof *send};
    WISP_TRY(ctx->comm->start(ctx, list, h->to_count, from, h->from_count));
    status = ctx->comm->wait(ctx);
out:
    wisp_free(ctx, send);
    wisp_free(ctx, list);
    return status;
}

static wisp_status renumber_rows(renumber *r, const wisp_src *src, wisp_partition how)
{
    wisp_ctx *ctx = r->ctx;
    wisp__graph graph = {0};
    wisp_status status;
    WISP_TRY(wisp__part_open(&r->part, ctx, src));
    const int64_t rows = r->part.src.rows;
    WISP_TRY(wisp__count_rows(ctx, &r->part.src, 0, rows, &r->len));
    WISP_TRY(wisp__graph_read(ctx, &r->part.src, r->len, true, &graph));
    WISP_TRY(wisp__alloc_raw(ctx, &r->level, (size_t)rows, sizeof *r->level));
    if (how == WISP_PARTITION_SCOTCH) {
        r->levels = ctx->ranks;
        WISP_TRY(wisp__parts_of_ranks(ctx, &graph, r->part.halo, src->rows, r->level));
    } else {
        WISP_TRY(wisp__levels_of_ranks(ctx, &graph, r->part.halo, r->part.first, r->level, &r->levels));
    }
    WISP_TRY(wisp_alloc(ctx, &r->place, (size_t)(rows + r->part.halo->rows), sizeof *r->place));
    WISP_TRY(number_rows(r));
    status = number_halo(r);
out:
    wisp__graph_free(ctx, &graph);
    return status;
}

static void renumber_close(renumber *r)
{
    wisp__part_close(&r->part);
    wisp_free(r->ctx, r->len);
    wisp_free(r->ctx, r->level);
    wisp_free(r->ctx, r->place);
}

/* ---- the rows, dealt out ---------------------------------------------------------------------- */

/* What a rank then has: rows from number `first` on. */
typedef struct {
    wisp_ctx *ctx;
    int64_t first, rows;
    size_t size;    /* of a value */
    int64_t *begin; /* [rows + 1] */
    int64_t *col;
    char *val;
    int64_t *number; /* [rows] as they were */
} dealt;

/* A row in a message, its columns and values behind it. */
typedef struct {
    int64_t row, number, count;
} head;

static size_t row_bytes(const dealt *d, int64_t count)
{
    const size_t bytes = sizeof(head) + (size_t)count * (sizeof(int64_t) + d->size);
    return (bytes + 7) / 8 * 8;
}

static int rank_of(const wisp_ctx *ctx, int64_t rows, int64_t row)
{
    int lo = 0, hi = ctx->ranks; /* the share of lo begins at or before the row, that of hi behind it */
    while (hi - lo > 1) {
        const int mid = lo + (hi - lo) / 2;
        if (wisp__share_begin(ctx, rows, mid) <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static wisp_status pack_row(const dealt *d, const renumber *r, wisp__row_reader *reader, int64_t row, char *at)
{
    int n;
    wisp_status status = wisp__read_columns(reader, d->ctx, row, &n);
    if (status != WISP_OK) return status;
    if ((status = wisp__same_count(d->ctx, reader->src, row, n, r->len[row])) != WISP_OK) return status;
    *(head *)(void *)at = (head){r->place[row], r->part.first + row, n};
    int64_t *col = (int64_t *)(void *)(at + sizeof(head));
    for (int k = 0; k < n; k++) col[k] = r->place[reader->col[k]];
    memcpy(col + n, reader->val, (size_t)n * d->size);
    return WISP_OK;
}

/* One message to each rank, in one array: to[0].data. */
static wisp_status pack(const dealt *d, const renumber *r, int64_t all_rows, wisp__message *to)
{
    wisp_ctx *ctx = d->ctx;
    const int64_t rows = r->part.src.rows;
    wisp__row_reader reader = {0};
    char *bytes = NULL, **at = NULL;
    size_t all = 0;
    wisp_status status;
    for (int k = 0; k < ctx->ranks; k++) to[k] = (wisp__message){.rank = k};
    for (int64_t i = 0; i < rows; i++) to[rank_of(ctx, all_rows, r->place[i])].bytes += row_bytes(d, r->len[i]);
    for (int k = 0; k < ctx->ranks; k++) all += to[k].bytes;
    WISP_TRY(wisp__alloc_raw(ctx, &bytes, all, 1));
    to[0].data = bytes;
    WISP_TRY(wisp_alloc(ctx, &at, (size_t)ctx->ranks, sizeof *at));
    for (int k = 1; k < ctx->ranks; k++) to[k].data = (char *)to[k - 1].data + to[k - 1].bytes;
    for (int k = 0; k < ctx->ranks; k++) at[k] = to[k].data;
    WISP_TRY(wisp__row_reader_open(&reader, ctx, &r->part.src, NULL));
    for (int64_t i = 0; i < rows; i++) {
        char **next = &at[rank_of(ctx, all_rows, r->place[i])];
        WISP_TRY(pack_row(d, r, &reader, i, *next));
        *next += row_bytes(d, r->len[i]);
    }
out:
    wisp__row_reader_close(&reader, ctx);
    wisp_free(ctx, at);
    return status;
}

/* Calls fn for each row of the messages. */
static void each_row(dealt *d, const wisp__message *from, void (*fn)(dealt *d, const head *h))
{
    for (int r = 0; r < d->ctx->ranks; r++)
        for (size_t at = 0; at < from[r].bytes;) {
            const head *h = (const head *)(const void *)((const char *)from[r].data + at);
            fn(d, h);
            at += row_bytes(d, h->count);
        }
}

static void count_row(dealt *d, const head *h) { d->begin[h->row - d->first + 1] = h->count; }

static void take_row(dealt *d, const head *h)
{
    const int64_t row = h->row - d->first, *col = (const int64_t *)(const void *)(h + 1);
    memcpy(d->col + d->begin[row], col, (size_t)h->count * sizeof *col);
    memcpy(d->val + (size_t)d->begin[row] * d->size, col + h->count, (size_t)h->count * d->size);
    d->number[row] = h->number;
}

static wisp_status unpack(dealt *d, const wisp__message *from)
{
    wisp_status status;
    WISP_TRY(wisp_alloc(d->ctx, &d->begin, (size_t)d->rows + 1, sizeof *d->begin));
    each_row(d, from, count_row);
    for (int64_t i = 0; i < d->rows; i++) d->begin[i + 1] += d->begin[i];
    WISP_TRY(wisp__alloc_raw(d->ctx, &d->col, (size_t)d->begin[d->rows], sizeof *d->col));
    WISP_TRY(wisp__alloc_raw(d->ctx, &d->val, (size_t)d->begin[d->rows], d->size));
    WISP_TRY(wisp__alloc_raw(d->ctx, &d->number, (size_t)d->rows, sizeof *d->number));
    each_row(d, from, take_row);
out:
    return status;
}

static wisp_status deal(dealt *d, renumber *r, int64_t all_rows)
{
    wisp_ctx *ctx = d->ctx;
    wisp__message *to = NULL, *from = NULL;
    wisp_status status;
    d->first = wisp__share_begin(ctx, all_rows, ctx->rank);
    d->rows = wisp__share_begin(ctx, all_rows, ctx->rank + 1) - d->first;
    WISP_TRY(wisp_alloc(ctx, &to, (size_t)ctx->ranks, sizeof *to));
    WISP_TRY(pack(d, r, all_rows, to));
    WISP_TRY(wisp__comm_exchange(ctx, to, &from));
    wisp_free(ctx, to[0].data);
    to[0].data = NULL;
    status = unpack(d, from);
out:
    if (to) wisp_free(ctx, to[0].data);
    wisp_free(ctx, to);
    wisp_free(ctx, from);
    return status;
}

/* ---- the source ------------------------------------------------------------------------------- */

static int dealt_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const dealt *d = arg;
    if (row < d->first || row >= d->first + d->rows) return -1;
    const int64_t begin = d->begin[row - d->first], n = d->begin[row - d->first + 1] - begin;
    if (col) {
        memcpy(col, d->col + begin, (size_t)n * sizeof *col);
        memcpy(val, d->val + (size_t)begin * d->size, (size_t)n * d->size);
    }
    return (int)n;
}

static void dealt_free(void *arg)
{
    dealt *d = arg;
    if (!d) return;
    void *own[] = {d->begin, d->col, d->val, d->number, d};
    wisp_ctx *ctx = d->ctx;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(ctx, own[i]);
}

const int64_t *wisp_src_numbers(const wisp_src *src)
{
    return src && src->row == dealt_row ? ((const dealt *)src->arg)->number : NULL;
}

wisp_status wisp_src_partition(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_partition how)
{
    renumber r = {.ctx = ctx};
    dealt *d = NULL;
    wisp_status status;
    WISP_NEED(ctx, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, other);
    if (how < WISP_PARTITION_ROWS || how > WISP_PARTITION_SCOTCH)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "unknown partition %d", (int)how);
    if (other->rows != other->cols)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "a partition of a matrix of %lld rows and %lld columns: only square "
                              "ones have one",
                              (long long)other->rows, (long long)other->cols);
    wisp_ctx_enter(ctx);
    if (ctx->ranks > 1 && how != WISP_PARTITION_ROWS) {
        WISP_TRY(wisp_alloc(ctx, &d, 1, sizeof *d));
        *d = (dealt){.ctx = ctx, .size = wisp_type_size(other->type)};
        WISP_TRY(renumber_rows(&r, other, how));
        status = deal(d, &r, other->rows);
    } else {
        status = wisp__src_check(ctx, other);
    }
out:
    renumber_close(&r);
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        dealt_free(d);
        return status;
    }
    *src = *other;
    src->free_arg = NULL;
    if (!d) return WISP_OK;
    src->row = dealt_row;
    src->many = NULL;
    src->arg = d;
    src->free_arg = dealt_free;
    src->own_rows = 1;
    return WISP_OK;
}
