/* Anderson's model of localization on a chain, a square or a cubic lattice. */
#include "gallery.h"

#define KEYS(X)                                                                                   \
    X(nx, "100", WISP__GAL_SIZE, "sites along x; a direction of one site is left out")            \
    X(ny, "1", WISP__GAL_SIZE, "sites along y")                                                   \
    X(nz, "1", WISP__GAL_SIZE, "sites along z")                                                   \
    X(t, "1", WISP__GAL_REAL_FROM(INT64_MIN), "hopping: -t between neighbours")                   \
    X(disorder, "1", WISP__GAL_REAL_FROM(0), "W: potential of each site, uniform in [-W/2, W/2]") \
    X(seed, "1", WISP__GAL_SEED, "of the disorder")                                               \
    X(periodic, "xyz", WISP__GAL_LETTERS_OF("xyz"), "periodic directions, as xy, or none")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp__gal_box box;
    double hop, disorder;
    uint64_t seed;
} anderson;

static int anderson_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const anderson *p = arg;
    double potential = col && p->disorder > 0 ? wisp__gal_disorder(p->disorder, p->seed, row) : 0;
    return wisp__gal_star(&p->box, row, potential, p->hop, col, val);
}

static wisp_status anderson_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    anderson p = {.hop = -value[KEY_t].real, .disorder = value[KEY_disorder].real, .seed = (uint64_t)value[KEY_seed].i};
    wisp_src shape = {.max_row = 1, .type = WISP_D, .row = anderson_row};
    int64_t periodic = value[KEY_periodic].i;
    for (int d = 0; d < 3; d++) {
        bool extended = value[KEY_nx + d].i > 1;
        shape.max_row += extended ? 2 : 0;
        if (!extended) periodic &= ~((int64_t)1 << d);
    }
    wisp_status status = wisp__gal_box_make(&p.box, ctx, "anderson", value[KEY_nx].i, value[KEY_ny].i, value[KEY_nz].i,
                                            periodic, &shape.rows);
    if (status != WISP_OK) return status;
    return wisp__gal_source(src, ctx, "anderson", &shape, &p, sizeof p);
}

static wisp_status anderson_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    wisp_src src = {0};
    wisp_status status = anderson_open(&src, ctx, value);
    if (status != WISP_OK) return status;
    status = wisp__gal_box_positions(positions, ctx, "anderson", &((const anderson *)src.arg)->box, 1, 1);
    src.free_arg(src.arg);
    return status;
}

const wisp__gal_entry wisp__gal_anderson = {
    {"anderson", "Anderson model in 1, 2 or 3 dimensions: hopping and a random potential", KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    anderson_open,
    anderson_positions};
