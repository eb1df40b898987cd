/* The solvers: spectral bounds, the kernel polynomial method, functions of a matrix, traces, Green's functions. Part of
 * wisp.h, which says what holds for all calls, threads among it.
 *
 * Statuses: any call may return WISP_ERR_ARG (an argument or an option out of its range), WISP_ERR_NOMEM and, if it
 * works on blocks, WISP_ERR_CANCELLED; the others are named with each call. Functions that return a number or nothing
 * only work out that result; they never fail and keep no message.
 *
 * Energies, bounds, centers and halfwidths are in the unit of the matrix's entries. Times are in the inverse of that
 * unit (hbar = 1). The KPM paper is Kreutzer et al., "Performance engineering of the kernel polynomial method on
 * large-scale CPU-GPU systems"; Weisse et al. 2006 is Rev. Mod. Phys. 78, 275. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_SOLVERS_H
#define WISP_SOLVERS_H

#include "machine.h"
#include "ops.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- spectral bounds ------------------------------------------------------------------------- */

typedef enum { WISP_BOUNDS_LANCZOS, WISP_BOUNDS_GERSHGORIN, WISP_BOUNDS_GIVEN } wisp_bounds_method;
typedef struct {
    double center, halfwidth;   /* the spectrum lies in center -+ halfwidth */
    double failure_probability; /* that it does not; 0 for Gershgorin, NaN when given by the user */
} wisp_bounds;
/* How bounds are come by; also as `bounds` in the options of each solver, which knows what will follow: where the seed,
   both numbers of sweeps or the width are 0, they are the solver's, and a width is never more than the solver's. */
typedef struct {
    wisp_bounds_method method;
    int width;         /* of the blocks that will follow; no more columns are used here. 0: 4 */
    wisp_bounds given; /* GIVEN: the center and the halfwidth. Else 0 */
    uint64_t seed;     /* of the Lanczos starts */
    /* How many products of A with a vector will follow, about; their number is taken to grow with the interval. Or,
       where that is 0, their number for a halfwidth of 1. Both 0: 8192 products. */
    double sweeps, sweeps_per_halfwidth;
    int64_t reserved[4]; /* 0: room for fields that come later */
} wisp_bounds_opts;
/* Finds an interval that holds all eigenvalues of a Hermitian matrix A, with some room at both ends; or checks the one
   that is given, and looks at A no further. Lanczos runs with Gaussian starts, side by side as one block, give it;
   their error bound (Kuczynski and Wozniakowski 1992) keeps the chance of failure at 1e-8. The number of runs and of
   steps is chosen so that bounds and the computation that follows take least time together. Gershgorin's interval is
   taken where more steps would not give a narrower one; an operator (wisp_mat_from_apply) has none, and that it is
   Hermitian is not checked. opts may be NULL; A is not changed, and two blocks of at most 8 columns are held meanwhile.
   WISP_ERR_HERMITIAN names an entry that is not Hermitian; WISP_ERR_NUMERIC: A holds a NaN or an infinity, or its
   values are too large, or lie too close together, for the arithmetic; WISP_ERR_ARG: A has no rows, or what is given is
   no interval: its ends must be finite, its halfwidth above 0; WISP_ERR_UNSUPPORTED: Gershgorin's method for an
   operator. *bounds is zero after a failure. docs/solvers.md has the formulas. */
WISP_API wisp_status wisp_bounds_find(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *opts);
/* *plan becomes what wisp_bounds_find with these options will take at most, for a matrix of which only A (as in
   wisp_mpk_plan) is known. products / sweeps is the number of Lanczos runs that go side by side; all are 0 for the
   other methods. They go by opts->sweeps, because the halfwidth is not known. step: what wisp_src_choose or
   wisp_mat_choose found for so many columns and a single step; seconds are those of the runs, without the look at the
   entries. The memory is also counted by the plans of the solvers that find bounds. Statuses as of wisp_bounds_find for
   such options. */
WISP_SIZED wisp_status wisp_bounds_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                        const wisp_bounds_opts *opts, const wisp_choice *step);

/* ---- kernel polynomial method ---------------------------------------------------------------- */

typedef enum { WISP_KPM_BLOCKED, WISP_KPM_FUSED, WISP_KPM_NAIVE } wisp_kpm_variant;
typedef enum { WISP_TRACE_RANDOM, WISP_TRACE_EXACT, WISP_TRACE_SITES, WISP_TRACE_GIVEN } wisp_trace;

/* Called after each call of wisp_mpk: `moments` of the vectors under way are made, of opts.moments, and `vectors`
   before them are complete; where the vectors under way have become complete, they are among `vectors`, and `moments`
   are all. A return value other than 0 ends the call (WISP_ERR_CANCELLED), which keeps what it has by then. */
