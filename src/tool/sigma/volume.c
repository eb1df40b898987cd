/* Whether the volume by which wisp sigma divides is that of the sample, as far as positions tell. */
#include "sigma.h"
#include "../positions.h"
#include <math.h>

static const double most = 10; /* times the sample: beyond it a word is said */

/* Between the first row and the last one along `way`; 0 where positions can't be had. */
static double extent(const wisp_positions *p, const double *way)
{
    double low = INFINITY, high = -INFINITY, xyz[3] = {0};
    for (int64_t row = 0; row < p->rows && !p->at(p->arg, row, xyz); row++) {
        const double x = way[0] * xyz[0] + way[1] * xyz[1] + way[2] * xyz[2];
        low = fmin(low, x), high = fmax(high, x);
    }
    return high > low ? high - low : 0;
}

static void look_at_cell(tool *t, const wisp_positions *p)
{
    for (int i = 0; i < t->opt.cell_vectors; i++) {
        double way[3];
        const double *v = p->cell[i];
        positions_counter((const double(*)[3])p->cell, t->opt.cell_vectors, i, way);
        const double part = extent(p, way);
        if (part * most >= 1 || part < 1e-9) continue; /* one layer, of which no spacing is known */
        wisp_ctx_logf(
            t->ctx, WISP_LOG_WARN,
            "the positions extend over %.3g of the vector %g,%g,%g of --cell, and the conductivity is divided "
            "by the whole cell, %g; if the sample fills less, give --volume",
            part, v[0], v[1], v[2], p->volume);
    }
}

/* Of positions without a cell: that of the box around them, 0 where it is flat. */
static double box_of(const wisp_positions *p)
{
    double volume = 1;
    for (int d = 0; d < p->dimensions; d++) volume *= extent(p, (const double[]){d == 0, d == 1, d == 2});
    return volume;
}

void volume_look(tool *t, const sigma_results *r, const wisp_positions *p)
{
    if (!p->at || !r->has_volume) return;
    if (!(t->opt.volume > 0)) {
        if (t->opt.positions) look_at_cell(t, p);
        return;
    }
    const double told = p->volume > 0 ? p->volume : box_of(p), given = t->opt.volume;
    if (told > 0 && (given > most * told || told > most * given))
        wisp_ctx_logf(t->ctx, WISP_LOG_WARN,
                      "--volume %g is %.3g times what the positions extend over, %g: the conductivity is divided by it",
                      given, given / told, told);
}
