/* As test_arguments.c, of the solvers' functions, and of those of states and checkpoints. */
#include "arguments.h"

/* ---- solvers --------------------------------------------------------------------------------- */

PLAIN(wisp_bounds_find, P(0, &(wisp_bounds){0}), P(1, f->A), P(2, &(wisp_bounds_opts){0}))
PLAIN(wisp_bounds_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), P(3, &(wisp_bounds_opts){0}),
      P(4, &(wisp_choice){0}))
CALL(wisp_kpm_bounds_opts)
{
    const wisp_bounds_opts o = wisp_kpm_bounds_opts(f->info.type, ROWS, P(0, &(wisp_kpm_opts){0}));
    return o.sweeps > 0 ? WISP_OK : WISP_ERR_ARG;
}
QUERY(wisp_kpm_type, WISP_D, ROWS, P(0, &(wisp_kpm_opts){0}))
static int go_on(void *arg, int64_t moments, int64_t vectors) { return (void)moments, (void)vectors, *(int *)arg; }
CALL(wisp_kpm)
{
    int ends = 0;
    wisp_moments m = {.mu = val};
    const wisp_kpm_opts o = {.moments = MOMENTS,
                             .trace = WISP_TRACE_GIVEN,
                             .right = P(3, f->x),
                             .left = P(4, f->y),
                             .adjoint = P(5, f->A),
                             .observe = P(6, go_on),
                             .observe_arg = &ends};
    const wisp_status status = wisp_kpm(P(0, &m), P(1, f->A), P(2, &o));
    if (null) wisp_moments_free(&m);
    return status;
}
QUERY(wisp_kpm_width, WISP_D, ROWS, P(0, &(wisp_kpm_opts){0}))
PLAIN(wisp_kpm_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), P(3, &(wisp_kpm_opts){.moments = MOMENTS}),
      P(4, &(wisp_choice){0}))
PROCEDURE(wisp_moments_free, P(0, &(wisp_moments){0}))
PLAIN(wisp_moments_label, P(0, f->ctx), P(1, &f->m), P(2, "matrix"), P(3, "command"))
PLAIN(wisp_moments_points, P(0, f->ctx), P(1, &f->m), 1, P(2, ((double[WISP_POINT]){0})))
CALL(wisp_moments_merge)
{
    wisp_moments m = {.mu = val};
    const wisp_status status = wisp_moments_merge(P(0, f->ctx), P(1, &m), P(2, &f->m), 1);
    if (null != 1) wisp_moments_free(&m);
    return status;
}
CALL(wisp_moments_fit)
{
    wisp_moments other = f->m;
    other.seed++;
    return wisp_moments_fit(P(0, f->ctx), P(1, &f->m), P(2, &other));
}
PROCEDURE(wisp_kernel_root, P(0, &f->m.bounds), WISP_JACKSON, 0, MOMENTS, P(1, ((wisp_scalar[MOMENTS]){0})))
PROCEDURE(wisp_sums_mean, 2, 1, P(0, &(double){0}), P(1, &(double){0}))
CALL(wisp_bars95)
{
    double low = 0, high = 0;
    wisp_bars95(P(0, &f->m), P(1, &(wisp_eval_opts){0}), 1, P(2, val), P(3, val), P(4, &low), P(5, &high));
    return high > 0 ? WISP_OK : WISP_ERR_ARG;
}
PLAIN(wisp_moments_mean, P(0, f->ctx), P(1, &f->m), WISP_REAL_PART, P(2, (double[MOMENTS]){0}),
      P(3, (double[MOMENTS]){0}))
#ifdef WISP_HAVE_HDF5
PLAIN(wisp_moments_save, P(0, f->ctx), P(1, &f->m), P(2, f->h5))
CALL(wisp_moments_load)
{
    wisp_moments m = {.mu = val};
    const wisp_status status = wisp_moments_load(P(0, f->ctx), P(1, &m), P(2, f->h5));
    if (null != 1) wisp_moments_free(&m);
    return status;
}
#endif
PROCEDURE(wisp_energies, P(0, &f->m.bounds), 1, P(1, val))
PLAIN(wisp_dos, P(0, f->ctx), P(1, &f->m), P(2, &(wisp_eval_opts){0}), -1, 1, P(3, (double[]){3}), P(4, &(double){0}),
      P(5, &(double){0}))
