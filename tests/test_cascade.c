/* Interleaved steps: every task waits for what it needs, and the results are those of one sweep after the other. */
#include "data/store/store.h"
#include "sched/cascade.h"
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12000, MOST_ROW = 8, GRAPHS = 11, PART = 256 };
enum { CHAIN, PERIODIC, LATTICE, TORUS, ONE_WAY, HALVES, STAR, CLIQUES, FAR_LINKS, SHUFFLED, RANDOM };
static const char *const graph_name[GRAPHS] = {"chain",        "periodic chain", "lattice", "torus",
                                               "one-way band", "halves",         "star",    "cliques",
                                               "far links",    "shuffled chain", "random"};

typedef struct {
    int graph;
    wisp_type type;
} pattern;

static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 29;
}

static int add(int64_t *col, int n, int64_t to)
{
    if (to < 0 || to >= ROWS) return n;
    for (int i = 0; i < n; i++)
        if (col[i] == to) return n;
    col[n] = to;
    return n + 1;
}

/* Row i of a chain whose parts of PART rows stand in another order, all but the last one; and back. */
static int64_t shuffled(int64_t i, int64_t by)
{
    const int64_t parts = ROWS / PART;
    return i >= parts * PART || i < 0 ? i : i / PART * by % parts * PART + i % PART;
}

/* Some rows are empty in every graph. */
static int columns(int graph, int64_t i, int64_t *col)
{
    const int64_t line = 100, plane = 1500;
    int n = 0;
    if (hash((uint64_t)i, 77) % 50 == 0) return 0;
    switch (graph) {
    case PERIODIC: n = add(col, n, (i + 1) % ROWS), n = add(col, n, (i + ROWS - 1) % ROWS); break;
    case LATTICE: n = add(col, n, i + plane), n = add(col, n, i - plane), n = add(col, n, i + line); break;
    case TORUS:
        n = add(col, n, (i + plane) % ROWS), n = add(col, n, (i + ROWS - plane) % ROWS);
        n = add(col, n, i / plane * plane + (i + line) % plane);
        break;
    case ONE_WAY: n = add(col, n, i + (int64_t)(hash((uint64_t)i, 5) % 900)); return n;
    case HALVES: n = add(col, n, i / (ROWS / 2) * (ROWS / 2) + (i + 700) % (ROWS / 2)); break;
    case STAR: n = add(col, n, 0); break;
    case CLIQUES: n = add(col, n, i / 6 * 6 + (int64_t)(hash((uint64_t)i, 6) % 6)); break;
    case FAR_LINKS:
        if (i % 997 == 0) n = add(col, n, (int64_t)(hash((uint64_t)i, 7) % ROWS));
        break;
    case SHUFFLED: /* 46 parts; 17 and 19 are inverse to each other modulo 46 */
        n = add(col, n, i), n = add(col, n, shuffled(shuffled(i, 19) - 1, 17));
        return add(col, n, shuffled(shuffled(i, 19) + 1, 17));
    case RANDOM:
        for (uint64_t k = 0; k < 4; k++) n = add(col, n, (int64_t)(hash((uint64_t)i, k) % ROWS));
        break;
    default: break;
    }
    n = add(col, n, i), n = add(col, n, i - 1), n = add(col, n, i + 1);
    return n;
}

static int row(void *arg, int64_t i, int64_t *col, void *val)
{
    const pattern *p = arg;
    int64_t mine[MOST_ROW];
    const int n = columns(p->graph, i, col ? col : mine);
    const bool pairs = wisp_type_is_complex(p->type);
    for (int k = 0; col && k < n; k++) {
        double *v = (double *)val + (pairs ? 2 * k : k);
        v[0] = (double)(hash((uint64_t)i, (uint64_t)col[k]) % 1000) / 3000 - 0.16;
        if (pairs) v[1] = 0.1;
    }
    return n;
}

