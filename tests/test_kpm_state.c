/* Runs of KPM that end and go on, bit by bit; by other ranks; for want of memory. */
#include "state_folder.h"
#include <math.h>
#include "base/base.h"

static wisp_ctx *own_ctx(int threads) { return ref_isa_ctx(NULL, threads); }

/* Ends the run at its n-th offer. */
typedef struct {
    wisp_checkpoint *to;
    int left;
    bool between; /* others are asked for before */
    int offers, asked;
} ender;

static int end_at(void *arg, wisp_state *state)
{
    ender *e = arg;
    e->offers++;
    if (--e->left == 0)
        wisp_checkpoint_request(e->to, 1);
    else if (e->between && e->offers % 3 == 1)
        wisp_checkpoint_request(e->to, 0), e->asked++;
    return wisp_checkpoint_offer(e->to, state);
}

/* How many were written in a piece that one rank ended: `always`, one was due whenever none was under way. */
static void check_written(const ender *e, bool always)
{
    wisp_checkpoint_info info;
    wisp_checkpoint_get_info(e->to, &info);
    assert_true(info.ended && info.saved);
    assert_int_equal(info.failed, 0);
    if (always)
        assert_in_range(info.written, WISP__MIN(e->offers, 2), e->offers);
    else
        assert_int_equal(info.written, e->asked + 1);
}

/* A run that ends `ends` times, after random numbers of offers, and goes on each time. The contexts of its pieces have
   other numbers of threads. */
