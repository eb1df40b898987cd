/* The inside of maps, matrices and blocks. */
#ifndef WISP_DATA_H
#define WISP_DATA_H
#include "../backend/backend.h"

struct wisp_map {
    atomic_int refs;
    wisp_ctx *ctx;
    int64_t rows;         /* of all ranks */
    int64_t first, local; /* this rank's rows, in the user's order: first .. first + local - 1 */
    int64_t *weights;     /* [ranks] by which the ranks share them; NULL: those of the context */
    int64_t halo;         /* of matrices with these columns, the most rows that one needs behind the local ones */
    int32_t *position;    /* [local] user's local row -> where it is stored; NULL: natural */
    int32_t *user;        /* [local] the inverse */
    int64_t *number;      /* [local] numbers of the user's local rows for random vectors; NULL: from `first` on */
    wisp_order order;
    /* As in wisp_mat_info. */
    wisp_order tiles_on;
    int64_t slices;
    int32_t *visit; /* [visits] the order in which a sweep takes blocks of visit_rows rows; NULL: as they come */
    int64_t visits, visit_rows; /* a multiple of K_STRIP */
};

/* The first of so many rows that a rank has, by weights[ranks], or by those of the context (NULL); ctx->ranks: all. */
int64_t wisp__share_begin(const wisp_ctx *ctx, const int64_t *weights, int64_t rows, int rank);
/* Whether both give all ranks the same of so many rows. */
bool wisp__same_shares(const wisp_ctx *ctx, const int64_t *a, const int64_t *b, int64_t rows);
/* *to becomes weights[ranks] of its own, to be freed, or NULL if there are none. */
wisp_status wisp__weights_copy(wisp_ctx *ctx, int64_t **to, const int64_t *weights);
/* A map of rows that are all here, in natural order; and what makes it the map of this rank's share of `rows` rows. */
wisp_status wisp__map_alone(wisp_map **map, wisp_ctx *ctx, int64_t rows);
wisp_status wisp__map_share(wisp_map *map, int64_t rows, const int64_t *weights);
/* Sorts the rows of a map that nobody else has yet by falling length, in windows of sigma rows of its order (stable).
   row_len is in the user's order. */
wisp_status wisp__map_sort(wisp_map *map, const int32_t *row_len, int64_t sigma);
/* Numbers for random vectors, of a map that nobody else has yet; NULL: as they are. */
wisp_status wisp__map_number(wisp_map *map, const int64_t *number);
wisp_map *wisp__map_retain(wisp_map *map);
/* Where a local row is stored, by the user's order; columns of the halo are behind them in any order. */
static inline int64_t wisp__map_position(const wisp_map *map, int64_t row)
{
    return map->position && row < map->local ? map->position[row] : row;
}
/* And back: which local row is stored there; its number. */
static inline int64_t wisp__map_row(const wisp_map *map, int64_t position)
{
    return map->user ? map->user[position] : position;
}
static inline int64_t wisp__map_user(const wisp_map *map, int64_t position)
{
    return map->first + wisp__map_row(map, position);
}

/* Rows that share lists of columns; values are one by one, or codes. */
typedef struct {
    int64_t count, entries; /* lists, and their columns in all: in col */
    uint16_t *of;           /* [rows] */
    int64_t *first;         /* [count + 1] */
} wisp__lists;

/* Rows that share patterns, which are in chunk[count + 1], col and val. */
typedef struct {
    int64_t count;
    uint16_t *of; /* [rows] */
} wisp__patterns;

/* The half that is stored of a Hermitian matrix, made from the whole one. Beside it only the lengths of whole rows, and
   nnz, are kept. */
typedef struct {
    wisp__half h;
    int64_t entries, outside, sources; /* lengths of its lists */
    wisp_mat_props props;              /* of the whole matrix */
} wisp__half_mat;

/* A function of the user's. */
typedef struct {
    wisp_operator o;
    wisp_blk *spare; /* see op/apply.c; NULL: none is kept */
} wisp__operator_mat;

typedef struct wisp__storage wisp__storage; /* store/store.h */

/* The entries of a matrix, with columns into the local rows and the halo behind them (kernel/params.h). Arrays that a
   kind of storage has no use for are NULL. */
typedef struct {
    const wisp__storage *how;
    int64_t chunks, entries, nnz; /* entries: with padding; of all patterns */
    int64_t *chunk;               /* [chunks + 1]; [patterns + 1] */
    int32_t *row_len;             /* [rows]; NULL with patterns */
    int32_t *col;                 /* [entries]; of all lists */
    void *val;                    /* [entries]; [values] with codes */
    uint8_t *code;                /* [entries] coded, or lists; NULL: val has a value per entry */
    int64_t values;               /* that codes stand for */
    void *diagonal;               /* [rows], real; the entries' diagonal is 0 then */
    bool padded;                  /* see kernel/params.h */
    union {                       /* of one kind alone: */
        int16_t *short_col;       /* coded: [entries]; NULL: they have col */
        wisp__lists lists;
        wisp__patterns patterns;
        wisp__half_mat *half;
        wisp__operator_mat *op;
        wisp_crs crs; /* arrays of the user's, in place: none of those above */
    };
} wisp__stored;

