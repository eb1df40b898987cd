/* Singular systems with a null space that is given: x against LAPACK's solution of least length and least residual, of
   all methods, preconditioners, types and widths; what b has in there is told; what is no null space is refused;
   solvers that are kept, states, far scales, memory. */
#include "diffusion.h"
#include "ref_lapack.h"
#include <stdio.h>

/* ---- matrices ------------------------------------------------------------------------------------ */

/* GRAPH: Laplacians of weighted graphs in some parts. PHASES: the same between phases. INDEFINITE: Hermitian, some
   eigenvalues 0. DIRECTED: rows sum to 0, and columns do not. BALANCED: both do. */
typedef enum { GRAPH, PHASES, INDEFINITE, DIRECTED, BALANCED, KINDS } kind;
typedef struct {
    ref_mat A, null; /* vectors that are not orthogonal */
} singular;

static void add_edge(ref_mat A, int64_t i, int64_t j, double weight, int both)
{
    REF_AT(A, i, j) -= weight, REF_AT(A, i, i) += weight;
    if (both) REF_AT(A, j, i) -= weight, REF_AT(A, j, j) += weight;
}

/* Numbers that all types hold exactly. A part is a ring with some edges across it. */
static singular make_graph(ref_rng *r, kind k, int64_t n, int parts)
{
    singular s = {ref_new(n, n), ref_new(n, parts)};
    static const cplx phase[] = {1, I, -1, -I};
    for (int p = 0; p < parts; p++) {
        const int64_t first = n * p / parts, size = n * (p + 1) / parts - first;
        for (int64_t i = 0; i < size; i++) {
            REF_AT(s.null, first + i, p) = 1;
            if (size > 1)
                add_edge(s.A, first + i, first + (i + 1) % size, k == BALANCED ? 2 : (double)(1 + ref_below(r, 4)),
                         k <= PHASES);
            const int64_t from = ref_below(r, size), to = ref_below(r, size);
            if (from != to && k != BALANCED) add_edge(s.A, first + from, first + to, 1, k <= PHASES);
        }
        /* A directed ring of its own, of steps of two. */
        for (int64_t i = 0; i < size && size > 3 && k == BALANCED; i++)
            add_edge(s.A, first + i, first + (i + 2) % size, 1, 0);
    }
    for (int64_t i = 0; i < n && k == PHASES; i++) {
        const cplx f = phase[ref_below(r, 4)];
        for (int64_t j = 0; j < n; j++) REF_AT(s.A, i, j) *= f, REF_AT(s.A, j, i) *= conj(f);
        for (int p = 0; p < parts; p++) REF_AT(s.null, i, p) *= f;
    }
    return s;
}

/* A combination of the vectors: the same span. */
static void mix_null(ref_rng *r, ref_mat null, wisp_type type)
{
    for (int64_t p = 1; p < null.cols; p++)
        for (int64_t q = 0; q < p; q++) {
            const cplx f = ref_value(r, type);
            for (int64_t i = 0; i < null.rows; i++) REF_AT(null, i, p) += f * REF_AT(null, i, q);
        }
}

/* Q D Q^H by reflections, with 0 in the first places of D. */
static singular make_indefinite(ref_rng *r, wisp_type type, int64_t n, int zeros)
{
    singular s = {ref_new(n, n), ref_new(n, zeros)};
    for (int64_t i = 0; i < n; i++) REF_AT(s.A, i, i) = i < zeros ? 0 : (i % 2 ? 1 : -1) * (1 + 3 * ref_uniform(r));
    for (int p = 0; p < zeros; p++) REF_AT(s.null, p, p) = 1;
    for (int k = 0; k < 3; k++) {
        ref_mat v = ref_random_block(r, type, n, 1);
        double square = 0;
        for (int64_t i = 0; i < n; i++) square += pow(cabs(v.a[i]), 2);
        for (int side = 0; side < 3; side++) {
            ref_mat m = side < 2 ? s.A : s.null;
            for (int64_t c = 0; c < (side == 1 ? n : m.cols); c++) { /* m H for side 1, H m else */
                cplx dot = 0;
                for (int64_t i = 0; i < n; i++)
                    dot += side == 1 ? REF_AT(m, c, i) * v.a[i] : conj(v.a[i]) * REF_AT(m, i, c);
                dot *= 2 / square;
                for (int64_t i = 0; i < n; i++)
                    *(side == 1 ? &REF_AT(m, c, i) : &REF_AT(m, i, c)) -= side == 1 ? dot * conj(v.a[i]) : v.a[i] * dot;
            }
        }
        ref_free(v);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const cplx mean = (REF_AT(s.A, i, j) + conj(REF_AT(s.A, j, i))) / 2;
            REF_AT(s.A, i, j) = mean, REF_AT(s.A, j, i) = conj(mean);
        }
    return s;
}

