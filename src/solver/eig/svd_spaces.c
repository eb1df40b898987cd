/* The two spaces of singular vectors, and the triplets between them. */
#include <string.h>
#include "dense_svd.h"
#include "svd.h"

/* ---- two spaces ------------------------------------------------------------------------------------ */

/* The columns of a side become those of an orthonormal basis of what they have much of; the parts of pairs that are
   both there are the same vectors, and what is left of them there is rounding. */
static wisp_status make_basis(wisp__svd *s, int i)
{
    wisp_status status = WISP_OK;
    const int n = s->held;
    wisp_scalar *G = NULL;
    double *length = NULL;
    wisp_blk *kept = NULL;
    wisp__ortho how;
    WISP_TRY(wisp_alloc(s->ctx, &G, (size_t)n * (size_t)n, sizeof *G));
    WISP_TRY(wisp_alloc(s->ctx, &length, (size_t)n, sizeof *length));
    WISP_TRY(wisp_tsm_gram(G, n, wisp__real(1), s->side[i], s->side[i], wisp__real(0), 0));
    WISP_TRY(wisp__dense_eigh(s->ctx, s->is_complex, n, G, length));
    int m = 0;
    while (m < n && length[n - 1 - m] > 0.25) m++;
    s->columns[i] = m;
    if (m == 0) goto out;
    for (int row = 0; row < n; row++) /* the last m columns become the first ones */
        for (int j = 0; j < m; j++) {
            const double by = 1 / sqrt(length[n - m + j]);
            const wisp_scalar g = G[(size_t)row * (size_t)n + (size_t)(n - m + j)];
            G[(size_t)row * (size_t)m + (size_t)j] = (wisp_scalar){by * g.re, by * g.im};
        }
    WISP_TRY(wisp_blk_cols(&kept, s->side[i], 0, m));
    WISP_TRY(wisp_tsm_update(kept, wisp__real(1), s->side[i], G, m, wisp__real(0)));
    WISP_TRY(wisp__orthonormal(kept, NULL, 2, &how));
    s->columns[i] = how.rank;
out:
    wisp_blk_free(kept);
    wisp_free(s->ctx, G);
    wisp_free(s->ctx, length);
    return status;
}

/* Once all singular values above 0 are there, all that is orthogonal to their vectors is a null vector: so many are
   added as there are to be. */
static wisp_status add_null_vectors(wisp__svd *s, int i, int wanted)
{
    wisp_status status = WISP_OK;
    const int have = s->columns[i];
    wisp_blk *old = NULL, *fresh = NULL;
    wisp__ortho how;
    if (have >= wanted) return WISP_OK;
    if (have > 0) WISP_TRY(wisp_blk_cols(&old, s->side[i], 0, have));
    WISP_TRY(wisp_blk_cols(&fresh, s->side[i], have, wanted - have));
    WISP_TRY(wisp_blk_fill_random(fresh, WISP_RANDOM_GAUSS, s->given.seed, WISP__STREAM_SVD, (uint32_t)have));
    WISP_TRY(wisp__svd_part(s, i, fresh, fresh));
    WISP_TRY(wisp__orthonormal(fresh, old, 0, &how));
    s->columns[i] += how.rank;
out:
    wisp_blk_free(old);
    wisp_blk_free(fresh);
    return status;
}

/* Of A^H A, or with the zeros lifted: the vectors of the inner side, and the other one is A of them. */
static wisp_status spaces_of_gram(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    const int inner = wisp__svd_inner(s), outer = !inner;
    wisp_blk *x = NULL, *y = NULL;
    wisp__ortho how;
    s->side[inner] = s->e->vectors;
    s->e->vectors = NULL;
    WISP_TRY(wisp__svd_part(s, inner, s->side[inner], s->side[inner]));
    WISP_TRY(make_basis(s, inner));
    if (s->columns[inner] == 0) goto out;
    if (s->way == WISP__BY_LIFTED) {
        status = wisp__svd_partners(s);
        goto out;
    }
    WISP_TRY(wisp_blk_create_raw(&s->side[outer], s->ctx, wisp_mat_map(s->B), s->type, s->held));
    WISP_TRY(wisp_blk_cols(&x, s->side[inner], 0, s->columns[inner]));
    WISP_TRY(wisp_blk_cols(&y, s->side[outer], 0, s->columns[inner]));
    WISP_TRY(wisp__svd_multiply(s, y, x));
    WISP_TRY(wisp__orthonormal(y, NULL, 0, &how));
    s->columns[outer] = how.rank;
out:
    wisp_blk_free(x), wisp_blk_free(y);
    return status;
}

