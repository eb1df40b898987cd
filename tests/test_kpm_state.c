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

typedef struct {
    const char *spec;
    wisp_kpm_opts o;
    wisp_mat_opts mo;
    bool left;           /* with WISP_TRACE_GIVEN */
    const char *adjoint; /* a matrix of as many rows; NULL: none */
} kpm_case;

/* The options of a case on a context: with vectors and an operator of its own. */
typedef struct {
    wisp_mat *A, *adjoint;
    wisp_blk *right, *left;
    wisp_kpm_opts o;
} kpm_call;

static wisp_status try_call(kpm_call *c, wisp_ctx *ctx, const kpm_case *k)
{
    wisp_status status = wisp_mat_open(&c->A, ctx, k->spec, &k->mo);
    wisp_map *map = status == WISP_OK ? wisp_mat_map(c->A) : NULL;
    const int width = (int)k->o.vectors;
    const bool given = k->o.trace == WISP_TRACE_GIVEN;
    if (status == WISP_OK && k->adjoint)
        status = wisp_mat_open(&c->adjoint, ctx, k->adjoint, &(wisp_mat_opts){.map = map});
    if (status == WISP_OK && given) status = wisp_blk_create(&c->right, ctx, map, k->o.type, width);
    if (status == WISP_OK && given) status = wisp_blk_fill_random(c->right, WISP_RANDOM_GAUSS, 7, 0, 0);
    if (status == WISP_OK && k->left) status = wisp_blk_create(&c->left, ctx, map, k->o.type, width);
    if (status == WISP_OK && k->left) status = wisp_blk_fill_random(c->left, WISP_RANDOM_GAUSS, 8, 0, 0);
    c->o.right = c->right, c->o.left = c->left, c->o.adjoint = c->adjoint;
    return status;
}

static kpm_call open_call(wisp_ctx *ctx, const kpm_case *k)
{
    kpm_call c = {.o = k->o};
    REF_OK(ctx, try_call(&c, ctx, k));
    return c;
}

static void close_call(kpm_call *c)
{
    wisp_mat_free(c->A);
    wisp_mat_free(c->adjoint);
    wisp_blk_free(c->right);
    wisp_blk_free(c->left);
}

/* A run that ends `ends` times, after random numbers of offers, and goes on each time. The contexts of its pieces have
   other numbers of threads. */
static void in_pieces(wisp_moments *m, const kpm_case *k, ref_rng *r, int ends)
{
    wisp_status status = WISP_ERR_CANCELLED;
    memset(m, 0, sizeof *m);
    for (int piece = 0; status == WISP_ERR_CANCELLED; piece++) {
        wisp_ctx *ctx = own_ctx(1 + piece % 3);
        kpm_call c = open_call(ctx, k);
        wisp_state *kept = NULL;
        /* Others are written in between, and one may be under way at the end: by requests, or by the clock, always. */
        const bool always = piece % 3 == 2;
        ender e = {.left = piece < ends ? (int)(1 + ref_below(r, 40)) : -1, .between = piece % 3 == 1};
        wisp_moments_free(m);
        if (piece > 0) REF_OK(ctx, wisp_state_open(&kept, ctx, path));
        REF_OK(ctx, wisp_checkpoint_create(
                        &e.to, ctx, &(wisp_checkpoint_opts){.path = path, .every = always ? 1e-9 : 0, .after = kept}));
        c.o.offer = end_at, c.o.offer_arg = &e, c.o.resume = kept;
        status = wisp_kpm(m, c.A, &c.o);
        if (status != WISP_OK && status != WISP_ERR_CANCELLED) fail_msg("%s", message_of(ctx));
        if (status == WISP_ERR_CANCELLED) check_written(&e, always);
        if (status == WISP_OK) wisp_checkpoint_remove(e.to);
        wisp_checkpoint_free(e.to);
        wisp_state_free(kept);
        close_call(&c);
        wisp_ctx_free(ctx);
    }
}

