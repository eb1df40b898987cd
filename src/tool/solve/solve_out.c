/* The results of wisp solve: JSON, a summary, x as a file, a picture. */
#include "solve.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>
#include <string.h>

static const int decades = 20; /* more than a residual falls */

static double gigabytes_per_second(const solve_results *r)
{
    const wisp_solution *s = &r->s;
    return s->bytes > 0 && s->seconds > 0 ? s->bytes * (double)s->iterations / s->seconds * 1e-9 : NAN;
}

/* The preconditioner, with its number if it has one; TEXT bytes. */
static const char *precond_text(char *buf, const solve_results *r)
{
    const wisp_precond p = r->s.precond;
    int n = p == WISP_BLOCK_JACOBI ? r->opts.block_rows : r->opts.degree;
    snprintf(buf, TEXT, "%s", precond_names[p]);
    if (p == WISP_BLOCK_JACOBI || p == WISP_CHEBYSHEV || p == WISP_NEUMANN)
        snprintf(buf, TEXT, "%s:%d", precond_names[p], n ? n : 4);
    return buf;
}

static const char *rhs_name(const tool *t) { return t->opt.rhs.text ? t->opt.rhs.text : "ones"; }

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *make_json(tool *t, const solve_results *r)
{
    const wisp_solution *s = &r->s;
    char precond[TEXT];
    json_t *o =
        json_head(t, t->opt.arg[0]); /* also without it all ranks go on: what follows has a call of all of them */
    json_t *iterations = json_array(), *converged = json_array();
    for (int j = 0; j < s->columns; j++) {
        json_array_append_new(iterations, json_integer(s->iterations_of[j]));
        json_array_append_new(converged, json_integer(s->status[j] == WISP_OK));
    }
    JSON_PUT(o, J("rhs", rhs_name(t)), J("x0", t->opt.x0), J_IF(t->opt.null, "null", t->opt.null),
             J_IF(t->opt.null, "null_part", s->null_part), J("solution", t->opt.output),
             J("converged", json_boolean(s->converged)),
             J("status", r->status ? wisp_status_string(r->status) : "converged"), J("iterations", s->iterations),
             J("residual_true", s->residual), J("tolerance", r->opts.tolerance),
             J_IF(r->opts.tolerance_abs > 0, "tolerance_abs", r->opts.tolerance_abs), J("wanted", s->wanted),
             J("wanted_of", json_numbers(s->wanted_of, s->wanted_of ? s->columns : 0)),
             J("method", solve_method_names[s->method]), J("variant", solve_variant_names[s->variant]),
             J("preconditioner", precond_text(precond, r)), J_IF(s->side, "side", side_names[s->side]),
             J_IF(s->shift > 0, "preconditioner_shift", s->shift), J_IF(s->method == WISP_GMRES, "restart", s->restart),
             J_MAYBE(s->method == WISP_IDR, "shadow", s->shadow), J_MAYBE(r->least, "damp", r->opts.damp),
             J_MAYBE(r->least, "optimality", s->optimality), J_MAYBE(r->least, "norm", s->norm),
             J_MAYBE(r->least, "solved", json_boolean(solve_solved(s))), J_MAYBE(r->least, "cols", r->info.cols),
             J_MAYBE(r->least, "optimalities", json_numbers(s->optimalities, s->optimalities ? s->columns : 0)),
             J("passes", s->passes), J("products", s->products), J("reductions", s->reductions),
             J("replacements", s->replacements), J("rows", r->info.rows), J("nnz", r->info.nnz),
             J("columns", r->columns), J("type", wisp_type_name(r->type)));
    json_run(o, t, &r->info, &(like_run){.width = 0});
    return JSON_PUT(o, J("seconds", s->seconds), J("setup_seconds", s->setup_seconds),
                    J("assemble_seconds", r->assemble_seconds), J("bytes_per_iteration", s->bytes),
                    J("gbs", gigabytes_per_second(r)), J("residuals", json_numbers(s->residuals, s->columns)),
                    J("iterations_of", iterations), J("converged_of", converged),
                    J("residual_history", json_numbers(s->history, s->history ? s->iterations + 1 : 0)));
}

bool solve_solved(const wisp_solution *s)
{
    bool all = true;
    for (int j = 0; j < s->columns; j++) all &= s->residuals[j] <= s->wanted_of[j];
    return all;
}

/* ---- summary ----------------------------------------------------------------------------------- */

