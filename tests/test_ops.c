/* The op: which kernels there are, all sets of terms on small matrices of odd shapes, what it promises and refuses.
   (Every way to store a matrix: test_products.c.) */
#include "ref.h"
#include "config.h"
#include "backend/cpu/cpu.h"
#include "data/data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel table: every width of the build, widest first; few in the generic set, and where matrix and block differ
   in precision. */
static void kernels_are_those_that_were_asked_for(void **state)
{
    (void)state;
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1);
        for (int k = 0; ctx && k < WISP__COMBOS; k++) {
            const bool few = isa == 0 || k == WISP__COMBO_sd || k == WISP__COMBO_cz;
            const wisp__spmmv_entry *e = ctx->isa->spmmv[k];
            for (const char *list = few ? "8, 4, 2, 1" : WISP_WIDTHS; *list; e++) {
                char *rest;
                assert_int_equal(strtol(list, &rest, 10), e->width);
                list = rest + strspn(rest, ", ");
                assert_non_null(e->fn);
            }
            assert_int_equal(e->width, 0);
            assert_non_null(e->fn);
        }
        if (ctx) wisp_ctx_free(ctx);
    }
    for (int m = WISP_DEFAULT; m <= WISP_Z; m++)
        for (int b = WISP_DEFAULT; b <= WISP_Z; b++) {
            bool known = false;
            for (int k = 0; k < REF_PAIRS; k++)
                known |= ref_pair[k].mat == (wisp_type)m && ref_pair[k].blk == (wisp_type)b;
            assert_int_equal(wisp__combo_of((wisp_type)m, (wisp_type)b) != WISP__COMBOS, known);
            assert_int_equal(wisp__types_fit((wisp_type)m, (wisp_type)b), known);
        }
}

static void keep_message(void *arg, wisp_log_level level, const char *message)
{
    char *kept = arg; /* [2][256] */
    assert_int_equal(level, WISP_LOG_PERF);
    snprintf(kept + (*kept ? 256 : 0), 256, "%s", message);
}

/* A width without a kernel is said once, with those that have one; not where none has, in the generic set. */
static void fall_back_is_said_once(void **state)
{
    (void)state;
    char kept[2][256] = {"", ""};
    char isa[16];
    wisp_ctx *best = ref_ctx(NULL); /* asked for by name, a lesser set than the CPU's says nothing of itself */
    snprintf(isa, sizeof isa, "%s", wisp_ctx_isa(best));
    wisp_ctx_free(best);
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){
        .isa = isa, .threads = 1, .no_pin = 1, .level = WISP_LOG_PERF, .log = keep_message, .log_arg = kept});
    memset(kept, 0, sizeof kept); /* ranks may share a device, which was said */
    wisp_mat *A;
    const bool generic = !strcmp(wisp_ctx_isa(ctx), "generic");
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=3,ny=2,nz=1", NULL));
    for (int w = 8; w <= 10; w++) {
        wisp_blk *x, *y;
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, w));
        REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, w));
        REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
        assert_int_equal(kept[0][0] != 0, w > 8 && !generic);
        wisp_blk_free(x);
        wisp_blk_free(y);
    }
    if (!generic) {
        assert_non_null(strstr(kept[0], "width 9 "));
        assert_non_null(strstr(kept[0], wisp_ctx_isa(ctx)));
        assert_non_null(strstr(kept[0], " 16, 8, 4, 2, 1 "));
    }
    assert_int_equal(kept[1][0], 0);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void all_terms_all_kernels(void **state)
{
    (void)state;
    static const struct {
        int c;
        int64_t sigma;
    } shape[] = {{1, 1}, {4, 16}, {16, 1}, {32, 64}, {64, 64}};
    int width[REF_MOST_WIDTHS];
    const int widths = ref_widths(width);
    ref_rng r = {1};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int k = 0; k < REF_PAIRS; k++)
            for (int s = 0; s < 5; s++) {
                wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1 + (int)ref_below(&r, 3));
                if (!ctx) continue;
                const int64_t n = 1 + ref_below(&r, 60), m = s == 2 ? 1 + ref_below(&r, 60) : n;
                wisp_src src = ref_random_src(&r, ref_pair[k].mat, n, m, 9);
                ref_sparse sparse = ref_sparse_of(&src, ref_pair[k].mat);
                char what[80];
                snprintf(what, sizeof what, "%s matrix, %lld x %lld, C = %d", wisp_type_name(ref_pair[k].mat),
                         (long long)n, (long long)m, shape[s].c);
                wisp_mat_opts o = {.C = shape[s].c, .sigma = shape[s].sigma};
                wisp_mat *A;
                REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
                for (unsigned terms = 0; terms < REF_ALL_TERMS; terms++) {
                    ref_call c = ref_call_new(&r, &sparse, ref_pair[k].blk, width[ref_below(&r, widths)], terms,
                                              (int)ref_below(&r, 2));
                    ref_check_call(ctx, A, &c, (int)ref_below(&r, REF_VIEWS + 1), what);
                    ref_call_free(&c);
                }
                wisp_mat_free(A);
                src.free_arg(src.arg);
                ref_sparse_free(sparse);
                wisp_ctx_free(ctx);
            }
}

