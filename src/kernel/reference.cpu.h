/* The plain fused KPM step for CRS, kept as the yardstick: block rows, no prefetch. The including file sets REAL_BYTES
   (by simd.cpu.h), PARTS (reals in an element of matrix and block) and WIDTH, a power of two. */
#define FN(name) PASTE(PASTE(name, _w), WIDTH)
#define N (WIDTH * PARTS)
#if N * REAL_BYTES < SIMD_BYTES
#define VL N
#else
#define VL (SIMD_BYTES / REAL_BYTES)
#endif
#define NV (N / VL)
#if PARTS == 1
#define SWAP(v) (v)
#elif VL == 2
#define SWAP(v) SWAP_2(v)
#elif VL == 4
#define SWAP(v) SWAP_4(v)
#else
#define SWAP(v) SWAP_8(v)
#endif

typedef real FN(vec) __attribute__((vector_size(VL * REAL_BYTES), aligned(REAL_BYTES), may_alias));
#define vec FN(vec)

static void FN(step)(const wisp__reference_params *p, int64_t begin, int64_t end, double *dot)
{
    const vec *sign = (const vec *)(const void *)simd_sign;
    const real alpha = (real)p->alpha, center = (real)p->center, beta = (real)p->beta;
    vec xx[NV] = {0}, xy[NV] = {0};
    for (int64_t row = begin; row < end; row++) {
        const vec *x = (const vec *)((const real *)p->x + row * N);
        vec *y = (vec *)((real *)p->y + row * N);
        vec ar[NV] = {0}, ai[NV] = {0};
        for (int64_t e = p->rowptr[row]; e < p->rowptr[row + 1]; e++) {
            const vec *g = (const vec *)((const real *)p->x + (int64_t)p->col[e] * N);
            const real *a = (const real *)p->val + e * PARTS;
            UNROLL for (int v = 0; v < NV; v++) ar[v] += a[0] * g[v];
            if (PARTS == 2) UNROLL for (int v = 0; v < NV; v++) ai[v] += a[PARTS - 1] * g[v];
        }
        UNROLL for (int v = 0; v < NV; v++)
        {
            if (PARTS == 2) ar[v] += *sign * SWAP(ai[v]);
            y[v] = alpha * (ar[v] - center * x[v]) + beta * y[v];
            xx[v] += x[v] * x[v];
            xy[v] += x[v] * y[v];
        }
    }
    for (int v = 0; v < NV; v++)
        for (int l = 0; l < VL; l++) {
            dot[(v * VL + l) / PARTS] += (double)xx[v][l];
            dot[WIDTH + (v * VL + l) / PARTS] += (double)xy[v][l];
        }
}

#undef FN
#undef N
#undef VL
#undef NV
#undef SWAP
#undef vec
#undef WIDTH
