/* One fused sweep: its checks, its kernel's parameters, and its run over all rows, with the exchange of the halo.
   wisp_spmmv makes one; wisp_mpk makes one for each step. */
#include "../data/store/store.h"
#include "op.h"
#include <string.h>

wisp_status wisp__sweep_check(const char *op, const wisp_mat *A, const wisp_blk *y, const wisp_blk *x,
                              const wisp_blk *z)
{
    wisp_ctx *ctx = A->ctx;
    if (x->map != A->col_map || y->map != A->map || (z && z->map != A->map))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                              "%s: x must be on the matrix's column map, y, z and u on its row map", op);
    if (x->nrows != A->col_map->local || y->nrows != A->map->local || (z && z->nrows != A->map->local))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s: a view of some rows can't be multiplied", op);
    if (x->width != y->width || x->type != y->type || (z && (z->width != x->width || z->type != x->type)))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "%s: x is %s of width %d, y %s of width %d%s", op,
                              wisp_type_name(x->type), x->width, wisp_type_name(y->type), y->width,
                              z ? "; z and u are like y" : "");
    const wisp_blk *each[] = {x, y, z};
    for (int i = 0; i < (z ? 3 : 2); i++) {
        const wisp_status status = wisp__refuse_scattered(op, each[i]);
        if (status != WISP_OK) return status;
    }
    if (!wisp__types_fit(A->type, x->type))
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "%s: a %s matrix can't be multiplied with a %s block", op,
                              wisp_type_name(A->type), wisp_type_name(x->type));
    return WISP_OK;
}

wisp_status wisp__spmmv_check(const wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug)
{
    wisp_ctx *ctx = A->ctx;
    const unsigned known = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_ADD | WISP_CHAIN | WISP_DOTS | WISP_NOREDUCE;
    const wisp_blk *z = aug->terms & WISP_CHAIN ? aug->z : NULL,
                   *u = aug->terms & (WISP_ADD | WISP_DOT_UY) ? aug->u : NULL;
    wisp_status status;
    if (aug->terms & ~known) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: unknown terms 0x%x", aug->terms & ~known);
    WISP_TRY(wisp__sweep_check("spmmv", A, y, x, z));
    if (wisp__overlap(x, y) || (z && (wisp__overlap(z, x) || wisp__overlap(z, y))))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: x, y and z must not overlap");
    if ((aug->terms & WISP_CHAIN) && !z) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: the chain term needs z");
    if (u) WISP_TRY(wisp__sweep_check("spmmv", A, y, x, u));
    if (u && (wisp__overlap(u, y) || (z && wisp__overlap(u, z))))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: u must not overlap y or z");
    if ((aug->terms & WISP_DOT_UY) && !u) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: the dot with u needs u");
    if ((aug->terms & WISP_ADD) && (!u || !(aug->add || aug->add_at.slot)))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: the add term needs u and its factors");
    if ((aug->terms & WISP_SHIFT) && !(aug->shift || aug->shift_at.slot))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: no shifts given");
    if ((aug->terms & WISP_DOTS) && !(aug->dot || aug->dot_at.slot))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "spmmv: nowhere to put the dots");
    if ((aug->terms & (WISP_SHIFT | WISP_DOT_XX | WISP_DOT_XY)) && A->map != A->col_map)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "spmmv: shift and dots with x need a square matrix");
out:
    return status;
}

/* Takes a scalar over; true if it has an imaginary part that counts. */
static bool set_scalar(double to[2], wisp_scalar from)
{
    to[0] = from.re;
    to[1] = from.im;
    return from.im != 0;
}

/* Whether some factor counts as complex: those of a place, which may be of any kind, do so for complex blocks alone. */
static bool imaginary_factors(const wisp__factor_source *f, wisp_type type, bool placed, int width)
{
    if (placed && !wisp_type_is_complex(type)) return false;
    return !f->f || !wisp__all_real(f->f, width);
}

