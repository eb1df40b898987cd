/* --cool of wisp thermal: temperatures that moments do not serve, by thermal pure states exp(-H/2T)|r> of random
   vectors (Sugiura and Shimizu, Phys. Rev. Lett. 111, 010401 (2013)). Z is the mean of their squared norms, and
   energies are ratios of means. States are cooled step by step and scaled to norm 1 each time, so that their digits are
   not those of a trace over all states: what a step is off counts relative to what is left, however little that is. */
#include "dos.h"
#include "../out/text.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define COOL_STATE "cooling"               /* this item is in states of this part of the run alone; this one */
#define COOL_MOMENTS "moments of cooling"  /* only where it is through */
enum { COOL_WIDTH = 8, STREAM_TRACE = 0 }; /* states at once; the stream of random numbers that moments take */

typedef struct {
    tool *t;
    results *r;
    const wisp_mat *A;
    wisp_blk *psi, *y;
    int width;
    double edge; /* the lower bound */
    wisp_scalar dot[COOL_WIDTH];
    double norm[COOL_WIDTH];
    cooled now[COOL_WIDTH];
    struct {
        int64_t first, temperature; /* the number of the first state; the next temperature, counted from the coldest */
        double time;                /* that they have come to */
        double off, last;           /* what all steps so far, and the last one, made the states off, relative to them */
    } at;
    wisp_state *live; /* NULL: it is not offered */
} run;

int cool_check(tool *t)
{
    const options *o = &t->opt;
    if (!o->cool) return EXIT_FINE;
    if (o->trace == WISP_TRACE_EXACT) return tool_usage(t, "--cool is for random vectors, not for --trace exact");
    if (o->partition) return tool_usage(t, "--cool does not go with --partition");
    if (o->average) return tool_usage(t, "--cool does not go with --average");
    return EXIT_FINE;
}

static wisp_type type_of(wisp_type matrix) { return type_in(matrix, WISP_Z); }

static int width_of(int64_t vectors) { return vectors < COOL_WIDTH ? (int)vectors : COOL_WIDTH; }

/* ---- how cold -------------------------------------------------------------------------------------- */

/* Energy and spread of each state. */
static wisp_status look(run *c)
{
    wisp_status status;
    wisp_scalar energy[COOL_WIDTH];
    WISP_TRY(wisp_norm(c->psi, c->norm));
    WISP_TRY(wisp_spmmv(c->y, c->A, c->psi, NULL));
    WISP_TRY(wisp_dot(c->psi, c->y, c->dot));
    for (int j = 0; j < c->width; j++) {
        c->now[j].energy = c->dot[j].re / (c->norm[j] * c->norm[j]);
        energy[j] = (wisp_scalar){-c->now[j].energy, 0};
    }
    WISP_TRY(wisp_vaxpy(c->y, energy, c->psi));
    double spread[COOL_WIDTH];
    WISP_TRY(wisp_norm(c->y, spread));
    for (int j = 0; j < c->width; j++) c->now[j].spread = spread[j] / c->norm[j];
out:
    return status;
}

static double largest(const run *c, bool spread)
{
    double most = -HUGE_VAL;
    for (int j = 0; j < c->width; j++) most = fmax(most, spread ? c->now[j].spread : c->now[j].energy);
    return most;
}

/* Towards the time `to` by exp(-H t), in a step that leaves a good part of the norm: at least exp(-most), by Jensen's
   inequality. */
static wisp_status step(run *c, double to)
{
    static const double most = 3;
    const wisp_bounds *b = &c->r->m->bounds;
    const double above = largest(c, false) - c->edge, left = to - c->at.time, t = fmin(left, most / above);
    const double eps = type_is_single(wisp_blk_type(c->psi)) ? (double)FLT_EPSILON : DBL_EPSILON;
    const double rounding = 3 * eps * (4 + (b->halfwidth + fabs(b->center)) * t) * exp(most);
    double log_norm[COOL_WIDTH], off;
    if (!(4 * rounding < 1)) { /* no digit would be left: what is told of this temperature and lower ones is refused */
        c->at.off = c->at.last = HUGE_VAL;
        c->at.time = to;
        return WISP_OK;
    }
    const wisp_evolve_opts o = {.tolerance = fmax(4 * rounding, 1e-12),
                                .direction = {0, -1},
                                .bounds = {.method = WISP_BOUNDS_GIVEN, .given = *b},
                                .at_once = 1,
                                .log_norm = log_norm,
                                .off = &off};
    wisp_evolution e;
    const wisp_status status = wisp_evolve(&e, c->A, c->psi, 1, &t, &o);
    c->r->cool_sweeps += e.sweeps;
    if (status) return status;
    for (int j = 0; j < c->width; j++) c->now[j].log_norm += log_norm[j];
    c->at.off += off;
    c->at.last = off;
    c->at.time = t < left ? c->at.time + t : to;
    return look(c);
}

