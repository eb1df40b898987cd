/* Shared by the files of wisp_svd. */
#ifndef WISP_SVD_H
#define WISP_SVD_H
#include "eigen.h"

enum { WISP__LEFT, WISP__RIGHT };

/* Whose eigenpairs are looked for: B's; for the smallest values also those of A^H A, or of B with a number added in the
   rows of the longer side. */
typedef enum { WISP__BY_AUGMENTED, WISP__BY_GRAM, WISP__BY_LIFTED } wisp__svd_way;

typedef struct wisp__gram wisp__gram;
typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *B;
    wisp_eigen *e;
    wisp_eig_opts given, o, asked; /* as they came; of the eigenvalues; of the singular values of A */
    wisp__svd_way way;
    int64_t rows, cols; /* of A */
    wisp_type type;
    bool is_complex;
    int exponent;         /* 2^exponent times a singular value is about 1 at most; so all numbers here are scaled */
    double eps, unit;     /* residuals are divided by unit */
    double limit;         /* and may be so large then */
    int wanted;           /* triplets, INT_MAX: all */
    int held, n;          /* eigenvectors, and triplets of them */
    wisp_blk *side[2];    /* orthonormal columns: left ones are 0 in the rows of right ones, and the other way round */
    wisp_blk *mask[2];    /* 1 in the rows of that side, else 0 */
    int columns[2];       /* of side */
    wisp_scalar *turn[2]; /* [columns][n] by which side becomes singular vectors */
    double *value;        /* [n] scaled, descending */
    wisp__gram *gram;     /* A^H A; NULL: not made */
    double norm;          /* with it: |B| */
    wisp_mat *lifted;     /* NULL: not made */
    double lift;          /* that is added there */
    int more;             /* pairs that are looked for beside those of the values that are asked for */
    double last;          /* the largest one of the latter, scaled; 0: not all are there */
    double longest;       /* and of all that are looked for */
    double budget;        /* what a search by A^H A may take, as wisp_eig measures; INFINITY: all */
    bool over;            /* it has taken it */
    int back;             /* the user's values are 2^back times as large */
} wisp__svd;

/* svd.c. Whether the question, `given`, can be asked; what it leaves open; what it is for the matrix of s->way; the
   result by that, as far as the matrix is there; and what was made for it goes. */
wisp_status wisp__svd_check(wisp__svd *s, int64_t rows);
void wisp__svd_fill_in(wisp__svd *s);
wisp_status wisp__svd_ask(wisp__svd *s);
wisp_status wisp__svd_go(wisp__svd *s);
void wisp__svd_drop(wisp__svd *s);

/* svd_parts.c. y = 2^exponent B x, for columns of length 1; x is scaled meanwhile, so that what is between is in range.
 */
wisp_status wisp__svd_multiply(const wisp__svd *s, wisp_blk *y, wisp_blk *x);
/* *least becomes what the largest singular value is not below, scaled likewise: by some products with a random vector,
   so that it is less by some percent. */
wisp_status wisp__svd_least_norm(const wisp__svd *s, double *least);
/* Of n columns, so many are multiplied at once. */
int wisp__svd_width(const wisp__svd *s, int n);
/* y becomes the part of x on one side; they may be the same. */
wisp_status wisp__svd_part(const wisp__svd *s, int side, wisp_blk *y, const wisp_blk *x);
int wisp__svd_inner(const wisp__svd *s); /* the side of fewer rows */
/* Residuals of eigenpairs are to be so much smaller than those of triplets. */
double wisp__svd_stricter(const wisp__svd *s, double tolerance);
/* svd_gram.c. Once the masks are there: the operator, of norm 1, and the numbers that it sets; if it is not there. */
wisp_status wisp__svd_gram_open(wisp__svd *s);
const wisp_mat *wisp__svd_gram(const wisp__svd *s);
void wisp__svd_gram_close(wisp__svd *s);
/* svd_lift.c. The matrix, from what A^H A tells about the values; its spectrum; and what factors of it take about, as
   wisp_eig measures, and in bytes (INFINITY, 0: there are none). */
wisp_status wisp__svd_lift_open(wisp__svd *s);
/* After a search that ended so: a lesser number is added where the values that were found say that it is better for
   their vectors, or a larger one where factors had no room; *anew: it is another one. */
wisp_status wisp__svd_lift_anew(wisp__svd *s, wisp_status ended, bool *anew);
/* Whether what it found may have smaller values beside it. */
bool wisp__svd_lift_hides(const wisp__svd *s);
/* From now on more pairs are looked for: a larger value among them may show that there are no smaller ones. false:
   there are no more, or enough were looked for. */
bool wisp__svd_lift_more(wisp__svd *s);
bool wisp__svd_has_factors(const wisp__svd *s);
wisp_bounds wisp__svd_lift_bounds(const wisp__svd *s);
wisp_status wisp__svd_lift_cost(wisp__svd *s, double *work, int64_t *bytes);
void wisp__svd_lift_close(wisp__svd *s);
/* The other side's vectors to those of the inner side: A v, and null vectors of A^H where that is nothing. */
wisp_status wisp__svd_partners(wisp__svd *s);
/* mask, of both sides. */
wisp_status wisp__svd_masks(wisp__svd *s);
/* Whether B is of the form [[0, A], [A^H, 0]]: it takes a random vector of either side to the other side alone. */
wisp_status wisp__svd_is_augmented(const wisp__svd *s, bool *is);
/* side, from the eigenvectors of the result, which are taken. */
wisp_status wisp__svd_spaces(wisp__svd *s);
/* The triplets of the two spaces: n, value and turn. */
wisp_status wisp__svd_triplets(wisp__svd *s);
#endif
