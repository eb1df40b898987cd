/* What incomplete factors do with a row, for one type of numbers: NUMBER, and NAME(name) of the functions. Included by
   ilu.c once for each. The factors lie as in wisp__ilu. */

static double NAME(size)(NUMBER v) { return fabs(creal(v)) > fabs(cimag(v)) ? fabs(creal(v)) : fabs(cimag(v)); }

/* Entry k becomes v. */
static void NAME(put)(const wisp__ilu *f, int64_t k, double complex v) { ((NUMBER *)f->val)[k] = (NUMBER)v; }

/* The least size that a pivot may have is a small part of this. */
static double NAME(largest)(const wisp__ilu *f, int64_t i)
{
    const NUMBER *val = f->val;
    double most = 0;
    if (f->hermitian) return creal(val[f->diagonal[i]]);
    for (int64_t k = f->begin[i]; k < f->begin[i + 1]; k++) most = fmax(most, NAME(size)(val[k]));
    return most > 0 ? most : 1;
}

/* The diagonal of row i is made larger by so much. */
static void NAME(shift)(const wisp__ilu *f, int64_t i, double by)
{
    NUMBER *d = (NUMBER *)f->val + f->diagonal[i];
    *d += creal(*d) < 0 ? -by : by;
}

/* Row i, whose rows before are done, by the order of Gauss in place (IKJ). The size of its pivot; minus that, if its
   inverse is out of range; 0, if it is no pivot. */
static double NAME(factor)(const wisp__ilu *f, int64_t i)
{
    NUMBER *val = f->val, *inverse = f->inverse;
    const int64_t end = f->begin[i + 1], middle = f->diagonal[i];
    for (int64_t k = f->begin[i]; k < middle; k++) {
        const int64_t row = f->col[k];
        const NUMBER l = val[k] = NAME(times)(val[k], inverse[row]);
        const int64_t last = f->begin[row + 1];
        int64_t at = k + 1, u = f->diagonal[row] + 1;
        while (at < end && u < last) {
            if (f->col[at] == f->col[u])
                val[at++] -= NAME(times)(l, val[u++]);
            else if (f->col[at] < f->col[u])
                at = seek(f, at, end, f->col[u]);
            else
                u = seek(f, u, last, f->col[at]);
        }
    }
    if (f->hermitian) val[middle] = creal(val[middle]);
    const double pivot = f->hermitian ? creal(val[middle]) : NAME(size)(val[middle]);
    inverse[i] = pivot > 0 ? 1 / val[middle] : 0;
    if (!isfinite(pivot) || !(pivot > 0)) return 0;
    return isfinite(NAME(size)(inverse[i])) ? pivot : -pivot;
}

/* Entries of row i above the diagonal that have none below it become 0. */
static void NAME(prune)(const wisp__ilu *f, int64_t i)
{
    for (int64_t k = f->diagonal[i] + 1; k < f->begin[i + 1]; k++)
        if (find(f, f->col[k], i) < 0) ((NUMBER *)f->val)[k] = 0;
}

/* Those below it become what the ones above it make of them, U = D L^H. */
static void NAME(mirror)(const wisp__ilu *f, int64_t i)
{
    NUMBER *val = f->val, *inverse = f->inverse;
    for (int64_t k = f->begin[i]; k < f->diagonal[i]; k++) {
        const int64_t at = find(f, f->col[k], i);
        val[k] = at < 0 ? 0 : NAME(times)(NAME(conjugate)(val[at]), inverse[f->col[k]]);
    }
}

/* Row i of x becomes that of L^-1 x, or of U^-1 x, with those before it, or behind it, done. */
static void NAME(subtract)(const wisp__ilu *f, NUMBER *x, int width, int64_t i, int64_t begin, int64_t end)
{
    const NUMBER *val = f->val;
    NUMBER *to = x + i * width;
    if (width == 1) {
        NUMBER sum = *to;
        for (int64_t k = begin; k < end; k++) sum -= NAME(times)(val[k], x[f->col[k]]);
        *to = sum;
        return;
    }
    for (int64_t k = begin; k < end; k++) {
        const NUMBER *from = x + (int64_t)f->col[k] * width;
        for (int j = 0; j < width; j++) to[j] -= NAME(times)(val[k], from[j]);
    }
}
static void NAME(lower)(const wisp__ilu *f, double *x, int width, int64_t i)
{
    NAME(subtract)(f, (NUMBER *)x, width, i, f->begin[i], f->diagonal[i]);
}
static void NAME(upper)(const wisp__ilu *f, double *x, int width, int64_t i)
{
    NUMBER *to = (NUMBER *)x + i * width;
    NAME(subtract)(f, (NUMBER *)x, width, i, f->diagonal[i] + 1, f->begin[i + 1]);
    for (int j = 0; j < width; j++) to[j] = NAME(times)(to[j], ((const NUMBER *)f->inverse)[i]);
}

static const calls NAME(calls) = {NAME(put),   NAME(largest), NAME(shift), NAME(factor),
                                  NAME(prune), NAME(mirror),  NAME(lower), NAME(upper)};
#undef NUMBER
#undef NAME
