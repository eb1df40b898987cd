/* The same as sized.h, of the solvers. Part of wisp.h. */
#ifndef WISP_SIZED_SOLVERS_H
#define WISP_SIZED_SOLVERS_H

#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

WISP_API wisp_status wisp_bounds_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                            size_t A_size, const wisp_bounds_opts *opts, const wisp_choice *step,
                                            size_t step_size);
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
WISP_API wisp_status wisp_state_moments_sized(wisp_state *state, const char *name, wisp_moments *m, size_t m_size);
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
WISP_API wisp_type wisp_kubo_left_type_sized(const wisp_ctx *ctx, wisp_type type, int64_t rows,
                                             const wisp_kubo_opts *opts, size_t opts_size);
WISP_API wisp_status wisp_sigma_rounding_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size,
                                               const wisp_sigma_opts *opts, size_t opts_size, double temperature,
                                               int64_t count, const double *mu, double *share);
WISP_API wisp_status wisp_sigma_optical_rounding_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size,
                                                       const wisp_sigma_opts *opts, size_t opts_size,
                                                       double temperature, double mu, int64_t count,
                                                       const double *omega, double *share);
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
WISP_API wisp_status wisp_cool_sized(wisp_cooled *c, size_t c_size, const wisp_mat *A, const wisp_cool_opts *opts,
                                     size_t opts_size);
WISP_API wisp_status wisp_cool_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                          size_t A_size, const wisp_cool_opts *opts, size_t opts_size);
WISP_API void wisp_cooled_free_sized(wisp_cooled *c, size_t c_size);
WISP_API wisp_status wisp_cooled_ensemble_sized(wisp_ctx *ctx, const wisp_cooled *c, size_t c_size,
                                                const wisp_thermal_opts *opts, size_t opts_size, int64_t temperature,
                                                wisp_ensemble *e, size_t e_size);
WISP_API wisp_status wisp_green_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_green_opts *opts,
                                      size_t opts_size, int64_t vector, int64_t points, const double *energy,
                                      wisp_scalar *g, wisp_scalar *error, double *beside);

#ifndef WISP_BUILDING
static inline wisp_status wisp_bounds_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                           const wisp_bounds_opts *opts, const wisp_choice *step)
{
    return wisp_bounds_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, opts, step, sizeof *step);
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
static inline wisp_status wisp_state_moments(wisp_state *state, const char *name, wisp_moments *m)
{
    return wisp_state_moments_sized(state, name, m, sizeof *m);
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
static inline wisp_type wisp_kubo_left_type(const wisp_ctx *ctx, wisp_type type, int64_t rows,
                                            const wisp_kubo_opts *opts)
{
    return wisp_kubo_left_type_sized(ctx, type, rows, opts, sizeof *opts);
}
static inline wisp_status wisp_sigma_rounding(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                              double temperature, int64_t count, const double *mu, double *share)
{
    return wisp_sigma_rounding_sized(ctx, m, sizeof *m, opts, sizeof *opts, temperature, count, mu, share);
}
static inline wisp_status wisp_sigma_optical_rounding(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *opts,
                                                      double temperature, double mu, int64_t count, const double *omega,
                                                      double *share)
{
    return wisp_sigma_optical_rounding_sized(ctx, m, sizeof *m, opts, sizeof *opts, temperature, mu, count, omega,
                                             share);
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
static inline wisp_status wisp_cool(wisp_cooled *c, const wisp_mat *A, const wisp_cool_opts *opts)
{
    return wisp_cool_sized(c, sizeof *c, A, opts, sizeof *opts);
}
static inline wisp_status wisp_cool_plan(wisp_plan *plan, wisp_ctx *ctx, const wisp_mat_info *A,
                                         const wisp_cool_opts *opts)
{
    return wisp_cool_plan_sized(plan, sizeof *plan, ctx, A, sizeof *A, opts, sizeof *opts);
}
static inline void wisp_cooled_free(wisp_cooled *c) { wisp_cooled_free_sized(c, sizeof *c); }
static inline wisp_status wisp_cooled_ensemble(wisp_ctx *ctx, const wisp_cooled *c, const wisp_thermal_opts *opts,
                                               int64_t temperature, wisp_ensemble *e)
{
    return wisp_cooled_ensemble_sized(ctx, c, sizeof *c, opts, sizeof *opts, temperature, e, sizeof *e);
}
static inline wisp_status wisp_green(wisp_ctx *ctx, const wisp_moments *m, const wisp_green_opts *opts, int64_t vector,
                                     int64_t points, const double *energy, wisp_scalar *g, wisp_scalar *error,
                                     double *beside)
{
    return wisp_green_sized(ctx, m, sizeof *m, opts, sizeof *opts, vector, points, energy, g, error, beside);
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
