/* States of wisp_solve: a run in pieces ends, bit by bit, as one that was never interrupted. */
#include "solve_random.h"
#include "state_pieces.h"

/* What has to be the same. */
typedef struct {
    wisp_status status;
    wisp_solution s;
    ref_mat x;
} result;

static void forget(result *r)
{
    wisp_solution_free(&r->s);
    ref_free(r->x);
    *r = (result){.status = WISP_OK};
}

/* A system whose matrix belongs to a context that is made for each piece. */
typedef struct {
    linear l;
    wisp_solve_opts o;
    uint64_t seed; /* of the user's preconditioner */
} problem;

static result solve_here(wisp_ctx *ctx, const problem *q, piece *p)
{
    linear here = q->l;
    wisp_solve_opts o = q->o;
    result out;
    wisp_blk *x, *b;
    ref_rng r = {q->seed};
    here.mat = ref_mat_of(ctx, q->l.A, q->l.t.mat);
    wisp_mat *D = o.precond == WISP_PRECOND_APPLY ? random_diagonal(ctx, &r, &here) : NULL;
    o.apply = by_diagonal, o.apply_arg = D;
    if (p) o.offer = piece_offer, o.offer_arg = p, o.resume = p->resume;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(here.mat), q->l.t.blk, (int)q->l.b.cols));
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(here.mat), q->l.t.blk, (int)q->l.b.cols));
    ref_put(b, q->l.b);
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){NAN, 0}));
    if (o.guess && !o.resume) ref_put(x, q->l.x0);
    out.status = wisp_solve(&out.s, x, here.mat, b, &o);
    out.x = ref_get(x);
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(here.mat), wisp_mat_free(D);
    return out;
}

/* A piece with a context of its own. 1: it was not the last one, and *out is empty. */
static int one_piece(const problem *q, piece *p, int threads, int64_t end_at, result *out)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
    if (!*p->path) *p = piece_new(ctx, "solve");
    piece_begin(p, ctx, end_at);
    *out = solve_here(ctx, q, p);
    const int goes_on = piece_ended(p, ctx, out->status);
    if (goes_on) forget(out);
    wisp_ctx_free(ctx);
    return goes_on;
}

static result undisturbed(const problem *q)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    const result r = solve_here(ctx, q, NULL);
    wisp_ctx_free(ctx);
    return r;
}

static void same_results(const problem *q, const result *got, const result *want, const char *what)
{
    const wisp_solution *a = &got->s, *b = &want->s;
    const size_t n = (size_t)b->columns;
    /* A polynomial finds its depth anew, also one that is given up later, which the result doesn't name. */
    const int counted = q->o.precond != WISP_CHEBYSHEV && q->o.precond != WISP_NEUMANN;
    if (got->status != want->status)
        fail_msg("%s: %s, undisturbed: %s", what, wisp_status_string(got->status), wisp_status_string(want->status));
    if (a->columns != b->columns || a->iterations != b->iterations || a->converged != b->converged)
        fail_msg("%s: %lld iterations, undisturbed: %lld", what, (long long)a->iterations, (long long)b->iterations);
    if (!b->residuals || !b->history) return;
    if (memcmp(a->history, b->history, (size_t)(b->iterations + 1) * sizeof *b->history))
        fail_msg("%s: another history", what);
    if (memcmp(a->residuals, b->residuals, n * sizeof *b->residuals) ||
        memcmp(a->status, b->status, n * sizeof *b->status) ||
        memcmp(a->iterations_of, b->iterations_of, n * sizeof *b->iterations_of))
        fail_msg("%s: other columns", what);
    if (a->method != b->method || a->variant != b->variant || a->precond != b->precond || a->bytes != b->bytes)
        fail_msg("%s: another method, or bytes %g and %g", what, a->bytes, b->bytes);
    if (a->replacements != b->replacements || (a->passes != b->passes && counted) || a->products != b->products ||
        a->reductions != b->reductions)
        fail_msg(
            "%s: %lld replacements, %lld passes, %lld products, %lld reductions; undisturbed: %lld, %lld, %lld, %lld",
            what, (long long)a->replacements, (long long)a->passes, (long long)a->products, (long long)a->reductions,
            (long long)b->replacements, (long long)b->passes, (long long)b->products, (long long)b->reductions);
    if (memcmp(got->x.a, want->x.a, (size_t)(want->x.rows * want->x.cols) * sizeof *want->x.a))
        fail_msg("%s: x differs", what);
}

