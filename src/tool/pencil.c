/* A x = lambda S x by C = S^-1/2 A S^-1/2, which has the same eigenvalues. What the user gets, x = S^-1/2 y, is checked
   with A and S themselves, so that no error of S^-1/2 hides. */
#include "pencil.h"
#include "out/text.h"
#include "plan.h"
#include "weights.h"
#include <float.h>
#include <math.h>
#include <string.h>

int pencil_check(tool *t)
{
    const options *o = &t->opt;
    if (option_seen(o, "overlap-bounds") && !o->overlap) return tool_usage(t, "--overlap-bounds goes with --overlap");
    if (!o->overlap) return EXIT_FINE;
    if ((o->checkpoint || o->resume) && t->cmd->bit == CMD_EIG)
        return tool_usage(t, "--overlap has no state to go on from, for --checkpoint and --resume");
    if (o->partition) return tool_usage(t, "--overlap and --partition exclude each other");
    if (option_seen(o, "overlap-bounds") && !(o->overlap_bounds[0] > 0 && o->overlap_bounds[1] < INFINITY))
        return tool_usage(t, "--overlap-bounds %g,%g: both must be above 0 and finite", o->overlap_bounds[0],
                          o->overlap_bounds[1]);
    return EXIT_FINE;
}

int pencil_open(tool *t, pencil *p, int64_t rows)
{
    const char *name = t->opt.overlap;
    if (!name) return EXIT_FINE;
    if (wisp_src_open(&p->src, t->ctx, name)) return tool_fail_ctx(t);
    const int rc = source_fits(t, &p->src, "overlap", name, rows);
    if (rc) return rc;
    if ((t->opt.checkpoint || t->opt.resume) && wisp_src_hash(t->ctx, &p->src, &p->hash)) return tool_fail_ctx(t);
    return weights_deal(t, &p->src);
}

wisp_status pencil_items(const pencil *p, wisp_state *s)
{
    const bool other = !p->C && wisp_state_is_kept(s) && wisp_state_words(s, "--overlap");
    if (other) return wisp_state_samef(s, "--overlap", "none");
    if (!p->C) return WISP_OK;
    return wisp_state_samef(s, "--overlap", "%016llx", (unsigned long long)p->hash);
}

/* In A's precision. */
wisp_mat_opts pencil_options(const pencil *p, wisp_type A, int width)
{
    return (wisp_mat_opts){.type = type_in(A, p->src.type), .width = width};
}

static int make_matrix(tool *t, pencil *p, const wisp_mat *A, int width)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    wisp_mat_opts mo = pencil_options(p, info.type, width);
    mo.map = wisp_mat_map(A);
    plan_need need;
    if (wisp_mat_bound(t->ctx, &p->src, &mo, &info)) return tool_fail_ctx(t);
    int rc = plan_needed(t, info.assembly_bytes, &need);
    if (rc) return rc;
    if (need.bytes > need.limit) {
        char text[2][TEXT];
        return tool_fail(t, "--overlap %s would take %s, and %s are left; --mem-limit BYTES allows more",
                         t->opt.overlap, text_bytes(text[0], (double)need.bytes),
                         text_bytes(text[1], (double)need.limit));
    }
    if (wisp_mat_create(&p->S, t->ctx, &p->src, &mo)) return tool_fail_ctx(t);
    wisp_src_close(&p->src);
    wisp_mat_get_info(p->S, &info);
    p->bytes = info.bytes;
    return EXIT_FINE;
}

static const char call[] = "overlap: ";

/* S is meant by "the matrix". */
static int fail_of_overlap(tool *t)
{
    const char *why = tool_message(t);
    if (tool_is_stopped(t)) return tool_fail_ctx(t);
    if (!strncmp(why, call, strlen(call))) why += strlen(call);
    return tool_fail(t, "--overlap %s: %s", t->opt.overlap, why);
}

