/* wisp dos, ldos, green, count, thermal and trace: moments are computed (or loaded), kept, and evaluated. */
#include "dos.h"
#include "../machine/machine.h"
#include "../moments.h"
#include "../out/text.h"
#include "../positions.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_AGAIN = EXIT_LAYOUT + 1 }; /* in double precision: single is not enough */

/* Options that contradict each other; EXIT_USAGE with its line. */
static int check_options(tool *t)
{
    const options *o = &t->opt;
    const bool more = more_asked(o);
    const char *name = t->cmd->name, *again = options_new_run(o);
    if (more && of_spectral(t)) return tool_usage(t, "MATRIX and --from exclude each other");
    if (more && more_check(t)) return EXIT_USAGE;
    if (!o->from && !o->args) return tool_usage(t, "MATRIX is missing; see wisp %s --help", name);
    if (o->from && again && !more) return tool_usage(t, "--%s needs a new run, so it does not go with --from", again);
    if (o->moments && o->resolution > 0) return tool_usage(t, "--moments and --resolution exclude each other");
    if (of_spectral(t) && !o->from && !o->path && !o->grid[0])
        return tool_usage(t, "wisp spectral needs --path K:K:.. or --grid N,M");
    if (o->grid[0] && (o->path || o->k_points)) return tool_usage(t, "--grid does not go with --path and --k-points");
    if (of_spectral(t) && !o->from && kpath_check(t, o->grid[0])) return EXIT_USAGE;
    if (of_spectral(t) && o->plot && o->corners == 1) return tool_usage(t, "--plot needs a --path of two corners");
    if (average_check(t)) return EXIT_USAGE;
    if (of_rows(t) && !of_spectral(t) && !o->from && !o->site_count && !o->start && !o->where)
        return tool_usage(t, "wisp %s needs --sites I,J,.. or --start FILE", name);
    if (o->site_count && o->start) return tool_usage(t, "--sites and --start exclude each other");
    if (o->left && o->left_site_count) return tool_usage(t, "--left and --left-sites exclude each other");
    if (of_green(t) && !(o->eta > 0)) return tool_usage(t, "wisp green needs --eta E");
    if (of_green(t) && o->tolerance >= 1) return tool_usage(t, "--tolerance %g: it must be below 1", o->tolerance);
    if (t->cmd->bit == CMD_COUNT && !option_seen(o, "interval"))
        return tool_usage(t, "wisp count needs --interval A,B");
    if (of_traces(t) && traces_check(t)) return EXIT_USAGE;
    if (o->trace == WISP_TRACE_EXACT && o->vectors)
        return tool_usage(t, "--vectors and --trace exact exclude each other");
    if (o->trace == WISP_TRACE_EXACT && option_seen(o, "first-vector"))
        return tool_usage(t, "--first-vector and --trace exact exclude each other");
    if (o->energy_count && (o->points || option_seen(o, "interval")))
        return tool_usage(t, "--energies gives all energies, so --interval and --points do not go with it");
    if (o->energy_count == 1 && o->plot && !of_spectral(t)) return tool_usage(t, "--plot needs two energies or more");
    if (o->where && (o->site_count || o->start || o->operators))
        return tool_usage(t, "--where does not go with --sites, --start or --operator");
    if (positions_check(t, true)) return EXIT_USAGE;
    if (o->positions && !of_spectral(t) && !(o->where && where_by_position(o->where)))
        return tool_usage(t, "--positions is for --where with conditions such as x<3,z>=0.5");
    if ((o->operators || o->where) && o->partition)
        return tool_usage(t, "--partition does not go with --operator or --where");
    if (o->where && o->precision == PRECISION_AUTO && !of_rows(t))
        return tool_usage(t, "--precision auto is not for --where; take single or double");
    if (overlap_check(t)) return EXIT_USAGE;
    if (o->operators > 1) return tool_usage(t, "one --operator at a time");
    if (o->operators && o->precision == PRECISION_AUTO)
        return tool_usage(t, "--precision auto is not for --operator; take single or double");
    if (o->variant != WISP_KPM_BLOCKED && o->width) return tool_usage(t, "--width is for --variant blocked alone");
    if (o->variant == WISP_KPM_NAIVE && o->depth > 1)
        return tool_usage(t, "--depth is not for --variant naive, which takes one step at a time");
    if (o->variant == WISP_KPM_NAIVE && o->budgets[0])
        return tool_usage(t, "--cache-budget is not for --variant naive, which takes one step at a time");
    return EXIT_FINE;
}

