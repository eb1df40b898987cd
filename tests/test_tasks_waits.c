/* Tasks that do not wait for their children, and those that would wait for ever; units that contexts share. */
#include "tasks.h"
#include <signal.h>
#include <stdbool.h>
#include <stdatomic.h>

static bool all_free(wisp_ctx *ctx)
{
    wisp_task_place place[MOST];
    const int n = wisp_task_map(ctx, place, MOST);
    for (int i = 0; i < n; i++)
        if (place[i].task) return false;
    return true;
}

/* ---- parents that end first ---------------------------------------------------------------------- */

/* Starts a child at the gate, and ends when that is there: `generations` of them, each on the unit of the last one. */
typedef struct {
    wisp_ctx *ctx;
    gate *g;
    int generations, units;
    wisp_task *child[3];
} line;

static wisp_status leave_a_child(wisp_task *t, void *arg)
{
    line *l = arg;
    (void)t;
    if (l->generations == 0) return stand_at(t, l->g);
    wisp_task **child = &l->child[--l->generations];
    *child = start(l->ctx, (wisp_task_opts){.fn = leave_a_child, .arg = l, .units = l->units});
    await_inside(l->g, 1);
    return WISP_OK;
}

static void parents_end_first(void **state)
{
    (void)state;
    for (int units = 1; units <= 2; units++) {
        wisp_ctx *ctx = ctx_with("1,1");
        gate g = GATE;
        line l = {.ctx = ctx, .g = &g, .generations = 3, .units = units};
        wisp_task_place place[2];
        wisp_task *first = start(ctx, (wisp_task_opts){.fn = leave_a_child, .arg = &l, .units = units});
        await_inside(&g, 1);
        end(first, WISP_OK); /* then some in the middle of the line */
        end(l.child[2], WISP_OK);
        end(l.child[1], WISP_OK);
        wisp_task_map(ctx, place, 2);
        assert_true(place[0].task == l.child[0] && (units == 1) == !place[1].task);
        wisp_task *next = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g, .units = 2});
        assert_int_equal(wisp_task_units(next, NULL, 0), 0);
        open_gate(&g);
        assert_int_equal(wisp_task_wait(l.child[0]), WISP_OK);
        await_inside(&g, 2); /* it has begun */
        end(next, WISP_OK);
        wisp_task_free(l.child[0]);
        assert_true(all_free(ctx));
        wisp_ctx_free(ctx);
    }
}

/* A child that has not begun when its parent ends borrows nothing of it, nor of who has its memory by then. */
typedef struct {
    wisp_ctx *ctx;
    wisp_task *child;
    gate *at;
} waiting_child;

static wisp_status leave_one_waiting(wisp_task *t, void *arg)
{
    waiting_child *w = arg;
    (void)t;
    w->child = start(w->ctx, (wisp_task_opts){.fn = stand_at, .arg = w->at, .units = 2});
    return WISP_OK;
}

static void children_begin_later(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1,1");
    gate held = GATE, at = GATE;
    waiting_child w = {.ctx = ctx, .at = &at};
    wisp_task *other = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &held});
    end(start(ctx, (wisp_task_opts){.fn = leave_one_waiting, .arg = &w}), WISP_OK);
    wisp_task *later = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &held});
    await_inside(&held, 2);
    assert_int_equal(wisp_task_units(w.child, NULL, 0), 0);
    open_gate(&held);
    await_inside(&at, 1);
    assert_int_equal(wisp_task_units(w.child, NULL, 0), 2);
    open_gate(&at);
    end(w.child, WISP_OK);
    end(other, WISP_OK);
    end(later, WISP_OK);
    assert_true(all_free(ctx));
    wisp_ctx_free(ctx);
}

/* Random families, of which nobody waits for anybody. */
enum { FAMILY = 400 };
typedef struct {
    wisp_ctx *ctx[2];
    wisp_task *task[FAMILY];
    atomic_int tasks, ran;
} families;

