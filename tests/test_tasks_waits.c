/* Tasks that do not wait for their children, and those that would wait for ever; units that contexts share. */
#include "tasks.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_end_first),
        cmocka_unit_test(children_begin_later),
        cmocka_unit_test(families_of_all_kinds),
        cmocka_unit_test(contexts_share_units),
        cmocka_unit_test(units_lent_to_another_context),
    };
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a task's thread has nowhere else to go */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
