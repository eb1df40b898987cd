/* Block vectors: memory, views, filling, copies in and out. */
#include "../base/rng.h"
#include "data.h"
#include <string.h>

static wisp_status blk_new(wisp_blk **out, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width)
{
    if (!wisp__type_ok(type) || width < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a block needs a type and a width of at least 1 (it is %d)", width);
    wisp_blk *x = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &x, 1, sizeof *x));
    WISP_TRY(wisp_alloc(ctx, &x->store, 1, sizeof *x->store));
    atomic_init(&x->store->refs, 1);
    x->store->ctx = x->ctx = ctx;
    x->map = wisp__map_retain(map);
    x->type = type;
    x->width = width;
    x->stride = width;
    x->nrows = map->local;
    *out = x;
    x = NULL;
out:
    wisp_free(ctx, x);
    return status;
}

wisp_status wisp_blk_create(wisp_blk **out, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, map);
    wisp_status status = blk_new(out, ctx, map, type, width);
    if (status != WISP_OK) return status;
    wisp_blk *x = *out;
    x->store->rows = map->local + map->halo;
    status = ctx->backend->alloc(ctx, &x->store->at, (size_t)x->store->rows, wisp_type_size(type) * (size_t)width);
    if (status != WISP_OK) {
        wisp_blk_free(x);
        *out = NULL;
    }
    return status;
}

wisp_status wisp_blk_borrow(wisp_blk **out, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, void *data,
                            int64_t stride)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, map);
    WISP_NEED(ctx, data);
    if (map->position || map->halo)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                              "user memory fits natural maps only; use wisp_blk_put and wisp_blk_get to copy");
    if (stride < width)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "user memory with a stride of %lld for width %d", (long long)stride,
                              width);
    wisp_status status = ctx->backend->borrow(ctx, data);
    if (status == WISP_OK) status = blk_new(out, ctx, map, type, width);
    if (status != WISP_OK) return status;
    (*out)->store->borrowed = true;
    (*out)->store->at = data;
    (*out)->store->rows = map->local;
    (*out)->stride = stride;
    return WISP_OK;
}

/* With room for a list of so many columns, which goes with it. */
static wisp_status view_of(wisp_blk **out, wisp_blk *x, int columns, int **list)
{
    *out = NULL;
    wisp_blk *v;
    wisp_status status = wisp_alloc(x->ctx, &v, 1, sizeof *v + (size_t)columns * sizeof **list);
    if (status != WISP_OK) return status;
    *v = *x;
    *list = (int *)(void *)(v + 1);
    wisp__map_retain(v->map);
    atomic_fetch_add(&v->store->refs, 1);
    *out = v;
    return WISP_OK;
}

/* A view becomes that of the columns list[count], counted from where it begins; the list is its own. */
static void set_columns(wisp_blk *v, int *list, int count)
{
    int leftmost = list[0];
    bool side_by_side = true;
    for (int j = 1; j < count; j++) {
        leftmost = WISP__MIN(leftmost, list[j]);
        side_by_side = side_by_side && list[j] == list[0] + j;
    }
    for (int j = 0; j < count; j++) list[j] -= leftmost;
    v->offset += (size_t)leftmost * wisp_type_size(v->type);
    v->width = count;
    v->column = side_by_side ? NULL : list;
}

wisp_status wisp_blk_cols(wisp_blk **view, wisp_blk *x, int first, int width)
{
    WISP_NEED(wisp_blk_ctx(x), view);
    *view = NULL;
    WISP_NEED(NULL, x);
    if (first < 0 || width < 1 || first > x->width - width)
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "columns %d to %d of a block of width %d", first, first + width - 1,
                              x->width);
    int *list;
    wisp_status status = view_of(view, x, x->column ? width : 0, &list);
    if (status != WISP_OK) return status;
    if (x->column) {
        memcpy(list, x->column + first, (size_t)width * sizeof *list);
        set_columns(*view, list, width);
        return WISP_OK;
    }
    (*view)->offset += (size_t)first * wisp_type_size(x->type);
    (*view)->width = width;
    return WISP_OK;
}

