/* The cost of a run of dos, ldos, count, thermal or trace before it starts: memory, and time by the model of the bench.
 */
#include "dos.h"
#include "../bench/bench.h"
#include "../out/text.h"
#include "../plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------------------------------- */

int64_t plan_vectors(const wisp_kpm_opts *ko, int64_t rows)
{
    return ko->trace == WISP_TRACE_EXACT ? rows : ko->vectors ? ko->vectors : 32;
}

static bool of_curves(const wisp_kpm_opts *ko)
{
    return ko->trace == WISP_TRACE_SITES || ko->trace == WISP_TRACE_GIVEN;
}
wisp_type plan_type(const wisp_mat_opts *mo, const wisp_kpm_opts *ko) { return ko->type ? ko->type : mo->type; }
int64_t plan_moments(const wisp_kpm_opts *ko) { return ko->moments ? ko->moments : 512; }

/* Vectors whose moments are held at the end: of realizations all, or of a trace one each. */
static int64_t kept_vectors(const tool *t, const wisp_kpm_opts *ko, int64_t rows)
{
    const int64_t one = ko->trace == WISP_TRACE_EXACT ? 1 : plan_vectors(ko, rows);
    return t->opt.average && !of_curves(ko) ? t->opt.average : average_count(t) * one;
}

/* What is held at most to evaluate traces: series, the functions' values and their transform, and sums by vector. */
static double traces_bytes(const tool *t, double n, double kept)
{
    enum { SERIES = 3, POINT = 16 * 8, LEAST = 4096 };
    return SERIES * 16 * n + POINT * (4 * n + LEAST) + 8 * SERIES * kept +
           (double)t->opt.temperature_count * sizeof(wisp_ensemble);
}

/* Energies that dos_eval.c takes. */
static double points_of(const tool *t, double moments)
{
    const int64_t given = t->opt.energy_count ? t->opt.energy_count : t->opt.points;
    return given ? (double)given : fmax(2 * moments, 1024);
}

/* What dos_eval.c holds at most, and before it a file of moments; the matrix has gone. */
static int64_t evaluation_bytes(const tool *t, const wisp_kpm_opts *ko, int64_t rows)
{
    enum { LANES = 16, BATCH = 4096, FILE_HEAD = 64 << 10 }; /* energies side by side; of a Green's function at once */
    const double n = (double)plan_moments(ko), kept = (double)kept_vectors(t, ko, rows);
    const bool grid = !of_traces(t) && (t->cmd->bit != CMD_COUNT || t->opt.plot);
    const double points = grid ? points_of(t, n) : 0;
    const bool local = of_curves(ko);
    const double curves = local ? kept : 1, numbers = run_sides(ko) * n * kept;
    const double image = t->opt.save ? FILE_HEAD + 16 * (numbers + kept) : 0; /* HDF5's, and its copy */
    const double curve_bytes = points * (2 + (of_green(t) ? 7 + (t->opt.average ? 3 : 0) : 3 + run_sides(ko)) * curves +
                                         (of_spectral(t) ? 2 * curves : 0)) +
                               4 * curves,
                 mean = 3 * n;
    const double green = of_green(t) ? 3 * fmin(points + 1, BATCH) : 0;
    const double sums = wisp_ctx_threads(t->ctx) * (local ? 1 : kept) * LANES + green;
    const double traces = of_traces(t) ? traces_bytes(t, n, kept) : 0;
    return wisp_whole_number(8 * (numbers + curve_bytes + mean + sums) + traces + image + 4096);
}

/* The copy of a checkpoint: two blocks, and moments so far. */
static int64_t copy_bytes(const tool *t, const wisp_mat_info *A, wisp_type matrix, const wisp_kpm_opts *ko)
{
    enum { HEADS = 4096, STAMP = 3 };
    if (!t->opt.checkpoint) return 0;
    const wisp_type type = ko->type ? ko->type : matrix;
    const int64_t rows = A->local_rows, width = wisp_kpm_width(type, A->rows, ko);
    const int64_t kept = ko->trace == WISP_TRACE_EXACT ? 1 : plan_vectors(ko, A->rows);
    const int64_t numbers = t->opt.partition ? 8 * rows : 0;
    const int64_t stamps = ko->trace == WISP_TRACE_GIVEN ? 8 * STAMP * run_sides(ko) * kept : 0;
    return 2 * rows * width * (int64_t)wisp_type_size(type) + 8 * run_sides(ko) * plan_moments(ko) * (kept + width) +
           stamps + numbers + HEADS;
}

