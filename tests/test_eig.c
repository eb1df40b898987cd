/* Eigenpairs in an interval and nearest to a target: random matrices of known spectra, lattices, operators, starts,
   ends before the end, and refusals. */
#include "eig_cases.h"

static void random_questions(void **state)
{
    eig_tally t = {0};
    for (uint64_t seed = 1; seed <= 60; seed++) random_eig(*state, seed, 40, WISP_EIG_DEFAULT, &t);
    for (uint64_t seed = 1; seed <= (ref_few() ? 9 : 25); seed++) random_eig(*state, seed, 200, WISP_CHEBFD, &t);
    if (t.told > 2) fail_msg("%d of %d were not complete by their own word", t.told, t.told + t.right);
}

/* ---- lattices of known spectra --------------------------------------------------------------------- */

/* graphene, periodic: +-|1 + exp(2 pi i a) + exp(2 pi i b)| for a, b of the grid. */
static double *graphene(int nx, int ny)
{
    double *e = calloc((size_t)(2 * nx * ny), sizeof *e);
    assert_non_null(e);
    for (int i = 0; i < nx * ny; i++) {
        e[i] = cabs(1 + cexp(2 * M_PI * I * (i % nx) / nx) + cexp(2 * M_PI * I * (i / nx) / ny));
        e[nx * ny + i] = -e[i];
    }
    qsort(e, (size_t)(2 * nx * ny), sizeof *e, by_size);
    return e;
}

static void ask_graphene(wisp_ctx *ctx, wisp_mat *A, const double *e, int64_t n, wisp_eig_opts o, const char *what)
{
    wisp_eigen v;
    REF_OK(ctx, wisp_eig(&v, A, &o));
    const demand d = demand_of(&o, e, n, 1e-7);
    if (!matches(&v, e, &d, 1e-7)) fail_msg("%s: %d found, %lld are there", what, v.found, (long long)(d.to - d.from));
    assert_int_equal(v.method, WISP_CHEBFD);
    assert_true(v.complete && v.orthogonality < 1e-12 && v.products > 0 && v.search > v.found);
    if (o.filter_type) assert_int_equal(v.filter_type, o.filter_type);
    for (int i = 0; i < v.found; i++) assert_true(v.residual[i] <= o.tolerance);
    wisp_eigen_free(&v);
}

/* The width of its blocks that a call has chosen gives the same bits; another one is taken, too. */
static void again(wisp_ctx *ctx, const wisp_mat *A)
{
    wisp_eigen v[3];
    wisp_eig_opts o = {.which = WISP_EIG_INTERVAL, .low = -0.25, .high = 0.3, .filter_type = WISP_D};
    for (int i = 0; i < 3; i++) {
        if (i) o.row_bytes = i == 1 ? v[0].row_bytes : 24;
        REF_OK(ctx, wisp_eig(&v[i], A, &o));
        assert_int_equal(v[i].found, v[0].found);
        assert_true(v[i].complete && v[0].row_bytes > 0);
    }
    assert_int_equal(v[1].row_bytes, v[0].row_bytes);
    assert_memory_equal(v[1].value, v[0].value, (size_t)v[0].found * sizeof *v[0].value);
    assert_memory_equal(v[1].residual, v[0].residual, (size_t)v[0].found * sizeof *v[0].residual);
    assert_int_equal(v[2].row_bytes, 24);
    assert_int_equal(v[2].block, 3);
    for (int i = 0; i < 3; i++) wisp_eigen_free(&v[i]);
}