static void in_pieces(wisp_moments *m, const char *spec, const wisp_mat_opts *mo, wisp_kpm_opts o, ref_rng *r, int ends)
{
    wisp_status status = WISP_ERR_CANCELLED;
    memset(m, 0, sizeof *m);
    for (int piece = 0; status == WISP_ERR_CANCELLED; piece++) {
        wisp_ctx *ctx = own_ctx(1 + piece % 3);
        wisp_mat *A;
        wisp_state *kept = NULL;
        /* Others are written in between, and one may be under way at the end: by requests, or by the clock, always. */
        const bool always = piece % 3 == 2;
        ender e = {.left = piece < ends ? (int)(1 + ref_below(r, 40)) : -1, .between = piece % 3 == 1};
        wisp_moments_free(m);
        REF_OK(ctx, wisp_mat_open(&A, ctx, spec, mo));
        if (piece > 0) REF_OK(ctx, wisp_state_open(&kept, ctx, path));
        REF_OK(ctx, wisp_checkpoint_create(
                        &e.to, ctx, &(wisp_checkpoint_opts){.path = path, .every = always ? 1e-9 : 0, .after = kept}));
        o.offer = end_at, o.offer_arg = &e, o.resume = kept;
        status = wisp_kpm(m, A, &o);
        if (status != WISP_OK && status != WISP_ERR_CANCELLED) fail_msg("%s", message_of(ctx));
        if (status == WISP_ERR_CANCELLED) check_written(&e, always);
        if (status == WISP_OK) wisp_checkpoint_remove(e.to);
        wisp_checkpoint_free(e.to);
        wisp_state_free(kept);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

typedef struct {
    const char *spec;
    wisp_kpm_opts o;
    wisp_mat_opts mo;
} kpm_case;

static const int64_t some_sites[] = {3, 0, 17};
static const kpm_case kpm_cases[] = {
    {"topi:nx=5,ny=4,nz=3", {.moments = 201, .vectors = 7, .width = 3, .seed = 4}, {.order = WISP_ROWS_NATURAL}},
    {"topi:nx=5,ny=4,nz=3",
     {.moments = 64, .vectors = 5, .width = 4, .type = WISP_C},
     {.type = WISP_C, .order = WISP_ROWS_RCM}},
    {"anderson:nx=6,ny=5,nz=4,disorder=3",
     {.moments = 99, .trace = WISP_TRACE_EXACT, .width = 33},
     {.order = WISP_ROWS_NATURAL}},
    {"graphene:nx=8,ny=9,vacancies=0.2",
     {.moments = 120, .vectors = 3, .trace = WISP_TRACE_SITES, .sites = some_sites, .width = 1},
     {.order = WISP_ROWS_RCM}},
    {"laplace:nx=9,ny=8,nz=7", {.moments = 150, .vectors = 4, .variant = WISP_KPM_NAIVE}, {.order = WISP_ROWS_NATURAL}},
    {"laplace:nx=9,ny=8,nz=7",
     {.moments = 77, .vectors = 6, .width = 2, .reduce_each_step = 1, .depth = 3},
     {.type = WISP_S, .order = WISP_ROWS_NATURAL}},
    {"spinchain:sites=10,up=5", {.moments = 300, .vectors = 2, .width = 2, .depth = 1}, {.order = WISP_ROWS_NATURAL}},
};
enum { KPM_CASES = sizeof kpm_cases / sizeof *kpm_cases };

static void goes_on(void **state)
{
    ref_rng r = {21};
    (void)state;
    for (int c = 0; c < KPM_CASES; c++)
        for (int times = 0; times < 3; times++) {
            const kpm_case *k = &kpm_cases[c];
            wisp_ctx *ctx = own_ctx(2);
            wisp_mat *A;
            wisp_moments want, got;
            REF_OK(ctx, wisp_mat_open(&A, ctx, k->spec, &k->mo));
            REF_OK(ctx, wisp_kpm(&want, A, &k->o));
            assert_int_equal(remove_files(), 0);
            in_pieces(&got, k->spec, &k->mo, k->o, &r, 1 + 2 * times);
            assert_int_equal(count_files(), 0);
            assert_true(got.n == want.n && got.vectors == want.vectors && !got.partial);
            assert_memory_equal(&got.bounds, &want.bounds, sizeof want.bounds);
            assert_true(got.flops == want.flops);
            assert_memory_equal(got.mu, want.mu, (size_t)(want.n * want.vectors) * sizeof *want.mu);
            wisp_moments_free(&want);
            wisp_moments_free(&got);
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
}

/* Written by some ranks, gone on with by others. */
typedef struct {
    const kpm_case *k;
    bool ends;
    wisp_moments *want;
} kpm_by_ranks;

/* Several ranks look at each other's requests at their first offer, and then at times of a clock. So they offer nothing
   before the one that ends the run. */
static int end_ranks_at(void *arg, wisp_state *state)
{
    ender *e = arg;
    return --e->left > 0 ? 0 : wisp_checkpoint_offer(e->to, state);
}

static int kpm_rank(void *arg, int rank)
{
    const kpm_by_ranks *b = arg;
    wisp_ctx *ctx = own_ctx(1);
    wisp_mat *A;
    wisp_state *kept = NULL;
    wisp_moments m;
    wisp_kpm_opts o = b->k->o;
    ender e = {.left = b->ends ? 5 : -1};
    REF_OK(ctx, wisp_mat_open(&A, ctx, b->k->spec, &b->k->mo));
    if (!b->ends) REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    REF_OK(ctx, wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path, .after = kept}));
    o.offer = b->ends ? end_ranks_at : end_at, o.offer_arg = &e, o.resume = kept;
    if (b->ends && rank == 0) wisp_checkpoint_request(e.to, 1); /* for all */
    const wisp_status status = wisp_kpm(&m, A, &o);
    if (status != (b->ends ? WISP_ERR_CANCELLED : WISP_OK))
        fail_msg("%s: %s", wisp_status_string(status), message_of(ctx));
    const double allowed = (o.type == WISP_C || b->k->mo.type == WISP_S ? 1e-5 : 1e-12) * b->want->mu[0];
    for (int64_t i = 0; !b->ends && i < m.n * m.vectors; i++) assert_true(fabs(m.mu[i] - b->want->mu[i]) <= allowed);
    wisp_moments_free(&m);
    if (!b->ends) wisp_checkpoint_remove(e.to);
    wisp_checkpoint_free(e.to);
    wisp_state_free(kept);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}

static void by_other_ranks(void **state)
{
    static const int way[] = {1, 2, 3};
    (void)state;
    for (int c = 0; c < KPM_CASES; c++)
        for (int from = 0; from < 3; from++)
            for (int to = 0; to < 3; to++) {
                wisp_ctx *ctx = own_ctx(1);
                wisp_mat *A;
                wisp_moments want;
                kpm_by_ranks b = {&kpm_cases[c], true, &want};
                int ended, result;
                REF_OK(ctx, wisp_mat_open(&A, ctx, b.k->spec, &b.k->mo));
                REF_OK(ctx, wisp_kpm(&want, A, &b.k->o));
                assert_int_equal(remove_files(), 0);
                assert_int_equal(wisp_ranks_run(way[from], kpm_rank, &b, &ended), WISP_OK);
                assert_int_not_equal(ended, 0);
                b.ends = false;
                assert_int_equal(wisp_ranks_run(way[to], kpm_rank, &b, &result), WISP_OK);
                assert_int_equal(result, 0);
                wisp_moments_free(&want);
                wisp_mat_free(A);
                wisp_ctx_free(ctx);
            }
}

/* Another run than that of the state is refused, with words. */
static void refuses(void **state)
{
    const kpm_case *k = &kpm_cases[0];
    wisp_ctx *ctx = own_ctx(1);
    wisp_mat *A, *B;
    wisp_state *kept;
    wisp_moments m;
    wisp_kpm_opts o = k->o;
    ender e = {.left = 3};
    (void)state;
    assert_int_equal(remove_files(), 0);
    REF_OK(ctx, wisp_mat_open(&A, ctx, k->spec, &k->mo));
    REF_OK(ctx, wisp_mat_open(&B, ctx, "topi:nx=5,ny=4,nz=2", &k->mo));
    REF_OK(ctx, wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path}));
    o.offer = end_at, o.offer_arg = &e;
    assert_int_equal(wisp_kpm(&m, A, &o), WISP_ERR_CANCELLED);
    wisp_moments_free(&m);
    wisp_checkpoint_free(e.to);
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    o.offer = NULL;
    for (int i = 0; i < 11; i++) {
        wisp_kpm_opts other = o;
        const wisp_mat *of = A;
        other.resume = kept;
        switch (i) {
        case 0: other.moments = 200; break;
        case 1: other.vectors = 8; break;
        case 2: other.seed = 5; break;
        case 3: other.width = 4; break;
        case 4: other.variant = WISP_KPM_NAIVE, other.width = 0; break;
        case 5: other.first_vector = 1; break;
        case 6: of = B; break;
        case 7: other.bounds.method = WISP_BOUNDS_GERSHGORIN; break;
        case 8: other.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {0, 9, 0}}; break;
        case 9: other.bounds.seed = 5; break;
        default: other.reduce_each_step = 1;
        }
        assert_int_equal(wisp_kpm(&m, of, &other), WISP_ERR_MISMATCH);
        assert_non_null(strstr(message_of(ctx), "is of a run with"));
        assert_null(m.mu);
    }
    wisp_state_free(kept);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_ctx_free(ctx);
}