/* The source goes when the matrix stands; the blocks come after that: first those of --start and --left, which are
   filled through an array. */
static void add_up(const tool *t, const run_plan *p, const wisp_kpm_opts *ko, bool most, run_bytes *r)
{
    enum { HELD = 1, PARTS = HELD + 6 };
    const int64_t starts = (run_sides(ko) + 1) * starts_block_bytes(ko, &r->matrix);
    const int64_t parts[PARTS] = {r->matrix.bytes + r->blocks,
                                  p->files.reading,
                                  p->choosing,
                                  p->source + r->matrix.assembly_bytes,
                                  r->matrix.bytes + p->files.starts + starts +
                                      p->files.operator[most] + p->files.making[most],
                                  evaluation_bytes(t, ko, r->matrix.rows),
                                  r->matrix.bytes + cool_bytes(t, &r->matrix, plan_vectors(ko, r->matrix.rows), most) +
                                      evaluation_bytes(t, ko, r->matrix.rows)};
    const int64_t one = ko->trace == WISP_TRACE_EXACT ? 1 : plan_vectors(ko, r->matrix.rows);
    const int64_t kept = kept_vectors(t, ko, r->matrix.rows) + (t->opt.average ? one : 0);
    const int64_t on_host = 8 * run_sides(ko) * plan_moments(ko) * kept + copy_bytes(t, &r->matrix, r->matrix.type, ko);
    const plan_held held = {r->matrix.bytes, r->blocks, on_host, parts, HELD, PARTS};
    r->total = plan_total(t, &held, most, &r->sides);
}

/* r->blocks of r->matrix. */
static int find_blocks(tool *t, const run_plan *p, const wisp_kpm_opts *ko, bool most, run_bytes *r)
{
    const wisp_mat_info *A = &r->matrix;
    wisp_plan plan;
    wisp_mat_info B; /* zero without one */
    if (wisp_kpm_plan(&plan, t->ctx, A, ko, NULL)) return tool_fail_ctx(t);
    wisp_mat_get_info(ko->adjoint, &B);
    r->blocks = (most ? plan.bytes_most : plan.bytes) + copy_bytes(t, A, A->type, ko) +
                run_sides(ko) * starts_block_bytes(ko, A) + p->files.operator[most] + B.bytes;
    return EXIT_FINE;
}

static int find_most(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, const run_plan *p,
                     run_bytes *most)
{
    if (wisp_mat_bound(t->ctx, src, mo, &most->matrix)) return tool_fail_ctx(t);
    const int rc = find_blocks(t, p, ko, true, most);
    add_up(t, p, ko, true, most);
    return rc;
}

/* p->most of a run whose single precision may turn out not to be enough: that of the run in double precision, beside
   what the context still holds for the first one, all but its blocks. */
static int find_most_of_both(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko,
                             run_plan *p)
{
    wisp_mat_opts mo_double = *mo;
    wisp_kpm_opts ko_double = *ko;
    run_bytes most;
    const int64_t stays =
        p->most.blocks - 2 * mo->width * (int64_t)wisp_type_size(mo->type) * p->most.matrix.local_rows;
    ko_double.rounding_limit = 0;
    mo_double.type = src->type;
    mo_double.width = wisp_kpm_width(src->type, src->rows, ko);
    if (find_most(t, src, &mo_double, &ko_double, p, &most)) return EXIT_FAILED;
    if (stays > 0) most.total += stays;
    if (most.blocks < p->most.blocks) most.blocks = p->most.blocks;
    if (most.total > p->most.total) p->most = most;
    p->may_be_double = true;
    return EXIT_FINE;
}

int plan_make(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, const run_files *files,
              run_plan *p)
{
    *p = (run_plan){.files = *files, .moments_unknown = moments_by_bounds(t) && !ko->moments};
    wisp_ctx_memory(t->ctx, &p->source, &p->choosing);
    const int rc = find_most(t, src, mo, ko, p, &p->most);
    return rc || ko->rounding_limit == 0 ? rc : find_most_of_both(t, src, mo, ko, p);
}