/* Inside, at a multiplet, in a gap, at an end of the spectrum, far from its middle. */
static void lattice(void **state)
{
    enum { NX = 18, NY = 15 };
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    char spec[40];
    snprintf(spec, sizeof spec, "graphene:nx=%d,ny=%d", NX, NY);
    REF_OK(ctx, wisp_mat_open(&A, ctx, spec, NULL));
    double *e = graphene(NX, NY);
    const int64_t n = 2 * NX * NY;
    const struct {
        wisp_eig_opts o;
        const char *what;
    } question[] = {
        {{.which = WISP_EIG_INTERVAL, .low = -0.25, .high = 0.3}, "middle"},
        {{.which = WISP_EIG_INTERVAL, .low = 2.8, .high = 3.5}, "end"},
        {{.which = WISP_EIG_INTERVAL, .low = -2.3, .high = -2.2}, "far out"},
        {{.which = WISP_EIG_INTERVAL, .low = e[190], .high = e[190]}, "level"},
        {{.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .target = 0.1, .count = 10}, "nearest"},
    };
    static const wisp_type filter[] = {WISP_DEFAULT, WISP_S, WISP_D};
    for (size_t i = 0; i < sizeof question / sizeof *question; i++)
        for (int f = 0; f < 3; f++) {
            if (ref_few() && f != (int)(i % 3)) continue; /* the filter's kernels are the same for all questions */
            wisp_eig_opts o = question[i].o;
            o.filter_type = filter[f];
            o.tolerance = f == 0 ? 1e-8 : 1e-12; /* far below what single precision has */
            ask_graphene(ctx, A, e, n, o, question[i].what);
        }
    wisp_eigen v;
    REF_OK(ctx, wisp_eig(&v, A, &(wisp_eig_opts){.which = WISP_EIG_INTERVAL, .low = 5, .high = 6}));
    assert_int_equal(v.found, 0);
    wisp_eigen_free(&v);
    wisp_eig_choice choice;
    wisp_plan cost;
    REF_OK(ctx,
           wisp_eig_plan(&cost, &choice, A, &(wisp_eig_opts){.which = WISP_EIG_INTERVAL, .low = -0.2, .high = 0.2}));
    assert_true(cost.products > 0 && cost.bytes > 0 && cost.seconds > 0 && choice.search > 0 &&
                cost.bytes <= cost.bytes_most);
    again(ctx, A);
    free(e);
    wisp_mat_free(A);
}

/* ---- one value far beyond all others ----------------------------------------------------------------- */

/* -1 .. 1 in equal steps, and one far value. */
static double *with_outlier(int64_t n, double outlier)
{
    double *e = calloc((size_t)n, sizeof *e);
    assert_non_null(e);
    for (int64_t i = 0; i < n - 1; i++) e[i] = -1 + 2 * (double)i / (double)(n - 2);
    e[n - 1] = outlier;
    return e;
}

/* It makes the spectrum's halfwidth, and so a relative tolerance, wide beside the target: which pairs belong to that
   their residuals tell. */
