/* What incomplete factors do with rows, for one type of numbers: NUMBER, and NAME(name) of the functions. Included by
   ilu.c once for each. Rows are counted in the order of levels; while factors are made, columns are A's own. */

static double NAME(size)(NUMBER v) { return fabs(creal(v)) > fabs(cimag(v)) ? fabs(creal(v)) : fabs(cimag(v)); }

/* The numbers of A's row i, times the factor, with the diagonal where the inverse of the pivot will be. The largest
   part of one without the factor; -1: it can't be read. */
static double NAME(read)(run *r, part *p, int64_t i)
{
    const wisp__ilu *f = r->f;
    const triangle *L = &f->side[LOWER], *U = &f->side[UPPER];
    const int64_t k = f->where[i], lower = L->begin[k], upper = U->begin[k];
    const int64_t before = L->begin[k + 1] - lower, behind = U->begin[k + 1] - upper;
    const int n = wisp__read_own(&r->src, f->first, f->rows, i, p->col, p->val);
    double largest = 0, most = 0;
    if (n != before + 1 + behind) return -1;
    for (int e = 0; e < n; e++) {
        const NUMBER read = NAME(number)(r->src.type, p->val, e), v = r->factor * read;
        const triangle *t = e < before ? L : U;
        const int64_t at = e < before ? lower + e : upper + e - before - 1;
        largest = larger(NAME(size)(read), largest), most = larger(NAME(size)(v), most);
        if (e == before)
            ((NUMBER *)f->inverse)[k] = v;
        else
            t->col[at] = (int32_t)p->col[e], ((NUMBER *)t->val)[at] = v;
    }
    r->size[i] = f->hermitian ? creal(((const NUMBER *)f->inverse)[k]) : most > 0 ? most : 1;
    return largest;
}

/* A's rows from one on before they are factored. */
static void NAME(fill)(run *r, part *p, int64_t from, int64_t to)
{
    const wisp__ilu *f = r->f;
    for (int64_t i = from; i < to; i++) {
        const double largest = NAME(read)(r, p, i), size = r->size[i];
        NUMBER *d = (NUMBER *)f->inverse + f->where[i];
        const int64_t middle = f->side[LOWER].begin[f->where[i] + 1] - f->side[LOWER].begin[f->where[i]];
        const double diagonal = largest < 0 ? 0 : creal(NAME(number)(r->src.type, p->val, (int)middle));
        if (largest < 0)
            wisp__ilu_refuse(p, i, WISP_ERR_CALLBACK, 0);
        else if (f->hermitian && !(diagonal > 0))
            wisp__ilu_refuse(p, i, WISP_ERR_INDEFINITE, diagonal);
        else if (f->hermitian ? !(size > 0) : largest > 0 && r->factor * largest == 0)
            wisp__ilu_refuse(p, i, WISP_ERR_NUMERIC, largest);
        if (r->alpha > 0) *d += creal(*d) < 0 ? -r->alpha * size : r->alpha * size;
    }
}

/* Entries from `at` on to `end` lose l times those of the columns that they have in a row of U, from u on to `last`.
   Where that has got to. */
static int64_t NAME(lose)(const triangle *t, int64_t at, int64_t end, NUMBER l, const triangle *U, int64_t u,
                          int64_t last)
{
    NUMBER *val = t->val;
    while (at < end && u < last) {
        if (t->col[at] == U->col[u])
            val[at++] -= NAME(times)(l, ((const NUMBER *)U->val)[u++]);
        else if (t->col[at] < U->col[u])
            at = seek(t->col, at, end, U->col[u]);
        else
            u = seek(U->col, u, last, t->col[at]);
    }
    return u;
}

/* Row k, A's row i, of levels before which all is done, by the order of Gauss in place (IKJ). The size of its pivot;
   minus that, if its inverse is out of range; 0, if it is no pivot. */
static double NAME(eliminate)(const wisp__ilu *f, int32_t i, int64_t k)
{
    const triangle *L = &f->side[LOWER], *U = &f->side[UPPER];
    NUMBER *val = L->val, *inverse = f->inverse, d = inverse[k];
    const int64_t end = L->begin[k + 1];
    for (int64_t at = L->begin[k]; at < end; at++) {
        const int64_t row = f->where[L->col[at]], last = U->begin[row + 1];
        const NUMBER l = val[at] = NAME(times)(val[at], inverse[row]);
        int64_t u = NAME(lose)(L, at + 1, end, l, U, U->begin[row], last);
        u = seek(U->col, u, last, i);
        if (u < last && U->col[u] == i) d -= NAME(times)(l, ((const NUMBER *)U->val)[u++]);
        NAME(lose)(U, U->begin[k], U->begin[k + 1], l, U, u, last);
    }
    if (f->hermitian) d = creal(d);
    const double pivot = f->hermitian ? creal(d) : NAME(size)(d);
    inverse[k] = pivot > 0 ? 1 / d : 0;
    if (!isfinite(pivot) || !(pivot > 0)) return 0;
    return isfinite(NAME(size)(inverse[k])) ? pivot : -pivot;
}

