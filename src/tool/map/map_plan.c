/* The cost of wisp map before it starts: memory and time. */
#include "map.h"
#include "../out/text.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    const map_run *r;
    const wisp_src *src;
} asked;

static bool moments_known(const tool *t) { return !(t->opt.resolution > 0); }

/* Of one batch of vectors, or of rows; step: NULL, or the time of a step. */
static wisp_status batch_plan(tool *t, const map_run *r, const wisp_mat_info *a, const wisp_choice *step,
                              wisp_plan *plan)
{
    wisp_kpm_opts o = r->kpm;
    const int64_t terms = map_terms(r->kpm.moments);
    const wisp_bounds any = {.center = 0, .halfwidth = 1};
    const wisp_chebyshev_opts co = {.bounds = {.method = WISP_BOUNDS_GIVEN, .given = any}};
    wisp_function *f = NULL;
    wisp_scalar *c = NULL;
    wisp_status status;
    o.trace = WISP_TRACE_SITES;
    o.sites = r->row;
    o.vectors = r->rows < MAP_ROWS ? r->rows : MAP_ROWS;
    if (r->exact) return wisp_kpm_plan(plan, t->ctx, a, &o, step);
    WISP_TRY(wisp_alloc(t->ctx, &f, (size_t)r->energies, sizeof *f));
    WISP_TRY(wisp_alloc(t->ctx, &c, (size_t)terms, sizeof *c));
    wisp_kernel_root(&any, r->eval.kernel, 0, terms, c);
    for (int e = 0; e < r->energies; e++) f[e] = (wisp_function){.terms = terms, .c = c};
    status = wisp_chebyshev_plan(plan, t->ctx, a, r->mo.type, r->width, r->energies, f, &co, step);
out:
    wisp_free(t->ctx, f);
    wisp_free(t->ctx, c);
    return status;
}

enum { COPIES = 3 }; /* of moments that are kept, while their file is made in memory: HDF5's, and what is written */
static double kept_bytes(const map_run *r)
{
    return r->keeps ? (r->exact ? 8.0 : 16.0) * (double)map_kept_numbers(r) : 0;
}

static int find_bytes(tool *t, const void *arg, bool most, plan_bytes *b)
{
    const asked *in = arg;
    const map_run *r = in->r;
    wisp_mat_info *a = &b->matrix;
    wisp_plan batch, bounds;
    int64_t source;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if ((most ? wisp_mat_bound(t->ctx, in->src, &r->mo, a) : wisp_mat_plan(t->ctx, in->src, &r->mo, a)) ||
        batch_plan(t, r, a, NULL, &batch))
        return tool_fail_ctx(t);
    const wisp_bounds_opts bo = wisp_kpm_bounds_opts(r->mo.type, a->rows, &r->kpm);
    if (wisp_bounds_plan(&bounds, t->ctx, a, &bo, NULL)) return tool_fail_ctx(t);
    const double sums = (t->opt.average ? 2 : 1) * 4.0 * 8 * r->energies * (double)r->sites, places = (double)source;
    const double block = r->exact ? 0 : (double)a->local_rows * r->width * (double)wisp_type_size(r->mo.type);
    const double series = r->exact ? 0 : 16.0 * r->energies * (double)map_terms(r->kpm.moments);
    const double part = r->exact ? 0 : 8.0 * (double)r->rows * r->width, kept = kept_bytes(r);
    const double own = (r->energies + 2) * block + series + part + sums + kept;
    const double work = own + (double)(most ? batch.bytes_most : batch.bytes);
    b->vectors = wisp_whole_number(work + (t->opt.checkpoint ? work : 0)) + WISP_PLAN_LITTLE;
    enum { HELD = 1, PARTS = HELD + 3 };
    const int64_t parts[PARTS] = {a->bytes + b->vectors + source, source + a->assembly_bytes,
                                  a->bytes + source + wisp_whole_number(sums) +
                                      (most ? bounds.bytes_most : bounds.bytes),
                                  source + wisp_whole_number(sums + COPIES * kept)};
    b->total = plan_total(t, &(plan_held){a->bytes, b->vectors, wisp_whole_number(sums + places), parts, HELD, PARTS},
                          most, &b->sides);
    return EXIT_FINE;
}

int map_plan_check_kept(tool *t, const map_run *r)
{
    const int64_t bytes = wisp_whole_number(COPIES * kept_bytes(r));
    const wisp_status status = bytes > 0 ? wisp_ctx_count_memory(t->ctx, bytes) : WISP_OK;
    if (bytes > 0 && status == WISP_OK) wisp_ctx_count_memory(t->ctx, -bytes);
    return tool_agree(t, status ? tool_fail_ctx(t) : EXIT_FINE);
}

int map_plan_check(tool *t, const map_run *r, const wisp_src *src)
{
    return plan_check(t, find_bytes, &(asked){r, src},
                      "a smaller --width, fewer --energies or --precision single takes less");
}

static wisp_status find_time(tool *t, const map_run *r, const wisp_src *src, const wisp_mat_info *a, plan_time *time)
{
    const int64_t columns = r->exact ? (r->rows < MAP_ROWS ? r->rows : MAP_ROWS) : r->width;
    const int64_t all = r->exact ? r->rows : r->kpm.vectors;
    wisp_choice step;
    wisp_plan batch;
    wisp_status status;
    WISP_TRY(plan_time_begin(t, src, &r->mo, time));
    WISP_TRY(wisp_src_choose(t->ctx, src, &r->mo, r->mo.type, columns, 1, &step));
    WISP_TRY(batch_plan(t, r, a, &step, &batch));
    time->run = (double)average_count(t) * batch.seconds * ceil((double)all / (double)columns);
    time->source *= (double)average_count(t), time->assembly *= (double)average_count(t);
    time->limit = step.limit;
    time->known = moments_known(t) && isfinite(time->run);
out:
    return status;
}

int map_plan_show(tool *t, const map_run *r, const wisp_src *src)
{
    plan_bytes about, most;
    plan_time time = {0};
    char b[2][TEXT];
    int rc = plan_find(t, find_bytes, &(asked){r, src}, &about, &most);
    if (rc) return rc;
    const wisp_status status = find_time(t, r, src, &about.matrix, &time);
    if ((rc = plan_time_check(t, status))) return rc;
    monitor_clear(&t->monitor);
    if (t->opt.json) {
        json_t *o = JSON_PUT(plan_json(t, r->mo.type, &about, &most), J("sites", r->sites), J("site_rows", r->rows),
                             J("energies", r->energies), J_MAYBE(!r->exact, "vectors", r->kpm.vectors),
                             J_MAYBE(t->opt.average, "realizations", t->opt.average));
        plan_time_json(o, &time);
        return json_print_new(t, o);
    }
    plan_bytes_show(t, r->mo.type, r->width, &about, &most);
    average_plan(t);
    text_line("map", "%s sites of %s rows, at %d energies", text_count(b[0], r->sites), text_count(b[1], r->rows),
              r->energies);
    if (time.known) plan_time_show(&time, "map");
    if (!moments_known(t))
        text_line("time", "not known before the bounds are, from which --resolution has its moments");
    plan_time_missing(status);
    return EXIT_FINE;
}
