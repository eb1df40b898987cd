/* Eigenpairs of a matrix in units of any size. */
#include "eig_cases.h"

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
    enum { N = 130 };
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

/* ---- a power of two changes nothing but exponents ---------------------------------------------------------- */

enum { MANY = 120 };

/* Sparse and random; for chebfd and lanczos Hermitian. No number is so small that the scales make it subnormal. */
static ref_mat sparse(ref_rng *r, bool hermitian, wisp_type type)
{
    ref_mat m = ref_new(MANY, MANY);
    for (int64_t i = 0; i < MANY; i++) {
        REF_AT(m, i, i) = 3 * ref_uniform(r);
        for (int l = 0; l < 4; l++) {
            const int64_t j = ref_below(r, MANY);
            const cplx v = ref_value(r, type);
            if (j == i) continue;
            REF_AT(m, i, j) = v;
            if (hermitian) REF_AT(m, j, i) = conj(v);
        }
    }
    ref_round(m, type);
    for (int64_t i = 0; i < MANY * MANY; i++)
        m.a[i] =
            (fabs(creal(m.a[i])) < 1e-5 ? 0 : creal(m.a[i])) + I * (fabs(cimag(m.a[i])) < 1e-5 ? 0 : cimag(m.a[i]));
    return m;
}

/* Four diagonals, with few values outside of the first: compressed, which nobody has asked for. */
static ref_mat diagonals(ref_rng *r)
{
    enum { ROWS = 400, VALUES = 40 };
    static const int off[] = {-1, 1, 7};
    double value[VALUES];
    ref_mat m = ref_new(ROWS, ROWS);
    for (int i = 0; i < VALUES; i++) value[i] = ref_uniform(r);
    for (int64_t i = 0; i < ROWS; i++) {
        REF_AT(m, i, i) = 3 * ref_uniform(r);
        for (int k = 0; k < 3; k++)
            if (i + off[k] >= 0 && i + off[k] < ROWS) REF_AT(m, i, i + off[k]) = value[ref_below(r, VALUES)];
    }
    return m;
}

typedef struct {
    wisp_eig_opts o;
    bool hermitian;
    const char *name;
} path;

/* The result for 2^by m, with its numbers over 2^by. */
static void digits_at(wisp_ctx *ctx, ref_mat m, int by, wisp_type type, const path *p, wisp_eigen *e)
{
    ref_mat scaled = ref_new(m.rows, m.cols);
    wisp_eig_opts o = p->o;
    for (int64_t i = 0; i < m.rows * m.cols; i++) scaled.a[i] = ldexp(creal(m.a[i]), by) + I * ldexp(cimag(m.a[i]), by);
    wisp_mat *A = ref_mat_of(ctx, scaled, type);
    o.low = ldexp(o.low, by), o.high = ldexp(o.high, by);
    const wisp_status status = wisp_eig(e, A, &o);
    if (status != WISP_OK && status != WISP_ERR_INCOMPLETE) fail_msg("%s at 2^%d: %s", p->name, by, message_of(ctx));
    for (int i = 0; i < e->found; i++)
        e->value[i] = (wisp_scalar){ldexp(e->value[i].re, -by), ldexp(e->value[i].im, -by)};
    e->bounds.halfwidth = ldexp(e->bounds.halfwidth, -by);
    wisp_mat_free(A);
    ref_free(scaled);
}

static void check_same(const wisp_eigen *e, const wisp_eigen *want, const path *p, wisp_type type, int by)
{
    bool same = e->found == want->found && e->method == want->method && e->filter_type == want->filter_type &&
                e->products == want->products && e->rounds == want->rounds && e->degree == want->degree &&
                e->bounds.halfwidth == want->bounds.halfwidth;
    for (int i = 0; same && i < e->found; i++)
        same = e->value[i].re == want->value[i].re && e->value[i].im == want->value[i].im &&
               e->residual[i] == want->residual[i];
    if (!same)
        fail_msg("%s, %s, 2^%d: %d found with %lld products, %.17g first; not %d, %lld, %.17g", p->name,
                 wisp_type_name(type), by, e->found, (long long)e->products, e->value[0].re, want->found,
                 (long long)want->products, want->value[0].re);
}

static void same_digits(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    static const int far[] = {-900, -251, -200, -81, -79, 1, 79, 101, 249, 900}, near[] = {-100, -29, -27, 1, 29, 100};
    const path paths[] = {
        {{.which = WISP_EIG_INTERVAL, .method = WISP_CHEBFD, .low = -0.2, .high = 0.2}, true, "chebfd"},
        {{.which = WISP_EIG_INTERVAL, .method = WISP_CHEBFD, .low = -0.2, .high = 0.2, .filter_type = WISP_S},
         true,
         "chebfd single"},
        {{.which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS, .count = 3}, true, "lanczos"},
        {{.which = WISP_EIG_LARGEST, .method = WISP_KRYLOV_SCHUR, .count = 3}, false, "krylov-schur"},
        {{.which = WISP_EIG_LARGEST_REAL, .method = WISP_KRYLOV_SCHUR, .count = 3}, false, "krylov-schur real"},
        {{.which = WISP_EIG_LARGEST, .method = WISP_EIG_DENSE, .count = 3}, false, "dense of any"},
        {{.which = WISP_EIG_SMALLEST, .method = WISP_EIG_DENSE, .count = 3}, true, "dense"}};
    for (int t = 0; t < 4; t++)
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            const bool single = t >= 2;
            const int *by = single ? near : far, n = single ? 6 : 10;
            if (single && paths[i].o.filter_type) continue;
            ref_rng r = {7};
            ref_mat m = sparse(&r, paths[i].hermitian, types[t]);
            wisp_eigen want, e;
            digits_at(ctx, m, 0, types[t], &paths[i], &want);
            assert_true(want.found > 0);
            for (int j = 0; j < n; j += ref_few() ? 3 : 1) {
                digits_at(ctx, m, by[j], types[t], &paths[i], &e);
                check_same(&e, &want, &paths[i], types[t], by[j]);
                wisp_eigen_free(&e);
            }
            wisp_eigen_free(&want);
            ref_free(m);
        }
}

