#include "ref.h"
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t ref_next(ref_rng *r)
{
    /* splitmix64 */
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double ref_uniform(ref_rng *r) { return (double)(ref_next(r) >> 11) * 0x1p-52 - 1; }

int64_t ref_below(ref_rng *r, int64_t n) { return (int64_t)(ref_next(r) % (uint64_t)n); }

static int is_single(wisp_type type) { return type == WISP_S || type == WISP_C; }

cplx ref_value(ref_rng *r, wisp_type type)
{
    double re = ref_uniform(r), im = wisp_type_is_complex(type) ? ref_uniform(r) : 0;
    return is_single(type) ? (double)(float)re + I * (double)(float)im : re + I * im;
}

ref_mat ref_new(int64_t rows, int64_t cols)
{
    ref_mat m = {rows, cols, calloc((size_t)(rows * cols) + 1, sizeof(cplx))};
    assert_non_null(m.a);
    return m;
}

void ref_free(ref_mat m) { free(m.a); }

static void write_value(wisp_type type, void *p, int64_t i, cplx v)
{
    switch (type) {
    case WISP_S: ((float *)p)[i] = (float)creal(v); break;
    case WISP_D: ((double *)p)[i] = creal(v); break;
    case WISP_C: ((float *)p)[2 * i] = (float)creal(v), ((float *)p)[2 * i + 1] = (float)cimag(v); break;
    default: ((double *)p)[2 * i] = creal(v), ((double *)p)[2 * i + 1] = cimag(v);
    }
}

static cplx read_value(wisp_type type, const void *p, int64_t i)
{
    switch (type) {
    case WISP_S: return (double)((const float *)p)[i];
    case WISP_D: return ((const double *)p)[i];
    case WISP_C: return (double)((const float *)p)[2 * i] + I * (double)((const float *)p)[2 * i + 1];
    default: return ((const double *)p)[2 * i] + I * ((const double *)p)[2 * i + 1];
    }
}

ref_mat ref_dense(const wisp_src *src)
{
    ref_mat m = ref_new(src->rows, src->cols);
    int64_t *col = malloc(sizeof *col * (size_t)(src->max_row + 1));
    void *val = malloc(wisp_type_size(src->type) * (size_t)(src->max_row + 1));
    for (int64_t i = 0; i < src->rows; i++) {
        int n = src->row(src->arg, i, col, val);
        assert_true(n >= 0 && n <= src->max_row);
        for (int k = 0; k < n; k++) REF_AT(m, i, col[k]) += read_value(src->type, val, k);
    }
    free(col);
    free(val);
    return m;
}

void ref_round(ref_mat m, wisp_type type)
{
    for (int64_t i = 0; i < m.rows * m.cols; i++)
        if (is_single(type)) m.a[i] = (double)(float)creal(m.a[i]) + I * (double)(float)cimag(m.a[i]);
}

typedef struct {
    wisp_type type;
    int64_t *ptr, *col;
    void *val;
} crs;

static int crs_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const crs *c = arg;
    const int64_t begin = c->ptr[row], n = c->ptr[row + 1] - begin;
    const size_t size = wisp_type_size(c->type);
    if (col) {
        memcpy(col, c->col + begin, (size_t)n * sizeof *col);
        memcpy(val, (const char *)c->val + (size_t)begin * size, (size_t)n * size);
    }
    return (int)n;
}

static void crs_free(void *arg)
{
    crs *c = arg;
    free(c->ptr);
    free(c->col);
    free(c->val);
    free(c);
}

static wisp_src crs_src(wisp_type type, int64_t rows, int64_t cols, int64_t max_row, int64_t capacity)
{
    crs *c = malloc(sizeof *c);
    c->type = type;
    c->ptr = calloc((size_t)rows + 1, sizeof *c->ptr);
    c->col = calloc((size_t)capacity + 1, sizeof *c->col);
    c->val = calloc((size_t)capacity + 1, wisp_type_size(type));
    return (wisp_src){rows, cols, max_row, type, crs_row, c, crs_free};
}