/* To this time, in steps. Once all states are eigenstates, as far as this temperature shows, they only lose norm. */
static wisp_status cool_to(run *c, double to, double temperature)
{
    static const double still = 1e-8, rounded = 64 * DBL_EPSILON;
    const wisp_bounds *b = &c->r->m->bounds;
    const double least = fmax(still * temperature, rounded * (b->halfwidth + fabs(b->center)));
    wisp_status status = WISP_OK;
    while (c->at.time < to) {
        if (c->live) WISP_TRY(wisp_state_offer(c->live, checkpoint_offer, c->t));
        if (largest(c, true) <= least) {
            for (int j = 0; j < c->width; j++) c->now[j].log_norm -= c->now[j].energy * (to - c->at.time);
            c->at.time = to;
            break;
        }
        WISP_TRY(step(c, to));
    }
out:
    return status;
}

/* ---- all states ------------------------------------------------------------------------------------ */

static wisp_status make_blocks(run *c, int width)
{
    wisp_status status;
    wisp_map *map = wisp_mat_map(c->A);
    const wisp_type type = type_of(c->r->stored.type);
    wisp_blk_free(c->psi);
    wisp_blk_free(c->y);
    c->psi = c->y = NULL;
    c->width = width;
    WISP_TRY(wisp_blk_create(&c->psi, c->t->ctx, map, type, width));
    status = wisp_blk_create(&c->y, c->t->ctx, map, type, width);
out:
    return status;
}

/* Random vectors from number at.first on, scaled to norm 1: each element has the same size. */
static wisp_status begin(run *c)
{
    const tool *t = c->t;
    wisp_scalar unit[COOL_WIDTH];
    wisp_status status;
    const int64_t first = c->at.first;
    for (int j = 0; j < c->width; j++) unit[j] = (wisp_scalar){1 / sqrt((double)c->r->m->rows), 0};
    memset(c->now, 0, sizeof c->now);
    memset(&c->at, 0, sizeof c->at);
    c->at.first = first;
    c->at.temperature = c->r->cool_count - 1;
    WISP_TRY(wisp_blk_fill_random(c->psi, WISP_RANDOM_TRACE, t->opt.seed, STREAM_TRACE,
                                  (uint32_t)(t->opt.first_vector + first)));
    WISP_TRY(wisp_vscal(c->psi, unit));
    status = look(c);
out:
    return status;
}

/* From the temperature at hand down to the lowest one. */
static wisp_status go_on(run *c)
{
    tool *t = c->t;
    results *r = c->r;
    const int64_t count = r->cool_count, all = r->m->vectors;
    wisp_status status = WISP_OK;
    for (int64_t i = c->at.temperature; i >= 0; c->at.temperature = --i) {
        const double temperature = t->opt.temperatures[i];
        const double done = (double)c->at.first + c->width * (double)(count - 1 - i) / (double)count;
        WISP_TRY(tool_step(t, "cooling", done / (double)all, 0));
        WISP_TRY(cool_to(c, 0.5 / temperature, temperature));
        memcpy(r->cooled + i * all + c->at.first, c->now, (size_t)c->width * sizeof *c->now);
        double *off = r->cool_off + 2 * i;
        off[0] = fmax(off[0], c->at.off), off[1] = fmax(off[1], c->at.last);
    }
out:
    return status;
}

/* A whole state has the moments, so that they are not computed anew. */
static wisp_status moments_items(wisp_moments *m, wisp_state *s)
{
    wisp_moments now = *m;
    wisp_status status;
    now.mu = now.imag = now.points = NULL, now.sites = NULL, now.matrix = now.command = NULL;
    WISP_TRY(wisp_state_data(s, COOL_MOMENTS, &now, sizeof now));
    if (wisp_state_is_kept(s)) {
        *m = now;
        m->mu = calloc((size_t)m->vectors, (size_t)m->n * sizeof *m->mu);
        if (!m->mu) return WISP_ERR_NOMEM;
    }
    status = wisp_state_data(s, "mu of cooled vectors", m->mu, (size_t)(m->vectors * m->n) * sizeof *m->mu);
out:
    return status;
}

