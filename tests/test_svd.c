/* Singular triplets against LAPACK: all types and shapes, empty rows and columns, ranks that are not full, many scales,
   and each method; every triplet is checked again by itself, left and right vectors apart. */
#include <stdbool.h>
#include <string.h>
#include "kpm_dense.h"
#include "ref_lapack.h"

/* Singular values, descending; [min(rows, cols)]. */
static double *values_of(ref_mat a)
{
    const int m = (int)a.rows, n = (int)a.cols, least = m < n ? m : n;
    double *x = ref_lapack(2 * (size_t)(m * n), m), *value = calloc((size_t)least, sizeof *value);
    double size = 0;
    assert_non_null(value);
    for (int64_t i = 0; i < a.rows; i++) /* parts, not |a_ij|, whose squares may be out of range */
        for (int64_t j = 0; j < a.cols; j++)
            size = fmax(size, fmax(fabs(creal(REF_AT(a, i, j))), fabs(cimag(REF_AT(a, i, j)))));
    if (!(size > 0)) size = 1;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            x[2 * (j * m + i)] = creal(REF_AT(a, i, j)) / size;
            x[2 * (j * m + i) + 1] = cimag(REF_AT(a, i, j)) / size;
        }
    ref_zgesvd(m, n, (lapack_complex_double *)x, value);
    for (int i = 0; i < least; i++) value[i] *= size;
    free(x);
    return value;
}

/* The largest of |A v - s u| and |A^H u - s v|, over size; and that columns of both sides are orthonormal. */
static double check_triplets(ref_mat a, const wisp_eigen *e, double size, double eps)
{
    ref_mat w = ref_get(e->vectors);
    double worst = 0;
    assert_int_equal(w.rows, a.rows + a.cols);
    for (int t = 0; t < e->found; t++) {
        double left = 0, right = 0;
        const double s = e->value[t].re / size;
        for (int64_t i = 0; i < a.rows; i++) {
            cplx sum = -s * REF_AT(w, i, t);
            for (int64_t j = 0; j < a.cols; j++) sum += REF_AT(a, i, j) / size * REF_AT(w, a.rows + j, t);
            left += creal(sum * conj(sum));
        }
        for (int64_t j = 0; j < a.cols; j++) {
            cplx sum = -s * REF_AT(w, a.rows + j, t);
            for (int64_t i = 0; i < a.rows; i++) sum += conj(REF_AT(a, i, j)) / size * REF_AT(w, i, t);
            right += creal(sum * conj(sum));
        }
        worst = fmax(worst, sqrt(fmax(left, right)));
        for (int k = 0; k <= t; k++) {
            cplx u = 0, v = 0;
            for (int64_t i = 0; i < a.rows; i++) u += conj(REF_AT(w, i, k)) * REF_AT(w, i, t);
            for (int64_t j = 0; j < a.cols; j++) v += conj(REF_AT(w, a.rows + j, k)) * REF_AT(w, a.rows + j, t);
            assert_true(cabs(u - (k == t)) < 2000 * eps && cabs(v - (k == t)) < 2000 * eps);
        }
    }
    ref_free(w);
    return worst;
}

typedef struct {
    wisp_eig_opts opts;
    double factor; /* by which all numbers are multiplied */
} question;

/* One question about a matrix, whose values are these. */
static void ask(wisp_ctx *ctx, ref_mat a, wisp_type type, const double *value, const question *q, const char *what)
{
    wisp_eigen e;
    wisp_mat *B;
    wisp_src augmented, src = ref_dense_src(a, type);
    const int least = (int)(a.rows < a.cols ? a.rows : a.cols);
    const double size = value[0] > 0 ? value[0] : 1, eps = ref_eps(type);
    const double tolerance = q->opts.tolerance > 0 ? q->opts.tolerance : eps > 1e-10 ? 1e-4 : 1e-8;
    REF_OK(ctx, wisp_src_augmented(&augmented, ctx, &src));
    REF_OK(ctx, wisp_mat_create(&B, ctx, &augmented, NULL));
    const wisp_status status = wisp_svd(&e, B, a.rows, &q->opts);
    if (status != WISP_OK) fail_msg("%s: %s", what, wisp_ctx_message(ctx, (char[512]){0}, 512));
    assert_true(e.complete);
    int from = 0, to = q->opts.count ? q->opts.count : 1; /* of value */
    if (q->opts.which == WISP_EIG_SMALLEST) from = least - to, to = least;
    if (q->opts.which == WISP_EIG_INTERVAL) {
        for (from = 0; from < least && value[from] > q->opts.high;) from++;
        for (to = from; to < least && value[to] >= q->opts.low;) to++;
    }
    if (e.found != to - from) fail_msg("%s: %d found, %d expected", what, e.found, to - from);
    for (int i = 0; i < e.found; i++)
        if (!(fabs(e.value[i].re - value[to - 1 - i]) <= 2 * tolerance * size + 100 * eps * size))
            fail_msg("%s: value %d is %.17g, expected %.17g", what, i, e.value[i].re, value[to - 1 - i]);
    if (e.found > 0 && ref_ranks() == 1) {
        const double worst = check_triplets(a, &e, size, eps);
        double most = 0;
        for (int i = 0; i < e.found; i++) most = fmax(most, e.residual[i]);
        const double said = q->opts.tolerance_abs > 0 ? INFINITY : most; /* over the largest value, not over bounds */
        if (!(worst <= fmin(1.1 * tolerance, 1.01 * said) + 300 * eps))
            fail_msg("%s: residual %g, said to be %g", what, worst, most);
    }
    wisp_eigen_free(&e);
    wisp_mat_free(B);
    wisp_src_close(&augmented), wisp_src_close(&src);
}

