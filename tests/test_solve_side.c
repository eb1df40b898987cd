/* The preconditioner on the left and on the right, against dense solutions by LAPACK and against each other. */
#include "precond_cases.h"
#include "solve_cases.h"

#define SEEDS (ref_few() ? 12u : 60u)
static const wisp_method methods[] = {WISP_GMRES, WISP_BICGSTAB, WISP_IDR};
static const wisp_side sides[] = {WISP_SIDE_DEFAULT, WISP_SIDE_RIGHT, WISP_SIDE_LEFT};
static const char *const side_name[] = {"either side", "right", "left"};

/* Rows of very different sizes, so that a good M is far from the identity. */
static ref_mat uneven(ref_rng *r, wisp_type type, int64_t n, double decades)
{
    ref_mat A = random_matrix(r, type, n, 0);
    for (int64_t i = 0; i < n; i++) {
        const double size = pow(10, decades * ref_uniform(r));
        for (int64_t j = 0; j < n; j++) REF_AT(A, i, j) *= size;
    }
    return A;
}

static linear uneven_system(wisp_ctx *ctx, ref_rng *r, ref_types t, int64_t n, int width, double decades)
{
    linear l = linear_of(ctx, uneven(r, t.mat, n, decades), t, ref_random_block(r, t.blk, n, width));
    ref_free(l.x0);
    l.x0 = ref_random_block(r, t.blk, n, width);
    return l;
}

/* A x = b by LAPACK, and the least singular value of A. */
static ref_mat dense_solution(const linear *l, double *least)
{
    const int64_t n = l->A.rows, width = l->b.cols;
    cplx *a = (cplx *)ref_lapack(2 * (size_t)(n * n), n), *x = (cplx *)ref_lapack(2 * (size_t)(n * width), n);
    double *s = ref_lapack((size_t)n, n), *work = ref_lapack((size_t)n, n);
    lapack_int *pivot = calloc((size_t)n, sizeof *pivot);
    ref_mat y = ref_new(n, width);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[j * n + i] = REF_AT(l->A, i, j);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++) x[j * n + i] = REF_AT(l->b, i, j);
    assert_int_equal(LAPACKE_zgesv(LAPACK_COL_MAJOR, (int)n, (int)width, a, (int)n, pivot, x, (int)n), 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[j * n + i] = REF_AT(l->A, i, j);
    assert_int_equal(LAPACKE_zgesvd(LAPACK_COL_MAJOR, 'N', 'N', (int)n, (int)n, a, (int)n, s, NULL, 1, NULL, 1, work),
                     0);
    *least = s[n - 1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++) REF_AT(y, i, j) = x[j * n + i];
    free(a), free(x), free(s), free(work), free(pivot);
    return y;
}

/* |x - y| <= |A^-1| |b - A x|, for each column. */
static void same_as_dense(const linear *l, const outcome *out, const char *what)
{
    double least;
    ref_mat y = dense_solution(l, &least);
    for (int64_t j = 0; j < l->b.cols; j++) {
        const residuals got = residuals_of(l, out->x);
        double off = 0, size = 0;
        for (int64_t i = 0; i < l->b.rows; i++) {
            const cplx d = REF_AT(out->x, i, j) - REF_AT(y, i, j);
            off += creal(d * conj(d)), size += creal(REF_AT(y, i, j) * conj(REF_AT(y, i, j)));
        }
        if (!(sqrt(off) <= (got.r[j] + got.noise[j]) / least * (1 + 1e-6) + 1e-9 * sqrt(size)))
            fail_msg("%s, column %d: off by %g of %g", what, (int)j, sqrt(off), sqrt(size));
    }
    ref_free(y);
}

