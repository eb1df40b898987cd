/* The Hall conductivity of Haldane's model on the infinite lattice, in its gap and beside it: of many wave vectors,
   each a matrix of two rows, so that the exact value is a sum over filled states. */
#include "kpm_sides.h"
#include <math.h>

enum { WAVES = 128 }; /* along each side of a cell of the reciprocal lattice */

#define AREA (1.5 * sqrt(3) * WAVES * WAVES)
#define HALF 3.1 /* of the bounds, around 0 */

/* Of the wave k: [[diagonal, beside], [conj(beside), -diagonal]], bonds of length 1, hopping -1, t2 = 0.1, phi = pi/2,
   M = 0. Direction -1: H; 0, 1: its derivatives by k along x and y. */
static void cell_matrix(int direction, double kx, double ky, cplx *diagonal, cplx *beside)
{
    static const double d[3][2] = {{1, 0}, {-0.5, 0.86602540378443865}, {-0.5, -0.86602540378443865}};
    *diagonal = *beside = 0;
    for (int i = 0; i < 3; i++) {
        const double *p = d[(i + 1) % 3], *q = d[(i + 2) % 3], b[2] = {p[0] - q[0], p[1] - q[1]};
        const double near = kx * d[i][0] + ky * d[i][1], far = kx * b[0] + ky * b[1];
        *beside -= cexp(I * near) * (direction < 0 ? 1 : I * d[i][direction]);
        *diagonal -= 0.2 * (direction < 0 ? sin(far) : cos(far) * b[direction]);
    }
}

/* k . a is a half-integer number of WAVES-th turns for both lattice vectors, (3/2, +-sqrt(3)/2). */
static void wave_matrix(int direction, int64_t wave, cplx *diagonal, cplx *beside)
{
    const double turn = 2 * acos(-1) / WAVES, u = turn * ((double)(wave / WAVES) + 0.5),
                 v = turn * ((double)(wave % WAVES) + 0.5);
    cell_matrix(direction, (u + v) / 3, (u - v) / sqrt(3), diagonal, beside);
}

/* Rows 2 w and 2 w + 1 are those of wave w. */
static int bloch_row(void *arg, int64_t row, int64_t *col, cplx *val)
{
    cplx diagonal, beside;
    wave_matrix(*(const int *)arg, row / 2, &diagonal, &beside);
    col[0] = row;
    val[0] = row % 2 ? -diagonal : diagonal;
    col[1] = row ^ 1;
    val[1] = row % 2 ? conj(beside) : beside;
    return 2;
}

static wisp_mat *bloch_mat(wisp_ctx *ctx, int direction, wisp_map *map)
{
    wisp_mat *A;
    wisp_src src = ref_rows_src(WISP_Z, 2LL * WAVES * WAVES, 2LL * WAVES * WAVES, 2, bloch_row, &direction);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.map = map}));
    wisp_src_close(&src);
    return A;
}

static void moments_of(wisp_ctx *ctx, int64_t M, int64_t vectors, wisp_moments *m)
{
    const wisp_bounds_opts bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0, HALF, NAN}};
    wisp_mat *A = bloch_mat(ctx, -1, NULL), *Vx = bloch_mat(ctx, 0, wisp_mat_map(A)),
             *Vy = bloch_mat(ctx, 1, wisp_mat_map(A));
    REF_OK(ctx, wisp_kubo(m, A, Vx, Vy, &(wisp_kubo_opts){.moments = M, .vectors = vectors, .bounds = bounds}));
    wisp_mat_free(Vy), wisp_mat_free(Vx), wisp_mat_free(A);
}

/* In the gap, with Jackson's kernel of 64, 128, 256 moments; 1 is exact. Rows of different waves have nothing in
   common, so random vectors make hardly an error there. */
