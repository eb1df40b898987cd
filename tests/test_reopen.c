/* A matrix as a source again: the rows are those that it was made of, and the matrix that is made of them is the same.
   So is its diagonal. */
#include "storage.h"
#include <stdio.h>
#include <stdlib.h>

/* A source of which only the rows first .. end - 1 are asked; others are taken as empty, and must be refused. */
typedef struct {
    const wisp_src *src;
    int64_t first, end;
} own_rows;

static int own_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const own_rows *o = arg;
    const int n = o->src->row(o->src->arg, row, col, val);
    if (row >= o->first && row < o->end) return n;
    assert_int_equal(n, -1);
    return 0;
}

/* This rank's rows, in any order of columns, each once. */
static void check_rows(const wisp_src *src, const wisp_mat *A, const ref_sparse *want, const char *what)
{
    own_rows own = {.src = src};
    own.end = wisp_map_local(wisp_mat_map(A), &own.first) + own.first;
    wisp_src asked = *src;
    asked.row = own_row, asked.arg = &own;
    const ref_sparse got = ref_sparse_of(&asked, src->type);
    for (int64_t i = own.first; i < own.end; i++) {
        const int64_t n = want->first[i + 1] - want->first[i];
        if (src->row(src->arg, i, NULL, NULL) != n || got.first[i + 1] - got.first[i] != n)
            fail_msg("%s: row %lld has %lld entries, not %lld", what, (long long)i,
                     (long long)(got.first[i + 1] - got.first[i]), (long long)n);
        for (int64_t e = want->first[i]; e < want->first[i + 1]; e++) {
            int64_t k = got.first[i];
            while (k < got.first[i + 1] && got.col[k] != want->col[e]) k++;
            if (k == got.first[i + 1] || got.val[k] != want->val[e])
                fail_msg("%s: entry (%lld, %lld)", what, (long long)i, (long long)want->col[e]);
        }
    }
    ref_sparse_free(got);
}

/* This rank's part of it, in numbers that hold A's, and where A is not square. */
static void check_diagonal(wisp_ctx *ctx, const wisp_mat *A, const ref_sparse *want, wisp_type of_A, const char *what)
{
    int64_t first;
    const int64_t rows = wisp_map_local(wisp_mat_map(A), &first);
    const int real = !wisp_type_is_complex(of_A);
    const wisp_type types[] = {WISP_DEFAULT, WISP_Z, real ? WISP_D : WISP_C};
    double *numbers = calloc((size_t)rows + 1, 2 * sizeof *numbers);
    if (want->rows != want->cols)
        REF_FAILS(ctx, wisp_mat_diagonal(A, WISP_Z, numbers), WISP_ERR_MISMATCH, "columns");
    else if (!real)
        REF_FAILS(ctx, wisp_mat_diagonal(A, WISP_D, numbers), WISP_ERR_UNSUPPORTED, "complex");
    for (int t = 0; t < 3 && want->rows == want->cols; t++) {
        const wisp_type type = types[t] ? types[t] : of_A;
        REF_OK(ctx, wisp_mat_diagonal(A, types[t], numbers));
        for (int64_t i = 0; i < rows; i++) {
            cplx entry = 0;
            for (int64_t e = want->first[first + i]; e < want->first[first + i + 1]; e++)
                if (want->col[e] == first + i) entry += want->val[e];
            const cplx got = ref_number(type, numbers, i);
            if (got != (type == WISP_C ? (cplx)(float complex)entry : entry))
                fail_msg("%s: number %lld of the diagonal", what, (long long)(first + i));
        }
    }
    free(numbers);
}

/* Reads A's rows; the matrix that is made of them, with these options, or as a kind. */
static wisp_mat *made_again(wisp_ctx *ctx, const wisp_mat *A, const ref_sparse *want, const storage *kind,
                            const wisp_mat_opts *o, const char *what)
{
    wisp_src src;
    wisp_mat *B;
    REF_OK(ctx, wisp_src_open_mat(&src, A));
    assert_true(src.rows == want->rows && src.cols == want->cols);
    check_rows(&src, A, want, what);
    check_diagonal(ctx, A, want, src.type, what);
    if (kind)
        B = storage_make(ctx, kind, &src);
    else
        REF_OK(ctx, wisp_mat_create(&B, ctx, &src, o));
    wisp_src_close(&src);
    return B;
}

static ref_mat product(wisp_ctx *ctx, const wisp_mat *A, ref_mat in)
{
    wisp_mat_info info;
    wisp_blk *x, *y;
    wisp_mat_get_info(A, &info);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), info.type, (int)in.cols));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), info.type, (int)in.cols));
    ref_put(x, in);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    const ref_mat out = ref_get(y);
    wisp_blk_free(x);
    wisp_blk_free(y);
    return out;
}

/* A and the matrix made of it are the same, but that entries which A was given in parts leave room there. The next one
   has the same size, and multiplies alike bit by bit. */
static void check(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, const ref_sparse *want, const storage *kind,
                  const wisp_mat_opts *o, const char *what)
{
    wisp_mat *B = made_again(ctx, A, want, kind, o, what), *C = made_again(ctx, B, want, kind, o, what);
    wisp_mat_info a, b;
    wisp_mat_props p, q;
    wisp_mat_get_info(B, &a);
    wisp_mat_get_info(C, &b);
    if (a.nnz != b.nnz || a.bytes != b.bytes || a.format != b.format || a.C != b.C || a.type != b.type)
        fail_msg("%s: %lld entries in %lld bytes became %lld in %lld", what, (long long)a.nnz, (long long)a.bytes,
                 (long long)b.nnz, (long long)b.bytes);
    REF_OK(ctx, wisp_mat_get_props(A, &p));
    REF_OK(ctx, wisp_mat_get_props(C, &q));
    ref_same_props(&p, &q);
    ref_mat in = ref_random_block(r, a.type, a.cols, 3), y = product(ctx, B, in), z = product(ctx, C, in);
    for (int64_t i = 0; i < y.rows * y.cols; i++)
        if (y.a[i] != z.a[i]) fail_msg("%s: the products differ", what);
    ref_free(in);
    ref_free(y);
    ref_free(z);
    wisp_mat_free(B);
    wisp_mat_free(C);
}

