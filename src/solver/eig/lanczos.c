/* Pairs at an end of a Hermitian matrix's spectrum: block Lanczos with thick restarts (Wu and Simon 2000), of a
   Chebyshev polynomial of the matrix as soon as the values are known well enough to choose one (lanczos_degree.c). */
#include "lanczos.h"
#include "inverse.h"
#include "pencil_bounds.h"

/* Blocks of four: products and passes move little more than for one column. With an inverse solves are what takes
   long. */
enum { LEAST_SEARCH = 24, MORE_MULTIPLETS = 64, BLOCK = 4, INVERSE_BLOCK = 2 };

/* ---- the search --------------------------------------------------------------------------------------- */

/* How many of the first Ritz values are wanted: `count`, and all that are like the last of these, unless any do. */
static int with_multiplet(const wisp__lanczos *L, int count)
{
    const double like = L->k->o.tolerance * L->k->scale;
    int n = count < L->a.active ? count : L->a.active;
    while (!L->k->o.any && n < L->a.active && fabs(L->lambda[n] - L->lambda[n - 1]) <= like) n++;
    return n < L->a.active - L->a.block ? n : L->a.active - L->a.block;
}

/* V takes in blocks, until it has m columns, or all that is wanted is within the tolerance, *good of the *wanted first
   ones, or *changes: Op shall become *op. */
static wisp_status expand(wisp__lanczos *L, int count, int *wanted, int *good, bool *changes, wisp__op *op)
{
    wisp_status status = WISP_OK;
    int to = 0;
    do {
        WISP_TRY(wisp__lanczos_look(L, &to));
        const bool full = to >= L->m;
        *wanted = with_multiplet(L, count);
        *good = 0;
        while (*good < *wanted && wisp__lanczos_residual(L, *good) <= L->a.at.strict * L->k->o.tolerance) ++*good;
        *changes = (*good == 0 || (full && wisp__lanczos_stalls(L))) && wisp__lanczos_raises(L, full, op);
        if (full && !*changes) *changes = wisp__lanczos_lowers(L, *wanted, *good, op);
    } while (!*changes && to < L->m && (*good < *wanted || *wanted < count));
out:
    return status;
}

/* How many of the first ones, of n, have bounds that are not far from the tolerance. */
static int near_of(const wisp__lanczos *L, int n)
{
    int near = 0;
    while (near < n && wisp__lanczos_residual(L, near) <= WISP__NEAR * L->k->o.tolerance) near++;
    return near;
}

/* Goes on until as many pairs as are wanted are within the tolerance, with the whole multiplet of the last one. They
   are locked. */
static wisp_status find(wisp__lanczos *L)
{
    wisp_status status = WISP_OK;
    for (;;) {
        bool changes;
        wisp__op op;
        const int rest = L->k->o.count - L->a.locked, count = rest > 1 ? rest : 1;
        int wanted, good;
        WISP_TRY(expand(L, count, &wanted, &good, &changes, &op));
        const double next = wisp__lanczos_residual(L, good < wanted ? good : wanted - 1);
        L->good = 0;
        const bool all = good == wanted && wanted >= count;
        const bool stalls = wisp__lanczos_stalls(L) && wanted >= count && near_of(L, wanted) == wanted;
        if (changes) {
            WISP_TRY(wisp__lanczos_change(L, &op, good));
            WISP_TRY(wisp__arnoldi_restarted(&L->a, wanted, good, next, next));
            continue;
        }
        WISP_TRY(wisp__lanczos_restart(L, wisp__lanczos_kept(L, wanted)));
        while (L->good < wanted && wisp__lanczos_residual(L, L->good) <= L->k->o.tolerance) L->good++;
        if (all || stalls) {
            double over;
            WISP_TRY(wisp__lanczos_verify(L, wanted, &over));
            if (over <= 1) {
                wisp__lanczos_lock(L, wanted);
                goto out;
            }
            if (all) WISP_TRY(wisp__lanczos_be_stricter(L, over));
        }
        WISP_TRY(wisp__arnoldi_restarted(&L->a, wanted, good, next, next));
    }
out:
    return status;
}

