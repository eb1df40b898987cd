/* States of wisp_eig: what all methods keep, and what has to be the same in the call that goes on. */
#include "eigen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *words_of(const wisp_eig_opts *o, char *words, size_t size)
{
    if (o->which == WISP_EIG_INTERVAL)
        snprintf(words, size, "all from %.17g to %.17g", o->low, o->high);
    else if (o->which == WISP_EIG_NEAREST)
        snprintf(words, size, o->target_im != 0 ? "%s%d nearest to %.17g%+.17gi" : "%s%d nearest to %.17g",
                 o->any ? "any " : "", o->count, o->target, o->target_im);
    else
        snprintf(words, size, "%s%d %s", o->any ? "any " : "", o->count,
                 o->which == WISP_EIG_SMALLEST  ? "smallest"
                 : o->which == WISP_EIG_LARGEST ? "largest"
                                                : "of largest real part");
    return words;
}

/* The limit of rounds may be another one: it says when to end, and not how. That of bytes is the first call's. By the
   colon names differ from those of wisp_kpm, whose moments may be in the same state. */
wisp_status wisp__eig_same(const wisp__eig *k, wisp_state *s)
{
    wisp_status status = WISP_OK;
    const wisp_eig_opts *o = &k->o;
    char words[128];
    WISP_TRY(wisp_state_samef(s, "eigenvalues:", "%s", words_of(o, words, sizeof words)));
    WISP_TRY(wisp_state_samef(s, "opts.method:", "%s", wisp__eig_method_name(k->e->method)));
    WISP_TRY(wisp_state_samef(s, "matrix rows", "%lld", (long long)k->rows));
    WISP_TRY(wisp_state_samef(s, "opts.type:", "%s", wisp_type_name(k->type)));
    WISP_TRY(wisp_state_samef(s, "opts.tolerance:", "%.17g%s", k->asked, o->tolerance_abs > 0 ? ", absolute" : ""));
    WISP_TRY(wisp_state_samef(s, "opts.seed:", "%llu", (unsigned long long)o->seed));
    WISP_TRY(wisp_state_samef(s, "opts.search:", "%d", o->search));
    WISP_TRY(wisp_state_samef(s, "opts.block:", "%d", o->block));
    WISP_TRY(wisp_state_samef(s, "start vectors", "%d", o->start ? wisp_blk_width(o->start) : 0));
    WISP_TRY(wisp__same_bounds(s, "opts.bounds:", &o->bounds));
    /* By the inverse of a pencil; in a first version these vectors were C's. */
    if (k->pencil)
        WISP_TRY(wisp_state_samef(s, "version of a pencil's state:", "2, %s",
                                  k->pencil->rootless ? "without S^-1/2" : "with S^-1/2"));
    if (k->e->method != WISP_CHEBFD) goto out;
    WISP_TRY(wisp_state_samef(s, "opts.filter_type:", "%s", o->filter_type ? wisp_type_name(o->filter_type) : "any"));
out:
    return status;
}

/* Pairs that are in the result already. */
static wisp_status pairs(wisp__eig *k, wisp_state *s)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = k->e;
    wisp_type type = e->vectors ? wisp_blk_type(e->vectors) : WISP_DEFAULT;
    WISP_TRY(wisp_state_data(s, "type of pairs", &type, sizeof type));
    if (e->found <= 0 || type == WISP_DEFAULT) {
        e->found = 0;
        goto out;
    }
    if (wisp_state_is_kept(s)) {
        e->value = calloc((size_t)e->found, sizeof *e->value);
        e->residual = calloc((size_t)e->found, sizeof *e->residual);
        e->condition = calloc((size_t)e->found, sizeof *e->condition);
        if (!e->value || !e->residual || !e->condition)
            return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "out of memory for %d values", e->found);
        WISP_TRY(wisp_blk_create(&e->vectors, k->ctx, wisp_mat_map(k->A), type, e->found));
    }
    WISP_TRY(wisp_state_data(s, "values", e->value, (size_t)e->found * sizeof *e->value));
    WISP_TRY(wisp_state_data(s, "residuals", e->residual, (size_t)e->found * sizeof *e->residual));
    WISP_TRY(wisp_state_data(s, "conditions", e->condition, (size_t)e->found * sizeof *e->condition));
    WISP_TRY(wisp_state_block(s, "vectors", e->vectors));
out:
    return status;
}

wisp_status wisp__eig_items(wisp__eig *k, wisp_state *s)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = k->e, now = *e;
    WISP_TRY(wisp__eig_same(k, s));
    now.value = NULL, now.residual = now.condition = NULL, now.vectors = NULL, now.moments = NULL, now.filter.c = NULL;
    now.seconds = wisp_now() - k->started;
    WISP_TRY(wisp_state_data(s, "result so far", &now, sizeof now));
    WISP_TRY(wisp_state_data(s, "scale", &k->scale, sizeof k->scale));
    WISP_TRY(wisp_state_data(s, "tolerance in force", &k->o.tolerance, sizeof k->o.tolerance));
    WISP_TRY(wisp_state_data(s, "limit of bytes", &k->o.bytes, sizeof k->o.bytes));
    WISP_TRY(wisp_state_data(s, "flops of LAPACK", &k->most_work, sizeof k->most_work));
    if (!wisp_state_is_kept(s)) return pairs(k, s);
    now.value = e->value, now.residual = e->residual, now.condition = e->condition, now.vectors = e->vectors;
    now.moments = e->moments, now.filter.c = e->filter.c;
    k->started = wisp_now() - now.seconds;
    *e = now;
    status = pairs(k, s);
out:
    return status;
}

wisp_status wisp__eig_state(wisp__eig *k, wisp_items_fn items, void *arg)
{
    wisp_status status = WISP_OK;
    if (k->o.resume) WISP_TRY(items(arg, k->o.resume));
    if (k->o.offer) WISP_TRY(wisp_state_create(&k->live, k->ctx, items, arg));
out:
    return status;
}

void wisp__eig_begin_anew(wisp__eig *k)
{
    wisp_state_free(k->live);
    k->live = NULL, k->o.resume = NULL;
}

bool wisp__eig_is_kept(const wisp__eig *k, wisp_eig_method method)
{
    const char *words = k->o.resume ? wisp_state_words(k->o.resume, "opts.method:") : NULL;
    return words && strcmp(words, wisp__eig_method_name(method)) == 0;
}

wisp_status wisp__eig_offer(const wisp__eig *k)
{
    return k->live ? wisp_state_offer(k->live, k->o.offer, k->o.offer_arg) : WISP_OK;
}

wisp_status wisp__eig_at_most(const wisp__eig *k, const char *what, int n, int most)
{
    if (n >= 0 && n <= most) return WISP_OK;
    return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT, "a state of eigenpairs that can't be: %d %s, and %d at most", n,
                          what, most);
}

wisp_status wisp__eig_array(wisp__eig *k, wisp_state *s, const char *name, double **x, size_t n)
{
    wisp_status status = WISP_OK;
    if (n == 0) return WISP_OK;
    if (!*x) WISP_TRY(wisp_alloc(k->ctx, x, n, sizeof **x));
    status = wisp_state_data(s, name, *x, n * sizeof **x);
out:
    return status;
}

wisp_status wisp__eig_columns(wisp_state *s, const char *name, wisp_blk *x, int n, wisp_blk **view)
{
    wisp_status status = WISP_OK;
    wisp_blk_free(*view);
    *view = NULL;
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp_blk_cols(view, x, 0, n));
    status = wisp_state_block(s, name, *view);
out:
    return status;
}
