/* Runs with random vectors taken together: as one run with all of them, and what does not fit is refused. */
#include "kpm_dense.h"

enum { ROWS = 40, MOMENTS = 24 };

static void make_runs(wisp_ctx *ctx, wisp_moments *runs, wisp_moments *all, const uint64_t *seed, const int64_t *first,
                      const int64_t *vectors, int count)
{
    ref_rng r = {5};
    ref_mat H = random_hermitian(&r, WISP_Z, ROWS, 0.2);
    wisp_mat *A = ref_mat_of(ctx, H, WISP_Z);
    wisp_kpm_opts o = {.moments = MOMENTS, .bounds.method = WISP_BOUNDS_GERSHGORIN};
    for (int i = 0; i < count; i++) {
        o.seed = seed[i], o.first_vector = first[i], o.vectors = vectors[i], o.width = 1 + i;
        REF_OK(ctx, wisp_kpm(&runs[i], A, &o));
        REF_OK(ctx, wisp_moments_label(ctx, &runs[i], i ? "folder/H.mtx" : "H.mtx", "made here"));
    }
    if (all) {
        o.seed = seed[0], o.first_vector = first[0], o.vectors = 0;
        for (int i = 0; i < count; i++) o.vectors += vectors[i];
        REF_OK(ctx, wisp_kpm(all, A, &o));
    }
    wisp_mat_free(A);
    ref_free(H);
}

/* Parts of one run are that run. */
static void parts(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_moments runs[3], all, m;
    make_runs(ctx, runs, &all, (uint64_t[]){9, 9, 9}, (int64_t[]){2, 5, 12}, (int64_t[]){3, 7, 1}, 3);
    REF_OK(ctx, wisp_moments_merge(ctx, &m, runs, 3));
    assert_true(m.vectors == 11 && m.n == MOMENTS && m.rows == ROWS && m.nnz == all.nnz && m.type == WISP_Z);
    assert_true(m.seed == 9 && m.first_vector == 2 && m.trace == WISP_TRACE_RANDOM && !m.partial && !m.sites);
    assert_true(worst_difference(m.mu, all.mu, 11 * MOMENTS) < 1e-12 * ROWS);
    assert_string_equal(m.matrix, "H.mtx");
    assert_string_equal(m.command, "made here");
    assert_true(m.seconds == runs[0].seconds + runs[1].seconds + runs[2].seconds);
    assert_true(m.flops == runs[0].flops + runs[1].flops + runs[2].flops);
    double mean[2], error[2], energy = all.bounds.center + 0.1 * all.bounds.halfwidth;
    REF_OK(ctx, wisp_dos(ctx, &m, NULL, -1, 1, &energy, &mean[0], &error[0]));
    REF_OK(ctx, wisp_dos(ctx, &all, NULL, -1, 1, &energy, &mean[1], &error[1]));
    assert_true(fabs(mean[0] - mean[1]) < 1e-11 * mean[1] && fabs(error[0] - error[1]) < 1e-11 * error[1]);
    for (int i = 0; i < 3; i++) wisp_moments_free(&runs[i]);
    wisp_moments_free(&all);
    wisp_moments_free(&m);
}

/* Runs of other seeds: mean and standard error of all vectors, written out. */
static void seeds(void **state)
{
    enum { VECTORS = 9 };
    wisp_ctx *ctx = *state;
    wisp_moments runs[2], m, alone;
    double mean[MOMENTS], error[MOMENTS];
    make_runs(ctx, runs, NULL, (uint64_t[]){1, UINT64_MAX}, (int64_t[]){0, 0}, (int64_t[]){4, 5}, 2);
    runs[1].bounds.center += 4e-16 * runs[1].bounds.halfwidth; /* as if printed and read */
    REF_OK(ctx, wisp_moments_merge(ctx, &m, runs, 2));
    assert_true(m.vectors == VECTORS && m.seed == 1 && m.first_vector == -1);
    REF_OK(ctx, wisp_moments_mean(ctx, &m, WISP_REAL_PART, mean, error));
    for (int k = 0; k < MOMENTS; k++) {
        double sum = 0, squares = 0, value[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            value[v] = v < 4 ? runs[0].mu[v * MOMENTS + k] : runs[1].mu[(v - 4) * MOMENTS + k];
            sum += value[v] / VECTORS;
        }
        for (int v = 0; v < VECTORS; v++) squares += (value[v] - sum) * (value[v] - sum);
        assert_true(fabs(mean[k] - sum) < 1e-12 * ROWS);
        assert_true(fabs(error[k] - sqrt(squares / (VECTORS - 1) / VECTORS)) < 1e-12 * ROWS);
    }
    /* Of the runs in it only the first one's seed is known, so it is not taken together with more. */
    wisp_moments more[2] = {m, runs[0]};
    REF_FAILS(ctx, wisp_moments_merge(ctx, &alone, more, 2), WISP_ERR_MISMATCH, "of several runs already");
    REF_OK(ctx, wisp_moments_merge(ctx, &alone, runs, 1));
    assert_true(alone.vectors == 4 && alone.mu != runs[0].mu);
    assert_memory_equal(alone.mu, runs[0].mu, 4 * MOMENTS * sizeof(double));
    for (int i = 0; i < 2; i++) wisp_moments_free(&runs[i]);
    wisp_moments_free(&m);
    wisp_moments_free(&alone);
}

