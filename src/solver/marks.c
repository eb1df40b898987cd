/* What matrices of a run do to a vector: by that its moments are told from those of other matrices. */
#include "marks.h"

enum { RIGHT, LEFT }; /* seeds of both random vectors */

wisp_status wisp__mark(double *mark, const wisp_mat *M, wisp_blk *x, wisp_blk *y, wisp_scalar *dot)
{
    wisp_status status;
    double *norm = NULL;
    wisp_ctx *ctx = wisp_mat_ctx(M);
    WISP_TRY(wisp_alloc(ctx, &norm, (size_t)wisp_blk_width(x), sizeof *norm));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_TRACE, RIGHT, WISP__STREAM_TRACE, 0));
    WISP_TRY(wisp_spmmv(y, M, x, NULL));
    WISP_TRY(wisp_norm(y, norm));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_TRACE, LEFT, WISP__STREAM_TRACE, 0));
    WISP_TRY(wisp_dot(x, y, dot));
    const double of[] = {norm[0], dot[0].re / norm[0], dot[0].im / norm[0]};
    const bool known = norm[0] > 0 && isfinite(of[0]) && isfinite(of[1]) && isfinite(of[2]);
    for (int i = 0; i < 3; i++) mark[i] = known ? of[i] : 0;
out:
    wisp_free(ctx, norm);
    return status;
}

/* Nothing is known: of a run of an earlier version, or where squares leave the range. */
static bool is_unknown(const double *mark) { return mark[0] == 0 && mark[1] == 0 && mark[2] == 0; }

bool wisp__marks_differ(const wisp_moments *a, const wisp_moments *b, int which)
{
    const double *x = a->mark[which], *y = b->mark[which];
    const double unit = wisp__is_single(a->type) ? FLT_EPSILON : DBL_EPSILON;
    const double most = 64 * unit * sqrt((double)a->rows + 1);
    if (is_unknown(x) || is_unknown(y)) return false;
    return !(fabs(x[0] - y[0]) <= most * x[0] && fabs(x[1] - y[1]) <= most && fabs(x[2] - y[2]) <= most);
}
