/* Least squares against LAPACK: all types and shapes, empty rows and columns, ranks that are not full, graded columns,
   damping, guesses, many scales. Residuals and A^H r are computed again from x. */
#include <stdbool.h>
#include "kpm_dense.h"
#include "ref_lapack.h"

/* Kinds: 0 sparse, 1 its columns graded, 2 every third column and row empty, 3 of rank 1, 4 dense, 5 zero. */
static ref_mat random_matrix(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, int kind)
{
    if (kind == 5) return ref_new(rows, cols);
    if (kind == 4) return ref_random_block(r, type, rows, (int)cols);
    ref_mat a = ref_new(rows, cols);
    ref_mat u = ref_random_block(r, type, rows, 1), v = ref_random_block(r, type, cols, 1);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            if (kind == 3) REF_AT(a, i, j) = REF_AT(u, i, 0) * conj(REF_AT(v, j, 0));
            if (kind == 3 || ref_below(r, 3)) continue;
            REF_AT(a, i, j) = ref_value(r, type);
            if (kind == 1) REF_AT(a, i, j) *= pow(10, -2 * (double)j / (double)cols);
            if (kind == 2 && (i % 3 == 1 || j % 3 == 1)) REF_AT(a, i, j) = 0;
        }
    ref_free(u), ref_free(v);
    ref_round(a, type);
    return a;
}

static double norm_of(ref_mat a, int64_t column)
{
    double sum = 0;
    for (int64_t i = 0; i < a.rows; i++) sum = hypot(sum, cabs(REF_AT(a, i, column)));
    return sum;
}

/* The shortest x of least |A x - b|^2 + damp^2 |x|^2, by LAPACK; *size becomes |A|. Values below `small` of it are 0.
 */
static ref_mat least(ref_mat a, ref_mat b, double damp, double small, double *size)
{
    const int m = (int)a.rows + (damp > 0 ? (int)a.cols : 0), n = (int)a.cols, w = (int)b.cols, ld = m > n ? m : n;
    lapack_complex_double *A = (lapack_complex_double *)ref_lapack(2 * (size_t)(m * n), m);
    lapack_complex_double *B = (lapack_complex_double *)ref_lapack(2 * (size_t)(ld * w), ld);
    double *s = calloc((size_t)ld, sizeof *s);
    ref_mat x = ref_new(n, w);
    assert_non_null(s);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) A[j * m + i] = i < a.rows ? REF_AT(a, i, j) : i - a.rows == j ? damp : 0;
    for (int j = 0; j < w; j++)
        for (int i = 0; i < ld; i++) B[j * ld + i] = i < a.rows ? REF_AT(b, i, j) : 0;
    ref_zgelsd(m, n, w, A, B, ld, s, small);
    for (int j = 0; j < w; j++)
        for (int i = 0; i < n; i++) REF_AT(x, i, j) = B[j * ld + i];
    *size = s[0];
    free(A), free(B), free(s);
    return x;
}

typedef struct {
    ref_mat a, b, guess; /* guess.rows = 0: none */
    wisp_type type;
    int a_exponent, b_exponent; /* both are given times 2 to these */
    wisp_solve_opts opts;
    bool close; /* x has to be that of LAPACK */
} question;

static ref_mat times_power(ref_mat a, int exponent)
{
    ref_mat c = ref_new(a.rows, a.cols);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.cols; j++)
            REF_AT(c, i, j) = ldexp(creal(REF_AT(a, i, j)), exponent) + ldexp(cimag(REF_AT(a, i, j)), exponent) * I;
    return c;
}

