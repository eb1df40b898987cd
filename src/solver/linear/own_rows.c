/* Rows of a rank as its preconditioner sees them: square, with a diagonal, sorted. */
#include "precond.h"
#include <string.h>

static void swap_entries(int64_t *col, char *val, size_t size, int64_t a, int64_t b)
{
    char number[sizeof(double complex)];
    const int64_t c = col[a];
    col[a] = col[b], col[b] = c;
    memcpy(number, val + (size_t)a * size, size);
    memcpy(val + (size_t)a * size, val + (size_t)b * size, size);
    memcpy(val + (size_t)b * size, number, size);
}

/* Entries by rising columns, as most rows have them already (Williams 1964, Comm. ACM 7, 347, heapsort). */
static void sort_entries(int64_t *col, char *val, size_t size, int64_t n)
{
    int64_t rising = 1;
    while (rising < n && col[rising - 1] < col[rising]) rising++;
    if (rising >= n) return;
    for (int64_t from = n / 2, left = n; left > 1;) {
        if (from > 0)
            from--;
        else
            swap_entries(col, val, size, 0, --left);
        for (int64_t at = from, child; (child = 2 * at + 1) < left; at = child) {
            if (child + 1 < left && col[child + 1] > col[child]) child++;
            if (col[at] >= col[child]) break;
            swap_entries(col, val, size, at, child);
        }
    }
}

int wisp__read_own(const wisp_src *src, int64_t first, int64_t rows, int64_t i, int64_t *col, char *val)
{
    const size_t size = wisp_type_size(src->type);
    const int count = src->row(src->arg, first + i, col, val);
    bool diagonal = false;
    int n = 0;
    if (count < 0) return -1;
    for (int k = 0; k < count; k++) {
        const int64_t own = col[k] - first;
        if (own < 0 || own >= rows) continue;
        col[n] = own;
        if (n < k) memmove(val + (size_t)n * size, val + (size_t)k * size, size);
        diagonal |= own == i;
        n++;
    }
    if (!diagonal) {
        col[n] = i;
        memset(val + (size_t)n * size, 0, size);
        n++;
    }
    sort_entries(col, val, size, n);
    return n;
}
