/* Matrix files on several ranks, each of which has its own rows: against what one rank reads alone. */
#define _GNU_SOURCE /* unshare */
#include "io_npz.h"
#include "io_ranks.h"
#include <sched.h>
#include <sys/stat.h>

/* ---- a source, row by row ----------------------------------------------------------------------------- */

typedef struct {
    int64_t *col;
    char *val;
} row_room;

static row_room room_for(const wisp_src *src)
{
    const size_t most = (size_t)src->max_row + 1;
    row_room r = {malloc(most * sizeof *r.col), malloc(most * wisp_type_size(src->type))};
    assert_true(r.col && r.val);
    return r;
}

static void free_room(row_room r) { free(r.col), free(r.val); }

/* By columns, of which none comes twice. */
static void sort_row(row_room r, int n, size_t size)
{
    char v[16];
    for (int k = 1; k < n; k++)
        for (int m = k; m > 0 && r.col[m - 1] > r.col[m]; m--) {
            const int64_t c = r.col[m];
            r.col[m] = r.col[m - 1], r.col[m - 1] = c;
            memcpy(v, r.val + (size_t)m * size, size);
            memcpy(r.val + (size_t)m * size, r.val + (size_t)(m - 1) * size, size);
            memcpy(r.val + (size_t)(m - 1) * size, v, size);
        }
}

/* The same entries, in the same order unless they are sorted before. */
static void same_row(const wisp_src *a, const wisp_src *b, int64_t i, row_room ra, row_room rb, bool sorted)
{
    const int n = a->row(a->arg, i, ra.col, ra.val);
    if (b->row(b->arg, i, NULL, NULL) != n || b->row(b->arg, i, rb.col, rb.val) != n)
        fail_msg("row %lld has another length", (long long)i);
    assert_true(n >= 0);
    if (n == 0) return;
    if (sorted) sort_row(ra, n, wisp_type_size(a->type)), sort_row(rb, n, wisp_type_size(a->type));
    assert_memory_equal(ra.col, rb.col, (size_t)n * sizeof *ra.col);
    assert_memory_equal(ra.val, rb.val, (size_t)n * wisp_type_size(a->type));
}

/* `part` has the rows of this rank of `whole`, and no others. */
static void same_part(wisp_ctx *ctx, const wisp_src *whole, const wisp_src *part)
{
    wisp_map *map;
    int64_t first;
    assert_true(part->rows == whole->rows && part->cols == whole->cols && part->type == whole->type);
    assert_int_equal(part->max_row, whole->max_row);
    assert_int_equal(part->own_rows, wisp_ctx_processes(ctx) > 1);
    REF_OK(ctx, wisp_map_create(&map, ctx, part->rows));
    const int64_t local = wisp_map_local(map, &first);
    wisp_map_free(map);
    row_room a = room_for(whole), b = room_for(part);
    for (int64_t i = 0; i < part->rows; i++)
        if (i >= first && i < first + local)
            same_row(whole, part, i, a, b, false);
        else if (part->own_rows)
            assert_true(part->row(part->arg, i, NULL, NULL) < 0);
    free_room(a), free_room(b);
}

static wisp_ctx *open_matrix(wisp_mat **A, wisp_src *rows, wisp_ctx *ctx, const wisp_src *src)
{
    REF_OK(ctx, wisp_mat_create(A, ctx, src, NULL));
    REF_OK(ctx, wisp_src_open_mat(rows, *A));
    return ctx;
}

/* A file, and what one rank makes of it. */
typedef struct {
    const char *path;
    wisp_status status; /* alone */
    char message[1024];
    wisp_src src, rows; /* as it was read, and as a matrix gives it back */
    wisp_src hermitian; /* its Hermitian part, if it is square */
    double change;
    int threads;
} file;

