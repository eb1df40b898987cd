/* Storage like SELL, but with short columns, codes in place of values, or both. */
#include "store.h"

static bool suits(const wisp__compression *c) { return c->codes || c->short_columns; }

static wisp_status create(wisp_mat *A, wisp__compression *c)
{
    wisp__stored *s = &A->local;
    const size_t n = (size_t)s->entries;
    wisp_status status;
    if (c->short_columns)
        WISP_TRY(wisp__alloc_raw(A->ctx, &s->short_col, n, sizeof *s->short_col));
    else
        WISP_TRY(wisp__alloc_raw(A->ctx, &s->col, n, sizeof *s->col));
    WISP_TRY(wisp__chunks_create(A, c));
out:
    return status;
}

static bool put(wisp_mat *A, wisp__compression *c, const wisp__row_reader *r, int64_t row, int n, int64_t width)
{
    wisp__stored *s = &A->local;
    const int32_t own = (int32_t)row;
    for (int64_t k = 0; k < width; k++) {
        const int64_t at = wisp__sell_at(s, A->log_c, row, k);
        if (s->short_col)
            s->short_col[at] = (int16_t)(wisp__padded_col(r, k, n, own) - own);
        else
            s->col[at] = wisp__padded_col(r, k, n, 0);
    }
    wisp__chunks_put(A, c, r, row, n, width);
    return true;
}

static void arrays(wisp__stored *s, wisp__arrays *list) { WISP__ARRAYS(list, &s->short_col); }

static int column_bytes(const wisp__compression *c) { return c->short_columns ? 2 : 4; }

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__stored *s = &A->local;
    return (all ? s->entries : s->nnz) * (s->short_col ? 2 : 4) + wisp__chunks_bytes(A, all);
}

static wisp__row row_of(const wisp__stored *s, int log_c, int64_t row)
{
    wisp__row r = wisp__chunks_row(s, log_c, row);
    if (!s->short_col) return r;
    r.columns.base = row;
    r.columns.short_col = s->short_col + r.at;
    return r;
}

static void add_entries(const wisp__stored *s, wisp__entries *a) { a->short_col = s->short_col; }

const wisp__storage wisp__storage_coded = {
    .kind = WISP__CODED,
    .format = WISP_FORMAT_COMPRESSED,
    .suits = suits,
    .create = create,
    .put = put,
    .arrays = arrays,
    .bytes = bytes,
    .column_bytes = column_bytes,
    .row = row_of,
    .update = wisp__chunks_update,
    .renew = wisp__stored_renew,
    .add_entries = add_entries,
};