wisp_src ref_random_src(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, int most)
{
    wisp_src src = crs_src(type, rows, cols, most, rows * most);
    crs *c = src.arg;
    int64_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t n = cols && ref_below(r, 6) ? ref_below(r, most + 1) : 0;
        for (int64_t k = 0; k < n; k++, at++) {
            c->col[at] = k && ref_below(r, 8) == 0 ? c->col[at - 1] : ref_below(r, cols);
            write_value(type, c->val, at, ref_value(r, type));
        }
        c->ptr[i + 1] = at;
    }
    return src;
}

wisp_src ref_dense_src(ref_mat m, wisp_type type)
{
    wisp_src src = crs_src(type, m.rows, m.cols, m.cols, m.rows * m.cols);
    crs *c = src.arg;
    int64_t at = 0;
    for (int64_t i = 0; i < m.rows; i++) {
        for (int64_t j = 0; j < m.cols; j++)
            if (REF_AT(m, i, j) != 0) {
                c->col[at] = j;
                write_value(type, c->val, at++, REF_AT(m, i, j));
            }
        c->ptr[i + 1] = at;
    }
    return src;
}

ref_mat ref_random_block(ref_rng *r, wisp_type type, int64_t rows, int width)
{
    ref_mat m = ref_new(rows, width);
    for (int64_t i = 0; i < rows * width; i++) m.a[i] = ref_value(r, type);
    return m;
}

void ref_put(wisp_blk *x, ref_mat m)
{
    wisp_type type = wisp_blk_type(x);
    void *data = malloc(wisp_type_size(type) * (size_t)(m.rows * m.cols + 1));
    for (int64_t i = 0; i < m.rows * m.cols; i++) write_value(type, data, i, m.a[i]);
    assert_int_equal(wisp_blk_put(x, WISP_ROW_MAJOR, data, m.cols), WISP_OK);
    free(data);
}

ref_mat ref_get(const wisp_blk *x)
{
    wisp_type type = wisp_blk_type(x);
    ref_mat m = ref_new(wisp_blk_nrows(x), wisp_blk_width(x));
    void *data = malloc(wisp_type_size(type) * (size_t)(m.rows * m.cols + 1));
    assert_int_equal(wisp_blk_get(x, WISP_COL_MAJOR, data, m.rows), WISP_OK);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.cols; j++) REF_AT(m, i, j) = read_value(type, data, j * m.rows + i);
    free(data);
    return m;
}

void ref_spmmv(ref_mat y, ref_mat A, ref_mat x, ref_mat z, const ref_aug *aug, cplx *dot)
{
    const unsigned t = aug->terms;
    const int64_t w = y.cols;
    ref_mat product = ref_new(1, w);
    if (dot) memset(dot, 0, 3 * (size_t)w * sizeof *dot);
    for (int64_t i = 0; i < A.rows; i++) {
        memset(product.a, 0, (size_t)w * sizeof *product.a);
        for (int64_t k = 0; k < A.cols; k++)
            for (int64_t j = 0; REF_AT(A, i, k) != 0 && j < w; j++) product.a[j] += REF_AT(A, i, k) * REF_AT(x, k, j);
        for (int64_t j = 0; j < w; j++) {
            cplx sum = product.a[j];
            if (t & WISP_SHIFT) sum -= aug->shift[j] * REF_AT(x, i, j);
            if (t & WISP_SCALE) sum *= aug->alpha;
            if ((t & WISP_AXPBY) && aug->beta != 0) sum += aug->beta * REF_AT(y, i, j);
            REF_AT(y, i, j) = sum;
            if (t & WISP_CHAIN) REF_AT(z, i, j) = aug->eta * sum + (aug->delta != 0 ? aug->delta * REF_AT(z, i, j) : 0);
            if (t & WISP_DOT_XX) dot[j] += conj(REF_AT(x, i, j)) * REF_AT(x, i, j);
            if (t & WISP_DOT_XY) dot[w + j] += conj(REF_AT(x, i, j)) * sum;
            if (t & WISP_DOT_YY) dot[2 * w + j] += conj(sum) * sum;
        }
    }
    ref_free(product);
}

double ref_largest(ref_mat m)
{
    double a = 0;
    for (int64_t i = 0; i < m.rows * m.cols; i++) a = fmax(a, cabs(m.a[i]));
    return a;
}