static wisp_mat *make(wisp_ctx *ctx, pattern *p, int width, wisp_format format)
{
    wisp_mat *A;
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p->type, .row = row, .arg = p};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = width, .format = format}));
    return A;
}

/* Each group does each step once, and begins when all that it reads is there, and all that it overwrites was read. */
static void check_order(const wisp_mat *A, const wisp__cascade *c)
{
    const wisp__schedule *s = &c->schedule;
    const int64_t per = (A->grid.chunks_per_block << A->log_c) * s->group_blocks,
                  groups = (A->local_rows + per - 1) / per;
    const int steps = c->steps;
    int64_t *at = malloc((size_t)(groups * steps) * sizeof *at);
    for (int64_t i = 0; i < groups * steps; i++) at[i] = -1;
    assert_int_equal(s->tasks, groups * steps);
    for (int64_t i = 0; i < s->tasks; i++) {
        const wisp__task t = s->task[i];
        assert_in_range(t.group, 0, groups - 1);
        assert_in_range(t.step, 0, steps - 1);
        assert_true(t.after < i);
        assert_int_equal(at[t.group * steps + t.step], -1);
        at[t.group * steps + t.step] = i;
    }
    wisp__host_mat host;
    assert_int_equal(wisp__mat_lend(A, WISP_READ, &host), WISP_OK);
    for (int64_t i = 0; i < A->local_rows; i++)
        for (int e = 0; e < wisp__row_len(&host.mat, i); e++) {
            const wisp__row row = wisp__row_of(&host.mat, i);
            const int64_t g = i / per, h = wisp__row_col(&row, e) / per;
            for (int k = 1; k < steps; k++) {
                assert_true(at[h * steps + k - 1] <= s->task[at[g * steps + k]].after);
                assert_true(at[g * steps + k - 1] <= s->task[at[h * steps + k]].after);
            }
        }
    wisp__mat_return(&host);
    free(at);
}

/* Where every group is a level it is the diagonal wavefront: step k of group g once step k - 1 of group g + 1 is done.
 */
static void check_wavefront(const wisp__cascade *c)
{
    const wisp__schedule *s = &c->schedule;
    const int32_t last = (int32_t)(s->tasks / c->steps) - 1;
    const bool upwards = s->task[0].group == 0;
    int64_t i = 0;
    for (int32_t front = 0; front < last + c->steps; front++)
        for (int32_t k = WISP__MAX(0, front - last); k < c->steps && k <= front; k++, i++) {
            assert_int_equal(s->task[i].step, k);
            assert_int_equal(s->task[i].group, upwards ? front - k : last - (front - k));
        }
    assert_int_equal(i, s->tasks);
}

/* With several threads no task waits for the one before it, but for those at the end. */
static void check_put_off(const wisp__cascade *c)
{
    const wisp__schedule *s = &c->schedule;
    int64_t begun = 0, groups = s->tasks / c->steps;
    for (int64_t i = 0; i < s->tasks && begun < groups; i++) {
        begun += s->task[i].step == 0;
        if (begun < groups) assert_true(s->task[i].after < i - 1 || s->task[i].after < 0);
    }
}

static double moved(const wisp__step_cost *c) { return c->read + c->written; }

