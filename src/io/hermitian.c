/* The Hermitian part (A + A^H)/2 of a source, or i(A - A^H)/2: the rows of A and of its transpose, both sorted, are
   merged. Each rank does its own rows; it gets those of the transpose from the others. */
#include "../comm/comm.h"
#include "../data/rows.h"
#include "write.h"
#include <limits.h>
#include <math.h>

typedef struct {
    wisp_ctx *ctx;
    const wisp__crs *t; /* the transpose of A */
    wisp__crs *h;       /* without val: the rows are counted, rowptr[i + 1] is the length of local row i */
    pthread_mutex_t lock;
    double change, largest; /* |a_ij - h_ij|, |a_ij| */
    bool turns;             /* i(A - A^H)/2, without entries that are 0 */
} part_run;

/* The same for (a, b) and (b, a), and a if both are a, however small or large. */
static double mean(double a, double b)
{
    const double sum = a + b;
    return isfinite(sum) ? sum / 2 : a / 2 + b / 2;
}

static wisp_scalar value_of(const part_run *r, wisp_scalar a, wisp_scalar mirror)
{
    if (r->turns) return (wisp_scalar){-mean(a.im, mirror.im), mean(a.re, -mirror.re)};
    return (wisp_scalar){mean(a.re, mirror.re), mean(a.im, -mirror.im)};
}

/* Entry number `at` of H. */
static void store_mean(part_run *r, int64_t at, int64_t col, wisp_scalar a, wisp_scalar mean_of, double *change,
                       double *largest)
{
    wisp__crs *h = r->h;
    char *to = (char *)h->val + (size_t)at * wisp_type_size(h->type);
    wisp__store(h->type, to, mean_of);
    const wisp_scalar v = wisp__load(h->type, to);
    h->col[at] = (int32_t)col;
    *change = fmax(*change, hypot(a.re - v.re, a.im - v.im));
    *largest = fmax(*largest, hypot(a.re, a.im));
}

/* Local row i of H from that of A, which was read, and that of the transpose; returns its length, or -1 if it is not
   that which was counted before. */
static int64_t merge_row(part_run *r, const wisp__row_reader *reader, int n, int64_t i, double *change, double *largest)
{
    const wisp__crs *t = r->t;
    const bool fills = r->h->val;
    const int64_t slot = wisp__crs_slot(t, r->h->first + i), end = slot < 0 ? 0 : t->rowptr[slot + 1];
    const int64_t first = fills ? r->h->rowptr[i] : 0, room = fills ? r->h->rowptr[i + 1] - first : INT64_MAX;
    int64_t length = 0, e = slot < 0 ? 0 : t->rowptr[slot];
    for (int k = 0; k < n || e < end;) {
        const int64_t here = k < n ? reader->merged[k] : INT64_MAX, there = e < end ? t->col[e] : INT64_MAX;
        wisp_scalar a = {0, 0}, mirror = {0, 0};
        if (here <= there) a = reader->sum[k++];
        if (there <= here) mirror = wisp__load(t->type, (const char *)t->val + (size_t)e++ * wisp_type_size(t->type));
        const wisp_scalar v = value_of(r, a, mirror);
        if (r->turns && v.re == 0 && v.im == 0) continue;
        if (length == room) return -1;
        if (fills) store_mean(r, first + length, WISP__MIN(here, there), a, v, change, largest);
        length++;
    }
    return fills && length != room ? -1 : length;
}

static wisp_status merge_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    part_run *r = arg;
    double change = 0, largest = 0;
    wisp_status status = WISP_OK;
    for (int64_t i = begin; i < end; i++) {
        int n;
        const int64_t row = r->h->first + i;
        WISP_TRY(wisp__read_row(reader, r->ctx, row, &n));
        const int64_t length = merge_row(r, reader, n, i, &change, &largest);
        if (length < 0)
            return wisp_ctx_failf(r->ctx, WISP_ERR_CALLBACK, "row %lld has other entries than before", (long long)row);
        if (!r->h->val) r->h->rowptr[i + 1] = length;
    }
    pthread_mutex_lock(&r->lock);
    r->change = fmax(r->change, change);
    r->largest = fmax(r->largest, largest);
    pthread_mutex_unlock(&r->lock);
out:
    return status;
}

