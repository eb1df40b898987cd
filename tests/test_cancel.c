/* Calls that are cancelled, and resumed: from a callback, from another thread. What is told to be done is done. */
#define _GNU_SOURCE /* crew.h */
#include "ref.h"
#include "topo/crew.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int cancel_soon(void *arg, const wisp_progress *p)
{
    (void)p;
    return ++*(int *)arg >= 2;
}

static int one_entry(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    if (col) col[0] = row, *(double *)val = 1;
    return 1;
}

static void by_progress(void **state)
{
    (void)state;
    int calls = 0;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.progress = cancel_soon, .progress_arg = &calls});
    wisp_src src = {250000, 250000, 1, WISP_D, one_entry, NULL, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_CANCELLED, "cancelled");
    assert_null(A);
    src.rows = src.cols = 100;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_CANCELLED, "cancelled"); /* stays so */
    wisp_ctx_resume(ctx);
    calls = -1000000;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* What a call that was cancelled has left in a device's queue is told by that call, not by the next one. */
static void settled(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_blk *x;
    REF_OK(ctx, wisp_map_create(&map, ctx, 3000));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 3));
    wisp_src src = {100, 100, 1, WISP_D, one_entry, NULL, NULL, 0, NULL, 0, NULL};
    for (int i = 0; i < 200; i++) {
        wisp_mat *A;
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0));
        wisp_ctx_cancel(ctx);
        if (i % 2)
            REF_FAILS(ctx, wisp_ctx_step(ctx, "waiting", 0, 0), WISP_ERR_CANCELLED, "cancelled while waiting");
        else
            REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_CANCELLED, "cancelled");
        wisp_ctx_resume(ctx);
        REF_OK(ctx, wisp_ctx_finish(ctx));
    }
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* ---- resumed while the call runs ------------------------------------------------------------- */

enum { ROWS = 200000 };

typedef struct {
    wisp_ctx *ctx;
    atomic_int other, cancelled; /* the second half has begun */
    atomic_int rows;             /* which were read of the second half */
} trap;

/* The first row cancels while another thread is at the second half, resumes when that has ended, and goes on. */
static int trap_row(void *arg, int64_t row, int64_t *col, void *val)
{
    trap *t = arg;
    if (row == 0 && !atomic_load(&t->cancelled)) {
        while (!atomic_load(&t->other)) sched_yield();
        wisp_ctx_cancel(t->ctx);
        atomic_store(&t->cancelled, 1);
        while (atomic_load(&wisp__crew_of(t->ctx->team)->member[1].part) != PART_NONE) sched_yield();
        wisp_ctx_resume(t->ctx);
    }
    if (row >= ROWS / 2) {
        atomic_store(&t->other, 1);
        atomic_fetch_add(&t->rows, 1);
        while (!atomic_load(&t->cancelled)) sched_yield();
    }
    return one_entry(NULL, row, col, val);
}

static void resumed_by_a_row(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    trap t = {.ctx = ctx};
    wisp_src src = {ROWS, ROWS, 1, WISP_D, trap_row, &t, NULL, 0, NULL, 0, NULL};
    wisp_mat *A;
    assert_int_equal(wisp_ctx_threads(ctx), 2);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, NULL), WISP_ERR_CANCELLED, "cancelled");
    assert_in_range(atomic_load(&t.rows), 1, ROWS / 2 - 1); /* the end of the call was not the end of the rows */
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Two closed pages of a block: whoever comes to the first one cancels, and to the second one resumes; both go on. */
static struct {
    wisp_ctx *ctx;
    char *page[2];
    size_t bytes;
} gate;

static void toggle_at_page(int signal, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    (void)signal, (void)context;
    for (int i = 0; i < 2; i++) {
        if (at < gate.page[i] || at >= gate.page[i] + gate.bytes) continue;
        if (i == 0)
            wisp_ctx_cancel(gate.ctx);
        else
            wisp_ctx_resume(gate.ctx);
        mprotect(gate.page[i], gate.bytes, PROT_READ | PROT_WRITE);
        return;
    }
    abort();
}

