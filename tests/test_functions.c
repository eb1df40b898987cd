/* Functions of matrices times blocks: against eigenvectors by LAPACK and wisp_evolve, scales, bounds that do not hold,
   states. */
#include <unistd.h>
#include "functions.h"

/* ---- by eigenvectors ------------------------------------------------------------------------------ */

/* f(H) x, but for 2^exponent; energies are those of H times 2^up. */
static ref_mat apply(const real_pairs *s, const member *m, int up, ref_mat x)
{
    const int64_t n = x.rows, size = s->size;
    ref_mat out = ref_new(n, x.cols);
    for (int64_t c = 0; c < x.cols; c++)
        for (int64_t k = 0; k < size; k++) {
            cplx overlap = 0;
            /* Each eigenvector is there twice, as v and i v: half of the sum over both. */
            for (int64_t i = 0; i < n; i++)
                overlap += (s->q[k * size + i] - I * s->q[k * size + n + i]) * REF_AT(x, i, c);
            overlap *= 0.5 * member_at(m, ldexp(s->E[k], up));
            for (int64_t i = 0; i < n; i++)
                REF_AT(out, i, c) += overlap * (s->q[k * size + i] + I * s->q[k * size + n + i]);
        }
    return out;
}

static double length(ref_mat m, int64_t j)
{
    double square = 0;
    for (int64_t i = 0; i < m.rows; i++) square += pow(cabs(REF_AT(m, i, j)), 2);
    return sqrt(square);
}

/* The largest ||y - want|| over `unit` ||x||, of all columns. */
static double off_by(ref_mat y, ref_mat want, ref_mat x, double unit)
{
    double worst = 0;
    for (int64_t j = 0; j < y.cols; j++) {
        double square = 0;
        for (int64_t i = 0; i < y.rows; i++) square += pow(cabs(REF_AT(y, i, j) - REF_AT(want, i, j)), 2);
        const double e = sqrt(square) / (unit * length(x, j));
        if (!(e <= worst)) worst = e;
    }
    return worst;
}

static bool is_single(wisp_type type) { return type == WISP_S || type == WISP_C; }
static bool is_real(int kind) { return kind != PHASE && kind != RESOLVENT; }

/* All kinds that the type takes, at once, with some rows and columns of zeros. */
static void random_matrices(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    ref_rng r = {11};
    for (int pair = 0; pair < REF_PAIRS; pair++)
        for (int w = 0; w < 4; w++) {
            const wisp_type type = ref_pair[pair].blk;
            ref_mat H = random_hermitian(&r, ref_pair[pair].mat, 1 + ref_below(&r, 40), 0.6);
            if (H.rows > 3)
                for (int64_t i = 0; i < H.rows; i++) REF_AT(H, 2, i) = REF_AT(H, i, 2) = 0;
            ref_mat start = ref_random_block(&r, type, H.rows, widths[w]);
            wisp_mat *A = ref_mat_of(ctx, H, ref_pair[pair].mat);
            wisp_blk *x = block(ctx, A, type, widths[w]), *y[KINDS];
            member m[KINDS];
            wisp_function f[KINDS];
            int count = 0;
            for (int k = 0; k < KINDS; k++) {
                if (!is_real(k) && !wisp_type_is_complex(type)) continue;
                m[count] = (member){.kind = k, .shift = ref_uniform(&r), .scale = k == EXP ? 2 : 1};
                f[count] = as_function(&m[count]);
                y[count++] = block(ctx, A, type, widths[w]);
            }
            ref_put(x, start);
            const double tolerance = is_single(type) ? 1e-4 : 1e-10;
            const wisp_chebyshev_opts o = {.depth = w == 1 ? 3 : 0};
            wisp_expansion e;
            REF_OK(ctx, wisp_chebyshev_apply(&e, y, A, x, count, f, &o));
            assert_true(e.error <= tolerance / 2 && e.rounding <= tolerance / 2 && e.rounding > 0 && e.points >= 1025);
            assert_true(e.sweeps == (e.terms > 1 ? e.terms - 1 : 1) && e.flops > 0 && e.seconds >= 0 && e.depth >= 1);
            const real_pairs s = pairs_of(H);
            for (int i = 0; i < count; i++) {
                ref_mat got = ref_get(y[i]), want = apply(&s, &m[i], 0, start);
                const double error = off_by(got, want, start, largest_on(&m[i], &e.bounds));
                if (!(error <= tolerance))
                    fail_msg("pair %d, width %d, function %d: off by %g", pair, widths[w], m[i].kind, error);
                assert_true(m[i].calls >= 1025);
                ref_free(got), ref_free(want);
            }
            ref_mat same = ref_get(x);
            assert_memory_equal(same.a, start.a, (size_t)(H.rows * widths[w]) * sizeof *same.a);
            ref_free(same);
            pairs_free(s);
            for (int i = 0; i < count; i++) wisp_blk_free(y[i]);
            wisp_blk_free(x);
            wisp_mat_free(A);
            ref_free(H), ref_free(start);
        }
}

