/* Matrix files in and out, against naive readers and writers. */
#include "io_naive.h"
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The same entries in the same order for any number of threads, and the expected sums. */
static void expect_file(const char *path, ref_mat expected, wisp_type type)
{
    for (int threads = 1; threads <= 3; threads++) {
        wisp_ctx *ctx = naive_ctx(threads);
        wisp_src src;
        REF_OK(ctx, wisp_src_open_file(&src, ctx, path));
        assert_int_equal(src.type, type);
        ref_mat got = ref_dense(&src);
        naive_same(expected, got);
        ref_free(got);
        wisp_src_close(&src);
        int64_t held;
        wisp_ctx_memory(ctx, &held, NULL);
        assert_int_equal(held, 0);
        wisp_ctx_free(ctx);
    }
}

static void test_read(void **state)
{
    (void)state;
    ref_rng r = {1};
    for (int round = 0; round < 400; round++) {
        const naive_form f = naive_random(&r, 3);
        if (!naive_allowed(&f)) continue;
        int64_t rows = ref_below(&r, 25), cols = f.symmetry == WISP_SYM_GENERAL ? ref_below(&r, 25) : rows;
        ref_mat a = naive_matrix(&r, rows, cols, f.symmetry, f.field);
        char path[64];
        snprintf(path, sizeof path, "io_read.%s", ref_below(&r, 2) ? "mtx" : "mtx.gz");
        naive_write_mtx(path, a, &f, &r);
        expect_file(path, a, f.field == FIELD_COMPLEX ? WISP_Z : WISP_D);
        unlink(path);
        ref_free(a);
    }
}

static void test_write(void **state)
{
    (void)state;
    ref_rng r = {2};
    for (int round = 0; round < 300; round++) {
        wisp_ctx *ctx = naive_ctx(1 + round % 3);
        wisp_type type = (wisp_type)(WISP_S + round % 4);
        int64_t rows = ref_below(&r, 30), cols = ref_below(&r, 30);
        wisp_write_opts opts = {.symmetry = (wisp_symmetry)ref_below(&r, 4), .array = ref_below(&r, 3) == 0};
        opts.comment = ref_below(&r, 2) ? "two lines\nof comment" : NULL;
        bool complex_type = wisp_type_is_complex(type);
        if (!complex_type && opts.symmetry == WISP_SYM_HERMITIAN) opts.symmetry = WISP_SYM_GENERAL;
        wisp_src src;
        if (opts.symmetry == WISP_SYM_GENERAL) {
            src = ref_random_src(&r, type, rows, NAIVE_MAX(cols, 1), 5);
        } else {
            ref_mat m = naive_matrix(&r, rows, rows, opts.symmetry, complex_type ? FIELD_COMPLEX : FIELD_REAL);
            for (int64_t i = 0; i < rows * rows; i++) m.a[i] = naive_round(m.a[i], type);
            src = ref_dense_src(m, type);
            ref_free(m);
        }
        ref_mat expected = ref_dense(&src);
        char path[64];
        snprintf(path, sizeof path, "io_write.%s", round % 2 ? "mtx" : "mtx.gz");
        REF_OK(ctx, wisp_src_write(&src, ctx, path, &opts));
        naive_form form;
        ref_mat got = naive_read_mtx(path, &form);
        assert_int_equal(form.symmetry, opts.symmetry);
        assert_int_equal(form.array, opts.array);
        assert_int_equal(form.field, complex_type ? FIELD_COMPLEX : FIELD_REAL);
        naive_same(expected, got);
        expect_file(path, expected, complex_type ? WISP_Z : WISP_D);
        REF_OK(ctx, wisp_src_write(&src, ctx, "io_write.crs", NULL));
        for (int64_t i = 0; i < expected.rows * expected.cols; i++)
            expected.a[i] = naive_round(expected.a[i], type); /* sums of duplicates */
        expect_file("io_write.crs", expected, type);
        unlink(path);
        unlink("io_write.crs");
        ref_free(expected);
        ref_free(got);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
}

static void test_write_pattern(void **state)
{
    (void)state;
    ref_rng r = {3};
    wisp_ctx *ctx = naive_ctx(2);
    wisp_src src = ref_random_src(&r, WISP_Z, 17, 9, 4);
    REF_OK(ctx, wisp_src_write(&src, ctx, "io_pattern.mtx", &(wisp_write_opts){.pattern = 1}));
    naive_form form;
    ref_mat got = naive_read_mtx("io_pattern.mtx", &form), a = ref_dense(&src);
    assert_int_equal(form.field, FIELD_PATTERN);
    for (int64_t i = 0; i < a.rows * a.cols; i++) a.a[i] = a.a[i] != 0;
    naive_same(a, got);
    ref_free(a);
    ref_free(got);
    wisp_src_close(&src);
    unlink("io_pattern.mtx");
    wisp_ctx_free(ctx);
}

static void test_ghost_files(void **state)
{
    (void)state;
    ref_rng r = {4};
    for (int round = 0; round < 200; round++) {
        wisp_type type = (wisp_type)(WISP_S + round % 4);
        wisp_symmetry symmetry = (wisp_symmetry)ref_below(&r, 4);
        int64_t rows = ref_below(&r, 20), cols = symmetry == WISP_SYM_GENERAL ? 1 + ref_below(&r, 20) : rows;
        if (!wisp_type_is_complex(type) && symmetry == WISP_SYM_HERMITIAN) symmetry = WISP_SYM_SYMMETRIC;
        ref_mat a = naive_matrix(&r, rows, cols, symmetry, wisp_type_is_complex(type) ? FIELD_COMPLEX : FIELD_REAL);
        for (int64_t i = 0; i < rows * cols; i++) a.a[i] = naive_round(a.a[i], type);
        naive_ghost g = {.swap = round % 3 == 0, .base = round % 2, .ptr_base = round % 4 == 1, .upper = round % 5 < 2};
        naive_write_crs("io_ghost.crs", a, type, symmetry, &g);
        expect_file("io_ghost.crs", a, type);
        ref_free(a);
    }
    unlink("io_ghost.crs");
}

/* The header of what is written, byte by byte. */
static void test_ghost_header(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(2);
    const int64_t rowptr[] = {0, 1, 3}, col[] = {2, 0, 1};
    const double val[] = {1, 2, 3};
    wisp_src src;
    REF_OK(ctx,
           wisp_src_open_crs(
               &src, ctx, &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_D, .rowptr = rowptr, .col = col, .val = val}));
    REF_OK(ctx, wisp_src_write(&src, ctx, "io_header.crs", NULL));
    wisp_src_close(&src);
    struct __attribute__((packed)) {
        int32_t small[5];
        int64_t large[3], rowptr[3], col[3];
        double val[3];
        char more;
    } got;
    FILE *f = fopen("io_header.crs", "rb");
    assert_non_null(f);
    assert_int_equal(fread(&got, 1, sizeof got, f), sizeof got - 1);
    fclose(f);
    const int32_t small[] = {0, 1, 0, 1, 2 + 4};
    const int64_t large[] = {2, 3, 3};
    assert_memory_equal(got.small, small, sizeof small);
    assert_memory_equal(got.large, large, sizeof large);
    assert_memory_equal(got.rowptr, rowptr, sizeof rowptr);
    assert_memory_equal(got.col, col, sizeof col);
    assert_memory_equal(got.val, val, sizeof val);
    unlink("io_header.crs");
    wisp_ctx_free(ctx);
}