/* The Hermitian part of its rows alone, and of a source that answers for all rows, are the same. */
static void same_hermitian(wisp_ctx *ctx, const file *f, const wisp_src *src)
{
    for (int whole = 0; whole < 2; whole++) {
        wisp_src h;
        double change;
        REF_OK(ctx, wisp_src_hermitian_part(&h, ctx, whole ? &f->src : src, &change));
        same_part(ctx, &f->hermitian, &h);
        assert_true(change == f->change || isnan(f->change));
        wisp_src_close(&h);
    }
}

static int read_on_rank(void *arg, int rank)
{
    file *f = arg;
    wisp_ctx *ctx = naive_ctx(f->threads);
    wisp_src src;
    int64_t held;
    const wisp_status status = wisp_src_open(&src, ctx, f->path);
    if (status != f->status || (status != WISP_OK && !strstr(message_of(ctx), f->message)))
        fail_msg("%s: '%s' on rank %d, and '%s' alone", f->path, message_of(ctx), rank, f->message);
    if (status == WISP_OK) {
        wisp_mat *A;
        wisp_src rows;
        same_part(ctx, &f->src, &src);
        if (f->hermitian.row) same_hermitian(ctx, f, &src);
        open_matrix(&A, &rows, ctx, &src);
        wisp_src_close(&src);
        row_room a = room_for(&f->rows), b = room_for(&f->rows);
        int64_t first;
        const int64_t local = wisp_map_local(wisp_mat_map(A), &first);
        for (int64_t i = first; i < first + local; i++) same_row(&f->rows, &rows, i, a, b, true);
        free_room(a), free_room(b);
        wisp_src_close(&rows);
        wisp_mat_free(A);
    }
    assert_null(src.row);
    wisp_ctx_memory(ctx, &held, NULL);
    assert_int_equal(held, 0);
    wisp_ctx_free(ctx);
    return 0;
}

/* Any number of ranks reads what one does; `only` one of the ways to share rows, or all of them if it is negative. */
static void expect_same_by(const char *path, int threads, int only)
{
    file f = {.path = path, .threads = threads};
    wisp_mat *A = NULL;
    wisp_ctx *ctx = naive_ctx(threads);
    f.status = wisp_src_open(&f.src, ctx, path);
    snprintf(f.message, sizeof f.message, "%s", message_of(ctx));
    if (f.status == WISP_OK) open_matrix(&A, &f.rows, ctx, &f.src);
    if (f.status == WISP_OK && f.src.rows == f.src.cols)
        REF_OK(ctx, wisp_src_hermitian_part(&f.hermitian, ctx, &f.src, &f.change));
    for (int way = 0; way < WAYS; way++)
        if (only < 0 || way == only) run_way(way, read_on_rank, &f);
    wisp_src_close(&f.rows);
    wisp_src_close(&f.hermitian);
    wisp_mat_free(A);
    wisp_src_close(&f.src);
    wisp_ctx_free(ctx);
}

static void expect_same(const char *path, int threads) { expect_same_by(path, threads, -1); }

/* ---- good files --------------------------------------------------------------------------------------- */

static void random_text(void **state)
{
    (void)state;
    ref_rng r = {31};
    for (int round = 0; round < 80; round++) {
        const naive_form f = naive_random(&r, 4);
        if (!naive_allowed(&f)) continue;
        const int64_t rows = ref_below(&r, 25), cols = f.symmetry == WISP_SYM_GENERAL ? ref_below(&r, 25) : rows;
        ref_mat a = naive_matrix(&r, rows, cols, f.symmetry, f.field);
        const char *path = ref_below(&r, 3) ? "ranks_read.mtx" : "ranks_read.mtx.gz";
        naive_write_mtx(path, a, &f, &r);
        expect_same(path, 1 + round % 2);
        unlink(path);
        ref_free(a);
    }
}

