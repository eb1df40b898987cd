/* Lattices of five points, rows in natural or random order. */
#ifndef LATTICE_H
#define LATTICE_H
#include "ref.h"
#include <stdlib.h>

/* Lattices nx x ny, `copies` of them, whose rows are numbered at random. */
typedef struct {
    int nx, ny, copies;
    int *number, *site;
} lattice;

static inline int lattice_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const lattice *l = arg;
    const int s = l->site[row], x = s / l->ny % l->nx, y = s % l->ny;
    const int beside[] = {x > 0 ? s - l->ny : -1, y > 0 ? s - 1 : -1, s, y + 1 < l->ny ? s + 1 : -1,
                          x + 1 < l->nx ? s + l->ny : -1};
    int n = 0;
    for (int i = 0; i < 5; i++) {
        if (beside[i] < 0) continue;
        if (col) col[n] = l->number[beside[i]], ((double *)val)[n] = i == 2 ? 4 : -1;
        n++;
    }
    return n;
}

static inline wisp_src lattice_open(lattice *l, int nx, int ny, int copies, uint64_t seed)
{
    const int n = nx * ny * copies;
    ref_rng r = {seed};
    *l = (lattice){nx, ny, copies, malloc(sizeof(int) * (size_t)n), malloc(sizeof(int) * (size_t)n)};
    for (int i = 0; i < n; i++) l->site[i] = i;
    for (int i = n - 1; seed && i > 0; i--) {
        const int j = (int)ref_below(&r, i + 1), t = l->site[i];
        l->site[i] = l->site[j];
        l->site[j] = t;
    }
    for (int i = 0; i < n; i++) l->number[l->site[i]] = i;
    return (wisp_src){n, n, 5, WISP_D, lattice_row, l, NULL, 0, NULL, 0, NULL};
}

static inline void lattice_close(lattice *l)
{
    free(l->number);
    free(l->site);
}
#endif