void ref_assert_close(const char *what, ref_mat got, ref_mat want, double tolerance)
{
    const double bound = tolerance * (1 + ref_largest(want));
    for (int64_t i = 0; i < got.rows * got.cols; i++)
        if (!(cabs(got.a[i] - want.a[i]) <= bound))
            fail_msg("%s: element (%lld, %lld) is %g%+gi, should be %g%+gi", what, (long long)(i / got.cols),
                     (long long)(i % got.cols), creal(got.a[i]), cimag(got.a[i]), creal(want.a[i]), cimag(want.a[i]));
}

double ref_eps(wisp_type type) { return is_single(type) ? 1e-5 : 1e-13; }

wisp_scalar ref_scalar(cplx v) { return (wisp_scalar){creal(v), cimag(v)}; }

static void show_log(void *arg, wisp_log_level level, const char *message)
{
    (void)arg, (void)level;
    print_message("wisp: %s\n", message);
}

wisp_ctx *ref_ctx(const wisp_ctx_opts *opts)
{
    wisp_ctx_opts o = opts ? *opts : (wisp_ctx_opts){0};
    if (!o.log) o.log = show_log;
    wisp_ctx *ctx;
    assert_int_equal(wisp_ctx_create(&ctx, &o), WISP_OK);
    return ctx;
}

void ref_same_props(const wisp_mat_props *a, const wisp_mat_props *b)
{
    enum { FLAGS = offsetof(wisp_mat_props, skew) + sizeof a->skew, REST = offsetof(wisp_mat_props, bad_row) };
    assert_memory_equal(a, b, FLAGS);
    assert_memory_equal((const char *)a + REST, (const char *)b + REST, sizeof *a - REST);
}

const char *const ref_isa[REF_ISAS] = {"generic", "avx2", "avx512", "neon"};

wisp_ctx *ref_isa_ctx(const char *isa, int threads)
{
    wisp_ctx *ctx;
    const wisp_ctx_opts o = {.isa = isa, .threads = threads, .no_pin = 1};
    return wisp_ctx_create(&ctx, &o) == WISP_OK ? ctx : NULL;
}

void ref_check_product(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, ref_mat dense, wisp_type type, int width,
                       unsigned terms, int strided, const char *what)
{
    const int64_t n = dense.rows;
    const wisp_type factor = type == WISP_S ? WISP_D : type == WISP_C ? WISP_Z : type;
    cplx shift[40], want_dot[120];
    wisp_scalar shift_s[40], dot[120];
    for (int j = 0; j < width; j++) shift[j] = ref_value(r, factor), shift_s[j] = ref_scalar(shift[j]);
    const ref_aug ra = {terms, ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), ref_value(r, factor),
                        shift};
    ref_mat x = ref_random_block(r, type, dense.cols, width), y = ref_random_block(r, type, n, width),
            z = ref_random_block(r, type, n, width);
    wisp_blk *all[3], *b[3];
    for (int i = 0; i < 3; i++) {
        REF_OK(ctx,
               wisp_blk_create(&all[i], ctx, i ? wisp_mat_map(A) : wisp_mat_col_map(A), type, width + 2 * strided));
        REF_OK(ctx, wisp_blk_cols(&b[i], all[i], strided, width));
    }
    ref_put(b[0], x), ref_put(b[1], y), ref_put(b[2], z);
    const wisp_aug aug = {
        terms, ref_scalar(ra.alpha), ref_scalar(ra.beta), ref_scalar(ra.delta), ref_scalar(ra.eta), shift_s, b[2], dot};
    REF_OK(ctx, wisp_spmmv(b[1], A, b[0], &aug));
    ref_spmmv(y, dense, x, z, &ra, want_dot);
    ref_mat got[2] = {ref_get(b[1]), ref_get(b[2])}, want[2] = {y, z};
    double largest = 1;
    for (int64_t i = 0; i < n * width; i++) largest = fmax(largest, fmax(cabs(y.a[i]), cabs(z.a[i])));
    for (int k = 0; k < (terms & WISP_CHAIN ? 2 : 1); k++)
        for (int64_t i = 0; i < n * width; i++)
            if (!(cabs(got[k].a[i] - want[k].a[i]) <= ref_eps(type) * largest))
                fail_msg("%s, width %d, terms %u, stride %d: element (%lld, %lld) is %g%+gi, should be %g%+gi", what,
                         width, terms, strided, (long long)(i / width), (long long)(i % width), creal(got[k].a[i]),
                         cimag(got[k].a[i]), creal(want[k].a[i]), cimag(want[k].a[i]));
    static const unsigned bit[3] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY};
    for (int t = 0; t < 3; t++)
        for (int j = 0; (terms & bit[t]) && j < width; j++) {
            const cplx d = dot[t * width + j].re + I * dot[t * width + j].im;
            if (!(cabs(d - want_dot[t * width + j]) <= ref_eps(type) * (double)n * largest * largest))
                fail_msg("%s, width %d, terms %u: dot %d of column %d is %g, should be %g", what, width, terms, t, j,
                         creal(d), creal(want_dot[t * width + j]));
        }
    for (int i = 0; i < 3; i++) wisp_blk_free(b[i]), wisp_blk_free(all[i]);
    ref_free(x), ref_free(y), ref_free(z), ref_free(got[0]), ref_free(got[1]);
}