struct wisp_mat {
    wisp_ctx *ctx;
    wisp_map *map, *col_map;
    wisp_type type;
    int64_t local_rows, local_cols, sigma; /* columns: with the halo */
    int64_t nnz;                           /* of all ranks */
    bool square;                           /* rows and columns are on one map */
    int log_c, width;                      /* width: of the blocks it was made for */
    wisp_order order;
    wisp_format format, asked_format; /* asked: of opts */
    wisp__stored local;               /* its arrays are the device's: see wisp__mat_take */
    wisp__entries entries;            /* what kernels are told of it, and */
    wisp__prepared *prepared;         /* what the backend has made of that for itself */
    struct wisp__cascades *cascades;  /* see cascade.c */
    wisp_mat_props props;             /* kept by wisp_mat_get_props until there are new values, as props_kept says */
    atomic_int props_kept;
    wisp__grid grid;
    struct wisp__halo *halo;   /* NULL: one rank */
    wisp_halo way;             /* in which it is exchanged */
    int32_t *visit;            /* with a halo, grid.order: row blocks that need none of it come first */
    int64_t near_rows, levels; /* of wisp_src_near: the given rows, which are the first ones; and [levels] row blocks */
    int64_t *reached;          /* up to the end of each level; else NULL */
};

/* What cascade.c keeps with a matrix: orders of steps, made when they are first asked for. */
wisp_status wisp__cascades_open(wisp_mat *A);
void wisp__cascades_free(wisp_mat *A);

/* Bytes of the arrays that a sweep reads; `all`: with those that it could do without. */
int64_t wisp__mat_bytes(const wisp_mat *A, bool all);
/* A matrix is put together in the host's memory. When it is complete, its arrays become the device's, and nobody but
   the backend follows them. */
wisp_status wisp__mat_take(wisp_mat *A);
/* Lets the backend prepare what it may; in place of what it had prepared before. */
wisp_status wisp__mat_prepare(wisp_mat *A);
void wisp__mat_release(wisp_mat *A); /* that; before the matrix is freed */
/* What the ranks' parts are together: A->nnz; and room for the halo in later blocks. Collective. */
wisp_status wisp__mat_join(wisp_mat *A);
void wisp__forget_props(wisp_mat *A); /* whose values change */
/* What they take at most, of such a matrix with entries of its own. */
int64_t wisp__props_bytes(const wisp_ctx *ctx, const wisp_mat_info *info);

/* A matrix as the host sees it: mat.local has the host's addresses of the same entries, to be read (or given other
   values) by the same functions. It stays where it is, for it points into itself. */
typedef struct {
    const wisp_mat *of;
    wisp_mat mat; /* without what is kept with `of`: properties, cascades */
    wisp__half_mat half;
} wisp__host_mat;
/* From one to the other; the matrix keeps its arrays meanwhile. how: READ or WRITE. */
wisp_status wisp__mat_lend(const wisp_mat *A, wisp_access how, wisp__host_mat *host);
void wisp__mat_return(wisp__host_mat *host);

/* Memory that blocks share with their views. */
typedef struct {
    atomic_int refs;
    wisp_ctx *ctx;
    void *at;     /* the device's address; a block that is multiplied may move it: see wisp__halo_room */
    int64_t rows; /* that it has room for, of the first block's stride */
    bool borrowed;
    atomic_int lent; /* calls of wisp_blk_lend that are open: it stays where it is */
} wisp__store_t;

struct wisp_blk {
    wisp_ctx *ctx;
    wisp_map *map;
    wisp_type type;
    int width;
    int64_t nrows, first_row; /* a view of rows has first_row > 0 or nrows < map->local */
    int64_t stride;           /* elements */
    const int *column;        /* [width] of a scattered view: its columns, counted from the leftmost one; else NULL */
    size_t offset;            /* bytes in the memory at which this view begins */
    wisp__store_t *store;
};
/* Where a block begins in the device's memory. */
static inline char *wisp__at(const wisp_blk *x) { return (char *)x->store->at + x->offset; }
/* Where column j is in a row, in elements from there. */
static inline int wisp__column(const wisp_blk *x, int j) { return x->column ? x->column[j] : j; }
/* The block for a backend that moves its data. */
static inline wisp__view wisp__view_of(const wisp_blk *x)
{
    return (wisp__view){wisp__at(x), x->nrows, x->stride, x->column, x->width, (int)wisp_type_size(x->type)};
}
/* WISP_ERR_UNSUPPORTED for a scattered view, by calls that need its columns side by side. */
wisp_status wisp__refuse_scattered(const char *call, const wisp_blk *x);

#endif
