/* Runs kernels that ptx2c.py has translated: items of a group are contexts that take turns at barriers, in an order of
   a seed; groups go to two threads. */
#include "run.h"
#include "kernel/turns.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { STACK = (64 << 10) + TURN_APART, THREADS = 2 };

/* What a launch's threads know of each other. */
typedef struct {
    atomic_uint next; /* group */
    struct {
        _Alignas(64) atomic_ulong steps; /* all that its items have done, but for looks: barriers, ends */
        atomic_ulong looks;
        atomic_int live;
    } of[THREADS];
} whole;

typedef struct {
    run r;
    uint64_t seed;
    whole *all;
    int number;
    unsigned long steps, looks[THREADS]; /* when it began to wait */
    char *stacks;
    turn_place back, *place; /* of each item */
    jmp_buf alone;           /* where items that are alone end */
    uint32_t item, group;    /* that failed */
} worker;

/* A wait never ends if all threads wait, and each has looked many times since anything else was done. So a thread that
   does not get a core is waited for. */
static void waits(run *r, item *t)
{
    enum { MANY = 1 << 16 };
    worker *w = (worker *)(void *)r; /* its first member */
    whole *all = w->all;
    int stuck = 1;
    sched_yield();
    atomic_fetch_add(&all->of[w->number].looks, 1);
    unsigned long steps = 0;
    for (int i = 0; i < THREADS; i++) steps += atomic_load(&all->of[i].steps);
    for (int i = 0; i < THREADS; i++) {
        const unsigned long looks = atomic_load(&all->of[i].looks);
        if (steps != w->steps) w->looks[i] = looks;
        stuck &= !atomic_load(&all->of[i].live) || looks - w->looks[i] > MANY;
    }
    w->steps = steps;
    if (stuck) item_fails(t, RUN_ENDLESS, 0, 0);
}

/* Nobody else counts here. */
static void step(worker *w)
{
    atomic_ulong *steps = &w->all->of[w->number].steps;
    atomic_store_explicit(steps, atomic_load_explicit(steps, memory_order_relaxed) + 1, memory_order_release);
}

static void pass(item *t)
{
    worker *w = (worker *)(void *)t->r;
    step(w);
    turn_pass(w->place + t->id, &w->back);
}

static void barrier(run *r, item *t)
{
    if (r->alone) item_fails(t, RUN_BARRIER, 0, 0);
    t->barriers++;
    pass(t);
}

static __attribute__((noreturn)) void ends(run *r, item *t)
{
    worker *w = (worker *)(void *)r;
    t->ended = 1;
    if (r->alone) _longjmp(w->alone, 1);
    t->cut = 1;
    turn_pass(w->place + t->id, &w->back);
    __builtin_unreachable(); /* its context begins anew */
}

static _Thread_local item *beginner; /* of a context, which has no arguments */
static void begins(void)
{
    item *t = beginner;
    for (;;) {
        t->r->entry->call(t->r, t, t->r->params);
        t->ended = 1;
        pass(t);
    }
}

/* Until a barrier, or its end. */
static void resume(worker *w, item *t)
{
    beginner = t;
    turn_pass(&w->back, w->place + t->id);
}

/* On this stack, for there are no barriers. */
static __attribute__((noinline)) void run_alone(worker *w, item *t)
{
    if (_setjmp(w->alone)) return;
    w->r.entry->call(&w->r, t, w->r.params);
    t->ended = 1;
    step(w);
}

static void set_up(worker *w, item *t)
{
    turn_begin(w->place + t->id, w->stacks + (size_t)STACK * t->id, STACK, begins);
    t->cut = 0;
}

/* In which order items go on: from one of them, up or down. */
typedef struct {
    uint32_t next, step, items;
} order_of_turn;
static order_of_turn order_of(const worker *w, uint32_t group, uint32_t turn)
{
    uint64_t h = w->seed * UINT64_C(0x9e3779b97f4a7c15) + group * UINT64_C(0xbf58476d1ce4e5b9) + turn;
    h ^= h >> 31, h *= UINT64_C(0x94d049bb133111eb), h ^= h >> 29;
    if (w->seed == 0) h = 0;
    const uint32_t n = w->r.items, at = (uint32_t)((h >> 8) % n);
    return (order_of_turn){h & 1 ? n - 1 - at : at, h & 1 ? n - 1 : 1, n};
}

static uint32_t in_turn(order_of_turn *o)
{
    const uint32_t at = o->next;
    o->next += o->step;
    if (o->next >= o->items) o->next -= o->items;
    return at;
}

