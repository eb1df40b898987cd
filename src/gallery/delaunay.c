/* Linear finite elements on a Delaunay triangulation of random points in the plane, one in each square cell.

   The stiffness matrix of the Laplacian: for an edge ij and the angles a, b opposite to it in its two triangles
   K_ij = -(cot a + cot b)/2 (Pinkall, Polthier 1993; never positive for a Delaunay triangulation), and K_ii makes the
   sum over all neighbours, those outside too, zero. The lumped mass of a point is a third of the area around it; cells
   have area 1.

   Neighbours. A disc of radius sqrt(2) holds the whole cell in which its centre lies, hence a point: empty circles are
   smaller, neighbours nearer than 2 sqrt(2), and all that matters lies at most 3 cells away. Most rows need but 2: if
   all circles around the triangles found lie there, these are right. Around a point one goes from neighbour to
   neighbour: the next is the one that sees the edge to the last one under the largest angle. Of four points on a circle
   (which do occur, with jitter=0 everywhere) the one whose cell comes first counts as lifted off the paraboloid by an
   infinitesimal amount (simulation of simplicity, Edelsbrunner, Muecke 1990): it gets no diagonal. */
#include "mesh.h"
#include <math.h>

#define KEYS(X)                                                                                          \
    X(nx, "100", WISP__GAL_MESH_CELLS, "cells along x, a point in each")                                 \
    X(ny, "100", WISP__GAL_MESH_CELLS, "cells along y")                                                  \
    X(jitter, "1", WISP__GAL_MESH_JITTER, "side of the square in the cell in which its point is random") \
    WISP__GAL_MESH_KEYS(X)

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

/* Bits of a coordinate in its cell: the products of two vectors stay below 2^57. */
enum { BITS = 24, NEAR = 2, FAR = 3, WINDOW = (2 * FAR + 1) * (2 * FAR + 1) };

/* The points around one, relative to it, by rising cells. */
typedef struct {
    int reach, count;
    int64_t corner[2]; /* of the point's cell, relative to the point */
    int64_t x[WINDOW], y[WINDOW];
} window;

/* Neighbours in the order of their angle; weight: sum of the cotangents opposite to the edge; area: of all triangles,
   times 2. */
typedef struct {
    int count, point[WINDOW];
    double weight[WINDOW], area;
} star;

static void look_around(const wisp__gal_mesh *m, const int64_t at[3], int reach, window *w)
{
    int64_t own[4], u[4];
    wisp__gal_mesh_random(m, at[0], at[1], 0, own);
    *w = (window){.reach = reach, .corner = {-own[0], -own[1]}};
    for (int64_t x = -reach; x <= reach; x++) {
        for (int64_t y = -reach; y <= reach; y++) {
            wisp__gal_mesh_random(m, at[0] + x, at[1] + y, 0, u);
            w->x[w->count] = x * (1 << BITS) + u[0] - own[0];
            w->y[w->count++] = y * (1 << BITS) + u[1] - own[1];
        }
    }
}

static inline int64_t cross(const window *w, int a, int b) { return w->x[a] * w->y[b] - w->y[a] * w->x[b]; }
/* At a, from the centre to b: cross(a, b) times the cotangent of the angle. */
static inline int64_t corner_dot(const window *w, int a, int b)
{
    return w->x[a] * (w->x[a] - w->x[b]) + w->y[a] * (w->y[a] - w->y[b]);
}

/* Centre, last, a and b lie on a circle: is the triangle with b the one to take, and not that with a? */
static bool lifted(const window *w, int last, int a, int b)
{
    const int centre = w->count / 2;
    if (centre < WISP__MIN(last, WISP__MIN(a, b))) return cross(w, a, b) > 0;
    if (last < WISP__MIN(a, b)) return cross(w, a, b) < 0;
    return a < b;
}

