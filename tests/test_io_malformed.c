/* Malformed files: each with its own line, at its own place, and nothing leaks. */
#include "io_naive.h"
#include "io/io.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"

static const struct {
    const char *text, *message;
} bad_text[] = {
    {"", ":1: the file is empty"},
    {"\n\n", ":1: not a Matrix Market file"},
    {"MatrixMarket matrix coordinate real general\n1 1 0\n", ":1: not a Matrix Market file"},
    {"%%MatrixMarket vector coordinate real general\n", ":1: unknown object 'vector' (only matrix is known)"},
    {"%%MatrixMarket matrix sparse real general\n", ":1: unknown format 'sparse' (coordinate or array)"},
    {"%%MatrixMarket matrix coordinate quaternion general\n", ":1: unknown field 'quaternion' (real, complex"},
    {"%%MatrixMarket matrix coordinate real lopsided\n", ":1: unknown symmetry 'lopsided' (general"},
    {"%%MatrixMarket matrix coordinate real\n1 1 0\n", ":1: the symmetry is missing"},
    {"%%MatrixMarket matrix coordinate real general yes\n1 1 0\n", ":1: unknown word 'yes'"},
    {"%%MatrixMarket matrix array pattern general\n", ":1: an array cannot be a pattern"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", ":1: a pattern is general or symmetric"},
    {"%%MatrixMarket matrix coordinate real hermitian\n", ":1: hermitian needs the field complex"},
    {GENERAL "% comment\n\n", ":3: the file ends before the line of sizes"},
    {GENERAL "2 2\n", ":2: the number of entries is missing (the line of sizes is 'rows columns entries')"},
    {GENERAL "2\n", ":2: the number of columns is missing"},
    {GENERAL "2 2 1 7\n", ":2: '7' after the sizes"},
    {GENERAL "2 two 1\n", ":2: the number of columns cannot be 'two'"},
    {GENERAL "-2 2 1\n", ":2: the number of rows cannot be '-2'"},
    {GENERAL "2 2 1.5\n", ":2: the number of entries cannot be '1.5'"},
    {GENERAL "2 2 99999999999999999999\n", ":2: the number of entries, '99999999999999999999', is beyond 64 bits"},
    {GENERAL "3000000000 2 1\n", ":2: 3000000000 rows are more than the limit of 2147483647"},
    {GENERAL "2 3000000000 1\n", ":2: 3000000000 columns are more than the limit of 2147483647"},
    {SYMMETRIC "2 3 1\n", ":2: 2 times 3 cannot be symmetric"},
    {ARRAY "4000000000000 4000000000000\n1\n", ":2: 4000000000000 times 4000000000000 entries are more than 64 bits"},
    {GENERAL "2 2 1\n0 1 5\n", ":3: row 0 (they are counted from 1)"},
    {GENERAL "2 2 1\n1 0 5\n", ":3: column 0 (they are counted from 1)"},
    {GENERAL "2 2 1\n3 1 5\n", ":3: row 3 is beyond the 2 that line 2 declares"},
    {GENERAL "2 2 1\n1 3 5\n", ":3: column 3 is beyond the 2 that line 2 declares"},
    {GENERAL "2 2 1\n99999999999999999999 1 5\n", ":3: row 99999999999999999999 is beyond the 2"},
    {GENERAL "2 2 1\n-1 1 5\n", ":3: the row '-1' is not a whole number from 1"},
    {GENERAL "2 2 1\n1.0 1 5\n", ":3: the row '1.0' is not a whole number"},
    {GENERAL "2 2 1\n1 x 5\n", ":3: the column 'x' is not a whole number"},
    {GENERAL "2 2 1\n1\n", ":3: the column is missing (an entry is 'row column value')"},
    {GENERAL "2 2 1\n1 1\n", ":3: the value is missing"},
    {GENERAL "2 2 1\n1 1 five\n", ":3: 'five' is not a number"},
    {GENERAL "2 2 1\n1 1 5x\n", ":3: '5x' is not a number"},
    {GENERAL "2 2 1\n1 1 1e\n", ":3: '1e' is not a number"},
    {GENERAL "2 2 1\n1 1 .\n", ":3: '.' is not a number"},
    {GENERAL "2 2 1\n1 1 --5\n", ":3: '--5' is not a number"},
    {GENERAL "2 2 1\n1 1 0x10\n", ":3: '0x10' is not a number"},
    {GENERAL "2 2 1\n1 1 1.2.3\n", ":3: '1.2.3' is not a number"},
    {GENERAL "2 2 1\n1 1 nano\n", ":3: 'nano' is not a number"},
    {GENERAL "2 2 1\n1 1 5 6\n", ":3: '6' after the entry"},
    {GENERAL "2 2 1\n1 1 \x01z 6\n", ":3: '?z' is not a number"},
    {GENERAL "2 2 2\n\n% c\n1 1 5\n", ":5: the file ends after 1 of 2 entries"},
    {GENERAL "2 2 999999999999999999\n1 1 5\n", ":3: the file ends after 1 of 999999999999999999 entries"},
    {GENERAL "2 2 1\n1 1 5\n\n2 2 5\n", ":5: there is more than the 1 entries of line 2"},
    {GENERAL "2 2 1\n1 1 5\nthe end\n", ":4: there is more than the 1 entries of line 2"},
    {SYMMETRIC "2 2 1\n1 2 5\n", ":3: entry (1,2) is above the diagonal"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 5\n", ":3: a diagonal entry that is not zero"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n1 1 5 1\n",
     ":3: a diagonal entry with an imaginary part"},
    {"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 5\n",
     ":3: the imaginary part is missing (an entry is 'row column real imaginary')"},
    {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 5\n", ":3: '5' after the entry"},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 5.5\n", ":3: '5.5' is not a whole number"},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 nan\n", ":3: 'nan' is not a whole number"},
    {ARRAY "2 2\n1\n2\n3\n", ":5: the file ends after 3 of 4 entries"},
    {ARRAY "2 2\n1\n2\n3\n4\n5\n", ":7: there is more than the 4 entries of line 2"},
    {ARRAY "2 2\n1 2\n", ":3: '2' after the entry (an entry is 'value')"},
    {ARRAY "2 2\n1\nx\n", ":4: 'x' is not a number"},
    {ARRAY "2000000000 2000000000\n1\n", ":3: the file ends after 1 of 4000000000000000000 entries"},
    {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 1\n\n3 3\n",
     ":6: a diagonal entry with an imaginary part"},
    {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2\n3 3\n", ":4: the imaginary part is missing"},
};

/* Reads a file and expects a failure that says this, with any number of threads and nothing left in memory. */
static void expect_bad(const char *path, const char *message)
{
    char line[512];
    snprintf(line, sizeof line, "%s%s", path, message);
    for (int threads = 1; threads <= 3; threads++) {
        wisp_ctx *ctx = naive_ctx(threads);
        wisp_src src;
        wisp_status status = wisp_src_open_file(&src, ctx, path);
        const char *got = message_of(ctx);
        if (status == WISP_OK) fail_msg("%s was read, expected %s", path, message);
        if (strncmp(got, line, strlen(line)) != 0) fail_msg("'%s', expected '%s'", got, line);
        if (strchr(got, '\n')) fail_msg("'%s' has more than one line", got);
        assert_null(src.row);
        int64_t held, peak;
        wisp_ctx_memory(ctx, &held, &peak);
        assert_int_equal(held, 0);
        assert_true(peak < 64 << 20);
        wisp_ctx_free(ctx);
    }
}

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_text / sizeof *bad_text; i++) {
        naive_put("io_bad.mtx", bad_text[i].text);
        expect_bad("io_bad.mtx", bad_text[i].message);
        gzFile f = gzopen("io_bad.mtx.gz", "wb");
        gzputs(f, bad_text[i].text);
        gzclose(f);
        expect_bad("io_bad.mtx.gz", bad_text[i].message);
    }
    unlink("io_bad.mtx");
    unlink("io_bad.mtx.gz");
}

