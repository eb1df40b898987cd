/* Tasks: one list for the process. A task with units has a thread of its own, so that the threads that it starts
   inherit its mask, and OpenMP, which keeps threads with the one that started them, has none of an earlier task.
   Threads of a context's tasks without units wait for the next of these. */
#include "cpus.h"
#include "task_queue.h"
#include "../base/futex.h"
#include "place.h"
#include <stdlib.h>

/* OpenMP's, if the program has it. */
extern void omp_set_num_threads(int threads) __attribute__((weak));

static _Thread_local wisp_task *current;

wisp_task *wisp_task_current(void) { return current; }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wisp_task *live; /* all that are not over: those that wait, in the order in which they may begin, and others */

static void let_go(wisp_task *t);

/* Those that it comes after: when they are over, so that a long line of tasks goes one by one. */
static void forget_after(wisp_task *t)
{
    for (int i = 0; i < t->o.after_count && t->after; i++)
        if (t->after[i]) let_go(t->after[i]);
    t->o.after_count = 0;
}

static void let_go(wisp_task *t)
{
    if (atomic_fetch_sub(&t->held, 1) > 1) return;
    wisp_ctx *ctx = t->ctx;
    forget_after(t);
    free(t->after);
    free(t->unit);
    free(t->lender);
    free(t);
    wisp__ctx_let_go(ctx);
}

/* ---- the list, under the lock ------------------------------------------------------------------- */

static void put(wisp_task *t)
{
    wisp_task **at = &live;
    while (*at && !(t->o.flags & WISP_TASK_FIRST)) at = &(*at)->next;
    t->next = *at;
    *at = t;
}

static void set_over(wisp_task *t, wisp_status status)
{
    wisp_task **at = &live;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    if (t->state != TASK_WAITS) wisp__task_units_return(t);
    for (wisp_task *child = live; child; child = child->next)
        if (child->parent == t) child->parent = t->parent;
    t->status = status;
    t->state = TASK_OVER;
    wisp__tell_of_tasks(t->ctx);
}

/* Whether it is to wait still; *failed: one that it comes after has failed. */
static bool must_wait(const wisp_task *t, bool *failed)
{
    *failed = false;
    for (int i = 0; i < t->o.after_count; i++) {
        if (t->after[i]->state != TASK_OVER) return true;
        *failed |= t->after[i]->status != WISP_OK;
    }
    return false;
}

static void *work(void *task);

/* A thread for it: an idle one, or a new one on its units. */
static bool give_thread(wisp_task *t)
{
    wisp__tasks *q = t->ctx->tasks;
    pthread_t thread;
    pthread_attr_t attr;
    wisp__units units = {0};
    if (t->o.units == 0 && q->idle > q->ready) {
        t->state = TASK_READY;
        q->ready++;
        wisp__tell_of_tasks(t->ctx);
        return true;
    }
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const bool placed = t->o.units ? wisp__task_units_set(t, &units) : !q->simulated;
    for (int i = 0; t->o.units == 0 && i < q->units; i++) wisp__units_add(&units, q->unit[i].number);
    if (placed) wisp__place_new(&attr, &units);
    const bool there = !pthread_create(&thread, &attr, work, t);
    pthread_attr_destroy(&attr);
    q->threads += there;
    return there;
}

/* Begins all that can. What is over without having begun is let go here: that ends no context, for none is closed
   before its tasks are over. */
static void begin_some(void)
{
    for (wisp_task *t = live, *next; t; t = next) {
        bool failed;
        next = t->next;
        if (t->state != TASK_WAITS) continue;
        const bool waits = must_wait(t, &failed), cancelled = wisp__task_cancelled(t);
        if (!cancelled && (waits || (!failed && !wisp__task_units_take(t)))) continue;
        const bool begins = !cancelled && !failed;
        if (begins) t->state = TASK_RUNS;
        if (begins && give_thread(t)) continue;
        set_over(t, begins ? WISP_ERR_NOMEM : WISP_ERR_CANCELLED);
        forget_after(t);
        let_go(t);
        next = live; /* what comes after it may be next: from the beginning */
    }
}

