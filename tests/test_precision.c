/* Single precision where it is enough: its moments against those in double, and what is refused. */
#include "kpm_dense.h"

static wisp_mat *mat_in(wisp_ctx *ctx, const char *spec, wisp_type type)
{
    wisp_src src;
    wisp_mat *A;
    REF_OK(ctx, wisp_src_open_gallery(&src, ctx, spec));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = type}));
    wisp_src_close(&src);
    return A;
}

/* The type that is likely to be enough. */
static void choice(void **state)
{
    (void)state;
    const wisp_kpm_opts usual = {0}, one = {.vectors = 1}, two = {.vectors = 2}, exact = {.trace = WISP_TRACE_EXACT},
                        sites = {.trace = WISP_TRACE_SITES, .vectors = 5}, long_one = {.moments = 4000000},
                        strict = {.rounding_limit = 1e-6};
    const int64_t large = 1600000;
    assert_int_equal(wisp_kpm_type(WISP_D, large, &usual), WISP_S);
    assert_int_equal(wisp_kpm_type(WISP_Z, large, &usual), WISP_C);
    assert_int_equal(wisp_kpm_type(WISP_Z, large, NULL), WISP_C);
    assert_int_equal(wisp_kpm_type(WISP_D, large, &two), WISP_S);
    assert_int_equal(wisp_kpm_type(WISP_S, large, &usual), WISP_S);
    assert_int_equal(wisp_kpm_type(WISP_C, large, &exact), WISP_C);
    assert_int_equal(wisp_kpm_type(WISP_D, large, &one), WISP_D);
    assert_int_equal(wisp_kpm_type(WISP_D, large, &exact), WISP_D);
    assert_int_equal(wisp_kpm_type(WISP_Z, large, &sites), WISP_Z);
    assert_int_equal(wisp_kpm_type(WISP_Z, large, &long_one), WISP_Z);
    assert_int_equal(wisp_kpm_type(WISP_D, (int64_t)1 << 40, &usual), WISP_D);
    assert_int_equal(wisp_kpm_type(WISP_D, large, &strict), WISP_D);
}

/* No moment differs from the one in double precision by more than 0.2 of its bar, whichever the seed. */
static void agreement(void **state)
{
    static const char *const spec[] = {"anderson:nx=12,ny=11,nz=9,disorder=6", "topi:nx=8,ny=7,nz=5",
                                       "graphene:nx=40,ny=30,vacancies=0.01", "laplace:nx=60,ny=50,nz=1"};
    enum { SEEDS = 5, MOMENTS = 300, VECTORS = 24 };
    for (size_t i = 0; i < sizeof spec / sizeof *spec; i++) {
        wisp_mat *A = mat_in(*state, spec[i], WISP_DEFAULT);
        wisp_mat_info info;
        wisp_mat_get_info(A, &info);
        const wisp_type type = wisp_kpm_type(info.type, info.rows, NULL);
        assert_true(type == WISP_S || type == WISP_C);
        wisp_mat *B = mat_in(*state, spec[i], type);
        double worst = 0, estimate = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            wisp_moments exact, rounded;
            double mean[2][MOMENTS], error[MOMENTS];
            wisp_kpm_opts o = {.moments = MOMENTS, .vectors = VECTORS, .seed = seed, .width = 8};
            REF_OK(*state, wisp_kpm(&exact, A, &o));
            assert_true(exact.rounding == 0);
            o.bounds_method = WISP_BOUNDS_GIVEN;
            o.bounds = exact.bounds;
            o.rounding_limit = WISP_ROUNDING_LIMIT;
            REF_OK(*state, wisp_kpm(&rounded, B, &o));
            assert_int_equal(rounded.vectors, VECTORS);
            assert_true(rounded.rounding > 0 && rounded.rounding <= WISP_ROUNDING_LIMIT);
            estimate = fmax(estimate, rounded.rounding);
            REF_OK(*state, wisp_moments_mean(*state, &exact, mean[0], error));
            REF_OK(*state, wisp_moments_mean(*state, &rounded, mean[1], NULL));
            for (int n = 1; n < MOMENTS; n++)
                worst = fmax(worst, fabs(mean[0][n] - mean[1][n]) / (wisp_student95(VECTORS) * error[n]));
            wisp_moments_free(&exact);
            wisp_moments_free(&rounded);
        }
        print_message("%-40s off by %.1e of a bar, estimated %.1e\n", spec[i], worst, estimate);
        assert_true(worst > 0 && worst <= 0.2);
        wisp_mat_free(A);
        wisp_mat_free(B);
    }
}

/* Without a bar to hide in, rounding is too much: all vectors agree on a diagonal matrix. In double nothing is looked
   at. */
static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_moments m;
    ref_mat D = ref_new(50, 50);
    for (int64_t i = 0; i < 50; i++) REF_AT(D, i, i) = (double)(i % 7) / 3;
    wisp_mat *A = mat_of(ctx, D, WISP_S), *B = mat_of(ctx, D, WISP_D),
             *C = mat_in(ctx, "anderson:nx=6,ny=6,nz=5", WISP_S);
    wisp_kpm_opts o = {.moments = 64, .vectors = 6, .rounding_limit = 0.1};
    REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_PRECISION, "on which all vectors agree");
    assert_null(m.mu);
    REF_OK(ctx, wisp_kpm(&m, B, &o));
    assert_true(m.rounding == 0);
    wisp_moments_free(&m);
    REF_OK(ctx, wisp_kpm(&m, C, &o));
    const double found = m.rounding;
    wisp_moments_free(&m);
    o.rounding_limit = 0.5 * found;
    REF_FAILS(ctx, wisp_kpm(&m, C, &o), WISP_ERR_PRECISION, "moment");
    o.rounding_limit = -1;
    REF_FAILS(ctx, wisp_kpm(&m, C, &o), WISP_ERR_ARG, "negative");
    o.rounding_limit = NAN;
    REF_FAILS(ctx, wisp_kpm(&m, C, &o), WISP_ERR_ARG, "rounding limit");
    /* What has no bars is not looked at; nor is one vector. */
    for (int trace = 0; trace < 3; trace++) {
        const int64_t sites[] = {4, 5};
        o = (wisp_kpm_opts){.moments = 40, .trace = (wisp_trace)trace, .sites = sites, .rounding_limit = 1e-9};
        if (trace != WISP_TRACE_EXACT) o.vectors = trace == WISP_TRACE_SITES ? 2 : 1;
        REF_OK(ctx, wisp_kpm(&m, C, &o));
        assert_true(m.rounding == 0);
        wisp_moments_free(&m);
    }
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_mat_free(C);
    ref_free(D);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choice), cmocka_unit_test(agreement),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, make_ctx, free_ctx);
}
