/* Ops on blocks of a GPU's: element-wise ones, tall and skinny ones, steps of scalars. */
#include "gpu.h"
#include <stdlib.h>

wisp_status wisp__gpu_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count)
{
    const void *const from[4] = {p->a, p->aw, p->b, p->bw};
    const size_t numbers = 4 * (size_t)p->period;
    k_axpby k = {.count = count,
                 .period = p->period,
                 .ld_x = p->ld_x,
                 .ld_y = p->ld_y,
                 .swaps = p->aw || p->bw,
                 .reads_y = p->b || p->b_is_one};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    double *f = calloc(numbers, sizeof *f);
    if (!f) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %zu factors", numbers);
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < p->period; i++)
            f[s * p->period + i] = from[s] ? wisp__gpu_real_at(from[s], is_double, i) : s == 2 && p->b_is_one ? 1 : 0;
    wisp__gpu_at(&c, B_X, p->x);
    wisp__gpu_at(&c, B_Y, p->y);
    wisp__gpu_staged(&c, B_FACTORS, f, numbers * sizeof *f);
    const wisp_status status = wisp__gpu_launch(&c, "axpby", wisp__gpu_groups(c.g, count * k.period),
                                                "#define REAL %s\n#define PARTS 1\n", WISP__GPU_REAL(is_double));
    free(f);
    return status;
}

/* ---- tall and skinny --------------------------------------------------------------------------- */

/* Columns of a block that an item has at once. */
static int item_columns(int columns) { return columns > 1 ? 4 : 1; }

/* How a group's items share a tile of sums: v_items along V's columns by w_items along W's, doubled in turn until all
   columns are covered or the group is full. */
static void set_tile(k_gram *k, int group, int item_v, int item_w)
{
    const int64_t v = (k->p + item_v - 1) / item_v, w = (k->q + item_w - 1) / item_w;
    k->v_items = k->w_items = 1;
    while (k->v_items * k->w_items < group && (k->v_items < v || k->w_items < w)) {
        if (k->w_items < w && (k->w_items <= k->v_items || k->v_items >= v))
            k->w_items *= 2;
        else
            k->v_items *= 2;
    }
    const int64_t abreast = group / (k->v_items * k->w_items);
    k->tile_rows = G_GRAM_REALS(group) / (item_v * k->v_items + item_w * k->w_items) / abreast * abreast;
}

enum { GRAM_GROUPS = 1024 }; /* enough for the device */

/* Rows of a block, of which each has its sums: enough for all items, and so many that the sums of all blocks, which are
   written and read again, are a part of V and W, and few bytes. */
static int64_t rows_per_block(const k_gram *k, int group, int real)
{
    enum { SUMS = 1 << 20, PART = 32, LEAST = 64, TURNS = 8 };
    const int64_t size = k->p * k->q, blocks = WISP__MIN(WISP__MAX(SUMS / size, 1), GRAM_GROUPS);
    const int64_t part = PART * size * (int64_t)sizeof(double) / ((k->p + k->q) * real);
    const int64_t abreast = group / (k->v_items * k->w_items), least = WISP__MAX(TURNS * abreast, LEAST);
    return WISP__MAX(WISP__MAX((k->rows + blocks - 1) / blocks, least), part);
}

/* Where blocks are fewer than groups are to be, several groups share the tiles of one. */
static int64_t shares_of(const k_gram *k, int64_t blocks, int item_v, int item_w)
{
    const int64_t v = item_v * k->v_items, w = item_w * k->w_items;
    const int64_t tiles = (k->p + v - 1) / v * ((k->q + w - 1) / w);
    return WISP__MAX(WISP__MIN(tiles, GRAM_GROUPS / WISP__MAX(blocks, 1)), 1);
}

wisp_status wisp__gpu_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                           int64_t per_block, double *sum)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    const int64_t size = (int64_t)p->p * p->q;
    const int item_v = item_columns(p->p), item_w = item_columns(p->q);
    k_gram k = {.rows = p->rows, .p = p->p, .q = p->q, .ld_v = p->ld_v, .ld_w = p->ld_w, .same = p->same};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    wisp_status status;
    (void)per_block;
    set_tile(&k, g->group_size, item_v, item_w);
    k.rows_per_block = rows_per_block(&k, g->group_size, (int)wisp__real_bytes(is_double));
    const int64_t blocks = (k.rows + k.rows_per_block - 1) / k.rows_per_block;
    k.shares = shares_of(&k, blocks, item_v, item_w);
    WISP_TRY(wisp__gpu_room(g, &g->partial, (size_t)(blocks * size) * (compensated ? 2 : 1) * sizeof(double)));
    if (k.rows > 0) {
        wisp__gpu_at(&c, T_V, p->v);
        wisp__gpu_at(&c, T_W, p->w);
    }
    wisp__gpu_own(&c, T_X, g->partial, 0);
    WISP_TRY(wisp__gpu_launch(&c, "gram", blocks * k.shares,
                              "#define REAL %s\n#define PARTS 1\n#define ITEM_V %d\n#define ITEM_W %d\n%s",
                              WISP__GPU_REAL(is_double), item_v, item_w, compensated ? WISP__GPU_COMPENSATED : ""));
    status = wisp__gpu_sum(ctx, 0, blocks, size, false, sum, compensated ? sum + size : NULL);
out:
    return status;
}

wisp_status wisp__gpu_join(wisp_ctx *ctx, const wisp__join_params *p)
{
    k_join k = {.ld = p->ld,
                .v = p->v,
                .w = p->w,
                .v_count = p->v_count,
                .w_count = p->w_count,
                .reals = p->reals,
                .compensated = p->compensated,
                .mirror = p->mirror};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    wisp__gpu_at(&c, J_SUM, p->sum);
    wisp__gpu_at(&c, J_TO, p->to);
    return wisp__gpu_launch(&c, "join", wisp__gpu_groups(c.g, k.v_count * k.w_count), "%s", "");
}

