/* Polynomial preconditioners against the closed form of what they leave, r - A z: of matrices and of operators, with
   bounds that are given and that are found, and with interleaved steps. */
#include "backend/backend.h"
#include "precond_cases.h"

/* ---- polynomials --------------------------------------------------------------------------------- */

/* What Chebyshev's iteration from 0 leaves of r: T_n((c - A)/h) r / T_n(c/h), n = degree + 1. */
static ref_mat chebyshev_leaves(ref_mat A, ref_mat r, wisp_bounds b, int degree)
{
    ref_mat before = ref_new(r.rows, r.cols), now = ref_new(r.rows, r.cols);
    memcpy(now.a, r.a, (size_t)(r.rows * r.cols) * sizeof *r.a);
    for (int k = 0; k <= degree; k++) {
        ref_mat next = ref_times(A, now);
        for (int64_t i = 0; i < r.rows * r.cols; i++)
            next.a[i] = (k == 0 ? 1 : 2) * (b.center * now.a[i] - next.a[i]) / b.halfwidth - before.a[i];
        ref_free(before);
        before = now, now = next;
    }
    for (int64_t i = 0; i < r.rows * r.cols; i++) now.a[i] /= cosh((degree + 1) * acosh(b.center / b.halfwidth));
    ref_free(before);
    return now;
}

/* And Neumann's series: (I - A/c)^n r. */
static ref_mat neumann_leaves(ref_mat A, ref_mat r, wisp_bounds b, int degree)
{
    ref_mat now = ref_new(r.rows, r.cols);
    memcpy(now.a, r.a, (size_t)(r.rows * r.cols) * sizeof *r.a);
    for (int k = 0; k <= degree; k++) {
        ref_mat next = ref_times(A, now);
        for (int64_t i = 0; i < r.rows * r.cols; i++) next.a[i] = now.a[i] - next.a[i] / b.center;
        ref_free(now);
        now = next;
    }
    return now;
}

static void check_polynomial(wisp_ctx *ctx, ref_rng *r, ref_types t, ref_mat dense, wisp_solve_opts o)
{
    static const int widths[] = {33, 1, 3};
    wisp_mat *A = ref_mat_of(ctx, dense, t.mat);
    wisp__precond *P;
    char what[96];
    o.bounds = circles(dense);
    REF_OK(ctx, precond_make(&P, A, &o, t.blk, 33));
    assert_int_equal(wisp__precond_products(P), o.degree);
    assert_null(wisp__precond_rows(P));
    for (int w = 0; w < 3; w++) {
        ref_mat x = ref_random_block(r, t.blk, dense.rows, widths[w]);
        ref_mat z = applied(ctx, A, P, t.blk, x), left = ref_times(dense, z);
        ref_mat want =
            (o.precond == WISP_NEUMANN ? neumann_leaves : chebyshev_leaves)(dense, x, o.bounds.given, o.degree);
        for (int64_t i = 0; i < x.rows * x.cols; i++) left.a[i] = x.a[i] - left.a[i];
        snprintf(what, sizeof what, "precond %d of degree %d, %s and %s, width %d", (int)o.precond, o.degree,
                 wisp_type_name(t.mat), wisp_type_name(t.blk), widths[w]);
        ref_assert_close(what, left, want, 4 * ref_eps(t.blk));
        ref_free(x), ref_free(z), ref_free(left), ref_free(want);
    }
    wisp__precond_free(P);
    wisp_mat_free(A);
}

static void polynomials(void **state)
{
    static const int degrees[] = {1, 2, 3, 4, 7, 20};
    for (int p = 0; p < REF_PAIRS; p++)
        for (int d = 0; d < 6; d++)
            for (int kind = 0; kind < 2; kind++) {
                ref_rng r = {(uint64_t)(100 * p + 10 * d + kind)};
                ref_mat m = random_matrix(&r, ref_pair[p].mat, 1 + ref_below(&r, 90), kind);
                wisp_solve_opts o = {.method = kind ? WISP_CG : WISP_GMRES, .degree = degrees[d]};
                o.precond = d % 2 == kind ? WISP_CHEBYSHEV : WISP_NEUMANN;
                check_polynomial(*state, &r, ref_pair[p], m, o);
                o.precond = d % 2 == kind ? WISP_NEUMANN : WISP_CHEBYSHEV;
                check_polynomial(*state, &r, ref_pair[p], m, o);
                ref_free(m);
            }
}

