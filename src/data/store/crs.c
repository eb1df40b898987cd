/* CRS arrays of the user's in place, as SELL-1-1. All of them stay the user's: nothing is made, freed or written. */
#include "../arrays.h"
#include "store.h"

/* The 32-bit numbers of a column, of which the one that counts comes first or last. No column is beyond 32 bits. */
static int log_words(const wisp_crs *a) { return a->col_int == WISP_INT64; }
static const int32_t *columns(const wisp_crs *a)
{
    static const int32_t none[2];
    const int32_t *col = a->col ? a->col : none;
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? col + log_words(a) : col;
}

void wisp__crs_place(wisp_mat *A, const wisp_crs *crs)
{
    A->local.how = &wisp__storage_crs;
    A->local.crs = *crs;
    A->local.chunks = crs->rows;
    A->nnz = A->local.entries = A->local.nnz = wisp__arrays_begin(crs, crs->rows);
}

static int64_t bytes_of(wisp_int kind) { return kind == WISP_INT32 ? 4 : 8; }

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp_crs *a = &A->local.crs;
    return A->local.nnz * (bytes_of(a->col_int) + (int64_t)wisp_type_size(A->type)) +
           (a->rows + all) * bytes_of(a->rowptr_int);
}

static wisp__row row_of(const wisp__stored *s, int log_c, int64_t row)
{
    const wisp_crs *a = &s->crs;
    const int64_t at = wisp__arrays_begin(a, row);
    (void)log_c;
    return (wisp__row){.row = row,
                       .n = (int)(wisp__arrays_begin(a, row + 1) - at),
                       .columns = {.log_step = log_words(a), .col = columns(a) + (at << log_words(a))},
                       .val = a->val,
                       .at = at};
}

static void add_entries(const wisp__stored *s, wisp__entries *a)
{
    const wisp_crs *crs = &s->crs;
    if (crs->rowptr_int == WISP_INT32)
        a->chunk_32 = crs->rowptr;
    else
        a->chunk = crs->rowptr;
    a->col = columns(crs);
    a->log_words = log_words(crs);
    a->val = crs->val;
}

const wisp__storage wisp__storage_crs = {
    .kind = WISP__SELL,
    .format = WISP_FORMAT_SELL,
    .bytes = bytes,
    .row = row_of,
    .add_entries = add_entries,
};
