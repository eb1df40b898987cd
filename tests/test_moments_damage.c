/* Damaged moments files: any flipped bit, overwritten byte and cut either fails with one line of wisp's own or changes
   nothing; nothing of HDF5's own goes to the standard error, and a program's own handler of its errors stays. */
#include "ref.h"
#include "config.h"
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef WISP_HAVE_HDF5
int main(void)
{
    print_message("left out, for this build has no HDF5: all\n");
    return REF_SKIPPED;
}
#else
#include "h5_attribute.h"

/* Bytes behind HDF5's own. */
enum { SEAL = 20 };

typedef struct {
    wisp_ctx *ctx;
    char folder[64], file[96], errors[96];
    char logged[512];
    char *image; /* the whole file */
    size_t size;
    wisp_moments m;
} fixture;

static void keep_log(void *arg, wisp_log_level level, const char *message)
{
    (void)level;
    snprintf(arg, 512, "%s", message);
}

static void write_file(const fixture *f, const char *image, size_t size)
{
    FILE *file = fopen(f->file, "wb");
    assert_int_equal(fwrite(image, 1, size, file), size);
    fclose(file);
}

/* A file of a real run: random vectors, single rows, or the exact trace. */
static void open_fixture(fixture *f, wisp_trace trace)
{
    static const int64_t sites[] = {3, 0, 11, 7};
    wisp_mat *A;
    struct stat st;
    *f = (fixture){.folder = "/tmp/wisp-damage-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->file, sizeof f->file, "%s/m.h5", f->folder);
    snprintf(f->errors, sizeof f->errors, "%s/errors", f->folder);
    f->ctx = ref_ctx(&(wisp_ctx_opts){.log = keep_log, .log_arg = f->logged, .threads = 2});
    REF_OK(f->ctx, wisp_mat_open(&A, f->ctx, "anderson:nx=4,ny=3,nz=2,disorder=2", NULL));
    const wisp_kpm_opts o = {
        .moments = 40, .vectors = trace == WISP_TRACE_EXACT ? 0 : 4, .trace = trace, .sites = sites, .seed = 77};
    REF_OK(f->ctx, wisp_kpm(&f->m, A, &o));
    REF_OK(f->ctx, wisp_moments_label(f->ctx, &f->m, "anderson:nx=4,ny=3,nz=2", "wisp dos --save"));
    REF_OK(f->ctx, wisp_moments_save(f->ctx, &f->m, f->file));
    wisp_mat_free(A);
    assert_int_equal(stat(f->file, &st), 0);
    f->size = (size_t)st.st_size;
    f->image = malloc(f->size);
    FILE *file = fopen(f->file, "rb");
    assert_int_equal(fread(f->image, 1, f->size, file), f->size);
    fclose(file);
}

static void close_fixture(fixture *f)
{
    wisp_moments_free(&f->m);
    wisp_ctx_free(f->ctx);
    unlink(f->file);
    unlink(f->errors);
    assert_int_equal(rmdir(f->folder), 0);
    free(f->image);
}

/* The standard error goes to a file meanwhile; returns how much it was. */
static int catch_errors(const fixture *f)
{
    const int old = dup(STDERR_FILENO), to = open(f->errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(old >= 0 && to >= 0);
    dup2(to, STDERR_FILENO);
    close(to);
    return old;
}
static long release_errors(const fixture *f, int old)
{
    struct stat st;
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(old);
    assert_int_equal(stat(f->errors, &st), 0);
    return (long)st.st_size;
}

static int same_text(const char *a, const char *b) { return (!a && !b) || (a && b && !strcmp(a, b)); }

/* All that was saved, bit by bit. */
static int same(const wisp_moments *a, const wisp_moments *b)
{
    return a->rows == b->rows && a->nnz == b->nnz && a->n == b->n && a->vectors == b->vectors && a->trace == b->trace &&
           !memcmp(a->mu, b->mu, (size_t)(a->n * a->vectors) * sizeof *a->mu) && !a->sites == !b->sites &&
           (!a->sites || !memcmp(a->sites, b->sites, (size_t)a->vectors * sizeof *a->sites)) &&
           !memcmp(&a->bounds, &b->bounds, sizeof a->bounds) && a->bounds_method == b->bounds_method &&
           a->seed == b->seed && a->first_vector == b->first_vector && a->type == b->type && a->variant == b->variant &&
           a->width == b->width && a->depth == b->depth && a->threads == b->threads && a->seconds == b->seconds &&
           a->flops == b->flops && a->bounds_seconds == b->bounds_seconds && a->partial == b->partial &&
           same_text(a->matrix, b->matrix) && same_text(a->command, b->command) && same_text(a->version, b->version);
}

/* Loads the file: 1 if it was refused. `what` and `at` are for the message of this test. */
static int load(fixture *f, const char *what, size_t at)
{
    wisp_moments back;
    wisp_ctx_failf(f->ctx, WISP_OK, "nothing");
    *f->logged = '\0';
    const wisp_status status = wisp_moments_load(f->ctx, &back, f->file);
    const char *words = message_of(f->ctx);
    if (status == WISP_OK) {
        if (!same(&f->m, &back)) fail_msg("%s at %zu: other moments, and no failure (%s)", what, at, f->logged);
        wisp_moments_free(&back);
        return 0;
    }
    if (strncmp(words, f->file, strlen(f->file)) || strchr(words, '\n') || strlen(words) > 300)
        fail_msg("%s at %zu says: %s", what, at, words);
    assert_null(back.mu);
    return 1;
}

enum { FLIPS = 700 };

/* Flips of single bits in files of each kind; how many of them were refused. */
static int flip_bits(wisp_trace trace, size_t cut_off)
{
    ref_rng r = {2024};
    fixture f;
    int refused = 0;
    open_fixture(&f, trace);
    f.size -= cut_off;
    const int old = catch_errors(&f);
    for (int i = 0; i < FLIPS; i++) {
        const size_t at = (size_t)ref_below(&r, (int64_t)f.size);
        const char bit = (char)(1 << ref_below(&r, 8));
        f.image[at] ^= bit;
        write_file(&f, f.image, f.size);
        refused += load(&f, "a flipped bit", at);
        f.image[at] ^= bit;
    }
    assert_int_equal(release_errors(&f, old), 0);
    close_fixture(&f);
    return refused;
}

static void flipped_bits(void **state)
{
    (void)state;
    /* All but a few that fall into the line at the end. */
    for (int trace = 0; trace < 3; trace++) assert_true(flip_bits((wisp_trace)trace, 0) > FLIPS - SEAL);
}

/* Without that line HDF5 sees the damage: many a byte of its own has no meaning. */
static void flipped_bits_without_seal(void **state)
{
    (void)state;
    if (REF_SANITIZED) skip();
    for (int trace = 0; trace < 3; trace++) assert_true(flip_bits((wisp_trace)trace, SEAL) > FLIPS / 10);
}

/* Every single bit of the moments themselves, wherever the file has them. */
static void flipped_moments(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, WISP_TRACE_RANDOM);
    f.size -= SEAL; /* the other checksum */
    const size_t bytes = (size_t)(f.m.n * f.m.vectors) * sizeof *f.m.mu;
    size_t begin = 0;
    while (begin + bytes <= f.size && memcmp(f.image + begin, f.m.mu, bytes)) begin++;
    assert_true(begin + bytes <= f.size);
    const int old = catch_errors(&f);
    for (size_t i = 0; i < bytes * 8; i += 5) {
        f.image[begin + i / 8] ^= (char)(1 << i % 8);
        write_file(&f, f.image, f.size);
        assert_int_equal(load(&f, "a bit of the moments", i), 1);
        f.image[begin + i / 8] ^= (char)(1 << i % 8);
    }
    assert_int_equal(release_errors(&f, old), 0);
    close_fixture(&f);
}

static void other_bytes(void **state)
{
    (void)state;
    enum { EACH = 300, LONGEST = 9 };
    ref_rng r = {31};
    fixture f;
    open_fixture(&f, WISP_TRACE_SITES);
    const int old = catch_errors(&f);
    for (int i = 0; i < EACH; i++) {
        char saved[LONGEST];
        const size_t n = (size_t)(1 + ref_below(&r, LONGEST)), at = (size_t)ref_below(&r, (int64_t)(f.size - LONGEST));
        memcpy(saved, f.image + at, n);
        for (size_t k = 0; k < n; k++) f.image[at + k] = i % 3 ? (char)ref_below(&r, 256) : i % 2 ? -1 : 0;
        write_file(&f, f.image, f.size);
        load(&f, "other bytes", at);
        memcpy(f.image + at, saved, n);
    }
    for (size_t size = 0; size < f.size - SEAL; size += 1 + (size_t)ref_below(&r, 300)) {
        write_file(&f, f.image, size);
        assert_int_equal(load(&f, "a cut", size), 1);
    }
    assert_int_equal(release_errors(&f, old), 0);
    close_fixture(&f);
}

/* HDF5 prints what it could not close of a damaged file when the process ends. (Without the line at the end of the
   file, so that HDF5 sees the damage; its own reads of freed memory are not our subject.) */
static void end_of_process(void **state)
{
    (void)state;
    enum { EACH = 3000 };
    fixture f;
    int ended;
    open_fixture(&f, WISP_TRACE_RANDOM);
    if (REF_SANITIZED) {
        close_fixture(&f);
        skip();
    }
    f.size -= SEAL;
    const int old = catch_errors(&f);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ref_rng r = {5};
        wisp_ctx *ctx = NULL;
        wisp_moments back;
        wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        for (int i = 0; i < EACH; i++) {
            const size_t at = (size_t)ref_below(&r, (int64_t)f.size);
            f.image[at] ^= (char)(1 << i % 8);
            write_file(&f, f.image, f.size);
            if (wisp_moments_load(ctx, &back, f.file) == WISP_OK) wisp_moments_free(&back);
            f.image[at] ^= (char)(1 << i % 8);
        }
        wisp_ctx_free(ctx);
        exit(3);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(release_errors(&f, old), 0);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 3);
    close_fixture(&f);
}

