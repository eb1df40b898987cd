/* The time that a sweep takes in the cores: loads and products of registers, counted from the structure of the kernels
   and weighted by measured times. */
#include "model.h"
#include <math.h>

static double loads_by(const wisp__shape *m, wisp__loads w, double registers)
{
    return m->entries * (w.entry + w.part * registers) + m->rows * w.row * registers;
}

/* Rows that repeat look up less, and real ones of one pattern or list go side by side, so that their products do not
   wait for each other. */
static double loads_of_block(const wisp__facts *f, const wisp__shape *m, double bytes, double registers)
{
    const wisp__tuned *t = f->tuned;
    if (wisp_type_is_complex(m->type))
        return loads_by(m, m->patterns ? t->core.complex_repeated : t->core.complex_stored, registers);
    if (!m->patterns && !m->lists) return loads_by(m, t->core.stored, registers);
    const double alike = wisp__sample_alike(m->sample, f->sides, bytes <= t->line ? f->apart : 1);
    return alike * loads_by(m, t->core.together, registers) + (1 - alike) * loads_by(m, t->core.repeated, registers);
}

/* Single columns go a register of rows at a time, each entry of which is gathered unless it lies as the one before, or
   where groups of rows repeat; else element by element. */
static wisp_status loads_of_column(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type,
                                   double *loads)
{
    const wisp__tuned *t = f->tuned;
    const int64_t reg = f->register_bytes, element = (int64_t)wisp_type_size(type);
    const int64_t group = WISP__MIN(WISP__MAX(reg / element, 1), WISP__RUN);
    const bool complex = wisp_type_is_complex(type);
    double repeats = 0;
    wisp_status status = WISP_OK;
    if (m->bundles && type == m->type) WISP_TRY(wisp__sample_repeats(ctx, m->sample, group, &repeats));
    *loads += repeats / (double)group * loads_by(m, complex ? t->core.complex_bundled : t->core.bundled, 1);
    if (m->chunks && !m->bundles && !complex) {
        const wisp__loads all = t->core.gathered, w = {all.entry * (1 - t->core.follows * m->follows), 0, all.row};
        *loads += loads_by(m, w, 1);
    } else {
        *loads += (1 - repeats) * loads_by(m, complex ? t->core.complex_alone : t->core.alone, 1);
    }
out:
    return status;
}

/* Widths that no kernel has are done by those of their parts. */
static int widest_part(int width, int most)
{
    int part = 1;
    while (2 * part <= width && 2 * part <= most) part *= 2;
    return part;
}

wisp_status wisp__core_work_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                                 const wisp__comings *x, const wisp__caches *c, wisp__core_work *w)
{
    const double element = (double)wisp_type_size(type), reg = f->register_bytes;
    const double block = m->rows * width * element, missed = 1 - wisp__kept_part(m->bytes + 2 * block, c->all_l1);
    *w = (wisp__core_work){.far = missed * (m->bytes + 2 * block + block * x->l1),
                           .ahead = width == 1 && m->bytes > block,
                           .late = width > 1 && width * element < f->tuned->line,
                           .threads = f->threads};
    if (width == 1 && wisp_type_is_complex(type) == wisp_type_is_complex(m->type))
        return loads_of_column(ctx, f, m, type, &w->loads);
    for (int left = width, part; left > 0; left -= part) {
        part = widest_part(left, f->tuned->width.widest);
        w->loads += loads_of_block(f, m, part * element, ceil(part * element / reg));
    }
    return WISP_OK;
}

/* What the first-level cache does not hold, gathers among it, comes at less than the rate of one stream; threads that
   begin and end a sweep together wait for each other. */
double wisp__core_seconds(const wisp__tuned *t, const wisp__core_work *w, const wisp__rates *r)
{
    return w->loads / r->loads + t->core.far * w->far / r->l2 +
           (w->threads > 1 ? r->wait > 0 ? r->wait : t->core.wait : 0);
}
