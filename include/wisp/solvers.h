/* The solvers: spectral bounds, the kernel polynomial method, time evolution. Part of wisp.h, which says what holds for
   all calls. */
#ifndef WISP_SOLVERS_H
#define WISP_SOLVERS_H

#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- spectral bounds ------------------------------------------------------------------------- */

typedef enum { WISP_BOUNDS_LANCZOS, WISP_BOUNDS_GERSHGORIN, WISP_BOUNDS_GIVEN } wisp_bounds_method;
typedef struct {
    double center, halfwidth;   /* the spectrum lies in center -+ halfwidth */
    double failure_probability; /* that it does not; 0 for Gershgorin, NaN when given by the user */
} wisp_bounds;
typedef struct {
    wisp_bounds_method method; /* not WISP_BOUNDS_GIVEN */
    uint64_t seed;
    /* Products of A with a vector that will follow; their number is taken to grow with the interval. Or the same for a
       halfwidth of 1, which counts if the first is 0. Both 0: 8192. */
    double sweeps, sweeps_per_halfwidth;
    int width;    /* of the blocks that will follow; no more columns are used here. 0: 4 */
    int reserved; /* 0: room for a field that comes later */
} wisp_bounds_opts;
/* Bounds of a Hermitian matrix from Lanczos runs with Gaussian starts, side by side as one block, whose error bound is
   that of Kuczynski and Wozniakowski (1992). The number of runs and steps is chosen so that the bounds and what follows
   take least time together; the chance of failure is always the same. Gershgorin's interval is taken where more steps
   would not give a narrower one. opts may be NULL. See docs/conventions.md. */
WISP_SIZED wisp_status wisp_bounds_find(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *opts);
/* Lanczos runs (columns) and steps at most for a matrix of which this is known, by opts->sweeps: the halfwidth is not
   known. 0, 0 for Gershgorin's. */
WISP_SIZED void wisp_bounds_plan(const wisp_mat_info *A, const wisp_bounds_opts *opts, int *columns, int *steps);

/* ---- kernel polynomial method ---------------------------------------------------------------- */

typedef enum { WISP_KPM_BLOCKED, WISP_KPM_FUSED, WISP_KPM_NAIVE } wisp_kpm_variant;
typedef enum { WISP_TRACE_RANDOM, WISP_TRACE_EXACT, WISP_TRACE_SITES } wisp_trace;

typedef struct {
    int64_t moments;      /* N: mu_0 .. mu_N-1; 0: 512 */
    int64_t vectors;      /* R random vectors; 0: 32 */
    int64_t first_vector; /* number of the first random vector, to add to an earlier run with its bounds */
    wisp_trace trace;     /* random vectors, all unit vectors, or the unit vectors of sites[] (local DOS) */
    const int64_t *sites; /* [vectors], for WISP_TRACE_SITES */
    uint64_t seed;
    wisp_kpm_variant variant; /* the same moments three ways: figures 5, 4 and 3 of the KPM paper */
    int width;                /* columns per block (blocked); 0: see wisp_kpm_width */
    int powers;               /* steps of the recurrence that wisp_mpk is given at once, and interleaves (blocked, */
                              /* fused); 0: chosen: a long blocked run leaves it to wisp_mpk, others take 1 */
    int64_t cache_budget;     /* as in wisp_mpk_opts */
    int reduce_each_step;     /* 0: one reduction at the very end */
    wisp_type type; /* of the block vectors; DEFAULT: the matrix's; complex or double also for a real or single one */
    wisp_bounds_method bounds_method;
    wisp_bounds bounds; /* for WISP_BOUNDS_GIVEN */
    /* For single precision and two random vectors or more. Once two are through, rounding is estimated: the first
       vector is run once more in double precision. If rounding moves a moment by more than this share of half its 95%
       bar, the run fails with WISP_ERR_PRECISION. 0, or a run that is cancelled before: rounding is not estimated. */
    double rounding_limit;
} wisp_kpm_opts;
#define WISP_ROUNDING_LIMIT 0.1 /* that of --precision auto */

/* Chebyshev moments, and all that is needed to evaluate and to repeat them. mu[v * n + k] is
   <v|T_k((A - center)/halfwidth)|v> for vector v. For an exact trace vectors = 1 and mu is the trace itself. */
