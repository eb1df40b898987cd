/* Preconditioners of wisp_solve: M^-1 approximates the inverse of A. */
#ifndef WISP_PRECOND_H
#define WISP_PRECOND_H
#include <complex.h>
#include <stdbool.h>
#include <wisp/wisp.h>

typedef struct wisp__precond wisp__precond;

/* For `factor` times A, a power of two, and blocks of this type and of up to `width` columns; with a spectrum of A that
   an earlier one was made for (0 and 0: with none). o has its defaults filled in. *P becomes NULL for
   WISP_PRECOND_NONE. On all ranks together. definite: A is Hermitian, and M^-1 is so and positive definite, or refused:
   these words say what to take then; NULL: it may be any. */
wisp_status wisp__precond_make(wisp__precond **P, const wisp_mat *A, double factor, const wisp_solve_opts *o,
                               const char *definite, wisp_type type, int width, const double spectrum[2]);
/* z is without its part in the span of these orthonormal vectors (NULL: none); with `both` M^-1 sees r without it, too.
   P may be NULL. */
void wisp__precond_project(wisp__precond *P, const wisp_blk *null, bool both);
/* A call begins that did not make it: nothing is left of those before. */
wisp_status wisp__precond_begin(wisp__precond *P);
/* CHEBYSHEV, NEUMANN: the ends of the spectrum that it was made for; else 0 and 0. P may be NULL. */
void wisp__precond_spectrum(const wisp__precond *P, double spectrum[2]);
/* ILU, IC: by what the diagonal was made larger; else 0. P may be NULL. */
double wisp__precond_shift(const wisp__precond *P);
/* z = M^-1 r. Where rz has a slot, <r_j, z_j> of this rank alone goes to set wisp__precond_set from there on; three
   sets may be written, of a polynomial 4 times its degree. A narrower block than before costs an allocation. On all
   ranks together. */
wisp_status wisp__precond_apply(wisp__precond *P, wisp_blk *z, const wisp_blk *r, wisp_place rz);
int wisp__precond_set(const wisp__precond *P);
/* JACOBI: the inverse diagonal, a block of width 1 that wisp_fuse takes as `rows`; else NULL. */
const wisp_blk *wisp__precond_rows(const wisp__precond *P);
int wisp__precond_products(const wisp__precond *P); /* with A, in each application */
/* Bytes that an application moves at least; of AMG and a function of the user's that is not known: 0. */
double wisp__precond_bytes(const wisp_mat_info *A, wisp_type type, int width, const wisp_solve_opts *o);
/* Bytes, about, but for what products hold. */
double wisp__precond_plan(const wisp_mat_info *A, wisp_type type, int width, const wisp_solve_opts *o);
/* And before that, about and at most, while bounds are found for a polynomial. */
wisp_status wisp__precond_bounds(wisp_ctx *ctx, const wisp_mat_info *A, int width, const wisp_solve_opts *o,
                                 double *about, double *most);
void wisp__precond_free(wisp__precond *P);

/* Number i of an array of this type. */
double complex wisp__number_at(wisp_type type, const void *p, int64_t i);
void wisp__number_put(wisp_type type, void *p, int64_t i, double complex v);

/* Reads local row i of a rank that has `rows` from `first` on: its entries in the rank's own columns, counted from
   there, by rising columns, the diagonal among them. How many; -1: the row can't be read. There is room for one more
   than a row of src has. */
int wisp__read_own(const wisp_src *src, int64_t first, int64_t rows, int64_t i, int64_t *col, char *val);

/* ---- between the files of preconditioners -------------------------------------------------------- */

/* A polynomial of A times a block r, by Horner's or Clenshaw's rule: v_1 = alpha_1 (A - gamma_1 I) r + add_1 r, then
   v_k = alpha_k (A - gamma_k I) v_k-1 + beta_k v_k-2 + add_k r, up to k = degree >= 1. Element 0 is of k = 1. */
typedef struct {
    int degree;
    wisp_scalar *alpha, *beta, *gamma;
    double *add;
    double spectrum[2]; /* of A, the ends of that which it was made for */
} wisp__polynomial;
/* CHEBYSHEV or NEUMANN of factor A, in steps with A, for a spectrum of A in the bounds that o gives, or that are found;
   or one that is known, unless its upper end is 0. */
wisp_status wisp__polynomial_make(wisp__polynomial *p, const wisp_mat *A, double factor, const wisp_solve_opts *o,
                                  bool hermitian, wisp_type type, int width, const double known[2]);
void wisp__polynomial_free(wisp_ctx *ctx, wisp__polynomial *p);

/* The square blocks on the diagonal of factor A inverted, in numbers of a type, n in a row: element j of local row i
   belongs to the j-th column of the block that row i lies in. */
typedef struct {
    int64_t first, rows, n; /* this rank's rows; rows of a block, of which a rank's last one may have fewer */
    wisp_type type;
    char *inverse; /* [rows][n] */
} wisp__diagonal;
/* o->null: orthonormal vectors of which A makes 0; blocks that are singular by them get an inverse all the same. */
wisp_status wisp__diagonal_make(wisp__diagonal *d, const wisp_mat *A, double factor, const wisp_solve_opts *o,
                                const char *definite, wisp_type type);
