/* GMRES(m), with M^-1 on the right (or on the left: side.c): the basis by classical Gram-Schmidt, as in algorithms 5
   and 6 of Rupp et al. 2016: all dots in one pass, all updates in another. The least-squares problem is
   that of Arnoldi's basis (Saad and Schultz 1986), which stays well conditioned where the residual falls far within a
   cycle; that of the paper (simpler GMRES) does not, and reads r once more in each iteration. Basis vectors are not
   normalised: their norms are factors of what is done with them.
   Both passes read the whole basis. To read it less often, several vectors are made at once, ahead of their iterations,
   from powers of A - shift times the last one (the Newton basis with one point of Bai, Hu and Reichel 1994, IMA J.
   Numer. Anal. 14, 563; Hoemmen 2010). First all powers lose their part in the span of the basis, then each its part in
   the new vectors before it. A power of which too little would be left is not taken. What rounding leaves of a vector
   in the span of others grows from one block of vectors to the next; a block is made orthogonal once more where that is
   too much, and a vector that is made alone where little of it was left. */
#include "krylov.h"
#include <math.h>
#include <string.h>

/* v[0 .. m] is the basis, v[m + 1] is M^-1 of one of them. */
static int blocks(const wisp__krylov *k) { return k->o.restart + (k->P ? 2 : 1); }

/* A vector is made as a product, or as r, and then changed. M^-1 may be a polynomial, which begins with what is there
   times 0. */
static int written(const wisp__krylov *k) { return k->o.restart + 1; }

/* Vectors that are made at once, at most; and from which vector of a cycle on, where a product has a preconditioner
   that costs more than a diagonal: a vector that is made in vain costs both, and reading a small basis less often does
   not save as much. */
enum { AHEAD = WISP__AHEAD, AHEAD_PRECOND = 16 };

/* What a column keeps. In h are columns of m + 1 numbers each: m of the triangle, m of Arnoldi's Hessenberg matrix,
   those of powers in the basis and of new vectors that are made orthogonal once more, rotations, the right-hand side g,
   norms of the basis. Vectors stay as long as r was in the beginning, and not about 1: so their dots, and norms, have
   its unit. */
typedef struct {
    int steps; /* of this cycle */
    /* The same in all columns: basis vectors behind the first that are there; how many to make at once the next time,
       and at most in this cycle; the shift of their powers; at most about the largest dot of two basis vectors of
       length 1. */
    int made, next, most;
    double complex shift;
    double loss;
    double before; /* |r|^2 an iteration ago */
    double complex h[];
} column;

static size_t own(const wisp_solve_opts *o)
{
    const size_t m = (size_t)o->restart;
    return sizeof(column) + (2 * m + 2 * AHEAD + 5) * (m + 1) * sizeof(double complex);
}
static column *column_of(const wisp__krylov *k, const wisp__krylov_column *c) { return wisp__own(k, c); }
static double complex *triangle(const wisp__krylov *k, const wisp__krylov_column *c, int i)
{
    return column_of(k, c)->h + (size_t)i * (size_t)(k->o.restart + 1);
}
static double complex *hessenberg(const wisp__krylov *k, const wisp__krylov_column *c, int i)
{
    return triangle(k, c, k->o.restart + i);
}
/* Power j, from 1 on (0: the vector that they begin with), in the basis: its part in the vectors before the new ones,
   in new ones before its own, and its own. AHEAD + j: the same of new vector j, which is made orthogonal once more. */
static double complex *power(const wisp__krylov *k, const wisp__krylov_column *c, int j)
{
    return triangle(k, c, 2 * k->o.restart + j);
}
static double complex *cosines(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return power(k, c, 2 * AHEAD + 1);
}
static double complex *sines(const wisp__krylov *k, const wisp__krylov_column *c) { return power(k, c, 2 * AHEAD + 2); }
static double complex *right(const wisp__krylov *k, const wisp__krylov_column *c) { return power(k, c, 2 * AHEAD + 3); }
static double complex *norms(const wisp__krylov *k, const wisp__krylov_column *c) { return power(k, c, 2 * AHEAD + 4); }

/* Sets of dots from here on are those of new vectors with the basis and with each other, which the host brings;
   factors, which it sends, are those behind all dots: of update j, that of each vector of the basis. */