static void set_kpm_options(const options *o, wisp_kpm_opts *k)
{
    *k = (wisp_kpm_opts){.moments = o->moments,
                         .vectors = o->site_count ? o->site_count : o->vectors,
                         .trace = o->site_count ? WISP_TRACE_SITES : (wisp_trace)o->trace,
                         .sites = o->sites,
                         .first_vector = o->first_vector,
                         .seed = o->seed,
                         .variant = (wisp_kpm_variant)o->variant,
                         .width = (int)o->width,
                         .depth = (int)o->depth,
                         .reduce_each_step = o->reduce,
                         .bounds = bounds_options(o)};
}

/* The number of moments that --resolution, a temperature or a function needs, once the bounds are known, by `method`.
 */
static int moments_for(tool *t, wisp_kpm_opts *k, wisp_bounds_method method)
{
    if (of_traces(t)) return traces_moments(t, &k->bounds.given, method, &k->moments);
    k->moments = of_green(t) ? green_moments(t, k->bounds.given.halfwidth)
                             : wisp_moments_for(k->bounds.given.halfwidth, t->opt.resolution);
    if (k->moments < 2) k->moments = 2;
    if (k->moments > 1 << 30 && of_green(t))
        return tool_fail(t, "--eta %g needs more than 2^30 moments on a spectrum of half width %g; take a larger one",
                         t->opt.eta, k->bounds.given.halfwidth);
    if (k->moments > 1 << 30)
        return tool_fail(
            t, "--resolution %g needs more than 2^30 moments on a spectrum of half width %g; take a coarser one",
            t->opt.resolution, k->bounds.given.halfwidth);
    return EXIT_FINE;
}

/* Single precision is not enough for a matrix whose source has this type. */
static int again(results *r, wisp_type source, const char *why)
{
    snprintf(r->precision, sizeof r->precision, "%s: %s", wisp_type_name(source), why);
    return EXIT_AGAIN;
}

/* Whether the run fails because it is in single precision, which --precision auto has tried. */
static bool double_may_do(const wisp_kpm_opts *k, wisp_status status)
{
    return status == WISP_ERR_PRECISION || (status == WISP_ERR_NUMERIC && k->rounding_limit > 0);
}

static int fail_or_again(tool *t, results *r, const wisp_kpm_opts *k, wisp_type source, wisp_status status)
{
    if (double_may_do(k, status)) return again(r, source, tool_message(t));
    return tool_fail_ctx(t);
}

/* What a kept state has to be of besides the matrix: an operator, S, plane waves. A wisp_items_fn. */
typedef struct {
    const starts *starts;
    const results *results;
} run_items;

static wisp_status items_of_run(void *arg, wisp_state *state)
{
    const run_items *i = arg;
    wisp_status status;
    WISP_TRY(operator_items(i->starts, state));
    WISP_TRY(pencil_items(&i->results->pencil, state));
    status = kpath_items(&i->results->path, state);
out:
    return status;
}

static int find_bounds(tool *t, results *r, const wisp_mat *A, wisp_type source, const wisp_kpm_opts *k, wisp_bounds *b)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    wisp_kpm_opts unit = *k; /* as many moments as a halfwidth of 1 takes */
    if (t->opt.resolution > 0) unit.moments = wisp_moments_for(1, t->opt.resolution);
    wisp_bounds_opts o = wisp_kpm_bounds_opts(info.type, info.rows, &unit);
    if (t->opt.resolution > 0) o.sweeps_per_halfwidth = o.sweeps, o.sweeps = 0;
    const wisp_status status = wisp_bounds_find(b, A, &o);
    return status ? fail_or_again(t, r, k, source, status) : EXIT_FINE;
}

