/* Linear systems: whatever is said of a solution holds by naive arithmetic; iterations, passes and reductions; columns
   that end at different times. */
#include "solve_random.h"

static void random_systems(void **state)
{
    wisp_ctx *ctx = *state;
    tally t = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) random_case(ctx, seed, &t);
    if (wisp_ctx_rank(ctx) == 0) print_tally(&t);
    assert_true(t.should > 20 && t.did == t.should);
}

/* ---- iterations ----------------------------------------------------------------------------------- */

static const struct {
    wisp_method method;
    wisp_variant variant;
} pairs[] = {{WISP_CG, WISP_PIPELINED},       {WISP_CG, WISP_PREDICT},      {WISP_CG, WISP_HIDDEN},
             {WISP_BICGSTAB, WISP_PIPELINED}, {WISP_GMRES, WISP_PIPELINED}, {WISP_MINRES, WISP_PIPELINED},
             {WISP_IDR, WISP_PIPELINED}};
enum { VARIANTS = sizeof pairs / sizeof *pairs };

static wisp_solve_opts variant_options(size_t i, int classical)
{
    return (wisp_solve_opts){.method = pairs[i].method,
                             .variant = classical ? WISP_CLASSICAL : pairs[i].variant,
                             .tolerance = 1e-8,
                             .restart = 100,
                             .max_iterations = 2000};
}

/* Fails unless both are as many, but for 5% or 2. Of BiCGStab and IDR any rounding makes a difference, as 3 b for b
 * does. */
static void check_apart(wisp_ctx *ctx, size_t i, const int64_t n[2], const char *what)
{
    const double sensitive = wisp_ctx_look_every(ctx) > 1 ? 0.3 : 0.15; /* residuals are replaced elsewhere */
    const int is_sensitive = pairs[i].method == WISP_BICGSTAB || pairs[i].method == WISP_IDR;
    const double apart = fabs((double)(n[0] - n[1])), part = is_sensitive ? sensitive : 0.05;
    if (apart > 2 && apart > part * (double)n[1])
        fail_msg("%s: %s, variant %d: %lld iterations; classical: %lld", what, method_name[pairs[i].method],
                 (int)pairs[i].variant, (long long)n[0], (long long)n[1]);
}

/* Of a condition up to 100: in small systems that need more iterations than they have rows, rounding counts. */
static void variants(void **state)
{
    wisp_ctx *ctx = *state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ref_rng r = {seed};
        char what[40];
        const wisp_type type = seed % 2 ? WISP_D : WISP_Z;
        ref_mat A = spread(&r, 20 + ref_below(&r, 41), pow(10, (double)seed / 10), 0);
        mix(&r, A, type, 1);
        linear l = linear_of(ctx, A, (ref_types){type, type}, ref_random_block(&r, type, A.rows, 1));
        snprintf(what, sizeof what, "seed %d", (int)seed);
        for (size_t i = 0; i < VARIANTS; i++) {
            int64_t n[2];
            for (int classical = 0; classical < 2; classical++) {
                const wisp_solve_opts o = variant_options(i, classical);
                const outcome out = solve(ctx, &l, &o, what);
                assert_int_equal(out.status, WISP_OK);
                n[classical] = out.iterations[0];
                ref_free(out.x);
            }
            check_apart(ctx, i, n, what);
        }
        linear_free(&l);
    }
}

