/* Operators for tests: of a stored matrix, and a stencil that is written by hand. */
#ifndef OPERATOR_CASES_H
#define OPERATOR_CASES_H
#include "ref.h"
#include <stdlib.h>

/* Multiplies by a stored matrix, and makes other ops, whose scratch memory must be nobody else's. */
typedef struct {
    wisp_mat *A;
    int calls, fails_at, freed;
    wisp_status status; /* of the call that fails */
    const char *words;
} stored;

static inline wisp_status apply_stored(void *arg, wisp_blk *y, const wisp_blk *x)
{
    stored *s = arg;
    const int width = wisp_blk_width(x);
    wisp_ctx *ctx = wisp_mat_ctx(s->A);
    wisp_scalar *dot = calloc(4 * (size_t)width, sizeof *dot);
    wisp_status status;
    assert_ptr_equal(wisp_blk_map(x), wisp_mat_map(s->A));
    assert_true(wisp_blk_width(y) == width && wisp_blk_type(y) == wisp_blk_type(x));
    if (++s->calls == s->fails_at) {
        if (s->words) wisp_ctx_fail(ctx, s->status, s->words);
        free(dot);
        return s->status;
    }
    WISP_TRY(wisp_spmmv(y, s->A, x, &(wisp_aug){.terms = WISP_DOT_XX | WISP_DOT_YY, .dot = dot}));
    WISP_TRY(wisp_dot(x, y, dot));
    WISP_TRY(wisp_scal(y, (wisp_scalar){1, 0}));
out:
    free(dot);
    return status;
}

static inline void count_free(void *arg) { ((stored *)arg)->freed++; }

/* The same matrix as an operator. */
static inline wisp_mat *operator_of(wisp_ctx *ctx, stored *s, wisp_mat *A)
{
    wisp_mat *B;
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    *s = (stored){.A = A};
    const wisp_operator o = {
        .map = wisp_mat_map(A), .type = info.type, .apply = apply_stored, .arg = s, .free_arg = count_free};
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &o));
    return B;
}

/* A hand-written stencil on a ring of cells: y_i = center x_i - x_i-1 - x_i+1. */
typedef struct {
    int64_t cells;
    double center;
} ring;

/* Where cells are other ranks', through a copy of all. */
static inline wisp_status apply_ring_apart(const ring *g, wisp_blk *y, const wisp_blk *x)
{
    ref_mat in = ref_get(x), out = ref_new(in.rows, in.cols);
    for (int64_t i = 0; i < g->cells; i++)
        for (int64_t j = 0; j < in.cols; j++)
            REF_AT(out, i, j) = g->center * REF_AT(in, i, j) - REF_AT(in, (i + g->cells - 1) % g->cells, j) -
                                REF_AT(in, (i + 1) % g->cells, j);
    ref_put(y, out);
    ref_free(in), ref_free(out);
    return WISP_OK;
}

static inline wisp_status apply_ring(void *arg, wisp_blk *y, const wisp_blk *x)
{
    const ring *g = arg;
    if (ref_ranks() > 1) return apply_ring_apart(g, y, x);
    const int width = wisp_blk_width(x);
    void *in, *out;
    int64_t from, to;
    wisp_status status;
    if ((status = wisp_blk_lend(x, WISP_READ, &in, &from)) != WISP_OK) return status;
    if ((status = wisp_blk_lend(y, WISP_DISCARD, &out, &to)) == WISP_OK) {
        const double *v = in;
        double *w = out;
        for (int64_t i = 0; i < g->cells; i++) {
            const int64_t left = (i + g->cells - 1) % g->cells, right = (i + 1) % g->cells;
            for (int j = 0; j < width; j++)
                w[i * to + j] = g->center * v[i * from + j] - v[left * from + j] - v[right * from + j];
        }
        wisp_blk_return(y);
    }
    wisp_blk_return(x);
    return status;
}

static inline wisp_mat *ring_of(wisp_ctx *ctx, ring *g)
{
    wisp_map *map;
    wisp_mat *A;
    REF_OK(ctx, wisp_map_create(&map, ctx, g->cells));
    REF_OK(ctx,
           wisp_mat_from_apply(&A, ctx, &(wisp_operator){.map = map, .type = WISP_D, .apply = apply_ring, .arg = g}));
    wisp_map_free(map);
    return A;
}
#endif
