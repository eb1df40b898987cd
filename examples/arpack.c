/* The smallest eigenvalues of a Hermitian matrix by ARPACK, with wisp's product: ARPACK returns whenever it wants one
 * (reverse communication), and wisp works on its arrays in place.
 * usage: arpack [MATRIX [COUNT]], where MATRIX is a file (.mtx, .crs) or names one of the gallery
 */
#include <arpack.h>
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

/* y = A x for arrays of n numbers of the matrix's type. */
static wisp_status multiply(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, void *x, void *y)
{
    wisp_blk *in = NULL, *out = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_blk_borrow(&in, ctx, wisp_mat_map(A), type, 1, x, 1));
    WISP_TRY(wisp_blk_borrow(&out, ctx, wisp_mat_map(A), type, 1, y, 1));
    status = wisp_spmmv(out, A, in, NULL);
out:
    wisp_blk_free(in);
    wisp_blk_free(out);
    return status;
}

/* What both of ARPACK's drivers need; iparam: exact shifts, at most so many restarts, A v = lambda v. */
enum { RESTARTS = 1000 };
typedef struct {
    int n, count, search, ido, info, iparam[11], ipntr[14], products;
} request;

static request make_request(int n, int count)
{
    const int twice = 2 * count + 20;
    return (request){.n = n, .count = count, .search = twice < n ? twice : n, .iparam = {1, 0, RESTARTS, 1, 0, 0, 1}};
}

static wisp_status end(wisp_ctx *ctx, const char *driver, int info)
{
    return info == 0 ? WISP_OK : wisp_ctx_failf(ctx, WISP_ERR_ITERATIONS, "ARPACK's %s ends with %d", driver, info);
}

static wisp_status real_pairs(wisp_ctx *ctx, const wisp_mat *A, request *r)
{
    const size_t n = (size_t)r->n, m = (size_t)r->search;
    const int size = r->search * (r->search + 8);
    double *v = NULL, *work = NULL, *small = NULL, *start = NULL, *value = NULL;
    int *select = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_alloc(ctx, &v, n * m, sizeof *v));
    WISP_TRY(wisp_alloc(ctx, &work, 3 * n, sizeof *work));
    WISP_TRY(wisp_alloc(ctx, &small, (size_t)size, sizeof *small));
    WISP_TRY(wisp_alloc(ctx, &start, n, sizeof *start));
    WISP_TRY(wisp_alloc(ctx, &value, m, sizeof *value));
    WISP_TRY(wisp_alloc(ctx, &select, m, sizeof *select));
    for (;;) {
        dsaupd_c(&r->ido, "I", r->n, "SA", r->count, 0, start, r->search, v, r->n, r->iparam, r->ipntr, work, small,
                 size, &r->info);
        if (r->ido != 1 && r->ido != -1) break;
        WISP_TRY(multiply(ctx, A, WISP_D, work + r->ipntr[0] - 1, work + r->ipntr[1] - 1));
        r->products++;
    }
    WISP_TRY(end(ctx, "dsaupd", r->info));
    dseupd_c(1, "A", select, value, v, r->n, 0, "I", r->n, "SA", r->count, 0, start, r->search, v, r->n, r->iparam,
             r->ipntr, work, small, size, &r->info);
    WISP_TRY(end(ctx, "dseupd", r->info));
    for (int i = 0; i < r->iparam[4]; i++) printf("eigenvalue %.12f\n", value[i]);
out:
    wisp_free(ctx, v);
    wisp_free(ctx, work);
    wisp_free(ctx, small);
    wisp_free(ctx, start);
    wisp_free(ctx, value);
    wisp_free(ctx, select);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const double x = creal(*(const double complex *)a), y = creal(*(const double complex *)b);
    return (x > y) - (x < y);
}

/* ARPACK has no driver for complex Hermitian matrices; that for any complex matrix also takes them. */
static wisp_status complex_pairs(wisp_ctx *ctx, const wisp_mat *A, request *r)
{
    const size_t n = (size_t)r->n, m = (size_t)r->search;
    const int size = r->search * (3 * r->search + 5);
    double complex *v = NULL, *work = NULL, *small = NULL, *start = NULL, *value = NULL, *other = NULL;
    double *real = NULL;
    int *select = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_alloc(ctx, &v, n * m, sizeof *v));
    WISP_TRY(wisp_alloc(ctx, &work, 3 * n, sizeof *work));
    WISP_TRY(wisp_alloc(ctx, &small, (size_t)size, sizeof *small));
    WISP_TRY(wisp_alloc(ctx, &start, n, sizeof *start));
    WISP_TRY(wisp_alloc(ctx, &value, m + 1, sizeof *value));
    WISP_TRY(wisp_alloc(ctx, &other, 2 * m, sizeof *other));
    WISP_TRY(wisp_alloc(ctx, &real, m, sizeof *real));
    WISP_TRY(wisp_alloc(ctx, &select, m, sizeof *select));
    for (;;) {
        znaupd_c(&r->ido, "I", r->n, "SR", r->count, 0, start, r->search, v, r->n, r->iparam, r->ipntr, work, small,
                 size, real, &r->info);
        if (r->ido != 1 && r->ido != -1) break;
        WISP_TRY(multiply(ctx, A, WISP_Z, work + r->ipntr[0] - 1, work + r->ipntr[1] - 1));
        r->products++;
    }
    WISP_TRY(end(ctx, "znaupd", r->info));
    zneupd_c(1, "A", select, value, v, r->n, 0, other, "I", r->n, "SR", r->count, 0, start, r->search, v, r->n,
             r->iparam, r->ipntr, work, small, size, real, &r->info);
    WISP_TRY(end(ctx, "zneupd", r->info));
    qsort(value, (size_t)r->iparam[4], sizeof *value, ascending);
    for (int i = 0; i < r->iparam[4]; i++) printf("eigenvalue %.12f\n", creal(value[i]));
out:
    wisp_free(ctx, v);
    wisp_free(ctx, work);
    wisp_free(ctx, small);
    wisp_free(ctx, start);
    wisp_free(ctx, value);
    wisp_free(ctx, other);
    wisp_free(ctx, real);
    wisp_free(ctx, select);
    return status;
}

static wisp_status find(wisp_ctx *ctx, const char *name, int count)
{
    wisp_mat *A = NULL;
    wisp_mat_info info;
    wisp_status status = WISP_OK;
    /* Rows in natural order, unsorted, so that ARPACK's arrays can be borrowed. */
    WISP_TRY(wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.width = 1, .order = WISP_ROWS_NATURAL, .sigma = 1}));
    wisp_mat_get_info(A, &info);
    if (info.rows != info.cols || info.rows > INT32_MAX || (info.type != WISP_D && info.type != WISP_Z))
        WISP_TRY(
            wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "%s: ARPACK takes square matrices in double precision", name));
    request r = make_request((int)info.rows, count);
    WISP_TRY(info.type == WISP_Z ? complex_pairs(ctx, A, &r) : real_pairs(ctx, A, &r));
    printf("%d products\n", r.products);
out:
    wisp_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    wisp_ctx *ctx = NULL;
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(find(ctx, argc > 1 ? argv[1] : "hubbard:sites=8", argc > 2 ? atoi(argv[2]) : 6));
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
