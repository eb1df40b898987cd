/* Sums of the vectors of one recurrence, several at once. Fused with the steps, as wisp_mpk has them, each sum is read
   and written with each term. Here some vectors are kept, and then all sums take their terms of them in one pass. A
   single sum takes those of the two blocks of the recurrence, so that none is kept for it: a step without sums and such
   a pass have kernels of their own, which a step with a sum has not. */
#include "solver.h"

struct wisp__bank {
    wisp_ctx *ctx;
    int sums, width;
    wisp_type type;
    bool little;  /* memory: no block is kept */
    bool checked; /* blocks and sums go together, and none overlaps */
    wisp_blk *kept[WISP__BANK_BLOCKS];
    wisp_update *update; /* [sums] */
    wisp_term *term;     /* [sums][1 + WISP__BANK] */
    wisp_scalar *factor; /* [sums][WISP__BANK][width] */
};

void wisp__bank_close(wisp__bank *b)
{
    if (!b) return;
    for (int i = 0; i < WISP__BANK_BLOCKS; i++) wisp_blk_free(b->kept[i]);
    wisp_free(b->ctx, b->update);
    wisp_free(b->ctx, b->term);
    wisp_free(b->ctx, b->factor);
    wisp_free(b->ctx, b);
}

wisp_status wisp__bank_open(wisp__bank **bank, const wisp_blk *v, int sums, bool little)
{
    wisp_ctx *ctx = wisp_blk_ctx(v);
    const int width = wisp_blk_width(v);
    wisp__bank *b = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &b, 1, sizeof *b));
    *b = (wisp__bank){.ctx = ctx, .sums = sums, .width = width, .type = wisp_blk_type(v), .little = little};
    WISP_TRY(wisp_alloc(ctx, &b->update, (size_t)sums, sizeof *b->update));
    WISP_TRY(wisp_alloc(ctx, &b->term, (size_t)sums * (1 + WISP__BANK), sizeof *b->term));
    WISP_TRY(wisp_alloc(ctx, &b->factor, (size_t)sums * WISP__BANK * (size_t)width, sizeof *b->factor));
    *bank = b;
    b = NULL;
out:
    wisp__bank_close(b);
    return status;
}

bool wisp__bank_fits(const wisp__bank *b, const wisp_blk *v)
{
    return b->width == wisp_blk_width(v) && b->type == wisp_blk_type(v);
}

/* Blocks are made when they are first of use. Without room for them two steps go at once: slower, and the same bits. */
wisp_status wisp__bank_most(wisp__bank *b, const wisp_blk *v, int sums, int *most)
{
    wisp_status status = WISP_OK;
    *most = WISP__BANK - WISP__BANK_BLOCKS;
    for (int i = 0; sums > 1 && !b->little && i < WISP__BANK_BLOCKS && status == WISP_OK; i++)
        if (!b->kept[i])
            status = wisp_blk_create(&b->kept[i], b->ctx, wisp_blk_map(v), wisp_blk_type(v), wisp_blk_width(v));
    if (status == WISP_ERR_NOMEM) {
        for (int i = 0; i < WISP__BANK_BLOCKS; i++) wisp_blk_free(b->kept[i]), b->kept[i] = NULL;
        b->little = true;
        status = WISP_OK;
    }
    if (status == WISP_OK && sums > 1 && !b->little) *most = WISP__BANK;
    return status;
}

/* z_i = z_i + sum over k of eta_ik v_k+1; v[] as wisp_mpk has stored them. */
static wisp_status add_terms(wisp__bank *b, wisp_blk *const *v, int stored, const wisp_mpk_opts *o)
{
    int updates = 0;
    for (int i = 0; i < o->sums; i++) {
        wisp_term *term = b->term + (size_t)i * (1 + WISP__BANK);
        int terms = 1;
        term[0] = (wisp_term){.x = o->z[i]};
        for (int k = 0; k < o->steps; k++) {
            const wisp_scalar eta = o->eta[i * o->steps + k];
            wisp_scalar *factor = b->factor + ((size_t)i * WISP__BANK + (size_t)k) * (size_t)b->width;
            if (eta.re == 0 && eta.im == 0) continue;
            for (int j = 0; j < b->width; j++) factor[j] = eta;
            term[terms++] = (wisp_term){.x = v[(k + 2) % stored], .factor = factor};
        }
        if (terms > 1) b->update[updates++] = (wisp_update){.y = o->z[i], .terms = terms, .term = term};
    }
    return updates > 0 ? wisp_fuse(b->update, updates, NULL, 0, 0) : WISP_OK;
}

/* With as many blocks as steps all vectors are there at the end, and the last two where the first two were. */
wisp_status wisp__bank_steps(wisp__bank *b, wisp_blk *const v[2], const wisp_mat *A, const wisp_mpk_opts *o)
{
    const int stored = o->steps > 2 ? o->steps : 2;
    wisp_blk *all[WISP__BANK] = {v[0], v[1]};
    wisp_mpk_opts steps = *o, none = *o;
    wisp_status status = WISP_OK;
    none.steps = 0;
    if (!b->checked) WISP_TRY(wisp_mpk(v, 2, A, &none));
    b->checked = true;
    for (int i = 2; i < stored; i++) all[i] = b->kept[i - 2];
    steps.sums = 0, steps.z = NULL, steps.eta = NULL;
    WISP_TRY(wisp_mpk(all, stored, A, &steps));
    status = add_terms(b, all, stored, o);
out:
    return status;
}

double wisp__bank_bytes(int width, int sums)
{
    const double terms = (1.0 + WISP__BANK) * sizeof(wisp_term) + (double)WISP__BANK * width * sizeof(wisp_scalar);
    return sizeof(wisp__bank) + sums * (sizeof(wisp_update) + terms);
}
