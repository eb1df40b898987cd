/* Linear systems A x = b, by Krylov methods. Part of wisp.h, which says what holds for all calls, threads among it.
 *
 * Rupp et al. 2016 is SIAM J. Sci. Comput. 38, C412, "Pipelined iterative solvers with kernel fusion for graphics
 * processing units". */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_SOLVE_H
#define WISP_SOLVE_H

#include "solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CG: Hermitian positive definite matrices. MINRES: Hermitian ones. BICGSTAB, GMRES, IDR: any. DEFAULT: CG for a
   Hermitian matrix, else GMRES; an operator can't be asked, and takes GMRES. MINRES goes on where CG breaks down or
   stagnates; and where the matrix is not positive definite, if CG was not named; and where BICGSTAB breaks down or
   stagnates with a Hermitian matrix, without the preconditioner. Hermitian is up to rounding: 1e-10, single 1e-6. */
/* GMRES: GMRES(m), m = opts->restart (Saad and Schultz 1986, SIAM J. Sci. Stat. Comput. 7, 856), which makes up to four
   vectors of its basis at once (Bai, Hu and Reichel 1994, IMA J. Numer. Anal. 14, 563). At the end up to three products
   may have been made for iterations that turn out not to be needed. */
/* IDR: IDR(s) with biorthogonal vectors (van Gijzen and Sonneveld 2011, ACM Trans. Math. Softw. 38, article 5), of
   s = opts->shadow random shadow vectors. It takes as many vectors however long it runs, and about the products of a
   GMRES that never restarts, the more so the larger s is. */
/* LSMR: a matrix of any shape, of which it takes A^H as well (opts->adjoint): x makes |b - A x|^2 + damp^2 |x|^2 least
   (Fong and Saunders 2011, SIAM J. Sci. Comput. 33, 2950). DEFAULT takes it where A is not square. It has one variant,
   PIPELINED, and no preconditioner. */
typedef enum { WISP_METHOD_DEFAULT, WISP_CG, WISP_BICGSTAB, WISP_GMRES, WISP_MINRES, WISP_LSMR, WISP_IDR } wisp_method;
/* CLASSICAL: the method as textbooks have it, one op after the other (algorithms 1, 3 and 5 of Rupp et al. 2016).
   PIPELINED: rearranged so that updates and dots share few passes and reductions (algorithms 2, 4 and 6).
   PREDICT: for CG only, without a preconditioner. Pipelined; the norm of the next residual is first predicted, to
   choose the direction, and then computed (PR-CG: Chen and Carson 2020, SIAM J. Matrix Anal. Appl. 41, 185). As
   accurate in the end as CLASSICAL.
   HIDDEN: for CG only. The one reduction is on its way while the next product, and the preconditioner, are computed
   (Ghysels and Vanroose 2014, Parallel Computing 40, 224). It takes more memory and more traffic of vectors than the
   others: for many processes, which wait for reductions. On a single one it gains nothing. */
typedef enum { WISP_VARIANT_DEFAULT, WISP_PIPELINED, WISP_CLASSICAL, WISP_PREDICT, WISP_HIDDEN } wisp_variant;
/* M^-1 approximates the inverse of A. BICGSTAB, GMRES and IDR solve A M^-1 y = b, x = M^-1 y: their residual is that of
   A x = b (opts->side: or M^-1 A x = M^-1 b). For CG and MINRES M^-1 must be Hermitian positive definite.
   JACOBI: the diagonal. BLOCK_JACOBI: square blocks on the diagonal, in the natural order; none reaches over the rows
   of two ranks. One that opts->null leaves singular, such as a whole part of a graph, has an inverse all the same.
   CHEBYSHEV, NEUMANN: polynomials of A (Chebyshev iteration for a spectrum on the positive real axis; the truncated
   Neumann series). They go by opts->bounds, which are found for a Hermitian matrix alone; NEUMANN goes by the row sums
   of another stored one. If only the upper bound is above 0, CHEBYSHEV takes a 30th of it for the lower one:
   eigenvalues below that are damped less, but the polynomial is positive at all up to the upper bound, so that CG
   remains valid. APPLY: a function of the user's. AMG: a V-cycle of algebraic multigrid by HYPRE's BoomerAMG (Henson
   and Yang 2002, Appl. Numer. Math. 41, 155), of real matrices, where the build has it (wisp_features: "hypre").
   Definite if A is so, it takes CG. Its library is opened by the first call that takes it, and starts MPI where the
   program has not; several ranks have to be processes of MPI. Its memory is HYPRE's, which no limit of the context's
   holds, and of which plans have an estimate, no bound. It works on the host, in one thread of each process; contexts
   take turns. One of several processes is refused (UNSUPPORTED) while a context of others has its multigrid. While its
   levels are made the call can't be cancelled.
   ILU, IC: incomplete factors L U, L D L^H with the pattern of A (ILU(0); IC(0): Meijerink and van der Vorst 1977,
   Math. Comp. 31, 148), IC of a Hermitian A, of the rows and columns that a rank has, in the natural order. They work
   on the host, with the same bits for any number of threads. For CG and MINRES both are L D L^H. Where a pivot is not
   positive, or next to 0, they are made of a matrix with a larger diagonal (Manteuffel 1980, Math. Comp. 34, 473), of
   which the log (WARN) and wisp_solution.shift tell. Rows too small for double precision to have their factors, beside
   the largest ones, are refused (NUMERIC). */
