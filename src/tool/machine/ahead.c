/* Kernels of a device that are compiled when they are called: the usual ones are called once, so that later runs find
   them kept. */
#include "machine.h"

/* Each with small matrices of its types and kinds of storage, and blocks of its widths. */
static const struct {
    const char *spec;
    wisp_format format;
} matrices[] = {{"laplace:nx=6,ny=6,nz=6", WISP_FORMAT_SELL},
                {"laplace:nx=6,ny=6,nz=6", WISP_FORMAT_COMPRESSED},
                {"topi:nx=4,ny=4,nz=4", WISP_FORMAT_SELL},
                {"topi:nx=4,ny=4,nz=4", WISP_FORMAT_COMPRESSED}};
static const unsigned terms[] = {0, WISP_SCALE | WISP_SHIFT | WISP_AXPBY,
                                 WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY};
enum {
    MATRICES = sizeof matrices / sizeof *matrices,
    TERMS = sizeof terms / sizeof *terms,
    WIDEST = 32,
    WIDTHS = 6,
    CALLS = MATRICES * WIDTHS
};

static wisp_type type_of(const wisp_mat *A)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    return info.type;
}

static wisp_status products(tool *t, const wisp_mat *A, int width)
{
    wisp_scalar shift[WIDEST] = {{0}}, dot[3 * WIDEST];
    wisp_blk *x = NULL, *y = NULL;
    const wisp_type type = type_of(A);
    wisp_status status;
    WISP_TRY(wisp_blk_create(&x, t->ctx, wisp_mat_map(A), type, width));
    WISP_TRY(wisp_blk_create(&y, t->ctx, wisp_mat_map(A), type, width));
    for (size_t i = 0; i < TERMS; i++) {
        const wisp_aug aug = {.terms = terms[i], .alpha = {1, 0}, .beta = {-1, 0}, .shift = shift, .dot = dot};
        WISP_TRY(wisp_spmmv(y, A, x, &aug));
    }
    status = wisp_ctx_finish(t->ctx);
out:
    wisp_blk_free(x);
    wisp_blk_free(y);
    return status;
}

/* Steps of CG, and updates and dots with them. */
static wisp_status a_system(tool *t, const wisp_mat *A)
{
    wisp_solution s = {0};
    wisp_blk *x = NULL, *b = NULL;
    const wisp_type type = type_of(A);
    wisp_status status;
    WISP_TRY(wisp_blk_create(&x, t->ctx, wisp_mat_map(A), type, 1));
    WISP_TRY(wisp_blk_create(&b, t->ctx, wisp_mat_map(A), type, 1));
    WISP_TRY(wisp_blk_fill(b, (wisp_scalar){1, 0}));
    status = wisp_solve(&s, x, A, b, &(wisp_solve_opts){.method = WISP_CG, .tolerance = 1e-2});
    if (status == WISP_ERR_ITERATIONS) status = WISP_OK;
out:
    wisp_solution_free(&s);
    wisp_blk_free(x);
    wisp_blk_free(b);
    return status;
}

int machine_ahead(tool *t)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < MATRICES && status == WISP_OK; i++) {
        wisp_mat *A = NULL;
        wisp_src src;
        status = wisp_src_open_gallery(&src, t->ctx, matrices[i].spec);
        if (status != WISP_OK) break;
        status = wisp_mat_create(&A, t->ctx, &src, &(wisp_mat_opts){.width = 4, .format = matrices[i].format});
        wisp_src_close(&src);
        if (status == WISP_ERR_UNSUPPORTED) status = WISP_OK; /* there is nothing of that kind */
        if (!A) continue;
        for (int w = 0; w < WIDTHS && status == WISP_OK; w++) {
            status = wisp_ctx_step(t->ctx, "compiling", (double)(i * WIDTHS + w) / CALLS, 0);
            if (status == WISP_OK) status = products(t, A, 1 << w);
        }
        if (status == WISP_OK && i == 0) status = a_system(t, A);
        wisp_mat_free(A);
    }
    return status == WISP_OK ? EXIT_FINE : tool_fail_ctx(t);
}
