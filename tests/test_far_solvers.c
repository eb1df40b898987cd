/* How often solvers wait for a device (wisp_counts.round_trips): once a call of wisp_mpk, of as many steps as the
   device asks for; once a pass of Gram and Schmidt. On the CPU, where nobody has to wait, the same is counted for calls
   of as many steps as suit it. And the results are the same, bit by bit. */
#include "ref.h"
#include "backend/far/far.h"
#include "solver/eig/arnoldi.h"
#include "solver/eig/chebfd.h"
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2, ASKED = 64 }; /* the latter: steps that the device far asks for */
static const char *const device[DEVICES] = {"far", "cpu"};

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A; /* with eigenvalues from 0 to 8 */
    int64_t before;
    int far;
} scene;

static const wisp_bounds_opts bounds = {.method = WISP_BOUNDS_GIVEN, .given = {4, 4.5, NAN}};

static scene scene_open(int d)
{
    scene s = {.ctx = ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 2, .no_pin = 1}), .far = d == 0};
    REF_OK(s.ctx, wisp_mat_open(&s.A, s.ctx, "laplace:points=5,nx=59,ny=17", NULL));
    assert_int_equal(wisp_ctx_steps_per_call(s.ctx), s.far ? ASKED : 1);
    return s;
}

static void scene_close(scene *s)
{
    wisp_mat_free(s->A);
    wisp_ctx_free(s->ctx);
}

static int64_t trips(wisp_ctx *ctx)
{
    wisp_counts c;
    wisp_ctx_counts(ctx, &c);
    return c.round_trips;
}

static void count_from_here(scene *s) { s->before = trips(s->ctx); }
static void expect(const scene *s, int64_t count) { assert_int_equal(trips(s->ctx) - s->before, count); }

/* Calls of so many steps each. */
static int64_t calls(int64_t steps, int64_t each) { return (steps + each - 1) / each; }

static wisp_blk *block(const scene *s, wisp_type type, int width)
{
    wisp_blk *x;
    REF_OK(s->ctx, wisp_blk_create(&x, s->ctx, wisp_mat_map(s->A), type, width));
    REF_OK(s->ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 5, 0, 0));
    return x;
}

/* ---- moments ---------------------------------------------------------------------------------- */

typedef struct {
    wisp_kpm_opts o;
    int given;       /* right and left are */
    int64_t batches; /* of vectors */
    int64_t sweeps;  /* of each */
    int cpu;         /* steps of a call on the CPU */
    int each;        /* dots are to be summed at each step: as on the CPU */
} kpm_case;

static const kpm_case kpm_cases[] = {
    /* A long run, which leaves the depth to wisp_mpk. */
    {.o = {.moments = 512, .vectors = 8, .width = 4}, .batches = 2, .sweeps = 256, .cpu = 8},
    /* A short one, and a narrower batch; the last moment needs a dot more. */
    {.o = {.moments = 131, .vectors = 3, .width = 2}, .batches = 2, .sweeps = 65, .cpu = 1},
    {.o = {.moments = 20, .vectors = 2, .width = 2}, .batches = 1, .sweeps = 10, .cpu = 1},
    /* Five steps are interleaved. */
    {.o = {.moments = 260, .vectors = 4, .width = 4, .depth = 5}, .batches = 1, .sweeps = 130, .cpu = 5},
    {.o = {.moments = 200, .vectors = 2, .variant = WISP_KPM_FUSED}, .batches = 2, .sweeps = 100, .cpu = 1},
    {.o = {.moments = 40, .vectors = 2, .reduce_each_step = 1}, .batches = 1, .sweeps = 20, .cpu = 1, .each = 1},
    /* Vectors on both sides, each of which is looked at; one moment a sweep, and the first one before. */
    {.o = {.moments = 129, .vectors = 2, .width = 2, .trace = WISP_TRACE_GIVEN},
     .given = 1,
     .batches = 1,
     .sweeps = 128,
     .cpu = 8},
};

/* A norm and a dot for the mark of the matrix, where vectors are random; the start (of given vectors two norms and a
   dot), the calls, and a dot. */
static int64_t kpm_trips(const scene *s, const kpm_case *c)
{
    const int64_t start = c->given ? 3 : 0, last = c->given ? 0 : c->o.moments % 2;
    const int64_t mark = c->o.trace == WISP_TRACE_RANDOM && !c->given ? 2 : 0;
    return mark + c->batches * (start + calls(c->sweeps, c->each ? c->cpu : ref_steps(s->ctx, c->cpu)) + last);
}

