/* Krylov decompositions, which the methods for the ends of the spectrum share: Op V = V H + W B with orthonormal
   columns V and W, where Op is the matrix or a polynomial of it. */
#ifndef WISP_ARNOLDI_H
#define WISP_ARNOLDI_H
#include <complex.h>
#include "eigen.h"

/* A search for what is missing ends where a value lies so many times its bound beyond what would count. */
enum { WISP__RESERVE = 1000, WISP__MOST_BLOCK = 64, WISP__MOST_DEGREE = 200 };

typedef double complex wisp__z;
static inline wisp__z wisp__z_of(wisp_scalar s) { return s.re + s.im * I; }
static inline wisp_scalar wisp__of_z(wisp__z z) { return (wisp_scalar){creal(z), cimag(z)}; }

/* Op = T_degree(side (A - center) / scale); side is 1 or -1. Or (A - center - i center_im)^-1, with degree and side 1;
   |A - center - i center_im| is scale, about. */
typedef struct {
    int degree;
    double side, center, scale;
    bool inverse;
    double center_im; /* of an inverse; else 0 */
} wisp__op;
/* A itself. */
static const wisp__op wisp__itself = {.degree = 1, .side = 1, .scale = 1};

/* The end of a spectrum: its first values, as far out as `first`, belong to the first columns of a->all, of orthonormal
   columns and residuals over the halfwidth. Up to the edge there is nothing more, as one hopes; from `damped` to `far`
   lies the rest. */
typedef struct {
    int columns;
    double side, first, edge, damped, far, residual;
} wisp__gap;

/* |A v - lambda v|, computed from the vector, of the wanted pair that is farthest above what it may have, and this; and
   the tolerance that would do for all. 0: none was computed. */
typedef struct {
    double length, may, tolerance;
} wisp__reached;

/* How far the run has come; its states have this. */
typedef enum { WISP__FINDS, WISP__GAPS, WISP__SEARCHES, WISP__BETWEEN } wisp__arnoldi_phase; /* between two searches */
typedef struct {
    wisp__arnoldi_phase phase;
    int to;                          /* columns that V is to have when its values are looked at; 0: they have been */
    int tries;                       /* to find pairs within the tolerance */
    int more;                        /* columns that this search for what is missing has locked */
    double strict;                   /* of the tolerance: what the bounds have to keep */
    wisp__reached now, before, best; /* by this try, the one before, and the best one */
    wisp__gap gap;                   /* that is looked into */
    double done, norm;               /* products with a block that were made for it; the largest norm then */
    double grown;                    /* a search from columns that had grown there: what such a look takes; else 0 */
    wisp__eig_times checked;         /* when the search for what is missing began */
} wisp__arnoldi_at;

typedef struct {
    wisp__eig *k;
    wisp__arnoldi_at at;
    wisp__op op;
    wisp_blk *all;   /* the locked columns, V, W */
    wisp_blk *x, *y; /* of one block each; x holds W, until it is multiplied */
    wisp_blk *z;     /* W, while a polynomial of it is made; NULL until then */
    wisp_blk *s;     /* of a pencil: T y, for dots by T; else NULL */
    int columns, locked, active, block;
    double rounding;   /* of a product with Op, for a vector of length 1 */
    double smallest;   /* the same of the last product with A alone */
    double enough;     /* of a vector's length that a pass has to leave, if it is the last */
    double lengths;    /* the sum of their logarithms, of all W since V was empty, before they became orthonormal */
    double guess;      /* of W's Rayleigh quotient, by which a product is shifted */
    wisp_scalar *H;    /* [columns][columns]; V's part has `active` rows and columns, B lies below it */
    wisp_scalar *work; /* [2][columns][columns] */
    wisp_slot *slot;   /* of a pass, or a projection: wisp__arnoldi_products numbers */
    bool recurs;       /* W's product has parts in the last two blocks alone, up to rounding */
    uint32_t random;   /* columns that were drawn */
    int restarts;
    int most_good;          /* pairs that converged since V was empty, at most */
    double least;           /* residual of the next one since then */
    int better_at;          /* the restart that made either better */
    int began;              /* the restart before which V was empty */
    int large_at;           /* the last restart at which the residual's square was above rounding */
    int gains;              /* restarts since then that made either better */
    wisp_blk *view;         /* of states */
    const double *exponent; /* [n] the vectors are 2^exponent times those of H (balance.c); NULL: they are those */
} wisp__arnoldi;

static inline wisp_scalar *wisp__h(const wisp__arnoldi *a, int i, int j)
{
    return a->H + (size_t)i * (size_t)a->columns + j;
}

/* Columns from one look at the values to the next: a tenth of the m, in whole blocks. */
static inline int wisp__arnoldi_look_step(int m, int block)
{
    return ((m < 10 ? 1 : m / 10) + block - 1) / block * block;
}
/* Of a block with itself, with all columns, and with those of two blocks. */
static inline int64_t wisp__arnoldi_products(int64_t columns, int block) { return block * (columns + 2 * block); }
/* Bytes of what has a number or some for each value, with m columns of V; and of products with a block, twice while
   room is made for more. For plans. */
