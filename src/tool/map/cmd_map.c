/* wisp map: local densities of states of a region at some energies, by random vectors or exactly. */
#include "map.h"
#include "../machine/machine.h"
#include "../names.h"
#include "../out/text.h"
#include "../positions.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Random vectors need the root of a kernel, which these have. */
static int check_kernel(tool *t, bool exact)
{
    const int kernel = t->opt.kernel;
    if (exact || kernel == WISP_JACKSON || kernel == WISP_FEJER) return EXIT_FINE;
    return tool_usage(t, "--kernel %s is for --trace exact; random vectors take jackson or fejer",
                      damping_names[kernel]);
}

static int check_options(tool *t)
{
    const options *o = &t->opt;
    const char *again = options_new_run(o);
    const bool exact = o->trace == WISP_TRACE_EXACT;
    if (o->from && o->args) return tool_usage(t, "MATRIX and --from exclude each other");
    if (!o->from && !o->args) return tool_usage(t, "MATRIX is missing; see wisp map --help");
    if (o->from && again) return tool_usage(t, "--%s needs a new run, so it does not go with --from", again);
    if (o->froms > 1) return tool_usage(t, "one --from at a time: maps are not taken together");
    if (!o->energy_count) return tool_usage(t, "--energies E,.. is missing; see wisp map --help");
    if (option_seen(o, "moments") && o->resolution > 0)
        return tool_usage(t, "--moments and --resolution exclude each other");
    if (exact && (o->vectors || o->width))
        return tool_usage(t, "--%s and --trace exact exclude each other", o->vectors ? "vectors" : "width");
    if (!exact && o->save && (o->checkpoint || o->resume))
        return tool_usage(t, "--save of random vectors does not go with --checkpoint and --resume; --trace exact does");
    if (o->average && o->save) return tool_usage(t, "--save of a map does not go with --average");
    if (average_check(t)) return EXIT_USAGE;
    return o->from ? EXIT_FINE : check_kernel(t, exact);
}

/* ---- the region ------------------------------------------------------------------------------------ */

/* Whether row k of the region is at the place of the site before it. */
static bool joins(const map_run *r, int64_t k, const double *xyz)
{
    return r->sites > 0 && r->row[k] == r->row[k - 1] + 1 && !memcmp(r->at[r->sites - 1], xyz, 3 * sizeof *xyz);
}

static int find_places(tool *t, map_run *r, const wisp_positions *p)
{
    if (wisp_alloc(t->ctx, &r->at, (size_t)r->rows, sizeof *r->at)) return tool_fail_ctx(t);
    for (int64_t k = 0; k < r->rows; k++) {
        double xyz[3] = {0};
        if (p->at(p->arg, r->row[k], xyz))
            return tool_fail(t, "the position of row %lld can't be had", (long long)r->row[k]);
        if (joins(r, k, xyz)) continue;
        memcpy(r->at[r->sites], xyz, sizeof xyz);
        r->begin[r->sites++] = k;
    }
    return EXIT_FINE;
}

