/* SELL-C-sigma, and CRS in place as SELL-1-1: each entry has its column and its value. */
#include "hints.h"
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

static wisp_status finish(wisp_mat *A)
{
    const wisp_status status = wisp__find_follow(A);
    return status == WISP_OK ? wisp__find_fresh(A) : status;
}

static void arrays(wisp__stored *s, wisp__arrays *list) { WISP__ARRAYS(list, &s->follow); }

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__stored *s = &A->local;
    const int64_t follow = all && s->follow ? wisp__follow_bytes(A->local_rows) : 0;
    return (all ? s->entries : s->nnz) * 4 + wisp__chunks_bytes(A, all) + follow;
}

static void params(const wisp__stored *s, wisp__spmmv_params *p) { p->cpu.follow = s->follow; }

/* Of rows that go a register at a time, the part that does not gather. */
static void shape(const wisp_mat *A, wisp__shape *m)
{
    const wisp__stored *s = &A->local;
    const int64_t units = wisp__follow_bytes(A->local_rows);
    int64_t halves = 0;
    for (int64_t i = 0; s->follow && i < units; i++)
        halves += __builtin_popcount(s->follow[i] & (K_FOLLOW_FIRST | K_FOLLOW_SECOND));
    m->follows = (double)halves / (double)WISP__MAX(2 * units, 1);
}

const wisp__storage wisp__storage_sell = {
    .kind = WISP__SELL,
    .format = WISP_FORMAT_SELL,
    .suits = suits,
    .create = create,
    .put = put,
    .finish = finish,
    .arrays = arrays,
    .bytes = bytes,
    .row = wisp__chunks_row,
    .update = wisp__chunks_update,
    .renew = wisp__stored_renew,
    .params = params,
    .shape = shape,
};
