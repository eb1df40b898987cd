/* A three-dimensional topological insulator: equation (1) of Kreutzer et al., "Performance engineering of the kernel
 * polynomial method on large-scale CPU-GPU systems".
 *
 * With Gamma^1 = sz x 1 and Gamma^(j+1) = sx x s_j, a row of a hopping block has two entries: -t/2 times the sign of
 * Gamma^1 on its diagonal, and one of Gamma^(j+1) in the other orbital. */
#include "gallery.h"
#include <math.h>

enum { POTENTIAL_NONE, POTENTIAL_RANDOM, POTENTIAL_DOTS };

#define KEYS(X)                                                                                             \
    X(nx, "10", WISP__GAL_SIZE, "sites along x, four rows each")                                            \
    X(ny, "10", WISP__GAL_SIZE, "sites along y")                                                            \
    X(nz, "10", WISP__GAL_SIZE, "sites along z")                                                            \
    X(t, "1", WISP__GAL_REAL_FROM(INT64_MIN), "hopping")                                                    \
    X(periodic, "xy", WISP__GAL_LETTERS_OF("xyz"), "periodic directions, or none")                          \
    X(potential, "none", WISP__GAL_WORDS("none random dots"),                                               \
      "none, random (follows from disorder) or dots (follows from a dot_ key); dots may have disorder too") \
    X(disorder, "0", WISP__GAL_REAL_FROM(0), "W: random potential of each site, uniform in [-W/2, W/2]")    \
    X(seed, "1", WISP__GAL_SEED, "of the disorder")                                                         \
    X(dot_potential, "0.153", WISP__GAL_REAL_FROM(INT64_MIN), "potential inside a quantum dot")             \
    X(dot_radius, "2.5", WISP__GAL_REAL_FROM(0), "radius of a dot, in sites")                               \
    X(dot_distance, "10", WISP__GAL_REAL_FROM(1),                                                           \
      "period of the square lattice of dots; the first centre is at half of it from the corner")            \
    X(dot_depth, "1", WISP__GAL_SIZE, "layers z < dot_depth that the dots reach into")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp__gal_box box;
    wisp_scalar same[2], other[3][4]; /* hopping from below: [orbital], [direction][a] */
    bool dots;
    double disorder, dot_potential, dot_radius, dot_distance;
    int64_t dot_depth;
    uint64_t seed;
} topi;

/* Distance from the centre of the cell of the superlattice that holds x. */
static double off_centre(double x, double period)
{
    double in_cell = x + 0.5 - period * floor((x + 0.5) / period);
    return in_cell - 0.5 * period;
}

static __attribute__((noinline)) double potential(const topi *p, int64_t site, const int64_t at[3])
{
    double v = p->disorder > 0 ? wisp__gal_disorder(p->disorder, p->seed, site) : 0;
    if (p->dots && at[2] < p->dot_depth) {
        double x = off_centre((double)at[0], p->dot_distance), y = off_centre((double)at[1], p->dot_distance);
        if (x * x + y * y <= p->dot_radius * p->dot_radius) v += p->dot_potential;
    }
    return v;
}

static int topi_row(void *arg, int64_t row, int64_t *col, void *val)
{
    /* Gamma^(j+1) leads from a to a ^ flip[j]. */
    static const int flip[3] = {3, 3, 2};
    const topi *p = arg;
    wisp_scalar *v = val;
    int64_t at[3], site = row >> 2;
    int a = (int)(row & 3), n = 1;
    wisp__gal_where(&p->box, site, at);
    wisp_scalar same = p->same[a >> 1];
    for (int d = 0; d < 3; d++) {
        bool exists[2];
        int64_t step[2] = {wisp__gal_below(&p->box, at, d, &exists[0]), wisp__gal_above(&p->box, at, d, &exists[1])};
        wisp_scalar other = p->other[d][a];
        for (int up = 0; up < 2; up++) {
            if (!exists[up]) continue;
            if (col) {
                int64_t from = 4 * (site + step[up]);
                /* From above comes the Hermitian conjugate block: Gamma^(j+1) with the opposite sign. */
                col[n] = from + a;
                v[n] = same;
                col[n + 1] = from + (a ^ flip[d]);
                v[n + 1] = up ? (wisp_scalar){-other.re, -other.im} : other;
            }
            n += 2;
        }
    }
    if (col) {
        double shift = p->disorder > 0 || p->dots ? potential(p, site, at) : 0;
        col[0] = row;
        v[0] = (wisp_scalar){shift + (a < 2 ? 2 : -2), 0};
    }
    return n;
}

