/* Block vectors: memory, views, filling, copies in and out. */
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

/* Raw: of its own rows; what is behind them is 0 even then. */
static wisp_status create(wisp_blk **out, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, bool raw)
{
    wisp_status status = blk_new(out, ctx, map, type, width);
    if (status != WISP_OK) return status;
    wisp_blk *x = *out;
    const size_t row = wisp_type_size(type) * (size_t)width;
    x->store->rows = map->local + map->halo;
    raw = raw && ctx->backend->alloc_raw;
    status = (raw ? ctx->backend->alloc_raw : ctx->backend->alloc)(ctx, &x->store->at, (size_t)x->store->rows, row);
    if (status == WISP_OK && raw) memset((char *)x->store->at + (size_t)map->local * row, 0, (size_t)map->halo * row);
    if (status != WISP_OK) {
        wisp_blk_free(x);
        *out = NULL;
    }
    return status;
}

wisp_status wisp_blk_create(wisp_blk **out, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, map);
    return create(out, ctx, map, type, width, false);
}

wisp_status wisp_blk_create_raw(wisp_blk **out, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, map);
    return create(out, ctx, map, type, width, true);
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
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "%lld rows from row %lld on, of a block of %lld rows",
                              (long long)count, (long long)first, (long long)x->nrows);
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

/* Lends what a view has, from its first element to its last one. Others between its columns stay. */
static wisp_status lend_view(wisp_ctx *ctx, const wisp__view *v, wisp_access how, void *pointer_to_host)
{
    int columns = v->width;
    for (int j = 0; v->column && j < v->width; j++) columns = WISP__MAX(columns, v->column[j] + 1);
    const size_t bytes = v->rows == 0 ? 0 : (size_t)(((v->rows - 1) * v->ld + columns) * v->bytes);
    if (how == WISP_DISCARD && (v->column || v->ld > v->width)) how = WISP_WRITE;
    wisp__count(&ctx->round_trips, 1);
    return ctx->backend->lend(ctx, v->x, bytes, how, pointer_to_host);
}

wisp_status wisp_blk_lend(const wisp_blk *x, wisp_access how, void **data, int64_t *stride)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, data);
    wisp_status status = wisp__refuse_scattered("lend", x);
    if (status != WISP_OK) return status;
    if ((unsigned)how > WISP_DISCARD) return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "lend: unknown access %d", (int)how);
    if (stride) *stride = x->stride;
    const wisp__view view = wisp__view_of(x);
    status = lend_view(x->ctx, &view, how, data);
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

/* ---- filling --------------------------------------------------------------------------------- */

/* Position of a view's row to the user's row number. */
static int64_t user_row(const wisp_blk *x, int64_t row) { return wisp__map_user(x->map, x->first_row + row); }

wisp_status wisp_blk_fill(wisp_blk *x, wisp_scalar value)
{
    WISP_NEED(NULL, x);
    wisp__value element;
    wisp__store(x->type, &element, value);
    return x->ctx->backend->fill(x->ctx, &(wisp__fill_params){.v = wisp__view_of(x), .value = &element});
}

typedef struct {
    const wisp_blk *x;
    char *host; /* where it is lent */
    wisp_fill_fn fn;
    void *arg;
    atomic_llong failed; /* the first row of the user's that did */
} call_run;

static void call_rows(void *arg, int64_t begin, int64_t end, int part)
{
    call_run *r = arg;
    const int64_t size = (int64_t)wisp_type_size(r->x->type);
    (void)part;
    for (int64_t i = begin; i < end; i++) {
        const long long row = user_row(r->x, i);
        long long failed = atomic_load_explicit(&r->failed, memory_order_relaxed);
        bool bad = false;
        if (failed < row) continue;
        for (int j = 0; j < r->x->width; j++)
            bad |= r->fn(r->arg, row, j, r->host + (i * r->x->stride + wisp__column(r->x, j)) * size) != 0;
        while (bad && row < failed && !atomic_compare_exchange_weak(&r->failed, &failed, row)) {}
    }
}

