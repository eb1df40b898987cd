/* Looks for repetition in a matrix, so that it may be stored without. Rows of lattices and stencils repeat as a whole:
   their offsets from the diagonal and their values. A disordered lattice differs in its diagonal alone, or repeats in
   its offsets alone (lists). Else values may be few, and columns near the diagonal. Everything is kept bit by bit. */
#include "compress.h"
#include <string.h>

enum { CODES = 256 };

/* ---- rows that repeat -------------------------------------------------------------------------- */

typedef struct {
    const wisp_mat *A;
    wisp__compression *c;
    const wisp__look *look;
    uint16_t *id;       /* of each row */
    size_t value_bytes; /* of an entry in a row's string */
    atomic_bool no_use; /* what is looked for is not there */
    bool short_columns_too;
    atomic_bool far;  /* a column does not fit into 16 bits */
    atomic_bool kept; /* a diagonal can't be apart */
} search;

static size_t row_string_bytes(const search *s, int n) { return (size_t)n * (sizeof(int32_t) + s->value_bytes); }

/* No more than there can be: a small matrix takes little memory while it is made, too. */
static int64_t most_row_bytes(const wisp__tuned *t, int64_t entries, size_t value_bytes)
{
    const int64_t all = entries * (int64_t)(sizeof(int32_t) + value_bytes);
    return WISP__MIN(all, WISP__MAX(t->compress.strings, all / t->compress.share));
}

/* Of row number i of those looked at: offsets, then values, if these count; the diagonal's value goes apart. False if
   it can't: it is complex, or the row has none, and what is not finite in x would reach it. */
static bool row_string(const search *s, const wisp__row_reader *reader, int64_t i, int n, char *string)
{
    const int64_t row = wisp__look_place(s->look, i);
    const wisp_type type = s->A->type;
    const size_t size = s->value_bytes;
    char *value = string + (size_t)n * sizeof(int32_t);
    bool kept = s->c->apart;
    for (int k = 0; k < n; k++, value += size) {
        const int32_t offset = reader->merged[k] - (int32_t)row;
        wisp_scalar v = reader->sum[k];
        memcpy(string + (size_t)k * sizeof offset, &offset, sizeof offset);
        if (!size) continue;
        if (s->c->apart && offset == 0) {
            const wisp_type real = wisp__real_type(type);
            if (v.im != 0) return false;
            wisp__store(real, (char *)s->c->diagonal + (size_t)i * wisp_type_size(real), v);
            v = (wisp_scalar){0, 0};
            kept = false;
        }
        wisp__value bytes; /* `value` may lie between doubles */
        wisp__store(type, &bytes, v);
        memcpy(value, &bytes, size);
    }
    return !kept;
}

static wisp_status search_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    search *s = arg;
    const wisp_mat *A = s->A;
    char *string = NULL;
    int room = 0;
    wisp_status status = WISP_OK;
    for (int64_t i = begin; i < end && !atomic_load(&s->no_use); i++) {
        int n;
        const int64_t user = wisp__map_row(A->map, wisp__look_place(s->look, i));
        WISP_TRY(wisp__read_row(reader, A->ctx, user, &n));
        if (s->look->len) { /* else the matrix is not made, but planned */
            WISP_TRY(wisp__same_count(A->ctx, reader->src, user, reader->raw, s->look->len[user]));
            WISP_TRY(wisp__refuse_too_large(reader, A->ctx, user, n, A->type));
        }
        if (n > room || !string) {
            wisp_free(A->ctx, string);
            room = n + n / 2;
            WISP_TRY(wisp__alloc_raw(A->ctx, &string, WISP__MAX(row_string_bytes(s, room), 1), 1));
        }
        const int id =
            row_string(s, reader, i, n, string) ? wisp__strings_add(&s->c->rows, string, row_string_bytes(s, n)) : -1;
        if (id < 0)
            atomic_store(&s->no_use, true);
        else
            s->id[i] = (uint16_t)id;
    }
out:
    wisp_free(A->ctx, string);
    return status;
}

