/* Time evolution: real, imaginary and complex times, absorption, H(t); thermal pure states. Part of wisp.h, which says
   what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_EVOLVE_H
#define WISP_PUBLIC_EVOLVE_H

#include "solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- time evolution -------------------------------------------------------------------------- */

/* Called at each time, in the order given, from the thread that called wisp_evolve: psi is psi(time[i]), and
   norm[width] the norms of its columns (1, to rounding, where opts.direction is not real). Both are there for the time
   of the call alone, and psi must not be changed. A return value other than 0 ends the evolution (WISP_ERR_CANCELLED).
 */
typedef int (*wisp_evolve_fn)(void *arg, int64_t i, const wisp_blk *psi, const double *norm);

/* f[drives] at this time, real and finite, the same on all ranks. A return value other than 0 ends the evolution
   (WISP_ERR_CALLBACK). */
typedef int (*wisp_drive_fn)(void *arg, double time, double *f);

enum { WISP_EVOLVE_STEPS = 8 };
typedef struct {
    double tolerance; /* of ||psi(t) - exact|| / ||psi(0)||, column by column; 0: 1e-10, 1e-4 in single precision */
    int depth;        /* the number of steps that are interleaved; 0: wisp_mpk chooses it. It is given */
                      /* WISP_EVOLVE_STEPS at once, or the next multiple of depth; more, where the device asks for */
                      /* that (wisp_ctx_steps_per_call). For a single time two are interleaved at most, for several */
                      /* WISP_EVOLVE_STEPS */
    int at_once;      /* times that share one sequence of vectors, each with a block of its own, 1 to 8; 0: chosen */
    int64_t cache_budget;    /* as in wisp_mpk_opts */
    wisp_bounds_opts bounds; /* of the spectrum; zero: found by Lanczos */
    wisp_evolve_fn observe;  /* may be NULL */
    void *observe_arg;       /* passed to observe() */
    wisp_offer_fn offer;     /* see state.h; before each call of wisp_mpk. May be NULL */
    void *offer_arg;         /* passed to offer() */
    wisp_state *resume;      /* a kept state, from which the run goes on, also psi(0); NULL: it begins */
    /* d of psi(t) = exp(-i d A t) psi(0), finite. 0: 1. (0, -1) is exp(-A t), which cools to the ground state */
    wisp_scalar direction;
    /* how far psi(0) may be off to begin with, as `off`, in which it counts; finite, and below the tolerance where
       direction is not real */
    double start_off;
    double *log_norm; /* [times][width] ln ||psi(time[i])||, set before observe() is called; NULL: not wanted */
    /* [times] likewise: how far psi(time[i])/||psi(time[i])||, and the logarithm of its norm, may be off. An estimate,
       no bound: what is left out of a series is bounded, for a spectrum within the bounds; but rounding is counted as
       three times the epsilon of psi's type times (4 + (halfwidth + |center|) |d t|) over the way from time to time.
       Nobody has proven that; random cases against long double arithmetic stay below it
       (tests/test_evolve_rounding.c). NULL: not wanted */
    double *off;
    /* of psi(0), finite: time[], and times in messages, are those of the same clock, and psi(t) is exp(-i d A (t -
       start_time)) psi(0) */
    double start_time;
    /* 1: A = H - iW need not be Hermitian, see wisp_evolve. `bounds` are those of H = (A + A^H)/2, and `absorption`
       those of W = i(A - A^H)/2, of either sign, halfwidth 0 among them if they are given; zero: found. 0: A is
       Hermitian */
    int non_hermitian;
    wisp_bounds_opts absorption;
    int drives;                   /* above 0: H(t) = A + sum of f_j(t) drive[j], see wisp_evolve. 0: A alone */
    const wisp_mat *const *drive; /* [drives] Hermitian, on A's map */
    wisp_drive_fn drive_at;       /* tells f */
    void *drive_arg;              /* passed to drive_at() */
    int64_t breaks;               /* times where f or its derivatives jump: steps end there */
    const double *break_at;       /* [breaks], finite, in any order; may be NULL if there are none */
    double longest_step;          /* of f, in time, finite; 0: the estimate of the error alone decides */
    int64_t bytes; /* that may be held besides A and psi: fewer times share one sequence where more take more, unless */
                   /* at_once tells how many. One sequence of one time is tried in any case. 0: no limit */
} wisp_evolve_opts;

