/* The density of states of a part of a sample: the surface of a topological insulator, whose states lie in the gap that
 * the inside has. It is tr(P delta(E - H)), where P, the operator on the left, keeps the rows of the lowest layer
 * alone. Prints energy, density of states and its standard error, three columns. usage: surface [nx [nz]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

typedef struct {
    int64_t layers, orbitals;
} sample;

/* P is diagonal, and 1 or 0 there: row ((x ny + y) nz + z) 4 + orbital is kept where z = 0. */
static int projector_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const sample *s = arg;
    if (row / s->orbitals % s->layers != 0) return 0;
    if (col) {
        *col = row;
        *(double *)val = 1;
    }
    return 1;
}

int main(int argc, char **argv)
{
    enum { POINTS = 512 };
    const int nx = argc > 1 ? atoi(argv[1]) : 40;
    sample s = {.layers = argc > 2 ? atoi(argv[2]) : 20, .orbitals = 4};
    const int64_t rows = (int64_t)nx * nx * s.layers * s.orbitals;
    const wisp_src projector = {
        .rows = rows, .cols = rows, .max_row = 1, .type = WISP_D, .row = projector_row, .arg = &s};
    double energy[POINTS], dos[POINTS], error[POINTS];
    char spec[96];
    wisp_ctx *ctx = NULL;
    wisp_mat *H = NULL, *P = NULL;
    wisp_moments m = {0};
    wisp_status status;
    snprintf(spec, sizeof spec, "topi:nx=%d,ny=%d,nz=%lld,periodic=xy", nx, nx, (long long)s.layers);
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_open(&H, ctx, spec, NULL));
    WISP_TRY(wisp_mat_create(&P, ctx, &projector, &(wisp_mat_opts){.map = wisp_mat_map(H)}));
    /* The option is the adjoint of the operator: of a Hermitian one that is itself. */
    WISP_TRY(wisp_kpm(&m, H, &(wisp_kpm_opts){.moments = 256, .vectors = 16, .adjoint = P}));
    wisp_energies(&m.bounds, POINTS, energy);
    WISP_TRY(wisp_dos(ctx, &m, NULL, -1, POINTS, energy, dos, error));
    for (int i = 0; i < POINTS; i++) printf("%.9g %.9g %.3g\n", energy[i], dos[i], error[i]);
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_moments_free(&m);
    wisp_mat_free(P);
    wisp_mat_free(H);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