/* ---- the call ------------------------------------------------------------------------------------------- */

/* The first n columns, which are orthonormal, become Ritz vectors, as good as they can be unless the run is to end at
   once. */
static wisp_status last_ritz(wisp__lanczos *L, int n, bool at_once, double *theta, double *residual)
{
    wisp_status status = WISP_OK;
    wisp_blk *V = NULL;
    double over = 0;
    WISP_TRY(wisp__ritz(L->k, L->a.all, 0, n, theta));
    WISP_TRY(wisp__ritz_residuals(L->k, L->a.all, 0, n, theta, residual));
    for (int i = 0; i < n; i++) over = fmax(over, residual[i] / L->k->o.tolerance);
    if (over <= 1 || at_once) goto out;
    WISP_TRY(wisp_blk_cols(&V, L->a.all, 0, n));
    WISP_TRY(wisp__lanczos_polish(L, V, theta, residual, &over));
out:
    wisp_blk_free(V);
    return status;
}

/* The user gets the first n columns, as far as they are within the tolerance, or those of them that were asked for;
   after a run that has ended well each has to be. */
static wisp_status deliver(wisp__lanczos *L, int n, wisp_status ended)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    double *theta = NULL, *residual;
    wisp_blk *V = NULL;
    wisp__ortho how;
    int first, found;
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp_blk_cols(&V, L->a.all, 0, n));
    WISP_TRY(wisp__eig_orthonormal(k, V, 1, &how));
    n = how.rank;
    if (n == 0) goto out;
    WISP_TRY(wisp_alloc(k->ctx, &theta, 2 * (size_t)n, sizeof *theta));
    residual = theta + n;
    WISP_TRY(last_ritz(L, n, ended != WISP_OK && ended != WISP_ERR_STAGNATION, theta, residual));
    wisp__eig_select(k, n, theta, residual, &first, &found);
    k->e->at_least += L->beside;
    if (L->beside > 0 && found > 0) {
        const int last = k->o.which == WISP_EIG_SMALLEST ? first + found - 1 : first;
        wisp__eig_warn_of_levels(k, (double[]){theta[last], L->lambda[0]},
                                 (double[]){residual[last], wisp__lanczos_residual(L, 0)});
    }
    const int asked = found, end = first + asked;
    if (k->o.which == WISP_EIG_NEAREST) {
        wisp__lanczos_nearest(k, theta, residual, &first, &found);
    } else if (k->o.which == WISP_EIG_SMALLEST) {
        for (found = 0; found < asked && residual[first + found] <= k->o.tolerance;) found++;
    } else {
        for (found = 0; found < asked && residual[end - 1 - found] <= k->o.tolerance;) found++;
        first = end - found;
    }
    if (found < asked) k->e->at_least = found;
    WISP_TRY(wisp__eig_deliver(k, L->a.all, first, found, theta + first, residual + first));
    if (ended == WISP_OK && found < asked)
        status = wisp_ctx_fail(k->ctx, WISP_ERR_STAGNATION, "eig: residuals stay above the tolerance");
    else if (ended == WISP_OK && found < k->o.count)
        status = wisp__lanczos_dependent(k);
out:
    wisp_blk_free(V);
    wisp_free(k->ctx, theta);
    return status;
}

static int block_of(const wisp__eig *k)
{
    const int most = k->o.block < WISP__MOST_BLOCK ? k->o.block : WISP__MOST_BLOCK;
    return most > 0 ? most : k->inverse ? INVERSE_BLOCK : BLOCK;
}

/* Columns that can be locked, with those that turn out not to be wanted. */
static int most_at_all(const wisp__lanczos *L) { return 2 * L->most + L->m; }

