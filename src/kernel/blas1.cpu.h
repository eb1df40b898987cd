/* Element-wise ops and dots of block vectors. Rows of a compact block are taken several at a time, so that the
   inner loop (a "period", with its own factor for each element) is long enough for any width. Sums of dots are in
   double whatever the blocks: they are compiled once, with the double ones. OUT and OF_ALL name the instances. */

void OUT(axpby)(const wisp__axpby_params *p, int64_t begin, int64_t end);
void OUT(dot)(const wisp__dot_params *p, int64_t begin, int64_t end, int cross, double *sum, double *error);

void OUT(axpby)(const wisp__axpby_params *p, int64_t begin, int64_t end)
{
    const real *a = p->a, *aw = p->aw, *b = p->b, *bw = p->bw;
    const int n = p->period;
    for (int64_t i = begin; i < end; i++) {
        const real *x = (const real *)p->x + i * p->ld_x;
        real *y = (real *)p->y + i * p->ld_y;
        if (aw) { /* complex factors; n is even */
            IVDEP for (int l = 0; l < n; l += 2)
            {
                real re = a[l] * x[l] + aw[l] * x[l + 1], im = a[l + 1] * x[l + 1] + aw[l + 1] * x[l];
                if (b) {
                    real yr = y[l], yi = y[l + 1];
                    re += b[l] * yr + bw[l] * yi;
                    im += b[l + 1] * yi + bw[l + 1] * yr;
                }
                y[l] = re, y[l + 1] = im;
            }
        } else if (!b) {
            IVDEP for (int l = 0; l < n; l++) y[l] = a[l] * x[l];
        } else if (p->b_is_one) {
            IVDEP for (int l = 0; l < n; l++) y[l] += a[l] * x[l];
        } else {
            IVDEP for (int l = 0; l < n; l++) y[l] = a[l] * x[l] + b[l] * y[l];
        }
    }
}

/* sum += more, and with it the rounding errors of these sums. */
INLINE void add_sums(int n, const double *more, const double *more_error, double *sum, double *error)
{
    IVDEP for (int l = 0; l < n; l++)
    {
        const double a = sum[l], b = more[l], s = a + b;
        sum[l] = s;
        error[l] += more_error[l] + SUM_ERROR(a, b, s);
    }
}

/* sum += strip, and with it the rounding errors of these sums. */
INLINE void add_strip(int n, const real *strip, double *sum, double *error)
{
    if (error) IVDEP for (int l = 0; l < n; l++)
        {
            const double a = sum[l], b = (double)strip[l], s = a + b;
            sum[l] = s;
            error[l] += SUM_ERROR(a, b, s);
        }
    else
        IVDEP for (int l = 0; l < n; l++) sum[l] += (double)strip[l];
}

#if REAL_BYTES == 8
void OF_ALL(sum)(double *partial, int64_t blocks, size_t size, size_t begin, size_t end, int compensated)
{
    enum { AT_ONCE = 64 }; /* the blocks' pieces of so many elements stay in cache */
    const size_t step = compensated ? 2 * size : size;
    for (; begin < end; begin += AT_ONCE) {
        const int n = end - begin < AT_ONCE ? (int)(end - begin) : AT_ONCE;
        for (int64_t apart = 1; apart < blocks; apart *= 2)
            for (int64_t b = 0; b + apart < blocks; b += 2 * apart) {
                double *into = partial + (size_t)b * step + begin;
                const double *from = into + (size_t)apart * step;
                if (compensated)
                    add_sums(n, from, from + size, into, into + size);
                else
                    IVDEP for (int l = 0; l < n; l++) into[l] += from[l];
            }
    }
}

/* Half of the rows at a time: one after the other would take longer than a short dot itself. */
void OF_ALL(fold)(int rows, int row, double *sum, double *error)
{
    for (int half; rows > 1; rows = half) {
        half = (rows + 1) / 2;
        const int from = half * row, n = (rows - half) * row;
        if (error)
            add_sums(n, sum + from, error + from, sum, error);
        else
            IVDEP for (int l = 0; l < n; l++) sum[l] += sum[from + l];
    }
}
#endif

/* Adds up to K_STRIP periods in the real type before each sum in double. */
void OUT(dot)(const wisp__dot_params *p, int64_t begin, int64_t end, int cross, double *sum, double *error)
{
    enum { PANEL = 256 };
    for (int first = 0; first < p->period; first += PANEL) {
        const int n = p->period - first < PANEL ? p->period - first : PANEL;
        for (int64_t strip = begin; strip < end; strip += K_STRIP) {
            real s[PANEL] = {0}, c[PANEL];
            if (cross) __builtin_memset(c, 0, sizeof c);
            const int64_t strip_end = strip + K_STRIP < end ? strip + K_STRIP : end;
            for (int64_t i = strip; i < strip_end; i++) {
                const real *x = (const real *)p->x + i * p->ld_x + first, *y = (const real *)p->y + i * p->ld_y + first;
                if (cross)
                    for (int l = 0; l < n; l += 2) {
                        s[l] += x[l] * y[l], s[l + 1] += x[l + 1] * y[l + 1];
                        c[l] += x[l] * y[l + 1], c[l + 1] += x[l + 1] * y[l];
                    }
                else
                    for (int l = 0; l < n; l++) s[l] += x[l] * y[l];
            }
            add_strip(n, s, sum + first, error ? error + first : NULL);
            if (!cross) continue;
            const int behind = p->period + first;
            add_strip(n, c, sum + behind, error ? error + behind : NULL);
        }
    }
}