static int plan_estimate(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p)
{
    if (wisp_mat_plan(t->ctx, src, mo, &p->about.matrix)) return tool_fail_ctx(t);
    const int rc = find_blocks(t, p, ko, false, &p->about);
    add_up(t, p, ko, false, &p->about);
    return rc;
}

static const char advice[] = "a smaller --width or --precision single takes less (--plan shows how much)";

static int refuse(tool *t, const run_bytes *own, const plan_need *need)
{
    char a[TEXT], b[TEXT], c[TEXT], d[TEXT];
    run_bytes r = *own;
    const int rc = plan_of_most(t, r.total, &r, sizeof r);
    if (rc) return rc;
    text_bytes(a, (double)need->bytes);
    text_bytes(b, (double)r.matrix.bytes);
    text_bytes(c, (double)r.blocks);
    text_bytes(d, (double)need->limit);
    if (t->opt.mem_limit)
        return tool_fail(t, "the run would take about %s (matrix %s, vectors %s), more than --mem-limit %s", a, b, c,
                         d);
    return tool_fail(
        t,
        "the run would take about %s (%smatrix %s, vectors %s), and this machine has %s; %s, and --mem-limit BYTES "
        "starts it anyway",
        a, plan_whose(need), b, c, d, advice);
}

/* Whether this fits, host and device; need: what it is compared with. */
static int check_fit(tool *t, const run_bytes *r, plan_need *need, bool *fits, bool *device)
{
    int rc = plan_needed(t, plan_has_sides(t) ? r->sides.host : r->total, need);
    if (!rc) rc = plan_fits_device(t, r->sides.device, device);
    *fits = !rc && need->bytes <= need->limit && *device;
    return rc;
}

static int refuse_side(tool *t, const run_bytes *r, const plan_need *need, bool device)
{
    return device ? refuse(t, r, need) : plan_refuse_device(t, r->sides.device, r->matrix.bytes, r->blocks, advice);
}

int plan_check_limit(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p)
{
    plan_need need;
    bool fits, device;
    int rc = check_fit(t, &p->most, &need, &fits, &device);
    if (rc || fits || (t->opt.plan && !t->opt.mem_limit && !t->opt.device_mem_limit)) return rc;
    if (!p->about.total) rc = plan_estimate(t, src, mo, ko, p);
    if (!rc) rc = check_fit(t, &p->about, &need, &fits, &device);
    return rc || fits ? rc : refuse_side(t, &p->about, &need, device);
}

int plan_check_blocks(tool *t, const wisp_mat *A, const wisp_kpm_opts *ko)
{
    run_plan p = {0};
    wisp_mat_get_info(A, &p.about.matrix);
    plan_need need;
    bool fits, device;
    int rc = find_blocks(t, &p, ko, false, &p.about);
    add_up(t, &p, ko, false, &p.about);
    if (!rc) rc = check_fit(t, &p.about, &need, &fits, &device);
    return rc || fits ? rc : refuse_side(t, &p.about, &need, device);
}

/* ---- time ---------------------------------------------------------------------------------------- */

typedef struct {
    bool kept;       /* ceilings of an earlier `wisp machine`, not those of now */
    double load_gbs; /* of them */
    double source, assembly, bounds, moments, evaluation, total; /* seconds; evaluation: of green alone */
    const char *limit;                                           /* of the moments */
    bool known;
} run_time;

/* Steps of each vector, some of which may be interleaved: 1 if none may. */
int64_t plan_steps(const wisp_kpm_opts *ko)
{
    return ko->depth == 1 || ko->reduce_each_step || ko->variant != WISP_KPM_BLOCKED
               ? 1
               : plan_moments(ko) / (3 - run_sides(ko));
}

/* Seconds of a step of so many columns by the model, in groups of `width`. */
static wisp_status step_seconds(tool *t, const wisp_src *src, const wisp_mat_opts *mo, wisp_type type, int64_t columns,
                                int width, int64_t steps, wisp_choice *found)
{
    wisp_mat_opts o = *mo;
    o.width = width > 0 ? width : 1;
    return wisp_src_choose(t->ctx, src, &o, type, columns > 0 ? columns : 1, steps, found);
}