typedef struct {
    int64_t rows, nnz, n, vectors;
    double *mu;
    wisp_trace trace;
    int64_t *sites; /* [vectors] for WISP_TRACE_SITES, else NULL */
    wisp_bounds bounds;
    wisp_bounds_method bounds_method;
    uint64_t seed;
    int64_t first_vector; /* -1: vectors of several runs (wisp_moments_merge), seed is that of the first */
    wisp_type type;       /* of the block vectors */
    wisp_kpm_variant variant;
    int width, powers, threads; /* powers: that were interleaved at last, 1 where they could not be */
    double seconds, flops;      /* of the moment loop alone */
    double bounds_seconds;
    double rounding;        /* the largest share found, see wisp_kpm_opts.rounding_limit; 0: not estimated */
    int64_t partial;        /* 1: cancelled before all vectors and moments were there */
    char *matrix, *command; /* set by the caller with wisp_moments_label; may be NULL */
    char version[32];       /* of the wisp that made them */
} wisp_moments;

/* Computes moments. On WISP_ERR_CANCELLED (and only then, of all failures) m holds what was computed: the vectors
   that were completed, m->vectors of them; or, if there is none yet, those of the first batch with fewer moments,
   m->n; or none. WISP_ERR_BOUNDS: the guard found a moment above mu_0, the message names the bound. Flops are counted
   as in the KPM paper, table I. */
WISP_SIZED wisp_status wisp_kpm(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *opts);
/* The width of its blocks for a matrix of this type and size, to make the matrix for (wisp_mat_opts): opts->width; if
   that is 0, as many as make block rows of 128 bytes, or one a vector if there are fewer. (wisp_src_choose finds the
   one that takes least time.) */
WISP_SIZED int wisp_kpm_width(wisp_type type, int64_t rows, const wisp_kpm_opts *opts);
/* The precision that is likely to be enough, for the matrix (wisp_mat_opts.type) and the vectors: single, if there are
   error bars and rounding is expected to stay below opts->rounding_limit (0: WISP_ROUNDING_LIMIT) of them; else `type`
   as it is. Give the limit to wisp_kpm too, and if that fails with WISP_ERR_PRECISION, make the matrix in double. */
WISP_SIZED wisp_type wisp_kpm_type(wisp_type type, int64_t rows, const wisp_kpm_opts *opts);
/* How wisp_kpm finds its bounds with these options. */
WISP_SIZED wisp_bounds_opts wisp_kpm_bounds_opts(wisp_type type, int64_t rows, const wisp_kpm_opts *opts);
/* Bytes that wisp_kpm holds beside the matrix: about, but for the spill of its blocks (see wisp_mat_info); and at most,
   with that, for a matrix of which this is known (from wisp_mat_bound or wisp_mat_get_info). */
WISP_SIZED int64_t wisp_kpm_plan(int64_t rows, wisp_type type, const wisp_kpm_opts *opts);
WISP_SIZED int64_t wisp_kpm_bound(const wisp_ctx *ctx, const wisp_mat_info *A, const wisp_kpm_opts *opts);
WISP_SIZED void wisp_moments_free(wisp_moments *m);
WISP_SIZED wisp_status wisp_moments_label(wisp_ctx *ctx, wisp_moments *m, const char *matrix, const char *command);
/* HDF5 file of moments per vector, with a checksum; WISP_ERR_UNSUPPORTED in a build without HDF5. load refuses a
   damaged one (WISP_ERR_FORMAT). */
WISP_SIZED wisp_status wisp_moments_save(wisp_ctx *ctx, const wisp_moments *m, const char *path);
WISP_SIZED wisp_status wisp_moments_load(wisp_ctx *ctx, wisp_moments *m, const char *path);
/* Takes the random vectors of several runs on one matrix together: m is as if all had been of one run, with the error
   bars of so many vectors. WISP_ERR_MISMATCH and why not, if any two do not fit. */
WISP_SIZED wisp_status wisp_moments_merge(wisp_ctx *ctx, wisp_moments *m, const wisp_moments *runs, int64_t count);
/* Whether two runs can be taken together: the same matrix (rows, entries, name without folders if there is one), type,
   number of moments and bounds (to rounding), and no vector in both: another seed, or other numbers of vectors. */
WISP_SIZED wisp_status wisp_moments_fit(wisp_ctx *ctx, const wisp_moments *a, const wisp_moments *b);
/* mean[n]: estimates of tr T_k (of the sum over sites for WISP_TRACE_SITES); error[n]: standard error of the
   mean, NaN for a single random vector, 0 for exact traces and sites. error may be NULL. */
WISP_SIZED wisp_status wisp_moments_mean(wisp_ctx *ctx, const wisp_moments *m, double *mean, double *error);

