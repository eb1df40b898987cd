/* Maps and sources with weights of their own: the ranks share rows by them, and results are those of a context that has
   these weights; sources that are dealt out by other ones are the same matrix, entry by entry. */
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wisp/wisp.h>

enum { MOST = 64, WIDTH = 3, ROWS = 211 };

static wisp_ctx *ctx_with(const int64_t *weights)
{
    return ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1, .weights = weights});
}

/* 2, 0, 1, ..; more and more; all to the last rank; the same for all. */
enum { SHARES = 4 };
static const int64_t *shares(int which, int ranks)
{
    static _Thread_local int64_t w[MOST];
    for (int i = 0; i < MOST; i++)
        w[i] = which == 0 ? (i + 2) % 3 : which == 1 ? (i + 1) * (INT64_C(1) << 20) : which == 2 ? i == ranks - 1 : 7;
    return w;
}

static void maps(void **state)
{
    static const int64_t rows[] = {0, 1, 10, 1009};
    (void)state;
    wisp_ctx *plain = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(plain);
    for (int s = 0; s < SHARES; s++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const int64_t *w = shares(s, ranks);
            wisp_ctx *ctx = ctx_with(w);
            wisp_map *map[3];
            int64_t first[3];
            REF_OK(ctx, wisp_map_create(&map[0], ctx, rows[i]));
            REF_OK(plain, wisp_map_create_weighted(&map[1], plain, rows[i], w));
            REF_OK(ctx, wisp_map_create_weighted(&map[2], ctx, rows[i], NULL));
            for (int k = 0; k < 3; k++) {
                assert_int_equal(wisp_map_local(map[k], &first[k]), wisp_map_local(map[0], NULL));
                assert_int_equal(first[k], first[0]);
                assert_int_equal(wisp_map_rows(map[k]), rows[i]);
            }
            assert_null(wisp_map_weights(map[0]));
            assert_memory_equal(wisp_map_weights(map[1]), w, (size_t)ranks * sizeof *w);
            for (int k = 0; k < 3; k++) wisp_map_free(map[k]);
            wisp_ctx_free(ctx);
        }
    wisp_ctx_free(plain);
}

/* ---- sources ------------------------------------------------------------------------------------ */

/* CALLBACK: by one row, or MANY, for any row. The others hold the rows of their rank alone. */
enum { CALLBACK, MANY, HERMITIAN, PARTITION, MATRIX, MATRIX_OF_PARTITION, KINDS };

static int64_t many_of(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col, void *val)
{
    const wisp_src *src = arg;
    const size_t size = wisp_type_size(src->type);
    rowptr[0] = 0;
    for (int64_t i = 0; i < count; i++) rowptr[i + 1] = rowptr[i] + src->row(src->arg, first + i, NULL, NULL);
    for (int64_t i = 0; i < count && rowptr[count] <= room && room > 0; i++)
        src->row(src->arg, first + i, col + rowptr[i], (char *)val + (size_t)rowptr[i] * size);
    return rowptr[count];
}

/* What a source is made of. */
typedef struct {
    wisp_src plain, between;
    wisp_mat *A;
} made_of;

static wisp_src open_kind(wisp_ctx *ctx, int kind, wisp_type type, made_of *m)
{
    ref_rng r = {(uint64_t)type + 3};
    wisp_src src;
    *m = (made_of){.plain = ref_random_src(&r, type, ROWS, ROWS, 6)};
    src = m->plain;
    src.free_arg = NULL;
    if (kind == MANY) src.row = NULL, src.many = many_of, src.arg = &m->plain;
    if (kind == HERMITIAN) REF_OK(ctx, wisp_src_hermitian_part(&src, ctx, &m->plain, NULL));
    if (kind == PARTITION) REF_OK(ctx, wisp_src_partition(&src, ctx, &m->plain, WISP_PARTITION_LEVELS));
    if (kind == MATRIX_OF_PARTITION)
        REF_OK(ctx, wisp_src_partition(&m->between, ctx, &m->plain, WISP_PARTITION_LEVELS));
    if (kind >= MATRIX) {
        REF_OK(ctx, wisp_mat_create(&m->A, ctx, kind == MATRIX ? &m->plain : &m->between, NULL));
        REF_OK(ctx, wisp_src_open_mat(&src, m->A));
    }
    return src;
}

