/* Storage without repetition: which way is taken, what a matrix says of itself, new values, bits. (Products:
   test_products.c.) */
#include "backend/cpu/prepare.h"
#include "data/store/store.h"
#include "storage.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const shape kinds[] = {SHAPE_CLEAN, SHAPE_DISORDERED, SHAPE_CELLS, SHAPE_DISORDERED_CELLS};

/* What is not finite in x reaches the rows that have an entry there, and no other. */
static void only_where_entries_are(void **state)
{
    (void)state;
    ref_rng r = {9};
    for (int kind = 0; kind < 4; kind++)
        for (wisp_type type = WISP_S; type <= WISP_Z; type++) {
            wisp_ctx *ctx = ref_ctx(NULL);
            wisp_mat *A;
            wisp_blk *x, *y;
            ref_mat dense = shape_dense(&r, kinds[kind], type, false, 263, 263),
                    in = ref_random_block(&r, type, 263, 1);
            wisp_src src = ref_dense_src(dense, type);
            const int64_t bad = ref_below(&r, 263);
            in.a[bad] = INFINITY;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src,
                                        &(wisp_mat_opts){
                                            .width = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_COMPRESSED}));
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, 1));
            REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), type, 1));
            ref_put(x, in);
            REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
            ref_mat out = ref_get(y);
            for (int64_t i = 0; i < 263; i++) {
                const bool finite = isfinite(creal(out.a[i])) && isfinite(cimag(out.a[i]));
                if (finite != (REF_AT(dense, i, bad) == 0))
                    fail_msg("%s, %s: row %lld, bad %lld", shape_name[kinds[kind]], wisp_type_name(type), (long long)i,
                             (long long)bad);
            }
            wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A), wisp_ctx_free(ctx);
            src.free_arg(src.arg), ref_free(dense), ref_free(in), ref_free(out);
        }
}

/* A lattice takes a few bytes a row; where nothing repeats, SELL is taken, or asking for more is refused. */
static void choice(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    static const struct {
        const char *spec;
        double most; /* bytes per row */
        wisp_format format, ask;
    } cases[] = {
        {"laplace:points=7,nx=20,ny=20,nz=20", 3, WISP_FORMAT_COMPRESSED, WISP_FORMAT_DEFAULT},
        {"topi:nx=12,ny=12,nz=12", 11, WISP_FORMAT_COMPRESSED, WISP_FORMAT_DEFAULT},
        {"anderson:nx=16,ny=16,nz=16,disorder=2", 12, WISP_FORMAT_COMPRESSED, WISP_FORMAT_DEFAULT},
        {"spinchain:sites=14,up=7", 90, WISP_FORMAT_COMPRESSED, WISP_FORMAT_COMPRESSED},
        {"band:n=20000,bandwidth=9", 91, WISP_FORMAT_COMPRESSED, WISP_FORMAT_DEFAULT},
        {"delaunay:nx=40,ny=40", 1e9, WISP_FORMAT_SELL, WISP_FORMAT_DEFAULT},
    };
    const double bundles = 6; /* bytes a row of these small matrices, most where a bundle is two rows (AVX2) */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int width = 1; width <= 8; width += 7) {
            wisp_mat *A, *B;
            wisp_mat_info a, b;
            wisp_mat_props p, q;
            int64_t h[30], k[30];
            REF_OK(ctx,
                   wisp_mat_open(&A, ctx, cases[i].spec,
                                 &(wisp_mat_opts){.width = width, .order = WISP_ROWS_NATURAL, .format = cases[i].ask}));
            REF_OK(ctx,
                   wisp_mat_open(&B, ctx, cases[i].spec, &(wisp_mat_opts){.width = width, .format = WISP_FORMAT_SELL}));
            wisp_mat_get_info(A, &a), wisp_mat_get_info(B, &b);
            if (a.format != cases[i].format ||
                (double)a.bytes > (cases[i].most + (width == 1 ? bundles : 0)) * (double)a.rows)
                fail_msg("%s: format %d, %.1f bytes a row", cases[i].spec, (int)a.format,
                         (double)a.bytes / (double)a.rows);
            assert_int_equal(b.format, WISP_FORMAT_SELL);
            assert_int_equal(a.nnz, b.nnz);
            REF_OK(ctx, wisp_mat_get_props(A, &p));
            REF_OK(ctx, wisp_mat_get_props(B, &q));
            ref_same_props(&p, &q);
            REF_OK(ctx, wisp_mat_row_histogram(A, h, 30));
            REF_OK(ctx, wisp_mat_row_histogram(B, k, 30));
            assert_memory_equal(h, k, sizeof h);
            wisp_mat_free(A), wisp_mat_free(B);
        }
    wisp_mat *A;
    wisp_src src;
    REF_OK(ctx, wisp_src_open(&src, ctx, "band:n=70000,bandwidth=65537"));
    wisp_src_close(&src);
    ref_rng r = {6};
    src = ref_random_src(&r, WISP_D, 66000, 66000, 9);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_COMPRESSED}),
              WISP_ERR_UNSUPPORTED, "compressed");
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

