/* Pieces: the real and the imaginary parts of pattern entries as products of their own, without those that are zero
   (kernel/spmmv.cpu.h). */
#include "../patterns.h"

static const double most = 1.5; /* pieces of an entry: each loads a part of x */

static int64_t count(const wisp_mat *A)
{
    int64_t n = 0;
    for (int64_t e = 0; e < A->local.entries; e++)
        for (int part = 0; part < 2; part++) n += wisp__is_piece(&A->local, e, wisp__pattern_value(A, e), part);
    return n;
}

static void fill(const wisp_mat *A, wisp__pieces *p)
{
    const wisp__stored *s = &A->local;
    const wisp_type real = wisp__real_type(A->type);
    int64_t n = 0;
    for (int64_t i = 0; i < s->patterns.count; i++)
        for (int part = 0; part < 2; part++) {
            p->first[2 * i + part] = n;
            for (int64_t e = s->chunk[i]; e < s->chunk[i + 1]; e++) {
                const wisp_scalar v = wisp__pattern_value(A, e);
                if (!wisp__is_piece(s, e, v, part)) continue;
                p->col[n] = s->col[e];
                wisp__store(real, (char *)p->val + (size_t)n * wisp_type_size(real),
                            (wisp_scalar){part ? v.im : v.re, 0});
                n++;
            }
        }
    p->first[2 * s->patterns.count] = p->entries = n;
}

static void free_pieces(wisp_ctx *ctx, wisp__pieces *p)
{
    if (!p) return;
    wisp_free(ctx, p->first);
    wisp_free(ctx, p->col);
    wisp_free(ctx, p->val);
    wisp_free(ctx, p);
}

static wisp_status find(wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    const wisp__stored *s = &A->local;
    wisp__pieces *p = NULL;
    wisp_status status;
    const int64_t n = count(A);
    if ((double)n > most * (double)s->entries) return WISP_OK;
    WISP_TRY(wisp_alloc(ctx, &p, 1, sizeof *p));
    WISP_TRY(wisp__alloc_raw(ctx, &p->first, 2 * (size_t)s->patterns.count + 1, sizeof *p->first));
    WISP_TRY(wisp__alloc_raw(ctx, &p->col, (size_t)WISP__MAX(n, 1), sizeof *p->col));
    WISP_TRY(wisp__alloc_raw(ctx, &p->val, (size_t)WISP__MAX(n, 1), wisp_type_size(wisp__real_type(A->type))));
    fill(A, p);
    A->local.patterns.pieces = p;
    p = NULL;
out:
    free_pieces(ctx, p);
    return status;
}

wisp_status wisp__pieces_find(wisp_mat *A)
{
    if (!wisp_type_is_complex(A->type)) return WISP_OK;
    const wisp_status status = find(A);
    if (status != WISP_ERR_NOMEM) return status;
    wisp_ctx_log(A->ctx, WISP_LOG_PERF, "no memory for the pieces of entries; they are taken as they are");
    return WISP_OK;
}

int64_t wisp__pieces_bytes(const wisp_mat *A)
{
    const wisp__pieces *p = A->local.patterns.pieces;
    if (!p) return 0;
    const int64_t real = (int64_t)wisp_type_size(wisp__real_type(A->type)), first = 2 * A->local.patterns.count + 1;
    return first * (int64_t)sizeof *p->first + p->entries * (4 + real);
}

int64_t wisp__pieces_most(wisp_type type, int64_t patterns, int64_t entries)
{
    const int64_t real = (int64_t)wisp_type_size(wisp__real_type(type)), n = (int64_t)(most * (double)entries);
    if (!wisp_type_is_complex(type)) return 0;
    return (2 * patterns + 1) * (int64_t)sizeof(int64_t) + n * (4 + real) + (int64_t)sizeof(wisp__pieces);
}