/* Triplets, compressed rows and columns of scipy: rank 0 reads, and the order of duplicates stays. */
static void random_npz(void **state)
{
    (void)state;
    static const char *const formats[] = {"csr", "csc", "coo"};
    ref_rng r = {35};
    int64_t row[200], col[200];
    int re[200], im[200];
    for (int round = 0; round < 18; round++) {
        npz_matrix m = {.format = formats[round % 3],
                        .type = round % 2 ? "'<c8'" : "'<f8'",
                        .index = round % 4 ? 8 : 4,
                        .packed = round % 5 < 2,
                        .rows = 1 + ref_below(&r, 25),
                        .cols = round < 9 ? 1 + ref_below(&r, 25) : 0,
                        .n = round == 4 ? 0 : ref_below(&r, 200),
                        .row = row,
                        .col = col,
                        .re = re,
                        .im = im};
        if (m.cols == 0) m.cols = m.rows;
        for (int64_t k = 0; k < m.n; k++) {
            row[k] = ref_below(&r, m.rows), col[k] = ref_below(&r, m.cols);
            re[k] = (int)ref_below(&r, 100), im[k] = (int)ref_below(&r, 100);
        }
        npz_write("ranks_read.npz", &m);
        expect_same("ranks_read.npz", 1);
    }
    npz_put("ranks_read.npz", "PK", 2);
    expect_same("ranks_read.npz", 1);
    unlink("ranks_read.npz");
}

/* Duplicates in the file's order, empty rows, and so few lines that ranks have none. */
static void few_lines(void **state)
{
    (void)state;
    ref_rng r = {32};
    for (int round = 0; round < 30; round++) {
        const int64_t n = 1 + ref_below(&r, 12), entries = round < 8 ? round : ref_below(&r, 60);
        const int symmetric = round % 2;
        FILE *f = fopen("ranks_few.mtx", "wb");
        fprintf(f, "%%%%MatrixMarket matrix coordinate real %s\n%lld %lld %lld\n", symmetric ? "symmetric" : "general",
                (long long)n, (long long)n, (long long)entries);
        for (int64_t k = 0; k < entries; k++) {
            const int64_t i = ref_below(&r, n), j = ref_below(&r, symmetric ? i + 1 : n);
            fprintf(f, "%lld %lld %.17g%s", (long long)i + 1, (long long)j + 1, ref_uniform(&r),
                    k < entries - 1 || round % 3 ? "\n" : "");
        }
        fclose(f);
        expect_same("ranks_few.mtx", 1);
    }
    unlink("ranks_few.mtx");
}

/* Comments that are longer than the ranges of several ranks, at every place. */
static void long_comments(void **state)
{
    (void)state;
    for (int at = 0; at < 6; at++) {
        FILE *f = fopen("ranks_long.mtx", "wb");
        for (int line = 0; line < 6; line++) {
            if (line == at && line > 0) {
                fputc('%', f);
                for (int k = 0; k < 100000; k++) fputc("1 2 3\r%"[k % 7], f);
                fputc('\n', f);
            }
            if (line < 5)
                fputs(line == 0   ? "%%MatrixMarket matrix coordinate real general\n"
                      : line == 1 ? "3 4 3\n"
                      : line == 2 ? "1 4 0.5\n"
                      : line == 3 ? "3 1 1.5\n"
                                  : "1 1 -2\n",
                      f);
        }
        fclose(f);
        expect_same("ranks_long.mtx", 2);
    }
    unlink("ranks_long.mtx");
}

static void ghost_files(void **state)
{
    (void)state;
    ref_rng r = {33};
    for (int round = 0; round < (REF_SANITIZED ? 20 : 60); round++) {
        const wisp_type type = (wisp_type)(WISP_S + round % 4);
        const bool is_complex = wisp_type_is_complex(type);
        wisp_symmetry symmetry = (wisp_symmetry)ref_below(&r, 4);
        if (!is_complex && symmetry == WISP_SYM_HERMITIAN) symmetry = WISP_SYM_SYMMETRIC;
        const int64_t rows = ref_below(&r, 20), cols = symmetry == WISP_SYM_GENERAL ? 1 + ref_below(&r, 20) : rows;
        ref_mat a = naive_matrix(&r, rows, cols, symmetry, is_complex ? FIELD_COMPLEX : FIELD_REAL);
        for (int64_t i = 0; i < rows * cols; i++) a.a[i] = naive_round(a.a[i], type);
        naive_ghost g = {.swap = round % 3 == 0, .base = round % 2, .ptr_base = round % 4 == 1, .upper = round % 5 < 2};
        naive_write_crs("ranks_ghost.crs", a, type, symmetry, &g);
        expect_same("ranks_ghost.crs", 1 + round % 2);
        ref_free(a);
    }
    unlink("ranks_ghost.crs");
}