/* What a matrix takes is chosen as it was: a copy of one that was compressed unasked is no other. */
static void same_storage(void **state)
{
    wisp_ctx *ctx = *state;
    const path p = {{.which = WISP_EIG_LARGEST, .method = WISP_KRYLOV_SCHUR, .count = 3}, false, "krylov-schur"};
    ref_rng r = {7};
    ref_mat m = diagonals(&r);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_mat_info info;
    wisp_eigen want, e;
    wisp_mat_get_info(A, &info);
    if (wisp_ctx_processes(ctx) == 1) assert_int_equal(info.format, WISP_FORMAT_COMPRESSED);
    assert_int_equal(info.asked_format, WISP_FORMAT_DEFAULT);
    digits_at(ctx, m, 0, WISP_D, &p, &want);
    digits_at(ctx, m, 100, WISP_D, &p, &e);
    check_same(&e, &want, &p, WISP_D, 100);
    wisp_eigen_free(&e);
    wisp_eigen_free(&want);
    wisp_mat_free(A);
    ref_free(m);
}

/* ---- numbers that are none ---------------------------------------------------------------------------------- */

/* A value 0 beside one of this size. */
static void zero_at(wisp_ctx *ctx, int by)
{
    ref_mat m = ref_new(2, 2);
    REF_AT(m, 0, 0) = ldexp(1, by);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_eigen e;
    REF_OK(ctx, wisp_eig(&e, A, &(wisp_eig_opts){.which = WISP_EIG_SMALLEST, .count = 2}));
    assert_true(e.complete && e.found == 2 && e.value[0].re == 0 && e.value[1].re == ldexp(1, by));
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    ref_free(m);
}

/* Entries that are numbers, with a value that is above them all, and none; of such units, and small ones, 0 is one. */
static void too_large(void **state)
{
    wisp_ctx *ctx = *state;
    enum { ROWS = 3 };
    const double most = ldexp(1.75, 1023);
    ref_mat m = ref_new(ROWS, ROWS);
    REF_AT(m, 0, 0) = REF_AT(m, 0, 1) = REF_AT(m, 1, 0) = REF_AT(m, 1, 1) = most;
    REF_AT(m, 2, 2) = most / 4;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_eig_opts o = {.which = WISP_EIG_LARGEST};
    wisp_eigen e;
    REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_NUMERIC, "a value is of about 2^1024, too large");
    assert_true(e.found == 0 && !e.complete && !e.vectors && e.proof == WISP_PROOF_NONE);
    wisp_eigen_free(&e);
    o = (wisp_eig_opts){.which = WISP_EIG_NEAREST, .target = most / 5, .any = 1};
    REF_OK(ctx, wisp_eig(&e, A, &o));
    assert_true(e.found == 1 && e.value[0].re == most / 4);
    wisp_eigen_free(&e);
    o.target = 0;
    REF_OK(ctx, wisp_eig(&e, A, &o));
    assert_true(e.found == 1 && fabs(e.value[0].re) < 1e-10 * most);
    wisp_eigen_free(&e);
    zero_at(ctx, 400);
    zero_at(ctx, -400);
    wisp_mat_free(A);
    ref_free(m);
}

static int found_some(void *arg, int round, int found, double wanted, double residual)
{
    (void)arg, (void)round, (void)wanted, (void)residual;
    return found > 0;
}

/* A call that is cancelled stays so, whatever has converged until then. */
static void too_large_and_cancelled(void **state)
{
    wisp_ctx *ctx = *state;
    enum { ROWS = 200 };
    ref_mat m = ref_new(ROWS, ROWS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) REF_AT(m, i, j) = ldexp(i == j ? 1 + i / 1000.0 : 1, 1020);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    const wisp_eig_method method[] = {WISP_LANCZOS, WISP_KRYLOV_SCHUR};
    for (int i = 0; i < 2; i++) {
        wisp_eig_opts o = {.which = WISP_EIG_LARGEST, .count = 8, .method = method[i], .search = 30, .block = 1};
        wisp_eigen e;
        REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_NUMERIC, "a value is of about 2^1027, too large");
        wisp_eigen_free(&e);
        o.observe = found_some;
        REF_FAILS(ctx, wisp_eig(&e, A, &o), WISP_ERR_CANCELLED, "ended by opts.observe");
        assert_true(e.found == 0 && !e.value && !e.vectors && e.proof == WISP_PROOF_NONE);
        wisp_eigen_free(&e);
    }
    wisp_mat_free(A);
    ref_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(units), cmocka_unit_test(same_digits),
                                       cmocka_unit_test(same_storage), cmocka_unit_test(too_large),
                                       cmocka_unit_test(too_large_and_cancelled)};
    return REF_RUN_CTX(tests);
}