/* A random matrix. Kinds: 0 sparse, 1 its columns graded, 2 every third column empty, 3 of rank 1, 4 of two values, 5
   zero, 6 without zeros. */
static ref_mat random_matrix(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, int kind)
{
    ref_mat a = ref_new(rows, cols);
    if (kind == 5) { /* zero */
    } else if (kind == 6) {
        ref_free(a);
        a = ref_random_block(r, type, rows, (int)cols);
    } else if (kind == 4) {
        for (int64_t i = 0; i < rows && i < cols; i++) REF_AT(a, i, i) = i < 3 ? 2 : 1;
    } else if (kind == 3) {
        ref_mat u = ref_random_block(r, type, rows, 1), v = ref_random_block(r, type, cols, 1);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++) REF_AT(a, i, j) = REF_AT(u, i, 0) * conj(REF_AT(v, j, 0));
        ref_free(u), ref_free(v);
    } else {
        wisp_src src = ref_random_src(r, type, rows, cols, 1 + (int)ref_below(r, 9));
        ref_free(a);
        a = ref_dense(&src);
        wisp_src_close(&src);
        if (kind == 2)
            for (int64_t j = 0; j < cols; j += 3)
                for (int64_t i = 0; i < rows; i++) REF_AT(a, i, j) = 0;
        if (kind == 1) /* graded */
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < cols; j++) REF_AT(a, i, j) *= pow(10, -10 * (double)j / (double)cols);
    }
    ref_round(a, type);
    return a;
}

/* Of a few rows, by what LAPACK or a search gives. */
static void small(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {71};
    const int trials = ref_few() ? 40 : 240;
    for (int t = 0; t < trials; t++) {
        const wisp_type type = (wisp_type)(WISP_S + t % 4);
        const int64_t rows = 1 + ref_below(&r, t < 40 ? 4 : 40), cols = 1 + ref_below(&r, t < 40 ? 4 : 40);
        const int kind = (t / 4) % 6, least = (int)(rows < cols ? rows : cols);
        const int count = 1 + (int)ref_below(&r, least);
        char what[128];
        ref_mat a = random_matrix(&r, type, rows, cols, kind);
        double *value = values_of(a);
        for (int which = 0; which < 3; which++) {
            static const wisp_eig_which asked[] = {WISP_EIG_LARGEST, WISP_EIG_SMALLEST, WISP_EIG_INTERVAL};
            question q = {.opts = {.which = asked[which], .count = which < 2 ? count : 0, .seed = (uint64_t)t}};
            if (which == 2) { /* between two values, far from both */
                const double low = value[least - 1], high = value[0], gap = 1e-2 * high;
                q.opts.low = fmax(0.3 * high, 1e-3), q.opts.high = fmax(high * 1.5, 1);
                bool near = false;
                for (int i = 0; i < least; i++) near |= fabs(value[i] - q.opts.low) < gap;
                if (near || low > high) continue;
            }
            snprintf(what, sizeof what, "trial %d: %s, %lld x %lld, kind %d, which %d, count %d", t,
                     wisp_type_name(type), (long long)rows, (long long)cols, kind, which, count);
            ask(ctx, a, type, value, &q, what);
        }
        free(value);
        ref_free(a);
    }
}