PLAIN(wisp_count, P(0, f->ctx), P(1, &f->m), P(2, &(wisp_eval_opts){0}), -1, 2, 3, P(3, &(double){0}),
      P(4, &(double){0}))
CALL(wisp_solve)
{
    wisp_solution solution;
    const wisp_status status =
        wisp_solve(P(0, &solution), P(1, f->y), P(2, f->A), P(3, f->x), P(4, &(wisp_solve_opts){0}));
    if (null != 0) wisp_solution_free(&solution);
    return status;
}
MAKES(wisp_solver_create, wisp_solver, wisp_solver_free, P(0, &made), P(1, f->A), WISP_D, WIDTH,
      P(2, &(wisp_solve_opts){0}))
static wisp_solver *made_solver(fixture *f)
{
    wisp_solver *S;
    REF_OK(f->ctx, wisp_solver_create(&S, f->A, WISP_D, WIDTH, NULL));
    return S;
}
CALL(wisp_solver_solve)
{
    wisp_solution solution;
    wisp_solver *S = made_solver(f);
    const wisp_status status = wisp_solver_solve(P(0, S), P(1, &solution), P(2, f->y), P(3, f->x), 0);
    if (status == WISP_OK && null != 1) wisp_solution_free(&solution);
    wisp_solver_free(S);
    return status;
}
CALL(wisp_solver_update)
{
    wisp_solver *S = made_solver(f);
    wisp_solver_update(P(0, S));
    wisp_solver_free(S);
    return null < 0 ? WISP_OK : WISP_ERR_ARG;
}
PROCEDURE(wisp_solver_free, P(0, made_solver(f)))
PROCEDURE(wisp_solution_free, P(0, &(wisp_solution){0}))
PLAIN(wisp_solve_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), WISP_D, 1, P(3, &(wisp_solve_opts){0}),
      P(4, &(wisp_choice){0}))
CALL(wisp_eig)
{
    wisp_eigen e;
    const wisp_status status = wisp_eig(P(0, &e), P(1, f->A), P(2, &(wisp_eig_opts){0}));
    if (null != 0) wisp_eigen_free(&e);
    return status;
}
PROCEDURE(wisp_eigen_free, P(0, &(wisp_eigen){0}))
PLAIN(wisp_eig_plan, P(0, &(wisp_plan){0}), P(1, &(wisp_eig_choice){0}), P(2, f->A), P(3, &(wisp_eig_opts){0}))
CALL(wisp_svd)
{
    wisp_eigen e;
    wisp_mat *B;
    wisp_src augmented;
    REF_OK(f->ctx, wisp_src_augmented(&augmented, f->ctx, &f->src));
    REF_OK(f->ctx, wisp_mat_create(&B, f->ctx, &augmented, NULL));
    const wisp_status status = wisp_svd(P(0, &e), P(1, B), f->src.rows, P(2, &(wisp_eig_opts){0}));
    if (null != 0) wisp_eigen_free(&e);
    wisp_mat_free(B);
    wisp_src_close(&augmented);
    return status;
}
PLAIN(wisp_svd_plan, P(0, &(wisp_plan){0}), P(1, &(wisp_eig_choice){0}), P(2, f->A), 1, P(3, &(wisp_eig_opts){0}))
PROCEDURE(wisp_filter_eval, P(0, &(wisp_filter){.terms = 2}), 1, P(1, val), P(2, &(double){0}))
PLAIN(wisp_evolve, P(0, &(wisp_evolution){0}), P(1, f->A), P(2, f->psi), 1, P(3, (double[]){0.5}),
      P(4, &(wisp_evolve_opts){0}))
PLAIN(wisp_evolve_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), WISP_Z, 1, 1, P(3, (double[]){0.5}),
      P(4, &(wisp_evolve_opts){0}), P(5, &(wisp_choice){0}))
