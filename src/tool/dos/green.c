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
    return EXIT_FINE;
}

/* ---- results ---- */

/* A row of numbers for each site: real parts, imaginary parts, or how far they are off at most. */
typedef enum { RE, IM, BESIDE } column;
static json_t *rows_of(const results *r, column what)
{
    json_t *array = json_array();
    for (int64_t c = 0; array && c < r->curves; c++) {
        json_t *row = json_array();
        for (int64_t i = c * r->points; row && i < (c + 1) * r->points; i++)
            json_array_append_new(row, json_number(what == RE   ? r->green[i].re
                                                   : what == IM ? r->green[i].im
                                                                : r->beside[i]));
        json_array_append_new(array, row);
    }
    return array;
}

void green_json(json_t *o, const tool *t, const results *r)
{
    JSON_PUT(o, J("units", JSON_NEW(J("energy", "units of the matrix"), J("green", "1 per energy"))),
             J("eta", t->opt.eta), J_MAYBE(r->m->imag, "beside_over", "the norms of both vectors"),
             J("energies", json_numbers(r->energy, r->points)), J("green_re", rows_of(r, RE)),
             J("green_im", rows_of(r, IM)), J("beside", rows_of(r, BESIDE)));
    results_add_curves(o, t, r);
}

/* The values at few energies; how far all of them are off at most. */
void green_summary(const tool *t, const results *r)
{
    enum { MOST = 8 };
    const int64_t all = r->curves * r->points;
    double most = 0;
    char a[TEXT], name[TEXT];
    for (int64_t i = 0; i < all; i++) most = fmax(most, r->beside[i]);
    text_line("energies", "%s   eta %.6g", text_count(a, r->points), t->opt.eta);
    for (int64_t i = 0; i < all && i < MOST && t->opt.energy_count; i++)
        text_line(i ? "" : "G", "%.10g %+.10gi at %.6g of %s%s", r->green[i].re, r->green[i].im,
                  r->energy[i % r->points], results_curve(name, r, i / r->points),
                  i == MOST - 1 && all > MOST ? ", ..." : "");
    text_line("error", "at most %.1e%s   (series and rounding; no random vectors)", most,
              r->m->imag ? " times the norms of both vectors" : "");
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
    }
    fputc('\n', f);
    for (int64_t i = 0; i < r->points; i++) {
        csv_numbers(f, "", &r->energy[i], 1);
        for (int64_t c = 0; c < r->curves; c++) {
            const int64_t at = c * r->points + i;
            csv_numbers(f, ",", (double[]){r->green[at].re, r->green[at].im, r->beside[at]}, 3);
        }
        fputc('\n', f);
    }
}
