/* The rows of left and of right vectors of [[0, A], [A^H, 0]], and its products. */
#include "svd.h"

int wisp__svd_inner(const wisp__svd *s) { return s->rows < s->cols ? WISP__LEFT : WISP__RIGHT; }

typedef struct {
    int64_t rows;
    int side;
    wisp_type type;
} part_of;

static int fill_mask(void *arg, int64_t row, int column, void *val)
{
    const part_of *p = arg;
    const double one = (row < p->rows) == (p->side == WISP__LEFT);
    (void)column;
    wisp__put(p->type, val, 0, wisp__real(one));
    return 0;
}

wisp_status wisp__svd_masks(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < 2; i++) {
        part_of p = {s->rows, i, s->type};
        WISP_TRY(wisp_blk_create(&s->mask[i], s->ctx, wisp_mat_map(s->B), s->type, 1));
        WISP_TRY(wisp_blk_fill_fn(s->mask[i], fill_mask, &p));
    }
out:
    return status;
}

wisp_status wisp__svd_part(const wisp__svd *s, int side, wisp_blk *y, const wisp_blk *x)
{
    const wisp_term term = {.x = x, .rows = s->mask[side]};
    const wisp_update update = {y, 1, &term};
    return wisp_fuse(&update, 1, NULL, 0, 0);
}

wisp_status wisp__svd_is_augmented(const wisp__svd *s, bool *is)
{
    wisp_status status = WISP_OK;
    wisp_blk *x = NULL, *y = NULL;
    *is = true;
    WISP_TRY(wisp_blk_create(&x, s->ctx, wisp_mat_map(s->B), s->type, 1));
    WISP_TRY(wisp_blk_create(&y, s->ctx, wisp_mat_map(s->B), s->type, 1));
    for (int i = 0; i < 2 && *is; i++) {
        double norm;
        WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, s->given.seed, WISP__STREAM_SVD, 0));
        WISP_TRY(wisp__svd_part(s, i, x, x));
        WISP_TRY(wisp_spmmv(y, s->B, x, NULL));
        WISP_TRY(wisp__svd_part(s, i, y, y));
        WISP_TRY(wisp_norm(y, &norm));
        *is = !(norm > 0);
    }
out:
    wisp_blk_free(x), wisp_blk_free(y);
    return status;
}

/* y = 2^exponent B x; x is scaled meanwhile, so that what is between is in range. */
wisp_status wisp__svd_multiply(const wisp__svd *s, wisp_blk *y, wisp_blk *x)
{
    wisp_status status;
    const int half = s->exponent / 2;
    const wisp_aug aug = {.terms = WISP_SCALE, .alpha = wisp__real(ldexp(1, s->exponent - half))};
    WISP_TRY(wisp_scal(x, wisp__real(ldexp(1, half))));
    WISP_TRY(wisp_spmmv(y, s->B, x, &aug));
    WISP_TRY(wisp_scal(x, wisp__real(ldexp(1, -half))));
out:
    return status;
}

wisp_status wisp__svd_least_norm(const wisp__svd *s, double *least)
{
    enum { STEPS = 20 };
    wisp_status status = WISP_OK;
    wisp_blk *v[2] = {0};
    double norm = 1;
    *least = 0;
    for (int i = 0; i < 2; i++) WISP_TRY(wisp_blk_create(&v[i], s->ctx, wisp_mat_map(s->B), s->type, 1));
    WISP_TRY(wisp_blk_fill_random(v[0], WISP_RANDOM_GAUSS, s->given.seed, WISP__STREAM_SVD, 1));
    WISP_TRY(wisp_norm(v[0], &norm));
    for (int i = 0; i < STEPS && norm > 0; i++) {
        wisp_blk *x = v[i % 2], *y = v[(i + 1) % 2];
        WISP_TRY(wisp_scal(x, wisp__real(1 / norm)));
        WISP_TRY(wisp__svd_multiply(s, y, x));
        WISP_TRY(wisp_norm(y, &norm));
        s->e->products++;
        if (isfinite(norm)) *least = fmax(*least, norm);
    }
out:
    wisp_blk_free(v[0]), wisp_blk_free(v[1]);
    return status;
}

int wisp__svd_width(const wisp__svd *s, int n)
{
    const int most = 128 / (int)wisp_type_size(s->type);
    return n < most ? n : most;
}