/* Larger ones, of a condition up to 400. */
static void variants_of_lattices(void **state)
{
    wisp_ctx *ctx = *state;
    static const char *const spec[] = {"laplace:nx=15,ny=14,nz=13", "laplace:nx=30,ny=29,nz=28"};
    const size_t lattices = ref_few() ? 1 : sizeof spec / sizeof *spec;
    for (size_t k = 0; k < lattices; k++) {
        wisp_mat *A;
        wisp_blk *x, *b;
        REF_OK(ctx, wisp_mat_open(&A, ctx, spec[k], NULL));
        REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
        ref_rng r = {k};
        ref_mat v = ref_random_block(&r, WISP_D, wisp_map_rows(wisp_mat_map(A)), 1);
        ref_put(b, v);
        for (size_t i = 0; i < VARIANTS; i++) {
            int64_t n[2];
            for (int classical = 0; classical < 2; classical++) {
                const wisp_solve_opts o = variant_options(i, classical);
                wisp_solution s;
                REF_OK(ctx, wisp_solve(&s, x, A, b, &o));
                n[classical] = s.iterations;
                wisp_solution_free(&s);
            }
            check_apart(ctx, i, n, spec[k]);
        }
        ref_free(v);
        wisp_blk_free(x);
        wisp_blk_free(b);
        wisp_mat_free(A);
    }
}

/* ---- passes and reductions ------------------------------------------------------------------------- */

typedef struct {
    int64_t passes, products, reductions;
} counts;

static counts counts_of(wisp_ctx *ctx, const linear *l, wisp_solve_opts o, int64_t most)
{
    wisp_counts before, after;
    o.tolerance = 1e-14;
    o.max_iterations = most;
    o.observe = watch, o.observe_arg = &(watcher){0};
    wisp_ctx_counts(ctx, &before);
    const outcome out = solve(ctx, l, &o, "passes");
    wisp_ctx_counts(ctx, &after);
    assert_int_equal(out.status, WISP_ERR_ITERATIONS);
    assert_int_equal(out.s.iterations, most);
    assert_true(out.s.passes <= after.passes - before.passes);
    assert_true(out.s.bytes > 0 || ref_ranks() > 1); /* a rank may have no rows */
    ref_free(out.x);
    return (counts){out.s.passes, out.s.products, out.s.reductions};
}

/* What ten iterations take, or two of GMRES: by the difference of runs, so that start and end fall out. GMRES makes one
   vector and then two at once; how many later ones hangs on the numbers. */
static void passes(void **state)
{
    wisp_ctx *ctx = *state;
    static const struct {
        wisp_solve_opts o;
        counts want;
    } table[] = {{{.method = WISP_CG, .variant = WISP_PIPELINED}, {20, 10, 10}},
                 {{.method = WISP_CG, .variant = WISP_PREDICT}, {20, 10, 10}},
                 {{.method = WISP_CG, .variant = WISP_HIDDEN}, {20, 10, 10}},
                 {{.method = WISP_CG, .precond = WISP_JACOBI}, {30, 10, 20}},
                 {{.method = WISP_CG, .precond = WISP_JACOBI, .variant = WISP_HIDDEN}, {30, 10, 10}},
                 {{.method = WISP_CG, .variant = WISP_CLASSICAL}, {60, 10, 20}},
                 {{.method = WISP_BICGSTAB}, {40, 20, 20}},
                 {{
                      .method = WISP_GMRES,
                  },
                  {4, 2, 2}},
                 {{.method = WISP_MINRES}, {20, 10, 10}}};
    for (wisp_type type = WISP_D; type <= WISP_Z; type += WISP_Z - WISP_D) {
        ref_rng r = {17};
        ref_mat A = spread(&r, 60, 1e3, 0);
        mix(&r, A, type, 1);
        linear l = linear_of(ctx, A, (ref_types){type, type}, ref_random_block(&r, type, A.rows, 2));
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            const int is_gmres = table[i].o.method == WISP_GMRES, from = is_gmres ? 1 : 6;
            const counts brief = counts_of(ctx, &l, table[i].o, from),
                         full = counts_of(ctx, &l, table[i].o, from + (is_gmres ? 2 : 10)), want = table[i].want;
            if (full.passes - brief.passes != want.passes || full.products - brief.products != want.products ||
                full.reductions - brief.reductions != want.reductions)
                fail_msg("%s, variant %d: %d passes, %d products, %d reductions", method_name[table[i].o.method],
                         (int)table[i].o.variant, (int)(full.passes - brief.passes),
                         (int)(full.products - brief.products), (int)(full.reductions - brief.reductions));
        }
        linear_free(&l);
    }
}