enum { DOT = WISP_SET_DOT };
static void lay_out(wisp__krylov *k)
{
    k->dots = DOT + AHEAD * (k->o.restart + 1) + AHEAD * (AHEAD + 1) / 2;
    k->sets = k->dots + AHEAD * (k->o.restart + 1);
}
static int factor_set(const wisp__krylov *k, int j, int i) { return k->dots + j * (k->o.restart + 1) + i; }
static wisp_scalar *factors(const wisp__krylov *k, int j, int i) { return wisp__set(k, factor_set(k, j, i)); }
static wisp_term times(const wisp__krylov *k, int j, int i) { return wisp__times(k, k->v[i], factor_set(k, j, i)); }
static wisp_status send_factors(wisp__krylov *k, int updates)
{
    return wisp__send(k, k->dots, updates * (k->o.restart + 1));
}
static wisp_status bring_dots(wisp__krylov *k, int count)
{
    const wisp_status status = wisp__sum_dots(k, DOT + count);
    return status == WISP_OK ? wisp__bring(k, 0, DOT + count) : status;
}

static wisp_status start(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        column *own_of = column_of(k, c);
        own_of->steps = own_of->made = 0;
        own_of->next = 1, own_of->most = AHEAD;
        own_of->loss = k->eps;
        norms(k, c)[0] = right(k, c)[0] = sqrt(k->unit * (c->rr / c->ratio));
    }
    k->step_of_cycle = 0;
    return wisp__pass(k, &(wisp_update){k->v[0], 1, (wisp_term[]){{.x = k->r}}}, 1, NULL, 0);
}

static double complex inverse(double complex z) { return z != 0 ? 1 / z : 0; }

/* Iterations until the slowest column has what it wants, if each brings as much as the last one did; at most `most`. */
static int needed(const wisp__krylov *k, int most)
{
    double needs = 1;
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        const double rate = log(c->rr / column_of(k, c)->before), n = log(c->target / c->rr) / rate;
        needs = rate < 0 && n <= most ? fmax(needs, ceil(n)) : most;
    }
    return (int)needs;
}

/* How many vectors are made behind vector i at once, if so many may be. */
static int at_once(const wisp__krylov *k, int i, int next)
{
    const int room = k->o.restart - i, most = room < AHEAD ? room : AHEAD;
    const bool dear = wisp__precond_of(k) && k->o.precond != WISP_JACOBI;
    if (k->separate || next < 1 || (dear && i < AHEAD_PRECOND)) return 1;
    return next < most ? next : most;
}

/* *shift, which becomes what rounding leaves of it: vectors i + 1 .. i + n = (A - shift) times those before them. */
static wisp_status powers(wisp__krylov *k, int i, int n, double complex *shift)
{
    wisp_status status = WISP_OK;
    const bool shifted = n > 1 && *shift != 0;
    if (!wisp__precond_of(k) && shifted) return wisp__powers(k, k->v + i, n, shift);
    if (!shifted) *shift = 0;
    *shift = wisp__rounded(k, *shift);
    for (int l = i; l < i + n; l++) {
        wisp_blk *x = k->v[l], *y = k->v[l + 1], *z = k->P ? k->v[k->o.restart + 1] : x;
        const wisp_term term[] = {{.x = y}, {.x = x, .factor = k->own}};
        if (k->P) WISP_TRY(wisp__precond_apply(k->P, z, x, (wisp_place){0}));
        WISP_TRY(wisp__multiply(k, y, z, 0, NULL));
        if (!shifted) continue;
        for (int j = 0; j < k->width; j++) k->own[j] = wisp__scalar(-*shift);
        WISP_TRY(wisp__pass(k, &(wisp_update){y, 2, term}, 1, NULL, 0));
    }
out:
    return status;
}

/* Where the dots of power j (from 1 on, of n) with vector l <= i, and with power a <= j, are. */
static int with_basis(int i, int j, int l) { return DOT + (j - 1) * (i + 1) + l; }
static int with_power(int i, int n, int a, int j) { return DOT + n * (i + 1) + j * (j - 1) / 2 + a - 1; }

