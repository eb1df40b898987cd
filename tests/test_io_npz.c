/* Matrices of scipy.sparse.save_npz: good files, in all forms that they have, and broken ones, each with its own line.
 */
#include "io_npz.h"
#include "io/io.h"
#include <unistd.h>

static const char *const formats[] = {"csr", "csc", "coo"};
static const struct {
    const char *name;
    wisp_type type;
} types[] = {{"'<f4'", WISP_S}, {"'<f8'", WISP_D}, {"'<c8'", WISP_C}, {"'<c16'", WISP_Z}, {"'|i1'", WISP_D},
             {"'<i2'", WISP_D}, {"'<i4'", WISP_D}, {"'<i8'", WISP_D}, {"'|u1'", WISP_D},  {"'<u2'", WISP_D},
             {"'<u4'", WISP_D}, {"'<u8'", WISP_D}, {"'|b1'", WISP_D}};
enum { TYPES = sizeof types / sizeof *types, MOST = 300 };

typedef struct {
    int64_t row[MOST], col[MOST];
    int re[MOST], im[MOST];
} entries;

static int value_of(ref_rng *r, const char *type)
{
    const char kind = type[2];
    return kind == 'b' ? 1 : (int)ref_below(r, 100) - (kind == 'u' ? 0 : 50);
}

static npz_matrix random_matrix(ref_rng *r, entries *e, int round)
{
    npz_matrix m = {.format = formats[round % 3],
                    .type = types[round % TYPES].name,
                    .index = ref_below(r, 2) ? 4 : 8,
                    .packed = ref_below(r, 2),
                    .wide = ref_below(r, 2),
                    .rows = ref_below(r, 20),
                    .cols = ref_below(r, 20),
                    .row = e->row,
                    .col = e->col,
                    .re = e->re,
                    .im = e->im};
    m.n = m.rows && m.cols ? ref_below(r, MOST) : 0;
    for (int64_t k = 0; k < m.n; k++) {
        e->row[k] = ref_below(r, m.rows), e->col[k] = ref_below(r, m.cols);
        e->re[k] = value_of(r, m.type), e->im[k] = m.type[2] == 'c' ? value_of(r, m.type) : 0;
    }
    return m;
}

/* The sum of what the source has at each place. */
static ref_mat all_of(const wisp_src *src)
{
    ref_mat a = ref_new(src->rows, src->cols);
    int64_t *col = malloc(((size_t)src->max_row + 1) * sizeof *col);
    char *val = malloc(((size_t)src->max_row + 1) * 16);
    for (int64_t i = 0; i < src->rows; i++) {
        const int n = src->row(src->arg, i, col, val);
        for (int k = 0; k < n; k++) {
            const wisp_scalar v = wisp__load(src->type, val + (size_t)k * wisp_type_size(src->type));
            REF_AT(a, i, col[k]) += naive_complex(v.re, v.im);
        }
    }
    free(col), free(val);
    return a;
}

