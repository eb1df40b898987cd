/* Compensated dots and norms: against naive sums over types x widths x rows x instruction sets, on sums that the plain
   form fails, for any number of threads. */
#include "ref.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};

/* The columns before .. before + width - 1 of a wider block (compact if both margins are zero). */
typedef struct {
    wisp_blk *whole, *blk;
} columns;

static columns columns_new(wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, int before, int after,
                           ref_mat values)
{
    columns c;
    REF_OK(ctx, wisp_blk_create(&c.whole, ctx, map, type, before + width + after));
    REF_OK(ctx, wisp_blk_fill(c.whole, (wisp_scalar){NAN, 0}));
    REF_OK(ctx, wisp_blk_cols(&c.blk, c.whole, before, width));
    ref_put(c.blk, values);
    return c;
}

static void columns_free(columns c) { wisp_blk_free(c.blk), wisp_blk_free(c.whole); }

static void random_case(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t rows, int width)
{
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    const int compact = ref_below(r, 2) == 0, before = compact ? 0 : 1, after = compact ? 0 : (int)ref_below(r, 3);
    ref_mat x = ref_random_block(r, type, rows, width), y = ref_random_block(r, type, rows, width);
    columns xc = columns_new(ctx, map, type, width, before, after, x);
    columns yc = columns_new(ctx, map, type, width, before, after, y);
    wisp_scalar *dot = malloc((size_t)width * sizeof *dot);
    double *norm = malloc((size_t)width * sizeof *norm);
    REF_OK(ctx, wisp_dot_kahan(xc.blk, yc.blk, dot));
    REF_OK(ctx, wisp_norm_kahan(xc.blk, norm));
    const double u = wisp_type_size(type) / (wisp_type_is_complex(type) ? 2 : 1) == 8 ? 0x1p-53 : 0x1p-24;
    for (int j = 0; j < width; j++) {
        long double re = 0, im = 0, square = 0, most = 0;
        for (int64_t i = 0; i < rows; i++) {
            const cplx a = REF_AT(x, i, j), b = REF_AT(y, i, j);
            const long double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
            re += ar * br + ai * bi;
            im += ar * bi - ai * br;
            square += ar * ar + ai * ai;
            most += (fabsl(ar) + fabsl(ai)) * (fabsl(br) + fabsl(bi));
        }
        const double bound = (128 * u + 0x1p-52) * (double)most + 0x1p-53 * (double)fabsl(re);
        if (!(fabsl(dot[j].re - re) <= bound && fabsl(dot[j].im - im) <= bound))
            fail_msg("%s %s, %lld rows, column %d of %d: %.17g%+.17gi, should be %.17Lg%+.17Lgi", wisp_ctx_isa(ctx),
                     wisp_type_name(type), (long long)rows, j, width, dot[j].re, dot[j].im, re, im);
        if (!(fabsl(norm[j] - sqrtl(square)) <= (64 * u + 0x1p-52) * sqrtl(square)))
            fail_msg("%s %s, %lld rows: norm %.17g, should be %.17Lg", wisp_ctx_isa(ctx), wisp_type_name(type),
                     (long long)rows, norm[j], sqrtl(square));
    }
    free(dot), free(norm);
    columns_free(xc), columns_free(yc);
    ref_free(x), ref_free(y);
    wisp_map_free(map);
}

static void against_naive_sums(void **state)
{
    (void)state;
    static const int64_t many[] = {0, 1, 127, 128, 129, 2050, 4099};
    ref_rng r = {21};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int t = 0; t < 4; t++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1 + (int)ref_below(&r, 3));
            if (!ctx) continue;
            for (int w = 1; w <= 33; w++) random_case(ctx, &r, types[t], many[w % 7], w);
            random_case(ctx, &r, types[t], 300, 150); /* a row longer than the kernel's panel */
            for (int k = 0; k < 7; k++) random_case(ctx, &r, types[t], many[k], 3);
            random_case(ctx, &r, types[t], 150001, 1);
            wisp_ctx_free(ctx);
        }
}

enum { APART = 128 * 64, GROUP = 3 * APART, ROWS = 10 * GROUP };

/* Large terms that cancel, and small ones that must remain, with so many zeros between them that no plain sum has both:
   each is exact. Returns the exact sum of the products. */
