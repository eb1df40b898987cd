/* Pairs of A x = lambda S x nearest to a number by shift and invert, against LAPACK: by factors of the library's own,
   and by a function of the test's. */
#include "pencil_questions.h"

static question random_question(wisp_ctx *ctx, uint64_t seed)
{
    static const wisp_type types[][2] = {{WISP_D, WISP_D}, {WISP_Z, WISP_Z}, {WISP_D, WISP_Z},
                                         {WISP_Z, WISP_D}, {WISP_S, WISP_S}, {WISP_C, WISP_C}};
    ref_rng r = {seed};
    const wisp_type *type = types[ref_below(&r, 6)];
    const bool single = type[0] == WISP_S || type[0] == WISP_C;
    const int64_t n = ref_below(&r, 5) ? 141 + ref_below(&r, 160) : 1 + ref_below(&r, 140);
    const double condition = n == 1 ? 1 : pow(10, (single ? 0.8 : 1.2) * (1.02 + ref_uniform(&r)));
    ref_mat A = random_hermitian(&r, type[0], n, 1), S = overlap_of(&r, type[1], n, condition);
    question q = ask(ctx, A, type[0], S, type[1], condition);
    q.o.count = 1 + (int)ref_below(&r, n < 7 ? n : 7);
    q.o.block = (int)ref_below(&r, 4);
    q.o.seed = seed;
    q.o.target = seed % 3 ? q.e[0] + (q.e[n - 1] - q.e[0]) * (1 + ref_uniform(&r)) / 2 : q.e[ref_below(&r, n)];
    return q;
}

/* x = S^-1/2 y solve A x = lambda S x, and are orthonormal by S. */
static void check_vectors(wisp_ctx *ctx, const question *q, wisp_eigen *v)
{
    double residual[256], orthogonality;
    assert_true(v->found < 256);
    REF_OK(ctx, wisp_overlap_apply(q->p.overlap, v->vectors, v->vectors));
    REF_OK(ctx, wisp_overlap_residuals(q->p.overlap, q->p.A, v->value, v->vectors, residual, &orthogonality));
    for (int i = 0; i < v->found; i++) assert_true(residual[i] <= 2 * q->error);
    assert_true(orthogonality < (q->single ? 1e-2 : 1e-6));
}

static void by_factors(void **state)
{
    int right = 0, told = 0;
    if (!ref_has_factors()) return;
    for (uint64_t seed = 1; seed <= (ref_few() ? 4 : 12); seed++) {
        question q = random_question(*state, seed);
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.p.C, &q.o);
        if (status != WISP_OK && status != WISP_ERR_INCOMPLETE)
            fail_msg("seed %llu: %s", (unsigned long long)seed, message_of(*state));
        if (status != WISP_OK) print_message("seed %llu: %s\n", (unsigned long long)seed, message_of(*state));
        right += status == WISP_OK, told += status != WISP_OK;
        check(&q, &v, "factors");
        if (v.found > 0) check_vectors(*state, &q, &v);
        wisp_eigen_free(&v);
        end_question(&q);
    }
    assert_true(told <= 1 + right / 10);
}

/* Targets far outside the spectrum, in single precision: products with the inverse would hardly differ from value to
   value there. And tolerances that are larger than the search begins with. */
static void from_far(void **state)
{
    static const double far[] = {3, 40, 1e3, 1e6};
    static const double tolerance[] = {1e-4, 1e-2};
    const double condition = 30;
    if (!ref_has_factors()) return;
    for (uint64_t seed = 1; seed <= (ref_few() ? 4 : 16); seed++) {
        ref_rng r = {seed};
        const wisp_type type = seed % 2 ? WISP_S : WISP_C;
        const int64_t n = 141 + ref_below(&r, 80);
        ref_mat A = random_hermitian(&r, type, n, 1), S = overlap_of(&r, type, n, condition);
        question q = ask(*state, A, type, S, type, condition);
        q.o.seed = seed, q.o.tolerance = tolerance[seed / 4 % 2], q.o.count = 1 + (int)(seed % 3);
        q.error *= seed / 4 % 2 ? 10 : 1;
        const double half = (q.e[n - 1] - q.e[0]) / 2;
        q.o.target = (q.e[n - 1] + q.e[0]) / 2 + (seed / 2 % 2 ? 1 : -1) * half * far[seed % 4];
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.p.C, &q.o);
        if (status != WISP_OK) fail_msg("seed %llu: %s", (unsigned long long)seed, message_of(*state));
        assert_true(v.method == WISP_EIG_INVERT && v.found >= q.o.count);
        check(&q, &v, "far");
        check_vectors(*state, &q, &v);
        wisp_eigen_free(&v);
        end_question(&q);
    }
}

