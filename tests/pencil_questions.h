/* Questions for pairs of a pencil nearest to a number, and what LAPACK answers. */
#ifndef PENCIL_QUESTIONS_H
#define PENCIL_QUESTIONS_H
#include "invert_cases.h"
#include "pencil_cases.h"

typedef struct {
    pencil p;
    double *e, error; /* values, ascending; how far one may be off */
    int64_t n;
    bool single;
    wisp_eig_opts o;
} question;

/* Values of S from 1 to `condition`, by random steps. */
static inline ref_mat overlap_of(ref_rng *r, wisp_type type, int64_t n, double condition)
{
    double e[512];
    assert_true(n > 0 && n <= 512);
    for (int64_t i = 0; i < n; i++) e[i] = pow(condition, n > 1 ? (double)i / (double)(n - 1) : 0);
    ref_mat S = hermitian_of(r, e, n, type);
    return S;
}

/* Asks for the nearest ones. So far a value may be off: by the tolerance, and by rounding of C and of LAPACK's. */
static inline question ask(wisp_ctx *ctx, ref_mat A, wisp_type type_A, ref_mat S, wisp_type type_S, double condition)
{
    const wisp_overlap_opts given = {
        .bounds = {.method = WISP_BOUNDS_GIVEN,
                   .given = {.center = (0.98 + 1.02 * condition) / 2, .halfwidth = (1.02 * condition - 0.98) / 2}}};
    question q = {.n = A.rows, .single = type_A == WISP_S || type_A == WISP_C};
    q.e = values_of(A, S);
    q.p = make(ctx, A, type_A, S, type_S, condition > 1 ? &given : NULL);
    q.o = (wisp_eig_opts){
        .which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .tolerance = q.single ? 2e-5 : 1e-9, .count = 1};
    wisp_overlap_info info;
    wisp_overlap_get_info(q.p.overlap, &info);
    const double eps = q.single ? 1.2e-7 : 2.2e-16, most = fmax(fabs(q.e[0]), fabs(q.e[q.n - 1]));
    q.error = most * (q.o.tolerance + 30 * eps * (double)info.terms * sqrt(condition) + 30 * eps * condition);
    return q;
}

static inline void end_question(question *q)
{
    free(q->e);
    drop(&q->p);
}

static inline void check(const question *q, const wisp_eigen *v, const char *what)
{
    assert_int_equal(v->proof, !v->complete                  ? WISP_PROOF_NONE
                               : v->method == WISP_EIG_DENSE ? WISP_PROOF_ALL
                                                             : WISP_PROOF_INERTIA);
    const demand d = demand_of(&q->o, q->e, q->n, 3 * q->error);
    if (!v->complete || matches(v, q->e, &d, q->error)) return;
    for (int i = 0; i < v->found; i++) print_message("found %.12g\n", v->value[i].re);
    for (int64_t i = d.may_from; i < d.may_to; i++) print_message("there is %.12g\n", q->e[i]);
    fail_msg("%s: seed %llu, %lld rows, %d nearest to %.17g: %d found, from %lld to %lld are there", what,
             (unsigned long long)q->o.seed, (long long)q->n, q->o.count, q->o.target, v->found,
             (long long)(d.to - d.from), (long long)(d.may_to - d.may_from));
}
#endif
