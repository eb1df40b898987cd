/* Rows that repeat as a whole, offsets and values: each pattern is stored once. */
#include "../patterns.h"
#include "hints.h"
#include "store.h"
#include <string.h>

static bool suits(const wisp__compression *c) { return c->pattern; }

static wisp__row row_of(const wisp__stored *s, int log_c, int64_t row)
{
    const int64_t pattern = s->patterns.of[row], at = s->chunk[pattern];
    (void)log_c;
    return (wisp__row){.row = row,
                       .n = (int)(s->chunk[pattern + 1] - at),
                       .base = row,
                       .col = s->col + at,
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
    s->period = wisp__period_of(c->pattern, A->local_rows);
    s->patterns.of = c->pattern, c->pattern = NULL;
    s->diagonal = c->diagonal, c->diagonal = NULL;
    for (int64_t i = 0; i < A->local_rows; i++) s->nnz += row_of(s, A->log_c, i).n;
out:
    return status;
}

static wisp_status finish(wisp_mat *A)
{
    wisp_status status;
    WISP_TRY(wisp__find_fresh(A));
    WISP_TRY(wisp__pieces_find(A));
    WISP_TRY(wisp__bundles_find(A));
out:
    return status;
}

static void arrays(wisp__stored *s, wisp__arrays *list)
{
    wisp__pieces *p = s->patterns.pieces;
    wisp__bundles *b = s->patterns.bundles;
    WISP__ARRAYS(list, &s->patterns.of);
    if (p) WISP__ARRAYS(list, &p->first, &p->col, &p->val);
    if (b) WISP__ARRAYS(list, &b->kind, &b->first, &b->offset, &b->take, &b->factor);
}

static void free_structs(wisp_ctx *ctx, wisp__stored *s)
{
    wisp_free(ctx, s->patterns.pieces);
    wisp_free(ctx, s->patterns.bundles);
}

static void own_structs(wisp__host_mat *host)
{
    wisp__patterns *p = &host->mat.local.patterns;
    if (p->pieces) {
        host->pieces = *p->pieces;
        p->pieces = &host->pieces;
    }
    if (p->bundles) {
        host->bundles = *p->bundles;
        p->bundles = &host->bundles;
    }
}

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__stored *s = &A->local;
    const wisp__patterns *p = &s->patterns;
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    const int64_t sharing = p->bundles && !all ? p->bundles->rows : 1; /* rows that share a number */
    int64_t sum = s->entries * (4 + size) + (p->count + all) * 8 + A->local_rows / sharing * 2;
    if (s->diagonal) sum += A->local_rows * real;
    if (all && s->fresh) sum += p->count * 4;
    return all ? sum + wisp__pieces_bytes(A) + wisp__bundles_bytes(A) : sum;
}

static void tell(const wisp__stored *s, wisp__entries *a) { a->pattern = s->patterns.of; }

static void params(const wisp__stored *s, wisp__spmmv_params *p)
{
    p->cpu.pieces = s->patterns.pieces;
    p->cpu.bundles = s->patterns.bundles;
}

static void shape(const wisp_mat *A, wisp__shape *m)
{
    m->patterns = true;
    m->bundles = A->local.patterns.bundles;
}

const wisp__storage wisp__storage_patterns = {
    .kind = WISP__PATTERNS,
    .format = WISP_FORMAT_COMPRESSED,
    .repeats = true,
    .suits = suits,
    .create = create,
    .finish = finish,
    .arrays = arrays,
    .free = free_structs,
    .own = own_structs,
    .bytes = bytes,
    .row = row_of,
    .renew = wisp__stored_renew,
    .tell = tell,
    .params = params,
    .shape = shape,
};
