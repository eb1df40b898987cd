/* Eigenpairs A v = lambda v: all in an interval, those nearest to a number, or those at an end of the spectrum. Part of
 * wisp.h, which says what holds for all calls, threads among it.
 *
 * Pieper et al. 2016 is J. Comput. Phys. 325, 226, "High-performance implementation of Chebyshev filter diagonalization
 * for interior eigenvalue computations". Stewart 2002 is SIAM J. Matrix Anal. Appl. 23, 601, "A Krylov-Schur algorithm
 * for large eigenproblems". */
#ifndef WISP_EIG_H
#define WISP_EIG_H

#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CHEBFD: Chebyshev filter diagonalization (Pieper et al. 2016), for INTERVAL and NEAREST, Hermitian matrices. LANCZOS:
   block Lanczos with thick restarts, for SMALLEST and LARGEST, Hermitian matrices. KRYLOV_SCHUR: Krylov-Schur (Stewart
   2002), for SMALLEST, LARGEST and LARGEST_REAL, any matrix. DENSE: all eigenvalues of a small Hermitian matrix by
   LAPACK. DEFAULT: DENSE for a Hermitian matrix of at most 400 rows; else CHEBFD, LANCZOS or KRYLOV_SCHUR, whichever
   takes the question first in this order. */
typedef enum { WISP_EIG_DEFAULT, WISP_CHEBFD, WISP_LANCZOS, WISP_KRYLOV_SCHUR, WISP_EIG_DENSE } wisp_eig_method;
/* INTERVAL: all eigenvalues in [low, high]. NEAREST: `count` eigenvalues nearest to `target`. SMALLEST, LARGEST: at the
   lower and upper end of a Hermitian matrix's spectrum; of another matrix those of smallest and largest absolute value.
   LARGEST_REAL: those of largest real part. If the last one of `count` belongs to a multiplet (its like within the
   tolerance), all of the multiplet are given: there may be more than `count`. */
typedef enum {
    WISP_EIG_SMALLEST,
    WISP_EIG_LARGEST,
    WISP_EIG_LARGEST_REAL,
    WISP_EIG_INTERVAL,
    WISP_EIG_NEAREST
} wisp_eig_which;

/* How far a call has come: `wanted` is how many pairs are expected, `found` how many have converged. Called after each
   round of filtering and after each restart, on every rank, from the calling thread. Anything but 0 ends the call
   (WISP_ERR_CANCELLED). */
typedef int (*wisp_eig_fn)(void *arg, int round, int found, double wanted, double residual);

typedef struct {
    wisp_eig_which which;
    wisp_eig_method method;
    double low, high; /* INTERVAL */
    double target;    /* NEAREST */
    int count;        /* all but INTERVAL: how many; 0: 1 */
    int search;       /* columns of the search space; 0: chosen */
    int block;        /* LANCZOS, KRYLOV_SCHUR: columns that are multiplied at once; 0: chosen */
    double tolerance; /* of |A v - lambda v| for |v| = 1, over the halfwidth of the spectrum (KRYLOV_SCHUR of a */
                      /* matrix that is not Hermitian: over |lambda|). Residuals of 16 rounding units of the largest */
                      /* |lambda| are small enough at any rate. 0: 1e-8, 1e-4 in single precision */
    int64_t max_rounds; /* CHEBFD: rounds of filtering, 0: 30. LANCZOS, KRYLOV_SCHUR: restarts, 0: 10000 */
    uint64_t seed;      /* of the random start */
    wisp_type type;     /* of the vectors. DEFAULT: the matrix's; as for any product a real matrix also takes complex */
                        /* blocks, a single-precision one double ones */
    int reserved;       /* 0: room for a field that comes later */
    wisp_bounds bounds; /* of the spectrum of a Hermitian matrix; halfwidth 0: found */
    const wisp_blk
        *start;          /* vectors to begin with, of an earlier call; may be NULL. On A's map, of the vectors' type */
    wisp_eig_fn observe; /* may be NULL */
    void *observe_arg;   /* passed to observe() */
} wisp_eig_opts;

/* The filter of CHEBFD: p(E) = sum over k of c_k T_k(x), x = scale (E - center)^power + shift. */
typedef struct {
    int terms; /* 0: none was used */
    int power; /* 1, or 2: a polynomial of (A - center)^2, two products for each degree */
    double center, scale, shift;
    double *c; /* [terms]; NULL: T_(terms - 1) alone */
} wisp_filter;

