/* What tests of time evolution share: what an observer saw, and the context. */
#ifndef EVOLVE_CASES_H
#define EVOLVE_CASES_H
#include <math.h>
#include "ref.h"

enum { SEEN_TIMES = 24, SEEN_WIDTH = 8 };
typedef struct {
    ref_mat psi[SEEN_TIMES];
    double norm[SEEN_TIMES][SEEN_WIDTH];
    int64_t seen;
} record;

/* opts.observe with a record. */
static inline int keep(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    record *r = arg;
    assert_int_equal(i, r->seen++);
    assert_true(i < SEEN_TIMES && wisp_blk_width(psi) <= SEEN_WIDTH);
    r->psi[i] = ref_get(psi);
    memcpy(r->norm[i], norm, (size_t)wisp_blk_width(psi) * sizeof *norm);
    return 0;
}

static inline void forget(record *r)
{
    for (int64_t i = 0; i < r->seen; i++) ref_free(r->psi[i]);
    *r = (record){.seen = 0};
}

static inline double column_norm(ref_mat a, int64_t j)
{
    double square = 0;
    for (int64_t i = 0; i < a.rows; i++) square += pow(cabs(REF_AT(a, i, j)), 2);
    return sqrt(square);
}

/* A whole evolution of two random states to three times, in which any allocation may fail. */
typedef struct {
    const char *spec;
    double unit; /* of times */
    wisp_evolve_opts o;
} whole_case;

static inline wisp_status evolve_all(wisp_ctx *ctx, void *arg)
{
    const whole_case *c = arg;
    const double time[] = {c->unit, 2 * c->unit, 3 * c->unit};
    wisp_mat *A = NULL;
    wisp_blk *psi = NULL;
    wisp_status status = wisp_mat_open(&A, ctx, c->spec, NULL);
    if (status == WISP_OK) status = wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 2);
    if (status == WISP_OK) status = wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 1, 2, 0);
    if (status == WISP_OK) status = wisp_evolve(NULL, A, psi, 3, time, &c->o);
    wisp_blk_free(psi);
    wisp_mat_free(A);
    return status;
}

#endif
