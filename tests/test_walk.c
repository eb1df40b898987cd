/* Walks through graphs of groups, in which interleaved steps go on: each visits every group once. */
#include "sched/cascade.h"
#include "ref.h"
#include <stdlib.h>

enum { GROUPS = 400, SIDE = 20, CUT = GROUPS / 3 };
enum { A_LATTICE, A_STAR, A_CLIQUE, A_RANDOM, PIECES, NOTHING, SHAPES };

static bool next_to(int shape, int i, int j)
{
    const int a = i < j ? i : j, b = i < j ? j : i;
    switch (shape) {
    case A_STAR: return a == 0;
    case A_CLIQUE: return true;
    case A_RANDOM: return ref_below(&(ref_rng){(uint64_t)(a * GROUPS + b)}, 150) == 0;
    case PIECES: return b == a + 1 && b % CUT && b % 7; /* of several sizes */
    case NOTHING: return false;
    default: return b == a + SIDE || (b == a + 1 && b % SIDE);
    }
}

static void walks(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    int64_t *begin = malloc((GROUPS + 1) * sizeof *begin);
    int32_t *neighbour = malloc((size_t)GROUPS * GROUPS * sizeof *neighbour), walk[GROUPS];
    for (int shape = 0; shape < SHAPES; shape++)
        for (int steps = 2; steps <= 64; steps *= 4) {
            wisp__groups p = {.ctx = ctx,
                              .tuned = wisp__tuned_of(ctx),
                              .groups = GROUPS,
                              .graph = {GROUPS, begin, neighbour},
                              .vector_bytes = 1,
                              .matrix_bytes = 1,
                              .steps = steps,
                              .budget = 200,
                              .walk = walk};
            wisp__walk_way way[WISP__WALK_WAYS];
            int64_t n = 0, parts, most = 0;
            int ways, visited[GROUPS];
            for (int i = 0; i < GROUPS; i++) {
                begin[i] = n;
                neighbour[n++] = i;
                for (int j = 0; j < GROUPS; j++)
                    if (j != i && next_to(shape, i, j)) neighbour[n++] = j;
            }
            begin[GROUPS] = n;
            REF_OK(ctx, wisp__walk_ways(&p, way, &ways));
            for (int w = 0; w < ways; w++) {
                REF_OK(ctx, wisp__walk_make(&p, &way[w], &parts));
                memset(visited, 0, sizeof visited);
                for (int i = 0; i < GROUPS; i++) visited[walk[i]]++;
                for (int i = 0; i < GROUPS; i++) assert_int_equal(visited[i], 1);
                most = way[w].by_levels && parts > most ? parts : most;
            }
            if (shape == A_LATTICE) assert_true(most >= 4); /* 4 levels of 20 groups of 3 bytes are too much for 200 */
            if (shape == A_CLIQUE || shape == NOTHING) assert_true(most <= 32);
        }
    free(begin);
    free(neighbour);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(walks)};
    return REF_RUN(tests);
}
