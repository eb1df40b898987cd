/* The columns of a system that wisp_solve works on: how they begin, their residuals from x, those that have ended,
   narrower blocks for those that are left. */
#include "krylov.h"
#include <math.h>
#include <string.h>

/* Columns to[i] of y become columns from[i] of x. NULL: all of them, one after the other. */
static wisp_status copy_columns(wisp_blk *y, const int *to, wisp_blk *x, const int *from, int count)
{
    wisp_blk *into = NULL, *view = NULL;
    wisp_status status = WISP_OK;
    WISP_TRY(to ? wisp_blk_pick(&into, y, count, to) : wisp_blk_cols(&into, y, 0, count));
    WISP_TRY(from ? wisp_blk_pick(&view, x, count, from) : wisp_blk_cols(&view, x, 0, count));
    WISP_TRY(wisp_copy(into, view));
out:
    wisp_blk_free(into);
    wisp_blk_free(view);
    return status;
}

/* Where b = 0, x begins as 0, and ends so. */
static wisp_status forget_guesses(wisp__krylov *k)
{
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        k->own[j] = wisp__real(k->col[j].bb > 0);
        any |= k->col[j].bb == 0;
    }
    return any ? wisp_vscal(k->x, k->own) : WISP_OK;
}

/* |b|, of squares where they tell, so that these need not be made again: |b|^2 goes to own. */
static wisp_status norms_of_b(wisp__krylov *k, double *norm, bool *squared)
{
    wisp_status status = WISP_OK;
    *squared = true;
    WISP_TRY(wisp_dot(k->b, k->b, k->own));
    for (int j = 0; j < k->width; j++) {
        const double bb = k->own[j].re;
        *squared &= bb > 0x1p-600 && bb < 0x1p+600;
        norm[j] = sqrt(bb);
    }
    if (!*squared) WISP_TRY(wisp_norm(k->b, norm));
out:
    return status;
}

wisp_status wisp__begin_columns(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const double most = wisp__is_single(k->type) ? 0x1p+60 : 0x1p+500; /* of a norm, that it can be squared */
    double *norm = NULL;
    bool squared;
    WISP_TRY(wisp_alloc(k->ctx, &norm, (size_t)k->width, sizeof *norm));
    WISP_TRY(norms_of_b(k, norm, &squared));
    for (int j = 0; j < k->width; j++)
        if (!isfinite(norm[j]))
            WISP_TRY(wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                                    "solve: column %d of the right-hand side holds a NaN or an infinity", j));
    WISP_TRY(wisp__choose_scales(k, norm));
    if (!squared) WISP_TRY(wisp__scale_b(k, k->r));
    if (!squared) WISP_TRY(wisp_dot(k->r, k->r, k->own));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        c->of = j;
        c->bb = squared ? ldexp(k->own[j].re, 2 * c->b_exponent) : k->own[j].re;
        c->best = c->least = c->low = INFINITY;
        c->target = k->o.tolerance * k->o.tolerance * c->bb;
    }
    if (!k->o.guess) goto out;
    WISP_TRY(forget_guesses(k));
    WISP_TRY(wisp__scale_guess(k));
    WISP_TRY(wisp_norm(k->x, norm));
    for (int j = 0; j < k->width; j++)
        if (!(norm[j] <= most))
            WISP_TRY(wisp_ctx_failf(
                k->ctx, WISP_ERR_NUMERIC,
                "solve: column %d of the guess holds a NaN or an infinity, or numbers too large to be squared", j));
out:
    wisp_free(k->ctx, norm);
    return status;
}

/* r = b */
static wisp_status residual_of_zero(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) k->col[j].verified = k->col[j].rr = k->col[j].bb;
    return wisp__scale_b(k, k->r);
}

/* A column of A may be empty: then r does not tell whether x is finite. */
wisp_status wisp__residual(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    if (k->at_zero) return residual_of_zero(k);
    const bool fit = wisp__b_factors(k, k->b_factor);
    if (!fit) WISP_TRY(wisp__scale_b(k, k->r));
    WISP_TRY(wisp_spmmv(k->r, k->A, k->x,
                        &(wisp_aug){.terms = WISP_SCALE | (fit ? WISP_ADD : WISP_AXPBY) | WISP_DOT_XX | WISP_DOT_YY,
                                    .alpha = wisp__real(-wisp__a_factor(k)),
                                    .beta = wisp__real(1),
                                    .dot = k->number,
                                    .u = k->b,
                                    .add = k->b_factor}));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->done) continue;
        c->verified = isfinite(wisp__set(k, WISP_SET_XX)[j].re) ? wisp__set(k, WISP_SET_YY)[j].re : INFINITY;
        c->rr = c->verified;
    }
out:
    return status;
}

/* The columns that `which` is true of go to k->list; their number. */
static int list_some(wisp__krylov *k, bool (*which)(const wisp__krylov_column *c))
{
    int count = 0;
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done && which(&k->col[j])) k->list[count++] = j;
    return count;
}

