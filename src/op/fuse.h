/* The lists of a call of wisp_fuse: their blocks, and what is refused. For the files of fuse alone. */
#ifndef WISP_FUSE_H
#define WISP_FUSE_H
#include "op.h"

typedef struct {
    const wisp_update *update;
    const wisp_inner *inner;
    int updates, inners;
    const wisp_blk *like; /* all blocks are like this one */
    size_t terms;         /* of all updates */
} wisp__fuse_lists;

/* Each block once, whatever it is used for. */
typedef struct {
    const wisp_blk *b;
    uintptr_t begin, end;
    bool block, rows;   /* as one of the blocks, as numbers of rows */
    bool read, written; /* read: before it is written */
} wisp__fuse_operand;

typedef struct {
    wisp__fuse_operand *operand; /* [wisp__fuse_most_operands] */
    int count;
    bool compact;   /* all blocks, and so rows of blocks of width 1 */
    bool wide_rows; /* some rows multiply several columns */
} wisp__fuse_operands;

static inline size_t wisp__fuse_most_operands(const wisp__fuse_lists *l)
{
    return 2 * l->terms + (size_t)l->updates + 3 * (size_t)l->inners;
}
/* A block of the lists; NULL: there is none to be seen. */
static inline const wisp_blk *wisp__fuse_first(const wisp_update *update, int updates, const wisp_inner *inner,
                                               int inners)
{
    return updates > 0 && update ? update->y : inners > 0 && inner ? inner->x : NULL;
}
/* The lists, as far as they can be told without their blocks. */
wisp_status wisp__fuse_take(wisp__fuse_lists *l, const wisp_update *update, int updates, const wisp_inner *inner,
                            int inners);
/* All blocks, in the order of their use; list->operand has room for them. */
wisp_status wisp__fuse_check(const wisp__fuse_lists *l, wisp__fuse_operands *list);
/* The factors of a term whose place was checked; whether they are all 0, and known to be. */
wisp__factor_source wisp__fuse_factors(const wisp_term *t, const wisp_blk *like);
bool wisp__fuse_left_out(const wisp_term *t, const wisp_blk *like);
#endif