typedef enum {
    WISP_PRECOND_NONE,
    WISP_JACOBI,
    WISP_BLOCK_JACOBI,
    WISP_CHEBYSHEV,
    WISP_NEUMANN,
    WISP_PRECOND_APPLY,
    WISP_AMG,
    WISP_ILU,
    WISP_IC
} wisp_precond;

/* Of BICGSTAB, GMRES and IDR. RIGHT, the DEFAULT: as above. LEFT: they solve M^-1 A x = M^-1 b, so that GMRES makes
   |M^-1 (b - A x)| least. Columns converge by |b - A x| all the same, and where they don't the best x is that of least
   |b - A x|, which may be the guess while |M^-1 (b - A x)| has fallen. Between residuals that are computed from x, the
   recurrence has an estimate of it: |M^-1 (b - A x)|, times the ratio of both norms when they were computed last. CG
   and MINRES take M^-1 on both sides alike: for them, and without a preconditioner, only DEFAULT is allowed. */
typedef enum { WISP_SIDE_DEFAULT, WISP_SIDE_RIGHT, WISP_SIDE_LEFT } wisp_side;
/* The method that is taken where this one and this side are asked for; DEFAULT: none yet, or it has no such choice. */
WISP_API wisp_method wisp_method_of_side(wisp_method method, wisp_side side);

/* Called after each iteration with the largest relative residual of all columns, by the method's recurrence. Anything
   but 0 ends the call (WISP_ERR_CANCELLED). On every rank, from the calling thread. */
typedef int (*wisp_solve_fn)(void *arg, int64_t iteration, double residual);

typedef struct {
    wisp_method method;
    wisp_variant variant; /* DEFAULT: PREDICT for CG without a preconditioner, else PIPELINED */
    wisp_precond precond;
    int restart;            /* m of GMRES(m), 1 to 500; 0: 30 */
    double tolerance;       /* of |b_j - A x_j| / |b_j| for each column; 0: 1e-8, 1e-4 in single precision */
    int64_t max_iterations; /* at most so many iterations; BICGSTAB takes two products in each. 0: 10000, or 10 times */
                            /* the rows if that is less, and at least 100 */
    int guess;              /* 1: x holds an initial guess (0 takes the place of one so large that rounding of A x is */
                            /* more than b); 0: x begins as 0 */
    int block_rows;         /* BLOCK_JACOBI: rows of a block; 0: 4 */
    int degree;             /* CHEBYSHEV, NEUMANN: degree of the polynomial, the products with A that it takes; 0: 4 */
    int shadow;             /* s of IDR(s), 1 to 64; 0: 4. It keeps 3 s + 2 vectors */
    wisp_bounds_opts bounds; /* CHEBYSHEV, NEUMANN: of the spectrum of A. Zero: found by Lanczos, if A is Hermitian */
    wisp_apply_fn apply;     /* APPLY: y = M^-1 x, as in wisp_operator */
    void *apply_arg;         /* passed to apply() */
    wisp_solve_fn observe;   /* may be NULL */
    void *observe_arg;       /* passed to observe() */
    wisp_offer_fn offer;     /* see state.h; after each iteration. May be NULL */
    void *offer_arg;         /* passed to offer() */
    wisp_state *resume;      /* a kept state, from which the call goes on; NULL: it begins */
    double tolerance_abs;    /* of |b_j - A x_j| itself: a column has converged where it is within this, or within */
                             /* `tolerance`, which is 0 then unless it is given. 0: by that alone */
    const wisp_blk *null;    /* vectors of which A makes 0, such as the constant one of a graph's Laplacian: see */
                             /* wisp_solve. On A's map, of b's type; NULL: none */
    const wisp_mat *adjoint; /* LSMR: A^H, as wisp_mat_adjoint makes it: on A's maps, columns for rows */
    double damp;             /* LSMR: of |x|, 0 or more, in the units of A */
    wisp_side side;          /* of M^-1. Where one is named, method DEFAULT is GMRES */
    int reserved;            /* 0 */
} wisp_solve_opts;