/* A matrix can be stored in another precision than its source's, and multiplied with blocks of either. */
static void precisions_mix(void **state)
{
    (void)state;
    ref_rng r = {6};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    for (int k = 0; k < REF_PAIRS; k++) {
        const bool is_complex = wisp_type_is_complex(ref_pair[k].mat);
        wisp_src src = ref_random_src(&r, is_complex ? WISP_Z : WISP_D, 200, 200, 12);
        ref_sparse sparse = ref_sparse_of(&src, ref_pair[k].mat);
        wisp_mat *A;
        wisp_mat_info info;
        wisp_cost cost;
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = ref_pair[k].mat, .C = 1}));
        for (int w = 1; w <= 8; w += 7) {
            ref_call c = ref_call_new(&r, &sparse, ref_pair[k].blk, w, WISP_DOT_YY, 1);
            ref_check_call(ctx, A, &c, w == 1 ? REF_COMPACT : REF_VIEWS, "of other precision");
            ref_call_free(&c);
        }
        wisp_mat_get_info(A, &info);
        REF_OK(ctx, wisp_spmmv_cost(A, ref_pair[k].blk, 8, 0, &cost));
        const double mat = ref_pair[k].mat == WISP_S ? 4 : ref_pair[k].mat == WISP_Z ? 16 : 8;
        const double blk = ref_pair[k].blk == WISP_S ? 4 : ref_pair[k].blk == WISP_Z ? 16 : 8;
        const double nnz = (double)info.local_nnz, rows = (double)info.local_rows, halo = (double)info.halo_rows;
        assert_true(cost.bytes == nnz * (mat + 4) + 8 * rows + 8 * (2 * rows + halo) * blk);
        const double product = cost.flops, traffic = cost.bytes;
        REF_OK(ctx, wisp_spmmv_cost(A, ref_pair[k].blk, 8, WISP_ADD, &cost)); /* one block more, and an axpy */
        assert_true(cost.bytes == traffic + 8 * rows * blk);
        assert_true(cost.flops == product + 8 * rows * (wisp_type_is_complex(ref_pair[k].blk) ? 8 : 2));
        assert_true(product == 8 * nnz * (is_complex ? 8 : wisp_type_is_complex(ref_pair[k].blk) ? 4 : 2));
        wisp_mat_free(A);
        src.free_arg(src.arg);
        ref_sparse_free(sparse);
    }
    wisp_ctx_free(ctx);
}

/* The same layout gives the same bits for any number of threads; the same columns for any width. (On several ranks with
   1, 3 and 5 threads.) */
