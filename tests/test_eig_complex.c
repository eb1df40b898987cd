/* Pairs nearest to a complex number, of random matrices whose values are known. */
#include "invert_cases.h"

/* Triangular but for blocks (a b; -b a) of a real type, with rows and columns in random order; w[n] are its values. */
static ref_mat random_matrix(ref_rng *r, int64_t n, wisp_type type, cplx *w)
{
    const bool is_complex = wisp_type_is_complex(type);
    ref_mat t = ref_new(n, n), m = ref_new(n, n);
    int64_t *place = malloc((size_t)n * sizeof *place);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            if (ref_below(r, 4) == 0)
                REF_AT(t, i, j) = 0.2 * ref_uniform(r) + (is_complex ? 0.2 * ref_uniform(r) * I : 0);
    for (int64_t i = 0; i < n; i++) {
        const double a = ref_uniform(r), b = ref_uniform(r);
        const bool pair = !is_complex && i + 1 < n && ref_below(r, 3) > 0;
        REF_AT(t, i, i) = w[i] = is_complex ? a + b * I : a;
        if (!pair) continue;
        REF_AT(t, i + 1, i + 1) = a, REF_AT(t, i, i + 1) = b, REF_AT(t, i + 1, i) = -b;
        w[i] = a + b * I, w[i + 1] = a - b * I;
        i++;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = ref_below(r, i + 1);
        place[i] = place[j], place[j] = i;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) REF_AT(m, place[i], place[j]) = REF_AT(t, i, j);
    ref_round(m, type);
    ref_free(t);
    free(place);
    return m;
}

static double distance(wisp_scalar v, cplx z) { return cabs(v.re + v.im * I - z); }

/* The values nearest to z, each one of w[n]; the distances are those of the first ones. */
static void check_values(const wisp_eigen *v, int count, int64_t n, const cplx *w, cplx z, double error,
                         const char *what)
{
    double *far = malloc((size_t)n * sizeof *far), *found = malloc((size_t)v->found * sizeof *found + 1);
    for (int64_t i = 0; i < n; i++) far[i] = cabs(w[i] - z);
    for (int i = 0; i < v->found; i++) found[i] = distance(v->value[i], z);
    qsort(far, (size_t)n, sizeof *far, by_size);
    qsort(found, (size_t)v->found, sizeof *found, by_size);
    if (v->found < count) fail_msg("%s: %d found", what, v->found);
    for (int i = 0; i < count; i++)
        if (!(fabs(found[i] - far[i]) <= error)) fail_msg("%s: %.10g, and not %.10g away", what, found[i], far[i]);
    for (int i = 0; i < v->found; i++) {
        double least = INFINITY;
        for (int64_t j = 0; j < n; j++) least = fmin(least, distance(v->value[i], w[j]));
        if (!(least <= error)) fail_msg("%s: %g%+gi is no value", what, v->value[i].re, v->value[i].im);
    }
    free(far), free(found);
}

typedef enum { BY_DENSE, BY_FACTORS, BY_FUNCTION, OPERATOR_DENSE, OPERATOR_INVERT, WAYS } way;

static void random_one(wisp_ctx *ctx, uint64_t seed)
{
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    ref_rng r = {seed};
    const wisp_type type = types[ref_below(&r, 4)];
    const bool single = type == WISP_S || type == WISP_C;
    const way how = (way)(seed % WAYS);
    const bool dense = how == BY_DENSE || how == OPERATOR_DENSE,
               is_operator = how == OPERATOR_DENSE || how == OPERATOR_INVERT;
    const int64_t n = dense ? 8 + ref_below(&r, 54) : 141 + ref_below(&r, 60);
    const double by = seed % 3 == 0 ? ldexp(1, single ? 60 : 400) : 1; /* in other units */
    cplx w[201];
    ref_mat m = random_matrix(&r, n, type, w);
    const cplx z = ref_uniform(&r) + (ref_uniform(&r) + 1.1) * I;
    by_test t = {.inverse = inverse_of(m, z), .scale = by};
    ref_mat scaled = ref_new(n, n);
    for (int64_t i = 0; i < n * n; i++) scaled.a[i] = by * m.a[i];
    wisp_mat *A = ref_mat_of(ctx, scaled, type), *B;
    const wisp_operator op = {.map = wisp_mat_map(A), .type = type, .apply = apply_stored, .arg = A};
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
    wisp_eig_opts o = {.which = WISP_EIG_NEAREST,
                       .method = dense ? WISP_EIG_DENSE : WISP_EIG_INVERT,
                       .count = 1 + (int)ref_below(&r, 6),
                       .target = by * creal(z),
                       .target_im = by * cimag(z),
                       .seed = seed};
    if (seed % 4 == 0) o.method = WISP_EIG_DEFAULT; /* few rows: all by LAPACK, unless there is an inverse */
    if (how == BY_FUNCTION || how == OPERATOR_INVERT) o.invert = solve, o.invert_arg = &t;
    char what[100];
    snprintf(what, sizeof what, "seed %d: %d rows, %s, %d nearest to %g%+gi", (int)seed, (int)n, wisp_type_name(type),
             o.count, creal(z), cimag(z));
    wisp_eigen v;
    const wisp_status status = how == BY_FACTORS && !ref_has_factors() && o.method
                                   ? WISP_ERR_UNSUPPORTED
                                   : wisp_eig(&v, is_operator ? B : A, &o);
    if (status != WISP_ERR_UNSUPPORTED) {
        const bool all = v.method == WISP_EIG_DENSE;
        if (status != (all ? WISP_OK : WISP_ERR_INCOMPLETE)) fail_msg("%s: %s", what, message_of(ctx));
        assert_int_equal(v.complete, all);
        assert_int_equal(v.proof, all ? WISP_PROOF_ALL : WISP_PROOF_NONE);
        assert_int_equal(wisp_blk_type(v.vectors), single ? WISP_C : WISP_Z);
        assert_true(all || o.invert == NULL || t.solved > 0);
        for (int i = 0; i < v.found; i++) v.value[i].re /= by, v.value[i].im /= by;
        assert_pairs(&v, m, single ? 4e-4 : 4e-8, single ? 1.2e-7 : 2.2e-16, what);
        check_values(&v, o.count, n, w, z, single ? 4e-3 : 1e-6, what);
        wisp_eigen_free(&v);
    }
    wisp_mat_free(B);
    wisp_mat_free(A);
    ref_free(scaled);
    ref_free(t.inverse);
    ref_free(m);
}

