/* Tasks: a queue for each context. A task with units has a thread of its own, so that the threads that it starts
   inherit its mask, and OpenMP, which keeps threads with the one that started them, has none of an earlier task.
   Threads of tasks without units wait for the next of these. */
#include "task_queue.h"
#include <stdlib.h>

/* OpenMP's, if the program has it. */
extern void omp_set_num_threads(int threads) __attribute__((weak));

static _Thread_local wisp_task *current;

wisp_task *wisp_task_current(void) { return current; }

static wisp__tasks *queue_of(const wisp_task *t) { return t->ctx->tasks; }

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

/* ---- the queue, under its lock ------------------------------------------------------------------ */

static void put(wisp__tasks *q, wisp_task *t)
{
    const bool first = t->o.flags & WISP_TASK_FIRST;
    t->next = first ? q->first : NULL;
    if (!q->first)
        q->first = q->last = t;
    else if (first)
        q->first = t;
    else
        q->last = q->last->next = t;
}

static void take_out(wisp__tasks *q, wisp_task *t, wisp_task *before)
{
    *(before ? &before->next : &q->first) = t->next;
    if (q->last == t) q->last = before;
    t->next = NULL;
}

/* Whether it is to wait still; *failed: one that it comes after has failed. */
static bool must_wait(const wisp_task *t, bool *failed)
{
    *failed = false;
    for (int i = 0; i < t->o.after_count; i++) {
        if (!t->after[i]->over) return true;
        *failed |= t->after[i]->status != WISP_OK;
    }
    return false;
}

static void *work(void *task);

/* A thread for it: an idle one, or a new one on its units. */
static bool give_thread(wisp__tasks *q, wisp_task *t)
{
    pthread_t thread;
    pthread_attr_t attr;
    cpu_set_t units;
    if (t->o.units == 0 && q->idle > q->readies) {
        t->next = q->ready;
        q->ready = t;
        q->readies++;
        return true;
    }
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const bool placed = t->o.units ? wisp__task_units_set(q, t, &units) : !q->simulated;
    for (int i = 0; t->o.units == 0 && i < q->units; i++) {
        if (i == 0) CPU_ZERO(&units);
        CPU_SET((size_t)q->unit[i].number, &units);
    }
    if (placed) pthread_attr_setaffinity_np(&attr, sizeof units, &units);
    const bool there = !pthread_create(&thread, &attr, work, t);
    pthread_attr_destroy(&attr);
    q->threads += there;
    return there;
}

static void set_over(wisp_task *t, wisp_status status)
{
    t->status = status;
    t->over = true;
}

/* Begins all that can; what is over without having begun goes to *dropped, to be let go without the lock. */
static void begin_some(wisp__tasks *q, wisp_task **dropped)
{
    for (wisp_task *t = q->first, *before = NULL, *next; t; t = next) {
        bool failed;
        next = t->next;
        const bool waits = must_wait(t, &failed), cancelled = wisp__cancelled(t->ctx->team);
        if (!cancelled && (waits || (!failed && !wisp__task_units_take(q, t)))) {
            before = t;
            continue;
        }
        take_out(q, t, before);
        t->begun = !cancelled && !failed;
        if (t->begun && give_thread(q, t)) {
            q->running++;
            continue;
        }
        if (t->begun) wisp__task_units_return(q, t);
        set_over(t, t->begun ? WISP_ERR_NOMEM : WISP_ERR_CANCELLED);
        t->next = *dropped;
        *dropped = t;
        before = NULL; /* what comes after it may be next: from the beginning */
        next = q->first;
    }
    pthread_cond_broadcast(&q->news);
}

/* After a change: begins what can, and unlocks. */
static void go_on(wisp__tasks *q)
{
    wisp_task *dropped = NULL, *next;
    begin_some(q, &dropped);
    pthread_mutex_unlock(&q->lock);
    for (; dropped; dropped = next) {
        next = dropped->next;
        forget_after(dropped);
        let_go(dropped);
    }
}

/* ---- a task's thread ---------------------------------------------------------------------------- */

