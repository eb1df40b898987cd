/* Numbers that were tuned for CPUs and that their backend alone takes, each with its reason. What is in quotes is a row
   of docs/performance.md. Those that the rooms above ask for, too: tuned.c. */
#ifndef WISP_TUNED_H
#define WISP_TUNED_H

enum {
    /* "The matrix prefetched 4 KB ahead", "Runs of columns loaded, not gathered": a matrix of more bytes comes from
       memory. One from the cache loses up to a quarter by being asked for. */
    TUNED_FROM_MEMORY = 32 << 20,
    /* "y stored past the caches": the matrix and y (of an update of columns, both blocks) have so many bytes that y is
       not found in the caches again. */
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
       rows of so many lines at most, or for sweeps (matrix and two blocks) that stay in the last cache: there asking
       for all entries took longer than the sums ("Bits for wide rows in the last cache"). */
    TUNED_SHORT_REAL = 4,
    TUNED_SHORT_COMPLEX = 2,

    /* "bundles, width 1": kinds of them, and terms of all kinds, that stay near; rows that a term serves, on average.
     */
    TUNED_BUNDLE_KINDS = 16384,
    TUNED_BUNDLE_TERMS = 16384,
    TUNED_BUNDLE_ROWS = 2,
    /* "pieces": of so many entries, at most; each loads a part of x. */
    TUNED_PIECES = 3,
    TUNED_PIECES_OF = 2,

    /* A strip of updates and dots in one pass stays in the first-level cache: bytes of all blocks; but of each enough
       for memory to be read in streams. Without dots, which would read them again, longer ones pay. */
    TUNED_STRIP_BYTES = 20 << 10,
    TUNED_STRIP_LEAST = 4096,
    TUNED_STRIP_UPDATES = 16 << 10,
    /* Bytes of rows that move, for which a further thread is worth waking. */
    TUNED_MOVED = 64 << 10
};
#endif
