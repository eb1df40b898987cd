/* Rows that repeat as a whole, offsets and values: each pattern is stored once. */
#include "store.h"
#include <string.h>

static bool suits(const wisp__compression *c) { return c->pattern; }

static wisp__row row_of(const wisp__stored *s, int log_c, int64_t row)
{
    const int64_t pattern = s->patterns.of[row], at = s->chunk[pattern];
    (void)log_c;
    return (wisp__row){.row = row,
                       .n = (int)(s->chunk[pattern + 1] - at),
                       .columns = {.base = row, .col = s->col + at},
                       .val = s->val,
                       .at = at,
                       .diagonal = s->diagonal};
}

static wisp_status create(wisp_mat *A, wisp__compression *c)
{
    wisp__stored *s = &A->local;
    const wisp__strings *r = &c->rows;
    const size_t size = wisp_type_size(A->type), entry = sizeof(int32_t) + size;
    const int64_t count = atomic_load(&c->rows.strings);
    wisp_status status;
    s->patterns.count = count;
    s->entries = r->begin[count] / (int64_t)entry;
    s->chunks = (A->local_rows + (1 << A->log_c) - 1) >> A->log_c;
    WISP_TRY(wisp__alloc_raw(A->ctx, &s->chunk, (size_t)count + 1, sizeof *s->chunk));
    WISP_TRY(wisp__alloc_raw(A->ctx, &s->col, (size_t)s->entries, sizeof *s->col));
    WISP_TRY(wisp__alloc_raw(A->ctx, &s->val, (size_t)s->entries, size));
    for (int64_t i = 0; i <= count; i++) s->chunk[i] = r->begin[i] / (int64_t)entry;
    for (int64_t i = 0; i < count; i++) {
        const size_t first = (size_t)s->chunk[i], n = (size_t)s->chunk[i + 1] - first;
        const char *string = r->bytes + r->begin[i];
        memcpy(s->col + first, string, n * sizeof(int32_t));
        memcpy((char *)s->val + first * size, string + n * sizeof(int32_t), n * size);
    }
    s->patterns.of = c->pattern, c->pattern = NULL;
    s->diagonal = c->diagonal, c->diagonal = NULL;
    for (int64_t i = 0; i < A->local_rows; i++) s->nnz += row_of(s, A->log_c, i).n;
out:
    return status;
}

static void arrays(wisp__stored *s, wisp__arrays *list) { WISP__ARRAYS(list, &s->patterns.of); }

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__stored *s = &A->local;
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    int64_t sum = s->entries * (4 + size) + (s->patterns.count + all) * 8 + A->local_rows * 2;
    if (s->diagonal) sum += A->local_rows * real;
    return sum;
}

static void add_entries(const wisp__stored *s, wisp__entries *a) { a->pattern = s->patterns.of; }

static void shape(const wisp_mat *A, wisp__shape *m)
{
    m->patterns = true;
    m->bundles = A->prepared && A->prepared->bundles;
}

const wisp__storage wisp__storage_patterns = {
    .kind = WISP__PATTERNS,
    .format = WISP_FORMAT_COMPRESSED,
    .repeats = true,
    .suits = suits,
    .create = create,
    .arrays = arrays,
    .bytes = bytes,
    .row = row_of,
    .renew = wisp__stored_renew,
    .add_entries = add_entries,
    .shape = shape,
};