/* Column j of x, in units without the exponents, against what was said of it. */
static void check_column(const question *q, const wisp_solution *s, ref_mat x, ref_mat want, double size, int j,
                         const char *what)
{
    const double damp = ldexp(q->opts.damp, -q->a_exponent), eps = ref_eps(q->type);
    const double tolerance = q->opts.tolerance > 0 ? q->opts.tolerance : eps > 1e-10 ? 1e-4 : 1e-8;
    const double norm = hypot(size, damp), bb = norm_of(q->b, j), xx = norm_of(x, j);
    ref_mat r = ref_new(q->a.rows, 1), g = ref_new(q->a.cols, 1);
    for (int64_t i = 0; i < r.rows; i++) {
        REF_AT(r, i, 0) = REF_AT(q->b, i, j);
        for (int64_t k = 0; k < x.rows; k++) REF_AT(r, i, 0) -= REF_AT(q->a, i, k) * REF_AT(x, k, j);
    }
    for (int64_t k = 0; k < x.rows; k++) {
        REF_AT(g, k, 0) = -damp * damp * REF_AT(x, k, j);
        for (int64_t i = 0; i < r.rows; i++) REF_AT(g, k, 0) += conj(REF_AT(q->a, i, k)) * REF_AT(r, i, 0);
    }
    const double rr = hypot(norm_of(r, 0), damp * xx), noise = 50 * eps * (norm * xx + bb);
    const double gg = norm_of(g, 0), most = norm * rr;
    if (bb == 0) {
        assert_true(xx == 0 && s->residuals[j] == 0 && s->optimalities[j] == 0);
    } else {
        if (!(fabs(s->residuals[j] * bb - rr) <= noise))
            fail_msg("%s: residual %g, said %g", what, rr / bb, s->residuals[j]);
        if (!(gg <= s->optimalities[j] * most * (1 + 1e-3) + norm * noise))
            fail_msg("%s: A^H r %g, said %g", what, gg / most, s->optimalities[j]);
        if (s->status[j] == WISP_OK && !(rr <= 1.001 * tolerance * bb + noise) &&
            !(gg <= 1.001 * tolerance * most + norm * noise))
            fail_msg("%s: not least: %g, %g", what, rr / bb, gg / most);
    }
    assert_int_equal(s->status[j], WISP_OK);
    if (!(s->norm <= ldexp(norm, q->a_exponent) * (1 + 1e-3))) fail_msg("%s: norm %g, is %g", what, s->norm, norm);
    double off = 0;
    for (int64_t k = 0; k < x.rows; k++) off = hypot(off, cabs(REF_AT(x, k, j) - REF_AT(want, k, j)));
    if (q->close && !(off <= 2e3 * tolerance * norm_of(want, j)))
        fail_msg("%s: x is off by %g of %g", what, off, norm_of(want, j));
    ref_free(r), ref_free(g);
}

static void ask(wisp_ctx *ctx, const question *q, const char *what)
{
    wisp_mat *A, *AH;
    wisp_blk *x, *b;
    wisp_solution s;
    double size;
    ref_mat a = times_power(q->a, q->a_exponent), rhs = times_power(q->b, q->b_exponent);
    ref_mat want = least(q->a, q->b, ldexp(q->opts.damp, -q->a_exponent), 1e3 * ref_eps(q->type), &size);
    wisp_src src = ref_dense_src(a, q->type);
    wisp_solve_opts o = q->opts;
    const wisp_type blocks = q->type;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_adjoint(&AH, A, NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), blocks, (int)rhs.cols));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), blocks, (int)rhs.cols));
    ref_put(b, rhs);
    if (q->guess.rows > 0) {
        ref_mat guess = times_power(q->guess, q->b_exponent - q->a_exponent);
        ref_put(x, guess);
        ref_free(guess);
        o.guess = 1;
    }
    o.method = WISP_LSMR, o.adjoint = AH;
    const wisp_status status = wisp_solve(&s, x, A, b, &o);
    if (status != WISP_OK) fail_msg("%s: %s", what, wisp_ctx_message(ctx, (char[512]){0}, 512));
    assert_true(s.converged && s.method == WISP_LSMR && s.columns == (int)rhs.cols);
    if (ref_ranks() == 1) {
        ref_mat got = ref_get(x), small = times_power(got, q->a_exponent - q->b_exponent);
        for (int j = 0; j < (int)rhs.cols; j++) check_column(q, &s, small, want, size, j, what);
        ref_free(got), ref_free(small);
    }
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(AH), wisp_mat_free(A);
    wisp_src_close(&src);
    ref_free(a), ref_free(rhs), ref_free(want);
}