/* The items of a state (wisp_items_fn). */
static wisp_status items(void *arg, wisp_state *s)
{
    wisp__lanczos *L = arg;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__eig_items(L->k, s));
    WISP_TRY(wisp__arnoldi_items(&L->a, s));
    WISP_TRY(wisp__eig_at_most(L->k, "locked values", L->a.locked, most_at_all(L)));
    WISP_TRY(wisp_state_data(s, "locked values", L->value, (size_t)L->a.locked * sizeof *L->value));
    WISP_TRY(wisp_state_data(s, "good", &L->good, sizeof L->good));
    WISP_TRY(wisp_state_data(s, "lowered", &L->lowered, sizeof L->lowered));
    WISP_TRY(wisp_state_data(s, "early", &L->early, sizeof L->early));
out:
    return status;
}

static wisp_status run(wisp__lanczos *L)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = L->k;
    const wisp_bounds *b = &k->e->bounds;
    const double sign = k->o.which == WISP_EIG_SMALLEST ? -1 : 1;
    const int block = block_of(k);
    L->a.k = k;
    L->a.op = k->inverse ? wisp__inverse_op(k->inverse)
                         : (wisp__op){.degree = 1, .side = sign, .center = b->center, .scale = b->halfwidth};
    L->a.rounding = k->inverse ? 0 : k->eps * (1 + fabs(b->center) / b->halfwidth); /* of a product that is known */
    const size_t m = (size_t)L->m, most = (size_t)most_at_all(L);
    WISP_TRY(wisp_alloc(k->ctx, &L->Q, 2 * m * m, sizeof *L->Q));
    WISP_TRY(wisp_alloc(k->ctx, &L->mu, 3 * m + most, sizeof *L->mu));
    L->lambda = L->mu + m, L->bound = L->lambda + m, L->value = L->bound + m;
    WISP_TRY(wisp__arnoldi_make(&L->a, L->m + block, block));
    WISP_TRY(wisp__op_most_degree(&L->a, L->m, &L->most_degree));
    WISP_TRY(wisp__eig_state(k, items, L));
    if (!k->o.resume) WISP_TRY(wisp__arnoldi_start(&L->a, false));
    if (L->a.at.phase == WISP__FINDS) {
        WISP_TRY(find(L));
        wisp__lanczos_fit_border(L);
    }
    WISP_TRY(k->inverse ? wisp__lanczos_prove(L) : wisp__lanczos_missing(L));
    k->e->complete = 1;
out:
    if (!k->inverse) k->e->degree = L->a.op.degree;
    return status;
}

static int larger(int a, int b) { return a > b ? a : b; }

/* Columns of V in a search: some blocks more than are wanted, as each restart takes a part of them away. */
static int search_columns(const wisp__eig *k, int block)
{
    enum { BLOCKS = 8 };
    const int count = k->o.count, least = count + 2 * block + 1,
              usual = larger(larger(5 * count / 2, count + BLOCKS * block), LEAST_SEARCH);
    int m = k->o.search > 0 ? k->o.search : usual;
    if (m < least) m = least;
    return (m + block - 1) / block * block;
}

static int most_locked(const wisp__eig *k) { return 2 * k->o.count + MORE_MULTIPLETS; }

/* A search, and what it gives. */
static wisp_status search(wisp__eig *k)
{
    wisp__lanczos L = {.k = k, .a.at.strict = 0.5, .m = search_columns(k, block_of(k)), .most = most_locked(k)};
    const wisp_status status = run(&L);
    const bool gives = wisp__eig_last(k, status) && L.a.all;
    const wisp_status delivered = gives ? deliver(&L, L.a.locked + L.good, status) : WISP_OK;
    wisp__arnoldi_free(&L.a);
    wisp_free(k->ctx, L.Q);
    wisp_free(k->ctx, L.mu);
    return status == WISP_OK ? delivered : status;
}

/* Vectors are the pencil's, until they are delivered as C's. */
static wisp_status with_pencil(wisp__eig *k, wisp_status (*method)(wisp__eig *k))
{
    k->pencil = wisp__inverse_pencil(k->inverse);
    const wisp_status status = method(k);
    k->pencil = NULL;
    return status;
}

