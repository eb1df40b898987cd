/* Passes over blocks, products and reductions of the methods of wisp_solve: fused, or (classical) one op at a time. */
#include "krylov.h"
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------- */

wisp_status wisp__bring(wisp__krylov *k, int first, int sets)
{
    return wisp_slot_read(k->slot, wisp__at(k, first).first, (int64_t)sets * k->width, wisp__set(k, first));
}

wisp_status wisp__send(wisp__krylov *k, int first, int sets)
{
    return wisp_slot_write(k->slot, wisp__at(k, first).first, (int64_t)sets * k->width, wisp__set(k, first));
}

wisp_status wisp__clear(wisp__krylov *k)
{
    if (wisp_ctx_processes(k->ctx) == 1) return WISP_OK;
    memset(k->number, 0, (size_t)k->dots * (size_t)k->width * sizeof *k->number);
    return wisp__send(k, 0, k->dots);
}

wisp_status wisp__scalars(wisp__krylov *k, wisp_step step, double number[WISP_NUMBERS])
{
    number[WISP_NUMBER_RECORD] = k->record;
    number[WISP_NUMBER_EPS] = k->eps;
    return wisp_scalars(wisp__at(k, 0), step, k->width, number);
}

wisp_status wisp__tell(wisp__krylov *k, bool fresh)
{
    const bool ends = k->look_every == 1 || k->method->waits; /* else it stays fit: it goes on until the host looks */
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        wisp__set(k, WISP_SET_STATE)[j] = wisp__real(c->done);
        wisp__set(k, WISP_SET_RR)[j] = wisp__real(c->rr / c->ratio);
        wisp__set(k, WISP_SET_ENOUGH)[j] = wisp__real(ends ? c->target / c->ratio : -1);
        wisp__set(k, WISP_SET_BEST)[j] = wisp__real(c->best / c->ratio);
    }
    const int sets = (fresh ? WISP_SET_RECORD : WISP_SET_OWN) - WISP_SET_STATE;
    if (fresh)
        memset(wisp__set(k, WISP_SET_OWN), 0,
               sizeof(wisp_scalar) * (size_t)((WISP_SET_RECORD - WISP_SET_OWN) * k->width));
    return wisp__send(k, WISP_SET_STATE, sets);
}

/* What a column's numbers say. */
static void take(wisp__krylov *k, wisp__krylov_column *c, double rr, double why)
{
    if (!wisp__going(c)) return;
    c->rr = rr * c->ratio;
    if (why == WISP_STATE_BREAKDOWN) c->broken = WISP_ERR_BREAKDOWN;
    if (why == WISP_STATE_INDEFINITE) c->broken = WISP_ERR_INDEFINITE;
    if (why == WISP_STATE_CAREFUL) k->careful = k->cycle_ends = true;
}

wisp_status wisp__hear(wisp__krylov *k, int iterations, wisp_status (*answer)(wisp__krylov *k))
{
    wisp_status status = WISP_OK;
    WISP_TRY(wisp__bring(k, 0, k->sets));
    if (answer) WISP_TRY(answer(k));
    for (int j = 0; j < k->width && iterations == 0; j++)
        take(k, &k->col[j], wisp__set(k, WISP_SET_RR)[j].re, wisp__set(k, WISP_SET_STATE)[j].im);
out:
    return status;
}

/* What waited for the host has been answered since: its state says how. */
static bool replay_column(wisp__krylov *k, wisp__krylov_column *c, int iteration)
{
    const int j = (int)(c - k->col);
    const wisp_scalar record = wisp__set(k, WISP_SET_RECORD + iteration)[j];
    double why = record.im;
    const bool waited = c->waits || why == WISP_STATE_WAITED;
    c->waits = waited || why == WISP_STATE_ASKS || why == WISP_STATE_CAREFUL;
    if (c->waits) why = wisp__set(k, WISP_SET_STATE)[j].im;
    take(k, c, record.re, why);
    return !waited;
}

bool wisp__replay(wisp__krylov *k, int iteration)
{
    const bool records = k->method->hear;
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const bool goes = records ? wisp__going(c) : !c->done && !c->claimed;
        const bool moves = goes && (!records || replay_column(k, c, iteration));
        c->iterations += moves;
        any |= moves;
    }
    return any;
}