static void outlier(void **state)
{
    enum { N = 121 };
    wisp_ctx *ctx = *state;
    const struct {
        double outlier;
        wisp_eig_opts o;
        wisp_type type;
    } ask[] = {
        {1e10, {.which = WISP_EIG_INTERVAL}, WISP_D},
        {1e10, {.which = WISP_EIG_INTERVAL, .tolerance_abs = 1e-4}, WISP_Z},
        {1e10, {.which = WISP_EIG_NEAREST, .count = 7}, WISP_D},
        {1e10, {.which = WISP_EIG_SMALLEST, .count = 7, .method = WISP_EIG_DENSE}, WISP_D},
        {10, {.which = WISP_EIG_INTERVAL, .method = WISP_CHEBFD, .tolerance = 1e-2}, WISP_D},
        {10, {.which = WISP_EIG_INTERVAL, .method = WISP_CHEBFD, .tolerance_abs = 1e-6}, WISP_Z},
        {10, {.which = WISP_EIG_NEAREST, .method = WISP_CHEBFD, .count = 7, .tolerance = 1e-5}, WISP_D},
        {-20, {.which = WISP_EIG_INTERVAL, .tolerance_abs = 1e-3}, WISP_S},
        {200, {.which = WISP_EIG_SMALLEST, .count = 4, .method = WISP_LANCZOS, .tolerance_abs = 1e-9}, WISP_D},
    };
    for (size_t c = 0; c < sizeof ask / sizeof *ask; c++) {
        if (ref_few() && c != 1 && c != 7) continue; /* a complex one, and one of single precision */
        wisp_eig_opts o = ask[c].o;
        ref_rng r = {c + 1};
        double *e = with_outlier(N, ask[c].outlier);
        ref_mat m = hermitian_of(&r, e, N, ask[c].type);
        wisp_mat *A = ref_mat_of(ctx, m, ask[c].type);
        wisp_eigen v;
        o.low = -0.1, o.high = 0.1, o.target = 0.001;
        qsort(e, N, sizeof *e, by_size);
        REF_OK(ctx, wisp_eig(&v, A, &o));
        const bool single = ask[c].type == WISP_S;
        const double blur = single ? 1e-3 : o.tolerance > 1e-3 ? 0.02 : 1e-4; /* residuals tell no more */
        const demand d = demand_of(&o, e, N, blur);
        const int64_t wanted = o.count > 0 ? o.count : d.to - d.from;
        if (!matches(&v, e, &d, blur) || (blur < 0.02 && v.found != wanted))
            fail_msg("case %zu: %d found, %lld are there", c, v.found, (long long)wanted);
        assert_true(v.complete);
        for (int i = 0; i < v.found && o.tolerance_abs > 0; i++) assert_true(v.residual[i] <= o.tolerance_abs);
        if (o.tolerance_abs > 0) assert_pairs(&v, m, o.tolerance_abs, single ? 1.2e-7 : 2.2e-16, "absolute tolerance");
        wisp_eigen_free(&v);
        wisp_mat_free(A);
        ref_free(m);
        free(e);
    }
}

/* Of a matrix that is not Hermitian, too. */
static void absolute_tolerance(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_eigen v;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "matpde:nx=24,ny=24", NULL));
    for (int method = 0; method < 2; method++) {
        const wisp_eig_opts o = {.which = WISP_EIG_LARGEST_REAL,
                                 .method = method ? WISP_EIG_DENSE : WISP_KRYLOV_SCHUR,
                                 .count = 3,
                                 .tolerance_abs = 1e-7};
        REF_OK(ctx, wisp_eig(&v, A, &o));
        assert_true(v.complete && v.found >= 3);
        wisp_src source;
        REF_OK(ctx, wisp_src_open(&source, ctx, "matpde:nx=24,ny=24")); /* all rows, on each rank */
        ref_mat m = ref_dense(&source);
        v.orthogonality = 0; /* of such pairs it is not told */
        assert_pairs(&v, m, o.tolerance_abs, 2.2e-16, "not Hermitian");
        wisp_src_close(&source);
        ref_free(m);
        wisp_eigen_free(&v);
    }
    wisp_mat_free(A);
}

/* ---- operators, starts, ends ------------------------------------------------------------------------- */

static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A, *B;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=16,ny=15", NULL));
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_D, .apply = apply_stored, .arg = A};
    REF_OK(ctx, wisp_mat_from_apply(&B, ctx, &op));
    double *e = graphene(16, 15);
    ask_graphene(ctx, B, e, 480, (wisp_eig_opts){.which = WISP_EIG_NEAREST, .target = 0, .count = 6, .tolerance = 1e-8},
                 "operator");
    free(e);
    wisp_mat_free(B);
    wisp_mat_free(A);
}

