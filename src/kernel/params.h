/* The parameters of kernels, on every device: plain numbers, and addresses in the device's memory. What only
   CPUs use is in params_cpu.h. */
#ifndef WISP_PARAMS_H
#define WISP_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kernel terms: the public ones of wisp_spmmv plus what the op found out about the scalars. */
enum {
    K_SCALE = 1,
    K_SHIFT = 2,
    K_AXPBY = 4, /* beta is not zero: prev is read */
    K_CHAIN = 8,
    K_DOT_XX = 16,
    K_DOT_XY = 32,
    K_DOT_YY = 64,
    K_DOT_UY = 128, /* dots in the order of their sets */
    K_DOTS = K_DOT_XX | K_DOT_XY | K_DOT_YY | K_DOT_UY,
    K_DELTA = 256,   /* delta is not zero: z is read */
    K_COMPLEX = 512, /* some scalar has an imaginary part */
    K_PREV = 1024,   /* with AXPBY: prev is another block than y */
    K_ADD = 4096,    /* u, by a factor for each column, is added to y */
    K_PAIRS = 2048   /* a real matrix, and a block of complex columns: each is two real ones side by side */
};

/* The step of the Chebyshev recurrence with its two dots. */
#define K_MASK_KPM (K_SCALE | K_SHIFT | K_AXPBY | K_DOT_XX | K_DOT_XY)
/* The dots of linear solvers. Where one of them is asked for, kernels sum up both, which costs little more. */
#define K_MASK_DOTS (K_DOT_XY | K_DOT_YY)
/* Whether some of the terms `mask` are asked for, and no others. */
#define K_WITHIN(terms, mask) (!((terms) & ~(unsigned)(mask)))
/* A step of a recurrence without dots, and what it may do beside. */
#define K_MASK_STEP (K_SCALE | K_SHIFT)
#define K_MASK_STEP_TOO (K_AXPBY | K_PREV | K_ADD)

/* Terms that multiply a block by a factor for each column, and which set of factors is theirs. */
enum { K_FACTORS_SHIFT, K_FACTORS_ADD, K_FACTOR_SETS };

/* Of dots, each of all columns: <x,x>, <x,y>, <y,y>, <u,y>. */
enum { K_DOT_SETS = 4 };

/* Dots are summed in registers over a strip of rows, then in double over the rows of one kernel call. */
enum { K_STRIP = 128, K_MAX_C = 128 };

/* A block that y is added to. */
typedef struct {
    void *z;
    int64_t ld;
    double eta[2];
} wisp__chain;

/* Kinds of storage, in the order in which they are asked whether they suit a matrix; then those that are not asked. Of
   each the rooms above have a bit in sets of kinds and a table of functions (data/store/). */
#define WISP__KINDS(X)    \
    X(PATTERNS, patterns) \
    X(LISTS, lists)       \
    X(CODED, coded)       \
    X(SELL, sell)         \
    X(HALF, half)         \
    X(OPERATOR, operator) /* no entries, and no kernel */

/* The entries of a matrix, stored in one of four ways. SELL: entry k of row r of chunk c is at
   chunk[c] + (k << log_c) + r. CRS arrays in place are SELL with C = 1, and say so by row_len.
   Coded: likewise, with a short column (relative to the row), a code of the value, or both, in place of col and val.
   Lists: as SELL, or with codes, but columns relative to row r are list_first[i] .. list_first[i + 1] - 1, i = list[r].
   Patterns: row r is entries chunk[i] .. chunk[i + 1] - 1, i = pattern[r], with columns relative to r. */