/* Rows that repeat are looked at pattern by pattern; none of these need be symmetric, and one value may be anything. */
static void properties(void **state)
{
    (void)state;
    static const double odd[] = {0, 0.125, INFINITY, NAN};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    ref_rng r = {41};
    int patterns = 0;
    for (int s = 0; s < SHAPES; s++)
        for (wisp_type type = WISP_S; type <= WISP_Z; type++)
            for (int k = 0; k < 4; k++) {
                wisp_mat *A, *B;
                wisp_mat_props p, q;
                ref_mat dense = shape_dense(&r, (shape)s, type, false, 500, 500);
                if (k > 0) REF_AT(dense, 321, 321 - k % 2) = odd[k];
                wisp_src src = ref_dense_src(dense, type);
                wisp_mat_opts o = {.width = 4, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
                REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
                o.format = WISP_FORMAT_DEFAULT;
                REF_OK(ctx, wisp_mat_create(&B, ctx, &src, &o));
                patterns += wisp__is_kind(&B->local, WISP__PATTERNS);
                REF_OK(ctx, wisp_mat_get_props(A, &p));
                REF_OK(ctx, wisp_mat_get_props(B, &q));
                ref_same_props(&p, &q);
                wisp_mat_free(A), wisp_mat_free(B);
                src.free_arg(src.arg);
                ref_free(dense);
            }
    assert_true(patterns > 20);
    wisp_ctx_free(ctx);
}

/* New values, which repeat in another way or not at all. */
static void new_values(void **state)
{
    (void)state;
    ref_rng r = {7};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (wisp_type type = WISP_S; type <= WISP_Z; type++)
        for (int width = 1; width <= 4; width += 3) {
            ref_mat clean = shape_dense(&r, SHAPE_CLEAN, type, false, 250, 250),
                    other = shape_dense(&r, SHAPE_DISORDERED, type, false, 250, 250), all = ref_new(250, 250);
            for (int64_t i = 0; i < 250 * 250; i++) all.a[i] = clean.a[i] != 0 ? ref_value(&r, type) : 0;
            ref_mat step[] = {clean, other, all, clean};
            wisp_mat *A;
            wisp_src src = ref_dense_src(clean, type);
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = width}));
            src.free_arg(src.arg);
            for (int i = 1; i < 4; i++) {
                src = ref_dense_src(step[i], type);
                REF_OK(ctx, wisp_mat_update(A, &src));
                src.free_arg(src.arg);
                ref_check_product(ctx, &r, A, step[i], type, width, WISP_SHIFT | WISP_DOT_XY, 0, "new values");
            }
            REF_AT(clean, 3, 100) = 1;
            src = ref_dense_src(clean, type);
            REF_FAILS(ctx, wisp_mat_update(A, &src), WISP_ERR_MISMATCH, "row 3");
            src.free_arg(src.arg);
            wisp_mat_free(A);
            ref_free(clean), ref_free(other), ref_free(all);
        }
    wisp_ctx_free(ctx);
}

/* A band whose diagonal alone has many values, and which one row may lack. */
typedef struct {
    int64_t rows, hole;
    int rows_repeat; /* else values do */
} disordered;

static int disordered_row(void *arg, int64_t row, int64_t *col, void *val)
{
    static const int offset[] = {-7, -3, 0, 1, 4};
    const disordered *d = arg;
    double *v = val;
    int n = 0;
    for (int k = 0; k < 5; k++) {
        const int64_t j = row + offset[k];
        if (j < 0 || j >= d->rows || (j == row && row == d->hole)) continue;
        if (col) {
            col[n] = j;
            v[n] = j == row         ? 1 + 1e-3 * (double)row
                   : d->rows_repeat ? -1 - k
                                    : (double)(1 + (row * 2654435761 >> (k + 7)) % 50);
        }
        n++;
    }
    return n;
}