typedef int (*wisp_kpm_fn)(void *arg, int64_t moments, int64_t vectors);
/* Makes the columns of x vectors `first`, `first` + 1, .. of the run, the same ones at each call; all ranks make it
   together. What it returns other than WISP_OK ends the run, with that status. */
typedef wisp_status (*wisp_start_fn)(void *arg, int64_t first, wisp_blk *x);

typedef struct {
    int64_t moments;      /* N: mu_0 .. mu_N-1; 0: 512 */
    int64_t vectors;      /* R random vectors; 0: 32. GIVEN: the columns of `right`; 0: all, and no other number */
    int64_t first_vector; /* number of the first random vector, to add to an earlier run with its bounds */
    wisp_trace trace;     /* random vectors, all unit vectors, the unit vectors of sites[] (local DOS), or `right` */
    const int64_t *sites; /* [vectors], for WISP_TRACE_SITES */
    uint64_t seed;
    wisp_kpm_variant variant; /* the same moments three ways: figures 5, 4 and 3 of the KPM paper */
    int width;                /* columns per block (blocked); 0: see wisp_kpm_width */
    int depth;                /* the number of steps that are interleaved (blocked, fused), given to wisp_mpk at */
    /* once, or, where the device asks for more (wisp_ctx_steps_per_call), a multiple of it. 0: */
    /* chosen: a long blocked run leaves it to wisp_mpk, others take 1 */
    int64_t cache_budget; /* as in wisp_mpk_opts */
    int reduce_each_step; /* 0: one reduction at the very end. 1: the device is not asked how many steps it wants */
    wisp_type type; /* of the block vectors. DEFAULT: the matrix's. A real matrix also takes complex ones, and a */
                    /* single-precision one double ones. GIVEN, DEFAULT: that of `right` */
    wisp_bounds_opts bounds; /* of the spectrum; zero: found by Lanczos */
    /* How much rounding is allowed, as a share of half a moment's 95% bar; for block vectors in single precision, and
       two random vectors or more, without `adjoint`. Rounding is estimated when two vectors are through: the first one
       is run once more in double precision, for a part of the moments. A run that exceeds the limit fails with
       WISP_ERR_PRECISION. 0: rounding is not estimated. */
    double rounding_limit;
    /* See state.h. The state is offered before each call of wisp_mpk; the vectors' moments so far, the moments of those
       under way, and two blocks make it up. A whole one has the moments alone. */
    wisp_offer_fn offer; /* may be NULL */
    void *offer_arg;     /* passed to offer() */
    wisp_state *resume;  /* a kept state, from which the run goes on; NULL: it begins */
    /* Moments <l|B T_n|r>, see wisp_kpm; blocks on A's map, of `type`, which are read alone, and an operator. */
    const wisp_blk *right;   /* |r>: for WISP_TRACE_GIVEN, which needs it or `start`; else NULL. Any width, any view */
    const wisp_blk *left;    /* |l>, of the same width, for WISP_TRACE_GIVEN; NULL: |l> = |r> */
    const wisp_mat *adjoint; /* B^H, the adjoint of B, for any trace; NULL: B = 1 */
    wisp_kpm_fn observe;     /* may be NULL */
    void *observe_arg;       /* passed to observe() */
    wisp_start_fn start; /* in place of `right`, so that not all vectors have to be held; with `vectors` and `type` */
    void *start_arg;     /* passed to start() */
} wisp_kpm_opts;
#define WISP_ROUNDING_LIMIT 0.1 /* that of --precision auto */

