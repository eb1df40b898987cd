/* Random calls of wisp_fuse, and what they must give, by naive arithmetic. */
#ifndef FUSE_CASES_H
#define FUSE_CASES_H
#include "ref.h"
#include <math.h>
#include <stdlib.h>

enum {
    BLOCKS = 5,
    NANS = BLOCKS,
    ALL,
    MOST_WIDTH = 33,
    MOST_UPDATES = 4,
    MOST_TERMS = 64,
    MOST_DOTS = 64,
    PLACES = MOST_UPDATES * MOST_TERMS + MOST_DOTS
};

/* Blocks to work on: 0 .. BLOCKS - 1, and one of NaN; a column for `rows`. With views, columns of wider blocks. */
typedef struct {
    wisp_ctx *ctx;
    wisp_slot *slot; /* for factors and dots that have places */
    wisp_type type;
    int64_t rows;
    int width;
    wisp_blk *whole[ALL + 1], *b[ALL], *diagonal;
    ref_mat value[ALL], scale; /* what the blocks hold, by the oracle */
} blocks;

static inline blocks blocks_new(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t rows, int width, int views)
{
    blocks s = {.ctx = ctx, .type = type, .rows = rows, .width = width};
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    for (int i = 0; i <= ALL; i++) {
        const int w = i < ALL ? width : 1, margin = views ? i % 3 + 1 : 0;
        REF_OK(ctx, wisp_blk_create(&s.whole[i], ctx, map, type, w + 2 * margin));
        REF_OK(ctx, wisp_blk_fill(s.whole[i], (wisp_scalar){7, 0}));
        REF_OK(ctx, wisp_blk_cols(i < ALL ? &s.b[i] : &s.diagonal, s.whole[i], margin, w));
        ref_mat m = ref_random_block(r, type, rows, w);
        for (int64_t k = 0; i == NANS && k < rows * w; k++) m.a[k] = NAN;
        ref_put(i < ALL ? s.b[i] : s.diagonal, m);
        *(i < ALL ? &s.value[i] : &s.scale) = m;
    }
    wisp_map_free(map);
    REF_OK(ctx, wisp_slot_create(&s.slot, ctx, (int64_t)PLACES * width));
    return s;
}

static inline void blocks_free(blocks *s)
{
    for (int i = 0; i < ALL; i++) wisp_blk_free(s->b[i]), ref_free(s->value[i]);
    for (int i = 0; i <= ALL; i++) wisp_blk_free(s->whole[i]);
    wisp_blk_free(s->diagonal);
    wisp_slot_free(s->slot);
    ref_free(s->scale);
}

/* A call, by numbers of blocks. */
typedef struct {
    int x, scaled, has_factor, placed; /* placed: the factor is in the slot */
    wisp_scalar factor[MOST_WIDTH];
} term;
typedef struct {
    int y, terms;
    term term[MOST_TERMS];
} update;
typedef struct {
    int x, y, scaled, placed; /* placed: it goes to the slot */
} inner;
typedef struct {
    int updates, inners;
    update update[MOST_UPDATES];
    inner inner[MOST_DOTS];
} call;

static inline term random_term(ref_rng *r, wisp_type type, int width, int real)
{
    term t = {.x = (int)ref_below(r, BLOCKS), .scaled = ref_below(r, 4) == 0, .has_factor = ref_below(r, 5) > 0};
    const int each = (int)ref_below(r, 2), zero = ref_below(r, 8) == 0;
    const cplx f = ref_value(r, real ? WISP_D : type);
    for (int j = 0; j < width; j++) t.factor[j] = ref_scalar(zero ? 0 : each ? ref_value(r, real ? WISP_D : type) : f);
    if (zero && t.has_factor) t.x = NANS; /* not to be read */
    return t;
}

static inline void random_call(call *c, ref_rng *r, wisp_type type, int width)
{
    c->updates = (int)ref_below(r, MOST_UPDATES + 1);
    c->inners = (int)ref_below(r, 5);
    for (int i = 0; i < c->updates; i++) {
        update *u = c->update + i;
        const int real = (int)ref_below(r, 2), alike = ref_below(r, 3) == 0;
        u->y = (int)ref_below(r, BLOCKS);
        u->terms = 1 + (int)ref_below(r, 7);
        for (int t = 0; t < u->terms; t++) {
            u->term[t] = random_term(r, type, width, real);
            for (int j = 0; alike && j < width; j++) u->term[t].factor[j] = u->term[t].factor[0];
        }
    }
    for (int i = 0; i < c->inners; i++) {
        c->inner[i] = (inner){(int)ref_below(r, BLOCKS), (int)ref_below(r, BLOCKS), ref_below(r, 4) == 0, 0};
        if (ref_below(r, 3) == 0) c->inner[i].y = c->inner[i].x;
    }
}

/* The same for the library. */
typedef struct {
    wisp_update update[MOST_UPDATES];
    wisp_term term[MOST_UPDATES][MOST_TERMS];
    wisp_inner inner[MOST_DOTS];
    wisp_scalar dot[MOST_DOTS][MOST_WIDTH];
} lists;