/* Where several levels are done in one go, no row is begun behind one that is refused. */
static void NAME(factor)(run *r, part *p, int64_t from, int64_t to)
{
    for (int64_t k = from; k < to && !(r->alone && p->row >= 0); k++) {
        const int32_t i = r->order[k];
        const double size = r->size[i], pivot = NAME(eliminate)(r->f, i, k);
        if (!(fabs(pivot) > 0x1p-26 * size))
            wisp__ilu_refuse(p, i, WISP_ERR_BREAKDOWN, pivot / size);
        else if (pivot < 0)
            wisp__ilu_refuse(p, i, WISP_ERR_NUMERIC, size / r->factor);
    }
}

static void NAME(clear)(run *r, part *p, int64_t from, int64_t to)
{
    const triangle *L = &r->f->side[LOWER];
    (void)p;
    for (int64_t k = L->begin[from]; k < L->begin[to]; k++) ((NUMBER *)L->val)[k] = 0;
}

/* Entries below the diagonal become what the ones above it make of them, U = D L^H, and 0 where there is none, as those
   above that have none below. U's columns are then rows of the order of levels. */
static void NAME(mirror)(run *r, part *p, int64_t from, int64_t to)
{
    const triangle *L = &r->f->side[LOWER], *U = &r->f->side[UPPER];
    const NUMBER *inverse = r->f->inverse;
    (void)p;
    for (int64_t k = from; k < to; k++) {
        const int32_t i = r->order[k];
        for (int64_t u = U->begin[k]; u < U->begin[k + 1]; u++) {
            NUMBER *v = (NUMBER *)U->val + u;
            const int32_t row = U->col[u] = r->f->where[U->col[u]];
            const int64_t end = L->begin[row + 1], at = seek(L->col, L->begin[row], end, i);
            if (at < end && L->col[at] == i)
                ((NUMBER *)L->val)[at] = NAME(times)(NAME(conjugate)(*v), inverse[k]);
            else
                *v = 0;
        }
    }
}

/* `to` loses what row k of a triangle makes of rows of x. */
static inline void NAME(subtract)(const triangle *t, const NUMBER *x, int width, int64_t k, NUMBER *to)
{
    const NUMBER *val = t->val;
    for (int64_t e = t->begin[k]; e < t->begin[k + 1]; e++) {
        const NUMBER *from = x + (int64_t)t->col[e] * width;
        for (int j = 0; j < width; j++) to[j] -= NAME(times)(val[e], from[j]);
    }
}
static inline NUMBER NAME(rest)(const triangle *t, const NUMBER *x, int64_t k, NUMBER sum)
{
    const NUMBER *val = t->val;
    for (int64_t e = t->begin[k]; e < t->begin[k + 1]; e++) sum -= NAME(times)(val[e], x[t->col[e]]);
    return sum;
}

/* Rows of x into the order of levels, and back. */
static void NAME(gather)(run *r, part *p, int64_t from, int64_t to)
{
    const int32_t *where = r->f->where;
    const NUMBER *x = (const NUMBER *)r->x;
    NUMBER *y = (NUMBER *)r->f->work;
    const int width = r->width;
    (void)p;
    for (int64_t i = from; i < to && width == 1; i++) y[where[i]] = x[i];
    for (int64_t i = from; i < to && width > 1; i++)
        for (int j = 0; j < width; j++) y[(int64_t)where[i] * width + j] = x[i * width + j];
}
static void NAME(scatter)(run *r, part *p, int64_t from, int64_t to)
{
    const int32_t *where = r->f->where;
    const NUMBER *y = (const NUMBER *)r->f->work;
    NUMBER *z = (NUMBER *)r->z;
    const int width = r->width;
    (void)p;
    for (int64_t i = from; i < to && width == 1; i++) z[i] = y[where[i]];
    for (int64_t i = from; i < to && width > 1; i++)
        for (int j = 0; j < width; j++) z[i * width + j] = y[(int64_t)where[i] * width + j];
}

/* L^-1 x, in the order of levels. */
static void NAME(lower)(run *r, part *p, int64_t from, int64_t to)
{
    const triangle *L = &r->f->side[LOWER];
    NUMBER *y = (NUMBER *)r->f->work;
    const int width = r->width;
    (void)p;
    for (int64_t k = from; k < to && width == 1; k++) y[k] = NAME(rest)(L, y, k, y[k]);
    for (int64_t k = from; k < to && width > 1; k++) NAME(subtract)(L, y, width, k, y + k * width);
}

/* U^-1 of that; from the last row on. */
static void NAME(upper)(run *r, part *p, int64_t from, int64_t to)
{
    const triangle *U = &r->f->side[UPPER];
    const NUMBER *inverse = r->f->inverse;
    NUMBER *y = (NUMBER *)r->f->work;
    const int width = r->width;
    (void)p;
    for (int64_t k = to - 1; k >= from && width == 1; k--) y[k] = NAME(times)(NAME(rest)(U, y, k, y[k]), inverse[k]);
    for (int64_t k = to - 1; k >= from && width > 1; k--) {
        NUMBER *own = y + k * width;
        NAME(subtract)(U, y, width, k, own);
        for (int j = 0; j < width; j++) own[j] = NAME(times)(own[j], inverse[k]);
    }
}

static const calls NAME(calls) = {NAME(fill),   NAME(factor), NAME(clear), NAME(mirror),
                                  NAME(gather), NAME(lower),  NAME(upper), NAME(scatter)};
#undef NUMBER
#undef NAME
