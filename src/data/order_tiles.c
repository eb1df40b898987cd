/* Tiles: pieces of a level, carried from level to level along the entries, so that each becomes a pencil. */
#include "order.h"
#include <string.h>

typedef struct {
    const wisp__sell *g;
    const wisp__levels *v;
    int32_t pieces, *label;
    int64_t *size;   /* [pieces] rows of the level before */
    int64_t unheard; /* rows of this level without a neighbour in the level before */
} carrier;

static inline int64_t row_at(const wisp__levels *v, int64_t place) { return v->row ? v->row[place] : place; }

/* The label that most of a row's neighbours in places [begin, end) have, in a tie the rarest; -1: there are none. */
static int32_t elect(const carrier *c, int64_t row, int64_t begin, int64_t end)
{
    enum { PARTIES = 16 };
    int32_t party[PARTIES], votes[PARTIES], n = 0, best = -1;
    const int64_t first = c->g->chunk[row];
    for (int32_t e = 0; e < c->g->row_len[row]; e++) {
        const int32_t to = c->g->col[first + e];
        const int64_t place = c->v->place ? c->v->place[to] : to;
        if (place < begin || place >= end) continue;
        int32_t i = 0;
        while (i < n && party[i] != c->label[to]) i++;
        if (i == PARTIES) continue;
        if (i == n) party[n] = c->label[to], votes[n++] = 0;
        votes[i]++;
    }
    for (int32_t i = 0; i < n; i++)
        if (best < 0 || votes[i] > votes[best] || (votes[i] == votes[best] && c->size[party[i]] < c->size[party[best]]))
            best = i;
    return best < 0 ? -1 : party[best];
}

/* Rows that heard nothing go with the row before them; a level of which most did is cut anew. */
static void finish_level(carrier *c, int64_t begin, int64_t end)
{
    const bool anew = 2 * c->unheard > end - begin;
    memset(c->size, 0, (size_t)c->pieces * sizeof *c->size);
    int32_t last = 0;
    for (int64_t i = begin; i < end; i++) {
        int32_t *label = c->label + row_at(c->v, i);
        if (*label < 0) *label = anew ? (int32_t)((i - begin) * c->pieces / WISP__MAX(c->v->widest, 1)) : last;
        last = *label;
        c->size[last]++;
    }
    c->unheard = 0;
}

static void cut_level(carrier *c, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) c->label[row_at(c->v, i)] = -1;
    c->unheard = end - begin;
    finish_level(c, begin, end);
}

/* Level `to` from level `from`, by all threads of a parallel region. */
static void carry(carrier *c, int64_t from, int64_t to)
{
    const int64_t *b = c->v->begin;
    int64_t unheard = 0;
#pragma omp for schedule(static) nowait
    for (int64_t i = b[to]; i < b[to + 1]; i++) {
        const int64_t row = row_at(c->v, i);
        const int32_t label = elect(c, row, b[from], b[from + 1]);
        c->label[row] = label;
        unheard += label < 0;
    }
#pragma omp atomic
    c->unheard += unheard;
#pragma omp barrier
#pragma omp single
    finish_level(c, b[to], b[to + 1]);
}

wisp_status wisp__tiles_label(wisp_ctx *ctx, const wisp__sell *graph, const wisp__levels *v, int32_t pieces,
                              int32_t *label)
{
    enum { WORTH_A_TEAM = 1024 }; /* rows of a level, for there is a barrier after each */
    carrier c = {graph, v, pieces, label, NULL, 0};
    wisp_status status;
    int64_t start = 0;
    const int threads = v->widest < WORTH_A_TEAM ? 1 : ctx->threads;
    WISP_TRY(wisp_alloc(ctx, &c.size, (size_t)pieces, sizeof *c.size));
    while (start < v->levels && v->begin[start + 1] - v->begin[start] < v->widest) start++;
    if (start == v->levels) goto out;
    cut_level(&c, v->begin[start], v->begin[start + 1]);
#pragma omp parallel num_threads(threads)
    for (int64_t l = start + 1; l < v->levels; l++) carry(&c, l - 1, l);
    cut_level(&c, v->begin[start], v->begin[start + 1]); /* the same again, for its sizes */
#pragma omp parallel num_threads(threads)
    for (int64_t l = start - 1; l >= 0; l--) carry(&c, l + 1, l);
out:
    wisp_free(ctx, c.size);
    return status;
}

void wisp__tiles_sort(int64_t rows, const wisp__levels *v, const int32_t *label, int32_t pieces, int shift,
                      int32_t *user, int64_t *begin)
{
    const int32_t tiles = ((pieces - 1) >> shift) + 1;
    memset(begin, 0, ((size_t)tiles + 1) * sizeof *begin);
    for (int64_t i = 0; i < rows; i++) begin[(label[i] >> shift) + 1]++;
    for (int32_t t = 0; t < tiles; t++) begin[t + 1] += begin[t];
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = row_at(v, i);
        user[begin[label[row] >> shift]++] = (int32_t)row;
    }
    for (int32_t t = tiles; t > 0; t--) begin[t] = begin[t - 1];
    begin[0] = 0;
}
