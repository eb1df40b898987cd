/* The smallest singular values of a matrix that is far from square. In B they lie among |rows - columns| zeros; those
   of A^H A, or of A A^H where that is smaller, lie at the lower end of its spectrum. Its products are two of B, in
   units of |B|; on the other side's rows the operator is 1, which is above all that is asked for. */
#include "svd.h"
#include <stdlib.h>

struct wisp__gram {
    wisp__svd *s;
    int inner, outer; /* sides: with fewer rows, with more */
    double size;      /* |B|, scaled */
    wisp_mat *C;
    wisp_blk *x, *y; /* of one width */
};

static wisp_status blocks_like(wisp__gram *g, const wisp_blk *x)
{
    wisp_status status = WISP_OK;
    const int width = wisp_blk_width(x);
    if (g->x && wisp_blk_width(g->x) == width && wisp_blk_type(g->x) == wisp_blk_type(x)) return WISP_OK;
    wisp_blk_free(g->x), wisp_blk_free(g->y);
    g->x = g->y = NULL;
    WISP_TRY(wisp_blk_create(&g->x, g->s->ctx, wisp_mat_map(g->s->B), wisp_blk_type(x), width));
    WISP_TRY(wisp_blk_create(&g->y, g->s->ctx, wisp_mat_map(g->s->B), wisp_blk_type(x), width));
out:
    return status;
}

static wisp_status apply(void *arg, wisp_blk *y, const wisp_blk *x)
{
    wisp__gram *g = arg;
    const wisp__svd *s = g->s;
    wisp_status status;
    WISP_TRY(blocks_like(g, x));
    WISP_TRY(wisp__svd_part(s, g->inner, g->x, x));
    WISP_TRY(wisp__svd_multiply(s, g->y, g->x));
    WISP_TRY(wisp_scal(g->y, wisp__real(1 / g->size)));
    WISP_TRY(wisp__svd_multiply(s, y, g->y));
    WISP_TRY(wisp__svd_part(s, g->outer, g->x, x));
    WISP_TRY(wisp_axpby(y, wisp__real(1), g->x, wisp__real(1 / g->size)));
out:
    return status;
}

static void cost(void *arg, wisp_type type, int width, wisp_cost *c)
{
    const wisp__gram *g = arg;
    if (wisp_spmmv_cost(g->s->B, type, width, WISP_SCALE, c) != WISP_OK) return;
    c->bytes *= 2, c->flops *= 2;
}

wisp_status wisp__svd_gram_open(wisp__svd *s)
{
    wisp_status status;
    wisp_bounds b;
    wisp__gram *g = NULL;
    const wisp_bounds_opts o = wisp__bounds_opts(&s->given.bounds, s->given.seed, 0, 0, 4);
    if (s->gram) return WISP_OK;
    WISP_TRY(wisp_alloc(s->ctx, &s->gram, 1, sizeof *s->gram));
    g = s->gram;
    g->s = s;
    g->inner = wisp__svd_inner(s);
    g->outer = !g->inner;
    WISP_TRY(wisp__hermitian_bounds(&b, s->B, &o));
    s->norm = fabs(b.center) + b.halfwidth;
    s->exponent = s->norm > 0 ? -ilogb(s->norm) : 0;
    g->size = s->norm > 0 ? ldexp(s->norm, s->exponent) : 1;
    const wisp_operator op = {.map = wisp_mat_map(s->B), .type = s->type, .apply = apply, .arg = g, .cost = cost};
    status = wisp_mat_from_apply(&g->C, s->ctx, &op);
out:
    return status;
}

const wisp_mat *wisp__svd_gram(const wisp__svd *s) { return s->gram->C; }

void wisp__svd_gram_close(wisp__svd *s)
{
    if (!s->gram) return;
    wisp_mat_free(s->gram->C);
    wisp_blk_free(s->gram->x), wisp_blk_free(s->gram->y);
    wisp_free(s->ctx, s->gram);
    s->gram = NULL;
}