/* Bounds first when the number of moments follows from them; then the moments. */
static int run_moments(tool *t, results *r, starts *s, const wisp_mat *A, wisp_type source, wisp_kpm_opts *k,
                       wisp_moments *m)
{
    wisp_bounds_method method = k->bounds.method;
    wisp_bounds found = k->bounds.given;
    double bounds_seconds = 0;
    if (t->resumed && moments_by_bounds(t)) {
        bounds_seconds = t->kept.layout.bounds_seconds;
        found = t->kept.layout.bounds;
        k->bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = found};
        k->moments = t->kept.layout.moments;
    } else if (moments_by_bounds(t) && method != WISP_BOUNDS_GIVEN) {
        const double start = wisp_now();
        wisp_mat_info info;
        wisp_mat_get_info(A, &info);
        int rc = find_bounds(t, r, A, source, k, &found);
        if (rc) return rc;
        bounds_seconds = wisp_now() - start;
        k->bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = found};
        rc = moments_for(t, k, method);
        if (!rc && k->rounding_limit > 0 && wisp_kpm_type(source, info.rows, k) == source)
            rc = again(r, source, "rounding in single precision would show in the error bars");
        if (!rc) rc = plan_check_blocks(t, A, k);
        if (rc) return rc;
    }
    t->kept.layout.moments = k->moments;
    t->kept.layout.bounds = found;
    t->kept.layout.bounds_seconds = bounds_seconds;
    run_items items = {s, r};
    const int rc = checkpoint_begin(t, r->pencil.C ? r->pencil.A : A, k->width, items_of_run, &items);
    if (rc) return rc;
    checkpoint_set(t, k);
    if (cool_resumes(t)) {
        k->offer = NULL, k->resume = NULL;
        checkpoint_rest(t);
    }
    wisp_status status = cool_has_moments(t) ? cool_take_moments(t, m) : wisp_kpm(m, A, k);
    near_done(&s->near, t, r, m);
    operator_conjugate(k, m);
    if (r->pencil.C) m->nnz = r->stored.nnz;
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
    if (double_may_do(k, status)) return again(r, source, tool_message(t));
    if (status != WISP_OK && status != WISP_ERR_CANCELLED) return pencil_fail(t, &r->pencil, status);
    if (bounds_seconds > 0) {
        m->bounds_method = method;
        m->bounds = found;
        m->bounds_seconds = bounds_seconds;
    }
    if (of_spectral(t) && kpath_keep(t, &r->path, m)) return EXIT_FAILED;
    if (status == WISP_ERR_CANCELLED && t->opt.average) return EXIT_CUT;
    if (status == WISP_ERR_CANCELLED)
        return moments_stopped(t, m, k->vectors ? k->vectors : m->trace == WISP_TRACE_RANDOM ? 32 : 1, t->command_line);
    status = wisp_moments_label(t->ctx, m, t->opt.arg[0], t->command_line);
    return tool_agree(t, status ? tool_fail_ctx(t) : EXIT_FINE);
}

/* --precision auto: single if that is likely to be enough, and then wisp_kpm looks whether it is. */
static wisp_type needed_type(const tool *t, results *r, wisp_kpm_opts *k, const wisp_src *src)
{
    const bool has_bars = k->trace == WISP_TRACE_RANDOM && k->vectors != 1;
    /* The mean of realizations has a smaller bar than one of them, at least as much smaller as that. */
    const double limit = WISP_ROUNDING_LIMIT / sqrt((double)average_count(t));
    k->rounding_limit = limit;
    const wisp_type single = wisp_kpm_type(src->type, src->rows, k);
    k->rounding_limit = 0;
    const char *why = "rounding in single precision would show in the error bars";
    if (single != src->type && !t->read_once) {
        k->rounding_limit = limit;
        return single;
    }
    if (single != src->type) why = "the file can be read only once, so that single precision can't be tried";
    if (!has_bars) why = "there are no error bars to compare rounding with";
    if (type_is_single(src->type)) why = "that of the matrix";
    snprintf(r->precision, sizeof r->precision, "%s: %s", wisp_type_name(src->type), why);
    return src->type;
}

