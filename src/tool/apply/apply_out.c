/* The results of wisp apply: the vectors, JSON, a summary. */
#include "apply.h"
#include "../out/out.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>

static const char *start_name(const tool *t) { return t->opt.start ? t->opt.start : "random"; }

/* The largest of all columns, over the norm of y. */
static double worst_off(const apply_run *r)
{
    double worst = 0;
    for (int j = 0; j < r->width; j++)
        if (r->norm[j] > 0) worst = fmax(worst, apply_off(r, j) / r->norm[r->width + j]);
    return worst;
}

static json_t *make_json(tool *t, const apply_run *r)
{
    const wisp_expansion *e = &r->e;
    json_t *o = json_head(t, t->opt.arg[0]), *off = json_array();
    char name[TEXT];
    for (int j = 0; j < r->width; j++) json_array_append_new(off, json_number(apply_off(r, j)));
    JSON_PUT(o, J("rows", r->info.rows), J("nnz", r->info.nnz), J("type", wisp_type_name(r->type)),
             J("width", r->width), J("start", start_name(t)), J_IF(!t->opt.start, "seed", json_seed(t->opt.seed)),
             J("function", apply_function(t, name)), J("bounds", json_bounds(&e->bounds, r->method)),
             J_IF(t->opt.hermitian_part, "hermitian_change", t->hermitian_change), J("terms", e->terms),
             J("sweeps", e->sweeps), J("depth", e->depth),
             J("cache_budget", r->opts.cache_budget ? json_integer((json_int_t)r->opts.cache_budget) : json_null()),
             J("series_error", e->error), J("rounding", e->rounding), J("largest", r->largest));
    json_run(o, t, &r->info, &(like_run){.width = r->width, .depth = (int)e->depth});
    JSON_PUT(o, J("seconds", e->seconds), J("gflops", gflops(e->flops, e->seconds)),
             J("bounds_seconds", r->bounds_seconds), J("assemble_seconds", r->assemble_seconds),
             J("total_seconds", r->total_seconds), J("start_norms", json_numbers(r->norm, r->width)),
             J("norms", json_numbers(r->norm + r->width, r->width)), J("off", json_incref(off)));
    json_decref(off);
    return o;
}

/* The first columns and the last ones. */
static void show_columns(const apply_run *r)
{
    enum { ENDS = 8 };
    char a[TEXT];
    text_line("column", "%-14s %-14s %s", "norm of x", "norm of y", "off by at most");
    for (int j = 0; j < r->width; j++) {
        if (j == ENDS && r->width > 2 * ENDS) {
            text_line("...", "%s", "...");
            j = r->width - ENDS;
        }
        snprintf(a, sizeof a, "%d", j);
        text_line(a, "%-14.8g %-14.8g %.2g", r->norm[j], r->norm[r->width + j], apply_off(r, j));
    }
}

static void summary(tool *t, const apply_run *r)
{
    enum { FEW_DIGITS = 1000 };
    const wisp_expansion *e = &r->e;
    char a[5][TEXT];
    text_matrix(t->opt.arg[0], r->info.rows, r->info.nnz, "");
    source_summary(t);
    text_line("start", "%s, %d vector%s, %s", start_name(t), r->width, r->width == 1 ? "" : "s",
              wisp_type_name(r->type));
    text_bounds(&e->bounds, r->method);
    text_line("function", "%s, at most %.4g on the bounds", apply_function(t, a[0]), r->largest);
    text_line("series", "%s terms, error %.1e of the largest, rounding %.1e", text_count(a[0], e->terms), e->error,
              e->rounding);
    snprintf(a[0], TEXT, "%lld step%s at a time", (long long)e->depth, e->depth == 1 ? "" : "s");
    text_run(t, &r->info, a[0]);
    weights_summary(t, &r->info);
    checkpoint_summary(t);
    text_line("time", "%s   (assembly %s, bounds %s, %s sweeps %s)", text_seconds(a[0], r->total_seconds),
              text_seconds(a[1], r->assemble_seconds), text_seconds(a[2], r->bounds_seconds),
              text_count(a[3], e->sweeps), text_seconds(a[4], e->seconds));
    text_rate(e->flops, e->seconds);
    show_columns(r);
    if (worst_off(r) * FEW_DIGITS > 1)
        text_line("note", "that is a large part of y, for f is far larger on the bounds than where x lives: a smaller "
                          "--tolerance, or closer --bounds, leaves more digits");
}

int apply_write(tool *t, const apply_run *r)
{
    int rc = EXIT_FINE;
    json_t *object = t->opt.json || t->opt.output ? make_json(t, r) : NULL;
    monitor_clear(&t->monitor);
    const bool shows = !t->opt.json && !t->opt.quiet;
    if (shows) summary(t, r);
    if (t->opt.output) rc = columns_save(t, r->v, object, t->opt.output);
    if (t->opt.output && shows && !rc) text_line("vectors", "%s", t->opt.output);
    const int json_rc = outputs_write(t, object, NULL, NULL, r);
    return rc ? rc : json_rc;
}
