/* Products against the oracle: what a call of the op must give, and whether it does. */
#include "ref.h"
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ref_types ref_pair[REF_PAIRS] = {{WISP_S, WISP_S}, {WISP_D, WISP_D}, {WISP_S, WISP_C},
                                       {WISP_D, WISP_Z}, {WISP_C, WISP_C}, {WISP_Z, WISP_Z},
                                       {WISP_S, WISP_D}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};

int ref_widths(int width[REF_MOST_WIDTHS])
{
    static const int composed[] = {3, 5, 7, 13, 17, 31, 33, 64, 70};
    int n = 0;
    for (const char *list = WISP_WIDTHS; *list;) {
        char *rest;
        width[n++] = (int)strtol(list, &rest, 10);
        list = rest + strspn(rest, ", ");
    }
    for (size_t i = 0; i < sizeof composed / sizeof composed[0]; i++) {
        int k = 0;
        while (k < n && width[k] != composed[i]) k++;
        if (k == n) width[n++] = composed[i];
    }
    return n;
}

enum { DOTS = 4 }; /* of a column */

/* What follows the product ax. */
static void finish(ref_mat y, ref_mat ax, ref_mat x, ref_mat z, const ref_aug *aug, cplx *dot)
{
    const unsigned t = aug->terms;
    const int64_t w = y.cols;
    if (dot) memset(dot, 0, (t & WISP_DOT_UY ? DOTS : DOTS - 1) * (size_t)w * sizeof *dot);
    for (int64_t i = 0; i < y.rows; i++)
        for (int64_t j = 0; j < w; j++) {
            cplx sum = REF_AT(ax, i, j);
            if (t & WISP_SHIFT) sum -= aug->shift[j] * REF_AT(x, i, j);
            if (t & WISP_SCALE) sum *= aug->alpha;
            if ((t & WISP_AXPBY) && aug->beta != 0) sum += aug->beta * REF_AT(y, i, j);
            if (t & WISP_ADD) sum += aug->add[j] * REF_AT(aug->u, i, j);
            REF_AT(y, i, j) = sum;
            if (t & WISP_CHAIN) REF_AT(z, i, j) = aug->eta * sum + (aug->delta != 0 ? aug->delta * REF_AT(z, i, j) : 0);
            if (t & WISP_DOT_XX) dot[j] += conj(REF_AT(x, i, j)) * REF_AT(x, i, j);
            if (t & WISP_DOT_XY) dot[w + j] += conj(REF_AT(x, i, j)) * sum;
            if (t & WISP_DOT_YY) dot[2 * w + j] += conj(sum) * sum;
            if (t & WISP_DOT_UY) dot[3 * w + j] += conj(REF_AT(aug->u, i, j)) * sum;
        }
}

void ref_spmmv(ref_mat y, ref_mat A, ref_mat x, ref_mat z, const ref_aug *aug, cplx *dot)
{
    ref_mat ax = ref_new(A.rows, y.cols);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = 0; k < A.cols; k++)
            for (int64_t j = 0; REF_AT(A, i, k) != 0 && j < y.cols; j++)
                REF_AT(ax, i, j) += REF_AT(A, i, k) * REF_AT(x, k, j);
    finish(y, ax, x, z, aug, dot);
    ref_free(ax);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static ref_mat copy_of(ref_mat m)
{
    ref_mat c = ref_new(m.rows, m.cols);
    memcpy(c.a, m.a, (size_t)(m.rows * m.cols) * sizeof *m.a);
    return c;
}

static void expect(ref_call *c, const ref_sparse *A)
{
    ref_mat ax = ref_new(A->rows, c->width);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->first[i]; e < A->first[i + 1]; e++) {
            const cplx a = A->val[e], *x = c->x.a + A->col[e] * c->width;
            for (int j = 0; j < c->width; j++) REF_AT(ax, i, j) += a * x[j];
        }
    c->want_y = copy_of(c->y), c->want_z = copy_of(c->z);
    finish(c->want_y, ax, c->x, c->want_z, &c->f, c->want_dot);
    ref_free(ax);
}

