/* The columns of a system that wisp_solve works on: how they begin, their residuals from x, those that have ended,
   narrower blocks for those that are left. */
#include "krylov.h"
#include <math.h>
#include <string.h>

wisp_status wisp__copy_some(wisp_blk *y, const int *to, wisp_blk *x, const int *from, int count)
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

/* A guess of this length tells nothing: A makes of it rounding errors longer than b, or it can't be squared in b's
   units. */
static bool is_far(const wisp__krylov *k, const wisp__krylov_column *c, double length)
{
    const int most = wisp__is_single(k->type) ? 60 : 500, exponent = c->b_exponent - k->a_exponent;
    if (!(length > 0)) return false;
    if (ilogb(length) + exponent >= most) return true;
    return k->eps * k->anorm * ldexp(length, exponent) > sqrt(c->bb);
}

/* Where b = 0, x begins as 0, and ends so; it begins so, too, where the guess is far. norm: room for as many numbers as
   there are columns. */
static wisp_status take_guesses(wisp__krylov *k, double *norm)
{
    wisp_status status;
    bool any = false;
    WISP_TRY(wisp_norm(k->x, norm));
    for (int j = 0; j < k->width; j++) {
        const wisp__krylov_column *c = &k->col[j];
        if (!isfinite(norm[j]))
            WISP_TRY(wisp_ctx_failf(k->ctx, WISP_ERR_NUMERIC,
                                    "solve: column %d of the guess holds a NaN or an infinity", j));
        const bool far = c->bb > 0 && is_far(k, c, norm[j]), takes = c->bb > 0 && !far;
        if (far)
            wisp_ctx_logf(
                k->ctx, WISP_LOG_WARN,
                "solve: column %d of the guess, of length %.1e, is far too large for its right-hand side, and "
                "tells nothing: x begins as 0",
                j, norm[j]);
        k->own[j] = wisp__real(takes);
        any |= !takes;
    }
    if (any) WISP_TRY(wisp_vscal(k->x, k->own));
    status = wisp__scale_guess(k);
out:
    return status;
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

/* |r| that is enough by the absolute tolerance. */
static double absolute_of(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return k->o.tolerance_abs > 0 ? ldexp(k->o.tolerance_abs, c->b_exponent) : 0;
}

/* |r|^2 that is enough. */
static double target_of(const wisp__krylov *k, const wisp__krylov_column *c)
{
    const double relative = k->o.tolerance * k->o.tolerance * c->bb, absolute = absolute_of(k, c);
    return fmax(relative, absolute * absolute);
}

wisp_status wisp__begin_columns(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
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
        c->best = c->least = c->own_least = c->own_best = c->tried = INFINITY;
        c->ratio = 1;
        c->target = target_of(k, c);
        const double wanted = fmax(k->o.tolerance, absolute_of(k, c) / sqrt(c->bb));
        k->s->wanted_of[j] = c->bb > 0 ? wanted : 0;
        if (c->bb > 0 && (k->s->wanted == 0 || wanted < k->s->wanted)) k->s->wanted = wanted;
    }
    if (k->s->wanted == 0) k->s->wanted = k->o.tolerance; /* all of b is 0 */
    if (k->o.guess) status = take_guesses(k, norm);
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
static wisp_status residual(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    if (k->at_zero) return residual_of_zero(k);
    const bool fit = wisp__b_factors(k, k->b_factor);
    if (!fit) WISP_TRY(wisp__scale_b(k, k->r));
    const bool square = wisp__is_square(k);
    const unsigned dots = WISP_DOT_YY | (square ? WISP_DOT_XX : 0);
    WISP_TRY(wisp_spmmv(k->r, k->A, k->x,
                        &(wisp_aug){.terms = WISP_SCALE | (fit ? WISP_ADD : WISP_AXPBY) | dots,
                                    .alpha = wisp__real(-wisp__a_factor(k)),
                                    .beta = wisp__real(1),
                                    .dot = k->number,
                                    .u = k->b,
                                    .add = k->b_factor}));
    if (!square) WISP_TRY(wisp_dot(k->x, k->x, wisp__set(k, WISP_SET_XX)));
    k->unfinished = false;
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        if (c->done) continue;
        c->verified = isfinite(wisp__set(k, WISP_SET_XX)[j].re) ? wisp__set(k, WISP_SET_YY)[j].re : INFINITY;
        c->rr = c->verified;
    }
out:
    return status;
}

/* |r|^2 alone is no measure of such a method: where that can't be found, x is not known to be better than another. */
static wisp_status measured(wisp__krylov *k)
{
    wisp_status status = residual(k);
    if (status != WISP_OK || !k->method->measure) return status;
    status = k->method->measure(k);
    for (int j = 0; j < k->width && status != WISP_OK; j++)
        if (!k->col[j].done) k->col[j].verified = k->col[j].rr = INFINITY;
    return status;
}

/* Of x without its part in the null space: that is what is given. */
static wisp_status shorten(wisp__krylov *k)
{
    return k->of->null && !k->at_zero ? wisp__project(k->of->null, k->x, NULL) : WISP_OK;
}

