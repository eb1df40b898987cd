/* wisp evolve: psi(t) = exp(-i H t) psi(0). */
#include "evolve.h"
#include "../machine/machine.h"
#include "../out/out.h"
#include "../plan.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static bool absorbs(const options *o) { return o->absorb || o->non_hermitian; }

static int check_options(tool *t)
{
    const options *o = &t->opt;
    const int starts = (o->site_count > 0) + o->random + (o->start != NULL) + (o->froms > 0);
    if (!option_seen(o, "time")) return tool_usage(t, "--time T is missing; see wisp evolve --help");
    if (o->time == 0 && !o->from) return tool_usage(t, "--time 0: expected a number that is not 0");
    if (starts == 0)
        return tool_usage(t, "where to start is missing: --site I, --random, --start FILE or --from FILE.h5");
    if (starts > 1) return tool_usage(t, "--site, --random, --start and --from exclude each other");
    if (o->tolerance >= 1) return tool_usage(t, "--tolerance %g: it must be below 1", o->tolerance);
    if (o->imaginary && option_seen(o, "angle")) return tool_usage(t, "--imaginary and --angle exclude each other");
    if (absorbs(o) && (o->imaginary || o->angle != 0))
        return tool_usage(t, "--%s is for real times, not for --imaginary and --angle",
                          o->absorb ? "absorb" : "non-hermitian");
    if (o->drives && (absorbs(o) || o->imaginary || o->angle != 0))
        return tool_usage(t, "--drive is for real times and a Hermitian matrix, not for --%s",
                          o->absorb          ? "absorb"
                          : o->non_hermitian ? "non-hermitian"
                          : o->imaginary     ? "imaginary"
                                             : "angle");
    if (o->drives && option_seen(o, "depth"))
        return tool_usage(t, "--depth is not for --drive: H(t) is a sum of matrices, whose steps are not interleaved");
    if (option_seen(o, "longest-step") && !o->drives) return tool_usage(t, "--longest-step is for --drive");
    if (o->smooth && !o->drives) return tool_usage(t, "--smooth is for tables of --drive");
    if (o->positions && !o->absorb) return tool_usage(t, "--positions is for --absorb");
    if (fabs(o->angle) > 180) return tool_usage(t, "--angle %g: it is -180 to 180 degrees", o->angle);
    return states_check(t);
}

/* d of exp(-i d H t), exact where it is real or imaginary. */
static wisp_scalar direction_of(const options *o)
{
    const double angle = o->imaginary ? 90 : o->angle, radians = angle * (M_PI / 180);
    if (fabs(angle) == 90) return (wisp_scalar){0, angle > 0 ? -1 : 1};
    if (angle == 0 || fabs(angle) == 180) return (wisp_scalar){angle == 0 ? 1 : -1, 0};
    return (wisp_scalar){cos(radians), -sin(radians)};
}

typedef struct {
    tool *t;
    evolve_results *r;
    char *copy;     /* [rows] psi in the user's order; NULL: nobody looks at its numbers */
    uint64_t start; /* what psi(0) is known by */
    states_out states;
    int states_rc; /* of their file */
    bool failed;   /* and said why */
} observer;

static const char *start_kind(const tool *t)
{
    return t->opt.from ? "state" : t->opt.start ? "file" : t->opt.random ? "random" : "rows";
}

/* That tells lists of rows apart. */
static uint64_t number_of(const int64_t *row, int64_t count)
{
    return count > 0 ? XXH3_64bits(row, (size_t)count * sizeof *row) : 0;
}

/* Where their file can't be written any more, the run goes on for other results, if any are asked for. */
static int add_state(observer *o, double off, double norm)
{
    evolve_results *r = o->r;
    const options *opt = &o->t->opt;
    if (o->states_rc) return EXIT_FINE;
    o->states_rc = states_add(&o->states, &(states_at){r->time[r->done], norm, off, r->log_norm[r->done]}, o->copy);
    if (!o->states_rc) return EXIT_FINE;
    const int64_t kept = states_cut(&o->states);
    if (kept > 0)
        monitor_error_more(&o->t->monitor, "it has the states of %lld of %lld times, until time %.10g", (long long)kept,
                           (long long)r->times, r->time[kept - 1]);
    r->no_states = true;
    return opt->output || opt->json || opt->plot ? EXIT_FINE : o->states_rc;
}