bool cool_has_moments(const tool *t) { return t->resumed && wisp_state_bytes(t->resumed, COOL_MOMENTS) > 0; }

wisp_status cool_take_moments(tool *t, wisp_moments *m)
{
    wisp_ctx_enter(t->ctx);
    *m = (wisp_moments){0};
    return wisp_ctx_leave(t->ctx, moments_items(m, t->resumed));
}

/* The state between two steps, or behind the last one. A wisp_items_fn. */
static wisp_status items(void *arg, wisp_state *s)
{
    run *c = arg;
    results *r = c->r;
    const double *T = c->t->opt.temperatures;
    const int64_t all = r->m->vectors, count = r->cool_count;
    const size_t numbers = (size_t)(count * all);
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "--temperatures", "%lld from %.17g to %.17g, with the hash %016llx", (long long)count,
                              T[0], T[count - 1], (unsigned long long)XXH3_64bits(T, (size_t)count * sizeof *T)));
    WISP_TRY(wisp_state_samef(s, "--vectors", "%lld from %lld on, seed %llu", (long long)all,
                              (long long)c->t->opt.first_vector, (unsigned long long)c->t->opt.seed));
    WISP_TRY(wisp_state_samef(s, "--precision", "%s", wisp_type_name(r->stored.type)));
    WISP_TRY(wisp_state_data(s, COOL_STATE, &c->at, sizeof c->at));
    WISP_TRY(wisp_state_data(s, "states", c->now, sizeof c->now));
    WISP_TRY(wisp_state_data(s, "cooled vectors", &r->cool_vectors, sizeof r->cool_vectors));
    WISP_TRY(wisp_state_data(s, "sweeps", &r->cool_sweeps, sizeof r->cool_sweeps));
    WISP_TRY(wisp_state_data(s, "cooled", r->cooled, numbers * sizeof *r->cooled));
    WISP_TRY(wisp_state_data(s, "off", r->cool_off, 2 * (size_t)count * sizeof *r->cool_off));
    if (wisp_state_is_kept(s)) {
        if (c->at.first < 0 || c->at.first > all || c->at.temperature < 0 || c->at.temperature >= count)
            return wisp_ctx_failf(c->t->ctx, WISP_ERR_FORMAT, "a state of cooling that can't be: vector %lld",
                                  (long long)c->at.first);
        if (c->at.first < all) WISP_TRY(make_blocks(c, width_of(all - c->at.first)));
    }
    if (c->at.first < all)
        status = wisp_state_block(s, "psi", c->psi);
    else if (!wisp_state_is_kept(s)) /* else they are taken already */
        status = moments_items(r->m, s);
out:
    return status;
}

bool cool_resumes(const tool *t) { return t->resumed && wisp_state_bytes(t->resumed, COOL_STATE) > 0; }

static wisp_status cool_all(run *c)
{
    const int64_t all = c->r->m->vectors;
    bool resumes = cool_resumes(c->t);
    wisp_status status = WISP_OK;
    if (resumes) WISP_TRY(items(c, c->t->resumed));
    if (c->t->checkpoint) WISP_TRY(wisp_state_create(&c->live, c->t->ctx, items, c));
    for (; c->at.first < all; c->at.first += c->width) {
        const int width = width_of(all - c->at.first);
        if (width != c->width) WISP_TRY(make_blocks(c, width));
        if (!resumes) WISP_TRY(begin(c));
        resumes = false;
        WISP_TRY(go_on(c));
        c->r->cool_vectors = c->at.first + width;
    }
    c->at.temperature = 0;
    if (c->live) status = wisp_state_offer_whole(c->live, checkpoint_offer, c->t);
out:
    wisp_state_free(c->live);
    return status;
}

/* Stopped, it keeps the vectors of whole batches. */
int cool_run(tool *t, results *r, const wisp_mat *A)
{
    const wisp_moments *m = r->m;
    run c = {.t = t, .r = r, .A = A, .edge = m->bounds.center - m->bounds.halfwidth};
    if (!t->opt.cool) return EXIT_FINE;
    int rc = tool_agree(t, thermal_served(t, r));
    if (rc) return rc;
    r->cool_count = t->opt.temperature_count - r->served;
    if (!r->cool_count) return rc;
    const double start = wisp_now();
    wisp_status status;
    WISP_TRY(wisp_alloc(t->ctx, &r->cooled, (size_t)(r->cool_count * m->vectors), sizeof *r->cooled));
    WISP_TRY(wisp_alloc(t->ctx, &r->cool_off, 2 * (size_t)r->cool_count, sizeof *r->cool_off));
    checkpoint_again(t, NULL, NULL);
    status = cool_all(&c);
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
out:
    r->cool_seconds = wisp_now() - start;
    wisp_blk_free(c.psi);
    wisp_blk_free(c.y);
    if (status == WISP_ERR_CANCELLED && (checkpoint_ended(t) || t->kept.file)) return checkpoint_stopped(t);
    r->cool_cut = status == WISP_ERR_CANCELLED;
    if (r->cool_cut)
        tool_keep(t);
    else if (status)
        rc = tool_fail_matrix(t, status);
    return rc;
}