/* What a cycle of IDR takes, from one iteration to another of the same run: it may end with an earlier x. */
typedef struct {
    wisp_ctx *ctx;
    int64_t at[2]; /* iterations */
    wisp_counts count[2];
} looker;

static int look(void *arg, int64_t iteration, double residual)
{
    looker *l = arg;
    (void)residual;
    for (int i = 0; i < 2; i++)
        if (iteration == l->at[i]) wisp_ctx_counts(l->ctx, &l->count[i]);
    return 0;
}

static void cycles(void **state)
{
    wisp_ctx *ctx = *state;
    static const int shadows[] = {1, 2, 4, 9};
    for (int i = 0; i < 4 * 2; i++) {
        const int s = shadows[i / 2], p = i % 2;
        ref_rng r = {17};
        ref_mat A = spread(&r, 60, 1e3, 0);
        mix(&r, A, WISP_D, 1);
        linear l = linear_of(ctx, A, (ref_types){WISP_D, WISP_D}, ref_random_block(&r, WISP_D, A.rows, 2));
        looker at = {.ctx = ctx, .at = {3, 4 + s}};
        const wisp_solve_opts o = {.method = WISP_IDR,
                                   .shadow = s,
                                   .precond = p ? WISP_JACOBI : WISP_PRECOND_NONE,
                                   .tolerance = 1e-14,
                                   .max_iterations = 16,
                                   .observe = look,
                                   .observe_arg = &at};
        const outcome out = solve(ctx, &l, &o, "cycles");
        const wisp_counts *from = &at.count[0], *to = &at.count[1];
        assert_int_equal(out.s.shadow, s);
        assert_int_equal(to->products - from->products, s + 1);
        assert_int_equal(to->reductions - from->reductions, 2 * (s + 1));
        if (!p) assert_in_range(to->passes - from->passes, 5 * s + 2, 6 * s + 3); /* where |r| rises x is kept */
        ref_free(out.x);
        linear_free(&l);
    }
}

/* ---- columns ---------------------------------------------------------------------------------------- */

/* A matrix as a function, which keeps the widths of blocks in mind. */
typedef struct {
    const wisp_mat *A;
    int narrowest;
} function;

static wisp_status product(void *arg, wisp_blk *y, const wisp_blk *x)
{
    function *f = arg;
    if (wisp_blk_width(x) < f->narrowest) f->narrowest = wisp_blk_width(x);
    return wisp_spmmv(y, f->A, x, NULL);
}

static wisp_mat *operator_of(wisp_ctx *ctx, const linear *l, function *f)
{
    const wisp_operator op = {.map = wisp_mat_map(l->mat), .type = l->t.mat, .apply = product, .arg = f};
    wisp_mat *A;
    *f = (function){l->mat, INT32_MAX};
    REF_OK(ctx, wisp_mat_from_apply(&A, ctx, &op));
    return A;
}

/* Column j is a sum of 1 + j % 9 eigenvectors of one reflection's matrix, so that it takes about as many iterations;
   some are 0, large or small. */
static linear columns_of_eigenvectors(wisp_ctx *ctx, wisp_type type, int width)
{
    enum { N = 50 };
    ref_rng r = {5};
    ref_mat A = ref_new(N, N), b = ref_new(N, width), v = ref_random_block(&r, type, N, 1);
    double norm = 0;
    for (int i = 0; i < N; i++) norm += creal(v.a[i] * conj(v.a[i]));
    for (int i = 0; i < N; i++) v.a[i] /= sqrt(norm);
    for (int i = 0; i < N; i++) REF_AT(A, i, i) = 1 + 0.37 * i;
    reflect(A, v.a, 0);
    reflect(A, v.a, 1);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) REF_AT(A, i, j) = i == j ? creal(REF_AT(A, i, i)) : conj(REF_AT(A, j, i));
    for (int j = 0; j < width; j++) {
        const double size = j % 11 == 10 ? 0 : exp2(j % 5 * 9 - 18);
        for (int e = 0; e <= j % 9; e++)
            for (int i = 0; i < N; i++) REF_AT(b, i, j) += size * ((i == 5 * e) - 2 * v.a[i] * conj(v.a[5 * e]));
    }
    ref_free(v);
    return linear_of(ctx, A, (ref_types){type, type}, b);
}