static wisp_format format_of(const wisp_mat *A)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    return info.format;
}

/* The diagonal, and a column anywhere: only values can repeat. */
enum { ANYWHERE_ROWS = 100000 };
static int anywhere_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const int *values = arg;
    double *v = val;
    if (col) col[0] = row, col[1] = (row * 48271 + 5) % ANYWHERE_ROWS;
    for (int k = 0; col && k < 2; k++) v[k] = 1 + (double)((row + k) % *values);
    return 2;
}

/* Whoever asked for a compressed matrix has one after an update, too, or hears that it can't be; and it stays as it
   was. By default so small a matrix has no codes. */
static void new_values_as_asked(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    for (int asked = 0; asked < 2; asked++) {
        const wisp_format format = asked ? WISP_FORMAT_COMPRESSED : WISP_FORMAT_DEFAULT,
                          stored = asked ? WISP_FORMAT_COMPRESSED : WISP_FORMAT_SELL;
        int values = 7;
        const wisp_src src = {ANYWHERE_ROWS, ANYWHERE_ROWS, 2, WISP_D, anywhere_row, &values, NULL, 0, NULL, 0, NULL};
        const wisp_mat_opts o = {.width = 1, .order = WISP_ROWS_NATURAL, .format = format};
        wisp_mat *A;
        wisp_mat_props before, after;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        assert_int_equal(format_of(A), stored);
        values = 5;
        REF_OK(ctx, wisp_mat_update(A, &src));
        assert_int_equal(format_of(A), stored);
        REF_OK(ctx, wisp_mat_get_props(A, &before));
        assert_true(before.largest == 5);
        values = ANYWHERE_ROWS;
        if (asked) {
            REF_FAILS(ctx, wisp_mat_update(A, &src), WISP_ERR_UNSUPPORTED, "can't be compressed");
            REF_OK(ctx, wisp_mat_get_props(A, &after));
            ref_same_props(&before, &after);
            assert_int_equal(format_of(A), stored);
        }
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
}

/* NaN in an element of x that a row does not name stays out of it, also where diagonals are kept apart. */
static void no_diagonal_no_leak(void **state)
{
    (void)state;
    enum { ROWS = 20000, HOLE = 7777 };
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    for (int kind = 0; kind < 2; kind++)
        for (int width = 1; width <= 4; width += 3) {
            bool apart[2];
            for (int hole = 0; hole < 2; hole++) {
                disordered d = {ROWS, hole ? HOLE : -1, kind};
                const wisp_src src = {ROWS, ROWS, 5, WISP_D, disordered_row, &d, NULL, 0, NULL, 0, NULL};
                wisp_mat *A;
                wisp_blk *x, *y;
                double *data = malloc(ROWS * 4 * sizeof *data), val[5], want = 0;
                int64_t col[5];
                REF_OK(ctx, wisp_mat_create(&A, ctx, &src,
                                            &(wisp_mat_opts){.width = width, .format = WISP_FORMAT_COMPRESSED}));
                apart[hole] = A->local.diagonal;
                REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, width));
                REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, width));
                for (int i = 0; i < ROWS * width; i++) data[i] = i / width == HOLE ? NAN : 1;
                REF_OK(ctx, wisp_blk_put(x, WISP_ROW_MAJOR, data, width));
                REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
                REF_OK(ctx, wisp_blk_get(y, WISP_ROW_MAJOR, data, width));
                for (int k = disordered_row(&d, HOLE, col, val) - 1; k >= 0; k--) want += val[k];
                for (int j = 0; j < width; j++) {
                    const double got = data[HOLE * width + j];
                    assert_true(hole ? fabs(got - want) <= 1e-12 * want || got == want : isnan(got));
                }
                wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A);
                free(data);
            }
            assert_true(apart[0] && !apart[1]);
        }
    wisp_ctx_free(ctx);
}

