/* A rank's part of a source: its rows, and the halo, which is found by looking at their columns. The ranks then tell
   each other which rows they need. */
#include "../base/sort.h"
#include "halo.h"
#include <stdlib.h>
#include <string.h>

/* ---- the columns of others -------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    const wisp__part *part;
    pthread_mutex_t lock;
    int64_t *list; /* [count], of room: the first `sorted` of them rise */
    int64_t count, room, sorted;
    atomic_llong nnz; /* entries of the rows looked at */
} search;

static int64_t sort_unique(int64_t *list, int64_t count)
{
    int64_t n = 0;
    if (count) qsort(list, (size_t)count, sizeof *list, wisp__by_number);
    for (int64_t i = 0; i < count; i++)
        if (n == 0 || list[n - 1] != list[i]) list[n++] = list[i];
    return n;
}

/* Room for so many more, by what appears twice or by a larger list. */
static wisp_status make_room(search *s, int64_t more)
{
    if (s->count + more <= s->room) return WISP_OK;
    s->count = s->sorted = sort_unique(s->list, s->count);
    if (2 * (s->count + more) <= s->room) return WISP_OK;
    const int64_t room = 4 * (s->count + more);
    const wisp_status status = wisp__widen(s->ctx, &s->list, (size_t)s->count, (size_t)room, sizeof *s->list);
    if (status == WISP_OK) s->room = room;
    return status;
}

static wisp_status find_columns(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    search *s = arg;
    const wisp__part *p = s->part;
    int64_t nnz = 0;
    wisp_status status = WISP_OK;
    for (int64_t i = begin; i < end && status == WISP_OK; i++) {
        int n, foreign = 0;
        status = wisp__read_columns(reader, s->ctx, p->first + i, &n);
        if (status == WISP_OK) nnz += n;
        for (int k = 0; k < n && status == WISP_OK; k++) {
            const int64_t own = reader->col[k] - p->col_first;
            if (own < 0 || own >= p->col_local) reader->own_col[foreign++] = reader->col[k];
        }
        if (foreign == 0 || status != WISP_OK) continue;
        pthread_mutex_lock(&s->lock);
        status = make_room(s, foreign);
        if (status == WISP_OK) {
            memcpy(s->list + s->count, reader->own_col, (size_t)foreign * sizeof *s->list);
            s->count += foreign;
        }
        pthread_mutex_unlock(&s->lock);
    }
    atomic_fetch_add(&s->nnz, nnz);
    return status;
}

/* ---- who has them ----------------------------------------------------------------------------- */

/* The ranges of a rising list of numbers that each rank has, of `all` rows or columns; how many are not empty. */
static int ranges_of(const wisp_ctx *ctx, const int64_t *weights, int64_t all, const int64_t *number, int64_t count,
                     wisp__range *range)
{
    int n = 0;
    int64_t i = 0;
    for (int r = 0; r < ctx->ranks; r++) {
        const int64_t end = wisp__share_begin(ctx, weights, all, r + 1), first = i;
        while (i < count && number[i] < end) i++;
        if (i > first) range[n++] = (wisp__range){.rank = r, .first = first, .count = i - first};
    }
    return n;
}

/* What others want of this rank becomes h->send and h->to. */
static wisp_status take_requests(wisp__part *p, const wisp__message *from)
{
    wisp__halo *h = p->halo;
    wisp_status status;
    for (int r = 0; r < h->ctx->ranks; r++) {
        const int64_t count = (int64_t)(from[r].bytes / sizeof(int64_t));
        if (count) h->to[h->to_count++] = (wisp__range){.rank = r, .first = h->sends, .count = count};
        h->sends += count;
    }
    WISP_TRY(wisp_alloc(h->ctx, &h->send, (size_t)h->sends, sizeof *h->send));
    for (int i = 0; i < h->to_count; i++) {
        const wisp__range *to = &h->to[i];
        const int64_t *want = from[to->rank].data;
        for (int64_t k = 0; k < to->count; k++) h->send[to->first + k] = (int32_t)(want[k] - p->col_first);
        h->to[i].row = wisp__halo_run(h->send + to->first, to->count);
    }
out:
    return status;
}