wisp_status wisp_blk_pick(wisp_blk **view, wisp_blk *x, int count, const int *column)
{
    WISP_NEED(wisp_blk_ctx(x), view);
    *view = NULL;
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, column);
    if (count < 1 || count > x->width)
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "%d columns of a block of width %d", count, x->width);
    for (int j = 0; j < count; j++) {
        if (column[j] < 0 || column[j] >= x->width)
            return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "column %d of a block of width %d", column[j], x->width);
        for (int k = 0; k < j; k++)
            if (column[k] == column[j])
                return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "column %d is picked twice", column[j]);
    }
    int *list;
    const wisp_status status = view_of(view, x, count, &list);
    if (status != WISP_OK) return status;
    for (int j = 0; j < count; j++) list[j] = wisp__column(x, column[j]);
    set_columns(*view, list, count);
    return WISP_OK;
}

wisp_status wisp__refuse_scattered(const char *call, const wisp_blk *x)
{
    if (!x->column) return WISP_OK;
    return wisp_ctx_failf(x->ctx, WISP_ERR_UNSUPPORTED,
                          "%s: the columns of a scattered view (wisp_blk_pick) are not side by side: copy them into a "
                          "block of their own (wisp_blk_create, wisp_copy)",
                          call);
}

wisp_status wisp_blk_rows(wisp_blk **view, wisp_blk *x, int64_t first, int64_t count)
{
    WISP_NEED(wisp_blk_ctx(x), view);
    *view = NULL;
    WISP_NEED(NULL, x);
    if (x->map->position)
        return wisp_ctx_failf(x->ctx, WISP_ERR_MISMATCH, "a view of rows needs a natural map; this one is permuted");
    if (first < 0 || count < 0 || first > x->nrows - count)
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "rows %lld to %lld of a block of %lld rows", (long long)first,
                              (long long)(first + count - 1), (long long)x->nrows);
    int *list;
    wisp_status status = view_of(view, x, x->column ? x->width : 0, &list);
    if (status != WISP_OK) return status;
    if (x->column) (*view)->column = memcpy(list, x->column, (size_t)x->width * sizeof *list);
    (*view)->offset += (size_t)(first * x->stride) * wisp_type_size(x->type);
    (*view)->first_row += first;
    (*view)->nrows = count;
    return WISP_OK;
}

void wisp_blk_free(wisp_blk *x)
{
    if (!x) return;
    wisp_ctx *ctx = x->ctx;
    if (atomic_fetch_sub(&x->store->refs, 1) == 1) {
        if (!x->store->borrowed) ctx->backend->free(ctx, x->store->at);
        wisp_free(ctx, x->store);
    }
    wisp_map_free(x->map);
    wisp_free(ctx, x);
}

int wisp_blk_width(const wisp_blk *x) { return x ? x->width : 0; }

int64_t wisp_blk_nrows(const wisp_blk *x) { return x ? x->nrows : 0; }

wisp_type wisp_blk_type(const wisp_blk *x) { return x ? x->type : WISP_DEFAULT; }

wisp_map *wisp_blk_map(const wisp_blk *x) { return x ? x->map : NULL; }

wisp_ctx *wisp_blk_ctx(const wisp_blk *x) { return x ? x->ctx : NULL; }

/* Bytes from where a view begins to the end of its last element. */
static size_t extent(const wisp_blk *x)
{
    int columns = x->width;
    for (int j = 0; x->column && j < x->width; j++) columns = WISP__MAX(columns, x->column[j] + 1);
    return x->nrows == 0 ? 0 : (size_t)((x->nrows - 1) * x->stride + columns) * wisp_type_size(x->type);
}

