/* Bases that are not orthogonal: A x = lambda S x. Part of wisp.h, which says what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_OVERLAP_H
#define WISP_PUBLIC_OVERLAP_H

#include "solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The overlap matrix S of a basis, Hermitian and positive definite, and its S^-1/2, a polynomial of S that is applied
   and nowhere stored. With C = S^-1/2 A S^-1/2 (Loewdin, J. Chem. Phys. 18, 365, 1950) every solver for Hermitian
   matrices answers for A x = lambda S x: C has its eigenvalues, densities of states, functions and evolution, and
   x = S^-1/2 y of an eigenvector y. */
typedef struct wisp_overlap wisp_overlap;

typedef struct {
    double tolerance;        /* of the polynomial, over the largest E^-1/2 on the bounds; 0: 1e-13, 1e-6 for S of */
                             /* single precision */
    int64_t terms;           /* of it, at most, up to 2^22; 0: WISP_CHEBYSHEV_TERMS */
    wisp_bounds_opts bounds; /* of S; zero: found by Lanczos. The lower one must be above 0: of a matrix with a large */
                             /* condition number, give them */
    int depth;               /* as in wisp_chebyshev_opts */
    int later;               /* 1: bounds and polynomial are made by the first call that takes S^-1/2 (and fails as */
                             /* wisp_overlap_create says, if they can't be). WISP_EIG_INVERT with factors takes none */
    int64_t cache_budget;    /* as in wisp_mpk_opts */
} wisp_overlap_opts;

typedef struct {
    wisp_bounds bounds; /* of S; zero where they were not made yet */
    int64_t terms;    /* of the polynomial: terms - 1 products with S each time; a product with C has two times that; */
                      /* 0: it was not made yet, and the error is 0 */
    double error;     /* the largest |E^-1/2 - polynomial| that was met on the bounds, over the largest E^-1/2 */
    int64_t beyond;   /* products that met eigenvalues of S beyond the bounds: they fail with WISP_ERR_BOUNDS, and a */
                      /* solver that was given C maybe with another status */
    double rounding;  /* of the polynomial's terms, over the largest E^-1/2, at most about */
    double condition; /* of S: the upper bound over the lower one; by factors, about; 0: not known yet */
} wisp_overlap_info;

/* Finds the bounds of S, and the polynomial. S must live as long as the result, opts may be NULL. WISP_ERR_HERMITIAN
   names an entry; WISP_ERR_NUMERIC: S is not positive definite, as far as its bounds tell, or as in wisp_bounds_find;
   WISP_ERR_ARG: opts are out of range, or the tolerance takes more terms than allowed; WISP_ERR_MISMATCH: S is not
   square; WISP_ERR_UNSUPPORTED: it is an operator. */
WISP_SIZED wisp_status wisp_overlap_create(wisp_overlap **overlap, const wisp_mat *S, const wisp_overlap_opts *opts);
WISP_SIZED void wisp_overlap_get_info(const wisp_overlap *overlap, wisp_overlap_info *info);
/* NULL is allowed. Not before the matrices that were made with it. */
WISP_API void wisp_overlap_free(wisp_overlap *overlap);

/* *C becomes S^-1/2 A S^-1/2, an operator on the map of both, which must be the same (wisp_mat_opts.map;
   WISP_ERR_MISMATCH). A is Hermitian, or an operator that is taken for that; it, and overlap, must live as long as C.
   Products hold three blocks like theirs. C has the type of A, or, if S alone is complex, that with complex numbers.
   wisp_eig knows it: WISP_EIG_INVERT factors A - target S. With opts.later, that method by name, and factors of its
   own, it makes no S^-1/2, so that any S will do that they show to be positive definite: the pairs are those of the
   pencil then (wisp_eigen.of_pencil), and so is the start. */
WISP_API wisp_status wisp_overlap_matrix(wisp_mat **C, wisp_overlap *overlap, const wisp_mat *A);
/* y = S^-1/2 x: from eigenvectors of C to those of A x = lambda S x, with x^H S x = 1 for those of length 1. Blocks on
   S's map, of one type and width; y may be x. WISP_ERR_MISMATCH: they are not; WISP_ERR_BOUNDS: S has eigenvalues
   beyond bounds that were given. */
WISP_API wisp_status wisp_overlap_apply(wisp_overlap *overlap, wisp_blk *y, const wisp_blk *x);
/* How good eigenvectors x of A x = lambda S x are, columns of X with x^H S x = 1, from A and S themselves:
   residual[width] becomes |S^-1/2 (A x - lambda S x)|, which |C y - lambda y| would be; so far from lambda at most lies
   an eigenvalue. *orthogonality, which may be NULL: the largest |x_i^H S x_j - delta_ij|. X is not changed. Three
   blocks of up to 8 columns are held, and those of a product. WISP_ERR_MISMATCH: A or X is on another map. */
WISP_API wisp_status wisp_overlap_residuals(wisp_overlap *overlap, const wisp_mat *A, const wisp_scalar *value,
                                            wisp_blk *X, double *residual, double *orthogonality);
/* By what those residuals are divided, to be told by a tolerance, where C's eigenvalues are within a halfwidth of their
   middle: by the halfwidth; or by more, where rounding of vectors of this type is more than the tolerance allows
   (largest: the largest |eigenvalue|, by which rounding goes, and which is the most that is returned beside the
   halfwidth). 0: overlap is NULL. */
WISP_API double wisp_overlap_unit(const wisp_overlap *overlap, wisp_type type, double halfwidth, double largest,
                                  double tolerance);

#ifdef __cplusplus
}
#endif

#endif