/* b of random numbers; in the range of A; 0 in a column. */
static ref_mat right_side(ref_rng *r, ref_mat a, wisp_type type, int width, int kind)
{
    ref_mat b;
    if (kind == 1) {
        ref_mat x = ref_random_block(r, type, a.cols, width);
        b = ref_times(a, x);
        ref_round(b, type);
        ref_free(x);
    } else {
        b = ref_random_block(r, type, a.rows, width);
    }
    if (kind == 2)
        for (int64_t i = 0; i < b.rows; i++) REF_AT(b, i, width / 2) = 0;
    return b;
}

static void shapes(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {171};
    static const int widths[] = {1, 3, 5, 33};
    const int trials = ref_few() ? 48 : 480;
    for (int t = 0; t < trials; t++) {
        const wisp_type type = (wisp_type)(WISP_S + t % 4);
        const int64_t rows = 1 + ref_below(&r, t < 60 ? 4 : 40), cols = 1 + ref_below(&r, t < 60 ? 4 : 40);
        const int kind = (t / 4) % 6, side = (t / 24) % 3, width = widths[(t / 7) % 4];
        question q = {.type = type, .a = random_matrix(&r, type, rows, cols, kind)};
        char what[128];
        q.b = right_side(&r, q.a, type, width, side);
        q.opts.max_iterations = 4000;
        if (t % 5 == 4) q.opts.damp = 0.3;
        if (t % 7 == 6) q.guess = ref_random_block(&r, type, cols, width);
        q.close = kind == 3 && q.guess.rows == 0 && ref_eps(type) < 1e-10;
        snprintf(what, sizeof what, "trial %d: %s, %lld x %lld, kind %d, side %d, width %d, damp %g", t,
                 wisp_type_name(type), (long long)rows, (long long)cols, kind, side, width, q.opts.damp);
        ask(ctx, &q, what);
        ref_free(q.a), ref_free(q.b);
        if (q.guess.rows > 0) ref_free(q.guess);
    }
}

/* Well-conditioned ones, whose shortest x is LAPACK's: tall, wide, and damped. */
static void shortest(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {173};
    static const int64_t of[][2] = {{60, 12}, {12, 60}, {90, 30}, {7, 40}, {40, 1}, {1, 40}};
    for (int t = 0; t < 24; t++) {
        const wisp_type type = t % 2 ? WISP_Z : WISP_D;
        question q = {.type = type, .a = random_matrix(&r, type, of[t / 4][0], of[t / 4][1], 4), .close = true};
        q.b = right_side(&r, q.a, type, 3, t % 3);
        if (t % 4 >= 2) q.opts.damp = 2;
        ask(ctx, &q, "shortest");
        ref_free(q.a), ref_free(q.b);
    }
}

/* The same numbers times powers of two, up to the ends of the range, give the same x but for its power. */
static void scales(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {179};
    for (int t = 0; t < 32; t++) {
        const wisp_type type = (wisp_type)(WISP_S + t % 4);
        const bool single = type == WISP_S || type == WISP_C;
        const int far = single ? 100 : 990, a = (t / 4) % 3 - 1, b = (t / 12) % 3 - 1;
        question q = {.type = type, .a = random_matrix(&r, type, 20, 11, t % 3 == 2 ? 3 : 4)};
        q.b = right_side(&r, q.a, type, 3, t % 2);
        q.a_exponent = a * far, q.b_exponent = a * b < 0 ? 0 : b * far;
        if (t % 5 == 4) q.opts.damp = ldexp(0.5, q.a_exponent);
        char what[64];
        snprintf(what, sizeof what, "trial %d: 2^%d, 2^%d", t, q.a_exponent, q.b_exponent);
        ask(ctx, &q, what);
        ref_free(q.a), ref_free(q.b);
    }
}