/* A = 2.5 S: one value, and residuals of it are what rounding makes of the roots of S, far more than of a matrix. They
   are told as they are. */
static void one_value(void **state)
{
    enum { N = 150 };
    static const double conditions[] = {1e3, 1e2};
    static const struct {
        wisp_type type;
        double tolerance;
    } of[] = {{WISP_D, 0}, {WISP_Z, 0}, {WISP_S, 1e-3}};
    static const wisp_eig_method methods[] = {WISP_LANCZOS, WISP_EIG_DENSE, WISP_EIG_INVERT, WISP_EIG_INVERT};
    for (int c = 0; c < (ref_few() ? 3 : 6); c++) {
        const double condition = conditions[c / 3], beside = (1 - 1 / condition) / 2;
        const wisp_type type = of[c % 3].type;
        const wisp_overlap_opts given = {
            .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {.center = 1, .halfwidth = 1 - 0.99 / condition}}};
        ref_mat S = ref_new(N, N), A = ref_new(N, N);
        for (int i = 0; i < N; i++) REF_AT(S, i, i) = 1;
        for (int i = 0; i + 1 < N; i++) REF_AT(S, i, i + 1) = REF_AT(S, i + 1, i) = beside;
        ref_round(S, type);
        for (int i = 0; i < N * N; i++) A.a[i] = 2.5 * S.a[i];
        ref_round(A, type);
        pencil p = make(*state, A, type, S, type, &given);
        for (int m = 0; m < (ref_has_factors() ? 4 : 2); m++) {
            if (ref_few() && (c + m) % 2) continue; /* each type meets a search, and each method two types or one */
            const wisp_eig_opts o = {.method = methods[m],
                                     .which = m < 2 ? WISP_EIG_SMALLEST : WISP_EIG_NEAREST,
                                     .target = m == 2 ? 2 : 2.5,
                                     .count = 3,
                                     .any = 1,
                                     .tolerance = of[c % 3].tolerance};
            const double most = type == WISP_S ? 1e-3 * 2.5 : 1e-8 * 2.5; /* of the value, whatever the halfwidth is */
            double residual[3];
            wisp_eigen v;
            const wisp_status status = wisp_eig(&v, p.C, &o);
            if (status != WISP_OK || v.found != 3)
                fail_msg("condition %g, %s, method %d: %s", condition, wisp_type_name(type), (int)o.method,
                         message_of(*state));
            REF_OK(*state, wisp_overlap_apply(p.overlap, v.vectors, v.vectors));
            REF_OK(*state, wisp_overlap_residuals(p.overlap, p.A, v.value, v.vectors, residual, NULL));
            for (int i = 0; i < 3; i++)
                assert_true(v.complete && residual[i] <= most && fabs(v.value[i].re - 2.5) <= most);
            wisp_eigen_free(&v);
        }
        drop(&p);
    }
}