static void against_dense(void **state)
{
    (void)state;
    static const wisp_precond preconds[] = {WISP_JACOBI, WISP_BLOCK_JACOBI, WISP_ILU, WISP_NEUMANN, WISP_CHEBYSHEV};
    enum { PRECONDS = sizeof preconds / sizeof *preconds };
    const int systems = ref_few() ? 36 : 360;
    int solved = 0;
    for (int c = 0; c < systems; c++) {
        ref_rng r = {(uint64_t)c + 1};
        char what[160];
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1 + c % 3);
        const ref_types t = ref_pair[c / 2 % REF_PAIRS];
        const wisp_precond p = preconds[c % PRECONDS];
        const int polynomial = p == WISP_NEUMANN || p == WISP_CHEBYSHEV;
        linear l = uneven_system(ctx, &r, t, 10 + ref_below(&r, 60), 1 + (int)ref_below(&r, 5),
                                 polynomial                             ? 0
                                 : is_single(t.blk) || is_single(t.mat) ? 1
                                                                        : 3);
        const wisp_solve_opts o = {.method = methods[c / 3 % 3],
                                   .variant = c / 9 % 2 ? WISP_CLASSICAL : WISP_PIPELINED,
                                   .precond = p,
                                   .side = sides[c % 7 % 3],
                                   .guess = (int)ref_below(&r, 2),
                                   .degree = 1 + (int)ref_below(&r, 4),
                                   .restart = ref_below(&r, 2) ? 20 : 0,
                                   .bounds = p == WISP_CHEBYSHEV ? circles(l.A) : (wisp_bounds_opts){0}};
        snprintf(what, sizeof what, "case %d: %s, preconditioner %d, %s", c, method_name[o.method], (int)p,
                 side_name[o.side]);
        const outcome out = solve(ctx, &l, &o, what);
        if (out.status != WISP_OK) fail_msg("%s: %s", what, message_of(ctx));
        if (out.s.side != (o.side ? o.side : WISP_SIDE_RIGHT)) fail_msg("%s: side %d", what, (int)out.s.side);
        same_as_dense(&l, &out, what);
        solved++;
        ref_free(out.x);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    assert_int_equal(solved, systems);
}

/* |D^-1 (b - A x)| with the diagonal D; and |b - A x|. */
static void both_norms(const linear *l, ref_mat x, double *left, double *right)
{
    *left = *right = 0;
    for (int64_t i = 0; i < l->A.rows; i++) {
        cplx r = REF_AT(l->b, i, 0);
        for (int64_t j = 0; j < l->A.rows; j++) r -= REF_AT(l->A, i, j) * REF_AT(x, j, 0);
        const cplx d = r / REF_AT(l->A, i, i);
        *right += creal(r * conj(r)), *left += creal(d * conj(d));
    }
    *left = sqrt(*left), *right = sqrt(*right);
}

/* Both have x from one space, in which the one on the left makes |M^-1 r| least, that on the right |r|. */
static void each_makes_its_own_least(void **state)
{
    (void)state;
    int differ = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ref_rng r = {seed * 7919};
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        const ref_types t = {seed % 2 ? WISP_D : WISP_Z, seed % 2 ? WISP_D : WISP_Z};
        linear l = uneven_system(ctx, &r, t, 40, 1, 2);
        double left[2], right[2];
        wisp_solve_opts o = {.method = WISP_GMRES, .precond = WISP_JACOBI, .max_iterations = 3 + (int64_t)seed % 6};
        int moved = 1;
        for (int s = 0; s < 2; s++) {
            o.side = s ? WISP_SIDE_LEFT : WISP_SIDE_RIGHT;
            const outcome out = solve(ctx, &l, &o, side_name[o.side]);
            both_norms(&l, out.x, &left[s], &right[s]);
            moved &= out.s.residual < 1 - 1e-9;
            ref_free(out.x);
        }
        /* Else x is still 0: on its way |r| has risen. */
        if (moved && (!(left[1] <= left[0] * (1 + 1e-9)) || !(right[0] <= right[1] * (1 + 1e-9))))
            fail_msg("seed %d: |M^-1 r| %g on the left, %g on the right; |r| %g and %g", (int)seed, left[1], left[0],
                     right[1], right[0]);
        differ += moved && left[1] < 0.99 * left[0] && right[0] < 0.99 * right[1];
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    print_message("%d differ\n", differ);
    assert_true(differ > (int)SEEDS / 2);
}

