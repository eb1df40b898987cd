/* Teams beside each other: their cores, the calling thread's mask, their own wishes to cancel. */
#include "held_up.h"
#include "ref.h"
#include <stdlib.h>

static cpu_set_t my_mask(void)
{
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    return mask;
}

static int cpus(void)
{
    const cpu_set_t mask = my_mask();
    return CPU_COUNT(&mask);
}

/* ---- cores ----------------------------------------------------------------------------------- */

static atomic_int told; /* that threads are not pinned */

static void listen(void *arg, wisp_log_level level, const char *message)
{
    (void)arg;
    if (level == WISP_LOG_PERF && strstr(message, "not pinned")) atomic_fetch_add(&told, 1);
}

static wisp_ctx *open_one(void)
{
    wisp_ctx *ctx;
    const wisp_ctx_opts opts = {.threads = 1, .log = listen, .level = WISP_LOG_PERF};
    assert_int_equal(wisp_ctx_create(&ctx, &opts), WISP_OK);
    return ctx;
}

/* The core of a context's one thread; negative: it is not pinned. */
static int core_of(wisp_ctx *ctx)
{
    int core;
    REF_OK(ctx, wisp_ctx_placement(ctx, &core));
    return core;
}

static void cores_of_their_own(void **state)
{
    (void)state;
    const int n = cpus();
    if (n < 2) skip();
    wisp_ctx **ctx = calloc((size_t)n, sizeof(wisp_ctx *));
    cpu_set_t taken;
    CPU_ZERO(&taken);
    atomic_store(&told, 0);
    for (int i = 0; i < n; i++) {
        ctx[i] = open_one();
        const int core = core_of(ctx[i]);
        assert_true(core >= 0 && !CPU_ISSET((size_t)core, &taken));
        CPU_SET((size_t)core, &taken);
    }
    assert_int_equal(told, 0);
    wisp_ctx *more = open_one();
    assert_int_equal(told, 1);
    assert_true(core_of(more) < 0);
    const int first = core_of(ctx[0]);
    wisp_ctx_free(ctx[0]); /* and another one takes its core */
    ctx[0] = open_one();
    assert_int_equal(core_of(ctx[0]), first);
    assert_true(core_of(more) < 0);
    assert_int_equal(told, 1);
    wisp_ctx_free(more);
    for (int i = 0; i < n; i++) wisp_ctx_free(ctx[i]);
    free(ctx);
}

typedef struct {
    int core;
    atomic_int *there;
    bool mask_kept;
} beside;

/* Makes a context, computes, and frees it, while another thread does so, too. */
static void *live(void *arg)
{
    beside *b = arg;
    const cpu_set_t before = my_mask();
    wisp_ctx *ctx = open_one();
    atomic_fetch_add(b->there, 1);
    while (atomic_load(b->there) < 2) sched_yield();
    b->core = core_of(ctx);
    for (int i = 0; i < 100; i++)
        if (core_of(ctx) != b->core) b->core = -1;
    const cpu_set_t after = my_mask();
    b->mask_kept = CPU_EQUAL(&before, &after);
    wisp_ctx_free(ctx);
    return NULL;
}

static void contexts_in_two_threads(void **state)
{
    (void)state;
    if (cpus() < 2) skip();
    for (int turn = 0; turn < 10; turn++) {
        atomic_int there = 0;
        beside b[2] = {{.there = &there}, {.there = &there}};
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, live, &b[1]), 0);
        live(&b[0]);
        assert_int_equal(pthread_join(other, NULL), 0);
        assert_true(b[0].core >= 0 && b[1].core >= 0 && b[0].core != b[1].core);
        assert_true(b[0].mask_kept && b[1].mask_kept);
    }
}

/* ---- the calling thread's mask ----------------------------------------------------------------- */

enum { WIDTH = 4, MOMENTS = 16 };

/* A matrix and blocks that are more than little work. */
typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_blk *v[2];
    cpu_set_t mask; /* of the calling thread */
    int callbacks;
} scene;

