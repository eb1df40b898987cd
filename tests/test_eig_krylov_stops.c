/* Lanczos and Krylov-Schur that begin with given vectors, end early, run out of memory, or have an operator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "eig_cases.h"
#include "message.h"

static wisp_mat *open_mat(wisp_ctx *ctx, const char *spec)
{
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, spec, NULL));
    return A;
}

/* Each method, with a matrix on which it takes some restarts. */
static const struct {
    const char *spec;
    wisp_eig_method method;
    wisp_eig_which which;
} cases[] = {{"laplace:points=5,nx=31,ny=29", WISP_LANCZOS, WISP_EIG_SMALLEST},
             {"laplace:points=5,nx=31,ny=29", WISP_LANCZOS, WISP_EIG_LARGEST},
             {"matpde:nx=32,ny=32", WISP_KRYLOV_SCHUR, WISP_EIG_LARGEST_REAL}};
enum { CASES = sizeof cases / sizeof *cases };

static wisp_eig_opts options(int c)
{
    return (wisp_eig_opts){.method = cases[c].method, .which = cases[c].which, .count = 5};
}

/* Values of the Laplacian of a rectangle: 4 - 2 cos(i pi / 32) - 2 cos(j pi / 30). */
static void known(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_mat(ctx, cases[0].spec);
    double w[31 * 29];
    for (int i = 0; i < 31; i++)
        for (int j = 0; j < 29; j++) {
            const double v = 4 - 2 * cos((i + 1) * M_PI / 32) - 2 * cos((j + 1) * M_PI / 30);
            int at = i * 29 + j;
            for (; at > 0 && w[at - 1] > v; at--) w[at] = w[at - 1];
            w[at] = v;
        }
    for (int c = 0; c < 2; c++)
        for (int block = 0; block < 4; block++) {
            wisp_eigen e;
            wisp_eig_opts o = options(c);
            o.block = block;
            o.count = 9;
            REF_OK(ctx, wisp_eig(&e, A, &o));
            assert_true(e.found >= 9 && e.complete && e.method == WISP_LANCZOS && e.products > 0 && e.rounds > 0);
            assert_true(e.search >= 9 && e.block > 0 && (block == 0 || e.block == block));
            for (int i = 0; i < e.found; i++) {
                assert_true(fabs(e.value[i].re - (c == 0 ? w[i] : w[31 * 29 - e.found + i])) < 1e-10);
                assert_true(e.residual[i] <= 1e-8);
            }
            wisp_eigen_free(&e);
        }
    wisp_mat_free(A);
}

/* Search spaces of fewer columns than looks are taken at: they end, and what they call complete is. */
static void small_spaces(void **state)
{
    wisp_ctx *ctx = *state;
    for (int c = 0; c < CASES; c++) {
        wisp_mat *A = open_mat(ctx, cases[c].spec);
        int complete = 0;
        wisp_eigen all, e;
        wisp_eig_opts o = options(c);
        REF_OK(ctx, wisp_eig(&all, A, &o));
        o.max_rounds = 400;
        for (int i = 0; i < 32; i += ref_few() ? 3 : 1) { /* each size of space once, at least */
            o.search = 1 + i % 8, o.block = 1 + i / 8 % 2, o.count = 1 + i / 16;
            const wisp_status status = wisp_eig(&e, A, &o);
            if (status != WISP_ERR_ITERATIONS) assert_int_equal(status, WISP_OK);
            assert_int_equal(e.complete, status == WISP_OK);
            if (e.complete) assert_true(e.found >= o.count);
            for (int j = 0; j < e.found; j++) {
                const int last = o.which == WISP_EIG_SMALLEST ? j : all.found - e.found + j;
                const double off = hypot(e.value[j].re - all.value[last].re, e.value[j].im - all.value[last].im);
                if (e.complete) assert_true(off < 1e-6);
            }
            complete += e.complete;
            wisp_eigen_free(&e);
        }
        print_message("%s: %d are complete\n", cases[c].spec, complete);
        assert_true(complete >= (ref_few() ? 3 : 8));
        wisp_eigen_free(&all);
        wisp_mat_free(A);
    }
}

