/* Systems without a solution, most of whose matrices are not Hermitian: GMRES, BiCGStab and MINRES say so, with the x
   that makes the residual least (which solve_cases.h checks by LAPACK); and they say it of no other system. */
#include "solve_cases.h"

/* Some singular values are 0; or each row, or each column, of a directed graph sums to 0; or a row is empty. */
typedef enum { DEFICIENT, ROWS, SUMS, EMPTY_ROW, SORTS } sort;
static const char *const sort_name[] = {"deficient", "rows that sum to 0", "columns that sum to 0", "an empty row"};

static ref_mat directed(ref_rng *r, int64_t n, int by_rows)
{
    ref_mat A = ref_new(n, n);
    for (int64_t e = 0; e < 3 * n; e++) {
        const int64_t i = ref_below(r, n), j = ref_below(r, n);
        const double weight = (double)(1 + ref_below(r, 3));
        if (i == j) continue;
        REF_AT(A, i, j) -= weight;
        *(by_rows ? &REF_AT(A, i, i) : &REF_AT(A, j, j)) += weight;
    }
    return A;
}

static ref_mat singular_matrix(ref_rng *r, sort s, wisp_type type, int64_t n)
{
    if (s == ROWS || s == SUMS) return directed(r, n, s == ROWS);
    ref_mat A = spread(r, n, 10, 0);
    for (int64_t i = 0; i <= n / 5 && s == DEFICIENT; i++) REF_AT(A, n - 1 - i, n - 1 - i) = 0;
    mix(r, A, type, 0);
    for (int64_t j = 0; j < n && s == EMPTY_ROW; j++) REF_AT(A, n / 2, j) = 0;
    return A;
}

static const wisp_method methods[] = {WISP_GMRES, WISP_BICGSTAB, WISP_IDR};
enum { GENERAL_METHODS = sizeof methods / sizeof *methods };

static wisp_solve_opts options(ref_rng *r, int m)
{
    static const int restarts[] = {10, 30, 100};
    return (wisp_solve_opts){.method = methods[m],
                             .variant = ref_below(r, 2) ? WISP_PIPELINED : WISP_CLASSICAL,
                             .restart = m ? 0 : restarts[ref_below(r, 3)],
                             .max_iterations = 3000};
}

static void said(void **state)
{
    (void)state;
    enum { SYSTEMS = 24 }; /* all pairs of types and sorts */
    int of[GENERAL_METHODS][STATUSES] = {0};
    for (uint64_t seed = 1; seed <= SYSTEMS; seed += ref_few() ? 5 : 1)
        for (int m = 0; m < GENERAL_METHODS; m++) {
            ref_rng r = {seed * 7919};
            char what[160];
            wisp_ctx *ctx = ref_isa_ctx(NULL, 1 + (int)(seed % 2));
            const ref_types t = ref_pair[seed / SORTS % REF_PAIRS];
            const sort s =
                (sort)(seed % SORTS == DEFICIENT && is_single(t.mat) != is_single(t.blk) ? EMPTY_ROW : seed % SORTS);
            const int64_t n = 5 + ref_below(&r, 60);
            const int width = 1 + (int)ref_below(&r, 3);
            ref_mat A = singular_matrix(&r, s, t.mat, n);
            linear l = linear_of(ctx, A, t, ref_random_block(&r, t.blk, n, width));
            const wisp_solve_opts o = options(&r, m);
            snprintf(what, sizeof what, "seed %d: %s, %s, %s and %s, %d rows", (int)seed, method_name[o.method],
                     sort_name[s], wisp_type_name(t.mat), wisp_type_name(t.blk), (int)n);
            const outcome out = solve(ctx, &l, &o, what);
            for (int j = 0; j < width; j++) {
                of[m][out.of[j]]++;
                if (out.of[j] != WISP_ERR_SINGULAR) print_message("%s: %s\n", what, wisp_status_string(out.of[j]));
            }
            ref_free(out.x);
            linear_free(&l);
            wisp_ctx_free(ctx);
        }
    for (int m = 0; m < GENERAL_METHODS; m++) {
        int other = 0;
        for (int s = 0; s < STATUSES; s++) other += s == WISP_ERR_SINGULAR ? 0 : of[m][s];
        if (other > of[m][WISP_ERR_SINGULAR] / 20)
            fail_msg("%s names %d, and not %d", method_name[methods[m]], of[m][WISP_ERR_SINGULAR], other);
    }
}

