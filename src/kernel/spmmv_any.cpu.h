/* The augmented SpMMV for any width: strip by strip, columns in turn by the widest kernels that fit. What a strip reads
   of the matrix is still in cache for the next columns then. */
static void any_width(const wisp__spmmv_params *p, int64_t begin, int64_t end, double *dot)
{
    const int64_t strip = (K_STRIP + ((int64_t)1 << p->log_c) - 1) >> p->log_c;
    for (int64_t next; begin < end; begin = next) {
        next = begin + strip < end ? begin + strip : end;
        wisp__spmmv_params q = *p;
        for (const wisp__spmmv_entry *e = kernels; (q.first < p->reals); q.first += e->width * PARTS) {
            /* A complex column of two reals stays whole. */
            while (e->width * PARTS > p->reals - q.first || ((p->terms & K_PAIRS) && e->width % 2)) e++;
            q.past = p->past && q.first * REAL_BYTES % 64 == 0;
            e->fn(&q, begin, next, dot);
        }
    }
}
