/* Schedules of interleaved steps: every task waits for what it needs, and as deep as it pays. */
#include "data/store/store.h"
#include "sched/cascade.h"
#include "graph_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            graph_rows p = {graph, WISP_D};
            if ((threads == 1 || ctx->one_node) && graph != RANDOM) wanted += 3;
            wisp_mat *A = graph_mat(ctx, &p, 64, WISP_FORMAT_DEFAULT);
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
    graph_rows p = {SHUFFLED, WISP_D};
    wisp_mat *A;
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p.type, .row = graph_row, .arg = &p};
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
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 2, .no_pin = 1}); /* of its own numbers */
        memset(ctx->rates.kernel, 0, sizeof ctx->rates.kernel);
        graph_rows p = {CHAIN, WISP_D};
        wisp_mat *A = graph_mat(ctx, &p, WIDTH, WISP_FORMAT_SELL);
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
        A = graph_mat(ctx, &p, WIDTH, WISP_FORMAT_SELL);
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
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 1, .no_pin = 1}); /* of its own numbers */
    memset(ctx->rates.kernel, 0, sizeof ctx->rates.kernel);
    const wisp__rates r = {.memory = 10e9, .l3 = 40e9, .exchange = 20e9, .l2 = 100e9, .loads = 1e9};
    graph_rows p = {CHAIN, WISP_D};
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p.type, .row = graph_row, .arg = &p};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(budgets), cmocka_unit_test(choices),
                                       cmocka_unit_test(core_work)};
    return REF_RUN(tests);
}
