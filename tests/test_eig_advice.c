/* What a call gives where rounding keeps residuals of a matrix that is not Hermitian above the tolerance: the pairs
   that were within it before, and a tolerance with which the next call finds all. */
#include "message.h"
#include "ref.h"
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 150, KINDS = 4 };

/* Sparse and random; complex; a drift, which is far from normal; rows of many sizes. */
static ref_mat matrix_of(ref_rng *r, int kind, double unit)
{
    ref_mat A = ref_new(ROWS, ROWS);
    for (int64_t i = 0; i < ROWS; i++) {
        const double size = unit * (kind == 3 ? pow(10, 2 * ref_uniform(r)) : 1);
        REF_AT(A, i, i) = size * (kind == 2 ? 2 + 0.1 * ref_uniform(r) : ref_uniform(r));
        for (int l = 0; l < 4 && kind != 2; l++)
            REF_AT(A, i, ref_below(r, ROWS)) = size * (ref_uniform(r) + (kind == 1 ? I * ref_uniform(r) : 0));
        if (kind == 2 && i > 0) REF_AT(A, i, i - 1) = -size * (0.4 + 0.2 * ref_uniform(r));
        if (kind == 2 && i + 1 < ROWS) REF_AT(A, i, i + 1) = -size * (1.5 + 0.2 * ref_uniform(r));
    }
    return A;
}

/* The tolerance that the message advises; 0: none. */
static double advised(wisp_ctx *ctx, const char *field)
{
    char words[80];
    snprintf(words, sizeof words, "%s could be ", field);
    const char *at = strstr(message_of(ctx), words);
    return at ? strtod(at + strlen(words), NULL) : 0;
}

/* With the tolerance that is advised all are found; false: none is. */
static bool follow(wisp_ctx *ctx, const wisp_mat *M, wisp_eig_opts o, const char *what)
{
    wisp_eigen e;
    const bool absolute = o.tolerance_abs > 0;
    double *tolerance = absolute ? &o.tolerance_abs : &o.tolerance;
    const double before = *tolerance;
    wisp_status status = wisp_eig(&e, M, &o);
    wisp_eigen_free(&e);
    *tolerance = status == WISP_ERR_STAGNATION ? advised(ctx, absolute ? "opts.tolerance_abs" : "opts.tolerance") : 0;
    if (*tolerance == 0) return false;
    status = wisp_eig(&e, M, &o);
    if (!(*tolerance > before) || e.found < o.count)
        fail_msg("%s: with %.2g in place of %.2g %d of %d are found (%s)", what, *tolerance, before, e.found, o.count,
                 status == WISP_OK ? "all" : message_of(ctx));
    wisp_eigen_free(&e);
    return true;
}

static void advice(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_eig_which which[] = {WISP_EIG_SMALLEST, WISP_EIG_LARGEST_REAL};
    static const double unit[] = {1, 1e-5, 1e7};
    int followed = 0;
    ref_rng r = {5};
    /* Each kind in each unit; few have all kinds and all units, but not each in each. */
    for (int c = 0; c < 12; c += ref_few() ? 3 : 1) {
        ref_mat A = matrix_of(&r, c % KINDS, unit[c % 3]);
        wisp_mat *M = ref_mat_of(ctx, A, c % KINDS == 1 ? WISP_Z : WISP_D);
        for (int w = 0; w < 4; w++) {
            char what[80];
            const double T = c % 2 ? 4e-15 : 1.5e-14;
            const wisp_eig_opts o = {.method = WISP_KRYLOV_SCHUR,
                                     .which = which[w % 2],
                                     .count = 1 + c % 3,
                                     .tolerance = w < 2 ? T : 0,
                                     .tolerance_abs = w < 2 ? 0 : 0.2 * T * unit[c % 3],
                                     .max_rounds = 300};
            snprintf(what, sizeof what, "matrix %d of kind %d, question %d", c, c % KINDS, w);
            followed += follow(ctx, M, o, what);
        }
        wisp_mat_free(M);
        ref_free(A);
    }
    if (followed < (ref_few() ? 3 : 10)) fail_msg("%d were followed", followed);
}

/* A start without any part of six rows, which have the smallest value beside large ones, whose rounding it has: the
   search for what may be missing finds it, and it is not within the tolerance. A call that ends there gives the pairs
   that came before. */
