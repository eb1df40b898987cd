/* Infinities that A or M^-1 make in a column on the way: x is not lost by that. */
#include "solve_cases.h"

/* A x, or x where that is NULL, with an infinite column: of one product, or of all from there on of several columns. */
typedef struct {
    const wisp_mat *A;
    int left; /* products before it */
    int stays;
} overflowing;

static wisp_status overflows(void *arg, wisp_blk *y, const wisp_blk *x)
{
    overflowing *o = arg;
    wisp_blk *column = NULL;
    wisp_status status = o->A ? wisp_spmmv(y, o->A, x, NULL) : wisp_copy(y, x);
    o->left--;
    if (status == WISP_OK && (o->stays ? o->left < 0 && wisp_blk_width(y) > 1 : o->left == -1))
        status = wisp_blk_cols(&column, y, wisp_blk_width(y) / 2, 1);
    if (column) status = wisp_blk_fill(column, (wisp_scalar){INFINITY, 0});
    wisp_blk_free(column);
    return status;
}

/* x is not lost by an infinity that M^-1, A, or a polynomial of A makes: the method goes on from the best one. */
static void overflow_once(void **state)
{
    enum { AT = 60, WAYS = 4, RUNS = AT * WAYS * 2 };
    static const wisp_precond precond[WAYS] = {WISP_PRECOND_APPLY, WISP_PRECOND_NONE, WISP_CHEBYSHEV,
                                               WISP_PRECOND_APPLY};
    wisp_ctx *ctx = *state;
    linear l = random_linear(ctx, &(ref_rng){22}, DEFINITE, (ref_types){WISP_D, WISP_D}, 40, 3);
    int met = 0;
    for (int i = 0; i < RUNS * (METHODS - 1); i++) {
        const int m = 1 + i / RUNS, at = i % AT, way = i / AT % WAYS, classical = i / AT / WAYS % 2;
        overflowing f = {.A = way % 3 ? l.mat : NULL, .left = at};
        const wisp_operator op = {.map = wisp_mat_map(l.mat), .type = WISP_D, .apply = overflows, .arg = &f};
        const wisp_solve_opts o = {.method = (wisp_method)m,
                                   .variant = classical ? WISP_CLASSICAL : WISP_VARIANT_DEFAULT,
                                   .restart = 6,
                                   .precond = precond[way],
                                   .side = way == 3 ? WISP_SIDE_LEFT : WISP_SIDE_DEFAULT,
                                   .degree = 3,
                                   .bounds.method = WISP_BOUNDS_GIVEN,
                                   .bounds.given = {.center = 0.55, .halfwidth = 0.54},
                                   .adjoint = m == WISP_LSMR ? l.mat : NULL,
                                   .apply = overflows,
                                   .apply_arg = &f};
        wisp_mat *A = NULL;
        char what[80];
        if (m == WISP_LSMR && (way != 1 || classical)) continue;
        if ((way == 3 && !has_sides((wisp_method)m)) || (ref_few() && at % 7)) continue;
        if (way % 3) REF_OK(ctx, wisp_mat_from_apply(&A, ctx, &op));
        snprintf(what, sizeof what, "%s%s, way %d, product %d", method_name[m], classical ? ", classical" : "", way,
                 at);
        const outcome out = solve_by(ctx, &l, A, &o, what);
        const wisp_status wanted = way % 3 && at == 0 ? WISP_ERR_NUMERIC : WISP_OK; /* that which finds its size */
        if (out.status != wanted) fail_msg("%s: %s, residual %g", what, wisp_status_string(out.status), out.s.residual);
        met += f.left < 0;
        ref_free(out.x);
        wisp_mat_free(A);
    }
    assert_true(met > RUNS * (METHODS - 2) / (ref_few() ? 14 : 2));
    linear_free(&l);
}

/* The others go on, and this one ends with what it has come to before. */
static void overflow_for_good(void **state)
{
    wisp_ctx *ctx = *state;
    linear l = random_linear(ctx, &(ref_rng){22}, DEFINITE, (ref_types){WISP_D, WISP_D}, 40, 3);
    int broken = 0;
    for (int m = 1; m < METHODS; m = ref_next_method(m)) {
        for (int at = 0; at < 30; at += ref_few() ? 7 : 1) {
            overflowing f = {.left = at, .stays = 1};
            const wisp_solve_opts o = {.method = (wisp_method)m,
                                       .restart = 6,
                                       .tolerance = 1e-10,
                                       .precond = WISP_PRECOND_APPLY,
                                       .apply = overflows,
                                       .apply_arg = &f};
            const outcome out = solve(ctx, &l, &o, method_name[m]);
            const double most = at < 7 ? 1 : at < 14 ? 0.1 : 0.01; /* cycles of GMRES */
            if (out.of[0] != WISP_OK || out.of[2] != WISP_OK || !(out.residual[1] <= most) ||
                (out.of[1] != WISP_OK && out.of[1] != WISP_ERR_BREAKDOWN))
                fail_msg("%s, product %d: %s, %s, %s, residual %g", method_name[m], at, wisp_status_string(out.of[0]),
                         wisp_status_string(out.of[1]), wisp_status_string(out.of[2]), out.residual[1]);
            broken += out.of[1] != WISP_OK;
            ref_free(out.x);
        }
    }
    assert_true(broken > (ref_few() ? 6 : 40));
    linear_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(overflow_once), cmocka_unit_test(overflow_for_good)};
    return REF_RUN_CTX(tests);
}
