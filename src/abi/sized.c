/* The symbols behind include/wisp/sized.h: structs of the caller's size become those of this library, and back. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wisp/task.h>
#include <wisp/wisp.h>
#include "config.h"
#ifdef WISP_HAVE_MPI
#include <wisp/mpi.h>
#endif

/* The caller's struct as this library knows it; fields that the caller does not know are zero. */
static void take(void *known, size_t known_size, const void *given, size_t given_size)
{
    const size_t both = given_size < known_size ? given_size : known_size;
    memset((char *)known + both, 0, known_size - both);
    memcpy(known, given, both);
}

/* The same of options: those that this library does not know must be at their defaults. */
static wisp_status take_options(void *known, size_t known_size, const void *given, size_t given_size, const char *name,
                                wisp_ctx *ctx)
{
    take(known, known_size, given, given_size);
    for (size_t i = known_size; i < given_size; i++)
        if (((const char *)given)[i])
            return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                                  "the program uses fields of %s that this library, version %s, does not know", name,
                                  wisp_version());
    return WISP_OK;
}

/* Back: fields that this library does not know become zero. */
static void give(void *given, size_t given_size, const void *known, size_t known_size)
{
    const size_t both = given_size < known_size ? given_size : known_size;
    memcpy(given, known, both);
    memset((char *)given + both, 0, given_size - both);
}

/* NAME_known points to this library's form of the struct NAME, or is NULL as NAME is. INOUT: fields are read and
   written. RESULT: written alone, and zero if there is a failure before. IN: options; unknown ones that are used set
   `status`. */
#define KNOWN(type, name) \
    type name##_own;      \
    type *const name##_known = name ? &name##_own : NULL
#define INOUT(type, name) \
    KNOWN(type, name);    \
    if (name) take(name##_known, sizeof(type), name, name##_size)
#define RESULT(type, name) \
    KNOWN(type, name);     \
    if (name) memset(name##_known, 0, sizeof(type))
#define IN(type, name, ctx) \
    KNOWN(type, name);      \
    if (name && status == WISP_OK) status = take_options(name##_known, sizeof(type), name, name##_size, #type, ctx)
#define OUT(name) \
    if (name) give(name, name##_size, name##_known, sizeof *name##_known)
/* What every plan has: the result, and what is known of the matrix and of a step. */
#define PLAN_OF(A, step)     \
    RESULT(wisp_plan, plan); \
    INOUT(wisp_mat_info, A); \
    INOUT(wisp_choice, step)

/* Nothing lies behind the last field, so that a field that is appended makes the struct longer. */
#define ENDS_WITH(type, last) \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((type *)0)->last), #type " ends with padding")
ENDS_WITH(wisp_ctx_opts, weights);
ENDS_WITH(wisp_task_opts, after);
ENDS_WITH(wisp_src, weights);
ENDS_WITH(wisp_write_opts, comment);
ENDS_WITH(wisp_crs, val);
ENDS_WITH(wisp_mat_opts, reserved);
ENDS_WITH(wisp_mat_info, user_bytes);
ENDS_WITH(wisp_operator, free_arg);
ENDS_WITH(wisp_choice, load_gbs);
ENDS_WITH(wisp_gather, from_l3);
ENDS_WITH(wisp_aug, dot_at);
ENDS_WITH(wisp_mpk_opts, add);
ENDS_WITH(wisp_cost, flops);
ENDS_WITH(wisp_plan, iteration_seconds);
ENDS_WITH(wisp_machine, exchange_gbs);
ENDS_WITH(wisp_device, for_tests);
ENDS_WITH(wisp_kpm_opts, adjoint);
ENDS_WITH(wisp_moments, imag);
ENDS_WITH(wisp_eval_opts, n);
ENDS_WITH(wisp_evolve_opts, resume);
ENDS_WITH(wisp_evolution, bounds_seconds);
ENDS_WITH(wisp_chebyshev_opts, resume);
ENDS_WITH(wisp_expansion, depth);
ENDS_WITH(wisp_mat_props, largest);
ENDS_WITH(wisp_counts, round_trips);
ENDS_WITH(wisp_solve_opts, resume);
ENDS_WITH(wisp_solution, bytes);
ENDS_WITH(wisp_eig_opts, reserved);
ENDS_WITH(wisp_eigen, condition);
ENDS_WITH(wisp_eig_choice, high);
ENDS_WITH(wisp_checkpoint_opts, after);
ENDS_WITH(wisp_checkpoint_info, saved);

wisp_status wisp_ctx_create_sized(wisp_ctx **ctx, const wisp_ctx_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_ctx_opts, opts, NULL);
    if (ctx) *ctx = NULL;
    if (status == WISP_OK) status = wisp_ctx_create(ctx, opts_known);
    return status;
}

#ifdef WISP_HAVE_MPI
wisp_status wisp_ctx_create_mpi_sized(wisp_ctx **ctx, MPI_Comm comm, const wisp_ctx_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_ctx_opts, opts, NULL);
    if (ctx) *ctx = NULL;
    if (status == WISP_OK) status = wisp_ctx_create_mpi(ctx, comm, opts_known);
    return status;
}
#endif

wisp_status wisp_src_open_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *name)
{
    RESULT(wisp_src, src);
    const wisp_status status = wisp_src_open(src_known, ctx, name);
    OUT(src);
    return status;
}

wisp_status wisp_src_open_file_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *path)
{
    RESULT(wisp_src, src);
    const wisp_status status = wisp_src_open_file(src_known, ctx, path);
    OUT(src);
    return status;
}

