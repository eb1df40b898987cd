/* Any of a multiplet: no more pairs than asked for, however many are equal; what is known of the others; and "complete"
   only where nothing that comes before is missing. */
#include "eig_cases.h"

/* `level` equal values at one end of the spectrum, or around the middle one, behind `before` single ones. */
static double *levels(ref_rng *r, wisp_eig_which which, int64_t n, int64_t before, int64_t level)
{
    double *e = calloc((size_t)n, sizeof *e);
    assert_non_null(e);
    for (int64_t i = 0; i < n; i++) {
        const double x = i < before ? 0.1 * (double)(i + 1) : i < before + level ? 0.5 : 0.9 + 0.1 * ref_uniform(r);
        e[i] = which == WISP_EIG_SMALLEST ? x - 1 : which == WISP_EIG_NEAREST && i % 2 ? -x : x;
        if (which == WISP_EIG_LARGEST) e[i] = 1 - x;
    }
    qsort(e, (size_t)n, sizeof *e, by_size);
    return e;
}

typedef struct {
    wisp_eig_which which;
    wisp_eig_method method;
    wisp_type type;
    int64_t rows, before, level;
    int count, block;
} any_case;

/* The distance from the end or the target, of which the least ones are asked for. */
static double distance_of(wisp_eig_which which, double e)
{
    return which == WISP_EIG_SMALLEST ? e + 1 : which == WISP_EIG_LARGEST ? 1 - e : fabs(e);
}

/* The single ones, and of the level what equals a value that was given: around a target it lies on two sides, whose
   distances rounding tells apart. */
static int equal_ones(const any_case *c, const wisp_eigen *v)
{
    bool given[2] = {false, false};
    int n = (int)c->before;
    for (int i = 0; i < v->found; i++)
        if (fabs(distance_of(c->which, v->value[i].re) - 0.5) < 0.05)
            given[c->which == WISP_EIG_NEAREST && v->value[i].re < 0] = true;
    for (int64_t i = c->before; i < c->before + c->level; i++) n += given[c->which == WISP_EIG_NEAREST && i % 2];
    return n;
}

static void check(wisp_ctx *ctx, const any_case *c, uint64_t seed)
{
    ref_rng r = {seed};
    const bool single = c->type == WISP_S || c->type == WISP_C;
    const double eps = single ? 1.2e-7 : 2.2e-16, tolerance = single ? 2e-5 : 1e-8;
    double *e = levels(&r, c->which, c->rows, c->before, c->level);
    ref_mat m = hermitian_of(&r, e, c->rows, c->type);
    wisp_mat *A = ref_mat_of(ctx, m, c->type);
    const wisp_eig_opts o = {.which = c->which,
                             .method = c->method,
                             .count = c->count,
                             .block = c->block,
                             .tolerance = tolerance,
                             .seed = seed,
                             .any = 1};
    wisp_eigen v;
    REF_OK(ctx, wisp_eig(&v, A, &o));
    assert_true(v.complete && v.method == c->method);
    assert_int_equal(v.found, c->count);
    assert_pairs(&v, m, tolerance * v.bounds.halfwidth, eps, "any");
    const int64_t left = c->before + c->level;
    assert_true(v.at_least >= v.found && v.at_least <= left);
    if (c->method == WISP_EIG_DENSE || c->method == WISP_CHEBFD) assert_int_equal(v.at_least, equal_ones(c, &v));
    if (c->count > c->before && c->count < left) assert_true(v.at_least > v.found);
    int first = 0;
    for (int i = 0; i < v.found; i++) { /* all single ones, and else the level */
        const double x = distance_of(c->which, v.value[i].re);
        const bool level = fabs(x - 0.5) < 1e4 * eps + tolerance;
        first += !level && fabs(10 * x - round(10 * x)) < 1e-3 && x < 0.45;
        if (!level && !(x < 0.45)) fail_msg("%.12g is none of those that were asked for", v.value[i].re);
    }
    assert_int_equal(first, c->before < c->count ? c->before : c->count);
    wisp_eigen_free(&v);
    wisp_mat_free(A);
    ref_free(m);
    free(e);
}