/* Powers are met by some vectors at a time, which stay in the first-level cache from one power to the next. */
static wisp_status dots(wisp__krylov *k, int i, int n)
{
    enum { SOME = 4 };
    wisp_inner inner[AHEAD * (WISP__MOST_RESTART + 1) + AHEAD * (AHEAD + 1) / 2], *next = inner;
    for (int first = 0; first <= i; first += SOME)
        for (int j = 1; j <= n; j++)
            for (int l = first; l < first + SOME && l <= i; l++)
                *next++ = (wisp_inner){.x = k->v[l], .y = k->v[i + j], .dot_at = wisp__at(k, with_basis(i, j, l))};
    for (int j = 1; j <= n; j++)
        for (int a = 1; a <= j; a++)
            *next++ = (wisp_inner){.x = k->v[i + a], .y = k->v[i + j], .dot_at = wisp__at(k, with_power(i, n, a, j))};
    const int count = (int)(next - inner);
    wisp_status status = wisp__clear(k);
    if (status == WISP_OK) status = wisp__pass(k, NULL, 0, inner, count);
    return status == WISP_OK ? bring_dots(k, count) : status;
}

/* A power stands where so much of its length is left without what comes before it. One more than were tried the last
   time is tried where so much of it is foreseen to be left. */
static const double STANDS = 0.08, SHOULD_STAND = 0.1;

/* What powers 1 .. n of column j are in the basis, by their dots times scale: their parts in vectors 0 .. i, and by
   Cholesky's factor of the rest, in new vectors i + 1 .., of length 1. How many of them stand, but the first one in any
   case; and what of each is left. They are rows `first` + 1 .. of what the column keeps. */
static int factorise(const wisp__krylov *k, int i, int n, int j, int first, double complex scale, double *left)
{
    const wisp__krylov_column *c = &k->col[j];
    const double complex *norm = norms(k, c);
    for (int b = 1; b <= n; b++) {
        double complex *p = power(k, c, first + b);
        for (int l = 0; l <= i; l++)
            p[l] = scale * inverse(norm[l]) * k->unit * wisp__number(k, with_basis(i, b, l), j);
        for (int a = 1; a <= b; a++) {
            const double complex *q = power(k, c, first + a);
            const double complex dot = scale * scale * k->unit * wisp__number(k, with_power(i, n, a, b), j);
            double complex rest = dot;
            for (int l = 0; l < i + a; l++) rest -= conj(q[l]) * p[l];
            if (a < b) {
                p[i + a] = rest / q[i + a];
                continue;
            }
            left[b] = sqrt(creal(rest) / creal(dot));
            const bool stands = left[b] > STANDS;
            if (!stands && b > 1) return b - 1;
            if (!stands) n = 1;
            p[i + b] = stands ? sqrt(creal(rest)) : 1;
        }
    }
    return n;
}

/* How many powers should stand the next time, if what is left of them falls as it did. */
static int foreseen(int n, const double *left)
{
    if (!(left[1] > SHOULD_STAND)) return 1;
    if (n == 1) return 2;
    const double fall = log(left[n] / left[1]) / (n - 1), room = log(SHOULD_STAND / left[1]);
    return room < (AHEAD - 1) * fall ? AHEAD : 1 + (int)(room / fall);
}

/* v[i + 1 .. i + n], which are powers, or new vectors a second time, lose their part in the span of v[0 .. i] and of
   those before them; then their norms. */
static wisp_status orthogonalise(wisp__krylov *k, int i, int n)
{
    wisp_status status = WISP_OK;
    wisp_term term[AHEAD * (WISP__MOST_RESTART + 1 + AHEAD)], *next = term;
    wisp_update update[2 * AHEAD];
    wisp_inner inner[AHEAD];
    int updates = 0;
    for (int j = 1; j <= n; j++) {
        update[updates++] = (wisp_update){k->v[i + j], i + 2, next};
        *next++ = times(k, j - 1, i + j);
        for (int l = 0; l <= i; l++) *next++ = times(k, j - 1, l);
    }
    for (int j = 2; j <= n; j++) {
        update[updates++] = (wisp_update){k->v[i + j], j, next};
        *next++ = (wisp_term){.x = k->v[i + j]};
        for (int a = 1; a < j; a++) *next++ = times(k, j - 1, i + a);
    }
    for (int j = 1; j <= n; j++)
        inner[j - 1] = (wisp_inner){.x = k->v[i + j], .y = k->v[i + j], .dot_at = wisp__at(k, DOT + j - 1)};
    WISP_TRY(wisp__clear(k));
    WISP_TRY(send_factors(k, n));
    WISP_TRY(wisp__pass(k, update, updates, inner, n));
    WISP_TRY(bring_dots(k, n));
    for (int c = 0; c < k->width; c++)
        for (int j = 1; j <= n; j++)
            if (wisp__going(&k->col[c]))
                norms(k, &k->col[c])[i + j] = wisp__root(k->unit * wisp__set(k, DOT + j - 1)[c].re);
out:
    return status;
}

