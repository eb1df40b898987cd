/* How far conductivities are moved where left vectors are held in single precision: transport.h says how that is found.
 */
#include "sigma.h"

/* Vectors of moments of rounding alone; so many standard errors of what they make. */
enum { VECTORS = 4, SURE = 3 };

typedef struct {
    wisp_ctx *ctx;
    const wisp_sigma_opts *opts;
    double temperature;
    const double *potential; /* of frequencies x; NULL: x are chemical potentials */
    int64_t count;
    const double *x;
} question;

static wisp_status values(const question *q, const wisp_moments *m, wisp_estimate *at)
{
    if (q->potential) return wisp_sigma_optical(q->ctx, m, q->opts, q->temperature, *q->potential, q->count, q->x, at);
    return wisp_sigma(q->ctx, m, q->opts, q->temperature, q->count, q->x, at);
}

/* A number from 0 to below - 1, the same ones in each run. */
static int64_t drawn(uint64_t *state, int64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((double)(*state >> 11) * 0x1p-53 * (double)below);
}

static double mean_square(const wisp_moments *m, int64_t vector)
{
    double sum = 0;
    for (int64_t i = vector * m->n; i < (vector + 1) * m->n; i++) sum += m->mu[i] * m->mu[i] + m->imag[i] * m->imag[i];
    return sum / (double)m->n;
}

/* Moments as rounding alone would make them; mu and imag are freed by wisp_free. */
static wisp_status make_noise(wisp_ctx *ctx, const wisp_moments *m, wisp_moments *noise)
{
    const double unit = 0x1p-24 * m->mark[1][0] * m->mark[2][0] / sqrt((double)m->rows);
    const int64_t M = m->square;
    uint64_t state = 1;
    wisp_status status;
    *noise = *m;
    noise->vectors = VECTORS;
    noise->mu = noise->imag = NULL;
    WISP_TRY(wisp_alloc(ctx, &noise->mu, (size_t)(VECTORS * m->n), sizeof *noise->mu));
    WISP_TRY(wisp_alloc(ctx, &noise->imag, (size_t)(VECTORS * m->n), sizeof *noise->imag));
    for (int64_t v = 0; v < VECTORS; v++) {
        const int64_t of = v % m->vectors;
        const double size = sqrt(mean_square(m, of)), scale = size > 0 ? unit / size : 0;
        for (int64_t j = 0; j < M; j++) {
            const int64_t from = of * m->n + drawn(&state, M) * M, to = v * m->n + j * M;
            const double factor = drawn(&state, 2) ? scale : -scale;
            for (int64_t k = 0; k < M; k++) {
                noise->mu[to + k] = factor * m->mu[from + k];
                noise->imag[to + k] = factor * m->imag[from + k];
            }
        }
    }
out:
    return status;
}

static wisp_status check(wisp_ctx *ctx, const wisp_moments *m)
{
    if (m->trace != WISP_TRACE_RANDOM || m->vectors < 2)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "rounding is compared with error bars, which take two random vectors or more");
    for (int64_t v = 0; v < m->vectors; v++)
        if (!(m->mark[1][0] * m->mark[2][0] > 0) && mean_square(m, v) > 0)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                                  "these moments have no marks, by which rounding of left vectors is known");
    return WISP_OK;
}

static wisp_status find_share(const question *q, const wisp_moments *m, double *share)
{
    wisp_moments noise = {0};
    wisp_estimate *at = NULL, *own;
    wisp_status status;
    WISP_TRY(wisp_alloc(q->ctx, &at, 2 * (size_t)q->count, sizeof *at));
    own = at + q->count;
    WISP_TRY(values(q, m, own));
    WISP_TRY(check(q->ctx, m));
    WISP_TRY(make_noise(q->ctx, m, &noise));
    WISP_TRY(values(q, &noise, at));
    for (int64_t i = 0; i < q->count; i++) {
        const double moved = SURE * at[i].error * sqrt((double)VECTORS / (double)m->vectors);
        if (moved > 0) *share = fmax(*share, moved / (0.5 * (own[i].high - own[i].low)));
    }
out:
    wisp_free(q->ctx, noise.mu);
    wisp_free(q->ctx, noise.imag);
    wisp_free(q->ctx, at);
    return status;
}

/* Behind the checks of pointers. */
static wisp_status rounding(const question *q, const wisp_moments *m, double *share, const char *caller)
{
    const wisp_status status = wisp__check_range(q->ctx, caller, "count", q->count, 1, (int64_t)1 << 30);
    return status == WISP_OK ? find_share(q, m, share) : status;
}

wisp_status wisp_sigma_rounding(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, double temperature,
                                int64_t count, const double *mu, double *share)
{
    WISP_NEED(ctx, share);
    *share = 0;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, mu);
    return rounding(&(question){ctx, opts, temperature, NULL, count, mu}, m, share, "wisp_sigma_rounding: ");
}

wisp_status wisp_sigma_optical_rounding(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                        double temperature, double mu, int64_t count, const double *omega,
                                        double *share)
{
    WISP_NEED(ctx, share);
    *share = 0;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    WISP_NEED(ctx, omega);
    return rounding(&(question){ctx, opts, temperature, &mu, count, omega}, m, share, "wisp_sigma_optical_rounding: ");
}
