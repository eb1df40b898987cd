/* NEAREST by default: factors or a filter, by what they take; either gives the same pairs. */
#include "eig_cases.h"
#include <string.h>

static const wisp_eig_opts nearest = {.which = WISP_EIG_NEAREST, .count = 6, .target = 0.1, .tolerance = 1e-3};

static void same_values(const wisp_eigen *a, const wisp_eigen *b)
{
    assert_int_equal(a->found, b->found);
    for (int i = 0; i < a->found; i++) assert_true(fabs(a->value[i].re - b->value[i].re) < 1e-2);
}

/* A long ladder with disorder, whose factors are hardly larger than it is: its values, its plan, and what asks for a
   filter still. */
static void thin(void **state)
{
    wisp_mat *A;
    wisp_eigen v, w;
    wisp_plan plan;
    wisp_eig_choice c;
    if (!ref_has_factors()) return;
    REF_OK(*state, wisp_mat_open(&A, *state, "square:nx=1010,ny=3,disorder=2,periodic=none", NULL));
    REF_OK(*state, wisp_eig(&v, A, &nearest));
    assert_true(v.method == WISP_EIG_INVERT && v.complete && v.proof == WISP_PROOF_INERTIA && v.factored >= 3);
    assert_true(v.moments == NULL && v.low == 0 && v.high == 0 && isnan(v.expected) && v.row_bytes == 0);
    REF_OK(*state, wisp_eig_plan(&plan, &c, A, &nearest));
    assert_int_equal(c.method, WISP_EIG_INVERT);
    assert_true(c.invert_work > 0 && c.invert_work < c.filter_work && c.factor_bytes > 0);
    assert_true(plan.bytes_most > c.factor_bytes);
    for (int i = 0; i < 2; i++) {
        wisp_eig_opts o = nearest;
        if (i == 0) o.row_bytes = 64;
        if (i == 1) o.bytes = c.factor_bytes / 2;
        REF_OK(*state, wisp_eig(&w, A, &o));
        assert_true(w.method == WISP_CHEBFD && w.complete && w.proof == WISP_PROOF_CHECKS && w.factored == 0);
        same_values(&w, &v);
        wisp_eigen_free(&w);
    }
    wisp_eigen_free(&v);
    wisp_mat_free(A);
}

/* Three dimensions and four numbers a site, so that factors are nearly full; and an operator has none. */
static void full(void **state)
{
    wisp_mat *A, *B;
    wisp_eig_choice c;
    wisp_plan plan;
    if (!ref_has_factors()) return;
    REF_OK(*state, wisp_mat_open(&A, *state, "topi:nx=8,ny=8,nz=12", NULL));
    wisp_eig_opts o = nearest;
    o.count = 9;
    REF_OK(*state, wisp_eig_plan(&plan, &c, A, &o));
    assert_true(c.method == WISP_CHEBFD && c.filter_work > 0 && c.filter_work <= c.invert_work);
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_Z, .apply = apply_stored, .arg = A};
    REF_OK(*state, wisp_mat_from_apply(&B, *state, &op));
    REF_OK(*state, wisp_eig_plan(&plan, &c, B, &o));
    assert_true(c.method != WISP_EIG_INVERT && isnan(c.invert_work));
    wisp_mat_free(B);
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(thin), cmocka_unit_test(full)};
    return REF_RUN_CTX(tests);
}
