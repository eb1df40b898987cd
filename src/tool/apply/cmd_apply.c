/* wisp apply: y = f(A) x of a Hermitian matrix, by a Chebyshev series of f. */
#include "apply.h"
#include "../function.h"
#include "../machine/machine.h"
#include "../out/out.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>

static int check_options(tool *t)
{
    const options *o = &t->opt;
    if (!option_seen(o, "function") && !o->series)
        return tool_usage(
            t, "wisp apply needs --function log, inverse, sqrt, .., or --series FILE; see wisp apply --help");
    if (option_seen(o, "function") && o->series) return tool_usage(t, "--function and --series exclude each other");
    if (o->series && o->bounds_method != WISP_BOUNDS_GIVEN)
        return tool_usage(t, "--series needs --bounds A,B, on which it is a series");
    if (o->start && o->width) return tool_usage(t, "--width and --start exclude each other: the file has the vectors");
    return EXIT_FINE;
}

/* ---- the files ------------------------------------------------------------------------------------- */

static int open_start(tool *t, apply_run *r, wisp_src *start, int64_t rows)
{
    int64_t before, now;
    if (!t->opt.start) return EXIT_FINE;
    wisp_ctx_memory(t->ctx, &before, NULL);
    int rc = tool_agree(t, start_check_pipe(t, t->opt.start));
    if (!rc) rc = start_open(t, start, t->opt.start, "start", rows);
    if (!rc) rc = weights_deal(t, start);
    if (!rc && (t->opt.checkpoint || t->opt.resume) && wisp_src_hash(t->ctx, start, &r->start)) rc = tool_fail_ctx(t);
    wisp_ctx_memory(t->ctx, &now, NULL);
    r->start_bytes = now - before;
    return rc;
}

static int set_function(tool *t, apply_run *r, const wisp_bounds *b)
{
    if (t->opt.series) return EXIT_FINE;
    r->opts.points = function_points(t, b);
    return function_check(t, b);
}

/* What is asked of the matrix, and of the vectors: complex ones, if anything is complex. */
static int open_files(tool *t, apply_run *r, wisp_src *src, wisp_src *start, wisp_mat_opts *mo)
{
    const options *o = &t->opt;
    int rc = source_open(t, src);
    if (!rc) rc = source_square(t, src, "functions of a matrix need a square one");
    if (!rc) rc = open_start(t, r, start, src->rows);
    wisp_ctx_memory(t->ctx, NULL, &r->reading);
    if (rc) return rc;
    r->width = o->start ? (int)start->cols : o->width ? (int)o->width : 1;
    *mo = source_options(o, tool_type(o, src->type), r->width);
    r->type = type_in(mo->type, wisp_type_is_complex(mo->type) || wisp_type_is_complex(start->type) ? WISP_Z : WISP_D);
    if (o->series && (rc = tool_agree(t, series_read(t, r)))) return rc;
    if (!o->series) r->f = function_of(t);
    r->method = (wisp_bounds_method)o->bounds_method;
    r->opts = (wisp_chebyshev_opts){.tolerance = o->tolerance, .depth = (int)o->depth, .bounds = bounds_options(o)};
    r->opts.bounds.seed = o->seed;
    if (r->method == WISP_BOUNDS_GIVEN && (rc = set_function(t, r, &r->opts.bounds.given))) return rc;
    return machine_cache(t, o->budgets[0], &r->opts.cache_budget);
}

static int set_start(tool *t, apply_run *r, const wisp_src *start)
{
    if (wisp_blk_create(&r->v, t->ctx, wisp_mat_map(r->A), r->type, r->width) ||
        wisp_alloc(t->ctx, &r->norm, 2 * (size_t)r->width, sizeof *r->norm))
        return tool_fail_ctx(t);
    if (t->opt.start) return start_from_file(t, r->v, start, t->opt.start);
    if (wisp_blk_fill_random(r->v, WISP_RANDOM_GAUSS, t->opt.seed, STREAM_START, 0)) return tool_fail_ctx(t);
    return start_normalise(t, r->v);
}

