/* Evolution under A = H - iW, which need not be Hermitian. The numerical range of A lies in the rectangle of the bounds
   of H and of -W, and so in each ellipse around its corners, whose Faber polynomials (faber.c) are bounded. With w the
   end of the bounds of W where exp(-t w) is largest, |exp(-i t A)| <= exp(-t w) (the logarithmic norm).

   In an ellipse that is higher than the rectangle by q - b coefficients are larger than the sum by up to exp(t (q -
   b)), which costs digits; one that is as high is very long, and costs terms. So long times go in steps, and the
   ellipse and the steps are those that take fewest terms, as far as rounding allows.

   An error stays what it was, but for exp(-t w), and each sequence adds its own, over the norm that psi has where it
   begins. */
#include "evolve.h"
#include <math.h>

static const double most_exponent = 300;  /* of what the coefficients of a sequence span */
static const double truncated = 1.0 / 16; /* of the tolerance, for all series; the rest is for rounding */

static double epsilon(wisp_type type) { return wisp__is_single(type) ? FLT_EPSILON : DBL_EPSILON; }
/* Numbers of the type below this may become 0. */
static double tiny(wisp_type type) { return wisp__is_single(type) ? FLT_MIN : DBL_MIN; }

double wisp__absorbed_growth(const wisp__absorbed *s, double time)
{
    return -s->center * s->scale * time + s->halfwidth * fabs(s->scale * time);
}

int64_t wisp__absorbed_terms(const wisp__absorbed *s, double time)
{
    const double t = fabs(s->scale * time);
    return wisp__faber_terms(t * s->ellipse.p, t * s->ellipse.q, t * s->halfwidth, s->share);
}

/* About: of each term, where all roundings of an entry add up, with coefficients that are larger than the sum, and of
 * the phase of the center. */
static double rounded(const wisp__absorbed *s, wisp_type type, double t, double terms)
{
    const double center = hypot(s->ellipse.center.re, s->ellipse.center.im);
    return epsilon(type) * (4 + center * t + terms * exp(t * (s->ellipse.q - s->halfwidth)));
}

double wisp__absorbed_made(const wisp__absorbed *s, wisp_type type, double time, double roundings)
{
    return s->share + roundings * rounded(s, type, fabs(s->scale * time), (double)wisp__absorbed_terms(s, time));
}

/* ---- which ellipse, and which steps ----------------------------------------------------------------- */

/* All times: the way from one to the next in all, and as much of it as one sequence may have to go. */
typedef struct {
    double path, reach;
} ways;

static ways ways_of(const wisp_evolve_opts *o, int64_t times, const double *time)
{
    const double scale = fabs(o->direction.re);
    ways w = {0};
    double base = o->start_time;
    for (int64_t i = 0; i < times; i++) {
        const double step = scale * fabs(time[i] - base);
        w.path += step;
        w.reach = fmax(w.reach, step);
        base = time[i];
    }
    w.reach = fmin(w.path, w.reach * (o->at_once ? o->at_once : WISP__MOST_AT_ONCE));
    return w;
}

/* With this ellipse and an exponent q - b of so much: the time of a sequence, its terms over time, and all rounding. */
typedef struct {
    double longest, share, cost, rounding;
} choice;

static choice try_ellipse(const wisp__absorbed *s, const wisp_evolve_opts *o, wisp_type type, int64_t times,
                          const ways *w, double exponent)
{
    wisp__absorbed with = *s;
    const double more = s->ellipse.q - s->halfwidth, q = s->ellipse.q;
    double step = w->reach;
    if (more > 0) step = fmin(step, exponent / more);
    if (q > 0) step = fmin(step, most_exponent / q);
    step = w->reach / ceil(w->reach / step);
    const double sequences = (double)times + ceil(w->path / step);
    with.share = truncated * o->tolerance / sequences;
    if (!(step * (s->ellipse.p + q) < 1 / DBL_EPSILON)) return (choice){.rounding = HUGE_VAL};
    const double terms = (double)wisp__faber_terms(step * s->ellipse.p, step * q, step * s->halfwidth, with.share);
    return (choice){step, with.share, terms / step, rounded(s, type, step, terms) * (w->path / step)};
}

/* The ellipse is wide enough for the rounding of entries and products, also where the ends of both parts are nothing
   else. */
static void floor_halfwidths(double *h, double *b, wisp_scalar center, double path, wisp_type type)
{
    const double rounding = 4 * epsilon(type) * hypot(center.re, center.im);
    if (*h > 0) *h += rounding;
    if (*b > 0) *b += rounding;
    const double least = 1e-6 * hypot(center.re, center.im);
    if (fmax(*h, *b) < least) *h = least;
    if (*h == 0 && *b == 0) *h = path > 0 ? 1 / path : 1;
}