int64_t cool_bytes(const tool *t, const wisp_mat_info *A, int64_t vectors, bool most)
{
    wisp_plan plan;
    const double any = 1;
    const wisp_evolve_opts o = {.direction = {0, -1}, .at_once = 1};
    const wisp_type type = type_of(A->type);
    const int width = width_of(vectors);
    const int64_t block = (A->local_rows + A->halo_rows) * width * (int64_t)wisp_type_size(type);
    if (!t->opt.cool || wisp_evolve_plan(&plan, t->ctx, A, type, width, 1, &any, &o, NULL)) return 0;
    const int64_t numbers =
        t->opt.temperature_count * (vectors * (int64_t)sizeof(cooled) + 2 * (int64_t)sizeof(double));
    return (t->opt.checkpoint ? 3 : 2) * block + (most ? plan.bytes_most : plan.bytes) +
           (t->opt.checkpoint ? 2 : 1) * numbers;
}

/* ---- what is made of them --------------------------------------------------------------------------- */

typedef struct {
    const cooled *of; /* [vectors] */
    int64_t vectors;
    double temperature, log_rows, shift; /* the largest log_norm, twice: weights are exp(2 log_norm - shift) */
} sample;

static double weight(const sample *s, int64_t v) { return exp(2 * s->of[v].log_norm - s->shift); }

/* By all vectors but one; by all of them, where that is -1. */
static void quantities(const sample *s, int64_t without, double q[QUANTITIES])
{
    double sum = 0, energy = 0, squares = 0;
    for (int64_t v = 0; v < s->vectors; v++) {
        if (v == without) continue;
        sum += weight(s, v);
        energy += weight(s, v) * (s->of[v].energy - s->of[0].energy);
    }
    energy = s->of[0].energy + energy / sum;
    for (int64_t v = 0; v < s->vectors; v++)
        if (v != without)
            squares += weight(s, v) *
                       (pow(s->of[v].spread / s->temperature, 2) + pow((s->of[v].energy - energy) / s->temperature, 2));
    const int64_t count = s->vectors - (without >= 0);
    q[LOG_Z] = s->log_rows + s->shift + log(sum / (double)count);
    q[ENERGY] = energy;
    q[CAPACITY] = squares / sum;
    q[ENTROPY] = q[LOG_Z] + energy / s->temperature;
}

/* Errors by leaving one vector out after the other. */
static void jackknife(const sample *s, double error[QUANTITIES])
{
    const double R = (double)s->vectors;
    double mean[QUANTITIES] = {0}, squares[QUANTITIES] = {0};
    for (int64_t v = 0; v < s->vectors; v++) {
        double q[QUANTITIES];
        quantities(s, v, q);
        for (int i = 0; i < QUANTITIES; i++) {
            const double d = q[i] - mean[i];
            mean[i] += d / (double)(v + 1);
            squares[i] += d * (q[i] - mean[i]);
        }
    }
    for (int i = 0; i < QUANTITIES; i++) error[i] = sqrt((R - 1) / R * squares[i]);
}

/* Z relative to its mean, as wisp_bars95 takes it, and the standard error. */
static double relative_error(const sample *s)
{
    const double R = (double)s->vectors;
    double mean = 0, squares = 0;
    for (int64_t v = 0; v < s->vectors; v++) mean += weight(s, v) / R;
    for (int64_t v = 0; v < s->vectors; v++) squares += pow(weight(s, v) / mean - 1, 2);
    return sqrt(squares / (R * (R - 1)));
}

/* Half of a bar over the error: with fewer degrees of freedom where few states make up Z, as for moments. */
static double quantile(const sample *s, double relative)
{
    const double R = (double)s->vectors, variance = fmin(R * relative * relative, 1);
    const double freedom = 1 / (1 / (R - 1) + variance / R);
    return wisp_student95(1 + (int64_t)fmax(1, floor(freedom)));
}

