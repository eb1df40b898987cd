/* Functions of matrices times blocks that fail: hostile ones, refusals, ranks that do not agree, what is cancelled,
   bounds that do not hold for short series, memory. */
#include "functions.h"

typedef struct {
    int at, how, calls; /* call number `at` is hostile */
} hostile;

static int be_hostile(void *arg, double energy, wisp_scalar *value)
{
    hostile *h = arg;
    *value = (wisp_scalar){energy, 0};
    if (h->calls++ != h->at) return 0;
    switch (h->how) {
    case 0: value->re = NAN; return 0;
    case 1: value->im = -INFINITY; return 0;
    case 2: value->im = 1e-300; return 0;
    case 3: *value = (wisp_scalar){DBL_MAX, DBL_MAX}; return 0;
    default: return 7;
    }
}

static int step_at(void *arg, double energy, wisp_scalar *value)
{
    *value = (wisp_scalar){energy < *(const double *)arg, 0};
    return 0;
}

static int stop_behind(void *arg, int64_t done, int64_t terms)
{
    assert_true(done <= terms);
    return done >= *(const int64_t *)arg;
}

static int64_t allocated(wisp_ctx *ctx)
{
    int64_t now;
    wisp_ctx_memory(ctx, &now, NULL);
    return now;
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_mat *A = mat_of_spec(ctx, "laplace:nx=40", NULL), *B = mat_of_spec(ctx, "laplace:nx=41", NULL);
    wisp_blk *x = block(ctx, A, WISP_D, 2), *y = block(ctx, A, WISP_D, 2), *wide = block(ctx, A, WISP_D, 3),
             *z = block(ctx, A, WISP_Z, 2), *single = block(ctx, A, WISP_S, 2), *of_b = block(ctx, B, WISP_D, 2);
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 3, 0, 0));
    wisp_chebyshev_opts o = {0};
    wisp_expansion e;
    hostile h = {0};
    wisp_function f = {.value = be_hostile, .arg = &h};
    REF_OK(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &(wisp_function){.value = value_of, .arg = &(member){.scale = 9}},
                                     NULL));
    const int64_t before = allocated(ctx); /* with what the context and the matrix keep */
