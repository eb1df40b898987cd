/* SELL-C-sigma: each entry has its column and its value. */
#include "store.h"

static bool suits(const wisp__compression *c)
{
    (void)c;
    return true;
}

static wisp_status create(wisp_mat *A, wisp__compression *c)
{
    wisp__stored *s = &A->local;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(A->ctx, &s->col, (size_t)s->entries, sizeof *s->col));
    WISP_TRY(wisp__chunks_create(A, c));
out:
    return status;
}

static bool put(wisp_mat *A, wisp__compression *c, const wisp__row_reader *r, int64_t row, int n, int64_t width)
{
    wisp__stored *s = &A->local;
    for (int64_t k = 0; k < width; k++) s->col[wisp__sell_at(s, A->log_c, row, k)] = wisp__padded_col(r, k, n, 0);
    wisp__chunks_put(A, c, r, row, n, width);
    return true;
}

static int column_bytes(const wisp__compression *c)
{
    (void)c;
    return 4;
}

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__stored *s = &A->local;
    return (all ? s->entries : s->nnz) * 4 + wisp__chunks_bytes(A, all);
}

/* Of rows that go a register at a time, the part that does not gather. */
static void shape(const wisp_mat *A, wisp__shape *m)
{
    if (A->prepared) m->follows = A->prepared->follows;
}

const wisp__storage wisp__storage_sell = {
    .kind = WISP__SELL,
    .format = WISP_FORMAT_SELL,
    .suits = suits,
    .create = create,
    .put = put,
    .bytes = bytes,
    .column_bytes = column_bytes,
    .row = wisp__chunks_row,
    .update = wisp__chunks_update,
    .renew = wisp__stored_renew,
    .shape = shape,
};