static singular make_singular(ref_rng *r, kind k, wisp_type type, int64_t n, int parts)
{
    singular s = k == INDEFINITE ? make_indefinite(r, type, n, parts) : make_graph(r, k, n, parts);
    mix_null(r, s.null, k == INDEFINITE || k == PHASES ? type : WISP_D);
    return s;
}

/* ---- the solution -------------------------------------------------------------------------------- */

/* Of least residual, and of those the shortest. */
static ref_mat least_squares(ref_mat A, ref_mat b)
{
    const int64_t n = A.rows, w = b.cols;
    double *a = ref_lapack((size_t)(2 * n * n), n), *x = ref_lapack((size_t)(2 * n * w), n);
    double *s = ref_lapack((size_t)n, n);
    ref_mat sol = ref_new(n, w);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) ((cplx *)a)[j * n + i] = REF_AT(A, i, j);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < w; j++) ((cplx *)x)[j * n + i] = REF_AT(b, i, j);
    ref_zgelsd((int)n, (int)n, (int)w, (lapack_complex_double *)a, (lapack_complex_double *)x, (int)n, s, 1e-9);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < w; j++) REF_AT(sol, i, j) = ((cplx *)x)[j * n + i];
    free(a), free(x), free(s);
    return sol;
}

static double length(ref_mat m, int64_t j)
{
    double square = 0;
    for (int64_t i = 0; i < m.rows; i++) square += pow(cabs(REF_AT(m, i, j)), 2);
    return sqrt(square);
}

static void assert_solution(ref_mat got, ref_mat want, double most, const char *what)
{
    for (int64_t j = 0; j < got.cols; j++) {
        double square = 0;
        for (int64_t i = 0; i < got.rows; i++) square += pow(cabs(REF_AT(got, i, j) - REF_AT(want, i, j)), 2);
        if (!(sqrt(square) <= most * length(want, j)))
            fail_msg("%s: column %d is off by %.2g of %.2g", what, (int)j, sqrt(square), length(want, j));
    }
}

static const char *const kind_name[] = {"graph", "phases", "indefinite", "directed", "balanced"};

