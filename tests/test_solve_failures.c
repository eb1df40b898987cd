/* Systems that can't be solved, or not to the end: each has its status and message, and x is never worse than the guess
   (solve_cases.h looks at that). */
#include "solve_cancel.h"
#include "solve_cases.h"

/* Status and words of the message, with every variant that the method has, with and without a guess. */
static void ends(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, wisp_status status, const char *words)
{
    for (int variant = 0; variant <= WISP_HIDDEN; variant++)
        for (o.guess = 0; o.guess < 2; o.guess++) {
            char what[80];
            o.variant = (wisp_variant)variant;
            if (variant == WISP_PREDICT && (o.method != WISP_CG || o.precond != WISP_PRECOND_NONE)) continue;
            if (variant == WISP_HIDDEN && o.method != WISP_CG) continue;
            snprintf(what, sizeof what, "%s, variant %d, guess %d", method_name[o.method], variant, o.guess);
            const outcome out = solve(ctx, l, &o, what);
            if (out.status != status || (status != WISP_OK && !strstr(message_of(ctx), words)))
                fail_msg("%s: %s (%s), expected %s with '%s'", what, wisp_status_string(out.status),
                         out.status == WISP_OK ? "" : message_of(ctx), wisp_status_string(status), words);
            ref_free(out.x);
        }
}

static linear random_system(wisp_ctx *ctx, uint64_t seed, kind k, wisp_type type, int width)
{
    ref_rng r = {seed};
    return random_linear(ctx, &r, k, (ref_types){type, type}, 40, width);
}

/* A system of small numbers, row by row, and b = (1, 0, 0, ..). */
static linear system_of(wisp_ctx *ctx, int64_t n, const double *entry)
{
    ref_mat A = ref_new(n, n), b = ref_new(n, 1);
    for (int64_t i = 0; i < n * n; i++) A.a[i] = entry[i];
    REF_AT(b, 0, 0) = 1;
    return linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, b);
}

/* ---- matrices that a method can't take ------------------------------------------------------------- */

static void indefinite(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S};
    for (int t = 0; t < 3; t++) {
        linear l = random_system(ctx, 5, INDEFINITE, types[t], 2);
        ends(ctx, &l, (wisp_solve_opts){.method = WISP_CG}, WISP_ERR_INDEFINITE, "take opts.method = WISP_MINRES");
        ends(ctx, &l, (wisp_solve_opts){.method = WISP_MINRES}, WISP_OK, "");
        ends(ctx, &l, (wisp_solve_opts){0}, WISP_OK, "");
        linear_free(&l);
    }
    linear l = system_of(ctx, 2, (double[]){-1, 0, 0, -1});
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_CG}, WISP_ERR_INDEFINITE, "cg");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_CG, .precond = WISP_JACOBI}, WISP_ERR_INDEFINITE,
         "not positive definite");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_MINRES, .precond = WISP_BLOCK_JACOBI}, WISP_ERR_INDEFINITE,
         "not positive definite");
    linear_free(&l);
}

static void not_hermitian(void **state)
{
    wisp_ctx *ctx = *state;
    linear l = system_of(ctx, 3, (double[]){2, 0, 0, 0, 2, 1, 0, 0.5, 2});
    for (int m = 0; m < METHODS; m = ref_next_method(m)) {
        const int needs = m == WISP_CG || m == WISP_MINRES;
        ends(ctx, &l, (wisp_solve_opts){.method = (wisp_method)m}, needs ? WISP_ERR_HERMITIAN : WISP_OK,
             "entries (1, 2) and (2, 1), counted from 0, are not conjugate; take opts.method = WISP_BICGSTAB or "
             "WISP_GMRES");
    }
    linear_free(&l);
    /* Up to rounding it is. */
    l = system_of(ctx, 2, (double[]){2, 1, 1 + 1e-14, 2});
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_CG}, WISP_OK, "");
    linear_free(&l);
    ref_mat A = ref_new(2, 2), b = ref_new(2, 1);
    REF_AT(A, 0, 0) = 2, REF_AT(A, 1, 1) = 2 + I, REF_AT(b, 1, 0) = 1;
    l = linear_of(ctx, A, (ref_types){WISP_Z, WISP_Z}, b);
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_CG}, WISP_ERR_HERMITIAN, "(1, 1)");
    linear_free(&l);
}

