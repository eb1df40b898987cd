/* The Fermi-Hubbard model on a chain with fixed numbers of electrons of either spin.

   A state is the set of the sites with an electron of spin up and that of spin down; its row is the number of the
   former times the sets of the latter, plus the number of the latter. Its sign is that of the creation operators in the
   order up-electrons by their sites, down-electrons by theirs. So a hop to the next site has no sign, and one between
   the ends of a ring passes all other electrons of its spin. */
#include "subsets.h"

#define KEYS(X)                                                                                \
    X(sites, "8", WISP__GAL_INTEGER(2, INT64_MAX), "sites of the chain, at most 62")           \
    X(up, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "electrons of spin up")         \
    X(down, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "electrons of spin down")     \
    X(t, "1", WISP__GAL_REAL_FROM(INT64_MIN), "hopping: -t between neighbours")                \
    X(U, "4", WISP__GAL_REAL_FROM(INT64_MIN), "energy of two electrons on one site")           \
    X(disorder, "0", WISP__GAL_REAL_FROM(0), "W: energy of each site, uniform in [-W/2, W/2]") \
    X(seed, "1", WISP__GAL_SEED, "of the disorder")                                            \
    X(periodic, "none", WISP__GAL_LETTERS_OF("x"), "x: a ring; none: an open chain")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    int sites, count[2]; /* of spin up, down */
    bool ring;
    int64_t stride[2]; /* of a set's number in the row */
    double t, U, energy[WISP__GAL_MOST_SITES];
    wisp__gal_subsets sets;
} hubbard;

static bool is_wrapped(const hubbard *p, uint64_t set) { return p->ring && (set >> (p->sites - 1) & 1) != (set & 1); }

/* Sums in a fixed order of sites, so that equal states have equal bits. */
static double energy_of(const hubbard *p, uint64_t up, uint64_t down)
{
    double sum = p->U * __builtin_popcountll(up & down);
    for (int s = 0; s < p->sites; s++) sum += p->energy[s] * (double)((up >> s & 1) + (down >> s & 1));
    return sum;
}

/* The hops of one spin's electrons, whose set has this number; how many there are. */
static int hops(const hubbard *p, int spin, uint64_t set, int64_t row, int64_t number, int64_t *col, double *v)
{
    const uint64_t ends = (uint64_t)1 << (p->sites - 1) | 1;
    int n = 0;
    for (uint64_t edges = wisp__gal_subset_edges(set, p->sites); edges; edges &= edges - 1, n++) {
        col[n] = row + p->stride[spin] * wisp__gal_subset_move(&p->sets, set, __builtin_ctzll(edges));
        v[n] = -p->t;
    }
    if (is_wrapped(p, set)) {
        col[n] = row + p->stride[spin] * (wisp__gal_subset_number(&p->sets, set ^ ends) - number);
        v[n++] = p->count[spin] % 2 ? -p->t : p->t;
    }
    return n;
}

static int hubbard_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const hubbard *p = arg;
    double *v = val;
    int64_t number[2];
    uint64_t set[2];
    int n = 1;
    number[0] = wisp__gal_divide(row, p->stride[0], &number[1]);
    for (int s = 0; s < 2; s++) set[s] = wisp__gal_subset_of(&p->sets, p->sites, p->count[s], number[s]);
    if (!col) {
        for (int s = 0; s < 2; s++)
            n += __builtin_popcountll(wisp__gal_subset_edges(set[s], p->sites)) + is_wrapped(p, set[s]);
        return n;
    }
    col[0] = row;
    v[0] = energy_of(p, set[0], set[1]);
    for (int s = 0; s < 2; s++) n += hops(p, s, set[s], row, number[s], col + n, v + n);
    return n;
}

static wisp_status hubbard_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    hubbard p = {.ring = value[KEY_periodic].i, .t = value[KEY_t].real, .U = value[KEY_U].real};
    wisp_src shape = {.max_row = 1, .type = WISP_D, .row = hubbard_row};
    static const char *const name[] = {"up", "down"};
    int64_t sets[2];
    wisp__gal_subsets_fill(&p.sets);
    for (int s = 0; s < 2; s++) {
        wisp_status status =
            wisp__gal_subsets_read(ctx, "hubbard", name[s], &value[KEY_sites], &value[KEY_up + s], &p.count[s]);
        if (status != WISP_OK) return status;
        p.sites = (int)value[KEY_sites].i;
        sets[s] = p.sets.choose[p.count[s]][p.sites];
        int minority = WISP__MIN(p.count[s], p.sites - p.count[s]); /* each has two bonds at most */
        shape.max_row += WISP__MIN(p.sites - !p.ring, 2 * minority);
    }
    wisp_status status = wisp__gal_product(ctx, "hubbard", sets, 2, &shape.rows);
    if (status != WISP_OK) return status;
    p.stride[0] = sets[1];
    p.stride[1] = 1;
    for (int s = 0; s < p.sites && value[KEY_disorder].real > 0; s++)
        p.energy[s] = wisp__gal_disorder(value[KEY_disorder].real, (uint64_t)value[KEY_seed].i, s);
    return wisp__gal_source(src, ctx, "hubbard", &shape, &p, sizeof p);
}

const wisp__gal_entry wisp__gal_hubbard = {
    {"hubbard", "Fermi-Hubbard chain with fixed numbers of electrons; rows by combinatorial ranking, no stored basis",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    hubbard_open,
    NULL};
