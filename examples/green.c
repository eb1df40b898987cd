/* The retarded Green's function of an impurity: G_00(E + i eta) at one site of a long ring, and G_10 to its neighbour.
 * Without the impurity G_00 is 1/sqrt(z^2 - 4), z = E + i eta, and Dyson's equation adds the impurity. Prints energy,
 * G_00 (real and imaginary part), how far it may be off, G_10, and the exact G_00. usage: green [SITES [ETA]]
 */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

enum { POINTS = 11 };
static const double impurity = 0.7;

static int ring_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const int64_t sites = *(const int64_t *)arg;
    if (col) {
        col[0] = row, col[1] = (row + 1) % sites, col[2] = (row + sites - 1) % sites;
        ((double *)val)[0] = row == 0 ? impurity : 0, ((double *)val)[1] = ((double *)val)[2] = -1;
    }
    return 3;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 4000;
    const double eta = argc > 2 ? atof(argv[2]) : 0.05;
    const wisp_src src = {.rows = n, .cols = n, .max_row = 3, .type = WISP_D, .row = ring_row, .arg = &n};
    const wisp_bounds bounds = {.center = 0, .halfwidth = 3}; /* known here; without them they are found */
    double energy[POINTS], off[POINTS];
    wisp_scalar g[2][POINTS];
    wisp_ctx *ctx = NULL;
    wisp_mat *H = NULL;
    wisp_blk *right = NULL, *left = NULL;
    wisp_moments m = {0};
    wisp_status status;
    for (int i = 0; i < POINTS; i++) energy[i] = -2.5 + 0.5 * i;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_create(&H, ctx, &src, &(wisp_mat_opts){.width = 2}));
    /* Two elements <left|G|right>, a column each: <0|G|0> and <1|G|0>. Any vectors will do, not those of sites alone.
     */
    WISP_TRY(wisp_blk_create(&right, ctx, wisp_mat_map(H), WISP_D, 2));
    WISP_TRY(wisp_blk_create(&left, ctx, wisp_mat_map(H), WISP_D, 2));
    WISP_TRY(wisp_blk_fill_units(right, (int64_t[]){0, 0}));
    WISP_TRY(wisp_blk_fill_units(left, (int64_t[]){0, 1}));
    /* The smaller eta is, the more moments it takes; they serve all energies. */
    WISP_TRY(wisp_kpm(&m, H,
                      &(wisp_kpm_opts){.moments = wisp_green_moments(bounds.halfwidth, eta, 1e-10),
                                       .trace = WISP_TRACE_GIVEN,
                                       .right = right,
                                       .left = left,
                                       .bounds = {.method = WISP_BOUNDS_GIVEN, .given = bounds}}));
    for (int j = 0; j < 2; j++)
        WISP_TRY(wisp_green(ctx, &m, &(wisp_green_opts){.eta = eta}, j, POINTS, energy, g[j], NULL, off));
    for (int i = 0; i < POINTS; i++) {
        const double complex z = energy[i] + I * eta, free_ring = -I / csqrt(4 - z * z),
                             exact = free_ring / (1 - impurity * free_ring);
        printf("%5.2f  %.9f %.9f  %.0e  %.9f %.9f  %.9f %.9f\n", energy[i], g[0][i].re, g[0][i].im, off[i], g[1][i].re,
               g[1][i].im, creal(exact), cimag(exact));
    }
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_moments_free(&m);
    wisp_blk_free(left), wisp_blk_free(right), wisp_mat_free(H), wisp_ctx_free(ctx);
    return status != WISP_OK;
}
