/* Diffusion on a box by finite volumes, -div(k grad u) + c u' along x, with k from point to point and 0 beyond the
   sides, so that preconditioners have something to do; and the solution by LAPACK. */
#ifndef DIFFUSION_H
#define DIFFUSION_H
#include "precond_cases.h"
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>

typedef enum { ANISOTROPIC, JUMPING, CONVECTIVE, SMOOTH } coefficients;
typedef struct {
    int64_t nx, ny, nz;
    coefficients kind;
    double factor; /* of the matrix; 0: 1 */
} diffusion;

/* k at a point along a direction: 1 to 1000 by the direction; 1000 in some cubes of three points, else 1. */
static inline double diffusion_at(const diffusion *d, const int64_t at[3], int direction)
{
    if (d->kind == ANISOTROPIC) return direction == 0 ? 1 : direction == 1 ? 1e-3 : 1000;
    if (d->kind == JUMPING) return (at[0] / 3 + at[1] / 3 + at[2] / 3) % 2 ? 1000 : 1;
    return 1;
}

static inline int diffusion_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const diffusion *d = arg;
    const int64_t size[3] = {d->nx, d->ny, d->nz}, step[3] = {1, d->nx, d->nx * d->ny};
    const int64_t at[3] = {i % d->nx, i / d->nx % d->ny, i / (d->nx * d->ny)};
    const double factor = d->factor != 0 ? d->factor : 1;
    double diagonal = 0;
    int n = 1;
    for (int dir = 0; dir < 3; dir++)
        for (int side = -1; side <= 1; side += 2) {
            int64_t to[3] = {at[0], at[1], at[2]};
            to[dir] += side;
            const bool inside = to[dir] >= 0 && to[dir] < size[dir];
            const double k = diffusion_at(d, at, dir), other = inside ? diffusion_at(d, to, dir) : k;
            const double face = 2 * k * other / (k + other);
            diagonal += face;
            if (!inside) continue;
            const double flow = d->kind == CONVECTIVE && dir == 0 ? -0.4 * side : 0;
            col[n] = i + side * step[dir], val[n++] = -factor * (face + flow);
        }
    col[0] = i, val[0] = factor * diagonal;
    return n;
}

static inline wisp_src diffusion_src(const diffusion *d, wisp_type type)
{
    const int64_t rows = d->nx * d->ny * d->nz;
    return ref_rows_src(type, rows, rows, 7, diffusion_row, (void *)(uintptr_t)d);
}

/* x of A x = b, real and imaginary parts by themselves, for a real A. */
static inline ref_mat direct_solution(ref_mat A, ref_mat b)
{
    const int64_t n = A.rows, w = 2 * b.cols;
    double *a = ref_lapack((size_t)(n * n), n), *x = ref_lapack((size_t)(n * w), n);
    lapack_int *pivot = calloc((size_t)n, sizeof *pivot);
    ref_mat sol = ref_new(n, b.cols);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[j * n + i] = creal(REF_AT(A, i, j));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < b.cols; j++)
            x[2 * j * n + i] = creal(REF_AT(b, i, j)), x[(2 * j + 1) * n + i] = cimag(REF_AT(b, i, j));
    assert_int_equal(
        LAPACKE_dgesv(LAPACK_COL_MAJOR, (lapack_int)n, (lapack_int)w, a, (lapack_int)n, pivot, x, (lapack_int)n), 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < b.cols; j++) REF_AT(sol, i, j) = x[2 * j * n + i] + I * x[(2 * j + 1) * n + i];
    free(a), free(x), free(pivot);
    return sol;
}

typedef struct {
    wisp_mat *A;
    ref_mat dense;
} scene;

static inline scene make(wisp_ctx *ctx, const diffusion *d, wisp_type type)
{
    scene s;
    wisp_src src = diffusion_src(d, type);
    s.dense = ref_dense(&src);
    ref_round(s.dense, type);
    REF_OK(ctx, wisp_mat_create(&s.A, ctx, &src, NULL));
    wisp_src_close(&src);
    return s;
}

static inline void end(scene *s)
{
    wisp_mat_free(s->A);
    ref_free(s->dense);
}

/* Converged, near to LAPACK's x, in at most so many iterations. */
static inline int64_t solved(wisp_ctx *ctx, const scene *s, const wisp_solve_opts *o, wisp_type type, int width,
                             int64_t most)
{
    ref_rng r = {(uint64_t)(77 + width)};
    ref_mat b = ref_random_block(&r, type, s->dense.rows, width), want = direct_solution(s->dense, b);
    wisp_blk *x = blk_of(ctx, s->A, type, b), *y = blk_of(ctx, s->A, type, b);
    wisp_solution sol;
    REF_OK(ctx, wisp_solve(&sol, x, s->A, y, o));
    assert_int_equal(sol.precond, o->precond);
    if (sol.iterations > most)
        fail_msg("method %d, width %d: %lld iterations", (int)o->method, width, (long long)sol.iterations);
    ref_mat got = ref_get(x);
    ref_assert_close("x", got, want, wisp__is_single(type) ? 0.02 : 1e-5);
    const int64_t iterations = sol.iterations;
    wisp_solution_free(&sol);
    wisp_blk_free(x), wisp_blk_free(y);
    ref_free(b), ref_free(want), ref_free(got);
    return iterations;
}
/* Row i of incomplete factors, L's entries and then U's, in A's order and columns. How many. */
static inline int factors_row(const wisp__ilu *f, int64_t i, int64_t *col, cplx *val)
{
    const wisp_type type = f->pairs ? WISP_Z : WISP_D;
    const int64_t k = f->where[i];
    int n = 0;
    for (int side = 0; side < 2; side++) {
        const wisp__triangle *t = &f->side[side];
        if (side == 1) col[n] = i, val[n++] = 1 / wisp__number_at(type, f->inverse, k);
        for (int64_t e = t->begin[k]; e < t->begin[k + 1]; e++) {
            assert_true(side == 0 ? t->col[e] < k : t->col[e] > k);
            for (col[n] = 0; f->where[col[n]] != t->col[e]; col[n]++) assert_true(col[n] < f->rows - 1);
            val[n++] = wisp__number_at(type, t->val, e);
        }
    }
    return n;
}

#endif