/* p(x) itself, on a diagonal matrix of these numbers. */
static void values(wisp_ctx *ctx, const wisp_solve_opts *o, int n, const double *x, double *p)
{
    ref_mat m = ref_new(n, n), r = ref_new(n, 1);
    for (int i = 0; i < n; i++) REF_AT(m, i, i) = x[i], r.a[i] = 1;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp__precond *P;
    REF_OK(ctx, precond_make(&P, A, o, WISP_D, 1));
    ref_mat z = applied(ctx, A, P, WISP_D, r);
    for (int i = 0; i < n; i++) p[i] = creal(z.a[i]);
    wisp__precond_free(P);
    wisp_mat_free(A);
    ref_free(m), ref_free(r), ref_free(z);
}

/* With bounds that are found, or that pass zero: positive at all eigenvalues, and a step towards the inverse at the
   positive ones. */
static void polynomials_are_positive(void **state)
{
    enum { N = 400 };
    static const double lowest[] = {1e-6, 0.3, 0.9, -1}, upper[] = {1, 1e-9, 1e12};
    for (int i = 0; i < 4 * 3 * 2 * 8; i++) {
        wisp_solve_opts o = {.method = WISP_MINRES, .precond = i % 2 ? WISP_NEUMANN : WISP_CHEBYSHEV};
        const double high = upper[i / 2 % 3], low = lowest[i / 6 % 4] * high;
        double x[N], p[N];
        o.degree = 1 + i / 24;
        if (i / 6 % 4 == 1) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {0, high, 0}};
        if (i / 6 % 4 == 2) o.method = WISP_GMRES;
        for (int k = 0; k < N; k++) x[k] = low + (high - low) * k / (N - 1);
        values(*state, &o, N, x, p);
        for (int k = 0; k < N; k++) {
            assert_true(p[k] > 0);
            if (x[k] > 0) assert_true(x[k] * p[k] < 2);
        }
        if (o.precond == WISP_NEUMANN || o.bounds.method != WISP_BOUNDS_GIVEN) continue;
        /* The bounds that are taken instead. */
        const double c = high * 31 / 60, h = high * 29 / 60, n = o.degree + 1;
        for (int k = 0; k < N; k++) {
            const double t = fmax((c - x[k]) / h, -1), T = fabs(t) <= 1 ? cos(n * acos(t)) : cosh(n * acosh(t));
            assert_true(fabs(1 - x[k] * p[k] - T / cosh(n * acosh(c / h))) < 1e-12);
        }
    }
}

/* A chain: each row has a few columns on either side. */
enum { CHAIN = 40000, NEAR = 3 };
static int chain_row(void *arg, int64_t i, int64_t *col, void *val)
{
    int n = 0;
    (void)arg;
    for (int64_t j = i > NEAR ? i - NEAR : 0; j <= i + NEAR && j < CHAIN; j++, n++)
        if (col) col[n] = j, ((double *)val)[n] = i == j ? 7 : -1;
    return n;
}

