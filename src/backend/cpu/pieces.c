/* Pieces: the real and the imaginary parts of pattern entries as products of their own, without those that are zero
   (kernel/spmmv.cpu.h). */
#include "prepare.h"

static int64_t most_of(int64_t entries) { return entries * TUNED_PIECES / TUNED_PIECES_OF; }

static int64_t count(const wisp__given *g)
{
    const wisp__entries *a = g->entries;
    int64_t n = 0;
    for (int64_t e = 0; e < g->stored; e++)
        for (int part = 0; part < 2; part++) n += wisp__is_piece(a, e, wisp__entry_value(a, g->type, e), part);
    return n;
}

static void fill(const wisp__given *g, wisp__pieces *p)
{
    const wisp__entries *a = g->entries;
    const wisp_type real = wisp__real_type(g->type);
    int64_t n = 0;
    for (int64_t i = 0; i < g->patterns; i++)
        for (int part = 0; part < 2; part++) {
            p->first[2 * i + part] = n;
            for (int64_t e = a->chunk[i]; e < a->chunk[i + 1]; e++) {
                const wisp_scalar v = wisp__entry_value(a, g->type, e);
                if (!wisp__is_piece(a, e, v, part)) continue;
                p->col[n] = a->col[e];
                wisp__store(real, (char *)p->val + (size_t)n * wisp_type_size(real),
                            (wisp_scalar){part ? v.im : v.re, 0});
                n++;
            }
        }
    p->first[2 * g->patterns] = p->entries = n;
}

void wisp__pieces_free(wisp_ctx *ctx, wisp__pieces *p)
{
    if (!p) return;
    wisp_free(ctx, p->first);
    wisp_free(ctx, p->col);
    wisp_free(ctx, p->val);
    wisp_free(ctx, p);
}

static wisp_status find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to)
{
    const size_t patterns = (size_t)g->patterns, real = wisp_type_size(wisp__real_type(g->type));
    wisp__pieces *p = NULL;
    wisp_status status;
    const int64_t n = count(g);
    if (n > most_of(g->stored)) return WISP_OK;
    WISP_TRY(wisp_alloc(ctx, &p, 1, sizeof *p));
    WISP_TRY(wisp__alloc_raw(ctx, &p->first, 2 * patterns + 1, sizeof *p->first));
    WISP_TRY(wisp__alloc_raw(ctx, &p->col, (size_t)WISP__MAX(n, 1), sizeof *p->col));
    WISP_TRY(wisp__alloc_raw(ctx, &p->val, (size_t)WISP__MAX(n, 1), real));
    fill(g, p);
    to->known.bytes += (2 * g->patterns + 1) * (int64_t)sizeof *p->first + n * (4 + (int64_t)real);
    to->pieces = p, p = NULL;
out:
    wisp__pieces_free(ctx, p);
    return status;
}

wisp_status wisp__pieces_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to)
{
    if (g->kind != WISP__PATTERNS || !wisp_type_is_complex(g->type)) return WISP_OK;
    const wisp_status status = find(ctx, g, to);
    if (status != WISP_ERR_NOMEM) return status;
    wisp_ctx_logf(ctx, WISP_LOG_PERF, "no memory for the pieces of entries; they are taken as they are");
    return WISP_OK;
}

int64_t wisp__pieces_most(const wisp__given *g)
{
    const int64_t real = (int64_t)wisp_type_size(wisp__real_type(g->type)), n = most_of(g->stored);
    if (g->kind != WISP__PATTERNS || !wisp_type_is_complex(g->type)) return 0;
    return (2 * g->patterns + 1) * (int64_t)sizeof(int64_t) + n * (4 + real) + (int64_t)sizeof(wisp__pieces);
}
