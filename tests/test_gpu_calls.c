/* What carries kernels of GPUs, without a GPU: calls of several threads, loans of a device's memory, compiled kernels
   that are kept; and what goes wrong is found. */
#include "gpu_devices.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- several threads on one context ------------------------------------------------------------ */

typedef struct {
    wisp_ctx *ctx;
    wisp_map *map;
    int wrong;
} filler;

/* Unit vectors in a block of its own, again and again. */
static void *fill_again(void *arg)
{
    enum { ROWS = 20, WIDTH = 3, ROUNDS = 100 };
    filler *f = arg;
    wisp_blk *x;
    double got[ROWS * WIDTH];
    if (wisp_blk_create(&x, f->ctx, f->map, WISP_D, WIDTH)) f->wrong = ROUNDS;
    for (int i = 0; i < ROUNDS && f->wrong < ROUNDS; i++) {
        int64_t row[WIDTH];
        bool right = true;
        for (int j = 0; j < WIDTH; j++) row[j] = (7 * i + 3 * j) % ROWS;
        right &= wisp_blk_fill_units(x, row) == WISP_OK && wisp_blk_get(x, WISP_ROW_MAJOR, got, WIDTH) == WISP_OK;
        for (int k = 0; k < ROWS * WIDTH; k++) right &= got[k] == (k / WIDTH == row[k % WIDTH]);
        f->wrong += !right;
    }
    wisp_blk_free(x);
    return NULL;
}

static void threads(void **state)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    filler f[2] = {{.ctx = ctx}, {.ctx = ctx}};
    pthread_t thread[2];
    (void)state;
    REF_OK(ctx, wisp_map_create(&f[0].map, ctx, 20));
    f[1].map = f[0].map;
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_create(&thread[t], NULL, fill_again, f + t), 0);
    for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
    assert_int_equal(f[0].wrong + f[1].wrong, 0);
    wisp_map_free(f[0].map);
    wisp_ctx_free(ctx);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* What is lent twice is the same memory, and goes back when its loan ends; what nobody wrote stays. */
