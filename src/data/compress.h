/* Matrices without repetition. */
#ifndef WISP_COMPRESS_H
#define WISP_COMPRESS_H
#include "rows.h"
#include "strings.h"

/* How a matrix is best stored, found by reading it: nothing, row patterns, or lists of columns, codes, short columns.
 */
typedef struct {
    wisp__strings rows, values; /* rows: patterns, or lists */
    uint16_t *pattern;          /* of each row, if its rows repeat */
    uint16_t *list;             /* likewise, but for their values */
    void *diagonal;             /* kept apart, if it is what differs */
    bool codes, short_columns, apart;
} wisp__compression;

/* Look at the source in the order of A's maps, for rows that repeat (c->pattern) or whose columns do (c->list), and for
   values that do or columns near the diagonal (c->codes, c->short_columns). `entries` would be stored without;
   `always`: even if it saves little. */
wisp_status wisp__compression_find_rows(wisp__compression *c, const wisp_mat *A, const wisp_src *src, int64_t entries,
                                        bool always);
wisp_status wisp__compression_find_values(wisp__compression *c, const wisp_mat *A, const wisp_src *src, int64_t entries,
                                          bool always);
void wisp__compression_free(wisp__compression *c, wisp_ctx *ctx);
/* Takes the patterns over; the entries of A are complete then. Or the lists. */
wisp_status wisp__compression_take_rows(wisp__compression *c, wisp_mat *A);
wisp_status wisp__compression_take_lists(wisp__compression *c, wisp_mat *A);
/* The code of a value that was met before. */
uint8_t wisp__compression_code(wisp__compression *c, wisp_type type, wisp_scalar value);
#endif