/* The factors of that, by rows `first` + 1 .. of what columns keep; powers are taken times 1 / norm of vector i, new
   vectors as they are. Those of columns that have ended become 0. */
static void set_factors(wisp__krylov *k, int i, int n, int first)
{
    for (int c = 0; c < k->width; c++) {
        const bool going = wisp__going(&k->col[c]);
        const double complex *norm = norms(k, &k->col[c]), scale = first ? 1 : inverse(norm[i]);
        for (int j = 1; j <= n; j++) {
            const double complex *p = power(k, &k->col[c], first + j), over = going ? inverse(p[i + j]) : 0;
            for (int l = 0; l < i + j; l++)
                factors(k, j - 1, l)[c] = wisp__scalar(going ? -p[l] * over * (l <= i ? inverse(norm[l]) : 1) : 0);
            factors(k, j - 1, i + j)[c] = wisp__scalar(going ? scale * over : 0);
        }
    }
}

/* Whether cancellation left a new vector of some column far from orthogonal. */
static bool is_skew(const wisp__krylov *k, int i)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        const double complex *p = power(k, c, 1);
        double all = 0;
        for (int l = 0; l <= i; l++) all += creal(p[l] * conj(p[l]));
        const double own = creal(norms(k, c)[i + 1] * p[i + 1]);
        if (wisp__going(c) && own * own < 0.01 * all && own * own > k->eps * k->eps * all) return true;
    }
    return false;
}

/* Powers in the basis, where the new vectors that they were known in are now known in others. */
static void compose(const wisp__krylov *k, const wisp__krylov_column *c, int i, int n)
{
    for (int j = 1; j <= n; j++) {
        double complex *p = power(k, c, j), in_new[AHEAD + 1];
        for (int a = 1; a <= j; a++) in_new[a] = p[i + a], p[i + a] = 0;
        for (int a = 1; a <= j; a++)
            for (int l = 0; l <= i + a; l++) p[l] += in_new[a] * power(k, c, AHEAD + a)[l];
    }
}

/* v[i + 1 .. i + n] are made orthogonal once more. */
static wisp_status repeat(wisp__krylov *k, int i, int n)
{
    wisp_status status;
    double left[AHEAD + 1];
    WISP_TRY(dots(k, i, n));
    for (int j = 0; j < k->width; j++) {
        if (!wisp__going(&k->col[j])) continue;
        const int stand = factorise(k, i, n, j, AHEAD, 1, left);
        for (int b = stand + 1; b <= n; b++) { /* what does not stand stays as it is */
            double complex *p = power(k, &k->col[j], AHEAD + b);
            memset(p, 0, (size_t)(i + b) * sizeof *p);
            p[i + b] = 1;
        }
    }
    set_factors(k, i, n, AHEAD);
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) compose(k, &k->col[j], i, n);
    status = orthogonalise(k, i, n);
out:
    return status;
}

/* Columns of the Hessenberg matrix: A q = H q for powers, which are known in the basis q, give one after the other. */
static void find_hessenberg(const wisp__krylov *k, wisp__krylov_column *c, int i, int n, double complex shift)
{
    for (int j = 1; j <= n; j++) {
        double complex *p = power(k, c, j), *h = hessenberg(k, c, i + j - 1);
        const double complex *before = power(k, c, j - 1);
        for (int a = 1; a <= j; a++) p[i + a] *= norms(k, c)[i + a];
        for (int l = 0; l <= i + j; l++) h[l] = p[l] + (l < i + j ? shift * before[l] : 0);
        for (int m = 0; m < i + j - 1; m++)
            for (int l = 0; l <= m + 1; l++) h[l] -= hessenberg(k, c, m)[l] * before[m];
        for (int l = 0; l <= i + j; l++) h[l] *= inverse(before[i + j - 1]);
    }
}