/* Hardly any row has an entry, so that rows are listed. */
static void sparse_rows(void **state)
{
    (void)state;
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        FILE *f = fopen("ranks_sparse.mtx", "wb");
        fprintf(f, "%%%%MatrixMarket matrix coordinate real %s\n400000 400000 400\n",
                symmetric ? "symmetric" : "general");
        for (int k = 0; k < 400; k++) {
            const int i = 1 + k * 7919 % 400 * 1000, j = 1 + k * 104729 % 997;
            fprintf(f, "%d %d %d\n", i > j ? i : j, i > j ? j : i, k);
        }
        fclose(f);
        expect_same_by("ranks_sparse.mtx", 2, REF_SANITIZED ? 3 : -1); /* that many rows take long there */
    }
    unlink("ranks_sparse.mtx");
}

/* ---- bad ones ----------------------------------------------------------------------------------------- */

static void put_bytes(const char *path, const unsigned char *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

/* A byte of a file becomes another, or the file ends there; of one byte in four or five, by processes of some. */
static void damage(const char *path, ref_rng *r)
{
    static unsigned char data[1 << 16];
    static const char text[] = "0129 \n\r%.-xe\t";
    const size_t n = get_bytes(path, data, sizeof data);
    const bool is_text = strstr(path, ".mtx") && !strstr(path, ".gz");
    const int64_t step = ref_by_mpi() || REF_SANITIZED ? 40 : 8;
    for (size_t i = 0; i < n; i += 1 + (size_t)ref_below(r, step)) {
        const unsigned char old = data[i];
        const unsigned other = is_text ? (unsigned)text[ref_below(r, sizeof text - 1)] : old ^ (1u << ref_below(r, 8));
        data[i] = (unsigned char)(other & 0xff);
        put_bytes(path, data, n);
        expect_same_by(path, 1, 1 + (int)ref_below(r, WAYS - 1));
        data[i] = old;
        if (i % 3) continue;
        put_bytes(path, data, i);
        expect_same_by(path, 1, 1 + (int)ref_below(r, WAYS - 1));
    }
    unlink(path);
}

static void damaged_text(void **state)
{
    (void)state;
    ref_rng r = {34};
    for (int round = 0; round < 6; round++) {
        naive_form f = {.field = round % 2 ? FIELD_COMPLEX : FIELD_REAL,
                        .symmetry = round == 1   ? WISP_SYM_HERMITIAN
                                    : round == 2 ? WISP_SYM_SYMMETRIC
                                                 : WISP_SYM_GENERAL,
                        .array = round == 4,
                        .messy = round == 3};
        ref_mat a = naive_matrix(&r, 5, 5, f.symmetry, f.field);
        const char *path = round == 5 ? "ranks_bad.mtx.gz" : "ranks_bad.mtx";
        naive_write_mtx(path, a, &f, &r);
        damage(path, &r);
        ref_free(a);
    }
}

static void damaged_ghost(void **state)
{
    (void)state;
    ref_rng r = {35};
    for (int round = 0; round < 3; round++) {
        const wisp_symmetry s = round == 0 ? WISP_SYM_GENERAL : round == 1 ? WISP_SYM_SKEW : WISP_SYM_HERMITIAN;
        ref_mat a = naive_matrix(&r, 6, 6, s, FIELD_COMPLEX);
        naive_write_crs("ranks_bad.crs", a, WISP_Z, s, &(naive_ghost){.base = round == 1});
        damage("ranks_bad.crs", &r);
        ref_free(a);
    }
}

static void no_files(void **state)
{
    (void)state;
    expect_same("ranks_missing.mtx", 1);
    expect_same(".", 1);
    naive_put("ranks_strange.txt", "hello");
    expect_same("ranks_strange.txt", 1);
    unlink("ranks_strange.txt");
}

/* A file that one rank does not see: for none of them it opens, unless rank 0 alone reads it. */
typedef struct {
    const char *path;
    int without;
    wisp_status status;
    const char *message;
    int64_t rows;
} hidden;

static int open_hidden(void *arg, int rank)
{
    const hidden *h = arg;
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    /* The folder of this thread alone. */
    if (rank == h->without) assert_true(unshare(CLONE_FS) == 0 && chdir("ranks_empty") == 0);
    const wisp_status status = wisp_src_open(&src, ctx, h->path);
    if (status != h->status || (status != WISP_OK && !strstr(message_of(ctx), h->message)))
        fail_msg("%s, not seen by %d: on rank %d %d, '%s'", h->path, h->without, rank, (int)status, message_of(ctx));
    if (status == WISP_OK) assert_int_equal(src.rows, h->rows);
    wisp_src_close(&src);
    if (rank == h->without) assert_int_equal(chdir(".."), 0);
    wisp_ctx_free(ctx);
    return 0;
}

static void not_seen_by_all(void **state)
{
    (void)state;
    const hidden cases[] = {{"ranks_seen.mtx", 0, WISP_ERR_IO, "neither a file nor a gallery name", 0},
                            {"ranks_seen.mtx", 1, WISP_ERR_IO, "ranks_seen.mtx: cannot open", 0},
                            {"./ranks_seen.crs", 2, WISP_ERR_IO, "./ranks_seen.crs: cannot open", 0},
                            {"ranks_seen.mtx.gz", 1, WISP_OK, "", 12},
                            /* A file that is named as one of the gallery: of 12 rows, the other one has 40. */
                            {"laplace:nx=4,ny=5,nz=2", 0, WISP_OK, "", 40},
                            {"laplace:nx=4,ny=5,nz=2", 1, WISP_ERR_IO, "laplace:nx=4,ny=5,nz=2: cannot open", 0},
                            {"laplace:nx=4,ny=5,nz=2", 3, WISP_OK, "", 12}};
    enum { CASES = sizeof cases / sizeof cases[0], FILES = 4 };
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    assert_int_equal(mkdir("ranks_empty", 0700), 0);
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:nx=3,ny=2,nz=2"));
    REF_OK(ctx, wisp_src_write(&src, ctx, cases[1].path, NULL));
    assert_int_equal(rename(cases[1].path, cases[FILES].path), 0);
    for (int i = 1; i < FILES; i++) REF_OK(ctx, wisp_src_write(&src, ctx, cases[i].path, NULL));
    for (int i = 0; i < CASES; i++) ref_ranks_each(3, open_hidden, (void *)(uintptr_t)&cases[i]);
    for (int i = 1; i <= FILES; i++) unlink(cases[i].path);
    assert_int_equal(rmdir("ranks_empty"), 0);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_text),     cmocka_unit_test(random_npz),    cmocka_unit_test(few_lines),
        cmocka_unit_test(long_comments),   cmocka_unit_test(ghost_files),   cmocka_unit_test(sparse_rows),
        cmocka_unit_test(damaged_text),    cmocka_unit_test(damaged_ghost), cmocka_unit_test(no_files),
        cmocka_unit_test(not_seen_by_all),
    };
    /* Processes write their files each for itself, all the same ones. */
    char folder[] = "ranks_XXXXXX";
    const bool own = ref_by_mpi();
    if (own && (!mkdtemp(folder) || chdir(folder))) return 1;
    const int failed = ref_run_rank_tests(tests, sizeof tests / sizeof tests[0]);
    if (own && (chdir("..") || rmdir(folder))) return 1;
    return failed;
}
