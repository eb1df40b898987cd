/* Data that moves on the device `far`: calls in its queue, as those of calls.c, but for get and pack, which wait. */
#include "far.h"

static wisp_status run_fill(wisp_ctx *ctx, void *call) { return wisp__backend_cpu.fill(ctx, call); }

wisp_status wisp__far_fill(wisp_ctx *ctx, const wisp__fill_params *p)
{
    const size_t columns = (size_t)p->v.width * sizeof *p->v.column, only = (size_t)p->v.width * sizeof *p->only;
    wisp__fill_params c = *p;
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, padded((size_t)p->v.bytes) + padded(columns) + padded(only), &item));
    c.value = COPIED(item, p->value, (size_t)p->v.bytes);
    c.v.column = COPIED(item, p->v.column, columns);
    c.only = COPIED(item, p->only, only);
    status = WISP__FAR_ENTER(ctx, &c.v.x);
out:
    return SUBMIT(ctx, status, item, run_fill, c);
}

static wisp_status run_random(wisp_ctx *ctx, void *call) { return wisp__backend_cpu.random(ctx, call); }

wisp_status wisp__far_random(wisp_ctx *ctx, const wisp__random_params *p)
{
    const size_t columns = (size_t)p->v.width * sizeof *p->v.column;
    const size_t rows = p->row ? (size_t)p->v.rows * sizeof *p->row : 0;
    const size_t numbers = p->number ? (size_t)p->v.rows * sizeof *p->number : 0;
    wisp__random_params c = *p;
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(wisp__unless_cancelled(ctx, "filling a block"));
    WISP_TRY(ROOM(ctx, c, padded(columns) + padded(rows) + padded(numbers), &item));
    c.v.column = COPIED(item, p->v.column, columns);
    c.row = COPIED(item, p->row, rows);
    c.number = COPIED(item, p->number, numbers);
    status = WISP__FAR_ENTER(ctx, &c.v.x);
out:
    return SUBMIT(ctx, status, item, run_random, c);
}

/* ---- columns ----------------------------------------------------------------------------------- */

typedef struct {
    wisp__columns_params p;
    int64_t rows;
} columns_call;

static wisp_status run_copy_columns(wisp_ctx *ctx, void *call)
{
    const columns_call *c = call;
    return wisp__backend_cpu.copy_columns(ctx, &c->p, c->rows);
}

wisp_status wisp__far_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    const size_t bytes = (size_t)p->width * sizeof *p->from_column;
    columns_call c = {.p = *p, .rows = rows};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, 2 * padded(bytes), &item));
    c.p.from_column = COPIED(item, p->from_column, bytes);
    c.p.to_column = COPIED(item, p->to_column, bytes);
    status = WISP__FAR_ENTER(ctx, &c.p.from, &c.p.to);
out:
    return SUBMIT(ctx, status, item, run_copy_columns, c);
}

/* The array's elements, as they lie in the block but one behind the other, go with the item. */
wisp_status wisp__far_put(wisp_ctx *ctx, const wisp__array_params *p, const void *host)
{
    const wisp__view *v = &p->v;
    const size_t columns = (size_t)v->width * sizeof *v->column;
    const size_t bytes = (size_t)(v->rows * v->width * v->bytes);
    wisp__array_params dense = *p;
    columns_call c = {{.to = v->x,
                       .ld_from = v->width,
                       .ld_to = v->ld,
                       .width = v->width,
                       .from_bytes = v->bytes,
                       .to_bytes = v->bytes},
                      v->rows};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, padded(columns) + padded(bytes), &item));
    c.p.to_column = COPIED(item, v->column, columns);
    dense.v.x = wisp__far_copies(item, bytes);
    dense.v.ld = v->width;
    dense.v.column = NULL;
    c.p.from = dense.v.x;
    WISP_TRY(wisp__backend_cpu.put(ctx, &dense, host));
    status = WISP__FAR_ENTER(ctx, &c.p.to);
out:
    return SUBMIT(ctx, status, item, run_copy_columns, c);
}

wisp_status wisp__far_get(wisp_ctx *ctx, const wisp__array_params *p, void *host)
{
    wisp__array_params q = *p;
    wisp_status status;
    WISP_TRY(WISP__FAR_ENTER(ctx, &q.v.x));
    WISP_TRY(wisp__far_finish(ctx));
    status = wisp__backend_cpu.get(ctx, &q, host);
out:
    return status;
}

/* ---- rows for other ranks, and from there ------------------------------------------------------ */

wisp_status wisp__far_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    wisp__rows_params q = *p;
    wisp_status status;
    WISP_TRY(WISP__FAR_ENTER(ctx, &q.x, &q.row));
    WISP_TRY(wisp__far_finish(ctx));
    status = wisp__backend_cpu.pack(ctx, &q, host);
out:
    return status;
}

typedef struct {
    wisp__rows_params p;
    const void *host;
} rows_call;

static wisp_status run_unpack(wisp_ctx *ctx, void *call)
{
    const rows_call *c = call;
    return wisp__backend_cpu.unpack(ctx, &c->p, c->host);
}

wisp_status wisp__far_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    const size_t bytes = (size_t)(p->count * p->bytes);
    rows_call c = {.p = *p};
    wisp__far_item *item = NULL;
    wisp_status status;
    WISP_TRY(ROOM(ctx, c, padded(bytes), &item));
    c.host = COPIED(item, host, bytes);
    status = WISP__FAR_ENTER(ctx, &c.p.x, &c.p.row);
out:
    return SUBMIT(ctx, status, item, run_unpack, c);
}