/* Multiplets at tolerances of 18 and 45 rounding errors: their bounds, and columns that were turned by hundreds of
   restarts, keep residuals above it that Ritz vectors of the matrix itself, once more filtered, do not have. */
static void near_rounding(void **state)
{
    enum { N = 9, COUNT = 18, TIMES = 8 };
    if (REF_SANITIZED) skip(); /* of numbers alone */
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_mat(ctx, "laplace:points=7,nx=9,ny=9,nz=9");
    int complete = 0;
    double w[N * N * N];
    for (int i = 0; i < N * N * N; i++) {
        const double v = 6 - 2 * cos((i % N + 1) * M_PI / (N + 1)) - 2 * cos((i / N % N + 1) * M_PI / (N + 1)) -
                         2 * cos((i / N / N + 1) * M_PI / (N + 1));
        int at = i;
        for (; at > 0 && w[at - 1] > v; at--) w[at] = w[at - 1];
        w[at] = v;
    }
    for (int i = 0; i < TIMES; i++) {
        wisp_eigen e;
        const wisp_eig_opts o = {.method = WISP_LANCZOS,
                                 .which = i % 2 ? WISP_EIG_SMALLEST : WISP_EIG_LARGEST,
                                 .count = COUNT,
                                 .any = 1,
                                 .search = 4 + i % 3,
                                 .tolerance = i % 4 == 3 ? 1e-14 : 4e-15,
                                 .seed = (uint64_t)i};
        const wisp_status status = wisp_eig(&e, A, &o);
        print_message("status %d, %d pairs after %d restarts\n", status, e.found, e.rounds);
        if (status != WISP_OK) assert_int_equal(status, WISP_ERR_STAGNATION);
        assert_int_equal(e.complete, status == WISP_OK);
        for (int j = 0; j < e.found; j++) {
            assert_true(e.residual[j] <= o.tolerance);
            assert_true(fabs(e.value[j].re - w[i % 2 ? j : N * N * N - e.found + j]) < 1e-13);
        }
        if (e.complete) assert_int_equal(e.found, COUNT);
        complete += e.complete;
        wisp_eigen_free(&e);
    }
    assert_true(complete >= TIMES - 1);
    wisp_mat_free(A);
}

/* A dense matrix, whose products are not as exact as the smallest tolerance: the search may end because rounding keeps
   residuals above it, but what is within it is given. */
