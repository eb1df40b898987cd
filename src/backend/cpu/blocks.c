/* Ops on blocks by the CPU's team: element-wise ones, dots, and products of tall and skinny blocks. */
#include "cpu.h"
#include <math.h>
#include <string.h>

typedef struct {
    wisp__axpby_fn fn;
    const wisp__axpby_params *p;
    int64_t count;
} axpby_run;

static void axpby_thread(void *arg, int thread, int threads)
{
    const axpby_run *r = arg;
    r->fn(r->p, wisp__split(r->count, threads, thread), wisp__split(r->count, threads, thread + 1));
}

wisp_status wisp__cpu_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count)
{
    axpby_run run = {ctx->isa->axpby[is_double], p, count};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, count * p->period), axpby_thread, &run);
    return WISP_OK;
}

typedef struct {
    const wisp__isa *isa;
    wisp__dot_fn fn;
    const wisp__dot_params *p;
    int64_t count, per_block;
    bool cross, compensated, is_double;
    double *partial;
} dot_run;

/* The sums of periods begin .. end - 1. A multiple of a column is made a strip at a time, so that no memory of its size
   is held. */
static void dot_periods(const dot_run *r, int64_t begin, int64_t end, double *work, double *error)
{
    enum { MOST = 64 }; /* numbers of a period of a single column */
    const wisp__dot_params *p = r->p;
    if (p->exponent == 0) {
        r->fn(p, begin, end, r->cross, work, error);
        return;
    }
    double strip[K_STRIP * MOST];
    const wisp__dot_params q = {strip, strip, p->period, p->period, p->period, p->rows, p->reals, 0};
    const double factor = ldexp(1, p->exponent);
    for (int64_t i = begin, n; i < end; i += n) {
        n = WISP__MIN(K_STRIP, end - i);
        for (int64_t k = 0; k < n * p->period; k++) {
            const int64_t at = (i + k / p->period) * p->ld_x + k % p->period;
            if (r->is_double)
                strip[k] = factor * ((const double *)p->x)[at];
            else
                ((float *)strip)[k] = (float)factor * ((const float *)p->x)[at];
        }
        r->fn(&q, 0, n, r->cross, work, error);
    }
}

/* The sums of a block, one row of them; its sums of a period stay with the thread. */
static void dot_block(const dot_run *r, int64_t block, double *sum)
{
    const wisp__dot_params *p = r->p;
    const int kinds = r->cross ? 2 : 1, parts = r->compensated ? 2 : 1, row = p->period / p->rows;
    const int64_t begin = block * r->per_block, end = WISP__MIN(begin + r->per_block, r->count);
    const size_t sums = (size_t)(kinds * p->period), bytes = (size_t)row * sizeof *sum;
    double period[4 * K_DOT_PERIOD], *work = p->rows > 1 ? period : sum;
    memset(work, 0, (size_t)parts * sums * sizeof *work);
    dot_periods(r, begin, end, work, r->compensated ? work + sums : NULL);
    for (int k = 0; k < kinds && p->rows > 1; k++) {
        double *s = work + k * p->period, *error = r->compensated ? s + sums : NULL;
        r->isa->fold(p->rows, row, s, error);
        memcpy(sum + k * row, s, bytes);
        if (error) memcpy(sum + (kinds + k) * row, error, bytes);
    }
}

static void dot_thread(void *arg, int thread, int threads)
{
    const dot_run *r = arg;
    const int64_t blocks = (r->count + r->per_block - 1) / r->per_block, end = wisp__split(blocks, threads, thread + 1);
    const int64_t step = r->p->period / r->p->rows * (r->cross ? 2 : 1) * (r->compensated ? 2 : 1);
    for (int64_t b = wisp__split(blocks, threads, thread); b < end; b++) dot_block(r, b, r->partial + b * step);
}

void wisp__cpu_gather(int reals, int row, bool cross, const double *sum, const double *sum_error, double *dot,
                      double *error)
{
    for (int im = 0; im <= cross; im++)
        for (int l = 0; l < row; l++) {
            const int j = 2 * (l / reals) + im, from = im * row + l;
            const double sign = im && l % 2 ? -1 : 1; /* x_re y_im - x_im y_re */
            wisp__add(dot + j, error ? error + j : NULL, sign * sum[from], error ? sign * sum_error[from] : 0);
        }
}

wisp_status wisp__cpu_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                          int64_t per_block, double *dot, double *error)
{
    const int64_t blocks = (count + per_block - 1) / per_block;
    const int row = p->period / p->rows;
    const size_t sums = (size_t)row * (kind->cross ? 2 : 1), numbers = (size_t)(2 * (row / p->reals));
    double *partial;
    const wisp_status status = wisp__cpu_room(ctx, &partial, blocks, error ? 2 * sums : sums);
    if (status != WISP_OK) return status;
    if (!kind->adds) memset(dot, 0, numbers * sizeof *dot);
    if (!kind->adds && error) memset(error, 0, numbers * sizeof *error);
    if (blocks == 0) return WISP_OK;
    dot_run run = {ctx->isa, ctx->isa->dot[kind->is_double], p, count, per_block, kind->cross, error, kind->is_double,
                   partial};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, count * p->period), dot_thread, &run);
    wisp__cpu_add_up(ctx, error, partial, blocks, sums);
    wisp__cpu_gather(p->reals, row, kind->cross, partial, error ? partial + sums : NULL, dot, error);
    return WISP_OK;
}

typedef struct {
    wisp__sum_fn fn;
    double *partial;
    int64_t blocks;
    size_t size;
    bool compensated;
} sum_run;