wisp_status wisp_src_open_gallery_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *spec)
{
    RESULT(wisp_src, src);
    const wisp_status status = wisp_src_open_gallery(src_known, ctx, spec);
    OUT(src);
    return status;
}

wisp_status wisp_src_open_crs_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_crs *crs, size_t crs_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_crs, crs, ctx);
    RESULT(wisp_src, src);
    if (status == WISP_OK) status = wisp_src_open_crs(src_known, ctx, crs_known);
    OUT(src);
    return status;
}

wisp_status wisp_src_hermitian_part_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                          size_t other_size, double *change)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, other, ctx);
    RESULT(wisp_src, src);
    if (status == WISP_OK) status = wisp_src_hermitian_part(src_known, ctx, other_known, change);
    OUT(src);
    return status;
}

wisp_status wisp_src_partition_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const wisp_src *other,
                                     size_t other_size, wisp_partition how)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, other, ctx);
    RESULT(wisp_src, src);
    if (status == WISP_OK) status = wisp_src_partition(src_known, ctx, other_known, how);
    OUT(src);
    return status;
}

wisp_status wisp_src_deal_sized(wisp_src *src, size_t src_size, wisp_ctx *ctx, const int64_t *weights)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    if (status == WISP_OK) status = wisp_src_deal(src_known, ctx, weights);
    OUT(src);
    return status;
}

const int64_t *wisp_src_numbers_sized(const wisp_src *src, size_t src_size)
{
    INOUT(wisp_src, src);
    return wisp_src_numbers(src_known);
}

wisp_status wisp_src_open_mat_sized(wisp_src *src, size_t src_size, const wisp_mat *A)
{
    RESULT(wisp_src, src);
    const wisp_status status = wisp_src_open_mat(src_known, A);
    OUT(src);
    return status;
}

void wisp_src_close_sized(wisp_src *src, size_t src_size)
{
    INOUT(wisp_src, src);
    wisp_src_close(src_known);
    OUT(src);
}

wisp_status wisp_src_write_sized(const wisp_src *src, size_t src_size, wisp_ctx *ctx, const char *path,
                                 const wisp_write_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    IN(wisp_write_opts, opts, ctx);
    if (status == WISP_OK) status = wisp_src_write(src_known, ctx, path, opts_known);
    return status;
}

wisp_status wisp_mat_create_sized(wisp_mat **A, wisp_ctx *ctx, const wisp_src *src, size_t src_size,
                                  const wisp_mat_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    IN(wisp_mat_opts, opts, ctx);
    if (A) *A = NULL;
    if (status == WISP_OK) status = wisp_mat_create(A, ctx, src_known, opts_known);
    return status;
}

wisp_status wisp_map_create_ordered_sized(wisp_map **map, wisp_ctx *ctx, const wisp_src *src, size_t src_size,
                                          const wisp_mat_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    IN(wisp_mat_opts, opts, ctx);
    if (map) *map = NULL;
    if (status == WISP_OK) status = wisp_map_create_ordered(map, ctx, src_known, opts_known);
    return status;
}

wisp_status wisp_mat_open_sized(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts,
                                size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_mat_opts, opts, ctx);
    if (A) *A = NULL;
    if (status == WISP_OK) status = wisp_mat_open(A, ctx, name, opts_known);
    return status;
}

