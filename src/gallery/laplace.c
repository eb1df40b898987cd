/* Finite-difference Laplacians: 5 points in two dimensions, 7 and 27 in three. */
#include "gallery.h"
#include <math.h>

#define KEYS(X)                                                                                           \
    X(points, "7", WISP__GAL_WORDS("5 7 27"), "size of the stencil: 5 (nx x ny), 7 or 27 (nx x ny x nz)") \
    X(nx, "10", WISP__GAL_SIZE, "points along x")                                                         \
    X(ny, "10", WISP__GAL_SIZE, "points along y")                                                         \
    X(nz, "10", WISP__GAL_SIZE, "points along z; not with points=5")                                      \
    X(periodic, "none", WISP__GAL_LETTERS_OF("xyz"), "periodic directions, as xy; Dirichlet in the others")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp__gal_box box;
    double diagonal;
} laplace;

static int star_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const laplace *p = arg;
    return wisp__gal_star(&p->box, row, p->diagonal, -1, col, val);
}

static int cube_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const laplace *p = arg;
    return wisp__gal_cube(&p->box, row, p->diagonal, -1, col, val);
}

static wisp_status laplace_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    static const int sizes[] = {5, 7, 27};
    int points = sizes[value[KEY_points].i];
    laplace p = {.diagonal = points - 1};
    wisp_src shape = {.max_row = points, .type = WISP_D, .row = points == 27 ? cube_row : star_row};
    if (points == 5 && (value[KEY_nz].given || value[KEY_periodic].i & 4)) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "laplace: points=5 has two dimensions; leave out nz and z in periodic, or take points=7");
    }
    wisp_status status = wisp__gal_box_make(&p.box, ctx, "laplace", value[KEY_nx].i, value[KEY_ny].i,
                                            points == 5 ? 1 : value[KEY_nz].i, value[KEY_periodic].i, &shape.rows);
    if (status != WISP_OK) return status;
    return wisp__gal_source(src, ctx, "laplace", &shape, &p, sizeof p);
}

static wisp_status laplace_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    wisp_src src = {0};
    wisp_status status = laplace_open(&src, ctx, value);
    if (status != WISP_OK) return status;
    status = wisp__gal_box_positions(positions, ctx, "laplace", &((const laplace *)src.arg)->box, 1,
                                     src.row == cube_row ? sqrt(3) : 1);
    src.free_arg(src.arg);
    return status;
}

const wisp__gal_entry wisp__gal_laplace = {
    {"laplace", "finite-difference Laplacian: diagonal 4, 6 or 26, off-diagonal -1", KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    laplace_open,
    laplace_positions};
