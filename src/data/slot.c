/* Slots: numbers in the memory of a device. */
#include "slot.h"

wisp_status wisp_slot_create(wisp_slot **slot, wisp_ctx *ctx, int64_t numbers)
{
    wisp_slot *s = NULL;
    wisp_status status;
    WISP_NEED(ctx, slot);
    *slot = NULL;
    WISP_NEED(NULL, ctx);
    if (numbers < 1 || numbers > INT64_MAX / 2)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a slot of %lld numbers", (long long)numbers);
    WISP_TRY(wisp_alloc(ctx, &s, 1, sizeof *s));
    s->ctx = ctx;
    s->numbers = numbers;
    WISP_TRY(ctx->backend->alloc(ctx, &s->at, (size_t)numbers, sizeof(wisp_scalar)));
    *slot = s;
    s = NULL;
out:
    wisp_free(ctx, s);
    return status;
}

void wisp_slot_free(wisp_slot *slot)
{
    if (!slot) return;
    wisp_ctx *ctx = slot->ctx;
    ctx->backend->free(ctx, slot->at);
    wisp_free(ctx, slot);
}

wisp_status wisp__place_at(wisp_ctx *ctx, const char *op, wisp_place place, int64_t count, double **at)
{
    const wisp_slot *s = place.slot;
    *at = NULL;
    if (!s) return WISP_OK;
    if (s->ctx != ctx) return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s: a slot of another context", op);
    if (place.first < 0 || count < 0 || place.first > s->numbers - count)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %lld numbers from %lld on, of a slot of %lld", op,
                              (long long)count, (long long)place.first, (long long)s->numbers);
    *at = s->at + 2 * place.first;
    return WISP_OK;
}

/* Between calls that compute, as they take turns. */
wisp_status wisp_slot_write(wisp_slot *slot, int64_t first, int64_t count, const wisp_scalar *from)
{
    double *at;
    WISP_NEED(NULL, slot);
    WISP_NEED(slot->ctx, from);
    const wisp_status status = wisp__place_at(slot->ctx, "slot_write", (wisp_place){slot, first}, count, &at);
    if (status != WISP_OK) return status;
    return slot->ctx->backend->write(slot->ctx, at, from, (size_t)count * sizeof *from);
}

wisp_status wisp_slot_read(const wisp_slot *slot, int64_t first, int64_t count, wisp_scalar *to)
{
    double *at;
    WISP_NEED(NULL, slot);
    WISP_NEED(slot->ctx, to);
    const wisp_place place = {(wisp_slot *)(uintptr_t)slot, first};
    const wisp_status status = wisp__place_at(slot->ctx, "slot_read", place, count, &at);
    if (status != WISP_OK) return status;
    wisp__count(&slot->ctx->round_trips, 1);
    return slot->ctx->backend->read(slot->ctx, at, to, (size_t)count * sizeof *to);
}

wisp_status wisp__reduce_there(wisp_ctx *ctx, double *at, size_t n)
{
    const wisp__backend *backend = ctx->backend;
    double *host = NULL;
    wisp_status status;
    if (backend->host_memory) return wisp__reduce(ctx, at, n);
    if (ctx->ranks == 1) { /* its sum is there, and ranks that are threads would look for it */
        wisp__count(&ctx->reductions, 1);
        return WISP_OK;
    }
    WISP_TRY(wisp__alloc_raw(ctx, &host, n, sizeof *host));
    WISP_TRY(backend->read(ctx, at, host, n * sizeof *host));
    WISP_TRY(wisp__reduce(ctx, host, n));
    status = backend->write(ctx, at, host, n * sizeof *host);
out:
    wisp_free(ctx, host);
    return status;
}

wisp_status wisp_slot_sum(wisp_slot *slot, int64_t first, int64_t count)
{
    WISP_NEED(NULL, slot);
    wisp_ctx *ctx = slot->ctx;
    double *at;
    ctx->comm->enter(ctx);
    wisp_status status = wisp__place_at(ctx, "slot_sum", (wisp_place){slot, first}, count, &at);
    if (status == WISP_OK) status = wisp__reduce_there(ctx, at, 2 * (size_t)count);
    return ctx->comm->leave(ctx, status);
}
