/* Thermal pure states exp(-A/2T)|r> of random vectors (Sugiura and Shimizu, Phys. Rev. Lett. 111, 010401 (2013)). They
   are cooled step by step and scaled to norm 1 each time, so that their digits are not those of a trace over all
   states: what a step is off counts relative to what is left, however little that is. */
#include "evolve.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = WISP_COOL_WIDTH };

typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A;
    wisp_cool_opts o; /* with every default filled in */
    wisp_cooled *c;
    wisp_blk *psi, *y;
    int width;
    wisp_scalar dot[WIDTH];
    double norm[WIDTH];
    wisp_cooled_state now[WIDTH];
    struct {
        int64_t first, temperature; /* the numbers of the first state, and of the next temperature */
        double time;                /* that they have come to */
        double off, last;           /* what all steps so far, and the last one, made the states off, relative to them */
    } at;
    wisp_state *live; /* NULL: it is not offered */
} run;

/* ---- how cold -------------------------------------------------------------------------------------- */

/* Energy and spread of each state. */
static wisp_status look(run *r)
{
    wisp_status status;
    wisp_scalar energy[WIDTH];
    double spread[WIDTH];
    WISP_TRY(wisp_norm(r->psi, r->norm));
    WISP_TRY(wisp_spmmv(r->y, r->A, r->psi, NULL));
    WISP_TRY(wisp_dot(r->psi, r->y, r->dot));
    for (int j = 0; j < r->width; j++) {
        r->now[j].energy = r->dot[j].re / (r->norm[j] * r->norm[j]);
        energy[j] = wisp__real(-r->now[j].energy);
    }
    WISP_TRY(wisp_vaxpy(r->y, energy, r->psi));
    WISP_TRY(wisp_norm(r->y, spread));
    for (int j = 0; j < r->width; j++) {
        r->now[j].spread = spread[j] / r->norm[j];
        if (!isfinite(r->now[j].energy) || !isfinite(r->now[j].spread))
            return wisp_ctx_failf(r->ctx, WISP_ERR_NUMERIC,
                                  "cool: products of the matrix with vector %lld hold a NaN or an infinity",
                                  (long long)(r->o.first_vector + r->at.first + j));
    }
out:
    return status;
}

static double largest(const run *r, bool spread)
{
    double most = -HUGE_VAL;
    for (int j = 0; j < r->width; j++) most = fmax(most, spread ? r->now[j].spread : r->now[j].energy);
    return most;
}

/* Towards the time `to` by exp(-A t), in a step that leaves a good part of the norm: at least exp(-most), by Jensen's
   inequality. */
static wisp_status step(run *r, double to)
{
    static const double most = 3;
    const wisp_bounds *b = &r->c->bounds;
    const double above = largest(r, false) - (b->center - b->halfwidth), left = to - r->at.time,
                 t = above > 0 ? fmin(left, most / above) : left; /* at the edge but for rounding: no norm is lost */
    const double eps = wisp__is_single(r->c->type) ? (double)FLT_EPSILON : DBL_EPSILON;
    const double rounding = 3 * eps * (4 + (b->halfwidth + fabs(b->center)) * t) * exp(most);
    double log_norm[WIDTH], off;
    /* No digit would be left: what is told of this temperature and lower ones is refused. Rounding may keep states from
       coming to rest, and steps from ending. */
    if (!(4 * rounding < 1) || !(r->at.off < 1)) {
        r->at.off = r->at.last = HUGE_VAL;
        r->at.time = to;
        return WISP_OK;
    }
    const wisp_evolve_opts o = {.tolerance = fmax(4 * rounding, 1e-12),
                                .direction = {0, -1},
                                .bounds = {.method = WISP_BOUNDS_GIVEN, .given = *b},
                                .at_once = 1,
                                .log_norm = log_norm,
                                .off = &off};
    wisp_evolution e;
    const wisp_status status = wisp_evolve(&e, r->A, r->psi, 1, &t, &o);
    r->c->sweeps += e.sweeps;
    if (status) return status;
    for (int j = 0; j < r->width; j++) r->now[j].log_norm += log_norm[j];
    r->at.off += off;
    r->at.last = off;
    r->at.time = t < left ? r->at.time + t : to;
    return look(r);
}

