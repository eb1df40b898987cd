/* Velocities i [H, x] as sources: each row of H with the steps of its bonds. */
#include "../data/rows.h"
#include "image.h"
#include <math.h>
#include <string.h>

typedef struct {
    wisp_ctx *ctx;
    wisp_src h;
    wisp_type type;
    bool real_form;
    wisp__image image;
} velocity;

static bool distance(const velocity *v, int64_t row, int64_t col, double *d)
{
    double step[3] = {0};
    *d = 0;
    if (row == col) return true;
    if (wisp__image_step(&v->image, row, col, step) != WISP__IMAGE_FOUND) return false;
    for (int k = 0; k < 3; k++) *d += v->image.direction[k] * step[k];
    return true;
}

/* Entries from number `begin` to `end` of val, where H wrote them in its type: from the last one down, for those of v
   may be longer. */
static bool multiply(const velocity *v, int64_t row, int64_t begin, int64_t end, const int64_t *col, void *val)
{
    const size_t from = wisp_type_size(v->h.type), to = wisp_type_size(v->type);
    for (int64_t k = end; k-- > begin;) {
        double d;
        if (!distance(v, row, col[k], &d)) return false;
        const wisp_scalar x = wisp__load(v->h.type, (const char *)val + (size_t)k * from);
        const wisp_scalar y = d == 0         ? (wisp_scalar){0, 0}
                              : v->real_form ? (wisp_scalar){x.re * d, 0}
                                             : (wisp_scalar){-x.im * d, x.re * d};
        wisp__store(v->type, (char *)val + (size_t)k * to, y);
    }
    return true;
}

static int one_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const velocity *v = arg;
    const int n = v->h.row(v->h.arg, row, col, val);
    if (!col || n < 0 || n > v->h.max_row) return n;
    return multiply(v, row, 0, n, col, val) ? n : -1;
}

static int64_t many_rows(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col,
                         void *val)
{
    const velocity *v = arg;
    const int64_t n = v->h.many(v->h.arg, first, count, room, rowptr, col, val);
    if (n < 0 || n > room || !col) return n;
    for (int64_t i = count; i-- > 0;)
        if (!multiply(v, first + i, rowptr[i], rowptr[i + 1], col, val)) return -1;
    return n;
}

static void free_velocity(void *arg)
{
    velocity *v = arg;
    wisp_free(v->ctx, v);
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static wisp_type type_of(wisp_type type, bool real_form)
{
    const bool wide = type == WISP_D || type == WISP_Z;
    return real_form ? (wide ? WISP_D : WISP_S) : wide ? WISP_Z : WISP_C;
}

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
    v->ctx = ctx;
    v->h = *h;
    v->real_form = form == WISP_VELOCITY_REAL;
    v->type = type_of(h->type, v->real_form);
    wisp__image_make(&v->image, positions, direction);
    status = wisp__image_look(ctx, &v->image, h);
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        wisp_free(ctx, v);
        return status;
    }
    *src = *h;
    src->type = v->type;
    src->row = h->row ? one_row : NULL;
    src->many = h->many ? many_rows : NULL;
    src->arg = v;
    src->free_arg = free_velocity;
    return WISP_OK;
}
