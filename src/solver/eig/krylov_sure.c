/* Krylov-Schur: whether a search from random vectors may have missed a value that counts.

   All products and restarts of a search make its last vector w = Q(A) v / c of its first one, v, of length 1: Q's zeros
   are the Ritz values that restarts left out and those of V, and c is the product of the lengths that the new vectors
   had before they were normalized. So, y being a left eigenvector of length 1 of a value z, |y^H v| |Q(z)| <= c,
   whether A is normal or not: v has next to nothing of any value where |Q| is large beside c. It is random: less than
   1e-6 / sqrt(rows) it has with a chance of 1e-6. Values that count lie on one side of a line, or outside a circle, and
   all zeros on the other one, so that |Q| is least on the line, or on the circle, itself. That is cut into parts.
   Along a part the logarithm of the distance from a zero is concave, and so least at one of its ends, but for zeros
   that are near: of these the least distance counts. With blocks of several vectors c is the product of their volumes,
   and the bound one of the mean over as many vectors. */
#include "krylov_schur.h"
#include <string.h>

/* Op's values that count lie beyond `edge`. All of the search is forgotten. */
void wisp__schur_outline(wisp__schur *K, double edge)
{
    const wisp__op *op = &K->a.op;
    wisp__outline *o = &K->outline;
    const double angle = op->degree > 1 ? acosh(fmax((edge - op->center) / op->scale, 1)) : 0;
    memset(K->parts, 0, WISP__PARTS * sizeof *K->parts);
    *o = (wisp__outline){.set = 1, .line = op->degree == 1 && K->k->o.which == WISP_EIG_LARGEST_REAL, .edge = edge};
    if (op->degree > 1) o->edge = sinh(op->degree * angle); /* within the ellipse */
    for (int i = 0; i < K->a.active; i++) o->ends = fmax(o->ends, fabs(K->mu[i].im));
}

/* ---- a zero and a part ------------------------------------------------------------------------------------ */

typedef struct {
    double from, to; /* the part's ends, from the point of the line or circle that is nearest to the zero on */
    double gap;      /* from the zero to that point */
    double bend;     /* circle: twice the root of both radii's product; line: below 0 */
    double concave;  /* from here on */
} zero_part;

static double distance(const zero_part *p, double at)
{
    return hypot(p->gap, p->bend < 0 ? at : p->bend * sin(at / 2));
}

static zero_part of_line(const wisp__outline *o, wisp_scalar zero, int i)
{
    const double width = 2 * o->ends / WISP__PARTS, gap = o->edge - zero.re, from = i * width - o->ends - zero.im;
    return (zero_part){i == 0 ? -INFINITY : from, i == WISP__PARTS - 1 ? INFINITY : from + width, gap, -1, gap};
}

static zero_part of_circle(const wisp__outline *o, wisp_scalar zero, int i)
{
    const double width = 2 * M_PI / WISP__PARTS, size = hypot(zero.re, zero.im), r = o->edge,
                 middle = remainder((i + 0.5) * width - atan2(zero.im, zero.re), 2 * M_PI),
                 flat = acos(fmin(2 * r * size / (r * r + size * size), 1));
    return (zero_part){middle - width / 2, middle + width / 2, r - size, 2 * sqrt(r * size), flat};
}

static void add(const wisp__outline *o, wisp_scalar zero, int i, wisp__outline_part *sum)
{
    const zero_part p = o->line ? of_line(o, zero, i) : of_circle(o, zero, i);
    const double nearest = p.from > 0 ? p.from : p.to < 0 ? -p.to : 0;
    if (nearest < p.concave || nearest == 0) {
        sum->near += log(distance(&p, nearest));
        return;
    }
    /* An end that lies infinitely far is no nearer than the other one. */
    sum->end[0] += log(distance(&p, isfinite(p.from) ? p.from : p.to));
    sum->end[1] += log(distance(&p, isfinite(p.to) ? p.to : p.from));
}

static bool is_within(const wisp__outline *o, wisp_scalar zero)
{
    return o->line ? zero.re < o->edge : hypot(zero.re, zero.im) < o->edge;
}

/* ---- a search --------------------------------------------------------------------------------------------- */

void wisp__schur_left_out(wisp__schur *K, int from)
{
    wisp__outline *o = &K->outline;
    if (!o->set) return;
    for (int j = from; j < K->a.active; j++) {
        o->crossed |= !is_within(o, K->mu[j]);
        for (int i = 0; i < WISP__PARTS && !o->crossed; i++) add(o, K->mu[j], i, &K->parts[i]);
    }
}

bool wisp__schur_sure(const wisp__schur *K)
{
    const wisp__outline *o = &K->outline;
    bool within = o->set && !o->crossed;
    for (int j = 0; j < K->a.active; j++) within &= is_within(o, K->mu[j]);
    if (!within) return false;
    double least = INFINITY;
    for (int i = 0; i < WISP__PARTS; i++) {
        wisp__outline_part sum = K->parts[i];
        for (int j = 0; j < K->a.active; j++) add(o, K->mu[j], i, &sum);
        least = fmin(least, fmin(sum.end[0], sum.end[1]) + sum.near);
    }
    return least - K->a.lengths > K->a.block * log(sqrt((double)K->k->rows) / wisp__overlooked);
}
