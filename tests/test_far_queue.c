/* The device `far` (src/backend/far/): work is queued, with a copy of what the host gave, and waited for where it is to
   be; launches are timed, failures come later, a cancel is told once. */
#include "far_scene.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* What the host gives may change as soon as a call returns, and what was freed is used by the calls before. */
static void host_data_is_read_at_once(void **state)
{
    (void)state;
    queued q = queued_open();
    double got[2 * LONG];
    wisp_scalar a[2] = {{2, 0}, {3, 0}};
    wisp_term term[2] = {{.x = q.y, .factor = a}, {.x = q.x}};
    wisp_update update = {.y = q.y, .terms = 2, .term = term};
    for (int i = 0; i < CALLS; i++) {
        wisp_blk *x;
        REF_OK(q.ctx, wisp_blk_create(&x, q.ctx, wisp_mat_map(q.A), WISP_D, 2));
        REF_OK(q.ctx, wisp_copy(x, q.x));
        a[0] = (wisp_scalar){0.5, 0}, a[1] = (wisp_scalar){0.25, 0};
        term[1].x = x;
        REF_OK(q.ctx, wisp_fuse(&update, 1, NULL, 0, 0)); /* y = a y + x */
        a[0] = a[1] = (wisp_scalar){1, 0};
        REF_OK(q.ctx, wisp_vaxpy(q.y, a, x));
        a[0] = a[1] = (wisp_scalar){1e9, 0};
        term[1].x = NULL;
        wisp_blk_free(x);
    }
    REF_OK(q.ctx, wisp_blk_get(q.y, WISP_ROW_MAJOR, got, 2));
    double want[2] = {1, 1};
    for (int i = 0; i < CALLS; i++) want[0] = 0.5 * want[0] + 2, want[1] = 0.25 * want[1] + 2;
    for (int i = 0; i < 2 * LONG; i++) assert_true(got[i] == want[i % 2]);
    queued_close(&q);
}

/* ---- time -------------------------------------------------------------------------------------- */

typedef struct {
    queued q;
    int64_t launched;
} timed;

static wisp_status launch_one(wisp_ctx *ctx, void *arg)
{
    timed *t = arg;
    assert_ptr_equal(ctx, t->q.ctx);
    t->launched++;
    return wisp_scal(t->q.y, (wisp_scalar){-1, 0});
}

static wisp_status launch_none(wisp_ctx *ctx, void *arg) { return (void)ctx, (void)arg, WISP_OK; }

static wisp_status launch_failing(wisp_ctx *ctx, void *arg)
{
    timed *t = arg;
    if (++t->launched == 3) ctx->alloc_fail_at = atomic_load(&ctx->alloc_number) + 1; /* that of the kernel */
    return wisp_spmmv(t->q.y, t->q.A, t->q.x, NULL);
}

/* Launches are timed when they have run, by the device's time or, where a backend has none, by the host's; what was
   queued before is no part of that. What fails is told, and what a launch itself says. */
static void launches_are_timed(void **state)
{
    (void)state;
    enum { LAUNCHES = 7 };
    timed t = {.q = queued_open()};
    wisp_ctx *ctx = t.q.ctx;
    const wisp__backend *whole = ctx->backend;
    wisp__backend lacking = *whole;
    const wisp__far *f = wisp__far_of(ctx);
    lacking.time_launches = NULL;
    for (int way = 0; way < 2; way++) {
        double seconds = -1;
        ctx->backend = way == 0 ? whole : &lacking;
        t.launched = 0;
        for (int i = 0; i < CALLS; i++) REF_OK(ctx, wisp_spmmv(t.q.y, t.q.A, t.q.x, NULL));
        const double began = wisp_now();
        REF_OK(ctx, wisp__time_launches(ctx, launch_one, &t, LAUNCHES, &seconds));
        assert_int_equal(t.launched, LAUNCHES);
        assert_int_equal(f->over, f->queued);
        assert_true(seconds > 0 && seconds * LAUNCHES <= (wisp_now() - began) * (1 + 1e-9));
        t.launched = 0;
        REF_FAILS(ctx, wisp__time_launches(ctx, launch_failing, &t, LAUNCHES, &seconds), WISP_ERR_NOMEM,
                  "out of memory");
        ctx->alloc_fail_at = 0;
        REF_OK(ctx, wisp_ctx_finish(ctx));
        wisp_ctx_cancel(ctx);
        assert_int_equal(wisp__time_launches(ctx, launch_failing, &t, LAUNCHES, &seconds), WISP_ERR_CANCELLED);
        wisp_ctx_resume(ctx);
        REF_OK(ctx, wisp_ctx_finish(ctx));
    }
    /* The device's time is that of its work alone: a launch of none takes none. */
    double seconds = -1;
    ctx->backend = whole;
    REF_OK(ctx, wisp__time_launches(ctx, launch_none, NULL, LAUNCHES, &seconds));
    assert_true(seconds == 0);
    queued_close(&t.q);
}