static int energy_itself(void *arg, double energy, wisp_scalar *value)
{
    return (void)arg, *value = (wisp_scalar){energy, 0}, 0;
}
static const wisp_function itself = {.value = energy_itself};
PLAIN(wisp_chebyshev_apply, P(0, &(wisp_expansion){0}), P(1, &f->y), P(2, f->A), P(3, f->x), 1, P(4, &itself),
      P(5, &(wisp_chebyshev_opts){0}))
PLAIN(wisp_chebyshev_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), WISP_D, 1, 1, P(3, &itself),
      P(4, &(wisp_chebyshev_opts){0}), P(5, &(wisp_choice){0}))
static int one_everywhere(void *arg, double energy, wisp_scalar *value)
{
    return (void)arg, (void)energy, *value = (wisp_scalar){1, 0}, 0;
}
static const wisp_function one = {.value = one_everywhere};
PLAIN(wisp_trace_function, P(0, f->ctx), P(1, &f->m), P(2, &one), P(3, &(wisp_function_opts){0}), -1,
      P(4, &(wisp_traced){0}))
PLAIN(wisp_function_moments, P(0, f->ctx), P(1, &f->m.bounds), P(2, &one), P(3, &(wisp_function_opts){0}),
      P(4, &(int64_t){0}))
PLAIN(wisp_thermal, P(0, f->ctx), P(1, &f->m), P(2, &(wisp_thermal_opts){0}), 1e6, P(3, &(wisp_ensemble){0}))
static const wisp_cool_opts cools = {.temperatures = 1, .temperature = val + 1, .vectors = 2};
CALL(wisp_cool)
{
    wisp_cooled c = {.temperature = val};
    const wisp_status status = wisp_cool(P(0, &c), P(1, f->A), P(2, &cools));
    if (null) wisp_cooled_free(&c);
    return status;
}
PLAIN(wisp_cool_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), P(3, &cools))
PROCEDURE(wisp_cooled_free, P(0, &(wisp_cooled){0}))
CALL(wisp_cooled_ensemble)
{
    wisp_cooled c;
    REF_OK(f->ctx, wisp_cool(&c, f->A, &cools));
    const wisp_status status =
        wisp_cooled_ensemble(P(0, f->ctx), P(1, &c), P(2, &(wisp_thermal_opts){0}), 0, P(3, &(wisp_ensemble){0}));
    wisp_cooled_free(&c);
    return status;
}
CALL(wisp_kubo)
{
    wisp_moments m = {.mu = val};
    const wisp_kubo_opts o = {.moments = MOMENTS, .vectors = 1};
    const wisp_status status = wisp_kubo(P(0, &m), P(1, f->A), P(2, f->A), P(3, f->A), P(4, &o));
    if (null) wisp_moments_free(&m);
    return status;
}
PLAIN(wisp_kubo_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), P(3, &f->info), P(4, &f->info),
      P(5, &(wisp_kubo_opts){.moments = MOMENTS}))