/* Items of a tile along W's columns. */
static int tall_items(const wisp__gpu *g, int q)
{
    enum { MOST = 32 };
    int items = 1;
    while (items * item_columns(q) < q && items < MOST && items < g->group_size) items *= 2;
    return items;
}

/* X in a place becomes x as kernels take it, in the memory for sums of groups: so a call allocates nothing for it. */
static wisp_status take_apart(wisp_ctx *ctx, bool is_double, const wisp__update_params *p)
{
    const wisp__apart *f = &p->x_from;
    k_apart k = {.rows = p->p / f->reals,
                 .columns = p->q / f->reals,
                 .ld_from = f->ld,
                 .ld_x = p->ld_x,
                 .adjoint = f->adjoint,
                 .reals = f->reals,
                 .alpha = {f->alpha[0], f->alpha[1]}};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    wisp_status status;
    WISP_TRY(wisp__gpu_room(c.g, &c.g->partial, (size_t)(p->p * p->ld_x) * wisp__real_bytes(is_double)));
    wisp__gpu_at(&c, P_FROM, f->at);
    wisp__gpu_own(&c, P_X, c.g->partial, 0);
    status = wisp__gpu_launch(&c, "apart", wisp__gpu_groups(c.g, k.rows * k.columns),
                              "#define REAL %s\n#define PARTS 1\n", WISP__GPU_REAL(is_double));
out:
    return status;
}

/* Rows first .. end - 1; of V in memory of the backend's own, if that is given. */
static wisp_status update_rows(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t first, int64_t end,
                               const wisp__gpu_buffer *own)
{
    const int64_t real = (int64_t)wisp__real_bytes(is_double);
    const wisp__gpu *g = wisp__gpu_of(ctx);
    const int items = tall_items(g, p->q), columns = item_columns(p->q), rows = items >= 4 ? 4 : columns > 1 ? 2 : 1;
    const int64_t tile = (int64_t)(g->group_size / items) * rows;
    k_tall k = {.rows = end - first,
                .p = p->p,
                .q = p->q,
                .ld_v = own ? p->p : p->ld_v,
                .ld_w = p->ld_w,
                .ld_x = p->ld_x,
                .reads_w = p->reads_w,
                .pairs = p->beta[1] != 0,
                .upper = p->upper,
                .w_items = items,
                .whole = (int64_t)p->p * items * columns <= G_TALL_REALS,
                .beta = {p->beta[0], p->beta[1]}};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    if (own)
        wisp__gpu_own(&c, T_V, own, 0);
    else
        wisp__gpu_at(&c, T_V, (const char *)p->v + first * p->ld_v * real);
    wisp__gpu_at(&c, T_W, (char *)p->w + first * p->ld_w * real);
    if (p->x)
        wisp__gpu_staged(&c, T_X, p->x, (size_t)(p->p * p->ld_x * real));
    else
        wisp__gpu_own(&c, T_X, c.g->partial, 0);
    return wisp__gpu_launch(&c, "tall", WISP__MIN((k.rows + tile - 1) / tile, g->most_groups),
                            "#define REAL %s\n#define PARTS 1\n#define ITEM_ROWS %d\n#define ITEM_COLUMNS %d\n",
                            WISP__GPU_REAL(is_double), rows, columns);
}

/* In place, a group has read its rows of V before it writes them, if a tile has all columns. Else rows of V are copied
   first, some at a time. */
static wisp_status update_in_place(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    enum { COPY = 4 << 20 };
    const int real = (int)wisp__real_bytes(is_double);
    const int64_t slab = WISP__MAX(COPY / ((int64_t)p->p * real), 1);
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp__gpu_buffer *own = NULL;
    wisp_status status = WISP_OK;
    if (tall_items(g, p->q) * item_columns(p->q) >= p->q) return update_rows(ctx, is_double, p, 0, rows, NULL);
    WISP_TRY(wisp__gpu_room(g, &own, (size_t)(WISP__MIN(slab, rows) * p->p * real)));
    for (int64_t first = 0, end; first < rows; first = end) {
        end = WISP__MIN(first + slab, rows);
        const wisp__columns_params copy = {.from = (const char *)p->v + first * p->ld_v * real,
                                           .ld_from = p->ld_v,
                                           .ld_to = p->p,
                                           .width = p->p,
                                           .from_bytes = real,
                                           .to_bytes = real,
                                           .reals = 1};
        WISP_TRY(wisp__gpu_columns(ctx, &copy, end - first, NULL, own));
        WISP_TRY(update_rows(ctx, is_double, p, first, end, own));
    }
out:
    wisp__gpu_room_free(g, own);
    return status;
}

wisp_status wisp__gpu_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    wisp_status status = WISP_OK;
    if (rows == 0) return WISP_OK;
    if (!p->x) WISP_TRY(take_apart(ctx, is_double, p));
    status = p->in_place ? update_in_place(ctx, is_double, p, rows) : update_rows(ctx, is_double, p, 0, rows, NULL);
out:
    return status;
}

wisp_status wisp__gpu_scalars(wisp_ctx *ctx, const wisp__scalars_params *p)
{
    k_scalar_step k = {.width = p->width, .step = p->step};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    _Static_assert(sizeof k.uniform == sizeof p->uniform, "numbers of a step");
    memcpy(k.uniform, p->uniform, sizeof k.uniform);
    wisp__gpu_at(&c, N_AT, p->at);
    return wisp__gpu_launch(&c, "scalars", wisp__gpu_groups(c.g, p->width), "%s", "");
}
