/* The time that a sweep takes in the cores: what was measured of the kernels; else loads and products of registers,
   counted from the structure of the kernels and weighted by the device's table. */
#include "model.h"
#include <math.h>

/* A kernel's part of a sweep: all rows, and so many columns of the block, in so many registers a row. */
typedef struct {
    const wisp__facts *f;
    const wisp__shape *m;
    wisp_type type;
    int columns;
    double registers;
} part;

static double loads_by(const part *p, wisp__loads w)
{
    return p->m->entries * (w.entry + w.part * p->registers) + p->m->rows * w.row * p->registers;
}

/* What the threads would load in the time that was measured, of rows of this kind; by the table where there is none. Of
   blocks wider than all that were measured the widest goes several times. */
static double loads_of(const part *p, wisp_rows kind, wisp__loads w)
{
    const int widest = 1 << (WISP_KERNEL_WIDTHS - 1), columns = WISP__MIN(p->columns, widest);
    int i = 0;
    while (2 << i <= columns) i++;
    const wisp__rates *r = &p->f->rates;
    const double *seconds = r->kernel[kind][p->type - WISP_S][i], times = (double)p->columns / columns;
    if (seconds[0] == 0) return loads_by(p, w);
    return times * (p->m->entries * seconds[0] + p->m->rows * seconds[1]) * r->loads / p->f->threads;
}

static double loads_of_stored(const part *p, wisp__loads w)
{
    const double uneven = p->m->sample->uneven;
    return (1 - uneven) * loads_of(p, WISP_ROWS_STORED, w) + uneven * loads_of(p, WISP_ROWS_UNEVEN, w);
}

/* Rows that repeat look up less, and real ones of one pattern or list go side by side, so that their products do not
   wait for each other. A complex block is twice as many real columns to a real matrix. */
static double loads_of_block(const wisp__facts *f, const wisp__shape *m, wisp_type type, int columns)
{
    const wisp__tuned *t = f->tuned;
    const bool complex = wisp_type_is_complex(m->type), twice = !complex && wisp_type_is_complex(type);
    const double bytes = columns * (double)wisp_type_size(type);
    const part p = {f, m, twice ? wisp__real_type(type) : type, twice ? 2 * columns : columns,
                    ceil(bytes / f->register_bytes)};
    const wisp__loads stored = complex ? t->core.complex_stored : t->core.stored;
    if (!m->patterns && !m->lists) return loads_of_stored(&p, stored);
    const wisp__loads w = !complex      ? t->core.repeated
                          : m->patterns ? t->core.complex_repeated
                                        : stored,
                      near = complex ? w : t->core.together;
    const double alike = wisp__sample_alike(m->sample, f->sides, 1),
                 all = bytes <= t->line ? wisp__sample_alike(m->sample, f->sides, f->apart) : alike;
    return alike * loads_of(&p, WISP_ROWS_ALIKE, near) + (all - alike) * loads_of(&p, WISP_ROWS_IN_TURN, near) +
           (1 - all) * loads_of(&p, WISP_ROWS_SHARED, w);
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
    const wisp__loads alone = complex ? t->core.complex_alone : t->core.alone,
                      bundled = complex ? t->core.complex_bundled : t->core.bundled,
                      each = {bundled.entry / (double)group, 0, bundled.row / (double)group};
    wisp__shape gathered = *m;
    part p = {f, m, type, 1, 1};
    double repeats = 0, alike = 0;
    wisp_status status = WISP_OK;
    if (m->bundles && type == m->type) WISP_TRY(wisp__sample_repeats(ctx, m->sample, group, &repeats));
    if (repeats > 0) alike = fmin(wisp__sample_alike(m->sample, group, 1), repeats);
    *loads += alike * loads_of(&p, WISP_ROWS_ALIKE, each) + (repeats - alike) * loads_of(&p, WISP_ROWS_IN_TURN, each);
    if (m->patterns) {
        *loads += (1 - repeats) * loads_of(&p, WISP_ROWS_SHARED, alone);
    } else if (m->chunks && !complex) {
        p.m = &gathered;
        gathered.entries *= 1 - t->core.follows * m->follows;
        *loads += loads_of_stored(&p, t->core.gathered);
    } else {
        *loads += complex ? loads_of_stored(&p, alone) : loads_by(&p, alone); /* real ones in chunks were measured */
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
    const double element = (double)wisp_type_size(type);
    const double block = m->rows * width * element, missed = 1 - wisp__kept_part(m->bytes + 2 * block, c->all_l1);
    *w = (wisp__core_work){.far = missed * (m->bytes + 2 * block + block * x->l1),
                           .ahead = width == 1 && (m->bytes > block || m->bundles),
                           .late = width > 1 && width * element < f->tuned->line,
                           .threads = f->threads};
    if (width == 1 && wisp_type_is_complex(type) == wisp_type_is_complex(m->type))
        return loads_of_column(ctx, f, m, type, &w->loads);
    for (int left = width, columns; left > 0; left -= columns) {
        columns = widest_part(left, f->tuned->width.widest);
        w->loads += loads_of_block(f, m, type, columns);
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
