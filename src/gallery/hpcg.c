/* The matrix of the HPCG benchmark (Dongarra, Heroux, Luszczek 2016; its GenerateProblem_ref): 27 points, diagonal 26,
   off-diagonals -1, neighbours beyond the box left out. Rows as there: (z ny + y) nx + x, x fastest, and entries by
   rising column; laplace's 27 points count z fastest. One process of HPCG has nx x ny x nz rows, and so has this. */
#include "gallery.h"

#define KEYS(X)                                                                 \
    X(nx, "16", WISP__GAL_SIZE, "points along x, whose rows follow each other") \
    X(ny, "16", WISP__GAL_SIZE, "points along y")                               \
    X(nz, "16", WISP__GAL_SIZE, "points along z")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

static int hpcg_row(void *arg, int64_t row, int64_t *col, void *val)
{
    return wisp__gal_cube(arg, row, 26, -1, col, val);
}

static wisp_status hpcg_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    wisp__gal_box box;
    wisp_src shape = {.max_row = 27, .type = WISP_D, .row = hpcg_row};
    wisp_status status = /* the box counts its last direction fastest */
        wisp__gal_box_make(&box, ctx, "hpcg", value[KEY_nz].i, value[KEY_ny].i, value[KEY_nx].i, 0, &shape.rows);
    if (status != WISP_OK) return status;
    return wisp__gal_source(src, ctx, "hpcg", &shape, &box, sizeof box);
}

const wisp__gal_entry wisp__gal_hpcg = {
    {"hpcg", "27-point matrix of the HPCG benchmark: diagonal 26, off-diagonal -1", KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    hpcg_open,
    NULL};
