/* Recurrences by wisp_mpk: against the oracle, and bit by bit against a series of wisp_spmmv. */
#include "ref.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    wisp_type mat, blk;
} combo[] = {{WISP_S, WISP_S}, {WISP_D, WISP_D}, {WISP_S, WISP_C}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
             {WISP_Z, WISP_Z}, {WISP_S, WISP_D}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
enum { COMBOS = 9, MOST_STEPS = 6, MOST_STORED = MOST_STEPS + 2, MOST_SUMS = 3, MOST_WIDTH = 33 };

/* One call: what it is given, and the same for the oracle. */
typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *A;
    ref_mat dense;
    wisp_type type;
    int width, stored, steps, sums;
    bool has_alpha, has_beta, has_gamma;
    cplx alpha[MOST_STEPS], beta[MOST_STEPS], gamma[MOST_STEPS], eta[MOST_SUMS][MOST_STEPS];
    wisp_scalar alpha_s[MOST_STEPS], beta_s[MOST_STEPS], gamma_s[MOST_STEPS], eta_s[MOST_SUMS * MOST_STEPS];
    unsigned terms;
    bool has_u, has_add;
    cplx add[MOST_STEPS][MOST_WIDTH];
    wisp_scalar add_s[MOST_STEPS * MOST_WIDTH];
    ref_mat start[2], z_start[MOST_SUMS], u_start;
    wisp_blk *u;
    wisp_blk *v[MOST_STORED], *z[MOST_SUMS];
    wisp_scalar dot[MOST_STEPS * 4 * MOST_WIDTH];
    char what[160];
} call;

static int chance(ref_rng *r, int one_in) { return ref_below(r, one_in) == 0; }

static void fill_call(call *c, ref_rng *r)
{
    const wisp_type factor = chance(r, 2) ? WISP_D : c->type;
    c->steps = 1 + (int)ref_below(r, MOST_STEPS);
    const int stored[4] = {2, 3, c->steps + 2, 2 + (int)ref_below(r, MOST_STEPS)};
    c->stored = stored[ref_below(r, 4)];
    c->sums = (int)ref_below(r, MOST_SUMS + 1);
    c->has_alpha = !chance(r, 4), c->has_beta = !chance(r, 4), c->has_gamma = !chance(r, 4);
    c->terms = (unsigned)ref_below(r, 8) * WISP_DOT_XX;
    c->has_u = chance(r, 3);
    if (c->has_u && chance(r, 2)) c->terms |= WISP_DOT_UY;
    c->has_add = c->has_u && !chance(r, 4);
    for (int k = 0; k < c->steps * c->width; k++) {
        const cplx a = ref_value(r, factor);
        c->add[k / c->width][k % c->width] = a;
        c->add_s[k] = ref_scalar(a);
    }
    for (int k = 0; k < c->steps; k++) {
        c->alpha[k] = c->has_alpha ? ref_value(r, factor) : 1;
        c->beta[k] = c->has_beta && !chance(r, 4) ? ref_value(r, factor) : 0;
        c->gamma[k] = c->has_gamma ? ref_value(r, factor) : 0;
        c->alpha_s[k] = ref_scalar(c->alpha[k]);
        c->beta_s[k] = ref_scalar(c->beta[k]);
        c->gamma_s[k] = ref_scalar(c->gamma[k]);
        for (int i = 0; i < c->sums; i++) {
            c->eta[i][k] = chance(r, 4) ? 0 : ref_value(r, factor);
            c->eta_s[i * c->steps + k] = ref_scalar(c->eta[i][k]);
        }
    }
    for (int i = 0; i < 2; i++) c->start[i] = ref_random_block(r, c->type, c->dense.rows, c->width);
    c->u_start = ref_random_block(r, c->type, c->dense.rows, c->width);
    for (int i = 0; i < c->sums; i++) c->z_start[i] = ref_random_block(r, c->type, c->dense.rows, c->width);
    snprintf(c->what, sizeof c->what, "%s, %s block, width %d, %d steps, %d stored, %d sums, terms %u%s",
             wisp_ctx_isa(c->ctx), wisp_type_name(c->type), c->width, c->steps, c->stored, c->sums, c->terms,
             c->has_u ? ", with u" : "");
}