static void every_kind(void **state)
{
    (void)state;
    ref_rng r = {61};
    for (int k = 0; k < storage_kinds; k++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + k % 2, .no_pin = 1});
        for (wisp_type type = WISP_S; type <= WISP_Z; type++) {
            const int64_t rows = storage_kind[k].far ? 33000 : 257 + ref_below(&r, 150);
            wisp_src src = shape_src(&r, storage_kind[k].shape, type, storage_kind[k].few, rows, rows);
            const ref_sparse want = ref_sparse_of(&src, type);
            char what[120];
            snprintf(what, sizeof what, "%s, %s matrix", storage_kind[k].name, wisp_type_name(type));
            wisp_mat *A = storage_make(ctx, &storage_kind[k], &src);
            check(ctx, &r, A, &want, &storage_kind[k], NULL, what);
            wisp_mat_free(A);
            ref_sparse_free(want);
            src.free_arg(src.arg);
        }
        wisp_ctx_free(ctx);
    }
}

/* Rows in every order, sorted by length besides, and a matrix that is not square; entries that were rounded. */
static void orders(void **state)
{
    (void)state;
    static const wisp_order order[] = {WISP_ROWS_NATURAL, WISP_ROWS_RCM, WISP_ROWS_TILES};
    ref_rng r = {62};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int i = 0; i < 18; i++) {
        const bool half = i >= 12 && ref_ranks() == 1, square = i < 6 || half;
        const int64_t rows = 500 + ref_below(&r, 100), cols = square ? rows : 400;
        const wisp_mat_opts o = {.type = i % 2 ? WISP_C : WISP_Z,
                                 .C = half ? 0 : 8,
                                 .sigma = half ? 0 : 64,
                                 .order = square ? order[i % 3] : WISP_ROWS_NATURAL,
                                 .format = half ? WISP_FORMAT_HERMITIAN : WISP_FORMAT_SELL};
        wisp_src src = shape_src(&r, half ? SHAPE_HERMITIAN : SHAPE_RANDOM, WISP_Z, false, rows, cols);
        const ref_sparse want = ref_sparse_of(&src, o.type);
        wisp_mat *A;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        char what[40];
        snprintf(what, sizeof what, "order %d, number %d", (int)o.order, i);
        const wisp_mat_opts on_map = {.type = o.type, .C = o.C, .format = o.format, .map = wisp_mat_map(A)};
        check(ctx, &r, A, &want, NULL, &on_map, what);
        wisp_mat_free(A);
        ref_sparse_free(want);
        src.free_arg(src.arg);
    }
    wisp_ctx_free(ctx);
}

static wisp_status no_product(void *arg, wisp_blk *y, const wisp_blk *x)
{
    (void)arg, (void)y, (void)x;
    return WISP_OK;
}

/* No rows; an operator. */
static void refused(void **state)
{
    (void)state;
    ref_rng r = {63};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_src src = shape_src(&r, SHAPE_RANDOM, WISP_D, false, 0, 7), again;
    wisp_map *map;
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_src_open_mat(&again, A));
    assert_true(again.rows == 0 && again.cols == 7 && again.max_row == 0);
    wisp_src_close(&again);
    wisp_mat_free(A);
    src.free_arg(src.arg);
    REF_OK(ctx, wisp_map_create(&map, ctx, 9));
    REF_OK(ctx, wisp_mat_from_apply(&A, ctx, &(wisp_operator){.map = map, .type = WISP_D, .apply = no_product}));
    REF_FAILS(ctx, wisp_src_open_mat(&again, A), WISP_ERR_UNSUPPORTED, "is an operator");
    assert_true(!again.row && !again.arg);
    wisp_mat_free(A);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* Each allocation in turn fails, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    const wisp_mat_opts half = {.format = WISP_FORMAT_HERMITIAN};
    int failures = 0, done = 0;
    for (int at = 1; at < 300 && !done && ref_ranks() == 1; at++) {
        char number[16];
        snprintf(number, sizeof number, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", number, 1);
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        unsetenv("WISP_ALLOC_FAIL_AT");
        if (!ctx) continue;
        wisp_mat *A;
        if (wisp_mat_open(&A, ctx, "laplace:nx=9,ny=9,nz=9", &half) == WISP_OK) {
            wisp_src src;
            int64_t before, after;
            wisp_ctx_memory(ctx, &before, NULL);
            const wisp_status status = wisp_src_open_mat(&src, A);
            done = status == WISP_OK;
            failures += status == WISP_ERR_NOMEM;
            assert_true(done || (status == WISP_ERR_NOMEM && !src.row && !src.arg));
            wisp_src_close(&src);
            wisp_ctx_memory(ctx, &after, NULL);
            assert_int_equal(after, before);
        }
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    if (ref_ranks() == 1) assert_true(done && failures == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(orders),
                                       cmocka_unit_test(refused), cmocka_unit_test(no_memory)};
    return REF_RUN(tests);
}