static wisp_status have_children(wisp_task *t, void *arg)
{
    families *f = arg;
    (void)t;
    atomic_fetch_add(&f->ran, 1);
    for (int k = 0; k < 2; k++) {
        const int i = atomic_fetch_add(&f->tasks, 1);
        if (i >= FAMILY) return WISP_OK;
        wisp_ctx *ctx = f->ctx[i / 3 % 2];
        wisp_task_opts o = {.fn = have_children, .arg = f, .units = 1 + i % 3, .flags = i % 5 ? 0 : WISP_TASK_FIRST};
        if (wisp_task_start(&f->task[i], ctx, &o) == WISP_OK) continue;
        o.flags = WISP_TASK_UNPINNED; /* its ancestors have all units */
        f->task[i] = start(ctx, o);
    }
    return WISP_OK;
}

static void families_of_all_kinds(void **state)
{
    (void)state;
    families f = {.ctx = {ctx_with("1,1,1,2"), ctx_with("1,1,1,2")}};
    atomic_store(&f.tasks, 1);
    f.task[0] = start(f.ctx[0], (wisp_task_opts){.fn = have_children, .arg = &f});
    for (int i = 0; i < FAMILY; i++) end(f.task[i], WISP_OK); /* its parent is over, so it is there */
    assert_int_equal(f.ran, FAMILY);
    assert_true(all_free(f.ctx[0]));
    for (int i = 0; i < 2; i++) wisp_ctx_free(f.ctx[i]);
}

/* ---- two contexts -------------------------------------------------------------------------------- */

static void contexts_share_units(void **state)
{
    (void)state;
    wisp_ctx *one = ctx_with("1,1"), *two = ctx_with("1");
    gate g = GATE, late = GATE;
    wisp_task_place place[2];
    wisp_task *a = start(one, (wisp_task_opts){.fn = stand_at, .arg = &g});
    wisp_task *b = start(two, (wisp_task_opts){.fn = stand_at, .arg = &late});
    wisp_task *c = start(one, (wisp_task_opts){.fn = stand_at, .arg = &g});
    await_inside(&g, 2);
    assert_int_equal(wisp_task_units(b, NULL, 0), 0); /* its one unit is taken */
    assert_int_equal(wisp_task_map(two, place, 1), 1);
    assert_true(place[0].task == a);
    wisp_task_map(one, place, 2);
    assert_true(place[0].task == a && place[1].task == c);
    open_gate(&g);
    end(a, WISP_OK);
    end(c, WISP_OK);
    await_inside(&late, 1);
    wisp_task_map(one, place, 2);
    assert_true(place[0].task == b && !place[1].task);
    wisp_ctx_free(one); /* b stays */
    open_gate(&late);
    end(b, WISP_OK);
    assert_true(all_free(two));
    wisp_ctx_free(two);
}

/* A task in one context lends its units to tasks that it starts in another one. */
typedef struct {
    wisp_ctx *other;
    unsigned flags; /* of the parent */
    int units;      /* that the child has */
} lending;

static wisp_status count_units(wisp_task *t, void *arg)
{
    ((lending *)arg)->units = wisp_task_units(t, NULL, 0);
    return WISP_OK;
}

static wisp_status start_elsewhere(wisp_task *t, void *arg)
{
    lending *l = arg;
    wisp_task *child;
    (void)t;
    const wisp_task_opts o = {.fn = count_units, .arg = l, .units = 2};
    if (l->flags & WISP_TASK_KEEP_UNITS)
        REF_FAILS(l->other, wisp_task_start(&child, l->other, &o), WISP_ERR_ARG, "can never begin");
    else
        end(start(l->other, o), WISP_OK);
    return WISP_OK;
}

static void units_lent_to_another_context(void **state)
{
    (void)state;
    wisp_ctx *one = ctx_with("1,1"), *two = ctx_with("1,1");
    for (unsigned flags = 0; flags <= WISP_TASK_KEEP_UNITS; flags += WISP_TASK_KEEP_UNITS) {
        lending l = {.other = two, .flags = flags};
        end(start(one, (wisp_task_opts){.fn = start_elsewhere, .arg = &l, .flags = flags}), WISP_OK);
        assert_int_equal(l.units, flags ? 0 : 2);
    }
    wisp_ctx_free(one);
    wisp_ctx_free(two);
}

