/* The density of states of a Hamiltonian that is never stored, given as a function that multiplies by it: electrons on
 * a square lattice, periodic, with hopping -1 and potentials +V and -V in turn, which open a gap.
 * Prints energy and density of states, two columns. usage: apply_callback [lines]
 */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

typedef struct {
    wisp_ctx *ctx;
    int64_t lines; /* of as many sites, an even number */
    double potential;
} lattice;

/* One product: y = H x. */
typedef struct {
    const lattice *l;
    const double *x;
    double *y;
    int64_t x_stride, y_stride; /* from one site to the next */
    int width;
} product;

/* One line of sites, all columns. */
static void multiply_line(void *arg, int64_t i, int part)
{
    const product *p = arg;
    const int64_t n = p->l->lines, above = (i + n - 1) % n, below = (i + 1) % n;
    (void)part;
    for (int64_t j = 0; j < n; j++) {
        const int64_t site[] = {i * n + j, above * n + j, below * n + j, i * n + (j + n - 1) % n, i * n + (j + 1) % n};
        const double v = (i + j) % 2 ? -p->l->potential : p->l->potential;
        double *y = p->y + site[0] * p->y_stride;
        for (int k = 0; k < p->width; k++) {
            y[k] = v * p->x[site[0] * p->x_stride + k];
            for (int s = 1; s < 5; s++) y[k] -= p->x[site[s] * p->x_stride + k];
        }
    }
}

/* The lines are shared among wisp's threads. */
static wisp_status multiply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    const lattice *l = arg;
    product p = {.l = l, .width = wisp_blk_width(x)};
    void *from = NULL, *to = NULL;
    wisp_status status;
    WISP_TRY(wisp_blk_lend(x, WISP_READ, &from, &p.x_stride));
    WISP_TRY(wisp_blk_lend(y, WISP_DISCARD, &to, &p.y_stride));
    p.x = from;
    p.y = to;
    WISP_TRY(wisp_ctx_each(l->ctx, l->lines, multiply_line, &p));
out:
    if (to) wisp_blk_return(y);
    if (from) wisp_blk_return(x);
    return status;
}

int main(int argc, char **argv)
{
    enum { POINTS = 1024 };
    lattice l = {.lines = argc > 1 ? atoll(argv[1]) : 400, .potential = 1};
    double energy[POINTS], dos[POINTS];
    wisp_map *map = NULL;
    wisp_mat *H = NULL;
    wisp_moments m = {0};
    wisp_status status;
    WISP_TRY(wisp_ctx_create(&l.ctx, NULL));
    WISP_TRY(wisp_map_create(&map, l.ctx, l.lines * l.lines));
    WISP_TRY(
        wisp_mat_from_apply(&H, l.ctx, &(wisp_operator){.map = map, .type = WISP_D, .apply = multiply, .arg = &l}));
    WISP_TRY(wisp_kpm(&m, H, &(wisp_kpm_opts){.moments = 512, .vectors = 16})); /* bounds are found by themselves */
    wisp_energies(&m.bounds, POINTS, energy);
    WISP_TRY(wisp_dos(l.ctx, &m, NULL, -1, POINTS, energy, dos, NULL));
    for (int i = 0; i < POINTS; i++) printf("%.9g %.9g\n", energy[i], dos[i]);
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(l.ctx, text, sizeof text));
    }
    wisp_moments_free(&m);
    wisp_mat_free(H);
    wisp_map_free(map);
    wisp_ctx_free(l.ctx);
    return status != WISP_OK;
}
