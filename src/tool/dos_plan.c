/* What a run of dos, ldos or count takes: memory, and time by the model of the bench. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------------------------------- */

enum { LANCZOS_WIDTH = 4, LANCZOS_STEPS = 64 }; /* of the bounds: docs/conventions.md */

/* The source goes when the matrix stands; the blocks come after that. */
int plan_make(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p)
{
    *p = (run_plan){.moments_unknown = t->opt.resolution > 0 && !ko->moments};
    wisp_ctx_memory(t->ctx, &p->source, NULL);
    if (wisp_mat_plan(t->ctx, src, mo, &p->matrix)) return tool_fail_ctx(t);
    p->spill = p->matrix.spill_bytes * (mo->width > LANCZOS_WIDTH ? mo->width : LANCZOS_WIDTH);
    p->blocks = wisp_kpm_plan(p->matrix.rows, p->matrix.type, ko) + p->spill;
    const int64_t before = p->matrix.assembly_bytes + p->source, after = p->matrix.bytes + p->blocks;
    p->total = before > after ? before : after;
    return EXIT_FINE;
}

int plan_check_limit(tool *t, const run_plan *p)
{
    char a[TEXT], b[TEXT], c[TEXT], d[TEXT];
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (machine > 0 && (double)p->total > machine && !t->opt.plan)
        return tool_fail(t,
                         "the run would take %s (matrix %s, vectors %s), and this machine has %s; a smaller --width or "
                         "--precision single takes less (--plan shows how much)",
                         text_bytes(a, (double)p->total), text_bytes(b, (double)p->matrix.bytes),
                         text_bytes(c, (double)p->blocks), text_bytes(d, machine));
    if (!t->opt.mem_limit || p->total <= t->opt.mem_limit) return EXIT_FINE;
    return tool_fail(t, "the run would take %s (matrix %s, vectors %s), more than --mem-limit %s",
                     text_bytes(a, (double)p->total), text_bytes(b, (double)p->matrix.bytes),
                     text_bytes(c, (double)p->blocks), text_bytes(d, (double)t->opt.mem_limit));
}

/* ---- time ---------------------------------------------------------------------------------------- */

typedef struct {
    bool kept;                                       /* ceilings of an earlier `wisp machine`, not those of now */
    double load_gbs;                                 /* of them */
    double source, assembly, bounds, moments, total; /* seconds */
    const char *limit;                               /* of the moments */
} run_time;

/* What was kept; else the load bandwidth alone, of now. */
static wisp_status find_ceilings(tool *t, wisp_machine *m, run_time *time)
{
    enum { TIMES = 5 };
    double gbs[TIMES];
    wisp_status status = WISP_OK;
    time->kept = machine_kept(t, m);
    for (int i = 0; !time->kept && i < TIMES; i++) WISP_TRY(wisp_load_bandwidth(t->ctx, &gbs[i]));
    if (!time->kept) {
        m->gbs[WISP_LOAD][WISP_MEMORY][1] = bench_quartiles_of(gbs, TIMES).median;
        m->fma_gflops[0][1] = m->fma_gflops[1][1] = INFINITY;
    }
    time->load_gbs = m->gbs[WISP_LOAD][WISP_MEMORY][1];
out:
    return status;
}

/* Seconds of one step of this width by the model. The kernel's own speed is measured on a small piece of the matrix. */
static wisp_status step_seconds(tool *t, const wisp_machine *m, const wisp_src *src, const wisp_mat_opts *mo,
                                const run_plan *plan, int width, bench_variant variant, bench_prediction *found)
{
    /* A center and halfwidth with which vectors stay bounded, whatever the matrix is. */
    const bench_runner like = {.what = {.op = BENCH_KPM,
                                        .variant = variant,
                                        .type = mo->type,
                                        .width = width,
                                        .powers = 1,
                                        .order = mo->order,
                                        .format = mo->format},
                               .halfwidth = 1e100};
    const bool is_double = mo->type == WISP_D || mo->type == WISP_Z;
    bench_piece piece = {0};
    wisp_status status = bench_piece_open(&piece, &like, t->ctx, src, bench_piece_bytes(m));
    bench_limits limits = {.load_gbs = m->gbs[WISP_LOAD][WISP_MEMORY][1], .fma_gflops = m->fma_gflops[is_double][1]};
    if (status == WISP_OK) status = bench_piece_time(&piece, &limits.core_seconds);
    if (status == WISP_OK) {
        bench_runner whole = bench_piece_whole(&piece);
        whole.info = plan->matrix;
        limits.cache_gbs = bench_cache_gbs(m, whole.working_bytes);
        *found = bench_predict(&whole, &limits);
    }
    bench_piece_close(&piece);
    return status;
}

/* Assembly and the look at all entries, from those of a part of the matrix. */
static wisp_status assembly_seconds(tool *t, const wisp_src *src, const wisp_mat_opts *mo, double *seconds)
{
    enum { ROWS = 200000 };
    wisp_mat *A = NULL;
    wisp_mat_props props;
    wisp_src part = *src;
    wisp_status status = WISP_OK;
    *seconds = 0;
    if (src->rows == 0) return WISP_OK;
    const double start = tool_now();
    if (part.rows > ROWS) part.rows = ROWS; /* of all columns: no longer square */
    wisp_mat_opts plain = *mo;
    plain.order = WISP_ROWS_NATURAL;
    plain.format = WISP_FORMAT_SELL;
    WISP_TRY(wisp_mat_create(&A, t->ctx, &part, &plain));
    WISP_TRY(wisp_mat_get_props(A, &props));
    *seconds = (tool_now() - start) * (double)src->rows / (double)part.rows;
out:
    wisp_mat_free(A);
    return status;
}

