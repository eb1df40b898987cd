/* Every public function with each of its pointers NULL in turn, and numbers that are out of range: a status, with a
   message where there is a context, and no crash. */
#include "ref.h"
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 6, WIDTH = 2, MOMENTS = 4 };

typedef struct {
    wisp_ctx *ctx;
    wisp_src src;
    wisp_map *map;
    wisp_mat *A;
    wisp_blk *x, *y, *psi;
    wisp_moments m;
    wisp_mat_info info;
    char folder[64], mtx[96], h5[96];
} fixture;

static int64_t rowptr[ROWS + 1], col[ROWS];
static double val[ROWS];
static const wisp_crs crs = {.rows = ROWS, .cols = ROWS, .type = WISP_D, .rowptr = rowptr, .col = col, .val = val};

static int fill_element(void *arg, int64_t row, int column, void *value)
{
    (void)arg;
    *(double *)value = (double)(row + column);
    return 0;
}

static void open_fixture(fixture *f)
{
    for (int i = 0; i < ROWS; i++) rowptr[i + 1] = i + 1, col[i] = i, val[i] = i + 1;
    *f = (fixture){.ctx = ref_ctx(NULL), .folder = "/tmp/wisp-arguments-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->mtx, sizeof f->mtx, "%s/a.mtx", f->folder);
    snprintf(f->h5, sizeof f->h5, "%s/m.h5", f->folder);
    REF_OK(f->ctx, wisp_src_open_crs(&f->src, f->ctx, &crs));
    REF_OK(f->ctx, wisp_mat_create(&f->A, f->ctx, &f->src, &(wisp_mat_opts){.C = 1, .order = WISP_ROWS_NATURAL}));
    f->map = wisp_mat_map(f->A);
    wisp_mat_get_info(f->A, &f->info);
    REF_OK(f->ctx, wisp_blk_create(&f->x, f->ctx, f->map, WISP_D, WIDTH));
    REF_OK(f->ctx, wisp_blk_create(&f->y, f->ctx, f->map, WISP_D, WIDTH));
    REF_OK(f->ctx, wisp_blk_create(&f->psi, f->ctx, f->map, WISP_Z, 1));
    REF_OK(f->ctx, wisp_blk_fill(f->x, (wisp_scalar){1, 0}));
    REF_OK(f->ctx, wisp_blk_fill(f->psi, (wisp_scalar){1, 0}));
    REF_OK(f->ctx, wisp_kpm(&f->m, f->A, &(wisp_kpm_opts){.moments = MOMENTS, .vectors = 2}));
    REF_OK(f->ctx, wisp_src_write(&f->src, f->ctx, f->mtx, NULL));
#ifdef WISP_HAVE_HDF5
    REF_OK(f->ctx, wisp_moments_save(f->ctx, &f->m, f->h5));
#endif
}

static void close_fixture(fixture *f)
{
    wisp_moments_free(&f->m);
    wisp_blk_free(f->x);
    wisp_blk_free(f->y);
    wisp_blk_free(f->psi);
    wisp_mat_free(f->A);
    wisp_src_close(&f->src);
    unlink(f->mtx);
    unlink(f->h5);
    rmdir(f->folder);
    wisp_ctx_free(f->ctx);
}

/* One call each, argument number `null` of its pointers NULL (-1: none). What a query answers is a status, too. */
#define CALL(name) static wisp_status call_##name(fixture *f, int null)
#define P(i, pointer) (null == (i) ? NULL : (pointer))
#define ONE ((wisp_scalar){1, 0})
/* A function whose last line is the call itself. */
#define PLAIN(name, ...) \
    CALL(name) { return (void)f, name(__VA_ARGS__); }
/* A query that answers something else than nothing. */
#define QUERY(name, ...) \
    CALL(name) { return (void)f, name(__VA_ARGS__) ? WISP_OK : WISP_ERR_ARG; }
/* A procedure: nothing is told of what it refused. */
#define PROCEDURE(name, ...)                      \
    CALL(name)                                    \
    {                                             \
        (void)f, name(__VA_ARGS__);               \
        return null < 0 ? WISP_OK : WISP_ERR_ARG; \
    }
/* One that makes an object. */
#define MAKES(name, type, destroy, ...)               \
    CALL(name)                                        \
    {                                                 \
        type *made = null > 0 ? (void *)f : NULL;     \
        const wisp_status status = name(__VA_ARGS__); \
        if (status != WISP_OK) assert_null(made);     \
        destroy(made);                                \
        return status;                                \
    }
#define SOURCE(name, ...)                                         \
    CALL(name)                                                    \
    {                                                             \
        wisp_src src = {0};                                       \
        const wisp_status status = name(P(0, &src), __VA_ARGS__); \
        wisp_src_close(&src);                                     \
        return status;                                            \
    }

/* ---- context --------------------------------------------------------------------------------- */

MAKES(wisp_ctx_create, wisp_ctx, wisp_ctx_free, P(0, &made), P(1, &(wisp_ctx_opts){.threads = 1}))
PROCEDURE(wisp_ctx_free, P(0, (wisp_ctx *)NULL))
CALL(wisp_ctx_message)
{
    wisp_ctx_fail(f->ctx, WISP_ERR_ARG, "words");
    wisp_ctx_fail(NULL, WISP_ERR_ARG, "other words");
    return strcmp(wisp_ctx_message(P(0, f->ctx)), "words") ? WISP_ERR_ARG : WISP_OK;
}
CALL(wisp_ctx_copy_message)
{
    char text[4];
    wisp_ctx_fail(f->ctx, WISP_ERR_ARG, "words");
    wisp_ctx_fail(NULL, WISP_ERR_ARG, "words");
    const size_t length = wisp_ctx_copy_message(P(0, f->ctx), P(1, text), sizeof text);
    return length == 5 && (null == 1 || !strcmp(text, "wor")) ? WISP_OK : WISP_ERR_ARG;
}
QUERY(wisp_ctx_threads, P(0, f->ctx))
static void do_nothing(void *arg, int64_t i, int part) { (void)arg, (void)i, (void)part; }
PLAIN(wisp_ctx_each, P(0, f->ctx), 2, P(1, do_nothing), P(2, val))
QUERY(wisp_ctx_device, P(0, f->ctx))
QUERY(wisp_ctx_isa, P(0, f->ctx))
CALL(wisp_ctx_halo) { return wisp_ctx_halo(P(0, f->ctx)) == WISP_HALO_AUTO ? WISP_OK : WISP_ERR_ARG; }
PLAIN(wisp_ctx_weights, P(0, f->ctx), P(1, (int64_t[1]){0}))
QUERY(wisp_ctx_processes, P(0, f->ctx))
CALL(wisp_ctx_rank) { return wisp_ctx_rank(P(0, f->ctx)) == 0 ? WISP_OK : WISP_ERR_ARG; }
PROCEDURE(wisp_ctx_enter, P(0, (wisp_ctx *)NULL))
PROCEDURE(wisp_ctx_hold, P(0, f->ctx), 0)
CALL(wisp_ctx_leave) { return wisp_ctx_leave(P(0, f->ctx), WISP_OK); }
static int no_work(void *arg, int rank) { return arg ? rank : 1; }
PLAIN(wisp_ranks_run, 2, P(0, no_work), P(1, val), P(2, &(int){0}))
PROCEDURE(wisp_ctx_set_cache, P(0, f->ctx), 0)
CALL(wisp_ctx_cache)
{
    int measured = 7;
    return wisp_ctx_cache(P(0, f->ctx), P(1, &measured)) > 0 ? WISP_OK : WISP_ERR_ARG;
}
CALL(wisp_ctx_memory)
{
    int64_t now = 7, peak = 7;
    wisp_ctx_memory(P(0, f->ctx), P(1, &now), P(2, &peak));
    return now > 0 && peak > 0 ? WISP_OK : WISP_ERR_ARG;
}
CALL(wisp_ctx_cancel)
{
    wisp_ctx_cancel(P(0, f->ctx));
    wisp_ctx_resume(f->ctx);
    return null < 0 ? WISP_OK : WISP_ERR_ARG;
}
PROCEDURE(wisp_ctx_resume, P(0, f->ctx))
PLAIN(wisp_ctx_sum, P(0, f->ctx), P(1, (double[]){1}), 1)
PLAIN(wisp_ctx_sum_start, P(0, f->ctx), P(1, (double[]){1}), 1)
CALL(wisp_ctx_sum_wait)
{
    wisp_ctx *ctx = P(0, f->ctx);
    const wisp_status status = ctx ? wisp_ctx_sum_start(ctx, NULL, 0) : WISP_OK;
    return status == WISP_OK ? wisp_ctx_sum_wait(ctx) : status;
}
CALL(wisp_ctx_fail)
{
    const char *words = P(1, "words");
    return wisp_ctx_fail(P(0, f->ctx), null < 0 ? WISP_OK : WISP_ERR_ARG, words, NULL);
}
CALL(wisp_ctx_log)
{
    const char *words = P(1, "words");
    wisp_ctx_log(P(0, f->ctx), WISP_LOG_DEBUG, words, NULL);
    return null < 0 ? WISP_OK : WISP_ERR_ARG;
}
PLAIN(wisp_ctx_step, P(0, f->ctx), P(1, "testing"), 0, 0)
CALL(wisp_alloc)
{
    double *p = val;
    const wisp_status status = wisp_alloc(P(0, f->ctx), P(1, &p), 3, sizeof *p);
    if (null == 0) assert_null(p);
    if (status == WISP_OK) wisp_free(f->ctx, p);
    return status;
}
CALL(wisp_free)
{
    double *p;
    REF_OK(f->ctx, wisp_alloc(f->ctx, &p, 3, sizeof *p));
    wisp_free(P(0, f->ctx), P(1, p));
    if (null == 1) wisp_free(f->ctx, p);
    return WISP_OK;
}
PROCEDURE(wisp_ctx_set_machine, P(0, f->ctx), P(1, &(wisp_machine){0}))
PLAIN(wisp_machine_measure, P(0, f->ctx), P(1, &(wisp_machine){0}), 0)
PLAIN(wisp_load_bandwidth, P(0, f->ctx), P(1, &(double){0}))
PLAIN(wisp_ctx_placement, P(0, f->ctx), P(1, (int[4096]){0}))

/* ---- sources, maps, matrices ----------------------------------------------------------------- */

SOURCE(wisp_src_open, P(1, f->ctx), P(2, "laplace:nx=3"))
SOURCE(wisp_src_open_file, P(1, f->ctx), P(2, f->mtx))
SOURCE(wisp_src_open_gallery, P(1, f->ctx), P(2, "laplace:nx=3"))
SOURCE(wisp_src_open_crs, P(1, f->ctx), P(2, &crs))
SOURCE(wisp_src_hermitian_part, P(1, f->ctx), P(2, &f->src), P(3, &(double){0}))
SOURCE(wisp_src_partition, P(1, f->ctx), P(2, &f->src), WISP_PARTITION_LEVELS)
CALL(wisp_src_numbers) { return wisp_src_numbers(P(0, &f->src)) ? WISP_ERR_ARG : WISP_OK; }
SOURCE(wisp_src_open_mat, P(1, f->A))
PROCEDURE(wisp_src_close, P(0, &(wisp_src){0}))
PLAIN(wisp_src_write, P(0, &f->src), P(1, f->ctx), P(2, f->mtx), P(3, &(wisp_write_opts){0}))
MAKES(wisp_map_create, wisp_map, wisp_map_free, P(0, &made), P(1, f->ctx), ROWS)
PROCEDURE(wisp_map_free, P(0, (wisp_map *)NULL))
QUERY(wisp_map_rows, P(0, f->map))
QUERY(wisp_map_local, P(0, f->map), P(1, &(int64_t){0}))
QUERY(wisp_map_is_natural, P(0, f->map))
MAKES(wisp_mat_create, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx), P(2, &f->src), P(3, &(wisp_mat_opts){0}))
MAKES(wisp_map_create_ordered, wisp_map, wisp_map_free, P(0, &made), P(1, f->ctx), P(2, &f->src),
      P(3, &(wisp_mat_opts){0}))
