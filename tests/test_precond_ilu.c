/* Incomplete factors: their pattern and their numbers against dense ones, L U z = x, the same bits for any number of
   threads, pivots that can't be one, solutions against LAPACK's, a solver that is kept, what is refused, memory. */
#include "diffusion.h"
#include <stdio.h>

/* ---- factors ------------------------------------------------------------------------------------- */

/* Those of the rows and columns from `first` on, by Gauss with the entries that are none left out. With 1 on the
   diagonal of L, below that of U. */
static ref_mat dense_ilu(ref_mat A, int64_t first, int64_t n)
{
    ref_mat f = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) REF_AT(f, i, j) = REF_AT(A, first + i, first + j);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k + 1; i < n; i++) {
            if (REF_AT(A, first + i, first + k) == 0) continue;
            const cplx l = REF_AT(f, i, k) /= REF_AT(f, k, k);
            for (int64_t j = k + 1; j < n; j++)
                if (i == j || REF_AT(A, first + i, first + j) != 0) REF_AT(f, i, j) -= l * REF_AT(f, k, j);
        }
    return f;
}

/* The same of a Hermitian matrix: L D L^H by the formulas of its elements. */
static ref_mat dense_ic(ref_mat A, int64_t first, int64_t n)
{
    ref_mat f = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            cplx sum = REF_AT(A, first + i, first + j);
            if (i != j && sum == 0) continue;
            for (int64_t k = 0; k < j; k++) sum -= REF_AT(f, i, k) * REF_AT(f, k, k) * conj(REF_AT(f, j, k));
            REF_AT(f, i, j) = i == j ? creal(sum) : sum / REF_AT(f, j, j);
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) REF_AT(f, i, j) = REF_AT(f, i, i) * conj(REF_AT(f, j, i));
    return f;
}

static void check_factors(const wisp__ilu *f, ref_mat A, ref_mat want, double eps)
{
    for (int64_t i = 0; i < f->rows; i++) {
        int64_t col[71];
        cplx val[71];
        const int n = factors_row(f, i, col, val);
        int at = 0;
        for (int64_t j = 0; j < f->rows; j++) {
            if (i != j && REF_AT(A, f->first + i, f->first + j) == 0) continue;
            assert_true(at < n && col[at] == j);
            const cplx got = val[at++], should = REF_AT(want, i, j);
            if (!(cabs(got - should) <= eps * (1 + cabs(should))))
                fail_msg("row %lld, column %lld: %g%+gi, should be %g%+gi", (long long)i, (long long)j, creal(got),
                         cimag(got), creal(should), cimag(should));
        }
        assert_int_equal(at, n);
    }
}

/* L U z = x, for the factors of this rank. */
static void check_applied(ref_mat f, int64_t first, ref_mat z, ref_mat x, double eps)
{
    for (int64_t i = 0; i < f.rows; i++)
        for (int64_t c = 0; c < x.cols; c++) {
            cplx sum = 0;
            double size = 1;
            for (int64_t j = 0; j < f.rows; j++) {
                cplx lu = j >= i ? REF_AT(f, i, j) : 0; /* of L U, whose pattern is larger than that of A */
                for (int64_t k = 0; k < i && k <= j; k++) lu += REF_AT(f, i, k) * REF_AT(f, k, j);
                sum += lu * REF_AT(z, first + j, c);
                size += cabs(lu) * cabs(REF_AT(z, first + j, c));
            }
            assert_true(cabs(sum - REF_AT(x, first + i, c)) <= eps * size);
        }
}

