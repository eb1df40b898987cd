/* Matrices for the tests of preconditioners, and one application with all that always holds. */
#ifndef PRECOND_CASES_H
#define PRECOND_CASES_H
#include "ref.h"
#include "solver/linear/krylov.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A sparse random matrix with its eigenvalues on the right, between 0.5 and 4.5 if it is Hermitian. */
static inline ref_mat random_matrix(ref_rng *r, wisp_type type, int64_t n, int hermitian)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const int64_t j = ref_below(r, n);
            const cplx v = ref_value(r, type) / 4;
            if (i == j) continue;
            REF_AT(m, i, j) = v;
            if (hermitian) REF_AT(m, j, i) = conj(v);
        }
    ref_round(m, type);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += cabs(REF_AT(m, i, j));
        REF_AT(m, i, i) = 0.5 + sum + (1 + ref_uniform(r)) / 2;
        if (!hermitian) REF_AT(m, i, i) += cimag(ref_value(r, type)) * I / 4;
    }
    ref_round(m, type);
    return m;
}

/* Its Gershgorin circles, as bounds. */
static inline wisp_bounds_opts circles(ref_mat m)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (int64_t i = 0; i < m.rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < m.cols; j++) sum += i == j ? 0 : cabs(REF_AT(m, i, j));
        low = fmin(low, creal(REF_AT(m, i, i)) - sum), high = fmax(high, creal(REF_AT(m, i, i)) + sum);
    }
    return (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {low / 2 + high / 2, high / 2 - low / 2, 0}};
}

static inline wisp_blk *blk_of(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, ref_mat m)
{
    wisp_blk *x;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), type, (int)m.cols));
    ref_put(x, m);
    return x;
}

/* As opts.method asks for it. */
static inline wisp_status precond_make(wisp__precond **P, const wisp_mat *A, const wisp_solve_opts *o, wisp_type type,
                                       int width)
{
    const char *definite = o->method == WISP_METHOD_DEFAULT ? NULL : wisp__method_of(o->method)->definite;
    return wisp__precond_make(P, A, 1, o, definite, type, width, (const double[]){0, 0});
}

/* z = M^-1 x, and dot[width] = <x, z> of this rank, by way of a slot. */
static inline wisp_status apply_with_dot(wisp_ctx *ctx, wisp__precond *P, wisp_blk *z, const wisp_blk *x,
                                         wisp_scalar *dot)
{
    const int width = wisp_blk_width(x), degree = wisp__precond_products(P), sets = 4 * (degree > 1 ? degree : 1);
    wisp_slot *s = NULL;
    wisp_status status;
    WISP_TRY(wisp_slot_create(&s, ctx, (int64_t)sets * width));
    WISP_TRY(wisp__precond_apply(P, z, x, (wisp_place){s, 0}));
    WISP_TRY(wisp_slot_read(s, (int64_t)wisp__precond_set(P) * width, width, dot));
out:
    wisp_slot_free(s);
    return status;
}

/* M^-1 r, into a block of NaN. r must be left alone, and the dots be those of what came out; without them z must be the
   same bit by bit. */
static inline ref_mat applied(wisp_ctx *ctx, const wisp_mat *A, wisp__precond *P, wisp_type type, ref_mat r)
{
    wisp_blk *x = blk_of(ctx, A, type, r), *z = blk_of(ctx, A, type, r);
    wisp_scalar *dot = calloc((size_t)r.cols, sizeof *dot);
    REF_OK(ctx, wisp_blk_fill(z, (wisp_scalar){NAN, NAN}));
    REF_OK(ctx, apply_with_dot(ctx, P, z, x, dot));
    REF_OK(ctx, wisp_ctx_sum(ctx, &dot->re, 2 * (size_t)r.cols));
    ref_mat got = ref_get(z), kept = ref_get(x);
    assert_memory_equal(kept.a, r.a, (size_t)(r.rows * r.cols) * sizeof *r.a);
    for (int64_t j = 0; j < r.cols; j++) {
        cplx want = 0;
        double size = 0;
        for (int64_t i = 0; i < r.rows; i++) {
            want += conj(REF_AT(r, i, j)) * REF_AT(got, i, j);
            size += cabs(REF_AT(r, i, j)) * cabs(REF_AT(got, i, j));
        }
        assert_true(cabs(dot[j].re + I * dot[j].im - want) <= ref_eps(type) * size);
    }
    REF_OK(ctx, wisp_blk_fill(z, (wisp_scalar){NAN, NAN}));
    REF_OK(ctx, wisp__precond_apply(P, z, x, (wisp_place){0}));
    ref_mat again = ref_get(z);
    assert_memory_equal(again.a, got.a, (size_t)(r.rows * r.cols) * sizeof *r.a);
    ref_free(again), ref_free(kept);
    free(dot);
    wisp_blk_free(x);
    wisp_blk_free(z);
    return got;
}

/* A product with a matrix, as a function of the user's. */
typedef struct {
    const wisp_mat *A;
    wisp_status status; /* of a call that fails */
    const char *words;
} function;

static inline wisp_status product(void *arg, wisp_blk *y, const wisp_blk *x)
{
    const function *f = arg;
    if (f->status != WISP_OK && f->words) wisp_ctx_fail(wisp_mat_ctx(f->A), f->status, f->words);
    return f->status != WISP_OK ? f->status : wisp_spmmv(y, f->A, x, NULL);
}

#endif
