/* The halo of a matrix: room for it behind a block, and its exchange, in which each rank sends local rows that others
   need and gets those that it needs. */
#include "halo.h"
#include <string.h>

void wisp__halo_free(wisp__halo *h)
{
    if (!h) return;
    h->ctx->backend->free(h->ctx, h->send);
    wisp__unstage(h->ctx, h->buffer);
    void *own[] = {h->global, h->from, h->to, h->message, h->group, h->here};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(h->ctx, own[i]);
    wisp_free(h->ctx, h);
}

void wisp__halo_info(const wisp__halo *h, wisp_halo way, wisp_mat_info *info)
{
    info->halo = info->halo_used = way;
    if (!h) return;
    if (way == WISP_HALO_AUTO) info->halo_used = h->found;
    if (info->halo_used == WISP_HALO_TASK && !h->ctx->may_wait_beside) info->halo_used = WISP_HALO_OVERLAP;
    info->halo_rows = h->rows;
    info->send_rows = h->sends;
    info->receive_ranks = h->from_count;
    info->send_ranks = h->to_count;
    for (int i = 0; i < h->to_count; i++)
        if (h->to[i].row < 0) info->packed_rows = h->sends;
    if (!h->ctx->backend->host_memory) info->packed_rows = h->sends + h->rows; /* nothing comes or goes in place */
    info->exchange_bytes = h->rows * (int64_t)sizeof *h->global + h->sends * (int64_t)sizeof *h->send +
                           2 * h->ctx->ranks * (int64_t)sizeof *h->from +
                           (h->to_count + h->from_count) * (int64_t)sizeof *h->message;
}

int64_t wisp__halo_run(const int32_t *row, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (row[i] != row[0] + i) return -1;
    return row[0];
}

wisp_status wisp__halo_settle(wisp__halo *h, const wisp_map *col_map)
{
    for (int64_t i = 0; i < h->sends && col_map->position; i++) h->send[i] = col_map->position[h->send[i]];
    for (int i = 0; i < h->to_count; i++) h->to[i].row = wisp__halo_run(h->send + h->to[i].first, h->to[i].count);
    return h->ctx->backend->take(h->ctx, &h->send);
}

int64_t wisp__halo_find(const wisp__halo *h, int64_t global)
{
    int64_t lo = 0, hi = h->rows;
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (h->global[mid] < global)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->rows && h->global[lo] == global ? lo : -1;
}

