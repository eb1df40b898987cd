/* wisp power: v_k = (S A)^k v_0, timed, checked, and written. */
#include "power.h"
#include "../machine/machine.h"
#include "../out/out.h"
#include "../out/text.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_options(tool *t)
{
    const options *o = &t->opt;
    if (!option_seen(o, "powers")) return tool_usage(t, "-p N is missing; see wisp power --help");
    if (o->all && !o->output) return tool_usage(t, "--all needs -o FILE");
    if (o->start && o->width) return tool_usage(t, "--width and --start exclude each other: the file has the vectors");
    return EXIT_FINE;
}

static wisp_blk *block(const powers *p, int64_t i) { return p->v[(i + 1) % p->stored]; }

/* v_0, from a source that is open, if it is given. */
static int set_start(tool *t, powers *p, const wisp_src *start)
{
    if (t->opt.start) return start_from_file(t, block(p, 0), start, t->opt.start);
    if (wisp_blk_fill_random(block(p, 0), WISP_RANDOM_GAUSS, t->opt.seed, STREAM_START, 0)) return tool_fail_ctx(t);
    return start_normalise(t, block(p, 0));
}

/* The files; what is asked of the matrix, and of the blocks. */
static int open_files(tool *t, powers *p, wisp_src *src, wisp_src *start, wisp_mat_opts *mo)
{
    int64_t before, now;
    if (wisp_src_open(src, t->ctx, t->opt.arg[0])) return tool_fail_ctx(t);
    wisp_ctx_memory(t->ctx, &before, NULL);
    int rc = source_square(t, src, "powers need a square matrix");
    if (!rc && t->opt.start) rc = start_open(t, start, t->opt.start, "start", src->rows);
    wisp_ctx_memory(t->ctx, &now, &p->reading);
    p->start_bytes = now - before;
    p->width = t->opt.start ? (int)start->cols : t->opt.width ? (int)t->opt.width : 1;
    p->keeps = t->opt.start && file_reads_once(t->opt.start);
    *mo = source_options(&t->opt, tool_type(&t->opt, src->type), p->width);
    p->type = mo->type;
    if (start->row && wisp_type_is_complex(start->type)) p->type = type_in(mo->type, WISP_Z);
    return rc ? rc : machine_cache(t, t->opt.budgets[0], &p->cache_budget);
}

static int make_blocks(tool *t, powers *p)
{
    wisp_map *map = wisp_mat_map(p->A);
    if (wisp_alloc(t->ctx, &p->v, (size_t)p->stored, sizeof(wisp_blk *))) return tool_fail_ctx(t);
    for (int i = t->opt.all ? 1 : 0; i < p->stored; i++) /* with all of them v_-1 is not needed */
        if (wisp_blk_create(&p->v[i], t->ctx, map, p->type, p->width)) return tool_fail_ctx(t);
    return EXIT_FINE;
}

/* The matrix, the blocks, and v_0; or the plan alone, and then p->A stays NULL. */
static int open_all(tool *t, powers *p)
{
    wisp_src src = {0}, start = {0};
    wisp_mat_opts mo;
    const double begin = wisp_now();
    int rc = open_files(t, p, &src, &start, &mo);
    if (!rc && t->opt.plan) rc = power_plan_show(t, p, &src, &mo);
    if (!rc) rc = power_plan_check(t, p, &src, &mo);
    if (!rc && !t->opt.plan && wisp_mat_create(&p->A, t->ctx, &src, &mo)) rc = tool_fail_ctx(t);
    wisp_src_close(&src);
    p->assemble_seconds = wisp_now() - begin;
    if (!rc && p->A) {
        wisp_mat_get_info(p->A, &p->info);
        like_matrix(t, &p->info, p->width);
        rc = make_blocks(t, p);
        if (!rc) rc = set_start(t, p, &start);
        if (!rc && p->keeps &&
            (wisp_blk_create(&p->kept, t->ctx, wisp_mat_map(p->A), p->type, p->width) ||
             wisp_copy(p->kept, block(p, 0))))
            rc = tool_fail_ctx(t);
    }
    wisp_src_close(&start);
    return rc;
}

enum { AGAIN = -1 }; /* no exit status: all steps again, one by one */

