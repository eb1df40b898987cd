/* The part of a matrix that is near some rows: polynomials of low degree can't tell it from the whole, and sweeps over
   what is reached are those over all rows. */
#include "ref.h"
#include <math.h>

/* A Hermitian matrix of few entries: a ring, of which some bonds are missing, and some others; its norm is below 1. */
static ref_mat random_graph(ref_rng *r, wisp_type type, int64_t n)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) REF_AT(A, i, i) = 0.1 * creal(ref_value(r, type));
    for (int64_t i = 0; i < n + n / 8; i++) {
        const int64_t from = i < n ? i : ref_below(r, n), to = i < n ? (i + 1) % n : ref_below(r, n);
        if (from == to || ref_below(r, 9) == 0) continue;
        REF_AT(A, from, to) = 0.1 * ref_value(r, type);
        REF_AT(A, to, from) = conj(REF_AT(A, from, to));
    }
    ref_round(A, type);
    return A;
}

/* <b|T_n(A)|a>, n < moments, by the recurrence. */
static void dense_moments(ref_mat A, int64_t a, int64_t b, int moments, cplx *mu)
{
    ref_mat v = ref_new(A.rows, 1), w = ref_new(A.rows, 1);
    REF_AT(v, a, 0) = 1;
    for (int n = 0; n < moments; n++) {
        mu[n] = REF_AT(v, b, 0);
        const ref_mat x = ref_times(A, v);
        for (int64_t i = 0; i < A.rows; i++) {
            const cplx next = n ? 2 * REF_AT(x, i, 0) - REF_AT(w, i, 0) : REF_AT(x, i, 0);
            REF_AT(w, i, 0) = REF_AT(v, i, 0);
            REF_AT(v, i, 0) = next;
        }
        ref_free(x);
    }
    ref_free(v);
    ref_free(w);
}

/* Rows that at most so many entries lead to, and how many there are on average over the steps. */
static int64_t count_near(ref_mat A, const int64_t *row, int rows, int steps, double *average)
{
    int *level = calloc((size_t)A.rows, sizeof *level);
    int64_t count = 0;
    double sum = 0;
    for (int i = 0; i < rows; i++) level[row[i]] = 1;
    for (int s = 0; s <= steps; s++) {
        count = 0;
        for (int64_t i = 0; i < A.rows; i++) count += level[i] > 0;
        sum += (double)count;
        for (int64_t i = 0; i < A.rows && s < steps; i++)
            for (int64_t j = 0; j < A.rows && level[i] == s + 1; j++)
                if (REF_AT(A, i, j) != 0 && !level[j]) level[j] = s + 2;
    }
    free(level);
    *average = sum / (steps + 1);
    return count;
}

enum { MOST_ROWS = 3 };

/* One random matrix, rows and steps: the part has the right size, and the moments of the whole. */
static void part(wisp_ctx *ctx, ref_rng *r, wisp_type type)
{
    const int rows = 1 + (int)ref_below(r, MOST_ROWS), steps = (int)ref_below(r, 9), moments = 2 * steps + 2;
    const ref_mat A = random_graph(r, type, 20 + ref_below(r, 100));
    wisp_src src = ref_dense_src(A, type), near;
    int64_t row[MOST_ROWS], place[MOST_ROWS];
    cplx mu[32], want[32];
    double average;
    for (int i = 0; i < rows; i++) row[i] = ref_below(r, A.rows);
    const int64_t count = count_near(A, row, rows, steps, &average);
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, rows, steps, (int64_t)ceil(average) - 1, place));
    assert_true(!near.row && near.rows == 0);
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, rows, steps, (int64_t)ceil(average), place));
    assert_int_equal(near.rows, count);
    const ref_mat B = ref_dense(&near);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            assert_in_range(place[i], 0, rows - 1);
            dense_moments(A, row[i], row[j], moments, want);
            dense_moments(B, place[i], place[j], moments, mu);
            for (int n = 0; n < moments; n++) assert_true(cabs(mu[n] - want[n]) < 1e-13);
        }
    ref_free(A);
    ref_free(B);
    wisp_src_close(&near);
    wisp_src_close(&src);
}