/* ---- files of the format's first version ----------------------------------------------------- */

typedef struct {
    const char *name, *words;
    double number; /* or */
    int64_t integer;
    int kind; /* 0: double, 1: int64, 2: int */
} change;

static void make_old(const fixture *f, const change *c)
{
    const int one = 1;
    write_file(f, f->image, f->size);
    const hid_t h = H5Fopen(f->file, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(h >= 0);
    assert_true(H5Adelete(h, "checksum") >= 0);
    h5_put(h, "format_version", H5T_NATIVE_INT, &one);
    if (c && c->kind == 0) h5_put(h, c->name, H5T_NATIVE_DOUBLE, &c->number);
    if (c && c->kind == 1) h5_put(h, c->name, H5T_NATIVE_INT64, &c->integer);
    if (c && c->kind == 2) h5_put(h, c->name, H5T_NATIVE_INT, &(int){(int)c->integer});
    H5Fclose(h);
}

static void old_version(void **state)
{
    (void)state;
    static const change changes[] = {
        {.name = "rows", .words = "moment 0 of vector 0 is 24 and must be 25", .integer = 25, .kind = 1},
        {.name = "nnz", .words = "nnz is out of range", .integer = 24 * 25, .kind = 1},
        {.name = "first_vector", .words = "first_vector is out of range", .integer = -2, .kind = 1},
        {.name = "first_vector", .words = "first_vector is out of range", .integer = 1LL << 32, .kind = 1},
        {.name = "partial", .words = "partial is out of range", .integer = 2, .kind = 1},
        {.name = "width", .words = "width is out of range", .integer = 0, .kind = 2},
        {.name = "powers", .words = "depth is out of range", .integer = 0, .kind = 2},
        {.name = "threads", .words = "threads is out of range", .integer = -3, .kind = 2},
        {.name = "failure_probability", .words = "failure_probability is out of range", .number = 1.5},
        {.name = "seconds", .words = "seconds or bounds_seconds is out of range", .number = HUGE_VAL},
        {.name = "flops", .words = "flops is out of range", .number = -1},
        {.name = "halfwidth", .words = "center or halfwidth is out of range", .number = -1},
    };
    fixture f;
    open_fixture(&f, WISP_TRACE_RANDOM);
    wisp_moments back;
    make_old(&f, NULL);
    assert_int_equal(load(&f, "an old file", 0), 0);
    assert_non_null(strstr(f.logged, "has no checksum"));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_old(&f, &changes[i]);
        REF_FAILS(f.ctx, wisp_moments_load(f.ctx, &back, f.file), WISP_ERR_FORMAT, changes[i].words);
    }
    /* A moment above mu_0, and sites whose mu_0 is not 1. */
    double *mu = malloc(sizeof *mu * (size_t)(f.m.n * f.m.vectors));
    memcpy(mu, f.m.mu, sizeof *mu * (size_t)(f.m.n * f.m.vectors));
    mu[f.m.n + 3] = -24.1;
    make_old(&f, NULL);
    const hid_t h = H5Fopen(f.file, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(h, "moments", H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, mu) >= 0);
    H5Dclose(set);
    H5Fclose(h);
    REF_FAILS(f.ctx, wisp_moments_load(f.ctx, &back, f.file), WISP_ERR_FORMAT, "moment 3 of vector 1 is -24.1");
    free(mu);
    close_fixture(&f);
}