/* |C v - lambda v| of the vector that is farthest off, over what residuals are over. */
static double residual_of_C(wisp_ctx *ctx, const wisp_mat *C, const wisp_eigen *v)
{
    double norm[64], most = 0;
    wisp_scalar minus[64];
    wisp_blk *x, *y;
    assert_true(v->found <= 64);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(C), wisp_blk_type(v->vectors), v->found));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(C), wisp_blk_type(v->vectors), v->found));
    REF_OK(ctx, wisp_copy(x, v->vectors));
    REF_OK(ctx, wisp_spmmv(y, C, x, NULL));
    for (int i = 0; i < v->found; i++) minus[i] = (wisp_scalar){-v->value[i].re, 0};
    REF_OK(ctx, wisp_vaxpy(y, minus, x));
    REF_OK(ctx, wisp_norm(y, norm));
    for (int i = 0; i < v->found; i++) most = fmax(most, norm[i] / v->bounds.halfwidth);
    wisp_blk_free(x), wisp_blk_free(y);
    return most;
}

/* Roots of S that are far off: residuals are those of C all the same, and where they can't be within the tolerance,
   nothing is said to be. */
static void rough_roots(void **state)
{
    static const double roots[] = {1e-6, 1e-4};
    if (!ref_has_factors()) return;
    wisp_mat *A, *S, *C;
    REF_OK(*state, wisp_mat_open(&A, *state, "anderson:nx=400,ny=1,nz=1,disorder=3,periodic=none,seed=1", NULL));
    REF_OK(*state, wisp_mat_open(&S, *state, "laplace:points=5,nx=400,ny=1", &(wisp_mat_opts){.map = wisp_mat_map(A)}));
    for (int i = 0; i < 2; i++)
        for (int loose = 0; loose < 2; loose++) {
            const wisp_eig_opts o = {.which = WISP_EIG_NEAREST,
                                     .method = WISP_EIG_INVERT,
                                     .count = 5,
                                     .target = 0.1,
                                     .tolerance = loose ? 10 * roots[i] : 1e-8};
            wisp_overlap *overlap;
            wisp_eigen v;
            REF_OK(*state, wisp_overlap_create(&overlap, S, &(wisp_overlap_opts){.tolerance = roots[i]}));
            REF_OK(*state, wisp_overlap_matrix(&C, overlap, A));
            const wisp_status status = wisp_eig(&v, C, &o);
            if (status != (loose ? WISP_OK : WISP_ERR_STAGNATION) || v.complete != loose)
                fail_msg("roots to %g, tolerance %g: status %d, complete %d, %s", roots[i], o.tolerance, (int)status,
                         v.complete, message_of(*state));
            if (v.found > 0) {
                double told = 0;
                for (int j = 0; j < v.found; j++) told = fmax(told, v.residual[j]);
                assert_true(residual_of_C(*state, C, &v) <= told * 1.01 && told <= o.tolerance);
            }
            wisp_eigen_free(&v);
            wisp_mat_free(C);
            wisp_overlap_free(overlap);
        }
    wisp_mat_free(S), wisp_mat_free(A);
}

/* Chains whose S has a large condition: no root of S is in what searches, so that its errors do not grow from step to
   step. Where the target is one of the values, and at both ends. */
static void large_condition(void **state)
{
    static const double conditions[] = {1e3, 1e4, 1e5};
    if (!ref_has_factors()) return;
    for (int c = 0; c < (ref_few() ? 3 : 12); c++) {
        enum { N = 180 };
        ref_rng r = {(uint64_t)c + 1};
        const double condition = conditions[c % 3], beside = (1 - 1 / condition) / 2;
        const wisp_type type = c % 2 ? WISP_Z : WISP_D;
        ref_mat A = ref_new(N, N), S = ref_new(N, N);
        for (int i = 0; i < N; i++) {
            REF_AT(A, i, i) = ref_uniform(&r) - 0.5;
            REF_AT(S, i, i) = 1;
            if (i == 0) continue;
            REF_AT(S, i, i - 1) = beside * (c % 2 ? cexp(I * (double)i) : 1);
            REF_AT(A, i, i - 1) = c % 2 ? cexp(2 * I * (double)i) : 1;
            REF_AT(S, i - 1, i) = conj(REF_AT(S, i, i - 1)), REF_AT(A, i - 1, i) = conj(REF_AT(A, i, i - 1));
        }
        ref_round(A, type), ref_round(S, type);
        const wisp_overlap_opts given = {
            .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {.center = 1, .halfwidth = 1 - 0.9 / condition}}};
        question q = {.n = N, .e = values_of(A, S), .p = make(*state, A, type, S, type, &given)};
        const double most = fmax(fabs(q.e[0]), fabs(q.e[N - 1]));
        q.error = most * (1e-10 + 100 * 2.2e-16 * condition);
        q.o = (wisp_eig_opts){
            .which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .tolerance = 1e-10, .count = 1 + c % 5};
        q.o.target = c / 3 % 4 == 0 ? 0.1 : c / 3 % 4 == 1 ? q.e[N / 2] : (c / 3 % 4 == 2 ? -3 : 3) * most;
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.p.C, &q.o);
        if (status != WISP_OK) fail_msg("condition %g, case %d: %s", condition, c, message_of(*state));
        assert_true(v.complete && v.method == WISP_EIG_INVERT && v.orthogonality < 1e-10);
        check(&q, &v, "large condition");
        check_vectors(*state, &q, &v);
        wisp_eigen_free(&v);
        end_question(&q);
    }
}

