/* The results of wisp eig: JSON, a summary, vectors as a file. */
#include "eig.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>
#include <string.h>

const char *eig_question(char *buf, const eig_results *r)
{
    const wisp_eig_opts *o = &r->opts;
    const char *s = o->count == 1 ? "" : "s", *size = r->hermitian ? "" : " absolute value";
    char n[TEXT];
    text_count(n, o->count);
    if (eig_singular(r) && o->which == WISP_EIG_INTERVAL)
        snprintf(buf, TEXT_BAR, "all singular values in [%.9g, %.9g]", o->low, o->high);
    else if (eig_singular(r))
        snprintf(buf, TEXT_BAR, "%s %s singular value%s", n, eig_question_names[o->which], s);
    if (eig_singular(r)) return buf;
    switch (o->which) {
    case WISP_EIG_INTERVAL: snprintf(buf, TEXT_BAR, "all eigenvalues in [%.9g, %.9g]", o->low, o->high); break;
    case WISP_EIG_NEAREST:
        snprintf(buf, TEXT_BAR,
                 o->target_im != 0 ? "%s eigenvalue%s nearest to %.9g%+.9gi" : "%s eigenvalue%s nearest to %.9g", n, s,
                 o->target, o->target_im);
        break;
    case WISP_EIG_LARGEST_REAL: snprintf(buf, TEXT_BAR, "%s eigenvalue%s of largest real part", n, s); break;
    default:
        snprintf(buf, TEXT_BAR, "%s %s eigenvalue%s%s%s", n, eig_question_names[o->which], s, *size ? ", by" : "",
                 size);
    }
    return buf;
}

const char *eig_expected(char *buf, double expected, double error)
{
    if (!isfinite(expected))
        snprintf(buf, TEXT_BAR, "an unknown number of");
    else if (error > 0)
        text_with_bar(buf, "+-", expected, expected - error, expected + error, 0);
    else
        text_states(buf, expected);
    return buf;
}

static double rate_of(const wisp_eigen *e) { return e->flops > 0 ? gflops(e->flops, e->seconds) : NAN; }

static double largest_residual(const wisp_eigen *e)
{
    double most = e->found ? 0 : NAN;
    for (int i = 0; i < e->found; i++) most = fmax(most, e->residual[i]);
    return most;
}

double eig_tolerance(const eig_results *r)
{
    if (r->opts.tolerance_abs > 0) return r->opts.tolerance_abs;
    return r->opts.tolerance > 0 ? r->opts.tolerance : type_is_single(r->type) ? 1e-4 : 1e-8;
}

void eig_matrix(const tool *t, const eig_results *r, wisp_type type)
{
    char a[3][TEXT];
    if (!eig_singular(r)) {
        text_matrix(t->opt.arg[0], r->info.rows, r->info.nnz, wisp_type_name(type));
        return;
    }
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   columns %s   nonzeros %s   %s", text_count(a[0], r->sides[0]),
              text_count(a[1], r->sides[1]), text_count(a[2], eig_nonzeros(r)), wisp_type_name(type));
}

/* ---- JSON ------------------------------------------------------------------------------------- */

/* Complex numbers as pairs, if the matrix is not Hermitian. */
static json_t *eigenvalues_json(const eig_results *r)
{
    json_t *all = json_array();
    for (int i = 0; all && i < r->e.found; i++) {
        const wisp_scalar v = r->e.value[i];
        json_array_append_new(all, r->hermitian ? json_number(v.re) : json_numbers((double[]){v.re, v.im}, 2));
    }
    return all;
}

static json_t *target_json(const wisp_eig_opts *o)
{
    return o->target_im != 0 ? json_numbers((double[]){o->target, o->target_im}, 2) : json_number(o->target);
}

/* Of wisp_eig_proof. */
static const char *const proofs[] = {NULL, "checks", "inertia", "all"};