/* The arrays and the block belong to the struct, until wisp_eigen_free. The arrays do not belong to a context. */
typedef struct {
    int found;          /* pairs within the tolerance, of those that were asked for */
    wisp_scalar *value; /* [found] ascending by their real parts, then their imaginary ones */
    double *residual;   /* [found] |A v - lambda v| as the tolerance has it, computed from the vectors */
    wisp_blk *vectors;  /* [found] columns, orthonormal for a Hermitian matrix, else of length 1; NULL: none. Of the */
                        /* type of the options; complex if that is real, but one of the values is not */
    int complete;    /* 1: all that were asked for were found, as far as the checks of docs/solvers.md tell; else 0 */
    double expected; /* CHEBFD: how many eigenvalues lie in [low, high], by the density of states; else NaN */
    double expected_error;  /* half of its 95% bar, with the states that lie within one resolution of either end */
    double low, high;       /* INTERVAL, NEAREST: that was searched. NEAREST: the values reach from end to end */
    double orthogonality;   /* the largest |<v_i, v_j> - delta_ij|; NaN for a matrix that is not Hermitian */
    wisp_bounds bounds;     /* of the spectrum; zero where none were needed */
    wisp_eig_method method; /* that was used */
    int search, block;      /* columns of the search space at the end, and of the blocks that are multiplied */
    int rounds;             /* of filtering, or restarts */
    int64_t degree;   /* CHEBFD: products with a vector that one column took in the first round. LANCZOS: with a */
                      /* polynomial of A, its degree in the end; else 1 */
    int64_t products; /* products of A with one vector, in all */
    double flops;     /* of the whole call */
    double seconds;   /* of the whole call; and what is of it: */
    double bounds_seconds, dos_seconds, filter_seconds; /* filter: LANCZOS, KRYLOV_SCHUR: the products */
    double ortho_seconds, ritz_seconds, check_seconds;  /* check: of the search for what is missing */
    wisp_filter filter;                                 /* CHEBFD: of the first round */
    wisp_moments *moments;                              /* CHEBFD: of the density of states; NULL: none */
} wisp_eigen;

/* Computes eigenpairs of a square matrix. opts may be NULL: the smallest one. *e need not be initialised; the caller
   frees it with wisp_eigen_free, also after a failure. A is not changed.
   WISP_OK: all that were asked for were found, as far as the checks tell (e->complete is 1).
   WISP_ERR_INCOMPLETE: the pairs in *e are right, but others may be missing; the message says why.
   WISP_ERR_ITERATIONS: opts->max_rounds were not enough; WISP_ERR_STAGNATION: residuals no longer fall;
   WISP_ERR_CANCELLED: the call was cancelled, or observe() ended it. In these cases *e has what converged (of a
   call that was cancelled on several ranks: nothing).
   WISP_ERR_UNSUPPORTED: the method does not go with the question or the matrix; or LAPACK could not be loaded.
   WISP_ERR_HERMITIAN, WISP_ERR_NUMERIC, WISP_ERR_BOUNDS: as for wisp_kpm. WISP_ERR_MISMATCH: A is not square, or the
   start does not fit. */
WISP_SIZED wisp_status wisp_eig(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts);
/* Frees arrays and vectors of e, and empties it. e may be NULL. */
WISP_SIZED void wisp_eigen_free(wisp_eigen *e);

/* What wisp_eig is expected to take. For CHEBFD the spectrum's bounds and the density of states are computed for it. */
typedef struct {
    wisp_eig_method method;
    int search, block, rounds;
    int64_t degree;
    int64_t products; /* products of A with one vector */
    int64_t bytes;    /* the most that is held beside A, and the start */
    double seconds;   /* by the model of time; NaN where it is not known (operators, restarts) */
    double expected, expected_error;
    double low, high;
} wisp_eig_cost;
WISP_SIZED wisp_status wisp_eig_plan(wisp_eig_cost *cost, const wisp_mat *A, const wisp_eig_opts *opts);
/* value[n] becomes p at energy[n]. */
WISP_API void wisp_filter_eval(const wisp_filter *filter, int64_t n, const double *energy, double *value);

#ifdef __cplusplus
}
#endif
#endif
