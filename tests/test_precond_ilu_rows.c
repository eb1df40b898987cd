/* Incomplete factors of matrices with full rows and columns, and a call that is cancelled while they are made. */
#include "diffusion.h"

/* 4 on the diagonal, 0.01 in one row and its column. */
typedef struct {
    int64_t n, tip;
} arrow;
static int arrow_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const arrow *a = arg;
    int n = 0;
    for (int64_t j = a->n - 1; j >= 0; j--)
        if (i == j || i == a->tip || j == a->tip) col[n] = j, val[n++] = i == j ? 4 : 0.01;
    return n;
}

/* Full first and last rows and columns, in any order: the factors are those of A itself but for what the first column
   would fill in, so that L U z = x is seen without dense ones. */
static void long_rows(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 4001 };
    if (ref_ranks() > 1) return;
    for (int last = 0; last < 2; last++)
        for (int order = 0; order < 2; order++) {
            arrow a = {N, last ? N - 1 : 0};
            wisp_src src = ref_rows_src(WISP_D, N, N, N, arrow_row, &a);
            wisp_mat *A;
            wisp__ilu f;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src,
                                        &(wisp_mat_opts){.order = order ? WISP_ROWS_RCM : WISP_ROWS_NATURAL}));
            REF_OK(ctx, wisp__ilu_make(&f, A, 1, false, NULL));
            double *val = f.val, left = 4;
            assert_int_equal(f.begin[N], 3 * N - 2);
            for (int64_t i = 0; i < N; i++) {
                assert_true(f.col[f.diagonal[i]] == i);
                if (i != a.tip) left -= last ? 1e-4 / 4 : 0;
                for (int64_t k = f.begin[i]; k + 1 < f.begin[i + 1]; k++) assert_true(f.col[k] < f.col[k + 1]);
            }
            if (last) assert_true(fabs(val[f.diagonal[N - 1]] - left) < 1e-12); /* 4 less the sum of 0.01^2 / 4 */
            for (int64_t i = 1; i < N && !last; i++) assert_true(fabs(val[f.diagonal[i]] - (4 - 1e-4 / 4)) < 1e-14);
            wisp__ilu_free(&f);
            wisp_mat_free(A);
            wisp_src_close(&src);
        }
}

/* A cancel while factors are made ends the call there, and x stays as it is. */
static int cancel_at(void *arg, const wisp_progress *p)
{
    (void)arg;
    return !strcmp(p->task, "factoring");
}
static void cancelled(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1, .progress = cancel_at});
    const diffusion d = {.nx = 50, .ny = 50, .nz = 30, .kind = SMOOTH};
    wisp_src src = diffusion_src(&d, WISP_D);
    wisp_mat *A;
    wisp_blk *x, *b;
    wisp_solution s;
    double norm;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
    assert_int_equal(wisp_solve(&s, x, A, b, &(wisp_solve_opts){.precond = WISP_IC}), WISP_ERR_CANCELLED);
    if (!strstr(message_of(ctx), "factoring")) fail_msg("%s", message_of(ctx));
    wisp_ctx_resume(ctx);
    REF_OK(ctx, wisp_norm(x, &norm));
    assert_true(norm == 0 && s.iterations == 0);
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    wisp_src_close(&src);
    ref_nothing_left(ctx);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_rows), cmocka_unit_test(cancelled)};
    return REF_RUN_WITH(tests, setup, teardown);
}
