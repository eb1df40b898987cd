/* How programs of an earlier version run with a later library. Part of wisp.h.
 *
 * Each function of wisp.h that takes or fills in a struct is an inline function here, or in sized_solvers.h. It passes
 * the struct's size, as the program was compiled with it, to the library's symbol NAME_sized. Fields are only appended
 * to structs. So a later library takes fields that the program did not know as zero, and fills in only those that it
 * has room for. The other way round, an earlier library refuses options of a later version (WISP_ERR_UNSUPPORTED) if a
 * field that it does not know is not zero; functions without a status ignore such fields. wisp_scalar, wisp_bounds,
 * wisp_bounds_opts, wisp_progress, wisp_gallery_entry, wisp_term, wisp_update, wisp_inner, wisp_filter, wisp_function
 * and wisp_estimate never change. Languages without C headers call the symbols themselves. */
#ifndef WISP_SIZED_H
#define WISP_SIZED_H

#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

WISP_API wisp_status wisp_ctx_create_sized(wisp_ctx **ctx, const wisp_ctx_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_src_open_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *name);
WISP_API wisp_status wisp_src_open_file_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *path);
WISP_API wisp_status wisp_src_open_gallery_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *spec);
WISP_API wisp_status wisp_src_open_crs_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_crs *crs,
                                             size_t crs_size);
WISP_API wisp_status wisp_src_hermitian_part_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                                   size_t other_size, double *change);
WISP_API wisp_status wisp_src_part_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                         size_t other_size, wisp_matrix_part which);
WISP_API wisp_status wisp_src_adjoint_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                            size_t other_size);
WISP_API wisp_status wisp_src_augmented_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                              size_t other_size);
WISP_API wisp_status wisp_src_partition_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                              size_t other_size, wisp_partition how);
WISP_API wisp_status wisp_src_near_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                         size_t other_size, const int64_t *row, int64_t rows, int64_t steps,
                                         int64_t most, int64_t *place);
WISP_API wisp_status wisp_src_deal_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const int64_t *weights);
WISP_API const int64_t *wisp_src_numbers_sized(const wisp_src *src, size_t src_size);
WISP_API wisp_status wisp_src_open_mat_sized(wisp_src *src, size_t src_size, const wisp_mat *A);
WISP_API void wisp_src_close_sized(wisp_src *src, size_t src_size);
WISP_API wisp_status wisp_src_write_sized(const wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *path,
                                          const wisp_write_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_positions_open_gallery_sized(wisp_positions *positions, size_t positions_size, wisp_ctx *ctx,
                                                       const char *spec);
WISP_API wisp_status wisp_positions_open_file_sized(wisp_positions *positions, size_t positions_size, wisp_ctx *ctx,
                                                    const char *path, int64_t rows, const double *cell, int vectors);
WISP_API wisp_status wisp_positions_open_array_sized(wisp_positions *positions, size_t positions_size, wisp_ctx *ctx,
                                                     int64_t rows, int dimensions, const double *array,
                                                     const double *cell, int vectors);
WISP_API void wisp_positions_close_sized(wisp_positions *positions, size_t positions_size);
WISP_API wisp_status wisp_src_velocity_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *h,
                                             size_t h_size, const wisp_positions *positions, size_t positions_size,
                                             const double *direction, wisp_velocity form);
WISP_API wisp_status wisp_src_peierls_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *h,
                                            size_t h_size, const wisp_positions *positions, size_t positions_size,
                                            double field);
WISP_API wisp_status wisp_blk_fill_waves_sized(wisp_blk *x, const wisp_positions *positions, size_t positions_size,
                                               const double *k, const int *orbital);