static int stop_at(void *arg, int64_t iteration, double residual)
{
    (void)residual;
    return iteration >= *(int64_t *)arg;
}

/* What is refused; DEFAULT takes it where A is not square; too few iterations keep the best x, and an end does. */
static void ends(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {181};
    ref_mat a = random_matrix(&r, WISP_D, 50, 30, 1), rhs = ref_random_block(&r, WISP_D, 50, 2);
    wisp_src src = ref_dense_src(a, WISP_D);
    wisp_mat *A, *AH, *other;
    wisp_blk *x, *b;
    wisp_solution s;
    int64_t few = 4;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_adjoint(&AH, A, NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 2));
    ref_put(b, rhs);
    wisp_solve_opts o = {.method = WISP_LSMR};
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_ARG, "opts.adjoint");
    wisp_solution_free(&s);
    o.adjoint = AH;
    o.method = WISP_GMRES;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_MISMATCH, "rectangular");
    wisp_solution_free(&s);
    o.method = WISP_LSMR, o.precond = WISP_JACOBI;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_ARG, "opts.precond");
    wisp_solution_free(&s);
    o.precond = WISP_PRECOND_NONE, o.damp = -1;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_ARG, "opts.damp");
    wisp_solution_free(&s);
    o.damp = 0, o.adjoint = A;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_MISMATCH, "opts.adjoint");
    wisp_solution_free(&s);
    for (int64_t i = 0; i < a.rows; i++) REF_AT(a, i, 3) += 1;
    wisp_src wrong = ref_dense_src(a, WISP_D), adjoint;
    REF_OK(ctx, wisp_src_adjoint(&adjoint, ctx, &wrong));
    REF_OK(ctx, wisp_mat_create(&other, ctx, &adjoint,
                                &(wisp_mat_opts){.map = wisp_mat_col_map(A), .cols = wisp_mat_map(A)}));
    o.adjoint = other;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_ARG, "is not A^H");
    wisp_solution_free(&s);
    o = (wisp_solve_opts){.adjoint = AH};
    REF_OK(ctx, wisp_solve(&s, x, A, b, &o));
    assert_true(s.method == WISP_LSMR && s.optimality <= 1e-8 && s.residual > 1e-3);
    const int64_t all = s.iterations;
    assert_true(all > 6);
    wisp_solution_free(&s);
    o.max_iterations = few;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_ITERATIONS, "|A^H r|");
    assert_true(!s.converged && s.iterations == few && s.residual < 1 && s.optimality < 1);
    const double reached = s.residual;
    wisp_solution_free(&s);
    o.max_iterations = 0, o.observe = stop_at, o.observe_arg = &few;
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_CANCELLED, "ended by opts.observe");
    assert_true(ref_ranks() > 1 ||
                fabs(s.residual - reached) <= 1e-12); /* ranks that end apart keep what was verified */
    wisp_solution_free(&s);
    o.observe = NULL, o.guess = 1;
    REF_OK(ctx, wisp_solve(&s, x, A, b, &o));
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(other), wisp_mat_free(AH), wisp_mat_free(A);
    wisp_src_close(&adjoint), wisp_src_close(&wrong), wisp_src_close(&src);
    ref_free(a), ref_free(rhs);
}

