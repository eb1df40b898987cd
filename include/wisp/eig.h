/* Eigenpairs A v = lambda v: all in an interval, those nearest to a number, or those at an end of the spectrum. Part of
 * wisp.h, which says what holds for all calls, threads among it.
 *
 * Pieper et al. 2016 is J. Comput. Phys. 325, 226, "High-performance implementation of Chebyshev filter diagonalization
 * for interior eigenvalue computations". Stewart 2002 is SIAM J. Matrix Anal. Appl. 23, 601, "A Krylov-Schur algorithm
 * for large eigenproblems". */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_EIG_H
#define WISP_EIG_H

#include "solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CHEBFD: Chebyshev filter diagonalization (Pieper et al. 2016), for INTERVAL and NEAREST, Hermitian matrices. LANCZOS:
   block Lanczos with thick restarts, for SMALLEST, LARGEST and LARGEST_REAL, Hermitian matrices. KRYLOV_SCHUR:
   Krylov-Schur (Stewart 2002), for the same questions, any matrix; a Hermitian one goes to LANCZOS; SMALLEST of another
   one is never complete by it. DENSE: all eigenvalues of a matrix of at most 20000 rows by LAPACK; INTERVAL wants a
   Hermitian one. INVERT: for NEAREST, the same Krylov methods with (A - target I)^-1, by opts.invert or by factors of
   MUMPS (Amestoy et al. 2001, SIAM J. Matrix Anal. Appl. 23, 15; wisp_features: "mumps"), which need a stored matrix
   and one rank (of a matrix of wisp_overlap_matrix: A and S; A - target S is factored); the pairs are checked with A
   itself. Those of a Hermitian matrix are proven complete by Sylvester's law of inertia, with two more factorizations
   or opts.below; of another one they are never complete. What MUMPS holds, by its own estimate and then by its word,
   counts among the context's memory; a call that would take more than opts.bytes or the context's limit is refused
   before it factors (WISP_ERR_NOMEM). It works on the host, in one thread. DEFAULT: INVERT with opts.invert, and for
   NEAREST of a matrix that is not Hermitian; else CHEBFD, LANCZOS or KRYLOV_SCHUR, whichever takes the question first
   in this order. Where CHEBFD would, but the question is NEAREST, and INVERT is to be had on the CPU, it is that one
   that takes less by the model of docs/solvers.md, as far as memory allows; filter_type, search, row_bytes and a kept
   state of CHEBFD keep that one. But for at most 3000 rows, and where `bytes` allows it, DENSE where it takes less, by
   the plan of CHEBFD, or once another method has taken as long; and for SMALLEST or NEAREST of a matrix that is not
   Hermitian. An operator is taken as Hermitian, unless the method is KRYLOV_SCHUR or the question LARGEST_REAL. A named
   method changes to DENSE by itself: CHEBFD for at most 3000 rows, where the search space would have half of them or
   more; LANCZOS, KRYLOV_SCHUR and INVERT, where the rows are hardly more than their columns. */
typedef enum {
    WISP_EIG_DEFAULT,
    WISP_CHEBFD,
    WISP_LANCZOS,
    WISP_KRYLOV_SCHUR,
    WISP_EIG_DENSE,
    WISP_EIG_INVERT
} wisp_eig_method;
/* INTERVAL: all eigenvalues in [low, high], and those outside by less than twice their own residual and four rounding
   units of themselves, for these may lie inside (in single precision that is 5e-7 of them: where it is more than a
   tenth of the interval, the log has a warning); a residual also has to be small beside the interval (CHEBFD: a
   twentieth at most, or 256 rounding units of the largest |lambda|), whatever the tolerance is. NEAREST: `count`
   eigenvalues nearest to `target`, likewise (or, with `target_im`, to a complex number). SMALLEST, LARGEST: at the
   lower and upper end of a Hermitian matrix's spectrum; of another matrix those of smallest and largest absolute value.
   LARGEST_REAL: those of largest real part. If the last one of `count` belongs to a multiplet (by residuals and
   rounding they may be equal; not Hermitian: they are within the tolerance), all of the multiplet are given: there may
   be more than `count`. */
