/* The solvers share this: bounds, options and steps of the kernel polynomial method; Chebyshev series. */
#ifndef WISP_SOLVER_H
#define WISP_SOLVER_H
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <wisp/wisp.h>

/* Random streams: every use of random numbers has its own. */
enum {
    WISP__STREAM_TRACE = 0,
    WISP__STREAM_LANCZOS = 1,
    WISP__STREAM_EIG = 3,
    WISP__STREAM_SOLVE = 4,
    WISP__STREAM_SVD = 5
};

/* Steps of a call of wisp_mpk, where so many would do: as many times these as the device asks for. */
static inline int wisp__steps_of(wisp_ctx *ctx, int steps)
{
    const int asked = wisp_ctx_steps_per_call(ctx);
    return asked > steps ? (asked + steps - 1) / steps * steps : steps;
}

/* What is asked of wisp_bounds_find by a solver whose options have `o`: what they leave open is the solver's. */
wisp_bounds_opts wisp__bounds_opts(const wisp_bounds_opts *o, uint64_t seed, double sweeps, double sweeps_per_halfwidth,
                                   int width);
/* wisp_bounds_find; the matrix has to be Hermitian also where bounds are given. */
wisp_status wisp__hermitian_bounds(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *o);
/* The same of a stored matrix whose values are above 0, as one hopes: a lower bound that is no less than half of the
   lowest value, if that is above about a thousandth of the largest. */
wisp_status wisp__positive_bounds(wisp_bounds *bounds, const wisp_mat *A, const wisp_bounds_opts *o);
/* Whether bounds of such a matrix can be come by that way, as far as the options say. */
wisp_status wisp__check_bounds(wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *o);
/* So many T_n of a sequence are made at least, so that their last one shows whether the bounds hold: a small part of a
   vector far outside makes them longer than it only after some steps. Bounds that were found need none of this. */
static inline int64_t wisp__least_vectors(bool given) { return given ? 1 + WISP_CHEBYSHEV_STEPS : 1; }
/* What else than "take wider opts.bounds" may be done where these do not hold: given ones can be left away. */
static inline const char *wisp__or_none(const wisp_bounds *b)
{
    return isnan(b->failure_probability) ? ", or none, so that they are found" : "";
}
/* T_n of an eigenvalue at the very edge of the bounds may be as large as cosh(n a), with this a: matrix and products
   are known to their rounding alone, a share of |center| + halfwidth. */
double wisp__rounded_edge(const wisp_bounds *b, const wisp_mat *A, wisp_type type);
/* What a refusal says besides where rounding alone may be the cause. */
static inline const char *wisp__or_rounding(bool may_be)
{
    return may_be ? "; rounding alone may do so, too, less in double precision and with a center near 0" : "";
}
/* Names how bounds are come by, which has to be the same in a call that goes on. */
wisp_status wisp__same_bounds(wisp_state *state, const char *name, const wisp_bounds_opts *o);

/* Bytes, about and at most, that are held until a solver for Hermitian matrices has its bounds, found with these
   options or given: to look at the entries, and to run Lanczos. */
wisp_status wisp__bounds_bytes(wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *o, double *about,
                               double *most);

/* The matrix's properties, those of an operator by its user's word; or a refusal that names the row: it must be finite.
   who: what the message begins with, as "eig: ". */
wisp_status wisp__require_finite(const wisp_mat *A, const char *who, wisp_mat_props *props);
/* Likewise; it must be square and exactly Hermitian, too. */
wisp_status wisp__require_hermitian(const wisp_mat *A, wisp_mat_props *props);

/* What a product with so many columns holds at most for the rows that ranks send each other. */
static inline double wisp__exchange_bytes(const wisp_mat_info *A, wisp_type type, int width)
{
    return (double)(A->send_rows + A->halo_rows) * width * (double)wisp_type_size(type);
}
static inline int wisp__is_single(wisp_type type) { return type == WISP_S || type == WISP_C; }
/* So far a factor of this type, a power of 2, can take a number in one go: its exponent, or minus that. */
static inline int wisp__most_exponent(wisp_type type) { return wisp__is_single(type) ? 120 : 1000; }
/* Real or complex as `type`, in the precision of the other one. */
static inline wisp_type wisp__type_in(wisp_type precise, wisp_type type)
{
    const int is_complex = wisp_type_is_complex(type);
    return wisp__is_single(precise) ? (is_complex ? WISP_C : WISP_S) : is_complex ? WISP_Z : WISP_D;
}