static void below_rounding(void **state)
{
    enum { COPIES = 11, ROWS = 500, COUNT = 4, TIMES = 6 };
    if (REF_SANITIZED) skip(); /* of numbers alone */
    wisp_ctx *ctx = *state;
    ref_rng r = {47};
    double value[ROWS];
    for (int i = 0; i < ROWS; i++) value[i] = i < COPIES ? -1 : ROWS - i <= COPIES ? 1 : 0.9 * ref_uniform(&r);
    ref_mat m = hermitian_of(&r, value, ROWS, WISP_D);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    int found = 0;
    for (int i = 0; i < TIMES; i++) {
        wisp_eigen e;
        const wisp_eig_opts o = {.method = WISP_LANCZOS,
                                 .which = i % 2 ? WISP_EIG_LARGEST : WISP_EIG_SMALLEST,
                                 .count = COUNT,
                                 .any = 1,
                                 .tolerance = 16.5 * 0x1p-52,
                                 .seed = ref_next(&r)};
        const wisp_status status = wisp_eig(&e, A, &o);
        print_message("status %d, %d pairs after %d restarts\n", status, e.found, e.rounds);
        if (status != WISP_OK) assert_int_equal(status, WISP_ERR_STAGNATION);
        for (int j = 0; j < e.found; j++) assert_true(e.residual[j] <= o.tolerance);
        found += e.found;
        wisp_eigen_free(&e);
    }
    assert_true(found >= COUNT * TIMES * 3 / 4);
    wisp_mat_free(A);
    ref_free(m);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

typedef struct {
    int calls, ends_at, found;
} watch;

static int look(void *arg, int round, int found, double wanted, double residual)
{
    watch *w = arg;
    w->calls++;
    w->found = found;
    assert_int_equal(round, w->calls);
    assert_true(wanted >= 1 && !isnan(residual));
    return w->calls == w->ends_at;
}

static void ended(void **state)
{
    wisp_ctx *ctx = *state;
    for (int c = 0; c < CASES; c++) {
        wisp_mat *A = open_mat(ctx, cases[c].spec);
        wisp_eig_opts o = options(c);
        watch all = {0};
        wisp_eigen e, part;
        o.search = 12;
        o.observe = look, o.observe_arg = &all;
        REF_OK(ctx, wisp_eig(&e, A, &o));
        assert_int_equal(all.calls, e.rounds);
        assert_true(all.calls > 3);
        for (int at = 1; at < all.calls; at += ref_few() ? 3 : 1) {
            watch some = {.ends_at = at};
            o.observe_arg = &some;
            REF_FAILS(ctx, wisp_eig(&part, A, &o), WISP_ERR_CANCELLED, "ended by opts.observe after round");
            assert_true(!part.complete && part.found <= e.found + 2 && (part.found == 0) == (part.vectors == NULL));
            for (int i = 0; i < part.found; i++) {
                double nearest = INFINITY;
                for (int j = 0; j < e.found; j++)
                    nearest = fmin(nearest, hypot(e.value[j].re - part.value[i].re, e.value[j].im - part.value[i].im));
                assert_true(part.residual[i] <= 1e-8 && nearest < 1e-6);
            }
            wisp_eigen_free(&part);
        }
        o.observe = NULL;
        o.max_rounds = 2;
        REF_FAILS(ctx, wisp_eig(&part, A, &o), WISP_ERR_ITERATIONS, "after 2 restarts");
        assert_int_equal(part.rounds, 2);
        wisp_eigen_free(&part);
        wisp_ctx_cancel(ctx);
        assert_int_equal(wisp_eig(&part, A, &o), WISP_ERR_CANCELLED);
        wisp_eigen_free(&part);
        wisp_ctx_resume(ctx);
        wisp_eigen_free(&e);
        wisp_mat_free(A);
    }
}

/* Vectors of an earlier call: fewer restarts. Zeros and multiples of each other are no start, and do no harm. */
static void starts(void **state)
{
    wisp_ctx *ctx = *state;
    for (int c = 0; c < CASES; c++) {
        wisp_mat *A = open_mat(ctx, cases[c].spec);
        wisp_eig_opts o = options(c);
        wisp_eigen e, again;
        REF_OK(ctx, wisp_eig(&e, A, &o));
        wisp_blk *zero;
        REF_OK(ctx, wisp_blk_create(&zero, ctx, wisp_mat_map(A), WISP_D, 3));
        const wisp_blk *start[] = {wisp_blk_type(e.vectors) == WISP_D ? e.vectors : zero, zero};
        for (int s = 0; s < 2; s++)
            for (int block = 1; block < 5; block++) {
                if (REF_SANITIZED && (block + c) % 2 != s) continue; /* each block meets both starts in other cases */
                o.start = start[s];
                o.block = block;
                REF_OK(ctx, wisp_eig(&again, A, &o));
                assert_int_equal(again.found, e.found);
                for (int i = 0; i < e.found; i++)
                    assert_true(hypot(again.value[i].re - e.value[i].re, again.value[i].im - e.value[i].im) < 1e-6);
                wisp_eigen_free(&again);
            }
        wisp_blk_free(zero);
        wisp_eigen_free(&e);
        wisp_mat_free(A);
    }
}

/* Values that lie farthest out, by far, in which the start has no part: a polynomial that is chosen without them would
   make them larger than all numbers. The same where they are locked before the others, whose last ones lie close
   together: it would make what rounding puts in of them larger than all else. */
static void outliers(void **state)
{
    enum { ROWS = 254, WIDTH = 5, OUTLIERS = 4, SHAPES = 4 };
    static const double out[OUTLIERS] = {9, 22, 300, 1e6};
    static const int count[] = {1, 4, 20};
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    for (int c = 0; c < SHAPES * OUTLIERS * 3; c += ref_few() ? 5 : 1) {
        const int shape = c % SHAPES, n = shape == 2 ? 1 : shape == 3 ? 20 : count[c / SHAPES / OUTLIERS];
        const bool hermitian = shape != 2;
        const double side = hermitian ? -1 : 1, outlier = out[c / SHAPES % OUTLIERS];
        ref_mat A = ref_new(ROWS, ROWS), start = ref_new(ROWS, WIDTH);
        for (int64_t i = 0; i < ROWS; i++) {
            const double x = (double)(i - 1) / ROWS,
                         to[SHAPES] = {1 - 2 * x, cos(3.14 * x), 1 - 2 * x, 1 - 2 * x * x * x};
            REF_AT(A, i, i) = side * (i == 0 ? outlier : to[shape]);
            if (!hermitian && i > 1) REF_AT(A, i - 1, i) = 0.01 * ref_uniform(&r);
            for (int j = 0; j < WIDTH; j++) REF_AT(start, i, j) = i == 0 ? 0 : ref_uniform(&r);
        }
        wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
        wisp_blk *x;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(M), WISP_D, WIDTH));
        ref_put(x, start);
        for (int block = shape == 3 ? 4 : 1; block < 5; block++) {
            wisp_eigen e;
            const wisp_eig_opts o = {.method = hermitian ? WISP_LANCZOS : WISP_KRYLOV_SCHUR,
                                     .which = hermitian ? WISP_EIG_SMALLEST : WISP_EIG_LARGEST_REAL,
                                     .count = n,
                                     .block = block,
                                     .start = shape == 3 ? NULL : x};
            const wisp_status status = wisp_eig(&e, M, &o);
            if (status != WISP_OK || e.found < n)
                fail_msg("shape %d, an outlier of %g, %d wanted, block %d: %d found (%s)", shape, outlier, n, block,
                         e.found, message_of(ctx));
            for (int i = 0; i < n; i++) { /* ascending; the first rows have the wanted ones */
                const double is = e.value[hermitian ? i : e.found - 1 - i].re, there = creal(REF_AT(A, i, i));
                if (!(fabs(is - there) <= 1e-8 * outlier))
                    fail_msg("shape %d, an outlier of %g, block %d: %.17g, not %.17g", shape, outlier, block, is,
                             there);
            }
            wisp_eigen_free(&e);
        }
        wisp_blk_free(x);
        wisp_mat_free(M);
        ref_free(A), ref_free(start);
    }
}