static void random_ones(void **state)
{
    for (uint64_t seed = 1; seed <= (ref_few() ? 10 : 80); seed++) random_one(*state, seed);
}

/* Conjugate pairs, of which those with positive imaginary parts are nearer, and are given alone. */
static void one_of_each_pair(void **state)
{
    enum { N = 170, K = 4 };
    ref_mat m = ref_new(N, N);
    cplx w[N];
    for (int64_t i = 0; i < N; i += 2) {
        const double a = -1 + 2.0 * (double)i / N, b = 0.2 + 0.001 * (double)i;
        REF_AT(m, i, i) = REF_AT(m, i + 1, i + 1) = a, REF_AT(m, i, i + 1) = b, REF_AT(m, i + 1, i) = -b;
        w[i] = a + b * I, w[i + 1] = a - b * I;
    }
    wisp_mat *A = ref_mat_of(*state, m, WISP_D);
    for (int how = 0; how < 4; how++) {
        const double sign = how % 2 ? -1 : 1;
        const wisp_eig_opts o = {.which = WISP_EIG_NEAREST,
                                 .method = how < 2 ? WISP_EIG_DENSE : WISP_EIG_INVERT,
                                 .count = K,
                                 .target = 0.3,
                                 .target_im = 0.2 * sign};
        if (how >= 2 && !ref_has_factors()) continue;
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, A, &o);
        assert_int_equal(status, how < 2 ? WISP_OK : WISP_ERR_INCOMPLETE);
        assert_int_equal(v.found, K);
        check_values(&v, K, N, w, o.target + o.target_im * I, 1e-6, "pairs");
        for (int i = 0; i < K; i++) assert_true(sign * v.value[i].im > 0);
        wisp_eigen_free(&v);
    }
    wisp_mat_free(A);
    ref_free(m);
}

/* The target is a value of a real matrix, and is found. */
static void exact(void **state)
{
    enum { N = 150 };
    ref_rng r = {7};
    cplx w[N];
    ref_mat m = random_matrix(&r, N, WISP_D, w);
    wisp_mat *A = ref_mat_of(*state, m, WISP_D);
    int64_t at = 0;
    while (cimag(w[at]) == 0) at++;
    wisp_eig_opts o = {.which = WISP_EIG_NEAREST,
                       .method = WISP_EIG_INVERT,
                       .count = 3,
                       .target = creal(w[at]),
                       .target_im = cimag(w[at])};
    if (ref_has_factors()) {
        wisp_eigen v;
        REF_FAILS(*state, wisp_eig(&v, A, &o), WISP_ERR_INCOMPLETE, "prove nothing");
        check_values(&v, 3, N, w, w[at], 1e-6, "a value");
        wisp_eigen_free(&v);
    }
    wisp_mat_free(A);
    ref_free(m);
}

static void refused(wisp_ctx *ctx, const wisp_mat *A, const wisp_eig_opts *o, wisp_status wanted, const char *why)
{
    wisp_eigen v;
    wisp_plan plan;
    REF_FAILS(ctx, wisp_eig(&v, A, o), wanted, why);
    wisp_eigen_free(&v);
    REF_FAILS(ctx, wisp_eig_plan(&plan, NULL, A, o), wanted, why);
}

static void refusals(void **state)
{
    enum { N = 30 };
    ref_rng r = {3};
    cplx w[N];
    double *e = spectrum_of(&r, 0, N);
    ref_mat h = hermitian_of(&r, e, N, WISP_Z), m = random_matrix(&r, N, WISP_Z, w);
    wisp_mat *H = ref_mat_of(*state, h, WISP_Z), *A = ref_mat_of(*state, m, WISP_Z), *B;
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_Z, .apply = apply_stored, .arg = A};
    REF_OK(*state, wisp_mat_from_apply(&B, *state, &op));
    wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .target = 0.5, .target_im = 0.25};
    refused(*state, H, &o, WISP_ERR_HERMITIAN, "opts.target is 0.5+0.25i, and a Hermitian matrix has real eigenvalues");
    o.method = WISP_CHEBFD;
    refused(*state, B, &o, WISP_ERR_UNSUPPORTED, "chebfd finds real eigenvalues only");
    o.method = WISP_EIG_DEFAULT, o.target_im = NAN;
    refused(*state, A, &o, WISP_ERR_ARG, "opts.target is nan, it must be finite");
    wisp_eigen v; /* another question has no target */
    o.which = WISP_EIG_SMALLEST;
    REF_OK(*state, wisp_eig(&v, H, &o));
    wisp_eigen_free(&v);
    wisp_mat_free(B), wisp_mat_free(A), wisp_mat_free(H);
    ref_free(h), ref_free(m);
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_ones), cmocka_unit_test(one_of_each_pair),
                                       cmocka_unit_test(exact), cmocka_unit_test(refusals)};
    return REF_RUN_CTX(tests);
}
