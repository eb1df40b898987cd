/* Whether values are missing beside those that were found, by products alone. Random columns r go through a Chebyshev
   polynomial p of P A P, P = I - Q Q^H, where Q are n orthonormal columns. If A has more than n values beyond the edge,
   P A P has at least one there, however good or bad Q is (Courant and Fischer; where A is not Hermitian, Q has to span
   what it found, and P A P has the other values). Let u be its left vector of length 1:
   then |p(P A P) r| >= |p(edge)| |u^H r|. u^H r is a standard normal number, below x in size with a chance of 0.8 x at
   most, and in all of w columns with one of (0.8 x)^w. So columns that stay below x |p(edge)| tell that nothing is
   there. That asks nothing of A, but that |p| is no smaller beyond the edge than on it: of a matrix that is not normal
   the columns only take longer to become small. Rounding errors move u a little, no more. */
#include "arnoldi.h"

static double small(const wisp__arnoldi *a) { return pow(wisp__overlooked, 1.0 / a->block) / 0.8; }

static double halfwidth(const wisp__gap *g) { return fabs(g->damped - g->far) / 2; }

/* acosh of a value from beyond what is damped, on the polynomial's scale: p grows like cosh of steps times this. */
static double angle(const wisp__gap *g, double value)
{
    return acosh(1 + g->side * (value - g->damped) / halfwidth(g));
}

double wisp__gap_steps(const wisp__arnoldi *a, const wisp__gap *g)
{
    const double beyond = g->side * (g->edge - g->damped);
    if (!(beyond > 0 && g->side * (g->damped - g->far) > 0)) return INFINITY;
    return ceil(acosh(fmax(sqrt((double)a->k->rows) / small(a), 1)) / angle(g, g->edge));
}

/* How many steps go by before Q is taken out again: its columns, which nothing damps, grow from rounding errors, and
   come back by their residuals. */
static int between(const wisp__arnoldi *a, const wisp__gap *g)
{
    const double grows = fmin(1e8, 0.01 / fmax(a->k->eps, g->residual * g->residual));
    const double steps = acosh(fmax(grows, 10)) / angle(g, g->first);
    return (int)fmin(fmax(steps, 1), WISP__MOST_DEGREE);
}

/* x := P x */
static wisp_status project(wisp__arnoldi *a, const wisp_blk *Q, wisp_blk *x)
{
    wisp_status status = WISP_OK;
    if (!Q) return WISP_OK;
    const int n = wisp_blk_width(Q), b = a->block;
    const wisp_place X = {a->slot, 0};
    WISP_TRY(wisp_tsm_gram_at(X, b, Q, x, 0));
    WISP_TRY(wisp_tsm_update_at(x, wisp__real(-1), Q, X, b, wisp__real(1), 0));
    a->k->e->flops += (a->k->is_complex ? 16.0 : 4.0) * (double)a->k->rows * b * n;
out:
    return status;
}

/* So many steps of the recurrence from y and x, of which x is the later one, as it is afterwards. */
static wisp_status advance(wisp__arnoldi *a, const wisp__gap *g, bool first, int steps)
{
    wisp_status status = WISP_OK;
    const double by = g->side / halfwidth(g), center = g->damped - g->side * halfwidth(g);
    wisp_scalar alpha[WISP__MOST_DEGREE], beta[WISP__MOST_DEGREE], gamma[WISP__MOST_DEGREE];
    for (int j = 0; j < steps; j++) {
        alpha[j] = wisp__real(first && j == 0 ? by : 2 * by);
        beta[j] = wisp__real(first && j == 0 ? 0 : -1);
        gamma[j] = wisp__real(center);
    }
    const wisp_mpk_opts o = {.steps = steps, .alpha = alpha, .beta = beta, .gamma = gamma};
    wisp_blk *v[2] = {a->y, a->x};
    WISP_TRY(wisp_mpk(v, 2, a->k->A, &o));
    a->x = v[(steps + 1) % 2];
    a->y = v[steps % 2];
    a->k->e->products += (int64_t)a->block * steps;
    a->k->e->flops += a->k->flops * a->block * steps;
out:
    return status;
}

/* Random columns, of a normal distribution in the space without Q's. */
static wisp_status begin(wisp__arnoldi *a, const wisp_blk *Q)
{
    wisp_status status = WISP_OK;
    const wisp__eig *k = a->k;
    WISP_TRY(wisp_blk_fill_random(a->x, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, a->random));
    a->random += (uint32_t)a->block;
    a->at.norm = sqrt((double)k->rows);
    status = project(a, Q, a->x);
out:
    return status;
}

wisp_status wisp__gap_empty(wisp__arnoldi *a, bool *empty)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = a->k;
    wisp__arnoldi_at *at = &a->at;
    const wisp__gap *g = &at->gap;
    wisp_blk *Q = NULL;
    const double planned = wisp__gap_steps(a, g), rate = angle(g, g->edge);
    *empty = false;
    if (g->columns > 0) WISP_TRY(wisp_blk_cols(&Q, a->all, 0, g->columns));
    if (at->done == 0) WISP_TRY(begin(a, Q)); /* else it goes on */
    while (!*empty && at->done < 2 * planned) {
        const double left = at->done < planned ? planned - at->done : ceil(planned / 8);
        const int steps = (int)fmin(between(a, g), left);
        double norm[WISP__MOST_BLOCK];
        if (at->done > 0) WISP_TRY(wisp__eig_offer(k));
        WISP_TRY(advance(a, g, at->done == 0, steps));
        WISP_TRY(project(a, Q, a->x));
        WISP_TRY(project(a, Q, a->y));
        WISP_TRY(wisp_norm(a->x, norm));
        WISP_TRY(wisp_ctx_step(k->ctx, "eigenpairs", fmin(at->done / planned, 1), 0));
        at->done += steps;
        double most = 0;
        for (int j = 0; j < a->block; j++) most = fmax(most, isnan(norm[j]) ? INFINITY : norm[j]);
        *empty = most < small(a) * cosh(at->done * rate);
        /* Something grows about as fast as what is looked for. */
        if (!*empty && most > 10 * sqrt((double)k->rows) && log(most / at->norm) > 0.8 * rate * steps) break;
        at->norm = most;
    }
out:
    at->done = 0;
    wisp_blk_free(Q);
    return status;
}
