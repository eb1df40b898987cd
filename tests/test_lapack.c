/* Small dense problems by LAPACK (solver/eig/dense.h): right, and at any size modulo 4 nothing beyond their memory is
   touched, by the BLAS neither: each array ends at a page that nobody may touch. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lapack_counted.h"
#include "ref.h"
#include "solver/eig/dense.h"
#include "solver/eig/dense_svd.h"

static int setup(void **state)
{
    setenv("WISP_ALLOC_GUARD", "1", 1);
    *state = ref_isa_ctx(NULL, 2);
    unsetenv("WISP_ALLOC_GUARD");
    return 0;
}

/* Nothing below could fail without it. (In a child, which a signal ends.) */
static void guard_guards(void **state)
{
    wisp_ctx *ctx = *state;
    static const size_t bytes[] = {1, 64, 100, 4096, 5 << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        volatile char *p;
        REF_OK(ctx, wisp_alloc(ctx, &p, bytes[i], 1));
        p[bytes[i] - 1] = 1;
        const pid_t child = fork();
        int how = 0;
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL); /* a sanitizer would end the child in another way */
            p[(bytes[i] + 63) / 64 * 64] = 1;
            _exit(0);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV);
        wisp_free(ctx, (void *)p);
    }
}

/* ---- small matrices in the library's form and the oracle's ------------------------------------------------- */

static wisp_scalar *scalars(ref_mat m)
{
    const int64_t n = m.rows * m.cols;
    wisp_scalar *s = malloc((size_t)n * sizeof *s);
    assert_non_null(s);
    for (int64_t i = 0; i < n; i++) s[i] = ref_scalar(m.a[i]);
    return s;
}

static ref_mat matrix_of(const wisp_scalar *s, int rows, int cols)
{
    ref_mat m = ref_new(rows, cols);
    for (int64_t i = 0; i < (int64_t)rows * cols; i++) m.a[i] = s[i].re + I * s[i].im;
    return m;
}

static ref_mat matrix(const wisp_scalar *s, int n) { return matrix_of(s, n, n); }

static ref_mat adjoint(ref_mat m)
{
    ref_mat t = ref_new(m.cols, m.rows);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.cols; j++) REF_AT(t, j, i) = conj(REF_AT(m, i, j));
    return t;
}

static ref_mat diagonal(const wisp_scalar *value, int n)
{
    ref_mat m = ref_new(n, n);
    for (int i = 0; i < n; i++) REF_AT(m, i, i) = value[i].re + I * value[i].im;
    return m;
}

/* A B C; takes no ownership. */
static ref_mat times3(ref_mat a, ref_mat b, ref_mat c)
{
    ref_mat ab = ref_times(a, b), abc = ref_times(ab, c);
    ref_free(ab);
    return abc;
}

static double tolerance(int n) { return 1e-13 * (10 + n); }

static void assert_unitary(ref_mat U, const char *what)
{
    ref_mat adj = adjoint(U), got = ref_times(adj, U), one = ref_new(U.cols, U.cols);
    for (int64_t i = 0; i < U.cols; i++) REF_AT(one, i, i) = 1;
    ref_assert_close(what, got, one, tolerance((int)U.rows));
    ref_free(adj), ref_free(got), ref_free(one);
}

/* ---- each of them ------------------------------------------------------------------------------------------ */

static void hermitian(wisp_ctx *ctx, ref_mat A, bool is_complex)
{
    const int n = (int)A.rows;
    ref_mat adj = adjoint(A), H = ref_new(n, n);
    for (int64_t i = 0; i < (int64_t)n * n; i++) H.a[i] = (A.a[i] + adj.a[i]) / 2;
    wisp_scalar *h = scalars(H), *lambda = calloc((size_t)n, sizeof *lambda);
    double *value = malloc((size_t)n * sizeof *value);
    REF_OK(ctx, wisp__dense_eigh(ctx, is_complex, n, h, value));
    for (int i = 0; i < n; i++) lambda[i].re = value[i];
    for (int i = 1; i < n; i++) assert_true(value[i] >= value[i - 1]);
    ref_mat V = matrix(h, n), D = diagonal(lambda, n), Vt = adjoint(V), VDVt = times3(V, D, Vt);
    assert_unitary(V, "eigenvectors");
    ref_assert_close("V D V^H", VDVt, H, tolerance(n));
    free(h), free(value), free(lambda);
    ref_free(adj), ref_free(H), ref_free(V), ref_free(D), ref_free(Vt), ref_free(VDVt);
}

