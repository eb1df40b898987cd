/* Every function of base.h, source.h, matrix.h, slot.h, ops.h, machine.h and positions.h with each of its
   pointers NULL in turn, and numbers that are out of range: a status, with a message where there is a context, and no
   crash. */
#include "arguments.h"

static int fill_element(void *arg, int64_t row, int column, void *value)
{
    (void)arg;
    *(double *)value = (double)(row + column);
    return 0;
}

/* ---- context --------------------------------------------------------------------------------- */

MAKES(wisp_ctx_create, wisp_ctx, wisp_ctx_free, P(0, &made), P(1, &(wisp_ctx_opts){.threads = 1}))
PROCEDURE(wisp_ctx_free, P(0, (wisp_ctx *)NULL))
CALL(wisp_ctx_message)
{
    char text[4];
    wisp_ctx_fail(f->ctx, WISP_ERR_ARG, "words");
    wisp_ctx_fail(NULL, WISP_ERR_ARG, "other words");
    const char *said = wisp_ctx_message(P(0, f->ctx), P(1, text), sizeof text);
    return strcmp(said, null == 1 ? "" : null == 0 ? "oth" : "wor") ? WISP_ERR_ARG : WISP_OK;
}
QUERY(wisp_ctx_threads, P(0, f->ctx))
QUERY(wisp_ctx_steps_per_call, P(0, f->ctx))
QUERY(wisp_tsm_gram_bytes, P(0, f->ctx), WISP_D, 100, 4, 4)
PLAIN(wisp_ctx_finish, P(0, f->ctx))
static void do_nothing(void *arg, int64_t i, int part) { (void)arg, (void)i, (void)part; }
PLAIN(wisp_ctx_each, P(0, f->ctx), 2, P(1, do_nothing), P(2, val))
QUERY(wisp_ctx_device, P(0, f->ctx))
QUERY(wisp_ctx_isa, P(0, f->ctx))
CALL(wisp_ctx_device_of)
{
    int ranks = 7;
    const char *name = wisp_ctx_device_of(P(0, f->ctx), 0, P(1, &ranks));
    if (null < 0 && (wisp_ctx_device_of(f->ctx, 1, NULL) || wisp_ctx_device_of(f->ctx, -1, NULL))) return WISP_ERR_ARG;
    return name && (null == 1 || ranks == 1) ? WISP_OK : WISP_ERR_ARG;
}
QUERY(wisp_ctx_look_every, P(0, f->ctx))
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
CALL(wisp_model_memory) { return wisp_model_memory(P(0, f->ctx), 1, 1, 0, 1) > 0 ? WISP_OK : WISP_ERR_ARG; }
CALL(wisp_model_overlap) { return wisp_model_overlap(P(0, f->ctx), 1, 1, 0) > 0 ? WISP_OK : WISP_ERR_ARG; }
CALL(wisp_ctx_memory)
{
    int64_t now = 7, peak = 7;
    wisp_ctx_memory(P(0, f->ctx), P(1, &now), P(2, &peak));
    return now > 0 && peak > 0 ? WISP_OK : WISP_ERR_ARG;
}
CALL(wisp_ctx_count_memory)
{
    int64_t before, now;
    wisp_ctx_memory(f->ctx, &before, NULL);
    const wisp_status status = wisp_ctx_count_memory(P(0, f->ctx), 1000);
    wisp_ctx_memory(f->ctx, &now, NULL);
    if (status != WISP_OK) return status;
    return now == before + 1000 ? wisp_ctx_count_memory(f->ctx, -1000) : WISP_ERR_ARG;
}
CALL(wisp_ctx_device_memory)
{
    int64_t now = 7, peak = 7, limit = 7;
    wisp_ctx_device_memory(P(0, f->ctx), P(1, &now), P(2, &peak), P(3, &limit));
    const int left = (now == 7) << 1 | (peak == 7) << 2 | (limit == 7) << 3;
    return left == (null > 0 ? 1 << null : 0) ? WISP_OK : WISP_ERR_ARG;
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
    return wisp_ctx_fail(P(0, f->ctx), null < 0 ? WISP_OK : WISP_ERR_ARG, words);
}
CALL(wisp_ctx_log)
{
    const char *words = P(1, "words");
    wisp_ctx_log(P(0, f->ctx), WISP_LOG_DEBUG, words);
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
PLAIN(wisp_file_write, P(0, f->ctx), P(1, f->mtx), P(2, "text"), 4)
PLAIN(wisp_file_check, P(0, f->ctx), P(1, f->mtx))
CALL(wisp_file_create)
{
    wisp_file *file = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/piece.txt", f->folder);
    const wisp_status status = wisp_file_create(P(0, &file), P(1, f->ctx), P(2, path));
    wisp_file_free(file);
    return access(path, F_OK) ? status : WISP_ERR_ARG;
}
CALL(wisp_file_temporary)
{
    wisp_file *file = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/piece.txt", f->folder);
    REF_OK(f->ctx, wisp_file_create(&file, f->ctx, path));
    const char *name = wisp_file_temporary(P(0, file));
    const wisp_status status = name ? access(name, W_OK) ? WISP_ERR_ARG : WISP_OK : null == 0 ? WISP_OK : WISP_ERR_ARG;
    wisp_file_free(file);
    return status;
}
CALL(wisp_file_commit)
{
    wisp_file *file = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/piece.txt", f->folder);
    REF_OK(f->ctx, wisp_file_create(&file, f->ctx, path));
    wisp_status status = wisp_file_commit(P(0, file));
    if (status == WISP_OK && wisp_file_commit(file) != WISP_ERR_ARG) status = WISP_ERR_IO;
    if (status == WISP_OK && unlink(path)) status = WISP_ERR_IO;
    wisp_file_free(file);
    return status;
}
PROCEDURE(wisp_file_free, P(0, (wisp_file *)NULL))
QUERY(wisp_file_same, P(0, f->mtx), P(1, f->mtx))
QUERY(wisp_matrix_name, P(0, f->mtx))
QUERY(wisp_device_info, 0, P(0, &(wisp_device){0}))
CALL(wisp_device_find) { return (void)f, wisp_device_find(P(0, "cpu:0")) == 0 ? WISP_OK : WISP_ERR_ARG; }
PLAIN(wisp_ctx_set_machine, P(0, f->ctx), P(1, &(wisp_machine){0}))
PLAIN(wisp_machine_kernels, P(0, f->ctx), P(1, &(wisp_machine){0}))
PLAIN(wisp_machine_measure, P(0, f->ctx), P(1, &(wisp_machine){0}), 0)
PLAIN(wisp_load_bandwidth, P(0, f->ctx), P(1, &(double){0}))
PLAIN(wisp_ctx_placement, P(0, f->ctx), P(1, (int[4096]){0}))

/* ---- sources, maps, matrices ----------------------------------------------------------------- */

SOURCE(wisp_src_open, P(1, f->ctx), P(2, "laplace:nx=3"))
SOURCE(wisp_src_open_file, P(1, f->ctx), P(2, f->mtx))
SOURCE(wisp_src_open_gallery, P(1, f->ctx), P(2, "laplace:nx=3"))
SOURCE(wisp_src_open_crs, P(1, f->ctx), P(2, &crs))
SOURCE(wisp_src_hermitian_part, P(1, f->ctx), P(2, &f->src), P(3, &(double){0}))
SOURCE(wisp_src_part, P(1, f->ctx), P(2, &f->src), WISP_PART_ANTIHERMITIAN)
SOURCE(wisp_src_adjoint, P(1, f->ctx), P(2, &f->src))
SOURCE(wisp_src_augmented, P(1, f->ctx), P(2, &f->src))
SOURCE(wisp_src_partition, P(1, f->ctx), P(2, &f->src), WISP_PARTITION_LEVELS)
SOURCE(wisp_src_near, P(1, f->ctx), P(2, &f->src), P(3, (int64_t[1]){0}), 1, 1, 9, P(4, (int64_t[1]){0}))
PLAIN(wisp_src_deal, P(0, &f->src), P(1, f->ctx), P(2, (int64_t[1]){1}))
CALL(wisp_src_numbers) { return wisp_src_numbers(P(0, &f->src)) ? WISP_ERR_ARG : WISP_OK; }
SOURCE(wisp_src_open_mat, P(1, f->A))
CALL(wisp_positions_open_gallery)
{
    wisp_positions p = {0};
    const wisp_status status = wisp_positions_open_gallery(P(0, &p), P(1, f->ctx), P(2, "square:nx=3"));
    wisp_positions_close(&p);
    return status;
}
CALL(wisp_positions_open_array)
{
    wisp_positions p = {0};
    const wisp_status status = wisp_positions_open_array(P(0, &p), P(1, f->ctx), 2, 1, P(2, ((double[2]){0, 1})),
                                                         P(3, ((double[3]){9, 0, 0})), 1);
    wisp_positions_close(&p);
    return status;
}
CALL(wisp_positions_open_file)
{
    wisp_positions p = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/p.txt", f->folder);
    REF_OK(f->ctx, wisp_file_write(f->ctx, path, "1\n2\n", 4));
    const wisp_status status =
        wisp_positions_open_file(P(0, &p), P(1, f->ctx), P(2, path), 2, P(3, ((double[3]){9, 0, 0})), 1);
    wisp_positions_close(&p);
    unlink(path);
    return status;
}
static int place_on_line(void *arg, int64_t row, double *xyz)
{
    (void)arg;
    xyz[0] = (double)row, xyz[1] = xyz[2] = 0;
    return 0;
}
SOURCE(wisp_src_velocity, P(1, f->ctx), P(2, &f->src),
       P(3, (&(wisp_positions){.rows = ROWS, .dimensions = 1, .at = place_on_line})), P(4, ((double[3]){1, 0, 0})),
       WISP_VELOCITY)
SOURCE(wisp_src_peierls, P(1, f->ctx), P(2, &f->src),
       P(3, (&(wisp_positions){.rows = ROWS, .dimensions = 1, .at = place_on_line})), 0.1)
PLAIN(wisp_positions_fit_wave, P(0, (&(wisp_positions){.rows = ROWS, .dimensions = 1, .at = place_on_line})),
      P(1, (double[3]){1}))
PLAIN(wisp_blk_fill_waves, P(0, f->psi),
      P(1, (&(wisp_positions){.rows = ROWS, .dimensions = 1, .at = place_on_line, .orbitals = 1})),
      P(2, (double[3 * WIDTH]){1}), P(3, (int[WIDTH]){0}))
PROCEDURE(wisp_positions_close, P(0, &(wisp_positions){0}))
PROCEDURE(wisp_src_close, P(0, &(wisp_src){0}))
PLAIN(wisp_src_write, P(0, &f->src), P(1, f->ctx), P(2, f->mtx), P(3, &(wisp_write_opts){0}))
MAKES(wisp_map_create, wisp_map, wisp_map_free, P(0, &made), P(1, f->ctx), ROWS)
PROCEDURE(wisp_map_free, P(0, (wisp_map *)NULL))
MAKES(wisp_map_create_weighted, wisp_map, wisp_map_free, P(0, &made), P(1, f->ctx), ROWS, P(2, (int64_t[1]){1}))
CALL(wisp_map_weights) { return wisp_map_weights(P(0, f->map)) ? WISP_ERR_ARG : WISP_OK; }
QUERY(wisp_map_rows, P(0, f->map))
QUERY(wisp_map_local, P(0, f->map), P(1, &(int64_t){0}))
QUERY(wisp_map_is_natural, P(0, f->map))
MAKES(wisp_mat_create, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx), P(2, &f->src), P(3, &(wisp_mat_opts){0}))
MAKES(wisp_map_create_ordered, wisp_map, wisp_map_free, P(0, &made), P(1, f->ctx), P(2, &f->src),
      P(3, &(wisp_mat_opts){0}))
