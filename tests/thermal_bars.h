/* How often the 95% bars of thermodynamics and of traces hold the exact value, over hundreds of runs: from high
   temperatures, where all states count alike, to low ones, where hardly more than the lowest does. */
#ifndef THERMAL_BARS_H
#define THERMAL_BARS_H
#include "kpm_dense.h"

enum { TEMPERATURES = 6, QUANTITIES = 4, CASES = QUANTITIES + 2 };
static const char *const name[CASES] = {"ln Z", "E", "C", "S", "tr log", "tr inverse"};

static inline int f_log(void *arg, double energy, wisp_scalar *value)
{
    return *value = (wisp_scalar){log(energy - *(const double *)arg), 0}, 0;
}
static inline int f_inverse(void *arg, double energy, wisp_scalar *value)
{
    return *value = (wisp_scalar){1 / (energy - *(const double *)arg), 0}, 0;
}

static inline void canonical(const double *level, int64_t n, double T, double q[QUANTITIES])
{
    double z = 0, e = 0, c = 0;
    for (int64_t i = 0; i < n; i++) {
        const double t = (level[i] - level[0]) / T;
        z += exp(-t), e += exp(-t) * t;
    }
    e /= z;
    for (int64_t i = 0; i < n; i++) {
        const double t = (level[i] - level[0]) / T - e;
        c += exp(-t - e) * t * t / z;
    }
    q[0] = log(z) - level[0] / T, q[1] = level[0] + T * e, q[2] = c, q[3] = log(z) + e;
}

/* groups: of so many vectors. slack: by how much few groups may miss what many have. */
static inline void check_bars(wisp_ctx *ctx, const char *spec, wisp_type type, int64_t vectors, int groups,
                              double slack, int *failed)
{
    ref_mat dense;
    wisp_mat *A = mat_of_spec(ctx, spec, &dense);
    double *level = eigenvalues(dense), origin;
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
            truth[4] += log(level[k] - origin), truth[5] += 1 / (level[k] - origin);
        for (int g = 0; g < groups; g++, m.mu += vectors * m.n) {
            wisp_ensemble e;
            REF_OK(ctx, wisp_thermal(ctx, &m, NULL, T, &e));
            const wisp_estimate *const q[] = {&e.log_z, &e.energy, &e.heat_capacity, &e.entropy};
            for (int k = 0; k < QUANTITIES; k++) held[k] += q[k]->low <= truth[k] && truth[k] <= q[k]->high;
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
                          T / width, name[k], share);
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