static void close_kind(wisp_src *src, made_of *m)
{
    wisp_src_close(src);
    wisp_mat_free(m->A);
    wisp_src_close(&m->between);
    wisp_src_close(&m->plain);
}

typedef struct {
    wisp_scalar dot[3 * WIDTH];
    uint64_t hash;
    int64_t local, first;
    wisp_mat_props props;
} facts;

/* Of a product with random vectors, which go by the numbers that rows had first. */
static facts facts_of(wisp_ctx *ctx, const wisp_src *src, wisp_order order)
{
    facts f = {0};
    wisp_mat *A;
    wisp_blk *x, *y;
    REF_OK(ctx, wisp_src_hash(ctx, src, &f.hash));
    REF_OK(ctx, wisp_mat_create(&A, ctx, src, &(wisp_mat_opts){.width = WIDTH, .order = order}));
    f.local = wisp_map_local(wisp_mat_map(A), &f.first);
    REF_OK(ctx, wisp_mat_get_props(A, &f.props));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_DEFAULT + src->type, WIDTH));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_DEFAULT + src->type, WIDTH));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 5, 6, 0));
    REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY, .dot = f.dot}));
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_mat_free(A);
    return f;
}

/* Up to the order in which ranks add up. */
static void near(const facts *a, const facts *b, wisp_type type)
{
    const double rounding = type == WISP_S || type == WISP_C ? 1e-4 : 1e-12;
    for (int i = 0; i < 3 * WIDTH; i++) {
        const double size = 1 + ROWS + cabs(a->dot[i].re + I * a->dot[i].im);
        assert_true(cabs(a->dot[i].re - b->dot[i].re + I * (a->dot[i].im - b->dot[i].im)) < rounding * size);
    }
    assert_true(a->hash == b->hash);
    const wisp_mat_props *p = &a->props, *q = &b->props;
    assert_true(fabs(p->gershgorin_min - q->gershgorin_min) < rounding * ROWS);
    assert_true(fabs(p->gershgorin_max - q->gershgorin_max) < rounding * ROWS);
    assert_true(p->bad_row == q->bad_row && p->bad_col == q->bad_col && p->asymmetry == q->asymmetry);
    assert_true(p->bandwidth == q->bandwidth && p->empty_rows == q->empty_rows && p->diagonal == q->diagonal);
    assert_true(p->min_row == q->min_row && p->max_row == q->max_row && p->largest == q->largest);
}

static void dealt(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx);
    for (int kind = 0; kind < KINDS; kind++)
        for (wisp_type type = WISP_S; type <= WISP_Z; type++) {
            /* How RCM breaks ties hangs on the order of entries, which are stored in that of the rank's columns. */
            const wisp_order order = kind >= MATRIX ? WISP_ROWS_NATURAL : WISP_ROWS_RCM;
            made_of m;
            wisp_src src = open_kind(ctx, kind, type, &m);
            const facts before = facts_of(ctx, &src, order);
            for (int s = 0; s < SHARES; s++) {
                int64_t w[MOST];
                memcpy(w, shares(s, ranks), sizeof w);
                wisp_ctx *other = ctx_with(w);
                wisp_map *map;
                int64_t first;
                REF_OK(other, wisp_map_create(&map, other, ROWS));
                const int64_t local = wisp_map_local(map, &first);
                REF_OK(ctx, wisp_src_deal(&src, ctx, w));
                memset(w, -1, sizeof w); /* it has a list of its own */
                const facts after = facts_of(ctx, &src, order);
                assert_int_equal(after.local, local);
                assert_int_equal(after.first, first);
                near(&before, &after, type);
                if (kind != PARTITION && kind != MATRIX_OF_PARTITION) { /* what a partition is hangs on the shares */
                    made_of n;
                    wisp_src again = open_kind(other, kind, type, &n);
                    const facts want = facts_of(other, &again, order);
                    assert_memory_equal(after.dot, want.dot, sizeof want.dot);
                    close_kind(&again, &n);
                }
                if ((kind == HERMITIAN || kind == PARTITION) && ranks > 1) {
                    char val[16 * 64];
                    int64_t col[64];
                    assert_true(src.row(src.arg, first + local, col, val) < 0);
                    if (first > 0) assert_true(src.row(src.arg, first - 1, col, val) < 0);
                    if (local > 0) assert_true(src.row(src.arg, first, NULL, NULL) >= 0);
                }
                wisp_map_free(map);
                wisp_ctx_free(other);
            }
            REF_OK(ctx, wisp_src_deal(&src, ctx, NULL));
            const facts back = facts_of(ctx, &src, order);
            assert_int_equal(back.local, before.local);
            assert_memory_equal(back.dot, before.dot, sizeof before.dot);
            close_kind(&src, &m);
        }
    wisp_ctx_free(ctx);
}