MAKES(wisp_mat_open, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx), P(2, f->mtx), P(3, &(wisp_mat_opts){0}))
MAKES(wisp_mat_adjoint, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->A), P(2, &(wisp_mat_opts){0}))
MAKES(wisp_mat_borrow_crs, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx), P(2, &crs))
static wisp_status apply_nothing(void *arg, wisp_blk *y, const wisp_blk *x)
{
    (void)arg, (void)y, (void)x;
    return WISP_OK;
}
MAKES(wisp_mat_from_apply, wisp_mat, wisp_mat_free, P(0, &made), P(1, f->ctx),
      P(2, (&(wisp_operator){.map = f->map, .type = WISP_D, .apply = apply_nothing})))
CALL(wisp_mat_get_operator)
{
    wisp_mat *made;
    wisp_operator op = {.map = f->map, .type = WISP_D, .apply = apply_nothing, .arg = f};
    REF_OK(f->ctx, wisp_mat_from_apply(&made, f->ctx, &op));
    assert_int_equal(wisp_mat_get_operator(f->A, &op), WISP_ERR_UNSUPPORTED);
    assert_null(op.apply);
    const wisp_status status = wisp_mat_get_operator(P(0, made), P(1, &op));
    wisp_mat_free(made);
    return status;
}
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
QUERY(wisp_mat_reached, P(0, f->A), 1)
PLAIN(wisp_mat_bound, P(0, f->ctx), P(1, &f->src), P(2, &(wisp_mat_opts){0}), P(3, &(wisp_mat_info){0}))
PLAIN(wisp_mat_plan, P(0, f->ctx), P(1, &f->src), P(2, &(wisp_mat_opts){0}), P(3, &(wisp_mat_info){0}))
PLAIN(wisp_src_choose, P(0, f->ctx), P(1, &f->src), P(2, &(wisp_mat_opts){0}), WISP_D, 4, 8, P(3, &(wisp_choice){0}))
PLAIN(wisp_mat_choose, P(0, f->A), WISP_D, 4, 8, P(1, &(wisp_choice){0}))
PLAIN(wisp_src_weights, P(0, f->ctx), P(1, &f->src), P(2, (int64_t[1]){0}))
PLAIN(wisp_mat_weights, P(0, f->A), WISP_D, WIDTH, P(1, (int64_t[1]){0}))
PLAIN(wisp_mat_gather, P(0, f->A), WISP_D, WIDTH, P(1, &(wisp_gather){0}))
PLAIN(wisp_mat_get_props, P(0, f->A), P(1, &(wisp_mat_props){0}))
PLAIN(wisp_mat_diagonal, P(0, f->A), WISP_D, P(1, (double[ROWS]){0}))
PLAIN(wisp_mat_row_histogram, P(0, f->A), P(1, (int64_t[3]){0}), 3)
PLAIN(wisp_mat_fill_in, P(0, f->A), 4, 1, P(1, &(double){0}))

