/* Helpers that several ops use: memory for a call, compensated sums over ranks, checks, factors for kernels. */
#include "op.h"
#include "../data/store/store.h"
#include <string.h>

wisp_status wisp__op_memory(const wisp_mat *A, void **own, void *pointer_to_pointer, size_t bytes)
{
    if (!wisp__operator_of(A)) return wisp__scratch(A->ctx->team, WISP__OP_SCRATCH, pointer_to_pointer, 1, bytes);
    wisp_free(A->ctx, *own);
    const wisp_status status = wisp__alloc_raw(A->ctx, own, 1, bytes);
    *(void **)pointer_to_pointer = *own;
    return status;
}

/* Each process has a place of its own, so that the communicator's sum is exact. */
wisp_status wisp__sum_compensated(wisp_ctx *ctx, double *sum, double *error, size_t n)
{
    enum { AT_ONCE = 1 << 16 };
    const size_t ranks = (size_t)ctx->ranks, rank = (size_t)ctx->rank;
    const size_t most = WISP__MAX(AT_ONCE / ranks, 1);
    wisp_status status = WISP_OK;
    double *places;
    if (ranks == 1) {
        wisp__count(&ctx->reductions, 1);
        return WISP_OK;
    }
    WISP_TRY(wisp__alloc_raw(ctx, &places, ranks * 2 * WISP__MIN(most, n), sizeof *places));
    for (size_t done = 0; done < n; done += most) {
        const size_t m = WISP__MIN(most, n - done);
        memset(places, 0, ranks * 2 * m * sizeof *places);
        memcpy(places + rank * 2 * m, sum + done, m * sizeof *places);
        memcpy(places + rank * 2 * m + m, error + done, m * sizeof *places);
        WISP_TRY(wisp__reduce(ctx, places, ranks * 2 * m));
        memset(sum + done, 0, m * sizeof *sum);
        memset(error + done, 0, m * sizeof *error);
        for (size_t r = 0; r < ranks; r++)
            for (size_t i = done; i < done + m; i++) {
                const double *place = places + r * 2 * m + (i - done);
                wisp__add(sum + i, error + i, place[0], place[m]);
            }
    }
out:
    wisp_free(ctx, places);
    return status;
}

wisp_status wisp__dots_room(wisp_ctx *ctx, double *host, size_t n, double **there)
{
    enum { LEAST = 64 };
    const wisp__backend *backend = ctx->backend;
    wisp_status status = WISP_OK;
    *there = host;
    if (backend->host_memory) return status;
    if (n > ctx->dots_room) {
        backend->free(ctx, ctx->dots);
        ctx->dots_room = 0;
        status = backend->alloc(ctx, &ctx->dots, WISP__MAX(n, LEAST), sizeof *ctx->dots);
        if (status == WISP_OK) ctx->dots_room = WISP__MAX(n, LEAST);
    }
    *there = ctx->dots;
    return status;
}

wisp_status wisp__op_dots(const wisp_mat *A, double **own, double *host, size_t n, double **there)
{
    const wisp__backend *backend = A->ctx->backend;
    if (n == 0 || backend->host_memory || !wisp__operator_of(A)) return wisp__dots_room(A->ctx, host, n, there);
    const wisp_status status = backend->alloc(A->ctx, own, n, sizeof **own);
    *there = *own;
    return status;
}

wisp_status wisp__dots_bring(wisp_ctx *ctx, const double *there, double *host, size_t n)
{
    wisp__count(&ctx->round_trips, 1);
    return ctx->backend->read(ctx, there, host, n * sizeof *host);
}

wisp_status wisp__factors_of(wisp_ctx *ctx, const char *op, const wisp_scalar *f, wisp_place place, int width,
                             wisp__factor_source *factors)
{
    double *at;
    const wisp_status status = wisp__place_at(ctx, op, place, width, &at);
    *factors = (wisp__factor_source){.f = f};
    if (!at) return status;
    if (ctx->backend->host_memory)
        factors->f = (const wisp_scalar *)(const void *)at; /* what was queued is done */
    else
        *factors = (wisp__factor_source){.at = at};
    return status;
}

int64_t wisp__sum_blocks(wisp_ctx *ctx, int64_t size, int most)
{
    const wisp__tuned *t = wisp__tuned_of(ctx);
    return WISP__MIN(WISP__MAX(most / WISP__MAX(size, 1), t->dots.least_blocks), t->dots.most_blocks);
}