/* Each allocation of a run that is kept and goes on fails once: the run fails or ends well, the file stays whole, and
   nothing leaks. */
static void no_memory(void **state)
{
    const kpm_case *k = &kpm_cases[0];
    char text[16];
    int done = 0;
    (void)state;
    for (int at = 1; !done && at < 4000; at += at < 200 ? 1 : 17) {
        wisp_ctx *ctx = NULL;
        wisp_mat *A = NULL;
        wisp_state *kept = NULL;
        wisp_moments m = {0};
        wisp_kpm_opts o = k->o;
        ender e = {.left = 4};
        assert_int_equal(remove_files(), 0);
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        o.moments = 41;
        wisp_status status = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        unsetenv("WISP_ALLOC_FAIL_AT");
        if (status == WISP_OK) status = wisp_mat_open(&A, ctx, k->spec, &k->mo);
        if (status == WISP_OK) status = wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path});
        o.offer = end_at, o.offer_arg = &e;
        if (status == WISP_OK) status = wisp_kpm(&m, A, &o);
        wisp_checkpoint_free(e.to);
        wisp_moments_free(&m);
        if (status == WISP_ERR_CANCELLED) status = wisp_state_open(&kept, ctx, path);
        if (status == WISP_OK) {
            o.offer = NULL, o.resume = kept;
            status = wisp_kpm(&m, A, &o);
            done = status == WISP_OK;
        }
        /* The copy or the file may have been what failed: then there is no state. */
        if (status != WISP_OK && status != WISP_ERR_NOMEM && status != WISP_ERR_IO)
            fail_msg("allocation %d: %s", at, ctx ? message_of(ctx) : wisp_status_string(status));
        wisp_moments_free(&m);
        wisp_state_free(kept);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_on), cmocka_unit_test(by_other_ranks),
                                       cmocka_unit_test(refuses), cmocka_unit_test(no_memory)};
    return run_in_folder(tests, sizeof tests / sizeof *tests);
}
