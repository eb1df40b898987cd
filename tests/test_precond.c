/* Preconditioners: inverse blocks by multiplying back; functions; what is refused, and memory that fails. */
#include "precond_cases.h"

/* ---- diagonals and blocks -------------------------------------------------------------------------- */

/* Fails unless the diagonal blocks of this rank, of n rows, times z are r. */
static void check_blocks(const char *what, const wisp_mat *A, ref_mat dense, int64_t n, ref_mat z, ref_mat r,
                         double eps)
{
    int64_t first;
    const int64_t rows = wisp_map_local(wisp_mat_map(A), &first);
    for (int64_t i = first; i < first + rows; i++) {
        const int64_t begin = i - (i - first) % n, end = begin + n < first + rows ? begin + n : first + rows;
        for (int64_t j = 0; j < r.cols; j++) {
            cplx sum = 0;
            double size = 1;
            for (int64_t k = begin; k < end; k++) {
                sum += REF_AT(dense, i, k) * REF_AT(z, k, j);
                size += cabs(REF_AT(dense, i, k)) * cabs(REF_AT(z, k, j));
            }
            if (!(cabs(sum - REF_AT(r, i, j)) <= eps * size))
                fail_msg("%s: row %lld, column %lld: %g%+gi, should be %g%+gi", what, (long long)i, (long long)j,
                         creal(sum), cimag(sum), creal(REF_AT(r, i, j)), cimag(REF_AT(r, i, j)));
        }
    }
}

static void check_diagonal(wisp_ctx *ctx, ref_rng *r, ref_types t, ref_mat dense, const wisp_solve_opts *o,
                           const wisp_mat_opts *mo)
{
    static const int widths[] = {33, 1, 3};
    wisp_mat *A;
    wisp__precond *P;
    char what[96];
    wisp_src src = ref_dense_src(dense, t.mat);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, mo));
    REF_OK(ctx, precond_make(&P, A, o, t.blk, 33));
    assert_int_equal(wisp__precond_products(P), 0);
    assert_int_equal(wisp__precond_rows(P) != NULL, o->precond == WISP_JACOBI);
    for (int w = 0; w < 3; w++) {
        ref_mat x = ref_random_block(r, t.blk, dense.rows, widths[w]), z = applied(ctx, A, P, t.blk, x);
        snprintf(what, sizeof what, "precond %d, %s and %s, blocks of %d, width %d", (int)o->precond,
                 wisp_type_name(t.mat), wisp_type_name(t.blk), o->block_rows, widths[w]);
        check_blocks(what, A, dense, o->precond == WISP_JACOBI ? 1 : o->block_rows, z, x, ref_eps(t.blk));
        ref_free(x), ref_free(z);
    }
    wisp__precond_free(P);
    wisp_mat_free(A);
    wisp_src_close(&src);
}

static void diagonals(void **state)
{
    static const int rows[] = {1, 2, 3, 4, 7, 16, INT32_MAX};
    for (int p = 0; p < REF_PAIRS; p++)
        for (int b = 0; b < 8; b++)
            for (int kind = 0; kind < 2; kind++) {
                if (ref_few() && (p + b + kind) % 3) continue; /* each pair meets both kinds, and blocks of each size */
                ref_rng r = {(uint64_t)(1000 + 100 * p + 10 * b + kind)};
                ref_mat m = random_matrix(&r, ref_pair[p].mat, 1 + ref_below(&r, 70), kind);
                const wisp_mat_opts mo = {.order = (wisp_order)ref_below(&r, 4)};
                const wisp_solve_opts o = {.method = kind ? WISP_CG : WISP_GMRES,
                                           .precond = b < 7 ? WISP_BLOCK_JACOBI : WISP_JACOBI,
                                           .block_rows = b < 7 ? rows[b] : 0};
                check_diagonal(*state, &r, ref_pair[p], m, &o, &mo);
                ref_free(m);
            }
    if (ref_ranks() > 1) return;
    ref_rng r = {77};
    ref_mat m = random_matrix(&r, WISP_Z, 50, 1);
    check_diagonal(*state, &r, (ref_types){WISP_Z, WISP_Z}, m,
                   &(wisp_solve_opts){.method = WISP_MINRES, .precond = WISP_BLOCK_JACOBI, .block_rows = 5},
                   &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN});
    ref_free(m);
}