wisp_status wisp_mat_borrow_crs_sized(wisp_mat **A, wisp_ctx *ctx, const wisp_crs *crs, size_t crs_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_crs, crs, ctx);
    if (A) *A = NULL;
    if (status == WISP_OK) status = wisp_mat_borrow_crs(A, ctx, crs_known);
    return status;
}

wisp_status wisp_mat_from_apply_sized(wisp_mat **A, wisp_ctx *ctx, const wisp_operator *op, size_t op_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_operator, op, ctx);
    if (A) *A = NULL;
    if (status == WISP_OK) status = wisp_mat_from_apply(A, ctx, op_known);
    return status;
}

wisp_status wisp_mat_update_sized(wisp_mat *A, const wisp_src *src, size_t src_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, wisp_mat_ctx(A));
    if (status == WISP_OK) status = wisp_mat_update(A, src_known);
    return status;
}

void wisp_mat_get_info_sized(const wisp_mat *A, wisp_mat_info *info, size_t info_size)
{
    INOUT(wisp_mat_info, info);
    wisp_mat_get_info(A, info_known);
    OUT(info);
}

wisp_status wisp_mat_plan_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, const wisp_mat_opts *opts,
                                size_t opts_size, wisp_mat_info *info, size_t info_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    IN(wisp_mat_opts, opts, ctx);
    RESULT(wisp_mat_info, info);
    if (status == WISP_OK) status = wisp_mat_plan(ctx, src_known, opts_known, info_known);
    OUT(info);
    return status;
}

wisp_status wisp_mat_bound_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, const wisp_mat_opts *opts,
                                 size_t opts_size, wisp_mat_info *info, size_t info_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    IN(wisp_mat_opts, opts, ctx);
    RESULT(wisp_mat_info, info);
    if (status == WISP_OK) status = wisp_mat_bound(ctx, src_known, opts_known, info_known);
    OUT(info);
    return status;
}

wisp_status wisp_src_choose_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, const wisp_mat_opts *opts,
                                  size_t opts_size, wisp_type type, int64_t vectors, int64_t steps, wisp_choice *choice,
                                  size_t choice_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    IN(wisp_mat_opts, opts, ctx);
    RESULT(wisp_choice, choice);
    if (status == WISP_OK) status = wisp_src_choose(ctx, src_known, opts_known, type, vectors, steps, choice_known);
    OUT(choice);
    return status;
}

wisp_status wisp_task_start_sized(wisp_task **task, wisp_ctx *ctx, const wisp_task_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_task_opts, opts, ctx);
    if (status == WISP_OK) status = wisp_task_start(task, ctx, opts_known);
    return status;
}

wisp_status wisp_src_weights_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, int64_t *weights)
{
    wisp_status status = WISP_OK;
    IN(wisp_src, src, ctx);
    if (status == WISP_OK) status = wisp_src_weights(ctx, src_known, weights);
    return status;
}

wisp_status wisp_mat_choose_sized(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps,
                                  wisp_choice *choice, size_t choice_size)
{
    RESULT(wisp_choice, choice);
    const wisp_status status = wisp_mat_choose(A, type, vectors, steps, choice_known);
    OUT(choice);
    return status;
}

wisp_status wisp_mat_gather_sized(const wisp_mat *A, wisp_type type, int width, wisp_gather *gather, size_t gather_size)
{
    RESULT(wisp_gather, gather);
    const wisp_status status = wisp_mat_gather(A, type, width, gather_known);
    OUT(gather);
    return status;
}

wisp_status wisp_mat_get_props_sized(const wisp_mat *A, wisp_mat_props *props, size_t props_size)
{
    RESULT(wisp_mat_props, props);
    const wisp_status status = wisp_mat_get_props(A, props_known);
    OUT(props);
    return status;
}

wisp_status wisp_spmmv_sized(wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug, size_t aug_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_aug, aug, wisp_mat_ctx(A));
    if (status == WISP_OK) status = wisp_spmmv(y, A, x, aug_known);
    return status;
}

wisp_status wisp_mpk_sized(wisp_blk *const *v, int stored, const wisp_mat *A, const wisp_mpk_opts *opts,
                           size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_mpk_opts, opts, wisp_mat_ctx(A));
    if (status == WISP_OK) status = wisp_mpk(v, stored, A, opts_known);
    return status;
}