/* With b in the range of A where A^H makes something of the vectors. */
static void check(wisp_ctx *ctx, uint64_t seed, kind k, const wisp_solve_opts *given, ref_types t, int width)
{
    ref_rng r = {seed * 6364136223846793005u + 99};
    const int parts = 1 + (int)ref_below(&r, 3);
    const int64_t n = 3 * parts + 2 + ref_below(&r, 40);
    singular s = make_singular(&r, k, t.mat, n, parts);
    ref_mat b = ref_random_block(&r, t.blk, n, width);
    if (k == DIRECTED) {
        ref_mat range = ref_times(s.A, b);
        ref_free(b);
        b = range;
        ref_round(b, t.blk);
    }
    ref_mat want = least_squares(s.A, b), Ax = ref_times(s.A, want);
    double part = 0;
    for (int64_t j = 0; j < width; j++) {
        double square = 0;
        for (int64_t i = 0; i < n; i++) square += pow(cabs(REF_AT(b, i, j) - REF_AT(Ax, i, j)), 2);
        part = fmax(part, length(b, j) > 0 ? sqrt(square) / length(b, j) : 0);
    }
    wisp_mat *A = ref_mat_of(ctx, s.A, t.mat);
    wisp_blk *x = blk_of(ctx, A, t.blk, b), *y = blk_of(ctx, A, t.blk, b), *null = blk_of(ctx, A, t.blk, s.null);
    wisp_solve_opts o = *given;
    wisp_solution sol;
    char what[160];
    const bool is_single = wisp__is_single(t.blk);
    o.null = null;
    o.tolerance = is_single ? 2e-5 : 1e-10;
    o.max_iterations = 4000;
    snprintf(what, sizeof what, "seed %d, %s, method %d, precond %d, %s and %s, %d rows, %d parts", (int)seed,
             kind_name[k], (int)o.method, (int)o.precond, wisp_type_name(t.mat), wisp_type_name(t.blk), (int)n, parts);
    const wisp_status status = wisp_solve(&sol, x, A, y, &o);
    if (status != WISP_OK) fail_msg("%s: %s", what, message_of(ctx));
    if (!(fabs(sol.null_part - (k == DIRECTED ? 0 : part)) <= (is_single ? 1e-4 : 1e-7)))
        fail_msg("%s: null_part is %g, should be %g", what, sol.null_part, part);
    ref_mat got = ref_get(x), left = ref_get(y);
    assert_memory_equal(left.a, b.a, (size_t)(n * width) * sizeof *b.a);
    assert_solution(got, want, is_single ? 0.02 : 1e-5, what);
    wisp_solution_free(&sol);
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(null);
    wisp_mat_free(A);
    ref_free(s.A), ref_free(s.null), ref_free(b), ref_free(want), ref_free(Ax), ref_free(got), ref_free(left);
}

static void solutions(void **state)
{
    wisp_ctx *ctx = *state;
    static const int widths[] = {1, 3, 5, 33};
    static const wisp_precond preconds[] = {
        WISP_PRECOND_NONE, WISP_JACOBI, WISP_BLOCK_JACOBI, WISP_CHEBYSHEV, WISP_NEUMANN, WISP_ILU, WISP_IC};
    enum { PRECONDS = sizeof preconds / sizeof *preconds };
    uint64_t seed = 0;
    for (int k = 0; k < KINDS; k++)
        for (int m = WISP_METHOD_DEFAULT; m <= WISP_IDR; m = ref_next_method(m))
            for (int p = 0; p < PRECONDS; p++)
                for (int again = 0; again < (ref_few() ? 1 : 4); again++) {
                    const ref_types t = ref_pair[++seed % REF_PAIRS];
                    const bool hermitian = k <= INDEFINITE,
                               is_single = wisp__is_single(t.mat) || wisp__is_single(t.blk);
                    if ((!hermitian && (m == WISP_CG || m == WISP_MINRES)) || (k == INDEFINITE && (p > 0 || m < 2)))
                        continue;
                    if (!hermitian && (preconds[p] == WISP_IC || preconds[p] == WISP_CHEBYSHEV)) continue;
                    if (k == PHASES && !wisp_type_is_complex(t.mat)) continue;
                    if (k == INDEFINITE && (is_single || m == WISP_BICGSTAB)) continue;
                    if (k == INDEFINITE && wisp_type_is_complex(t.blk) != wisp_type_is_complex(t.mat)) continue;
                    const wisp_solve_opts o = {.method = (wisp_method)m,
                                               .precond = preconds[p],
                                               .block_rows = 1 + (int)(seed % 19), /* also whole parts */
                                               .variant = again == 1                   ? WISP_CLASSICAL
                                                          : again == 2 && m == WISP_CG ? WISP_HIDDEN
                                                                                       : WISP_VARIANT_DEFAULT,
                                               .restart = 60};
                    check(ctx, seed, (kind)k, &o, t, widths[seed % 4]);
                }
}

static void multigrid(void **state)
{
    wisp_ctx *ctx = *state;
    if (!strstr(wisp_features(), "hypre") || ref_ranks() > 1) return;
    if (REF_SANITIZED) return; /* MPI, which HYPRE needs, keeps memory: the other tests here are to tell of leaks */
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const wisp_solve_opts o = {.precond = WISP_AMG, .method = seed % 3 ? WISP_CG : WISP_GMRES, .restart = 60};
        check(ctx, seed, GRAPH, &o, (ref_types){WISP_D, seed % 2 ? WISP_D : WISP_Z}, 1 + (int)(seed % 3));
    }
}