typedef enum {
    WISP_EIG_SMALLEST,
    WISP_EIG_LARGEST,
    WISP_EIG_LARGEST_REAL,
    WISP_EIG_INTERVAL,
    WISP_EIG_NEAREST
} wisp_eig_which;

/* What "complete" rests on. NONE: the result is not. CHECKS: searches and densities that found nothing else
   (docs/solvers.md), which are likely to be right; any of a multiplet that has the target in it needs no more than
   residuals. INERTIA: the number of eigenvalues between two numbers, by Sylvester's law. ALL: all eigenvalues were
   computed. */
typedef enum { WISP_PROOF_NONE, WISP_PROOF_CHECKS, WISP_PROOF_INERTIA, WISP_PROOF_ALL } wisp_eig_proof;

/* Called after each round of filtering and each restart, on every rank, from the calling thread; DENSE does not call
   it. found: pairs that have converged. wanted: how many are expected (CHEBFD: by the density of states). residual:
   CHEBFD: the largest one in the interval that has not converged, 0 if all have; else that of the next pair. A result
   other than 0 ends the call (WISP_ERR_CANCELLED). */
typedef int (*wisp_eig_fn)(void *arg, int round, int found, double wanted, double residual);
/* *below becomes how many eigenvalues A has below this number, those of all ranks: for a Hermitian A as many as pivots
   of L D L^H = A - shift I are negative (Sylvester's law). On every rank; anything but WISP_OK ends the call. */
typedef wisp_status (*wisp_below_fn)(void *arg, double shift, int64_t *below);

