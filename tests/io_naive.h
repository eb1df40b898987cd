/* Matrix files by the simplest means, as the oracle of the file tests. */
#ifndef IO_NAIVE_H
#define IO_NAIVE_H
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define NAIVE_MAX(a, b) ((a) > (b) ? (a) : (b))
enum { FIELD_PATTERN, FIELD_REAL, FIELD_COMPLEX, FIELD_INTEGER };
static const char *const naive_fields[] = {"pattern", "real", "complex", "integer"};
static const char *const naive_symmetries[] = {"general", "symmetric", "hermitian", "skew-symmetric"};

typedef struct {
    bool array, crlf, messy, no_newline;
    int field;
    wisp_symmetry symmetry;
} naive_form;

/* Any; one of so many is an array. */
static inline naive_form naive_random(ref_rng *r, int64_t arrays)
{
    return (naive_form){.array = ref_below(r, arrays) == 0,
                        .field = (int)ref_below(r, 4),
                        .symmetry = (wisp_symmetry)ref_below(r, 4),
                        .crlf = ref_below(r, 4) == 0,
                        .messy = ref_below(r, 2) == 0,
                        .no_newline = ref_below(r, 4) == 0};
}

static inline bool naive_allowed(const naive_form *f)
{
    if (f->field == FIELD_PATTERN) return !f->array && f->symmetry <= WISP_SYM_SYMMETRIC;
    return f->symmetry != WISP_SYM_HERMITIAN || f->field == FIELD_COMPLEX;
}

static inline cplx naive_complex(double re, double im)
{
    double part[2] = {re, im};
    cplx v;
    memcpy(&v, part, sizeof v);
    return v;
}

/* Any number of threads, without a warning that they are too many. */
static inline wisp_ctx *naive_ctx(int threads)
{
    wisp_ctx *ctx;
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = threads, .no_pin = 1, .index_limit = INT32_MAX}),
                     WISP_OK);
    return ctx;
}

static inline void naive_put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline void naive_same(ref_mat a, ref_mat b)
{
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.cols, b.cols);
    for (int64_t i = 0; i < a.rows * a.cols; i++)
        if (a.a[i] != b.a[i] && !(isnan(creal(a.a[i])) && isnan(creal(b.a[i]))))
            fail_msg("entry %lld: %.17g %.17g and %.17g %.17g", (long long)i, creal(a.a[i]), cimag(a.a[i]),
                     creal(b.a[i]), cimag(b.a[i]));
}

static inline cplx naive_round(cplx v, wisp_type type)
{
    if (type == WISP_D || type == WISP_Z) return v;
    volatile float part[2] = {(float)creal(v), (float)cimag(v)}; /* gcc 12 -O2 loses one rounding otherwise */
    return naive_complex(part[0], part[1]);
}

static inline cplx naive_mirror(cplx v, wisp_symmetry s)
{
    return s == WISP_SYM_SKEW ? -v : s == WISP_SYM_HERMITIAN ? conj(v) : v;
}

/* About a third of the entries are not zero. */
static inline ref_mat naive_matrix(ref_rng *r, int64_t rows, int64_t cols, wisp_symmetry symmetry, int field)
{
    ref_mat m = ref_new(rows, cols);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            if (ref_below(r, 3)) continue;
            double re = ref_uniform(r), im = ref_uniform(r);
            if (ref_below(r, 4) == 0) re = ldexp(re, (int)ref_below(r, 200) - 100);
            cplx v = field == FIELD_PATTERN   ? 1
                     : field == FIELD_INTEGER ? (double)(ref_below(r, 2000001) - 1000000)
                     : field == FIELD_REAL    ? re
                                              : naive_complex(re, im);
            if (symmetry != WISP_SYM_GENERAL) {
                if (i < j) continue;
                if (i == j && symmetry == WISP_SYM_SKEW) continue;
                if (i == j && symmetry == WISP_SYM_HERMITIAN) v = creal(v);
                REF_AT(m, j, i) = naive_mirror(v, symmetry);
            }
            REF_AT(m, i, j) = v;
        }
    return m;
}

/* ---- Matrix Market ---------------------------------------------------------------------------------- */

typedef struct {
    char *p;
    size_t n, room;
    const naive_form *form;
    ref_rng *r;
} naive_text;

static inline void naive_add(naive_text *t, const char *s)
{
    size_t n = strlen(s);
    if (t->n + n + 1 > t->room) {
        t->room = 2 * (t->n + n + 1);
        t->p = realloc(t->p, t->room);
        assert_non_null(t->p);
    }
    memcpy(t->p + t->n, s, n + 1);
    t->n += n;
}