static bool is_better(const wisp__krylov_column *c) { return c->verified < c->best; }
/* Methods but MINRES may pass by larger residuals on their way. */
static bool is_far(const wisp__krylov_column *c) { return !(c->verified <= 4 * c->best); }
static bool goes_on(const wisp__krylov_column *c) { return !c->done; }
static bool is_worse(const wisp__krylov_column *c) { return !c->left && !(c->verified <= c->best); }

wisp_status wisp__keep_best(wisp__krylov *k)
{
    const int n = list_some(k, is_better);
    for (int i = 0; i < n; i++) {
        wisp__krylov_column *c = &k->col[k->list[i]];
        c->best = c->verified;
        c->left = false;
    }
    return n ? copy_columns(k->best, k->list, k->x, k->list, n) : WISP_OK;
}

wisp_status wisp__go_back(wisp__krylov *k)
{
    const int n = list_some(k, k->method->falls ? is_worse : is_far);
    const wisp_status status = n ? copy_columns(k->x, k->list, k->best, k->list, n) : WISP_OK;
    return n && status == WISP_OK ? wisp__residual(k) : status;
}

wisp_status wisp__leave_far(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    bool any = false;
    double *norm = NULL;
    WISP_TRY(wisp_alloc(k->ctx, &norm, (size_t)k->width, sizeof *norm));
    WISP_TRY(wisp_norm(k->x, norm));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const double r = sqrt(c->verified);
        const bool far = !c->done && c->verified > sqrt(k->eps) * c->bb && sqrt(k->eps) * k->anorm * norm[j] > r;
        k->own[j] = wisp__real(far ? 0 : 1);
        c->left |= far;
        any |= far;
    }
    if (any) WISP_TRY(wisp_vscal(k->x, k->own));
    if (any) WISP_TRY(wisp__residual(k));
out:
    wisp_free(k->ctx, norm);
    return status;
}

wisp_status wisp__return_to_best(wisp__krylov *k, int j)
{
    if (!isfinite(k->col[j].best)) return WISP_OK;
    const wisp_status status = copy_columns(k->x, &j, k->best, &j, 1);
    return status == WISP_OK ? wisp__residual(k) : status;
}

wisp_status wisp__keep_low(wisp__krylov *k, const wisp_scalar *take)
{
    int n = 0;
    for (int j = 0; j < k->width; j++)
        if (take[j].re != 0) k->list[n++] = j;
    return n ? copy_columns(k->v[k->method->low], k->list, k->x, k->list, n) : WISP_OK;
}

static bool has_low(const wisp__krylov_column *c) { return c->low < c->best; }

bool wisp__has_low(const wisp__krylov *k)
{
    bool any = false;
    for (int j = 0; j < k->width; j++) any |= !k->col[j].done && has_low(&k->col[j]);
    return any;
}

static bool has_moved(const wisp__krylov_column *c) { return c->moved; }
static bool moved_for_nothing(const wisp__krylov_column *c) { return c->moved && !(c->verified <= c->low); }

/* x and the kept one change places where that has moved. The recurrence may have promised too much: then they change
   back. */
static wisp_status take_lows(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    wisp_blk *low = k->v[k->method->low];
    int n = list_some(k, has_moved);
    WISP_TRY(copy_columns(k->r, k->list, k->x, k->list, n));
    WISP_TRY(copy_columns(k->x, k->list, low, k->list, n));
    WISP_TRY(copy_columns(low, k->list, k->r, k->list, n));
    for (int i = 0; i < n; i++) {
        wisp__krylov_column *c = &k->col[k->list[i]];
        const double kept = c->low;
        c->low = isfinite(c->verified) ? c->verified : INFINITY;
        c->rr = kept; /* until it is known */
    }
    WISP_TRY(wisp__residual(k));
    n = list_some(k, moved_for_nothing);
    if (n == 0) goto out;
    WISP_TRY(copy_columns(k->x, k->list, low, k->list, n));
    WISP_TRY(wisp__residual(k));
out:
    return status;
}

wisp_status wisp__return_to_low(wisp__krylov *k, bool last)
{
    if (!k->method->low) return WISP_OK;
    bool any = false;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const bool fails = c->claimed || c->broken != WISP_OK;
        const bool ends = last || !isfinite(c->verified) || (fails && c->stalls >= WISP__MOST_STALLS - 1);
        /* One that can go on does so from where it is, unless that is far worse. */
        const double less = ends ? 1 : c->broken != WISP_OK ? 0.25 : 0;
        c->moved = !c->done && !(c->verified <= c->target) && c->low < less * fmin(c->verified, c->best);
        any |= c->moved;
    }
    const wisp_status status = any ? take_lows(k) : WISP_OK;
    for (int j = 0; j < k->width && status == WISP_OK; j++)
        if (k->col[j].moved) k->col[j].low = INFINITY;
    return status;
}

