/* Linear systems without a solution: whether a residual is one that no x makes smaller. */
#include "krylov.h"
#include <math.h>

/* |A^H r|^2 of column j, row by row: there is no product with A^H. */
static wisp_status transposed(wisp__krylov *k, int j, double *square)
{
    wisp_status status = WISP_OK;
    wisp_src src = {0};
    wisp_blk *column = NULL;
    double complex *t = NULL;
    int64_t *col = NULL;
    void *val = NULL, *r = NULL; /* of the matrix's and the blocks' types */
    const int64_t n = wisp_map_rows(wisp_mat_map(k->A));
    WISP_TRY(wisp_src_open_mat(&src, k->A));
    WISP_TRY(wisp_alloc(k->ctx, &t, (size_t)n, sizeof *t));
    WISP_TRY(wisp_alloc(k->ctx, &r, (size_t)n, sizeof *t));
    WISP_TRY(wisp_alloc(k->ctx, &col, (size_t)src.max_row, sizeof *col));
    WISP_TRY(wisp_alloc(k->ctx, &val, (size_t)src.max_row, sizeof *t));
    WISP_TRY(wisp_blk_cols(&column, k->r, j, 1));
    WISP_TRY(wisp_blk_get(column, WISP_ROW_MAJOR, r, 1));
    for (int64_t i = 0; i < n; i++) {
        const int entries = src.row(src.arg, i, col, val);
        for (int e = 0; e < entries; e++)
            t[col[e]] += conj(wisp__number_at(src.type, val, e)) * wisp__number_at(k->type, r, i);
    }
    *square = 0;
    for (int64_t i = 0; i < n; i++) *square += creal(t[i] * conj(t[i]));
out:
    wisp_src_close(&src);
    wisp_blk_free(column);
    wisp_free(k->ctx, t);
    wisp_free(k->ctx, r);
    wisp_free(k->ctx, col);
    wisp_free(k->ctx, val);
    return status;
}

/* The product of a Hermitian A goes to the method's spare block. */
wisp_status wisp__gradient(wisp__krylov *k, int j, double *part)
{
    wisp_status status = WISP_OK;
    double square = 0;
    const double r = sqrt(k->col[j].verified);
    *part = 1;
    if (k->anorm == 0 || !isfinite(r) || (!k->hermitian && wisp_ctx_processes(k->ctx) > 1)) goto out;
    if (k->hermitian) {
        wisp__clear(k);
        WISP_TRY(wisp_spmmv(k->v[k->method->spare], k->A, k->r, &(wisp_aug){.terms = WISP_DOT_YY, .dot = k->dot}));
        square = creal(wisp__dot_of(k, WISP__YY, j));
    } else {
        status = transposed(k, j, &square);
        if (status == WISP_ERR_NOMEM) status = WISP_OK, square = INFINITY; /* not known */
        if (status != WISP_OK) goto out;
    }
    *part = sqrt(square) / (k->anorm * r);
out:
    return status;
}