WISP_API wisp_status wisp_positions_fit_wave_sized(const wisp_positions *positions, size_t positions_size, double *k);
WISP_API wisp_status wisp_mat_create_sized(wisp_mat **A, wisp_ctx *ctx, const wisp_src *src, size_t src_size,
                                           const wisp_mat_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_map_create_ordered_sized(wisp_map **map, wisp_ctx *ctx, const wisp_src *src, size_t src_size,
                                                   const wisp_mat_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_mat_adjoint_sized(wisp_mat **AH, const wisp_mat *A, const wisp_mat_opts *opts,
                                            size_t opts_size);
WISP_API wisp_status wisp_mat_open_sized(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts,
                                         size_t opts_size);
WISP_API wisp_status wisp_mat_borrow_crs_sized(wisp_mat **A, wisp_ctx *ctx, const wisp_crs *crs, size_t crs_size);
WISP_API wisp_status wisp_mat_from_apply_sized(wisp_mat **A, wisp_ctx *ctx, const wisp_operator *op, size_t op_size);
WISP_API wisp_status wisp_mat_get_operator_sized(const wisp_mat *A, wisp_operator *op, size_t op_size);
WISP_API wisp_status wisp_mat_update_sized(wisp_mat *A, const wisp_src *src, size_t src_size);
WISP_API void wisp_mat_get_info_sized(const wisp_mat *A, wisp_mat_info *info, size_t info_size);
WISP_API wisp_status wisp_mat_plan_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, const wisp_mat_opts *opts,
                                         size_t opts_size, wisp_mat_info *info, size_t info_size);
WISP_API wisp_status wisp_mat_bound_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size,
                                          const wisp_mat_opts *opts, size_t opts_size, wisp_mat_info *info,
                                          size_t info_size);
WISP_API wisp_status wisp_src_choose_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size,
                                           const wisp_mat_opts *opts, size_t opts_size, wisp_type type, int64_t vectors,
                                           int64_t steps, wisp_choice *choice, size_t choice_size);
WISP_API wisp_status wisp_src_weights_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, int64_t *weights);
WISP_API wisp_status wisp_mat_choose_sized(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps,
                                           wisp_choice *choice, size_t choice_size);
WISP_API wisp_status wisp_mat_gather_sized(const wisp_mat *A, wisp_type type, int width, wisp_gather *gather,
                                           size_t gather_size);
WISP_API wisp_status wisp_mat_get_props_sized(const wisp_mat *A, wisp_mat_props *props, size_t props_size);
WISP_API wisp_status wisp_spmmv_sized(wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug,
                                      size_t aug_size);
WISP_API wisp_status wisp_mpk_sized(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts,
                                    size_t opts_size);
WISP_API wisp_status wisp_mpk_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                         size_t A_size, wisp_type type, int width, const wisp_mpk_opts *opts,
                                         size_t opts_size, const wisp_choice *step, size_t step_size);
WISP_API wisp_status wisp_fuse_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, int64_t rows,
                                          wisp_type type, int width, int terms, int dots);
WISP_API wisp_status wisp_spmmv_cost_sized(const wisp_mat *A, wisp_type type, int width, unsigned terms,
                                           wisp_cost *cost, size_t cost_size);
WISP_API wisp_status wisp_machine_measure_sized(wisp_ctx *ctx, wisp_machine *machine, size_t machine_size,
                                                unsigned what);
WISP_API wisp_status wisp_machine_kernels_sized(wisp_ctx *ctx, wisp_machine *machine, size_t machine_size);
WISP_API wisp_status wisp_ctx_set_machine_sized(wisp_ctx *ctx, const wisp_machine *machine, size_t machine_size);
WISP_API int wisp_device_info_sized(int i, wisp_device *device, size_t device_size);
WISP_API wisp_status wisp_checkpoint_create_sized(wisp_checkpoint **checkpoint, wisp_ctx *ctx,
                                                  const wisp_checkpoint_opts *opts, size_t opts_size);
WISP_API void wisp_checkpoint_get_info_sized(const wisp_checkpoint *checkpoint, wisp_checkpoint_info *info,
                                             size_t info_size);
