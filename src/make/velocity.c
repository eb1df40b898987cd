/* Velocities i [H, x] as sources: each row of H with the steps of its bonds. */
#include "../data/rows.h"
#include "bonds.h"
#include <math.h>
#include <string.h>

typedef struct {
    wisp__bonds b;
    bool real_form;
} velocity;

static bool distance(const wisp__bonds *b, int64_t row, int64_t col, double *d)
{
    double step[3] = {0};
    *d = 0;
    if (row == col) return true;
    if (wisp__image_step(&b->image, row, col, step) != WISP__IMAGE_FOUND) return false;
    for (int k = 0; k < 3; k++) *d += b->image.direction[k] * step[k];
    return true;
}

static bool entry(const wisp__bonds *b, int64_t row, int64_t col, wisp_scalar *x)
{
    double d;
    if (!distance(b, row, col, &d)) return false;
    *x = d == 0                             ? (wisp_scalar){0, 0}
         : ((const velocity *)b)->real_form ? (wisp_scalar){x->re * d, 0}
                                            : (wisp_scalar){-x->im * d, x->re * d};
    return true;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static wisp_status check(wisp_ctx *ctx, const wisp_src *h, const double direction[3], wisp_velocity form)
{
    if (form != WISP_VELOCITY && form != WISP_VELOCITY_REAL)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "wisp_src_velocity: there is no such form");
    if (form == WISP_VELOCITY_REAL && wisp_type_is_complex(h->type))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "wisp_src_velocity: WISP_VELOCITY_REAL is for real matrices, and this one is complex");
    for (int d = 0; d < 3; d++)
        if (!isfinite(direction[d]))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the direction of a velocity is not finite");
    return WISP_OK;
}

wisp_status wisp_src_velocity(wisp_src *src, wisp_ctx *ctx, const wisp_src *h, const wisp_positions *positions,
                              const double *direction, wisp_velocity form)
{
    velocity *v = NULL;
    wisp_status status;
    WISP_NEED(ctx, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, h);
    WISP_NEED(ctx, positions);
    WISP_NEED(ctx, direction);
    wisp_ctx_enter(ctx);
    WISP_TRY(check(ctx, h, direction, form));
    WISP_TRY(wisp__image_fits(ctx, h, positions));
    WISP_TRY(wisp_alloc(ctx, &v, 1, sizeof *v));
    v->real_form = form == WISP_VELOCITY_REAL;
    const wisp_type type = wisp__type_of(v->real_form ? 1 : 2, wisp__type_is_double(h->type));
    v->b = (wisp__bonds){.ctx = ctx, .h = *h, .type = type, .entry = entry};
    wisp__image_make(&v->b.image, positions, direction);
    status = wisp__image_look(ctx, &v->b.image, h);
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        wisp_free(ctx, v);
        return status;
    }
    wisp__bonds_open(src, &v->b);
    return WISP_OK;
}