static const int64_t some_sites[] = {3, 0, 17};
static const kpm_case kpm_cases[] = {
    {.spec = "topi:nx=5,ny=4,nz=3",
     {.moments = 201, .vectors = 7, .width = 3, .seed = 4},
     {.order = WISP_ROWS_NATURAL}},
    {.spec = "topi:nx=5,ny=4,nz=3",
     {.moments = 64, .vectors = 5, .width = 4, .type = WISP_C},
     {.type = WISP_C, .order = WISP_ROWS_RCM}},
    {.spec = "anderson:nx=6,ny=5,nz=4,disorder=3",
     {.moments = 99, .trace = WISP_TRACE_EXACT, .width = 33},
     {.order = WISP_ROWS_NATURAL}},
    {.spec = "graphene:nx=8,ny=9,vacancies=0.2",
     {.moments = 120, .vectors = 3, .trace = WISP_TRACE_SITES, .sites = some_sites, .width = 1},
     {.order = WISP_ROWS_RCM}},
    {.spec = "laplace:nx=9,ny=8,nz=7",
     {.moments = 150, .vectors = 4, .variant = WISP_KPM_NAIVE},
     {.order = WISP_ROWS_NATURAL}},
    {.spec = "laplace:nx=9,ny=8,nz=7",
     {.moments = 77, .vectors = 6, .width = 2, .reduce_each_step = 1, .depth = 3},
     {.type = WISP_S, .order = WISP_ROWS_NATURAL}},
    {.spec = "spinchain:sites=10,up=5",
     {.moments = 300, .vectors = 2, .width = 2, .depth = 1},
     {.order = WISP_ROWS_NATURAL}},
    {.spec = "topi:nx=5,ny=4,nz=3",
     {.moments = 80, .vectors = 7, .width = 3, .trace = WISP_TRACE_GIVEN, .type = WISP_Z},
     {.order = WISP_ROWS_RCM},
     .left = true,
     .adjoint = "laplace:nx=240,ny=1,nz=1"},
    {.spec = "anderson:nx=6,ny=5,nz=4,disorder=3",
     {.moments = 70, .vectors = 5, .width = 2, .trace = WISP_TRACE_GIVEN, .type = WISP_D, .depth = 2},
     {.order = WISP_ROWS_NATURAL}},
    {.spec = "anderson:nx=6,ny=5,nz=4,disorder=3",
     {.moments = 51, .vectors = 4, .trace = WISP_TRACE_GIVEN, .type = WISP_Z, .variant = WISP_KPM_NAIVE},
     {.order = WISP_ROWS_NATURAL},
     .left = true},
    {.spec = "laplace:nx=9,ny=8,nz=7",
     {.moments = 90, .vectors = 5, .width = 4, .depth = 3},
     {.order = WISP_ROWS_NATURAL},
     .adjoint = "anderson:nx=504,ny=1,nz=1,disorder=2"},
    {.spec = "laplace:nx=6,ny=5,nz=2",
     {.moments = 41, .trace = WISP_TRACE_EXACT, .width = 33, .reduce_each_step = 1},
     {.order = WISP_ROWS_NATURAL},
     .adjoint = "anderson:nx=60,ny=1,nz=1,disorder=2"},
};
enum { KPM_CASES = sizeof kpm_cases / sizeof *kpm_cases };

static void goes_on(void **state)
{
    ref_rng r = {21};
    (void)state;
    for (int c = 0; c < KPM_CASES; c++)
        for (int times = 0; times < 3; times++) {
            if (ref_few() && times != c % 3) continue; /* an offer is like the one before it */
            const kpm_case *k = &kpm_cases[c];
            wisp_ctx *ctx = own_ctx(2);
            kpm_call call = open_call(ctx, k);
            wisp_moments want, got;
            REF_OK(ctx, wisp_kpm(&want, call.A, &call.o));
            assert_int_equal(remove_files(), 0);
            in_pieces(&got, k, &r, 1 + 2 * times);
            assert_int_equal(count_files(), 0);
            assert_true(got.n == want.n && got.vectors == want.vectors && !got.partial);
            assert_memory_equal(&got.bounds, &want.bounds, sizeof want.bounds);
            assert_true(got.flops == want.flops);
            assert_memory_equal(got.mu, want.mu, (size_t)(want.n * want.vectors) * sizeof *want.mu);
            assert_int_equal(got.imag != NULL, want.imag != NULL);
            if (got.imag) assert_memory_equal(got.imag, want.imag, (size_t)(want.n * want.vectors) * sizeof *want.imag);
            wisp_moments_free(&want);
            wisp_moments_free(&got);
            close_call(&call);
            wisp_ctx_free(ctx);
        }
}

