/* Linear systems: whatever is said of a solution holds by naive arithmetic; iterations, passes and reductions; columns
   that end at different times. */
#include "solve_random.h"

static int setup(void **state)
{
    *state = ref_isa_ctx(NULL, 2);
    return 0;
}

static int teardown(void **state)
{
    wisp_ctx_free(*state);
    return 0;
}

static void random_systems(void **state)
{
    wisp_ctx *ctx = *state;
    tally t = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) random_case(ctx, seed, &t);
    if (wisp_ctx_rank(ctx) == 0) print_tally(&t);
    assert_true(t.should > 20 && t.did == t.should);
}

/* ---- iterations ----------------------------------------------------------------------------------- */

static int64_t iterations(wisp_ctx *ctx, const linear *l, wisp_method method, wisp_variant variant, uint64_t seed)
{
    char what[80];
    const wisp_solve_opts o = {
        .method = method, .variant = variant, .tolerance = 1e-8, .restart = 100, .max_iterations = 1000};
    snprintf(what, sizeof what, "seed %d: %s, variant %d", (int)seed, method_name[method], (int)variant);
    const outcome out = solve(ctx, l, &o, what);
    if (out.status != WISP_OK) fail_msg("%s: %s", what, wisp_ctx_message(ctx));
    ref_free(out.x);
    return out.iterations[0];
}

/* Variants of a method take as many iterations as the classical one, but for 5% or 2. */
static void variants(void **state)
{
    static const struct {
        wisp_method method;
        wisp_variant variant;
    } table[] = {{WISP_CG, WISP_PIPELINED},
                 {WISP_CG, WISP_PREDICT},
                 {WISP_BICGSTAB, WISP_PIPELINED},
                 {WISP_GMRES, WISP_PIPELINED},
                 {WISP_MINRES, WISP_PIPELINED}};
    wisp_ctx *ctx = *state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        ref_rng r = {seed};
        const wisp_type type = seed % 2 ? WISP_D : WISP_Z;
        ref_mat A = spread(&r, 20 + ref_below(&r, 41), pow(10, 4 * (double)seed / 41), 0);
        mix(&r, A, type, 1);
        linear l = linear_of(ctx, A, (ref_types){type, type}, ref_random_block(&r, type, A.rows, 1));
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            const int64_t want = iterations(ctx, &l, table[i].method, WISP_CLASSICAL, seed),
                          got = iterations(ctx, &l, table[i].method, table[i].variant, seed),
                          apart = got > want ? got - want : want - got;
            if (apart > 2 && apart > 0.05 * (double)want)
                fail_msg("seed %d: %s, variant %d: %lld iterations; classical: %lld", (int)seed,
                         method_name[table[i].method], (int)table[i].variant, (long long)got, (long long)want);
        }
        linear_free(&l);
    }
}

/* ---- passes and reductions ------------------------------------------------------------------------- */

static wisp_counts counts_of(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, int64_t most)
{
    wisp_counts before, after;
    o.tolerance = 1e-14;
    o.max_iterations = most;
    o.observe = watch, o.observe_arg = &(watcher){0};
    wisp_ctx_counts(ctx, &before);
    const outcome out = solve(ctx, l, &o, "passes");
    wisp_ctx_counts(ctx, &after);
    assert_int_equal(out.status, WISP_ERR_ITERATIONS);
    assert_int_equal(out.s.iterations, most);
    assert_true(out.s.passes <= after.passes - before.passes);
    assert_true(out.s.bytes > 0);
    ref_free(out.x);
    return (wisp_counts){out.s.passes, out.s.products, out.s.reductions};
}

/* What an iteration takes: by the difference of runs, so that start and end fall out. */
static void passes(void **state)
{
    enum { SHORT = 6, LONG = 16, MORE = LONG - SHORT };
    wisp_ctx *ctx = *state;
    static const struct {
        wisp_solve_opts o;
        wisp_counts want; /* an iteration */
    } table[] = {{{.method = WISP_CG, .variant = WISP_PIPELINED}, {2, 1, 1}},
                 {{.method = WISP_CG, .variant = WISP_PREDICT}, {2, 1, 1}},
                 {{.method = WISP_CG, .precond = WISP_JACOBI}, {3, 1, 2}},
                 {{.method = WISP_CG, .variant = WISP_CLASSICAL}, {6, 1, 2}},
                 {{.method = WISP_BICGSTAB}, {4, 2, 2}},
                 {{.method = WISP_GMRES, .restart = 2 * LONG}, {3, 1, 2}},
                 {{.method = WISP_MINRES}, {2, 1, 1}}};
    for (wisp_type type = WISP_D; type <= WISP_Z; type += WISP_Z - WISP_D) {
        ref_rng r = {17};
        ref_mat A = spread(&r, 60, 1e3, 0);
        mix(&r, A, type, 1);
        linear l = linear_of(ctx, A, (ref_types){type, type}, ref_random_block(&r, type, A.rows, 2));
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            const wisp_counts brief = counts_of(ctx, &l, table[i].o, SHORT),
                              full = counts_of(ctx, &l, table[i].o, LONG), want = table[i].want;
            if (full.passes - brief.passes != MORE * want.passes ||
                full.products - brief.products != MORE * want.products ||
                full.reductions - brief.reductions != MORE * want.reductions)
                fail_msg("%s, variant %d: %g passes, %g products, %g reductions", method_name[table[i].o.method],
                         (int)table[i].o.variant, (double)(full.passes - brief.passes) / MORE,
                         (double)(full.products - brief.products) / MORE,
                         (double)(full.reductions - brief.reductions) / MORE);
        }
        linear_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_systems), cmocka_unit_test(variants),
                                       cmocka_unit_test(passes)};
    return REF_RUN_WITH(tests, setup, teardown);
}