/* ---- files of others -------------------------------------------------------------------------------- */

static void test_data(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t rows, cols, entries; /* expanded */
        wisp_type type;
    } files[] = {{"494_bus", 494, 494, 1666, WISP_D},        {"LFAT5", 14, 14, 46, WISP_D},
                 {"bcsstk13", 2003, 2003, 83883, WISP_D},    {"cage5", 37, 37, 233, WISP_D},
                 {"comments_west0067", 67, 67, 295, WISP_D}, {"dwt_878", 878, 878, 7448, WISP_D},
                 {"jagmesh7", 1138, 1138, 7450, WISP_D},     {"karate", 34, 34, 156, WISP_D},
                 {"lp_afiro", 27, 51, 102, WISP_D},          {"west0479", 479, 479, 1910, WISP_D},
                 {"young1c", 841, 841, 4089, WISP_Z},        {"olm1000", 1000, 1000, 3996, WISP_D}};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[512];
        snprintf(path, sizeof path, TEST_DATA "/%s.mtx", files[k].name);
        naive_form form;
        ref_mat expected = naive_read_mtx(path, &form);
        expect_file(path, expected, files[k].type);
        wisp_ctx *ctx = naive_ctx(2);
        wisp_src src;
        REF_OK(ctx, wisp_src_open(&src, ctx, path));
        assert_int_equal(src.rows, files[k].rows);
        assert_int_equal(src.cols, files[k].cols);
        int64_t entries = 0;
        for (int64_t i = 0; i < src.rows; i++) entries += src.row(src.arg, i, NULL, NULL);
        print_message("%s: %lld entries\n", files[k].name, (long long)entries);
        assert_int_equal(entries, files[k].entries);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
        ref_free(expected);
    }
}