/* The kernel's terms and scalars: zero beta and delta become terms that are left out. */
static wisp_status set_terms(wisp__spmmv_params *p, const wisp_aug *aug,
                             const wisp__factor_source factors[K_FACTOR_SETS], wisp_type matrix, wisp_type type)
{
    const bool pairs = wisp_type_is_complex(type) && !wisp_type_is_complex(matrix);
    bool imaginary = false;
    const unsigned t = aug->terms;
    p->terms = 0;
    if (t & WISP_SCALE) {
        p->terms |= K_SCALE;
        imaginary |= set_scalar(p->alpha, aug->alpha);
    }
    if (t & WISP_SHIFT) {
        p->terms |= K_SHIFT;
        imaginary |= imaginary_factors(factors + K_FACTORS_SHIFT, type, aug->shift_at.slot, p->width);
    }
    if ((t & WISP_AXPBY) && (aug->beta.re != 0 || aug->beta.im != 0)) {
        p->terms |= p->prev == p->y ? K_AXPBY : K_AXPBY | K_PREV;
        imaginary |= set_scalar(p->beta, aug->beta);
    }
    if (t & WISP_ADD) {
        p->terms |= K_ADD;
        imaginary |= imaginary_factors(factors + K_FACTORS_ADD, type, aug->add_at.slot, p->width);
    }
    if (p->chains > 0) {
        p->terms |= K_CHAIN;
        for (int i = 0; i < p->chains; i++) imaginary |= p->chain[i].eta[1] != 0;
        if (aug->delta.re != 0 || aug->delta.im != 0) {
            p->terms |= K_DELTA;
            imaginary |= set_scalar(p->delta, aug->delta);
        }
    }
    if (t & WISP_DOT_XX) p->terms |= K_DOT_XX;
    if (t & WISP_DOT_XY) p->terms |= K_DOT_XY;
    if (t & WISP_DOT_YY) p->terms |= K_DOT_YY;
    if (t & WISP_DOT_UY) p->terms |= K_DOT_UY;
    if (imaginary) p->terms |= K_COMPLEX;
    if (pairs && (p->terms & (K_DOTS | K_COMPLEX))) p->terms |= K_PAIRS;
    return imaginary && !wisp_type_is_complex(type) ? WISP_ERR_ARG : WISP_OK;
}

/* The factors of a term, one for each column, as kernels take them; there is room for those of a place, too. */
static void set_factors(wisp__spmmv_params *p, wisp_type type, int set, const wisp__factor_source *f, void *factors)
{
    const size_t bytes = (size_t)p->reals * (size_t)p->real_bytes;
    char *at = (char *)factors + 2 * (size_t)set * bytes;
    if (f->f)
        wisp__spread(type, f->f, true, p->width, (int)p->reals, at, at + bytes);
    else
        memset(at, 0, 2 * bytes);
    p->factors[set] = at;
    p->factors_at[set] = f->at;
}

/* The blocks as the kernel takes them. Kernels with constants may read a row of x for a dot that nobody asked for: of a
   matrix that is not square, y stands for it, which has all of these rows. */
static void set_blocks(wisp__sweep *s)
{
    const wisp_blk *x = s->x, *u = s->terms & (WISP_ADD | WISP_DOT_UY) ? s->u : NULL;
    const wisp_blk *own = s->A->map == s->A->col_map ? x : s->y;
    const int reals = wisp__reals(x->type);
    s->p = (wisp__spmmv_params){.a = s->A->entries,
                                .gather = wisp__at(x),
                                .x = wisp__at(own),
                                .y = wisp__at(s->y),
                                .prev = wisp__at(s->prev),
                                .u = u ? wisp__at(u) : NULL,
                                .ld_gather = x->stride * reals,
                                .ld_x = own->stride * reals,
                                .ld_y = s->y->stride * reals,
                                .ld_prev = s->prev->stride * reals,
                                .ld_u = u ? u->stride * reals : 0,
                                .width = x->width,
                                .reals = reals * x->width,
                                .real_bytes = (int)wisp_type_size(wisp__real_type(x->type))};
}

