/* Interleaved steps by kernels of GPUs: each way to launch them gives the bits of one step after the other. Where
   groups wait for each other, they do so in any order of theirs, and each fence, barrier and wait is needed. */
#include "gpu_watched.h"
#include "storage.h"

/* ---- calls ------------------------------------------------------------------------------------- */

enum { STEPS = 5, MOST_SUMS = 3, MOST_WIDTH = 33, BLOCKS = STEPS + 2 + MOST_SUMS };
typedef struct {
    wisp_type type;
    int width, stored, sums;
    bool views;
    unsigned terms;
    wisp_scalar alpha[STEPS], beta[STEPS], gamma[STEPS], eta[MOST_SUMS * STEPS], add[STEPS * MOST_WIDTH];
    bool shifts, adds;
    uint64_t seed; /* of the blocks */
} call;
typedef struct {
    ref_mat block[BLOCKS];
    wisp_scalar dot[STEPS * 4 * MOST_WIDTH];
} result;

static call new_call(ref_rng *r, wisp_type type, int width)
{
    static const int stored[] = {2, 3, STEPS + 2};
    call c = {
        .type = type, .width = width, .stored = stored[ref_below(r, 3)], .sums = (int)ref_below(r, MOST_SUMS + 1)};
    c.views = ref_below(r, 2), c.shifts = ref_below(r, 2), c.adds = ref_below(r, 2);
    c.terms = (unsigned)ref_below(r, 8) * WISP_DOT_XX | (c.adds ? WISP_DOT_UY : 0);
    for (int k = 0; k < STEPS; k++) {
        c.alpha[k] = ref_scalar(0.3 * ref_value(r, type));
        c.beta[k] = ref_scalar(ref_below(r, 4) ? 0.3 * ref_value(r, type) : 0);
        c.gamma[k] = ref_scalar(ref_value(r, type));
        for (int i = 0; i < MOST_SUMS; i++) c.eta[i * STEPS + k] = ref_scalar(ref_below(r, 4) ? ref_value(r, type) : 0);
    }
    for (int i = 0; i < STEPS * MOST_WIDTH; i++) c.add[i] = ref_scalar(ref_value(r, type));
    c.seed = (uint64_t)ref_below(r, 1 << 20);
    return c;
}

static void run(const wisp_mat *A, const call *c, int depth, result *res)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    const int width = c->views ? c->width + 2 : c->width;
    ref_rng r = {c->seed};
    wisp_blk *b[BLOCKS + 1], *whole[BLOCKS + 1];
    int used = 0;
    memset(res, 0, sizeof *res);
    for (int i = 0; i <= BLOCKS; i++) {
        ref_mat v = ref_random_block(&r, c->type, A->local_rows, width);
        REF_OK(ctx, wisp_blk_create(&whole[i], ctx, wisp_mat_map(A), c->type, width));
        ref_put(whole[i], v);
        ref_free(v);
        REF_OK(ctx, wisp_blk_cols(&b[i], whole[i], c->views ? 1 : 0, c->width));
    }
    const wisp_mpk_opts o = {.steps = STEPS,
                             .depth = depth,
                             .cache_budget = 1, /* waves of one block */
                             .alpha = c->alpha,
                             .beta = c->beta,
                             .gamma = c->shifts ? c->gamma : NULL,
                             .terms = c->terms,
                             .dot = res->dot,
                             .sums = c->sums,
                             .z = b + STEPS + 2,
                             .eta = c->eta,
                             .u = c->adds ? b[BLOCKS] : NULL,
                             .add = c->adds ? c->add : NULL,
                             .depth_used = &used};
    const wisp_status status = wisp_mpk(b, c->stored, A, &o);
    if (status == WISP_OK) assert_int_equal(used, depth);
    if (status != WISP_OK) { /* of a mutant, for it was told */
        if (!removed) REF_OK(ctx, status);
        REF_FAILS(ctx, status, WISP_ERR_ARG, "a barrier that not all items reach");
        memset(res->dot, 1, sizeof res->dot);
    }
    for (int i = 0; i < BLOCKS; i++) res->block[i] = ref_get(whole[i]);
    for (int i = 0; i <= BLOCKS; i++) wisp_blk_free(b[i]), wisp_blk_free(whole[i]);
}

static void result_free(result *r)
{
    for (int i = 0; i < BLOCKS; i++) ref_free(r->block[i]);
}

static bool same(const result *a, const result *b)
{
    bool is = !memcmp(a->dot, b->dot, sizeof a->dot);
    for (int i = 0; i < BLOCKS; i++) {
        const ref_mat *x = &a->block[i], *y = &b->block[i];
        is &= !memcmp(x->a, y->a, (size_t)(x->rows * x->cols) * sizeof *x->a);
    }
    return is;
}

static void check_ways(const wisp_mat *A, const call *c, const char *what)
{
    wisp__gpu *g = wisp_mat_ctx(A)->device;
    static const char *const way[] = {"rows", "drawn", "each"};
    static result one, all;
    run(A, c, 1, &one);
    for (wisp__gpu_steps s = WISP__STEPS_WAVES; s <= WISP__STEPS_EACH; s++) {
        g->steps = s;
        run(A, c, 3, &all);
        if (!same(&one, &all)) fail_msg("%s, width %d: other bits by %s", what, c->width, way[s]);
        result_free(&all);
    }
    result_free(&one);
}

/* ---- tests ------------------------------------------------------------------------------------- */

