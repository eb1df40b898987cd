/* Pairs nearest to a number by (A - target)^-1: by a function of the test's, and by the factors of the library's own.
 */
#include "invert_cases.h"

/* ---- Hermitian matrices of known spectra --------------------------------------------------------------- */

typedef struct {
    wisp_type type;
    int64_t n;
    spectrum kind;
    double *e, tolerance, eps;
    ref_mat m;
    wisp_mat *A;
    wisp_eig_opts o;
} question;

/* exact: the target is an eigenvalue. */
static question random_question(wisp_ctx *ctx, uint64_t seed, bool exact)
{
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    ref_rng r = {seed};
    question q = {.type = types[ref_below(&r, 4)], .n = 141 + ref_below(&r, 60), .kind = (spectrum)ref_below(&r, 5)};
    const bool single = q.type == WISP_S || q.type == WISP_C;
    q.e = spectrum_of(&r, q.kind, q.n);
    q.m = hermitian_of(&r, q.e, q.n, q.type);
    q.A = ref_mat_of(ctx, q.m, q.type);
    q.eps = single ? 1.2e-7 : 2.2e-16, q.tolerance = single ? 2e-5 : 1e-8;
    q.o = (wisp_eig_opts){.which = WISP_EIG_NEAREST,
                          .method = WISP_EIG_INVERT,
                          .count = 1 + (int)ref_below(&r, 7),
                          .block = (int)ref_below(&r, 4),
                          .target = exact ? q.e[ref_below(&r, q.n)] : 1.1 * ref_uniform(&r),
                          .tolerance = q.tolerance,
                          .seed = seed};
    return q;
}

static void end_question(question *q)
{
    wisp_mat_free(q->A);
    ref_free(q->m);
    free(q->e);
}

static void check(wisp_ctx *ctx, const question *q, const wisp_eigen *v, wisp_status status, eig_tally *tally)
{
    char what[160];
    snprintf(what, sizeof what, "seed %llu: %lld rows, %s, %s, %d nearest to %.17g", (unsigned long long)q->o.seed,
             (long long)q->n, wisp_type_name(q->type), spectrum_name[q->kind], q->o.count, q->o.target);
    const double h = v->bounds.halfwidth, error = q->tolerance * h + 30 * q->eps * (double)q->n;
    assert_int_equal(v->complete, status == WISP_OK);
    assert_int_equal(v->proof, !v->complete                  ? WISP_PROOF_NONE
                               : v->method == WISP_EIG_DENSE ? WISP_PROOF_ALL
                                                             : WISP_PROOF_INERTIA);
    assert_pairs(v, q->m, q->tolerance * h, q->eps, what);
    tally->right += status == WISP_OK, tally->told += status != WISP_OK;
    if (status != WISP_OK && status != WISP_ERR_INCOMPLETE) fail_msg("%s: %s", what, message_of(ctx));
    if (status != WISP_OK && !q->o.invert) print_message("%s: %s\n", what, message_of(ctx));
    const demand d = demand_of(&q->o, q->e, q->n, 3 * error);
    if (status == WISP_OK && !matches(v, q->e, &d, error)) {
        for (int i = 0; i < v->found; i++) print_message("found %.12g\n", v->value[i].re);
        for (int64_t i = d.may_from; i < d.may_to; i++) print_message("there is %.12g\n", q->e[i]);
        fail_msg("%s: %d found, from %lld to %lld are there", what, v->found, (long long)(d.to - d.from),
                 (long long)(d.may_to - d.may_from));
    }
}

/* With a count all is proven; without one the same pairs are found, and nothing is said to be complete. */
static void by_function(void **state)
{
    eig_tally tally = {0};
    for (uint64_t seed = 1; seed <= (ref_few() ? 2 : 10); seed++) {
        question q = random_question(*state, seed, false);
        by_test t = {.inverse = inverse_of(q.m, q.o.target), .value = q.e, .scale = 1};
        q.o.invert = solve, q.o.below = count_below, q.o.invert_arg = &t;
        if (seed % 3 == 0) q.o.below = NULL;
        if (seed % 3 == 1) q.o.method = WISP_EIG_DEFAULT;
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.A, &q.o);
        if (v.method == WISP_EIG_INVERT) {
            assert_true(t.solved > 0 && (t.counted > 0) == (q.o.below != NULL));
            assert_int_equal(status, q.o.below ? WISP_OK : WISP_ERR_INCOMPLETE);
        }
        check(*state, &q, &v, status, &tally);
        wisp_eigen_free(&v);
        ref_free(t.inverse);
        end_question(&q);
    }
}