/* Who waits for news of a context's tasks (one is over, or there is one for idle threads, or no more come; or a cancel)
   takes their number, then looks, then sleeps until there are others. */
static unsigned news_of(const wisp_ctx *ctx) { return atomic_load(&ctx->task_news); }

/* Without the lock. What a cancel ends is ended before, for the one who cancels may not lock. */
static void await_news(wisp_ctx *ctx, unsigned seen)
{
    begin_some();
    pthread_mutex_unlock(&lock);
    wisp__futex_wait(&ctx->task_news, seen, NULL);
    pthread_mutex_lock(&lock);
}

/* ---- a task's thread ---------------------------------------------------------------------------- */

static void run(wisp_task *t)
{
    forget_after(t);
    if (t->o.units && omp_set_num_threads) omp_set_num_threads(t->o.units);
    current = t;
    const wisp_status status = t->o.fn(t, t->o.arg);
    current = NULL;
    pthread_mutex_lock(&lock);
    set_over(t, status);
    begin_some();
    pthread_mutex_unlock(&lock);
}

static wisp_task *find_ready(const wisp_ctx *ctx)
{
    wisp_task *t = live;
    while (t && (t->ctx != ctx || t->state != TASK_READY)) t = t->next;
    return t;
}

/* The next task for an idle thread; NULL: no more come. */
static wisp_task *next_ready(wisp_ctx *ctx)
{
    wisp__tasks *q = ctx->tasks;
    wisp_task *t;
    pthread_mutex_lock(&lock);
    q->idle++;
    for (unsigned seen; seen = news_of(ctx), !(t = find_ready(ctx)) && !q->closing;) await_news(ctx, seen);
    q->idle--;
    if (t) {
        t->state = TASK_RUNS;
        q->ready--;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

static void *work(void *task)
{
    wisp_task *t = task;
    wisp_ctx *ctx = t->ctx;
    for (bool again = true; again && t;) {
        again = t->o.units == 0;
        run(t);
        let_go(t);
        t = again ? next_ready(ctx) : NULL;
    }
    /* The context stays until then, for wisp__tasks_close waits for its threads. They do not hold it, or the last of
       them might end it: late, and MPI is for the thread of the user's alone. */
    pthread_mutex_lock(&lock);
    ctx->tasks->threads--;
    wisp__tell_of_tasks(ctx);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* What the context has for its tasks, made at the first call. */
static wisp_status open_tasks(wisp_ctx *ctx)
{
    pthread_mutex_lock(&lock);
    wisp__tasks *q = ctx->tasks ? NULL : calloc(1, sizeof *q);
    if (q && wisp__task_units_find(q, ctx))
        ctx->tasks = q;
    else
        free(q);
    const bool there = ctx->tasks;
    pthread_mutex_unlock(&lock);
    return there ? WISP_OK : wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for tasks");
}

static wisp_status check(wisp_ctx *ctx, const wisp_task_opts *o)
{
    WISP_NEED(ctx, o);
    if (!o->fn) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_task_start: opts.fn is NULL");
    if (o->units < 0 || o->node < 0 || o->after_count < 0 || o->flags > 15)
        return wisp_ctx_failf(
            ctx, WISP_ERR_ARG,
            "wisp_task_start: opts.units is %d, opts.node %d, opts.flags %u, opts.after_count %d: one can't be",
            o->units, o->node, o->flags, o->after_count);
    for (int i = 0; i < o->after_count; i++) {
        if (!o->after || !o->after[i])
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_task_start: opts.after%s is NULL", o->after ? "[i]" : "");
        if (o->after[i]->ctx != ctx)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a task after one of another context: wait for that one instead");
    }
    return WISP_OK;
}

static wisp_status make(wisp_task **out, wisp_ctx *ctx, const wisp_task_opts *o)
{
    wisp_task *t = calloc(1, sizeof *t);
    if (!t) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for a task");
    atomic_fetch_add(&ctx->held, 1);
    atomic_init(&t->held, 1);
    *out = t;
    t->o = *o;
    t->ctx = ctx;
    t->parent = current;
    t->cancel = atomic_load(&ctx->team->cancel);
    t->o.units = o->flags & WISP_TASK_UNPINNED ? 0 : WISP__MAX(o->units, 1);
    const size_t units = (size_t)t->o.units + 1, after = (size_t)o->after_count + 1;
    t->after = calloc(after, sizeof(wisp_task *));
    t->unit = calloc(units, sizeof *t->unit);
    t->lender = calloc(units, sizeof(wisp_task *));
    if (!t->after || !t->unit || !t->lender)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for a task of %d units", t->o.units);
    for (int i = 0; i < o->after_count; i++) {
        atomic_fetch_add(&o->after[i]->held, 1);
        t->after[i] = o->after[i];
    }
    return WISP_OK;
}

wisp_status wisp_task_start(wisp_task **task, wisp_ctx *ctx, const wisp_task_opts *opts)
{
    wisp_task *t = NULL;
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, task);
    *task = NULL;
    WISP_TRY(check(ctx, opts));
    WISP_TRY(open_tasks(ctx));
    WISP_TRY(make(&t, ctx, opts));
    pthread_mutex_lock(&lock);
    if (!wisp__task_units_suffice(t)) {
        pthread_mutex_unlock(&lock);
        status =
            wisp_ctx_failf(ctx, WISP_ERR_ARG,
                           "a task of %d processing units can never begin: there are %d%s, less those of tasks that "
                           "wait for it",
                           t->o.units, ctx->tasks->units, t->o.node ? " on all nodes" : "");
        goto out;
    }
    atomic_fetch_add(&t->held, 1); /* by the list */
    *task = t;
    put(t);
    begin_some();
    pthread_mutex_unlock(&lock);
    return WISP_OK;
out:
    if (t) let_go(t);
    return status;
}

#define ENDLESS "the task would wait for itself, directly or by way of tasks and units that wait for it"

/* The calling task waits until one of these is over, or all of a context; false: it would wait for ever. */
static bool begin_wait(wisp_task *const *task, int count, const wisp_ctx *closes)
{
    if (!current) return true;
    current->waits = task;
    current->waits_count = count;
    current->closes = closes;
    return wisp__task_ends(live, current);
}

static void end_wait(void)
{
    if (current) current->waits_count = 0, current->closes = NULL;
}

static int first_over(wisp_task *const *task, int count)
{
    for (int i = 0; i < count; i++)
        if (task[i]->state == TASK_OVER) return i;
    return -1;
}

/* The first of the context's tasks to be over; -1: it would wait for ever. */
static int await(wisp_ctx *ctx, wisp_task *const *task, int count)
{
    int which = -1;
    pthread_mutex_lock(&lock);
    if (first_over(task, count) >= 0 || begin_wait(task, count, NULL))
        for (unsigned seen; seen = news_of(ctx), (which = first_over(task, count)) < 0;) await_news(ctx, seen);
    end_wait();
    pthread_mutex_unlock(&lock);
    return which;
}

wisp_status wisp_task_wait_any(wisp_task *const *task, int count, int *which)
{
    WISP_NEED(NULL, task);
    WISP_NEED(NULL, which);
    for (int i = 0; i < count; i++) WISP_NEED(NULL, task[i]);
    if (count < 1) return wisp_ctx_failf(NULL, WISP_ERR_ARG, "no task to wait for");
    wisp_ctx *ctx = task[0]->ctx;
    for (int i = 1; i < count; i++)
        if (task[i]->ctx != ctx)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "tasks of several contexts can't be waited for at once");
    *which = await(ctx, task, count);
    return *which < 0 ? wisp_ctx_failf(ctx, WISP_ERR_ARG, "a wait that never ends: " ENDLESS) : task[*which]->status;
}

wisp_status wisp_task_wait(wisp_task *task)
{
    int which;
    WISP_NEED(NULL, task);
    return wisp_task_wait_any(&task, 1, &which);
}

int wisp_task_over(const wisp_task *task)
{
    if (!task) return 0;
    pthread_mutex_lock(&lock);
    begin_some(); /* what a cancel ends */
    const int over = task->state == TASK_OVER;
    pthread_mutex_unlock(&lock);
    return over;
}

void wisp_task_free(wisp_task *task)
{
    if (!task) return;
    if (await(task->ctx, &task, 1) < 0)
        wisp_ctx_logf(task->ctx, WISP_LOG_WARN, "a task is not freed: " ENDLESS);
    else
        let_go(task);
}

int wisp_task_units(const wisp_task *task, int *unit, int most)
{
    if (!task) return 0;
    pthread_mutex_lock(&lock);
    const int n = task->state == TASK_RUNS ? task->o.units : 0;
    for (int i = 0; i < n && i < most && unit; i++) unit[i] = task->unit[i];
    pthread_mutex_unlock(&lock);
    return n;
}

void wisp_task_pin(const wisp_task *task, int i)
{
    if (!task || task->o.units == 0 || task->ctx->tasks->simulated) return;
    const int n = task->o.units;
    const wisp__units one = wisp__units_one(task->unit[(i % n + n) % n]);
    wisp__place_set_own(&one);
}

int wisp_task_map(wisp_ctx *ctx, wisp_task_place *place, int most)
{
    if (!ctx || open_tasks(ctx) != WISP_OK) return 0;
    const wisp__tasks *q = ctx->tasks;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < q->units && i < most && place; i++) {
        const wisp__task_unit *u = &q->unit[i];
        place[i] = (wisp_task_place){u->number, u->node, wisp__task_unit_has(u->number)};
    }
    pthread_mutex_unlock(&lock);
    return q->units;
}

