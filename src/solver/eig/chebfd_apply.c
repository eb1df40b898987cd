/* The filter's products: some columns at a time go to blocks of their own, which are as wide as products are fast.

   They may be of single precision, while the space is of double precision. Then p(A) x is not found from x, whose
   rounding the filter would blow up, but for a Ritz pair (theta, x) with the residual r = A x - theta x as
       p(A) x = p(theta) x + q(A) r,    q(t) = (p(t) - p(theta)) / (t - theta),
   so that rounding errors are relative to r, and fall with it (filtering residuals: arXiv 2503.22652). The difference
   of the recurrences of p(A) x and p(theta) x is one recurrence more, to which each step adds a multiple of r. */
#include "chebfd.h"

/* ---- blocks, and the matrix ---------------------------------------------------------------------------- */

wisp_type wisp__chebfd_type(const wisp__chebfd *c)
{
    return c->is_single ? wisp__type_in(WISP_S, c->k->type) : c->k->type;
}

static const wisp_mat *matrix(const wisp__chebfd *c) { return c->is_single && c->copy ? c->copy : c->k->A; }

wisp_status wisp__chebfd_copy(wisp__chebfd *c)
{
    const wisp_mat *A = c->k->A;
    wisp_mat_info info;
    wisp_src source = {0};
    wisp_mat_get_info(A, &info);
    if (!c->is_single) {
        wisp_mat_free(c->copy);
        c->copy = NULL;
    }
    if (!c->is_single || c->copy || wisp__is_single(info.type)) return WISP_OK;
    const wisp_mat_opts o = {.type = wisp__type_in(WISP_S, info.type),
                             .width = (int)(128 / wisp_type_size(wisp__type_in(WISP_S, c->k->type))),
                             .map = wisp_mat_map(A),
                             .halo = info.halo};
    wisp_status status = wisp_src_open_mat(&source, A);
    if (status == WISP_OK) status = wisp_mat_create(&c->copy, c->k->ctx, &source, &o);
    wisp_src_close(&source);
    return status;
}

void wisp__chebfd_width(wisp__chebfd *c, int columns)
{
    enum { WIDEST = 32 };
    const int width = c->row_bytes / (int)wisp_type_size(wisp__chebfd_type(c)),
              most = columns < WIDEST ? columns : WIDEST;
    c->width = width < most ? width : most;
}

wisp_status wisp__chebfd_blocks(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    wisp_map *map = wisp_mat_map(k->A);
    wisp_status status = WISP_OK;
    wisp__chebfd_free_blocks(c);
    for (int i = 0; i < WISP__FILTER_BLOCKS; i++)
        WISP_TRY(wisp_blk_create(&c->v[i], k->ctx, map, wisp__chebfd_type(c), c->width));
    for (int i = 0; i < 2 && c->is_single; i++) WISP_TRY(wisp_blk_create(&c->exact[i], k->ctx, map, k->type, c->width));
    k->e->block = c->width;
out:
    return status;
}

void wisp__chebfd_free_blocks(wisp__chebfd *c)
{
    for (int i = 0; i < WISP__FILTER_BLOCKS; i++) {
        wisp_blk_free(c->v[i]);
        c->v[i] = NULL;
    }
    for (int i = 0; i < 2; i++) {
        wisp_blk_free(c->exact[i]);
        c->exact[i] = NULL;
    }
}

/* ---- recurrences ---------------------------------------------------------------------------------------- */

/* Progress of so many products with each of n columns. */
static wisp_status count(wisp__chebfd *c, int n, int products)
{
    wisp__eig *k = c->k;
    k->e->products += (int64_t)n * products;
    k->e->flops += k->flops * n * products;
    c->done += (double)n * products;
    const double all = c->plan.products * c->search;
    return wisp_ctx_step(k->ctx, "filtering", fmin(c->done / all, 0.99), k->e->flops);
}

static void turn(wisp_blk **v)
{
    wisp_blk *last = v[0];
    v[0] = v[1];
    v[1] = last;
}

/* How much of u a step adds: twice x, or x once, beta and its coefficient are those of the step; add[n]. */
static void shares(wisp__batch *b, double twice, double beta, double coefficient, wisp_scalar *add)
{
    for (int l = 0; l < b->n; l++) {
        add[l] = wisp__real(b->refines ? twice * b->last[l] : coefficient);
        if (!b->refines) continue;
        const double next = coefficient + twice * b->x[l] * b->last[l] + beta * b->before[l];
        b->before[l] = b->last[l];
        b->last[l] = next;
    }
}

