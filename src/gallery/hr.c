/* Reads the numbers of Wannier90 (hr.h). The file: a line of any text; num_wann; nrpts; the degeneracies of the nrpts
   cells R, 15 a line; then num_wann^2 lines R1 R2 R3 m n Re Im for each R, in that order of the R. */
#include "hr.h"
#include "../base/scan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_LINE = 14, FARTHEST = 1 << 30 }; /* bytes of a line of an entry; a coordinate of R */

typedef struct {
    wisp_ctx *ctx;
    const char *path, *next, *end; /* the next line; the end of the text */
    int64_t line;                  /* the number of the last line read */
    locale_t c;
    wisp__hr *hr;
    double *degeneracy;  /* [cells] */
    int64_t *first_line; /* [cells] */
    bool *seen;          /* [m][n], of this cell */
} reader;

static wisp_status complain(const reader *r, const char *format, ...) WISP_PRINTF(2, 3);
static wisp_status complain(const reader *r, const char *format, ...)
{
    WISP_FORMATTED(text, 256, format);
    return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s:%lld: %s", r->path, (long long)r->line, text);
}

/* The next line; NULL at the end. */
static const char *next_line(reader *r)
{
    const char *line = r->next;
    if (line >= r->end) return NULL;
    r->next = (const char *)memchr(line, '\n', (size_t)(r->end - line)) + 1;
    r->line++;
    return line;
}

/* The same, but for blank ones. */
static const char *next_filled(reader *r)
{
    const char *line, *p;
    while ((line = next_line(r)) && (p = line, wisp__next_word(&p).n == 0)) {}
    return line;
}

/* A whole number of at most 18 digits, with a sign. */
static bool is_whole(wisp__word w, int64_t *i)
{
    const bool negative = w.n > 1 && *w.p == '-';
    const char *begin = w.p + negative;
    if (w.n == 0 || (negative && *begin == '+') || wisp__scan_index(begin, i) != w.p + w.n) return false;
    if (negative) *i = -*i;
    return true;
}

/* A line with one number, from 1. */
static wisp_status read_count(reader *r, const char *what, int64_t *count)
{
    char text[WISP__QUOTE];
    const char *p = next_line(r);
    if (!p) return complain(r, "the file ends before %s", what);
    wisp__word w = wisp__next_word(&p);
    if (!is_whole(w, count) || *count < 1)
        return complain(r, "'%s' is not %s, a whole number from 1", wisp__quote(text, w), what);
    w = wisp__next_word(&p);
    return w.n ? complain(r, "'%s' after %s", wisp__quote(text, w), what) : WISP_OK;
}

static wisp_status read_head(reader *r, int64_t *entries)
{
    wisp__hr *hr = r->hr;
    const int64_t bytes = r->end - r->next;
    wisp_status status;
    if (!next_line(r)) return wisp_ctx_failf(r->ctx, WISP_ERR_FORMAT, "%s:1: the file is empty", r->path);
    WISP_TRY(read_count(r, "the number of Wannier functions", &hr->orbitals));
    WISP_TRY(read_count(r, "the number of cells R", &hr->cells));
    if (__builtin_mul_overflow(hr->orbitals, hr->orbitals, entries) ||
        __builtin_mul_overflow(*entries, hr->cells, entries) || *entries > bytes / LEAST_LINE)
        return complain(
            r,
            "%lld Wannier functions and %lld cells have more entries than a file of %lld bytes holds (is it "
            "whole?)",
            (long long)hr->orbitals, (long long)hr->cells, (long long)bytes);
out:
    return status;
}

static wisp_status read_degeneracies(reader *r)
{
    char text[WISP__QUOTE];
    const char *p = "\n";
    int64_t d = 0;
    wisp__word w;
    for (int64_t i = 0; i < r->hr->cells; i++) {
        while (w = wisp__next_word(&p), w.n == 0)
            if (!(p = next_line(r)))
                return complain(r, "the file ends after %lld of %lld degeneracies", (long long)i,
                                (long long)r->hr->cells);
        if (!is_whole(w, &d) || d < 1)
            return complain(r, "the degeneracy '%s' is not a whole number from 1", wisp__quote(text, w));
        r->degeneracy[i] = (double)d;
    }
    w = wisp__next_word(&p);
    return w.n ? complain(r, "'%s' after the last of %lld degeneracies", wisp__quote(text, w), (long long)r->hr->cells)
               : WISP_OK;
}