/* The vectors of a first call, and fewer products in the next. */
static void starts(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_eigen first, next;
    wisp_eig_opts o = {.which = WISP_EIG_INTERVAL, .low = -0.3, .high = 0.3, .method = WISP_CHEBFD};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=24,ny=21", NULL));
    REF_OK(ctx, wisp_eig(&first, A, &o));
    o.start = first.vectors;
    REF_OK(ctx, wisp_eig(&next, A, &o));
    assert_int_equal(next.found, first.found);
    for (int i = 0; i < next.found; i++) assert_true(fabs(next.value[i].re - first.value[i].re) < 1e-7);
    wisp_eigen_free(&next);
    /* In other units: 1e140 and 1e-140. */
    const wisp_eig_opts ends = {.count = 2, .any = 1, .method = WISP_LANCZOS, .start = first.vectors};
    for (int c = 0; c < 2; c++) {
        REF_OK(ctx, wisp_scal(first.vectors, (wisp_scalar){c == 0 ? 1e140 : 1e-280, 0}));
        REF_OK(ctx, wisp_eig(&next, A, &o));
        assert_true(next.complete && next.found == first.found);
        wisp_eigen_free(&next);
        REF_OK(ctx, wisp_eig(&next, A, &ends));
        assert_true(next.complete && next.found == 2);
        wisp_eigen_free(&next);
    }
    REF_OK(ctx, wisp_blk_fill(first.vectors, (wisp_scalar){INFINITY, 0}));
    REF_FAILS(ctx, wisp_eig(&next, A, &o), WISP_ERR_NUMERIC, "column 0 of opts.start");
    wisp_eigen_free(&next);
    REF_FAILS(ctx, wisp_eig(&next, A, &ends), WISP_ERR_NUMERIC, "column 0 of opts.start");
    wisp_eigen_free(&next);
    wisp_eigen_free(&first);
    wisp_mat_free(A);
}

static int observe(void *arg, int round, int found, double wanted, double residual)
{
    assert_true(round > 0 && found >= 0 && wanted >= 0 && residual >= 0);
    return round >= *(const int *)arg;
}

static int stop_late(void *arg, const wisp_progress *p)
{
    int *left = arg;
    (void)p;
    return --*left < 0;
}

/* Ended by the user after a round, or anywhere: what is given is right. */
static void ended(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A;
    wisp_eigen v;
    int first = 1;
    double *truth = graphene(16, 15);
    wisp_eig_opts o = {.which = WISP_EIG_INTERVAL, .low = -0.3, .high = 0.3, .observe = observe, .observe_arg = &first};
    REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=16,ny=15", NULL));
    assert_int_equal(wisp_eig(&v, A, &o), WISP_ERR_CANCELLED);
    assert_false(v.complete);
    wisp_eigen_free(&v);
    wisp_mat_free(A);
    if (ref_ranks() > 1) {
        free(truth);
        return;
    }
    for (int calls = 0; calls < 240; calls += 13) {
        int left = calls;
        wisp_ctx *own;
        REF_OK(NULL,
               wisp_ctx_create(
                   &own, &(wisp_ctx_opts){.threads = 2, .no_pin = 1, .progress = stop_late, .progress_arg = &left}));
        o.observe = NULL;
        if (wisp_mat_open(&A, own, "graphene:nx=16,ny=15", NULL) == WISP_OK) {
            const wisp_status status = wisp_eig(&v, A, &o);
            assert_true(status == WISP_OK || status == WISP_ERR_CANCELLED);
            for (int i = 0; i < v.found; i++) {
                bool there = false;
                for (int j = 0; j < 2 * 16 * 15; j++) there |= fabs(truth[j] - v.value[i].re) < 1e-7;
                assert_true(there);
            }
            wisp_eigen_free(&v);
            wisp_mat_free(A);
        }
        wisp_ctx_free(own);
    }
    free(truth);
}

