/* A source partitioned anew, so that ranks need fewer rows of each other: its rows get new numbers, by parts of its
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
    WISP_TRY(wisp__part_open(&r->part, ctx, src, NULL));
    const int64_t rows = r->part.src.rows;
    WISP_TRY(wisp__count_rows(ctx, &r->part.src, 0, rows, &r->len));
    WISP_TRY(wisp__graph_read(ctx, &r->part.src, r->len, true, &graph));
    WISP_TRY(wisp__alloc_raw(ctx, &r->level, (size_t)rows, sizeof *r->level));
    if (how == WISP_PARTITION_SCOTCH) {
        r->levels = ctx->ranks;
        WISP_TRY(wisp__parts_of_ranks(ctx, &graph, &r->part, r->level));
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

/* ---- the rows, at their ranks ---------------------------------------------------------------------- */

/* What a rank then has: rows from number `first` on. */
typedef struct {
    wisp_ctx *ctx;
    int64_t first, rows;
    size_t size;    /* of a value */
    int64_t *begin; /* [rows + 1] */
    int64_t *col;
    char *val;
    int64_t *number;  /* [rows] as they were */
    bool numbered;    /* they were others */
    int64_t longest;  /* the most entries of a row, of all ranks */
    int64_t *weights; /* [ranks] by which the ranks have their rows; NULL: the context's */
} moved;

/* What a rank has before, and gives away. */
typedef struct {
    const wisp_src *src;
    int64_t from, rows; /* the first of them in the source, how many */
    int64_t first;      /* the number of that row */
    const int32_t *len;
    const int64_t *place;  /* [rows + halo rows] the new numbers of rows and columns; NULL: they keep theirs */
    const int64_t *number; /* [rows] that they had in a source before this one; NULL: from `first` on */
} given;

/* A row in a message, its columns and values behind it. */
typedef struct {
    int64_t row, number, count;
} head;

static size_t row_bytes(const moved *d, int64_t count)
{
    const size_t bytes = sizeof(head) + (size_t)count * (sizeof(int64_t) + d->size);
    return (bytes + 7) / 8 * 8;
}