/* Matrices, functions and blocks of any size: the same as those of size 1, by powers of 2. */
static void scales(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        wisp_type mat, blk;
        int matrix, function, block; /* exponents */
    } cases[] = {{WISP_D, WISP_D, -990, 0, 0},     {WISP_D, WISP_Z, 990, 0, 0},      {WISP_Z, WISP_Z, -500, 900, -800},
                 {WISP_Z, WISP_Z, 500, -900, 800}, {WISP_D, WISP_D, -990, -400, 30}, {WISP_D, WISP_D, 990, 500, -900},
                 {WISP_D, WISP_D, 0, -1000, 900},  {WISP_S, WISP_S, -110, 0, 0},     {WISP_C, WISP_C, 110, 0, 0},
                 {WISP_S, WISP_S, -110, 90, -110}, {WISP_C, WISP_C, 110, -90, 110},  {WISP_S, WISP_C, 0, 200, -120},
                 {WISP_C, WISP_C, 0, -200, 110},   {WISP_S, WISP_D, -133, 500, -700}};
    ref_rng r = {23};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int kind = 0; kind < KINDS; kind++) {
            const wisp_type type = cases[c].blk;
            if (!is_real(kind) && !wisp_type_is_complex(type)) continue;
            enum { ROWS = 30, WIDTH = 2 };
            ref_mat H = random_hermitian(&r, cases[c].mat, ROWS, 0.6), start = ref_random_block(&r, type, ROWS, WIDTH);
            for (int64_t i = 0; i < ROWS * ROWS; i++) H.a[i] *= ldexp(1, cases[c].matrix);
            ref_round(H, cases[c].mat);
            wisp_mat *A = ref_mat_of(ctx, H, cases[c].mat);
            for (int64_t i = 0; i < ROWS * ROWS; i++) H.a[i] *= ldexp(1, -cases[c].matrix);
            wisp_blk *x = block(ctx, A, type, WIDTH), *y = block(ctx, A, type, WIDTH);
            ref_mat in = ref_new(ROWS, WIDTH);
            for (int64_t i = 0; i < ROWS * WIDTH; i++)
                in.a[i] = ldexp(creal(start.a[i]), cases[c].block) + I * ldexp(cimag(start.a[i]), cases[c].block);
            ref_round(in, type);
            for (int64_t i = 0; i < ROWS * WIDTH; i++)
                start.a[i] = ldexp(creal(in.a[i]), -cases[c].block) + I * ldexp(cimag(in.a[i]), -cases[c].block);
            ref_put(x, in);
            member m = {.kind = kind, .scale = ldexp(2, cases[c].matrix), .exponent = cases[c].function};
            const wisp_function f = as_function(&m);
            wisp_expansion e;
            REF_OK(ctx, wisp_chebyshev_apply(&e, &y, A, x, 1, &f, NULL));
            const real_pairs s = pairs_of(H);
            ref_mat got = ref_get(y), want = apply(&s, &m, cases[c].matrix, start);
            for (int64_t i = 0; i < ROWS * WIDTH; i++) {
                const int down = -cases[c].block - cases[c].function;
                got.a[i] = ldexp(creal(got.a[i]), down) + I * ldexp(cimag(got.a[i]), down);
            }
            const double error = off_by(got, want, start, largest_on(&m, &e.bounds));
            if (!(error <= (is_single(type) ? 1e-4 : 1e-10)))
                fail_msg("case %d, function %d: off by %g", (int)c, kind, error);
            ref_free(got), ref_free(want);
            pairs_free(s);
            wisp_blk_free(x), wisp_blk_free(y);
            wisp_mat_free(A);
            ref_free(H), ref_free(start), ref_free(in);
        }
}

