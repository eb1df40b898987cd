/* Element-wise ops, copies, dots and norms against the oracle: types x widths x sizes x instruction sets, and views. */
#include "ref.h"
#include <math.h>
#include <string.h>

static void blas1_case(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t n, int width, int view)
{
    wisp_map *map;
    wisp_blk *wide_x, *wide_y, *x, *y;
    REF_OK(ctx, wisp_map_create(&map, ctx, n));
    REF_OK(ctx, wisp_blk_create(&wide_x, ctx, map, type, width + view));
    REF_OK(ctx, wisp_blk_create(&wide_y, ctx, map, type, width + view));
    wisp_map_free(map);
    REF_OK(ctx, wisp_blk_cols(&x, wide_x, view ? 1 : 0, width));
    REF_OK(ctx, wisp_blk_cols(&y, wide_y, view ? 1 : 0, width));
    ref_mat xm = ref_random_block(r, type, n, width), ym = ref_random_block(r, type, n, width);
    wisp_scalar a[64], b[64];
    for (int what = 0; what < 8; what++) {
        const int each = what >= 4;
        for (int j = 0; j < width; j++) {
            a[j] = ref_scalar(ref_value(r, what & 1 ? type : WISP_D));
            b[j] = ref_scalar(what % 4 == 1 && j % 3 == 0 ? 0 : ref_value(r, what & 1 ? type : WISP_D));
            if (!each) a[j] = a[0], b[j] = b[0];
        }
        ref_put(x, xm);
        ref_put(y, ym);
        if (what % 4 == 3) {
            REF_OK(ctx, each ? wisp_vscal(y, a) : wisp_scal(y, a[0]));
        } else if (what % 4 == 2) {
            REF_OK(ctx, each ? wisp_vaxpy(y, a, x) : wisp_axpy(y, a[0], x));
        } else {
            REF_OK(ctx, each ? wisp_vaxpby(y, a, x, b) : wisp_axpby(y, a[0], x, b[0]));
        }
        ref_mat got = ref_get(y), want = ref_new(n, width);
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < width; j++) {
                const cplx aj = a[j].re + I * a[j].im, bj = b[j].re + I * b[j].im, xv = REF_AT(xm, i, j),
                           yv = REF_AT(ym, i, j);
                REF_AT(want, i, j) = what % 4 == 3 ? aj * yv : what % 4 == 2 ? yv + aj * xv : aj * xv + bj * yv;
            }
        ref_assert_close("axpby", got, want, ref_eps(type));
        ref_free(got), ref_free(want);
    }
    ref_put(y, ym);
    wisp_scalar dot[64];
    double norm[64];
    REF_OK(ctx, wisp_dot(x, y, dot));
    REF_OK(ctx, wisp_norm(x, norm));
    for (int j = 0; j < width; j++) {
        cplx d = 0;
        double n2 = 0;
        for (int64_t i = 0; i < n; i++) {
            d += conj(REF_AT(xm, i, j)) * REF_AT(ym, i, j);
            n2 += creal(conj(REF_AT(xm, i, j)) * REF_AT(xm, i, j));
        }
        assert_true(cabs(d - (dot[j].re + I * dot[j].im)) <= ref_eps(type) * (double)(n + 1));
        assert_true(fabs(sqrt(n2) - norm[j]) <= ref_eps(type) * (double)(n + 1));
    }
    /* The same memory seen with another stride is another block. */
    if (view && type == WISP_Z && n > 1 && width == 1 && !ref_far(ctx) && ref_ranks() == 1) {
        double data[] = {1, 0, 2, 3, 4, 5, 6, 7};
        wisp_map *two;
        wisp_blk *near, *far;
        REF_OK(ctx, wisp_map_create(&two, ctx, 2));
        REF_OK(ctx, wisp_blk_borrow(&near, ctx, two, type, 1, data, 1));
        REF_OK(ctx, wisp_blk_borrow(&far, ctx, two, type, 1, data, 2));
        REF_OK(ctx, wisp_dot(near, far, dot)); /* 1 + (2 - 3i)(4 + 5i) */
        assert_true(dot[0].re == 24 && dot[0].im == -2);
        wisp_blk_free(near);
        wisp_blk_free(far);
        wisp_map_free(two);
    }
    /* Copies, and NaN that beta = 0 must not read. */
    wisp_blk_fill(y, (wisp_scalar){NAN, 0});
    REF_OK(ctx, wisp_copy(y, x));
    ref_mat copy = ref_get(y);
    assert_memory_equal(copy.a, xm.a, sizeof(cplx) * (size_t)(n * width));
    static const wisp_type other_type[] = {[WISP_S] = WISP_D, [WISP_D] = WISP_S, [WISP_C] = WISP_Z, [WISP_Z] = WISP_C};
    wisp_blk *other;
    REF_OK(ctx, wisp_blk_create(&other, ctx, wisp_blk_map(x), other_type[type], width));
    REF_OK(ctx, wisp_copy(other, x));
    ref_mat converted = ref_get(other);
    for (int64_t i = 0; i < n * width; i++)
        assert_true(converted.a[i] == (double)(float)creal(xm.a[i]) + I * (double)(float)cimag(xm.a[i]));
    ref_free(converted);
    wisp_blk_free(other);
    wisp_blk_fill(y, (wisp_scalar){NAN, 0});
    REF_OK(ctx, wisp_axpby(y, (wisp_scalar){2, 0}, x, (wisp_scalar){0, 0}));
    ref_mat twice = ref_get(y);
    for (int64_t i = 0; i < n * width; i++) assert_true(twice.a[i] == 2 * xm.a[i]);
    ref_free(copy), ref_free(twice), ref_free(xm), ref_free(ym);
    wisp_blk_free(x);
    wisp_blk_free(y);
    wisp_blk_free(wide_x);
    wisp_blk_free(wide_y);
}

