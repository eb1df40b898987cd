/* What kernels of GPUs are called with: the same structs on the host and in the kernels. Each begins with the places of
   its arrays, in bytes; which array is which, the lists of numbers say. Offsets and strides count elements. */
#ifndef WISP_PARAMS_GPU_H
#define WISP_PARAMS_GPU_H

#define K_PLACES 20

/* ---- sweep.gpu.h: y = alpha (A - shift_j) x + beta prev + add_j u, and the rest of wisp__spmmv_params ---- */
#define A_CHUNK 0
#define A_ROW_LEN 1
#define A_COL 2 /* or short ones */
#define A_VAL 3
#define A_CODE 4
#define A_LIST 5 /* of rows: lists, or patterns */
#define A_LIST_FIRST 6
#define A_DIAGONAL 7
#define A_GATHER 8
#define A_X 9
#define A_Y 10
#define A_PREV 11
#define A_U 12
#define A_Z 13
#define A_SHIFT 14 /* [width] complex numbers */
#define A_ADD 15
#define A_ORDER 16 /* [blocks] or none */
#define A_PARTIAL 17
/* Terms: those of params.h. (Kernels don't see its types.) */
#define G_SCALE 1
#define G_SHIFT 2
#define G_AXPBY 4
#define G_CHAIN 8
#define G_DOT_XX 16
#define G_DOT_XY 32
#define G_DOT_YY 64
#define G_DOT_UY 128
#define G_DOTS (G_DOT_XX | G_DOT_XY | G_DOT_YY | G_DOT_UY)
#define G_DELTA 256
#define G_ADD 4096
typedef struct {
    i64 at[K_PLACES];
    i64 rows, rows_per_block, first; /* the first of the blocks, one for each group */
    i64 log_c, width, lanes, terms;
    i64 ld_gather, ld_x, ld_y, ld_prev, ld_u, ld_z, dot_size;
    double alpha[2], beta[2], delta[2], eta[2];
} k_sweep;

/* ---- interleaved.gpu.h: tables behind array 0, from so many bytes on ---- */
typedef struct {
    k_sweep sweep;
    i64 array[K_PLACES]; /* its array i is sweep.at[i] bytes behind array array[i] of the kernel; -1: there is none */
    i64 chain, chains;   /* beyond the first: so many from number `chain` on */
} k_step;
typedef struct {
    i64 array, at, ld;
    double eta[2];
} k_chain;
typedef struct {
    i32 group, step, after; /* as wisp__task */
} k_task;
typedef struct {
    i64 at[K_PLACES];
    i64 steps_at, chains_at, tasks_at, done_at;
    i64 group_blocks, blocks; /* of a task, the last of which may not be there; and of all rows */
    i64 draws, first, end;    /* row blocks first .. end - 1, counted task by task, group_blocks for each */
} k_steps;

/* ---- fill.gpu.h ---- */
/* Words of 4 bytes: each element is `value`, or that in row only[j] alone is, and the others are 0. */
#define F_X 0
#define F_ONLY 1   /* [width], or none */
#define F_COLUMN 2 /* [width], or none */
typedef struct {
    i64 at[K_PLACES];
    i64 rows, ld, width, words;
    i64 value[2];
} k_fill;
/* ---- columns.gpu.h ---- */
#define C_FROM 0
#define C_TO 1
#define C_FROM_COLUMN 2
#define C_TO_COLUMN 3
typedef struct {
    i64 at[K_PLACES];
    i64 rows, ld_from, ld_to, width, reals;
} k_columns;
/* ---- philox.gpu.h: as wisp__random_params ---- */
#define R_X 0
#define R_COLUMN 1 /* [width], or none */
#define R_NUMBER 2 /* [rows], or none: they run from first_row on */
typedef struct {
    i64 at[K_PLACES];
    i64 rows, ld, width, reals, seed, stream, first, first_row;
} k_philox;
/* ---- pack.gpu.h: as wisp__rows_params, in words of 4 bytes ---- */
#define M_X 0
#define M_ROW 1 /* [count], or none */
#define M_PACKED 2
typedef struct {
    i64 at[K_PLACES];
    i64 count, words, ld, back;
} k_pack;
/* ---- axpby.gpu.h ---- */
/* y = a x + b y element by element of a period; aw and bw multiply the element with its parts swapped. */
#define B_X 0
#define B_Y 1
#define B_FACTORS 2 /* [4][period]: a, aw, b, bw */
typedef struct {
    i64 at[K_PLACES];
    i64 count, period, ld_x, ld_y, swaps, reads_y;
} k_axpby;