static int take(observer *o, const wisp_blk *psi, double norm)
{
    evolve_results *r = o->r;
    if (r->absorbs && r->done) r->off[r->done] *= r->norm[0]; /* the solver has it over the norm of psi(0) */
    const double off = r->off[r->done];
    r->norm[r->done] = norm;
    if (r->done && !r->absorbs) r->log_norm[r->done] += r->log_norm[0]; /* the solver counts from psi(0) */
    r->deviation = fmax(r->deviation, fabs(norm - 1));
    if (o->copy && wisp_blk_get(psi, WISP_ROW_MAJOR, o->copy, 1)) return tool_fail_ctx(o->t);
    for (int64_t w = 0; w < r->watched; w++)
        r->density[w * r->times + r->done] = type_size2(r->type, o->copy, r->watch[w]);
    int rc = expectations_take(o->t, &r->x, r->done, psi, off, norm);
    if (!rc) rc = add_state(o, off, norm);
    if (!rc) r->done++;
    return rc;
}

static int observe(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    observer *o = arg;
    (void)i;
    o->failed = take(o, psi, norm[0]) != EXIT_FINE;
    return o->failed;
}

/* What was seen so far, of the same rows, from the same psi(0). */
static wisp_status items(void *arg, wisp_state *s)
{
    observer *o = arg;
    evolve_results *r = o->r;
    struct {
        int64_t done;
        double deviation;
    } at = {r->done, r->deviation};
    const size_t times = (size_t)r->times, watched = (size_t)r->watched;
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "--steps", "%lld", (long long)r->times - 1));
    WISP_TRY(wisp_state_samef(s, "--time", "%.17g", o->t->opt.time));
    WISP_TRY(wisp_state_samef(s, "start", "%s, %016llx", start_kind(o->t), (unsigned long long)o->start));
    if (o->t->opt.random) WISP_TRY(wisp_state_samef(s, "--seed", "%llu", (unsigned long long)o->t->opt.seed));
    WISP_TRY(wisp_state_samef(s, "rows that are watched", "%zu, %016llx", watched,
                              (unsigned long long)number_of(r->watch, r->watched)));
    WISP_TRY(wisp_state_data(s, "observed", &at, sizeof at));
    WISP_TRY(wisp_state_data(s, "norm", r->norm, times * sizeof *r->norm));
    WISP_TRY(wisp_state_data(s, "off", r->off, times * sizeof *r->off));
    WISP_TRY(wisp_state_data(s, "log norm", r->log_norm, times * sizeof *r->log_norm));
    WISP_TRY(wisp_state_data(s, "density", r->density, times * watched * sizeof *r->density));
    WISP_TRY(expectations_items(&r->x, s));
    WISP_TRY(drives_items(o->t, &r->d, s));
    if (at.done < 1 || at.done > r->times)
        return wisp_ctx_failf(o->t->ctx, WISP_ERR_FORMAT, "a state of an evolution that can't be: %lld times",
                              (long long)at.done);
    r->done = at.done;
    r->deviation = at.deviation;
out:
    return status;
}

/* The state in a file is taken as it is. */
static int go_on(tool *t, wisp_blk *psi, states_last *last)
{
    char *array;
    const wisp_type type = wisp_blk_type(psi);
    if (wisp_alloc(t->ctx, &array, (size_t)wisp_blk_nrows(psi), wisp_type_size(type))) return tool_fail_ctx(t);
    int rc = states_read(t, last, t->opt.from, type, array);
    if (!rc && wisp_blk_put(psi, WISP_ROW_MAJOR, array, 1)) rc = tool_fail_ctx(t);
    wisp_free(t->ctx, array);
    return rc;
}

/* How far psi(0) is off: a state of a file as it says, and by one rounding more in a narrower type; else by the norm
   that it is divided by, and by the rounding of a file's numbers, of the factor and of the product. */
static double start_off(const tool *t, const evolve_results *r)
{
    const double epsilon = type_is_single(r->type) ? (double)FLT_EPSILON : DBL_EPSILON;
    const states_last *last = &r->last;
    if (t->opt.from) {
        const bool narrower = type_is_single(r->type) && !type_is_single(last->kind.type);
        return last->at.off + (narrower ? epsilon * last->at.norm : 0);
    }
    if (t->opt.site_count == 1) return 0; /* a unit vector, divided by 1 */
    return sum_rounding(r->type, r->kind.rows) / 2 + 2 * epsilon;
}