#define REFUSED(to, from, count, status, words) \
    REF_FAILS(ctx, wisp_chebyshev_apply(&e, to, A, from, count, &f, &o), WISP_ERR_##status, words)
    static const char *const words[] = {"function 0 is nan+0i at energy", "-infi at energy", "x is real; take complex",
                                        "must be finite on all of the bounds", "function 0 failed (7) at energy"};
    static const wisp_status statuses[] = {WISP_ERR_NUMERIC, WISP_ERR_NUMERIC, WISP_ERR_ARG, WISP_ERR_NUMERIC,
                                           WISP_ERR_CALLBACK};
    for (int how = 0; how < 5; how++)
        for (int at = 0; at < 1025; at += 341) {
            h = (hostile){.at = at, .how = how};
            REF_FAILS(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &f, &o), statuses[how], words[how]);
            assert_int_equal(h.calls, at + 1);
        }
    h.at = -1;
    REFUSED(&wide, x, 1, MISMATCH, "one width");
    REFUSED(&z, x, 1, MISMATCH, "one type");
    REFUSED(&of_b, x, 1, MISMATCH, "the matrix's map");
    REFUSED(&y, of_b, 1, MISMATCH, "the matrix's map");
    REFUSED(((wisp_blk *[]){NULL}), x, 1, ARG, "y[0] is NULL");
    REFUSED(&y, x, 0, ARG, "0 functions");
    REFUSED(&y, x, -3, ARG, "-3 functions");
    for (int i = 0; i < 3; i++) {
        o.tolerance = (double[]){-1, 1, NAN}[i];
        REFUSED(&y, x, 1, ARG, "between 0 and 1");
    }
    o.tolerance = 1e-16;
    REFUSED(&y, x, 1, ARG, "opts.tolerance, 1e-16, can't be met: rounding alone");
    o.tolerance = 1e-7;
    REF_OK(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &f, &o));
    REFUSED(&single, single, 1, ARG, "rounding alone");
    o.tolerance = 0;
    for (int i = 0; i < 5; i++) {
        o = (wisp_chebyshev_opts){0};
        static const char *const names[] = {"opts.terms is -1", "opts.points is -1", "opts.jackson is -1",
                                            "opts.depth is -1", "opts.cache_budget is -1"};
        if (i == 0) o.terms = -1;
        if (i == 1) o.points = -1;
        if (i == 2) o.jackson = -1;
        if (i == 3) o.depth = -1;
        if (i == 4) o.cache_budget = -1;
        REFUSED(&y, x, 1, ARG, names[i]);
    }
    o = (wisp_chebyshev_opts){.terms = (1 << 22) + 1};
    REFUSED(&y, x, 1, ARG, "it is 1 to 4194304");
    o = (wisp_chebyshev_opts){.bounds.method = WISP_BOUNDS_GIVEN};
    REFUSED(&y, x, 1, ARG, "no interval");
    o = (wisp_chebyshev_opts){.terms = 500};
    double at = 2;
    f = (wisp_function){.value = step_at, .arg = &at};
    REFUSED(&y, x, 1, ARG, "function 0 is not met to opts.tolerance, 1e-10, with 500 terms, but to");
    o.jackson = 500;
    REF_OK(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &f, &o));
    assert_true(e.terms == 500 && e.sweeps == 499 && e.error > 0.4 && e.error < 1);
    int64_t end = 100;
    o.observe = stop_behind, o.observe_arg = &end;
    const int steps = ref_steps(ctx, WISP_CHEBYSHEV_STEPS), sweeps = (99 + steps) / steps * steps; /* the first 100 */
    char after[80];
    snprintf(after, sizeof after, "ended by opts.observe after %d terms", 1 + sweeps);
    REFUSED(&y, x, 1, CANCELLED, after);
    /* Another rank, without rows for example, may be ahead, and ends the call. */
    assert_true(e.sweeps == sweeps || (wisp_ctx_processes(ctx) > 1 && e.sweeps < sweeps));
    o = (wisp_chebyshev_opts){.bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = {1.5, 1, 0}, .jackson = 100};
    REFUSED(&y, x, 1, BOUNDS, "beyond the bounds");
    o = (wisp_chebyshev_opts){.bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = {4, 9, 0}};
    f = (wisp_function){0};
    REFUSED(&y, x, 1, ARG, "neither values nor coefficients");
    wisp_scalar c[2] = {{1, 0}, {NAN, 0}};
    f.c = c;
    REFUSED(&y, x, 1, ARG, "has 0 coefficients");
    f.terms = 2;
    REFUSED(&y, x, 1, NUMERIC, "coefficient 1 of function 0 is nan");
    c[1] = (wisp_scalar){0, 1};
    REFUSED(&y, x, 1, ARG, "coefficient 1 of function 0 is complex, and x is real");
    c[1] = (wisp_scalar){DBL_MAX, 0};
    REFUSED(&y, x, 1, NUMERIC, "too large for double");
    c[0] = c[1] = (wisp_scalar){1e-323, 0};
    REFUSED(&y, x, 1, NUMERIC, "too small for double");
    c[0] = c[1] = (wisp_scalar){0, 0};
    REF_OK(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &f, &o));
    double norm[2];
    REF_OK(ctx, wisp_norm(y, norm));
    assert_true(norm[0] == 0 && norm[1] == 0);
    c[0] = (wisp_scalar){1, 0};
    REF_FAILS(ctx, wisp_chebyshev_apply(&e, (wisp_blk *[]){y, y}, A, x, 2, (wisp_function[]){f, f}, &o), WISP_ERR_ARG,
              "overlap");
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){0, 0}));
    REF_OK(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &f, &o));
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){NAN, 0}));
    REFUSED(&y, x, 1, NUMERIC, "x has a NaN");
    assert_int_equal(allocated(ctx), before);
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(wide), wisp_blk_free(z), wisp_blk_free(single),
        wisp_blk_free(of_b);
    wisp_mat_free(A), wisp_mat_free(B);
}

