/* CRS arrays of the program's as a matrix: in place, with integers of 32 or 64 bits, or copied where that can't be. */
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays that end where their last element does, so that guards and sanitizers see who reads on. */
typedef struct {
    wisp_crs crs;
    void *rowptr, *col, *val;
    ref_sparse sparse;
    char what[160];
} arrays;

static void *integers(const int64_t *from, int64_t n, wisp_int kind)
{
    const size_t size = kind == WISP_INT32 ? sizeof(int32_t) : sizeof(int64_t);
    void *to = malloc(size * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        if (kind == WISP_INT32)
            ((int32_t *)to)[i] = (int32_t)from[i];
        else
            ((int64_t *)to)[i] = from[i];
    return to;
}

static void put_value(const arrays *a, int64_t e, cplx v)
{
    switch (a->crs.type) {
    case WISP_S: ((float *)a->val)[e] = (float)creal(v); break;
    case WISP_D: ((double *)a->val)[e] = creal(v); break;
    case WISP_C: ((float complex *)a->val)[e] = (float complex)v; break;
    default: ((cplx *)a->val)[e] = v;
    }
    a->sparse.val[e] = v;
}

static void sort_row(ref_sparse *s, int64_t begin, int64_t end)
{
    for (int64_t i = begin + 1; i < end; i++) {
        const int64_t col = s->col[i];
        const cplx v = s->val[i];
        int64_t e = i;
        for (; e > begin && s->col[e - 1] > col; e--) s->col[e] = s->col[e - 1], s->val[e] = s->val[e - 1];
        s->col[e] = col, s->val[e] = v;
    }
}

/* Of a random matrix, or of a source that is closed then. */
static arrays arrays_of(wisp_src *src, wisp_type type, wisp_int rowptr, wisp_int col, bool sorted)
{
    arrays a = {.sparse = ref_sparse_of(src, type)};
    ref_sparse *s = &a.sparse;
    const int64_t n = s->first[s->rows];
    for (int64_t i = 0; sorted && i < s->rows; i++) sort_row(s, s->first[i], s->first[i + 1]);
    a.rowptr = integers(s->first, s->rows + 1, rowptr);
    a.col = integers(s->col, n, col);
    a.val = malloc(wisp_type_size(type) * (size_t)n);
    a.crs = (wisp_crs){.rows = s->rows,
                       .cols = s->cols,
                       .type = type,
                       .rowptr_int = rowptr,
                       .col_int = col,
                       .rowptr = a.rowptr,
                       .col = n ? a.col : NULL,
                       .val = n ? a.val : NULL};
    for (int64_t e = 0; e < n; e++) put_value(&a, e, s->val[e]);
    snprintf(a.what, sizeof a.what, "%s matrix of %lld x %lld, %d/%d bits", wisp_type_name(type), (long long)s->rows,
             (long long)s->cols, rowptr == WISP_INT32 ? 32 : 64, col == WISP_INT32 ? 32 : 64);
    wisp_src_close(src);
    return a;
}

static void arrays_free(arrays *a)
{
    free(a->rowptr), free(a->col), free(a->val);
    ref_sparse_free(a->sparse);
}

static arrays random_arrays(ref_rng *r, wisp_type type, wisp_int rowptr, wisp_int col, int64_t rows, int64_t cols)
{
    wisp_src src = ref_random_src(r, type, rows, cols, 1 + (int)ref_below(r, 40));
    return arrays_of(&src, type, rowptr, col, true);
}

static wisp_int int_of(int kinds, int bit) { return kinds & bit ? WISP_INT32 : WISP_INT64; }

/* Of the user's arrays alone. */
static int64_t bytes_of(const arrays *a)
{
    const int64_t n = a->sparse.first[a->crs.rows], row = a->crs.rowptr_int == WISP_INT32 ? 4 : 8,
                  col = a->crs.col_int == WISP_INT32 ? 4 : 8;
    return (a->crs.rows + 1) * row + n * (col + (int64_t)wisp_type_size(a->crs.type));
}

/* In place, unless it can't be. */
static wisp_mat *borrow(wisp_ctx *ctx, const arrays *a)
{
    wisp_mat *A;
    wisp_mat_info info;
    REF_OK(ctx, wisp_mat_borrow_crs(&A, ctx, &a->crs));
    wisp_mat_get_info(A, &info);
    assert_true(info.C == 1 && info.sigma == 1 && info.order == WISP_ROWS_NATURAL && info.format == WISP_FORMAT_SELL);
    assert_true(info.nnz == a->sparse.first[a->crs.rows] && info.type == a->crs.type);
    if (ref_ranks() > 1 || ref_far(ctx)) {
        assert_int_equal(info.user_bytes, 0);
    } else if (a->crs.rows > 0) {
        assert_int_equal(info.user_bytes, bytes_of(a));
        assert_int_equal(info.bytes, info.user_bytes);
    }
    return A;
}

/* Made by wisp of the same rows. */
static wisp_mat *create(wisp_ctx *ctx, const arrays *a)
{
    wisp_src src;
    wisp_mat *A;
    const wisp_mat_opts o = {.C = 1, .sigma = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
    REF_OK(ctx, wisp_src_open_crs(&src, ctx, &a->crs));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    wisp_src_close(&src);
    return A;
}

/* ---- products --------------------------------------------------------------------------------- */

static void same_bits(wisp_ctx *ctx, const wisp_mat *A, const wisp_mat *B, const ref_call *c, const char *what)
{
    const ref_result a = ref_run(ctx, A, c, REF_COMPACT), b = ref_run(ctx, B, c, REF_COMPACT);
    if (memcmp(a.y.a, b.y.a, (size_t)(a.y.rows * a.y.cols) * sizeof *a.y.a)) fail_msg("%s: other bits", what);
    ref_result_free((ref_result *)&a), ref_result_free((ref_result *)&b);
}

/* Every pair of types and of integers, in each instruction set; with 32-bit columns by the kernels, and so the bits, of
   a matrix of wisp's own. */
static void products(void **state)
{
    static const int widths[] = {1, 3, 5, 33};
    ref_rng r = {31};
    (void)state;
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 3);
        if (!ctx) continue;
        for (int pair = 0; pair < REF_PAIRS; pair++)
            for (int kinds = 0; kinds < 4; kinds++) {
                const int64_t n = 1 + ref_below(&r, 600);
                arrays a = random_arrays(&r, ref_pair[pair].mat, int_of(kinds, 1), int_of(kinds, 2), n, n);
                wisp_mat *A = borrow(ctx, &a), *B = create(ctx, &a);
                for (int w = 0; w < 6; w++) {
                    const int width = w < 4 ? widths[w] : w == 4 ? 8 : 1 + (int)ref_below(&r, 40);
                    const unsigned terms = w % 3 == 0   ? 0
                                           : w % 3 == 1 ? REF_KPM
                                                        : (unsigned)ref_below(&r, REF_ALL_TERMS);
                    ref_call c = ref_call_new(&r, &a.sparse, ref_pair[pair].blk, width, terms, w % 2);
                    ref_check_call(ctx, A, &c, REF_COMPACT, a.what);
                    ref_check_call(ctx, A, &c, REF_VIEWS, a.what);
                    if (a.crs.col_int == WISP_INT32) same_bits(ctx, A, B, &c, a.what);
                    ref_call_free(&c);
                }
                wisp_mat_free(A), wisp_mat_free(B);
                arrays_free(&a);
            }
        wisp_ctx_free(ctx);
    }
}