/* The shift of the next powers: the mean of the diagonal of what is known of A. */
static double complex next_shift(const wisp__krylov *k, int made)
{
    double complex sum = 0;
    int count = 0;
    for (int j = 0; j < k->width; j++)
        for (int i = 0; i < made && wisp__going(&k->col[j]); i++, count++) sum += hessenberg(k, &k->col[j], i)[i];
    const double complex mean = count > 0 ? sum / count : 0;
    return isfinite(creal(mean)) && isfinite(cimag(mean)) ? mean : 0;
}

/* The vectors behind vector i. */
static wisp_status make(wisp__krylov *k, int i)
{
    wisp_status status = WISP_OK;
    column *first = column_of(k, k->col);
    const int tried = needed(k, at_once(k, i, first->next));
    int n = tried, next = AHEAD;
    double least = 1;
    double complex shift = tried > 1 ? first->shift : 0;
    WISP_TRY(powers(k, i, tried, &shift));
    WISP_TRY(dots(k, i, tried));
    for (int j = 0; j < k->width; j++) {
        double left[AHEAD + 1] = {0};
        memset(power(k, &k->col[j], 0), 0, (size_t)(k->o.restart + 1) * sizeof(double complex));
        power(k, &k->col[j], 0)[i] = 1;
        if (!wisp__going(&k->col[j])) continue;
        const int stand = factorise(k, i, tried, j, 0, inverse(norms(k, &k->col[j])[i]), left);
        const int more = foreseen(stand, left);
        if (stand < n) n = stand;
        if (more < next) next = more;
        for (int b = 1; b <= stand; b++) least = left[b] < least ? left[b] : least;
    }
    set_factors(k, i, n, 0);
    WISP_TRY(orthogonalise(k, i, n));
    double loss = (first->loss + k->eps) / least;
    if (n == 1 ? is_skew(k, i) : loss > sqrt(k->eps)) {
        WISP_TRY(repeat(k, i, n));
        loss = first->loss + k->eps;
    }
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) find_hessenberg(k, &k->col[j], i, n, shift);
    shift = next_shift(k, i + n);
    const int most = n < tried ? n : first->most;
    for (int j = 0; j < k->width; j++) {
        column *c = column_of(k, &k->col[j]);
        c->made = i + n, c->shift = shift, c->loss = loss;
        c->most = most, c->next = next < most ? next : most;
    }
out:
    return status;
}

/* Column i of the Hessenberg matrix turns into one of the triangle (Givens), and the residual's norm follows. */
static void rotate(wisp__krylov *k, wisp__krylov_column *c, int i)
{
    column *own_of = column_of(k, c);
    double complex *t = triangle(k, c, i), *g = right(k, c), *cs = cosines(k, c), *sn = sines(k, c);
    const double complex *h = hessenberg(k, c, i);
    const double b = creal(h[i + 1]);
    double all = b * b;
    for (int l = 0; l <= i; l++) t[l] = h[l], all += creal(t[l] * conj(t[l]));
    for (int l = 0; l < i; l++) {
        const double complex above = t[l], below = t[l + 1];
        t[l] = conj(cs[l]) * above + conj(sn[l]) * below;
        t[l + 1] = -sn[l] * above + cs[l] * below;
    }
    const double complex a = t[i];
    const double length = hypot(cabs(a), b);
    own_of->steps = i + 1;
    if (!(length > 100 * k->eps * sqrt(all)) || !isfinite(length)) {
        own_of->steps = i; /* within rounding A M^-1 maps this space into a smaller one */
        c->broken = WISP_ERR_BREAKDOWN;
        return;
    }
    cs[i] = a / length, sn[i] = b / length;
    t[i] = length;
    g[i + 1] = -sn[i] * g[i];
    g[i] = conj(cs[i]) * g[i];
    own_of->before = c->rr;
    c->rr = creal(g[i + 1] * conj(g[i + 1])) / k->unit * c->ratio;
}

