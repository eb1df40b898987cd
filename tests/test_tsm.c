/* X = alpha V^H W + beta X and W = alpha V X + beta W against naive sums: types x widths x rows x instruction sets x
   threads, views, memory that must not be read, in place, compensated sums. */
#include "tsm_factor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};

static int random_width(ref_rng *r)
{
    static const int wide[] = {64, 100, 128};
    return ref_below(r, 12) ? 1 + (int)ref_below(r, 33) : wide[ref_below(r, 3)];
}

/* A block as columns first .. of `data`, user memory that ends with the last element of the last row, so that a
   memory checker sees what is read behind it. NaN between the rows. */
typedef struct {
    wisp_blk *blk;
    void *data;
    size_t bytes;
} area;

static area area_new(wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, int before, int after, ref_mat values)
{
    const int64_t rows = wisp_map_rows(map), stride = before + width + after;
    const size_t size = wisp_type_size(type);
    area a = {.bytes = rows ? (size_t)((rows - 1) * stride + before + width) * size : size};
    a.data = malloc(a.bytes);
    memset(a.data, 0xff, a.bytes); /* NaN in every type */
    if (ref_far(ctx)) {            /* its own memory, as NaN */
        wisp_blk *wide;
        REF_OK(ctx, wisp_blk_create(&wide, ctx, map, type, (int)stride));
        REF_OK(ctx, wisp_blk_fill(wide, (wisp_scalar){NAN, NAN}));
        REF_OK(ctx, wisp_blk_cols(&a.blk, wide, before, width));
        wisp_blk_free(wide);
        if (values.a) ref_put(a.blk, values);
        return a;
    }
    REF_OK(ctx,
           wisp_blk_borrow(&a.blk, ctx, map, type, width, (char *)a.data + (rows ? (size_t)before * size : 0), stride));
    if (values.a) ref_put(a.blk, values);
    return a;
}

static void area_free(area a)
{
    wisp_blk_free(a.blk);
    free(a.data);
}

static cplx value(wisp_scalar s) { return s.re + I * s.im; }

static void check_value(const char *what, int64_t i, int64_t j, cplx got, cplx want, double bound)
{
    if (!(fabs(creal(got - want)) <= bound && fabs(cimag(got - want)) <= bound))
        fail_msg("%s: element (%lld, %lld) is %.9g%+.9gi, should be %.9g%+.9gi", what, (long long)i, (long long)j,
                 creal(got), cimag(got), creal(want), cimag(want));
}

static void gram_case(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t rows, int m, int n, unsigned flags)
{
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    const int same = ref_below(r, 6) == 0;
    if (same) n = m;
    ref_mat v = ref_random_block(r, type, rows, m), w = same ? v : ref_random_block(r, type, rows, n);
    area va = area_new(ctx, map, type, m, (int)ref_below(r, 3), (int)ref_below(r, 3), v);
    area wa = same ? va : area_new(ctx, map, type, n, (int)ref_below(r, 3), (int)ref_below(r, 3), w);
    const wisp_scalar alpha = tsm_factor(r, type, 1 + ref_below(r, 2)), beta = tsm_factor(r, type, ref_below(r, 3));
    const int beta0 = beta.re == 0 && beta.im == 0, ldx = n + (int)ref_below(r, 3);
    wisp_scalar *x = malloc((size_t)(m * ldx) * sizeof *x), *old = malloc((size_t)(m * ldx) * sizeof *x);
    for (int i = 0; i < m * ldx; i++)
        x[i] = old[i] = beta0 || i % ldx >= n ? (wisp_scalar){NAN, NAN} : ref_scalar(ref_value(r, type));
    REF_OK(ctx, wisp_tsm_gram(x, ldx, alpha, va.blk, wa.blk, beta, flags));
    char what[160];
    snprintf(what, sizeof what, "gram, %s: %s, %lld rows, widths %d and %d, flags %u", wisp_ctx_isa(ctx),
             wisp_type_name(type), (long long)rows, m, n, flags);
    const double bound = ref_eps(type) * (1 + (same ? (double)rows : sqrt((double)rows)));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < ldx; j++) {
            if (j >= n) {
                assert_true(isnan(x[i * ldx + j].re));
                continue;
            }
            cplx sum = 0;
            for (int64_t k = 0; k < rows; k++) sum += conj(REF_AT(v, k, i)) * REF_AT(w, k, j);
            sum *= value(alpha);
            if (!beta0) sum += value(beta) * value(old[i * ldx + j]);
            check_value(what, i, j, value(x[i * ldx + j]), sum, bound);
        }
    free(x), free(old);
    area_free(va), ref_free(v);
    if (!same) area_free(wa), ref_free(w);
    wisp_map_free(map);
}