/* A block of its own, or columns of a wider one; NaN all over. */
static wisp_blk *new_block(const call *c, ref_rng *r)
{
    wisp_blk *x, *wide;
    if (!r || chance(r, 2)) {
        REF_OK(c->ctx, wisp_blk_create(&x, c->ctx, wisp_mat_map(c->A), c->type, c->width));
    } else {
        REF_OK(c->ctx, wisp_blk_create(&wide, c->ctx, wisp_mat_map(c->A), c->type, c->width + 3));
        REF_OK(c->ctx, wisp_blk_cols(&x, wide, 1, c->width));
        wisp_blk_free(wide);
    }
    REF_OK(c->ctx, wisp_blk_fill(x, (wisp_scalar){NAN, NAN}));
    return x;
}

static void run(call *c, ref_rng *r)
{
    const bool starts = c->beta[0] == 0;
    for (int i = 0; i < c->stored; i++)
        c->v[i] = i == 0 && starts && c->stored == c->steps + 2 ? NULL : new_block(c, r);
    for (int i = 0; i < c->sums; i++) {
        c->z[i] = new_block(c, r);
        ref_put(c->z[i], c->z_start[i]);
    }
    c->u = c->has_u ? new_block(c, r) : NULL;
    if (c->u) ref_put(c->u, c->u_start);
    if (!starts) ref_put(c->v[0], c->start[0]);
    ref_put(c->v[1], c->start[1]);
    memset(c->dot, 0x55, sizeof c->dot);
    const wisp_mpk_opts o = {.steps = c->steps,
                             .alpha = c->has_alpha ? c->alpha_s : NULL,
                             .beta = c->has_beta ? c->beta_s : NULL,
                             .gamma = c->has_gamma ? c->gamma_s : NULL,
                             .terms = c->terms,
                             .dot = c->dot,
                             .sums = c->sums,
                             .z = c->z,
                             .eta = c->eta_s,
                             .u = c->u,
                             .add = c->has_add ? c->add_s : NULL};
    REF_OK(c->ctx, wisp_mpk(c->v, c->stored, c->A, &o));
}

static void free_call(call *c)
{
    for (int i = 0; i < c->stored; i++) wisp_blk_free(c->v[i]);
    for (int i = 0; i < c->sums; i++) wisp_blk_free(c->z[i]), ref_free(c->z_start[i]);
    for (int i = 0; i < 2; i++) ref_free(c->start[i]);
    wisp_blk_free(c->u), ref_free(c->u_start);
}

static const unsigned dot_bit[4] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};
/* Rows of dots of a step. */
static int sets(const call *c) { return c->terms & WISP_DOT_UY ? 4 : 3; }

static double max_abs(ref_mat m)
{
    double a = 0;
    for (int64_t i = 0; i < m.rows * m.cols; i++) a = fmax(a, cabs(m.a[i]));
    return a;
}

static ref_mat copy_of(ref_mat m)
{
    ref_mat c = ref_new(m.rows, m.cols);
    memcpy(c.a, m.a, (size_t)(m.rows * m.cols) * sizeof *m.a);
    return c;
}

static void assert_close(const call *c, const char *name, int number, const wisp_blk *got, ref_mat b, double bound)
{
    ref_mat a = ref_get(got);
    for (int64_t i = 0; i < a.rows * a.cols; i++)
        if (!(cabs(a.a[i] - b.a[i]) <= bound))
            fail_msg("%s: %s%d, element (%lld, %lld) is %g%+gi, should be %g%+gi", c->what, name, number,
                     (long long)(i / a.cols), (long long)(i % a.cols), creal(a.a[i]), cimag(a.a[i]), creal(b.a[i]),
                     cimag(b.a[i]));
    ref_free(a);
}

