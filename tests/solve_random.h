/* wisp_solve on one random system with random options, all of it from a seed. */
#ifndef SOLVE_RANDOM_H
#define SOLVE_RANDOM_H
#include "solve_cases.h"

typedef struct {
    int64_t of[METHODS][STATUSES]; /* by the method that was asked for */
    int64_t should, did;           /* converge */
} tally;

/* A function of the user's: a positive diagonal. */
static inline wisp_status by_diagonal(void *arg, wisp_blk *y, const wisp_blk *x) { return wisp_spmmv(y, arg, x, NULL); }

static inline wisp_mat *random_diagonal(wisp_ctx *ctx, ref_rng *r, const linear *l)
{
    const wisp_type type = is_single(l->t.blk) ? WISP_S : WISP_D;
    wisp_mat *D;
    ref_mat d = ref_new(l->A.rows, l->A.rows);
    for (int64_t i = 0; i < d.rows; i++) REF_AT(d, i, i) = exp2(ref_uniform(r));
    ref_round(d, type);
    wisp_src src = ref_dense_src(d, type);
    REF_OK(ctx, wisp_mat_create(&D, ctx, &src, &(wisp_mat_opts){.map = wisp_mat_map(l->mat)}));
    wisp_src_close(&src);
    ref_free(d);
    return D;
}

/* A spectrum between the Gershgorin circles' ends, where those are positive; else it is to be found. */
static inline wisp_bounds_opts circles(ref_mat A)
{
    double low = HUGE_VAL, high = 0;
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < A.cols; j++) sum += i == j ? 0 : cabs(REF_AT(A, i, j));
        low = fmin(low, creal(REF_AT(A, i, i)) - sum), high = fmax(high, creal(REF_AT(A, i, i)) + sum);
    }
    if (!(low > 0 && high > low)) return (wisp_bounds_opts){.method = WISP_BOUNDS_LANCZOS};
    return (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {low / 2 + high / 2, high / 2 - low / 2, 0}};
}

static inline wisp_method random_method(ref_rng *r)
{
    const int m = (int)ref_below(r, METHODS - 1);
    return (wisp_method)(m < WISP_LSMR ? m : ref_next_method(WISP_MINRES));
}

static inline wisp_solve_opts random_options(ref_rng *r, const linear *l)
{
    static const double fine[] = {0, 1e-3, 1e-6, 1e-10, 1e-12, 1e-15}, coarse[] = {0, 1e-2, 1e-3, 1e-5, 1e-7, 1e-3};
    const int64_t n = l->A.rows;
    wisp_solve_opts o = {.method = random_method(r), .precond = WISP_PRECOND_NONE};
    if (!l->hermitian && (o.method == WISP_CG || o.method == WISP_MINRES) && ref_below(r, 8)) o.method = WISP_GMRES;
    if (ref_below(r, 2)) o.precond = (wisp_precond)ref_below(r, WISP_PRECOND_APPLY + 1);
    o.variant = (wisp_variant)ref_below(r, WISP_CLASSICAL + 1);
    if (o.method == WISP_CG && o.precond == WISP_PRECOND_NONE && ref_below(r, 3) == 0) o.variant = WISP_PREDICT;
    if (o.method == WISP_CG && ref_below(r, 3) == 0) o.variant = WISP_HIDDEN;
    o.restart = ref_below(r, 2) ? 0 : (int)(1 + ref_below(r, n + 2));
    o.shadow = ref_below(r, 2) ? 0 : (int)(1 + ref_below(r, n + 2)) % 65;
    o.tolerance = is_single(l->t.blk) ? coarse[ref_below(r, 6)] : fine[ref_below(r, 6)];
    o.max_iterations = ref_below(r, 3) ? 0 : 1 + ref_below(r, ref_below(r, 2) ? 6 : 4 * n);
    o.guess = ref_below(r, 3) == 0;
    o.block_rows = (int)ref_below(r, 6);
    o.degree = (int)ref_below(r, 6);
    if (!l->hermitian) o.bounds = circles(l->A);
    if (has_sides(o.method) && o.precond) o.side = (wisp_side)ref_below(r, 3);
    return o;
}

/* Well-conditioned systems, as many iterations as are needed, and a tolerance well above rounding. */
static inline int should_converge(const linear *l, const wisp_solve_opts *o)
{
    if (o->max_iterations > 0 || (o->tolerance > 0 && o->tolerance < (is_single(l->t.blk) ? 1e-4 : 1e-10))) return 0;
    const int restart = o->restart > 0 ? o->restart : 30;
    if (l->kind == GENERAL)
        return (o->method == WISP_GMRES || o->method == WISP_METHOD_DEFAULT) && restart >= l->A.rows &&
               o->precond == WISP_PRECOND_NONE;
    return l->kind == DEFINITE && (o->method != WISP_GMRES || restart >= 10);
}

static inline void random_case(wisp_ctx *ctx, uint64_t seed, tally *t)
{
    ref_rng r = {seed * 7919};
    char what[200];
    const kind k = ref_below(&r, 4) ? (kind)ref_below(&r, KINDS) : DEFINITE;
    const ref_types types = ref_pair[ref_below(&r, REF_PAIRS)];
    const int64_t n = 1 + ref_below(&r, 60);
    linear l = random_linear(ctx, &r, k, types, n, 1 + (int)ref_below(&r, 5));
    wisp_solve_opts o = random_options(&r, &l);
    wisp_mat *D = o.precond == WISP_PRECOND_APPLY ? random_diagonal(ctx, &r, &l) : NULL;
    o.apply = by_diagonal, o.apply_arg = D;
    snprintf(what, sizeof what,
             "seed %llu: %s, %s and %s, %lld rows, %s, variant %d, preconditioner %d, restart %d, tolerance %g",
             (unsigned long long)seed, kind_name[k], wisp_type_name(types.mat), wisp_type_name(types.blk), (long long)n,
             method_name[o.method], (int)o.variant, (int)o.precond, o.restart, o.tolerance);
    const outcome out = solve(ctx, &l, &o, what);
    const int should = should_converge(&l, &o);
    if (should && out.status != WISP_OK) fail_msg("%s: %s", what, message_of(ctx));
    if (out.status == WISP_ERR_HERMITIAN && l.hermitian) fail_msg("%s: %s", what, message_of(ctx));
    if (o.precond == WISP_PRECOND_NONE && out.status != WISP_ERR_HERMITIAN && is_refusal(out.status))
        fail_msg("%s: %s", what, message_of(ctx));
    t->of[o.method][out.status]++;
    t->should += should;
    t->did += should && out.status == WISP_OK;
    ref_free(out.x);
    wisp_mat_free(D);
    linear_free(&l);
}

static inline void print_tally(const tally *t)
{
    for (int m = 0; m < METHODS; m = ref_next_method(m))
        for (int s = 0; s < STATUSES; s++)
            if (t->of[m][s])
                print_message("%-8s %6lld %s\n", method_name[m], (long long)t->of[m][s],
                              wisp_status_string((wisp_status)s));
    print_message("%lld of %lld that should have converged\n", (long long)t->did, (long long)t->should);
}
#endif