static void test_pipe(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(2);
    unlink("io_pipe.mtx");
    assert_int_equal(mkfifo("io_pipe.mtx", 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* who waits for a reader that fails ends with it */
        FILE *f = fopen("io_pipe.mtx", "w");
        fputs("%", f); /* the first byte alone */
        fflush(f);
        for (int left = 1; left > 0; sched_yield()) /* until it is read */
            if (ioctl(fileno(f), FIONREAD, &left)) _exit(1);
        fputs("%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 5", f);
        fclose(f);
        _exit(0);
    }
    wisp_src src;
    REF_OK(ctx, wisp_src_open_file(&src, ctx, "io_pipe.mtx"));
    ref_mat a = ref_dense(&src);
    assert_true(a.a[0] == 0 && a.a[1] == 0 && a.a[2] == 5 && a.a[3] == 0);
    ref_free(a);
    wisp_src_close(&src);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    unlink("io_pipe.mtx");
    wisp_ctx_free(ctx);
}

/* Nearly all rows empty: memory follows the entries. */
static void test_few_entries(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.memory_limit = 4 << 20, .index_limit = INT32_MAX});
    wisp_src src;
    naive_put("io_few.mtx",
              "%%MatrixMarket matrix coordinate real symmetric\n2000000000 2000000000 2\n7 7 1\n1999999999 5 2\n");
    REF_OK(ctx, wisp_src_open_file(&src, ctx, "io_few.mtx"));
    int64_t col[2];
    double val[2];
    assert_int_equal(src.max_row, 1);
    assert_int_equal(src.row(src.arg, 6, col, val), 1);
    assert_int_equal(src.row(src.arg, 4, col, val), 1);
    assert_int_equal(col[0], 1999999998);
    assert_true(val[0] == 2);
    assert_int_equal(src.row(src.arg, 1999999998, col, val), 1);
    assert_int_equal(col[0], 4);
    for (int64_t i = 0; i < 2000000000; i += 99999989) assert_int_equal(src.row(src.arg, i, col, val), 0);
    wisp_src_close(&src);
    unlink("io_few.mtx");
    wisp_ctx_free(ctx);
}

static void test_index_limit(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.index_limit = 10});
    const int64_t rowptr[12] = {0};
    wisp_src src, again;
    for (int rows = 10; rows <= 11; rows++) {
        wisp_ctx *wide = naive_ctx(1);
        REF_OK(wide,
               wisp_src_open_crs(
                   &src, wide,
                   &(wisp_crs){.rows = rows, .cols = 3, .type = WISP_D, .rowptr = rowptr, .col = NULL, .val = NULL}));
        REF_OK(wide, wisp_src_write(&src, wide, "io_limit.mtx", NULL));
        REF_OK(wide, wisp_src_write(&src, wide, "io_limit.crs", NULL));
        wisp_src_close(&src);
        wisp_ctx_free(wide);
        if (rows == 10) {
            REF_OK(ctx, wisp_src_open_file(&again, ctx, "io_limit.mtx"));
            wisp_src_close(&again);
            REF_OK(ctx, wisp_src_open_file(&again, ctx, "io_limit.crs"));
            wisp_src_close(&again);
        } else {
            REF_FAILS(ctx, wisp_src_open_file(&again, ctx, "io_limit.mtx"), WISP_ERR_OVERFLOW,
                      "io_limit.mtx:2: 11 rows are more than the limit of 10");
            REF_FAILS(ctx, wisp_src_open_file(&again, ctx, "io_limit.crs"), WISP_ERR_OVERFLOW,
                      "io_limit.crs: byte 20: 11 rows are more than the limit of 10");
        }
    }
    unlink("io_limit.mtx");
    unlink("io_limit.crs");
    wisp_ctx_free(ctx);
}