static void refusals(void **state)
{
    wisp_ctx *ctx = *state;
    wisp_moments runs[2], m;
    make_runs(ctx, runs, NULL, (uint64_t[]){3, 3}, (int64_t[]){0, 4}, (int64_t[]){4, 2}, 2);
    REF_OK(ctx, wisp_moments_fit(ctx, &runs[0], &runs[1]));
    const wisp_moments good = runs[1];
    char other[] = "other.mtx";
    static const struct {
        wisp_status status;
        const char *words;
    } bad[] = {{WISP_ERR_MISMATCH, "both have vectors of seed 3"},
               {WISP_ERR_MISMATCH, "24 and 23 moments"},
               {WISP_ERR_MISMATCH, "40 rows"},
               {WISP_ERR_MISMATCH, "with 1"},
               {WISP_ERR_MISMATCH, "complex double and double"},
               {WISP_ERR_MISMATCH, "bounds differ"},
               {WISP_ERR_MISMATCH, "random vectors"},
               {WISP_ERR_MISMATCH, "random vectors"},
               {WISP_ERR_MISMATCH, "H.mtx and other.mtx"},
               {WISP_ERR_ARG, "no vector was completed"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        runs[1] = good;
        switch (i) {
        case 0: runs[1].first_vector = 3; break;
        case 1: runs[1].n = MOMENTS - 1; break;
        case 2: runs[1].rows++; break;
        case 3: runs[1].nnz = 1; break;
        case 4: runs[1].type = WISP_D; break;
        case 5: runs[1].bounds.halfwidth *= 1 + 1e-10; break;
        case 6: runs[1].trace = WISP_TRACE_EXACT; break;
        case 7: runs[1].trace = WISP_TRACE_SITES; break;
        case 8: runs[1].matrix = other; break;
        default: runs[1].vectors = 0;
        }
        REF_FAILS(ctx, wisp_moments_merge(ctx, &m, runs, 2), bad[i].status, bad[i].words);
        assert_null(m.mu);
    }
    REF_FAILS(ctx, wisp_moments_merge(ctx, &m, runs, 0), WISP_ERR_ARG, "no runs");
    runs[1] = good;
    runs[1].trace = WISP_TRACE_SITES; /* alone, too */
    REF_FAILS(ctx, wisp_moments_merge(ctx, &m, &runs[1], 1), WISP_ERR_MISMATCH, "random vectors");
    runs[1].trace = WISP_TRACE_RANDOM, runs[1].vectors = 0;
    REF_FAILS(ctx, wisp_moments_merge(ctx, &m, &runs[1], 1), WISP_ERR_ARG, "no vector was completed");
    runs[1] = good;
    for (int i = 0; i < 2; i++) wisp_moments_free(&runs[i]);
}

/* Matrices of one name with other entries, of any type. */
static void other_entries(void **state)
{
    wisp_ctx *ctx = *state;
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    for (int t = 0; t < 4; t++) {
        ref_rng r = {5};
        wisp_moments runs[3], m;
        ref_mat H = random_hermitian(&r, types[t], ROWS, 0.2);
        for (int i = 0; i < 3; i++) {
            if (i == 2) REF_AT(H, 3, 3) += 0.01;
            wisp_mat *A = ref_mat_of(ctx, H, types[t]);
            const wisp_kpm_opts o = {.moments = MOMENTS,
                                     .vectors = 2,
                                     .first_vector = 2 * i,
                                     .width = 1 + i,
                                     .bounds = {.method = WISP_BOUNDS_GIVEN, .given = {0, 9, NAN}}};
            REF_OK(ctx, wisp_kpm(&runs[i], A, &o));
            REF_OK(ctx, wisp_moments_label(ctx, &runs[i], "H.mtx", "made here"));
            wisp_mat_free(A);
        }
        REF_OK(ctx, wisp_moments_merge(ctx, &m, runs, 2));
        wisp_moments_free(&m);
        REF_FAILS(ctx, wisp_moments_merge(ctx, &m, runs, 3), WISP_ERR_MISMATCH, "their matrices have other entries");
        memset(runs[2].mark, 0, sizeof runs[2].mark); /* of an earlier version */
        REF_OK(ctx, wisp_moments_merge(ctx, &m, runs, 3));
        wisp_moments_free(&m);
        for (int i = 0; i < 3; i++) wisp_moments_free(&runs[i]);
        ref_free(H);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(seeds), cmocka_unit_test(refusals),
                                       cmocka_unit_test(other_entries)};
    return REF_RUN_ALL(tests);
}
