/* Pairs of any matrix whose values lie outermost: Krylov-Schur (Stewart 2002), a Krylov decomposition of which a
   restart keeps the leading part of an ordered Schur form. A real matrix keeps its real form, in which conjugate pairs
   stay together. For a Hermitian matrix all this is Lanczos with thick restarts. */
#include "arnoldi.h"
#include <string.h>

enum { LEAST_SEARCH = 20, MORE = 15, MORE_MULTIPLETS = 64 };

typedef struct {
    wisp__eig *k;
    wisp__arnoldi a;
    int m;                      /* columns of V before a restart */
    wisp_scalar *S, *U, *X, *Y; /* [m][m] Schur form, its vectors, eigenvectors of S and of H */
    wisp_scalar *value;         /* [m] in the order of S */
    int *order, *chosen;        /* [m] by how much they are wanted; for the order of S */
    double *residual;           /* [m] bounds over |value|, in the order of S */
    wisp_scalar *locked;        /* [most] values of the locked columns */
    int most;
    double strict; /* of the tolerance: what the bounds have to keep */
    bool whole;    /* V is all of the space */
} schur;

/* ---- restarts ------------------------------------------------------------------------------------------- */

/* V takes in more columns; then the Schur form of H, its values in order, and the bounds. */
static wisp_status cycle(schur *K)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = K->k;
    if (!K->whole) WISP_TRY(wisp__arnoldi_expand(&K->a, K->m));
    const double start = wisp__now();
    const int n = K->a.active;
    for (int i = 0; i < n; i++) memcpy(K->S + i * n, wisp__h(&K->a, i, 0), (size_t)n * sizeof *K->S);
    WISP_TRY(wisp__dense_schur(k->ctx, k->is_complex, n, K->S, K->U, K->value));
    WISP_TRY(wisp__dense_schur_vectors(k->ctx, k->is_complex, n, K->S, K->value, K->X));
    wisp__schur_times(n, K->U, K->X, K->Y);
    for (int j = 0; j < n; j++)
        K->residual[j] = wisp__arnoldi_bound(&K->a, K->Y + j, n) / wisp__schur_over(&K->a, K->value[j]);
    wisp__schur_sort(k, 0, n, K->value, K->order);
    k->e->ritz_seconds += wisp__now() - start;
out:
    return status;
}

/* V keeps those that come first in order: the first `first`, which are put in front, and others, `kept` in all. */
static wisp_status restart(schur *K, int first, int kept)
{
    wisp_status status = WISP_OK;
    const int n = K->a.active;
    for (int stage = 0; stage < 2; stage++) {
        if (stage == 1) kept = first + wisp__schur_untorn(K->k, K->value, K->order + first, kept - first);
        const int from = stage == 0 ? 0 : first, to = stage == 0 ? first : kept;
        if (to == from) continue;
        for (int i = 0; i < n; i++) K->chosen[i] = stage > 0 && i < from;
        for (int i = from; i < to; i++) K->chosen[K->order[i]] = 1;
        WISP_TRY(wisp__dense_schur_order(K->k->ctx, K->k->is_complex, n, K->S, K->U, K->value, K->chosen));
        for (int i = 0; i < to; i++) K->order[i] = i;
        wisp__schur_sort(K->k, to, n, K->value, K->order);
    }
    for (int i = 0; i < n; i++) memcpy(K->X + i * kept, K->U + i * n, (size_t)kept * sizeof *K->X);
    WISP_TRY(wisp__arnoldi_rotate(&K->a, K->X, kept));
    for (int i = 0; i < kept; i++) memcpy(wisp__h(&K->a, i, 0), K->S + i * n, (size_t)kept * sizeof *K->S);
out:
    return status;
}

/* What a restart keeps: half, and more as more of them are good. */
static int kept_of(const schur *K, int wanted, int good)
{
    const int n = K->a.active, most = n - (K->whole ? 0 : K->a.block);
    const int half = good + (n - good) / 2, least = wanted < n / 2 ? wanted : n / 2, kept = half > least ? half : least;
    return kept < most ? kept : most;
}