static void cholesky(wisp_ctx *ctx, ref_mat A, bool is_complex)
{
    const int n = (int)A.rows;
    int good = -1;
    ref_mat adj = adjoint(A), G = ref_times(adj, A), one = ref_new(n, n);
    for (int i = 0; i < n; i++) REF_AT(G, i, i) += n, REF_AT(one, i, i) = 1;
    wisp_scalar *g = scalars(G);
    REF_OK(ctx, wisp__dense_cholesky(ctx, is_complex, n, g, &good));
    assert_int_equal(good, n);
    ref_mat R = matrix(g, n), Rt = adjoint(R), got = times3(Rt, G, R);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) assert_true(REF_AT(R, i, j) == 0);
    ref_assert_close("R^-H G R^-1", got, one, tolerance(n));
    free(g);
    ref_free(adj), ref_free(G), ref_free(one), ref_free(R), ref_free(Rt), ref_free(got);
}

static void assert_schur(ref_mat A, const wisp_scalar *s, const wisp_scalar *u, const char *what)
{
    const int n = (int)A.rows;
    ref_mat S = matrix(s, n), U = matrix(u, n), Ut = adjoint(U), USUt = times3(U, S, Ut);
    assert_unitary(U, what);
    ref_assert_close(what, USUt, A, tolerance(n));
    ref_free(S), ref_free(U), ref_free(Ut), ref_free(USUt);
}

static void schur(wisp_ctx *ctx, ref_mat A, bool is_complex)
{
    const int n = (int)A.rows;
    const size_t size = (size_t)n * (size_t)n;
    wisp_scalar *s = scalars(A), *u = calloc(size, sizeof *u), *x = calloc(size, sizeof *x),
                *value = calloc((size_t)n, sizeof *value), *before = calloc((size_t)n, sizeof *value);
    int *chosen = calloc((size_t)n, sizeof *chosen);
    REF_OK(ctx, wisp__dense_schur(ctx, is_complex, n, s, u, value));
    assert_schur(A, s, u, "U S U^H");
    REF_OK(ctx, wisp__dense_schur_vectors(ctx, is_complex, n, s, value, x));
    ref_mat S = matrix(s, n), X = matrix(x, n), D = diagonal(value, n), SX = ref_times(S, X), XD = ref_times(X, D);
    ref_assert_close("S X", SX, XD, tolerance(n));
    ref_free(S), ref_free(X), ref_free(D), ref_free(SX), ref_free(XD);

    /* Those on the right go to the front; of a conjugate pair both are there. */
    int count = 0;
    memcpy(before, value, (size_t)n * sizeof *value);
    for (int i = 0; i < n; i++) count += chosen[i] = value[i].re > 0;
    double sine;
    REF_OK(ctx, wisp__dense_schur_order(ctx, is_complex, n, s, u, value, chosen, &sine));
    assert_true(sine >= 0 && sine <= 1 + 1e-12 && (count % n > 0 || sine > 1 - 1e-12));
    assert_schur(A, s, u, "U S U^H, in another order");
    for (int i = 0; i < n; i++) {
        double off = INFINITY;
        for (int j = 0; j < n; j++) off = fmin(off, hypot(value[i].re - before[j].re, value[i].im - before[j].im));
        assert_true((value[i].re > 0) == (i < count) && off < 1e-6);
    }
    free(s), free(u), free(x), free(value), free(before), free(chosen);
}