/* Where blocks are Hermitian, so are their inverses, bit by bit; and they are right however rows are scaled. */
static void inverses(void **state)
{
    wisp_ctx *ctx = *state;
    for (int t = 0; t < 4; t++) {
        static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
        ref_rng r = {(uint64_t)t};
        ref_mat m = random_matrix(&r, types[t], 30, 1);
        for (int64_t i = 0; i < 30; i++)
            for (int64_t j = 0; j < 30; j++) REF_AT(m, i, j) *= ldexp(1, -(int)(i % 5 + j % 5) * 12);
        wisp_mat *A = ref_mat_of(ctx, m, types[t]);
        wisp__diagonal d;
        const wisp_solve_opts o = {.method = WISP_CG, .precond = WISP_BLOCK_JACOBI, .block_rows = 5};
        REF_OK(ctx, wisp__diagonal_make(&d, A, 1, &o, wisp__method_of(o.method)->definite, types[t]));
        const size_t size = wisp_type_size(types[t]), part = size / (wisp_type_is_complex(types[t]) ? 2 : 1);
        for (int64_t i = 0; i < d.rows; i++)
            for (int64_t j = 0; j < 5 && i - i % 5 + j < d.rows; j++) {
                const char *one = d.inverse + (size_t)(5 * i + j) * size;
                const char *other = d.inverse + (size_t)(5 * (i - i % 5 + j) + i % 5) * size;
                assert_memory_equal(one, other, part);
                if (part == size) continue;
                const double im =
                    part == 4 ? (double)((const float *)(const void *)one)[1] : ((const double *)(const void *)one)[1];
                const double mi = part == 4 ? (double)((const float *)(const void *)other)[1]
                                            : ((const double *)(const void *)other)[1];
                assert_true(im == -mi);
            }
        wisp__diagonal_free(ctx, &d);
        wisp_mat_free(A);
        ref_free(m);
    }
}

static void bad_blocks(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 9 }; /* blocks of 3 lie on one rank each for 1 and 3 ranks */
    const struct {
        int row, col;
        double value;
        wisp_precond kind;
        wisp_method method;
        wisp_type type;
        wisp_status status;
        const char *words;
    } table[] = {
        {7, 7, 0, WISP_JACOBI, WISP_GMRES, WISP_D, WISP_ERR_BREAKDOWN, "the diagonal of row 7 is zero, missing"},
        {7, 7, 1e-320, WISP_JACOBI, WISP_CG, WISP_D, WISP_ERR_BREAKDOWN, "in double arithmetic: take another"},
        {2, 2, 1e-40, WISP_JACOBI, WISP_GMRES, WISP_S, WISP_ERR_BREAKDOWN, "row 2 is zero"},
        {5, 5, -1, WISP_JACOBI, WISP_CG, WISP_D, WISP_ERR_INDEFINITE, "row 5 is not positive definite"},
        {5, 5, -1, WISP_JACOBI, WISP_MINRES, WISP_D, WISP_ERR_INDEFINITE, "row 5 is not positive definite"},
        {5, 5, -1, WISP_JACOBI, WISP_BICGSTAB, WISP_D, WISP_OK, ""},
        {5, 5, NAN, WISP_JACOBI, WISP_GMRES, WISP_D, WISP_ERR_NUMERIC, "row 5 holds a NaN"},
        {1, 2, 2, WISP_BLOCK_JACOBI, WISP_CG, WISP_Z, WISP_ERR_INDEFINITE, "rows 0 to 2 is not positive definite"},
        {1, 2, 1, WISP_BLOCK_JACOBI, WISP_CG, WISP_Z, WISP_ERR_BREAKDOWN, "rows 0 to 2 is singular"},
        {7, 8, -1, WISP_BLOCK_JACOBI, WISP_GMRES, WISP_S, WISP_ERR_BREAKDOWN, "rows 6 to 8 is singular"},
        {5, 4, INFINITY, WISP_BLOCK_JACOBI, WISP_GMRES, WISP_C, WISP_ERR_NUMERIC, "rows 3 to 5 holds a NaN"},
        {4, 6, 1, WISP_BLOCK_JACOBI, WISP_CG, WISP_D, WISP_OK, ""}, /* beside the blocks */
        {0, 0, 1, WISP_BLOCK_JACOBI, WISP_METHOD_DEFAULT, WISP_D, WISP_ERR_ARG, "opts.block_rows is 0"},
    };
    if (ref_ranks() != 1 && ref_ranks() != 3) return;
    if (getenv("WISP_WEIGHTS")) return;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ref_mat m = ref_new(N, N);
        for (int k = 0; k < N; k++) REF_AT(m, k, k) = 1;
        REF_AT(m, table[i].row, table[i].col) = REF_AT(m, table[i].col, table[i].row) = table[i].value;
        wisp_mat *A = ref_mat_of(ctx, m, table[i].type);
        const wisp_solve_opts o = {.method = table[i].method,
                                   .precond = table[i].kind,
                                   .block_rows = table[i].method == WISP_METHOD_DEFAULT ? 0 : 3};
        wisp__precond *P = (wisp__precond *)&P;
        const wisp_status status = precond_make(&P, A, &o, table[i].type, 1);
        if (status != table[i].status || (status != WISP_OK && !strstr(message_of(ctx), table[i].words)))
            fail_msg("case %d: %s (%s), expected %s with '%s'", (int)i, wisp_status_string(status), message_of(ctx),
                     wisp_status_string(table[i].status), table[i].words);
        assert_int_equal(P != NULL, status == WISP_OK);
        wisp__precond_free(P);
        wisp_mat_free(A);
        ref_free(m);
    }
}