static wisp_status lend(const wisp_blk *x, wisp_access how, void *pointer_to_host)
{
    /* Between the columns of a view there are others, which stay. */
    if (how == WISP_DISCARD && (x->column || x->stride > x->width)) how = WISP_WRITE;
    wisp__count(&x->ctx->round_trips, 1);
    return x->ctx->backend->lend(x->ctx, wisp__at(x), extent(x), how, pointer_to_host);
}

wisp_status wisp_blk_lend(const wisp_blk *x, wisp_access how, void **data, int64_t *stride)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, data);
    wisp_status status = wisp__refuse_scattered("lend", x);
    if (status != WISP_OK) return status;
    if ((unsigned)how > WISP_DISCARD) return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "lend: unknown access %d", (int)how);
    if (stride) *stride = x->stride;
    status = lend(x, how, data);
    if (status == WISP_OK) atomic_fetch_add(&x->store->lent, 1);
    return status;
}

wisp_status wisp_blk_return(const wisp_blk *x)
{
    WISP_NEED(NULL, x);
    const wisp_status status = wisp__refuse_scattered("return", x);
    if (status != WISP_OK) return status;
    x->ctx->backend->unlend(x->ctx, wisp__at(x));
    atomic_fetch_sub(&x->store->lent, 1);
    return WISP_OK;
}

/* The block as the host sees it, until wisp_blk_return: for the time of a call, without references of its own. */
static wisp_status host_view(const wisp_blk *x, wisp_access how, wisp_blk *host)
{
    *host = *x;
    return lend(x, how, &host->host);
}
static void host_done(const wisp_blk *x) { x->ctx->backend->unlend(x->ctx, wisp__at(x)); }

/* ---- filling --------------------------------------------------------------------------------- */

/* Where the row of a view begins; its columns are those of wisp__column from there. */
static char *row_of(const wisp_blk *x, int64_t row)
{
    return x->host + (size_t)(row * x->stride) * wisp_type_size(x->type);
}

static char *element(const wisp_blk *x, int64_t row, int column)
{
    return row_of(x, row) + (size_t)wisp__column(x, column) * wisp_type_size(x->type);
}

/* Position of a view's row to the user's row number. */
static int64_t user_row(const wisp_blk *x, int64_t row) { return wisp__map_user(x->map, x->first_row + row); }

/* And to its number for random vectors. */
static int64_t random_row(const wisp_blk *x, int64_t row)
{
    const wisp_map *map = x->map;
    return map->number ? map->number[wisp__map_row(map, x->first_row + row)] : user_row(x, row);
}

/* Ranges of rows on all threads, unless there are few. */
static void each_rows(const wisp_blk *x, wisp__each_fn fn, void *arg)
{
    wisp__team_each(x->ctx->team, x->nrows, WISP__SMALL / WISP__MIN(x->width, WISP__SMALL), fn, arg);
}

typedef struct {
    wisp_blk *x;
    wisp__value value;
} value_run;

/* `bytes` is a constant where this is called, so that a copy is one store. */
static inline void fill_some(const value_run *r, int64_t begin, int64_t end, size_t bytes)
{
    for (int64_t i = begin; i < end; i++) {
        char *to = row_of(r->x, i);
        for (int j = 0; j < r->x->width; j++) memcpy(to + (size_t)wisp__column(r->x, j) * bytes, &r->value, bytes);
    }
}

static void fill_rows(void *arg, int64_t begin, int64_t end, int part)
{
    const value_run *r = arg;
    (void)part;
    switch (wisp_type_size(r->x->type)) {
    case 4: fill_some(r, begin, end, 4); break;
    case 8: fill_some(r, begin, end, 8); break;
    default: fill_some(r, begin, end, 16); break;
    }
}

wisp_status wisp_blk_fill(wisp_blk *x, wisp_scalar value)
{
    WISP_NEED(NULL, x);
    wisp_blk host;
    value_run r = {.x = &host};
    const wisp_status status = host_view(x, WISP_DISCARD, &host);
    if (status != WISP_OK) return status;
    wisp__store(x->type, &r.value, value);
    each_rows(x, fill_rows, &r);
    host_done(x);
    return WISP_OK;
}

