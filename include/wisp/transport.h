/* Transport: moments of two operators between Chebyshev polynomials, and conductivities of them. Part of wisp.h, which
 * says what holds for all calls; energies and bounds as in solvers.h.
 *
 * "Garcia 2015" is Garcia, Covaci, Rappoport, Phys. Rev. Lett. 114, 116602; Weisse et al. 2006 is Rev. Mod. Phys. 78,
 * 275. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_TRANSPORT_H
#define WISP_TRANSPORT_H

#include "solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called when a left block and each block of right vectors are through: `sweeps` of `of` of the whole run, and how many
   vectors are complete. A return value other than 0 ends the call (WISP_ERR_CANCELLED), which keeps those. */
typedef int (*wisp_kubo_fn)(void *arg, int64_t sweeps, int64_t of, int64_t vectors);

typedef struct {
    int64_t moments;      /* M, of each polynomial: M * M in all; 2 to 32768; 0: 128 */
    int64_t vectors;      /* R random vectors; 0: 4 */
    int64_t first_vector; /* number of the first random vector, to add to an earlier run with its bounds */
    wisp_trace trace;     /* RANDOM, or EXACT: the sum over all unit vectors, for small matrices */
    wisp_type left_type;  /* in which left vectors are held: `type`, or that in single precision, so that left_bytes */
                          /* hold twice as many. They are made, and multiplied, in `type`; each of their numbers is */
                          /* rounded, by itself. DEFAULT: `type` */
    uint64_t seed;
    int64_t left;            /* left vectors that are held at once, 1 to M; 0: as many as left_bytes hold */
    int64_t left_bytes;      /* of them, on each of the ranks; 0: 2^30 */
    int width;               /* columns of the blocks that are multiplied; 0: 16 */
    wisp_type type;          /* of the blocks. DEFAULT: that of A, complex if V_a or V_b is */
    wisp_bounds_opts bounds; /* of the spectrum; zero: found by Lanczos */
    wisp_kubo_fn observe;    /* may be NULL */
    void *observe_arg;       /* passed to observe() */
    /* See state.h. The state is offered before steps and products; the moments so far make it up, up to a block of
       right vectors, and no vector: to go on, those of the sequences up to there are made anew. */
    wisp_offer_fn offer; /* may be NULL */
    void *offer_arg;     /* passed to offer() */
    wisp_state *resume;  /* a kept state, from which the run goes on; NULL: it begins */
} wisp_kubo_opts;
/* m becomes the moments Gamma_jk = <r|V_a T_j((A - center)/halfwidth) V_b T_k((A - center)/halfwidth)|r>, j, k < M, of
   each random vector |r> (the vectors of wisp_kpm): those of Garcia 2015, eq. 5. m->square = M, m->n = M M, and
   Gamma_jk of vector v is m->mu[v * n + j * M + k] + i m->imag[..]. For an exact trace there is one, the trace itself.
   A is Hermitian. V_a and V_b are on A's map (make them with opts.map = wisp_mat_map(A)) and both Hermitian; or both
   are real antisymmetric W_a, W_b, and stand for i W_a and i W_b: so velocities i[A, x] of a real A need no complex
   numbers. They may be the same matrix. Operators (wisp_mat_from_apply) are taken on the user's word.
   T_j V_a|r> are held, opts->left at a time; T_k|r> are made anew for each of these groups, width by width, so that a
   vector takes M - 1 + (M - 1) M/left sweeps with A, and M/left M columns of products with V_b; all else is
   wisp_tsm_gram. The same bits for any number of threads; other opts.left or width: other last bits. A run that goes on
   from a state may have another opts.left. opts may be NULL.
   m need not be initialised; it is empty after a failure, but for a cancelled call, which keeps the vectors that are
   complete (m->partial). The caller frees it with wisp_moments_free; it is saved, loaded, merged and labelled as
   wisp_kpm's are; densities and means of it are refused. WISP_ERR_MISMATCH: V_a or V_b is on another map, or one is
   Hermitian and the other is not; or opts->resume is of another call. WISP_ERR_HERMITIAN: A, V_a or V_b is not as it
   must be. WISP_ERR_BOUNDS: a vector T_k|r> grew, so that eigenvalues lie outside the bounds. WISP_ERR_NUMERIC: a
   moment is not finite. WISP_ERR_UNSUPPORTED: blocks of opts.type do not go with a matrix. Others as in
   wisp_bounds_find. */
WISP_SIZED wisp_status wisp_kubo(wisp_moments *m, const wisp_mat *A, const wisp_mat *V_a, const wisp_mat *V_b,
                                 const wisp_kubo_opts *opts);
/* *plan becomes what wisp_kubo with these options will take, moments among it, for matrices of which these facts are
   known (as in wisp_mpk_plan). products: with A, those with V_a and V_b apart. Seconds are not known. */
WISP_SIZED wisp_status wisp_kubo_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, const wisp_mat_info *V_a,
                                      const wisp_mat_info *V_b, const wisp_kubo_opts *opts);

