/* IDR(s) (Sonneveld and van Gijzen 2008, SIAM J. Sci. Comput. 31, 1035), with M^-1 on the right (or on the left:
   side.c): the variant with biorthogonal vectors of van Gijzen and Sonneveld 2011 (ACM Trans. Math. Softw. 38, article
   5). Residuals are forced into spaces that shrink: each cycle has s steps, which make r orthogonal to s random shadow
   vectors, and one, which makes it shorter. A step is one product. As M is known, the coefficients that make g_i
   orthogonal to the shadow vectors before p_i come of one pass of dots with g_i as it was (Collignon and van Gijzen
   2011, Numer. Linear Algebra Appl. 18, 805): so a step has two reductions. Where a step can't go on, the method starts
   anew from a good x, with other shadow vectors. */
#include "krylov.h"
#include <math.h>

/* Blocks: p_i, g_i = A u_i, u_i; an earlier x, work, M^-1 of that. */
static int size_of(const wisp__krylov *k) { return k->o.shadow; }
static wisp_blk *p_of(const wisp__krylov *k, int i) { return k->v[i]; }
static wisp_blk *g_of(const wisp__krylov *k, int i) { return k->v[size_of(k) + i]; }
static wisp_blk *u_of(const wisp__krylov *k, int i) { return k->v[2 * size_of(k) + i]; }
static int low_block(const wisp__krylov *k) { return 3 * size_of(k); }
static wisp_blk *work(const wisp__krylov *k) { return k->v[low_block(k) + 1]; }
static wisp_blk *image(const wisp__krylov *k) { return k->v[low_block(k) + 2]; }
static int blocks(const wisp__krylov *k) { return low_block(k) + (k->P ? 3 : 2); }
static int written(const wisp__krylov *k) { return size_of(k); } /* the p_i, by a start */

static bool keeps(const wisp__krylov *k, int i) { return i < low_block(k) || (i == low_block(k) && wisp__has_low(k)); }

/* f = P^H r, and M = P^H G, a lower triangle, by rows. */
typedef struct {
    wisp__low low;
    double was; /* |r|^2 before the step */
    bool rises; /* and it is more now: x is to be kept before it changes */
    bool off;   /* steps have left it out: its vectors are not those of a cycle */
    double complex omega, f[];
} column;
static column *own_of(const wisp__krylov *k, int j) { return wisp__own(k, &k->col[j]); }
static double complex *row_of(const wisp__krylov *k, int j, int i)
{
    return own_of(k, j)->f + (size_t)(i + 1) * (size_t)size_of(k);
}
static size_t own(const wisp_solve_opts *o)
{
    return sizeof(column) + ((size_t)o->shadow + 1) * (size_t)o->shadow * sizeof(double complex);
}

/* Dots with the p_i, then |r|^2; s factors of the g_i or p_i, s of the u_i, one of r, one of x. */
enum { DOT = WISP_SET_DOT };
static int rr_set(const wisp__krylov *k) { return DOT + size_of(k); }
static int of_g(const wisp__krylov *k, int i) { return k->dots + i; }
static int of_u(const wisp__krylov *k, int i) { return of_g(k, size_of(k) + i); }
static int of_r(const wisp__krylov *k) { return of_u(k, size_of(k)); }
static int of_x(const wisp__krylov *k) { return of_r(k) + 1; }
static void lay_out(wisp__krylov *k)
{
    k->dots = rr_set(k) + 1;
    k->sets = of_x(k) + 1;
}
static void set(const wisp__krylov *k, int number, int j, double complex z)
{
    wisp__set(k, number)[j] = wisp__scalar(z);
}
static wisp_status send_factors(wisp__krylov *k) { return wisp__send(k, k->dots, k->sets - k->dots); }

/* Their dots of all ranks, from the first set on. */
static wisp_status bring_dots(wisp__krylov *k)
{
    const wisp_status status = wisp__sum_dots(k, k->dots);
    return status == WISP_OK ? wisp__bring(k, 0, k->dots) : status;
}