/* Iterations from one offer to the next, but for those of methods that look at each by themselves. */
static int iterations_of_offer(void)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    const int each = wisp_ctx_look_every(ctx);
    wisp_ctx_free(ctx);
    return each;
}

/* Ends it at random offers; the number of pieces. */
static int in_pieces(const problem *q, ref_rng *r, const char *what)
{
    result want = undisturbed(q), got;
    piece p = {.offers = 0};
    const int64_t most = 1 + want.s.iterations / 2 / iterations_of_offer();
    while (one_piece(q, &p, 1 + (int)ref_below(r, 3), p.pieces < 4 ? ref_below(r, most) : INT64_MAX, &got)) continue;
    same_results(q, &got, &want, what);
    forget(&got), forget(&want);
    return p.pieces;
}

/* ---- every method, variant and preconditioner ------------------------------------------------------- */

static const struct {
    wisp_method method;
    wisp_variant variant;
} pairs[] = {{WISP_CG, WISP_PIPELINED},     {WISP_CG, WISP_CLASSICAL},       {WISP_CG, WISP_PREDICT},
             {WISP_CG, WISP_HIDDEN},        {WISP_BICGSTAB, WISP_PIPELINED}, {WISP_BICGSTAB, WISP_CLASSICAL},
             {WISP_GMRES, WISP_PIPELINED},  {WISP_GMRES, WISP_CLASSICAL},    {WISP_MINRES, WISP_PIPELINED},
             {WISP_MINRES, WISP_CLASSICAL}, {WISP_IDR, WISP_PIPELINED},      {WISP_IDR, WISP_CLASSICAL}};
enum { PAIRS = sizeof pairs / sizeof *pairs, PRECONDS = WISP_PRECOND_APPLY + 1 };

/* Columns that are of 1, 4, 7 .. eigenvectors take different numbers of iterations; some are 0. */
static problem definite(ref_rng *r, int which, ref_types t, int width)
{
    problem q = {.seed = ref_next(r)};
    const int64_t n = 30 + ref_below(r, 20);
    ref_mat A = spread(r, n, 50, 0), b = ref_new(n, width), v = ref_random_block(r, t.blk, n, 1);
    double norm = 0;
    if (!wisp_type_is_complex(t.mat))
        for (int64_t i = 0; i < n; i++) v.a[i] = creal(v.a[i]);
    for (int64_t i = 0; i < n; i++) norm += creal(v.a[i] * conj(v.a[i]));
    for (int64_t i = 0; i < n; i++) v.a[i] /= sqrt(norm);
    reflect(A, v.a, 0), reflect(A, v.a, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) REF_AT(A, i, j) = i == j ? creal(REF_AT(A, i, i)) : conj(REF_AT(A, j, i));
    for (int j = 0; j < width; j++)
        for (int64_t e = 0; e <= (3 * j + 4) % n && j % 11 != 10; e++)
            for (int64_t i = 0; i < n; i++) REF_AT(b, i, j) += exp2(j % 5 * 3) * ((i == e) - 2 * v.a[i] * conj(v.a[e]));
    ref_free(v);
    ref_round(A, t.mat), ref_round(b, t.blk);
    q.l =
        (linear){.kind = DEFINITE, .t = t, .A = A, .b = b, .x0 = ref_random_block(r, t.blk, n, width), .hermitian = 1};
    q.o = (wisp_solve_opts){.method = pairs[which].method,
                            .variant = pairs[which].variant,
                            .restart = (int)ref_below(r, 3) * 7,
                            .shadow = (which + 2) % 5,
                            .degree = 1 + (int)ref_below(r, 5),
                            .guess = (int)ref_below(r, 2)};
    return q;
}