/* The same in dense arithmetic. */
static void compare_with_oracle(const call *c)
{
    ref_mat v[MOST_STORED], z[MOST_SUMS];
    static _Thread_local cplx dot[MOST_STEPS][4 * MOST_WIDTH];
    double largest = 0;
    for (int i = 0; i < 2; i++) v[i] = copy_of(c->start[i]);
    for (int i = 0; i < c->sums; i++) z[i] = copy_of(c->z_start[i]);
    for (int k = 0; k < c->steps; k++) {
        cplx shift[MOST_WIDTH];
        for (int j = 0; j < c->width; j++) shift[j] = c->gamma[k];
        const ref_aug aug = {c->terms | WISP_SCALE | WISP_SHIFT | WISP_AXPBY | (c->has_add ? WISP_ADD : 0),
                             c->alpha[k],
                             c->beta[k],
                             0,
                             0,
                             shift,
                             c->u_start,
                             c->add[k]};
        v[k + 2] = copy_of(v[k]);
        ref_spmmv(v[k + 2], c->dense, v[k + 1], (ref_mat){0}, &aug, dot[k]);
        for (int i = 0; i < c->sums; i++)
            for (int64_t l = 0; l < z[i].rows * z[i].cols; l++) z[i].a[l] += c->eta[i][k] * v[k + 2].a[l];
        largest = fmax(largest, max_abs(v[k + 2]));
    }
    const double eps = 10 * ref_eps(c->type), scale = 1 + largest, rows = (double)c->dense.rows;
    const int used = c->stored < c->steps + 2 ? c->stored : c->steps + 2;
    for (int i = c->steps; i > c->steps - used; i--)
        if (c->v[(i + 1) % c->stored] && (i >= 0 || c->beta[0] != 0))
            assert_close(c, "v_", i, c->v[(i + 1) % c->stored], v[i + 1], eps * scale);
    for (int i = 0; i < c->sums; i++) assert_close(c, "z", i, c->z[i], z[i], eps * scale * c->steps);
    wisp_scalar untouched;
    memset(&untouched, 0x55, sizeof untouched);
    for (int k = 0; k < c->steps; k++)
        for (int t = 0; t < sets(c); t++)
            for (int j = 0; j < c->width; j++) {
                const wisp_scalar d = c->dot[(k * sets(c) + t) * c->width + j];
                if (!(c->terms & dot_bit[t]))
                    assert_memory_equal(&d, &untouched, sizeof d);
                else if (!(cabs(d.re + I * d.im - dot[k][t * c->width + j]) <= eps * (1 + rows * scale * scale)))
                    fail_msg("%s: dot %d of step %d, column %d is %g%+gi, should be %g%+gi", c->what, t, k, j, d.re,
                             d.im, creal(dot[k][t * c->width + j]), cimag(dot[k][t * c->width + j]));
            }
    for (int i = 0; i < c->steps + 2; i++) ref_free(v[i]);
    for (int i = 0; i < c->sums; i++) ref_free(z[i]);
}

static void assert_same_bits(const call *c, const char *name, int number, const wisp_blk *a, const wisp_blk *b)
{
    ref_mat x = ref_get(a), y = ref_get(b);
    if (memcmp(x.a, y.a, (size_t)(x.rows * x.cols) * sizeof *x.a))
        fail_msg("%s: %s%d is not that of wisp_spmmv", c->what, name, number);
    ref_free(x), ref_free(y);
}

