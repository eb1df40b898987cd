/* Single columns of SELL: rows whose columns follow one another are loaded, not gathered, so whatever breaks such a run
   in any one row of a register must be noticed. */
#include "backend/cpu/prepare.h"
#include "data/store/store.h"
#include "ref.h"
#include <stdio.h>

/* What the rows of a band miss, in one row of every 32, in each of the 32 places once: nothing, a column one off to
   either side, columns that two neighbours have exchanged, an entry, all entries; or any row may be off. */
enum { NOTHING, RIGHT, LEFT, EXCHANGED, SHORTER, EMPTY, ANY, WAYS };
static const char *const way_name[] = {"runs", "one to the right", "one to the left", "exchanged", "shorter", "no row",
                                       "any"};
enum { ROWS = 32 * 32 + 13, ENTRIES = 5, STEP = 40, COLS = ROWS + ENTRIES * STEP };

static ref_mat make(ref_rng *r, int way, wisp_type type)
{
    ref_mat a = ref_new(ROWS, COLS);
    int64_t col[ROWS][ENTRIES];
    for (int64_t i = 0; i < ROWS; i++)
        for (int k = 0; k < ENTRIES; k++) col[i][k] = i + 1 + k * STEP;
    for (int64_t i = 0; i < ROWS; i++) {
        const int k = (int)ref_below(r, ENTRIES);
        if (way == ANY ? ref_below(r, 20) != 0 : i % 32 != i / 32) continue;
        const int how = way == ANY ? 1 + (int)ref_below(r, EMPTY) : way;
        if (how == RIGHT) col[i][k] = i + 1 + k * STEP + 1;
        if (how == LEFT) col[i][k] = i + 1 + k * STEP - 1;
        if (how == SHORTER) col[i][k] = -1;
        for (int j = 0; how == EMPTY && j < ENTRIES; j++) col[i][j] = -1;
        if (how == EXCHANGED && i + 1 < ROWS && col[i + 1][k] >= 0) {
            const int64_t other = col[i + 1][k];
            col[i + 1][k] = col[i][k];
            col[i][k] = other;
        }
    }
    for (int64_t i = 0; i < ROWS; i++)
        for (int k = 0; k < ENTRIES; k++)
            if (col[i][k] >= 0) REF_AT(a, i, col[i][k]) = ref_value(r, type);
    return a;
}

/* Of rows 32 i .. 32 i + 31 row 32 i + i is off, and so is the one that it exchanged an entry with. */
static void check_follow(const wisp_mat *A, int way)
{
    assert_true(wisp__is_kind(&A->local, WISP__SELL));
    const uint8_t *follow = wisp__cpu_prepared_of(&A->entries)->follow;
    assert_int_equal(follow != NULL, 1 << A->log_c >= K_FOLLOW_ROWS);
    for (int64_t row = 0; follow && row + 8 <= ROWS / 32 * 32 && way < SHORTER; row += 8) {
        const int64_t off = row / 32, first = row % 32;
        bool good = way == NOTHING || off < first || off >= first + 8;
        if (way == EXCHANGED && off + 1 == first) good = false;
        const int which = row / 8 % 2 ? K_FOLLOW_SECOND : K_FOLLOW_FIRST;
        assert_int_equal((follow[row / K_FOLLOW_ROWS] & which) != 0, good);
    }
}

/* Every instruction set, real type, chunk height; blocks of the matrix's precision or of more. */
static void products(void **state)
{
    (void)state;
    static const int heights[] = {4, 8, 16, 32, 64};
    ref_rng r = {31};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (wisp_type type = WISP_S; type <= WISP_D; type++)
            for (int way = 0; way < WAYS; way++) {
                ref_mat dense = make(&r, way, type);
                wisp_src src = ref_dense_src(dense, type);
                for (int c = 0; c < 5; c++) {
                    wisp_mat *A;
                    char what[120];
                    const wisp_mat_opts o = {
                        .C = heights[c], .sigma = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL};
                    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
                    assert_int_equal(1 << A->log_c, heights[c]);
                    assert_non_null(A->local.col);
                    assert_int_equal(A->local.padded, way != EMPTY && way != ANY);
                    check_follow(A, way);
                    snprintf(what, sizeof what, "%s: %s, %s, C = %d", ref_isa[isa], way_name[way], wisp_type_name(type),
                             heights[c]);
                    ref_check_product(ctx, &r, A, dense, type, 1, 0, 0, what);
                    ref_check_product(ctx, &r, A, dense, WISP_D, 1, WISP_SCALE | WISP_AXPBY | WISP_DOT_YY, 0, what);
                    wisp_mat_free(A);
                }
                src.free_arg(src.arg);
                ref_free(dense);
            }
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products)};
    return REF_RUN(tests);
}
