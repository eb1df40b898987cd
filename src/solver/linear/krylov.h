/* What the methods of wisp_solve share: the state of a run, its passes over blocks, its reductions. */
#ifndef WISP_KRYLOV_H
#define WISP_KRYLOV_H
#include <complex.h>
#include <math.h>
#include "precond.h"
#include "../solver.h"

/* A column that is still in the blocks. Norms are squared. */
typedef struct {
    int of;             /* its number in b */
    int b_exponent;     /* methods see b times 2^b_exponent: solve_scale.c */
    bool done;          /* has ended, or needs nothing: no step changes it */
    bool claimed;       /* within the tolerance by the recurrence: left alone until that is verified */
    bool behind;        /* and steps have gone on without it */
    bool waits;         /* for the host: no more of the steps that are queued change it */
    wisp_status broken; /* by a step that can't go on: why; WISP_OK: it can */
    double bb, rr;      /* |b|^2; |r|^2 by the recurrence */
    double target;      /* |r|^2 that is enough */
    double verified;    /* |r|^2 when it was computed from x last */
    double best;        /* the least such, that of the block `best` */
    int stalls;         /* times that it was not less than before */
    bool given;         /* the user has the x that is verified */
    bool moved;         /* x has just become one that the method kept: its vectors do not fit */
    bool from_zero;     /* it began from 0 anew, and has not met a better x than the best yet */
    double ratio;       /* |r|^2 over that of the method's own r, which is M^-1 r where M^-1 is on the left; else 1 */
    /* |r|^2 of the method's own r where M^-1 is on the left: of the x that was verified last; of that of `best`; and
       the least that was computed from x. On the left |r| may rise for long while this falls. */
    double own_r, own_best, own_least;
    double least;     /* |r|^2 by the recurrence when it was last a tenth of the one before */
    int64_t least_at; /* the iteration of that */
    int64_t iterations;
    int64_t proving; /* steps of all its proofs: see singular.c */
    /* The last proof by A z = A r that failed: |r|^2 then, the steps that it might take, and what it knew at last. */
    double tried, tried_part;
    int64_t tried_most;
} wisp__krylov_column;

/* The longest restart, and the most vectors that are made at once; the most shadow vectors; how often a residual may be
   no less than before. */
enum { WISP__MOST_RESTART = 500, WISP__AHEAD = 4, WISP__MOST_SHADOW = 64, WISP__MOST_STALLS = 3 };

/* What is asked of a method. It stands in a file of its own and in the list of solve_opts.c: no other one names it.
   Where an entry may be NULL, what that means is said last. */
