/* The augmented SpMMV: y = alpha (A - shift_j I) x + beta y; z = delta z + eta y; dots. Check, exchange, local
   part, remote part, reduction. */
#include "op.h"
#include <string.h>

static wisp_status check(const wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug)
{
    wisp_ctx *ctx = A->ctx;
    const unsigned known =
        WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_CHAIN | WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY | WISP_NOREDUCE;
    const wisp_blk *z = aug->terms & WISP_CHAIN ? aug->z : NULL;
    if (aug->terms & ~known) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spmmv: unknown terms 0x%x", aug->terms & ~known);
    if (x->map != A->col_map || y->map != A->map || (z && z->map != A->map))
        return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH,
                             "spmmv: x must be on the matrix's column map, y and z on its row map");
    if (x->nrows != A->col_map->local || y->nrows != A->map->local || (z && z->nrows != A->map->local))
        return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH, "spmmv: a view of some rows can't be multiplied");
    if (x->width != y->width || x->type != y->type || (z && (z->width != x->width || z->type != x->type)))
        return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH, "spmmv: x is %s of width %d, y %s of width %d%s",
                             wisp_type_name(x->type), x->width, wisp_type_name(y->type), y->width,
                             z ? ", z another" : "");
    if (wisp__combo_of(A->type, x->type) == WISP__COMBOS)
        return wisp_ctx_fail(ctx, WISP_ERR_UNSUPPORTED, "spmmv: a %s matrix can't be multiplied with a %s block",
                             wisp_type_name(A->type), wisp_type_name(x->type));
    if (wisp__overlap(x, y) || (z && (wisp__overlap(z, x) || wisp__overlap(z, y))))
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spmmv: x, y and z must not overlap");
    if ((aug->terms & WISP_CHAIN) && !z) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spmmv: the chain term needs z");
    if ((aug->terms & WISP_SHIFT) && !aug->shift) return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spmmv: no shifts given");
    if ((aug->terms & (WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY)) && !aug->dot)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spmmv: nowhere to put the dots");
    if ((aug->terms & (WISP_SHIFT | WISP_DOT_XX | WISP_DOT_XY)) && A->map != A->col_map)
        return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH, "spmmv: shift and dots with x need a square matrix");
    return WISP_OK;
}

/* Takes a scalar over; true if it has an imaginary part that counts. */
static bool take(double to[2], wisp_scalar from)
{
    to[0] = from.re;
    to[1] = from.im;
    return from.im != 0;
}

/* The kernel's terms and scalars: zero beta and delta become terms that are left out. */
static wisp_status set_terms(wisp__spmmv_params *p, const wisp_aug *aug, wisp_type type)
{
    bool imaginary = false;
    const unsigned t = aug->terms;
    p->terms = 0;
    if (t & WISP_SCALE) {
        p->terms |= K_SCALE;
        imaginary |= take(p->alpha, aug->alpha);
    }
    if (t & WISP_SHIFT) {
        p->terms |= K_SHIFT;
        for (int j = 0; j < p->width; j++) imaginary |= aug->shift[j].im != 0;
    }
    if ((t & WISP_AXPBY) && (aug->beta.re != 0 || aug->beta.im != 0)) {
        p->terms |= K_AXPBY;
        imaginary |= take(p->beta, aug->beta);
    }
    if (t & WISP_CHAIN) {
        p->terms |= K_CHAIN;
        imaginary |= take(p->eta, aug->eta);
        if (aug->delta.re != 0 || aug->delta.im != 0) {
            p->terms |= K_DELTA;
            imaginary |= take(p->delta, aug->delta);
        }
    }
    if (t & WISP_DOT_XX) p->terms |= K_DOT_XX;
    if (t & WISP_DOT_XY) p->terms |= K_DOT_XY;
    if (t & WISP_DOT_YY) p->terms |= K_DOT_YY;
    if (imaginary) p->terms |= K_COMPLEX;
    return imaginary && !wisp_type_is_complex(type) ? WISP_ERR_ARG : WISP_OK;
}

static void set_part(wisp__spmmv_params *p, const wisp__sell *s, const void *gather)
{
    p->chunk = s->chunk;
    p->row_len = s->row_len;
    p->padded = s->padded;
    p->entries = s->entries;
    p->col = s->col;
    p->short_col = s->short_col;
    p->val = s->val;
    p->code = s->code;
    p->pattern = s->pattern;
    p->fresh = s->fresh;
    p->diagonal = s->diagonal;
    p->gather = gather;
}

/* Whether y is better written past the caches: too large to be found there again, and in whole cache lines. */
static bool writes_past(const wisp_blk *y)
{
    enum { LINE = 64, LARGE = 64 << 20 };
    const int64_t size = (int64_t)wisp_type_size(y->type), row = y->stride * size;
    return y->nrows * row >= LARGE && (row % LINE == 0 || y->stride == 1) && (uintptr_t)y->data % LINE == 0;
}

