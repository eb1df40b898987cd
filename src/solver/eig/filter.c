/* Filters. A search space of N_S random columns, filtered by p, holds the eigenvector of E up to an angle theta with
   tan^2 theta = sum of p(E_j)^2 over j > k / (p(E)^2 (N_S - k - 1)), about, where the E_j are in the order of falling
   |p|, for any k < N_S (Halko, Martinsson and Tropp 2011, SIAM Rev. 53, 217, theorem 10.5); each further round divides
   it by p(E) / max |p(E_j)|, j > N_S. */
#include "filter.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- T_d alone: outside the target and a gap around it |T_d| <= 1, inside it grows fastest ----------- */

/* Shares of the search space that the gap holds. */
static const double share[] = {0.6, 0.75, 0.85, 0.95};
enum { SHARES = sizeof share / sizeof *share, MOST_ROUNDS = 20 };

typedef struct {
    double x_edge, x_peak; /* |x| at the end of the target, and the largest */
    double inside;         /* eigenvalues in target and gap */
    double scale, shift, center;
    int power;
} gap;

/* Products and rounds of a filter with this gap; false if it can't be. */
static bool gap_plan(const wisp__filter_want *w, const gap *g, wisp__filter_plan *plan)
{
    if (!(g->x_edge > 1) || !isfinite(g->x_peak) || w->search - g->inside < 1.5) return false;
    const double edge = acosh(g->x_edge), peak = acosh(g->x_peak), outside = fmax(w->rows - g->inside, 1),
                 spare = w->search - g->inside - 1;
    const double lost = fmax(0, 0.5 * log(outside / 2 / spare)); /* in the first round */
    const double total = w->gain + lost;
    for (int rounds = 1; rounds <= MOST_ROUNDS; rounds++) {
        const double degree = ceil((total / rounds + M_LN2) / edge);
        if (degree * peak - M_LN2 > w->most_peak || degree * g->power > w->most_degree) continue;
        *plan = (wisp__filter_plan){.f = {.terms = (int)degree + 1,
                                          .power = g->power,
                                          .center = g->center,
                                          .scale = g->scale,
                                          .shift = g->shift},
                                    .rounds = rounds,
                                    .products = degree * rounds * g->power,
                                    .edge = degree * edge - M_LN2,
                                    .first = degree * edge - M_LN2 - lost,
                                    .peak = degree * peak - M_LN2};
        return true;
    }
    return false;
}

double wisp__filter_reach(wisp__states_fn fn, void *arg, double from, double to, int side, double most, double unit,
                          double count)
{
    double near = 0, far = most;
    for (int i = 0; i < 60 && far - near > 1e-5 * fmin(far, unit); i++) {
        const double r = 0.5 * (near + far);
        if (fn(arg, side <= 0 ? from - r : from, side >= 0 ? to + r : to) < count)
            near = r;
        else
            far = r;
    }
    return far;
}

/* The same around the target, for a part of the search space. */
static double reach(const wisp__filter_want *w, int side, double most, double part)
{
    return wisp__filter_reach(w->states, w->states_arg, w->low, w->high, side, most, w->highest - w->lowest,
                              part * w->search);
}

/* A polynomial of (A - c)^2, c the target's center. */
static bool fold(const wisp__filter_want *w, double part, gap *g)
{
    const double c = 0.5 * (w->low + w->high), d = 0.5 * (w->high - w->low), s = fmax(w->highest - c, c - w->lowest);
    const double r = d + reach(w, 0, s - d, part);
    const double s2 = s * s, r2 = r * r;
    if (!(r2 < 0.9 * s2)) return false;
    *g = (gap){.x_edge = 1 + 2 * (r2 - d * d) / (s2 - r2),
               .x_peak = 1 + 2 * r2 / (s2 - r2),
               .inside = part * w->search,
               .scale = 2 / (s2 - r2),
               .shift = -(s2 + r2) / (s2 - r2),
               .center = c,
               .power = 2};
    return true;
}

/* A polynomial of A, for a target that reaches to the spectrum's end. */
static bool at_end(const wisp__filter_want *w, double part, gap *g)
{
    const bool low_end = w->low <= w->lowest;
    if (!low_end && w->high < w->highest) return false;
    const double edge = low_end ? w->high : w->low, whole = low_end ? w->highest - edge : edge - w->lowest;
    const double r = reach(w, low_end ? 1 : -1, whole, part);
    const double near = low_end ? edge + r : edge - r, far = low_end ? w->highest : w->lowest;
    const double half = 0.5 * fabs(far - near), c = 0.5 * (far + near), end = low_end ? w->lowest : w->highest;
    if (!(half > 0.05 * (w->highest - w->lowest))) return false;
    *g = (gap){.x_edge = fabs(edge - c) / half,
               .x_peak = fabs(end - c) / half,
               .inside = part * w->search,
               .scale = 1 / half,
               .center = c,
               .power = 1};
    return true;
}