/* An S that is not positive definite, and bounds that say it is; those of the values may be given, too. In the last
   cases the row where it is not has no part in the others, so that no vector that is found tells. */
static void not_definite(void **state)
{
    static const double lowest[] = {-0.4, -1e-6, 0};
    if (!ref_has_factors()) return;
    for (int c = 0; c < 18; c++) {
        enum { N = 170 };
        ref_rng r = {(uint64_t)c + 1};
        const wisp_type type = c % 2 ? WISP_Z : WISP_D;
        ref_mat A = random_hermitian(&r, type, N, 1), S = ref_new(N, N);
        for (int i = 0; i < N; i++) REF_AT(S, i, i) = 1 + 0.5 * ref_uniform(&r);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                REF_AT(S, 50 + i, 50 + j) = i == j ? (1 + lowest[c / 2 % 3]) / 2 : (1 - lowest[c / 2 % 3]) / 2;
        for (int i = 0; c >= 12 && i < N; i++) {
            REF_AT(A, i, 50) = REF_AT(A, 50, i) = i == 50 ? 3e-6 : 0;
            REF_AT(S, i, 50) = REF_AT(S, 50, i) = i == 50 ? lowest[c / 2 % 3] : 0;
        }
        const wisp_overlap_opts given = {
            .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {.center = 1, .halfwidth = 0.75}}};
        pencil p = make(*state, A, type, S, type, &given);
        wisp_eig_opts o = {
            .which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 3, .target = 0.1 * (c % 6 + 1)};
        if (c >= 6) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.halfwidth = 20}};
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, p.C, &o);
        const char *why = message_of(*state);
        if (status == WISP_OK || v.complete) fail_msg("case %d is taken for complete", c);
        if (!strstr(why, "S must be positive definite") && !strstr(why, "S has eigenvalues beyond the bounds"))
            fail_msg("case %d: %s", c, why);
        wisp_eigen_free(&v);
        drop(&p);
    }
}

/* S^1/2 M S^1/2 has M's values, some of them many times. */
static void multiplets(void **state)
{
    if (!ref_has_factors()) return;
    for (int c = 0; c < (ref_few() ? 2 : 8); c++) {
        enum { N = 190, COPIES = 6 };
        ref_rng r = {(uint64_t)c + 1};
        const wisp_type type = c % 2 ? WISP_Z : WISP_D;
        double *e = calloc(N, sizeof *e);
        for (int i = 0; i < N; i++) e[i] = 0.1 * (i / COPIES) - 1;
        ref_mat M = hermitian_of(&r, e, N, type), S = overlap_of(&r, type, N, 10), root = power_of(S, 0.5);
        ref_mat left = ref_times(root, M), A = ref_times(left, root);
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++)
                REF_AT(A, j, i) = conj(REF_AT(A, i, j) = i == j ? creal(REF_AT(A, i, j)) : REF_AT(A, i, j));
        ref_round(A, type);
        question q = ask(*state, A, type, S, type, 10);
        q.o.count = 1 + c, q.o.target = c / 2 % 2 ? e[60] : 0.033;
        wisp_eigen v;
        REF_OK(*state, wisp_eig(&v, q.p.C, &q.o));
        assert_true(v.complete && v.method == WISP_EIG_INVERT && v.found % COPIES == 0);
        check(&q, &v, "multiplets");
        wisp_eigen_free(&v);
        ref_free(M), ref_free(root), ref_free(left);
        free(e);
        end_question(&q);
    }
}

