/* Fourier components at a wave vector, diagonal matrices: of S^z on the rows of `spinchain`, of S^z or the density on
   those of `hubbard`. */
#include "subsets.h"
#include <math.h>

#define WAVE "waves along the chain: q = 2 pi k/sites; real for 2 k = 0 or sites"
#define KEYS(X)                                                                             \
    X(sites, "16", WISP__GAL_INTEGER(2, INT64_MAX), "spins 1/2, at most 62")                \
    X(up, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "up-spins, as of spinchain") \
    X(k, "0", WISP__GAL_INTEGER(0, INT64_MAX), WAVE)

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

#define HUBBARD_KEYS(X)                                                                                          \
    X(sites, "8", WISP__GAL_INTEGER(2, INT64_MAX), "sites of the chain, at most 62")                             \
    X(up, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "electrons of spin up, as of hubbard")            \
    X(down, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "electrons of spin down")                       \
    X(of, "spin", WISP__GAL_WORDS("spin charge"), "spin: (n_up - n_down)/2 of each site; charge: n_up + n_down") \
    X(k, "0", WISP__GAL_INTEGER(0, INT64_MAX), WAVE)
#define HUBBARD_ENUM(name, fallback, spec, meaning) HUBBARD_##name,
enum { HUBBARD_KEYS(HUBBARD_ENUM) HUBBARD_COUNT };
static const wisp__gal_key hubbard_keys[] = {HUBBARD_KEYS(WISP__GAL_ROW)};

typedef struct {
    int sites, count[2]; /* of spin up, down */
    int64_t stride;      /* of hubbard: rows for each set of spin up */
    double weight[2];    /* of a site with an electron of this spin */
    bool real;
    double phase[WISP__GAL_MOST_SITES][2]; /* exp(i q j) / sqrt(sites) */
    wisp__gal_subsets sets;
} waves;

static void set_phases(waves *p, int64_t k)
{
    const int64_t sites = p->sites;
    k %= sites;
    p->real = 2 * k % sites == 0;
    for (int64_t j = 0; j < sites; j++) {
        const int64_t at = k * j % sites; /* of so many in a whole turn */
        const double turn = 2 * M_PI * (double)at / (double)sites, unit = 1 / sqrt((double)sites);
        p->phase[j][0] = 4 * at % sites == 0 && 2 * at % sites != 0 ? 0 : cos(turn) * unit;
        p->phase[j][1] = 2 * at % sites == 0 ? 0 : sin(turn) * unit;
    }
    wisp__gal_subsets_fill(&p->sets);
}

static void put(const waves *p, const double *sum, double *v)
{
    v[0] = sum[0];
    if (!p->real) v[1] = sum[1];
}

static int spinz_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const waves *p = arg;
    double sum[2] = {0};
    if (!col) return 1;
    const uint64_t state = wisp__gal_subset_of(&p->sets, p->sites, p->count[0], row);
    for (int j = 0; j < p->sites; j++)
        for (int part = 0; part < 2; part++) sum[part] += ((state >> j) & 1 ? 0.5 : -0.5) * p->phase[j][part];
    col[0] = row;
    put(p, sum, val);
    return 1;
}

static wisp_status spinz_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    waves p = {0};
    const wisp_status status = wisp__gal_subsets_read(ctx, "spinz", "up", &value[KEY_sites], &value[KEY_up], p.count);
    if (status != WISP_OK) return status;
    p.sites = (int)value[KEY_sites].i;
    set_phases(&p, value[KEY_k].i);
    wisp_src shape = {
        .rows = p.sets.choose[p.count[0]][p.sites], .max_row = 1, .type = p.real ? WISP_D : WISP_Z, .row = spinz_row};
    return wisp__gal_source(src, ctx, "spinz", &shape, &p, sizeof p);
}

static int hubbardq_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const waves *p = arg;
    double sum[2] = {0};
    int64_t number[2];
    if (!col) return 1;
    number[0] = wisp__gal_divide(row, p->stride, &number[1]);
    for (int s = 0; s < 2; s++) {
        const uint64_t set = wisp__gal_subset_of(&p->sets, p->sites, p->count[s], number[s]);
        for (int j = 0; j < p->sites; j++)
            for (int part = 0; part < 2; part++)
                if (set >> j & 1) sum[part] += p->weight[s] * p->phase[j][part];
    }
    col[0] = row;
    put(p, sum, val);
    return 1;
}

static wisp_status hubbardq_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    static const char *const name[] = {"up", "down"};
    const bool charge = value[HUBBARD_of].i == 1;
    waves p = {.weight = {charge ? 1 : 0.5, charge ? 1 : -0.5}};
    int64_t sets[2];
    for (int s = 0; s < 2; s++) {
        const wisp_status status = wisp__gal_subsets_read(ctx, "hubbardq", name[s], &value[HUBBARD_sites],
                                                          &value[HUBBARD_up + s], &p.count[s]);
        if (status != WISP_OK) return status;
    }
    p.sites = (int)value[HUBBARD_sites].i;
    set_phases(&p, value[HUBBARD_k].i);
    for (int s = 0; s < 2; s++) sets[s] = p.sets.choose[p.count[s]][p.sites];
    p.stride = sets[1];
    wisp_src shape = {.max_row = 1, .type = p.real ? WISP_D : WISP_Z, .row = hubbardq_row};
    const wisp_status status = wisp__gal_product(ctx, "hubbardq", sets, 2, &shape.rows);
    return status ? status : wisp__gal_source(src, ctx, "hubbardq", &shape, &p, sizeof p);
}

const wisp__gal_entry wisp__gal_spinz = {
    {"spinz", "S^z of a wave vector for spinchain's rows: sum of exp(i q j) Sz_j over the sites j, over sqrt(sites)",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    spinz_open,
    NULL};

const wisp__gal_entry wisp__gal_hubbardq = {
    {"hubbardq", "S^z or the density of a wave vector for hubbard's rows: sums of exp(i q j), over sqrt(sites)",
     HUBBARD_KEYS(WISP__GAL_HELP)},
    hubbard_keys,
    HUBBARD_COUNT,
    hubbardq_open,
    NULL};
