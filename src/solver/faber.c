/* Faber polynomials of an ellipse, of a matrix whose numerical range lies in it, and the series of exp(-i t A) in them.

   The ellipse with center c and half axes p along the real and q along the imaginary direction is the image of the unit
   circle under c + r (u + k/u), with the capacity r = (p + q)/2 and k = (p - q)/(p + q). Its Faber polynomials are
   F_n = u^n + (k/u)^n for n > 0, and F_0 = 1 (Chebyshev's T_n for q = 0, doubled but for the first):

     F_n+1 = ((A - c)/r) F_n - k F_n-1,   with 2 k in the place of k for n = 1.

   |F_n(A)| <= 2 for a numerical range inside (Beckermann, C. R. Acad. Sci. Paris 340, 855 (2005)), so that a series is
   off by twice the sum of the coefficients that are left out at most (Beckermann and Reichel, SIAM J. Numer. Anal. 47,
   3849 (2009)). The coefficients of exp(-i t (z - c)) are (-i)^n j_n of

     exp(-i t r (u + k/u)) = sum over n of (-i)^n j_n u^n,   j_n = k^(-n/2) J_n(2 t r sqrt k). */
#include "solver.h"
#include <math.h>

void wisp__faber_step(const wisp__ellipse *e, int64_t m, wisp_scalar *alpha, wisp_scalar *beta, wisp_scalar *gamma)
{
    const double kappa = (e->p - e->q) / (e->p + e->q);
    *alpha = wisp__real(2 / (e->p + e->q));
    *beta = wisp__real(m == 0 ? 0 : m == 1 ? -2 * kappa : -kappa);
    *gamma = e->center;
}

/* On the circle |u| = R > 1 |exp(-i t (z - c))| is at most exp(t r (R - k/R)), so that coefficient n is at most that
   over R^n (Cauchy), and the tail a geometric series. This R makes the first of them least. */
static double tail_of(double n, double a, double c, double most)
{
    if (!(n > a)) return HUGE_VAL;
    const double R = (n + sqrt((n - a) * (n + a) + c * c)) / (a + c);
    if (!(R > 1)) return HUGE_VAL;
    return 2 * exp((a + c) / 2 * R - (a - c) / 2 / R - most - n * log(R)) * (R / (R - 1));
}

int64_t wisp__faber_terms(double a, double c, double most, double tolerance)
{
    if (!(a + c > 0)) return 1;
    const int64_t least = (int64_t)a;
    int64_t low = least, high = low + 1; /* low is too few */
    while (!(tail_of((double)high, a, c, most) <= tolerance)) {
        const int64_t step = high - least;
        low = high;
        high += step;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (tail_of((double)middle, a, c, most) <= tolerance)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Miller's algorithm, as for Bessel functions: j_n-1 = (n/x) j_n - k j_n+1 downwards, x = t r, from where j is nothing.
   Then the sum over all n, also negative ones, of k^n j_n^2 is 1 for k >= 0, and that of |k|^(n/2) j_n is exp(2 x
   sqrt |k|) for k < 0: no terms of either cancel. */
void wisp__faber_series(double a, double c, int64_t n, double *j)
{
    static const double nothing = 1e-30, small = 1e-6, large = 1e100;
    const double x = (a + c) / 2, kappa = a + c > 0 ? (a - c) / (a + c) : 0, root = sqrt(fabs(kappa));
    if (x < small) { /* two terms of the power series */
        double power = exp(-c);
        for (int64_t k = 0; k < n; k++) {
            j[k] = power * (1 - kappa * x * x / (double)(k + 1));
            power *= x / (double)(k + 1);
        }
        return;
    }
    const int64_t tail = wisp__faber_terms(a, c, c, nothing);
    double above = 0, here = 1, sum = 0;
    for (int64_t k = (tail > n ? tail : n) + 1; k >= 0; k--) {
        const double both = k == 0 ? 1 : 2, part = pow(root, (double)k) * here;
        if (k < n) j[k] = here;
        sum += both * (kappa < 0 ? part : part * part);
        const double below = (double)k / x * here - kappa * above;
        above = here;
        here = below;
        if (fabs(here) < large) continue;
        const double down = 1 / large; /* whose square is a number, too: what is summed so far may count */
        for (int64_t l = k; l < n; l++) j[l] *= down; /* far behind the peak they are nothing beside it */
        above *= down, here *= down, sum *= kappa < 0 ? down : down * down;
    }
    const double scale = kappa < 0 ? exp(2 * x * root - c) / sum : exp(-c) / sqrt(sum);
    for (int64_t k = 0; k < n; k++) j[k] *= scale;
}
