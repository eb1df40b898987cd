/* Units: a system times a power of two has a solution with the same digits, in every method and preconditioner, and the
   same verdict. */
#include <string.h>
#include "operator_cases.h"
#include "solve_cases.h"

static ref_mat times(ref_mat m, int exponent)
{
    ref_mat y = ref_new(m.rows, m.cols);
    for (int64_t i = 0; i < m.rows * m.cols; i++)
        y.a[i] = ldexp(creal(m.a[i]), exponent) + I * ldexp(cimag(m.a[i]), exponent);
    return y;
}

/* Each column times a power of two: numbers of at most about 1, which have room on both sides. */
static void normalise(ref_mat m)
{
    for (int64_t j = 0; j < m.cols; j++) {
        double most = 0;
        for (int64_t i = 0; i < m.rows; i++) most = fmax(most, cabs(REF_AT(m, i, j)));
        const double factor = most > 0 ? exp2(-ilogb(most)) : 1;
        for (int64_t i = 0; i < m.rows; i++) REF_AT(m, i, j) *= factor;
    }
}

typedef struct {
    wisp_status status;
    ref_mat x;
    int64_t iterations;
    double residual;
} result;

/* Whether A is given as a function. */
static int as_operator;

/* opts.guess: what x holds everywhere. */
static double guess;

/* (2^a A) x = 2^b b */
static result solve_scaled(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, int a, int b)
{
    result r = {0};
    stored function;
    wisp_solution s;
    wisp_blk *x, *side;
    const ref_mat A = times(l->A, a), B = times(l->b, b);
    wisp_mat *mat = ref_mat_of(ctx, A, l->t.mat);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(mat), l->t.blk, (int)B.cols));
    REF_OK(ctx, wisp_blk_create(&side, ctx, wisp_mat_map(mat), l->t.blk, (int)B.cols));
    ref_put(side, B);
    if (o.guess) REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){guess, 0}));
    wisp_mat *function_mat = as_operator ? operator_of(ctx, &function, mat) : NULL;
    if (o.bounds.method == WISP_BOUNDS_GIVEN)
        o.bounds.given = (wisp_bounds){ldexp(o.bounds.given.center, a), ldexp(o.bounds.given.halfwidth, a), 0};
    r.status = wisp_solve(&s, x, as_operator ? function_mat : mat, side, &o);
    wisp_mat_free(function_mat);
    r.x = ref_get(x);
    r.iterations = s.iterations;
    r.residual = s.residual;
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(side);
    wisp_mat_free(mat);
    ref_free(A), ref_free(B);
    return r;
}

static void same(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, const result *one, int a, int b)
{
    const result other = solve_scaled(ctx, l, o, a, b);
    const ref_mat x = times(other.x, a - b);
    char what[200];
    snprintf(what, sizeof what, "%s, preconditioner %d, %s, %s: A times 2^%d, b times 2^%d", method_name[o.method],
             (int)o.precond, kind_name[l->kind], wisp_type_name(l->t.blk), a, b);
    if (other.status != one->status)
        fail_msg("%s: %s (%s), and else %s", what, wisp_status_string(other.status), message_of(ctx),
                 wisp_status_string(one->status));
    if (other.iterations != one->iterations || !(other.residual == one->residual))
        fail_msg("%s: %d iterations, residual %g, and else %d, %g", what, (int)other.iterations, other.residual,
                 (int)one->iterations, one->residual);
    for (int64_t i = 0; i < x.rows * x.cols; i++)
        if (x.a[i] != one->x.a[i]) fail_msg("%s: number %d of x has other digits", what, (int)i);
    ref_free(x), ref_free(other.x);
}

static void powers_of_two(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    static const kind kinds[] = {DEFINITE, INDEFINITE, GENERAL, OPEN};
    static const int widths[] = {1, 3, 5, 8};
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 4; k++)
            for (int m = WISP_CG; m < METHODS; m = ref_next_method(m))
                for (int p = 0; p < WISP_PRECOND_APPLY; p++) {
                    const int hermitian = kinds[k] != GENERAL, definite = kinds[k] == DEFINITE;
                    if ((m == WISP_CG && !definite) || (m == WISP_MINRES && !hermitian)) continue;
                    if ((p && !definite) || (kinds[k] == OPEN && (m == WISP_BICGSTAB || m == WISP_IDR))) continue;
                    ref_rng r = {(uint64_t)(100 + k)};
                    linear l =
                        random_linear(ctx, &r, kinds[k], (ref_types){types[t], types[t]}, 40, widths[(t + k) % 4]);
                    normalise(l.b);
                    const wisp_solve_opts o = {.method = (wisp_method)m, .precond = (wisp_precond)p, .restart = 40};
                    const result one = solve_scaled(ctx, &l, o, 0, 0);
                    const int far = is_single(types[t]) ? 90 : 900, most = is_single(types[t]) ? 110 : 1000;
                    same(ctx, &l, o, &one, 0, far);
                    same(ctx, &l, o, &one, 0, -far);
                    same(ctx, &l, o, &one, far, 0);
                    same(ctx, &l, o, &one, -far, 0);
                    same(ctx, &l, o, &one, most, most);
                    same(ctx, &l, o, &one, -far, -far);
                    ref_free(one.x);
                    linear_free(&l);
                }
}

/* b of the least numbers that there are, whose squares are 0: x keeps its digits where its type has them, and is
   refused where not. */