/* Chebyshev moments, and all that is needed to evaluate and to repeat them. mu[v * n + k] is
   <v|T_k((A - center)/halfwidth)|v> for vector v; with opts.left or opts.adjoint it is the real part of
   <l|B T_k|r>, and imag[v * n + k] the imaginary one. For an exact trace vectors = 1, and mu and imag are those of the
   trace itself. The arrays and texts belong to the struct, until wisp_moments_free; they do not belong to a context,
   and may outlive it. */
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
    int width, depth, threads; /* depth: of the last call; 1 where steps could not be interleaved */
    double seconds, flops;     /* of the moment loop alone */
    double bounds_seconds;
    double rounding;        /* the largest share found, see wisp_kpm_opts.rounding_limit; 0: not estimated */
    int64_t partial;        /* 1: the call was cancelled, and vectors or moments may be missing */
    char *matrix, *command; /* set by the caller with wisp_moments_label; may be NULL */
    char version[32];       /* of the wisp that made them */
    double *imag;   /* imaginary parts, where there were left vectors or an operator (also real ones); else NULL */
    int64_t square; /* M: those of wisp_kubo (transport.h), n = M M; else 0 */
    /* Of runs with random vectors: what A, B or V_a, and V_b make of a random vector, so that runs of others are not
       taken together. 0: not known, as in files of earlier versions */
    double mark[3][3];
    double volume;             /* of the sample; */
    int dimensions, direction; /* and these, of V_a and V_b: 1 xx, 2 xy, .. 9 zz. All three are the caller's; 0: not */
                               /* known */
    /* Of plane waves (WISP_TRACE_GIVEN): vector v is orbital v modulo `orbitals` of wave v / orbitals modulo their
       number, the realizations one after the other. All are the caller's; 0: not known */
    double *points;               /* [point_count][WISP_POINT], see wisp_moments_points; NULL: not known */
    int64_t point_count, columns; /* columns: of a grid of points, row by row; 0: they are a path */
    double moved;                 /* the largest step from a point that was asked for to its wave */
    int orbitals, realizations;   /* of disorder, with the same waves or rows each; 0: one. Of WISP_TRACE_RANDOM each */
    /* vector is the mean of a realization then, and bars are Student's; first_vector 0: */
    /* all are exact traces, -1: means of random vectors */
} wisp_moments;

/* Computes the Chebyshev moments of a Hermitian matrix by the kernel polynomial method (figures 3 to 5 of the KPM
   paper): first bounds, unless they are given, then batches of opts->width vectors. opts may be NULL. m need not be
   initialised; it is empty after a failure, but for a cancelled call. The caller frees it with wisp_moments_free. A is
   not changed.
   Vectors of the user's (WISP_TRACE_GIVEN): mu is <r|T_n|r> of each column |r> of opts->right. Nothing is normalised:
   mu_0 = <r|r>. On the left there may be other vectors |l> and an operator B: moments are <l|B T_n|r>, conjugate in
   |l>, and complex (m->imag). They are computed as <w|T_n|r> with |w> = B^H|l>, so that B costs one product a vector.
   That is why opts->adjoint is B^H and not B: a matrix or an operator (wisp_mat_from_apply) on A's map, applied to |l>
   before the first step. For a Hermitian B give B itself; B need not be Hermitian. It may be A. With random vectors
   mu + i imag is an estimate of tr(B T_n) with the usual errors; with an exact trace it is tr(B T_n), with sites
   <s|B T_n|s>. Each sweep gives one moment then, not two: n - 1 sweeps and one block more. Powers of 2 are taken out of
   the user's vectors and of |w> meanwhile, so that their unit is of no matter to the arithmetic.
   WISP_ERR_MISMATCH: a block or B is not on A's map, or of another type or width. WISP_ERR_NUMERIC: a vector holds a
   NaN, an infinity, or too large numbers, or a vector's moments are beyond double precision, or all below it.
   WISP_ERR_CANCELLED, also where observe() or offer() ended it: m holds the vectors that were completed, m->vectors of
   them; or, if there is none yet, those of the first batch with fewer moments, m->n; or none (an exact trace keeps
   nothing). WISP_ERR_BOUNDS: a moment exceeds mu_0 (or the norms of |w> and |r>), so that eigenvalues lie outside the
   bounds; the message names the bound. WISP_ERR_PRECISION: see wisp_kpm_opts.rounding_limit. WISP_ERR_UNSUPPORTED:
   blocks of that type do not go with A. WISP_ERR_HERMITIAN and WISP_ERR_NUMERIC: as in wisp_bounds_find. Flops are
   counted as in table I of the KPM paper. */
WISP_SIZED wisp_status wisp_kpm(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *opts);
/* The width of the blocks that wisp_kpm will use, for a matrix with values of this type and so many rows: give it to
   the matrix when it is made (wisp_mat_opts.width). It is opts->width; if that is 0, block rows are 128 bytes long, or
   shorter if there are fewer vectors. (wisp_src_choose finds the width that takes least time.) */
WISP_SIZED int wisp_kpm_width(wisp_type type, int64_t rows, const wisp_kpm_opts *opts);
/* The type that is likely to be precise enough, for the matrix (wisp_mat_opts.type) and for the vectors: the single
   precision form of `type` where results will have error bars, and rounding is expected to stay below the share
   opts->rounding_limit of them (0: WISP_ROUNDING_LIMIT); else `type` itself. Give the limit to wisp_kpm too; if that
   fails with WISP_ERR_PRECISION, make the matrix in double precision. */