static void factors(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    for (int p = 0; p < REF_PAIRS; p++)
        for (int b = 0; b < 6; b++) {
            ref_rng r = {(uint64_t)(500 + 10 * p + b)};
            const int hermitian = b % 2;
            const ref_types t = ref_pair[p];
            ref_mat m = random_matrix(&r, t.mat, 1 + ref_below(&r, 70), hermitian);
            const wisp_solve_opts o = {.method = hermitian && b < 4 ? WISP_CG : WISP_GMRES,
                                       .precond = hermitian && b > 2 ? WISP_IC : WISP_ILU};
            wisp_src src = ref_dense_src(m, t.mat);
            wisp_mat *A;
            wisp__ilu f;
            wisp__precond *P;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = (wisp_order)ref_below(&r, 4)}));
            REF_OK(ctx, wisp__ilu_make(&f, A, 1, o.precond == WISP_IC, o.method == WISP_CG ? "x" : NULL));
            assert_true(f.shift == 0 && f.hermitian == hermitian);
            ref_mat want = (hermitian ? dense_ic : dense_ilu)(m, f.first, f.rows);
            check_factors(&f, m, want, 1e-12);
            REF_OK(ctx, precond_make(&P, A, &o, t.blk, 33));
            assert_true(wisp__precond_shift(P) == 0);
            for (int w = 0; w < 4; w++) {
                ref_mat x = ref_random_block(&r, t.blk, m.rows, widths[w]), z = applied(ctx, A, P, t.blk, x);
                check_applied(want, f.first, z, x, ref_eps(t.blk));
                ref_free(x), ref_free(z);
            }
            wisp__precond_free(P);
            wisp__ilu_free(&f);
            wisp_mat_free(A);
            wisp_src_close(&src);
            ref_free(m), ref_free(want);
        }
}

/* An entry that has no mirror, as rounding may leave one, is none of L D L^H: that stays Hermitian. */
static void one_sided(void **state)
{
    wisp_ctx *ctx = *state;
    if (ref_ranks() > 1) return;
    ref_mat m = ref_new(3, 3);
    wisp__ilu f;
    for (int i = 0; i < 3; i++) REF_AT(m, i, i) = 2;
    REF_AT(m, 0, 1) = REF_AT(m, 1, 0) = -1;
    REF_AT(m, 0, 2) = 1e-14, REF_AT(m, 2, 1) = 1e-14;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    REF_OK(ctx, wisp__ilu_make(&f, A, 1, true, NULL));
    const double want[] = {2, -1, 0, -0.5, 1.5, 0, 2};
    for (int i = 0, at = 0; i < 3; i++) {
        int64_t col[3];
        cplx val[3];
        const int n = factors_row(&f, i, col, val);
        assert_int_equal(n, i == 0 ? 3 : 2);
        for (int k = 0; k < n; k++) assert_true(cabs(val[k] - want[at++]) < 1e-15);
    }
    wisp__ilu_free(&f);
    wisp_mat_free(A);
    ref_free(m);
}

/* Levels are larger here than what one thread takes at a time. */
static void same_bits(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    const diffusion d = {.nx = 40, .ny = 40, .nz = 30, .kind = JUMPING};
    ref_mat first = {0};
    for (int threads = 1; threads <= 3; threads++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1});
        wisp_src src = diffusion_src(&d, WISP_D);
        wisp_mat *A;
        wisp_blk *x, *z;
        wisp__precond *P;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL}));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
        REF_OK(ctx, wisp_blk_create(&z, ctx, wisp_mat_map(A), WISP_D, 2));
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 3, 0, 0));
        REF_OK(ctx, precond_make(&P, A, &(wisp_solve_opts){.method = WISP_CG, .precond = WISP_IC}, WISP_D, 2));
        REF_OK(ctx, wisp__precond_apply(P, z, x, (wisp_place){0}));
        ref_mat got = ref_get(z);
        if (threads == 1)
            first = got;
        else
            assert_memory_equal(got.a, first.a, (size_t)(got.rows * got.cols) * sizeof *got.a);
        if (threads > 1) ref_free(got);
        wisp__precond_free(P);
        wisp_blk_free(x), wisp_blk_free(z);
        wisp_mat_free(A);
        wisp_src_close(&src);
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
    ref_free(first);
}

/* ---- pivots -------------------------------------------------------------------------------------- */

static int warnings;
static void count_warnings(void *arg, wisp_log_level level, const char *message)
{
    (void)arg;
    warnings += level == WISP_LOG_WARN && strstr(message, "diagonal larger by") != NULL;
}

/* Kershaw's matrix is positive definite, and IC(0) of it is not (1978, J. Comput. Phys. 26, 43); rows without a
   diagonal have no ILU(0). Both are made with a larger diagonal, and said so; as the host has it, whatever the units.
 */