/* The same by wisp_spmmv, once for each z (blocks of their own: no strides). */
static void compare_with_spmmv(const call *c)
{
    wisp_blk *v[MOST_STORED], *z[MOST_SUMS];
    wisp_scalar dot[4 * MOST_WIDTH], shift[MOST_WIDTH];
    for (int i = 0; i < c->steps + 2; i++) v[i] = new_block(c, NULL);
    for (int i = 0; i < 2; i++) ref_put(v[i], c->start[i]);
    for (int i = 0; i < c->sums; i++) z[i] = new_block(c, NULL), ref_put(z[i], c->z_start[i]);
    for (int k = 0; k < c->steps; k++) {
        for (int j = 0; j < c->width; j++) shift[j] = c->gamma_s[k];
        wisp_aug aug = {.terms = c->terms | (c->has_alpha ? WISP_SCALE : 0) | (c->has_gamma ? WISP_SHIFT : 0),
                        .alpha = c->alpha_s[k],
                        .beta = c->beta_s[k],
                        .delta = {1, 0},
                        .shift = shift,
                        .dot = dot};
        if (c->beta[k] != 0) aug.terms |= WISP_AXPBY;
        aug.u = c->u;
        if (c->has_add) aug.terms |= WISP_ADD, aug.add = c->add_s + k * c->width;
        for (int i = 0; i < (c->sums ? c->sums : 1); i++) {
            const unsigned plain = aug.terms;
            if (c->sums && c->eta[i][k] != 0) {
                aug.terms |= WISP_CHAIN;
                aug.z = z[i];
                aug.eta = c->eta_s[i * c->steps + k];
            }
            REF_OK(c->ctx, wisp_copy(v[k + 2], v[k]));
            REF_OK(c->ctx, wisp_spmmv(v[k + 2], c->A, v[k + 1], &aug));
            aug.terms = plain;
        }
        for (int t = 0; t < sets(c); t++)
            for (int j = 0; (c->terms & dot_bit[t]) && j < c->width; j++) {
                const wisp_scalar *a = dot + t * c->width + j, *b = c->dot + (k * sets(c) + t) * c->width + j;
                if (memcmp(a, b, sizeof *a))
                    fail_msg("%s: dot %d of step %d, column %d is %.17g%+.17gi, by wisp_spmmv %.17g%+.17gi", c->what, t,
                             k, j, b->re, b->im, a->re, a->im);
            }
    }
    const int used = c->stored < c->steps + 2 ? c->stored : c->steps + 2;
    for (int i = c->steps; i >= 0 && i > c->steps - used; i--)
        assert_same_bits(c, "v_", i, c->v[(i + 1) % c->stored], v[i + 1]);
    for (int i = 0; i < c->sums; i++) assert_same_bits(c, "z", i, c->z[i], z[i]);
    for (int i = 0; i < c->steps + 2; i++) wisp_blk_free(v[i]);
    for (int i = 0; i < c->sums; i++) wisp_blk_free(z[i]);
}

/* Strided blocks are compared with the oracle alone: single columns of views go another way through some kernels. */
static void both_ways(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, ref_mat dense, wisp_type type, int width)
{
    static _Thread_local call c;
    for (int strided = 0; strided < 2; strided++) {
        c = (call){.ctx = ctx, .A = A, .dense = dense, .type = type, .width = width};
        fill_call(&c, r);
        run(&c, strided ? r : NULL);
        compare_with_oracle(&c);
        if (!strided) compare_with_spmmv(&c);
        free_call(&c);
    }
}

/* A Hermitian matrix near the diagonal, with values that repeat and empty rows. */
static ref_mat band(ref_rng *r, wisp_type type, int64_t n, bool repeats)
{
    ref_mat m = ref_new(n, n);
    cplx value[3];
    for (int d = 0; d < 3; d++) value[d] = ref_value(r, type);
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 3; d++) {
            const int64_t j = i + d * d;
            if (j >= n || (!repeats && (i % 7 == 3 || j % 7 == 3))) continue;
            const cplx a = repeats ? value[d] : ref_value(r, type);
            REF_AT(m, i, j) = d == 0 ? creal(a) : a;
            REF_AT(m, j, i) = conj(REF_AT(m, i, j));
        }
    return m;
}

enum { SELL_1, SELL_16, COMPRESSED, HALF, GENERAL, STORAGES };

static wisp_mat *make(wisp_ctx *ctx, ref_rng *r, wisp_type type, int storage, int64_t rows, int width, ref_mat *dense)
{
    wisp_src src;
    wisp_mat *A;
    wisp_mat_opts o = {.width = width};
    if (storage == SELL_1) o.C = 1;
    if (storage == SELL_16) o.C = 16, o.sigma = 32;
    if (storage == COMPRESSED) o.format = WISP_FORMAT_COMPRESSED;
    if (storage == HALF && ref_ranks() == 1) o.format = WISP_FORMAT_HERMITIAN;
    if (storage == GENERAL) {
        src = ref_random_src(r, type, rows, rows, 7);
    } else {
        ref_mat m = band(r, type, rows, storage == COMPRESSED);
        src = ref_dense_src(m, type);
        ref_free(m);
    }
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    *dense = ref_dense(&src);
    ref_round(*dense, type);
    wisp_src_close(&src);
    return A;
}

static void recurrences(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 8, 33};
    ref_rng r = {7};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 1 + isa);
        for (int k = 0; ctx && k < COMBOS; k++)
            for (int storage = 0; storage < STORAGES; storage++)
                for (int w = 0; w < 4; w++) {
                    const int64_t rows = 1 + ref_below(&r, w == 3 ? 60 : 300);
                    ref_mat dense;
                    wisp_mat *A = make(ctx, &r, combo[k].mat, storage, rows, widths[w], &dense);
                    both_ways(ctx, &r, A, dense, combo[k].blk, widths[w]);
                    wisp_mat_free(A);
                    ref_free(dense);
                }
        wisp_ctx_free(ctx);
    }
}