typedef struct {
    wisp_bounds bounds;
    int64_t done;              /* times that were reached */
    int64_t sequences, sweeps; /* over the matrix */
    int depth;                 /* 1: one sweep after the other */
    double seconds, flops;     /* of the evolution alone */
    double bounds_seconds;
    wisp_bounds absorption; /* of W, where A need not be Hermitian: norms lose their share at rates in there; else 0 */
    int64_t steps, refused; /* of H(t): that were taken, and that were tried and were too long; else 0 */
} wisp_evolution;

/* Time evolution under a Hermitian matrix A: psi(t) = exp(-i A t) psi(0) at time[times], finite times in any order, by
   Chebyshev polynomials (Tal-Ezer and Kosloff 1984). psi is a complex block on A's map (also for a real matrix), of any
   width; it is psi(0) first, and psi at the last time afterwards. The number of terms follows from opts->tolerance.
   opts->observe is called with each psi(time[i]). e and opts may be NULL, time too if there are no times. e need not
   be initialised; it is written when the call returns. 1 + at_once blocks like psi are held
   meanwhile; where several times go at once, 6 more, unless opts->bytes is too few for these. That is of each rank, the
   one with least decides, and a call that goes on takes as many times at once as before.
   Where opts->direction, d, is not real, nothing keeps the norm: columns are scaled to norm 1 all the way, so that
   nothing overflows, and opts->log_norm has the logarithms of their norms. From one time to the next the scaled
   exp(-i d (A - edge) t) has norm 1 at most, edge being the end of the bounds where it is largest, and the share n of
   the norm that is left is computed. So psi is off by (what it was off before + truncation + rounding)/n, relative to
   its norm, or less, if rounding is no more than the estimate of it: that is opts->off, and a time where it is above
   opts->tolerance ends the call (WISP_ERR_PRECISION). A start that has hardly a part of what grows most, or bounds that
   are far wider than the spectrum over a long time, make n small. Truncation is bounded on a Bernstein ellipse
   (Trefethen, Approximation Theory and Approximation Practice, 2013, theorem 8.1).
   With opts->non_hermitian A = H - iW is any square matrix: H + diag(-iw) with absorbing potentials w >= 0, for
   example. opts->direction is real then. psi(t) keeps its norm, which goes at most like g(t) = exp(-t w), w being the
   end of the bounds of W where it is largest; observe is told of it, and its square over that of psi(0) is what is
   left. Faber polynomials of an ellipse around the rectangle of both bounds take the place of Chebyshev's; long times
   go in steps, with no more terms than rounding allows. opts->off is about ||psi(t) - exact||/||psi(0)||, of the worst
   column: what is left out of a series is bounded (Beckermann and Reichel, SIAM J. Numer. Anal. 47, 3849 (2009)),
   rounding is told as three times epsilon (4 + |c t| + terms exp(t (q - b))) of a sequence, which is an estimate (c, q
   and b: of the ellipse and the bounds of W, see docs/solvers.md). With rounding taken once it has to be within
   opts->tolerance, beside opts->start_off, times g(t) where that is above 1; a time where it is more ends the call
   (WISP_ERR_PRECISION). Bounds that are not given are found of both parts of A, which are assembled for that one after
   the other; an operator needs both given.
   With opts->drives H(t) = A + sum of f_j(t) drive[j] depends on time, that of opts->start_time's clock: psi(t) goes by
   steps h of exp(-i h (a H(t_1) + b H(t_2))) exp(-i h (b H(t_1) + a H(t_2))), t_1,2 = t + (1/2 -+ sqrt(3)/6) h, a, b =
   1/4 -+ sqrt(3)/6, a commutator-free Magnus integrator of fourth order (Alvermann and Fehske, J. Comput. Phys. 230,
   5930 (2011)), each exponential by a Chebyshev series on bounds that follow from those of A and of each drive. A step
   is taken as two halves, and their difference to the whole one, over 15, is about their error; half of the tolerance
   is for three times that, in shares of the time. opts->off adds it up, with what is left out of series and with
   rounding as above, where the four epsilons grow with the square root of the number of exponentials: an estimate,
   which holds where f is smooth from break to break, but for what is too narrow for looks at f: at 16384 times at
   least, evenly on the way, at 64 of each step and at 4 of each 1/halfwidth, and a step is made so short that its nodes
   tell what such looks see. opts->longest_step brings them nearer to each other. More than the tolerance ends the call
   (WISP_ERR_PRECISION); that rounding alone makes about as much over the way is said before the first step
   (WISP_ERR_ARG).
   opts->direction is 1 then, A Hermitian; depth, at_once and cache_budget are not looked at. 5 blocks like psi are held
   meanwhile, and a state is offered before each step, and in the middle of it the same one.
   WISP_ERR_NUMERIC: also if norms grow beyond all numbers of psi's type. With opts->resume psi(0) is of no interest;
   times and options must be as they were, but for depth and cache_budget; observe is called for times alone that had
   not been observed when the state was offered. After a failure psi holds anything, and e->done times have been
   observed. WISP_ERR_ARG: also if rounding alone would exceed the tolerance. WISP_ERR_BOUNDS: the norm was not kept (or
   is more than g(t)), or a Chebyshev vector grew, so that eigenvalues lie outside the bounds. WISP_ERR_CANCELLED: the
   call was cancelled, or observe() or offer() ended it. WISP_ERR_MISMATCH: psi is on another map, or opts->resume is of
   another call. WISP_ERR_HERMITIAN and WISP_ERR_NUMERIC: as in wisp_bounds_find; the latter also if psi is not finite,
   or has a column of zeros that is to be scaled. */
