/* Which device each rank has, and what it may hold there; ranks with different devices compute together what one does
   alone. Threads are ranks here, or processes under mpirun. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wisp/wisp.h>

enum { MOST = 5 };

static wisp_ctx *ctx_on(const char *devices)
{
    return ref_ctx(&(wisp_ctx_opts){.device = devices, .threads = 1, .no_pin = 1});
}

/* ---- who has which ------------------------------------------------------------------------------- */

typedef struct {
    int ranks;
    const char *asked, *has[MOST];
} sharing;

static int look_at_devices(void *arg, int rank)
{
    const sharing *s = arg;
    wisp_ctx *ctx = ctx_on(s->asked);
    assert_int_equal(wisp_ctx_processes(ctx), s->ranks);
    assert_string_equal(wisp_ctx_device(ctx), s->has[rank]);
    for (int r = 0; r < s->ranks; r++) {
        int same = 0, told;
        for (int q = 0; q < s->ranks; q++) same += !strcmp(s->has[q], s->has[r]);
        assert_string_equal(wisp_ctx_device_of(ctx, r, &told), s->has[r]);
        assert_int_equal(told, same);
    }
    assert_null(wisp_ctx_device_of(ctx, s->ranks, NULL));
    wisp_ctx_free(ctx);
    return 0;
}

/* There are two devices far, and one of the others. */
static void shared_out(void **state)
{
    (void)state;
    sharing cases[] = {{1, "far", {"far"}},
                       {1, "plain,far", {"plain"}},
                       {2, "far", {"far", "far:1"}},
                       {5, "far", {"far", "far:1", "far", "far:1", "far"}},
                       {3, "far:1", {"far:1", "far:1", "far:1"}},
                       {3, "far:0", {"far", "far", "far"}},
                       {3, "far:1,far", {"far:1", "far", "far:1"}},
                       {5, "far,far:0,far:0", {"far:1", "far", "far", "far:1", "far"}},
                       {4, "cpu,far", {"cpu", "far", "cpu", "far:1"}},
                       {5, "cpu,far,plain", {"cpu", "far", "plain", "cpu", "far:1"}},
                       {3, "plain", {"plain", "plain", "plain"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ref_ranks_each(cases[i].ranks, look_at_devices, &cases[i]);
}

/* Of the environment, where the options leave it open. */
static void of_the_environment(void **state)
{
    (void)state;
    sharing open = {4, NULL, {"cpu", "far", "cpu", "far:1"}}, given = {2, "plain", {"plain", "plain"}};
    const char *before = getenv("WISP_DEVICE");
    char *kept = before ? strdup(before) : NULL;
    setenv("WISP_DEVICE", "cpu,far", 1);
    ref_ranks_each(open.ranks, look_at_devices, &open);
    ref_ranks_each(given.ranks, look_at_devices, &given);
    if (kept)
        setenv("WISP_DEVICE", kept, 1);
    else
        unsetenv("WISP_DEVICE");
    free(kept);
}

/* One rank finds none: all say so. */
static int ask_for_none(void *arg, int rank)
{
    wisp_ctx *ctx;
    (void)rank;
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.device = arg, .threads = 1}), WISP_ERR_UNSUPPORTED);
    assert_null(ctx);
    assert_non_null(strstr(message_of(NULL), "no device '"));
    return 0;
}

static void none(void **state)
{
    (void)state;
    char asked[][16] = {"cpu,tpu", "cpu,", "far,far:2", "cpu,far:", "cpu,far "};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) ref_ranks_each(2, ask_for_none, asked[i]);
}

/* ---- one line tells all of it --------------------------------------------------------------------- */

typedef struct {
    int lines;
    wisp_log_level level;
    char last[WISP_MESSAGE];
} heard;

static void hear(void *arg, wisp_log_level level, const char *text)
{
    heard *h = arg;
    if (!strstr(text, "devices of the processes")) return;
    h->lines++;
    h->level = level;
    snprintf(h->last, sizeof h->last, "%s", text);
}

