/* The team when its threads are held up, as by other work on their cores: nobody waits for what they have not begun. */
#include "backend/backend.h"
#include "held_up.h"
#include "ref.h"
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- holding threads up ---------------------------------------------------------------------- */

static atomic_int held;
static atomic_bool hold;

/* Here a thread stays until it is let go. */
static void stay(int signal)
{
    (void)signal;
    atomic_fetch_add(&held, 1);
    while (atomic_load(&hold)) sched_yield();
    atomic_fetch_sub(&held, 1);
}

/* Holds up all threads of this process but the calling one; returns how many. */
static int hold_others(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    atomic_store(&hold, true);
    assert_int_not_equal(signal(SIGUSR1, stay), SIG_ERR);
    for (struct dirent *e; (e = readdir(tasks));) {
        const int tid = atoi(e->d_name);
        if (tid > 0 && tid != (int)gettid()) n += syscall(SYS_tgkill, getpid(), tid, SIGUSR1) == 0;
    }
    closedir(tasks);
    while (atomic_load(&held) < n) sched_yield();
    return n;
}

static void let_go(void)
{
    atomic_store(&hold, false);
    while (atomic_load(&held) > 0) sched_yield();
}

/* ---- parts ----------------------------------------------------------------------------------- */

enum { THREADS = 3 };

typedef struct {
    wisp_ctx *ctx;
    int threads;
    atomic_int done[THREADS], parts, inner;
} part_run;

static void count_part(void *arg, int part, int parts)
{
    part_run *r = arg;
    atomic_fetch_add(&r->done[part], 1);
    atomic_store(&r->parts, parts);
}

static void all_parts(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = THREADS, .no_pin = 1});
    part_run r = {.ctx = ctx};
    for (int turn = 1; turn <= 5; turn++) {
        if (turn > 2) assert_true(hold_others() >= THREADS - 1);
        assert_true(wisp__team_run(ctx->team, count_part, &r));
        if (turn > 2) let_go();
        assert_int_equal(r.parts, THREADS);
        for (int i = 0; i < THREADS; i++) assert_int_equal(r.done[i], turn);
    }
    wisp_ctx_free(ctx);
}

static void nested_part(void *arg, int part, int parts)
{
    part_run *r = arg, inner = {.ctx = r->ctx};
    wisp__team_run(r->ctx->team, count_part, &inner);
    atomic_fetch_add(&r->inner, inner.parts);
    count_part(arg, part, parts);
}

/* A run inside a run is done by the thread that asks for it. */
static void nested(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = THREADS, .no_pin = 1});
    part_run r = {.ctx = ctx};
    wisp__team_run(ctx->team, nested_part, &r);
    assert_int_equal(r.inner, THREADS);
    for (int i = 0; i < THREADS; i++) assert_int_equal(r.done[i], 1);
    wisp_ctx_free(ctx);
}

static bool others_done(const void *arg)
{
    const part_run *r = arg;
    int n = 0;
    for (int i = 1; i < r->threads; i++) n += atomic_load(&r->done[i]);
    return n == r->threads - 1;
}

static void wait_part(void *arg, int part, int parts)
{
    part_run *r = arg;
    if (part == 0)
        wisp__team_wait(r->ctx->team, others_done, r);
    else
        held_up_until_moved(r->ctx->team, part);
    count_part(arg, part, parts);
    wisp__team_tell(r->ctx->team);
}

/* Each part by its own thread, so that they may wait for each other. A thread that sleeps in its part is taken to be
   held up, always: pinned, it is lent the core of the one that waits, and is at home again afterwards. */
static void waiting(void **state)
{
    int cpu[THREADS];
    (void)state;
    unsetenv("OMP_PROC_BIND"); /* the tests' own */
    for (int i = 0; i < 4; i++) {
        const int threads = 2 + i % 2;
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = i / 2});
        for (int turn = 0; turn < 20; turn++) {
            part_run r = {.ctx = ctx, .threads = threads};
            wisp__team_run_each(ctx->team, wait_part, &r);
            for (int k = 0; k < threads; k++) assert_int_equal(r.done[k], 1);
        }
        REF_OK(ctx, wisp_ctx_placement(ctx, cpu));
        for (int k = 0; k < threads && wisp__crew_of(ctx->team)->pinned; k++) {
            assert_true(cpu[k] >= 0);
            for (int j = 0; j < k; j++) assert_int_not_equal(cpu[j], cpu[k]);
        }
        wisp_ctx_free(ctx);
    }
}

typedef struct {
    int part_of[1000];
    atomic_bool used[THREADS];
} each_run;

static void one(void *arg, int64_t i, int part)
{
    each_run *r = arg;
    assert_false(atomic_exchange(&r->used[part], true));
    r->part_of[i] += 1 + part;
    atomic_store(&r->used[part], false);
}

static void each(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = THREADS, .no_pin = 1});
    for (int n = 0; n <= 1000; n += 1 + n * 7) {
        each_run r = {0};
        REF_OK(ctx, wisp_ctx_each(ctx, n, one, &r));
        for (int i = 0; i < 1000; i++)
            assert_true(i < n ? r.part_of[i] >= 1 && r.part_of[i] <= THREADS : !r.part_of[i]);
    }
    wisp_ctx_free(ctx);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { MOMENTS = 64, VECTORS = 4 };

/* Moments, with all other threads held up or not. */
static void moments_of(wisp_format format, int depth, bool held_up, double *mu)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = THREADS, .no_pin = 1});
    wisp_mat *A;
    wisp_moments m = {0};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=20,ny=20,nz=20", &(wisp_mat_opts){.format = format}));
    if (held_up) assert_true(hold_others() >= THREADS - 1);
    REF_OK(ctx, wisp_kpm(&m, A, &(wisp_kpm_opts){.moments = MOMENTS, .vectors = VECTORS, .depth = depth, .seed = 1}));
    if (held_up) let_go();
    assert_int_equal(m.n * m.vectors, MOMENTS * VECTORS);
    memcpy(mu, m.mu, MOMENTS * VECTORS * sizeof *mu);
    wisp_moments_free(&m);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Sweeps, interleaved steps and half storage: the calling thread does all, and the bits are the same. */
static void products(void **state)
{
    static const struct {
        wisp_format format;
        int depth;
    } how[] = {{WISP_FORMAT_DEFAULT, 1}, {WISP_FORMAT_DEFAULT, 4}, {WISP_FORMAT_HERMITIAN, 1}};
    double mu[2][MOMENTS * VECTORS];
    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        for (int k = 0; k < 2; k++) moments_of(how[i].format, how[i].depth, k == 1, mu[k]);
        assert_memory_equal(mu[0], mu[1], sizeof mu[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts), cmocka_unit_test(nested),   cmocka_unit_test(waiting),
        cmocka_unit_test(each),      cmocka_unit_test(products),
    };
    return REF_RUN(tests);
}
