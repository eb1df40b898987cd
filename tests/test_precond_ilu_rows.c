/* Incomplete factors of matrices with full rows and columns, a call that is cancelled while they are made, rows that
   can't be read, and rows far smaller than others. */
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
    static int64_t col[N];
    static cplx val[N];
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
            double left = 4;
            int64_t entries = 0;
            for (int64_t i = 0; i < N; i++) {
                const int n = factors_row(&f, i, col, val);
                int d = 0;
                while (d < n && col[d] < i) d++;
                assert_true(d < n && col[d] == i);
                if (i != a.tip) left -= last ? 1e-4 / 4 : 0;
                if (i == N - 1 && last) assert_true(cabs(val[d] - left) < 1e-12); /* 4 less the sum of 0.01^2 / 4 */
                if (i > 0 && !last) assert_true(cabs(val[d] - (4 - 1e-4 / 4)) < 1e-14);
                for (int k = 0; k + 1 < n; k++) assert_true(col[k] < col[k + 1]);
                entries += n;
            }
            assert_int_equal(entries, 3 * N - 2);
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

/* A source that fails at some rows, from the n-th reading of each on. */
typedef struct {
    wisp_src of;
    int64_t row[2];
    int after, *seen; /* [rows] */
} failing;
static int failing_row(void *arg, int64_t i, int64_t *col, void *val)
{
    failing *f = arg;
    if ((i == f->row[0] || i == f->row[1]) && f->seen[i]++ >= f->after) return -1;
    return f->of.row(f->of.arg, i, col, val);
}

/* Rows that can't be read, while they are counted, the pattern is found or filled: the first one is named. */
static void unread_rows(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 2000 };
    if (ref_ranks() > 1) return;
    arrow a = {N, 0};
    wisp_src src = ref_rows_src(WISP_D, N, N, N, arrow_row, &a);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    for (int after = 0; after < 4; after++)
        for (int definite = 0; definite < 2; definite++) {
            int seen[N] = {0};
            failing f = {.row = {1999, 1300}, .after = after, .seen = seen};
            wisp__ilu ilu = {.ctx = ctx, .rows = N, .hermitian = definite};
            REF_OK(ctx, wisp_src_open_mat(&f.of, A));
            const wisp_src broken = {
                .rows = N, .cols = N, .max_row = f.of.max_row, .type = WISP_D, .row = failing_row, .arg = &f};
            const wisp_status status = wisp__ilu_of_rows(&ilu, A, &broken, 1, definite ? "another" : NULL);
            if (after < 3) {
                REF_FAILS(ctx, status, WISP_ERR_CALLBACK, "preconditioner: row 1300 of the matrix can't be read");
            } else {
                REF_OK(ctx, status); /* which asks for each row's length, and reads it twice */
            }
            wisp__ilu_free(&ilu);
            wisp_src_close(&f.of);
        }
    wisp_mat_free(A);
    wisp_src_close(&src);
    ref_nothing_left(ctx);
}

/* Rows far smaller than others: factors of numbers that double precision has are made without a shift; where a row, in
   the unit of the largest ones, or the inverse of its pivot is no number, that is said, and not that it is 0. */
static void small_rows(void **state)
{
    wisp_ctx *ctx = *state;
    static const char few[] = "the entries of row 1, at most ", zero[] = "the diagonal of row 1 is 0, so that";
    const struct {
        double diagonal, beside, factor;
        wisp_status status; /* of IC */
        const char *words;
    } table[] = {{1e-300, 0, 1, WISP_OK, NULL},
                 {1e-300, 1e-301, 1, WISP_OK, NULL},
                 {1e-150, 1e-160, 0x1p-500, WISP_OK, NULL},
                 {1e-300, 0, 0x1p-500, WISP_ERR_NUMERIC, few},
                 {1e-300, 1e-301, 0x1p-500, WISP_ERR_NUMERIC, few},
                 {1e-310, 0, 1, WISP_ERR_NUMERIC, few},
                 {0, 0, 1, WISP_ERR_INDEFINITE, zero},
                 {0, 0, 0x1p-500, WISP_ERR_INDEFINITE, zero}};
    if (ref_ranks() > 1) return;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int pairs = 0; pairs < 2; pairs++)
            for (int cholesky = 0; cholesky < 2; cholesky++) {
                ref_mat m = ref_new(4, 4);
                for (int k = 0; k < 4; k++) REF_AT(m, k, k) = k == 1 ? table[i].diagonal : 1 / table[i].factor;
                REF_AT(m, 1, 3) = REF_AT(m, 3, 1) = table[i].beside;
                wisp_mat *A = ref_mat_of(ctx, m, pairs ? WISP_Z : WISP_D);
                wisp__ilu f;
                const wisp_status status = wisp__ilu_make(&f, A, table[i].factor, cholesky, NULL);
                if (table[i].status == WISP_OK || (table[i].status == WISP_ERR_INDEFINITE && !cholesky)) {
                    REF_OK(ctx, status);
                    assert_true((f.shift > 0) == (table[i].status != WISP_OK));
                } else {
                    REF_FAILS(ctx, status, table[i].status, table[i].words);
                }
                wisp__ilu_free(&f);
                wisp_mat_free(A);
                ref_free(m);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_rows), cmocka_unit_test(cancelled),
                                       cmocka_unit_test(unread_rows), cmocka_unit_test(small_rows)};
    return REF_RUN_CTX(tests);
}