static void moments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kpm_cases / sizeof *kpm_cases; i++) {
        const kpm_case *c = &kpm_cases[i];
        wisp_moments m[DEVICES];
        for (int d = 0; d < DEVICES; d++) {
            scene s = scene_open(d);
            wisp_kpm_opts o = c->o;
            wisp_blk *right = block(&s, WISP_D, 2), *left = block(&s, WISP_D, 2);
            o.bounds = bounds;
            if (c->given) o.right = right, o.left = left;
            const int64_t expected = kpm_trips(&s, c);
            count_from_here(&s);
            REF_OK(s.ctx, wisp_kpm(&m[d], s.A, &o));
            expect(&s, expected);
            wisp_blk_free(right), wisp_blk_free(left);
            scene_close(&s);
        }
        const size_t bytes = (size_t)(m[0].n * m[0].vectors) * sizeof *m[0].mu;
        assert_memory_equal(m[0].mu, m[1].mu, bytes);
        if (c->given) assert_memory_equal(m[0].imag, m[1].imag, bytes);
        for (int d = 0; d < DEVICES; d++) wisp_moments_free(&m[d]);
    }
}

/* ---- evolution -------------------------------------------------------------------------------- */

/* The norms of psi(0); of each sequence the calls, and the norms of its last vector; of each time those of psi. */
static void evolution(void **state)
{
    (void)state;
    enum { TIMES = 2, WIDTH = 2 };
    static const int depth[] = {0, 5};
    const double time[TIMES] = {32, 64}; /* two sequences of as many terms */
    for (int i = 0; i < 4; i++) {
        const int times = 1 + i % 2, of = depth[i / 2] ? depth[i / 2] : 1;
        const int cpu = (WISP_EVOLVE_STEPS + of - 1) / of * of; /* steps of a call: whole groups of that depth */
        double norm[DEVICES][WIDTH];
        for (int d = 0; d < DEVICES; d++) {
            scene s = scene_open(d);
            wisp_blk *psi = block(&s, WISP_Z, WIDTH);
            wisp_evolution e;
            count_from_here(&s);
            REF_OK(s.ctx, wisp_evolve(&e, s.A, psi, times, time,
                                      &(wisp_evolve_opts){.bounds = bounds, .at_once = 1, .depth = depth[i / 2]}));
            assert_true(e.sequences == times && e.sweeps > 2 * ASKED * times && e.sweeps % times == 0);
            expect(&s, 1 + times * (calls(e.sweeps / times, ref_steps(s.ctx, cpu)) + 1 + 1));
            REF_OK(s.ctx, wisp_norm(psi, norm[d]));
            wisp_blk_free(psi);
            scene_close(&s);
        }
        assert_memory_equal(norm[0], norm[1], sizeof norm[0]);
    }
}

/* ---- functions -------------------------------------------------------------------------------- */

typedef struct {
    const scene *s;
    int64_t done;
    int calls, busy; /* busy: it was told of something that was not done */
} watcher;

static int watch(void *arg, int64_t done, int64_t terms)
{
    watcher *w = arg;
    if (w->s->far) {
        const wisp__far *q = wisp__far_of(w->s->ctx);
        pthread_mutex_lock(q->lock);
        w->busy += q->queued != q->over;
        pthread_mutex_unlock(q->lock);
    }
    assert_true(done > w->done && done <= terms &&
                (done == terms || done - w->done >= wisp_ctx_steps_per_call(w->s->ctx)));
    w->done = done;
    w->calls++;
    return 0;
}

/* The norms of x; the calls; the norms of the last vector; of each y twice. Who observes is told of what is done. */
static void functions(void **state)
{
    (void)state;
    enum { TERMS = 200, FUNCTIONS = 2, WIDTH = 3 };
    wisp_scalar c[FUNCTIONS][TERMS];
    double norm[DEVICES][FUNCTIONS][WIDTH];
    wisp_function f[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++) {
        for (int k = 0; k < TERMS; k++) c[i][k] = (wisp_scalar){1.0 / (1 + i + k), 0};
        f[i] = (wisp_function){.c = c[i], .terms = TERMS - 3 * i};
    }
    for (int d = 0; d < DEVICES; d++) {
        scene s = scene_open(d);
        wisp_blk *x = block(&s, WISP_D, WIDTH), *y[FUNCTIONS];
        watcher w = {.s = &s, .done = 1};
        for (int i = 0; i < FUNCTIONS; i++) y[i] = block(&s, WISP_D, WIDTH);
        count_from_here(&s);
        REF_OK(s.ctx,
               wisp_chebyshev_apply(NULL, y, s.A, x, FUNCTIONS, f,
                                    &(wisp_chebyshev_opts){.bounds = bounds, .observe = watch, .observe_arg = &w}));
        const int64_t n = calls(TERMS - 1, ref_steps(s.ctx, WISP_CHEBYSHEV_STEPS));
        expect(&s, 1 + n + 1 + 2 * FUNCTIONS);
        assert_true(w.calls == n && w.done == TERMS && w.busy == 0);
        for (int i = 0; i < FUNCTIONS; i++) REF_OK(s.ctx, wisp_norm(y[i], norm[d][i]));
        for (int i = 0; i < FUNCTIONS; i++) wisp_blk_free(y[i]);
        wisp_blk_free(x);
        scene_close(&s);
    }
    assert_memory_equal(norm[0], norm[1], sizeof norm[0]);
}