wisp_status wisp__residual(wisp__krylov *k)
{
    for (int j = 0; j < k->width; j++) k->col[j].given = false;
    const wisp_status status = shorten(k);
    return status == WISP_OK ? measured(k) : status;
}

int wisp__list(wisp__krylov *k, bool (*which)(const wisp__krylov *k, const wisp__krylov_column *c))
{
    int count = 0;
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done && (!which || which(k, &k->col[j]))) k->list[count++] = j;
    return count;
}

wisp_status wisp__residual_given(wisp__krylov *k)
{
    wisp_status status;
    const bool last = k->s->iterations >= k->o.max_iterations;
    WISP_TRY(shorten(k));
    for (int j = 0; j < k->width; j++) {
        wisp__krylov_column *c = &k->col[j];
        const bool ends = !c->done && (c->claimed || (last && c->rr < c->best));
        c->given = ends && k->look_every > 1 && c->b_exponent == k->a_exponent;
        if (c->given) WISP_TRY(wisp__copy_some(k->user_x, &c->of, k->x, &j, 1));
    }
    status = measured(k);
out:
    return status;
}

static bool is_better(const wisp__krylov *k, const wisp__krylov_column *c)
{
    (void)k;
    return c->verified < c->best;
}
/* Most methods may pass by larger residuals on their way. */
enum { MOST_OF_BEST = 4 };
static bool is_worse(const wisp__krylov *k, const wisp__krylov_column *c)
{
    if (k->method->is_best) return !c->from_zero && !(c->verified <= c->best);
    return !(c->verified <= MOST_OF_BEST * c->best);
}
static bool goes_back(const wisp__krylov *k, const wisp__krylov_column *c)
{
    return is_worse(k, c) && !(k->left && c->own_r <= MOST_OF_BEST * c->own_best);
}

wisp_status wisp__keep_best(wisp__krylov *k)
{
    const int n = wisp__list(k, is_better);
    for (int i = 0; i < n; i++) {
        wisp__krylov_column *c = &k->col[k->list[i]];
        c->best = c->verified;
        c->from_zero = false;
        if (k->method->note) k->method->note(k, c);
    }
    return n ? wisp__copy_some(k->best, k->list, k->x, k->list, n) : WISP_OK;
}

int wisp__list_lost(wisp__krylov *k, const wisp_scalar *norm)
{
    int count = 0;
    for (int j = 0; j < k->width; j++)
        if (!k->col[j].done && !isfinite(norm ? norm[j].re : k->col[j].verified)) k->list[count++] = j;
    return count;
}

wisp_status wisp__erase(const wisp__krylov *k, wisp_blk *y, int n)
{
    wisp_blk *view = NULL;
    wisp_status status = n ? wisp_blk_pick(&view, y, n, k->list) : WISP_OK;
    if (n && status == WISP_OK) status = wisp_blk_fill(view, wisp__real(0));
    wisp_blk_free(view);
    return status;
}

/* What is not finite would stay so where a method begins with 0 times it. */
static wisp_status forget_lost(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const int n = wisp__list_lost(k, NULL);
    for (int i = 0; i < k->blocks; i++) WISP_TRY(wisp__erase(k, k->v[i], n));
    if (n && wisp__precond_of(k)) status = wisp__precond_begin(wisp__precond_of(k));
out:
    return status;
}

wisp_status wisp__left_of_r(wisp__krylov *k)
{
    wisp_blk *z = *wisp__left_block(k);
    const wisp_status status = wisp__apply_left(k, z, k->r);
    return status == WISP_OK ? wisp_dot(z, z, k->own) : status;
}

/* own_r, where columns ask for it. */
static wisp_status measure_left(wisp__krylov *k)
{
    wisp_status status;
    if (wisp__list(k, is_worse) == 0) return WISP_OK;
    WISP_TRY(wisp__left_of_r(k));
    for (int j = 0; j < k->width; j++) k->col[j].own_r = k->own[j].re;
out:
    return status;
}

wisp_status wisp__go_back(wisp__krylov *k)
{
    wisp_status status = k->left ? measure_left(k) : WISP_OK;
    if (status == WISP_OK) status = forget_lost(k); /* and what M^-1 has just made of it */
    const int n = wisp__list(k, goes_back);
    if (n && status == WISP_OK) status = wisp__copy_some(k->x, k->list, k->best, k->list, n);
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
        c->from_zero |= far;
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
    const wisp_status status = wisp__copy_some(k->x, &j, k->best, &j, 1);
    return status == WISP_OK ? wisp__residual(k) : status;
}

