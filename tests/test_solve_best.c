/* BiCGStab and IDR, whose residuals wander: x is about the best of all that it has met, however it ends. */
#include "solve_cases.h"

/* The least residual by the recurrence, which is that of x as long as no larger one has left its rounding there, and as
   nothing has converged. */
typedef struct {
    double unit, most, least, last;
} course;
static int follow(void *arg, int64_t iteration, double residual)
{
    course *c = arg;
    (void)iteration;
    c->most = fmax(c->most, residual);
    if (residual > fmax(1000 * c->unit * c->most, 1e-6)) c->least = fmin(c->least, residual);
    c->last = residual;
    return 0;
}

static const wisp_method wanders[] = {WISP_BICGSTAB, WISP_IDR};

/* Whether the last x was far worse. */
static int run(wisp_ctx *ctx, const linear *l, const wisp_solve_opts *opts, const char *what)
{
    course c = {.unit = unit(l->t.blk), .most = 1, .least = 1};
    wisp_solve_opts o = *opts;
    o.observe = follow, o.observe_arg = &c;
    const outcome out = solve(ctx, l, &o, what);
    if (!(out.s.residual <= 1.5 * c.least)) fail_msg("%s: %g, least %g", what, out.s.residual, c.least);
    ref_free(out.x);
    return !(c.last < 2 * c.least);
}

/* Cut off anywhere. */
static void ends_with_the_best(void **state)
{
    (void)state;
    const int systems = ref_few() ? 48 : 200;
    int worse = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)systems; seed++) {
        ref_rng r = {seed * 7907};
        char what[160];
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1 + (int)(seed % 3));
        const ref_types t = ref_pair[seed % REF_PAIRS];
        const int64_t n = 20 + ref_below(&r, 60);
        linear l = linear_of(ctx, wild(&r, n, t.mat), t, ref_random_block(&r, t.blk, n, 1));
        wisp_solve_opts o = {.method = wanders[seed / 2 % 2],
                             .variant = seed % 2 ? WISP_PIPELINED : WISP_CLASSICAL,
                             .shadow = 1 + (int)(seed / 4 % 5)};
        o.tolerance = is_single(t.blk) ? 1e-5 : 1e-10;
        o.max_iterations = 1 + ref_below(&r, 2 * n);
        snprintf(what, sizeof what, "seed %d: %s and %s, %d rows, %d iterations", (int)seed, wisp_type_name(t.mat),
                 wisp_type_name(t.blk), (int)n, (int)o.max_iterations);
        worse += run(ctx, &l, &o, what);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    print_message("%d of %d end with a worse one\n", worse, systems);
    assert_true(worse > systems / 10);
}

/* Two of three columns, of a few eigenvectors, leave: the other goes on in narrower blocks. */
static void goes_on_with_fewer_columns(void **state)
{
    (void)state;
    enum { EASY = 9 };
    const int systems = ref_few() ? 16 : 60;
    int worse = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)systems; seed++) {
        ref_rng r = {seed * 104723};
        char what[160];
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        const ref_types t = {WISP_D, seed % 2 ? WISP_D : WISP_Z};
        const int64_t hard = 20 + ref_below(&r, 40), n = hard + EASY;
        ref_mat A = ref_new(n, n), b = ref_new(n, 3), B = wild(&r, hard, t.mat);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                REF_AT(A, i, j) = i < hard && j < hard ? REF_AT(B, i, j) : i == j ? (double)(i - hard + 1) : 0;
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < 3; j++)
                REF_AT(b, i, j) = j == 1 && i < hard ? ref_value(&r, t.blk) : j != 1 && i >= hard;
        linear l = linear_of(ctx, A, t, b);
        wisp_solve_opts o = {
            .method = wanders[seed / 2 % 2], .tolerance = 1e-8, .max_iterations = EASY + 4 + ref_below(&r, hard)};
        snprintf(what, sizeof what, "seed %d: %d rows, %d iterations", (int)seed, (int)n, (int)o.max_iterations);
        worse += run(ctx, &l, &o, what);
        ref_free(B);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    print_message("%d of %d end with a worse one\n", worse, systems);
    assert_true(worse > systems / 10);
}

/* A Hermitian system without a solution is named so, as by other methods, where BiCGStab can't go on. */
static void names_what_has_no_solution(void **state)
{
    (void)state;
    const int systems = ref_few() ? 18 : 48;
    int of[STATUSES] = {0};
    for (uint64_t seed = 1; seed <= (uint64_t)systems; seed++) {
        ref_rng r = {seed * 7919};
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        const ref_types t = ref_pair[seed % REF_PAIRS];
        linear l = random_linear(ctx, &r, OPEN, t, 5 + ref_below(&r, 60), 1 + (int)(seed % 3));
        const wisp_solve_opts o = {.method = WISP_BICGSTAB,
                                   .variant = seed % 2 ? WISP_PIPELINED : WISP_CLASSICAL,
                                   .precond = seed % 4 == 3 ? WISP_CHEBYSHEV : WISP_PRECOND_NONE,
                                   .max_iterations = 3000};
        const outcome out = solve(ctx, &l, &o, "open");
        const wisp_solve_opts other = {.method = WISP_MINRES, .max_iterations = 3000};
        const outcome minres = solve(ctx, &l, &other, "open, by minres");
        for (int j = 0; j < l.b.cols; j++) {
            of[out.of[j]]++;
            if (out.of[j] != minres.of[j] && out.of[j] != WISP_ERR_ITERATIONS && minres.of[j] != WISP_ERR_ITERATIONS)
                fail_msg("seed %d, column %d: %s, by minres: %s", (int)seed, j, wisp_status_string(out.of[j]),
                         wisp_status_string(minres.of[j]));
        }
        ref_free(out.x), ref_free(minres.x);
        linear_free(&l);
        wisp_ctx_free(ctx);
    }
    for (int s = 0; s < STATUSES; s++)
        if (of[s]) print_message("%3d %s\n", of[s], wisp_status_string((wisp_status)s));
    assert_true(of[WISP_ERR_SINGULAR] > systems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_with_the_best),
                                       cmocka_unit_test(goes_on_with_fewer_columns),
                                       cmocka_unit_test(names_what_has_no_solution)};
    return REF_RUN(tests);
}