static inline void naive_line(naive_text *t, const char *line)
{
    const char *end = t->form->crlf ? "\r\n" : "\n";
    if (t->form->messy && ref_below(t->r, 8) == 0) naive_add(t, ref_below(t->r, 2) ? "  \t" : "% a comment 1 2 3");
    if (t->n > 0 && t->p[t->n - 1] != '\n') naive_add(t, end);
    naive_add(t, line);
    if (t->form->messy && ref_below(t->r, 8) == 0) naive_add(t, " \t ");
    naive_add(t, end);
}

/* A number in one of the ways that people write it, all with the same value. */
static inline void naive_number(naive_text *t, char *to, size_t room, double v)
{
    snprintf(to, room, "%.17g", v);
    if (!t->form->messy || t->form->field == FIELD_INTEGER) return;
    char other[64];
    switch (ref_below(t->r, 5)) {
    case 0: snprintf(other, sizeof other, "%+.20e", v); break;
    case 1: snprintf(other, sizeof other, "%s%.17E", v < 0 ? "" : "+", v); break;
    case 2:
        snprintf(other, sizeof other, "%.18e", v);
        *strchr(other, 'e') = ref_below(t->r, 2) ? 'd' : 'D';
        break;
    case 3:
        snprintf(other, sizeof other, "%.17g", v);
        if (strncmp(other, "0.", 2) == 0) memmove(other, other + 1, strlen(other));
        break;
    default: snprintf(other, sizeof other, "%.17g", v);
    }
    snprintf(to, room, "%s", other);
}

static inline void naive_entry(naive_text *t, int64_t i, int64_t j, cplx v)
{
    char line[256] = "", number[64];
    if (!t->form->array)
        snprintf(line, sizeof line, t->form->messy ? " %lld\t %lld" : "%lld %lld", (long long)i + 1, (long long)j + 1);
    for (int k = 0; k < (t->form->field == FIELD_COMPLEX ? 2 : t->form->field != FIELD_PATTERN); k++) {
        naive_number(t, number, sizeof number, k ? cimag(v) : creal(v));
        if (*line) strcat(line, " ");
        strcat(line, number);
    }
    naive_line(t, line);
}

static inline void naive_write_mtx(const char *path, ref_mat m, const naive_form *form, ref_rng *r)
{
    naive_text t = {.form = form, .r = r}, body = {.form = form, .r = r};
    char line[256];
    long long entries = 0;
    for (int64_t j = 0; j < m.cols; j++)
        for (int64_t i = 0; i < m.rows; i++) {
            bool lower = i > j || (i == j && form->symmetry != WISP_SYM_SKEW);
            if (form->symmetry != WISP_SYM_GENERAL && !lower) continue;
            if (!form->array && REF_AT(m, i, j) == 0) continue;
            naive_entry(&body, i, j, REF_AT(m, i, j));
            entries++;
        }
    naive_form plain = *form;
    plain.messy = false;
    t.form = &plain;
    snprintf(line, sizeof line, "%%%%%s MATRIX %s %s %s", form->messy ? "matrixmarket" : "MatrixMarket",
             form->array ? "array" : "Coordinate", naive_fields[form->field], naive_symmetries[form->symmetry]);
    naive_line(&t, line);
    t.form = form;
    if (form->array)
        snprintf(line, sizeof line, "%lld %lld", (long long)m.rows, (long long)m.cols);
    else
        snprintf(line, sizeof line, "%lld %lld %lld", (long long)m.rows, (long long)m.cols, entries);
    naive_line(&t, line);
    if (body.n > 0) naive_add(&t, body.p);
    while (form->no_newline && strchr("\r\n", t.p[t.n - 1])) t.n--;
    size_t path_length = strlen(path);
    if (strcmp(path + path_length - 3, ".gz") == 0) {
        /* In two members, as gzip allows. */
        size_t half = t.n / 2;
        gzFile f = gzopen(path, "wb");
        gzwrite(f, t.p, (unsigned)half);
        gzclose(f);
        f = gzopen(path, "ab");
        gzwrite(f, t.p + half, (unsigned)(t.n - half));
        gzclose(f);
    } else {
        FILE *f = fopen(path, "wb");
        assert_int_equal(fwrite(t.p, 1, t.n, f), t.n);
        fclose(f);
    }
    free(t.p);
    free(body.p);
}

static inline int naive_word(const char *word, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(word, list[i]) == 0) return i;
    fail_msg("unknown word %s", word);
    return -1;
}

