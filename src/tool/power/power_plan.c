/* The cost of wisp power before it starts: memory and time. */
#include "power.h"
#include "../out/text.h"
#include "../plan.h"

typedef struct {
    const powers *p;
    const wisp_src *src;
    const wisp_mat_opts *mo;
} asked;

static int at_once(const powers *p) { return p->n < POWER_AT_ONCE ? (int)p->n : POWER_AT_ONCE; }

static wisp_status find_steps(tool *t, const powers *p, const wisp_mat_info *a, const wisp_choice *step,
                              wisp_plan *steps)
{
    const wisp_mpk_opts o = {.steps = at_once(p), .terms = WISP_DOT_XX | WISP_DOT_YY, .cache_budget = p->cache_budget};
    return wisp_mpk_plan(steps, t->ctx, a, p->type, p->width, &o, step);
}

/* v_0 is filled by way of an array, from a file that is open until then, or once more where steps go one by one: then
   the entries have been looked at, too. What is written is a copy beside all blocks. */
static int find_bytes(tool *t, const void *arg, bool most, plan_bytes *b)
{
    const asked *in = arg;
    const powers *p = in->p;
    const wisp_mat_info *a = &b->matrix;
    int64_t source;
    wisp_plan steps;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if (most ? wisp_mat_bound(t->ctx, in->src, in->mo, &b->matrix) : wisp_mat_plan(t->ctx, in->src, in->mo, &b->matrix))
        return tool_fail_ctx(t);
    if (find_steps(t, p, a, NULL, &steps)) return tool_fail_ctx(t);
    const int64_t rows = a->local_rows, block = rows * p->width * (int64_t)wisp_type_size(p->type);
    const int64_t stored = p->stored - (t->opt.all ? 1 : 0) + p->keeps, written = t->opt.all ? p->n + 1 : 1;
    const int64_t numbers = 8 * (p->n + 1) * p->width + 16 * POWER_AT_ONCE * (1 + 3 * p->width);
    const int64_t sums = (int64_t)wisp_dot_bytes((double)rows, p->width);
    const int64_t blocks = stored * (block + (int64_t)sizeof(wisp_blk *)),
                  file = t->opt.start ? p->start_bytes + block : 0;
    b->vectors = blocks + numbers + (most ? steps.bytes_most + sums : steps.bytes) + WISP_PLAN_LITTLE;
    const int64_t held = a->bytes + b->vectors;
    enum { HELD = 2, PARTS = HELD + 3 };
    const int64_t parts[PARTS] = {most ? held + a->props_bytes : held,
                                  held + plan_output(t, t->opt.output, p->type, rows, written * p->width, most),
                                  most ? held + file : a->bytes + blocks + file, p->reading,
                                  source + a->assembly_bytes};
    const plan_held all = {a->bytes, b->vectors, numbers, parts, most ? HELD + 1 : HELD, PARTS};
    b->total = plan_total(t, &all, most, &b->sides);
    if (!most && file > b->sides.host) b->sides.host = file;
    return EXIT_FINE;
}

int power_plan_check(tool *t, const powers *p, const wisp_src *src, const wisp_mat_opts *mo)
{
    return plan_check(t, find_bytes, &(asked){p, src, mo},
                      "a smaller --width, --precision single or no --all takes less");
}

static wisp_status find_time(tool *t, const asked *in, const wisp_mat_info *a, plan_time *time)
{
    const powers *p = in->p;
    wisp_choice step;
    wisp_plan steps;
    wisp_status status;
    WISP_TRY(plan_time_begin(t, in->src, in->mo, time));
    WISP_TRY(wisp_src_choose(t->ctx, in->src, in->mo, p->type, p->width, at_once(p), &step));
    WISP_TRY(find_steps(t, p, a, &step, &steps));
    time->run = (double)p->n * steps.seconds / steps.sweeps;
    time->limit = step.limit;
    time->known = true;
out:
    return status;
}

static int show_json(tool *t, const powers *p, const plan_bytes *about, const plan_bytes *most, const plan_time *time)
{
    json_t *o = JSON_PUT(plan_json(t, p->type, about, most), J("columns", p->width), J("powers", p->n),
                         J("products", p->n * p->width), J("sweeps", p->n));
    plan_time_json(o, time);
    return json_print_new(t, o);
}

int power_plan_show(tool *t, const powers *p, const wisp_src *src, const wisp_mat_opts *mo)
{
    plan_bytes about, most;
    plan_time time = {0};
    char b[TEXT];
    const asked in = {p, src, mo};
    int rc = plan_find(t, find_bytes, &in, &about, &most);
    if (rc) return rc;
    const wisp_status status = find_time(t, &in, &about.matrix, &time);
    if ((rc = plan_time_check(t, status))) return rc;
    monitor_clear(&t->monitor);
    if (t->opt.json) return show_json(t, p, &about, &most, &time);
    plan_bytes_show(t, p->type, p->width, &about, &most);
    text_line("sweeps", "%s", text_count(b, p->n));
    if (time.known) plan_time_show(&time, "powers");
    plan_time_missing(status);
    return EXIT_FINE;
}
