/* Files of several batches: the seams between stretches, and the line of the first error among many threads. */
#include "io_naive.h"
#include <unistd.h>

enum { ROWS = 1000, ENTRIES = 900000, HEAD = 2 };

static int64_t row_of(int64_t k) { return k * 7919 % ROWS; }
static int64_t col_of(int64_t k) { return k * 104729 % 997; }
static double value_of(int64_t k) { return (double)k + 0.125; }

/* Lines of very different lengths, so that seams fall everywhere; the k-th entry's begins at begin[k]. Made once. */
static char *text;
static size_t begin[ENTRIES + 1];

static void make_lines(void)
{
    size_t bytes, at;
    FILE *f = open_memstream(&text, &bytes);
    at = (size_t)fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", ROWS, 997, ENTRIES);
    for (int64_t k = 0; k < ENTRIES; k++) {
        begin[k] = at;
        at += (size_t)fprintf(f, "%lld %*lld %.*f\n", (long long)row_of(k) + 1, k % 1000 == 0 ? 300 : 1,
                              (long long)col_of(k) + 1, 3 + (int)(k % 5), value_of(k));
    }
    begin[ENTRIES] = at;
    fclose(f);
    assert_int_equal(bytes, at);
}

static void put(FILE *f, gzFile gz, const char *from, size_t bytes)
{
    if (gz)
        assert_int_equal(gzwrite(gz, from, (unsigned)bytes), (int)bytes);
    else
        assert_int_equal(fwrite(from, 1, bytes, f), bytes);
}

/* Line HEAD + bad + 1 is replaced, and the one after the middle of the rest too. */
static void put_large(const char *path, int64_t bad)
{
    gzFile gz = strstr(path, ".gz") ? gzopen(path, "wb1") : NULL;
    FILE *f = gz ? NULL : fopen(path, "wb");
    size_t done = 0;
    for (int i = 0; i < 2 && bad >= 0; i++) {
        char wrong[64];
        const int64_t k = i == 0 ? bad : (bad + ENTRIES) / 2;
        if (begin[k] < done) continue; /* the last line is both */
        snprintf(wrong, sizeof wrong, "%lld oops 1\n", (long long)k % ROWS + 1);
        put(f, gz, text + done, begin[k] - done);
        put(f, gz, wrong, strlen(wrong));
        done = begin[k + 1];
    }
    put(f, gz, text + done, begin[ENTRIES] - done);
    if (gz)
        gzclose(gz);
    else
        fclose(f);
}

static void expect_large(const char *path)
{
    for (int threads = 1; threads <= 3; threads++) {
        wisp_ctx *ctx = naive_ctx(threads);
        wisp_src src;
        REF_OK(ctx, wisp_src_open_file(&src, ctx, path));
        int64_t *col = malloc((size_t)src.max_row * 8), total = 0;
        double *val = malloc((size_t)src.max_row * 8);
        for (int64_t i = 0; i < src.rows; i++) {
            int n = src.row(src.arg, i, col, val);
            total += n;
            /* Every entry says which one it was, and they are in the file's order. */
            for (int k = 0; k < n; k++) {
                int64_t entry = (int64_t)val[k];
                assert_true(entry >= 0 && entry < ENTRIES && val[k] == value_of(entry));
                assert_true(row_of(entry) == i && col_of(entry) == col[k]);
                assert_true(k == 0 || val[k] > val[k - 1]);
            }
        }
        assert_int_equal(total, ENTRIES);
        free(col);
        free(val);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
}

static void expect_line(const char *path, int64_t bad)
{
    for (int threads = 1; threads <= 3; threads++) {
        wisp_ctx *ctx = naive_ctx(threads);
        wisp_src src;
        char line[128];
        snprintf(line, sizeof line, "%s:%lld: the column 'oops' is not", path, (long long)(HEAD + bad + 1));
        REF_FAILS(ctx, wisp_src_open_file(&src, ctx, path), WISP_ERR_FORMAT, line);
        wisp_ctx_free(ctx);
    }
}

static void test_large(void **state)
{
    (void)state;
    static const char *const names[] = {"io_large.mtx", "io_large.mtx.gz"};
    ref_rng r = {21};
    make_lines();
    for (int i = 0; i < 2; i++) {
        put_large(names[i], -1);
        expect_large(names[i]);
        for (int round = 0; round < 3; round++) {
            int64_t bad = round == 0 ? 0 : ref_below(&r, ENTRIES);
            put_large(names[i], bad);
            expect_line(names[i], bad);
        }
        unlink(names[i]);
    }
    free(text);
}

/* What is written does not depend on the threads, gzip included, and comes back. */
static void test_write(void **state)
{
    (void)state;
    static const char *const names[] = {"io_big.mtx", "io_big.mtx.gz", "io_big.crs"};
    for (int i = 0; i < 3; i++) {
        unsigned long sum[3];
        for (int threads = 1; threads <= 3; threads++) {
            wisp_ctx *ctx = naive_ctx(threads);
            wisp_src src, again;
            REF_OK(ctx, wisp_src_open_gallery(&src, ctx, "topi:nx=10,ny=9,nz=8,disorder=1"));
            REF_OK(ctx, wisp_src_write(&src, ctx, names[i], NULL));
            FILE *f = fopen(names[i], "rb");
            unsigned char some[4096];
            sum[threads - 1] = adler32(0, NULL, 0);
            for (size_t n; (n = fread(some, 1, sizeof some, f)) > 0;)
                sum[threads - 1] = adler32(sum[threads - 1], some, (unsigned)n);
            fclose(f);
            assert_true(sum[threads - 1] == sum[0]);
            REF_OK(ctx, wisp_src_open_file(&again, ctx, names[i]));
            ref_mat a = ref_dense(&src), b = ref_dense(&again);
            naive_same(a, b);
            ref_free(a);
            ref_free(b);
            wisp_src_close(&src);
            wisp_src_close(&again);
            wisp_ctx_free(ctx);
        }
        unlink(names[i]);
    }
}

/* A line that is longer than a batch, and many that are empty. */
static void test_lines(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(2);
    wisp_src src;
    FILE *f = fopen("io_lines.mtx", "wb");
    fputs("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n", f);
    for (int i = 0; i < 300000; i++) fputs("\n% fill\n   \t\n", f);
    fputs("3 2\n", f);
    fclose(f);
    REF_OK(ctx, wisp_src_open_file(&src, ctx, "io_lines.mtx"));
    int64_t col;
    double val;
    assert_int_equal(src.row(src.arg, 2, &col, &val), 1);
    assert_int_equal(col, 1);
    wisp_src_close(&src);
    f = fopen("io_lines.mtx", "ab");
    for (int i = 0; i < 9 << 20; i++) fputc('x', f);
    fclose(f);
    REF_FAILS(ctx, wisp_src_open_file(&src, ctx, "io_lines.mtx"), WISP_ERR_FORMAT,
              "io_lines.mtx:900005: a line of more than 4194304 bytes");
    unlink("io_lines.mtx");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large), cmocka_unit_test(test_write),
                                       cmocka_unit_test(test_lines)};
    return REF_RUN(tests);
}
