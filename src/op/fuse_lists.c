/* The lists of a call of wisp_fuse: each block once, however often it is used, and what is refused. */
#include "fuse.h"

typedef wisp__fuse_lists lists;
typedef wisp__fuse_operand operand;
typedef wisp__fuse_operands operands;

wisp__factor_source wisp__fuse_factors(const wisp_term *t, const wisp_blk *like)
{
    wisp__factor_source f;
    wisp__factors_of(like->ctx, "fuse", t->factor, t->factor_at, like->width, &f);
    return f;
}

bool wisp__fuse_left_out(const wisp_term *t, const wisp_blk *like)
{
    const wisp__factor_source f = wisp__fuse_factors(t, like);
    return f.f && wisp__all_equal(f.f, like->width, 0, 0);
}

/* ---- the blocks of a call --------------------------------------------------------------------- */

static bool meet(const operand *p, const operand *q)
{
    return (p->b->nrows == 0 || (p->begin < q->end && q->begin < p->end)) && wisp__overlap(p->b, q->b);
}

/* The operand that is this block; it may be a new one. */
static operand *operand_of(operands *list, const wisp_blk *b)
{
    const uintptr_t at = (uintptr_t)wisp__at(b);
    const int64_t reach = b->nrows ? (b->nrows - 1) * b->stride + b->width : 0;
    operand *p = list->operand, *end = p + list->count;
    while (p < end && !(p->begin == at && p->b->stride == b->stride && p->b->width == b->width)) p++;
    if (p < end) return p;
    list->count++;
    *p = (operand){.b = b, .begin = at, .end = at + (uintptr_t)reach * wisp_type_size(b->type)};
    return p;
}

typedef enum { UNUSED, READ, WRITTEN } use;

static wisp_status use_block(const lists *l, operands *list, const wisp_blk *b, use how)
{
    wisp_ctx *ctx = l->like->ctx;
    if (!b) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "fuse: a block is NULL");
    wisp_status status = wisp__same_shape("fuse", l->like, b);
    if (status == WISP_OK) status = wisp__refuse_scattered("fuse", b);
    if (status != WISP_OK) return status;
    operand *p = operand_of(list, b);
    for (int i = 0; !p->block && i < list->count; i++) {
        const operand *q = list->operand + i;
        if (q != p && q->block && meet(p, q))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "fuse: two blocks overlap, and are not the same memory");
    }
    p->block = true;
    list->compact = list->compact && b->stride == b->width;
    if (how == READ) p->read = p->read || !p->written;
    if (how == WRITTEN) p->written = true;
    return WISP_OK;
}

static wisp_status use_rows(const lists *l, operands *list, const wisp_blk *rows, use how)
{
    const wisp_blk *b = l->like;
    if (!rows) return WISP_OK;
    if (rows->width != 1 || rows->map != b->map || rows->type != b->type || rows->nrows != b->nrows ||
        rows->first_row != b->first_row)
        return wisp_ctx_failf(b->ctx, WISP_ERR_MISMATCH,
                              "fuse: `rows` of %lld x %d %s; it must be one column with the map, rows and type of the "
                              "blocks (%lld, %s)",
                              (long long)rows->nrows, rows->width, wisp_type_name(rows->type), (long long)b->nrows,
                              wisp_type_name(b->type));
    operand *p = operand_of(list, rows);
    p->rows = true;
    if (how == READ) p->read = true;
    if (b->width > 1)
        list->wide_rows = true;
    else
        list->compact = list->compact && rows->stride == 1;
    return WISP_OK;
}

static wisp_status check_rows(const lists *l, const operands *list)
{
    for (int i = 0; i < list->count; i++)
        for (int j = 0; list->operand[i].rows && j < list->count; j++)
            if (list->operand[j].written && meet(list->operand + i, list->operand + j))
                return wisp_ctx_failf(l->like->ctx, WISP_ERR_ARG, "fuse: `rows` overlaps a block that is written");
    return WISP_OK;
}

/* ---- check ------------------------------------------------------------------------------------ */

wisp_status wisp__fuse_take(lists *l, const wisp_update *update, int updates, const wisp_inner *inner, int inners)
{
    *l = (lists){update, inner, updates, inners, wisp__fuse_first(update, updates, inner, inners), 0};
    wisp_ctx *ctx = wisp_blk_ctx(l->like);
    if (updates < 0 || inners < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "fuse: %d updates and %d dots", updates, inners);
    if ((updates > 0 || inners > 0) && !l->like) return wisp_ctx_failf(NULL, WISP_ERR_ARG, "fuse: a block is NULL");
    for (int i = 0; i < updates; i++) {
        if (update[i].terms < 1 || !update[i].term)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "fuse: update %d has %d terms%s", i, update[i].terms,
                                  update[i].term ? "; at least 1 is needed" : ", and a list that is NULL");
        l->terms += (size_t)update[i].terms;
    }
    return WISP_OK;
}

static wisp_status check_update(const lists *l, operands *list, const wisp_update *u)
{
    const wisp_blk *like = l->like;
    const bool real = !wisp_type_is_complex(like->type);
    wisp__factor_source factors;
    wisp_status status;
    for (int t = 0; t < u->terms; t++) {
        const wisp_term *term = u->term + t;
        WISP_TRY(wisp__factors_of(like->ctx, "fuse", term->factor, term->factor_at, like->width, &factors));
        const use how = wisp__fuse_left_out(term, like) ? UNUSED : READ;
        if (real && !term->factor_at.slot && !wisp__all_real(term->factor, like->width))
            return wisp_ctx_failf(l->like->ctx, WISP_ERR_ARG, "fuse: a complex factor for a real block");
        WISP_TRY(use_block(l, list, term->x, how));
        WISP_TRY(use_rows(l, list, term->rows, how));
    }
    WISP_TRY(use_block(l, list, u->y, WRITTEN));
out:
    return status;
}

wisp_status wisp__fuse_check(const lists *l, operands *list)
{
    wisp_status status = WISP_OK;
    list->compact = true;
    for (int i = 0; i < l->updates; i++) WISP_TRY(check_update(l, list, l->update + i));
    for (int i = 0; i < l->inners; i++) {
        WISP_TRY(use_block(l, list, l->inner[i].x, READ));
        WISP_TRY(use_block(l, list, l->inner[i].y, READ));
        WISP_TRY(use_rows(l, list, l->inner[i].rows, READ));
    }
    WISP_TRY(check_rows(l, list));
out:
    return status;
}
