/* Linear systems A x = b with one matrix and several right-hand sides, solved at once. Prints the residual of each.
 * usage: solve [MATRIX [COLUMNS]], where MATRIX is a file (.mtx, .crs) or names one of the gallery
 */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

/* Any number of columns costs little more than one, because the matrix is read once for all of them. */
static wisp_status solve(wisp_ctx *ctx, const char *name, int columns)
{
    wisp_mat *A = NULL;
    wisp_blk *b = NULL, *x = NULL;
    wisp_mat_info info;
    wisp_solution s = {0};
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.width = columns}));
    wisp_mat_get_info(A, &info);
    WISP_TRY(wisp_blk_create(&b, ctx, wisp_mat_map(A), info.type, columns));
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_mat_map(A), info.type, columns));
    WISP_TRY(wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 0, 0)); /* wisp_blk_put takes an array of your own */
    /* The method follows from the matrix, unless opts.method names it. */
    WISP_TRY(wisp_solve(&s, x, A, b, &(wisp_solve_opts){.tolerance = 1e-8, .precond = WISP_JACOBI}));
    printf("%lld iterations, %.3g seconds\n", (long long)s.iterations, s.seconds);
    for (int j = 0; j < s.columns; j++) printf("column %d residual %.2e\n", j, s.residuals[j]);
out:
    wisp_solution_free(&s);
    wisp_blk_free(x);
    wisp_blk_free(b);
    wisp_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    wisp_ctx *ctx = NULL;
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(solve(ctx, argc > 1 ? argv[1] : "laplace:nx=50,ny=50,nz=50", argc > 2 ? atoi(argv[2]) : 4));
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