/* By the model, for most of the products: with S where there is one. */
static wisp_status best_width(tool *t, const pencil *p, const wisp_kpm_opts *k, const wisp_src *src,
                              const wisp_mat_opts *mo, wisp_choice *choice)
{
    const wisp_mat_opts of_S = pencil_options(p, mo->type, 0);
    const bool has_S = t->opt.overlap;
    return wisp_src_choose(t->ctx, has_S ? &p->src : src, has_S ? &of_S : mo, plan_type(mo, k),
                           plan_vectors(k, src->rows), plan_steps(k), choice);
}

/* The width that takes least time, unless it was asked for, or there is no memory to look. A second try in double
   precision keeps it, as it was planned. Before a long run an unknown machine is measured. */
static int choose_width(tool *t, const pencil *p, wisp_kpm_opts *k, const wisp_src *src, wisp_mat_opts *mo)
{
    wisp_choice choice;
    if (!t->opt.width && k->variant == WISP_KPM_BLOCKED && src->rows > 0) {
        bool is_measured = false;
        wisp_status status = best_width(t, p, k, src, mo, &choice);
        const int rc = status ? EXIT_FINE : machine_first(t, choice.seconds * (double)plan_steps(k), &is_measured);
        if (rc) return rc;
        if (is_measured) status = best_width(t, p, k, src, mo, &choice);
        if (status != WISP_OK && status != WISP_ERR_NOMEM) return tool_fail_ctx(t);
        if (status == WISP_OK) t->opt.width = k->width = choice.width;
    }
    mo->width = wisp_kpm_width(mo->type, src->rows, k);
    return EXIT_FINE;
}

static int set_matrix_options(tool *t, results *r, const starts *s, wisp_kpm_opts *k, const wisp_src *src,
                              wisp_mat_opts *mo)
{
    const wisp_type type =
        t->opt.precision == PRECISION_AUTO ? needed_type(t, r, k, src) : tool_type(&t->opt, src->type);
    *mo = source_options(&t->opt, type, 0);
    starts_type(s, type, k);
    overlap_type(t, &r->pencil, k);
    return choose_width(t, &r->pencil, k, src, mo);
}

/* Their positions, and the rows that they are on, are held until the moments are there. */
static int open_waves(tool *t, results *r, starts *s, int64_t rows, wisp_kpm_opts *k)
{
    int64_t before, now;
    wisp_ctx_memory(t->ctx, &before, NULL);
    const int64_t held = s->where.rows;
    const int rc = tool_agree(t, kpath_open(t, &r->path, t->opt.arg[0], rows, &s->where));
    wisp_ctx_memory(t->ctx, &now, NULL);
    s->bytes += now - before + held;
    if (!rc) kpath_options(&r->path, k);
    return rc;
}

/* The method that has found bounds which are given. */
static wisp_bounds_method given_by(const tool *t, const results *r)
{
    return t->opt.average ? r->average.method : WISP_BOUNDS_GIVEN;
}