/* The arrays belong to the struct, until wisp_solution_free; they do not belong to a context, and may outlive it. */
typedef struct {
    int columns;
    int converged;      /* 1: the residuals of all columns, computed anew from x, are within the tolerance; else 0 */
    int64_t iterations; /* of the column that took most */
    double residual;    /* the largest |b_j - A x_j| / |b_j|, computed from x; NaN if it is not known */
    double *residuals;  /* [columns] the same of each; 0 where b_j = 0 */
    int64_t *iterations_of; /* [columns] */
    wisp_status *status;    /* [columns] WISP_OK: converged; else why not */
    double *history;        /* [iterations + 1] the largest residual by the recurrence, from the start on */
    wisp_method method;     /* those that were used */
    wisp_variant variant;
    wisp_precond precond;
    int restart;
    int64_t replacements; /* times that residuals were computed anew from x, and the method went on from there */
    int64_t passes, products, reductions; /* of all but the setup: see wisp_counts */
    double seconds, setup_seconds;        /* of the iterations; of what comes before (preconditioner, bounds) */
    double bytes; /* least traffic of an iteration: each array once per pass and direction; without what AMG or a */
    /* function of the user's moves as the preconditioner; that of block Jacobi, ILU and IC is estimated */
    double
        wanted; /* the least |b_j - A x_j| / |b_j| that a column had to come to, by both tolerances; 0 where the call */
                /* did not begin */
    double shift; /* ILU, IC: the diagonal was made larger by this times itself, or, of an ILU that is not of CG or */
                  /* MINRES, times the largest entry of its row; 0: it was not */
    double null_part;  /* opts.null: the largest part of a b_j that lies in its span and was left out, over |b_j| */
    double optimality; /* LSMR: the largest of these, of columns whose residuals are above what was wanted of them; */
                       /* NaN if one is not known. Of other methods 0, and NULL */
    double
        *optimalities; /* [columns] LSMR: |A^H r| / (|A| |r|) with r = b_j - A x_j, computed from x; 0 where r = 0. */
                       /* With opts->damp of the system (A; damp) x = (b; 0) */
    double norm;       /* LSMR: that |A|, with damp: the most that A is known to make of a vector of length 1, so */
                       /* that its norm is at least this */
    int shadow;        /* IDR: its s; of other methods 0 */
    wisp_side side;    /* of M^-1; CG and MINRES, and where there is none: DEFAULT */
    double *wanted_of; /* [columns] as wanted, of each column; 0 where b_j = 0 */
} wisp_solution;