wisp_status wisp_blk_fill_fn(wisp_blk *x, wisp_fill_fn fn, void *arg)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, fn);
    const wisp__view view = wisp__view_of(x);
    call_run r = {.x = x, .fn = fn, .arg = arg, .failed = INT64_MAX};
    wisp_status status;
    wisp_ctx_enter(x->ctx);
    WISP_TRY(lend_view(x->ctx, &view, WISP_DISCARD, &r.host));
    wisp__team_each(x->ctx->team, x->nrows, WISP__SMALL / WISP__MIN(x->width, WISP__SMALL), call_rows, &r);
    x->ctx->backend->unlend(x->ctx, view.x);
    const long long failed = atomic_load(&r.failed);
    if (failed < INT64_MAX)
        status = wisp_ctx_failf(x->ctx, WISP_ERR_CALLBACK, "the fill callback failed at row %lld", failed);
out:
    return wisp_ctx_leave(x->ctx, status);
}

wisp_status wisp_blk_fill_random(wisp_blk *x, wisp_random kind, uint64_t seed, uint32_t stream, uint32_t first)
{
    WISP_NEED(NULL, x);
    if (kind != WISP_RANDOM_TRACE && kind != WISP_RANDOM_GAUSS)
        return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "unknown kind of random vector %d", (int)kind);
    const wisp_map *map = x->map;
    const wisp__random_params p = {.v = wisp__view_of(x),
                                   .reals = wisp__reals(x->type),
                                   .gauss = kind == WISP_RANDOM_GAUSS,
                                   .seed = seed,
                                   .stream = stream,
                                   .first = first,
                                   .first_row = map->first + x->first_row, /* a view of rows has no list of them */
                                   .row = map->user,
                                   .number = map->number ? map->number + x->first_row : NULL};
    return x->ctx->backend->random(x->ctx, &p);
}

wisp_status wisp_blk_fill_units(wisp_blk *x, const int64_t *row)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, row);
    for (int j = 0; j < x->width; j++)
        if (row[j] < 0 || row[j] >= x->map->rows)
            return wisp_ctx_failf(x->ctx, WISP_ERR_ARG, "there is no row %lld; rows are 0 to %lld", (long long)row[j],
                                  (long long)x->map->rows - 1);
    const wisp_map *map = x->map;
    wisp__value one;
    int64_t *only = NULL;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(x->ctx, &only, (size_t)x->width, sizeof *only));
    for (int j = 0; j < x->width; j++) {
        const int64_t local = row[j] - map->first;
        const bool here = local >= 0 && local < map->local;
        const int64_t i = here ? wisp__map_position(map, local) - x->first_row : -1;
        only[j] = i < x->nrows ? WISP__MAX(i, -1) : -1;
    }
    wisp__store(x->type, &one, (wisp_scalar){1, 0});
    status = x->ctx->backend->fill(x->ctx, &(wisp__fill_params){.v = wisp__view_of(x), .value = &one, .only = only});
out:
    wisp_free(x->ctx, only);
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

static wisp__array_params array_of(const wisp_blk *x, wisp_layout layout, int64_t ld)
{
    const bool rows = layout == WISP_ROW_MAJOR;
    return (wisp__array_params){wisp__view_of(x), x->map->user, rows ? ld : 1, rows ? 1 : ld};
}

wisp_status wisp_blk_put(wisp_blk *x, wisp_layout layout, const void *data, int64_t ld)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, data);
    const wisp_status status = check_user_array(x, layout, ld);
    const wisp__array_params p = array_of(x, layout, ld);
    return status == WISP_OK ? x->ctx->backend->put(x->ctx, &p, data) : status;
}

wisp_status wisp_blk_get(const wisp_blk *x, wisp_layout layout, void *data, int64_t ld)
{
    WISP_NEED(NULL, x);
    WISP_NEED(x->ctx, data);
    const wisp_status status = check_user_array(x, layout, ld);
    const wisp__array_params p = array_of(x, layout, ld);
    if (status != WISP_OK) return status;
    wisp__count(&x->ctx->round_trips, 1);
    return x->ctx->backend->get(x->ctx, &p, data);
}