/* A column has ended: its x is x[from], or the best. */
wisp_status wisp__end(wisp__krylov *k, int j, wisp_status why)
{
    wisp__krylov_column *c = &k->col[j];
    wisp_solution *s = k->s;
    const bool best = !(c->verified <= c->best);
    const double rr = best ? c->best : c->verified;
    wisp_blk *own = NULL;
    wisp_status status = copy_columns(k->user_x, &c->of, best ? k->best : k->x, &j, 1);
    if (status == WISP_OK) status = wisp_blk_cols(&own, k->user_x, c->of, 1);
    if (status == WISP_OK) status = wisp__scale_back(k, own, c);
    wisp_blk_free(own);
    c->done = true;
    s->status[c->of] = status == WISP_OK ? why : status;
    s->iterations_of[c->of] = c->iterations;
    s->residuals[c->of] = c->bb > 0 ? sqrt(rr / c->bb) : 0;
    if (!isfinite(rr) || status != WISP_OK) s->residuals[c->of] = NAN;
    return status;
}

/* The blocks of a run that go on with fewer columns: best, b, x, r, and those of the method. */
enum { COMMON = 4 };
static wisp_blk **block_of(wisp__krylov *k, int i)
{
    wisp_blk **const common[COMMON] = {&k->best, &k->own_b, &k->x, &k->r};
    return i < COMMON ? common[i] : &k->v[i - COMMON];
}

/* Block i becomes one of the columns from[count] alone. A method without resume starts anew, and needs nothing of its
   own. */
static wisp_status narrow(wisp__krylov *k, int i, const int *from, int count)
{
    wisp_status status = WISP_OK;
    wisp_blk *y = NULL, **block = block_of(k, i);
    wisp_blk *x = block == &k->own_b && !k->own_b ? (wisp_blk *)(uintptr_t)k->b : *block; /* b is read alone */
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, count));
    if (i < COMMON || k->method->resume) WISP_TRY(copy_columns(y, NULL, x, from, count));
    wisp_blk_free(*block);
    *block = y;
    y = NULL;
out:
    wisp_blk_free(y);
    return status;
}

wisp_status wisp__has_room(wisp__krylov *k, int count, bool *room)
{
    wisp_blk *y = NULL;
    double lacking = wisp_blk_create(&y, k->ctx, wisp_mat_map(k->A), k->type, count) != WISP_OK;
    wisp_blk_free(y);
    const wisp_status status = wisp_ctx_processes(k->ctx) > 1 ? wisp_ctx_sum(k->ctx, &lacking, 1) : WISP_OK;
    *room = lacking == 0;
    return status;
}

wisp_status wisp__compact(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    bool room;
    const int left = list_some(k, goes_on), *from = k->list;
    if (left == 0 || 2 * left > k->width) return WISP_OK;
    /* Those of a variant or a preconditioner that was given up are not needed. */
    while (k->blocks > k->method->blocks(k)) wisp_blk_free(k->v[--k->blocks]);
    WISP_TRY(wisp__has_room(k, left, &room));
    if (!room) goto out; /* it is in the plan, but others may have taken it: it goes on with the width that it has */
    /* Each takes no more than the wider one before it has given back; b comes late, for the user's stays, and best
       last: if this fails, columns of all that are left are those of best. */
    k->torn = true;
    for (int i = COMMON + k->blocks - 1; i >= 0; i--) WISP_TRY(narrow(k, i, from, left));
    k->torn = false;
    k->b = k->own_b;
    for (int i = 0; i < left; i++) k->col[i] = k->col[from[i]];
    for (int set = 0; set < k->sets; set++)
        for (int i = 0; i < left; i++) k->number[set * left + i] = k->number[set * k->width + from[i]];
    k->width = left;
    WISP_TRY(wisp__send(k, 0, k->sets));
out:
    return status;
}

void wisp__free_blocks(wisp__krylov *k)
{
    for (int i = 0; i < k->blocks; i++) wisp_blk_free(k->v[i]);
    wisp_free(k->ctx, k->v);
    k->v = NULL;
    k->blocks = 0;
}

wisp_status wisp__make_blocks(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const int n = k->method->blocks(k);
    WISP_TRY(wisp_alloc(k->ctx, &k->v, (size_t)n, sizeof *k->v));
    for (; k->blocks < n; k->blocks++)
        WISP_TRY(wisp_blk_create(&k->v[k->blocks], k->ctx, wisp_mat_map(k->A), k->type, k->width));
out:
    return status;
}

void wisp__krylov_rows(wisp__krylov *k)
{
    const bool fused = k->method->fuses && k->method->fuses(k);
    k->rows = fused ? wisp__precond_rows(k->P) : NULL;
}

wisp_status wisp__remake_blocks(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    for (int j = 0; j < k->width; j++) k->list[j] = k->col[j].of;
    if (k->width < wisp_blk_width(k->b)) {
        for (int i = 0; i < COMMON; i++) {
            wisp_blk **x = block_of(k, i);
            wisp_blk_free(*x);
            *x = NULL;
            WISP_TRY(wisp_blk_create(x, k->ctx, wisp_mat_map(k->A), k->type, k->width));
        }
        wisp_blk *b = (wisp_blk *)(uintptr_t)k->b; /* it is read alone */
        WISP_TRY(copy_columns(k->own_b, NULL, b, k->list, k->width));
        k->b = k->own_b;
    }
    status = wisp__make_blocks(k);
out:
    return status;
}