WISP_SIZED wisp_type wisp_kpm_type(wisp_type type, int64_t rows, const wisp_kpm_opts *opts);
/* The options with which wisp_kpm calls wisp_bounds_find, for a matrix with values of this type and so many rows. */
WISP_SIZED wisp_bounds_opts wisp_kpm_bounds_opts(wisp_type type, int64_t rows, const wisp_kpm_opts *opts);
/* *plan becomes what wisp_kpm with these options will take, moments among it. A and step: as in wisp_mpk_plan, for all
   vectors of the run. Of opts->right and left it is asked alone whether they are there; right may be NULL where vectors
   and type are given. Products and seconds are those of the moments, without those that find the bounds
   (wisp_bounds_plan, with wisp_kpm_bounds_opts). Statuses as of wisp_kpm for such options. */
WISP_SIZED wisp_status wisp_kpm_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_kpm_opts *opts,
                                     const wisp_choice *step);
/* Frees the arrays and texts of m, and empties it. The struct itself is the caller's. m may be NULL. */
WISP_SIZED void wisp_moments_free(wisp_moments *m);
/* Sets m->matrix and m->command to copies of these texts, for the moments file; NULL takes one away. A text longer than
   32000 bytes is shortened. */
WISP_SIZED wisp_status wisp_moments_label(wisp_ctx *ctx, wisp_moments *m, const char *matrix, const char *command);
enum { WISP_POINT = 6 };
/* Sets m->points to a copy of points[count][WISP_POINT], for the moments file: of each point of k its wave's x, y and
   z, in radians over the unit of positions; how far it lies along the path; how many corners of the path it is; and the
   number of the wave, from 0. (With m->orbitals = 0 they are rows of a map: where each is; its site; 1 where that is
   known; its number.) NULL with count = 0 takes them away. WISP_ERR_ARG: a number is not finite, or a wave's is
   no whole number from 0 to 2^40. */
WISP_SIZED wisp_status wisp_moments_points(wisp_ctx *ctx, wisp_moments *m, int64_t count, const double *points);
/* Writes and reads moments, per vector, with a checksum, as an HDF5 file (docs/solvers.md has the format). save
   replaces an old file only when the new one is whole (WISP_ERR_IO otherwise). load overwrites m, which the caller
   frees, and which is empty after a failure: WISP_ERR_IO if the file can't be read, WISP_ERR_FORMAT or WISP_ERR_NUMERIC
   if it is damaged or no moments file. WISP_ERR_UNSUPPORTED: this build is without HDF5, or finds none when it is first
   needed, or the file is of a later version. */
WISP_SIZED wisp_status wisp_moments_save(wisp_ctx *ctx, const wisp_moments *m, const char *path);
WISP_SIZED wisp_status wisp_moments_load(wisp_ctx *ctx, wisp_moments *m, const char *path);
/* Moments as items of a state (state.h), for who writes a wisp_items_fn: all but their texts. With a live state it
   notes where they are; there must be some, m->n of m->vectors. With a kept one it gives them back: m need not be
   initialised, is freed with wisp_moments_free, and is empty after a failure. The items are "moments of NAME", "mu of
   NAME" and, as there are any, "imag of NAME", "sites of NAME" and "points of NAME"; NAME has 28 bytes at most.
   WISP_ERR_FORMAT: their numbers can't be, or the arrays have others. WISP_ERR_MISMATCH: they are missing. */
WISP_SIZED wisp_status wisp_state_moments(wisp_state *state, const char *name, wisp_moments *m);
/* Takes the random vectors of `count` runs on one matrix together: m becomes as if all vectors had been of one run,
   with the error bars of so many. m must not be one of the runs; it is overwritten, and the caller frees it; the runs
   stay as they are. WISP_ERR_MISMATCH: two runs do not fit (wisp_moments_fit); the message says why. */
WISP_SIZED wisp_status wisp_moments_merge(wisp_ctx *ctx, wisp_moments *m, const wisp_moments *runs, int64_t count);
/* WISP_OK if two runs can be taken together: they have the same matrix (rows, entries, and name without folders where
   both have one), type, number of moments and bounds (to rounding), with an operator or velocities also the same ones
   and the same entries (m->mark), both have random vectors, and no vector is in both (another seed, or other numbers of
   vectors); volume, dimensions and direction are equal where both are known. Else WISP_ERR_MISMATCH, and the message
   says why. */
WISP_SIZED wisp_status wisp_moments_fit(wisp_ctx *ctx, const wisp_moments *a, const wisp_moments *b);
/* Parts of moments; imaginary ones are there with opts.left or opts.adjoint alone (WISP_ERR_ARG). */
typedef enum { WISP_REAL_PART, WISP_IMAGINARY_PART } wisp_part;
/* mean[n] becomes the estimate of this part of tr T_k or tr(B T_k) for each moment k (of WISP_TRACE_SITES and
   WISP_TRACE_GIVEN the sum over the vectors), and error[n] its standard error: NaN for a single random vector, 0 for
   vectors that are not random. error may be NULL. */