/* f(H) e_start of a chain with n sites, hopping `hop` and energy `on`, from its closed form. */
static ref_mat exact_chain(const member *m, int64_t n, int64_t start, double hop, double on)
{
    ref_mat out = ref_new(n, 1);
    const long double pi = acosl(-1);
    for (int64_t k = 1; k <= n; k++) {
        const long double q = pi * (long double)k / (long double)(n + 1);
        const cplx f = member_at(m, (double)(on + 2 * hop * cosl(q)));
        for (int64_t i = 0; i < n; i++)
            out.a[i] += f * (double)(2 / (long double)(n + 1) * sinl(q * (long double)(start + 1)) *
                                     sinl(q * (long double)(i + 1)));
    }
    return out;
}

/* Down to the least tolerance that is not refused, functions flat and steep. */
static void tolerances_are_met(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 40, START = 7 };
    const bool few = REF_SANITIZED || ref_ranks() > 1; /* of cases that differ in numbers alone */
    ref_mat H = ref_new(N, N), start = ref_new(N, 1);
    for (int64_t i = 0; i < N; i++) {
        REF_AT(H, i, i) = 0.375;
        if (i + 1 < N) REF_AT(H, i, i + 1) = REF_AT(H, i + 1, i) = 1;
    }
    start.a[START] = 1;
    for (int single = 0; single < 2; single++) {
        wisp_mat *A = ref_mat_of(ctx, H, single ? WISP_S : WISP_D);
        const wisp_type type = single ? WISP_C : WISP_Z;
        wisp_blk *x = block(ctx, A, type, 1), *y = block(ctx, A, type, 1);
        ref_put(x, start);
        for (int kind = 0; kind < KINDS; kind++)
            for (double scale = 10; scale > 0.02; scale /= 5) {
                member m = {.kind = kind, .scale = scale};
                if (kind == ROOT && scale < 1) continue; /* it would be none */
                ref_mat should = exact_chain(&m, N, START, 1, 0.375);
                int64_t before = 0;
                int met = 0;
                for (double tolerance = 1e-2; tolerance > 1e-17; tolerance /= few ? 64 : 4) {
                    const wisp_function f = as_function(&m);
                    wisp_expansion e;
                    const wisp_status status =
                        wisp_chebyshev_apply(&e, &y, A, x, 1, &f, &(wisp_chebyshev_opts){.tolerance = tolerance});
                    if (status != WISP_OK) {
                        if (status != WISP_ERR_ARG || !strstr(message_of(ctx), "rounding alone"))
                            fail_msg("%s", message_of(ctx));
                        assert_true(tolerance < (single ? 1e-2 : 1e-11));
                        break;
                    }
                    ref_mat got = ref_get(y);
                    const double error = off_by(got, should, start, largest_on(&m, &e.bounds));
                    if (!(error <= tolerance))
                        fail_msg("function %d, scale %g, tolerance %g: off by %g", kind, scale, tolerance, error);
                    assert_true(e.terms >= before && e.error <= tolerance / 2);
                    before = e.terms;
                    ref_free(got);
                    met++;
                }
                assert_true(met > (few ? 0 : single ? 2 : 12));
                ref_free(should);
            }
        wisp_blk_free(x), wisp_blk_free(y);
        wisp_mat_free(A);
    }
    ref_free(H), ref_free(start);
}

