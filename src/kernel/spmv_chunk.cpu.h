/* Width 1 on SELL-C with C of at least one register: vectorised along the chunk, so that the matrix streams in
   full registers. Rows of a chunk advance together to the length of its shortest row, and alone from there: no
   padding is read. For real blocks; complex ones fill half a register or more with a single element. */

enum { CHUNK_VL = SIMD_BYTES / REAL_BYTES };
typedef real chunk_vec __attribute__((vector_size(SIMD_BYTES)));
typedef real chunk_vec_mem __attribute__((vector_size(SIMD_BYTES), aligned(REAL_BYTES), may_alias));

/* Rows row .. row + CHUNK_VL - 1, whose first entries are at e, e + 1, ... */
INLINE void chunk_group(const wisp__spmmv_params *p, unsigned terms, int64_t row, int64_t e, sums_w1 *s)
{
    const real *val = (const real *)p->val, *x = (const real *)p->gather;
    const int32_t *len = p->row_len + row;
    const int64_t ld = p->ld_gather;
    int shortest = len[0];
    for (int l = 1; l < CHUNK_VL; l++) shortest = len[l] < shortest ? len[l] : shortest;
    chunk_vec sum = {0};
    for (int k = 0; k < shortest; k++) {
        const int64_t at = e + ((int64_t)k << p->log_c);
        chunk_vec xv;
        UNROLL for (int l = 0; l < CHUNK_VL; l++) xv[l] = x[p->col[at + l] * ld];
        sum += *(const chunk_vec_mem *)(val + at) * xv;
    }
    for (int l = 0; l < CHUNK_VL; l++) {
        vec_w1 ax[1] = {sum[l]};
        for (int k = shortest; k < len[l]; k++) {
            const int64_t at = e + l + ((int64_t)k << p->log_c);
            ax[0] += val[at] * load_w1(x + p->col[at] * ld);
        }
        epilogue_w1(p, terms, row + l, 0, ax, s);
    }
}

INLINE void chunk_range(const wisp__spmmv_params *p, unsigned terms, int64_t begin, int64_t end, double *dot)
{
    const int64_t row_end = (end << p->log_c) < p->rows ? end << p->log_c : p->rows, c = (int64_t)1 << p->log_c;
    for (int64_t strip = begin << p->log_c; strip < row_end; strip += K_STRIP) {
        sums_w1 s = {};
        const int64_t strip_end = strip + K_STRIP < row_end ? strip + K_STRIP : row_end;
        int64_t row = strip;
        for (; row + CHUNK_VL <= strip_end; row += CHUNK_VL)
            chunk_group(p, terms, row, p->chunk[row >> p->log_c] + (row & (c - 1)), &s);
        for (; row < strip_end; row++)
            tile_w1(p, terms, row, p->chunk[row >> p->log_c] + (row & (c - 1)), p->row_len[row], 0, &s);
        if (terms & K_DOTS) flush_w1(&s, terms, 1, 0, dot);
    }
}

static void chunked(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    if (p->terms == 0)
        chunk_range(p, 0, begin, end, dot);
    else
        chunk_range(p, p->terms, begin, end, dot);
}
