/* Scattered views of columns (wisp_blk_pick): ops against the oracle, what lies beside them, blocks that overlap
   or not, calls that refuse them, and each allocation failing. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 40 };

/* Some columns of so many, that differ, in a random order or, sometimes, in runs. */
static void random_columns(ref_rng *r, int count, int all, int *column)
{
    int left[2 * MOST];
    const int in_order = ref_below(r, 2) == 0;
    for (int j = 0; j < all; j++) left[j] = j;
    for (int j = 0; j < all; j++) {
        const int k = j + (int)ref_below(r, all - j), c = left[k];
        left[k] = left[j], left[j] = c;
    }
    for (int j = 0; j < count; j++) column[j] = left[j];
    for (int i = 0; in_order && i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (column[j] < column[i]) {
                const int c = column[i];
                column[i] = column[j], column[j] = c;
            }
}

/* A block that a test works on: a scattered view, or a block of its own, and what is in all of its memory. */
typedef struct {
    wisp_blk *whole, *x;
    int column[MOST], width;
    ref_mat all;
} picked;

static picked picked_new(wisp_ctx *ctx, ref_rng *r, wisp_map *map, wisp_type type, int width, int scattered)
{
    picked p = {.width = width};
    const int all = scattered ? width + 1 + (int)ref_below(r, 6) : width;
    for (int j = 0; j < width; j++) p.column[j] = j;
    if (scattered) random_columns(r, width, all, p.column);
    REF_OK(ctx, wisp_blk_create(&p.whole, ctx, map, type, all));
    REF_OK(ctx, wisp_blk_pick(&p.x, p.whole, width, p.column));
    assert_int_equal(wisp_blk_width(p.x), width);
    p.all = ref_random_block(r, type, wisp_map_rows(map), all);
    ref_put(p.whole, p.all);
    return p;
}

static void picked_free(picked *p)
{
    wisp_blk_free(p->whole);
    wisp_blk_free(p->x);
    ref_free(p->all);
}

static cplx *at(const picked *p, int64_t i, int j) { return &REF_AT(p->all, i, p->column[j]); }

/* All of the memory is what it must be: bit by bit, but for `tolerance` in the picked columns. */
static void check(const char *what, const picked *p, double tolerance)
{
    ref_mat got = ref_get(p->whole);
    for (int64_t k = 0; k < got.rows * got.cols; k++) {
        int is_picked = 0;
        for (int j = 0; j < p->width; j++) is_picked |= p->column[j] == k % got.cols;
        const double error = cabs(got.a[k] - p->all.a[k]);
        if (!(error <= (is_picked ? tolerance : 0)))
            fail_msg("%s: row %d, column %d of %d: %g off", what, (int)(k / got.cols), (int)(k % got.cols),
                     (int)got.cols, error);
    }
    memcpy(p->all.a, got.a, sizeof *got.a * (size_t)(got.rows * got.cols));
    ref_free(got);
}

/* ---- ops against the oracle ------------------------------------------------------------------- */

/* y = a x + b y by the calls that can do it, x = a x; some b are 0. */
static void updates(wisp_ctx *ctx, ref_rng *r, wisp_type type, picked *x, picked *y)
{
    const int width = x->width;
    const int64_t n = x->all.rows;
    wisp_scalar a[MOST], b[MOST];
    for (int what = 0; what < 6; what++) {
        const int each = what >= 3;
        for (int j = 0; j < width; j++) {
            a[j] = ref_scalar(ref_value(r, type));
            b[j] = ref_scalar(what % 3 == 2 ? 1 : j % 3 == 0 ? 0 : ref_value(r, type));
            if (!each) a[j] = a[0], b[j] = b[0];
        }
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < width; j++) {
                const cplx aj = a[j].re + I * a[j].im, bj = b[j].re + I * b[j].im;
                *at(y, i, j) = what % 3 == 0 ? aj * *at(y, i, j) : aj * *at(x, i, j) + bj * *at(y, i, j);
            }
        if (what % 3 == 0)
            REF_OK(ctx, each ? wisp_vscal(y->x, a) : wisp_scal(y->x, a[0]));
        else if (what % 3 == 1)
            REF_OK(ctx, each ? wisp_vaxpby(y->x, a, x->x, b) : wisp_axpby(y->x, a[0], x->x, b[0]));
        else
            REF_OK(ctx, each ? wisp_vaxpy(y->x, a, x->x) : wisp_axpy(y->x, a[0], x->x));
        check("update", y, ref_eps(type) * 20);
        check("update, x", x, 0);
    }
}

