/* Whether single precision is enough: its rounding against the statistical error of random vectors, which is about
   mu_0 / sqrt(rows x vectors) for a moment. */
#include "../solver.h"
#include <math.h>

/* Of a number in single precision: half a unit in its last place. */
static const double rounding_unit = 0x1p-24;

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
    const bool has_bars = full.trace == WISP_TRACE_RANDOM && full.vectors > 1 && !full.adjoint;
    if (!has_bars || !(expected(&full, rows) <= limit)) return type;
    return wisp__type_in(WISP_S, type);
}

/* By how much moments are moved, and what of that is known. */
typedef struct {
    const wisp_moments *m, *exact; /* the vectors at hand; the first of them with vectors in double precision */
    const double *mean, *half_bar; /* [m->n] of the vectors at hand; of all vectors that there will be */
} seen;

/* The largest share of half a 95% bar by which a moment is moved. Rounded vectors: by how much the first vector's
   moments differ from the exact ones; beyond these, by the largest of the differences, in proportion to n. A rounded
   matrix: at worst all of (A - c)/h is larger by one unit, by which tr T_n changes as n tr x U_n-1(x) = n tr (U_n +
   U_n-2)/2, and shifted by a unit of c, as n tr U_n-1; U_n = U_n-2 + 2 T_n. */
static double largest_share(const seen *l, int64_t *moment)
{
    const wisp_moments *m = l->m, *exact = l->exact;
    const double shift = rounding_unit * fabs(m->bounds.center) / m->bounds.halfwidth;
    double before = 0, now = l->mean[0], most = 0, largest = 0; /* tr U_n-2, tr U_n-1; a difference; a share */
    *moment = 0;
    for (int64_t n = 1; n < m->n && !isnan(largest); n++) {
        const double next = before + 2 * l->mean[n];
        double moved = most * (double)n / (double)(exact->n - 1);
        if (n < exact->n) moved = fabs(m->mu[n] - exact->mu[n]), most = fmax(most, moved);
        moved += rounding_unit * (double)n * fabs(next + before) / 2 + shift * (double)n * fabs(now);
        const double share = moved == 0 ? 0 : moved / l->half_bar[n];
        if (!(share <= largest)) largest = share, *moment = n;
        before = now, now = next;
    }
    return largest;
}

static wisp_status refusal(wisp_ctx *ctx, int64_t moment, double share, double limit)
{
    if (isinf(share))
        return wisp_ctx_failf(ctx, WISP_ERR_PRECISION,
                              "rounding in single precision moves moment %lld, on which all vectors agree",
                              (long long)moment);
    return wisp_ctx_failf(
        ctx, WISP_ERR_PRECISION,
        "rounding in single precision moves moment %lld by %.2g of half its 95%% bar, and %.2g is allowed",
        (long long)moment, share, limit);
}

wisp_kpm_opts wisp__kpm_exact_opts(const wisp_kpm_opts *full)
{
    enum { FEWEST = 32, PART = 16 }; /* moments: enough to see rounding, and little beside the run */
    wisp_kpm_opts o = *full;
    o.offer = NULL, o.resume = NULL, o.observe = NULL;
    o.type = wisp__type_in(WISP_D, full->type);
    if (full->moments > FEWEST) o.moments = full->moments > PART * FEWEST ? full->moments / PART : FEWEST;
    o.vectors = o.width = 1;
    o.rounding_limit = 0;
    return o;
}

wisp_status wisp__kpm_rounding(wisp_moments *m, const wisp_moments *exact, wisp_ctx *ctx, const wisp_kpm_opts *full)
{
    wisp_status status = WISP_OK;
    double *mean = NULL, *half_bar = NULL;
    const double others = wisp_student95(full->vectors) * sqrt((double)m->vectors / (double)full->vectors);
    int64_t moment;
    WISP_TRY(wisp_alloc(ctx, &mean, (size_t)m->n, sizeof *mean));
    WISP_TRY(wisp_alloc(ctx, &half_bar, (size_t)m->n, sizeof *half_bar));
    WISP_TRY(wisp_moments_mean(ctx, m, WISP_REAL_PART, mean, half_bar));
    for (int64_t n = 0; n < m->n; n++) half_bar[n] *= others; /* it was the standard error so far */
    m->rounding = largest_share(&(seen){m, exact, mean, half_bar}, &moment);
    if (!(m->rounding <= full->rounding_limit)) status = refusal(ctx, moment, m->rounding, full->rounding_limit);
out:
    wisp_free(ctx, mean);
    wisp_free(ctx, half_bar);
    return status;
}