/* ---- filters ---------------------------------------------------------------------------------- */

/* Of each batch of columns the calls, or as many products by squares, and nothing else. */
static void filters(void **state)
{
    (void)state;
    enum { DEGREE = 130, WIDTH = 4, COLUMNS = 6, BATCHES = 2, KINDS = 3 };
    double c[DEGREE + 1];
    for (int k = 0; k <= DEGREE; k++) c[k] = 1.0 / (k + 1);
    const wisp_filter kind[KINDS] = {{.terms = DEGREE + 1, .power = 1, .center = 4, .scale = 0.25},
                                     {.terms = DEGREE + 1, .power = 1, .center = 4, .scale = 0.25, .c = c},
                                     {.terms = DEGREE + 1, .power = 2, .center = 4, .scale = 0.125, .shift = -1}};
    for (int i = 0; i < KINDS; i++) {
        double norm[DEVICES][COLUMNS];
        for (int d = 0; d < DEVICES; d++) {
            scene s = scene_open(d);
            wisp_eigen e = {0};
            wisp__eig k = {.ctx = s.ctx, .A = s.A, .e = &e, .type = WISP_D};
            wisp__chebfd f = {.k = &k, .width = WIDTH, .search = COLUMNS};
            wisp_blk *space = block(&s, WISP_D, COLUMNS);
            f.plan.f = kind[i], f.plan.products = DEGREE * kind[i].power;
            REF_OK(s.ctx, wisp__chebfd_blocks(&f));
            count_from_here(&s);
            REF_OK(s.ctx, wisp__chebfd_apply(&f, space, 0, COLUMNS, DEGREE + 1, NULL));
            expect(&s, BATCHES * calls(DEGREE * kind[i].power, ref_steps(s.ctx, WISP__FILTER_STEPS)));
            REF_OK(s.ctx, wisp_norm(space, norm[d]));
            wisp__chebfd_free_blocks(&f);
            wisp_blk_free(space);
            scene_close(&s);
        }
        assert_memory_equal(norm[0], norm[1], sizeof norm[0]);
    }
}

/* ---- steps ------------------------------------------------------------------------------------- */

/* Steps that are interleaved wait for nothing once there is room for their dots, where these stay in a slot. */
static void steps_are_queued(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* of which none interleaves steps */
    int depth = 0;
    enum { STEPS = 6, DEPTH = 3, NUMBERS = STEPS * 3 * 2, PATIENCE = 200 };
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "far", .threads = 2, .no_pin = 1});
    wisp__far *f = wisp__far_of(ctx);
    wisp_mat *A;
    wisp_blk *v[2];
    wisp_slot *s;
    ctx->one_node = true; /* or nothing is interleaved */
    static const wisp_scalar alpha[STEPS] = {{0.2, 0}, {0.2, 0}, {0.2, 0}, {0.2, 0}, {0.2, 0}, {0.2, 0}};
    wisp_mpk_opts o = {
        .steps = STEPS, .depth = DEPTH, .depth_used = &depth, .alpha = alpha, .terms = WISP_DOT_XX | WISP_DOT_XY};
    wisp_scalar got[2][NUMBERS];
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=5,nx=590,ny=170", NULL));
    REF_OK(ctx, wisp_slot_create(&s, ctx, NUMBERS));
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 2));
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_fill_random(v[0], WISP_RANDOM_GAUSS, 5, 0, 0));
        REF_OK(ctx, wisp_ctx_finish(ctx));
        o.dot_at = (wisp_place){s, 0};
        pthread_mutex_lock(f->lock);
        f->patience = PATIENCE; /* nothing runs before somebody waits */
        const uint64_t over = f->over;
        pthread_mutex_unlock(f->lock);
        REF_OK(ctx, wisp_blk_fill(v[1], (wisp_scalar){0, 0}));
        REF_OK(ctx, wisp_mpk(v, 2, A, &o));
        pthread_mutex_lock(f->lock);
        assert_true((i == 0 || f->over == over) && f->queued > over);
        pthread_mutex_unlock(f->lock);
        assert_int_equal(depth, DEPTH);
        REF_OK(ctx, wisp_slot_read(s, 0, NUMBERS, got[i]));
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
    wisp_slot_free(s);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Of a space of columns, multiplied some at a time: one wait for all products of columns, one for all residuals. */
