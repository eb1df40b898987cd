/* Evolution by eigenvectors of a dense matrix. */
#ifndef EVOLVE_DENSE_H
#define EVOLVE_DENSE_H
#include "kpm_dense.h"

static const cplx i_unit = I;

/* ||a - b|| / ||b|| of the worst column. */
static double relative_error(ref_mat a, ref_mat b)
{
    double worst = 0;
    for (int64_t j = 0; j < a.cols; j++) {
        double difference = 0, size = 0;
        for (int64_t i = 0; i < a.rows; i++) {
            difference += pow(cabs(REF_AT(a, i, j) - REF_AT(b, i, j)), 2);
            size += pow(cabs(REF_AT(b, i, j)), 2);
        }
        worst = fmax(worst, sqrt(difference / size));
    }
    return worst;
}

/* exp(-i H w) psi of a complex w. With growth it lacks a factor exp(*growth), which keeps it from overflow. */
static ref_mat propagate(ref_mat H, ref_mat psi, cplx w, double *growth)
{
    const int64_t n = H.rows, size = 2 * n;
    const real_pairs p = pairs_of(H);
    const double *q = p.q, *E = p.E;
    const double most = growth ? fmax(cimag(w) * E[0], cimag(w) * E[size - 1]) : 0;
    if (growth) *growth = most;
    ref_mat out = ref_new(n, psi.cols);
    for (int64_t c = 0; c < psi.cols; c++)
        for (int64_t k = 0; k < size; k++) {
            double overlap = 0;
            for (int64_t i = 0; i < n; i++)
                overlap += q[k * size + i] * creal(REF_AT(psi, i, c)) + q[k * size + n + i] * cimag(REF_AT(psi, i, c));
            const cplx factor = overlap * cexp(-i_unit * E[k] * w - most);
            for (int64_t i = 0; i < n; i++)
                REF_AT(out, i, c) += factor * (q[k * size + i] + i_unit * q[k * size + n + i]);
        }
    pairs_free(p);
    return out;
}
#endif