static void by_factors(void **state)
{
    eig_tally tally = {0};
    if (!ref_has_factors()) return;
    for (uint64_t seed = 1; seed <= (ref_few() ? 8 : 60); seed++) {
        question q = random_question(*state, seed, seed % 3 == 0);
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.A, &q.o);
        check(*state, &q, &v, status, &tally);
        wisp_eigen_free(&v);
        end_question(&q);
    }
    assert_true(tally.told <= 1 + tally.right / 10); /* large multiplets in single precision */
}

/* Targets far outside the spectrum: rounding of products from there would be all that is left of their differences. */
static void from_far(void **state)
{
    static const double far[] = {40, 1e3, 1e6, 1e12};
    eig_tally tally = {0};
    if (!ref_has_factors()) return;
    for (uint64_t seed = 1; seed <= (ref_few() ? 4 : 24); seed++) {
        question q = random_question(*state, seed, false);
        q.o.target = (seed / 4 % 2 ? 1 : -1) * far[seed % 4];
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.A, &q.o);
        check(*state, &q, &v, status, &tally);
        wisp_eigen_free(&v);
        end_question(&q);
    }
    assert_true(tally.told <= 1 + tally.right / 10);
}

/* Multiplets, of which any are asked for. */
static void of_any(void **state)
{
    if (!ref_has_factors()) return;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        question q = random_question(*state, seed, false);
        q.o.any = 1;
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.A, &q.o);
        if (status == WISP_OK) assert_int_equal(v.found, q.o.count);
        assert_pairs(&v, q.m, q.tolerance * v.bounds.halfwidth, q.eps, "any");
        wisp_eigen_free(&v);
        end_question(&q);
    }
}

/* A chain's values 4 - 2 cos(pi k/(n + 1)); the middle one is the target, where A - target is singular. */
static void chain(void **state)
{
    enum { N = 301, K = 9 };
    wisp_mat *A;
    wisp_eigen v;
    if (!ref_has_factors()) return;
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = K, .target = 4};
    REF_OK(*state, wisp_mat_open(&A, *state, "laplace:points=5,nx=301,ny=1", NULL));
    REF_OK(*state, wisp_eig(&v, A, &o));
    assert_int_equal(v.found, K);
    assert_true(v.complete && v.method == WISP_EIG_INVERT);
    for (int i = 0; i < K; i++) {
        const double exact = 4 - 2 * cos(acos(-1) * ((N + 1) / 2 - K / 2 + i) / (N + 1));
        assert_true(fabs(v.value[i].re - exact) < 1e-12);
    }
    wisp_eigen_free(&v);
    wisp_mat_free(A);
}

/* The inverse's place lies so near to a target that is an eigenvalue, at any tolerance, that no others are found. A
   square lattice: -2 cos(2 pi i/20) - 2 cos(2 pi j/19), each but a few of them two, four or eight times. */
static void tight(void **state)
{
    enum { NX = 20, NY = 19, N = NX * NY };
    wisp_mat *A;
    double e[N];
    if (!ref_has_factors()) return;
    REF_OK(*state, wisp_mat_open(&A, *state, "square:nx=20,ny=19,periodic=xy", NULL));
    for (int i = 0; i < N; i++) e[i] = -2 * cos(2 * acos(-1) * (i % NX) / NX) - 2 * cos(2 * acos(-1) * (i / NX) / NY);
    qsort(e, N, sizeof *e, by_size);
    for (int any = 0; any < 2; any++)
        for (int i = 0; i < N; i += 19) {
            const wisp_eig_opts o = {.which = WISP_EIG_NEAREST,
                                     .method = WISP_EIG_INVERT,
                                     .count = 5,
                                     .target = e[i],
                                     .any = any,
                                     .tolerance = i % 2 ? 1e-12 : 1e-11};
            wisp_eigen v;
            REF_OK(*state, wisp_eig(&v, A, &o));
            assert_true(v.complete && v.method == WISP_EIG_INVERT && (any || v.proof == WISP_PROOF_INERTIA));
            wisp_eig_opts all = o;
            all.any = 0;
            const demand d = demand_of(&all, e, N, 1e-10);
            assert_true(any ? v.found == o.count : matches(&v, e, &d, 1e-10));
            wisp_eigen_free(&v);
        }
    wisp_mat_free(A);
}

