/* How often the 95% bars of thermodynamics and of traces hold the exact value, over hundreds of runs: from high
   temperatures, where all states count alike, to low ones, where hardly more than the lowest does. */
#ifndef THERMAL_BARS_H
#define THERMAL_BARS_H
#include "canonical.h"

enum { TEMPERATURES = 6, CASES = QUANTITIES + 2 };
static const char *const trace_name[CASES - QUANTITIES] = {"tr log", "tr inverse"};

static inline int f_log(void *arg, double energy, wisp_scalar *value)
{
    return *value = (wisp_scalar){log(energy - *(const double *)arg), 0}, 0;
}
static inline int f_inverse(void *arg, double energy, wisp_scalar *value)
{
    return *value = (wisp_scalar){1 / (energy - *(const double *)arg), 0}, 0;
}

/* groups: of so many vectors. slack: by how much few groups may miss what many have. */
static inline void check_bars(wisp_ctx *ctx, const char *spec, wisp_type type, int64_t vectors, int groups,
                              double slack, int *failed)
{
    ref_mat dense;
    wisp_mat *A = mat_of_spec(ctx, spec, &dense);
    long double *level = exact_eigenvalues(dense);
    double origin;
    wisp_moments all;
    REF_OK(ctx, wisp_kpm(&all, A, &(wisp_kpm_opts){.moments = 256, .vectors = groups * vectors, .type = type}));
    const double width = all.bounds.halfwidth;
    origin = all.bounds.center - 1.05 * width;
    for (int i = -1; i < TEMPERATURES; i++) {
        const double T = width * pow(0.4, i);
        double truth[CASES] = {0};
        int held[CASES] = {0};
        wisp_moments m = all;
        m.vectors = vectors;
        canonical(level, dense.rows, T, truth);
        for (int64_t k = 0; k < dense.rows; k++)
            truth[4] += (double)logl(level[k] - origin), truth[5] += (double)(1 / (level[k] - origin));
        for (int g = 0; g < groups; g++, m.mu += vectors * m.n) {
            wisp_ensemble e;
            REF_OK(ctx, wisp_thermal(ctx, &m, NULL, T, &e));
            for (int k = 0; k < QUANTITIES; k++)
                held[k] += quantity_of(&e, k)->low <= truth[k] && truth[k] <= quantity_of(&e, k)->high;
            for (int k = QUANTITIES; k < CASES && i < 0; k++) {
                wisp_traced t;
                const wisp_function f = {.value = k == QUANTITIES ? f_log : f_inverse, .arg = &origin};
                REF_OK(ctx, wisp_trace_function(ctx, &m, &f, NULL, -1, &t));
                held[k] += t.trace.low <= truth[k] && truth[k] <= t.trace.high;
            }
        }
        for (int k = 0; k < (i < 0 ? CASES : QUANTITIES); k++) {
            const double share = held[k] / (double)groups;
            print_message("%s, %lld vectors, T = %.3g h: the bars of %s hold %.3f\n", spec, (long long)vectors,
                          T / width, k < QUANTITIES ? quantity_name[k] : trace_name[k - QUANTITIES], share);
            *failed += !(share >= (vectors < 16 ? 0.90 : 0.92) - slack &&
                         share <= 0.98 + slack); /* 8 tell little of their scatter */
        }
    }
    wisp_moments_free(&all);
    wisp_mat_free(A);
    ref_free(dense);
    free(level);
}
#endif