/* Rectangular ones, those without rows, columns or entries, and long rows, through x of random shape. */
static void odd_sizes(void **state)
{
    static const int64_t size[][2] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 900}, {900, 1}, {129, 70}, {257, 1000}};
    ref_rng r = {32};
    wisp_ctx *ctx = ref_ctx(NULL);
    (void)state;
    for (int kinds = 0; kinds < 4; kinds++)
        for (int s = 0; s < (int)(sizeof size / sizeof size[0]); s++)
            for (int t = 0; t<4; t += ref_ranks()> 1 ? 4 : 1) { /* of copies one type each */
                const wisp_type type = (wisp_type)(WISP_S + (t + s + kinds) % 4);
                arrays a = random_arrays(&r, type, int_of(kinds, 1), int_of(kinds, 2), size[s][0], size[s][1]);
                wisp_mat *A = borrow(ctx, &a);
                int64_t hist[2];
                for (int width = 1; width < 6; width += 2) {
                    ref_call c = ref_call_new(&r, &a.sparse, type, width, 0, 1);
                    ref_check_call(ctx, A, &c, REF_COMPACT, a.what);
                    ref_call_free(&c);
                }
                REF_OK(ctx, wisp_mat_row_histogram(A, hist, 2));
                assert_int_equal(hist[0] + hist[1], a.crs.rows);
                wisp_mat_free(A);
                arrays_free(&a);
            }
    wisp_ctx_free(ctx);
}

