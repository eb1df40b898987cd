/* Krylov-Schur where rounding keeps residuals up: the end comes soon, and the message says what was reached and what
   may be asked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "eig_cases.h"

/* Rates of a Markov chain, whose columns sum up to 0: its steady state has the eigenvalue 0, the largest real part. */
static wisp_mat *chain(wisp_ctx *ctx, int n)
{
    ref_rng r = {(uint64_t)n};
    ref_mat m = ref_new(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++) {
            const double rate = 0.05 + fabs(ref_uniform(&r));
            const int to = (int)(ref_next(&r) % (uint64_t)n);
            if (to == i) continue;
            REF_AT(m, to, i) += rate;
            REF_AT(m, i, i) -= rate;
        }
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    ref_free(m);
    return A;
}

/* A product each of whose numbers has a random error of its own. */
typedef struct {
    wisp_mat *A;
    double error;
    ref_rng r;
} unsteady;

static wisp_status apply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    unsteady *u = arg;
    const int width = wisp_blk_width(y);
    const size_t parts = wisp_type_is_complex(wisp_blk_type(y)) ? 2 : 1;
    const size_t n = parts * (size_t)wisp_blk_nrows(y) * (size_t)width;
    wisp_status status = wisp_spmmv(y, u->A, x, NULL);
    double *v = malloc((n + 1) * sizeof *v);
    if (status == WISP_OK) status = wisp_blk_get(y, WISP_ROW_MAJOR, v, width);
    for (size_t i = 0; i < n; i++) v[i] *= 1 + u->error * ref_uniform(&u->r);
    if (status == WISP_OK) status = wisp_blk_put(y, WISP_ROW_MAJOR, v, width);
    free(v);
    return status;
}

static wisp_mat *operator_of(wisp_ctx *ctx, unsteady *u)
{
    wisp_mat *B;
    const wisp_operator op = {.map = wisp_mat_map(u->A), .type = WISP_D, .apply = apply, .arg = u};
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
    return B;
}

/* A tolerance that such errors do not allow: the message names one that they do, and that is right. */
static void says_what_may_be_asked(void **state)
{
    wisp_ctx *ctx = *state;
    for (int absolute = 0; absolute < 2; absolute++) {
        unsteady u = {chain(ctx, 200), 1e-12, {13}};
        wisp_mat *B = operator_of(ctx, &u);
        char text[WISP_MESSAGE];
        wisp_eigen e;
        wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL, .method = WISP_KRYLOV_SCHUR, .count = 3};
        double *const tolerance = absolute ? &o.tolerance_abs : &o.tolerance;
        *tolerance = 1e-14;
        const wisp_status status = wisp_eig(&e, B, &o);
        wisp_ctx_message(ctx, text, sizeof text);
        print_message("after %d restarts: %s\n", e.rounds, text);
        assert_int_equal(status, WISP_ERR_STAGNATION);
        assert_true(e.complete == 0 && e.rounds < 100);
        wisp_eigen_free(&e);
        const char *const said = strstr(text, absolute ? "opts.tolerance_abs could be " : "opts.tolerance could be ");
        assert_non_null(said);
        *tolerance = strtod(strstr(said, "be ") + 3, NULL);
        assert_true(*tolerance > 1e-14 && *tolerance < 1e-5);
        REF_OK(ctx, wisp_eig(&e, B, &o));
        assert_true(e.complete && e.found >= 3);
        for (int i = 0; i < e.found; i++) assert_true(e.residual[i] <= *tolerance);
        wisp_eigen_free(&e);
        wisp_mat_free(B);
        wisp_mat_free(u.A);
    }
}

typedef struct {
    int most, better_at;
    double least;
} gains;

static int look(void *arg, int round, int found, double wanted, double residual)
{
    gains *g = arg;
    (void)wanted;
    if (found > g->most || (found == g->most && residual < 0.9 * g->least))
        g->most = found, g->least = residual, g->better_at = round;
    return 0;
}

/* Small spaces, whose bounds stay where the errors are: where nothing is gained the search ends soon. */
static void ends(void **state)
{
    enum { TIMES = 6 };
    wisp_ctx *ctx = *state;
    int ended = 0, restarts = 0;
    for (int i = 0; i < TIMES; i++) {
        unsteady u = {chain(ctx, 200), 1e-12, {17 + (uint64_t)i}};
        wisp_mat *B = operator_of(ctx, &u);
        gains g = {.least = INFINITY};
        wisp_eigen e;
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST,
                                 .method = WISP_KRYLOV_SCHUR,
                                 .count = 5,
                                 .search = 8,
                                 .tolerance = 1e-13,
                                 .seed = (uint64_t)i,
                                 .observe = look,
                                 .observe_arg = &g};
        const wisp_status status = wisp_eig(&e, B, &o);
        print_message("status %d, %d pairs after %d restarts, the last gain after %d\n", status, e.found, e.rounds,
                      g.better_at);
        assert_int_not_equal(status, WISP_OK);
        assert_int_equal(e.complete, 0);
        ended += status == WISP_ERR_STAGNATION;
        restarts += e.rounds;
        wisp_eigen_free(&e);
        wisp_mat_free(B);
        wisp_mat_free(u.A);
    }
    assert_int_equal(ended, TIMES);
    assert_true(restarts < 2000 * TIMES); /* as many again to try once more what did not help */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_may_be_asked),
        cmocka_unit_test(ends),
    };
    return REF_RUN_CTX(tests);
}
