/* Positions of boxes of sites, and what cells span. */
#include "gallery.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    wisp__gal_box box;
    int64_t rows_of_site;
} box_sites;

static int position(void *arg, int64_t row, double *xyz)
{
    const box_sites *b = arg;
    int64_t at[3], which;
    wisp__gal_where(&b->box, wisp__gal_divide(row, b->rows_of_site, &which), at);
    for (int d = 0; d < 3; d++) xyz[d] = (double)at[d];
    return 0;
}

/* The root of Gram's determinant of the vectors. */
void wisp__gal_positions_span(wisp_positions *positions)
{
    double g[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < positions->dimensions; i++)
        for (int j = 0; j < positions->dimensions; j++) {
            g[i][j] = 0;
            for (int d = 0; d < 3; d++) g[i][j] += positions->cell[i][d] * positions->cell[j][d];
        }
    const double det = g[0][0] * (g[1][1] * g[2][2] - g[1][2] * g[2][1]) -
                       g[0][1] * (g[1][0] * g[2][2] - g[1][2] * g[2][0]) +
                       g[0][2] * (g[1][0] * g[2][1] - g[1][1] * g[2][0]);
    positions->volume = sqrt(fmax(det, 0));
}

wisp_status wisp__gal_box_positions(wisp_positions *positions, wisp_ctx *ctx, const char *name,
                                    const wisp__gal_box *box, int64_t rows_of_site, double reach)
{
    box_sites *b = malloc(sizeof *b);
    if (!b) return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "%s: no memory for its positions", name);
    *b = (box_sites){*box, rows_of_site};
    *positions = (wisp_positions){.rows = box->n[0] * box->n[1] * box->n[2] * rows_of_site,
                                  .reach = reach,
                                  .orbitals = (int)rows_of_site,
                                  .at = position,
                                  .arg = b,
                                  .free_arg = free};
    for (int d = 0; d < 3; d++) {
        const bool periodic = box->periodic >> d & 1;
        if (box->n[d] == 1 && !periodic) continue;
        positions->periodic |= (unsigned)periodic << positions->dimensions;
        positions->cells[positions->dimensions] = box->n[d];
        positions->cell[positions->dimensions++][d] = (double)box->n[d];
    }
    if (positions->dimensions == 0) { /* a single site */
        positions->dimensions = 1;
        positions->cells[0] = 1;
        positions->cell[0][0] = 1;
    }
    wisp__gal_positions_span(positions);
    return WISP_OK;
}
