/* Pairs of A x = lambda S x nearest to a number by factors alone, S^-1/2 not made: an S of any condition that factors
   take, against LAPACK. */
#include "pencil_questions.h"
#include <stdio.h>
#include <unistd.h>

static const wisp_overlap_opts later = {.later = 1};

/* |L^-1 (A x - lambda S x)| with S = L L^H, which is the length by S^-1, and the largest |x_i^H S x_j - delta_ij|. */
static void measure(const question *q, const wisp_eigen *v, double *residual, double *orthogonality)
{
    const int64_t n = q->n;
    ref_mat L = ref_new(n, n), X = ref_get(v->vectors), SX = ref_times(q->p.dense_S, X), R = ref_times(q->p.dense_A, X);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            cplx z = REF_AT(q->p.dense_S, i, j);
            for (int64_t k = 0; k < j; k++) z -= REF_AT(L, i, k) * conj(REF_AT(L, j, k));
            REF_AT(L, i, j) = i == j ? csqrt(z) : z / REF_AT(L, j, j);
        }
    *residual = *orthogonality = 0;
    for (int c = 0; c < v->found; c++) {
        double square = 0;
        for (int64_t i = 0; i < n; i++) {
            cplx z = REF_AT(R, i, c) - v->value[c].re * REF_AT(SX, i, c);
            for (int64_t k = 0; k < i; k++) z -= REF_AT(L, i, k) * REF_AT(R, k, c);
            REF_AT(R, i, c) = z / REF_AT(L, i, i);
            square += creal(REF_AT(R, i, c) * conj(REF_AT(R, i, c)));
        }
        *residual = fmax(*residual, sqrt(square));
        for (int d = 0; d < v->found; d++) {
            cplx dot = 0;
            for (int64_t k = 0; k < n; k++) dot += conj(REF_AT(X, k, d)) * REF_AT(SX, k, c);
            *orthogonality = fmax(*orthogonality, cabs(dot - (c == d)));
        }
    }
    ref_free(L), ref_free(X), ref_free(SX), ref_free(R);
}

/* By rows so few that all values are computed, and by a search; a value of S may be up to so many times another one. */
static void any_condition(void **state)
{
    static const double conditions[] = {1e9, 1e4, 1e12, 30};
    static const int rows[] = {180, 60, 1, 230};
    int complete = 0;
    const int cases = ref_few() ? 8 : 32;
    if (!ref_has_factors()) return;
    for (int c = 0; c < cases; c++) {
        ref_rng r = {(uint64_t)c + 1};
        const wisp_type type = c / 2 % 2 ? WISP_Z : WISP_D;
        const int64_t n = rows[c / 4 % 4];
        const double condition = n > 1 ? conditions[c % 4] : 1;
        ref_mat A = random_hermitian(&r, type, n, 1), S = overlap_of(&r, type, n, condition);
        question q = {.n = n, .e = values_of(A, S), .p = make(*state, A, type, S, type, &later)};
        const double most = fmax(fabs(q.e[0]), fabs(q.e[n - 1]));
        const double places[] = {0.5 * most, q.e[n - 1 - n / 20], 3 * most, -0.3 * most};
        const double rounding = 30 * 2.2e-16 * condition, tolerance = fmin(fmax(1e-9, rounding), 1e-2);
        q.error = most * (tolerance + rounding);
        q.o = (wisp_eig_opts){.which = WISP_EIG_NEAREST,
                              .method = WISP_EIG_INVERT,
                              .seed = (uint64_t)c,
                              .target = places[c / 3 % 4],
                              .count = n < 4 ? 1 : 4,
                              .tolerance = tolerance};
        wisp_eigen v;
        const wisp_status status = wisp_eig(&v, q.p.C, &q.o);
        if (status != WISP_OK) print_message("case %d, condition %g: %s\n", c, condition, message_of(*state));
        complete += v.complete;
        check(&q, &v, "any condition");
        if (v.found > 0) {
            double residual, orthogonality, told = 0;
            measure(&q, &v, &residual, &orthogonality);
            for (int i = 0; i < v.found; i++) told = fmax(told, v.residual[i]);
            const double halfwidth = v.bounds.halfwidth;
            assert_true(v.of_pencil && told <= q.o.tolerance);
            if (!(residual <= halfwidth * (told + rounding)) || !(orthogonality <= v.orthogonality + rounding) ||
                !(v.orthogonality <= fmax(1e-10, 16 * 2.2e-16 * condition)))
                fail_msg("case %d: residual %g, told %g of %g; orthonormal to %g, told %g", c, residual, told,
                         halfwidth, orthogonality, v.orthogonality);
        }
        wisp_overlap_info info;
        wisp_overlap_get_info(q.p.overlap, &info);
        assert_int_equal(info.terms, 0);
        if (!(info.condition >= 0.2 * condition && info.condition <= 20 * condition * (double)n))
            fail_msg("case %d: S has a condition of %g, and %g is told", c, condition, info.condition);
        wisp_eigen_free(&v);
        end_question(&q);
    }
    assert_true(complete >= cases * 3 / 4);
}