typedef struct {
    wisp_blk *x;
    wisp_fill_fn fn;
    void *arg;
    atomic_llong failed; /* the first row of the user's that did */
} call_run;

static void call_rows(void *arg, int64_t begin, int64_t end, int part)
{
    call_run *r = arg;
    (void)part;
    for (int64_t i = begin; i < end; i++) {
        const long long row = user_row(r->x, i);
        long long failed = atomic_load_explicit(&r->failed, memory_order_relaxed);
        bool bad = false;
        if (failed < row) continue;
        for (int j = 0; j < r->x->width; j++) bad |= r->fn(r->arg, row, j, element(r->x, i, j)) != 0;
        while (bad && row < failed && !atomic_compare_exchange_weak(&r->failed, &failed, row)) {}
    }
}

wisp_status wisp_blk_fill_fn(wisp_blk *x, wisp_fill_fn fn, void *arg)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, fn);
    wisp_blk host;
    call_run r = {.x = &host, .fn = fn, .arg = arg, .failed = INT64_MAX};
    wisp_status status;
    wisp_ctx_enter(x->ctx);
    WISP_TRY(host_view(x, WISP_DISCARD, &host));
    each_rows(x, call_rows, &r);
    host_done(x);
    const long long failed = atomic_load(&r.failed);
    if (failed < INT64_MAX)
        status = wisp_ctx_failf(x->ctx, WISP_ERR_CALLBACK, "the fill callback failed at row %lld", failed);
out:
    return wisp_ctx_leave(x->ctx, status);
}

typedef struct {
    wisp_blk *x;
    wisp_random kind;
    uint64_t seed;
    uint32_t stream, first;
} random_run;

/* A number takes some ten nanoseconds, a large block a second: so a look at the cancel flag with each row. */
static void random_thread(void *arg, int thread, int threads)
{
    const random_run *r = arg;
    wisp_blk *x = r->x;
    const bool is_complex = wisp_type_is_complex(x->type);
    const int64_t end = wisp__split(x->nrows, threads, thread + 1);
    for (int64_t i = wisp__split(x->nrows, threads, thread); i < end && !wisp__cancelled(x->ctx->team); i++)
        for (int j = 0; j < x->width; j++)
            wisp__store(
                x->type, element(x, i, j),
                wisp__random_value(r->kind, is_complex, r->seed, random_row(x, i), r->first + (uint32_t)j, r->stream));
}

wisp_status wisp_blk_fill_random(wisp_blk *x, wisp_random kind, uint64_t seed, uint32_t stream, uint32_t first)
{
    WISP_NEED(NULL, x);
    if (kind != WISP_RANDOM_TRACE && kind != WISP_RANDOM_GAUSS)
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "unknown kind of random vector %d", (int)kind);
    wisp_blk host;
    random_run r = {&host, kind, seed, stream, first};
    const bool little = x->nrows * x->width <= WISP__SMALL;
    const wisp_status status = host_view(x, WISP_DISCARD, &host);
    if (status != WISP_OK) return status;
    const bool whole = wisp__run_some(x->ctx->team, little, random_thread, &r);
    host_done(x);
    return wisp__whole(x->ctx, "filling a block", whole);
}

