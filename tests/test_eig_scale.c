/* Eigenpairs of a matrix in units of any size. */
#include "eig_cases.h"

static int setup(void **state)
{
    *state = ref_isa_ctx(NULL, 2);
    return 0;
}

static int teardown(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

/* Of A times a power of two, stored or by its products: eigenvalues times that, and the rest as it was. */
static void ask_units(wisp_ctx *ctx, const wisp_mat *A, int by, const double *e, int64_t n, wisp_eig_opts o,
                      double blur)
{
    wisp_eigen v;
    wisp_eig_choice cost;
    wisp_plan plan;
    const demand d = demand_of(&o, e, n, blur);
    const double low = o.low, high = o.high;
    o.low = ldexp(low, by), o.high = ldexp(high, by), o.tolerance_abs = ldexp(o.tolerance_abs, by);
    REF_OK(ctx, wisp_eig_plan(&plan, &cost, A, &o));
    REF_OK(ctx, wisp_eig(&v, A, &o));
    assert_true(v.complete);
    for (int i = 0; i < v.found; i++) {
        v.value[i].re = ldexp(v.value[i].re, -by);
        assert_true(v.residual[i] <= (o.tolerance_abs > 0 ? o.tolerance_abs : o.tolerance));
    }
    if (!matches(&v, e, &d, blur)) fail_msg("2^%d, question %d: %d found", by, o.which, v.found);
    const double halfwidth = ldexp(v.bounds.halfwidth, -by);
    assert_true(halfwidth > (e[n - 1] - e[0]) / 2 && halfwidth < e[n - 1] - e[0]);
    if (v.method == WISP_CHEBFD) {
        assert_true(v.low == o.low && v.high == o.high && cost.low == o.low && cost.high == o.high);
        assert_true(v.moments->bounds.halfwidth == v.bounds.halfwidth);
        double p[2];
        wisp_filter_eval(&v.filter, 2, (double[]){ldexp(0.5 * (low + high), by), ldexp(low - 0.3, by)}, p);
        if (abs(by) < 400)
            assert_true(fabs(p[0]) > 10 && fabs(p[1]) < 1.1); /* else its scale, a square, has no number */
    }
    wisp_eigen_free(&v);
}

static void units(void **state)
{
    enum { N = 250 };
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    /* Few are two of them, of 2^-110 in single precision and of 2^1000, and stored ones and products in turn.
     */
    for (int c = ref_few() ? 2 : 0; c < 8; c += ref_few() ? 3 : 1) {
        const wisp_type type = types[c % 4];
        const bool single = type == WISP_S || type == WISP_C;
        const int by = (c < 4 ? -1 : 1) * (single ? 110 : c % 4 ? 1000 : 370);
        ref_rng r = {(uint64_t)c + 1};
        double *e = spectrum_of(&r, SPREAD, N);
        ref_mat m = hermitian_of(&r, e, N, type);
        for (int64_t i = 0; i < N * N; i++) m.a[i] = ldexp(creal(m.a[i]), by) + I * ldexp(cimag(m.a[i]), by);
        wisp_mat *A = ref_mat_of(ctx, m, type), *B;
        const wisp_operator op = {.map = wisp_mat_map(A), .type = type, .apply = apply_stored, .arg = A};
        REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
        const double tolerance = single ? 1e-4 : 1e-8, blur = single ? 1e-3 : 1e-6;
        const wisp_eig_opts inner = {.which = WISP_EIG_INTERVAL, .low = -0.1, .high = 0.05, .tolerance = tolerance},
                            ends = {.count = 3, .tolerance_abs = tolerance};
        for (int method = WISP_CHEBFD; method <= WISP_EIG_DENSE; method++) {
            if (method == WISP_KRYLOV_SCHUR) continue;
            wisp_eig_opts o = method == WISP_LANCZOS ? ends : inner;
            o.method = (wisp_eig_method)method;
            if (!ref_few() || (c + method) % 2) ask_units(ctx, A, by, e, N, o, blur);
            if (!ref_few() || (c + method) % 2 == 0) ask_units(ctx, B, by, e, N, o, blur);
        }
        wisp_mat_free(B);
        wisp_mat_free(A);
        ref_free(m);
        free(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(units)};
    return REF_RUN_WITH(tests, setup, teardown);
}