/* A Laplacian with and without a right-hand side in its range; and matrices of zeros. */
static void singular(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    static const wisp_method methods[] = {WISP_METHOD_DEFAULT, WISP_CG, WISP_MINRES, WISP_GMRES};
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < 4; m++) {
            const wisp_solve_opts o = {.method = methods[m]};
            linear open = random_system(ctx, 9, OPEN, types[t], 1), closed = random_system(ctx, 9, CLOSED, types[t], 3);
            ends(ctx, &open, o, WISP_ERR_SINGULAR, "has no solution");
            ends(ctx, &closed, o, WISP_OK, "");
            linear_free(&open), linear_free(&closed);
            linear zeros = system_of(ctx, 3, (double[9]){0});
            ends(ctx, &zeros, o, WISP_ERR_SINGULAR, "has no solution");
            REF_AT(zeros.b, 0, 0) = 0;
            ends(ctx, &zeros, o, WISP_OK, "");
            linear_free(&zeros);
        }
}

static void zero_sides(void **state)
{
    wisp_ctx *ctx = *state;
    for (int m = 0; m < METHODS; m = ref_next_method(m)) {
        linear l = random_system(ctx, 4, DEFINITE, WISP_Z, 3);
        for (int64_t i = 0; i < l.b.rows * 3; i++) l.b.a[i] = 0;
        for (int guess = 0; guess < 2; guess++) {
            const outcome out = solve(ctx, &l, &(wisp_solve_opts){.method = (wisp_method)m, .guess = guess}, "zero");
            assert_int_equal(out.status, WISP_OK);
            assert_int_equal(out.s.iterations, 0);
            assert_true(ref_largest(out.x) == 0 && out.s.residual == 0);
            ref_free(out.x);
        }
        linear_free(&l);
    }
}

/* ---- no progress ---------------------------------------------------------------------------------- */

static void stagnation(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 12 };
    double shift[N * N] = {0};
    for (int i = 0; i < N; i++) shift[i * N + (i + 1) % N] = 1;
    linear l = system_of(ctx, N, shift);
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES, .restart = N}, WISP_OK, "");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_IDR}, WISP_OK, "");
    for (int64_t i = 0; i < N; i++) l.x0.a[i] = 0; /* with a guess it may get somewhere */
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES, .restart = 2}, WISP_ERR_STAGNATION, "restart");
    linear_free(&l);
    for (int m = 0; m < METHODS; m = ref_next_method(m)) {
        l = random_system(ctx, 3, DEFINITE, m % 2 ? WISP_D : WISP_C, 2);
        ends(ctx, &l, (wisp_solve_opts){.method = (wisp_method)m, .tolerance = 1e-30}, WISP_ERR_STAGNATION,
             "the arithmetic");
        if (m == WISP_CG || m == WISP_MINRES) /* the method that was asked for is named */
            ends(ctx, &l, (wisp_solve_opts){.method = (wisp_method)m, .tolerance = 1e-30}, WISP_ERR_STAGNATION,
                 m == WISP_CG ? "iterations of cg, which went on as minres, wanted" : "iterations of minres, wanted");
        linear_free(&l);
    }
}

