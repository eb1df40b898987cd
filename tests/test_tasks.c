/* Tasks: order, units, nodes, nesting, failures, and where their threads run. */
#include "tasks.h"
#include "base/base.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- order -------------------------------------------------------------------------------------- */

static atomic_int clock_now;
static wisp_status stamp(wisp_task *t, void *arg)
{
    assert_ptr_equal(wisp_task_current(), t);
    *(int *)arg = atomic_fetch_add(&clock_now, 1) + 1;
    return WISP_OK;
}

static void priority(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1");
    gate g = GATE;
    int at[4] = {0};
    wisp_task *first = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g}), *t[4];
    await_inside(&g, 1);
    for (int i = 0; i < 4; i++)
        t[i] = start(ctx, (wisp_task_opts){.fn = stamp, .arg = &at[i], .flags = i == 3 ? WISP_TASK_FIRST : 0});
    assert_int_equal(wisp_task_over(t[3]), 0);
    open_gate(&g);
    for (int i = 0; i < 4; i++) end(t[i], WISP_OK);
    end(first, WISP_OK);
    assert_true(at[3] < at[0] && at[0] < at[1] && at[1] < at[2]);
    wisp_ctx_free(ctx);
}

static wisp_status go_wrong(wisp_task *t, void *arg)
{
    (void)t, (void)arg;
    return WISP_ERR_NUMERIC;
}

static void after_failures(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1,1"), *other = ctx_with("1");
    int at[4] = {0};
    wisp_task *bad = start(ctx, (wisp_task_opts){.fn = go_wrong}),
              *good = start(ctx, (wisp_task_opts){.fn = stamp, .arg = &at[0]});
    wisp_task *both[] = {good, bad}, *t;
    wisp_task *late = start(ctx, (wisp_task_opts){.fn = stamp, .arg = &at[1], .after = both, .after_count = 2});
    wisp_task *later = start(ctx, (wisp_task_opts){.fn = stamp, .arg = &at[2], .after = &late, .after_count = 1});
    wisp_task *alien = start(other, (wisp_task_opts){.fn = stamp, .arg = &at[3]});
    wisp_task_free(good);
    end(later, WISP_ERR_CANCELLED);
    end(late, WISP_ERR_CANCELLED);
    end(bad, WISP_ERR_NUMERIC);
    assert_true(at[0] && !at[1] && !at[2]);
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &(wisp_task_opts){.fn = stamp, .after = &alien, .after_count = 1}),
              WISP_ERR_ARG, "another context");
    assert_null(t);
    wisp_task_free(alien);
    wisp_ctx_free(ctx);
    wisp_ctx_free(other);
}

static void cancelled(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1");
    gate g = GATE;
    int at = 0;
    wisp_task *first = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g});
    wisp_task *second = start(ctx, (wisp_task_opts){.fn = stamp, .arg = &at});
    await_inside(&g, 1);
    wisp_ctx_cancel(ctx);
    open_gate(&g);
    end(second, WISP_ERR_CANCELLED);
    end(first, WISP_OK);
    wisp_ctx_resume(ctx);
    assert_int_equal(at, 0);
    wisp_ctx_free(ctx);
}

/* ---- random graphs, of two contexts on the same units ------------------------------------------- */

typedef struct node {
    int id, units;
    const struct node *after[3];
    atomic_int done;
    atomic_int *owner; /* [MOST] of units */
} node;

static wisp_status visit(wisp_task *t, void *arg)
{
    node *n = arg;
    int unit[MOST];
    assert_int_equal(wisp_task_units(t, unit, MOST), n->units);
    for (int i = 0; i < 3; i++) assert_true(!n->after[i] || atomic_load(&n->after[i]->done));
    for (int i = 0; i < n->units; i++) assert_int_equal(atomic_exchange(&n->owner[unit[i]], n->id + 1), 0);
    if (n->id % 7 == 0) sched_yield();
    for (int i = 0; i < n->units; i++) assert_int_equal(atomic_exchange(&n->owner[unit[i]], 0), n->id + 1);
    atomic_store(&n->done, 1);
    return WISP_OK;
}

