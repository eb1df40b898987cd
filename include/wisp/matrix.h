/* Maps, matrices and block vectors. Part of wisp.h, which says what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_MATRIX_H
#define WISP_PUBLIC_MATRIX_H

#include "source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- map: which rows live where and in which order ------------------------------------------- */

typedef struct wisp_map wisp_map;

/* The natural order of `rows` rows, shared among the ranks. Maps are reference-counted: objects made on a map keep it
   alive, so that it may be freed when they are made. */
WISP_API wisp_status wisp_map_create(wisp_map **map, wisp_ctx *ctx, int64_t rows);
/* The same, shared in the proportions of weights[ranks], the same on all ranks, which are copied. From 0 to 2^40, not
   all 0 (WISP_ERR_ARG). NULL: those of the context. */
WISP_API wisp_status wisp_map_create_weighted(wisp_map **map, wisp_ctx *ctx, int64_t rows, const int64_t *weights);
/* Those, as long as the map is there; NULL: those of the context. */
WISP_API const int64_t *wisp_map_weights(const wisp_map *map);
WISP_API void wisp_map_free(wisp_map *map);
WISP_API int64_t wisp_map_rows(const wisp_map *map); /* of all ranks */
/* The number of local rows: those of this rank, from *first (which may be NULL) on, in the natural order. */
WISP_API int64_t wisp_map_local(const wisp_map *map, int64_t *first);
WISP_API int wisp_map_is_natural(const wisp_map *map); /* 1: rows lie in the natural order in memory; else 0 */

/* ---- matrix ---------------------------------------------------------------------------------- */

typedef struct wisp_mat wisp_mat;
typedef struct wisp_blk wisp_blk; /* rows x width, row-major, on a map; or a view of one */

/* The order of rows in memory: natural; reverse Cuthill-McKee; or tiles, whose block rows stay in cache until they are
   gathered again. Each rank orders its own rows. DEFAULT: the order that a model of the caches finds best, for this
   machine and number of threads. Orders differ in the last bits of results; for the same bits with another number of
   threads, name NATURAL or RCM, or TILES with their slices, or share a map. */
typedef enum { WISP_ROWS_DEFAULT, WISP_ROWS_NATURAL, WISP_ROWS_RCM, WISP_ROWS_TILES } wisp_order;
/* How entries are stored.
   SELL: SELL-C-sigma, each entry with its column and value.
   COMPRESSED: without loss, what rows, columns or values have in common once, and numbers as short as they may be.
   WISP_ERR_UNSUPPORTED: there is nothing of that.
   HERMITIAN: one half of a Hermitian matrix, with C = 1; while it is made, the whole one is there, too.
   WISP_ERR_HERMITIAN: the matrix is not exactly Hermitian; WISP_ERR_UNSUPPORTED: there are several ranks.
   OPERATOR: not stored (wisp_mat_from_apply); it can't be asked for.
   DEFAULT: SELL, or COMPRESSED where that pays and neither C nor sigma is named. */
typedef enum {
    WISP_FORMAT_DEFAULT,
    WISP_FORMAT_SELL,
    WISP_FORMAT_COMPRESSED,
    WISP_FORMAT_HERMITIAN,
    WISP_FORMAT_OPERATOR
} wisp_format;

typedef struct {
    wisp_type type; /* of the stored values; DEFAULT: the source's */
    int width;      /* the usual block width, from which order and C are chosen; 0: 1 */
    int C;          /* chunk height, a power of two up to 128; 0: chosen. SELL-1-1 is CRS */
    int64_t sigma;  /* rows are sorted by length in windows of sigma, 1 or a multiple of C; 0: chosen */
    wisp_map *map;  /* put the rows on this map; NULL: a new one (in the order that order and sigma ask for) */
    wisp_order order;
    wisp_format format;
    wisp_halo halo;      /* how its products exchange the rows of other ranks */
    wisp_order tiles_on; /* TILES: on rows in this order, NATURAL or RCM; DEFAULT: chosen */
    int64_t slices;      /* TILES: of each level, for the caches; 0: chosen. Bits hang on it, so that a matrix of the */
                         /* same bits on another machine is asked for with that of wisp_mat_info. order, tiles_on and */
                         /* slices may be others on each rank */
    wisp_map *cols;      /* put the columns of a matrix that is not square on this map; NULL: a new one. (A square */
                         /* one has them on that of its rows) */
} wisp_mat_opts;

