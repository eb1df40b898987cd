/* Dots on a GPU, and sums of what groups have summed. */
#include "fuse.h"
#include <math.h>

/* ---- sums of the groups' sums ---------------------------------------------------------------- */

/* The first of n arrays, and as many of the next ones as are in its buffer: one launch. */
static wisp_status sum_some(wisp_ctx *ctx, k_sums k, size_t partial_at, double *const *to, double *error, int n,
                            int *some)
{
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    void *buffer = NULL;
    int64_t at;
    wisp__gpu_own(&c, S_PARTIAL, c.g->partial, partial_at);
    wisp__gpu_at(&c, S_TO, to[0]);
    wisp__gpu_at(&c, S_ERROR, error);
    for (*some = 1; *some < WISP__MIN(n, G_SUMS) && c.status == WISP_OK; ++*some) {
        c.status = wisp__gpu_place(ctx, to[*some], &buffer, &at);
        if (buffer != c.buffer[S_TO]) break;
        k.to_at[*some] = (at - k.at[S_TO]) / (int64_t)sizeof(double);
    }
    return wisp__gpu_launch(&c, "sums", *some * k.each, "#define REAL double\n#define PARTS 1\n%s",
                            error ? WISP__GPU_COMPENSATED : "");
}

wisp_status wisp__gpu_sums(wisp_ctx *ctx, int64_t groups, int64_t size, int64_t each, double *const *to, int n)
{
    wisp_status status = WISP_OK;
    const k_sums k = {.blocks = groups, .size = size, .each = each};
    for (int i = 0, some; i < n && status == WISP_OK; i += some)
        status = sum_some(ctx, k, (size_t)(i * each) * sizeof(double), to + i, NULL, n - i, &some);
    return status;
}

wisp_status wisp__gpu_sum(wisp_ctx *ctx, size_t partial_at, int64_t groups, int64_t size, bool adds, double *to,
                          double *error)
{
    const k_sums k = {.blocks = groups, .size = size, .adds = adds, .each = size};
    int some;
    return sum_some(ctx, k, partial_at, &to, error, 1, &some);
}

/* ---- dots -------------------------------------------------------------------------------------- */

void wisp__gpu_dot_groups(const wisp__gpu *g, int64_t rows, int width, int64_t *per, int64_t *groups)
{
    enum { GROUPS = 1024, TURNS = 8, LEAST = 64 }; /* so that sums of groups are few beside what is summed */
    const int64_t least = WISP__MAX((int64_t)(g->group_size / wisp__gpu_lanes(g, width)) * TURNS, LEAST);
    *per = WISP__MAX((rows + GROUPS - 1) / GROUPS, least);
    *groups = (rows + *per - 1) / *per;
}

typedef struct {
    const void *x, *y, *rows;
    int64_t ld_x, ld_y, ld_rows; /* of rows, in elements */
    int64_t count, size;
    size_t partial_at;
    int width, reals;
    bool is_double, cross, compensated;
    double scale;
} dot_job;

/* The sums of its groups. */
static wisp_status dot(wisp_ctx *ctx, const dot_job *j)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    int64_t per, groups;
    wisp__gpu_dot_groups(g, j->count, j->width, &per, &groups);
    k_dot k = {.rows = j->count,
               .rows_per_block = per,
               .width = j->width,
               .lanes = wisp__gpu_lanes(g, j->width),
               .cross = j->cross,
               .size = j->size,
               .ld_x = j->ld_x,
               .ld_y = j->ld_y,
               .ld_rows = j->ld_rows,
               .scale = j->scale};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    if (j->count > 0) {
        wisp__gpu_at(&c, D_X, j->x);
        wisp__gpu_at(&c, D_Y, j->y);
        wisp__gpu_at(&c, D_ROWS, j->rows);
    }
    wisp__gpu_own(&c, D_PARTIAL, g->partial, j->partial_at);
    return wisp__gpu_launch(&c, "dots", groups, "#define REAL %s\n#define PARTS %d\n%s", WISP__GPU_REAL(j->is_double),
                            j->reals, j->compensated ? WISP__GPU_COMPENSATED : "");
}

wisp_status wisp__gpu_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                          int64_t per_block, double *to, double *error)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    const int64_t numbers = (int64_t)p->reals * p->rows; /* of an element of a period, in as many rows */
    const int64_t width = p->period / numbers;
    int64_t per, groups;
    wisp_status status;
    (void)per_block;
    const dot_job j = {.x = p->x,
                       .y = p->y,
                       .ld_x = p->ld_x / numbers,
                       .ld_y = p->ld_y / numbers,
                       .count = count * p->rows,
                       .size = 2 * width,
                       .width = (int)width,
                       .reals = p->reals,
                       .is_double = kind->is_double,
                       .cross = kind->cross && p->reals == 2,
                       .compensated = error,
                       .scale = ldexp(1, p->exponent)};
    wisp__gpu_dot_groups(g, j.count, j.width, &per, &groups);
    WISP_TRY(wisp__gpu_room(g, &g->partial, (size_t)(groups * j.size) * (error ? 2 : 1) * sizeof(double)));
    WISP_TRY(dot(ctx, &j));
    status = wisp__gpu_sum(ctx, 0, groups, j.size, kind->adds, to, error);
out:
    return status;
}

wisp_status wisp__gpu_dot_any(const wisp__gpu_fused *f, int i)
{
    const wisp__fuse_dot *d = f->p->dot + i;
    return dot(f->ctx, &(dot_job){.x = d->x,
                                  .y = d->y,
                                  .rows = d->rows,
                                  .ld_x = d->ld_x / f->numbers,
                                  .ld_y = d->ld_y / f->numbers,
                                  .ld_rows = d->ld_rows / f->numbers,
                                  .count = f->p->count,
                                  .size = f->size,
                                  .partial_at = wisp__gpu_dot_at(f, i),
                                  .width = f->width,
                                  .reals = f->p->reals,
                                  .is_double = f->is_double,
                                  .cross = d->cross,
                                  .scale = 1});
}
