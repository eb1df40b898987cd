/* The cost of wisp apply before it starts: memory and time. */
#include "apply.h"
#include "../out/text.h"
#include "../plan.h"
#include <math.h>

typedef struct {
    const apply_run *r;
    const wisp_src *src;
    const wisp_mat_opts *mo;
} asked;

/* Without bounds the function can't be asked for its values yet: for as many terms as are allowed. */
static wisp_status find_plan(tool *t, const asked *in, const wisp_mat_info *a, const wisp_choice *step, wisp_plan *plan)
{
    return wisp_chebyshev_plan(plan, t->ctx, a, in->r->type, in->r->width, 1, &in->r->f, &in->r->opts, step);
}

/* x is filled by way of an array, from a file that is open until then. y is where x is; its copy is written. */
static int find_bytes(tool *t, const void *arg, bool most, plan_bytes *b)
{
    const asked *in = arg;
    const apply_run *r = in->r;
    const wisp_mat_info *a = &b->matrix;
    int64_t source;
    wisp_plan sum, bounds;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if ((most ? wisp_mat_bound(t->ctx, in->src, in->mo, &b->matrix)
              : wisp_mat_plan(t->ctx, in->src, in->mo, &b->matrix)) ||
        find_plan(t, in, a, NULL, &sum) || wisp_bounds_plan(&bounds, t->ctx, a, &r->opts.bounds, NULL))
        return tool_fail_ctx(t);
    const int64_t block = (a->local_rows + a->halo_rows) * r->width * (int64_t)wisp_type_size(r->type);
    const int64_t own = block + 2 * r->width * (int64_t)sizeof *r->norm + r->f.terms * (int64_t)sizeof *r->c,
                  file = t->opt.start ? r->start_bytes + block : 0;
    const int64_t work = most ? sum.bytes_most : sum.bytes, copy = t->opt.checkpoint ? own + work : 0;
    b->vectors = own + work + copy + WISP_PLAN_LITTLE;
    enum { HELD = 1, PARTS = HELD + 5 };
    const int64_t parts[PARTS] = {a->bytes + b->vectors,
                                  r->reading,
                                  source + a->assembly_bytes,
                                  a->bytes + own + file,
                                  a->bytes + own + (most ? bounds.bytes_most : bounds.bytes),
                                  own + plan_output(t, t->opt.output, r->type, a->rows, r->width, most)};
    b->total = plan_total(t, &(plan_held){a->bytes, b->vectors, own, parts, HELD, PARTS}, most, &b->sides);
    return EXIT_FINE;
}

int apply_plan_check(tool *t, const apply_run *r, const wisp_src *src, const wisp_mat_opts *mo)
{
    return plan_check(t, find_bytes, &(asked){r, src, mo}, "fewer vectors or --precision single take less");
}

static wisp_status find_time(tool *t, const asked *in, const wisp_mat_info *a, wisp_plan *sum, plan_time *time)
{
    wisp_choice step;
    wisp_status status;
    WISP_TRY(plan_time_begin(t, in->src, in->mo, time));
    WISP_TRY(wisp_src_choose(t->ctx, in->src, in->mo, in->r->type, in->r->width, WISP_CHEBYSHEV_STEPS, &step));
    WISP_TRY(find_plan(t, in, a, &step, sum));
    time->run = sum->seconds;
    time->limit = step.limit;
    time->known = isfinite(time->run);
out:
    return status;
}

int apply_plan_show(tool *t, const apply_run *r, const wisp_src *src, const wisp_mat_opts *mo)
{
    plan_bytes about, most;
    plan_time time = {0};
    wisp_plan sum = {0};
    char b[TEXT];
    const asked in = {r, src, mo};
    int rc = plan_find(t, find_bytes, &in, &about, &most);
    if (rc) return rc;
    const wisp_status status = find_time(t, &in, &about.matrix, &sum, &time);
    if ((rc = plan_time_check(t, status))) return rc;
    monitor_clear(&t->monitor);
    if (t->opt.json) {
        json_t *o = JSON_PUT(plan_json(t, r->type, &about, &most), J("columns", r->width),
                             J_IF(time.known, "products", sum.products), J_IF(time.known, "sweeps", sum.sweeps));
        plan_time_json(o, &time);
        return json_print_new(t, o);
    }
    plan_bytes_show(t, r->type, r->width, &about, &most);
    if (time.known) {
        text_line("sweeps", "about %s", text_count(b, wisp_whole_number(sum.sweeps)));
        plan_time_show(&time, "series");
    } else if (status == WISP_OK) {
        text_line("time", "not known before the bounds are, from which the series follows");
    }
    plan_time_missing(status);
    return EXIT_FINE;
}
