/* Runs of wisp_kubo that end within a vector and go on: with the same bits, by other ranks, not as another run. */
#include <math.h>
#include "kpm_sides.h"
#include "state_pieces.h"

typedef struct {
    const char *spec;
    char along[2]; /* of V_a and V_b */
    wisp_kubo_opts o;
    wisp_type type;
} kubo_case;

typedef struct {
    wisp_mat *A, *V_a, *V_b;
    wisp_positions at;
} system_of;

static void velocity_of(wisp_ctx *ctx, system_of *s, wisp_mat **V, const wisp_src *H, char along, wisp_type type)
{
    wisp_src src = {0};
    const double way[3] = {along == 'x', along == 'y', along == 'z'};
    const bool is_complex = wisp_type_is_complex(H->type);
    REF_OK(ctx, wisp_src_velocity(&src, ctx, H, &s->at, way, is_complex ? WISP_VELOCITY : WISP_VELOCITY_REAL));
    REF_OK(ctx, wisp_mat_create(V, ctx, &src, &(wisp_mat_opts){.map = wisp_mat_map(s->A), .type = type}));
    wisp_src_close(&src);
}

static system_of open_system(wisp_ctx *ctx, const kubo_case *c)
{
    system_of s = {0};
    wisp_src H = {0};
    REF_OK(ctx, wisp_src_open(&H, ctx, c->spec));
    REF_OK(ctx, wisp_positions_open_gallery(&s.at, ctx, c->spec));
    REF_OK(ctx, wisp_mat_create(&s.A, ctx, &H, &(wisp_mat_opts){.type = c->type}));
    velocity_of(ctx, &s, &s.V_a, &H, c->along[0], c->type);
    if (c->along[1] == c->along[0])
        s.V_b = s.V_a;
    else
        velocity_of(ctx, &s, &s.V_b, &H, c->along[1], c->type);
    wisp_src_close(&H);
    return s;
}

static void close_system(system_of *s)
{
    if (s->V_b != s->V_a) wisp_mat_free(s->V_b);
    wisp_mat_free(s->V_a);
    wisp_mat_free(s->A);
    wisp_positions_close(&s->at);
}

/* Several groups of left vectors, which do not fill blocks; one group; an exact trace; single precision, also of left
   vectors alone. */
static const kubo_case cases[] = {
    {"haldane:nx=5,ny=4,t2=0.1", "xy", {.moments = 29, .vectors = 3, .left = 12, .width = 5, .seed = 3}, WISP_DEFAULT},
    {"graphene:nx=6,ny=5", "xx", {.moments = 24, .vectors = 4, .width = 4, .first_vector = 2}, WISP_DEFAULT},
    {"haldane:nx=4,ny=4,t2=0.1", "yx", {.moments = 9, .trace = WISP_TRACE_EXACT, .left = 4, .width = 3}, WISP_DEFAULT},
    {"haldane:nx=5,ny=4,t2=0.1", "xx", {.moments = 21, .vectors = 2, .left = 1, .width = 16}, WISP_C},
    {"haldane:nx=5,ny=4,t2=0.1",
     "xy",
     {.moments = 25, .vectors = 2, .left = 9, .width = 4, .left_type = WISP_C},
     WISP_Z},
};
enum { CASES = sizeof cases / sizeof *cases };

static void run(wisp_moments *m, wisp_ctx *ctx, const kubo_case *c)
{
    system_of s = open_system(ctx, c);
    REF_OK(ctx, wisp_kubo(m, s.A, s.V_a, s.V_b, &c->o));
    close_system(&s);
}

/* Another piece of a run, which ends at that offer: whether it did. */
static bool run_piece(wisp_moments *m, wisp_ctx *ctx, const kubo_case *c, piece *p, int64_t end_at)
{
    system_of s = open_system(ctx, c);
    wisp_kubo_opts o = c->o;
    piece_begin(p, ctx, end_at);
    o.offer = piece_offer, o.offer_arg = p, o.resume = p->resume;
    const wisp_status status = wisp_kubo(m, s.A, s.V_a, s.V_b, &o);
    if (status != WISP_OK && status != WISP_ERR_CANCELLED)
        fail_msg("%s: %s", wisp_status_string(status), message_of(ctx));
    close_system(&s);
    return piece_ended(p, ctx, status);
}

