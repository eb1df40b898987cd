/* Any width, type and number of rows, on arrays that end at a page that nobody may touch: an array that is sized by one
   rule and filled by another is found at once. (An address sanitizer finds it to the byte, in arrays of its own.) */
#include "backend/backend.h"
#include "model/model.h"
#include "ref.h"
#include "storage.h"
#include <stdlib.h>

static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
enum { TYPES = sizeof types / sizeof *types };

static wisp_ctx *guarded(const char *isa)
{
    setenv("WISP_ALLOC_GUARD", REF_SANITIZED ? "0" : "1", 1);
    wisp_ctx *ctx = ref_isa_ctx(isa, 2);
    unsetenv("WISP_ALLOC_GUARD");
    return ctx;
}

/* Rows that gather themselves alone, but for two neighbours, with many others: whichever rows share a line, theirs has
   most. */
static void two_long(wisp_ctx *ctx, wisp__sample *s, int64_t rows, int64_t long_row)
{
    enum { LONG = 100 };
    int64_t at = 0;
    REF_OK(ctx, wisp__sample_open(s, ctx, rows, 2 * LONG));
    for (int64_t i = 0; i < rows; i++) {
        s->place[at++] = i;
        for (int k = 0; k < LONG && (i == long_row || i == long_row + 1); k++) s->place[at++] = k % rows;
        s->first[i + 1] = at;
    }
    wisp__sample_finish(s);
}

static void lines_of_block_rows(void **state)
{
    static const int64_t rows[] = {1, 2, 7, WISP__RUN - 1, WISP__RUN, WISP__RUN + 1, 2 * WISP__RUN, 3 * WISP__RUN + 5};
    enum { MOST_WIDTH = 40, LINE = 64 };
    wisp_ctx *ctx = guarded(NULL);
    (void)state;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (int64_t at = 0; at < rows[n]; at++) {
            wisp__sample s;
            two_long(ctx, &s, rows[n], at);
            for (int t = 0; t < TYPES; t++)
                for (int width = 1; width <= MOST_WIDTH; width++) {
                    const int64_t row_bytes = width * (int64_t)wisp_type_size(types[t]);
                    const wisp__caches c = {.l3 = 1e4, .l2 = 1e3, .l1 = 100, .threads = 2, .block_rows = 3};
                    wisp__comings x;
                    if (row_bytes > LINE && at > 0) break; /* a line is of one row */
                    REF_OK(ctx, wisp__comings_find(ctx, wisp__tuned_of(ctx), &s, row_bytes, 10, &c, &x));
                    assert_true(x.last >= 1 && x.l2 >= x.last && x.l1 >= x.l2 && x.threads >= 1 && x.threads <= 2);
                }
            wisp__sample_close(&s, ctx);
        }
    wisp_ctx_free(ctx);
}

/* What the command asks of a source, and of its matrix, before and while it computes. */
static void calls(wisp_ctx *ctx, ref_rng *r, const wisp_src *src, ref_mat dense, wisp_type type, int width)
{
    wisp_choice choice;
    wisp_gather gather;
    wisp_mat_info info;
    wisp_mat *A;
    const wisp_mat_opts opts = {.width = width};
    REF_OK(ctx, wisp_mat_bound(ctx, src, &opts, &info));
    REF_OK(ctx, wisp_mat_plan(ctx, src, &opts, &info));
    REF_OK(ctx, wisp_src_choose(ctx, src, &opts, type, width, 8, &choice));
    assert_int_equal(choice.width, width);
    REF_OK(ctx, wisp_mat_create(&A, ctx, src, &opts));
    REF_OK(ctx, wisp_mat_choose(A, type, width, 8, &choice));
    REF_OK(ctx, wisp_mat_gather(A, type, width, &gather));
    assert_true(gather.excess >= 1 && gather.from_l3 >= 0);
    ref_check_product(ctx, r, A, dense, type, width, REF_KPM, width % 2, "of any width");
    wisp_mat_free(A);
}

static void sources_for(wisp_ctx *ctx, shape s, wisp_type type)
{
    static const int widths[] = {1, 3, 5, 8, 12, 33};
    static const int64_t rows[] = {13, K_STRIP + 5};
    ref_rng r = {71};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        wisp_src src = shape_src(&r, s, type, s % 2, rows[n], rows[n]);
        ref_mat dense = ref_dense(&src);
        ref_round(dense, type);
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) calls(ctx, &r, &src, dense, type, widths[w]);
        ref_free(dense);
        wisp_src_close(&src);
    }
}

static void sources(void **state)
{
    (void)state;
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = guarded(ref_isa[isa]);
        for (int s = 0; ctx && s < SHAPES; s++)
            for (int t = 0; t < TYPES; t++) sources_for(ctx, (shape)s, types[t]);
        wisp_ctx_free(ctx);
    }
}

/* Matrices by whose orders this was found: block rows of 12 and 20 bytes. */
static void orders(void **state)
{
    static const char *const names[] = {TEST_DATA "/bcsstk13.mtx", "delaunay:nx=60,ny=60"};
    wisp_ctx *ctx = guarded(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wisp_src src;
        wisp_mat_info info;
        REF_OK(ctx, wisp_src_open(&src, ctx, names[i]));
        for (int width = 1; width <= 9; width++)
            REF_OK(ctx, wisp_mat_bound(ctx, &src, &(wisp_mat_opts){.type = WISP_S, .width = width}, &info));
        wisp_src_close(&src);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_block_rows), cmocka_unit_test(sources),
                                       cmocka_unit_test(orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
