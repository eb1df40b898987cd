/* Whether single precision is enough: its rounding against the statistical error of random vectors, which is about
   mu_0 / sqrt(rows x vectors) for a moment. */
#include "solver.h"
#include <math.h>

/* Of a number in single precision: half a unit in its last place. */
static const double rounding_unit = 0x1p-24;

static wisp_type in_double(wisp_type type) { return wisp_type_is_complex(type) ? WISP_Z : WISP_D; }

/* Expected, before anything is run, as a share of a moment's bar. The vectors are rounded in each of n steps, without
   knowing of each other: a unit of the bar a step. Numbers of the matrix that are rounded alike scale the spectrum,
   which moves all columns together: by about a unit of mu_0. */
static double expected(const wisp_kpm_opts *full, int64_t rows)
{
    return rounding_unit * ((double)full->moments + sqrt((double)rows * (double)full->vectors));
}

wisp_type wisp_kpm_type(wisp_type type, int64_t rows, const wisp_kpm_opts *opts)
{
    wisp_kpm_opts full;
    wisp__kpm_defaults(&full, type, opts);
    const double limit = full.rounding_limit > 0 ? full.rounding_limit : WISP_ROUNDING_LIMIT;
    const bool has_bars = full.trace == WISP_TRACE_RANDOM && full.vectors > 1;
    if (!has_bars || !(expected(&full, rows) <= limit)) return type;
    return wisp_type_is_complex(type) ? WISP_C : WISP_S;
}

/* Half of the 95% bar that a moment will have after all vectors, by the columns at hand; by the estimate if there is
   but one of them. */
static double half_bar(const wisp_moments *m, const wisp_kpm_opts *full, int64_t n, double *mean)
{
    double sum = 0, square = 0;
    for (int64_t v = 0; v < m->vectors; v++) sum += m->mu[v * m->n + n];
    *mean = sum / (double)m->vectors;
    for (int64_t v = 0; v < m->vectors; v++) {
        const double d = m->mu[v * m->n + n] - *mean;
        square += d * d;
    }
    const double deviation = m->vectors > 1 ? sqrt(square / (double)(m->vectors - 1)) : sqrt((double)m->rows / 2);
    return wisp_student95(full->vectors) * deviation / sqrt((double)full->vectors);
}

/* The largest share of its bar by which a moment is moved. Rounded vectors: by how much the first vector's moments
   differ from those of `exact`, with vectors in double precision; beyond these, by the largest of the differences, in
   proportion to n. A rounded matrix: at worst all of (A - c)/h is larger by one unit, by which tr T_n changes as
   n tr x U_n-1(x) = n tr (U_n + U_n-2)/2, and shifted by a unit of c, as n tr U_n-1; U_n = U_n-2 + 2 T_n. */
static double largest_share(const wisp_moments *m, const wisp_kpm_opts *full, const wisp_moments *exact,
                            int64_t *moment)
{
    const double shift = rounding_unit * fabs(m->bounds.center) / m->bounds.halfwidth;
    double before = 0, now = m->mu[0], most = 0, largest = 0; /* tr U_n-2, tr U_n-1; a difference; a share */
    *moment = 0;
    for (int64_t n = 1; n < m->n; n++) {
        double mean, moved;
        const double bar = half_bar(m, full, n, &mean), next = before + 2 * mean;
        if (n < exact->n) {
            moved = fabs(m->mu[n] - exact->mu[n]);
            most = fmax(most, moved);
        } else {
            moved = most * (double)n / (double)(exact->n - 1);
        }
        moved += rounding_unit * (double)n * fabs(next + before) / 2 + shift * (double)n * fabs(now);
        const double share = moved == 0 ? 0 : moved / bar;
        if (!(share <= largest)) largest = share, *moment = n;
        before = now, now = next;
    }
    return largest;
}

wisp_status wisp__kpm_rounding(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *full)
{
    enum { FEWEST = 32, PART = 16 }; /* moments of `exact`: enough to see rounding, and little beside the run */
    wisp_status status = WISP_OK;
    wisp_moments exact = {0};
    wisp_kpm_opts o = *full;
    int64_t moment;
    o.type = in_double(full->type);
    o.moments = full->moments / PART > FEWEST ? full->moments / PART : FEWEST < full->moments ? FEWEST : full->moments;
    o.vectors = o.width = 1;
    o.rounding_limit = 0;
    o.bounds_method = WISP_BOUNDS_GIVEN;
    o.bounds = m->bounds;
    WISP_TRY(wisp__kpm(&exact, A, &o, "rounding"));
    m->rounding = largest_share(m, full, &exact, &moment);
    if (isinf(m->rounding))
        status =
            wisp_ctx_fail(wisp_mat_ctx(A), WISP_ERR_PRECISION,
                          "rounding in single precision moves moment %lld, on which all vectors agree: take double "
                          "precision",
                          (long long)moment);
    else if (!(m->rounding <= full->rounding_limit))
        status = wisp_ctx_fail(wisp_mat_ctx(A), WISP_ERR_PRECISION,
                               "rounding in single precision moves moment %lld by %.2g of its error bar, and %.2g is "
                               "allowed: take double precision",
                               (long long)moment, m->rounding, full->rounding_limit);
out:
    wisp_moments_free(&exact);
    return status;
}