MAKES(wisp_mat_open, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx), P(2, f->mtx), P(3, &(wisp_mat_opts){0}))
MAKES(wisp_mat_borrow_crs, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx), P(2, &crs))
static wisp_status apply_nothing(void *arg, wisp_blk *y, const wisp_blk *x)
{
    (void)arg, (void)y, (void)x;
    return WISP_OK;
}
MAKES(wisp_mat_from_apply, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx),
      P(2, (&(wisp_operator){.map = f->map, .type = WISP_D, .apply = apply_nothing})))
PLAIN(wisp_mat_update, P(0, f->A), P(1, &f->src))
PROCEDURE(wisp_mat_free, P(0, (wisp_mat *)NULL))
CALL(wisp_mat_get_info)
{
    wisp_mat_info info = {.rows = 7};
    wisp_mat_get_info(P(0, f->A), P(1, &info));
    if (null == 0) assert_int_equal(info.rows, 0);
    return info.rows == ROWS ? WISP_OK : WISP_ERR_ARG;
}
QUERY(wisp_mat_map, P(0, f->A))
QUERY(wisp_mat_col_map, P(0, f->A))
QUERY(wisp_mat_ctx, P(0, f->A))
PLAIN(wisp_mat_bound, P(0, f->ctx), P(1, &f->src), P(2, &(wisp_mat_opts){0}), P(3, &(wisp_mat_info){0}))
PLAIN(wisp_mat_plan, P(0, f->ctx), P(1, &f->src), P(2, &(wisp_mat_opts){0}), P(3, &(wisp_mat_info){0}))
PLAIN(wisp_src_choose, P(0, f->ctx), P(1, &f->src), P(2, &(wisp_mat_opts){0}), WISP_D, 4, 8, P(3, &(wisp_choice){0}))
PLAIN(wisp_mat_choose, P(0, f->A), WISP_D, 4, 8, P(1, &(wisp_choice){0}))
PLAIN(wisp_src_weights, P(0, f->ctx), P(1, &f->src), P(2, (int64_t[1]){0}))
PLAIN(wisp_mat_weights, P(0, f->A), WISP_D, WIDTH, P(1, (int64_t[1]){0}))
PLAIN(wisp_mat_gather, P(0, f->A), WISP_D, WIDTH, P(1, &(wisp_gather){0}))
PLAIN(wisp_mat_get_props, P(0, f->A), P(1, &(wisp_mat_props){0}))
PLAIN(wisp_mat_row_histogram, P(0, f->A), P(1, (int64_t[3]){0}), 3)
PLAIN(wisp_mat_fill_in, P(0, f->A), 4, 1, P(1, &(double){0}))