/* ---- passes -------------------------------------------------------------------------------------- */

/* So many blocks as large as x went to or from memory. */
static void count(wisp__krylov *k, const wisp_blk *x, int blocks)
{
    if (!k->counting) return;
    k->bytes += (double)wisp_blk_nrows(x) * k->width * (double)wisp_type_size(k->type) * blocks;
}

/* The factors of a term, brought to f; NULL: it has none. */
static wisp_status factors_of(wisp__krylov *k, const wisp_term *m, wisp_scalar *f, const wisp_scalar **factors)
{
    *factors = m->factor_at.slot ? f : m->factor;
    return m->factor_at.slot ? wisp_slot_read(m->factor_at.slot, m->factor_at.first, k->width, f) : WISP_OK;
}

/* One op for each term: y = c x + d y begins, with the term of y itself, then y += c x. */
static wisp_status update_apart(wisp__krylov *k, const wisp_update *u)
{
    const wisp_scalar *own = NULL, *c;
    bool begun = false;
    wisp_status status = WISP_OK;
    for (int t = 0; t < u->terms; t++) {
        if (u->term[t].x != u->y) continue;
        WISP_TRY(factors_of(k, &u->term[t], k->own, &own));
        if (!own) own = k->one;
    }
    for (int t = 0; t < u->terms; t++) {
        const wisp_term *m = &u->term[t];
        if (m->x == u->y) continue;
        WISP_TRY(factors_of(k, m, k->other, &c));
        const wisp_scalar *d = begun ? k->one : own;
        WISP_TRY(wisp_vaxpby(u->y, c ? c : k->one, m->x, d ? d : k->zero));
        count(k, u->y, d ? 3 : 2);
        begun = true;
    }
    if (begun || !own) goto out;
    WISP_TRY(wisp_vscal(u->y, own));
    count(k, u->y, 2);
out:
    return status;
}

static wisp_status pass_apart(wisp__krylov *k, const wisp_update *update, int updates, const wisp_inner *inner,
                              int inners)
{
    wisp_status status = WISP_OK;
    for (int i = 0; i < updates; i++) WISP_TRY(update_apart(k, &update[i]));
    for (int i = 0; i < inners; i++) {
        WISP_TRY(wisp_dot(inner[i].x, inner[i].y, k->other));
        WISP_TRY(wisp_slot_write(inner[i].dot_at.slot, inner[i].dot_at.first, k->width, k->other));
        count(k, inner[i].x, inner[i].x == inner[i].y ? 1 : 2);
    }
out:
    return status;
}

wisp_status wisp__pass(wisp__krylov *k, const wisp_update *update, int updates, const wisp_inner *inner, int inners)
{
    if (k->separate) return pass_apart(k, update, updates, inner, inners);
    if (k->counting) {
        wisp_cost cost;
        const wisp_status status = wisp_fuse_cost(update, updates, inner, inners, &cost);
        if (status != WISP_OK) return status;
        k->bytes += cost.bytes;
    }
    return wisp_fuse(update, updates, inner, inners, WISP_NOREDUCE);
}

wisp_status wisp__multiply(wisp__krylov *k, wisp_blk *y, const wisp_blk *x, unsigned dots, const wisp_blk *u)
{
    wisp_status status = WISP_OK;
    const bool apart = k->separate || k->left; /* dots are those of a pass */
    const unsigned factor = k->a_exponent ? WISP_SCALE : 0, terms = factor | (apart ? 0 : dots | WISP_NOREDUCE);
    wisp_blk *product = k->left ? *wisp__left_block(k) : y;
    if (k->counting) {
        wisp_cost cost;
        WISP_TRY(wisp_spmmv_cost(k->A, k->type, k->width, terms, &cost));
        k->bytes += cost.bytes;
    }
    const wisp_scalar alpha = wisp__real(wisp__a_factor(k));
    WISP_TRY(wisp_spmmv(
        product, k->A, x,
        &(wisp_aug){
            .terms = terms, .alpha = alpha, .u = u, .dot_at = terms & WISP_DOTS ? wisp__at(k, 0) : (wisp_place){0}}));
    if (k->left) WISP_TRY(wisp__apply_left(k, y, product));
    if (!apart) goto out;
    const wisp_inner all[] = {{.x = x, .y = y, .dot_at = wisp__at(k, WISP_SET_XY)},
                              {.x = y, .y = y, .dot_at = wisp__at(k, WISP_SET_YY)},
                              {.x = u, .y = y, .dot_at = wisp__at(k, WISP_SET_UY)}};
    static const unsigned of[] = {WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};
    wisp_inner inner[3];
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (dots & of[i]) inner[n++] = all[i];
    if (n) status = wisp__pass(k, NULL, 0, inner, n);
out:
    return status;
}