/* A recurrence that is cut into two calls, the second with the blocks as the first left them. */
static void continued(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    ref_rng r = {8};
    ref_mat dense;
    wisp_mat *A = make(ctx, &r, WISP_Z, GENERAL, 200, 4, &dense);
    enum { WIDTH = 4, STEPS = 7 };
    wisp_scalar alpha[STEPS], beta[STEPS], dot[2][STEPS * 3 * WIDTH];
    wisp_blk *v[2][2];
    for (int k = 0; k < STEPS; k++)
        alpha[k] = ref_scalar(ref_value(&r, WISP_Z)), beta[k] = (wisp_scalar){k ? -1 : 0, 0};
    for (int cut = 0; cut < STEPS; cut++) {
        for (int way = 0; way < 2; way++) {
            for (int i = 0; i < 2; i++) REF_OK(ctx, wisp_blk_create(&v[way][i], ctx, wisp_mat_map(A), WISP_Z, WIDTH));
            REF_OK(ctx, wisp_blk_fill_random(v[way][1], WISP_RANDOM_GAUSS, 3, 9, 0));
        }
        wisp_mpk_opts o = {.steps = STEPS, .alpha = alpha, .beta = beta, .terms = 7 * WISP_DOT_XX, .dot = dot[0]};
        REF_OK(ctx, wisp_mpk(v[0], 2, A, &o));
        o.steps = cut;
        o.dot = dot[1];
        REF_OK(ctx, wisp_mpk(v[1], 2, A, &o));
        o.steps = STEPS - cut;
        o.alpha += cut, o.beta += cut, o.dot += cut * 3 * WIDTH;
        wisp_blk *turned[2] = {v[1][cut % 2], v[1][(cut + 1) % 2]};
        REF_OK(ctx, wisp_mpk(turned, 2, A, &o));
        assert_memory_equal(dot[0], dot[1], sizeof dot[0]);
        for (int i = 0; i < 2; i++) {
            ref_mat a = ref_get(v[0][i]), b = ref_get(v[1][i]);
            assert_memory_equal(a.a, b.a, (size_t)(a.rows * a.cols) * sizeof *a.a);
            ref_free(a), ref_free(b);
        }
        for (int way = 0; way < 2; way++)
            for (int i = 0; i < 2; i++) wisp_blk_free(v[way][i]);
    }
    wisp_mat_free(A);
    ref_free(dense);
    wisp_ctx_free(ctx);
}