/* Skew-symmetric: <r, A r> = 0. It may start anew, but it ends. */
static void breakdown(void **state)
{
    wisp_ctx *ctx = *state;
    linear l = system_of(ctx, 2, (double[]){0, 1, -1, 0});
    for (int variant = 0; variant <= WISP_CLASSICAL; variant++) {
        const outcome out = solve(
            ctx, &l, &(wisp_solve_opts){.method = WISP_BICGSTAB, .variant = (wisp_variant)variant}, "skew-symmetric");
        assert_true(out.status == WISP_OK || out.status == WISP_ERR_BREAKDOWN || out.status == WISP_ERR_STAGNATION);
        ref_free(out.x);
    }
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES}, WISP_OK, "");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_IDR}, WISP_OK, "");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_IDR, .shadow = 1}, WISP_OK, ""); /* any omega serves */
    linear_free(&l);
    l = system_of(ctx, 2, (double[]){0, 1, 0, 0}); /* A maps b to 0 */
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_IDR}, WISP_ERR_BREAKDOWN, "broke down");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES, .max_iterations = 50}, WISP_ERR_BREAKDOWN, "broke down");
    ends(ctx, &l, (wisp_solve_opts){.method = WISP_GMRES, .precond = WISP_JACOBI}, WISP_ERR_BREAKDOWN, "zero");
    linear_free(&l);
}

static void too_few(void **state)
{
    wisp_ctx *ctx = *state;
    for (int m = 0; m < METHODS; m = ref_next_method(m)) {
        linear l = random_system(ctx, 8, STIFF, WISP_D, 3);
        for (int most = 1; most < 8; most++)
            ends(ctx, &l, (wisp_solve_opts){.method = (wisp_method)m, .max_iterations = most}, WISP_ERR_ITERATIONS,
                 "iterations of");
        linear_free(&l);
    }
}

/* ---- numbers and sizes ---------------------------------------------------------------------------- */

static void not_finite(void **state)
{
    wisp_ctx *ctx = *state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < METHODS; m = ref_next_method(m)) {
            const wisp_solve_opts o = {.method = (wisp_method)m};
            linear l = random_system(ctx, 6, DEFINITE, WISP_D, 3);
            const cplx b = REF_AT(l.b, 7, 1), x = REF_AT(l.x0, 30, 2);
            REF_AT(l.b, 7, 1) = bad[i];
            ends(ctx, &l, o, WISP_ERR_NUMERIC, "column 1 of the right-hand side holds a NaN or an infinity");
            REF_AT(l.b, 7, 1) = b;
            REF_AT(l.x0, 30, 2) = bad[i];
            wisp_solve_opts with_guess = o;
            with_guess.guess = 1;
            const outcome out = solve(ctx, &l, &with_guess, "guess");
            assert_int_equal(out.status, WISP_ERR_NUMERIC);
            assert_non_null(strstr(message_of(ctx), "column 2 of the guess holds a NaN"));
            ref_free(out.x);
            REF_AT(l.x0, 30, 2) = x;
            wisp_mat_free(l.mat);
            REF_AT(l.A, 33, 33) = bad[i];
            l.mat = ref_mat_of(ctx, l.A, WISP_D);
            ends(ctx, &l, o, WISP_ERR_NUMERIC, "row 33 of the matrix holds a NaN or an infinity");
            linear_free(&l);
        }
}

