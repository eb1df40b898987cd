/* Messages, progress and cancellation of a context. */
#include "base.h"
#include "futex.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of calls of this thread that had no context. */
static _Thread_local char without[sizeof(((wisp_ctx *)0)->message)];

wisp_status wisp_ctx_fail(wisp_ctx *ctx, wisp_status status, const char *text)
{
    if (ctx) pthread_mutex_lock(&ctx->lock);
    snprintf(ctx ? ctx->message : without, sizeof without, "%s", text ? text : "(no words)");
    if (ctx) atomic_fetch_add(&ctx->complaints, 1);
    if (ctx) pthread_mutex_unlock(&ctx->lock);
    return status;
}

wisp_status wisp_ctx_failf(wisp_ctx *ctx, wisp_status status, const char *format, ...)
{
    WISP_FORMATTED(text, WISP_MESSAGE, format);
    return wisp_ctx_fail(ctx, status, text);
}

const char *wisp_ctx_message(const wisp_ctx *ctx, char *text, size_t size)
{
    pthread_mutex_t *lock = ctx ? (pthread_mutex_t *)&ctx->lock : NULL;
    if (!text || !size) return "";
    if (lock) pthread_mutex_lock(lock);
    snprintf(text, size, "%s", ctx ? ctx->message : without);
    if (lock) pthread_mutex_unlock(lock);
    return text;
}

/* ---- the log function ---------------------------------------------------------------------------

   It is called by one thread at a time, and under no lock, for it may call wisp: what it waits for may be a call of
   another thread that has something to say, too. So whoever comes while a thread is in it leaves the message there, and
   that thread hands it over next. */
struct wisp__said {
    struct wisp__said *next;
    wisp_log_level level;
    char text[WISP_MESSAGE];
};

/* The next message; NULL: there is none, and this thread is through. */
static struct wisp__said *next_said(wisp_ctx *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    struct wisp__said *s = ctx->said;
    if (s) ctx->said = s->next;
    ctx->logging = s != NULL;
    pthread_mutex_unlock(&ctx->lock);
    return s;
}

static void hand_over(void *arg)
{
    wisp_ctx *ctx = arg;
    for (struct wisp__said *s; (s = next_said(ctx));) {
        ctx->opts.log(ctx->opts.log_arg, s->level, s->text);
        free(s);
    }
}

/* Puts it behind the others. True: no thread is at them, so that it is for this one. */
static bool leave_there(wisp_ctx *ctx, struct wisp__said *s)
{
    pthread_mutex_lock(&ctx->lock);
    struct wisp__said **last = &ctx->said;
    while (*last) last = &(*last)->next;
    *last = s;
    const bool mine = !ctx->logging;
    if (mine) ctx->logger = pthread_self();
    ctx->logging = true;
    pthread_mutex_unlock(&ctx->lock);
    return mine;
}

void wisp_ctx_log(wisp_ctx *ctx, wisp_log_level level, const char *text)
{
    if (!ctx || !text || !ctx->opts.log || level > ctx->opts.level) return;
    struct wisp__said *s = malloc(sizeof *s);
    if (!s) return;
    *s = (struct wisp__said){.level = level};
    snprintf(s->text, sizeof s->text, "%s", text);
    if (leave_there(ctx, s)) ctx->aside(ctx, hand_over, ctx);
}

void wisp_ctx_logf(wisp_ctx *ctx, wisp_log_level level, const char *format, ...)
{
    if (!ctx || !ctx->opts.log || level > ctx->opts.level) return;
    WISP_FORMATTED(text, WISP_MESSAGE, format);
    wisp_ctx_log(ctx, level, text);
}

void wisp__log_forked(wisp_ctx *ctx)
{
    pthread_mutex_init(&ctx->lock, NULL); /* another thread may have held it, or been in the log function */
    if (ctx->logging && pthread_equal(ctx->logger, pthread_self())) return;
    ctx->logging = false;
    ctx->said = NULL; /* it may have been changed just then */
}

void wisp__log_once(wisp_ctx *ctx, unsigned bit, wisp_log_level level, const char *message)
{
    if (!(atomic_fetch_or(&ctx->logged_once, bit) & bit)) wisp_ctx_log(ctx, level, message);
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

void wisp__tell_progress(wisp_ctx *ctx, const char *task, double done, double flops)
{
    progress_call c = {ctx, {task, done, flops}};
    if (ctx->opts.progress) ctx->aside(ctx, call_progress, &c);
}

wisp_status wisp_ctx_step(wisp_ctx *ctx, const char *task, double done, double flops)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, task);
    wisp__tell_progress(ctx, task, done, flops);
    const bool held_wish = ctx->ranks > 1 ? ctx->agreed : wisp__held_wish(ctx);
    return wisp__whole(ctx, task, !held_wish && !wisp__cancelled(ctx->team));
}

wisp_status wisp__whole(wisp_ctx *ctx, const char *task, bool whole)
{
    if (whole) return WISP_OK;
    const wisp_status status = ctx->settle ? ctx->settle(ctx) : WISP_OK;
    if (status != WISP_OK && status != WISP_ERR_CANCELLED) return status;
    return wisp_ctx_failf(ctx, WISP_ERR_CANCELLED, "cancelled while %s", task);
}

void wisp__team_cancel(wisp__team *team) { atomic_fetch_or_explicit(&team->cancel, 1, memory_order_relaxed); }

void wisp__team_resume(wisp__team *team)
{
    unsigned now = atomic_load_explicit(&team->cancel, memory_order_relaxed);
    /* If it fails, another thread resumed just now. */
    if (now & 1) atomic_compare_exchange_strong(&team->cancel, &now, now + 1);
}

void wisp__tell_of_tasks(wisp_ctx *ctx)
{
    atomic_fetch_add(&ctx->task_news, 1);
    wisp__futex_wake(&ctx->task_news);
}

/* Either it sees that the context is held, or who holds it or lets it go sees the wish. */
void wisp_ctx_cancel(wisp_ctx *ctx)
{
    if (!ctx) return;
    atomic_store(&ctx->wish, true);
    if (!atomic_load(&ctx->is_held)) wisp__team_cancel(ctx->team);
    if (atomic_load(&ctx->is_held)) wisp__team_resume(ctx->team); /* it began just then */
    wisp__tell_of_tasks(ctx);                                     /* who waits for one that has not begun ends it */
}

void wisp_ctx_resume(wisp_ctx *ctx)
{
    if (!ctx) return;
    atomic_store(&ctx->wish, false);
    wisp__team_resume(ctx->team);
}

void wisp_ctx_hold(wisp_ctx *ctx, int on)
{
    if (!ctx || (!on && ctx->holds == 0)) return;
    ctx->holds += on ? 1 : -1;
    if (ctx->holds != (on ? 1 : 0)) return;
    ctx->agreed = false;
    atomic_store(&ctx->is_held, on != 0);
    if (!on && atomic_load(&ctx->wish)) {
        wisp__team_cancel(ctx->team);
        wisp__tell_of_tasks(ctx);
    }
    if (!on || !wisp__cancelled(ctx->team)) return;
    atomic_store(&ctx->wish, true);
    wisp__team_resume(ctx->team);
}
