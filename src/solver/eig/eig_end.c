/* The state of a call of wisp_eig that is through: its result, and how it ended. Only that is given back. */
#include "eigen.h"
#include <stdlib.h>
#include <string.h>

static const char *const name = "end of the search";

typedef struct {
    wisp__eig *k;
    wisp_status status;
    char why[WISP_MESSAGE];
} ending;

/* What there is of the parts of a result. */
typedef struct {
    int64_t status, type, conditions, moments, moments_of, terms;
} parts;

static parts parts_of(const ending *end)
{
    const wisp_eigen *e = end->k->e;
    parts there = {.status = end->status, .type = WISP_DEFAULT, .conditions = e->condition != NULL};
    if (e->vectors) there.type = wisp_blk_type(e->vectors);
    if (e->moments && e->moments->mu) there.moments = e->moments->n, there.moments_of = e->moments->vectors;
    if (e->filter.c) there.terms = e->filter.terms;
    return there;
}

/* An array of plain memory, which is made for a kept one; none if n is 0. */
static wisp_status array(const wisp__eig *k, wisp_state *s, const char *item, void **x, int64_t n, size_t size)
{
    if (n <= 0) return WISP_OK;
    if (wisp_state_is_kept(s) && !(*x = calloc((size_t)n, size)))
        return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "eig: out of memory for %lld numbers", (long long)n);
    return wisp_state_data(s, item, *x, (size_t)n * size);
}

static wisp_status moments(wisp__eig *k, wisp_state *s, const parts *there)
{
    wisp_status status = WISP_OK;
    wisp_moments **m = &k->e->moments, now = {0};
    if (there->moments <= 0) return status;
    if (*m) now = **m;
    now.mu = NULL, now.imag = NULL, now.sites = NULL, now.matrix = now.command = NULL, now.points = NULL;
    WISP_TRY(wisp_state_data(s, "moments of the density", &now, sizeof now));
    if (wisp_state_is_kept(s)) {
        *m = calloc(1, sizeof **m);
        if (!*m) return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "eig: out of memory");
        **m = now;
    }
    status = array(k, s, "mu of the density", (void **)&(*m)->mu, there->moments * there->moments_of, sizeof(double));
out:
    return status;
}

/* A wisp_items_fn. The method is the one that the call began with. */
static wisp_status items(void *arg, wisp_state *s)
{
    ending *end = arg;
    wisp__eig *k = end->k;
    wisp_eigen *e = k->e, now = *e;
    parts there = parts_of(end);
    wisp_status status;
    e->method = k->began_as;
    status = wisp__eig_same(k, s);
    e->method = now.method;
    if (status != WISP_OK) return status;
    now.value = NULL, now.residual = now.condition = NULL, now.vectors = NULL, now.moments = NULL, now.filter.c = NULL;
    now.seconds = wisp_now() - k->started;
    WISP_TRY(wisp_state_data(s, name, &there, sizeof there));
    WISP_TRY(wisp_state_data(s, "why it ended", end->why, sizeof end->why));
    WISP_TRY(wisp_state_data(s, "result", &now, sizeof now));
    if (wisp_state_is_kept(s)) {
        WISP_TRY(wisp__eig_at_most(k, "pairs", now.found, INT32_MAX));
        end->status = (wisp_status)there.status;
        end->why[sizeof end->why - 1] = '\0';
        k->started = wisp_now() - now.seconds;
        *e = now;
    }
    WISP_TRY(array(k, s, "values", (void **)&e->value, now.found, sizeof *e->value));
    WISP_TRY(array(k, s, "residuals", (void **)&e->residual, now.found, sizeof *e->residual));
    if (there.conditions) WISP_TRY(array(k, s, "conditions", (void **)&e->condition, now.found, sizeof(double)));
    WISP_TRY(array(k, s, "filter", (void **)&e->filter.c, there.terms, sizeof *e->filter.c));
    WISP_TRY(moments(k, s, &there));
    if (there.type == WISP_DEFAULT || now.found <= 0) goto out;
    if (wisp_state_is_kept(s))
        WISP_TRY(wisp_blk_create(&e->vectors, k->ctx, wisp_mat_map(k->A), (wisp_type)there.type, now.found));
    status = wisp_state_block(s, "vectors", e->vectors);
out:
    return status;
}

bool wisp__eig_has_ended(const wisp_state *kept) { return kept && wisp_state_bytes(kept, name) > 0; }

wisp_status wisp__eig_take_end(wisp__eig *k)
{
    ending end = {.k = k};
    const wisp_status status = items(&end, k->o.resume);
    if (status != WISP_OK) return status;
    return end.status == WISP_OK ? WISP_OK : wisp_ctx_fail(k->ctx, end.status, end.why);
}

wisp_status wisp__eig_offer_end(wisp__eig *k, wisp_status ended)
{
    ending end = {.k = k, .status = ended};
    wisp_state *live = NULL;
    const bool is_result = ended == WISP_OK || ended == WISP_ERR_INCOMPLETE;
    if (!k->o.offer || !is_result || k->ended) return ended;
    if (ended != WISP_OK) wisp_ctx_message(k->ctx, end.why, sizeof end.why);
    if (wisp_state_create(&live, k->ctx, items, &end) == WISP_OK)
        (void)wisp_state_offer_whole(live, k->o.offer, k->o.offer_arg);
    wisp_state_free(live);
    return ended == WISP_OK ? WISP_OK : wisp_ctx_fail(k->ctx, ended, end.why);
}