static void orders(void **state)
{
    enum { CACHE = 16 << 20 }; /* whatever this machine has */
    (void)state;
    int made = 0, wanted = 0;
    for (int threads = 1; threads <= 4; threads += threads)
        for (int graph = 0; graph < GRAPHS; graph++) {
            wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
            pattern p = {graph, WISP_D};
            if ((threads == 1 || ctx->one_node) && graph != RANDOM) wanted += 3;
            wisp_mat *A = make(ctx, &p, 64, WISP_FORMAT_DEFAULT);
            wisp_ctx_set_cache(ctx, CACHE);
            for (int steps = 2; steps <= 40; steps = steps * 2 + 1) {
                const wisp__cascade *c, *again;
                REF_OK(ctx, wisp__cascade_find(A, WISP_D, 64, steps, 0, &c));
                REF_OK(ctx, wisp__cascade_find(A, WISP_D, 64, steps, 0, &again));
                assert_ptr_equal(c, again);
                if (!c) continue;
                check_order(A, c);
                made++;
                if (graph == CHAIN && threads == 1) assert_true(moved(&c->step) < 1.3 * moved(&c->plain) / steps + 2e6);
                if (graph == CHAIN && threads == 1 && wisp__tuned_of(ctx)->schedule.waves == 0) check_wavefront(c);
                if (threads > 1) check_put_off(c);
                wisp__cascade_release(A, c);
                wisp__cascade_release(A, again);
            }
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
    assert_true(made > wanted); /* of all but some of the random ones */
}

/* With little cache: levels are found where rows in their order are of no use; and what fits needs no order. */
static void budgets(void **state)
{
    (void)state;
    enum { STEPS = 4, ROW_BYTES = 512 };
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    pattern p = {SHUFFLED, WISP_D};
    wisp_mat *A;
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p.type, .row = row, .arg = &p};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = 64, .order = WISP_ROWS_NATURAL}));
    const wisp__cascade *small, *large, *c;
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, STEPS, (STEPS + 4) * 3 * PART * ROW_BYTES, &small));
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, STEPS, 1 << 30, &large));
    check_order(A, small);
    check_order(A, large);
    assert_null(small->why);
    assert_true(moved(&small->step) < 0.5 * moved(&small->plain));
    assert_non_null(strstr(large->why, "fit the cache"));
    wisp_ctx_set_cache(ctx, 1 << 30); /* the same as if it was asked for */
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, STEPS, 0, &c));
    assert_ptr_equal(c, large);
    wisp__cascade_release(A, c);
    wisp__cascade_release(A, large);
    /* Many more do not drop the one that is in use, and it is found again. */
    for (int i = 1; i < 50; i++) {
        REF_OK(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, 2, 1000000 * i, &c));
        check_order(A, c);
        wisp__cascade_release(A, c);
    }
    check_order(A, small);
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, STEPS, (int64_t)small->budget, &c));
    assert_ptr_equal(c, small);
    wisp__cascade_release(A, c);
    wisp__cascade_release(A, small);
    wisp_ctx_cancel(ctx);
    REF_FAILS(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, 5, 0, &c), WISP_ERR_CANCELLED, "ordering");
    assert_null(c);
    wisp_ctx_resume(ctx);
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, ROW_BYTES / 8, 5, 0, &c));
    check_order(A, c);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* A machine of these rates, in GB/s: what is loaded from memory, what threads have from each other, and the caches. */
static void set_rates(wisp_ctx *ctx, double memory, double exchange, double caches)
{
    wisp__rates *r = &ctx->rates; /* of a machine that there can't be: caches slower than memory */
    r->loads = r->l2 = r->l3 = 1e9 * caches;
    r->memory = 1e9 * memory;
    r->exchange = 1e9 * exchange;
}

/* The depth that is chosen for 16 steps, of matrix powers in two blocks. */
static int chosen(wisp_ctx *ctx, const wisp_mat *A, int width, int64_t budget)
{
    int depth = 0;
    wisp_blk *v[2];
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, width));
    const wisp_mpk_opts o = {.steps = 16, .cache_budget = budget, .depth_used = &depth};
    REF_OK(ctx, wisp_mpk(v, 2, A, &o));
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
    return depth;
}

/* Steps are interleaved where memory is what sweeps wait for, as deep as that gains; not where cores are, or where
   threads take long to have what others wrote; and the same again, in another context, too. */
