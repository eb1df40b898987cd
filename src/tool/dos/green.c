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
             J("eta", t->opt.eta), J("sites", json_wholes(r->site, r->curves)),
             J("energies", json_numbers(r->energy, r->points)), J("green_re", rows_of(r, RE)),
             J("green_im", rows_of(r, IM)), J("beside", rows_of(r, BESIDE)));
}

/* The values at few energies; how far all of them are off at most. */
void green_summary(const tool *t, const results *r)
{
    enum { MOST = 8 };
    const int64_t all = r->curves * r->points;
    double most = 0;
    char a[TEXT];
    for (int64_t i = 0; i < all; i++) most = fmax(most, r->beside[i]);
    text_line("energies", "%s   eta %.6g", text_count(a, r->points), t->opt.eta);
    for (int64_t i = 0; i < all && i < MOST && t->opt.energy_count; i++)
        text_line(i ? "" : "G", "%.10g %+.10gi at %.6g of row %lld%s", r->green[i].re, r->green[i].im,
                  r->energy[i % r->points], (long long)r->site[i / r->points],
                  i == MOST - 1 && all > MOST ? ", ..." : "");
    text_line("error", "at most %.1e   (series and rounding; no random vectors)", most);
}

void green_table(const tool *t, const void *arg, FILE *f)
{
    const results *r = arg;
    (void)t;
    fputs("energy", f);
    for (int64_t c = 0; c < r->curves; c++) {
        const long long s = (long long)r->site[c];
        fprintf(f, ",green_re_%lld,green_im_%lld,beside_%lld", s, s, s);
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
