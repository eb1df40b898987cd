/* What the rooms above ask of a device: numbers alone, which its backend fills in. The model reckons with them. */
#ifndef WISP_FACTS_H
#define WISP_FACTS_H
#include "../base/base.h"
#include "tuned.h"

/* How rows are cut into row blocks, by the layout alone; and row blocks into the turns of threads. */
typedef struct {
    int strip;            /* rows: row blocks are whole strips */
    int64_t most_blocks;  /* of all rows, about */
    int64_t wide_bytes;   /* that the rows of x and y of a row block have, at most; */
    int least_strips;     /* but of so many strips */
    int turns, own_turns; /* in all, or for each of many threads */
    int abreast;          /* columns of a block from which on threads take row blocks in turn */
    int row_weight;       /* entries that take as long as a row: shares of threads */
} wisp__row_cut;

/* At most about that many blocks of whole strips. */
static inline int64_t wisp__rows_per_block(const wisp__row_cut *c, int64_t rows)
{
    const int64_t per = (rows + c->most_blocks - 1) / c->most_blocks;
    return WISP__MAX((per + c->strip - 1) / c->strip, 1) * c->strip;
}
/* The same for block rows of that many bytes: no more than a part of the second-level cache holds twice, so that a few
   blocks make a group of rows that stays there from step to step. */
static inline int64_t wisp__rows_per_wide_block(const wisp__row_cut *c, int64_t rows, int64_t row_bytes)
{
    const int64_t strips = WISP__MAX(c->wide_bytes / (2 * row_bytes * c->strip), c->least_strips);
    return WISP__MIN(wisp__rows_per_block(c, rows), strips * c->strip);
}
/* Blocks that a thread takes in one turn: in shorter ones it gathers more rows that lie in another core's cache. */
static inline int64_t wisp__blocks_per_turn(const wisp__row_cut *c, int64_t blocks, int threads)
{
    const int64_t turns = WISP__MAX(c->turns, c->own_turns * threads);
    return WISP__MAX((blocks + turns - 1) / turns, 1);
}
static inline int64_t wisp__rows_per_turn(const wisp__row_cut *c, int64_t rows, int64_t row_bytes, int threads)
{
    const int64_t per = wisp__rows_per_wide_block(c, rows, row_bytes);
    return per * wisp__blocks_per_turn(c, (rows + per - 1) / per, threads);
}

typedef struct {
    int threads;   /* that share the rows of a sweep, */
    bool one_node; /* and one memory */
    int register_bytes;
    int C;            /* of matrices for single real columns, whose kernels go along chunks of so many rows or more */
    int sides, apart; /* rows alike that go side by side: at most so many, and so far apart */
    int bundle_bytes; /* of a register of rows; 0: there are no kernels for bundles */
    double l1, l2;    /* bytes of a thread's caches */
    int l2_caches;    /* that all threads have */
    double l3;        /* bytes of the last cache, */
    int l3_threads, l3_ranks; /* which so many of the threads share, and so many ranks */
    double last;              /* bytes of the last caches of all threads: the rank's part */
    double kept;              /* bytes that these keep from one sweep to the next */
    wisp__rates rates;        /* at ceilings: measured, else assumed */
    wisp__row_cut cut;
    const wisp__tuned *tuned;
    int look_every; /* iterations after which a solver looks at its numbers */
    int steps;      /* of a call of wisp_mpk: at least so many, where the device asks for it */
    int columns;    /* that are asked for at once: blocks have so many or more, if there are so many vectors */
} wisp__facts;

/* Threads that share memory and the last cache take neighbouring blocks of rows in turn, and gather wide block rows
   from one neighbourhood that the cache holds, not from one each. Not where it holds the whole blocks, of so many
   bytes: rows that a thread wrote in the last sweep are nearest to itself. Narrow blocks stream the matrix, and long
   ranges stream better. (docs/performance.md) */
static inline bool wisp__side_by_side(const wisp__facts *f, int width, double block_bytes)
{
    return f->one_node && width >= f->cut.abreast && block_bytes > f->last;
}
/* Rows in a bundle: less than 2 if there are no kernels for them. */
static inline int wisp__bundle_rows(const wisp__facts *f, wisp_type type)
{
    return f->bundle_bytes / (int)wisp_type_size(type);
}
#endif