/* Plain and gzip, through zlib. */
static inline ref_mat naive_read_mtx(const char *path, naive_form *form)
{
    gzFile f = gzopen(path, "rb");
    if (!f) fail_msg("%s cannot be opened", path);
    char line[1024], format[64], field[64], symmetry[64];
    assert_non_null(gzgets(f, line, sizeof line));
    assert_int_equal(sscanf(line, "%%%%MatrixMarket matrix %63s %63s %63s", format, field, symmetry), 3);
    *form = (naive_form){.array = strcasecmp(format, "array") == 0, .field = naive_word(field, naive_fields, 4)};
    form->symmetry = (wisp_symmetry)naive_word(symmetry, naive_symmetries, 4);
    while (gzgets(f, line, sizeof line) && *line == '%') {}
    long long rows, cols, entries = 0;
    assert_true(sscanf(line, "%lld %lld %lld", &rows, &cols, &entries) >= 2);
    ref_mat m = ref_new(rows, cols);
    bool general = form->symmetry == WISP_SYM_GENERAL;
    long long i = 0, j = 0, n = 0;
    if (form->symmetry == WISP_SYM_SKEW) i = 1;
    while (gzgets(f, line, sizeof line)) {
        double re = 1, im = 0;
        int got, used = 0;
        if (!form->array) {
            assert_int_equal(sscanf(line, "%lld %lld%n", &i, &j, &used), 2);
            i--, j--;
        }
        got = sscanf(line + used, "%lf %lf", &re, &im);
        assert_int_equal(NAIVE_MAX(got, 0), form->field == FIELD_PATTERN ? 0 : form->field == FIELD_COMPLEX ? 2 : 1);
        cplx v = naive_complex(re, im);
        assert_true(i < rows && j < cols && (general || i >= j));
        REF_AT(m, i, j) += v;
        if (!general && i != j) REF_AT(m, j, i) += naive_mirror(v, form->symmetry);
        n++;
        if (form->array && ++i == rows) {
            j++;
            i = general ? 0 : form->symmetry == WISP_SYM_SKEW ? j + 1 : j;
        }
    }
    if (!form->array) assert_int_equal(n, entries);
    gzclose(f);
    return m;
}

/* ---- GHOST ------------------------------------------------------------------------------------------ */

typedef struct {
    bool swap, upper;
    int base, ptr_base;
} naive_ghost;

static inline void naive_bytes(FILE *f, const void *p, size_t size, bool swap)
{
    char byte[8];
    for (size_t i = 0; i < size; i++) byte[i] = ((const char *)p)[swap ? size - 1 - i : i];
    fwrite(byte, 1, size, f);
}

static inline void naive_write_crs(const char *path, ref_mat m, wisp_type type, wisp_symmetry symmetry,
                                   const naive_ghost *g)
{
    static const int32_t symmetry_bits[] = {1, 2, 8, 4};
    bool is_double = type == WISP_D || type == WISP_Z, is_complex = wisp_type_is_complex(type);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    const int32_t small[5] = {g->swap, 1, g->base, symmetry_bits[symmetry], (is_double ? 2 : 1) | (is_complex ? 8 : 4)};
    for (int pass = -1; pass < 4; pass++) {
        int64_t n = g->ptr_base && g->base ? g->base : 0;
        for (int64_t i = 0; i < m.rows; i++) {
            if (pass == 1) naive_bytes(f, &n, 8, g->swap);
            for (int64_t j = 0; j < m.cols; j++) {
                cplx v = REF_AT(m, i, j);
                if (v == 0 || (symmetry != WISP_SYM_GENERAL && (g->upper ? i > j : i < j))) continue;
                int64_t col = j + g->base;
                n++;
                if (pass == 2) naive_bytes(f, &col, 8, g->swap);
                for (int k = 0; pass == 3 && k <= is_complex; k++) {
                    double x = k ? cimag(v) : creal(v);
                    float y = (float)x;
                    if (is_double)
                        naive_bytes(f, &x, 8, g->swap);
                    else
                        naive_bytes(f, &y, 4, g->swap);
                }
            }
        }
        if (pass == 1) naive_bytes(f, &n, 8, g->swap);
        if (pass != -1) continue;
        n -= g->ptr_base && g->base ? g->base : 0;
        for (int k = 0; k < 5; k++) naive_bytes(f, &small[k], 4, g->swap);
        naive_bytes(f, &m.rows, 8, g->swap);
        naive_bytes(f, &m.cols, 8, g->swap);
        naive_bytes(f, &n, 8, g->swap);
    }
    fclose(f);
}
#endif
