/* wisp_solve where the host looks at numbers once in so many iterations: what is said, and how many iterations it took,
   is as on the CPU, where it looks after each. */
#include "solve_cases.h"

enum { DEVICES = 2, ROWS = 40 };
static const char *const device[DEVICES] = {"cpu", "far"};

static outcome solve_on(int d, ref_mat A, ref_mat b, const wisp_solve_opts *o, const char *what)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 1, .no_pin = 1});
    linear l = {.kind = KINDS, .t = {WISP_D, WISP_D}, .A = A, .b = b, .mat = ref_mat_of(ctx, A, WISP_D)};
    l.x0 = ref_new(b.rows, b.cols);
    l.hermitian = 1;
    const outcome out = solve(ctx, &l, o, what);
    ref_free(l.x0);
    wisp_mat_free(l.mat);
    wisp_ctx_free(ctx);
    return out;
}

/* CG asks the host whether <p, A p> is rounding; until it answers nothing happens, which is no iteration. */
static void asked(void **state)
{
    (void)state;
    static const wisp_variant variant[] = {WISP_PIPELINED, WISP_PREDICT, WISP_HIDDEN, WISP_CLASSICAL};
    for (uint64_t seed = 1; seed <= 48; seed++) {
        ref_rng r = {seed};
        char what[80];
        ref_mat A = spread(&r, ROWS, 10, seed % 3 != 0), b = ref_random_block(&r, WISP_D, ROWS, 1);
        for (int64_t i = 0; i < ROWS && seed % 3 == 0; i++) REF_AT(A, i, i) = i < 2 ? -1e-3 : 1; /* only late */
        mix(&r, A, WISP_D, 1);
        ref_round(A, WISP_D);
        wisp_solve_opts o = {.method = WISP_CG, .variant = variant[seed % 4], .max_iterations = 9, .tolerance = 1e-12};
        if (seed > 24 && o.variant != WISP_PREDICT) o.precond = WISP_NEUMANN;
        snprintf(what, sizeof what, "seed %d, variant %d, preconditioner %d", (int)seed, o.variant, o.precond);
        outcome out[DEVICES];
        for (int d = 0; d < DEVICES; d++) out[d] = solve_on(d, A, b, &o, what);
        assert_int_equal(out[0].status, WISP_ERR_INDEFINITE);
        if (out[1].status != out[0].status || out[1].s.iterations != out[0].s.iterations)
            fail_msg("%s: %s after %lld iterations; on the CPU %s after %lld", what, wisp_status_string(out[1].status),
                     (long long)out[1].s.iterations, wisp_status_string(out[0].status), (long long)out[0].s.iterations);
        for (int d = 0; d < DEVICES; d++) ref_free(out[d].x);
        ref_free(A), ref_free(b);
    }
}

/* With a preconditioner the recurrence of MINRES has another norm, and promises what x does not keep. Then it goes on
   from the steps that were queued after that, and does not begin again. */
static void promised(void **state)
{
    (void)state;
    int64_t iterations[DEVICES] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        ref_rng r = {seed};
        char what[40];
        ref_mat A = spread(&r, ROWS, 100, 0), b = ref_random_block(&r, WISP_D, ROWS, 1);
        mix(&r, A, WISP_D, 1);
        scale_rows(&r, A, 2);
        ref_round(A, WISP_D);
        const wisp_solve_opts o = {
            .method = WISP_MINRES, .precond = WISP_JACOBI, .tolerance = pow(10, -3 - (double)(seed % 8))};
        snprintf(what, sizeof what, "seed %d", (int)seed);
        for (int d = 0; d < DEVICES; d++) {
            const outcome out = solve_on(d, A, b, &o, what);
            iterations[d] += out.iterations[0];
            if (out.status != WISP_OK) fail_msg("%s, %s: %s", what, device[d], wisp_status_string(out.status));
            ref_free(out.x);
        }
        ref_free(A), ref_free(b);
    }
    if (iterations[1] > iterations[0])
        fail_msg("%lld iterations; on the CPU %lld", (long long)iterations[1], (long long)iterations[0]);
}

/* Ranks on different devices look as often as each other. */
static int on_rank(void *arg, int rank)
{
    const wisp_solve_opts *o = arg;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[rank % DEVICES], .threads = 1, .no_pin = 1});
    wisp_mat *A;
    wisp_blk *x, *b;
    wisp_solution s;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=12,ny=11,nz=10", NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 5, 1, 0));
    REF_OK(ctx, wisp_solve(&s, x, A, b, o));
    assert_true(s.residual <= o->tolerance);
    wisp_solution_free(&s);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void devices_of_ranks(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    for (wisp_method m = WISP_CG; m <= WISP_IDR; m = (wisp_method)ref_next_method((int)m))
        for (int p = 0; p < 2; p++) {
            wisp_solve_opts o = {.method = m, .tolerance = 1e-10, .precond = p ? WISP_CHEBYSHEV : WISP_PRECOND_NONE};
            ref_ranks_each(3, on_rank, &o);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asked), cmocka_unit_test(promised),
                                       cmocka_unit_test(devices_of_ranks)};
    return REF_RUN(tests);
}
