/* A sweep with an operator: its function writes A x. The other terms, which kernels do with a row in passing, are then
   done by ops on blocks, one after the other. They name blocks, not the addresses in the kernel's parameters, because
   ops within the function may move blocks (wisp__halo_room). */
#include "../data/store/store.h"
#include "op.h"
#include <string.h>

/* A message that the function has left goes with the refusal. */
static wisp_status call(const wisp_mat *A, wisp_blk *y, const wisp_blk *x)
{
    wisp_ctx *ctx = A->ctx;
    const wisp_operator *o = &wisp__operator_of(A)->o;
    char before[sizeof ctx->message], after[sizeof ctx->message];
    wisp_status status = wisp__unless_cancelled(ctx, "multiplying");
    if (status != WISP_OK) return status;
    wisp_ctx_message(ctx, before, sizeof before);
    status = o->apply(o->arg, y, x);
    if (status == WISP_OK || status == WISP_ERR_CANCELLED) return status;
    if (ctx->failed != WISP_OK) return ctx->failed; /* on another rank, whose message is there */
    wisp_ctx_message(ctx, after, sizeof after);
    const bool said_why = strcmp(before, after);
    return wisp_ctx_failf(ctx, WISP_ERR_CALLBACK, "the operator's function failed: %s%s%s", wisp_status_string(status),
                          said_why ? ": " : "", said_why ? after : "");
}

/* A block for A x where y is needed beside it. It stays with the operator, for the sweeps that follow; a sweep within
   the function finds none and makes its own. */
static wisp_status take_spare(const wisp_mat *A, const wisp_blk *like, wisp_blk **spare)
{
    wisp__operator_mat *m = wisp__operator_of(A);
    *spare = m->spare;
    m->spare = NULL;
    if (*spare && (*spare)->type == like->type && (*spare)->width == like->width) return WISP_OK;
    wisp_blk_free(*spare);
    return wisp_blk_create(spare, A->ctx, A->map, like->type, like->width);
}

static void give_spare(const wisp_mat *A, wisp_blk *spare)
{
    wisp__operator_mat *m = wisp__operator_of(A);
    if (!spare) return;
    wisp_blk_free(m->spare);
    m->spare = spare;
}

static wisp_scalar scalar(const double from[2]) { return (wisp_scalar){from[0], from[1]}; }
static const wisp_scalar one = {1, 0};

/* y += sign f_j x, with the factors of a term. */
static wisp_status add_columns(const wisp_mat *A, wisp_blk *y, const wisp__spmmv_params *p, int set, double sign,
                               const wisp_blk *x)
{
    const int reals = wisp__reals(x->type);
    const wisp_type real = wisp__real_type(x->type);
    const size_t size = wisp_type_size(real), row = (size_t)p->reals * size;
    const char *re = p->factors[set], *im = re + row + size; /* as wisp__spread has them */
    wisp_scalar *f, *ones;
    wisp_status status = wisp__alloc_raw(A->ctx, &f, 2 * (size_t)x->width, sizeof *f);
    if (status != WISP_OK) return status;
    ones = f + x->width;
    for (int j = 0; j < x->width; j++) {
        const size_t at = (size_t)(j * reals) * size;
        f[j].re = wisp__load(real, re + at).re;
        f[j].im = reals == 2 ? wisp__load(real, im + at).re : 0;
        ones[j] = one;
    }
    if (p->factors_at[set]) /* ops on blocks take them from the host */
        status = wisp__dots_bring(A->ctx, p->factors_at[set], &f->re, 2 * (size_t)x->width);
    for (int j = 0; j < x->width; j++) f[j] = (wisp_scalar){sign * f[j].re, reals == 2 ? sign * f[j].im : 0};
    if (status == WISP_OK) status = wisp__axpby(y, f, x, ones, true);
    wisp_free(A->ctx, f);
    return status;
}

/* y = alpha ax + beta prev; ax is y, but where y is prev. */
static wisp_status scale(wisp_blk *y, wisp_blk *ax, const wisp_blk *prev, const wisp__spmmv_params *p)
{
    const wisp_scalar alpha = p->terms & K_SCALE ? scalar(p->alpha) : one, beta = scalar(p->beta);
    if (ax != y) return wisp__axpby(y, &alpha, ax, &beta, false);
    if (p->terms & K_AXPBY) return wisp__axpby(y, &beta, prev, &alpha, false);
    return p->terms & K_SCALE ? wisp__axpby(y, &alpha, y, NULL, false) : WISP_OK;
}

static wisp_status add_chains(const wisp__sweep *s)
{
    const wisp__spmmv_params *p = &s->p;
    const wisp_scalar delta = scalar(p->delta);
    wisp_status status = WISP_OK;
    for (int i = 0; (p->terms & K_CHAIN) && i < p->chains; i++) {
        const wisp_scalar eta = scalar(p->chain[i].eta);
        WISP_TRY(wisp__axpby(s->z[i], &eta, s->y, p->terms & K_DELTA ? &delta : NULL, false));
    }
out:
    return status;
}

/* Those that are not asked for are zero, as those of a kernel are. */
static wisp_status dots(const wisp__sweep *s, double *dot)
{
    const wisp_blk *x = s->x, *y = s->y;
    const struct {
        unsigned term;
        const wisp_blk *left, *right;
    } set[K_DOT_SETS] = {{K_DOT_XX, x, x}, {K_DOT_XY, x, y}, {K_DOT_YY, y, y}, {K_DOT_UY, s->u, y}};
    const size_t n = wisp__dot_size(x, s->terms);
    double *zeros;
    wisp_status status;
    WISP_TRY(wisp_alloc(x->ctx, &zeros, n, sizeof *zeros));
    WISP_TRY(x->ctx->backend->write(x->ctx, dot, zeros, n * sizeof *zeros));
    for (int i = 0; i < K_DOT_SETS; i++)
        if (s->p.terms & set[i].term) WISP_TRY(wisp__dot_local(set[i].left, set[i].right, dot + 2 * i * x->width));
out:
    wisp_free(x->ctx, zeros);
    return status;
}

wisp_status wisp__sweep_apply(const wisp__sweep *s, double *dot)
{
    const wisp__spmmv_params *p = &s->p;
    const wisp_mat *A = s->A;
    wisp_blk *spare = NULL, *ax = s->y;
    wisp_status status;
    if ((p->terms & K_AXPBY) && !(p->terms & K_PREV)) {
        WISP_TRY(take_spare(A, s->x, &spare));
        ax = spare;
    }
    WISP_TRY(call(A, ax, s->x));
    if (p->terms & K_SHIFT) WISP_TRY(add_columns(A, ax, p, K_FACTORS_SHIFT, -1, s->x));
    WISP_TRY(scale(s->y, ax, s->prev, p));
    if (p->terms & K_ADD) WISP_TRY(add_columns(A, s->y, p, K_FACTORS_ADD, 1, s->u));
    WISP_TRY(add_chains(s));
    if (p->terms & K_DOTS) WISP_TRY(dots(s, dot));
out:
    give_spare(A, spare);
    return status;
}