static void ritz(void **state)
{
    (void)state;
    enum { WIDTH = 4, COLUMNS = 18 };
    double theta[DEVICES][COLUMNS], residual[DEVICES][COLUMNS];
    for (int d = 0; d < DEVICES; d++) {
        scene s = scene_open(d);
        wisp_eigen e = {.block = WIDTH};
        wisp__eig k = {
            .ctx = s.ctx, .A = s.A, .e = &e, .type = WISP_D, .scale = 1, .eps = DBL_EPSILON, .rows = 59 * 17};
        wisp_blk *space = block(&s, WISP_D, COLUMNS);
        wisp__ortho how;
        REF_OK(s.ctx, wisp__orthonormal(space, NULL, 0, &how));
        REF_OK(s.ctx, wisp_ctx_finish(s.ctx));
        count_from_here(&s);
        REF_OK(s.ctx, wisp__ritz(&k, space, 0, COLUMNS, theta[d]));
        if (ref_ranks() == 1) expect(&s, 1); /* several add up on the host */
        REF_OK(s.ctx, wisp__ritz_residuals(&k, space, 0, COLUMNS, theta[d], residual[d]));
        if (ref_ranks() == 1) expect(&s, 2);
        wisp_blk_free(space);
        scene_close(&s);
    }
    assert_memory_equal(theta[0], theta[1], sizeof theta[0]);
    assert_memory_equal(residual[0], residual[1], sizeof residual[0]);
}

/* ---- columns that become orthonormal ------------------------------------------------------------- */

typedef struct {
    int64_t trips, sums;
} waits;

static waits waits_of(wisp_ctx *ctx)
{
    wisp_counts c;
    wisp_ctx_counts(ctx, &c);
    return (waits){c.round_trips, c.reductions};
}

static waits waits_since(wisp_ctx *ctx, waits before)
{
    const waits now = waits_of(ctx);
    return (waits){now.trips - before.trips, now.sums - before.sums};
}

static wisp__eig eig_of(const scene *s, wisp_eigen *e)
{
    return (wisp__eig){
        .ctx = s->ctx, .A = s->A, .e = e, .type = WISP_D, .scale = 1, .eps = DBL_EPSILON, .rows = 59 * 17};
}

static void same_columns(ref_mat *got)
{
    assert_memory_equal(got[0].a, got[1].a, (size_t)(got[0].rows * got[0].cols) * sizeof *got[0].a);
    for (int d = 0; d < DEVICES; d++) ref_free(got[d]);
}

/* Once a pass, which has two sums where there are others to be orthogonal to, else one. */
static void orthonormal_columns(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* each sum of several waits */
    enum { COLUMNS = 18, FIRST = 7 };
    ref_mat got[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        scene s = scene_open(d);
        wisp_blk *all = block(&s, WISP_D, COLUMNS), *Q, *V, *one, *like;
        wisp__ortho how;
        REF_OK(s.ctx, wisp_blk_cols(&one, all, 0, 1));
        for (int j = 1; j <= FIRST; j += FIRST - 1) { /* columns that are nearly the same: a pass is not enough */
            REF_OK(s.ctx, wisp_blk_cols(&like, all, j, 1));
            REF_OK(s.ctx, wisp_axpby(like, wisp__real(1), one, wisp__real(1e-4)));
            wisp_blk_free(like);
        }
        wisp_blk_free(one);
        REF_OK(s.ctx, wisp_blk_cols(&Q, all, 0, FIRST));
        REF_OK(s.ctx, wisp_blk_cols(&V, all, FIRST, COLUMNS - FIRST));
        for (int alone = 1; alone >= 0; alone--) {
            const waits before = waits_of(s.ctx);
            REF_OK(s.ctx, wisp__orthonormal(alone ? Q : V, alone ? NULL : Q, 0, &how));
            const waits w = waits_since(s.ctx, before);
            assert_true(w.sums >= 4 - 2 * alone && w.sums % (2 - alone) == 0); /* two passes, at least */
            assert_int_equal(w.trips, w.sums / (2 - alone));
        }
        got[d] = ref_get(all);
        wisp_blk_free(Q), wisp_blk_free(V), wisp_blk_free(all);
        scene_close(&s);
    }
    same_columns(got);
}