/* Two pages somewhere in x, which is lent. */
static void close_gate(ref_rng *r, wisp_blk *x, size_t size)
{
    void *data;
    REF_OK(gate.ctx, wisp_blk_lend(x, WISP_READ, &data, NULL));
    gate.bytes = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)data + gate.bytes - 1) / gate.bytes,
                    end = ((uintptr_t)data + size) / gate.bytes;
    for (int i = 0; i < 2; i++) {
        gate.page[i] = (char *)((first + (uintptr_t)ref_below(r, (int64_t)(end - first))) * gate.bytes);
        assert_int_equal(mprotect(gate.page[i], gate.bytes, PROT_NONE), 0);
    }
}

static void open_gate(wisp_blk *x)
{
    for (int i = 0; i < 2; i++) assert_int_equal(mprotect(gate.page[i], gate.bytes, PROT_READ | PROT_WRITE), 0);
    wisp_ctx_resume(gate.ctx);
    REF_OK(gate.ctx, wisp_blk_return(x));
}

static int tridiagonal_row(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    int n = 0;
    double v[3];
    for (int64_t j = row - 1; j <= row + 1; j++)
        if (j >= 0 && j < ROWS) {
            if (col) col[n] = j;
            v[n++] = j == row ? 2 + (double)(row % 7) : -1;
        }
    if (col) memcpy(val, v, (size_t)n * sizeof *v);
    return n;
}

/* A product that is told to be done has all rows. */
static void resumed_in_a_product(void **state)
{
    (void)state;
    enum { WIDTH = 4, CALLS = 40 };
    static const wisp_format format[] = {WISP_FORMAT_SELL, WISP_FORMAT_HERMITIAN};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
    const wisp_src src = {ROWS, ROWS, 3, WISP_D, tridiagonal_row, NULL, NULL, 0, NULL, 0, NULL};
    const struct sigaction trap = {.sa_sigaction = toggle_at_page, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    ref_rng r = {5};
    double *want = malloc(ROWS * WIDTH * sizeof *want), *got = malloc(ROWS * WIDTH * sizeof *got);
    gate.ctx = ctx;
    for (int f = 0; f < 2; f++) {
        wisp_mat *A;
        wisp_blk *x, *y;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = format[f], .width = WIDTH}));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0));
        REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
        REF_OK(ctx, wisp_blk_get(y, WISP_ROW_MAJOR, want, WIDTH));
        for (int i = 0; i < CALLS; i++) {
            REF_OK(ctx, wisp_blk_fill(y, (wisp_scalar){0.5, 0}));
            close_gate(&r, x, ROWS * WIDTH * sizeof *want);
            assert_int_equal(sigaction(SIGSEGV, &trap, &before), 0);
            wisp_status status = wisp_spmmv(y, A, x, NULL);
            if (status == WISP_OK) status = wisp_ctx_finish(ctx);
            assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
            open_gate(x);
            assert_true(status == WISP_OK || status == WISP_ERR_CANCELLED);
            REF_OK(ctx, wisp_blk_get(y, WISP_ROW_MAJOR, got, WIDTH));
            if (status == WISP_OK) assert_memory_equal(got, want, ROWS * WIDTH * sizeof *want);
        }
        REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
        wisp_blk_free(x);
        wisp_blk_free(y);
        wisp_mat_free(A);
    }
    free(want);
    free(got);
    wisp_ctx_free(ctx);
}

/* ---- cancelled in the middle ----------------------------------------------------------------- */

static struct {
    wisp_ctx *ctx;
    char *page;
    size_t bytes;
} closed;

/* Whoever comes to the closed page cancels, and goes on. */
static void cancel_at_page(int signal, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    (void)signal, (void)context;
    if (at < closed.page || at >= closed.page + closed.bytes) abort();
    wisp_ctx_cancel(closed.ctx);
    mprotect(closed.page, closed.bytes, PROT_READ | PROT_WRITE);
}