/* psi(0), normalised. */
static int begin(tool *t, wisp_blk *psi, const wisp_src *start, states_last *last)
{
    int rc = EXIT_FINE;
    if (t->opt.from) return go_on(t, psi, last);
    if (t->opt.start)
        rc = start_from_file(t, psi, start, t->opt.start);
    else if (t->opt.site_count)
        rc = start_from_sites(t, psi);
    else if (wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, t->opt.seed, STREAM_START, 0))
        rc = tool_fail_ctx(t);
    return rc ? rc : start_normalise(t, psi);
}

/* What wisp_evolve is asked. */
static int set_run(tool *t, evolve_results *r)
{
    const options *o = &t->opt;
    const int64_t steps = r->times - 1;
    const double first = r->last.at.time, span = o->time - first;
    if (span == 0) return tool_fail(t, "--time %g: the state in %s is at that time already", o->time, o->from);
    const bool is_single = type_is_single(r->type);
    r->kind.direction = direction_of(o);
    r->damps = r->kind.direction.im != 0;
    r->absorbs = absorbs(o);
    r->start_off = start_off(t, r);
    if (r->absorbs && o->from && !(r->last.at.norm > 0))
        return tool_fail(t, "the state in %s has norm 0: nothing is left of it to go on from", o->from);
    r->tolerance = o->tolerance > 0 ? o->tolerance : is_single ? 1e-4 : 1e-10;
    r->opts = (wisp_evolve_opts){.direction = direction_of(o),
                                 .start_off = r->absorbs && o->from ? r->start_off / r->last.at.norm : r->start_off,
                                 .non_hermitian = r->absorbs,
                                 .start_time = first,
                                 .tolerance = r->tolerance,
                                 .depth = (int)o->depth,
                                 .bounds = bounds_options(o)};
    r->opts.bounds.seed = o->seed;
    drives_set(t, &r->d, &r->opts);
    if (wisp_alloc(t->ctx, &r->time, (size_t)r->times, sizeof *r->time)) return tool_fail_ctx(t);
    for (int64_t i = 0; i < r->times; i++)
        r->time[i] = i == steps ? o->time : first + span * ((double)i / (double)steps);
    const int rc = machine_cache(t, o->budgets[0], &r->opts.cache_budget);
    r->cache_budget = machine_counted(t, r->opts.cache_budget);
    return rc;
}

static int reserve(tool *t, evolve_results *r, observer *o)
{
    if (wisp_alloc(t->ctx, &r->norm, 3 * (size_t)r->times, sizeof *r->norm) ||
        wisp_alloc(t->ctx, &r->density, (size_t)(r->times * r->watched), sizeof *r->density) ||
        ((r->watched || t->opt.states) && wisp_alloc(t->ctx, &o->copy, (size_t)r->info.rows, wisp_type_size(r->type))))
        return tool_fail_ctx(t);
    r->off = r->norm + r->times;
    r->log_norm = r->off + r->times;
    r->off[0] = r->start_off;
    r->log_norm[0] = r->last.at.log_norm;
    return EXIT_FINE;
}

/* Ended early, and why: the times that are done are kept. */
static int keep_reached(tool *t, const evolve_results *r, states_out *states, const char *why)
{
    const char *file = t->opt.output, *kept = states->set ? t->opt.states : NULL;
    if (!file && !kept) return tool_fail(t, "%s; nothing was kept (-o FILE keeps what is done)", why);
    if (r->done < 2) return tool_fail(t, "%s; nothing was kept (no time was reached yet)", why);
    tool_keep(t);
    int rc = kept ? states_end(states) : EXIT_FINE;
    const bool json = t->opt.json, quiet = t->opt.quiet;
    t->opt.json = false, t->opt.quiet = true;
    if (!rc && file) rc = evolve_write(t, r);
    t->opt.json = json, t->opt.quiet = quiet;
    if (rc) return rc;
    return tool_fail(t, "%s; %s%lld of %lld times, until time %.10g, are kept in %s%s%s", why,
                     file ? "" : "the states of ", (long long)r->done - 1, (long long)r->times - 1,
                     r->time[r->done - 1], file ? file : kept, file && kept ? ", their states in " : "",
                     file && kept ? kept : "");
}