/* Hermitian ones with an empty row, whose other rows are of very different size. */
static void said_of_scaled(void **state)
{
    (void)state;
    enum { SYSTEMS = 24, MOST = 20 };
    int of[STATUSES] = {0}, all = 0;
    for (uint64_t seed = 1; seed <= SYSTEMS; seed++) { /* few of them would be no share */
        ref_rng r = {seed * 15485863};
        char what[80];
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        const int64_t n = 5 + ref_below(&r, 30);
        ref_mat A = ref_new(n, n);
        double scale[40];
        for (int64_t i = 0; i < n; i++) scale[i] = ldexp(1, -(int)ref_below(&r, MOST));
        const int64_t empty = ref_below(&r, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++)
                if (i != empty && j != empty)
                    REF_AT(A, i, j) = REF_AT(A, j, i) = (2 * ref_uniform(&r) - 1) * scale[i] * scale[j];
        linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, ref_random_block(&r, WISP_D, n, 1));
        const wisp_solve_opts o = {.method = WISP_MINRES, .max_iterations = 3000};
        snprintf(what, sizeof what, "seed %d: %s, %d rows", (int)seed, method_name[o.method], (int)n);
        const outcome out = solve(ctx, &l, &o, what);
        of[out.of[0]]++, all++;
        if (out.of[0] != WISP_ERR_SINGULAR) print_message("%s: %s\n", what, wisp_status_string(out.of[0]));
        ref_free(out.x);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    if (10 * of[WISP_ERR_SINGULAR] < 9 * all) fail_msg("%d of %d are named", of[WISP_ERR_SINGULAR], all);
}

typedef struct {
    int hints;
} listener;
static void listen(void *arg, wisp_log_level level, const char *message)
{
    listener *l = arg;
    l->hints += level == WISP_LOG_WARN && strstr(message, "may have no solution");
}

/* D L D with rows of sizes up to 10^(2 most) apart and the graph Laplacian L, whose null vector is D^-1 of one; or the
   same of L and a diagonal. */
static ref_mat scaled_laplacian(ref_rng *r, int64_t n, int most, double diagonal)
{
    ref_mat A = ref_new(n, n);
    double d[64];
    for (int64_t i = 0; i < n; i++) d[i] = pow(10, most * ref_uniform(r));
    for (int64_t e = 0; e < 3 * n; e++) {
        const int64_t i = e < n - 1 ? e : ref_below(r, n), j = e < n - 1 ? e + 1 : ref_below(r, n);
        const double weight = 1 + ref_uniform(r) / 2;
        if (i == j) continue;
        REF_AT(A, i, j) -= weight, REF_AT(A, j, i) -= weight;
        REF_AT(A, i, i) += weight, REF_AT(A, j, j) += weight;
    }
    for (int64_t i = 0; i < n; i++) REF_AT(A, i, i) += diagonal;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) REF_AT(A, i, j) = REF_AT(A, j, i) *= d[i] * d[j];
    return A;
}

