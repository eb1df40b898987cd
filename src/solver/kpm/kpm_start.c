/* With what a batch begins: its blocks, the vectors on the right, those on the left. */
#include <math.h>
#include <string.h>
#include "kpm.h"

static void free_blocks(wisp__kpm_run *k)
{
    wisp_blk_free(k->v);
    wisp_blk_free(k->w);
    wisp_blk_free(k->u);
    wisp_blk_free(k->left);
    k->v = k->w = k->u = k->left = NULL;
    k->width = 0;
}

wisp_status wisp__kpm_set_width(wisp__kpm_run *k, int width)
{
    wisp_status status = WISP_OK;
    wisp_map *map = wisp_mat_map(k->A);
    wisp_type type = k->opts->type;
    if (width > 0 && width == k->width) return WISP_OK; /* 0: also what a failure left of them goes */
    free_blocks(k);
    if (width == 0) return WISP_OK;
    WISP_TRY(wisp_blk_create(&k->v, k->ctx, map, type, width));
    WISP_TRY(wisp_blk_create(&k->w, k->ctx, map, type, width));
    if (k->opts->variant == WISP_KPM_NAIVE) WISP_TRY(wisp_blk_create(&k->u, k->ctx, map, type, width));
    if (k->parts == 2) WISP_TRY(wisp_blk_create(&k->left, k->ctx, map, type, width));
    k->width = width;
out:
    return status;
}

void wisp__kpm_keep(wisp__kpm_run *k, int64_t n, const wisp_scalar *dot)
{
    double *eta = k->eta + n * k->parts * k->width;
    for (int j = 0; j < k->width; j++) {
        eta[j] = dot[j].re;
        if (k->parts == 2) eta[k->width + j] = dot[j].im;
    }
}

/* Multiplies the columns of x by powers of 2, exactly, so that their norms are below 1: their dots are numbers of the
   type then, whatever the unit. Each exponent is added `times` times to those that moments get back. */
static wisp_status scale(wisp__kpm_run *k, wisp_blk *x, int64_t first, const char *name, int times)
{
    wisp_status status;
    const int most = wisp__most_exponent(k->opts->type);
    double *norm;
    WISP_TRY(wisp_alloc(k->ctx, &norm, (size_t)k->width, sizeof *norm));
    status = wisp_norm(x, norm);
    for (int j = 0; j < k->width && status == WISP_OK; j++) {
        int exponent = 0;
        if (!isfinite(norm[j])) {
            status = wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                                    "%s: column %lld holds a NaN, an infinity, or numbers that are too large", name,
                                    (long long)first + j);
            break;
        }
        if (norm[j] > 0) frexp(norm[j], &exponent);
        exponent = exponent > most ? most : exponent < -most ? -most : exponent;
        k->scale[j] = wisp__real(ldexp(1, -exponent));
        k->column[j].norm = ldexp(norm[j], -exponent);
        k->column[j].exponent += times * exponent;
    }
    wisp_free(k->ctx, norm);
    if (status == WISP_OK) status = wisp_vscal(x, k->scale);
out:
    return status;
}

wisp_status wisp__kpm_take(wisp__kpm_run *k, wisp_blk *v, const wisp_blk *x, int64_t first, const char *name, int times)
{
    wisp_status status;
    wisp_blk *some = NULL;
    /* It is read alone. */
    WISP_TRY(wisp_blk_cols(&some, (wisp_blk *)(uintptr_t)x, (int)first, k->width));
    WISP_TRY(wisp_copy(v, some));
    WISP_TRY(scale(k, v, first, name, times));
out:
    wisp_blk_free(some);
    return status;
}

wisp_status wisp__kpm_take_right(wisp__kpm_run *k, wisp_blk *v, int64_t first, int times)
{
    wisp_status status;
    const wisp_kpm_opts *o = k->opts;
    if (o->right) return wisp__kpm_take(k, v, o->right, first, "opts.right", times);
    WISP_TRY(o->start(o->start_arg, first, v));
    status = scale(k, v, first, "a vector of opts.start", times);
out:
    return status;
}

/* B^H |l>, where |l> is |nu_0> or one of the user's; its moment 0, and the limit of all moments. There is no vector
   before nu_0: so w is free for |l>. */
static wisp_status start_left(wisp__kpm_run *k, int64_t first)
{
    wisp_status status = WISP_OK;
    const wisp_kpm_opts *o = k->opts;
    wisp_blk *l = !o->left ? k->v : o->adjoint ? k->w : k->left;
    for (int j = 0; j < k->width; j++) k->column[j].limit = k->column[j].norm;
    if (o->left) WISP_TRY(wisp__kpm_take(k, l, o->left, first, "opts.left", 1));
    if (o->adjoint) {
        WISP_TRY(wisp_spmmv(k->left, o->adjoint, l, NULL));
        WISP_TRY(scale(k, k->left, first, "opts.adjoint times a left vector", 1));
    }
    for (int j = 0; j < k->width; j++) k->column[j].limit *= k->column[j].norm;
    WISP_TRY(wisp_dot(k->left, k->v, k->dot));
    /* The sum over the ranks is there already; where each is to have a part of it, rank 0 has all. */
    if (!wisp__kpm_whole_each_step(o) && wisp_ctx_rank(k->ctx) > 0)
        memset(k->dot, 0, (size_t)k->width * sizeof *k->dot);
    wisp__kpm_keep(k, 0, k->dot);
out:
    return status;
}

wisp_status wisp__kpm_start(wisp__kpm_run *k, int64_t first)
{
    wisp_status status = WISP_OK;
    const wisp_kpm_opts *o = k->opts;
    const int times = o->left ? 1 : 2; /* else moments have it on both sides */
    if (k->column) memset(k->column, 0, (size_t)k->width * sizeof *k->column);
    switch (o->trace) {
    case WISP_TRACE_RANDOM:
        WISP_TRY(wisp_blk_fill_random(k->v, WISP_RANDOM_TRACE, o->seed, WISP__STREAM_TRACE,
                                      (uint32_t)(o->first_vector + first)));
        break;
    case WISP_TRACE_GIVEN: WISP_TRY(wisp__kpm_take_right(k, k->v, first, times)); break;
    case WISP_TRACE_SITES:
    case WISP_TRACE_EXACT:
        for (int j = 0; j < k->width; j++) k->row[j] = o->trace == WISP_TRACE_SITES ? o->sites[first + j] : first + j;
        WISP_TRY(wisp_blk_fill_units(k->v, k->row));
    }
    if (k->left && o->trace != WISP_TRACE_GIVEN) WISP_TRY(scale(k, k->v, first, "the vectors", times));
    if (k->left) WISP_TRY(start_left(k, first));
out:
    return status;
}
