/* What the run of an evolution and its plan share: options, and which times go together. */
#ifndef WISP_EVOLVE_H
#define WISP_EVOLVE_H
#include "../solver.h"

enum { WISP__MOST_AT_ONCE = 8, WISP__EVOLVE_TERMS = WISP_SCALE | WISP_SHIFT | WISP_AXPBY };

/* The times that share one sequence. */
typedef struct {
    int count;
    int64_t first;                     /* number of the first time */
    bool between;                      /* the one is on the way to the first time, and no time of the caller's */
    double at[WISP__MOST_AT_ONCE];     /* the times */
    int64_t terms[WISP__MOST_AT_ONCE]; /* of the series of each */
    int64_t most;
    double *J[WISP__MOST_AT_ONCE];      /* Bessel functions; or, where the direction of time is not real, */
    wisp_scalar *c[WISP__MOST_AT_ONCE]; /* all but the phase of the coefficients */
    wisp_scalar phase[WISP__MOST_AT_ONCE];
    double growth[WISP__MOST_AT_ONCE]; /* logarithm of what the series lacks as a factor */
} wisp__evolve_group;

/* absorb.c: a matrix that need not be Hermitian, and what its evolution goes by. */
typedef struct {
    bool on;
    wisp__ellipse ellipse;
    double scale;             /* opts.direction, by which times are multiplied */
    double center, halfwidth; /* of W */
    double longest;           /* time of a sequence */
    double share;             /* truncation of a sequence, over the most that the norm may become */
    double *start, *base;     /* [width] norms of psi(0) and psi(base) */
    double *off, *counted;    /* [width] how far that is off, in all: as it is told; with rounding as it is about */
    int width;
} wisp__absorbed;

/* What the choice of a group goes by. */
typedef struct {
    const wisp__absorbed *absorbed; /* NULL: the matrix is Hermitian */
    int64_t times;
    const double *time;
    double start; /* the time of psi(0) */
    int at_once;  /* 0: chosen */
    int most;     /* at once, as memory allows, */
    bool little;  /* and that hardly: wisp__bank_open */
    wisp_scalar direction;
    double halfwidth, tolerance /* of one sequence */, sweep_bytes, z_bytes;
    bool given; /* the bounds are */
} wisp__evolve_times;

/* The times from number `first` on that share one sequence from psi(base): without J and phase. */
void wisp__evolve_choose(const wisp__evolve_times *t, int64_t first, double base, wisp__evolve_group *g);
/* Where the direction is not real the norm is not kept. */
static inline bool wisp__evolve_damps(const wisp_evolve_opts *o) { return o->direction.im != 0; }
/* Steps that wisp_mpk is given at once. */
static inline int wisp__evolve_steps(wisp_ctx *ctx, int depth)
{
    const int d = depth > 0 ? depth : 1;
    return wisp__steps_of(ctx, (WISP_EVOLVE_STEPS + d - 1) / d * d);
}
/* t->most becomes the number of times that fit in o->bytes on this rank, 1 at least; or (most > 0) is that already, and
   t->little alone is found. t->halfwidth, or t->absorbed, is
   set if the bounds are known. */
wisp_status wisp__evolve_most(wisp__evolve_times *t, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                              const wisp_evolve_opts *o);
/* The truncation that is allowed one of so many sequences. */
double wisp__evolve_share(const wisp_evolve_opts *o, wisp_type type, int64_t times);
/* Checks options, with the tolerance and the direction filled in, and times, for psi of this type. */
wisp_status wisp__evolve_check(wisp_ctx *ctx, wisp_evolve_opts *o, wisp_type type, int64_t times, const double *time);
/* What is asked of wisp_bounds_find, where `of` is opts.bounds or opts.absorption. */
wisp_bounds_opts wisp__evolve_bounds_opts(const wisp_evolve_opts *o, const wisp_bounds_opts *of, int width,
                                          int64_t times, const double *time);
/* *rounding becomes what rounding does, in all: the matrix itself is known to its rounding only, and so are the phases
   h t and c t. WISP_ERR_ARG: it is more than the tolerance. */
wisp_status wisp__evolve_rounding(wisp_ctx *ctx, const wisp_evolve_opts *o, const wisp_bounds *b, wisp_type type,
                                  int64_t times, const double *time, double *rounding);
/* That of one step of so much time. */
double wisp__evolve_rounding_of(const wisp_evolve_opts *o, const wisp_bounds *b, wisp_type type, double time);
/* The norms of psi's columns, which must be finite. */
wisp_status wisp__evolve_start(const wisp_blk *psi, double *norm);
/* WISP_ERR_NUMERIC: products with a column of this norm leave what its type holds, for so much time and on these
 * bounds. */
wisp_status wisp__evolve_fits(const wisp_blk *psi, const double *norm, const wisp_bounds *b, double t,
                              double tolerance);
/* What is told of it is so many times as much: of center and halfwidth, an entry, the center, the product with each,
   the time, and the phase or the growth are rounded by up to half an epsilon each, and where a state is at the edge of
   the bounds, all in the same way in each step; sums of long rows may add to it. A constant error E of H changes exp(-i
   d H t), at most 1 on the bounds, by |d t| E at most. */
enum { WISP__ROUNDING_MOST = 3 };