WISP_SIZED wisp_status wisp_evolve(wisp_evolution *e, const wisp_mat *A, wisp_blk *psi, int64_t times,
                                   const double *time, const wisp_evolve_opts *opts);

/* *plan becomes what wisp_evolve will take, for psi of this type (DEFAULT: complex, of A's precision) and width. A and
   step: as in wisp_mpk_plan, for these columns. Products, sweeps and seconds are told, about, only where opts.bounds
   are given, and of H(t) never; those that find bounds are not counted. Where they are not, neither the length of the
   series is known, nor how many times are best at once: bytes are then those of one of them, unless opts.at_once tells,
   and bytes_most is for 2^20 terms at most (8 bytes for each further term, and each of the times at once). Statuses as
   of wisp_evolve for such arguments. */
WISP_SIZED wisp_status wisp_evolve_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                        int width, int64_t times, const double *time, const wisp_evolve_opts *opts,
                                        const wisp_choice *step);

/* ---- thermal pure states --------------------------------------------------------------------- */

/* Of exp(-A/2T)|r>, |r> a random vector of norm 1: ln of its norm, and of the state of norm 1 <A> and the root of
   <(A - <A>)^2>. It never changes. */
typedef struct {
    double log_norm, energy, spread;
} wisp_cooled_state;
enum { WISP_COOL_WIDTH = 8 }; /* states at once */
typedef struct {
    int64_t temperatures;      /* 1 at least */
    const double *temperature; /* [temperatures] in the unit of A (k_B = 1), above 0 and finite, from the highest on; */
                               /* wisp_cool_plan does not look at them */
    int64_t vectors;           /* R random vectors; 0: 32 */
    int64_t first_vector;      /* number of the first random vector */
    uint64_t seed;
    wisp_bounds_opts bounds; /* of the spectrum; zero: found by Lanczos */
    wisp_offer_fn offer;     /* see state.h; before each step. May be NULL */
    void *offer_arg;         /* passed to offer() */
    wisp_state *resume;      /* a kept state, from which the run goes on, by the bounds that it has; NULL: it begins */
} wisp_cool_opts;
/* The arrays belong to the struct, until wisp_cooled_free; they do not belong to a context, and may outlive it. */
typedef struct {
    int64_t rows, temperatures, vectors;
    int64_t done;             /* vectors, the first ones, that have come to all temperatures */
    double *temperature;      /* [temperatures] */
    wisp_cooled_state *state; /* [temperatures][vectors] */
    double *off;              /* [temperatures][2] how far all steps so far, and the last one, may have made a state */
                              /* off, over its norm (wisp_evolve_opts.off), of the worst one */
    wisp_bounds bounds;
    wisp_type type; /* of the states */
    int64_t sweeps; /* over the matrix, of all steps */
} wisp_cooled;

