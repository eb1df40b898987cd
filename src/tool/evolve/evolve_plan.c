/* The cost of wisp evolve before it starts: memory, and, where the bounds are given, sweeps and time. */
#include "evolve.h"
#include "../out/text.h"
#include "../plan.h"
#include <math.h>

/* bytes: that it may hold. */
static wisp_status find_run(tool *t, const evolve_results *r, const wisp_mat_info *a, const wisp_choice *step,
                            int64_t bytes, wisp_plan *run)
{
    wisp_evolve_opts o = r->opts;
    o.bytes = bytes;
    return wisp_evolve_plan(run, t->ctx, a, r->type, 1, r->times - 1, r->time + 1, &o, step);
}

/* Times, norms and their logarithms, how far psi may be off, densities, expectation values. */
static int64_t numbers_of(const evolve_results *r) { return 8 * r->times * (4 + r->watched + 3 * r->x.count); }

/* The copy of a checkpoint: psi, the blocks of a sequence, of which `held` is made up, and what was seen. */
static int64_t copy_bytes(const tool *t, const evolve_results *r, int64_t block, int64_t held)
{
    enum { HEADS = 1 << 16 };
    return t->opt.checkpoint ? block + held + numbers_of(r) + HEADS : 0;
}

int evolve_room(tool *t, int64_t held, int64_t on_device, int64_t *bytes)
{
    plan_need need;
    int64_t there;
    if (plan_needed(t, 0, &need)) return EXIT_FAILED;
    wisp_ctx_device_memory(t->ctx, NULL, NULL, &there);
    const int64_t left = there > 0 ? there - on_device : need.limit / (need.ranks > 1 ? need.ranks : 1) - held;
    const int64_t rest = left / (t->opt.checkpoint ? 2 : 1); /* for its copy */
    *bytes = t->opt.bytes ? t->opt.bytes : rest > 1 ? rest : 1;
    return EXIT_FINE;
}

static int64_t copy_of(tool *t, const evolve_results *r, const plan_bytes *about)
{
    wisp_plan run = {0};
    find_run(t, r, &about->matrix, NULL, 0, &run); /* find_bytes tells a failure */
    return copy_bytes(t, r, about->matrix.local_rows * (int64_t)wisp_type_size(r->type), run.bytes);
}

/* Beside the matrix and psi: operators, and what making them takes; numbers that are kept; and what wisp_evolve may
   hold. */
typedef struct {
    int64_t operators, making, kept, room;
} beside;

static int find_beside(tool *t, const evolve_results *r, const wisp_mat_info *a, bool most, beside *b)
{
    const int64_t block = a->local_rows * (int64_t)wisp_type_size(r->type);
    if (expectations_bytes(t, &r->x, r->type, most, &b->operators, &b->making)) return EXIT_FAILED;
    if (drives_bytes(t, &r->d, r->type, most, &b->operators, &b->making)) return EXIT_FAILED;
    if (r->x.count) b->operators += block;
    b->kept = numbers_of(r) + (r->watched || t->opt.states ? block : 0);
    const int64_t there = a->bytes + block + b->operators;
    return evolve_room(t, there + b->kept + copy_bytes(t, r, block, 0) + WISP_PLAN_LITTLE, there, &b->room);
}

/* psi(0) is filled by way of an array, from a file that is open until then; psi is looked at through another one. */
static int find_bytes(tool *t, const void *arg, bool most, plan_bytes *b)
{
    const evolve_inputs *in = arg;
    const evolve_results *r = in->r;
    const wisp_mat_info *a = &b->matrix;
    int64_t source;
    wisp_plan run;
    beside by;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if (most ? wisp_mat_bound(t->ctx, in->src, in->mo, &b->matrix) : wisp_mat_plan(t->ctx, in->src, in->mo, &b->matrix))
        return tool_fail_ctx(t);
    if (find_beside(t, r, a, most, &by)) return EXIT_FAILED;
    if (find_run(t, r, a, NULL, by.room, &run)) return tool_fail_ctx(t);
    const int64_t operators = by.operators, making = by.making,
                  block = a->local_rows * (int64_t)wisp_type_size(r->type), held = most ? run.bytes_most : run.bytes,
                  on_host = by.kept + copy_bytes(t, r, block, held);
    b->vectors = block + held + operators + on_host + WISP_PLAN_LITTLE;
    enum { HELD = 1, PARTS = HELD + 4 };
    const int64_t parts[PARTS] = {a->bytes + b->vectors, in->reading, source + a->assembly_bytes,
                                  a->bytes + in->start + operators + numbers_of(r) + 2 * block + WISP_PLAN_LITTLE,
                                  a->bytes + in->start + operators + making + numbers_of(r) + 2 * block +
                                      WISP_PLAN_LITTLE};
    b->total = plan_total(t, &(plan_held){a->bytes, b->vectors, on_host, parts, HELD, PARTS}, most, &b->sides);
    return EXIT_FINE;
}

int evolve_plan_check(tool *t, const evolve_inputs *in)
{
    return plan_check(t, find_bytes, in, "--precision single or fewer rows to --watch take less");
}