/* A polynomial of A: of T_d alone by its recurrence; of a series by Clenshaw's, which needs no sum beside it. */
static wisp_status by_steps(wisp__chebfd *c, wisp__batch *b, int degree)
{
    const wisp_filter *f = &c->plan.f;
    wisp_status status = WISP_OK;
    wisp_scalar *const alpha = b->factor, *const beta = alpha + b->steps, *const gamma = beta + b->steps;
    const bool adds = f->c || b->refines;
    for (int steps; b->step < degree; b->step += steps) {
        if (b->step > 0) WISP_TRY(wisp__eig_offer(c->k));
        steps = degree - b->step < b->steps ? degree - b->step : b->steps;
        for (int i = 0; i < steps; i++) {
            const int j = b->step + i;
            const bool once = f->c ? j == degree - 1 : j == 0;
            const double twice = once ? 1 : 2, minus = j == 0 ? 0 : -1;
            alpha[i] = wisp__real(twice * f->scale);
            beta[i] = wisp__real(minus);
            gamma[i] = wisp__real(f->center - f->shift / f->scale);
            shares(b, twice, minus, f->c ? f->c[degree - 1 - j] : 0, b->add + i * b->n);
        }
        const wisp_mpk_opts o = {.steps = steps,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .gamma = gamma,
                                 .u = adds ? b->v[3] : NULL,
                                 .add = adds ? b->add : NULL};
        WISP_TRY(wisp_mpk(b->v, 2, matrix(c), &o));
        WISP_TRY(wisp_ctx_finish(c->k->ctx)); /* progress is of what is done */
        if (steps % 2) turn(b->v);
        WISP_TRY(count(c, b->n, steps));
    }
out:
    return status;
}

/* T_d of S = scale (A - center)^2 + shift. As shift is negative, S = scale (A - center - root) (A - center + root): two
   products a degree, which move five blocks, while adding shift v would take a sixth. */
static wisp_status by_squares(wisp__chebfd *c, wisp__batch *b, int degree)
{
    const wisp_filter *f = &c->plan.f;
    const double root = sqrt(-f->shift / f->scale);
    wisp_status status = WISP_OK;
    wisp_scalar *shift = NULL;
    const int n = b->n;
    WISP_TRY(wisp_alloc(c->k->ctx, &shift, 2 * (size_t)n, sizeof *shift));
    for (int l = 0; l < n; l++) {
        shift[l] = wisp__real(f->center + root);
        shift[n + l] = wisp__real(f->center - root);
    }
    for (; b->step < degree; b->step++) {
        const int j = b->step + 1;
        const double twice = j == 1 ? 1 : 2, minus = j == 1 ? 0 : -1;
        if (j > 1) WISP_TRY(wisp__eig_offer(c->k));
        const wisp_scalar alpha = wisp__real(sqrt(twice * f->scale));
        const wisp_aug one = {.terms = WISP_SCALE | WISP_SHIFT, .alpha = alpha, .shift = shift};
        const wisp_aug two = {.terms =
                                  WISP_SCALE | WISP_SHIFT | (j == 1 ? 0 : WISP_AXPBY) | (b->refines ? WISP_ADD : 0),
                              .alpha = alpha,
                              .beta = wisp__real(minus),
                              .shift = shift + n,
                              .u = b->v[3],
                              .add = b->add};
        shares(b, twice, minus, 0, b->add);
        WISP_TRY(wisp_spmmv(b->v[2], matrix(c), b->v[1], &one));
        WISP_TRY(wisp_spmmv(b->v[0], matrix(c), b->v[2], &two));
        /* As often as with calls of wisp_mpk. */
        if (2 * j % b->steps < 2 || j == degree) WISP_TRY(wisp_ctx_finish(c->k->ctx));
        turn(b->v);
        WISP_TRY(count(c, n, 2));
    }
out:
    wisp_free(c->k->ctx, shift);
    return status;
}

/* ---- some columns --------------------------------------------------------------------------------------- */

/* u becomes scale (A - center)^power + shift, less its value at theta, times the columns: scale (A - theta) x, or
   scale (A + theta - 2 center) (A - theta) x. exact[0] holds the columns. */
static wisp_status residuals(wisp__chebfd *c, wisp__batch *b, int terms, const double *theta)
{
    wisp__eig *k = c->k;
    const wisp_filter *f = &c->plan.f;
    wisp_status status = WISP_OK;
    wisp_scalar *shift = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &shift, (size_t)b->n, sizeof *shift));
    for (int i = 0; i < f->power; i++) {
        for (int l = 0; l < b->n; l++) shift[l] = wisp__real(i == 0 ? theta[l] : 2 * f->center - theta[l]);
        const wisp_aug aug = {.terms = WISP_SCALE | WISP_SHIFT,
                              .alpha = wisp__real(f->power == 1 ? f->scale : sqrt(f->scale)),
                              .shift = shift};
        WISP_TRY(wisp_spmmv(b->exact[1 - i], k->A, b->exact[i], &aug));
    }
    WISP_TRY(wisp_copy(b->v[3], b->exact[f->power % 2]));
    WISP_TRY(count(c, b->n, f->power));
    for (int l = 0; l < b->n; l++) {
        const double d = theta[l] - f->center;
        b->x[l] = f->scale * (f->power == 2 ? d * d : d) + f->shift;
        b->before[l] = 0;
        b->last[l] = f->c ? f->c[terms - 1] : 1;
    }
    WISP_TRY(wisp_blk_fill(b->v[1], wisp__real(0)));