typedef enum { WISP_JACKSON, WISP_LORENTZ, WISP_FEJER, WISP_DIRICHLET } wisp_damping;
typedef struct {
    wisp_damping kernel;
    double lambda; /* Lorentz; 0: 4 */
    int64_t n;     /* use the first n moments only; 0: all */
} wisp_eval_opts;

/* Standard deviation of the Jackson kernel at the centre, pi h / N (Weisse et al. 2006, eq. 76). */
WISP_API double wisp_resolution(double halfwidth, int64_t moments);
WISP_API int64_t wisp_moments_for(double halfwidth, double resolution); /* the N that reaches it */
/* Energies of the default grid: points Chebyshev nodes of the whole interval, ascending. */
WISP_API void wisp_energies(const wisp_bounds *bounds, int64_t points, double *energy);
/* Density of states per unit of energy at energy[points], with the standard error of the mean (as
   wisp_moments_mean). vector = -1: the trace; >= 0: that vector (site) alone. Energies outside the bounds give 0.
   Weisse et al. 2006, eq. 81; every quantity is evaluated per vector. */
WISP_SIZED wisp_status wisp_dos(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                                int64_t points, const double *energy, double *dos, double *error);
/* Number of eigenvalues in [a, b], likewise. */
WISP_SIZED wisp_status wisp_count(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                                  double a, double b, double *count, double *error);
/* Half width of a 95% bar over the standard error, for quantities of either sign, such as moments: Student's t(vectors
   - 1) for 0.975; NaN for fewer than two vectors. */
WISP_API double wisp_student95(int64_t vectors);
/* 95% bars of `count` densities, or counts, and their standard errors from the calls above, with the same m and opts:
   low[i] <= value[i] <= high[i]. As these quantities are not negative, the bar reaches farther up than down where few
   states make them up, and holds there too (docs/conventions.md). Student's for WISP_DIRICHLET. low = high = value
   for exact traces and sites, and where all vectors agree; NaN for a single random vector. */
WISP_SIZED void wisp_bars95(const wisp_moments *m, const wisp_eval_opts *opts, int64_t count, const double *value,
                            const double *error, double *low, double *high);

/* ---- time evolution -------------------------------------------------------------------------- */

enum { WISP_EVOLVE_POWERS = 8 };
typedef struct {
    double tolerance; /* of ||psi(t) - exact|| / ||psi(0)||, column by column; 0: 1e-10, 1e-4 in single precision */
    int powers;       /* steps of the recurrence per call of wisp_mpk, interleaved; 0: WISP_EVOLVE_POWERS per call, */
                      /* interleaved as wisp_mpk finds best */
    int at_once;      /* times that share one sequence of vectors, each with a block of its own, 1 to 8; 0: chosen */
    int64_t cache_budget; /* as in wisp_mpk_opts */
    uint64_t seed;        /* of the Lanczos starts */
    wisp_bounds_method bounds_method;
    wisp_bounds bounds; /* for WISP_BOUNDS_GIVEN */
} wisp_evolve_opts;

typedef struct {
    wisp_bounds bounds;
    int64_t done;              /* times that were reached */
    int64_t sequences, sweeps; /* over the matrix */
    int powers;                /* that were interleaved; 1: one sweep after the other */
    double seconds, flops;     /* of the evolution alone */
    double bounds_seconds;
} wisp_evolution;

/* Called from the calling thread at each time, in their order: psi(time[i]), and its norm[width]. Non-zero stops
   (WISP_ERR_CALLBACK). */
typedef int (*wisp_evolve_fn)(void *arg, int64_t i, const wisp_blk *psi, const double *norm);

/* psi(t) = exp(-i A t) psi(0) of a Hermitian matrix, time in units of 1/A (hbar = 1), at time[times], finite, in any
   order; psi, which must be complex (also for a real matrix), is psi(0) and becomes psi at the last time. By Chebyshev
   polynomials (Tal-Ezer and Kosloff 1984); the number of terms follows from the tolerance, of which each sequence has
   its share. WISP_ERR_ARG if rounding alone would exceed it. WISP_ERR_BOUNDS: the norm was not kept, so that
   eigenvalues lie outside the bounds. On any failure psi holds anything; e->done times have been observed. e is
   written when the call returns, not before. e, opts, observe may be NULL. Takes 1 + at_once blocks like psi. */
WISP_SIZED wisp_status wisp_evolve(wisp_evolution *e, const wisp_mat *A, wisp_blk *psi, int64_t times,
                                   const double *time, const wisp_evolve_opts *opts, wisp_evolve_fn observe, void *arg);

#include "sized.h"

#ifdef __cplusplus
}
#endif
#endif