/* Of a block with itself, in two views: as of two blocks, and Hermitian bit by bit. */
static void gram_of_one(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t rows, int n, unsigned flags)
{
    const wisp_scalar one = {1, 0}, zero = {0, 0};
    const size_t all = (size_t)n * (size_t)n;
    wisp_map *map;
    wisp_blk *wide, *two, *view[2];
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    REF_OK(ctx, wisp_blk_create(&wide, ctx, map, type, n + 3));
    REF_OK(ctx, wisp_blk_create(&two, ctx, map, type, n));
    for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_cols(&view[i], wide, 2, n));
    ref_mat v = ref_random_block(r, type, rows, n);
    ref_put(view[0], v), ref_put(two, v);
    wisp_scalar *x = malloc(2 * all * sizeof *x), *y = x + all;
    REF_OK(ctx, wisp_tsm_gram(x, n, one, view[0], view[1], zero, flags));
    REF_OK(ctx, wisp_tsm_gram(y, n, one, view[0], two, zero, flags));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const wisp_scalar a = x[i * n + j], b = x[j * n + i];
            assert_true(a.re == b.re && a.im == -b.im);
            check_value("gram of one", i, j, value(a), value(y[i * n + j]), ref_eps(type) * (1 + (double)rows));
        }
    free(x), ref_free(v);
    wisp_blk_free(view[0]), wisp_blk_free(view[1]), wisp_blk_free(two), wisp_blk_free(wide), wisp_map_free(map);
}

static void update_case(wisp_ctx *ctx, ref_rng *r, wisp_type type, int64_t rows, int m, int n, int in_place)
{
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    if (in_place && n > m) n = m;
    ref_mat v = ref_random_block(r, type, rows, m),
            w = in_place ? ref_new(rows, n) : ref_random_block(r, type, rows, n);
    if (in_place)
        for (int64_t k = 0; k < rows; k++)
            for (int j = 0; j < n; j++) REF_AT(w, k, j) = REF_AT(v, k, j);
    const wisp_scalar alpha = tsm_factor(r, type, 1 + ref_below(r, 2)), beta = tsm_factor(r, type, ref_below(r, 3));
    const int beta0 = beta.re == 0 && beta.im == 0, ldx = n + (int)ref_below(r, 3);
    const int before = (int)ref_below(r, 3);
    area va = area_new(ctx, map, type, m, (int)ref_below(r, 3), (int)ref_below(r, 3), v);
    area wa = {0};
    if (in_place)
        REF_OK(ctx, wisp_blk_cols(&wa.blk, va.blk, 0, n));
    else
        wa = area_new(ctx, map, type, n, before, (int)ref_below(r, 3), beta0 ? (ref_mat){0} : w);
    wisp_scalar *x = malloc((size_t)(m * ldx) * sizeof *x);
    const int upper = ref_below(r, 3) == 0;
    for (int i = 0; i < m * ldx; i++)
        x[i] = i % ldx >= n                 ? (wisp_scalar){NAN, NAN}
               : upper && i / ldx > i % ldx ? (wisp_scalar){0, 0}
                                            : ref_scalar(ref_value(r, type));
    REF_OK(ctx, wisp_tsm_update(wa.blk, alpha, va.blk, x, ldx, beta));
    char what[160];
    snprintf(what, sizeof what, "update%s, %s: %s, %lld rows, widths %d and %d", in_place ? " in place" : "",
             wisp_ctx_isa(ctx), wisp_type_name(type), (long long)rows, m, n);
    ref_mat got = ref_get(wa.blk), v_after = ref_get(va.blk);
    const double bound = ref_eps(type) * (1 + (double)m);
    for (int64_t k = 0; k < rows; k++) {
        for (int j = 0; j < n; j++) {
            cplx sum = 0;
            for (int i = 0; i < m; i++) sum += REF_AT(v, k, i) * value(x[i * ldx + j]);
            sum *= value(alpha);
            if (!beta0) sum += value(beta) * REF_AT(w, k, j);
            check_value(what, k, j, REF_AT(got, k, j), sum, bound);
        }
        for (int j = in_place ? n : 0; j < m; j++) assert_true(REF_AT(v_after, k, j) == REF_AT(v, k, j));
        if (wa.data && rows) { /* nothing is written beside the row */
            const size_t size = wisp_type_size(type);
            const char *row = (char *)wa.data +
                              (size_t)k * (wa.bytes - (size_t)(before + n) * size) / (size_t)(rows > 1 ? rows - 1 : 1);
            for (size_t l = 0; l < (size_t)before * size; l++) assert_int_equal((unsigned char)row[l], 0xff);
        }
    }
    free(x);
    area_free(wa), area_free(va);
    ref_free(got), ref_free(v_after), ref_free(v), ref_free(w);
    wisp_map_free(map);
}