out:
    wisp_free(k->ctx, shift);
    return status;
}

wisp_status wisp__chebfd_open_batch(wisp__chebfd *c, int n, bool refines)
{
    wisp__batch *b = &c->batch;
    wisp_status status = WISP_OK;
    *b = (wisp__batch){.n = n, .refines = refines, .steps = wisp__steps_of(c->k->ctx, WISP__FILTER_STEPS)};
    WISP_TRY(wisp_alloc(c->k->ctx, &b->add, (size_t)b->steps * ((size_t)n + 3), sizeof *b->add));
    b->factor = b->add + b->steps * n;
    WISP_TRY(wisp_alloc(c->k->ctx, &b->x, 3 * (size_t)n, sizeof *b->x));
    b->before = b->x + n, b->last = b->before + n;
    for (int i = 0; i < WISP__FILTER_BLOCKS; i++) WISP_TRY(wisp_blk_cols(&b->v[i], c->v[i], 0, n));
    for (int i = 0; i < 2 && refines; i++) WISP_TRY(wisp_blk_cols(&b->exact[i], c->exact[i], 0, n));
out:
    return status;
}

void wisp__chebfd_close_batch(wisp__chebfd *c)
{
    wisp__batch *b = &c->batch;
    for (int i = 0; i < WISP__FILTER_BLOCKS; i++) wisp_blk_free(b->v[i]);
    for (int i = 0; i < 2; i++) wisp_blk_free(b->exact[i]);
    wisp_free(c->k->ctx, b->add);
    wisp_free(c->k->ctx, b->x);
    *b = (wisp__batch){0};
}

/* The first of the recurrence, for columns of the space. */
static wisp_status first_step(wisp__chebfd *c, wisp__batch *b, wisp_blk *part, int terms, const double *theta)
{
    const wisp_filter *f = &c->plan.f;
    wisp_status status = WISP_OK;
    if (b->refines) {
        WISP_TRY(wisp_copy(b->exact[0], part));
        WISP_TRY(residuals(c, b, terms, theta));
    } else if (f->c) {
        WISP_TRY(wisp_copy(b->v[3], part));
        WISP_TRY(wisp_axpby(b->v[1], wisp__real(f->c[terms - 1]), b->v[3], wisp__real(0)));
    } else {
        WISP_TRY(wisp_copy(b->v[1], part));
    }
out:
    return status;
}

/* The batch's columns, which are these of the space, are filtered. */
static wisp_status filter(wisp__chebfd *c, wisp__batch *b, wisp_blk *part, int terms, const double *theta)
{
    wisp_status status = WISP_OK;
    if (b->step == 0) WISP_TRY(first_step(c, b, part, terms, theta));
    WISP_TRY(c->plan.f.power == 2 ? by_squares(c, b, terms - 1) : by_steps(c, b, terms - 1));
    if (b->refines) {
        wisp_scalar *const ones = b->add, *const p = b->add + b->n;
        for (int l = 0; l < b->n; l++) ones[l] = wisp__real(1), p[l] = wisp__real(b->last[l]);
        WISP_TRY(wisp_copy(b->exact[0], b->v[1]));
        WISP_TRY(wisp_vaxpby(part, ones, b->exact[0], p));
    } else {
        WISP_TRY(wisp_copy(part, b->v[1]));
    }
out:
    return status;
}

wisp_status wisp__chebfd_apply(wisp__chebfd *c, wisp_blk *space, int first, int n, int terms, const double *theta)
{
    wisp__eig *k = c->k;
    wisp__batch *b = &c->batch;
    wisp_status status = WISP_OK;
    wisp_blk *part = NULL;
    double before = wisp_now(), now;
    for (int j = c->at.through > first ? c->at.through - first : 0; j < n; j = c->at.through - first) {
        if (b->n == 0) { /* else it goes on in its middle */
            WISP_TRY(wisp__eig_offer(k));
            WISP_TRY(wisp__chebfd_open_batch(c, n - j < c->width ? n - j : c->width, c->is_single && theta));
        }
        WISP_TRY(wisp_blk_cols(&part, space, first + j, b->n));
        WISP_TRY(filter(c, b, part, terms, theta ? theta + j : NULL));
        wisp_blk_free(part);
        part = NULL;
        c->at.through = first + j + b->n;
        wisp__chebfd_close_batch(c);
        now = wisp_now();
        k->e->filter_seconds += now - before;
        before = now;
    }
out:
    wisp_blk_free(part);
    k->e->filter_seconds += wisp_now() - before;
    return status;
}
