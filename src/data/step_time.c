/* How long a step takes: the traffic of memory and of the last cache, and the core's part, which is counted from the
   matrix's structure in what the core's ceilings are measured in. */
#include "cascade.h"
#include <math.h>
#include <string.h>

enum { LINE = 64, NEAR = 32 << 10, MOST_SLOTS = NEAR / (LINE / 2) };

/* Lines of narrow block rows, or wide block rows, that a first-level cache holds: each has one place in it, which does
   not depend on powers of two. */
typedef struct {
    int64_t tag[MOST_SLOTS];
    int64_t slots, per_line;
    int64_t met, missed;
} near_rows;

static void meet_row(near_rows *n, int64_t col)
{
    const int64_t line = col / n->per_line;
    const int64_t slot = (int64_t)((uint32_t)((uint64_t)line * 0x9e3779b97f4a7c15u >> 32) % (uint32_t)n->slots);
    n->met++;
    n->missed += n->tag[slot] != line;
    n->tag[slot] = line;
}

/* Of what the entries gather, the part that does not come from the first-level cache: from some windows of rows. */
static double part_from_afar(const wisp_mat *A, int64_t row_bytes, int64_t unit)
{
    enum { WINDOWS = 16, ROWS = 256, BEFORE = 64 };
    near_rows n = {.slots = WISP__MAX(NEAR / unit, 1), .per_line = unit / row_bytes};
    for (int64_t w = 0; w < WINDOWS; w++) {
        const int64_t begin = WISP__MAX(A->rows - ROWS, 0) * w / (WINDOWS - 1);
        const int64_t end = WISP__MIN(begin + ROWS, A->rows), met = n.met, missed = n.missed;
        memset(n.tag, -1, sizeof n.tag);
        for (int64_t row = begin; row < end; row++) {
            if (row == begin + BEFORE) n.met = met, n.missed = missed; /* they have filled the cache */
            const int len = wisp__row_len(&A->local, row);
            for (int k = 0; k < len; k++) meet_row(&n, wisp__entry_col(A, row, k));
        }
    }
    return (double)n.missed / (double)WISP__MAX(n.met, 1);
}

/* Of rows that go a register at a time, the part that does not gather. */
static double part_that_follows(const wisp__sell *s, int64_t rows)
{
    const int64_t units = wisp__follow_bytes(rows);
    int64_t halves = 0;
    if (s->list) return 1;
    for (int64_t i = 0; s->follow && i < units; i++)
        halves += __builtin_popcount(s->follow[i] & (K_FOLLOW_FIRST | K_FOLLOW_SECOND));
    return (double)halves / (double)WISP__MAX(2 * units, 1);
}

/* In loads of a register: an entry takes its value and where it points, and for each register of the block row a load
   and a product; single columns go element by element (about three loads in all), or a register of rows at a time where
   rows repeat, or are real: 2.1 loads an entry if these gather, else as many as instructions, six a register; a row's
   own part is about four times its registers. (topi in cache, complex, widths 4 to 32: 0.9 to 1.05 of what was
   measured; 7 points, the band, width 1: 0.9 to 1.2, on one thread and two.) That kernels ask for the matrix ahead
   counts for single columns, which hardly do anything else. */
wisp__core_work wisp__core_work_find(const wisp_mat *A, wisp_type type, int width)
{
    const wisp__sell *s = &A->local;
    const int64_t element = (int64_t)wisp_type_size(type), row_bytes = width * element;
    const int64_t reg = A->ctx->isa->register_bytes, unit = WISP__MAX(LINE / row_bytes, 1) * row_bytes;
    const double registers = (double)((row_bytes + reg - 1) / reg), entries = (double)s->nnz, rows = (double)A->rows;
    const bool single = width == 1, chunks = single && 1 << A->log_c >= K_CHUNKED_C && !wisp_type_is_complex(type);
    wisp__core_work w = {.ahead = single && (double)wisp__mat_bytes(A, false) > rows * (double)row_bytes};
    double each = 2 + 2 * registers, own = 4 * registers;
    if (single && !s->pattern) each = 3;
    if (chunks && !s->pattern) {
        const double follow = part_that_follows(s, A->rows);
        each = 2.1 * (1 - follow) + 6 * follow * (double)element / (double)reg;
    }
    if (s->pattern && single && (chunks || (s->bundles && type == A->type))) {
        const double together = WISP__MAX((double)(reg / element), 1);
        each /= together;
        own /= together;
    }
    w.loads = entries * each + rows * own;
    w.far = entries * (double)unit * part_from_afar(A, row_bytes, unit);
    return w;
}

double wisp__core_seconds(const wisp__core_work *w, const wisp__rates *r)
{
    return w->loads / r->loads + w->far / r->l2;
}

/* What other threads have written is gathered, which the core waits for. */
double wisp__step_seconds(const wisp__step_cost *c, const wisp__core_work *w, const wisp__rates *r)
{
    const double traffic = wisp_model_memory(c->read, c->written, false, 1e-9 * r->memory) + c->from_l3 / r->l3;
    return wisp_model_overlap(traffic, wisp__core_seconds(w, r) + c->from_others / r->exchange, w->ahead);
}
