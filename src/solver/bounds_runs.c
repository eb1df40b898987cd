/* Lanczos runs side by side, and bounds from what they tell. */
#include "bounds.h"

bool wisp__run_goes_on(wisp__runs *r, int i, int j, double beta, double tiny)
{
    if (j + 1 < r->length[i] && beta <= tiny) r->length[i] = j + 1;
    const bool goes_on = j + 1 < r->length[i];
    if (j >= 0) r->beta[i][j] = goes_on ? beta : 0;
    return goes_on;
}

/* How many eigenvalues of a symmetric tridiagonal matrix are below x: the negative pivots of its factors L D L^T. */
static int count_below(int n, const double *diagonal, const double *beside, double x)
{
    int count = 0;
    double pivot = 1;
    for (int i = 0; i < n; i++) {
        pivot = diagonal[i] - x - (i > 0 ? beside[i - 1] * (beside[i - 1] / pivot) : 0);
        if (fabs(pivot) < DBL_MIN) pivot = -DBL_MIN;
        count += pivot < 0;
    }
    return count;
}

/* Its lowest eigenvalue, or its highest, to the rounding of its norm, by bisection. (LAPACK's dsterf does as well, but
   a BLAS starts threads in the process of everyone who links it, for a matrix of 64 rows.) */
static double tridiagonal_edge(int n, const double *diagonal, const double *beside, int highest)
{
    double norm = 0;
    for (int i = 0; i < n; i++)
        norm = fmax(norm, fabs(diagonal[i]) + (i > 0 ? fabs(beside[i - 1]) : 0) + (i + 1 < n ? fabs(beside[i]) : 0));
    double low = -norm, high = norm;
    while (high - low > DBL_EPSILON * norm) {
        const double middle = low / 2 + high / 2;
        if (middle <= low || middle >= high) break;
        if (count_below(n, diagonal, beside, middle) < (highest ? n : 1))
            low = middle;
        else
            high = middle;
    }
    return low / 2 + high / 2;
}

/* Lowest and highest Ritz value of all columns after some steps, in A's own units. */
static wisp_status ritz_values(const wisp__runs *r, int steps, double *lowest, double *highest)
{
    *lowest = HUGE_VAL, *highest = -HUGE_VAL;
    for (int i = 0; i < r->columns; i++) {
        const int n = r->length[i] < steps ? r->length[i] : steps;
        for (int j = 0; j < n; j++)
            if (!isfinite(r->alpha[i][j]) || !isfinite(r->beta[i][j]))
                return wisp_ctx_failf(r->ctx, WISP_ERR_NUMERIC,
                                      "a number of the Lanczos runs for the bounds is not finite");
        *lowest = fmin(*lowest, r->center + r->scale * tridiagonal_edge(n, r->alpha[i], r->beta[i], 0));
        *highest = fmax(*highest, r->center + r->scale * tridiagonal_edge(n, r->alpha[i], r->beta[i], 1));
    }
    return WISP_OK;
}

/* Narrows low..high, which holds the spectrum, to the Ritz values, a margin (a share of their spread) and the room. */
static void narrowed(double lowest, double highest, double margin, double room, double *low, double *high)
{
    const double spread = highest - lowest, clearance = room * spread / 2;
    *low = fmin(fmax(*low, lowest - margin * spread), lowest - clearance);
    *high = fmax(fmin(*high, highest + margin * spread), highest + clearance);
}

/* Whether bounds of the last step's margin would be no narrower than low..high, which has no room yet. More steps only
   spread the Ritz values. */
static wisp_status no_better(const wisp__runs *r, int steps, double margin, double low, double high, bool *yes)
{
    double lowest, highest, narrow_low = low, narrow_high = high;
    const wisp_status status = ritz_values(r, steps, &lowest, &highest);
    if (status != WISP_OK) return status;
    narrowed(lowest, highest, margin, r->room, &narrow_low, &narrow_high);
    *yes = narrow_high - narrow_low >= high - low;
    return WISP_OK;
}

/* Outwards to round numbers, less than a hundredth of the interval apart: other seeds then mostly give the same bounds,
   and their moments can be taken together. */
static void on_grid(double *low, double *high)
{
    int exponent;
    frexp(*high - *low, &exponent);
    const double step = ldexp(1, exponent - 8);
    if (step < DBL_MIN) return;
    *low = floor(*low / step) * step;
    *high = ceil(*high / step) * step;
}

/* Steps, until the columns have come to their ends, or *enough: no_better. */
static wisp_status run(wisp__runs *r, double margin, double low, double high, bool *enough)
{
    wisp_status status;
    for (int i = 0; i < r->columns; i++) r->length[i] = r->steps;
    WISP_TRY(r->start(r));
    for (int j = 0, going = r->columns; j < r->steps && going > 0 && !*enough; j++) {
        WISP_TRY(r->step(r, j));
        WISP_TRY(wisp_ctx_step(r->ctx, "bounds", (j + 1.0) / r->steps, 0));
        going = 0;
        for (int i = 0; i < r->columns; i++) going += j + 1 < r->length[i];
        if ((j + 1) % 8 == 0 && j + 1 < r->steps) WISP_TRY(no_better(r, j + 1, margin, low, high, enough));
    }
out:
    return status;
}

wisp_status wisp__runs_narrow(wisp__runs *r, double *low, double *high, double *probability)
{
    wisp_status status;
    const double margin = wisp__bounds_margin(r->rows, r->columns, r->steps);
    double lowest, highest;
    bool enough = false;
    WISP_TRY(run(r, margin, *low, *high, &enough));
    if (enough) {
        const double clearance = r->room * (*high - *low) / 2;
        *low -= clearance, *high += clearance;
        goto out;
    }
    WISP_TRY(ritz_values(r, r->steps, &lowest, &highest));
    *probability = WISP__BOUNDS_FAILURE;
    narrowed(lowest, highest, margin, r->room, low, high);
    if (*high > *low && r->room > 0) on_grid(low, high);
out:
    return status;
}
