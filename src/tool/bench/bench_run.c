/* A case of `wisp bench`: its matrix, its blocks, what it costs, and its time. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

wisp_status bench_step(bench_runner *r)
{
    double seconds;
    return bench_time(r, 1, &seconds);
}

wisp_status bench_time(bench_runner *r, int64_t steps, double *seconds)
{
    const bench_kind *k = r->kind;
    if (k->blas) return bench_blas_time(r, steps, seconds);
    if (k->time) return k->time(r, steps, seconds);
    const double start = wisp_now();
    for (int64_t i = 0; i < steps; i++) {
        wisp_status status = k->step(r);
        if (status != WISP_OK) return status;
    }
    const wisp_status status = wisp_ctx_finish(r->ctx);
    if (status != WISP_OK) return status;
    *seconds = (wisp_now() - start) / (double)(steps * (k->calls ? k->calls : r->what.powers));
    return WISP_OK;
}

wisp_status bench_find_steps(bench_runner *r, double wanted, int64_t *steps)
{
    enum { MOST = 1 << 20 };
    double seconds;
    wisp_status status = bench_time(r, 1, &seconds);
    *steps = 1;
    for (; status == WISP_OK && *steps < MOST; *steps *= 2) {
        status = bench_time(r, *steps, &seconds);
        if (seconds * (double)(*steps * r->what.powers) >= wanted) break;
    }
    return status;
}

/* ---- what a step needs --------------------------------------------------------------------------- */

/* Whether a plain product writes y past the caches: large with its matrix, in whole cache lines (or single real
   columns); on the CPU. */
bool bench_stores_past(const bench_runner *r, double block)
{
    const size_t row = (size_t)r->what.width * wisp_type_size(r->what.type);
    const bool single = r->what.width == 1 && !wisp_type_is_complex(r->what.type);
    int64_t of_device;
    wisp_ctx_device_memory(r->ctx, NULL, NULL, &of_device);
    return of_device == 0 && block + (double)r->info.bytes >= 64 << 20 && (row % 64 == 0 || single) &&
           r->info.format != WISP_FORMAT_HERMITIAN;
}

/* Of one step, if the matrix and what is there at the start come from memory once for all steps of a call, and what
   stays goes back: the last two vectors, or all. */
static double least_bytes(const bench_runner *r, double block)
{
    const int powers = r->what.powers, more = powers < 2 ? 0 : r->what.variant == VARIANT_POWERS ? powers - 1 : 1;
    return (r->cost.bytes + more * block) / powers;
}

/* Least traffic and operations of one step; the naive one goes over its vectors thirteen times (table I). What is
   written without having been read is read, too, unless it is stored past the caches, as the update does. */
static wisp_status find_cost(bench_runner *r)
{
    const bench_case *c = &r->what;
    const bool naive = c->variant == VARIANT_NAIVE, reads = r->kind->terms & WISP_AXPBY;
    const double block = (double)r->info.rows * c->width * (double)wisp_type_size(c->type);
    wisp_status status = wisp_spmmv_cost(r->A, c->type, c->width, r->kind->terms, &r->cost);
    r->working_bytes = (double)r->info.bytes + block * (r->kind->third                 ? 3
                                                        : c->variant == VARIANT_POWERS ? c->powers + 1
                                                                                       : 2);
    r->gather_bytes = (double)r->info.cols * c->width * (double)wisp_type_size(c->type);
    r->cost.bytes += naive ? (13 - 3) * block : 0;
    r->write_bytes = (naive ? 1 + 3 : 1) * block;
    r->least_bytes = least_bytes(r, block);
    r->stores_past = !reads && bench_stores_past(r, block);
    r->read_bytes = r->cost.bytes - r->write_bytes + (naive || (!reads && !r->stores_past) ? block : 0);
    wisp_gather gather = {1, 0};
    if (status == WISP_OK) status = wisp_mat_gather(r->A, c->type, c->width, &gather);
    r->gather_excess = gather.excess;
    return status;
}

static void find_dense_cost(bench_runner *r)
{
    const bench_case *c = &r->what;
    const bench_kind *k = r->kind;
    const double n = (double)c->rows * c->width, block = n * (double)wisp_type_size(c->type);
    r->read_bytes = k->dense.reads * block;
    r->write_bytes = k->dense.writes * block;
    r->cost.bytes = r->least_bytes = r->read_bytes + r->write_bytes;
    r->stores_past = k->past;
    if (c->variant == VARIANT_UPDATE_BLAS) r->read_bytes += block;
    r->cost.flops =
        (wisp_type_is_complex(c->type) ? 8 : 2) * n * (k->dense.products > 0 ? k->dense.products * c->width : 1);
    r->working_bytes = k->dense.blocks * block;
}

