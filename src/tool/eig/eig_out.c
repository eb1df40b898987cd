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
    switch (o->which) {
    case WISP_EIG_INTERVAL: snprintf(buf, TEXT_BAR, "all eigenvalues in [%.9g, %.9g]", o->low, o->high); break;
    case WISP_EIG_NEAREST: snprintf(buf, TEXT_BAR, "%s eigenvalue%s nearest to %.9g", n, s, o->target); break;
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

static double gflops(const wisp_eigen *e)
{
    return e->flops > 0 && e->seconds > 0 ? e->flops / e->seconds * 1e-9 : NAN;
}

static double largest_residual(const wisp_eigen *e)
{
    double most = e->found ? 0 : NAN;
    for (int i = 0; i < e->found; i++) most = fmax(most, e->residual[i]);
    return most;
}

static double tolerance_of(const eig_results *r)
{
    if (r->opts.tolerance_abs > 0) return r->opts.tolerance_abs;
    return r->opts.tolerance > 0 ? r->opts.tolerance : type_is_single(r->type) ? 1e-4 : 1e-8;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void add_run(json_t *o, tool *t, const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    json_run(o, t, &r->info);
    json_object_set_new(o, "seconds", json_number(e->seconds));
    json_object_set_new(o, "bounds_seconds", json_number(e->bounds_seconds));
    json_object_set_new(o, "dos_seconds", json_number(e->dos_seconds));
    json_object_set_new(o, "filter_seconds", json_number(e->filter_seconds));
    json_object_set_new(o, "ortho_seconds", json_number(e->ortho_seconds));
    json_object_set_new(o, "ritz_seconds", json_number(e->ritz_seconds));
    json_object_set_new(o, "check_seconds", json_number(e->check_seconds));
    json_object_set_new(o, "assemble_seconds", json_number(r->assemble_seconds));
    json_object_set_new(o, "gflops", json_number(gflops(e)));
}

static void add_question(json_t *o, const eig_results *r)
{
    const wisp_eig_opts *q = &r->opts;
    const wisp_eigen *e = &r->e;
    const double interval[2] = {e->low, e->high}, asked[2] = {q->low, q->high};
    const bool all = q->which == WISP_EIG_INTERVAL;
    json_object_set_new(o, "which", json_string(eig_question_names[q->which]));
    json_object_set_new(o, "count", all ? json_null() : json_integer(q->count));
    json_object_set_new(o, "any", json_boolean(q->any));
    json_object_set_new(o, "target", q->which == WISP_EIG_NEAREST ? json_real(q->target) : json_null());
    json_object_set_new(o, "interval",
                        e->low < e->high ? json_numbers(interval, 2)
                        : all            ? json_numbers(asked, 2)
                                         : json_null());
    json_object_set_new(o, "tolerance", json_real(tolerance_of(r)));
    json_object_set_new(o, "tolerance_absolute", json_boolean(q->tolerance_abs > 0));
}

/* Complex numbers as pairs, if the matrix is not Hermitian. */
static json_t *eigenvalues_json(const eig_results *r)
{
    json_t *all = json_array();
    for (int i = 0; all && i < r->e.found; i++) {
        const wisp_scalar v = r->e.value[i];
        json_array_append_new(all, r->hermitian ? json_real(v.re) : json_numbers((double[]){v.re, v.im}, 2));
    }
    return all;
}

static json_t *make_json(tool *t, const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    json_t *o = json_object(); /* also without it all ranks go on: what follows has a call of all of them */
    json_object_set_new(o, "version", json_string(wisp_version()));
    json_object_set_new(o, "command", json_words(t->command_line));
    json_object_set_new(o, "matrix", json_words(t->opt.arg[0]));
    json_object_set_new(o, "vectors_in", json_words(t->opt.vectors_in));
    json_object_set_new(o, "vectors_out", json_words(e->found ? t->opt.vectors_out : NULL));
    json_object_set_new(o, "complete", json_boolean(e->complete));
    json_object_set_new(o, "status", json_string(r->status ? wisp_status_string(r->status) : "complete"));
    json_object_set_new(o, "why", r->status ? json_words(r->why) : json_null());
    add_question(o, r);
    json_object_set_new(o, "method", json_string(eig_method_names[e->method]));
    json_object_set_new(o, "found", json_integer(e->found));
    json_object_set_new(o, "at_least", json_integer(e->at_least));
    json_object_set_new(o, "expected_count", json_number(e->expected));
    json_object_set_new(o, "expected_error", json_number(e->expected_error));
    json_object_set_new(o, "orthogonality", json_number(e->orthogonality));
    json_object_set_new(o, "search_vectors", json_integer(e->search));
    json_object_set_new(o, "block", json_integer(e->block));
    json_object_set_new(o, "rounds", json_integer(e->rounds));
    json_object_set_new(o, "degree", json_integer(e->degree));
    json_object_set_new(o, "filter_type", json_words(e->filter_type ? wisp_type_name(e->filter_type) : NULL));
    json_object_set_new(o, "products", json_integer(e->products));
    json_object_set_new(o, "bounds",
                        e->bounds.halfwidth > 0
                            ? json_pack("{s:f, s:f}", "center", e->bounds.center, "halfwidth", e->bounds.halfwidth)
                            : json_null());
    json_object_set_new(o, "hermitian", json_boolean(r->hermitian));
    json_object_set_new(o, "hermitian_change", json_number(t->hermitian_change));
    json_object_set_new(o, "seed", json_seed(r->opts.seed));
    json_object_set_new(o, "rows", json_integer(r->info.rows));
    json_object_set_new(o, "nnz", json_integer(r->info.nnz));
    json_object_set_new(o, "type", json_string(wisp_type_name(r->type)));
    add_run(o, t, r);
    json_object_set_new(o, "eigenvalues", eigenvalues_json(r));
    json_object_set_new(o, "residuals", json_numbers(e->residual, e->found));
    json_object_set_new(o, "conditions", e->condition ? json_numbers(e->condition, e->found) : json_null());
    json_object_set_new(o, "sensitive", json_integer(e->sensitive));
    return o;
}

/* ---- summary ----------------------------------------------------------------------------------- */

const char *eig_round_word(const wisp_eigen *e) { return e->filter.terms > 0 ? "round" : "restart"; }

/* Parts that took any time, four to a line. */
static void show_times(const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    const struct {
        const char *name;
        double seconds;
    } part[] = {{"bounds", e->bounds_seconds},
                {"density of states", e->dos_seconds},
                {e->filter.terms > 0 ? "filter" : "products", e->filter_seconds},
                {"orthogonalisation", e->ortho_seconds},
                {"Rayleigh-Ritz", e->ritz_seconds},
                {"check", e->check_seconds}};
    char a[TEXT], line[4 * TEXT];
    snprintf(line, sizeof line, "assembly %s", text_seconds(a, r->assemble_seconds));
    text_line("time", "%s", text_seconds(a, e->seconds));
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
    if (isfinite(gflops(e)))
        text_line("rate", "%.3g Gflop/s, %s products with a vector", gflops(e), text_count(a, e->products));
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

static void show_found(const eig_results *r)
{
    const wisp_eigen *e = &r->e;
    char n[TEXT], wanted[TEXT_BAR];
    text_count(n, e->found);
    if (isfinite(e->expected))
        text_line("found", "%s   (%s expected in [%.6g, %.6g])", n,
                  eig_expected(wanted, e->expected, e->expected_error), e->low, e->high);
    else if (r->opts.which == WISP_EIG_INTERVAL)
        text_line("found", "%s", n);
    else
        text_line("found", "%s of %s", n, text_count(wanted, r->opts.count));
    if (e->found) {
        text_line("residual", "at most %.2e, wanted %.1e%s", largest_residual(e), tolerance_of(r),
                  r->opts.tolerance_abs > 0 ? ""
                  : r->hermitian            ? " of the spectrum's halfwidth"
                                            : " of the eigenvalue, or of |A| times that");
        if (e->sensitive) show_sensitive(e);
        if (isfinite(e->orthogonality)) text_line("", "vectors orthonormal to %.1e", e->orthogonality);
    }
    if (e->complete && e->at_least > e->found)
        text_line("result", "complete: %s of %s%s; none that clearly lies before these is missing", n,
                  e->method == WISP_EIG_DENSE ? "" : "at least ", text_count(wanted, e->at_least));
    else
        text_line("result", "%s%s%s", e->complete ? "complete" : "not complete", r->status ? ": " : "", r->why);
}

/* All of a few eigenvalues, else the first and the last ones. */
static void show_table(const eig_results *r)
{
    enum { MOST = 20 };
    const wisp_eigen *e = &r->e;
    char n[TEXT];
    if (!e->found) return;
    text_line("eigenvalue", "%22s   residual", "");
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
    char team[TEXT];
    char a[TEXT], b[TEXT], q[TEXT_BAR];
    text_line("matrix", "%s", t->opt.arg[0]);
    text_line("rows", "%s   nonzeros %s   %s", text_count(a, r->info.rows), text_count(b, r->info.nnz),
              wisp_type_name(r->type));
    source_summary(t);
    text_line("question", "%s", eig_question(q, r));
    text_line("method", "%s, %s search vectors%s%s", eig_method_names[e->method], text_count(a, e->search),
              t->opt.vectors_in ? ", start " : "", t->opt.vectors_in ? t->opt.vectors_in : "");
    if (e->degree)
        text_line("", "degree %s%s%s, %d %s%s", text_count(a, e->degree), e->filter_type ? " in " : "",
                  e->filter_type ? wisp_type_name(e->filter_type) : "", e->rounds, eig_round_word(e),
                  e->rounds == 1 ? "" : "s");
    else if (e->rounds)
        text_line("", "%d %s%s", e->rounds, eig_round_word(e), e->rounds == 1 ? "" : "s");
    text_line("run", "%s, %s, order %s, format %s",
              text_team(team, wisp_ctx_processes(t->ctx), wisp_ctx_threads(t->ctx)), wisp_ctx_isa(t->ctx),
              text_order(r->info.order), text_format(r->info.format));
    weights_summary(t);
    checkpoint_summary(t);
    show_times(r);
    show_found(r);
    show_table(r);
}

/* ---- files ------------------------------------------------------------------------------------- */

static int write_vectors(tool *t, const eig_results *r, const json_t *object)
{
    const int rc = columns_save(t, r->e.vectors, object, t->opt.vectors_out);
    if (!rc && !t->opt.json && !t->opt.quiet) text_line("vectors", "%s", t->opt.vectors_out);
    return rc;
}

static void say_none(tool *t, const char *what, const char *no_what)
{
    if (!t->opt.json && !t->opt.quiet)
        text_line(what, "none, for no eigenvalue was found");
    else
        monitor_log(&t->monitor, WISP_LOG_INFO, no_what);
}

int eig_write(tool *t, const eig_results *r)
{
    int vectors_rc = EXIT_FINE;
    const bool any = r->e.found > 0;
    json_t *object = t->opt.json || t->opt.vectors_out ? make_json(t, r) : NULL;
    if (t->opt.vectors_out && !any && !r->status) say_none(t, "vectors", "no vectors, for no eigenvalue was found");
    if (t->opt.vectors_out && any) vectors_rc = write_vectors(t, r, object);
    const bool drawn = any || r->e.moments;
    if (t->opt.plot && !drawn && !r->status) say_none(t, "plot", "no plot, for no eigenvalue was found");
    const int rc = outputs_write(t, object, NULL, drawn ? eig_script : NULL, r);
    return vectors_rc ? vectors_rc : rc;
}