static void choices(void **state)
{
    (void)state;
    enum { WIDTH = 64, BUDGET = 6 << 20 };
    static const struct {
        double memory, exchange, caches;
        int least, most;
        const char *why; /* of 4 steps */
    } cases[] = {{5, 500, 500, 4, 16, NULL},
                 {500, 500, 5, 1, 1, "the cores"},
                 {50, 1e-2, 500, 1, 1, "the cores and what comes from the cache"},
                 {5, 500, 500, 4, 16, NULL}};
    for (int again = 0; again < 2; again++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        pattern p = {CHAIN, WISP_D};
        wisp_mat *A = make(ctx, &p, WIDTH, WISP_FORMAT_SELL);
        ctx->rates.l2_bytes = 2 << 20; /* less than the budget, whatever this machine has */
        if (ctx->one_node)
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const wisp__cascade *c;
                set_rates(ctx, cases[i].memory, cases[i].exchange, cases[i].caches);
                assert_in_range(chosen(ctx, A, WIDTH, BUDGET), cases[i].least, cases[i].most);
                REF_OK(ctx, wisp__cascade_find(A, WISP_D, WIDTH, 4, BUDGET, &c));
                assert_true(!c->why == !cases[i].why && (!c->why || strstr(c->why, cases[i].why)));
                assert_true(!c->why == (c->step.seconds < 0.92 * c->plain.seconds));
                wisp__cascade_release(A, c);
            }
        wisp_mat_free(A);
        p.graph = RANDOM;
        A = make(ctx, &p, WIDTH, WISP_FORMAT_SELL);
        set_rates(ctx, 5, 500, 500);
        assert_int_equal(chosen(ctx, A, WIDTH, BUDGET), 1); /* no order of a random graph gains anything */
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

static wisp__core_work work_of(const wisp_mat *A, int width)
{
    wisp__sample sample;
    wisp__shape m;
    wisp__caches c;
    wisp__comings x;
    wisp__core_work w;
    REF_OK(A->ctx, wisp__shape_of(A, &sample, &m));
    const wisp__facts f = wisp__facts_of(A->ctx);
    REF_OK(A->ctx, wisp__shape_comings(A->ctx, &f, &m, WISP_D, width, &c, &x));
    REF_OK(A->ctx, wisp__core_work_find(A->ctx, &f, &m, WISP_D, width, &x, &c, &w));
    wisp__sample_close(&sample, A->ctx);
    return w;
}

/* What a step asks of the cores, counted by hand: a chain whose block rows come up anew once each. */
static void core_work(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    const wisp__rates r = {.memory = 10e9, .l3 = 40e9, .exchange = 20e9, .l2 = 100e9, .loads = 1e9};
    pattern p = {CHAIN, WISP_D};
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p.type, .row = row, .arg = &p};
    static const int widths[] = {1, 5, 8, 64};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const int width = widths[i];
        const wisp_mat_opts o = {.C = 1, .width = width, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
        wisp_mat *A;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        const wisp__core_work w = work_of(A, width);
        const double nnz = (double)A->local.nnz, x = 8.0 * ROWS * width;
        double loads = 0;
        for (int left = width, part; left > 0; left -= part) { /* 5 = 4 + 1, 64 = 32 + 32 */
            for (part = 32; part > left;) part /= 2;
            const double registers = (double)((8 * part + ctx->register_bytes - 1) / ctx->register_bytes);
            loads += width == 1 ? nnz * 3 + ROWS * 6 : nnz * (1.7 + 1.1 * registers) + ROWS * 3.5 * registers;
        }
        assert_true(fabs(w.loads / loads - 1) < 1e-12);
        const double most = 3.2 * x + (double)wisp__mat_bytes(A, false); /* the matrix, x, y, and what x comes again */
        assert_true(w.far > 0.8 * most && w.far < most);
        assert_true(wisp__core_seconds(wisp__tuned_of(ctx), &w, &r) == w.loads / 1e9 + 1.45 * w.far / 100e9);
        /* Each part of the traffic at its own rate; a step takes no less than either, and rows
           shorter than a line (5 columns) take most of both. */
        const wisp__step_cost c = {.read = 1e6, .written = 0, .from_l3 = 8e6, .from_others = 2e6};
        const double traffic = 1e-4 + 2e-4, core = wisp__core_seconds(wisp__tuned_of(ctx), &w, &r) + 1e-4,
                     seconds = wisp__step_seconds(wisp__tuned_of(ctx), &c, &w, &r);
        const double want = width == 5 ? pow(pow(traffic, 1.2) + pow(core, 1.2), 1 / 1.2)
                                       : wisp_model_overlap(ctx, traffic, core, w.ahead);
        assert_true(seconds > core && seconds > traffic && fabs(want / seconds - 1) < 1e-12);
        wisp_mat_free(A);
    }
    /* One row in 50 is empty, so about 0.85 of the eights of rows follow one another: these are not gathered. */
    const wisp_mat_opts o = {.C = 16, .sigma = 1, .width = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    const double each = (work_of(A, 1).loads - ROWS * 3.5) / (double)A->local.nnz;
    assert_true(fabs(each - (1 - 0.85 * 0.3)) < 0.05 * 0.3);
    wisp_mat_free(A);
    assert_true(wisp_model_memory(ctx, 3e9, 0, 0, 2) == 1.5);
    assert_true(wisp_model_memory(ctx, 3e9, 1e9, 1, 2) > wisp_model_memory(ctx, 3e9, 1e9, 0, 2));
    assert_true(wisp_model_memory(ctx, 3e9, 1e9, 1, 2) < wisp_model_memory(ctx, 4e9, 0, 0, 2));
    assert_true(wisp_model_overlap(ctx, 2, 1, 1) < wisp_model_overlap(ctx, 2, 1, 0));
    wisp_ctx_free(ctx);
}

enum { STEPS = 7, SUMS = 2, MOST_WIDTH = 33 };

typedef struct {
    wisp_blk *v[STEPS + 2], *z[SUMS];
    wisp_scalar dot[STEPS * 3 * MOST_WIDTH];
} result;

/* What a run begins with; it takes long to make. */
static void make_start(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored, result *start)
{
    for (int i = 0; i < stored + SUMS; i++) {
        wisp_blk **const x = i < stored ? &start->v[i] : &start->z[i - stored];
        REF_OK(ctx, wisp_blk_create(x, ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_fill_random(*x, WISP_RANDOM_GAUSS, 4, 9, (uint32_t)(100 * i)));
    }
}

static void free_blocks(result *r, int stored)
{
    for (int i = 0; i < stored; i++) wisp_blk_free(r->v[i]);
    for (int i = 0; i < SUMS; i++) wisp_blk_free(r->z[i]);
}

static void copy_start(wisp_ctx *ctx, wisp_blk **x, const wisp_blk *start)
{
    REF_OK(ctx, wisp_blk_create(x, ctx, wisp_blk_map(start), wisp_blk_type(start), wisp_blk_width(start)));
    REF_OK(ctx, wisp_copy(*x, start));
}

static void run(wisp_ctx *ctx, const wisp_mat *A, const result *start, int stored, int depth, result *r)
{
    wisp_scalar alpha[STEPS], beta[STEPS], gamma[STEPS], eta[SUMS * STEPS];
    for (int k = 0; k < STEPS; k++) {
        alpha[k] = (wisp_scalar){0.5 + 0.1 * k, 0};
        beta[k] = (wisp_scalar){k == 2 ? 0 : -0.7, 0};
        gamma[k] = (wisp_scalar){0.01 * k, 0};
        for (int i = 0; i < SUMS; i++) eta[i * STEPS + k] = (wisp_scalar){i + k == 3 ? 0 : 0.3 + i - 0.1 * k, 0};
    }
    memset(r->dot, 0, sizeof r->dot);
    for (int i = 0; i < stored; i++) copy_start(ctx, &r->v[i], start->v[i]);
    for (int i = 0; i < SUMS; i++) copy_start(ctx, &r->z[i], start->z[i]);
    const wisp_mpk_opts o = {.steps = STEPS,
                             .alpha = alpha,
                             .beta = beta,
                             .gamma = gamma,
                             .terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY,
                             .dot = r->dot,
                             .sums = stored == 2 ? SUMS : 0,
                             .z = r->z,
                             .eta = eta,
                             .depth = depth};
    REF_OK(ctx, wisp_mpk(r->v, stored, A, &o));
}

static void same(wisp_ctx *ctx, const wisp_blk *a, const wisp_blk *b, const char *what)
{
    const size_t row = (size_t)wisp_blk_width(a) * wisp_type_size(wisp_blk_type(a));
    void *x, *y;
    int64_t stride;
    REF_OK(ctx, wisp_blk_lend(a, WISP_WRITE, &x, &stride));
    REF_OK(ctx, wisp_blk_lend(b, WISP_WRITE, &y, NULL));
    assert_int_equal(stride, wisp_blk_width(a));
    if (memcmp(x, y, (size_t)wisp_blk_nrows(a) * row)) fail_msg("%s", what);
    REF_OK(ctx, wisp_blk_return(a));
    REF_OK(ctx, wisp_blk_return(b));
}

static void compare(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored, const char *what)
{
    static const int depths[] = {2, 3, STEPS, 50, 0};
    static result start, plain, deep; /* large */
    make_start(ctx, A, type, width, stored, &start);
    run(ctx, A, &start, stored, 1, &plain);
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        char text[200];
        if (REF_SANITIZED && (size_t)(width + stored) % 5 != d) continue; /* other graphs and blocks meet the others */
        snprintf(text, sizeof text, "%s, %s, width %d, %d stored, depth %d", what, wisp_type_name(type), width, stored,
                 depths[d]);
        run(ctx, A, &start, stored, depths[d], &deep);
        for (int i = 0; i < stored; i++) same(ctx, plain.v[i], deep.v[i], text);
        for (int i = 0; i < SUMS; i++) same(ctx, plain.z[i], deep.z[i], text);
        free_blocks(&deep, stored);
        if (memcmp(plain.dot, deep.dot, sizeof plain.dot)) fail_msg("%s: dots", text);
    }
    free_blocks(&plain, stored);
    free_blocks(&start, stored);
}

/* Bit by bit. */
static void results(void **state)
{
    (void)state;
    static const int widths[] = {33, 8, 16}, stored[] = {2, 3, STEPS + 2};
    static const wisp_format formats[] = {WISP_FORMAT_SELL, WISP_FORMAT_DEFAULT};
    for (int graph = 0; graph < GRAPHS; graph++) {
        const int i = graph % 3, threads = 1 + graph % 5;
        wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
        pattern p = {graph, graph % 2 ? WISP_Z : WISP_D};
        char what[100];
        snprintf(what, sizeof what, "%s, %d threads", graph_name[graph], threads);
        wisp_mat *A = make(ctx, &p, widths[i], formats[graph / 2 % 2]);
        compare(ctx, A, graph % 4 == 2 ? WISP_Z : p.type, widths[i], stored[graph / 3 % 3], what);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

/* Chunks of rows, and one column. */
static void narrow(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=16,ny=16,nz=900", &(wisp_mat_opts){.C = 16, .sigma = 1}));
    compare(ctx, A, WISP_D, 1, 2, "7-point, C = 16");
    compare(ctx, A, WISP_D, 1, STEPS + 2, "7-point, C = 16");
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void half_is_plain(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    const wisp__cascade *c;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=40,ny=50",
                              &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .width = 8}));
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, 8, 4, 0, &c));
    assert_null(c);
    compare(ctx, A, WISP_D, 8, 2, "half");
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders),       cmocka_unit_test(budgets),
                                       cmocka_unit_test(choices),      cmocka_unit_test(core_work),
                                       cmocka_unit_test(results),      cmocka_unit_test(narrow),
                                       cmocka_unit_test(half_is_plain)};
    return REF_RUN(tests);
}
