/* States of Chebyshev filter diagonalization. While the density of states is computed, a state is that of its moments,
   and says which look it is. Afterwards it has the moments, the filter, the columns of the search space that hold
   vectors, and how far the round has come: columns that are filtered, and the recurrence of those that are being
   filtered. While a search for what is missing runs, its columns are kept, too. */
#include <stdlib.h>
#include "chebfd.h"

typedef struct {
    double low, high, wanted, gain, done;
    wisp__filter_plan plan;
    bool has_series, first_has_series; /* the filters have coefficients, now and in the first round */
    int search, width, columns, known, locked, random, least;
    bool is_single, may_be_single, must_be_single, filtered;
    int batch, step; /* columns that are being filtered; 0: none are */
    bool refines;
    wisp__eig_times checked; /* now: seconds since then */
} numbers;

static numbers numbers_of(const wisp__chebfd *c)
{
    numbers n = {.low = c->low,
                 .high = c->high,
                 .wanted = c->wanted,
                 .gain = c->gain,
                 .done = c->done,
                 .plan = c->plan,
                 .has_series = c->plan.f.c != NULL,
                 .first_has_series = c->k->e->filter.c != NULL,
                 .search = c->search,
                 .width = c->width,
                 .columns = c->columns,
                 .known = c->known,
                 .locked = c->locked,
                 .random = c->random,
                 .least = c->least,
                 .is_single = c->is_single,
                 .may_be_single = c->may_be_single,
                 .must_be_single = c->must_be_single,
                 .filtered = c->filtered,
                 .batch = c->batch.step > 0 ? c->batch.n : 0,
                 .step = c->batch.step,
                 .refines = c->batch.refines,
                 .checked = c->checked};
    n.plan.f.c = NULL;
    n.checked.now = wisp_now() - c->checked.now;
    return n;
}

static wisp_status check(const wisp__chebfd *c, const numbers *n)
{
    const wisp__chebfd_at *at = &c->at;
    const bool fits = n->plan.f.terms > 0 && n->search > 0 && n->search <= c->k->rows && n->columns <= n->search &&
                      n->locked >= 0 && n->locked <= n->columns && n->known <= n->columns && n->width > 0 &&
                      n->width <= n->search && n->batch >= 0 && n->batch <= n->width && n->step >= 0 &&
                      at->phase <= WISP__CHECKS && at->through >= 0 && at->round > 0 && at->terms > 0 &&
                      at->terms <= n->plan.f.terms && at->rank >= 0 && at->time >= 0;
    if (fits) return WISP_OK;
    return wisp_ctx_failf(c->k->ctx, WISP_ERR_FORMAT, "a state of eigenpairs that can't be: %d of %d columns, round %d",
                          n->columns, n->search, at->round);
}

static void take(wisp__chebfd *c, const numbers *n)
{
    c->low = n->low, c->high = n->high;
    c->wanted = n->wanted;
    c->gain = n->gain;
    c->done = n->done;
    c->plan = n->plan;
    c->search = n->search;
    c->width = n->width;
    c->known = n->known;
    c->locked = n->locked;
    c->random = n->random;
    c->least = n->least;
    c->is_single = n->is_single;
    c->may_be_single = n->may_be_single;
    c->must_be_single = n->must_be_single;
    c->filtered = n->filtered;
    c->checked = n->checked;
    c->checked.now = wisp_now() - n->checked.now;
}

/* x[n] of malloc, which is made if it is given back. */
static wisp_status array(wisp__chebfd *c, wisp_state *s, const char *name, double **x, int64_t n)
{
    if (wisp_state_is_kept(s)) {
        free(*x);
        *x = n > 0 && n < INT32_MAX ? calloc((size_t)n, sizeof **x) : NULL;
        if (!*x) return wisp_ctx_failf(c->k->ctx, WISP_ERR_NOMEM, "eig: no memory for %lld numbers", (long long)n);
    }
    return wisp_state_data(s, name, *x, (size_t)n * sizeof **x);
}