/* The first `rank` columns alone are independent. */
static void singular(wisp_ctx *ctx, ref_mat A, bool is_complex, int rank)
{
    const int m = (int)A.rows, n = (int)A.cols;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = rank; j < n; j++) REF_AT(A, i, j) = rank > 0 ? REF_AT(A, i, j % rank) : 0;
    wisp_scalar *s = scalars(A), *v = calloc((size_t)(n * n), sizeof *v), *sigma = calloc((size_t)n, sizeof *sigma);
    double *value = malloc((size_t)n * sizeof *value);
    REF_OK(ctx, wisp__dense_svd(ctx, is_complex, m, n, s, value, v));
    for (int i = 0; i < n; i++) sigma[i].re = value[i];
    for (int i = 0; i < n; i++) assert_true(value[i] >= 0 && (i == 0 || value[i] <= value[i - 1]));
    for (int i = rank; i < n; i++) assert_true(value[i] <= tolerance(m) * value[0]);
    ref_mat U = matrix_of(s, m, n), V = matrix(v, n), D = diagonal(sigma, n), Vt = adjoint(V), USVt = times3(U, D, Vt);
    assert_unitary(U, "left singular vectors");
    assert_unitary(V, "right singular vectors");
    ref_assert_close("U S V^H", USVt, A, tolerance(m));
    free(s), free(v), free(sigma), free(value);
    ref_free(U), ref_free(V), ref_free(D), ref_free(Vt), ref_free(USVt);
}

static void singular_of_size(wisp_ctx *ctx, ref_rng *r, bool is_complex, int n)
{
    for (int i = 0; i < 3; i++) { /* square; with more rows; of less than full rank */
        ref_mat A = ref_random_block(r, is_complex ? WISP_Z : WISP_D, i == 1 ? n + 1 + n % 7 : n, n);
        singular(ctx, A, is_complex, i == 2 ? n / 2 : n);
        ref_free(A);
    }
}

static void all_of_size(wisp_ctx *ctx, ref_rng *r, int n)
{
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        ref_mat A = ref_random_block(r, is_complex ? WISP_Z : WISP_D, n, n);
        hermitian(ctx, A, is_complex);
        cholesky(ctx, A, is_complex);
        schur(ctx, A, is_complex);
        singular_of_size(ctx, r, is_complex, n);
        ref_free(A);
    }
}

static void sizes(void **state)
{
    wisp_ctx *ctx = *state;
    static const int large[] = {47, 62, 63, 64, 65, 66, 97, 128, 129, 190, 191, 193};
    enum { SMALL = 34, LARGE = sizeof large / sizeof *large };
    ref_rng r = {31};
    for (int i = 1; i < SMALL + LARGE; i++) all_of_size(ctx, &r, i < SMALL ? i : large[i - SMALL]);
}

/* S = (a c; 0 b): the projector on a's vector along b's is (1 c / (a - b); 0 0). */
static void sines(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {32};
    for (int i = 0; i < 200; i++) {
        const double a = ref_uniform(&r), b = ref_uniform(&r), c = ref_uniform(&r) * pow(10, (double)(i % 9 - 4));
        const int is_complex = i % 2, second = i / 2 % 2, chosen[2] = {!second, second};
        wisp_scalar s[4] = {{a, 0}, {c, 0}, {0, 0}, {b, 0}}, u[4] = {{1, 0}, {0, 0}, {0, 0}, {1, 0}},
                    value[2] = {{a, 0}, {b, 0}};
        double sine;
        REF_OK(ctx, wisp__dense_schur_order(ctx, is_complex, 2, s, u, value, chosen, &sine));
        assert_true(fabs(value[0].re - (second ? b : a)) < 1e-12 * fmax(1, fabs(c)));
        const double want = 1 / hypot(1, c / (a - b));
        if (!(fabs(sine - want) < 1e-6 * want)) fail_msg("%g %g %g: a sine of %g, not %g", a, b, c, sine, want);
    }
}

/* ---- the program's LAPACK ---------------------------------------------------------------------------------- */

