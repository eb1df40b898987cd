/* The device `far` (src/backend/far/) keeps its word: its memory is closed to the host but while it is lent, in the way
   in which it is lent, and elsewhere there than for the device; it takes no address but its own; a call reaches no
   buffer but those that it names. A child of fork has memory of its own. (Its queue: test_far_queue.c.) */
#include "far_scene.h"
#include "data/data.h"
#include <math.h>
#include <sys/resource.h>

static void look(const void *address) { (void)*(const volatile char *)address; }
static int reads(const void *address) { return fate(look, address); }

static void closed_to_the_host(void **state)
{
    (void)state;
    wisp_ctx *ctx = far_ctx();
    wisp_src src;
    wisp_mat *A;
    wisp_blk *x, *y;
    wisp__host_mat host;
    void *data, *again;
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
    REF_OK(ctx, wisp_blk_lend(y, WISP_WRITE, &data, &stride));
    assert_int_equal(reads(data), 0);
    assert_ptr_not_equal(data, wisp__at(y));
    assert_int_equal(reads(wisp__at(y)), SIGSEGV); /* by its own address it is as closed as ever */
    assert_int_equal(reads(wisp__at(x)), SIGSEGV);
    assert_int_equal(ctx->backend->lend(ctx, data, 8, WISP_READ, &again), WISP_ERR_ARG);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL)); /* a call meanwhile closes nothing that is open */
    assert_int_equal(reads(data), 0);
    REF_OK(ctx, wisp_blk_return(y));
    assert_int_equal(reads(data), SIGSEGV);
    REF_OK(ctx, wisp__mat_lend(A, WISP_READ, &host));
    const void *val = host.mat.local.val;
    assert_ptr_not_equal(val, A->local.val);
    assert_int_equal(reads(val), 0);
    assert_int_equal(reads(A->local.val), SIGSEGV);
    wisp__mat_return(&host);
    assert_int_equal(reads(val), SIGSEGV);
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* ---- what a call may reach -------------------------------------------------------------------- */

/* A kernel that reads a byte of x, or one elsewhere, and then one of y, if the call names it. */
typedef struct {
    wisp_blk *x, *y;
    bool names;            /* y */
    int64_t at;            /* from the beginning of x */
    const void *elsewhere; /* instead; or NULL */
} reach;
static const void *elsewhere;

static void reading_kernel(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    (void)begin, (void)end, (void)dot;
    look(elsewhere ? elsewhere : (const char *)p->x + p->first);
    if (p->y) look(p->y);
}

static void call(const void *arg)
{
    const reach *r = arg;
    wisp_ctx *ctx = wisp_blk_ctx(r->x);
    const wisp__spmmv_params p = {.x = wisp__at(r->x), .y = r->names ? wisp__at(r->y) : NULL, .first = r->at};
    const wisp__grid grid = {.blocks = 1, .chunks_per_block = 1, .chunks = 1};
    elsewhere = r->elsewhere;
    REF_OK(ctx, ctx->backend->launch_spmmv(ctx, (wisp__kernel){(uintptr_t)reading_kernel}, &p, &grid, 0, 1, 0));
    REF_OK(ctx, wisp_ctx_finish(ctx));
}

static void a_call_reaches_what_it_names(void **state)
{
    (void)state;
    enum { ROWS = 1003 };
    const int64_t bytes = ROWS * 8, line = 64, end = (bytes + line - 1) / line * line;
    wisp_ctx *ctx = far_ctx();
    wisp_map *map;
    reach r = {0};
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&r.x, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&r.y, ctx, map, WISP_D, 1));
    assert_int_equal(fate(call, &r), 0);
    r.names = true;
    assert_int_equal(fate(call, &r), 0);
    r.at = bytes - 1;
    assert_int_equal(fate(call, &r), 0);
    r.at = end;
    assert_int_equal(fate(call, &r), SIGSEGV);
    r.elsewhere = wisp__at(r.x); /* the host follows it while the call runs that names it */
    assert_int_equal(fate(call, &r), SIGSEGV);
    r.names = false;
    r.elsewhere = wisp__at(r.y); /* a buffer that the call does not name */
    assert_int_equal(fate(call, &r), SIGSEGV);
    wisp_blk_free(r.x);
    wisp_blk_free(r.y);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* Rows of views that have none begin where the memory ends. */