static void gap(void **state)
{
    static const double exact[] = {1.0555, 1.0138, 1.0035};
    const int count = ref_few() ? 1 : 3;
    for (int i = 0; i < count; i++) {
        wisp_moments m;
        wisp_estimate s;
        moments_of(*state, 64 << i, 2, &m);
        REF_OK(*state, wisp_sigma(*state, &m, &(wisp_sigma_opts){.volume = AREA}, 0, 1, (double[]){0}, &s));
        if (!(fabs(s.value - exact[i]) < 1e-4 + 4 * s.error) || !(s.error < 0.003))
            fail_msg("%d moments: sigma_xy %.5f +- %.5f, not %.4f", 64 << i, s.value, s.error, exact[i]);
        wisp_moments_free(&m);
    }
}

/* The exact Gamma_jk: sums over all waves and both levels of each, +-e. With V = v in the levels' basis it is the sum
   over a and b of v^x_ab v^y_ba T_j(e_b) T_k(e_a). */
static void exact_moments(wisp_moments *m)
{
    enum { M = 128 };
    double T[M];
    memset(m->mu, 0, M * M * sizeof *m->mu);
    memset(m->imag, 0, M * M * sizeof *m->imag);
    for (int64_t wave = 0; wave < WAVES * WAVES; wave++) {
        cplx H[2], V[2][2], level[2][2], v[2][2][2];
        wave_matrix(-1, wave, &H[0], &H[1]);
        for (int d = 0; d < 2; d++) wave_matrix(d, wave, &V[d][0], &V[d][1]);
        const double e = hypot(creal(H[0]), cabs(H[1])), cosine = creal(H[0]) / e;
        const cplx phase = conj(H[1]) / cabs(H[1]);
        level[0][0] = sqrt((1 + cosine) / 2), level[0][1] = phase * sqrt((1 - cosine) / 2); /* of +e */
        level[1][0] = -sqrt((1 - cosine) / 2), level[1][1] = phase * sqrt((1 + cosine) / 2);
        for (int d = 0; d < 2; d++)
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++) {
                    const cplx *l = level[a], *r = level[b];
                    v[d][a][b] = conj(l[0]) * (V[d][0] * r[0] + V[d][1] * r[1]) +
                                 conj(l[1]) * (conj(V[d][1]) * r[0] - V[d][0] * r[1]);
                }
        cplx w[2][2] = {{0}}; /* of even and odd j and k: T_j(-e) = -T_j(e) of odd ones */
        for (int i = 0; i < 16; i++) {
            const int a = i & 1, b = i >> 1 & 1, j = i >> 2 & 1, k = i >> 3;
            w[j][k] += v[0][a][b] * v[1][b][a] * ((a && k) != (b && j) ? -1 : 1);
        }
        for (int j = 0; j < M; j++) T[j] = cos(j * acos(e / HALF));
        for (int j = 0; j < M; j++)
            for (int k = 0; k < M; k++) {
                m->mu[j * M + k] += creal(w[j % 2][k % 2]) * T[j] * T[k];
                m->imag[j * M + k] += cimag(w[j % 2][k % 2]) * T[j] * T[k];
            }
    }
}

/* Beside the gap it is no integer. Of 128 moments values are off by as much as the kernel smears. */
static void beside_gap(void **state)
{
    static const double mu[] = {0, 0.6, 1, 1.5}, kernel[] = {1.01384, 0.83074, 0.28142, 0.04110},
                        exact[] = {1, 0.83343, 0.27877, 0.04030};
    wisp_ctx *ctx = *state;
    wisp_moments m;
    wisp_estimate s[4];
    moments_of(ctx, 128, 1, &m);
    exact_moments(&m);
    REF_OK(ctx, wisp_sigma(ctx, &m, &(wisp_sigma_opts){.volume = AREA}, 0, 4, mu, s));
    for (int i = 0; i < 4; i++)
        if (!(fabs(s[i].value - kernel[i]) < 3e-4) || !(fabs(s[i].value - exact[i]) < 0.015))
            fail_msg("at %g: sigma_xy %.5f, not %.5f (without a kernel %.5f)", mu[i], s[i].value, kernel[i], exact[i]);
    wisp_moments_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gap), cmocka_unit_test(beside_gap)};
    return REF_RUN_ALL(tests);
}