/* Rows first .. end - 1 alone. */
typedef struct {
    const wisp_src *src;
    int64_t first, end;
} own_part;

static int64_t own_many(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col, void *val)
{
    own_part *p = arg;
    if (first < p->first || first + count > p->end) return -1;
    return many_of((void *)(uintptr_t)p->src, first, count, room, rowptr, col, val);
}

/* A callback for many rows that has those of its rank alone is asked for no others. */
static void own_rows(wisp_ctx *ctx, const wisp_src *src, const wisp_map *map)
{
    wisp_mat *A;
    own_part p = {.src = src};
    p.end = wisp_map_local(map, &p.first);
    p.end += p.first;
    wisp_src own = *src;
    own.row = NULL, own.many = own_many, own.arg = &p, own.own_rows = 1;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &own, NULL));
    assert_int_equal(wisp_map_local(wisp_mat_map(A), NULL), p.end - p.first);
    wisp_mat_free(A);
}

/* Weights may be written into the source, too, and what is made of it has them: its Hermitian part, a matrix as a
   source, one with a rectangular shape. */
static void inherited(void **state)
{
    (void)state;
    ref_rng r = {8};
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx);
    for (int s = 0; s < SHARES; s++) {
        const int64_t *w = shares(s, ranks);
        wisp_src src = ref_random_src(&r, WISP_Z, ROWS, ROWS, 5), wide = ref_random_src(&r, WISP_D, 90, 140, 5), part,
                 reopened;
        wisp_map *map, *cols;
        wisp_mat *A, *W;
        ref_mat dense = ref_dense(&src);
        REF_OK(ctx, wisp_map_create_weighted(&map, ctx, ROWS, w));
        REF_OK(ctx, wisp_map_create_weighted(&cols, ctx, 140, w));
        src.weights = wide.weights = w;
        own_rows(ctx, &src, map);
        REF_OK(ctx, wisp_src_hermitian_part(&part, ctx, &src, NULL));
        if (ranks > 1) assert_memory_equal(part.weights, w, (size_t)ranks * sizeof *w);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &part, NULL));
        assert_int_equal(wisp_map_local(wisp_mat_map(A), NULL), wisp_map_local(map, NULL));
        ref_mat half = ref_new(ROWS, ROWS);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < ROWS; j++) REF_AT(half, i, j) = (REF_AT(dense, i, j) + conj(REF_AT(dense, j, i))) / 2;
        ref_check_product(ctx, &r, A, half, WISP_Z, WIDTH, WISP_DOT_XY, 0, "a Hermitian part with weights");
        REF_OK(ctx, wisp_src_open_mat(&reopened, A));
        if (ranks > 1) assert_memory_equal(reopened.weights, w, (size_t)ranks * sizeof *w);
        wisp_src_close(&reopened);
        wisp_mat_free(A);
        wisp_src_close(&part);
        REF_OK(ctx, wisp_mat_create(&W, ctx, &wide, NULL));
        assert_int_equal(wisp_map_local(wisp_mat_col_map(W), NULL), wisp_map_local(cols, NULL));
        ref_mat dense_wide = ref_dense(&wide);
        ref_check_product(ctx, &r, W, dense_wide, WISP_D, WIDTH, 0, 0, "a rectangular matrix with weights");
        ref_free(dense_wide);
        wisp_mat_free(W);
        wisp_map_free(map);
        wisp_map_free(cols);
        wide.free_arg(wide.arg);
        src.free_arg(src.arg);
        ref_free(dense);
        ref_free(half);
    }
    wisp_ctx_free(ctx);
}