static void good(void **state)
{
    (void)state;
    ref_rng r = {41};
    entries *e = malloc(sizeof *e);
    for (int round = 0; round < 300; round++) {
        const npz_matrix m = random_matrix(&r, e, round);
        wisp_ctx *ctx = naive_ctx(1 + round % 3);
        wisp_src src;
        npz_write("io_good.npz", &m);
        REF_OK(ctx, wisp_src_open(&src, ctx, "io_good.npz"));
        assert_int_equal(src.type, types[round % TYPES].type);
        ref_mat a = ref_new(m.rows, m.cols), b = all_of(&src);
        for (int64_t k = 0; k < m.n; k++) REF_AT(a, e->row[k], e->col[k]) += naive_complex(e->re[k], e->im[k]);
        naive_same(a, b);
        ref_free(a), ref_free(b);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
    free(e);
    unlink("io_good.npz");
}

/* Constant numbers pack so well that the last packed byte may be taken long before what it gives is written: one entry,
   the sum of many. */
static void constant(void **state)
{
    (void)state;
    enum { MOST = 65536 + 300 };
    static signed char ones[MOST];
    static int32_t zeros[MOST];
    memset(ones, -1, sizeof ones);
    wisp_ctx *ctx = naive_ctx(1);
    for (int64_t n = MOST - 300; n < MOST; n += ref_few() ? 17 : 1) {
        npz_file *f = calloc(1, sizeof *f);
        char shape[32];
        wisp_src src;
        f->packed = true;
        snprintf(shape, sizeof shape, "(%lld,)", (long long)n);
        npz_add(f, "format", "'|S3'", "()", "csr", 3);
        npz_ints(f, "shape", 8, 2, (int64_t[]){1, 1});
        npz_ints(f, "indptr", 8, 2, (int64_t[]){0, n});
        npz_add(f, "indices", "'<i4'", shape, zeros, (size_t)n * sizeof *zeros);
        npz_add(f, "data", "'|i1'", shape, ones, (size_t)n);
        npz_end(f);
        npz_put("io_good.npz", f->data, f->size);
        free(f);
        REF_OK(ctx, wisp_src_open(&src, ctx, "io_good.npz"));
        const ref_mat a = all_of(&src);
        assert_true(creal(REF_AT(a, 0, 0)) == (double)-n);
        ref_free(a);
        wisp_src_close(&src);
    }
    wisp_ctx_free(ctx);
    unlink("io_good.npz");
}

/* ---- broken files --------------------------------------------------------------------------------------- */

static const int64_t pointers[] = {0, 1, 3, 4}, columns[] = {3, 0, 2, 1}, shape[] = {3, 4};
static const double values[] = {1, 2, 3, 4};
static const struct {
    const char *name, *type, *shape;
    const void *data;
    size_t bytes;
} parts[] = {{"format", "'|S3'", "()", "csr", 3},
             {"shape", "'<i8'", "(2,)", shape, sizeof shape},
             {"indptr", "'<i8'", "(4,)", pointers, sizeof pointers},
             {"indices", "'<i8'", "(4,)", columns, sizeof columns},
             {"data", "'<f8'", "(4,)", values, sizeof values}};
enum { PARTS = sizeof parts / sizeof *parts };

/* The matrix above, with one part in place of that of its name; without bytes that part is left out. */
static npz_file *with(const char *name, const char *type, const char *form, const void *data, size_t bytes, bool packed)
{
    npz_file *f = calloc(1, sizeof *f);
    f->packed = packed;
    for (int i = 0; i < PARTS; i++)
        if (!name || strcmp(parts[i].name, name))
            npz_add(f, parts[i].name, parts[i].type, parts[i].shape, parts[i].data, parts[i].bytes);
        else if (bytes > 0)
            npz_add(f, name, type, form, data, bytes);
    npz_end(f);
    return f;
}

static void expect_bad(const char *words)
{
    for (int threads = 1; threads <= 2; threads++) {
        wisp_ctx *ctx = naive_ctx(threads);
        wisp_src src;
        const wisp_status status = wisp_src_open_file(&src, ctx, "io_bad.npz");
        const char *got = message_of(ctx);
        if (status == WISP_OK) fail_msg("it was read, expected '%s'", words);
        if (strncmp(got, "io_bad.npz: ", 12) != 0 || !strstr(got, words) || strchr(got, '\n'))
            fail_msg("'%s', expected '%s'", got, words);
        assert_null(src.row);
        int64_t held, peak;
        wisp_ctx_memory(ctx, &held, &peak);
        assert_int_equal(held, 0);
        assert_true(peak < 8 << 20);
        wisp_ctx_free(ctx);
    }
}

#define INTS(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__})
static void faults(void **state)
{
    (void)state;
    const struct {
        const char *name, *type, *shape;
        const void *data;
        size_t bytes;
        const char *words;
    } bad[] = {
        {"format", "", "", NULL, 0, "it has no array format.npy; is it a file of scipy.sparse.save_npz?"},
        {"data", "", "", NULL, 0, "it has no array data.npy"},
        {"format", "'|S3'", "()", "bsr", 3, "format.npy: the format is bsr; csr, csc and coo are read"},
        {"format", "'|S3'", "()", "\n\x1b\xff", 3, "format.npy: the format is ???; csr"},
        {"format", "'<i8'", "()", INTS(3), "format.npy: it is no word"},
        {"shape", "'<i8'", "(2,)", INTS(-1, 4), "shape.npy: -1 by 4 is no size of a matrix"},
        {"shape", "'<i8'", "(3,)", INTS(1, 2, 3), "shape.npy: it has 3 numbers in 1 dimensions, and not 2 in one"},
        {"shape", "'<i8'", "(2,)", INTS(3000000000, 4), ": shape.npy: 3000000000 rows are more than the limit"},
        {"shape", "'<i8'", "(2,)", INTS(2000000000, 4),
         "indptr.npy: it has 4 numbers in 1 dimensions, and not 2000000001"},
        {"shape", "'<i8'", "(2,)", INTS(3, 3), "indices.npy: number 0 is 3; it must be 0 to 2"},
        {"data", "'<f2'", "(16,)", values, sizeof values, "data.npy: its numbers are of type f2; float32"},
        {"data", "'<U8'", "(1,)", values, sizeof values, "data.npy: 32 bytes are there for 1 numbers of 8 bytes"},
        {"data", "'>f8'", "(4,)", values, sizeof values, "data.npy: its numbers have another byte order"},
        {"data", "'|O'", "(4,)", values, sizeof values, "data.npy: the type or the shape of the array can't be read"},
        {"data", "[('a', '<f8')]", "(4,)", values, sizeof values, "data.npy: the type or the shape"},
        {"data", "'<f8'", "(4", values, sizeof values, "data.npy: the type or the shape"},
        {"data", "'<f8'", "(99999999999999999999,)", values, sizeof values, "data.npy: the type or the shape"},
        {"data", "'<f8'", "(4294967296, 4294967296, 4)", values, sizeof values, "data.npy: the type or the shape"},
        {"data", "'<f8'", "(3,)", values, sizeof values, "data.npy: 32 bytes are there for 3 numbers of 8 bytes"},
        {"data", "'<f8'", "(1000000000000000,)", values, sizeof values, "data.npy: 32 bytes are there for"},
        {"data", "'<f8'", "(2, 2)", values, sizeof values, "data.npy: it has 2 dimensions, and not one"},
        {"data", "'<f8'", "(3,)", values, 24, "indices.npy: it has 4 numbers in 1 dimensions, and not 3 in one"},
        {"indices", "'<f8'", "(4,)", values, sizeof values, "indices.npy: its numbers are of type f8; int32 and int64"},
        {"indices", "'<u8'", "(4,)", columns, sizeof columns, "indices.npy: its numbers are of type u8; int32"},
        {"indices", "'<i8'", "(4,)", INTS(3, 0, 4, 1), "indices.npy: number 2 is 4; it must be 0 to 3"},
        {"indices", "'<i8'", "(4,)", INTS(3, 0, 2, -1), "indices.npy: number 3 is -1; it must be 0 to 3"},
        {"indptr", "'<i8'", "(4,)", INTS(1, 1, 3, 4), "indptr.npy: number 0 is 1; it must be 0 to 0"},
        {"indptr", "'<i8'", "(4,)", INTS(0, 2, 1, 4), "indptr.npy: number 2 is 1; it must be 2 to 4"},
        {"indptr", "'<i8'", "(4,)", INTS(0, 1, 3, 5), "indptr.npy: number 3 is 5; it must be 3 to 4"},
        {"indptr", "'<i8'", "(4,)", INTS(0, -1, 3, 4), "indptr.npy: number 1 is -1; it must be 0 to 4"},
        {"indptr", "'<i8'", "(5,)", INTS(0, 1, 3, 4, 4), "indptr.npy: it has 5 numbers in 1 dimensions, and not 4"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int packed = 0; packed < 2; packed++) {
            npz_file *f = with(bad[i].name, bad[i].type, bad[i].shape, bad[i].data, bad[i].bytes, packed);
            npz_put("io_bad.npz", f->data, f->size);
            expect_bad(bad[i].words);
            free(f);
        }
    npz_put("io_bad.npz", "text", 4);
    expect_bad("it has no list of its parts at its end; is it a whole .npz file?");
    npz_put("io_bad.npz", "", 0);
    expect_bad("is it a whole .npz file?");
    unlink("io_bad.npz");
}

/* Fewer entries than there are numbers, as arrays that were made longer have it: those are not looked at. */
static void spare_room(void **state)
{
    (void)state;
    npz_file *f = with("indptr", "'<i8'", "(4,)", INTS(0, 1, 2, 2), false);
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    npz_put("io_spare.npz", f->data, f->size);
    REF_OK(ctx, wisp_src_open_file(&src, ctx, "io_spare.npz"));
    ref_mat a = all_of(&src);
    assert_true(REF_AT(a, 0, 3) == 1 && REF_AT(a, 1, 0) == 2 && REF_AT(a, 1, 2) == 0 && REF_AT(a, 2, 1) == 0);
    ref_free(a);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    free(f);
    unlink("io_spare.npz");
}

/* Whether it is read; then it is what it was, else there is one line, and nothing stays. */
static bool read_damaged(wisp_ctx *ctx)
{
    wisp_src src;
    int64_t held;
    const wisp_status status = wisp_src_open_file(&src, ctx, "io_bad.npz");
    if (status == WISP_OK) {
        ref_mat a = all_of(&src);
        assert_true(a.rows == 3 && a.cols == 4 && src.type == WISP_D);
        for (int k = 0; k < 12; k++) assert_true(a.a[k] == (k == 3 ? 1 : k == 4 ? 2 : k == 6 ? 3 : k == 9 ? 4 : 0));
        ref_free(a);
    } else if (strncmp(message_of(ctx), "io_bad.npz: ", 12) != 0 || strchr(message_of(ctx), '\n')) {
        fail_msg("'%s'", message_of(ctx));
    }
    wisp_src_close(&src);
    wisp_ctx_memory(ctx, &held, NULL);
    assert_int_equal(held, 0);
    return status == WISP_OK;
}

/* A file that is cut off anywhere is refused; with a bit that is wrong it is refused, or reads as it was. */
static void damage(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(1);
    for (int packed = 0; packed < 2; packed++) {
        npz_file *f = with(NULL, NULL, NULL, NULL, 0, packed);
        for (size_t n = 0; n < f->size; n++) {
            npz_put("io_bad.npz", f->data, n);
            if (!read_damaged(ctx)) continue;
            fail_msg("cut off after %zu of %zu bytes it is read", n, f->size);
        }
        for (size_t i = 0; i < f->size; i++) {
            const unsigned char bit = (unsigned char)(1u << i % 8);
            f->data[i] ^= bit;
            npz_put("io_bad.npz", f->data, f->size);
            f->data[i] ^= bit;
            read_damaged(ctx);
        }
        free(f);
    }
    wisp_ctx_free(ctx);
    unlink("io_bad.npz");
}

/* A name that says nothing: what it begins with tells. */
static void other_names(void **state)
{
    (void)state;
    npz_file *f = with(NULL, NULL, NULL, NULL, 0, true);
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    npz_put("io_strange_matrix", f->data, f->size);
    REF_OK(ctx, wisp_src_open(&src, ctx, "io_strange_matrix"));
    assert_int_equal(src.cols, 4);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    free(f);
    unlink("io_strange_matrix");
}

static wisp_status read_once(wisp_ctx *ctx, void *arg)
{
    wisp_src src;
    const wisp_status status = wisp_src_open_file(&src, ctx, arg);
    wisp_src_close(&src);
    return status;
}

static void memory(void **state)
{
    (void)state;
    npz_file *f = with(NULL, NULL, NULL, NULL, 0, true);
    npz_put("npz_memory.npz", f->data, f->size);
    free(f);
    if (ref_ranks() == 1) assert_true(ref_failing_memory(read_once, "npz_memory.npz", 30, 3) > 5);
    unlink("npz_memory.npz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),   cmocka_unit_test(constant),    cmocka_unit_test(faults), cmocka_unit_test(spare_room),
        cmocka_unit_test(damage), cmocka_unit_test(other_names), cmocka_unit_test(memory),
    };
    return REF_RUN(tests);
}
