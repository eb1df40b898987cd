/* Left vectors in single precision: when they are worth it, and how far they move conductivities, against runs in both
   precisions. */
#include <math.h>
#include "ref.h"

enum { MOMENTS = 48, COUNT = 9 };

typedef struct {
    wisp_mat *A, *V[2]; /* V: along x, y */
} sample;

static sample open_sample(wisp_ctx *ctx, const char *spec)
{
    static const double along[2][3] = {{1, 0, 0}, {0, 1, 0}};
    wisp_positions at;
    wisp_src h, v;
    sample s;
    REF_OK(ctx, wisp_positions_open_gallery(&at, ctx, spec));
    REF_OK(ctx, wisp_src_open_gallery(&h, ctx, spec));
    REF_OK(ctx, wisp_mat_create(&s.A, ctx, &h, &(wisp_mat_opts){.width = 1}));
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_src_velocity(&v, ctx, &h, &at, along[i], WISP_VELOCITY));
        REF_OK(ctx, wisp_mat_create(&s.V[i], ctx, &v, &(wisp_mat_opts){.map = wisp_mat_map(s.A)}));
        wisp_src_close(&v);
    }
    wisp_src_close(&h);
    wisp_positions_close(&at);
    return s;
}

static void close_sample(sample *s) { wisp_mat_free(s->V[1]), wisp_mat_free(s->V[0]), wisp_mat_free(s->A); }

static wisp_kubo_opts options(void)
{
    return (wisp_kubo_opts){
        .moments = MOMENTS, .vectors = 6, .left = 10, .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0, 5, NAN}}};
}

/* ---- how far values move --------------------------------------------------------------------------- */

static void evaluate(wisp_ctx *ctx, const wisp_moments *m, const wisp_sigma_opts *o, bool optical, const double *x,
                     wisp_estimate *at, double *share)
{
    if (optical) {
        REF_OK(ctx, wisp_sigma_optical(ctx, m, o, 0.1, 0.3, COUNT, x, at));
        REF_OK(ctx, wisp_sigma_optical_rounding(ctx, m, o, 0.1, 0.3, COUNT, x, share));
    } else {
        REF_OK(ctx, wisp_sigma(ctx, m, o, 0.1, COUNT, x, at));
        REF_OK(ctx, wisp_sigma_rounding(ctx, m, o, 0.1, COUNT, x, share));
    }
}

static void moved(void **state)
{
    static const char *const specs[] = {"haldane:nx=12,ny=12,disorder=1,t2=0.1,phi=0.5",
                                        "graphene:nx=12,ny=12,disorder=1"};
    wisp_ctx *ctx = *state;
    for (int i = 0; i < 6; i++) {
        const bool optical = i >= 4, equal = i % 2;
        const wisp_sigma_opts e = {.formula = i / 2 == 1 && equal ? WISP_GREENWOOD : WISP_BASTIN};
        sample s = open_sample(ctx, specs[equal]);
        wisp_kubo_opts o = options();
        wisp_moments m[2]; /* left vectors in double, and in single precision */
        wisp_estimate at[2][COUNT];
        double x[COUNT], share[2], most = 0;
        for (int j = 0; j < COUNT; j++) x[j] = optical ? 0.5 + j * 0.4 : j - 0.5 * COUNT;
        for (int single = 0; single < 2; single++) {
            o.left_type = single ? WISP_C : WISP_Z;
            o.type = WISP_Z;
            REF_OK(ctx, wisp_kubo(&m[single], s.A, s.V[0], s.V[!equal], &o));
            evaluate(ctx, &m[single], &e, optical, x, at[single], &share[single]);
        }
        for (int j = 0; j < COUNT; j++)
            most = fmax(most, fabs(at[1][j].value - at[0][j].value) / (0.5 * (at[0][j].high - at[0][j].low)));
        if (!(share[1] > 0 && most <= 2 * share[1] && most >= share[1] / 300))
            fail_msg("case %d: moved by %g of half a bar, expected %g", i, most, share[1]);
        assert_true(fabs(share[1] - share[0]) <= 1e-3 * share[0]); /* what rounding itself makes is little */
        wisp_moments_free(&m[0]), wisp_moments_free(&m[1]);
        close_sample(&s);
    }
}