wisp_status wisp_mpk_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A, size_t A_size,
                                wisp_type type, int width, const wisp_mpk_opts *opts, size_t opts_size,
                                const wisp_choice *step, size_t step_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_mpk_opts, opts, ctx);
    PLAN_OF(A, step);
    if (status == WISP_OK) status = wisp_mpk_plan(plan_known, ctx, A_known, type, width, opts_known, step_known);
    OUT(plan);
    return status;
}

wisp_status wisp_fuse_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, int64_t rows, wisp_type type,
                                 int width, int terms, int dots)
{
    RESULT(wisp_plan, plan);
    const wisp_status status = wisp_fuse_plan(plan_known, ctx, rows, type, width, terms, dots);
    OUT(plan);
    return status;
}

wisp_status wisp_spmmv_cost_sized(const wisp_mat *A, wisp_type type, int width, unsigned terms, wisp_cost *cost,
                                  size_t cost_size)
{
    RESULT(wisp_cost, cost);
    const wisp_status status = wisp_spmmv_cost(A, type, width, terms, cost_known);
    OUT(cost);
    return status;
}

wisp_status wisp_machine_measure_sized(wisp_ctx *ctx, wisp_machine *machine, size_t machine_size, unsigned what)
{
    RESULT(wisp_machine, machine);
    const wisp_status status = wisp_machine_measure(ctx, machine_known, what);
    OUT(machine);
    return status;
}

void wisp_ctx_set_machine_sized(wisp_ctx *ctx, const wisp_machine *machine, size_t machine_size)
{
    INOUT(wisp_machine, machine);
    wisp_ctx_set_machine(ctx, machine_known);
}

int wisp_device_info_sized(int i, wisp_device *device, size_t device_size)
{
    RESULT(wisp_device, device);
    const int there = wisp_device_info(i, device_known);
    OUT(device);
    return there;
}

wisp_status wisp_bounds_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                   size_t A_size, const wisp_bounds_opts *opts, const wisp_choice *step,
                                   size_t step_size)
{
    PLAN_OF(A, step);
    const wisp_status status = wisp_bounds_plan(plan_known, ctx, A_known, opts, step_known);
    OUT(plan);
    return status;
}

wisp_status wisp_checkpoint_create_sized(wisp_checkpoint **checkpoint, wisp_ctx *ctx, const wisp_checkpoint_opts *opts,
                                         size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_checkpoint_opts, opts, ctx);
    if (status == WISP_OK) return wisp_checkpoint_create(checkpoint, ctx, opts_known);
    if (checkpoint) *checkpoint = NULL;
    return status;
}

void wisp_checkpoint_get_info_sized(const wisp_checkpoint *checkpoint, wisp_checkpoint_info *info, size_t info_size)
{
    RESULT(wisp_checkpoint_info, info);
    wisp_checkpoint_get_info(checkpoint, info_known);
    OUT(info);
}

wisp_status wisp_src_hash_sized(wisp_ctx *ctx, const wisp_src *src, size_t src_size, uint64_t *hash)
{
    INOUT(wisp_src, src);
    return wisp_src_hash(ctx, src_known, hash);
}

wisp_status wisp_kpm_sized(wisp_moments *m, size_t m_size, const wisp_mat *A, const wisp_kpm_opts *opts,
                           size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_kpm_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_moments, m);
    if (status == WISP_OK) status = wisp_kpm(m_known, A, opts_known);
    OUT(m);
    return status;
}

int wisp_kpm_width_sized(wisp_type type, int64_t rows, const wisp_kpm_opts *opts, size_t opts_size)
{
    INOUT(wisp_kpm_opts, opts);
    return wisp_kpm_width(type, rows, opts_known);
}

wisp_type wisp_kpm_type_sized(wisp_type type, int64_t rows, const wisp_kpm_opts *opts, size_t opts_size)
{
    INOUT(wisp_kpm_opts, opts);
    return wisp_kpm_type(type, rows, opts_known);
}

void wisp_kpm_bounds_opts_sized(wisp_bounds_opts *result, wisp_type type, int64_t rows, const wisp_kpm_opts *opts,
                                size_t opts_size)
{
    INOUT(wisp_kpm_opts, opts);
    *result = wisp_kpm_bounds_opts(type, rows, opts_known);
}

wisp_status wisp_kpm_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A, size_t A_size,
                                const wisp_kpm_opts *opts, size_t opts_size, const wisp_choice *step, size_t step_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_kpm_opts, opts, ctx);
    PLAN_OF(A, step);
    if (status == WISP_OK) status = wisp_kpm_plan(plan_known, ctx, A_known, opts_known, step_known);
    OUT(plan);
    return status;
}