static void sizes(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A, *wide;
    wisp_blk *x, *one, *single, *longer;
    wisp_map *map;
    wisp_solution s;
    ref_mat m = ref_new(4, 5);
    for (int64_t i = 0; i < 4; i++) REF_AT(m, i, i) = 1;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=4,ny=3,nz=1", NULL));
    wide = ref_mat_of(ctx, m, WISP_D);
    REF_OK(ctx, wisp_map_create(&map, ctx, 13));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&one, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&single, ctx, wisp_mat_map(A), WISP_S, 2));
    REF_OK(ctx, wisp_blk_create(&longer, ctx, map, WISP_D, 2));
    REF_FAILS(ctx, wisp_solve(&s, x, A, one, NULL), WISP_ERR_MISMATCH, "x is double of width 2, b double of width 1");
    REF_FAILS(ctx, wisp_solve(&s, single, A, x, NULL), WISP_ERR_MISMATCH, "x is single of width 2");
    REF_FAILS(ctx, wisp_solve(&s, x, A, longer, NULL), WISP_ERR_MISMATCH, "on the matrix's map");
    REF_FAILS(ctx, wisp_solve(&s, longer, A, x, NULL), WISP_ERR_MISMATCH, "on the matrix's map");
    REF_FAILS(ctx, wisp_solve(&s, x, wide, x, &(wisp_solve_opts){.method = WISP_GMRES}), WISP_ERR_MISMATCH,
              "rectangular");
    assert_int_equal(s.columns, 0);
    REF_FAILS(ctx, wisp_solve(&s, x, wide, x, NULL), WISP_ERR_ARG, "opts.adjoint");
    assert_int_equal(s.columns, 0);
    wisp_blk *b;
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_S, 2));
    REF_FAILS(ctx, wisp_solve(&s, single, A, b, NULL), WISP_ERR_UNSUPPORTED, "single");
    wisp_solution_free(&s);
    wisp_blk_free(b);
    wisp_blk_free(x), wisp_blk_free(one), wisp_blk_free(single), wisp_blk_free(longer);
    wisp_map_free(map);
    wisp_mat_free(A), wisp_mat_free(wide);
    ref_free(m);
}

static void bad_options(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        wisp_solve_opts o;
        const char *words;
    } table[] = {
        {{.method = (wisp_method)9}, "opts.method is 9"},
        {{.method = (wisp_method)-1}, "opts.method is -1"},
        {{.variant = (wisp_variant)9}, "opts.variant 9"},
        {{.precond = (wisp_precond)9}, "opts.precond 9"},
        {{.method = WISP_GMRES, .variant = WISP_PREDICT}, "\"predict\" is one of cg, not of gmres"},
        {{.method = WISP_CG, .variant = WISP_PREDICT, .precond = WISP_JACOBI}, "takes no preconditioner"},
        {{.method = WISP_MINRES, .variant = WISP_HIDDEN}, "\"hidden\" is one of cg, not of minres"},
        {{.tolerance = -1}, "opts.tolerance is -1"},
        {{.tolerance = 1}, "opts.tolerance is 1"},
        {{.tolerance = NAN}, "opts.tolerance is nan"},
        {{.tolerance_abs = -1}, "opts.tolerance_abs is -1"},
        {{.tolerance_abs = HUGE_VAL}, "opts.tolerance_abs is inf"},
        {{.max_iterations = -3}, "opts.max_iterations is -3"},
        {{.restart = -1}, "opts.restart is -1"},
        {{.shadow = -1}, "opts.shadow is -1"},
        {{.shadow = 65}, "opts.shadow is 65; it is 1 to 64"},
        {{.restart = 100000}, "opts.restart is 100000"},
        {{.block_rows = -1}, "opts.block_rows is -1"},
        {{.degree = -2}, "opts.degree -2"},
        {{.precond = WISP_PRECOND_APPLY}, "NULL"},
    };
    linear l = random_system(ctx, 2, DEFINITE, WISP_D, 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const outcome out = solve(ctx, &l, &table[i].o, table[i].words);
        if (out.status != WISP_ERR_ARG || !strstr(message_of(ctx), table[i].words))
            fail_msg("%s: %s (%s)", table[i].words, wisp_status_string(out.status), message_of(ctx));
        ref_free(out.x);
    }
    linear_free(&l);
}

/* ---- interruptions -------------------------------------------------------------------------------- */