/* Assembles a matrix from a source in two parallel passes; the source may be closed afterwards. opts may be NULL. A
   square matrix has one map for rows and columns; a rectangular one has a natural map for its columns.
   The ranks share its rows by the weights of opts->map, else of the source. WISP_ERR_MISMATCH: opts->map has another
   number of rows, or a source with own_rows has them shared in another way. WISP_ERR_UNSUPPORTED: complex values in a
   real matrix, opts->map is of rows that were partitioned anew and the source has other numbers of rows
   (wisp_src_numbers), or see wisp_format. WISP_ERR_NUMERIC: it is to be in single precision, and all numbers of a
   source in double precision are 0 or too small for that, or one is too large. */
WISP_SIZED wisp_status wisp_mat_create(wisp_mat **A, wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts);
/* Makes the map alone that wisp_mat_create would give the rows of this source with these options: for blocks and
   matrices that share it (opts.map). */
WISP_SIZED wisp_status wisp_map_create_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src,
                                               const wisp_mat_opts *opts);
/* Makes A^H of a stored matrix of any shape, on A's maps: its rows are on A's column map, its columns on A's row map.
   So it multiplies what A makes, and A what it makes. By wisp_src_adjoint, which holds the entries meanwhile. Of opts,
   which may be NULL, type, width, C, sigma, format and halo count. WISP_ERR_UNSUPPORTED: A is an operator, or its rows
   were partitioned anew. All ranks make this call together. */
WISP_SIZED wisp_status wisp_mat_adjoint(wisp_mat **AH, const wisp_mat *A, const wisp_mat_opts *opts);
/* wisp_src_open, wisp_mat_create and wisp_src_close in one. */
WISP_SIZED wisp_status wisp_mat_open(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts);
/* A matrix of CRS arrays, as SELL-1-1 in natural order, which uses all three of them in place: wisp copies none, writes
   to none and frees none, whatever their integers. They must outlive the matrix. What the program writes to val between
   two calls counts from then on (while a call runs, or work of it is queued, it writes nothing); rowptr and col must
   stay as they are, for kernels follow them, and they are checked here alone. In place, columns that have 64 bits take
   kernels without constants compiled in, which are slower.
   The arrays are copied, as wisp_src_open_crs and wisp_mat_create would do it, and may go then: where columns do not
   rise in each row (duplicates are added), on several ranks, of which each gives the whole arrays, and on a device with
   memory of its own. A log line says so, and wisp_mat_info.user_bytes is 0. WISP_ERR_ARG: the arrays are no matrix, and
   the message names the place. */
WISP_SIZED wisp_status wisp_mat_borrow_crs(wisp_mat **A, wisp_ctx *ctx, const wisp_crs *crs);
/* New values on the same pattern. A matrix whose values are compressed is stored anew, in the format that it was made
   with: where that was DEFAULT, it may become SELL. WISP_ERR_MISMATCH: the source has another size, kind or pattern
   (values are undefined then), or the matrix is in place (wisp_mat_borrow_crs); WISP_ERR_UNSUPPORTED: it is an
   operator, or COMPRESSED was asked for and the new values can't be; WISP_ERR_HERMITIAN: see wisp_format;
   WISP_ERR_NUMERIC: as for wisp_mat_create. */
WISP_SIZED wisp_status wisp_mat_update(wisp_mat *A, const wisp_src *src);
WISP_API void wisp_mat_free(wisp_mat *A);
/* Opens a matrix as a source: rows and columns in the natural order, values of the matrix's type. Rows are read where
   they are stored: the matrix must stay as it is until the source is closed. A half-stored one gets an index of the
   entries that it lacks, 12 bytes each. On several ranks each has its own rows (own_rows). WISP_ERR_UNSUPPORTED: it is
   an operator. */
WISP_SIZED wisp_status wisp_src_open_mat(wisp_src *src, const wisp_mat *A);