/* What the tolerance does not tell from the last value that is wanted lies where the polynomial of the search damps. */
static void wide_tolerance(void **state)
{
    enum { ROWS = 200, COUNT = 3 };
    static const double tolerance[] = {0.01, 0.03, 0.1, 0.3};
    wisp_ctx *ctx = *state;
    for (int c = 0; c < 16; c++) {
        ref_mat A = ref_new(ROWS, ROWS);
        for (int64_t i = 0; i < ROWS; i++) REF_AT(A, i, i) = i == 0 && c & 1 ? -1.5 : -1 + 2 * (double)i / (ROWS - 1);
        wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
        wisp_eigen e;
        const double t = tolerance[c / 4];
        const wisp_eig_opts o = {.method = WISP_LANCZOS,
                                 .which = c & 2 ? WISP_EIG_LARGEST : WISP_EIG_SMALLEST,
                                 .count = COUNT,
                                 .tolerance = t};
        const wisp_status status = wisp_eig(&e, M, &o);
        if (status != WISP_OK || e.found < COUNT)
            fail_msg("case %d, a tolerance of %g: %d found (%s)", c, t, e.found, message_of(ctx));
        for (int i = 0; i < COUNT; i++) {
            const int at = c & 2 ? ROWS - COUNT + i : i, is = c & 2 ? e.found - COUNT + i : i;
            assert_true(fabs(e.value[is].re - creal(REF_AT(A, at, at))) <= 2 * t * e.bounds.halfwidth);
        }
        wisp_eigen_free(&e);
        wisp_mat_free(M);
        ref_free(A);
    }
}