static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { N = 5000, W = 33 };
    const unsigned terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY;
    for (int k = 0; k < REF_PAIRS; k++) {
        ref_rng r = {3};
        wisp_src src = ref_random_src(&r, ref_pair[k].mat, N, N, 11);
        ref_mat x = ref_random_block(&r, ref_pair[k].blk, N, W), y = ref_random_block(&r, ref_pair[k].blk, N, W);
        wisp_scalar shift[W], dot0[3 * W] = {{0, 0}}, dot[3 * W] = {{0, 0}}, norm0[2 * W];
        for (int j = 0; j < W; j++) shift[j] = (wisp_scalar){0.3, 0};
        ref_mat first = {0};
        for (int threads = 1; threads <= 5; threads += ref_ranks() > 1 ? 2 : 1) {
            wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
            wisp_mat *A;
            wisp_blk *xb, *yb, *xc, *yc;
            REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = 1, .order = WISP_ROWS_NATURAL}));
            REF_OK(ctx, wisp_blk_create(&xb, ctx, wisp_mat_map(A), ref_pair[k].blk, W));
            REF_OK(ctx, wisp_blk_create(&yb, ctx, wisp_mat_map(A), ref_pair[k].blk, W));
            wisp_aug aug = {.terms = terms, .alpha = {1.7, 0}, .beta = {-1, 0}, .shift = shift, .dot = dot};
            /* All columns at once, or (4, 5 threads) in two parts, one of a width with a kernel of its own. */
            const int cut[3] = {0, threads == 4 ? 16 : threads == 5 ? 8 : W, W};
            ref_put(xb, x);
            ref_put(yb, y);
            for (int p = 0; p < 2 && cut[p] < W; p++) {
                const int w = cut[p + 1] - cut[p];
                wisp_scalar d[3 * W];
                REF_OK(ctx, wisp_blk_cols(&xc, xb, cut[p], w));
                REF_OK(ctx, wisp_blk_cols(&yc, yb, cut[p], w));
                aug.dot = d;
                REF_OK(ctx, wisp_spmmv(yc, A, xc, &aug));
                for (int t = 0; t < 2; t++)
                    for (int j = 0; j < w; j++) dot[t * W + cut[p] + j] = d[t * w + j];
                wisp_blk_free(xc);
                wisp_blk_free(yc);
            }
            wisp_scalar norm[2 * W];
            REF_OK(ctx, wisp_dot(xb, yb, norm));
            double n2[W];
            REF_OK(ctx, wisp_norm(yb, n2));
            for (int j = 0; j < W; j++) norm[W + j] = (wisp_scalar){n2[j], 0};
            ref_mat got = ref_get(yb);
            if (threads == 1) {
                first = got;
                memcpy(dot0, dot, sizeof dot);
                memcpy(norm0, norm, sizeof norm);
            } else if (threads < 4) {
                assert_memory_equal(first.a, got.a, sizeof(cplx) * N * W);
                assert_memory_equal(norm0, norm, sizeof norm);
                assert_memory_equal(dot0, dot, 2 * W * sizeof *dot);
                ref_free(got);
            } else { /* another width is another layout */
                ref_assert_close("another width", got, first, ref_eps(ref_pair[k].blk));
                for (int j = 0; j < 2 * W; j++)
                    assert_true(hypot(dot[j].re - dot0[j].re, dot[j].im - dot0[j].im) <=
                                ref_eps(ref_pair[k].blk) * N * ref_largest(first));
                ref_free(got);
            }
            wisp_blk_free(xb);
            wisp_blk_free(yb);
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
        ref_free(first), ref_free(x), ref_free(y);
        src.free_arg(src.arg);
    }
}

