/* The model problem MATPDE of the NEP collection (Bai, Day, Demmel, Dongarra, "A test matrix collection for
   non-Hermitian eigenvalue problems", 1997): on the unit square, with u = 0 on its boundary,

       -(p u_x)_x - (q u_y)_y + r u_x + (r u)_x + s u_y + (s u)_y + t u,
       p = exp(-xy), q = exp(xy), r = beta (x + y), s = gamma (x + y), t = 1/(1 + x + y),

   by five-point central differences, times the square of the step along y. PDE225, PDE900 and PDE2961 are nx x ny =
   15 x 15, 30 x 30 and 63 x 47. Rows as there: the point (x, y) = ((i + 1)/(nx + 1), (j + 1)/(ny + 1)) has row
   j nx + i. */
#include "gallery.h"
#include <math.h>

#define KEYS(X)                                                                               \
    X(nx, "30", WISP__GAL_SIZE, "points along x, whose rows follow each other")               \
    X(ny, "30", WISP__GAL_SIZE, "points along y")                                             \
    X(beta, "20", WISP__GAL_REAL_FROM(INT64_MIN), "convection along x; 0 in both: symmetric") \
    X(gamma, "0", WISP__GAL_REAL_FROM(INT64_MIN), "convection along y")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp__gal_box box; /* y, x: the last direction is counted fastest */
    double hx, hy, beta, gamma;
} matpde;

/* South, west, the point itself, east, north. */
enum { S, W, POINT, E, N, POINTS };

/* Of the point (i, j). Places half a step away are multiples of half a step: so both neighbours find the same one, and
   without convection the matrix is exactly symmetric. */
static void stencil(const matpde *m, int64_t i, int64_t j, double v[POINTS])
{
    const double hx = m->hx, hy = m->hy, ratio = hy / hx, square = ratio * ratio;
    const double x = (double)(2 * i + 2) * (hx / 2), y = (double)(2 * j + 2) * (hy / 2);
    const double west = square * exp(-(double)(2 * i + 1) * (hx / 2) * y),
                 east = square * exp(-(double)(2 * i + 3) * (hx / 2) * y),
                 south = exp(x * ((double)(2 * j + 1) * (hy / 2))), north = exp(x * ((double)(2 * j + 3) * (hy / 2)));
    /* r u_x + (r u)_x: r here and r at the neighbour, over twice the step */
    const double r = m->beta * hy * ratio / 2, s = m->gamma * hy / 2, both = 2 * (x + y);
    v[W] = -west - r * (both - hx);
    v[E] = -east + r * (both + hx);
    v[S] = -south - s * (both - hy);
    v[N] = -north + s * (both + hy);
    v[POINT] = west + east + south + north + hy * hy / (1 + x + y);
}

static int matpde_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const matpde *m = arg;
    int64_t at[3];
    bool there[POINTS] = {[POINT] = true};
    double v[POINTS] = {0};
    int n = 0;
    wisp__gal_where(&m->box, row, at);
    const int64_t step[POINTS] = {
        [S] = wisp__gal_below(&m->box, at, 1, &there[S]),
        [W] = wisp__gal_below(&m->box, at, 2, &there[W]),
        [E] = wisp__gal_above(&m->box, at, 2, &there[E]),
        [N] = wisp__gal_above(&m->box, at, 1, &there[N]),
    };
    if (col) stencil(m, at[2], at[1], v);
    for (int k = 0; k < POINTS; k++) {
        if (!there[k]) continue;
        if (col) {
            col[n] = row + step[k];
            ((double *)val)[n] = v[k];
        }
        n++;
    }
    return n;
}

static wisp_status matpde_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    const int64_t nx = value[KEY_nx].i, ny = value[KEY_ny].i;
    matpde m = {.hx = 1 / ((double)nx + 1),
                .hy = 1 / ((double)ny + 1),
                .beta = value[KEY_beta].real,
                .gamma = value[KEY_gamma].real};
    wisp_src shape = {.max_row = POINTS, .type = WISP_D, .row = matpde_row};
    wisp_status status = wisp__gal_box_make(&m.box, ctx, "matpde", 1, ny, nx, 0, &shape.rows);
    if (status != WISP_OK) return status;
    return wisp__gal_source(src, ctx, "matpde", &shape, &m, sizeof m);
}

const wisp__gal_entry wisp__gal_matpde = {
    {"matpde", "nonsymmetric convection and diffusion, 5 points: MATPDE of the NEP collection", KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    matpde_open,
    NULL};