/* ---- waits that would never end ------------------------------------------------------------------ */

static void listen(void *arg, wisp_log_level level, const char *message)
{
    if (level == WISP_LOG_WARN && strstr(message, "not freed: the task would wait for itself"))
        atomic_fetch_add((atomic_int *)arg, 1);
}

static wisp_status be_selfish(wisp_task *t, void *arg)
{
    wisp_ctx *ctx = arg;
    int which;
    REF_FAILS(ctx, wisp_task_wait(t), WISP_ERR_ARG, "never ends");
    REF_FAILS(ctx, wisp_task_wait_any(&t, 1, &which), WISP_ERR_ARG, "never ends");
    assert_int_equal(which, -1);
    wisp_task_free(t);
    wisp_ctx_free(ctx);
    assert_int_equal(wisp_task_over(t), 0);
    return WISP_ERR_NUMERIC;
}

static void of_oneself(void **state)
{
    (void)state;
    atomic_int told = 0;
    wisp_ctx *ctx = ctx_that_logs("1", listen, &told);
    end(start(ctx, (wisp_task_opts){.fn = be_selfish, .arg = ctx}), WISP_ERR_NUMERIC);
    end(start(ctx, (wisp_task_opts){.fn = be_selfish, .arg = ctx, .flags = WISP_TASK_UNPINNED}), WISP_ERR_NUMERIC);
    assert_int_equal(told, 4);
    assert_true(all_free(ctx));
    wisp_ctx_free(ctx);
}

/* Each task waits at the gate, then for the next one, the last one for the first. */
enum { CIRCLE = 5 };
typedef struct {
    gate g;
    int tasks;
    wisp_task *task[CIRCLE];
    wisp_ctx *frees; /* the last one frees it instead */
    atomic_int refused, begun;
} circle;

static wisp_status wait_for_next(wisp_task *t, void *arg)
{
    circle *c = arg;
    const int me = atomic_fetch_add(&c->begun, 1);
    stand_at(t, &c->g);
    if (c->frees && me == c->tasks - 1) {
        wisp_ctx_free(c->frees);
        return WISP_OK;
    }
    int i = 0;
    while (c->task[i] != t) i++;
    const wisp_status status = wisp_task_wait(c->task[(i + 1) % c->tasks]);
    if (status != WISP_OK) assert_int_equal(status, WISP_ERR_ARG);
    atomic_fetch_add(&c->refused, status != WISP_OK);
    return WISP_OK;
}

static void in_circles(void **state)
{
    (void)state;
    wisp_ctx *ctx[2] = {ctx_with("1,1,1,1,1"), ctx_with("1,1,1,1,1")};
    for (int tasks = 2; tasks <= CIRCLE; tasks++) {
        circle c = {.g = GATE, .tasks = tasks};
        for (int i = 0; i < tasks; i++)
            c.task[i] = start(ctx[i % 2],
                              (wisp_task_opts){.fn = wait_for_next, .arg = &c, .flags = i ? 0 : WISP_TASK_UNPINNED});
        await_inside(&c.g, tasks);
        open_gate(&c.g);
        for (int i = 0; i < tasks; i++) wisp_task_wait(c.task[i]);
        for (int i = 0; i < tasks; i++) end(c.task[i], WISP_OK);
        assert_int_equal(c.refused, 1); /* the last one that would have waited */
    }
    for (int i = 0; i < 2; i++) wisp_ctx_free(ctx[i]);
}

/* Waits for what it is told to. */
typedef struct {
    gate g;
    int count, which;
    wisp_task *task[2];
    wisp_status got;
} waiter;

static wisp_status wait_for_any(wisp_task *t, void *arg)
{
    waiter *w = arg;
    stand_at(t, &w->g);
    w->got = wisp_task_wait_any(w->task, w->count, &w->which);
    return WISP_OK;
}

