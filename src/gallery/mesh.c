/* What the meshes share: points, and the order of the rows. */
#include "mesh.h"
#include <math.h>

enum { STREAM_POINT = 0x6d7368, STREAM_ORDER, ROUNDS = 4 };

/* A round of the network: 0 .. range - 1. The mixing is MurmurHash3's last step. Philox gives the keys; as the round
   itself it would cost a row more than all the rest. */
static inline uint64_t mixed(uint64_t x, uint64_t key, uint64_t range)
{
    x += key;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    x ^= x >> 33;
    return (x >> 32) * range >> 32;
}

/* The rounds of the network, or back through them. Numbers of at least `rows` are sent on until they fall below: a
   bijection of 0 .. rows - 1. The sides' product is at most rows + sqrt(rows) + 1, so that hardly any are. */
static inline int64_t renumbered(const wisp__gal_mesh *m, int64_t number, bool back)
{
    if (!m->side[0]) return number;
    uint64_t i = (uint64_t)number, half[2];
    do {
        half[0] = i / m->side[1];
        half[1] = i % m->side[1];
        for (int n = 0; n < ROUNDS; n++) {
            const int k = back ? ROUNDS - 1 - n : n;
            const uint64_t side = m->side[k & 1], add = mixed(half[~k & 1], m->key[k], side);
            uint64_t *h = &half[k & 1];
            *h += back ? side - add : add;
            if (*h >= side) *h -= side;
        }
        i = half[0] * m->side[1] + half[1];
    } while (i >= m->rows);
    return (int64_t)i;
}

int64_t wisp__gal_mesh_row(const wisp__gal_mesh *m, int64_t cell) { return renumbered(m, cell, false); }
int64_t wisp__gal_mesh_cell(const wisp__gal_mesh *m, int64_t row) { return renumbered(m, row, true); }

void wisp__gal_mesh_random(const wisp__gal_mesh *m, int64_t x, int64_t y, int64_t z, int64_t out[4])
{
    uint32_t word[4];
    wisp__philox(m->seed, (int64_t)((uint64_t)x << 32 | (uint32_t)y), (uint32_t)z, STREAM_POINT, word);
    for (int k = 0; k < 4; k++) out[k] = (int64_t)(word[k] * m->spread >> 32);
}

static void shuffle_rows(wisp__gal_mesh *m)
{
    m->side[0] = (uint64_t)sqrt((double)m->rows) + 1;
    m->side[1] = m->rows / m->side[0] + 1;
    for (int k = 0; k < ROUNDS; k++) {
        uint32_t word[4];
        wisp__philox(m->seed, k, 0, STREAM_ORDER, word);
        m->key[k] = (uint64_t)word[0] << 32 | word[1];
    }
}

wisp_status wisp__gal_mesh_make(wisp__gal_mesh *m, wisp_ctx *ctx, const char *name, const int64_t cells[3],
                                const wisp__gal_value *last, int64_t spread, int64_t *count)
{
    enum { JITTER, SIGMA, SHUFFLE, SEED };
    wisp_status status;
    *m = (wisp__gal_mesh){.sigma = last[SIGMA].real,
                          .seed = (uint64_t)last[SEED].i,
                          .spread = (uint64_t)(last[JITTER].real * (double)spread)};
    WISP_TRY(wisp__gal_box_make(&m->box, ctx, name, cells[0], cells[1], cells[2], 0, count));
    m->rows = (uint64_t)*count;
    if (last[SHUFFLE].i) shuffle_rows(m);
out:
    return status;
}

wisp_status wisp__gal_mesh_open(wisp_src *src, wisp_ctx *ctx, const char *name, const int64_t cells[3],
                                const wisp__gal_value *last, int64_t spread)
{
    wisp__gal_mesh m;
    wisp_src shape = *src;
    wisp_status status;
    *src = (wisp_src){0};
    WISP_TRY(wisp__gal_mesh_make(&m, ctx, name, cells, last, spread, &shape.rows));
    WISP_TRY(wisp__gal_source(src, ctx, name, &shape, &m, sizeof m));
out:
    return status;
}