void wisp_moments_free_sized(wisp_moments *m, size_t m_size)
{
    INOUT(wisp_moments, m);
    wisp_moments_free(m_known);
    OUT(m);
}

wisp_status wisp_moments_label_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const char *matrix,
                                     const char *command)
{
    INOUT(wisp_moments, m);
    const wisp_status status = wisp_moments_label(ctx, m_known, matrix, command);
    OUT(m);
    return status;
}

wisp_status wisp_moments_save_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const char *path)
{
    wisp_status status = WISP_OK;
    IN(wisp_moments, m, ctx);
    if (status == WISP_OK) status = wisp_moments_save(ctx, m_known, path);
    return status;
}

wisp_status wisp_moments_load_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const char *path)
{
    RESULT(wisp_moments, m);
    const wisp_status status = wisp_moments_load(ctx, m_known, path);
    OUT(m);
    return status;
}

/* The runs lie as far apart as the caller's struct is long. */
wisp_status wisp_moments_merge_sized(wisp_ctx *ctx, wisp_moments *m, size_t m_size, const wisp_moments *runs,
                                     size_t runs_size, int64_t count)
{
    INOUT(wisp_moments, m);
    wisp_moments *known = NULL;
    wisp_status status = WISP_OK;
    if (runs && ctx) status = wisp_alloc(ctx, &known, count > 0 ? (size_t)count : 1, sizeof *known);
    for (int64_t i = 0; known && i < count && status == WISP_OK; i++) {
        const char *run = (const char *)runs + (size_t)i * runs_size;
        status = take_options(&known[i], sizeof known[i], run, runs_size, "wisp_moments", ctx);
    }
    if (status == WISP_OK)
        status = wisp_moments_merge(ctx, m_known, known, count);
    else if (m)
        memset(m_known, 0, sizeof *m_known);
    wisp_free(ctx, known);
    OUT(m);
    return status;
}

wisp_status wisp_moments_fit_sized(wisp_ctx *ctx, const wisp_moments *a, size_t a_size, const wisp_moments *b,
                                   size_t b_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_moments, a, ctx);
    IN(wisp_moments, b, ctx);
    if (status == WISP_OK) status = wisp_moments_fit(ctx, a_known, b_known);
    return status;
}

wisp_status wisp_moments_mean_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, wisp_part part, double *mean,
                                    double *error)
{
    wisp_status status = WISP_OK;
    IN(wisp_moments, m, ctx);
    if (status == WISP_OK) status = wisp_moments_mean(ctx, m_known, part, mean, error);
    return status;
}

wisp_status wisp_dos_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_eval_opts *opts,
                           size_t opts_size, int64_t vector, int64_t points, const double *energy, double *dos,
                           double *error)
{
    wisp_status status = WISP_OK;
    IN(wisp_moments, m, ctx);
    IN(wisp_eval_opts, opts, ctx);
    if (status == WISP_OK) status = wisp_dos(ctx, m_known, opts_known, vector, points, energy, dos, error);
    return status;
}

wisp_status wisp_count_sized(wisp_ctx *ctx, const wisp_moments *m, size_t m_size, const wisp_eval_opts *opts,
                             size_t opts_size, int64_t vector, double a, double b, double *count, double *error)
{
    wisp_status status = WISP_OK;
    IN(wisp_moments, m, ctx);
    IN(wisp_eval_opts, opts, ctx);
    if (status == WISP_OK) status = wisp_count(ctx, m_known, opts_known, vector, a, b, count, error);
    return status;
}

void wisp_bars95_sized(const wisp_moments *m, size_t m_size, const wisp_eval_opts *opts, size_t opts_size,
                       int64_t count, const double *value, const double *error, double *low, double *high)
{
    INOUT(wisp_moments, m);
    INOUT(wisp_eval_opts, opts);
    wisp_bars95(m_known, opts_known, count, value, error, low, high);
}

wisp_status wisp_evolve_sized(wisp_evolution *e, size_t e_size, const wisp_mat *A, wisp_blk *psi, int64_t times,
                              const double *time, const wisp_evolve_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_evolve_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_evolution, e);
    if (status == WISP_OK) status = wisp_evolve(e_known, A, psi, times, time, opts_known);
    OUT(e);
    return status;
}

