/* The nearest image of a row in a periodic cell (image.h). */
#include "image.h"
#include <math.h>
#include <string.h>

enum { AROUND = 2 }; /* so far images are looked for, in vectors of the reduced cell */
#define SAME 1e-6    /* lengths are equal up to that: positions in files have few digits */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Makes each vector as short as the others allow (Gauss's reduction, pair by pair). */
static void reduce(wisp__image *m)
{
    enum { MOST = 1000 };
    bool shorter = true;
    for (int round = 0; round < MOST && shorter; round++) {
        shorter = false;
        for (int i = 0; i < m->vectors; i++)
            for (int j = 0; j < m->vectors; j++) {
                const double n = i == j ? 0 : rint(dot(m->v[i], m->v[j]) / dot(m->v[j], m->v[j]) * (1 - 1e-12));
                for (int d = 0; d < 3; d++) m->v[i][d] -= n * m->v[j][d];
                shorter |= n != 0;
            }
    }
}

static void find_dual(const double v[3][3], int vectors, double dual[3][3])
{
    double g[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < vectors; i++)
        for (int j = 0; j < vectors; j++) g[i][j] = dot(v[i], v[j]);
    double c[3][3], det = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[i][j] = g[(i + 1) % 3][(j + 1) % 3] * g[(i + 2) % 3][(j + 2) % 3] -
                      g[(i + 1) % 3][(j + 2) % 3] * g[(i + 2) % 3][(j + 1) % 3];
    for (int j = 0; j < 3; j++) det += g[0][j] * c[0][j];
    for (int i = 0; i < vectors; i++)
        for (int j = 0; j < vectors; j++)
            for (int d = 0; d < 3; d++) dual[i][d] += c[i][j] / det * v[j][d];
}

/* Image number k of so many around; false: all were there. */
static bool around(const wisp__image *m, int k, double shift[3])
{
    enum { SIDE = 2 * AROUND + 1 };
    memset(shift, 0, sizeof(double[3]));
    for (int i = 0; i < m->vectors; i++, k /= SIDE)
        for (int d = 0; d < 3; d++) shift[d] += (k % SIDE - AROUND) * m->v[i][d];
    return k == 0;
}

/* Whether a shift by a vector of the cell is seen along the direction. */
static bool leads_along(const wisp__image *m, const double shift[3])
{
    const double all = dot(m->direction, m->direction), length = dot(shift, shift);
    return all == 0 || fabs(dot(m->direction, shift)) > SAME * sqrt(all * length);
}

void wisp__image_make(wisp__image *m, const wisp_positions *p, const double direction[3])
{
    double shift[3];
    *m = (wisp__image){.p = *p, .half = INFINITY};
    if (direction) memcpy(m->direction, direction, sizeof m->direction);
    for (int i = 0; i < p->dimensions; i++)
        if (p->periodic >> i & 1) {
            m->number[m->vectors] = i;
            memcpy(m->v[m->vectors++], p->cell[i], sizeof m->v[0]);
        }
    find_dual((const double(*)[3])m->v, m->vectors, m->given);
    reduce(m);
    find_dual((const double(*)[3])m->v, m->vectors, m->dual);
    for (int k = 0; around(m, k, shift); k++) {
        const double length = dot(shift, shift);
        if (length > 0 && leads_along(m, shift)) m->half = fmin(m->half, sqrt(length) / 2);
    }
}

wisp__image_result wisp__image_step(const wisp__image *m, int64_t from, int64_t to, double step[3])
{
    double a[3], b[3], d[3], n[3] = {0}, shift[3], nearest = INFINITY;
    if (m->p.at(m->p.arg, from, a) || m->p.at(m->p.arg, to, b)) return WISP__IMAGE_FAILED;
    for (int k = 0; k < 3; k++) d[k] = b[k] - a[k];
    for (int i = 0; i < m->vectors; i++) n[i] = rint(dot(m->dual[i], d));
    for (int i = 0; i < m->vectors; i++)
        for (int k = 0; k < 3; k++) d[k] -= n[i] * m->v[i][k];
    if (!isfinite(d[0]) || !isfinite(d[1]) || !isfinite(d[2])) return WISP__IMAGE_FAILED;
    memcpy(step, d, sizeof d);
    if (m->vectors == 0 || sqrt(dot(d, d)) < m->half * (1 - SAME)) return WISP__IMAGE_FOUND;
    for (int k = 0; around(m, k, shift); k++) {
        const double e[3] = {d[0] + shift[0], d[1] + shift[1], d[2] + shift[2]};
        if (dot(e, e) < nearest * (1 - SAME)) nearest = dot(memcpy(step, e, sizeof e), e);
    }
    for (int k = 0; around(m, k, shift); k++) {
        const double e[3] = {d[0] + shift[0], d[1] + shift[1], d[2] + shift[2]};
        const double other[3] = {e[0] - step[0], e[1] - step[1], e[2] - step[2]};
        if (dot(other, other) > SAME * nearest && dot(e, e) <= nearest * (1 + 2 * SAME) && leads_along(m, other))
            return WISP__IMAGE_AMBIGUOUS;
    }
    return WISP__IMAGE_FOUND;
}
