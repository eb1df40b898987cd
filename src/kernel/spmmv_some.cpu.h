/* Rows of a block that fill a part of a register only, and a real matrix: several entries at a time, as many as fill
   one, where their values follow one another (pairs of columns with patterns go side by side instead). Included by
   spmmv.cpu.h; FN(some) returns how many entries it took. */

/* The matrix streams past faster than the hardware asks for it. */
INLINE void FN(stream_ahead)(const wisp__spmmv_params *p, int64_t e)
{
    if (p->a.pattern || K_SWEEP(p)->cpu.near) return;
    __builtin_prefetch((const char *)p->a.val + e * MAT_BYTES + STREAM_AHEAD);
    __builtin_prefetch((const char *)(p->a.col + e) + STREAM_AHEAD);
}

#if REALS == 2
INLINE int FN(some)(const wisp__spmmv_params *p, row_entries r, int64_t at, vec *to)
{
    typedef real eight __attribute__((vector_size(8 * REAL_BYTES)));
    typedef real values __attribute__((vector_size(4 * REAL_BYTES)));
    typedef mat_real stored __attribute__((vector_size(4 * MAT_BYTES), aligned(MAT_BYTES), may_alias));
    const real *x = (const real *)p->gather + r.base * p->ld_gather + at;
    eight pairs = {0};
    int k = 0;
    for (; k + 4 <= r.len; k += 4) {
        const int64_t e = r.first + k;
        const int32_t *col = p->a.col + e;
        FN(stream_ahead)(p, e);
#define X(i) FN(load)(x + col[i] * p->ld_gather)
        const eight xv = JOIN_4(JOIN_2(X(0), X(1)), JOIN_2(X(2), X(3)));
#undef X
        const values a = __builtin_convertvector(*(const stored *)((const mat_real *)p->a.val + e), values);
        pairs += __builtin_shufflevector(a, a, 0, 0, 1, 1, 2, 2, 3, 3) * xv;
    }
    const simd_4 four =
        __builtin_shufflevector(pairs, pairs, 0, 1, 2, 3) + __builtin_shufflevector(pairs, pairs, 4, 5, 6, 7);
    *to = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
    return k;
}
#else
INLINE int FN(some)(const wisp__spmmv_params *p, row_entries r, int64_t at, vec *to)
{
    enum { N = SIMD_BYTES / REAL_BYTES };
    typedef mat_real stored __attribute__((vector_size(N * MAT_BYTES), aligned(MAT_BYTES), may_alias));
    const real *x = (const real *)p->gather + r.base * p->ld_gather + at;
    simd_vec sum = {0};
    int k = 0;
    for (; k + N <= r.len; k += N) {
        const int64_t e = r.first + k;
        const int32_t *col = p->a.col + e;
        FN(stream_ahead)(p, e);
#define ELEMENT(l) x[col[l] * p->ld_gather]
        sum += __builtin_convertvector(*(const stored *)((const mat_real *)p->a.val + e), simd_vec) * SIMD_EACH;
#undef ELEMENT
    }
    for (int l = 0; k && l < N; l++) *to += sum[l];
    return k;
}
#endif
