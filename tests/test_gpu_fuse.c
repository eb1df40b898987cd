/* wisp_fuse by kernels that are made for a call's shape: what the oracle says, up to rounding; the same bits as by
   kernels for any shape, and by an OpenCL of CPUs; and how many launches it takes. */
#include "gpu_devices.h"
#include "fuse_cases.h"
#include <string.h>

enum { APART = DEVICES, WAYS }; /* a way more: `plain` without kernels of shapes */
static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
static const int widths[] = {1, 2, 3, 5, 8, 33};

static void ways(wisp_ctx *ctx[WAYS])
{
    contexts(ctx);
    ctx[APART] = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp__gpu_of(ctx[APART])->shapes = 0;
}

static void ways_free(wisp_ctx *ctx[WAYS])
{
    contexts_free(ctx);
    wisp_ctx_free(ctx[APART]);
}

static bool same_bits(const lists *a, const lists *b, const call *c, int width)
{
    bool same = true;
    for (int i = 0; i < c->inners; i++) same &= !memcmp(a->dot[i], b->dot[i], (size_t)width * sizeof **a->dot);
    return same;
}

/* Runs a call on the first so many ways, and apart. launches: of that by shapes; -1: any number. */
static void everywhere(wisp_ctx *const ctx[WAYS], const call *c, uint64_t seed, wisp_type type, int64_t rows, int width,
                       int devices, int launches)
{
    static lists l[WAYS];
    ref_mat got[WAYS][BLOCKS];
    for (int w = 0; w < WAYS; w++) {
        if (!ctx[w] || (w >= devices && w != APART)) continue;
        ref_rng r = {seed};
        blocks s = blocks_new(ctx[w], &r, type, rows, width, (int)(seed % 2));
        const int64_t before = wisp__gpu_of(ctx[w])->launches;
        run_call(c, &s, l + w);
        const int64_t made = wisp__gpu_of(ctx[w])->launches - before;
        if (w != APART && launches >= 0 && rows > 0 && made != launches)
            fail_msg("%lld launches, not %d", (long long)made, launches);
        check_results(c, &s, l + w);
        for (int i = 0; i < BLOCKS; i++) {
            got[w][i] = ref_get(s.b[i]);
            if (w && memcmp(got[w][i].a, got[0][i].a, (size_t)(rows * width) * sizeof *got[w][i].a))
                fail_msg("%s, %lld x %d: other bits in block %d %s", wisp_type_name(type), (long long)rows, width, i,
                         w == APART ? "by kernels for any shape" : "by OpenCL");
        }
        if (w && !same_bits(l, l + w, c, width))
            fail_msg("%s, %lld x %d: other bits in a dot %s", wisp_type_name(type), (long long)rows, width,
                     w == APART ? "by kernels for any shape" : "by OpenCL");
        blocks_free(&s);
    }
    for (int w = 0; w < WAYS; w++)
        for (int i = 0; i < BLOCKS && ctx[w] && (w < devices || w == APART); i++) ref_free(got[w][i]);
}

/* ---- passes of solvers ------------------------------------------------------------------------- */

enum { X, R, P, S, LOW };
static term plain(int x) { return (term){.x = x}; }
static term times_slot(ref_rng *r, wisp_type type, int x)
{
    term t = {.x = x, .placed = 1};
    for (int j = 0; j < MOST_WIDTH; j++) t.factor[j] = ref_scalar(ref_value(r, type));
    return t;
}
static void add_update(call *c, int y, int terms, const term *term)
{
    update *u = c->update + c->updates++;
    u->y = y, u->terms = terms;
    memcpy(u->term, term, (size_t)terms * sizeof *term);
}
static void add_inner(call *c, int x, int y, int scaled) { c->inner[c->inners++] = (inner){x, y, scaled, 1}; }

/* CG's x += alpha p, r -= alpha s, p = r + beta p; BiCGStab's second half; its numbers of rows are a preconditioner. */
static call pass_of(ref_rng *r, wisp_type type, int which)
{
    call c = {0};
#define TIMES(x) times_slot(r, type, x)
    term precond = TIMES(R);
    precond.scaled = 1;
    if (which == 1) add_update(&c, LOW, 2, (term[]){TIMES(LOW), TIMES(X)});
    add_update(&c, X, which ? 3 : 2, (term[]){plain(X), TIMES(P), TIMES(R)});
    add_update(&c, R, 2, (term[]){plain(R), TIMES(S)});
    add_update(&c, P, which ? 3 : 2, (term[]){which ? TIMES(R) : precond, TIMES(P), TIMES(S)});
#undef TIMES
    add_inner(&c, R, R, 0);
    add_inner(&c, S, P, 0);
    if (!which) add_inner(&c, R, R, 1);
    return c;
}