/* Each method by name, where the search space is far from the whole. */
static void methods(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {73};
    static const struct {
        wisp_eig_which which;
        wisp_eig_method method;
        int64_t rows, cols;
        int count, kind;
    } of[] = {
        {WISP_EIG_LARGEST, WISP_LANCZOS, 300, 200, 5, 0},   {WISP_EIG_LARGEST, WISP_LANCZOS, 150, 400, 3, 2},
        {WISP_EIG_LARGEST, WISP_LANCZOS, 200, 300, 4, 3},   {WISP_EIG_LARGEST, WISP_LANCZOS, 220, 200, 6, 5},
        {WISP_EIG_LARGEST, WISP_LANCZOS, 220, 200, 5, 4},   {WISP_EIG_LARGEST, WISP_EIG_DENSE, 60, 90, 7, 3},
        {WISP_EIG_SMALLEST, WISP_EIG_DENSE, 70, 40, 4, 1},  {WISP_EIG_SMALLEST, WISP_CHEBFD, 201, 200, 2, 0},
        {WISP_EIG_SMALLEST, WISP_CHEBFD, 200, 204, 3, 0},   {WISP_EIG_INTERVAL, WISP_CHEBFD, 260, 150, 0, 0},
        {WISP_EIG_INTERVAL, WISP_EIG_DENSE, 50, 150, 0, 0}, {WISP_EIG_SMALLEST, WISP_LANCZOS, 260, 150, 3, 6},
        {WISP_EIG_SMALLEST, WISP_LANCZOS, 120, 300, 4, 4},  {WISP_EIG_SMALLEST, WISP_EIG_DEFAULT, 3100, 40, 3, 6}};
    const int cases = ref_few() ? 4 : (int)(sizeof of / sizeof of[0]);
    for (int i = 0; i < cases; i++) {
        const wisp_type type = i % 2 ? WISP_Z : WISP_D;
        ref_mat a = random_matrix(&r, type, of[i].rows, of[i].cols, of[i].kind);
        double *value = values_of(a);
        question q = {.opts = {.which = of[i].which, .method = of[i].method, .count = of[i].count}};
        if (of[i].which == WISP_EIG_INTERVAL)
            q.opts.low = 0.5 * (value[20] + value[21]), q.opts.high = 0.5 * (value[6] + value[7]);
        char what[64];
        snprintf(what, sizeof what, "case %d", i);
        ask(ctx, a, type, value, &q, what);
        free(value);
        ref_free(a);
    }
}

/* The same values, but for their scale, down to the ends of the range. */
static void scales(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {79};
    for (int t = 0; t < 16; t++) {
        const wisp_type type = (wisp_type)(WISP_S + t % 4);
        const bool single = type == WISP_S || type == WISP_C;
        const double by = (t / 4) % 2 ? (single ? 0x1p-115 : 0x1p-990) : (single ? 0x1p115 : 0x1p990);
        ref_mat a = random_matrix(&r, type, 17, 12, t % 3 == 2 ? 3 : 0);
        for (int64_t i = 0; i < a.rows; i++)
            for (int64_t j = 0; j < a.cols; j++) REF_AT(a, i, j) *= by;
        double *value = values_of(a);
        const question q = {.opts = {.which = t < 8 ? WISP_EIG_LARGEST : WISP_EIG_SMALLEST, .count = 3}};
        ask(ctx, a, type, value, &q, "a scale");
        free(value);
        ref_free(a);
    }
}

/* By A^H A a value that is 0 is not told from a small one: that is said, and what is right is given. */
static void squared(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {89};
    ref_mat a = random_matrix(&r, WISP_D, 300, 120, 2);
    wisp_src augmented, src = ref_dense_src(a, WISP_D);
    wisp_mat *B;
    wisp_eigen e;
    REF_OK(ctx, wisp_src_augmented(&augmented, ctx, &src));
    REF_OK(ctx, wisp_mat_create(&B, ctx, &augmented, NULL));
    const wisp_eig_opts opts = {.which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS, .count = 2};
    REF_FAILS(ctx, wisp_svd(&e, B, a.rows, &opts), WISP_ERR_STAGNATION, "by A^H A");
    assert_false(e.complete);
    wisp_eigen_free(&e);
    wisp_mat_free(B);
    wisp_src_close(&augmented), wisp_src_close(&src);
    ref_free(a);
    a = random_matrix(&r, WISP_D, 4, 5, 5); /* nothing is left of A v */
    src = ref_dense_src(a, WISP_D);
    REF_OK(ctx, wisp_src_augmented(&augmented, ctx, &src));
    REF_OK(ctx, wisp_mat_create(&B, ctx, &augmented, NULL));
    REF_FAILS(ctx, wisp_svd(&e, B, a.rows, &opts), WISP_ERR_INCOMPLETE,
              "0 of 2 singular triplets were found; by A^H A");
    assert_false(e.complete);
    wisp_eigen_free(&e);
    wisp_mat_free(B);
    wisp_src_close(&augmented), wisp_src_close(&src);
    ref_free(a);
}

