/* BiCGStab, with M^-1 on the right. Pipelined: algorithm 4 of Rupp et al. 2016, four passes and two reductions, with a
   preconditioner five; classical: algorithm 3. What is s = r - alpha v there is in the place of r. */
#include "krylov.h"
#include <math.h>

enum { P, V, T, SHADOW, LOW, MP, MS }; /* p, A M^-1 p, A M^-1 s, r*, an earlier x, M^-1 p, M^-1 s */
enum { ALPHA, MINUS_ALPHA, OMEGA, MINUS_OMEGA, BETA, MINUS_BETA_OMEGA };
/* RHO and RR are summed over the ranks with the dots of the next product. */
enum { RHO = WISP__FREE, RR, SS = WISP__FREE, ST, RT };

static int blocks(const wisp__krylov *k) { return k->P ? 7 : 5; }

static void set_factors(const wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        const bool going = wisp__going(c);
        const double complex alpha = going ? c->alpha : 0, omega = going ? c->omega : 0, beta = going ? c->beta : 0;
        wisp__factors(k, ALPHA)[j] = wisp__scalar(alpha);
        wisp__factors(k, MINUS_ALPHA)[j] = wisp__scalar(-alpha);
        wisp__factors(k, OMEGA)[j] = wisp__scalar(omega);
        wisp__factors(k, MINUS_OMEGA)[j] = wisp__scalar(-omega);
        wisp__factors(k, BETA)[j] = wisp__scalar(beta);
        wisp__factors(k, MINUS_BETA_OMEGA)[j] = wisp__scalar(-beta * omega);
    }
}

/* <r*, r> and |r|^2. */
static wisp_status look(wisp__krylov *k, const wisp_update *update, int updates)
{
    const wisp_inner inner[] = {{.x = k->v[SHADOW], .y = k->r, .dot = wisp__dots(k, RHO)},
                                {.x = k->r, .y = k->r, .dot = wisp__dots(k, RR)}};
    return wisp__pass(k, update, updates, inner, 2);
}

static wisp_status start(wisp__krylov *k)
{
    const wisp_update update[] = {{k->v[P], 1, (wisp_term[]){{.x = k->r}}},
                                  {k->v[SHADOW], 1, (wisp_term[]){{.x = k->r}}}};
    wisp__clear(k);
    return look(k, update, 2);
}

static wisp_status resume(wisp__krylov *k)
{
    wisp__clear(k);
    return look(k, NULL, 0);
}

/* Whether |z| is no more than rounding beside a b. */
static bool nothing(const wisp__krylov *k, double complex z, double a, double b)
{
    return !(cabs(z) > k->eps * k->eps * sqrt(a) * sqrt(b));
}

/* v = A M^-1 p, alpha, and s = r - alpha v. */
static wisp_status first_half(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const wisp_blk *p = k->v[P];
    if (k->P) {
        WISP_TRY(wisp__precond_apply(k->P, k->v[MP], p, NULL));
        p = k->v[MP];
    }
    WISP_TRY(wisp__multiply(k, k->v[V], p, WISP_DOT_UY, k->v[SHADOW]));
    WISP_TRY(wisp__sum_dots(k, RR + 1));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (!wisp__going(c)) continue;
        c->rr = creal(wisp__dot_of(k, RR, j));
        c->rho = wisp__dot_of(k, RHO, j);
        c->rv = wisp__dot_of(k, WISP__UY, j);
        c->alpha = c->rho / c->rv;
        /* x has gone so far away that it has no digit in common with the best one, as where there is no solution. */
        const bool diverged = k->hermitian && c->rr * k->eps * k->eps > c->best;
        if (diverged || nothing(k, c->rho, c->rr, c->rr) || c->rv == 0 || !isfinite(cabs(c->alpha)))
            c->broken = WISP_ERR_BREAKDOWN;
    }
    set_factors(k);
    wisp__clear(k);
    const wisp_update update = {k->r, 2,
                                (wisp_term[]){{.x = k->r}, {.x = k->v[V], .factor = wisp__factors(k, MINUS_ALPHA)}}};
    WISP_TRY(wisp__pass(k, &update, 1, &(wisp_inner){.x = k->r, .y = k->r, .dot = wisp__dots(k, SS)}, 1));