static void of_levels(void **state)
{
    static const any_case cases[] = {
        {WISP_EIG_SMALLEST, WISP_LANCZOS, WISP_D, 260, 2, 120, 4, 0},
        {WISP_EIG_SMALLEST, WISP_LANCZOS, WISP_Z, 260, 0, 150, 1, 1},
        {WISP_EIG_LARGEST, WISP_LANCZOS, WISP_S, 240, 3, 90, 5, 2},
        {WISP_EIG_LARGEST, WISP_LANCZOS, WISP_C, 240, 1, 3, 3, 3},
        {WISP_EIG_SMALLEST, WISP_LANCZOS, WISP_D, 260, 4, 100, 3, 0},
        {WISP_EIG_SMALLEST, WISP_LANCZOS, WISP_D, 240, 1, 2, 3, 4},
        {WISP_EIG_SMALLEST, WISP_EIG_DENSE, WISP_D, 60, 2, 30, 4, 0},
        {WISP_EIG_LARGEST, WISP_EIG_DENSE, WISP_C, 60, 0, 9, 2, 0},
        {WISP_EIG_NEAREST, WISP_EIG_DENSE, WISP_Z, 60, 4, 8, 6, 0},
        {WISP_EIG_NEAREST, WISP_CHEBFD, WISP_D, 250, 2, 12, 5, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (uint64_t seed = 1; seed <= (ref_few() ? 1 : 2); seed++) check(*state, &cases[c], 10 * c + seed);
}

/* Rows i and n/2 + i mix two of the eigenvalues: as sparse as matrices are in which a few columns take less than all of
   a level do. */
static ref_mat in_pairs(ref_rng *r, const double *e, int64_t n, wisp_type type)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0, j = n / 2; j < n; i++, j++) {
        const double angle = 3 * ref_uniform(r), c = cos(angle), s = sin(angle);
        const cplx phase = wisp_type_is_complex(type) ? cexp(6 * I * ref_uniform(r)) : 1;
        REF_AT(m, i, i) = c * c * e[i] + s * s * e[j];
        REF_AT(m, j, j) = s * s * e[i] + c * c * e[j];
        REF_AT(m, i, j) = (e[i] - e[j]) * c * s * phase;
        REF_AT(m, j, i) = conj(REF_AT(m, i, j));
    }
    return m;
}

/* A level at the target, far larger than what is asked for: a small space does, and pairs there need no other proof. */
static void level_at_target(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    for (int c = ref_few() ? 1 : 0; c < 4; c += ref_few() ? 2 : 1) { /* a complex one, and a flat band */
        const wisp_type type = c == 1 ? WISP_Z : WISP_D;
        const int64_t n = 800, level = 410;
        double *e = calloc((size_t)n, sizeof *e);
        wisp_mat *A;
        ref_mat m = {0};
        assert_non_null(e);
        for (int64_t i = 0; i < n; i++)
            e[i] = i < level ? 0.5 : ref_uniform(&r) < 0.5 ? -1 - 0.003 * (double)i : 1 + 0.002 * (double)i;
        if (c < 2) {
            m = in_pairs(&r, e, n, type);
            A = ref_mat_of(ctx, m, type);
        } else { /* the flat band touches another one */
            const wisp_mat_opts mo = {.type = type};
            REF_OK(ctx, wisp_mat_open(
                            &A, ctx, c == 2 ? "kagome:nx=14,ny=14,periodic=xy" : "kagome:nx=20,ny=9,periodic=xy", &mo));
        }
        const double target = c < 2 ? 0.5 : 2;
        const wisp_eig_opts o = {
            .which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = target, .count = 3 + c, .any = 1, .seed = 3};
        wisp_eigen v;
        wisp_plan plan;
        wisp_eig_choice choice;
        REF_OK(ctx, wisp_eig_plan(&plan, &choice, A, &o));
        assert_true(choice.method == WISP_CHEBFD && choice.search <= 48);
        REF_OK(ctx, wisp_eig(&v, A, &o));
        assert_true(v.complete && v.method == WISP_CHEBFD && v.proof == WISP_PROOF_CHECKS);
        assert_int_equal(v.found, o.count);
        assert_true(v.search == choice.search && v.at_least >= v.found);
        for (int i = 0; i < v.found; i++) {
            assert_true(fabs(v.value[i].re - target) <= 2e-8 * v.bounds.halfwidth * (1 + 1e-6));
            assert_true(v.residual[i] <= 1e-8);
        }
        if (c < 2) assert_pairs(&v, m, 1e-8 * v.bounds.halfwidth, 2.2e-16, "a level at the target");
        wisp_eigen_free(&v);
        wisp_mat_free(A);
        if (c < 2) ref_free(m);
        free(e);
    }
}

static int entry_of_diagonal(void *e, int64_t row, int64_t *col, cplx *val)
{
    *col = row;
    *val = ((const double *)e)[row];
    return 1;
}