typedef struct {
    wisp_eig_which which;
    wisp_eig_method method;
    double low, high; /* INTERVAL */
    double target;    /* NEAREST: its real part, and see target_im */
    int count;        /* all but INTERVAL: how many; 0: 1 */
    int search;       /* columns of the search space to begin with; 0: chosen. LANCZOS, KRYLOV_SCHUR: at least */
                      /* count + 2 block + 1 are taken */
    int block;        /* LANCZOS, KRYLOV_SCHUR: columns that are multiplied at once; 0: chosen */
    /* 0, or at least 16 rounding units: of |A v - lambda v| for |v| = 1, over the halfwidth of the spectrum. Residuals
       of 16 rounding units of the largest |lambda| are small enough at any rate; if wisp_overlap_matrix made A, and it
       has one value, those that rounding of S^-1/2 leaves, up to the tolerance times that |lambda|. Not Hermitian: over
       the largest of |lambda|, |A| times the tolerance, so that an eigenvalue 0 is reached, too, and 16 rounding units
       of |A| over the tolerance, which are what rounding alone may leave. |A| is the length of the longest product of
       the call; DENSE: the Frobenius norm. 0: 1e-8, 1e-4 in single precision */
    double tolerance;
    int64_t max_rounds; /* CHEBFD: rounds of filtering, 0: 30. LANCZOS, KRYLOV_SCHUR: restarts, 0: 10000 */
    uint64_t seed;      /* of the random start */
    wisp_type type;     /* of the vectors. DEFAULT: the matrix's; as for any product a real matrix also takes complex */
                        /* blocks, a single-precision one double ones */
    wisp_type filter_type; /* CHEBFD: of the filter's products. Only the precision counts: single (then vectors of */
                           /* double precision lose no digits; it is double where the matrix is an operator, half */
                           /* stored or out of range, for degrees above 2000, and where single precision turns out */
                           /* not to do); DEFAULT: chosen, by time */
    int64_t bytes; /* CHEBFD: a smaller search space is taken where that of least work would hold more beside A, */
                   /* if one is large enough. DEFAULT: no DENSE, by cost, that would hold more. 0: no limit */
    wisp_bounds_opts bounds; /* of the spectrum of a Hermitian matrix; zero: found by Lanczos */
    const wisp_blk
        *start;          /* vectors to begin with, of an earlier call; may be NULL. On A's map, of the vectors' type */
    wisp_eig_fn observe; /* may be NULL */
    void *observe_arg;   /* passed to observe() */
    /* See state.h. CHEBFD offers its state between some products of the density of states and of the filter; LANCZOS
       and KRYLOV_SCHUR before each block that the space takes in, and between some products of the search for what is
       missing; DENSE has none. In the end each method offers its result, as a whole state (after WISP_ERR_ITERATIONS
       it does not: a call with more rounds goes on from the state before). A copy takes about as many columns as the
       search space has, the locked ones beside it, and three blocks; CHEBFD: 16 columns or one block more during the
       search for what is missing. In the call that goes on, `max_rounds` may be another one; `bytes` is that of the
       first call. */
    wisp_offer_fn offer;  /* may be NULL */
    void *offer_arg;      /* passed to offer() */
    wisp_state *resume;   /* a kept state, from which the call goes on; NULL: it begins */
    double tolerance_abs; /* in place of `tolerance`: of |A v - lambda v| itself; 0: not given. Not below 16 rounding */
                          /* units of the largest |lambda|, if A is Hermitian */
    int any; /* all but INTERVAL: 1: where the last one of `count` belongs to a multiplet, any of that do. Then no */
             /* more than `count` are given (but both of a conjugate pair), and "complete" means that no other */
             /* eigenvalue comes before the last one that is given, by more than twice the tolerance */
    int row_bytes; /* CHEBFD: of a row of the blocks that are filtered, and of those of the density of states, unless */
                   /* it has fewer columns than that; 0: chosen, by a model of time. Bits hang on it, so that a call */
                   /* with the same bits on another machine is given that of wisp_eigen */
    /* INVERT: y = (A - target I)^-1 x, of blocks of up to 64 columns, as wisp_operator has its products: on A's map,
       each rank its local rows, of the vectors' type; NULL: by MUMPS. A random vector is tried first
       (WISP_ERR_CALLBACK: it is no such inverse). Errors of it cost restarts, and no pair is given for them. Where the
       matrix was made by wisp_overlap_matrix: (A - target S)^-1 of the A and S there, and below() counts for these. */
    wisp_apply_fn invert;
    wisp_below_fn below; /* with `invert`; NULL: nothing proves then that no pair is missing */
    void *invert_arg;    /* passed to invert() and below() */
    /* NEAREST: the imaginary part of the target, for a matrix that is not Hermitian (of a Hermitian one:
       WISP_ERR_HERMITIAN); an operator is taken for not Hermitian. If it is not 0, vectors are complex: `type` says
       their precision alone, that of `invert`, too. Of a conjugate pair the nearer one may be given alone then. */
    double target_im;
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
    double low, high;       /* CHEBFD: the interval that was searched, within the bounds. DENSE: INTERVAL's. Else 0 */
    double orthogonality;   /* the largest |<v_i, v_j> - delta_ij|; NaN for a matrix that is not Hermitian */
    wisp_bounds bounds;     /* of the spectrum; zero where none were needed */
    wisp_eig_method method; /* that was used */
    int search, block;      /* columns of the search space at the end, and of the blocks that are multiplied */
    int rounds;             /* of filtering, or restarts */
    int64_t degree;         /* CHEBFD: products that one column took in the first round. LANCZOS: the degree of its */
                            /* polynomial of A at the end, 1 if it took none. Else 0 */
    int64_t products;       /* products of A with one vector, but for those that find the bounds */
    double flops;           /* of the whole call */
    double seconds;         /* of the whole call; and what is of it: */
    double bounds_seconds, dos_seconds, filter_seconds; /* filter: LANCZOS, KRYLOV_SCHUR: the products */
    double ortho_seconds, ritz_seconds, check_seconds;  /* check: of the search for what is missing */
    wisp_type filter_type;                              /* CHEBFD: of the first round's products */
    wisp_filter filter;                                 /* CHEBFD: of the first round */
    wisp_moments *moments;                              /* CHEBFD: of the density of states; NULL: none */
    int at_least;      /* eigenvalues up to the last one that is given, and all equal to it, as far as they were met: */
                       /* more than `found` where `any` leaves some out. DENSE: all there are */
    int sensitive;     /* values whose error may be far larger than the tolerance: `condition` times the residual, or */
                       /* times what rounding leaves, is more than ten times what the tolerance allows */
    double *condition; /* [found] 1 / |<y, x>|, y and x the left and the right eigenvector of length 1, as far as the */
                       /* search space shows it: so many times as far as the matrix a value may move. NULL: Hermitian */
    int row_bytes;     /* CHEBFD, also where it has gone over to DENSE: as in wisp_eig_opts; else 0 */
    int balanced;      /* DENSE: the values, and their conditions, are those of D^-1 A D, D of powers of two from 2^0 */
                       /* down to 2^-balanced, which rounding moves less (Osborne, J. ACM 7, 338). 0: of A */
    wisp_eig_proof proof; /* what "complete" rests on */
    int factored;         /* INVERT: factorizations that were made; 0: by opts.invert */
    int of_pencil; /* 1: of a matrix by wisp_overlap_matrix, with wisp_overlap_opts.later: vectors are x of A x = */
                   /* lambda S x, orthonormal by S, and residuals |S^-1/2 (A x - lambda S x)| */
    int reserved;  /* 0: room for a field that comes later */
} wisp_eigen;

