/* How often the 95% bars of densities and counts hold the exact value (that of the exact trace, with the same kernel),
   over hundreds of runs: where many states make up a density, and where few do, or one, or only the kernel's tails. */
#include "kpm_dense.h"

/* From one number of vectors to the next: the ends of their range, here; nightly_bars.c has those between, too. */
#ifndef BARS_STEP
#define BARS_STEP 8
#endif

enum { REGIONS = 6, POINTS = 200, VECTORS = 4800 };
enum { BULK, FEW, ISOLATED, GAP, TAIL, COUNTS };
static const char *const region_name[] = {"bulk", "few states", "single states", "gaps", "tails", "counts"};

typedef struct {
    double energy[POINTS], truth[POINTS];
    int region[POINTS];
    double from[POINTS], to[POINTS], count[POINTS]; /* intervals about every tenth energy, one resolution wide */
} exact;

/* Where an energy lies: by the number of levels within about a resolution, or the distance to the nearest one. */
static int region_of(const double *level, int64_t levels, double energy, double resolution)
{
    double near = 0, least = HUGE_VAL;
    for (int64_t k = 0; k < levels; k++) {
        double d = fabs(energy - level[k]) / resolution;
        near += exp(-0.5 * d * d);
        least = fmin(least, d);
    }
    if (energy < level[0] || energy > level[levels - 1]) return least > 1 ? TAIL : near < 2 ? ISOLATED : FEW;
    return least > 3 ? GAP : near < 2 ? ISOLATED : near < 8 ? FEW : BULK;
}

static void find_exact(wisp_ctx *ctx, exact *x, const wisp_mat *A, ref_mat dense, wisp_kpm_opts o)
{
    wisp_moments m;
    double *level = eigenvalues(dense), resolution;
    o.trace = WISP_TRACE_EXACT, o.vectors = 0;
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    resolution = wisp_resolution(m.bounds.halfwidth, m.n);
    for (int p = 0; p < POINTS; p++) {
        x->energy[p] = m.bounds.center - 0.999 * m.bounds.halfwidth * cos(M_PI * (p + 0.5) / POINTS);
        x->region[p] = region_of(level, dense.rows, x->energy[p], resolution);
        x->from[p] = x->energy[p] - 0.5 * resolution, x->to[p] = x->energy[p] + 0.5 * resolution;
        if (p % 10 == 0) REF_OK(ctx, wisp_count(ctx, &m, NULL, -1, x->from[p], x->to[p], &x->count[p], NULL));
    }
    REF_OK(ctx, wisp_dos(ctx, &m, NULL, -1, POINTS, x->energy, x->truth, NULL));
    wisp_moments_free(&m);
    free(level);
}

typedef struct {
    double old, now, cases;
} tally;

static void add(tally *t, const wisp_moments *m, double value, double error, double low, double high, double truth)
{
    t->cases++;
    t->old += fabs(value - truth) <= wisp_student95(m->vectors) * error;
    t->now += low <= truth && truth <= high;
}

/* One run of m->vectors vectors. */
static void add_run(wisp_ctx *ctx, tally *t, const wisp_moments *m, const exact *x)
{
    double dos[POINTS], error[POINTS], low[POINTS], high[POINTS], count, bar, least, most;
    REF_OK(ctx, wisp_dos(ctx, m, NULL, -1, POINTS, x->energy, dos, error));
    wisp_bars95(m, NULL, POINTS, dos, error, low, high);
    for (int p = 0; p < POINTS; p++) {
        assert_true(low[p] > 0 && low[p] <= dos[p] && dos[p] <= high[p] && isfinite(high[p]));
        add(t + x->region[p], m, dos[p], error[p], low[p], high[p], x->truth[p]);
    }
    for (int p = 0; p < POINTS; p += 10) {
        REF_OK(ctx, wisp_count(ctx, m, NULL, -1, x->from[p], x->to[p], &count, &bar));
        wisp_bars95(m, NULL, 1, &count, &bar, &least, &most);
        add(t + COUNTS, m, count, bar, least, most, x->count[p]);
    }
}

static void check_coverage(wisp_ctx *ctx, const char *name, wisp_mat *A, ref_mat dense, int64_t moments, wisp_type type)
{
    exact *x = malloc(sizeof *x);
    wisp_moments all;
    wisp_kpm_opts o = {.moments = moments, .vectors = VECTORS, .seed = 1, .type = type};
    REF_OK(ctx, wisp_kpm(&all, A, &o));
    o.bounds.method = WISP_BOUNDS_GIVEN, o.bounds.given = all.bounds;
    find_exact(ctx, x, A, dense, o);
    for (int64_t vectors = 8; vectors <= 64; vectors *= BARS_STEP) {
        tally t[REGIONS] = {0};
        wisp_moments m = all;
        m.vectors = vectors;
        for (int64_t v = 0; v < VECTORS; v += vectors, m.mu += vectors * m.n) add_run(ctx, t, &m, x);
        for (int i = 0; i < REGIONS; i++) {
            if (t[i].cases < 2 * (double)(VECTORS / vectors)) continue; /* no such region: hardly a point of it */
            double now = t[i].now / t[i].cases;
            print_message("%-28s %-14s %3.0f points %2lld vectors: Student's %.3f, bars95 %.3f\n", name, region_name[i],
                          t[i].cases / (double)(VECTORS / vectors), (long long)vectors, t[i].old / t[i].cases, now);
            if (!(now >= 0.92 && now <= 0.98)) fail_msg("%s, %s: the bars cover %g", name, region_name[i], now);
        }
    }
    wisp_moments_free(&all);
    wisp_mat_free(A);
    ref_free(dense);
    free(x);
}

static void gallery(void **state)
{
    static const struct {
        const char *spec;
        int64_t moments;
        wisp_type type;
    } table[] = {
        {"topi:nx=4,ny=4,nz=4", 128, WISP_DEFAULT},
        {"laplace:points=5,nx=20,ny=17", 384, WISP_DEFAULT},
        {"anderson:nx=8,ny=7,nz=6,disorder=5", 128, WISP_DEFAULT},
        {"anderson:nx=8,ny=7,nz=6,disorder=20", 256, WISP_Z},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ref_mat dense;
        wisp_mat *A = mat_of_spec(*state, table[i].spec, &dense);
        check_coverage(*state, table[i].spec, A, dense, table[i].moments, table[i].type);
    }
}

/* A ring with two strong impurities, one at either side of the band: bound states in the gaps beside it. */
static void bound_states(void **state)
{
    enum { N = 300 };
    ref_mat m = ref_new(N, N);
    for (int64_t i = 0; i < N; i++) REF_AT(m, i, (i + 1) % N) = REF_AT(m, (i + 1) % N, i) = -1;
    REF_AT(m, 20, 20) = 4;
    REF_AT(m, 170, 170) = -1.5;
    check_coverage(*state, "ring with two impurities", ref_mat_of(*state, m, WISP_D), m, 256, WISP_DEFAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gallery), cmocka_unit_test(bound_states)};
    return REF_RUN_ALL(tests);
}
