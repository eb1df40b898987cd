/* Updates and dots of blocks in one pass, by blocks of rows that the layout alone fixes. */
#include "cpu.h"

typedef struct {
    const wisp__isa *isa;
    wisp__fuse_fn fn;
    const wisp__fuse_params *p;
    int64_t periods, per_block, strip;
    double *partial, *work; /* [blocks][sets][row]; [threads][sets][period], where a period is several rows */
} fuse_run;

/* A block, and its sums: one row of each set. */
static void fuse_block(const fuse_run *r, int64_t block, double *sum, double *work)
{
    const wisp__fuse_params *p = r->p;
    const int64_t begin = block * r->per_block, end = WISP__MIN(begin + r->per_block, r->periods);
    if (p->rows == 1) work = sum;
    if (p->sets) memset(work, 0, (size_t)p->sets * (size_t)p->period * sizeof *work);
    r->fn(p, begin, end, r->strip, work);
    for (int s = 0; s < p->sets && p->rows > 1; s++) {
        r->isa->fold(p->rows, p->row, work + s * p->period, NULL);
        memcpy(sum + s * p->row, work + s * p->period, (size_t)p->row * sizeof *sum);
    }
}

static void fuse_thread(void *arg, int thread, int threads)
{
    const fuse_run *r = arg;
    const wisp__fuse_params *p = r->p;
    const int64_t blocks = (r->periods + r->per_block - 1) / r->per_block,
                  end = wisp__split(blocks, threads, thread + 1);
    double *work = r->work + (size_t)thread * (size_t)p->sets * (size_t)p->period;
    for (int64_t b = wisp__split(blocks, threads, thread); b < end; b++)
        fuse_block(r, b, r->partial + b * p->sets * p->row, work);
}

/* Periods that stay in the first-level cache from update to update, and to the dots. */
static int64_t strip_of(const wisp__fuse_params *p, bool is_double)
{
    const int64_t bytes = p->period * (is_double ? (int64_t)sizeof(double) : (int64_t)sizeof(float));
    const int64_t least = p->dots ? TUNED_STRIP_LEAST : TUNED_STRIP_UPDATES;
    return WISP__MAX(WISP__MAX(TUNED_STRIP_BYTES / p->blocks, least) / bytes, 1);
}

wisp_status wisp__cpu_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block)
{
    const int64_t periods = (p->count + p->rows - 1) / p->rows, blocks = (periods + per_block - 1) / per_block;
    const size_t sums = (size_t)p->sets * (size_t)p->row, all = sums * (size_t)WISP__MAX(blocks, 1);
    const size_t work = p->rows > 1 ? (size_t)ctx->threads * (size_t)p->sets * (size_t)p->period : 0;
    double *partial = NULL;
    const wisp_status status =
        sums ? wisp__scratch(ctx->team, WISP__DEVICE_SCRATCH, &partial, all + work, sizeof *partial) : WISP_OK;
    if (status != WISP_OK) return status;
    fuse_run run = {ctx->isa,  ctx->isa->fuse[is_double], p,       periods,
                    per_block, strip_of(p, is_double),    partial, partial + all};
    const bool little = wisp__is_little(ctx->team, p->count * p->row * (p->terms + p->dots));
    wisp__run_some(ctx->team, little, fuse_thread, &run);
    if (!sums) return WISP_OK;
    wisp__cpu_add_up(ctx, false, partial, blocks, sums);
    for (int i = 0; i < p->dots; i++) {
        const wisp__fuse_dot *d = p->dot + i;
        memset(d->to, 0, 2 * (size_t)(p->row / p->reals) * sizeof *d->to);
        wisp__cpu_gather(p->reals, p->row, d->cross, partial + d->set * p->row, NULL, d->to, NULL);
    }
    return WISP_OK;
}