/* From the start to the time that is farthest from it; and from time to time, in all. */
double wisp__evolve_reach(double start, int64_t times, const double *time);
double wisp__evolve_path(double start, int64_t times, const double *time);
/* evolve_group.c: coefficient k of time i of a wisp__evolve_group; 0 behind the last one. */
wisp_scalar wisp__evolve_coefficient(const void *group, int i, int64_t k);
/* Times as an item of a state: they have to be the same. */
wisp_status wisp__evolve_same_times(wisp_ctx *ctx, int64_t times, const double *time, wisp_state *state);

enum { WISP__DRIVEN_BLOCKS = 4 }; /* like psi, besides it */
/* driven.c: H(t). opts->drives is above 0; *e is empty. */
wisp_status wisp__evolve_driven(wisp_evolution *e, const wisp_mat *A, wisp_blk *psi, int64_t times, const double *time,
                                const wisp_evolve_opts *opts);

/* absorb.c */
/* The logarithm of the most that the norm can grow by over so much time. */
double wisp__absorbed_growth(const wisp__absorbed *s, double time);
int64_t wisp__absorbed_terms(const wisp__absorbed *s, double time);
/* What is left out, which is proven, and so many times what rounding adds about, of one sequence, over the norm of its
   start and that growth. */
double wisp__absorbed_made(const wisp__absorbed *s, wisp_type type, double time, double roundings);
/* The ellipse and the steps for these times, from the bounds of both parts; WISP_ERR_ARG: rounding alone would exceed
   the tolerance. */
wisp_status wisp__absorbed_choose(wisp__absorbed *s, wisp_ctx *ctx, const wisp_evolve_opts *o, const wisp_bounds *H,
                                  const wisp_bounds *W, wisp_type type, int64_t times, const double *time);
/* c[k], k < n, of the series of so much time. */
wisp_status wisp__absorbed_series(const wisp__absorbed *s, wisp_ctx *ctx, double time, int64_t n, wisp_scalar *c);
wisp_status wisp__absorbed_open(wisp__absorbed *s, wisp_ctx *ctx, int width);
void wisp__absorbed_close(wisp__absorbed *s, wisp_ctx *ctx);
/* psi is psi(0), which may be off by so much of its norm. */
wisp_status wisp__absorbed_begin(wisp__absorbed *s, wisp_blk *psi, double off);
/* A Faber vector of a sequence: WISP_ERR_BOUNDS if it is too long. */
wisp_status wisp__absorbed_check(const wisp__absorbed *s, const wisp_blk *v, double *norm);
/* z is psi, so much time after the base: its norms, and how far it is off at most; keep: the base moves there. Time
   number i of the caller's, or none (-1). */
wisp_status wisp__absorbed_take(wisp__absorbed *s, const wisp_evolve_opts *o, wisp_blk *z, int64_t i, double at,
                                double passed, bool keep, double *norm);
wisp_status wisp__absorbed_items(wisp__absorbed *s, wisp_state *state, wisp__evolve_group *g);
/* absorb_bounds.c */
wisp_status wisp__absorbed_check_options(wisp_ctx *ctx, const wisp_evolve_opts *o);
/* Bounds of both parts, found or given: `o` of H, and options->absorption of W. */
wisp_status wisp__absorbed_bounds(wisp_bounds *H, wisp_bounds *W, const wisp_mat *A, const wisp_bounds_opts *of_H,
                                  const wisp_bounds_opts *of_W);
/* Bytes, about and at most, that are held until they are there. */
wisp_status wisp__absorbed_bounds_bytes(wisp_ctx *ctx, const wisp_mat_info *A, const wisp_bounds_opts *of_H,
                                        const wisp_bounds_opts *of_W, double *about, double *most);

/* damped.c: states whose norm is not kept. */
typedef struct {
    int width;
    const wisp_evolve_opts *o;
    double *log_norm, *off; /* [width] of psi: the logarithm of its norm, and how far it is off, over its norm */
    double *left;           /* [width] the logarithm of its norm over what it could be at most */
    double *own_norm;       /* [width] room for norms */
    wisp_scalar *factor;    /* [width] room for factors */
} wisp__damped;
wisp_status wisp__damped_open(wisp__damped *d, wisp_ctx *ctx, const wisp_evolve_opts *o, int width);
void wisp__damped_close(wisp__damped *d, wisp_ctx *ctx);
/* psi becomes of norm 1 in all columns. */
wisp_status wisp__damped_begin(wisp__damped *d, wisp_blk *psi);
/* A state z that comes of psi, whose scaled series lacks exp(growth), with so much truncation and rounding, becomes of
   norm 1; norm[width] is 1, too. keep: psi moves there. */
wisp_status wisp__damped_take(wisp__damped *d, wisp_blk *z, int64_t i, double time, double growth, double made,
                              bool keep, double *norm);
wisp_status wisp__damped_items(wisp__damped *d, wisp_state *state);

/* cool_plan.c: checks options, with the number of vectors filled in. */
wisp_status wisp__cool_check(wisp_ctx *ctx, wisp_cool_opts *o);
static inline int wisp__cool_width(int64_t vectors)
{
    return vectors < WISP_COOL_WIDTH ? (int)vectors : WISP_COOL_WIDTH;
}
static inline double wisp__cool_time(double temperature) { return 0.5 / temperature; }
#endif
