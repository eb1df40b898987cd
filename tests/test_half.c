/* Products with half of a Hermitian matrix against the oracle: types x widths x terms x patterns x instruction sets x
   threads. */
#include "half_cases.h"

enum { MOST_WIDTH = 33 };

/* Each mask with each type and instruction set; the patterns share the masks. */
static void all_terms_all_kernels(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 3, 63, 127, 128, 129, 200};
    ref_rng r = {11};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int k = 0; k < REF_PAIRS; k++)
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1 + (int)ref_below(&r, 3));
                if (!ctx) continue;
                const int size = pattern == DENSE_END ? 7 : (int)ref_below(&r, pattern == DENSE ? 4 : 8);
                herm h = herm_new(&r, ref_pair[k].mat, rows[size], pattern);
                ref_sparse s = herm_sparse(&h, ref_pair[k].mat);
                wisp_mat *A = half_of(ctx, &h, ref_pair[k].mat);
                char what[100];
                snprintf(what, sizeof what, "half of %lld rows, %s", (long long)h.rows, pattern_name[pattern]);
                for (unsigned terms = (unsigned)pattern; terms < REF_ALL_TERMS; terms += PATTERNS) {
                    const int width = 1 + (int)ref_below(&r, ref_below(&r, 4) ? 5 : MOST_WIDTH);
                    ref_call c = ref_call_new(&r, &s, ref_pair[k].blk, width, terms, (int)ref_below(&r, 2));
                    ref_check_call(ctx, A, &c, (int)ref_below(&r, REF_VIEWS + 1), what);
                    ref_call_free(&c);
                }
                wisp_mat_free(A);
                ref_sparse_free(s);
                herm_free(&h);
                wisp_ctx_free(ctx);
            }
}

/* Blocks of rows that have sums for one another, with every width and the masks that kernels are compiled for. */
static void many_blocks(void **state)
{
    (void)state;
    static const unsigned terms[] = {0, REF_KPM, REF_ALL_TERMS - 1, WISP_CHAIN | WISP_AXPBY};
    static const int patterns[] = {SPARSE, BAND, RING, ARROW, LAST_DENSE, LATTICE};
    ref_rng r = {12};
    for (int k = 0; k < REF_PAIRS; k++)
        for (int p = 0; p < 6; p++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[p % 3], 1 + p % 4);
            if (!ctx) ctx = ref_isa_ctx(NULL, 1 + p % 4);
            herm h = herm_new(&r, ref_pair[k].mat, 1100 + 37 * p, patterns[p]);
            ref_sparse s = herm_sparse(&h, ref_pair[k].mat);
            wisp_mat *A = half_of(ctx, &h, ref_pair[k].mat);
            for (int width = 1; width <= MOST_WIDTH; width += p == 1 ? 3 : 8)
                for (int t = 0; t < 4; t++) {
                    if (ref_few() && (k + width / 8 + t) % 3) continue; /* a width meets all pairs, and all masks */
                    ref_call c = ref_call_new(&r, &s, ref_pair[k].blk, width, terms[t], t < 2);
                    ref_check_call(ctx, A, &c, width % 2 ? REF_VIEWS : REF_COMPACT, pattern_name[patterns[p]]);
                    ref_call_free(&c);
                }
            wisp_mat_free(A);
            ref_sparse_free(s);
            herm_free(&h);
            wisp_ctx_free(ctx);
        }
}

/* The same bits for any number of threads, each time that it is run. */
static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const int patterns[] = {BAND, LATTICE, SPARSE, LAST_DENSE};
    static const int widths[] = {1, 3, 8};
    for (int k = 0; k < REF_PAIRS; k++)
        for (int p = 0; p < 4; p++)
            for (int w = 0; w < 3; w++) {
                if (ref_few() && (k + p + w) % 3) continue; /* addresses are those of many_blocks */
                ref_rng r = {13 + (uint64_t)p};
                herm h = herm_new(&r, ref_pair[k].mat, 1800, patterns[p]);
                ref_sparse s = herm_sparse(&h, ref_pair[k].mat);
                ref_call c = ref_call_new(&r, &s, ref_pair[k].blk, widths[w], REF_ALL_TERMS - 1, 1);
                ref_result first = {0};
                for (int threads = 1; threads <= 4; threads++) {
                    wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
                    wisp_mat *A = half_of(ctx, &h, ref_pair[k].mat);
                    for (int again = 0; again < 2; again++) {
                        ref_result got = ref_run(ctx, A, &c, REF_VIEWS);
                        if (!first.y.a) {
                            first = got;
                            continue;
                        }
                        const size_t bytes = (size_t)(h.rows * c.width) * sizeof(cplx);
                        assert_memory_equal(first.y.a, got.y.a, bytes);
                        assert_memory_equal(first.z.a, got.z.a, bytes);
                        assert_memory_equal(first.dot, got.dot, 3 * (size_t)c.width * sizeof *got.dot);
                        ref_result_free(&got);
                    }
                    wisp_mat_free(A);
                    wisp_ctx_free(ctx);
                }
                ref_check(&c, &first, "any threads");
                ref_result_free(&first);
                ref_call_free(&c);
                ref_sparse_free(s);
                herm_free(&h);
            }
}

/* Rows that are sorted by length come out in the user's order. */
static void sorted_rows(void **state)
{
    (void)state;
    ref_rng r = {14};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    herm h = herm_new(&r, WISP_Z, 700, SPARSE);
    wisp_src src = herm_src(&h, WISP_Z);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .C = 1, .sigma = 50}));
    assert_false(wisp_map_is_natural(wisp_mat_map(A)));
    ref_sparse s = herm_sparse(&h, WISP_Z);
    ref_call c = ref_call_new(&r, &s, WISP_Z, 3, REF_ALL_TERMS - 1, 0);
    ref_check_call(ctx, A, &c, REF_VIEWS, "sorted");
    ref_call_free(&c);
    ref_sparse_free(s);
    wisp_mat_free(A);
    herm_free(&h);
    wisp_ctx_free(ctx);
}

/* Nothing and little. */
static void tiny(void **state)
{
    (void)state;
    ref_rng r = {19};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 3);
    for (int64_t rows = 0; rows < 4; rows++)
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            if (rows == 0 && pattern) continue;
            herm h = herm_new(&r, WISP_D, rows, pattern);
            wisp_mat *A = half_of(ctx, &h, WISP_D);
            ref_sparse s = herm_sparse(&h, WISP_D);
            ref_call c = ref_call_new(&r, &s, WISP_Z, 5, REF_ALL_TERMS - 1, 0);
            ref_check_call(ctx, A, &c, (int)ref_below(&r, REF_VIEWS + 1), "tiny");
            ref_call_free(&c);
            ref_sparse_free(s);
            wisp_mat_free(A);
            herm_free(&h);
        }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_terms_all_kernels),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(sorted_rows),
        cmocka_unit_test(tiny),
    };
    return REF_RUN(tests);
}