static inline wisp_place place_of_dot(const blocks *s, int i)
{
    return (wisp_place){s->slot, (int64_t)(MOST_UPDATES * MOST_TERMS + i) * s->width};
}

static inline void lists_of(lists *l, const call *c, const blocks *s)
{
    for (int i = 0; i < c->updates; i++) {
        const update *u = c->update + i;
        l->update[i] = (wisp_update){s->b[u->y], u->terms, l->term[i]};
        for (int t = 0; t < u->terms; t++) {
            const term *from = u->term + t;
            const wisp_place place = {s->slot, (int64_t)(i * MOST_TERMS + t) * s->width};
            wisp_term *to = &l->term[i][t];
            *to = (wisp_term){.x = s->b[from->x], .rows = from->scaled ? s->diagonal : NULL};
            if (from->placed) {
                REF_OK(s->ctx, wisp_slot_write(place.slot, place.first, s->width, from->factor));
                to->factor_at = place;
            } else if (from->has_factor) {
                to->factor = from->factor;
            }
        }
    }
    for (int i = 0; i < c->inners; i++) {
        const inner *from = c->inner + i;
        l->inner[i] = (wisp_inner){
            .x = s->b[from->x], .y = s->b[from->y], .rows = from->scaled ? s->diagonal : NULL, .dot = l->dot[i]};
        if (from->placed) l->inner[i].dot_at = place_of_dot(s, i);
    }
}

static inline cplx times(const term *t, int j, cplx v)
{
    return t->has_factor || t->placed ? (t->factor[j].re + I * t->factor[j].im) * v : v;
}

/* By the definition, row by row. */
static inline void oracle(const call *c, blocks *s, cplx dot[MOST_DOTS][MOST_WIDTH])
{
    for (int i = 0; i < c->inners; i++)
        for (int j = 0; j < s->width; j++) dot[i][j] = 0;
    for (int64_t row = 0; row < s->rows; row++)
        for (int j = 0; j < s->width; j++) {
            for (int i = 0; i < c->updates; i++) {
                const update *u = c->update + i;
                cplx sum = 0;
                for (int t = 0; t < u->terms; t++)
                    if (u->term[t].x != NANS)
                        sum += times(u->term + t, j, REF_AT(s->value[u->term[t].x], row, j)) *
                               (u->term[t].scaled ? s->scale.a[row] : 1);
                REF_AT(s->value[u->y], row, j) = sum;
            }
            for (int i = 0; i < c->inners; i++)
                dot[i][j] += conj(REF_AT(s->value[c->inner[i].x], row, j)) * REF_AT(s->value[c->inner[i].y], row, j) *
                             (c->inner[i].scaled ? s->scale.a[row] : 1);
        }
}

static inline void margins_are_untouched(const blocks *s)
{
    for (int i = 0; i <= ALL; i++) {
        const int w = i < ALL ? s->width : 1;
        ref_mat m = ref_get(s->whole[i]);
        const int64_t margin = (m.cols - w) / 2;
        for (int64_t row = 0; row < m.rows; row++)
            for (int64_t j = 0; j < m.cols; j++)
                if (j < margin || j >= margin + w) assert_true(REF_AT(m, row, j) == 7);
        ref_free(m);
    }
}

/* Runs a call; all dots are in l then. */
static inline void run_call(const call *c, blocks *s, lists *l)
{
    lists_of(l, c, s);
    REF_OK(s->ctx, wisp_fuse(l->update, c->updates, l->inner, c->inners, 0));
    for (int i = 0; i < c->inners; i++)
        if (c->inner[i].placed) REF_OK(s->ctx, wisp_slot_read(s->slot, place_of_dot(s, i).first, s->width, l->dot[i]));
}

/* All that a call wrote, and that it wrote nothing else. */
static inline void check_results(const call *c, blocks *s, const lists *l)
{
    static _Thread_local cplx want[MOST_DOTS][MOST_WIDTH];
    oracle(c, s, want);
    double largest = 1;
    for (int i = 0; i < BLOCKS; i++) largest = fmax(largest, ref_largest(s->value[i]));
    const double eps = 10 * ref_eps(s->type) * largest;
    for (int i = 0; i < BLOCKS; i++) {
        ref_mat got = ref_get(s->b[i]);
        ref_assert_close("an update", got, s->value[i], eps);
        ref_free(got);
    }
    for (int i = 0; i < c->inners; i++)
        for (int j = 0; j < s->width; j++) {
            const cplx got = l->dot[i][j].re + I * l->dot[i][j].im;
            if (!(cabs(got - want[i][j]) <= eps * largest * largest * (double)(s->rows + 1)))
                fail_msg("%s %s, %lld x %d: dot %d is %g%+gi, should be %g%+gi", wisp_ctx_isa(s->ctx),
                         wisp_type_name(s->type), (long long)s->rows, s->width, i, creal(got), cimag(got),
                         creal(want[i][j]), cimag(want[i][j]));
        }
    margins_are_untouched(s);
}

static inline void check_call(const call *c, blocks *s)
{
    static _Thread_local lists l;
    run_call(c, s, &l);
    check_results(c, s, &l);
}
#endif
