/* A magnetic field on any source with positions: Peierls' phases.
 *
 * With u, v the coordinates in the plane and F the flux of a unit of both, the vector potential is F u along v. The way
 * from c to r turns the entry h_rc by F (u_c + du/2) dv, for the step du, dv. Where that leads n times around along u,
 * the state there is the one at home turned by F n v_r, which is taken back. So F must be a whole number where both
 * directions are periodic; where one is, it is v. */
#include "../data/rows.h"
#include "bonds.h"
#include <math.h>
#include <string.h>

typedef struct {
    wisp__bonds b;
    double e[2][2]; /* of u and v: x, y */
    bool around;    /* u is periodic */
    double flux;
} peierls;

static void coordinates(const peierls *p, const double x[3], double *u, double *v)
{
    const double area = p->e[0][0] * p->e[1][1] - p->e[0][1] * p->e[1][0];
    *u = (x[0] * p->e[1][1] - x[1] * p->e[1][0]) / area;
    *v = (p->e[0][0] * x[1] - p->e[0][1] * x[0]) / area;
}

/* The phase of h_rc, for r < c, so that both ends of a bond find the same. */
static bool phase(const peierls *p, int64_t r, int64_t c, wisp_scalar *turn)
{
    double step[3] = {0}, at_c[3], at_r[3], uc, vc, ur, vr, du, dv;
    const wisp_positions *q = &p->b.image.p;
    if (wisp__image_step(&p->b.image, c, r, step) != WISP__IMAGE_FOUND) return false;
    if (q->at(q->arg, c, at_c) || q->at(q->arg, r, at_r)) return false;
    coordinates(p, at_c, &uc, &vc);
    coordinates(p, at_r, &ur, &vr);
    coordinates(p, step, &du, &dv);
    const double n = p->around ? rint(du - (ur - uc)) : 0, turns = p->flux * ((uc + du / 2) * dv - n * vr);
    const double angle = 2 * 3.14159265358979323846 * (turns - rint(turns));
    *turn = (wisp_scalar){cos(angle), sin(angle)};
    return true;
}

static bool entry(const wisp__bonds *b, int64_t row, int64_t col, wisp_scalar *x)
{
    wisp_scalar t;
    if (row == col) return true;
    if (!phase((const peierls *)b, WISP__MIN(row, col), WISP__MAX(row, col), &t)) return false;
    if (row > col) t.im = -t.im;
    *x = (wisp_scalar){x->re * t.re - x->im * t.im, x->re * t.im + x->im * t.re};
    return true;
}

/* The coordinates, and the flux of a unit of both. */
static wisp_status take_field(peierls *p, wisp_ctx *ctx, double field)
{
    const wisp_positions *q = &p->b.image.p;
    double v[3][3];
    int n = 0;
    for (int i = 0; i < q->dimensions; i++) {
        const double *a = q->cell[i];
        if (!(q->periodic >> i & 1) || (a[0] == 0 && a[1] == 0)) continue;
        if (a[2] != 0)
            return wisp_ctx_failf(
                ctx, WISP_ERR_UNSUPPORTED,
                "a field along z needs periodic cells whose vectors are along z or at right angles to "
                "it");
        memcpy(v[n++], a, sizeof v[0]);
    }
    if (n > 2) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the vectors of the periodic cell lie in one plane");
    p->e[0][0] = p->e[1][1] = 1;
    p->around = n == 2;
    if (n > 0) memcpy(p->e[1], v[n - 1], sizeof p->e[1]);
    if (n == 1) p->e[0][0] = v[0][1], p->e[0][1] = -v[0][0]; /* at right angles, so that u, v turn as x, y */
    if (n == 2) memcpy(p->e[0], v[0], sizeof p->e[0]);
    const double area = p->e[0][0] * p->e[1][1] - p->e[0][1] * p->e[1][0], whole = rint(field * area) + 0.0;
    p->flux = field * area;
    if (n == 2 && !(fabs(p->flux - whole) <= 1e-9 * fmax(1, fabs(whole))))
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "the flux through the periodic cell is %.10g quanta, and must be a whole number: the "
                              "nearest field that fits is %.17g, or open a boundary",
                              p->flux, whole / area);
    if (n == 2) p->flux = whole;
    return WISP_OK;
}

wisp_status wisp_src_peierls(wisp_src *src, wisp_ctx *ctx, const wisp_src *h, const wisp_positions *positions,
                             double field)
{
    peierls *p = NULL;
    wisp_status status;
    WISP_NEED(ctx, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, h);
    WISP_NEED(ctx, positions);
    if (!isfinite(field)) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "the field is not finite");
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__image_fits(ctx, h, positions));
    WISP_TRY(wisp_alloc(ctx, &p, 1, sizeof *p));
    const wisp_type type = wisp__type_of(2, wisp__type_is_double(h->type));
    p->b = (wisp__bonds){.ctx = ctx, .h = *h, .type = type, .entry = entry};
    wisp__image_make(&p->b.image, positions, NULL);
    WISP_TRY(take_field(p, ctx, field));
    status = wisp__image_look(ctx, &p->b.image, h);
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        wisp_free(ctx, p);
        return status;
    }
    wisp__bonds_open(src, &p->b);
    return WISP_OK;
}