static void stopped(void **state)
{
    wisp_ctx *ctx = *state;
    for (int m = 0; m < METHODS; m = ref_next_method(m))
        for (int64_t stop = 1; stop < 20; stop += 3)
            for (int guess = 0; guess < 2; guess++) {
                linear l = random_system(ctx, 21, STIFF, WISP_D, 3);
                const wisp_solve_opts o = {.method = (wisp_method)m,
                                           .guess = guess,
                                           .tolerance = 1e-13,
                                           .observe = watch,
                                           .observe_arg = &(watcher){.stop = stop}};
                char what[80];
                snprintf(what, sizeof what, "%s, stopped after %d iterations", method_name[m], (int)stop);
                const outcome out = solve(ctx, &l, &o, what);
                if (out.status != WISP_ERR_CANCELLED || !strstr(message_of(ctx), "ended by opts.observe after"))
                    fail_msg("%s: %s (%s)", what, wisp_status_string(out.status), message_of(ctx));
                assert_int_equal(out.s.iterations, stop);
                for (int j = 0; j < 3 && !guess && stop >= 10 && ref_ranks() == 1; j++)
                    if (REF_AT(l.b, 0, j) != 0 && (m == WISP_MINRES || m == WISP_GMRES) && !(out.residual[j] < 0.5))
                        fail_msg("%s: column %d: residual %g", what, j, out.residual[j]);
                ref_free(out.x);
                linear_free(&l);
            }
}

/* Between iterations or within one, by `in_product`. Whether it was cancelled. */
static int cancelled_at(const linear *l, canceller *c, wisp_solve_opts o, int in_product, const char *what)
{
    const wisp_operator op = {.map = wisp_mat_map(l->mat), .type = WISP_D, .apply = cancel_in_product, .arg = c};
    wisp_mat *A = NULL;
    if (in_product)
        REF_OK(c->ctx, wisp_mat_from_apply(&A, c->ctx, &op));
    else
        o.observe = cancel_in_observer, o.observe_arg = c;
    const outcome out = solve_by(c->ctx, l, A, &o, what);
    /* All know by the next sum; GMRES has one for up to four iterations. */
    const int64_t later = ref_ranks() > 1, least = c->at + later,
                  most = o.method == WISP_GMRES ? c->at + 4 * later : least;
    if (!in_product && c->at && (out.s.iterations < least || out.s.iterations > most))
        fail_msg("%s: %d iterations", what, (int)out.s.iterations);
    ref_free(out.x);
    wisp_mat_free(A);
    return out.status == WISP_ERR_CANCELLED;
}

static void cancelled(void **state)
{
    wisp_ctx *ctx = *state;
    linear l = random_system(ctx, 33, STIFF, WISP_D, 3);
    for (int k = 0; k < 2 * 2 * 4 * 8; k++) {
        const int in_product = k % 2, m = 1 + k / 4 % 4, at = k / 16 == 7 ? 0 : 1 + 3 * (k / 16);
        const wisp_solve_opts o = {
            .method = (wisp_method)m, .guess = k / 2 % 2, .tolerance = 1e-13, .max_iterations = 3000};
        char what[80];
        snprintf(what, sizeof what, "%s, cancelled in %s %d", method_name[m], in_product ? "product" : "iteration", at);
        canceller c = {.ctx = ctx, .A = l.mat, .at = at, .other_thread = 1};
        if (cancelled_at(&l, &c, o, in_product, what) != (at > 0)) fail_msg("%s: %s", what, message_of(ctx));
        if (at == 0) assert_true(c.calls > 19);
        wisp_ctx_resume(ctx);
    }
    linear_free(&l);
}

/* And it stays so. */
static void cancelled_before(void **state)
{
    wisp_ctx *ctx = *state;
    linear l = random_system(ctx, 33, STIFF, WISP_D, 3);
    wisp_ctx_cancel(ctx);
    for (int m = 1; m < METHODS; m = ref_next_method(m))
        for (int guess = 0; guess < 2; guess++) {
            const wisp_solve_opts o = {.method = (wisp_method)m, .guess = guess};
            const outcome out = solve(ctx, &l, &o, method_name[m]);
            assert_int_equal(out.status, WISP_ERR_CANCELLED);
            ref_free(out.x);
        }
    wisp_ctx_resume(ctx);
    linear_free(&l);
}