/* Once a pass of a block, of which each has one or more, with two sums each; and a third one where a recurrence of
   three terms tells that much lies in the last two blocks. */
static void krylov_blocks(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    enum { BLOCKS = 6, KINDS = 6 };
    for (int i = 0; i < KINDS; i++) {
        const int width = 1 + i / 2, recurs = i % 2;
        ref_mat got[DEVICES];
        for (int d = 0; d < DEVICES; d++) {
            scene s = scene_open(d);
            wisp_eigen e = {0};
            wisp__eig k = eig_of(&s, &e);
            k.hermitian = recurs;
            wisp__arnoldi a = {.k = &k, .op = wisp__itself};
            REF_OK(s.ctx, wisp__arnoldi_make(&a, (BLOCKS + 1) * width, width));
            REF_OK(s.ctx, wisp__arnoldi_start(&a, false));
            const waits before = waits_of(s.ctx);
            REF_OK(s.ctx, wisp__arnoldi_expand(&a, BLOCKS * width));
            const waits w = waits_since(s.ctx, before);
            const int64_t near = recurs ? BLOCKS - 2 : 0;
            assert_true(a.active == BLOCKS * width && w.sums >= 2 * BLOCKS + near);
            assert_int_equal(w.trips, (w.sums - near) / 2);
            got[d] = ref_get(a.all);
            wisp__arnoldi_free(&a);
            scene_close(&s);
        }
        same_columns(got);
    }
}

/* The search for what is missing takes found columns out of two blocks at a time, and waits for the norms alone. */
static void columns_taken_out(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    enum { FOUND = 5, WIDTH = 2 };
    ref_mat got[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        scene s = scene_open(d);
        wisp_eigen e = {0};
        wisp__eig k = eig_of(&s, &e);
        wisp__arnoldi a = {.k = &k, .op = wisp__itself, .at.gap = {FOUND, .side = 1, 9, 8.5, 8, 0, .residual = 1e-3}};
        wisp__ortho how;
        wisp_blk *Q;
        bool empty;
        REF_OK(s.ctx, wisp__arnoldi_make(&a, FOUND + WIDTH, WIDTH));
        REF_OK(s.ctx, wisp_blk_fill_random(a.all, WISP_RANDOM_GAUSS, 5, 0, 0));
        REF_OK(s.ctx, wisp_blk_cols(&Q, a.all, 0, FOUND));
        REF_OK(s.ctx, wisp__orthonormal(Q, NULL, 0, &how));
        const waits before = waits_of(s.ctx);
        REF_OK(s.ctx, wisp__gap_empty(&a, &empty));
        const waits w = waits_since(s.ctx, before);
        assert_true(w.sums > 1 && w.sums % 3 == 1); /* one before the first steps, then two, and the norms */
        assert_int_equal(w.trips, w.sums / 3);
        got[d] = ref_get(a.x);
        wisp_blk_free(Q);
        wisp__arnoldi_free(&a);
        scene_close(&s);
    }
    same_columns(got);
}

/* ---- memory ----------------------------------------------------------------------------------- */

/* What the dots of so many steps take is planned: of a matrix with few rows they are most of it. */
static void memory(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 2, .no_pin = 1});
        const wisp_kpm_opts o = {.moments = 512, .vectors = 32, .width = 32, .bounds = bounds};
        wisp_mat *A;
        wisp_mat_info info;
        wisp_plan plan;
        wisp_moments m;
        char *ballast; /* as much as the matrix took while it was made */
        int64_t before, peak;
        REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=5,nx=9,ny=2", NULL));
        wisp_mat_get_info(A, &info);
        wisp_ctx_memory(ctx, &before, &peak);
        REF_OK(ctx, wisp_alloc(ctx, &ballast, (size_t)(peak - before) + 1, 1));
        wisp_ctx_memory(ctx, &before, NULL);
        REF_OK(ctx, wisp_kpm_plan(&plan, ctx, &info, &o, NULL));
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        wisp_ctx_memory(ctx, NULL, &peak);
        assert_in_range(peak - before, 1, plan.bytes_most);
        wisp_moments_free(&m);
        wisp_free(ctx, ballast);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moments),
                                       cmocka_unit_test(evolution),
                                       cmocka_unit_test(functions),
                                       cmocka_unit_test(filters),
                                       cmocka_unit_test(steps_are_queued),
                                       cmocka_unit_test(ritz),
                                       cmocka_unit_test(orthonormal_columns),
                                       cmocka_unit_test(krylov_blocks),
                                       cmocka_unit_test(columns_taken_out),
                                       cmocka_unit_test(memory)};
    return REF_RUN(tests);
}