/* Nonzeros are shared in the proportions of the source's weights; a source that is dealt out so has as many. */
static void by_nonzeros(void **state)
{
    (void)state;
    ref_rng r = {21};
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx);
    for (int s = 0; s < SHARES; s++) {
        int64_t w[MOST], found[MOST], want[MOST], first;
        memcpy(w, shares(s, ranks), sizeof w);
        wisp_ctx *other = ctx_with(w);
        wisp_src src = ref_random_src(&r, WISP_D, 500, 500, 30);
        REF_OK(other, wisp_src_weights(other, &src, want));
        src.weights = w;
        REF_OK(ctx, wisp_src_weights(ctx, &src, found));
        assert_memory_equal(found, want, (size_t)ranks * sizeof *want);
        REF_OK(ctx, wisp_src_deal(&src, ctx, found));
        wisp_mat *A;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
        assert_int_equal(wisp_map_local(wisp_mat_map(A), &first), found[wisp_ctx_rank(ctx)]);
        wisp_mat_free(A);
        wisp_src_close(&src);
        wisp_ctx_free(other);
    }
    wisp_ctx_free(ctx);
}

/* ---- what does not fit --------------------------------------------------------------------------- */

static void bad_weights(void **state)
{
    static const int64_t bad[][2] = {{-1, 1}, {(INT64_C(1) << 40) + 1, 1}, {0, 0}};
    (void)state;
    ref_rng r = {2};
    wisp_ctx *ctx = ctx_with(NULL);
    for (int i = 0; i < 3; i++) {
        int64_t w[MOST];
        wisp_map *map;
        wisp_mat *A;
        uint64_t hash[2];
        const char *words = i < 2 ? "numbers from 0 to 1099511627776" : "some rank must have rows";
        for (int k = 0; k < MOST; k++) w[k] = bad[i][k > 0];
        wisp_src src = ref_random_src(&r, WISP_D, 30, 30, 5), own;
        REF_FAILS(ctx, wisp_map_create_weighted(&map, ctx, 9, w), WISP_ERR_ARG, words);
        assert_null(map);
        src.weights = w;
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_ARG, words);
        src.weights = NULL;
        REF_OK(ctx, wisp_src_hermitian_part(&own, ctx, &src, NULL));
        REF_OK(ctx, wisp_src_hash(ctx, &own, &hash[0]));
        const wisp_src was = own;
        REF_FAILS(ctx, wisp_src_deal(&own, ctx, w), WISP_ERR_ARG, words);
        assert_memory_equal(&own, &was, sizeof was);
        REF_OK(ctx, wisp_src_hash(ctx, &own, &hash[1]));
        assert_true(hash[0] == hash[1]);
        wisp_src_close(&own);
        src.free_arg(src.arg);
    }
    wisp_ctx_free(ctx);
}

