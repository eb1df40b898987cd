/* The memory that plans of wisp_kpm, wisp_evolve, wisp_cool, wisp_chebyshev_apply, wisp_mpk, wisp_bounds_find and
   wisp_solve tell, by what is known of the matrix before it is made and of the matrix itself, against what is held at
   the most: random matrices, types, widths, options. On several ranks each looks at its own. And products and sweeps
   against those that were made. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char spec[96];
    wisp_mat_opts mo;
    wisp_type type; /* of the blocks */
    int width;
} problem;

static problem pose(ref_rng *r, int c)
{
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_Z, WISP_C};
    static const wisp_order orders[] = {WISP_ROWS_DEFAULT, WISP_ROWS_NATURAL, WISP_ROWS_RCM};
    problem p = {.width = 1 + (int)ref_below(r, ref_below(r, 2) ? 4 : 24)};
    const int n = 4 + (int)ref_below(r, 20), m = 4 + (int)ref_below(r, 20);
    wisp_type least = WISP_D;
    switch (c % 5) {
    case 0: snprintf(p.spec, sizeof p.spec, "anderson:nx=%d,ny=%d,nz=%d,disorder=2", n, m, 2 + n % 7); break;
    case 1: snprintf(p.spec, sizeof p.spec, "laplace:nx=%d,ny=%d,nz=1,periodic=xy", 8 * n, m); break;
    case 2:
        snprintf(p.spec, sizeof p.spec, "topi:nx=%d,ny=%d,nz=2,disorder=1", n, m);
        least = WISP_Z;
        break;
    case 3: snprintf(p.spec, sizeof p.spec, "spinchain:sites=%d,up=%d", 8 + n % 5, 4); break;
    default: snprintf(p.spec, sizeof p.spec, "band:n=%d,bandwidth=%d", 40 * n, 1 + m % 4 * 2);
    }
    p.mo.type = ref_below(r, 2) ? least : least == WISP_Z ? WISP_C : WISP_S;
    p.type = p.mo.type;
    if (ref_below(r, 3) == 0) p.type = types[ref_below(r, 2) + 2];
    if (p.mo.type == WISP_D || p.mo.type == WISP_Z) p.type = wisp_type_is_complex(p.type) ? WISP_Z : p.mo.type;
    p.mo.width = p.width;
    p.mo.order = orders[ref_below(r, 3)];
    if (ref_below(r, 3) == 0) p.mo.format = WISP_FORMAT_SELL;
    if (ref_below(r, 4) == 0 && ref_ranks() == 1) p.mo.format = WISP_FORMAT_HERMITIAN;
    return p;
}

/* A matrix on a context of its own, what is known of it, and what is held. */
typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_mat_info most, info;
    char *ballast; /* as much as the matrix took while it was made, so that a call is what takes most */
    int64_t before, made;
} setting;

static void weigh_down(setting *s)
{
    wisp_ctx_memory(s->ctx, &s->before, &s->made);
    REF_OK(s->ctx, wisp_alloc(s->ctx, &s->ballast, (size_t)(s->made - s->before) + 1, 1));
    wisp_ctx_memory(s->ctx, &s->before, &s->made);
}

static void set_up(setting *s, const problem *p, int threads)
{
    wisp_mat_info about;
    wisp_src src;
    s->ctx = ref_ctx(&(wisp_ctx_opts){.threads = threads, .no_pin = 1});
    REF_OK(s->ctx, wisp_src_open(&src, s->ctx, p->spec));
    REF_OK(s->ctx, wisp_mat_bound(s->ctx, &src, &p->mo, &s->most));
    REF_OK(s->ctx, wisp_mat_plan(s->ctx, &src, &p->mo, &about));
    REF_OK(s->ctx, wisp_mat_create(&s->A, s->ctx, &src, &p->mo));
    wisp_src_close(&src);
    wisp_mat_get_info(s->A, &s->info);
    /* All rows are looked at, but not which entries are one, nor where the diagonal is, of which half storage has all.
     */
    if (s->info.format != WISP_FORMAT_HERMITIAN && ref_ranks() == 1 && about.nnz == s->info.nnz &&
        about.sweep_bytes != s->info.sweep_bytes)
        fail_msg("%s, type %s, width %d, order %d, format %d: a sweep reads %lld bytes, %lld were told of format %d",
                 p->spec, wisp_type_name(p->mo.type), p->width, (int)p->mo.order, (int)s->info.format,
                 (long long)s->info.sweep_bytes, (long long)about.sweep_bytes, (int)about.format);
    assert_true((s->info.sweep_bytes > 0) == (s->info.local_rows > 0) && s->info.sweep_bytes <= s->info.bytes);
    weigh_down(s);
}

