/* Sweeps on a GPU (kernel/sweep.gpu.h): a group of work-items for each row block. */
#include "gpu.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- which kernel ------------------------------------------------------------------------------ */

/* The types of the matrix and of the block, as one number. It is compiled when it is first launched. */
enum { TYPES = 8 };
wisp__kernel wisp__gpu_find_spmmv(wisp_ctx *ctx, const wisp__key *key, const wisp__entries *a)
{
    const wisp_type block = wisp__type_of(key->pairs ? 2 : wisp__reals(key->block), wisp__type_is_double(key->block));
    (void)ctx, (void)a;
    return (wisp__kernel){1 + (uintptr_t)key->matrix * TYPES + (uintptr_t)block};
}

_Static_assert(G_SCALE == K_SCALE && G_SHIFT == K_SHIFT && G_AXPBY == K_AXPBY && G_CHAIN == K_CHAIN &&
                   G_DOT_XX == K_DOT_XX && G_DOT_XY == K_DOT_XY && G_DOT_YY == K_DOT_YY && G_DOT_UY == K_DOT_UY &&
                   G_DELTA == K_DELTA && G_ADD == K_ADD,
               "terms of kernels of GPUs are those of params.h");

/* Widths and terms that have kernels of their own. */
static bool is_usual(const wisp__spmmv_params *p)
{
    const unsigned terms = p->terms & ~(unsigned)K_PAIRS;
    return p->width <= 32 && (p->width & (p->width - 1)) == 0 && !p->a.code && !p->a.short_col &&
           (terms == 0 || terms == K_MASK_KPM || terms == (K_MASK_STEP | K_AXPBY));
}

void wisp__gpu_sweep_defines(const wisp__gpu *g, wisp__kernel kernel, const wisp__spmmv_params *p, bool any, char *to,
                             size_t room)
{
    const wisp_type matrix = (wisp_type)((kernel.id - 1) / TYPES), block = (wisp_type)((kernel.id - 1) % TYPES);
    const wisp__entries *a = &p->a;
    char usual[64] = "";
    if (!any && !g->on_cpu && is_usual(p))
        snprintf(usual, sizeof usual, "#define WIDTH %d\n#define TERMS %u\n", p->width, p->terms & ~(unsigned)K_PAIRS);
    snprintf(to, room, "#define REAL %s\n#define PARTS %d\n#define MATRIX_REAL %s\n#define MATRIX_PARTS %d\n%s%s%s%s%s",
             WISP__GPU_REAL(wisp__type_is_double(block)), wisp__reals(block),
             WISP__GPU_REAL(wisp__type_is_double(matrix)), wisp__reals(matrix), a->pattern ? "#define PATTERNS\n" : "",
             a->list ? "#define LISTS\n" : "", a->short_col ? "#define SHORT\n" : "", a->code ? "#define CODES\n" : "",
             usual);
}

/* ---- launches ---------------------------------------------------------------------------------- */

void wisp__gpu_sweep_factors(const wisp__spmmv_params *p, int set, double *to)
{
    wisp__gpu_complex(to, p->factors[set], p->real_bytes == sizeof(double), (int)(p->reals / p->width), p->width,
                      p->reals);
}

/* Factors of columns. room: [2 width] */
static void enter_factors(wisp__gpu_call *c, int i, const wisp__spmmv_params *p, int set, double *room)
{
    if (p->factors_at[set]) {
        wisp__gpu_at(c, i, p->factors_at[set]);
        return;
    }
    wisp__gpu_sweep_factors(p, set, room);
    wisp__gpu_staged(c, i, room, 2 * (size_t)p->width * sizeof *room);
}

static void enter_entries(wisp__gpu_call *c, const wisp__entries *a)
{
    wisp__gpu_at(c, A_CHUNK, a->chunk);
    wisp__gpu_at(c, A_ROW_LEN, a->row_len);
    wisp__gpu_at(c, A_COL, a->short_col ? (const void *)a->short_col : a->col);
    wisp__gpu_at(c, A_VAL, a->val);
    wisp__gpu_at(c, A_CODE, a->code);
    wisp__gpu_at(c, A_LIST, a->pattern ? a->pattern : a->list);
    wisp__gpu_at(c, A_LIST_FIRST, a->list_first);
    wisp__gpu_at(c, A_DIAGONAL, a->diagonal);
}

static k_sweep numbers_of(const wisp__gpu *g, const wisp__spmmv_params *p, const wisp__grid *grid, size_t dot_size)
{
    const int64_t reals = p->reals / p->width;
    return (k_sweep){.rows = p->a.rows,
                     .rows_per_block = grid->chunks_per_block << p->a.log_c,
                     .log_c = p->a.log_c,
                     .width = p->width,
                     .lanes = wisp__gpu_lanes(g, p->width),
                     .terms = p->terms,
                     .ld_gather = p->ld_gather / reals,
                     .ld_x = p->ld_x / reals,
                     .ld_y = p->ld_y / reals,
                     .ld_prev = (p->terms & K_PREV ? p->ld_prev : p->ld_y) / reals,
                     .ld_u = p->ld_u / reals,
                     .dot_size = (int64_t)dot_size,
                     .alpha = {p->alpha[0], p->alpha[1]},
                     .beta = {p->beta[0], p->beta[1]},
                     .delta = {p->delta[0], p->delta[1]}};
}