enum { PLACES = 5, FIELDS = PLACES + 2 };
static const char *const fields[FIELDS] = {"R1", "R2", "R3", "m", "n", "the real part", "the imaginary part"};

/* A line of an entry: R, m and n from 1, and the value. */
static wisp_status read_entry(reader *r, const char *p, int64_t place[PLACES], double value[2])
{
    char text[WISP__QUOTE];
    wisp__word w;
    for (int k = 0; k < FIELDS; k++) {
        w = wisp__next_word(&p);
        wisp__quote(text, w);
        if (w.n == 0) return complain(r, "%s is missing (a line is 'R1 R2 R3 m n real imaginary')", fields[k]);
        if (k >= PLACES) {
            double *v = &value[k - PLACES];
            if (wisp__scan_real(w.p, v, r->c) != w.p + w.n || !isfinite(*v))
                return complain(r, "%s '%s' is not a finite number", fields[k], text);
        } else if (!is_whole(w, &place[k])) {
            return complain(r, "%s '%s' is not a whole number", fields[k], text);
        } else if (k < 3 && (place[k] < -FARTHEST || place[k] > FARTHEST)) {
            return complain(r, "%s is %s, beyond %d cells", fields[k], text, FARTHEST);
        } else if (k >= 3 && (place[k] < 1 || place[k] > r->hr->orbitals)) {
            return complain(r, "%s is %s, and there are Wannier functions 1 to %lld", fields[k], text,
                            (long long)r->hr->orbitals);
        }
    }
    w = wisp__next_word(&p);
    return w.n ? complain(r, "'%s' after the entry", wisp__quote(text, w)) : WISP_OK;
}

#define R_FORMAT "(%lld,%lld,%lld)"
#define R_NUMBERS(R) (long long)(R)[0], (long long)(R)[1], (long long)(R)[2]

static wisp_status read_cell(reader *r, int64_t number)
{
    wisp__hr *hr = r->hr;
    const int64_t all = hr->orbitals * hr->orbitals;
    int64_t *cell = hr->cell[number];
    memset(r->seen, 0, (size_t)all * sizeof *r->seen);
    for (int64_t i = 0; i < all; i++) {
        int64_t place[PLACES] = {0};
        double value[2] = {0};
        const char *line = next_filled(r);
        if (!line)
            return complain(r, "the file ends after %lld of %lld entries", (long long)(number * all + i),
                            (long long)(hr->cells * all));
        const wisp_status status = read_entry(r, line, place, value);
        if (status != WISP_OK) return status;
        if (i == 0) {
            memcpy(cell, place, 3 * sizeof *cell);
            r->first_line[number] = r->line;
        } else if (memcmp(cell, place, 3 * sizeof *cell) != 0) {
            return complain(r, "R is " R_FORMAT " after %lld of the %lld entries of " R_FORMAT, R_NUMBERS(place),
                            (long long)i, (long long)all, R_NUMBERS(cell));
        }
        const int64_t at = (place[3] - 1) * hr->orbitals + place[4] - 1;
        if (r->seen[at])
            return complain(r, "m=%lld, n=%lld of R=" R_FORMAT " is there twice", (long long)place[3],
                            (long long)place[4], R_NUMBERS(cell));
        r->seen[at] = true;
        hr->value[number * all + at] =
            (wisp_scalar){value[0] / r->degeneracy[number], value[1] / r->degeneracy[number]};
    }
    return WISP_OK;
}

/* ---- H(-R) is the adjoint of H(R) ------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    for (int d = 0; d < 3; d++)
        if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
    return 0;
}

/* Of pointers to cells of one array; equal ones stay as they came. */
static int compare_places(const void *a, const void *b)
{
    const int64_t *x = *(const int64_t *const *)a, *y = *(const int64_t *const *)b;
    const int c = compare(x, y);
    return c ? c : (x > y) - (x < y);
}

/* The numbers of the cells by rising R. */
static wisp_status order_cells(wisp_ctx *ctx, const wisp__hr *hr, int64_t *order)
{
    const int64_t **place = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &place, (size_t)hr->cells, sizeof *place));
    for (int64_t i = 0; i < hr->cells; i++) place[i] = hr->cell[i];
    qsort(place, (size_t)hr->cells, sizeof *place, compare_places);
    for (int64_t i = 0; i < hr->cells; i++) order[i] = (place[i] - hr->cell[0]) / 3;
out:
    wisp_free(ctx, place);
    return status;
}