static void same_moments(const wisp_moments *a, const wisp_moments *b, double tolerance)
{
    assert_true(a->n == b->n && a->vectors == b->vectors && a->first_vector == b->first_vector && !b->partial);
    for (int64_t i = 0; i < a->n * a->vectors; i++)
        if (!(fabs(a->mu[i] - b->mu[i]) <= tolerance && fabs(a->imag[i] - b->imag[i]) <= tolerance))
            fail_msg("moment %lld of all vectors: %.17g%+.17gi and %.17g%+.17gi", (long long)i, a->mu[i], a->imag[i],
                     b->mu[i], b->imag[i]);
}

/* Ended at each offer in turn, by other numbers of threads. Offers of vectors that are made anew keep the same state.
 */
static void goes_on(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        wisp_moments want, got = {0};
        piece p = piece_new(ctx, "kubo");
        ref_rng r = {31 + (uint64_t)c};
        run(&want, ctx, &cases[c]);
        int64_t vectors = 0;
        bool ended = true;
        for (int i = 0; ended; i++) {
            wisp_ctx *own = ref_isa_ctx(NULL, 1 + i % 3);
            const bool last = i == (ref_few() ? 6 : 40);
            wisp_moments_free(&got);
            ended = run_piece(&got, own, &cases[c], &p, last ? INT64_MAX : 8 + ref_below(&r, 25));
            assert_true(got.vectors >= vectors);
            vectors = got.vectors;
            wisp_ctx_free(own);
        }
        same_moments(&want, &got, 0);
        assert_memory_equal(&got.bounds, &want.bounds, sizeof want.bounds);
        assert_true(got.flops == want.flops);
        wisp_moments_free(&want);
        wisp_moments_free(&got);
        wisp_ctx_free(ctx);
    }
}

/* ---- by others ---- */

typedef struct {
    const kubo_case *c;
    piece p;
    int64_t end_at;
    wisp_moments *want;
} by_ranks;

static int rank_piece(void *arg, int rank)
{
    by_ranks *b = arg;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    wisp_moments m;
    piece p = b->p; /* each rank has its own */
    const bool ended = run_piece(&m, ctx, b->c, &p, b->end_at);
    double size = 0;
    for (int64_t i = 0; i < b->want->n * b->want->vectors; i++)
        size = fmax(size, fmax(fabs(b->want->mu[i]), fabs(b->want->imag[i])));
    if (!ended) same_moments(b->want, &m, (b->c->type == WISP_C || b->c->o.left_type == WISP_C ? 1e-5 : 1e-12) * size);
    wisp_moments_free(&m);
    wisp_ctx_free(ctx);
    (void)rank;
    return ended != (b->end_at < INT64_MAX);
}

/* The default of opts.left is another one for other ranks; here it is given. */
static void by_other_ranks(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int way = 0; way < 4; way++) {
            wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
            wisp_moments want;
            kubo_case of = cases[c];
            by_ranks b = {&of, piece_new(ctx, "kubo-ranks"), 3 + 2 * way, &want};
            run(&want, ctx, &cases[c]);
            piece_ranks(1 + way % 2 * 2, rank_piece, &b);
            b.p.pieces = 1;
            b.end_at = INT64_MAX;
            if (way > 1) of.o.left = of.o.left == 7 ? 5 : 7;
            piece_ranks(1 + way / 2 * 2, rank_piece, &b);
            wisp_moments_free(&want);
            wisp_ctx_free(ctx);
        }
}

/* ---- what is refused ---- */

static void refuses(void **state)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    const kubo_case *c = &cases[0], field = {"haldane:nx=5,ny=4,t2=0.2", "xy", cases[0].o, WISP_DEFAULT},
                    turned = {cases[0].spec, "xx", cases[0].o, WISP_DEFAULT},
                    other_a = {cases[0].spec, "yy", cases[0].o, WISP_DEFAULT};
    piece p = piece_new(ctx, "kubo-refuses");
    wisp_moments m = {0};
    (void)state;
    assert_true(run_piece(&m, ctx, c, &p, 9));
    wisp_moments_free(&m);
    const struct {
        const char *words;
        const kubo_case *of;
        wisp_kubo_opts o;
    } bad[] = {
        {"opts.moments 29, and this one has 28", c, {.moments = 28}},
        {"opts.vectors 3 from 0 on", c, {.vectors = 2}},
        {"opts.vectors 3 from 0 on", c, {.first_vector = 1}},
        {"opts.seed 3", c, {.seed = 4}},
        {"opts.width 5", c, {.width = 4}},
        {"opts.left_type complex double", c, {.left_type = WISP_C}},
        {"opts.trace random", c, {.trace = WISP_TRACE_EXACT}},
        {"opts.bounds", c, {.bounds = {.method = WISP_BOUNDS_GERSHGORIN}}},
        {"another matrix", &field, {0}},
        {"another V_b", &turned, {0}},
        {"another V_a", &other_a, {0}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        system_of s = open_system(ctx, bad[i].of);
        wisp_state *kept;
        wisp_kubo_opts o = c->o;
        const wisp_kubo_opts *to = &bad[i].o;
        REF_OK(ctx, wisp_state_open(&kept, ctx, p.path));
        o.resume = kept;
        if (to->moments) o.moments = to->moments;
        if (to->vectors) o.vectors = to->vectors;
        if (to->first_vector) o.first_vector = to->first_vector;
        if (to->seed) o.seed = to->seed;
        if (to->width) o.width = to->width;
        o.trace = to->trace, o.bounds = to->bounds, o.left_type = to->left_type;
        REF_FAILS(ctx, wisp_kubo(&m, s.A, s.V_a, s.V_b, &o), WISP_ERR_MISMATCH, bad[i].words);
        assert_true(!m.mu && !m.imag);
        wisp_state_free(kept);
        close_system(&s);
    }
    piece_drop(&p, ctx);
    wisp_ctx_free(ctx);
}

