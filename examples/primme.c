/* The smallest eigenvalues of a Hermitian matrix by PRIMME, with wisp's product of several vectors at once.
 * usage: primme [MATRIX [COUNT]], where MATRIX is a file (.mtx, .crs) or names one of the gallery
 */
#include <complex.h>
#include <primme.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

enum { BLOCK = 4 }; /* vectors at once, at most */

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_type type;
    wisp_blk *x, *y;
} operand;

/* PRIMME's blocks are columns, wisp's are rows, so that they are copied. */
static wisp_status multiply_columns(operand *o, const void *x, int64_t ldx, void *y, int64_t ldy, int width)
{
    wisp_blk *in = NULL, *out = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_blk_cols(&in, o->x, 0, width));
    WISP_TRY(wisp_blk_cols(&out, o->y, 0, width));
    WISP_TRY(wisp_blk_put(in, WISP_COL_MAJOR, x, ldx));
    WISP_TRY(wisp_spmmv(out, o->A, in, NULL));
    status = wisp_blk_get(out, WISP_COL_MAJOR, y, ldy);
out:
    wisp_blk_free(in);
    wisp_blk_free(out);
    return status;
}

static void multiply(void *x, PRIMME_INT *ldx, void *y, PRIMME_INT *ldy, int *width, primme_params *p, int *error)
{
    *error = multiply_columns(p->matrix, x, *ldx, y, *ldy, *width) != WISP_OK;
}

static wisp_status find(operand *o, int64_t rows, int count)
{
    double *value = NULL, *residual = NULL;
    void *vectors = NULL;
    wisp_status status = WISP_OK;
    primme_params p;
    primme_initialize(&p);
    WISP_TRY(wisp_alloc(o->ctx, &value, (size_t)count, sizeof *value));
    WISP_TRY(wisp_alloc(o->ctx, &residual, (size_t)count, sizeof *residual));
    WISP_TRY(wisp_alloc(o->ctx, &vectors, (size_t)rows * (size_t)count, wisp_type_size(o->type)));
    p.n = rows;
    p.matrixMatvec = multiply;
    p.matrix = o;
    p.numEvals = count;
    p.target = primme_smallest;
    p.eps = 1e-12;
    p.maxBlockSize = BLOCK;
    primme_set_method(PRIMME_DEFAULT_MIN_TIME, &p);
    const int ends = o->type == WISP_Z ? zprimme(value, vectors, residual, &p) : dprimme(value, vectors, residual, &p);
    if (ends) WISP_TRY(wisp_ctx_failf(o->ctx, WISP_ERR_ITERATIONS, "PRIMME ends with %d", ends));
    for (int i = 0; i < count; i++) printf("eigenvalue %.12f\n", value[i]);
    printf("%lld products\n", (long long)p.stats.numMatvecs);
out:
    primme_free(&p);
    wisp_free(o->ctx, value);
    wisp_free(o->ctx, residual);
    wisp_free(o->ctx, vectors);
    return status;
}

static wisp_status run(wisp_ctx *ctx, const char *name, int count)
{
    operand o = {.ctx = ctx};
    wisp_mat_info info;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_mat_open(&o.A, ctx, name, &(wisp_mat_opts){.width = BLOCK}));
    wisp_mat_get_info(o.A, &info);
    o.type = info.type;
    if (o.type != WISP_D && o.type != WISP_Z)
        WISP_TRY(wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "%s: this example is for double precision", name));
    WISP_TRY(wisp_blk_create(&o.x, ctx, wisp_mat_map(o.A), o.type, BLOCK));
    WISP_TRY(wisp_blk_create(&o.y, ctx, wisp_mat_map(o.A), o.type, BLOCK));
    status = find(&o, info.rows, count);
out:
    wisp_blk_free(o.x);
    wisp_blk_free(o.y);
    wisp_mat_free(o.A);
    return status;
}

int main(int argc, char **argv)
{
    wisp_ctx *ctx = NULL;
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(run(ctx, argc > 1 ? argv[1] : "hubbard:sites=8", argc > 2 ? atoi(argv[2]) : 6));
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
