/* The eigenpairs of a topological insulator nearest to the middle of its spectrum, and whether that is all of them.
 * usage: eig [MATRIX [COUNT [TARGET]]], where MATRIX is a file (.mtx, .crs) or names one of the gallery
 */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

/* Called after each round. Anything but 0 would end the call, and keep what has converged. */
static int watch(void *arg, int round, int found, double wanted, double residual)
{
    (void)arg;
    fprintf(stderr, "round %d: %d of about %.0f, residual %.1e\n", round, found, wanted, residual);
    return 0;
}

static wisp_status find(wisp_ctx *ctx, const char *name, int count, double target)
{
    wisp_mat *A = NULL;
    wisp_eigen e = {0};
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.width = 8}));
    /* All in an interval: .which = WISP_EIG_INTERVAL, .low = a, .high = b. */
    status =
        wisp_eig(&e, A,
                 &(wisp_eig_opts){
                     .which = WISP_EIG_NEAREST, .target = target, .count = count, .tolerance = 1e-9, .observe = watch});
    /* Also when some may be missing (WISP_ERR_INCOMPLETE), those that are there are right. */
    printf("%d found, %s\n", e.found, e.complete ? "complete" : "not complete");
    for (int i = 0; i < e.found; i++) printf("eigenvalue %.12f residual %.1e\n", e.value[i].re, e.residual[i]);
    /* The vectors are the columns of e.vectors; wisp_blk_get copies them to an array of your own. */
out:
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    wisp_ctx *ctx = NULL;
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(find(ctx, argc > 1 ? argv[1] : "topi:nx=10,ny=10,nz=5", argc > 2 ? atoi(argv[2]) : 12,
                  argc > 3 ? atof(argv[3]) : 0));
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