/* The neighbour after `last`, counterclockwise: of the points on the left, the one that sees the edge largest. */
static int next_neighbour(const window *w, int last)
{
    int best = -1;
    int64_t best_cross = 0, best_dot = 0;
    for (int i = 0; i < w->count; i++) {
        const int64_t c = cross(w, last, i);
        if (c <= 0) continue;
        const int64_t d = corner_dot(w, i, last);
        if (best >= 0) {
            const __int128 mine = (__int128)d * best_cross, other = (__int128)best_dot * c;
            if (mine > other || (mine == other && !lifted(w, last, best, i))) continue;
        }
        best = i;
        best_cross = c;
        best_dot = d;
    }
    return best;
}

/* The nearest point is a neighbour in any case. */
static int nearest(const window *w)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < w->count; i++) {
        const int64_t square = w->x[i] * w->x[i] + w->y[i] * w->y[i];
        if (i == w->count / 2 || square >= least) continue;
        best = i;
        least = square;
    }
    return best;
}

/* Does the circle through the centre, a and b stay in the window? Rounding moves it by far less than `margin`. */
static bool circle_within(const window *w, int a, int b)
{
    const double ax = (double)w->x[a], ay = (double)w->y[a], bx = (double)w->x[b], by = (double)w->y[b];
    const double scale = 0.5 / (double)cross(w, a, b), aa = ax * ax + ay * ay, bb = bx * bx + by * by;
    const double x = (by * aa - ay * bb) * scale, y = (ax * bb - bx * aa) * scale, radius = sqrt(x * x + y * y);
    const double margin = 0x1p-10 * (1 << BITS), reach = (double)w->reach * (1 << BITS) - margin;
    const double left = (double)w->corner[0], low = (double)w->corner[1], cell = 1 << BITS;
    return x - radius > left - reach && x + radius < left + cell + reach && y - radius > low - reach &&
           y + radius < low + cell + reach;
}

/* All neighbours; false if the window may be too small to know. */
static bool star_in(const window *w, star *s)
{
    const int first = nearest(w);
    *s = (star){.count = 1, .point[0] = first};
    for (int k = 0;; k++) {
        const int a = s->point[k], b = next_neighbour(w, a);
        if (w->reach < FAR && !circle_within(w, a, b)) return false;
        const int to = b == first ? 0 : s->count++;
        const double area = (double)cross(w, a, b);
        s->point[to] = b;
        s->weight[k] += (double)corner_dot(w, b, a) / area;
        s->weight[to] += (double)corner_dot(w, a, b) / area;
        s->area += area;
        if (to == 0) return true;
    }
}

static int delaunay_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp__gal_mesh *m = arg;
    double *v = val, sum = 0;
    int64_t at[3];
    const int64_t cell = wisp__gal_mesh_cell(m, row);
    int n = 1;
    window w;
    star s;
    wisp__gal_where(&m->box, cell, at);
    look_around(m, at, NEAR, &w);
    if (!star_in(&w, &s)) {
        look_around(m, at, FAR, &w);
        star_in(&w, &s);
    }
    for (int k = 0; k < s.count; k++) {
        const int side = 2 * w.reach + 1, x = s.point[k] / side - w.reach, y = s.point[k] % side - w.reach;
        sum += s.weight[k];
        if (!wisp__gal_mesh_inside(m, at[0] + x, at[1] + y, 0)) continue;
        if (col) {
            col[n] = wisp__gal_mesh_row(m, cell + x * m->box.stride[0] + y * m->box.stride[1]);
            v[n] = -0.5 * s.weight[k];
        }
        n++;
    }
    if (col) {
        const double cell_area = (double)((int64_t)1 << 2 * BITS);
        col[0] = row;
        v[0] = 0.5 * sum + m->sigma * (s.area / (6 * cell_area));
    }
    return n;
}

static wisp_status delaunay_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const int64_t cells[3] = {value[KEY_nx].i, value[KEY_ny].i, 1};
    *src = (wisp_src){.max_row = WINDOW, .type = WISP_D, .row = delaunay_row};
    return wisp__gal_mesh_open(src, ctx, "delaunay", cells, &value[KEY_jitter], 1 << BITS);
}

const wisp__gal_entry wisp__gal_delaunay = {
    {"delaunay", "finite elements on a Delaunay triangulation of random points in the plane", KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    delaunay_open,
    NULL};