/* The type in which left vectors should be held (opts.left_type), of vectors of this type and a matrix with so many
   rows: its single precision form where that saves sweeps, for not all left vectors of this type are held at once, and
   where results will have error bars, with which wisp_sigma_rounding compares what rounding makes; else `type` itself.
   opts->left_type is not looked at. opts may be NULL. */
WISP_SIZED wisp_type wisp_kubo_left_type(const wisp_ctx *ctx, wisp_type type, int64_t rows, const wisp_kubo_opts *opts);

typedef enum {
    WISP_BASTIN,   /* Kubo-Bastin: any component, any temperature (Garcia 2015, eq. 3 and 4) */
    WISP_GREENWOOD /* Kubo-Greenwood: V_a = V_b, by two damped delta functions; not negative, but for the scatter of */
                   /* random vectors */
} wisp_kubo_formula;
typedef struct {
    wisp_kubo_formula formula;
    wisp_damping kernel;
    double lambda;  /* Lorentz; 0: 4 */
    int64_t n;      /* use the first n of the M moments of each polynomial; 0: all */
    double volume;  /* area (2D) or volume (3D) of the sample; 0: that of the moments, and 1 if they have none */
    int64_t points; /* of the integral over energies; 0: 8 n */
} wisp_sigma_opts;
/* sigma[count] becomes the conductivity sigma_ab at the chemical potentials mu[count] and a temperature (k_B = 1, in
   the unit of A; 0: the step), of moments that wisp_kubo made with the velocities V = i[A, x]. It is that of
   J_a = sigma_ab E_b: at temperature 0 in a gap, without a kernel, 4 pi/volume times the sum over filled n and empty m
   of Im <n|V_a|m><m|V_b|n>/(E_m - E_n)^2. Its unit is e^2/h, over
   a length to the power (dimension - 2), as volume is in the unit of x to the power of the dimension: e^2/h itself in
   the plane. Each vector is evaluated by itself; the value is the mean, and the bar Student's. Of one random vector
   error, low and high are NaN; of an exact trace there is no bar. opts may be NULL. Chemical potentials outside the
   bounds are allowed. Bastin's formula takes Fermi's function less its value at the upper end of the bounds, for states
   that are all filled alike conduct nothing: so temperatures far above the band are no exception; and cells within
   pi/(16 n) of an end, in angles, count nothing. WISP_ERR_ARG: also for other moments than those of wisp_kubo, a
   temperature that is negative, and numbers that are not finite. WISP_ERR_NUMERIC: a conductivity is too large for a
   number. */
WISP_SIZED wisp_status wisp_sigma(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts, double temperature,
                                  int64_t count, const double *mu, wisp_estimate *sigma);
/* sigma[count] becomes the optical conductivity at frequencies omega[count] > 0 (hbar = 1, in the unit of A), at one
   chemical potential and temperature, of the same moments: its regular part, which absorbs light, as the double sum of
   Weisse et al. 2006: 2 pi^2/volume times the integral over E of (f(E) - f(E + omega))/omega times the real part of
   Tr[V_a delta(E + omega - A) V_b delta(E - A)], each delta by moments and the kernel. For V_a = V_b it is that of
   Kubo and Greenwood, not negative but for the scatter of random vectors, and goes to wisp_sigma's of WISP_GREENWOOD
   as omega goes to 0, however small it is; else it is the part that is the same where a and b change places. The
   kernel blurs levels by pi h/n, about, h the bounds' halfwidth: frequencies should be larger. Units, bars and statuses
   as of wisp_sigma; opts->formula is not looked at. It holds 8 * points * count bytes. WISP_ERR_ARG: also for a
   frequency that is not positive. */
WISP_SIZED wisp_status wisp_sigma_optical(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                          double temperature, double mu, int64_t count, const double *omega,
                                          wisp_estimate *sigma);

/* *share becomes how far the values that wisp_sigma gives for the same arguments may be moved where left vectors are
   held in single precision, over half of their 95% bars, at most: a pure number, infinity where a value is moved on
   which all vectors agree. Whether the vectors of m were held so is not looked at. It is an estimate, by moments of
   rounding alone: each element of a left vector is rounded by itself, by half a unit at most, so that a moment, the
   product with a right vector, moves by about 2^-24 |V_a r| |V_b r|/sqrt(rows), by the marks of m, for Chebyshev
   polynomials are at most 1. One left vector's rounding knows nothing of another's; along the right vectors moments are
   those of a spectrum. So Gamma_jk, k < M, are those of m for a j drawn at random, with a random sign, and of that size
   in the mean square. Three standard errors of the values of four such vectors, in proportion to the root of
   4/m->vectors, are what values move. WISP_ERR_ARG: also if m has less than two random vectors, of which there are no
   bars, or no marks. Others as of wisp_sigma. It takes as much time, for four vectors more. */
WISP_SIZED wisp_status wisp_sigma_rounding(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                           double temperature, int64_t count, const double *mu, double *share);
/* The same of the values of wisp_sigma_optical. */
WISP_SIZED wisp_status wisp_sigma_optical_rounding(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                                   double temperature, double mu, int64_t count, const double *omega,
                                                   double *share);

#ifdef __cplusplus
}
#endif

#endif