/* ---- series: a window or a delta peak, damped --------------------------------------------------------- */

enum { CELLS = 400, SERIES = 4 };

/* The damping of term k of n: Jackson's, or Lanczos's sigma factors squared. */
static double damping(bool jackson, int k, int n)
{
    const double x = M_PI * k / (n + (jackson ? 1 : 0));
    if (k == 0) return 1;
    if (jackson) {
        const double q = M_PI / (n + 1);
        return ((n - k + 1) * cos(x) + sin(x) / tan(q)) / (n + 1);
    }
    return sin(x) / x * (sin(x) / x);
}

/* c[terms] of a window a .. b, or of a peak between them, with which p(a) = p(b); a and b in -1 .. 1. */
static void series(bool window, bool jackson, double a, double b, int terms, double *c)
{
    const double ta = acos(a), tb = acos(b); /* ta > tb */
    double near = tb, far = ta;
    for (int turn = 0; turn < (window ? 1 : 40); turn++) {
        const double t = 0.5 * (near + far);
        double pa = 0, pb = 0;
        for (int k = 0; k < terms; k++) {
            const double g = damping(jackson, k, terms) * (k ? 2 : 1);
            c[k] = g * (window ? (k ? (sin(k * ta) - sin(k * tb)) / k : ta - tb) / M_PI : cos(k * t));
            pa += c[k] * cos(k * ta);
            pb += c[k] * cos(k * tb);
        }
        if (pa > pb) /* the peak is too near to a */
            far = t;
        else
            near = t;
    }
}

typedef struct {
    double p2, states;
} cell;

static int by_size(const void *a, const void *b)
{
    const double x = ((const cell *)a)->p2, y = ((const cell *)b)->p2;
    return (x < y) - (x > y);
}

typedef struct {
    double at[CELLS], states[CELLS];
} density;

/* Cells that are fine around the target, and as coarse as 1/50 of the spectrum far away. */
static void make_density(const wisp__filter_want *w, density *d)
{
    const double c = 0.5 * (w->low + w->high), fine = fmax(w->high - w->low, 1e-6 * (w->highest - w->lowest)) / 16;
    const double down = asinh((c - w->lowest) / fine), up = asinh((w->highest - c) / fine);
    double before = w->lowest;
    for (int i = 0; i < CELLS; i++) {
        const double next = c + fine * sinh((up + down) * (i + 1) / CELLS - down);
        d->at[i] = 0.5 * (before + next);
        d->states[i] = fmax(w->states(w->states_arg, before, next), 0);
        before = next;
    }
}

/* How good plan->f is, by the values at the cells. */
static bool judge(const wisp__filter_want *w, const density *d, wisp__filter_plan *plan)
{
    double value[CELLS], end[2], ends[] = {w->low, w->high};
    cell c[CELLS];
    wisp_filter_eval(&plan->f, CELLS, d->at, value);
    wisp_filter_eval(&plan->f, 2, ends, end);
    double least = fmin(end[0] * end[0], end[1] * end[1]), peak = 0;
    for (int i = 0; i < CELLS; i++) {
        c[i] = (cell){value[i] * value[i], d->states[i]};
        if (d->at[i] >= w->low && d->at[i] <= w->high) least = fmin(least, c[i].p2);
        peak = fmax(peak, c[i].p2);
    }
    qsort(c, CELLS, sizeof *c, by_size);
    double inside = w->rows, tail = 0, best = 0, rest = 0;
    for (int i = CELLS - 1; i >= 0; i--) { /* the smallest first: their sum would drown in that of the others */
        if (inside < w->search - 1) best = fmax(best, (w->search - 1 - inside) / fmax(rest, 1e-300));
        inside -= c[i].states;
        rest += c[i].p2 * c[i].states;
        if (inside > w->search) tail = fmax(tail, c[i].p2);
    }
    if (!(least > tail) || best == 0) return false;
    plan->edge = 0.5 * log(least / tail);
    plan->first = 0.5 * log(least * best);
    plan->peak = 0.5 * log(peak / tail);
    plan->rounds = 1 + (int)ceil(fmax(0, w->gain - plan->first) / plan->edge);
    plan->products = (double)plan->rounds * (plan->f.terms - 1);
    return plan->first > 0 && plan->rounds <= MOST_ROUNDS && plan->peak <= w->most_peak;
}

