/* Half of a Hermitian matrix against the oracle: types x widths x terms x patterns x instruction sets x threads. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    wisp_type mat, blk;
} combo[] = {{WISP_S, WISP_S}, {WISP_D, WISP_D}, {WISP_S, WISP_C},
             {WISP_D, WISP_Z}, {WISP_C, WISP_C}, {WISP_Z, WISP_Z}};
enum { COMBOS = 6, ALL_TERMS = 128, MOST_WIDTH = 33 };

/* ---- Hermitian matrices as lists of their entries -------------------------------------------- */

typedef struct {
    int64_t row, col;
    cplx a;
} entry;

typedef struct {
    int64_t rows, n, capacity;
    entry *e;
    int64_t *ptr;
} herm;

static void push(herm *h, int64_t row, int64_t col, cplx a)
{
    if (h->n == h->capacity) {
        h->capacity = 2 * h->capacity + 64;
        h->e = realloc(h->e, (size_t)h->capacity * sizeof *h->e);
    }
    h->e[h->n++] = (entry){row, col, a};
}

static void push_pair(herm *h, ref_rng *r, wisp_type type, int64_t i, int64_t j)
{
    cplx a = ref_value(r, type);
    if (i == j) {
        push(h, i, i, creal(a));
    } else {
        push(h, i, j, a);
        push(h, j, i, conj(a));
    }
}

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

enum { SPARSE, EMPTY, BAND, RING, ARROW, LAST_DENSE, APART, LATTICE, DENSE_END, DENSE, PATTERNS };
static const char *const pattern_name[] = {"sparse", "empty",      "band",    "ring",      "arrow",
                                           "last",   "components", "lattice", "dense end", "dense"};

/* Places of a pattern; duplicates are removed later. */
static void place(herm *h, ref_rng *r, wisp_type type, int pattern)
{
    const int64_t n = h->rows;
    for (int64_t i = 0; i < n; i++) {
        if (pattern == EMPTY && ref_below(r, 4)) continue;
        if (ref_below(r, 3)) push_pair(h, r, type, i, i);
        if (pattern == SPARSE || pattern == EMPTY)
            for (int64_t k = ref_below(r, 4); k > 0; k--) push_pair(h, r, type, i, ref_below(r, n));
        if (pattern == BAND)
            for (int64_t j = i + 1; j < n && j < i + 9; j += 1 + ref_below(r, 3)) push_pair(h, r, type, i, j);
        if (pattern == RING && n > 2) push_pair(h, r, type, i, (i + 1) % n);
        if ((pattern == ARROW || pattern == LAST_DENSE) && ref_below(r, 8))
            push_pair(h, r, type, pattern == ARROW ? 0 : n - 1, i);
        if (pattern == APART && i % 5 && i + 1 < n) push_pair(h, r, type, i, i + 1);
        if (pattern == LATTICE) { /* periodic, rows of 20 */
            push_pair(h, r, type, i, (i + 20) % n);
            push_pair(h, r, type, i, i / 20 * 20 + (i + 1) % 20 < n ? i / 20 * 20 + (i + 1) % 20 : i);
        }
        if (pattern == DENSE_END) /* one strip has more to do than a block should: blocks behind it are empty */
            for (int64_t j = i; i >= (n - 1) / 128 * 128 && j < n; j++) push_pair(h, r, type, i, j);
        if (pattern == DENSE)
            for (int64_t j = i; j < n; j++) push_pair(h, r, type, i, j);
    }
}

static herm herm_new(ref_rng *r, wisp_type type, int64_t rows, int pattern)
{
    herm h = {.rows = rows};
    place(&h, r, type, pattern);
    /* Of entries for one place the first in order of the upper half counts, and its conjugate below. */
    int64_t m = 0;
    for (int64_t k = 0; k < h.n; k++)
        if (h.e[k].row <= h.e[k].col) h.e[m++] = h.e[k];
    if (m) qsort(h.e, (size_t)m, sizeof *h.e, by_place);
    h.n = 0;
    for (int64_t k = 0; k < m; k++)
        if (k == 0 || by_place(&h.e[k], &h.e[h.n - 1])) h.e[h.n++] = h.e[k];
    m = h.n;
    for (int64_t k = 0; k < m; k++)
        if (h.e[k].row != h.e[k].col) push(&h, h.e[k].col, h.e[k].row, conj(h.e[k].a));
    if (h.n) qsort(h.e, (size_t)h.n, sizeof *h.e, by_place);
    return h;
}

