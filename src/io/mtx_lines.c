/* Matrix Market: lines of entries. The parser only finds that a line is bad; a slow one then says why. */
#include "mtx.h"
#include <stdio.h>

static int64_t count_lines(const char *p, const char *end)
{
    int64_t n = 0;
    while (p < end) {
        /* Short sums, which compilers vectorise. */
        const char *stop = end - p > 255 ? p + 255 : end;
        uint8_t some = 0;
        for (; p < stop; p++) some = (uint8_t)(some + (*p == '\n'));
        n += some;
    }
    return n;
}

static inline const char *skip_blanks(const char *p)
{
    while (wisp__blank(*p)) p++;
    return p;
}

/* Past a blank or comment line; NULL if it holds an entry, whose begin is then *p. */
static inline const char *skip_line(const char **p, const char *end)
{
    *p = skip_blanks(*p);
    if (**p == '\n') return *p + 1;
    if (**p == '%') return (const char *)memchr(*p, '\n', (size_t)(end - *p)) + 1;
    return NULL;
}

static inline const char *scan_whole(const char *p, double *v, locale_t c)
{
    const char *end = wisp__scan_real(p, v, c);
    for (p += *p == '+' || *p == '-'; end && p < end; p++)
        if (*p < '0' || *p > '9') return NULL;
    return end;
}

static inline bool diagonal_allowed(const wisp__mtx *m, double re, double im)
{
    if (m->symmetry == WISP_SYM_SKEW) return re == 0 && im == 0;
    return m->symmetry != WISP_SYM_HERMITIAN || im == 0;
}

/* Row and column of an entry, counted from 0; NULL if they are not right. */
static inline const char *scan_place(const wisp__mtx *m, const char *p, int64_t *i, int64_t *j)
{
    p = wisp__scan_index(p, i);
    if (!p || !wisp__blank(*p)) return NULL;
    p = wisp__scan_index(skip_blanks(p), j);
    if (!p) return NULL;
    --*i, --*j;
    if ((uint64_t)*i >= (uint64_t)m->rows || (uint64_t)*j >= (uint64_t)m->cols) return NULL;
    return m->symmetry != WISP_SYM_GENERAL && *j > *i ? NULL : p;
}

/* One entry up to the end of its line; inlined once per kind. */
static inline __attribute__((always_inline)) const char *scan_entry(const wisp__mtx *m, const char *p, int64_t *i,
                                                                    int64_t *j, double *v, int numbers, bool array)
{
    *i = *j = 0;
    v[0] = 1, v[1] = 0;
    if (!array && !(p = scan_place(m, p, i, j))) return NULL;
    for (int k = 0; k < numbers; k++) {
        if ((k > 0 || !array) && !wisp__blank(*p)) return NULL;
        p = skip_blanks(p);
        p = m->integer ? scan_whole(p, v + k, m->c) : wisp__scan_real(p, v + k, m->c);
        if (!p) return NULL;
    }
    if (!array && *i == *j && !diagonal_allowed(m, v[0], v[1])) return NULL;
    p = skip_blanks(p);
    return *p == '\n' ? p + 1 : NULL;
}

static inline __attribute__((always_inline)) void parse(const wisp__mtx *m, wisp__stretch *stretch, int numbers,
                                                        bool array)
{
    wisp__run *run = &stretch->run;
    double *val = run->val;
    const char *p = stretch->begin;
    while (p < stretch->end) {
        const char *line = p, *next = skip_line(&p, stretch->end);
        stretch->lines++;
        if (next) {
            p = next;
            continue;
        }
        int64_t i, j;
        double v[2];
        p = scan_entry(m, p, &i, &j, v, numbers, array);
        if (!p) {
            stretch->bad = line;
            return;
        }
        run->row[run->count] = (int32_t)i;
        run->col[run->count] = (int32_t)j;
        *val++ = v[0];
        if (numbers == 2) *val++ = v[1];
        run->count++;
    }
}

void wisp__mtx_parse(wisp_ctx *ctx, const wisp__mtx *m, wisp__stretch *stretch)
{
    int64_t most = count_lines(stretch->begin, stretch->end);
    stretch->status = wisp__run_alloc(ctx, &stretch->run, m->numbers == 2 ? WISP_Z : WISP_D, most);
    if (stretch->status != WISP_OK) return;
    switch (m->numbers + (m->array ? 3 : 0)) {
    case 0: parse(m, stretch, 0, false); break;
    case 1: parse(m, stretch, 1, false); break;
    case 2: parse(m, stretch, 2, false); break;
    case 4: parse(m, stretch, 1, true); break;
    default: parse(m, stretch, 2, true); break;
    }
}

/* First row that column j of an array file holds. */
static int64_t first_row(const wisp__mtx *m, int64_t j)
{
    return m->symmetry == WISP_SYM_GENERAL ? 0 : m->symmetry == WISP_SYM_SKEW ? j + 1 : j;
}

/* Entries of an array file before column j. */
static int64_t column_begin(const wisp__mtx *m, int64_t j)
{
    int64_t skipped = m->symmetry == WISP_SYM_GENERAL ? 0
                      : m->symmetry == WISP_SYM_SKEW  ? j * (j + 1) / 2
                                                      : j * (j - 1) / 2;
    return j * m->rows - skipped;
}