/* y = A x, all columns: writes all of y and reads nothing of what was there. Both are blocks on the operator's map, of
   one width and type, with or without gaps between their rows. Their type is any that a stored matrix of op.type takes.
   They may be given to ops and lent (wisp_blk_lend; x to be read alone), but not kept.
   The function is called from the calling thread of the op or solver, once for each product, on every rank. There x and
   y have the local rows; rows of other ranks are for the function to get, for example by products with a stored matrix.
   From this thread it may call ops on the same context, and share its work among the threads (wisp_ctx_each).
   Anything but WISP_OK is a failure: the op then ends with WISP_ERR_CALLBACK and the message that wisp_ctx_fail left;
   WISP_ERR_CANCELLED is passed on as it is. */
typedef wisp_status (*wisp_apply_fn)(void *arg, wisp_blk *y, const wisp_blk *x);

/* What an op takes on this rank. */
typedef struct {
    double bytes; /* least traffic: each array once in each direction it is needed, no write-allocate */
    double flops; /* as table I of the KPM paper counts them */
} wisp_cost;

typedef struct {
    wisp_map *map;  /* of rows and columns: it is square. Kept alive by the matrix */
    wisp_type type; /* of the entries that it stands for */
    wisp_apply_fn apply;
    void *arg;                /* passed to apply() */
    void (*free_arg)(void *); /* called by wisp_mat_free; may be NULL. (Not if the matrix could not be made.) */
    /* *cost becomes what one call of apply() with blocks of this type and width takes on this rank: with it solvers
       choose between an operator's products and other ways, and count flops. NULL: it is not known, and taken for none.
       It computes nothing, and is called from the calling thread of an op or solver. */
    void (*cost)(void *arg, wisp_type type, int width, wisp_cost *cost);
} wisp_operator;

/* A matrix that is nowhere stored: an operator, given by its product with a block. It stands where a matrix does in
   wisp_spmmv, wisp_mpk, wisp_kpm, wisp_bounds_find, wisp_chebyshev_apply, wisp_evolve, wisp_solve. All terms beside A x
   are done by ops on blocks, one after the other (a block like y is held for AXPBY), so that a fused product of a
   stored matrix moves less. Steps are not interleaved. Solvers for Hermitian matrices take it on the user's word that
   it is one: nothing is checked, and if it is not, their results mean nothing. Calls that look at entries
   (wisp_mat_update, wisp_src_open_mat, wisp_mat_get_props, wisp_mat_row_histogram, wisp_mat_fill_in, wisp_mat_gather,
   Gershgorin's bounds) are WISP_ERR_UNSUPPORTED. */
WISP_SIZED wisp_status wisp_mat_from_apply(wisp_mat **A, wisp_ctx *ctx, const wisp_operator *op);
/* *op becomes what an operator was made of, whose map lives as long as it. WISP_ERR_UNSUPPORTED: A is stored. */
WISP_SIZED wisp_status wisp_mat_get_operator(const wisp_mat *A, wisp_operator *op);

