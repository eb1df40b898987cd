/* A diagonal D of powers of two with which D^-1 A D is nearer to normal: its values are those of A, but rounding moves
   them less. LAPACK's gebal compares a row with its column and goes no further than its neighbours in a step: along a
   chain, as of Hatano and Nelson's model, it stops at once. Here first each pair a_ij, a_ji of a spanning forest of the
   largest pairs becomes equal; that alone makes a matrix symmetric that any D does. Then Osborne's steps (J. ACM 7,
   338, 1960) make each row and its column equally long. */
#include "arnoldi.h"
#include "dense.h"

enum { STEPS = 20, LEAST = 4, MOST = 480 }; /* MOST: of a pair of numbers as far apart as D^2 both have all digits */

/* log(|h_ij|), -INFINITY of 0. */
static double log_of(int n, const wisp_scalar *H, int i, int j)
{
    const wisp_scalar h = H[(size_t)i * (size_t)n + (size_t)j];
    return log(hypot(h.re, h.im));
}

/* x[n]: with D = exp(x) the pairs of a spanning forest of largest |h_ij h_ji| have equal numbers (Prim). near[n],
   best[n] are room. */
static void forest(int n, const wisp_scalar *H, double *x, int *near, double *best)
{
    for (int j = 0; j < n; j++) best[j] = -INFINITY, near[j] = -1; /* near n + i: j hangs on i already */
    for (int taken = 0; taken < n; taken++) {
        int next = -1;
        for (int j = 0; j < n; j++)
            if (near[j] < n && (next < 0 || best[j] > best[next])) next = j;
        const int from = near[next];
        x[next] = from < 0 ? 0 : x[from] + (log_of(n, H, next, from) - log_of(n, H, from, next)) / 2;
        near[next] = n;
        for (int j = 0; j < n; j++) {
            if (near[j] == n) continue;
            const double pair = log_of(n, H, next, j) + log_of(n, H, j, next);
            if (pair > best[j]) best[j] = pair, near[j] = next;
        }
    }
}

/* The numbers of x come to lie about 0; false: they are too far from each other. */
static bool center(int n, double *x)
{
    double low = x[0], high = x[0];
    for (int i = 1; i < n; i++) low = fmin(low, x[i]), high = fmax(high, x[i]);
    for (int i = 0; i < n; i++) x[i] -= (low + high) / 2;
    return high - low < MOST * M_LN2;
}

/* One of Osborne's steps for each row; size[n * n]: |h_ij| over the largest one. How far the largest step goes. */
static double steps(int n, const double *size, double *x, double *d)
{
    double most = 0;
    for (int i = 0; i < n; i++) d[i] = exp(x[i]);
    for (int i = 0; i < n; i++) {
        double row = 0, column = 0;
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            const double r = size[(size_t)i * (size_t)n + (size_t)j] * d[j] / d[i],
                         c = size[(size_t)j * (size_t)n + (size_t)i] * d[i] / d[j];
            row += r * r, column += c * c;
        }
        const double step = row > 0 && column > 0 ? log(row / column) / 4 : 0; /* x_i alone would go without end */
        x[i] += step;
        d[i] = exp(x[i]);
        most = fmax(most, fabs(step));
    }
    return most;
}

/* exponent[n], the largest one 0, of the D for these sizes. */
static void exponents(int n, const double *size, double *x, double *d, double *exponent)
{
    bool fits = center(n, x);
    for (int s = 0; s < STEPS && fits; s++) {
        const double most = steps(n, size, x, d);
        fits = center(n, x);
        if (most < 0.1) break;
    }
    double high = -INFINITY;
    for (int i = 0; i < n; i++) exponent[i] = fits ? round(x[i] / M_LN2) : 0, high = fmax(high, exponent[i]);
    for (int i = 0; i < n; i++) exponent[i] -= high;
}

/* The same of numbers, and the range of the exponents that were found. */
static int apply(int n, const double *exponent, wisp_scalar *H)
{
    double range = 0;
    for (int i = 0; i < n; i++) range = fmax(range, -exponent[i]);
    for (int i = 0; i < n && range >= LEAST; i++)
        for (int j = 0; j < n; j++) {
            wisp_scalar *h = H + (size_t)i * (size_t)n + (size_t)j;
            const int by = (int)(exponent[j] - exponent[i]);
            h->re = ldexp(h->re, by), h->im = ldexp(h->im, by);
        }
    return range < LEAST ? 0 : (int)range;
}

wisp_status wisp__balance(wisp_ctx *ctx, int n, wisp_scalar *H, double *exponent, int *range)
{
    wisp_status status = WISP_OK;
    const size_t rows = (size_t)n;
    double *size = NULL, most = 0;
    int *near = NULL, info = 0;
    *range = 0;
    if (wisp_ctx_rank(ctx) == 0) { /* libraries of others may round otherwise */
        WISP_TRY(wisp_alloc(ctx, &size, rows * (rows + 2), sizeof *size));
        WISP_TRY(wisp_alloc(ctx, &near, rows, sizeof *near));
        double *x = size + rows * rows, *d = x + rows;
        for (size_t i = 0; i < rows * rows; i++) size[i] = hypot(H[i].re, H[i].im), most = fmax(most, size[i]);
        for (size_t i = 0; i < rows * rows && most > 0; i++) size[i] /= most;
        forest(n, H, x, near, d);
        exponents(n, size, x, d, exponent);
    }
out:
    wisp_free(ctx, size);
    wisp_free(ctx, near);
    info = (int)status;
    const wisp_status shared = wisp__dense_share(ctx, exponent, rows, &info);
    if (status == WISP_OK) status = shared != WISP_OK ? shared : (wisp_status)info;
    if (status == WISP_OK) *range = apply(n, exponent, H);
    return status;
}