/* More than one block of work: the same bits for any number of threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    enum { WIDTH = 3, STEPS = 4, STORED = 3 };
    static const char spec[] = "graphene:nx=60,ny=50";
    wisp_scalar dot[2][STEPS * 3 * WIDTH], beta[STEPS] = {{0, 0}, {-1, 0}, {-1, 0}, {0.5, 0}};
    ref_mat first = {0};
    for (int threads = 1; threads <= 5; threads++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
        wisp_mat *A;
        wisp_blk *v[STORED];
        REF_OK(ctx, wisp_mat_open(&A, ctx, spec, NULL));
        wisp_mat_info info;
        wisp_mat_get_info(A, &info);
        for (int i = 0; i < STORED; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), info.type, WIDTH));
        REF_OK(ctx, wisp_blk_fill_random(v[1], WISP_RANDOM_GAUSS, 1, 9, 0));
        const wisp_mpk_opts o = {.steps = STEPS, .beta = beta, .terms = 7 * WISP_DOT_XX, .dot = dot[threads > 1]};
        REF_OK(ctx, wisp_mpk(v, STORED, A, &o));
        ref_mat last = ref_get(v[(STEPS + 1) % STORED]);
        if (threads == 1) {
            first = last;
        } else {
            assert_memory_equal(dot[0], dot[1], sizeof dot[0]);
            assert_memory_equal(first.a, last.a, (size_t)(last.rows * last.cols) * sizeof *last.a);
            ref_free(last);
        }
        for (int i = 0; i < STORED; i++) wisp_blk_free(v[i]);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    ref_free(first);
}

static void refusals(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    ref_rng r = {9};
    ref_mat dense;
    wisp_mat *A = make(ctx, &r, WISP_D, GENERAL, 40, 2, &dense), *B;
    wisp_src src = ref_random_src(&r, WISP_D, 40, 30, 5);
    REF_OK(ctx, wisp_mat_create(&B, ctx, &src, NULL));
    wisp_src_close(&src);
    wisp_blk *v[3], *narrow, *view, *other, *none[3] = {NULL};
    for (int i = 0; i < 3; i++) REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&narrow, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_cols(&view, v[1], 0, 2));
    REF_OK(ctx, wisp_blk_create(&other, ctx, wisp_mat_map(B), WISP_D, 2));
    wisp_scalar one[2] = {{1, 0}, {1, 0}}, imaginary[2] = {{0, 1}, {1, 0}};
    wisp_mpk_opts o = {.steps = 1};
    REF_OK(ctx, wisp_mpk(v, 2, A, &o));
    REF_OK(ctx, wisp_mpk((wisp_blk *[]){NULL, v[1], v[2]}, 3, A, &o));
    o.steps = 0;
    REF_OK(ctx, wisp_mpk(v, 2, A, &o));
#define REFUSED(blocks, stored, matrix, status, words) \
    REF_FAILS(ctx, wisp_mpk(blocks, stored, matrix, &o), WISP_ERR_##status, words)
    o.steps = -1;
    REFUSED(v, 2, A, ARG, "opts.steps is -1");
    o.steps = 1;
    REFUSED(v, 1, A, ARG, "at least 2");
    REFUSED(v, 2, B, MISMATCH, "not square");
    REFUSED(none, 2, A, ARG, "no block v[0]");
    REFUSED(((wisp_blk *[]){v[0], NULL}), 2, A, ARG, "no block v[1]");
    REFUSED(((wisp_blk *[]){v[0], narrow}), 2, A, MISMATCH, "width");
    REFUSED(((wisp_blk *[]){v[0], other}), 2, A, MISMATCH, "map");
    REFUSED(((wisp_blk *[]){v[1], view}), 2, A, ARG, "overlap");
    o.beta = one;
    REFUSED(((wisp_blk *[]){NULL, v[1], v[2]}), 3, A, ARG, "no block v[0]");
    o.beta = NULL;
    o.add = one;
    REFUSED(v, 2, A, ARG, "opts.u, which is NULL");
    o.u = v[2];
    o.steps = 1;
    REF_OK(ctx, wisp_mpk(v, 2, A, &o));
    o.u = v[1];
    REFUSED(v, 2, A, ARG, "u must not overlap");
    o.u = narrow;
    REFUSED(v, 2, A, MISMATCH, "width");
    o.u = NULL;
    o.add = NULL;
    o.terms = WISP_DOT_UY;
    REFUSED(v, 2, A, ARG, "needs opts.u");
    o.terms = WISP_CHAIN;
    REFUSED(v, 2, A, ARG, "opts.terms has unknown ones");
    o.terms = WISP_DOT_XX;
    REFUSED(v, 2, A, ARG, "nowhere");
    o.terms = 0;
    o.alpha = imaginary;
    REFUSED(v, 2, A, ARG, "complex factor");
    o.alpha = NULL;
    o.sums = 1;
    REFUSED(v, 2, A, ARG, "as many blocks opts.z");
    o.eta = one;
    o.z = &view;
    REFUSED(v, 2, A, ARG, "overlap");
    o.z = none;
    REFUSED(v, 2, A, ARG, "no block z[0]");
    o.z = &v[2];
    REF_OK(ctx, wisp_mpk(v, 2, A, &o));
    wisp_ctx_cancel(ctx);
    REFUSED(v, 2, A, CANCELLED, "cancelled");
    for (int i = 0; i < 3; i++) wisp_blk_free(v[i]);
    wisp_blk_free(narrow), wisp_blk_free(view), wisp_blk_free(other);
    wisp_mat_free(A), wisp_mat_free(B);
    ref_free(dense);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrences),
        cmocka_unit_test(continued),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(refusals),
    };
    return REF_RUN(tests);
}
