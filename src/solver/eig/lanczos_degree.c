/* Block Lanczos: the Chebyshev polynomial of the matrix whose Krylov space is built. To make a block orthogonal takes
   far longer than a product with a sparse matrix, and a polynomial needs fewer blocks. */
#include "lanczos.h"
#include <math.h>

/* Of a polynomial, to the end of the spectrum. Values farther in lose as many digits, which a small tolerance needs. */
static double growth_of(const wisp__eig *k) { return fmin(fmax(1e-3 * k->o.tolerance / k->eps, 100), 1000); }

/* How many of A's values the Ritz value stands for. The first block is random: each of its vectors has of each of A's
   the square 1/rows, on average, and a Ritz vector has what belongs to the values near its own. */
static double weight(const wisp__lanczos *L, int ritz)
{
    const int b = L->a.block;
    double square = 0;
    for (int i = 0; i < b; i++) {
        const wisp_scalar q = L->Q[i * L->a.active + ritz];
        square += q.re * q.re + q.im * q.im;
    }
    return (double)L->k->rows * square / b;
}

/* Where A has so many values further out, about. A Ritz value has half of what it stands for before it, and all that
   the others before it stand for; between two Ritz values the number grows by a factor, and up to the second one, if
   the first stands for too many, in proportion. */
static double value_of_rank(const wisp__lanczos *L, double rank)
{
    const int m = L->a.active;
    double before = 0, last = 0;
    for (int j = 0; j < m; j++) {
        const double here = weight(L, j), count = fmax(before + here / 2, j + 0.5);
        if (j == 1 && last >= rank) return L->lambda[0] + (L->lambda[1] - L->lambda[0]) * rank / fmax(count, last);
        if (j > 0 && count >= rank)
            return L->lambda[j - 1] + (L->lambda[j] - L->lambda[j - 1]) * log(rank / last) / log(count / last);
        before += here;
        last = count;
    }
    return L->lambda[m - 1];
}

/* V has grown from random vectors, by products with A alone. */
static bool is_fresh(const wisp__lanczos *L)
{
    return L->a.op.degree == 1 && !L->k->o.start && L->a.locked == 0 && L->a.restarts == L->a.began;
}

/* Locked columns are taken out of each product, but what rounding has put in of them is multiplied by Op before: by no
   more than lets it stay small beside what the first one that is searched for is multiplied by. */
static bool bears_locked(const wisp__lanczos *L, const wisp__op *op)
{
    double most = 0;
    for (int i = 0; i < L->a.locked; i++) most = fmax(most, wisp__op_of(op, L->value[i]));
    return most <= growth_of(L->k) / sqrt(L->k->eps);
}

bool wisp__lanczos_raises(const wisp__lanczos *L, bool full, wisp__op *op)
{
    enum { LATER = 4 }; /* restarts gain little then, so that products may take longer */
    const wisp__eig *k = L->k;
    const wisp_bounds *bounds = &k->e->bounds;
    const double side = k->o.which == WISP_EIG_SMALLEST ? -1 : 1, far = bounds->center - side * bounds->halfwidth;
    const double sure = 1 + 2.0 / L->a.block; /* numbers of values are estimates, the worse, the fewer vectors */
    const int m = L->a.active, beyond = wisp__op_outside(k->o.count);
    int most = (int)fmin(L->most_degree * (1.0 + LATER * L->a.restarts), WISP__MOST_DEGREE);
    if (k->inverse || L->lowered || (!full && !is_fresh(L))) return false;
    const double last = is_fresh(L) ? value_of_rank(L, sure * beyond) : L->lambda[beyond < m ? beyond : m - 1];
    for (; most > 1; most /= 2) {
        *op = L->a.op;
        if (!wisp__op_raise(op, side, L->lambda[0], last, far, growth_of(k), most)) return false;
        if (bears_locked(L, op)) return true;
        if (op->degree < most) most = op->degree;
    }
    return false;
}

bool wisp__lanczos_lowers(const wisp__lanczos *L, int wanted, int good, wisp__op *op)
{
    const wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    const wisp__op *now = &L->a.op;
    int outer = 0;
    if (now->inverse || now->degree == 1) return false;
    while (outer < L->a.active && L->mu[outer] > 1) outer++;
    if (outer > good || good >= wanted) return false;
    const double damped = now->center + now->side * now->scale, far = now->center - now->side * now->scale,
                 first = outer > 0 ? L->lambda[0] : damped, growth = growth_of(k),
                 angle = acosh(growth) / now->degree; /* half of it, of half the degree */
    *op = (wisp__op){.degree = 1, .side = now->side, .center = b->center, .scale = b->halfwidth};
    (void)wisp__op_raise(op, now->side, first, first + (far - first) * angle * angle, far, growth, now->degree / 2);
    return true;
}

wisp_status wisp__lanczos_change(wisp__lanczos *L, const wisp__op *op, int good)
{
    wisp_status status = WISP_OK;
    const int n = wisp__op_outside(L->k->o.count) + 1, most = L->a.active - L->a.block, kept = good + n;
    if (op->degree < L->a.op.degree) L->lowered = 1;
    WISP_TRY(wisp__lanczos_restart(L, kept < most ? kept : most));
    if (good > 0) {
        double over;
        WISP_TRY(wisp__lanczos_verify(L, good, &over));
        if (over <= 1) {
            wisp__lanczos_lock(L, good);
            L->early = 1;
        }
        WISP_TRY(wisp__arnoldi_room(&L->a, L->m));
    }
    L->a.op = *op;
    status = wisp__arnoldi_anew(&L->a, n < L->a.active ? n : L->a.active);
out:
    return status;
}

/* Before the search for what is missing: up to a multiplet's width behind the last locked value Op has to stay well
   above what it damps, for there values of A far from each other have one value of Op. A wide tolerance has a width
   beyond that. */
void wisp__lanczos_fit_border(wisp__lanczos *L)
{
    enum { ABOVE = 2 };
    const wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    wisp__op *op = &L->a.op;
    if (op->inverse || op->degree == 1 || L->a.locked == 0) return;
    const double side = op->side, far = b->center - side * b->halfwidth;
    double first = L->value[0], border = L->value[0];
    for (int i = 1; i < L->a.locked; i++) {
        if (side * (L->value[i] - first) > 0) first = L->value[i];
        if (side * (L->value[i] - border) < 0) border = L->value[i];
    }
    border -= side * k->o.tolerance * k->scale;
    if (wisp__op_of(op, border) >= ABOVE) return;
    const int most = op->degree;
    *op = (wisp__op){.degree = 1, .side = side, .center = b->center, .scale = b->halfwidth};
    (void)wisp__op_raise(op, side, first, first + 2 * (border - first), far, growth_of(k), most);
    L->lowered = L->early = 1; /* V is of another degree than the search that follows */
}