/* A column has ended: its x is x[from], or the best. */
wisp_status wisp__end(wisp__krylov *k, int j, wisp_status why)
{
    wisp__krylov_column *c = &k->col[j];
    wisp_solution *s = k->s;
    const bool best = !(c->verified <= c->best);
    const double rr = best ? c->best : c->verified;
    wisp_blk *own = NULL;
    wisp_status status = WISP_OK;
    if (best || !c->given) {
        status = wisp__copy_some(k->user_x, &c->of, best ? k->best : k->x, &j, 1);
        k->unfinished = true;
    }
    if (status == WISP_OK) status = wisp_blk_cols(&own, k->user_x, c->of, 1);
    if (status == WISP_OK && k->of->null && !k->apart) status = wisp__project(k->of->null, own, NULL);
    if (status == WISP_OK) status = wisp__scale_back(k, own, c);
    wisp_blk_free(own);
    c->done = true;
    s->status[c->of] = status == WISP_OK ? why : status;
    s->iterations_of[c->of] = c->iterations;
    s->residuals[c->of] = c->bb > 0 ? sqrt(rr / c->bb) : 0;
    if (k->method->tell) k->method->tell(k, c, best);
    if (!isfinite(rr) || status != WISP_OK) wisp__not_known(s, c->of);
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
    WISP_TRY(wisp_blk_create(&y, k->ctx, wisp_blk_map(x), k->type, count));
    if (i < COMMON || k->method->resume) WISP_TRY(wisp__copy_some(y, NULL, x, from, count));
    wisp_blk_free(*block);
    *block = y;
    y = NULL;
out:
    wisp_blk_free(y);
    return status;
}

wisp_status wisp__has_room(wisp__krylov *k, int count, bool *room)
{
    double lacking = 0;
    wisp_map *const map[] = {wisp__map_of_b(k), wisp__map_of_x(k)};
    for (int i = 0; i < (wisp__is_square(k) ? 1 : 2); i++) {
        wisp_blk *y = NULL;
        lacking += wisp_blk_create(&y, k->ctx, map[i], k->type, count) != WISP_OK;
        wisp_blk_free(y);
    }
    const wisp_status status = wisp_ctx_processes(k->ctx) > 1 ? wisp_ctx_sum(k->ctx, &lacking, 1) : WISP_OK;
    *room = lacking == 0;
    return status;
}

wisp_status wisp__compact(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    bool room;
    const int left = wisp__list(k, NULL), *from = k->list;
    if (left == 0 || 2 * left > k->width) return WISP_OK;
    /* Those of a variant or a preconditioner that was given up are not needed. */
    while (k->blocks > wisp__blocks(k)) wisp_blk_free(k->v[--k->blocks]);
    WISP_TRY(wisp__has_room(k, left, &room));
    if (!room) goto out; /* it is in the plan, but others may have taken it: it goes on with the width that it has */
    /* Each takes no more than the wider one before it has given back; b comes late, for the user's stays, and best
       last: if this fails, columns of all that are left are those of best. */
    k->torn = true;
    for (int i = COMMON + k->blocks - 1; i >= 0; i--) WISP_TRY(narrow(k, i, from, left));
    k->torn = false;
    k->b = k->own_b;
    for (int i = 0; i < left; i++) {
        if (k->own_bytes) memmove(wisp__own(k, &k->col[i]), wisp__own(k, &k->col[from[i]]), k->own_bytes);
        k->col[i] = k->col[from[i]];
    }
    for (int set = 0; set < k->sets; set++)
        for (int i = 0; i < left; i++) k->number[set * left + i] = k->number[set * k->width + from[i]];
    k->width = left;
    WISP_TRY(wisp__send(k, 0, k->sets));
out:
    return status;
}

void wisp__free_blocks(wisp__krylov *k)
{
    for (int i = 0; i < k->blocks; i++) wisp__give_block(k, &k->v[i]);
    wisp_free(k->ctx, k->v);
    wisp_free(k->ctx, k->own_of);
    k->v = NULL;
    k->own_of = NULL;
    k->blocks = 0;
}

wisp_status wisp__make_blocks(wisp__krylov *k)
{
    wisp_status status = WISP_OK;
    const int n = wisp__blocks(k), written = k->method->written ? k->method->written(k) : 0;
    k->own_bytes = k->method->own ? k->method->own(&k->o) : 0;
    if (k->own_bytes) WISP_TRY(wisp_alloc(k->ctx, &k->own_of, (size_t)k->width, k->own_bytes));
    WISP_TRY(wisp_alloc(k->ctx, &k->v, (size_t)n, sizeof *k->v));
    while (k->blocks < n) {
        wisp_blk **block = &k->v[k->blocks];
        const bool like_x = k->method->is_short && k->method->is_short(k->blocks);
        wisp_map *map = like_x ? wisp__map_of_x(k) : wisp__map_of_b(k);
        WISP_TRY(wisp__take_block(k, block, map, k->blocks++ < written));
    }
out:
    return status;
}

void wisp__krylov_rows(wisp__krylov *k)
{
    const bool fused = WISP__ASK(k, fuses, k);
    k->rows = fused && !k->of->null ? wisp__precond_rows(k->P) : NULL;
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
            wisp_map *map = x == &k->best || x == &k->x ? wisp__map_of_x(k) : wisp__map_of_b(k);
            WISP_TRY(wisp_blk_create(x, k->ctx, map, k->type, k->width));
        }
        wisp_blk *b = (wisp_blk *)(uintptr_t)k->b; /* it is read alone */
        WISP_TRY(wisp__copy_some(k->own_b, NULL, b, k->list, k->width));
        k->b = k->own_b;
    }
    status = wisp__make_blocks(k);
out:
    return status;
}
