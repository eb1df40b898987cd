/* Multigrid by HYPRE: solutions against LAPACK's, of all types, widths and methods that take it; a solver that is kept;
   what is refused. Without HYPRE: that it is said. Ranks: ranks_mpi.c, for threads can't share it. */
#include "diffusion.h"
#include <stdbool.h>

static bool has_amg(void) { return strstr(wisp_features(), "hypre") != NULL; }

static void solutions(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    for (int kind = ANISOTROPIC; kind <= SMOOTH; kind++)
        for (int m = WISP_METHOD_DEFAULT; m <= WISP_IDR; m = ref_next_method(m)) {
            if (kind == CONVECTIVE && (m == WISP_CG || m == WISP_MINRES)) continue;
            const wisp_type type = types[(kind + m) % (kind <= JUMPING ? 2 : 4)];
            scene s = make(ctx, &(diffusion){.nx = 9, .ny = 8, .nz = 6, .kind = (coefficients)kind},
                           wisp__is_single(type) ? WISP_S : WISP_D);
            const wisp_solve_opts o = {
                .method = (wisp_method)m, .precond = WISP_AMG, .tolerance = ref_eps(type) > 1e-10 ? 1e-5 : 1e-10};
            solved(ctx, &s, &o, type, widths[(kind + m) % 4], 30);
            end(&s);
        }
}

/* It takes far fewer iterations than none, where directions differ by a million. */
static void gains(void **state)
{
    wisp_ctx *ctx = *state;
    for (int kind = ANISOTROPIC; kind <= JUMPING; kind++) {
        scene s = make(ctx, &(diffusion){.nx = 5, .ny = 6, .nz = 24, .kind = (coefficients)kind}, WISP_D);
        const wisp_solve_opts none = {.method = WISP_CG, .max_iterations = 100000},
                              amg = {.method = WISP_CG, .precond = WISP_AMG};
        const int64_t without = solved(ctx, &s, &none, WISP_D, 1, 100000);
        assert_true(5 * solved(ctx, &s, &amg, WISP_D, 1, 30) < without);
        end(&s);
    }
}

/* M^-1 is symmetric and positive definite, whatever the units of A, and the same for any number of threads. */
static void symmetric(void **state)
{
    wisp_ctx *ctx = *state;
    const diffusion d = {.nx = 5, .ny = 4, .nz = 3, .kind = ANISOTROPIC};
    const wisp_solve_opts o = {.method = WISP_CG, .precond = WISP_AMG};
    scene s = make(ctx, &d, WISP_D);
    const int n = (int)s.dense.rows;
    ref_mat one = ref_new(n, n);
    wisp__precond *P;
    for (int i = 0; i < n; i++) REF_AT(one, i, i) = 1;
    REF_OK(ctx, precond_make(&P, s.A, &o, WISP_D, n));
    ref_mat M = applied(ctx, s.A, P, WISP_D, one);
    const double largest = ref_largest(M);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            assert_true(cabs(REF_AT(M, i, j) - REF_AT(M, j, i)) <= 1e-12 * largest && creal(REF_AT(M, i, i)) > 0);
    wisp__precond_free(P);
    for (int threads = 1; threads <= 3; threads += 2) {
        wisp_ctx *other = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1});
        scene t = make(other, &d, WISP_D);
        REF_OK(other, precond_make(&P, t.A, &o, WISP_D, n));
        ref_mat N = applied(other, t.A, P, WISP_D, one);
        assert_memory_equal(N.a, M.a, (size_t)(n * n) * sizeof *N.a);
        wisp__precond_free(P);
        ref_free(N);
        end(&t);
        ref_nothing_left(other);
        wisp_ctx_free(other);
    }
    ref_free(M), ref_free(one);
    end(&s);
}

