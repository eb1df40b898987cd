/* Moments that cannot be had: bounds that are too narrow, options and matrices that are refused, cancelling, memory. */
#include "kpm_dense.h"
#include <stdbool.h>

/* Bounds that are too narrow stop the run, and the message names the side. */
static void guard(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        double cut_low, cut_high;
        const char *words;
    } cases[] = {{0, 0.02, "above the upper bound"},
                 {0.02, 0, "below the lower bound"},
                 {0, 0.4, "above the upper bound"},
                 {0.4, 0, "below the lower bound"},
                 {0.2, 0.2, "bound"}};
    static const wisp_type types[] = {WISP_D, WISP_S, WISP_C, WISP_Z};
    for (int t = 0; t < 4; t++) {
        ref_rng r = {99};
        ref_mat H = random_hermitian(&r, types[t], 80, 0.3);
        wisp_mat *A = ref_mat_of(ctx, H, types[t]);
        double *energy = eigenvalues(H), low = energy[0], high = energy[79], spread = high - low;
        for (size_t i = 0; i < 5 * 3; i++) {
            double a = low + cases[i % 5].cut_low * spread, b = high - cases[i % 5].cut_high * spread;
            if (cases[i % 5].cut_low == 0) a -= 0.01 * spread;
            if (cases[i % 5].cut_high == 0) b += 0.01 * spread;
            wisp_kpm_opts o = {.moments = 401, .vectors = 9, .bounds.method = WISP_BOUNDS_GIVEN};
            o.variant = (wisp_kpm_variant)(i / 5);
            o.bounds.given = (wisp_bounds){a / 2 + b / 2, b / 2 - a / 2, 0};
            wisp_moments m;
            memset(&m, 0xff, sizeof m);
            REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_BOUNDS, cases[i % 5].words);
            assert_null(m.mu);
            assert_int_equal(m.vectors, 0);
        }
        /* Just wide enough. */
        wisp_kpm_opts o = {.moments = 401, .vectors = 9, .bounds.method = WISP_BOUNDS_GIVEN};
        o.bounds.given = (wisp_bounds){low / 2 + high / 2, 0.500001 * spread, 0};
        wisp_moments m;
        REF_OK(ctx, wisp_kpm(&m, A, &o));
        assert_true(isnan(m.bounds.failure_probability));
        wisp_moments_free(&m);
        o.bounds.given.halfwidth = 1e-13 * spread; /* overflows within a few sweeps */
        REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_BOUNDS, "bound");
        free(energy);
        ref_free(H);
        wisp_mat_free(A);
    }
}

