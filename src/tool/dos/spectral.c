/* wisp spectral: A(k, E) along a path or over a grid of k, from moments of plane waves on the orbitals of a cell. */
#include "../out/text.h"
#include "dos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------------- */

/* Of each realization the sum over a wave's orbitals; then their means and bars. */
int spectral_evaluate(tool *t, results *r)
{
    const kpath *p = &r->path;
    const int64_t orbitals = p->at.orbitals, N = realizations_of(r), size = p->count * r->points;
    if (r->curves < N * p->count * orbitals) return tool_fail(t, "moments of some plane waves are missing");
    if (wisp_alloc(t->ctx, &r->spectral, (size_t)(N * size), sizeof *r->spectral) ||
        (N > 1 && wisp_alloc(t->ctx, &r->spectral_error, (size_t)size, sizeof *r->spectral_error)))
        return tool_fail_ctx(t);
    for (int64_t i = 0; i < N * size; i++)
        for (int64_t o = 0; o < orbitals; o++)
            r->spectral[i] += r->dos[(i / r->points * orbitals + o) * r->points + i % r->points];
    if (N > 1) average_fold(N, size, r->spectral, r->spectral_error);
    return EXIT_FINE;
}

/* An end of the 95% bar; -1 for the lower one. */
static double bar_end(const results *r, int64_t i, int side)
{
    double low, high;
    average_bars(r->m->realizations, 1, r->eval.kernel != WISP_DIRICHLET, r->spectral + i, r->spectral_error + i, &low,
                 &high);
    return side < 0 ? low : high;
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

/* A list of numbers for each point of k: those of its wave, nulls where that is missing. */
static json_t *by_point(const results *r, const double *v, int64_t step, int64_t n)
{
    const kpath *p = &r->path;
    json_t *array = json_array();
    for (int64_t i = 0; array && i < p->points; i++) {
        json_t *row = p->wave[i] < 0 ? json_array() : json_numbers(v + p->wave[i] * step, n);
        for (int64_t e = 0; p->wave[i] < 0 && e < n; e++) json_array_append_new(row, json_null());
        json_array_append_new(array, row);
    }
    return array;
}

static json_t *by_orbital(const results *r)
{
    const int orbitals = r->path.at.orbitals;
    json_t *array = json_array();
    for (int o = 0; array && o < orbitals; o++)
        json_array_append_new(array, by_point(r, r->dos + o * r->points, orbitals * r->points, r->points));
    return array;
}

static json_t *bar_ends(const results *r, int side)
{
    const int64_t size = r->path.count * r->points;
    double *v = calloc((size_t)size, sizeof *v);
    for (int64_t i = 0; v && i < size; i++) v[i] = bar_end(r, i, side);
    json_t *array = v ? by_point(r, v, r->points, r->points) : NULL;
    free(v);
    return array;
}

void spectral_json(json_t *o, const results *r)
{
    const kpath *p = &r->path;
    const bool bars = r->spectral_error;
    const int64_t shape[2] = {p->columns ? p->points / p->columns : 0, p->columns};
    JSON_PUT(o, J("k", by_point(r, p->k[0], 3, 3)), J_MAYBE(p->columns, "grid", json_wholes(shape, 2)),
             J_MAYBE(!p->columns, "path_length", json_numbers(p->way, p->points)),
             J_MAYBE(!p->columns, "corners", json_wholes(p->corner, p->corners)), J("moved_by_at_most", p->moved),
             J("waves", p->count), J("orbitals", p->at.orbitals), J("energies", json_numbers(r->energy, r->points)),
             J("spectral", by_point(r, r->spectral, r->points, r->points)),
             J_MAYBE(bars, "spectral_error", by_point(r, r->spectral_error, r->points, r->points)),
             J_MAYBE(bars, "spectral_low", bar_ends(r, -1)), J_MAYBE(bars, "spectral_high", bar_ends(r, 1)),
             J_MAYBE(p->at.orbitals > 1, "by_orbital", by_orbital(r)));
}

/* ---- a summary ------------------------------------------------------------------------------------- */

static void show_strongest(const char *head, const results *r, int64_t k, int64_t e, const char *rest)
{
    const double *at = r->path.k[k], *v = r->spectral + k * r->points + e;
    char bar[TEXT] = "";
    if (r->spectral_error) snprintf(bar, sizeof bar, " +- %.2g", r->t95 * r->spectral_error[k * r->points + e]);
    text_line(head, "A = %.4g%s at E = %.6g, k = (%.4g, %.4g, %.4g)%s", *v, bar, r->energy[e], at[0], at[1], at[2],
              rest);
}

/* Where A is largest: at few k of a path, the corners, or all; in a grid for each energy. */
static void show_all_strongest(const results *r)
{
    enum { MOST = 8 };
    const kpath *p = &r->path;
    for (int64_t c = 0; !p->columns && c < p->corners && c < MOST && p->corner[c] < p->points; c++) {
        const int64_t k = p->wave[p->corner[c]];
        int64_t top = 0;
        for (int64_t e = 1; e < r->points; e++)
            if (r->spectral[k * r->points + e] > r->spectral[k * r->points + top]) top = e;
        show_strongest(c ? "" : "strongest", r, k, top, c == MOST - 1 && p->corners > MOST ? ", ..." : "");
    }
    for (int64_t e = 0; p->columns && e < r->points && e < MOST; e++) {
        int64_t top = 0;
        for (int64_t k = 1; k < p->count; k++)
            if (r->spectral[k * r->points + e] > r->spectral[top * r->points + e]) top = k;
        show_strongest(e ? "" : "strongest", r, top, e, e == MOST - 1 && r->points > MOST ? ", ..." : "");
    }
}

void spectral_summary(const results *r)
{
    const kpath *p = &r->path;
    char a[TEXT], b[TEXT];
    if (p->columns)
        text_line("k", "a grid of %lld x %lld, by %s waves of %s orbital%s each", (long long)(p->points / p->columns),
                  (long long)p->columns, text_count(a, p->count), text_count(b, p->at.orbitals),
                  p->at.orbitals == 1 ? "" : "s");
    else
        text_line("k", "%s of %s orbital%s each", text_count(a, p->count), text_count(b, p->at.orbitals),
                  p->at.orbitals == 1 ? "" : "s");
    if (p->moved > 1e-9) text_line("", "moved by up to %.3g to fit the periodic sample", p->moved);
    text_line("energies", "%s", text_count(a, r->points));
    show_all_strongest(r);
    if (r->spectral_error)
        text_line("error bar", "+-: 95%%, of %s realizations of disorder", text_count(a, r->m->realizations));
    else
        text_line("error bar", r->m->realizations ? "none: one realization" : "none: no random vectors");
}

/* ---- a table --------------------------------------------------------------------------------------- */

static void table_row(const results *r, int64_t point, int64_t e, FILE *f)
{
    const kpath *p = &r->path;
    const int64_t orbitals = p->at.orbitals, k = p->wave[point], i = k * r->points + e;
    if (!p->columns) csv_numbers(f, "", &p->way[point], 1);
    csv_numbers(f, p->columns ? "" : ",", p->k[k], 3);
    csv_numbers(f, ",", (double[]){r->energy[e], r->spectral[i]}, 2);
    if (r->spectral_error)
        csv_numbers(f, ",", (double[]){r->spectral_error[i], bar_end(r, i, -1), bar_end(r, i, 1)}, 3);
    for (int64_t o = 0; orbitals > 1 && o < orbitals; o++)
        csv_numbers(f, ",", &r->dos[(k * orbitals + o) * r->points + e], 1);
    fputc('\n', f);
}

void spectral_table(const results *r, FILE *f)
{
    const kpath *p = &r->path;
    fputs(p->columns ? "kx,ky,kz,energy,spectral" : "path,kx,ky,kz,energy,spectral", f);
    if (r->spectral_error) fputs(",spectral_error,spectral_low,spectral_high", f);
    for (int o = 0; p->at.orbitals > 1 && o < p->at.orbitals; o++) fprintf(f, ",orbital_%d", o);
    fputc('\n', f);
    for (int64_t point = 0; point < p->points; point++)
        for (int64_t e = 0; p->wave[point] >= 0 && e < r->points; e++) table_row(r, point, e, f);
}