typedef struct wisp__krylov wisp__krylov;
typedef struct {
    const char *name;
    const char *general;  /* what to take where A is not Hermitian, as it has to be; it need not */
    const char *definite; /* what to take where M^-1 is not Hermitian positive definite, as it has to be; it need not */
    const char *instead;  /* and where that is found out late */
    const char *allows;   /* why it has stagnated */
    bool chosen;          /* the first such one that takes A is the one where none is named */
    bool restarts;        /* opts.restart is of it: the vectors of its basis */
    bool sides;           /* M^-1 may be on the left: side.c */
    bool shadows;         /* opts.shadow is of it, and each cycle one iteration longer */
    unsigned variants, plain;                /* bits of those that it has alone; of those that take no preconditioner */
    wisp_variant usual;                      /* by default, without a preconditioner; 0: pipelined */
    size_t (*own)(const wisp_solve_opts *o); /* bytes of a struct of its own, for each column; none */
    int (*blocks)(const wisp__krylov *k);    /* that it needs beside x, b and r */
    int (*written)(const wisp__krylov *k);   /* the first so many of them it writes as a whole before it reads; none */
    bool (*keeps)(const wisp__krylov *k, int i); /* whether block i holds something between steps */
    int rz;                                      /* the set where <r, M^-1 r> waits between steps; 0: nowhere */
    void (*lay_out)(wisp__krylov *k);            /* k->dots and k->sets; as wisp/steps.h has them */
    int (*fuses)(const wisp__krylov *k);         /* passes of an iteration that multiply by a diagonal M^-1; none */
    /* Blocks that an iteration loads or stores beside x and y of its products, and beside its preconditioner. */
    double (*moves)(const wisp__krylov *k);
    int products; /* of an iteration, each with its preconditioner */

    wisp_status (*start)(wisp__krylov *k);  /* x and r = b - A x are there */
    wisp_status (*resume)(wisp__krylov *k); /* goes on where r was computed anew from x; by a start */
    wisp_status (*step)(wisp__krylov *k);   /* queues an iteration of all columns that are wisp__going */
    /* The host hears of so many of them, each with a record; 0: of a start; steps have told columns by themselves */
    wisp_status (*hear)(wisp__krylov *k, int iterations);
    wisp_status (*settle)(wisp__krylov *k); /* x becomes that of the last step; it is so */
    bool waits; /* vectors of a column that has ended stay as they are, so that it can go on with the others */

    double (*far)(const wisp__krylov *k); /* r is verified where |r|^2 is less than that of before times this */
    bool (*is_time)(const wisp__krylov *k, int claimed); /* to verify r: so many columns have claimed; no */
    bool (*is_stuck)(const wisp__krylov *k, const wisp__krylov_column *c); /* it gains nothing; no */
    bool (*stalls)(const wisp__krylov *k, const wisp__krylov_column *c);   /* though no step has said so; no */
    bool (*asks)(const wisp__krylov *k, const wisp__krylov_column *c);     /* for a proof, before it has ended; no */
    bool (*can_be_careful)(const wisp__krylov *k);                         /* k->careful is another way; no */
    bool gives_up; /* where a step can't go on, another start is of no use */
    bool drops;    /* where it gains no more, it goes on without its preconditioner, whose norm is another one */
    bool is_best;  /* x is its best one: a worse one is not left as it is, and a proof leaves its vectors fit */
    /* After wisp__residual: x and r become those of an x that it kept where columns end (last: all of them), or can't
       go on from here, if that is better; it keeps none */
    wisp_status (*recall)(wisp__krylov *k, bool last);
    int (*low)(const wisp__krylov *k); /* the block with an earlier x: low.c; there is none */
    wisp_method next; /* goes on with a Hermitian matrix where this one can't; WISP_METHOD_DEFAULT: none */
    bool anew;        /* and that takes neither M^-1, which may be indefinite, nor an x that is far */
    /* A may have any shape, of which A^H is there; what makes |r| least is a solution. */
    bool any_shape;
    bool (*is_short)(int i); /* whether block i is like x, not like b; they are alike */
    wisp_status (*check)(wisp_ctx *ctx, const wisp_solve_opts *o); /* its own options; it has none */
    wisp_status (*measure)(wisp__krylov *k); /* r and |r|^2 were computed from x: what columns are judged by; |r|^2 */
    void (*note)(wisp__krylov *k, const wisp__krylov_column *c); /* its x is the best so far; NULL: none of interest */
    void (*tell)(wisp__krylov *k, const wisp__krylov_column *c, bool best); /* it ends with x or the best one */
} wisp__method;

/* What survives calls: kept.c. */
struct wisp_solver {
    wisp_ctx *ctx;
    const wisp_mat *A;
    wisp_solve_opts o; /* as the user gave them; of the first call alone: resume */
    wisp_type type;
    int width;
    bool inner;                               /* of a proof */
    wisp__precond *P;                         /* NULL: there is none, or it is not made yet */
    double factor;                            /* of A, that P was made for */
    const char *definite;                     /* and what it had to be: see wisp__precond_make */
    wisp_blk *null;                           /* orthonormal vectors of which A makes 0; NULL: none */
    bool null_left;                           /* and A^H does, too */
    wisp_blk *spare[WISP__MOST_RESTART + 16]; /* blocks of all columns that nothing uses now */
    int spares;
};

