/* Matrix Market: the banner and the sizes. */
#include "mtx.h"
#include <stdio.h>

static bool is_word(wisp__word w, const char *lower)
{
    size_t i = 0;
    for (; i < w.n && lower[i]; i++) {
        char c = w.p[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c) != lower[i]) return false;
    }
    return i == w.n && !lower[i];
}

/* The number of the word in a list that ends in NULL; -1 if it is none of them. */
static int find_word(wisp__word w, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (is_word(w, list[i])) return i;
    return -1;
}

static wisp_status bad_word(wisp_ctx *ctx, const wisp__mtx *m, const char *what, wisp__word w, const char *choice)
{
    char text[WISP__QUOTE];
    if (w.n == 0)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s:1: the %s is missing after the banner (%s)", m->path, what,
                              choice);
    return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s:1: unknown %s '%s' (%s)", m->path, what, wisp__quote(text, w),
                          choice);
}

static wisp_status check_words(wisp_ctx *ctx, const wisp__mtx *m)
{
    const char *what = NULL;
    if (m->numbers == 0 && m->array)
        what = "an array cannot be a pattern (say coordinate)";
    else if (m->numbers == 0 && m->symmetry > WISP_SYM_SYMMETRIC)
        what = "a pattern is general or symmetric, it has no values to change the sign of";
    else if (m->numbers == 1 && m->symmetry == WISP_SYM_HERMITIAN)
        what = "hermitian needs the field complex (a real matrix is symmetric)";
    return what ? wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s:1: %s", m->path, what) : WISP_OK;
}

const char *const wisp__mtx_symmetry[] = {"general", "symmetric", "hermitian", "skew-symmetric", NULL};

wisp_status wisp__mtx_banner(wisp_ctx *ctx, wisp__mtx *m, const char *line)
{
    static const char *const formats[] = {"coordinate", "array", NULL};
    static const char *const fields[] = {"pattern", "real", "complex", "integer", "unsigned-integer", NULL};
    const char *p = line;
    wisp__word w = wisp__next_word(&p);
    if (!is_word(w, "%%matrixmarket"))
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                              "%s:1: not a Matrix Market file: the first line must begin with %%%%MatrixMarket",
                              m->path);
    if (w = wisp__next_word(&p), !is_word(w, "matrix")) return bad_word(ctx, m, "object", w, "only matrix is known");
    int format = find_word(w = wisp__next_word(&p), formats);
    if (format < 0) return bad_word(ctx, m, "format", w, "coordinate or array");
    int field = find_word(w = wisp__next_word(&p), fields);
    if (field < 0) return bad_word(ctx, m, "field", w, "real, complex, integer or pattern");
    int symmetry = find_word(w = wisp__next_word(&p), wisp__mtx_symmetry);
    if (symmetry < 0) return bad_word(ctx, m, "symmetry", w, "general, symmetric, hermitian or skew-symmetric");
    if (w = wisp__next_word(&p), w.n > 0) return bad_word(ctx, m, "word", w, "the banner ends after the symmetry");
    m->array = format == 1;
    m->integer = field > 2;
    m->numbers = m->integer ? 1 : field;
    m->symmetry = (wisp_symmetry)symmetry;
    return check_words(ctx, m);
}

static wisp_status count_array(wisp_ctx *ctx, wisp__mtx *m)
{
    int64_t all;
    if (__builtin_mul_overflow(m->rows, m->cols, &all))
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW,
                              "%s:%lld: %lld times %lld entries are more than 64 bits can count", m->path,
                              (long long)m->size_line, (long long)m->rows, (long long)m->cols);
    if (m->symmetry == WISP_SYM_GENERAL)
        m->entries = all;
    else if (m->symmetry == WISP_SYM_SKEW)
        m->entries = (all - m->rows) / 2;
    else
        m->entries = (all - m->rows) / 2 + m->rows;
    return WISP_OK;
}

wisp_status wisp__mtx_sizes(wisp_ctx *ctx, wisp__mtx *m, const char *line, int64_t number)
{
    static const char *const names[] = {"rows", "columns", "entries"};
    const char *must = m->array ? "rows columns" : "rows columns entries";
    int64_t size[3] = {0, 0, 0};
    const char *p = line;
    char text[WISP__QUOTE], where[64];
    int count = m->array ? 2 : 3;
    m->size_line = number;
    for (int i = 0; i < count; i++) {
        wisp__word w = wisp__next_word(&p);
        if (w.n == 0)
            return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                                  "%s:%lld: the number of %s is missing (the line of sizes is '%s')", m->path,
                                  (long long)number, names[i], must);
        for (size_t k = w.n > 1 && w.p[0] == '+'; k < w.n; k++) {
            if (w.p[k] < '0' || w.p[k] > '9')
                return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s:%lld: the number of %s cannot be '%s'", m->path,
                                      (long long)number, names[i], wisp__quote(text, w));
            if (__builtin_mul_overflow(size[i], 10, &size[i]) ||
                __builtin_add_overflow(size[i], w.p[k] - '0', &size[i]))
                return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "%s:%lld: the number of %s, '%s', is beyond 64 bits",
                                      m->path, (long long)number, names[i], wisp__quote(text, w));
        }
    }
    wisp__word w = wisp__next_word(&p);
    if (w.n > 0)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s:%lld: '%s' after the sizes (the line is '%s')", m->path,
                              (long long)number, wisp__quote(text, w), must);
    m->rows = size[0], m->cols = size[1], m->entries = size[2];
    if (m->symmetry != WISP_SYM_GENERAL && m->rows != m->cols)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                              "%s:%lld: %lld times %lld cannot be symmetric (only square matrices are)", m->path,
                              (long long)number, (long long)m->rows, (long long)m->cols);
    snprintf(where, sizeof where, ":%lld", (long long)number);
    if (m->array) {
        wisp_status status = count_array(ctx, m);
        if (status != WISP_OK) return status;
    }
    return wisp__check_size(ctx, m->path, where, m->rows, m->cols);
}
