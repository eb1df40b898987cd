/* GMRES makes several vectors at once: each iteration's residual is still the least of its Krylov space, for matrices
   whose powers stand far apart, hardly, or not at all. */
#include "solve_cases.h"

enum { ROWS = 40, STEPS = 24 };

typedef enum { NEAR_ONE, GROWING, OUTLIER, TURNING, LOW_RANK, SHAPES } shape;
static const char *const shape_name[SHAPES] = {"near the identity", "growing", "outlier", "turning", "low rank"};

static ref_mat random_part(ref_rng *r, wisp_type type, double size)
{
    ref_mat A = ref_random_block(r, type, ROWS, ROWS);
    for (int64_t i = 0; i < ROWS * ROWS; i++) A.a[i] *= size / sqrt(ROWS);
    return A;
}

static ref_mat matrix_of(ref_rng *r, shape kind, wisp_type type)
{
    ref_mat A = random_part(r, type, kind == NEAR_ONE ? 0.5 : kind == TURNING ? 0 : 0.02);
    for (int64_t i = 0; i < ROWS; i++) {
        REF_AT(A, i, i) += kind == GROWING             ? pow(100, (double)i / ROWS)
                           : kind == OUTLIER && i == 7 ? 1e3
                                                       : kind != TURNING;
        if (kind == TURNING) REF_AT(A, (i + 1) % ROWS, i) = 1, REF_AT(A, i, i) = 0.2;
        if (kind == LOW_RANK) /* one that the rows make with four columns */
            for (int64_t j = 0; j < ROWS; j++) REF_AT(A, i, j) = (i == j) + (j < 4) * sin((double)(i + 3 * j));
    }
    for (int64_t i = 0; i < ROWS * ROWS; i++)
        if (is_single(type)) A.a[i] = (cplx)(float complex)A.a[i];
    return A;
}

static cplx dot(const cplx *x, const cplx *y)
{
    cplx sum = 0;
    for (int i = 0; i < ROWS; i++) sum += conj(x[i]) * y[i];
    return sum;
}

/* y loses its part in the span of the orthonormal u[n], twice over, and becomes of length 1; false: nothing is left. */
static bool add_direction(cplx (*u)[ROWS], int n, const cplx *y)
{
    cplx *v = u[n];
    memcpy(v, y, sizeof u[n]);
    const double before = sqrt(creal(dot(v, v)));
    for (int twice = 0; twice < 2; twice++)
        for (int k = 0; k < n; k++) {
            const cplx part = dot(u[k], v);
            for (int i = 0; i < ROWS; i++) v[i] -= part * u[k][i];
        }
    const double length = sqrt(creal(dot(v, v)));
    for (int i = 0; i < ROWS; i++) v[i] /= length > 0 ? length : 1;
    return length > 1e-12 * before;
}

/* least[k]: the least |b - A x| / |b| of all x in the Krylov space of k vectors of column j. */
static void least_residuals(ref_mat A, ref_mat b, int64_t j, double *least)
{
    cplx image[STEPS + 1][ROWS], basis[STEPS + 1][ROWS];
    cplx r[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; i++) r[i] = REF_AT(b, i, j);
    const double norm = sqrt(creal(dot(r, r)));
    bool grows = add_direction(basis, 0, r);
    least[0] = 1;
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < ROWS && grows; i++) {
            y[i] = 0;
            for (int l = 0; l < ROWS; l++) y[i] += REF_AT(A, i, l) * basis[k][l];
        }
        if (grows && add_direction(image, k, y)) {
            const cplx part = dot(image[k], r);
            for (int i = 0; i < ROWS; i++) r[i] -= part * image[k][i];
        }
        grows = grows && add_direction(basis, k + 1, y);
        least[k + 1] = sqrt(creal(dot(r, r))) / norm;
    }
}

/* Up to where the first column is nearly solved. How many iterations were compared. */
static int compare(const linear *l, const wisp_solution *s, const char *what)
{
    const double floor = is_single(l->t.blk) ? 1e-3 : 1e-8, off = is_single(l->t.blk) ? 1e-2 : 1e-5;
    double least[STEPS + 1], most[STEPS + 1] = {0}, first[STEPS + 1];
    for (int64_t j = 0; j < l->b.cols; j++) {
        least_residuals(l->A, l->b, j, least);
        for (int k = 0; k <= STEPS; k++) {
            first[k] = j == 0 ? least[k] : fmin(first[k], least[k]);
            most[k] = fmax(most[k], least[k]);
        }
    }
    int k = 0;
    for (; k <= STEPS && first[k] > floor; k++) {
        assert_true(k <= s->iterations);
        if (!(fabs(s->history[k] - most[k]) <= off * most[k]))
            fail_msg("%s: iteration %d: residual %.9g, and the least is %.9g", what, k, s->history[k], most[k]);
    }
    return k;
}