/* By a function of the test's: (A - target S)^-1, in any units; with a count of values all is proven. */
static void by_function(void **state)
{
    static const int by[][2] = {{0, 0}, {-400, -400}, {400, 380}, {0, 300}, {300, 0}};
    for (int c = 0; c < 5; c++)
        for (int own = ref_has_factors() ? 0 : 1; own < 2; own++) {
            enum { N = 170 };
            const double target = 0.21;
            ref_rng r = {(uint64_t)c + 3};
            ref_mat A = random_hermitian(&r, WISP_Z, N, 1), S = random_overlap(&r, WISP_D, N), M = ref_new(N, N);
            for (int64_t i = 0; i < N * N; i++) M.a[i] = A.a[i] - target * S.a[i];
            double *e = values_of(A, S);
            by_test t = {.inverse = inverse_of(M, 0), .value = e, .scale = ldexp(1, by[c][0])};
            times(A, by[c][0], WISP_Z), times(S, by[c][1], WISP_D);
            question q = {.p = make(*state, A, WISP_Z, S, WISP_D, NULL), .e = e, .n = N, .error = 1e-7};
            q.o = (wisp_eig_opts){.which = WISP_EIG_NEAREST, .count = 4};
            wisp_eig_opts o = q.o;
            q.o.target = target, o.target = ldexp(target, by[c][0] - by[c][1]);
            if (own) o.invert = solve, o.below = c == 0 ? NULL : count_below, o.invert_arg = &t;
            o.method = WISP_EIG_INVERT;
            for (int i = 0; i < N; i++) e[i] = ldexp(e[i], own ? -by[c][1] : 0); /* what count_below multiplies */
            wisp_eigen v;
            const wisp_status status = wisp_eig(&v, q.p.C, &o);
            for (int i = 0; i < N; i++) e[i] = ldexp(e[i], own ? by[c][1] : 0);
            if (status != (o.invert && !o.below ? WISP_ERR_INCOMPLETE : WISP_OK))
                fail_msg("units %d, own %d: %s", c, own, message_of(*state));
            assert_true(v.method == WISP_EIG_INVERT && v.found == 4 && (!own || t.solved > 0));
            for (int i = 0; i < v.found; i++) v.value[i].re = ldexp(v.value[i].re, by[c][1] - by[c][0]);
            check(&q, &v, "function");
            wisp_eigen_free(&v);
            ref_free(t.inverse);
            t.inverse = inverse_of(q.p.dense_A, 0.1 * t.scale);
            if (own && c == 0) {
                REF_FAILS(*state, wisp_eig(&v, q.p.C, &o), WISP_ERR_CALLBACK, "is not (A - target S)^-1");
                wisp_eigen_free(&v);
            }
            ref_free(t.inverse), ref_free(M);
            end_question(&q);
        }
}

/* A chain's hopping and 4 on the diagonal beside it: both have the same vectors. */
typedef struct {
    wisp_mat *A, *S, *C;
    wisp_overlap *overlap;
} chains;

static chains make_chains(wisp_ctx *ctx, const char *A, const char *S)
{
    chains c;
    REF_OK(ctx, wisp_mat_open(&c.A, ctx, A, NULL));
    REF_OK(ctx, wisp_mat_open(&c.S, ctx, S, &(wisp_mat_opts){.map = wisp_mat_map(c.A)}));
    REF_OK(ctx, wisp_overlap_create(&c.overlap, c.S, NULL));
    REF_OK(ctx, wisp_overlap_matrix(&c.C, c.overlap, c.A));
    return c;
}