/* Whether the call was what took most. */
static int look(setting *s, const problem *p, const char *call, const wisp_plan *first, const wisp_plan *plan)
{
    int64_t peak;
    wisp_ctx_memory(s->ctx, NULL, &peak);
    assert_true(0 <= plan->bytes && plan->bytes <= plan->bytes_most && first->bytes <= first->bytes_most);
    const int64_t least = plan->bytes_most < first->bytes_most ? plan->bytes_most : first->bytes_most;
    if (peak > s->made && peak - s->before > least)
        fail_msg("%s, rank %d of %d, %s, types %s and %s, width %d, order %d, format %d: %lld bytes are held, at most "
                 "%lld and %lld were told",
                 call, wisp_ctx_rank(s->ctx), wisp_ctx_processes(s->ctx), p->spec, wisp_type_name(p->mo.type),
                 wisp_type_name(p->type), p->width, (int)p->mo.order, (int)p->mo.format, (long long)(peak - s->before),
                 (long long)first->bytes_most, (long long)plan->bytes_most);
    return peak > s->made;
}

/* A case of its own: random numbers, a problem, and its matrix. */
static problem begin(setting *s, ref_rng *r, int c, uint64_t seed)
{
    *r = (ref_rng){(uint64_t)c + seed};
    const problem p = pose(r, c);
    set_up(s, &p, 1 + c % 2);
    return p;
}

static void tear_down(setting *s)
{
    wisp_free(s->ctx, s->ballast);
    wisp_mat_free(s->A);
    wisp_ctx_free(s->ctx);
}

static int64_t products_of(const setting *s)
{
    wisp_counts counts;
    wisp_ctx_counts(s->ctx, &counts);
    return counts.products;
}

/* Interval that holds the spectrum of each of these matrices. */
static const wisp_bounds wide = {2, 40, NAN};

static void of_kpm(void **state)
{
    (void)state;
    int told = 0;
    for (int c = 0; c < 60; c++) {
        ref_rng r;
        setting s;
        const problem p = begin(&s, &r, c, 1);
        const int64_t row = s.info.rows / 2;
        wisp_kpm_opts o = {.moments = 2 + (int64_t)ref_below(&r, c % 3 ? 40 : 300),
                           .vectors = 1 + (int64_t)ref_below(&r, 40),
                           .variant = (wisp_kpm_variant)ref_below(&r, 3),
                           .type = p.type,
                           .reduce_each_step = ref_below(&r, 4) == 0};
        const int given = ref_below(&r, 2) == 0;
        if (given) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = wide};
        if (o.variant == WISP_KPM_BLOCKED) o.width = p.width;
        if (o.variant != WISP_KPM_NAIVE && ref_below(&r, 2)) o.depth = 1 + (int)ref_below(&r, 12);
        if (ref_below(&r, 5) == 0) o.trace = WISP_TRACE_SITES, o.sites = &row, o.vectors = 1;
        if (ref_below(&r, 4) == 0) o.rounding_limit = 1e9;
        wisp_plan first, plan;
        wisp_moments m;
        REF_OK(s.ctx, wisp_kpm_plan(&first, s.ctx, &s.most, &o, NULL));
        REF_OK(s.ctx, wisp_kpm_plan(&plan, s.ctx, &s.info, &o, NULL));
        const int64_t before = products_of(&s);
        const wisp_status status = wisp_kpm(&m, s.A, &o);
        if (status != WISP_ERR_PRECISION) REF_OK(s.ctx, status);
        const int64_t made = products_of(&s) - before;
        told += look(&s, &p, "kpm", &first, &plan);
        assert_true(plan.products == (double)(o.moments / 2 * o.vectors));
        const int mark = o.trace == WISP_TRACE_RANDOM; /* of the matrix: one product with one vector */
        if (given && o.rounding_limit == 0) assert_true(plan.sweeps + mark == (double)made);
        wisp_moments_free(&m);
        tear_down(&s);
    }
    assert_true(told > 20);
}

