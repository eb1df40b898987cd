/* Moments in single precision against those in double. */
#ifndef PRECISION_CASES_H
#define PRECISION_CASES_H
#include "kpm_dense.h"

/* Over these seeds no moment in single precision differs from the one in double by more than 0.2 of its bar. */
static inline void check_agreement(wisp_ctx *ctx, const char *spec, uint64_t seeds)
{
    enum { MOMENTS = 300, VECTORS = 24 };
    wisp_mat *A = mat_of_spec(ctx, spec, NULL);
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    const wisp_type type = wisp_kpm_type(info.type, info.rows, NULL);
    assert_true(type == WISP_S || type == WISP_C);
    wisp_mat *B = mat_of_spec_as(ctx, spec, type, NULL);
    double worst = 0, estimate = 0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        wisp_moments exact, rounded;
        double mean[2][MOMENTS], error[MOMENTS];
        wisp_kpm_opts o = {.moments = MOMENTS, .vectors = VECTORS, .seed = seed, .width = 8};
        REF_OK(ctx, wisp_kpm(&exact, A, &o));
        assert_true(exact.rounding == 0);
        o.bounds.method = WISP_BOUNDS_GIVEN;
        o.bounds.given = exact.bounds;
        o.rounding_limit = WISP_ROUNDING_LIMIT;
        REF_OK(ctx, wisp_kpm(&rounded, B, &o));
        assert_int_equal(rounded.vectors, VECTORS);
        assert_true(rounded.rounding > 0 && rounded.rounding <= WISP_ROUNDING_LIMIT);
        estimate = fmax(estimate, rounded.rounding);
        REF_OK(ctx, wisp_moments_mean(ctx, &exact, WISP_REAL_PART, mean[0], error));
        REF_OK(ctx, wisp_moments_mean(ctx, &rounded, WISP_REAL_PART, mean[1], NULL));
        for (int n = 1; n < MOMENTS; n++)
            worst = fmax(worst, fabs(mean[0][n] - mean[1][n]) / (wisp_student95(VECTORS) * error[n]));
        wisp_moments_free(&exact);
        wisp_moments_free(&rounded);
    }
    print_message("%-45s off by %.1e of half a bar, estimated %.1e\n", spec, worst, estimate);
    assert_true(worst > 0 && worst <= 0.2);
    wisp_mat_free(A);
    wisp_mat_free(B);
}
#endif
