/* wisp green: the retarded Green's function at rows, from moments without a kernel. */
#include "dos.h"
#include "../out/text.h"
#include <math.h>

static wisp_green_opts green_opts(const tool *t)
{
    return (wisp_green_opts){.eta = t->opt.eta, .tolerance = t->opt.tolerance};
}

/* In single precision, too, as many as double takes: half of the tolerance is for rounding then. */
int64_t green_moments(const tool *t, double halfwidth)
{
    const double tolerance = t->opt.tolerance > 0 ? t->opt.tolerance : 1e-10;
    const int64_t n = wisp_green_moments(halfwidth, t->opt.eta, tolerance);
    return n < INT64_MAX ? n + n % 2 : n; /* a sweep gives two */
}

/* By a part of such an evaluation, whose values are of no matter. */
double green_seconds(const tool *t, int64_t moments, double curves, double points)
{
    enum { N = 4096, POINTS = 256 };
    double *energy = NULL, *mu = NULL, seconds = NAN;
    wisp_scalar *g = NULL;
    if (!wisp_alloc(t->ctx, &energy, POINTS, sizeof *energy) && !wisp_alloc(t->ctx, &mu, N, sizeof *mu) &&
        !wisp_alloc(t->ctx, &g, POINTS, sizeof *g)) {
        const wisp_moments m = {.rows = 1,
                                .n = N,
                                .vectors = 1,
                                .mu = mu,
                                .trace = WISP_TRACE_GIVEN,
                                .bounds = {.halfwidth = 1},
                                .type = WISP_D};
        const wisp_green_opts o = {.eta = 1};
        double before = 0;
        bool failed = false;
        for (int i = 0; i < 2; i++) { /* the second time is that of threads that are awake */
            before = wisp_now();
            failed |= wisp_green(t->ctx, &m, &o, 0, POINTS, energy, g, NULL, NULL) != WISP_OK;
        }
        const double each = (wisp_now() - before) / ((double)N * POINTS);
        if (!failed) seconds = each * (double)moments * curves * points;
    }
    wisp_free(t->ctx, energy);
    wisp_free(t->ctx, mu);
    wisp_free(t->ctx, g);
    return seconds;
}

/* Means over realizations; of how far each is off, too, which the mean is at most. */
static int average_parts(tool *t, results *r)
{
    const int64_t N = realizations_of(r), all = r->curves / N * r->points;
    double *part;
    if (wisp_alloc(t->ctx, &r->green_error, (size_t)(2 * all), sizeof *r->green_error) ||
        wisp_alloc(t->ctx, &part, (size_t)(N * all), sizeof *part))
        return tool_fail_ctx(t);
    for (int64_t i = 0; i < N * all; i++) part[i] = r->green[i].re;
    average_fold(N, all, part, r->green_error);
    for (int64_t i = 0; i < all; i++) r->green[i].re = part[i];
    for (int64_t i = 0; i < N * all; i++) part[i] = r->green[i].im;
    average_fold(N, all, part, r->green_error + all);
    for (int64_t i = 0; i < all; i++) r->green[i].im = part[i];
    wisp_free(t->ctx, part);
    average_fold(N, all, r->beside, NULL);
    average_fold(N, all, r->dos, r->error);
    average_bars(N, all, !r->m->imag, r->dos, r->error, r->low, r->high);
    r->curves /= N;
    r->t95 = wisp_student95(N);
    return EXIT_FINE;
}

int green_evaluate(tool *t, results *r)
{
    const wisp_green_opts o = green_opts(t);
    const size_t points = (size_t)r->points, curves = (size_t)r->curves;
    if (wisp_alloc(t->ctx, &r->green, points * curves, sizeof *r->green) ||
        wisp_alloc(t->ctx, &r->beside, points * curves, sizeof *r->beside))
        return tool_fail_ctx(t);
    for (int64_t c = 0; c < r->curves; c++) {
        const int64_t at = c * r->points;
        if (wisp_green(t->ctx, r->m, &o, r->vector[c], r->points, r->energy, r->green + at, NULL, r->beside + at))
            return tool_fail_ctx(t);
        for (int64_t i = at; i < at + r->points; i++) r->dos[i] = -r->green[i].im / M_PI;
    }
    return realizations_of(r) > 1 ? average_parts(t, r) : EXIT_FINE;
}

