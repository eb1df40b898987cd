/* The cubic spline through the points of a table: its second derivatives there. At both ends the third derivative does
   not jump at the last point but one ("not a knot"), so that nothing has to be known of slopes. */
#include "drives.h"
#include <math.h>

/* Gauss's elimination of a tridiagonal system for the points between the ends. The diagonal is dominant. */
bool spline_fit(int64_t n, const double *x, const double *y, double *second, double *above)
{
    const double first = (x[1] - x[0]) / (x[2] - x[1]);
    const double last = (x[n - 1] - x[n - 2]) / (x[n - 2] - x[n - 3]);
    for (int64_t i = 1; i < n - 1; i++) {
        const double a = x[i] - x[i - 1], b = x[i + 1] - x[i];
        double below = a, diagonal = 2 * (a + b), right = 6 * ((y[i + 1] - y[i]) / b - (y[i] - y[i - 1]) / a);
        above[i] = b;
        if (i == 1) diagonal += a * (1 + first), above[i] -= a * first;
        if (i == n - 2) diagonal += b * (1 + last), below -= b * last;
        if (i > 1) {
            diagonal -= below * above[i - 1];
            right -= below * second[i - 1];
        }
        above[i] /= diagonal;
        second[i] = right / diagonal;
    }
    for (int64_t i = n - 3; i > 0; i--) second[i] -= above[i] * second[i + 1];
    second[0] = (1 + first) * second[1] - first * second[2];
    second[n - 1] = (1 + last) * second[n - 2] - last * second[n - 3];
    bool finite = true;
    for (int64_t i = 0; i < n; i++) finite = finite && isfinite(second[i]);
    return finite;
}

double spline_bend(double width, double part, double second_left, double second_right)
{
    const double rest = 1 - part;
    return width * width / 6 * ((rest * rest * rest - rest) * second_left + (part * part * part - part) * second_right);
}