/* What can't be proved may be told: singular systems are named, or hinted at, but no regular ones of low condition. */
static void hinted(void **state)
{
    (void)state;
    const int systems = ref_few() ? 8 : 40; /* of each method as many */
    static const wisp_method all[] = {WISP_CG, WISP_MINRES, WISP_GMRES, WISP_BICGSTAB};
    int of[STATUSES] = {0}, silent = 0, hints = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)systems; seed++)
        for (int regular = 0; regular < 3; regular++) { /* 2: its rows are of very different size, too */
            ref_rng r = {seed * 1299709};
            listener heard = {0};
            char what[80];
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1, .log = listen, .log_arg = &heard});
            const int64_t n = 20 + ref_below(&r, 40);
            ref_mat A = scaled_laplacian(&r, n, regular == 1 ? 0 : 3, regular > 0);
            linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, ref_random_block(&r, WISP_D, n, 1));
            const wisp_solve_opts o = {.method = all[seed % 4],
                                       .max_iterations = 5000,
                                       .tolerance = regular ? 1e-16 : 0}; /* less than rounding allows */
            snprintf(what, sizeof what, "seed %d: %s, %d rows%s", (int)seed, method_name[o.method], (int)n,
                     regular ? ", regular" : "");
            const outcome out = solve(ctx, &l, &o, what);
            const int ends = out.of[0] == WISP_ERR_STAGNATION || out.of[0] == WISP_ERR_BREAKDOWN;
            if (regular && ((regular == 1 && heard.hints) || out.of[0] == WISP_ERR_SINGULAR))
                fail_msg("%s: called singular", what);
            assert_true(regular || out.of[0] != WISP_OK);
            if (!regular) of[out.of[0]]++, silent += ends && !heard.hints, hints += heard.hints > 0;
            ref_free(out.x);
            linear_free(&l);
            wisp_ctx_free(ctx);
        }
    if (silent || (hints == 0 && !ref_few()) || 2 * of[WISP_ERR_SINGULAR] < systems)
        fail_msg("%d of %d are named, %d told by a hint, and %d end without a word", of[WISP_ERR_SINGULAR], systems,
                 hints, silent);
}

/* Nearly singular, by little more than rounding: LAPACK knows an x with a smaller residual. And the same singular
   matrices with a right-hand side in their range. */
static void not_said(void **state)
{
    (void)state;
    enum { SYSTEMS = 24 }; /* all pairs of types and sorts */
    for (uint64_t seed = 1; seed <= SYSTEMS; seed += ref_few() ? 5 : 1)
        for (int m = 0; m < GENERAL_METHODS; m++) {
            ref_rng r = {seed * 104729};
            char what[160];
            wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
            const ref_types t = ref_pair[seed / 2 % REF_PAIRS];
            const int64_t n = 5 + ref_below(&r, 60);
            const double least =
                (is_single(t.mat) || is_single(t.blk) ? FLT_EPSILON : DBL_EPSILON) * (1000 << ref_below(&r, 8));
            ref_mat A, b;
            if (seed % 2) {
                A = spread(&r, n, 10, 0);
                REF_AT(A, n - 1, n - 1) = least;
                mix(&r, A, t.mat, 0);
                b = ref_random_block(&r, t.blk, n, 2);
            } else {
                A = singular_matrix(&r, (sort)(seed / 2 % SORTS), t.mat, n);
                ref_round(A, t.mat);
                ref_mat x = ref_random_block(&r, t.blk, n, 2);
                b = ref_times(A, x);
                ref_free(x);
            }
            linear l = linear_of(ctx, A, t, b);
            const wisp_solve_opts o = options(&r, m);
            snprintf(what, sizeof what, "seed %d: %s, %s and %s, %d rows", (int)seed, method_name[o.method],
                     wisp_type_name(t.mat), wisp_type_name(t.blk), (int)n);
            const outcome out = solve(ctx, &l, &o, what);
            for (int j = 0; j < 2; j++)
                if (out.of[j] == WISP_ERR_SINGULAR) fail_msg("%s: is said to be singular", what);
            ref_free(out.x);
            linear_free(&l);
            wisp_ctx_free(ctx);
        }
}

