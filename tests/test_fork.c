/* A child of fork: what its parent made it may use and free; what another thread was at, it is told. */
#include "base/base.h"
#include "tasks.h"
#include <stdatomic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __SANITIZE_THREAD__
#define CAN_FORK 0 /* the sanitizer ends a child that starts threads */
#elif defined __has_feature
#define CAN_FORK !__has_feature(thread_sanitizer)
#else
#define CAN_FORK 1
#endif

enum { WIDTH = 4, ROWS = 20 * 20 * 20, SIZE = ROWS * WIDTH, MOMENTS = 16 };

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *x, *y, *other; /* which another thread writes to */
    double *want;            /* A x */
    double mu[MOMENTS * WIDTH];
} scene;

static bool moments(const scene *s, double *mu)
{
    wisp_moments m = {0};
    const wisp_kpm_opts opts = {.moments = MOMENTS, .vectors = WIDTH, .depth = 4, .seed = 1};
    if (wisp_kpm(&m, s->A, &opts) != WISP_OK) return false;
    memcpy(mu, m.mu, MOMENTS * WIDTH * sizeof *mu);
    wisp_moments_free(&m);
    return true;
}

static void open_scene(scene *s, int threads, int no_pin)
{
    s->ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = no_pin});
    REF_OK(s->ctx, wisp_mat_open(&s->A, s->ctx, "laplace:nx=20,ny=20,nz=20", NULL));
    wisp_blk **all[] = {&s->x, &s->y, &s->other};
    for (int i = 0; i < 3; i++) {
        REF_OK(s->ctx, wisp_blk_create(all[i], s->ctx, wisp_mat_map(s->A), WISP_D, WIDTH));
        REF_OK(s->ctx, wisp_blk_fill_random(*all[i], WISP_RANDOM_GAUSS, 1, 0, 0));
    }
    s->want = malloc(SIZE * sizeof *s->want);
    assert_non_null(s->want);
    REF_OK(s->ctx, wisp_spmmv(s->y, s->A, s->x, NULL));
    REF_OK(s->ctx, wisp_blk_get(s->y, WISP_ROW_MAJOR, s->want, WIDTH));
    assert_true(moments(s, s->mu));
}

static void close_scene(scene *s)
{
    wisp_blk_free(s->x);
    wisp_blk_free(s->y);
    wisp_blk_free(s->other);
    wisp_mat_free(s->A);
    wisp_ctx_free(s->ctx);
    free(s->want);
}

/* The same bits as before the fork. */
static bool same_product(const scene *s)
{
    static double got[SIZE];
    return wisp_blk_fill(s->y, (wisp_scalar){0.5, 0}) == WISP_OK && wisp_spmmv(s->y, s->A, s->x, NULL) == WISP_OK &&
           wisp_blk_get(s->y, WISP_ROW_MAJOR, got, WIDTH) == WISP_OK && !memcmp(got, s->want, sizeof got);
}

static bool same(const scene *s)
{
    double mu[MOMENTS * WIDTH];
    return same_product(s) && moments(s, mu) && !memcmp(mu, s->mu, sizeof mu);
}

/* A context that the child makes. */
static bool new_context_works(void)
{
    wisp_ctx *ctx;
    wisp_mat *A = NULL;
    if (wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 2}) != WISP_OK) return false;
    const bool fine = wisp_mat_open(&A, ctx, "laplace:nx=30,ny=30,nz=30", NULL) == WISP_OK;
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return fine;
}

/* Runs it in a child, which ends with its answer; the number of the child. */
static pid_t in_child(scene *s, int (*task)(scene *s))
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* one that waits for ever ends with its parent */
        _exit(task(s));
    }
    return pid;
}