static bool on_host_with_factors(const wisp_ctx *ctx)
{
    return ref_has_factors() && strcmp(wisp_ctx_device(ctx), "cpu") == 0;
}

/* The smallest values where a search by A^H A, or among the zeros of the augmented matrix, does not answer: those of
   empty columns, small ones, one that is repeated very often, and numbers at the ends of the range. */
static void ways(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {101};
    static const struct {
        wisp_eig_method method;
        int64_t rows, cols;
        int count, kind, exponent;
    } of[] = {{WISP_EIG_DEFAULT, 3050, 30, 3, 2, 0},    {WISP_EIG_DEFAULT, 20, 3050, 2, 1, 0},
              {WISP_EIG_INVERT, 300, 290, 2, 4, 0},     {WISP_EIG_DEFAULT, 3050, 20, 2, 6, 1000},
              {WISP_EIG_DEFAULT, 20, 3050, 2, 0, -950}, {WISP_LANCZOS, 90, 50, 3, 6, -950},
              {WISP_LANCZOS, 30, 90, 3, 6, 1000},       {WISP_CHEBFD, 200, 90, 4, 2, 0},
              {WISP_EIG_DEFAULT, 3050, 20, 3, 5, 0}};
    const bool factors = on_host_with_factors(ctx);
    for (int i = 0; i < (int)(sizeof of / sizeof of[0]); i++) {
        if (ref_few() && i > 3) break;
        if (!factors && (of[i].method == WISP_EIG_INVERT || (of[i].kind < 6 && of[i].rows + of[i].cols > 3000)))
            continue;
        const wisp_type type = i % 2 ? WISP_Z : WISP_D;
        ref_mat a = random_matrix(&r, type, of[i].rows, of[i].cols, of[i].kind);
        for (int64_t k = 0; k < a.rows * a.cols; k++) a.a[k] *= ldexp(1, of[i].exponent);
        double *value = values_of(a);
        const question q = {.opts = {.which = WISP_EIG_SMALLEST, .method = of[i].method, .count = of[i].count}};
        char what[64];
        snprintf(what, sizeof what, "way %d", i);
        ask(ctx, a, type, value, &q, what);
        free(value), ref_free(a);
    }
}

/* H D K, H and K reflections along random vectors, D diagonal: these are the singular values. */
static ref_mat of_values(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, const double *value)
{
    ref_mat a = ref_new(rows, cols), w[2] = {ref_random_block(r, type, rows, 1), ref_random_block(r, type, cols, 1)};
    for (int k = 0; k < 2; k++) {
        double square = 0;
        for (int64_t i = 0; i < w[k].rows; i++) square += creal(REF_AT(w[k], i, 0) * conj(REF_AT(w[k], i, 0)));
        for (int64_t i = 0; i < w[k].rows; i++) REF_AT(w[k], i, 0) /= sqrt(square);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            cplx sum = 0;
            for (int64_t k = 0; k < rows && k < cols; k++)
                sum += ((i == k) - 2 * REF_AT(w[0], i, 0) * conj(REF_AT(w[0], k, 0))) * value[k] *
                       ((j == k) - 2 * REF_AT(w[1], k, 0) * conj(REF_AT(w[1], j, 0)));
            REF_AT(a, i, j) = sum;
        }
    ref_free(w[0]), ref_free(w[1]);
    ref_round(a, type);
    return a;
}

/* Small values side by side, at tolerances below them: A v has lost digits of u there, and beside the zeros that are
   lifted their squares are next to nothing. */