/* ---- fuse_update.gpu.h ---- */
#define G_TERMS 4
#define U_Y 0
#define U_X 1       /* and the next G_TERMS - 1 */
#define U_ROWS 5    /* likewise, */
#define U_FACTORS 9 /* and so */
typedef struct {
    i64 at[K_PLACES];
    i64 rows, width, terms, again, ld_y; /* again: the first array has the sum so far */
    i64 ld_x[G_TERMS], ld_rows[G_TERMS];
    double factor[G_TERMS][2]; /* where there is no array of them */
} k_fuse_update;
/* ---- dots.gpu.h ---- */
#define D_X 0
#define D_Y 1
#define D_ROWS 2
#define D_PARTIAL 3
typedef struct {
    i64 at[K_PLACES];
    i64 rows, rows_per_block, width, lanes, cross, size, ld_x, ld_y, ld_rows; /* size: numbers of a group in partial */
    double scale;                                                             /* of x and y */
} k_dot;
/* ---- fuse.gpu.h: which array is which, its program says ---- */
#define G_FUSE_PARTIAL 19
#define G_FACTORS 16
typedef struct {
    i64 at[K_PLACES];
    i64 rows, rows_per_block, width, lanes, size;
    i64 ld[K_PLACES];
    double factor[G_FACTORS][2]; /* of all columns */
} k_fuse;
/* ---- sums.gpu.h ---- */
/* to[i] = the sum of partial[..][i], or as much more; `each` of them after one another, from to_at[..] on. */
#define S_PARTIAL 0
#define S_TO 1
#define S_ERROR 2 /* compensated: likewise, and partial[..][2][size] */
#define G_SUMS 16
typedef struct {
    i64 at[K_PLACES];
    i64 blocks, size, adds, each;
    i64 to_at[G_SUMS];
} k_sums;

/* ---- gram.gpu.h and tall.gpu.h: real columns ---- */
#define T_V 0
#define T_W 1
#define T_X 2 /* or partial sums */
/* Numbers of a group's own memory: rows of V and W; rows of X. */
#define G_GRAM_REALS(group) (8 * (group) + 1024)
#define G_TALL_REALS 1536
typedef struct {
    i64 at[K_PLACES];
    i64 rows, rows_per_block, p, q, ld_v, ld_w, same; /* same: as wisp__gram_params */
    i64 v_items, w_items, tile_rows;                  /* items of a tile along V's columns and W's, powers of 2 */
    i64 shares;                                       /* groups that share the tiles of a block of rows */
} k_gram;
typedef struct {
    i64 at[K_PLACES];
    i64 rows, p, q, ld_v, ld_w, ld_x, reads_w, pairs, upper; /* upper: as wisp__update_params */
    i64 w_items, whole; /* items of a tile along W's columns, a power of 2; X as it meets them has room */
    double beta[2];
} k_tall;

/* ---- join.gpu.h: as wisp__join_params ---- */
#define J_SUM 0
#define J_TO 1
typedef struct {
    i64 at[K_PLACES];
    i64 ld, v, w, v_count, w_count, reals, compensated, mirror;
} k_join;

/* ---- apart.gpu.h: as wisp__apart ---- */
#define P_FROM 0
#define P_X 1
typedef struct {
    i64 at[K_PLACES];
    i64 rows, columns, ld_from, ld_x, adjoint, reals; /* rows, columns: of complex numbers */
    double alpha[2];
} k_apart;

/* ---- stream.gpu.h ---- */
#define STREAM_A 0
#define STREAM_B 1
#define STREAM_C 2
/* What it does: a sum of b; a = b; a = b + s c; a = s a; and multiply-adds of what is in registers. */
#define G_LOAD 0
#define G_COPY 1
#define G_TRIAD 2
#define G_UPDATE 3
#define G_FMA 4
#define G_ABREAST 4 /* numbers of an item in a unit of work */
#define G_FMAS 16
typedef struct {
    i64 at[K_PLACES];
    i64 units, passes, turn; /* of G_ABREAST * GROUP_SIZE numbers; a group takes others from pass to pass */
    double scale, never;
} k_stream;

/* ---- scalars.gpu.h ---- */
#define N_AT 0
typedef struct {
    i64 at[K_PLACES];
    i64 width, step;
    double uniform[8];
} k_scalar_step;
#endif