/* A file of today without its checksum, or with a number changed by another program. */
static void without_checksum(void **state)
{
    (void)state;
    fixture f;
    wisp_moments back;
    open_fixture(&f, WISP_TRACE_RANDOM);
    hid_t h = H5Fopen(f.file, H5F_ACC_RDWR, H5P_DEFAULT);
    h5_put(h, "seed", H5T_NATIVE_UINT64, &(uint64_t){78});
    H5Fclose(h);
    REF_FAILS(f.ctx, wisp_moments_load(f.ctx, &back, f.file), WISP_ERR_FORMAT, "the checksum does not fit");
    h = H5Fopen(f.file, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete(h, "checksum");
    H5Fclose(h);
    REF_FAILS(f.ctx, wisp_moments_load(f.ctx, &back, f.file), WISP_ERR_FORMAT, "checksum is missing");
    close_fixture(&f);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static herr_t own_handler(hid_t stack, void *arg)
{
    (void)stack;
    ++*(int *)arg;
    return 0;
}

static void *load_often(void *arg)
{
    const fixture *f = arg;
    wisp_ctx *ctx = NULL;
    wisp_moments back;
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}), WISP_OK);
    for (int i = 0; i < 50; i++) assert_int_equal(wisp_moments_load(ctx, &back, f->file), WISP_ERR_FORMAT);
    wisp_ctx_free(ctx);
    return NULL;
}