/* Written by some ranks, gone on with by others. */
typedef struct {
    const kpm_case *k;
    bool ends;
    wisp_moments *want;
    double size; /* of the largest moment */
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
    kpm_call c = open_call(ctx, b->k);
    wisp_state *kept = NULL;
    wisp_moments m;
    ender e = {.left = !b->ends ? -1 : ref_far(ctx) ? 2 : 5};
    if (!b->ends) REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    REF_OK(ctx, wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path, .after = kept}));
    c.o.offer = b->ends ? end_ranks_at : end_at, c.o.offer_arg = &e, c.o.resume = kept;
    if (b->ends && rank == 0) wisp_checkpoint_request(e.to, 1); /* for all */
    const wisp_status status = wisp_kpm(&m, c.A, &c.o);
    if (status != (b->ends ? WISP_ERR_CANCELLED : WISP_OK))
        fail_msg("%s: %s", wisp_status_string(status), message_of(ctx));
    const double allowed = (c.o.type == WISP_C || b->k->mo.type == WISP_S ? 1e-5 : 1e-12) * b->size;
    for (int64_t i = 0; !b->ends && i < m.n * m.vectors; i++) {
        assert_true(fabs(m.mu[i] - b->want->mu[i]) <= allowed);
        if (m.imag) assert_true(fabs(m.imag[i] - b->want->imag[i]) <= allowed);
    }
    wisp_moments_free(&m);
    if (!b->ends) wisp_checkpoint_remove(e.to);
    wisp_checkpoint_free(e.to);
    wisp_state_free(kept);
    close_call(&c);
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
                if (ref_few() && (from + c) % 3 != to) continue; /* other cases meet the others */
                wisp_ctx *ctx = own_ctx(1);
                kpm_call call = open_call(ctx, &kpm_cases[c]);
                wisp_moments want;
                kpm_by_ranks b = {&kpm_cases[c], true, &want, 0};
                int ended, result;
                REF_OK(ctx, wisp_kpm(&want, call.A, &call.o));
                for (int64_t i = 0; i < want.n * want.vectors; i++) b.size = fmax(b.size, fabs(want.mu[i]));
                assert_int_equal(remove_files(), 0);
                assert_int_equal(wisp_ranks_run(way[from], kpm_rank, &b, &ended), WISP_OK);
                assert_int_not_equal(ended, 0);
                b.ends = false;
                assert_int_equal(wisp_ranks_run(way[to], kpm_rank, &b, &result), WISP_OK);
                assert_int_equal(result, 0);
                wisp_moments_free(&want);
                close_call(&call);
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

