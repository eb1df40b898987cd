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

/* WISP_ERR_ITERATIONS is none: from a state before it a call with more rounds goes on. */
static bool is_result(wisp_status status)
{
    return status == WISP_OK || status == WISP_ERR_INCOMPLETE || status == WISP_ERR_STAGNATION;
}

/* What there is of the parts of a result. */
typedef struct {
    int64_t status, type, conditions, moments, filter;
} parts;

static parts parts_of(const ending *end)
{
    const wisp_eigen *e = end->k->e;
    parts there = {.status = end->status,
                   .type = WISP_DEFAULT,
                   .conditions = e->condition != NULL,
                   .moments = e->moments && e->moments->mu,
                   .filter = e->filter.c != NULL};
    if (e->vectors) there.type = wisp_blk_type(e->vectors);
    return there;
}

static wisp_status impossible(const wisp__eig *k, int64_t n, const char *what)
{
    return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT, "a state of eigenpairs that can't be: %lld %s", (long long)n, what);
}

/* An array of plain memory; none if n is 0. For a kept one it is made, if this has as many numbers. */
static wisp_status array(const wisp__eig *k, wisp_state *s, const char *item, void **x, int64_t n, size_t size)
{
    if (n == 0) return WISP_OK;
    if (wisp_state_is_kept(s)) {
        if (n < 0 || wisp_state_bytes(s, item) != (size_t)n * size) return impossible(k, n, item);
        if (!(*x = calloc((size_t)n, size)))
            return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "eig: out of memory for %lld numbers", (long long)n);
    }
    return wisp_state_data(s, item, *x, (size_t)n * size);
}

static wisp_status moments(wisp__eig *k, wisp_state *s)
{
    wisp_moments **m = &k->e->moments;
    if (wisp_state_is_kept(s) && !(*m = calloc(1, sizeof **m)))
        return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "eig: out of memory");
    return wisp_state_moments(s, "the density", *m);
}

static void forget_parts(wisp_eigen *e)
{
    e->value = NULL, e->residual = e->condition = NULL, e->vectors = NULL, e->moments = NULL, e->filter.c = NULL;
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
    forget_parts(&now);
    now.seconds = wisp_now() - k->started;
    WISP_TRY(wisp_state_data(s, name, &there, sizeof there));
    WISP_TRY(wisp_state_data(s, "why it ended", end->why, sizeof end->why));
    WISP_TRY(wisp_state_data(s, "result", &now, sizeof now));
    if (wisp_state_is_kept(s)) {
        if (now.found < 0 || now.found > k->rows) WISP_TRY(impossible(k, now.found, "pairs"));
        if (!is_result((wisp_status)there.status)) WISP_TRY(impossible(k, there.status, "as its status"));
        end->status = (wisp_status)there.status;
        end->why[sizeof end->why - 1] = '\0';
        k->started = wisp_now() - now.seconds;
        forget_parts(&now);
        *e = now;
    }
    WISP_TRY(array(k, s, "values", (void **)&e->value, now.found, sizeof *e->value));
    WISP_TRY(array(k, s, "residuals", (void **)&e->residual, now.found, sizeof *e->residual));
    if (there.conditions) WISP_TRY(array(k, s, "conditions", (void **)&e->condition, now.found, sizeof(double)));
    if (there.filter) WISP_TRY(array(k, s, "filter", (void **)&e->filter.c, e->filter.terms, sizeof *e->filter.c));
    if (there.moments) WISP_TRY(moments(k, s));
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
    if (status != WISP_OK) {
        k->e->found = 0; /* some of what belongs to them is missing */
        return status;
    }
    return end.status == WISP_OK ? WISP_OK : wisp_ctx_fail(k->ctx, end.status, end.why);
}

wisp_status wisp__eig_offer_end(wisp__eig *k, wisp_status ended)
{
    ending end = {.k = k, .status = ended};
    wisp_state *live = NULL;
    if (!k->o.offer || !is_result(ended) || k->ended) return ended;
    if (ended != WISP_OK) wisp_ctx_message(k->ctx, end.why, sizeof end.why);
    if (wisp_state_create(&live, k->ctx, items, &end) == WISP_OK)
        (void)wisp_state_offer_whole(live, k->o.offer, k->o.offer_arg);
    wisp_state_free(live);
    return ended == WISP_OK ? WISP_OK : wisp_ctx_fail(k->ctx, ended, end.why);
}