/* What goes through rows one by one, and steps that are interleaved: as of a matrix of wisp's own. */
static void other_calls(void **state)
{
    enum { MOMENTS = 32 };
    ref_rng r = {33};
    wisp_ctx *ctx = ref_ctx(NULL);
    (void)state;
    for (int kinds = 0; kinds < 4; kinds++) {
        wisp_src src;
        REF_OK(ctx, wisp_src_open_gallery(&src, ctx, "laplace:nx=13,ny=11,nz=9"));
        arrays a = arrays_of(&src, WISP_D, int_of(kinds, 1), int_of(kinds, 2), true);
        wisp_mat *M[2] = {borrow(ctx, &a), create(ctx, &a)};
        wisp_mat_props props[2];
        wisp_moments moments[2];
        wisp_gather gather[2];
        int64_t hist[2][9];
        double fill_in[2], mean[2][MOMENTS];
        for (int i = 0; i < 2; i++) {
            wisp_src again;
            REF_OK(ctx, wisp_mat_get_props(M[i], &props[i]));
            REF_OK(ctx, wisp_mat_gather(M[i], WISP_D, 4, &gather[i]));
            REF_OK(ctx, wisp_mat_row_histogram(M[i], hist[i], 9));
            REF_OK(ctx, wisp_mat_fill_in(M[i], 8, 1, &fill_in[i]));
            REF_OK(ctx, wisp_kpm(&moments[i], M[i], &(wisp_kpm_opts){.moments = MOMENTS, .vectors = 5, .seed = 4}));
            REF_OK(ctx, wisp_src_open_mat(&again, M[i]));
            if (ref_ranks() == 1) {
                const ref_sparse same = ref_sparse_of(&again, WISP_D);
                const size_t n = (size_t)a.sparse.first[a.crs.rows];
                assert_memory_equal(same.first, a.sparse.first, ((size_t)a.crs.rows + 1) * sizeof *same.first);
                assert_memory_equal(same.col, a.sparse.col, n * sizeof *same.col);
                assert_memory_equal(same.val, a.sparse.val, n * sizeof *same.val);
                ref_sparse_free(same);
            }
            wisp_src_close(&again);
        }
        ref_same_props(&props[0], &props[1]);
        assert_memory_equal(hist[0], hist[1], sizeof hist[0]);
        assert_true(fill_in[0] == fill_in[1] && gather[0].excess == gather[1].excess);
        for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_moments_mean(ctx, &moments[i], WISP_REAL_PART, mean[i], NULL));
        for (int k = 0; k < MOMENTS; k++)
            if (fabs(mean[0][k] - mean[1][k]) > 1e-10 * (double)a.crs.rows) fail_msg("%s: moment %d", a.what, k);
        wisp_src changed = ref_random_src(&r, WISP_D, a.crs.rows, a.crs.cols, 3);
        REF_FAILS(ctx, wisp_mat_update(M[0], &changed), WISP_ERR_MISMATCH, "matrix");
        wisp_src_close(&changed);
        for (int i = 0; i < 2; i++) wisp_moments_free(&moments[i]), wisp_mat_free(M[i]);
        arrays_free(&a);
    }
    wisp_ctx_free(ctx);
}

/* ---- whose memory it is ----------------------------------------------------------------------- */