/* Values over twelve decades, of which the tolerance does not tell 65 apart: the search ends long before it could. */
static void beyond_sense(void **state)
{
    enum { ROWS = 212 };
    wisp_ctx *ctx = *state;
    ref_mat A = ref_new(ROWS, ROWS);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < ROWS; j++) { /* reflected by all ones */
            double sum = 0;
            for (int64_t l = 0; l < ROWS; l++)
                sum += ((i == l) - 2.0 / ROWS) * ((j == l) - 2.0 / ROWS) * pow(10, 12 * ((double)l / (ROWS - 1) - 1));
            REF_AT(A, i, j) = sum;
        }
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < i; j++) REF_AT(A, i, j) = REF_AT(A, j, i);
    wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
    wisp_eigen e;
    const wisp_eig_opts o = {.method = WISP_LANCZOS, .count = 4};
    REF_FAILS(ctx, wisp_eig(&e, M, &o), WISP_ERR_STAGNATION, "100 times as much as LAPACK takes for 212 rows");
    assert_true(!e.complete && e.products < 100000);
    wisp_eigen_free(&e);
    REF_OK(ctx, wisp_eig(&e, M, &(wisp_eig_opts){.count = 4}));
    wisp_eigen_free(&e);
    wisp_mat_free(M);
    ref_free(A);
}

static void refused(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = open_mat(ctx, cases[2].spec);
    wisp_eigen e;
    REF_FAILS(ctx, wisp_eig(&e, A, &(wisp_eig_opts){.method = WISP_LANCZOS}), WISP_ERR_HERMITIAN, "not Hermitian");
    REF_FAILS(ctx, wisp_eig(&e, A, &(wisp_eig_opts){.method = WISP_KRYLOV_SCHUR, .which = WISP_EIG_NEAREST}),
              WISP_ERR_UNSUPPORTED, "krylov-schur");
    wisp_mat_free(A);
}

/* ---- operators ----------------------------------------------------------------------------------------- */

typedef struct {
    wisp_mat *A;
    int calls, fails_at;
} stored;

static wisp_status apply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    stored *s = arg;
    if (++s->calls == s->fails_at) return wisp_ctx_failf(wisp_mat_ctx(s->A), WISP_ERR_ARG, "a word of the user's");
    return wisp_spmmv(y, s->A, x, NULL);
}