static void run(wisp__tasks *q, wisp_task *t)
{
    forget_after(t);
    if (t->o.units && omp_set_num_threads) omp_set_num_threads(t->o.units);
    current = t;
    const wisp_status status = t->o.fn(t, t->o.arg);
    current = NULL;
    pthread_mutex_lock(&q->lock);
    wisp__task_units_return(q, t);
    set_over(t, status);
    q->running--;
    go_on(q);
}

/* The next task for an idle thread; NULL: the queue closes. */
static wisp_task *next_ready(wisp__tasks *q)
{
    pthread_mutex_lock(&q->lock);
    q->idle++;
    while (!q->ready && !q->closing) pthread_cond_wait(&q->news, &q->lock);
    wisp_task *t = q->ready;
    q->idle--;
    if (t) {
        q->ready = t->next;
        q->readies--;
        t->next = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    return t;
}

static void *work(void *task)
{
    wisp_task *t = task;
    const wisp_ctx *ctx = t->ctx;
    wisp__tasks *q = ctx->tasks;
    for (bool again = true; again && t;) {
        again = t->o.units == 0;
        run(q, t);
        let_go(t);
        t = again ? next_ready(q) : NULL;
    }
    /* The context stays until then, for wisp__tasks_close waits for its threads. They do not hold it, or the last of
       them might end it: late, and MPI is for the thread of the user's alone. */
    pthread_mutex_lock(&q->lock);
    q->threads--;
    pthread_cond_broadcast(&q->news);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* The context's queue, made at the first call. */
static wisp_status open_queue(wisp_ctx *ctx)
{
    wisp_status status = WISP_OK;
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    wisp__tasks *q = NULL;
    pthread_mutex_lock(&making);
    if (ctx->tasks) goto out;
    if (!(q = calloc(1, sizeof *q)) || !wisp__task_units_find(q, ctx)) {
        status = wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for a queue of tasks");
        goto out;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->news, NULL);
    ctx->tasks = q;
    q = NULL;
out:
    pthread_mutex_unlock(&making);
    free(q);
    return status;
}

static wisp_status check(wisp_ctx *ctx, const wisp_task_opts *o)
{
    WISP_NEED(ctx, o);
    WISP_NEED(ctx, o->fn);
    if (o->units < 0 || o->node < 0 || o->after_count < 0 || o->flags > 15)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "a task with %d units, node %d, flags %u, after %d others", o->units,
                             o->node, o->flags, o->after_count);
    for (int i = 0; i < o->after_count; i++) {
        WISP_NEED(ctx, o->after);
        WISP_NEED(ctx, o->after[i]);
        if (o->after[i]->ctx != ctx)
            return wisp_ctx_fail(ctx, WISP_ERR_ARG, "a task after one of another context: wait for that one instead");
    }
    return WISP_OK;
}

static wisp_status make(wisp_task **out, wisp_ctx *ctx, const wisp_task_opts *o)
{
    wisp_task *t = calloc(1, sizeof *t);
    if (!t) return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for a task");
    atomic_fetch_add(&ctx->held, 1);
    atomic_init(&t->held, 1);
    *out = t;
    t->o = *o;
    t->ctx = ctx;
    t->parent = current && current->ctx == ctx ? current : NULL;
    t->o.units = o->flags & WISP_TASK_UNPINNED ? 0 : WISP__MAX(o->units, 1);
    const size_t units = (size_t)t->o.units + 1, after = (size_t)o->after_count + 1;
    t->after = calloc(after, sizeof(wisp_task *));
    t->unit = calloc(units, sizeof *t->unit);
    t->lender = calloc(units, sizeof(wisp_task *));
    if (!t->after || !t->unit || !t->lender)
        return wisp_ctx_fail(ctx, WISP_ERR_NOMEM, "out of memory for a task of %d units", t->o.units);
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
    WISP_TRY(open_queue(ctx));
    WISP_TRY(make(&t, ctx, opts));
    wisp__tasks *q = ctx->tasks;
    pthread_mutex_lock(&q->lock);
    if (!wisp__task_units_suffice(q, t)) {
        pthread_mutex_unlock(&q->lock);
        status =
            wisp_ctx_fail(ctx, WISP_ERR_ARG,
                          "a task of %d processing units can never begin: there are %d%s, less those of tasks that "
                          "wait for it",
                          t->o.units, q->units, t->o.node ? " on all nodes" : "");
        goto out;
    }
    atomic_fetch_add(&t->held, 1); /* by the queue */
    *task = t;
    put(q, t);
    go_on(q);
    return WISP_OK;
out:
    if (t) let_go(t);
    return status;
}

wisp_status wisp_task_wait_any(wisp_task *const *task, int count, int *which)
{
    WISP_NEED(NULL, task);
    WISP_NEED(NULL, which);
    for (int i = 0; i < count; i++) WISP_NEED(NULL, task[i]);
    if (count < 1) return wisp_ctx_fail(NULL, WISP_ERR_ARG, "no task to wait for");
    wisp__tasks *q = queue_of(task[0]);
    for (int i = 1; i < count; i++)
        if (queue_of(task[i]) != q)
            return wisp_ctx_fail(task[0]->ctx, WISP_ERR_ARG, "tasks of several contexts can't be waited for at once");
    pthread_mutex_lock(&q->lock);
    for (*which = 0; !task[*which]->over; *which = (*which + 1) % count)
        if (*which == count - 1) pthread_cond_wait(&q->news, &q->lock);
    const wisp_status status = task[*which]->status;
    pthread_mutex_unlock(&q->lock);
    return status;
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
    wisp__tasks *q = queue_of(task);
    pthread_mutex_lock(&q->lock);
    const int over = task->over;
    pthread_mutex_unlock(&q->lock);
    return over;
}

void wisp_task_free(wisp_task *task)
{
    if (!task) return;
    wisp_task_wait(task);
    let_go(task);
}

int wisp_task_units(const wisp_task *task, int *unit, int most)
{
    if (!task) return 0;
    wisp__tasks *q = queue_of(task);
    pthread_mutex_lock(&q->lock);
    const int n = task->begun && !task->over ? task->o.units : 0;
    for (int i = 0; i < n && i < most && unit; i++) unit[i] = q->unit[task->unit[i]].number;
    pthread_mutex_unlock(&q->lock);
    return n;
}

void wisp_task_pin(const wisp_task *task, int i)
{
    cpu_set_t one;
    if (!task || task->o.units == 0 || queue_of(task)->simulated) return;
    const int n = task->o.units;
    CPU_ZERO(&one);
    CPU_SET((size_t)queue_of(task)->unit[task->unit[(i % n + n) % n]].number, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int wisp_task_map(wisp_ctx *ctx, wisp_task_place *place, int most)
{
    if (!ctx || open_queue(ctx) != WISP_OK) return 0;
    wisp__tasks *q = ctx->tasks;
    pthread_mutex_lock(&q->lock);
    for (int i = 0; i < q->units && i < most && place; i++)
        place[i] = (wisp_task_place){q->unit[i].number, q->unit[i].node, q->unit[i].has};
    pthread_mutex_unlock(&q->lock);
    return q->units;
}

/* ---- for others of the library ------------------------------------------------------------------ */

bool wisp__task_cpus(cpu_set_t *set) { return current && wisp__task_units_set(queue_of(current), current, set); }

void wisp__tasks_close(wisp_ctx *ctx)
{
    wisp__tasks *q = ctx->tasks;
    if (!q) return;
    pthread_mutex_lock(&q->lock);
    while (q->first || q->running) pthread_cond_wait(&q->news, &q->lock);
    q->closing = true;
    pthread_cond_broadcast(&q->news);
    while (q->threads) pthread_cond_wait(&q->news, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

void wisp__tasks_free(wisp_ctx *ctx)
{
    wisp__tasks *q = ctx->tasks;
    if (!q) return;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->news);
    free(q->unit);
    free(q);
    ctx->tasks = NULL;
}