static void parts(void **state)
{
    ref_rng r = {1};
    static const wisp_type type[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    for (int i = 0; i < 400; i++) part(*state, &r, type[i % 4]);
}

/* Sweeps over what is reached, of all ways to store the part: the moments of the whole matrix. */
static void sweeps(void **state)
{
    static const char *const spec[] = {"graphene:nx=64,ny=64", "square:nx=84,ny=80,flux=1/7",
                                       "anderson:nx=16,ny=16,nz=16,disorder=1", "topi:nx=10,ny=10,nz=10"};
    static const wisp_mat_opts way[] = {{0},
                                        {.format = WISP_FORMAT_SELL, .C = 8},
                                        {.format = WISP_FORMAT_SELL, .sigma = 256},
                                        {.format = WISP_FORMAT_HERMITIAN},
                                        {.order = WISP_ROWS_TILES}};
    wisp_ctx *ctx = *state;
    int64_t left_out = 0;
    for (int i = 0; i < 20; i++) {
        const int s = i % 4, w = i / 4, few = 1 + 2 * (i % 3), moments = 60 + i % 2;
        if (way[w].format == WISP_FORMAT_HERMITIAN && wisp_ctx_processes(ctx) > 1) continue;
        wisp_src src, near;
        wisp_mat *A, *B;
        wisp_moments m, of_near;
        int64_t row[5], place[5];
        REF_OK(ctx, wisp_src_open(&src, ctx, spec[s]));
        for (int j = 0; j < few; j++) row[j] = src.rows / 2 + 7 * j;
        REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, few, (moments - 1) / 2, src.rows, place));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
        REF_OK(ctx, wisp_mat_create(&B, ctx, &near, &way[w]));
        for (int64_t step = 1; step < moments / 2; step++) left_out += near.rows - wisp_mat_reached(B, step);
        wisp_kpm_opts o = {.moments = moments, .vectors = few, .trace = WISP_TRACE_SITES, .width = 1 + i % 3};
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.center = 0.3, .halfwidth = 9}};
        o.sites = row;
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        o.sites = place;
        REF_OK(ctx, wisp_kpm(&of_near, B, &o));
        for (int64_t k = 0; k < few * moments; k++) assert_true(fabs(m.mu[k] - of_near.mu[k]) < 1e-13);
        wisp_moments_free(&of_near);
        /* Another row than those that were given: all rows are done. */
        place[0] = near.rows / 2;
        REF_OK(ctx, wisp_kpm(&of_near, B, &o));
        wisp_moments_free(&of_near), wisp_moments_free(&m);
        wisp_mat_free(A), wisp_mat_free(B);
        wisp_src_close(&src), wisp_src_close(&near);
    }
    if (wisp_ctx_processes(ctx) == 1) assert_true(left_out > 0);
}

/* Rows that can't be reached from the given ones; none are given; the given ones alone. */
static void edges(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_src src, near;
    int64_t row[2] = {5, 5}, place[2];
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=9,ny=7,nz=1"));
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, 2, 0, 9, place));
    assert_true(near.rows == 1 && near.max_row == 1 && place[0] == 0 && place[1] == 0);
    wisp_src_close(&near);
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, 0, 5, 9, place));
    assert_int_equal(near.rows, 0);
    wisp_src_close(&near);
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, 1, 1000, 63, place));
    assert_int_equal(near.rows, 63);
    wisp_src_close(&near);
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, 1, 1000, 40, place));
    assert_null(near.row);
    row[1] = 63;
    REF_FAILS(ctx, wisp_src_near(&near, ctx, &src, row, 2, 1, 9, place), WISP_ERR_ARG, "near row 63: rows are 0 to 62");
    row[1] = -1;
    REF_FAILS(ctx, wisp_src_near(&near, ctx, &src, row, 2, 1, 9, place), WISP_ERR_ARG, "near row -1");
    REF_FAILS(ctx, wisp_src_near(&near, ctx, &src, row, 1, -1, 9, place), WISP_ERR_ARG, "negative");
    wisp_mat *A;
    wisp_blk *v[3];
    REF_OK(ctx, wisp_src_near(&near, ctx, &src, row, 1, (int64_t)1 << 40, 63, place));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &near, NULL));
    for (int i = 0; i < 3; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 1));
    wisp_mpk_opts o = {.steps = 2, .near = 1};
    REF_FAILS(ctx, wisp_mpk(v, 3, A, &o), WISP_ERR_ARG, "takes 2 blocks");
    o.near = -1;
    REF_FAILS(ctx, wisp_mpk(v, 2, A, &o), WISP_ERR_ARG, "negative");
    for (int i = 0; i < 3; i++) wisp_blk_free(v[i]);
    wisp_mat_free(A);
    wisp_src_close(&near);
    src.cols = 64;
    REF_FAILS(ctx, wisp_src_near(&near, ctx, &src, row, 1, 1, 9, place), WISP_ERR_ARG, "square");
    wisp_src_close(&src);
}

static wisp_status near_matrix(wisp_ctx *ctx, void *arg)
{
    const int64_t row = 200;
    int64_t place;
    wisp_src near;
    wisp_mat *A;
    wisp_status status = wisp_src_near(&near, ctx, arg, &row, 1, 9, 999, &place);
    if (status != WISP_OK) return status;
    status = wisp_mat_create(&A, ctx, &near, NULL);
    wisp_src_close(&near);
    if (status == WISP_OK) wisp_mat_free(A);
    return status;
}

static void failures(void **state)
{
    wisp_src src;
    (void)state;
    if (ref_elsewhere()) return;
    wisp_ctx *ctx = ref_ctx(NULL);
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=40,ny=40,nz=1"));
    assert_true(ref_failing_memory(near_matrix, &src, 200, 3) > 8);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(sweeps), cmocka_unit_test(edges),
                                       cmocka_unit_test(failures)};
    return REF_RUN_ALL(tests);
}