MAKES(wisp_overlap_create, wisp_overlap, wisp_overlap_free, P(0, &made), P(1, f->A), P(2, &(wisp_overlap_opts){0}))
CALL(wisp_overlap_get_info)
{
    wisp_overlap *v;
    wisp_overlap_info info = {.terms = -1};
    REF_OK(f->ctx, wisp_overlap_create(&v, f->A, NULL));
    wisp_overlap_get_info(P(0, v), P(1, &info));
    wisp_overlap_free(v);
    return info.terms > 0 ? WISP_OK : WISP_ERR_ARG;
}
PROCEDURE(wisp_overlap_free, P(0, (wisp_overlap *)NULL))
CALL(wisp_overlap_matrix)
{
    wisp_overlap *v;
    wisp_mat *made = null > 0 ? f->A : NULL;
    REF_OK(f->ctx, wisp_overlap_create(&v, f->A, NULL));
    const wisp_status status = wisp_overlap_matrix(P(0, &made), P(1, v), P(2, f->A));
    if (status != WISP_OK) assert_null(made);
    wisp_mat_free(made);
    wisp_overlap_free(v);
    return status;
}
CALL(wisp_overlap_apply)
{
    wisp_overlap *v;
    REF_OK(f->ctx, wisp_overlap_create(&v, f->A, NULL));
    const wisp_status status = wisp_overlap_apply(P(0, v), P(1, f->y), P(2, f->x));
    wisp_overlap_free(v);
    return status;
}
CALL(wisp_overlap_residuals)
{
    wisp_overlap *v;
    REF_OK(f->ctx, wisp_overlap_create(&v, f->A, NULL));
    const wisp_status status = wisp_overlap_residuals(P(0, v), P(1, f->A), P(2, ((wisp_scalar[WIDTH]){{0}})),
                                                      P(3, f->x), P(4, (double[WIDTH]){0}), P(5, &(double){0}));
    wisp_overlap_free(v);
    return status;
}
CALL(wisp_overlap_unit)
{
    wisp_overlap *v;
    REF_OK(f->ctx, wisp_overlap_create(&v, f->A, NULL));
    const double unit = wisp_overlap_unit(P(0, v), WISP_D, 1, 2, 1e-8);
    wisp_overlap_free(v);
    return unit >= 1 ? WISP_OK : WISP_ERR_ARG;
}
CALL(wisp_sigma)
{
    wisp_moments m;
    wisp_estimate e;
    REF_OK(f->ctx, wisp_kubo(&m, f->A, f->A, f->A, &(wisp_kubo_opts){.moments = MOMENTS, .vectors = 1}));
    const wisp_status status =
        wisp_sigma(P(0, f->ctx), P(1, &m), P(2, &(wisp_sigma_opts){0}), 0, 1, P(3, (double[]){3}), P(4, &e));
    wisp_moments_free(&m);
    return status;
}
CALL(wisp_sigma_optical)
{
    wisp_moments m;
    wisp_estimate e;
    REF_OK(f->ctx, wisp_kubo(&m, f->A, f->A, f->A, &(wisp_kubo_opts){.moments = MOMENTS, .vectors = 1}));
    const wisp_status status =
        wisp_sigma_optical(P(0, f->ctx), P(1, &m), P(2, &(wisp_sigma_opts){0}), 0, 0, 1, P(3, (double[]){3}), P(4, &e));
    wisp_moments_free(&m);
    return status;
}
/* Of two vectors, so that there are bars. */
static wisp_moments two_velocities(const fixture *f)
{
    wisp_moments m;
    REF_OK(f->ctx, wisp_kubo(&m, f->A, f->A, f->A, &(wisp_kubo_opts){.moments = MOMENTS, .vectors = 2}));
    return m;
}
CALL(wisp_sigma_rounding)
{
    wisp_moments m = two_velocities(f);
    const wisp_status status = wisp_sigma_rounding(P(0, f->ctx), P(1, &m), P(2, &(wisp_sigma_opts){0}), 0, 1,
                                                   P(3, (double[]){3}), P(4, &(double){0}));
    wisp_moments_free(&m);
    return status;
}
CALL(wisp_sigma_optical_rounding)
{
    wisp_moments m = two_velocities(f);
    const wisp_status status = wisp_sigma_optical_rounding(P(0, f->ctx), P(1, &m), P(2, &(wisp_sigma_opts){0}), 0, 0, 1,
                                                           P(3, (double[]){3}), P(4, &(double){0}));
    wisp_moments_free(&m);
    return status;
}
QUERY(wisp_kubo_left_type, P(0, f->ctx), WISP_D, ROWS, P(1, &(wisp_kubo_opts){0}))
PLAIN(wisp_green, P(0, f->ctx), P(1, &f->m), P(2, &(wisp_green_opts){.eta = 1e6}), -1, 1, P(3, &(double){0}),
      P(4, &(wisp_scalar){0}), P(5, &(wisp_scalar){0}), P(6, &(double){0}))

/* ---- states and checkpoints -------------------------------------------------------------------- */