static void put_bytes(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

static size_t get_bytes(const char *path, unsigned char *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = fread(data, 1, room, f);
    fclose(f);
    return n;
}

static void test_gzip(void **state)
{
    (void)state;
    static unsigned char data[1 << 16];
    ref_rng r = {5};
    naive_form form = {.field = FIELD_REAL};
    ref_mat a = naive_matrix(&r, 20, 20, WISP_SYM_GENERAL, FIELD_REAL);
    naive_write_mtx("io_gzip.mtx.gz", a, &form, &r);
    ref_free(a);
    size_t n = get_bytes("io_gzip.mtx.gz", data, sizeof data);
    for (size_t cut = 2; cut < n; cut++) {
        wisp_ctx *ctx = naive_ctx(1);
        wisp_src src;
        put_bytes("io_gzip.mtx.gz", data, cut);
        wisp_status status = wisp_src_open_file(&src, ctx, "io_gzip.mtx.gz");
        /* At the end of the first member the file is a whole one, with too few entries. */
        if (status == WISP_OK || (!strstr(message_of(ctx), "the file is truncated") &&
                                  !strstr(message_of(ctx), "entries") && !strstr(message_of(ctx), "missing")))
            fail_msg("cut after %zu of %zu bytes: %s", cut, n, message_of(ctx));
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
    for (size_t i = 4; i < n; i++) {
        wisp_ctx *ctx = naive_ctx(1);
        wisp_src src;
        unsigned char old = data[i];
        data[i] ^= (unsigned char)(1u << (i % 8));
        put_bytes("io_gzip.mtx.gz", data, n);
        wisp_status status = wisp_src_open_file(&src, ctx, "io_gzip.mtx.gz");
        if (status != WISP_OK) assert_non_null(strstr(message_of(ctx), "io_gzip.mtx.gz:"));
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
        data[i] = old;
    }
    data[n / 4] ^= 0x55;
    put_bytes("io_gzip.mtx.gz", data, n);
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    REF_FAILS(ctx, wisp_src_open_file(&src, ctx, "io_gzip.mtx.gz"), WISP_ERR_FORMAT,
              "the gzip data are corrupted near byte");
    data[n / 4] ^= 0x55;
    data[n] = 'x';
    put_bytes("io_gzip.mtx.gz", data, n + 1);
    REF_FAILS(ctx, wisp_src_open_file(&src, ctx, "io_gzip.mtx.gz"), WISP_ERR_FORMAT,
              "bytes follow the end of the gzip data");
    data[n] = 0;
    put_bytes("io_gzip.mtx.gz", data, n + 1);
    REF_OK(ctx, wisp_src_open_file(&src, ctx, "io_gzip.mtx.gz"));
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    unlink("io_gzip.mtx.gz");
}

/* ---- GHOST files: a good one, with one field changed ------------------------------------------------- */

typedef struct __attribute__((packed)) {
    int32_t endian, version, base, symmetry, type;
    int64_t rows, cols, nnz, rowptr[4], col[4];
    double val[4];
} ghost_file;

static void test_ghost(void **state)
{
    (void)state;
    const ghost_file good = {0, 1, 0, 1, 6, 3, 3, 4, {0, 1, 3, 4}, {0, 0, 1, 2}, {1, 2, 3, 4}};
    static const struct {
        size_t at;
        int64_t value;
        const char *message;
    } bad[] = {
        {0, 7, ": byte 0: the endianness must be 0 (little) or 1 (big)"},
        {4, 2, ": byte 4: the version must be 1 (it is 2)"},
        {8, 2, ": byte 8: the index base must be 0 or 1 (it is 2)"},
        {12, 0, ": byte 12: the symmetry must be"},
        {12, 3, ": byte 12: the symmetry must be"},
        {12, 64, ": byte 12: the symmetry must be"},
        {16, 7, ": byte 16: the type must be"},
        {16, 22, ": byte 16: the type must be"},
        {20, -1, ": byte 20: the number of rows is negative"},
        {28, -1, ": byte 28: the number of columns is negative"},
        {36, -1, ": byte 36: the number of nonzeros is negative"},
        {20, 5000000000, ": byte 20: 5000000000 rows are more than the limit"},
        {28, 5000000000, ": byte 20: 5000000000 columns are more than the limit"},
        {20, 2000000000, ": byte 140: the file ends here, too early for its 2000000000 rows"},
        {36, INT64_MAX, ": byte 140: the file ends here, too early"},
        {36, 5, ": byte 140: the file ends here, too early"},
        {36, 3, ": byte 124: 16 bytes follow the last value"},
        {44, 1, ": byte 44: the first row pointer must be 0"},
        {52, -1, ": byte 52: the row pointers fall"},
        {60, 0, ": byte 60: the row pointers fall (it is 0)"},
        {60, 5, ": byte 60: a row pointer beyond the nonzeros (it is 5)"},
        {68, 3, ": byte 68: the last row pointer is not the number of nonzeros (it is 3)"},
        {60, INT64_MIN, ": byte 60: the row pointers fall"},
        {84, 3, ": byte 84: column 3 is out of range (3 columns from 0)"},
        {92, -1, ": byte 92: column -1 is out of range"},
    };
    ghost_file file;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file = good;
        memcpy((char *)&file + bad[i].at, &bad[i].value, bad[i].at < 20 ? 4 : 8);
        put_bytes("io_bad.crs", &file, sizeof file);
        expect_bad("io_bad.crs", bad[i].message);
    }
    for (size_t n = 0; n < sizeof file; n++) {
        put_bytes("io_bad.crs", &good, n);
        expect_bad("io_bad.crs", ": byte ");
    }
    file = good;
    file.symmetry = 2;
    file.col[2] = 2; /* (1,2) after (1,0) */
    put_bytes("io_bad.crs", &file, sizeof file);
    expect_bad("io_bad.crs", ": byte 92: a symmetric file stores one half, and this is in the other");
    file = good;
    file.symmetry = 4;
    put_bytes("io_bad.crs", &file, sizeof file);
    expect_bad("io_bad.crs", ": byte 108: a diagonal entry that is not zero");
    file = good;
    file.symmetry = 2;
    file.cols = 4;
    put_bytes("io_bad.crs", &file, sizeof file);
    expect_bad("io_bad.crs", ": byte 28: as many columns as rows are needed");
    unlink("io_bad.crs");
}

/* ---- what is no file, and what cannot be written ----------------------------------------------------- */

static void test_places(void **state)
{
    (void)state;
    mkdir("io_folder.mtx", 0700);
    expect_bad("io_folder.mtx", ": this is a directory, not a matrix file");
    rmdir("io_folder.mtx");
    expect_bad("io_missing.mtx", ": cannot open: No such file or directory");
    naive_put("io_secret.mtx", GENERAL);
    chmod("io_secret.mtx", 0);
    if (geteuid() != 0) expect_bad("io_secret.mtx", ": cannot open: Permission denied");
    unlink("io_secret.mtx");
    naive_put("io_strange.txt", "hello");
    expect_bad("io_strange.txt", ": unknown kind of file (name it .mtx, .mtx.gz, .crs or .npz)");
    unlink("io_strange.txt");
}

/* Many rows fail, so that several threads do. */
static int failing_row(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    if (row >= 5 && col) return -1;
    if (col) {
        *col = row;
        *(double *)val = 1;
    }
    return 1;
}

static int files_here(const char *prefix)
{
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));) n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(d);
    return n;
}