static int herm_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const herm *h = arg;
    const int64_t n = h->ptr[row + 1] - h->ptr[row];
    for (int64_t k = 0; col && k < n; k++) {
        col[k] = h->e[h->ptr[row] + k].col;
        ((cplx *)val)[k] = h->e[h->ptr[row] + k].a;
    }
    return (int)n;
}

static int herm_row_real(void *arg, int64_t row, int64_t *col, void *val)
{
    const herm *h = arg;
    const int64_t n = h->ptr[row + 1] - h->ptr[row];
    for (int64_t k = 0; col && k < n; k++) {
        col[k] = h->e[h->ptr[row] + k].col;
        ((double *)val)[k] = creal(h->e[h->ptr[row] + k].a);
    }
    return (int)n;
}

/* The source of a matrix; single-precision values are exact in double. */
static wisp_src herm_src(herm *h, wisp_type type)
{
    int64_t most = 0;
    free(h->ptr);
    h->ptr = calloc((size_t)h->rows + 1, sizeof *h->ptr);
    for (int64_t k = 0; k < h->n; k++) h->ptr[h->e[k].row + 1]++;
    for (int64_t i = 0; i < h->rows; i++) {
        most = h->ptr[i + 1] > most ? h->ptr[i + 1] : most;
        h->ptr[i + 1] += h->ptr[i];
    }
    const int complex_type = wisp_type_is_complex(type);
    return (wisp_src){.rows = h->rows,
                      .cols = h->rows,
                      .max_row = most,
                      .type = complex_type ? WISP_Z : WISP_D,
                      .row = complex_type ? herm_row : herm_row_real,
                      .arg = h};
}

static void herm_free(herm *h)
{
    free(h->e);
    free(h->ptr);
}

/* y = A x by entries: the oracle for the product alone, without a dense matrix. */
static ref_mat herm_times(const herm *h, ref_mat x)
{
    ref_mat y = ref_new(h->rows, x.cols);
    for (int64_t k = 0; k < h->n; k++)
        for (int64_t j = 0; j < x.cols; j++) REF_AT(y, h->e[k].row, j) += h->e[k].a * REF_AT(x, h->e[k].col, j);
    return y;
}

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct {
    ref_mat y, z;
    wisp_scalar dot[3 * MOST_WIDTH];
} result;

typedef struct {
    wisp_type blk;
    int width;
    unsigned terms;
    ref_aug f;
    cplx shift[MOST_WIDTH];
    ref_mat x, y, z;
} call;

static call random_call(ref_rng *r, wisp_type blk, int64_t rows, int width, unsigned terms, int real_factors)
{
    const wisp_type factor = real_factors ? WISP_D : blk;
    call c = {.blk = blk, .width = width, .terms = terms};
    c.f =
        (ref_aug){terms, ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), NULL};
    if (ref_below(r, 4) == 0) c.f.beta = 0;
    if (ref_below(r, 4) == 0) c.f.delta = 0;
    for (int j = 0; j < width; j++) c.shift[j] = ref_value(r, factor);
    c.x = ref_random_block(r, blk, rows, width);
    c.y = ref_random_block(r, blk, rows, width);
    c.z = ref_random_block(r, blk, rows, width);
    return c;
}

static void call_free(call *c) { ref_free(c->x), ref_free(c->y), ref_free(c->z); }
static void result_free(result *s) { ref_free(s->y), ref_free(s->z); }