static void dots(wisp_ctx *ctx, wisp_type type, const picked *x, const picked *y)
{
    const int64_t n = x->all.rows;
    wisp_scalar dot[MOST], kahan[MOST];
    double norm[MOST], kahan_norm[MOST];
    const double eps = ref_eps(type) * (double)(n + 1) * 20;
    REF_OK(ctx, wisp_dot(x->x, y->x, dot));
    REF_OK(ctx, wisp_dot_kahan(x->x, y->x, kahan));
    REF_OK(ctx, wisp_norm(y->x, norm));
    REF_OK(ctx, wisp_norm_kahan(y->x, kahan_norm));
    for (int j = 0; j < x->width; j++) {
        cplx d = 0;
        double n2 = 0;
        for (int64_t i = 0; i < n; i++) {
            d += conj(*at(x, i, j)) * *at(y, i, j);
            n2 += creal(conj(*at(y, i, j)) * *at(y, i, j));
        }
        assert_true(cabs(d - (dot[j].re + I * dot[j].im)) <= eps);
        assert_true(cabs(d - (kahan[j].re + I * kahan[j].im)) <= eps);
        assert_true(fabs(sqrt(n2) - norm[j]) <= eps && fabs(sqrt(n2) - kahan_norm[j]) <= eps);
    }
    /* Of a vector with itself the dot is real, as that of an ordinary view. */
    REF_OK(ctx, wisp_dot(y->x, y->x, dot));
    for (int j = 0; j < x->width; j++) assert_true(dot[j].im == 0 && sqrt(dot[j].re) == norm[j]);
}

/* Copies are exact, and NaN that is written over or lies beside does no harm. */
static void copies(wisp_ctx *ctx, const picked *x, picked *y)
{
    REF_OK(ctx, wisp_blk_fill(y->x, (wisp_scalar){NAN, 0}));
    for (int64_t i = 0; i < x->all.rows; i++)
        for (int j = 0; j < x->width; j++) *at(y, i, j) = *at(x, i, j);
    REF_OK(ctx, wisp_copy(y->x, x->x));
    check("copy", y, 0);
    REF_OK(ctx, wisp_copy(y->x, y->x));
    REF_OK(ctx, wisp_scal(y->x, (wisp_scalar){1, 0}));
    check("copy to itself", y, 0);
    /* By way of a block of the other precision. */
    static const wisp_type other_type[] = {[WISP_S] = WISP_D, [WISP_D] = WISP_S, [WISP_C] = WISP_Z, [WISP_Z] = WISP_C};
    wisp_blk *other;
    REF_OK(ctx, wisp_blk_create(&other, ctx, wisp_blk_map(x->x), other_type[wisp_blk_type(x->x)], x->width));
    REF_OK(ctx, wisp_copy(other, x->x));
    REF_OK(ctx, wisp_blk_fill(y->x, (wisp_scalar){NAN, 0}));
    for (int64_t i = 0; i < x->all.rows; i++)
        for (int j = 0; j < x->width; j++) {
            const cplx z = *at(x, i, j);
            *at(y, i, j) = (double)(float)creal(z) + I * (double)(float)cimag(z);
        }
    REF_OK(ctx, wisp_copy(y->x, other));
    check("copy to the other precision and back", y, 0);
    wisp_blk_free(other);
}