/* A state of a run with other vectors, or another operator, is refused too. */
static void refuses_other_sides(void **state)
{
    const kpm_case *k = &kpm_cases[7];
    wisp_ctx *ctx = own_ctx(1);
    kpm_call c = open_call(ctx, k);
    wisp_mat *other;
    wisp_state *kept;
    wisp_moments m;
    wisp_kpm_opts o = c.o;
    ender e = {.left = 3};
    (void)state;
    assert_int_equal(remove_files(), 0);
    REF_OK(ctx, wisp_mat_open(&other, ctx, "laplace:nx=120,ny=2,nz=1", &(wisp_mat_opts){.map = wisp_mat_map(c.A)}));
    REF_OK(ctx, wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path}));
    o.offer = end_at, o.offer_arg = &e;
    assert_int_equal(wisp_kpm(&m, c.A, &o), WISP_ERR_CANCELLED);
    wisp_moments_free(&m);
    wisp_checkpoint_free(e.to);
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    const struct {
        const char *words;
        wisp_kpm_opts o;
    } bad[] = {
        {"opts.trace given, with left vectors, with an operator", {.trace = WISP_TRACE_RANDOM, .adjoint = c.adjoint}},
        {"opts.trace given, with left vectors, with an operator",
         {.trace = WISP_TRACE_GIVEN, .right = c.right, .adjoint = c.adjoint}},
        {"opts.trace given, with left vectors, with an operator",
         {.trace = WISP_TRACE_GIVEN, .right = c.right, .left = c.left}},
        {"opts.adjoint double, 718 entries",
         {.trace = WISP_TRACE_GIVEN, .right = c.right, .left = c.left, .adjoint = other}},
        {"opts.left differs in column 0",
         {.trace = WISP_TRACE_GIVEN, .right = c.right, .left = c.right, .adjoint = c.adjoint}},
        {"opts.right differs in column 0",
         {.trace = WISP_TRACE_GIVEN, .right = c.left, .left = c.left, .adjoint = c.adjoint}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wisp_kpm_opts with = bad[i].o;
        with.moments = o.moments, with.vectors = o.vectors, with.width = o.width, with.type = o.type;
        with.resume = kept;
        REF_FAILS(ctx, wisp_kpm(&m, c.A, &with), WISP_ERR_MISMATCH, bad[i].words);
        assert_true(!m.mu && !m.imag);
    }
    wisp_state_free(kept);
    wisp_mat_free(other);
    close_call(&c);
    wisp_ctx_free(ctx);
}

/* Each allocation of a run that is kept and goes on fails once: the run fails or ends well, the file stays whole, and
   nothing leaks. */
static void no_memory_of(const kpm_case *k)
{
    char text[16];
    int done = 0;
    for (int at = 1; !done && at < 4000; at += at < 200 ? 1 : 17) {
        wisp_ctx *ctx = NULL;
        kpm_call c = {.o = k->o};
        wisp_state *kept = NULL;
        wisp_moments m = {0};
        ender e = {.left = 4};
        assert_int_equal(remove_files(), 0);
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        wisp_status status = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        unsetenv("WISP_ALLOC_FAIL_AT");
        if (status == WISP_OK) status = try_call(&c, ctx, k);
        c.o.moments = 41;
        if (status == WISP_OK) status = wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path});
        c.o.offer = end_at, c.o.offer_arg = &e;
        if (status == WISP_OK && ref_far(ctx)) e.left = 3; /* there are as many, one for each batch */
        if (status == WISP_OK) status = wisp_kpm(&m, c.A, &c.o);
        wisp_checkpoint_free(e.to);
        wisp_moments_free(&m);
        if (status == WISP_ERR_CANCELLED) status = wisp_state_open(&kept, ctx, path);
        if (status == WISP_OK) {
            c.o.offer = NULL, c.o.resume = kept;
            status = wisp_kpm(&m, c.A, &c.o);
            done = status == WISP_OK;
        }
        /* The copy or the file may have been what failed: then there is no state. */
        if (status != WISP_OK && status != WISP_ERR_NOMEM && status != WISP_ERR_IO)
            fail_msg("allocation %d: %s", at, ctx ? message_of(ctx) : wisp_status_string(status));
        wisp_moments_free(&m);
        wisp_state_free(kept);
        close_call(&c);
        wisp_ctx_free(ctx);
    }
    assert_true(done);
}

static void no_memory(void **state)
{
    (void)state;
    no_memory_of(&kpm_cases[0]);
    no_memory_of(&kpm_cases[7]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_on), cmocka_unit_test(by_other_ranks),
                                       cmocka_unit_test(refuses), cmocka_unit_test(refuses_other_sides),
                                       cmocka_unit_test(no_memory)};
    return run_in_folder(tests, sizeof tests / sizeof *tests);
}
