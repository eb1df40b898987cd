/* How many steps are interleaved, where that is left to the library: what a model of time finds. */
#include "sched/cascade.h"
#include "ref.h"

/* A chain: each row has a few columns on either side. */
enum { ROWS = 40000, NEAR = 3, WIDTH = 64, BUDGET = 6 << 20, STEPS = 16 };

static int row(void *arg, int64_t i, int64_t *col, void *val)
{
    (void)arg;
    int n = 0;
    for (int64_t j = i - NEAR; j <= i + NEAR; j++)
        if (j >= 0 && j < ROWS) {
            if (col) col[n] = j, ((double *)val)[n] = 1;
            n++;
        }
    return n;
}

/* GB/s of memory and of the last cache. */
static void set_rates(wisp_ctx *ctx, double memory, double last)
{
    wisp_machine m = {.exchange_gbs = last};
    for (int l = 0; l < WISP_LEVELS; l++)
        m.gbs[WISP_LOAD][l][1] = l == WISP_MEMORY ? memory : l == WISP_L3 ? last : 500;
    wisp_ctx_set_machine(ctx, &m);
}

static wisp_mat *make(wisp_ctx *ctx)
{
    const wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = 2 * NEAR + 1, .type = WISP_D, .row = row};
    const wisp_mat_opts o = {.width = WIDTH, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
    wisp_mat *A;
    ctx->rates.l2_bytes = 2 << 20;
    ctx->one_node = true; /* or nothing is interleaved */
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    return A;
}

static int found(const wisp_mat *A, int steps)
{
    const wisp__cascade *c;
    REF_OK(A->ctx, wisp__depth_find(A, WISP_D, WIDTH, steps, BUDGET, &c));
    const int depth = c ? c->steps : 1;
    assert_true(!c || (!c->why && c->step.seconds < c->plain.seconds));
    wisp__cascade_release(A, c);
    return depth;
}

/* Deep where memory is slow, the same each time; plain sweeps where the last cache is hardly faster. */
static void by_model(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A = make(ctx);
    const wisp__cascade *c;
    set_rates(ctx, 5, 500);
    const int deep = found(A, STEPS);
    assert_true(deep >= 4);
    set_rates(ctx, 5, 6);
    assert_int_equal(found(A, STEPS), 1);
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, WIDTH, 4, BUDGET, &c)); /* who asks for it has it */
    assert_true(c && c->schedule.tasks > 0);
    wisp__cascade_release(A, c);
    set_rates(ctx, 5, 500);
    assert_int_equal(found(A, STEPS), deep);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Never more than there are steps. */
static void few_steps(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A = make(ctx);
    set_rates(ctx, 5, 500);
    for (int steps = 0; steps <= STEPS; steps++) assert_true(found(A, steps) <= (steps > 1 ? steps : 1));
    assert_true(found(A, 2) == 2 && found(A, 3) == 2);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_model), cmocka_unit_test(few_steps)};
    return REF_RUN(tests);
}
