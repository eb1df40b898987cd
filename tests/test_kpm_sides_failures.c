/* Moments of the user's vectors that can't be, or end early; their memory. */
#include "kpm_sides.h"

/* Numbers that are not finite, or become so, and vectors of zeros. */
static void beyond(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {8};
    sides_case c = {.mat = WISP_D, .blk = WISP_D, .B = WISP_D, .n = 9, .vectors = 4, .width = 3};
    setting s = open_setting(ctx, &r, &c);
    wisp_kpm_opts o = opts_of(&c, &s);
    wisp_moments m;
    REF_OK(ctx, wisp_scal(s.right, (wisp_scalar){1e200, 0}));
    REF_FAILS(ctx, wisp_kpm(&m, s.A, &o), WISP_ERR_NUMERIC, "moment 0 of vector 0 is beyond double precision");
    assert_null(m.mu);
    o.left = s.left;
    REF_OK(ctx, wisp_kpm(&m, s.A, &o));
    wisp_moments_free(&m);
    REF_AT(s.l, 7, 3) = NAN;
    ref_put(s.left, s.l);
    REF_FAILS(ctx, wisp_kpm(&m, s.A, &o), WISP_ERR_NUMERIC, "opts.left: column 3 holds a NaN");
    assert_null(m.mu), assert_null(m.imag);
    REF_AT(s.r, 7, 2) = INFINITY;
    ref_put(s.right, s.r);
    REF_FAILS(ctx, wisp_kpm(&m, s.A, &o), WISP_ERR_NUMERIC, "opts.right: column 2 holds a NaN, an infinity");
    REF_OK(ctx, wisp_blk_fill(s.right, (wisp_scalar){0, 0}));
    REF_OK(ctx, wisp_blk_fill(s.left, (wisp_scalar){1e300, 0}));
    for (int i = 0; i < 2; i++) {
        o.adjoint = i ? s.adjoint : NULL;
        REF_OK(ctx, wisp_kpm(&m, s.A, &o));
        for (int64_t k = 0; k < m.n * m.vectors; k++) assert_true(m.mu[k] == 0 && m.imag[k] == 0);
        wisp_moments_free(&m);
    }
    o.left = NULL, o.adjoint = NULL;
    REF_OK(ctx, wisp_kpm(&m, s.A, &o));
    for (int64_t k = 0; k < m.n * m.vectors; k++) assert_true(m.mu[k] == 0);
    assert_null(m.imag);
    wisp_moments_free(&m);
    close_setting(&s);
}

static int ends_third(void *arg, wisp_state *state)
{
    (void)state;
    return ++*(int *)arg == 3;
}

/* A run that is ended keeps complete vectors, or the first moments of those that were begun. Bounds that leave a part
   of the spectrum out are found out. */
static void ends_early(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {19};
    sides_case c = {.mat = WISP_Z, .blk = WISP_Z, .B = WISP_Z, .n = 40, .vectors = 6, .width = 4, .left = true};
    setting s = open_setting(ctx, &r, &c);
    wisp_kpm_opts o = opts_of(&c, &s);
    wisp_moments m, part;
    REF_OK(ctx, wisp_kpm(&m, s.A, &o));
    /* Where all steps of a batch are one call the second offer comes behind it, and is the last one. */
    const int whole = ref_steps(ctx, 5) >= 39, kept = whole ? 40 : 11;
    int offers = whole;
    o.depth = 5, o.offer = ends_third, o.offer_arg = &offers;
    assert_int_equal(wisp_kpm(&part, s.A, &o), WISP_ERR_CANCELLED);
    assert_true(part.partial);
    if (ref_ranks() == 1 || whole) {
        assert_true(part.n == kept && part.vectors == 4);
        for (int64_t i = 0; i < 4 * kept; i++) {
            assert_true(part.mu[i] == m.mu[i / kept * 40 + i % kept]);
            assert_true(part.imag[i] == m.imag[i / kept * 40 + i % kept]);
        }
    } else {
        assert_true(part.vectors == 0);
    }
    wisp_moments_free(&part);
    o.offer = NULL;
    o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = m.bounds};
    o.bounds.given.halfwidth /= 2;
    REF_FAILS(ctx, wisp_kpm(&part, s.A, &o), WISP_ERR_BOUNDS, "times the product of the norms of its two sides");
    o.bounds.given.halfwidth *= 2;
    o.bounds.given.center += o.bounds.given.halfwidth;
    o.left = NULL;
    REF_FAILS(ctx, wisp_kpm(&part, s.A, &o), WISP_ERR_BOUNDS, "below the lower bound");
    wisp_moments_free(&m);
    close_setting(&s);
}