static void for_what_cannot_begin(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1,1");
    for (int by_units = 0; by_units < 2; by_units++) {
        waiter w = {.g = GATE, .count = 1};
        wisp_task *t = start(ctx, (wisp_task_opts){.fn = wait_for_any, .arg = &w});
        wisp_task_opts o = {.fn = nothing};
        if (by_units)
            o.units = 2; /* one of which t has, and does not lend, for it has not started this one */
        else
            o.after = &t, o.after_count = 1;
        w.task[0] = start(ctx, o);
        wisp_task *behind = start(ctx, (wisp_task_opts){.fn = nothing, .after = w.task, .after_count = 1});
        if (by_units) w.task[1] = w.task[0], w.task[0] = behind, w.count = 2;
        open_gate(&w.g);
        end(t, WISP_OK);
        assert_int_equal(w.got, WISP_ERR_ARG);
        assert_int_equal(w.which, -1);
        end(behind, WISP_OK);
        end(w.task[by_units], WISP_OK);
    }
    wisp_ctx_free(ctx);
}

/* What only looks like a circle. */
static void that_end(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with("1,1");
    gate g = GATE;
    waiter a = {.g = GATE, .count = 2}, b = {.g = GATE, .count = 1};
    wisp_task *held = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g});
    wisp_task *first = start(ctx, (wisp_task_opts){.fn = wait_for_any, .arg = &a});
    a.task[0] = first, a.task[1] = held; /* itself, or another */
    wisp_task *late = start(ctx, (wisp_task_opts){.fn = nothing, .after = &first, .after_count = 1});
    wisp_task *second = start(ctx, (wisp_task_opts){.fn = wait_for_any, .arg = &b, .flags = WISP_TASK_UNPINNED});
    b.task[0] = late; /* which needs units, too */
    open_gate(&a.g);
    open_gate(&b.g);
    open_gate(&g);
    end(second, WISP_OK);
    end(first, WISP_OK);
    end(late, WISP_OK);
    end(held, WISP_OK);
    assert_int_equal(a.got, WISP_OK);
    assert_int_equal(a.which, 1);
    assert_int_equal(b.got, WISP_OK);
    wisp_ctx_free(ctx);
}

/* A task frees a context whose task waits for it. */
static void for_a_context(void **state)
{
    (void)state;
    atomic_int told = 0;
    wisp_ctx *ctx = ctx_with("1"), *other = ctx_that_logs("1,1", listen, &told);
    circle c = {.g = GATE, .tasks = 2, .frees = other};
    c.task[0] = start(other, (wisp_task_opts){.fn = wait_for_next, .arg = &c, .flags = WISP_TASK_UNPINNED});
    await_inside(&c.g, 1);
    c.task[1] = start(ctx, (wisp_task_opts){.fn = wait_for_next, .arg = &c});
    await_inside(&c.g, 2);
    open_gate(&c.g);
    assert_int_equal(wisp_task_wait(c.task[1]), WISP_OK);
    end(c.task[0], WISP_OK);
    end(c.task[1], WISP_OK);
    assert_int_equal(told + c.refused, 1);
    if (told) wisp_ctx_free(other);
    wisp_ctx_free(ctx);
}

/* Everybody waits for anybody, and all end. */
enum { CROWD = 200 };
typedef struct {
    atomic_int started;
    wisp_task *task[CROWD];
} crowd;
typedef struct {
    crowd *c;
    int whom[3];
} one_of_crowd;

static wisp_status wait_for_others(wisp_task *t, void *arg)
{
    one_of_crowd *one = arg;
    (void)t;
    for (int i = 0; i < 3; i++)
        if (one->whom[i] < atomic_load(&one->c->started)) {
            const wisp_status status = wisp_task_wait(one->c->task[one->whom[i]]);
            assert_true(status == WISP_OK || status == WISP_ERR_ARG);
        }
    return WISP_OK;
}