/* Looks for rows that repeat, with values of so many bytes; *id, c->pattern or c->list, is NULL if they do not. */
static wisp_status find_rows(wisp__compression *c, const wisp_mat *A, const wisp_src *src, const wisp__look *look,
                             int64_t entries, size_t value_bytes, bool apart, uint16_t **id)
{
    wisp_ctx *ctx = A->ctx;
    search s = {.A = A, .c = c, .look = look, .value_bytes = value_bytes};
    const int64_t rows = look->rows;
    wisp_status status;
    const size_t real = wisp_type_size(wisp__real_type(A->type));
    c->apart = apart;
    WISP_TRY(wisp__strings_open(&c->rows, ctx, WISP__MIN(UINT16_MAX, rows),
                                most_row_bytes(wisp__tuned_of(ctx), entries, value_bytes)));
    WISP_TRY(wisp_alloc(ctx, id, (size_t)rows, sizeof **id));
    s.id = *id;
    if (apart) WISP_TRY(wisp_alloc(ctx, &c->diagonal, (size_t)rows, real));
    WISP_TRY(wisp__for_rows(ctx, "comparing", src, A->col_map, rows, WISP__PIECE, search_rows, &s));
out:
    /* Patterns of single rows are no repetition; those of a small matrix all have room. */
    if (status != WISP_OK || atomic_load(&s.no_use) || (value_bytes && 2 * atomic_load(&c->rows.strings) > rows))
        wisp__compression_free(c, ctx);
    return status;
}

/* ---- values that repeat, columns near the diagonal ---------------------------------------------- */

static void no_values(wisp__compression *c, wisp_ctx *ctx)
{
    wisp__strings_close(&c->values, ctx);
    c->codes = c->short_columns = c->apart = false;
}

static bool no_codes(search *s) { return wisp__strings_full(&s->c->values) || atomic_load(&s->kept); }

static wisp_status search_values(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    search *s = arg;
    const wisp_mat *A = s->A;
    const size_t size = wisp_type_size(A->type);
    for (int64_t i = begin; i < end && !atomic_load(&s->no_use); i++) {
        int n;
        const int64_t row = wisp__look_place(s->look, i);
        wisp_status status = wisp__read_row(reader, A->ctx, wisp__map_row(A->map, row), &n);
        if (status != WISP_OK) return status;
        bool kept = s->c->apart;
        for (int k = 0; k < n; k++) {
            const int64_t offset = reader->merged[k] - row;
            if (offset < INT16_MIN || offset > INT16_MAX) atomic_store(&s->far, true);
            wisp_scalar v = reader->sum[k];
            if (s->c->apart && offset == 0) {
                kept = v.im != 0;
                v = (wisp_scalar){0, 0};
            }
            wisp__value bytes;
            wisp__store(A->type, &bytes, v);
            wisp__strings_add(&s->c->values, (const char *)&bytes, size);
        }
        if (kept) atomic_store(&s->kept, true);
        if (no_codes(s) && (!s->short_columns_too || atomic_load(&s->far))) atomic_store(&s->no_use, true);
    }
    return WISP_OK;
}

static wisp_status find_values(wisp__compression *c, const wisp_mat *A, const wisp_src *src, const wisp__look *look,
                               bool apart)
{
    wisp_ctx *ctx = A->ctx;
    /* Short columns alone are worth a pass only when nothing else may follow. */
    search s = {.A = A, .c = c, .look = look, .short_columns_too = !c->list && (apart || !A->square)};
    wisp_status status;
    c->apart = apart;
    WISP_TRY(wisp__strings_open(&c->values, ctx, CODES, (int64_t)CODES * (int64_t)wisp_type_size(A->type)));
    wisp__compression_code(c, A->type, (wisp_scalar){0, 0}); /* of padding */
    WISP_TRY(wisp__for_rows(ctx, "comparing", src, A->col_map, look->rows, WISP__PIECE, search_values, &s));
    c->codes = !no_codes(&s);
    c->short_columns = !c->list && !atomic_load(&s.far);
    if (!c->codes) c->apart = false;
out:
    if (status != WISP_OK || atomic_load(&s.no_use) || !(c->codes || c->short_columns)) no_values(c, ctx);
    return status;
}

uint8_t wisp__compression_code(wisp__compression *c, wisp_type type, wisp_scalar value)
{
    wisp__value bytes;
    wisp__store(type, &bytes, value);
    return (uint8_t)wisp__strings_add(&c->values, (const char *)&bytes, wisp_type_size(type));
}

/* ---- the choice --------------------------------------------------------------------------------- */

static int64_t rows_bytes(wisp__compression *c, int64_t rows)
{
    const int64_t strings = atomic_load(&c->rows.strings);
    return rows * 2 + strings * 8 + c->rows.begin[strings];
}

/* Bytes of the rows looked at, in what was found. */
static int64_t bytes_of(wisp__compression *c, const wisp_mat *A, int64_t rows, int64_t entries)
{
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    const int64_t diagonal = c->apart ? rows * real : 0;
    if (c->pattern) return rows_bytes(c, rows) + diagonal;
    const int64_t columns = c->list ? rows_bytes(c, rows) : entries * (c->short_columns ? 2 : 4);
    return entries * (c->codes ? 1 : size) + columns + diagonal;
}