void wisp__diagonal_free(wisp_ctx *ctx, wisp__diagonal *d);
/* block[m][m] B becomes B + s K K^H, s about its largest entry and K an orthonormal basis of what B makes 0 of, to a
   tolerance relative to that, in the span of q[m][n]: the rows of a matrix's null vectors. B^-1 is then its inverse
   where it has one, and 1/s in K. q and image[m][n] are overwritten. false: there is no such K. */
bool wisp__fill_null(double complex *block, int64_t m, double complex *q, double complex *image, int n,
                     double tolerance);

/* ---- by functions on arrays of the host's: precond_host.c ---- */

/* x[rows][width] of a rank's rows in the natural order becomes M^-1 x: real numbers, or pairs of them where M is
   complex. (A complex block is to a real M a real one of twice the width.) */
typedef wisp_status (*wisp__host_fn)(void *arg, double *x, int width);
typedef struct {
    wisp_ctx *ctx;
    wisp_type type; /* of the blocks */
    int64_t rows;
    bool pairs;          /* M is complex */
    wisp__host_fn apply; /* these are the caller's */
    /* NULL, or the same from one array to another: blocks that have theirs so are not copied. */
    wisp_status (*between)(void *arg, double *to, const double *from, int width);
    void *arg;
    double *x;
    float *singles; /* NULL: blocks are of doubles */
} wisp__host;
/* For blocks of up to so many columns; *h is closed also after a failure. */
wisp_status wisp__host_open(wisp__host *h, const wisp_mat *A, wisp_type type, int width);
wisp_status wisp__host_apply(void *host, wisp_blk *y, const wisp_blk *x); /* as wisp_operator has it */
double wisp__host_plan(double rows, wisp_type type, int width);           /* bytes */
void wisp__host_close(wisp__host *h);

/* ---- ILU, IC: ilu.c, ilu_each.c, ilu_read.c ---- */

/* Rows of a triangle without the diagonal, in the order of levels. */
typedef struct {
    int64_t *begin; /* [rows + 1] */
    int32_t *col;   /* rows of that order; in a row as A's own columns rise */
    void *val;
} wisp__triangle;
/* Factors L U of a rank's own rows and columns, with their pattern and the diagonal, of which L has 1. Numbers are
   doubles, or pairs of them. Rows lie in an order in which those of a level, from begin[k] on to begin[k + 1], need
   rows of levels before it alone, and of levels behind it for U. */
typedef struct {
    wisp_ctx *ctx;
    int64_t first, rows;
    bool pairs, hermitian; /* hermitian: U = D L^H, D > 0 */
    int32_t *where;        /* [rows] where a row of the rank's is in that order */
    int64_t *begin, levels;
    wisp__triangle side[2]; /* L, U */
    void *inverse;          /* [rows] 1 over the pivots */
    double *work;           /* [rows][columns] x in that order */
    double shift;           /* the diagonal was made larger by this times `size`; 0: it was not */
} wisp__ilu;
/* Of factor A, for one that is freed also after a failure. cholesky: A has to be Hermitian; definite: as for
   wisp__precond_make. On all ranks together. */
wisp_status wisp__ilu_make(wisp__ilu *f, const wisp_mat *A, double factor, bool cholesky, const char *definite);
/* Its part that reads rows, with f's first fields set: of any source of A's rows that tells how many entries a row has,
   where it is asked without room for them. */
wisp_status wisp__ilu_of_rows(wisp__ilu *f, const wisp_mat *A, const wisp_src *src, double factor,
                              const char *definite);
/* Room to apply it to so many columns of its numbers at most. */
wisp_status wisp__ilu_room(wisp__ilu *f, int width);
wisp_status wisp__ilu_apply(void *ilu, double *x, int width); /* a wisp__host_fn */
wisp_status wisp__ilu_between(void *ilu, double *to, const double *from, int width);
double wisp__ilu_plan(const wisp_mat_info *A, wisp_type type, int width); /* bytes at most */
double wisp__ilu_bytes(const wisp_mat_info *A);                           /* that an application moves of the factors */
void wisp__ilu_free(wisp__ilu *f);

/* ---- AMG: amg.c ---- */

typedef struct wisp__amg wisp__amg;
/* Whether the build has it: the refusal if not. */
wisp_status wisp__amg_here(wisp_ctx *ctx);
/* Of factor A. On all ranks together. definite: A's diagonal has to be positive. singular: A is, and its diagonal is
   made larger by 1e-8 of itself, so that the coarsest level has an inverse. */
wisp_status wisp__amg_make(wisp__amg **amg, const wisp_mat *A, double factor, const char *definite, bool singular);
wisp_status wisp__amg_apply(void *amg, double *x, int width); /* a wisp__host_fn */
/* Bytes, about: they are HYPRE's, and no limit of the context's holds them. */
double wisp__amg_plan(const wisp_mat_info *A);
void wisp__amg_free(wisp__amg *amg);

#endif