/* The parts of a run, as wisp_kpm goes through them. */
static wisp_status find_time(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko,
                             const run_plan *plan, run_time *time)
{
    wisp_machine m = {0};
    wisp_choice step;
    wisp_plan moments, bounds;
    wisp_status status = WISP_OK;
    time->source = wisp_now() - t->started;
    WISP_TRY(plan_ceilings(t, &m, &time->load_gbs, &time->kept));
    wisp_ctx_set_machine(t->ctx, &m);
    WISP_TRY(plan_assembly(t, src, mo, &time->assembly));
    const int64_t vectors = plan_vectors(ko, src->rows);
    const pencil *pencil = plan->files.pencil;
    const int64_t steps = t->opt.overlap ? 1 : plan_steps(ko);
    WISP_TRY(step_seconds(t, src, mo, plan_type(mo, ko), vectors, mo->width, steps, &step));
    WISP_TRY(overlap_time(t, pencil, mo, plan_type(mo, ko), vectors, &step));
    WISP_TRY(wisp_kpm_plan(&moments, t->ctx, &plan->about.matrix, ko, &step));
    time->moments = moments.seconds;
    time->limit = step.limit;
    const wisp_bounds_opts bo = wisp_kpm_bounds_opts(mo->type, src->rows, ko);
    WISP_TRY(wisp_bounds_plan(&bounds, t->ctx, &plan->about.matrix, &bo, NULL));
    if (bounds.sweeps > 0) {
        const int columns = (int)(bounds.products / bounds.sweeps);
        WISP_TRY(step_seconds(t, src, mo, mo->type, columns, columns, 1, &step));
        WISP_TRY(overlap_time(t, pencil, mo, plan_type(mo, ko), columns, &step));
        WISP_TRY(wisp_bounds_plan(&bounds, t->ctx, &plan->about.matrix, &bo, &step));
    }
    time->bounds = bounds.seconds;
    const double points = points_of(t, (double)plan_moments(ko));
    const double curves = (double)(average_count(t) * vectors * run_sides(ko));
    if (of_green(t)) time->evaluation = green_seconds(t, plan_moments(ko), curves, points);
    /* Where bounds are looked for, each realization is made once for these, and once more for its moments. */
    const double runs = (double)average_count(t), made = t->opt.average && bounds.sweeps > 0 ? 2 * runs : runs;
    time->source *= made, time->assembly *= made, time->bounds *= runs, time->moments *= runs;
    time->total = time->source + time->assembly + time->bounds + time->moments + time->evaluation;
out:
    return status;
}

/* ---- both, shown --------------------------------------------------------------------------------- */

static int show_json(tool *t, const run_plan *p, const wisp_kpm_opts *ko, const run_time *time)
{
    const wisp_mat_info *a = &p->about.matrix;
    const bool known = time->known;
    json_t *o = JSON_PUT(
        json_head(t, t->opt.arg[0]), J("device", wisp_ctx_device(t->ctx)), J("rows", a->rows),
        J("nnz", p->most.matrix.nnz), J("type", wisp_type_name(a->type)), J("C", a->C), J("sigma", a->sigma),
        J("format", text_format(a->format)), J_IF(t->opt.overlap, "overlap", pencil_json(t, p->files.pencil)),
        J("source_bytes", p->source), J("matrix_bytes", a->bytes), J("blocks_bytes", p->about.blocks),
        J("total_bytes", p->about.total), J_IF(!p->moments_unknown, "bound_bytes", p->most.total),
        J_MAYBE(t->opt.average, "realizations", t->opt.average), J("checkpoint_bytes", copy_bytes(t, a, a->type, ko)),
        J_IF(known, "total_seconds", time->total), J_IF(known, "start_seconds", time->source),
        J_IF(known, "assemble_seconds", time->assembly), J_IF(known, "bounds_seconds", time->bounds),
        J_IF(known, "seconds", time->moments), J_MAYBE(known && of_green(t), "evaluate_seconds", time->evaluation),
        J_IF(known, "load_gbs", time->load_gbs), J_IF(known, "ceilings", time->kept ? "kept" : "now"),
        J_IF(known, "limit", time->limit));
    if (t->opt.cool) JSON_PUT(o, J("cool_sweeps", json_null())); /* they hang on energies that it meets */
    plan_sides_json(o, &p->about.sides, &p->most.sides);
    return json_print_new(t, o);
}