int wisp__halo_source(const wisp__halo *h, int64_t row)
{
    int low = 0, high = h->from_count - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (row < h->from[middle].first + h->from[middle].count)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

wisp_status wisp__halo_room(const wisp__halo *h, const wisp_blk *x)
{
    const wisp__backend *backend = x->ctx->backend;
    wisp__store_t *store = x->store;
    const int64_t rows = x->map->local + WISP__MAX(h->rows, x->map->halo);
    const size_t row = (size_t)x->stride * wisp_type_size(x->type);
    void *at = NULL;
    wisp_status status = WISP_OK;
    if (store->rows >= x->map->local + h->rows) return status;
    if (store->borrowed)
        return wisp_ctx_failf(x->ctx, WISP_ERR_UNSUPPORTED,
                              "user memory has no room for the rows of other processes: copy it into a block of wisp's "
                              "own (wisp_blk_create, wisp_blk_put)");
    if (atomic_load(&store->lent) > 0)
        return wisp_ctx_failf(x->ctx, WISP_ERR_UNSUPPORTED,
                              "a block that is lent can't move to where the rows of other processes have room: return "
                              "it (wisp_blk_return), or make it after the matrix");
    WISP_TRY(backend->alloc(x->ctx, &at, (size_t)rows, row));
    const wisp__columns_params copy = {.from = store->at,
                                       .to = at,
                                       .ld_from = x->stride,
                                       .ld_to = x->stride,
                                       .width = (int)x->stride,
                                       .from_bytes = (int)wisp_type_size(x->type),
                                       .to_bytes = (int)wisp_type_size(x->type),
                                       .reals = wisp__reals(x->type)};
    WISP_TRY(backend->copy_columns(x->ctx, &copy, x->map->local));
    backend->free(x->ctx, store->at);
    store->at = at;
    store->rows = rows;
    at = NULL;
out:
    backend->free(x->ctx, at);
    return status;
}

/* ---- the exchange ----------------------------------------------------------------------------- */

static size_t row_bytes(const wisp_blk *x) { return (size_t)x->width * wisp_type_size(x->type); }

static wisp__rows_params rows_of(const wisp_blk *x)
{
    return (wisp__rows_params){
        .x = wisp__at(x), .ld = x->stride * (int64_t)wisp_type_size(x->type), .bytes = (int64_t)row_bytes(x)};
}

/* Whether messages may come right to where the halo of x is: rows have no gaps between them, in the host's memory. */
static bool in_place(const wisp_blk *x) { return x->ctx->backend->host_memory && x->stride == x->width; }

static bool sends_straight(const wisp_blk *x, const wisp__range *to) { return in_place(x) && to->row >= 0; }

/* Room for what goes another way. */
static wisp_status make_buffer(wisp__halo *h, const wisp_blk *x)
{
    const size_t bytes = (size_t)(in_place(x) ? h->sends : h->sends + h->rows) * row_bytes(x);
    bool needed = !in_place(x);
    for (int i = 0; i < h->to_count; i++) needed |= !sends_straight(x, &h->to[i]);
    if (!needed || bytes <= h->buffer_bytes) return WISP_OK;
    wisp__unstage(h->ctx, h->buffer);
    h->buffer = NULL;
    h->buffer_bytes = 0;
    const wisp_status status = wisp__stage(h->ctx, bytes, &h->buffer);
    if (status == WISP_OK) h->buffer_bytes = bytes;
    return status;
}

/* The messages that go out: from x itself, or packed. */
static wisp_status set_sends(wisp__halo *h, const wisp_blk *x)
{
    const size_t row = row_bytes(x);
    const bool at_once = !in_place(x); /* then those for all neighbours are packed, and waited for, at once */
    wisp__rows_params p = rows_of(x);
    wisp_status status = WISP_OK;
    p.row = h->send;
    p.count = h->sends;
    if (at_once && h->sends > 0) WISP_TRY(h->ctx->backend->pack(h->ctx, &p, h->buffer));
    /* Messages may come again to where the device reads those of the last exchange from, when it was waited for. */
    if (at_once && h->sends == 0 && h->rows > 0) WISP_TRY(h->ctx->backend->finish(h->ctx));
    for (int i = 0; i < h->to_count; i++) {
        const wisp__range *to = &h->to[i];
        const bool straight = sends_straight(x, to);
        char *const data = (straight ? wisp__at(x) : h->buffer) + (size_t)(straight ? to->row : to->first) * row;
        h->message[i] = (wisp__message){to->rank, data, (size_t)to->count * row};
        if (straight || at_once) continue;
        p.row = h->send + to->first;
        p.count = to->count;
        WISP_TRY(h->ctx->backend->pack(h->ctx, &p, data));
    }
out:
    return status;
}

static void set_receives(wisp__halo *h, const wisp_blk *x)
{
    const size_t row = row_bytes(x);
    char *at = in_place(x) ? wisp__at(x) + (size_t)x->map->local * row : h->buffer + (size_t)h->sends * row;
    for (int i = 0; i < h->from_count; i++) {
        const wisp__range *from = &h->from[i];
        h->message[h->to_count + i] =
            (wisp__message){from->rank, at + (size_t)from->first * row, (size_t)from->count * row};
    }
}

wisp_status wisp__halo_start(wisp__halo *h, const wisp_blk *x)
{
    wisp_status status;
    WISP_TRY(make_buffer(h, x));
    WISP_TRY(set_sends(h, x));
    set_receives(h, x);
    if (h->from_count) memset(h->here, 0, (size_t)h->from_count * sizeof *h->here);
    WISP_TRY(h->ctx->comm->start(h->ctx, h->message, h->to_count, h->message + h->to_count, h->from_count));
    wisp__count(&h->ctx->messages, h->to_count);
    wisp__count(&h->ctx->sent_bytes, h->sends * (int64_t)row_bytes(x));
out:
    return status;
}

wisp_status wisp__halo_come(wisp__halo *h) { return h->ctx->comm->wait(h->ctx); }

wisp_status wisp__halo_unpack(wisp__halo *h, const wisp_blk *x, int64_t first, int64_t count)
{
    wisp__rows_params p = rows_of(x);
    if (count == 0 || in_place(x)) return WISP_OK;
    p.first = x->map->local + first;
    p.count = count;
    return h->ctx->backend->unpack(h->ctx, &p, h->buffer + (size_t)(h->sends + first) * row_bytes(x));
}

wisp_status wisp__halo_wait(wisp__halo *h, const wisp_blk *x)
{
    const wisp_status status = wisp__halo_come(h);
    return status == WISP_OK ? wisp__halo_unpack(h, x, 0, h->rows) : status;
}

wisp_status wisp__halo_some(wisp__halo *h, const wisp_blk *x)
{
    bool *was = h->here + h->from_count;
    memcpy(was, h->here, (size_t)h->from_count * sizeof *was);
    wisp_status status = h->ctx->comm->some(h->ctx, h->here);
    for (int i = 0; i < h->from_count && status == WISP_OK; i++)
        if (h->here[i] && !was[i]) status = wisp__halo_unpack(h, x, h->from[i].first, h->from[i].count);
    return status;
}