typedef struct {
    int64_t rows, cols, nnz; /* of all ranks (all else is of this rank). nnz: stored entries, duplicates merged; of */
                             /* an operator 0 */
    wisp_type type;
    int C;
    int64_t sigma;
    int64_t bytes;       /* of the stored arrays */
    int64_t sweep_bytes; /* of these that a product reads at least: without padding, for example */
    wisp_order order;
    wisp_format format;
    int64_t spill_bytes;    /* half storage (its spill rows), operators: what wisp_spmmv holds beside it at most, per */
                            /* column of a block of its type */
    int64_t assembly_bytes; /* wisp_mat_plan, wisp_mat_bound: the most that is held while it is made; else 0 */
    int64_t work_blocks;    /* row blocks, each of which has dots of its own in a sweep */
    int64_t local_rows;
    int64_t halo_rows; /* of other ranks, which a block that is multiplied has behind its own; of an operator those */
                       /* of matrices on its map */
    /* Before a product each rank gets its halo, and sends rows of its own that others need: a row counts once for each
       of these. A row of a block of `width` columns has width times the bytes of its type. */
    int64_t local_nnz; /* entries of the local rows; of wisp_mat_plan on several ranks exact, but for duplicates */
    int64_t send_rows;
    int64_t receive_ranks, send_ranks; /* how many ranks it gets rows from, and sends rows to */
    int64_t exchange_bytes;            /* of the lists by which this is done, beside `bytes` */
    int64_t packed_rows; /* rows of a block that are copied before they are sent, if it has no gaps between its rows; on
                            a device with memory of its own also those that come */
    int64_t props_bytes; /* what wisp_mat_get_props holds beside it at most */
    wisp_halo halo;      /* how it exchanges them, as opts.halo or $WISP_HALO ask for; of an operator AUTO */
    wisp_halo halo_used; /* the same, but OVERLAP instead of TASK where MPI allows too few threads for that; and with */
                         /* AUTO what the last trial on this matrix found, AUTO before its end */
    int64_t user_bytes;  /* of `bytes` those that are the user's, in place (wisp_mat_borrow_crs): all or 0 */
    wisp_format asked_format; /* opts.format and opts.width that it was made with */
    int width;
    wisp_order tiles_on; /* TILES, of a matrix that is made: as in opts; else DEFAULT and 0 */
    int64_t slices;
    /* Of a matrix of wisp_src_near whose sweeps may leave out what is not reached yet: how many rows were given, which
       are its first ones; else 0 */
    int64_t near_rows;
} wisp_mat_info;
/* *info becomes the facts about A; all zero if A is NULL. */
WISP_SIZED void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info);
WISP_API wisp_map *wisp_mat_map(const wisp_mat *A);     /* rows; borrowed, not to be freed */
WISP_API wisp_map *wisp_mat_col_map(const wisp_mat *A); /* columns; the same for a square matrix */
WISP_API wisp_ctx *wisp_mat_ctx(const wisp_mat *A);
/* How many rows step number `step` (from 0) of a series does that begins on the rows which wisp_src_near was given:
   those that may be reached, rounded up to what is done together. All local rows of other matrices, and of step 0. */
WISP_API int64_t wisp_mat_reached(const wisp_mat *A, int64_t step);
/* Predict the matrix that wisp_mat_create would make of this source, and the bytes that it and its maps would take.
   plan: about, in the storage that is likely to be chosen, for which a million rows are read as when the matrix is
   made; half storage has the spill rows of lattices and bands. bound: at most, whatever is chosen, for which all rows
   are counted (nnz with duplicates, then). Statuses are those of wisp_mat_create. */
WISP_SIZED wisp_status wisp_mat_plan(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                     wisp_mat_info *info);
WISP_SIZED wisp_status wisp_mat_bound(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                      wisp_mat_info *info);
/* Find the width of blocks of this type in which so many steps of a recurrence of `vectors` columns in all take least
   time, by the model of docs/model.md; and that time. steps = 1: none are interleaved. wisp_src_choose does it for a
   source, with the width to be given to wisp_mat_create (opts.width > 0: that width is taken, and its time found);
   wisp_mat_choose for a matrix. Both must be square (WISP_ERR_ARG). For an operator block rows are 128 bytes long, or
   shorter if there are fewer vectors. All ranks get the choice of the slowest. */
typedef struct {
    int width;
    double seconds;    /* for each step of all columns; 0: not known */
    const char *limit; /* of the time: "memory", "cache" or "core"; "operator", whose time is not known */
    double load_gbs;   /* at which all threads load from memory, by the model; 0: not known */
} wisp_choice;
WISP_SIZED wisp_status wisp_src_choose(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_type type,
                                       int64_t vectors, int64_t steps, wisp_choice *choice);
WISP_SIZED wisp_status wisp_mat_choose(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps,
                                       wisp_choice *choice);

/* Find weights for the ranks, weights[ranks], by which a source is dealt out then (wisp_src_deal), or which a context
   has for all that is made on it (wisp_ctx_opts.weights).
   wisp_src_weights shares the source's nonzeros (duplicates counted) instead of its rows, in the proportions of the
   source's weights: no rank has more than its part and one row. The weights are the numbers of rows that the ranks
   then have; each rank counts the rows that are its own now.
   wisp_mat_weights measures how many rows of this matrix each rank does in a second: all at the same time, each on its
   own rows, in products with blocks of this width and type (DEFAULT: the matrix's) without any exchange, for about 0.3
   seconds of its device's time. The weights are percents of the fastest rank, without common factors. From the
   fastest rank on, those within 10% of the fastest one of their group have equal weights, so that the same machine
   gives the same layout (rates of 100, 92 and 90 are two groups: 92 goes with 100, 90 does not); ranks without rows
   have 0. Rates of a matrix whose rows are far from equal hold for the rows that a rank has now. It holds two blocks
   meanwhile. WISP_ERR_UNSUPPORTED: it is an operator, or blocks of that type do not go with it. */