static void every_kernel(void **state)
{
    (void)state;
    static const int64_t many[] = {0, 1, 127, 128, 129, 3001};
    ref_rng r = {11};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int t = 0; t < 4; t++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1 + (int)ref_below(&r, 3));
            if (!ctx) continue;
            for (int w = 1; w <= 33; w++) { /* each width on each side, with few rows */
                const int64_t rows = 1 + ref_below(&r, 40);
                gram_case(ctx, &r, types[t], rows, w, random_width(&r), w % 2 ? 0 : WISP_KAHAN);
                gram_case(ctx, &r, types[t], rows, random_width(&r), w, w % 2 ? WISP_KAHAN : 0);
                update_case(ctx, &r, types[t], rows, w, random_width(&r), 0);
                update_case(ctx, &r, types[t], rows, random_width(&r), w, w % 2);
            }
            for (int i = 0; i < 24; i++) {
                const int64_t rows = many[i % 6];
                const int most = rows > 1000 ? 16 : 128, m = random_width(&r), n = random_width(&r);
                gram_case(ctx, &r, types[t], rows, m < most ? m : most, n < most ? n : most, i % 2 ? WISP_KAHAN : 0);
                update_case(ctx, &r, types[t], rows, m < most ? m : most, n < most ? n : most, i / 6 % 2);
            }
            gram_case(ctx, &r, types[t], 300, 128, 100, 0);
            gram_case(ctx, &r, types[t], 20, 300, 530, 0);
            for (int i = 0; i < 2; i++) gram_of_one(ctx, &r, types[t], 150, i ? 530 : 77, i ? 0 : WISP_KAHAN);
            update_case(ctx, &r, types[t], 300, 128, 128, 1);
            wisp_ctx_free(ctx);
        }
}

