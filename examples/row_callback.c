/* The density of states of your own Hamiltonian, given row by row: the Aubry-Andre chain,
 * H = sum_i -(c+_{i+1} c_i + h.c.) + V cos(2 pi beta i) n_i, which is quasiperiodic for the golden mean beta.
 * Prints energy and density of states, two columns. usage: row_callback [sites]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

typedef struct {
    int64_t sites;
    double potential, beta;
} chain;

/* Writes one row: its columns and values, in any order. Called from many threads; with col NULL it only counts. */
static int chain_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const chain *c = arg;
    double *v = val;
    int n = 0;
    for (int64_t j = row - 1; j <= row + 1; j++) {
        if (j < 0 || j >= c->sites) continue;
        if (col) {
            col[n] = j;
            v[n] = j == row ? c->potential * cos(2 * 3.14159265358979323846 * c->beta * (double)row) : -1;
        }
        n++;
    }
    return n;
}

int main(int argc, char **argv)
{
    chain c = {argc > 1 ? atoll(argv[1]) : 100000, 1.0, (sqrt(5) - 1) / 2};
    const wisp_src src = {.rows = c.sites, .cols = c.sites, .max_row = 3, .type = WISP_D, .row = chain_row, .arg = &c};
    enum { POINTS = 1024 };
    double energy[POINTS], dos[POINTS];
    wisp_ctx *ctx = NULL;
    wisp_mat *H = NULL;
    wisp_moments m = {0};
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_create(&H, ctx, &src, &(wisp_mat_opts){.width = 16}));
    WISP_TRY(wisp_kpm(&m, H, &(wisp_kpm_opts){.moments = 512, .vectors = 16})); /* bounds are found by themselves */
    wisp_energies(&m.bounds, POINTS, energy);
    WISP_TRY(wisp_dos(ctx, &m, NULL, -1, POINTS, energy, dos, NULL));
    for (int i = 0; i < POINTS; i++) printf("%.9g %.9g\n", energy[i], dos[i]);
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_moments_free(&m);
    wisp_mat_free(H);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