struct wisp__krylov {
    wisp_ctx *ctx;
    const wisp_mat *A;
    wisp_solver *of;   /* the solver whose call it is */
    wisp_solve_opts o; /* with every default filled in */
    wisp_solution *s;
    const wisp__method *method;
    wisp__precond *P;     /* that of the solver, which the method applies, or NULL: none */
    wisp__precond *left;  /* or this one, of which the method knows nothing: it sees M^-1 A, and M^-1 r for r */
    const wisp_blk *rows; /* the inverse diagonal, where P is that and is fused with updates; else NULL */
    double anorm;         /* of A as methods see it, at least, as far as it is known: see wisp__size_of */
    int a_exponent;       /* methods see A times 2^a_exponent */
    double unit;          /* squares of norms times this are about 1 in the beginning */
    bool careful;         /* the method takes its slow way, which rounding spoils least */
    bool separate;        /* classical: each op by itself */
    wisp_type type;
    double eps;
    int width;
    const wisp_blk *b;
    wisp_blk *own_b, *x, *r, *best, *user_x; /* own_b: NULL until it is narrower than the user's */
    wisp_blk *null_b;                        /* b without its part in the null space; NULL: that is the user's */
    wisp_blk **v;                            /* [blocks] of the method */
    int blocks;
    char *own_of; /* [width] structs of its own, of own_bytes each */
    size_t own_bytes;
    wisp__krylov_column *col; /* [width] */
    int *list;                /* [width] of columns */
    wisp_slot *slot;     /* sets of numbers for each column (wisp/steps.h), and what the host has brought of them: */
    wisp_scalar *number; /* [sets][width] */
    int sets, dots;      /* of them all; of dots, which come first */
    int look_every;      /* iterations are queued before the host looks at the numbers */
    int record;          /* the set of records that a step writes; -1: none */
    int aside;           /* sets from here on are those of a polynomial preconditioner; 0: it is none */
    bool sum_begun;      /* wisp__start_dots */
    wisp_scalar *one, *zero, *b_factor, *own, *other; /* [width] each; the last two: of a moment */
    int step_of_cycle;                                /* of a method with a basis */
    bool cycle_ends; /* by what steps have said x has to be settled, and the method starts again */
    double bytes;    /* of the passes so far, while counting */
    bool counting;
    int64_t counted; /* iterations that were counted */
    bool hermitian;  /* up to rounding, or by the user's word */
    bool exact;      /* so, without any rounding: A r is A^H r */
    bool inner;      /* it is a part of a proof, and has none of its own */
    bool chosen;     /* the method is not the user's choice */
    bool fresh;      /* the method starts anew */
    bool verifies;   /* by what steps have said residuals have to be verified before the next one */
    bool goes_on;    /* between two steps, from a kept state */
    bool begun;      /* x holds something */
    bool at_zero;    /* and that is 0 */
    bool together;   /* it was cancelled on all ranks between the same two steps */
    bool apart;      /* ranks ended at different places: no call of all of them */
    bool unfinished; /* something for the user is queued behind what was waited for last */
    bool torn;       /* some blocks are narrower already, others are not */
    int64_t room;    /* for the history */
    double progress;
    wisp_counts before; /* as the run began, less those of the calls that it goes on from */
    double began;       /* the same, see wisp_now */
    wisp_method asked;  /* the method and variant that it began with */
    wisp_variant asked_variant;
    double *stamp;    /* [3][columns] what b is known by; NULL: it is of no interest */
    double layout[2]; /* what the ranks' shares of rows are known by */
    wisp_state *live; /* NULL: it is not offered */
    /* wisp_solve, within one (see inner), and the iterations that it took. */
    wisp_status (*prove)(wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts,
                         int64_t *iterations);
};

static inline bool wisp__going(const wisp__krylov_column *c) { return !c->done && !c->claimed && c->broken == WISP_OK; }
/* The answer of an entry; where it is NULL: no. */
#define WISP__ASK(k, entry, ...) ((k)->method->entry && (k)->method->entry(__VA_ARGS__))
/* The maps of b and r, and of x. */
static inline wisp_map *wisp__map_of_b(const wisp__krylov *k) { return wisp_mat_map(k->A); }
static inline wisp_map *wisp__map_of_x(const wisp__krylov *k) { return wisp_mat_col_map(k->A); }
static inline bool wisp__is_square(const wisp__krylov *k) { return wisp__map_of_b(k) == wisp__map_of_x(k); }
static inline void *wisp__own(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return k->own_of + (size_t)(c - k->col) * k->own_bytes;
}
/* A size that is known of A: of the zero matrix the least number above 0, which no other one has. 0: it is not known.
 */