wisp_status wisp__absorbed_choose(wisp__absorbed *s, wisp_ctx *ctx, const wisp_evolve_opts *o, const wisp_bounds *H,
                                  const wisp_bounds *W, wisp_type type, int64_t times, const double *time)
{
    enum { HEIGHTS = 64, EXPONENTS = 8 };
    static const double exponents[EXPONENTS] = {0.125, 0.25, 0.5, 1, 2, 3, 4.5, 7};
    const ways w = ways_of(o, times, time);
    const wisp_scalar center = {H->center, -W->center};
    const double for_rounding = (1 - truncated) * o->tolerance;
    double h = H->halfwidth, b = W->halfwidth;
    floor_halfwidths(&h, &b, center, w.path, type);
    wisp__absorbed best = {.on = true, .scale = o->direction.re, .center = W->center, .halfwidth = b};
    best.start = s->start, best.base = s->base, best.off = s->off, best.counted = s->counted, best.width = s->width;
    wisp__absorbed now = best;
    choice found = {.rounding = HUGE_VAL, .cost = HUGE_VAL};
    for (int i = 0; i < HEIGHTS; i++) {
        /* (h/p)^2 + (b/q)^2 = 1 */
        const bool flat = h == 0 || b == 0;
        const double higher = flat ? 1 : 1 + pow(10, (i - HEIGHTS / 2) / 8.0),
                     wider = flat ? 1 : 1 / sqrt((1 - 1 / higher) * (1 + 1 / higher));
        now.ellipse = (wisp__ellipse){center, h * wider, b * higher};
        for (int j = 0; j < EXPONENTS; j++) {
            if (w.path == 0) {
                *s = now, s->longest = 1, s->share = truncated * o->tolerance;
                return WISP_OK;
            }
            const choice c = try_ellipse(&now, o, type, times, &w, exponents[j]);
            const bool allowed = c.rounding <= for_rounding, was = found.rounding <= for_rounding;
            if (allowed && was ? c.cost >= found.cost : c.rounding >= found.rounding) continue;
            found = c;
            best = now, best.longest = c.longest * (1 + 1e-12) / fabs(o->direction.re), best.share = c.share;
        }
    }
    *s = best;
    if (found.rounding <= for_rounding) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                          "evolve: opts.tolerance, %g, can't be met: over this time rounding alone makes about %.1g in "
                          "%s",
                          o->tolerance, found.rounding, wisp_type_name(type));
}

wisp_status wisp__absorbed_series(const wisp__absorbed *s, wisp_ctx *ctx, double time, int64_t n, wisp_scalar *c)
{
    const double t = s->scale * time, a = fabs(t) * s->ellipse.p, q = fabs(t) * s->ellipse.q;
    const double phase = s->ellipse.center.re * t, size = exp(q - s->center * t), sign = t < 0 ? 1 : -1;
    const wisp_scalar first = {size * cos(phase), -size * sin(phase)};
    double *j;
    const wisp_status status = wisp_alloc(ctx, &j, (size_t)n, sizeof *j);
    if (status != WISP_OK) return status;
    wisp__faber_series(a, q, n, j);
    for (int64_t k = 0; k < n; k++) {
        const wisp_scalar turned[] = {{first.re, first.im},
                                      {-sign * first.im, sign * first.re},
                                      {-first.re, -first.im},
                                      {sign * first.im, -sign * first.re}}; /* times (sign i)^k */
        c[k] = (wisp_scalar){j[k] * turned[k % 4].re, j[k] * turned[k % 4].im};
    }
    wisp_free(ctx, j);
    return WISP_OK;
}

/* ---- errors ------------------------------------------------------------------------------------------- */

wisp_status wisp__absorbed_open(wisp__absorbed *s, wisp_ctx *ctx, int width)
{
    const wisp_status status = wisp_alloc(ctx, &s->start, 4 * (size_t)width, sizeof *s->start);
    if (status != WISP_OK) return status;
    s->base = s->start + width;
    s->off = s->base + width;
    s->counted = s->off + width;
    s->width = width;
    return WISP_OK;
}

void wisp__absorbed_close(wisp__absorbed *s, wisp_ctx *ctx) { wisp_free(ctx, s->start); }

wisp_status wisp__absorbed_begin(wisp__absorbed *s, wisp_blk *psi, double off)
{
    const wisp_status status = wisp_norm(psi, s->start);
    for (int j = 0; j < s->width && status == WISP_OK; j++) {
        s->base[j] = s->start[j];
        s->off[j] = s->counted[j] = off * s->start[j];
    }
    return status;
}

