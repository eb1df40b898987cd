/* States of wisp_evolve: a run in pieces ends as one that was never interrupted. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include "state_pieces.h"

enum { TIMES = 9, WIDTH = 33 };
static const double time_of[TIMES] = {0, 0.3, 0.8, -1, -1, 2.5, 9, 9.5, 30};

/* What the observer saw, and the call told. */
typedef struct {
    ref_mat psi[TIMES], last;
    double norm[TIMES][WIDTH];
    int64_t seen;
    wisp_evolution e;
} outcome;

static int keep(void *arg, int64_t i, const wisp_blk *psi, const double *norm)
{
    outcome *out = arg;
    if (i != out->seen++) fail_msg("time %d after %d times", (int)i, (int)out->seen - 1);
    out->psi[i] = ref_get(psi);
    memcpy(out->norm[i], norm, (size_t)wisp_blk_width(psi) * sizeof *norm);
    return 0;
}

static void forget(outcome *out)
{
    for (int64_t i = 0; i < out->seen; i++) ref_free(out->psi[i]);
    ref_free(out->last);
}

/* One evolution: what it takes to make it anew. */
typedef struct {
    ref_mat H, start;
    ref_types t;
    wisp_evolve_opts o;
} system_of;

static system_of random_system(ref_rng *r, int64_t seed)
{
    static const ref_types types[] = {{WISP_Z, WISP_Z}, {WISP_D, WISP_Z}, {WISP_C, WISP_C},
                                      {WISP_S, WISP_C}, {WISP_S, WISP_Z}, {WISP_C, WISP_Z}};
    static const int widths[] = {1, 3, WIDTH};
    system_of s = {.t = types[seed % 6]};
    const int64_t n = 1 + ref_below(r, 50);
    s.H = ref_new(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const cplx v = ref_value(r, s.t.mat);
            REF_AT(s.H, i, j) = i == j ? creal(v) : v;
            REF_AT(s.H, j, i) = i == j ? creal(v) : conj(v);
        }
    s.start = ref_random_block(r, s.t.blk, n, widths[ref_below(r, 3)]);
    s.o = (wisp_evolve_opts){.tolerance = s.t.blk == WISP_C ? 1e-2 : 0,
                             .at_once = (int)ref_below(r, 3) * 4,
                             .depth = ref_below(r, 2) ? 0 : 1 + (int)ref_below(r, 5),
                             .bounds.method = ref_below(r, 2) ? WISP_BOUNDS_LANCZOS : WISP_BOUNDS_GERSHGORIN,
                             .bounds.seed = (uint64_t)seed};
    if (seed % 4 == 3) s.o.direction = (wisp_scalar){1, -1e-3}, s.o.tolerance = 0.5;
    if (seed % 4 == 2) s.o.drives = 1, s.o.tolerance = 1e-2;
    if (seed % 4 == 1) { /* absorption, of a real matrix what makes it not symmetric */
        const bool has_phases = wisp_type_is_complex(s.t.mat);
        s.o.non_hermitian = 1;
        s.o.tolerance = s.t.blk == WISP_C ? 0.5 : 1e-7;
        for (int64_t i = 0; i < n && has_phases; i++) REF_AT(s.H, i, i) -= 0.1 * (double)(i % 3) * I;
        if (n > 1 && !has_phases) REF_AT(s.H, 0, 1) += 0.125;
    }
    return s;
}

/* f of H(t) = H (1 + f(t)). */
static int slow(void *arg, double t, double *f)
{
    (void)arg;
    f[0] = cos(t / 8) / 2;
    return 0;
}

static void free_system(system_of *s) { ref_free(s->H), ref_free(s->start); }

static wisp_status evolve(wisp_ctx *ctx, const system_of *s, const wisp_evolve_opts *o, outcome *out)
{
    wisp_mat *A = ref_mat_of(ctx, s->H, s->t.mat);
    wisp_blk *psi;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), s->t.blk, (int)s->start.cols));
    ref_put(psi, s->start);
    if (o->resume) REF_OK(ctx, wisp_blk_fill(psi, (wisp_scalar){NAN, 0}));
    wisp_evolve_opts seen = *o;
    seen.observe = keep;
    seen.observe_arg = out;
    const wisp_mat *drive[] = {A};
    seen.drive = drive, seen.drive_at = slow;
    const wisp_status status = wisp_evolve(&out->e, A, psi, TIMES, time_of, &seen);
    if (status == WISP_OK) out->last = ref_get(psi);
    wisp_blk_free(psi);
    wisp_mat_free(A);
    return status;
}

