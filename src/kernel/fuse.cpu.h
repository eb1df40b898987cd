/* One pass over blocks: updates y = the sum of terms, then dots of the results. */

void OUT(fuse)(const wisp__fuse_params *p, int64_t begin, int64_t end, double *sum);

/* v = number l of period i of x, times that of its row. */
INLINE void fuse_take(const wisp__fuse_params *p, const void *x, int64_t ld_x, const void *rows, int64_t ld_rows,
                      int64_t i, int l, real *v)
{
    const real *at = (const real *)x + i * ld_x + l;
    const int parts = p->parts;
    v[0] = at[0], v[1] = parts == 2 ? at[1] : 0;
    if (!rows) return;
    const real *r = (const real *)rows + i * ld_rows + (p->row == parts ? l : 0);
    const real re = v[0], im = v[1], r_im = parts == 2 ? r[1] : 0;
    v[0] = r[0] * re - r_im * im;
    v[1] = r[0] * im + r_im * re;
}

/* Number l of period i of the sum. */
INLINE void fuse_update(const wisp__fuse_params *p, const wisp__fuse_update *u, int64_t i, int l)
{
    real s[2] = {0, 0}, *y = (real *)u->y + i * u->ld_y + l;
    const int parts = p->parts;
    for (int t = 0; t < u->terms; t++) {
        const wisp__fuse_term *term = u->term + t;
        const real *f = (const real *)p->factors + term->factors + l, *w = f + p->period;
        real v[2];
        fuse_take(p, term->x, term->ld_x, term->rows, term->ld_rows, i, l, v);
        for (int k = 0; k < parts; k++) {
            s[k] += (u->kind == K_FUSE_ONE ? (real)term->factor : f[k]) * v[k];
            if (u->kind == K_FUSE_COMPLEX) s[k] += w[k] * v[1 - k];
        }
    }
    for (int k = 0; k < parts; k++) y[k] = s[k];
}

INLINE void fuse_dot(const wisp__fuse_params *p, const wisp__fuse_dot *d, int64_t i, int l, double *sum)
{
    const real *x = (const real *)d->x + i * d->ld_x + l;
    const int parts = p->parts;
    double *s = sum + d->set * p->period + l;
    real v[2];
    fuse_take(p, d->y, d->ld_y, d->rows, d->ld_rows, i, l, v);
    for (int k = 0; k < parts; k++) {
        s[k] += (double)x[k] * (double)v[k];
        if (d->cross) s[p->period + k] += (double)x[k] * (double)v[1 - k];
    }
}

void OUT(fuse)(const wisp__fuse_params *p, int64_t begin, int64_t end, double *sum)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t left = (p->count - i * p->rows) * p->row;
        const int n = left < p->period ? (int)left : p->period;
        for (int l = 0; l < n; l += p->parts) {
            for (int u = 0; u < p->updates; u++) fuse_update(p, p->update + u, i, l);
            for (int d = 0; d < p->dots; d++) fuse_dot(p, p->dot + d, i, l, sum);
        }
    }
}
