/* Shared by the files of wisp_svd. */
#ifndef WISP_SVD_H
#define WISP_SVD_H
#include "eigen.h"

enum { WISP__LEFT, WISP__RIGHT };

typedef struct wisp__gram wisp__gram;
typedef struct {
    wisp_ctx *ctx;
    const wisp_mat *B;
    wisp_eigen *e;
    wisp_eig_opts o, asked; /* of the eigenvalues of B; of the singular values of A */
    int64_t rows, cols;     /* of A */
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
    wisp__gram *gram;     /* by A^H A; NULL: by B */
    double norm;          /* with it: |B| */
} wisp__svd;

/* y = 2^exponent B x, for columns of length 1; x is scaled meanwhile, so that what is between is in range. */
wisp_status wisp__svd_multiply(const wisp__svd *s, wisp_blk *y, wisp_blk *x);
/* Of n columns, so many are multiplied at once. */
int wisp__svd_width(const wisp__svd *s, int n);
/* y becomes the part of x on one side; they may be the same. */
wisp_status wisp__svd_part(const wisp__svd *s, int side, wisp_blk *y, const wisp_blk *x);
/* svd_gram.c. Whether the smallest values are looked for as those of A^H A; then, once the masks are there, the
   operator, of norm 1, and the numbers that it sets. */
bool wisp__svd_takes_gram(const wisp__svd *s);
wisp_status wisp__svd_gram_open(wisp__svd *s);
const wisp_mat *wisp__svd_gram(const wisp__svd *s);
void wisp__svd_gram_close(wisp__svd *s);
/* mask, of both sides. */
wisp_status wisp__svd_masks(wisp__svd *s);
/* Whether B is of the form [[0, A], [A^H, 0]]: it takes a random vector of either side to the other side alone. */
wisp_status wisp__svd_is_augmented(const wisp__svd *s, bool *is);
/* side, from the eigenvectors of the result, which are taken. */
wisp_status wisp__svd_spaces(wisp__svd *s);
/* The triplets of the two spaces: n, value and turn. */
wisp_status wisp__svd_triplets(wisp__svd *s);
#endif
