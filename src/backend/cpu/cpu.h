/* What the files of the CPU backend share. */
#ifndef WISP_CPU_H
#define WISP_CPU_H
#include "../backend.h"
#include "kernels.h"
#include "tuned.h"

/* Whether what is written in a pass that moves so many bytes is not found in the caches again. */
static inline bool wisp__past_caches(int64_t bytes) { return bytes >= TUNED_PAST; }

/* WISP__COMBOS if there is no kernel for the pair. */
wisp__combo wisp__combo_of(wisp_type matrix, wisp_type block);

static inline wisp__kernel wisp__cpu_kernel(wisp__spmmv_fn fn) { return (wisp__kernel){(uintptr_t)fn}; }
static inline wisp__spmmv_fn wisp__cpu_fn(wisp__kernel kernel) { return (wisp__spmmv_fn)kernel.id; }

/* Runs a kernel on one block; partial[..][dot_size] takes its dots at `place`, if it is not NULL. */
static inline void wisp__run_block(wisp__spmmv_fn fn, const wisp__spmmv_params *p, const wisp__grid *g, int64_t block,
                                   double *partial, size_t dot_size)
{
    double *dot = partial ? partial + (size_t)block * dot_size : NULL;
    if (dot) memset(dot, 0, dot_size * sizeof *dot);
    fn(p, block * g->chunks_per_block, WISP__MIN((block + 1) * g->chunks_per_block, g->chunks), dot);
}

/* Room for the dots of `blocks` blocks, kept until the next call. */
wisp_status wisp__cpu_room(wisp_ctx *ctx, double **partial, int64_t blocks, size_t size);
/* Adds partial[blocks][1 or, compensated, 2][size] up in a fixed tree, which changes it: the sum is partial[0]. */
void wisp__cpu_add_up(wisp_ctx *ctx, bool compensated, double *partial, int64_t blocks, size_t size);
/* Adds sums of `row` real elements, and with cross as many of swapped ones, to complex numbers: element l belongs to
   dot[l / reals]. Errors as in wisp__add. */
void wisp__cpu_gather(int reals, int row, bool cross, const double *sum, const double *sum_error, double *dot,
                      double *error);

void wisp__cpu_facts(wisp_ctx *ctx, wisp__facts *f);
wisp_status wisp__cpu_reserve_steps(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size);
wisp_status wisp__cpu_launch_steps(wisp_ctx *ctx, const wisp__step *step, int steps, const wisp__schedule *schedule,
                                   const wisp__grid *grid, size_t dot_size);
wisp_status wisp__cpu_fill(wisp_ctx *ctx, const wisp__fill_params *p);
wisp_status wisp__cpu_random(wisp_ctx *ctx, const wisp__random_params *p);
wisp_status wisp__cpu_put(wisp_ctx *ctx, const wisp__array_params *p, const void *host);
wisp_status wisp__cpu_get(wisp_ctx *ctx, const wisp__array_params *p, void *host);
wisp_status wisp__cpu_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows);
wisp_status wisp__cpu_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host);
wisp_status wisp__cpu_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host);
wisp_status wisp__cpu_launch_half(wisp_ctx *ctx, const wisp__key *key, const wisp__spmmv_params *p,
                                  const wisp__half *half, double *dot, size_t dot_size);
wisp_status wisp__cpu_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count);
wisp_status wisp__cpu_dot(wisp_ctx *ctx, const wisp__dot_kind *kind, const wisp__dot_params *p, int64_t count,
                          int64_t per_block, double *dot, double *error);
wisp_status wisp__cpu_fuse(wisp_ctx *ctx, bool is_double, const wisp__fuse_params *p, int64_t per_block);
wisp_status wisp__cpu_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                           int64_t per_block, double *sum);
wisp_status wisp__cpu_join(wisp_ctx *ctx, const wisp__join_params *p);
wisp_status wisp__cpu_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows);
wisp_status wisp__cpu_scalars(wisp_ctx *ctx, const wisp__scalars_params *p);
#endif
