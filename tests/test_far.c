/* The device `far` (src/backend/far.c) keeps its word: its memory is closed to the host but between map and unmap, and
   it takes no address but its own. */
#include "ref.h"
#include "data/data.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static wisp_ctx *far_ctx(void) { return ref_ctx(&(wisp_ctx_opts){.device = "far", .threads = 2}); }

/* What becomes of a process that reads there: 0, or its signal. */
static int reads(const void *address)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the test's runner has its own */
        const char c = *(const volatile char *)address;
        _exit(c & 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void closed_to_the_host(void **state)
{
    (void)state;
    wisp_ctx *ctx = far_ctx();
    wisp_src src;
    wisp_mat *A;
    wisp_blk *x, *y;
    void *data;
    int64_t stride;
    assert_string_equal(wisp_ctx_device(ctx), "far");
    REF_OK(ctx, wisp_src_open(&src, ctx, "laplace:points=7,nx=9,ny=8,nz=7"));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_SELL}));
    wisp_src_close(&src);
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 3));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 3));
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){1, 0}));
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    assert_int_equal(reads(wisp__at(x)), SIGSEGV);
    assert_int_equal(reads(wisp__at(y)), SIGSEGV);
    assert_int_equal(reads(A->local.val), SIGSEGV);
    REF_OK(ctx, wisp_blk_map(y, &data, &stride));
    assert_int_equal(reads(data), 0);
    assert_int_equal(reads(wisp__at(x)), SIGSEGV);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL)); /* a call meanwhile closes nothing that is open */
    assert_int_equal(reads(data), 0);
    REF_OK(ctx, wisp_blk_unmap(y));
    assert_int_equal(reads(data), SIGSEGV);
    REF_OK(ctx, wisp__mat_look(A));
    assert_int_equal(reads(A->local.val), 0);
    wisp__mat_looked(A);
    assert_int_equal(reads(A->local.val), SIGSEGV);
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void only_its_own_addresses(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    wisp_ctx *ctx = far_ctx();
    wisp_map *map;
    wisp_blk *x, *borrowed;
    wisp_mat *A;
    double host[ROWS] = {0}, sum[2];
    int64_t ptr[ROWS + 1] = {0};
    const double one = 1;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    const wisp__axpby_params axpby = {.x = host, .y = wisp__at(x), .ld_x = 1, .ld_y = 1, .period = 1, .a = &one};
    REF_FAILS(ctx, ctx->backend->axpby(ctx, true, &axpby, ROWS), WISP_ERR_ARG, "no buffer");
    const wisp__dot_params dot = {.x = wisp__at(x), .y = host, .ld_x = 1, .ld_y = 1, .period = 1, .rows = 1};
    REF_FAILS(ctx, ctx->backend->dot(ctx, true, false, false, &dot, ROWS, K_STRIP, sum), WISP_ERR_ARG, "no buffer");
    const wisp__columns_params columns = {.from = host,
                                          .to = wisp__at(x),
                                          .to_column = (int[]){0},
                                          .width = 1,
                                          .from_bytes = 8,
                                          .to_bytes = 8,
                                          .parts = 1};
    REF_FAILS(ctx, ctx->backend->copy_columns(ctx, &columns, ROWS), WISP_ERR_ARG, "no buffer");
    const wisp__gram_params gram = {.v = wisp__at(x), .w = host, .ld_v = 1, .ld_w = 1, .rows = ROWS, .p = 1, .q = 1};
    REF_FAILS(ctx, ctx->backend->gram(ctx, true, false, &gram, K_STRIP, sum), WISP_ERR_ARG, "no buffer");
    const wisp__update_params update = {
        .v = host, .w = wisp__at(x), .x = &one, .ld_v = 1, .ld_w = 1, .ld_x = 1, .p = 1, .q = 1};
    REF_FAILS(ctx, ctx->backend->update(ctx, true, &update, ROWS), WISP_ERR_ARG, "no buffer");
    const wisp__spmmv_params sweep = {
        .rows = ROWS, .x = wisp__at(x), .gather = wisp__at(x), .y = wisp__at(x), .prev = wisp__at(x), .val = host};
    const wisp__grid grid = {0};
    REF_FAILS(ctx, ctx->backend->launch_spmmv(ctx, (wisp__kernel){0}, &sweep, &grid, 0, 0, 0), WISP_ERR_ARG,
              "no buffer");
    REF_FAILS(ctx, wisp_blk_borrow(&borrowed, ctx, map, WISP_D, 1, host, 1), WISP_ERR_UNSUPPORTED, "copy them");
    REF_FAILS(ctx, wisp_mat_borrow_crs(&A, ctx, &(wisp_crs){.rows = ROWS, .cols = ROWS, .type = WISP_D, .rowptr = ptr}),
              WISP_ERR_UNSUPPORTED, "copy them");
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* Nothing is left of what it held, and the limit counts what it holds. */
static void counted(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "far", .memory_limit = 1 << 20});
    wisp_map *map;
    wisp_blk *x, *y;
    int64_t now;
    REF_OK(ctx, wisp_map_create(&map, ctx, 1 << 16));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    REF_FAILS(ctx, wisp_blk_create(&y, ctx, map, WISP_D, 1), WISP_ERR_NOMEM, "memory limit");
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_memory(ctx, &now, NULL);
    assert_int_equal(now, 0);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_to_the_host),
        cmocka_unit_test(only_its_own_addresses),
        cmocka_unit_test(counted),
    };
    return REF_RUN(tests);
}