/* Bars of vectors that all agree are none. */
static void no_bars(void **state)
{
    wisp_ctx *ctx = *state;
    sample s = open_sample(ctx, "haldane:nx=6,ny=6");
    wisp_kubo_opts o = options();
    wisp_moments m;
    double share = 7;
    o.vectors = 2;
    REF_OK(ctx, wisp_kubo(&m, s.A, s.V[0], s.V[1], &o));
    memcpy(m.mu + m.n, m.mu, (size_t)m.n * sizeof *m.mu);
    memcpy(m.imag + m.n, m.imag, (size_t)m.n * sizeof *m.imag);
    REF_OK(ctx, wisp_sigma_rounding(ctx, &m, NULL, 0, 1, (double[]){0.5}, &share));
    assert_true(isinf(share));
    memset(m.mu, 0, (size_t)(m.n * m.vectors) * sizeof *m.mu); /* of nothing nothing moves */
    memset(m.imag, 0, (size_t)(m.n * m.vectors) * sizeof *m.imag);
    m.mark[1][0] = 0;
    REF_OK(ctx, wisp_sigma_rounding(ctx, &m, NULL, 0, 1, (double[]){0.5}, &share));
    assert_true(share == 0);
    m.imag[0] = 1;
    assert_int_equal(wisp_sigma_rounding(ctx, &m, NULL, 0, 1, (double[]){0.5}, &share), WISP_ERR_ARG);
    assert_non_null(strstr(message_of(ctx), "no marks"));
    m.vectors = 1;
    assert_int_equal(wisp_sigma_rounding(ctx, &m, NULL, 0, 1, (double[]){0.5}, &share), WISP_ERR_ARG);
    assert_non_null(strstr(message_of(ctx), "error bars"));
    assert_int_equal(wisp_sigma_rounding(ctx, &m, NULL, 0, 0, (double[]){0.5}, &share), WISP_ERR_ARG);
    assert_int_equal(wisp_sigma_optical_rounding(ctx, &m, NULL, 0, 0, 1, (double[]){-1}, &share), WISP_ERR_ARG);
    wisp_moments_free(&m);
    o.trace = WISP_TRACE_EXACT;
    REF_OK(ctx, wisp_kubo(&m, s.A, s.V[0], s.V[1], &o));
    assert_int_equal(wisp_sigma_rounding(ctx, &m, NULL, 0, 1, (double[]){0.5}, &share), WISP_ERR_ARG);
    wisp_moments_free(&m);
    close_sample(&s);
}

/* ---- when it is worth it --------------------------------------------------------------------------- */

/* Where the plan of a run in double precision has more sweeps than one that holds all left vectors. */
static void worth_it(void **state)
{
    wisp_ctx *ctx = *state;
    sample s = open_sample(ctx, "haldane:nx=6,ny=6");
    wisp_mat_info info[3];
    int worth = 0, all = 0;
    const int64_t column = 16 * (wisp_map_rows(wisp_mat_map(s.A)) / wisp_ctx_processes(ctx) + 1); /* about */
    wisp_mat_get_info(s.A, info), wisp_mat_get_info(s.V[0], info + 1), wisp_mat_get_info(s.V[1], info + 2);
    for (int i = 0; i < 120; i++) {
        wisp_kubo_opts o = options();
        wisp_plan plan, most;
        o.left = 0;
        o.moments = 33 + i % 7;
        o.left_bytes = (12 + i / 2) * column + i;
        REF_OK(ctx, wisp_kubo_plan(&plan, ctx, info, info + 1, info + 2, &o));
        o.left = o.moments;
        REF_OK(ctx, wisp_kubo_plan(&most, ctx, info, info + 1, info + 2, &o));
        o.left = 0;
        const wisp_type left = wisp_kubo_left_type(ctx, WISP_Z, info[0].rows, &o);
        assert_int_equal(left, plan.sweeps > most.sweeps ? WISP_C : WISP_Z);
        assert_int_equal(wisp_kubo_left_type(ctx, WISP_C, info[0].rows, &o), WISP_C);
        *(left == WISP_C ? &worth : &all) += 1;
        o.vectors = 1; /* no bars */
        assert_int_equal(wisp_kubo_left_type(ctx, WISP_Z, info[0].rows, &o), WISP_Z);
        o.vectors = 0, o.trace = WISP_TRACE_EXACT;
        assert_int_equal(wisp_kubo_left_type(ctx, WISP_Z, info[0].rows, &o), WISP_Z);
        o.trace = WISP_TRACE_RANDOM, o.left = 5; /* no fewer sweeps */
        assert_int_equal(wisp_kubo_left_type(ctx, WISP_Z, info[0].rows, &o), WISP_Z);
    }
    assert_true(worth > 20 && all > 20);
    assert_int_equal(wisp_kubo_left_type(ctx, WISP_D, 1 << 28, NULL), WISP_S);
    assert_int_equal(wisp_kubo_left_type(ctx, WISP_D, 100, NULL), WISP_D);
    assert_int_equal(wisp_kubo_left_type(ctx, WISP_DEFAULT, 100, NULL), WISP_DEFAULT);
    close_sample(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moved), cmocka_unit_test(no_bars), cmocka_unit_test(worth_it)};
    return REF_RUN_CTX(tests);
}