/* Inf and NaN in rows of x that a row does not name stay out of it, whatever the padding. */
static void padding_does_not_leak(void **state)
{
    (void)state;
    static const int cs[] = {1, 4, 16, 64};
    ref_mat m = ref_new(21, 21);
    for (int i = 0; i < 21; i += 2)
        for (int j = 1; j < 1 + i / 2; j++) REF_AT(m, i, j) = i + j; /* no row names column 0; odd rows are empty */
    ref_mat full = ref_new(21, 21);                                  /* no row is empty */
    for (int i = 0; i < 21; i++)
        for (int j = 1; j < 2 + i % 5; j++) REF_AT(full, i, j) = i + j;
    const ref_mat both[] = {m, full};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int k = 0; k < REF_PAIRS; k++)
            for (int c = 0; c < 4; c++)
                for (int i = 0; i < 4; i++) {
                    const int w = i % 2 ? 5 : 1;
                    wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1);
                    if (!ctx) continue;
                    wisp_src src = ref_dense_src(both[i / 2], ref_pair[k].mat);
                    wisp_mat *A;
                    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.C = cs[c]}));
                    wisp_blk *x, *y;
                    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), ref_pair[k].blk, w));
                    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), ref_pair[k].blk, w));
                    ref_mat xm = ref_new(21, w);
                    for (int64_t l = 0; l < 21 * w; l++) xm.a[l] = l < w ? (l % 2 ? INFINITY : NAN) : 1;
                    ref_put(x, xm);
                    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
                    ref_mat ym = ref_get(y);
                    for (int64_t l = 0; l < 21 * w; l++)
                        assert_true(isfinite(creal(ym.a[l])) && isfinite(cimag(ym.a[l])));
                    ref_free(xm), ref_free(ym);
                    wisp_blk_free(x);
                    wisp_blk_free(y);
                    wisp_mat_free(A);
                    src.free_arg(src.arg);
                    wisp_ctx_free(ctx);
                }
    ref_free(m), ref_free(full);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_rng r = {5};
    wisp_src src = ref_random_src(&r, WISP_Z, 10, 10, 3), wide = ref_random_src(&r, WISP_D, 10, 12, 3);
    wisp_mat *A, *B, *other;
    wisp_blk *x, *y, *z, *d, *v;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_create(&other, ctx, &src, NULL));
    REF_OK(ctx, wisp_mat_create(&B, ctx, &wide, NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, 4));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_Z, 4));
    REF_OK(ctx, wisp_blk_create(&z, ctx, wisp_mat_map(other), WISP_Z, 4));
    REF_OK(ctx, wisp_blk_create(&d, ctx, wisp_mat_map(A), WISP_D, 4));
    wisp_scalar s[4] = {{0, 1}, {0, 0}, {0, 0}, {0, 0}};
    REF_FAILS(ctx, wisp_spmmv(z, A, x, NULL), WISP_ERR_MISMATCH, "row map");
    REF_FAILS(ctx, wisp_spmmv(x, A, x, NULL), WISP_ERR_ARG, "overlap");
    REF_FAILS(ctx, wisp_spmmv(d, A, d, NULL), WISP_ERR_UNSUPPORTED, "complex double matrix");
    REF_FAILS(ctx, wisp_spmmv(d, A, x, NULL), WISP_ERR_MISMATCH, "width 4");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_SHIFT}), WISP_ERR_ARG, "shifts");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_CHAIN}), WISP_ERR_ARG, "needs z");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_DOT_YY}), WISP_ERR_ARG, "dots");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .add = s}), WISP_ERR_ARG, "needs u");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_DOT_UY, .dot = s}), WISP_ERR_ARG, "needs u");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .u = x}), WISP_ERR_ARG, "needs u");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .u = y, .add = s}), WISP_ERR_ARG, "u must not");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .u = z, .add = s}), WISP_ERR_MISMATCH, "row map");
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .u = d, .add = s}), WISP_ERR_MISMATCH, "width 4");
    REF_OK(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .u = x, .add = s}));
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = 1u << 20}), WISP_ERR_ARG, "unknown terms");
    REF_FAILS(ctx, wisp_axpy(z, s[0], x), WISP_ERR_MISMATCH, "different maps");
    REF_FAILS(ctx, wisp_scal(d, s[0]), WISP_ERR_ARG, "complex factor");
    REF_FAILS(ctx, wisp_blk_cols(&v, x, 3, 2), WISP_ERR_ARG, "columns 3 to 4");
    if (ref_ranks() == 1) { /* a view is of local rows */
        REF_FAILS(ctx, wisp_blk_rows(&v, x, 5, 6), WISP_ERR_ARG, "6 rows from row 5 on");
        REF_OK(ctx, wisp_blk_rows(&v, x, 2, 3));
        REF_FAILS(ctx, wisp_spmmv(y, A, v, NULL), WISP_ERR_MISMATCH, "view of some rows");
        wisp_blk_free(v);
    }
    wisp_blk *bx, *by;
    wisp_scalar dot[12];
    REF_OK(ctx, wisp_blk_create(&bx, ctx, wisp_mat_col_map(B), WISP_D, 4));
    REF_OK(ctx, wisp_blk_create(&by, ctx, wisp_mat_map(B), WISP_D, 4));
    REF_FAILS(ctx, wisp_spmmv(by, B, bx, &(wisp_aug){.terms = WISP_DOT_XY, .dot = dot}), WISP_ERR_MISMATCH, "square");
    REF_FAILS(ctx, wisp_spmmv(by, B, bx, &(wisp_aug){.terms = WISP_SCALE, .alpha = {0, 1}}), WISP_ERR_ARG,
              "complex factor");
    wisp_blk *all[] = {x, y, z, d, bx, by};
    for (int i = 0; i < 6; i++) wisp_blk_free(all[i]);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_mat_free(other);
    src.free_arg(src.arg);
    wide.free_arg(wide.arg);
    int64_t now;
    wisp_ctx_memory(ctx, &now, NULL);
    assert_true(now < 100000); /* only the context's scratch is left */
    wisp_ctx_free(ctx);
}