/* Where the bounds are given; else the number of sweeps is not known. */
static wisp_status find_time(tool *t, const evolve_inputs *in, const wisp_mat_info *a, wisp_plan *run, plan_time *time)
{
    const evolve_results *r = in->r;
    wisp_choice step;
    wisp_status status;
    beside by;
    if (find_beside(t, r, a, false, &by)) return WISP_ERR_NOMEM;
    WISP_TRY(find_run(t, r, a, NULL, by.room, run));
    if (isnan(run->sweeps)) goto out;
    WISP_TRY(plan_time_begin(t, in->src, in->mo, time));
    const int64_t steps = r->opts.depth == 1 || run->sweeps < 1 ? 1 : (int64_t)run->sweeps;
    WISP_TRY(wisp_src_choose(t->ctx, in->src, in->mo, r->type, 1, steps, &step));
    WISP_TRY(find_run(t, r, a, &step, by.room, run));
    time->run = run->seconds;
    time->limit = step.limit;
    time->known = true;
out:
    return status;
}

/* Where no bounds are given: sweeps, and the memory of all times together, by those that some rows tell. */
static double estimate_by_rows(tool *t, const evolve_inputs *in, plan_bytes *about)
{
    evolve_inputs as = *in;
    evolve_results r = *in->r;
    plan_bytes b = *about;
    beside by;
    wisp_plan run;
    if (in->looked == 0 || !(in->reach.halfwidth > 0)) return NAN;
    r.opts.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = in->reach};
    as.r = &r;
    if (find_bytes(t, &as, false, &b) || find_beside(t, &r, &b.matrix, false, &by) ||
        find_run(t, &r, &b.matrix, NULL, by.room, &run))
        return NAN;
    if (b.total < about->total) return run.sweeps;
    *about = b;
    return run.sweeps;
}

static int show_json(tool *t, const evolve_results *r, const plan_bytes *about, const plan_bytes *most,
                     const wisp_plan *run, double estimate, const plan_time *time)
{
    json_t *o = JSON_PUT(plan_json(t, r->type, about, most), J("checkpoint_bytes", copy_of(t, r, about)),
                         J("times", r->times), J("tolerance", r->opts.tolerance),
                         J_IF(t->opt.states, "states_bytes", states_bytes(t, &r->kind, r->times)),
                         J_IF(isfinite(run->products), "products", (json_int_t)run->products),
                         J_IF(isfinite(run->sweeps), "sweeps", (json_int_t)run->sweeps),
                         J_IF(isfinite(estimate), "sweeps_estimate", (json_int_t)estimate));
    plan_time_json(o, time);
    return json_print_new(t, o);
}

int evolve_plan_show(tool *t, const evolve_inputs *in)
{
    plan_bytes about, most;
    plan_time time = {0};
    wisp_plan run;
    char b[TEXT], c[TEXT];
    int rc = plan_find(t, find_bytes, in, &about, &most);
    if (rc) return rc;
    const wisp_status status = find_time(t, in, &about.matrix, &run, &time);
    if ((rc = plan_time_check(t, status))) return rc;
    int64_t rows;
    const double estimate = in->r->d.count      ? drives_sweeps(t, in->src, in->r, &rows)
                            : isnan(run.sweeps) ? estimate_by_rows(t, in, &about)
                                                : NAN;
    if (about.total > most.total) about.total = most.total;
    if (tool_is_stopped(t)) return tool_stopped(t);
    monitor_clear(&t->monitor);
    if (t->opt.json) return show_json(t, in->r, &about, &most, &run, estimate, &time);
    plan_bytes_show(t, in->r->type, 1, &about, &most);
    if (t->opt.checkpoint) checkpoint_plan(copy_of(t, in->r, &about));
    if (t->opt.states)
        text_line("states", "about %s on the disk", text_bytes(b, (double)states_bytes(t, &in->r->kind, in->r->times)));
    if (isfinite(estimate) && !in->r->d.count)
        text_line("sweeps", "perhaps %s: an estimate, by the entries of %s rows (--bounds A,B gives more)",
                  text_count(b, (int64_t)estimate), text_count(c, in->looked));
    else if (isfinite(estimate))
        text_line("sweeps", "perhaps %s: an estimate, by the steps that %s rows of H(t) alone take",
                  text_count(b, (int64_t)estimate), text_count(c, rows));
    else if (in->r->d.count)
        text_line("sweeps", "not known: the steps of H(t) follow from their error on the way");
    else if (isnan(run.sweeps) && in->r->absorbs)
        text_line("sweeps", "not known: their number follows from the bounds of H and of W, and those of W are found");
    else if (isnan(run.sweeps))
        text_line("sweeps", "not known: their number follows from the bounds (--bounds A,B gives them)");
    else
        text_line("sweeps", "about %s", text_count(b, (int64_t)run.sweeps));
    if (time.known) plan_time_show(&time, "evolution");
    plan_time_missing(status);
    return EXIT_FINE;
}