/* All is computed by the functions that the program gives, and by none of them after it has taken them back. */
static void by_the_program(void **state)
{
    ref_rng r = {33};
    int calls[COUNTED_FUNCTIONS];
    counted_open();
    wisp_set_lapack(counted_find);
    for (int n = 1; n < 12; n++) {
        for (int i = 0; i < COUNTED_FUNCTIONS; i++) calls[i] = atomic_load(&counted_all[i]->calls);
        all_of_size(*state, &r, n);
        for (int i = 0; i < COUNTED_FUNCTIONS; i++)
            if (atomic_load(&counted_all[i]->calls) == calls[i]) fail_msg("%d: no %s", n, counted_all[i]->name);
    }
    wisp_set_lapack(NULL);
    for (int i = 0; i < COUNTED_FUNCTIONS; i++) calls[i] = atomic_load(&counted_all[i]->calls);
    all_of_size(*state, &r, 7);
    for (int i = 0; i < COUNTED_FUNCTIONS; i++) assert_int_equal(atomic_load(&counted_all[i]->calls), calls[i]);
}

/* The status of the call that needs counted_missing; all others must succeed. */
static wisp_status without(wisp_ctx *ctx, const char *const *needs, wisp_status status)
{
    bool needed = false;
    for (; *needs; needs++) needed = needed || !strcmp(*needs, counted_missing);
    if (!needed) REF_OK(ctx, status);
    return needed ? status : WISP_OK;
}

static void assert_names_missing(wisp_ctx *ctx)
{
    const char *message = message_of(ctx);
    if (!strstr(message, counted_missing) || !strstr(message, "wisp_set_lapack")) fail_msg("%s", message);
}

static void function_missing(void **state)
{
    wisp_ctx *ctx = *state;
    counted_open();
    for (int i = 0; i < COUNTED_FUNCTIONS; i++) {
        counted_missing = counted_all[i]->name;
        wisp_set_lapack(counted_find);
        int failed = 0;
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            wisp_scalar a[4] = {{3, 0}, {0, 0}, {0, 0}, {2, 0}}, u[4], x[4], value[2] = {{0}};
            double real[2], sine;
            int good;
            const char *const calls[][3] = {{is_complex ? "zheevd" : "dsyevd"},
                                            {is_complex ? "zpotrf" : "dpotrf", is_complex ? "ztrtri" : "dtrtri"},
                                            {is_complex ? "zgees" : "dgees"},
                                            {is_complex ? "ztrevc" : "dtrevc"},
                                            {is_complex ? "ztrsen" : "dtrsen"}};
            memcpy(u, (wisp_scalar[4]){{1, 0}, {0, 0}, {0, 0}, {1, 0}}, sizeof u);
            for (int call = 0; call < 5; call++) {
                const wisp_status status = without(
                    ctx, calls[call],
                    call == 0   ? wisp__dense_eigh(ctx, is_complex, 2, a, real)
                    : call == 1 ? wisp__dense_cholesky(ctx, is_complex, 2, a, &good)
                    : call == 2 ? wisp__dense_schur(ctx, is_complex, 2, a, u, value)
                    : call == 3 ? wisp__dense_schur_vectors(ctx, is_complex, 2, a, value, x)
                                : wisp__dense_schur_order(ctx, is_complex, 2, a, u, value, (int[]){0, 1}, &sine));
                if (status == WISP_OK) continue;
                assert_int_equal(status, WISP_ERR_UNSUPPORTED);
                assert_names_missing(ctx);
                failed++;
            }
        }
        assert_int_equal(failed, strstr(counted_missing, "gesdd") ? 0 : 1); /* which has something in its place */
    }
    counted_missing = NULL;
    wisp_set_lapack(NULL);
}

typedef struct {
    wisp_ctx *ctx;
    int looks, cancel_at;
} looker;

static int look(void *arg, const wisp_progress *p)
{
    looker *l = arg;
    return !strcmp(p->task, "singular vectors") && ++l->looks == l->cancel_at;
}