/* How far each may be off beside chance, about: errors at the lowest energies grow, relative to a state, at most as the
   state loses norm beside the coldest one; higher ones fade, but for those of the last step. */
static void find_off(const results *r, const sample *s, int64_t at, double coldest, double off[QUANTITIES])
{
    const wisp_bounds *b = &r->m->bounds;
    const double T = s->temperature, eps = 4 * DBL_EPSILON, zero = eps * (fabs(b->center) + b->halfwidth) / T;
    double spread = 0, energy = -HUGE_VAL, grown = 0;
    for (int64_t v = 0; v < s->vectors; v++) {
        spread = fmax(spread, s->of[v].spread);
        energy = fmax(energy, s->of[v].energy);
        grown = fmax(grown, -s->of[v].log_norm - coldest * 0.5 / T);
    }
    const double d = r->cool_off[2 * at] * exp(grown), reach = energy - coldest + 2 * T;
    const double moved = reach * d + 2 * b->halfwidth * r->cool_off[2 * at + 1];
    off[LOG_Z] = 2 * d + zero + eps * fabs(s->shift);
    off[ENERGY] = 2 * spread * d / T + zero;
    off[CAPACITY] = (2 * spread + moved) / T * (moved / T) + eps;
    off[ENTROPY] = off[LOG_Z] + off[ENERGY];
}

static void fill(const sample *s, const wisp_moments *m, const double off[QUANTITIES], wisp_ensemble *e)
{
    wisp_estimate *const to[] = {&e->log_z, &e->energy, &e->heat_capacity, &e->entropy};
    const double unit[] = {1, s->temperature, 1, 1};
    double q[QUANTITIES], error[QUANTITIES] = {NAN, NAN, NAN, NAN}, half[QUANTITIES] = {NAN, NAN, NAN, NAN};
    quantities(s, -1, q);
    if (s->vectors > 1) jackknife(s, error);
    const double relative = s->vectors > 1 ? relative_error(s) : NAN;
    e->temperature = s->temperature;
    for (int i = 0; i < QUANTITIES; i++) {
        if (s->vectors > 1) half[i] = quantile(s, relative) * error[i];
        half[i] += off[i] * unit[i];
        *to[i] = (wisp_estimate){q[i], error[i], q[i] - half[i], q[i] + half[i]};
        e->beside = fmax(e->beside, off[i]);
    }
    if (s->vectors < 2) return;
    wisp_moments of = *m; /* bars of so many complex vectors */
    double one = 1, low, high;
    of.vectors = s->vectors;
    of.type = WISP_Z;
    wisp_bars95(&of, NULL, 1, &one, &relative, &low, &high);
    e->log_z.low = low > 0 ? q[LOG_Z] + log(low) - off[LOG_Z] : -HUGE_VAL;
    e->log_z.high = q[LOG_Z] + log(high) + off[LOG_Z];
}

/* The coldest state of all tells where energies begin, about. */
static double coldest_of(const results *r)
{
    double least = HUGE_VAL;
    for (int64_t v = 0; v < r->cool_vectors; v++) least = fmin(least, r->cooled[v].energy);
    return least;
}

bool cool_fill(const tool *t, results *r, int64_t k)
{
    const int64_t all = r->m->vectors;
    if (k >= r->cool_count || r->cool_vectors < 1) return false;
    sample s = {.of = r->cooled + k * all,
                .vectors = r->cool_vectors,
                .temperature = t->opt.temperatures[k],
                .log_rows = log((double)r->m->rows),
                .shift = -HUGE_VAL};
    double off[QUANTITIES];
    wisp_ensemble e = {0};
    for (int64_t v = 0; v < s.vectors; v++) s.shift = fmax(s.shift, 2 * s.of[v].log_norm);
    find_off(r, &s, k, coldest_of(r), off);
    fill(&s, r->m, off, &e);
    const double tolerance = t->opt.tolerance > 0 ? t->opt.tolerance : type_is_single(r->m->type) ? 1e-2 : 1e-6;
    if (!(e.beside <= tolerance)) {
        snprintf(
            r->refused, sizeof r->refused,
            "at temperature %g cooled states leave an error of up to %.2g in ln Z, E/T, C or S, and --tolerance is "
            "%g",
            s.temperature, e.beside, tolerance);
        return false;
    }
    e.terms = r->m->n;
    r->heat[k] = e;
    return true;
}