int pencil_fail(tool *t, const pencil *p, wisp_status status)
{
    const bool of_S = p->overlap && (status == WISP_ERR_BOUNDS || status == WISP_ERR_CALLBACK);
    wisp_overlap_info now = {0};
    if (of_S) wisp_overlap_get_info(p->overlap, &now);
    if (now.beyond == 0 || tool_is_stopped(t)) return tool_fail_matrix(t, status);
    return tool_fail(
        t,
        "--overlap %s: S has eigenvalues beyond the bounds %.10g to %.10g; take wider --overlap-bounds, or "
        "none, so that they are found",
        t->opt.overlap, now.bounds.center - now.bounds.halfwidth, now.bounds.center + now.bounds.halfwidth);
}

/* Whether the run takes no S^-1/2. */
static bool is_by_factors(const tool *t) { return t->cmd->bit == CMD_EIG && t->opt.method == WISP_EIG_INVERT; }

/* S^-1/2. */
static int make_root(tool *t, pencil *p)
{
    wisp_overlap_opts o = {.bounds.seed = t->opt.seed, .later = is_by_factors(t)};
    if (option_seen(&t->opt, "overlap-bounds")) {
        const double low = t->opt.overlap_bounds[0], high = t->opt.overlap_bounds[1];
        o.bounds.method = WISP_BOUNDS_GIVEN;
        o.bounds.given = (wisp_bounds){low / 2 + high / 2, high / 2 - low / 2, NAN};
    }
    if (wisp_overlap_create(&p->overlap, p->S, &o)) return fail_of_overlap(t);
    wisp_overlap_get_info(p->overlap, &p->info);
    return EXIT_FINE;
}

/* Whether it is A that can't be taken, and not what becomes of it with S. */
static bool is_of_A(const wisp_mat *A, wisp_status status)
{
    wisp_mat_props props;
    if (status != WISP_ERR_NUMERIC) return status == WISP_ERR_HERMITIAN;
    return wisp_mat_get_props(A, &props) == WISP_OK && props.nonfinite_row >= 0;
}

int pencil_make(tool *t, pencil *p, const wisp_mat *A, int width, wisp_mat_info *info)
{
    if (!t->opt.overlap) return EXIT_FINE;
    int rc = make_matrix(t, p, A, width);
    if (!rc) rc = make_root(t, p);
    if (rc) return rc;
    const wisp_status status = wisp_overlap_matrix(&p->C, p->overlap, A);
    if (status) return is_of_A(A, status) ? tool_fail_matrix(t, status) : fail_of_overlap(t);
    wisp_mat_info c;
    p->A = A;
    wisp_mat_get_info(p->C, &c);
    info->bytes += p->bytes;
    info->type = c.type;
    return EXIT_FINE;
}

int pencil_measure(tool *t, pencil *p, wisp_type A, int width)
{
    if (!t->opt.overlap) return EXIT_FINE;
    const wisp_mat_opts mo = pencil_options(p, A, width);
    const int rc = wisp_mat_create(&p->S, t->ctx, &p->src, &mo) ? tool_fail_ctx(t) : make_root(t, p);
    wisp_mat_info info;
    wisp_mat_get_info(p->S, &info);
    p->bytes = info.bytes;
    wisp_overlap_free(p->overlap);
    wisp_mat_free(p->S);
    p->overlap = NULL, p->S = NULL;
    return rc;
}

/* Those between, and one that the operator keeps beside the result. */
int64_t pencil_blocks(const pencil *p, int64_t columns, int64_t column_bytes)
{
    enum { BLOCKS = 4 };
    return p->C ? BLOCKS * columns * column_bytes : 0;
}

/* The vectors, and two blocks like them; then panels of residuals, and their products. */
int64_t pencil_finish_bytes(const pencil *p, double columns, int64_t column_bytes)
{
    enum { PANEL = 8, PANELS = 5, BLOCKS = 3 };
    return p->C ? wisp_whole_number((BLOCKS * columns + PANELS * PANEL) * (double)column_bytes) : 0;
}