WISP_SIZED wisp_status wisp_src_weights(wisp_ctx *ctx, const wisp_src *src, int64_t *weights);
WISP_API wisp_status wisp_mat_weights(const wisp_mat *A, wisp_type type, int width, int64_t *weights);

/* Traffic of x in a sweep (wisp_spmmv with AXPBY and dots with x) over a block of this type and width, by a model of
   the caches that follows the entries in their order; with C and sigma as they are, and for the rows of this rank. */
typedef struct {
    double excess;  /* block rows of x from memory, over x once (the KPM paper's Omega, of x alone) */
    double from_l3; /* bytes of x from the last cache, beside those that come from memory */
} wisp_gather;
WISP_SIZED wisp_status wisp_mat_gather(const wisp_mat *A, wisp_type type, int width, wisp_gather *gather);

/* Exact properties, found by looking at every entry of all ranks. */
typedef struct {
    int square, pattern_symmetric, symmetric, hermitian; /* 1 or 0 */
    int nearly_hermitian; /* asymmetry is at most 1e-10 (single precision: 1e-6) of the largest |a_ij| */
    int skew;
    int64_t bad_row, bad_col;     /* the first entry (in row order) that is not Hermitian; -1 if none */
    double asymmetry;             /* largest |a_ij - conj a_ji|; 0 if Hermitian */
    int64_t bandwidth;            /* largest |row - column| */
    int64_t empty_rows, diagonal; /* rows without entries; entries on the diagonal */
    int64_t min_row, max_row;     /* shortest and longest row */
    double row_mean, row_sdev;
    double gershgorin_min, gershgorin_max; /* the real parts of all eigenvalues lie in here */
    int64_t nonfinite_row;                 /* first row with a NaN or infinity; -1 if none */
    double largest;                        /* |a_ij| */
} wisp_mat_props;
WISP_SIZED wisp_status wisp_mat_get_props(const wisp_mat *A, wisp_mat_props *props);
/* numbers[local rows] of this type (DEFAULT: the matrix's) become the diagonal entries of this rank's rows, in the
   order of wisp_blk_get; 0 where a row has none. WISP_ERR_MISMATCH: A is not square. WISP_ERR_UNSUPPORTED: A is an
   operator, or complex and the type is not. Ranks need not call it together. */
WISP_API wisp_status wisp_mat_diagonal(const wisp_mat *A, wisp_type type, void *numbers);
/* hist[i], i < bins: the number of rows with i entries, of all ranks; the last bin holds all longer rows too. */
WISP_API wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins);
/* *ratio becomes the number of stored entries with padding over nonzeros, had the matrix this C and sigma; 1 is no
   padding. Of all ranks. */
WISP_API wisp_status wisp_mat_fill_in(const wisp_mat *A, int C, int64_t sigma, double *ratio);

/* ---- block vectors --------------------------------------------------------------------------- */

typedef enum { WISP_ROW_MAJOR, WISP_COL_MAJOR } wisp_layout;
typedef enum {
    WISP_RANDOM_TRACE, /* +1, -1 (real) or 1, i, -1, -i (complex): Philox bits */
    WISP_RANDOM_GAUSS  /* standard normal; complex: each part with variance 1/2 */
} wisp_random;
/* Writes the value at (row, column) of the block's type to val; anything but 0 is a failure. */
typedef int (*wisp_fill_fn)(void *arg, int64_t row, int column, void *val);

/* A new block of zeros, of the local rows. */
WISP_API wisp_status wisp_blk_create(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width);
/* The same, but it holds anything until it is written, and the system gives its memory as that happens: for blocks that
   are written as a whole before they are read, some of them maybe never. */
WISP_API wisp_status wisp_blk_create_raw(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width);
/* A block in user memory, which must outlive it: element (i, j) of the local rows is data[i * stride + j], with stride
   >= width. Natural maps only (WISP_ERR_MISMATCH). On several ranks it can't be the x of a matrix that has a halo: then
   wisp_spmmv is WISP_ERR_UNSUPPORTED, or this call WISP_ERR_MISMATCH if the matrix is there already. It is
   WISP_ERR_UNSUPPORTED on a device with memory of its own. */
