/* Small dense problems by LAPACK (solver/eig/dense.h): right, and at any size modulo 4 nothing beyond their memory is
   touched, by the BLAS neither: each array ends at a page that nobody may touch. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ref.h"
#include "solver/eig/dense.h"

static int setup(void **state)
{
    setenv("WISP_ALLOC_GUARD", "1", 1);
    *state = ref_isa_ctx(NULL, 2);
    unsetenv("WISP_ALLOC_GUARD");
    return 0;
}

static int teardown(void **state)
{
    wisp_ctx_free(*state);
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

static ref_mat matrix(const wisp_scalar *s, int n)
{
    ref_mat m = ref_new(n, n);
    for (int64_t i = 0; i < (int64_t)n * n; i++) m.a[i] = s[i].re + I * s[i].im;
    return m;
}

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

static void sizes(void **state)
{
    wisp_ctx *ctx = *state;
    static const int large[] = {47, 62, 63, 64, 65, 66, 97, 128, 129, 190, 191, 193};
    enum { SMALL = 34, LARGE = sizeof large / sizeof *large };
    ref_rng r = {31};
    for (int i = 1; i < SMALL + LARGE; i++)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            const int n = i < SMALL ? i : large[i - SMALL];
            ref_mat A = ref_random_block(&r, is_complex ? WISP_Z : WISP_D, n, n);
            hermitian(ctx, A, is_complex);
            cholesky(ctx, A, is_complex);
            schur(ctx, A, is_complex);
            ref_free(A);
        }
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guard_guards), cmocka_unit_test(sizes),
                                       cmocka_unit_test(sines)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