/* Computes eigenpairs of a square matrix. opts may be NULL: the smallest one. *e need not be initialised; the caller
   frees it with wisp_eigen_free, also after a failure. A is not changed.
   WISP_OK: all that were asked for were found, as far as the checks tell (e->complete is 1).
   WISP_ERR_INCOMPLETE: the pairs in *e are right, but others may be missing; the message says why.
   WISP_ERR_ITERATIONS: opts->max_rounds were not enough; WISP_ERR_STAGNATION: residuals no longer fall;
   WISP_ERR_CANCELLED: the call was cancelled, or observe() or offer() ended it. In these cases *e has what converged
   (of a call that was cancelled on several ranks: nothing). WISP_ERR_UNSUPPORTED: the method does not answer this
   question; DENSE for more than 20000 rows; CHEBFD where too many eigenvalues lie in or around the interval; or LAPACK
   could not be loaded. WISP_ERR_BREAKDOWN: vectors did not become orthonormal; *e has no pairs. WISP_ERR_HERMITIAN,
   WISP_ERR_NUMERIC, WISP_ERR_BOUNDS: as for wisp_kpm. WISP_ERR_MISMATCH: A is not square, or the start does not fit. */
WISP_SIZED wisp_status wisp_eig(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts);
/* Frees arrays and vectors of e, and empties it. e may be NULL. */
WISP_SIZED void wisp_eigen_free(wisp_eigen *e);

/* What wisp_eig will choose. rounds, filter_type, degree, low, high: CHEBFD, else 0; expected, expected_error: CHEBFD,
   else NaN. They are also there where CHEBFD has gone over to DENSE. */
typedef struct {
    wisp_eig_method method;
    int search, block, rounds; /* as in wisp_eigen; rounds: at most */
    wisp_type filter_type;
    int64_t degree;
    double expected, expected_error;
    double low, high;
    int64_t factor_bytes; /* INVERT: of MUMPS' factors and what makes them, in bytes_most, too; else 0 */
    double factor_flops;  /* of one factorization; there are three or a few more */
    /* DEFAULT, NEAREST: what CHEBFD (where INVERT is taken: at least) and INVERT take, in flops of dense kernels on all
       threads; the lesser one is taken. NaN: not known, or not to be had */
    double filter_work, invert_work;
} wisp_eig_choice;
/* *plan, and *choice (choice may be NULL), become what wisp_eig will probably take, and choose. For CHEBFD this call
   computes the bounds and the density of states, which count, and times a few products; seconds of other methods are
   not known. Nor are products of LANCZOS and KRYLOV_SCHUR, whose number of restarts is not; they hold two columns more
   than bytes_most for each further one of a multiplet that is to be given. The start is not counted. */
