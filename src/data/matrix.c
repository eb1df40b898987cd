/* What a matrix is: shape, entries, bytes, fill-in. */
#include "halo.h"
#include "patterns.h"

enum { MOST_ARRAYS = 40 };

/* Adds the addresses of so many pointers to a list, those that are not NULL. */
static int add(void *list[MOST_ARRAYS], int n, void *const pointer[], int count)
{
    for (int i = 0; i < count; i++)
        if (*(void **)pointer[i]) list[n++] = pointer[i];
    return n;
}
#define ADD(...)                                                     \
    do {                                                             \
        void *const some[] = {__VA_ARGS__};                          \
        n = add(list, n, some, (int)(sizeof some / sizeof some[0])); \
    } while (0)

/* The pointers to all arrays that kernels read, but for those of the user; how many. */
static int sell_arrays(wisp__sell *s, void *list[MOST_ARRAYS])
{
    wisp__pieces *p = s->pieces;
    wisp__bundles *b = s->bundles;
    int n = 0;
    if (!(s->borrowed & WISP__BORROWED_CHUNK)) ADD(&s->chunk);
    if (!(s->borrowed & WISP__BORROWED_COL)) ADD(&s->col);
    if (!(s->borrowed & WISP__BORROWED_VAL)) ADD(&s->val);
    ADD(&s->row_len, &s->short_col, &s->follow, &s->code, &s->list, &s->list_first, &s->pattern, &s->diagonal,
        &s->fresh);
    if (p) ADD(&p->first, &p->col, &p->val);
    if (b) ADD(&b->kind, &b->first, &b->offset, &b->take, &b->factor);
    return n;
}

static int half_arrays(wisp__half *h, void *list[MOST_ARRAYS])
{
    int n = 0;
    ADD(&h->first, &h->row, &h->inside, &h->col, &h->val, &h->outside, &h->reach, &h->incoming, &h->slot, &h->into,
        &h->from, &h->spill, &h->source_at, &h->source);
    return n;
}

static int arrays(const wisp_mat *A, void *list[MOST_ARRAYS])
{
    const int n = sell_arrays((wisp__sell *)&A->local, list);
    return A->half ? n + half_arrays(&A->half->h, list + n) : n;
}

static void free_arrays(wisp_ctx *ctx, void *list[MOST_ARRAYS], int n)
{
    for (int i = 0; i < n; i++) ctx->backend->free(ctx, *(void **)list[i]);
}

void wisp__sell_free(wisp_ctx *ctx, wisp__sell *s)
{
    void *list[MOST_ARRAYS];
    free_arrays(ctx, list, sell_arrays(s, list));
    wisp_free(ctx, s->pieces);
    wisp_free(ctx, s->bundles);
    *s = (wisp__sell){0};
}

void wisp__half_free(wisp_mat *A)
{
    void *list[MOST_ARRAYS];
    if (!A->half) return;
    free_arrays(A->ctx, list, half_arrays(&A->half->h, list));
    wisp_free(A->ctx, A->half);
    A->half = NULL;
}

wisp_status wisp__mat_take(wisp_mat *A)
{
    void *list[MOST_ARRAYS];
    const int n = arrays(A, list);
    wisp_status status = WISP_OK;
    for (int i = 0; i < n; i++) WISP_TRY(A->ctx->backend->take(A->ctx, list[i]));
    if (A->grid.weight) A->grid.weight = A->local.chunk;
out:
    return status;
}

wisp_status wisp__mat_look(const wisp_mat *A)
{
    void *list[MOST_ARRAYS], *host;
    const int n = arrays(A, list);
    wisp_status status = WISP_OK;
    int i = 0;
    while (i < n && (status = A->ctx->backend->map(A->ctx, *(void **)list[i], &host)) == WISP_OK) i++;
    if (status == WISP_OK) return WISP_OK;
    while (--i >= 0) A->ctx->backend->unmap(A->ctx, *(void **)list[i]);
    return status;
}

void wisp__mat_looked(const wisp_mat *A)
{
    void *list[MOST_ARRAYS];
    const int n = arrays(A, list);
    for (int i = 0; i < n; i++) A->ctx->backend->unmap(A->ctx, *(void **)list[i]);
}