/* One level of more copies than are kept, where the target is, beside it, or all there is: any of it do, and all are
   refused by their true number. */
static void one_level(void **state)
{
    enum { N = 400 };
    static const double level[] = {0, 3};
    if (!ref_has_factors()) return;
    for (int c = 0; c < 8; c++) {
        ref_mat m = ref_new(N, N);
        for (int64_t i = 0; i < N; i++)
            REF_AT(m, i, i) = c % 4 < 2 ? level[c % 2] : i < 250 ? level[c % 2] : 5 + (double)i;
        wisp_mat *A = ref_mat_of(*state, m, WISP_D);
        wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 4, .any = 1};
        o.target = c < 4 ? level[c % 2] : 0.5;
        wisp_eigen v;
        REF_OK(*state, wisp_eig(&v, A, &o));
        assert_true(v.complete && v.found == 4);
        for (int i = 0; i < 4; i++) assert_true(fabs(v.value[i].re - level[c % 2]) < 1e-6);
        wisp_eigen_free(&v);
        o.any = 0;
        REF_FAILS(*state, wisp_eig(&v, A, &o), WISP_ERR_INCOMPLETE, c % 4 < 2 ? "400 eigenvalues" : "250 eigenvalues");
        wisp_eigen_free(&v);
        wisp_mat_free(A);
        ref_free(m);
    }
}

/* More copies than four searches bring. */
static void many_copies(void **state)
{
    enum { N = 600, COPIES = 60 };
    if (!ref_has_factors()) return;
    ref_mat m = ref_new(N, N);
    for (int64_t i = 0; i < N; i++) REF_AT(m, i, i) = i < COPIES ? 0.25 : 1 + (double)i;
    wisp_mat *A = ref_mat_of(*state, m, WISP_D);
    for (int block = 1; block < 4; block++) {
        const wisp_eig_opts o = {
            .which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 2, .block = block, .target = 0.1};
        wisp_eigen v;
        REF_OK(*state, wisp_eig(&v, A, &o));
        assert_true(v.complete && v.found == COPIES && v.proof == WISP_PROOF_INERTIA);
        wisp_eigen_free(&v);
    }
    wisp_mat_free(A);
    ref_free(m);
}

/* Powers of two change exponents alone. */
static void units(void **state)
{
    static const int by[] = {-990, -400, 0, 400, 990};
    const uint64_t seed = 3; /* of double precision */
    question q = random_question(*state, seed, false);
    assert_true(q.type == WISP_D || q.type == WISP_Z);
    by_test t = {.inverse = inverse_of(q.m, q.o.target), .value = q.e};
    q.o.invert_arg = &t;
    const double target = q.o.target;
    for (int own = ref_has_factors() ? 0 : 1; own < 2; own++)
        for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
            ref_mat m = ref_new(q.n, q.n);
            for (int64_t j = 0; j < q.n * q.n; j++)
                m.a[j] = ldexp(creal(q.m.a[j]), by[i]) + I * ldexp(cimag(q.m.a[j]), by[i]);
            wisp_mat *A = ref_mat_of(*state, m, q.type);
            wisp_eig_opts o = q.o;
            t.scale = ldexp(1, by[i]);
            o.target = ldexp(target, by[i]);
            o.invert = own ? solve : NULL, o.below = own ? count_below : NULL;
            wisp_eigen v;
            REF_OK(*state, wisp_eig(&v, A, &o));
            for (int j = 0; j < v.found; j++) v.value[j].re = ldexp(v.value[j].re, -by[i]);
            const demand d = demand_of(&q.o, q.e, q.n, 1e-7);
            assert_true(v.complete && matches(&v, q.e, &d, 1e-7));
            wisp_eigen_free(&v);
            wisp_mat_free(A);
            ref_free(m);
        }
    ref_free(t.inverse);
    end_question(&q);
}

/* ---- others --------------------------------------------------------------------------------------------- */