static void views_without_rows(void **state)
{
    (void)state;
    wisp_ctx *ctx = far_ctx();
    const int64_t rows = sysconf(_SC_PAGESIZE) / (int64_t)sizeof(double);
    wisp_map *map;
    wisp_blk *x, *view;
    void *data;
    double one = 1;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_blk_rows(&view, x, rows, 0));
    REF_OK(ctx, wisp_blk_lend(view, WISP_WRITE, &data, NULL));
    REF_OK(ctx, wisp_blk_return(view));
    const wisp__axpby_params axpby = {
        .x = wisp__at(view), .y = wisp__at(view), .ld_x = 1, .ld_y = 1, .period = 1, .a = &one};
    REF_OK(ctx, ctx->backend->axpby(ctx, true, &axpby, 0));
    wisp_blk_free(view);
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* ---- addresses -------------------------------------------------------------------------------- */

static void only_its_own_addresses(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    wisp_ctx *ctx = far_ctx();
    wisp_map *map;
    wisp_blk *x, *borrowed;
    double host[ROWS] = {0}, sum[2];
    int64_t ptr[ROWS + 1] = {0};
    const double one = 1;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    const wisp__axpby_params axpby = {.x = host, .y = wisp__at(x), .ld_x = 1, .ld_y = 1, .period = 1, .a = &one};
    REF_FAILS(ctx, ctx->backend->axpby(ctx, true, &axpby, ROWS), WISP_ERR_ARG, "no buffer");
    wisp__dot_params dot = {.x = wisp__at(x), .y = host, .ld_x = 1, .ld_y = 1, .period = 1, .rows = 1, .reals = 1};
    const wisp__dot_kind kind = {.is_double = true};
    double *there = (double *)(void *)wisp__at(x);
    REF_FAILS(ctx, ctx->backend->dot(ctx, &kind, &dot, ROWS, K_STRIP, there, NULL), WISP_ERR_ARG, "no buffer");
    dot.y = dot.x;
    REF_FAILS(ctx, ctx->backend->dot(ctx, &kind, &dot, ROWS, K_STRIP, sum, NULL), WISP_ERR_ARG, "no buffer");
    const wisp__columns_params columns = {.from = host,
                                          .to = wisp__at(x),
                                          .to_column = (int[]){0},
                                          .width = 1,
                                          .from_bytes = 8,
                                          .to_bytes = 8,
                                          .reals = 1};
    REF_FAILS(ctx, ctx->backend->copy_columns(ctx, &columns, ROWS), WISP_ERR_ARG, "no buffer");
    const wisp__view view = {.x = host, .rows = ROWS, .ld = 1, .width = 1, .bytes = 8};
    REF_FAILS(ctx, ctx->backend->fill(ctx, &(wisp__fill_params){.v = view, .value = &one}), WISP_ERR_ARG, "no buffer");
    REF_FAILS(ctx, ctx->backend->random(ctx, &(wisp__random_params){.v = view, .reals = 1}), WISP_ERR_ARG, "no buffer");
    const wisp__array_params array = {.v = view, .row_step = 1, .column_step = 1};
    REF_FAILS(ctx, ctx->backend->put(ctx, &array, host), WISP_ERR_ARG, "no buffer");
    const wisp__gram_params gram = {.v = wisp__at(x), .w = host, .ld_v = 1, .ld_w = 1, .rows = ROWS, .p = 1, .q = 1};
    REF_FAILS(ctx, ctx->backend->gram(ctx, true, false, &gram, K_STRIP, there), WISP_ERR_ARG, "no buffer");
    const wisp__update_params update = {
        .v = host, .w = wisp__at(x), .x = &one, .ld_v = 1, .ld_w = 1, .ld_x = 1, .p = 1, .q = 1};
    REF_FAILS(ctx, ctx->backend->update(ctx, true, &update, ROWS), WISP_ERR_ARG, "no buffer");
    const wisp__spmmv_params sweep = {.a = {.rows = ROWS, .val = host},
                                      .x = wisp__at(x),
                                      .gather = wisp__at(x),
                                      .y = wisp__at(x),
                                      .prev = wisp__at(x)};
    const wisp__grid grid = {0};
    REF_FAILS(ctx, ctx->backend->launch_spmmv(ctx, (wisp__kernel){0}, &sweep, &grid, 0, 0, 0), WISP_ERR_ARG,
              "no buffer");
    const wisp__spmmv_params none = {0};
    const wisp__grid weighed = {.weight = ptr};
    REF_FAILS(ctx, ctx->backend->launch_spmmv(ctx, (wisp__kernel){0}, &none, &weighed, 0, 0, 0), WISP_ERR_ARG,
              "no buffer");
    REF_FAILS(ctx, wisp_blk_borrow(&borrowed, ctx, map, WISP_D, 1, host, 1), WISP_ERR_UNSUPPORTED, "copy them");
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* ---- loans ------------------------------------------------------------------------------------ */

static void write_to(const void *address) { *(volatile char *)(uintptr_t)address = 1; }

/* Who reads can't write; what is discarded is gone; no more than an array is lent. */
static void loans(void **state)
{
    (void)state;
    queued q = queued_open();
    void *data, *again, *host;
    double got[2 * LONG];
    const size_t bytes = sizeof got, line = 64;
    REF_OK(q.ctx, wisp_blk_lend(q.x, WISP_READ, &data, NULL));
    assert_int_equal(reads(data), 0);
    assert_int_equal(fate(write_to, data), SIGSEGV);
    REF_OK(q.ctx, wisp_blk_lend(q.x, WISP_WRITE, &again, NULL));
    assert_ptr_equal(again, data);
    assert_int_equal(fate(write_to, data), 0);
    REF_OK(q.ctx, wisp_blk_return(q.x));
    assert_int_equal(fate(write_to, data), SIGSEGV);
    REF_OK(q.ctx, wisp_blk_return(q.x));
    assert_int_equal(reads(data), SIGSEGV);
    REF_OK(q.ctx, wisp_blk_lend(q.y, WISP_DISCARD, &data, NULL));
    assert_true(isnan(((double *)data)[2 * LONG - 1]));
    REF_OK(q.ctx, wisp_blk_return(q.y));
    const wisp__backend *backend = q.ctx->backend;
    REF_FAILS(q.ctx, backend->lend(q.ctx, wisp__at(q.x), bytes + line, WISP_READ, &host), WISP_ERR_ARG, "past the end");
    REF_FAILS(q.ctx, backend->read(q.ctx, wisp__at(q.x), got, bytes + line), WISP_ERR_ARG, "past the end");
    REF_FAILS(q.ctx, backend->read(q.ctx, got, got, bytes), WISP_ERR_ARG, "past the end");
    REF_FAILS(q.ctx, backend->write(q.ctx, got, got, bytes), WISP_ERR_ARG, "no buffer");
    REF_FAILS(q.ctx, wisp_blk_lend(q.x, (wisp_access)7, &data, NULL), WISP_ERR_ARG, "unknown access 7");
    for (int i = 0; i < 2 * LONG; i++) got[i] = i;
    REF_OK(q.ctx, backend->write(q.ctx, wisp__at(q.x), got, bytes));
    memset(got, 0, bytes);
    REF_OK(q.ctx, backend->read(q.ctx, wisp__at(q.x), got, bytes));
    for (int i = 0; i < 2 * LONG; i++) assert_true(got[i] == i);
    queued_close(&q);
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

/* ---- fork ------------------------------------------------------------------------------------- */

static bool all_are(const wisp_blk *x, double want)
{
    double got[2 * LONG];
    if (wisp_blk_get(x, WISP_ROW_MAJOR, got, 2) != WISP_OK) return false;
    for (int i = 0; i < 2 * LONG; i++)
        if (got[i] != want) return false;
    return true;
}

/* The answer of a child, which may find itself without memory. */
static int answer_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A child has what was there at the fork, lent or not; what it and its parent write from then on the other does not
 * see. */
static void forked(void **state)
{
    (void)state;
    for (int lent = 0; lent < 2; lent++) {
        queued q = queued_open();
        int written[2];
        char go = 0;
        void *data = NULL;
        assert_int_equal(pipe(written), 0);
        if (lent) REF_OK(q.ctx, wisp_blk_lend(q.x, WISP_WRITE, &data, NULL));
        for (double v = 1; v <= 5; v++)
            REF_OK(q.ctx, wisp_blk_fill(q.x, (wisp_scalar){v, 0})); /* queued, all of them */
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bool fine = read(written[0], &go, 1) == 1 && all_are(q.x, 5) && (!lent || *(double *)data == 5);
            if (lent) *(double *)data = 5;
            fine &= wisp_spmmv(q.y, q.A, q.x, NULL) == WISP_OK && wisp_blk_fill(q.x, (wisp_scalar){6, 0}) == WISP_OK;
            fine &= all_are(q.x, 6) && (!lent || wisp_blk_return(q.x) == WISP_OK);
            queued_close(&q);
            _exit(!fine);
        }
        REF_OK(q.ctx, wisp_blk_fill(q.x, (wisp_scalar){7, 0}));
        REF_OK(q.ctx, wisp_ctx_finish(q.ctx));
        assert_int_equal(write(written[1], &go, 1), 1);
        assert_int_equal(answer_of(child), 0);
        assert_true(all_are(q.x, 7));
        if (lent) REF_OK(q.ctx, wisp_blk_return(q.x));
        queued_close(&q);
        close(written[0]);
        close(written[1]);
    }
}

/* Where there is no room for the child's memory, it is told; its parent and new contexts work. */
static void forked_without_room(void **state)
{
    (void)state;
    if (REF_SANITIZED) skip(); /* a sanitizer needs room at any time */
    queued q = queued_open();
    struct rlimit before;
    REF_OK(q.ctx, wisp_blk_fill(q.x, (wisp_scalar){5, 0}));
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){1, before.rlim_max}), 0);
    const pid_t child = fork();
    if (setrlimit(RLIMIT_AS, &before) || child < 0) fail();
    if (child == 0) {
        bool fine = true;
        const wisp_status status[] = {wisp_blk_fill(q.x, (wisp_scalar){6, 0}), wisp_spmmv(q.y, q.A, q.x, NULL),
                                      wisp_ctx_finish(q.ctx)};
        for (int i = 0; i < 3; i++) fine &= status[i] == WISP_ERR_NOMEM && strstr(message_of(q.ctx), "was forked");
        queued_close(&q);
        q = queued_open();
        fine &= wisp_blk_fill(q.x, (wisp_scalar){6, 0}) == WISP_OK && all_are(q.x, 6);
        queued_close(&q);
        _exit(!fine);
    }
    assert_int_equal(answer_of(child), 0);
    assert_true(all_are(q.x, 5));
    queued_close(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_to_the_host),
        cmocka_unit_test(a_call_reaches_what_it_names),
        cmocka_unit_test(views_without_rows),
        cmocka_unit_test(only_its_own_addresses),
        cmocka_unit_test(counted),
        cmocka_unit_test(loans),
        cmocka_unit_test(forked),
        cmocka_unit_test(forked_without_room),
    };
    return REF_RUN(tests);
}
