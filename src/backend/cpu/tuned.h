/* Numbers that were tuned for CPUs, each with its reason. What is in quotes is a row of docs/performance.md. */
#ifndef WISP_TUNED_H
#define WISP_TUNED_H

enum {
    TUNED_LINE = 64, /* bytes of a cache line */

    /* Row blocks. "blocks of rows cut for the second-level cache": x and y of one have so many bytes at most, so that
       a few make a group that stays near from step to step; but strips enough to be worth a turn, and not more than
       so many blocks, whose dots are added up. */
    TUNED_MOST_BLOCKS = 1024,
    TUNED_BLOCK_BYTES = 128 << 10,
    TUNED_LEAST_STRIPS = 2,
    /* Turns of threads in all, or for each of many: in shorter ones a thread gathers more rows that lie in another
       core's cache. */
    TUNED_TURNS = 1024,
    TUNED_OWN_TURNS = 32,
    /* Columns from which on threads take row blocks in turn: narrow blocks stream the matrix, in long ranges best. */
    TUNED_ABREAST = 8,
    /* "shares by entries, not rows": a row costs about as much as some entries. */
    TUNED_ROW_WEIGHT = 4,

    /* "The matrix prefetched 4 KB ahead", "Runs of columns loaded, not gathered": a matrix of more bytes comes from
       memory. One from the cache loses up to a quarter by being asked for. */
    TUNED_FROM_MEMORY = 32 << 20,
    /* "y stored past the caches": the matrix and y are so large that y is not found in the caches again. */
    TUNED_PAST = 64 << 20,
    /* "Prefetch of gathered rows of one line": sweeps (matrix and two blocks) of so many times the last cache come
       from memory, and gain by it; others lose. */
    TUNED_MUCH = 2,

    /* "A bit for each entry: has a row nearby gathered it?": an entry of a pattern is asked for if one in so many of
       its rows needs it. */
    TUNED_FEW = 16,
    /* Rows of many lines from memory fill all the room for pending loads, and a prefetch that finds none is lost:
       there it pays to ask for all entries, which asks again, unless that is as much work as the sums (real matrices).
       (topi 100x100x40, width 16: 105 against 92 Gflop/s; 27-point stencil, width 32: 28 against 46.) So bits are for
       rows of so many bytes at most, or for blocks of so many times what is near. */
    TUNED_SHORT_REAL = 4 * TUNED_LINE,
    TUNED_SHORT_COMPLEX = 2 * TUNED_LINE,
    TUNED_SMALL = 4,

    /* A strip of updates and dots in one pass stays in the first-level cache: bytes of all blocks; but of each enough
       for a loop to run. */
    TUNED_STRIP_BYTES = 20 << 10,
    TUNED_STRIP_LEAST = 512,
    /* Bytes of rows that move, for which a further thread is worth waking. */
    TUNED_MOVED = 64 << 10
};
#endif