static inline double wisp__size_of(double largest)
{
    return largest > 0 ? fmax(largest, 2 * DBL_TRUE_MIN) : DBL_TRUE_MIN;
}
static inline bool wisp__has_size(double size) { return size > DBL_TRUE_MIN; }
/* Of a column that has ended with an x of which only a recurrence knows. */
static inline void wisp__not_known(wisp_solution *s, int of)
{
    s->residuals[of] = NAN;
    if (s->optimalities) s->optimalities[of] = NAN;
}
/* That |A^H r| has to come to beside |A| |r|, where x makes |r| least. */
static inline double wisp__optimality_wanted(const wisp__krylov *k)
{
    return k->o.tolerance > 0 ? k->o.tolerance : wisp__is_single(k->type) ? 1e-4 : 1e-8;
}
/* Squares of norms that are so far apart have little to do with each other. */
static inline double wisp__far(const wisp__krylov *k) { return wisp__is_single(k->type) ? 1e-6 : 1e-12; }
/* What is not finite is so in its real part alone: real blocks take no complex factors. */
static inline wisp_scalar wisp__scalar(double complex z)
{
    const bool finite = isfinite(creal(z)) && isfinite(cimag(z));
    return finite ? (wisp_scalar){creal(z), cimag(z)} : (wisp_scalar){NAN, 0};
}
/* z as blocks of the system's type have it. */
static inline double complex wisp__rounded(const wisp__krylov *k, double complex z)
{
    return wisp__is_single(k->type) ? (float)creal(z) + (float)cimag(z) * I : z;
}
static inline double complex wisp__complex(wisp_scalar z) { return z.re + z.im * I; }

/* Iterations of a cycle, or so many that their mean is that of all. */
static inline int wisp__cycle(const wisp__method *m, const wisp_solve_opts *o)
{
    return m->shadows ? o->shadow + 1 : o->restart;
}
/* Terms, or dots, of one call for vectors of a basis. */
static inline int wisp__basis(const wisp__method *m, const wisp_solve_opts *o)
{
    return m->restarts ? WISP__AHEAD * (o->restart + WISP__AHEAD) : m->shadows ? 2 * o->shadow : 0;
}

/* The preconditioner, on whichever side; NULL: none. */
static inline wisp__precond *wisp__precond_of(const wisp__krylov *k) { return k->left ? k->left : k->P; }
/* Blocks of the method, and the last one, where A x waits for an M^-1 on the left. */
static inline int wisp__blocks(const wisp__krylov *k) { return k->method->blocks(k) + (k->left ? 1 : 0); }
static inline wisp_blk **wisp__left_block(const wisp__krylov *k) { return &k->v[wisp__blocks(k) - 1]; }

/* Where a set is; and what the host has brought of it, or has to send there. */
static inline wisp_place wisp__at(const wisp__krylov *k, int set)
{
    return (wisp_place){k->slot, (int64_t)set * k->width};
}
/* A term with the factors of a set. */
static inline wisp_term wisp__times(const wisp__krylov *k, const wisp_blk *x, int set)
{
    return (wisp_term){.x = x, .factor_at = wisp__at(k, set)};
}
static inline wisp_scalar *wisp__set(const wisp__krylov *k, int set)
{
    return k->number + (size_t)set * (size_t)k->width;
}
static inline double complex wisp__number(const wisp__krylov *k, int set, int j)
{
    return wisp__complex(wisp__set(k, set)[j]);
}
/* Where <r, M^-1 r> is, of a preconditioner whose dots go to `set` and those behind it. (Several ranks sum it there,
   with the others.) */
static inline int wisp__rz_set(const wisp__krylov *k, int set)
{
    const int beside = k->P ? wisp__precond_set(k->P) : 0;
    if (!k->aside) return set + beside;
    return k->P && wisp_ctx_processes(k->ctx) == 1 ? k->aside + beside : set;
}
/* Whether steps leave out column j, or have met what they can't go on from: as the host heard last. */
static inline bool wisp__has_ended(const wisp__krylov *k, int j)
{
    return k->method->hear && wisp__number(k, WISP_SET_STATE, j) != 0;
}
/* The host tells the slot how columns begin, queues iterations, hears what has become of them, all at once, and replays
   it one by one. */