/* ---- blocks and ops -------------------------------------------------------------------------- */

MAKES(wisp_blk_create, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->ctx), P(2, f->map), WISP_D, WIDTH)
MAKES(wisp_blk_borrow, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->ctx), P(2, f->map), WISP_D, 1, P(3, val), 1)
MAKES(wisp_blk_cols, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->x), 0, 1)
MAKES(wisp_blk_pick, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->x), 1, P(2, (int[]){1}))
MAKES(wisp_blk_rows, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->x), 0, 1)
PROCEDURE(wisp_blk_free, P(0, (wisp_blk *)NULL))
QUERY(wisp_blk_width, P(0, f->x))
QUERY(wisp_blk_nrows, P(0, f->x))
QUERY(wisp_blk_type, P(0, f->x))
QUERY(wisp_blk_map_of, P(0, f->x))
QUERY(wisp_blk_ctx, P(0, f->x))
PLAIN(wisp_blk_fill, P(0, f->x), ONE)
PLAIN(wisp_blk_fill_fn, P(0, f->x), P(1, fill_element), P(2, val))
PLAIN(wisp_blk_fill_random, P(0, f->x), WISP_RANDOM_GAUSS, 1, 2, 3)
PLAIN(wisp_blk_fill_units, P(0, f->x), P(1, col))
PLAIN(wisp_blk_put, P(0, f->x), WISP_ROW_MAJOR, P(1, (double[ROWS * WIDTH]){0}), WIDTH)
PLAIN(wisp_blk_get, P(0, f->x), WISP_ROW_MAJOR, P(1, (double[ROWS * WIDTH]){0}), WIDTH)
PLAIN(wisp_blk_map, P(0, f->x), P(1, &(void *){NULL}), P(2, &(int64_t){0}))
PLAIN(wisp_blk_unmap, P(0, f->x))
PLAIN(wisp_copy, P(0, f->y), P(1, f->x))
PLAIN(wisp_axpy, P(0, f->y), ONE, P(1, f->x))
PLAIN(wisp_axpby, P(0, f->y), ONE, P(1, f->x), ONE)
PLAIN(wisp_scal, P(0, f->x), ONE)
PLAIN(wisp_vaxpy, P(0, f->y), P(1, ((wisp_scalar[]){ONE, ONE})), P(2, f->x))
PLAIN(wisp_vaxpby, P(0, f->y), P(1, ((wisp_scalar[]){ONE, ONE})), P(2, f->x), P(3, ((wisp_scalar[]){ONE, ONE})))
PLAIN(wisp_vscal, P(0, f->x), P(1, ((wisp_scalar[]){ONE, ONE})))
PLAIN(wisp_dot, P(0, f->x), P(1, f->y), P(2, (wisp_scalar[WIDTH]){{0}}))
PLAIN(wisp_dot_kahan, P(0, f->x), P(1, f->y), P(2, (wisp_scalar[WIDTH]){{0}}))
PLAIN(wisp_norm, P(0, f->x), P(1, (double[WIDTH]){0}))
PLAIN(wisp_norm_kahan, P(0, f->x), P(1, (double[WIDTH]){0}))
PLAIN(wisp_tsm_gram, P(0, (wisp_scalar[WIDTH * WIDTH]){{0}}), WIDTH, ONE, P(1, f->x), P(2, f->y), ONE, 0)
PLAIN(wisp_tsm_update, P(0, f->y), ONE, P(1, f->x), P(2, (wisp_scalar[WIDTH * WIDTH]){{0}}), WIDTH, ONE)
PLAIN(wisp_spmmv, P(0, f->y), P(1, f->A), P(2, f->x), P(3, &(wisp_aug){0}))
PLAIN(wisp_mpk, P(0, ((wisp_blk *[]){f->x, f->y})), 2, P(1, f->A), P(2, &(wisp_mpk_opts){.steps = 1}))
QUERY(wisp_mpk_bound, P(0, f->ctx), P(1, &f->info), WISP_D, WIDTH, 1, 1)
#define UPDATE (&(wisp_update){f->y, 1, &(wisp_term){f->x, NULL, NULL}})
#define INNER (&(wisp_inner){f->y, f->x, NULL, (wisp_scalar[WIDTH]){{0}}})
PLAIN(wisp_fuse, P(0, UPDATE), 1, P(1, INNER), 1, 0)
PLAIN(wisp_fuse_cost, P(0, UPDATE), 1, P(1, INNER), 1, P(2, &(wisp_cost){0}))
CALL(wisp_ctx_counts)
{
    wisp_counts c = {0};
    wisp_ctx_counts(P(0, f->ctx), P(1, &c));
    return c.passes > 0 ? WISP_OK : WISP_ERR_ARG;
}
PLAIN(wisp_spmmv_cost, P(0, f->A), WISP_D, WIDTH, 0, P(1, &(wisp_cost){0}))