static void of_evolve(void **state)
{
    (void)state;
    int told = 0;
    for (int c = 0; c < 60; c++) {
        ref_rng r;
        setting s;
        problem p = begin(&s, &r, c, 1000);
        p.type = p.type == WISP_S || p.type == WISP_C ? WISP_C : WISP_Z;
        enum { TIMES = 24 };
        double time[TIMES];
        const int times = (int)ref_below(&r, TIMES);
        const double longest = c % 7 ? 0.3 : 40;
        for (int i = 0; i < times; i++)
            time[i] = ref_below(&r, 4) ? longest * (i + 1) / times : longest * ref_uniform(&r);
        wisp_evolve_opts o = {.tolerance = p.type == WISP_C ? 1e-2 : 1e-8};
        const int given = ref_below(&r, 2) == 0;
        if (given) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = wide};
        if (ref_below(&r, 2)) o.depth = 1 + (int)ref_below(&r, 12);
        if (ref_below(&r, 2)) o.at_once = 1 + (int)ref_below(&r, 8);
        wisp_plan first, plan;
        wisp_blk *psi;
        wisp_evolution e;
        REF_OK(s.ctx, wisp_blk_create(&psi, s.ctx, wisp_mat_map(s.A), p.type, p.width));
        REF_OK(s.ctx, wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 1, 0, 0));
        wisp_ctx_memory(s.ctx, &s.before, &s.made);
        REF_OK(s.ctx, wisp_evolve_plan(&first, s.ctx, &s.most, p.type, p.width, times, time, &o, NULL));
        REF_OK(s.ctx, wisp_evolve_plan(&plan, s.ctx, &s.info, p.type, p.width, times, time, &o, NULL));
        REF_OK(s.ctx, wisp_evolve(&e, s.A, psi, times, time, &o));
        told += look(&s, &p, "evolve", &first, &plan);
        assert_true(given || isnan(plan.sweeps));
        if (given && ref_ranks() == 1)
            assert_true(plan.sweeps == (double)e.sweeps && plan.products == p.width * plan.sweeps);
        wisp_blk_free(psi);
        tear_down(&s);
    }
    assert_true(told > 20);
}

static void of_cool(void **state)
{
    (void)state;
    static const double falling[] = {1, 0.5, 0.1};
    int told = 0;
    for (int c = 0; c < 30; c++) {
        ref_rng r;
        setting s;
        problem p = begin(&s, &r, c, 1500);
        wisp_cool_opts o = {.temperatures = 3, .temperature = falling, .vectors = 1 + ref_below(&r, 20)};
        if (ref_below(&r, 2)) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = wide};
        wisp_plan first, plan;
        wisp_cooled cooled;
        REF_OK(s.ctx, wisp_cool_plan(&first, s.ctx, &s.most, &o));
        REF_OK(s.ctx, wisp_cool_plan(&plan, s.ctx, &s.info, &o));
        REF_OK(s.ctx, wisp_cool(&cooled, s.A, &o));
        p.type = cooled.type, p.width = (int)o.vectors;
        told += look(&s, &p, "cool", &first, &plan);
        assert_true(isnan(plan.products) && isnan(plan.sweeps) && isnan(plan.seconds));
        wisp_cooled_free(&cooled);
        tear_down(&s);
    }
    assert_true(told > 10);
}

static int decay(void *arg, double energy, wisp_scalar *value)
{
    *value = (wisp_scalar){exp(-*(const double *)arg * energy), 0};
    return 0;
}

