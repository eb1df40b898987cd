/* Eigenpairs of A x = lambda S x: a tight-binding ring whose orbitals are not orthogonal, as those of atoms are. Of
 * neighbours A has the hopping t, and S the overlap s, so that E(k) = 2 t cos k/(1 + 2 s cos k).
 * Prints the lowest energies, the exact ones and the residuals. usage: pencil [SITES [COUNT]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

typedef struct {
    int64_t sites;
    double same, next; /* entries on the diagonal, and between neighbours */
} ring;

static int ring_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const ring *r = arg;
    if (col) {
        col[0] = row, col[1] = (row + 1) % r->sites, col[2] = (row + r->sites - 1) % r->sites;
        ((double *)val)[0] = r->same, ((double *)val)[1] = ((double *)val)[2] = r->next;
    }
    return 3;
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 200;
    const int count = argc > 2 ? atoi(argv[2]) : 5;
    ring a = {n, 0, -1}, s = {n, 1, 0.2};
    wisp_src source = {.rows = n, .cols = n, .max_row = 3, .type = WISP_D, .row = ring_row, .arg = &a};
    double *residual = NULL;
    wisp_ctx *ctx = NULL;
    wisp_mat *A = NULL, *S = NULL, *C = NULL;
    wisp_overlap *overlap = NULL;
    wisp_eigen e = {0};
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_create(&A, ctx, &source, NULL));
    source.arg = &s;
    WISP_TRY(wisp_mat_create(&S, ctx, &source, &(wisp_mat_opts){.map = wisp_mat_map(A)}));
    /* C = S^-1/2 A S^-1/2 has the same eigenvalues, and any solver for Hermitian matrices takes it: densities of states
     * and evolution, too. It is never stored: S^-1/2 is a polynomial of S. */
    WISP_TRY(wisp_overlap_create(&overlap, S, NULL));
    WISP_TRY(wisp_overlap_matrix(&C, overlap, A));
    WISP_TRY(wisp_eig(&e, C, &(wisp_eig_opts){.which = WISP_EIG_SMALLEST, .count = count, .tolerance = 1e-10}));
    /* Its vectors y are those of C; x = S^-1/2 y are those of A and S, with x^H S x = 1. */
    WISP_TRY(wisp_overlap_apply(overlap, e.vectors, e.vectors));
    residual = malloc((size_t)e.found * sizeof *residual);
    WISP_TRY(residual ? WISP_OK : WISP_ERR_NOMEM);
    WISP_TRY(wisp_overlap_residuals(overlap, A, e.value, e.vectors, residual, NULL));
    for (int i = 0; i < e.found; i++) {
        const double c = cos(2 * 3.14159265358979323846 * ((i + 1) / 2) / (double)n); /* k = 0, and pairs of +-k */
        printf("energy %.10f exact %.10f residual %.1e\n", e.value[i].re, 2 * a.next * c / (1 + 2 * s.next * c),
               residual[i]);
    }
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    free(residual);
    wisp_eigen_free(&e);
    wisp_mat_free(C); /* before the overlap that it uses */
    wisp_overlap_free(overlap);
    wisp_mat_free(S), wisp_mat_free(A), wisp_ctx_free(ctx);
    return status != WISP_OK;
}