/* The source, and what is asked of it; or the plan alone. */
static int open_run(tool *t, results *r, wisp_src *src, starts *s, wisp_kpm_opts *k, wisp_mat_opts *mo)
{
    run_plan plan;
    run_files files;
    int rc = source_open(t, src);
    if (rc) return rc;
    rc = where_find(t, &s->where, src->rows);
    if (!rc && of_rows(t) && !of_spectral(t)) rc = tool_agree(t, where_sites(t, &s->where));
    r->where_rows = s->where.count;
    if (t->opt.where && !r->where) r->where = strdup(t->opt.where);
    if (t->cmd->bit == CMD_DOS && t->opt.operators && !r->operator) r->operator= strdup(*t->opt.operator_list);
    if (of_rows(t) && !of_spectral(t)) where_free(&s->where);
    set_kpm_options(&t->opt, k);
    if (!rc && src->rows != src->cols)
        rc = tool_fail(t, "%s: the matrix is rectangular (%lld x %lld), and this needs a Hermitian one", t->opt.arg[0],
                       (long long)src->rows, (long long)src->cols);
    if (!rc) rc = starts_open(t, s, src->rows, k);
    if (!rc && of_spectral(t)) rc = open_waves(t, r, s, src->rows, k);
    if (!rc) rc = pencil_open(t, &r->pencil, src->rows);
    files = (run_files){.starts = s->bytes, .pencil = &r->pencil};
    wisp_ctx_memory(t->ctx, NULL, &files.reading);
    if (!rc && moments_by_bounds(t) && k->bounds.method == WISP_BOUNDS_GIVEN) rc = moments_for(t, k, given_by(t, r));
    if (!rc) rc = source_has_rows(t, "sites", t->opt.sites, t->opt.site_count, src->rows);
    if (!rc) rc = tool_agree(t, near_open(t, &s->near, src, k));
    if (!rc) rc = machine_cache(t, t->opt.budgets[0], &k->cache_budget);
    if (!rc) rc = set_matrix_options(t, r, s, k, src, mo);
    if (!rc) rc = operator_plan(t, s, mo, k, &files);
    if (!rc) rc = overlap_plan(t, &r->pencil, mo, k, &files);
    if (!rc) rc = plan_make(t, src, mo, k, &files, &plan);
    if (!rc && t->opt.plan) rc = pencil_measure(t, &r->pencil, mo->type, mo->width);
    if (!rc && t->opt.plan) rc = plan_show(t, src, mo, k, &plan);
    return rc ? rc : plan_check_limit(t, src, mo, k, &plan);
}

/* Source, plan, matrix, moments, or bounds alone where these are asked for (found); no matrix where only the plan is
   wanted. */
static int compute_once(tool *t, results *r, wisp_moments *m, wisp_bounds *found)
{
    wisp_src src = {0};
    starts s = {0};
    wisp_mat *A = NULL;
    const wisp_mat *searched = NULL;
    wisp_kpm_opts k;
    wisp_mat_opts mo;
    const double start = wisp_now();
    int rc = open_run(t, r, &src, &s, &k, &mo);
    const wisp_type source = src.type;
    const wisp_status status = !rc && !t->opt.plan ? wisp_mat_create(&A, t->ctx, &src, &mo) : WISP_OK;
    wisp_src_close(&src);
    if (status) rc = fail_or_again(t, r, &k, source, status);
    if (!rc && A) rc = weights_by_matrix(t, A, mo.width);
    if (!rc && A) rc = tool_agree(t, starts_make(t, &s, A, &k));
    if (!rc && A) rc = tool_agree(t, overlap_make(t, r, A, mo.width, &searched));
    r->assemble_seconds = wisp_now() - start;
    if (!rc && A) {
        wisp_mat_get_info(A, &r->stored);
        like_matrix(t, &r->stored, mo.width);
        r->cache_budget = machine_counted(t, k.cache_budget);
        rc = found ? find_bounds(t, r, searched, source, &k, found) : run_moments(t, r, &s, searched, source, &k, m);
        if (!rc && !found) rc = cool_run(t, r, A);
        wisp_mat_get_info(A, &r->stored); /* with the halo's way that was found */
    }
    starts_free(&s);
    pencil_close(&r->pencil);
    wisp_mat_free(A);
    return rc;
}

/* Once more on another layout, if one is found. */
static int compute_on_layout(tool *t, results *r, wisp_moments *m, wisp_bounds *found)
{
    const int rc = compute_once(t, r, m, found);
    return rc == EXIT_LAYOUT ? compute_once(t, r, m, found) : rc;
}

static int bounds_of_one(tool *t, void *arg, wisp_bounds *b) { return compute_on_layout(t, arg, NULL, b); }

static int moments_of_one(tool *t, void *arg, wisp_moments *one) { return compute_on_layout(t, arg, one, NULL); }

static int compute_all(tool *t, results *r, wisp_moments *m)
{
    const average_of_moments of = {r, bounds_of_one, moments_of_one};
    return t->opt.average ? average_moments(t, &r->average, &of, m) : compute_on_layout(t, r, m, NULL);
}

