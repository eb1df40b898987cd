#include "jacobi.h"
#include <math.h>
#include <stddef.h>

typedef double complex number;

static double square(number v) { return creal(v) * creal(v) + cimag(v) * cimag(v); }

static void rotate(number *x, int64_t rows, int n, int i, int j, double c, double s, number phase)
{
    for (int64_t k = 0; k < rows; k++) {
        const number left = x[k * n + i], right = conj(phase) * x[k * n + j];
        x[k * n + i] = c * left - s * right, x[k * n + j] = s * left + c * right;
    }
}

/* Columns i and j of a become orthogonal; false: they are so. */
static bool make_orthogonal(number *a, int64_t rows, number *b, int64_t more, int n, int i, int j, double least)
{
    double aa = 0, bb = 0;
    number ab = 0;
    for (int64_t k = 0; k < rows; k++) {
        aa += square(a[k * n + i]), bb += square(a[k * n + j]);
        ab += conj(a[k * n + i]) * a[k * n + j];
    }
    const double size = cabs(ab);
    if (!(size > least * sqrt(aa) * sqrt(bb))) return false;
    const double tau = (bb - aa) / (2 * size), t = (tau < 0 ? -1 : 1) / (fabs(tau) + hypot(1, tau));
    const double c = 1 / hypot(1, t), s = c * t;
    rotate(a, rows, n, i, j, c, s, ab / size);
    if (b) rotate(b, more, n, i, j, c, s, ab / size);
    return true;
}

bool wisp__jacobi_sweep(number *a, int64_t rows, number *b, int64_t more, int n, double least)
{
    bool changes = false;
    for (int i = 0; i + 1 < n; i++)
        for (int j = i + 1; j < n; j++) changes |= make_orthogonal(a, rows, b, more, n, i, j, least);
    return changes;
}