static int group_failed(worker *w, const item *t)
{
    if (!w->r.failed) return 0;
    w->item = t->id, w->group = t->group;
    return 1;
}

static int run_group(worker *w, uint32_t group)
{
    run *r = &w->r;
    r->alone = 0;
    memset(r->shared, 0xff, r->shared_bytes); /* NaN: nobody counts on zeros */
    for (uint32_t i = 0; i < r->items; i++) {
        item *t = r->item + i;
        if (t->cut) set_up(w, t);
        t->group = group, t->barriers = t->ended = 0, t->looks = 0;
    }
    for (uint32_t turn = 0;; turn++) {
        uint32_t ended = 0;
        order_of_turn order = order_of(w, group, turn);
        for (uint32_t i = 0; i < r->items; i++) {
            item *t = r->item + in_turn(&order);
            if (r->alone)
                run_alone(w, t);
            else
                resume(w, t);
            if (group_failed(w, t)) return r->failed;
            if (turn == 0 && i == 0) r->alone = t->ended;
            ended += (uint32_t)t->ended;
        }
        if (ended == r->items) return 0;
        for (uint32_t i = 0; i < r->items; i++) {
            const item *t = r->item + i;
            if (t->ended || t->barriers != r->item->barriers) {
                r->failed = RUN_BARRIER;
                return group_failed(w, t);
            }
        }
    }
}

static int room(worker *w)
{
    run *r = &w->r;
    const size_t local = r->entry->local_bytes;
    w->stacks = malloc((size_t)STACK * r->items);
    w->place = malloc(sizeof *w->place * r->items);
    r->item = calloc(r->items, sizeof *r->item);
    r->shared = aligned_alloc(64, (r->shared_bytes + 64) / 64 * 64);
    char *locals = malloc(local * r->items + 1);
    if (!w->stacks || !w->place || !r->item || !r->shared || !locals) {
        free(locals);
        return RUN_NO_MEMORY;
    }
    memset(locals, 0xff, local * r->items);
    for (uint32_t i = 0; i < r->items; i++) {
        r->item[i] = (item){.r = r, .id = i, .local = locals + local * i};
        set_up(w, r->item + i);
    }
    return 0;
}

static void *work(void *arg)
{
    worker *w = arg;
    run *r = &w->r;
    r->failed = room(w);
    for (uint32_t g; !r->failed && (g = atomic_fetch_add(&w->all->next, 1)) < r->groups;) run_group(w, g);
    if (r->failed) atomic_store(&w->all->next, r->groups);
    atomic_store(&w->all->of[w->number].live, 0);
    if (r->item) free(r->item->local);
    free(r->item);
    free(r->shared);
    free(w->stacks);
    free(w->place);
    return NULL;
}

int run_launch(const run_memory *memory, const run_entry *entry, char *params, uint32_t groups, uint32_t items,
               uint32_t dynamic_bytes, uint64_t seed, run_failure *failure)
{
    worker w[THREADS];
    pthread_t thread[THREADS];
    int runs[THREADS] = {0};
    whole all = {0};
    memset(w, 0, sizeof w);
    for (int i = 0; i < THREADS; i++) atomic_store(&all.of[i].live, i == 0 || groups > (uint32_t)i);
    for (int i = THREADS - 1; i >= 0; i--) {
        w[i].r = (run){.memory = memory,
                       .entry = entry,
                       .params = params,
                       .items = items,
                       .groups = groups,
                       .shared_bytes = entry->shared_bytes + dynamic_bytes,
                       .dynamic_bytes = dynamic_bytes,
                       .barrier = barrier,
                       .ends = ends,
                       .waits = waits};
        w[i].seed = seed, w[i].all = &all, w[i].number = i;
        if (i > 0) {
            runs[i] = groups > (uint32_t)i && !pthread_create(thread + i, NULL, work, w + i);
            if (!runs[i]) atomic_store(&all.of[i].live, 0);
        } else {
            work(w);
        }
    }
    *failure = (run_failure){0};
    for (int i = 0; i < THREADS; i++) {
        if (runs[i]) pthread_join(thread[i], NULL);
        if (w[i].r.failed && (!failure->failed || failure->failed == RUN_ENDLESS)) /* for another one had failed */
            *failure = (run_failure){w[i].r.failed, w[i].r.address, w[i].r.bytes, w[i].item, w[i].group};
    }
    return failure->failed;
}
