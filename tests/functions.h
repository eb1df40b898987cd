/* Functions that the tests of wisp_chebyshev_apply take. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H
#include "kpm_dense.h"
#include <float.h>
#include <stdbool.h>

enum { EXP, PHASE, FERMI, ROOT, SIGN, RESOLVENT, KINDS };
/* f((E - shift) / scale) times 2^exponent. */
typedef struct {
    int kind;
    double shift, scale;
    int exponent;
    int calls;
} member;

static inline cplx member_at(const member *m, double energy)
{
    const double e = (energy - m->shift) / m->scale;
    switch (m->kind) {
    case EXP: return exp(-1.5 * e);
    case PHASE: return cexp(-2 * I * e);
    case FERMI: return 1 / (1 + exp(8 * e));
    case ROOT: return sqrt(e + 16);
    case SIGN: return tanh(6 * e);
    default: return 1 / (e - 0.3 - 0.25 * I);
    }
}

static inline int value_of(void *arg, double energy, wisp_scalar *value)
{
    member *m = arg;
    m->calls++;
    const cplx f = member_at(m, energy);
    *value = (wisp_scalar){ldexp(creal(f), m->exponent), ldexp(cimag(f), m->exponent)};
    return 0;
}

static inline wisp_function as_function(member *m) { return (wisp_function){.value = value_of, .arg = m}; }

/* The largest |f| on bounds, but for 2^exponent. */
static inline double largest_on(const member *m, const wisp_bounds *b)
{
    double most = 0;
    for (int i = -4000; i <= 4000; i++) most = fmax(most, cabs(member_at(m, b->center + b->halfwidth * i / 4000)));
    return most;
}

static inline wisp_blk *block(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width)
{
    wisp_blk *b;
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), type, width));
    return b;
}
#endif