/* One launch, and one for the sums. */
static void solvers(void **state)
{
    static const int64_t rows[] = {0, 1, 77, 1031};
    ref_rng r = {181};
    wisp_ctx *ctx[WAYS];
    (void)state;
    ways(ctx);
    for (int t = 0; t < 4; t++)
        for (int which = 0; which < 2; which++) {
            const call c = pass_of(&r, types[t], which);
            for (int w = 0; w < 6; w++)
                for (int n = 0; n < 4; n++) {
                    if (REF_SANITIZED && (t + w + n) % 3) continue; /* each width, and each type, meets all sizes */
                    everywhere(ctx, &c, (uint64_t)(w + n), types[t], rows[n], widths[w], t % 3 ? 1 : DEVICES, 2);
                }
        }
    ways_free(ctx);
}

/* ---- any calls --------------------------------------------------------------------------------- */

/* OpenCL, which compiles a kernel in a second, sees few of them. */
static void random_lists(void **state)
{
    ref_rng r = {182};
    wisp_ctx *ctx[WAYS];
    call *c = malloc(sizeof *c);
    (void)state;
    ways(ctx);
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < 6; w++) {
            random_call(c, &r, types[t], widths[w]);
            for (int i = 0; i < c->updates; i++)
                for (int k = 0; k < c->update[i].terms; k++)
                    c->update[i].term[k].placed = c->update[i].term[k].x != NANS && ref_below(&r, 3) == 0;
            for (int i = 0; i < c->inners; i++) c->inner[i].placed = (int)ref_below(&r, 2);
            for (int n = 0; n < 3; n++)
                everywhere(ctx, c, 7 * (uint64_t)w + (uint64_t)n, types[t],
                           n == 2 ? 1031 : 1 + (int64_t)ref_below(&r, 99), widths[w], (t + w) % 5 ? 1 : DEVICES, -1);
        }
    free(c);
    ways_free(ctx);
}

/* As many terms and dots as GMRES has: no pass has room for them. And more terms with y itself than that. */
static void long_lists(void **state)
{
    ref_rng r = {183};
    wisp_ctx *ctx[WAYS];
    call *c = malloc(sizeof *c);
    (void)state;
    ways(ctx);
    for (int t = 1; t < 4; t += 2)
        for (int own = 0; own < 2; own++) {
            *c = (call){.updates = 1, .inners = 40};
            c->update[0].terms = 40;
            for (int i = 0; i < 40; i++) {
                term *to = c->update[0].term + i;
                *to = times_slot(&r, types[t], own && i % 2 ? 0 : (int)ref_below(&r, BLOCKS));
                for (int j = 0; j < MOST_WIDTH; j++) to->factor[j].re /= 16, to->factor[j].im /= 16;
                c->inner[i] = (inner){i % BLOCKS, 0, 0, i % 20 != 3};
            }
            for (int w = 1; w < 4; w++) everywhere(ctx, c, (uint64_t)w, types[t], 301, w, 1, -1);
        }
    free(c);
    ways_free(ctx);
}

/* ---- solvers ----------------------------------------------------------------------------------- */

static int64_t launches_of(wisp_ctx *ctx, wisp_method method, int64_t iterations)
{
    wisp_mat *A;
    wisp_blk *x, *b;
    wisp_solution s = {0};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=20,ny=20,nz=20", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 0, 0));
    const int64_t before = wisp__gpu_of(ctx)->launches;
    const wisp_status status =
        wisp_solve(&s, x, A, b, &(wisp_solve_opts){.method = method, .tolerance = 1e-15, .max_iterations = iterations});
    assert_int_equal(status, WISP_ERR_ITERATIONS);
    const int64_t launches = wisp__gpu_of(ctx)->launches - before;
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    return launches;
}

/* Of an iteration: product and its sums, a step of scalars, a pass and its sums; of BiCGStab two of each. */
static void iterations(void **state)
{
    enum { SOME = 16 }; /* as many as a look */
    static const struct {
        wisp_method method;
        int most;
    } of[] = {{WISP_CG, 5}, {WISP_MINRES, 5}, {WISP_BICGSTAB, 10}};
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    (void)state;
    for (int m = 0; m < 3; m++) {
        const int64_t one = launches_of(ctx, of[m].method, SOME), two = launches_of(ctx, of[m].method, 2 * SOME);
        if (two - one > SOME * of[m].most)
            fail_msg("method %d: %lld launches in %d iterations, not %d", (int)of[m].method, (long long)(two - one),
                     SOME, SOME * of[m].most);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solvers), cmocka_unit_test(random_lists),
                                       cmocka_unit_test(long_lists), cmocka_unit_test(iterations)};
    look_for_devices();
    return devices_done("test_gpu_fuse", cmocka_run_group_tests(tests, NULL, NULL));
}
