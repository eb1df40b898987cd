/* Thermodynamics by all eigenvalues, for the tests of what moments and cooled states tell of it. */
#ifndef CANONICAL_H
#define CANONICAL_H
#include "kpm_dense.h"

enum { LOG_Z, ENERGY, CAPACITY, ENTROPY, QUANTITIES };
static const char *const quantity_name[QUANTITIES] = {"ln Z", "E", "C", "S"};

static inline const wisp_estimate *quantity_of(const wisp_ensemble *e, int i)
{
    const wisp_estimate *const all[QUANTITIES] = {&e->log_z, &e->energy, &e->heat_capacity, &e->entropy};
    return all[i];
}

static inline void canonical(const long double *level, int64_t n, double T, double q[QUANTITIES])
{
    long double z = 0, e = 0, c = 0;
    for (int64_t i = 0; i < n; i++) {
        const long double t = (level[i] - level[0]) / T, w = expl(-t);
        z += w, e += w * t;
    }
    e /= z;
    for (int64_t i = 0; i < n; i++) {
        const long double t = (level[i] - level[0]) / T;
        c += expl(-t) * (t - e) * (t - e) / z;
    }
    q[LOG_Z] = (double)(logl(z) - level[0] / T);
    q[ENERGY] = (double)(level[0] + T * e);
    q[CAPACITY] = (double)c;
    q[ENTROPY] = (double)(logl(z) + e);
}
#endif
