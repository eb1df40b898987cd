/* Blocks on the diagonal of a singular matrix that are singular themselves, as they hold whole parts of a graph: where
   the null space that was given explains it, they get an inverse. */
#include "precond.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include "../jacobi.h"

typedef double complex number;

static double square(number v) { return creal(v) * creal(v) + cimag(v) * cimag(v); }

/* Columns of a become orthogonal to each other, and b is changed as a is. */
static void make_orthogonal(number *a, number *b, int64_t m, int n)
{
    enum { MOST = 60 };
    for (int sweep = 0; sweep < MOST && wisp__jacobi_sweep(a, m, b, m, n, 4 * DBL_EPSILON); sweep++) {}
}

static double length(const number *a, int64_t m, int n, int j)
{
    double sum = 0;
    for (int64_t k = 0; k < m; k++) sum += square(a[k * n + j]);
    return sqrt(sum);
}

/* q[m][n] becomes an orthonormal basis of the span of its columns, with zeros behind it. */
static void make_basis(number *q, int64_t m, int n)
{
    const double least = 1e-8;
    double most = 0;
    make_orthogonal(q, NULL, m, n);
    for (int j = 0; j < n; j++) most = fmax(most, length(q, m, n, j));
    for (int j = 0; j < n; j++) {
        const double own = length(q, m, n, j), f = own > least * most ? 1 / own : 0;
        for (int64_t k = 0; k < m; k++) q[k * n + j] *= f;
    }
}

/* The largest entry, without under- or overflow of squares. */
static double largest(const number *a, int64_t m)
{
    double most = 0;
    for (int64_t i = 0; i < m * m; i++) most = fmax(most, fmax(fabs(creal(a[i])), fabs(cimag(a[i]))));
    return most;
}

bool wisp__fill_null(number *block, int64_t m, number *q, number *image, int n, double tolerance)
{
    const double size = largest(block, m);
    const int exponent = size > 0 ? ilogb(size) : 0;
    bool any = false;
    make_basis(q, m, n);
    memset(image, 0, (size_t)(m * n) * sizeof *image);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < m; k++) {
            const number v = block[i * m + k];
            const number unit = ldexp(creal(v), -exponent) + I * ldexp(cimag(v), -exponent);
            for (int j = 0; j < n && v != 0; j++) image[i * n + j] += unit * q[k * n + j];
        }
    make_orthogonal(image, q, m, n);
    for (int j = 0; j < n; j++) {
        const double is = length(q, m, n, j);
        if (is < 0.5 || !(length(image, m, n, j) <= tolerance))
            continue; /* none, or one of which the block makes more */
        any = true;
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k <= i; k++) { /* Hermitian to the last bit */
                const number add = ldexp(1, exponent) * (q[i * n + j] * conj(q[k * n + j]));
                block[i * m + k] += i == k ? creal(add) : add;
                if (i != k) block[k * m + i] += conj(add);
            }
    }
    return any;
}
