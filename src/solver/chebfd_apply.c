/* The filter's products: some columns at a time go to blocks of their own, which are as wide as products are fast. */
#include "chebfd.h"

enum { STEPS = 32 }; /* of a call of wisp_mpk: progress and interrupts in between */

wisp_status wisp__chebfd_blocks(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    for (int i = 0; i < 3; i++) {
        wisp_blk_free(c->v[i]);
        c->v[i] = NULL;
    }
    for (int i = 0; i < 3; i++) WISP_TRY(wisp_blk_create(&c->v[i], k->ctx, wisp_mat_map(k->A), k->type, c->width));
    k->e->block = c->width;
out:
    return status;
}

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

/* v[0], v[1]: the last two of the recurrence, the newest in v[1]. */
static void turn(wisp_blk **v)
{
    wisp_blk *last = v[0];
    v[0] = v[1];
    v[1] = last;
}

/* A polynomial of A: of T_d alone by its recurrence; of a series by Clenshaw's, which needs no sum beside it. v[1]
   begins as the columns u (Clenshaw: and is overwritten by the last coefficient's share of them). */
static wisp_status by_steps(wisp__chebfd *c, wisp_blk **v, const wisp_blk *u, int n, int terms)
{
    wisp__eig *k = c->k;
    const wisp_filter *f = &c->plan.f;
    const int degree = terms - 1;
    wisp_status status = WISP_OK;
    wisp_scalar alpha[STEPS], beta[STEPS], gamma[STEPS], *add = NULL;
    if (f->c) {
        WISP_TRY(wisp_alloc(k->ctx, &add, (size_t)STEPS * (size_t)n, sizeof *add));
        WISP_TRY(wisp_axpby(v[1], wisp__real(f->c[degree]), u, wisp__real(0)));
    }
    for (int first = 0, steps; first < degree; first += steps) {
        steps = degree - first < STEPS ? degree - first : STEPS;
        for (int i = 0; i < steps; i++) {
            const int j = first + i;
            const bool once = f->c ? j == degree - 1 : j == 0; /* x once; else 2 x */
            alpha[i] = wisp__real(once ? f->scale : 2 * f->scale);
            beta[i] = wisp__real(j == 0 ? 0 : -1);
            gamma[i] = wisp__real(f->center - f->shift / f->scale);
            for (int l = 0; add && l < n; l++) add[i * n + l] = wisp__real(f->c[degree - 1 - j]);
        }
        const wisp_mpk_opts o = {
            .steps = steps, .alpha = alpha, .beta = beta, .gamma = gamma, .u = f->c ? u : NULL, .add = add};
        WISP_TRY(wisp_mpk(v, 2, k->A, &o));
        if (steps % 2) turn(v);
        WISP_TRY(count(c, n, steps));
    }
out:
    wisp_free(k->ctx, add);
    return status;
}

/* T_d of (A - center)^2: two products a degree, which move three blocks each. */
static wisp_status by_squares(wisp__chebfd *c, wisp_blk **v, wisp_blk *w, int n, int terms)
{
    wisp__eig *k = c->k;
    const wisp_filter *f = &c->plan.f;
    wisp_status status = WISP_OK;
    wisp_scalar *shift = NULL, *add;
    WISP_TRY(wisp_alloc(k->ctx, &shift, 2 * (size_t)n, sizeof *shift));
    add = shift + n;
    for (int j = 1; j < terms; j++) {
        const double twice = j == 1 ? 1 : 2;
        for (int l = 0; l < n; l++) shift[l] = wisp__real(f->center), add[l] = wisp__real(twice * f->shift);
        const wisp_aug one = {.terms = WISP_SHIFT, .shift = shift};
        const wisp_aug two = {.terms = WISP_SCALE | WISP_SHIFT | WISP_ADD | (j == 1 ? 0 : WISP_AXPBY),
                              .alpha = wisp__real(twice * f->scale),
                              .beta = wisp__real(-1),
                              .shift = shift,
                              .u = v[1],
                              .add = add};
        WISP_TRY(wisp_spmmv(w, k->A, v[1], &one));
        WISP_TRY(wisp_spmmv(v[0], k->A, w, &two));
        turn(v);
        WISP_TRY(count(c, n, 2));
    }
out:
    wisp_free(k->ctx, shift);
    return status;
}

wisp_status wisp__chebfd_apply(wisp__chebfd *c, wisp_blk *space, int first, int n, int terms)
{
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    wisp_blk *part = NULL, *v[3] = {NULL};
    const double before = wisp__now();
    for (int j = 0; j < n; j += c->width) {
        const int w = n - j < c->width ? n - j : c->width;
        WISP_TRY(wisp_blk_cols(&part, space, first + j, w));
        for (int i = 0; i < 3; i++) WISP_TRY(wisp_blk_cols(&v[i], c->v[i], 0, w));
        WISP_TRY(wisp_copy(v[1], part));
        if (c->plan.f.power == 2) {
            WISP_TRY(by_squares(c, v, v[2], w, terms));
        } else {
            if (c->plan.f.c) WISP_TRY(wisp_copy(v[2], part));
            WISP_TRY(by_steps(c, v, v[2], w, terms));
        }
        WISP_TRY(wisp_copy(part, v[1]));
        wisp_blk_free(part);
        for (int i = 0; i < 3; i++) wisp_blk_free(v[i]);
        part = v[0] = v[1] = v[2] = NULL;
    }
out:
    wisp_blk_free(part);
    for (int i = 0; i < 3; i++) wisp_blk_free(v[i]);
    k->e->filter_seconds += wisp__now() - before;
    return status;
}