/* exp(-i A t) is what wisp_evolve makes; a series that is given, and the same by its values; x in the place of y. */
static void other_ways(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat H;
    wisp_mat *A = mat_of_spec(ctx, "topi:nx=4,ny=3,nz=2,disorder=1", &H);
    wisp_blk *psi = block(ctx, A, WISP_Z, 3), *y[3];
    for (int i = 0; i < 3; i++) y[i] = block(ctx, A, WISP_Z, 3);
    REF_OK(ctx, wisp_blk_fill_random(psi, WISP_RANDOM_GAUSS, 3, 0, 0));
    REF_OK(ctx, wisp_copy(y[0], psi));
    ref_mat start = ref_get(psi);
    member m[2] = {{.kind = PHASE, .scale = 0.5}, {.kind = FERMI, .shift = 0.2, .scale = 1}};
    const double time = 4;
    wisp_evolution evolution;
    wisp_expansion e;
    REF_OK(ctx, wisp_evolve(&evolution, A, psi, 1, &time, NULL));
    const wisp_function f[2] = {as_function(&m[0]), as_function(&m[1])};
    REF_OK(ctx, wisp_chebyshev_apply(&e, y, A, y[0], 2, f, NULL)); /* in place */
    ref_mat got = ref_get(y[0]), want = ref_get(psi);
    assert_true(off_by(got, want, start, 1) <= 2e-10);
    assert_true(e.rounding <= 3 * DBL_EPSILON * (16 + (e.bounds.halfwidth + fabs(e.bounds.center)) * time));
    ref_free(got), ref_free(want);
    /* T_2 - 2 T_1 + 3i, by hand: (2 z^2 - 1 - 2 z + 3i) x. */
    const wisp_scalar c[3] = {{0, 3}, {-2, 0}, {1, 0}};
    const wisp_function given = {.c = c, .terms = 3};
    const wisp_bounds b = {0.5, 9, 0};
    wisp_chebyshev_opts o = {.bounds = {.method = WISP_BOUNDS_GIVEN, .given = b}};
    ref_put(psi, start);
    REF_OK(ctx, wisp_chebyshev_apply(&e, y + 2, A, psi, 1, &given, &o));
    assert_true(e.terms == 3 && e.sweeps == 8 && e.error == 0 && e.points == 0);
    for (int64_t i = 0; i < H.rows; i++) REF_AT(H, i, i) -= b.center;
    for (int64_t i = 0; i < H.rows * H.rows; i++) H.a[i] /= b.halfwidth;
    ref_mat z = ref_times(H, start), zz = ref_times(H, z);
    for (int64_t i = 0; i < z.rows * 3; i++) z.a[i] = 2 * zz.a[i] - 2 * z.a[i] + (3 * I - 1) * start.a[i];
    got = ref_get(y[2]);
    ref_assert_close("a given series", got, z, 1e-13);
    ref_free(got), ref_free(z), ref_free(zz);
    o.bounds = (wisp_bounds_opts){0};
    REF_FAILS(ctx, wisp_chebyshev_apply(&e, y + 2, A, psi, 1, &given, &o), WISP_ERR_ARG, "give these as opts.bounds");
    for (int i = 0; i < 3; i++) wisp_blk_free(y[i]);
    wisp_blk_free(psi);
    wisp_mat_free(A);
    ref_free(H), ref_free(start);
}

/* ---- what goes wrong ------------------------------------------------------------------------------- */

/* Bounds that leave out one eigenvalue, of which x has a part that may be small: it is told, or the tolerance is met,
   but for the distance of the eigenvalue. */
static void small_parts_outside(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 20 };
    const bool few = REF_SANITIZED || ref_ranks() > 1; /* of cases that differ in numbers alone */
    int told = 0, met = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (double coupling = 1e-8; coupling < 0.3; coupling *= few ? 64 : 8)
            for (double cut = 1e-3; cut < 0.4; cut *= few ? 9 : 3)
                for (double sharp = 1; sharp < 30; sharp *= 3) {
                    const double tolerance = 1e-10;
                    ref_mat H = ref_new(N, N), start = ref_new(N, 1);
                    for (int i = 0; i < N; i++) REF_AT(H, i, i) = i == N - 1 ? 1.5 : (float)cos(i);
                    REF_AT(H, 0, N - 1) = REF_AT(H, N - 1, 0) = (float)coupling;
                    start.a[0] = 1;
                    wisp_mat *A = ref_mat_of(ctx, H, WISP_D);
                    wisp_blk *x = block(ctx, A, WISP_Z, 1), *y = block(ctx, A, WISP_Z, 1);
                    ref_put(x, start);
                    member m = {.kind = kind, .scale = 1 / sharp};
                    if (kind == ROOT && sharp > 9) m.scale = 1; /* it would be none on the bounds */
                    const wisp_function f = as_function(&m);
                    const wisp_bounds b = {0.2 - cut / 2, 1.3 - cut / 2, 0};
                    const wisp_chebyshev_opts o = {.bounds.method = WISP_BOUNDS_GIVEN, .bounds.given = b};
                    const wisp_status status = wisp_chebyshev_apply(NULL, &y, A, x, 1, &f, &o);
                    if (status == WISP_OK) {
                        const real_pairs s = pairs_of(H);
                        ref_mat should = apply(&s, &m, 0, start), is = ref_get(y);
                        const double error = off_by(is, should, start, largest_on(&m, &b));
                        if (!(error <= 5 * tolerance))
                            fail_msg("function %d, coupling %g, cut %g, sharpness %g: off by %g, and nobody says so",
                                     kind, coupling, cut, sharp, error);
                        ref_free(should), ref_free(is);
                        pairs_free(s);
                        met++;
                    } else {
                        if (status != WISP_ERR_BOUNDS) fail_msg("%s", message_of(ctx));
                        told++;
                    }
                    wisp_blk_free(x), wisp_blk_free(y);
                    wisp_mat_free(A);
                    ref_free(H), ref_free(start);
                }
    assert_true(told > 20 && met > 20);
}