static void least_of_the_space(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5};
    enum { CASES = SHAPES * 4 * 3 * 2 };
    int compared = 0;
    for (int c = 0; c < CASES; c++) {
        const shape kind = (shape)(c % SHAPES);
        const wisp_type type = (wisp_type)(WISP_S + c / SHAPES % 4);
        const int width = widths[c / SHAPES / 4 % 3], classical = c / SHAPES / 12;
        ref_rng r = {(uint64_t)c + 1};
        linear l =
            linear_of(ctx, matrix_of(&r, kind, type), (ref_types){type, type}, ref_random_block(&r, type, ROWS, width));
        const wisp_solve_opts o = {.method = WISP_GMRES,
                                   .variant = classical ? WISP_CLASSICAL : WISP_PIPELINED,
                                   .restart = ROWS,
                                   .tolerance = is_single(type) ? 1e-6 : 1e-13,
                                   .max_iterations = STEPS};
        wisp_solution s;
        wisp_blk *x, *b;
        char what[120];
        snprintf(what, sizeof what, "%s, %s, width %d%s", shape_name[kind], wisp_type_name(type), width,
                 classical ? ", classical" : "");
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(l.mat), type, width));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(l.mat), type, width));
        ref_put(b, l.b);
        (void)wisp_solve(&s, x, l.mat, b, &o); /* most have not converged by then */
        compared += compare(&l, &s, what);
        wisp_solution_free(&s);
        wisp_blk_free(x), wisp_blk_free(b);
        linear_free(&l);
    }
    assert_true(compared > 5 * CASES);
}

/* ---- long cycles: what a block of vectors loses in orthogonality the next ones multiply ----------- */

enum { LONG = 250, LONG_CASES = 5 };

static ref_mat long_matrix(int kind)
{
    ref_mat A = ref_new(LONG, LONG);
    for (int64_t i = 0; i < LONG; i++) {
        if (kind == 0) REF_AT(A, i, i) = (i % 2 ? -1 : 1) * (1 + 0.01 * (double)i);
        if (kind == 0 && i > 0) REF_AT(A, i - 1, i) = 0.5;
        if (kind == 1) REF_AT(A, i, i) = 1e-2;
        if (kind == 1 && i > 0) REF_AT(A, i - 1, i) = 1, REF_AT(A, i, i - 1) = -1;
    }
    return A;
}

static int64_t iterations_of(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, const char *what)
{
    wisp_solution s;
    wisp_blk *x, *b;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(l->mat), l->t.blk, 1));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(l->mat), l->t.blk, 1));
    ref_put(b, l->b);
    const wisp_status status = wisp_solve(&s, x, l->mat, b, &o);
    if (status != WISP_OK) fail_msg("%s: %s", what, message_of(ctx));
    const int64_t n = s.iterations;
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    return n;
}

static void long_cycles(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        int kind, restart;
        wisp_type type;
    } table[LONG_CASES] = {{0, 500, WISP_D}, {0, 100, WISP_D}, {0, 500, WISP_Z}, {0, 100, WISP_S}, {1, 500, WISP_S}};
    for (int c = 0; c < LONG_CASES; c++) {
        const wisp_type type = table[c].type;
        ref_rng r = {(uint64_t)c + 1};
        linear l =
            linear_of(ctx, long_matrix(table[c].kind), (ref_types){type, type}, ref_random_block(&r, type, LONG, 1));
        wisp_solve_opts o = {.method = WISP_GMRES,
                             .restart = table[c].restart,
                             .tolerance = is_single(type) ? 1e-4 : 1e-12,
                             .max_iterations = 6 * LONG};
        char what[80];
        snprintf(what, sizeof what, "case %d", c);
        const int64_t together = iterations_of(ctx, &l, o, what);
        o.variant = WISP_CLASSICAL;
        const int64_t alone = iterations_of(ctx, &l, o, what);
        if (together > alone + alone / 20 + 2)
            fail_msg("%s: %lld iterations, and %lld one vector after the other", what, (long long)together,
                     (long long)alone);
        linear_free(&l);
    }
}

/* Entries fit the type, and their sums, which the shift is a mean of, do not. */
static void at_the_top_of_the_type(void **state)
{
    wisp_ctx *ctx = *state;
    for (int c = 0; c < 2; c++) {
        const wisp_type type = c ? WISP_S : WISP_D;
        ref_rng r = {7};
        ref_mat A = ref_new(60, 60);
        for (int64_t i = 0; i < 60 * 60; i++)
            A.a[i] = (c ? 1e38 : 5e307) * (0.35 + 0.3 * ref_uniform(&r) + (i % 61 == 0 ? 0.3 : 0));
        linear l = linear_of(ctx, A, (ref_types){type, type}, ref_random_block(&r, type, 60, 1));
        const wisp_solve_opts o = {.method = WISP_GMRES, .restart = 100};
        assert_in_range(iterations_of(ctx, &l, o, c ? "single" : "double"), 1, 62);
        linear_free(&l);
    }
    ref_rng r = {8};
    ref_mat A = ref_random_block(&r, WISP_D, 4, 4), b = ref_random_block(&r, WISP_D, 4, 1);
    for (int64_t i = 0; i < 16; i++) A.a[i] = (creal(A.a[i]) < 0 ? -1 : 1) * (1.5e308 + 1e307 * (double)(i % 3));
    for (int64_t i = 0; i < 4; i++) REF_AT(A, i, i) /= 4, b.a[i] *= 1e10;
    linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, b);
    assert_in_range(iterations_of(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES}, "the largest numbers"), 4, 6);
    linear_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(least_of_the_space), cmocka_unit_test(long_cycles),
                                       cmocka_unit_test(at_the_top_of_the_type)};
    return REF_RUN_CTX(tests);
}