WISP_API wisp_status wisp_src_hash_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, uint64_t *hash);
WISP_API wisp_status wisp_fuse_cost_sized(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                                          wisp_cost *cost, size_t cost_size);
WISP_API void wisp_ctx_counts_sized(const wisp_ctx *ctx, wisp_counts *counts, size_t counts_size);

#ifndef WISP_BUILDING
static inline wisp_status wisp_ctx_create(wisp_ctx **ctx, const wisp_ctx_opts *opts)
{
    return wisp_ctx_create_sized(ctx, opts, sizeof *opts);
}
static inline wisp_status wisp_src_open(wisp_src *src, wisp_ctx *ctx, const char *name)
{
    return wisp_src_open_sized(src, sizeof *src, ctx, name);
}
static inline wisp_status wisp_src_open_file(wisp_src *src, wisp_ctx *ctx, const char *path)
{
    return wisp_src_open_file_sized(src, sizeof *src, ctx, path);
}
static inline wisp_status wisp_src_open_gallery(wisp_src *src, wisp_ctx *ctx, const char *spec)
{
    return wisp_src_open_gallery_sized(src, sizeof *src, ctx, spec);
}
static inline wisp_status wisp_src_open_crs(wisp_src *src, wisp_ctx *ctx, const wisp_crs *crs)
{
    return wisp_src_open_crs_sized(src, sizeof *src, ctx, crs, sizeof *crs);
}
static inline wisp_status wisp_src_hermitian_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, double *change)
{
    return wisp_src_hermitian_part_sized(src, sizeof *src, ctx, other, sizeof *other, change);
}
static inline wisp_status wisp_src_part(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_matrix_part which)
{
    return wisp_src_part_sized(src, sizeof *src, ctx, other, sizeof *other, which);
}
static inline wisp_status wisp_src_adjoint(wisp_src *src, wisp_ctx *ctx, const wisp_src *other)
{
    return wisp_src_adjoint_sized(src, sizeof *src, ctx, other, sizeof *other);
}
static inline wisp_status wisp_src_augmented(wisp_src *src, wisp_ctx *ctx, const wisp_src *other)
{
    return wisp_src_augmented_sized(src, sizeof *src, ctx, other, sizeof *other);
}
static inline wisp_status wisp_src_partition(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, wisp_partition how)
{
    return wisp_src_partition_sized(src, sizeof *src, ctx, other, sizeof *other, how);
}
static inline wisp_status wisp_src_near(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, const int64_t *row,
                                        int64_t rows, int64_t steps, int64_t most, int64_t *place)
{
    return wisp_src_near_sized(src, sizeof *src, ctx, other, sizeof *other, row, rows, steps, most, place);
}
static inline wisp_status wisp_src_deal(wisp_src *src, wisp_ctx *ctx, const int64_t *weights)
{
    return wisp_src_deal_sized(src, sizeof *src, ctx, weights);
}
static inline const int64_t *wisp_src_numbers(const wisp_src *src) { return wisp_src_numbers_sized(src, sizeof *src); }
static inline wisp_status wisp_src_open_mat(wisp_src *src, const wisp_mat *A)
{
    return wisp_src_open_mat_sized(src, sizeof *src, A);
}
static inline void wisp_src_close(wisp_src *src) { wisp_src_close_sized(src, sizeof *src); }
static inline wisp_status wisp_src_write(const wisp_src *src, wisp_ctx *ctx, const char *path,
                                         const wisp_write_opts *opts)
{
    return wisp_src_write_sized(src, sizeof *src, ctx, path, opts, sizeof *opts);
}
static inline wisp_status wisp_positions_open_gallery(wisp_positions *positions, wisp_ctx *ctx, const char *spec)
{
    return wisp_positions_open_gallery_sized(positions, sizeof *positions, ctx, spec);
}
static inline wisp_status wisp_positions_open_file(wisp_positions *positions, wisp_ctx *ctx, const char *path,
                                                   int64_t rows, const double *cell, int vectors)
{
    return wisp_positions_open_file_sized(positions, sizeof *positions, ctx, path, rows, cell, vectors);
}
static inline wisp_status wisp_positions_open_array(wisp_positions *positions, wisp_ctx *ctx, int64_t rows,
                                                    int dimensions, const double *array, const double *cell,
                                                    int vectors)
{
    return wisp_positions_open_array_sized(positions, sizeof *positions, ctx, rows, dimensions, array, cell, vectors);
}
static inline void wisp_positions_close(wisp_positions *positions)
{
    wisp_positions_close_sized(positions, sizeof *positions);
}
static inline wisp_status wisp_src_velocity(wisp_src *src, wisp_ctx *ctx, const wisp_src *h,
                                            const wisp_positions *positions, const double *direction,
                                            wisp_velocity form)
{
    return wisp_src_velocity_sized(src, sizeof *src, ctx, h, sizeof *h, positions, sizeof *positions, direction, form);
}
static inline wisp_status wisp_src_peierls(wisp_src *src, wisp_ctx *ctx, const wisp_src *h,
                                           const wisp_positions *positions, double field)
{
    return wisp_src_peierls_sized(src, sizeof *src, ctx, h, sizeof *h, positions, sizeof *positions, field);
}
static inline wisp_status wisp_blk_fill_waves(wisp_blk *x, const wisp_positions *positions, const double *k,
                                              const int *orbital)
{
    return wisp_blk_fill_waves_sized(x, positions, sizeof *positions, k, orbital);
}
static inline wisp_status wisp_positions_fit_wave(const wisp_positions *positions, double *k)
{
    return wisp_positions_fit_wave_sized(positions, sizeof *positions, k);
}
static inline wisp_status wisp_mat_create(wisp_mat **A, wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts)
{
    return wisp_mat_create_sized(A, ctx, src, sizeof *src, opts, sizeof *opts);
}
static inline wisp_status wisp_map_create_ordered(wisp_map **map, wisp_ctx *ctx, const wisp_src *src,
                                                  const wisp_mat_opts *opts)
{
    return wisp_map_create_ordered_sized(map, ctx, src, sizeof *src, opts, sizeof *opts);
}
static inline wisp_status wisp_mat_adjoint(wisp_mat **AH, const wisp_mat *A, const wisp_mat_opts *opts)
{
    return wisp_mat_adjoint_sized(AH, A, opts, sizeof *opts);
}
static inline wisp_status wisp_mat_open(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts)
{
    return wisp_mat_open_sized(A, ctx, name, opts, sizeof *opts);
}
static inline wisp_status wisp_mat_borrow_crs(wisp_mat **A, wisp_ctx *ctx, const wisp_crs *crs)
{
    return wisp_mat_borrow_crs_sized(A, ctx, crs, sizeof *crs);
}
static inline wisp_status wisp_mat_from_apply(wisp_mat **A, wisp_ctx *ctx, const wisp_operator *op)
{
    return wisp_mat_from_apply_sized(A, ctx, op, sizeof *op);
}
static inline wisp_status wisp_mat_get_operator(const wisp_mat *A, wisp_operator *op)
{
    return wisp_mat_get_operator_sized(A, op, sizeof *op);
}
static inline wisp_status wisp_mat_update(wisp_mat *A, const wisp_src *src)
{
    return wisp_mat_update_sized(A, src, sizeof *src);
}
static inline void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info)
{
    wisp_mat_get_info_sized(A, info, sizeof *info);
}
static inline wisp_status wisp_mat_plan(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                        wisp_mat_info *info)
{
    return wisp_mat_plan_sized(ctx, src, sizeof *src, opts, sizeof *opts, info, sizeof *info);
}
static inline wisp_status wisp_mat_bound(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts,
                                         wisp_mat_info *info)
{
    return wisp_mat_bound_sized(ctx, src, sizeof *src, opts, sizeof *opts, info, sizeof *info);
}
static inline wisp_status wisp_src_choose(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_type type,
                                          int64_t vectors, int64_t steps, wisp_choice *choice)
{
    return wisp_src_choose_sized(ctx, src, sizeof *src, opts, sizeof *opts, type, vectors, steps, choice,
                                 sizeof *choice);
}
static inline wisp_status wisp_src_weights(wisp_ctx *ctx, const wisp_src *src, int64_t *weights)
{
    return wisp_src_weights_sized(ctx, src, sizeof *src, weights);
}
static inline wisp_status wisp_mat_choose(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps,
                                          wisp_choice *choice)
{
    return wisp_mat_choose_sized(A, type, vectors, steps, choice, sizeof *choice);
}
static inline wisp_status wisp_mat_gather(const wisp_mat *A, wisp_type type, int width, wisp_gather *gather)
{
    return wisp_mat_gather_sized(A, type, width, gather, sizeof *gather);
}
static inline wisp_status wisp_mat_get_props(const wisp_mat *A, wisp_mat_props *props)
{
    return wisp_mat_get_props_sized(A, props, sizeof *props);
}
static inline wisp_status wisp_spmmv(wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug)
{
    return wisp_spmmv_sized(y, A, x, aug, sizeof *aug);
}
static inline wisp_status wisp_mpk(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts)
{
    return wisp_mpk_sized(v, stored, A, opts, sizeof *opts);
}
static inline wisp_status wisp_mpk_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                        int width, const wisp_mpk_opts *opts, const wisp_choice *step)
{
    return wisp_mpk_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, type, width, opts, sizeof *opts, step,
                               sizeof *step);
}
static inline wisp_status wisp_fuse_plan(wisp_plan *plan, wisp_ctx *ctx, int64_t rows, wisp_type type, int width,
                                         int terms, int dots)
{
    return wisp_fuse_plan_sized(plan, sizeof *plan, ctx, rows, type, width, terms, dots);
}
static inline wisp_status wisp_spmmv_cost(const wisp_mat *A, wisp_type type, int width, unsigned terms, wisp_cost *cost)
{
    return wisp_spmmv_cost_sized(A, type, width, terms, cost, sizeof *cost);
}
static inline wisp_status wisp_machine_measure(wisp_ctx *ctx, wisp_machine *machine, unsigned what)
{
    return wisp_machine_measure_sized(ctx, machine, sizeof *machine, what);
}
static inline wisp_status wisp_machine_kernels(wisp_ctx *ctx, wisp_machine *machine)
{
    return wisp_machine_kernels_sized(ctx, machine, sizeof *machine);
}
static inline wisp_status wisp_ctx_set_machine(wisp_ctx *ctx, const wisp_machine *machine)
{
    return wisp_ctx_set_machine_sized(ctx, machine, sizeof *machine);
}
static inline int wisp_device_info(int i, wisp_device *device)
{
    return wisp_device_info_sized(i, device, sizeof *device);
}
static inline wisp_status wisp_checkpoint_create(wisp_checkpoint **checkpoint, wisp_ctx *ctx,
                                                 const wisp_checkpoint_opts *opts)
{
    return wisp_checkpoint_create_sized(checkpoint, ctx, opts, sizeof *opts);
}
static inline void wisp_checkpoint_get_info(const wisp_checkpoint *checkpoint, wisp_checkpoint_info *info)
{
    wisp_checkpoint_get_info_sized(checkpoint, info, sizeof *info);
}
static inline wisp_status wisp_src_hash(wisp_ctx *ctx, const wisp_src *src, uint64_t *hash)
{
    return wisp_src_hash_sized(ctx, src, sizeof *src, hash);
}
static inline wisp_status wisp_fuse_cost(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                                         wisp_cost *cost)
{
    return wisp_fuse_cost_sized(update, updates, inner, inners, cost, sizeof *cost);
}
static inline void wisp_ctx_counts(const wisp_ctx *ctx, wisp_counts *counts)
{
    wisp_ctx_counts_sized(ctx, counts, sizeof *counts);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
