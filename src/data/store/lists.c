/* Rows whose columns repeat: lists of offsets from the diagonal that rows share. Values are as in SELL, or codes. */
#include "store.h"
#include <string.h>

static bool suits(const wisp__compression *c) { return c->list; }

static wisp_status create(wisp_mat *A, wisp__compression *c)
{
    wisp__stored *s = &A->local;
    wisp__lists *l = &s->lists;
    const wisp__strings *r = &c->rows;
    const int64_t size = sizeof *s->col;
    wisp_status status;
    l->count = atomic_load(&r->strings);
    l->entries = r->begin[l->count] / size;
    WISP_TRY(wisp__alloc_raw(A->ctx, &l->first, (size_t)l->count + 1, sizeof *l->first));
    WISP_TRY(wisp__alloc_raw(A->ctx, &s->col, (size_t)WISP__MAX(r->begin[l->count], size), 1));
    for (int64_t i = 0; i <= l->count; i++) l->first[i] = r->begin[i] / size;
    memcpy(s->col, r->bytes, (size_t)r->begin[l->count]);
    l->of = c->list, c->list = NULL;
    wisp__strings_close(&c->rows, A->ctx);
    WISP_TRY(wisp__chunks_create(A, c));
out:
    return status;
}

static bool put(wisp_mat *A, wisp__compression *c, const wisp__row_reader *r, int64_t row, int n, int64_t width)
{
    const wisp__lists *l = &A->local.lists;
    if (row < A->local_rows && n != l->first[l->of[row] + 1] - l->first[l->of[row]]) return false;
    wisp__chunks_put(A, c, r, row, n, width);
    return true;
}

static void arrays(wisp__stored *s, wisp__arrays *list) { WISP__ARRAYS(list, &s->lists.of, &s->lists.first); }

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__lists *l = &A->local.lists;
    return A->local_rows * 2 + l->count * 8 + l->entries * 4 + wisp__chunks_bytes(A, all);
}

static wisp__row row_of(const wisp__stored *s, int log_c, int64_t row)
{
    wisp__row r = wisp__chunks_row(s, log_c, row);
    r.columns = (wisp__columns){.base = row, .col = s->col + s->lists.first[s->lists.of[row]]};
    return r;
}

static void add_entries(const wisp__stored *s, wisp__entries *a)
{
    a->list = s->lists.of;
    a->list_first = s->lists.first;
}

static void shape(const wisp_mat *A, wisp__shape *m)
{
    (void)A;
    m->lists = true;
    m->follows = 1;
}

const wisp__storage wisp__storage_lists = {
    .kind = WISP__LISTS,
    .format = WISP_FORMAT_COMPRESSED,
    .repeats = true,
    .suits = suits,
    .create = create,
    .put = put,
    .arrays = arrays,
    .bytes = bytes,
    .row = row_of,
    .update = wisp__chunks_update,
    .renew = wisp__stored_renew,
    .add_entries = add_entries,
    .shape = shape,
};