/* Classical: the basis has norm 1. */
static wisp_status normalise(wisp__krylov *k, int i)
{
    for (int j = 0; j < k->width; j++) {
        double complex *norm = norms(k, &k->col[j]) + i;
        const bool going = wisp__going(&k->col[j]);
        factors(k, 0, i)[j] = wisp__scalar(going ? inverse(*norm) : 0);
        if (going && *norm != 0) *norm = 1;
    }
    const wisp_term term = times(k, 0, i);
    const wisp_status status = send_factors(k, 1);
    return status == WISP_OK ? wisp__pass(k, &(wisp_update){k->v[i], 1, &term}, 1, NULL, 0) : status;
}

static wisp_status step(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const int i = k->step_of_cycle++;
    if (column_of(k, k->col)->made == i) WISP_TRY(make(k, i));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) rotate(k, &k->col[j], i);
    if (k->separate) WISP_TRY(normalise(k, i + 1));
    k->cycle_ends = i + 1 == k->o.restart;
out:
    return status;
}

/* The coefficients of x in the basis, over its norms: the triangle's solution. */
static void solve_triangle(const wisp__krylov *k, int j, int steps)
{
    const wisp__krylov_column *c = &k->col[j];
    const int own_steps = column_of(k, c)->steps, n = own_steps < steps ? own_steps : steps;
    double complex *g = right(k, c);
    for (int i = n - 1; i >= 0; i--) {
        g[i] /= triangle(k, c, i)[i];
        for (int l = 0; l < i; l++) g[l] -= triangle(k, c, i)[l] * g[i];
    }
    for (int i = 0; i < n; i++) factors(k, 0, i)[j] = wisp__scalar(g[i] * inverse(norms(k, c)[i]));
}

/* x += M^-1 V y. r is made anew afterwards: V y takes its place. */
static wisp_status settle(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_term term[WISP__MOST_RESTART + 1];
    const int n = k->step_of_cycle;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k->width; j++) factors(k, 0, i)[j] = wisp__real(0);
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done) solve_triangle(k, j, n);
    k->step_of_cycle = 0;
    if (n == 0) goto out;
    term[0] = (wisp_term){.x = k->x};
    for (int i = 0; i < n; i++) term[i + 1] = times(k, 0, i);
    WISP_TRY(send_factors(k, 1));
    if (!k->P) return wisp__pass(k, &(wisp_update){k->x, n + 1, term}, 1, NULL, 0);
    wisp_blk *z = k->v[k->o.restart + 1];
    WISP_TRY(wisp__pass(k, &(wisp_update){k->r, n, term + 1}, 1, NULL, 0));
    WISP_TRY(wisp__precond_apply(k->P, z, k->r, (wisp_place){0}));
    term[1] = (wisp_term){.x = z};
    WISP_TRY(wisp__pass(k, &(wisp_update){k->x, 2, term}, 1, NULL, 0));
out:
    return status;
}

static bool keeps(const wisp__krylov *k, int i) { return i <= (k->step_of_cycle > 0 ? column_of(k, k->col)->made : 0); }

/* The basis is orthogonal, so that it can be believed for longer; and it is lost where x is settled. */
static double far(const wisp__krylov *k) { return 100 * k->eps * k->eps; }

/* The mean of a cycle. Passes of dots and of updates read the basis and new vectors, and the latter write these; powers
   with M^-1 are shifted in passes of their own. */
static double moves(const wisp__krylov *k)
{
    const int m = k->o.restart;
    double all = 0;
    if (k->separate) return 2.5 * m + 6.5;
    for (int i = 0, n, next = 1; i < m; i += n, next = n == 1 ? 2 : AHEAD) {
        n = at_once(k, i, next);
        all += 2 * (i + 1 + n) + n + (wisp__precond_of(k) && n > 1 ? 3 * n : 0);
    }
    return all / m;
}

const wisp__method wisp__gmres = {.name = "gmres",
                                  .own = own,
                                  .blocks = blocks,
                                  .written = written,
                                  .lay_out = lay_out,
                                  .start = start,
                                  .step = step,
                                  .settle = settle,
                                  .keeps = keeps,
                                  .moves = moves,
                                  .products = 1,
                                  .far = far,
                                  .allows = "the arithmetic or the restart allows no less",
                                  .chosen = true,
                                  .sides = true,
                                  .restarts = true};
