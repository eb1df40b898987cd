/* Makes the matrix that stands for a function of the user's. */
#include "assemble.h"
#include "../data/store/store.h"

wisp_status wisp_mat_from_apply(wisp_mat **out, wisp_ctx *ctx, const wisp_operator *op)
{
    WISP_NEED(ctx, out);
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, op);
    wisp_map *map = op->map;
    const wisp_apply_fn apply = op->apply;
    wisp__operator_mat *m = NULL;
    wisp_mat *A = NULL;
    wisp_status status;
    WISP_NEED(ctx, map);
    WISP_NEED(ctx, apply);
    if (!wisp__type_ok(op->type))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "an operator needs the type of its entries (it is %d)", (int)op->type);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp_alloc(ctx, &A, 1, sizeof *A));
    *A = (wisp_mat){.ctx = ctx,
                    .map = wisp__map_retain(map),
                    .col_map = wisp__map_retain(map),
                    .type = op->type,
                    .local_rows = map->local,
                    .local_cols = map->local,
                    .square = true,
                    .sigma = 1,
                    .order = map->order,
                    .format = WISP_FORMAT_OPERATOR};
    WISP_TRY(wisp__cascades_open(A));
    WISP_TRY(wisp_alloc(ctx, &m, 1, sizeof *m));
    m->o = *op;
    A->local.how = &wisp__storage_operator;
    A->local.op = m;
    A->local.chunks = A->local_rows;
    WISP_TRY(wisp__make_grid(A));
out:
    if ((status = wisp_ctx_leave(ctx, status)) == WISP_OK) {
        *out = A;
        return status;
    }
    if (m) m->o.free_arg = NULL; /* it stays the caller's */
    wisp_mat_free(A);
    return status;
}

wisp_status wisp_mat_get_operator(const wisp_mat *A, wisp_operator *op)
{
    WISP_NEED(A ? A->ctx : NULL, op);
    *op = (wisp_operator){0};
    WISP_NEED(NULL, A);
    const wisp__operator_mat *m = wisp__operator_of(A);
    if (!m) return wisp_ctx_failf(A->ctx, WISP_ERR_UNSUPPORTED, "the matrix is stored; it was not made of an operator");
    *op = m->o;
    return WISP_OK;
}