/* From several threads at once: the program's handler is never called, and there afterwards. */
static void handlers(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    fixture f;
    pthread_t thread[THREADS];
    int calls = 0;
    H5E_auto2_t print, found;
    void *arg, *found_arg;
    open_fixture(&f, WISP_TRACE_RANDOM);
    write_file(&f, f.image, f.size / 2);
    H5Eget_auto2(H5E_DEFAULT, &print, &arg);
    H5Eset_auto2(H5E_DEFAULT, own_handler, &calls);
    const int old = catch_errors(&f);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, load_often, &f), 0);
    load_often(&f);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    assert_int_equal(release_errors(&f, old), 0);
    H5Eget_auto2(H5E_DEFAULT, &found, &found_arg);
    assert_true(found == own_handler && found_arg == &calls);
    assert_int_equal(calls, 0);
    H5Eset_auto2(H5E_DEFAULT, print, arg);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_of_process), /* before any other thread is there */
        cmocka_unit_test(flipped_bits),    cmocka_unit_test(flipped_bits_without_seal),
        cmocka_unit_test(flipped_moments), cmocka_unit_test(other_bytes),
        cmocka_unit_test(old_version),     cmocka_unit_test(without_checksum),
        cmocka_unit_test(handlers),
    };
    return REF_RUN(tests);
}
#endif
