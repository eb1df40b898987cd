/* The accuracy that can be had: systems of condition 1e4 to 1e12, each method run until the residual no longer falls.
   Pipelined CG, with its residuals replaced, and predict-and-recompute CG end where classical CG does. */
#ifndef SOLVE_ACCURACY_H
#define SOLVE_ACCURACY_H
#include "solve_random.h"

/* Eigenvalues from 1 / condition to 1: spread evenly by their logarithms, or by their values; in two clusters; or few
   small ones below many that are equal. */
static inline ref_mat spectrum(ref_rng *r, int shape, int64_t n, double condition)
{
    ref_mat A = ref_new(n, n);
    for (int64_t i = 0; i < n; i++) {
        const double t = i == n - 1 ? 1 : (double)i / (double)(n - 1);
        double e = pow(condition, -t);
        if (shape == 1) e = 1 - t * (1 - 1 / condition);
        if (shape == 2) e = (2 * i < n ? 1 : 1 / condition) * (1 + 0.1 * (1 + ref_uniform(r)));
        if (shape == 3) e = i + 4 < n ? 1 : pow(condition, -(double)(i + 5 - n) / 4);
        REF_AT(A, i, i) = e;
    }
    mix(r, A, WISP_D, 1);
    return A;
}

static inline double last_residual(wisp_ctx *ctx, const linear *l, wisp_variant variant, const char *what)
{
    const wisp_solve_opts o = {
        .method = WISP_CG, .variant = variant, .tolerance = 1e-30, .max_iterations = 2000 * l->A.rows};
    const outcome out = solve(ctx, l, &o, what);
    ref_free(out.x);
    return out.residual[0];
}

/* Every so many-th of 30 systems. */
static inline void check_accuracy(uint64_t every)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    double worst[2] = {0};
    for (uint64_t seed = 0; seed < 30; seed += every) {
        static const wisp_variant variants[] = {WISP_PIPELINED, WISP_PREDICT};
        ref_rng r = {seed};
        char what[80];
        const double condition = pow(10, 4 + 8 * (double)seed / 29);
        ref_mat A = spectrum(&r, (int)(seed % 4), 40 + ref_below(&r, 61), condition);
        linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, ref_random_block(&r, WISP_D, A.rows, 1));
        snprintf(what, sizeof what, "seed %d, condition %.0e", (int)seed, condition);
        const double classical = last_residual(ctx, &l, WISP_CLASSICAL, what);
        for (int v = 0; v < 2; v++) {
            const double ratio = last_residual(ctx, &l, variants[v], what) / classical;
            worst[v] = fmax(worst[v], ratio);
            print_message("%s, spectrum %d, variant %d: %.1e, %.2f of classical\n", what, (int)(seed % 4),
                          (int)variants[v], ratio * classical, ratio);
        }
        linear_free(&l);
    }
    print_message("at most %.2f (pipelined) and %.2f (predict) of the residual of classical CG\n", worst[0], worst[1]);
    assert_true(worst[0] <= 10 && worst[1] <= 10);
    wisp_ctx_free(ctx);
}
#endif