/* The iterations at which the residual first passed a power of ten, and the last one. */
static void show_history(const wisp_solution *s, bool least)
{
    char name[TEXT];
    double next = INFINITY;
    if (!s->history) return;
    text_line("iteration", "%s",
              least ? "measure: the residual, or |A^H r| / (|A| |r|) if that is nearer to its tolerance" : "residual");
    for (int64_t i = 0, lines = 0; i <= s->iterations; i++) {
        const double residual = s->history[i];
        const bool passed = residual <= next && lines < decades;
        if ((!passed && i < s->iterations) || !isfinite(residual)) continue;
        snprintf(name, sizeof name, "%lld", (long long)i);
        text_line(name, "%.2e", residual);
        lines++;
        if (residual > 0) next = pow(10, ceil(log10(residual)) - 1);
    }
}

/* Of what the residuals are: b' is b without its part in the null space, where that counts; show_least says what r is.
 */
static const char *residual_of(const solve_results *r)
{
    if (r->opts.damp > 0) return "|r| / |b|";
    return r->s.null_part > r->s.wanted ? "|b' - A x| / |b'|" : "|b - A x| / |b|";
}

/* What x is: of a system that has solutions one of them; else it makes the residual least. With damping that is said of
   (A; D), whose x is no shortest one of A x = b: there is but one. */
static void show_least(const solve_results *r)
{
    const wisp_solution *s = &r->s;
    char optimality[TEXT] = "?";
    if (isfinite(s->optimality)) snprintf(optimality, sizeof optimality, "%.2e", s->optimality);
    const bool solved = solve_solved(s);
    if (solved)
        text_line("", "a solution%s", r->opts.damp > 0 ? "" : ", the shortest one if there was no start");
    else
        text_line("", "|A^H r| / (|A| |r|) %s %s, |A| at least %.4g%s", s->columns > 1 ? "at most" : "=", optimality,
                  s->norm, s->converged ? ": x makes |r| least" : "");
    if (r->opts.damp > 0)
        text_line("", "r is (b - A x; -D x), of the matrix (A; D) with --damp D = %g", r->opts.damp);
    else if (!solved)
        text_line("", "r is b - A x");
    text_line("shape", "%lld x %lld%s", (long long)r->info.rows, (long long)r->info.cols,
              r->info.rows == r->info.cols ? "" : ": not square, so by lsmr");
}