static void drop_if_little(wisp__compression *c, const wisp_mat *A, int64_t rows, int64_t entries, bool always)
{
    const double worth_it = wisp__tuned_of(A->ctx)->compress.worth_it;
    const int64_t sell = entries * ((int64_t)wisp_type_size(A->type) + 4);
    if (!always && (double)bytes_of(c, A, rows, entries) > worth_it * (double)sell) wisp__compression_free(c, A->ctx);
}

/* Lists that hardly repeat are more than short columns would be. By default rows of one list must follow one another.
 */
static bool lists_pay(wisp__compression *c, const wisp_mat *A, int64_t rows, int64_t entries, bool always)
{
    const wisp__tuned *t = wisp__tuned_of(A->ctx);
    const int64_t run = A->log_c ? t->compress.list_run : A->width <= 2 ? t->compress.list_run_narrow : 0;
    int64_t runs = 0;
    for (int64_t i = 1; i < rows; i++) runs += c->list[i] != c->list[i - 1];
    return rows_bytes(c, rows) <= entries * (int64_t)sizeof(int16_t) && (always || runs * run <= rows);
}

/* To need less memory is a gain, not a need. */
static wisp_status or_without(wisp_ctx *ctx, wisp_status status, bool needed)
{
    if (status != WISP_ERR_NOMEM || needed) return status;
    wisp_ctx_logf(ctx, WISP_LOG_PERF, "no memory to look for repetition in the matrix; it is stored as it is");
    return WISP_OK;
}

wisp_status wisp__compression_find_rows(wisp__compression *c, const wisp_mat *A, const wisp_src *src,
                                        const wisp__look *look, int64_t entries, unsigned kinds, bool always)
{
    wisp_status status = WISP_OK;
    const size_t size = wisp_type_size(A->type);
    const int64_t rows = look->rows;
    const bool patterns = kinds & WISP__PATTERNS, lists = kinds & WISP__LISTS;
    if (patterns) WISP_TRY(find_rows(c, A, src, look, entries, size, false, &c->pattern));
    if (patterns && !c->pattern && A->map == A->col_map)
        WISP_TRY(find_rows(c, A, src, look, entries, size, true, &c->pattern));
    if (c->pattern) drop_if_little(c, A, rows, entries, always);
    if (lists && !c->pattern) WISP_TRY(find_rows(c, A, src, look, entries, 0, false, &c->list));
    if (c->list && !lists_pay(c, A, rows, entries, always)) wisp__compression_free(c, A->ctx);
    if (c->list) drop_if_little(c, A, rows, entries, always);
out:
    return or_without(A->ctx, status, always || look->needed);
}

wisp_status wisp__compression_find_values(wisp__compression *c, const wisp_mat *A, const wisp_src *src,
                                          const wisp__look *look, int64_t entries, bool always)
{
    const int64_t size = (int64_t)wisp_type_size(A->type), rows = look->rows;
    wisp_status status;
    if (!(A->ctx->backend->kinds & WISP__CODED)) return WISP_OK;
    WISP_TRY(find_values(c, A, src, look, false));
    if (!c->codes && !c->short_columns && A->map == A->col_map) WISP_TRY(find_values(c, A, src, look, true));
    /* With a diagonal apart, codes may be more than what lists leave. */
    if (c->list && c->codes && bytes_of(c, A, rows, entries) >= entries * size + rows_bytes(c, rows))
        no_values(c, A->ctx);
    drop_if_little(c, A, rows, entries, always);
out:
    return or_without(A->ctx, status, always || look->needed);
}

void wisp__compression_most(const wisp_mat *A, int64_t entries, int64_t *strings, int64_t *bytes)
{
    *strings = WISP__MIN(UINT16_MAX, A->local_rows);
    *bytes = most_row_bytes(wisp__tuned_of(A->ctx), entries, wisp_type_size(A->type));
}

int64_t wisp__compression_search_bytes(const wisp_mat *A, int64_t entries, int64_t max_row, bool apart)
{
    int64_t strings, bytes;
    wisp__compression_most(A, entries, &strings, &bytes);
    const search s = {.value_bytes = wisp_type_size(A->type)};
    const int64_t diagonal = apart ? A->local_rows * (int64_t)wisp_type_size(wisp__real_type(A->type)) : 0;
    const int64_t row = (int64_t)row_string_bytes(&s, 1) * (max_row + max_row / 2); /* each thread's */
    return A->local_rows * (int64_t)sizeof(uint16_t) + diagonal + wisp__strings_most(strings, bytes) +
           A->ctx->threads * row;
}

void wisp__compression_free(wisp__compression *c, wisp_ctx *ctx)
{
    wisp__strings_close(&c->rows, ctx);
    wisp__strings_close(&c->values, ctx);
    wisp_free(ctx, c->pattern);
    wisp_free(ctx, c->list);
    wisp_free(ctx, c->diagonal);
    *c = (wisp__compression){0};
}