static void bad_options(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = mat_of_spec(ctx, "laplace:nx=5,ny=4,nz=1", NULL);
    int64_t outside[] = {3, 20}, negative[] = {-1};
    static const wisp_bounds flat = {0, 0, 0}, nan_center = {NAN, 1, 0}, endless = {0, HUGE_VAL, 0};
    const struct {
        wisp_kpm_opts o;
        wisp_status status;
        const char *words;
    } table[] = {
        {{.moments = 1}, WISP_ERR_ARG, "opts.moments is 1, it must be 2 to"},
        {{.moments = -5}, WISP_ERR_ARG, "opts.moments is -5"},
        {{.moments = INT64_MAX}, WISP_ERR_ARG, "opts.moments is 9223372036854775807"},
        {{.vectors = -1}, WISP_ERR_ARG, "opts.vectors is -1, at least 1"},
        {{.vectors = INT64_MAX}, WISP_ERR_ARG, "opts.vectors is 9223372036854775807"},
        {{.first_vector = -1}, WISP_ERR_ARG, "opts.first_vector is -1"},
        {{.first_vector = 4294967290}, WISP_ERR_ARG, "numbered up to 4294967295"},
        {{.width = -2}, WISP_ERR_ARG, "opts.width is -2"},
        {{.width = 2, .variant = WISP_KPM_NAIVE}, WISP_ERR_ARG, "opts.width is 2, which is for the blocked variant"},
        {{.variant = (wisp_kpm_variant)7}, WISP_ERR_ARG, "opts.variant: unknown value 7"},
        {{.trace = (wisp_trace)9}, WISP_ERR_ARG, "opts.trace: unknown value 9"},
        {{.trace = WISP_TRACE_SITES}, WISP_ERR_ARG, "opts.sites has none"},
        {{.trace = WISP_TRACE_SITES, .sites = outside, .vectors = 2},
         WISP_ERR_ARG,
         "opts.sites: 20 is not a row; they are 0 to 19"},
        {{.trace = WISP_TRACE_SITES, .sites = negative, .vectors = 1}, WISP_ERR_ARG, "opts.sites: -1"},
        {{.type = WISP_S}, WISP_ERR_UNSUPPORTED, "vectors of type single do not go with a matrix of type double"},
        {{.type = WISP_C}, WISP_ERR_UNSUPPORTED, "complex single"},
        {{.type = (wisp_type)17}, WISP_ERR_UNSUPPORTED, "vectors of type"},
        {{.bounds.method = (wisp_bounds_method)5}, WISP_ERR_ARG, "bounds: unknown method 5"},
        {{.bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = flat}, WISP_ERR_ARG, "halfwidth 0 are no interval"},
        {{.bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = nan_center}, WISP_ERR_ARG, "center nan"},
        {{.bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = endless}, WISP_ERR_ARG, "halfwidth inf"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        wisp_moments m;
        REF_FAILS(ctx, wisp_kpm(&m, A, &table[i].o), table[i].status, table[i].words);
        assert_null(m.mu);
    }
    wisp_mat_free(A);
}

/* Matrices that have no density of states: named by their entry. */
static void bad_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_bounds wide = {0, 100, 0};
    struct {
        int64_t rows, cols, i, j;
        cplx value;
        wisp_status status;
        const char *words;
    } table[] = {
        {6, 7, 0, 0, 1, WISP_ERR_HERMITIAN, "rectangular (6 x 7)"},
        {6, 6, 1, 4, 2, WISP_ERR_HERMITIAN, "not Hermitian: entries (1, 4) and (4, 1)"},
        {6, 6, 3, 3, 2 + I, WISP_ERR_HERMITIAN, "entry (3, 3) on the diagonal is not real"},
        {6, 6, 2, 2, NAN, WISP_ERR_NUMERIC, "row 2 of the matrix holds a NaN"},
        {6, 6, 5, 5, HUGE_VAL, WISP_ERR_NUMERIC, "row 5"},
        {6, 6, 5, 5, 1e308, WISP_ERR_NUMERIC, "too large"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ref_mat H = ref_new(table[i].rows, table[i].cols);
        for (int64_t k = 0; k < 6; k++) REF_AT(H, k, k) = 1;
        REF_AT(H, table[i].i, table[i].j) = table[i].value;
        wisp_mat *A = ref_mat_of(ctx, H, WISP_Z);
        for (int method = 0; method < 3; method++) {
            wisp_moments m;
            wisp_kpm_opts o = {.bounds.method = (wisp_bounds_method)method};
            if (method == WISP_BOUNDS_GIVEN) o.bounds.given = wide;
            if (method == WISP_BOUNDS_GIVEN && table[i].status == WISP_ERR_NUMERIC && isfinite(creal(table[i].value)))
                continue;
            REF_FAILS(ctx, wisp_kpm(&m, A, &o), table[i].status, table[i].words);
        }
        ref_free(H);
        wisp_mat_free(A);
    }
}

/* Odd moments are told by the guard where no dot is larger than the first yet: all that is saved can be loaded. Of
   eigenvalues 1.1 and 0, with bounds -1 to 1, mu_3 = 2 * 0.78 - 0.55. */
static void odd_moment(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat H = ref_new(2, 2);
    for (int k = 0; k < 4; k++) H.a[k] = 0.55;
    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
    wisp_moments m;
    wisp_kpm_opts o = {.moments = 4,
                       .trace = WISP_TRACE_SITES,
                       .vectors = 1,
                       .sites = (int64_t[]){0},
                       .bounds.method = WISP_BOUNDS_GIVEN,
                       .bounds.given = {0, 1, 0}};
    REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_BOUNDS, "above the upper bound");
    o.moments = 3;
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    wisp_moments_free(&m);
    ref_free(H);
    wisp_mat_free(A);
}

/* Stops after some steps. */
typedef struct {
    int left;
    double last, flops;
} stopper;
static int stop(void *arg, const wisp_progress *p)
{
    stopper *s = arg;
    if (strcmp(p->task, "moments")) return 0;
    assert_true(p->done >= s->last && p->done <= 1 && p->flops >= s->flops);
    s->last = p->done;
    s->flops = p->flops;
    return --s->left == 0;
}