/* What the proof takes is in the bound. (The matrix is borrowed: to make one takes more than to solve.) */
static void memory(void **state)
{
    (void)state;
    enum { N = 30000 };
    if (ref_ranks() > 1) return;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    int64_t *rowptr = calloc(N + 1, sizeof *rowptr), before, most;
    int32_t *col = calloc(2 * N, sizeof *col);
    double *val = calloc(2 * N, sizeof *val);
    for (int i = 0; i < N; i++) { /* blocks of 1, -1; -2, 2 */
        rowptr[i + 1] = 2 * i + 2;
        for (int j = 0; j < 2; j++)
            col[2 * i + j] = i / 2 * 2 + j, val[2 * i + j] = (i % 2 ? 2 : 1) * (i % 2 == j ? 1 : -1);
    }
    const wisp_crs crs = {N, N, WISP_D, WISP_INT64, WISP_INT32, rowptr, col, val};
    wisp_mat *A;
    wisp_blk *x, *b;
    if (!ref_far(ctx)) {
        REF_OK(ctx, wisp_mat_borrow_crs(&A, ctx, &crs));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 0, 0));
        wisp_ctx_memory(ctx, &before, NULL);
        const wisp_solve_opts o = {.method = WISP_GMRES, .restart = 2};
        assert_int_equal(wisp_solve(NULL, x, A, b, &o), WISP_ERR_SINGULAR);
        wisp_ctx_memory(ctx, NULL, &most);
        wisp_mat_info info;
        wisp_mat_get_info(A, &info);
        wisp_plan told;
        REF_OK(ctx, wisp_solve_plan(&told, ctx, &info, WISP_D, 1, &o, NULL));
        const int64_t plan = told.bytes, bound = told.bytes_most;
        print_message("took %d kB, plan %d kB, bound %d kB\n", (int)((most - before) / 1000), (int)(plan / 1000),
                      (int)(bound / 1000));
        assert_true(most - before > plan && most - before <= bound && bound < 2 * (most - before));
        wisp_blk_free(x), wisp_blk_free(b);
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
    free(rowptr), free(col), free(val);
}

/* The end of a system of four rows, by the method. */
static wisp_status end_of(const double a[4][4], int n, const double *right, wisp_method method, double *residual)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    ref_mat A = ref_new(n, n), b = ref_new(n, 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) REF_AT(A, i, j) = a[i][j];
    for (int i = 0; i < n; i++) REF_AT(b, i, 0) = right[i];
    linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, b);
    wisp_blk *x, *y;
    wisp_solution s;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(l.mat), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(l.mat), WISP_D, 1));
    ref_put(y, b);
    const wisp_status status = wisp_solve(&s, x, l.mat, y, &(wisp_solve_opts){.method = method});
    *residual = s.residual;
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(y);
    linear_free(&l);
    wisp_ctx_free(ctx);
    return status;
}

/* Small rows beside others: what squares, or one norm of all rows, would hide. */
static void small_rows(void **state)
{
    (void)state;
    double residual;
    for (int exponent = 0; exponent <= 300; exponent += ref_few() ? 100 : 20) {
        const double s = pow(10, -exponent);
        const double regular[4][4] = {{1, 1}, {0, s}}, diagonal[4][4] = {{1, 0}, {0, s}};
        const double apart[4][4] = {{1, 1, 0, 0}, {2, 2, 0, 0}, {0, 0, s, s}, {0, 0, 0, s}};
        for (int m = 0; m < GENERAL_METHODS; m++) {
            if (end_of(regular, 2, (double[]){0, 1}, methods[m], &residual) == WISP_ERR_SINGULAR)
                fail_msg("%s: 1e-%d beside 1 is said to be singular", method_name[methods[m]], exponent);
            const wisp_status status = end_of(apart, 4, (double[]){1, 0, 0, 1}, methods[m], &residual);
            if (status == WISP_ERR_SINGULAR && fabs(residual - sqrt(0.4)) > 1e-6) /* the least for any s */
                fail_msg("%s: rows of 1e-%d beside a singular block: %g", method_name[methods[m]], exponent, residual);
        }
        const double beside[4][4] = {{1, 1, 0}, {1, 1, 0}, {0, 0, s}}, nearly[4][4] = {{1, 0, 0}, {0, 0, s}, {0, 0, 0}};
        for (wisp_method m = WISP_CG; m <= WISP_IDR; m = (wisp_method)ref_next_method((int)m)) {
            if (end_of(diagonal, 2, (double[]){1, 1}, m, &residual) == WISP_ERR_SINGULAR)
                fail_msg("%s: diag(1, 1e-%d) is said to be singular", method_name[m], exponent);
            /* A Hermitian one: r = (d, -d, 0) is left, and not what the small row has. */
            for (double d = 0.1; d > 1e-10; d *= 1e-4) {
                const double least = sqrt(2 * d * d / (1 + 2 * d * d));
                if (end_of(beside, 3, (double[]){d, -d, 1}, m, &residual) == WISP_ERR_SINGULAR &&
                    residual > 1.02 * least)
                    fail_msg("%s: a row of 1e-%d beside a singular block: %g, least %g", method_name[m], exponent,
                             residual, least);
            }
            /* Hermitian but for s: b is in the range of A, not in that of A^H. */
            if (end_of(nearly, 3, (double[]){0, 1, 0}, m, &residual) == WISP_ERR_SINGULAR)
                fail_msg("%s: 1e-%d above the diagonal alone: b is said not to be in the range", method_name[m],
                         exponent);
        }
    }
}

