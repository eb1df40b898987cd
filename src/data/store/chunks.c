/* Rows in chunks: all but their columns. */
#include "store.h"
#include <string.h>

wisp_status wisp__chunks_create(wisp_mat *A, const wisp__compression *c)
{
    wisp_ctx *ctx = A->ctx;
    wisp__stored *s = &A->local;
    const size_t n = (size_t)s->entries, size = wisp_type_size(A->type);
    wisp_status status;
    s->values = atomic_load(&c->values.strings);
    if (c->codes) {
        WISP_TRY(wisp__alloc_raw(ctx, &s->code, n, sizeof *s->code));
        WISP_TRY(wisp_alloc(ctx, &s->val, (size_t)WISP__MAX(s->values, 1), size));
        memcpy(s->val, c->values.bytes, (size_t)s->values * size);
    } else {
        WISP_TRY(wisp__alloc_raw(ctx, &s->val, n, size));
    }
    if (c->apart)
        WISP_TRY(wisp_alloc(ctx, &s->diagonal, (size_t)A->local_rows, wisp_type_size(wisp__real_type(A->type))));
out:
    return status;
}

void wisp__chunks_put(wisp_mat *A, wisp__compression *c, const wisp__row_reader *r, int64_t row, int n, int64_t width)
{
    wisp__stored *s = &A->local;
    const size_t size = wisp_type_size(A->type);
    for (int64_t k = 0; k < width; k++) {
        const int64_t at = wisp__sell_at(s, A->log_c, row, k);
        wisp_scalar v = k < n ? r->sum[k] : (wisp_scalar){0, 0};
        if (s->diagonal && k < n && r->merged[k] == row) {
            const wisp_type real = wisp__real_type(A->type);
            wisp__store(real, (char *)s->diagonal + (size_t)row * wisp_type_size(real), v);
            v = (wisp_scalar){0, 0};
        }
        if (s->code)
            s->code[at] = wisp__compression_code(c, A->type, v);
        else
            wisp__store(A->type, (char *)s->val + (size_t)at * size, v);
    }
}

int64_t wisp__chunks_bytes(const wisp_mat *A, bool all)
{
    const wisp__stored *s = &A->local;
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    const int64_t entries = all ? s->entries : s->nnz;
    int64_t bytes = (s->code ? entries + s->values * size : entries * size) + (s->chunks + all) * 8;
    if (s->diagonal) bytes += A->local_rows * real;
    if (all) bytes += A->local_rows * 4; /* row_len */
    return bytes;
}

wisp__row wisp__chunks_row(const wisp__stored *s, int log_c, int64_t row)
{
    const int64_t at = wisp__sell_at(s, log_c, row, 0);
    return (wisp__row){.row = row,
                       .n = s->row_len[row],
                       .columns = {.log_step = log_c, .col = s->col + at},
                       .log_val = log_c,
                       .val = s->val,
                       .code = s->code,
                       .at = at,
                       .diagonal = s->diagonal};
}

void wisp__chunks_update(wisp_mat *A, int64_t row, const wisp_scalar *v)
{
    const wisp__stored *s = &A->local;
    const size_t size = wisp_type_size(A->type);
    for (int64_t k = 0; k < s->row_len[row]; k++)
        wisp__store(A->type, (char *)s->val + (size_t)wisp__sell_at(s, A->log_c, row, k) * size, v[k]);
}