/* ---- solvers --------------------------------------------------------------------------------- */

PLAIN(wisp_bounds_find, P(0, &(wisp_bounds){0}), P(1, f->A), P(2, &(wisp_bounds_opts){0}))
CALL(wisp_bounds_plan)
{
    int columns = 0, steps = 0;
    wisp_bounds_plan(P(0, &f->info), P(1, &(wisp_bounds_opts){0}), P(2, &columns), P(3, &steps));
    return columns > 0 && steps > 0 ? WISP_OK : WISP_ERR_ARG;
}
CALL(wisp_kpm_bounds_opts)
{
    const wisp_bounds_opts o = wisp_kpm_bounds_opts(f->info.type, ROWS, P(0, &(wisp_kpm_opts){0}));
    return o.sweeps > 0 ? WISP_OK : WISP_ERR_ARG;
}
QUERY(wisp_kpm_type, WISP_D, ROWS, P(0, &(wisp_kpm_opts){0}))
CALL(wisp_kpm)
{
    wisp_moments m = {.mu = val};
    const wisp_kpm_opts o = {.moments = MOMENTS, .vectors = 2};
    const wisp_status status = wisp_kpm(P(0, &m), P(1, f->A), P(2, null < 0 ? &o : NULL));
    if (null) wisp_moments_free(&m);
    return status;
}
QUERY(wisp_kpm_width, WISP_D, ROWS, P(0, &(wisp_kpm_opts){0}))
QUERY(wisp_kpm_bound, P(0, f->ctx), P(1, &f->info), P(2, &(wisp_kpm_opts){.moments = MOMENTS}))
QUERY(wisp_kpm_plan, ROWS, WISP_D, P(0, &(wisp_kpm_opts){0}))
PROCEDURE(wisp_moments_free, P(0, &(wisp_moments){0}))
PLAIN(wisp_moments_label, P(0, f->ctx), P(1, &f->m), P(2, "matrix"), P(3, "command"))
PLAIN(wisp_file_write, P(0, f->ctx), P(1, f->mtx), P(2, "text"), 4)
PLAIN(wisp_file_check, P(0, f->ctx), P(1, f->mtx))
QUERY(wisp_file_same, P(0, f->mtx), P(1, f->mtx))
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
CALL(wisp_bars95)
{
    double low = 0, high = 0;
    wisp_bars95(P(0, &f->m), P(1, &(wisp_eval_opts){0}), 1, P(2, val), P(3, val), P(4, &low), P(5, &high));
    return high > 0 ? WISP_OK : WISP_ERR_ARG;
}
PLAIN(wisp_moments_mean, P(0, f->ctx), P(1, &f->m), P(2, (double[MOMENTS]){0}), P(3, (double[MOMENTS]){0}))
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
PROCEDURE(wisp_solution_free, P(0, &(wisp_solution){0}))
QUERY(wisp_solve_plan, 10, WISP_D, 1, P(0, &(wisp_solve_opts){0}))
CALL(wisp_eig)
{
    wisp_eigen e;
    const wisp_status status = wisp_eig(P(0, &e), P(1, f->A), P(2, &(wisp_eig_opts){0}));
    if (null != 0) wisp_eigen_free(&e);
    return status;
}
PROCEDURE(wisp_eigen_free, P(0, &(wisp_eigen){0}))
PLAIN(wisp_eig_plan, P(0, &(wisp_eig_cost){0}), P(1, f->A), P(2, &(wisp_eig_opts){0}))
PROCEDURE(wisp_filter_eval, P(0, &(wisp_filter){.terms = 2}), 1, P(1, val), P(2, &(double){0}))
static int observe(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    (void)arg, (void)i, (void)psi, (void)norm;
    return 0;
}
PLAIN(wisp_evolve, P(0, &(wisp_evolution){0}), P(1, f->A), P(2, f->psi), 1, P(3, (double[]){0.5}),
      P(4, &(wisp_evolve_opts){0}), P(5, observe), P(6, val))

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
ON_STATE(wisp_state_same, P(1, "x"), P(2, "%d"), 1)
ON_STATE(wisp_state_add, P(1, no_items), f)
CALL(wisp_state_is_kept) { return (void)f, wisp_state_is_kept(P(0, (wisp_state *)NULL)) ? WISP_ERR_ARG : WISP_OK; }
PROCEDURE(wisp_state_free, P(0, (wisp_state *)NULL))
CALL(wisp_state_words) { return (void)f, wisp_state_words(NULL, P(0, "x")) ? WISP_ERR_ARG : WISP_OK; }
CALL(wisp_state_bytes) { return (void)f, wisp_state_bytes(NULL, P(0, "x")) ? WISP_ERR_ARG : WISP_OK; }
/* A call with a checkpoint `c` and a live state `s`. */
#define WITH_CHECKPOINT(name, call)                                                                \
    CALL(name)                                                                                     \
    {                                                                                              \
        wisp_state *s;                                                                             \
        wisp_checkpoint *c;                                                                        \
        char path[112];                                                                            \
        snprintf(path, sizeof path, "%s/c", f->folder);                                            \
        REF_OK(f->ctx, wisp_state_create(&s, f->ctx, no_items, f));                                \
        REF_OK(f->ctx, wisp_checkpoint_create(&c, f->ctx, &(wisp_checkpoint_opts){.path = path})); \
        wisp_checkpoint_request(c, 0);                                                             \
        REF_OK(f->ctx, wisp_checkpoint_offer(c, s));                                               \
        REF_OK(f->ctx, wisp_checkpoint_wait(c));                                                   \
        const wisp_status status = call;                                                           \
        wisp_checkpoint_remove(c);                                                                 \
        wisp_checkpoint_free(c);                                                                   \
        wisp_state_free(s);                                                                        \
        return status;                                                                             \
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
WITH_CHECKPOINT(wisp_checkpoint_offer, wisp_checkpoint_offer(P(0, c), P(1, s)))
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

enum { ALL = ~0 };
/* allowed: bits of the pointers that may be NULL; silent: of those without which there is no context to keep words. */
static const struct {
    const char *name;
    wisp_status (*fn)(fixture *f, int null);
    int pointers;
    int allowed, silent;
} table[] = {
#define ROW(name, ...)                  \
    {                                   \
#name, call_##name, __VA_ARGS__ \
    }
    ROW(wisp_ctx_create, 2, 2, 1),
    ROW(wisp_ctx_free, 1, 0, ALL),
    ROW(wisp_ctx_message, 1, 0, ALL),
    ROW(wisp_ctx_copy_message, 2, 3, ALL),
    ROW(wisp_ctx_threads, 1, 0, ALL),
    ROW(wisp_ctx_each, 3, 4, 1),
    ROW(wisp_ctx_device, 1, 0, ALL),
    ROW(wisp_ctx_halo, 1, 1, ALL),
    ROW(wisp_ctx_isa, 1, 0, ALL),
    ROW(wisp_ctx_weights, 2, 0, 1),
    ROW(wisp_ctx_processes, 1, 0, ALL),
    ROW(wisp_ctx_rank, 1, 1, ALL),
    ROW(wisp_ctx_enter, 1, 0, ALL),
    ROW(wisp_ctx_leave, 1, 1, ALL),
    ROW(wisp_ctx_hold, 1, 0, ALL),
    ROW(wisp_ranks_run, 3, 6, 1),
    ROW(wisp_ctx_set_cache, 1, 0, ALL),
    ROW(wisp_ctx_cache, 2, 2, ALL),
    ROW(wisp_ctx_memory, 3, 6, ALL),
    ROW(wisp_ctx_cancel, 1, 0, ALL),
    ROW(wisp_ctx_resume, 1, 0, ALL),
    ROW(wisp_ctx_sum, 2, 0, 1),
    ROW(wisp_ctx_sum_start, 2, 0, 1),
    ROW(wisp_ctx_sum_wait, 1, 0, 1),
    ROW(wisp_ctx_fail, 2, 0, ALL),
    ROW(wisp_ctx_log, 2, 0, ALL),
    ROW(wisp_ctx_step, 2, 0, 1),
    ROW(wisp_alloc, 2, 0, 1),
    ROW(wisp_free, 2, 3, ALL),
    ROW(wisp_ctx_set_machine, 2, 0, ALL),
    ROW(wisp_machine_measure, 2, 0, 1),
    ROW(wisp_load_bandwidth, 2, 0, 1),
    ROW(wisp_ctx_placement, 2, 0, 1),
    ROW(wisp_src_open, 3, 0, 2),
    ROW(wisp_src_open_file, 3, 0, 2),
    ROW(wisp_src_open_gallery, 3, 0, 2),
    ROW(wisp_src_open_crs, 3, 0, 2),
    ROW(wisp_src_hermitian_part, 4, 8, 2),
    ROW(wisp_src_partition, 3, 0, 2),
    ROW(wisp_src_numbers, 1, 1, ALL),
    ROW(wisp_src_open_mat, 2, 0, 2),
    ROW(wisp_src_close, 1, 0, ALL),
    ROW(wisp_src_write, 4, 8, 2),
    ROW(wisp_map_create, 2, 0, 2),
    ROW(wisp_map_free, 1, 0, ALL),
    ROW(wisp_map_rows, 1, 0, ALL),
    ROW(wisp_map_local, 2, 2, ALL),
    ROW(wisp_map_is_natural, 1, 0, ALL),
    ROW(wisp_mat_create, 4, 8, 2),
    ROW(wisp_map_create_ordered, 4, 8, 2),
    ROW(wisp_mat_open, 4, 8, 2),
    ROW(wisp_mat_borrow_crs, 3, 0, 2),
    ROW(wisp_mat_from_apply, 3, 0, 2),
    ROW(wisp_mat_update, 2, 0, 1),
    ROW(wisp_mat_free, 1, 0, ALL),
    ROW(wisp_mat_get_info, 2, 0, ALL),
    ROW(wisp_mat_map, 1, 0, ALL),
    ROW(wisp_mat_col_map, 1, 0, ALL),
    ROW(wisp_mat_ctx, 1, 0, ALL),
    ROW(wisp_mat_bound, 4, 4, 1),
    ROW(wisp_mat_plan, 4, 4, 1),
    ROW(wisp_src_choose, 4, 4, 1),
    ROW(wisp_mat_choose, 2, 0, 1),
    ROW(wisp_src_weights, 3, 0, 1),
    ROW(wisp_mat_weights, 2, 0, 1),
    ROW(wisp_mat_gather, 2, 0, 1),
    ROW(wisp_mat_get_props, 2, 0, 1),
    ROW(wisp_mat_row_histogram, 2, 0, 1),
    ROW(wisp_mat_fill_in, 2, 0, 1),
    ROW(wisp_blk_create, 3, 0, 2),
    ROW(wisp_blk_borrow, 4, 0, 2),
    ROW(wisp_blk_cols, 2, 0, 2),
    ROW(wisp_blk_pick, 3, 0, 2),
    ROW(wisp_blk_rows, 2, 0, 2),
    ROW(wisp_blk_free, 1, 0, ALL),
    ROW(wisp_blk_width, 1, 0, ALL),
    ROW(wisp_blk_nrows, 1, 0, ALL),
    ROW(wisp_blk_type, 1, 0, ALL),
    ROW(wisp_blk_map_of, 1, 0, ALL),
    ROW(wisp_blk_ctx, 1, 0, ALL),
    ROW(wisp_blk_fill, 1, 0, 1),
    ROW(wisp_blk_fill_fn, 3, 4, 1),
    ROW(wisp_blk_fill_random, 1, 0, 1),
    ROW(wisp_blk_fill_units, 2, 0, 1),
    ROW(wisp_blk_put, 2, 0, 1),
    ROW(wisp_blk_get, 2, 0, 1),
    ROW(wisp_blk_map, 3, 4, 1),
    ROW(wisp_blk_unmap, 1, 0, 1),
    ROW(wisp_copy, 2, 0, 0),
    ROW(wisp_axpy, 2, 0, 0),
    ROW(wisp_axpby, 2, 0, 0),
    ROW(wisp_scal, 1, 0, 1),
    ROW(wisp_vaxpy, 3, 0, 0),
    ROW(wisp_vaxpby, 4, 0, 0),
    ROW(wisp_vscal, 2, 0, 1),
    ROW(wisp_dot, 3, 0, 0),
    ROW(wisp_dot_kahan, 3, 0, 0),
    ROW(wisp_norm, 2, 0, 1),
    ROW(wisp_norm_kahan, 2, 0, 1),
    ROW(wisp_tsm_gram, 3, 0, 0),
    ROW(wisp_tsm_update, 3, 0, 0),
    ROW(wisp_spmmv, 4, 8, 0),
    ROW(wisp_mpk, 3, 0, 2),
    ROW(wisp_mpk_bound, 2, 0, ALL),
    ROW(wisp_fuse, 2, 0, 0),
    ROW(wisp_fuse_cost, 3, 0, 0),
    ROW(wisp_ctx_counts, 2, 0, ALL),
    ROW(wisp_spmmv_cost, 2, 0, 1),
    ROW(wisp_bounds_find, 3, 4, 2),
    ROW(wisp_bounds_plan, 4, 2, ALL),
    ROW(wisp_kpm_bounds_opts, 1, 1, ALL),
    ROW(wisp_kpm_type, 1, 1, ALL),
    ROW(wisp_kpm, 3, 4, 2),
    ROW(wisp_kpm_width, 1, 1, 0),
    ROW(wisp_kpm_bound, 3, 4, ALL),
    ROW(wisp_kpm_plan, 1, 1, 0),
    ROW(wisp_moments_free, 1, 0, ALL),
    ROW(wisp_moments_label, 4, 12, 1),
    ROW(wisp_file_write, 3, 0, 1),
    ROW(wisp_file_check, 2, 0, 1),
    ROW(wisp_file_same, 2, 0, ALL),
    ROW(wisp_moments_merge, 3, 0, 1),
    ROW(wisp_moments_fit, 3, 0, 1),
    ROW(wisp_bars95, 6, 2, ALL),
    ROW(wisp_moments_mean, 4, 8, 1),
#ifdef WISP_HAVE_HDF5
    ROW(wisp_moments_save, 3, 0, 1),
    ROW(wisp_moments_load, 3, 0, 1),
#endif
    ROW(wisp_energies, 2, 0, ALL),
    ROW(wisp_dos, 6, 36, 1),
    ROW(wisp_count, 5, 20, 1),
    ROW(wisp_evolve, 7, 113, 0),
    ROW(wisp_solve, 5, 17, 2),
    ROW(wisp_solution_free, 1, 0, ALL),
    ROW(wisp_solve_plan, 1, 1, ALL),
    ROW(wisp_eig, 3, 4, 2),
    ROW(wisp_eigen_free, 1, 0, ALL),
    ROW(wisp_eig_plan, 3, 4, 2),
    ROW(wisp_filter_eval, 3, 0, ALL),
    ROW(wisp_state_create, 3, 0, 2),
    ROW(wisp_state_data, 3, 0, 1),
    ROW(wisp_state_sums, 3, 0, 1),
    ROW(wisp_state_block, 3, 0, 1),
    ROW(wisp_state_same, 3, 0, 1),
    ROW(wisp_state_add, 2, 0, 1),
    ROW(wisp_state_is_kept, 1, 1, ALL),
    ROW(wisp_state_open, 3, 0, 2),
    ROW(wisp_state_free, 1, 0, ALL),
    ROW(wisp_state_words, 1, 1, ALL),
    ROW(wisp_state_bytes, 1, 1, ALL),
    ROW(wisp_checkpoint_create, 4, 0, 2),
    ROW(wisp_checkpoint_offer, 2, 0, 1),
    ROW(wisp_checkpoint_request, 1, 0, ALL),
    ROW(wisp_checkpoint_wait, 1, 0, 1),
    ROW(wisp_checkpoint_remove, 1, 0, ALL),
    ROW(wisp_checkpoint_get_info, 2, 0, ALL),
    ROW(wisp_checkpoint_free, 1, 0, ALL),
    ROW(wisp_src_hash, 3, 0, 1),
};
enum { TABLE = sizeof table / sizeof table[0] };

/* Those that take no pointer. */
static const char *const others[] = {
    "wisp_status_string", "wisp_version",      "wisp_features",     "wisp_type_size", "wisp_type_is_complex",
    "wisp_halo_name",     "wisp_type_name",    "wisp_gallery_list", "wisp_mpk_plan",  "wisp_model_memory",
    "wisp_model_overlap", "wisp_resolution",   "wisp_moments_for",  "wisp_student95", "wisp_level_name",
#ifndef WISP_HAVE_HDF5
    "wisp_moments_save",  "wisp_moments_load",
#endif
};

static int is_covered(const char *name)
{
    for (int i = 0; i < TABLE; i++)
        if (!strcmp(table[i].name, name)) return 1;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(others[i], name)) return 1;
    return 0;
}