/* Cools random vectors |r> to exp(-A/2T)|r>, thermal pure states (Sugiura and Shimizu, Phys. Rev. Lett. 111, 010401
   (2013)), at each temperature of a Hermitian A: WISP_COOL_WIDTH of them at once, complex in A's precision, by
   wisp_evolve in imaginary time. A step leaves exp(-3) of the norm at least, and states are scaled to norm 1 each time,
   so that they keep their digits down to the ground state, however little of Z is left; moments have those of a trace
   over all states. How many sweeps it takes hangs on the energies that states come to. c need not be initialised; after
   a failure it is empty, but for a cancelled call, after which the first c->done vectors are whole. The caller frees it
   with wisp_cooled_free. With opts->resume temperatures, vectors and seed must be as they were. A temperature by which
   no digit would be left in A's precision is no failure here: wisp_cooled_ensemble refuses it. WISP_ERR_ARG: also for
   temperatures that are not positive, or rise. WISP_ERR_CANCELLED: the call was cancelled, or offer() ended it.
   WISP_ERR_MISMATCH: opts->resume is of another call. WISP_ERR_BOUNDS, HERMITIAN and NUMERIC: as of wisp_evolve. */
WISP_SIZED wisp_status wisp_cool(wisp_cooled *c, const wisp_mat *A, const wisp_cool_opts *opts);
/* *plan becomes what wisp_cool will take, for a matrix of which these facts are known (as in wisp_mpk_plan). Products,
   sweeps and seconds are not known before (NaN). Statuses as of wisp_cool for such arguments. */
WISP_SIZED wisp_status wisp_cool_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                      const wisp_cool_opts *opts);
/* NULL and an empty struct are accepted. */
WISP_SIZED void wisp_cooled_free(wisp_cooled *c);
/* *e becomes the canonical ensemble at temperature number `temperature`, as of wisp_thermal, by the c->done vectors
   that are whole: Z is the number of rows times the mean of the squared norms, E, C and S ratios of such means, errors
   those of the jackknife (NaN of one vector), and bars as there. e->beside adds up what steps made states off, which
   grows at most as a state loses norm beside the coldest one: an estimate. e->terms is 0: there are no moments. opts
   may be NULL; precisions in it are those of states. WISP_ERR_ARG: also for a number that c has no temperature of, or
   where no vector is whole. WISP_ERR_NUMERIC: e->beside, which the message tells, is more than opts->tolerance. */
WISP_SIZED wisp_status wisp_cooled_ensemble(wisp_ctx *ctx, const wisp_cooled *c, const wisp_thermal_opts *opts,
                                            int64_t temperature, wisp_ensemble *e);

#ifdef __cplusplus
}
#endif
#endif