static void problem_free(problem *q) { ref_free(q->l.A), ref_free(q->l.b), ref_free(q->l.x0); }

static void all_methods(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 33};
    int pieces = 0, n = 0;
    for (int i = 0; i < PAIRS; i++)
        for (int m = 0; m < PRECONDS; m++, n++) {
            char what[80];
            ref_rng r = {(uint64_t)(n * 17 + 3)};
            if (pairs[i].variant == WISP_PREDICT && m != WISP_PRECOND_NONE) continue;
            problem q = definite(&r, i, ref_pair[n % REF_PAIRS], widths[(n + i) % 3]);
            q.o.precond = (wisp_precond)m;
            if (m && has_sides(q.o.method)) q.o.side = n % 2 ? WISP_SIDE_LEFT : WISP_SIDE_RIGHT;
            snprintf(what, sizeof what, "%s, variant %d, preconditioner %d, width %d", method_name[pairs[i].method],
                     (int)pairs[i].variant, m, (int)q.l.b.cols);
            pieces += in_pieces(&q, &r, what);
            problem_free(&q);
        }
    print_message("%d pieces\n", pieces);
    assert_true(pieces > n / iterations_of_offer());
}

/* ---- whatever happens -------------------------------------------------------------------------------- */

enum { SYSTEMS = 40 };

/* BiCGStab and IDR with residuals that wander: an earlier x is in its state. */
static void an_earlier_x(void **state)
{
    (void)state;
    int pieces = 0;
    for (uint64_t seed = 1; seed <= SYSTEMS; seed++) {
        ref_rng r = {seed * 15485863};
        const ref_types t = ref_pair[ref_below(&r, REF_PAIRS)];
        const int64_t n = 20 + ref_below(&r, 40);
        problem q = {.seed = seed};
        q.l = (linear){.kind = KINDS, .t = t, .A = wild(&r, n, t.mat), .b = ref_random_block(&r, t.blk, n, 2)};
        ref_round(q.l.A, t.mat), ref_round(q.l.b, t.blk);
        q.l.x0 = ref_new(n, 2);
        q.o = (wisp_solve_opts){.method = seed / 2 % 2 ? WISP_IDR : WISP_BICGSTAB,
                                .max_iterations = 5 + ref_below(&r, 2 * n)};
        q.o.variant = seed % 2 ? WISP_PIPELINED : WISP_CLASSICAL;
        pieces += in_pieces(&q, &r, "an earlier x");
        problem_free(&q);
    }
    assert_true(pieces > SYSTEMS / 2 / iterations_of_offer());
}

/* MINRES goes on where BiCGStab can't. */
static void another_method(void **state)
{
    (void)state;
    int pieces = 0, changed = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        ref_rng r = {seed * 32452843};
        const ref_types t = ref_pair[seed % REF_PAIRS];
        const int64_t n = 5 + ref_below(&r, 30);
        problem q = {.seed = seed};
        q.l = (linear){.kind = OPEN, .t = t, .A = graph(&r, t.mat, n), .b = ref_random_block(&r, t.blk, n, 2)};
        ref_round(q.l.A, t.mat), ref_round(q.l.b, t.blk);
        q.l.x0 = ref_new(n, 2);
        q.o = (wisp_solve_opts){.method = WISP_BICGSTAB, .max_iterations = 1000};
        result whole = undisturbed(&q);
        changed += whole.s.method == WISP_MINRES;
        forget(&whole);
        pieces += in_pieces(&q, &r, "another opts.method");
        problem_free(&q);
    }
    print_message("%d pieces, %d go on by minres\n", pieces, changed);
    assert_true(pieces > 12 / iterations_of_offer() && changed > 3);
}