/* A chain with hopping that prefers a side: D^-1 T D with T symmetric, so that its values are 2 sqrt(b c) cos(pi k/(n +
   1)). Its conjugate pairs are those of the same rows turned by i in the complex type. */
/* A real matrix whose values are conjugate pairs, of which no half may be taken: the inverse's have the other one
 * first.
 */
static void conjugate_pairs(void **state)
{
    enum { N = 170 };
    const double target = 0.3;
    if (!ref_has_factors()) return;
    ref_mat m = ref_new(N, N);
    for (int64_t i = 0; i < N; i += 2) {
        REF_AT(m, i, i) = REF_AT(m, i + 1, i + 1) = -1 + 2.0 * (double)i / N;
        REF_AT(m, i, i + 1) = 0.2 + 0.001 * (double)i, REF_AT(m, i + 1, i) = -REF_AT(m, i, i + 1);
    }
    wisp_mat *A = ref_mat_of(*state, m, WISP_D);
    for (int count = 1; count <= 6; count++) {
        const wisp_eig_opts o = {
            .which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = count, .target = target};
        wisp_eigen v;
        REF_FAILS(*state, wisp_eig(&v, A, &o), WISP_ERR_INCOMPLETE, "prove nothing");
        assert_int_equal(v.found, count + count % 2);
        for (int k = 0; k < v.found; k++) {
            double least = 1;
            for (int64_t i = 0; i < N; i += 2)
                least = fmin(least, hypot(v.value[k].re - creal(REF_AT(m, i, i)),
                                          fabs(v.value[k].im) - creal(REF_AT(m, i, i + 1))));
            assert_true(least < 1e-10);
        }
        wisp_eigen_free(&v);
    }
    wisp_mat_free(A);
    ref_free(m);
}

static void not_hermitian(void **state)
{
    enum { N = 171, K = 5 };
    static const wisp_type types[] = {WISP_D, WISP_Z};
    for (int c = 0; c < 2; c++) {
        const double b = 1, d = 1.05, target = 0.313;
        ref_mat m = ref_new(N, N);
        for (int64_t i = 0; i + 1 < N; i++) REF_AT(m, i, i + 1) = c ? b * I : b, REF_AT(m, i + 1, i) = c ? -d * I : d;
        double e[N];
        for (int64_t i = 0; i < N; i++) e[N - 1 - i] = 2 * sqrt(b * d) * cos(acos(-1) * (double)(i + 1) / (N + 1));
        by_test t = {.inverse = inverse_of(m, target), .scale = 1};
        wisp_mat *A = ref_mat_of(*state, m, types[c]);
        for (int how = 0; how < 3; how++) {
            wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = K, .target = target};
            if (how == 1) o.invert = solve, o.invert_arg = &t;
            if (how == 2) o.method = WISP_EIG_DENSE;
            if (how == 0 && !ref_has_factors()) continue;
            wisp_eigen v;
            const wisp_status status = wisp_eig(&v, A, &o);
            if (status != (how == 2 ? WISP_OK : WISP_ERR_INCOMPLETE))
                fail_msg("%d, %d: %s", c, how, message_of(*state));
            const demand which = demand_of(&o, e, N, 1e-6);
            if (v.found != K || !matches(&v, e, &which, 1e-6)) fail_msg("%d, %d: %d found", c, how, v.found);
            wisp_eigen_free(&v);
        }
        wisp_mat_free(A);
        ref_free(t.inverse);
        ref_free(m);
    }
}

/* Chains whose hopping prefers a side: an inverse makes any vector long, wherever its shift is, and the first one is
   taken. But beside one of the values there is a better one. */
static void far_from_normal(void **state)
{
    enum { N = 200 };
    if (!ref_has_factors()) return;
    for (int c = 0; c < 3; c++) {
        ref_rng r = {(uint64_t)c + 1};
        ref_mat m = ref_new(N, N);
        for (int64_t i = 0; i < N; i++) REF_AT(m, i, i) = c == 2 ? 1 + (double)i / N : 2 * ref_uniform(&r) - 1;
        for (int64_t i = 0; i + 1 < N; i++)
            REF_AT(m, i, i + 1) = c == 2 ? 1e-6 : 2, REF_AT(m, i + 1, i) = c == 2 ? 0 : 0.5;
        wisp_mat *A = ref_mat_of(*state, m, WISP_D);
        const wisp_eig_opts o = {
            .which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 2, .target = c == 2 ? 1.5 : 1.3 + 0.2 * c};
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, A, &o);
        if (status != WISP_ERR_INCOMPLETE && status != WISP_ERR_STAGNATION) fail_msg("%d: %s", c, message_of(*state));
        if (c == 2 ? v.factored < 2 : v.factored != 1) fail_msg("%d: %d factorizations", c, v.factored);
        assert_true(v.found > 0);
        wisp_eigen_free(&v);
        wisp_mat_free(A);
        ref_free(m);
    }
}