static json_t *make_json(tool *t, const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    const wisp_eig_opts *q = &r->opts;
    const bool all = q->which == WISP_EIG_INTERVAL, window = e->low < e->high;
    json_t *o =
        json_head(t, t->opt.arg[0]); /* also without it all ranks go on: what follows has a call of all of them */
    JSON_PUT(o, J_IF(t->opt.overlap, "overlap", pencil_json(t, &r->pencil)), J("vectors_in", t->opt.vectors_in),
             J("vectors_out", e->found ? t->opt.vectors_out : NULL),
             J_MAYBE(eig_singular(r), "left_out", e->found ? t->opt.left_out : NULL),
             J_MAYBE(eig_singular(r), "right_out", e->found ? t->opt.right_out : NULL),
             J("complete", json_boolean(e->complete)), J("proof", proofs[e->proof]),
             J("status", r->status ? wisp_status_string(r->status) : "complete"), J_IF(r->status, "why", r->why),
             J("which", eig_question_names[q->which]), J_IF(!all, "count", q->count), J("any", json_boolean(q->any)),
             J_IF(q->which == WISP_EIG_NEAREST, "target", target_json(q)),
             J_IF(window || all, "interval",
                  json_numbers((double[]){window ? e->low : q->low, window ? e->high : q->high}, 2)),
             J("tolerance", eig_tolerance(r)), J_IF(r->pencil.unit > 0, "residual_unit", r->pencil.unit),
             J("tolerance_absolute", json_boolean(q->tolerance_abs > 0)), J("method", eig_method_names[e->method]),
             J("found", e->found), J("at_least", e->at_least), J("expected_count", e->expected),
             J("expected_error", e->expected_error), J("orthogonality", e->orthogonality),
             J("search_vectors", e->search), J("block", e->block), J("rounds", e->rounds), J("degree", e->degree),
             J_IF(e->factored, "factored", e->factored),
             J("filter_type", e->filter_type ? wisp_type_name(e->filter_type) : NULL), J("products", e->products),
             J_IF(e->bounds.halfwidth > 0, "bounds",
                  JSON_NEW(J("center", e->bounds.center), J("halfwidth", e->bounds.halfwidth))),
             J_IF(!eig_singular(r), "hermitian", json_boolean(r->hermitian)),
             J("hermitian_change", t->hermitian_change), J("seed", json_seed(q->seed)), J("rows", eig_rows(r)),
             J_MAYBE(eig_singular(r), "cols", r->sides[1]), J("nnz", eig_nonzeros(r)),
             J("type", wisp_type_name(r->type)));
    json_run(o, t, &r->info,
             &(like_run){.row_bytes = e->row_bytes,
                         .bytes = q->bytes,
                         .method = e->factored ? eig_method_names[WISP_EIG_INVERT] : NULL});
    return JSON_PUT(o, J("seconds", e->seconds), J("bounds_seconds", e->bounds_seconds),
                    J("dos_seconds", e->dos_seconds), J("filter_seconds", e->filter_seconds),
                    J("ortho_seconds", e->ortho_seconds), J("ritz_seconds", e->ritz_seconds),
                    J("check_seconds", e->check_seconds), J("assemble_seconds", r->assemble_seconds),
                    J("gflops", rate_of(e)),
                    J(eig_singular(r) ? "singular_values" : "eigenvalues", eigenvalues_json(r)),
                    J("residuals", json_numbers(e->residual, e->found)),
                    J_IF(e->condition, "conditions", json_numbers(e->condition, e->found)),
                    J("sensitive", e->sensitive), J("balanced", e->balanced));
}

/* ---- summary ----------------------------------------------------------------------------------- */

const char *eig_round_word(const wisp_eigen *e) { return e->filter.terms > 0 ? "round" : "restart"; }