static void found_before(void **state)
{
    enum { OTHERS = 6, COUNT = 3 };
    wisp_ctx *ctx = *state;
    ref_rng r = {7};
    ref_mat A = ref_new(ROWS, ROWS), start = ref_new(ROWS, 1);
    for (int64_t i = 0; i < ROWS; i++) {
        REF_AT(start, i, 0) = i < OTHERS ? 0 : ref_uniform(&r);
        if (i >= OTHERS) REF_AT(A, i, i) = 1 + 0.02 * (double)i + 0.3 * I * ref_uniform(&r);
        for (int64_t j = OTHERS; j < i && i < OTHERS + 20; j++) REF_AT(A, i, j) = 0.01 * ref_uniform(&r);
    }
    /* Reflections of a diagonal. */
    double v[OTHERS], square = 0;
    for (int i = 0; i < OTHERS; i++) v[i] = 1 + ref_uniform(&r) * 0.5, square += v[i] * v[i];
    for (int i = 0; i < OTHERS; i++)
        for (int j = 0; j < OTHERS; j++)
            for (int l = 0; l < OTHERS; l++)
                REF_AT(A, i, j) += ((i == l) - 2 * v[i] * v[l] / square) * (l == 0 ? 0.3 : 1e6 + 1e5 * l) *
                                   ((l == j) - 2 * v[l] * v[j] / square);
    wisp_mat *M = ref_mat_of(ctx, A, WISP_Z);
    wisp_blk *x;
    REF_OK(ctx, wisp_blk_create(&x, ctx, wisp_mat_map(M), WISP_Z, 1));
    ref_put(x, start);
    int met = 0;
    for (int rounds = 10; rounds < 40; rounds += ref_few() ? 3 : 1) {
        wisp_eigen e;
        const wisp_eig_opts o = {.method = WISP_KRYLOV_SCHUR,
                                 .which = WISP_EIG_SMALLEST,
                                 .count = COUNT,
                                 .tolerance_abs = 1e-12,
                                 .max_rounds = rounds,
                                 .start = x};
        const wisp_status status = wisp_eig(&e, M, &o);
        if (status == WISP_ERR_ITERATIONS && strstr(message_of(ctx), "in the search for what may be missing")) {
            met += strstr(message_of(ctx), "beside 4") != NULL;
            if (e.found < COUNT) fail_msg("%d restarts: %d found (%s)", rounds, e.found, message_of(ctx));
        }
        wisp_eigen_free(&e);
    }
    assert_true(met > 0);
    wisp_blk_free(x);
    wisp_mat_free(M);
    ref_free(A), ref_free(start);
}

/* Far from normal, with residuals just within the tolerance: a smaller one is advised, as rounding leaves room, and
   most find all with it. */
static void smaller(void **state)
{
    enum { MATRICES = 14 };
    static const double tolerance[] = {1e-10, 1e-12, 1e-14};
    wisp_ctx *ctx = *state;
    int advised_so = 0, found = 0;
    ref_rng r = {4};
    for (int c = 0; c < MATRICES; c++) {
        ref_mat A = ref_new(ROWS, ROWS);
        for (int64_t i = 0; i < ROWS; i++) {
            static const int off[] = {-1, 0, 1, 7};
            static const double v[] = {-0.7, 2, -1.3, 0.1};
            for (int k = 0; k < 4; k++)
                if (i + off[k] >= 0 && i + off[k] < ROWS)
                    REF_AT(A, i, i + off[k]) = v[k] + 0.05 * (1 + ref_uniform(&r));
        }
        wisp_mat *M = ref_mat_of(ctx, A, WISP_D);
        wisp_eig_opts o = {.method = WISP_KRYLOV_SCHUR, .which = WISP_EIG_LARGEST_REAL, .count = 2};
        wisp_eigen e;
        wisp_status status = wisp_eig(&e, M, &o);
        wisp_eigen_free(&e);
        if (status == WISP_ERR_INCOMPLETE && strstr(message_of(ctx), "far from normal")) {
            assert_non_null(strstr(message_of(ctx), "try a smaller opts.tolerance, or"));
            advised_so++;
            for (int t = 0; t < 3 && status != WISP_OK; t++) {
                o.tolerance = tolerance[t];
                status = wisp_eig(&e, M, &o);
                wisp_eigen_free(&e);
            }
            found += status == WISP_OK;
        }
        wisp_mat_free(M);
        ref_free(A);
    }
    if (advised_so < 3 || 2 * found < advised_so) fail_msg("advised %d times, and %d found all", advised_so, found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advice), cmocka_unit_test(smaller),
                                       cmocka_unit_test(found_before)};
    return REF_RUN_CTX(tests);
}
