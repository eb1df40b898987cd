/* A matrix, an operator on the left and vectors on both sides, dense and as wisp has them: what the tests of moments of
   two sides share. */
#ifndef KPM_SIDES_H
#define KPM_SIDES_H
#include <stdbool.h>
#include "kpm_dense.h"

enum { ROWS = 61 };
typedef struct {
    wisp_type mat, blk, B;
    int width, n, vectors;
    bool left, adjoint, by_function; /* B^H as an operator */
    wisp_kpm_variant variant;
    int reduce, depth;
} sides_case;

/* A, B and vectors: dense, and as wisp has them. */
typedef struct {
    ref_mat H, B, r, l;
    wisp_mat *A, *stored, *adjoint;
    wisp_blk *right, *left;
} setting;

static inline ref_mat adjoint_of(ref_mat m)
{
    ref_mat t = ref_new(m.cols, m.rows);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.cols; j++) REF_AT(t, j, i) = conj(REF_AT(m, i, j));
    return t;
}

static inline wisp_status apply_stored(void *arg, wisp_blk *y, const wisp_blk *x)
{
    return wisp_spmmv(y, arg, x, NULL);
}

static inline wisp_mat *on_map(wisp_ctx *ctx, ref_mat m, wisp_type type, wisp_map *map)
{
    wisp_mat *A;
    wisp_src src = ref_dense_src(m, type);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = type, .map = map}));
    wisp_src_close(&src);
    return A;
}

/* A block that is a view, of columns in another order where `scattered`. */
static inline wisp_blk *block_of(wisp_ctx *ctx, const wisp_mat *A, ref_mat x, wisp_type type, bool scattered)
{
    wisp_blk *whole, *view;
    const int width = (int)x.cols;
    int column[64];
    for (int j = 0; j < width; j++) column[j] = scattered ? width - j : j + 1;
    REF_OK(ctx, wisp_blk_create(&whole, ctx, wisp_mat_map(A), type, width + 2));
    REF_OK(ctx, wisp_blk_pick(&view, whole, width, column));
    ref_put(view, x);
    wisp_blk_free(whole);
    return view;
}

static inline setting open_setting(wisp_ctx *ctx, ref_rng *r, const sides_case *c)
{
    setting s = {.H = random_hermitian(r, c->mat, ROWS, 0.3), .B = ref_new(ROWS, ROWS)};
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < ROWS; j++)
            if (ref_uniform(r) < -0.8) REF_AT(s.B, i, j) = ref_value(r, c->B);
    s.r = ref_random_block(r, c->blk, ROWS, c->vectors);
    s.l = ref_random_block(r, c->blk, ROWS, c->vectors);
    s.A = ref_mat_of(ctx, s.H, c->mat);
    s.right = block_of(ctx, s.A, s.r, c->blk, ref_below(r, 2) > 0);
    s.left = block_of(ctx, s.A, s.l, c->blk, ref_below(r, 2) > 0);
    const ref_mat t = adjoint_of(s.B);
    s.stored = s.adjoint = on_map(ctx, t, c->B, wisp_mat_map(s.A));
    ref_free(t);
    if (c->by_function) {
        const wisp_operator op = {.map = wisp_mat_map(s.A), .type = c->B, .apply = apply_stored, .arg = s.stored};
        REF_OK(ctx, wisp_mat_from_apply(&s.adjoint, ctx, &op));
    }
    return s;
}

static inline void close_setting(setting *s)
{
    if (s->adjoint != s->stored) wisp_mat_free(s->adjoint);
    wisp_mat_free(s->stored);
    wisp_mat_free(s->A);
    wisp_blk_free(s->right);
    wisp_blk_free(s->left);
    ref_free(s->H), ref_free(s->B), ref_free(s->r), ref_free(s->l);
}

static inline wisp_kpm_opts opts_of(const sides_case *c, const setting *s)
{
    return (wisp_kpm_opts){.moments = c->n,
                           .trace = WISP_TRACE_GIVEN,
                           .variant = c->variant,
                           .width = c->variant == WISP_KPM_BLOCKED ? c->width : 0,
                           .depth = c->depth,
                           .reduce_each_step = c->reduce,
                           .type = c->blk,
                           .right = s->right,
                           .left = c->left ? s->left : NULL,
                           .adjoint = c->adjoint ? s->adjoint : NULL};
}

#endif