/* ---- around it ----------------------------------------------------------------------------------- */

/* b all in the null space, b = 0, b far from 1, and a guess that is far from the shortest. */
static void right_sides(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {11};
    singular s = make_graph(&r, GRAPH, 24, 2);
    wisp_mat *A = ref_mat_of(ctx, s.A, WISP_D);
    ref_mat b = ref_random_block(&r, WISP_D, 24, 5), guess = ref_random_block(&r, WISP_D, 24, 5);
    static const double unit[] = {1, 1e-300, 1e300, 1, 1};
    for (int64_t i = 0; i < 24; i++) {
        REF_AT(b, i, 3) = i < 12 ? 3 : -7;
        REF_AT(b, i, 4) = 0;
    }
    ref_mat want = least_squares(s.A, b);
    for (int64_t i = 0; i < 24; i++)
        for (int j = 0; j < 5; j++) REF_AT(b, i, j) *= unit[j], REF_AT(guess, i, j) = 50 * unit[j];
    wisp_blk *x = blk_of(ctx, A, WISP_D, guess), *y = blk_of(ctx, A, WISP_D, b), *null = blk_of(ctx, A, WISP_D, s.null);
    for (int m = WISP_CG; m <= WISP_IDR; m = ref_next_method(m)) {
        const wisp_solve_opts o = {.method = (wisp_method)m, .null = null, .guess = 1, .tolerance = 1e-10};
        wisp_solution sol;
        ref_put(x, guess);
        REF_OK(ctx, wisp_solve(&sol, x, A, y, &o));
        assert_true(fabs(sol.null_part - 1) < 1e-14);
        ref_mat got = ref_get(x);
        for (int64_t i = 0; i < 24; i++) {
            for (int j = 0; j < 3; j++) assert_true(cabs(REF_AT(got, i, j) / unit[j] - REF_AT(want, i, j)) < 1e-8);
            assert_true(REF_AT(got, i, 3) == 0 && REF_AT(got, i, 4) == 0);
        }
        ref_free(got);
        wisp_solution_free(&sol);
    }
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(null);
    wisp_mat_free(A);
    ref_free(s.A), ref_free(s.null), ref_free(b), ref_free(want), ref_free(guess);
}

/* Blocks that the null space leaves without an inverse: single rows, parts of any size, one inside a block, vectors
   that are mixed, phases. M^-1 is the inverse of each block beside its null vectors; without them it is refused. */