/* ---- blocks and ops -------------------------------------------------------------------------- */

MAKES(wisp_blk_create, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->ctx), P(2, f->map), WISP_D, WIDTH)
MAKES(wisp_blk_create_raw, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->ctx), P(2, f->map), WISP_D, WIDTH)
MAKES(wisp_blk_borrow, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->ctx), P(2, f->map), WISP_D, 1, P(3, val), 1)
MAKES(wisp_blk_cols, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->x), 0, 1)
MAKES(wisp_blk_pick, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->x), 1, P(2, (int[]){1}))
MAKES(wisp_blk_rows, wisp_blk, wisp_blk_free, P(0, &made), P(1, f->x), 0, 1)
PROCEDURE(wisp_blk_free, P(0, (wisp_blk *)NULL))
QUERY(wisp_blk_width, P(0, f->x))
QUERY(wisp_blk_nrows, P(0, f->x))
QUERY(wisp_blk_type, P(0, f->x))
QUERY(wisp_blk_map, P(0, f->x))
QUERY(wisp_blk_ctx, P(0, f->x))
PLAIN(wisp_blk_fill, P(0, f->x), ONE)
PLAIN(wisp_blk_fill_fn, P(0, f->x), P(1, fill_element), P(2, val))
PLAIN(wisp_blk_fill_random, P(0, f->x), WISP_RANDOM_GAUSS, 1, 2, 3)
PLAIN(wisp_blk_fill_units, P(0, f->x), P(1, col))
PLAIN(wisp_blk_put, P(0, f->x), WISP_ROW_MAJOR, P(1, (double[ROWS * WIDTH]){0}), WIDTH)
PLAIN(wisp_blk_get, P(0, f->x), WISP_ROW_MAJOR, P(1, (double[ROWS * WIDTH]){0}), WIDTH)
PLAIN(wisp_blk_lend, P(0, f->x), WISP_READ, P(1, &(void *){NULL}), P(2, &(int64_t){0}))
PLAIN(wisp_blk_return, P(0, f->x))
MAKES(wisp_slot_create, wisp_slot, wisp_slot_free, P(0, &made), P(1, f->ctx), 1)
PROCEDURE(wisp_slot_free, P(0, (wisp_slot *)NULL))
PLAIN(wisp_slot_write, P(0, f->slot), 0, 1, P(1, &ONE))
PLAIN(wisp_slot_read, P(0, f->slot), 0, 1, P(1, &ONE))
PLAIN(wisp_slot_sum, P(0, f->slot), 0, 1)
PLAIN(wisp_scalars, ((wisp_place){P(0, f->slot), 0}), WISP_STEP_CG, 1, P(1, ((double[WISP_NUMBERS]){-1})))
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
PLAIN(wisp_tsm_gram_at, ((wisp_place){P(0, f->slot), 0}), WIDTH, P(1, f->x), P(2, f->y), 0)
PLAIN(wisp_tsm_gram, P(0, (wisp_scalar[WIDTH * WIDTH]){{0}}), WIDTH, ONE, P(1, f->x), P(2, f->y), ONE, 0)
PLAIN(wisp_tsm_update_at, P(0, f->y), ONE, P(1, f->x), ((wisp_place){P(2, f->slot), 0}), WIDTH, ONE, 0)
PLAIN(wisp_tsm_update, P(0, f->y), ONE, P(1, f->x), P(2, (wisp_scalar[WIDTH * WIDTH]){{0}}), WIDTH, ONE)
PLAIN(wisp_spmmv, P(0, f->y), P(1, f->A), P(2, f->x), P(3, &(wisp_aug){0}))
PLAIN(wisp_mpk, P(0, ((wisp_blk *[]){f->x, f->y})), 2, P(1, f->A), P(2, &(wisp_mpk_opts){.steps = 1}))
PLAIN(wisp_fuse_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), 10, WISP_D, WIDTH, 1, 1)
PLAIN(wisp_mpk_plan, P(0, &(wisp_plan){0}), P(1, f->ctx), P(2, &f->info), WISP_D, WIDTH,
      P(3, &(wisp_mpk_opts){.steps = 1}), P(4, &(wisp_choice){0}))