WISP_SIZED wisp_status wisp_moments_mean(wisp_ctx *ctx, const wisp_moments *m, wisp_part part, double *mean,
                                         double *error);

typedef enum { WISP_JACKSON, WISP_LORENTZ, WISP_FEJER, WISP_DIRICHLET } wisp_damping;
typedef struct {
    wisp_damping kernel;
    wisp_part part; /* what is evaluated of complex moments */
    double lambda;  /* Lorentz; 0: 4 */
    int64_t n;      /* use the first n moments only; 0: all */
} wisp_eval_opts;

/* Standard deviation of the Jackson kernel at the centre, pi h / N (Weisse et al. 2006, eq. 76). */
WISP_API double wisp_resolution(double halfwidth, int64_t moments);
/* The number of moments that reaches a resolution; at least 2. */
WISP_API int64_t wisp_moments_for(double halfwidth, double resolution);
/* energy[points] becomes the default grid: the Chebyshev nodes of the whole interval, ascending. */
WISP_API void wisp_energies(const wisp_bounds *bounds, int64_t points, double *energy);
/* dos[points] becomes the density of states per unit of energy at energy[points], by equation 81 of Weisse et al. 2006,
   and error[points] its standard error (NaN for a single random vector, 0 for vectors that are not random); error may
   be NULL. Each vector is evaluated by itself, and the mean of them given. vector = -1: the trace, so that the integral
   is the number of rows (of other vectors the sum over them); >= 0: that vector (site) alone. With opts.left or
   opts.adjoint it is opts->part of sum or mean of <l|B delta(E - A)|r>. Energies outside the bounds give 0. opts may be
   NULL. WISP_ERR_ARG: also for moments without a complete vector, and for an energy that is NaN. WISP_ERR_NUMERIC: a
   density is too large for a number. */
WISP_SIZED wisp_status wisp_dos(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                                int64_t points, const double *energy, double *dos, double *error);
/* c[terms] becomes the Chebyshev series of the function f whose square is the kernel of 2 terms - 1 moments around an
   energy, WISP_JACKSON or WISP_FEJER: of random vectors r of mean 0 and size 1 the mean of |(f(A) r)_i|^2 is the local
   density of states at row i (wisp_chebyshev_apply makes f(A) r). No such estimate is negative, and the scatter of one
   vector is about the density itself, whatever the resolution. Zeros for an energy that is not inside the bounds, and
   for the other kernels, which have no such root. Nothing is done if a pointer is NULL. */
WISP_API void wisp_kernel_root(const wisp_bounds *bounds, wisp_damping kernel, double energy, int64_t terms,
                               wisp_scalar *c);
/* sum[count], of so many samples each, and square[count], of their squares, become means and standard errors (NaN for a
   single sample). Nothing is done if a pointer is NULL. */
WISP_API void wisp_sums_mean(int64_t samples, int64_t count, double *sum, double *square);
/* *count becomes the number of eigenvalues in [a, b] (the integral of what wisp_dos gives, which with opts.left or
   opts.adjoint may be negative), and *error its standard error, evaluated as in wisp_dos. a and b may lie outside the
   bounds, and be infinite; WISP_ERR_ARG if not a <= b. */
WISP_SIZED wisp_status wisp_count(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                                  double a, double b, double *count, double *error);
/* Half the width of a 95% bar over the standard error: Student's t(vectors - 1) for 0.975. For quantities of either
   sign, such as moments. NaN for fewer than two vectors. */
WISP_API double wisp_student95(int64_t vectors);
/* low[count] and high[count] become the ends of 95% bars of densities or counts: value[count] and error[count] come
   from wisp_dos or wisp_count with the same m and opts, and low[i] <= value[i] <= high[i]. As these quantities are not
   negative, a bar reaches farther up than down where few states make them up (docs/solvers.md has the formulas).
   For WISP_DIRICHLET, and with opts.adjoint, bars are Student's. low = high = value for vectors that are not random,
   and where all vectors agree; NaN for a single random vector. Nothing is done if a pointer other than opts is NULL. */
WISP_SIZED void wisp_bars95(const wisp_moments *m, const wisp_eval_opts *opts, int64_t count, const double *value,
                            const double *error, double *low, double *high);

/* ---- functions of a matrix ------------------------------------------------------------------- */

/* *value becomes f at an energy. A return value other than 0 ends the call (WISP_ERR_CALLBACK). Called on each rank,
   from the thread that called the solver, at the same energies in the same order. */
