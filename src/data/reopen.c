/* A matrix as a source again: its rows are read where they are stored. */
#include "halo.h"
#include "store/store.h"

/* What a half-stored matrix lacks: the entries left of the diagonal, as mirrors of stored ones. */
typedef struct {
    int64_t *first; /* [rows + 1] of a row's mirrors */
    int64_t *entry; /* the stored entry of each */
    int32_t *row;   /* and its row */
} mirrors;

typedef struct {
    wisp__host_mat host; /* as long as the source is open */
    mirrors left;
} reopened;

static void put(const reopened *r, int64_t *col, void *val, int k, int64_t position, wisp_scalar v)
{
    col[k] = wisp__col_number(&r->host.mat, position);
    wisp__store(r->host.mat.type, (char *)val + (size_t)k * wisp_type_size(r->host.mat.type), v);
}

static int half_row(const reopened *r, int64_t position, int64_t *col, void *val)
{
    const wisp__half *h = &r->host.mat.local.half->h;
    const mirrors *m = &r->left;
    int n = 0;
    for (int64_t k = m->first[position]; k < m->first[position + 1]; k++) {
        const wisp_scalar v = wisp__half_value(&r->host.mat, m->entry[k]);
        put(r, col, val, n++, m->row[k], (wisp_scalar){v.re, -v.im});
    }
    for (int64_t e = h->row[position]; e < h->row[position + 1]; e++)
        put(r, col, val, n++, h->col[e], wisp__half_value(&r->host.mat, e));
    return n;
}

static int row_of(void *arg, int64_t row, int64_t *col, void *val)
{
    const reopened *r = arg;
    const wisp_mat *A = &r->host.mat;
    if (row < A->map->first || row >= A->map->first + A->local_rows) return -1;
    const int64_t position = wisp__map_position(A->map, row - A->map->first);
    if (!col) return wisp__row_len(A, position);
    if (wisp__half_of(A)) return half_row(r, position, col, val);
    const wisp__row e = wisp__row_of(A, position);
    for (int k = 0; k < e.n; k++) put(r, col, val, k, wisp__row_col(&e, k), wisp__row_value(&e, A->type, k));
    return e.n;
}

/* By counting; the rows of each column's mirrors rise. */
static wisp_status find_mirrors(mirrors *m, const wisp_mat *A)
{
    const wisp__half *h = &A->local.half->h;
    wisp_status status;
    WISP_TRY(wisp_alloc(A->ctx, &m->first, (size_t)h->rows + 2, sizeof *m->first));
    int64_t *next = m->first + 1; /* moves on to where the next row begins */
    for (int64_t i = 0; i < h->rows; i++)
        for (int64_t e = h->row[i]; e < h->row[i + 1]; e++)
            if (h->col[e] > i) next[h->col[e] + 1]++;
    for (int64_t i = 0; i < h->rows; i++) next[i + 1] += next[i];
    const size_t count = (size_t)next[h->rows];
    WISP_TRY(wisp__alloc_raw(A->ctx, &m->entry, count, sizeof *m->entry));
    WISP_TRY(wisp__alloc_raw(A->ctx, &m->row, count, sizeof *m->row));
    for (int64_t i = 0; i < h->rows; i++)
        for (int64_t e = h->row[i]; e < h->row[i + 1]; e++) {
            if (h->col[e] == i) continue;
            const int64_t at = next[h->col[e]]++;
            m->entry[at] = e;
            m->row[at] = (int32_t)i;
        }
out:
    return status;
}

static void mirrors_free(mirrors *m, wisp_ctx *ctx)
{
    wisp_free(ctx, m->first);
    wisp_free(ctx, m->entry);
    wisp_free(ctx, m->row);
}

static void close_reopened(void *arg)
{
    reopened *r = arg;
    wisp_ctx *ctx = r->host.mat.ctx;
    wisp__mat_return(&r->host);
    mirrors_free(&r->left, ctx);
    wisp_free(ctx, r);
}

const int64_t *wisp__reopened_numbers(const wisp_src *src)
{
    return src && src->row == row_of ? ((const reopened *)src->arg)->host.mat.map->number : NULL;
}

wisp_status wisp_src_open_mat(wisp_src *src, const wisp_mat *A)
{
    wisp_status status;
    reopened *r = NULL;
    WISP_NEED(A ? A->ctx : NULL, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, A);
    WISP_TRY(wisp__need_entries(A, "a matrix as a source"));
    WISP_TRY(wisp_alloc(A->ctx, &r, 1, sizeof *r));
    WISP_TRY(wisp__mat_lend(A, WISP_READ, &r->host));
    if (wisp__half_of(A) && (status = find_mirrors(&r->left, &r->host.mat)) != WISP_OK) {
        close_reopened(r);
        return status;
    }
    *src = (wisp_src){.rows = A->map->rows,
                      .cols = A->col_map->rows,
                      .type = A->type,
                      .row = row_of,
                      .arg = r,
                      .free_arg = close_reopened,
                      .own_rows = A->ctx->ranks > 1,
                      .weights = A->map->weights};
    for (int64_t i = 0; i < A->local_rows; i++) src->max_row = WISP__MAX(src->max_row, wisp__row_len(&r->host.mat, i));
    r = NULL;
out:
    wisp_free(A->ctx, r);
    return status;
}