/* y = S^1/2 x = S S^-1/2 x. */
int pencil_start(tool *t, const pencil *p, wisp_blk *x)
{
    wisp_blk *root = NULL;
    wisp_status status = WISP_OK;
    if (!p->C || !x || is_by_factors(t)) return EXIT_FINE;
    WISP_TRY(wisp_blk_create(&root, t->ctx, wisp_blk_map(x), wisp_blk_type(x), wisp_blk_width(x)));
    WISP_TRY(wisp_overlap_apply(p->overlap, root, x));
    status = wisp_spmmv(x, p->S, root, NULL);
out:
    wisp_blk_free(root);
    return status ? pencil_fail(t, p, status) : EXIT_FINE;
}

/* With p = S^-1/2 + e, |e| at most the error over the root of the lowest value of S, p A p - C is 2 |e| |A p|, but for
   squares, and |A p| no more than |C| times the root of the highest. */
double pencil_error(const pencil *p, const wisp_bounds *C)
{
    return 2 * (p->info.error + p->info.rounding) * sqrt(p->info.condition) * (C->halfwidth + fabs(C->center));
}

int pencil_finish(tool *t, pencil *p, const wisp_mat *A, wisp_eigen *e, double tolerance, bool absolute)
{
    if (p->C) wisp_overlap_get_info(p->overlap, &p->info);
    if (!p->C || !e->vectors || e->of_pencil) return EXIT_FINE;
    wisp_status status = wisp_overlap_apply(p->overlap, e->vectors, e->vectors);
    if (status == WISP_OK)
        status = wisp_overlap_residuals(p->overlap, A, e->value, e->vectors, e->residual, &e->orthogonality);
    if (status != WISP_OK) return pencil_fail(t, p, status);
    const wisp_bounds *c = &e->bounds;
    const double unit = absolute ? 1
                                 : wisp_overlap_unit(p->overlap, wisp_blk_type(e->vectors), c->halfwidth,
                                                     c->halfwidth + fabs(c->center), tolerance);
    p->unit = absolute || unit <= c->halfwidth ? 0 : unit;
    for (int i = 0; i < e->found; i++) e->residual[i] /= unit;
    return EXIT_FINE;
}

json_t *pencil_json(const tool *t, const pencil *p)
{
    const wisp_overlap_info *i = &p->info;
    const double chance = i->bounds.failure_probability;
    const wisp_bounds_method how = isnan(chance) ? WISP_BOUNDS_GIVEN
                                   : chance > 0  ? WISP_BOUNDS_LANCZOS
                                                 : WISP_BOUNDS_GERSHGORIN;
    return JSON_NEW(J("file", t->opt.overlap), J_IF(i->terms, "bounds", json_bounds(&i->bounds, how)),
                    J("terms", i->terms), J("error", i->error), J_IF(i->condition > 0, "condition", i->condition),
                    J("bytes", p->bytes));
}

void pencil_summary(const tool *t, const pencil *p)
{
    const wisp_bounds *b = &p->info.bounds;
    char n[TEXT];
    if (!t->opt.overlap) return;
    if (p->info.terms == 0) {
        if (p->info.condition > 0) snprintf(n, sizeof n, ", of a condition of about %.2g", p->info.condition);
        text_line("overlap", "A x = lambda S x, S %s%s, by its factors", t->opt.overlap,
                  p->info.condition > 0 ? n : "");
        return;
    }
    text_line("overlap", "A x = lambda S x, S %s, whose eigenvalues lie in [%.3g, %.3g]", t->opt.overlap,
              b->center - b->halfwidth, b->center + b->halfwidth);
    text_line("", "%s products with S beside each one with A", text_count(n, 2 * (p->info.terms - 1)));
}

void pencil_close(pencil *p)
{
    wisp_src_close(&p->src);
    wisp_mat_free(p->C);
    wisp_overlap_free(p->overlap);
    wisp_mat_free(p->S);
    p->C = p->S = NULL, p->overlap = NULL;
}