static void side_by_side(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {103};
    static const struct {
        wisp_type type;
        int64_t rows, cols;
        int count;
        double tolerance, least[3]; /* 0: none */
    } of[] = {{WISP_D, 190, 110, 1, 1e-12, {1e-7, 1e-10}},       {WISP_Z, 100, 190, 2, 1e-12, {1e-7, 1e-10}},
              {WISP_D, 180, 100, 2, 1e-12, {1e-6, 1e-6, 1e-9}},  {WISP_Z, 200, 110, 1, 1e-12, {1e-5, 3e-11}},
              {WISP_D, 100, 190, 3, 1e-13, {1e-5, 1e-8, 1e-11}}, {WISP_S, 190, 110, 2, 2e-5, {2e-2, 1e-3}},
              {WISP_C, 110, 190, 1, 2e-5, {2e-2, 1e-3}}};
    const bool factors = on_host_with_factors(ctx);
    for (int i = 0; i < (int)(sizeof of / sizeof of[0]); i++) {
        if (ref_few() && i % 3 > 0) continue;
        if (!factors && (of[i].type == WISP_S || of[i].type == WISP_C)) continue;
        const int least = (int)(of[i].rows < of[i].cols ? of[i].rows : of[i].cols);
        double *value = calloc((size_t)least, sizeof *value);
        int small = 0;
        assert_non_null(value);
        while (small < 3 && of[i].least[small] > 0) small++;
        for (int j = 0; j < least; j++)
            value[j] = j < least - small ? 1 - 0.8 * j / least : of[i].least[j - least + small];
        ref_mat a = of_values(&r, of[i].type, of[i].rows, of[i].cols, value);
        const question q = {.opts = {.which = WISP_EIG_SMALLEST,
                                     .method = factors && i > 2 ? WISP_EIG_INVERT : WISP_CHEBFD,
                                     .count = of[i].count,
                                     .tolerance = of[i].tolerance}};
        char what[64];
        snprintf(what, sizeof what, "side by side, %d", i);
        ask(ctx, a, of[i].type, value, &q, what);
        free(value), ref_free(a);
    }
}

static int cancels(void *arg, const wisp_progress *p)
{
    int *const times = arg;
    return !strcmp(p->task, "singular vectors") && ++*times == 1;
}

/* A cancel while triplets are made of eigenpairs that are there: they are still given, and the wish is left. */
static void cancelled(void **state)
{
    (void)state;
    wisp_ctx *ctx;
    int times = 0;
    ref_rng r = {97};
    const wisp_ctx_opts o = {.threads = 2, .no_pin = 1, .progress = cancels, .progress_arg = &times};
    assert_int_equal(wisp_ctx_create(&ctx, &o), WISP_OK);
    ref_mat a = random_matrix(&r, WISP_Z, 40, 30, 0);
    double *value = values_of(a);
    const question q = {.opts = {.which = WISP_EIG_LARGEST, .count = 30}};
    ask(ctx, a, WISP_Z, value, &q, "cancelled");
    assert_int_equal(times, 1);
    assert_int_equal(wisp_ctx_step(ctx, "singular vectors", 1, 0), WISP_ERR_CANCELLED);
    free(value), ref_free(a);
    wisp_ctx_free(ctx);
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {83};
    wisp_src src = ref_random_src(&r, WISP_D, 9, 6, 4), augmented;
    wisp_mat *B;
    wisp_eigen e;
    REF_OK(ctx, wisp_src_augmented(&augmented, ctx, &src));
    REF_OK(ctx, wisp_mat_create(&B, ctx, &augmented, NULL));
    REF_FAILS(ctx, wisp_svd(&e, B, 9, &(wisp_eig_opts){.which = WISP_EIG_LARGEST, .count = 7}), WISP_ERR_ARG,
              "6 singular");
    REF_FAILS(ctx, wisp_svd(&e, B, 15, NULL), WISP_ERR_ARG, "15 rows");
    REF_FAILS(ctx, wisp_svd(&e, B, 8, NULL), WISP_ERR_ARG, "8 rows of A");
    REF_FAILS(ctx, wisp_svd(&e, B, 9, &(wisp_eig_opts){.which = WISP_EIG_NEAREST}), WISP_ERR_ARG, "opts.which");
    REF_FAILS(ctx, wisp_svd(&e, B, 9, &(wisp_eig_opts){.which = WISP_EIG_INTERVAL, .high = 1}), WISP_ERR_ARG,
              "above 0");
    REF_FAILS(ctx, wisp_svd(&e, B, 9, &(wisp_eig_opts){.tolerance = 1e-18}), WISP_ERR_ARG, "opts.tolerance");
    wisp_plan plan;
    wisp_eig_choice choice;
    REF_OK(ctx, wisp_svd_plan(&plan, &choice, B, 9, &(wisp_eig_opts){.which = WISP_EIG_SMALLEST, .count = 2}));
    assert_true(plan.bytes_most > 0 && choice.method == WISP_EIG_DENSE);
    wisp_src_close(&augmented);
    src.rows = 0;
    REF_FAILS(ctx, wisp_src_augmented(&augmented, ctx, &src), WISP_ERR_ARG, "rows and columns");
    src.rows = 9;
    wisp_mat_free(B);
    wisp_src_close(&src);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(small, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(methods, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(scales, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(ways, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(squared, ref_setup, ref_teardown),
                                       cmocka_unit_test_setup_teardown(side_by_side, ref_setup, ref_teardown),
                                       cmocka_unit_test(cancelled),
                                       cmocka_unit_test_setup_teardown(refusals, ref_setup, ref_teardown)};
    return REF_RUN(tests);
}
