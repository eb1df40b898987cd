/* Rows of a source whose entries are changed (bonds.h). */
#include "bonds.h"
#include "../data/rows.h"

/* Entries from number `begin` to `end` of val, where h wrote them in its type: from the last one down, for the new ones
   may be longer. */
static bool change(const wisp__bonds *b, int64_t row, int64_t begin, int64_t end, const int64_t *col, void *val)
{
    const size_t from = wisp_type_size(b->h.type), to = wisp_type_size(b->type);
    for (int64_t k = end; k-- > begin;) {
        wisp_scalar x = wisp__load(b->h.type, (const char *)val + (size_t)k * from);
        if (!b->entry(b, row, col[k], &x)) return false;
        wisp__store(b->type, (char *)val + (size_t)k * to, x);
    }
    return true;
}

static int one_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp__bonds *b = arg;
    const int n = b->h.row(b->h.arg, row, col, val);
    if (!col || n < 0 || n > b->h.max_row) return n;
    return change(b, row, 0, n, col, val) ? n : -1;
}

static int64_t many_rows(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col,
                         void *val)
{
    const wisp__bonds *b = arg;
    const int64_t n = b->h.many(b->h.arg, first, count, room, rowptr, col, val);
    if (n < 0 || n > room || !col) return n;
    for (int64_t i = count; i-- > 0;)
        if (!change(b, first + i, rowptr[i], rowptr[i + 1], col, val)) return -1;
    return n;
}

static void free_bonds(void *arg)
{
    wisp__bonds *b = arg;
    wisp_free(b->ctx, b);
}

void wisp__bonds_open(wisp_src *src, wisp__bonds *b)
{
    *src = b->h;
    src->type = b->type;
    src->row = b->h.row ? one_row : NULL;
    src->many = b->h.many ? many_rows : NULL;
    src->arg = b;
    src->free_arg = free_bonds;
}