static void show_memory(const tool *t, const run_plan *p, const wisp_kpm_opts *ko)
{
    const wisp_mat_info *a = &p->about.matrix;
    char b[4][TEXT], shape[TEXT];
    snprintf(shape, sizeof shape, "%sSELL-%d-%lld", a->format == WISP_FORMAT_HERMITIAN ? "half of " : "", a->C,
             (long long)a->sigma);
    text_line("matrix", "%s", t->opt.arg[0]);
    average_plan(t);
    text_line("rows", "%s   nonzeros at most %s   %s", text_count(b[0], a->rows), text_count(b[1], p->most.matrix.nnz),
              wisp_type_name(a->type));
    pencil_summary(t, p->files.pencil);
    if (p->files.reading >= 1000000)
        text_line("input", "%s while it is read, %s while the matrix is assembled",
                  text_bytes(b[0], (double)p->files.reading), text_bytes(b[1], (double)p->source));
    text_line("storage", "about %s, %s   (at most %s)", text_bytes(b[0], (double)a->bytes),
              a->format == WISP_FORMAT_COMPRESSED ? "compressed" : shape,
              text_bytes_up(b[1], (double)p->most.matrix.bytes));
    if (p->moments_unknown) { /* nor is there a bound then */
        text_line("vectors", "about %s, and the moments, whose number follows from the bounds",
                  text_bytes(b[0], (double)p->about.blocks));
        text_line("total", "about %s at once, and the moments", text_bytes(b[0], (double)p->about.total));
        return;
    }
    text_line("vectors", "about %s   (at most %s)", text_bytes(b[0], (double)p->about.blocks),
              text_bytes_up(b[1], (double)p->most.blocks));
    text_line("total", "about %s at once   (at most %s)", text_bytes(b[0], (double)p->about.total),
              text_bytes_up(b[1], (double)p->most.total));
    plan_sides_show(&p->about.sides, &p->most.sides);
    if (t->opt.checkpoint) checkpoint_plan(copy_bytes(t, a, a->type, ko));
    if (p->may_be_double) text_line("", "at most: in double precision, should single not be enough");
}

static void show_time(const tool *t, const run_time *time)
{
    char b[6][TEXT];
    text_line("time", "about %s   (start %s, assembly %s, bounds %s, moments %s%s%s)", text_seconds(b[0], time->total),
              text_seconds(b[1], time->source), text_seconds(b[2], time->assembly), text_seconds(b[3], time->bounds),
              text_seconds(b[4], time->moments), of_green(t) ? ", evaluation " : "",
              of_green(t) ? text_seconds(b[5], time->evaluation) : "");
    text_line("", "by the model, limit %s, at a load bandwidth of %.1f GB/s %s", time->limit, time->load_gbs,
              time->kept ? "kept by wisp machine" : "of now");
}

int plan_show(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p)
{
    run_time time = {0};
    int rc = plan_estimate(t, src, mo, ko, p);
    if (rc) return rc;
    const wisp_status status = p->moments_unknown ? WISP_OK : find_time(t, src, mo, ko, p, &time);
    if ((rc = plan_time_check(t, status))) return rc;
    time.known = status == WISP_OK && !p->moments_unknown;
    run_plan shown = *p;
    plan_sides sides[2] = {p->about.sides, p->most.sides};
    if ((rc = plan_sides_of_fullest(t, sides, sides + 1))) return rc;
    if ((rc = plan_of_most(t, p->about.total, &shown, sizeof shown))) return rc;
    shown.about.sides = sides[0], shown.most.sides = sides[1];
    monitor_clear(&t->monitor);
    if (t->opt.json) return show_json(t, &shown, ko, &time);
    show_memory(t, &shown, ko);
    if (time.known) show_time(t, &time);
    if (t->opt.cool)
        text_line("cooling", "beside that; its sweeps hang on energies that it meets, and are not known before");
    plan_time_missing(status);
    return EXIT_FINE;
}