/* Large enough to be written past the caches (compact, whole registers), and too narrow for that. */
static void large_blocks(void **state)
{
    (void)state;
    static const int width[] = {16, 20, 15};
    ref_rng r = {12};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (int k = 0; k < 3; k++) {
            const int w = width[k];
            const int64_t rows = (int64_t)(34 << 20) / (8 * w) + 13;
            wisp_map *map;
            wisp_blk *v, *y;
            REF_OK(ctx, wisp_map_create(&map, ctx, rows));
            REF_OK(ctx, wisp_blk_create(&v, ctx, map, WISP_D, w));
            REF_OK(ctx, wisp_blk_create(&y, ctx, map, WISP_D, w));
            REF_OK(ctx, wisp_blk_fill(y, (wisp_scalar){NAN, 0}));
            REF_OK(ctx, wisp_blk_fill_random(v, WISP_RANDOM_TRACE, 5, 0, 0));
            wisp_scalar x[20 * 20];
            for (int i = 0; i < w * w; i++) x[i] = (wisp_scalar){(double)ref_below(&r, 100), 0};
            REF_OK(ctx, wisp_tsm_update(y, (wisp_scalar){2, 0}, v, x, w, (wisp_scalar){0, 0}));
            const double *vd, *yd;
            int64_t sv, sy;
            REF_OK(ctx, wisp_blk_lend(v, WISP_WRITE, (void **)(uintptr_t)&vd, &sv));
            REF_OK(ctx, wisp_blk_lend(y, WISP_WRITE, (void **)(uintptr_t)&yd, &sy));
            for (int64_t i = 0; i < wisp_blk_nrows(y); i++)
                for (int j = 0; j < w; j++) { /* whole numbers: exact */
                    double sum = 0;
                    for (int l = 0; l < w; l++) sum += vd[i * sv + l] * 2 * x[l * w + j].re;
                    if (sum != yd[i * sy + j])
                        fail_msg("row %lld: %g, should be %g", (long long)i, yd[i * sy + j], sum);
                }
            wisp_blk_free(v), wisp_blk_free(y), wisp_map_free(map);
        }
        wisp_ctx_free(ctx);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { M = 9, N = 6 };
    static const int64_t rows[] = {5000, 200001};
    const int sizes = REF_SANITIZED ? 1 : 2; /* the larger one is for the bits of many strips */
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < sizes; k++) {
            wisp_scalar first[2][M * N];
            void *first_w = NULL;
            const size_t bytes = (size_t)rows[k] * N * wisp_type_size(types[t]);
            for (int threads = 1; threads <= 3; threads++) {
                wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
                wisp_map *map;
                wisp_blk *v, *w;
                wisp_scalar x[M * N];
                REF_OK(ctx, wisp_map_create(&map, ctx, rows[k]));
                REF_OK(ctx, wisp_blk_create(&v, ctx, map, types[t], M));
                REF_OK(ctx, wisp_blk_create(&w, ctx, map, types[t], N));
                REF_OK(ctx, wisp_blk_fill_random(v, WISP_RANDOM_GAUSS, 1, 0, 0));
                REF_OK(ctx, wisp_blk_fill_random(w, WISP_RANDOM_GAUSS, 2, 0, 0));
                for (int kahan = 0; kahan < 2; kahan++) {
                    REF_OK(ctx,
                           wisp_tsm_gram(x, N, (wisp_scalar){1, 0}, v, w, (wisp_scalar){0, 0}, kahan ? WISP_KAHAN : 0));
                    if (threads == 1)
                        memcpy(first[kahan], x, sizeof x);
                    else
                        assert_memory_equal(first[kahan], x, sizeof x);
                }
                for (int i = 0; i < M * N; i++) x[i] = (wisp_scalar){1. / (i + 1), 0};
                REF_OK(ctx, wisp_tsm_update(w, (wisp_scalar){0.7, 0}, v, x, N, (wisp_scalar){-0.3, 0}));
                void *data = calloc(1, bytes); /* on several ranks the rest stays zero */
                REF_OK(ctx, wisp_blk_get(w, WISP_ROW_MAJOR, data, N));
                if (threads == 1) {
                    first_w = data;
                } else {
                    assert_memory_equal(first_w, data, bytes);
                    free(data);
                }
                wisp_blk_free(v), wisp_blk_free(w), wisp_map_free(map), wisp_ctx_free(ctx);
            }
            free(first_w);
        }
}

/* Large terms that cancel across strips, and small ones that must remain: strips are exact in themselves, so that
   the compensated sum has only its last rounding. Plain sums must lose the small ones, else the test tests nothing. */
