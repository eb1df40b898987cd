/* Messages, progress and cancellation of a context. */
#include "base.h"
#include <stdarg.h>
#include <stdio.h>

/* Of calls of this thread that had no context. */
static _Thread_local char without[sizeof(((wisp_ctx *)0)->message)];

wisp_status wisp_ctx_fail(wisp_ctx *ctx, wisp_status status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (ctx) pthread_mutex_lock(&ctx->lock);
    vsnprintf(ctx ? ctx->message : without, sizeof without, format ? format : "(no words)", ap);
    if (ctx) pthread_mutex_unlock(&ctx->lock);
    va_end(ap);
    return status;
}

const char *wisp_ctx_message(const wisp_ctx *ctx) { return ctx ? ctx->message : without; }

void wisp_ctx_log(wisp_ctx *ctx, wisp_log_level level, const char *format, ...)
{
    if (!ctx || !format || !ctx->opts.log || level > ctx->opts.level) return;
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    pthread_mutex_lock(&ctx->lock);
    ctx->opts.log(ctx->opts.log_arg, level, text);
    pthread_mutex_unlock(&ctx->lock);
}

void wisp__log_once(wisp_ctx *ctx, unsigned bit, wisp_log_level level, const char *message)
{
    if (!(atomic_fetch_or(&ctx->logged_once, bit) & bit)) wisp_ctx_log(ctx, level, "%s", message);
}

wisp_status wisp_ctx_step(wisp_ctx *ctx, const char *task, double done, double flops)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, task);
    wisp_progress p = {task, done, flops};
    if (ctx->opts.progress && ctx->opts.progress(ctx->opts.progress_arg, &p)) wisp_ctx_cancel(ctx);
    return wisp__whole(ctx, task, !wisp__cancelled(ctx));
}

wisp_status wisp__whole(wisp_ctx *ctx, const char *task, bool whole)
{
    return whole ? WISP_OK : wisp_ctx_fail(ctx, WISP_ERR_CANCELLED, "cancelled while %s", task);
}

void wisp_ctx_cancel(wisp_ctx *ctx)
{
    if (ctx) atomic_fetch_or_explicit(&ctx->cancel, 1, memory_order_relaxed);
}

void wisp_ctx_resume(wisp_ctx *ctx)
{
    if (!ctx) return;
    unsigned now = atomic_load_explicit(&ctx->cancel, memory_order_relaxed);
    /* If it fails, another thread resumed just now. */
    if (now & 1) atomic_compare_exchange_strong(&ctx->cancel, &now, now + 1);
}
