/* Random numbers (rng.h): from Philox bits to the values of a type. */
#include "rng.h"
#include <Random123/philox.h>
#include <math.h>

void wisp__philox(uint64_t seed, int64_t row, uint32_t column, uint32_t stream, uint32_t out[4])
{
    uint64_t r = (uint64_t)row;
    philox4x32_ctr_t counter = {{(uint32_t)r, (uint32_t)(r >> 32), column, stream}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t x = philox4x32(counter, key);
    for (int i = 0; i < 4; i++) out[i] = x.v[i];
}

/* 53 bits in [0, 1). */
static double unit(uint32_t lo, uint32_t hi) { return (double)((((uint64_t)hi << 32) | lo) >> 11) * 0x1p-53; }

double wisp__uniform(uint64_t seed, int64_t row, uint32_t stream)
{
    uint32_t x[4];
    wisp__philox(seed, row, 0, stream, x);
    return unit(x[0], x[1]);
}

wisp_scalar wisp__random_value(wisp_random kind, bool is_complex, uint64_t seed, int64_t row, uint32_t column,
                               uint32_t stream)
{
    uint32_t x[4];
    wisp__philox(seed, row, column, stream, x);
    if (kind == WISP_RANDOM_TRACE) {
        static const wisp_scalar root[4] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        return root[x[0] & (is_complex ? 3u : 1u)];
    }
    /* Box-Muller; 1 - u is in (0, 1]. */
    double radius = sqrt(-2 * log(1 - unit(x[0], x[1]))), angle = 2 * 3.14159265358979323846 * unit(x[2], x[3]);
    if (!is_complex) return (wisp_scalar){radius * cos(angle), 0};
    return (wisp_scalar){radius * cos(angle) * sqrt(0.5), radius * sin(angle) * sqrt(0.5)};
}