/* Whether steps with a factor of 2/halfwidth can be taken in vectors of this type; the refusal if they can't. */
static inline bool wisp__scale_fits(wisp_type type, double halfwidth)
{
    const double most = wisp__is_single(type) ? FLT_MAX : DBL_MAX;
    return halfwidth >= 64 / most;
}
wisp_status wisp__check_scale(wisp_ctx *ctx, wisp_type type, double halfwidth);

/* wisp_kpm, whose progress has this name; with bounds that were found for this matrix (NULL: by the options). */
wisp_status wisp__kpm(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *opts, const wisp_bounds *bounds,
                      const char *task);
/* Of the call that finds exact moments: those of the first vector, some of them, with vectors in double precision. */
wisp_kpm_opts wisp__kpm_exact_opts(const wisp_kpm_opts *full);
/* Sets m->rounding, by these and the vectors that m has so far, and refuses more than full->rounding_limit. */
wisp_status wisp__kpm_rounding(wisp_moments *m, const wisp_moments *exact, wisp_ctx *ctx, const wisp_kpm_opts *full);

void wisp__kpm_defaults(wisp_kpm_opts *full, wisp_type matrix_type, const wisp_kpm_opts *opts);
/* Every default filled in, every option checked against the matrix; all but the bounds. opts may be NULL. */
wisp_status wisp__kpm_options(wisp_kpm_opts *full, const wisp_mat *A, const wisp_kpm_opts *opts);
/* Vectors of the whole run, and columns of its blocks. */
int64_t wisp__kpm_vectors(const wisp_kpm_opts *full, int64_t rows);
int wisp__kpm_width(const wisp_kpm_opts *full, int64_t vectors);
/* Of a call of wisp_mpk: its steps, and the depth that it is given. */
typedef struct {
    int steps, depth;
} wisp__kpm_call;
wisp__kpm_call wisp__kpm_call_of(wisp_ctx *ctx, const wisp_kpm_opts *full, int64_t vectors);

/* Factors of step m, from T_m to T_m+1 of (A - c)/h: a (A - c) v begins, then 2a (A - c) v - w, a = 1/h. */
void wisp__chebyshev_step(const wisp_bounds *b, int64_t m, wisp_scalar *alpha, wisp_scalar *beta, wisp_scalar *gamma);
/* Jackson's damping of term n of N: a series of so many terms, damped so, of f lies between the least and the largest
 * f. */
double wisp__jackson(double n, double N);
/* The damping of term n of N by any of the kernels. */
double wisp__damping(wisp_damping kernel, double lambda, double n, double N);
/* faber.c: an ellipse with half axes p along the real and q along the imaginary direction. */
typedef struct {
    wisp_scalar center;
    double p, q; /* not both 0 */
} wisp__ellipse;
/* Factors of step m, from F_m to F_m+1. */
void wisp__faber_step(const wisp__ellipse *e, int64_t m, wisp_scalar *alpha, wisp_scalar *beta, wisp_scalar *gamma);
/* Least n for which the terms from n on of the Faber series of exp(-i t (A - center)), A with a numerical range in the
   ellipse, are together at most exp(most) tolerance; a = |t| p, c = |t| q. */
int64_t wisp__faber_terms(double a, double c, double most, double tolerance);
/* Its coefficients are (-i)^k j[k] exp(c), k < n, for t > 0, and i^k j[k] exp(c) for t < 0; c is 300 at most. */
void wisp__faber_series(double a, double c, int64_t n, double *j);

/* bank.c: vectors of a sequence that are kept until all sums have their share of them, in one pass: a row of a sum
   comes and goes once for so many terms, and not with each. All sums go by it, whatever the depth and the device, on
   which bits are not to hang. */
enum { WISP__BANK = 8, WISP__BANK_BLOCKS = WISP__BANK - 2 }; /* terms; blocks beside the two of a recurrence */
typedef struct wisp__bank wisp__bank;
/* What a term of a sum moves there, of what it does where each comes and goes with each term: measured, for a pass has
   its arithmetic, too. */
#define WISP__BANK_SHARE 0.25
/* For so many sums and blocks like v. little: two steps go at once, and no block is held. */
wisp_status wisp__bank_open(wisp__bank **bank, const wisp_blk *v, int sums, bool little);
/* Whether it is for blocks like v: a sequence may begin anew with others. */
bool wisp__bank_fits(const wisp__bank *bank, const wisp_blk *v);
void wisp__bank_close(wisp__bank *bank);
/* Steps at once for so many sums: WISP__BANK, or two, of a single one or where memory is short. */
wisp_status wisp__bank_most(wisp__bank *bank, const wisp_blk *v, int sums, int *most);
/* At most so many steps, o->steps, from v[0], v[1] as by wisp_mpk with two blocks, with the sums of o. */
wisp_status wisp__bank_steps(wisp__bank *bank, wisp_blk *const v[2], const wisp_mat *A, const wisp_mpk_opts *o);
double wisp__bank_bytes(int width, int sums); /* beside its blocks */