static int on_progress(void *arg, const wisp_progress *p)
{
    scene *s = arg;
    const cpu_set_t now = my_mask();
    (void)p;
    assert_true(CPU_EQUAL(&s->mask, &now));
    s->callbacks++;
    return 0;
}

static void open_scene(scene *s, int threads, int no_pin)
{
    *s = (scene){.mask = my_mask()};
    s->ctx =
        ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = no_pin, .progress = on_progress, .progress_arg = s});
    REF_OK(s->ctx, wisp_mat_open(&s->A, s->ctx, "laplace:nx=24,ny=24,nz=24", NULL));
    for (int i = 0; i < 2; i++) {
        REF_OK(s->ctx, wisp_blk_create(&s->v[i], s->ctx, wisp_mat_map(s->A), WISP_D, WIDTH));
        REF_OK(s->ctx, wisp_blk_fill_random(s->v[i], WISP_RANDOM_GAUSS, 1, (uint32_t)i, 0));
    }
}

static void close_scene(scene *s)
{
    for (int i = 0; i < 2; i++) wisp_blk_free(s->v[i]);
    wisp_mat_free(s->A);
    wisp_ctx_free(s->ctx);
}

static void dots(scene *s)
{
    wisp_scalar dot[WIDTH];
    REF_OK(s->ctx, wisp_dot(s->v[0], s->v[1], dot));
}
static void product(scene *s) { REF_OK(s->ctx, wisp_spmmv(s->v[1], s->A, s->v[0], NULL)); }
static void powers(scene *s)
{
    const wisp_scalar alpha[4] = {{0.1, 0}, {0.1, 0}, {0.1, 0}, {0.1, 0}};
    for (int depth = 0; depth <= 2; depth++)
        REF_OK(s->ctx, wisp_mpk(s->v, 2, s->A, &(wisp_mpk_opts){.steps = 4, .alpha = alpha, .depth = depth}));
}
static void moments(scene *s)
{
    wisp_moments m = {0};
    REF_OK(s->ctx, wisp_kpm(&m, s->A, &(wisp_kpm_opts){.moments = MOMENTS, .vectors = WIDTH, .seed = 1}));
    wisp_moments_free(&m);
}
static void nothing(void *arg, int64_t i, int part) { (void)arg, (void)i, (void)part; }
static void each(scene *s) { REF_OK(s->ctx, wisp_ctx_each(s->ctx, 1000, nothing, NULL)); }
static void assembly(scene *s)
{
    wisp_mat *B;
    REF_OK(s->ctx, wisp_mat_open(&B, s->ctx, "graphene:nx=50,ny=50,vacancies=0.1", NULL));
    wisp_mat_free(B);
}
static void measuring(scene *s)
{
    wisp_machine m;
    REF_OK(s->ctx, wisp_machine_measure(s->ctx, &m, WISP_MEASURE_FMA | WISP_MEASURE_EXCHANGE));
}
static void large_memory(scene *s)
{
    void *p;
    REF_OK(s->ctx, wisp_alloc(s->ctx, &p, 8 << 20, 1));
    wisp_free(s->ctx, p);
}
static void random_numbers(scene *s) { REF_OK(s->ctx, wisp_blk_fill_random(s->v[1], WISP_RANDOM_TRACE, 1, 0, 0)); }

static void mask_is_kept(void **state)
{
    (void)state;
    static void (*const call[])(scene *) = {dots,     product,   powers,       moments,       each,
                                            assembly, measuring, large_memory, random_numbers};
    enum { MOST = 8 };
    const cpu_set_t all = my_mask();
    const int cpus_of_all = CPU_COUNT(&all);
    for (int threads = 1; threads <= 2; threads++) {
        scene s;
        open_scene(&s, threads, 0);
        assert_true(wisp__crew_of(s.ctx->team)->pinned == (threads <= cpus()));
        int found = 0;
        for (int cpu = -1; cpu < CPU_SETSIZE; cpu++) { /* any; then each alone, set between calls */
            if (cpu >= 0 && !CPU_ISSET((size_t)cpu, &all)) continue;
            if (cpu >= 0 && ++found > MOST && found < cpus_of_all)
                continue; /* of very many the first ones, and the last */
            if (cpu >= 0) CPU_ZERO(&s.mask);
            if (cpu >= 0) CPU_SET((size_t)cpu, &s.mask);
            assert_int_equal(sched_setaffinity(0, sizeof s.mask, &s.mask), 0);
            for (size_t i = 0; i < sizeof call / sizeof *call; i++)
                for (int again = 0; again < (i < 2 ? 20 : 1); again++) { /* brief calls, too */
                    call[i](&s);
                    const cpu_set_t now = my_mask();
                    assert_true(CPU_EQUAL(&s.mask, &now));
                }
        }
        assert_true(s.callbacks > 0);
        close_scene(&s);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    }
}