static void pivots(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    static const double kershaw[4][4] = {{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
    static const double hollow[4][4] = {{0, 2, 0, 1}, {1, 0, 3, 0}, {0, 1, 0, -2}, {2, 0, 1, 0}};
    for (int kind = 0; kind < 4; kind++) {
        wisp_ctx *ctx = NULL;
        const wisp_ctx_opts co = {.threads = 1, .no_pin = 1, .log = count_warnings, .level = WISP_LOG_WARN};
        const double unit = kind < 2 ? 1 : 0x1p600;
        const bool cg = kind % 2 == 0;
        ref_mat m = ref_new(4, 4);
        for (int i = 0; i < 16; i++) m.a[i] = unit * (cg ? kershaw : hollow)[i / 4][i % 4];
        warnings = 0;
        assert_int_equal(wisp_ctx_create(&ctx, &co), WISP_OK);
        wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
        wisp_blk *x, *b;
        wisp_solution s;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
        REF_OK(ctx,
               wisp_solve(&s, x, A, b,
                          &(wisp_solve_opts){.method = cg ? WISP_CG : WISP_GMRES, .precond = cg ? WISP_IC : WISP_ILU}));
        assert_true(s.shift >= 1e-3 && s.shift <= 2);
        assert_int_equal(warnings, 1);
        assert_int_equal(s.precond, cg ? WISP_IC : WISP_ILU);
        wisp_solution_free(&s);
        wisp_blk_free(x), wisp_blk_free(b);
        wisp_mat_free(A);
        ref_free(m);
        wisp_ctx_free(ctx);
    }
}

/* Factors of random matrices, whatever these are, are found, or refused in words; and "converged" is true. */
static void random_ones(void **state)
{
    wisp_ctx *ctx = *state;
    int shifted = 0, converged = 0;
    for (uint64_t seed = 1; seed <= (ref_few() ? 40 : 300); seed++) {
        ref_rng r = {seed * 7727};
        const wisp_type type = seed % 2 ? WISP_D : WISP_Z;
        const int64_t n = 1 + ref_below(&r, 40);
        const int hermitian = (int)ref_below(&r, 2);
        wisp_src src = ref_random_src(&r, type, n, n, 6);
        ref_mat m = ref_dense(&src);
        wisp_src_close(&src);
        for (int64_t i = 0; i < n && hermitian; i++)
            for (int64_t j = 0; j <= i; j++) {
                const cplx v = i == j ? 2 * cabs(REF_AT(m, i, i)) + 1 : REF_AT(m, i, j);
                REF_AT(m, i, j) = v, REF_AT(m, j, i) = conj(v);
            }
        wisp_mat *A = ref_mat_of(ctx, m, type);
        const wisp_solve_opts o = {.method = hermitian ? (seed % 3 ? WISP_CG : WISP_MINRES)
                                                       : (seed % 3 ? WISP_GMRES : WISP_BICGSTAB),
                                   .precond = hermitian && seed % 5 ? WISP_IC : WISP_ILU};
        ref_mat b = ref_random_block(&r, type, n, 2);
        wisp_blk *x = blk_of(ctx, A, type, b), *y = blk_of(ctx, A, type, b);
        wisp_solution s;
        const wisp_status status = wisp_solve(&s, x, A, y, &o);
        if (status == WISP_ERR_HERMITIAN || status == WISP_ERR_UNSUPPORTED) fail_msg("%s", message_of(ctx));
        shifted += s.shift > 0;
        if (status == WISP_OK) {
            ref_mat got = ref_get(x), p = ref_times(m, got);
            for (int j = 0; j < 2; j++) {
                double left = 0, all = 0;
                for (int64_t i = 0; i < n; i++) {
                    left += pow(cabs(REF_AT(p, i, j) - REF_AT(b, i, j)), 2);
                    all += pow(cabs(REF_AT(b, i, j)), 2);
                }
                assert_true(sqrt(left) <= 1.01e-8 * sqrt(all));
            }
            converged++;
            ref_free(got), ref_free(p);
        }
        wisp_solution_free(&s);
        wisp_blk_free(x), wisp_blk_free(y);
        wisp_mat_free(A);
        ref_free(m), ref_free(b);
    }
    assert_true(shifted > 5 && converged > 5);
}

/* ---- systems ------------------------------------------------------------------------------------- */

static void solutions(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    for (int kind = ANISOTROPIC; kind <= SMOOTH; kind++)
        for (int m = WISP_METHOD_DEFAULT; m <= WISP_IDR; m = ref_next_method(m)) {
            const bool general = kind == CONVECTIVE;
            if (general && (m == WISP_CG || m == WISP_MINRES)) continue;
            const wisp_type type = types[(kind + m) % (kind <= JUMPING ? 2 : 4)];
            scene s = make(ctx, &(diffusion){.nx = 9, .ny = 8, .nz = 6, .kind = (coefficients)kind},
                           wisp__is_single(type) ? WISP_S : WISP_D);
            const wisp_solve_opts o = {.method = (wisp_method)m,
                                       .precond = general || m == WISP_GMRES ? WISP_ILU : WISP_IC,
                                       .tolerance = wisp__is_single(type) ? 1e-5 : 1e-10};
            solved(ctx, &s, &o, type, widths[(kind + m) % 4], 200);
            end(&s);
        }
}

static void gains(void **state)
{
    wisp_ctx *ctx = *state;
    const int nz = ref_ranks() > 3 ? 4 * ref_ranks() : 8; /* of thin layers factors are of little use */
    for (int kind = ANISOTROPIC; kind <= SMOOTH; kind++) {
        scene s = make(ctx, &(diffusion){.nx = 10, .ny = 9, .nz = nz, .kind = (coefficients)kind}, WISP_D);
        wisp_solve_opts o = {.restart = 100, .max_iterations = 100000};
        const int64_t without = solved(ctx, &s, &o, WISP_D, 1, 100000);
        o.precond = kind == CONVECTIVE ? WISP_ILU : WISP_IC;
        const int64_t with = solved(ctx, &s, &o, WISP_D, 1, 100000);
        if (!(ref_ranks() > 1 ? with < without : 4 * with <= 3 * without))
            fail_msg("kind %d: %lld iterations, and %lld without", kind, (long long)with, (long long)without);
        end(&s);
    }
}

static void kept(void **state)
{
    wisp_ctx *ctx = *state;
    const diffusion d = {.nx = 7, .ny = 6, .nz = 5, .kind = JUMPING};
    const diffusion e = {.nx = 7, .ny = 6, .nz = 5, .kind = ANISOTROPIC, .factor = 3};
    for (int p = WISP_ILU; p <= WISP_IC; p++) {
        const wisp_solve_opts o = {.precond = (wisp_precond)p};
        scene s = make(ctx, &d, WISP_D);
        wisp_src other = diffusion_src(&e, WISP_D);
        ref_rng r = {5};
        wisp_solver *S;
        REF_OK(ctx, wisp_solver_create(&S, s.A, WISP_D, 3, &o));
        for (int call = 0; call < 4; call++) {
            ref_mat b = ref_random_block(&r, WISP_D, s.dense.rows, 3);
            wisp_blk *x = blk_of(ctx, s.A, WISP_D, b), *z = blk_of(ctx, s.A, WISP_D, b);
            wisp_blk *y = blk_of(ctx, s.A, WISP_D, b);
            if (call == 2) {
                REF_OK(ctx, wisp_mat_update(s.A, &other));
                wisp_solver_update(S);
            }
            REF_OK(ctx, wisp_solver_solve(S, NULL, x, y, 0));
            REF_OK(ctx, wisp_solve(NULL, z, s.A, y, &o));
            ref_mat kept_x = ref_get(x), fresh = ref_get(z);
            assert_memory_equal(kept_x.a, fresh.a, (size_t)(fresh.rows * fresh.cols) * sizeof *fresh.a);
            wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(z);
            ref_free(b), ref_free(kept_x), ref_free(fresh);
        }
        wisp_solver_free(S);
        wisp_src_close(&other);
        end(&s);
    }
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat negative = ref_new(2, 2), general = ref_new(2, 2);
    for (int i = 0; i < 2; i++) REF_AT(negative, i, i) = -2, REF_AT(general, i, i) = 1;
    REF_AT(general, 0, 1) = 1;
    wisp_mat *N = ref_mat_of(ctx, negative, WISP_D), *G = ref_mat_of(ctx, general, WISP_D), *O;
    function f = {.A = N};
    const wisp_operator op = {.map = wisp_mat_map(N), .type = WISP_D, .apply = product, .arg = &f};
    REF_OK(ctx, wisp_mat_from_apply(&O, ctx, &op));
    const struct {
        const wisp_mat *A;
        wisp_method method;
        wisp_precond precond;
        wisp_status status;
        const char *words;
    } cases[] = {{N, WISP_CG, WISP_IC, WISP_ERR_INDEFINITE, "row 0 is -2, so that"},
                 {N, WISP_CG, WISP_ILU, WISP_ERR_INDEFINITE, "take MINRES"},
                 {N, WISP_GMRES, WISP_IC, WISP_ERR_INDEFINITE, "take another opts.precond"},
                 {N, WISP_GMRES, WISP_ILU, WISP_OK, ""},
                 {G, WISP_GMRES, WISP_IC, WISP_ERR_HERMITIAN, "take opts.precond = WISP_ILU"},
                 {G, WISP_GMRES, WISP_ILU, WISP_OK, ""},
                 {O, WISP_GMRES, WISP_ILU, WISP_ERR_UNSUPPORTED, "operator has no entries"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wisp_blk *x, *b;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(cases[i].A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(cases[i].A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_fill(b, (wisp_scalar){1, 0}));
        const wisp_solve_opts o = {.method = cases[i].method, .precond = cases[i].precond};
        assert_int_equal(wisp_solve(NULL, x, cases[i].A, b, &o), cases[i].status);
        if (cases[i].status != WISP_OK && !strstr(message_of(ctx), cases[i].words)) fail_msg("%s", message_of(ctx));
        wisp_blk_free(x), wisp_blk_free(b);
    }
    wisp_mat_free(O), wisp_mat_free(N), wisp_mat_free(G);
    ref_free(negative), ref_free(general);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static void planned_memory(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_mat_info info;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=20,ny=20,nz=10", NULL));
    wisp_mat_get_info(A, &info);
    for (int width = 1; width <= 5; width += 2)
        for (int t = WISP_D; t <= WISP_Z; t += 2) {
            const wisp_type type = (wisp_type)t;
            const wisp_solve_opts o = {.method = WISP_CG, .precond = width == 3 ? WISP_ILU : WISP_IC};
            wisp_plan plan;
            wisp_solver *S;
            wisp_blk *x, *b;
            int64_t before, now;
            REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, width));
            REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), type, width));
            REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 7, 0, 0));
            REF_OK(ctx, wisp_solve_plan(&plan, ctx, &info, type, width, &o, NULL));
            wisp_ctx_memory(ctx, &before, NULL);
            REF_OK(ctx, wisp_solver_create(&S, A, type, width, &o));
            REF_OK(ctx, wisp_solver_solve(S, NULL, x, b, 0));
            wisp_ctx_memory(ctx, &now, NULL);
            if (now - before > plan.bytes)
                fail_msg("width %d: %lld bytes are held, %lld were told", width, (long long)(now - before),
                         (long long)plan.bytes);
            wisp_solver_free(S);
            wisp_blk_free(x), wisp_blk_free(b);
        }
    wisp_mat_free(A);
}