static void cancel(void **state)
{
    (void)state;
    stopper s = {-1, 0, 0};
    wisp_ctx_opts c = {.progress = stop, .progress_arg = &s};
    wisp_ctx *ctx = ref_ctx(&c);
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=4,ny=4,nz=2", NULL);
    wisp_kpm_opts o = {.moments = 20, .vectors = 10, .width = 4, .seed = 2};
    wisp_moments all, part;
    REF_OK(ctx, wisp_kpm(&all, A, &o));
    assert_true(s.last == 1 && s.flops == all.flops);
    /* 20 moments are 10 sweeps; batches of 4, 4, 2 vectors; one step before each sweep, or all of a batch, and one at
       the end. */
    static const int64_t kept[] = {4, 4, 8};
    const int calls = ref_far(ctx) ? 1 : 10;
    for (int steps = 1; steps <= 3 * calls; steps++) {
        s = (stopper){steps, 0, 0};
        REF_FAILS(ctx, wisp_kpm(&part, A, &o), WISP_ERR_CANCELLED, "cancelled");
        const int begun = ref_ranks() > 1 && steps <= calls; /* each rank has some of the sums: they are not kept */
        assert_int_equal(part.vectors, steps == 1 || begun ? 0 : kept[(steps - 1) / calls]);
        if (steps > 1 && !begun) assert_int_equal(part.n, steps <= calls ? 2 * (steps - 1) : 20);
        for (int64_t v = 0; v < part.vectors; v++)
            assert_memory_equal(part.mu + v * part.n, all.mu + v * 20, (size_t)part.n * sizeof(double));
        wisp_moments_free(&part);
        wisp_ctx_resume(ctx);
    }
    o.trace = WISP_TRACE_EXACT;
    s = (stopper){25, 0, 0};
    REF_FAILS(ctx, wisp_kpm(&part, A, &o), WISP_ERR_CANCELLED, "cancelled");
    assert_int_equal(part.vectors, 0);
    double mean[20];
    REF_FAILS(ctx, wisp_moments_mean(ctx, &part, WISP_REAL_PART, mean, NULL), WISP_ERR_ARG, "no vector was completed");
    wisp_moments_free(&part);
    /* Cancelled before it began. */
    REF_FAILS(ctx, wisp_kpm(&part, A, &o), WISP_ERR_CANCELLED, "cancelled");
    wisp_moments_free(&part);
    wisp_moments_free(&all);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* What an observer was shown, and the call of it that ends the run; offers beside them. */
enum { MOST_SHOWN = 200 };
typedef struct {
    int left, shown, offers;
    bool here; /* on this rank */
    int64_t moments[MOST_SHOWN], vectors[MOST_SHOWN];
} watching;

static int watch(void *arg, int64_t moments, int64_t vectors)
{
    watching *w = arg;
    assert_in_range(w->shown, 0, MOST_SHOWN - 1);
    w->moments[w->shown] = moments;
    w->vectors[w->shown++] = vectors;
    return --w->left == 0 && w->here ? -1 : 0;
}

static int count_offers(void *arg, wisp_state *state)
{
    assert_false(wisp_state_is_kept(state));
    ((watching *)arg)->offers += !wisp_state_is_whole(state);
    return 0;
}

/* Once after each call of wisp_mpk: moments grow until all vectors of the batch are complete. */
static void check_shown(const watching *w, const wisp_kpm_opts *o, int64_t vectors)
{
    int64_t complete = 0, moments = 0;
    assert_int_equal(w->shown, w->offers);
    for (int i = 0; i < w->shown; i++) {
        assert_true(w->moments[i] > moments && w->moments[i] <= o->moments);
        const bool through = w->moments[i] == o->moments && w->vectors[i] > complete;
        if (!through) assert_int_equal(w->vectors[i], complete);
        moments = through ? 0 : w->moments[i];
        complete = w->vectors[i];
    }
    assert_true(moments == 0 && complete == vectors);
}

/* What is kept of a run that was ended when it had shown these is what the whole run has. */
static void check_kept(const wisp_moments *part, const wisp_moments *all, int64_t moments, int64_t vectors, int width)
{
    const bool begun = vectors == 0 && ref_ranks() == 1;
    assert_int_equal(part->partial, 1);
    assert_int_equal(part->vectors, all->trace == WISP_TRACE_EXACT ? 0 : begun ? width : vectors);
    if (part->vectors > 0) assert_int_equal(part->n, begun ? moments : all->n);
    for (int64_t v = 0; v < part->vectors; v++) {
        assert_memory_equal(part->mu + v * part->n, all->mu + v * all->n, (size_t)part->n * sizeof(double));
        if (all->imag)
            assert_memory_equal(part->imag + v * part->n, all->imag + v * all->n, (size_t)part->n * sizeof(double));
    }
}

/* Ended at each of the times at which it is called, by one rank or by all; other solvers: test_offers. */
static void observed(void **state)
{
    wisp_ctx *ctx = *state;
    enum { WIDTH = 3 };
    static const int64_t site[] = {2, 11, 5, 7};
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=2,ny=2,nz=2", NULL);
    wisp_blk *r, *l;
    const int ranks = wisp_ctx_processes(ctx), rank = wisp_ctx_rank(ctx);
    wisp_blk **given[] = {&r, &l};
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_blk_create(given[i], ctx, wisp_mat_map(A), WISP_Z, 4));
        REF_OK(ctx, wisp_blk_fill_random(*given[i], WISP_RANDOM_GAUSS, 1, 4 * (uint32_t)i, 0));
    }
    const wisp_kpm_opts each[] = {{.moments = 12, .vectors = 7},
                                  {.moments = 13, .vectors = 4, .variant = WISP_KPM_FUSED, .width = 1},
                                  {.moments = 6, .vectors = 2, .variant = WISP_KPM_NAIVE, .width = 1},
                                  {.moments = 7, .vectors = 4, .reduce_each_step = 1, .depth = 2},
                                  {.moments = 7, .trace = WISP_TRACE_EXACT, .width = 16},
                                  {.moments = 9, .vectors = 4, .trace = WISP_TRACE_SITES, .sites = site},
                                  {.moments = 6, .vectors = 4, .adjoint = A},
                                  {.moments = 6, .trace = WISP_TRACE_GIVEN, .right = r, .left = l}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        wisp_kpm_opts o = each[i];
        watching w = {.here = true};
        wisp_moments all, part;
        if (o.width == 0) o.width = WIDTH;
        o.observe = watch, o.observe_arg = &w, o.offer = count_offers, o.offer_arg = &w;
        REF_OK(ctx, wisp_kpm(&all, A, &o));
        check_shown(&w, &o, all.trace == WISP_TRACE_EXACT ? all.rows : all.vectors);
        const watching whole = w;
        for (int at = 1; at <= whole.shown; at++) {
            const int by = at % (ranks + 1);
            w = (watching){.left = at, .here = by == ranks || by == rank};
            REF_FAILS(ctx, wisp_kpm(&part, A, &o), WISP_ERR_CANCELLED, "kpm: ended by opts.observe after");
            check_kept(&part, &all, whole.moments[at - 1], whole.vectors[at - 1], o.width);
            wisp_moments_free(&part);
        }
        wisp_moments_free(&all);
    }
    /* The further run that tells rounding is none of the observer's. */
    watching w = {0};
    wisp_moments m;
    wisp_mat *S;
    REF_OK(ctx, wisp_mat_open(&S, ctx, "topi:nx=2,ny=2,nz=2", &(wisp_mat_opts){.type = WISP_C}));
    const wisp_kpm_opts single = {.moments = 12,
                                  .vectors = 4,
                                  .width = 2,
                                  .rounding_limit = 1e9,
                                  .observe = watch,
                                  .observe_arg = &w,
                                  .offer = count_offers,
                                  .offer_arg = &w};
    REF_OK(ctx, wisp_kpm(&m, S, &single));
    assert_true(m.rounding > 0);
    check_shown(&w, &single, 4);
    wisp_moments_free(&m);
    wisp_mat_free(S);
    wisp_blk_free(r), wisp_blk_free(l);
    wisp_mat_free(A);
    ref_nothing_left(ctx);
}

static wisp_status kpm_all(wisp_ctx *ctx, void *arg)
{
    const wisp_kpm_opts o = {.moments = 8, .vectors = 3, .variant = WISP_KPM_NAIVE};
    wisp_mat *A = NULL;
    wisp_src src = {0};
    wisp_moments m = {0};
    wisp_status status;
    (void)arg;
    WISP_TRY(wisp_src_open_gallery(&src, ctx, "laplace:nx=6,ny=5,nz=1"));
    WISP_TRY(wisp_mat_create(&A, ctx, &src, NULL));
    status = wisp_kpm(&m, A, &o);
out:
    wisp_moments_free(&m);
    wisp_mat_free(A);
    wisp_src_close(&src);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    assert_true(ref_failing_memory(kpm_all, NULL, 200, 40) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard),          cmocka_unit_test(bad_options), cmocka_unit_test(bad_matrices),
        cmocka_unit_test(odd_moment),     cmocka_unit_test(cancel),      cmocka_unit_test(observed),
        cmocka_unit_test(failing_memory),
    };
    return REF_RUN_ALL(tests);
}