/* Columns end at different times, and narrower blocks go on; GMRES starts anew with them. */
static void widths(void **state)
{
    wisp_ctx *ctx = *state;
    static const int width[] = {1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33};
    for (size_t i = 0; i < sizeof width / sizeof *width; i++)
        for (int t = 0; t < 2; t++) {
            linear l = columns_of_eigenvectors(ctx, t ? WISP_Z : WISP_D, width[i]);
            for (int m = WISP_CG; m < METHODS; m = ref_next_method(m))
                for (int v = WISP_PIPELINED; v <= WISP_CLASSICAL; v++) {
                    char what[80];
                    function f;
                    wisp_mat *A = operator_of(ctx, &l, &f);
                    const wisp_solve_opts o = {.method = (wisp_method)m, .variant = (wisp_variant)v};
                    snprintf(what, sizeof what, "width %d, %s, variant %d", width[i], method_name[m], v);
                    const outcome out = solve_by(ctx, &l, A, &o, what);
                    if (out.status != WISP_OK) fail_msg("%s: %s", what, message_of(ctx));
                    for (int j = 0; j < width[i]; j++)
                        if (out.iterations[j] > (j % 11 == 10 ? 0 : m == WISP_GMRES ? 60 : j % 9 + 4))
                            fail_msg("%s: column %d: %lld iterations", what, j, (long long)out.iterations[j]);
                    if (width[i] > 4 && wisp_ctx_look_every(ctx) == 1 && 2 * f.narrowest > width[i])
                        fail_msg("%s: never narrower", what);
                    ref_free(out.x);
                    wisp_mat_free(A);
                }
            linear_free(&l);
        }
}

/* Every type and method by a function, which can't be asked for its entries. */
static void operators(void **state)
{
    wisp_ctx *ctx = *state;
    for (wisp_type type = WISP_S; type <= WISP_Z; type++)
        for (int m = 0; m < METHODS; m = ref_next_method(m))
            for (int p = 0; p <= WISP_PRECOND_APPLY; p++) {
                ref_rng r = {3};
                char what[80];
                function f;
                linear l = random_linear(ctx, &r, DEFINITE, (ref_types){type, type}, 45, 3);
                wisp_mat *A = operator_of(ctx, &l, &f), *D = random_diagonal(ctx, &r, &l);
                const wisp_solve_opts o = {.method = (wisp_method)m,
                                           .precond = (wisp_precond)p,
                                           .apply = by_diagonal,
                                           .apply_arg = D,
                                           .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0.505, 0.5, 0}}};
                const int entries = p == WISP_JACOBI || p == WISP_BLOCK_JACOBI;
                snprintf(what, sizeof what, "%s, %s, preconditioner %d", wisp_type_name(type), method_name[m], p);
                const outcome out = solve_by(ctx, &l, A, &o, what);
                if (out.status != (entries ? WISP_ERR_UNSUPPORTED : WISP_OK)) fail_msg("%s: %s", what, message_of(ctx));
                ref_free(out.x);
                wisp_mat_free(A);
                wisp_mat_free(D);
                linear_free(&l);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_systems), cmocka_unit_test(variants), cmocka_unit_test(variants_of_lattices),
        cmocka_unit_test(passes),         cmocka_unit_test(cycles),   cmocka_unit_test(widths),
        cmocka_unit_test(operators)};
    return REF_RUN_CTX(tests);
}