/* A function that is declared and not in the table would escape. */
static void every_function(void **state)
{
    static const char *const header[] = {TEST_DATA "/../../include/wisp/wisp.h",
                                         TEST_DATA "/../../include/wisp/solvers.h",
                                         TEST_DATA "/../../include/wisp/solve.h", TEST_DATA "/../../include/wisp/eig.h",
                                         TEST_DATA "/../../include/wisp/state.h"};
    static char text[1 << 17];
    int found = 0;
    (void)state;
    for (size_t h = 0; h < sizeof header / sizeof *header; h++) {
        FILE *file = fopen(header[h], "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        for (char *p = text; (p = strstr(p, "\nWISP_")); found++) {
            if (strncmp(p + 1, "WISP_API ", 9) != 0 && strncmp(p + 1, "WISP_SIZED ", 11) != 0) {
                p++, found--;
                continue;
            }
            char name[64], *end = strchr(++p, '(');
            while (end[-1] == ' ') end--;
            const char *begin = end;
            while (strchr("abcdefghijklmnopqrstuvwxyz_0123456789", begin[-1])) begin--;
            snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
            if (!is_covered(name)) fail_msg("%s is not in the table", name);
        }
    }
    assert_int_equal(found, TABLE + sizeof others / sizeof others[0]);
}

static void null_pointers(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f);
    for (int i = 0; i < TABLE; i++) {
        const wisp_status all_given = table[i].fn(&f, -1);
        if (all_given != WISP_OK) fail_msg("%s: %s", table[i].name, wisp_ctx_message(f.ctx));
        for (int null = 0; null < table[i].pointers; null++) {
            const int allowed = table[i].allowed >> null & 1, silent = table[i].silent >> null & 1;
            wisp_ctx_fail(f.ctx, WISP_OK, "nothing");
            const wisp_status status = table[i].fn(&f, null);
            const char *words = wisp_ctx_message(f.ctx);
            if (status != (allowed ? WISP_OK : WISP_ERR_ARG))
                fail_msg("%s without pointer %d: %s (%s)", table[i].name, null, wisp_status_string(status), words);
            if (!allowed && !silent && (!strstr(words, table[i].name) || !strstr(words, " is NULL")))
                fail_msg("%s without pointer %d says: %s", table[i].name, null, words);
        }
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function), cmocka_unit_test(null_pointers)};
    return REF_RUN(tests);
}
