/* The inside of maps, matrices and blocks. */
#ifndef WISP_DATA_H
#define WISP_DATA_H
#include "../backend/backend.h"

struct wisp_map {
    atomic_int refs;
    wisp_ctx *ctx;
    int64_t rows;         /* of all processes */
    int64_t first, local; /* this process's rows, in the user's order: first .. first + local - 1 */
    int64_t halo;         /* rows of other processes that are kept behind the local ones */
    struct wisp_halo *plan;
    int32_t *position; /* [local] user's local row -> where it is stored; NULL: natural */
    int32_t *user;     /* [local] the inverse */
    wisp_row_order order;
    int64_t tiles, *tile; /* [tiles + 1] where each tile begins; 0: no tiles */
};

/* Sorts the rows of a map that nobody else has yet by falling length, in windows of sigma rows of its order that
   stay within a tile (stable). row_len is in the user's order. */
wisp_status wisp__map_sort(wisp_map *map, const int32_t *row_len, int64_t sigma);
/* A map for a square matrix with rows of these lengths: in the order asked for, or in the one that a model of the
   caches finds best for blocks of this width and type. */
wisp_status wisp__map_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src, const int32_t *row_len,
                              wisp_row_order order, wisp_type type, int width);
/* Entries with padding of rows that are sorted so (sigma > 1) and cut into chunks of 1 << log_c. */
wisp_status wisp__padded_sorted(wisp_ctx *ctx, const int32_t *row_len, int64_t rows, int log_c, int64_t sigma,
                                int64_t *entries);
wisp_map *wisp__map_retain(wisp_map *map);
static inline int64_t wisp__map_user(const wisp_map *map, int64_t position)
{
    return map->first + (map->user ? map->user[position] : position);
}

/* One part of a matrix, with columns into the local rows (or, for the remote part, into the halo). */
typedef struct {
    int64_t chunks, entries, nnz; /* entries: with padding */
    int64_t *chunk;               /* [chunks + 1] */
    int32_t *row_len;             /* [rows] */
    int32_t *col;                 /* [entries] */
    void *val;                    /* [entries] */
    bool borrowed;                /* chunk, col and val are the user's */
} wisp__sell;

struct wisp_mat {
    wisp_ctx *ctx;
    wisp_map *map, *col_map;
    wisp_type type;
    int64_t rows, cols, sigma;
    int log_c;
    wisp_row_order order;
    wisp_format format;
    wisp__sell local, remote; /* remote.chunks = 0: none */
    wisp__grid grid;
};

/* Where entry k of local row r is. */
static inline int64_t wisp__sell_at(const wisp__sell *s, int log_c, int64_t row, int64_t k)
{
    return s->chunk[row >> log_c] + (k << log_c) + (row & ((1 << log_c) - 1));
}
/* Memory that blocks share with their views. */
typedef struct {
    atomic_int refs;
    wisp_ctx *ctx;
    void *data;
    bool borrowed;
} wisp__store_t;

struct wisp_blk {
    wisp_ctx *ctx;
    wisp_map *map;
    wisp_type type;
    int width;
    int64_t nrows, first_row; /* a view of rows has first_row > 0 or nrows < map->local */
    int64_t stride;           /* elements */
    char *data;               /* of this view */
    wisp__store_t *store;
};

/* How work on `rows` rows is cut, by the layout alone: at most about 1024 blocks of whole strips. */
static inline int64_t wisp__rows_per_block(int64_t rows)
{
    int64_t per = (rows + 1023) / 1024;
    return WISP__MAX((per + K_STRIP - 1) / K_STRIP, 1) * K_STRIP;
}
#endif
