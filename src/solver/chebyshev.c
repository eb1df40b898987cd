/* Chebyshev polynomials of a matrix, step by step; Jackson's damping; and the coefficients of the series of exp(-i x
   E): Bessel functions, and where their tail may be cut. */
#include "solver.h"
#include <math.h>

void wisp__chebyshev_step(const wisp_bounds *b, int64_t m, wisp_scalar *alpha, wisp_scalar *beta, wisp_scalar *gamma)
{
    *alpha = wisp__real((m == 0 ? 1 : 2) / b->halfwidth);
    *beta = wisp__real(m == 0 ? 0 : -1);
    *gamma = wisp__real(b->center);
}

double wisp__rounded_edge(const wisp_bounds *b, const wisp_mat *A, wisp_type type)
{
    enum { ERRORS = 4 }; /* of the entries, the center, the products and their sums, each at most half an epsilon */
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    const double epsilon = wisp__is_single(type) || wisp__is_single(info.type) ? FLT_EPSILON : DBL_EPSILON;
    const double beyond = fmin(ERRORS * epsilon * (1 + fabs(b->center) / b->halfwidth), 1);
    return log1p(beyond + sqrt(beyond * (2 + beyond))); /* acosh(1 + beyond) */
}

double wisp__jackson(double n, double N) /* Weisse et al. 2006, eq. 71 */
{
    const double pi = 3.14159265358979323846, q = pi / (N + 1);
    return ((N - n + 1) * cos(q * n) + sin(q * n) / tan(q)) / (N + 1);
}

double wisp__damping(wisp_damping kernel, double lambda, double n, double N)
{
    switch (kernel) {
    case WISP_JACKSON: return wisp__jackson(n, N);
    case WISP_LORENTZ: /* eq. 79 of Weisse et al., for any size of lambda */
        return exp(-lambda * n / N) * expm1(-2 * lambda * (1 - n / N)) / expm1(-2 * lambda);
    case WISP_FEJER: return 1 - n / N;
    case WISP_DIRICHLET: break;
    }
    return 1;
}

/* Kapteyn's inequality, for n > x > 0: J_n(x) <= exp(-n (a - tanh a)), x = n / cosh a; the logarithm falls by more than
   a from n to n + 1, so that the tail is a geometric series at most. */
static double tail_bound(double n, double x)
{
    const double a = acosh(n / x);
    return 2 * exp(-n * (a - tanh(a))) / -expm1(-a);
}

int64_t wisp__chebyshev_terms(double x, double tolerance)
{
    x = fabs(x);
    if (x == 0) return 1;
    int64_t low = (int64_t)x, high = low + 1; /* low is too few */
    while (!(tail_bound((double)high, x) <= tolerance)) {
        const int64_t step = high - (int64_t)x;
        low = high;
        high += step;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (tail_bound((double)middle, x) <= tolerance)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Miller's algorithm: the recurrence J_k-1 = (2k/x) J_k - J_k+1 downwards, from where J is nothing; then
   J_0^2 + 2 sum J_k^2 = 1. All of them in the time that jn() takes for one. */
void wisp__bessel(double x, int64_t n, double *J)
{
    static const double nothing = 1e-25, small = 1e-6;
    const double z = fabs(x);
    if (z < small) { /* two terms of the power series */
        double power = 1;
        for (int64_t k = 0; k < n; k++) {
            J[k] = power * (1 - z * z / (4 * (double)(k + 1)));
            power *= z / (2 * (double)(k + 1));
        }
    } else {
        const int64_t tail = wisp__chebyshev_terms(z, nothing);
        double above = 0, here = 1e-100, squares = 0;
        for (int64_t k = (tail > n ? tail : n) + 1; k >= 0; k--) {
            if (k < n) J[k] = here;
            squares += (k == 0 ? 1 : 2) * here * here;
            const double below = 2 * (double)k / z * here - above;
            above = here;
            here = below;
            if (fabs(here) < 1e100) continue;
            /* Far behind the tail the first ones are nothing beside those that come. */
            for (int64_t l = k; l < n; l++) J[l] *= 1e-200;
            above *= 1e-200, here *= 1e-200, squares *= 1e-200 * 1e-200;
        }
        const double scale = 1 / sqrt(squares);
        for (int64_t k = 0; k < n; k++) J[k] *= scale;
    }
    for (int64_t k = 1; x < 0 && k < n; k += 2) J[k] = -J[k];
}