/* The parts of a run, as wisp_kpm goes through them. */
static wisp_status find_time(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko,
                             const run_plan *plan, run_time *time)
{
    enum { PASSES = 5 }; /* bounds: over the block, beside the sweep */
    wisp_machine m;
    bench_prediction step, lanczos = {0, NULL};
    wisp_status status = WISP_OK;
    time->source = tool_now() - t->started;
    WISP_TRY(find_ceilings(t, &m, time));
    WISP_TRY(assembly_seconds(t, src, mo, &time->assembly));
    const int64_t vectors = ko->trace == WISP_TRACE_EXACT ? src->rows : ko->vectors ? ko->vectors : 32;
    const int64_t width = mo->width < vectors ? mo->width : vectors;
    const double moments = (double)(ko->moments ? ko->moments : 512), sweeps = floor(moments / 2);
    const bench_variant variant = ko->variant == WISP_KPM_NAIVE ? VARIANT_NAIVE : VARIANT_BLOCKED;
    WISP_TRY(step_seconds(t, &m, src, mo, plan, width > 0 ? (int)width : 1, variant, &step));
    time->moments = sweeps * ceil((double)vectors / (double)(width > 0 ? width : 1)) * step.seconds;
    time->limit = step.limit;
    if (ko->bounds_method == WISP_BOUNDS_LANCZOS) {
        WISP_TRY(step_seconds(t, &m, src, mo, plan, LANCZOS_WIDTH, VARIANT_BLOCKED, &lanczos));
        const double block = (double)src->rows * LANCZOS_WIDTH * (double)wisp_type_size(mo->type);
        time->bounds = LANCZOS_STEPS * (lanczos.seconds + 1e-9 * PASSES * block / time->load_gbs);
    }
    time->total = time->source + time->assembly + time->bounds + time->moments;
out:
    return status;
}

/* ---- both, shown --------------------------------------------------------------------------------- */

static int show_json(tool *t, const run_plan *p, const run_time *time)
{
    const wisp_mat_info *a = &p->matrix;
    json_t *o =
        json_pack("{s:o, s:o, s:I, s:I, s:s, s:i, s:I, s:I, s:I, s:I, s:I}", "command", json_words(t->command_line),
                  "matrix", json_words(t->opt.arg[0]), "rows", (json_int_t)a->rows, "nnz", (json_int_t)a->nnz, "type",
                  wisp_type_name(a->type), "C", a->C, "sigma", (json_int_t)a->sigma, "source_bytes",
                  (json_int_t)p->source, "matrix_bytes", (json_int_t)a->bytes, "blocks_bytes", (json_int_t)p->blocks,
                  "total_bytes", (json_int_t)p->total);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"total_seconds", time->total},
                   {"assemble_seconds", time->assembly},
                   {"bounds_seconds", time->bounds},
                   {"seconds", time->moments},
                   {"load_gbs", time->load_gbs}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        json_object_set_new(o, numbers[i].key, p->moments_unknown ? json_null() : json_number(numbers[i].value));
    json_object_set_new(o, "ceilings", p->moments_unknown ? json_null() : json_string(time->kept ? "kept" : "now"));
    json_object_set_new(o, "limit", p->moments_unknown ? json_null() : json_string(time->limit));
    int rc = json_print(t, o);
    json_decref(o);
    return rc;
}

static void show_text(const tool *t, const run_plan *p, const run_time *time)
{
    const wisp_mat_info *a = &p->matrix;
    char b[4][TEXT];
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   nonzeros at most %s   %s", text_count(b[0], a->rows), text_count(b[1], a->nnz),
              wisp_type_name(a->type));
    if (p->source >= 1000000)
        text_line("input", "%s while the matrix is assembled", text_bytes(b[0], (double)p->source));
    text_line("storage", "%s as %sSELL-%d-%lld", text_bytes(b[0], (double)a->bytes),
              a->format == WISP_FORMAT_HERMITIAN ? "half of " : "", a->C, (long long)a->sigma);
    text_line("vectors", "%s%s", text_bytes(b[0], (double)p->blocks),
              p->moments_unknown ? "   (and the moments, whose number follows from the bounds)" : "");
    text_line("total", "%s at most at once", text_bytes(b[0], (double)p->total));
    if (p->moments_unknown) return;
    text_line("time", "about %s   (assembly %s, bounds %s, moments %s)", text_seconds(b[0], time->total),
              text_seconds(b[1], time->assembly), text_seconds(b[2], time->bounds), text_seconds(b[3], time->moments));
    text_line("", "by the model, limit %s, at a load bandwidth of %.1f GB/s %s", time->limit, time->load_gbs,
              time->kept ? "kept by wisp machine" : "of now");
}

int plan_show(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, const run_plan *p)
{
    run_time time = {0};
    if (!p->moments_unknown && find_time(t, src, mo, ko, p, &time)) return tool_fail_ctx(t);
    monitor_clear(&t->monitor);
    if (t->opt.json) return show_json(t, p, &time);
    show_text(t, p, &time);
    return EXIT_FINE;
}