/* Matrices that are not Hermitian, or without rows. */
static void matrices(void **state)
{
    wisp_ctx *ctx = *state;
    for (int i = 0; i < 2; i++) {
        ref_mat H = ref_new(i ? 4 : 0, i ? 4 : 0);
        if (i) REF_AT(H, 1, 2) = 1;
        wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
        wisp_blk *x = block(ctx, A, WISP_D, 1);
        member m = {.kind = EXP, .scale = 1};
        const wisp_function f = as_function(&m);
        for (int given = 0; given < 2; given++) {
            const wisp_chebyshev_opts o = {.bounds.method = given ? WISP_BOUNDS_GIVEN : WISP_BOUNDS_LANCZOS,
                                           .bounds.given = {0, given ? 2 : 0, 0}};
            REF_FAILS(ctx, wisp_chebyshev_apply(NULL, &x, A, x, 1, &f, &o), i ? WISP_ERR_HERMITIAN : WISP_ERR_ARG,
                      i ? "(1, 2)" : "no rows");
        }
        assert_int_equal(m.calls, 0);
        wisp_blk_free(x);
        wisp_mat_free(A);
        ref_free(H);
    }
}

typedef struct {
    int rank, calls;
} ranked;

static int other_on_rank(void *arg, double energy, wisp_scalar *value)
{
    const ranked *k = arg;
    *value = (wisp_scalar){exp(-energy * (k->rank == 1 ? 2 : 1)), 0};
    return 0;
}

static int fails_on_rank(void *arg, double energy, wisp_scalar *value)
{
    const ranked *k = arg;
    *value = (wisp_scalar){exp(-energy), 0};
    return k->rank == 1;
}

/* What one rank does otherwise than the others ends the call on all. */
static void one_rank(void **state)
{
    wisp_ctx *ctx = *state;
    if (wisp_ctx_processes(ctx) < 2) return;
    wisp_mat *A = mat_of_spec(ctx, "laplace:nx=40", NULL);
    wisp_blk *x = block(ctx, A, WISP_D, 1);
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){1, 0}));
    ranked k = {.rank = wisp_ctx_rank(ctx)};
    const wisp_function other = {.value = other_on_rank, .arg = &k}, failing = {.value = fails_on_rank, .arg = &k};
    REF_FAILS(ctx, wisp_chebyshev_apply(NULL, &x, A, x, 1, &other, NULL), WISP_ERR_MISMATCH,
              "on one rank than on another");
    REF_FAILS(ctx, wisp_chebyshev_apply(NULL, &x, A, x, 1, &failing, NULL), WISP_ERR_CALLBACK, "failed (1)");
    /* A plan is of one rank alone. */
    wisp_mat_info info;
    wisp_plan plan;
    wisp_mat_get_info(A, &info);
    const wisp_chebyshev_opts o = {.bounds = {.method = WISP_BOUNDS_GIVEN, .given = {2, 3, 0}}};
    if (k.rank == 1) REF_OK(ctx, wisp_chebyshev_plan(&plan, ctx, &info, WISP_D, 1, 1, &other, &o, NULL));
    double norm;
    REF_OK(ctx, wisp_norm(x, &norm));
    wisp_blk_free(x);
    wisp_mat_free(A);
}

static int cancel_late(void *arg, const wisp_progress *p)
{
    (void)arg;
    return !strcmp(p->task, "expansion") && p->done > 0.5;
}

static int cancel_look(void *arg, const wisp_progress *p)
{
    (void)arg;
    return !strcmp(p->task, "functions") && p->done > 0.3;
}

