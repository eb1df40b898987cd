/* A number that tells matrices apart. */
#include "../comm/comm.h"
#include "../data/rows.h"
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct {
    wisp_ctx *ctx;
    int64_t first;
    atomic_ullong sum;
} hash_run;

/* The sum of the entries' hashes, so that their order does not count. */
static wisp_status hash_rows(void *arg, wisp__row_reader *r, int64_t begin, int64_t end)
{
    hash_run *run = arg;
    const size_t size = wisp_type_size(r->src->type);
    struct {
        int64_t row, col;
        char val[16];
    } entry = {0};
    uint64_t sum = 0;
    for (int64_t i = run->first + begin; i < run->first + end; i++) {
        int n;
        const wisp_status status = wisp__read_columns(r, run->ctx, i, &n);
        if (status != WISP_OK) return status;
        entry.row = i;
        for (int k = 0; k < n; k++) {
            entry.col = r->col[k];
            memcpy(entry.val, (const char *)r->val + (size_t)k * size, size);
            sum += XXH3_64bits(&entry, sizeof entry);
        }
    }
    atomic_fetch_add(&run->sum, sum);
    return WISP_OK;
}

wisp_status wisp_src_hash(wisp_ctx *ctx, const wisp_src *src, uint64_t *hash)
{
    wisp_status status;
    uint64_t *all = NULL, own;
    WISP_NEED(ctx, hash);
    *hash = 0;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    hash_run run = {.ctx = ctx};
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__src_check(ctx, src));
    run.first = wisp__share_begin(ctx, src->weights, src->rows, ctx->rank);
    const int64_t rows = wisp__share_begin(ctx, src->weights, src->rows, ctx->rank + 1) - run.first;
    WISP_TRY(wisp__for_rows(ctx, "hashing", src, NULL, rows, WISP__PIECE, hash_rows, &run));
    own = atomic_load(&run.sum);
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &own, sizeof own, all));
    const int64_t shape[3] = {src->rows, src->cols, src->type};
    *hash = XXH3_64bits(shape, sizeof shape);
    for (int r = 0; r < ctx->ranks; r++) *hash += all[r];
out:
    wisp_free(ctx, all);
    return wisp_ctx_leave(ctx, status);
}
