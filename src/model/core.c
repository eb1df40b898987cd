/* What a sweep asks of the cores, counted from the structure of the kernels. */
#include "model.h"

/* Rows that go side by side: as many as there are accumulators for, if they have one list or pattern, as many do. */
static double side_by_side(const wisp__shape *m, double registers, int64_t reg)
{
    enum { MOST = 4, WIDE = 64 };
    const double sums = reg >= WIDE ? 16 : 8;
    if (wisp_type_is_complex(m->type) || !(m->patterns || m->lists)) return 1;
    return WISP__MAX(WISP__MIN(sums / registers, MOST), 1);
}

/* In loads of a register: an entry takes its value and where it points, and for each register of the block row a load
   and a product; rows side by side look values and columns up once, and their products do not wait for each other.
   Single columns go element by element (about three loads in all), or a register of rows at a time where rows repeat,
   or are real: 2.1 loads an entry if these gather, else as many as instructions, six a register. A row's own part is
   about four times its registers. */
static wisp_status loads_of(wisp_ctx *ctx, const wisp__shape *m, wisp_type type, int width, double *loads)
{
    const int64_t element = (int64_t)wisp_type_size(type), row_bytes = width * element, reg = ctx->isa->register_bytes;
    const double registers = (double)((row_bytes + reg - 1) / reg);
    const bool single = width == 1, chunks = single && m->chunks && !wisp_type_is_complex(type);
    const double rows = single ? 1 : side_by_side(m, registers, reg);
    double each = 2 / rows + (rows > 1 ? 1 : 2) * registers, own = 4 * registers, repeats;
    wisp_status status = WISP_OK;
    if (single && !m->patterns) each = 3;
    if (chunks && !m->patterns) each = 2.1 * (1 - m->follows) + 6 * m->follows * (double)element / (double)reg;
    if (m->patterns && single && (chunks || type == m->type)) {
        const int64_t group = WISP__MIN(WISP__MAX(reg / element, 1), WISP__RUN);
        WISP_TRY(wisp__sample_repeats(ctx, m->sample, group, &repeats));
        const double part = 1 - repeats + repeats / (double)group;
        each *= part;
        own *= part;
    }
    *loads += m->entries * each + m->rows * own;
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

/* Lines that are asked for ahead: of y, and of what is gathered from afar, or, of long rows, of all that is. */
static double prefetched(const wisp__shape *m, wisp_type type, double row_bytes, const wisp__comings *x)
{
    enum { LINE = 64, SHORT_REAL = 256, SHORT_COMPLEX = 128 };
    const bool all = row_bytes > (wisp_type_is_complex(type) ? SHORT_COMPLEX : SHORT_REAL);
    if (row_bytes < LINE) return 0;
    return row_bytes / LINE * (m->rows + (all ? m->entries : m->rows * x->l2));
}

wisp_status wisp__core_work_find(wisp_ctx *ctx, const wisp__shape *m, wisp_type type, int width, const wisp__comings *x,
                                 bool near, wisp__core_work *w)
{
    enum { WIDEST = 32 };
    const double row_bytes = width * (double)wisp_type_size(type);
    wisp_status status = WISP_OK;
    *w = (wisp__core_work){.far = m->rows * row_bytes * x->l1, .ahead = width == 1 && m->bytes > m->rows * row_bytes};
    for (int left = width, part; left > 0 && status == WISP_OK; left -= part) {
        part = widest_part(left, WIDEST); /* one column of several is not single: rows are far apart */
        status = loads_of(ctx, m, type, width == part ? width : WISP__MAX(part, 2), &w->loads);
    }
    if (!near) w->loads += prefetched(m, type, row_bytes, x);
    return status;
}

/* Block rows are gathered from the second-level cache at about half the rate at which it is streamed. */
double wisp__core_seconds(const wisp__core_work *w, const wisp__rates *r)
{
    return w->loads / r->loads + 2 * w->far / r->l2;
}