static void test_write(void **state)
{
    (void)state;
    static const char *const names[] = {"io_out.mtx", "io_out.mtx.gz", "io_out.crs"};
    wisp_ctx *ctx = naive_ctx(2);
    const wisp_src failing = {10, 10, 1, WISP_D, failing_row, NULL, NULL, 0, NULL, 0, NULL};
    wisp_src src;
    REF_OK(ctx, wisp_src_open_gallery(&src, ctx, "laplace:nx=70,ny=70"));
    for (int i = 0; i < 3; i++) {
        /* The disk is full. */
        unlink(names[i]);
        assert_int_equal(symlink("/dev/full", names[i]), 0);
        char full[64];
        snprintf(full, sizeof full, "cannot write %s: No space left", names[i]);
        REF_FAILS(ctx, wisp_src_write(&src, ctx, names[i], NULL), WISP_ERR_IO, full);
        unlink(names[i]);
        /* What was there before stays when the source fails. */
        naive_put(names[i], "old");
        REF_FAILS(ctx, wisp_src_write(&failing, ctx, names[i], NULL), WISP_ERR_CALLBACK, "row 5");
        char old[8] = "";
        assert_int_equal(get_bytes(names[i], (unsigned char *)old, sizeof old), 3);
        assert_string_equal(old, "old");
        assert_int_equal(files_here(names[i]), 1);
        chmod(names[i], 0640);
        REF_OK(ctx, wisp_src_write(&src, ctx, names[i], NULL));
        struct stat st;
        assert_int_equal(stat(names[i], &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        unlink(names[i]);
        char path[64];
        snprintf(path, sizeof path, "io_nowhere/%s", names[i]);
        REF_FAILS(ctx, wisp_src_write(&src, ctx, path, NULL), WISP_ERR_IO, "No such file or directory");
    }
    mkdir("io_folder.mtx", 0700);
    REF_FAILS(ctx, wisp_src_write(&src, ctx, "io_folder.mtx", NULL), WISP_ERR_IO, "Is a directory");
    rmdir("io_folder.mtx");
    REF_FAILS(ctx, wisp_src_write(&src, ctx, "io_out.txt", NULL), WISP_ERR_ARG, "unknown kind of file");
    REF_FAILS(ctx, wisp_src_write(&src, ctx, "io_out.mtx", &(wisp_write_opts){.symmetry = WISP_SYM_SKEW}),
              WISP_ERR_MISMATCH, "io_out.mtx: the matrix is not skew-symmetric: entry (0,0) is ");
    REF_FAILS(ctx, wisp_src_write(&src, ctx, "io_out.mtx", &(wisp_write_opts){.array = 1, .pattern = 1}), WISP_ERR_ARG,
              "opts.array and opts.pattern exclude each other");
    REF_FAILS(ctx, wisp_src_write(&src, ctx, "io_out.crs", &(wisp_write_opts){.array = 1}), WISP_ERR_ARG, "for .mtx");
    wisp_src_close(&src);
    assert_int_equal(files_here("io_out"), 0);
    int64_t held;
    wisp_ctx_memory(ctx, &held, NULL);
    assert_int_equal(held, 0);
    wisp_ctx_free(ctx);
}

/* The first entry without its mirror image, in row order. */
static void test_mismatch(void **state)
{
    (void)state;
    ref_rng r = {6};
    for (int round = 0; round < 100; round++) {
        wisp_ctx *ctx = naive_ctx(1 + round % 3);
        wisp_symmetry s = (wisp_symmetry)(1 + round % 3);
        int64_t n = 70;
        ref_mat a = naive_matrix(&r, n, n, s, FIELD_COMPLEX);
        int64_t i = ref_below(&r, n), j = ref_below(&r, n), lo = i < j ? i : j, hi = i < j ? j : i;
        if (i == j && s == WISP_SYM_SYMMETRIC) hi = lo == 0 ? 1 : lo, lo = hi - 1;
        REF_AT(a, lo, hi) = naive_complex(7.5, lo == hi ? 1 : 0);
        wisp_src src = ref_dense_src(a, WISP_Z);
        char words[64];
        snprintf(words, sizeof words, "entry (%lld,%lld) is ", (long long)lo, (long long)hi);
        REF_FAILS(ctx, wisp_src_write(&src, ctx, "io_mismatch.mtx", &(wisp_write_opts){.symmetry = s}),
                  WISP_ERR_MISMATCH, words);
        assert_int_equal(files_here("io_mismatch"), 0);
        wisp_src_close(&src);
        ref_free(a);
        wisp_ctx_free(ctx);
    }
}

static int stop(void *arg, const wisp_progress *p)
{
    (void)p;
    return --*(int *)arg <= 0;
}

static void test_cancel(void **state)
{
    (void)state;
    int left = INT32_MAX;
    wisp_ctx *ctx;
    wisp_ctx_opts opts = {.threads = 2, .no_pin = 1, .index_limit = INT32_MAX, .progress = stop, .progress_arg = &left};
    assert_int_equal(wisp_ctx_create(&ctx, &opts), WISP_OK);
    wisp_src src, again;
    REF_OK(ctx, wisp_src_open_gallery(&src, ctx, "laplace:nx=40,ny=40"));
    static const char *const names[] = {"io_stop.mtx", "io_stop.mtx.gz", "io_stop.crs"};
    for (int i = 0; i < 3; i++) {
        REF_OK(ctx, wisp_src_write(&src, ctx, names[i], NULL));
        int n;
        for (n = 1;; n++) {
            left = n;
            wisp_status status = wisp_src_open_file(&again, ctx, names[i]);
            wisp_ctx_resume(ctx);
            if (status == WISP_OK) break;
            assert_int_equal(status, WISP_ERR_CANCELLED);
        }
        assert_true(n > 2);
        wisp_src_close(&again);
        unlink(names[i]);
        for (left = n = 1;; left = ++n) {
            wisp_status status = wisp_src_write(&src, ctx, names[i], NULL);
            wisp_ctx_resume(ctx);
            if (status == WISP_OK) break;
            assert_int_equal(status, WISP_ERR_CANCELLED);
            assert_int_equal(files_here(names[i]), 0);
        }
        assert_true(n > 2);
        unlink(names[i]);
        left = INT32_MAX;
    }
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

/* Every allocation fails once. */
static wisp_status round_trip(wisp_ctx *ctx, const char *path, const wisp_write_opts *opts)
{
    wisp_src src, again;
    wisp_status status = wisp_src_open_gallery(&src, ctx, "laplace:nx=5,ny=4");
    if (status != WISP_OK) return status;
    status = wisp_src_write(&src, ctx, path, opts);
    wisp_src_close(&src);
    if (status != WISP_OK) return status;
    status = wisp_src_open_file(&again, ctx, path);
    wisp_src_close(&again);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    static const wisp_write_opts opts[] = {
        {0}, {.symmetry = WISP_SYM_SYMMETRIC, .comment = "c"}, {.array = 1}, {0}, {0}};
    static const char *const names[] = {"io_memory.mtx", "io_memory.mtx", "io_memory.mtx", "io_memory.mtx.gz",
                                        "io_memory.crs"};
    for (int i = 0; i < 5; i++) {
        wisp_status status;
        int at = 1;
        do {
            char number[16];
            snprintf(number, sizeof number, "%d", at);
            setenv("WISP_ALLOC_FAIL_AT", number, 1);
            wisp_ctx *ctx;
            if ((status = wisp_ctx_create(
                     &ctx, &(wisp_ctx_opts){.threads = 2, .no_pin = 1, .index_limit = INT32_MAX})) != WISP_OK)
                continue;
            int64_t before, after;
            wisp_ctx_memory(ctx, &before, NULL);
            status = round_trip(ctx, names[i], &opts[i]);
            wisp_ctx_memory(ctx, &after, NULL);
            assert_int_equal(before, after);
            if (status != WISP_OK && status != WISP_ERR_NOMEM) fail_msg("allocation %d: %s", at, message_of(ctx));
            if (status != WISP_OK) assert_true(*message_of(ctx));
            assert_true(files_here("io_memory") <= 1);
            wisp_ctx_free(ctx);
        } while (at++, status != WISP_OK);
        print_message("%s: %d allocations\n", names[i], at - 1);
        assert_true(at > 10);
        unlink(names[i]);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),   cmocka_unit_test(test_gzip),   cmocka_unit_test(test_ghost),
        cmocka_unit_test(test_places), cmocka_unit_test(test_write),  cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_cancel), cmocka_unit_test(test_memory),
    };
    return REF_RUN(tests);
}