typedef int (*wisp_function_fn)(void *arg, double energy, wisp_scalar *value);
/* A function f of energy: by its values, or by its Chebyshev series on bounds that are given. */
typedef struct {
    wisp_function_fn value; /* NULL: f(E) = sum over k of c_k T_k((E - center)/halfwidth), k < terms */
    void *arg;              /* passed to value() */
    int64_t terms;          /* of c, 1 to 2^22 */
    const wisp_scalar *c;   /* [terms] */
} wisp_function;
/* Called after each call of wisp_mpk, with the number of T_n(A) x that are made, of `terms`; y is not yet of use, for
   it lacks powers of 2 that f and x are scaled by. A return value other than 0 ends the call (WISP_ERR_CANCELLED). */
typedef int (*wisp_chebyshev_fn)(void *arg, int64_t done, int64_t terms);

enum { WISP_CHEBYSHEV_STEPS = 8, WISP_CHEBYSHEV_TERMS = 65536, WISP_CHEBYSHEV_POINTS = 1025 };
typedef struct {
    /* Of ||y - f(A) x|| / (max |f| ||x||), column by column, with the largest |f| on the bounds; 0: 1e-10, 1e-4 in
       single precision. It is kept where the spectrum lies within the bounds. */
    double tolerance;
    int64_t terms;   /* of a function's series, at most, up to 2^22; 0: WISP_CHEBYSHEV_TERMS */
    int64_t points;  /* at which a function is looked at, at least; 0: WISP_CHEBYSHEV_POINTS. What is narrower than */
                     /* halfwidth pi/points may be missed */
    int64_t jackson; /* above 0: so many terms of each function, with Jackson's damping (Weisse et al. 2006, eq. 71), */
                     /* whatever their error: for functions that are not smooth */
    int depth;       /* the number of steps that are interleaved, given to wisp_mpk at once. 0: it is given */
                     /* WISP_CHEBYSHEV_STEPS, and chooses the depth. A multiple of either, where the device asks for */
    /* more (wisp_ctx_steps_per_call). For a single function two are interleaved at most, for several */
    /* WISP_CHEBYSHEV_STEPS */
    int64_t cache_budget;      /* as in wisp_mpk_opts */
    wisp_bounds_opts bounds;   /* of the spectrum; zero: found by Lanczos */
    wisp_chebyshev_fn observe; /* may be NULL */
    void *observe_arg;         /* passed to observe() */
    wisp_offer_fn offer;       /* see state.h; before each call of wisp_mpk. May be NULL */
    void *offer_arg;           /* passed to offer() */
    wisp_state *resume;        /* a kept state, from which the run goes on, also x; NULL: it begins */
} wisp_chebyshev_opts;

typedef struct {
    wisp_bounds bounds;
    int64_t terms, points; /* of the longest series; and the most at which a function was looked at */
    int64_t sweeps;        /* over the matrix */
    double error;          /* the largest |series - f| at these points over the largest |f|, of the worst function */
    double rounding;       /* what rounding adds to it, about */
    double seconds, flops; /* of the sum alone */
    double bounds_seconds;
    int64_t depth; /* 1: one sweep after the other */
} wisp_expansion;

/* y[i] = f_i(A) x for `functions` functions of a Hermitian matrix A, by one sequence of Chebyshev vectors T_k x that
   all share (Trefethen, Approximation Theory and Approximation Practice, 2013; the KPM review Weisse et al. 2006). x
   and the blocks y are on A's map, of one type and width; a function that is not real needs complex ones. x may be one
   of y, or a view of its memory, and is else not changed; two blocks like it are held meanwhile, 6 more
   with several functions. e and opts may be
   NULL. e need not be initialised; it is written when the call returns. After a failure y holds anything. With
   opts->resume x is of no interest; functions and options must be as they were, but for depth and cache_budget.

   A function by its values is asked for them on all of the bounds, which reach beyond the spectrum on both sides. It is
   interpolated at n + 1 Chebyshev points, n = 512, 1024, ..; the series is cut where the sum of its other terms is
   below half of the tolerance. Then it is compared with f at these points, at n points between them, and at some of no
   such grid: e->error is the largest difference over the largest |f|, and must be at most half of the tolerance. If f
   is a polynomial of degree n or less, the difference is nowhere above sqrt 2 times e->error; of other functions no
   more can be known by their values. Steps, kinks and poles on the bounds, or near to them, take many terms, or are
   refused: smooth them, or take opts->jackson terms. Then, and for a series that is given, no error is refused. Where
   the largest |f| is far above |f| on the spectrum (exp(-b A) with wide bounds), take a smaller tolerance, or bounds
   that fit. Given bounds that do not hold are told by Chebyshev vectors that grow, of which 9 are made at least; what
   they do not show (a part of x outside the bounds that is far below the tolerance) is not known.

   WISP_ERR_ARG: also if a function can't be met with opts->terms, or rounding alone would exceed half of the tolerance.
   WISP_ERR_CALLBACK: value() failed. WISP_ERR_BOUNDS: a Chebyshev vector, or y, is longer than it can be with a
   spectrum within the bounds. WISP_ERR_NUMERIC: a value of f, or a number of x, is not finite; f(A) x is too large or
   too small for its type; or as in wisp_bounds_find. WISP_ERR_CANCELLED: the call was cancelled, or observe() or
   offer() ended it. WISP_ERR_MISMATCH: a block is on another map, or of another type or width than x; f has other
   values on another rank; opts->resume is of another call. WISP_ERR_HERMITIAN: as in wisp_bounds_find. */