typedef struct {
    int ranks;
    const char *asked, *words; /* NULL: nothing is said */
    wisp_log_level level;
} saying;

static int listen_to(void *arg, int rank)
{
    const saying *s = arg;
    heard h = {0};
    wisp_ctx *ctx;
    const wisp_ctx_opts o = {.device = s->asked, .threads = 1, .log = hear, .log_arg = &h, .level = WISP_LOG_INFO};
    REF_OK(NULL, wisp_ctx_create(&ctx, &o));
    assert_int_equal(h.lines, rank == 0 && s->words);
    if (h.lines) assert_string_equal(h.last, s->words);
    if (h.lines) assert_int_equal(h.level, s->level);
    wisp_ctx_free(ctx);
    return 0;
}

static void told(void **state)
{
    (void)state;
    saying cases[] = {
        {1, "far", NULL, 0},
        {3, "cpu", NULL, 0},
        {3, "cpu,far", "devices of the processes: 0 cpu, 1 far, 2 cpu", WISP_LOG_INFO},
        {3, "far", "devices of the processes: 0 far (shared by 2), 1 far:1, 2 far (shared by 2)", WISP_LOG_PERF}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) ref_ranks_each(cases[i].ranks, listen_to, &cases[i]);
}

/* ---- memory --------------------------------------------------------------------------------------- */

static int64_t installed(const char *device)
{
    wisp_device d;
    assert_int_equal(wisp_device_info(wisp_device_find(device), &d), 1);
    return d.memory_bytes;
}

static int look_at_limits(void *arg, int rank)
{
    const int64_t given = *(int64_t *)arg, all = installed("plain");
    const wisp_ctx_opts o = {.device = "plain,cpu,plain", .threads = 1, .device_memory_limit = given};
    wisp_ctx *ctx = ref_ctx(&o);
    int64_t limit;
    wisp_ctx_device_memory(ctx, NULL, NULL, &limit);
    assert_int_equal(limit, rank == 1 ? 0 : given ? given : all / 2);
    wisp_ctx_free(ctx);
    return 0;
}

/* More than its part is refused. */
static int hold_too_much(void *arg, int rank)
{
    wisp_ctx *ctx = ctx_on("plain");
    wisp_map *map;
    wisp_blk *x;
    const int64_t rows = installed("plain") / 2 / (int64_t)sizeof(double) / 16 + 1000;
    (void)arg, (void)rank;
    REF_OK(ctx, wisp_map_create(&map, ctx, 2 * rows));
    REF_FAILS(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 16), WISP_ERR_NOMEM, "that each process on it may have");
    wisp_map_free(map);
    wisp_ctx_free(ctx);
    return 0;
}

static void limits(void **state)
{
    (void)state;
    int64_t given[] = {0, 123456};
    for (int i = 0; i < 2; i++) ref_ranks_each(3, look_at_limits, given + i);
    ref_ranks_each(2, hold_too_much, NULL);
}

/* ---- what they compute together ------------------------------------------------------------------- */

enum { COLUMNS = 3, MOMENTS = 40 };

typedef struct {
    int ranks;
    const char *asked;
    wisp_halo halo;
    double (*moment)[MOMENTS]; /* of one rank on the CPU, which fills them in: [COLUMNS] */
    wisp_scalar *x;            /* [rows], a solution */
} together;

static const char spec[] = "anderson:nx=7,ny=6,nz=5,disorder=2";
enum { ROWS = 7 * 6 * 5 };

/* The greatest difference of numbers; or they are filled in. */
static double compare(int ranks, double *want, const double *now, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(want[i] - now[i]));
    if (ranks == 1) memcpy(want, now, n * sizeof *now);
    return ranks == 1 ? 0 : most;
}