static void sum_thread(void *arg, int thread, int threads)
{
    enum { UNIT = 8 }; /* whole cache lines */
    const sum_run *r = arg;
    const int64_t units = ((int64_t)r->size + UNIT - 1) / UNIT, begin = wisp__split(units, threads, thread) * UNIT,
                  end = WISP__MIN(wisp__split(units, threads, thread + 1) * UNIT, (int64_t)r->size);
    if (begin < end) r->fn(r->partial, r->blocks, r->size, (size_t)begin, (size_t)end, r->compensated);
}

wisp_status wisp__cpu_room(wisp_ctx *ctx, double **partial, int64_t blocks, size_t size)
{
    return wisp__scratch(ctx->team, WISP__DEVICE_SCRATCH, partial, (size_t)WISP__MAX(blocks, 1),
                         size * sizeof **partial);
}

void wisp__cpu_add_up(wisp_ctx *ctx, bool compensated, double *partial, int64_t blocks, size_t size)
{
    if (blocks == 0) memset(partial, 0, (compensated ? 2 : 1) * size * sizeof *partial);
    if (blocks == 0) return;
    sum_run run = {ctx->isa->sum, partial, blocks, size, compensated};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, blocks * (int64_t)size), sum_thread, &run);
}

/* ---- tall and skinny ------------------------------------------------------------------------- */

typedef struct {
    wisp__gram_fn fn;
    const wisp__gram_params *p;
    int64_t per_block;
    bool compensated;
    double *partial;
} gram_run;

static void gram_thread(void *arg, int thread, int threads)
{
    const gram_run *r = arg;
    const int64_t rows = r->p->rows, blocks = (rows + r->per_block - 1) / r->per_block;
    const size_t size = (size_t)r->p->p * (size_t)r->p->q, step = r->compensated ? 2 * size : size;
    const int64_t end = wisp__split(blocks, threads, thread + 1);
    for (int64_t b = wisp__split(blocks, threads, thread); b < end; b++) {
        double *sum = r->partial + (size_t)b * step;
        memset(sum, 0, step * sizeof *sum);
        r->fn(r->p, b * r->per_block, WISP__MIN((b + 1) * r->per_block, rows), sum, r->compensated ? sum + size : NULL);
    }
}

wisp_status wisp__cpu_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                           int64_t per_block, double *sum)
{
    const size_t size = (size_t)p->p * (size_t)p->q;
    const int64_t blocks = (p->rows + per_block - 1) / per_block;
    double *partial;
    const wisp_status status = wisp__cpu_room(ctx, &partial, blocks, compensated ? 2 * size : size);
    if (status != WISP_OK) return status;
    gram_run run = {ctx->isa->gram[is_double], p, per_block, compensated, partial};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, p->rows * p->p * p->q), gram_thread, &run);
    wisp__cpu_add_up(ctx, compensated, partial, blocks, size);
    memcpy(sum, partial, (compensated ? 2 : 1) * size * sizeof *sum);
    return WISP_OK;
}

wisp_status wisp__cpu_join(wisp_ctx *ctx, const wisp__join_params *p)
{
    (void)ctx;
    for (int i = 0; i < p->v_count; i++)
        for (int j = p->mirror && p->v == p->w ? i : 0; j < p->w_count; j++) {
            const wisp_scalar x = wisp__joined(p, i, j);
            const int64_t row = p->v + i, column = p->w + j;
            double *to = p->to + 2 * (row * p->ld + column), *mirror = p->to + 2 * (column * p->ld + row);
            to[0] = x.re, to[1] = x.im;
            if (p->mirror && to != mirror) mirror[0] = x.re, mirror[1] = -x.im;
        }
    return WISP_OK;
}

typedef struct {
    wisp__update_fn fn;
    const wisp__update_params *p;
    int64_t rows;
    char *copy;
    size_t copy_bytes;
} update_run;

static void update_thread(void *arg, int thread, int threads)
{
    enum { UNIT = K_UPDATE_ROWS }; /* ranges begin at the same strips of rows for any number of threads */
    const update_run *r = arg;
    const int64_t units = (r->rows + UNIT - 1) / UNIT, begin = wisp__split(units, threads, thread) * UNIT,
                  end = WISP__MIN(wisp__split(units, threads, thread + 1) * UNIT, r->rows);
    char *copy = r->copy ? r->copy + (size_t)thread * r->copy_bytes : NULL;
    if (begin < end) r->fn(r->p, begin, end, copy);
}

/* Whether w is better written past the caches: what is written alone is too large, and in whole cache lines. */
static bool writes_past(const wisp__update_params *p, int64_t real, int64_t rows)
{
    const bool gapless = p->ld_w == p->q, lines = (uintptr_t)p->w % WISP__LINE == 0 &&
                                                  p->ld_w * real % WISP__LINE == 0 && p->q * real % WISP__LINE == 0;
    return !p->reads_w && !p->in_place && (gapless || lines) && wisp__past_caches(rows * real * (p->p + p->q));
}

wisp_status wisp__cpu_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    const size_t real = wisp__real_bytes(is_double), bytes = K_UPDATE_ROWS * (size_t)p->p * real;
    char *copy = NULL;
    wisp_status status = WISP_OK;
    if (p->in_place) status = wisp__scratch(ctx->team, WISP__DEVICE_SCRATCH, &copy, (size_t)ctx->threads, bytes);
    if (status != WISP_OK) return status;
    wisp__update_params advised = *p;
    advised.stream = writes_past(p, (int64_t)real, rows);
    update_run run = {ctx->isa->update[is_double], &advised, rows, copy, bytes};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, rows * p->p * p->q), update_thread, &run);
    return WISP_OK;
}