/* Each allocation of a piece that goes on fails once. */
static void no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int at = 1; !done && at < 4000; at += at < 50 ? 1 : 7) {
        char text[16];
        wisp_ctx *ctx = NULL, *plain = ref_isa_ctx(NULL, 1);
        wisp_moments m = {0};
        piece p = piece_new(plain, "kubo-memory");
        assert_true(run_piece(&m, plain, &cases[2], &p, 9));
        wisp_moments_free(&m);
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        wisp_status status = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        unsetenv("WISP_ALLOC_FAIL_AT");
        wisp_mat *A = NULL;
        wisp_state *kept = NULL;
        wisp_kubo_opts o = cases[2].o;
        if (status == WISP_OK) status = wisp_mat_open(&A, ctx, cases[2].spec, NULL);
        if (status == WISP_OK) status = wisp_state_open(&kept, ctx, p.path);
        o.resume = kept;
        if (status == WISP_OK) status = wisp_kubo(&m, A, A, A, &o);
        done = status == WISP_ERR_MISMATCH; /* that of the state has velocities */
        if (!done && status != WISP_ERR_NOMEM)
            fail_msg("allocation %d: %s", at, ctx ? message_of(ctx) : wisp_status_string(status));
        assert_true(!m.mu);
        wisp_state_free(kept);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
        piece_drop(&p, plain);
        wisp_ctx_free(plain);
    }
    assert_true(done);
}

/* Left vectors that are held in single precision: moments move by their rounding, and no more; twice as many are held.
 */
static void narrow(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        kubo_case of = cases[c];
        system_of s = open_system(ctx, &of);
        wisp_moments wide, held;
        wisp_mat_info info, V;
        wisp_plan plan[2];
        const wisp_type type = c == 0 ? WISP_Z : WISP_D;
        of.o.left = 0, of.o.left_bytes = 4096;
        of.o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {.halfwidth = 4}};
        wisp_mat_get_info(s.A, &info);
        wisp_mat_get_info(s.V_a, &V);
        REF_OK(ctx, wisp_kubo(&wide, s.A, s.V_a, s.V_b, &of.o));
        REF_OK(ctx, wisp_kubo_plan(plan, ctx, &info, &V, &V, &of.o));
        of.o.left_type = c == 0 ? WISP_C : WISP_S;
        REF_OK(ctx, wisp_kubo(&held, s.A, s.V_a, s.V_b, &of.o));
        REF_OK(ctx, wisp_kubo_plan(plan + 1, ctx, &info, &V, &V, &of.o));
        assert_true(plan[1].sweeps < plan[0].sweeps && held.type == type && wide.type == type);
        double moved = 0;
        const double most = 4 * 0x1p-24 * wide.mark[1][0] * wide.mark[2][0] / sqrt((double)wide.rows);
        for (int64_t i = 0; i < wide.n * wide.vectors; i++)
            moved = fmax(moved, hypot(wide.mu[i] - held.mu[i], wide.imag[i] - held.imag[i]));
        assert_true(moved > 0 && moved <= most);
        of.o.left_type = c == 0 ? WISP_S : WISP_C;
        wisp_moments none;
        REF_FAILS(ctx, wisp_kubo(&none, s.A, s.V_a, s.V_b, &of.o), WISP_ERR_UNSUPPORTED, "opts.left_type");
        wisp_moments_free(&wide);
        wisp_moments_free(&held);
        close_system(&s);
        wisp_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(narrow), cmocka_unit_test(goes_on),
                                       cmocka_unit_test(by_other_ranks), cmocka_unit_test(refuses),
                                       cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