/* Dots of y with the first n shadow vectors, and |y|^2 if `square`: of a pass. */
static int dots_with(const wisp__krylov *k, wisp_inner *inner, int n, const wisp_blk *y, bool square)
{
    for (int i = 0; i < n; i++) inner[i] = (wisp_inner){.x = p_of(k, i), .y = y, .dot_at = wisp__at(k, DOT + i)};
    if (square) inner[n++] = (wisp_inner){.x = y, .y = y, .dot_at = wisp__at(k, rr_set(k))};
    return n;
}

/* ---- the start -------------------------------------------------------------------------------------- */

/* p_i loses its part in the span of those before. */
static wisp_status take_out(wisp__krylov *k, int i)
{
    wisp_status status = WISP_OK;
    wisp_inner inner[WISP__MOST_SHADOW];
    wisp_term term[WISP__MOST_SHADOW] = {{.x = p_of(k, i)}};
    if (i == 0) goto out;
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__pass(k, NULL, 0, inner, dots_with(k, inner, i, p_of(k, i), false)));
    WISP_TRY(bring_dots(k));
    for (int l = 0; l < i; l++) {
        for (int j = 0; j < k->width; j++) set(k, of_g(k, l), j, -wisp__number(k, DOT + l, j));
        term[l + 1] = wisp__times(k, p_of(k, l), of_g(k, l));
    }
    WISP_TRY(send_factors(k));
    status = wisp__pass(k, &(wisp_update){p_of(k, i), i + 1, term}, 1, NULL, 0);
out:
    return status;
}

/* p_i becomes of length 1. */
static wisp_status make_unit(wisp__krylov *k, int i)
{
    const wisp_status status = wisp_dot(p_of(k, i), p_of(k, i), k->own);
    for (int j = 0; j < k->width; j++) k->own[j] = wisp__real(k->own[j].re > 0 ? 1 / sqrt(k->own[j].re) : 0);
    return status == WISP_OK ? wisp_vscal(p_of(k, i), k->own) : status;
}

/* Orthonormal random vectors, others in each start. */
static wisp_status choose_shadows(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const uint64_t seed = 3 + (uint64_t)k->s->iterations;
    for (int i = 0; i < size_of(k); i++) {
        WISP_TRY(wisp_blk_fill_random(p_of(k, i), WISP_RANDOM_GAUSS, seed, WISP__STREAM_SOLVE, (uint32_t)i << 20));
        WISP_TRY(make_unit(k, i));
        WISP_TRY(take_out(k, i));
        WISP_TRY(take_out(k, i));
        WISP_TRY(make_unit(k, i));
    }
out:
    return status;
}

/* The columns of k->list have no vectors yet. */
static wisp_status begin(wisp__krylov *k, int n)
{
    wisp_status status = WISP_OK;
    for (int i = size_of(k); i < low_block(k); i++) WISP_TRY(wisp__erase(k, k->v[i], n));
    for (int i = 0; i < n; i++) {
        const int j = k->list[i];
        own_of(k, j)->omega = 1;
        own_of(k, j)->off = false;
        for (int l = 0; l < size_of(k); l++)
            for (int m = 0; m < size_of(k); m++) row_of(k, j, l)[m] = l == m;
    }
out:
    return status;
}

static void take_f(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++)
        for (int i = 0; i < size_of(k); i++) own_of(k, j)->f[i] = wisp__number(k, DOT + i, j);
}

static wisp_status find_f(wisp__krylov *k)
{
    wisp_inner inner[WISP__MOST_SHADOW + 1];
    wisp_status status;
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__pass(k, NULL, 0, inner, dots_with(k, inner, size_of(k), k->r, false)));
    WISP_TRY(bring_dots(k));
    take_f(k);
out:
    return status;
}

static wisp_status start(wisp__krylov *k)
{
    wisp_status status;
    k->step_of_cycle = 0;
    WISP_TRY(choose_shadows(k));
    WISP_TRY(begin(k, wisp__list(k, NULL)));
    status = find_f(k);
out:
    return status;
}

static bool is_off(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return ((const column *)wisp__own(k, c))->off;
}

/* One that was left out goes on from where the cycle is. */
static wisp_status resume(wisp__krylov *k)
{
    const wisp_status status = begin(k, wisp__list(k, is_off));
    return status == WISP_OK ? find_f(k) : status;
}