static int rank_of(const wisp_ctx *ctx, const int64_t *begin, int64_t row)
{
    int lo = 0, hi = ctx->ranks; /* the share of lo begins at or before the row, that of hi behind it */
    while (hi - lo > 1) {
        const int mid = lo + (hi - lo) / 2;
        if (begin[mid] <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static int64_t place_of(const given *g, int64_t i) { return g->place ? g->place[i] : g->first + i; }

static wisp_status pack_row(const moved *d, const given *g, wisp__row_reader *reader, int64_t i, char *at)
{
    int n;
    wisp_status status = wisp__read_columns(reader, d->ctx, g->from + i, &n);
    if (status != WISP_OK) return status;
    if ((status = wisp__same_count(d->ctx, reader->src, g->from + i, n, g->len[i])) != WISP_OK) return status;
    *(head *)(void *)at = (head){place_of(g, i), g->number ? g->number[i] : g->first + i, n};
    int64_t *col = (int64_t *)(void *)(at + sizeof(head));
    for (int k = 0; k < n; k++) col[k] = g->place ? g->place[reader->col[k]] : reader->col[k];
    memcpy(col + n, reader->val, (size_t)n * d->size);
    return WISP_OK;
}

/* One message to each rank, in one array: to[0].data. begin[ranks + 1] is where their shares begin. */
static wisp_status pack(const moved *d, const given *g, const int64_t *begin, wisp__message *to)
{
    wisp_ctx *ctx = d->ctx;
    wisp__row_reader reader = {0};
    char *bytes = NULL, **at = NULL;
    size_t all = 0;
    wisp_status status;
    for (int k = 0; k < ctx->ranks; k++) to[k] = (wisp__message){.rank = k};
    for (int64_t i = 0; i < g->rows; i++) to[rank_of(ctx, begin, place_of(g, i))].bytes += row_bytes(d, g->len[i]);
    for (int k = 0; k < ctx->ranks; k++) all += to[k].bytes;
    WISP_TRY(wisp__alloc_raw(ctx, &bytes, all, 1));
    to[0].data = bytes;
    WISP_TRY(wisp_alloc(ctx, &at, (size_t)ctx->ranks, sizeof *at));
    for (int k = 1; k < ctx->ranks; k++) to[k].data = (char *)to[k - 1].data + to[k - 1].bytes;
    for (int k = 0; k < ctx->ranks; k++) at[k] = to[k].data;
    WISP_TRY(wisp__row_reader_open(&reader, ctx, g->src, NULL));
    for (int64_t i = 0; i < g->rows; i++) {
        char **next = &at[rank_of(ctx, begin, place_of(g, i))];
        WISP_TRY(pack_row(d, g, &reader, i, *next));
        *next += row_bytes(d, g->len[i]);
    }
out:
    wisp__row_reader_close(&reader, ctx);
    wisp_free(ctx, at);
    return status;
}

/* Calls fn for each row of the messages. */
static void each_row(moved *d, const wisp__message *from, void (*fn)(moved *d, const head *h))
{
    for (int r = 0; r < d->ctx->ranks; r++)
        for (size_t at = 0; at < from[r].bytes;) {
            const head *h = (const head *)(const void *)((const char *)from[r].data + at);
            fn(d, h);
            at += row_bytes(d, h->count);
        }
}

static void count_row(moved *d, const head *h) { d->begin[h->row - d->first + 1] = h->count; }

static void take_row(moved *d, const head *h)
{
    const int64_t row = h->row - d->first, *col = (const int64_t *)(const void *)(h + 1);
    memcpy(d->col + d->begin[row], col, (size_t)h->count * sizeof *col);
    memcpy(d->val + (size_t)d->begin[row] * d->size, col + h->count, (size_t)h->count * d->size);
    d->number[row] = h->number;
}

static wisp_status unpack(moved *d, const wisp__message *from)
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

/* A matrix as a source knows of the rank's own rows alone. */
static wisp_status find_longest(moved *d, const wisp_src *src)
{
    wisp_ctx *ctx = d->ctx;
    int64_t *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &src->max_row, sizeof *all, all));
    for (int r = 0; r < ctx->ranks; r++) d->longest = WISP__MAX(d->longest, all[r]);
out:
    wisp_free(ctx, all);
    return status;
}

/* Rows of all ranks, all_rows of them, go to those that have them by the weights. */
static wisp_status send_rows(moved *d, const given *g, const int64_t *weights, int64_t all_rows)
{
    wisp_ctx *ctx = d->ctx;
    wisp__message *to = NULL, *from = NULL;
    int64_t *begin = NULL;
    wisp_status status;
    WISP_TRY(find_longest(d, g->src));
    WISP_TRY(wisp__weights_copy(ctx, &d->weights, weights));
    WISP_TRY(wisp_alloc(ctx, &begin, (size_t)ctx->ranks + 1, sizeof *begin));
    for (int r = 0; r <= ctx->ranks; r++) begin[r] = wisp__share_begin(ctx, weights, all_rows, r);
    d->first = begin[ctx->rank];
    d->rows = begin[ctx->rank + 1] - d->first;
    WISP_TRY(wisp_alloc(ctx, &to, (size_t)ctx->ranks, sizeof *to));
    WISP_TRY(pack(d, g, begin, to));
    WISP_TRY(wisp__comm_exchange(ctx, to, &from));
    wisp_free(ctx, to[0].data);
    to[0].data = NULL;
    status = unpack(d, from);
out:
    if (to) wisp_free(ctx, to[0].data);
    wisp_free(ctx, to);
    wisp_free(ctx, from);
    wisp_free(ctx, begin);
    return status;
}

/* ---- the source ------------------------------------------------------------------------------- */

static int moved_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const moved *d = arg;
    if (row < d->first || row >= d->first + d->rows) return -1;
    const int64_t begin = d->begin[row - d->first], n = d->begin[row - d->first + 1] - begin;
    if (col) {
        memcpy(col, d->col + begin, (size_t)n * sizeof *col);
        memcpy(val, d->val + (size_t)begin * d->size, (size_t)n * d->size);
    }
    return (int)n;
}

static void moved_free(void *arg)
{
    moved *d = arg;
    if (!d) return;
    void *own[] = {d->begin, d->col, d->val, d->number, d->weights, d};
    wisp_ctx *ctx = d->ctx;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(ctx, own[i]);
}

const int64_t *wisp_src_numbers(const wisp_src *src)
{
    if (!src || src->row != moved_row) return wisp__reopened_numbers(src);
    const moved *d = src->arg;
    return d->numbered ? d->number : NULL;
}