/* Bit-identical for any number of threads. */
static void threads(void **state)
{
    (void)state;
    double first[6] = {0};
    for (int t = 1; t <= 3; t++)
        for (int k = 0; k < 2; k++) {
            wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = t, .no_pin = 1});
            wisp_mat *A;
            wisp_blk *x, *y;
            wisp_scalar dot[3];
            const wisp_aug aug = {.terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY, .dot = dot};
            REF_OK(ctx,
                   wisp_mat_open(&A, ctx,
                                 k ? "laplace:points=7,nx=40,ny=40,nz=40" : "topi:nx=20,ny=20,nz=20,disorder=1", NULL));
            wisp_mat_info info;
            wisp_mat_get_info(A, &info);
            assert_int_equal(info.format, WISP_FORMAT_COMPRESSED);
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), info.type, 1));
            REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), info.type, 1));
            REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
            REF_OK(ctx, wisp_spmmv(y, A, x, &aug));
            for (int i = 0; i < 3; i++) {
                if (t == 1) first[3 * k + i] = dot[i].re;
                assert_true(first[3 * k + i] == dot[i].re);
            }
            wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A), wisp_ctx_free(ctx);
        }
}

/* Rows of nine patterns: in three blocks of five two of them in turn, in the others any, so that there are more kinds
   of bundles than have room. */
enum { CROWD = 160000, CROWD_BLOCK = 16, CROWD_ENTRIES = 8, CROWD_PATTERNS = 9 };

static int crowd_row(void *arg, int64_t i, int64_t *col, void *val)
{
    (void)arg;
    double *v = val;
    ref_rng block = {(uint64_t)(i / CROWD_BLOCK) + 1}, row = {(uint64_t)i + 1};
    const bool common = ref_below(&block, 10) < 6;
    const int pattern = common ? (int)(i % 2) : (int)ref_below(&row, CROWD_PATTERNS);
    for (int k = 0; col && k < CROWD_ENTRIES; k++) {
        col[k] = i + 20 * k;
        v[k] = pattern + 1;
    }
    return CROWD_ENTRIES;
}

/* The kinds that are met most have room, whichever threads meet first: the same rows go alone, and sums have the same
   bits. */
static void full_of_kinds(void **state)
{
    (void)state;
    const wisp_src src = {
        .rows = CROWD, .cols = CROWD + 20 * CROWD_ENTRIES, .max_row = CROWD_ENTRIES, .type = WISP_D, .row = crowd_row};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        double first = 0;
        int64_t alone[3] = {0}, where[3] = {0};
        bool some = false;
        for (int t = 0; t < 3; t++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], t + 1);
            if (!ctx) break;
            wisp_mat *A;
            wisp_blk *x, *y;
            wisp_scalar dot[3];
            const wisp_aug aug = {.terms = WISP_DOT_YY, .dot = dot};
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = 1, .format = WISP_FORMAT_COMPRESSED}));
            assert_true(wisp__is_kind(&A->local, WISP__PATTERNS));
            const wisp__bundles *b = wisp__cpu_prepared_of(&A->entries)->bundles;
            some = b;
            assert_int_equal(!b, ctx->bundle_bytes == 0);
            for (int64_t i = 0; b && i < CROWD / b->rows; i++) {
                const bool common = (b->kind[i] & ~K_SAME) < 2; /* two kinds are met by far the most */
                if (b->kind[i] == K_ALONE) alone[t]++, where[t] += i;
                ref_rng block = {(uint64_t)(i * b->rows / CROWD_BLOCK) + 1};
                if (ref_below(&block, 10) < 6 && i < CROWD / b->rows - 20) assert_true(common);
            }
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_col_map(A), WISP_D, 1));
            REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 1));
            REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
            REF_OK(ctx, wisp_spmmv(y, A, x, &aug));
            if (t == 0) first = dot[2].re;
            assert_true(dot[2].re == first);
            assert_true(alone[t] == alone[0] && where[t] == where[0]);
            wisp_blk_free(x), wisp_blk_free(y), wisp_mat_free(A), wisp_ctx_free(ctx);
        }
        if (some) assert_true(alone[0] > 100);
    }
}