typedef struct {
    int64_t rows;            /* local rows */
    int log_c;               /* C = 1 << log_c */
    bool padded;             /* SELL: no row is empty, and padding is 0 times a column of its row: it may be read */
    const int64_t *chunk;    /* [chunks + 1] first entry of each chunk (of each pattern) */
    const int32_t *row_len;  /* [rows]; NULL with patterns, and of CRS in place: a row ends where the next one begins */
    const int32_t *chunk_32; /* [rows + 1] CRS in place, if its row pointers have 32 bits: instead of chunk */
    int log_words;           /* CRS in place: the column of entry e is col[e << log_words] */
    const int32_t *col;      /* [entries], [of all lists]; NULL with short columns */
    const int16_t *short_col;
    const uint16_t *list; /* [rows]; NULL: columns are stored for each entry, or with patterns */
    const int64_t *list_first;
    const void *val;         /* with codes: the values that they stand for */
    const uint8_t *code;     /* NULL: val has a value per entry */
    const uint16_t *pattern; /* [rows]; NULL: rows have entries of their own */
    const void *diagonal;    /* [rows] real parts to be added to the (real) diagonal of the entries; NULL: none */
    const struct wisp__prepared *prepared; /* what the backend has made of them for itself; or NULL */
} wisp__entries;
static inline int64_t wisp__chunk_at(const wisp__entries *a, int64_t i)
{
    return a->chunk_32 ? a->chunk_32[i] : a->chunk[i];
}

/* Where the columns of a row are. */
typedef struct {
    int64_t base; /* columns are counted from it: the row itself, or 0 */
    int log_step; /* that of entry k is col[k << log_step], */
    const int32_t *col;
    const int16_t *short_col; /* or in its place this; or NULL */
} wisp__columns;
static inline wisp__columns wisp__columns_of(const wisp__entries *a, int64_t row, int *n)
{
    if (a->pattern || a->list) {
        const int64_t *first = a->pattern ? a->chunk + a->pattern[row] : a->list_first + a->list[row];
        *n = (int)(first[1] - first[0]);
        return (wisp__columns){.base = row, .col = a->col + first[0]};
    }
    if (!a->row_len) {
        const int64_t at = wisp__chunk_at(a, row);
        *n = (int)(wisp__chunk_at(a, row + 1) - at);
        return (wisp__columns){.log_step = a->log_words, .col = a->col + (at << a->log_words)};
    }
    const int64_t at = a->chunk[row >> a->log_c] + (row & ((1 << a->log_c) - 1));
    *n = a->row_len[row];
    if (a->short_col) return (wisp__columns){.base = row, .log_step = a->log_c, .short_col = a->short_col + at};
    return (wisp__columns){.log_step = a->log_c, .col = a->col + at};
}
static inline int64_t wisp__column_of(const wisp__columns *c, int64_t k)
{
    return c->base + (c->short_col ? c->short_col[k << c->log_step] : c->col[k << c->log_step]);
}

/* One half of a Hermitian matrix: the diagonal and what is right of it, row by row. An entry (i, j) also stands for its
   partner (j, i), so that a row of y is added to by its own row and by rows above it. Rows are cut into blocks that
   threads take side by side; what a block has for rows of later blocks it sums up in rows of its own (spill rows), from
   which the later block takes it. */
typedef struct {
    int64_t rows, blocks, spill_rows;
    int64_t *first;  /* [blocks + 1] first row of each block, a multiple of K_STRIP */
    int64_t *row;    /* [rows + 1] first entry; columns rise, so a diagonal is first */
    int32_t *inside; /* [rows] entries with columns of the row's own block: these come before the others */
    int32_t *col;
    void *val;
    /* Of each strip of K_STRIP rows: */
    int64_t *outside;   /* [strips + 1] running number of the entries that are not inside */
    int32_t *reach;     /* [strips] end of the rows of y that its block has touched so far */
    int64_t *incoming;  /* [strips + 1] first spill row that is added to this strip, in into[] and from[] */
    int32_t *spill_row; /* [outside] the spill row for each entry that is not inside */
    int32_t *into;      /* [spill_rows] row of y */
    int32_t *from;      /* [spill_rows] spill row, those of earlier blocks first */
    int64_t *spill;     /* [blocks + 1] first spill row of each block */
    int64_t *source_at; /* [blocks + 1] blocks whose spill rows a block takes, in source[] */
    int32_t *source;
} wisp__half;

