/* Sums of the vectors of one recurrence: by a bank, which keeps some of them for all sums, as fused with the steps, and
   as dense arithmetic has them; of all types, widths and numbers of terms and sums, some of which end early. */
#include "ref.h"
#include <math.h>
#include "solver/solver.h"

enum { ROWS = 67, MOST_SUMS = 9 };

typedef struct {
    int64_t terms[MOST_SUMS];
    bool real;
} series;

static wisp_scalar coefficient(const void *arg, int i, int64_t k)
{
    const series *s = arg;
    const double x = 0.3 + i, size = 1 / (1 + (double)k);
    if (k >= s->terms[i]) return (wisp_scalar){0, 0};
    return (wisp_scalar){size * cos(x * (double)k), s->real ? 0 : size * sin(x * (double)k)};
}

/* The sums, of T_k((A - c)/h) x by their recurrence. */
static void dense_sums(ref_mat m, const wisp_bounds *b, ref_mat x, const series *s, int sums, int64_t terms,
                       ref_mat *want)
{
    ref_mat before = ref_new(m.rows, x.cols), now = ref_new(m.rows, x.cols);
    memcpy(now.a, x.a, (size_t)(x.rows * x.cols) * sizeof *x.a);
    for (int i = 0; i < sums; i++) want[i] = ref_new(m.rows, x.cols);
    for (int64_t k = 0; k < terms; k++) {
        for (int i = 0; i < sums; i++) {
            const wisp_scalar c = coefficient(s, i, k);
            for (int64_t e = 0; e < x.rows * x.cols; e++) want[i].a[e] += (c.re + I * c.im) * now.a[e];
        }
        ref_mat next = ref_times(m, now);
        for (int64_t e = 0; e < x.rows * x.cols; e++)
            next.a[e] = (k == 0 ? 1 : 2) * (next.a[e] - b->center * now.a[e]) / b->halfwidth - before.a[e];
        ref_free(before);
        before = now, now = next;
    }
    ref_free(before), ref_free(now);
}

static void run_sums(wisp__chebyshev_sum *sum, int steps)
{
    wisp_ctx *ctx = wisp_mat_ctx(sum->A);
    int count;
    REF_OK(ctx, wisp__chebyshev_sum_open(sum, MOST_SUMS, steps));
    REF_OK(ctx, wisp__chebyshev_sum_begin(sum));
    while (sum->step + 1 < sum->terms) REF_OK(ctx, wisp__chebyshev_sum_next(sum, &count));
    wisp__chebyshev_sum_close(sum);
}

static void check(wisp_ctx *ctx, ref_rng *r, ref_types t, int width, int sums, int64_t terms, int steps)
{
    ref_mat m = ref_new(ROWS, ROWS), x = ref_random_block(r, t.blk, ROWS, width), want[MOST_SUMS];
    for (int64_t i = 1; i < ROWS; i++)
        for (int k = 0; k < 2; k++) {
            const int64_t j = ref_below(r, i);
            const cplx v = ref_value(r, t.mat);
            REF_AT(m, i, j) = v, REF_AT(m, j, i) = conj(v);
        }
    const wisp_bounds b = {.center = 0.2, .halfwidth = 16};
    series s = {.real = !wisp_type_is_complex(t.blk)};
    for (int i = 0; i < sums; i++) s.terms[i] = i == 0 ? terms : 1 + ref_below(r, terms);
    dense_sums(m, &b, x, &s, sums, terms, want);
    wisp_mat *A = ref_mat_of(ctx, m, t.mat);
    wisp_blk *v, *w, *z[MOST_SUMS];
    REF_OK(ctx, wisp_blk_create(&v, ctx, wisp_mat_map(A), t.blk, width));
    REF_OK(ctx, wisp_blk_create(&w, ctx, wisp_mat_map(A), t.blk, width));
    for (int i = 0; i < sums; i++) REF_OK(ctx, wisp_blk_create(&z[i], ctx, wisp_mat_map(A), t.blk, width));
    ref_put(v, x);
    ref_mat first[MOST_SUMS];
    for (int depth = 0; depth < 2; depth++) { /* left open, and given: the same bits, by more or fewer steps at once */
        wisp__chebyshev_sum sum = {.A = A,
                                   .bounds = &b,
                                   .v = v,
                                   .w = w,
                                   .z = z,
                                   .sums = sums,
                                   .terms = terms,
                                   .coefficient = coefficient,
                                   .arg = &s,
                                   .depth = depth,
                                   .depth_used = 1};
        ref_put(v, x);
        run_sums(&sum, depth ? 1 : steps);
        for (int i = 0; i < sums; i++) {
            ref_mat got = ref_get(z[i]);
            ref_assert_close("bank", got, want[i], 20 * fmax(ref_eps(t.mat), ref_eps(t.blk)));
            if (depth == 0) {
                first[i] = got;
                continue;
            }
            assert_memory_equal(got.a, first[i].a, (size_t)(got.rows * got.cols) * sizeof *got.a);
            ref_free(got), ref_free(first[i]);
        }
        assert_true((sum.v == v && sum.w == w) || (sum.v == w && sum.w == v));
    }
    wisp_blk_free(v), wisp_blk_free(w);
    for (int i = 0; i < sums; i++) wisp_blk_free(z[i]), ref_free(want[i]);
    wisp_mat_free(A);
    ref_free(m), ref_free(x);
}