/* One part of the matrix: finds the kernel and runs it on all chunks. */
static wisp_status launch(const wisp_mat *A, wisp__combo combo, const wisp__spmmv_params *p, double *partial,
                          size_t dot_size, void *spill, int64_t ld_spill)
{
    const wisp__backend *backend = A->ctx->backend;
    if (A->half)
        return backend->launch_half(A->ctx, combo, p, &A->half->h, p->terms & K_DOTS ? partial : NULL, dot_size, spill,
                                    ld_spill);
    const wisp__key key = {combo, p->width, A->log_c, p->terms, p->code || p->short_col};
    wisp__spmmv_fn fn = backend->find_spmmv(A->ctx, &key);
    return backend->launch_spmmv(A->ctx, fn, p, &A->grid, p->terms & K_DOTS ? partial : NULL, dot_size);
}

/* The dots of all blocks of work, and of all processes, to the caller. */
static wisp_status reduce(const wisp_mat *A, const wisp_aug *aug, double *partial, int width)
{
    const size_t size = 6 * (size_t)width;
    wisp_status status = WISP_OK;
    if (A->grid.blocks == 0) memset(partial, 0, size * sizeof *partial);
    wisp__tree_sum(partial, A->grid.blocks, size);
    if (!(aug->terms & WISP_NOREDUCE)) WISP_TRY(A->ctx->comm->sum(A->ctx, partial, size));
    static const unsigned term[3] = {WISP_DOT_XX, WISP_DOT_XY, WISP_DOT_YY};
    for (int t = 0; t < 3; t++)
        for (int j = 0; (aug->terms & term[t]) && j < width; j++) {
            const double *d = partial + 2 * (t * width + j);
            aug->dot[t * width + j] = (wisp_scalar){d[0], d[1]};
        }
out:
    return status;
}

wisp_status wisp_spmmv(wisp_blk *y, const wisp_mat *A, const wisp_blk *x, const wisp_aug *aug_or_null)
{
    static const wisp_aug plain = {0};
    const wisp_aug *aug = aug_or_null ? aug_or_null : &plain;
    wisp_ctx *ctx = A->ctx;
    const wisp__combo combo = wisp__combo_of(A->type, x->type);
    const int parts = wisp__parts(x->type), reals = parts * x->width;
    const size_t dot_size = 6 * (size_t)x->width, shift_bytes = 2 * (size_t)x->width * wisp_type_size(x->type);
    char *scratch;
    void *ticket = NULL;
    wisp_status status;
    WISP_TRY(check(y, A, x, aug));
    wisp__spmmv_params p = {.rows = A->map->local,
                            .log_c = A->log_c,
                            .x = x->data,
                            .y = y->data,
                            .z = aug->terms & WISP_CHAIN ? aug->z->data : NULL,
                            .ld_gather = x->stride * parts,
                            .ld_x = x->stride * parts,
                            .ld_y = y->stride * parts,
                            .ld_z = aug->terms & WISP_CHAIN ? aug->z->stride * parts : 0,
                            .width = x->width};
    if (set_terms(&p, aug, x->type) != WISP_OK)
        return wisp_ctx_fail(ctx, WISP_ERR_ARG, "spmmv: a complex factor for a real block");
    const bool dots = p.terms & K_DOTS;
    const size_t dot_bytes = dots ? (size_t)WISP__MAX(A->grid.blocks, 1) * dot_size * sizeof(double) : 0;
    /* Sums of blocks of rows for one another, when half of the matrix is stored: rows on cache lines of their own. */
    const size_t spill_at = (dot_bytes + shift_bytes + 63) / 64 * 64;
    const size_t spill_bytes = A->half ? (size_t)(A->half->h.slots * x->width) * wisp_type_size(x->type) : 0;
    WISP_TRY(wisp__scratch(ctx, &scratch, 1, spill_at + spill_bytes));
    if (p.terms & K_SHIFT) {
        wisp__spread(x->type, aug->shift, true, x->width, reals, scratch + dot_bytes,
                     scratch + dot_bytes + shift_bytes / 2);
        p.shift = scratch + dot_bytes;
    }

    WISP_TRY(ctx->comm->halo_start(ctx, A->col_map->plan, x->data, &ticket));
    p.past = !A->half && writes_past(y);
    const bool remote = A->remote.chunks > 0;
    const unsigned terms = p.terms, last = terms & (K_CHAIN | K_DELTA | K_DOTS); /* what needs the finished y */
    set_part(&p, &A->local, x->data);
    if (remote) p.terms &= ~last;
    status = launch(A, combo, &p, (double *)(void *)scratch, dot_size, scratch + spill_at, reals);
    wisp_status arrived = ctx->comm->halo_wait(ctx, ticket);
    if (status == WISP_OK) status = arrived;
    if (status == WISP_OK && remote) {
        set_part(&p, &A->remote, x->data + (size_t)(A->col_map->local * x->stride) * wisp_type_size(x->type));
        p.terms = last | (terms & (K_SCALE | K_COMPLEX)) | K_AXPBY;
        p.beta[0] = 1, p.beta[1] = 0;
        status = launch(A, combo, &p, (double *)(void *)scratch, dot_size, scratch + spill_at, reals);
    }
    if (status == WISP_OK && dots) status = reduce(A, aug, (double *)(void *)scratch, x->width);
out:
    return status;
}