/* y = alpha (A - shift_j) x + beta prev + add_j u;  z_i = delta z_i + eta_i y;  dots. Scalars come as (re, im). Offsets
   and strides of blocks count scalars of the block's real type (a complex element counts two). */
typedef struct {
    wisp__entries a;
    const void *gather; /* the block that columns point into: x, or the halo of x */
    const void *x;      /* the block whose rows are this process's own */
    void *y;
    const void *prev; /* y itself, or a block apart from it */
    const void *u;    /* a block apart from y */
    int64_t ld_gather, ld_x, ld_y, ld_prev, ld_u;
    int width;      /* columns of the block */
    int64_t reals;  /* numbers in a block row */
    int real_bytes; /* of each */
    int64_t first;  /* real number of a row with which a kernel of fewer columns begins */
    unsigned terms;
    double alpha[2], beta[2], delta[2];
    const wisp__chain *chain; /* [chains] */
    int chains;
    const void
        *factors[K_FACTOR_SETS]; /* each [2][reals]: of a block, and of it with re and im swapped (signed); or NULL */
    const double
        *factors_at[K_FACTOR_SETS]; /* [width] complex numbers in the device's memory, of which the backend makes */
                                    /* the factors when it runs the call; or NULL */
} wisp__spmmv_params;

/* Where all addresses in the device's memory stand: of entries; and of a sweep, but for those of its entries and of
   chains. */
#define K_ENTRY_ADDRESSES(a)                                                                                         \
    &(a)->chunk, &(a)->row_len, &(a)->chunk_32, &(a)->col, &(a)->short_col, &(a)->list, &(a)->list_first, &(a)->val, \
        &(a)->code, &(a)->pattern, &(a)->diagonal
#define K_ADDRESSES(p)                                                                      \
    &(p)->gather, &(p)->x, &(p)->y, &(p)->prev, &(p)->u, &(p)->factors_at[K_FACTORS_SHIFT], \
        &(p)->factors_at[K_FACTORS_ADD]

/* Rows of chunks [begin, end). Adds the dots to dot[K_DOT_SETS][width] pairs (re, im). */
typedef void (*wisp__spmmv_fn)(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot);

/* Rows of a block: row[count], or `first` and those that follow it. In bytes. */
typedef struct {
    void *x;
    int64_t ld, bytes; /* from row to row, of a row */
    const int32_t *row;
    int64_t first, count;
} wisp__rows_params;

/* Columns of a block that become columns of another one: to[i * ld_to + to_column[j]] = from[i * ld_from +
   from_column[j]], in elements of so many bytes each. Where these differ, one of the blocks has single precision, the
   other one double: numbers are rounded, or widened. */
typedef struct {
    const void *from;
    void *to;
    int64_t ld_from, ld_to;
    const int *from_column, *to_column;     /* [width]; NULL: side by side */
    int width, from_bytes, to_bytes, reals; /* reals: numbers of an element, 1 or 2 */
} wisp__columns_params;

/* Element-wise ops on flat streams of `period` real elements, `count` times (a row, or several rows of a
   compact block): y = a x + b y with per-element factors; for complex blocks aw and bw multiply the element
   with its parts swapped. */
typedef struct {
    const void *x;
    void *y;
    int64_t ld_x, ld_y; /* distance of periods, in real elements */
    int period;
    const void *a, *aw, *b, *bw; /* [period] in the real type; b NULL: y is not read; aw, bw NULL: real factors */
    int b_is_one;                /* y += a x */
} wisp__axpby_params;
typedef void (*wisp__axpby_fn)(const wisp__axpby_params *p, int64_t begin, int64_t end);

/* Sums of products over periods [begin, end): sum[i] += x_i y_i per real element i of the period and, with cross (for
   complex blocks), sum[period + i] += x_i y_swapped(i); strip by strip of K_STRIP periods. error, if not NULL, takes
   the rounding errors of these additions up, as for gram. */