WISP_SIZED wisp_status wisp_chebyshev_apply(wisp_expansion *e, wisp_blk *const *y, const wisp_mat *A, const wisp_blk *x,
                                            int functions, const wisp_function *f, const wisp_chebyshev_opts *opts);
/* *plan becomes what wisp_chebyshev_apply will take, for x of this type (DEFAULT: A's) and width. A and step: as in
   wisp_mpk_plan, for these columns. Where opts->bounds are given, functions are asked for their values; else products,
   sweeps and seconds are told only with opts->jackson, and bytes_most is for as many terms as are allowed. Products
   that find bounds are not counted. Statuses as of wisp_chebyshev_apply for such arguments. */
WISP_SIZED wisp_status wisp_chebyshev_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                           int width, int functions, const wisp_function *f,
                                           const wisp_chebyshev_opts *opts, const wisp_choice *step);

/* ---- traces of functions, and thermodynamics -------------------------------------------------- */

/* A value, its standard error (NaN for a single random vector, 0 for vectors that are not random), and the ends of its
   95% bar (NaN likewise), in which there is also room for what is not of chance. */
typedef struct {
    double value, error, low, high;
} wisp_estimate;
typedef struct {
    /* Of truncation + rounding (below) over mu_0 max |f|, with the largest |f| on the bounds; 0: 1e-10, 1e-4 for
       moments in single precision. */
    double tolerance;
    int64_t terms, points; /* as in wisp_chebyshev_opts, where f is given by its values */
    int64_t jackson; /* above 0: so many terms, with Jackson's damping, whatever their error: for functions that */
                     /* are not smooth */
} wisp_function_opts;
typedef struct {
    wisp_estimate trace;
    double truncation; /* of the trace, at most: how far the series is from f. NaN with opts.jackson, where it is */
                       /* not known, nor in the bar */
    double rounding;   /* of the trace, about at most: what the moments' rounding makes */
    double largest;    /* |f| on the bounds */
    int64_t terms;     /* moments that were used */
} wisp_traced;
/* t->trace becomes tr f(A), the sum of c_k mu_k with the Chebyshev series of f on the moments' bounds, each vector by
   itself: the mean over random vectors; of WISP_TRACE_SITES and GIVEN the sum of <v|f(A)|v>. vector as in wisp_dos. f
   is real; by its values it is asked for all of the bounds, and its series is looked at, as in wisp_chebyshev_apply.
   log det A is the trace of the logarithm. No kernel damps the moments: where the spectrum lies within the bounds,
   |tr f(A) - sum| is at most mu_0 max |f - series|, which is t->truncation. The bar has room for it, and for
   rounding. For f that is nowhere negative the bar is that of wisp_bars95 for densities, else Student's. opts may be
   NULL. WISP_ERR_ARG: also if the moments are too few, or too rounded, for the tolerance (the message says how many
   would do, or which tolerance), for f that is complex, and for moments with opts.left or opts.adjoint.
   WISP_ERR_CALLBACK: value() failed. WISP_ERR_NUMERIC: a value of f is not finite, as that of the logarithm where
   bounds reach below 0, or the trace is too large for a number. */
WISP_SIZED wisp_status wisp_trace_function(wisp_ctx *ctx, const wisp_moments *m, const wisp_function *f,
                                           const wisp_function_opts *opts, int64_t vector, wisp_traced *t);
/* *moments becomes the number that wisp_trace_function needs on these bounds, at least 2: half of the tolerance is left
   for rounding. Statuses as there; WISP_ERR_ARG: also if halfwidth is not above 0. */
WISP_SIZED wisp_status wisp_function_moments(wisp_ctx *ctx, const wisp_bounds *bounds, const wisp_function *f,
                                             const wisp_function_opts *opts, int64_t *moments);