static void compensated_sums(void **state)
{
    (void)state;
    enum { ROWS = 128 * 420, W = 3 }; /* of up to 7 ranks each begins with a strip */
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int t = 0; t < 4; t++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
            if (!ctx) continue;
            const int is_complex = wisp_type_is_complex(types[t]);
            ref_mat v = ref_new(ROWS, W), w = ref_new(ROWS, W);
            ref_rng r = {13};
            const double huge = ldexp(1, 30); /* products of 2^60 */
            double sum = 0;                   /* of the small ones, exactly: the large ones cancel */
            for (int64_t i = 0; i < ROWS; i++) {
                const int64_t strip = i / 128;
                const int large = strip % 5 == 0 && i % 128 == 7, small = strip % 5 != 0;
                const double a = large   ? huge
                                 : small ? ldexp(1 + (double)ref_below(&r, 7), -4)
                                         : 0,
                             b = large   ? (strip < 210 ? huge : -huge)
                                 : small ? 0.25
                                         : 0;
                for (int j = 0; j < W; j++) {
                    REF_AT(v, i, j) = is_complex ? a * (1 + I) : a;
                    REF_AT(w, i, j) = b * (j + 1);
                }
                if (small) sum += a * b;
            }
            wisp_map *map;
            wisp_blk *vb, *wb;
            REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
            REF_OK(ctx, wisp_blk_create(&vb, ctx, map, types[t], W));
            REF_OK(ctx, wisp_blk_create(&wb, ctx, map, types[t], W));
            ref_put(vb, v), ref_put(wb, w);
            wisp_scalar plain[W * W], kahan[W * W];
            const wisp_scalar one = {1, 0}, zero = {0, 0};
            REF_OK(ctx, wisp_tsm_gram(plain, W, one, vb, wb, zero, 0));
            REF_OK(ctx, wisp_tsm_gram(kahan, W, one, vb, wb, zero, WISP_KAHAN));
            for (int i = 0; i < W; i++)
                for (int j = 0; j < W; j++) {
                    const double want = sum * (j + 1), bound = 0x1p-52 * fabs(want);
                    if (!(fabs(kahan[i * W + j].re - want) <= bound))
                        fail_msg("%s %s: compensated %.17g, should be %.17g", ref_isa[isa], wisp_type_name(types[t]),
                                 kahan[i * W + j].re, want);
                    if (is_complex) assert_true(fabs(kahan[i * W + j].im + want) <= bound);
                    assert_true(fabs(plain[i * W + j].re - want) > 1e3 * bound);
                }
            wisp_blk_free(vb), wisp_blk_free(wb), wisp_map_free(map), wisp_ctx_free(ctx);
            ref_free(v), ref_free(w);
        }
}