static void set_source(wisp_src *src, moved *d)
{
    src->row = moved_row;
    src->many = NULL;
    src->arg = d;
    src->free_arg = moved_free;
    src->max_row = d->longest;
    src->own_rows = 1;
    src->weights = d->weights;
}

wisp_status wisp_src_partition(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_partition how)
{
    renumber r = {.ctx = ctx};
    moved *d = NULL;
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
        *d = (moved){.ctx = ctx, .size = wisp_type_size(other->type), .numbered = true};
        WISP_TRY(renumber_rows(&r, other, how));
        const given g = {
            .src = &r.part.src, .rows = r.part.src.rows, .first = r.part.first, .len = r.len, .place = r.place};
        status = send_rows(d, &g, other->weights, other->rows);
    } else {
        status = wisp__src_check(ctx, other);
    }
out:
    renumber_close(&r);
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        moved_free(d);
        return status;
    }
    *src = *other;
    src->free_arg = NULL;
    if (d) set_source(src, d);
    return WISP_OK;
}

/* ---- the same rows, by other weights ------------------------------------------------------------ */

/* A source that answers for any row, with weights. */
typedef struct {
    wisp_ctx *ctx;
    wisp_src src;
    int64_t *weights;
} weighted;

static int weighted_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const weighted *w = arg;
    return w->src.row(w->src.arg, row, col, val);
}

static int64_t weighted_many(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col,
                             void *val)
{
    const weighted *w = arg;
    return w->src.many(w->src.arg, first, count, room, rowptr, col, val);
}

static void weighted_free(void *arg)
{
    weighted *w = arg;
    if (w->src.free_arg) w->src.free_arg(w->src.arg);
    wisp_free(w->ctx, w->weights);
    wisp_free(w->ctx, w);
}

static wisp_status weigh(wisp_src *src, wisp_ctx *ctx, const int64_t *weights)
{
    weighted *w = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &w, 1, sizeof *w));
    *w = (weighted){.ctx = ctx};
    WISP_TRY(wisp__weights_copy(ctx, &w->weights, weights));
out:
    if ((status = wisp_ctx_leave(ctx, status)) != WISP_OK) {
        if (w) weighted_free(w);
        return status;
    }
    w->src = *src;
    src->row = src->row ? weighted_row : NULL;
    src->many = src->many ? weighted_many : NULL;
    src->arg = w;
    src->free_arg = weighted_free;
    src->weights = w->weights;
    return status;
}

/* The entries go to where they belong by the new weights. */
static wisp_status move(wisp_src *src, wisp_ctx *ctx, const int64_t *weights)
{
    const int64_t *number = wisp_src_numbers(src);
    moved *d = NULL;
    int32_t *len = NULL;
    given g = {.src = src, .number = number};
    wisp_status status;
    g.from = g.first = wisp__share_begin(ctx, src->weights, src->rows, ctx->rank);
    g.rows = wisp__share_begin(ctx, src->weights, src->rows, ctx->rank + 1) - g.first;
    WISP_TRY(wisp_alloc(ctx, &d, 1, sizeof *d));
    *d = (moved){.ctx = ctx, .size = wisp_type_size(src->type), .numbered = number != NULL};
    WISP_TRY(wisp__index_check(ctx, g.rows, 0));
    WISP_TRY(wisp__count_rows(ctx, src, g.first, g.rows, &len));
    g.len = len;
    status = send_rows(d, &g, weights, src->rows);
out:
    wisp_free(ctx, len);
    if ((status = wisp_ctx_leave(ctx, status)) != WISP_OK) {
        moved_free(d);
        return status;
    }
    if (src->free_arg) src->free_arg(src->arg);
    set_source(src, d);
    return status;
}

wisp_status wisp_src_deal(wisp_src *src, wisp_ctx *ctx, const int64_t *weights)
{
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__src_check(ctx, src));
    WISP_TRY(wisp__weights_check(ctx, weights, "the weights of a source"));
    if (ctx->ranks > 1 && !src->own_rows) return weigh(src, ctx, weights);
    if (!wisp__same_shares(ctx, weights, src->weights, src->rows) ||
        !wisp__same_shares(ctx, weights, src->weights, src->cols))
        return move(src, ctx, weights);
out:
    return wisp_ctx_leave(ctx, status);
}