/* z and u are views of the memory that x is in, which moves when x is multiplied for the first time: the blocks
   are older than the matrix, and have no room for a halo. */
static void views_of_what_moves(void **state)
{
    (void)state;
    enum { N = 600, WIDTH = 2, PARTS = 3 };
    ref_rng r = {91};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_mat *A;
    wisp_src src = ref_random_src(&r, WISP_D, N, N, 7);
    ref_mat dense = ref_dense(&src), in[PARTS], want = ref_new(N, WIDTH);
    for (int i = 0; i < PARTS; i++) in[i] = ref_random_block(&r, WISP_D, N, WIDTH);
    for (int way = 0; way < 2; way++) {
        wisp_blk *all, *y, *b[PARTS];
        REF_OK(ctx, wisp_map_create(&map, ctx, N));
        REF_OK(ctx, wisp_blk_create(&all, ctx, map, WISP_D, PARTS * WIDTH));
        REF_OK(ctx, wisp_blk_create(&y, ctx, map, WISP_D, WIDTH));
        for (int i = 0; i < PARTS; i++) {
            REF_OK(ctx, wisp_blk_cols(&b[i], all, i * WIDTH, WIDTH));
            ref_put(b[i], in[i]);
        }
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = map}));
        const wisp_scalar one = {1, 0}, ones[WIDTH] = {{1, 0}, {1, 0}};
        if (way == 0) {
            const wisp_aug aug = {
                .terms = WISP_CHAIN | WISP_ADD, .delta = one, .eta = one, .z = b[1], .u = b[2], .add = ones};
            REF_OK(ctx, wisp_spmmv(y, A, b[0], &aug));
        } else {
            const wisp_mpk_opts o = {.steps = 1, .sums = 1, .z = &b[1], .eta = &one, .u = b[2], .add = ones};
            REF_OK(ctx, wisp_mpk((wisp_blk *[]){NULL, b[0], y}, 3, A, &o));
        }
        ref_mat got = ref_get(b[1]);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < WIDTH; j++) {
                REF_AT(want, i, j) = REF_AT(in[1], i, j) + REF_AT(in[2], i, j);
                for (int64_t k = 0; k < N; k++) REF_AT(want, i, j) += REF_AT(dense, i, k) * REF_AT(in[0], k, j);
            }
        ref_assert_close("a sum in the memory of x", got, want, 1e-12);
        ref_free(got);
        for (int i = 0; i < PARTS; i++) wisp_blk_free(b[i]);
        wisp_blk_free(all), wisp_blk_free(y);
        wisp_mat_free(A);
        wisp_map_free(map);
    }
    for (int i = 0; i < PARTS; i++) ref_free(in[i]);
    ref_free(dense), ref_free(want);
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_those_that_were_asked_for),
        cmocka_unit_test(fall_back_is_said_once),
        cmocka_unit_test(all_terms_all_kernels),
        cmocka_unit_test(precisions_mix),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(padding_does_not_leak),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(views_of_what_moves),
    };
    return REF_RUN(tests);
}