/* Series with about the degree of the best filter so far; *best gets a better one. */
static wisp_status try_series(wisp_ctx *ctx, const wisp__filter_want *w, wisp__filter_plan *best)
{
    static const double widen[] = {0, 0.2, 0.5};
    enum { DEGREES = 6, WIDENS = sizeof widen / sizeof *widen, FEWEST = 4 };
    const double most = fmin(w->most_degree, w->most_terms);
    if (most < FEWEST) return WISP_OK;
    const double center = 0.5 * (w->highest + w->lowest), half = 0.5 * (w->highest - w->lowest);
    const double r = reach(w, 0, 2 * half, 0.8);
    const double delta = fmax(0.5 * (w->high - w->low), 0.3 * r);
    density d;
    make_density(w, &d);
    double *c = NULL;
    wisp_status status = WISP_OK;
    for (int i = 0; i < DEGREES * SERIES * WIDENS; i++) {
        const bool window = i / DEGREES % 2, jackson = i / (2 * DEGREES) % 2;
        const double more = widen[i / (SERIES * DEGREES)] * delta, degree = half / delta * exp2(i % DEGREES - 1);
        if (!window && more > 0) continue;
        if (i % DEGREES > 0 && degree / 2 >= most) continue; /* the one before was as long */
        const double a = fmax((w->low - more - center) / half, -1), b = fmin((w->high + more - center) / half, 1);
        const int terms = (int)fmin(fmax(degree, FEWEST), most);
        free(c);
        c = malloc((size_t)terms * sizeof *c);
        if (!c) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "eig: out of memory for a filter of %d terms", terms);
        series(window, jackson, a, b, terms, c);
        wisp__filter_plan plan = {.f = {.terms = terms, .power = 1, .center = center, .scale = 1 / half, .c = c}};
        if (judge(w, &d, &plan) && (best->rounds == 0 || plan.products < best->products)) {
            free(best->f.c);
            *best = plan;
            c = NULL;
        }
    }
    free(c);
    return status;
}

/* ---- the choice --------------------------------------------------------------------------------------- */

wisp_status wisp__filter_choose(wisp_ctx *ctx, const wisp__filter_want *want, wisp__filter_plan *plan)
{
    *plan = (wisp__filter_plan){0};
    wisp__filter_plan one;
    gap g;
    for (int i = 0; i < 2 * SHARES; i++) {
        const bool can = i < SHARES ? fold(want, share[i], &g) : at_end(want, share[i - SHARES], &g);
        if (!can || !gap_plan(want, &g, &one)) continue;
        if (plan->rounds == 0 || one.products < plan->products) *plan = one;
    }
    /* A target far from the middle: (A - c)^2 wastes the spectrum's shorter side, series do not. */
    const double c = 0.5 * (want->low + want->high), s = fmax(want->highest - c, c - want->lowest);
    const bool far_from_middle = s > 0.6 * (want->highest - want->lowest);
    if (plan->rounds == 0 || (far_from_middle && plan->f.power == 2)) return try_series(ctx, want, plan);
    return WISP_OK;
}

int wisp__filter_terms(const wisp__filter_plan *plan, double gain)
{
    const int most = plan->f.terms;
    if (plan->f.c) return most;
    const double terms = ceil((gain + M_LN2) / (plan->edge + M_LN2) * (most - 1)) + 1;
    return terms < most ? (terms > 2 ? (int)terms : 2) : most;
}

void wisp_filter_eval(const wisp_filter *filter, int64_t n, const double *energy, double *value)
{
    if (!filter || !energy || !value) return;
    for (int64_t i = 0; i < n; i++) {
        const double d = energy[i] - filter->center,
                     x = filter->scale * (filter->power == 2 ? d * d : d) + filter->shift;
        double b1 = 0, b2 = 0;
        for (int k = filter->terms - 1; k > 0; k--) {
            const double b = (filter->c ? filter->c[k] : k == filter->terms - 1) + 2 * x * b1 - b2;
            b2 = b1, b1 = b;
        }
        value[i] = (filter->c ? filter->c[0] : filter->terms == 1) + x * b1 - b2;
    }
}
