/* The augmented SpMMV for any width, any way to store rows, and any terms. It goes strip by strip; in each strip the
   columns are done in turn by the widest kernels that fit (ANY_WIDE lists those that are wider than 8), while the
   strip's part of the matrix is still in cache. */

static const struct {
    int width;
    wisp__spmmv_fn fn;
} any_kernels[] = {ANY_WIDE{8, any_w8}, {4, any_w4}, {2, any_w2}, {1, any_w1}};

/* Rows begin .. end - 1 of the columns from number q->first on; the number of the first that is left. */
INLINE int64_t any_columns(const wisp__spmmv_params *q, int64_t begin, int64_t end, double *dot)
{
    int i = 0;
    while (any_kernels[i].width * PARTS > q->reals - q->first) i++;
    any_kernels[i].fn(q, begin, end, dot);
    return q->first + any_kernels[i].width * PARTS;
}

/* Columns that one kernel takes all at once need no strips. */
static void any_width(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    if (in_place(p)) {
        in_strips(p, any_width, begin, end, dot);
        return;
    }
    const int64_t row_end = (end << p->a.log_c) < p->a.rows ? end << p->a.log_c : p->a.rows;
    const int64_t columns = p->reals / PARTS, most = any_kernels[0].width;
    const int64_t step = columns & (columns - 1) || columns > most ? K_STRIP : row_end;
    for (int64_t row = begin << p->a.log_c; row < row_end; row += step) {
        wisp__cpu_sweep q = *K_SWEEP(p);
        while (q.p.first < q.p.reals)
            q.p.first = any_columns(&q.p, row, row + step < row_end ? row + step : row_end, dot);
    }
    if (p->terms == 0 && K_SWEEP(p)->cpu.past) simd_fence();
}
