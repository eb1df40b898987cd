/* How often the 95% bars of conductivities hold the value of the exact trace, over a thousand groups of random vectors:
   Kubo-Bastin along and across the field, Kubo-Greenwood, and the optical one. */
#include "kpm_dense.h"

enum { M = 16, GROUPS = 1000, POINTS = 5 };
static const double mu[POINTS] = {-2, -1, 0, 0.7, 1.5}, omega[POINTS] = {0.5, 1, 2, 3, 4};

typedef enum { ACROSS, ALONG, GREENWOOD, OPTICAL, KINDS } kind;
static const char *const kind_name[KINDS] = {"Bastin, xy", "Bastin, xx", "Greenwood, xx", "optical, xx"};

static void evaluate(wisp_ctx *ctx, const wisp_moments *m, kind of, wisp_estimate *s)
{
    const wisp_sigma_opts o = {.formula = of == GREENWOOD ? WISP_GREENWOOD : WISP_BASTIN, .volume = 1};
    if (of == OPTICAL)
        REF_OK(ctx, wisp_sigma_optical(ctx, m, &o, 0.1, 0.3, POINTS, omega, s));
    else
        REF_OK(ctx, wisp_sigma(ctx, m, &o, 0.1, POINTS, mu, s));
}

static void check(wisp_ctx *ctx, const wisp_mat *A, const wisp_mat *V_a, const wisp_mat *V_b, kind from, kind to)
{
    static const int64_t sizes[] = {4, 16};
    wisp_moments exact, all;
    wisp_kubo_opts o = {.moments = M, .trace = WISP_TRACE_EXACT, .bounds.method = WISP_BOUNDS_GERSHGORIN};
    REF_OK(ctx, wisp_kubo(&exact, A, V_a, V_b, &o));
    o.trace = WISP_TRACE_RANDOM, o.vectors = GROUPS * sizes[1];
    REF_OK(ctx, wisp_kubo(&all, A, V_a, V_b, &o));
    for (kind of = from; of <= to; of++) {
        wisp_estimate truth[POINTS], s[POINTS];
        evaluate(ctx, &exact, of, truth);
        for (int i = 0; i < 2; i++) {
            wisp_moments group = all;
            int held = 0;
            group.vectors = sizes[i];
            for (int g = 0; g < GROUPS; g++, group.mu += group.vectors * all.n, group.imag += group.vectors * all.n) {
                evaluate(ctx, &group, of, s);
                for (int p = 0; p < POINTS; p++) held += s[p].low <= truth[p].value && truth[p].value <= s[p].high;
            }
            const double share = held / (double)(GROUPS * POINTS);
            print_message("%s, %lld vectors: %.3f\n", kind_name[of], (long long)sizes[i], share);
            if (!(share >= 0.92 && share <= 0.98)) fail_msg("%s: the bars hold %g", kind_name[of], share);
        }
    }
    wisp_moments_free(&exact), wisp_moments_free(&all);
}

static wisp_mat *velocity(wisp_ctx *ctx, const wisp_src *h, const wisp_positions *at, int direction, wisp_map *map)
{
    wisp_src v;
    wisp_mat *V;
    const double way[3] = {direction == 0, direction == 1, 0};
    REF_OK(ctx, wisp_src_velocity(&v, ctx, h, at, way, WISP_VELOCITY));
    REF_OK(ctx, wisp_mat_create(&V, ctx, &v, &(wisp_mat_opts){.type = WISP_Z, .map = map}));
    wisp_src_close(&v);
    return V;
}

static void coverage(void **state)
{
    static const char spec[] = "haldane:nx=6,ny=6,disorder=2,mass=0.2";
    wisp_ctx *ctx = *state;
    wisp_src h;
    wisp_positions at;
    wisp_mat *A;
    REF_OK(ctx, wisp_src_open(&h, ctx, spec));
    REF_OK(ctx, wisp_positions_open_gallery(&at, ctx, spec));
    REF_OK(ctx, wisp_mat_create(&A, ctx, &h, NULL));
    wisp_mat *Vx = velocity(ctx, &h, &at, 0, wisp_mat_map(A)), *Vy = velocity(ctx, &h, &at, 1, wisp_mat_map(A));
    check(ctx, A, Vx, Vy, ACROSS, ACROSS);
    check(ctx, A, Vx, Vx, ALONG, OPTICAL);
    wisp_mat_free(Vy), wisp_mat_free(Vx), wisp_mat_free(A);
    wisp_positions_close(&at);
    wisp_src_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(coverage)};
    return REF_RUN_ALL(tests);
}