static void random_systems(void **state)
{
    (void)state;
    int pieces = 0;
    for (uint64_t seed = 1; seed <= SYSTEMS; seed++) {
        ref_rng r = {seed * 104729};
        char what[160];
        const ref_types t = ref_pair[ref_below(&r, REF_PAIRS)];
        problem q = {.seed = seed};
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        q.l = random_linear(ctx, &r, (kind)ref_below(&r, KINDS), t, 1 + ref_below(&r, 60), 1 + (int)ref_below(&r, 7));
        wisp_mat_free(q.l.mat);
        wisp_ctx_free(ctx);
        q.o = random_options(&r, &q.l);
        snprintf(what, sizeof what, "seed %d: %s, %s, variant %d, preconditioner %d, restart %d, tolerance %g",
                 (int)seed, kind_name[q.l.kind], method_name[q.o.method], (int)q.o.variant, (int)q.o.precond,
                 q.o.restart, q.o.tolerance);
        pieces += in_pieces(&q, &r, what);
        problem_free(&q);
    }
    print_message("%d pieces\n", pieces);
    assert_true(pieces > SYSTEMS / 2 / iterations_of_offer());
}

/* A run that ended with its iterations goes on with more, as if these had been allowed at once. */
static void more_iterations(void **state)
{
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        ref_rng r = {(uint64_t)i + 50};
        problem q = definite(&r, i, (ref_types){WISP_D, WISP_D}, 3);
        result want = undisturbed(&q), got;
        piece p = {.offers = 0};
        assert_true(want.status == WISP_OK && want.s.iterations > 4);
        const int looks = iterations_of_offer() == 1 || pairs[i].method == WISP_GMRES;
        q.o.max_iterations = 3;
        assert_int_equal(one_piece(&q, &p, 1, looks ? 2 : 0, &got), 1); /* at the last of them */
        q.o.max_iterations = 0;
        assert_int_equal(one_piece(&q, &p, 2, INT64_MAX, &got), 0);
        same_results(&q, &got, &want, method_name[pairs[i].method]);
        forget(&got), forget(&want);
        problem_free(&q);
    }
}

/* ---- another number of ranks ------------------------------------------------------------------------ */

enum { MOST_RANKS = 3 };
typedef struct {
    const problem *q;
    int64_t end_at;
    piece p[MOST_RANKS]; /* of each rank */
    result out;
    int goes_on;
} shared;

static int on_rank(void *arg, int rank)
{
    shared *all = arg;
    result own = {.status = WISP_OK};
    const int goes_on = one_piece(all->q, &all->p[rank], 1, all->end_at, &own);
    if (rank > 0)
        forget(&own);
    else
        all->out = own, all->goes_on = goes_on;
    return 0;
}

/* Begun by 3 ranks, gone on with by 2, ended by 1; and the other way round. */
static void ranks(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    static const int way[2][3] = {{3, 2, 1}, {1, 2, 3}};
    for (int i = 0, n = 0; i < PAIRS; i++)
        for (int m = 0; m < PRECONDS; m += 1 + i % 2, n++) {
            char what[80];
            ref_rng r = {(uint64_t)n + 1000};
            if (pairs[i].variant == WISP_PREDICT && m != WISP_PRECOND_NONE) continue;
            problem q = definite(&r, i, (ref_types){WISP_D, n % 2 ? WISP_Z : WISP_D}, n % 3 + 1);
            q.o.precond = (wisp_precond)m;
            snprintf(what, sizeof what, "%s, variant %d, preconditioner %d, by ranks", method_name[pairs[i].method],
                     (int)pairs[i].variant, m);
            result want = undisturbed(&q);
            shared all = {.q = &q};
            for (int k = 0; k < 3; k++) {
                all.end_at = k < 2 ? want.s.iterations / 4 / iterations_of_offer() : INT64_MAX;
                piece_ranks(way[n % 2][k], on_rank, &all);
                if (!all.goes_on) break;
                for (int j = 1; j < MOST_RANKS; j++) all.p[j] = all.p[0];
            }
            assert_false(all.goes_on);
            if (all.out.status != WISP_OK) fail_msg("%s: %s", what, wisp_status_string(all.out.status));
            const residuals got = residuals_of(&q.l, all.out.x);
            for (int j = 0; j < q.l.b.cols; j++)
                if (!(got.r[j] <= 1e-8 * got.b[j] * 1.01 + got.noise[j])) fail_msg("%s: residual %g", what, got.r[j]);
            if (all.out.s.iterations > 2 * want.s.iterations + 5)
                fail_msg("%s: %lld iterations, alone %lld", what, (long long)all.out.s.iterations,
                         (long long)want.s.iterations);
            forget(&all.out), forget(&want);
            problem_free(&q);
        }
}