static void drop_chains(chains *c)
{
    wisp_mat_free(c->C);
    wisp_overlap_free(c->overlap);
    wisp_mat_free(c->S), wisp_mat_free(c->A);
}

/* By default it is taken where it takes less; the plan says so, and what factors take. */
static void by_default(void **state)
{
    enum { N = 3500, K = 5 };
    if (!ref_has_factors()) return;
    chains c = make_chains(*state, "square:nx=3500,ny=1,periodic=none", "laplace:points=5,nx=3500,ny=1");
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .count = K, .target = 0.1};
    double e[N];
    for (int i = 0; i < N; i++) {
        const double hopping = -2 * cos(acos(-1) * (i + 1) / (N + 1));
        e[i] = hopping / (4 + hopping);
    }
    qsort(e, N, sizeof *e, by_size);
    wisp_plan plan;
    wisp_eig_choice choice;
    wisp_eigen v;
    REF_OK(*state, wisp_eig_plan(&plan, &choice, c.C, &o));
    assert_true(choice.method == WISP_EIG_INVERT && choice.factor_bytes > 0 && choice.invert_work < choice.filter_work);
    REF_OK(*state, wisp_eig(&v, c.C, &o));
    assert_true(v.complete && v.method == WISP_EIG_INVERT && v.proof == WISP_PROOF_INERTIA && v.found == K);
    const demand d = demand_of(&o, e, N, 1e-9);
    assert_true(matches(&v, e, &d, 1e-9));
    wisp_eigen_free(&v);
    wisp_eig_opts little = o;
    little.method = WISP_EIG_INVERT, little.bytes = 100000;
    REF_FAILS(*state, wisp_eig(&v, c.C, &little), WISP_ERR_NOMEM, "the factors of A - target S would take");
    assert_int_equal(v.factored, 0); /* those of S are no smaller */
    wisp_eigen_free(&v);
    drop_chains(&c);
}

/* What has no entries has no factors. */
static void refused(void **state)
{
    chains c = make_chains(*state, "square:nx=200,ny=1,periodic=none", "laplace:points=5,nx=200,ny=1");
    const wisp_operator op = {.map = wisp_mat_map(c.A), .type = WISP_D, .apply = apply_stored, .arg = c.A};
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 2};
    wisp_mat *A, *C;
    wisp_eigen v;
    REF_OK(*state, wisp_mat_from_apply(&A, *state, &op));
    REF_OK(*state, wisp_overlap_matrix(&C, c.overlap, A));
    REF_FAILS(*state, wisp_eig(&v, C, &o), WISP_ERR_UNSUPPORTED,
              ref_ranks() > 1 ? "on one rank alone" : "an operator has no entries");
    wisp_eigen_free(&v);
    if (!ref_has_factors()) {
        REF_FAILS(*state, wisp_eig(&v, c.C, &o), WISP_ERR_UNSUPPORTED,
                  ref_ranks() > 1 ? "on one rank alone" : "libmumps-seq-dev");
        wisp_eigen_free(&v);
        wisp_eig_opts any = o;
        any.method = WISP_EIG_DEFAULT;
        REF_OK(*state, wisp_eig(&v, c.C, &any));
        assert_true(v.complete && v.method != WISP_EIG_INVERT);
        wisp_eigen_free(&v);
    }
    wisp_mat_free(C), wisp_mat_free(A);
    drop_chains(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_factors),      cmocka_unit_test(from_far),
                                       cmocka_unit_test(one_value),       cmocka_unit_test(rough_roots),
                                       cmocka_unit_test(large_condition), cmocka_unit_test(not_definite),
                                       cmocka_unit_test(multiplets),      cmocka_unit_test(by_function),
                                       cmocka_unit_test(by_default),      cmocka_unit_test(refused)};
    return REF_RUN_CTX(tests);
}