static void of_a_crowd(void **state)
{
    (void)state;
    static crowd c;
    static one_of_crowd one[CROWD];
    ref_rng r = {7};
    wisp_ctx *ctx[2] = {ctx_with("1,1,1,2"), ctx_with("1,1,1")};
    for (int i = 0; i < CROWD; i++) {
        one[i].c = &c;
        for (int k = 0; k < 3; k++) one[i].whom[k] = (int)ref_below(&r, CROWD);
        c.task[i] = start(ctx[i % 2], (wisp_task_opts){.fn = wait_for_others,
                                                       .arg = &one[i],
                                                       .units = 1 + i % 3,
                                                       .flags = i % 4 ? 0 : WISP_TASK_UNPINNED});
        atomic_store(&c.started, i + 1);
    }
    for (int i = 0; i < CROWD; i++) wisp_task_wait(c.task[i]);
    for (int i = 0; i < CROWD; i++) end(c.task[i], WISP_OK);
    assert_true(all_free(ctx[0]));
    for (int i = 0; i < 2; i++) wisp_ctx_free(ctx[i]);
}

/* ---- cancels ------------------------------------------------------------------------------------- */

static void *wait_outside(void *task) { return (void *)(intptr_t)wisp_task_wait(task); }

static wisp_ctx *to_cancel;
static void cancel_it(int number)
{
    (void)number;
    wisp_ctx_cancel(to_cancel);
}

/* What waits to begin is over at once, though what it waits for goes on; so are the waits for it, of a thread and of a
   task; by a signal that comes to the thread that waits, or to another one; even if it is resumed before anybody looks.
 */
static void cancel_wakes(void **state)
{
    (void)state;
    const struct sigaction act = {.sa_handler = cancel_it};
    assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
    wisp_ctx *ctx = to_cancel = ctx_with("1,1");
    for (int round = 0; round < 60; round++) {
        gate g = GATE;
        waiter w = {.g = GATE, .count = 1};
        pthread_t thread;
        void *got;
        wisp_task *held = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g});
        wisp_task *late = start(ctx, (wisp_task_opts){.fn = nothing, .after = &held, .after_count = 1}), *t;
        w.task[0] = late;
        t = start(ctx, (wisp_task_opts){.fn = wait_for_any, .arg = &w});
        open_gate(&w.g);
        if (round % 2) assert_int_equal(pthread_create(&thread, NULL, wait_outside, late), 0);
        if (round % 3 == 0)
            wisp_ctx_cancel(ctx);
        else
            assert_int_equal(pthread_kill(round % 2 ? thread : pthread_self(), SIGUSR1), 0);
        if (round % 3) wisp_ctx_resume(ctx);
        if (round % 2 == 0) assert_int_equal(wisp_task_over(late), 1);
        assert_int_equal(wisp_task_wait(t), WISP_OK);
        assert_int_equal(w.got, WISP_ERR_CANCELLED);
        if (round % 2) assert_int_equal(pthread_join(thread, &got), 0);
        if (round % 2) assert_int_equal((intptr_t)got, WISP_ERR_CANCELLED);
        assert_int_equal(wisp_task_over(held), 0);
        wisp_ctx_resume(ctx);
        open_gate(&g);
        end(held, WISP_OK);
        end(late, WISP_ERR_CANCELLED);
        end(t, WISP_OK);
    }
    end(start(ctx, (wisp_task_opts){.fn = nothing}), WISP_OK);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_end_first),
        cmocka_unit_test(children_begin_later),
        cmocka_unit_test(families_of_all_kinds),
        cmocka_unit_test(contexts_share_units),
        cmocka_unit_test(units_lent_to_another_context),
        cmocka_unit_test(of_oneself),
        cmocka_unit_test(in_circles),
        cmocka_unit_test(for_what_cannot_begin),
        cmocka_unit_test(that_end),
        cmocka_unit_test(for_a_context),
        cmocka_unit_test(of_a_crowd),
        cmocka_unit_test(cancel_wakes),
    };
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a task's thread has nowhere else to go */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
