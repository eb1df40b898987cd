/* The Fourier component of S^z at a wave vector, on the rows of `spinchain`: a diagonal matrix. */
#include "subsets.h"
#include <math.h>

#define KEYS(X)                                                                             \
    X(sites, "16", WISP__GAL_INTEGER(2, INT64_MAX), "spins 1/2, at most 62")                \
    X(up, "sites/2", WISP__GAL_INTEGER_COMPUTED(0, INT64_MAX), "up-spins, as of spinchain") \
    X(k, "0", WISP__GAL_INTEGER(0, INT64_MAX), "waves along the chain: q = 2 pi k/sites; real for 2 k = 0 or sites")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    int sites, up;
    bool real;
    double phase[WISP__GAL_MOST_SITES][2]; /* exp(i q j) / sqrt(sites) */
    wisp__gal_subsets sets;
} waves;

static int spinz_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const waves *p = arg;
    double *v = val, sum[2] = {0};
    if (!col) return 1;
    const uint64_t state = wisp__gal_subset_of(&p->sets, p->sites, p->up, row);
    for (int j = 0; j < p->sites; j++)
        for (int part = 0; part < 2; part++) sum[part] += ((state >> j) & 1 ? 0.5 : -0.5) * p->phase[j][part];
    col[0] = row;
    v[0] = sum[0];
    if (!p->real) v[1] = sum[1];
    return 1;
}

static wisp_status spinz_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    waves p = {0};
    const wisp_status status = wisp__gal_subsets_read(ctx, "spinz", "up", &value[KEY_sites], &value[KEY_up], &p.up);
    if (status != WISP_OK) return status;
    p.sites = (int)value[KEY_sites].i;
    const int64_t sites = p.sites, k = value[KEY_k].i % sites;
    p.real = 2 * k % sites == 0;
    for (int64_t j = 0; j < sites; j++) {
        const int64_t at = k * j % sites; /* of so many in a whole turn */
        const double turn = 2 * M_PI * (double)at / (double)sites, unit = 1 / sqrt((double)sites);
        p.phase[j][0] = 4 * at % sites == 0 && 2 * at % sites != 0 ? 0 : cos(turn) * unit;
        p.phase[j][1] = 2 * at % sites == 0 ? 0 : sin(turn) * unit;
    }
    wisp__gal_subsets_fill(&p.sets);
    wisp_src shape = {
        .rows = p.sets.choose[p.up][p.sites], .max_row = 1, .type = p.real ? WISP_D : WISP_Z, .row = spinz_row};
    return wisp__gal_source(src, ctx, "spinz", &shape, &p, sizeof p);
}

const wisp__gal_entry wisp__gal_spinz = {
    {"spinz", "S^z of a wave vector for spinchain's rows: sum of exp(i q j) Sz_j over the sites j, over sqrt(sites)",
     KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    spinz_open,
    NULL};
