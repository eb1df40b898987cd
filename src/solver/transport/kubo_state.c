/* The state of wisp_kubo: its moments so far, and whether a kept one is of the same run. Vectors are not kept: those
   that are needed to go on take a part of one random vector's sweeps, and none of its products. */
#include <stdio.h>
#include <string.h>
#include "../marks.h"
#include "kubo.h"

static wisp_status same_call(const wisp__kubo_run *k, wisp_state *s)
{
    const wisp_kubo_opts *o = k->o;
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "solver", "kubo"));
    WISP_TRY(wisp_state_samef(s, "rows", "%lld", (long long)k->m->rows));
    WISP_TRY(wisp_state_samef(s, "opts.moments", "%lld", (long long)o->moments));
    WISP_TRY(wisp_state_samef(s, "opts.trace", "%s", o->trace == WISP_TRACE_EXACT ? "exact" : "random"));
    WISP_TRY(wisp_state_samef(s, "opts.vectors", "%lld from %lld on", (long long)wisp__kubo_vectors(o, k->m->rows),
                              (long long)k->m->first_vector));
    WISP_TRY(wisp_state_samef(s, "opts.seed", "%llu", (unsigned long long)o->seed));
    WISP_TRY(wisp_state_samef(s, "opts.type", "%s", wisp_type_name(o->type)));
    WISP_TRY(wisp_state_samef(s, "opts.left_type", "%s", wisp_type_name(o->left_type)));
    WISP_TRY(wisp_state_samef(s, "opts.width", "%d", o->width));
    status = wisp__same_bounds(s, "opts.bounds", &o->bounds);
out:
    return status;
}

/* Up to rounding, which other ranks may have otherwise. */
static wisp_status same_matrices(const wisp__kubo_run *k, wisp_state *s)
{
    static const char *const name[] = {"another matrix", "another V_a", "another V_b"};
    wisp_status status;
    wisp_moments other = *k->m;
    WISP_TRY(wisp_state_data(s, "marks", other.mark, sizeof other.mark));
    for (int i = 0; i < 3; i++)
        if (wisp__marks_differ(k->m, &other, i))
            return wisp_ctx_failf(k->ctx, WISP_ERR_MISMATCH, "the state is of a run with %s", name[i]);
out:
    return status;
}

/* Other left vectors at once begin anew with those that were held. */
static wisp_status take_place(wisp__kubo_run *k, int64_t left)
{
    wisp__kubo_place *at = &k->at;
    const int64_t M = k->o->moments, vectors = wisp__kubo_vectors(k->o, k->m->rows);
    const bool whole = at->vector == vectors && at->j == 0 && at->l == 0;
    if (at->vector < 0 || (at->vector >= vectors && !whole) || at->j < 0 || at->j >= M || at->l < 0 || at->l >= M ||
        left < 1)
        return wisp_ctx_failf(k->ctx, WISP_ERR_FORMAT, "a state of moments that can't be: vector %lld, %lld, %lld",
                              (long long)at->vector, (long long)at->j, (long long)at->l);
    if (left != k->o->left) at->j -= at->j % k->o->left, at->l = 0;
    k->from = *at;
    k->sweeps = at->sweeps;
    k->flops = at->flops;
    if (k->o->trace != WISP_TRACE_EXACT) k->m->vectors = at->vector;
    return WISP_OK;
}

wisp_status wisp__kubo_items(void *arg, wisp_state *s)
{
    wisp__kubo_run *k = arg;
    wisp_moments *m = k->m;
    wisp_status status;
    double seconds[] = {k->before + wisp_now() - k->began, m->bounds_seconds};
    int64_t left = k->o->left;
    WISP_TRY(same_call(k, s));
    WISP_TRY(same_matrices(k, s));
    WISP_TRY(wisp_state_data(s, "at", &k->at, sizeof k->at));
    WISP_TRY(wisp_state_data(s, "left", &left, sizeof left));
    WISP_TRY(wisp_state_data(s, "seconds", seconds, sizeof seconds));
    WISP_TRY(wisp_state_data(s, "found bounds", &m->bounds, sizeof m->bounds));
    if (wisp_state_is_kept(s)) {
        WISP_TRY(take_place(k, left));
        k->before = seconds[0];
        m->bounds_seconds = seconds[1];
    }
    /* With the line of the vector at hand, which an exact trace has apart. */
    const int64_t all = wisp__kubo_vectors(k->o, m->rows), begun = k->at.vector < all ? k->at.vector + 1 : all;
    const size_t lines = k->one ? 1 : (size_t)begun, bytes = (size_t)m->n * sizeof *m->mu;
    WISP_TRY(wisp_state_data(s, "mu", m->mu, lines * bytes));
    WISP_TRY(wisp_state_data(s, "imag", m->imag, lines * bytes));
    if (k->one) WISP_TRY(wisp_state_data(s, "one", k->one, 2 * bytes));
out:
    return status;
}