static void random_graphs(void **state)
{
    (void)state;
    enum { TASKS = 1000 };
    ref_rng r = {3};
    static atomic_int owner[MOST];
    for (int round = 0; round < 3; round++) {
        wisp_ctx *ctx[2] = {ctx_with("1,1,1,2,2,2,3,3"), ctx_with("1,1,1,2,2,2,3,3")};
        node *n = calloc(TASKS, sizeof *n);
        wisp_task *t[TASKS];
        for (int i = 0; i < TASKS; i++) {
            wisp_task *after[3];
            int count = 0;
            n[i].id = i, n[i].owner = owner;
            for (; i > 1 && count < ref_below(&r, 4); count++) {
                const int64_t of = i % 2 + 2 * ref_below(&r, i / 2); /* of the same context */
                after[count] = t[of];
                n[i].after[count] = &n[of];
            }
            const unsigned flags = (unsigned)ref_below(&r, 16) & ~(unsigned)WISP_TASK_NODE_ONLY;
            n[i].units = flags & WISP_TASK_UNPINNED ? 0 : 1 + (int)ref_below(&r, 8);
            t[i] = start(ctx[i % 2], (wisp_task_opts){.fn = visit,
                                                      .arg = &n[i],
                                                      .units = n[i].units,
                                                      .node = (int)ref_below(&r, 4),
                                                      .flags = flags,
                                                      .after = after,
                                                      .after_count = count});
        }
        for (int k = 0; k < 2 && round == 1; k++) wisp_ctx_free(ctx[k]);
        for (int i = 0; i < TASKS; i++) end(t[i], WISP_OK);
        for (int k = 0; k < 2 && round != 1; k++) wisp_ctx_free(ctx[k]);
        free(n);
    }
}

/* ---- units and nodes ---------------------------------------------------------------------------- */

static void nodes(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1,1,2,2");
    gate g = GATE;
    wisp_task *t, *a, *b, *c;
    wisp_task_place place[4];
    int unit[4];
    wisp_task_opts o = {.fn = stand_at, .arg = &g, .units = 2, .node = 2, .flags = WISP_TASK_NODE_ONLY};
    a = start(ctx, o);
    await_inside(&g, 1);
    assert_int_equal(wisp_task_units(a, unit, 4), 2);
    assert_true(unit[0] == 2 && unit[1] == 3);
    o.units = 1;
    b = start(ctx, o); /* its node is taken */
    o.flags = 0;
    c = start(ctx, o); /* it would rather be there */
    await_inside(&g, 2);
    assert_int_equal(wisp_task_units(c, unit, 4), 1);
    assert_int_equal(unit[0], 0);
    assert_int_equal(wisp_task_units(b, unit, 4), 0);
    assert_int_equal(wisp_task_map(ctx, place, 4), 4);
    assert_true(place[0].task == c && !place[1].task && place[2].task == a && place[3].task == a);
    assert_true(place[1].node == 1 && place[2].node == 2);
    open_gate(&g);
    wisp_task *all[] = {a, b, c};
    int which = -1;
    assert_int_equal(wisp_task_wait_any(all, 3, &which), WISP_OK);
    assert_true(which >= 0 && which < 3 && wisp_task_over(all[which]));
    for (int i = 0; i < 3; i++) end(all[i], WISP_OK);
    o.units = 3, o.flags = WISP_TASK_NODE_ONLY;
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "can never begin");
    o.units = 5, o.flags = 0;
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "can never begin");
    o.units = -1;
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "units");
    wisp_ctx_free(ctx);
}