/* The whole step of KPM in compact blocks and in views, which go by other kernels. */
static void check_step_bits(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, wisp_type type, wisp_blk *x[2],
                            wisp_blk *y[2], const char *what)
{
    enum { TERMS = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY };
    const int width = wisp_blk_width(x[0]);
    const int64_t n = wisp_map_rows(wisp_mat_map(A));
    wisp_scalar shift[40], dot[2][3 * 40];
    ref_mat before = ref_random_block(r, type, n, width), out[2];
    for (int j = 0; j < width; j++) shift[j] = (wisp_scalar){ref_uniform(r), 0};
    for (int k = 0; k < 2; k++) {
        const wisp_aug aug = {.terms = TERMS, .alpha = {0.7, 0}, .beta = {-1, 0}, .shift = shift, .dot = dot[k]};
        ref_put(y[k], before);
        REF_OK(ctx, wisp_spmmv(y[k], A, x[k], &aug));
        out[k] = ref_get(y[k]);
    }
    if (memcmp(out[0].a, out[1].a, (size_t)(n * width) * sizeof *before.a)) fail_msg("%s: a step's other bits", what);
    for (int j = 0; j < 2 * width && width > 2; j++) /* single columns add up their dots otherwise */
        if (dot[0][j].re != dot[1][j].re || dot[0][j].im != dot[1][j].im)
            fail_msg("%s: a step's dot %d is another in a view", what, j);
    ref_free(before), ref_free(out[0]), ref_free(out[1]);
}

void ref_check_bits(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, wisp_type type, int width, const char *what)
{
    const int64_t n = wisp_map_rows(wisp_mat_map(A));
    wisp_blk *x[2], *y[2], *wide[2];
    wisp_scalar dot[3][3 * 40];
    ref_mat in = ref_random_block(r, type, n, width), out[3];
    for (int i = 0; i < 2; i++) {
        wisp_blk **const block = i ? y : x;
        REF_OK(ctx, wisp_blk_create(&wide[i], ctx, wisp_mat_map(A), type, width + 3));
        REF_OK(ctx, wisp_blk_create(&block[0], ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_cols(&block[1], wide[i], 1, width));
    }
    ref_put(x[0], in), ref_put(x[1], in);
    for (int k = 0; k < 3; k++) {
        const int view = k == 2;
        REF_OK(ctx, wisp_spmmv(y[view], A, x[view], &(wisp_aug){.terms = k ? WISP_DOT_YY : 0, .dot = dot[k]}));
        out[k] = ref_get(y[view]);
        if (memcmp(out[k].a, out[0].a, (size_t)(n * width) * sizeof *in.a))
            fail_msg("%s: other bits %s", what, view ? "in a view" : "with a dot");
    }
    check_step_bits(ctx, r, A, type, x, y, what);
    for (int i = 0; i < 2; i++) wisp_blk_free(x[i]), wisp_blk_free(y[i]), wisp_blk_free(wide[i]);
    for (int k = 0; k < 3; k++) ref_free(out[k]);
    ref_free(in);
}