typedef struct {
    const void *x, *y;
    int64_t ld_x, ld_y;
    int period, rows; /* rows in a period */
    int reals;        /* real elements of a number; this and what follows is for the backend, not for its kernels */
    int exponent;     /* 0; or, of x = y, a single column, 2^exponent x is taken */
} wisp__dot_params;
/* Periods of several rows have fewer elements. */
enum { K_DOT_PERIOD = 1024 };
typedef void (*wisp__dot_fn)(const wisp__dot_params *p, int64_t begin, int64_t end, int cross, double *sum,
                             double *error);

/* One pass over blocks of one shape: updates y = the sum of terms, then dots of the results. Rows are cut into periods
   of `period` real elements (a row, or several rows of compact blocks), the last of which may be short; strides are
   distances of periods. `rows`, if not NULL, has a number for each row, which multiplies that row of x: with one column
   it is cut as x is, else a period is one row. */
typedef struct {
    const void *x, *rows;
    int64_t ld_x, ld_rows;
    int alike;       /* `factor` is that of all elements, as with K_FUSE_ONE, or as there are no others */
    double factor;   /* K_FUSE_ONE: of all elements; else: */
    double im;       /* with an update that is `uniform`: the imaginary part of that factor */
    int64_t factors; /* where those of a period begin in the list of all; K_FUSE_COMPLEX: a period further, what
                       multiplies the elements with their parts swapped */
    const double *factors_at; /* as in wisp__spmmv_params */
} wisp__fuse_term;
typedef enum { K_FUSE_ONE, K_FUSE_REAL, K_FUSE_COMPLEX } wisp__fuse_kind;
typedef struct {
    void *y;
    int64_t ld_y;
    const wisp__fuse_term *term; /* [terms]; none: y becomes 0 */
    int terms;
    wisp__fuse_kind kind;
    int scaled;  /* some term has rows */
    int uniform; /* K_FUSE_COMPLEX: each term has one factor for all columns */
} wisp__fuse_update;
typedef struct {
    const void *x, *y, *rows; /* rows multiply y */
    int64_t ld_x, ld_y, ld_rows;
    int cross;  /* sums as those of wisp__dot_params, one set or two: */
    int set;    /* the number of the first */
    double *to; /* [row / reals] complex numbers, where the backend puts the dot */
} wisp__fuse_dot;
typedef struct {
    int64_t count;                   /* rows */
    int reals, row, period, rows;    /* real elements of a number, a row, a period; rows in a period */
    int flat;                        /* no block has gaps between its periods */
    int blocks;                      /* that it reads or writes, each counted once */
    const wisp__fuse_update *update; /* [updates] */
    const wisp__fuse_dot *dot;       /* [dots] */
    const void *factors;             /* [factor_count] in the real type */
    int updates, dots, sets;
    int64_t terms, factor_count; /* of all updates */
} wisp__fuse_params;
#define K_TERM_ADDRESSES(t) &(t)->x, &(t)->rows, &(t)->factors_at
#define K_DOT_ADDRESSES(d) &(d)->x, &(d)->y, &(d)->rows, &(d)->to
/* Periods [begin, end), so many at a time; adds the dots to sum[sets][period]. */
typedef void (*wisp__fuse_fn)(const wisp__fuse_params *p, int64_t begin, int64_t end, int64_t strip, double *sum);

/* partial[blocks][1 or, compensated, 2][size], elements [begin, end): all blocks are added up in the order of a tree,
   with the rounding errors if compensated; the sum is in partial[0]. */
typedef void (*wisp__sum_fn)(double *partial, int64_t blocks, size_t size, size_t begin, size_t end, int compensated);
/* The sums of so many rows, `row` numbers each, go into the first row; with their errors if that is not NULL. */
typedef void (*wisp__fold_fn)(int rows, int row, double *sum, double *error);