/* ---- refusals --------------------------------------------------------------------------------------- */

static void refused(piece *p, problem q, const char *words)
{
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    REF_OK(ctx, wisp_state_open(&q.o.resume, ctx, p->path));
    piece none = *p;
    none.resume = q.o.resume;
    result out = solve_here(ctx, &q, &none);
    if (out.status != WISP_ERR_MISMATCH || !strstr(message_of(ctx), words))
        fail_msg("%s: %s (%s)", words, wisp_status_string(out.status), message_of(ctx));
    assert_true(out.s.iterations == 0 && !out.s.converged && isnan(out.s.residual));
    for (int64_t i = 0; i < out.x.rows * out.x.cols; i++) assert_true(isnan(creal(out.x.a[i]))); /* as it was */
    forget(&out);
    wisp_state_free(q.o.resume);
    wisp_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    ref_rng r = {9};
    problem q = definite(&r, 6, (ref_types){WISP_D, WISP_D}, 3), other = q;
    result out;
    piece p = {.offers = 0};
    q.o.precond = WISP_CHEBYSHEV, q.o.degree = 3, q.o.restart = 20;
    assert_int_equal(one_piece(&q, &p, 1, 2, &out), 1);
    other = q, other.o.method = WISP_BICGSTAB;
    refused(&p, other, "opts.method gmres");
    other = q, other.o.variant = WISP_CLASSICAL;
    refused(&p, other, "opts.variant pipelined");
    other = q, other.o.tolerance = 1e-6;
    refused(&p, other, "opts.tolerance");
    other = q, other.o.restart = 10;
    refused(&p, other, "opts.restart 20");
    other = q, other.o.degree = 4;
    refused(&p, other, "degree 3");
    other = q, other.o.precond = WISP_JACOBI;
    refused(&p, other, "opts.precond chebyshev");
    other = q, other.o.bounds.method = WISP_BOUNDS_GERSHGORIN;
    refused(&p, other, "bounds lanczos");
    other = q, other.o.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = {2, 1, 0}};
    refused(&p, other, "2 -+ 1");
    other = q, other.l.t.blk = WISP_Z;
    refused(&p, other, "type of b");
    other = q, other.l.b = ref_random_block(&r, WISP_D, q.l.b.rows, 3);
    refused(&p, other, "right-hand side");
    ref_free(other.l.b);
    other = q, other.l.b = ref_random_block(&r, WISP_D, q.l.b.rows, 2), other.l.x0 = ref_new(q.l.b.rows, 2);
    refused(&p, other, "width of b");
    ref_free(other.l.b), ref_free(other.l.x0);
    REF_AT(q.l.b, 5, 1) += 1e-3;
    refused(&p, q, "column 1");
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    piece_drop(&p, ctx);
    wisp_ctx_free(ctx);
    problem_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_methods),     cmocka_unit_test(an_earlier_x),
                                       cmocka_unit_test(another_method),  cmocka_unit_test(random_systems),
                                       cmocka_unit_test(more_iterations), cmocka_unit_test(ranks),
                                       cmocka_unit_test(refusals)};
    return REF_RUN(tests);
}
