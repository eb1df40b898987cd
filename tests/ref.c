#include "base/base.h"
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

double *ref_lapack(size_t count, int64_t rows)
{
    double *a = calloc(count + 2 * (size_t)rows, sizeof *a);
    assert_non_null(a);
    return a;
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

cplx ref_number(wisp_type type, const void *p, int64_t i)
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
        for (int k = 0; k < n; k++) REF_AT(m, i, col[k]) += ref_number(src->type, val, k);
    }
    free(col);
    free(val);
    return m;
}

static cplx rounded(wisp_type type, cplx v)
{
    return is_single(type) ? (double)(float)creal(v) + I * (double)(float)cimag(v) : v;
}

void ref_round(ref_mat m, wisp_type type)
{
    for (int64_t i = 0; i < m.rows * m.cols; i++) m.a[i] = rounded(type, m.a[i]);
}

ref_sparse ref_sparse_of(const wisp_src *src, wisp_type type)
{
    ref_sparse s = {.rows = src->rows, .cols = src->cols};
    int64_t capacity = 1, at = 0;
    for (int64_t i = 0; i < src->rows; i++) capacity += src->row(src->arg, i, NULL, NULL);
    s.first = calloc((size_t)src->rows + 1, sizeof *s.first);
    s.col = malloc(sizeof *s.col * (size_t)(capacity + src->max_row));
    s.val = malloc(sizeof *s.val * (size_t)capacity);
    void *val = malloc(wisp_type_size(src->type) * (size_t)(src->max_row + 1));
    for (int64_t i = 0; i < src->rows; i++) {
        const int64_t begin = at, n = src->row(src->arg, i, s.col + begin, val);
        for (int64_t k = 0; k < n; k++) { /* what is kept is never behind what is read */
            const int64_t col = s.col[begin + k];
            int64_t e = begin;
            while (e < at && s.col[e] != col) e++;
            if (e == at) s.col[at] = col, s.val[at++] = 0;
            s.val[e] += ref_number(src->type, val, k);
        }
        for (int64_t e = begin; e < at; e++) s.val[e] = rounded(type, s.val[e]);
        s.first[i + 1] = at;
        s.longest = at - begin > s.longest ? at - begin : s.longest;
    }
    free(val);
    return s;
}

void ref_sparse_free(ref_sparse s)
{
    free(s.first);
    free(s.col);
    free(s.val);
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
    return (wisp_src){rows, cols, max_row, type, crs_row, c, crs_free, 0, NULL, 0, NULL};
}

wisp_src ref_rows_src(wisp_type type, int64_t rows, int64_t cols, int64_t most, ref_row_fn *row, void *arg)
{
    wisp_src src = crs_src(type, rows, cols, most, rows * most);
    crs *c = src.arg;
    cplx *val = malloc(sizeof *val * (size_t)(most + 1));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = c->ptr[i], n = row(arg, i, c->col + at, val);
        assert_true(n >= 0 && n <= most);
        for (int64_t k = 0; k < n; k++) write_value(type, c->val, at + k, val[k]);
        c->ptr[i + 1] = at + n;
    }
    free(val);
    return src;
}

typedef struct {
    ref_rng *r;
    wisp_type type;
    int64_t cols;
    int most;
} random_rows;

static int random_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const random_rows *s = arg;
    const int64_t n = s->cols && ref_below(s->r, 6) ? ref_below(s->r, s->most + 1) : 0;
    (void)i;
    for (int64_t k = 0; k < n; k++) {
        col[k] = k && ref_below(s->r, 8) == 0 ? col[k - 1] : ref_below(s->r, s->cols);
        val[k] = ref_value(s->r, s->type);
    }
    return (int)n;
}

wisp_src ref_random_src(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, int most)
{
    return ref_rows_src(type, rows, cols, most, random_row, &(random_rows){r, type, cols, most});
}

static int dense_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const ref_mat *m = arg;
    int n = 0;
    for (int64_t j = 0; j < m->cols; j++)
        if (REF_AT(*m, i, j) != 0) col[n] = j, val[n++] = REF_AT(*m, i, j);
    return n;
}

wisp_src ref_dense_src(ref_mat m, wisp_type type) { return ref_rows_src(type, m.rows, m.cols, m.cols, dense_row, &m); }

wisp_mat *ref_mat_of(wisp_ctx *ctx, ref_mat m, wisp_type type)
{
    wisp_mat *A;
    wisp_src src = ref_dense_src(m, type);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    wisp_src_close(&src);
    return A;
}

ref_mat ref_times(ref_mat A, ref_mat x)
{
    ref_mat y = ref_new(A.rows, x.cols);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = 0; k < A.cols; k++)
            for (int64_t j = 0; REF_AT(A, i, k) != 0 && j < x.cols; j++)
                REF_AT(y, i, j) += REF_AT(A, i, k) * REF_AT(x, k, j);
    return y;
}