/* Where memory is slow beside the caches, steps are interleaved; the result is the same bit by bit. */
static void interleaved(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    enum { WIDTH = 64, DEGREE = 6 };
    static double z[2][CHAIN * WIDTH];
    wisp_scalar dot[2][WIDTH];
    int64_t copies[2];
    for (int deep = 0; deep < 2; deep++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        const wisp_src src = {.rows = CHAIN, .cols = CHAIN, .max_row = 2 * NEAR + 1, .type = WISP_D, .row = chain_row};
        const wisp_mat_opts mo = {.width = WIDTH, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
        const wisp_solve_opts o = {.method = WISP_CG,
                                   .precond = WISP_CHEBYSHEV,
                                   .degree = DEGREE,
                                   .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {7, 6.9, 0}}};
        wisp_machine m = {.exchange_gbs = deep ? 500 : 6};
        for (int l = 0; l < WISP_LEVELS; l++)
            m.gbs[WISP_LOAD][l][1] = l == WISP_MEMORY ? 5 : l == WISP_L3 ? m.exchange_gbs : 500;
        wisp_ctx_set_machine(ctx, &m);
        wisp_ctx_set_cache(ctx, 6 << 20);
        ctx->rates.l2_bytes = 2 << 20;
        ctx->one_node = true; /* or nothing is interleaved */
        wisp_mat *A;
        wisp_blk *x, *y;
        wisp__precond *P;
        wisp_counts before, after;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &mo));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
        REF_OK(ctx, precond_make(&P, A, &o, WISP_D, WIDTH));
        REF_OK(ctx, wisp__precond_apply(P, y, x, (wisp_place){0}));
        wisp_ctx_counts(ctx, &before);
        REF_OK(ctx, apply_with_dot(ctx, P, y, x, dot[deep]));
        wisp_ctx_counts(ctx, &after);
        assert_int_equal(after.products - before.products, DEGREE);
        copies[deep] = after.passes - before.passes - DEGREE;
        REF_OK(ctx, wisp_blk_get(y, WISP_ROW_MAJOR, z[deep], WIDTH));
        wisp__precond_free(P);
        wisp_blk_free(x);
        wisp_blk_free(y);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    assert_int_equal(copies[0], 0);
    assert_int_equal(copies[1], 1); /* of r, which begins an interleaved call */
    assert_memory_equal(z[0], z[1], sizeof z[0]);
    assert_memory_equal(dot[0], dot[1], sizeof dot[0]);
}

/* A nonsymmetric matrix without bounds: Neumann's factor is that of the largest row sum. */
static void row_sums(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat m = ref_new(3, 3), r = ref_new(3, 1);
    const double a[9] = {1, -2, 0, 0, 2, 1, 3, 0, 1}; /* rows sum up to 3, 3, 4 */
    for (int i = 0; i < 9; i++) m.a[i] = a[i];
    for (int i = 0; i < 3; i++) r.a[i] = i + 1;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp__precond *P;
    const wisp_solve_opts o = {.method = WISP_BICGSTAB, .precond = WISP_NEUMANN, .degree = 3};
    REF_OK(ctx, precond_make(&P, A, &o, WISP_D, 1));
    ref_mat z = applied(ctx, A, P, WISP_D, r), left = ref_times(m, z);
    ref_mat want = neumann_leaves(m, r, (wisp_bounds){4, 0, 0}, 3);
    for (int i = 0; i < 3; i++) left.a[i] = r.a[i] - left.a[i];
    ref_assert_close("row sums", left, want, 1e-14);
    wisp__precond_free(P);
    wisp_mat_free(A);
    ref_free(m), ref_free(r), ref_free(z), ref_free(left), ref_free(want);
}

/* A polynomial of an operator is that of the matrix that it stands for. */
static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng rng = {5};
    ref_mat m = random_matrix(&rng, WISP_Z, 60, 1), r = ref_random_block(&rng, WISP_Z, 60, 3);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_Z), *B;
    function f = {.A = A};
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_Z, .apply = product, .arg = &f};
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
    for (int kind = WISP_CHEBYSHEV; kind <= WISP_NEUMANN; kind++) {
        wisp_solve_opts o = {.method = WISP_GMRES, .precond = (wisp_precond)kind, .degree = 5};
        wisp__precond *P, *Q;
        REF_FAILS(ctx, precond_make(&P, B, &o, WISP_Z, 3), WISP_ERR_ARG, "needs bounds");
        assert_null(P);
        o.method = WISP_CG;
        REF_OK(ctx, precond_make(&P, B, &o, WISP_Z, 3)); /* finds them */
        wisp__precond_free(P);
        o.bounds = circles(m);
        REF_OK(ctx, precond_make(&P, A, &o, WISP_Z, 3));
        REF_OK(ctx, precond_make(&Q, B, &o, WISP_Z, 3));
        ref_mat want = applied(ctx, A, P, WISP_Z, r), got = applied(ctx, B, Q, WISP_Z, r);
        ref_assert_close("an operator", got, want, 1e-13);
        wisp__precond_free(P);
        wisp__precond_free(Q);
        ref_free(want), ref_free(got);
    }
    wisp_mat_free(B);
    wisp_mat_free(A);
    ref_free(m), ref_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(polynomials), cmocka_unit_test(polynomials_are_positive),
                                       cmocka_unit_test(interleaved), cmocka_unit_test(row_sums),
                                       cmocka_unit_test(operators)};
    return REF_RUN_CTX(tests);
}
