/* Updates and dots in one pass, against naive arithmetic: random lists over types x widths x rows x instruction sets,
   compact blocks and views; long lists; what is promised of bits, NaN, counts and cost; what is refused. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 5, NANS = BLOCKS, ALL, MOST_WIDTH = 33, MOST_UPDATES = 4, MOST_TERMS = 64, MOST_DOTS = 64 };
static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};

/* Blocks to work on: 0 .. BLOCKS - 1, and one of NaN; a column for `rows`. With views, columns of wider blocks. */
typedef struct {
    wisp_ctx *ctx;
    wisp_type type;
    int64_t rows;
    int width;
    wisp_blk *whole[ALL + 1], *b[ALL], *diagonal;
    ref_mat value[ALL], scale; /* what the blocks hold, by the oracle */
} blocks;

static blocks blocks_new(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t rows, int width, int views)
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
    return s;
}

static void blocks_free(blocks *s)
{
    for (int i = 0; i < ALL; i++) wisp_blk_free(s->b[i]), ref_free(s->value[i]);
    for (int i = 0; i <= ALL; i++) wisp_blk_free(s->whole[i]);
    wisp_blk_free(s->diagonal);
    ref_free(s->scale);
}

/* A call, by numbers of blocks. */
typedef struct {
    int x, scaled, has_factor;
    wisp_scalar factor[MOST_WIDTH];
} term;
typedef struct {
    int y, terms;
    term term[MOST_TERMS];
} update;
typedef struct {
    int x, y, scaled;
} inner;
typedef struct {
    int updates, inners;
    update update[MOST_UPDATES];
    inner inner[MOST_DOTS];
} call;

static term random_term(ref_rng *r, wisp_type type, int width, int real)
{
    term t = {.x = (int)ref_below(r, BLOCKS), .scaled = ref_below(r, 4) == 0, .has_factor = ref_below(r, 5) > 0};
    const int each = (int)ref_below(r, 2), zero = ref_below(r, 8) == 0;
    const cplx f = ref_value(r, real ? WISP_D : type);
    for (int j = 0; j < width; j++) t.factor[j] = ref_scalar(zero ? 0 : each ? ref_value(r, real ? WISP_D : type) : f);
    if (zero && t.has_factor) t.x = NANS; /* not to be read */
    return t;
}

static void random_call(call *c, ref_rng *r, wisp_type type, int width)
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
        c->inner[i] = (inner){(int)ref_below(r, BLOCKS), (int)ref_below(r, BLOCKS), ref_below(r, 4) == 0};
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

static void lists_of(lists *l, const call *c, const blocks *s)
{
    for (int i = 0; i < c->updates; i++) {
        const update *u = c->update + i;
        l->update[i] = (wisp_update){s->b[u->y], u->terms, l->term[i]};
        for (int t = 0; t < u->terms; t++)
            l->term[i][t] = (wisp_term){s->b[u->term[t].x], u->term[t].has_factor ? u->term[t].factor : NULL,
                                        u->term[t].scaled ? s->diagonal : NULL};
    }
    for (int i = 0; i < c->inners; i++)
        l->inner[i] =
            (wisp_inner){s->b[c->inner[i].x], s->b[c->inner[i].y], c->inner[i].scaled ? s->diagonal : NULL, l->dot[i]};
}

static cplx times(const term *t, int j, cplx v)
{
    return t->has_factor ? (t->factor[j].re + I * t->factor[j].im) * v : v;
}

/* By the definition, row by row. */
static void oracle(const call *c, blocks *s, cplx dot[MOST_DOTS][MOST_WIDTH])
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

static void margins_are_untouched(const blocks *s)
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

/* Runs a call and checks all that it wrote, and that it wrote nothing else. */
static void check_call(const call *c, blocks *s)
{
    static _Thread_local lists l;
    static _Thread_local cplx want[MOST_DOTS][MOST_WIDTH];
    lists_of(&l, c, s);
    REF_OK(s->ctx, wisp_fuse(l.update, c->updates, l.inner, c->inners, 0));
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
            const cplx got = l.dot[i][j].re + I * l.dot[i][j].im;
            if (!(cabs(got - want[i][j]) <= eps * largest * largest * (double)(s->rows + 1)))
                fail_msg("%s %s, %lld x %d: dot %d is %g%+gi, should be %g%+gi", wisp_ctx_isa(s->ctx),
                         wisp_type_name(s->type), (long long)s->rows, s->width, i, creal(got), cimag(got),
                         creal(want[i][j]), cimag(want[i][j]));
        }
    margins_are_untouched(s);
}

static void random_lists(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 8, 33};
    static const int64_t rows[] = {0, 1, 17, 64, 129, 1003, 5001};
    ref_rng r = {31};
    call *c = malloc(sizeof *c);
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (int t = 0; t < 4; t++)
            for (int w = 0; w < 5; w++)
                for (int n = 0; n < 7; n++)
                    for (int k = 0; k < (n < 5 ? 12 : 2); k++) {
                        blocks s = blocks_new(ctx, &r, types[t], rows[n], widths[w], k % 2);
                        random_call(c, &r, types[t], widths[w]);
                        check_call(c, &s);
                        blocks_free(&s);
                    }
        wisp_ctx_free(ctx);
    }
    free(c);
}

/* An update with as many terms, and as many dots with one block, as GMRES has. */
static void long_lists(void **state)
{
    (void)state;
    ref_rng r = {32};
    call *c = malloc(sizeof *c);
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (int t = 0; t < 4; t++)
            for (int w = 1; w <= 3; w += 2) {
                blocks s = blocks_new(ctx, &r, types[t], 3001, w, w == 3 && t % 2);
                *c = (call){.updates = 1, .inners = 50};
                c->update[0].terms = 50;
                for (int i = 0; i < 50; i++) {
                    term *to = c->update[0].term + i;
                    *to = random_term(&r, types[t], w, t % 2);
                    to->scaled = 0;
                    c->inner[i] = (inner){i % BLOCKS, 0, 0};
                }
                check_call(c, &s);
                blocks_free(&s);
            }
        wisp_ctx_free(ctx);
    }
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_lists), cmocka_unit_test(long_lists)};
    return REF_RUN(tests);
}