static void blocks(void **state)
{
    wisp_ctx *ctx = *state;
    static const int sizes[] = {1, 2, 5, 4, 1, 3}, first[] = {0, 1, 3, 8, 12, 13};
    enum { N = 16, PARTS = 6 };
    if (ref_ranks() > 1) return; /* rows of a rank end blocks */
    for (int rows = 1; rows <= N; rows++)
        for (int t = 0; t < 4; t++) {
            static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
            static const cplx phase[] = {1, I, -1, -I};
            const bool pairs = wisp_type_is_complex(types[t]);
            ref_rng r = {(uint64_t)(rows * 4 + t)};
            ref_mat m = ref_new(N, N), null = ref_new(N, PARTS), b = ref_random_block(&r, types[t], N, 3);
            for (int p = 0; p < PARTS; p++)
                for (int i = first[p]; i < first[p] + sizes[p]; i++) {
                    REF_AT(null, i, p) = 1;
                    for (int j = first[p]; j < i; j++) add_edge(m, i, j, (double)(1 + ref_below(&r, 3)), 1);
                }
            for (int i = 0; i < N && pairs; i++) {
                const cplx f = phase[i % 4];
                for (int j = 0; j < N; j++) REF_AT(m, i, j) *= f, REF_AT(m, j, i) *= conj(f);
                for (int p = 0; p < PARTS; p++) REF_AT(null, i, p) *= f;
            }
            mix_null(&r, null, types[t]);
            wisp_mat *A = ref_mat_of(ctx, m, types[t]);
            wisp_blk *x = blk_of(ctx, A, types[t], b), *y = blk_of(ctx, A, types[t], b);
            wisp_blk *q = blk_of(ctx, A, types[t], null);
            ref_mat want = least_squares(m, b);
            const double most = wisp__is_single(types[t]) ? 1e-3 : 1e-9;
            for (int method = WISP_CG; method <= WISP_IDR; method = ref_next_method(method)) {
                wisp_solve_opts o = {.method = (wisp_method)method,
                                     .precond = rows == 1 && t % 2 ? WISP_JACOBI : WISP_BLOCK_JACOBI,
                                     .block_rows = rows,
                                     .null = q,
                                     .tolerance = most / 1e3};
                REF_OK(ctx, wisp_solve(NULL, x, A, y, &o));
                ref_mat got = ref_get(x);
                assert_solution(got, want, most, "blocks");
                ref_free(got);
                o.null =
                    NULL; /* row 0 is alone; with rows 1 and 2, which are a part, it is a block without an inverse */
                REF_FAILS(ctx, wisp_solve(NULL, x, A, y, &o), WISP_ERR_BREAKDOWN, "arithmetic: take");
            }
            wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(q);
            wisp_mat_free(A);
            ref_free(m), ref_free(null), ref_free(b), ref_free(want);
        }
}

/* One that the vectors do not explain: (1, -1) in the first two rows, beside the constant. */
static void unexplained(void **state)
{
    wisp_ctx *ctx = *state;
    ref_mat m = ref_new(6, 6), ones = ref_new(6, 1);
    for (int i = 0; i < 6; i++) REF_AT(ones, i, 0) = 1;
    add_edge(m, 0, 1, -1, 1), add_edge(m, 0, 2, 2, 1), add_edge(m, 1, 3, 2, 1);
    add_edge(m, 2, 4, 1, 1), add_edge(m, 3, 5, 1, 1);
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_blk *x = blk_of(ctx, A, WISP_D, ones), *q = blk_of(ctx, A, WISP_D, ones);
    const wisp_solve_opts o = {
        .method = WISP_GMRES, .precond = WISP_BLOCK_JACOBI, .block_rows = 2, .null = q, .guess = 1};
    if (ref_ranks() == 1)
        REF_FAILS(ctx, wisp_solve(NULL, x, A, q, &o), WISP_ERR_BREAKDOWN,
                  "rows 0 to 1 is singular in double arithmetic, which opts.null does not explain");
    wisp_blk_free(x), wisp_blk_free(q);
    wisp_mat_free(A);
    ref_free(m), ref_free(ones);
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {5};
    singular s = make_graph(&r, GRAPH, 20, 1);
    wisp_mat *A = ref_mat_of(ctx, s.A, WISP_D), *B = ref_mat_of(ctx, s.A, WISP_D);
    ref_mat none = ref_new(20, 1), twice = ref_new(20, 2), nan = ref_new(20, 1),
            other = ref_random_block(&r, WISP_D, 20, 1);
    for (int64_t i = 0; i < 20; i++) REF_AT(twice, i, 0) = 1, REF_AT(twice, i, 1) = -3, nan.a[i] = i == 3 ? NAN : 1;
    wisp_blk *x = blk_of(ctx, A, WISP_D, other), *b = blk_of(ctx, A, WISP_D, other);
    const struct {
        wisp_blk *null;
        wisp_status status;
        const char *words;
    } cases[] = {{blk_of(ctx, A, WISP_D, none), WISP_ERR_ARG, "column 0 of opts.null is 0"},
                 {blk_of(ctx, A, WISP_D, twice), WISP_ERR_ARG, "column 1 of opts.null is a combination"},
                 {blk_of(ctx, A, WISP_D, nan), WISP_ERR_ARG, "NaN"},
                 {blk_of(ctx, A, WISP_D, other), WISP_ERR_ARG, "is not in the null space"},
                 {blk_of(ctx, A, WISP_Z, none), WISP_ERR_MISMATCH, "of the type of b, double"},
                 {blk_of(ctx, B, WISP_D, none), WISP_ERR_MISMATCH, "on the matrix's map"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        REF_FAILS(ctx, wisp_solve(NULL, x, A, b, &(wisp_solve_opts){.null = cases[i].null}), cases[i].status,
                  cases[i].words);
        ref_mat left = ref_get(x);
        assert_memory_equal(left.a, other.a, 20 * sizeof *left.a);
        ref_free(left);
        wisp_blk_free(cases[i].null);
    }
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A), wisp_mat_free(B);
    ref_free(s.A), ref_free(s.null), ref_free(none), ref_free(twice), ref_free(nan), ref_free(other);
}

