/* Chebyshev polynomials of a matrix, step by step; Jackson's damping; and the coefficients of the series of exp(-i x
   E): Bessel functions, also of complex x, and where their tail may be cut. */
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

/* The same for exp(-i z E - |Im z|) of a complex z. On the ellipse with foci -+1 and half axes cosh a, sinh a the
   function is at most exp(f - |Im z|), f^2 = (Im z cosh a)^2 + (Re z sinh a)^2, so that coefficient k is at most
   2 exp(f - |Im z| - k a) (Trefethen 2013, theorem 8.1), for each a. f is convex in a; this is the best a, which is
   that of Kapteyn's inequality for a real z. */
static double complex_tail_bound(double n, wisp_scalar z)
{
    const double r = fmax(hypot(z.re, z.im), 1e-100), c = fabs(z.im), ratio = n / r;
    const double u = ratio * ratio - 1, v = 2 * ratio * (c / r), root = hypot(u, v);
    const double square = u > 0 ? (u + root) / 2 : v * v / (2 * (root - u)); /* of sinh a */
    const double a = asinh(sqrt(square)), f = hypot(c, r * sqrt(square));
    if (!(a > 0)) return HUGE_VAL;
    return 2 * exp(r * (r * square / (f + c)) - n * a) / -expm1(-a);
}

static double tail_of(int64_t n, wisp_scalar z)
{
    return z.im == 0 ? tail_bound((double)n, z.re) : complex_tail_bound((double)n, z);
}

int64_t wisp__chebyshev_terms_of(wisp_scalar z, double tolerance)
{
    z.re = fabs(z.re);
    if (z.re == 0 && z.im == 0) return 1;
    const int64_t least = z.im == 0 ? (int64_t)z.re : 0;
    int64_t low = least, high = low + 1; /* low is too few */
    while (!(tail_of(high, z) <= tolerance)) {
        const int64_t step = high - least;
        low = high;
        high += step;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (tail_of(middle, z) <= tolerance)
            high = middle;
        else
            low = middle;
    }
    return high;
}

int64_t wisp__chebyshev_terms(double x, double tolerance)
{
    return wisp__chebyshev_terms_of((wisp_scalar){x, 0}, tolerance);
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
            for (int64_t l = k; l < n; l++) J[l] *= 1e-100;
            above *= 1e-100, here *= 1e-100, squares *= 1e-100 * 1e-100;
        }
        const double scale = 1 / sqrt(squares);
        for (int64_t k = 0; k < n; k++) J[k] *= scale;
    }
    for (int64_t k = 1; x < 0 && k < n; k += 2) J[k] = -J[k];
}

static wisp_scalar times(wisp_scalar a, wisp_scalar b)
{
    return (wisp_scalar){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static wisp_scalar inverse(wisp_scalar a)
{
    const double size = hypot(a.re, a.im);
    return (wisp_scalar){a.re / size / size, -a.im / size / size};
}

/* With y = -i z the series is that of exp(y E): coefficient k is (2 - delta_k0) I_k(y). Miller's algorithm again,
   I_k-1 = (2k/y) I_k + I_k+1, and then I_0 + 2 sum s^k I_k = exp(s y), with the sign s for which that is largest. */
void wisp__exponential_series(wisp_scalar z, int64_t n, wisp_scalar *c)
{
    static const double nothing = 1e-25, small = 1e-6, large = 1e100;
    const wisp_scalar y = {z.im, -z.re};
    const double size = hypot(y.re, y.im), sign = y.re < 0 ? -1 : 1, damping = exp(-fabs(y.re));
    if (size < small) { /* two terms of the power series */
        wisp_scalar power = {damping, 0};
        const wisp_scalar square = times(y, y);
        for (int64_t k = 0; k < n; k++) {
            const double next = 4 * (double)(k + 1), both = k == 0 ? 1 : 2;
            c[k] = times(power, (wisp_scalar){both * (1 + square.re / next), both * square.im / next});
            power = times(power, (wisp_scalar){y.re / (2 * (double)(k + 1)), y.im / (2 * (double)(k + 1))});
        }
        return;
    }
    const int64_t tail = wisp__chebyshev_terms_of(z, nothing);
    const wisp_scalar one_over = inverse(y);
    wisp_scalar above = {0, 0}, here = {1 / large, 0}, sum = {0, 0};
    for (int64_t k = (tail > n ? tail : n) + 1; k >= 0; k--) {
        const double both = k == 0 ? 1 : 2, turn = sign < 0 && k % 2 ? -both : both;
        if (k < n) c[k] = (wisp_scalar){both * here.re, both * here.im};
        sum = (wisp_scalar){sum.re + turn * here.re, sum.im + turn * here.im};
        const wisp_scalar step = times(one_over, here);
        const wisp_scalar below = {2 * (double)k * step.re + above.re, 2 * (double)k * step.im + above.im};
        above = here;
        here = below;
        if (hypot(here.re, here.im) < large) continue;
        const double down = 1 / large / large;
        for (int64_t l = k; l < n; l++) c[l] = (wisp_scalar){c[l].re * down, c[l].im * down};
        above.re *= down, above.im *= down, here.re *= down, here.im *= down, sum.re *= down, sum.im *= down;
    }
    const wisp_scalar scale = times((wisp_scalar){cos(y.im), sign * sin(y.im)}, inverse(sum));
    for (int64_t k = 0; k < n; k++) c[k] = times(c[k], scale);
}
