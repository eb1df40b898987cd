/* --precision auto of wisp sigma: left vectors are held in single precision where that saves sweeps, and where their
   rounding is far below the error bars, which is looked at when the moments are there. */
#include "sigma.h"
#include "../out/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether all left vectors of this type are held at once, about. */
static bool all_fit(const tool *t, const sigma_sources *s, const sigma_results *r, wisp_type type)
{
    const int64_t usual = (int64_t)1 << 30, ranks = wisp_ctx_processes(t->ctx);
    const int64_t bytes = r->kubo.left_bytes ? r->kubo.left_bytes : usual;
    return bytes / ((s->h.rows + ranks - 1) / ranks + 1) / (int64_t)wisp_type_size(type) >= sigma_moments(r);
}

void sigma_left(const tool *t, const sigma_sources *s, sigma_results *r)
{
    const wisp_type type = sigma_vectors(s);
    const char *why = NULL, *kept = t->resumed ? wisp_state_words(t->resumed, "opts.left_type") : NULL;
    r->kubo.left_type = WISP_DEFAULT;
    r->tries = false;
    if (t->opt.precision != PRECISION_AUTO) return;
    if (type_is_single(type))
        why = "that of the matrix";
    else if (r->kubo.trace != WISP_TRACE_RANDOM || sigma_random(r) < 2)
        why = "there are no error bars to compare rounding with";
    else if (all_fit(t, s, r, type))
        why = "all left vectors are held at once, so that single precision would save nothing";
    else if (kept && !strcmp(kept, wisp_type_name(type)))
        why = "that of the left vectors of the run that goes on";
    if (why) {
        snprintf(r->precision, sizeof r->precision, "%s: %s", wisp_type_name(type), why);
        return;
    }
    r->tries = true;
    r->kubo.left_type = type_in(WISP_S, type);
}

/* ---- what rounding makes ------------------------------------------------------------------------------ */

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

/* Moments as rounding alone would make them, of so many vectors. Their size: each element of a left vector is rounded
   by itself, by half a unit of single precision at most, so that a moment, the product with a right vector, moves by
   about that much of both norms' product, over the root of the rows. That product is at most |V_a r| |V_b r|, as
   Chebyshev polynomials are at most 1. Their shape: one left vector's rounding knows nothing of another's, but along
   the right vectors moments are those of a spectrum: so row j is a row of the run's own, drawn at random, with a random
   sign. */
static wisp_status make_noise(tool *t, const wisp_moments *m, int64_t vectors, wisp_moments *noise)
{
    const double unit = 0x1p-24 * m->mark[1][0] * m->mark[2][0] / sqrt((double)m->rows);
    const int64_t M = m->square;
    uint64_t state = 1;
    wisp_status status;
    *noise = *m;
    noise->vectors = vectors;
    noise->mu = noise->imag = NULL;
    WISP_TRY(wisp_alloc(t->ctx, &noise->mu, (size_t)(vectors * m->n), sizeof *noise->mu));
    WISP_TRY(wisp_alloc(t->ctx, &noise->imag, (size_t)(vectors * m->n), sizeof *noise->imag));
    for (int64_t v = 0; v < vectors; v++) {
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

static wisp_status values(tool *t, const sigma_results *r, const wisp_moments *m, wisp_estimate *at)
{
    if (r->optical) return wisp_sigma_optical(t->ctx, m, &r->eval, r->temperature, r->mu, r->count, r->x, at);
    return wisp_sigma(t->ctx, m, &r->eval, r->temperature, r->count, r->x, at);
}

/* How far rounding moves a value, over half of its bar, at most: three standard errors of the values that moments of
   rounding alone have, for as many vectors as the run has. */
static wisp_status find_share(tool *t, const sigma_results *r, double *share)
{
    enum { VECTORS = 4, SURE = 3 };
    const wisp_moments *m = &r->m;
    wisp_moments noise = {0};
    wisp_estimate *at = NULL;
    wisp_status status;
    const double fewer = sqrt((double)VECTORS / (double)m->vectors);
    *share = 0;
    WISP_TRY(wisp_alloc(t->ctx, &at, 2 * (size_t)r->count, sizeof *at));
    WISP_TRY(make_noise(t, m, VECTORS, &noise));
    WISP_TRY(values(t, r, &noise, at));
    WISP_TRY(values(t, r, m, at + r->count));
    for (int64_t i = 0; i < r->count; i++) {
        const double moved = SURE * at[i].error * fewer, half = 0.5 * (at[r->count + i].high - at[r->count + i].low);
        if (moved > 0) *share = fmax(*share, moved / half);
    }
out:
    wisp_free(t->ctx, noise.mu);
    wisp_free(t->ctx, noise.imag);
    wisp_free(t->ctx, at);
    return status;
}

int sigma_rounding(tool *t, sigma_results *r)
{
    const char *type = wisp_type_name(r->m.type);
    if (!r->tries || r->m.vectors < 2) return EXIT_FINE;
    int rc = sigma_places(t, r);
    if (!rc && find_share(t, r, &r->rounding)) rc = tool_fail_ctx(t);
    if (rc) return rc;
    if (r->rounding <= WISP_ROUNDING_LIMIT) {
        snprintf(r->precision, sizeof r->precision,
                 "%s, left vectors in single: rounding moves no value by more than %.2g of half its 95%% bar", type,
                 r->rounding);
        return EXIT_FINE;
    }
    snprintf(r->precision, sizeof r->precision,
             "%s: rounding of left vectors in single precision would move a value by up to %.2g of half its 95%% bar",
             type, r->rounding);
    r->rounding = 0;
    return EXIT_AGAIN;
}