/* Sets first .. first + sets - 1 come to the host, which waits for them; or go from there. */
wisp_status wisp__bring(wisp__krylov *k, int first, int sets);
wisp_status wisp__send(wisp__krylov *k, int first, int sets);
/* A step of scalars, with the method's numbers; those that all have are filled in. */
wisp_status wisp__scalars(wisp__krylov *k, wisp_step step, double number[WISP_NUMBERS]);
/* The slot learns what columns are; fresh: it forgets what the method knew. */
wisp_status wisp__tell(wisp__krylov *k, bool fresh);
/* All numbers are brought, what they ask is answered (NULL: nothing), and columns become what they say. */
wisp_status wisp__hear(wisp__krylov *k, int iterations, wisp_status (*answer)(wisp__krylov *k));
/* Columns become what the record of an iteration says; whether it did something to one of them. */
bool wisp__replay(wisp__krylov *k, int iteration);

/* wisp_fuse; or, classical, one op after the other. Factors and dots have places; the dots are of this rank alone until
   wisp__sum_dots. */
wisp_status wisp__pass(wisp__krylov *k, const wisp_update *update, int updates, const wisp_inner *inner, int inners);
/* y = A x, with dots (of WISP_DOTS) to the first sets: those of products, as in wisp_aug. */
wisp_status wisp__multiply(wisp__krylov *k, wisp_blk *y, const wisp_blk *x, unsigned dots, const wisp_blk *u);
/* v[1 .. n] = (A - shift) v[0 .. n - 1]; *shift becomes what rounding leaves of it. */
wisp_status wisp__powers(wisp__krylov *k, wisp_blk **v, int n, double complex *shift);
/* z = M^-1 r, and <r, z> to wisp__rz_set(k, set). */
wisp_status wisp__precondition(wisp__krylov *k, wisp_blk *z, const wisp_blk *r, int set);
/* The first `sets` sets of dots become those of all ranks. */
wisp_status wisp__sum_dots(wisp__krylov *k, int sets);
/* Of several ranks, sets of dots that nothing is written to count as 0. */
wisp_status wisp__clear(wisp__krylov *k);

/* The same in two parts, of the sets of dots of passes: they are left alone in between, by products, too. */
wisp_status wisp__start_dots(wisp__krylov *k, int sets);
wisp_status wisp__wait_for_dots(wisp__krylov *k);

/* ---- solve_opts.c ---- */

const wisp__method *wisp__method_of(wisp_method m);
/* lsmr.c: A^H goes with A. */
wisp_status wisp__lsmr_check(const wisp_solver *S);
/* The one that is taken where none is named; last: that which nothing follows. */
wisp_method wisp__choice(bool hermitian, bool last);
/* The method, as far as the options and the shape of A tell it: LSMR alone takes a matrix that is not square, and some
   have no sides. DEFAULT: it hangs on A's entries. */
wisp_method wisp__method_for(const wisp_solve_opts *o, bool square);
const char *wisp__variant_name(wisp_variant v);
const char *wisp__side_name(wisp_side side);
/* The variant becomes one that the method has. */
void wisp__fit_variant(wisp_solve_opts *o);
/* The method is named, and rows are those of all ranks. */
void wisp__solve_defaults(wisp_solve_opts *o, wisp_type type, int64_t rows);
/* The shape and the type of a solver's matrix, and its options. */
wisp_status wisp__solver_check(const wisp_solver *S);
/* The same, and the shapes of x and b. */
wisp_status wisp__solve_check(const wisp__krylov *k, wisp_blk *x);
/* The options, for a matrix of this shape, with the method that they ask for. */
wisp_status wisp__solve_check_options(wisp_ctx *ctx, const wisp_solve_opts *opts, bool square);
/* Some methods need a Hermitian matrix, up to rounding; if no method is named, A is asked. */
wisp_status wisp__choose_method(wisp__krylov *k);

/* ---- side.c ---- */

/* Before a method begins, or goes on: where M^-1 is on the left its r = b - A x becomes M^-1 r. */
wisp_status wisp__take_side(wisp__krylov *k);
/* y = M^-1 x on the left. */
static inline wisp_status wisp__apply_left(wisp__krylov *k, wisp_blk *y, const wisp_blk *x)
{
    return wisp__precond_apply(k->left, y, x, (wisp_place){0});
}

