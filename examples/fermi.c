/* Electrons at a temperature: their number and energy from random vectors, and the density at one site, by the Fermi
   function of a Hamiltonian times blocks. usage: fermi [MATRIX [CHEMICAL-POTENTIAL [TEMPERATURE]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

typedef struct {
    double mu, temperature;
} gas;

static int occupation(void *arg, double energy, wisp_scalar *value)
{
    const gas *g = arg;
    *value = (wisp_scalar){1 / (1 + exp((energy - g->mu) / g->temperature)), 0};
    return 0;
}

static int energy_of(void *arg, double energy, wisp_scalar *value)
{
    occupation(arg, energy, value);
    value->re *= energy;
    return 0;
}

int main(int argc, char **argv)
{
    enum { WIDTH = 16 }; /* 15 random vectors, and a site */
    gas g = {argc > 2 ? atof(argv[2]) : 0, argc > 3 ? atof(argv[3]) : 0.05};
    const wisp_function f[2] = {{.value = occupation, .arg = &g}, {.value = energy_of, .arg = &g}};
    wisp_ctx *ctx = NULL;
    wisp_mat *H = NULL;
    wisp_blk *x = NULL, *y[2] = {NULL, NULL}, *site = NULL;
    wisp_expansion e;
    wisp_mat_info info;
    wisp_scalar dot[2][WIDTH];
    wisp_status status;
    if (wisp_ctx_create(&ctx, NULL)) return 1;
    WISP_TRY(wisp_mat_open(&H, ctx, argc > 1 ? argv[1] : "graphene:nx=100,ny=100", &(wisp_mat_opts){.width = WIDTH}));
    wisp_mat_get_info(H, &info);
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_mat_map(H), info.type, WIDTH));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0));
    WISP_TRY(wisp_blk_cols(&site, x, WIDTH - 1, 1));
    WISP_TRY(wisp_blk_fill_units(site, (int64_t[]){0}));
    for (int i = 0; i < 2; i++) WISP_TRY(wisp_blk_create(&y[i], ctx, wisp_mat_map(H), info.type, WIDTH));
    WISP_TRY(wisp_chebyshev_apply(&e, y, H, x, 2, f, NULL)); /* both functions, one pass after the other over H */
    for (int i = 0; i < 2; i++) WISP_TRY(wisp_dot(x, y[i], dot[i]));
    printf("%lld terms, error %.1e of the largest value\n", (long long)e.terms, e.error);
    for (int i = 0; i < 2; i++) {
        double sum = 0, squares = 0;
        for (int j = 0; j < WIDTH - 1; j++) sum += dot[i][j].re;
        const double mean = sum / (WIDTH - 1);
        for (int j = 0; j < WIDTH - 1; j++) squares += (dot[i][j].re - mean) * (dot[i][j].re - mean);
        printf("%s: %.6g +- %.2g\n", i ? "energy" : "electrons", mean, sqrt(squares / (WIDTH - 1) / (WIDTH - 2)));
    }
    printf("density at row 0: %.12g\n", dot[0][WIDTH - 1].re);
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "fermi: %s\n", wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_blk_free(site);
    for (int i = 0; i < 2; i++) wisp_blk_free(y[i]);
    wisp_blk_free(x);
    wisp_mat_free(H);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}
