/* The XXZ chain of spins 1/2 with a fixed number of up-spins.
 *
 * A state is a set of up-spins at p_1 < p_2 < ..., its row is C(p_1, 1) + C(p_2, 2) + ... (the combinatorial number
 * system), so that no basis is stored: a row number is turned into a state and back. */
#include "gallery.h"

enum { MAX_SITES = 62 };

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
    int64_t choose[MAX_SITES + 1][MAX_SITES + 1]; /* [k][n]: n over k */
} chain;

static uint64_t state_of(const chain *p, int64_t row)
{
    uint64_t state = 0;
    int at = p->sites;
    for (int k = p->up; k > 0; k--) {
        do at--;
        while (p->choose[k][at] > row);
        row -= p->choose[k][at];
        state |= (uint64_t)1 << at;
    }
    return state;
}

static int64_t row_of(const chain *p, uint64_t state)
{
    int64_t row = 0;
    for (int k = 1; state; k++, state &= state - 1) row += p->choose[k][__builtin_ctzll(state)];
    return row;
}

static int chain_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const chain *p = arg;
    double *v = val;
    uint64_t state = state_of(p, row), top = (uint64_t)1 << (p->sites - 1);
    uint64_t unlike = (state ^ (state >> 1)) & (top - 1); /* bit i: spins i and i + 1 differ */
    bool wrap = p->ring && ((state & top) != 0) != (state & 1);
    int flips = __builtin_popcountll(unlike) + wrap, n = 1;
    if (!col) return 1 + flips;
    col[0] = row;
    v[0] = p->delta * 0.25 * (p->bonds - 2 * flips);
    for (; unlike; unlike &= unlike - 1, n++) {
        int at = __builtin_ctzll(unlike);
        uint64_t low = (uint64_t)1 << at;
        int k = 1 + __builtin_popcountll(state & (low - 1)); /* number of the up-spin that moves */
        int64_t change = p->choose[k - 1][at];               /* C(at + 1, k) - C(at, k) */
        col[n] = state & low ? row + change : row - change;
        v[n] = 0.5;
    }
    if (wrap) {
        col[n] = row_of(p, state ^ top ^ 1);
        v[n] = 0.5;
    }
    return 1 + flips;
}

/* Pascal's triangle; up to 62 sites it fits in 64 bits. */
static void fill_choose(chain *p)
{
    for (int n = 0; n <= MAX_SITES; n++) {
        p->choose[0][n] = 1;
        for (int k = 1; k <= n; k++) p->choose[k][n] = p->choose[k - 1][n - 1] + p->choose[k][n - 1];
    }
}

static wisp_status chain_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    int64_t sites = value[KEY_sites].i, up = value[KEY_up].given ? value[KEY_up].i : sites / 2;
    if (!value[KEY_up].given && sites % 2) {
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spinchain: odd number of sites: give up=... (such as up=%lld)",
                             (long long)sites / 2);
    }
    if (up > sites) {
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spinchain: up=%lld is more than sites=%lld", (long long)up,
                             (long long)sites);
    }
    if (sites > MAX_SITES) {
        return wisp_ctx_fail(ctx, WISP_ERR_OVERFLOW, "spinchain: sites=%lld is too large for 64 bits; at most %d",
                             (long long)sites, MAX_SITES);
    }
    chain p = {.sites = (int)sites, .up = (int)up, .delta = value[KEY_delta].real, .ring = value[KEY_periodic].i};
    p.bonds = p.sites - !p.ring;
    fill_choose(&p);
    int minority = WISP__MIN(p.up, p.sites - p.up); /* each has two bonds at most */
    wisp_src shape = {.rows = p.choose[p.up][p.sites],
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
    chain_open};