static void ops(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 4, 7, 8, 16, 33};
    static const int64_t sizes[] = {0, 1, 15, 129, 3001};
    ref_rng r = {51};
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (wisp_type type = WISP_S; type <= WISP_Z; type++)
            for (int w = 0; w < 8; w++)
                for (int s = 0; s < 5; s++)
                    for (int way = 1; way < 4; way++) { /* which of the two are scattered */
                        wisp_map *map;
                        REF_OK(ctx, wisp_map_create(&map, ctx, sizes[s]));
                        picked x = picked_new(ctx, &r, map, type, widths[w], way & 1),
                               y = picked_new(ctx, &r, map, type, widths[w], way & 2);
                        updates(ctx, &r, type, &x, &y);
                        dots(ctx, type, &x, &y);
                        copies(ctx, &x, &y);
                        picked_free(&x), picked_free(&y);
                        wisp_map_free(map);
                    }
        wisp_ctx_free(ctx);
    }
}

/* ---- filling, and user arrays ------------------------------------------------------------------ */

static int number_it(void *arg, int64_t row, int column, void *value)
{
    (void)arg;
    *(double *)value = (double)(100 * row + column);
    return 0;
}

static void fills(void **state)
{
    (void)state;
    enum { ROWS = 300, WIDTH = 5 };
    ref_rng r = {52};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_blk *own;
    int64_t unit[WIDTH];
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    REF_OK(ctx, wisp_blk_create(&own, ctx, map, WISP_D, WIDTH));
    for (int j = 0; j < WIDTH; j++) unit[j] = ref_below(&r, ROWS);
    for (int way = 0; way < 5; way++) {
        picked p = picked_new(ctx, &r, map, WISP_D, WIDTH, 1);
        wisp_blk *both[] = {own, p.x};
        ref_mat in = ref_random_block(&r, WISP_D, ROWS, WIDTH);
        for (int i = 0; i < 2; i++) {
            if (way == 0) REF_OK(ctx, wisp_blk_fill(both[i], (wisp_scalar){-7, 0}));
            if (way == 1) REF_OK(ctx, wisp_blk_fill_fn(both[i], number_it, NULL));
            if (way == 2) REF_OK(ctx, wisp_blk_fill_random(both[i], WISP_RANDOM_GAUSS, 3, 4, 5));
            if (way == 3) REF_OK(ctx, wisp_blk_fill_units(both[i], unit));
            if (way == 4) ref_put(both[i], in);
        }
        ref_mat want = ref_get(own), got = ref_get(p.x);
        assert_memory_equal(got.a, want.a, sizeof *got.a * ROWS * WIDTH);
        for (int64_t i = 0; i < ROWS; i++)
            for (int j = 0; j < WIDTH; j++) *at(&p, i, j) = REF_AT(want, i, j);
        check("fill", &p, 0);
        ref_free(want), ref_free(got), ref_free(in);
        picked_free(&p);
    }
    wisp_blk_free(own);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* ---- what overlaps ------------------------------------------------------------------------------ */

static void overlaps(void **state)
{
    (void)state;
    enum { ALL = 9 };
    ref_rng r = {53};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_blk *x, *v[2], *again;
    int column[2][ALL];
    REF_OK(ctx, wisp_map_create(&map, ctx, 40));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_Z, ALL));
    for (int k = 0; k < 300; k++) {
        const int width = 1 + (int)ref_below(&r, 4);
        int shared = 0, same = 1;
        for (int i = 0; i < 2; i++) {
            random_columns(&r, width, ALL, column[i]);
            REF_OK(ctx, wisp_blk_pick(&v[i], x, width, column[i]));
        }
        for (int i = 0; i < width; i++) {
            same &= column[0][i] == column[1][i];
            for (int j = 0; j < width; j++) shared |= column[0][i] == column[1][j];
        }
        REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 2, 3));
        ref_mat m = ref_get(x);
        if (shared && !same) {
            REF_FAILS(ctx, wisp_copy(v[0], v[1]), WISP_ERR_ARG, "overlap");
            REF_FAILS(ctx, wisp_axpy(v[0], (wisp_scalar){1, 0}, v[1]), WISP_ERR_ARG, "overlap");
        } else {
            REF_OK(ctx, wisp_copy(v[0], v[1]));
            for (int64_t i = 0; i < m.rows; i++)
                for (int j = 0; j < width; j++) REF_AT(m, i, column[0][j]) = REF_AT(m, i, column[1][j]);
        }
        ref_mat got = ref_get(x);
        assert_memory_equal(got.a, m.a, sizeof *m.a * (size_t)(m.rows * m.cols));
        ref_free(got), ref_free(m);
        wisp_blk_free(v[0]), wisp_blk_free(v[1]);
    }
    /* One set of columns by two ways is the same memory. */
    REF_OK(ctx, wisp_blk_pick(&v[0], x, 3, (int[]){8, 2, 4}));
    REF_OK(ctx, wisp_blk_cols(&again, x, 2, 7));
    REF_OK(ctx, wisp_blk_pick(&v[1], again, 3, (int[]){6, 0, 2}));
    REF_OK(ctx, wisp_axpy(v[0], (wisp_scalar){1, 0}, v[1]));
    wisp_blk *all[] = {v[0], v[1], again, x};
    for (int i = 0; i < 4; i++) wisp_blk_free(all[i]);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* ---- products ----------------------------------------------------------------------------------- */