/* The matrix and x; or the plan alone, and then r->A stays NULL. */
static int open_all(tool *t, apply_run *r)
{
    wisp_src src = {0}, start = {0};
    wisp_mat_opts mo;
    const double begin = wisp_now();
    int rc = open_files(t, r, &src, &start, &mo);
    if (!rc && t->opt.plan) rc = apply_plan_show(t, r, &src, &mo);
    if (!rc) rc = apply_plan_check(t, r, &src, &mo);
    if (!rc && !t->opt.plan && wisp_mat_create(&r->A, t->ctx, &src, &mo)) rc = tool_fail_ctx(t);
    wisp_src_close(&src);
    if (!rc && r->A) rc = weights_by_matrix(t, r->A, r->width);
    if (!rc && r->A) {
        wisp_mat_get_info(r->A, &r->info);
        like_matrix(t, &r->info, 0);
        rc = tool_agree(t, set_start(t, r, &start));
    }
    wisp_src_close(&start);
    r->assemble_seconds = wisp_now() - begin;
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------------- */

/* Those of a kept state, for others that are found anew may differ in their last bits. */
static int find_bounds(tool *t, apply_run *r)
{
    wisp_bounds b = t->kept.layout.bounds;
    const double start = wisp_now();
    if (!t->resumed && wisp_bounds_find(&b, r->A, &r->opts.bounds)) return tool_fail_matrix(t, WISP_ERR_BOUNDS);
    r->bounds_seconds = t->resumed ? t->kept.layout.bounds_seconds : wisp_now() - start;
    t->kept.layout.bounds = b;
    t->kept.layout.bounds_seconds = r->bounds_seconds;
    r->opts.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = b};
    return set_function(t, r, &b);
}

/* Of a series its coefficients tell it: it is no larger than all of them together. */
static double largest_of(const tool *t, const apply_run *r)
{
    double all = 0;
    if (!r->c) return function_largest(t, &r->opts.bounds.given);
    for (int64_t k = 0; k < r->f.terms; k++) all += fabs(r->c[k].re);
    return all;
}

const char *apply_function(const tool *t, char *buf)
{
    if (!t->opt.series) return function_text(t, buf);
    snprintf(buf, TEXT, "series of %.50s", t->opt.series);
    return buf;
}

double apply_off(const apply_run *r, int j) { return (r->e.error + r->e.rounding) * r->largest * r->norm[j]; }

typedef struct {
    const tool *t;
    const apply_run *r;
} run_items;

/* What a kept state has to be of besides the matrix. A wisp_items_fn. */
static wisp_status items(void *arg, wisp_state *s)
{
    const run_items *i = arg;
    const options *o = &i->t->opt;
    char name[TEXT];
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "--function", "%s", apply_function(i->t, name)));
    WISP_TRY(wisp_state_samef(s, "--tolerance", "%.17g", o->tolerance));
    WISP_TRY(wisp_state_samef(s, "--seed", "%llu", (unsigned long long)o->seed));
    status = wisp_state_samef(s, "vectors of --start", "%016llx", (unsigned long long)i->r->start);
out:
    return status;
}

static int compute(tool *t, apply_run *r)
{
    run_items more = {t, r};
    int rc = find_bounds(t, r);
    if (rc) return rc;
    if (wisp_norm(r->v, r->norm)) return tool_fail_ctx(t);
    if ((rc = checkpoint_begin(t, r->A, t->opt.start ? 0 : r->width, items, &more))) return rc;
    wisp_chebyshev_opts o = r->opts;
    checkpoint_set(t, &o);
    const wisp_status status = wisp_chebyshev_apply(&r->e, &r->v, r->A, r->v, 1, &r->f, &o);
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
    if (status == WISP_ERR_CANCELLED && (checkpoint_ended(t) || t->kept.file)) return checkpoint_stopped(t);
    if (status) return tool_fail_matrix(t, status);
    if (wisp_norm(r->v, r->norm + r->width)) return tool_fail_ctx(t);
    r->largest = largest_of(t, r);
    wisp_mat_get_info(r->A, &r->info); /* with the halo's way that was found */
    return EXIT_FINE;
}

static void free_run(tool *t, apply_run *r)
{
    wisp_blk_free(r->v);
    wisp_mat_free(r->A);
    wisp_free(t->ctx, r->norm);
    wisp_free(t->ctx, r->c);
    *r = (apply_run){0};
}

int cmd_apply(tool *t)
{
    apply_run r = {0};
    int rc = check_options(t);
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    rc = open_all(t, &r);
    if (rc == EXIT_LAYOUT) { /* once more on another layout */
        free_run(t, &r);
        rc = open_all(t, &r);
    }
    if (!rc && r.A) {
        rc = compute(t, &r);
        r.total_seconds = wisp_now() - t->started;
        wisp_mat_free(r.A); /* to have its memory for the outputs */
        r.A = NULL;
        if (!rc) rc = tool_agree(t, apply_write(t, &r));
        rc = checkpoint_done(t, rc);
    }
    checkpoint_close(t);
    free_run(t, &r);
    return rc;
}