static int find_sites(tool *t, map_run *r, int64_t rows)
{
    wisp_positions p = {0};
    r->rows = r->where.count ? r->where.count : rows;
    if (wisp_alloc(t->ctx, &r->row, (size_t)r->rows, sizeof *r->row) ||
        wisp_alloc(t->ctx, &r->begin, (size_t)r->rows + 1, sizeof *r->begin))
        return tool_fail_ctx(t);
    for (int64_t i = 0, k = 0; i < rows; i++)
        if (!r->where.count || r->where.in[i]) r->row[k++] = i;
    int rc = t->opt.positions ? positions_open(t, t->opt.arg[0], rows, &p) : positions_find(t, t->opt.arg[0], &p);
    if (!rc && p.at && p.rows == rows)
        rc = find_places(t, r, &p);
    else
        for (int64_t k = 0; k < r->rows; k++) r->begin[r->sites++] = k;
    r->begin[r->sites] = r->rows;
    wisp_positions_close(&p);
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------------- */

static int find_bounds(tool *t, map_run *r, const wisp_mat *A)
{
    const double start = wisp_now();
    const wisp_bounds_opts o = wisp_kpm_bounds_opts(r->info.type, r->info.rows, &r->kpm);
    if (wisp_bounds_find(&r->bounds, A, &o)) return tool_fail_ctx(t);
    r->bounds_seconds = wisp_now() - start;
    if (t->opt.resolution > 0) r->kpm.moments = wisp_moments_for(r->bounds.halfwidth, t->opt.resolution);
    return EXIT_FINE;
}

/* The sums, from where a kept state has them. */
static int compute(tool *t, map_run *r, wisp_mat *A, wisp_bounds *found)
{
    r->method = wisp_kpm_bounds_opts(r->info.type, r->info.rows, &r->kpm).method;
    int rc = tool_agree(t, map_begin(t, r) ? tool_fail_ctx(t) : EXIT_FINE);
    if (!rc && !t->resumed) rc = find_bounds(t, r, A);
    if (!rc && found) {
        *found = r->bounds;
        return EXIT_FINE;
    }
    if (!rc && r->kpm.moments > WISP_CHEBYSHEV_TERMS)
        rc = tool_fail(t, "--resolution %g needs %lld moments; at most %d are taken", t->opt.resolution,
                       (long long)r->kpm.moments, WISP_CHEBYSHEV_TERMS);
    if (!rc) rc = map_plan_check_kept(t, r);
    if (!rc) rc = checkpoint_begin(t, A, r->exact ? 0 : r->width, map_items, r);
    if (rc) return rc;
    const double start = wisp_now();
    const wisp_status status = map_compute(t, r, A);
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
    r->seconds = wisp_now() - start;
    if (status == WISP_ERR_CANCELLED && t->opt.average) return EXIT_CUT;
    if (status == WISP_ERR_CANCELLED && checkpoint_ended(t)) return checkpoint_stopped(t);
    if (status == WISP_ERR_CANCELLED && (r->exact ? map_cut(r) : map_has_bars(r)))
        tool_keep(t); /* with the vectors, or sites, that are complete */
    else if (status)
        return tool_fail_ctx(t);
    map_finish(r);
    return EXIT_FINE;
}

static int open_run(tool *t, map_run *r, wisp_src *src)
{
    int64_t budget; /* that of the context, which the model of time counts on */
    int rc = source_open(t, src);
    if (!rc) rc = source_square(t, src, "a Hamiltonian is square");
    if (!rc && src->rows < 1) rc = tool_fail(t, "%s has no rows", t->opt.arg[0]);
    if (!rc) rc = machine_cache(t, 0, &budget);
    if (!rc) rc = where_find(t, &r->where, src->rows);
    if (!rc) rc = tool_agree(t, find_sites(t, r, src->rows));
    where_free(&r->where);
    if (rc) return rc;
    enum { WIDTH = 4 };
    r->width = t->opt.width ? (int)t->opt.width : WIDTH; /* with that of a kept state */
    if (r->width > r->kpm.vectors) r->width = (int)r->kpm.vectors;
    r->mo = source_options(&t->opt, tool_type(&t->opt, src->type), r->width);
    if (t->opt.plan) rc = map_plan_show(t, r, src);
    return rc ? rc : map_plan_check(t, r, src);
}

/* Once more on another layout, if one is found. */
static int compute_once(tool *t, map_run *r, wisp_bounds *found)
{
    wisp_src src = {0};
    wisp_mat *A = NULL;
    const double start = wisp_now();
    int rc = open_run(t, r, &src);
    if (!rc && !t->opt.plan && wisp_mat_create(&A, t->ctx, &src, &r->mo)) rc = tool_fail_ctx(t);
    wisp_src_close(&src);
    if (!rc && A) rc = weights_by_matrix(t, A, r->width);
    r->assemble_seconds = wisp_now() - start;
    if (!rc && A) {
        wisp_mat_get_info(A, &r->info);
        rc = compute(t, r, A, found);
        wisp_mat_get_info(A, &r->info); /* with the halo's way that was found */
    }
    wisp_mat_free(A);
    return rc;
}

static map_run asked_run(const tool *t)
{
    enum { MOMENTS = 512, VECTORS = 32 };
    const options *o = &t->opt;
    const int64_t moments = o->moments ? o->moments : MOMENTS;
    return (map_run){.energy = o->energies,
                     .energies = (int)o->energy_count,
                     .exact = o->trace == WISP_TRACE_EXACT,
                     .asked = o->resolution > 0 ? 0 : moments,
                     .keeps = o->save != NULL,
                     .matrix = o->arg[0],
                     .asked_where = o->where ? strdup(o->where) : NULL,
                     .eval = {.kernel = (wisp_damping)o->kernel, .lambda = o->lambda},
                     .kpm = {.moments = moments,
                             .vectors = o->vectors ? o->vectors : VECTORS,
                             .seed = o->seed,
                             .bounds = bounds_options(o)}};
}

/* found: NULL, or what is to become its bounds, of which no map is made then. */
static int run(tool *t, map_run *r, wisp_bounds *found)
{
    *r = asked_run(t);
    int rc = compute_once(t, r, found);
    if (rc != EXIT_LAYOUT) return rc;
    map_free(t, r);
    *r = asked_run(t);
    return compute_once(t, r, found);
}

/* Of moments that were kept. */
static int load(tool *t, map_run *r)
{
    int rc = map_kept_load(t, r);
    if (!rc) rc = check_kernel(t, r->exact);
    if (!rc && map_begin(t, r)) rc = tool_fail_ctx(t);
    rc = tool_agree(t, rc); /* before all ranks sum */
    if (!rc && map_kept_evaluate(t, r)) rc = tool_fail_ctx(t);
    if (rc) return rc;
    r->matrix = r->kept.matrix ? r->kept.matrix : "(not named)";
    map_finish(r);
    return EXIT_FINE;
}

int cmd_map(tool *t)
{
    int rc = check_options(t), save_rc = EXIT_FINE;
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    map_run r = t->opt.from ? asked_run(t) : (map_run){0};
    rc = t->opt.from ? tool_agree(t, load(t, &r)) : t->opt.average ? map_average(t, &r, run) : run(t, &r, NULL);
    if (rc || t->opt.plan) goto out;
    /* The moments first: they are what took long. If they cannot be kept, the results are still given. */
    save_rc = tool_agree(t, map_kept_save(t, &r));
    r.total_seconds = wisp_now() - t->started;
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) {
        map_summary(t, &r);
        if (t->opt.save && !save_rc) text_line("saved", "%s", t->opt.save);
    }
    rc = map_write(t, &r);
    if (!rc && t->opt.average) rc = average_end(t, r.average.done, r.cut);
    if (!rc && !r.exact && r.done < r.kpm.vectors)
        rc = tool_fail(t, "stopped; the map is of %lld of %lld vectors", (long long)r.done, (long long)r.kpm.vectors);
    if (!rc && r.asked_sites)
        rc = tool_fail(t, "stopped; the map is of %lld of %lld sites", (long long)r.sites, (long long)r.asked_sites);
    if (!rc) rc = save_rc;
    rc = checkpoint_done(t, rc);
out:
    checkpoint_close(t);
    map_free(t, &r);
    return rc;
}