/* ---- kept.c ---- */

/* A block of k->width columns on a map: zeros; or (written: it will be written before it is read) anything. */
wisp_status wisp__take_block(wisp__krylov *k, wisp_blk **x, wisp_map *map, bool written);
/* It goes back for others to take; *x, which may be NULL, becomes NULL. */
void wisp__give_block(wisp__krylov *k, wisp_blk **x);
/* k->P, or k->left, becomes the preconditioner, which is made if there is none that fits; with a spectrum that is
   known: see wisp__precond_make. */
wisp_status wisp__take_precond(wisp__krylov *k, const double spectrum[2]);
/* The solver is done with its preconditioner; with all that is of the values; with all that it has. */
void wisp__solver_forget(wisp_solver *S);
void wisp__solver_update(wisp_solver *S);
void wisp__solver_empty(wisp_solver *S);

/* ---- solve.c ---- */

/* A call of a solver. */
wisp_status wisp__solve_once(wisp_solver *S, wisp_solution *s, wisp_blk *x, const wisp_blk *b, int guess);

/* ---- solve_state.c ---- */

/* What states tell apart right-hand sides and layouts by. r is overwritten, and best becomes 0. */
wisp_status wisp__find_stamp(wisp__krylov *k);
/* The items of a state (wisp_items_fn). With a kept one it makes the preconditioner and the blocks. */
wisp_status wisp__solve_items(void *krylov, wisp_state *state);
/* Counts and seconds begin, go on from those of the solution; and go there. */
void wisp__start_counts(wisp__krylov *k);
void wisp__take_counts(wisp__krylov *k);

/* ---- solve_verify.c ---- */

/* How many columns iterations go on for. */
int wisp__columns_going(const wisp__krylov *k);
/* Whether no column is left. */
bool wisp__all_done(const wisp__krylov *k);
/* Whether a column's recurrence is so far from the residual that was computed last that it has to be verified. */
bool wisp__has_come_far(const wisp__krylov *k, const wisp__krylov_column *c);
/* Whether residuals are to be verified, before the last iteration. */
bool wisp__must_verify(wisp__krylov *k, int claimed_before);
/* Computes residuals from x, and ends columns by them; may change the method. */
wisp_status wisp__verify(wisp__krylov *k);

/* ---- solve_scale.c ---- */

/* Units of A and of the columns of b, whose norms these are; r and best are overwritten. */
wisp_status wisp__choose_scales(wisp__krylov *k, const double *norm);
double wisp__a_factor(const wisp__krylov *k);
/* Those of b[width]; false: not all of them are numbers of the type. */
bool wisp__b_factors(const wisp__krylov *k, wisp_scalar *factor);
/* y becomes b in its units; x, which is a guess, x in its own. */
wisp_status wisp__scale_b(wisp__krylov *k, wisp_blk *y);
wisp_status wisp__scale_guess(wisp__krylov *k);
/* Column x of any block times 2^exponent. */
wisp_status wisp__scale_column(wisp__krylov *k, wisp_blk *x, int exponent);
/* Column c of x, as methods made it, becomes the user's. */
wisp_status wisp__scale_back(wisp__krylov *k, wisp_blk *x, const wisp__krylov_column *c);

/* ---- singular.c ---- */

/* Columns that the proof holds at most. singular.c: 16. singular_any.c: 6, and 56 bytes a row: 32 for sums and sizes,
   24 for the entries of one row, if that is full. */
static inline int wisp__proof_columns(wisp_type type) { return type == WISP_S ? 20 : 16; }
/* Steps that all proofs of a column may take together, those of the whole call. */
static inline int64_t wisp__proof_steps(const wisp__krylov_column *c)
{
    enum { FEW = 1000, EACH = 4 };
    return FEW + EACH * c->iterations;
}
/* Whether there is a proof that x makes |r| least in column j, and that it is more than any rounding. `last`: the
   column ends else; until then only a part of its steps is spent. *part: |A r| over |A| |r|, or of most of r; else 1.
 */
wisp_status wisp__prove_least(wisp__krylov *k, int j, bool last, bool *least, double *part);

/* ---- singular_any.c ---- */