/* Singular values by rotations, which a cancel ends between two sweeps, unless it was there before. */
static void by_rotations(void **state)
{
    (void)state;
    ref_rng r = {35};
    looker l = {0};
    counted_open();
    const wisp_ctx_opts o = {.threads = 1, .no_pin = 1, .progress = look, .progress_arg = &l};
    assert_int_equal(wisp_ctx_create(&l.ctx, &o), WISP_OK);
    wisp_set_lapack(counted_find);
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        counted_missing = is_complex ? "zgesdd" : "dgesdd";
        for (int n = 1; n < 40; n += n < 12 ? 1 : 9) singular_of_size(l.ctx, &r, is_complex, n);
        for (int at = 1; at < 3; at++) {
            ref_mat A = ref_random_block(&r, is_complex ? WISP_Z : WISP_D, 24, 20);
            wisp_scalar *s = scalars(A), v[400];
            double value[20];
            l.looks = 0, l.cancel_at = at;
            const wisp_status status = wisp__dense_svd(l.ctx, is_complex, 24, 20, s, value, v);
            assert_int_equal(status, at == 1 ? WISP_OK : WISP_ERR_CANCELLED);
            assert_true(at == 1 || l.looks == 2);
            wisp_ctx_resume(l.ctx);
            l.cancel_at = 0;
            free(s), ref_free(A);
        }
    }
    counted_missing = NULL;
    wisp_set_lapack(NULL);
    wisp_ctx_free(l.ctx);
}

/* wisp_eig says so, too, on all ranks. */
static int eig_missing(void *arg, int rank)
{
    (void)arg, (void)rank;
    wisp_ctx *ctx;
    wisp_mat *A;
    wisp_eigen e;
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}), WISP_OK);
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=4", NULL));
    assert_int_equal(wisp_eig(&e, A, &(wisp_eig_opts){.method = WISP_EIG_DENSE}), WISP_ERR_UNSUPPORTED);
    assert_names_missing(ctx);
    wisp_eigen_free(&e);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void eig_without_a_function(void **state)
{
    (void)state;
    counted_open();
    counted_missing = "dsyevd";
    wisp_set_lapack(counted_find);
    assert_int_equal(wisp_ranks_run(1, eig_missing, NULL, NULL), WISP_OK);
    assert_int_equal(wisp_ranks_run(3, eig_missing, NULL, NULL), WISP_OK);
    counted_missing = NULL;
    wisp_set_lapack(NULL);
}

/* The LAPACK changes while others compute: each computes right, and by one LAPACK from a begin to its end. */
static void *computes(void *arg)
{
    ref_rng r = {34};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    for (int i = 0; i < 40; i++) all_of_size(ctx, &r, 1 + i % 5);
    wisp_ctx_free(ctx);
    return arg;
}

static void changes_meanwhile(void **state)
{
    (void)state;
    pthread_t thread[3];
    counted_open();
    for (int t = 0; t < 3; t++) assert_int_equal(pthread_create(&thread[t], NULL, computes, NULL), 0);
    for (int i = 0; i < 200; i++) {
        wisp_set_lapack(i % 2 ? NULL : counted_find);
        wisp__lapack_alone(true);
        wisp__lapack_fn fn = wisp__lapack(NULL, "zpotrf"), wanted = (wisp__lapack_fn)zpotrf_counted;
        assert_true((fn == wanted) == !(i % 2));
        wisp__lapack_alone(false);
    }
    for (int t = 0; t < 3; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guard_guards),
                                       cmocka_unit_test(sizes),
                                       cmocka_unit_test(sines),
                                       cmocka_unit_test(by_the_program),
                                       cmocka_unit_test(function_missing),
                                       cmocka_unit_test(by_rotations),
                                       cmocka_unit_test(eig_without_a_function),
                                       cmocka_unit_test(changes_meanwhile)};
    return cmocka_run_group_tests(tests, setup, ref_teardown);
}