/* ---- a step ----------------------------------------------------------------------------------------- */

static void breaks(wisp__krylov_column *c) { c->broken = WISP_ERR_BREAKDOWN; }

/* Columns of a product, whose squares are there, that M^-1 or A have made not finite. 0 times these is not 0, either: x
   would go with it. */
static int list_lost(wisp__krylov *k) { return wisp__list_lost(k, wisp__set(k, WISP_SET_YY)); }

/* Factors of v = r - G c, where M c = f from i on, and of u_i = U c + omega M^-1 v: so p_l^H v = 0 from l = i on. */
static void choose_direction(wisp__krylov *k, int i, int j)
{
    const int s = size_of(k);
    const bool going = wisp__going(&k->col[j]);
    const double complex omega = own_of(k, j)->omega, times = k->P ? 1 : omega;
    double complex c[WISP__MOST_SHADOW];
    for (int l = i; l < s; l++) {
        const double complex *m = row_of(k, j, l);
        c[l] = own_of(k, j)->f[l];
        for (int n = i; n < l; n++) c[l] -= m[n] * c[n];
        c[l] = c[l] / m[l];
        set(k, of_g(k, l), j, going ? -times * c[l] : 0);
        set(k, of_u(k, l), j, going ? c[l] : l == i ? 1 : 0);
    }
    set(k, of_r(k), j, going ? omega : 0);
}

/* v takes r times 1. */
static wisp_status new_direction(wisp__krylov *k, int i)
{
    wisp_status status = WISP_OK;
    wisp_term of_v[WISP__MOST_SHADOW + 1], term[2 * WISP__MOST_SHADOW + 1];
    int n = 0, m = 0;
    for (int j = 0; j < k->width; j++) choose_direction(k, i, j);
    WISP_TRY(send_factors(k));
    for (int l = i; l < size_of(k); l++) term[n++] = wisp__times(k, u_of(k, l), of_u(k, l));
    of_v[m++] = (wisp_term){.x = k->r};
    for (int l = i; l < size_of(k); l++) of_v[m++] = wisp__times(k, g_of(k, l), of_g(k, l));
    if (k->P) {
        WISP_TRY(wisp__pass(k, &(wisp_update){work(k), m, of_v}, 1, NULL, 0));
        WISP_TRY(wisp__precond_apply(k->P, image(k), work(k), (wisp_place){0}));
        term[n++] = wisp__times(k, image(k), of_r(k));
    } else {
        term[n++] = wisp__times(k, k->r, of_r(k));
        for (int l = 1; l < m; l++) term[n++] = of_v[l];
    }
    status = wisp__pass(k, &(wisp_update){u_of(k, i), n, term}, 1, NULL, 0);
out:
    return status;
}

/* Of dots with g_i = A u_i: factors by which it becomes orthogonal to the p before p_i, column i of M, and beta. */
static void choose_step(wisp__krylov *k, int i, int j)
{
    const int s = size_of(k);
    wisp__krylov_column *c = &k->col[j];
    column *o = own_of(k, j);
    const double yy = wisp__set(k, WISP_SET_YY)[j].re;
    double complex d[WISP__MOST_SHADOW], beta = 0;
    for (int l = 0; l < s; l++) d[l] = wisp__number(k, DOT + l, j);
    for (int l = 0; l < i; l++) {
        const double complex alpha = d[l] / row_of(k, j, l)[l];
        for (int m = l; m < s; m++) d[m] -= alpha * row_of(k, j, m)[l];
        d[l] = alpha;
    }
    /* below that g_i is rounding, or next to orthogonal to p_i */
    if (wisp__going(c) && !(cabs(d[i]) > 2 * k->eps * sqrt(yy) && isfinite(yy))) breaks(c);
    const bool going = wisp__going(c);
    if (going) beta = o->f[i] / d[i];
    for (int l = i; l < s && going; l++) {
        row_of(k, j, l)[i] = d[l];
        o->f[l] -= beta * d[l];
    }
    for (int l = 0; l < i; l++) set(k, of_g(k, l), j, going ? -d[l] : 0);
    set(k, of_r(k), j, -beta);
    set(k, of_x(k), j, beta);
}