void solve_summary(const tool *t, const solve_results *r)
{
    const wisp_solution *s = &r->s;
    char a[4][TEXT], precond[TEXT], restart[TEXT] = "", residual[TEXT] = "?";
    if (s->method == WISP_GMRES || s->method == WISP_IDR)
        snprintf(restart, sizeof restart, "(%d)", s->method == WISP_IDR ? s->shadow : s->restart);
    text_matrix(t->opt.arg[0], r->info.rows, r->info.nnz, "");
    text_line("rhs", "%s, %d column%s, %s%s%s", rhs_name(t), r->columns, r->columns == 1 ? "" : "s",
              wisp_type_name(r->type), t->opt.x0 ? "   start " : "", t->opt.x0 ? t->opt.x0 : "");
    text_line("method", "%s%s, %s   preconditioner %s%s", solve_method_names[s->method], restart,
              solve_variant_names[s->variant], precond_text(precond, r),
              s->side == WISP_SIDE_LEFT ? ", on the left" : "");
    text_run(t, &r->info, "");
    weights_summary(t, &r->info);
    checkpoint_summary(t);
    text_line("time", "%s   (assembly %s, setup %s, iterations %s)", text_seconds(a[0], wisp_now() - t->started),
              text_seconds(a[1], r->assemble_seconds), text_seconds(a[2], s->setup_seconds),
              text_seconds(a[3], s->seconds));
    if (s->iterations > 0)
        text_line("", "%.3g ms an iteration, with %.3g passes and %.3g reductions",
                  s->seconds / (double)s->iterations * 1e3, (double)s->passes / (double)s->iterations,
                  (double)s->reductions / (double)s->iterations);
    if (isfinite(gigabytes_per_second(r)))
        text_line("traffic", "%s an iteration, %.3g GB/s", text_bytes(a[0], s->bytes), gigabytes_per_second(r));
    show_history(s, r->least);
    if (isfinite(s->residual)) snprintf(residual, sizeof residual, "%.2e", s->residual);
    const bool by_column = r->opts.tolerance_abs > 0 && r->columns > 1; /* the residual is that of another one, maybe */
    text_line("result", "%s in %s iteration%s, %s = %s, wanted %s%.1e%s", s->converged ? "converged" : "not converged",
              text_count(a[0], s->iterations), s->iterations == 1 ? "" : "s", residual_of(r), residual,
              by_column ? "by column, " : "", s->wanted, by_column ? " at least" : "");
    if (r->least) show_least(r);
    if (t->opt.null)
        text_line("null space", "%s; the part of b in there, %.1e of its length, is left out%s", t->opt.null,
                  s->null_part, s->null_part > s->wanted ? ": b' is the rest, and x makes |b - A x| least" : "");
    if (s->replacements)
        text_line("", "residuals computed anew %s time%s", text_count(a[0], s->replacements),
                  s->replacements == 1 ? "" : "s");
    if (t->opt.method && t->opt.method != (int)s->method)
        text_line("", "%s could not go on, and %s did", solve_method_names[t->opt.method],
                  solve_method_names[s->method]);
    if (t->opt.restart && s->method != WISP_GMRES)
        text_line("", "--restart is for gmres, and %s does not use it", solve_method_names[s->method]);
    if (t->opt.solve_variant > WISP_CLASSICAL && (int)s->variant != t->opt.solve_variant)
        text_line("", "--variant %s is for cg, and %s does not use it", solve_variant_names[t->opt.solve_variant],
                  solve_method_names[s->method]);
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool is_drawn(double residual) { return residual > 0 && isfinite(residual); }

/* The least value that is drawn, or 0 if there is none. */
static double least_residual(const wisp_solution *s)
{
    double least = 0;
    for (int64_t i = 0; s->history && i <= s->iterations; i++)
        if (is_drawn(s->history[i]) && !(least > 0 && least <= s->history[i])) least = s->history[i];
    return least;
}

static void write_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    enum { POINTS = 4000 };
    const solve_results *r = arg;
    const wisp_solution *s = &r->s;
    const int64_t n = s->history ? s->iterations + 1 : 0, every = n / POINTS + 1;
    char precond[TEXT], columns[TEXT] = "", line[4 * TEXT];
    if (r->columns > 1) snprintf(columns, sizeof columns, ", the largest of %d columns", r->columns);
    plot_begin(f, path, 1, 1);
    snprintf(line, sizeof line, "%s, %s, preconditioner %s%s: %s", solve_method_names[s->method],
             solve_variant_names[s->variant], precond_text(precond, r), columns,
             s->converged ? "converged" : "not converged");
    plot_title(f, 2, t->opt.arg[0], (const char *[]){line, NULL});
    fprintf(f,
            "set xlabel 'iteration'\nset ylabel \"%s%s\"\nset logscale y\n"
            "set format y '1e%%T'\nset format x '%%g'\nset xrange [0:%lld] noextend\n"
            "set key top right opaque\nunset mytics\nset yrange [%.7g:*]\n",
            r->least ? "relative residual, or what is nearer to its tolerance" : "relative residual ",
            r->least ? "" : residual_of(r), (long long)(n > 1 ? n - 1 : 1), 0.1 * fmin(s->wanted, least_residual(s)));
    fputs("$d << EOD\n", f);
    for (int64_t i = 0; i < n; i++)
        if ((i % every == 0 || i == n - 1) && is_drawn(s->history[i]))
            fprintf(f, "%lld %.7g\n", (long long)i, s->history[i]);
    fputs("EOD\nplot ", f);
    if (isfinite(s->wanted))
        fprintf(f, "%.7g with lines lw 1.5 dashtype 2 lc rgb '%s' title 'tolerance', ", s->wanted, plot_color(1));
    fprintf(f, "$d using 1:2 with %s lw 2 lc rgb '%s' title 'residual'\n", n > 1 ? "lines" : "points pt 7",
            plot_color(0));
}

static int write_x(tool *t, const wisp_blk *x, const json_t *object)
{
    const int rc = columns_save(t, x, object, t->opt.output);
    if (!rc && !t->opt.json && !t->opt.quiet) text_line("solution", "%s", t->opt.output);
    return rc;
}

static void say_no_plot(tool *t)
{
    if (!t->opt.json && !t->opt.quiet)
        text_line("plot", "none, for no residual is above 0");
    else
        monitor_log(&t->monitor, WISP_LOG_INFO, "no plot was drawn, for no residual is above 0");
}

int solve_write(tool *t, const solve_results *r, const wisp_blk *x)
{
    int x_rc = EXIT_FINE;
    json_t *object = t->opt.json || t->opt.output ? make_json(t, r) : NULL;
    if (t->opt.output) x_rc = write_x(t, x, object);
    const bool drawn = least_residual(&r->s) > 0;
    if (t->opt.plot && !drawn) say_no_plot(t);
    const int rc = outputs_write(t, object, NULL, drawn ? write_script : NULL, r);
    return x_rc ? x_rc : rc;
}
