/* wisp_solve on matrices of every storage, on arrays of the user's, on matrices from elsewhere, and on several ranks.
 */
#include "solve_cases.h"
#include "storage.h"

/* 25 iterations: not all of these matrices allow more, but what is said of them is true. */
static void storages(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_D, WISP_Z, WISP_S, WISP_C};
    const int64_t rows = ref_few() ? 300 : 450; /* the oracle is dense */
    for (int k = 0; k < storage_kinds; k++)
        for (int t = 0; t < 4 && !storage_kind[k].far; t++) {
            ref_rng r = {(uint64_t)k};
            wisp_src src = shape_src(&r, storage_kind[k].shape, types[t], storage_kind[k].few, rows, rows);
            linear l = {
                .t = {types[t], types[t]}, .A = ref_dense(&src), .mat = storage_make(ctx, &storage_kind[k], &src)};
            l.b = ref_random_block(&r, types[t], rows, 2), l.x0 = ref_new(rows, 2);
            ref_round(l.A, types[t]);
            l.hermitian = nearly_hermitian(l.A, types[t]);
            for (int m = WISP_CG; m < METHODS; m = ref_next_method(m)) {
                const wisp_solve_opts o = {.method = (wisp_method)m, .max_iterations = 25};
                if (!l.hermitian && (m == WISP_CG || m == WISP_MINRES)) continue;
                const outcome out = solve(ctx, &l, &o, storage_kind[k].name);
                if (is_refusal(out.status)) fail_msg("%s: %s", storage_kind[k].name, message_of(ctx));
                ref_free(out.x);
            }
            wisp_src_close(&src);
            linear_free(&l);
        }
}

static void borrowed(void **state)
{
    wisp_ctx *ctx = *state;
    if (ref_ranks() > 1 || ref_far(ctx)) return;
    ref_rng r = {12};
    enum { N = 30 };
    int64_t rowptr[N + 1];
    int32_t col[N * N];
    double val[N * N];
    linear l = random_linear(ctx, &r, DEFINITE, (ref_types){WISP_D, WISP_D}, N, 2);
    for (int i = 0; i <= N; i++) rowptr[i] = i * N;
    for (int i = 0; i < N * N; i++) col[i] = i % N, val[i] = creal(l.A.a[i]);
    const wisp_crs crs = {N, N, WISP_D, WISP_INT64, WISP_INT32, rowptr, col, val};
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_borrow_crs(&A, ctx, &crs));
    for (int m = 0; m < METHODS; m = ref_next_method(m))
        for (int p = 0; p < WISP_PRECOND_APPLY; p++) {
            const wisp_solve_opts o = {.method = (wisp_method)m, .precond = (wisp_precond)p};
            const outcome out = solve_by(ctx, &l, A, &o, "borrowed");
            if (out.status != WISP_OK) fail_msg("preconditioner %d: %s", p, message_of(ctx));
            ref_free(out.x);
        }
    wisp_mat_free(A);
    linear_free(&l);
}

/* ---- from elsewhere ------------------------------------------------------------------------------- */

/* ITERATIONS stands for what else may come of a method that gets nowhere. EITHER is that or OK: rounding decides. */
#define EITHER ((wisp_status)1000)
typedef struct {
    const char *name;
    wisp_solve_opts o;
    wisp_status status;
} expected;
static const expected known[] = {
    {"LFAT5", {0}, WISP_OK},
    {"LFAT5", {.precond = WISP_JACOBI}, WISP_OK},
    {"494_bus", {0}, WISP_OK},
    {"494_bus", {.method = WISP_CG, .precond = WISP_JACOBI}, WISP_OK},
    {"494_bus", {.method = WISP_MINRES, .precond = WISP_BLOCK_JACOBI}, WISP_OK},
    {"494_bus", {.method = WISP_CG, .precond = WISP_CHEBYSHEV}, WISP_OK},
    {"bcsstk13", {.method = WISP_CG, .precond = WISP_JACOBI}, WISP_OK},
    {"bcsstk13", {.method = WISP_CG, .max_iterations = 200}, WISP_ERR_ITERATIONS},
    {"jagmesh7", {0}, WISP_OK},
    {"cage5", {0}, WISP_OK},
    {"cage5", {.method = WISP_BICGSTAB}, WISP_OK},
    {"cage5", {.method = WISP_CG}, WISP_ERR_HERMITIAN},
    {"young1c", {.method = WISP_GMRES, .restart = 500}, WISP_OK},
    {"young1c", {.method = WISP_GMRES, .restart = 5, .max_iterations = 500}, WISP_ERR_ITERATIONS},
    {"west0479", {0}, WISP_ERR_ITERATIONS},
    {"west0479", {.method = WISP_BICGSTAB}, WISP_ERR_ITERATIONS},
    {"west0479", {.precond = WISP_JACOBI}, WISP_ERR_BREAKDOWN},
    {"olm1000", {0}, WISP_ERR_ITERATIONS},
    {"olm1000", {.precond = WISP_BLOCK_JACOBI}, WISP_ERR_ITERATIONS},
    {"LFAT5", {.method = WISP_BICGSTAB, .precond = WISP_JACOBI}, WISP_OK},
};

/* In single precision. Its entries reach over six orders of magnitude: what is nothing beside the largest is not so
   beside the others. Whether methods without a preconditioner get there is up to the rounding of their sums. */
static const expected known_in_single[] = {
    {"LFAT5", {.precond = WISP_JACOBI}, WISP_OK},
    {"LFAT5", {.method = WISP_CG}, EITHER},
    {"LFAT5", {.method = WISP_MINRES}, EITHER},
};

/* The rows of a file that a rank has. */
typedef struct {
    const wisp_src *src;
    int64_t first, end;
} own_rows;

