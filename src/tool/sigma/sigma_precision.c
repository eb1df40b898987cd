/* --precision auto of wisp sigma: left vectors are held in single precision where that saves sweeps, and where their
   rounding is far below the error bars, which is looked at when the moments are there. */
#include "sigma.h"
#include "../out/text.h"
#include <string.h>

void sigma_left(const tool *t, const sigma_sources *s, sigma_results *r)
{
    const wisp_type type = sigma_vectors(s);
    const char *why = NULL, *kept = t->resumed ? wisp_state_words(t->resumed, "opts.left_type") : NULL;
    r->kubo.left_type = WISP_DEFAULT;
    r->tries = false;
    if (t->opt.precision != PRECISION_AUTO) return;
    const wisp_type left = wisp_kubo_left_type(t->ctx, type, s->h.rows, &r->kubo);
    if (type_is_single(type))
        why = "that of the matrix";
    else if (r->kubo.trace != WISP_TRACE_RANDOM || sigma_random(r) < 2)
        why = "there are no error bars to compare rounding with";
    else if (left == type)
        why = "all left vectors are held at once, so that single precision would save nothing";
    else if (kept && !strcmp(kept, wisp_type_name(type)))
        why = "that of the left vectors of the run that goes on";
    if (why) {
        snprintf(r->precision, sizeof r->precision, "%s: %s", wisp_type_name(type), why);
        return;
    }
    r->tries = true;
    r->kubo.left_type = left;
}

/* How far rounding moves a value, over half of its bar, at most. */
static wisp_status find_share(tool *t, const sigma_results *r, double *share)
{
    const wisp_moments *m = &r->m;
    if (r->optical)
        return wisp_sigma_optical_rounding(t->ctx, m, &r->eval, r->temperature, r->mu, r->count, r->x, share);
    return wisp_sigma_rounding(t->ctx, m, &r->eval, r->temperature, r->count, r->x, share);
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