ref_call ref_call_new(ref_rng *r, const ref_sparse *A, wisp_type type, int width, unsigned terms, int real_factors)
{
    const wisp_type factor = real_factors ? WISP_D : type;
    const size_t dots = DOTS * (size_t)width;
    ref_call c = {.type = type, .width = width, .eps = ref_eps(type) * fmax(1, (double)A->longest / 100)};
    if (A->rows != A->cols) terms &= ~(unsigned)(WISP_SHIFT | WISP_DOT_XX | WISP_DOT_XY);
    if (terms != REF_KPM && ref_below(r, 4) == 0) terms |= WISP_ADD;
    if (terms != REF_KPM && ref_below(r, 4) == 0) terms |= WISP_DOT_UY;
    c.shift = malloc((size_t)width * sizeof *c.shift);
    c.add = malloc((size_t)width * sizeof *c.add);
    c.want_dot = calloc(dots, sizeof *c.want_dot);
    for (int j = 0; j < width; j++) c.shift[j] = ref_value(r, factor), c.add[j] = ref_value(r, factor);
    c.f = (ref_aug){
        terms, ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), ref_value(r, factor), c.shift, {0},
        c.add};
    if (ref_below(r, 4) == 0 && terms != REF_KPM) c.f.beta = 0;
    if (ref_below(r, 4) == 0) c.f.delta = 0;
    c.x = ref_random_block(r, type, A->cols, width);
    c.y = ref_random_block(r, type, A->rows, width);
    c.z = ref_random_block(r, type, A->rows, width);
    c.f.u = c.u = ref_random_block(r, type, A->rows, width);
    expect(&c, A);
    return c;
}

void ref_call_free(ref_call *c)
{
    ref_mat all[] = {c->x, c->y, c->z, c->u, c->want_y, c->want_z};
    for (int i = 0; i < 6; i++) ref_free(all[i]);
    free(c->shift);
    free(c->add);
    free(c->want_dot);
}

/* Columns of the block ahead of the view, and behind it. */
enum { BLOCKS = 4 };
static const int ahead[BLOCKS] = {2, 1, 0, 3}, behind[BLOCKS] = {1, 1, 3, 1};
static const wisp_scalar apart = {-77, 0}; /* is in them */

static void check_untouched(const ref_call *c, wisp_blk *const all[BLOCKS], int views)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (!all[i]) continue;
        const int view = views >> i & 1;
        if ((i == 1 || i == 2) && !view) continue;
        ref_mat m = ref_get(all[i]);
        const int begin = view ? ahead[i] : 0;
        for (int64_t row = 0; row < m.rows; row++)
            for (int64_t j = 0; j < m.cols; j++) {
                const int beside = j < begin || j >= begin + c->width;
                if (!beside && (i == 1 || i == 2)) continue; /* of y or z */
                if (REF_AT(m, row, j) != (beside ? apart.re : REF_AT(i ? c->u : c->x, row, j - begin)))
                    fail_msg("width %d, terms %u, views %d: %s %c is written to, in row %lld", c->width, c->f.terms,
                             views, beside ? "what lies beside" : "block", "xyzu"[i], (long long)row);
            }
        ref_free(m);
    }
}

