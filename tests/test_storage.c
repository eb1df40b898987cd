/* Kinds of storage: what a device does not take is not chosen, and refused where it is asked for by name. */
#include "data/store/store.h"
#include "storage.h"
#include <stdio.h>

static void makes(wisp_ctx *ctx, ref_rng *r, shape s, wisp_type type, unsigned kinds)
{
    ref_mat dense = shape_dense(r, s, type, false, 700, 700);
    wisp_src src = ref_dense_src(dense, type);
    wisp_mat *A;
    char what[80];
    snprintf(what, sizeof what, "%s, %s, kinds %#x", shape_name[s], wisp_type_name(type), kinds);
    const wisp_mat_opts o = {.width = 4, .order = WISP_ROWS_NATURAL},
                        compressed = {.order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_COMPRESSED};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
    if (!(A->local.how->kind & kinds)) fail_msg("%s: kind %d", what, A->local.how->kind);
    ref_check_product(ctx, r, A, dense, type, 4, REF_KPM, 0, what);
    wisp_mat_free(A);
    const wisp_status status = wisp_mat_create(&A, ctx, &src, &compressed);
    if (status == WISP_OK) {
        assert_int_not_equal(A->local.how->kind, WISP__SELL);
        if (!(A->local.how->kind & kinds)) fail_msg("%s: kind %d", what, A->local.how->kind);
        ref_check_product(ctx, r, A, dense, type, 1, REF_KPM, 0, what);
    } else {
        assert_int_equal(status, WISP_ERR_UNSUPPORTED);
    }
    if (kinds == WISP__SELL) assert_int_equal(status, WISP_ERR_UNSUPPORTED);
    wisp_mat_free(A);
    src.free_arg(src.arg);
    ref_free(dense);
}

static void by_what_a_device_takes(void **state)
{
    (void)state;
    ref_rng r = {41};
    static const unsigned left[] = {0,
                                    WISP__PATTERNS,
                                    WISP__LISTS,
                                    WISP__CODED,
                                    WISP__CODED | WISP__LISTS,
                                    WISP__PATTERNS | WISP__LISTS | WISP__CODED};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1});
        const wisp__backend *whole = ctx->backend;
        wisp__backend part = *whole;
        part.kinds &= ~left[i];
        ctx->backend = &part;
        for (int s = 0; s < SHAPES; s++)
            for (wisp_type type = WISP_D; type <= WISP_Z; type += WISP_Z - WISP_D)
                makes(ctx, &r, (shape)s, type, part.kinds);
        ctx->backend = whole;
        wisp_ctx_free(ctx);
    }
}

static void no_half(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    const wisp__backend *whole = ctx->backend;
    wisp__backend part = *whole;
    wisp_mat *A;
    part.kinds &= ~(unsigned)WISP__HALF;
    ctx->backend = &part;
    REF_FAILS(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=5,nz=5", &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}),
              WISP_ERR_UNSUPPORTED, "store it whole");
    ctx->backend = whole;
    wisp_ctx_free(ctx);
}

/* What can't be looked at row by row has a width all the same. */
static void width_of_half(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp_mat *A;
    wisp_choice c;
    for (int n = 0; n <= 12; n += 4) {
        char spec[64];
        snprintf(spec, sizeof spec, "laplace:nx=%d,ny=%d,nz=%d", n + 1, n + 1, n + 1);
        REF_OK(ctx, wisp_mat_open(&A, ctx, spec, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}));
        REF_OK(ctx, wisp_mat_choose(A, WISP_D, 16, 100, &c));
        assert_in_range(c.width, 1, 16);
        wisp_mat_free(A);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_what_a_device_takes), cmocka_unit_test(no_half),
                                       cmocka_unit_test(width_of_half)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
