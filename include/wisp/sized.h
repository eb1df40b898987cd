/* How programs of an earlier version run with a later library. Part of wisp.h.
 *
 * Each function of wisp.h that takes or fills in a struct is an inline function here. It passes the struct's size, as
 * the program was compiled with it, to the library's symbol NAME_sized. Fields are only appended to structs. So a later
 * library takes fields that the program did not know as zero, and fills in only those that it has room for. The other
 * way round, an earlier library refuses options of a later version (WISP_ERR_UNSUPPORTED) if a field that it does not
 * know is not zero; functions without a status ignore such fields. wisp_scalar, wisp_bounds, wisp_bounds_opts,
 * wisp_progress, wisp_gallery_entry, wisp_term, wisp_update, wisp_inner, wisp_filter, wisp_function and wisp_estimate
 * never change. Languages without C headers call the symbols themselves. */
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
WISP_API wisp_status wisp_bounds_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                            size_t A_size, const wisp_bounds_opts *opts, const wisp_choice *step,
                                            size_t step_size);
WISP_API wisp_status wisp_checkpoint_create_sized(wisp_checkpoint **checkpoint, wisp_ctx *ctx,
                                                  const wisp_checkpoint_opts *opts, size_t opts_size);
WISP_API void wisp_checkpoint_get_info_sized(const wisp_checkpoint *checkpoint, wisp_checkpoint_info *info,
                                             size_t info_size);
WISP_API wisp_status wisp_src_hash_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, uint64_t *hash);
WISP_API wisp_status wisp_kpm_sized(wisp_moments *m, size_t m_size, const wisp_mat *A, const wisp_kpm_opts *opts,
                                    size_t opts_size);
WISP_API int wisp_kpm_width_sized(wisp_type type, int64_t rows, const wisp_kpm_opts *opts, size_t opts_size);
WISP_API wisp_type wisp_kpm_type_sized(wisp_type type, int64_t rows, const wisp_kpm_opts *opts, size_t opts_size);
WISP_API void wisp_kpm_bounds_opts_sized(wisp_bounds_opts *result, wisp_type type, int64_t rows,
                                         const wisp_kpm_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_kpm_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                         size_t A_size, const wisp_kpm_opts *opts, size_t opts_size,
                                         const wisp_choice *step, size_t step_size);
WISP_API void wisp_moments_free_sized(wisp_moments *m, size_t m_size);
WISP_API wisp_status wisp_moments_label_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const char *matrix,
                                              const char *command);
WISP_API wisp_status wisp_moments_points_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, int64_t count,
                                               const double *points);
WISP_API wisp_status wisp_moments_save_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const char *path);
WISP_API wisp_status wisp_moments_load_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const char *path);
WISP_API wisp_status wisp_moments_merge_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const wisp_moments *runs,
                                              size_t runs_size, int64_t count);
WISP_API wisp_status wisp_moments_fit_sized(wisp_ctx *ctx, const wisp_moments *a, size_t a_size, const wisp_moments *b,
                                            size_t b_size);
WISP_API wisp_status wisp_moments_mean_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, wisp_part part,
                                             double *mean, double *error);
WISP_API wisp_status wisp_dos_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_eval_opts *opts,
                                    size_t opts_size, int64_t vector, int64_t points, const double *energy, double *dos,
                                    double *error);
WISP_API wisp_status wisp_count_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_eval_opts *opts,
                                      size_t opts_size, int64_t vector, double a, double b, double *count,
                                      double *error);
WISP_API void wisp_bars95_sized(const wisp_moments *m, size_t m_size, const wisp_eval_opts *opts, size_t opts_size,
                                int64_t count, const double *value, const double *error, double *low, double *high);