#define UPDATE (&(wisp_update){f->y, 1, &(wisp_term){.x = f->x}})
#define INNER (&(wisp_inner){.x = f->y, .y = f->x, .dot = (wisp_scalar[WIDTH]){{0}}})
PLAIN(wisp_fuse, P(0, UPDATE), 1, P(1, INNER), 1, 0)
PLAIN(wisp_fuse_cost, P(0, UPDATE), 1, P(1, INNER), 1, P(2, &(wisp_cost){0}))
CALL(wisp_ctx_counts)
{
    wisp_counts c = {0};
    wisp_ctx_counts(P(0, f->ctx), P(1, &c));
    return c.passes > 0 ? WISP_OK : WISP_ERR_ARG;
}
PLAIN(wisp_spmmv_cost, P(0, f->A), WISP_D, WIDTH, 0, P(1, &(wisp_cost){0}))

/* ---- the table ------------------------------------------------------------------------------- */

static const argument_row table[] = {
    ROW(wisp_ctx_create, 2, 2, 1),
    ROW(wisp_ctx_free, 1, 0, ALL),
    ROW(wisp_ctx_message, 2, 3, ALL),
    ROW(wisp_ctx_threads, 1, 0, ALL),
    ROW(wisp_ctx_steps_per_call, 1, 0, ALL),
    ROW(wisp_tsm_gram_bytes, 1, 0, ALL),
    ROW(wisp_ctx_finish, 1, 0, 1),
    ROW(wisp_ctx_each, 3, 4, 1),
    ROW(wisp_ctx_device, 1, 0, ALL),
    ROW(wisp_ctx_device_of, 2, 1 << 1, ALL),
    ROW(wisp_ctx_isa, 1, 0, ALL),
    ROW(wisp_ctx_look_every, 1, 0, ALL),
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
    ROW(wisp_ctx_count_memory, 1, 0, ALL),
    ROW(wisp_ctx_device_memory, 4, 15, ALL),
    ROW(wisp_model_memory, 1, 0, 1),
    ROW(wisp_model_overlap, 1, 0, 1),
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
    ROW(wisp_device_info, 1, 1, ALL),
    ROW(wisp_device_find, 1, 0, ALL),
    ROW(wisp_ctx_set_machine, 2, 0, 1),
    ROW(wisp_machine_kernels, 2, 0, 1),
    ROW(wisp_machine_measure, 2, 0, 1),
    ROW(wisp_load_bandwidth, 2, 0, 1),
    ROW(wisp_ctx_placement, 2, 0, 1),
    ROW(wisp_src_open, 3, 0, 2),
    ROW(wisp_src_open_file, 3, 0, 2),
    ROW(wisp_src_open_gallery, 3, 0, 2),
    ROW(wisp_src_open_crs, 3, 0, 2),
    ROW(wisp_src_hermitian_part, 4, 8, 2),
    ROW(wisp_src_part, 3, 0, 2),
    ROW(wisp_src_adjoint, 3, 0, 2),
    ROW(wisp_src_augmented, 3, 0, 2),
    ROW(wisp_src_partition, 3, 0, 2),
    ROW(wisp_src_near, 5, 0, 2),
    ROW(wisp_src_deal, 3, 4, 2),
    ROW(wisp_src_numbers, 1, 1, ALL),
    ROW(wisp_src_open_mat, 2, 0, 2),
    ROW(wisp_positions_open_gallery, 3, 0, 2),
    ROW(wisp_positions_open_file, 4, 0, 2),
    ROW(wisp_positions_open_array, 4, 0, 2),
    ROW(wisp_src_velocity, 5, 0, 2),
    ROW(wisp_src_peierls, 4, 0, 2),
    ROW(wisp_blk_fill_waves, 4, 8, 1),
    ROW(wisp_positions_fit_wave, 2, 0, ALL),
    ROW(wisp_positions_close, 1, 0, ALL),
    ROW(wisp_src_close, 1, 0, ALL),
    ROW(wisp_src_write, 4, 8, 2),
    ROW(wisp_map_create, 2, 0, 2),
    ROW(wisp_map_free, 1, 0, ALL),
    ROW(wisp_map_create_weighted, 3, 4, 2),
    ROW(wisp_map_weights, 1, 1, ALL),
    ROW(wisp_map_rows, 1, 0, ALL),
    ROW(wisp_map_local, 2, 2, ALL),
    ROW(wisp_map_is_natural, 1, 0, ALL),
    ROW(wisp_mat_create, 4, 8, 2),
    ROW(wisp_map_create_ordered, 4, 8, 2),
    ROW(wisp_mat_open, 4, 8, 2),
    ROW(wisp_mat_adjoint, 3, 4, 2),
    ROW(wisp_mat_borrow_crs, 3, 0, 2),
    ROW(wisp_mat_from_apply, 3, 0, 2),
    ROW(wisp_mat_get_operator, 2, 0, 1),
    ROW(wisp_mat_update, 2, 0, 1),
    ROW(wisp_mat_free, 1, 0, ALL),
    ROW(wisp_mat_get_info, 2, 0, ALL),
    ROW(wisp_mat_map, 1, 0, ALL),
    ROW(wisp_mat_col_map, 1, 0, ALL),
    ROW(wisp_mat_ctx, 1, 0, ALL),
    ROW(wisp_mat_reached, 1, 0, ALL),
    ROW(wisp_mat_bound, 4, 4, 1),
    ROW(wisp_mat_plan, 4, 4, 1),
    ROW(wisp_src_choose, 4, 4, 1),
    ROW(wisp_mat_choose, 2, 0, 1),
    ROW(wisp_src_weights, 3, 0, 1),
    ROW(wisp_mat_weights, 2, 0, 1),
    ROW(wisp_mat_gather, 2, 0, 1),
    ROW(wisp_mat_get_props, 2, 0, 1),
    ROW(wisp_mat_diagonal, 2, 0, 1),
    ROW(wisp_mat_row_histogram, 2, 0, 1),
    ROW(wisp_mat_fill_in, 2, 0, 1),
    ROW(wisp_blk_create, 3, 0, 2),
    ROW(wisp_blk_create_raw, 3, 0, 2),
    ROW(wisp_blk_borrow, 4, 0, 2),
    ROW(wisp_blk_cols, 2, 0, 2),
    ROW(wisp_blk_pick, 3, 0, 2),
    ROW(wisp_blk_rows, 2, 0, 2),
    ROW(wisp_blk_free, 1, 0, ALL),
    ROW(wisp_blk_width, 1, 0, ALL),
    ROW(wisp_blk_nrows, 1, 0, ALL),
    ROW(wisp_blk_type, 1, 0, ALL),
    ROW(wisp_blk_map, 1, 0, ALL),
    ROW(wisp_blk_ctx, 1, 0, ALL),
    ROW(wisp_blk_fill, 1, 0, 1),
    ROW(wisp_blk_fill_fn, 3, 4, 1),
    ROW(wisp_blk_fill_random, 1, 0, 1),
    ROW(wisp_blk_fill_units, 2, 0, 1),
    ROW(wisp_blk_put, 2, 0, 1),
    ROW(wisp_blk_get, 2, 0, 1),
    ROW(wisp_blk_lend, 3, 4, 1),
    ROW(wisp_blk_return, 1, 0, 1),
    ROW(wisp_slot_create, 2, 0, 2),
    ROW(wisp_slot_free, 1, 0, ALL),
    ROW(wisp_slot_write, 2, 0, 1),
    ROW(wisp_slot_read, 2, 0, 1),
    ROW(wisp_slot_sum, 1, 0, 1),
    ROW(wisp_scalars, 2, 0, 1),
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
    ROW(wisp_tsm_gram_at, 3, 0, 0),
    ROW(wisp_tsm_update, 3, 0, 0),
    ROW(wisp_tsm_update_at, 3, 0, 0),
    ROW(wisp_spmmv, 4, 8, 0),
    ROW(wisp_mpk, 3, 0, 2),
    ROW(wisp_mpk_plan, 5, 16, 2),
    ROW(wisp_fuse, 2, 0, 0),
    ROW(wisp_fuse_plan, 2, 0, 2),
    ROW(wisp_fuse_cost, 3, 0, 0),
    ROW(wisp_ctx_counts, 2, 0, ALL),
    ROW(wisp_spmmv_cost, 2, 0, 1),
    ROW(wisp_file_write, 3, 0, 1),
    ROW(wisp_file_check, 2, 0, 1),
    ROW(wisp_file_create, 3, 0, 2),
    ROW(wisp_file_temporary, 1, 1, 0),
    ROW(wisp_file_commit, 1, 0, 1),
    ROW(wisp_file_free, 1, 0, ALL),
    ROW(wisp_file_same, 2, 0, ALL),
    ROW(wisp_matrix_name, 1, 0, ALL),
};
/* Those that take no pointer. */
static const char *const others[] = {"wisp_status_string",   "wisp_version",   "wisp_features",  "wisp_type_size",
                                     "wisp_type_is_complex", "wisp_halo_name", "wisp_type_name", "wisp_gallery_list",
                                     "wisp_level_name",      "wisp_rows_name", "wisp_now",       "wisp_word_distance"};

static const argument_table all = {table, sizeof table / sizeof *table, others, sizeof others / sizeof *others};

static void every_function(void **state)
{
    static const char *const header[] = {
        TEST_DATA "/../../include/wisp/base.h",    TEST_DATA "/../../include/wisp/source.h",
        TEST_DATA "/../../include/wisp/matrix.h",  TEST_DATA "/../../include/wisp/slot.h",
        TEST_DATA "/../../include/wisp/steps.h",   TEST_DATA "/../../include/wisp/ops.h",
        TEST_DATA "/../../include/wisp/machine.h", TEST_DATA "/../../include/wisp/positions.h"};
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