/* Of a square matrix DEFAULT takes damp, too, and says what it lacks. */
static void damped_by_default(void **state)
{
    wisp_ctx *ctx = *state;
    enum { ROWS = 40 };
    ref_rng r = {183};
    ref_mat a = random_matrix(&r, WISP_Z, ROWS, ROWS, 1), rhs = ref_random_block(&r, WISP_Z, ROWS, 2), found;
    double size;
    for (int64_t i = 0; i < ROWS; i++) REF_AT(a, i, i) += 20;
    wisp_src src = ref_dense_src(a, WISP_Z);
    wisp_mat *A, *AH;
    wisp_blk *x, *b;
    wisp_solution s;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_adjoint(&AH, A, NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_Z, 2));
    ref_put(b, rhs);
    ref_mat want = least(a, rhs, 0.5, 0, &size);
    wisp_solve_opts o = {.damp = 0.5, .tolerance = 1e-10};
    REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_ARG, "opts.adjoint");
    wisp_solution_free(&s);
    o.adjoint = AH;
    REF_OK(ctx, wisp_solve(&s, x, A, b, &o));
    assert_true(s.method == WISP_LSMR && s.optimality <= 1e-10 && s.residual > 1e-3);
    wisp_solution_free(&s);
    found = ref_get(x);
    for (int64_t i = 0; i < (int64_t)ROWS * 2; i++) assert_true(cabs(found.a[i] - want.a[i]) < 1e-7);
    o = (wisp_solve_opts){.adjoint = AH}; /* without damping another one is taken */
    REF_OK(ctx, wisp_solve(&s, x, A, b, &o));
    assert_true(s.method != WISP_LSMR && !s.optimalities);
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(AH), wisp_mat_free(A);
    wisp_src_close(&src);
    ref_free(a), ref_free(rhs), ref_free(found), ref_free(want);
}

typedef struct {
    const wisp_mat *A;
    int calls, fails_at; /* at this call and all later ones */
} failing;

/* wisp_apply_fn: A x, while it does */
static wisp_status fail_late(void *arg, wisp_blk *y, const wisp_blk *x)
{
    failing *f = arg;
    return ++f->calls < f->fails_at ? wisp_spmmv(y, f->A, x, NULL) : WISP_ERR_CALLBACK;
}

/* Where A^H can't be multiplied any more, |b - A x| of a damped problem says nothing: what is told is of the best x
   whose residual is known, here 0. */
static void fails(void **state)
{
    wisp_ctx *ctx = *state;
    enum { ROWS = 40 };
    ref_rng r = {191};
    ref_mat a = ref_new(ROWS, ROWS), rhs = ref_random_block(&r, WISP_D, ROWS, 2);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k <= i; k++) REF_AT(a, i, k) = REF_AT(a, k, i) = ref_value(&r, WISP_D) + (i == k ? 30 : 0);
    wisp_src src = ref_dense_src(a, WISP_D);
    wisp_mat *A, *AH;
    wisp_blk *x, *b;
    wisp_solution s;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    failing f = {.A = A, .fails_at = 6};
    REF_OK(ctx, wisp_mat_from_apply(
                    &AH, ctx, &(wisp_operator){.map = wisp_mat_map(A), .type = WISP_D, .apply = fail_late, .arg = &f}));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 2));
    ref_put(b, rhs);
    wisp_solve_opts o = {.method = WISP_LSMR, .adjoint = AH, .damp = 10, .tolerance = 1e-12};
    for (f.fails_at = 3; f.fails_at < 7; f.fails_at++) {
        f.calls = 0;
        REF_FAILS(ctx, wisp_solve(&s, x, A, b, &o), WISP_ERR_CALLBACK, "");
        for (int j = 0; j < 2; j++) assert_true(fabs(s.residuals[j] - 1) < 1e-12 && s.optimalities[j] > 0);
        wisp_solution_free(&s);
    }
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(AH), wisp_mat_free(A);
    wisp_src_close(&src);
    ref_free(a), ref_free(rhs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(shapes, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(shortest, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(scales, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(ends, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(damped_by_default, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(fails, ref_setup, ref_teardown)};
    return REF_RUN(tests);
}