WISP_API wisp_status wisp_fuse_cost_sized(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                                          wisp_cost *cost, size_t cost_size);
WISP_API void wisp_ctx_counts_sized(const wisp_ctx *ctx, wisp_counts *counts, size_t counts_size);
WISP_API wisp_status wisp_solve_sized(wisp_solution *s, size_t s_size, wisp_blk *x, const wisp_mat *A,
                                      const wisp_blk *b, const wisp_solve_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_solver_create_sized(wisp_solver **S, const wisp_mat *A, wisp_type type, int width,
                                              const wisp_solve_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_solver_solve_sized(wisp_solver *S, wisp_solution *s, size_t s_size, wisp_blk *x,
                                             const wisp_blk *b, int guess);
WISP_API void wisp_solution_free_sized(wisp_solution *s, size_t s_size);
WISP_API wisp_status wisp_solve_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                           size_t A_size, wisp_type type, int width, const wisp_solve_opts *opts,
                                           size_t opts_size, const wisp_choice *step, size_t step_size);
WISP_API wisp_status wisp_eig_sized(wisp_eigen *e, size_t e_size, const wisp_mat *A, const wisp_eig_opts *opts,
                                    size_t opts_size);
WISP_API void wisp_eigen_free_sized(wisp_eigen *e, size_t e_size);
WISP_API wisp_status wisp_eig_plan_sized(wisp_plan *plan, size_t plan_size, wisp_eig_choice *choice, size_t choice_size,
                                         const wisp_mat *A, const wisp_eig_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_svd_sized(wisp_eigen *e, size_t e_size, const wisp_mat *B, int64_t rows,
                                    const wisp_eig_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_svd_plan_sized(wisp_plan *plan, size_t plan_size, wisp_eig_choice *choice, size_t choice_size,
                                         const wisp_mat *B, int64_t rows, const wisp_eig_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_evolve_sized(wisp_evolution *e, size_t e_size, const wisp_mat *A, wisp_blk *psi,
                                       int64_t times, const double *time, const wisp_evolve_opts *opts,
                                       size_t opts_size);
WISP_API wisp_status wisp_evolve_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                            size_t A_size, wisp_type type, int width, int64_t times, const double *time,
                                            const wisp_evolve_opts *opts, size_t opts_size, const wisp_choice *step,
                                            size_t step_size);
WISP_API wisp_status wisp_chebyshev_apply_sized(wisp_expansion *e, size_t e_size, wisp_blk *const *y, const wisp_mat *A,
                                                const wisp_blk *x, int functions, const wisp_function *f,
                                                const wisp_chebyshev_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_chebyshev_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                               size_t A_size, wisp_type type, int width, int functions,
                                               const wisp_function *f, const wisp_chebyshev_opts *opts,
                                               size_t opts_size, const wisp_choice *step, size_t step_size);
WISP_API wisp_status wisp_overlap_create_sized(wisp_overlap **overlap, const wisp_mat *S, const wisp_overlap_opts *opts,
                                               size_t opts_size);
WISP_API void wisp_overlap_get_info_sized(const wisp_overlap *overlap, wisp_overlap_info *info, size_t info_size);
WISP_API wisp_status wisp_kubo_sized(wisp_moments *m, size_t m_size, const wisp_mat *A, const wisp_mat *V_a,
                                     const wisp_mat *V_b, const wisp_kubo_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_kubo_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                          size_t A_size, const wisp_mat_info *V_a, size_t V_a_size,
                                          const wisp_mat_info *V_b, size_t V_b_size, const wisp_kubo_opts *opts,
                                          size_t opts_size);
WISP_API wisp_status wisp_sigma_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_sigma_opts *opts,
                                      size_t opts_size, double temperature, int64_t count, const double *mu,
                                      wisp_estimate *sigma);
WISP_API wisp_status wisp_sigma_optical_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size,
                                              const wisp_sigma_opts *opts, size_t opts_size, double temperature,
                                              double mu, int64_t count, const double *omega, wisp_estimate *sigma);
WISP_API wisp_status wisp_trace_function_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size,
                                               const wisp_function *f, const wisp_function_opts *opts, size_t opts_size,
                                               int64_t vector, wisp_traced *t, size_t t_size);
WISP_API wisp_status wisp_function_moments_sized(wisp_ctx *ctx, const wisp_bounds *bounds, const wisp_function *f,
                                                 const wisp_function_opts *opts, size_t opts_size, int64_t *moments);
WISP_API wisp_status wisp_thermal_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size,
                                        const wisp_thermal_opts *opts, size_t opts_size, double temperature,
                                        wisp_ensemble *e, size_t e_size);