static int stopped(tool *t, const evolve_results *r, states_out *states)
{
    char why[64];
    const bool keeps = (t->opt.output || states->set) && r->done > 1;
    if (t->kept.file && !keeps) return checkpoint_stopped(t);
    snprintf(why, sizeof why, "stopped by %s", stop_reason());
    return keep_reached(t, r, states, why);
}

/* What was reached before is as near as it says. */
static int too_far_off(tool *t, const evolve_results *r, states_out *states)
{
    char why[WISP_MESSAGE];
    snprintf(why, sizeof why, "%s", tool_message(t));
    return keep_reached(t, r, states, why);
}

static int run(tool *t, wisp_mat *A, wisp_blk *psi, evolve_results *r, observer *o)
{
    wisp_evolve_opts eo = r->opts;
    double norm;
    int rc = states_begin(t, &o->states, &r->kind, r->times, r->time);
    if (rc) return rc;
    if (wisp_norm(psi, &norm)) return tool_fail_ctx(t);
    if (t->opt.from && !(norm > 0))
        return tool_fail(t, "the state in %s is too small for %s", t->opt.from, wisp_type_name(r->type));
    if ((rc = take(o, psi, norm)) || (rc = checkpoint_begin(t, A, 1, items, o))) return rc;
    int64_t now, there;
    wisp_ctx_memory(t->ctx, &now, NULL);
    wisp_ctx_device_memory(t->ctx, &there, NULL, NULL);
    if ((rc = evolve_room(t, now, there, &eo.bytes))) return rc;
    r->opts.bytes = eo.bytes = -plan_most(t, -eo.bytes); /* of the rank that has least, for --like */
    checkpoint_set(t, &eo);
    eo.observe = observe;
    eo.off = r->off + 1;
    eo.log_norm = r->log_norm + 1;
    eo.observe_arg = o;
    const wisp_status status = wisp_evolve(&r->e, A, psi, r->times - 1, r->time + 1, &eo);
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
    if (r->absorbs) expectations_absorbed(&r->x, &r->e.bounds, &r->e.absorption, r->done, r->off, r->norm);
    if (o->failed) return EXIT_FAILED;
    if (status == WISP_ERR_CANCELLED) return checkpoint_ended(t) ? checkpoint_stopped(t) : stopped(t, r, &o->states);
    if (status == WISP_ERR_PRECISION || status == WISP_ERR_NUMERIC) return too_far_off(t, r, &o->states);
    if (status) return tool_fail_matrix(t, status);
    if (!o->states_rc) o->states_rc = states_end(&o->states);
    r->no_states = o->states_rc != EXIT_FINE;
    return EXIT_FINE;
}

/* The last state in a file, which must be of this matrix. */
static int open_last(tool *t, evolve_results *r, const wisp_src *src)
{
    states_last *last = &r->last;
    const char *path = t->opt.from;
    uint64_t hash;
    const int rc = states_open(t, last, path);
    if (rc) return rc;
    if (last->kind.rows != src->rows)
        return tool_fail(t, "the states in %s have %lld rows; %s has %lld", path, (long long)last->kind.rows,
                         t->opt.arg[0], (long long)src->rows);
    const wisp_scalar d = direction_of(&t->opt);
    if (last->kind.direction.re != d.re || last->kind.direction.im != d.im)
        return tool_fail(t, "the states in %s are of another --angle (exp(-i d H t), d = %g%+gi)", path,
                         last->kind.direction.re, last->kind.direction.im);
    if (wisp_src_hash(t->ctx, src, &hash)) return tool_fail_ctx(t);
    if (hash != last->kind.matrix)
        return tool_fail(t, "the states in %s are of another matrix than %s", path, t->opt.arg[0]);
    return EXIT_FINE;
}