wisp_status wisp_evolve_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                   size_t A_size, wisp_type type, int width, int64_t times, const double *time,
                                   const wisp_evolve_opts *opts, size_t opts_size, const wisp_choice *step,
                                   size_t step_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_evolve_opts, opts, ctx);
    PLAN_OF(A, step);
    if (status == WISP_OK)
        status = wisp_evolve_plan(plan_known, ctx, A_known, type, width, times, time, opts_known, step_known);
    OUT(plan);
    return status;
}

wisp_status wisp_chebyshev_apply_sized(wisp_expansion *e, size_t e_size, wisp_blk *const *y, const wisp_mat *A,
                                       const wisp_blk *x, int functions, const wisp_function *f,
                                       const wisp_chebyshev_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_chebyshev_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_expansion, e);
    if (status == WISP_OK) status = wisp_chebyshev_apply(e_known, y, A, x, functions, f, opts_known);
    OUT(e);
    return status;
}

wisp_status wisp_chebyshev_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                      size_t A_size, wisp_type type, int width, int functions, const wisp_function *f,
                                      const wisp_chebyshev_opts *opts, size_t opts_size, const wisp_choice *step,
                                      size_t step_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_chebyshev_opts, opts, ctx);
    PLAN_OF(A, step);
    if (status == WISP_OK)
        status = wisp_chebyshev_plan(plan_known, ctx, A_known, type, width, functions, f, opts_known, step_known);
    OUT(plan);
    return status;
}

wisp_status wisp_fuse_cost_sized(const wisp_update *update, int updates, const wisp_inner *inner, int inners,
                                 wisp_cost *cost, size_t cost_size)
{
    RESULT(wisp_cost, cost);
    const wisp_status status = wisp_fuse_cost(update, updates, inner, inners, cost_known);
    OUT(cost);
    return status;
}

void wisp_ctx_counts_sized(const wisp_ctx *ctx, wisp_counts *counts, size_t counts_size)
{
    RESULT(wisp_counts, counts);
    wisp_ctx_counts(ctx, counts_known);
    OUT(counts);
}

wisp_status wisp_solve_sized(wisp_solution *s, size_t s_size, wisp_blk *x, const wisp_mat *A, const wisp_blk *b,
                             const wisp_solve_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_solve_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_solution, s);
    if (status == WISP_OK) status = wisp_solve(s_known, x, A, b, opts_known);
    OUT(s);
    return status;
}

void wisp_solution_free_sized(wisp_solution *s, size_t s_size)
{
    INOUT(wisp_solution, s);
    wisp_solution_free(s_known);
    OUT(s);
}

wisp_status wisp_solve_plan_sized(wisp_plan *plan, size_t plan_size, wisp_ctx *ctx, const wisp_mat_info *A,
                                  size_t A_size, wisp_type type, int width, const wisp_solve_opts *opts,
                                  size_t opts_size, const wisp_choice *step, size_t step_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_solve_opts, opts, ctx);
    PLAN_OF(A, step);
    if (status == WISP_OK) status = wisp_solve_plan(plan_known, ctx, A_known, type, width, opts_known, step_known);
    OUT(plan);
    return status;
}

wisp_status wisp_eig_sized(wisp_eigen *e, size_t e_size, const wisp_mat *A, const wisp_eig_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_eig_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_eigen, e);
    if (status == WISP_OK) status = wisp_eig(e_known, A, opts_known);
    if (e && e_size < offsetof(wisp_eigen, condition) + sizeof e->condition) { /* what the caller could not free */
        free(e_known->condition);
        e_known->condition = NULL;
    }
    OUT(e);
    return status;
}

void wisp_eigen_free_sized(wisp_eigen *e, size_t e_size)
{
    INOUT(wisp_eigen, e);
    wisp_eigen_free(e_known);
    OUT(e);
}

wisp_status wisp_eig_plan_sized(wisp_plan *plan, size_t plan_size, wisp_eig_choice *choice, size_t choice_size,
                                const wisp_mat *A, const wisp_eig_opts *opts, size_t opts_size)
{
    wisp_status status = WISP_OK;
    IN(wisp_eig_opts, opts, wisp_mat_ctx(A));
    RESULT(wisp_plan, plan);
    RESULT(wisp_eig_choice, choice);
    if (status == WISP_OK) status = wisp_eig_plan(plan_known, choice_known, A, opts_known);
    OUT(plan);
    OUT(choice);
    return status;
}