int64_t wisp__rows_per_sum(wisp_ctx *ctx, int64_t rows, size_t size, int most, int strips)
{
    const int64_t blocks = wisp__sum_blocks(ctx, (int64_t)size, most);
    const int64_t per = (rows + blocks - 1) / blocks;
    return WISP__MAX((per + K_STRIP - 1) / K_STRIP, strips) * K_STRIP;
}

wisp_status wisp__same_shape(const char *op, const wisp_blk *y, const wisp_blk *x)
{
    if (y->map == x->map && y->type == x->type && y->width == x->width && y->nrows == x->nrows &&
        y->first_row == x->first_row)
        return WISP_OK;
    return wisp_ctx_failf(y->ctx, WISP_ERR_MISMATCH,
                          "%s: blocks of %lld x %d %s and %lld x %d %s%s must have one map, shape and type", op,
                          (long long)y->nrows, y->width, wisp_type_name(y->type), (long long)x->nrows, x->width,
                          wisp_type_name(x->type), y->map == x->map ? "" : " on different maps");
}

/* Numbers of a period at least, so that what a kernel does for each is little; rows of one at most. */
enum { LEAST_PERIOD = 64, MOST_ROWS = 16 };
_Static_assert((LEAST_PERIOD - 1) * MOST_ROWS <= K_DOT_PERIOD, "kernels keep a period's sums");

wisp__cut wisp__cut_of(const wisp_blk *x, bool compact)
{
    const int row = x->width * wisp__reals(x->type);
    wisp__cut c = {1, row, x->nrows, 0};
    if (compact && row < LEAST_PERIOD) {
        /* 16 rows and more make a whole number of registers, whatever the width. */
        c.rows = row * MOST_ROWS <= LEAST_PERIOD ? LEAST_PERIOD / row : MOST_ROWS;
        c.period = row * c.rows;
        c.count = x->nrows / c.rows;
        c.tail = x->nrows % c.rows;
    }
    return c;
}

bool wisp__all_equal(const wisp_scalar *f, int n, double re, double im)
{
    for (int i = 0; i < n; i++)
        if (!(f[i].re == re && f[i].im == im)) return false;
    return true;
}

bool wisp__all_real(const wisp_scalar *f, int n)
{
    for (int i = 0; f && i < n; i++)
        if (f[i].im != 0) return false;
    return true;
}

bool wisp__crosses(const wisp_blk *x, const wisp_blk *y)
{
    return wisp_type_is_complex(x->type) && !wisp__same_memory(x, y);
}

bool wisp__same_memory(const wisp_blk *x, const wisp_blk *y)
{
    if (wisp__at(x) != wisp__at(y) || x->stride != y->stride) return false;
    for (int j = 0; (x->column || y->column) && j < x->width; j++)
        if (wisp__column(x, j) != wisp__column(y, j)) return false;
    return true;
}

/* Columns from the leftmost to the rightmost. */
static int span(const wisp_blk *x)
{
    int most = x->width;
    for (int j = 0; x->column && j < x->width; j++) most = WISP__MAX(most, x->column[j] + 1);
    return most;
}

/* Whether two blocks of one array share a column, where y begins `shift` columns behind x in a row. */
static bool share_column(const wisp_blk *x, const wisp_blk *y, int64_t shift)
{
    for (int i = 0; i < x->width; i++)
        for (int j = 0; j < y->width; j++)
            if (wisp__column(x, i) == (shift + wisp__column(y, j)) % x->stride) return true;
    return false;
}

bool wisp__overlap(const wisp_blk *x, const wisp_blk *y)
{
    const size_t sx = wisp_type_size(x->type), sy = wisp_type_size(y->type);
    /* A rank without rows refuses what the others do. */
    const bool empty = x->nrows == 0 || y->nrows == 0;
    if (empty && (x->ctx->ranks == 1 || x->store != y->store)) return false;
    const uintptr_t xb = (uintptr_t)wisp__at(x), xe = xb + ((size_t)((x->nrows - 1) * x->stride + span(x))) * sx;
    const uintptr_t yb = (uintptr_t)wisp__at(y), ye = yb + ((size_t)((y->nrows - 1) * y->stride + span(y))) * sy;
    if (!empty && (xe <= yb || ye <= xb)) return false;
    /* Two sets of columns of one array lie between each other without meeting. */
    if (x->store == y->store && x->stride == y->stride) {
        const int64_t row = x->stride * (int64_t)sx;
        const int64_t shift = (((int64_t)yb - (int64_t)xb) % row + row) % row;
        if (x->column || y->column) return share_column(x, y, shift / (int64_t)sx);
        return shift < x->width * (int64_t)sx || shift + y->width * (int64_t)sy > row;
    }
    return true;
}