/* The matrix, psi(0), and the rows that are looked at; or the plan alone, and then *A stays NULL. */
static int open_all(tool *t, evolve_results *r, observer *obs, wisp_mat **A, wisp_blk **psi)
{
    wisp_src src = {0}, start = {0};
    const double started = wisp_now();
    const options *o = &t->opt;
    int64_t before, now;
    int rc = source_open(t, &src);
    wisp_ctx_memory(t->ctx, &before, NULL);
    if (!rc) rc = source_has_rows(t, "site", o->sites, o->site_count, src.rows);
    if (!rc) rc = source_has_rows(t, "watch", o->watch, o->watch_count, src.rows);
    if (!rc && o->start) rc = start_open(t, &start, o->start, "start", src.rows);
    if (!rc && o->start && start.cols != 1)
        rc = tool_fail(t, "%s has %lld columns; a state is one column", o->start, (long long)start.cols);
    obs->start = number_of(o->sites, o->site_count);
    if (!rc && o->start && (t->opt.checkpoint || t->opt.resume) && wisp_src_hash(t->ctx, &start, &obs->start))
        rc = tool_fail_ctx(t);
    if (!rc && o->from) rc = open_last(t, r, &src);
    if (!rc && o->from) obs->start = r->last.sum;
    if (!rc) rc = expectations_open(t, &r->x, src.rows, r->times);
    if (!rc) rc = drives_open(t, &r->d, src.rows, r->last.at.time, o->time);
    const wisp_mat_opts mo = source_options(o, tool_type(o, src.type), 1);
    r->type = type_in(mo.type, WISP_Z);
    r->kind = (states_kind){.matrix = r->kind.matrix, .rows = src.rows, .type = r->type};
    if (!rc && o->states && !o->plan && wisp_src_hash(t->ctx, &src, &r->kind.matrix)) rc = tool_fail_ctx(t);
    if (!rc) rc = source_square(t, &src, "a Hamiltonian is square");
    evolve_inputs in = {.src = &src, .mo = &mo, .r = r};
    wisp_ctx_memory(t->ctx, &now, &in.reading);
    in.start = now - before;
    if (!rc) rc = set_run(t, r);
    if (!rc) rc = evolve_look(t, &in);
    if (!rc && o->plan) rc = evolve_plan_show(t, &in);
    if (!rc) rc = evolve_plan_check(t, &in);
    if (!rc && !o->plan && wisp_mat_create(A, t->ctx, &src, &mo)) rc = tool_fail_ctx(t);
    wisp_src_close(&src);
    r->assemble_seconds = wisp_now() - started;
    if (!rc && *A) wisp_mat_get_info(*A, &r->info);
    if (!rc && *A) like_matrix(t, &r->info, 0);
    if (!rc && *A && wisp_blk_create(psi, t->ctx, wisp_mat_map(*A), r->type, 1)) rc = tool_fail_ctx(t);
    if (!rc && *A) rc = expectations_make(t, &r->x, *A, r->type);
    if (!rc && *A) rc = drives_make(t, &r->d, *A, r->type);
    if (!rc && *A) rc = begin(t, *psi, &start, &r->last);
    wisp_src_close(&start);
    return rc;
}

int cmd_evolve(tool *t)
{
    const options *o = &t->opt;
    evolve_results r = {.times = (o->steps ? o->steps : 100) + 1,
                        .watch = o->watch_count ? o->watch : o->sites,
                        .watched = o->watch_count ? o->watch_count : o->site_count};
    observer obs = {.t = t, .r = &r};
    wisp_mat *A = NULL;
    wisp_blk *psi = NULL;
    int rc = check_options(t);
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    rc = open_all(t, &r, &obs, &A, &psi);
    if (rc || !A) goto out;
    rc = reserve(t, &r, &obs);
    if (!rc) rc = run(t, A, psi, &r, &obs);
    monitor_clear(&t->monitor);
    if (!rc && !o->json && !o->quiet) evolve_summary(t, &r);
    if (!rc) rc = evolve_write(t, &r);
    if (!rc) rc = obs.states_rc;
out:
    rc = A ? checkpoint_done(t, rc) : rc;
    checkpoint_close(t);
    states_close(&obs.states);
    states_close_last(&r.last);
    expectations_close(t, &r.x);
    drives_close(t, &r.d);
    wisp_blk_free(psi);
    wisp_mat_free(A);
    wisp_free(t->ctx, obs.copy);
    wisp_free(t->ctx, r.time);
    wisp_free(t->ctx, r.norm);
    wisp_free(t->ctx, r.density);
    return rc;
}
