/* What a device's caches hold while a sweep goes over its blocks; and the terms of the model of time that are made of
   rates. */
#include "model.h"
#include <math.h>

void wisp__caches_find(const wisp__facts *f, int width, int64_t row_bytes, double rows, wisp__caches *c)
{
    const bool together = wisp__side_by_side(f, width, 2 * rows * (double)row_bytes);
    const int64_t range = (int64_t)rows / f->threads + 1;
    c->threads = f->threads;
    c->block_rows =
        together ? WISP__MIN(wisp__rows_per_turn(&f->cut, (int64_t)rows, row_bytes, f->threads), range) : range;
    c->l1 = f->l1;
    c->l2 = f->l2;
    c->all_l1 = c->l1 * f->threads;
    c->all_l2 = c->l2 * f->l2_caches;
    c->l3 = (together ? f->l3 : f->l3 / f->l3_threads) / f->l3_ranks;
    c->l3 = WISP__MAX(c->l3, c->l2);
    c->kept = WISP__MAX(f->kept, c->all_l2);
}

bool wisp__may_interleave(const wisp__facts *f) { return f->rates.l3 >= f->tuned->width.faster * f->rates.memory; }

double wisp__memory_seconds(const wisp__tuned *t, double read, double written, bool past, double load_gbs)
{
    const double cost = past ? t->time.writing_past : t->time.writing;
    return 1e-9 * (read + cost * written) / load_gbs;
}

/* Neither is waited for in full, as in the larger of the two (an exponent of infinity), nor do they follow each other,
   as in their sum (1). */
double wisp__overlapped(double traffic, double core, double exponent)
{
    return pow(pow(traffic, exponent) + pow(core, exponent), 1 / exponent);
}