static int observe(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    (void)arg, (void)i, (void)psi, (void)norm;
    return 0;
}

static void refused(void **state)
{
    (void)state;
    enum { N = 200, WIDTH = 3 };
    const char *words = "scattered view";
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp_blk *all, *v, *x, *y, *made = NULL;
    wisp_scalar s[WIDTH * WIDTH] = {{0}};
    double time = 0.5;
    void *data;
    int64_t stride;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=5,nx=20,ny=10", NULL));
    REF_OK(ctx, wisp_blk_create(&all, ctx, wisp_mat_map(A), WISP_Z, 2 * WIDTH));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_Z, WIDTH));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_Z, WIDTH));
    REF_OK(ctx, wisp_blk_pick(&v, all, WIDTH, (int[]){0, 2, 5}));
    REF_OK(ctx, wisp_blk_fill(all, (wisp_scalar){1, 0}));
    REF_FAILS(ctx, wisp_blk_lend(v, WISP_WRITE, &data, &stride), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_blk_return(v), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_spmmv(v, A, x, NULL), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_spmmv(y, A, v, NULL), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_CHAIN, .z = v}), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_spmmv(y, A, x, &(wisp_aug){.terms = WISP_ADD, .u = v, .add = s}), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_mpk((wisp_blk *[]){y, v}, 2, A, &(wisp_mpk_opts){.steps = 2}), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_mpk((wisp_blk *[]){v, y}, 2, A, &(wisp_mpk_opts){.steps = 2}), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(
        ctx,
        wisp_mpk((wisp_blk *[]){x, y}, 2, A, &(wisp_mpk_opts){.steps = 1, .sums = 1, .z = (wisp_blk *[]){v}, .eta = s}),
        WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_mpk((wisp_blk *[]){x, y}, 2, A, &(wisp_mpk_opts){.steps = 1, .u = v, .add = s}),
              WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_tsm_gram(s, WIDTH, s[0], v, x, s[0], 0), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_tsm_gram(s, WIDTH, s[0], x, v, s[0], 0), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_tsm_update(v, s[0], x, s, WIDTH, s[0]), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_tsm_update(x, s[0], v, s, WIDTH, s[0]), WISP_ERR_UNSUPPORTED, words);
    const wisp_term term[] = {{.x = x}, {.x = v}};
    const wisp_update update[] = {
        {.y = y, .terms = 1, .term = term}, {.y = y, .terms = 2, .term = term}, {.y = v, .terms = 1, .term = term}};
    REF_OK(ctx, wisp_fuse(&update[0], 1, NULL, 0, 0));
    REF_FAILS(ctx, wisp_fuse(&update[1], 1, NULL, 0, 0), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_fuse(&update[2], 1, NULL, 0, 0), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_fuse_cost(&update[1], 1, NULL, 0, &(wisp_cost){0}), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_fuse(NULL, 0, &(wisp_inner){.x = x, .y = v, .dot = s}, 1, 0), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_fuse(NULL, 0, &(wisp_inner){.x = v, .y = v, .dot = s}, 1, 0), WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_evolve(&(wisp_evolution){0}, A, v, 1, &time, &(wisp_evolve_opts){.observe = observe}),
              WISP_ERR_UNSUPPORTED, words);
    REF_FAILS(ctx, wisp_blk_pick(&made, all, 0, (int[]){0}), WISP_ERR_ARG, "0 columns");
    REF_FAILS(ctx, wisp_blk_pick(&made, x, 4, (int[]){0, 1, 2, 3}), WISP_ERR_ARG, "4 columns of a block of width 3");
    REF_FAILS(ctx, wisp_blk_pick(&made, v, 2, (int[]){0, 3}), WISP_ERR_ARG, "column 3 of a block of width 3");
    REF_FAILS(ctx, wisp_blk_pick(&made, v, 2, (int[]){0, -1}), WISP_ERR_ARG, "column -1");
    REF_FAILS(ctx, wisp_blk_pick(&made, v, 3, (int[]){2, 0, 2}), WISP_ERR_ARG, "picked twice");
    REF_FAILS(ctx, wisp_blk_cols(&made, v, 2, 2), WISP_ERR_ARG, "columns 2 to 3");
    REF_FAILS(ctx, wisp_copy(v, all), WISP_ERR_MISMATCH, "shape");
    assert_null(made);
    ref_mat m = ref_get(all); /* nothing was written */
    for (int i = 0; i < N * 2 * WIDTH; i++) assert_true(m.a[i] == 1);
    ref_free(m);
    wisp_blk *every[] = {all, v, x, y};
    for (int i = 0; i < 4; i++) wisp_blk_free(every[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* wisp_solve copies x, and so takes a scattered one; b goes into products. */
static void solved(void **state)
{
    (void)state;
    enum { WIDTH = 3 };
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp_blk *all, *v, *x, *b;
    wisp_solution s = {0};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:points=5,nx=20,ny=10", NULL));
    REF_OK(ctx, wisp_blk_create(&all, ctx, wisp_mat_map(A), WISP_D, 2 * WIDTH));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_pick(&v, all, WIDTH, (int[]){4, 2, 1}));
    REF_OK(ctx, wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 2, 3));
    REF_FAILS(ctx, wisp_solve(&s, x, A, v, NULL), WISP_ERR_UNSUPPORTED, "scattered view");
    wisp_solution_free(&s);
    REF_OK(ctx, wisp_solve(&s, x, A, b, NULL));
    wisp_solution_free(&s);
    REF_OK(ctx, wisp_solve(&s, v, A, b, NULL));
    wisp_solution_free(&s);
    ref_mat want = ref_get(x), got = ref_get(v);
    assert_memory_equal(got.a, want.a, sizeof *got.a * (size_t)(got.rows * got.cols));
    ref_free(want), ref_free(got);
    wisp_blk *every[] = {all, v, x, b};
    for (int i = 0; i < 4; i++) wisp_blk_free(every[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Some columns are multiplied by way of a block of their own. The views are older than the room for the halo, to which
   the memory of the whole block moves. */
static void multiplied(void **state)
{
    (void)state;
    enum { N = 600, ALL = 11, WIDTH = 4 };
    static const int column[WIDTH] = {9, 3, 4, 0};
    ref_rng r = {54};
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_map *map;
    wisp_mat *A;
    wisp_blk *all, *v, *x, *y, *whole;
    wisp_src src = ref_random_src(&r, WISP_D, N, N, 7);
    ref_mat dense = ref_dense(&src), in = ref_random_block(&r, WISP_D, N, ALL), want = ref_new(N, ALL);
    REF_OK(ctx, wisp_map_create(&map, ctx, N));
    REF_OK(ctx, wisp_blk_create(&all, ctx, map, WISP_D, ALL));
    ref_put(all, in);
    REF_OK(ctx, wisp_blk_pick(&v, all, WIDTH, column));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = map}));
    REF_OK(ctx, wisp_blk_create(&whole, ctx, map, WISP_D, ALL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, WIDTH));
    REF_OK(ctx, wisp_blk_create(&y, ctx, map, WISP_D, WIDTH));
    REF_OK(ctx, wisp_spmmv(whole, A, all, NULL));
    ref_spmmv(want, dense, in, want, &(ref_aug){0}, NULL);
    REF_OK(ctx, wisp_copy(x, v));
    REF_OK(ctx, wisp_spmmv(y, A, x, NULL));
    REF_OK(ctx, wisp_copy(v, y));
    for (int64_t i = 0; i < N; i++)
        for (int j = 0; j < WIDTH; j++) REF_AT(in, i, column[j]) = REF_AT(want, i, column[j]);
    ref_mat got = ref_get(all);
    ref_assert_close("picked columns", got, in, ref_eps(WISP_D) * 30);
    ref_mat mats[] = {dense, in, want, got};
    for (int i = 0; i < 4; i++) ref_free(mats[i]);
    wisp_blk *every[] = {all, v, x, y, whole};
    for (int i = 0; i < 5; i++) wisp_blk_free(every[i]);
    wisp_mat_free(A);
    wisp_map_free(map);
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Views of a block, and ops on them. */
static wisp_status work(wisp_ctx *ctx, wisp_map *map)
{
    enum { WIDTH = 40 };
    wisp_blk *x = NULL, *a = NULL, *b = NULL, *c = NULL;
    wisp_scalar dot[WIDTH];
    double norm[WIDTH];
    int column[WIDTH];
    wisp_status status;
    for (int j = 0; j < WIDTH; j++) column[j] = WIDTH - 1 - j;
    WISP_TRY(wisp_blk_create(&x, ctx, map, WISP_D, WIDTH));
    WISP_TRY(wisp_blk_pick(&a, x, WIDTH, column));
    WISP_TRY(wisp_blk_cols(&b, a, 1, WIDTH - 1));
    WISP_TRY(wisp_blk_rows(&c, b, 0, 1));
    WISP_TRY(wisp_axpy(a, (wisp_scalar){2, 0}, a));
    WISP_TRY(wisp_dot_kahan(a, x, dot));
    WISP_TRY(wisp_norm(b, norm));
    WISP_TRY(wisp_copy(c, c));
out:;
    wisp_blk *all[] = {x, a, b, c};
    for (int i = 0; i < 4; i++) wisp_blk_free(all[i]);
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    int reached = 0;
    if (ref_ranks() > 1) return; /* where an allocation fails on one rank, others wait for it */
    for (int n = 1; n < 200 && !reached; n++) {
        char number[16];
        wisp_map *map;
        int64_t now;
        snprintf(number, sizeof number, "%d", n + 1); /* behind that of the map */
        setenv("WISP_ALLOC_FAIL_AT", number, 1);
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
        REF_OK(ctx, wisp_map_create(&map, ctx, 50));
        const wisp_status status = work(ctx, map);
        if (status == WISP_OK)
            reached = n;
        else
            assert_true(status == WISP_ERR_NOMEM && strstr(message_of(ctx), "out of memory"));
        wisp_map_free(map);
        wisp_ctx_memory(ctx, &now, NULL);
        assert_true(now <= 65536); /* the context's scratch */
        wisp_ctx_free(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(reached > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops),           cmocka_unit_test(fills),  cmocka_unit_test(overlaps),
        cmocka_unit_test(refused),       cmocka_unit_test(solved), cmocka_unit_test(multiplied),
        cmocka_unit_test(out_of_memory),
    };
    return REF_RUN(tests);
}