static void sums(void **state)
{
    static const int widths[] = {1, 3, 5, 33}, steps[] = {8, 3, 64};
    static const int64_t terms[] = {1, 2, 3, 4, 9, 10, 17, 30, 41};
    ref_rng r = {1};
    for (int p = 0; p < REF_PAIRS; p++)
        for (size_t k = 0; k < sizeof terms / sizeof *terms; k++)
            check(*state, &r, ref_pair[p], widths[((size_t)p + k) % 4], 1 + (int)ref_below(&r, MOST_SUMS), terms[k],
                  steps[ref_below(&r, 3)]);
}

/* A single sum, too, and its two blocks hold all. */
static void single_sums(void **state)
{
    ref_rng r = {2};
    for (int p = 0; p < REF_PAIRS; p++)
        for (int64_t terms = 1; terms < 6; terms++) check(*state, &r, ref_pair[p], 1 + (int)terms, 1, terms, 8);
}

/* Nothing is left where there is no memory. */
static wisp_status all_of_it(wisp_ctx *ctx, void *arg)
{
    static const series s = {.terms = {20, 20, 20}};
    const wisp_bounds b = {.center = 0, .halfwidth = 16};
    wisp_mat *A = NULL;
    wisp_blk *v = NULL, *w = NULL, *z[3] = {0};
    wisp__chebyshev_sum sum = {0};
    wisp_status status;
    int count;
    WISP_TRY(wisp_mat_create(&A, ctx, arg, NULL));
    sum = (wisp__chebyshev_sum){
        .A = A, .bounds = &b, .z = z, .sums = 3, .terms = 20, .coefficient = coefficient, .arg = &s};
    WISP_TRY(wisp_blk_create(&v, ctx, wisp_mat_map(A), WISP_Z, 2));
    WISP_TRY(wisp_blk_create(&w, ctx, wisp_mat_map(A), WISP_Z, 2));
    for (int i = 0; i < 3; i++) WISP_TRY(wisp_blk_create(&z[i], ctx, wisp_mat_map(A), WISP_Z, 2));
    WISP_TRY(wisp_blk_fill(v, (wisp_scalar){1, 0}));
    sum.v = v, sum.w = w;
    WISP_TRY(wisp__chebyshev_sum_open(&sum, 3, 8));
    WISP_TRY(wisp__chebyshev_sum_begin(&sum));
    while (sum.step + 1 < sum.terms) WISP_TRY(wisp__chebyshev_sum_next(&sum, &count));
out:
    if (sum.A) wisp__chebyshev_sum_close(&sum);
    wisp_blk_free(v), wisp_blk_free(w);
    for (int i = 0; i < 3; i++) wisp_blk_free(z[i]);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    ref_rng r = {8};
    ref_mat m = ref_new(30, 30);
    for (int64_t i = 0; i < 30; i++) REF_AT(m, i, i) = ref_uniform(&r);
    wisp_src src = ref_dense_src(m, WISP_D);
    assert_true(ref_failing_memory(all_of_it, &src, 300, 80) > 20);
    wisp_src_close(&src);
    ref_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(single_sums),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