/* Values that are no numbers: by factors alone they were 0, or S was called singular. */
static void out_of_range(void **state)
{
    enum { ROWS = 4 };
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .target = 1};
    if (!ref_has_factors()) return;
    for (int c = 0; c < 3; c++) {
        const int by = c == 0 ? 600 : c == 1 ? -600 : 300;
        ref_mat A = ref_new(ROWS, ROWS), S = ref_new(ROWS, ROWS);
        for (int64_t i = 0; i < ROWS; i++) {
            REF_AT(A, i, i) = ldexp(1 + (double)i, by);
            REF_AT(S, i, i) = ldexp(1, -by);
        }
        question q = {.n = ROWS, .p = make(*state, A, WISP_D, S, WISP_D, &later)};
        wisp_eigen v;
        if (c < 2) {
            REF_FAILS(*state, wisp_eig(&v, q.p.C, &o), WISP_ERR_NUMERIC, c == 0 ? "too large for" : "too small for");
            assert_true(v.found == 0 && !v.complete);
        } else {
            REF_OK(*state, wisp_eig(&v, q.p.C, &o));
            assert_true(v.complete && v.found == 1 && fabs(ldexp(v.value[0].re, -2 * by) - 1) < 1e-9);
        }
        wisp_eigen_free(&v);
        end_question(&q);
    }
}

/* ---- states ------------------------------------------------------------------------------------------- */

static int end_at_once(void *arg, wisp_state *state)
{
    wisp_checkpoint_request(arg, 1);
    return wisp_checkpoint_offer(arg, state);
}

/* A search that ends at its first offer, and leaves its state in the file. */
static void begin(wisp_ctx *ctx, const wisp_mat *A, wisp_eig_opts o, const char *file)
{
    wisp_checkpoint *checkpoint;
    wisp_eigen v;
    unlink(file);
    REF_OK(ctx, wisp_checkpoint_create(&checkpoint, ctx, &(wisp_checkpoint_opts){.path = file}));
    o.offer = end_at_once, o.offer_arg = checkpoint;
    assert_int_equal(wisp_eig(&v, A, &o), WISP_ERR_CANCELLED);
    wisp_ctx_resume(ctx);
    wisp_eigen_free(&v);
    wisp_checkpoint_free(checkpoint);
}

static wisp_status go_on(wisp_ctx *ctx, wisp_eigen *v, const wisp_mat *A, wisp_eig_opts o, const char *file)
{
    REF_OK(ctx, wisp_state_open(&o.resume, ctx, file));
    const wisp_status status = wisp_eig(v, A, &o);
    wisp_state_free(o.resume);
    return status;
}

/* A search of a pencil goes on from a state of its own alone: in the first ones vectors were those of C, as they are in
   one of a matrix, and roots were made or were not. */
static void states(void **state)
{
    const wisp_eig_opts o = {.which = WISP_EIG_NEAREST, .method = WISP_EIG_INVERT, .count = 3, .target = 0.1};
    const wisp_overlap_opts made[] = {{.later = 0}, {.later = 1}};
    char file[64];
    wisp_mat *A, *S, *C[2];
    wisp_overlap *overlap[2];
    if (!ref_has_factors()) return;
    snprintf(file, sizeof file, "%s/test_eig_rootless.%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    REF_OK(*state, wisp_mat_open(&A, *state, "square:nx=400,ny=1,periodic=none", NULL));
    REF_OK(*state, wisp_mat_open(&S, *state, "laplace:points=5,nx=400,ny=1", &(wisp_mat_opts){.map = wisp_mat_map(A)}));
    for (int i = 0; i < 2; i++) {
        wisp_eigen v;
        REF_OK(*state, wisp_overlap_create(&overlap[i], S, &made[i]));
        REF_OK(*state, wisp_overlap_matrix(&C[i], overlap[i], A));
        begin(*state, A, o, file);
        REF_FAILS(*state, go_on(*state, &v, C[i], o, file), WISP_ERR_MISMATCH, "version of a pencil's state");
        wisp_eigen_free(&v);
        begin(*state, C[i], o, file);
        REF_OK(*state, go_on(*state, &v, C[i], o, file));
        assert_true(v.complete && v.of_pencil == i && v.found == 3);
        wisp_eigen_free(&v);
    }
    REF_FAILS(*state, go_on(*state, &(wisp_eigen){0}, C[0], o, file), WISP_ERR_MISMATCH, "version of a pencil's state");
    for (int i = 0; i < 2; i++) wisp_mat_free(C[i]), wisp_overlap_free(overlap[i]);
    wisp_mat_free(S), wisp_mat_free(A);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_condition), cmocka_unit_test(out_of_range),
                                       cmocka_unit_test(states)};
    return REF_RUN_CTX(tests);
}