static int by_distance(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* A band of many values next to each other that is no level: a few of them do not converge apart from the others, and
   to try it costs no more than all of them do. */
static void dense_band(void **state)
{
    enum { ROWS = 1200, BAND = 160, COUNT = 4 };
    wisp_ctx *ctx = *state;
    ref_rng r = {23};
    double e[ROWS];
    int64_t products[2];
    if (ref_few()) return; /* what is counted is the same */
    for (int i = 0; i < ROWS; i++) {
        const double x = ref_uniform(&r);
        e[i] = i < BAND ? 1e-5 * (2 * x - 1) : (i % 2 ? -1 : 1) * (0.3 + 1.7 * x);
    }
    wisp_src source = ref_rows_src(WISP_D, ROWS, ROWS, 1, entry_of_diagonal, e);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &source, NULL));
    wisp_src_close(&source);
    qsort(e, ROWS, sizeof *e, by_distance);
    for (int any = 0; any < 2; any++) {
        const wisp_eig_opts o = {
            .which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 0, .count = COUNT, .any = any, .seed = 1};
        wisp_eigen v;
        REF_OK(ctx, wisp_eig(&v, A, &o));
        assert_true(v.complete && v.found >= COUNT && v.found < 2 * COUNT);
        double value[2 * COUNT];
        for (int i = 0; i < v.found; i++) value[i] = v.value[i].re;
        qsort(value, (size_t)v.found, sizeof *value, by_distance);
        for (int i = 0; i < v.found; i++) assert_true(fabs(value[i] - e[i]) <= 1e-8 * v.bounds.halfwidth);
        products[any] = v.products;
        wisp_eigen_free(&v);
    }
    assert_true(products[1] < 3 * products[0]);
    wisp_mat_free(A);
}

static int warnings;

static void count_warnings(void *arg, wisp_log_level level, const char *text)
{
    (void)arg;
    warnings += level == WISP_LOG_WARN && strstr(text, "wide beside the distance of the levels") != NULL;
}

/* A chain's lowest levels lie at (pi k / 4001)^2: a wide tolerance does not tell them apart, and a small one does.
   Those of a lattice are equal in pairs, of which there is nothing to say. */
static void levels_and_tolerance(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* they share the count */
    static const struct {
        const char *spec;
        wisp_eig_opts o;
        int warns;
    } ask[] = {
        {"laplace:points=5,nx=4000,ny=1", {.count = 5, .tolerance = 1e-3, .method = WISP_LANCZOS, .any = 1}, 1},
        {"laplace:points=5,nx=300,ny=1", {.count = 5, .tolerance = 1e-8, .method = WISP_LANCZOS, .any = 1}, 0},
        {"laplace:points=5,nx=300,ny=1", {.count = 5, .tolerance = 1e-2, .method = WISP_EIG_DENSE}, 0},
        {"laplace:points=5,nx=30,ny=30", {.count = 2, .tolerance = 1e-8, .method = WISP_LANCZOS, .any = 1}, 0},
        {"laplace:points=5,nx=30,ny=30", {.count = 2, .tolerance = 1e-4, .method = WISP_LANCZOS}, 0},
        {"laplace:points=5,nx=30,ny=30", {.count = 2, .type = WISP_S, .method = WISP_LANCZOS, .any = 1}, 0},
        {"laplace:points=5,nx=17,ny=17", {.count = 5, .method = WISP_EIG_DENSE}, 0},
        {"laplace:points=5,nx=17,ny=17", {.which = WISP_EIG_NEAREST, .count = 3, .method = WISP_EIG_DENSE}, 0},
    };
    for (size_t c = 0; c < sizeof ask / sizeof *ask; c++) {
        wisp_ctx *ctx;
        wisp_mat *A;
        wisp_eigen v;
        warnings = 0;
        const wisp_ctx_opts co = {.threads = 1, .no_pin = 1, .log = count_warnings};
        REF_OK(NULL, wisp_ctx_create(&ctx, &co));
        const wisp_mat_opts mo = {.type = ask[c].o.type};
        REF_OK(ctx, wisp_mat_open(&A, ctx, ask[c].spec, &mo));
        REF_OK(ctx, wisp_eig(&v, A, &ask[c].o));
        if ((warnings > 0) != ask[c].warns) fail_msg("case %d: %d warnings", (int)c, warnings);
        wisp_eigen_free(&v);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

/* What is larger than may be locked is told, with what helps. */
static void too_many(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    double *e = levels(&r, WISP_EIG_SMALLEST, 260, 1, 150);
    ref_mat m = hermitian_of(&r, e, 260, WISP_D);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_eigen v;
    const wisp_eig_opts o = {.count = 2, .method = WISP_LANCZOS};
    REF_FAILS(ctx, wisp_eig(&v, A, &o), WISP_ERR_INCOMPLETE, "multiplet, of which opts.any takes some");
    assert_true(!v.complete);
    wisp_eigen_free(&v);
    const wisp_eig_opts bad = {.which = WISP_EIG_INTERVAL, .low = -1, .high = 1, .any = 1};
    REF_FAILS(ctx, wisp_eig(&v, A, &bad), WISP_ERR_ARG, "opts.any is for a number of eigenvalues");
    wisp_eigen_free(&v);
    wisp_mat_free(A);
    ref_free(m);
    free(e);
}

/* A multiplet of as many as may be locked, but for a few, is whole also where a start of others has had these locked
   first: they don't count. */
static void others_locked(void **state)
{
    enum { ROWS = 200, LEVEL = 86, WIDTH = 2 };
    wisp_ctx *ctx = *state;
    ref_rng r = {9};
    ref_mat A = ref_new(ROWS, ROWS), start = ref_new(ROWS, WIDTH);
    for (int64_t i = 0; i < ROWS; i++) REF_AT(A, i, i) = i < LEVEL ? -1 : 0.95 * ref_uniform(&r);
    for (int j = 0; j < WIDTH; j++) REF_AT(start, LEVEL + 40 * j, j) = 1;
    wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
    wisp_blk *x;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(M), WISP_D, WIDTH));
    ref_put(x, start);
    for (int count = 11; count < 15; count++) { /* 2 count + 64 may be locked */
        wisp_eigen e;
        const wisp_eig_opts o = {.count = count, .method = WISP_LANCZOS, .tolerance = 1e-12, .start = x};
        REF_OK(ctx, wisp_eig(&e, M, &o));
        assert_true(e.complete);
        assert_int_equal(e.found, LEVEL);
        wisp_eigen_free(&e);
    }
    wisp_blk_free(x);
    wisp_mat_free(M);
    ref_free(A), ref_free(start);
}