static void of_functions(void **state)
{
    (void)state;
    int told = 0;
    for (int c = 0; c < 60; c++) {
        ref_rng r;
        setting s;
        const problem p = begin(&s, &r, c, 3000);
        enum { MOST = 4, TERMS = 40 };
        const int count = 1 + (int)ref_below(&r, MOST);
        double beta[MOST];
        wisp_scalar coefficient[TERMS];
        wisp_function f[MOST];
        for (int i = 0; i < TERMS; i++) coefficient[i] = (wisp_scalar){ref_uniform(&r), 0};
        for (int i = 0; i < count; i++) {
            beta[i] = c % 7 ? 0.1 * (i + 1) : 1;
            f[i] = (wisp_function){.value = decay, .arg = &beta[i]};
        }
        wisp_chebyshev_opts o = {.tolerance = p.type == WISP_C || p.type == WISP_S ? 1e-2 : 1e-8};
        const int given = ref_below(&r, 2) == 0;
        if (given) o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = wide};
        if (given && ref_below(&r, 2)) f[0] = (wisp_function){.c = coefficient, .terms = TERMS};
        if (ref_below(&r, 3) == 0) o.points = 1 + ref_below(&r, 20000);
        if (ref_below(&r, 3) == 0) o.jackson = 1 + ref_below(&r, 300);
        if (ref_below(&r, 3) == 0) o.terms = 2000;
        if (ref_below(&r, 2)) o.depth = 1 + (int)ref_below(&r, 12);
        wisp_plan first, plan;
        wisp_blk *x, *y[MOST];
        wisp_expansion e;
        REF_OK(s.ctx, wisp_blk_create(&x, s.ctx, wisp_mat_map(s.A), p.type, p.width));
        REF_OK(s.ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 1, 0, 0));
        for (int i = 0; i < count; i++)
            REF_OK(s.ctx, wisp_blk_create(&y[i], s.ctx, wisp_mat_map(s.A), p.type, p.width));
        wisp_ctx_memory(s.ctx, &s.before, &s.made);
        REF_OK(s.ctx, wisp_chebyshev_plan(&first, s.ctx, &s.most, p.type, p.width, count, f, &o, NULL));
        REF_OK(s.ctx, wisp_chebyshev_plan(&plan, s.ctx, &s.info, p.type, p.width, count, f, &o, NULL));
        REF_OK(s.ctx, wisp_chebyshev_apply(&e, y, s.A, x, count, f, &o));
        told += look(&s, &p, "functions", &first, &plan);
        if (given || o.jackson)
            assert_true(plan.sweeps == (double)e.sweeps && plan.products == p.width * plan.sweeps &&
                        first.sweeps == plan.sweeps);
        else
            assert_true(isnan(plan.sweeps) && isnan(plan.seconds));
        wisp_blk_free(x);
        for (int i = 0; i < count; i++) wisp_blk_free(y[i]);
        tear_down(&s);
    }
    assert_true(told > 20);
}

static void of_mpk(void **state)
{
    (void)state;
    int told = 0;
    for (int c = 0; c < 60; c++) {
        ref_rng r;
        setting s;
        const problem p = begin(&s, &r, c, 2000);
        enum { STEPS = 40, SUMS = 3, WIDEST = 24 };
        wisp_scalar factor[STEPS], eta[SUMS * STEPS], *add = calloc(STEPS * WIDEST, sizeof *add),
                                                      *dot = calloc(4 * STEPS * WIDEST, sizeof *dot);
        wisp_blk *v[2], *z[SUMS], *u;
        for (int i = 0; i < STEPS; i++) factor[i] = (wisp_scalar){0.125, 0};
        for (int i = 0; i < SUMS * STEPS; i++) eta[i] = (wisp_scalar){0.5, 0};
        wisp_mpk_opts o = {
            .steps = 1 + (int)ref_below(&r, STEPS), .alpha = factor, .sums = (int)ref_below(&r, SUMS + 1)};
        o.z = z, o.eta = eta, o.dot = dot;
        if (ref_below(&r, 2)) o.depth = 1 + (int)ref_below(&r, 12);
        if (ref_below(&r, 2)) o.terms = WISP_DOT_XX | WISP_DOT_YY;
        if (ref_below(&r, 2)) o.gamma = factor;
        for (int i = 0; i < 2; i++) {
            REF_OK(s.ctx, wisp_blk_create(&v[i], s.ctx, wisp_mat_map(s.A), p.type, p.width));
            REF_OK(s.ctx, wisp_blk_fill_random(v[i], WISP_RANDOM_GAUSS, 1, 0, 0));
        }
        REF_OK(s.ctx, wisp_blk_create(&u, s.ctx, wisp_mat_map(s.A), p.type, p.width));
        REF_OK(s.ctx, wisp_blk_fill_random(u, WISP_RANDOM_GAUSS, 2, 0, 0));
        for (int i = 0; i < SUMS; i++) REF_OK(s.ctx, wisp_blk_create(&z[i], s.ctx, wisp_mat_map(s.A), p.type, p.width));
        if (ref_below(&r, 3) == 0) o.u = u, o.add = add, o.terms |= WISP_DOT_UY;
        wisp_ctx_memory(s.ctx, &s.before, &s.made);
        wisp_plan first, plan;
        REF_OK(s.ctx, wisp_mpk_plan(&first, s.ctx, &s.most, p.type, p.width, &o, NULL));
        REF_OK(s.ctx, wisp_mpk_plan(&plan, s.ctx, &s.info, p.type, p.width, &o, NULL));
        const int64_t before = products_of(&s);
        REF_OK(s.ctx, wisp_mpk(v, 2, s.A, &o));
        told += look(&s, &p, "mpk", &first, &plan);
        assert_true(plan.sweeps == (double)(products_of(&s) - before) && plan.products == p.width * plan.sweeps);
        wisp_blk_free(u);
        for (int i = 0; i < 2; i++) wisp_blk_free(v[i]);
        for (int i = 0; i < SUMS; i++) wisp_blk_free(z[i]);
        free(add), free(dot);
        tear_down(&s);
    }
    assert_true(told > 20);
}

