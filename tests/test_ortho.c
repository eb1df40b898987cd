/* Orthonormal columns against naive products: all types, widths, conditions, lost rank, other columns to stay clear of,
   columns of extreme lengths, numbers that are not finite. */
#include "ref.h"
#include "solver/eig/eigen.h"
#include <math.h>
#include <stdio.h>

enum { RANDOM, GRADED, REPEATED, ZEROS, LENGTHS, WITHIN, KINDS };
static const char *const kind_name[KINDS] = {"random", "graded", "repeated", "zeros", "lengths", "within"};
static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};

static double unit_of(wisp_type type) { return type == WISP_S || type == WISP_C ? FLT_EPSILON : DBL_EPSILON; }

/* Largest element of A^H B - delta. */
static double defect(ref_mat A, ref_mat B, int a_columns, int b_columns, double delta)
{
    double largest = 0;
    for (int i = 0; i < a_columns; i++)
        for (int j = 0; j < b_columns; j++) {
            cplx sum = i == j ? -delta : 0;
            for (int64_t k = 0; k < A.rows; k++) sum += conj(REF_AT(A, k, i)) * REF_AT(B, k, j);
            if (!(cabs(sum) <= largest)) largest = cabs(sum);
        }
    return largest;
}

/* Column v of V loses what lies along A's. */
static void leave(ref_mat V, int v, ref_mat A, int columns)
{
    for (int j = 0; j < columns; j++) {
        cplx sum = 0;
        for (int64_t k = 0; k < V.rows; k++) sum += conj(REF_AT(A, k, j)) * REF_AT(V, k, v);
        for (int64_t k = 0; k < V.rows; k++) REF_AT(V, k, v) -= sum * REF_AT(A, k, j);
    }
}

static double length(ref_mat V, int v)
{
    double sum = 0;
    for (int64_t k = 0; k < V.rows; k++) sum += creal(REF_AT(V, k, v) * conj(REF_AT(V, k, v)));
    return sqrt(sum);
}

/* Columns of the kind; those of Q are orthonormal in its type. rank: how many are to be left, -1: not known. */
static ref_mat columns_of(ref_rng *r, wisp_type type, int64_t rows, int n, int kind, double condition, ref_mat Q,
                          int *rank)
{
    ref_mat V = ref_random_block(r, type, rows, n);
    const int most = (int)(rows < n ? rows : n);
    *rank = most < rows - Q.cols ? most : (int)(rows - Q.cols);
    if (kind == GRADED) {
        ref_mat mix = ref_random_block(r, type, n, n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) REF_AT(mix, i, j) *= pow(condition, n > 1 ? -(double)i / (n - 1) : 0);
        ref_mat mixed = ref_times(V, mix);
        ref_free(V), ref_free(mix);
        V = mixed;
        if (condition > 1e-3 / unit_of(type)) *rank = -1;
    }
    for (int j = 0; j < n; j++)
        for (int64_t k = 0; k < rows; k++) {
            cplx *v = &REF_AT(V, k, j);
            if (kind == REPEATED && j % 3 == 2) *v = REF_AT(V, k, j - 1);
            if (kind == ZEROS && j % 2) *v = 0;
            if (kind == LENGTHS) *v *= pow(type == WISP_S || type == WISP_C ? 1e14 : 1e150, j % 3 - 1);
            if (kind == WITHIN && j % 2 && Q.cols > 0) *v = 3 * REF_AT(Q, k, j % Q.cols);
        }
    ref_round(V, type);
    const int left = kind == REPEATED               ? n - n / 3
                     : kind == ZEROS                ? n - n / 2
                     : kind == WITHIN && Q.cols > 0 ? n - n / 2
                                                    : n;
    if (left < *rank) *rank = left;
    return V;
}