static wisp_status no_items(void *arg, wisp_state *s) { return (void)arg, (void)s, WISP_OK; }
MAKES(wisp_state_create, wisp_state, wisp_state_free, P(0, &made), P(1, f->ctx), P(2, no_items), NULL)
/* A call on a live state. */
#define ON_STATE(name, ...)                                         \
    CALL(name)                                                      \
    {                                                               \
        wisp_state *s;                                              \
        REF_OK(f->ctx, wisp_state_create(&s, f->ctx, no_items, f)); \
        const wisp_status status = name(P(0, s), __VA_ARGS__);      \
        wisp_state_free(s);                                         \
        return status;                                              \
    }
ON_STATE(wisp_state_data, P(1, "x"), P(2, (void *)val), sizeof val)
ON_STATE(wisp_state_sums, P(1, "x"), P(2, val), ROWS)
ON_STATE(wisp_state_block, P(1, "x"), P(2, f->x))
ON_STATE(wisp_state_same, P(1, "x"), P(2, "words"))
ON_STATE(wisp_state_add, P(1, no_items), f)
ON_STATE(wisp_state_moments, P(1, "x"), P(2, &f->m))
CALL(wisp_state_ctx) { return (void)f, wisp_state_ctx(P(0, (wisp_state *)NULL)) ? WISP_ERR_ARG : WISP_OK; }
CALL(wisp_state_is_whole) { return (void)f, wisp_state_is_whole(P(0, (wisp_state *)NULL)) ? WISP_ERR_ARG : WISP_OK; }
CALL(wisp_state_is_kept) { return (void)f, wisp_state_is_kept(P(0, (wisp_state *)NULL)) ? WISP_ERR_ARG : WISP_OK; }
PROCEDURE(wisp_state_free, P(0, (wisp_state *)NULL))
CALL(wisp_state_words) { return (void)f, wisp_state_words(NULL, P(0, "x")) ? WISP_ERR_ARG : WISP_OK; }
CALL(wisp_state_bytes) { return (void)f, wisp_state_bytes(NULL, P(0, "x")) ? WISP_ERR_ARG : WISP_OK; }
/* A call with a checkpoint `c` and a live state `s`. */
#define WITH_CHECKPOINT(name, call)                                                                            \
    CALL(name)                                                                                                 \
    {                                                                                                          \
        wisp_state *s;                                                                                         \
        wisp_checkpoint *c;                                                                                    \
        char path[112];                                                                                        \
        snprintf(path, sizeof path, "%s/c", f->folder);                                                        \
        REF_OK(f->ctx, wisp_state_create(&s, f->ctx, no_items, f));                                            \
        REF_OK(f->ctx, wisp_checkpoint_create(&c, f->ctx, &(wisp_checkpoint_opts){.path = path, .holds = 1})); \
        wisp_checkpoint_request(c, 0);                                                                         \
        assert_int_equal(wisp_checkpoint_offer(c, s), 0);                                                      \
        REF_OK(f->ctx, wisp_checkpoint_wait(c));                                                               \
        REF_OK(f->ctx, wisp_state_offer_whole(s, wisp_checkpoint_offer, c));                                   \
        const wisp_status status = call;                                                                       \
        wisp_checkpoint_remove(c);                                                                             \
        wisp_checkpoint_free(c);                                                                               \
        wisp_state_free(s);                                                                                    \
        return status;                                                                                         \
    }