static wisp_status call(wisp_ctx *ctx, void *arg)
{
    wisp_mat *A = NULL;
    wisp_blk *x = NULL, *b = NULL;
    wisp_status status = wisp_mat_open(&A, ctx, "laplace:nx=5,ny=4,nz=3", &(wisp_mat_opts){.type = WISP_S});
    if (status == WISP_OK) status = wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_C, 2);
    if (status == WISP_OK) status = wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_C, 2);
    if (status == WISP_OK) status = wisp_blk_fill(b, (wisp_scalar){1, 1});
    if (status == WISP_OK) status = wisp_solve(NULL, x, A, b, arg);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_elsewhere()) return;
    assert_true(ref_failing_memory(call, &(wisp_solve_opts){.precond = WISP_IC}, 80, 20) > 10);
    assert_true(ref_failing_memory(call, &(wisp_solve_opts){.method = WISP_GMRES, .precond = WISP_ILU}, 80, 20) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors),        cmocka_unit_test(one_sided),     cmocka_unit_test(same_bits),
        cmocka_unit_test(pivots),         cmocka_unit_test(random_ones),   cmocka_unit_test(solutions),
        cmocka_unit_test(gains),          cmocka_unit_test(kept),          cmocka_unit_test(refusals),
        cmocka_unit_test(planned_memory), cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