/* To this temperature, in steps. Once all states are eigenstates, as far as it shows, they only lose norm. */
static wisp_status cool_to(run *r, double temperature)
{
    static const double still = 1e-8, rounded = 64 * DBL_EPSILON;
    const wisp_bounds *b = &r->c->bounds;
    const double least = fmax(still * temperature, rounded * (b->halfwidth + fabs(b->center))),
                 to = wisp__cool_time(temperature);
    wisp_status status = WISP_OK;
    while (r->at.time < to) {
        if (r->live) WISP_TRY(wisp_state_offer(r->live, r->o.offer, r->o.offer_arg));
        if (largest(r, true) <= least) {
            for (int j = 0; j < r->width; j++) r->now[j].log_norm -= r->now[j].energy * (to - r->at.time);
            r->at.time = to;
            break;
        }
        WISP_TRY(step(r, to));
    }
out:
    return status;
}

/* ---- all states ------------------------------------------------------------------------------------ */

static wisp_status make_blocks(run *r, int width)
{
    wisp_status status;
    wisp_map *map = wisp_mat_map(r->A);
    wisp_blk_free(r->psi);
    wisp_blk_free(r->y);
    r->psi = r->y = NULL;
    r->width = width;
    WISP_TRY(wisp_blk_create(&r->psi, r->ctx, map, r->c->type, width));
    status = wisp_blk_create(&r->y, r->ctx, map, r->c->type, width);
out:
    return status;
}

/* Random vectors from number at.first on, scaled to norm 1: each element has the same size. */
static wisp_status begin(run *r)
{
    wisp_scalar unit[WIDTH];
    wisp_status status;
    const int64_t first = r->at.first;
    for (int j = 0; j < r->width; j++) unit[j] = wisp__real(1 / sqrt((double)r->c->rows));
    memset(r->now, 0, sizeof r->now);
    memset(&r->at, 0, sizeof r->at);
    r->at.first = first;
    WISP_TRY(wisp_blk_fill_random(r->psi, WISP_RANDOM_TRACE, r->o.seed, WISP__STREAM_TRACE,
                                  (uint32_t)(r->o.first_vector + first)));
    WISP_TRY(wisp_vscal(r->psi, unit));
    status = look(r);
out:
    return status;
}

/* From the temperature at hand down to the lowest one. */
static wisp_status go_on(run *r)
{
    wisp_cooled *c = r->c;
    wisp_status status = WISP_OK;
    for (; r->at.temperature < c->temperatures; r->at.temperature++) {
        const int64_t i = r->at.temperature;
        const double done = (double)r->at.first + r->width * (double)i / (double)c->temperatures;
        WISP_TRY(wisp_ctx_step(r->ctx, "cooling", done / (double)c->vectors, 0));
        WISP_TRY(cool_to(r, c->temperature[i]));
        memcpy(c->state + i * c->vectors + r->at.first, r->now, (size_t)r->width * sizeof *r->now);
        double *off = c->off + 2 * i;
        off[0] = fmax(off[0], r->at.off), off[1] = fmax(off[1], r->at.last);
    }
out:
    return status;
}

/* ---- states ---------------------------------------------------------------------------------------- */

static wisp_status same_call(const run *r, wisp_state *s)
{
    const wisp_cool_opts *o = &r->o;
    const double *T = o->temperature;
    const size_t bytes = (size_t)o->temperatures * sizeof *T;
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "solver", "cool"));
    WISP_TRY(wisp_state_samef(s, "rows", "%lld", (long long)r->c->rows));
    WISP_TRY(wisp_state_samef(s, "type of states", "%s", wisp_type_name(r->c->type)));
    WISP_TRY(wisp_state_samef(s, "opts.temperature", "%lld from %.17g to %.17g", (long long)o->temperatures, T[0],
                              T[o->temperatures - 1]));
    WISP_TRY(wisp_state_samef(s, "opts.vectors", "%lld from %lld on, seed %llu", (long long)o->vectors,
                              (long long)o->first_vector, (unsigned long long)o->seed));
    WISP_TRY(wisp_state_data(s, "temperature", r->c->temperature, bytes));
    if (memcmp(r->c->temperature, T, bytes))
        return wisp_ctx_failf(r->ctx, WISP_ERR_MISMATCH, "the state is of a run with other temperatures");
out:
    return status;
}