/* Little memory, then more: refused, or right. */
static void memory(void **state)
{
    (void)state;
    wisp_mat *A;
    wisp_eigen v;
    int refused = 0, done = 0;
    const wisp_eig_opts o = {.which = WISP_EIG_INTERVAL, .low = -0.3, .high = 0.3};
    if (ref_ranks() > 1) return;
    for (int64_t kb = 100; kb < 1200; kb += 70) {
        wisp_ctx *own;
        REF_OK(NULL, wisp_ctx_create(&own, &(wisp_ctx_opts){.threads = 2, .no_pin = 1, .memory_limit = kb * 1024}));
        if (wisp_mat_open(&A, own, "graphene:nx=16,ny=15", NULL) == WISP_OK) {
            const wisp_status status = wisp_eig(&v, A, &o);
            if (status != WISP_OK && status != WISP_ERR_NOMEM) fail_msg("%s", message_of(own));
            refused += status != WISP_OK;
            done += status == WISP_OK;
            wisp_eigen_free(&v);
            wisp_mat_free(A);
        }
        wisp_ctx_free(own);
    }
    assert_true(refused > 0 && done > 0);
}

static void refused(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A, *B, *C;
    wisp_eigen v;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=6,ny=5", NULL));
    REF_OK(ctx, wisp_mat_open(&B, ctx, "matpde:nx=6,ny=6", NULL));
    REF_OK(ctx, wisp_mat_open(&C, ctx, "graphene:nx=5,ny=5", NULL));
    const struct {
        const wisp_mat *A;
        wisp_eig_opts o;
        wisp_status status;
    } bad[] = {{A, {.which = WISP_EIG_INTERVAL, .low = 1, .high = 0}, WISP_ERR_ARG},
               {A, {.which = WISP_EIG_INTERVAL, .low = NAN, .high = 0}, WISP_ERR_ARG},
               {A, {.which = WISP_EIG_NEAREST, .target = INFINITY}, WISP_ERR_ARG},
               {A, {.count = 61}, WISP_ERR_ARG},
               {A, {.count = -1}, WISP_ERR_ARG},
               {A, {.row_bytes = -1}, WISP_ERR_ARG},
               {A, {.row_bytes = 7}, WISP_ERR_ARG},
               {A, {.tolerance = 2}, WISP_ERR_ARG},
               {A, {.tolerance = 1e-17}, WISP_ERR_ARG},
               {A, {.tolerance_abs = 1e-17}, WISP_ERR_ARG},
               {A, {.tolerance_abs = -1}, WISP_ERR_ARG},
               {A, {.tolerance_abs = INFINITY}, WISP_ERR_ARG},
               {A, {.tolerance = 1e-8, .tolerance_abs = 1e-8}, WISP_ERR_ARG},
               {A, {.method = WISP_CHEBFD}, WISP_ERR_UNSUPPORTED},
               {A, {.which = WISP_EIG_INTERVAL, .method = WISP_LANCZOS}, WISP_ERR_UNSUPPORTED},
               {B, {.which = WISP_EIG_INTERVAL}, WISP_ERR_HERMITIAN},
               {B, {.method = WISP_LANCZOS}, WISP_ERR_HERMITIAN},
               {A, {.which = (wisp_eig_which)9}, WISP_ERR_ARG},
               {A, {.method = (wisp_eig_method)9}, WISP_ERR_ARG}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const wisp_status status = wisp_eig(&v, bad[i].A, &bad[i].o);
        if (status != bad[i].status) fail_msg("case %zu: %s", i, wisp_status_string(status));
        assert_int_equal(v.found, 0);
        assert_true(*message_of(ctx));
        wisp_eigen_free(&v);
    }
    wisp_blk *other;
    REF_OK(ctx, wisp_blk_create(&other, ctx, wisp_mat_map(C), WISP_D, 2));
    assert_int_equal(wisp_eig(&v, A, &(wisp_eig_opts){.start = other}), WISP_ERR_MISMATCH);
    wisp_blk_free(other);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_mat_free(C);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_questions),
                                       cmocka_unit_test(lattice),
                                       cmocka_unit_test(outlier),
                                       cmocka_unit_test(absolute_tolerance),
                                       cmocka_unit_test(operators),
                                       cmocka_unit_test(starts),
                                       cmocka_unit_test(ended),
                                       cmocka_unit_test(memory),
                                       cmocka_unit_test(refused)};
    return REF_RUN_CTX(tests);
}
