/* Values of a matrix that is not Hermitian: their order, and which of them are asked for. */
#include "arnoldi.h"

double wisp__schur_key(const wisp__arnoldi *a, wisp_scalar value)
{
    const wisp__eig *k = a->k;
    if (a->op.degree > 1) return wisp__op_axis(&a->op, value);
    const double size = hypot(value.re, value.im);
    if (k->o.which == WISP_EIG_LARGEST_REAL) return value.re;
    if (k->o.which == WISP_EIG_NEAREST) return -hypot(value.re - k->o.target, value.im - k->o.target_im);
    return k->o.which == WISP_EIG_LARGEST ? size : -size;
}

double wisp__schur_over(const wisp__arnoldi *a, wisp_scalar value)
{
    if (a->k->o.tolerance_abs > 0) return 1;
    const double tolerance = a->k->o.tolerance, norm = a->smallest / a->k->eps;
    const double least = norm * fmax(tolerance, 16 * a->k->eps / tolerance);
    return fmax(fmax(hypot(value.re, value.im), least), DBL_MIN);
}

/* Equal ones stay in their order, so that pairs do. */
static bool before(const wisp__arnoldi *of, wisp_scalar a, wisp_scalar b)
{
    const double key_a = wisp__schur_key(of, a), key_b = wisp__schur_key(of, b);
    return key_a != key_b ? key_a > key_b : fabs(a.im) > fabs(b.im);
}

void wisp__schur_sort(const wisp__arnoldi *a, int from, int n, const wisp_scalar *value, int *order)
{
    for (int i = from; i < n; i++) {
        int j = i;
        for (; j > from && before(a, value[i], value[order[j - 1]]); j--) order[j] = order[j - 1];
        order[j] = i;
    }
}

int wisp__schur_untorn(const wisp__eig *k, const wisp_scalar *value, const int *order, int n)
{
    return !k->is_complex && n > 0 && value[order[n - 1]].im > 0 ? n - 1 : n;
}

/* Within the tolerance of each other, or of the other's conjugate where values come in pairs. */
static bool alike(const wisp__arnoldi *a, wisp_scalar x, wisp_scalar y)
{
    const double im = a->k->is_complex ? x.im - y.im : fabs(x.im) - fabs(y.im);
    return hypot(x.re - y.re, im) <= a->k->o.tolerance * wisp__schur_over(a, x);
}

/* Others whose keys differ by rounding alone may come between those of a multiplet: they are taken, too. */
int wisp__schur_wanted(const wisp__arnoldi *a, int n, const wisp_scalar *value, const wisp_scalar *mu, const int *order)
{
    const wisp__eig *k = a->k;
    int to = k->o.count < n ? k->o.count : n;
    const wisp_scalar last = value[order[to - 1]];
    const double least = wisp__schur_key(a, last) - k->o.tolerance * wisp__schur_over(a, last);
    for (int j = to; !k->o.any && j < n && wisp__schur_key(a, value[order[j]]) >= least; j++)
        if (alike(a, last, value[order[j]])) to = j + 1;
    return wisp__schur_untorn(k, mu, order, to) < to ? to + 1 : to;
}

int wisp__schur_like_last(const wisp__arnoldi *a, int n, const wisp_scalar *value, const int *order, wisp_scalar last)
{
    int alike_last = 0;
    for (int j = 0; j < n; j++) alike_last += alike(a, last, value[order[j]]);
    return alike_last;
}

void wisp__schur_times(int n, const wisp_scalar *A, const wisp_scalar *B, wisp_scalar *C)
{
    for (int i = 0; i < n * n; i++) C[i] = wisp__real(0);
    for (int i = 0; i < n; i++)
        for (int l = 0; l < n; l++) {
            const wisp_scalar a = A[i * n + l];
            for (int j = 0; j < n; j++) {
                const wisp_scalar b = B[l * n + j];
                C[i * n + j].re += a.re * b.re - a.im * b.im;
                C[i * n + j].im += a.re * b.im + a.im * b.re;
            }
        }
}
