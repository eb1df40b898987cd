/* The Hall conductivity of Haldane's Chern insulator over the chemical potential, in units of e^2/h: in its gap it is
 * the Chern number, -1. Prints chemical potential, conductivity, and the ends of its 95% bar.
 * usage: hall [CELLS [MOMENTS [VECTORS]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

typedef struct {
    wisp_mat *H, *x, *y; /* the Hamiltonian, and its velocities i [H, x] and i [H, y] */
    double area;
} sample;

static wisp_status open_sample(sample *s, wisp_ctx *ctx, const char *spec)
{
    wisp_src h = {0}, v = {0};
    wisp_positions where = {0};
    wisp_status status;
    WISP_TRY(wisp_src_open_gallery(&h, ctx, spec));
    /* Of a matrix of your own positions come from an array or a file: wisp_positions_open_array, .._open_file. */
    WISP_TRY(wisp_positions_open_gallery(&where, ctx, spec));
    s->area = where.volume;
    WISP_TRY(wisp_mat_create(&s->H, ctx, &h, &(wisp_mat_opts){.width = 16}));
    /* What is multiplied with H must have its rows where H has them: on its map. */
    const wisp_mat_opts beside = {.width = 16, .map = wisp_mat_map(s->H)};
    WISP_TRY(wisp_src_velocity(&v, ctx, &h, &where, (double[]){1, 0, 0}, WISP_VELOCITY));
    WISP_TRY(wisp_mat_create(&s->x, ctx, &v, &beside));
    wisp_src_close(&v);
    WISP_TRY(wisp_src_velocity(&v, ctx, &h, &where, (double[]){0, 1, 0}, WISP_VELOCITY));
    WISP_TRY(wisp_mat_create(&s->y, ctx, &v, &beside));
out:
    wisp_src_close(&v);
    wisp_positions_close(&where);
    wisp_src_close(&h);
    return status;
}

int main(int argc, char **argv)
{
    enum { POINTS = 13 };
    const int cells = argc > 1 ? atoi(argv[1]) : 40;
    char spec[64];
    double mu[POINTS];
    wisp_estimate sigma[POINTS];
    wisp_ctx *ctx = NULL;
    sample s = {0};
    wisp_moments m = {0};
    wisp_status status;
    snprintf(spec, sizeof spec, "haldane:nx=%d,ny=%d,t2=0.2", cells, cells); /* periodic: there are no edges */
    for (int i = 0; i < POINTS; i++) mu[i] = -3 + 0.5 * i;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(open_sample(&s, ctx, spec));
    WISP_TRY(wisp_kubo(
        &m, s.H, s.x, s.y,
        &(wisp_kubo_opts){.moments = argc > 2 ? atoi(argv[2]) : 128, .vectors = argc > 3 ? atoi(argv[3]) : 8}));
    /* One set of moments serves all chemical potentials and temperatures (here 0). */
    WISP_TRY(wisp_sigma(ctx, &m, &(wisp_sigma_opts){.volume = s.area}, 0, POINTS, mu, sigma));
    for (int i = 0; i < POINTS; i++)
        printf("%5.2f  %8.5f  %8.5f  %8.5f\n", mu[i], sigma[i].value, sigma[i].low, sigma[i].high);
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_moments_free(&m);
    wisp_mat_free(s.y);
    wisp_mat_free(s.x);
    wisp_mat_free(s.H);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
