/* What a backend may do or lack. Moving data: then the CPU's does it, on memory that the device lends. Time of
   launches: then the host's clock tells it. */
#include "backend.h"

wisp_status wisp__time_launches(wisp_ctx *ctx, wisp__launch_fn launch, void *arg, int64_t n, double *seconds)
{
    const wisp__backend *backend = ctx->backend;
    wisp_status status;
    if (backend->time_launches) return backend->time_launches(ctx, launch, arg, n, seconds);
    WISP_TRY(backend->finish(ctx));
    const double began = wisp_now();
    for (int64_t i = 0; i < n; i++) WISP_TRY(launch(ctx, arg));
    WISP_TRY(backend->finish(ctx));
    *seconds = (wisp_now() - began) / (double)n;
out:
    return status;
}

wisp_status wisp__lend_view(wisp_ctx *ctx, const wisp__view *v, wisp_access how, void *pointer_to_host)
{
    int columns = v->width;
    for (int j = 0; v->column && j < v->width; j++) columns = WISP__MAX(columns, v->column[j] + 1);
    const size_t bytes = v->rows == 0 ? 0 : (size_t)(((v->rows - 1) * v->ld + columns) * v->bytes);
    if (how == WISP_DISCARD && (v->column || v->ld > v->width)) how = WISP_WRITE;
    wisp__count(&ctx->round_trips, 1);
    return ctx->backend->lend(ctx, v->x, bytes, how, pointer_to_host);
}

wisp_status wisp__fill(wisp_ctx *ctx, const wisp__fill_params *p)
{
    const wisp__backend *backend = ctx->backend;
    wisp__fill_params q = *p;
    if (backend->fill) return backend->fill(ctx, p);
    wisp_status status = wisp__lend_view(ctx, &p->v, WISP_DISCARD, &q.v.x);
    if (status != WISP_OK) return status;
    status = wisp__backend_cpu.fill(ctx, &q);
    backend->unlend(ctx, p->v.x);
    return status;
}

wisp_status wisp__random(wisp_ctx *ctx, const wisp__random_params *p)
{
    const wisp__backend *backend = ctx->backend;
    wisp__random_params q = *p;
    if (backend->random) return backend->random(ctx, p);
    wisp_status status = wisp__lend_view(ctx, &p->v, WISP_DISCARD, &q.v.x);
    if (status != WISP_OK) return status;
    status = wisp__backend_cpu.random(ctx, &q);
    backend->unlend(ctx, p->v.x);
    return status;
}

wisp_status wisp__put(wisp_ctx *ctx, const wisp__array_params *p, const void *host)
{
    const wisp__backend *backend = ctx->backend;
    wisp__array_params q = *p;
    if (backend->put) return backend->put(ctx, p, host);
    wisp_status status = wisp__lend_view(ctx, &p->v, WISP_DISCARD, &q.v.x);
    if (status != WISP_OK) return status;
    status = wisp__backend_cpu.put(ctx, &q, host);
    backend->unlend(ctx, p->v.x);
    return status;
}

wisp_status wisp__get(wisp_ctx *ctx, const wisp__array_params *p, void *host)
{
    const wisp__backend *backend = ctx->backend;
    wisp__array_params q = *p;
    if (backend->get) {
        wisp__count(&ctx->round_trips, 1);
        return backend->get(ctx, p, host);
    }
    wisp_status status = wisp__lend_view(ctx, &p->v, WISP_READ, &q.v.x);
    if (status != WISP_OK) return status;
    status = wisp__backend_cpu.get(ctx, &q, host);
    backend->unlend(ctx, p->v.x);
    return status;
}

wisp_status wisp__copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    const wisp__backend *backend = ctx->backend;
    const wisp__view from = {(void *)(uintptr_t)p->from, rows, p->ld_from, p->from_column, p->width, p->from_bytes},
                     to = {p->to, rows, p->ld_to, p->to_column, p->width, p->to_bytes};
    wisp__columns_params q = *p;
    if (backend->copy_columns) return backend->copy_columns(ctx, p, rows);
    wisp_status status = wisp__lend_view(ctx, &from, WISP_READ, &q.from);
    if (status != WISP_OK) return status;
    status = wisp__lend_view(ctx, &to, WISP_DISCARD, &q.to);
    if (status == WISP_OK) {
        status = wisp__backend_cpu.copy_columns(ctx, &q, rows);
        backend->unlend(ctx, to.x);
    }
    backend->unlend(ctx, from.x);
    return status;
}

/* ---- rows for other ranks, and from there: which wait anyway, and are not counted --------------- */

/* All from the block's first row on: the host need not know which of them are in the list. */
static wisp_status lend_rows(wisp_ctx *ctx, const wisp__rows_params *p, wisp_access how, wisp__rows_params *host)
{
    const wisp__backend *backend = ctx->backend;
    *host = *p;
    wisp_status status = backend->lend(ctx, p->x, WISP__WHOLE_ARRAY, how, &host->x);
    if (status != WISP_OK || !p->row) return status;
    status = backend->lend(ctx, (void *)(uintptr_t)p->row, (size_t)p->count * sizeof *p->row, WISP_READ, &host->row);
    if (status != WISP_OK) backend->unlend(ctx, p->x);
    return status;
}

static void return_rows(wisp_ctx *ctx, const wisp__rows_params *p)
{
    if (p->row) ctx->backend->unlend(ctx, (void *)(uintptr_t)p->row);
    ctx->backend->unlend(ctx, p->x);
}

wisp_status wisp__pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    wisp__rows_params q;
    if (ctx->backend->pack) return ctx->backend->pack(ctx, p, host);
    wisp_status status = lend_rows(ctx, p, WISP_READ, &q);
    if (status != WISP_OK) return status;
    status = wisp__backend_cpu.pack(ctx, &q, host);
    return_rows(ctx, p);
    return status;
}

wisp_status wisp__unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    wisp__rows_params q;
    if (ctx->backend->unpack) return ctx->backend->unpack(ctx, p, host);
    wisp_status status = lend_rows(ctx, p, WISP_WRITE, &q);
    if (status != WISP_OK) return status;
    status = wisp__backend_cpu.unpack(ctx, &q, host);
    return_rows(ctx, p);
    return status;
}
