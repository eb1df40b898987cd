/* What Chebyshev filter diagonalization will take: the density of states says how many products, and a few of them are
   timed. */
#include <stdlib.h>
#include "chebfd.h"

/* Seconds of one product with one column, in blocks of the run's width; and to fill it with random numbers. */
static wisp_status time_products(wisp__chebfd *c, double *seconds, double *fill)
{
    enum { TERMS = 9, TIMES = 3 };
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    wisp_blk *columns = NULL;
    const int terms = c->plan.f.terms < TERMS ? c->plan.f.terms : TERMS;
    *seconds = *fill = INFINITY;
    WISP_TRY(wisp__chebfd_blocks(c));
    WISP_TRY(wisp_blk_create(&columns, k->ctx, wisp_mat_map(k->A), k->type, c->width));
    for (int i = 0; i < TIMES; i++) {
        const double began = wisp_now();
        WISP_TRY(wisp_blk_fill_random(columns, WISP_RANDOM_GAUSS, k->o.seed, WISP__STREAM_EIG, 0));
        const double before = wisp_now();
        *fill = fmin(*fill, (before - began) / c->width);
        c->at.through = 0;
        WISP_TRY(wisp__chebfd_apply(c, columns, 0, c->width, terms, NULL));
        *seconds = fmin(*seconds, (wisp_now() - before) / ((terms - 1) * c->plan.f.power) / c->width);
    }
out:
    wisp_blk_free(columns);
    return status;
}

/* Seconds of a product V^H V or V X of all columns, by some of the rows. */
static wisp_status time_dense(const wisp__chebfd *c, double *seconds)
{
    enum { ROWS = 20000, TIMES = 2 };
    wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    const int64_t rows = k->rows < ROWS ? k->rows : ROWS;
    wisp_map *map = NULL;
    wisp_blk *V = NULL;
    wisp_scalar *X = NULL;
    *seconds = INFINITY;
    WISP_TRY(wisp_alloc(k->ctx, &X, (size_t)c->search * (size_t)c->search, sizeof *X));
    WISP_TRY(wisp_map_create_weighted(&map, k->ctx, rows, wisp_map_weights(wisp_mat_map(k->A))));
    WISP_TRY(wisp_blk_create(&V, k->ctx, map, k->type, c->search));
    for (int i = 0; i < TIMES; i++) {
        WISP_TRY(wisp_blk_fill_random(V, WISP_RANDOM_TRACE, k->o.seed, WISP__STREAM_EIG, 0));
        const double before = wisp_now();
        WISP_TRY(wisp_tsm_gram(X, c->search, wisp__real(1), V, V, wisp__real(0), 0));
        WISP_TRY(wisp_tsm_update(V, wisp__real(1), V, X, c->search, wisp__real(0)));
        *seconds = fmin(*seconds, (wisp_now() - before) / 2 * (double)k->rows / (double)rows);
    }
out:
    wisp_blk_free(V);
    wisp_map_free(map);
    wisp_free(k->ctx, X);
    return status;
}

/* Bytes of a space that grows, where that is to be expected, else 0; what c has is of that space then. One that pairs
   fill nearly (chebfd_next.c) grows, and while it does both are held. One whose size is the user's may be too small for
   its filter, and grow by half. */
static wisp_status grown(wisp__chebfd *c, int64_t *bytes)
{
    const wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    const int before = c->search;
    const double pairs = k->e->expected + k->e->expected_error, held = (double)wisp__eig_held(k);
    const bool fills = pairs > 0.8 * before && !c->at.some, given = k->o.search > 0;
    *bytes = 0;
    if ((!fills && !given) || before >= k->rows) return WISP_OK;
    c->least = before + c->width + (given ? before / 2 : 0);
    WISP_TRY(wisp__chebfd_enlarge(c, fills ? 1.5 * pairs : c->wanted + 1));
    if (wisp__chebfd_is_whole(c)) {
        wisp_plan dense = {0};
        wisp_eig_choice unused;
        WISP_TRY(wisp__eig_plan_dense(c->k, &dense, &unused));
        *bytes = dense.bytes_most;
    } else if (c->search > 0) {
        const double both = before - 6.0 * c->width; /* its blocks are made when the old space has gone */
        *bytes = wisp__chebfd_memory(c) + (int64_t)(held * (double)wisp_type_size(k->type) * fmax(both, 0));
    }
out:
    return status;
}

/* It takes less than the filter. */
static wisp_status plan_inverse(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    choice->method = k->o.method = WISP_EIG_INVERT;
    k->most_work = k->dense_work;
    return wisp__eig_plan_krylov(k, plan, choice);
}

wisp_status wisp__eig_plan_chebfd(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    wisp_status status = WISP_OK;
    wisp__chebfd c = {.k = k, .m = k->e->moments = calloc(1, sizeof *c.m)};
    double product, fill, dense;
    int64_t bytes;
    if (!c.m) return wisp_ctx_failf(k->ctx, WISP_ERR_NOMEM, "eig: out of memory");
    WISP_TRY(wisp__chebfd_look(&c));
    choice->expected = k->e->expected, choice->expected_error = k->e->expected_error;
    choice->low = c.low, choice->high = c.high;
    wisp__chebfd_tell_work(&c);
    if (wisp__chebfd_is_whole(&c) || c.search == 0) {
        status = !wisp__chebfd_is_whole(&c) ? wisp__chebfd_refuse(&c)
                 : k->inverse               ? plan_inverse(k, plan, choice)
                                            : wisp__eig_plan_dense(k, plan, choice);
        const int64_t look = c.m->n > 0 ? wisp__chebfd_look_bytes(&c) : 0; /* which comes first */
        if (plan->bytes_most < look) plan->bytes_most = look;
        goto out;
    }
    const double looks = (double)k->e->products, rounds = c.plan.rounds, look_seconds = wisp_now() - k->started;
    choice->search = c.search;
    choice->block = c.width;
    choice->rounds = c.plan.rounds;
    choice->filter_type = wisp__chebfd_type(&c);
    choice->degree = (int64_t)(c.plan.f.terms - 1) * c.plan.f.power;
    plan->bytes_most = wisp__chebfd_memory(&c);
    if (plan->bytes_most < wisp__eig_dense_bytes(k)) plan->bytes_most = wisp__eig_dense_bytes(k); /* it may go over */
    plan->device_bytes = wisp__chebfd_on_device(&c);
    WISP_TRY(time_products(&c, &product, &fill));
    WISP_TRY(time_dense(&c, &dense));
    /* The search for what is missing takes a block; Rayleigh-Ritz and residuals take a product each, and residuals that
       are filtered as many as a degree. */
    const wisp__chebfd_check look = wisp__chebfd_plan_check(&c);
    const double check = (double)(look.terms - 1) * c.plan.f.power * look.columns * look.times;
    const double filtered = c.is_single ? (rounds - 1) * c.plan.f.power : 0,
                 slower = c.is_single ? 1 / wisp__single_time : 1;
    const double filter = c.plan.products * c.search + check, exact = (2 * rounds + filtered) * c.search;
    plan->products = floor(looks + filter + exact);
    /* A round: two halves of V^H V and of V R^-1, twice; V^H A V by half, V Y; and the columns that are put in order.
     */
    plan->seconds = look_seconds + (filter + slower * exact) * product + fill * c.search + (rounds * 4.5 + 1) * dense;
    WISP_TRY(grown(&c, &bytes)); /* last, for c is another one then */
    if (plan->bytes_most < bytes) plan->bytes_most = bytes;
out:
    wisp__chebfd_free(&c);
    return status;
}
