/* Work on the entries of a matrix that is the same for all kinds of storage: freeing, handing arrays
   to a device, looking at them. */
#include "store.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

void wisp__arrays_add(wisp__arrays *list, void *const pointer[], int count)
{
    for (int i = 0; i < count; i++)
        if (*(void **)pointer[i]) list->pointer[list->count++] = pointer[i];
}

/* All that kernels read, but for those of the user (crs.c). */
static wisp__arrays arrays(const wisp__stored *stored)
{
    wisp__stored *s = (wisp__stored *)stored;
    wisp__arrays list = {.count = 0};
    WISP__ARRAYS(&list, &s->chunk, &s->col, &s->val, &s->row_len, &s->code, &s->diagonal);
    if (s->how && s->how->arrays) s->how->arrays(s, &list);
    return list;
}

void wisp__stored_free(wisp_ctx *ctx, wisp__stored *s)
{
    const wisp__arrays list = arrays(s);
    for (int i = 0; i < list.count; i++) ctx->backend->free(ctx, *(void **)list.pointer[i]);
    if (s->how && s->how->free) s->how->free(ctx, s);
    *s = (wisp__stored){0};
}

static wisp__entries entries_of(const wisp_mat *A)
{
    const wisp__stored *s = &A->local;
    wisp__entries a = {.rows = A->local_rows,
                       .log_c = A->log_c,
                       .padded = s->padded,
                       .chunk = s->chunk,
                       .row_len = s->row_len,
                       .col = s->col,
                       .val = s->val,
                       .code = s->code,
                       .diagonal = s->diagonal};
    if (s->how->add_entries) s->how->add_entries(s, &a);
    return a;
}

wisp_status wisp__mat_prepare(wisp_mat *A)
{
    const wisp__backend *backend = A->ctx->backend;
    const wisp__stored *s = &A->local;
    const int64_t cols = A->col_map->local;
    const wisp__given given = {.entries = &A->entries,
                               .kind = s->how->kind,
                               .type = A->type,
                               .width = A->width,
                               .log_c = A->log_c,
                               .rows = A->local_rows,
                               .cols = cols,
                               .halo = A->local_cols - cols,
                               .patterns = wisp__is_kind(s, WISP__PATTERNS) ? s->patterns.count : 0,
                               .repeats = s->how->repeats,
                               .stored = s->entries,
                               .bytes = A->local_rows > 0 ? s->how->bytes(A, false) : 0,
                               .foretold = -1,
                               .grid = &A->grid};
    if (!backend->prepare || wisp__half_of(A)) return WISP_OK; /* halves have kernels of their own */
    wisp__prepared *made;
    const wisp_status status = backend->prepare(A->ctx, &given, &made);
    if (status != WISP_OK) return status;
    wisp__mat_release(A);
    A->prepared = made;
    A->entries.prepared = made;
    return WISP_OK;
}

void wisp__mat_release(wisp_mat *A)
{
    if (A->prepared) A->ctx->backend->release(A->ctx, A->prepared);
    A->entries.prepared = A->prepared = NULL;
}

wisp_status wisp__mat_take(wisp_mat *A)
{
    const wisp__arrays list = arrays(&A->local);
    wisp_status status = WISP_OK;
    for (int i = 0; i < list.count; i++) WISP_TRY(A->ctx->backend->take(A->ctx, list.pointer[i]));
    if (A->grid.weight && A->local.chunk) A->grid.weight = A->local.chunk;
    A->entries = entries_of(A);
    status = wisp__mat_prepare(A);
out:
    return status;
}

/* The first arrays of a list. */
static void unlend(wisp_ctx *ctx, const wisp__arrays *list, int count)
{
    for (int i = 0; i < count; i++) ctx->backend->unlend(ctx, *(void **)list->pointer[i]);
}

wisp_status wisp__mat_lend(const wisp_mat *A, wisp_access how, wisp__host_mat *host)
{
    wisp_ctx *ctx = A->ctx;
    *host = (wisp__host_mat){.of = A,
                             .mat = {.ctx = A->ctx,
                                     .map = A->map,
                                     .col_map = A->col_map,
                                     .type = A->type,
                                     .local_rows = A->local_rows,
                                     .local_cols = A->local_cols,
                                     .sigma = A->sigma,
                                     .nnz = A->nnz,
                                     .square = A->square,
                                     .log_c = A->log_c,
                                     .width = A->width,
                                     .order = A->order,
                                     .format = A->format,
                                     .local = A->local,
                                     .prepared = A->prepared,
                                     .grid = A->grid,
                                     .halo = A->halo,
                                     .visit = A->visit}};
    if (A->local.how && A->local.how->own) A->local.how->own(host);
    const wisp__arrays from = arrays(&A->local), to = arrays(&host->mat.local); /* the same, in one order */
    wisp_status status = WISP_OK;
    int i = 0;
    while (i < from.count && (status = ctx->backend->lend(ctx, *(void **)from.pointer[i], WISP__WHOLE_ARRAY, how,
                                                          to.pointer[i])) == WISP_OK)
        i++;
    if (status == WISP_OK) {
        if (A->grid.weight && A->local.chunk) host->mat.grid.weight = host->mat.local.chunk;
        return WISP_OK;
    }
    unlend(ctx, &from, i);
    return status;
}

void wisp__mat_return(wisp__host_mat *host)
{
    const wisp__arrays list = arrays(&host->of->local);
    unlend(host->of->ctx, &list, list.count);
    *host = (wisp__host_mat){.of = NULL};
}

/* ---- what the kinds do ------------------------------------------------------------------------ */

int64_t wisp__mat_bytes(const wisp_mat *A, bool all)
{
    const wisp__prepared *p = A->prepared;
    if (A->local_rows == 0) return 0;
    return A->local.how->bytes(A, all) + (!p ? 0 : all ? p->bytes : -p->spared);
}

wisp_status wisp__stored_renew(wisp_mat *A, wisp_mat *B)
{
    const wisp__stored old = A->local;
    const wisp__entries old_entries = A->entries;
    wisp__prepared *const old_prepared = A->prepared;
    A->local = B->local;
    A->entries = B->entries;
    A->prepared = B->prepared;
    A->format = B->format;
    A->log_c = B->log_c;
    A->sigma = B->sigma;
    A->grid = B->grid;
    B->local = old;
    B->entries = old_entries;
    B->prepared = old_prepared;
    struct wisp__halo *const halo = A->halo;
    int32_t *const visit = A->visit;
    A->halo = B->halo, B->halo = halo;
    A->visit = B->visit, B->visit = visit;
    int64_t *const reached = A->reached;
    A->reached = B->reached, B->reached = reached;
    A->levels = B->levels, A->near_rows = B->near_rows;
    return WISP_OK;
}