/* ---- functions and memory that fail ---------------------------------------------------------------- */

typedef struct {
    const wisp_mat *A;
    int left; /* calls that succeed */
} failing;

static wisp_status fail_later(void *arg, wisp_blk *y, const wisp_blk *x)
{
    failing *f = arg;
    if (f->left-- <= 0) return wisp_ctx_failf(wisp_mat_ctx(f->A), WISP_ERR_ARG, "no more of that");
    return wisp_spmmv(y, f->A, x, NULL);
}

/* x is that of the last step. */
static void callbacks(void **state)
{
    wisp_ctx *ctx = *state;
    linear l = random_system(ctx, 21, DEFINITE, WISP_D, 3);
    for (int m = 0; m < METHODS; m = ref_next_method(m))
        for (int left = 0; left < 8; left++)
            for (int p = 0; p < 2; p++) {
                failing f = {l.mat, left};
                wisp_mat *A = NULL;
                const wisp_operator op = {.map = wisp_mat_map(l.mat), .type = WISP_D, .apply = fail_later, .arg = &f};
                if (!p) REF_OK(ctx, wisp_mat_from_apply(&A, ctx, &op));
                const wisp_solve_opts o = {.method = (wisp_method)m,
                                           .guess = left % 2,
                                           .tolerance = 1e-12,
                                           .precond = p ? WISP_PRECOND_APPLY : WISP_PRECOND_NONE,
                                           .apply = fail_later,
                                           .apply_arg = &f};
                const outcome out = solve_by(ctx, &l, A, &o, method_name[m]);
                if (out.status != WISP_ERR_CALLBACK || !strstr(message_of(ctx), "no more of that") ||
                    !p != !strstr(message_of(ctx), "preconditioner"))
                    fail_msg("%s: %s (%s)", method_name[m], wisp_status_string(out.status), message_of(ctx));
                ref_free(out.x);
                wisp_mat_free(A);
            }
    linear_free(&l);
}

/* Columns end one after the other, so that narrower blocks are made, too. */
static wisp_status all_of_it(wisp_ctx *ctx, void *method)
{
    const wisp_solve_opts o = {.method = *(const wisp_method *)method, .precond = WISP_JACOBI, .restart = 10};
    wisp_mat *A = NULL;
    wisp_blk *x = NULL, *b = NULL;
    wisp_solution s = {0};
    wisp_status status = wisp_mat_open(&A, ctx, "laplace:nx=6,ny=5,nz=1", NULL);
    if (status == WISP_OK) status = wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 5);
    if (status == WISP_OK) status = wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 5);
    if (status == WISP_OK) {
        ref_mat v = ref_new(30, 5);
        for (int64_t i = 0; i < 30; i++) REF_AT(v, i, 1) = sin((double)i), REF_AT(v, i, 3) = i == 3;
        ref_put(b, v);
        ref_free(v);
        status = wisp_solve(&s, x, A, b, &o);
    }
    wisp_solution_free(&s);
    wisp_blk_free(x);
    wisp_blk_free(b);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    for (int m = WISP_CG; m < METHODS; m = ref_next_method(m)) {
        wisp_method method = (wisp_method)m;
        assert_true(ref_failing_memory(all_of_it, &method, 200, 20) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indefinite),       cmocka_unit_test(not_hermitian), cmocka_unit_test(singular),
        cmocka_unit_test(zero_sides),       cmocka_unit_test(stagnation),    cmocka_unit_test(breakdown),
        cmocka_unit_test(too_few),          cmocka_unit_test(not_finite),    cmocka_unit_test(sizes),
        cmocka_unit_test(bad_options),      cmocka_unit_test(stopped),       cmocka_unit_test(cancelled),
        cmocka_unit_test(cancelled_before), cmocka_unit_test(callbacks),     cmocka_unit_test(failing_memory),
    };
    return REF_RUN_CTX(tests);
}