static void blas1(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 4, 7, 8, 16, 33, 64};
    static const int64_t sizes[] = {0, 1, 15, 64, 129, 3001};
    ref_rng r = {4};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (wisp_type t = WISP_S; t <= WISP_Z; t++)
            for (int w = 0; w < 9; w++)
                for (int s = 0; s < 6; s++)
                    for (int view = 0; view < 3; view += 2) blas1_case(ctx, &r, t, sizes[s], widths[w], view);
        wisp_ctx_free(ctx);
    }
}

/* The norm of a multiple by a power of two is that multiple, to the last bit, as far as numbers of the type reach. */
static void norms_of_any_size(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    ref_rng r = {5};
    for (wisp_type t = WISP_S; t <= WISP_Z; t++)
        for (int width = 1; width < 5; width += 2)
            for (int kahan = 0; kahan < 2; kahan++) {
                const int end = t == WISP_S || t == WISP_C ? 120 : 1016;
                wisp_map *map;
                wisp_blk *x;
                REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
                REF_OK(ctx, wisp_blk_create(&x, ctx, map, t, width));
                wisp_map_free(map);
                ref_mat v = ref_random_block(&r, t, ROWS, width);
                double one[4], norm[4];
                for (int exponent = -end; exponent <= end; exponent += end / 8) {
                    ref_mat m = ref_new(ROWS, width);
                    for (int64_t i = 0; i < ROWS * width; i++) /* whole numbers: none is rounded, however small */
                        m.a[i] = ldexp(rint(16 * creal(v.a[i])), exponent - 6) +
                                 I * ldexp(rint(16 * cimag(v.a[i])), exponent - 6);
                    ref_put(x, m);
                    REF_OK(ctx, kahan ? wisp_norm_kahan(x, norm) : wisp_norm(x, norm));
                    for (int j = 0; j < width; j++) {
                        if (exponent == -end) one[j] = ldexp(norm[j], end);
                        if (norm[j] != ldexp(one[j], exponent))
                            fail_msg("%s, times 2^%d: norm %g", wisp_type_name(t), exponent, norm[j]);
                        double square = 0;
                        for (int64_t i = 0; i < ROWS && exponent == -end; i++) {
                            const cplx a = ldexp(1, end) * REF_AT(m, i, j);
                            square += creal(a * conj(a));
                        }
                        if (exponent == -end) assert_true(fabs(one[j] - sqrt(square)) <= 300 * ref_eps(t) * one[j]);
                    }
                    ref_free(m);
                }
                ref_free(v);
                wisp_blk_free(x);
            }
    wisp_ctx_free(ctx);
}

/* It holds no memory that grows with the rows. And the numbers are right for many strips. */
static void norms_hold_nothing(void **state)
{
    (void)state;
    enum { ROWS = 50021, SUMS = 1 << 16 }; /* bytes: of row blocks, which may be cut anew */
    static const double number[] = {1, 1e-300, 1e300, 0};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_map *map;
    wisp_blk *x;
    int64_t first = 0;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_Z, 3));
    wisp_map_free(map);
    for (int i = 0; i < 4; i++) {
        double norm[3];
        int64_t peak;
        REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){3 * number[i], 4 * number[i]}));
        REF_OK(ctx, wisp_norm(x, norm));
        for (int j = 0; j < 3; j++)
            assert_true(fabs(norm[j] - 5 * number[i] * sqrt(ROWS)) <= 1e-13 * 5 * number[i] * sqrt(ROWS));
        wisp_ctx_memory(ctx, NULL, &peak);
        if (i == 0) first = peak; /* with what the first call keeps */
        assert_in_range(peak, first, first + SUMS);
    }
    wisp_blk_free(x);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blas1), cmocka_unit_test(norms_of_any_size),
                                       cmocka_unit_test(norms_hold_nothing)};
    return REF_RUN(tests);
}