/* Whatever the integers, wisp holds less than any of the arrays; and what is written there counts. */
static void nothing_is_copied(void **state)
{
    enum { N = 20000 };
    ref_rng r = {34};
    (void)state;
    for (int kinds = 0; kinds < 4; kinds++) {
        wisp_ctx *ctx = ref_ctx(NULL); /* whose peak is of this one alone */
        const bool in_place = ref_ranks() == 1 && !ref_far(ctx);
        int64_t before, most;
        wisp_src src = ref_random_src(&r, WISP_D, N, N, 4);
        arrays a = arrays_of(&src, WISP_D, int_of(kinds, 1), int_of(kinds, 2), true);
        const int64_t n = a.sparse.first[N];
        wisp_ctx_memory(ctx, &before, NULL);
        wisp_mat *A = borrow(ctx, &a);
        wisp_ctx_memory(ctx, NULL, &most);
        assert_true(n > N && (!in_place || most - before < N));
        wisp_mat_props props[2];
        REF_OK(ctx, wisp_mat_get_props(A, &props[0]));
        for (int64_t e = 0; in_place && e < n; e++) put_value(&a, e, 3 * ref_value(&r, WISP_D));
        if (in_place) put_value(&a, n / 2, 1000);
        ref_call c = ref_call_new(&r, &a.sparse, WISP_D, 3, 0, 1);
        ref_check_call(ctx, A, &c, REF_COMPACT, a.what);
        ref_call_free(&c);
        REF_OK(ctx, wisp_mat_get_props(A, &props[1]));
        assert_true(props[0].largest < 1000 && (props[1].largest == 1000) == in_place);
        wisp_mat_free(A);
        arrays_free(&a);
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
}

/* Columns in any order, some twice: they are sorted and added in a copy, and the arrays may go. */
static void unordered(void **state)
{
    enum { ROWS = 61, EACH = 5, COLS = 40 };
    ref_rng r = {35};
    wisp_ctx *ctx = ref_ctx(NULL);
    (void)state;
    for (int kinds = 0; kinds < 4; kinds++) {
        int64_t first[ROWS + 1], col[ROWS * EACH];
        double *val = malloc(ROWS * EACH * sizeof *val);
        for (int64_t i = 0; i <= ROWS; i++) first[i] = EACH * i;
        for (int64_t e = 0; e < ROWS * EACH; e++) {
            val[e] = creal(ref_value(&r, WISP_D));
            col[e] = kinds & 1 && e % 7 ? ref_below(&r, COLS) : (COLS - e % EACH) % COLS;
        }
        void *rowptr = integers(first, ROWS + 1, int_of(kinds, 1)),
             *cols = integers(col, ROWS * EACH, int_of(kinds, 2));
        const wisp_crs crs = {ROWS, COLS, WISP_D, int_of(kinds, 1), int_of(kinds, 2), rowptr, cols, val};
        wisp_src src;
        wisp_mat *A;
        wisp_mat_info info;
        REF_OK(ctx, wisp_src_open_crs(&src, ctx, &crs));
        const ref_sparse sparse = ref_sparse_of(&src, WISP_D);
        wisp_src_close(&src);
        REF_OK(ctx, wisp_mat_borrow_crs(&A, ctx, &crs));
        free(rowptr), free(cols), free(val);
        wisp_mat_get_info(A, &info);
        assert_int_equal(info.user_bytes, 0);
        assert_true(info.C == 1 && info.order == WISP_ROWS_NATURAL && info.nnz == sparse.first[ROWS]);
        ref_call c = ref_call_new(&r, &sparse, WISP_D, 3, 0, 1);
        ref_check_call(ctx, A, &c, REF_COMPACT, "columns in any order");
        ref_call_free(&c);
        ref_sparse_free(sparse);
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
}

/* ---- what is refused -------------------------------------------------------------------------- */

typedef struct {
    const char *words;
    int64_t cols, ptr[4], col[5]; /* good ones: 3, {0, 2, 2, 5}, {0, 2, 0, 1, 2} */
    bool wide;                    /* with 64 bits alone */
} malformed;
static const malformed bad[] = {
    {"rowptr[0] is 1 and must be 0", 3, {1, 3, 3, 6}, {0, 2, 0, 1, 2}, false},
    {"rowptr[0] is -1 and must be 0", 3, {-1, 2, 2, 5}, {0, 2, 0, 1, 2}, false},
    {"rowptr[2] is 1, after 2", 3, {0, 2, 1, 5}, {0, 2, 0, 1, 2}, false},
    {"rowptr[2] is 3, after 5", 3, {0, 5, 3, 3}, {0, 2, 0, 1, 2}, false}, /* a row that ends behind all entries */
    {"rowptr[1] is -3, after 0", 3, {0, -3, 2, 5}, {0, 2, 0, 1, 2}, false},
    {"rowptr[3] is -5, after 2", 3, {0, 2, 2, -5}, {0, 2, 0, 1, 2}, false},
    {"rowptr[3] is 3000000000, after 2", 3, {0, 2, 2, 3000000000}, {0, 2, 0, 1, 2}, true},
    {"column 2 in row 0, of 2 columns", 2, {0, 2, 2, 5}, {0, 2, 0, 1, 2}, false},
    {"column -1 in row 0, of 3 columns", 3, {0, 2, 2, 5}, {-1, 2, 0, 1, 2}, false},
    {"column 4294967296 in row 2, of 3 columns", 3, {0, 2, 2, 5}, {0, 2, 0, 1, (int64_t)1 << 32}, true},
    {"column -4294967294 in row 2, of 3 columns", 3, {0, 2, 2, 5}, {0, 2, 0, 1, 2 - ((int64_t)1 << 32)}, true},
    {"3 rows, -1 columns", -1, {0, 0, 0, 0}, {0}, false},
};

static void refused(wisp_ctx *ctx, const wisp_crs *crs, wisp_status status, const char *words)
{
    wisp_mat *A;
    REF_FAILS(ctx, wisp_mat_borrow_crs(&A, ctx, crs), status, words);
    assert_null(A);
    assert_null(strchr(message_of(ctx), '\n'));
}

static void refusals(void **state)
{
    wisp_ctx *ctx = ref_ctx(NULL);
    const double val[5] = {1, 2, 3, 4, 5};
    const int64_t ptr[] = {0, 2, 2, 5}, far[] = {0, 2, 0, 1, (int64_t)1 << 32};
    const int32_t col[] = {0, 2, 0, 1, 2};
    (void)state;
    for (int k = 0; k < (int)(sizeof bad / sizeof bad[0]); k++)
        for (int kinds = 0; kinds < (bad[k].wide ? 1 : 4); kinds++) {
            void *rowptr = integers(bad[k].ptr, 4, int_of(kinds, 1)), *cols = integers(bad[k].col, 5, int_of(kinds, 2));
            const wisp_crs crs = {3, bad[k].cols, WISP_D, int_of(kinds, 1), int_of(kinds, 2), rowptr, cols, val};
            refused(ctx, &crs, WISP_ERR_ARG, bad[k].words);
            free(rowptr), free(cols);
        }
    refused(ctx, &(wisp_crs){3, 3, WISP_D, WISP_INT64, WISP_INT32, NULL, col, val}, WISP_ERR_ARG, "rowptr is NULL");
    refused(ctx, &(wisp_crs){3, 3, WISP_D, WISP_INT64, WISP_INT32, ptr, NULL, val}, WISP_ERR_ARG, "col is NULL");
    refused(ctx, &(wisp_crs){3, 3, WISP_D, WISP_INT64, WISP_INT32, ptr, col, NULL}, WISP_ERR_ARG, "val is NULL");
    refused(ctx, &(wisp_crs){3, 3, WISP_DEFAULT, WISP_INT64, WISP_INT32, ptr, col, val}, WISP_ERR_ARG, "a type");
    refused(ctx, &(wisp_crs){3, 3, WISP_D, (wisp_int)7, WISP_INT32, ptr, col, val}, WISP_ERR_ARG, "integers are");
    if (ref_ranks() == 1)
        refused(ctx, &(wisp_crs){3, (int64_t)1 << 33, WISP_D, WISP_INT64, WISP_INT64, ptr, far, val}, WISP_ERR_OVERFLOW,
                "one process");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),  cmocka_unit_test(odd_sizes),         cmocka_unit_test(other_calls),
        cmocka_unit_test(unordered), cmocka_unit_test(nothing_is_copied), cmocka_unit_test(refusals),
    };
    return REF_RUN(tests);
}
