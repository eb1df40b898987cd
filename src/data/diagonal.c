/* The diagonal of a matrix, read where it is stored. */
#include "halo.h"
#include "store/store.h"

typedef struct {
    const wisp_mat *A; /* a host's view */
    wisp_type type;
    char *numbers;
} diagonal;

enum { ROWS_AT_A_TIME = 4096 };

static wisp_scalar of_half(const wisp_mat *A, int64_t position)
{
    const wisp__half *h = &A->local.half->h;
    wisp_scalar sum = {0, 0};
    for (int64_t e = h->row[position]; e < h->row[position + 1]; e++) {
        if (h->col[e] != position) continue;
        const wisp_scalar v = wisp__half_value(A, e);
        sum.re += v.re, sum.im += v.im;
    }
    return sum;
}

/* Where columns have a map of their own, places say nothing, and numbers of rows and columns are compared. */
static wisp_scalar of_row(const wisp_mat *A, int64_t row, int64_t position)
{
    const bool one_map = A->map == A->col_map;
    const int64_t wanted = one_map ? position : row;
    const wisp__row r = wisp__row_of(A, position);
    wisp_scalar sum = {0, 0};
    for (int k = 0; k < r.n; k++) {
        const int64_t col = wisp__row_col(&r, k);
        if ((one_map ? col : wisp__col_number(A, col)) != wanted) continue;
        const wisp_scalar v = wisp__row_value(&r, A->type, k);
        sum.re += v.re, sum.im += v.im;
    }
    return sum;
}

static void read_some(void *arg, int64_t some, int part)
{
    (void)part;
    const diagonal *d = arg;
    const wisp_mat *A = d->A;
    const int64_t begin = some * ROWS_AT_A_TIME, end = WISP__MIN(begin + ROWS_AT_A_TIME, A->local_rows);
    for (int64_t i = begin; i < end; i++) {
        const int64_t position = wisp__map_position(A->map, i);
        const wisp_scalar v = wisp__half_of(A) ? of_half(A, position) : of_row(A, A->map->first + i, position);
        wisp__store(d->type, d->numbers + (size_t)i * wisp_type_size(d->type), v);
    }
}

wisp_status wisp_mat_diagonal(const wisp_mat *A, wisp_type type, void *numbers)
{
    wisp_status status;
    wisp__host_mat host;
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, A->local_rows > 0 ? numbers : A);
    wisp_ctx *ctx = A->ctx;
    if (type == WISP_DEFAULT) type = A->type;
    if (A->map->rows != A->col_map->rows)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "the diagonal of a matrix of %lld rows and %lld columns",
                              (long long)A->map->rows, (long long)A->col_map->rows);
    if (!wisp__type_ok(type) || (wisp_type_is_complex(A->type) && !wisp_type_is_complex(type)))
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "the diagonal of a matrix of type %s in numbers of type %s",
                              wisp_type_name(A->type), wisp_type_name(type));
    WISP_TRY(wisp__need_entries(A, "the diagonal"));
    WISP_TRY(wisp__mat_lend(A, WISP_READ, &host));
    diagonal d = {.A = &host.mat, .type = type, .numbers = numbers};
    status = wisp_ctx_each(ctx, (A->local_rows + ROWS_AT_A_TIME - 1) / ROWS_AT_A_TIME, read_some, &d);
    wisp__mat_return(&host);
out:
    return status;
}