static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    for (int c = 0; c < CASES; c++) {
        stored s = {open_mat(ctx, cases[c].spec), 0, 0};
        wisp_mat *B;
        wisp_eigen e, of;
        const wisp_eig_opts o = options(c);
        const wisp_operator op = {.map = wisp_mat_map(s.A), .type = WISP_D, .apply = apply, .arg = &s};
        REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
        REF_OK(ctx, wisp_eig(&e, s.A, &o));
        REF_OK(ctx, wisp_eig(&of, B, &o));
        assert_int_equal(of.found, e.found);
        for (int i = 0; i < e.found; i++)
            assert_true(hypot(of.value[i].re - e.value[i].re, of.value[i].im - e.value[i].im) < 1e-6);
        wisp_eigen_free(&e);
        wisp_eigen_free(&of);
        const int all = s.calls;
        for (int at = 1; at < all; at += all / 7) {
            s.calls = 0;
            s.fails_at = at;
            REF_FAILS(ctx, wisp_eig(&of, B, &o), WISP_ERR_CALLBACK, "a word of the user's");
            wisp_eigen_free(&of);
        }
        wisp_mat_free(B);
        wisp_mat_free(s.A);
    }
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static wisp_status eig_all(wisp_ctx *ctx, void *arg)
{
    static const char *const spec[] = {"laplace:points=5,nx=11,ny=13", "laplace:points=5,nx=11,ny=13",
                                       "matpde:nx=11,ny=11"};
    const int c = *(const int *)arg;
    wisp_eig_opts o = options(c);
    wisp_mat *A;
    wisp_eigen e;
    o.count = 2;
    wisp_status status = wisp_mat_open(&A, ctx, spec[c], NULL);
    if (status != WISP_OK) return status;
    status = wisp_eig(&e, A, &o);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    for (int c = 0; c < CASES; c++) assert_true(ref_failing_memory(eig_all, &c, 60, 60) > 30);
}

/* What the plan tells is enough, and not far from what is held. */
static void planned_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1 || REF_SANITIZED) return; /* one rank's own is looked at; bytes are counted alike everywhere */
    static const struct {
        const char *spec;
        wisp_eig_opts o;
    } ask[] = {
        {"laplace:points=5,nx=101,ny=99", {.which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS}},
        {"laplace:points=5,nx=101,ny=99", {.which = WISP_EIG_LARGEST, .method = WISP_LANCZOS, .block = 4}},
        {"topi:nx=10,ny=10,nz=10,disorder=1", {.which = WISP_EIG_SMALLEST, .method = WISP_LANCZOS, .count = 3}},
        {"matpde:nx=60,ny=61", {.which = WISP_EIG_LARGEST_REAL, .method = WISP_KRYLOV_SCHUR, .count = 4}},
        {"matpde:nx=60,ny=61", {.which = WISP_EIG_LARGEST, .method = WISP_KRYLOV_SCHUR, .count = 2, .tolerance = 1e-4}},
    };
    for (size_t c = 0; c < sizeof ask / sizeof *ask; c++) {
        wisp_ctx *ctx;
        REF_OK(NULL, wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}));
        wisp_mat *A = open_mat(ctx, ask[c].spec);
        wisp_plan cost;
        wisp_eigen e;
        int64_t before, peak;
        REF_OK(ctx, wisp_eig_plan(&cost, NULL, A, &ask[c].o));
        wisp_ctx_memory(ctx, &before, NULL);
        REF_OK(ctx, wisp_eig(&e, A, &ask[c].o));
        wisp_ctx_memory(ctx, NULL, &peak);
        print_message("%s: %lld of %lld bytes\n", ask[c].spec, (long long)(peak - before), (long long)cost.bytes_most);
        if (peak - before > cost.bytes_most || 2 * (peak - before) < cost.bytes_most)
            fail_msg("%s: %lld bytes are held, %lld were told", ask[c].spec, (long long)(peak - before),
                     (long long)cost.bytes_most);
        wisp_eigen_free(&e);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known),        cmocka_unit_test(ended),          cmocka_unit_test(starts),
        cmocka_unit_test(outliers),     cmocka_unit_test(wide_tolerance), cmocka_unit_test(refused),
        cmocka_unit_test(operators),    cmocka_unit_test(failing_memory), cmocka_unit_test(planned_memory),
        cmocka_unit_test(small_spaces), cmocka_unit_test(near_rounding),  cmocka_unit_test(below_rounding),
        cmocka_unit_test(beyond_sense),
    };
    return REF_RUN_CTX(tests);
}