/* |r|^2 before the step and, as the method has it, after it: whether x is to be kept. Where r is so long that rounding
   of it is more than the best r, nothing is to be gained. */
static void compare(const wisp__krylov *k, int j, double own)
{
    wisp__krylov_column *c = &k->col[j];
    column *o = own_of(k, j);
    const double rr = own * c->ratio;
    o->rises = wisp__going(c) && !(rr <= c->rr) && c->rr < 0.5 * fmin(wisp__low_of(k, c), c->best);
    o->was = c->rr;
    if (!wisp__going(c)) return;
    if (!(k->eps * k->eps * rr <= c->best)) breaks(c);
}

static bool rises(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return ((const column *)wisp__own(k, c))->rises;
}

static wisp_status keep_low(wisp__krylov *k)
{
    const int n = wisp__list(k, rises);
    for (int i = 0; i < n; i++) {
        column *o = own_of(k, k->list[i]);
        wisp__set_low(k, &k->col[k->list[i]], o->was);
        o->rises = false;
    }
    return n ? wisp__copy_some(k->v[low_block(k)], k->list, k->x, k->list, n) : WISP_OK;
}

/* g_i, u_i and r, whose norm is known before x goes on. */
static wisp_status update(wisp__krylov *k, int i)
{
    wisp_status status;
    wisp_term g[WISP__MOST_SHADOW] = {{.x = g_of(k, i)}}, u[WISP__MOST_SHADOW] = {{.x = u_of(k, i)}};
    for (int l = 0; l < i; l++) {
        g[l + 1] = wisp__times(k, g_of(k, l), of_g(k, l));
        u[l + 1] = wisp__times(k, u_of(k, l), of_g(k, l));
    }
    const wisp_term r[] = {{.x = k->r}, wisp__times(k, g_of(k, i), of_r(k))};
    const wisp_update all[] = {{g_of(k, i), i + 1, g}, {u_of(k, i), i + 1, u}, {k->r, 2, r}};
    const wisp_inner square = {.x = k->r, .y = k->r, .dot_at = wisp__at(k, rr_set(k))};
    WISP_TRY(send_factors(k));
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__pass(k, i ? all : all + 2, i ? 3 : 1, &square, 1));
    WISP_TRY(bring_dots(k));
    for (int j = 0; j < k->width; j++) {
        const double rr = wisp__set(k, rr_set(k))[j].re;
        const bool going = wisp__going(&k->col[j]);
        compare(k, j, rr);
        if (going) k->col[j].rr = rr * k->col[j].ratio;
    }
    WISP_TRY(keep_low(k));
    const wisp_term x[] = {{.x = k->x}, wisp__times(k, u_of(k, i), of_x(k))};
    status = wisp__pass(k, &(wisp_update){k->x, 2, x}, 1, NULL, 0);
out:
    return status;
}

static wisp_status step_in_cycle(wisp__krylov *k, int i)
{
    wisp_status status;
    wisp_inner inner[WISP__MOST_SHADOW + 1];
    WISP_TRY(new_direction(k, i));
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__multiply(k, g_of(k, i), u_of(k, i), WISP_DOT_YY, NULL));
    WISP_TRY(wisp__pass(k, NULL, 0, inner, dots_with(k, inner, size_of(k), g_of(k, i), false)));
    WISP_TRY(bring_dots(k));
    for (int j = 0; j < k->width; j++) choose_step(k, i, j);
    const int lost = list_lost(k);
    WISP_TRY(wisp__erase(k, u_of(k, i), lost));
    WISP_TRY(wisp__erase(k, g_of(k, i), lost));
    status = update(k, i);
out:
    return status;
}

/* ---- the last step of a cycle ------------------------------------------------------------------------ */

/* omega that makes r - omega t shortest; but no shorter than for an angle of r and t with the cosine 0.7 (Sleijpen and
   van der Vorst 1995, Numer. Algorithms 10, 203). Any but 0 goes on, where t is orthogonal to r. */
