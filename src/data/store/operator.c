/* A matrix that is not stored: a function of the user's multiplies by it (op/apply.c). */
#include "store.h"

static int64_t bytes(const wisp_mat *A, bool all)
{
    (void)A, (void)all;
    return 0;
}

static void free_struct(wisp_ctx *ctx, wisp__stored *s)
{
    wisp__operator_mat *m = s->op;
    wisp_blk_free(m->spare);
    if (m->o.free_arg) m->o.free_arg(m->o.arg);
    wisp_free(ctx, m);
}

const wisp__storage wisp__storage_operator = {
    .kind = WISP__OPERATOR,
    .format = WISP_FORMAT_OPERATOR,
    .never_interleaved = "the matrix is an operator, whose entries are not known",
    .free = free_struct,
    .bytes = bytes,
};

wisp_status wisp__need_entries(const wisp_mat *A, const char *what)
{
    if (!wisp__operator_of(A)) return WISP_OK;
    return wisp_ctx_failf(A->ctx, WISP_ERR_UNSUPPORTED,
                          "%s: the matrix is an operator (wisp_mat_from_apply), whose entries are not known; take a "
                          "stored matrix, and for bounds the Lanczos method or an interval of your own",
                          what);
}