wisp_status wisp__absorbed_check(const wisp__absorbed *s, const wisp_blk *v, double *norm)
{
    enum { MOST = 4 }; /* 2, and as much for rounding */
    const double least = tiny(wisp_blk_type(v)) * 1e6;
    const wisp_status status = wisp_norm(v, norm);
    if (status != WISP_OK) return status;
    for (int j = 0; j < s->width; j++) {
        if (norm[j] <= MOST * s->base[j] + least) continue;
        return wisp_ctx_failf(wisp_blk_ctx(v), WISP_ERR_BOUNDS,
                              "a Faber vector of column %d grows from norm %.6g to %.6g: the matrix reaches beyond the "
                              "bounds of its parts; take wider opts.bounds or opts.absorption",
                              j, s->base[j], norm[j]);
    }
    return WISP_OK;
}

static wisp_status not_met(const wisp__absorbed *s, const wisp_blk *z, int j, double at, double off, double tolerance)
{
    return wisp_ctx_failf(
        wisp_blk_ctx(z), WISP_ERR_PRECISION,
        "evolve: column %d is off by about %.1g of psi(0) at time %g, more than opts.tolerance, %g, of "
        "what the norm may be; take a larger one, or a shorter time%s",
        j, off / s->start[j], at, tolerance, wisp__is_single(wisp_blk_type(z)) ? ", or double precision" : "");
}

wisp_status wisp__absorbed_take(wisp__absorbed *s, const wisp_evolve_opts *o, wisp_blk *z, int64_t i, double at,
                                double passed, bool keep, double *norm)
{
    wisp_ctx *ctx = wisp_blk_ctx(z);
    const wisp_type type = wisp_blk_type(z);
    const double grown = exp(wisp__absorbed_growth(s, passed)),
                 made = wisp__absorbed_made(s, type, passed, WISP__ROUNDING_MOST),
                 once = wisp__absorbed_made(s, type, passed, 1), terms = (double)wisp__absorbed_terms(s, passed),
                 rows = (double)wisp_map_rows(wisp_blk_map(z)),
                 most = fmax(1, exp(wisp__absorbed_growth(s, at - o->start_time)));
    double worst = 0;
    const wisp_status status = wisp_norm(z, norm);
    if (status != WISP_OK) return status;
    for (int j = 0; j < s->width; j++) {
        if (s->start[j] == 0) continue; /* it stays 0 */
        /* Coefficients and entries that become 0 count, too: of A x, which is taken over the capacity of the ellipse,
           in each term, and in all behind it. */
        const double over = fmax(1, 2 / (s->ellipse.p + s->ellipse.q)),
                     larger = fmax(1, grown * exp(fabs(s->scale * passed) * (s->ellipse.q - s->halfwidth)));
        const double lost = terms * tiny(type) * (terms * sqrt(rows) * over * larger + 4 * s->base[j]);
        const double off = grown * (s->off[j] + made * s->base[j]) + lost, told = off > 0 ? off / s->start[j] : 0,
                     counted = grown * (s->counted[j] + once * s->base[j]) + lost;
        if (!isfinite(norm[j]) || !isfinite(off))
            return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                                  "evolve: the norm of column %d may grow beyond all numbers of %s at time %g", j,
                                  wisp_type_name(type), at);
        if (norm[j] > grown * s->base[j] * (1 + 10 * made) + 10 * lost)
            return wisp_ctx_failf(
                ctx, WISP_ERR_BOUNDS,
                "evolve: the norm of column %d goes from %.6g to %.6g at time %g, more than the bounds "
                "of W allow; take wider opts.bounds and opts.absorption",
                j, s->base[j], norm[j], at);
        if (i >= 0 && !(counted / s->start[j] <= (o->tolerance + o->start_off) * most))
            return not_met(s, z, j, at, counted, o->tolerance);
        worst = fmax(worst, told);
        if (i >= 0 && o->log_norm) o->log_norm[i * s->width + j] = log(norm[j]);
        if (keep) s->base[j] = norm[j], s->off[j] = off, s->counted[j] = counted;
    }
    if (i >= 0 && o->off) o->off[i] = worst;
    return WISP_OK;
}

wisp_status wisp__absorbed_items(wisp__absorbed *s, wisp_state *state, wisp__evolve_group *g)
{
    wisp_status status;
    double way[WISP__MOST_AT_ONCE + 1];
    for (int i = 0; i < WISP__MOST_AT_ONCE; i++) way[i] = g->at[i];
    way[WISP__MOST_AT_ONCE] = g->between;
    WISP_TRY(wisp_state_data(state, "absorbed", s->start, 4 * (size_t)s->width * sizeof *s->start));
    WISP_TRY(wisp_state_data(state, "times at once", way, sizeof way));
    for (int i = 0; i < WISP__MOST_AT_ONCE; i++) g->at[i] = way[i];
    g->between = way[WISP__MOST_AT_ONCE] != 0;
out:
    return status;
}