static void without_units(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1");
    gate g = GATE, held = GATE;
    wisp_task *t[5], *first = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &held});
    for (int i = 0; i < 5; i++)
        t[i] = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g, .flags = WISP_TASK_UNPINNED});
    await_inside(&g, 5);
    open_gate(&g);
    for (int i = 0; i < 5; i++) end(t[i], WISP_OK);
    for (int i = 0; i < 500; i++) /* idle threads take them */
        end(start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g, .flags = WISP_TASK_UNPINNED}), WISP_OK);
    open_gate(&held);
    end(first, WISP_OK);
    wisp_ctx_free(ctx);
}

/* ---- nested tasks ------------------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    int units, child; /* that it asks for */
    bool keep;
    wisp_status refused;
    int got[MOST], own[MOST];
} family;

static wisp_status be_child(wisp_task *t, void *arg)
{
    family *f = arg;
    wisp_task_units(t, f->got, MOST);
    return WISP_OK;
}

static wisp_status be_parent(wisp_task *t, void *arg)
{
    family *f = arg;
    wisp_task *child;
    const wisp_task_opts o = {.fn = be_child, .arg = f, .units = f->child};
    wisp_task_units(t, f->own, MOST);
    f->refused = wisp_task_start(&child, f->ctx, &o);
    const wisp_status status = f->refused == WISP_OK ? wisp_task_wait(child) : WISP_OK;
    wisp_task_free(child);
    int again[MOST];
    assert_int_equal(wisp_task_units(t, again, MOST), f->units);
    assert_memory_equal(again, f->own, (size_t)f->units * sizeof *again);
    return status;
}

static void run_family(family *f)
{
    end(start(f->ctx,
              (wisp_task_opts){
                  .fn = be_parent, .arg = f, .units = f->units, .flags = f->keep ? WISP_TASK_KEEP_UNITS : 0}),
        WISP_OK);
}

static void nested(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1,1,1,1");
    family f = {.ctx = ctx, .units = 4, .child = 4};
    run_family(&f);
    assert_int_equal(f.refused, WISP_OK);
    assert_memory_equal(f.got, f.own, 4 * sizeof *f.got);
    f = (family){.ctx = ctx, .units = 3, .child = 2, .keep = true};
    run_family(&f);
    assert_int_equal(f.refused, WISP_ERR_ARG);
    f = (family){.ctx = ctx, .units = 2, .child = 2, .keep = true};
    run_family(&f);
    assert_int_equal(f.refused, WISP_OK);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) assert_true(f.got[i] != f.own[k]);
    wisp_ctx_free(ctx);
}

/* ---- where threads run -------------------------------------------------------------------------- */

static void *own_mask(void *arg)
{
    sched_getaffinity(0, sizeof(cpu_set_t), arg);
    return NULL;
}

static wisp_status look_around(wisp_task *t, void *arg)
{
    const int wanted = *(int *)arg;
    int unit[MOST];
    cpu_set_t units, mask[2];
    pthread_t thread;
    const int n = wisp_task_units(t, unit, MOST);
    assert_int_equal(n, wanted);
    CPU_ZERO(&units);
    for (int i = 0; i < n; i++) CPU_SET((size_t)unit[i], &units);
    own_mask(&mask[0]);
    assert_int_equal(pthread_create(&thread, NULL, own_mask, &mask[1]), 0);
    pthread_join(thread, NULL);
    assert_true(CPU_EQUAL(&mask[0], &units) && CPU_EQUAL(&mask[1], &units));
    wisp_ctx *own;
    assert_int_equal(wisp_ctx_create(&own, &(wisp_ctx_opts){.no_pin = 1, .threads = 0}), WISP_OK);
    if (!getenv("OMP_NUM_THREADS")) assert_int_equal(wisp_ctx_threads(own), n);
    wisp_ctx_free(own);
#ifdef _OPENMP
    int threads = 0;
#pragma omp parallel
    {
        cpu_set_t both;
        own_mask(&both);
        CPU_AND(&both, &both, &units);
        if (CPU_COUNT(&both) == 0 || !CPU_ISSET((size_t)sched_getcpu(), &units)) abort();
        wisp_task_pin(t, omp_get_thread_num());
        if (sched_getcpu() != unit[omp_get_thread_num() % n]) abort();
#pragma omp atomic
        threads++;
    }
    assert_int_equal(threads, n);
#endif
    return WISP_OK;
}

