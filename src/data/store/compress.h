/* The search for repetition in a matrix, which compressed storage leaves out. */
#ifndef WISP_COMPRESS_H
#define WISP_COMPRESS_H
#include "../rows.h"
#include "../../base/strings.h"

/* Rows that are looked at, by their places: all, or some by which the others are judged, in runs of `run` (the last one
   may be shorter) that begin `stride` rows apart. Arrays over rows are over these. */
typedef struct {
    int64_t rows, run, stride;
    const int32_t *len; /* of all rows, in the user's order, as they were counted; NULL: not compared */
    bool needed;        /* WISP_ERR_NOMEM if there is no memory for it; else nothing is found then */
} wisp__look;
static inline wisp__look wisp__look_at_all(int64_t rows)
{
    return (wisp__look){.rows = rows, .run = WISP__MAX(rows, 1)};
}
static inline int64_t wisp__look_place(const wisp__look *l, int64_t i) { return i / l->run * l->stride + i % l->run; }

/* How a matrix is best stored, found by reading it: nothing, row patterns, or lists of columns, codes, short columns.
 */
typedef struct {
    wisp__strings rows, values; /* rows: patterns, or lists */
    uint16_t *pattern;          /* of each row, if its rows repeat */
    uint16_t *list;             /* likewise, but for their values */
    void *diagonal;             /* kept apart, if it is what differs */
    bool codes, short_columns, apart;
} wisp__compression;

/* Look at the source in the order of A's maps, for rows that repeat (c->pattern) or whose columns do (c->list), as far
   as the set `kinds` of wisp__kind has patterns and lists, and for values that do or columns near the diagonal
   (c->codes, c->short_columns). `entries` would be stored without, of the rows looked at; `always`: even if it saves
   little. */
wisp_status wisp__compression_find_rows(wisp__compression *c, const wisp_mat *A, const wisp_src *src,
                                        const wisp__look *look, int64_t entries, unsigned kinds, bool always);
wisp_status wisp__compression_find_values(wisp__compression *c, const wisp_mat *A, const wisp_src *src,
                                          const wisp__look *look, int64_t entries, bool always);
/* Bytes that find_rows holds at most while it looks at all rows, of at most max_row entries; the most patterns (or
   lists) that it keeps, and their bytes. */
int64_t wisp__compression_search_bytes(const wisp_mat *A, int64_t entries, int64_t max_row, bool apart);
void wisp__compression_most(const wisp_mat *A, int64_t entries, int64_t *strings, int64_t *bytes);
void wisp__compression_free(wisp__compression *c, wisp_ctx *ctx);
/* The code of a value that was met before. */
uint8_t wisp__compression_code(wisp__compression *c, wisp_type type, wisp_scalar value);
#endif