static void loans(void **state)
{
    enum { BYTES = 1000 };
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        wisp_ctx *all[DEVICES];
        contexts(all);
        wisp_ctx *ctx = all[d];
        if (ctx) {
            const wisp__backend *b = ctx->backend;
            char *a, *one, *two, *three, out[BYTES];
            REF_OK(ctx, b->alloc(ctx, &a, BYTES, 1));
            for (int i = 0; i < BYTES; i++) out[i] = (char)(i % 100);
            REF_OK(ctx, b->write(ctx, a, out, BYTES));
            REF_OK(ctx, b->lend(ctx, a, 100, WISP_WRITE, &one));
            memset(one + 40, 'x', 30);
            REF_OK(ctx, b->lend(ctx, a + 50, 100, WISP_READ, &two));
            assert_int_equal(two[0], 'x');
            assert_int_equal(two[60], 10);
            REF_OK(ctx, b->lend(ctx, a + 500, 100, WISP_DISCARD, &three));
            memset(three, 'y', 100);
            REF_FAILS(ctx, b->lend(ctx, one, 10, WISP_READ, &three), WISP_ERR_ARG, "an address of the host's");
            REF_FAILS(ctx, b->lend(ctx, a + 500, 501, WISP_READ, &three), WISP_ERR_ARG, "past the end");
            b->unlend(ctx, a + 50);
            b->unlend(ctx, a + 500);
            b->unlend(ctx, a);
            memset(out, 0, sizeof out);
            REF_OK(ctx, b->read(ctx, a, out, BYTES));
            for (int i = 0; i < BYTES; i++)
                assert_int_equal(out[i], i >= 40 && i < 70 ? 'x' : i >= 500 && i < 600 ? 'y' : (char)(i % 100));
            /* A loan ends with its array, and the next one knows nothing of it. */
            REF_OK(ctx, b->lend(ctx, a, WISP__WHOLE_ARRAY, WISP_READ, &one));
            b->free(ctx, a);
            REF_OK(ctx, b->alloc(ctx, &a, BYTES, 1));
            memset(out, 'z', sizeof out);
            REF_OK(ctx, b->write(ctx, a, out, BYTES));
            REF_OK(ctx, b->lend(ctx, a, WISP__WHOLE_ARRAY, WISP_READ, &one));
            assert_int_equal(one[BYTES - 1], 'z');
            b->unlend(ctx, a);
            b->free(ctx, a);
        }
        contexts_free(all);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

/* A program of these texts on the device `plain`, and its kernel. */
static void *compiled(wisp__gpu *g, const char *name, const char *head, const char *kernel)
{
    const char *dialect = wisp__gpu_text("dialect.h"), *params = wisp__gpu_text("params_gpu.h");
    char *text = malloc(strlen(head) + strlen(dialect) + strlen(params) + strlen(kernel) + 1);
    void *handle;
    strcpy(stpcpy(stpcpy(stpcpy(text, head), dialect), params), kernel);
    REF_OK(g->ctx, g->driver->compile(g, name, text, &handle));
    free(text);
    return handle;
}

/* A barrier that not all items reach is told; and a sum whose items don't wait for each other is another one. */
static void mutants(void **state)
{
    enum { COUNT = 100 };
    static const char head[] = "#define GROUP_SIZE 32\n#define REAL double\n#define PARTS 1\n";
    static const char hurried[] = "#define GROUP_SIZE 32\n#define REAL double\n#define PARTS 1\n#define HURRIED\n";
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp__gpu *g = ctx->device;
    double from[COUNT], sum[2], *a;
    void *buffer[K_PLACES] = {NULL};
    k_sums k = {.blocks = COUNT, .size = 1, .each = 1};
    (void)state;
    for (int i = 0; i < COUNT; i++) from[i] = i + 1;
    REF_OK(ctx, ctx->backend->alloc(ctx, &a, COUNT + 1, sizeof *a));
    REF_OK(ctx, ctx->backend->write(ctx, a, from, sizeof from));
    REF_OK(ctx, wisp__gpu_place(ctx, a, buffer + S_PARTIAL, k.at + S_PARTIAL));
    REF_OK(ctx, wisp__gpu_place(ctx, a + COUNT, buffer + S_TO, k.at + S_TO));
    void *const some = compiled(g, "sums", head, "KERNEL(some, k_sums) { if (ITEM < 5) BARRIER(); }\n");
    REF_FAILS(ctx, g->driver->launch(g, some, 3, &k, sizeof k, buffer), WISP_ERR_ARG, "a barrier that not all items");
    void *const later = compiled(g, "sums", head, "KERNEL(later, k_sums) { BARRIER(); if (ITEM > 0) BARRIER(); }\n");
    REF_FAILS(ctx, g->driver->launch(g, later, 3, &k, sizeof k, buffer), WISP_ERR_ARG, "a barrier that not all items");
    for (int i = 0; i < 2; i++) {
        void *const sums = compiled(g, "sums", i ? hurried : head, wisp__gpu_text("sums.gpu.h"));
        REF_OK(ctx, g->driver->launch(g, sums, 1, &k, sizeof k, buffer));
        REF_OK(ctx, ctx->backend->read(ctx, a + COUNT, sum + i, sizeof *sum));
        g->driver->drop(g, sums);
    }
    assert_true(sum[0] == COUNT * (COUNT + 1) / 2);
    assert_true(sum[1] != sum[0]);
    g->driver->drop(g, some);
    g->driver->drop(g, later);
    ctx->backend->free(ctx, a);
    wisp_ctx_free(ctx);
}

/* More definitions than a call has room for are told. */
static void too_long(void **state)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    char text[4000] = "", message[WISP_MESSAGE];
    k_fill k = {.rows = 1};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = i % 10 == 9 ? '\n' : ' ';
    assert_int_equal(wisp__gpu_launch(&c, "fill", 1, "%s", text), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(wisp_ctx_message(ctx, message, sizeof message), "'fill' has more definitions"));
    wisp_ctx_free(ctx);
}

