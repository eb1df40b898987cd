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

typedef struct {
    wisp_ctx *ctx;
    wisp_log_level level;
    const char *text;
} log_call;

static void call_log(void *arg)
{
    const log_call *c = arg;
    pthread_mutex_lock(&c->ctx->lock);
    c->ctx->opts.log(c->ctx->opts.log_arg, c->level, c->text);
    pthread_mutex_unlock(&c->ctx->lock);
}

void wisp_ctx_log(wisp_ctx *ctx, wisp_log_level level, const char *format, ...)
{
    if (!ctx || !format || !ctx->opts.log || level > ctx->opts.level) return;
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    ctx->aside(ctx, call_log, &(log_call){ctx, level, text});
}

void wisp__log_once(wisp_ctx *ctx, unsigned bit, wisp_log_level level, const char *message)
{
    if (!(atomic_fetch_or(&ctx->logged_once, bit) & bit)) wisp_ctx_log(ctx, level, "%s", message);
}

typedef struct {
    wisp_ctx *ctx;
    wisp_progress progress;
} progress_call;

static void call_progress(void *arg)
{
    const progress_call *c = arg;
    if (c->ctx->opts.progress(c->ctx->opts.progress_arg, &c->progress)) wisp_ctx_cancel(c->ctx);
}

wisp_status wisp_ctx_step(wisp_ctx *ctx, const char *task, double done, double flops)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, task);
    progress_call c = {ctx, {task, done, flops}};
    if (ctx->opts.progress) ctx->aside(ctx, call_progress, &c);
    return wisp__whole(ctx, task, !wisp__cancelled(ctx->team));
}

wisp_status wisp__whole(wisp_ctx *ctx, const char *task, bool whole)
{
    return whole ? WISP_OK : wisp_ctx_fail(ctx, WISP_ERR_CANCELLED, "cancelled while %s", task);
}

void wisp__team_cancel(wisp__team *team) { atomic_fetch_or_explicit(&team->cancel, 1, memory_order_relaxed); }

void wisp__team_resume(wisp__team *team)
{
    unsigned now = atomic_load_explicit(&team->cancel, memory_order_relaxed);
    /* If it fails, another thread resumed just now. */
    if (now & 1) atomic_compare_exchange_strong(&team->cancel, &now, now + 1);
}

void wisp_ctx_cancel(wisp_ctx *ctx)
{
    if (ctx) wisp__team_cancel(ctx->team);
}

void wisp_ctx_resume(wisp_ctx *ctx)
{
    if (ctx) wisp__team_resume(ctx->team);
}