/* x and y are views of some columns of wider blocks: strides differ from the width. */
static result run(wisp_ctx *ctx, const wisp_mat *A, const call *c)
{
    result s = {0};
    wisp_blk *wide, *tall, *x, *y, *z;
    wisp_scalar shift[MOST_WIDTH];
    for (int j = 0; j < c->width; j++) shift[j] = ref_scalar(c->shift[j]);
    REF_OK(ctx, wisp_blk_create(&wide, ctx, wisp_mat_map(A), c->blk, c->width + 3));
    REF_OK(ctx, wisp_blk_create(&tall, ctx, wisp_mat_map(A), c->blk, c->width + 1));
    REF_OK(ctx, wisp_blk_cols(&x, wide, 2, c->width));
    REF_OK(ctx, wisp_blk_cols(&y, tall, 1, c->width));
    REF_OK(ctx, wisp_blk_create(&z, ctx, wisp_mat_map(A), c->blk, c->width));
    ref_put(x, c->x);
    ref_put(y, c->y);
    ref_put(z, c->z);
    if (!(c->terms & WISP_AXPBY) || c->f.beta == 0) wisp_blk_fill(y, (wisp_scalar){NAN, NAN}); /* must not be read */
    if (c->f.delta == 0 && (c->terms & WISP_CHAIN)) wisp_blk_fill(z, (wisp_scalar){NAN, NAN});
    wisp_aug aug = {
        c->terms, ref_scalar(c->f.alpha), ref_scalar(c->f.beta), ref_scalar(c->f.delta), ref_scalar(c->f.eta), shift, z,
        s.dot};
    REF_OK(ctx, wisp_spmmv(y, A, x, &aug));
    s.y = ref_get(y);
    s.z = ref_get(z);
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(z), wisp_blk_free(wide), wisp_blk_free(tall);
    return s;
}

/* What must come out: as ref_spmmv, from entries instead of a dense matrix. */
static void expect(const herm *h, const call *c, result *want, cplx dot[3 * MOST_WIDTH])
{
    ref_mat ax = herm_times(h, c->x);
    const unsigned t = c->terms;
    memset(dot, 0, 3 * MOST_WIDTH * sizeof *dot);
    want->y = ref_new(h->rows, c->width);
    want->z = ref_new(h->rows, c->width);
    for (int64_t i = 0; i < h->rows; i++)
        for (int j = 0; j < c->width; j++) {
            const cplx x = REF_AT(c->x, i, j);
            cplx s = REF_AT(ax, i, j);
            if (t & WISP_SHIFT) s -= c->shift[j] * x;
            if (t & WISP_SCALE) s *= c->f.alpha;
            if ((t & WISP_AXPBY) && c->f.beta != 0) s += c->f.beta * REF_AT(c->y, i, j);
            REF_AT(want->y, i, j) = s;
            cplx z = REF_AT(c->z, i, j);
            if (t & WISP_CHAIN) z = c->f.eta * s + (c->f.delta != 0 ? c->f.delta * z : 0);
            REF_AT(want->z, i, j) = z;
            dot[j] += conj(x) * x;
            dot[c->width + j] += conj(x) * s;
            dot[2 * c->width + j] += conj(s) * s;
        }
    ref_free(ax);
}

static double largest(ref_mat m)
{
    double a = 0;
    for (int64_t i = 0; i < m.rows * m.cols; i++) a = fmax(a, cabs(m.a[i]));
    return a;
}

static void assert_close(const char *what, const char *part, ref_mat got, ref_mat want, double eps)
{
    const double bound = eps * (1 + largest(want));
    for (int64_t i = 0; i < got.rows * got.cols; i++)
        if (!(cabs(got.a[i] - want.a[i]) <= bound))
            fail_msg("%s: %s (%lld, %lld) is %g%+gi, should be %g%+gi", what, part, (long long)(i / got.cols),
                     (long long)(i % got.cols), creal(got.a[i]), cimag(got.a[i]), creal(want.a[i]), cimag(want.a[i]));
}

static void check_call(const char *what, const herm *h, const call *c, const result *got)
{
    static const unsigned bit[3] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY};
    result want;
    cplx dot[3 * MOST_WIDTH];
    char text[200];
    snprintf(text, sizeof text, "%s, %s block, width %d, terms %u", what, wisp_type_name(c->blk), c->width, c->terms);
    expect(h, c, &want, dot);
    const double eps = ref_eps(c->blk) * (1 + 0.01 * (double)h->rows), big = 1 + largest(want.y);
    assert_close(text, "y", got->y, want.y, eps);
    assert_close(text, "z", got->z, want.z, c->terms & WISP_CHAIN ? eps : 0);
    for (int t = 0; t < 3; t++)
        for (int j = 0; (c->terms & bit[t]) && j < c->width; j++) {
            const cplx d = got->dot[t * c->width + j].re + I * got->dot[t * c->width + j].im;
            if (!(cabs(d - dot[t * c->width + j]) <= ref_eps(c->blk) * (1 + (double)h->rows * big * big)))
                fail_msg("%s: dot %d of column %d is %g%+gi, should be %g%+gi", text, t, j, creal(d), cimag(d),
                         creal(dot[t * c->width + j]), cimag(dot[t * c->width + j]));
        }
    result_free(&want);
}

