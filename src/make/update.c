/* Gives a matrix new values on its pattern. */
#include "assemble.h"
#include "../data/halo.h"
#include "../data/store/store.h"
#include <string.h>

/* Whether each entry has a value of its own. */
static bool in_place(const wisp__stored *s) { return s->how->update && !s->code; }

static wisp_status update_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    wisp_mat *A = arg; /* as the host sees it */
    const wisp__stored *s = &A->local;
    for (int64_t i = begin; i < end; i++) {
        int n;
        wisp_status status = wisp__read_row(reader, A->ctx, wisp__map_row(A->map, i), &n);
        if (status == WISP_OK) status = wisp__refuse_too_large(reader, A->ctx, wisp__map_row(A->map, i), n, A->type);
        if (status != WISP_OK) return status;
        const wisp__row row = wisp__row_of(A, i);
        bool same = n == row.n;
        for (int k = 0; same && k < n; k++) same = wisp__row_col(&row, k) == reader->merged[k];
        if (!same)
            return wisp_ctx_failf(A->ctx, WISP_ERR_MISMATCH,
                                  "row %lld has another pattern than the matrix; make a new matrix",
                                  (long long)wisp__map_user(A->map, i));
        if (in_place(s)) s->how->update(A, i, reader->sum);
    }
    return WISP_OK;
}

/* Other values repeat in another way, and of half a matrix the partners of what is stored must be looked at, too: the
   entries are made anew, on the same maps, and as they were asked for. */
static wisp_status renew(wisp_mat *A, const wisp_src *src)
{
    const bool asked = A->asked_format != WISP_FORMAT_DEFAULT;
    const wisp_mat_opts o = {
        .type = A->type, .C = asked ? 1 << A->log_c : 0, .width = A->width, .map = A->map, .format = A->asked_format};
    wisp_mat *B = NULL;
    wisp_status status;
    WISP_TRY(wisp_mat_create(&B, A->ctx, src, &o));
    double made = 1; /* on all ranks, before any takes it over */
    WISP_TRY(A->ctx->comm->sum(A->ctx, &made, 1));
    WISP_TRY(A->local.how->renew(A, B));
out:
    wisp_mat_free(B);
    return status;
}

/* Columns of the halo are told apart by their places there. */
static bool same_halo(const wisp__halo *a, const wisp__halo *b)
{
    if (!a || !b) return a == b;
    return a->rows == b->rows && !memcmp(a->global, b->global, (size_t)a->rows * sizeof *a->global);
}

static wisp_status update(wisp_mat *A, const wisp_src *src)
{
    wisp__part part;
    wisp__host_mat host;
    wisp_status status;
    WISP_TRY(wisp__part_open(&part, A->ctx, src, A->map));
    if (!same_halo(A->halo, part.halo)) {
        status = wisp_ctx_failf(A->ctx, WISP_ERR_MISMATCH,
                                "the source has another pattern than the matrix; make a new matrix");
        goto out;
    }
    WISP_TRY(wisp__refuse_too_small(A, &part.src));
    if (A->local.how->row) {
        WISP_TRY(wisp__mat_lend(A, WISP_WRITE, &host));
        status = wisp__for_rows(A->ctx, "updating", &part.src, A->col_map, A->local_rows, WISP__PIECE, update_rows,
                                &host.mat);
        wisp__mat_return(&host);
        WISP_TRY(status);
    }
    double anew = in_place(&A->local) ? 0 : 1; /* on some rank: to make a matrix is a call of all */
    WISP_TRY(A->ctx->comm->sum(A->ctx, &anew, 1));
    if (anew > 0) WISP_TRY(renew(A, src));
out:
    wisp__part_close(&part);
    return status;
}

wisp_status wisp_mat_update(wisp_mat *A, const wisp_src *src)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, src);
    wisp_status status;
    WISP_TRY(wisp__need_entries(A, "new values"));
    WISP_TRY(wisp__src_check(A->ctx, src));
    if (src->rows != A->map->rows || src->cols != A->col_map->rows || wisp__in_place(A) ||
        (wisp_type_is_complex(src->type) && !wisp_type_is_complex(A->type)))
        return wisp_ctx_failf(
            A->ctx, WISP_ERR_MISMATCH,
            "new values need a source of the matrix's size (%lld x %lld) and kind, and a matrix of its own",
            (long long)A->map->rows, (long long)A->col_map->rows);
    wisp__forget_props(A);
    wisp_ctx_enter(A->ctx);
    status = wisp_ctx_leave(A->ctx, update(A, src));
out:
    return status;
}