/* Parts that took any time, four to a line. */
static void show_times(const tool *t, const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    const struct {
        const char *name;
        double seconds;
    } part[] = {{"bounds", e->bounds_seconds},
                {"density of states", e->dos_seconds},
                {e->filter.terms > 0            ? "filter"
                 : e->method == WISP_EIG_INVERT ? "factors and products"
                                                : "products",
                 e->filter_seconds},
                {"orthogonalisation", e->ortho_seconds},
                {"Rayleigh-Ritz", e->ritz_seconds},
                {"check", e->check_seconds}};
    char a[TEXT], line[4 * TEXT];
    snprintf(line, sizeof line, "assembly %s", text_seconds(a, r->assemble_seconds));
    text_line("time", "%s", text_seconds(a, r->assemble_seconds + e->seconds));
    int n = 1;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        if (!(part[i].seconds > 0)) continue;
        if (n++ % 4 == 0) {
            text_line("", "%s,", line);
            *line = '\0';
        }
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, "%s%s %s", used ? ", " : "", part[i].name,
                 text_seconds(a, part[i].seconds));
    }
    text_line("", "%s", line);
    if (isfinite(rate_of(e)))
        text_line("rate", "%.3g Gflop/s, %s products with a vector%s", rate_of(e), text_count(a, e->products),
                  t->opt.overlap ? ", of S^-1/2 A S^-1/2" : "");
}

/* Values that small residuals do not make right. */
static void show_sensitive(const wisp_eigen *e)
{
    double most = 1;
    char n[TEXT], all[TEXT];
    for (int i = 0; i < e->found; i++) most = fmax(most, e->condition[i]);
    text_line("", "%s of %s values may be off by far more than this: an error of the matrix counts up to %.0e times",
              text_count(n, e->sensitive), text_count(all, e->found), most);
}

static bool lies_outside(const eig_results *r)
{
    const wisp_bounds *b = &r->e.bounds;
    return r->opts.which == WISP_EIG_INTERVAL && b->halfwidth > 0 &&
           (r->opts.high < b->center - b->halfwidth || r->opts.low > b->center + b->halfwidth);
}

static void show_found(const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    char n[TEXT], wanted[TEXT_BAR], of_rounding[80];
    text_count(n, e->found);
    if (lies_outside(r))
        text_line("found", "%s   (the interval lies outside the spectrum, which is within [%.6g, %.6g])", n,
                  e->bounds.center - e->bounds.halfwidth, e->bounds.center + e->bounds.halfwidth);
    else if (isfinite(e->expected))
        text_line("found", "%s   (%s expected in [%.6g, %.6g])", n,
                  eig_expected(wanted, e->expected, e->expected_error), e->low, e->high);
    else if (r->opts.which == WISP_EIG_INTERVAL)
        text_line("found", "%s", n);
    else if (e->found <= r->opts.count)
        text_line("found", "%s of %s", n, text_count(wanted, r->opts.count));
    else
        text_line("found", "%s   (%s asked for; what equals the last one%s is given, too)", n,
                  text_count(wanted, r->opts.count), r->hermitian ? "" : " or its conjugate");
    if (e->found) {
        snprintf(of_rounding, sizeof of_rounding, " of %.2g, for rounding leaves no less", r->pencil.unit);
        text_line("residual", "at most %.2e, wanted %.1e%s", largest_residual(e), eig_tolerance(r),
                  r->opts.tolerance_abs > 0 ? ""
                  : eig_singular(r)         ? " of the largest singular value"
                  : r->pencil.unit > 0      ? of_rounding
                  : r->hermitian            ? " of the spectrum's halfwidth"
                                            : " of the eigenvalue, or of |A| times that");
        if (e->sensitive) show_sensitive(e);
        if (isfinite(e->orthogonality)) text_line("", "vectors orthonormal to %.1e", e->orthogonality);
    }
    const char *by = e->proof == WISP_PROOF_INERTIA ? ", by inertia" : "";
    if (e->complete && e->at_least > e->found)
        text_line("result", "complete%s: %s of %s%s; none that clearly lies before these is missing", by, n,
                  e->method == WISP_EIG_DENSE ? "" : "at least ", text_count(wanted, e->at_least));
    else
        text_line("result", "%s%s%s%s", e->complete ? "complete" : "not complete", by, r->status ? ": " : "", r->why);
}

/* All of a few eigenvalues, else the first and the last ones. */
static void show_table(const eig_results *r)
{
    enum { MOST = 20 };
    const wisp_eigen *e = &r->e;
    char n[TEXT];
    if (!e->found) return;
    text_line(eig_singular(r) ? "value" : "eigenvalue", "%22s   residual", "");
    for (int i = 0; i < e->found; i++) {
        if (e->found > MOST && i == MOST / 2) {
            text_line("...", "%22s", "...");
            i = e->found - MOST / 2;
        }
        text_count(n, i + 1);
        if (r->hermitian)
            text_line(n, "%22.15g   %.1e", e->value[i].re, e->residual[i]);
        else
            text_line(n, "%22.15g %+.15gi   %.1e", e->value[i].re, e->value[i].im, e->residual[i]);
    }
}