/* As a program would: V and Q are columns of one block, Q behind V. */
static void check_case(ref_rng *r, wisp_ctx *ctx, wisp_type type, int64_t rows, int n, int q, int kind,
                       double condition, double told)
{
    char what[160];
    snprintf(what, sizeof what, "%s, %s: %lld rows, width %d, clear of %d, condition %g (told %g)",
             wisp_type_name(type), kind_name[kind], (long long)rows, n, q, condition, told);
    wisp_map *map;
    wisp_blk *all, *V, *Q = NULL;
    wisp__ortho how;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    REF_OK(ctx, wisp_blk_create(&all, ctx, map, type, n + q));
    REF_OK(ctx, wisp_blk_cols(&V, all, 0, n));
    ref_mat other = ref_random_block(r, type, rows, q ? q : 1);
    if (q > 0) {
        REF_OK(ctx, wisp_blk_cols(&Q, all, n, q));
        ref_put(Q, other);
        REF_OK(ctx, wisp__orthonormal(Q, NULL, 0, &how));
        ref_free(other);
        other = ref_get(Q);
    }
    other.cols = q;
    int rank;
    ref_mat before = columns_of(r, type, rows, n, kind, condition, other, &rank);
    ref_put(V, before);
    REF_OK(ctx, wisp__orthonormal(V, Q, told, &how));
    ref_mat after = ref_get(V);
    if (rank >= 0 && how.rank != rank) fail_msg("%s: rank %d, should be %d", what, how.rank, rank);
    const double most = unit_of(type) * (told > 0 ? 2000 : 100 + 2 * n),
                 one = defect(after, after, how.rank, how.rank, 1), clear = defect(other, after, q, how.rank, 0);
    if (!(one <= most && clear <= most)) fail_msg("%s: orthonormal up to %.2g, clear up to %.2g", what, one, clear);
    for (int j = 0; j < n; j++) {
        const double whole = length(before, j);
        for (int twice = 0; twice < 2; twice++) leave(before, j, other, q), leave(before, j, after, how.rank);
        const double left = length(before, j);
        if (!(left <= 100 * (1 + sqrt(n)) * unit_of(type) * whole))
            fail_msg("%s: of column %d, %.2g is lost", what, j, left / whole);
    }
    ref_free(before), ref_free(after), ref_free(other);
    wisp_blk_free(Q), wisp_blk_free(V), wisp_blk_free(all), wisp_map_free(map);
}

static void every_kind(void **state)
{
    (void)state;
    static const int width[] = {1, 2, 7, 33, 64};
    ref_rng r = {21};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < 5; w++)
            for (int kind = 0; kind < KINDS; kind++)
                for (int q = 0; q <= 9; q += 9)
                    check_case(&r, ctx, types[t], 150 + ref_below(&r, 300), width[w], q, kind, 1e3, 0);
    wisp_ctx_free(ctx);
}

static void every_condition(void **state)
{
    (void)state;
    ref_rng r = {22};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int t = 0; t < 4; t++)
        for (int digits = 0; digits <= 16; digits += 2)
            for (int told = 0; told < 2; told++)
                check_case(&r, ctx, types[t], 400, 33, told ? 0 : 5, GRADED, pow(10, digits),
                           told * 30 * pow(10, digits));
    for (int t = 0; t < 4; t++) check_case(&r, ctx, types[t], 900, 12, 3, RANDOM, 1, 2); /* one pass */
    wisp_ctx_free(ctx);
}

static void wide_and_flat(void **state)
{
    (void)state;
    ref_rng r = {23};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int t = ref_few() ? 3 : 1; t < 4; t += 2) {
        check_case(&r, ctx, types[t], 700, 200, 0, RANDOM, 1, 0);
        check_case(&r, ctx, types[t], 700, 200, 30, GRADED, 1e9, 0);
        check_case(&r, ctx, types[t], 700, 200, 0, REPEATED, 1, 0);
    }
    for (int t = 0; t < 4; t++) { /* rows fewer than columns */
        check_case(&r, ctx, types[t], 1, 2, 0, RANDOM, 1, 0);
        check_case(&r, ctx, types[t], 30, 33, 0, RANDOM, 1, 0);
        check_case(&r, ctx, types[t], 40, 64, 9, RANDOM, 1, 0);
        check_case(&r, ctx, types[t], 9, 7, 9, RANDOM, 1, 0); /* nothing is left */
    }
    wisp_ctx_free(ctx);
}

static void not_finite(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY};
    ref_rng r = {24};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int i = 0; i < 2; i++) {
        wisp_map *map;
        wisp_blk *V;
        wisp__ortho how;
        REF_OK(ctx, wisp_map_create(&map, ctx, 100));
        REF_OK(ctx, wisp_blk_create(&V, ctx, map, WISP_Z, 4));
        ref_mat v = ref_random_block(&r, WISP_Z, 100, 4);
        REF_AT(v, 57, 2) = bad[i];
        ref_put(V, v);
        REF_FAILS(ctx, wisp__orthonormal(V, NULL, 0, &how), WISP_ERR_NUMERIC, "not finite");
        ref_free(v), wisp_blk_free(V), wisp_map_free(map);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(every_condition),
                                       cmocka_unit_test(wide_and_flat), cmocka_unit_test(not_finite)};
    return REF_RUN(tests);
}