static wisp_mat *half_of(wisp_ctx *ctx, herm *h, wisp_type type)
{
    wisp_mat *A;
    wisp_src src = herm_src(h, type);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = type, .format = WISP_FORMAT_HERMITIAN}));
    return A;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Each mask with each type and instruction set; the patterns share the masks. */
static void all_terms_all_kernels(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 3, 63, 127, 128, 129, 200};
    ref_rng r = {11};
    for (int isa = 0; isa < REF_ISAS; isa++)
        for (int k = 0; k < COMBOS; k++)
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1 + (int)ref_below(&r, 3));
                if (!ctx) continue;
                const int size = pattern == DENSE_END ? 7 : (int)ref_below(&r, pattern == DENSE ? 4 : 8);
                herm h = herm_new(&r, combo[k].mat, rows[size], pattern);
                wisp_mat *A = half_of(ctx, &h, combo[k].mat);
                char what[100];
                snprintf(what, sizeof what, "%s: %lld rows, %s", ref_isa[isa], (long long)h.rows,
                         pattern_name[pattern]);
                for (unsigned terms = (unsigned)pattern; terms < ALL_TERMS; terms += PATTERNS) {
                    const int width = 1 + (int)ref_below(&r, ref_below(&r, 4) ? 5 : MOST_WIDTH);
                    call c = random_call(&r, combo[k].blk, h.rows, width, terms, (int)ref_below(&r, 2));
                    result got = run(ctx, A, &c);
                    check_call(what, &h, &c, &got);
                    result_free(&got);
                    call_free(&c);
                }
                wisp_mat_free(A);
                herm_free(&h);
                wisp_ctx_free(ctx);
            }
}