/* ---- states ------------------------------------------------------------------------------------------ */

typedef struct {
    wisp_checkpoint *c;
    int64_t calls, last; /* ends at offer number `last` */
} keeper;

static int keep_last(void *arg, wisp_state *state)
{
    keeper *k = arg;
    if (k->calls++ < k->last) return 0;
    wisp_checkpoint_request(k->c, 1);
    return wisp_checkpoint_offer(k->c, state);
}

/* A run that goes on from its state has the bits of one that was never ended. */
static void goes_on(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1, .no_pin = 1});
    double process = wisp_ctx_rank(ctx) ? 0 : getpid();
    char file[80];
    REF_OK(ctx, wisp_ctx_sum(ctx, &process, 1));
    snprintf(file, sizeof file, "/tmp/wisp-functions-%.0f", process);
    wisp_mat *A = mat_of_spec(ctx, "anderson:nx=5,ny=4,nz=3,disorder=2", NULL);
    wisp_blk *x = block(ctx, A, WISP_Z, 2), *y[2], *z[2];
    for (int i = 0; i < 2; i++) y[i] = block(ctx, A, WISP_Z, 2), z[i] = block(ctx, A, WISP_Z, 2);
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 3, 0, 0));
    member m[2] = {{.kind = FERMI, .scale = 1, .exponent = 100}, {.kind = PHASE, .scale = 0.1}};
    wisp_function f[2] = {as_function(&m[0]), as_function(&m[1])};
    wisp_expansion whole, e;
    REF_OK(ctx, wisp_chebyshev_apply(&whole, y, A, x, 2, f, NULL));
    const int64_t part = ref_far(ctx) ? 2 : 4; /* of the offers */
    for (int64_t last = 0; last <= 2 * part; last += part) {
        keeper k = {.last = last};
        wisp_state *kept;
        REF_OK(ctx, wisp_checkpoint_create(&k.c, ctx, &(wisp_checkpoint_opts){.path = file}));
        wisp_chebyshev_opts o = {.offer = keep_last, .offer_arg = &k};
        REF_FAILS(ctx, wisp_chebyshev_apply(&e, z, A, x, 2, f, &o), WISP_ERR_CANCELLED, "");
        assert_int_equal(k.calls, last + 1);
        REF_OK(ctx, wisp_checkpoint_wait(k.c));
        REF_OK(ctx, wisp_state_open(&kept, ctx, file));
        o = (wisp_chebyshev_opts){.resume = kept};
        m[1].scale = 0.2;
        REF_FAILS(ctx, wisp_chebyshev_apply(&e, z, A, x, 2, f, &o), WISP_ERR_MISMATCH, "series");
        m[1].scale = 0.1;
        REF_FAILS(ctx, wisp_chebyshev_apply(&e, z, A, x, 1, f, &o), WISP_ERR_MISMATCH, "series");
        REF_OK(ctx, wisp_chebyshev_apply(&e, z, A, x, 2, f, &o));
        assert_true(e.terms == whole.terms && e.sweeps == whole.sweeps && e.error == whole.error &&
                    e.flops == whole.flops && e.rounding == whole.rounding);
        for (int i = 0; i < 2; i++) {
            ref_mat a = ref_get(y[i]), b = ref_get(z[i]);
            assert_memory_equal(a.a, b.a, (size_t)(a.rows * a.cols) * sizeof *a.a);
            ref_free(a), ref_free(b);
        }
        wisp_state_free(kept);
        wisp_checkpoint_remove(k.c);
        wisp_checkpoint_free(k.c);
    }
    for (int i = 0; i < 2; i++) wisp_blk_free(y[i]), wisp_blk_free(z[i]);
    wisp_blk_free(x);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_matrices),     cmocka_unit_test(scales),
                                       cmocka_unit_test(tolerances_are_met),  cmocka_unit_test(other_ways),
                                       cmocka_unit_test(small_parts_outside), cmocka_unit_test(goes_on)};
    return REF_RUN_CTX(tests);
}