wisp_status wisp__mat_join(wisp_mat *A)
{
    double nnz = (double)A->nnz; /* exact below 2^53 */
    const wisp_status status = A->ctx->comm->sum(A->ctx, &nnz, 1);
    A->nnz = (int64_t)nnz;
    if (A->halo) A->col_map->halo = WISP__MAX(A->col_map->halo, A->halo->rows);
    return status;
}

static int64_t sell_bytes(const wisp_mat *A, const wisp__sell *s, bool all)
{
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    if (s->chunks == 0) return 0;
    const int64_t entries = all || s->pattern ? s->entries : s->nnz, rows = A->rows;
    int64_t bytes = s->list ? rows * 2 + s->lists * 8 + s->list_entries * 4 : entries * (s->short_col ? 2 : 4);
    bytes += s->code ? entries + s->values * size : entries * size;
    bytes += ((s->pattern ? s->patterns : s->chunks) + all) * 8;
    const int64_t others = s->bundles ? s->bundles->rows : 1; /* that share a number */
    if (s->pattern) bytes += (all ? rows : rows / others) * 2;
    if (s->diagonal) bytes += rows * real;
    if (all && s->row_len) bytes += rows * 4;
    if (all && s->follow) bytes += wisp__follow_bytes(rows);
    if (all && s->fresh) bytes += (s->pattern ? s->patterns : rows) * 4;
    return bytes;
}

int64_t wisp__mat_bytes(const wisp_mat *A, bool all)
{
    if (A->half) return wisp__half_bytes(A, all);
    const int64_t beside = all ? wisp__pieces_bytes(A) + wisp__bundles_bytes(A) : 0;
    return sell_bytes(A, &A->local, all) + beside;
}

void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info)
{
    if (!info) return;
    *info = (wisp_mat_info){0};
    if (!A) return;
    *info = (wisp_mat_info){.rows = A->map->rows,
                            .cols = A->col_map->rows,
                            .nnz = A->nnz,
                            .type = A->type,
                            .C = 1 << A->log_c,
                            .sigma = A->sigma,
                            .bytes = wisp__mat_bytes(A, true),
                            .spill_bytes = A->half ? A->half->h.slots * (int64_t)wisp_type_size(A->type) : 0,
                            .order = A->order,
                            .format = A->format,
                            .work_blocks = A->grid.blocks,
                            .local_rows = A->rows,
                            .halo_rows = A->halo ? A->halo->rows : 0};
}

wisp_map *wisp_mat_map(const wisp_mat *A) { return A ? A->map : NULL; }

wisp_map *wisp_mat_col_map(const wisp_mat *A) { return A ? A->col_map : NULL; }

wisp_ctx *wisp_mat_ctx(const wisp_mat *A) { return A ? A->ctx : NULL; }

/* ---- entries and rows ------------------------------------------------------------------------- */

wisp_scalar wisp__entry_value(const wisp_mat *A, int64_t row, int64_t k)
{
    const wisp__sell *s = &A->local;
    int64_t at = wisp__sell_at(s, A->log_c, row, k);
    if (s->diagonal && wisp__entry_col(A, row, k) == row) {
        const wisp_type real = wisp__real_type(A->type);
        return wisp__load(real, (const char *)s->diagonal + (size_t)row * wisp_type_size(real));
    }
    if (s->code) at = s->code[at];
    return wisp__load(A->type, (const char *)s->val + (size_t)at * wisp_type_size(A->type));
}

wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, hist);
    if (bins < 1) return wisp_ctx_fail(A->ctx, WISP_ERR_ARG, "a histogram of %d bins", bins);
    double *count = NULL;
    wisp_status status;
    wisp_ctx_enter(A->ctx);
    WISP_TRY(wisp_alloc(A->ctx, &count, (size_t)bins, sizeof *count));
    WISP_TRY(wisp__mat_look(A));
    for (int64_t i = 0; i < A->rows; i++) count[WISP__MIN(wisp__row_len(&A->local, i), bins - 1)]++;
    wisp__mat_looked(A);
    status = A->ctx->comm->sum(A->ctx, count, (size_t)bins);
out:
    status = wisp_ctx_leave(A->ctx, status);
    for (int i = 0; i < bins; i++) hist[i] = status == WISP_OK ? (int64_t)count[i] : 0;
    wisp_free(A->ctx, count);
    return status;
}
