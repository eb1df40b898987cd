/* Loops that measure the machine: the bandwidth of memory or a cache, and the rate of multiply-adds. The including file
   sets REAL_BYTES (by simd.cpu.h) and OUT, which names the table. */

#include "simd_x86.cpu.h"

typedef real stream_vec __attribute__((vector_size(SIMD_BYTES), may_alias));
enum { STEP = 8 /* registers per turn: more than the latency of an addition */, CHAINS = 12 };

/* Stores are done, and the next pass is one of its own. */
INLINE void end_of_pass(int past)
{
    if (past) simd_fence();
    __asm__ volatile("" ::: "memory");
}

INLINE double load_from(const wisp__stream_params *p, int ahead)
{
    const int64_t n = p->bytes / SIMD_BYTES;
    stream_vec sum[STEP] = {{0}};
    for (int64_t pass = 0; pass < p->passes; pass++) {
        const stream_vec *b = p->b;
        for (int64_t i = 0; i < n; i += STEP, b += STEP) {
            if (ahead)
                for (int l = 0; l < STEP * SIMD_BYTES; l += 64) __builtin_prefetch((const char *)b + ahead + l);
            UNROLL for (int v = 0; v < STEP; v++) sum[v] += b[v];
        }
        end_of_pass(0);
    }
    for (int v = 1; v < STEP; v++) sum[0] += sum[v];
    return (double)sum[0][0];
}

static double load(const wisp__stream_params *p) { return load_from(p, 0); }
static double load_ahead(const wisp__stream_params *p) { return load_from(p, 4096); }

/* a = b */
INLINE double copy_to(const wisp__stream_params *p, int past)
{
    const int64_t n = p->bytes / SIMD_BYTES;
    for (int64_t pass = 0; pass < p->passes; pass++) {
        const stream_vec *b = p->b;
        stream_vec *a = p->a;
        for (int64_t i = 0; i < n; i += STEP, a += STEP, b += STEP) {
            UNROLL for (int v = 0; v < STEP; v++) if (past) simd_store_past(a + v, &b[v], SIMD_BYTES);
            else a[v] = b[v];
        }
        end_of_pass(past);
    }
    return 0;
}

static double copy(const wisp__stream_params *p) { return copy_to(p, 0); }
static double copy_past(const wisp__stream_params *p) { return copy_to(p, 1); }

/* a = b + s c */
INLINE double triad_to(const wisp__stream_params *p, int past)
{
    const int64_t n = p->bytes / SIMD_BYTES;
    const real s = (real)p->scale;
    for (int64_t pass = 0; pass < p->passes; pass++) {
        const stream_vec *b = p->b, *c = p->c;
        stream_vec *a = p->a;
        for (int64_t i = 0; i < n; i += STEP, a += STEP, b += STEP, c += STEP) {
            UNROLL for (int v = 0; v < STEP; v++)
            {
                const stream_vec sum = b[v] + s * c[v];
                if (past)
                    simd_store_past(a + v, &sum, SIMD_BYTES);
                else
                    a[v] = sum;
            }
        }
        end_of_pass(past);
    }
    return 0;
}

static double triad(const wisp__stream_params *p) { return triad_to(p, 0); }
static double triad_past(const wisp__stream_params *p) { return triad_to(p, 1); }

/* a = s a: read, modify, write */
static double update(const wisp__stream_params *p)
{
    const int64_t n = p->bytes / SIMD_BYTES;
    const real s = (real)p->scale;
    for (int64_t pass = 0; pass < p->passes; pass++) {
        stream_vec *a = p->a;
        for (int64_t i = 0; i < n; i += STEP, a += STEP) UNROLL for (int v = 0; v < STEP; v++) a[v] *= s;
        end_of_pass(0);
    }
    return 0;
}

/* Independent chains in registers, x = s x + s, which stays near s / (1 - s). */
static double multiply_add(const wisp__stream_params *p)
{
    const stream_vec zero = {0}, s = zero + (real)p->scale;
    stream_vec x[CHAINS];
    for (int v = 0; v < CHAINS; v++) x[v] = s * (real)v;
    for (int64_t pass = 0; pass < p->passes; pass++) UNROLL for (int v = 0; v < CHAINS; v++) x[v] = x[v] * s + s;
    for (int v = 1; v < CHAINS; v++) x[0] += x[v];
    return (double)x[0][0];
}

extern const wisp__stream_table OUT(stream);
const wisp__stream_table OUT(stream) = {
    {load, load_ahead, copy, copy_past, triad, triad_past, update}, multiply_add, 2 * CHAINS *SIMD_BYTES / REAL_BYTES};