void eig_summary(const tool *t, const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    char a[TEXT], q[TEXT_BAR];
    eig_matrix(t, r, r->type);
    source_summary(t);
    text_line("question", "%s", eig_question(q, r));
    pencil_summary(t, &r->pencil);
    const bool squared = eig_singular(r) && e->method == WISP_LANCZOS && r->opts.which == WISP_EIG_SMALLEST;
    text_line("method", "%s%s, %s search vectors%s%s", eig_method_names[e->method], squared ? " of A^H A" : "",
              text_count(a, e->search), t->opt.vectors_in ? ", start " : "",
              t->opt.vectors_in ? t->opt.vectors_in : "");
    if (e->factored)
        text_line("", "%d factorizations%s", e->factored,
                  r->opts.method == WISP_EIG_DEFAULT && r->hermitian
                      ? ", which take less than a filter (--method chebfd)"
                      : "");
    if (e->degree)
        text_line("", "degree %s%s%s, %d %s%s", text_count(a, e->degree), e->filter_type ? " in " : "",
                  e->filter_type ? wisp_type_name(e->filter_type) : "", e->rounds, eig_round_word(e),
                  e->rounds == 1 ? "" : "s");
    else if (e->rounds)
        text_line("", "%d %s%s", e->rounds, eig_round_word(e), e->rounds == 1 ? "" : "s");
    if (e->balanced) text_line("", "balanced: of D^-1 A D, powers of two from 1 to 2^-%d in D", e->balanced);
    text_run(t, &r->info, "");
    weights_summary(t, &r->info);
    checkpoint_summary(t);
    show_times(t, r);
    show_found(r);
    show_table(r);
}

/* ---- files ------------------------------------------------------------------------------------- */

static int write_vectors(tool *t, const eig_results *r, const json_t *object)
{
    const struct {
        const char *path, *what;
        int64_t first, rows;
    } part[] = {{t->opt.vectors_out, "vectors", 0, r->info.rows},
                {t->opt.left_out, "left", 0, r->sides[0]},
                {t->opt.right_out, "right", r->sides[0], r->sides[1]}};
    int rc = EXIT_FINE;
    for (int i = 0; i < 3 && !(rc && tool_is_stopped(t)); i++) {
        if (!part[i].path) continue;
        const int one = columns_save_rows(t, r->e.vectors, part[i].first, part[i].rows, object, part[i].path);
        if (!one && !t->opt.json && !t->opt.quiet) text_line(part[i].what, "%s", part[i].path);
        if (one) rc = one;
    }
    return rc;
}

/* There are no `what`, or there is none. */
static void say_none(tool *t, const eig_results *r, const char *what)
{
    char line[80];
    snprintf(line, sizeof line, "no %s, for no %s was found", what, eig_singular(r) ? "singular value" : "eigenvalue");
    if (!t->opt.json && !t->opt.quiet)
        text_line(what, "none%s", strchr(line, ','));
    else
        monitor_log(&t->monitor, WISP_LOG_INFO, line);
}

int eig_write(tool *t, const eig_results *r)
{
    int vectors_rc = EXIT_FINE;
    const bool any = r->e.found > 0;
    const bool written = t->opt.vectors_out || t->opt.left_out || t->opt.right_out;
    json_t *object = t->opt.json || written ? make_json(t, r) : NULL;
    if (written && !any && !r->status) say_none(t, r, "vectors");
    if (written && any) vectors_rc = write_vectors(t, r, object);
    const bool drawn = any || r->e.moments;
    if (t->opt.plot && !drawn && !r->status) say_none(t, r, "plot");
    const int rc = outputs_write(t, object, NULL, drawn ? eig_script : NULL, r);
    return vectors_rc ? vectors_rc : rc;
}