/* Two passes over the rows: their lengths, then the entries. */
static wisp_status merge_all(part_run *r, const wisp_src *src, const wisp_map *cols)
{
    enum { PER_PIECE = 256 };
    wisp__crs *h = r->h;
    wisp_status status;
    WISP_TRY(wisp_alloc(r->ctx, &h->rowptr, (size_t)h->local + 1, sizeof *h->rowptr));
    WISP_TRY(wisp__for_rows(r->ctx, "merging", src, cols, h->local, PER_PIECE, merge_rows, r));
    for (int64_t i = 0; i < h->local; i++) {
        h->max_row = WISP__MAX(h->max_row, h->rowptr[i + 1]);
        h->rowptr[i + 1] += h->rowptr[i];
    }
    h->nnz = h->rowptr[h->local];
    if (h->max_row > INT_MAX)
        return wisp_ctx_failf(r->ctx, WISP_ERR_OVERFLOW, "a row of the Hermitian part has %lld entries; the most is %d",
                              (long long)h->max_row, INT_MAX);
    WISP_TRY(wisp__alloc_raw(r->ctx, &h->col, (size_t)h->nnz, sizeof *h->col));
    WISP_TRY(wisp__alloc_raw(r->ctx, &h->val, (size_t)h->nnz, wisp_type_size(h->type)));
    WISP_TRY(wisp__for_rows(r->ctx, "merging", src, cols, h->local, PER_PIECE, merge_rows, r));
out:
    return status;
}

/* The largest ones of all ranks. */
static wisp_status agree_on_change(part_run *r)
{
    wisp_ctx *ctx = r->ctx;
    const double mine[2] = {r->change, r->largest};
    double *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, 2 * (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, mine, sizeof mine, all));
    for (int i = 0; i < ctx->ranks; i++) {
        r->change = fmax(r->change, all[2 * i]);
        r->largest = fmax(r->largest, all[2 * i + 1]);
    }
out:
    wisp_free(ctx, all);
    return status;
}

static wisp_status make_part(part_run *r, wisp_src *src, const wisp_src *other)
{
    wisp_ctx *ctx = r->ctx;
    wisp_map *cols = NULL;
    wisp__crs *t = NULL;
    int64_t *before = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &r->h, 1, sizeof *r->h));
    const bool single = other->type == WISP_S || other->type == WISP_C;
    const wisp_type type = !r->turns ? other->type : single ? WISP_C : WISP_Z;
    *r->h = wisp__crs_of_rank(ctx, other->weights, type, other->rows, other->cols);
    r->h->listed = r->h->local;
    WISP_TRY(wisp__weights_copy(ctx, &r->h->weights, other->weights));
    const wisp__rows_range rows = {r->h->first, r->h->local, ctx->ranks > 1};
    WISP_TRY(wisp__map_alone(&cols, ctx, other->cols));
    WISP_TRY(wisp__count_entries(ctx, other, cols, rows, &before));
    WISP_TRY(wisp__transpose(&t, ctx, other, cols, rows, before, "the Hermitian part"));
    r->t = t;
    WISP_TRY(merge_all(r, other, cols));
    WISP_TRY(agree_on_change(r));
    WISP_TRY(wisp__crs_source_of_ranks(src, r->h));
    r->h = NULL;
out:
    wisp__crs_free(r->h);
    wisp__crs_free(t);
    wisp_free(ctx, before);
    wisp_map_free(cols);
    return status;
}

static wisp_status open_part(part_run *r, wisp_src *src, const wisp_src *other)
{
    wisp_ctx *ctx = r->ctx;
    wisp_status status;
    *src = (wisp_src){0};
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__src_check(ctx, other));
    WISP_TRY(wisp__index_check(ctx, other->rows, other->cols));
    if (other->rows == other->cols)
        status = make_part(r, src, other);
    else
        status = wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                                "the matrix is rectangular (%lld x %lld), and has no Hermitian part",
                                (long long)other->rows, (long long)other->cols);
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) wisp_src_close(src);
    return status;
}

wisp_status wisp_src_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_matrix_part which)
{
    part_run r = {.ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER, .turns = which == WISP_PART_ANTIHERMITIAN};
    WISP_NEED(ctx, src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, other);
    if (src == other) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_src_part: two sources are needed");
    if (which != WISP_PART_HERMITIAN && which != WISP_PART_ANTIHERMITIAN)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_src_part: unknown part %d", (int)which);
    return open_part(&r, src, other);
}

wisp_status wisp_src_hermitian_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, double *change)
{
    part_run r = {.ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER};
    WISP_NEED(ctx, src);
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, other);
    if (src == other) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_src_hermitian_part: two sources are needed");
    const wisp_status status = open_part(&r, src, other);
    if (status != WISP_OK) return status;
    const double relative = r.largest > 0 ? r.change / r.largest : 0;
    const bool more = relative > wisp__rounding(other->type);
    wisp_ctx_logf(ctx, more ? WISP_LOG_WARN : WISP_LOG_INFO,
                  "the Hermitian part is taken: entries change by at most %.3g of the largest one%s", relative,
                  more ? ", more than rounding explains" : "");
    if (change) *change = relative;
    return status;
}