static double hard_rows(ref_mat x, ref_mat y, int is_complex)
{
    const double huge = ldexp(1, 30); /* products of 2^60 */
    ref_rng r = {22};
    double sum = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t group = i / GROUP;
        const int middle = i / APART % 3 == 1, large = group % 5 == 0;
        const double a = !middle ? 0
                         : large ? (i % 64 == 7 ? huge : 0)
                                 : ldexp(1 + (double)ref_below(&r, 7), -4),
                     b = large ? (group < 5 ? huge : -huge) : 0.25;
        for (int64_t j = 0; j < x.cols; j++) {
            REF_AT(x, i, j) = is_complex ? a * (1 + I) : a;
            REF_AT(y, i, j) = b * (double)(j + 1);
        }
        if (!large) sum += a * b;
    }
    return sum;
}

/* Plain sums must fail, else the test tests nothing. */
static void cancelling_sums(void **state)
{
    (void)state;
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int t = 0; t < 4; t++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
            if (!ctx) continue;
            const int is_complex = wisp_type_is_complex(types[t]), width = (isa + t) % 2 ? 1 : 3;
            ref_mat x = ref_new(ROWS, width), y = ref_new(ROWS, width);
            const double sum = hard_rows(x, y, is_complex);
            wisp_map *map;
            REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
            columns xc = columns_new(ctx, map, types[t], width, 0, 0, x);
            columns yc = columns_new(ctx, map, types[t], width, 0, 0, y);
            wisp_scalar plain[16], kahan[16];
            REF_OK(ctx, wisp_dot(xc.blk, yc.blk, plain));
            REF_OK(ctx, wisp_dot_kahan(xc.blk, yc.blk, kahan));
            for (int j = 0; j < width; j++) {
                const double want = sum * (j + 1), bound = 0x1p-52 * fabs(want);
                if (!(fabs(kahan[j].re - want) <= bound))
                    fail_msg("%s %s width %d: %.17g, should be %.17g", ref_isa[isa], wisp_type_name(types[t]), width,
                             kahan[j].re, want);
                assert_true(fabs(kahan[j].im + (is_complex ? want : 0)) <= bound);
                assert_true(fabs(plain[j].re - want) > 1e3 * bound);
            }
            columns_free(xc), columns_free(yc);
            ref_free(x), ref_free(y);
            wisp_map_free(map), wisp_ctx_free(ctx);
        }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { W = 5 };
    for (int t = 0; t < 4; t++) {
        wisp_scalar first[W] = {{0, 0}};
        double first_norm[W] = {0};
        for (int threads = 1; threads <= 3; threads++) {
            wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
            wisp_map *map;
            wisp_blk *x, *y;
            wisp_scalar dot[W];
            double norm[W];
            REF_OK(ctx, wisp_map_create(&map, ctx, 200001));
            REF_OK(ctx, wisp_blk_create(&x, ctx, map, types[t], W));
            REF_OK(ctx, wisp_blk_create(&y, ctx, map, types[t], W));
            REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
            REF_OK(ctx, wisp_blk_fill_random(y, WISP_RANDOM_GAUSS, 2, 0, 0));
            REF_OK(ctx, wisp_dot_kahan(x, y, dot));
            REF_OK(ctx, wisp_norm_kahan(x, norm));
            if (threads == 1) memcpy(first, dot, sizeof dot), memcpy(first_norm, norm, sizeof norm);
            assert_memory_equal(first, dot, sizeof dot);
            assert_memory_equal(first_norm, norm, sizeof norm);
            wisp_blk_free(x), wisp_blk_free(y), wisp_map_free(map), wisp_ctx_free(ctx);
        }
    }
}

static void misuse(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    wisp_map *map;
    wisp_blk *x, *y;
    wisp_scalar dot[4];
    REF_OK(ctx, wisp_map_create(&map, ctx, 10));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 4));
    REF_OK(ctx, wisp_blk_create(&y, ctx, map, WISP_D, 3));
    REF_FAILS(ctx, wisp_dot_kahan(x, y, dot), WISP_ERR_MISMATCH, "one map, shape and type");
    wisp_blk_free(x), wisp_blk_free(y), wisp_map_free(map), wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_naive_sums),
        cmocka_unit_test(cancelling_sums),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(misuse),
    };
    return REF_RUN(tests);
}