/* Whether squares of numbers of this size, of all rows, stay in the type's range with all their digits. */
static bool has_squares(const powers *p, double norm)
{
    const double rows = (double)(p->info.rows > 0 ? p->info.rows : 1);
    const double least =
        rows * (type_is_single(p->type) ? (double)FLT_MIN / (double)FLT_EPSILON : DBL_MIN / DBL_EPSILON);
    const double most = type_is_single(p->type) ? (double)FLT_MAX : DBL_MAX;
    return norm >= sqrt(least) && norm <= sqrt(most);
}

/* Whether v_k is too small for the type: its norm is, and so is the most that the largest entry makes of the norm
   before. A norm of 0 where that would not be too small is a true 0. */
static bool underflows(const powers *p, double norm, double before)
{
    const double least = type_is_single(p->type) ? (double)FLT_MIN : DBL_MIN;
    if (norm == 0 && p->largest == 0) return false; /* the matrix is 0 */
    return (norm > 0 || before > 0) && fmax(norm, fabs(p->scale) * p->largest * before) < least;
}

/* Whether A v_k-1 does before --scale multiplies it, which brings no digits back. */
static bool product_underflows(const powers *p, double norm, double before)
{
    const double least = type_is_single(p->type) ? (double)FLT_MIN : DBL_MIN;
    if (norm == 0 && p->largest == 0) return false;
    return before > 0 && (norm > 0 ? norm / fabs(p->scale) : p->largest * before) < least;
}

/* Norms of v_k that wisp_norm has computed, of numbers of any size. */
static int check_size(tool *t, const powers *p, int64_t k)
{
    for (int j = 0; j < p->width; j++) {
        const double *norm = p->norm + k * p->width + j, before = k > 0 ? norm[-p->width] : 0;
        const bool small = underflows(p, *norm, before);
        if (k > 0 && isfinite(*norm) && !small && product_underflows(p, *norm, before))
            return tool_fail(t,
                             "A v_%lld underflows in %s before it is scaled: multiply the numbers of the matrix or of "
                             "the start",
                             (long long)k - 1, wisp_type_name(p->type));
        if (isfinite(*norm) && !small) continue;
        if (k == 0 && small)
            return tool_fail(t, "%s: the numbers of column %d (counted from 0) are too small for %s: multiply them",
                             t->opt.start, j, wisp_type_name(p->type));
        if (k < 2)
            return tool_fail(t,
                             small ? "v_%lld underflows in %s: --scale makes the matrix's numbers larger"
                                   : "v_%lld is not finite in %s: look for NaN or very large numbers in the matrix "
                                     "and the start",
                             (long long)k, wisp_type_name(p->type));
        const double growth = before / norm[-2 * p->width];
        return tool_fail(t, "v_%lld %s in %s: the norm %s about %.3g times a step; --scale %.2g keeps it where it is",
                         (long long)k, small ? "underflows" : "overflows", wisp_type_name(p->type),
                         small ? "falls" : "grows", small ? 1 / growth : growth, p->scale / growth);
    }
    return EXIT_FINE;
}

/* Norms of v_k, from squares. Columns of zeros stay so. */
static int check_squares(const powers *p, int64_t k)
{
    for (int j = 0; j < p->width; j++) {
        const double *norm = p->norm + k * p->width + j;
        if (!has_squares(p, *norm) && !(*norm == 0 && (k == 0 || norm[-p->width] == 0))) return AGAIN;
        if (k > 0 && product_underflows(p, *norm, norm[-p->width])) return AGAIN;
    }
    return EXIT_FINE;
}