/* |<w, b_j>| / |w|: where A^H w = 0 no x has a residual of less. b becomes that column, as methods see it. */
wisp_status wisp__least_residual(wisp__krylov *k, int j, const wisp_blk *w, wisp_blk *b, double *least);

/* As wisp__prove_least, for a matrix that need not be Hermitian. x may become another one, whose residual is less. */
wisp_status wisp__prove_any(wisp__krylov *k, int j, bool *least);

/* ---- null_space.c ---- */

/* x loses its part in the span of these orthonormal vectors; part[width of x], the length of that in each column, may
   be NULL. */
wisp_status wisp__project(const wisp_blk *null, wisp_blk *x, double *part);
/* The solver takes opts.null, if it has not done so, and b loses its part in there. */
wisp_status wisp__null_begin(wisp__krylov *k);

/* ---- low.c ---- */

/* What a method with `low` keeps of a column comes first in its own struct: |r|^2 of the x in that block, by the
   recurrence; 0: none is. */
typedef struct {
    double rr;
} wisp__low;
/* That, or INFINITY. */
double wisp__low_of(const wisp__krylov *k, const wisp__krylov_column *c);
void wisp__set_low(const wisp__krylov *k, const wisp__krylov_column *c, double rr);
/* Whether one in some column is better than the best. */
bool wisp__has_low(const wisp__krylov *k);
/* An entry `recall`. */
wisp_status wisp__recall_low(wisp__krylov *k, bool last);

/* ---- columns.c ---- */

/* Columns begin as those of b, which is checked, and of x. */
wisp_status wisp__begin_columns(wisp__krylov *k);
/* r = b - A x, whose norms become those that are verified. */
wisp_status wisp__residual(wisp__krylov *k);
/* And, where waiting takes long, x of columns that may end by that goes to the user before: it is waited for as well.
 */
wisp_status wisp__residual_given(wisp__krylov *k);
static inline wisp_status wisp__recall(wisp__krylov *k, bool last)
{
    return k->method->recall ? k->method->recall(k, last) : WISP_OK;
}
/* After that: x is kept in the columns where it is better than ever; or, where it is far worse, taken back with r. */
wisp_status wisp__keep_best(wisp__krylov *k);
wisp_status wisp__go_back(wisp__krylov *k);
/* x becomes 0 where it is so long that rounding hides what r has to do with it, and r is not small. */
wisp_status wisp__leave_far(wisp__krylov *k);
/* Column j of x becomes the best one, with its r. */
wisp_status wisp__return_to_best(wisp__krylov *k, int j);
/* The columns that `which` is true of go to k->list; their number. */
int wisp__list(wisp__krylov *k, bool (*which)(const wisp__krylov *k, const wisp__krylov_column *c));
/* M^-1 r, M^-1 on the left, becomes the last block, and k->own its square. */
wisp_status wisp__left_of_r(wisp__krylov *k);
/* Those whose norms, or squares of them, are not finite; NULL: those of b - A x. */
int wisp__list_lost(wisp__krylov *k, const wisp_scalar *norm);
/* Columns to[i] of y become columns from[i] of x. NULL: all of them, one after the other. */
wisp_status wisp__copy_some(wisp_blk *y, const int *to, wisp_blk *x, const int *from, int count);
/* The first n columns of k->list become 0. */
wisp_status wisp__erase(const wisp__krylov *k, wisp_blk *y, int n);
/* Column j has ended: the user gets its x, or the best one, and its status. */
wisp_status wisp__end(wisp__krylov *k, int j, wisp_status why);
/* Whether there is memory for a further block of so many columns, on every rank. */
wisp_status wisp__has_room(wisp__krylov *k, int count, bool *room);
/* Narrower blocks, if half of the columns or more have ended. */
wisp_status wisp__compact(wisp__krylov *k);
wisp_status wisp__make_blocks(wisp__krylov *k);
/* The inverse diagonal, if the method's updates multiply by it. */
void wisp__krylov_rows(wisp__krylov *k);
/* Blocks for columns that were given back, the first k->width of k->col: with those of b, else with 0. */
wisp_status wisp__remake_blocks(wisp__krylov *k);
void wisp__free_blocks(wisp__krylov *k);

#endif