/* Between two steps, or behind the last one. A wisp_items_fn. */
static wisp_status items(void *arg, wisp_state *s)
{
    run *r = arg;
    wisp_cooled *c = r->c;
    const int64_t all = c->vectors;
    wisp_status status;
    WISP_TRY(same_call(r, s));
    WISP_TRY(wisp_state_data(s, "at", &r->at, sizeof r->at));
    WISP_TRY(wisp_state_data(s, "states", r->now, sizeof r->now));
    WISP_TRY(wisp_state_data(s, "found bounds", &c->bounds, sizeof c->bounds));
    WISP_TRY(wisp_state_data(s, "sweeps", &c->sweeps, sizeof c->sweeps));
    WISP_TRY(wisp_state_data(s, "cooled", c->state, (size_t)(c->temperatures * all) * sizeof *c->state));
    WISP_TRY(wisp_state_data(s, "off", c->off, 2 * (size_t)c->temperatures * sizeof *c->off));
    if (wisp_state_is_kept(s)) {
        if (r->at.first < 0 || r->at.first > all || r->at.temperature < 0 || r->at.temperature >= c->temperatures)
            return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "a state of cooling that can't be: vector %lld",
                                  (long long)r->at.first);
        c->done = r->at.first;
        if (r->at.first < all) WISP_TRY(make_blocks(r, wisp__cool_width(all - r->at.first)));
    }
    if (r->at.first < all) status = wisp_state_block(s, "psi", r->psi);
out:
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------- */

static wisp_status cool_all(run *r)
{
    wisp_cooled *c = r->c;
    bool resumes = r->o.resume;
    wisp_status status = WISP_OK;
    if (resumes) WISP_TRY(items(r, r->o.resume));
    if (r->o.offer) WISP_TRY(wisp_state_create(&r->live, r->ctx, items, r));
    for (; r->at.first < c->vectors; r->at.first += r->width) {
        const int width = wisp__cool_width(c->vectors - r->at.first);
        if (width != r->width) WISP_TRY(make_blocks(r, width));
        if (!resumes) WISP_TRY(begin(r));
        resumes = false;
        WISP_TRY(go_on(r));
        c->done = r->at.first + width;
    }
    r->at.temperature = 0;
    if (r->live) status = wisp_state_offer_whole(r->live, r->o.offer, r->o.offer_arg);
out:
    wisp_state_free(r->live);
    return status;
}

static wisp_status make_results(run *r)
{
    wisp_cooled *c = r->c;
    const size_t temperatures = (size_t)r->o.temperatures, vectors = (size_t)r->o.vectors;
    wisp_mat_info info;
    wisp_mat_get_info(r->A, &info);
    c->rows = info.rows, c->temperatures = r->o.temperatures, c->vectors = r->o.vectors;
    c->type = wisp__type_in(info.type, WISP_Z);
    c->temperature = calloc(temperatures, sizeof *c->temperature);
    c->state = calloc(temperatures, vectors * sizeof *c->state);
    c->off = calloc(temperatures, 2 * sizeof *c->off);
    if (!c->temperature || !c->state || !c->off)
        return wisp_ctx_failf(r->ctx, WISP_ERR_NOMEM, "out of memory for %zu temperatures of %zu vectors", temperatures,
                              vectors);
    memcpy(c->temperature, r->o.temperature, temperatures * sizeof *c->temperature);
    return WISP_OK;
}

static wisp_bounds_opts bounds_opts(const wisp_cool_opts *o, int width)
{
    const wisp_evolve_opts cools = {.direction = {0, -1}};
    const double t = wisp__cool_time(o->temperature[o->temperatures - 1]);
    return wisp__evolve_bounds_opts(&cools, &o->bounds, width, 1, &t);
}

wisp_status wisp_cool(wisp_cooled *c, const wisp_mat *A, const wisp_cool_opts *opts)
{
    wisp_status status;
    wisp_ctx *ctx = wisp_mat_ctx(A);
    WISP_NEED(ctx, c);
    *c = (wisp_cooled){0};
    WISP_NEED(NULL, A);
    WISP_NEED(ctx, opts);
    run r = {.ctx = ctx, .A = A, .o = *opts, .c = c};
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__cool_check(ctx, &r.o));
    WISP_TRY(make_results(&r));
    if (!r.o.resume) {
        const wisp_bounds_opts how = bounds_opts(&r.o, wisp__cool_width(c->vectors));
        WISP_TRY(wisp__hermitian_bounds(&c->bounds, A, &how));
    }
    status = cool_all(&r);
out:
    wisp_blk_free(r.psi);
    wisp_blk_free(r.y);
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK && status != WISP_ERR_CANCELLED) wisp_cooled_free(c);
    return status;
}
