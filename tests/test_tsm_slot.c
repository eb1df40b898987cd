/* Products of tall blocks that go to a slot, and small matrices that come from one: the bits of those of the host. */
#include "tsm_factor.h"
#include <math.h>
#include <stdlib.h>

/* The same bits in a place, and no other number of the slot changed; on one rank without waiting for the device. */
static void places(void **state)
{
    (void)state;
    enum { ROWS = 300, FIRST = 2 };
    static const int width[][3] = {{1, 1, 0}, {3, 5, 2}, {33, 2, 1}, {210, 3, 0}, {2, 210, 4}, {210, 210, 0}};
    const wisp_scalar mark = {-7, 9}, one = {1, 0}, zero = {0, 0};
    ref_rng r = {23};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    for (wisp_type t = WISP_S; t <= WISP_Z; t++)
        for (size_t c = 0; c < sizeof width / sizeof *width; c++)
            for (int same = 0; same < 2; same++) {
                const int m = width[c][0], n = same ? m : width[c][1], ldx = n + width[c][2];
                const size_t used = (size_t)((m - 1) * ldx + n), all = used + FIRST + 1;
                const unsigned flags = c % 2 ? WISP_KAHAN : 0;
                wisp_scalar *x = calloc(2 * all, sizeof *x), *got = x + all;
                wisp_blk *v, *w;
                wisp_slot *slot;
                wisp_counts before, after;
                for (size_t i = 0; i < all; i++) x[i] = mark;
                REF_OK(ctx, wisp_blk_create(&v, ctx, map, t, m));
                REF_OK(ctx, wisp_blk_create(&w, ctx, map, t, n));
                ref_mat vm = ref_random_block(&r, t, ROWS, m), wm = ref_random_block(&r, t, ROWS, n);
                ref_put(v, vm), ref_put(w, wm);
                REF_OK(ctx, wisp_slot_create(&slot, ctx, (int64_t)all));
                REF_OK(ctx, wisp_slot_write(slot, 0, (int64_t)all, x));
                wisp_ctx_counts(ctx, &before);
                REF_OK(ctx, wisp_tsm_gram_at((wisp_place){slot, FIRST}, ldx, v, same ? v : w, flags));
                wisp_ctx_counts(ctx, &after);
                if (ref_ranks() == 1) assert_int_equal(after.round_trips, before.round_trips);
                REF_OK(ctx, wisp_tsm_gram(x + FIRST, ldx, one, v, same ? v : w, zero, flags));
                REF_OK(ctx, wisp_slot_read(slot, 0, (int64_t)all, got));
                assert_memory_equal(x, got, all * sizeof *x);
                wisp_slot_free(slot), wisp_blk_free(v), wisp_blk_free(w), ref_free(vm), ref_free(wm), free(x);
            }
    wisp_map_free(map), wisp_ctx_free(ctx);
}

/* A small matrix in a place, or its adjoint, does the same as one of the host's, bit by bit, and nobody waits. Of
   numbers for real blocks the real parts count. */
static void update_case_in_place_of_slot(wisp_ctx *ctx, wisp_map *map, ref_rng *r, wisp_type type, int c)
{
    enum { ROWS = 300, FIRST = 2 };
    static const int width[][3] = {{1, 1, 0}, {3, 5, 2}, {33, 2, 1}, {210, 3, 0}, {2, 40, 4}, {9, 9, 0}};
    const int in_place = c % 2, adjoint = c / 2 % 2, is_upper = c / 4 % 3 == 0, *shape = width[c % 6];
    const int m = shape[0], n = in_place && shape[1] > m ? m : shape[1], across = adjoint ? m : n,
              down = adjoint ? n : m;
    const int ldx = across + shape[2];
    const wisp_scalar alpha = tsm_factor(r, type, c % 3), beta = tsm_factor(r, type, c % 4 % 3), nan = {NAN, NAN};
    const size_t all = (size_t)((down - 1) * ldx + across) + FIRST;
    wisp_scalar *there = calloc(all, sizeof *there), *x = calloc((size_t)(m * n), sizeof *x);
    const int is_complex = wisp_type_is_complex(type);
    wisp_slot *slot;
    wisp_counts before, after;
    ref_mat v = ref_random_block(r, type, ROWS, m), w = ref_random_block(r, type, ROWS, n), got[2];
    for (size_t i = 0; i < all; i++) there[i] = nan;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            wisp_scalar *at = there + FIRST + (adjoint ? j * ldx + i : i * ldx + j), *e = x + i * n + j;
            *e = is_upper && i > j ? (wisp_scalar){0, 0} : ref_scalar(ref_value(r, is_complex ? WISP_Z : WISP_D));
            *at = (wisp_scalar){e->re, !is_complex ? 3 : adjoint ? -e->im : e->im};
        }
    REF_OK(ctx, wisp_slot_create(&slot, ctx, (int64_t)all));
    REF_OK(ctx, wisp_slot_write(slot, 0, (int64_t)all, there));
    for (int way = 0; way < 2; way++) {
        wisp_blk *vb, *wb;
        REF_OK(ctx, wisp_blk_create(&vb, ctx, map, type, m));
        ref_put(vb, v);
        if (in_place) {
            REF_OK(ctx, wisp_blk_cols(&wb, vb, 0, n));
        } else {
            REF_OK(ctx, wisp_blk_create(&wb, ctx, map, type, n));
            ref_put(wb, w);
        }
        wisp_ctx_counts(ctx, &before);
        if (way == 0)
            REF_OK(ctx, wisp_tsm_update(wb, alpha, vb, x, n, beta));
        else
            REF_OK(ctx,
                   wisp_tsm_update_at(wb, alpha, vb, (wisp_place){slot, FIRST}, ldx, beta, adjoint ? WISP_ADJOINT : 0));
        wisp_ctx_counts(ctx, &after);
        assert_int_equal(after.round_trips, before.round_trips);
        assert_int_equal(after.passes, before.passes + 1);
        got[way] = ref_get(wb);
        wisp_blk_free(wb), wisp_blk_free(vb);
    }
    assert_memory_equal(got[0].a, got[1].a, (size_t)(got[0].rows * n) * sizeof *got[0].a);
    ref_free(got[0]), ref_free(got[1]), ref_free(v), ref_free(w), wisp_slot_free(slot), free(there), free(x);
}

static void small_matrices_in_places(void **state)
{
    (void)state;
    enum { ROWS = 300, CASES = 36 };
    ref_rng r = {29};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    for (wisp_type t = WISP_S; t <= WISP_Z; t++)
        for (int c = 0; c < CASES; c++) update_case_in_place_of_slot(ctx, map, &r, t, c);
    wisp_map_free(map), wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places), cmocka_unit_test(small_matrices_in_places)};
    return REF_RUN(tests);
}
