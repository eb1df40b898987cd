/* Plane waves on the rows of a matrix, by their positions: the start vectors of A(k, E). */
#include "../solver.h"
#include <math.h>

typedef struct {
    const wisp_positions *at;
    const double *k;
    const int *orbital;
    wisp_type type;
} waves;

static int orbital_of(const wisp_positions *p, int64_t row)
{
    return p->orbital ? p->orbital(p->arg, row) : (int)(row % p->orbitals);
}

static int value(void *arg, int64_t row, int column, void *val)
{
    const waves *w = arg;
    const double *k = w->k + 3 * column;
    const int wanted = w->orbital ? w->orbital[column] : -1;
    double xyz[3] = {0};
    wisp_scalar v = {0, 0};
    if (wanted < 0 || orbital_of(w->at, row) == wanted) {
        if (w->at->at(w->at->arg, row, xyz)) return -1;
        const double phase = k[0] * xyz[0] + k[1] * xyz[1] + k[2] * xyz[2];
        v = (wisp_scalar){cos(phase), sin(phase)};
    }
    wisp__put(w->type, val, 0, v);
    return 0;
}

static wisp_status check(const wisp_blk *x, const waves *w)
{
    wisp_ctx *ctx = wisp_blk_ctx(x);
    const int64_t rows = wisp_map_rows(wisp_blk_map(x));
    if (!wisp_type_is_complex(w->type))
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "plane waves are complex, and the block is %s",
                              wisp_type_name(w->type));
    if (w->at->rows != rows)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "there are %lld positions for %lld rows", (long long)w->at->rows,
                              (long long)rows);
    for (int j = 0; j < wisp_blk_width(x); j++) {
        for (int d = 0; d < 3; d++)
            if (!isfinite(w->k[3 * j + d]))
                return wisp_ctx_failf(ctx, WISP_ERR_ARG, "k of plane wave %d is not finite", j);
        if (w->orbital && w->orbital[j] >= w->at->orbitals)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "plane wave %d: there is no orbital %d; there are %d", j,
                                  w->orbital[j], w->at->orbitals);
    }
    return WISP_OK;
}

static wisp_status normalise(wisp_blk *x)
{
    wisp_ctx *ctx = wisp_blk_ctx(x);
    const int width = wisp_blk_width(x);
    double *norm = NULL;
    wisp_scalar *factor = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &norm, (size_t)width, sizeof *norm));
    WISP_TRY(wisp_alloc(ctx, &factor, (size_t)width, sizeof *factor));
    WISP_TRY(wisp_norm(x, norm));
    for (int j = 0; j < width; j++) factor[j] = (wisp_scalar){norm[j] > 0 ? 1 / norm[j] : 0, 0};
    status = wisp_vscal(x, factor);
out:
    wisp_free(ctx, norm);
    wisp_free(ctx, factor);
    return status;
}

wisp_status wisp_blk_fill_waves(wisp_blk *x, const wisp_positions *positions, const double *k, const int *orbital)
{
    wisp_status status;
    WISP_NEED(NULL, x);
    wisp_ctx *ctx = wisp_blk_ctx(x);
    WISP_NEED(ctx, positions);
    WISP_NEED(ctx, k);
    waves w = {positions, k, orbital, wisp_blk_type(x)};
    wisp_ctx_enter(ctx);
    WISP_TRY(check(x, &w));
    WISP_TRY(wisp_blk_fill_fn(x, value, &w));
    status = normalise(x);
out:
    return wisp_ctx_leave(ctx, status);
}

/* The correction lies in the span of the periodic vectors a_i: sum over i of c_i a_i, with the products with each a_j
   that are missing to whole turns. */
wisp_status wisp_positions_fit_wave(const wisp_positions *positions, double *k)
{
    double g[3][4];
    int n = 0, of[3];
    WISP_NEED(NULL, positions);
    WISP_NEED(NULL, k);
    for (int i = 0; i < 3; i++)
        if (positions->periodic >> i & 1) of[n++] = i;
    for (int i = 0; i < n; i++) {
        const double *a = positions->cell[of[i]];
        const double turns = (k[0] * a[0] + k[1] * a[1] + k[2] * a[2]) / (2 * M_PI);
        for (int j = 0; j < n; j++) {
            const double *b = positions->cell[of[j]];
            g[i][j] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        }
        g[i][n] = 2 * M_PI * (nearbyint(turns) - turns);
    }
    for (int i = 0; i < n; i++) { /* Gauss's elimination: the matrix is positive definite */
        if (!(g[i][i] > 0)) return WISP_ERR_ARG;
        for (int r = 0; r < n; r++) {
            const double f = r == i ? 0 : g[r][i] / g[i][i];
            for (int c = i; c <= n; c++) g[r][c] -= f * g[i][c];
        }
    }
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++) k[d] += g[i][n] / g[i][i] * positions->cell[of[i]][d];
    return WISP_OK;
}