static void test_user_arrays(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    const int64_t rowptr[] = {0, 2, 3}, falls[] = {0, 2, 1}, begins[] = {1, 2, 3}, col[] = {2, 0, 1},
                  wide[] = {2, 0, 3};
    const float val[] = {1, 2, 3};
    REF_OK(ctx,
           wisp_src_open_crs(
               &src, ctx, &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_S, .rowptr = rowptr, .col = col, .val = val}));
    int64_t j[2];
    float v[2];
    assert_int_equal(src.max_row, 2);
    assert_int_equal(src.row(src.arg, 0, j, v), 2);
    assert_true(j[0] == 2 && j[1] == 0 && v[0] == 1 && v[1] == 2);
    wisp_src_close(&src);
    /* Of 32 bits, both or one of the two. */
    const int32_t rowptr_32[] = {0, 2, 3}, col_32[] = {2, 0, 1};
    for (int kinds = 1; kinds < 4; kinds++) {
        const wisp_crs a = {.rows = 2,
                            .cols = 3,
                            .type = WISP_S,
                            .rowptr_int = kinds & 1 ? WISP_INT32 : WISP_INT64,
                            .col_int = kinds & 2 ? WISP_INT32 : WISP_INT64,
                            .rowptr = kinds & 1 ? (const void *)rowptr_32 : rowptr,
                            .col = kinds & 2 ? (const void *)col_32 : col,
                            .val = val};
        REF_OK(ctx, wisp_src_open_crs(&src, ctx, &a));
        assert_int_equal(src.row(src.arg, 0, j, v), 2);
        assert_true(j[0] == 2 && j[1] == 0 && v[0] == 1 && v[1] == 2);
        assert_int_equal(src.row(src.arg, 1, j, v), 1);
        assert_true(j[0] == 1 && v[0] == 3);
        wisp_src_close(&src);
    }
    REF_FAILS(ctx,
              wisp_src_open_crs(&src, ctx,
                                &(wisp_crs){.rows = 2,
                                            .cols = 3,
                                            .type = WISP_S,
                                            .rowptr_int = (wisp_int)2,
                                            .rowptr = rowptr,
                                            .col = col,
                                            .val = val}),
              WISP_ERR_ARG, "WISP_INT32");
    REF_FAILS(
        ctx,
        wisp_src_open_crs(&src, ctx,
                          &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_S, .rowptr = falls, .col = col, .val = val}),
        WISP_ERR_ARG, "rowptr[2] is 1, after 2");
    REF_FAILS(
        ctx,
        wisp_src_open_crs(&src, ctx,
                          &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_S, .rowptr = begins, .col = col, .val = val}),
        WISP_ERR_ARG, "rowptr[0] is 1");
    REF_FAILS(
        ctx,
        wisp_src_open_crs(&src, ctx,
                          &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_S, .rowptr = rowptr, .col = wide, .val = val}),
        WISP_ERR_ARG, "column 3 in row 1");
    REF_FAILS(ctx,
              wisp_src_open_crs(
                  &src, ctx,
                  &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_DEFAULT, .rowptr = rowptr, .col = col, .val = val}),
              WISP_ERR_ARG, "type");
    REF_FAILS(
        ctx,
        wisp_src_open_crs(&src, ctx,
                          &(wisp_crs){.rows = 2, .cols = 3, .type = WISP_S, .rowptr = rowptr, .col = col, .val = NULL}),
        WISP_ERR_ARG, "val is NULL");
    REF_FAILS(
        ctx,
        wisp_src_open_crs(&src, ctx,
                          &(wisp_crs){.rows = -1, .cols = 3, .type = WISP_S, .rowptr = rowptr, .col = col, .val = val}),
        WISP_ERR_ARG, "-1 rows");
    wisp_ctx_free(ctx);
}

static void test_names(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(2);
    wisp_src src;
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace"));
    wisp_src_close(&src);
    REF_FAILS(ctx, wisp_src_open(&src, ctx, "topo:nx=4"), WISP_ERR_ARG,
              "topo:nx=4: neither a file nor a gallery name (the nearest is topi)");
    REF_FAILS(ctx, wisp_src_open(&src, ctx, "qqqqqq:nx=4"), WISP_ERR_ARG,
              "qqqqqq:nx=4: neither a file nor a gallery name (wisp_gallery_list has those)");
    REF_FAILS(ctx, wisp_src_open(&src, ctx, "no/such.mtx"), WISP_ERR_IO,
              "no/such.mtx: neither a file nor a gallery name");
    /* A file goes before the gallery, but a folder does not. */
    naive_put("topi", "%%MatrixMarket matrix coordinate pattern general\n3 2 0\n");
    REF_OK(ctx, wisp_src_open(&src, ctx, "topi"));
    assert_int_equal(src.rows, 3);
    assert_int_equal(src.max_row, 0);
    wisp_src_close(&src);
    unlink("topi");
    mkdir("topi", 0700);
    REF_OK(ctx, wisp_src_open(&src, ctx, "topi:nx=1,ny=1,nz=1"));
    assert_int_equal(src.rows, 4);
    wisp_src_close(&src);
    rmdir("topi");
    REF_FAILS(ctx, wisp_src_open(&src, ctx, NULL), WISP_ERR_ARG, "NULL");
    wisp_src_close(NULL);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),        cmocka_unit_test(test_write),        cmocka_unit_test(test_write_pattern),
        cmocka_unit_test(test_ghost_files), cmocka_unit_test(test_ghost_header), cmocka_unit_test(test_data),
        cmocka_unit_test(test_pipe),        cmocka_unit_test(test_few_entries),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_index_limit), cmocka_unit_test(test_user_arrays),
    };
    return REF_RUN(tests);
}