typedef struct {
    /* Of what is not of chance (`beside`, below), in ln Z, E/T, C and S; 0: 1e-6, 1e-2 for moments in single
       precision. */
    double tolerance;
} wisp_thermal_opts;
/* A system in heat bath: energies in the unit of the matrix, k_B = 1. */
typedef struct {
    double temperature;
    wisp_estimate log_z;         /* ln Z, Z = tr exp(-A/T) */
    wisp_estimate energy;        /* E = tr A exp(-A/T) / Z */
    wisp_estimate heat_capacity; /* C = (<A^2> - <A>^2) / T^2 */
    wisp_estimate entropy;       /* S = ln Z + E/T */
    double beside;               /* how far ln Z, E/T, C and S are off at most, beside chance: truncation, rounding */
    int64_t terms;               /* moments that were used */
} wisp_ensemble;
/* *e becomes the canonical ensemble of A at a temperature above 0, from moments of a Hermitian matrix (Weisse et al.
   2006; random vectors: Jaklic and Prelovsek, Phys. Rev. B 49, 5065 (1994)): series of exp(-A/T), whose
   coefficients are Bessel functions exp(-h/T) I_k(h/T), and of its products with (A - a)/T and its square, a the lower
   bound; no kernel. Nothing overflows, whatever the unit. Of random vectors E, C and S are ratios of means, their
   errors are those of the jackknife, and their bars Student's, with fewer degrees of freedom where few states make up
   Z; that of ln Z is that of Z, as in wisp_bars95. Of vectors that are not random bars hold what is not of chance
   alone. WISP_TRACE_SITES and GIVEN: the sums over these vectors stand in place of the traces. opts may be NULL. The
   lower the temperature, the smaller is Z beside the rows, of which the moments have their rounding: WISP_ERR_ARG names
   the lowest temperature that these moments serve, and whether more of them or closer bounds would do. Also if the
   temperature is not above 0 and finite, and for moments with opts.left or opts.adjoint. WISP_ERR_NUMERIC: ln Z is too
   large for a number. */
WISP_SIZED wisp_status wisp_thermal(wisp_ctx *ctx, const wisp_moments *m, const wisp_thermal_opts *opts,
                                    double temperature, wisp_ensemble *e);
/* The number of moments that does for this temperature and all above it; at least 2. */
WISP_API int64_t wisp_thermal_moments(double halfwidth, double temperature);
/* Of bounds that Lanczos has found with this halfwidth, the lowest temperature that is worth moments, in the unit of
   the matrix: these bounds leave a hundredth of a halfwidth free below the spectrum, by which Z of a lower temperature
   is less than exp(-40) of the rows, and has no digit left, however many the moments. wisp_cool serves lower ones, too.
 */
WISP_API double wisp_thermal_coldest(double halfwidth);

/* ---- Green's functions ------------------------------------------------------------------------- */

typedef struct {
    double eta; /* above 0, in the unit of the matrix */
    double
        tolerance; /* of what is not of chance, times eta, over the norms of the vectors; 0: 1e-10, 1e-4 for moments */
                   /* in single precision */
} wisp_green_opts;
/* g[points] becomes the retarded Green's function <l|B 1/(energy[i] + i eta - A)|r> from moments of a Hermitian matrix
   A, of all energies from the same ones: by the Chebyshev series of 1/(z - x), whose coefficients are known (Abramowitz
   and Stegun 22.9.9), without a kernel: the width of a level is eta, exactly. vector: as in wisp_dos; -1 is the trace
   (of random vectors its estimate), or the sum over the vectors. error[points], which may be NULL, has the standard
   errors of real and imaginary part: NaN for a single random vector, 0 for vectors that are not random. beside[points],
   which may be NULL: how far g is off at most beside chance, where the spectrum lies within the bounds: the terms that
   are left out, by a bound, and rounding, about. It is absolute, but with opts.left or opts.adjoint (of wisp_kpm) over
   the product of both norms. An energy may lie outside the bounds. WISP_ERR_ARG: also if moments are too few, or too
   rounded, for the tolerance (the message says what would do), or an energy is not finite. */
WISP_SIZED wisp_status wisp_green(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *opts, int64_t vector,
                                  int64_t points, const double *energy, wisp_scalar *g, wisp_scalar *error,
                                  double *beside);
/* The number of moments that does for all energies, with half of the tolerance left for rounding; at least 2. They are
   about log(sqrt(8 halfwidth/eta)/tolerance) halfwidth/eta. */
WISP_API int64_t wisp_green_moments(double halfwidth, double eta, double tolerance);

#ifdef __cplusplus
}
#endif
#endif
