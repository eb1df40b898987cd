/* The tetrahedra around a point (patch.h). */
#include "patch.h"

enum { WINDOW = WISP__GAL_WINDOW, CENTRE = WISP__GAL_CENTRE };

static void look_around(const wisp__gal_mesh *m, const int64_t at[3], wisp__gal_patch *p)
{
    int64_t u[4], own[4];
    wisp__gal_mesh_random(m, at[0], at[1], at[2], own);
    p->count = 0;
    p->joined = 0;
    for (int i = 0; i < WINDOW; i++) {
        const int64_t step[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        wisp__gal_mesh_random(m, at[0] + step[0], at[1] + step[1], at[2] + step[2], u);
        for (int d = 0; d < 3; d++) p->at[i][d] = step[d] * (1 << WISP__GAL_BITS) + u[d] - own[d];
        p->rank[i] = u[3];
    }
}

/* Of the corners of a cube whose bits outside `mask` are those of `corner`, the foremost. */
static int foremost(const int64_t rank[8], int corner, int mask)
{
    int best = corner & ~mask;
    for (int c = best + 1; c < 8; c++) {
        if ((c & ~mask) == (corner & ~mask) && rank[c] < rank[best]) best = c;
    }
    return best;
}

/* The tetrahedra of a cube that have the centre as a corner. Corners of the cube: 4 x + 2 y + z. */
static void add_cube(wisp__gal_patch *p, const int point[8])
{
    int64_t rank[8];
    for (int c = 0; c < 8; c++) rank[c] = p->rank[point[c]];
    const int top = foremost(rank, 0, 7);
    for (int bit = 4; bit; bit >>= 1) {
        const int near = foremost(rank, top ^ bit, 7 ^ bit), far = near ^ 7 ^ bit;
        for (int step = 4; step; step >>= 1) {
            if (step == bit) continue;
            const int corner[4] = {point[top], point[near], point[far], point[near ^ step]};
            int8_t *other = p->other[p->count];
            int n = 0;
            for (int k = 0; k < 4; k++) {
                other[n] = (int8_t)corner[k];
                n += corner[k] != CENTRE;
            }
            const unsigned is_one = n == 3; /* no branch: it would be guessed wrong every other time */
            p->joined |= is_one << corner[0] | is_one << corner[1] | is_one << corner[2] | is_one << corner[3];
            p->count += (int)is_one;
        }
    }
}

void wisp__gal_patch_make(wisp__gal_patch *p, const wisp__gal_mesh *m, const int64_t at[3], unsigned cubes)
{
    look_around(m, at, p);
    for (int c = 0; c < 8; c++) {
        int point[8];
        if (!(cubes >> c & 1)) continue;
        for (int k = 0; k < 8; k++)
            point[k] = 9 * ((c >> 2) + (k >> 2)) + 3 * ((c >> 1 & 1) + (k >> 1 & 1)) + (c & 1) + (k & 1);
        add_cube(p, point);
    }
}
