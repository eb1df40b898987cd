/* The parts of wisp_fuse on a GPU, and how dots are cut into groups. */
#ifndef WISP_GPU_FUSE_H
#define WISP_GPU_FUSE_H
#include "gpu.h"

/* A call. */
typedef struct {
    wisp_ctx *ctx;
    wisp__gpu *g;
    const wisp__fuse_params *p;
    bool is_double;
    int width;
    int64_t numbers;     /* strides of p are multiples of these */
    int64_t per, groups; /* of dots */
    int first_dot;       /* of those that are summed up together: */
    int64_t size;        /* numbers of a group's sums, of all of them */
    double *room;        /* for factors of columns of as many arrays as a kernel has */
} wisp__gpu_fused;

/* Where the sums of dot i are, in bytes. */
static inline size_t wisp__gpu_dot_at(const wisp__gpu_fused *f, int i)
{
    return (size_t)(i - f->first_dot) * 2 * (size_t)f->width * sizeof(double);
}
/* What the host gives a term, factors of columns. */
static inline const void *wisp__gpu_factors(const wisp__gpu_fused *f, const wisp__fuse_term *t)
{
    return (const char *)f->p->factors + (size_t)t->factors * wisp__real_bytes(f->is_double);
}

/* Some terms of an update, those that read y itself before all others. again: y has a sum already. */
typedef struct {
    const wisp__fuse_update *u;
    const wisp__fuse_term *const *term;
    int terms;
    bool again;
} wisp__gpu_piece;

/* fuse_any.c, dots.c: by kernels for any shape. */
wisp_status wisp__gpu_update_any(const wisp__gpu_fused *f, const wisp__gpu_piece *piece);
wisp_status wisp__gpu_dot_any(const wisp__gpu_fused *f, int i);
/* Rows of a group, and groups, of a dot: on these and on the size of groups its bits hang. */
void wisp__gpu_dot_groups(const wisp__gpu *g, int64_t rows, int width, int64_t *per, int64_t *groups);
#endif
