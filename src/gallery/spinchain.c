/* The XXZ chain of spins 1/2 with a fixed number of up-spins. A state is the set of the up-spins' sites. */
#include "subsets.h"

#define KEYS(X)                                                                                           \
    X(sites, "16", WISP__GAL_INTEGER(2, INT64_MAX), "spins 1/2, at most 62")                              \
    X(up, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "up-spins, which fixes Sz")                \
    X(delta, "1", WISP__GAL_REAL_FROM(INT64_MIN), "anisotropy: Sx Sx + Sy Sy + delta Sz Sz on each bond") \
    X(periodic, "none", WISP__GAL_LETTERS_OF("x"), "x: a ring; none: an open chain")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    int sites, up, bonds;
    double delta;
    bool ring;
    wisp__gal_subsets sets;
} chain;

static int chain_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const chain *p = arg;
    double *v = val;
    uint64_t state = wisp__gal_subset_of(&p->sets, p->sites, p->up, row), top = (uint64_t)1 << (p->sites - 1);
    uint64_t unlike = wisp__gal_subset_edges(state, p->sites);
    bool wrap = p->ring && ((state & top) != 0) != (state & 1);
    int flips = __builtin_popcountll(unlike) + wrap, n = 1;
    if (!col) return 1 + flips;
    col[0] = row;
    v[0] = p->delta * 0.25 * (p->bonds - 2 * flips);
    for (; unlike; unlike &= unlike - 1, n++) {
        col[n] = row + wisp__gal_subset_move(&p->sets, state, __builtin_ctzll(unlike));
        v[n] = 0.5;
    }
    if (wrap) {
        col[n] = wisp__gal_subset_number(&p->sets, state ^ top ^ 1);
        v[n] = 0.5;
    }
    return 1 + flips;
}

static wisp_status chain_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    chain p = {.delta = value[KEY_delta].real, .ring = value[KEY_periodic].i};
    wisp_status status = wisp__gal_subsets_read(ctx, "spinchain", "up", &value[KEY_sites], &value[KEY_up], &p.up);
    if (status != WISP_OK) return status;
    p.sites = (int)value[KEY_sites].i;
    p.bonds = p.sites - !p.ring;
    wisp__gal_subsets_fill(&p.sets);
    int minority = WISP__MIN(p.up, p.sites - p.up); /* each has two bonds at most */
    wisp_src shape = {.rows = p.sets.choose[p.up][p.sites],
                      .max_row = 1 + WISP__MIN(p.bonds, 2 * minority),
                      .type = WISP_D,
                      .row = chain_row};
    return wisp__gal_source(src, ctx, "spinchain", &shape, &p, sizeof p);
}

const wisp__gal_entry wisp__gal_spinchain = {
    {"spinchain", "XXZ chain of spins 1/2 with fixed Sz; rows by combinatorial ranking, no stored basis",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    chain_open,
    NULL};