/* A map goes before what a source that answers for any row says; one with its own rows must have those of the map. */
static void maps_and_sources(void **state)
{
    (void)state;
    ref_rng r = {12};
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx);
    int64_t w[MOST];
    for (int k = 0; k < MOST; k++) w[k] = 1 + 3 * (k == 0);
    wisp_src src = ref_random_src(&r, WISP_D, ROWS, ROWS, 6), own;
    wisp_map *map;
    wisp_mat *A, *B;
    const char *words = "deal it out by the map's weights";
    REF_OK(ctx, wisp_map_create_weighted(&map, ctx, ROWS, w));
    const wisp_mat_opts o = {.map = map};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    assert_ptr_equal(wisp_mat_map(A), map);
    ref_mat dense = ref_dense(&src);
    ref_check_product(ctx, &r, A, dense, WISP_D, WIDTH, WISP_DOT_XY, 0, "on a map with weights");
    REF_OK(ctx, wisp_mat_create(&B, ctx, &src, NULL));
    REF_OK(ctx, wisp_src_open_mat(&own, B));
    if (ranks > 1) {
        wisp_mat_info info;
        wisp_mat *C;
        REF_FAILS(ctx, wisp_mat_create(&C, ctx, &own, &o), WISP_ERR_MISMATCH, words);
        assert_null(C);
        REF_FAILS(ctx, wisp_mat_plan(ctx, &own, &o, &info), WISP_ERR_MISMATCH, words);
        REF_FAILS(ctx, wisp_mat_bound(ctx, &own, &o, &info), WISP_ERR_MISMATCH, words);
        REF_FAILS(ctx, wisp_mat_update(A, &own), WISP_ERR_MISMATCH, words);
    }
    REF_OK(ctx, wisp_src_deal(&own, ctx, wisp_map_weights(map)));
    REF_OK(ctx, wisp_mat_update(A, &own));
    ref_check_product(ctx, &r, A, dense, WISP_D, WIDTH, WISP_DOT_XY, 0, "new values on a map with weights");
    wisp_src_close(&own);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_map_free(map);
    ref_free(dense);
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

/* Rank 0 writes the same bytes, whoever has the rows. */
static void written(void **state)
{
    (void)state;
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    double id = rank == 0 ? getpid() : 0;
    char path[3][64], *text[2];
    made_of m;
    REF_OK(ctx, wisp_ctx_sum(ctx, &id, 1));
    wisp_src src = open_kind(ctx, MATRIX, WISP_Z, &m);
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "deal_%.0f_%d.mtx", id, i);
        REF_OK(ctx, wisp_src_write(&src, ctx, path[i], NULL));
        if (i == 0) REF_OK(ctx, wisp_src_deal(&src, ctx, shares(0, ranks)));
    }
    for (int i = 0; rank == 0 && i < 2; i++) {
        size_t size = 0;
        FILE *f = fopen(path[i], "rb");
        text[i] = NULL;
        assert_non_null(f);
        assert_true(getdelim(&text[i], &size, EOF, f) > 0);
        fclose(f);
        unlink(path[i]);
    }
    if (rank == 0) {
        assert_string_equal(text[0], text[1]);
        free(text[0]), free(text[1]);
    }
    close_kind(&src, &m);
    wisp_ctx_free(ctx);
}

/* Shares of the rows may be equal where those of the columns are not. */
static void few_rows(void **state)
{
    (void)state;
    enum { COLUMNS = 1000 };
    wisp_ctx *ctx = ctx_with(NULL);
    const int ranks = wisp_ctx_processes(ctx);
    int64_t *w = calloc((size_t)ranks, sizeof *w);
    assert_non_null(w);
    for (int i = 0; i < ranks; i++) w[i] = i == 0 ? 10 : 9;
    ref_rng r = {9};
    wisp_src few = ref_random_src(&r, WISP_D, ranks, COLUMNS, 5);
    wisp_src dealt;
    wisp_map *cols;
    wisp_mat *A, *own;
    REF_OK(ctx, wisp_map_create_weighted(&cols, ctx, COLUMNS, w));
    REF_OK(ctx, wisp_mat_create(&own, ctx, &few, NULL));
    REF_OK(ctx, wisp_src_open_mat(&dealt, own));
    REF_OK(ctx, wisp_src_deal(&dealt, ctx, w));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &dealt, NULL));
    assert_int_equal(wisp_map_local(wisp_mat_col_map(A), NULL), wisp_map_local(cols, NULL));
    wisp_mat_free(A);
    wisp_src_close(&dealt);
    wisp_mat_free(own);
    wisp_map_free(cols);
    few.free_arg(few.arg);
    free(w);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps),
                                       cmocka_unit_test(dealt),
                                       cmocka_unit_test(few_rows),
                                       cmocka_unit_test(inherited),
                                       cmocka_unit_test(by_nonzeros),
                                       cmocka_unit_test(bad_weights),
                                       cmocka_unit_test(maps_and_sources),
                                       cmocka_unit_test(written)};
    return REF_RUN(tests);
}
