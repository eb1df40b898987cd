/* A tolerance of |b - A x| itself: by all methods, in units far from 1, for columns of different length; alone and with
   one of |b - A x| / |b|. */
#include "diffusion.h"

enum { WIDTH = 3, METHODS = WISP_IDR + 1 };

static void norms(wisp_ctx *ctx, const scene *s, const wisp_blk *x, const wisp_blk *b, double scale, double left[WIDTH],
                  double all[WIDTH])
{
    ref_mat X = ref_get(x), B = ref_get(b), P = ref_times(s->dense, X);
    (void)ctx;
    for (int j = 0; j < WIDTH; j++) {
        left[j] = all[j] = 0;
        for (int64_t i = 0; i < B.rows; i++) {
            left[j] += pow(cabs(REF_AT(B, i, j) - REF_AT(P, i, j)) / scale, 2);
            all[j] += pow(cabs(REF_AT(B, i, j)) / scale, 2);
        }
        left[j] = sqrt(left[j]), all[j] = sqrt(all[j]);
    }
    ref_free(X), ref_free(B), ref_free(P);
}

static void absolute(void **state)
{
    wisp_ctx *ctx = *state;
    static const double scales[] = {1, 0x1p+400, 0x1p-400};
    scene s = make(ctx, &(diffusion){.nx = 6, .ny = 5, .nz = 4, .kind = JUMPING}, WISP_D);
    for (int m = 0; m < METHODS; m = ref_next_method(m))
        for (int u = 0; u < 3; u++)
            for (int both = 0; both < 2; both++) {
                ref_rng r = {(uint64_t)(11 + m)};
                const double scale = scales[u], want = 1e-4;
                ref_mat sides = ref_random_block(&r, WISP_D, s.dense.rows, WIDTH);
                for (int64_t i = 0; i < sides.rows * WIDTH; i++)
                    sides.a[i] *= scale * pow(1000, (double)(i % WIDTH) - 1);
                wisp_blk *b = blk_of(ctx, s.A, WISP_D, sides), *x = blk_of(ctx, s.A, WISP_D, sides);
                const wisp_solve_opts o = {
                    .method = (wisp_method)m, .tolerance = both ? 1e-6 : 0, .tolerance_abs = want * scale};
                wisp_solution sol;
                double left[WIDTH], all[WIDTH];
                REF_OK(ctx, wisp_solve(&sol, x, s.A, b, &o));
                norms(ctx, &s, x, b, scale, left, all);
                for (int j = 0; j < WIDTH; j++) {
                    const double least = both && 1e-6 * all[j] > want ? 1e-6 * all[j] : want;
                    if (!(left[j] <= 1.001 * least))
                        fail_msg("method %d, units of %g, column %d: %g", m, scale, j, left[j]);
                    const double wanted_of = least / all[j];
                    assert_true(fabs(sol.wanted_of[j] - wanted_of) <= 1e-12 * wanted_of);
                }
                const double wanted = both && 1e-6 * all[2] > want ? 1e-6 : want / all[2];
                assert_true(fabs(sol.wanted - wanted) <= 1e-12 * wanted && sol.residual <= 1.001 * want / all[0]);
                wisp_solution_free(&sol);
                wisp_blk_free(x), wisp_blk_free(b);
                ref_free(sides);
            }
    end(&s);
}

/* Where b itself is no longer than that, x = 0 will do; and a guess that is good enough stays. */
static void at_once(void **state)
{
    wisp_ctx *ctx = *state;
    scene s = make(ctx, &(diffusion){.nx = 6, .ny = 5, .nz = 4, .kind = SMOOTH}, WISP_D);
    ref_rng r = {3};
    ref_mat sides = ref_random_block(&r, WISP_D, s.dense.rows, WIDTH);
    wisp_blk *b = blk_of(ctx, s.A, WISP_D, sides), *x = blk_of(ctx, s.A, WISP_D, sides);
    wisp_solution sol;
    REF_OK(ctx, wisp_solve(&sol, x, s.A, b, &(wisp_solve_opts){.tolerance_abs = 1000}));
    ref_mat zero = ref_get(x);
    assert_true(sol.iterations == 0 && sol.converged && ref_largest(zero) == 0);
    wisp_solution_free(&sol);
    REF_OK(ctx, wisp_solve(NULL, x, s.A, b, NULL));
    REF_OK(ctx, wisp_solve(&sol, x, s.A, b, &(wisp_solve_opts){.tolerance_abs = 1e-3, .guess = 1}));
    assert_true(sol.iterations == 0 && sol.converged && sol.residual <= 1e-8);
    wisp_solution_free(&sol);
    wisp_blk_free(x), wisp_blk_free(b);
    ref_free(sides), ref_free(zero);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(absolute), cmocka_unit_test(at_once)};
    return REF_RUN_CTX(tests);
}