/* A page in the middle of the first half of a block, which is lent. */
static void close_page(wisp_blk *x, size_t size)
{
    void *data;
    REF_OK(closed.ctx, wisp_blk_lend(x, WISP_WRITE, &data, NULL));
    closed.bytes = (size_t)sysconf(_SC_PAGESIZE);
    closed.page = (char *)(((uintptr_t)data + size / 4 + closed.bytes - 1) / closed.bytes * closed.bytes);
    assert_int_equal(mprotect(closed.page, closed.bytes, PROT_NONE), 0);
}

/* Filling a block with random numbers ends early: some of it has none. */
static void random_numbers(void **state)
{
    (void)state;
    enum { WIDTH = 16, SIZE = ROWS * WIDTH };
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1, .device = "cpu"}); /* writes to that page */
    const struct sigaction trap = {.sa_sigaction = cancel_at_page, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    wisp_map *map;
    wisp_blk *x;
    double *got = malloc(SIZE * sizeof *got);
    assert_non_null(got);
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){7, 0}));
    closed.ctx = ctx;
    close_page(x, SIZE * sizeof *got);
    assert_int_equal(sigaction(SIGSEGV, &trap, &before), 0);
    REF_FAILS(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0), WISP_ERR_CANCELLED, "filling");
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    wisp_ctx_resume(ctx);
    REF_OK(ctx, wisp_blk_return(x));
    REF_OK(ctx, wisp_blk_get(x, WISP_ROW_MAJOR, got, WIDTH));
    int left = 0;
    for (int k = 0; k < SIZE; k++) left += !(got[k] == 1 || got[k] == -1);
    /* Of that half, what is before the page was written, and its first row; of the other one as much as may be. */
    assert_in_range(left, SIZE / 4 - (int)(closed.bytes / sizeof *got) - WIDTH, SIZE * 3 / 4);
    wisp_ctx_cancel(ctx);
    REF_FAILS(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0), WISP_ERR_CANCELLED, "filling");
    wisp_ctx_resume(ctx);
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0));
    REF_OK(ctx, wisp_blk_get(x, WISP_ROW_MAJOR, got, WIDTH));
    for (int k = 0; k < SIZE; k++) assert_true(fabs(got[k]) == 1);
    free(got);
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* A cancel that comes before a write which would wait, into a pipe that is full and nobody reads. Where there is room,
   the file is written. */
static void full_pipe(void **state)
{
    (void)state;
    static char data[3 * 65536], got[sizeof data];
    wisp_ctx *ctx = ref_ctx(NULL);
    unlink("cancel_pipe");
    assert_int_equal(mkfifo("cancel_pipe", 0600), 0);
    const int fd = open("cancel_pipe", O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i % 251);
    wisp_ctx_cancel(ctx);
    REF_OK(ctx, wisp_file_write(ctx, "cancel_pipe", data, 10000));
    assert_int_equal(read(fd, got, sizeof got), 10000);
    assert_memory_equal(got, data, 10000);
    REF_FAILS(ctx, wisp_file_write(ctx, "cancel_pipe", data, sizeof data), WISP_ERR_CANCELLED,
              "cancelled while writing");
    assert_true(write(fd, data, 1) < 0 && errno == EAGAIN);
    size_t bytes = 0;
    for (ssize_t n; (n = read(fd, got + bytes, sizeof got - bytes)) > 0; bytes += (size_t)n) continue;
    assert_true(bytes > 0 && bytes < sizeof data);
    assert_memory_equal(got, data, bytes);
    close(fd);
    unlink("cancel_pipe");
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_progress),      cmocka_unit_test(settled),
                                       cmocka_unit_test(resumed_by_a_row), cmocka_unit_test(resumed_in_a_product),
                                       cmocka_unit_test(random_numbers),   cmocka_unit_test(full_pipe)};
    return REF_RUN(tests);
}