static int count_proving(void *steps, const wisp_progress *progress)
{
    *(int64_t *)steps += progress->task && !strcmp(progress->task, "proving");
    return 0;
}

/* Nothing is proved of a matrix that is singular but for the rounding of its entries: the proofs end all the same, soon
   after the solving. */
static void proofs_end(void **state)
{
    (void)state;
    enum { N = 120, FEW = 1000, EACH = 4, WIDTH = 3 };
    static const double level[] = {1, -1, 2, 0};
    for (wisp_method m = WISP_METHOD_DEFAULT; m <= WISP_IDR; m = (wisp_method)((int)m + 1)) {
        if (m == WISP_LSMR) continue; /* it needs no proof */
        /* DEFAULT is MINRES here; how long a proof takes differs in numbers alone. */
        if (ref_few() && (m == WISP_METHOD_DEFAULT || m == WISP_BICGSTAB || m == WISP_IDR)) continue;
        ref_rng r = {2};
        int64_t steps = 0, allowed = 0;
        wisp_ctx *ctx =
            ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1, .progress = count_proving, .progress_arg = &steps});
        ref_mat A = ref_new(N, N);
        for (int i = 0; i < N; i++) REF_AT(A, i, i) = level[i % 4];
        mix(&r, A, WISP_S, 1);
        linear l = linear_of(ctx, A, (ref_types){WISP_S, WISP_D}, ref_random_block(&r, WISP_D, N, WIDTH));
        wisp_blk *x, *b;
        wisp_solution s;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(l.mat), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(l.mat), WISP_D, WIDTH));
        ref_put(b, l.b), ref_put(x, l.b);
        assert_int_not_equal(wisp_solve(&s, x, l.mat, b, &(wisp_solve_opts){.method = m, .guess = 1}), WISP_OK);
        for (int j = 0; j < WIDTH; j++) allowed += FEW + EACH * s.iterations_of[j];
        print_message("%s: %d iterations, %d of proofs, %s\n", method_name[m], (int)s.iterations, (int)steps,
                      wisp_status_string(s.status[0]));
        if (steps > allowed)
            fail_msg("%s: %d iterations of proofs after %d, at most %d are due", method_name[m], (int)steps,
                     (int)s.iterations, (int)allowed);
        wisp_solution_free(&s);
        wisp_blk_free(x), wisp_blk_free(b);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(said),       cmocka_unit_test(said_of_scaled),
                                       cmocka_unit_test(not_said),   cmocka_unit_test(memory),
                                       cmocka_unit_test(small_rows), cmocka_unit_test(hinted),
                                       cmocka_unit_test(proofs_end)};
    return REF_RUN(tests);
}