typedef struct {
    wisp__team *team;
    int sleeper; /* this part */
    bool each;   /* each part has a thread of its own, so that the other one may wait */
    atomic_bool slept;
} nap_run;

static bool has_slept(const void *arg)
{
    const nap_run *r = arg;
    return atomic_load(&r->slept);
}

/* Who sleeps in its part is taken to be held up, and moved. */
static void nap(void *arg, int part, int parts)
{
    nap_run *r = arg;
    if (parts == 1) return; /* beside another run */
    if (part == r->sleeper) {
        held_up_until_moved(r->team, part);
        atomic_store(&r->slept, true);
        wisp__team_tell(r->team);
    } else if (r->each) {
        wisp__team_wait(r->team, has_slept, r);
    }
}

typedef struct {
    scene *s;
    bool failed, in_turns;
} caller;

/* Every other one holds its turn over several runs. */
static void *call_often(void *arg)
{
    caller *c = arg;
    wisp__team *team = c->s->ctx->team;
    const cpu_set_t before = my_mask();
    for (int i = 0; i < 10; i++) {
        if (c->in_turns) c->failed |= wisp__turn_begin(team) != WISP_OK;
        for (int k = 0; k < 4; k++) {
            nap_run r = {.team = team, .sleeper = k % 2, .each = k / 2};
            if (r.each)
                wisp__team_run_each(team, nap, &r);
            else
                wisp__team_run(team, nap, &r);
        }
        if (c->in_turns) c->failed |= wisp__turn_end(team, WISP_OK) != WISP_OK;
        const cpu_set_t after = my_mask();
        c->failed |= !CPU_EQUAL(&before, &after);
    }
    return NULL;
}

/* Threads that are moved in their calls, and end: nobody moves them, or another with their number, afterwards. */
static void calling_threads(void **state)
{
    (void)state;
    enum { CALLERS = 4 };
    scene s;
    open_scene(&s, WISP__MIN(2, cpus()), 0);
    for (int turn = 0; turn < 5; turn++) {
        pthread_t thread[CALLERS];
        caller c[CALLERS];
        for (int i = 0; i < CALLERS; i++) {
            c[i] = (caller){.s = &s, .in_turns = i % 2};
            assert_int_equal(pthread_create(&thread[i], NULL, call_often, &c[i]), 0);
        }
        for (int i = 0; i < CALLERS; i++) {
            assert_int_equal(pthread_join(thread[i], NULL), 0);
            assert_false(c[i].failed);
        }
        const cpu_set_t now = my_mask();
        assert_true(CPU_EQUAL(&s.mask, &now));
    }
    close_scene(&s);
}

static void no_part(void *arg, int part, int parts) { (void)arg, (void)part, (void)parts; }

static void first_naps(void *arg, int part, int parts)
{
    if (part == 0 && parts > 1) held_up_until_moved(arg, part);
}

/* After brief runs the calling thread's mask is looked at only when somebody moves the thread. */
static void moved_after_brief_runs(void **state)
{
    (void)state;
    enum { BRIEF = 10 };
    scene s;
    open_scene(&s, WISP__MIN(2, cpus()), 0);
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < BRIEF; i++) wisp__team_run(s.ctx->team, no_part, NULL);
        wisp__crew_of(s.ctx->team)->brief = 1000; /* also where other work has made them long */
        wisp__team_run(s.ctx->team, first_naps, s.ctx->team);
        const cpu_set_t now = my_mask();
        assert_true(CPU_EQUAL(&s.mask, &now));
    }
    close_scene(&s);
}