/* ---- matrix and blocks --------------------------------------------------------------------------- */

static wisp_status make_blocks(bench_runner *r, wisp_map *rows, wisp_map *cols)
{
    wisp_status status = WISP_OK;
    const bench_case *c = &r->what;
    WISP_TRY(wisp_blk_create(&r->v, r->ctx, cols, c->type, c->width));
    WISP_TRY(wisp_blk_create(&r->w, r->ctx, rows, c->type, c->width));
    if (r->kind->third) WISP_TRY(wisp_blk_create(&r->u, r->ctx, rows, c->type, c->width));
    WISP_TRY(wisp_blk_fill_random(r->v, WISP_RANDOM_TRACE, 1, 0, 0));
out:
    return status;
}

/* v, w and X, with which steps in place stay bounded. */
static wisp_status open_dense(bench_runner *r)
{
    wisp_status status = WISP_OK;
    wisp_map *map = NULL;
    const bench_case *c = &r->what;
    const bool qr = c->variant == VARIANT_QR, ritz = c->variant == VARIANT_RITZ;
    const int n = c->width;
    find_dense_cost(r);
    if (r->kind->blas) return WISP_OK;
    WISP_TRY(wisp_map_create(&map, r->ctx, c->rows));
    WISP_TRY(wisp_blk_create(&r->v, r->ctx, map, c->type, n));
    WISP_TRY(wisp_blk_fill_random(r->v, WISP_RANDOM_TRACE, 1, 0, 0));
    if (!qr) WISP_TRY(wisp_blk_create(&r->w, r->ctx, map, c->type, ritz ? (int)(128 / wisp_type_size(c->type)) : n));
    if (!qr) WISP_TRY(wisp_blk_fill_random(r->w, WISP_RANDOM_TRACE, 1, 1, 0));
    WISP_TRY(wisp_alloc(r->ctx, &r->X, (size_t)n * (size_t)n, sizeof *r->X));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) r->X[i * n + j].re = !qr ? 1.0 / n : i == j ? 1 : i < j ? 1e-9 : 0;
out:
    wisp_map_free(map);
    return status;
}

/* The reference's CRS matrix is its own; the costs are those of the same matrix here. */
static wisp_status open_matrix(bench_runner *r, const wisp_src *src)
{
    wisp_status status = WISP_OK;
    const bench_case *c = &r->what;
    const bool reference = c->variant == VARIANT_REFERENCE;
    const wisp_mat_opts mo = {.type = type_in(c->type, src->type),
                              .width = c->width,
                              .order = reference ? WISP_ROWS_NATURAL : c->order,
                              .format = reference ? WISP_FORMAT_SELL : c->format};
    WISP_TRY(wisp_mat_create(&r->A, r->ctx, src, &mo));
    wisp_mat_get_info(r->A, &r->info);
    WISP_TRY(find_cost(r));
    if (reference) {
        wisp_mat_free(r->A);
        r->A = NULL;
        WISP_TRY(bench_reference_open(&r->reference, r->ctx, src, c->width, 1));
    } else {
        WISP_TRY(make_blocks(r, wisp_mat_map(r->A), wisp_mat_col_map(r->A)));
        if (r->kind->open) WISP_TRY(r->kind->open(r));
    }
out:
    return status;
}

wisp_status bench_open(bench_runner *r, wisp_ctx *ctx, const wisp_src *src)
{
    wisp_status status = WISP_OK;
    const size_t width = (size_t)r->what.width, dots = 3 * (size_t)r->what.powers;
    r->ctx = ctx;
    r->kind = bench_kind_of(&r->what);
    WISP_TRY(wisp_alloc(ctx, &r->shift, width, sizeof *r->shift));
    WISP_TRY(wisp_alloc(ctx, &r->dot, (width > dots ? width : dots) * width, sizeof *r->dot));
    for (size_t j = 0; j < width; j++) r->shift[j].re = r->center;
    status = r->kind->dense.blocks > 0 ? open_dense(r) : open_matrix(r, src);
out:
    return status;
}

void bench_close(bench_runner *r)
{
    wisp_blk_free(r->v);
    wisp_blk_free(r->w);
    wisp_blk_free(r->u);
    for (int k = 2; r->list && r->what.variant == VARIANT_POWERS && k <= r->what.powers; k++)
        wisp_blk_free(r->list[k + 1]);
    bench_reference_close(r->reference);
    bench_blas_close(r);
    if (r->ctx) {
        wisp_free(r->ctx, r->shift);
        wisp_free(r->ctx, r->dot);
        wisp_free(r->ctx, r->X);
        wisp_free(r->ctx, r->list);
    }
    wisp_mat_free(r->A);
    *r = (bench_runner){0};
}