/* Steps k .. k + count - 1. */
static int some_steps(tool *t, powers *p, int64_t k, int count)
{
    wisp_scalar *dot = p->work + POWER_AT_ONCE;
    int depth = 1;
    const wisp_mpk_opts o = {.steps = count,
                             .alpha = p->scale != 1 ? p->work : NULL,
                             .terms = WISP_DOT_XX | WISP_DOT_YY,
                             .dot = dot,
                             .depth = (int)t->opt.depth,
                             .cache_budget = p->cache_budget,
                             .depth_used = &depth};
    wisp_blk *turned[2] = {block(p, k - 1), block(p, k)};
    wisp_status status = t->opt.all ? wisp_mpk(p->v + k, count + 2, p->A, &o) : wisp_mpk(turned, 2, p->A, &o);
    if (status) return tool_fail_ctx(t);
    if (depth > p->depth) p->depth = depth; /* the last steps may be fewer */
    int rc = EXIT_FINE;
    for (int i = 0; i <= count && !rc && p->one_by_one; i++) {
        if ((k == 0 || i > 0) && wisp_norm(block(p, k + i), p->norm + (k + i) * p->width)) return tool_fail_ctx(t);
        rc = check_size(t, p, k + i);
    }
    for (int i = 0; i <= count && !rc && !p->one_by_one; i++) {
        const wisp_scalar *d = i < count ? dot + 3 * i * p->width : dot + (3 * (count - 1) + 2) * p->width;
        for (int j = 0; j < p->width; j++) p->norm[(k + i) * p->width + j] = sqrt(d[j].re);
        rc = check_squares(p, k + i);
    }
    return rc;
}

static int all_steps(tool *t, powers *p)
{
    const int at_once = p->one_by_one ? 1 : POWER_AT_ONCE;
    wisp_cost cost;
    if (wisp_spmmv_cost(p->A, p->type, p->width, p->scale != 1 ? WISP_SCALE : 0, &cost)) return tool_fail_ctx(t);
    const double begin = wisp_now();
    p->flops = 0;
    for (int64_t k = 0; k < p->n; k += at_once) {
        const int count = p->n - k < at_once ? (int)(p->n - k) : at_once;
        if (tool_step(t, "powers", (double)k / (double)p->n, p->flops)) return tool_fail_ctx(t);
        int rc = some_steps(t, p, k, count);
        if (rc) return rc;
        p->flops += cost.flops * count;
    }
    if (wisp_ctx_finish(t->ctx)) return tool_fail_ctx(t);
    p->seconds = wisp_now() - begin;
    return EXIT_FINE;
}

/* Where squares leave the range of the type, though norms may not, or v_k is 0. */
static int run_one_by_one(tool *t, powers *p)
{
    wisp_mat_props props;
    wisp_src start = {0};
    wisp_ctx_logf(t->ctx, WISP_LOG_PERF, "squares leave the range of %s: one step at a time", wisp_type_name(p->type));
    if (wisp_mat_get_props(p->A, &props)) return tool_fail_ctx(t);
    p->largest = props.largest;
    p->one_by_one = true;
    p->depth = 1;
    if (p->kept) return wisp_copy(block(p, 0), p->kept) ? tool_fail_ctx(t) : all_steps(t, p);
    int rc = t->opt.start ? start_open(t, &start, t->opt.start, "start", p->info.rows) : EXIT_FINE;
    if (!rc) rc = set_start(t, p, &start);
    wisp_src_close(&start);
    return rc ? rc : all_steps(t, p);
}