/* A piece, with a context of its own. 1: it was not the last one. */
static int one_piece(const system_of *s, piece *p, int threads, int64_t end_at, outcome *out)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
    if (!*p->path) *p = piece_new(ctx, "evolve");
    piece_begin(p, ctx, end_at);
    wisp_evolve_opts o = s->o;
    o.offer = piece_offer, o.offer_arg = p, o.resume = p->resume;
    const wisp_status status = evolve(ctx, s, &o, out);
    const int goes_on = piece_ended(p, ctx, status);
    if (!goes_on) REF_OK(ctx, status);
    wisp_ctx_free(ctx);
    return goes_on;
}

static void same_blocks(ref_mat a, ref_mat b, const char *what, int64_t i)
{
    assert_true(a.rows == b.rows && a.cols == b.cols);
    if (memcmp(a.a, b.a, (size_t)(a.rows * a.cols) * sizeof *a.a)) fail_msg("%s: psi %d differs", what, (int)i);
}

static void random_pieces(void **state)
{
    (void)state;
    int64_t ends = 0;
    for (int64_t seed = 0; seed < 24; seed++) {
        ref_rng r = {(uint64_t)seed * 31 + 7};
        char what[40];
        system_of s = random_system(&r, seed);
        outcome want = {.seen = 0}, got = {.seen = 0};
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        REF_OK(ctx, evolve(ctx, &s, &s.o, &want));
        /* Offers, about; of most sequences there is but one where calls are that long. */
        const int64_t most = 1 + (s.o.drives ? want.e.steps : ref_far(ctx) ? want.e.sequences : want.e.sweeps / 8);
        wisp_ctx_free(ctx);
        piece p = {.offers = 0};
        /* A step under H(t) is taken anew: pieces grow, so that at last they are longer than one. */
        while (
            one_piece(&s, &p, 1 + (int)ref_below(&r, 3), ref_below(&r, 1 + most) + (s.o.drives ? p.pieces : 0), &got))
            continue;
        ends += p.pieces;
        snprintf(what, sizeof what, "seed %d", (int)seed);
        assert_true(got.seen == TIMES && got.e.done == TIMES);
        for (int64_t i = 0; i < TIMES; i++) {
            same_blocks(got.psi[i], want.psi[i], what, i);
            assert_memory_equal(got.norm[i], want.norm[i], (size_t)s.start.cols * sizeof(double));
        }
        same_blocks(got.last, want.last, what, TIMES);
        assert_true(got.e.sweeps == want.e.sweeps && got.e.sequences == want.e.sequences &&
                    got.e.flops == want.e.flops && got.e.depth == want.e.depth && got.e.steps == want.e.steps);
        assert_true(got.e.bounds.center == want.e.bounds.center && got.e.bounds.halfwidth == want.e.bounds.halfwidth);
        forget(&want), forget(&got);
        free_system(&s);
    }
    assert_true(ends > 24);
}

/* ---- another number of ranks ----------------------------------------------------------------------- */

enum { MOST_RANKS = 3 };
typedef struct {
    const system_of *s;
    int64_t end_at;
    piece p[MOST_RANKS]; /* of each rank */
    outcome out[MOST_RANKS];
    int goes_on;
} shared;

static int on_rank(void *arg, int rank)
{
    shared *all = arg;
    const int goes_on = one_piece(all->s, &all->p[rank], 1, all->end_at, &all->out[rank]);
    if (rank == 0) all->goes_on = goes_on;
    return 0;
}

