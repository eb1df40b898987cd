/* What the model of time is given of matrices and sources: samples of their rows, and how entries are stored. */
#ifndef WISP_SHAPE_H
#define WISP_SHAPE_H
#include "store/store.h"

/* A pattern in some order: place i holds row user[i] of it, and its column j is at place[j] (NULL: as they are); blocks
   of visit_rows places are taken in the order visit[visits] (NULL: as they come). */
typedef struct {
    const void *of; /* what has the pattern, for row() */
    wisp__row (*row)(const void *of, int64_t row);
    int64_t rows, entries; /* in all, with padding */
    const int32_t *user, *place, *visit;
    int64_t visits, visit_rows;
} wisp__ordered;
/* Of the rows of a matrix that the host sees, as they are stored. */
wisp__ordered wisp__ordered_of(const wisp_mat *A);
wisp_status wisp__sample_ordered(wisp_ctx *ctx, const wisp__ordered *w, wisp__sample *s);
/* The same of a square source, as its rows come. */
wisp_status wisp__sample_source(wisp_ctx *ctx, const wisp_src *src, wisp__sample *s);
/* Of a matrix whose rows will be put in order, breadth first: rows gather from three levels, as many rows apart as a
   flat mesh has, or, where rows have many entries, a solid one. */
wisp_status wisp__sample_levels(wisp_ctx *ctx, int64_t rows, int64_t nnz, wisp__sample *s);
/* Bytes that are held at most while a pattern of so many entries is sampled and looked at. */
int64_t wisp__sample_bytes(const wisp_src *src, int64_t nnz);
/* The same of a matrix, about: where rows are uneven, those of the sample are taken to be a few times longer. */
double wisp__look_bytes(const wisp_mat_info *A);

/* A matrix whose rows come as in the sample, as if it were not compressed. */
wisp__shape wisp__shape_stored(const wisp__sample *s, int64_t rows, wisp_type type);

/* What orders are compared by: what comes again in a sweep of the fused step, and how long it takes. */
typedef struct {
    double excess;         /* block rows of x loaded from memory, over x once */
    double from_l3;        /* bytes per row of those that come again from the last cache */
    double seconds, least; /* of a sweep; of one in which no row of x came again */
} wisp__traffic;
wisp_status wisp__traffic_find(wisp_ctx *ctx, const wisp__shape *m, int width, const wisp__caches *c, wisp__traffic *t);
wisp_status wisp__ordered_traffic(wisp_ctx *ctx, const wisp__ordered *w, wisp_type type, int width,
                                  const wisp__caches *c, wisp__traffic *t);

/* The sample is the shape's, and to be closed by the caller, whatever the status. Of a matrix whose rows can't be
   looked at one by one it is that of wisp__sample_levels. */
wisp_status wisp__shape_of(const wisp_mat *A, wisp__sample *sample, wisp__shape *m);
#endif