wisp_status wisp__powers(wisp__krylov *k, wisp_blk **v, int n, double complex *shift)
{
    wisp_status status = WISP_OK;
    const double factor = wisp__a_factor(k);
    wisp_scalar alpha[WISP__AHEAD], gamma[WISP__AHEAD];
    wisp_blk *all[WISP__AHEAD + 2] = {NULL};
    double complex of_a = wisp__rounded(k, *shift / factor);        /* in A's own unit */
    if (!isfinite(creal(of_a)) || !isfinite(cimag(of_a))) of_a = 0; /* entries fit the type, and their sums may not */
    *shift = of_a * factor;
    for (int i = 0; i < n; i++) alpha[i] = wisp__real(factor), gamma[i] = wisp__scalar(of_a);
    for (int i = 0; i <= n; i++) all[i + 1] = v[i];
    if (k->counting) {
        wisp_cost cost;
        WISP_TRY(wisp_spmmv_cost(k->A, k->type, k->width, WISP_SCALE | WISP_SHIFT, &cost));
        k->bytes += n * cost.bytes;
    }
    status = wisp_mpk(all, n + 2, k->A, &(wisp_mpk_opts){.steps = n, .alpha = alpha, .gamma = gamma});
out:
    return status;
}

wisp_status wisp__precondition(wisp__krylov *k, wisp_blk *z, const wisp_blk *r, int set)
{
    wisp_status status = WISP_OK;
    const int rz = wisp__rz_set(k, set), own = k->aside + wisp__precond_set(k->P);
    const wisp_place at = wisp__at(k, rz);
    WISP_TRY(wisp__precond_apply(k->P, z, r, wisp__at(k, k->aside ? k->aside : set)));
    if (k->aside && rz != own) {
        WISP_TRY(wisp__bring(k, own, 1));
        memcpy(wisp__set(k, rz), wisp__set(k, own), (size_t)k->width * sizeof *k->number);
        WISP_TRY(wisp__send(k, rz, 1));
    }
    if (k->separate) status = wisp_slot_sum(at.slot, at.first, k->width);
out:
    return status;
}

wisp_status wisp__sum_dots(wisp__krylov *k, int sets)
{
    return k->separate ? WISP_OK : wisp_slot_sum(k->slot, 0, (int64_t)sets * k->width);
}

/* With one rank there is nothing to wait for. */
wisp_status wisp__start_dots(wisp__krylov *k, int sets)
{
    wisp_status status = WISP_OK;
    const size_t n = 2 * (size_t)sets * (size_t)k->width;
    k->sum_begun = k->look_every == 1 || wisp_ctx_processes(k->ctx) > 1;
    if (!k->sum_begun) return wisp_slot_sum(k->slot, wisp__at(k, WISP_SET_DOT).first, (int64_t)sets * k->width);
    WISP_TRY(wisp__bring(k, WISP_SET_DOT, sets));
    status = wisp_ctx_sum_start(k->ctx, &wisp__set(k, WISP_SET_DOT)->re, n);
out:
    return status;
}

wisp_status wisp__wait_for_dots(wisp__krylov *k)
{
    const wisp_status status = k->sum_begun ? wisp_ctx_sum_wait(k->ctx) : WISP_OK;
    return status == WISP_OK && k->sum_begun ? wisp__send(k, WISP_SET_DOT, WISP_SET_FACTOR - WISP_SET_DOT) : status;
}