/* ---- functions and operators ---------------------------------------------------------------------- */

static void functions(void **state)
{
    wisp_ctx *ctx = *state;
    for (int p = 0; p < REF_PAIRS; p++) {
        ref_rng rng = {(uint64_t)p};
        ref_mat m = random_matrix(&rng, ref_pair[p].mat, 40, 0), r = ref_random_block(&rng, ref_pair[p].blk, 40, 5);
        wisp_mat *A = ref_mat_of(ctx, m, ref_pair[p].mat);
        wisp_blk *x = blk_of(ctx, A, ref_pair[p].blk, r), *y = blk_of(ctx, A, ref_pair[p].blk, r);
        function f = {.A = A};
        const wisp_solve_opts o = {
            .method = WISP_GMRES, .precond = WISP_PRECOND_APPLY, .apply = product, .apply_arg = &f};
        wisp__precond *P;
        REF_OK(ctx, precond_make(&P, A, &o, ref_pair[p].blk, 7));
        assert_int_equal(wisp__precond_products(P), 0);
        ref_mat got = applied(ctx, A, P, ref_pair[p].blk, r), want = ref_times(m, r);
        ref_assert_close("a function", got, want, 2 * ref_eps(ref_pair[p].blk));
        f.status = WISP_ERR_IO;
        REF_FAILS(ctx, wisp__precond_apply(P, y, x, (wisp_place){0}), WISP_ERR_CALLBACK, "preconditioner: ");
        f.words = "the moon is new";
        REF_FAILS(ctx, wisp__precond_apply(P, y, x, (wisp_place){0}), WISP_ERR_CALLBACK,
                  "input or output failed: the moon is new");
        f.status = WISP_ERR_CANCELLED;
        REF_FAILS(ctx, wisp__precond_apply(P, y, x, (wisp_place){0}), WISP_ERR_CANCELLED, "the moon is new");
        wisp__precond_free(P);
        wisp_blk_free(x);
        wisp_blk_free(y);
        wisp_mat_free(A);
        ref_free(m), ref_free(r), ref_free(got), ref_free(want);
    }
}

/* An operator has no diagonal that anyone could read. */
static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng rng = {5};
    ref_mat m = random_matrix(&rng, WISP_Z, 60, 1);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_Z), *B;
    function f = {.A = A};
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_Z, .apply = product, .arg = &f};
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
    for (int kind = WISP_JACOBI; kind <= WISP_BLOCK_JACOBI; kind++) {
        const wisp_solve_opts o = {.method = WISP_CG, .precond = (wisp_precond)kind, .block_rows = 2};
        wisp__precond *P;
        REF_FAILS(ctx, precond_make(&P, B, &o, WISP_Z, 3), WISP_ERR_UNSUPPORTED, "an operator has no entries");
        assert_null(P);
    }
    wisp_mat_free(B);
    wisp_mat_free(A);
    ref_free(m);
}

