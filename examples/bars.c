/* A density of states with error bars, at energies of your choice: of a Chern insulator with a disordered potential.
 * Prints a line for each energy: the density per site, and the ends of its 95% bar; then how many states lie below 0.
 * usage: bars [MATRIX [VECTORS]], where MATRIX is a file (.mtx, .crs) or names one of the gallery
 */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

/* The trace is estimated by random vectors, and their scatter makes the bars: four times as many vectors halve them.
 * The number of moments sets the resolution, and has nothing to do with the bars. */
static wisp_status print_density(wisp_ctx *ctx, const wisp_mat *H, int vectors)
{
    enum { POINTS = 13 };
    double energy[POINTS], dos[POINTS], error[POINTS], low[POINTS], high[POINTS], count, count_error;
    wisp_moments m = {0};
    wisp_status status;
    for (int i = 0; i < POINTS; i++) energy[i] = -3 + 0.5 * i;
    WISP_TRY(wisp_kpm(&m, H, &(wisp_kpm_opts){.moments = 256, .vectors = vectors}));
    /* -1: all vectors together; a number would be that of one of them. */
    WISP_TRY(wisp_dos(ctx, &m, NULL, -1, POINTS, energy, dos, error));
    /* error is the standard error. A density can't be negative, so a bar reaches farther up than down where it is
     * small.
     */
    wisp_bars95(&m, NULL, POINTS, dos, error, low, high);
    const double sites = (double)m.rows;
    printf("energies are smeared by %.3f\n", wisp_resolution(m.bounds.halfwidth, m.n));
    for (int i = 0; i < POINTS; i++)
        printf("%5.2f  %.6f  %.6f  %.6f\n", energy[i], dos[i] / sites, low[i] / sites, high[i] / sites);
    /* The same moments serve any other question about the density. */
    WISP_TRY(wisp_count(ctx, &m, NULL, -1, -100, 0, &count, &count_error));
    wisp_bars95(&m, NULL, 1, &count, &count_error, low, high);
    printf("below 0: %.1f of %.0f states, 95%% bar from %.1f to %.1f\n", count, sites, low[0], high[0]);
out:
    wisp_moments_free(&m);
    return status;
}

int main(int argc, char **argv)
{
    wisp_ctx *ctx = NULL;
    wisp_mat *H = NULL;
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_open(&H, ctx, argc > 1 ? argv[1] : "haldane:nx=100,ny=100,disorder=1", NULL));
    WISP_TRY(print_density(ctx, H, argc > 2 ? atoi(argv[2]) : 16));
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_mat_free(H);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