/* A chain that leaks to the ground at one end, beside a bond that is far stronger: it is regular, and what it makes of
   the constant is small only beside that bond. */
static void leak(void **state)
{
    wisp_ctx *ctx = *state;
    enum { N = 10 };
    ref_mat m = ref_new(N, N), ones = ref_new(N, 1);
    for (int64_t i = 0; i + 1 < N; i++) {
        const double weight = i == 4 ? 1e11 : 1;
        REF_AT(m, i, i) += weight, REF_AT(m, i + 1, i + 1) += weight;
        REF_AT(m, i, i + 1) = REF_AT(m, i + 1, i) = -weight;
    }
    REF_AT(m, 0, 0) += 1;
    for (int64_t i = 0; i < N; i++) REF_AT(ones, i, 0) = 1;
    wisp_mat *A = ref_mat_of(ctx, m, WISP_D);
    wisp_blk *b = blk_of(ctx, A, WISP_D, ones), *x = blk_of(ctx, A, WISP_D, ones);
    REF_FAILS(ctx, wisp_solve(NULL, x, A, b, &(wisp_solve_opts){.null = b}), WISP_ERR_ARG, "is not in the null space");
    wisp_blk_free(x), wisp_blk_free(b);
    wisp_mat_free(A);
    ref_free(m), ref_free(ones);
}

/* A solver that is kept does what a new one does, also with new values, of which the vectors are checked anew; and it
   holds no more than was planned. */
static void kept(void **state)
{
    wisp_ctx *ctx = *state;
    for (int p = 0; p <= WISP_IC; p++) {
        if (p == WISP_PRECOND_APPLY || p == WISP_AMG) continue;
        ref_rng r = {(uint64_t)p + 7};
        singular s = make_graph(&r, GRAPH, 60, 2);
        wisp_mat *A = ref_mat_of(ctx, s.A, WISP_D);
        wisp_mat_info info;
        wisp_blk *null = blk_of(ctx, A, WISP_D, s.null);
        const wisp_solve_opts o = {.precond = (wisp_precond)p, .null = null, .block_rows = 30, .max_iterations = 2000};
        wisp_plan plan;
        wisp_solver *S;
        int64_t before, now;
        wisp_mat_get_info(A, &info);
        REF_OK(ctx, wisp_solve_plan(&plan, ctx, &info, WISP_D, 3, &o, NULL));
        wisp_ctx_memory(ctx, &before, NULL);
        REF_OK(ctx, wisp_solver_create(&S, A, WISP_D, 3, &o));
        for (int call = 0; call < 4; call++) {
            ref_mat b = ref_random_block(&r, WISP_D, 60, 3);
            if (call == 2) {
                for (int64_t i = 0; i < 60 * 60; i++) s.A.a[i] *= 3;
                wisp_src other = ref_dense_src(s.A, WISP_D);
                REF_OK(ctx, wisp_mat_update(A, &other));
                wisp_src_close(&other);
                wisp_solver_update(S);
            }
            if (call == 0) wisp_ctx_memory(ctx, &before, NULL);
            wisp_blk *x = blk_of(ctx, A, WISP_D, b), *z = blk_of(ctx, A, WISP_D, b), *y = blk_of(ctx, A, WISP_D, b);
            int64_t three;
            wisp_ctx_memory(ctx, &three, NULL);
            if (call == 0) before = three;
            REF_OK(ctx, wisp_solver_solve(S, NULL, x, y, 0));
            wisp_ctx_memory(ctx, &now, NULL);
            if (call == 0 && now - before > plan.bytes)
                fail_msg("%lld bytes are held, %lld were told", (long long)(now - before), (long long)plan.bytes);
            REF_OK(ctx, wisp_solve(NULL, z, A, y, &o));
            ref_mat got = ref_get(x), fresh = ref_get(z);
            assert_memory_equal(got.a, fresh.a, 180 * sizeof *got.a);
            wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(z);
            ref_free(b), ref_free(got), ref_free(fresh);
        }
        wisp_solver_free(S);
        wisp_blk_free(null);
        wisp_mat_free(A);
        ref_free(s.A), ref_free(s.null);
    }
}