/* ---- refusals -------------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat m = ref_new(4, 4), minus = ref_new(4, 4), far = ref_new(4, 4);
    for (int i = 0; i < 4; i++) REF_AT(m, i, i) = 2, REF_AT(minus, i, i) = -2, REF_AT(far, i, i) = 1e18;
    REF_AT(m, 1, 2) = 1;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D), *N = ref_mat_of(ctx, minus, WISP_D), *F = ref_mat_of(ctx, far, WISP_S);
#define GIVEN(...) .bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = __VA_ARGS__
    const struct {
        wisp_mat *A;
        wisp_solve_opts o;
        wisp_status status;
        const char *words;
    } table[] = {
        {A, {.precond = (wisp_precond)9}, WISP_ERR_ARG, "precond: unknown value 9"},
        {A, {.precond = WISP_PRECOND_APPLY}, WISP_ERR_ARG, "precond: opts.apply is NULL"},
        {A, {.precond = WISP_NEUMANN, .degree = -1}, WISP_ERR_ARG, "opts.degree is -1"},
        {A, {.precond = WISP_CHEBYSHEV, .degree = 2}, WISP_ERR_ARG, "needs bounds above 0"},
        {A, {.precond = WISP_CHEBYSHEV, .degree = 2, GIVEN({1, 1, 0})}, WISP_ERR_ARG, "needs bounds above 0"},
        {A, {.precond = WISP_CHEBYSHEV, .degree = 2, GIVEN({1, -1, 0})}, WISP_ERR_ARG, "are no interval"},
        {A, {.precond = WISP_NEUMANN, .degree = 2, GIVEN({1, NAN, 0})}, WISP_ERR_ARG, "are no interval"},
        {A, {.precond = WISP_NEUMANN, .degree = 2, GIVEN({HUGE_VAL, 1, 0})}, WISP_ERR_ARG, "are no interval"},
        {A, {.precond = WISP_NEUMANN, .degree = 2, GIVEN({1e30, 1, 0})}, WISP_ERR_ARG, "are no interval"},
        {A, {.precond = WISP_NEUMANN, .degree = 2, GIVEN({-3, 1, 0})}, WISP_ERR_ARG, "-4 to -2"},
        {N, {.precond = WISP_CHEBYSHEV, .degree = 2}, WISP_ERR_INDEFINITE, "no eigenvalue above -"},
        {N, {.precond = WISP_NEUMANN, .degree = 2}, WISP_ERR_INDEFINITE, "times -1"},
        {F, {.precond = WISP_NEUMANN, .degree = 2}, WISP_ERR_NUMERIC, "too far for a polynomial"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        wisp__precond *P = (wisp__precond *)&P;
        wisp_solve_opts o = table[i].o;
        wisp_mat_info info;
        o.method = WISP_GMRES;
        wisp_mat_get_info(table[i].A, &info);
        REF_FAILS(ctx, precond_make(&P, table[i].A, &o, info.type, 2), table[i].status, table[i].words);
        assert_null(P);
    }
    wisp__precond *none = (wisp__precond *)&none;
    REF_OK(ctx, precond_make(&none, A, &(wisp_solve_opts){.precond = WISP_PRECOND_NONE}, WISP_D, 1));
    assert_null(none);
    assert_null(wisp__precond_rows(none));
    assert_int_equal(wisp__precond_products(none), 0);
    wisp__precond_free(none);
    wisp_mat_free(A);
    wisp_mat_free(N);
    wisp_mat_free(F);
    ref_free(m), ref_free(minus), ref_free(far);
}

/* Each allocation fails once: a clean error, and nothing is lost (the sanitizers would tell). */
static wisp_status all_of_it(wisp_ctx *ctx, void *kind)
{
    const wisp_solve_opts o = {.method = WISP_CG, .precond = *(const wisp_precond *)kind, .degree = 3, .block_rows = 4};
    wisp_mat *A = NULL;
    wisp_blk *x = NULL, *z = NULL;
    wisp__precond *P = NULL;
    wisp_scalar dot[2];
    wisp_status status;
    WISP_TRY(wisp_mat_open(&A, ctx, "laplace:nx=6,ny=5,nz=1", NULL));
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    WISP_TRY(wisp_blk_create(&z, ctx, wisp_mat_map(A), WISP_D, 2));
    WISP_TRY(precond_make(&P, A, &o, WISP_D, 2));
    WISP_TRY(apply_with_dot(ctx, P, z, x, dot));
out:
    wisp__precond_free(P);
    wisp_blk_free(x);
    wisp_blk_free(z);
    wisp_mat_free(A);
    return status;
}

static const wisp_precond kinds[] = {WISP_JACOBI, WISP_BLOCK_JACOBI, WISP_CHEBYSHEV, WISP_NEUMANN};

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        wisp_precond kind = kinds[k];
        assert_true(ref_failing_memory(all_of_it, &kind, 200, 20) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(diagonals),     cmocka_unit_test(inverses),
                                       cmocka_unit_test(bad_blocks),    cmocka_unit_test(functions),
                                       cmocka_unit_test(operators),     cmocka_unit_test(refusals),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