wisp_status wisp_blk_fill_units(wisp_blk *x, const int64_t *row)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, row);
    for (int j = 0; j < x->width; j++)
        if (row[j] < 0 || row[j] >= x->map->rows)
            return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "there is no row %lld; rows are 0 to %lld", (long long)row[j],
                                  (long long)x->map->rows - 1);
    wisp_blk host;
    wisp_status status = wisp_blk_fill(x, (wisp_scalar){0, 0});
    if (status == WISP_OK) status = host_view(x, WISP_WRITE, &host);
    if (status != WISP_OK) return status;
    for (int j = 0; j < x->width; j++) {
        const int64_t local = row[j] - x->map->first;
        if (local < 0 || local >= x->map->local) continue;
        const int64_t i = (x->map->position ? x->map->position[local] : local) - x->first_row;
        if (i >= 0 && i < x->nrows) wisp__store(x->type, element(&host, i, j), (wisp_scalar){1, 0});
    }
    host_done(x);
    return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static wisp_status check_user_array(const wisp_blk *x, wisp_layout layout, int64_t ld)
{
    const int64_t least = layout == WISP_ROW_MAJOR ? x->width : x->nrows;
    if (ld < least)
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "an array with leading dimension %lld; at least %lld is needed",
                              (long long)ld, (long long)least);
    return WISP_OK;
}

/* Where the user's row begins in a user array; rows count from the view's first. */
static size_t user_at(const wisp_blk *x, wisp_layout layout, int64_t row, int64_t ld)
{
    const int64_t r = user_row(x, row) - x->map->first - x->first_row;
    return (size_t)(layout == WISP_ROW_MAJOR ? r * ld : r) * wisp_type_size(x->type);
}

typedef struct {
    const wisp_blk *x;
    wisp_layout layout;
    int64_t ld;
    const char *from; /* one of the two is NULL */
    char *to;
} copy_run;

/* `bytes` of an element are a constant where this is called, so that a copy is one load and one store. */
static inline void copy_some(const copy_run *r, int64_t begin, int64_t end, size_t bytes)
{
    const wisp_blk *x = r->x;
    const size_t step = r->layout == WISP_ROW_MAJOR ? bytes : (size_t)r->ld * bytes;
    for (int64_t i = begin; i < end; i++) {
        const size_t at = user_at(x, r->layout, i, r->ld);
        char *mine = row_of(x, i);
        for (int j = 0; j < x->width; j++) {
            char *element = mine + (size_t)wisp__column(x, j) * bytes;
            if (r->from)
                memcpy(element, r->from + at + (size_t)j * step, bytes);
            else
                memcpy(r->to + at + (size_t)j * step, element, bytes);
        }
    }
}

static void copy_rows(void *arg, int64_t begin, int64_t end, int part)
{
    const copy_run *r = arg;
    const size_t bytes = wisp_type_size(r->x->type);
    (void)part;
    if (r->layout == WISP_ROW_MAJOR && !r->x->column) { /* neighbours on both sides go together */
        for (int64_t i = begin; i < end; i++) {
            const size_t at = user_at(r->x, r->layout, i, r->ld), size = (size_t)r->x->width * bytes;
            if (r->from)
                memcpy(row_of(r->x, i), r->from + at, size);
            else
                memcpy(r->to + at, row_of(r->x, i), size);
        }
        return;
    }
    switch (bytes) {
    case 4: copy_some(r, begin, end, 4); break;
    case 8: copy_some(r, begin, end, 8); break;
    default: copy_some(r, begin, end, 16); break;
    }
}

wisp_status wisp_blk_put(wisp_blk *x, wisp_layout layout, const void *data, int64_t ld)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, data);
    wisp_blk host;
    wisp_status status = check_user_array(x, layout, ld);
    if (status == WISP_OK) status = host_view(x, WISP_DISCARD, &host);
    if (status != WISP_OK) return status;
    each_rows(x, copy_rows, &(copy_run){&host, layout, ld, data, NULL});
    host_done(x);
    return WISP_OK;
}

wisp_status wisp_blk_get(const wisp_blk *x, wisp_layout layout, void *data, int64_t ld)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, data);
    wisp_blk host;
    wisp_status status = check_user_array(x, layout, ld);
    if (status == WISP_OK) status = host_view(x, WISP_READ, &host);
    if (status != WISP_OK) return status;
    each_rows(x, copy_rows, &(copy_run){&host, layout, ld, NULL, data});
    host_done(x);
    return WISP_OK;
}