static int run(tool *t, powers *p)
{
    if (wisp_alloc(t->ctx, &p->norm, (size_t)((p->n + 1) * p->width), sizeof *p->norm) ||
        wisp_alloc(t->ctx, &p->work, (size_t)(POWER_AT_ONCE + 3 * POWER_AT_ONCE * p->width), sizeof *p->work))
        return tool_fail_ctx(t);
    for (int i = 0; i < POWER_AT_ONCE; i++) p->work[i] = (wisp_scalar){p->scale, 0};
    if (t->opt.start && wisp_norm(block(p, 0), p->norm)) return tool_fail_ctx(t);
    int rc = EXIT_FINE;
    for (int j = 0; t->opt.start && j < p->width; j++)
        if (p->norm[j] > 0 && !has_squares(p, p->norm[j])) rc = AGAIN;
    if (!rc) rc = all_steps(t, p);
    return rc == AGAIN ? run_one_by_one(t, p) : rc;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int write_vectors(tool *t, const powers *p)
{
    columns c = {0};
    const int64_t blocks = t->opt.all ? p->n + 1 : 1, first = t->opt.all ? 0 : p->n;
    int rc = columns_make(t, &c, block(p, first), blocks);
    for (int64_t b = 0; b < blocks && !rc; b++) rc = columns_take(t, &c, b, block(p, first + b));
    if (!rc) rc = columns_write(t, &c, t->opt.output);
    columns_free(&c);
    return rc;
}

static json_t *result_json(tool *t, const powers *p)
{
    json_t *norms = json_array();
    int64_t held, there, limit;
    wisp_ctx_memory(t->ctx, NULL, &held);
    wisp_ctx_device_memory(t->ctx, NULL, &there, &limit);
    for (int64_t k = 0; k <= p->n; k++) json_array_append_new(norms, json_numbers(p->norm + k * p->width, p->width));
    return JSON_PUT(json_head(t, t->opt.arg[0]), J("start", t->opt.start ? t->opt.start : "random"),
                    J("seed", json_seed(t->opt.seed)), J("rows", p->info.rows), J("nnz", p->info.nnz),
                    J("type", wisp_type_name(p->type)), J("powers", p->n), J("width", p->width), J("depth", p->depth),
                    J("cache_budget", machine_counted(t, p->cache_budget)), J("scale", p->scale),
                    J("order", text_order(p->info.order)), J("format", text_format(p->info.format)),
                    J("threads", wisp_ctx_threads(t->ctx)), J("device", wisp_ctx_device(t->ctx)),
                    J("isa", wisp_ctx_isa(t->ctx)), J("memory_bytes", held),
                    J_MAYBE(limit > 0, "device_memory_bytes", there),
                    J("chosen", like_json(t, &p->info, &(like_run){.width = p->width, .depth = p->depth})),
                    J("assemble_seconds", p->assemble_seconds), J("seconds", p->seconds),
                    J("gflops", gflops(p->flops, p->seconds)), J("norms", norms));
}

/* The first powers and the last ones. */
static void show(const tool *t, const powers *p)
{
    enum { ENDS = 8 };
    char a[TEXT], b[TEXT];
    text_matrix(t->opt.arg[0], p->info.rows, p->info.nnz, "");
    text_line("start", "%s, %d vector%s, %s", t->opt.start ? t->opt.start : "random", p->width,
              p->width == 1 ? "" : "s", wisp_type_name(p->type));
    snprintf(a, sizeof a, "%d step%s at a time", p->depth, p->depth == 1 ? "" : "s");
    text_run(t, &p->info, a);
    text_line("time", "%.3g ms a power   (assembly %s, all powers %s, %.3g Gflop/s)", p->seconds / (double)p->n * 1e3,
              text_seconds(a, p->assemble_seconds), text_seconds(b, p->seconds), gflops(p->flops, p->seconds));
    text_line("power", "norm%s", p->width > 1 ? " of vector 0, and largest of all" : "");
    for (int64_t k = 0; k <= p->n; k++) {
        if (k == ENDS && p->n > 2 * ENDS) {
            puts("...");
            k = p->n - ENDS + 1;
        }
        const double *norm = p->norm + k * p->width;
        double largest = 0;
        for (int j = 0; j < p->width; j++) largest = fmax(largest, norm[j]);
        snprintf(a, sizeof a, "%lld", (long long)k);
        if (p->width > 1)
            text_line(a, "%-12.6g %.6g", norm[0], largest);
        else
            text_line(a, "%.6g", norm[0]);
    }
}

int cmd_power(tool *t)
{
    powers p = {.n = t->opt.powers, .depth = 1, .scale = option_seen(&t->opt, "scale") ? t->opt.scale : 1};
    p.stored = t->opt.all ? (int)p.n + 2 : 2;
    int rc = check_options(t), write_rc = EXIT_FINE;
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    rc = open_all(t, &p);
    if (rc || !p.A) goto out;
    rc = run(t, &p);
    if (!rc && t->opt.output) write_rc = write_vectors(t, &p);
    if (write_rc && tool_is_stopped(t)) rc = write_rc; /* which is said already */
    monitor_clear(&t->monitor);
    if (!rc && t->opt.json) {
        rc = json_print_new(t, result_json(t, &p));
    } else if (!rc && !t->opt.quiet) {
        show(t, &p);
        if (t->opt.output && !write_rc) text_line("written", "%s", t->opt.output);
    }
    if (!rc) rc = write_rc;
out:
    for (int i = 0; p.v && i < p.stored; i++) wisp_blk_free(p.v[i]);
    wisp_free(t->ctx, p.v);
    wisp_blk_free(p.kept);
    wisp_free(t->ctx, p.norm);
    wisp_free(t->ctx, p.work);
    wisp_mat_free(p.A);
    return rc;
}