/* chebyshev_sum.c: z_i = sum over k < terms of coefficient(i, k) T_k((A - c)/h) v, i < sums, which share one sequence
   of vectors. */
typedef struct {
    const wisp_mat *A;
    const wisp_bounds *bounds;
    wisp_blk *v, *w;     /* T_step v and the one before; they change places */
    wisp_blk *const *z;  /* [sums] */
    int sums, steps;     /* steps: at most, between two looks */
    int most_sums;       /* of all sequences */
    int64_t terms, step; /* terms of the longest sum; those up to `step` are in the sums */
    wisp_scalar (*coefficient)(const void *arg, int i, int64_t k); /* 0 behind the last of sum i */
    const void *arg;
    int depth, depth_used; /* as in wisp_mpk_opts; the largest that was taken */
    int64_t cache_budget;
    const wisp__ellipse *ellipse; /* its Faber polynomials instead of T_k; NULL: T_k */
    wisp_scalar *factor;          /* [3 + sums at most][steps] alpha, beta, gamma; those of the sums */
    wisp__bank *bank;             /* NULL: there is none yet */
    bool little;                  /* memory, for a bank */
} wisp__chebyshev_sum;
/* Memory for its calls; all that comes before `step` is set, but for what differs from sequence to sequence. */
wisp_status wisp__chebyshev_sum_open(wisp__chebyshev_sum *s, int most_sums, int steps);
void wisp__chebyshev_sum_close(wisp__chebyshev_sum *s);
/* The terms of T_0 v = v; then, again and again while step + 1 < terms, those of the next steps, *count of them. */
wisp_status wisp__chebyshev_sum_begin(wisp__chebyshev_sum *s);
wisp_status wisp__chebyshev_sum_next(wisp__chebyshev_sum *s, int *count);
/* (Not with an ellipse.) Behind the last term: WISP_ERR_BOUNDS if v has become longer than it was, start[width], so
   that the spectrum leaves the bounds. norm[width] becomes the norms of v. */
wisp_status wisp__chebyshev_sum_check(const wisp__chebyshev_sum *s, const double *start, double *norm);
/* Bytes of such a sum: of blocks, of which there are so many besides those of the caller's, products, factors and
 * norms. */
typedef struct {
    int blocks, sums, most_sums, steps, depth;
    bool little; /* as above */
} wisp__chebyshev_size;
wisp_status wisp__chebyshev_sum_bytes(wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                                      const wisp__chebyshev_size *size, double *about, double *most);

/* Least n for which the terms from n on of the Chebyshev series of exp(-i x E), |E| <= 1, are together at most
   tolerance; at least 1. */
int64_t wisp__chebyshev_terms(double x, double tolerance);
/* The same for exp(-i z E - |Im z|), which is 1 at most. */
int64_t wisp__chebyshev_terms_of(wisp_scalar z, double tolerance);
/* c[k], k < n: its coefficients, to a few rounding units times sqrt|z|. */
void wisp__exponential_series(wisp_scalar z, int64_t n, wisp_scalar *c);
/* J[k] = J_k(x), k < n: absolute errors of a few rounding units. */
void wisp__bessel(double x, int64_t n, double *J);

/* chebyshev_fit.c: a function on bounds as a Chebyshev series, of at most so many terms. */
enum { WISP__MOST_TERMS = 1 << 22 };
typedef struct {
    wisp_ctx *ctx;
    const wisp_bounds *bounds;
    int number;                                                 /* of the function, for messages */
    bool takes_complex;                                         /* whether it may be complex */
    int (*value)(void *arg, double energy, wisp_scalar *value); /* not 0: it failed. NULL: its series is given */
    void *arg;
    const wisp_scalar *c; /* [given] */
    int64_t given;
    double tolerance;      /* over the largest |f|; half of it is for the series */
    int64_t terms, points; /* of terms at most, of points at least */
    int64_t jackson;       /* above 0: so many terms, damped, whatever the tolerance */
    bool above_low;        /* value() is asked for distances from the lower bound, which have all their digits */
} wisp__fit_want;
/* The series of f 2^-exponent, whose largest value is neither tiny nor huge. */
typedef struct {
    int64_t terms, points; /* points: at which f was looked at */
    wisp_scalar *c;        /* [terms], for wisp_free; also after a failure */
    int exponent;
    double largest, error, slope; /* |f|, |f - series| and |df/dx|, x = (E - c)/h, at the points, times 2^-exponent */
} wisp__series;
/* Fills in the defaults of tolerance, which hangs on the precision, and terms; refuses numbers that can't be
   (WISP_ERR_ARG), in words that begin with `call`. */