/* -t (Gamma^1 - i Gamma^(j+1)) / 2. */
static void fill_hopping(topi *p, double t)
{
    p->same[0] = (wisp_scalar){-t / 2, 0};
    p->same[1] = (wisp_scalar){t / 2, 0};
    for (int a = 0; a < 4; a++) {
        double sign = a & 1 ? -1 : 1;
        p->other[0][a] = (wisp_scalar){0, t / 2};        /* sx: 1 */
        p->other[1][a] = (wisp_scalar){sign * t / 2, 0}; /* sy: -i, i */
        p->other[2][a] = (wisp_scalar){0, sign * t / 2}; /* sz: 1, -1 */
    }
}

static wisp_status choose_potential(topi *p, wisp_ctx *ctx, const wisp__gal_value *value)
{
    bool dot_keys = false, chosen = value[KEY_potential].given;
    int64_t kind = value[KEY_potential].i;
    for (int k = KEY_dot_potential; k <= KEY_dot_depth; k++) dot_keys |= value[k].given;
    p->dots = chosen ? kind == POTENTIAL_DOTS : dot_keys;
    if (dot_keys && !p->dots) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "topi: the dot_ keys need potential=dots");
    }
    if (chosen && kind == POTENTIAL_NONE && p->disorder > 0) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "topi: disorder needs potential=random or potential=dots");
    }
    if (chosen && kind == POTENTIAL_RANDOM && !value[KEY_disorder].given) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "topi: potential=random needs its strength, disorder=...");
    }
    return WISP_OK;
}

static wisp_status topi_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    topi p = {.disorder = value[KEY_disorder].real,
              .seed = (uint64_t)value[KEY_seed].i,
              .dot_potential = value[KEY_dot_potential].real,
              .dot_radius = value[KEY_dot_radius].real,
              .dot_distance = value[KEY_dot_distance].real,
              .dot_depth = value[KEY_dot_depth].i};
    wisp_src shape = {.max_row = 13, .type = WISP_Z, .row = topi_row};
    int64_t sites = 0;
    wisp_status status = WISP_OK;
    WISP_TRY(choose_potential(&p, ctx, value));
    fill_hopping(&p, value[KEY_t].real);
    WISP_TRY(wisp__gal_box_make(&p.box, ctx, "topi", value[KEY_nx].i, value[KEY_ny].i, value[KEY_nz].i,
                                value[KEY_periodic].i, &sites));
    WISP_TRY(wisp__gal_product(ctx, "topi", (int64_t[]){4, sites}, 2, &shape.rows));
    WISP_TRY(wisp__gal_source(src, ctx, "topi", &shape, &p, sizeof p));
out:
    return status;
}

static wisp_status topi_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    wisp_src src = {0};
    wisp_status status = topi_open(&src, ctx, value);
    if (status != WISP_OK) return status;
    status = wisp__gal_box_positions(positions, ctx, "topi", &((const topi *)src.arg)->box, 4, 1);
    src.free_arg(src.arg);
    return status;
}

const wisp__gal_entry wisp__gal_topi = {
    {"topi", "three-dimensional topological insulator (KPM paper, eq. 1); the diagonal is always stored",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    topi_open,
    topi_positions};