ref_result ref_run(wisp_ctx *ctx, const wisp_mat *A, const ref_call *c, int views)
{
    const ref_mat in[BLOCKS] = {c->x, c->y, c->z, c->u};
    const unsigned terms = c->f.terms;
    wisp_blk *all[BLOCKS] = {NULL}, *b[BLOCKS] = {NULL};
    wisp_scalar *shift = malloc((size_t)c->width * sizeof *shift), *add = malloc((size_t)c->width * sizeof *add);
    ref_result s = {.dot = calloc(DOTS * (size_t)c->width, sizeof *s.dot)};
    for (int j = 0; j < c->width; j++) shift[j] = ref_scalar(c->shift[j]), add[j] = ref_scalar(c->add[j]);
    for (int i = 0; i < BLOCKS; i++) {
        if ((i == 2 && !(terms & WISP_CHAIN)) || (i == 3 && !(terms & (WISP_ADD | WISP_DOT_UY)))) continue;
        wisp_map *map = i ? wisp_mat_map(A) : wisp_mat_col_map(A);
        const int view = views >> i & 1;
        REF_OK(ctx, wisp_blk_create(&all[i], ctx, map, c->type, c->width + view * (ahead[i] + behind[i])));
        if (view) REF_OK(ctx, wisp_blk_fill(all[i], apart));
        REF_OK(ctx, wisp_blk_cols(&b[i], all[i], view * ahead[i], c->width));
        ref_put(b[i], in[i]);
    }
    /* Must not be read. */
    if (!(terms & WISP_AXPBY) || c->f.beta == 0) REF_OK(ctx, wisp_blk_fill(b[1], (wisp_scalar){NAN, NAN}));
    if ((terms & WISP_CHAIN) && c->f.delta == 0) REF_OK(ctx, wisp_blk_fill(b[2], (wisp_scalar){NAN, NAN}));
    const wisp_aug aug = {terms,
                          ref_scalar(c->f.alpha),
                          ref_scalar(c->f.beta),
                          ref_scalar(c->f.delta),
                          ref_scalar(c->f.eta),
                          shift,
                          b[2],
                          s.dot,
                          b[3],
                          add,
                          {0},
                          {0},
                          {0}};
    REF_OK(ctx, wisp_spmmv(b[1], A, b[0], &aug));
    s.y = ref_get(b[1]), s.z = b[2] ? ref_get(b[2]) : copy_of(c->z);
    check_untouched(c, all, views);
    for (int i = 0; i < BLOCKS; i++) wisp_blk_free(b[i]), wisp_blk_free(all[i]);
    free(shift);
    free(add);
    return s;
}

void ref_result_free(ref_result *s)
{
    ref_free(s->y), ref_free(s->z);
    free(s->dot);
}

void ref_check(const ref_call *c, const ref_result *got, const char *what)
{
    static const unsigned bit[DOTS] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};
    const double big = 1 + ref_largest(c->want_y), rows = (double)c->y.rows;
    char text[240];
    snprintf(text, sizeof text, "%s, %s block, width %d, terms %u", what, wisp_type_name(c->type), c->width,
             c->f.terms);
    ref_assert_close(text, got->y, c->want_y, c->eps);
    ref_assert_close(text, got->z, c->want_z, c->f.terms & WISP_CHAIN ? c->eps : 0);
    for (int t = 0; t < DOTS; t++)
        for (int j = 0; (c->f.terms & bit[t]) && j < c->width; j++) {
            const cplx d = got->dot[t * c->width + j].re + I * got->dot[t * c->width + j].im,
                       e = c->want_dot[t * c->width + j];
            if (!(cabs(d - e) <= ref_eps(c->type) * (1 + rows * big * big)))
                fail_msg("%s: dot %d of column %d is %g%+gi, should be %g%+gi", text, t, j, creal(d), cimag(d),
                         creal(e), cimag(e));
        }
}

void ref_check_call(wisp_ctx *ctx, const wisp_mat *A, const ref_call *c, int views, const char *what)
{
    char text[200];
    ref_result got = ref_run(ctx, A, c, views);
    snprintf(text, sizeof text, "%s: %s%s", wisp_ctx_isa(ctx), what, views ? ", views" : "");
    ref_check(c, &got, text);
    ref_result_free(&got);
}

void ref_check_product(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, ref_mat dense, wisp_type type, int width,
                       unsigned terms, int strided, const char *what)
{
    wisp_src src = ref_dense_src(dense, WISP_Z);
    ref_sparse s = ref_sparse_of(&src, WISP_Z);
    ref_call c = ref_call_new(r, &s, type, width, terms, (int)ref_below(r, 2));
    ref_check_call(ctx, A, &c, strided ? REF_VIEWS : REF_COMPACT, what);
    ref_call_free(&c);
    ref_sparse_free(s);
    src.free_arg(src.arg);
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