static inline int64_t wisp__arnoldi_numbers(int m, int count, int block)
{
    const int64_t values = (int64_t)m + count;
    return 4096 + 128 * (values + 64) +
           2 * (int64_t)sizeof(wisp_scalar) * wisp__arnoldi_products(values + 1 + 2 * block, block);
}
/* a->k and a->op are set. The first block of so many columns is that with which to start. */
wisp_status wisp__arnoldi_make(wisp__arnoldi *a, int columns, int block);
/* Room for the locked columns, and for m columns of V and W beside them; all columns are kept. */
wisp_status wisp__arnoldi_room(wisp__arnoldi *a, int m);
void wisp__arnoldi_free(wisp__arnoldi *a);
/* Room for so many columns, in H, too; the locked ones, V and W are kept. */
wisp_status wisp__arnoldi_enlarge(wisp__arnoldi *a, int columns);
/* V becomes empty. W is made of the block behind the locked columns, or of random numbers. */
wisp_status wisp__arnoldi_start(wisp__arnoldi *a, bool random);
/* V becomes empty. W is made of sums of V's first n columns. */
wisp_status wisp__arnoldi_anew(wisp__arnoldi *a, int n);
/* A search beside the locked columns, with m columns of V, from random vectors or from x; where one is under way
   already it goes on. */
wisp_status wisp__arnoldi_begin_search(wisp__arnoldi *a, int m, bool random);
/* x holds W again, after it was used for other products. */
wisp_status wisp__arnoldi_take_last(wisp__arnoldi *a);
/* V takes W in, and W is made anew, until V has `active` columns or less than a block fewer. */
wisp_status wisp__arnoldi_expand(wisp__arnoldi *a, int active);
/* V becomes V Q, Q[active][kept], and W follows it; B becomes B Q. The new H is left to the caller. */
wisp_status wisp__arnoldi_rotate(wisp__arnoldi *a, const wisp_scalar *Q, int kept);
/* After a restart: of the pairs that are wanted so many are good, and the next one has this residual, so much of |A|.
   Tells the user, and ends what takes too long or stagnates. Looks at V: where it is no longer orthonormal, it is made
   anew of the first ones. */
wisp_status wisp__arnoldi_restarted(wisp__arnoldi *a, int wanted, int good, double residual, double of_norm);
/* The first n columns of V, which are invariant, about, become locked, and H goes on without them. */
void wisp__arnoldi_lock(wisp__arnoldi *a, int n);
/* H becomes Q^H A Q of the first n columns, H[n][n]. */
wisp_status wisp__arnoldi_project(wisp__arnoldi *a, int n, wisp_scalar *H);
/* The length of B q, q[active] with this distance between elements. */
double wisp__arnoldi_bound(const wisp__arnoldi *a, const wisp_scalar *q, int distance);

/* ---- arnoldi_block.c ------------------------------------------------------------------------------------ */

/* Column j of a block becomes random, about of length 1. */
wisp_status wisp__arnoldi_draw(wisp__arnoldi *a, wisp_blk *of, int j);
/* y becomes orthonormal, and orthogonal to the first n columns; then it is W: column n and those that follow, and in x.
   h[n][block], B[block][block]: y was the first n columns times what is added to h, and W times B; NULL: of no
   interest. */
wisp_status wisp__arnoldi_orthonormal(wisp__arnoldi *a, int n, wisp_scalar *h, wisp_scalar *B);

/* ---- arnoldi_op.c --------------------------------------------------------------------------------------- */

/* Op's value to a real one of A, and back: this is NaN where several lie. Op grows outward, whatever its degree. */
double wisp__op_of(const wisp__op *op, double lambda);
double wisp__op_value(const wisp__op *op, double mu);
/* How far a small step of A's values goes in Op's. */
double wisp__op_slope(const wisp__op *op, double lambda);
/* Of A's values to one of Op, that which lies nearest to the end where the wanted ones are. */
wisp_scalar wisp__op_nearest(const wisp__op *op, wisp_scalar mu);
/* The outer end of the ellipse about the damped interval's ends on which the value lies: no value of the ellipse lies
   further out, and Op's values are as large on all of it, about. */
double wisp__op_axis(const wisp__op *op, wisp_scalar lambda);
/* So many values, of which `count` are wanted, shall stay outside of what Op damps. */
static inline int wisp__op_outside(int count) { return count + (count < 8 ? 2 : count / 4); }
/* Raises the degree of Op, if that at least doubles it, and says so. Op then damps what lies from `far` to about as far
   from `first` as `last` is, and is `growth` times as large at `first`. A higher degree needs fewer blocks, and so
   fewer that are made orthogonal. most: the highest degree that pays. */