/* By rising R, so that -R is as far from the end as R is from the begin. */
static wisp_status sort_cells(reader *r, int64_t *order)
{
    wisp__hr *hr = r->hr;
    const wisp_status status = order_cells(r->ctx, hr, order);
    if (status != WISP_OK) return status;
    for (int64_t i = 1; i < hr->cells; i++) {
        if (compare(hr->cell[order[i - 1]], hr->cell[order[i]]) != 0) continue;
        r->line = WISP__MAX(r->first_line[order[i - 1]], r->first_line[order[i]]);
        return complain(r, "R=" R_FORMAT " is there a second time", R_NUMBERS(hr->cell[order[i]]));
    }
    for (int64_t i = 0; i < hr->cells; i++) {
        const int64_t *a = hr->cell[order[i]], *b = hr->cell[order[hr->cells - 1 - i]];
        if (a[0] == -b[0] && a[1] == -b[1] && a[2] == -b[2]) continue;
        /* Of the two the one that is farther out has no partner. */
        const int64_t minus[3] = {-b[0], -b[1], -b[2]}, *alone = a;
        for (int d = 2; d >= 0; d--)
            if (a[d] != minus[d]) alone = a[d] < minus[d] ? a : b;
        r->line = r->first_line[alone == a ? order[i] : order[hr->cells - 1 - i]];
        return complain(r, "R=" R_FORMAT " is there, but -R is not: the matrix is not Hermitian", R_NUMBERS(alone));
    }
    return WISP_OK;
}

static double size_of(wisp_scalar v) { return fmax(fabs(v.re), fabs(v.im)); }

/* Where two blocks of n x n entries are farthest from being adjoint: by how much. */
typedef struct {
    double off;
    int64_t cell, m, n;
} misfit;

/* Each pair of entries of H(R) and H(-R) becomes its mean, and so exactly conjugate. */
static void take_means(wisp_scalar *a, wisp_scalar *b, int64_t n, int64_t cell, misfit *worst)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++) {
            wisp_scalar *v = &a[j * n + k], *w = &b[k * n + j];
            const double off = size_of((wisp_scalar){v->re - w->re, v->im + w->im});
            const wisp_scalar mean = {0.5 * v->re + 0.5 * w->re, 0.5 * v->im - 0.5 * w->im};
            if (off > worst->off) *worst = (misfit){off, cell, j, k};
            *v = mean;
            *w = (wisp_scalar){mean.re, -mean.im};
        }
}

/* Entries may differ by two units of the last digit that Wannier90 writes, or by the hundred thousandth part of the
   largest one. */
static wisp_status make_hermitian(reader *r, const int64_t *order)
{
    wisp__hr *hr = r->hr;
    const int64_t n = hr->orbitals, all = n * n;
    double largest = 0;
    misfit worst = {0};
    for (int64_t i = 0; i < hr->cells * all; i++) largest = fmax(largest, size_of(hr->value[i]));
    for (int64_t i = 0; i <= hr->cells - 1 - i; i++) {
        const int64_t a = order[i], b = order[hr->cells - 1 - i];
        take_means(&hr->value[a * all], &hr->value[b * all], n, a, &worst);
    }
    if (worst.off <= fmax(2e-6, 1e-5 * largest)) return WISP_OK;
    r->line = r->first_line[worst.cell];
    return complain(r,
                    "the matrix is not Hermitian: m=%lld, n=%lld of R=" R_FORMAT
                    " and the conjugate of m=%lld, n=%lld of -R differ by %.3g",
                    (long long)worst.m + 1, (long long)worst.n + 1, R_NUMBERS(hr->cell[worst.cell]),
                    (long long)worst.n + 1, (long long)worst.m + 1, worst.off);
}

/* ---- on a lattice with ends ------------------------------------------------------------------------- */

/* order[cells] by rising R: those that are equal are added up. */
static wisp_status add_equal(wisp__hr *hr, wisp_ctx *ctx, const int64_t *order, int64_t count)
{
    const int64_t all = hr->orbitals * hr->orbitals;
    wisp__hr sum = {.orbitals = hr->orbitals};
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &sum.cell, (size_t)count, sizeof *sum.cell));
    WISP_TRY(wisp_alloc(ctx, &sum.value, (size_t)(count * all), sizeof *sum.value));
    for (int64_t i = 0; i < hr->cells; i++) {
        const int64_t *cell = hr->cell[order[i]];
        const wisp_scalar *from = &hr->value[order[i] * all];
        if (sum.cells == 0 || compare(cell, sum.cell[sum.cells - 1]) != 0)
            memcpy(sum.cell[sum.cells++], cell, sizeof *sum.cell);
        wisp_scalar *to = &sum.value[(sum.cells - 1) * all];
        for (int64_t k = 0; k < all; k++) to[k] = (wisp_scalar){to[k].re + from[k].re, to[k].im + from[k].im};
    }
