/* The device `far` (src/backend/far.c) keeps its word: its memory is closed to the host but between map and unmap, and
   elsewhere there than for the device; it takes no address but its own; a call reaches no buffer but those that it
   names. What looks at a matrix does so where map says. */
#include "ref.h"
#include "data/data.h"
#include <wisp/solve.h>
#include <wisp/solvers.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static wisp_ctx *far_ctx(void) { return ref_ctx(&(wisp_ctx_opts){.device = "far", .threads = 2}); }

/* What becomes of a process that does so: 0, or its signal. */
static int fate(void (*act)(const void *arg), const void *arg)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the test's runner has its own */
        act(arg);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

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
    REF_OK(ctx, wisp_blk_lend(y, &data, &stride));
    assert_int_equal(reads(data), 0);
    assert_ptr_not_equal(data, wisp__at(y));
    assert_int_equal(reads(wisp__at(y)), SIGSEGV); /* by its own address it is as closed as ever */
    assert_int_equal(reads(wisp__at(x)), SIGSEGV);
    assert_int_equal(ctx->backend->map(ctx, data, &again), WISP_ERR_ARG);
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL)); /* a call meanwhile closes nothing that is open */
    assert_int_equal(reads(data), 0);
    REF_OK(ctx, wisp_blk_return(y));
    assert_int_equal(reads(data), SIGSEGV);
    REF_OK(ctx, wisp__mat_lend(A, &host));
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

/* ---- those that look at a matrix -------------------------------------------------------------- */

enum { EDGE = 20, SIZE = EDGE * EDGE * EDGE, COLUMNS = 16, STEPS = 4 };

/* What is found, to be compared with what a CPU's context finds. */
typedef struct {
    wisp_mat_props props;
    int64_t histogram[12];
    double row[SIZE]; /* sums of values, and of values times columns */
    wisp_gather gather;
    double fill_in;
    double power[SIZE * COLUMNS];
    int depth;
    wisp_bounds bounds;
    double x[SIZE * COLUMNS];
} findings;

static int double_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp_src *of = arg;
    const int n = of->row(of->arg, row, col, val);
    for (int k = 0; col && k < n; k++) ((double *)val)[k] *= 2;
    return n;
}

/* New values come from a source that looks at another matrix of the device's. */
static void update(wisp_ctx *ctx, wisp_mat *A, const wisp_mat *from)
{
    wisp_src src;
    REF_OK(ctx, wisp_src_open_mat(&src, from));
    wisp_src twice = src;
    twice.row = double_row;
    twice.arg = &src;
    twice.free_arg = NULL;
    REF_OK(ctx, wisp_mat_update(A, &twice));
    wisp_src_close(&src);
}

static void read_rows(wisp_ctx *ctx, const wisp_mat *A, double *sum)
{
    wisp_src src;
    int64_t col[16];
    double val[16];
    REF_OK(ctx, wisp_src_open_mat(&src, A));
    for (int64_t i = 0; i < SIZE; i++) {
        const int n = src.row(src.arg, i, col, val);
        sum[i] = 0;
        for (int k = 0; k < n; k++) sum[i] += val[k] * (double)(1 + col[k]);
    }
    wisp_src_close(&src);
}

static void multiply(wisp_ctx *ctx, const wisp_mat *A, findings *f)
{
    wisp_blk *v[2];
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, COLUMNS));
    REF_OK(ctx, wisp_blk_fill_random(v[1], WISP_RANDOM_GAUSS, 7, 0, 0));
    REF_OK(ctx, wisp_mpk(v, 2, A, &(wisp_mpk_opts){.steps = STEPS, .depth = STEPS, .depth_used = &f->depth}));
    REF_OK(ctx, wisp_blk_get(v[(STEPS + 1) % 2], WISP_ROW_MAJOR, f->power, COLUMNS));
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
}

static void solve(wisp_ctx *ctx, const wisp_mat *A, findings *f)
{
    wisp_blk *x, *b;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, COLUMNS));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, COLUMNS));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 8, 0, 0));
    REF_OK(ctx, wisp_solve(NULL, x, A, b, &(wisp_solve_opts){.precond = WISP_BLOCK_JACOBI}));
    REF_OK(ctx, wisp_blk_get(x, WISP_ROW_MAJOR, f->x, COLUMNS));
    wisp_blk_free(x);
    wisp_blk_free(b);
}

static void look_all_ways(const char *device, wisp_format format, findings *f)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device, .threads = 1});
    const wisp_mat_opts o = {.format = format, .order = WISP_ROWS_NATURAL};
    wisp_mat *A, *from;
    char name[64];
    snprintf(name, sizeof name, "laplace:points=7,nx=%d,ny=%d,nz=%d", EDGE, EDGE, EDGE);
    REF_OK(ctx, wisp_mat_open(&from, ctx, name, &o));
    REF_OK(ctx, wisp_mat_open(&A, ctx, name, &o));
    update(ctx, A, from);
    REF_OK(ctx, wisp_mat_get_props(A, &f->props));
    REF_OK(ctx, wisp_mat_row_histogram(A, f->histogram, 12));
    read_rows(ctx, A, f->row);
    REF_OK(ctx, wisp_mat_gather(A, WISP_D, COLUMNS, &f->gather));
    REF_OK(ctx, wisp_mat_fill_in(A, 16, 1, &f->fill_in));
    multiply(ctx, A, f);
    REF_OK(ctx, wisp_bounds_find(&f->bounds, A, &(wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN}));
    solve(ctx, A, f);
    wisp_mat_free(A);
    wisp_mat_free(from);
    wisp_ctx_free(ctx);
}

/* All that looks at a matrix, in every format: the same on both devices. */
static void looks(void **state)
{
    (void)state;
    static const wisp_format formats[] = {WISP_FORMAT_SELL, WISP_FORMAT_COMPRESSED, WISP_FORMAT_HERMITIAN};
    static findings far, near;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        memset(&far, 0, sizeof far);
        memset(&near, 0, sizeof near);
        look_all_ways("far", formats[i], &far);
        look_all_ways("cpu", formats[i], &near);
        assert_true(far.props.hermitian && far.props.largest == 12);
        ref_same_props(&far.props, &near.props);
        assert_memory_equal(far.histogram, near.histogram, sizeof far.histogram);
        assert_int_equal(far.histogram[7], (EDGE - 2) * (EDGE - 2) * (EDGE - 2));
        assert_memory_equal(far.row, near.row, sizeof far.row);
        assert_true(far.gather.excess == near.gather.excess && far.gather.from_l3 == near.gather.from_l3);
        assert_true(far.fill_in == near.fill_in && far.fill_in >= 1);
        assert_int_equal(far.depth, formats[i] == WISP_FORMAT_HERMITIAN ? 1 : STEPS);
        assert_memory_equal(far.power, near.power, sizeof far.power);
        assert_true(far.bounds.center == near.bounds.center && far.bounds.halfwidth == near.bounds.halfwidth);
        assert_memory_equal(far.x, near.x, sizeof far.x);
    }
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
    REF_OK(ctx, wisp_blk_lend(view, &data, NULL));
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
        cmocka_unit_test(closed_to_the_host), cmocka_unit_test(a_call_reaches_what_it_names), cmocka_unit_test(looks),
        cmocka_unit_test(views_without_rows), cmocka_unit_test(only_its_own_addresses),       cmocka_unit_test(counted),
    };
    return REF_RUN(tests);
}