out:
    return status;
}

/* t = A M^-1 s and the dots with it; <s, t> is one with x of the product unless M^-1 s is that. */
static wisp_status second_product(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *t = k->v[T];
    if (!k->P) {
        WISP_TRY(wisp__multiply(k, t, k->r, WISP_DOT_XY | WISP_DOT_YY | WISP_DOT_UY, k->v[SHADOW]));
    } else {
        const wisp_inner inner[] = {{.x = k->r, .y = t, .dot = wisp__dots(k, ST)},
                                    {.x = k->v[SHADOW], .y = t, .dot = wisp__dots(k, RT)}};
        WISP_TRY(wisp__precond_apply(k->P, k->v[MS], k->r, NULL));
        WISP_TRY(wisp__multiply(k, t, k->v[MS], WISP_DOT_YY, NULL));
        WISP_TRY(wisp__pass(k, NULL, 0, inner, 2));
    }
    WISP_TRY(wisp__sum_dots(k, RT + 1));
out:
    return status;
}

/* omega makes |s - omega t| least; beta by the orthogonality of r* and s (Rupp et al. 2016, section 3.2). */
static void scalars(const wisp__krylov *k, wisp__krylov_column *c, int j)
{
    const double ss = creal(wisp__dot_of(k, SS, j)), tt = creal(wisp__dot_of(k, WISP__YY, j));
    const double complex st = wisp__dot_of(k, k->P ? ST : WISP__XY, j), rt = wisp__dot_of(k, k->P ? RT : WISP__UY, j);
    c->omega = tt > 0 ? conj(st) / tt : 0;
    c->beta = -rt / c->rv;
    c->rr = fmax(ss - (tt > 0 ? creal(st * conj(st)) / tt : 0), 0);
    if (!isfinite(ss) || !isfinite(tt)) c->broken = WISP_ERR_BREAKDOWN;
    if (c->rr > c->target && nothing(k, st, ss, tt)) c->broken = WISP_ERR_BREAKDOWN;
}

/* p = r + beta (p - omega v) */
static wisp_update turned(const wisp__krylov *k, wisp_term term[3])
{
    term[0] = (wisp_term){.x = k->r};
    term[1] = (wisp_term){.x = k->v[P], .factor = wisp__factors(k, BETA)};
    term[2] = (wisp_term){.x = k->v[V], .factor = wisp__factors(k, MINUS_BETA_OMEGA)};
    return (wisp_update){k->v[P], 3, term};
}

/* x and r go on along s; p turns, classically after <r*, r> is known. */
static wisp_status second_half(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_term x[] = {{.x = k->x},
                     {.x = k->P ? k->v[MP] : k->v[P], .factor = wisp__factors(k, ALPHA)},
                     {.x = k->P ? k->v[MS] : k->r, .factor = wisp__factors(k, OMEGA)}};
    wisp_term r[] = {{.x = k->r}, {.x = k->v[T], .factor = wisp__factors(k, MINUS_OMEGA)}}, p[3];
    const wisp_update update[] = {{k->x, 3, x}, {k->r, 2, r}, turned(k, p)};
    WISP_TRY(second_product(k));
    for (int j = 0; j < k->width; j++) {
        k->col[j].was = k->col[j].rr;
        if (wisp__going(&k->col[j])) scalars(k, &k->col[j], j);
    }
    WISP_TRY(wisp__keep_low(k));
    set_factors(k);
    wisp__clear(k);
    WISP_TRY(look(k, update, k->separate ? 2 : 3));
    if (!k->separate) goto out;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (wisp__going(c) && c->rho != 0 && c->omega != 0)
            c->beta = wisp__dot_of(k, RHO, j) / c->rho * (c->alpha / c->omega);
    }
    set_factors(k);
    WISP_TRY(wisp__pass(k, &update[2], 1, NULL, 0));
out:
    return status;
}

static wisp_status step(wisp__krylov *k)
{
    const wisp_status status = first_half(k);
    return status == WISP_OK ? second_half(k) : status;
}

static bool keeps(const wisp__krylov *k, int i) { return i == P || i == SHADOW || (i == LOW && wisp__has_low(k)); }

const wisp__method wisp__bicgstab = {"bicgstab", blocks, start, resume, step, NULL, keeps, LOW, false, false};