/* Solves A x_j = b_j for each column j of b at once; x and b are blocks of one width and type on A's map, which do not
   overlap. WISP_OK alone means that all columns converged: |b_j - A x_j| <= tolerance |b_j| (or tolerance_abs),
   computed from x itself at the end, not by a recurrence. Where b_j = 0, x_j = 0. Columns that have converged are
   frozen, and left out when that pays. With opts->null, of columns that are made orthonormal first, x is without any
   part in their span, and M^-1 makes none: of a consistent system it is the shortest solution. b is taken without its
   part there, which s->null_part tells and a warning of the log if it is more than the tolerance: so x makes
   |b - A x| least, and residuals are those of b without that part. (But where A^H does not make 0 of the vectors, which
   products with random vectors tell, b stays: then SINGULAR says where A does not reach it.) A column that is all in
   their span, up to 16 rounding units, is taken as 0. Their products with A are at most 1e-13 (single: 1e-6) of the
   largest entry, or of the product with a random vector, or it is WISP_ERR_ARG, as are columns that depend on others.
   opts may be NULL. *s need not be initialised; the caller frees it with
   wisp_solution_free, also after a failure; s may be NULL. A is not changed. With opts->resume x holds anything, and
   becomes what it would have become in the call whose state that is; A, b and all options that change the result must
   be as they were there, but for max_iterations. On MISMATCH, UNSUPPORTED, NUMERIC and HERMITIAN, and if the
   preconditioner can't be made (residuals are NaN), x is unchanged. On all others x is the best of those whose residual
   was computed (the guess, if nothing was better). WISP_ERR_MISMATCH: A is not square, and another method than LSMR is
   named, or the blocks do not fit, or opts->resume is of another call. WISP_ERR_UNSUPPORTED: their type does not go
   with A, or the preconditioner needs entries that an operator has not; or AMG is not in this build, or its library not
   on this machine, or A complex, or ranks are threads. WISP_ERR_NUMERIC: A, b or the guess holds a NaN or an infinity,
   or an operator makes one of b; or (x is what its type holds of it) a column of x has numbers too large or too small
   for its type. WISP_ERR_HERMITIAN: CG or MINRES was named, and A is not Hermitian (an operator is taken at the user's
   word). WISP_ERR_INDEFINITE: CG met a direction p with <p, A p> <= 0, or the preconditioner is not positive definite.
   WISP_ERR_BREAKDOWN: the method can't go on, whatever start it takes. WISP_ERR_STAGNATION: residuals computed from x
   no longer fall. WISP_ERR_SINGULAR: within rounding A x = b has no solution: b is not in the range of some singular
   matrix that rounding does not tell from A, and no x has a residual that is more than 1% less. A itself may be
   regular, but so ill-conditioned that numbers of its type do not show it. (Not said of an operator. What proves it
   takes at most 1000 steps, and 4 for each iteration of the column; where that is not enough, another status is said.)
   WISP_ERR_ITERATIONS: opts->max_iterations were not enough.
   WISP_ERR_CANCELLED: the call was cancelled, or observe() or offer() ended it.
   WISP_ERR_CALLBACK: the function of an operator or of the preconditioner failed.
   If columns end differently, the status is that of the first one that did not converge.
   With LSMR x is on A's column map and b on its row map, and A may have any shape. A column has converged, and its
   status is WISP_OK, where its residual is within the tolerance as above (with damp: |(b - A x; damp x)|), or where x
   makes it least: s->optimalities[j] <= opts->tolerance, or its default where only tolerance_abs is given. The history
   has what is nearer to its tolerance, in units of residuals. s->residuals[j] tells which. Without a guess x is the
   shortest of all such, up to the tolerance. WISP_ERR_SINGULAR is never said. WISP_ERR_UNSUPPORTED: offer or resume,
   where A is not square. WISP_ERR_ARG: opts->adjoint is NULL, or a preconditioner or opts->null is given. That
   opts->adjoint is A^H is the user's word: it is told of vectors of both, where rounding does not hide it, by
   WISP_ERR_ARG. */
WISP_SIZED wisp_status wisp_solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b,
                                  const wisp_solve_opts *opts);

/* A solver that is kept, for many right-hand sides of one matrix: what its calls need (the preconditioner, the vectors
   of the method) is made by the first one and goes on to the next. Each call ends in what wisp_solve would have made of
   the same x and b with these options, bit by bit. Between calls it holds what wisp_solve_plan tells as bytes at most.
   A call at a time. */
typedef struct wisp_solver wisp_solver;
/* For right-hand sides of this type (DEFAULT: the matrix's) and width. A must outlive the solver, and so must what
   opts points to; opts->guess counts for nothing, and opts->resume for the first call alone. Nothing is made here: it
   is of one rank alone. Statuses as of wisp_solve for such a matrix and such options: MISMATCH, UNSUPPORTED. */
WISP_SIZED wisp_status wisp_solver_create(wisp_solver **S, const wisp_mat *A, wisp_type type, int width,
                                          const wisp_solve_opts *opts);
/* As wisp_solve. guess: 1, x holds an initial guess, maybe the solution of a call before; 0: x begins as 0. A call that
   fails leaves the solver fit for others. WISP_ERR_MISMATCH also where x and b are not of the solver's type and width.
 */
WISP_SIZED wisp_status wisp_solver_solve(wisp_solver *S, wisp_solution *s, wisp_blk *x, const wisp_blk *b, int guess);
/* The matrix has other values than before (wisp_mat_update): the next call makes the preconditioner anew. Without this
   it goes on with that of the values before, which may be good enough: all else, and the residual in the end, is by the
   new ones. On all ranks. S may be NULL. */
WISP_API void wisp_solver_update(wisp_solver *S);
WISP_API void wisp_solver_free(wisp_solver *S);
/* Frees the arrays of s, and empties it. s may be NULL. */
WISP_SIZED void wisp_solution_free(wisp_solution *s);
/* *plan becomes what wisp_solve will take, for blocks of this type (DEFAULT: the matrix's) and width. A and step: as in
   wisp_mpk_plan, for these columns. How many iterations it takes is not known; traffic and time of one are those of CG
   if the method is DEFAULT, for A is not looked at. bytes_most counts the proof that there is no solution. Statuses as
   of wisp_solve for such options. */
WISP_SIZED wisp_status wisp_solve_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                       int width, const wisp_solve_opts *opts, const wisp_choice *step);

#ifdef __cplusplus
}
#endif
#endif