/* ---- wishes to cancel, and several teams ----------------------------------------------------- */

static void cancel_of_one_context(void **state)
{
    (void)state;
    scene a, b;
    open_scene(&a, 2, 1);
    open_scene(&b, 2, 1);
    wisp_ctx_cancel(a.ctx);
    REF_FAILS(a.ctx, wisp_spmmv(a.v[1], a.A, a.v[0], NULL), WISP_ERR_CANCELLED, "multiplying");
    product(&b);
    wisp_ctx_resume(b.ctx);
    REF_FAILS(a.ctx, wisp_spmmv(a.v[1], a.A, a.v[0], NULL), WISP_ERR_CANCELLED, "multiplying");
    wisp_ctx_resume(a.ctx);
    product(&a);
    close_scene(&a);
    close_scene(&b);
}

typedef struct {
    wisp__team *team;
    atomic_int *running; /* parts of all teams */
    int parts, all;
    bool whole;
} team_run;

/* Stays until the parts of all teams run. */
static void meet(void *arg, int part, int parts)
{
    team_run *r = arg;
    if (part == 0) r->parts = parts;
    atomic_fetch_add(r->running, 1);
    while (atomic_load(r->running) < r->all) sched_yield();
}

static void *run_team(void *arg)
{
    team_run *r = arg;
    r->whole = wisp__team_run_each(r->team, meet, r);
    return NULL;
}

static void teams_of_one_context(void **state)
{
    (void)state;
    enum { TEAMS = 3 };
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
    wisp__team *team[TEAMS] = {ctx->team};
    int all = 1;
    for (int i = 1; i < TEAMS; i++) {
        REF_OK(ctx, wisp__team_open(&team[i], ctx, i));
        all += team[i]->threads;
    }
    assert_int_equal(wisp_ctx_threads(ctx), 1);
    wisp__units held = {0};
    for (int i = 0; i < TEAMS; i++) {
        assert_false(wisp__units_meet(&held, &wisp__crew_of(team[i])->units));
        wisp__units_join(&held, &wisp__crew_of(team[i])->units);
    }
    assert_true(wisp__units_count(&held) >= WISP__MIN(cpus(), 2));
    for (int turn = 0; turn < 50; turn++) {
        atomic_int running = 0;
        pthread_t thread[TEAMS];
        team_run r[TEAMS];
        for (int i = 0; i < TEAMS; i++) r[i] = (team_run){.team = team[i], .running = &running, .all = all};
        for (int i = 1; i < TEAMS; i++) assert_int_equal(pthread_create(&thread[i], NULL, run_team, &r[i]), 0);
        run_team(&r[0]);
        for (int i = 1; i < TEAMS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
        for (int i = 0; i < TEAMS; i++) assert_true(r[i].whole && r[i].parts == team[i]->threads);
    }
    wisp__team_cancel(team[1]);
    assert_false(wisp__team_run(team[1], no_part, NULL));
    assert_true(wisp__team_run(team[0], no_part, NULL) && wisp__team_run(team[2], no_part, NULL));
    wisp__team_resume(team[1]);
    assert_true(wisp__team_run(team[1], no_part, NULL));
    void *scratch[2];
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp__turn_begin(team[i]));
        REF_OK(ctx, wisp__scratch(team[i], WISP__OP_SCRATCH, &scratch[i], 1000, 8));
    }
    assert_ptr_not_equal(scratch[0], scratch[1]);
    for (int i = 0; i < 2; i++) wisp__turn_end(team[i], WISP_OK);
    for (int i = 1; i < TEAMS; i++) wisp__team_close(team[i]);
    wisp_ctx_free(ctx);
}

int main(void)
{
    unsetenv("OMP_PROC_BIND"); /* the tests' own: threads are not placed */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_of_their_own),     cmocka_unit_test(contexts_in_two_threads),
        cmocka_unit_test(mask_is_kept),           cmocka_unit_test(calling_threads),
        cmocka_unit_test(moved_after_brief_runs), cmocka_unit_test(cancel_of_one_context),
        cmocka_unit_test(teams_of_one_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
