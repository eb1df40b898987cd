/* Single precision where it is enough: its moments against those in double, and what is refused. */
#include "precision_cases.h"

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

static void agreement(void **state)
{
    static const char *const spec[] = {"anderson:nx=12,ny=11,nz=9,disorder=6", "topi:nx=8,ny=7,nz=5",
                                       "graphene:nx=40,ny=30,vacancies=0.01", "laplace:nx=60,ny=50,nz=1"};
    const size_t end = ref_few() ? 2 : sizeof spec / sizeof *spec; /* a real one and a complex one */
    for (size_t i = 0; i < end; i++) check_agreement(*state, spec[i], 5);
}

/* Without a bar to hide in, rounding is too much: all vectors agree on a diagonal matrix. In double nothing is looked
   at. */
static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_moments m;
    ref_mat D = ref_new(50, 50);
    for (int64_t i = 0; i < 50; i++) REF_AT(D, i, i) = (double)(i % 7) / 3;
    wisp_mat *A = ref_mat_of(ctx, D, WISP_S), *B = ref_mat_of(ctx, D, WISP_D),
             *C = mat_of_spec_as(ctx, "anderson:nx=6,ny=6,nz=5", WISP_S, NULL);
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
    REF_FAILS(ctx, wisp_kpm(&m, C, &o), WISP_ERR_ARG, "opts.rounding_limit is");
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
    return REF_RUN_ALL(tests);
}