bool wisp__op_raise(wisp__op *op, double side, double first, double last, double far, double growth, int most);
/* *most: up to this degree the products of a block move at most three times the bytes that it takes to make the block
   orthogonal: four passes over m columns, and its share of a restart. */
wisp_status wisp__op_most_degree(const wisp__arnoldi *a, int m, int *most);
/* y = Op x, but for a multiple of x, a->guess; x is lost. */
wisp_status wisp__arnoldi_multiply(wisp__arnoldi *a);

/* ---- missing.c ------------------------------------------------------------------------------------------ */

/* Products with a block, about, that it takes to see whether A has more values beyond the edge than these columns. */
double wisp__gap_steps(const wisp__arnoldi *a, const wisp__gap *g);
/* The chance that a search for missing values overlooks one. */
static const double wisp__overlooked = 1e-6;
/* Looks into a->at.gap. *empty: it has not, but for that chance. Else it may have, and x holds columns in which those
   values' vectors have grown. W is lost. */
wisp_status wisp__gap_empty(wisp__arnoldi *a, bool *empty);

/* ---- arnoldi_state.c ------------------------------------------------------------------------------------ */

/* The items of a state between two blocks that V takes in, or two parts of wisp__gap_empty. */
wisp_status wisp__arnoldi_items(wisp__arnoldi *a, wisp_state *state);

/* ---- schur_values.c, schur_condition.c, schur_pairs.c: of matrices that are not Hermitian ---------------- */

/* The larger, the more wanted. Of (A - center)^-1 by the distance of A's value from the target. */
double wisp__schur_key(const wisp__arnoldi *a, wisp_scalar value);
/* By what a residual is divided: |value|, but no less than |A| times the tolerance, so that users can reach a value of
   0, and than what makes rounding alone small enough. */
double wisp__schur_over(const wisp__arnoldi *a, wisp_scalar value);
/* order[from .. n - 1] becomes that of the values with these numbers; those of a conjugate pair are neighbours. */
void wisp__schur_sort(const wisp__arnoldi *a, int from, int n, const wisp_scalar *value, int *order);
/* n; or n - 1, if that does not tear a pair apart. */
int wisp__schur_untorn(const wisp__eig *k, const wisp_scalar *value, const int *order, int n);
/* How many of n are asked for, with the multiplet of the last one, unless any of it do, and its conjugate: of a pair
   LAPACK has that of mu with a positive imaginary part first, which of values that are made of mu may be the other. */
int wisp__schur_wanted(const wisp__arnoldi *a, int n, const wisp_scalar *value, const wisp_scalar *mu,
                       const int *order);
/* How many of n are like the last one that is wanted. */
int wisp__schur_like_last(const wisp__arnoldi *a, int n, const wisp_scalar *value, const int *order, wisp_scalar last);
/* C = A B, n rows and columns each. */
void wisp__schur_times(int n, const wisp_scalar *A, const wisp_scalar *B, wisp_scalar *C);
/* Of value i of a Schur form S[n * n] with eigenvectors X: 1 / |<y, x>|. S is right up to `tiny`; z[n] is room. */
double wisp__schur_condition(int n, const wisp_scalar *S, const wisp_scalar *value, const wisp_scalar *X, int i,
                             double tiny, wisp__z *z);
/* k->e->sensitive, by its conditions. */
void wisp__schur_count_sensitive(const wisp__arnoldi *a);
/* Conditions as all of V showed them, before its values were locked: the form of the locked columns alone shows less.
 */
typedef struct {
    int n, most;
    wisp_scalar *value; /* [most] */
    double *condition;  /* [most] */
} wisp__schur_seen;
void wisp__schur_see(wisp__schur_seen *seen, wisp_scalar value, double condition);
/* The conditions of the result become no less than those of the values that were seen next to its own. */
void wisp__schur_use_seen(const wisp__arnoldi *a, const wisp__schur_seen *seen);
/* The result, from orthonormal columns, the first n of a->all, and H = Q^H A Q, which is lost; *all: as below. */
wisp_status wisp__schur_give(wisp__arnoldi *a, int n, wisp_scalar *H, bool *all);
/* The result, from the span of the first n columns; *all: each pair that is wanted is within the tolerance. a->at.now
   says how far those are. */
wisp_status wisp__schur_deliver(wisp__arnoldi *a, int n, bool *all);
/* balance.c: H[n * n] becomes D^-1 H D, D = diag(2^exponent[n]), which is nearer to normal. *range: how many powers of
   two lie between its numbers; 0, and H as it was: none pays. */
wisp_status wisp__balance(wisp_ctx *ctx, int n, wisp_scalar *H, double *exponent, int *range);
/* WISP_ERR_STAGNATION: rounding keeps residuals where a->at.best has them. */
wisp_status wisp__schur_rounded(const wisp__arnoldi *a);

#endif