wisp_status wisp__svd_spaces(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    wisp_eigen *e = s->e;
    s->held = e->found;
    if (s->way != WISP__BY_AUGMENTED) return spaces_of_gram(s);
    WISP_TRY(wisp_blk_create_raw(&s->side[WISP__LEFT], s->ctx, wisp_mat_map(s->B), s->type, s->held));
    WISP_TRY(wisp__svd_part(s, WISP__LEFT, s->side[WISP__LEFT], e->vectors));
    s->side[WISP__RIGHT] = e->vectors; /* in its place */
    e->vectors = NULL;
    WISP_TRY(wisp__svd_part(s, WISP__RIGHT, s->side[WISP__RIGHT], s->side[WISP__RIGHT]));
    for (int i = 0; i < 2; i++) WISP_TRY(make_basis(s, i));
    if (s->asked.which == WISP_EIG_LARGEST && e->complete && s->held >= s->wanted)
        for (int i = 0; i < 2; i++) WISP_TRY(add_null_vectors(s, i, s->wanted));
out:
    return status;
}

/* ---- triplets -------------------------------------------------------------------------------------- */

static wisp_status times(const void *svd, wisp_blk *y, wisp_blk *x)
{
    const wisp__svd *s = svd;
    s->e->products += wisp_blk_width(x);
    return wisp__svd_multiply(s, y, x);
}

/* S[left][right] = U^H A V, scaled. */
static wisp_status project(const wisp__svd *s, wisp_scalar *S)
{
    wisp_status status = WISP_OK;
    const int n = s->columns[WISP__RIGHT], width = wisp__svd_width(s, n);
    wisp__product by = {.times = times, .arg = s};
    wisp_blk *left = NULL, *right = NULL;
    WISP_TRY(wisp_blk_create(&by.x, s->ctx, wisp_mat_map(s->B), s->type, width));
    WISP_TRY(wisp_blk_create(&by.y, s->ctx, wisp_mat_map(s->B), s->type, width));
    WISP_TRY(wisp_blk_cols(&left, s->side[WISP__LEFT], 0, s->columns[WISP__LEFT]));
    WISP_TRY(wisp_blk_cols(&right, s->side[WISP__RIGHT], 0, n));
    WISP_TRY(wisp__gram_of(&by, left, right, S, (wisp_place){0}));
out:
    wisp_blk_free(by.x), wisp_blk_free(by.y);
    wisp_blk_free(left), wisp_blk_free(right);
    return status;
}

static void adjoint(int rows, int cols, const wisp_scalar *from, wisp_scalar *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            const wisp_scalar v = from[(size_t)i * (size_t)cols + (size_t)j];
            to[(size_t)j * (size_t)rows + (size_t)i] = (wisp_scalar){v.re, -v.im};
        }
}

/* The triplets of the two spaces: values, and how the spaces become their vectors. The small matrix has no fewer rows
   than columns, so that each of these has a partner. */
wisp_status wisp__svd_triplets(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    const int left = s->columns[WISP__LEFT], right = s->columns[WISP__RIGHT],
              tall = left >= right ? WISP__LEFT : WISP__RIGHT;
    wisp_scalar *S = NULL;
    const size_t size = (size_t)left * (size_t)right;
    s->n = left < right ? left : right;
    if (s->n == 0) return WISP_OK;
    WISP_TRY(wisp_alloc(s->ctx, &S, size, sizeof *S));
    WISP_TRY(wisp_alloc(s->ctx, &s->turn[tall], size, sizeof *S));
    WISP_TRY(wisp_alloc(s->ctx, &s->turn[!tall], (size_t)s->n * (size_t)s->n, sizeof *S));
    WISP_TRY(wisp_alloc(s->ctx, &s->value, (size_t)s->n, sizeof *s->value));
    WISP_TRY(project(s, S));
    if (tall == WISP__LEFT)
        memcpy(s->turn[WISP__LEFT], S, size * sizeof *S);
    else
        adjoint(left, right, S, s->turn[WISP__RIGHT]);
    WISP_TRY(wisp__dense_svd(s->ctx, s->is_complex, s->columns[tall], s->n, s->turn[tall], s->value, s->turn[!tall]));
out:
    wisp_free(s->ctx, S);
    return status;
}