/* Chain i, of which a sweep does the first. */
static void set_chain(wisp__gpu_call *c, k_sweep *k, const wisp__spmmv_params *p, int i)
{
    wisp__gpu_at(c, A_Z, p->chain[i].z);
    k->ld_z = p->chain[i].ld / (p->reals / p->width);
    memcpy(k->eta, p->chain[i].eta, sizeof k->eta);
}

wisp__gpu_call wisp__gpu_sweep_call(wisp_ctx *ctx, k_sweep *k, const wisp__spmmv_params *p, const wisp__grid *grid,
                                    size_t dot_size)
{
    *k = numbers_of(wisp__gpu_of(ctx), p, grid, p->terms & K_DOTS ? dot_size : 0);
    wisp__gpu_call c = WISP__GPU_CALL(ctx, *k);
    enter_entries(&c, &p->a);
    wisp__gpu_at(&c, A_GATHER, p->gather);
    wisp__gpu_at(&c, A_X, p->x);
    wisp__gpu_at(&c, A_Y, p->y);
    wisp__gpu_at(&c, A_PREV, p->terms & K_PREV ? p->prev : p->y);
    wisp__gpu_at(&c, A_U, p->u);
    if (p->terms & K_CHAIN) set_chain(&c, k, p, 0);
    return c;
}

wisp_status wisp__gpu_launch_blocks(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                    const wisp__grid *grid, int64_t first, int64_t end, size_t dot_size,
                                    size_t partial_at)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    char defines[384];
    double *room = NULL;
    wisp_status status = WISP_OK;
    k_sweep k;
    wisp__gpu_call c = wisp__gpu_sweep_call(ctx, &k, p, grid, dot_size);
    k.first = first;
    if (p->terms & (K_SHIFT | K_ADD)) {
        room = malloc(2 * (size_t)p->width * sizeof *room);
        if (!room) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %d factors", p->width);
    }
    const size_t list = (size_t)grid->blocks * sizeof *grid->order;
    wisp__gpu_expect(&c, grid->order, list);
    for (int set = 0; set < 2; set++) wisp__gpu_expect(&c, room, 2 * (size_t)p->width * sizeof *room);
    wisp__gpu_staged(&c, A_ORDER, grid->order, list);
    if (p->terms & K_SHIFT) enter_factors(&c, A_SHIFT, p, K_FACTORS_SHIFT, room);
    if (p->terms & K_ADD) enter_factors(&c, A_ADD, p, K_FACTORS_ADD, room);
    if (k.dot_size) wisp__gpu_own(&c, A_PARTIAL, g->partial, partial_at);
    wisp__gpu_sweep_defines(g, kernel, p, false, defines, sizeof defines);
    WISP_TRY(wisp__gpu_launch(&c, "spmmv", end - first, "%s", defines));
    for (int i = 1; i < p->chains; i++) {
        set_chain(&c, &k, p, i);
        WISP_TRY(wisp__gpu_launch(&c, "chain", end - first,
                                  "#define REAL %s\n#define PARTS %d\n" /* and of any matrix: */
                                  "#define MATRIX_REAL REAL\n#define MATRIX_PARTS 1\n",
                                  WISP__GPU_REAL(p->real_bytes == sizeof(double)), (int)(p->reals / p->width)));
    }
out:
    free(room);
    return status;
}

wisp_status wisp__gpu_reserve_steps(wisp_ctx *ctx, int steps, const wisp__grid *grid, size_t dot_size)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    return wisp__gpu_room(g, &g->partial, (size_t)(steps * grid->blocks) * dot_size * sizeof(double));
}

wisp_status wisp__gpu_launch_spmmv(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                   const wisp__grid *grid, int64_t first, int64_t end, size_t dot_size)
{
    wisp_status status;
    WISP_TRY(wisp__unless_cancelled(ctx, "multiplying"));
    WISP_TRY(wisp__gpu_reserve_steps(ctx, 1, grid, dot_size));
    status = wisp__gpu_launch_blocks(ctx, kernel, p, grid, first, end, dot_size, 0);
out:
    return status;
}

wisp_status wisp__gpu_finish_dots(wisp_ctx *ctx, const wisp__grid *grid, double *dot, size_t dot_size)
{
    return wisp__gpu_sum(ctx, 0, grid->blocks, (int64_t)dot_size, false, dot, NULL);
}