/* Begun by 3 ranks, gone on with by 2, ended by 1; and the other way round. */
static void ranks(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    static const int way[2][3] = {{3, 2, 1}, {1, 2, 3}};
    for (int64_t seed = 0; seed < 6; seed++) {
        ref_rng r = {(uint64_t)seed + 99};
        char what[40];
        system_of s = random_system(&r, seed);
        outcome want = {.seen = 0};
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        REF_OK(ctx, evolve(ctx, &s, &s.o, &want));
        wisp_ctx_free(ctx);
        shared all = {.s = &s};
        for (int i = 0; i < 3; i++) {
            const int n = way[seed % 2][i];
            all.end_at = i < 2 ? want.e.sweeps / 24 : INT64_MAX;
            piece_ranks(n, on_rank, &all);
            if (!all.goes_on) break;
            for (int k = 1; k < MOST_RANKS; k++) { /* those that come next go on from there */
                for (int64_t j = 0; j < all.out[k].seen; j++) ref_free(all.out[k].psi[j]);
                all.p[k] = all.p[0];
                all.out[k].seen = all.out[0].seen;
                for (int64_t j = 0; j < all.out[0].seen; j++) all.out[k].psi[j] = ref_new(1, 1);
            }
        }
        snprintf(what, sizeof what, "seed %d", (int)seed);
        assert_false(all.goes_on);
        const double near = s.t.blk == WISP_C ? 0.1 : 1e-8;
        for (int64_t i = 0; i < TIMES; i++) ref_assert_close(what, all.out[0].psi[i], want.psi[i], near);
        for (int k = 0; k < MOST_RANKS; k++) forget(&all.out[k]);
        forget(&want);
        free_system(&s);
    }
}

/* ---- refusals -------------------------------------------------------------------------------------- */

static void refused(wisp_ctx *ctx, piece *p, const system_of *s, wisp_evolve_opts o, int64_t times, const double *time,
                    const char *words)
{
    wisp_mat *A = ref_mat_of(ctx, s->H, s->t.mat);
    wisp_blk *psi;
    outcome out = {.seen = 0};
    o.observe = keep;
    o.observe_arg = &out;
    REF_OK(ctx, wisp_blk_create(&psi, ctx, wisp_mat_map(A), s->t.blk, (int)s->start.cols));
    REF_OK(ctx, wisp_state_open(&o.resume, ctx, p->path));
    REF_FAILS(ctx, wisp_evolve(&out.e, A, psi, times, time, &o), WISP_ERR_MISMATCH, words);
    assert_int_equal(out.seen, 0);
    wisp_state_free(o.resume);
    wisp_blk_free(psi);
    wisp_mat_free(A);
}

static void refusals(void **state)
{
    (void)state;
    ref_rng r = {3};
    system_of s = random_system(&r, 0);
    outcome out = {.seen = 0};
    piece p = {.offers = 0};
    s.o.bounds.method = WISP_BOUNDS_LANCZOS;
    assert_int_equal(one_piece(&s, &p, 1, 2, &out), 1);
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    double other[TIMES];
    memcpy(other, time_of, sizeof other);
    other[7] += 0.25;
    wisp_evolve_opts o = s.o;
    refused(ctx, &p, &s, o, TIMES - 1, time_of, "times");
    refused(ctx, &p, &s, o, TIMES, other, "number 7 is 9.5");
    o.tolerance = 1e-8;
    refused(ctx, &p, &s, o, TIMES, time_of, "opts.tolerance");
    o = s.o, o.bounds.seed++;
    refused(ctx, &p, &s, o, TIMES, time_of, "seed 1");
    o = s.o, o.at_once = 3;
    refused(ctx, &p, &s, o, TIMES, time_of, "opts.at_once");
    o = s.o, o.bounds.method = WISP_BOUNDS_GERSHGORIN;
    refused(ctx, &p, &s, o, TIMES, time_of, "bounds lanczos");
    o.bounds.method = WISP_BOUNDS_GIVEN, o.bounds.given = (wisp_bounds){0, 100, 0};
    refused(ctx, &p, &s, o, TIMES, time_of, "bounds lanczos, and this one has 0 -+ 100");
    system_of wide = s;
    wide.start = ref_new(s.H.rows, s.start.cols + 1);
    refused(ctx, &p, &wide, s.o, TIMES, time_of, "width of psi");
    ref_free(wide.start);
    piece_drop(&p, ctx);
    forget(&out);
    wisp_ctx_free(ctx);
    free_system(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_pieces), cmocka_unit_test(ranks),
                                       cmocka_unit_test(refusals)};
    return REF_RUN(tests);
}