/* The first n columns of V, whose values lie in front, are locked. */
static void lock(schur *K, int n)
{
    for (int i = 0; i < n; i++) K->locked[K->a.locked + i] = K->value[i];
    wisp__arnoldi_lock(&K->a, n);
}

/* ---- the search ----------------------------------------------------------------------------------------- */

/* Goes on until the first `count` values are within the tolerance, with all that belong to the last. They are locked.
 */
static wisp_status find(schur *K)
{
    wisp_status status = WISP_OK;
    const wisp_eig_opts *o = &K->k->o;
    for (;;) {
        WISP_TRY(cycle(K));
        const int n = K->a.active, most = K->whole ? n : n - K->a.block;
        int wanted = wisp__schur_wanted(&K->a, n, K->value, K->order), good = 0;
        if (wanted > most) wanted = wisp__schur_untorn(K->k, K->value, K->order, most);
        while (good < wanted && K->residual[K->order[good]] <= K->strict * o->tolerance) good++;
        const double next = K->residual[K->order[good < wanted ? good : wanted - 1]];
        const int kept = kept_of(K, wanted, good),
                  front = good == wanted ? wanted : wisp__schur_untorn(K->k, K->value, K->order, good);
        WISP_TRY(restart(K, front, kept > front ? kept : front));
        if (good == wanted && wanted >= o->count) {
            lock(K, wanted);
            goto out;
        }
        WISP_TRY(wisp__arnoldi_told(&K->a, wanted, good, next));
    }
out:
    return status;
}

/* The key beyond which a value counts: that of the last one that is wanted of the locked ones, and a bit less. */
static double border(const schur *K)
{
    double last = INFINITY, width = 0;
    for (int i = 0; i < K->a.locked; i++) {
        int above = 0;
        for (int j = 0; j < K->a.locked; j++)
            above += wisp__schur_key(K->k, K->locked[j]) > wisp__schur_key(K->k, K->locked[i]);
        if (above < K->k->o.count && wisp__schur_key(K->k, K->locked[i]) < last) {
            last = wisp__schur_key(K->k, K->locked[i]);
            width = K->k->o.tolerance * wisp__schur_over(&K->a, K->locked[i]);
        }
    }
    return last - width;
}

/* A search from random vectors beside the locked columns; *more: how many were locked, because they count. */
static wisp_status search(schur *K, int *more)
{
    wisp_status status = WISP_OK;
    const double tolerance = K->k->o.tolerance;
    *more = 0;
    WISP_TRY(wisp__arnoldi_room(&K->a, K->m));
    WISP_TRY(wisp__arnoldi_start(&K->a, true));
    for (;;) {
        WISP_TRY(cycle(K));
        const double edge = border(K);
        const int n = K->a.active, top = K->order[0];
        const double first = wisp__schur_key(K->k, K->value[top]),
                     bound = K->residual[top] * wisp__schur_over(&K->a, K->value[top]);
        if (first < edge && (K->residual[top] <= tolerance || first + WISP__RESERVE * bound < edge)) goto out;
        int good = 0;
        while (good < n - K->a.block && wisp__schur_key(K->k, K->value[K->order[good]]) >= edge &&
               K->residual[K->order[good]] <= K->strict * tolerance)
            good++;
        good = wisp__schur_untorn(K->k, K->value, K->order, good);
        const double next = K->residual[K->order[good]];
        WISP_TRY(restart(K, good, kept_of(K, 1, good)));
        lock(K, good);
        *more += good;
        if (K->a.locked > K->most) {
            status = wisp_ctx_fail(K->k->ctx, WISP_ERR_INCOMPLETE,
                                   "eig: %d eigenvalues, and more of the last one's multiplet", K->a.locked);
            goto out;
        }
        WISP_TRY(wisp__arnoldi_room(&K->a, K->m));
        WISP_TRY(wisp__arnoldi_told(&K->a, K->k->o.count, K->a.locked, next));
    }
out:
    return status;
}