void wisp__mtx_place(const wisp__mtx *m, wisp__stretch *stretch)
{
    wisp__run *run = &stretch->run;
    double *val = run->val;
    int64_t n = WISP__MIN(run->count, m->entries - stretch->first), kept = 0;
    if (n <= 0) return;
    int64_t lo = 0, hi = m->cols; /* the column: column_begin(lo) <= first < column_begin(hi) */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (column_begin(m, mid) <= stretch->first)
            lo = mid;
        else
            hi = mid;
    }
    int64_t j = lo, i = first_row(m, j) + stretch->first - column_begin(m, j);
    for (int64_t k = 0; k < n; k++) {
        double re = val[k * m->numbers], im = m->numbers == 2 ? val[2 * k + 1] : 0;
        if (i == j && !diagonal_allowed(m, re, im) && stretch->bad_entry < 0) stretch->bad_entry = k;
        run->row[kept] = (int32_t)i;
        run->col[kept] = (int32_t)j;
        val[kept * m->numbers] = re;
        if (m->numbers == 2) val[2 * kept + 1] = im;
        kept += re != 0 || im != 0; /* NaN too */
        if (++i == m->rows) i = first_row(m, ++j);
    }
    run->count = kept;
}

const char *wisp__mtx_line_of(const wisp__stretch *stretch, int64_t entry, int64_t *number)
{
    const char *p = stretch->begin;
    for (*number = 1;; ++*number) {
        const char *line = p, *next = skip_line(&p, stretch->end);
        if (!next && entry-- == 0) return line;
        p = next ? next : (const char *)memchr(p, '\n', (size_t)(stretch->end - p)) + 1;
    }
}

/* ---- the slow parser, for messages ------------------------------------------------------------------ */

typedef struct {
    wisp_ctx *ctx;
    const wisp__mtx *m;
    int64_t number;
} where;

static wisp_status complain(const where *at, const char *format, ...) WISP_PRINTF(2, 3);
static wisp_status complain(const where *at, const char *format, ...)
{
    WISP_FORMATTED(text, 256, format);
    return wisp_ctx_failf(at->ctx, WISP_ERR_FORMAT, "%s:%lld: %s", at->m->path, (long long)at->number, text);
}

static const char *entry_form(const wisp__mtx *m)
{
    static const char *const forms[2][3] = {{"row column", "row column value", "row column real imaginary"},
                                            {"", "value", "real imaginary"}};
    return forms[m->array][m->numbers];
}

static wisp_status explain_index(const where *at, const char **p, const char *name, int64_t size, int64_t *i)
{
    char text[WISP__QUOTE];
    wisp__word w = wisp__next_word(p);
    wisp__quote(text, w);
    if (w.n == 0) return complain(at, "the %s is missing (an entry is '%s')", name, entry_form(at->m));
    const char *digit = w.p + (w.p[0] == '+'), *end = w.p + w.n;
    bool whole = digit < end;
    for (const char *q = digit; q < end; q++) whole = whole && *q >= '0' && *q <= '9';
    if (!whole) return complain(at, "the %s '%s' is not a whole number from 1", name, text);
    end = wisp__scan_index(w.p, i);
    if (!end || *i > size)
        return complain(at, "%s %s is beyond the %lld that line %lld declares", name, text, (long long)size,
                        (long long)at->m->size_line);
    if (*i == 0) return complain(at, "%s 0 (they are counted from 1)", name);
    return WISP_OK;
}

static wisp_status explain_value(const where *at, const char **p, const char *name, double *v)
{
    char text[WISP__QUOTE];
    wisp__word w = wisp__next_word(p);
    wisp__quote(text, w);
    if (w.n == 0) return complain(at, "the %s is missing (an entry is '%s')", name, entry_form(at->m));
    if (wisp__scan_real(w.p, v, at->m->c) != w.p + w.n) return complain(at, "'%s' is not a number", text);
    if (at->m->integer && !scan_whole(w.p, v, at->m->c))
        return complain(at, "'%s' is not a whole number (the field says integer; real takes any number)", text);
    return WISP_OK;
}

wisp_status wisp__mtx_explain(wisp_ctx *ctx, const wisp__mtx *m, const char *line, int64_t number, bool diagonal)
{
    where at = {ctx, m, number};
    const char *p = line;
    int64_t i = 0, j = 1;
    double v[2] = {0, 0};
    wisp_status status;
    if (!m->array) {
        WISP_TRY(explain_index(&at, &p, "row", m->rows, &i));
        WISP_TRY(explain_index(&at, &p, "column", m->cols, &j));
        if (m->symmetry != WISP_SYM_GENERAL && j > i)
            return complain(&at, "entry (%lld,%lld) is above the diagonal (only the lower half is stored)",
                            (long long)i, (long long)j);
    }
    for (int k = 0; k < m->numbers; k++)
        WISP_TRY(explain_value(&at, &p, m->numbers == 1 ? "value" : k ? "imaginary part" : "real part", v + k));
    if (diagonal || i == j) {
        if (m->symmetry == WISP_SYM_SKEW && !diagonal_allowed(m, v[0], v[1]))
            return complain(&at, "a diagonal entry that is not zero (the matrix is skew-symmetric)");
        if (!diagonal_allowed(m, v[0], v[1]))
            return complain(&at, "a diagonal entry with an imaginary part (the matrix is hermitian)");
    }
    char text[WISP__QUOTE];
    wisp__word w = wisp__next_word(&p);
    if (w.n > 0) return complain(&at, "'%s' after the entry (an entry is '%s')", wisp__quote(text, w), entry_form(m));
    status = complain(&at, "this is not an entry (one is '%s')", entry_form(m));
out:
    return status;
}