/* ---- for others of the library ------------------------------------------------------------------ */

int wisp__allowed_cpus(wisp__units *set)
{
    return current && wisp__task_units_set(current, set) ? wisp__units_count(set) : wisp__process_cpus(set);
}

void wisp__tasks_lock(void) { pthread_mutex_lock(&lock); }
void wisp__tasks_unlock(void) { pthread_mutex_unlock(&lock); }

/* Their threads, or the list, hold them no more. But a thread that has just begun may have let go of some that its task
   comes after, and nobody knows of which: these tasks stay held, and so do their contexts. So does one whose thread was
   just about to let go of it. */
void wisp__tasks_forked(void)
{
    for (wisp_task *t = live, *next; t; t = next) {
        next = t->next;
        if (t == current) continue;
        const bool known = t->state != TASK_RUNS || t->o.after_count == 0;
        set_over(t, WISP_ERR_UNSUPPORTED);
        if (known) let_go(t);
    }
}

void wisp__task_threads_forked(wisp_ctx *ctx)
{
    wisp__tasks *q = ctx->tasks;
    if (!q) return;
    q->idle = q->ready = 0;
    q->threads = current && current->ctx == ctx;
}

static bool has_tasks(const wisp_ctx *ctx)
{
    const wisp_task *t = live;
    while (t && t->ctx != ctx) t = t->next;
    return t;
}

bool wisp__tasks_close(wisp_ctx *ctx)
{
    wisp__tasks *q = ctx->tasks;
    if (!q) return true;
    pthread_mutex_lock(&lock);
    const bool ends = begin_wait(NULL, 0, ctx);
    for (unsigned seen; seen = news_of(ctx), ends && has_tasks(ctx);) await_news(ctx, seen);
    end_wait();
    q->closing = ends;
    wisp__tell_of_tasks(ctx);
    for (unsigned seen; seen = news_of(ctx), ends && q->threads > 0;) await_news(ctx, seen);
    pthread_mutex_unlock(&lock);
    if (!ends) wisp_ctx_logf(ctx, WISP_LOG_WARN, "a context is not freed: " ENDLESS);
    return ends;
}

void wisp__tasks_free(wisp_ctx *ctx)
{
    wisp__tasks *q = ctx->tasks;
    if (!q) return;
    free(q->unit);
    free(q);
    ctx->tasks = NULL;
}