/* Blocks of p and q real columns (a complex one counts two): sums of v_ia w_ib over rows [begin, end), begin a
   multiple of K_STRIP, are added to sum[p][q] strip by strip; error, if not NULL, takes the rounding errors of these
   additions up, so that sum + error is the compensated sum. */
typedef struct {
    const void *v, *w;
    int64_t ld_v, ld_w;
    int64_t rows; /* of all ranges: nothing behind the last element of the last row is read */
    int p, q;
    int same; /* w is v: tiles of sums that lie wholly below the diagonal are left out */
} wisp__gram_params;
typedef void (*wisp__gram_fn)(const wisp__gram_params *p, int64_t begin, int64_t end, double *sum, double *error);

/* The products of a panel from the sums of gram, of whose columns each element of V and W has `reals`: those of rows
   v .. and columns w .. of X, as complex numbers, ld of them in a row. */
typedef struct {
    const double *sum; /* [v_count * reals][w_count * reals]; compensated: their errors behind them */
    double *to;        /* X */
    int64_t ld;
    int v, w, v_count, w_count, reals;
    int compensated;
    int mirror; /* X is Hermitian: each is put on both sides; of a panel on the diagonal the upper half is given */
} wisp__join_params;

/* How a small matrix of complex numbers becomes x in what follows: of alpha X, or of alpha X^H, each number is rounded
   to the real type, and of complex ones it is two rows, x and i x. */
typedef struct {
    const double *at; /* X, [..][ld] */
    int64_t ld;
    double alpha[2];
    int adjoint;
    int reals; /* real numbers in an element of the blocks: of 1, imaginary parts don't count */
} wisp__apart;

/* w_ib = sum over a of v_ia x_ab + beta w_ib, real columns as above; x is in the real type. */
typedef struct {
    const void *v;
    void *w;
    const void *x;      /* [p][ld_x]; NULL: the backend makes it when it runs the call, */
    wisp__apart x_from; /* of what lies in the device's memory; else `at` is NULL */
    int64_t ld_v, ld_w, ld_x;
    int p, q;
    double beta[2];
    int reads_w;  /* beta is not zero */
    int in_place; /* v and w begin at one address, with one stride */
    int upper;    /* column b needs v's columns 0 .. b alone (and b + 1 if b is even): below is zero in x */
    int stream;   /* w is large, and its cache lines are written whole: past the caches, if its place allows; the */
                  /* CPU's backend says so */
} wisp__update_params;
/* Rows of a strip, which a kernel goes through once for each panel of columns; `copy` has room for them (of V), when in
   place. */
enum { K_UPDATE_ROWS = 64 };
typedef void (*wisp__update_fn)(const wisp__update_params *p, int64_t begin, int64_t end, void *copy);

/* A step of scalars (kernel/scalars.h) of all columns. */
enum { K_SCALARS = 8 };
typedef struct {
    double *at; /* [sets][width] pairs, in the device's memory */
    double uniform[K_SCALARS];
    int width, step;
} wisp__scalars_params;

/* Loops that measure the machine: a = b, a = b + s c, ... over `bytes` of each array, `passes` times. Arrays lie on
   cache lines and hold a multiple of K_STREAM_BYTES. PAST: stores past the caches; AHEAD: with prefetch. */
typedef struct {
    void *a;
    const void *b, *c;
    int64_t bytes, passes;
    double scale;
} wisp__stream_params;
typedef double (*wisp__stream_fn)(const wisp__stream_params *p);
enum { K_LOAD, K_LOAD_AHEAD, K_COPY, K_COPY_PAST, K_TRIAD, K_TRIAD_PAST, K_UPDATE, K_STREAMS, K_STREAM_BYTES = 512 };
typedef struct {
    wisp__stream_fn stream[K_STREAMS];
    wisp__stream_fn multiply_add;
    int flops; /* of one pass of multiply_add */
} wisp__stream_table;
#endif