static wisp_status look_for_missing(schur *K)
{
    const wisp__eig_times before = wisp__eig_begin_check(K->k);
    wisp_status status = WISP_OK;
    for (int more = 1; status == WISP_OK && more > 0 && !K->whole;) status = search(K, &more);
    wisp__eig_end_check(K->k, &before);
    return status;
}

/* ---- the call -------------------------------------------------------------------------------------------- */

static wisp_status run(schur *K, int block)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = K->k;
    const size_t m = (size_t)K->m;
    WISP_TRY(wisp_alloc(k->ctx, &K->S, 4 * m * m, sizeof *K->S));
    K->U = K->S + m * m, K->X = K->U + m * m, K->Y = K->X + m * m;
    WISP_TRY(wisp_alloc(k->ctx, &K->value, 2 * m + (size_t)K->most, sizeof *K->value));
    K->locked = K->value + m;
    WISP_TRY(wisp_alloc(k->ctx, &K->order, 2 * m, sizeof *K->order));
    K->chosen = K->order + m;
    WISP_TRY(wisp_alloc(k->ctx, &K->residual, m, sizeof *K->residual));
    WISP_TRY(wisp__arnoldi_make(&K->a, K->m + block, block));
    WISP_TRY(K->whole ? wisp__arnoldi_whole(&K->a) : wisp__arnoldi_start(&K->a, false));
    WISP_TRY(find(K));
    WISP_TRY(look_for_missing(K));
    k->e->complete = 1;
out:
    return status;
}

static int block_of(const wisp__eig *k)
{
    const int asked = k->o.block < WISP__MOST_BLOCK ? k->o.block : WISP__MOST_BLOCK;
    return asked > 0 ? asked : 1;
}

/* Columns of V in a search, and that are locked at most; for few rows the whole space. */
static void choose_sizes(schur *K, int block)
{
    const wisp_eig_opts *o = &K->k->o;
    const int least = o->count + 2 * block + 1, usual = 2 * o->count > o->count + MORE ? 2 * o->count : o->count + MORE;
    K->m = o->search > 0 ? o->search : usual > LEAST_SEARCH ? usual : LEAST_SEARCH;
    if (K->m < least) K->m = least;
    K->m = (K->m + block - 1) / block * block;
    K->most = 2 * o->count + MORE_MULTIPLETS;
    K->whole = K->k->rows <= K->most + 2 * K->m + block;
    if (K->whole) K->m = K->most = (int)K->k->rows;
}

wisp_status wisp__eig_krylov_schur(wisp__eig *k)
{
    if (k->hermitian) {
        k->e->method = WISP_LANCZOS;
        return wisp__eig_lanczos(k);
    }
    schur K = {.k = k, .strict = 0.5, .a = {.k = k, .op = {1, 1, 0, 1}}};
    const int block = block_of(k);
    choose_sizes(&K, block);
    wisp_status status = run(&K, block);
    const int n = status == WISP_OK ? K.a.locked : K.a.locked + K.a.active;
    const bool gives = wisp__eig_last(k, status) && K.a.all;
    const wisp_status delivered = gives ? wisp__schur_deliver(&K.a, n, status == WISP_OK) : WISP_OK;
    wisp__arnoldi_free(&K.a);
    wisp_free(k->ctx, K.S);
    wisp_free(k->ctx, K.value);
    wisp_free(k->ctx, K.order);
    wisp_free(k->ctx, K.residual);
    return status == WISP_OK ? delivered : status;
}

wisp_status wisp__eig_plan_krylov(wisp__eig *k, wisp_eig_cost *cost)
{
    if (k->hermitian) return wisp__eig_plan_lanczos(k, cost);
    schur K = {.k = k};
    const int64_t local = wisp_map_local(wisp_mat_map(k->A), NULL), size = (int64_t)wisp_type_size(k->type);
    choose_sizes(&K, block_of(k));
    cost->search = K.m;
    cost->block = block_of(k);
    /* The locked columns, V, W, and two blocks; Schur forms, their vectors and room for LAPACK. */
    cost->bytes = local * size * ((int64_t)K.m + k->o.count + 3 * cost->block) + 300 * (int64_t)K.m * K.m;
    return WISP_OK;
}