static wisp_status open_kept(wisp_state **to, wisp_ctx *ctx, const char *path)
{
    if (to) *to = NULL;
    const wisp_status status = wisp_state_open(to, ctx, path);
    if (to) wisp_state_free(*to);
    return status;
}
#define VOID(call) ((call), null < 0 ? WISP_OK : WISP_ERR_ARG)
WITH_CHECKPOINT(wisp_state_open, open_kept(P(0, &(wisp_state *){NULL}), P(1, f->ctx), P(2, path)))
WITH_CHECKPOINT(wisp_checkpoint_offer, (wisp_status)wisp_checkpoint_offer(P(0, c), P(1, s)))
WITH_CHECKPOINT(wisp_state_offer, wisp_state_offer(P(0, s), P(1, wisp_checkpoint_offer), c))
WITH_CHECKPOINT(wisp_state_offer_whole, wisp_state_offer_whole(P(0, s), P(1, wisp_checkpoint_offer), c))
WITH_CHECKPOINT(wisp_checkpoint_keep, wisp_checkpoint_keep(P(0, c)))
WITH_CHECKPOINT(wisp_checkpoint_wait, wisp_checkpoint_wait(P(0, c)))
WITH_CHECKPOINT(wisp_checkpoint_request, VOID(wisp_checkpoint_request(P(0, c), 1)))
WITH_CHECKPOINT(wisp_checkpoint_remove, VOID(wisp_checkpoint_remove(P(0, c))))
WITH_CHECKPOINT(wisp_checkpoint_get_info, VOID(wisp_checkpoint_get_info(P(0, c), P(1, &(wisp_checkpoint_info){0}))))
PROCEDURE(wisp_checkpoint_free, P(0, (wisp_checkpoint *)NULL))
CALL(wisp_checkpoint_create)
{
    char path[112];
    wisp_checkpoint *made = NULL;
    snprintf(path, sizeof path, "%s/c", f->folder);
    const wisp_checkpoint_opts o = {.path = P(3, path)};
    const wisp_status status = wisp_checkpoint_create(P(0, &made), P(1, f->ctx), P(2, &o));
    wisp_checkpoint_free(made);
    return status;
}
PLAIN(wisp_src_hash, P(0, f->ctx), P(1, &f->src), P(2, &(uint64_t){0}))

/* ---- the table ------------------------------------------------------------------------------- */