/* One in so many kinds of storage, each with a pair of types, and all that goes with a step at random. */
static void ways_on(const char *device, int kinds)
{
    static const int width[] = {1, 3, 8, 33};
    ref_rng r = {7};
    wisp_ctx *ctx = new_ctx(device);
    for (int k = 0; k < storage_kinds; k++) {
        const storage *kind = &storage_kind[k];
        const ref_types types = ref_pair[k % REF_PAIRS];
        if (kind->far || (kind->has & HAS_HALF) || k % kinds) continue;
        wisp_src src = shape_src(&r, kind->shape, types.mat, kind->few, 1500, 1500);
        wisp_mat *A = storage_make(ctx, kind, &src);
        for (int i = 0; i < 4; i++) {
            const call c = new_call(&r, types.blk, width[i]);
            check_ways(A, &c, kind->name);
        }
        wisp_mat_free(A);
        src.free_arg(src.arg);
    }
    wisp_ctx_free(ctx);
}

/* What reads an entry is that of sweeps, which test_gpu has of each kind of storage. One in four are some of columns,
   patterns, lists, short columns and codes, and all pairs of types. */
static void ways(void **state)
{
    (void)state;
    ways_on("plain", 4);
}

static void ways_on_the_other(void **state)
{
    (void)state;
    skipped |= !has_other && !REF_SANITIZED;
    if (has_other) ways_on(device[1], storage_kinds / 2);
}

/* More buffers than a kernel has arrays: task by task. */
static void many_buffers(void **state)
{
    enum { DEEP = 16, WIDTH = 2 };
    wisp_ctx *ctx = new_ctx("plain");
    wisp_mat *A;
    wisp_blk *v[DEEP + 2];
    (void)state;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=1500,ny=1,nz=1", NULL));
    for (int i = 0; i < DEEP + 2; i++) {
        REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_fill(v[i], (wisp_scalar){1, 0}));
    }
    for (int stored = 2; stored <= DEEP + 2; stored += DEEP) {
        sweeps = launches = 0;
        REF_OK(ctx, wisp_mpk(v, stored, A, &(wisp_mpk_opts){.steps = DEEP, .depth = DEEP}));
        REF_OK(ctx, wisp_ctx_finish(ctx));
        assert_int_equal(launches, stored == 2 ? 1 : 0);
        assert_int_equal(sweeps, stored == 2 ? 0 : DEEP * A->grid.blocks);
    }
    for (int i = 0; i < DEEP + 2; i++) wisp_blk_free(v[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Waves of tasks that don't wait for each other: of a chain, no more launches than blocks and steps; and
   where the cache holds all, one for each step. */
static void waves(void **state)
{
    enum { DEEP = 4, WIDTH = 2 };
    wisp_ctx *ctx = new_ctx("plain");
    wisp_mat *A;
    wisp_blk *v[2];
    (void)state;
    ((wisp__gpu *)ctx->device)->steps = WISP__STEPS_WAVES;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=1500,ny=1,nz=1", NULL));
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_fill(v[i], (wisp_scalar){1, 0}));
    }
    for (int large = 0; large < 2; large++) {
        launches = 0;
        REF_OK(ctx,
               wisp_mpk(v, 2, A, &(wisp_mpk_opts){.steps = DEEP, .depth = DEEP, .cache_budget = large ? 1 << 30 : 1}));
        assert_in_range(launches, DEEP, large ? DEEP : A->grid.blocks + DEEP - 1);
    }
    for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Whether some order of groups shows other bits than one step after the other. */
static bool shows(const char *remark, bool back, uint64_t *seed)
{
    enum { SEEDS = 20 };
    static result one, all;
    ref_rng r = {11};
    bool other = false;
    watched = true, removed = remark, backwards = back;
    wisp_ctx *ctx = new_ctx("plain");
    wisp_mat *A;
    call c = new_call(&r, WISP_D, 2);
    c.terms = 0, c.stored = 2, c.sums = 2; /* barriers of dots would stand in for others */
    ((wisp__gpu *)ctx->device)->steps = WISP__STEPS_DRAWN;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=1200,ny=1,nz=1", NULL));
    run(A, &c, 1, &one);
    for (*seed = 0; *seed < SEEDS && !other; ++*seed) {
        w.groups = remark ? GROUPS : 1 + (int)(*seed % GROUPS);
        w.r = (ref_rng){*seed};
        run(A, &c, 4, &all);
        other = !same(&one, &all);
        result_free(&all);
    }
    result_free(&one);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    watched = false, removed = NULL;
    return other;
}

static void orders(void **state)
{
    uint64_t seed;
    (void)state;
    for (int back = 0; back < 2; back++)
        if (shows(NULL, back, &seed)) fail_msg("items %d: other bits with seed %d", back, (int)seed - 1);
}

/* Each line that keeps groups or items apart, left out. */
static void mutants(void **state)
{
    static const char *const remark[] = {"/* the number is there */",
                                         "/* another group has it */",
                                         "/* what was put before is seen */",
                                         "/* all is done that this block waits for */",
                                         "/* all items have put what is theirs */",
                                         "/* what they have put is seen before this: */"};
    (void)state;
    for (size_t i = 0; i < sizeof remark / sizeof remark[0]; i++) {
        uint64_t seed = 0;
        bool found = false;
        for (int back = 0; back < 2 && !found; back++) {
            found = shows(remark[i], back, &seed);
            if (found)
                print_message("without the line of %s: other bits with items %s, seed %d\n", remark[i],
                              back ? "backwards" : "forwards", (int)seed - 1);
        }
        if (!found) fail_msg("without the line of %s nothing changes", remark[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways),         cmocka_unit_test(ways_on_the_other),
        cmocka_unit_test(many_buffers), cmocka_unit_test(waves),
        cmocka_unit_test(orders),       cmocka_unit_test(mutants),
    };
    look_for_devices();
    return devices_done("test_gpu_steps", cmocka_run_group_tests(tests, NULL, NULL));
}