/* Functions may take long to look at. */
static void cancelled_before(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1, .progress = cancel_look});
    wisp_mat *A = mat_of_spec(ctx, "laplace:nx=40", NULL);
    wisp_blk *x = block(ctx, A, WISP_D, 1);
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){1, 0}));
    member m = {.kind = SIGN, .shift = 2, .scale = 0.5};
    const wisp_function f = as_function(&m);
    const wisp_chebyshev_opts o = {.points = 100000};
    assert_int_equal(wisp_chebyshev_apply(NULL, &x, A, x, 1, &f, &o), WISP_ERR_CANCELLED);
    assert_true(m.calls > 300 && m.calls < 50000);
    wisp_blk_free(x);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void cancelled(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 2, .no_pin = 1, .progress = cancel_late});
    wisp_mat *A = mat_of_spec(ctx, "laplace:nx=40", NULL);
    wisp_blk *x = block(ctx, A, WISP_D, 1);
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){1, 0}));
    member m = {.kind = SIGN, .shift = 2, .scale = 0.5};
    const wisp_function f = as_function(&m);
    wisp_expansion e;
    assert_int_equal(wisp_chebyshev_apply(&e, &x, A, x, 1, &f, NULL), WISP_ERR_CANCELLED);
    assert_true(wisp_ctx_processes(ctx) > 1 || e.sweeps > e.terms / 2);
    assert_true(e.sweeps < e.terms / 2 + 2 * ref_steps(ctx, WISP_CHEBYSHEV_STEPS));
    wisp_blk_free(x);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

/* Row 0 lies within the bounds, and is coupled to row 9 of energy 1e5. */
static int outlier_row(void *arg, int64_t row, int64_t *col, void *val)
{
    double *v = val;
    const int n = row == 0 || row == 9 ? 2 : 1;
    (void)arg;
    if (!col) return n;
    col[0] = n == 2 ? 0 : row, v[0] = row == 0 ? 0.5 : row == 9 ? 1 : 0.1 * (double)row;
    if (n == 2) col[1] = 9, v[1] = row == 0 ? 1 : 1e5;
    return n;
}

/* A short series shows given bounds that do not hold, too: in T_1 x alone the part of x far outside is small. */
static void short_series(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    const wisp_src src = {.rows = 10, .cols = 10, .max_row = 2, .type = WISP_D, .row = outlier_row};
    wisp_mat *A;
    wisp_blk *x, *y, *psi;
    const int64_t first = 0;
    wisp_scalar c[2] = {{1, 0}, {-1e-5, 0}};
    const wisp_function f = {.terms = 2, .c = c};
    const wisp_bounds_opts given = {.method = WISP_BOUNDS_GIVEN, .given = {0, 1, 0}};
    const double time = 1e-5;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&y, ctx, wisp_mat_map(A), WISP_D, 1));
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), WISP_Z, 1));
    REF_OK(ctx, wisp_blk_fill_units(x, &first));
    REF_OK(ctx, wisp_blk_fill_units(psi, &first));
    REF_FAILS(ctx, wisp_chebyshev_apply(NULL, &y, A, x, 1, &f, &(wisp_chebyshev_opts){.bounds = given}),
              WISP_ERR_BOUNDS, "beyond the bounds");
    REF_FAILS(ctx, wisp_evolve(NULL, A, psi, 1, &time, &(wisp_evolve_opts){.bounds = given}), WISP_ERR_BOUNDS,
              "beyond the bounds");
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(psi);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static wisp_status apply_all(wisp_ctx *ctx, void *arg)
{
    member m = {.kind = FERMI, .scale = 0.5}; /* few terms: the allocations are those of many */
    const wisp_function f = as_function(&m);
    wisp_mat *A = NULL;
    wisp_blk *x = NULL;
    wisp_status status;
    (void)arg;
    WISP_TRY(wisp_mat_open(&A, ctx, "graphene:nx=6,ny=6", NULL));
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    WISP_TRY(wisp_blk_fill(x, (wisp_scalar){1, 0}));
    status = wisp_chebyshev_apply(NULL, &x, A, x, 1, &f, NULL);
out:
    wisp_blk_free(x);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    assert_true(ref_failing_memory(apply_all, NULL, 200, 20) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals),         cmocka_unit_test(matrices),
                                       cmocka_unit_test(one_rank),         cmocka_unit_test(cancelled),
                                       cmocka_unit_test(cancelled_before), cmocka_unit_test(short_series),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