static void set_chains(wisp__spmmv_params *p, const wisp__sums *sums)
{
    for (int i = 0; i < sums->count; i++) {
        const wisp_blk *z = sums->z[i];
        sums->chain[i] =
            (wisp__chain){wisp__at(z), z->stride * wisp__reals(z->type), {sums->eta[i].re, sums->eta[i].im}};
    }
    p->chain = sums->chain;
    p->chains = sums->count;
}

wisp_status wisp__sweep_set(wisp__sweep *s, const char *op, const wisp_mat *A, wisp_blk *y, const wisp_blk *x,
                            const wisp_blk *prev, const wisp_aug *aug, const wisp__sums *sums, void *factors)
{
    const wisp_place none = {0};
    wisp__factor_source f[K_FACTOR_SETS];
    wisp_status status;
    WISP_TRY(wisp__factors_of(A->ctx, op, aug->shift, aug->terms & WISP_SHIFT ? aug->shift_at : none, x->width,
                              f + K_FACTORS_SHIFT));
    WISP_TRY(wisp__factors_of(A->ctx, op, aug->add, aug->terms & WISP_ADD ? aug->add_at : none, x->width,
                              f + K_FACTORS_ADD));
    s->blocks = 0;
    s->A = A, s->y = y, s->z = sums->z, s->x = x, s->prev = prev, s->u = aug->u, s->terms = aug->terms;
    /* Before any address is looked up: x may move, and its memory's views. */
    if (A->halo) WISP_TRY(wisp__halo_room(A->halo, x));
    set_blocks(s);
    set_chains(&s->p, sums);
    if (set_terms(&s->p, aug, f, A->type, x->type) != WISP_OK)
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "%s: a complex factor for a real block", op);
    if (s->p.terms & K_ADD) set_factors(&s->p, x->type, K_FACTORS_ADD, f + K_FACTORS_ADD, factors);
    if (s->p.terms & K_SHIFT) set_factors(&s->p, x->type, K_FACTORS_SHIFT, f + K_FACTORS_SHIFT, factors);
out:
    return status;
}

wisp__step wisp__sweep_as_step(wisp__sweep *s, double *dot)
{
    const wisp__key key = wisp__sweep_key(s, &s->p);
    return (wisp__step){s->A->ctx->backend->find_spmmv(s->A->ctx, &key, &s->p.a), &s->p,
                        s->p.terms & K_DOTS ? dot : NULL};
}

wisp_status wisp__sweep_run(const wisp__sweep *s, double *dot)
{
    const wisp_mat *A = s->A;
    wisp_ctx *ctx = A->ctx;
    const wisp__backend *backend = ctx->backend;
    const size_t dot_size = wisp__dot_size(s->x, s->terms);
    wisp_status status;
    if (wisp__operator_of(A)) return wisp__sweep_apply(s, dot);
    if (!(s->p.terms & K_DOTS)) dot = NULL;
    const wisp__key key = wisp__sweep_key(s, &s->p);
    const wisp__half_mat *half = wisp__half_of(A);
    if (half) return backend->launch_half(ctx, &key, &s->p, &half->h, dot, dot_size);
    if (A->halo) return wisp__sweep_with_halo(s, dot, dot_size);
    const wisp__kernel kernel = backend->find_spmmv(ctx, &key, &s->p.a);
    wisp__grid grid = A->grid;
    if (s->blocks) {
        grid.blocks = s->blocks;
        grid.chunks = WISP__MIN(grid.chunks, s->blocks * grid.chunks_per_block);
    }
    WISP_TRY(backend->launch_spmmv(ctx, kernel, &s->p, &grid, 0, grid.blocks, dot ? dot_size : 0));
    if (dot) status = backend->finish_dots(ctx, &grid, dot, dot_size);
out:
    return status;
}

void wisp__dots_out(unsigned terms, int width, const double *sum, wisp_scalar *dot)
{
    static const unsigned term[K_DOT_SETS] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY, WISP_DOT_UY};
    for (int t = 0; t < K_DOT_SETS; t++)
        for (int j = 0; (terms & term[t]) && j < width; j++) {
            const double *d = sum + 2 * (t * width + j);
            dot[t * width + j] = (wisp_scalar){d[0], d[1]};
        }
}