static void of_bounds(void **state)
{
    (void)state;
    int told = 0;
    for (int c = 0; c < 60; c++) {
        ref_rng r;
        setting s;
        const problem p = begin(&s, &r, c, 3000);
        wisp_bounds_opts o = {.width = (int)ref_below(&r, 12)};
        if (ref_below(&r, 2)) o.sweeps = 1 + (double)ref_below(&r, 100000);
        if (ref_below(&r, 2)) o.sweeps_per_halfwidth = 1 + (double)ref_below(&r, 100000);
        if (ref_below(&r, 5) == 0) o.method = WISP_BOUNDS_GERSHGORIN;
        wisp_plan first, plan;
        wisp_bounds b;
        REF_OK(s.ctx, wisp_bounds_plan(&first, s.ctx, &s.most, &o, NULL));
        REF_OK(s.ctx, wisp_bounds_plan(&plan, s.ctx, &s.info, &o, &(wisp_choice){.seconds = 1, .load_gbs = 1}));
        const int64_t before = products_of(&s);
        REF_OK(s.ctx, wisp_bounds_find(&b, s.A, &o));
        told += look(&s, &p, "bounds", &first, &plan);
        const int runs = o.method == WISP_BOUNDS_LANCZOS;
        assert_true(runs ? plan.sweeps >= 8 && plan.products >= plan.sweeps && plan.seconds >= plan.sweeps
                         : plan.products == 0 && plan.sweeps == 0 && plan.seconds == 0);
        if (o.sweeps > 0 || !runs) assert_true((double)(products_of(&s) - before) <= plan.sweeps);
        tear_down(&s);
    }
    assert_true(told > 20);
}

/* Matrices with many more entries in the halo than rows, which ranks look at together; each rank has few rows. */
static void of_entries(void **state)
{
    static const char *const specs[] = {
        "spinchain:sites=16,up=8",          "hubbard:sites=6,up=3,down=3", "anderson:nx=200,ny=50,nz=1,disorder=1",
        "delaunay:nx=100,ny=100,shuffle=1", "band:n=20000,bandwidth=41",   "band:n=700,bandwidth=699"};
    (void)state;
    for (int c = 0; c < 24; c++) {
        ref_rng r = {(uint64_t)c + 4000};
        problem p = {.type = WISP_D, .width = 1, .mo = {.type = WISP_D, .width = 1}};
        snprintf(p.spec, sizeof p.spec, "%s", specs[c % 6]);
        if (ref_below(&r, 2)) p.mo.format = WISP_FORMAT_SELL;
        if (ref_below(&r, 2)) p.mo.order = WISP_ROWS_NATURAL;
        setting s;
        set_up(&s, &p, 1 + c % 2);
        wisp_plan first, plan;
        wisp_moments m;
        wisp_mat_props props;
        wisp_kpm_opts ko = {.moments = 2, .vectors = 1};
        if (c % 2) ko.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GERSHGORIN};
        if (c >= 18) {
            REF_OK(s.ctx, wisp_mat_get_props(s.A, &props));
            look(&s, &p, "properties", &(wisp_plan){.bytes_most = s.most.props_bytes},
                 &(wisp_plan){.bytes_most = s.info.props_bytes});
            assert_true(s.info.props_bytes <= s.most.props_bytes);
        } else if (c >= 12) {
            wisp_blk *x[2];
            for (int i = 0; i < 2; i++) {
                REF_OK(s.ctx, wisp_blk_create(&x[i], s.ctx, wisp_mat_map(s.A), WISP_D, 1));
                REF_OK(s.ctx, wisp_blk_fill_random(x[i], WISP_RANDOM_GAUSS, 1, 0, 0));
            }
            const wisp_solve_opts so = {.method = c % 2 ? WISP_MINRES : WISP_BICGSTAB, .max_iterations = 1};
            wisp_ctx_memory(s.ctx, &s.before, &s.made);
            REF_OK(s.ctx, wisp_solve_plan(&first, s.ctx, &s.most, WISP_D, 1, &so, NULL));
            REF_OK(s.ctx, wisp_solve_plan(&plan, s.ctx, &s.info, WISP_D, 1, &so, NULL));
            wisp_solve(NULL, x[0], s.A, x[1], &so); /* one iteration is not enough */
            look(&s, &p, "solve", &first, &plan);
            for (int i = 0; i < 2; i++) wisp_blk_free(x[i]);
        } else {
            REF_OK(s.ctx, wisp_kpm_plan(&first, s.ctx, &s.most, &ko, NULL));
            REF_OK(s.ctx, wisp_kpm_plan(&plan, s.ctx, &s.info, &ko, NULL));
            REF_OK(s.ctx, wisp_kpm(&m, s.A, &ko));
            look(&s, &p, "kpm", &first, &plan);
            wisp_moments_free(&m);
        }
        tear_down(&s);
    }
}