static int answer_of(pid_t pid)
{
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

enum { FINE, WRONG, REFUSED };

static int use_and_free(scene *s)
{
    const bool fine = same(s) && same(s) && new_context_works();
    close_scene(s);
    return fine ? FINE : WRONG;
}

static int free_alone(scene *s) { return close_scene(s), FINE; }

static int grandchild(scene *s)
{
    if (!same(s)) return WRONG;
    const int answer = answer_of(in_child(s, use_and_free));
    const bool fine = same(s);
    close_scene(s);
    return fine ? answer : WRONG;
}

static void after_use(void **state)
{
    (void)state;
    if (!CAN_FORK) skip();
    unsetenv("OMP_PROC_BIND"); /* the tests' own */
    for (int threads = 1; threads <= 3; threads++)
        for (int no_pin = 0; no_pin < 2; no_pin++) {
            int (*const task[])(scene *) = {use_and_free, free_alone, grandchild};
            scene s;
            open_scene(&s, threads, no_pin);
            for (int i = 0; i < 3; i++) {
                const pid_t pid = in_child(&s, task[i]);
                assert_true(same(&s));
                assert_int_equal(answer_of(pid), FINE);
                assert_true(same(&s));
            }
            close_scene(&s);
        }
}

/* ---- while another thread computes ------------------------------------------------------------- */

typedef struct {
    const scene *s;
    atomic_bool stop, failed;
} computing;

static void *compute(void *arg)
{
    computing *c = arg;
    while (!atomic_load(&c->stop))
        if (wisp_spmmv(c->s->other, c->s->A, c->s->x, NULL) != WISP_OK) atomic_store(&c->failed, true);
    return NULL;
}

/* Either it works, or it says why it does not; then a context of its own does. */
static int use_or_be_told(scene *s)
{
    double norm[WIDTH];
    const wisp_status status = wisp_norm(s->x, norm);
    int answer = WRONG;
    if (status == WISP_OK)
        answer = same(s) ? FINE : WRONG;
    else if (status == WISP_ERR_UNSUPPORTED && strstr(message_of(s->ctx), "forked"))
        answer = wisp_spmmv(s->y, s->A, s->x, NULL) == status && new_context_works() ? REFUSED : WRONG;
    close_scene(s);
    return answer;
}

static void during_use(void **state)
{
    (void)state;
    enum { FORKS = 40 };
    if (!CAN_FORK) skip();
    scene s;
    open_scene(&s, 2, 1);
    computing c = {.s = &s};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, compute, &c), 0);
    for (int i = 0; i < FORKS; i++) { /* at whatever the other thread is */
        const int answer = answer_of(in_child(&s, use_or_be_told));
        assert_true(answer == FINE || answer == REFUSED);
        assert_true(same_product(&s));
    }
    atomic_store(&c.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(atomic_load(&c.failed));
    close_scene(&s);
}

typedef struct {
    const scene *s;
    const wisp_mat *B; /* an operator that stays in its product until it may go on */
    bool in_run;       /* of the team */
    atomic_bool there, go, failed;
} staying;

static void stay(void *arg, int64_t i, int part)
{
    staying *t = arg;
    (void)i, (void)part;
    atomic_store(&t->there, true);
    while (!atomic_load(&t->go)) sched_yield();
}

static wisp_status stay_in_product(void *arg, wisp_blk *y, const wisp_blk *x)
{
    staying *t = arg;
    if (t->in_run) {
        const wisp_status status = wisp_ctx_each(t->s->ctx, 2, stay, t);
        if (status != WISP_OK) return status;
    } else {
        stay(t, 0, 0);
    }
    return wisp_spmmv(y, t->s->A, x, NULL);
}

static void *compute_once(void *arg)
{
    staying *t = arg;
    atomic_store(&t->failed, wisp_spmmv(t->s->other, t->B, t->s->x, NULL) != WISP_OK);
    return NULL;
}

/* In the middle of another thread's product the child is told, always; before and after it is not. */
static void in_the_middle(void **state)
{
    (void)state;
    if (!CAN_FORK) skip();
    scene s;
    open_scene(&s, 2, 1);
    staying t = {.s = &s};
    wisp_mat *B;
    const wisp_operator op = {.map = wisp_mat_map(s.A), .type = WISP_D, .apply = stay_in_product, .arg = &t};
    REF_OK(s.ctx, wisp_mat_from_apply(&B, s.ctx, &op));
    t.B = B;
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        t.in_run = i % 2;
        atomic_store(&t.there, false);
        atomic_store(&t.go, false);
        assert_int_equal(answer_of(in_child(&s, use_or_be_told)), FINE);
        assert_int_equal(pthread_create(&thread, NULL, compute_once, &t), 0);
        while (!atomic_load(&t.there)) sched_yield();
        assert_int_equal(answer_of(in_child(&s, use_or_be_told)), REFUSED);
        atomic_store(&t.go, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_false(atomic_load(&t.failed));
        assert_true(same_product(&s));
    }
    wisp_mat_free(B);
    close_scene(&s);
}

/* ---- in a callback ------------------------------------------------------------------------------- */

typedef struct {
    scene *s;
    pid_t child[4];
} forks;

static void fork_one(void *arg, int64_t i, int part)
{
    forks *f = arg;
    (void)part;
    f->child[i] = in_child(f->s, use_or_be_told);
}

