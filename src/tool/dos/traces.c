/* wisp trace, and what it shares with wisp thermal: traces of functions from moments. */
#include "dos.h"
#include "../function.h"
#include "../out/text.h"
#include <math.h>
#include <string.h>

/* ---- what thermal and trace share ---- */

int traces_check(tool *t)
{
    if (t->cmd->bit == CMD_THERMAL && !t->opt.temperature_count)
        return tool_usage(t, "wisp thermal needs --temperatures A,B,..");
    if (cool_check(t)) return EXIT_USAGE;
    if (t->cmd->bit == CMD_TRACE && !option_seen(&t->opt, "function"))
        return tool_usage(t, "wisp trace needs --function log, inverse, sqrt, ..; see wisp trace --help");
    return EXIT_FINE;
}

int traces_moments(tool *t, const wisp_bounds *b, wisp_bounds_method method, int64_t *moments)
{
    const int64_t most = 1 << 30;
    if (t->cmd->bit == CMD_TRACE) {
        const wisp_function f = function_of(t);
        const wisp_function_opts o = {.tolerance = t->opt.tolerance, .points = function_points(t, b)};
        const int rc = function_check(t, b);
        if (rc) return rc;
        if (wisp_function_moments(t->ctx, b, &f, &o, moments)) return tool_fail_ctx(t);
        *moments += *moments % 2; /* a sweep gives two */
    } else {
        *moments = thermal_moments(t, b, method);
    }
    if (*moments <= most) return EXIT_FINE;
    return tool_fail(t, "the lowest temperature needs more than 2^30 moments on a spectrum of half width %g",
                     b->halfwidth);
}

static int evaluate_trace(tool *t, results *r)
{
    const wisp_function f = function_of(t);
    const wisp_function_opts o = {.tolerance = t->opt.tolerance, .points = function_points(t, &r->m->bounds)};
    const int rc = function_check(t, &r->m->bounds);
    if (rc) return rc;
    return wisp_trace_function(t->ctx, r->m, &f, &o, -1, &r->traced) ? tool_fail_ctx(t) : EXIT_FINE;
}

int traces_evaluate(tool *t, results *r)
{
    const wisp_moments *m = r->m;
    if (m->trace != WISP_TRACE_RANDOM && m->trace != WISP_TRACE_EXACT)
        return tool_fail(t, "%s holds the moments of single rows or vectors, and this needs those of a trace",
                         t->opt.from);
    r->n = m->n;
    r->has_error = m->trace != WISP_TRACE_RANDOM || m->vectors > 1;
    r->t95 = m->trace == WISP_TRACE_RANDOM ? wisp_student95(m->vectors) : 0;
    return t->cmd->bit == CMD_TRACE ? evaluate_trace(t, r) : thermal_evaluate(t, r);
}

/* ---- results ---- */

void traces_json(json_t *o, const tool *t, const results *r)
{
    const wisp_traced *d = &r->traced;
    char name[TEXT];
    JSON_PUT(o, J("student95", r->t95));
    if (t->cmd->bit == CMD_THERMAL) {
        thermal_json(o, t, r);
        return;
    }
    JSON_PUT(o, J("function", function_text(t, name)), J("trace_of_function", d->trace.value),
             J("trace_error", d->trace.error), J("trace_low", d->trace.low), J("trace_high", d->trace.high),
             J("truncation", d->truncation), J("rounding", d->rounding), J("largest", d->largest),
             J("terms", d->terms));
}

void traces_summary(const tool *t, const results *r)
{
    const wisp_estimate *e = &r->traced.trace;
    char a[TEXT_BAR], name[TEXT], b[TEXT];
    if (t->cmd->bit == CMD_THERMAL) {
        thermal_summary(t, r);
        return;
    }
    text_line("function", "%s, largest on the bounds %.4g", function_text(t, name), r->traced.largest);
    const char *what = t->opt.function == FUNCTION_LOG ? "log det" : "trace";
    if (e->error > 0)
        text_line(what, "%s   (95%% bar)", text_with_bar(a, "+-", e->value, e->low, e->high, 0));
    else
        text_line(what, "%s   (%s)", text_rounded(a, e->value, 0.5 * (e->high - e->low)),
                  r->has_error         ? "no statistical error"
                  : r->m->realizations ? "one realization: no error bar"
                                       : "one vector: no error bar");
    text_line("", "%s at most %.1e: series %.1e, rounding %.1e   (%s moments used)",
              e->error > 0 ? "of it" : "beside that", r->traced.truncation + r->traced.rounding, r->traced.truncation,
              r->traced.rounding, text_count(b, r->traced.terms));
}

void traces_table(const tool *t, const void *arg, FILE *f)
{
    const results *r = arg;
    const wisp_traced *d = &r->traced;
    char name[TEXT];
    if (t->cmd->bit == CMD_THERMAL) {
        thermal_table(t, arg, f);
        return;
    }
    const double row[] = {d->trace.value, d->trace.error, d->trace.low, d->trace.high, d->truncation, d->rounding};
    fputs("function,trace,trace_error,trace_low,trace_high,truncation,rounding\n", f);
    fputs(function_text(t, name), f);
    csv_numbers(f, ",", row, sizeof row / sizeof row[0]);
    fputc('\n', f);
}