static const argument_row table[] = {
    ROW(wisp_bounds_find, 3, 4, 2),
    ROW(wisp_bounds_plan, 5, 24, 2),
    ROW(wisp_kpm_bounds_opts, 1, 1, ALL),
    ROW(wisp_kpm_type, 1, 1, ALL),
    ROW(wisp_kpm, 7, 116, 2),
    ROW(wisp_kpm_width, 1, 1, 0),
    ROW(wisp_kpm_plan, 5, 24, 2),
    ROW(wisp_moments_free, 1, 0, ALL),
    ROW(wisp_moments_label, 4, 12, 1),
    ROW(wisp_moments_points, 3, 0, 1),
    ROW(wisp_moments_merge, 3, 0, 1),
    ROW(wisp_moments_fit, 3, 0, 1),
    ROW(wisp_kernel_root, 2, 0, ALL),
    ROW(wisp_sums_mean, 2, 0, ALL),
    ROW(wisp_bars95, 6, 2, ALL),
    ROW(wisp_moments_mean, 4, 8, 1),
#ifdef WISP_HAVE_HDF5
    ROW(wisp_moments_save, 3, 0, 1),
    ROW(wisp_moments_load, 3, 0, 1),
#endif
    ROW(wisp_energies, 2, 0, ALL),
    ROW(wisp_dos, 6, 36, 1),
    ROW(wisp_count, 5, 20, 1),
    ROW(wisp_evolve, 5, 17, 0),
    ROW(wisp_evolve_plan, 6, 48, 2),
    ROW(wisp_chebyshev_apply, 6, 33, 0),
    ROW(wisp_chebyshev_plan, 6, 48, 2),
    ROW(wisp_trace_function, 5, 8, 1),
    ROW(wisp_function_moments, 5, 8, 1),
    ROW(wisp_thermal, 4, 4, 1),
    ROW(wisp_cool, 3, 0, 2),
    ROW(wisp_cool_plan, 4, 0, 2),
    ROW(wisp_cooled_free, 1, 0, ALL),
    ROW(wisp_cooled_ensemble, 4, 4, 1),
    ROW(wisp_kubo, 5, 16, 2),
    ROW(wisp_kubo_plan, 6, 32, 2),
    ROW(wisp_sigma, 5, 4, 1),
    ROW(wisp_sigma_optical, 5, 4, 1),
    ROW(wisp_sigma_rounding, 5, 4, 1),
    ROW(wisp_sigma_optical_rounding, 5, 4, 1),
    ROW(wisp_kubo_left_type, 2, 3, ALL),
    ROW(wisp_overlap_create, 3, 4, 2),
    ROW(wisp_overlap_get_info, 2, 0, ALL),
    ROW(wisp_overlap_free, 1, 0, ALL),
    ROW(wisp_overlap_matrix, 3, 0, 0),
    ROW(wisp_overlap_apply, 3, 0, 0),
    ROW(wisp_overlap_residuals, 6, 32, 0),
    ROW(wisp_overlap_unit, 1, 0, ALL),
    ROW(wisp_green, 7, 96, 1),
    ROW(wisp_solve, 5, 17, 2),
    ROW(wisp_solver_create, 3, 4, 2),
    ROW(wisp_solver_solve, 4, 2, 0),
    ROW(wisp_solver_update, 1, 0, ALL),
    ROW(wisp_solver_free, 1, 0, ALL),
    ROW(wisp_solution_free, 1, 0, ALL),
    ROW(wisp_solve_plan, 5, 24, 2),
    ROW(wisp_eig, 3, 4, 2),
    ROW(wisp_eigen_free, 1, 0, ALL),
    ROW(wisp_eig_plan, 4, 10, 4),
    ROW(wisp_svd, 3, 4, 2),
    ROW(wisp_svd_plan, 4, 10, 4),
    ROW(wisp_filter_eval, 3, 0, ALL),
    ROW(wisp_state_create, 3, 0, 2),
    ROW(wisp_state_data, 3, 0, 1),
    ROW(wisp_state_sums, 3, 0, 1),
    ROW(wisp_state_block, 3, 0, 1),
    ROW(wisp_state_same, 3, 0, 1),
    ROW(wisp_state_moments, 3, 0, 1),
    ROW(wisp_state_ctx, 1, 1, ALL),
    ROW(wisp_state_add, 2, 0, 1),
    ROW(wisp_state_offer, 2, 0, 1),
    ROW(wisp_state_offer_whole, 2, 0, 1),
    ROW(wisp_state_is_whole, 1, 1, ALL),
    ROW(wisp_state_is_kept, 1, 1, ALL),
    ROW(wisp_state_open, 3, 0, 2),
    ROW(wisp_state_free, 1, 0, ALL),
    ROW(wisp_state_words, 1, 1, ALL),
    ROW(wisp_state_bytes, 1, 1, ALL),
    ROW(wisp_checkpoint_create, 4, 0, 2),
    ROW(wisp_checkpoint_offer, 2, 0, 1),
    ROW(wisp_checkpoint_request, 1, 0, ALL),
    ROW(wisp_checkpoint_wait, 1, 0, 1),
    ROW(wisp_checkpoint_keep, 1, 0, 1),
    ROW(wisp_checkpoint_remove, 1, 0, ALL),
    ROW(wisp_checkpoint_get_info, 2, 0, ALL),
    ROW(wisp_checkpoint_free, 1, 0, ALL),
    ROW(wisp_src_hash, 3, 0, 1),
};
/* Those that take no pointer. */
static const char *const others[] = {
    "wisp_resolution",      "wisp_moments_for",   "wisp_student95",      "wisp_set_lapack",
    "wisp_thermal_moments", "wisp_green_moments", "wisp_method_of_side", "wisp_thermal_coldest",
#ifndef WISP_HAVE_HDF5
    "wisp_moments_save",    "wisp_moments_load",
#endif
};

static const argument_table all = {table, sizeof table / sizeof *table, others, sizeof others / sizeof *others};

static void every_function(void **state)
{
    static const char *const header[] = {
        TEST_DATA "/../../include/wisp/solvers.h", TEST_DATA "/../../include/wisp/evolve.h",
        TEST_DATA "/../../include/wisp/solve.h",   TEST_DATA "/../../include/wisp/eig.h",
        TEST_DATA "/../../include/wisp/state.h",   TEST_DATA "/../../include/wisp/transport.h",
        TEST_DATA "/../../include/wisp/overlap.h"};
    (void)state;
    every_declared(&all, header, sizeof header / sizeof *header);
}

static void null_pointers(void **state)
{
    (void)state;
    each_null(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function), cmocka_unit_test(null_pointers)};
    return REF_RUN(tests);
}