/* Blocks of rows that have sums for one another, with every width and the masks that kernels are compiled for. */
static void many_blocks(void **state)
{
    (void)state;
    static const unsigned terms[] = {0, WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY, ALL_TERMS - 1,
                                     WISP_CHAIN | WISP_AXPBY};
    static const int patterns[] = {SPARSE, BAND, RING, ARROW, LAST_DENSE, LATTICE};
    ref_rng r = {12};
    for (int k = 0; k < COMBOS; k++)
        for (int p = 0; p < 6; p++) {
            wisp_ctx *ctx = ref_isa_ctx(ref_isa[p % 3], 1 + p % 4);
            if (!ctx) continue;
            herm h = herm_new(&r, combo[k].mat, 1100 + 37 * p, patterns[p]);
            wisp_mat *A = half_of(ctx, &h, combo[k].mat);
            for (int width = 1; width <= MOST_WIDTH; width += p == 1 ? 3 : 8)
                for (int t = 0; t < 4; t++) {
                    call c = random_call(&r, combo[k].blk, h.rows, width, terms[t], t < 2);
                    result got = run(ctx, A, &c);
                    check_call(pattern_name[patterns[p]], &h, &c, &got);
                    result_free(&got);
                    call_free(&c);
                }
            wisp_mat_free(A);
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
    for (int k = 0; k < COMBOS; k++)
        for (int p = 0; p < 4; p++)
            for (int w = 0; w < 3; w++) {
                ref_rng r = {13 + (uint64_t)p};
                herm h = herm_new(&r, combo[k].mat, 1800, patterns[p]);
                call c = random_call(&r, combo[k].blk, h.rows, widths[w], ALL_TERMS - 1, 1);
                result first = {0};
                for (int threads = 1; threads <= 4; threads++) {
                    wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
                    wisp_mat *A = half_of(ctx, &h, combo[k].mat);
                    for (int again = 0; again < 2; again++) {
                        result got = run(ctx, A, &c);
                        if (!first.y.a) {
                            first = got;
                            continue;
                        }
                        const size_t bytes = (size_t)(h.rows * c.width) * sizeof(cplx);
                        assert_memory_equal(first.y.a, got.y.a, bytes);
                        assert_memory_equal(first.z.a, got.z.a, bytes);
                        assert_memory_equal(first.dot, got.dot, 3 * (size_t)c.width * sizeof *got.dot);
                        result_free(&got);
                    }
                    wisp_mat_free(A);
                    wisp_ctx_free(ctx);
                }
                check_call("any threads", &h, &c, &first);
                result_free(&first);
                call_free(&c);
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
    call c = random_call(&r, WISP_Z, h.rows, 3, ALL_TERMS - 1, 0);
    result got = run(ctx, A, &c);
    check_call("sorted", &h, &c, &got);
    result_free(&got);
    call_free(&c);
    wisp_mat_free(A);
    herm_free(&h);
    wisp_ctx_free(ctx);
}

/* All that is known of the whole matrix is known of the half. */
static void same_properties(void **state)
{
    (void)state;
    ref_rng r = {15};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        herm h = herm_new(&r, WISP_Z, pattern == DENSE ? 50 : 400, pattern);
        wisp_src src = herm_src(&h, WISP_Z);
        wisp_mat *A = half_of(ctx, &h, WISP_Z), *B;
        REF_OK(ctx, wisp_mat_create(&B, ctx, &src, &(wisp_mat_opts){.C = 1}));
        wisp_mat_props p, q;
        memset(&p, 0, sizeof p);
        memset(&q, 0, sizeof q);
        REF_OK(ctx, wisp_mat_get_props(A, &p));
        REF_OK(ctx, wisp_mat_get_props(B, &q));
        assert_int_equal(p.hermitian, 1);
        assert_int_equal(p.diagonal, q.diagonal);
        assert_int_equal(p.bandwidth, q.bandwidth);
        assert_int_equal(p.empty_rows, q.empty_rows);
        assert_int_equal(p.max_row, q.max_row);
        assert_true(p.gershgorin_min == q.gershgorin_min && p.gershgorin_max == q.gershgorin_max);
        assert_true(p.row_mean == q.row_mean && p.row_sdev == q.row_sdev);
        int64_t a[9], b[9];
        REF_OK(ctx, wisp_mat_row_histogram(A, a, 9));
        REF_OK(ctx, wisp_mat_row_histogram(B, b, 9));
        assert_memory_equal(a, b, sizeof a);
        double fa, fb;
        REF_OK(ctx, wisp_mat_fill_in(A, 8, 16, &fa));
        REF_OK(ctx, wisp_mat_fill_in(B, 8, 16, &fb));
        assert_true(fa == fb);
        wisp_mat_info ia, ib, plan;
        wisp_mat_get_info(A, &ia);
        wisp_mat_get_info(B, &ib);
        assert_int_equal(ia.nnz, ib.nnz);
        assert_int_equal(ia.format, WISP_FORMAT_HERMITIAN);
        REF_OK(ctx, wisp_mat_plan(ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}, &plan));
        assert_true(plan.bytes >= ia.bytes && plan.format == WISP_FORMAT_HERMITIAN);
        wisp_cost ca, cb;
        REF_OK(ctx, wisp_spmmv_cost(A, WISP_Z, 2, WISP_AXPBY, &ca));
        REF_OK(ctx, wisp_spmmv_cost(B, WISP_Z, 2, WISP_AXPBY, &cb));
        assert_true(ca.flops == cb.flops);
        assert_true(cb.bytes - ca.bytes == 20.0 * (double)(ib.nnz - p.diagonal) / 2);
        wisp_mat_free(A);
        wisp_mat_free(B);
        herm_free(&h);
    }
    wisp_ctx_free(ctx);
}

/* A stencil takes little more than half of what it takes whole. */
static void half_the_bytes(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A, *B;
    wisp_mat_info a, b;
    const char *name = "laplace:nx=30,ny=30,nz=60,points=27";
    REF_OK(ctx, wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}));
    REF_OK(ctx, wisp_mat_open(&B, ctx, name, &(wisp_mat_opts){.C = 1}));
    wisp_mat_get_info(A, &a);
    wisp_mat_get_info(B, &b);
    assert_true((double)a.bytes < 0.6 * (double)b.bytes);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_ctx_free(ctx);
}