/* On whichever thread; the child does not return from it. */
static void in_callbacks(void **state)
{
    (void)state;
    if (!CAN_FORK) skip();
    scene s;
    open_scene(&s, 3, 1);
    forks f = {.s = &s};
    REF_OK(s.ctx, wisp_ctx_each(s.ctx, 4, fork_one, &f));
    for (int i = 0; i < 4; i++) assert_int_equal(answer_of(f.child[i]), FINE);
    assert_true(same(&s));
    close_scene(&s);
}

/* ---- tasks --------------------------------------------------------------------------------------- */

static bool new_tasks_work(void)
{
    wisp_ctx *ctx = ctx_with("1");
    end(start(ctx, (wisp_task_opts){.fn = nothing}), WISP_OK);
    end(start(ctx, (wisp_task_opts){.fn = nothing, .flags = WISP_TASK_UNPINNED}), WISP_OK);
    wisp_ctx_free(ctx);
    return true;
}

enum { TASKS = 3 };
static wisp_task *tasks[TASKS];
static wisp_ctx *tasks_ctx;
static long long tasks_held; /* its context's count before there were tasks; -1: threads of earlier ones may hold it */

/* Those of the parent are over, and their unit is free; when they are freed, nothing of them is left. */
static int other_tasks(scene *s)
{
    (void)s;
    for (int i = 0; i < TASKS; i++)
        if (!wisp_task_over(tasks[i]) || wisp_task_wait(tasks[i]) != WISP_ERR_UNSUPPORTED) return WRONG;
    for (int i = 0; i < TASKS; i++) wisp_task_free(tasks[i]);
    if (tasks_held >= 0 && atomic_load(&tasks_ctx->held) != tasks_held) return WRONG;
    wisp_ctx_free(tasks_ctx);
    return new_tasks_work() ? FINE : WRONG;
}

static int own_tasks(scene *s)
{
    (void)s;
    return new_tasks_work() ? FINE : WRONG;
}

static wisp_status fork_in_task(wisp_task *t, void *arg)
{
    (void)t;
    *(int *)arg = answer_of(in_child(NULL, own_tasks));
    return WISP_OK;
}

static void with_tasks(void **state)
{
    (void)state;
    if (!CAN_FORK) skip();
    gate g = GATE;
    int answer = WRONG;
    wisp_ctx *ctx = tasks_ctx = ctx_with("1");
    tasks_held = atomic_load(&ctx->held);
    for (int idle = 0; idle < 2; idle++) { /* the second time there is an idle thread */
        g.open = g.inside = 0;
        tasks[0] = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g});
        tasks[1] = start(ctx, (wisp_task_opts){.fn = nothing, .after_count = 1, .after = tasks}); /* waits */
        tasks[2] = start(ctx, (wisp_task_opts){.fn = stand_at, .arg = &g, .flags = WISP_TASK_UNPINNED});
        await_inside(&g, 2);
        assert_int_equal(answer_of(in_child(NULL, other_tasks)), FINE);
        tasks_held = -1;
        open_gate(&g);
        for (int i = 0; i < TASKS; i++) end(tasks[i], WISP_OK);
    }
    end(start(ctx, (wisp_task_opts){.fn = fork_in_task, .arg = &answer}), WISP_OK);
    assert_int_equal(answer, FINE);
    wisp_ctx_free(ctx);
}

static void *start_tasks(void *arg)
{
    atomic_bool *stop = arg;
    while (!atomic_load(stop)) {
        wisp_task *t[2];
        for (int i = 0; i < 2; i++) t[i] = start(tasks_ctx, (wisp_task_opts){.fn = nothing});
        for (int i = 0; i < 2; i++) end(t[i], WISP_OK);
    }
    return NULL;
}

/* At whatever another thread is with its own tasks, which may be malloc. Not with an address sanitizer: a lock of its
   allocator that another thread has stays locked in the child. */
static void during_tasks(void **state)
{
    (void)state;
    if (!CAN_FORK || REF_SANITIZED) skip();
    enum { FORKS = 40 };
    atomic_bool stop = false;
    pthread_t thread;
    tasks_ctx = ctx_with("1,1");
    assert_int_equal(pthread_create(&thread, NULL, start_tasks, &stop), 0);
    for (int i = 0; i < FORKS; i++) assert_int_equal(answer_of(in_child(NULL, own_tasks)), FINE);
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    wisp_ctx_free(tasks_ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_use),    cmocka_unit_test(during_use), cmocka_unit_test(in_the_middle),
        cmocka_unit_test(in_callbacks), cmocka_unit_test(with_tasks), cmocka_unit_test(during_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
