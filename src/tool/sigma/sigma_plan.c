/* The cost of wisp sigma before it starts: memory, sweeps, and the work of products of vectors. */
#include "sigma.h"
#include "../out/text.h"

typedef struct {
    const sigma_sources *s;
    const sigma_results *r;
    wisp_plan *run; /* becomes that of the moments; NULL: not asked for */
} asked;

static int64_t vectors_of(const sigma_results *r, int64_t rows)
{
    return r->kubo.trace == WISP_TRACE_EXACT ? rows : sigma_random(r);
}

/* What is held at most when the matrices have gone: moments, those of a file, series, integrand (of --optical for each
   frequency), values and text. */
static int64_t evaluation_bytes(const tool *t, const sigma_results *r, int64_t rows)
{
    enum { FILE_HEAD = 64 << 10, OF_VALUE = 6 };
    const double n = (double)sigma_moments(r),
                 one = r->kubo.trace == WISP_TRACE_EXACT ? 1 : (double)vectors_of(r, rows);
    const double kept = t->opt.average ? (double)t->opt.average : one;
    const double points = r->eval.points ? (double)r->eval.points : 8 * n;
    const double count = (double)sigma_count(&t->opt), cells = r->optical ? points * count : points;
    const double sums = r->optical ? wisp_ctx_threads(t->ctx) * n : 8 * n;
    const double image = t->opt.save ? FILE_HEAD + 16 * kept * (n * n + 1) : 0;
    return wisp_whole_number(16 * kept * n * n + 8 * (n + sums + cells + count * (kept + OF_VALUE)) + image + 4096);
}

static wisp_status plan_of(tool *t, const wisp_src *src, const wisp_mat_opts *mo, bool most, wisp_mat_info *info)
{
    return most ? wisp_mat_bound(t->ctx, src, mo, info) : wisp_mat_plan(t->ctx, src, mo, info);
}

/* The copy of a checkpoint: moments so far. */
static int64_t copy_bytes(const tool *t, const sigma_results *r, int64_t rows)
{
    enum { HEAD = 64 << 10 };
    const double n = (double)sigma_moments(r),
                 lines = r->kubo.trace == WISP_TRACE_EXACT ? 2 : (double)vectors_of(r, rows);
    return t->opt.checkpoint ? wisp_whole_number(16 * lines * n * n) + HEAD : 0;
}

/* The storage is that of the matrix and of the velocities; one after the other is made beside all sources. */
static int find_of(tool *t, const asked *in, bool most, plan_bytes *b)
{
    const sigma_sources *s = in->s;
    const bool two = s->b.row || s->b.many;
    wisp_mat_info *a = &b->matrix, V_a, V_b = {0};
    wisp_plan run;
    int64_t source;
    wisp_ctx_memory(t->ctx, &source, NULL);
    if (plan_of(t, &s->h, &s->h_opts, most, a) || plan_of(t, &s->a, &s->a_opts, most, &V_a) ||
        (two && plan_of(t, &s->b, &s->b_opts, most, &V_b)) ||
        wisp_kubo_plan(&run, t->ctx, a, &V_a, two ? &V_b : &V_a, &in->r->kubo))
        return tool_fail_ctx(t);
    if (in->run) *in->run = run;
    const double lines = in->r->kubo.trace == WISP_TRACE_EXACT ? 1 : (double)vectors_of(in->r, a->rows);
    const double means = (double)t->opt.average; /* of realizations, beside the moments of one */
    const int64_t of_means =
        wisp_whole_number(16 * means * (double)sigma_moments(in->r) * (double)sigma_moments(in->r));
    const int64_t own =
        wisp_whole_number(16 * lines * (double)sigma_moments(in->r) * (double)sigma_moments(in->r)) + of_means;
    const int64_t first = a->bytes, both = first + V_a.bytes, all = both + V_b.bytes;
    b->vectors = (most ? run.bytes_most : run.bytes) + of_means + copy_bytes(t, in->r, a->rows) + WISP_PLAN_LITTLE;
    enum { HELD = 1, PARTS = HELD + 5 };
    const int64_t parts[PARTS] = {all + b->vectors,
                                  in->r->reading,
                                  source + a->assembly_bytes,
                                  source + first + V_a.assembly_bytes,
                                  two ? source + both + V_b.assembly_bytes : 0,
                                  evaluation_bytes(t, in->r, a->rows)};
    a->bytes = all;
    b->total = plan_total(t, &(plan_held){all, b->vectors, own, parts, HELD, PARTS}, most, &b->sides);
    return EXIT_FINE;
}