/* Block diagonal and normal: 100 pairs of values at angle 0.7 and radius 1, real ones of 1.2 and 1.3, others within
 * 0.9. */
static void not_hermitian(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {5};
    const int64_t n = 320;
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i += 2) {
        const double size = i < 200 ? 1 : i < 202 ? 1.2 : 0.9 * fabs(ref_uniform(&r)), angle = i < 200 ? 0.7 : 3 * size;
        const double re = i >= 200 && i < 202 ? size : size * cos(angle),
                     im = i >= 200 && i < 202 ? 0 : size * sin(angle);
        REF_AT(m, i, i) = REF_AT(m, i + 1, i + 1) = re;
        REF_AT(m, i, i + 1) = im, REF_AT(m, i + 1, i) = -im;
        if (i == 200) REF_AT(m, i, i) = 1.3;
    }
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    for (int count = 1; count <= 6; count += ref_few() ? 2 : 1) { /* the next even number has the same pairs */
        wisp_eigen v;
        wisp_eig_opts o = {.which = WISP_EIG_LARGEST, .method = WISP_KRYLOV_SCHUR, .count = count, .seed = 7, .any = 1};
        REF_OK(ctx, wisp_eig(&v, A, &o));
        const int even = count > 2 ? (count + 1) / 2 * 2 : count; /* both of a conjugate pair */
        assert_true(v.complete && v.found == even);
        assert_int_equal(v.at_least > v.found, count > 2);
        for (int i = 0; i < v.found; i++) {
            const double size = hypot(v.value[i].re, v.value[i].im);
            assert_true(v.residual[i] <= 1e-8 && fabs(size - (v.value[i].im != 0 ? 1
                                                              : size > 1.25      ? 1.3
                                                                                 : 1.2)) < 1e-7);
        }
        wisp_eigen_free(&v);
        o.any = 0;
        if (count > 2) REF_FAILS(ctx, wisp_eig(&v, A, &o), WISP_ERR_INCOMPLETE, "of which opts.any takes some");
        if (count > 2) wisp_eigen_free(&v);
    }
    wisp_mat_free(A);
    ref_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_levels),  cmocka_unit_test(level_at_target), cmocka_unit_test(levels_and_tolerance),
        cmocka_unit_test(too_many),   cmocka_unit_test(others_locked),   cmocka_unit_test(not_hermitian),
        cmocka_unit_test(dense_band),
    };
    return REF_RUN_CTX(tests);
}