/* ---- results ---- */

/* A row of numbers for each site: real parts, imaginary parts, how far they are off at most, or their errors. */
typedef enum { RE, IM, BESIDE, RE_ERROR, IM_ERROR } column;
static json_t *rows_of(const results *r, column what)
{
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) {
        json_t *row = json_array();
        for (int64_t i = c * r->points; row && i < (c + 1) * r->points; i++)
            json_array_append_new(row, json_number(what == RE         ? r->green[i].re
                                                   : what == IM       ? r->green[i].im
                                                   : what == BESIDE   ? r->beside[i]
                                                   : what == RE_ERROR ? r->green_error[i]
                                                                      : r->green_error[r->curves * r->points + i]));
        json_array_append_new(array, row);
    }
    return array;
}

void green_json(json_t *o, const tool *t, const results *r)
{
    JSON_PUT(o, J("units", JSON_NEW(J("energy", "units of the matrix"), J("green", "1 per energy"))),
             J("eta", t->opt.eta), J_MAYBE(r->m->imag, "beside_over", "the norms of both vectors"),
             J("energies", json_numbers(r->energy, r->points)), J("green_re", rows_of(r, RE)),
             J("green_im", rows_of(r, IM)), J("beside", rows_of(r, BESIDE)),
             J_MAYBE(r->green_error, "student95", r->t95),
             J_MAYBE(r->green_error, "green_re_error", rows_of(r, RE_ERROR)),
             J_MAYBE(r->green_error, "green_im_error", rows_of(r, IM_ERROR)));
    results_add_curves(o, t, r);
}

/* The values at few energies; how far all of them are off at most. */
void green_summary(const tool *t, const results *r)
{
    enum { MOST = 8 };
    const int64_t all = r->curves * r->points;
    double most = 0;
    char a[TEXT], name[TEXT], bar[TEXT] = "";
    for (int64_t i = 0; i < all; i++) most = fmax(most, r->beside[i]);
    text_line("energies", "%s   eta %.6g", text_count(a, r->points), t->opt.eta);
    for (int64_t i = 0; i < all && i < MOST && t->opt.energy_count; i++) {
        if (r->green_error)
            snprintf(bar, sizeof bar, " (+- %.2g, +- %.2gi)", r->t95 * r->green_error[i],
                     r->t95 * r->green_error[all + i]);
        text_line(i ? "" : "G", "%.10g %+.10gi%s at %.6g of %s%s", r->green[i].re, r->green[i].im, bar,
                  r->energy[i % r->points], results_curve(name, r, i / r->points),
                  i == MOST - 1 && all > MOST ? ", ..." : "");
    }
    text_line("error", "at most %.1e%s   (series and rounding; no random vectors)", most,
              r->m->imag ? " times the norms of both vectors" : "");
    if (r->green_error)
        text_line("error bar", "+-: 95%%, of %s realizations of disorder", text_count(a, r->m->realizations));
}

void green_table(const tool *t, const void *arg, FILE *f)
{
    const results *r = arg;
    char name[TEXT];
    (void)t;
    fputs("energy", f);
    for (int64_t c = 0; c < r->curves; c++) {
        results_column(name, r, c);
        fprintf(f, ",green_re_%s,green_im_%s,beside_%s", name, name, name);
        if (r->green_error) fprintf(f, ",error_re_%s,error_im_%s", name, name);
    }
    fputc('\n', f);
    for (int64_t i = 0; i < r->points; i++) {
        csv_numbers(f, "", &r->energy[i], 1);
        for (int64_t c = 0; c < r->curves; c++) {
            const int64_t at = c * r->points + i;
            csv_numbers(f, ",", (double[]){r->green[at].re, r->green[at].im, r->beside[at]}, 3);
            if (r->green_error)
                csv_numbers(f, ",", (double[]){r->green_error[at], r->green_error[r->curves * r->points + at]}, 2);
        }
        fputc('\n', f);
    }
}