/* The moments, and from them the mean. */
static wisp_status density(wisp__chebfd *c, wisp_state *s)
{
    wisp_status status = WISP_OK;
    wisp_moments m = *c->m;
    double *mu = m.mu;
    m.mu = NULL, m.sites = NULL, m.matrix = NULL, m.command = NULL;
    WISP_TRY(wisp_state_data(s, "density", &m, sizeof m));
    WISP_TRY(array(c, s, "density's moments", &mu, m.n * m.vectors));
    if (!wisp_state_is_kept(s)) goto out;
    m.mu = mu;
    *c->m = m;
    status = wisp__chebfd_mean(c);
out:
    return status;
}

static wisp_status batch(wisp__chebfd *c, wisp_state *s, const numbers *n)
{
    wisp_status status = WISP_OK;
    wisp__batch *b = &c->batch;
    if (n->batch == 0) goto out;
    if (wisp_state_is_kept(s)) WISP_TRY(wisp__chebfd_open_batch(c, n->batch, n->refines));
    b->step = n->step;
    WISP_TRY(wisp_state_data(s, "factors", b->x, 3 * (size_t)b->n * sizeof *b->x));
    WISP_TRY(wisp_state_block(s, "newest", b->v[1]));
    WISP_TRY(wisp_state_block(s, "before", b->v[0]));
    if (b->refines || c->plan.f.c) WISP_TRY(wisp_state_block(s, "added", b->v[3]));
out:
    return status;
}

/* The columns of a search for what is missing. */
static wisp_status fresh(wisp__chebfd *c, wisp_state *s)
{
    wisp_status status = WISP_OK;
    const int n = wisp__chebfd_fresh(c);
    if (c->at.phase != WISP__CHECKS) goto out;
    if (wisp_state_is_kept(s)) {
        WISP_TRY(wisp__eig_at_most(c->k, "fresh columns", c->at.rank, n));
        WISP_TRY(wisp_blk_create(&c->fresh, c->k->ctx, wisp_mat_map(c->k->A), c->k->type, n));
    }
    WISP_TRY(wisp__eig_array(c->k, s, "their values", &c->fresh_theta, 2 * (size_t)n));
    WISP_TRY(wisp__eig_columns(s, "fresh columns", c->fresh, c->at.rank, &c->view[1]));
out:
    return status;
}

static wisp_status all_items(wisp__chebfd *c, wisp_state *s)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    const bool kept = wisp_state_is_kept(s);
    numbers n = numbers_of(c);
    WISP_TRY(wisp_state_data(s, "numbers", &n, sizeof n));
    if (kept) {
        WISP_TRY(check(c, &n));
        take(c, &n);
    }
    WISP_TRY(density(c, s));
    if (n.has_series) WISP_TRY(array(c, s, "filter", &c->plan.f.c, c->plan.f.terms));
    if (n.first_has_series) WISP_TRY(array(c, s, "first filter", &k->e->filter.c, k->e->filter.terms));
    if (kept) {
        WISP_TRY(wisp__chebfd_copy(c));
        WISP_TRY(wisp__chebfd_space(c));
        c->columns = n.columns;
    }
    WISP_TRY(wisp_state_data(s, "theta", c->theta, (size_t)c->search * sizeof *c->theta));
    WISP_TRY(wisp_state_data(s, "residual", c->residual, (size_t)c->search * sizeof *c->residual));
    WISP_TRY(wisp__eig_columns(s, "space", c->space, c->columns, &c->view[0]));
    WISP_TRY(fresh(c, s));
    WISP_TRY(batch(c, s, &n));
out:
    return status;
}

wisp_status wisp__chebfd_items(void *chebfd, wisp_state *s)
{
    wisp__chebfd *c = chebfd;
    wisp_status status = WISP_OK;
    const double dos_seconds = c->k->e->dos_seconds;
    if (!wisp_state_is_kept(s) && c->at.phase == WISP__LOOKS) c->k->e->dos_seconds += wisp_now() - c->look_began;
    status = wisp__eig_items(c->k, s);
    if (!wisp_state_is_kept(s)) c->k->e->dos_seconds = dos_seconds;
    if (status != WISP_OK) return status;
    WISP_TRY(wisp_state_data(s, "progress", &c->at, sizeof c->at));
    WISP_TRY(wisp_state_data(s, "bytes of rows", &c->row_bytes, sizeof c->row_bytes));
    c->k->e->row_bytes = c->row_bytes;
    if (c->at.phase != WISP__LOOKS) status = all_items(c, s);
out:
    return status;
}