static void least_numbers(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < METHODS; m = ref_next_method(m)) {
            ref_rng r = {(uint64_t)(7 + t)};
            linear l = random_linear(ctx, &r, DEFINITE, (ref_types){types[t], types[t]}, 40, 3);
            for (int64_t i = 0; i < l.b.rows * l.b.cols; i++) l.b.a[i] = (double)ref_below(&r, 9) - 4;
            const wisp_solve_opts o = {.method = (wisp_method)m, .restart = 40};
            const result one = solve_scaled(ctx, &l, o, 0, 0);
            const int least = is_single(types[t]) ? -149 : -1074;
            assert_int_equal(one.status, WISP_OK);
            same(ctx, &l, o, &one, -80, least);
            const result none = solve_scaled(ctx, &l, o, 20, least);
            if (none.status != WISP_ERR_NUMERIC || !strstr(message_of(ctx), "too small for"))
                fail_msg("%s: %s: x of no digits: %s (%s)", method_name[m], wisp_type_name(types[t]),
                         wisp_status_string(none.status), message_of(ctx));
            ref_free(one.x), ref_free(none.x);
            linear_free(&l);
        }
}

/* The same of a function, whose size has to be found. (MINRES takes a root of <r, M^-1 r>, whose last digit shows an
   odd power of two.) */
static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    static const kind kinds[] = {DEFINITE, INDEFINITE, GENERAL};
    as_operator = 1;
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 3; k++)
            for (int m = WISP_CG; m < METHODS; m = ref_next_method(m))
                for (int p = 0; p < 2; p++) {
                    const int hermitian = kinds[k] != GENERAL, definite = kinds[k] == DEFINITE;
                    if ((m == WISP_CG && !definite) || (m == WISP_MINRES && !hermitian) ||
                        (p && (!definite || m == WISP_MINRES)))
                        continue;
                    ref_rng r = {(uint64_t)(200 + k)};
                    linear l = random_linear(ctx, &r, kinds[k], (ref_types){types[t], types[t]}, 40, 1 + k);
                    normalise(l.b);
                    const wisp_solve_opts o = {.method = (wisp_method)m,
                                               .precond = p ? WISP_CHEBYSHEV : WISP_PRECOND_NONE,
                                               .bounds = {.method = p ? WISP_BOUNDS_GIVEN : WISP_BOUNDS_LANCZOS,
                                                          .given = {p ? 1 : 0, p ? 0.99 : 0, 0}},
                                               .restart = 40};
                    const result one = solve_scaled(ctx, &l, o, 0, 0);
                    const int far = is_single(types[t]) ? 90 : 900;
                    same(ctx, &l, o, &one, 0, far);
                    same(ctx, &l, o, &one, 0, -far);
                    same(ctx, &l, o, &one, far, 0);
                    same(ctx, &l, o, &one, -far, 0);
                    same(ctx, &l, o, &one, far, far);
                    same(ctx, &l, o, &one, -far, -far);
                    ref_free(one.x);
                    linear_free(&l);
                }
    as_operator = 0;
}

/* One whose numbers leave the type is refused in one line. */
static void operator_too_large(void **state)
{
    wisp_ctx *ctx = *state;
    as_operator = 1;
    for (int m = 0; m < METHODS; m = ref_next_method(m)) {
        ref_mat A = ref_new(4, 4), b = ref_new(4, 1);
        for (int i = 0; i < 4; i++) {
            REF_AT(b, i, 0) = 1;
            for (int j = 0; j < 4; j++) REF_AT(A, i, j) = 0x1p1023;
        }
        linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, b);
        const result r = solve_scaled(ctx, &l, (wisp_solve_opts){.method = (wisp_method)m}, 0, 0);
        if (r.status != WISP_ERR_NUMERIC || !strstr(message_of(ctx), "scale the operator"))
            fail_msg("%s: %s (%s)", method_name[m], wisp_status_string(r.status), message_of(ctx));
        ref_free(r.x);
        linear_free(&l);
    }
    as_operator = 0;
}

/* A guess beside which b is nothing, by rounding, is left: all is as from 0. Others are taken. */
static void far_guesses(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    for (int t = 0; t < 4; t++)
        for (int m = WISP_CG; m < METHODS; m = ref_next_method(m)) {
            ref_rng r = {(uint64_t)(200 + t)};
            linear l = random_linear(ctx, &r, DEFINITE, (ref_types){types[t], types[t]}, 40, 1 + t);
            normalise(l.b);
            const bool single = is_single(types[t]);
            const int far[] = {single ? 40 : 70, single ? 100 : 1000}, down = single ? -100 : -1000;
            const wisp_solve_opts o = {.method = (wisp_method)m, .guess = 1, .restart = 40};
            for (int b = 0; b < 2; b++) {
                guess = 0;
                const result one = solve_scaled(ctx, &l, o, 0, b ? down : 0);
                for (int i = 0; i < 2; i++) {
                    guess = ldexp(1, far[i] + (b && i == 0 ? down : 0));
                    const result other = solve_scaled(ctx, &l, o, 0, b ? down : 0);
                    if (other.status != WISP_OK || one.status != WISP_OK || other.iterations != one.iterations ||
                        memcmp(other.x.a, one.x.a, (size_t)(one.x.rows * one.x.cols) * sizeof *one.x.a) != 0)
                        fail_msg("%s, %s, guess %g: %s (%s), %d iterations; from 0 %s, %d", method_name[m],
                                 wisp_type_name(types[t]), guess, wisp_status_string(other.status), message_of(ctx),
                                 (int)other.iterations, wisp_status_string(one.status), (int)one.iterations);
                    ref_free(other.x);
                }
                guess = ldexp(1, down);
                const result near = solve_scaled(ctx, &l, o, 0, b ? down : 0);
                assert_int_equal(near.status, WISP_OK);
                ref_free(near.x), ref_free(one.x);
            }
            linear_free(&l);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(far_guesses), cmocka_unit_test(powers_of_two),
                                       cmocka_unit_test(least_numbers), cmocka_unit_test(operators),
                                       cmocka_unit_test(operator_too_large)};
    return REF_RUN_CTX(tests);
}
