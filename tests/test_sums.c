/* Sums in two parts: the bits of one, other sums in between, a wait that is missing, ranks that fail in between. */
#include "ref.h"
#include <stdlib.h>
#include <wisp/wisp.h>

static void parts(void **state)
{
    static const size_t length[] = {0, 1, 30, 31, 64, 65, 5000}; /* the longest that fit a post, and others */
    wisp_ctx *ctx = ref_ctx(NULL);
    (void)state;
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        double *x = calloc(length[k] + 1, sizeof *x), *y = calloc(length[k] + 1, sizeof *y), one = 1;
        wisp_counts before, after;
        ref_rng rng = {100 * k + (uint64_t)wisp_ctx_rank(ctx)};
        for (size_t i = 0; i < length[k]; i++) x[i] = y[i] = ref_uniform(&rng);
        REF_OK(ctx, wisp_ctx_sum(ctx, y, length[k]));
        wisp_ctx_counts(ctx, &before);
        wisp_ctx_enter(ctx);
        REF_OK(ctx, wisp_ctx_sum_start(ctx, x, length[k]));
        REF_OK(ctx, wisp_ctx_sum(ctx, &one, 1));
        REF_OK(ctx, wisp_ctx_sum_wait(ctx));
        REF_OK(ctx, wisp_ctx_leave(ctx, WISP_OK));
        wisp_ctx_counts(ctx, &after);
        assert_memory_equal(x, y, length[k] * sizeof *x);
        assert_true(one == wisp_ctx_processes(ctx));
        assert_int_equal(after.reductions - before.reductions, 2);
        free(x), free(y);
    }
    wisp_ctx_free(ctx);
}

/* One sum after the other, short and long ones in turn: no rank gets what another has for the next or the last one. */
static void many(void **state)
{
    enum { SUMS = 2000, LONG = 100 };
    wisp_ctx *ctx = ref_ctx(NULL);
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    (void)state;
    for (int k = 0; k < SUMS; k++) {
        double x[LONG];
        const size_t n = k % 7 == 6 ? LONG : 1;
        for (size_t i = 0; i < n; i++) x[i] = k + rank;
        wisp_ctx_enter(ctx);
        REF_OK(ctx, wisp_ctx_sum(ctx, x, n));
        for (size_t i = 0; i < n; i++) assert_true(x[i] == ranks * k + ranks * (ranks - 1) / 2);
        x[0] = -1;
        REF_OK(ctx, wisp_ctx_leave(ctx, WISP_OK));
    }
    wisp_ctx_free(ctx);
}

/* The last rank fails before the start, between, or after the wait: all do, and the next sum is right. */
static void failures(void **state)
{
    wisp_ctx *ctx = ref_ctx(NULL);
    (void)state;
    for (int at = 0; at < 3; at++) {
        const int fails = wisp_ctx_rank(ctx) == wisp_ctx_processes(ctx) - 1;
        double x = 1;
        wisp_status status = WISP_OK;
        wisp_ctx_enter(ctx);
        for (int part = 0; part < 3 && status == WISP_OK; part++) {
            if (fails && part == at) status = wisp_ctx_failf(ctx, WISP_ERR_IO, "it fails");
            if (status == WISP_OK && part == 0) status = wisp_ctx_sum_start(ctx, &x, 1);
            if (status == WISP_OK && part == 1) status = wisp_ctx_sum_wait(ctx);
        }
        REF_FAILS(ctx, wisp_ctx_leave(ctx, status), WISP_ERR_IO, "it fails");
        x = 1;
        REF_OK(ctx, wisp_ctx_sum_start(ctx, &x, 1));
        if (wisp_ctx_processes(ctx) > 1) {
            REF_FAILS(ctx, wisp_ctx_sum_start(ctx, &x, 1), WISP_ERR_ARG, "waited for");
            REF_FAILS(ctx, wisp_ctx_sum_wait(ctx), WISP_ERR_ARG, "no sum was started");
            x = 1;
            REF_OK(ctx, wisp_ctx_sum_start(ctx, &x, 1));
        }
        REF_OK(ctx, wisp_ctx_sum_wait(ctx));
        assert_true(x == wisp_ctx_processes(ctx));
    }
    wisp_ctx_free(ctx);
}

/* The last rank stops in the product beside a sum, while the others exchange their halos. */
static void failed_product(void **state)
{
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp_blk *v, *y;
    (void)state;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=20,ny=20,nz=20", NULL));
    REF_OK(ctx, wisp_blk_create(&v, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_fill_random(v, WISP_RANDOM_GAUSS, 1, 0, 0));
    for (int inside = 0; inside < 2; inside++) {
        double x = 1;
        wisp_status status;
        if (inside) wisp_ctx_enter(ctx);
        REF_OK(ctx, wisp_ctx_sum_start(ctx, &x, 1));
        if (wisp_ctx_rank(ctx) == wisp_ctx_processes(ctx) - 1) wisp_ctx_cancel(ctx);
        status = wisp_spmmv(y, A, v, NULL);
        if (inside) status = wisp_ctx_leave(ctx, status);
        assert_int_equal(status, WISP_ERR_CANCELLED);
        wisp_ctx_resume(ctx);
        x = 1;
        REF_OK(ctx, wisp_ctx_sum_start(ctx, &x, 1));
        REF_OK(ctx, wisp_spmmv(y, A, v, NULL));
        REF_OK(ctx, wisp_ctx_sum_wait(ctx));
        assert_true(x == wisp_ctx_processes(ctx));
    }
    wisp_blk_free(v), wisp_blk_free(y);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(many), cmocka_unit_test(failures),
                                       cmocka_unit_test(failed_product)};
    return REF_RUN(tests);
}