out:
    if (status != WISP_OK) {
        wisp__hr_free(ctx, &sum);
        return status;
    }
    wisp__hr_free(ctx, hr);
    *hr = sum;
    return WISP_OK;
}

wisp_status wisp__hr_fold(wisp__hr *hr, wisp_ctx *ctx, const int64_t n[3], unsigned periodic)
{
    int64_t *order = NULL, count = 1;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &order, (size_t)hr->cells, sizeof *order));
    for (int64_t i = 0; i < hr->cells; i++)
        for (int d = 0; d < 3; d++)
            if (periodic >> d & 1) hr->cell[i][d] = (hr->cell[i][d] % n[d] + n[d]) % n[d];
    WISP_TRY(order_cells(ctx, hr, order));
    for (int64_t i = 1; i < hr->cells; i++) count += compare(hr->cell[order[i - 1]], hr->cell[order[i]]) != 0;
    if (count == hr->cells) goto out;
    WISP_TRY(add_equal(hr, ctx, order, count));
    /* Sums in another order round otherwise. */
    for (int64_t i = 0; i < count; i++) {
        int64_t minus[3], all = hr->orbitals * hr->orbitals;
        misfit worst = {0};
        for (int d = 0; d < 3; d++) {
            const int64_t r = hr->cell[i][d];
            minus[d] = periodic >> d & 1 ? (n[d] - r) % n[d] : -r;
        }
        const int64_t(*there)[3] = bsearch(minus, hr->cell, (size_t)count, sizeof *hr->cell, compare);
        if (there) take_means(&hr->value[i * all], &hr->value[(there - hr->cell) * all], hr->orbitals, i, &worst);
    }
out:
    wisp_free(ctx, order);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static wisp_status read_all(reader *r)
{
    wisp__hr *hr = r->hr;
    int64_t entries = 0, *order = NULL;
    char text[WISP__QUOTE];
    const char *p;
    wisp_status status;
    WISP_TRY(read_head(r, &entries));
    WISP_TRY(wisp_alloc(r->ctx, &r->degeneracy, (size_t)hr->cells, sizeof *r->degeneracy));
    WISP_TRY(wisp_alloc(r->ctx, &r->first_line, (size_t)hr->cells, sizeof *r->first_line));
    WISP_TRY(wisp_alloc(r->ctx, &r->seen, (size_t)(entries / hr->cells), sizeof *r->seen));
    WISP_TRY(wisp_alloc(r->ctx, &hr->cell, (size_t)hr->cells, sizeof *hr->cell));
    WISP_TRY(wisp_alloc(r->ctx, &hr->value, (size_t)entries, sizeof *hr->value));
    WISP_TRY(read_degeneracies(r));
    for (int64_t i = 0; i < hr->cells; i++) WISP_TRY(read_cell(r, i));
    if ((p = next_filled(r))) {
        const wisp__word w = wisp__next_word(&p);
        status = complain(r, "'%s' after the last of %lld entries", wisp__quote(text, w), (long long)entries);
        goto out;
    }
    WISP_TRY(wisp_alloc(r->ctx, &order, (size_t)hr->cells, sizeof *order));
    WISP_TRY(sort_cells(r, order));
    status = make_hermitian(r, order);
out:
    wisp_free(r->ctx, order);
    wisp_free(r->ctx, r->degeneracy);
    wisp_free(r->ctx, r->first_line);
    wisp_free(r->ctx, r->seen);
    return status;
}

wisp_status wisp__hr_read(wisp__hr *hr, wisp_ctx *ctx, const char *path, const char *text, size_t size)
{
    *hr = (wisp__hr){0};
    reader r = {.ctx = ctx, .path = path, .next = text, .end = text + size, .hr = hr};
    r.c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (r.c == (locale_t)0) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "%s: no memory for a locale", path);
    const wisp_status status = read_all(&r);
    freelocale(r.c);
    return status;
}

void wisp__hr_free(wisp_ctx *ctx, wisp__hr *hr)
{
    wisp_free(ctx, hr->cell);
    wisp_free(ctx, hr->value);
    *hr = (wisp__hr){0};
}