/* With an inverse smaller residuals are looked for than are asked for, at first. */
static wisp_status by_inverse(wisp__eig *k)
{
    wisp_status status = wisp__inverse_begin(k->inverse);
    if (status == WISP_OK) status = with_pencil(k, search);
    while (status == WISP_ERR_STAGNATION && !k->ended && wisp__inverse_loosen(k->inverse)) {
        wisp__eig_drop_pairs(k->e);
        k->e->complete = 0, k->e->proof = WISP_PROOF_NONE; /* what the next one proves may be less */
        wisp__eig_begin_anew(k);
        status = with_pencil(k, search);
    }
    return status;
}

/* Of a pencil by its factors, if it has any. */
static wisp_status find_bounds(wisp__eig *k, int m)
{
    const double before = wisp_now();
    bool found = false;
    if (k->e->bounds.halfwidth > 0) return WISP_OK;
    const wisp_status status = wisp__pencil_bounds(k, m, &found);
    if (status != WISP_OK) return status;
    return found ? wisp__eig_take_bounds(k, before) : wisp__eig_bounds(k, m);
}

/* LAPACK, with as few rows as that; of a pencil without roots in the inner product by S. */
static wisp_status whole(wisp__eig *k, int m)
{
    const wisp__pencil *p = k->inverse ? wisp__inverse_pencil(k->inverse) : NULL;
    if (!p || !p->rootless) return wisp__eig_dense(k);
    const wisp_status status = find_bounds(k, m);
    return status == WISP_OK ? with_pencil(k, wisp__eig_dense) : status;
}

wisp_status wisp__eig_lanczos(wisp__eig *k)
{
    const int block = block_of(k), m = search_columns(k, block);
    if (k->rows <= most_locked(k) + 2 * m + block) return whole(k, m);
    /* The inverse's place hangs on the bounds, also where a run goes on. */
    const bool kept = k->o.resume && !k->inverse;
    const wisp_status status = kept ? WISP_OK : find_bounds(k, m);
    if (status != WISP_OK) return status;
    return k->inverse ? by_inverse(k) : search(k);
}

wisp_status wisp__eig_plan_lanczos(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    const int block = block_of(k), m = search_columns(k, block);
    const int64_t held = wisp__eig_held(k), size = (int64_t)wisp_type_size(k->type);
    if (k->rows <= most_locked(k) + 2 * m + block) return wisp__eig_plan_dense(k, plan, choice);
    if (!k->inverse) choice->method = WISP_LANCZOS;
    choice->search = m;
    choice->block = block;
    /* V, W and three blocks, one of them for polynomials. The search for what is missing has as many beside those that
       were found, which are held twice while there is made room, and H likewise; a block of products'. Ritz vectors,
       and room for LAPACK. Dots of what a restart leaves. */
    const int64_t found = k->o.count, blocks = wisp__eig_scaled_blocks(k) + (k->inverse ? 11 : 7),
                  parts = k->is_complex ? 2 : 1, small = (int64_t)(m + block) * (m + block),
                  large = (m + found + 2 * block) * (m + found + 2 * block), twice = 48 * small,
                  lapack = parts * (24 * (int64_t)m * m + 512 * (int64_t)m), columns = m + 2 * found + blocks * block,
                  looked = m / 2 + found + 2 * block;
    plan->bytes_most = held * size * columns + 48 * large + 32 * (int64_t)m * m + (twice > lapack ? twice : lapack) +
                       wisp__arnoldi_numbers(m, k->o.count, block) +
                       wisp__eig_sums_bytes(k, (double)looked, (double)((m + found) / 2 + 2 * block)) +
                       wisp__eig_beside(k, m + (int)found, block, parts * ((int64_t)m * m + m));
    plan->device_bytes = wisp__eig_on_device(k, (double)(m + found + (blocks - 3) * block),
                                             (double)wisp__arnoldi_products(m + found, block));
    if (plan->bytes_most < wisp__eig_dense_bytes(k)) plan->bytes_most = wisp__eig_dense_bytes(k);
    return WISP_OK;
}