/* Rows of one pattern that go side by side have the sums of single ones, next to each other or some rows apart. */
static void bits(void **state)
{
    (void)state;
    enum { KINDS = 5 };
    static const shape of[KINDS] = {SHAPE_CLEAN, SHAPE_DISORDERED, SHAPE_CELLS, SHAPE_DISORDERED_CELLS, SHAPE_SITES};
    static const int widths[] = {2, 4, 8, 16, 32, 33};
    ref_rng r = {11};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int i = 0; i < 4 * KINDS * 6; i++) {
            const wisp_type type = (wisp_type)(WISP_S + i % 4);
            const shape kind = of[i / 4 % KINDS];
            const int width = widths[i / (4 * KINDS)];
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
            if (!ctx) continue;
            ref_mat dense = shape_dense(&r, kind, type, false, 263, 263);
            wisp_src src = ref_dense_src(dense, type);
            wisp_mat *A;
            char what[120];
            snprintf(what, sizeof what, "%s: %s, %s, width %d", ref_isa[isa], shape_name[kind], wisp_type_name(type),
                     width);
            REF_OK(ctx,
                   wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = width, .format = WISP_FORMAT_COMPRESSED}));
            assert_true(wisp__is_kind(&A->local, WISP__PATTERNS));
            ref_check_bits(ctx, &r, A, type, width, what);
            wisp_mat_free(A), wisp_ctx_free(ctx);
            src.free_arg(src.arg), ref_free(dense);
        }
}

/* A step with many sums is that with one, bit by bit. */
static void many_sums(void **state)
{
    (void)state;
    enum { N = 263, SUMS = 11 };
    ref_rng r = {10};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (wisp_type type = WISP_S; type <= WISP_Z; type++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1);
            if (!ctx) continue;
            ref_mat dense = shape_dense(&r, SHAPE_DISORDERED_CELLS, type, false, N, N), want, got;
            wisp_src src = ref_dense_src(dense, type);
            wisp_mat *A;
            wisp_blk *v[3], *y, *z[SUMS], *one;
            wisp_scalar dot[3], again[3], eta[SUMS];
            const unsigned dots = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src,
                                        &(wisp_mat_opts){
                                            .width = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_COMPRESSED}));
            wisp_blk **const all[] = {&v[0], &v[1], &v[2], &y, &one};
            for (int i = 0; i < 5; i++) REF_OK(ctx, wisp_blk_create(all[i], ctx, wisp_mat_map(A), type, 1));
            for (int i = 0; i < SUMS; i++) {
                REF_OK(ctx, wisp_blk_create(&z[i], ctx, wisp_mat_map(A), type, 1));
                REF_OK(ctx, wisp_blk_fill_random(z[i], WISP_RANDOM_GAUSS, 3, 0, 0));
                eta[i] = (wisp_scalar){0.7, 0};
            }
            REF_OK(ctx, wisp_blk_fill_random(one, WISP_RANDOM_GAUSS, 3, 0, 0));
            REF_OK(ctx, wisp_blk_fill_random(v[1], WISP_RANDOM_GAUSS, 4, 0, 0));
            REF_OK(ctx,
                   wisp_mpk(v, 3, A,
                            &(wisp_mpk_opts){.steps = 1, .terms = dots, .dot = dot, .sums = SUMS, .z = z, .eta = eta}));
            REF_OK(ctx,
                   wisp_spmmv(y, A, v[1],
                              &(wisp_aug){
                                  .terms = dots | WISP_CHAIN, .delta = {1, 0}, .eta = eta[0], .z = one, .dot = again}));
            want = ref_get(y), got = ref_get(v[2]);
            assert_memory_equal(want.a, got.a, N * sizeof *want.a);
            assert_memory_equal(dot, again, sizeof dot);
            ref_free(want), ref_free(got);
            want = ref_get(one);
            for (int i = 0; i < SUMS; i++) {
                got = ref_get(z[i]);
                assert_memory_equal(want.a, got.a, N * sizeof *want.a);
                ref_free(got), wisp_blk_free(z[i]);
            }
            for (int i = 0; i < 5; i++) wisp_blk_free(*all[i]);
            ref_free(want), ref_free(dense);
            src.free_arg(src.arg);
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_where_entries_are),
        cmocka_unit_test(choice),
        cmocka_unit_test(properties),
        cmocka_unit_test(new_values),
        cmocka_unit_test(new_values_as_asked),
        cmocka_unit_test(no_diagonal_no_leak),
        cmocka_unit_test(threads),
        cmocka_unit_test(full_of_kinds),
        cmocka_unit_test(many_sums),
        cmocka_unit_test(bits),
    };
    return REF_RUN(tests);
}
