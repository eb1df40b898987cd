/* A real symmetric band matrix with random values: the same number of entries around every diagonal. */
#include "gallery.h"

#define KEYS(X)                                                                                      \
    X(n, "1000", WISP__GAL_SIZE, "rows")                                                             \
    X(bandwidth, "27", WISP__GAL_INTEGER(1, INT32_MAX), "entries around the diagonal, with it; odd") \
    X(seed, "1", WISP__GAL_SEED, "of the values, uniform in [-1, 1)")

enum { KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {KEYS(WISP__GAL_ROW)};

typedef struct {
    int64_t n, half;
    uint64_t seed;
} band;

/* Depends on the smaller index and the distance alone, hence symmetric. */
static double band_value(const band *p, int64_t i, int64_t j)
{
    int64_t low = WISP__MIN(i, j), distance = i + j - 2 * low;
    return 2 * wisp__uniform(p->seed, low, WISP__GAL_STREAM_BAND + (uint32_t)distance) - 1;
}

static int band_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const band *p = arg;
    double *v = val;
    int64_t first = WISP__MAX(row - p->half, 0), last = row < p->n - p->half ? row + p->half : p->n - 1;
    if (col) {
        for (int64_t j = first; j <= last; j++) {
            col[j - first] = j;
            v[j - first] = band_value(p, row, j);
        }
    }
    return (int)(last - first + 1);
}

static wisp_status band_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    int64_t n = value[KEY_n].i, bandwidth = value[KEY_bandwidth].i;
    if (bandwidth % 2 == 0) {
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "band: bandwidth=%lld is even; it counts the diagonal and both sides, take %lld",
                              (long long)bandwidth, (long long)bandwidth + 1);
    }
    band p = {n, bandwidth / 2, (uint64_t)value[KEY_seed].i};
    wisp_src shape = {.rows = n, .max_row = WISP__MIN(bandwidth, n), .type = WISP_D, .row = band_row};
    return wisp__gal_source(src, ctx, "band", &shape, &p, sizeof p);
}

const wisp__gal_entry wisp__gal_band = {
    {"band", "real symmetric band matrix with random values", KEYS(WISP__GAL_HELP)}, keys, KEY_COUNT, band_open, NULL};