static int own_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const own_rows *own = arg;
    return row < own->first || row >= own->end ? 0 : own->src->row(own->src->arg, row, col, val);
}

/* The rows of all ranks together. */
static ref_mat dense_of_file(wisp_ctx *ctx, const wisp_src *src)
{
    own_rows own = {.src = src};
    wisp_map *map;
    wisp_src part = *src;
    REF_OK(ctx, wisp_map_create(&map, ctx, src->rows));
    own.end = wisp_map_local(map, &own.first);
    own.end += own.first;
    wisp_map_free(map);
    part.row = own_row, part.arg = &own;
    ref_mat m = ref_dense(&part);
    REF_OK(ctx, wisp_ctx_sum(ctx, (double *)m.a, 2 * (size_t)(m.rows * m.cols)));
    return m;
}

/* In a type, or that of the file (0). */
static void solve_file(wisp_ctx *ctx, const expected *e, wisp_type type, uint64_t seed)
{
    char path[500];
    wisp_src src;
    ref_rng r = {seed};
    snprintf(path, sizeof path, "%s/%s.mtx", TEST_DATA, e->name);
    REF_OK(ctx, wisp_src_open(&src, ctx, path));
    if (ref_few() && src.rows > 600) { /* the dense ones to compare with take long */
        wisp_src_close(&src);
        return;
    }
    if (!type) type = src.type;
    linear l = {.t = {type, type}, .A = dense_of_file(ctx, &src)};
    ref_round(l.A, type);
    REF_OK(ctx, wisp_mat_create(&l.mat, ctx, &src, &(wisp_mat_opts){.type = type}));
    l.b = ref_random_block(&r, type, src.rows, 1), l.x0 = ref_new(src.rows, 1);
    l.hermitian = nearly_hermitian(l.A, type);
    const outcome out = solve(ctx, &l, &e->o, e->name);
    const int given_up =
        out.status == WISP_ERR_ITERATIONS || out.status == WISP_ERR_STAGNATION || out.status == WISP_ERR_BREAKDOWN;
    /* Whatever it is, solve() has proved it. */
    const int right = e->status == EITHER                ? given_up || out.status == WISP_OK
                      : e->status == WISP_ERR_ITERATIONS ? given_up
                                                         : out.status == e->status;
    if (!right)
        fail_msg("%s, %s, line %d: %s (%s)", e->name, wisp_type_name(type), (int)seed, wisp_status_string(out.status),
                 message_of(ctx));
    ref_free(out.x);
    wisp_src_close(&src);
    linear_free(&l);
}

static void from_elsewhere(void **state)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) solve_file(*state, &known[i], 0, i);
    for (size_t i = 0; i < sizeof known_in_single / sizeof *known_in_single; i++)
        solve_file(*state, &known_in_single[i], WISP_S, i);
}

/* ---- ranks ---------------------------------------------------------------------------------------- */

enum { SYSTEMS = 30 };
typedef struct {
    wisp_status status[SYSTEMS];
    ref_mat x[SYSTEMS];
    int alone;
} solutions;

static int solve_all(void *arg, int rank)
{
    solutions *s = arg;
    (void)rank;
    static const kind kinds[] = {DEFINITE, INDEFINITE, OPEN, CLOSED, GENERAL};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    for (int i = 0; i < SYSTEMS; i++) {
        ref_rng r = {(uint64_t)i};
        char what[80];
        const kind k = kinds[i % 5];
        const wisp_type type = i % 2 ? WISP_Z : WISP_D;
        linear l = random_linear(ctx, &r, k, (ref_types){type, type}, 20 + i, 1 + i % 3);
        const wisp_solve_opts o = {.method = k == GENERAL ? WISP_GMRES : WISP_METHOD_DEFAULT,
                                   .tolerance = 1e-11,
                                   .restart = 60,
                                   .precond = k == DEFINITE && i % 3 == 0 ? WISP_JACOBI : WISP_PRECOND_NONE};
        snprintf(what, sizeof what, "%s, system %d", kind_name[k], i);
        const outcome out = solve(ctx, &l, &o, what);
        if (s->alone) {
            s->status[i] = out.status;
            s->x[i] = out.x;
        } else {
            if (out.status != s->status[i])
                fail_msg("%s: %s, alone: %s", what, wisp_status_string(out.status), wisp_status_string(s->status[i]));
            if (k != CLOSED && k != OPEN) ref_assert_close(what, out.x, s->x[i], 1e-7); /* else there are many */
            ref_free(out.x);
        }
        linear_free(&l);
    }
    wisp_ctx_free(ctx);
    return 0;
}

static void ranks(void **state)
{
    (void)state;
    static const struct {
        int ranks;
        const char *weights;
    } way[] = {{2, ""}, {3, "2,0,1"}, {5, ""}};
    solutions s = {.alone = 1};
    if (ref_ranks() > 1) return;
    solve_all(&s, 0);
    s.alone = 0;
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* what fails on a thread of its own can't go back to where the tests began */
    for (size_t w = 0; w < sizeof way / sizeof *way; w++) {
        if (ref_few() && w != 1) continue; /* one of them has no rows */
        int result = 0;
        setenv("WISP_WEIGHTS", way[w].weights, 1);
        assert_int_equal(wisp_ranks_run(way[w].ranks, solve_all, &s, &result), WISP_OK);
        assert_int_equal(result, 0);
    }
    unsetenv("WISP_WEIGHTS");
    unsetenv("CMOCKA_TEST_ABORT");
    for (int i = 0; i < SYSTEMS; i++) ref_free(s.x[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storages), cmocka_unit_test(borrowed),
                                       cmocka_unit_test(from_elsewhere), cmocka_unit_test(ranks)};
    return REF_RUN_CTX(tests);
}