/* A product with dots, against the oracle. */
static void multiply(wisp_ctx *ctx, const wisp_mat *A)
{
    wisp_src src;
    ref_rng r = {5};
    REF_OK(ctx, wisp_src_open(&src, ctx, spec));
    ref_mat dense = ref_dense(&src);
    ref_check_product(ctx, &r, A, dense, WISP_D, COLUMNS, WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY | WISP_SHIFT, 0,
                      "on different devices");
    ref_free(dense);
    wisp_src_close(&src);
}

/* Of a system that is positive definite, in many iterations. */
static void solve(wisp_ctx *ctx, const together *t)
{
    wisp_mat *A;
    wisp_blk *b, *x;
    wisp_solution s;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=7,ny=6,nz=5", &(wisp_mat_opts){.halo = t->halo}));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 9, 1, 0));
    REF_OK(ctx, wisp_solve(&s, x, A, b, &(wisp_solve_opts){.method = WISP_CG, .tolerance = 1e-12}));
    ref_mat now = ref_get(x);
    assert_true(now.rows == ROWS && now.cols == 1);
    double far = 0;
    for (int i = 0; i < ROWS; i++) far = fmax(far, cabs(now.a[i] - (t->x[i].re + I * t->x[i].im)));
    if (t->ranks == 1)
        for (int i = 0; i < ROWS; i++) t->x[i] = (wisp_scalar){creal(now.a[i]), 0};
    else if (!(far <= 1e-10))
        fail_msg("%s: the solution is off by %g", t->asked, far);
    ref_free(now);
    wisp_solution_free(&s);
    wisp_blk_free(x);
    wisp_blk_free(b);
    wisp_mat_free(A);
}

static int compute(void *arg, int rank)
{
    const together *t = arg;
    wisp_ctx *ctx = ctx_on(t->asked);
    wisp_mat *A;
    wisp_moments m;
    int64_t weights[MOST];
    const wisp_kpm_opts o = {.moments = MOMENTS, .vectors = COLUMNS, .seed = 3, .bounds = {0}};
    (void)rank;
    double steps[2] = {wisp_ctx_steps_per_call(ctx), 1}; /* the same of all */
    const double own = steps[0];
    REF_OK(ctx, wisp_ctx_sum(ctx, steps, 2));
    assert_true(steps[0] == own * t->ranks && (t->ranks == 1 || own > 1));
    REF_OK(ctx, wisp_mat_open(&A, ctx, spec, &(wisp_mat_opts){.halo = t->halo}));
    multiply(ctx, A);
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    assert_int_equal(m.n * m.vectors, MOMENTS * COLUMNS);
    const double far = compare(t->ranks, t->moment[0], m.mu, MOMENTS * COLUMNS);
    if (!(far <= 1e-11 * ROWS)) fail_msg("%s: moments are off by %g", t->asked, far);
    wisp_moments_free(&m);
    REF_OK(ctx, wisp_mat_weights(A, WISP_D, COLUMNS, weights));
    for (int r = 0; r < t->ranks; r++) assert_true(weights[r] > 0);
    wisp_mat_free(A);
    solve(ctx, t);
    wisp_ctx_free(ctx);
    return 0;
}

static void mixed(void **state)
{
    (void)state;
    static double moment[COLUMNS][MOMENTS];
    static wisp_scalar x[ROWS];
    together cases[] = {
        {1, "cpu", WISP_HALO_AUTO, moment, x},           {2, "cpu,plain", WISP_HALO_AUTO, moment, x},
        {2, "plain,cpu", WISP_HALO_NONE, moment, x},     {3, "cpu,far,plain", WISP_HALO_TASK, moment, x},
        {3, "far,cpu", WISP_HALO_NEIGHBOURS, moment, x}, {2, "cpu,far", WISP_HALO_COLUMNS, moment, x}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) ref_ranks_each(cases[i].ranks, compute, &cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_out), cmocka_unit_test(of_the_environment),
                                       cmocka_unit_test(none),       cmocka_unit_test(told),
                                       cmocka_unit_test(limits),     cmocka_unit_test(mixed)};
    return ref_run_rank_tests(tests, sizeof tests / sizeof tests[0]);
}
