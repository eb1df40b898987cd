/* The rows of a rank's part, whose columns are those of the part, as a source. */
#include "halo.h"

/* col[n] become columns of the part; false: it has other columns than before. */
static bool to_local(const wisp__part *p, int64_t n, int64_t *col)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t own = col[k] - p->col_first;
        if (own >= 0 && own < p->col_local) {
            col[k] = own;
            continue;
        }
        const int64_t i = wisp__halo_find(p->halo, col[k]);
        if (i < 0) return false;
        col[k] = p->col_local + i;
    }
    return true;
}

static int part_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp__part *p = arg;
    const int n = p->whole->row(p->whole->arg, p->first + row, col, val);
    return !col || n > p->whole->max_row || to_local(p, n, col) ? n : -1;
}

static int64_t part_many(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col,
                         void *val)
{
    const wisp__part *p = arg;
    const int64_t n = p->whole->many(p->whole->arg, p->first + first, count, room, rowptr, col, val);
    return !col || n > room || to_local(p, n, col) ? n : -1;
}

int64_t wisp__row_number(const wisp_src *src, int64_t row)
{
    return src->row == part_row || src->many == part_many ? ((const wisp__part *)src->arg)->first + row : row;
}

void wisp__part_source(wisp__part *p)
{
    p->src.row = p->whole->many ? NULL : part_row;
    p->src.many = p->whole->many ? part_many : NULL;
    p->src.arg = p;
    p->src.free_arg = NULL;
    p->src.own_rows = 0; /* it answers for all of its rows */
    p->src.weights = NULL;
}