/* Rows of A, and of b, whose sizes differ so much that |b - A x| rises to far above |b| in the first cycles of those
   that it takes, while |M^-1 (b - A x)| falls: a method that went back to x = 0 then would make no way. */
static void far_rise(void **state)
{
    enum { N = 64, HALF = N / 2 };
    const double large = 0x1p+35;
    ref_rng r = {11};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    (void)state;
    const ref_types t = {WISP_D, WISP_D};
    ref_mat A = ref_new(N, N), b = ref_new(N, 1);
    for (int64_t i = 0; i < N; i++) { /* a chain, each second row of which is large */
        const double size = i % 2 ? large : 1;
        REF_AT(A, i, i) = size * 2.2;
        if (i > 0) REF_AT(A, i, i - 1) = -size;
        if (i + 1 < N) REF_AT(A, i, i + 1) = -size;
        REF_AT(b, i, 0) = i % 2 ? 0 : ref_uniform(&r);
    }
    linear l = linear_of(ctx, A, t, b);
    for (int m = 0; m < 3; m++) {
        const wisp_solve_opts o = {.method = methods[m],
                                   .precond = WISP_JACOBI,
                                   .side = WISP_SIDE_LEFT,
                                   .restart = 4,
                                   .tolerance = 1e-3,
                                   .max_iterations = 2000};
        const outcome out = solve(ctx, &l, &o, method_name[o.method]);
        if (out.status != WISP_OK) fail_msg("%s: %s", method_name[o.method], message_of(ctx));
        ref_free(out.x);
    }
    linear_free(&l);
    wisp_ctx_free(ctx);
}

/* A function of the user's that is a bad M: far from A, and ill-conditioned, so that |M^-1 r| says little of |r|:
   residuals that are computed from x decide, and it goes on. */
static wisp_status bad(void *factors, wisp_blk *y, const wisp_blk *x)
{
    const wisp_term term = {.x = x, .rows = factors};
    return wisp_fuse(&(wisp_update){y, 1, &term}, 1, NULL, 0, 0);
}

static void misleading(void **state)
{
    (void)state;
    int of[STATUSES] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        ref_rng r = {seed * 104729};
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        linear l = uneven_system(ctx, &r, (ref_types){WISP_D, WISP_D}, 30, 3, 0);
        ref_mat d = ref_new(30, 1);
        wisp_blk *factors;
        for (int64_t i = 0; i < 30; i++) REF_AT(d, i, 0) = pow(10, (seed % 2 ? 1.5 : 4) * ref_uniform(&r));
        REF_OK(ctx, wisp_blk_create(&factors, ctx, wisp_mat_map(l.mat), WISP_D, 1));
        ref_put(factors, d);
        const wisp_solve_opts o = {.method = methods[seed % 3],
                                   .side = WISP_SIDE_LEFT,
                                   .precond = WISP_PRECOND_APPLY,
                                   .apply = bad,
                                   .apply_arg = factors,
                                   .max_iterations = 2000};
        const outcome out = solve(ctx, &l, &o, method_name[o.method]);
        of[out.status]++;
        ref_free(out.x), ref_free(d);
        wisp_blk_free(factors);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    for (int s = 0; s < STATUSES; s++)
        if (of[s]) print_message("%3d %s\n", of[s], wisp_status_string((wisp_status)s));
    assert_true(of[WISP_OK] > (int)SEEDS * 5 / 6);
}