static void places(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with(NULL);
    const int all = wisp_task_map(ctx, NULL, 0);
    for (int n = 1; n <= all && n <= 4; n++)
        end(start(ctx, (wisp_task_opts){.fn = look_around, .arg = &n, .units = n}), WISP_OK);
    wisp_ctx_free(ctx);
}

static void bad_calls(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1");
    wisp_task *t = NULL, *none[1] = {NULL};
    int which, at = 0;
    wisp_task_opts o = {.fn = stamp, .arg = &at};
    assert_int_equal(wisp_task_start(&t, NULL, &o), WISP_ERR_ARG);
    REF_FAILS(ctx, wisp_task_start(NULL, ctx, &o), WISP_ERR_ARG, "NULL");
    REF_FAILS(ctx, wisp_task_start(&t, ctx, NULL), WISP_ERR_ARG, "NULL");
    o.fn = NULL;
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "NULL");
    o.fn = stamp, o.after_count = 1;
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "NULL");
    o.after = none;
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "NULL");
    o = (wisp_task_opts){.fn = stamp, .arg = &at, .flags = 16};
    REF_FAILS(ctx, wisp_task_start(&t, ctx, &o), WISP_ERR_ARG, "flags");
    assert_int_equal(wisp_task_wait(NULL), WISP_ERR_ARG);
    assert_int_equal(wisp_task_wait_any(none, 1, &which), WISP_ERR_ARG);
    assert_int_equal(wisp_task_wait_any(none, 0, &which), WISP_ERR_ARG);
    assert_int_equal(wisp_task_over(NULL) + wisp_task_units(NULL, NULL, 0) + wisp_task_map(NULL, NULL, 0), 0);
    wisp_task_pin(NULL, 0);
    wisp_task_free(NULL);
    assert_null(wisp_task_current());
    assert_int_equal(at, 0);
    wisp_ctx_free(ctx);
}

/* Who frees a context ends it, before that returns, and no thread of a task. */
static void (*true_end)(wisp_ctx *ctx);
static atomic_int ended_here, ended;
static pthread_t main_thread;

static void watched_end(wisp_ctx *ctx)
{
    atomic_fetch_add(&ended_here, pthread_equal(pthread_self(), main_thread) != 0);
    atomic_fetch_add(&ended, 1);
    true_end(ctx);
}

static void ends_where_it_is_freed(void **state)
{
    enum { ROUNDS = 200 };
    (void)state;
    main_thread = pthread_self();
    for (int i = 0; i < ROUNDS; i++) {
        wisp_ctx *ctx = ctx_with("2");
        true_end = ctx->end;
        ctx->end = watched_end;
        for (int k = 0; k < 4; k++) {
            wisp_task *t = start(ctx, (wisp_task_opts){.fn = nothing, .flags = k % 2 ? WISP_TASK_UNPINNED : 0});
            if (i % 2) wisp_task_wait(t);
            wisp_task_free(t);
        }
        wisp_ctx_free(ctx);
        assert_int_equal(atomic_load(&ended), i + 1);
        assert_int_equal(atomic_load(&ended_here), i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(priority),  cmocka_unit_test(after_failures),
                                       cmocka_unit_test(cancelled), cmocka_unit_test(random_graphs),
                                       cmocka_unit_test(nodes),     cmocka_unit_test(without_units),
                                       cmocka_unit_test(nested),    cmocka_unit_test(bad_calls),
                                       cmocka_unit_test(places),    cmocka_unit_test(ends_where_it_is_freed)};
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a task's thread has nowhere else to go */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
