/* The parameters of CPU kernels alone: other forms of the entries, and how to use the caches. Kernels of other devices
   never see them. */
#ifndef WISP_PARAMS_CPU_H
#define WISP_PARAMS_CPU_H

#include "params.h"

/* The patterns of a complex matrix whose entries are, most of them, real or imaginary: the real parts that are not
   zero, then the imaginary ones. */
typedef struct {
    int64_t *first; /* [2 patterns + 1] of the real parts of pattern i: first[2 i]; of the imaginary ones: the next */
    int32_t *col;   /* relative to the row */
    void *val;      /* real */
    int64_t entries;
} wisp__pieces;

/* Rows that repeat, `rows` at a time: what so many that follow one another have in common with others. A bundle's sum
   is one of terms: a register of x, which begins `offset` elements from the bundle's first row, with its parts of four
   bytes where `take` has them, times a register of factors. */
enum {
    K_ALONE = 0xffff, /* no kind: rows of their own */
    K_SAME = 0x8000   /* a bit beside the kind: real rows of one pattern, which take x as it lies */
};
typedef struct {
    int rows;
    int64_t kinds, terms;
    uint16_t *kind;  /* [bundles] of so many rows each, with K_SAME; or K_ALONE */
    int64_t *first;  /* [kinds + 1] first term of each kind */
    int32_t *offset; /* [terms] */
    int32_t *take;   /* [terms][register bytes / 4] the part of x to be taken, with the sign bit; without: zero */
    void *factor;    /* [terms][register] */
} wisp__bundles;

/* Kernels with constants of at least so many columns take multiples of their width, too. */
#define K_MULTIPLES 32

/* The least C of the kernels along chunks: a register of single-precision rows in every instruction set. */
enum { K_CHUNKED_C = 16 };

/* Rows of one pattern, or list, that go side by side: how many at most, and how far apart. */
#define K_MOST_SIDES 4
enum { K_MOST_PERIOD = 4 };

/* Marks of K_FOLLOW_ROWS rows: FIRST, for each k the k-th entries of the rows of the first half have columns that
   follow one another; SECOND, so of the second half; ALL, so of all these rows. Then one load replaces a gather. */
enum { K_FOLLOW_ROWS = K_CHUNKED_C, K_FOLLOW_FIRST = 1, K_FOLLOW_SECOND = 2, K_FOLLOW_ALL = 4 };

/* Beside the entries of a sweep. */
typedef struct {
    const uint8_t *follow; /* [rows / K_FOLLOW_ROWS, rounded up] SELL along chunks: bits of K_FOLLOW_*; NULL: none */
    int period;            /* rows so far apart have the same pattern, or list, as a rule: 1 .. K_MOST_PERIOD */
    const wisp__pieces *pieces;   /* of the patterns; or NULL */
    const wisp__bundles *bundles; /* of rows with patterns, for width 1 and blocks of the matrix's type; or NULL */
    bool asks_gathered;           /* block rows that columns name are asked for ahead; fresh says which */
    const uint32_t *fresh; /* [rows] (of each pattern) bit k: entry k asks for a row of x that no entry before it has
                              met; entries beyond the last bit always do. NULL: all entries do */
    bool streams;          /* the matrix is large: it comes from memory */
    bool past;             /* y will not be found in the caches again: written past them where whole lines are */
    bool near;             /* all comes from caches near by: nothing is prefetched */
    bool gapless;          /* other blocks than those of x and y have no gaps between their rows */
    bool in_turn;          /* threads take neighbouring row blocks in turn, not ranges of their own */
} wisp__cpu_params;

/* What a CPU's kernel is given: it takes the first part as kernels of every device do, and finds the other behind it.
 */
typedef struct {
    wisp__spmmv_params p;
    wisp__cpu_params cpu;
} wisp__cpu_sweep;
#define K_SWEEP(p) ((const wisp__cpu_sweep *)(p))

typedef struct {
    wisp__cpu_sweep s; /* with K_AXPBY and beta = 1: rows are added to a y that has begun */
    const wisp__half *half;
    double beta[2]; /* y begins as beta prev, or as 0 */
    int reads_prev;
    void *spill; /* [spill_rows] rows of ld_spill reals */
    int64_t ld_spill;
} wisp__half_params;

/* A strip and some columns from column `at` on. First y begins (reading prev) from row `begin` to the strip's reach,
   then the strip's rows are multiplied; or what other blocks had for the strip is added, and its rows are finished. */
typedef void (*wisp__half_fn)(const wisp__half_params *h, int64_t strip, int64_t begin, int at, double *dot);
#endif
