/* Steps of scalars, one source for every device: from the dots of an iteration to the factors of the next one. Each
   column is done by itself. What the numbers are is in wisp/steps.h. */
#ifndef WISP_KERNEL_SCALARS_H
#define WISP_KERNEL_SCALARS_H
#ifndef GLOBAL
#include <math.h>
#include <wisp/steps.h>
#endif

/* What a device calls its memory; nothing on a CPU. */
#ifndef GLOBAL
#define GLOBAL
#endif

/* One column of the sets. */
typedef struct {
    GLOBAL double *at;     /* [sets][width] pairs */
    const double *uniform; /* [WISP_NUMBERS] */
    int width, column;
} k_column;

static inline GLOBAL double *k_pair(const k_column *c, int set)
{
    return c->at + 2 * ((long)set * c->width + c->column);
}
static inline double k_get(const k_column *c, int set) { return k_pair(c, set)[0]; }
static inline void k_set(const k_column *c, int set, double re)
{
    GLOBAL double *to = k_pair(c, set);
    to[0] = re;
    to[1] = 0;
}
static inline double k_uniform(const k_column *c, int number) { return c->uniform[number]; }

typedef struct {
    double re, im;
} k_complex;
static inline k_complex k_make(double re, double im)
{
    k_complex z;
    z.re = re;
    z.im = im;
    return z;
}
static inline k_complex k_get_complex(const k_column *c, int set)
{
    GLOBAL const double *from = k_pair(c, set);
    return k_make(from[0], from[1]);
}
static inline void k_set_complex(const k_column *c, int set, k_complex z)
{
    GLOBAL double *to = k_pair(c, set);
    to[0] = z.re;
    to[1] = z.im;
}
static inline k_complex k_times(k_complex a, k_complex b)
{
    return k_make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
static inline k_complex k_scaled(double s, k_complex a) { return k_make(s * a.re, s * a.im); }
/* Smith 1962: no square overflows, and of real numbers it is their quotient. */
static inline k_complex k_over(k_complex a, k_complex b)
{
    if (fabs(b.re) >= fabs(b.im)) {
        const double r = b.im == 0 ? 0 : b.im / b.re, d = b.re + b.im * r;
        return k_make((a.re + a.im * r) / d, (a.im - a.re * r) / d);
    }
    const double r = b.re / b.im, d = b.re * r + b.im;
    return k_make((a.re * r + a.im) / d, (a.im * r - a.re) / d);
}
static inline int k_is_finite(k_complex a) { return isfinite(a.re) && isfinite(a.im); }
/* A factor that is not finite is so in its real part alone: blocks of real numbers take no complex ones. */
static inline void k_set_factor(const k_column *c, int set, k_complex z)
{
    k_set_complex(c, set, k_is_finite(z) ? z : k_make(NAN, 0));
}

/* ---- states -------------------------------------------------------------------------------------- */

static inline int k_goes_on(const k_column *c)
{
    GLOBAL const double *state = k_pair(c, WISP_SET_STATE);
    return state[0] == 0 && state[1] == 0;
}
static inline void k_breaks(const k_column *c, int why) { k_pair(c, WISP_SET_STATE)[1] = why; }
/* Whether it waits for the host. */
static inline int k_waits(const k_column *c)
{
    const double why = k_pair(c, WISP_SET_STATE)[1];
    return why == WISP_STATE_ASKS || why == WISP_STATE_CAREFUL;
}

/* The step is over: a column ends if |r| is small. */
static inline void k_ends(const k_column *c)
{
    if (k_uniform(c, WISP_NUMBER_RECORD) < 0 || !k_goes_on(c)) return;
    if (k_get(c, WISP_SET_RR) <= k_get(c, WISP_SET_ENOUGH)) k_pair(c, WISP_SET_STATE)[0] = 1;
}
/* waited: it did so before the step, which has left it as it was. */
static inline void k_record(const k_column *c, int waited)
{
    const double record = k_uniform(c, WISP_NUMBER_RECORD);
    if (record < 0) return;
    GLOBAL double *to = k_pair(c, WISP_SET_RECORD + (int)record);
    to[0] = k_get(c, WISP_SET_RR);
    to[1] = waited ? WISP_STATE_WAITED : k_pair(c, WISP_SET_STATE)[1];
}

/* ---- CG ------------------------------------------------------------------------------------------ */

/* Vectors of a column that does not go on stay as they are. */
static inline void k_cg_factors(const k_column *c)
{
    const int on = k_goes_on(c);
    const double alpha = on ? k_get(c, WISP_CG_ALPHA) : 0;
    k_set(c, WISP_CG_F_ALPHA, alpha);
    k_set(c, WISP_CG_F_MINUS_ALPHA, -alpha);
    k_set(c, WISP_CG_F_BETA, on ? k_get(c, WISP_CG_BETA) : 1);
    k_set(c, WISP_CG_F_R, on ? 1 : 0);
}

/* <p, A p> must be positive. Within the rounding of |A| |p|^2 it is no more than 0, as where a singular system has no
   solution; well below that the matrix is indefinite. |p| is asked for where the step is so long that this may be. A
   residual that grows without end is a sign of such a system, too. */
static inline void k_cg_curvature(const k_column *c)
{
    const double mu = k_get(c, WISP_CG_MU), rr = k_get(c, WISP_SET_RR), pp = k_get(c, WISP_CG_PP);
    const double rounding = k_uniform(c, WISP_NUMBER_ROUNDING) * pp;
    if (rr * k_uniform(c, WISP_NUMBER_FAR) > k_get(c, WISP_SET_BEST)) k_breaks(c, WISP_STATE_BREAKDOWN);
    if (!k_goes_on(c) || rr == 0 || (mu > k_uniform(c, WISP_NUMBER_LEAST) * rr && isfinite(mu))) return;
    k_set(c, WISP_CG_PP, 0);
    if (pp == 0) {
        k_breaks(c, WISP_STATE_ASKS);
    } else if (!(mu > 10 * rounding && isfinite(mu))) {
        k_breaks(c, -mu > 1000 * rounding && isfinite(mu) ? WISP_STATE_INDEFINITE : WISP_STATE_BREAKDOWN);
    }
}

/* From <r, r>, <p, A p>, <A p, A p> and <r, A p> to the length of the step and the factor of the next direction. */
static inline void k_cg_lengths(const k_column *c)
{
    const double rr = k_get(c, WISP_SET_RR), alpha = rr / k_get(c, WISP_CG_MU);
    const double square = alpha * alpha * k_get(c, WISP_CG_GAMMA);
    const int predicts = k_uniform(c, WISP_NUMBER_PREDICT) != 0;
    const double next = predicts ? rr - 2 * alpha * k_get(c, WISP_CG_DELTA) + square : square - rr;
    if (!(rr > 0)) return;
    k_set(c, WISP_CG_ALPHA, alpha);
    k_set(c, WISP_CG_BETA, fmax(next, 0) / rr);
}

static inline void k_cg_step(const k_column *c, int again)
{
    const int waited = k_waits(c);
    if (k_goes_on(c) && !again) {
        const double mu = k_get(c, WISP_SET_XY), beta = k_get(c, WISP_CG_BETA);
        k_set(c, WISP_SET_RR, k_get(c, WISP_SET_DOT));
        k_set(c, WISP_CG_MU, mu);
        k_set(c, WISP_CG_GAMMA, k_get(c, WISP_SET_YY));
        k_set(c, WISP_CG_DELTA, beta != 0 ? mu - beta * k_get(c, WISP_SET_DOT + 1) : mu);
    }
    if (k_goes_on(c)) k_cg_curvature(c);
    if (k_goes_on(c)) k_cg_lengths(c);
    k_ends(c);
    k_cg_factors(c);
    k_record(c, waited);
}

static inline void k_cg_length(const k_column *c)
{
    if (k_goes_on(c)) {
        k_set(c, WISP_CG_MU, k_get(c, WISP_SET_XY));
        k_cg_curvature(c);
    }
    if (k_goes_on(c)) k_set(c, WISP_CG_ALPHA, k_get(c, WISP_CG_RZ) / k_get(c, WISP_CG_MU));
    k_cg_factors(c);
}

/* A column that ends here still goes along p: its r has done so. */
static inline void k_cg_turn(const k_column *c)
{
    const int waited = k_waits(c);
    if (k_goes_on(c)) {
        const double before = k_get(c, WISP_CG_RZ), rr = k_get(c, WISP_SET_DOT);
        const double rz = k_get(c, WISP_SET_DOT + (int)k_uniform(c, WISP_NUMBER_PRECOND));
        k_set(c, WISP_SET_RR, rr);
        k_set(c, WISP_CG_RZ, rz);
        k_set(c, WISP_CG_BETA, before > 0 ? rz / before : 0);
        if (rr > 0 && !(rz > 0)) k_breaks(c, isfinite(rz) ? WISP_STATE_INDEFINITE : WISP_STATE_BREAKDOWN);
    }
    k_cg_factors(c);
    k_ends(c);
    k_record(c, waited);
}

/* The next direction is p = M^-1 r + beta p' with <p, A p> = <M^-1 r, A M^-1 r> - beta <r, M^-1 r> / alpha'. Where that
   or a norm is not as it should be, or r grows without end, rounding may be the reason, and the classical recurrences
   find out. */
static inline void k_cg_hidden_direction(const k_column *c)
{
    const double rr = k_get(c, WISP_SET_RR), ru = k_get(c, WISP_CG_RU), old = k_get(c, WISP_CG_RZ_OLD);
    const double beta = old > 0 ? ru / old : 0;
    const double mu = k_get(c, WISP_CG_WU) - (old > 0 ? beta * ru / k_get(c, WISP_CG_ALPHA_OLD) : 0);
    const double alpha = ru / mu;
    k_set(c, WISP_CG_ALPHA, rr == 0 ? 0 : alpha);
    k_set(c, WISP_CG_BETA, rr == 0 ? 0 : beta);
    if (rr == 0) return;
    k_set(c, WISP_CG_MU, mu);
    k_set(c, WISP_CG_RZ, ru);
    if (!(mu > k_uniform(c, WISP_NUMBER_LEAST) * rr && ru > 0 && isfinite(mu) && isfinite(alpha) &&
          rr * k_uniform(c, WISP_NUMBER_FAR) <= k_get(c, WISP_SET_BEST)))
        k_breaks(c, WISP_STATE_CAREFUL);
}

static inline void k_cg_hidden(const k_column *c, int again)
{
    const int waited = k_waits(c);
    if (k_goes_on(c)) {
        if (!again) k_set(c, WISP_CG_RZ_OLD, k_get(c, WISP_CG_RZ));
        if (!again) k_set(c, WISP_CG_ALPHA_OLD, k_get(c, WISP_CG_ALPHA));
        k_set(c, WISP_SET_RR, k_get(c, WISP_SET_DOT));
        k_set(c, WISP_CG_RU, k_get(c, WISP_SET_DOT + 1));
        k_set(c, WISP_CG_WU, k_get(c, WISP_SET_DOT + 2));
        k_ends(c);
    }
    if (k_goes_on(c)) k_cg_hidden_direction(c);
    k_cg_factors(c);
    k_record(c, waited);
}

/* ---- BiCGStab ------------------------------------------------------------------------------------ */

/* As those of CG. */
static inline void k_bicgstab_factors(const k_column *c)
{
    const int on = k_goes_on(c);
    const k_complex none = {0, 0}, one = {1, 0}, alpha = on ? k_get_complex(c, WISP_BICGSTAB_ALPHA) : none;
    const k_complex omega = on ? k_get_complex(c, WISP_BICGSTAB_OMEGA) : none;
    const k_complex beta = on ? k_get_complex(c, WISP_BICGSTAB_BETA) : one;
    k_set_factor(c, WISP_BICGSTAB_F_ALPHA, alpha);
    k_set_factor(c, WISP_BICGSTAB_F_MINUS_ALPHA, k_scaled(-1, alpha));
    k_set_factor(c, WISP_BICGSTAB_F_OMEGA, omega);
    k_set_factor(c, WISP_BICGSTAB_F_MINUS_OMEGA, k_scaled(-1, omega));
    k_set_factor(c, WISP_BICGSTAB_F_BETA, beta);
    k_set_factor(c, WISP_BICGSTAB_F_MINUS_BETA_OMEGA, k_scaled(-1, k_times(beta, omega)));
    k_set_factor(c, WISP_BICGSTAB_F_R, on ? one : none);
}

/* Whether |z| is no more than rounding beside a b. */
static inline int k_is_nothing(const k_column *c, k_complex z, double a, double b)
{
    const double eps = k_uniform(c, WISP_NUMBER_EPS);
    return !(hypot(z.re, z.im) > eps * eps * sqrt(a) * sqrt(b));
}

/* Where r has grown far, x has no digit in common with the best one, as where there is no solution. */
static inline void k_bicgstab_alpha(const k_column *c)
{
    if (k_goes_on(c)) {
        const double rr = k_get(c, WISP_SET_DOT + 1);
        const k_complex rho = k_get_complex(c, WISP_SET_DOT), rv = k_get_complex(c, WISP_SET_UY);
        const k_complex alpha = k_over(rho, rv);
        k_set(c, WISP_SET_RR, rr);
        k_set_complex(c, WISP_BICGSTAB_RHO, rho);
        k_set_complex(c, WISP_BICGSTAB_RV, rv);
        k_set_complex(c, WISP_BICGSTAB_ALPHA, alpha);
        if (rr * k_uniform(c, WISP_NUMBER_FAR) > k_get(c, WISP_SET_BEST) || k_is_nothing(c, rho, rr, rr) ||
            (rv.re == 0 && rv.im == 0) || !k_is_finite(alpha))
            k_breaks(c, WISP_STATE_BREAKDOWN);
    }
    k_bicgstab_factors(c);
}

/* x is kept before a step changes it after which the residual is larger, if that is clearly less than that of any x
   that is kept: half, in squares, so that few are. */
static inline void k_bicgstab_low(const k_column *c)
{
    const double was = k_get(c, WISP_BICGSTAB_WAS);
    const double least = fmin(k_get(c, WISP_BICGSTAB_LOW), k_get(c, WISP_SET_BEST));
    const int takes = k_goes_on(c) && k_get(c, WISP_SET_RR) > was && was < 0.5 * least;
    if (takes) k_set(c, WISP_BICGSTAB_LOW, was);
    k_set(c, WISP_BICGSTAB_F_TAKE, takes ? 1 : 0);
    k_set(c, WISP_BICGSTAB_F_KEEP, takes ? 0 : 1);
}

/* omega makes |s - omega t| least; beta by the orthogonality of r* and s (Rupp et al. 2016, section 3.2). */
static inline void k_bicgstab_omega(const k_column *c)
{
    if (k_goes_on(c)) {
        const int precond = k_uniform(c, WISP_NUMBER_PRECOND) != 0;
        const double ss = k_get(c, WISP_SET_DOT), tt = k_get(c, WISP_SET_YY);
        const k_complex st = k_get_complex(c, precond ? WISP_SET_DOT + 1 : WISP_SET_XY);
        const k_complex rt = k_get_complex(c, precond ? WISP_SET_DOT + 2 : WISP_SET_UY), none = {0, 0};
        const double gain = tt > 0 ? (st.re * st.re + st.im * st.im) / tt : 0, rr = fmax(ss - gain, 0);
        k_set_complex(c, WISP_BICGSTAB_OMEGA, tt > 0 ? k_make(st.re / tt, -st.im / tt) : none);
        k_set_complex(c, WISP_BICGSTAB_BETA, k_over(k_scaled(-1, rt), k_get_complex(c, WISP_BICGSTAB_RV)));
        k_set(c, WISP_BICGSTAB_WAS, k_get(c, WISP_SET_RR));
        k_set(c, WISP_SET_RR, rr);
        if (!isfinite(ss) || !isfinite(tt)) k_breaks(c, WISP_STATE_BREAKDOWN);
        if (rr > k_get(c, WISP_SET_ENOUGH) && k_is_nothing(c, st, ss, tt)) k_breaks(c, WISP_STATE_BREAKDOWN);
    }
    k_bicgstab_low(c);
    k_bicgstab_factors(c);
    k_ends(c);
    k_record(c, 0);
}

static inline void k_bicgstab_beta(const k_column *c)
{
    const k_complex rho = k_get_complex(c, WISP_BICGSTAB_RHO), omega = k_get_complex(c, WISP_BICGSTAB_OMEGA);
    if (k_goes_on(c) && (rho.re != 0 || rho.im != 0) && (omega.re != 0 || omega.im != 0)) {
        const k_complex by = k_over(k_get_complex(c, WISP_BICGSTAB_ALPHA), omega);
        k_set_complex(c, WISP_BICGSTAB_BETA, k_times(k_over(k_get_complex(c, WISP_SET_DOT), rho), by));
    }
    k_bicgstab_factors(c);
    k_ends(c);
    k_record(c, 0);
}

/* ---- MINRES -------------------------------------------------------------------------------------- */

/* The rotation of step k - 1, whose last entry is beta_k. |A r| is |r| times the length of (gbar, dbar). Where that
   becomes rounding, no x has a smaller residual, and the next direction would be one along which A vanishes. In rounded
   arithmetic the recurrence may lose its way before, so it starts anew sooner. */
static inline void k_minres_rotate(const k_column *c)
{
    const double cs = k_get(c, WISP_MINRES_CS), sn = k_get(c, WISP_MINRES_SN), mu = k_get(c, WISP_MINRES_MU);
    const double b = k_get(c, WISP_MINRES_B), b_old = k_get(c, WISP_MINRES_B_OLD), phi = k_get(c, WISP_MINRES_PHI);
    const double dbar = k_get(c, WISP_MINRES_DBAR), old_epsilon = k_get(c, WISP_MINRES_EPSILON);
    const double delta = cs * dbar + sn * mu, gbar = sn * dbar - cs * mu, next_dbar = -cs * b;
    const double gamma = hypot(gbar, b), root = hypot(gbar, next_dbar), eps = k_uniform(c, WISP_NUMBER_EPS);
    double first = k_get(c, WISP_MINRES_ROOT);
    const double of_a = first > 0 ? b_old : 0; /* the first one is |r| */
    const double norm = fmax(k_get(c, WISP_MINRES_NORM), fabs(mu) + b + of_a);
    if (first == 0) first = root;
    k_set(c, WISP_MINRES_EPSILON, sn * b);
    k_set(c, WISP_MINRES_DBAR, next_dbar);
    k_set(c, WISP_MINRES_NORM, norm);
    k_set(c, WISP_MINRES_ROOT, first);
    if (!(root > 1000 * eps * norm && root > pow(eps, 0.4) * first)) {
        k_breaks(c, WISP_STATE_BREAKDOWN);
        return;
    }
    const double next_cs = gbar / gamma, next_sn = b / gamma, next_phi = phi * next_sn;
    k_set(c, WISP_MINRES_CS, next_cs);
    k_set(c, WISP_MINRES_SN, next_sn);
    k_set(c, WISP_MINRES_PHI, next_phi);
    k_set(c, WISP_MINRES_F_V, 1 / (gamma * b_old)); /* of z_k-1 */
    k_set(c, WISP_MINRES_F_W, -delta / gamma);
    k_set(c, WISP_MINRES_F_WOLD, -old_epsilon / gamma);
    k_set(c, WISP_MINRES_F_PHI, next_cs * phi);
    k_set(c, WISP_SET_RR, next_phi * next_phi * k_get(c, WISP_MINRES_SCALE));
}

/* <u_k, z_k> and <z_k, A z_k> are there: they end step k - 1 and begin step k. */
static inline void k_minres_lanczos(const k_column *c, int is_first)
{
    const double unit = k_uniform(c, WISP_NUMBER_UNIT);
    const int precond = (int)k_uniform(c, WISP_NUMBER_PRECOND);
    const double bb = unit * k_get(c, WISP_SET_DOT + precond), za = unit * k_get(c, WISP_SET_XY);
    if (!isfinite(bb) || !isfinite(za) || bb < 0) {
        k_breaks(c, bb < 0 && isfinite(bb) ? WISP_STATE_INDEFINITE : WISP_STATE_BREAKDOWN);
        return;
    }
    const double b = sqrt(bb);
    k_set(c, WISP_MINRES_B_OLD, k_get(c, WISP_MINRES_B));
    k_set(c, WISP_MINRES_B, b);
    if (is_first) {
        k_set(c, WISP_MINRES_PHI, b);
        k_set(c, WISP_MINRES_SCALE, b > 0 ? k_get(c, WISP_SET_RR) / bb : 1);
    } else {
        k_minres_rotate(c);
    }
    k_set(c, WISP_MINRES_MU, b > 0 ? za / bb : 0);
    if (b == 0 && k_get(c, WISP_SET_RR) > k_get(c, WISP_SET_ENOUGH)) k_breaks(c, WISP_STATE_BREAKDOWN);
}

/* Vectors stay as long as r was in the beginning, and not about 1: so their dots have its unit. */
static inline void k_minres_step(const k_column *c, int is_first)
{
    const int ended = k_pair(c, WISP_SET_STATE)[0] != 0;
    for (int f = WISP_MINRES_F_V; f <= WISP_MINRES_F_PHI; f++) k_set(c, f, 0);
    if (k_goes_on(c)) k_minres_lanczos(c, is_first);
    const double b = k_get(c, WISP_MINRES_B), old = k_get(c, WISP_MINRES_B_OLD), by = b > 0 && !ended ? 1 / b : 0;
    k_set(c, WISP_MINRES_F_Q, by);
    k_set(c, WISP_MINRES_F_U, -k_get(c, WISP_MINRES_MU) * by);
    k_set(c, WISP_MINRES_F_OLD, old > 0 && !ended ? -b / old : 0);
    k_ends(c);
    k_record(c, 0);
}

/* ---- all of them --------------------------------------------------------------------------------- */

static inline void k_scalars(const k_column *c, int step)
{
    switch (step) {
    case WISP_STEP_CG: k_cg_step(c, 0); break;
    case WISP_STEP_CG_AGAIN: k_cg_step(c, 1); break;
    case WISP_STEP_CG_LENGTH: k_cg_length(c); break;
    case WISP_STEP_CG_TURN: k_cg_turn(c); break;
    case WISP_STEP_CG_HIDDEN: k_cg_hidden(c, 0); break;
    case WISP_STEP_CG_HIDDEN_AGAIN: k_cg_hidden(c, 1); break;
    case WISP_STEP_BICGSTAB_ALPHA: k_bicgstab_alpha(c); break;
    case WISP_STEP_BICGSTAB_OMEGA: k_bicgstab_omega(c); break;
    case WISP_STEP_BICGSTAB_BETA: k_bicgstab_beta(c); break;
    case WISP_STEP_MINRES_FIRST: k_minres_step(c, 1); break;
    case WISP_STEP_MINRES: k_minres_step(c, 0); break;
    default: break;
    }
}
#endif