/* An operator has no entries: what it makes of random vectors says how large it is. */
static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {3};
    singular s = make_graph(&r, GRAPH, 40, 2);
    ref_mat b = ref_random_block(&r, WISP_D, 40, 2), want = least_squares(s.A, b);
    wisp_mat *A = ref_mat_of(ctx, s.A, WISP_D), *O;
    function f = {.A = A};
    const wisp_operator op = {.map = wisp_mat_map(A), .type = WISP_D, .apply = product, .arg = &f};
    REF_OK(ctx, wisp_mat_from_apply(&O, ctx, &op));
    wisp_blk *x = blk_of(ctx, A, WISP_D, b), *y = blk_of(ctx, A, WISP_D, b), *null = blk_of(ctx, A, WISP_D, s.null);
    for (int m = WISP_METHOD_DEFAULT; m <= WISP_IDR; m = ref_next_method(m)) {
        REF_OK(ctx, wisp_solve(
                        NULL, x, O, y,
                        &(wisp_solve_opts){.method = (wisp_method)m, .null = null, .tolerance = 1e-10, .restart = 40}));
        ref_mat got = ref_get(x);
        assert_solution(got, want, 1e-6, "operator");
        ref_free(got);
    }
    wisp_blk_free(x), wisp_blk_free(y), wisp_blk_free(null);
    wisp_mat_free(O), wisp_mat_free(A);
    ref_free(s.A), ref_free(s.null), ref_free(b), ref_free(want);
}

static wisp_status all_of_it(wisp_ctx *ctx, void *arg)
{
    wisp_mat *A = NULL;
    wisp_blk *x = NULL, *b = NULL, *null = NULL;
    wisp_status status;
    const wisp_src *src = arg;
    WISP_TRY(wisp_mat_create(&A, ctx, src, NULL));
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 2));
    WISP_TRY(wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 2));
    WISP_TRY(wisp_blk_create(&null, ctx, wisp_mat_map(A), WISP_D, 1));
    WISP_TRY(wisp_blk_fill(null, (wisp_scalar){1, 0}));
    WISP_TRY(wisp_blk_fill_random(b, WISP_RANDOM_GAUSS, 1, 0, 0));
    status = wisp_solve(NULL, x, A, b, &(wisp_solve_opts){.precond = WISP_JACOBI, .null = null});
out:
    wisp_blk_free(x), wisp_blk_free(b), wisp_blk_free(null);
    wisp_mat_free(A);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return;
    ref_rng r = {8};
    singular s = make_graph(&r, GRAPH, 30, 1);
    wisp_src src = ref_dense_src(s.A, WISP_D);
    assert_true(ref_failing_memory(all_of_it, &src, 300, 80) > 60); /* some do without: the matrix is stored plainly */
    wisp_src_close(&src);
    ref_free(s.A), ref_free(s.null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions),   cmocka_unit_test(multigrid),
                                       cmocka_unit_test(right_sides), cmocka_unit_test(refusals),
                                       cmocka_unit_test(blocks),      cmocka_unit_test(unexplained),
                                       cmocka_unit_test(leak),        cmocka_unit_test(kept),
                                       cmocka_unit_test(operators),   cmocka_unit_test(failing_memory)};
    return REF_RUN_CTX(tests);
}