static void new_values(void **state)
{
    (void)state;
    ref_rng r = {16};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    herm h = herm_new(&r, WISP_Z, 900, LATTICE), other = herm_new(&r, WISP_Z, 900, BAND);
    wisp_mat *A = half_of(ctx, &h, WISP_Z);
    for (int64_t k = 0; k < h.n; k++) h.e[k].a *= 3;
    wisp_src src = herm_src(&h, WISP_Z), bad = herm_src(&other, WISP_Z);
    REF_OK(ctx, wisp_mat_update(A, &src));
    call c = random_call(&r, WISP_Z, h.rows, 2, WISP_AXPBY | WISP_DOT_YY, 0);
    result got = run(ctx, A, &c);
    check_call("updated", &h, &c, &got);
    result_free(&got);
    REF_FAILS(ctx, wisp_mat_update(A, &bad), WISP_ERR_MISMATCH, "another pattern");
    int64_t k = 0;
    while (h.e[k].row <= h.e[k].col) k++;
    h.e[k].a += 1;
    REF_FAILS(ctx, wisp_mat_update(A, &src), WISP_ERR_HERMITIAN, "are not conjugate; take another format");
    call_free(&c);
    wisp_mat_free(A);
    herm_free(&h);
    herm_free(&other);
    wisp_ctx_free(ctx);
}

static void refused(void **state)
{
    (void)state;
    static const wisp_mat_opts half = {.format = WISP_FORMAT_HERMITIAN};
    ref_rng r = {17};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    herm h = herm_new(&r, WISP_Z, 300, BAND);
    wisp_src src = herm_src(&h, WISP_Z);
    int64_t at = h.n / 2;
    while (h.e[at].row <= h.e[at].col) at++;
    const cplx old = h.e[at].a;
    char words[80];
    /* The entry below the diagonal was changed; the first that fails is its partner above. */
    snprintf(words, sizeof words, "entries (%lld, %lld) and", (long long)h.e[at].col, (long long)h.e[at].row);
    const cplx wrong[] = {old + 1e-15, conj(old), 0, NAN};
    for (int i = 0; i < 4; i++) {
        h.e[at].a = wrong[i];
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &half), WISP_ERR_HERMITIAN, words);
        assert_null(A);
    }
    /* Named in the user's numbers though the rows are sorted. */
    h.e[at].a = old + 1;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .sigma = 300}),
              WISP_ERR_HERMITIAN, words);
    h.e[at].a = old;
    at = 0;
    while (h.e[at].row != h.e[at].col) at++;
    h.e[at].a = 1 + I;
    snprintf(words, sizeof words, "entries (%lld, %lld) and", (long long)h.e[at].row, (long long)h.e[at].row);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &half), WISP_ERR_HERMITIAN, words);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .C = 4}),
              WISP_ERR_ARG, "C is 1");
    herm_free(&h);
    wisp_src wide = ref_random_src(&r, WISP_D, 5, 6, 3);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &wide, &half), WISP_ERR_HERMITIAN, "square");
    wide.free_arg(wide.arg);
    int64_t now;
    wisp_ctx_memory(ctx, &now, NULL);
    assert_true(now < 100000);
    wisp_ctx_free(ctx);
}

/* Each allocation in turn fails, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    ref_rng r = {18};
    herm h = herm_new(&r, WISP_D, 1200, LATTICE);
    wisp_src src = herm_src(&h, WISP_D);
    int done = 0;
    for (int at = 1; at < 200 && !done; at++) {
        char number[16];
        snprintf(number, sizeof number, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", number, 1);
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        unsetenv("WISP_ALLOC_FAIL_AT");
        if (!ctx) continue;
        wisp_mat *A;
        const wisp_status status = wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN});
        assert_true(status == WISP_OK || status == WISP_ERR_NOMEM);
        done = status == WISP_OK;
        wisp_mat_free(A);
        int64_t now;
        wisp_ctx_memory(ctx, &now, NULL);
        assert_true(now < 100000);
        wisp_ctx_free(ctx);
    }
    assert_true(done);
    herm_free(&h);
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
            call c = random_call(&r, WISP_Z, rows, 5, ALL_TERMS - 1, 0);
            result got = run(ctx, A, &c);
            check_call("tiny", &h, &c, &got);
            result_free(&got);
            call_free(&c);
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
        cmocka_unit_test(same_properties),
        cmocka_unit_test(half_the_bytes),
        cmocka_unit_test(new_values),
        cmocka_unit_test(refused),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