/* The set-up survives calls, and new values make it anew. */
static void kept(void **state)
{
    wisp_ctx *ctx = *state;
    const diffusion d = {.nx = 7, .ny = 6, .nz = 5, .kind = JUMPING},
                    e = {.nx = 7, .ny = 6, .nz = 5, .kind = ANISOTROPIC, .factor = 3};
    const wisp_solve_opts o = {.precond = WISP_AMG};
    scene s = make(ctx, &d, WISP_D);
    ref_rng r = {5};
    wisp_src other = diffusion_src(&e, WISP_D);
    wisp_solver *S;
    int64_t old[2] = {0};
    REF_OK(ctx, wisp_solver_create(&S, s.A, WISP_D, 3, &o));
    for (int call = 0; call < 4; call++) {
        ref_mat b = ref_random_block(&r, WISP_D, s.dense.rows, 3);
        wisp_blk *x = blk_of(ctx, s.A, WISP_D, b), *z = blk_of(ctx, s.A, WISP_D, b), *y = blk_of(ctx, s.A, WISP_D, b);
        wisp_solution sol, fresh;
        if (call == 2) {
            REF_OK(ctx, wisp_mat_update(s.A, &other));
            wisp_solver_update(S);
        }
        REF_OK(ctx, wisp_solver_solve(S, &sol, x, y, 0));
        REF_OK(ctx, wisp_solve(&fresh, z, s.A, y, &o));
        assert_int_equal(sol.iterations, fresh.iterations);
        ref_mat p = ref_get(x), q = ref_get(z);
        assert_memory_equal(p.a, q.a, (size_t)(p.rows * p.cols) * sizeof *p.a);
        old[call / 2] = sol.iterations;
        wisp_solution_free(&sol), wisp_solution_free(&fresh);
        wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(z);
        ref_free(b), ref_free(p), ref_free(q);
    }
    assert_true(old[0] < 30 && old[1] < 30);
    wisp_solver_free(S);
    wisp_src_close(&other);
    end(&s);
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat complex_one = ref_new(2, 2), hollow = ref_new(2, 2), negative = ref_new(2, 2);
    for (int i = 0; i < 2; i++)
        REF_AT(complex_one, i, i) = 2, REF_AT(negative, i, i) = -2, REF_AT(hollow, i, 1 - i) = 1;
    wisp_mat *C = ref_mat_of(ctx, complex_one, WISP_Z), *H = ref_mat_of(ctx, hollow, WISP_D), *O;
    wisp_mat *N = ref_mat_of(ctx, negative, WISP_D);
    function f = {.A = N};
    REF_OK(ctx, wisp_mat_from_apply(
                    &O, ctx, &(wisp_operator){.map = wisp_mat_map(N), .type = WISP_D, .apply = product, .arg = &f}));
    const struct {
        const wisp_mat *A;
        wisp_status status;
        const char *words;
    } cases[] = {{C, WISP_ERR_UNSUPPORTED, "real matrices"},
                 {H, WISP_ERR_BREAKDOWN, "diagonal of row 0"},
                 {N, WISP_ERR_INDEFINITE, "row 0 is -2"},
                 {O, WISP_ERR_UNSUPPORTED, "operator"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wisp_type type = cases[i].A == C ? WISP_Z : WISP_D;
        wisp_blk *x, *b;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(cases[i].A), type, 1));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(cases[i].A), type, 1));
        REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
        const wisp_method m = cases[i].A == H ? WISP_GMRES : WISP_CG;
        assert_int_equal(wisp_solve(NULL, x, cases[i].A, b, &(wisp_solve_opts){.method = m, .precond = WISP_AMG}),
                         cases[i].status);
        if (!strstr(message_of(ctx), cases[i].words)) fail_msg("%s", message_of(ctx));
        wisp_blk_free(x), wisp_blk_free(b);
    }
    wisp_mat_free(O), wisp_mat_free(C), wisp_mat_free(H), wisp_mat_free(N);
    ref_free(complex_one), ref_free(hollow), ref_free(negative);
}

/* Nothing is left behind where memory fails. */
static wisp_status call(wisp_ctx *ctx, void *arg)
{
    (void)arg;
    wisp_mat *A = NULL;
    wisp_blk *x = NULL, *b = NULL;
    wisp_status status = wisp_mat_open(&A, ctx, "laplace:nx=5,ny=4,nz=3", &(wisp_mat_opts){.type = WISP_S});
    if (status == WISP_OK) status = wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_C, 2);
    if (status == WISP_OK) status = wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_C, 2);
    if (status == WISP_OK) status = wisp_blk_fill(b, (wisp_scalar){1, 1});
    if (status == WISP_OK) status = wisp_solve(NULL, x, A, b, &(wisp_solve_opts){.precond = WISP_AMG});
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_elsewhere()) return;
    assert_true(ref_failing_memory(call, NULL, 60, 20) > 10);
}

static void missing(void **state)
{
    wisp_ctx *ctx = *state;
    assert_int_equal(call(ctx, NULL), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(message_of(ctx), "install libhypre-dev"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions), cmocka_unit_test(gains),
                                       cmocka_unit_test(symmetric), cmocka_unit_test(kept),
                                       cmocka_unit_test(refusals),  cmocka_unit_test(failing_memory)};
    const struct CMUnitTest none[] = {cmocka_unit_test(missing)};
    if (!ref_by_mpi() && ref_ranks() > 1) return REF_SKIPPED;
    return has_amg() ? REF_RUN_CTX(tests) : REF_RUN_CTX(none);
}
