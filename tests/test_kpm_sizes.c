/* Moments of very small and very large numbers: what double precision can't hold is refused, and error bars go with the
   moments, whatever their size. */
#include <float.h>
#include "kpm_sides.h"

enum { N = 24, COLUMNS = 5 };

static double largest_of(const wisp_moments *m, int64_t vector)
{
    double largest = 0;
    for (int64_t i = vector * m->n; i < (vector + 1) * m->n; i++)
        largest = fmax(largest, fmax(fabs(m->mu[i]), m->imag ? fabs(m->imag[i]) : 0));
    return largest;
}

/* Scaled by powers of 2, column by column, vectors are refused from where on the largest moment of one of them has lost
   digits, and not before; till then each moment is that of the plain vectors times the power, rounded once. */
static void too_small(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type type[] = {WISP_D, WISP_Z};
    ref_rng r = {17};
    const int cases = ref_few() ? 24 : 80; /* each type, side and width, three times or ten */
    int refused = 0, taken = 0;
    for (int c = 0; c < cases; c++) {
        const wisp_type t = type[c % 2];
        sides_case sides = {.mat = t, .blk = t, .B = t, .n = N, .vectors = COLUMNS, .width = 1 + c % 4};
        sides.left = c / 2 % 2;
        setting s = open_setting(ctx, &r, &sides);
        wisp_kpm_opts o = opts_of(&sides, &s);
        wisp_moments plain, m;
        wisp_scalar factor[COLUMNS];
        int by[COLUMNS];
        const int small = (int)ref_below(&r, COLUMNS);
        REF_OK(ctx, wisp_kpm(&plain, s.A, &o));
        for (int j = 0; j < COLUMNS; j++) {
            const int e = j == small ? -480 - (int)ref_below(&r, 60) : -(int)ref_below(&r, 400);
            factor[j] = (wisp_scalar){ldexp(1, e), 0};
            by[j] = sides.left ? e - 500 : 2 * e;
            if (sides.left && j != small) by[j] = e - 400;
        }
        REF_OK(ctx, wisp_vscal(s.right, factor));
        for (int j = 0; j < COLUMNS; j++) factor[j] = (wisp_scalar){ldexp(1, j == small ? -500 : -400), 0};
        if (sides.left) REF_OK(ctx, wisp_vscal(s.left, factor));
        o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = plain.bounds};
        const wisp_status status = wisp_kpm(&m, s.A, &o);
        if (ldexp(largest_of(&plain, small), by[small]) < DBL_MIN) {
            char says[64];
            snprintf(says, sizeof says, "moments of vector %d are too small", small);
            REF_FAILS(ctx, status, WISP_ERR_NUMERIC, says);
            refused++;
        } else {
            REF_OK(ctx, status);
            for (int64_t i = 0; i < COLUMNS * N; i++)
                assert_true(m.mu[i] == ldexp(plain.mu[i], by[i / N]) &&
                            (!plain.imag || m.imag[i] == ldexp(plain.imag[i], by[i / N])));
            wisp_moments_free(&m);
            taken++;
        }
        wisp_moments_free(&plain);
        close_setting(&s);
    }
    assert_true(refused > cases / 8 && taken > cases / 8);
}

/* Sums of squares of 1e170 are beyond double precision, those of 1e-170 are nothing. */
static void bars_of_any_size(void **state)
{
    wisp_ctx *ctx = *state;
    enum { POINTS = 40, MOST = 565 };
    static const int fixed[] = {MOST, -MOST, 520, -520};
    ref_rng r = {23};
    wisp_mat *A = mat_of_spec(ctx, "anderson:nx=5,ny=4,nz=3,disorder=2", NULL);
    for (int c = 0; c < 24; c++) {
        const int e = c < 4 ? fixed[c] : (int)ref_below(&r, 2 * MOST) - MOST;
        const wisp_eval_opts how = {.kernel = c % 2 ? WISP_LORENTZ : WISP_JACKSON};
        wisp_kpm_opts o = {.moments = N, .vectors = 2 + (int64_t)ref_below(&r, 20), .seed = (uint64_t)c};
        wisp_moments m;
        double energy[POINTS], mean[2][N], error[2][N], dos[2][POINTS], bar[2][POINTS], low[2][POINTS], high[2][POINTS];
        double count[2], off[2];
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        wisp_energies(&m.bounds, POINTS, energy);
        for (int i = 0; i < 2; i++) {
            for (int64_t k = 0; i && k < m.vectors * N; k++) m.mu[k] = ldexp(m.mu[k], e);
            REF_OK(ctx, wisp_moments_mean(ctx, &m, WISP_REAL_PART, mean[i], error[i]));
            REF_OK(ctx, wisp_dos(ctx, &m, &how, -1, POINTS, energy, dos[i], bar[i]));
            REF_OK(ctx, wisp_count(ctx, &m, &how, -1, energy[3], energy[30], &count[i], &off[i]));
            wisp_bars95(&m, &how, POINTS, dos[i], bar[i], low[i], high[i]);
        }
        for (int k = 0; k < N; k++)
            assert_true(mean[1][k] == ldexp(mean[0][k], e) && error[1][k] == ldexp(error[0][k], e));
        for (int k = 0; k < POINTS; k++) {
            assert_true(bar[0][k] > 0 && dos[1][k] == ldexp(dos[0][k], e) && bar[1][k] == ldexp(bar[0][k], e));
            assert_true(low[1][k] == ldexp(low[0][k], e) && high[1][k] == ldexp(high[0][k], e));
        }
        assert_true(off[0] > 0 && count[1] == ldexp(count[0], e) && off[1] == ldexp(off[0], e));
        wisp_moments_free(&m);
    }
    wisp_mat_free(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_small), cmocka_unit_test(bars_of_any_size)};
    return REF_RUN_ALL(tests);
}