/* Memory as planned, with the blocks there or only announced. */
static void memory(void **state)
{
    (void)state;
    for (int v = 0; v < 8; v++) {
        wisp_ctx *own = ref_ctx(NULL);
        wisp_mat *A = mat_of_spec(own, "laplace:nx=300,ny=300,nz=1", NULL), *B = NULL;
        wisp_blk *x;
        wisp_kpm_opts o = {.moments = 7, .variant = v % 3 == 2 ? WISP_KPM_NAIVE : WISP_KPM_BLOCKED};
        int64_t before, peak, made;
        wisp_moments m;
        wisp_mat_info info;
        wisp_plan plan, early;
        wisp_mat_get_info(A, &info); /* the other matrix has a larger halo on several ranks */
        if (v & 4)
            REF_OK(own,
                   wisp_mat_open(&B, own, "anderson:nx=3,ny=30000,nz=1", &(wisp_mat_opts){.map = wisp_mat_map(A)}));
        REF_OK(own, wisp_blk_create(&x, own, wisp_mat_map(A), v % 2 ? WISP_Z : WISP_D, 20));
        REF_OK(own, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 1, 1));
        o.trace = WISP_TRACE_GIVEN, o.vectors = 20, o.width = v % 3 == 2 ? 0 : 20, o.type = wisp_blk_type(x);
        if (v & 1) o.left = x;
        o.adjoint = B;
        REF_OK(own, wisp_kpm_plan(&early, own, &info, &o, NULL));
        o.vectors = 0;
        REF_FAILS(own, wisp_kpm_plan(&plan, own, &info, &o, NULL), WISP_ERR_ARG,
                  "opts.vectors is 0; name at least one");
        o.right = x;
        REF_OK(own, wisp_kpm_plan(&plan, own, &info, &o, NULL));
        assert_true(plan.bytes == early.bytes && plan.bytes_most == early.bytes_most);
        assert_true(plan.products == (v & 5 ? 6 : 3) * 20);
        wisp_ctx_memory(own, &before, &made);
        REF_OK(own, wisp_kpm(&m, A, &o));
        wisp_ctx_memory(own, NULL, &peak);
        if ((peak > made && peak - before > plan.bytes_most) ||
            (ref_ranks() == 1 && !(fabs((double)(peak - before) - (double)plan.bytes) < 0.1 * (double)plan.bytes)))
            fail_msg("case %d: peak %lld, planned %lld, at most %lld", v, (long long)(peak - before),
                     (long long)plan.bytes, (long long)plan.bytes_most);
        wisp_moments_free(&m);
        wisp_blk_free(x);
        wisp_mat_free(A), wisp_mat_free(B);
        wisp_ctx_free(own);
    }
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    sides_case c = {.mat = WISP_D, .blk = WISP_D, .B = WISP_D, .n = 8, .vectors = 4, .width = 3, .left = true};
    setting s = open_setting(ctx, &r, &c);
    wisp_mat *other, *complex_B = on_map(ctx, s.B, WISP_Z, wisp_mat_map(s.A));
    wisp_blk *elsewhere, *complex_x, *wide, *single;
    REF_OK(ctx, wisp_mat_open(&other, ctx, "laplace:nx=61,ny=1,nz=1", NULL));
    REF_OK(ctx, wisp_blk_create(&elsewhere, ctx, wisp_mat_map(other), WISP_D, 4));
    REF_OK(ctx, wisp_blk_create(&complex_x, ctx, wisp_mat_map(s.A), WISP_Z, 4));
    REF_OK(ctx, wisp_blk_create(&single, ctx, wisp_mat_map(s.A), WISP_S, 4));
    REF_OK(ctx, wisp_blk_create(&wide, ctx, wisp_mat_map(s.A), WISP_D, 5));
    const wisp_trace RANDOM = WISP_TRACE_RANDOM, EXACT = WISP_TRACE_EXACT, GIVEN = WISP_TRACE_GIVEN;
    const struct {
        wisp_status status;
        const char *words;
        wisp_kpm_opts o;
    } bad[] = {
        {WISP_ERR_ARG, "wisp_kpm: opts.right is NULL", {.trace = GIVEN, .left = s.left}},
        {WISP_ERR_ARG, "opts.right is NULL", {.trace = GIVEN, .left = s.left, .vectors = 4}},
        {WISP_ERR_ARG, "opts.vectors is -1", {.trace = GIVEN, .right = s.right, .vectors = -1}},
        {WISP_ERR_MISMATCH,
         "opts.right has 4 columns, and there are 3",
         {.trace = GIVEN, .right = s.right, .vectors = 3}},
        {WISP_ERR_MISMATCH,
         "opts.left has 5 columns, and there are 4",
         {.trace = GIVEN, .right = s.right, .left = wide}},
        {WISP_ERR_MISMATCH, "opts.right is on another map", {.trace = GIVEN, .right = elsewhere}},
        {WISP_ERR_MISMATCH, "opts.left is on another map", {.trace = GIVEN, .right = s.right, .left = elsewhere}},
        {WISP_ERR_MISMATCH,
         "opts.left is of type complex double",
         {.trace = GIVEN, .right = s.right, .left = complex_x}},
        {WISP_ERR_MISMATCH,
         "opts.right is of type complex double",
         {.trace = GIVEN, .right = complex_x, .type = WISP_D}},
        {WISP_ERR_UNSUPPORTED, "single do not go with a matrix of type double", {.trace = GIVEN, .right = single}},
        {WISP_ERR_MISMATCH, "opts.adjoint is on another map", {.trace = GIVEN, .right = s.right, .adjoint = other}},
        {WISP_ERR_MISMATCH, "opts.adjoint is on another map", {.trace = RANDOM, .adjoint = other}},
        {WISP_ERR_UNSUPPORTED, "do not go with opts.adjoint", {.trace = EXACT, .adjoint = complex_B}},
        {WISP_ERR_ARG, "opts.right is for WISP_TRACE_GIVEN", {.trace = RANDOM, .right = s.right}},
        {WISP_ERR_ARG, "opts.left is for WISP_TRACE_GIVEN", {.trace = EXACT, .left = s.left}},
        {WISP_ERR_ARG, "opts.trace: unknown value 4", {.trace = (wisp_trace)4, .right = s.right}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wisp_moments m = {.n = 1};
        REF_FAILS(ctx, wisp_kpm(&m, s.A, &bad[i].o), bad[i].status, bad[i].words);
        assert_true(!m.mu && !m.imag && m.n == 0);
    }
    wisp_blk_free(elsewhere), wisp_blk_free(complex_x), wisp_blk_free(single), wisp_blk_free(wide);
    wisp_mat_free(other), wisp_mat_free(complex_B);
    close_setting(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beyond),
        cmocka_unit_test(ends_early),
        cmocka_unit_test(memory),
        cmocka_unit_test(refusals),
    };
    return REF_RUN_ALL(tests);
}
