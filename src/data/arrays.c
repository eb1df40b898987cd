/* Checks that CRS arrays of the user are a matrix. */
#include "arrays.h"

static wisp_status check_shape(wisp_ctx *ctx, const wisp_crs *a, const char *function)
{
    if (!wisp__type_ok(a->type)) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: a type of values is needed", function);
    if (a->rowptr_int > WISP_INT32 || a->col_int > WISP_INT32)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: integers are WISP_INT64 or WISP_INT32", function);
    if (a->rows < 0 || a->cols < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %lld rows, %lld columns", function, (long long)a->rows,
                              (long long)a->cols);
    if (!a->rowptr || (wisp__arrays_begin(a, a->rows) != 0 && !(a->col && a->val)))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: %s is NULL", function,
                              !a->rowptr ? "rowptr"
                              : !a->col  ? "col"
                                         : "val");
    return WISP_OK;
}

static wisp_status check_rowptr(wisp_ctx *ctx, const wisp_crs *a, const char *function, int64_t *max_row)
{
    *max_row = 0;
    if (wisp__arrays_begin(a, 0) != 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: rowptr[0] is %lld and must be 0", function,
                              (long long)wisp__arrays_begin(a, 0));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t begin = wisp__arrays_begin(a, i), end = wisp__arrays_begin(a, i + 1);
        if (end < begin || end - begin > INT32_MAX)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: rowptr[%lld] is %lld, after %lld", function, (long long)i + 1,
                                  (long long)end, (long long)begin);
        *max_row = WISP__MAX(*max_row, end - begin);
    }
    return WISP_OK;
}

static wisp_status check_columns(wisp_ctx *ctx, const wisp_crs *a, const char *function, int64_t *unordered)
{
    *unordered = -1;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t last = -1;
        for (int64_t k = wisp__arrays_begin(a, i); k < wisp__arrays_begin(a, i + 1); k++) {
            const int64_t col = wisp__arrays_col(a, k);
            if (col < 0 || col >= a->cols)
                return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%s: column %lld in row %lld, of %lld columns", function,
                                      (long long)col, (long long)i, (long long)a->cols);
            if (col <= last && *unordered < 0) *unordered = i;
            last = col;
        }
    }
    return WISP_OK;
}

wisp_status wisp__arrays_check(wisp_ctx *ctx, const wisp_crs *a, const char *function, int64_t *max_row,
                               int64_t *unordered)
{
    wisp_status status;
    WISP_TRY(check_shape(ctx, a, function));
    WISP_TRY(check_rowptr(ctx, a, function, max_row));
    WISP_TRY(check_columns(ctx, a, function, unordered));
out:
    return status;
}