static wisp_status nothing(void *arg, wisp_blk *y, const wisp_blk *x)
{
    (void)arg, (void)y, (void)x;
    return WISP_OK;
}

/* Bytes that no number of 64 bits holds are the largest one. */
static void beyond_numbers(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    const int64_t rows = INT64_C(1) << 61;
    const wisp_mat_info info = {.rows = rows,
                                .cols = rows,
                                .nnz = rows,
                                .type = WISP_Z,
                                .format = WISP_FORMAT_HERMITIAN,
                                .spill_bytes = rows,
                                .work_blocks = 1,
                                .local_rows = rows,
                                .local_nnz = rows};
    const wisp_bounds_opts given = {.method = WISP_BOUNDS_GIVEN, .given = wide};
    const double beta = 1e-3, time = 1e-6;
    const wisp_function f = {.value = decay, .arg = (void *)&beta};
    wisp_plan plan;
    REF_OK(ctx,
           wisp_chebyshev_plan(&plan, ctx, &info, WISP_Z, 9, 1, &f, &(wisp_chebyshev_opts){.bounds = given}, NULL));
    assert_true(plan.bytes == INT64_MAX && plan.bytes_most == INT64_MAX);
    REF_OK(ctx, wisp_evolve_plan(&plan, ctx, &info, WISP_Z, 9, 1, &time, &(wisp_evolve_opts){.bounds = given}, NULL));
    assert_true(plan.bytes == INT64_MAX && plan.bytes_most == INT64_MAX);
    REF_OK(ctx, wisp_cool_plan(&plan, ctx, &info, &(wisp_cool_opts){.temperatures = 1, .bounds = given}));
    assert_true(plan.bytes == INT64_MAX && plan.bytes_most == INT64_MAX);
    REF_OK(ctx, wisp_mpk_plan(&plan, ctx, &info, WISP_Z, 9, &(wisp_mpk_opts){.steps = 2}, NULL));
    assert_true(plan.bytes == INT64_MAX && plan.bytes_most == INT64_MAX);
    for (int m = WISP_METHOD_DEFAULT; m <= WISP_IDR; m = ref_next_method(m))
        for (int p = WISP_PRECOND_NONE; p <= WISP_PRECOND_APPLY; p++) {
            const wisp_solve_opts o = {
                .method = (wisp_method)m, .precond = (wisp_precond)p, .apply = nothing, .bounds = given};
            REF_OK(ctx, wisp_solve_plan(&plan, ctx, &info, WISP_Z, 9, &o, NULL));
            assert_true(plan.bytes == INT64_MAX && plan.bytes_most == INT64_MAX);
        }
    REF_OK(ctx, wisp_fuse_plan(&plan, ctx, INT64_MAX, WISP_Z, 9, 3, 3));
    assert_in_range(plan.bytes, 1, plan.bytes_most);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_kpm),     cmocka_unit_test(of_evolve),
                                       cmocka_unit_test(of_cool),    cmocka_unit_test(of_functions),
                                       cmocka_unit_test(of_mpk),     cmocka_unit_test(of_bounds),
                                       cmocka_unit_test(of_entries), cmocka_unit_test(beyond_numbers)};
    return REF_RUN(tests);
}
