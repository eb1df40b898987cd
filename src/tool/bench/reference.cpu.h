/* The plain fused KPM step of one width: a register holds part of a block row, or all of it. The including file sets
   SIMD_BYTES (of a register), PARTS (doubles in an element of matrix and block) and WIDTH, a power of two. */
#if PARTS == 1
#define FN(name) PASTE(name##_d, WIDTH)
#else
#define FN(name) PASTE(name##_z, WIDTH)
#endif
#define N (WIDTH * PARTS)
#if N * 8 < SIMD_BYTES
#define VL N
#else
#define VL (SIMD_BYTES / 8)
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

typedef double FN(vec) __attribute__((vector_size(VL * 8), aligned(8), may_alias));
#define vec FN(vec)

static void FN(step)(const reference_params *p, int64_t begin, int64_t end, double *dot)
{
    const vec *sign = (const vec *)(const void *)signs;
    const double alpha = p->alpha, center = p->center, beta = p->beta;
    vec xx[NV] = {0}, xy[NV] = {0};
    for (int64_t row = begin; row < end; row++) {
        const vec *x = (const vec *)(p->x + row * N);
        vec *y = (vec *)(p->y + row * N);
        vec ar[NV] = {0}, ai[NV] = {0};
        for (int64_t e = p->rowptr[row]; e < p->rowptr[row + 1]; e++) {
            const vec *g = (const vec *)(p->x + (int64_t)p->col[e] * N);
            const double *a = p->val + e * PARTS;
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
            dot[(v * VL + l) / PARTS] += xx[v][l];
            dot[WIDTH + (v * VL + l) / PARTS] += xy[v][l];
        }
}

#undef FN
#undef N
#undef VL
#undef NV
#undef SWAP
#undef vec
#undef WIDTH