static void choose_omega(wisp__krylov *k, int j, double complex rt, double tt)
{
    const double least = 0.7;
    wisp__krylov_column *c = &k->col[j];
    const double rr = c->rr / c->ratio, size = cabs(rt), most = sqrt(tt * rr);
    double complex omega = 0;
    if (wisp__going(c) && tt > 0 && isfinite(tt) && isfinite(size))
        omega = size > least * most ? conj(rt) / tt : (size > 0 ? conj(rt) / size : 1) * least * sqrt(rr / tt);
    else if (wisp__going(c))
        breaks(c);
    compare(k, j, rr - 2 * creal(omega * rt) + creal(omega * conj(omega)) * tt);
    if (!wisp__going(c)) omega = 0;
    if (omega != 0) own_of(k, j)->omega = omega;
    set(k, of_r(k), j, -omega);
    set(k, of_x(k), j, omega);
}

static wisp_status shorten(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *t = work(k);
    const wisp_blk *z = k->P ? image(k) : k->r;
    wisp_inner inner[WISP__MOST_SHADOW + 1];
    const wisp_inner rt = {.x = k->r, .y = t, .dot_at = wisp__at(k, DOT)};
    if (k->P) WISP_TRY(wisp__precond_apply(k->P, image(k), k->r, (wisp_place){0}));
    WISP_TRY(wisp__clear(k));
    WISP_TRY(wisp__multiply(k, t, z, WISP_DOT_YY | (k->P ? 0 : WISP_DOT_XY), NULL));
    if (k->P) WISP_TRY(wisp__pass(k, NULL, 0, &rt, 1));
    WISP_TRY(bring_dots(k));
    for (int j = 0; j < k->width; j++)
        choose_omega(k, j, wisp__number(k, k->P ? DOT : WISP_SET_XY, j), wisp__set(k, WISP_SET_YY)[j].re);
    if (k->P) WISP_TRY(wisp__erase(k, image(k), list_lost(k)));
    WISP_TRY(keep_low(k));
    WISP_TRY(send_factors(k));
    WISP_TRY(wisp__clear(k));
    const wisp_term x[] = {{.x = k->x}, wisp__times(k, z, of_x(k))}, r[] = {{.x = k->r}, wisp__times(k, t, of_r(k))};
    const wisp_update both[] = {{k->x, 2, x}, {k->r, 2, r}};
    WISP_TRY(wisp__pass(k, both, 2, inner, dots_with(k, inner, size_of(k), k->r, true)));
    WISP_TRY(bring_dots(k));
    for (int j = 0; j < k->width; j++)
        if (wisp__going(&k->col[j])) k->col[j].rr = wisp__set(k, rr_set(k))[j].re * k->col[j].ratio;
    take_f(k);
out:
    return status;
}

static wisp_status step(wisp__krylov *k)
{
    const int i = k->step_of_cycle, s = size_of(k);
    for (int j = 0; j < k->width; j++) own_of(k, j)->off |= !wisp__going(&k->col[j]);
    k->step_of_cycle = i < s ? i + 1 : 0;
    return i < s ? step_in_cycle(k, i) : shorten(k);
}

/* Without rounding it ends after little more products than there are rows. Rounding may delay that a lot; but where
   nine times as many, and half of all, have gained nothing, it gains no more. */
static bool is_stuck(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const int64_t since = c->iterations - c->least_at, rows = wisp_map_rows(wisp_mat_map(k->A));
    return since > 9 * rows + 100 && since > c->iterations / 2;
}

/* The mean of a cycle. */
static double moves(const wisp__krylov *k)
{
    const double s = size_of(k);
    const double all = k->separate ? s * (8 * s + 10) + 10 : s * (3 * s + 13) + 2;
    const double fused = k->separate ? 0 : 1;
    return (all + (k->P ? 2 * s + 3 * fused : k->left ? (s + 2) * fused : 0)) / (s + 1);
}

const wisp__method wisp__idr = {.name = "idr",
                                .own = own,
                                .blocks = blocks,
                                .written = written,
                                .keeps = keeps,
                                .lay_out = lay_out,
                                .start = start,
                                .resume = resume,
                                .step = step,
                                .moves = moves,
                                .products = 1,
                                .far = wisp__far,
                                .allows = "the arithmetic allows no less",
                                .is_stuck = is_stuck,
                                .low = low_block,
                                .recall = wisp__recall_low,
                                .sides = true,
                                .shadows = true};