/* At most: with left vectors in double precision, should single not be enough. */
static int find_bytes(tool *t, const void *arg, bool most, plan_bytes *b)
{
    const asked *in = arg;
    sigma_results other = *in->r;
    plan_bytes again;
    int rc = find_of(t, in, most, b);
    if (rc || !most || !in->r->tries) return rc;
    other.kubo.left_type = WISP_DEFAULT;
    rc = find_of(t, &(asked){in->s, &other, NULL}, most, &again);
    if (!rc && again.total > b->total) *b = again;
    return rc;
}

int sigma_plan_check(tool *t, const sigma_sources *s, const sigma_results *r)
{
    return plan_check(t, find_bytes, &(asked){s, r, NULL}, "a smaller --left-bytes or --precision single takes less");
}

/* What products of vectors take: each of M left vectors with each of M right ones. */
static double work_of(const sigma_results *r, wisp_type type, int64_t rows)
{
    const double n = (double)sigma_moments(r);
    return (wisp_type_is_complex(type) ? 8 : 2) * n * n * (double)rows * (double)vectors_of(r, rows);
}

/* That of the vectors: of the widest of the three. */
wisp_type sigma_vectors(const sigma_sources *s)
{
    const bool is_complex = wisp_type_is_complex(s->h_opts.type) || wisp_type_is_complex(s->a_opts.type) ||
                            wisp_type_is_complex(s->b_opts.type);
    const bool single =
        type_is_single(s->h_opts.type) && type_is_single(s->a_opts.type) && type_is_single(s->b_opts.type);
    return type_in(single ? WISP_S : WISP_D, is_complex ? WISP_Z : WISP_D);
}

int sigma_plan_show(tool *t, const sigma_sources *s, const sigma_results *r)
{
    plan_bytes about, most;
    plan_time time = {0};
    wisp_plan run;
    const wisp_type type = sigma_vectors(s);
    const double runs = (double)average_count(t), work = runs * work_of(r, type, s->h.rows);
    char b[TEXT];
    int rc = plan_find(t, find_bytes, &(asked){s, r, &run}, &about, &most);
    if (rc) return rc;
    run.sweeps *= runs, run.products *= runs;
    const int width = r->kubo.width > 0 ? r->kubo.width : 16;
    const int64_t moments = sigma_moments(r);
    const sigma_time_of of = {.type = type,
                              .width = width < moments ? width : (int)moments,
                              .rows = s->h.rows,
                              .moments = moments,
                              .vectors = runs * (double)vectors_of(r, s->h.rows),
                              .sweeps = run.sweeps};
    const wisp_status status = sigma_time(t, s, &of, &time);
    if ((rc = plan_time_check(t, status))) return rc;
    monitor_clear(&t->monitor);
    if (t->opt.json) {
        json_t *o = JSON_PUT(plan_json(t, type, &about, &most), J_MAYBE(t->opt.average, "realizations", t->opt.average),
                             J("vectors", vectors_of(r, s->h.rows)), J("moments", sigma_moments(r)),
                             J("products", (json_int_t)run.products), J("sweeps", (json_int_t)run.sweeps),
                             J("flops", work), J("checkpoint_bytes", copy_bytes(t, r, s->h.rows)));
        plan_time_json(o, &time);
        return json_print_new(t, o);
    }
    plan_bytes_show(t, type, width, &about, &most);
    text_line("", "storage: of the matrix and the velocities; vectors: with the moments");
    average_plan(t);
    if (r->tries) text_line("", "left vectors in single precision; at most: in double, should that not be enough");
    text_line("sweeps", "about %s", text_count(b, (int64_t)run.sweeps));
    text_line("work", "about %.3g Tflop in products of vectors", work * 1e-12);
    if (t->opt.checkpoint) checkpoint_plan(copy_bytes(t, r, s->h.rows));
    if (time.known) plan_time_show(&time, "moments");
    plan_time_missing(status);
    return EXIT_FINE;
}
