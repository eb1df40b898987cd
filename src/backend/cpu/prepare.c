/* What the CPU backend makes of a matrix beside its entries, and what it tells its kernels of a sweep: how to use the
   caches. */
#include "prepare.h"
#include <string.h>

/* ---- rows side by side ------------------------------------------------------------------------ */

/* Rows of [begin, end) in groups that kernels take at once, if patterns, or lists, repeat with that period. */
static int64_t rows_in_groups(const uint16_t *id, int64_t begin, int64_t end, int period)
{
    const int rows = K_MOST_SIDES * period;
    int64_t in_groups = 0;
    for (int64_t i = begin, n; i + rows <= end; i += n) {
        n = memcmp(id + i, id + i + period, (size_t)(rows - period) * sizeof *id) ? 1 : rows;
        if (n == rows) in_groups += rows;
    }
    return in_groups;
}

/* Orbitals of a site, or sublattices, take turns: how far apart rows are that have one pattern, or list. */
static int period_of(const uint16_t *id, int64_t rows)
{
    enum { WINDOW = 1 << 12, WINDOWS = 64 };
    const int64_t windows = WISP__MIN(WINDOWS, rows / WINDOW + 1);
    int64_t most = 0;
    int best = 1;
    for (int period = 1; id && period <= K_MOST_PERIOD; period++) {
        int64_t in_groups = 0;
        for (int64_t w = 0; w < windows; w++) {
            const int64_t begin = rows / windows * w;
            in_groups += rows_in_groups(id, begin, WISP__MIN(begin + WINDOW, rows), period);
        }
        if (in_groups > most) most = in_groups, best = period;
    }
    return best;
}

/* ---- all together ----------------------------------------------------------------------------- */

void wisp__cpu_release(wisp_ctx *ctx, wisp__prepared *made)
{
    wisp__cpu_prepared *m = (wisp__cpu_prepared *)(void *)made;
    if (!m) return;
    wisp_free(ctx, m->fresh);
    wisp_free(ctx, m->follow);
    wisp__pieces_free(ctx, m->pieces);
    wisp__bundles_free(ctx, m->bundles);
    wisp_free(ctx, m);
}

wisp_status wisp__cpu_prepare(wisp_ctx *ctx, const wisp__given *g, wisp__prepared **made)
{
    const wisp__entries *a = g->entries;
    wisp__cpu_prepared *m;
    wisp_status status;
    *made = NULL;
    WISP_TRY(wisp_alloc(ctx, &m, 1, sizeof *m));
    m->repeats = g->repeats;
    m->cols = g->cols;
    m->large = g->stored * (int64_t)wisp_type_size(g->type) > TUNED_FROM_MEMORY;
    m->period = period_of(a->pattern ? a->pattern : a->list, a->rows);
    *made = &m->known;
    WISP_TRY(wisp__follow_find(ctx, g, m));
    WISP_TRY(wisp__fresh_find(ctx, g, m));
    WISP_TRY(wisp__pieces_find(ctx, g, m));
    WISP_TRY(wisp__bundles_find(ctx, g, m));
    m->read = g->bytes - m->known.spared;
out:
    if (status == WISP_OK) return status;
    wisp__cpu_release(ctx, *made);
    *made = NULL;
    return status;
}

void wisp__cpu_foresee(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making)
{
    const bool follows = g->kind == WISP__SELL && 1 << g->log_c >= K_CHUNKED_C && !wisp_type_is_complex(g->type);
    const int64_t most = wisp__pieces_most(g) + wisp__bundles_most(ctx, g);
    const int64_t others = (follows ? wisp__follow_bytes(g->rows) : 0) + (g->foretold < 0 ? most : g->foretold);
    wisp__fresh_bytes(ctx, g, g->bytes + others, kept, making);
    *kept += others;
}

/* ---- of a sweep ------------------------------------------------------------------------------- */

/* Whether y is better written past the caches: it and the matrix that streams by are too large for it to be found there
   again, and it is in whole cache lines. */
static bool writes_past(const wisp__cpu_prepared *m, const wisp__spmmv_params *p)
{
    const int64_t row = p->ld_y * p->real_bytes;
    const bool large = wisp__past_caches(m->read + p->a.rows * row), column = p->ld_y * p->width == p->reals;
    return large && (row % WISP__LINE == 0 || column) && (uintptr_t)p->y % WISP__LINE == 0;
}

/* Whether the blocks beside x and y have no gaps between their rows. */
static bool gapless(const wisp__spmmv_params *p)
{
    bool all = p->ld_prev == p->reals && (!p->u || p->ld_u == p->reals);
    for (int i = 0; i < p->chains; i++) all = all && p->chain[i].ld == p->reals;
    return all;
}

wisp__cpu_params wisp__cpu_advise(wisp_ctx *ctx, const wisp__spmmv_params *p)
{
    const wisp__cpu_prepared *m = wisp__cpu_prepared_of(&p->a);
    if (!m) return (wisp__cpu_params){.period = 1, .gapless = gapless(p)};
    const wisp__facts f = wisp__facts_of(ctx);
    const double size = p->real_bytes, x_bytes = size * (double)m->cols * (double)p->ld_x,
                 y_bytes = size * (double)p->a.rows * (double)p->ld_y;
    return (wisp__cpu_params){
        .follow = m->follow,
        .period = m->period,
        .pieces = m->pieces,
        .bundles = m->bundles,
        .asks_gathered = wisp__asks_gathered(&f, m->repeats, size * (double)p->reals, (double)m->cols, (double)m->read),
        .fresh = m->fresh,
        .streams = m->large,
        .past = writes_past(m, p),
        .gapless = gapless(p),
        .in_turn = wisp__side_by_side(&f, p->width, x_bytes + y_bytes)};
}