static void refused(wisp_ctx *ctx, const wisp_mat *A, const wisp_eig_opts *o, wisp_status wanted, const char *why)
{
    wisp_eigen v;
    const wisp_status status = wisp_eig(&v, A, o);
    if (status != wanted || !strstr(message_of(ctx), why)) fail_msg("%s: %d: %s", why, (int)status, message_of(ctx));
    wisp_eigen_free(&v);
}

/* A chain of which the inverse grows thirtyfold from row to row. */
static void too_large(void **state)
{
    ref_mat m = ref_new(120, 120);
    for (int64_t i = 0; i < 120; i++) REF_AT(m, i, i) = 0.1 + 0.01 * (double)i;
    for (int64_t i = 0; i + 1 < 120; i++) REF_AT(m, i, i + 1) = 30;
    wisp_mat *A = ref_mat_of(*state, m, WISP_S);
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 2};
    if (ref_has_factors())
        refused(*state, A, &o, WISP_ERR_NUMERIC, "(A - target I)^-1 is not finite, too large for single numbers; try");
    wisp_mat_free(A);
    ref_free(m);
}

static void refusals(void **state)
{
    question q = random_question(*state, 2, false);
    by_test t = {.inverse = inverse_of(q.m, q.o.target + 0.3), .value = q.e, .scale = 1};
    wisp_eig_opts o = q.o, other = q.o;
    other.which = WISP_EIG_SMALLEST;
    refused(*state, q.A, &other, WISP_ERR_UNSUPPORTED, "nearest to a target only");
    o.invert = solve, o.below = count_below, o.invert_arg = &t;
    other.method = WISP_EIG_DEFAULT, other.invert = solve;
    refused(*state, q.A, &other, WISP_ERR_ARG, "opts.invert is for");
    refused(*state, q.A, &o, WISP_ERR_CALLBACK, "is not (A - target I)^-1");
    t.fails = WISP_ERR_NUMERIC;
    refused(*state, q.A, &o, WISP_ERR_CALLBACK, "");
    wisp_mat *B;
    const wisp_operator op = {.map = wisp_mat_map(q.A), .type = q.type, .apply = apply_stored, .arg = q.A};
    REF_OK(*state, wisp_mat_from_apply(&B, *state, &op));
    o.invert = NULL;
    if (ref_has_factors()) refused(*state, B, &o, WISP_ERR_UNSUPPORTED, "an operator has no entries to factor");
    wisp_eig_opts limited = q.o;
    limited.bytes = 1000;
    if (ref_has_factors()) refused(*state, q.A, &limited, WISP_ERR_NOMEM, "are left for them");
    wisp_mat_free(B);
    if (!strstr(wisp_features(), "mumps")) refused(*state, q.A, &q.o, WISP_ERR_UNSUPPORTED, "libmumps-seq-dev");
    if (ref_ranks() > 1 && strstr(wisp_features(), "mumps"))
        refused(*state, q.A, &q.o, WISP_ERR_UNSUPPORTED, "on one rank alone");
    ref_free(t.inverse);
    end_question(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_function),   cmocka_unit_test(by_factors),      cmocka_unit_test(from_far),
        cmocka_unit_test(of_any),        cmocka_unit_test(chain),           cmocka_unit_test(tight),
        cmocka_unit_test(one_level),     cmocka_unit_test(many_copies),     cmocka_unit_test(units),
        cmocka_unit_test(not_hermitian), cmocka_unit_test(far_from_normal), cmocka_unit_test(conjugate_pairs),
        cmocka_unit_test(too_large),     cmocka_unit_test(refusals)};
    return REF_RUN_CTX(tests);
}
