/* How far an eigenvalue of a matrix that is not Hermitian moves with the matrix: 1 / |<y, x>|, y and x its left and
   right eigenvectors of length 1 (Wilkinson). An error of the matrix, as a residual is one, moves it by so many times
   as much, and near a defective value without bound: what is known then is that the number is large. */
#include "arnoldi.h"

/* Whether rows j and j + 1 of a real Schur form belong to a conjugate pair. */
static bool is_pair(const wisp_scalar *S, int n, int j)
{
    return j + 1 < n && (S[(j + 1) * n + j].re != 0 || S[(j + 1) * n + j].im != 0);
}

/* z, but no nearer to 0 than that. */
static wisp__z at_least(wisp__z z, double least) { return cabs(z) < least ? least : z; }

/* Divides z by its largest number where squares would overflow. */
static void shorten(wisp__z *z, int from, int to)
{
    double most = 0;
    for (int l = from; l < to; l++) most = fmax(most, fmax(fabs(creal(z[l])), fabs(cimag(z[l]))));
    for (int l = from; l < to && most > 1e100; l++) z[l] /= most;
}

/* Element j of z (S - value), as far as z is known, up to `to`. */
static wisp__z sum_of(const wisp_scalar *S, int n, const wisp__z *z, int from, int to, int j)
{
    wisp__z sum = 0;
    for (int l = from; l < to; l++) sum += z[l] * wisp__z_of(S[l * n + j]);
    return sum;
}

double wisp__schur_condition(int n, const wisp_scalar *S, const wisp_scalar *value, const wisp_scalar *X, int i,
                             double tiny, wisp__z *z)
{
    const wisp__z lambda = wisp__z_of(value[i]);
    const int from = i > 0 && is_pair(S, n, i - 1) ? i - 1 : i;
    int j = from + 1;
    z[from] = 1;
    if (is_pair(S, n, from)) {
        z[from] = wisp__z_of(S[(from + 1) * n + from]);
        z[from + 1] = lambda - wisp__z_of(S[from * n + from]);
        j = from + 2;
    }
    const int own = j;
    /* z (S - lambda) = 0, from the value's own row, or both rows of its pair, on. */
    while (j < n) {
        const wisp__z first = sum_of(S, n, z, from, j, j), a = wisp__z_of(S[j * n + j]) - lambda;
        if (!is_pair(S, n, j)) {
            z[j] = -first / at_least(a, tiny);
            j++;
        } else {
            const wisp__z second = sum_of(S, n, z, from, j, j + 1), b = wisp__z_of(S[j * n + j + 1]),
                          c = wisp__z_of(S[(j + 1) * n + j]), d = wisp__z_of(S[(j + 1) * n + j + 1]) - lambda,
                          by = at_least(a * d - b * c, tiny * (cabs(b) + cabs(c) + tiny));
            z[j] = (c * second - d * first) / by;
            z[j + 1] = (b * first - a * second) / by;
            j += 2;
        }
        shorten(z, from, j);
    }
    double square = 0;
    wisp__z dot = 0;
    for (int l = from; l < n; l++) square += creal(z[l] * conj(z[l]));
    for (int l = from; l < own; l++) dot += z[l] * wisp__z_of(X[l * n + i]);
    const double condition = sqrt(square) / cabs(dot);
    return condition >= 1 ? condition : isnan(condition) ? INFINITY : 1;
}

void wisp__schur_count_sensitive(const wisp__arnoldi *a)
{
    enum { FAR = 10 };
    wisp_eigen *e = a->k->e;
    e->sensitive = 0;
    for (int i = 0; i < e->found && e->condition; i++) {
        const double over = wisp__schur_over(a, e->value[i]), error = fmax(e->residual[i] * over, a->smallest);
        e->sensitive += e->condition[i] * error > FAR * a->k->o.tolerance * over;
    }
}

void wisp__schur_see(wisp__schur_seen *seen, wisp_scalar value, double condition)
{
    if (seen->n == seen->most) return;
    seen->value[seen->n] = value;
    seen->condition[seen->n++] = condition;
}

void wisp__schur_use_seen(const wisp__arnoldi *a, const wisp__schur_seen *seen)
{
    const wisp_eigen *e = a->k->e;
    for (int i = 0; i < e->found; i++) {
        double least = INFINITY;
        int next = -1;
        for (int j = 0; j < seen->n; j++) {
            const double im = seen->value[j].im, re = seen->value[j].re;
            const double like = a->k->is_complex ? im : copysign(im, e->value[i].im); /* one of a pair was seen */
            const double far = hypot(re - e->value[i].re, like - e->value[i].im);
            if (far < least) least = far, next = j;
        }
        if (next >= 0) e->condition[i] = fmax(e->condition[i], seen->condition[next]);
    }
    wisp__schur_count_sensitive(a);
}