/* A failure is told by the next call that waits, once; what was behind it does not run, what comes after it does. */
static void failures_come_later(void **state)
{
    (void)state;
    queued q = queued_open();
    wisp_scalar dot[2];
    REF_OK(q.ctx, wisp_spmmv(q.y, q.A, q.x, NULL)); /* with this the ops have the memory that they keep */
    REF_OK(q.ctx, wisp_scal(q.y, (wisp_scalar){5, 0}));
    REF_OK(q.ctx, wisp_blk_fill(q.y, (wisp_scalar){1, 0}));
    q.ctx->alloc_fail_at = atomic_load(&q.ctx->alloc_number) + 1; /* that of the product's kernel */
    REF_OK(q.ctx, wisp_spmmv(q.y, q.A, q.x, NULL));
    REF_OK(q.ctx, wisp_scal(q.y, (wisp_scalar){5, 0}));
    REF_FAILS(q.ctx, wisp_ctx_finish(q.ctx), WISP_ERR_NOMEM, "out of memory");
    REF_OK(q.ctx, wisp_ctx_finish(q.ctx));
    REF_OK(q.ctx, wisp_dot(q.y, q.y, dot));
    assert_true(dot[0].re == LONG && dot[1].re == LONG);
    q.ctx->alloc_fail_at = atomic_load(&q.ctx->alloc_number) + 1;
    REF_OK(q.ctx, wisp_spmmv(q.y, q.A, q.x, NULL));
    REF_FAILS(q.ctx, wisp_dot(q.y, q.y, dot), WISP_ERR_NOMEM, "out of memory");
    queued_close(&q); /* with work that nobody waited for */
}

typedef struct {
    queued *q;
    atomic_bool stop;
} busy_one;

static void *queues_on(void *arg)
{
    busy_one *b = arg;
    while (!atomic_load(&b->stop)) REF_OK(b->q->ctx, wisp_spmmv(b->q->y, b->q->A, b->q->x, NULL));
    return NULL;
}

static void just_end(const void *arg) { (void)arg; }

/* Who waits, and who forks, waits for what was queued before alone: another thread may go on for ever. */
static void waits_end(void **state)
{
    (void)state;
    queued q = queued_open();
    busy_one b = {.q = &q};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, queues_on, &b), 0);
    for (int i = 0; i < CALLS; i++) REF_OK(q.ctx, wisp_ctx_finish(q.ctx));
    for (int i = 0; i < 3; i++) assert_int_equal(fate(just_end, NULL), 0);
    atomic_store(&b.stop, true);
    pthread_join(thread, NULL);
    queued_close(&q);
}

/* A cancel is told once: by the call that is refused, or by the one that waits. */
static void cancelled_once(void **state)
{
    (void)state;
    queued q = queued_open();
    for (int i = 0; i < CALLS; i++) {
        for (int k = 0; k < i % 5; k++) REF_OK(q.ctx, wisp_spmmv(q.y, q.A, q.x, NULL));
        wisp_ctx_cancel(q.ctx);
        REF_FAILS(q.ctx, wisp_spmmv(q.y, q.A, q.x, NULL), WISP_ERR_CANCELLED, "multiplying");
        wisp_ctx_resume(q.ctx);
        REF_OK(q.ctx, wisp_spmmv(q.y, q.A, q.x, NULL));
        REF_OK(q.ctx, wisp_ctx_finish(q.ctx));
    }
    queued_close(&q);
}

/* The same of random numbers, which end early, too. */
static void random_numbers_cancelled(void **state)
{
    (void)state;
    queued q = queued_open();
    double got[2 * LONG];
    for (int i = 0; i < CALLS; i++) {
        for (int k = 0; k < i % 5; k++) REF_OK(q.ctx, wisp_blk_fill_random(q.x, WISP_RANDOM_TRACE, 1, 0, 0));
        wisp_ctx_cancel(q.ctx);
        REF_FAILS(q.ctx, wisp_blk_fill_random(q.x, WISP_RANDOM_TRACE, 1, 0, 0), WISP_ERR_CANCELLED, "filling a block");
        wisp_ctx_resume(q.ctx);
        REF_OK(q.ctx, wisp_blk_fill(q.x, (wisp_scalar){7, 0}));
        REF_OK(q.ctx, wisp_blk_fill_random(q.x, WISP_RANDOM_TRACE, 1, 0, 0));
        REF_OK(q.ctx, wisp_ctx_finish(q.ctx));
        REF_OK(q.ctx, wisp_blk_get(q.x, WISP_ROW_MAJOR, got, 2));
        for (int j = 0; j < 2 * LONG; j++) assert_true(fabs(got[j]) == 1);
    }
    queued_close(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_data_is_read_at_once),
        cmocka_unit_test(launches_are_timed),
        cmocka_unit_test(failures_come_later),
        cmocka_unit_test(waits_end),
        cmocka_unit_test(cancelled_once),
        cmocka_unit_test(random_numbers_cancelled),
    };
    return REF_RUN(tests);
}
