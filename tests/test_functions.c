/* Functions of matrices times blocks: against eigenvectors by LAPACK and wisp_evolve, scales, bounds that do not hold,
   hostile functions, refusals, states. */
#include "kpm_dense.h"
#include <float.h>
#include <stdbool.h>
#include <unistd.h>

/* ---- functions ----------------------------------------------------------------------------------- */

enum { EXP, PHASE, FERMI, ROOT, SIGN, RESOLVENT, KINDS };
/* f((E - shift) / scale) times 2^exponent. */
typedef struct {
    int kind;
    double shift, scale;
    int exponent;
    int calls;
} member;

static cplx member_at(const member *m, double energy)
{
    const double e = (energy - m->shift) / m->scale;
    switch (m->kind) {
    case EXP: return exp(-1.5 * e);
    case PHASE: return cexp(-2 * I * e);
    case FERMI: return 1 / (1 + exp(8 * e));
    case ROOT: return sqrt(e + 16);
    case SIGN: return tanh(6 * e);
    default: return 1 / (e - 0.3 - 0.25 * I);
    }
}

static int value_of(void *arg, double energy, wisp_scalar *value)
{
    member *m = arg;
    m->calls++;
    const cplx f = member_at(m, energy);
    *value = (wisp_scalar){ldexp(creal(f), m->exponent), ldexp(cimag(f), m->exponent)};
    return 0;
}

static wisp_function as_function(member *m) { return (wisp_function){.value = value_of, .arg = m}; }

/* The largest |f| on bounds, but for 2^exponent. */
static double largest_on(const member *m, const wisp_bounds *b)
{
    double most = 0;
    for (int i = -4000; i <= 4000; i++) most = fmax(most, cabs(member_at(m, b->center + b->halfwidth * i / 4000)));
    return most;
}

/* ---- by eigenvectors ------------------------------------------------------------------------------ */

/* As the real matrix [Re H, -Im H; Im H, Re H] (see eigenvalues()). */
typedef struct {
    int64_t n;
    double *q, *E;
} spectrum;

static spectrum spectrum_of(ref_mat H)
{
    const int64_t n = H.rows, size = 2 * n;
    spectrum s = {n, ref_lapack((size_t)(size * size), size), ref_lapack((size_t)size, size)};
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++) {
            const cplx v = REF_AT(H, i % n, j % n);
            s.q[j * size + i] = i / n == j / n ? creal(v) : i < n ? -cimag(v) : cimag(v);
        }
    assert_int_equal(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', (int)size, s.q, (int)size, s.E), 0);
    return s;
}

static void spectrum_free(spectrum s)
{
    free(s.q);
    free(s.E);
}

/* f(H) x, but for 2^exponent; energies are those of H times 2^up. */
static ref_mat apply(const spectrum *s, const member *m, int up, ref_mat x)
{
    const int64_t n = s->n, size = 2 * n;
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

static wisp_blk *block(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width)
{
    wisp_blk *b;
    REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), type, width));
    return b;
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
            const spectrum s = spectrum_of(H);
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
            spectrum_free(s);
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
            const spectrum s = spectrum_of(H);
            ref_mat got = ref_get(y), want = apply(&s, &m, cases[c].matrix, start);
            for (int64_t i = 0; i < ROWS * WIDTH; i++) {
                const int down = -cases[c].block - cases[c].function;
                got.a[i] = ldexp(creal(got.a[i]), down) + I * ldexp(cimag(got.a[i]), down);
            }
            const double error = off_by(got, want, start, largest_on(&m, &e.bounds));
            if (!(error <= (is_single(type) ? 1e-4 : 1e-10)))
                fail_msg("case %d, function %d: off by %g", (int)c, kind, error);
            ref_free(got), ref_free(want);
            spectrum_free(s);
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
            for (double cut = 1e-3; cut < 0.4; cut *= 3)
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
                        const spectrum s = spectrum_of(H);
                        ref_mat should = apply(&s, &m, 0, start), is = ref_get(y);
                        const double error = off_by(is, should, start, largest_on(&m, &b));
                        if (!(error <= 5 * tolerance))
                            fail_msg("function %d, coupling %g, cut %g, sharpness %g: off by %g, and nobody says so",
                                     kind, coupling, cut, sharp, error);
                        ref_free(should), ref_free(is);
                        spectrum_free(s);
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

/* Each allocation fails once: a clean error, and nothing is lost. */
static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* they share the environment; tests/test_ranks.c has it */
    int failures = 0;
    for (int at = 1; at < 200; at++) {
        char text[16];
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        wisp_ctx *ctx;
        wisp_mat *A = NULL;
        wisp_blk *x = NULL;
        member m = {.kind = FERMI, .scale = 0.01};
        const wisp_function f = as_function(&m);
        if (wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}) != WISP_OK) continue;
        wisp_status status = wisp_mat_open(&A, ctx, "graphene:nx=6,ny=6", NULL);
        if (status == WISP_OK) status = wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2);
        if (status == WISP_OK) status = wisp_blk_fill(x, (wisp_scalar){1, 0});
        if (status == WISP_OK) status = wisp_chebyshev_apply(NULL, &x, A, x, 1, &f, NULL);
        if (status != WISP_OK) {
            assert_int_equal(status, WISP_ERR_NOMEM);
            failures++;
        }
        wisp_blk_free(x);
        wisp_mat_free(A);
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(failures > 20);
}

static int setup(void **state)
{
    *state = ref_isa_ctx(NULL, 2);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_matrices),
                                       cmocka_unit_test(scales),
                                       cmocka_unit_test(tolerances_are_met),
                                       cmocka_unit_test(other_ways),
                                       cmocka_unit_test(small_parts_outside),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(matrices),
                                       cmocka_unit_test(one_rank),
                                       cmocka_unit_test(goes_on),
                                       cmocka_unit_test(cancelled),
                                       cmocka_unit_test(cancelled_before),
                                       cmocka_unit_test(short_series),
                                       cmocka_unit_test(failing_memory)};
    return REF_RUN_WITH(tests, setup, free_ctx);
}
