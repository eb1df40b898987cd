/* Values of each vector to one value and its error. */
#include "solver.h"
#include <math.h>

wisp__chosen wisp__choose(const wisp_moments *m, int64_t vector)
{
    return vector < 0 ? (wisp__chosen){0, m->vectors, m->trace} : (wisp__chosen){vector, 1, m->trace};
}

/* By a power of 2 values are of size 1 meanwhile, so that no square is too large, or nothing. */
double wisp__combine(const wisp__chosen *c, const double *value, int64_t stride, double *error)
{
    enum { MOST = 1000 };
    double sum = 0, squares = 0, count = (double)c->count, largest = 0;
    int e = 0;
    for (int64_t i = 0; i < c->count; i++) largest = fmax(largest, fabs(value[i * stride]));
    if (isfinite(largest)) frexp(largest, &e);
    e = e < -MOST ? -MOST : e > MOST ? MOST : e;
    const double down = ldexp(1, -e);
    for (int64_t i = 0; i < c->count; i++) sum += down * value[i * stride];
    if (c->trace != WISP_TRACE_RANDOM) {
        if (error) *error = 0;
        return ldexp(sum, e);
    }
    for (int64_t i = 0; i < c->count; i++) {
        const double d = down * value[i * stride] - sum / count;
        squares += d * d;
    }
    if (error) *error = c->count > 1 ? ldexp(sqrt(squares / (count - 1) / count), e) : (double)NAN;
    return ldexp(sum / count, e);
}
