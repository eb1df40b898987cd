/* The seconds of wisp sigma before it starts: products with the matrix and a velocity by the model, and products of
   vectors as some of them were measured. */
#include "sigma.h"
#include <math.h>

enum { LEFT_OVER_RIGHT = 2 }; /* columns on the left for each one on the right, as wisp_kubo has them */
enum { ROWS = 1 << 16 };      /* that are measured at most */

/* Of the products of all vectors of one random vector, by those of some rows. */
static wisp_status measure_products(tool *t, const sigma_time_of *of, double *seconds)
{
    enum { TIMES = 3 };
    const int64_t rows = of->rows < ROWS ? of->rows : ROWS;
    const double n = (double)of->moments, times = n * n / (LEFT_OVER_RIGHT * of->width * of->width);
    wisp_map *map = NULL;
    wisp_blk *left = NULL, *right = NULL;
    wisp_scalar *dot = NULL;
    wisp_status status;
    double best = INFINITY;
    WISP_TRY(wisp_map_create(&map, t->ctx, rows));
    WISP_TRY(wisp_blk_create(&left, t->ctx, map, of->type, LEFT_OVER_RIGHT * of->width));
    WISP_TRY(wisp_blk_create(&right, t->ctx, map, of->type, of->width));
    WISP_TRY(wisp_alloc(t->ctx, &dot, (size_t)(LEFT_OVER_RIGHT * of->width * of->width), sizeof *dot));
    WISP_TRY(wisp_blk_fill_random(left, WISP_RANDOM_TRACE, 0, 0, 0));
    WISP_TRY(wisp_blk_fill_random(right, WISP_RANDOM_TRACE, 0, 0, LEFT_OVER_RIGHT * (uint32_t)of->width));
    for (int i = 0; i < TIMES; i++) {
        const double start = wisp_now();
        WISP_TRY(wisp_tsm_gram(dot, of->width, (wisp_scalar){1, 0}, left, right, (wisp_scalar){0, 0}, 0));
        best = fmin(best, wisp_now() - start);
    }
    *seconds = rows > 0 ? best * times * (double)of->rows / (double)rows : 0;
out:
    wisp_free(t->ctx, dot);
    wisp_blk_free(right);
    wisp_blk_free(left);
    wisp_map_free(map);
    return status;
}

wisp_status sigma_time(tool *t, const sigma_sources *s, const sigma_time_of *of, plan_time *time)
{
    const wisp_src *velocity = s->b.row || s->b.many ? &s->b : &s->a;
    wisp_choice step, product;
    wisp_mat_opts single = s->h_opts;
    wisp_status status;
    double dots;
    single.width = 1;
    WISP_TRY(plan_time_begin(t, &s->h, &s->h_opts, time));
    WISP_TRY(wisp_src_choose(t->ctx, &s->h, &single, of->type, 1, 1, &step));
    WISP_TRY(wisp_src_choose(t->ctx, velocity, &s->b_opts, of->type, of->width, 1, &product));
    WISP_TRY(measure_products(t, of, &dots));
    const double passes = (of->sweeps / of->vectors + 1 - (double)of->moments) / ((double)of->moments - 1);
    const double blocks = ceil((double)of->moments / of->width) * passes;
    time->run = of->sweeps * step.seconds + of->vectors * (blocks * product.seconds + dots);
    time->limit = step.limit;
    time->known = true;
out:
    return status;
}
