/* Krylov decompositions, which the methods for the ends of the spectrum share: Op V = V H + W B with orthonormal
   columns V and W, where Op is the matrix or a polynomial of it. */
#ifndef WISP_ARNOLDI_H
#define WISP_ARNOLDI_H
#include <complex.h>
#include "eigen.h"

typedef double complex wisp__z;
static inline wisp__z wisp__z_of(wisp_scalar s) { return s.re + s.im * I; }
static inline wisp_scalar wisp__of_z(wisp__z z) { return (wisp_scalar){creal(z), cimag(z)}; }

/* Op = sign T_degree((A - center) / scale). With degree 1, sign 1, center 0 and scale 1 it is A itself. */
typedef struct {
    int degree;
    double sign, center, scale;
} wisp__op;

typedef struct {
    wisp__eig *k;
    wisp__op op;
    wisp_blk *all;   /* the locked columns, V, W */
    wisp_blk *x, *y; /* of one block each; x holds W, until it is multiplied */
    int columns, locked, active, block;
    double rounding;   /* of a product with Op, for a vector of length 1 */
    double guess;      /* of W's Rayleigh quotient, by which a product is shifted */
    wisp_scalar *H;    /* [columns][columns]; V's part has `active` rows and columns, B lies below it */
    wisp_scalar *work; /* [2][columns][columns] */
    uint32_t random;   /* columns that were drawn */
} wisp__arnoldi;

static inline wisp_scalar *wisp__h(const wisp__arnoldi *a, int i, int j)
{
    return a->H + (size_t)i * (size_t)a->columns + j;
}

/* a->k and a->op are set. The search space is made with so many columns, its first ones hold the user's start. */
wisp_status wisp__arnoldi_make(wisp__arnoldi *a, int columns, int block);
/* All columns are kept. */
wisp_status wisp__arnoldi_grow(wisp__arnoldi *a, int columns);
void wisp__arnoldi_free(wisp__arnoldi *a);
/* V becomes empty. W is made of the block behind the locked columns, or of random numbers. */
wisp_status wisp__arnoldi_start(wisp__arnoldi *a, bool random);
/* V takes W in, and W is made anew, until V has `active` columns or less than a block fewer. */
wisp_status wisp__arnoldi_expand(wisp__arnoldi *a, int active);
/* V becomes V Q, Q[active][kept], and W follows it; B becomes B Q. The new H is left to the caller. */
wisp_status wisp__arnoldi_rotate(wisp__arnoldi *a, const wisp_scalar *Q, int kept);
/* The length of B q, q[active] with this distance between elements. */
double wisp__arnoldi_bound(const wisp__arnoldi *a, const wisp_scalar *q, int distance);

#endif