/* The files of a folder, and their bytes. */
static int files_in(const char *folder, char name[300], int64_t *bytes)
{
    DIR *d = opendir(folder);
    struct stat is;
    int n = 0;
    *bytes = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(name, 300, "%.40s/%.200s", folder, e->d_name);
        assert_int_equal(stat(name, &is), 0);
        *bytes += is.st_size;
        n++;
    }
    if (d) closedir(d);
    return n;
}

/* On a device whose driver does not keep kernels, whatever it does else. */
static void fill_some(const char *name)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = name, .threads = 1});
    wisp_map *map;
    wisp_blk *x;
    wisp__gpu_of(ctx)->driver_keeps = false;
    REF_OK(ctx, wisp_map_create(&map, ctx, 3));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){2, 0}));
    ref_mat m = ref_get(x);
    assert_true(m.a[2] == 2);
    ref_free(m);
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* A kernel is compiled once; a file that is damaged, cut off or empty is made anew. */
static void kept_on(const char *device_name, const char *folder)
{
    char name[300], other[300];
    int64_t bytes, again;
    struct stat was, is;
    fill_some(device_name);
    assert_int_equal(files_in(folder, name, &bytes), 1);
    assert_int_equal(stat(name, &was), 0);
    fill_some(device_name); /* takes it from there */
    assert_int_equal(stat(name, &is), 0);
    assert_int_equal(is.st_ino, was.st_ino);
    for (int damage = 0; damage < 3; damage++) {
        if (damage == 0) {
            FILE *f = fopen(name, "r+");
            assert_non_null(f);
            fseek(f, (long)bytes / 2, SEEK_SET);
            const int c = fgetc(f);
            fseek(f, (long)bytes / 2, SEEK_SET);
            fputc(c ^ 1, f);
            fclose(f);
        } else {
            assert_int_equal(truncate(name, damage == 1 ? bytes - 1 : 0), 0);
        }
        fill_some(device_name);
        assert_int_equal(files_in(folder, other, &again), 1);
        assert_string_equal(name, other);
        assert_int_equal(again, bytes);
    }
    unlink(name);
}

/* Files are not kept without end. */
static void bounded(const char *folder)
{
    char *large = calloc(1, 20 << 20), text[16], name[300];
    int64_t bytes;
    size_t size;
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "%d", i);
        wisp__gpu_keep("a test", text, large, 20 << 20);
    }
    assert_true(files_in(folder, name, &bytes) >= 1 && bytes <= 64 << 20);
    char *last = wisp__gpu_kept("a test", "4", &size);
    assert_true(last && size == 20 << 20);
    free(last);
    free(large);
    while (files_in(folder, name, &bytes)) unlink(name);
}

static void kept(void **state)
{
    char base[] = "/tmp/wisp-test-gpu-XXXXXX", folder[64];
    char *before = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    (void)state;
    assert_non_null(mkdtemp(base));
    setenv("XDG_CACHE_HOME", base, 1);
    snprintf(folder, sizeof folder, "%s/wisp/kernels", base);
    kept_on("plain", folder);
    if (has_other && !strcmp(device[1], "opencl")) kept_on("opencl", folder);
    bounded(folder);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/wisp", base);
    rmdir(folder);
    rmdir(base);
    if (before)
        setenv("XDG_CACHE_HOME", before, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),  cmocka_unit_test(loans), cmocka_unit_test(mutants),
        cmocka_unit_test(too_long), cmocka_unit_test(kept),
    };
    look_for_devices();
    return devices_done("test_gpu_calls", cmocka_run_group_tests(tests, NULL, NULL));
}