/* What is asked before a call is what it takes, or refuses. */
static void asked_before(void **state)
{
    (void)state;
    for (wisp_side side = WISP_SIDE_RIGHT; side <= WISP_SIDE_LEFT; side++) {
        assert_int_equal(wisp_method_of_side(WISP_METHOD_DEFAULT, side), WISP_GMRES);
        for (int m = -1; m <= WISP_IDR + 1; m++) {
            const bool has = m == WISP_BICGSTAB || m == WISP_GMRES || m == WISP_IDR;
            if (m) assert_int_equal(wisp_method_of_side((wisp_method)m, side), has ? m : WISP_METHOD_DEFAULT);
        }
    }
    for (int m = 0; m <= WISP_IDR; m++) assert_int_equal(wisp_method_of_side((wisp_method)m, WISP_SIDE_DEFAULT), m);
}

static void refused(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, const char *words)
{
    wisp_mat_info info;
    wisp_plan plan;
    const outcome out = solve(ctx, l, &o, words);
    if (out.status != WISP_ERR_ARG || !strstr(message_of(ctx), words))
        fail_msg("%s: %s (%s)", words, wisp_status_string(out.status), message_of(ctx));
    wisp_mat_get_info(l->mat, &info);
    assert_int_equal(wisp_solve_plan(&plan, ctx, &info, WISP_D, 1, &o, NULL), WISP_ERR_ARG);
    ref_free(out.x);
}

static void options(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    linear l = random_linear(ctx, &r, DEFINITE, (ref_types){WISP_D, WISP_D}, 20, 2);
    const wisp_precond p = WISP_JACOBI;
    refused(ctx, &l, (wisp_solve_opts){.method = WISP_CG, .precond = p, .side = WISP_SIDE_LEFT},
            "opts.side is left, and cg has no choice");
    refused(ctx, &l, (wisp_solve_opts){.method = WISP_MINRES, .precond = p, .side = WISP_SIDE_RIGHT},
            "opts.side is right, and minres has no choice");
    refused(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES, .side = WISP_SIDE_LEFT}, "opts.precond is none");
    refused(ctx, &l, (wisp_solve_opts){.side = WISP_SIDE_LEFT}, "opts.precond is none");
    /* Without a method damping takes lsmr, and the plan says so, too. */
    refused(ctx, &l, (wisp_solve_opts){.damp = 0.5, .precond = p, .side = WISP_SIDE_LEFT, .adjoint = l.mat},
            "lsmr takes no opts.precond");
    refused(ctx, &l, (wisp_solve_opts){.damp = 0.5, .precond = p, .adjoint = l.mat}, "lsmr takes no opts.precond");
    refused(ctx, &l, (wisp_solve_opts){.damp = -1, .adjoint = l.mat}, "opts.damp is -1");
    refused(ctx, &l, (wisp_solve_opts){.method = WISP_LSMR, .adjoint = l.mat, .side = WISP_SIDE_LEFT},
            "opts.precond is none");
    for (int s = -1; s < 5; s += 4)
        refused(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES, .precond = p, .side = (wisp_side)s}, "unknown");
    /* The first method that has sides; those that have none say none. */
    const outcome left = solve(ctx, &l, &(wisp_solve_opts){.precond = p, .side = WISP_SIDE_LEFT}, "left");
    assert_true(left.status == WISP_OK && left.s.method == WISP_GMRES && left.s.side == WISP_SIDE_LEFT);
    const outcome none = solve(ctx, &l, &(wisp_solve_opts){.precond = p}, "cg");
    assert_true(none.status == WISP_OK && none.s.method == WISP_CG && none.s.side == WISP_SIDE_DEFAULT);
    ref_free(left.x), ref_free(none.x);
    linear_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_dense), cmocka_unit_test(each_makes_its_own_least),
                                       cmocka_unit_test(far_rise),      cmocka_unit_test(misleading),
                                       cmocka_unit_test(options),       cmocka_unit_test(asked_before)};
    return REF_RUN_CTX(tests);
}