/* Once more if --precision auto took single, and that is not enough. */
static int compute(tool *t, results *r, wisp_moments *m)
{
    int rc = compute_all(t, r, m);
    if (rc == EXIT_AGAIN && checkpoint_ended(t)) {
        rc = checkpoint_stopped(t);
    } else if (rc == EXIT_AGAIN) {
        t->opt.precision = PRECISION_DOUBLE;
        rc = checkpoint_done(t, EXIT_FINE);
        t->opt.resume = NULL;
        wisp_moments_free(m); /* of realizations before the one that showed it */
        if (!rc) rc = compute_all(t, r, m);
    } else if (m->rounding > 0) {
        snprintf(r->precision, sizeof r->precision,
                 "%s: rounding moves no moment by more than %.2g of half its 95%% bar", wisp_type_name(m->type),
                 m->rounding);
    }
    return rc;
}

static int load_moments(tool *t, wisp_moments *m, results *r)
{
    r->runs = t->opt.froms;
    const int rc = moments_load(t, m, r->seed);
    if (!rc && of_spectral(t) && m->command) r->where = moments_value(m->command, "where");
    if (!rc && of_spectral(t)) return kpath_load(t, &r->path, m);
    if (!rc && m->points && !m->orbitals && m->trace == WISP_TRACE_GIVEN)
        return tool_fail(
            t, "%s holds random vectors of wisp map, which are no moments of single rows; see wisp map --from",
            t->opt.from);
    if (!rc && m->command && m->imag && (m->trace == WISP_TRACE_RANDOM || m->trace == WISP_TRACE_EXACT)) {
        r->where = moments_value(m->command, "where");
        r->operator= moments_value(m->command, "operator");
        /* Random vectors have numbers of size 1: moment 0 of each is the number of rows itself. */
        if (r->where) r->where_rows = llround(m->mu[0]);
    }
    if (rc || !m->square) return rc;
    return tool_fail(t, "%s holds the moments of two velocities; see wisp sigma --from", t->opt.from);
}

int cmd_dos(tool *t)
{
    wisp_moments m = {0};
    results r = {.m = &m};
    int rc = check_options(t), save_rc = EXIT_FINE;
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    rc = more_asked(&t->opt) ? tool_agree(t, more_begin(t, &r.more)) : EXIT_FINE;
    if (!rc) rc = t->opt.from ? tool_agree(t, load_moments(t, &m, &r)) : compute(t, &r, &m);
    if (!rc && !t->opt.plan) rc = tool_agree(t, more_end(t, &r.more, &m));
    if (rc || t->opt.plan) goto out;
    r.matrix = m.matrix ? m.matrix : "(not named)";
    /* The moments first: they are what took long. If they cannot be kept, the results are still given. */
    save_rc = moments_save(t, &m);
    const bool ended = save_rc && tool_is_stopped(t); /* a signal ended the saving, which tool_fail_ctx has said */
    double start = wisp_now();
    if ((rc = tool_agree(t, ended ? save_rc : of_traces(t) ? traces_evaluate(t, &r) : results_evaluate(t, &r))))
        goto done;
    overlap_warn(t, &r);
    r.evaluate_seconds = wisp_now() - start;
    r.total_seconds = wisp_now() - t->started;
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) {
        results_summary(t, &r);
        if (t->opt.save && !save_rc) text_line("saved", "%s", t->opt.save);
    }
    rc = results_write(t, &r);
    if (!rc && t->opt.average) rc = average_end(t, m.realizations, m.partial);
    if (!rc && r.cool_cut)
        rc = tool_fail(t, "stopped by %s; cooled states are those of %lld of %lld vectors", stop_reason(),
                       (long long)r.cooled.done, (long long)m.vectors);
    if (!rc && *r.refused) rc = tool_incomplete(t, "%s", r.refused);
    if (!rc) rc = save_rc;
done:
    rc = checkpoint_done(t, rc);
out:
    checkpoint_close(t);
    results_free(t, &r);
    wisp_moments_free(&m);
    return rc;
}