/* Each rank tells the others which of their rows it needs. */
static wisp_status exchange_requests(wisp__part *p)
{
    wisp__halo *h = p->halo;
    wisp_ctx *ctx = h->ctx;
    const size_t ranks = (size_t)ctx->ranks;
    wisp__message *to = NULL, *from = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &h->from, ranks, sizeof *h->from));
    WISP_TRY(wisp_alloc(ctx, &h->to, ranks, sizeof *h->to));
    WISP_TRY(wisp_alloc(ctx, &to, ranks, sizeof *to));
    h->from_count = ranges_of(ctx, p->weights, p->whole->cols, h->global, h->rows, h->from);
    for (size_t r = 0; r < ranks; r++) to[r].rank = (int)r;
    for (int i = 0; i < h->from_count; i++)
        to[h->from[i].rank] = (wisp__message){h->from[i].rank, h->global + h->from[i].first,
                                              (size_t)h->from[i].count * sizeof *h->global};
    WISP_TRY(wisp__comm_exchange(ctx, to, &from));
    WISP_TRY(take_requests(p, from));
    WISP_TRY(wisp_alloc(ctx, &h->here, 2 * (size_t)h->from_count, sizeof *h->here));
    status = wisp_alloc(ctx, &h->message, (size_t)(h->to_count + h->from_count), sizeof *h->message);
out:
    wisp_free(ctx, to);
    wisp_free(ctx, from);
    return status;
}

/* ---- the part --------------------------------------------------------------------------------- */

/* p->halo, with the columns in it. */
static wisp_status find_halo(wisp__part *p, wisp_ctx *ctx, int64_t local)
{
    search s = {.ctx = ctx, .part = p, .lock = PTHREAD_MUTEX_INITIALIZER};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &p->halo, 1, sizeof *p->halo));
    p->halo->ctx = ctx;
    WISP_TRY(wisp__for_rows(ctx, "finding the halo", p->whole, NULL, local, WISP__PIECE, find_columns, &s));
    p->nnz = atomic_load(&s.nnz);
    p->halo->rows = sort_unique(s.list, s.count);
    WISP_TRY(wisp_alloc(ctx, &p->halo->global, (size_t)p->halo->rows, sizeof *p->halo->global));
    if (p->halo->rows) memcpy(p->halo->global, s.list, (size_t)p->halo->rows * sizeof *s.list);
out:
    wisp_free(ctx, s.list);
    return status;
}

/* p->weights, which are those of the map; what answers for any row may have others. */
static wisp_status find_shares(wisp__part *p, wisp_ctx *ctx, const wisp_map *map)
{
    const wisp_src *src = p->whole;
    p->weights = map && !src->own_rows ? map->weights : src->weights;
    if (!map || wisp__same_shares(ctx, map->weights, p->weights, src->rows)) return WISP_OK;
    return wisp_ctx_failf(
        ctx, WISP_ERR_MISMATCH,
        "the source answers for other rows of each process than these have on the map: deal it out by "
        "the map's weights (wisp_src_deal)");
}

wisp_status wisp__part_open(wisp__part *p, wisp_ctx *ctx, const wisp_src *src, const wisp_map *map)
{
    wisp_status status;
    *p = (wisp__part){.src = *src, .whole = src};
    WISP_TRY(wisp__src_check(ctx, src));
    if (ctx->ranks == 1) return wisp__index_check(ctx, src->rows, src->cols);
    WISP_TRY(find_shares(p, ctx, map));
    p->first = wisp__share_begin(ctx, p->weights, src->rows, ctx->rank);
    p->col_first = wisp__share_begin(ctx, p->weights, src->cols, ctx->rank);
    p->col_local = wisp__share_begin(ctx, p->weights, src->cols, ctx->rank + 1) - p->col_first;
    p->src.rows = wisp__share_begin(ctx, p->weights, src->rows, ctx->rank + 1) - p->first;
    WISP_TRY(wisp__index_check(ctx, p->src.rows, p->col_local));
    WISP_TRY(find_halo(p, ctx, p->src.rows));
    p->src.cols = p->col_local + p->halo->rows;
    WISP_TRY(wisp__index_check(ctx, p->src.rows, p->src.cols));
    wisp__part_source(p);
    status = exchange_requests(p);
out:
    return status;
}

void wisp__part_close(wisp__part *p)
{
    wisp__halo_free(p->halo);
    p->halo = NULL;
}