WISP_SIZED wisp_status wisp_eig_plan(wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *A,
                                     const wisp_eig_opts *opts);
/* Singular triplets A v = s u, A^H u = s v, |u| = |v| = 1, of a matrix A of any shape. B is the Hermitian matrix [[0,
   A], [A^H, 0]] of wisp_src_augmented, of a source that keeps the numbers of its rows (not of wisp_src_partition), and
   `rows` how many rows A has. Eigenpairs of B by wisp_eig give two spaces, and these the triplets (Golub and Van Loan,
   Matrix Computations, section 8.6): no condition number is squared.
   The options are those of wisp_eig, but: which is LARGEST or SMALLEST, of the min(rows, columns) singular values, or
   INTERVAL with low > 0; exactly `count` are given (`any`); a method is chosen, or CHEBFD, LANCZOS, DENSE or INVERT as
   the question about B has it. SMALLEST (nearest to 0) may set the |rows - columns| zeros of B apart by a number on the
   diagonal (Bjorck 1967, BIT 7, 257); or, by LANCZOS, and first by default where they are more than 64 and B has more
   than 3000 rows, it takes the values of A^H A or A A^H, the smaller one, where those below about 16 rounding units
   over the tolerance, of the largest, can't be told from 0 (STAGNATION). By default what proves no answer gives way;
   the result's `method` tells to which (LANCZOS: A^H A). `start` is of B, too. A tolerance is one of the larger of |A v
   - s u| and |A^H u - s v|, over the largest singular value (what it is at least, within some percent), or absolute; 64
   rounding units of that are small enough at any rate. *e, to be freed by wisp_eigen_free, becomes: found,
   value (real, ascending) and residual, of triplets that were checked as they are given, in `vectors`, whose columns on
   B's map have u in A's rows and v behind them; complete: none is missing, as wisp_eig tells it of B; orthogonality:
   the larger one of the u and of the v; expected: of INTERVAL. All else is of the eigenvalues of B. Statuses are those
   of wisp_eig; STAGNATION, too: a triplet was within the tolerance as eigenpair of B, but not as it is checked here.
   WISP_ERR_ARG: count is above min(rows, columns), or B is not of this form with so many rows of A. */
WISP_SIZED wisp_status wisp_svd(wisp_eigen *e, const wisp_mat *B, int64_t rows, const wisp_eig_opts *opts);
/* As wisp_eig_plan. */
WISP_SIZED wisp_status wisp_svd_plan(wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *B, int64_t rows,
                                     const wisp_eig_opts *opts);
/* value[n] becomes p at energy[n]. */
WISP_API void wisp_filter_eval(const wisp_filter *filter, int64_t n, const double *energy, double *value);

/* Gives wisp_eig the program's LAPACK for its small dense problems, in all contexts of the process. find(name) returns
   the address of the function of that name, in lower case and without an underscore, such as "zheevd", or NULL: then a
   call that needs it is WISP_ERR_UNSUPPORTED, and the message names the function. They are LAPACK's of Fortran: all
   arguments by address, integers of 32 bits, and the lengths of strings, as size_t, behind the others (functions of C
   that lack these, such as those of scipy's cython_lapack, do as well). Asked for are, with d for real and z for
   complex matrices: dsyevd, zheevd; potrf, trtri, gees, trsen, trevc; gesdd, in whose place the
   library has a slow method of its own. find is also asked for openblas_get_num_threads
   and openblas_set_num_threads; without them the last bits may hang on the threads that LAPACK has. It may be called by
   several threads at once, and must not call wisp.
   NULL, as at first: the library looks for a LAPACK of the machine. This call may be made at any time by any thread; it
   waits for LAPACK calls that are under way, and when it returns nothing of the former LAPACK is called any more. */
typedef void *(*wisp_find_fn)(const char *name);
WISP_API void wisp_set_lapack(wisp_find_fn find);

#ifdef __cplusplus
}
#endif
#endif