WISP_API wisp_status wisp_blk_borrow(wisp_blk **x, wisp_ctx *ctx, wisp_map *map, wisp_type type, int width, void *data,
                                     int64_t stride);
/* Views of x: of its columns first .. first+width-1; of its local rows first .. first+count-1, counted from 0 (natural
   maps only, else WISP_ERR_MISMATCH). A view keeps the memory of x alive, and is freed by wisp_blk_free. */
WISP_API wisp_status wisp_blk_cols(wisp_blk **view, wisp_blk *x, int first, int width);
WISP_API wisp_status wisp_blk_rows(wisp_blk **view, wisp_blk *x, int64_t first, int64_t count);
/* A view of the columns column[count] of x, in this order, each at most once (WISP_ERR_ARG). Columns j, j+1,
   j+2, ... give the same view as wisp_blk_cols. Any other choice gives a scattered view: it can be filled, copied to
   and from user arrays, and viewed; ops on blocks (wisp_copy to wisp_norm_kahan) take it, too. wisp_copy goes over each
   block once, the other ops once for each run of neighbours. All else (wisp_blk_lend, products, wisp_fuse) is
   WISP_ERR_UNSUPPORTED: copy such a view into a block of its own, and back. Views of one block without a column in
   common do not overlap. */
WISP_API wisp_status wisp_blk_pick(wisp_blk **view, wisp_blk *x, int count, const int *column);
WISP_API void wisp_blk_free(wisp_blk *x);

WISP_API int wisp_blk_width(const wisp_blk *x);
WISP_API int64_t wisp_blk_nrows(const wisp_blk *x); /* local rows, or those of the view */
WISP_API wisp_type wisp_blk_type(const wisp_blk *x);
WISP_API wisp_map *wisp_blk_map(const wisp_blk *x); /* borrowed, not to be freed */
WISP_API wisp_ctx *wisp_blk_ctx(const wisp_blk *x);

/* Every element becomes `value` (whose imaginary part a real block leaves out). */
WISP_API wisp_status wisp_blk_fill(wisp_blk *x, wisp_scalar value);
/* Every element becomes the value of fn(arg, row, column, ..), where row is the number among the rows of all ranks. fn
   is called from many threads at once. WISP_ERR_CALLBACK: it failed; the message names the first such row. */
WISP_API wisp_status wisp_blk_fill_fn(wisp_blk *x, wisp_fill_fn fn, void *arg);
/* Column j gets the values of random column `first + j` of (seed, stream): the same numbers in any layout and on any
   number of ranks. Philox4x32-10 (Salmon et al. 2011), counter (row, column, stream), key seed. */
WISP_API wisp_status wisp_blk_fill_random(wisp_blk *x, wisp_random kind, uint64_t seed, uint32_t stream,
                                          uint32_t first);
/* Column j becomes the unit vector of row[j], a number among the rows of all ranks; it is zero on ranks that have other
   rows. */
WISP_API wisp_status wisp_blk_fill_units(wisp_blk *x, const int64_t *row);
/* Copies all elements from and to a user array of the block's type, with the local rows (or those of the view) in the
   natural order. ld is the distance between rows (row-major) or columns (column-major) in elements. */
WISP_API wisp_status wisp_blk_put(wisp_blk *x, wisp_layout layout, const void *data, int64_t ld);
WISP_API wisp_status wisp_blk_get(const wisp_blk *x, wisp_layout layout, void *data, int64_t ld);
/* What the host does with memory that is lent to it. */
typedef enum {
    WISP_READ,   /* it reads, and changes nothing */
    WISP_WRITE,  /* it reads and writes */
    WISP_DISCARD /* it writes every element; what was there is lost, and need not be copied to the host */
} wisp_access;
/* Lends the block's memory to the host, until it is returned: element (i, j) is at (*data)[i * *stride + j], with the
   local rows in wisp's own order. stride may be NULL. Who was given x as const takes it to READ. It waits for the ops
   before it. */
WISP_API wisp_status wisp_blk_lend(const wisp_blk *x, wisp_access how, void **data, int64_t *stride);
WISP_API wisp_status wisp_blk_return(const wisp_blk *x);

#ifdef __cplusplus
}
#endif

#endif