ref_mat ref_random_block(ref_rng *r, wisp_type type, int64_t rows, int width)
{
    ref_mat m = ref_new(rows, width);
    for (int64_t i = 0; i < rows * width; i++) m.a[i] = ref_value(r, type);
    return m;
}

/* Whether a block has one rank's share of the rows, and which is their first. */
static int is_share(const wisp_blk *x)
{
    return wisp_ctx_processes(wisp_blk_ctx(x)) > 1 && wisp_blk_nrows(x) == wisp_map_local(wisp_blk_map(x), NULL);
}
static int64_t first_row(const wisp_blk *x)
{
    int64_t first = 0;
    if (is_share(x)) wisp_map_local(wisp_blk_map(x), &first);
    return first;
}
void ref_put(wisp_blk *x, ref_mat m)
{
    wisp_type type = wisp_blk_type(x);
    const int64_t first = first_row(x), rows = wisp_blk_nrows(x);
    void *data = malloc(wisp_type_size(type) * (size_t)(rows * m.cols + 1));
    for (int64_t i = 0; i < rows * m.cols; i++) write_value(type, data, i, m.a[first * m.cols + i]);
    assert_int_equal(wisp_blk_put(x, WISP_ROW_MAJOR, data, m.cols), WISP_OK);
    free(data);
}

ref_mat ref_get(const wisp_blk *x)
{
    wisp_type type = wisp_blk_type(x);
    const int64_t first = first_row(x), rows = wisp_blk_nrows(x);
    ref_mat m = ref_new(is_share(x) ? wisp_map_rows(wisp_blk_map(x)) : rows, wisp_blk_width(x));
    void *data = malloc(wisp_type_size(type) * (size_t)(rows * m.cols + 1));
    assert_int_equal(wisp_blk_get(x, WISP_COL_MAJOR, data, rows), WISP_OK);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < m.cols; j++) REF_AT(m, first + i, j) = ref_number(type, data, j * rows + i);
    free(data);
    if (is_share(x))
        assert_int_equal(wisp_ctx_sum(wisp_blk_ctx(x), (double *)m.a, 2 * (size_t)(m.rows * m.cols)), WISP_OK);
    return m;
}

/* |v|^2: a root of each would be half of a test's time. */
static double square(cplx v) { return creal(v) * creal(v) + cimag(v) * cimag(v); }

double ref_largest(ref_mat m)
{
    double a = 0;
    for (int64_t i = 0; i < m.rows * m.cols; i++) {
        const double s = square(m.a[i]);
        a = s > a ? s : a;
    }
    return sqrt(a);
}

void ref_assert_close(const char *what, ref_mat got, ref_mat want, double tolerance)
{
    const double bound = tolerance * (1 + ref_largest(want));
    for (int64_t i = 0; i < got.rows * got.cols; i++)
        if (!(square(got.a[i] - want.a[i]) <= bound * bound))
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

void ref_nothing_left(const wisp_ctx *ctx)
{
    int own = 1 + (ctx->stream != NULL) + (ctx->dots != NULL);
    for (int i = 0; i < 2; i++) own += ctx->team->scratch[i] != NULL;
    const int left = (int)atomic_load(&ctx->held) - own;
    if (left) fail_msg("%d arrays and objects are left on the context", left);
}

int ref_failing_memory(wisp_status (*call)(wisp_ctx *ctx, void *arg), void *arg, int each, int passes)
{
    int failures = 0, passed = 0;
    for (int at = 1; passed < passes; at += 1 + at / each) {
        char text[16];
        wisp_ctx *ctx;
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        const wisp_status made = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        if (made != WISP_OK) { /* few allocations are in that */
            assert_int_equal(made, WISP_ERR_NOMEM);
            assert_true(at < 1000);
            continue;
        }
        const wisp_status status = call(ctx, arg);
        if (status != WISP_OK) assert_int_equal(status, WISP_ERR_NOMEM);
        failures += status != WISP_OK;
        passed = status == WISP_OK ? passed + 1 : 0;
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    return failures;
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
    const int best = ref_elsewhere();
    const wisp_ctx_opts o = {.isa = best ? NULL : isa, .threads = threads, .no_pin = 1};
    const int made = wisp_ctx_create(&ctx, &o) == WISP_OK;
    if (made && isa && best && strcmp(wisp_ctx_isa(ctx), isa)) {
        wisp_ctx_free(ctx);
        return NULL;
    }
    if (!made && isa && !strcmp(isa, "generic"))
        fail_msg("no kernels for any CPU: every test over them would be empty");
    return made ? ctx : NULL;
}