WISP_API wisp_status wisp_green_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_green_opts *opts,
                                      size_t opts_size, int64_t vector, int64_t points, const double *energy,
                                      wisp_scalar *g, wisp_scalar *error, double *beside);

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
static inline wisp_status wisp_bounds_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                           const wisp_bounds_opts *opts, const wisp_choice *step)
{
    return wisp_bounds_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, opts, step, sizeof *step);
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
static inline wisp_status wisp_kpm(wisp_moments *m, const wisp_mat *A, const wisp_kpm_opts *opts)
{
    return wisp_kpm_sized(m, sizeof *m, A, opts, sizeof *opts);
}
static inline int wisp_kpm_width(wisp_type type, int64_t rows, const wisp_kpm_opts *opts)
{
    return wisp_kpm_width_sized(type, rows, opts, sizeof *opts);
}
static inline wisp_type wisp_kpm_type(wisp_type type, int64_t rows, const wisp_kpm_opts *opts)
{
    return wisp_kpm_type_sized(type, rows, opts, sizeof *opts);
}
static inline wisp_bounds_opts wisp_kpm_bounds_opts(wisp_type type, int64_t rows, const wisp_kpm_opts *opts)
{
    wisp_bounds_opts result;
    wisp_kpm_bounds_opts_sized(&result, type, rows, opts, sizeof *opts);
    return result;
}
static inline wisp_status wisp_kpm_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                        const wisp_kpm_opts *opts, const wisp_choice *step)
{
    return wisp_kpm_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, opts, sizeof *opts, step, sizeof *step);
}
static inline void wisp_moments_free(wisp_moments *m) { wisp_moments_free_sized(m, sizeof *m); }
static inline wisp_status wisp_moments_label(wisp_ctx *ctx, wisp_moments *m, const char *matrix, const char *command)
{
    return wisp_moments_label_sized(ctx, m, sizeof *m, matrix, command);
}
static inline wisp_status wisp_moments_points(wisp_ctx *ctx, wisp_moments *m, int64_t count, const double *points)
{
    return wisp_moments_points_sized(ctx, m, sizeof *m, count, points);
}
static inline wisp_status wisp_moments_save(wisp_ctx *ctx, const wisp_moments *m, const char *path)
{
    return wisp_moments_save_sized(ctx, m, sizeof *m, path);
}
static inline wisp_status wisp_moments_load(wisp_ctx *ctx, wisp_moments *m, const char *path)
{
    return wisp_moments_load_sized(ctx, m, sizeof *m, path);
}
static inline wisp_status wisp_moments_merge(wisp_ctx *ctx, wisp_moments *m, const wisp_moments *runs, int64_t count)
{
    return wisp_moments_merge_sized(ctx, m, sizeof *m, runs, sizeof *runs, count);
}
static inline wisp_status wisp_moments_fit(wisp_ctx *ctx, const wisp_moments *a, const wisp_moments *b)
{
    return wisp_moments_fit_sized(ctx, a, sizeof *a, b, sizeof *b);
}
static inline wisp_status wisp_moments_mean(wisp_ctx *ctx, const wisp_moments *m, wisp_part part, double *mean,
                                            double *error)
{
    return wisp_moments_mean_sized(ctx, m, sizeof *m, part, mean, error);
}
static inline wisp_status wisp_dos(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                                   int64_t points, const double *energy, double *dos, double *error)
{
    return wisp_dos_sized(ctx, m, sizeof *m, opts, sizeof *opts, vector, points, energy, dos, error);
}
static inline wisp_status wisp_count(wisp_ctx *ctx, const wisp_moments *m, const wisp_eval_opts *opts, int64_t vector,
                                     double a, double b, double *count, double *error)
{
    return wisp_count_sized(ctx, m, sizeof *m, opts, sizeof *opts, vector, a, b, count, error);
}
static inline void wisp_bars95(const wisp_moments *m, const wisp_eval_opts *opts, int64_t count, const double *value,
                               const double *error, double *low, double *high)
{
    wisp_bars95_sized(m, sizeof *m, opts, sizeof *opts, count, value, error, low, high);
}
static inline wisp_status wisp_evolve(wisp_evolution *e, const wisp_mat *A, wisp_blk *psi, int64_t times,
                                      const double *time, const wisp_evolve_opts *opts)
{
    return wisp_evolve_sized(e, sizeof *e, A, psi, times, time, opts, sizeof *opts);
}
static inline wisp_status wisp_evolve_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                           int width, int64_t times, const double *time, const wisp_evolve_opts *opts,
                                           const wisp_choice *step)
{
    return wisp_evolve_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, type, width, times, time, opts, sizeof *opts,
                                  step, sizeof *step);
}
static inline wisp_status wisp_chebyshev_apply(wisp_expansion *e, wisp_blk *const *y, const wisp_mat *A,
                                               const wisp_blk *x, int functions, const wisp_function *f,
                                               const wisp_chebyshev_opts *opts)
{
    return wisp_chebyshev_apply_sized(e, sizeof *e, y, A, x, functions, f, opts, sizeof *opts);
}
static inline wisp_status wisp_chebyshev_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                              int width, int functions, const wisp_function *f,
                                              const wisp_chebyshev_opts *opts, const wisp_choice *step)
{
    return wisp_chebyshev_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, type, width, functions, f, opts,
                                     sizeof *opts, step, sizeof *step);
}
static inline wisp_status wisp_overlap_create(wisp_overlap **overlap, const wisp_mat *S, const wisp_overlap_opts *opts)
{
    return wisp_overlap_create_sized(overlap, S, opts, sizeof *opts);
}
static inline void wisp_overlap_get_info(const wisp_overlap *overlap, wisp_overlap_info *info)
{
    wisp_overlap_get_info_sized(overlap, info, sizeof *info);
}
static inline wisp_status wisp_kubo(wisp_moments *m, const wisp_mat *A, const wisp_mat *V_a, const wisp_mat *V_b,
                                    const wisp_kubo_opts *opts)
{
    return wisp_kubo_sized(m, sizeof *m, A, V_a, V_b, opts, sizeof *opts);
}
static inline wisp_status wisp_kubo_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                         const wisp_mat_info *V_a, const wisp_mat_info *V_b, const wisp_kubo_opts *opts)
{
    return wisp_kubo_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, V_a, sizeof *V_a, V_b, sizeof *V_b, opts,
                                sizeof *opts);
}
static inline wisp_status wisp_sigma(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                     double temperature, int64_t count, const double *mu, wisp_estimate *sigma)
{
    return wisp_sigma_sized(ctx, m, sizeof *m, opts, sizeof *opts, temperature, count, mu, sigma);
}
static inline wisp_status wisp_sigma_optical(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                             double temperature, double mu, int64_t count, const double *omega,
                                             wisp_estimate *sigma)
{
    return wisp_sigma_optical_sized(ctx, m, sizeof *m, opts, sizeof *opts, temperature, mu, count, omega, sigma);
}
static inline wisp_status wisp_trace_function(wisp_ctx *ctx, const wisp_moments *m, const wisp_function *f,
                                              const wisp_function_opts *opts, int64_t vector, wisp_traced *t)
{
    return wisp_trace_function_sized(ctx, m, sizeof *m, f, opts, sizeof *opts, vector, t, sizeof *t);
}
static inline wisp_status wisp_function_moments(wisp_ctx *ctx, const wisp_bounds *bounds, const wisp_function *f,
                                                const wisp_function_opts *opts, int64_t *moments)
{
    return wisp_function_moments_sized(ctx, bounds, f, opts, sizeof *opts, moments);
}
static inline wisp_status wisp_thermal(wisp_ctx *ctx, const wisp_moments *m, const wisp_thermal_opts *opts,
                                       double temperature, wisp_ensemble *e)
{
    return wisp_thermal_sized(ctx, m, sizeof *m, opts, sizeof *opts, temperature, e, sizeof *e);
}
static inline wisp_status wisp_green(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *opts, int64_t vector,
                                     int64_t points, const double *energy, wisp_scalar *g, wisp_scalar *error,
                                     double *beside)
{
    return wisp_green_sized(ctx, m, sizeof *m, opts, sizeof *opts, vector, points, energy, g, error, beside);
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
static inline wisp_status wisp_solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b,
                                     const wisp_solve_opts *opts)
{
    return wisp_solve_sized(s, sizeof *s, x, A, b, opts, sizeof *opts);
}
static inline wisp_status wisp_solver_create(wisp_solver **S, const wisp_mat *A, wisp_type type, int width,
                                             const wisp_solve_opts *opts)
{
    return wisp_solver_create_sized(S, A, type, width, opts, sizeof *opts);
}
static inline wisp_status wisp_solver_solve(wisp_solver *S, wisp_solution *s, wisp_blk *x, const wisp_blk *b, int guess)
{
    return wisp_solver_solve_sized(S, s, sizeof *s, x, b, guess);
}
static inline void wisp_solution_free(wisp_solution *s) { wisp_solution_free_sized(s, sizeof *s); }
static inline wisp_status wisp_solve_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type,
                                          int width, const wisp_solve_opts *opts, const wisp_choice *step)
{
    return wisp_solve_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, type, width, opts, sizeof *opts, step,
                                 sizeof *step);
}
static inline wisp_status wisp_eig(wisp_eigen *e, const wisp_mat *A, const wisp_eig_opts *opts)
{
    return wisp_eig_sized(e, sizeof *e, A, opts, sizeof *opts);
}

static inline void wisp_eigen_free(wisp_eigen *e) { wisp_eigen_free_sized(e, sizeof *e); }

static inline wisp_status wisp_eig_plan(wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *A,
                                        const wisp_eig_opts *opts)
{
    return wisp_eig_plan_sized(plan, sizeof *plan, choice, sizeof *choice, A, opts, sizeof *opts);
}
static inline wisp_status wisp_svd(wisp_eigen *e, const wisp_mat *B, int64_t rows, const wisp_eig_opts *opts)
{
    return wisp_svd_sized(e, sizeof *e, B, rows, opts, sizeof *opts);
}
static inline wisp_status wisp_svd_plan(wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *B, int64_t rows,
                                        const wisp_eig_opts *opts)
{
    return wisp_svd_plan_sized(plan, sizeof *plan, choice, sizeof *choice, B, rows, opts, sizeof *opts);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
