/* Evolution along complex times: states are scaled to norm 1, and the logarithms of their norms are kept.

   With |exp(..)| at most 1 on the bounds, a state B of norm 1 that is made of one of norm 1 which is off by e is off by
   e + made before it is scaled, made being what is made here; scaled up from its norm n it is off by (e + made)/n.
   Where an exact state A differs from B by r |B|, the norm of A/|A| - B/|B| is at most r/(1 - r/2) (Dunkl and Williams,
   Amer. Math. Monthly 71, 53 (1964), for inner products), and so is, with 1 - r, the difference of the norms'
   logarithms. */
#include "evolve.h"

wisp_status wisp__damped_open(wisp__damped *d, wisp_ctx *ctx, const wisp_evolve_opts *o, int width)
{
    wisp_status status;
    *d = (wisp__damped){.width = width, .o = o};
    WISP_TRY(wisp_alloc(ctx, &d->log_norm, 4 * (size_t)width, sizeof *d->log_norm));
    d->off = d->log_norm + width;
    d->left = d->off + width;
    d->own_norm = d->left + width;
    status = wisp_alloc(ctx, &d->factor, (size_t)width, sizeof *d->factor);
out:
    return status;
}

void wisp__damped_close(wisp__damped *d, wisp_ctx *ctx)
{
    wisp_free(ctx, d->log_norm);
    wisp_free(ctx, d->factor);
}

/* Columns over their norms, in two steps: the inverse of one that is small need be no number of the type. */
static wisp_status normalise(wisp__damped *d, wisp_blk *x, const double *norm)
{
    wisp_status status;
    for (int j = 0; j < d->width; j++) d->factor[j] = wisp__real(ldexp(1, -ilogb(norm[j]) / 2));
    WISP_TRY(wisp_vscal(x, d->factor));
    for (int j = 0; j < d->width; j++) d->factor[j] = wisp__real(1 / (norm[j] * d->factor[j].re));
    status = wisp_vscal(x, d->factor);
out:
    return status;
}

wisp_status wisp__damped_begin(wisp__damped *d, wisp_blk *psi)
{
    wisp_status status;
    WISP_TRY(wisp_norm(psi, d->own_norm));
    for (int j = 0; j < d->width; j++) {
        if (!(d->own_norm[j] > 0))
            return wisp_ctx_failf(wisp_blk_ctx(psi), WISP_ERR_NUMERIC,
                                  "evolve: column %d of psi is 0, and can't be scaled to norm 1", j);
        d->log_norm[j] = log(d->own_norm[j]);
        d->off[j] = d->o->start_off;
        d->left[j] = 0;
    }
    status = normalise(d, psi, d->own_norm);
out:
    return status;
}

static wisp_status not_met(const wisp__damped *d, const wisp_blk *z, int j, double time, double off)
{
    char what[48] = "by all of it", larger[64] = "";
    if (off < 1) {
        snprintf(what, sizeof what, "by %.1g", off);
        snprintf(larger, sizeof larger, "opts.tolerance above that, ");
    }
    return wisp_ctx_failf(
        wisp_blk_ctx(z), WISP_ERR_PRECISION,
        "evolve: at time %.10g column %d may be off %s, more than opts.tolerance, %g, allows: it has shrunk to %.1g of "
        "what its norm could be at most, and rounding counts as much more; take %sopts.bounds nearer to the "
        "spectrum, %sa start with more of what decays least",
        time, j, what, d->o->tolerance, exp(d->left[j]) * d->own_norm[j], larger,
        wisp__is_single(wisp_blk_type(z)) ? "double precision, or " : "or ");
}

wisp_status wisp__damped_take(wisp__damped *d, wisp_blk *z, int64_t i, double time, double growth, double made,
                              bool keep, double *norm)
{
    double worst = 0;
    wisp_status status;
    WISP_TRY(wisp_norm(z, d->own_norm));
    for (int j = 0; j < d->width; j++) {
        const double n = d->own_norm[j], off = n > 0 ? (d->off[j] + made) / n : HUGE_VAL,
                     both = off < 1 ? off / (1 - off) : HUGE_VAL, log_norm = d->log_norm[j] + growth + log(n);
        if (!isfinite(n) || n > 1 + 10 * made)
            return wisp_ctx_failf(wisp_blk_ctx(z), WISP_ERR_BOUNDS,
                                  "evolve: the norm of column %d grows faster than the bounds allow, at time %g; take "
                                  "wider opts.bounds",
                                  j, time);
        if (!(both <= d->o->tolerance)) return not_met(d, z, j, time, both);
        worst = fmax(worst, both);
        if (d->o->log_norm) d->o->log_norm[i * d->width + j] = log_norm;
        if (keep) d->log_norm[j] = log_norm, d->off[j] = off, d->left[j] += log(n);
    }
    if (d->o->off) d->o->off[i] = worst;
    WISP_TRY(normalise(d, z, d->own_norm));
    status = wisp_norm(z, norm);
out:
    return status;
}

wisp_status wisp__damped_items(wisp__damped *d, wisp_state *state)
{
    return wisp_state_data(state, "log norms", d->log_norm, 3 * (size_t)d->width * sizeof *d->log_norm);
}
