/* The yardstick: a KPM step as one would write it plainly, but for the fusion and the block rows. */
#include "../backend/cpu/kernels.h"
#include "op.h"
#include <string.h>
#include <sys/mman.h>

struct wisp_reference {
    wisp_ctx *ctx;
    wisp__reference_fn fn;
    wisp__reference_params p;
    int64_t rows;
    int width;
    int64_t *rowptr;
    int32_t *col;
    void *val, *v, *w;
    double *partial; /* [threads][2][width], each thread's on cache lines of its own */
    size_t partial_size;
};

/* Memory on small pages, touched by the threads that use each part of it; `unit` bytes per row. */
typedef struct {
    char *data;
    int64_t rows;
    size_t unit;
} small_pages;

static void touch(void *arg, int thread, int threads)
{
    const small_pages *s = arg;
    const size_t begin = (size_t)wisp__split(s->rows, threads, thread) * s->unit;
    const size_t end = (size_t)wisp__split(s->rows, threads, thread + 1) * s->unit;
    memset(s->data + begin, 0, end - begin);
}

static wisp_status alloc_small(wisp_ctx *ctx, void *pointer_to_pointer, int64_t rows, size_t unit)
{
    enum { PAGE = 4096 };
    wisp_status status = wisp__alloc_raw(ctx, pointer_to_pointer, (size_t)rows, unit);
    if (status != WISP_OK) return status;
    char *p = *(char **)pointer_to_pointer, *begin = p - (uintptr_t)p % PAGE;
    madvise(begin, (size_t)(p - begin) + (size_t)rows * unit, MADV_NOHUGEPAGE);
    wisp__team_run(ctx, touch, &(small_pages){p, rows, unit});
    return WISP_OK;
}

static wisp_status fill_rows(wisp_reference *r, const wisp_mat *A)
{
    wisp_ctx *ctx = r->ctx;
    const wisp__sell *s = &A->local;
    const size_t size = wisp_type_size(A->type);
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__alloc_raw(ctx, &r->rowptr, (size_t)r->rows + 1, sizeof *r->rowptr));
    WISP_TRY(alloc_small(ctx, &r->col, s->entries, sizeof *r->col));
    WISP_TRY(alloc_small(ctx, &r->val, s->entries, size));
    memcpy(r->rowptr, s->chunk, ((size_t)r->rows + 1) * sizeof *r->rowptr);
    /* With the zeros that merged duplicates left behind: the row pointers count them. */
    memcpy(r->col, s->col, (size_t)s->entries * sizeof *r->col);
    memcpy(r->val, s->val, (size_t)s->entries * size);
    WISP_TRY(alloc_small(ctx, &r->v, r->rows, size * (size_t)r->width));
    WISP_TRY(alloc_small(ctx, &r->w, r->rows, size * (size_t)r->width));
out:
    return status;
}

static wisp_status fill_vectors(wisp_reference *r, const wisp_mat *A, uint64_t seed)
{
    wisp_blk *x = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_blk_borrow(&x, r->ctx, A->map, A->type, r->width, r->v, r->width));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_TRACE, seed, 0, 0));
out:
    wisp_blk_free(x);
    return status;
}

wisp_status wisp_reference_create(wisp_reference **out, wisp_ctx *ctx, const wisp_src *src, int width, uint64_t seed)
{
    wisp_reference *r = NULL;
    wisp_mat *A = NULL;
    wisp_status status;
    int n = 0;
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    while (n < 6 && 1 << n != width) n++;
    if (n == 6 || !wisp__type_is_double(src->type) || src->rows != src->cols)
        return wisp_ctx_fail(ctx, WISP_ERR_UNSUPPORTED,
                             "the reference is for square matrices in double precision and widths 1, 2, 4, 8, 16, 32");
    WISP_TRY(ctx->backend->borrow(ctx, NULL)); /* it computes in memory of its own */
    WISP_TRY(wisp_alloc(ctx, &r, 1, sizeof *r));
    WISP_TRY(wisp_mat_create(
        &A, ctx, src, &(wisp_mat_opts){.C = 1, .sigma = 1, .order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL}));
    r->ctx = ctx;
    r->rows = A->rows;
    r->width = width;
    r->fn = ctx->isa->reference[wisp_type_is_complex(A->type)][n];
    r->partial_size = (2 * (size_t)width + 7) / 8 * 8;
    WISP_TRY(wisp_alloc(ctx, &r->partial, (size_t)ctx->threads * r->partial_size, sizeof *r->partial));
    WISP_TRY(fill_rows(r, A));
    WISP_TRY(fill_vectors(r, A, seed));
    *out = r;
    r = NULL;
out:
    wisp_mat_free(A);
    wisp_reference_free(r);
    return status;
}

/* Threads take equal numbers of rows. */
static void step_thread(void *arg, int thread, int threads)
{
    const wisp_reference *r = arg;
    double *dot = r->partial + (size_t)thread * r->partial_size;
    memset(dot, 0, r->partial_size * sizeof *dot);
    r->fn(&r->p, wisp__split(r->rows, threads, thread), wisp__split(r->rows, threads, thread + 1), dot);
}

wisp_status wisp_reference_step(wisp_reference *r, double alpha, double center, double beta, wisp_scalar *dot)
{
    WISP_NEED(NULL, r);
    WISP_NEED(r->ctx, dot);
    r->p = (wisp__reference_params){r->rowptr, r->col, r->val, r->v, r->w, alpha, center, beta};
    const bool whole = wisp__team_run(r->ctx, step_thread, r);
    memset(dot, 0, 2 * (size_t)r->width * sizeof *dot);
    for (int t = 0; t < r->ctx->threads; t++)
        for (int j = 0; j < 2 * r->width; j++) dot[j].re += r->partial[(size_t)t * r->partial_size + (size_t)j];
    void *v = r->v;
    r->v = r->w;
    r->w = v;
    return wisp__whole(r->ctx, "multiplying", whole);
}

void wisp_reference_free(wisp_reference *r)
{
    if (!r) return;
    wisp_ctx *ctx = r->ctx;
    void *all[] = {r->rowptr, r->col, r->val, r->v, r->w, r->partial, r};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) wisp_free(ctx, all[i]);
}