static void misuse(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* it has views of rows, which one rank alone has */
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    wisp_map *map, *other;
    wisp_blk *v, *w, *z, *far, *cols, *rows;
    wisp_scalar x[64] = {{0, 0}};
    const wisp_scalar one = {1, 0}, zero = {0, 0}, i = {0, 1};
    REF_OK(ctx, wisp_map_create(&map, ctx, 10));
    REF_OK(ctx, wisp_map_create(&other, ctx, 10));
    REF_OK(ctx, wisp_blk_create(&v, ctx, map, WISP_D, 4));
    REF_OK(ctx, wisp_blk_create(&w, ctx, map, WISP_D, 4));
    REF_OK(ctx, wisp_blk_create(&z, ctx, map, WISP_Z, 4));
    REF_OK(ctx, wisp_blk_create(&far, ctx, other, WISP_D, 4));
    REF_OK(ctx, wisp_blk_cols(&cols, v, 1, 3));
    REF_OK(ctx, wisp_blk_rows(&rows, v, 1, 9));
    REF_FAILS(ctx, wisp_tsm_gram(x, 4, one, v, z, zero, 0), WISP_ERR_MISMATCH, "one map, type and rows");
    REF_FAILS(ctx, wisp_tsm_gram(x, 4, one, v, far, zero, 0), WISP_ERR_MISMATCH, "different maps");
    REF_FAILS(ctx, wisp_tsm_gram(x, 4, one, v, rows, zero, 0), WISP_ERR_MISMATCH, "9 double rows");
    REF_FAILS(ctx, wisp_tsm_gram(x, 3, one, v, w, zero, 0), WISP_ERR_ARG, "at least 4");
    REF_FAILS(ctx, wisp_tsm_gram(NULL, 4, one, v, w, zero, 0), WISP_ERR_ARG, "X");
    REF_FAILS(ctx, wisp_tsm_gram(x, 4, i, v, w, zero, 0), WISP_ERR_ARG, "complex factor");
    REF_FAILS(ctx, wisp_tsm_gram(x, 4, one, v, w, i, 0), WISP_ERR_ARG, "complex factor");
    REF_FAILS(ctx, wisp_tsm_gram(x, 4, one, v, w, zero, 1), WISP_ERR_ARG, "unknown flags 0x1");
    wisp_slot *slot;
    REF_OK(ctx, wisp_slot_create(&slot, ctx, 16));
    REF_FAILS(ctx, wisp_tsm_gram_at((wisp_place){slot, 1}, 4, v, w, 0), WISP_ERR_ARG, "of a slot of 16");
    REF_FAILS(ctx, wisp_tsm_gram_at((wisp_place){slot, -1}, 4, v, w, 0), WISP_ERR_ARG, "from -1 on");
    REF_FAILS(ctx, wisp_tsm_gram_at((wisp_place){slot, 0}, 3, v, w, 0), WISP_ERR_ARG, "at least 4");
    REF_FAILS(ctx, wisp_tsm_gram_at((wisp_place){slot, 0}, 4, v, z, 0), WISP_ERR_MISMATCH, "one map, type and rows");
    REF_FAILS(ctx, wisp_tsm_gram_at((wisp_place){slot, 0}, 4, v, w, 1), WISP_ERR_ARG, "unknown flags 0x1");
    const wisp_place all = {slot, 0};
    REF_FAILS(ctx, wisp_tsm_gram_at(all, INT64_MAX, v, w, 0), WISP_ERR_ARG, "of a slot of 16");
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, v, (wisp_place){slot, 1}, 4, zero, 0), WISP_ERR_ARG, "of a slot of 16");
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, v, all, INT64_MAX, zero, 0), WISP_ERR_ARG, "of a slot of 16");
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, v, all, 3, zero, 0), WISP_ERR_ARG, "at least 4");
    REF_FAILS(ctx, wisp_tsm_update_at(w, i, v, all, 4, zero, 0), WISP_ERR_ARG, "complex factor");
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, v, all, 4, zero, 1), WISP_ERR_ARG, "unknown flags 0x1");
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, z, all, 4, zero, 0), WISP_ERR_MISMATCH, "one map, type and rows");
    REF_FAILS(ctx, wisp_tsm_update_at(cols, one, v, all, 4, zero, 0), WISP_ERR_ARG, "overlap");
    /* Of 3 columns times X of 3 rows, or the adjoint of one of 3 columns. */
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, cols, (wisp_place){slot, 5}, 4, zero, 0), WISP_ERR_ARG, "12 numbers");
    REF_FAILS(ctx, wisp_tsm_update_at(w, one, v, all, 3, zero, WISP_ADJOINT), WISP_ERR_ARG, "at least 4");
    wisp_slot_free(slot);
    REF_FAILS(ctx, wisp_tsm_update(w, one, z, x, 4, zero), WISP_ERR_MISMATCH, "one map, type and rows");
    REF_FAILS(ctx, wisp_tsm_update(w, one, v, x, 3, zero), WISP_ERR_ARG, "at least 4");
    REF_FAILS(ctx, wisp_tsm_update(w, i, v, x, 4, zero), WISP_ERR_ARG, "complex factor");
    REF_FAILS(ctx, wisp_tsm_update(cols, one, v, x, 4, zero), WISP_ERR_ARG, "overlap");
    REF_FAILS(ctx, wisp_tsm_update(v, one, cols, x, 4, zero), WISP_ERR_ARG, "overlap");
    x[0].im = 1; /* an imaginary part of X for real blocks */
    REF_FAILS(ctx, wisp_tsm_update(w, one, v, x, 4, zero), WISP_ERR_ARG, "imaginary");
    wisp_blk_free(v), wisp_blk_free(w), wisp_blk_free(z), wisp_blk_free(far), wisp_blk_free(cols), wisp_blk_free(rows);
    wisp_map_free(map), wisp_map_free(other), wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel),
        cmocka_unit_test(large_blocks),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(compensated_sums),
        cmocka_unit_test(misuse),
    };
    return REF_RUN(tests);
}