wisp_status wisp__fit_options(wisp__fit_want *want, const char *call, bool single);
wisp_status wisp__check_range(wisp_ctx *ctx, const char *call, const char *option, int64_t is, int64_t least,
                              int64_t most);
/* WISP_ERR_CALLBACK, NUMERIC: value() failed, or is not finite; ARG: f is complex and may not be, or the tolerance is
   not met. */
wisp_status wisp__fit(wisp__series *s, const wisp__fit_want *want);
/* A number that all coefficients of n series make; whether it is the same on all ranks (WISP_ERR_MISMATCH), or they
   would make other sums. */
uint64_t wisp__series_hash(const wisp__series *s, int n);
wisp_status wisp__series_agree(wisp_ctx *ctx, const wisp__series *s, int n);
/* Points at which it is looked at, for a series of at most so many terms; bytes that are held meanwhile. */
double wisp__fit_points(const wisp__fit_want *want, double terms);
double wisp__fit_bytes(double points);
/* The exponent of x, if that is beyond -+ slack: as far as `most`. Else 0. */
int wisp__exponent(double x, int slack, int most);

static inline wisp_scalar wisp__real(double x) { return (wisp_scalar){x, 0}; }
/* The root of a sum of squares, which rounding may have made negative: 0 then. Not finite: neither is the root. */
static inline double wisp__root(double square) { return sqrt(square < 0 && square >= -DBL_MAX ? 0 : square); }
/* v becomes number i of an array of this type. */
static inline void wisp__put(wisp_type type, void *array, int64_t i, wisp_scalar v)
{
    double *d = array;
    float *f = array;
    switch (type) {
    case WISP_S: f[i] = (float)v.re; break;
    case WISP_D: d[i] = v.re; break;
    case WISP_C: f[2 * i] = (float)v.re, f[2 * i + 1] = (float)v.im; break;
    default: d[2 * i] = v.re, d[2 * i + 1] = v.im;
    }
}

/* ---- overlap.c, pencil.c ---- */

/* What wisp_overlap_matrix made C of. Its values are those of A x = lambda S x, and (C - shift)^-1 = T^1/2 (2^-exponent
   (A - shift S))^-1 T^1/2, T = 2^-exponent S, whose numbers are about 1. */
enum { WISP__PENCIL_WIDTH = 128 }; /* columns that are multiplied at once, at most */
typedef struct {
    wisp_overlap *overlap;
    const wisp_mat *A, *S;
    int exponent;
    double error, condition; /* of S^-1/2, as wisp_overlap_info has it; of S, by its bounds, at most, or by factors */
    int64_t terms;
    bool rootless; /* roots are made where they have to be alone: what can, goes by factors of S */
} wisp__pencil;
/* false: C was not made by wisp_overlap_matrix. */
bool wisp__pencil_of(const wisp_mat *C, wisp__pencil *p);
/* Makes its roots, if that is left. */
wisp_status wisp__pencil_ready(const wisp__pencil *p);
/* Of S, where there are no bounds of it. */
void wisp__pencil_take_condition(wisp__pencil *p, double condition);
/* y = T^1/2 x, of columns not far from 1; y may be x. It takes eigenvectors of the pencil, orthonormal by T, to those
   of C; and the other one, y = T^-1/2 x, these to those. */
wisp_status wisp__pencil_root(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x);
wisp_status wisp__pencil_inverse_root(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x);
/* y = T x, and y = (2^(by - exponent) A - shift_j T) x, shift[width] (NULL: 0): no roots. */
wisp_status wisp__pencil_times_S(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x);
wisp_status wisp__pencil_times(const wisp__pencil *p, wisp_blk *y, const wisp_blk *x, int by, const wisp_scalar *shift);
/* Over the largest |lambda|: as far as products with C, with so large rounding errors, may take values from those that
   factors of A - shift S show; a tenth at most. */
double wisp__pencil_rounding(const wisp__pencil *p, double eps);
/* Whether eigenvalues within such a halfwidth of their middle are one value, as far as bounds and that rounding tell.
 */
bool wisp__pencil_of_one(double halfwidth, double largest, double roots);

/* ---- means.c ---- */

/* The vectors that enter: all (-1), or one. */
typedef struct {
    int64_t first, count;
    wisp_trace trace;
} wisp__chosen;
wisp__chosen wisp__choose(const wisp_moments *m, int64_t vector);
/* Mean over random vectors with its standard error; sum over sites, which is exact. value[i * stride]. */
double wisp__combine(const wisp__chosen *c, const double *value, int64_t stride, double *error);
#endif
