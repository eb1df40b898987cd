/* (A + A^H)/2 of sources: against the dense one, exactly Hermitian, and with the change that is told. */
#include "kpm_dense.h"

static ref_mat dense_part(ref_mat a)
{
    ref_mat h = ref_new(a.rows, a.rows);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.rows; j++) REF_AT(h, i, j) = (REF_AT(a, i, j) + conj(REF_AT(a, j, i))) / 2;
    return h;
}

/* The rows of a rank, which are all that such a source answers for. */
static int64_t own_rows(wisp_ctx *ctx, int64_t rows, int64_t *first)
{
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    const int64_t local = wisp_map_local(map, first);
    wisp_map_free(map);
    return local;
}

/* The rows of all ranks. */
static ref_mat dense_of(wisp_ctx *ctx, const wisp_src *src)
{
    ref_mat m = ref_new(src->rows, src->cols);
    int64_t first;
    const int64_t local = own_rows(ctx, src->rows, &first);
    const wisp_type type = src->type;
    int64_t *col = malloc(sizeof *col * (size_t)(src->max_row + 1));
    float *val = malloc(wisp_type_size(type) * (size_t)(src->max_row + 1));
    const int parts = wisp_type_is_complex(type) ? 2 : 1, single = type == WISP_S || type == WISP_C;
    for (int64_t i = first; i < first + local; i++) {
        const int n = src->row(src->arg, i, col, val);
        assert_true(n >= 0 && n <= src->max_row);
        for (int k = 0; k < n * parts; k++)
            REF_AT(m, i, col[k / parts]) +=
                (k % parts ? I : 1) * (single ? (double)val[k] : ((double *)(void *)val)[k]);
    }
    free(col), free(val);
    if (m.rows > 0) REF_OK(ctx, wisp_ctx_sum(ctx, (double *)m.a, 2 * (size_t)(m.rows * m.cols)));
    return m;
}

static double largest_difference(ref_mat a, ref_mat b)
{
    double worst = 0;
    for (int64_t i = 0; i < a.rows * a.cols; i++) worst = fmax(worst, cabs(a.a[i] - b.a[i]));
    return worst;
}

static int exactly_hermitian(ref_mat h)
{
    for (int64_t i = 0; i < h.rows; i++)
        for (int64_t j = 0; j < h.rows; j++)
            if (REF_AT(h, i, j) != conj(REF_AT(h, j, i))) return 0;
    return 1;
}

/* Random entries with duplicates and empty rows: hardly one has its partner. */
static void random_sources(void **state)
{
    (void)state;
    ref_rng r = {41};
    for (int trial = 0; trial < 80; trial++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + trial % 2});
        const wisp_type type = (wisp_type)(WISP_S + trial % 4);
        const int64_t n = trial == 0 ? 0 : trial % 8 == 7 ? (ref_ranks() > 1 ? 1100 : 3000) : 1 + ref_below(&r, 200);
        wisp_src src = n > 1000 ? ref_random_src(&r, type, n, n, 4) : ref_random_src(&r, type, n, n, 1 + trial % 20);
        wisp_src part, again;
        double change = -1, none = -1;
        int64_t before, after;
        wisp_ctx_memory(ctx, &before, NULL);
        REF_OK(ctx, wisp_src_hermitian_part(&part, ctx, &src, &change));
        REF_OK(ctx, wisp_src_hermitian_part(&again, ctx, &part, &none));
        assert_true(part.type == type && part.rows == n && part.cols == n);
        ref_mat a = ref_dense(&src), h = dense_of(ctx, &part), h2 = dense_of(ctx, &again), want = dense_part(a);
        assert_true(exactly_hermitian(h));
        ref_assert_close("Hermitian part", h, want, ref_eps(type));
        if (ref_largest(a) > 0)
            assert_true(fabs(change - largest_difference(a, h) / ref_largest(a)) <= 1e-6 * change);
        else
            assert_true(change == 0);
        assert_true(none == 0 && largest_difference(h, h2) == 0);
        wisp_src_close(&part);
        wisp_src_close(&again);
        wisp_ctx_memory(ctx, &after, NULL);
        assert_true(before == after);
        ref_free(a), ref_free(h), ref_free(h2), ref_free(want);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
}

/* A = H - iW. */
static void two_parts(void **state)
{
    wisp_ctx *ctx = *state;
    ref_rng r = {43};
    for (int trial = 0; trial < 40; trial++) {
        const wisp_type type = (wisp_type)(WISP_S + trial % 4);
        const int64_t n = trial == 0 ? 0 : 1 + ref_below(&r, 100);
        wisp_src src = ref_random_src(&r, type, n, n, 1 + trial % 12), first, second, none;
        REF_OK(ctx, wisp_src_part(&first, ctx, &src, WISP_PART_HERMITIAN));
        REF_OK(ctx, wisp_src_part(&second, ctx, &src, WISP_PART_ANTIHERMITIAN));
        assert_true(first.type == type && wisp_type_is_complex(second.type));
        ref_mat a = ref_dense(&src), h = dense_of(ctx, &first), w = dense_of(ctx, &second), sum = ref_new(n, n);
        assert_true(exactly_hermitian(h) && exactly_hermitian(w));
        for (int64_t i = 0; i < n * n; i++) sum.a[i] = h.a[i] - I * w.a[i];
        ref_assert_close("H - iW", sum, a, 2 * ref_eps(type));
        REF_OK(ctx, wisp_src_part(&none, ctx, &first, WISP_PART_ANTIHERMITIAN));
        assert_true(none.max_row == 0);
        wisp_src_close(&none), wisp_src_close(&first), wisp_src_close(&second), wisp_src_close(&src);
        ref_free(a), ref_free(h), ref_free(w), ref_free(sum);
    }
    wisp_src src = ref_random_src(&r, WISP_D, 3, 4, 2), part;
    REF_FAILS(ctx, wisp_src_part(&part, ctx, &src, WISP_PART_HERMITIAN), WISP_ERR_HERMITIAN, "rectangular (3 x 4)");
    REF_FAILS(ctx, wisp_src_part(&part, ctx, &src, (wisp_matrix_part)2), WISP_ERR_ARG, "unknown part 2");
    wisp_src_close(&src);
}

static wisp_status part_of(wisp_ctx *ctx, ref_mat a, wisp_type type, ref_mat *h, double *change)
{
    wisp_src src = ref_dense_src(a, type), part;
    const wisp_status status = wisp_src_hermitian_part(&part, ctx, &src, change);
    if (status == WISP_OK) *h = dense_of(ctx, &part);
    wisp_src_close(&src);
    wisp_src_close(&part);
    return status;
}

static void extreme_values(void **state)
{
    wisp_ctx *ctx = *state;
    static const double values[] = {1.7e308, -1.1e308, 4.9e-324, 1.5e-323, 1e-310, 3, 0.1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ref_mat a = ref_new(2, 2), h;
        double change;
        REF_AT(a, 0, 1) = REF_AT(a, 1, 0) = values[i]; /* already Hermitian: not a bit may change */
        REF_AT(a, 0, 0) = values[i] / 2;
        REF_OK(ctx, part_of(ctx, a, WISP_D, &h, &change));
        assert_true(change == 0 && largest_difference(a, h) == 0);
        ref_free(a), ref_free(h);
    }
    ref_mat a = ref_new(3, 3), h;
    double change;
    REF_AT(a, 0, 0) = 2 + 1e-12 * I; /* an imaginary part on the diagonal */
    REF_AT(a, 1, 2) = 1 + 1 * I;
    REF_AT(a, 2, 1) = 1 - 1 * I;
    REF_OK(ctx, part_of(ctx, a, WISP_Z, &h, &change));
    assert_true(REF_AT(h, 0, 0) == 2 && fabs(change - 0.5e-12) < 1e-15);
    ref_free(a), ref_free(h);
    ref_mat rectangular = ref_new(3, 4);
    REF_FAILS(ctx, part_of(ctx, rectangular, WISP_D, &h, NULL), WISP_ERR_HERMITIAN, "rectangular (3 x 4)");
    ref_free(rectangular);
}

/* A row of topi with every value off by up to 1e-12, and some entries left out where they are as small. */
typedef struct {
    wisp_src clean;
    double noise;
} noisy;

static int noisy_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const noisy *s = arg;
    const int n = s->clean.row(s->clean.arg, row, col, val);
    if (!col) return n + 1;
    double *v = val;
    ref_rng r = {(uint64_t)row * 977 + 5};
    for (int k = 0; k < 2 * n; k++) v[k] += s->noise * ref_uniform(&r);
    col[n] = (row * 31 + 7) % s->clean.cols; /* an entry whose partner is missing */
    v[2 * n] = s->noise, v[2 * n + 1] = -s->noise;
    return n + 1;
}

static void up_to_rounding(void **state)
{
    wisp_ctx *ctx = *state;
    noisy s = {.noise = 1e-12};
    wisp_src part;
    wisp_mat *A, *clean;
    wisp_mat_props props;
    wisp_moments m, want;
    double change;
    const wisp_kpm_opts o = {.moments = 64, .vectors = 4};
    /* Which no several ranks have. */
    const wisp_mat_opts half = {.format = ref_ranks() > 1 ? WISP_FORMAT_DEFAULT : WISP_FORMAT_HERMITIAN};
    REF_OK(ctx, wisp_src_open_gallery(&s.clean, ctx, "topi:nx=12,ny=10,nz=8"));
    const wisp_src src = {s.clean.rows, s.clean.cols, s.clean.max_row + 1, WISP_Z, noisy_row, &s, NULL, 0, NULL, 0,
                          NULL};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_HERMITIAN, "wisp_src_hermitian_part");
    REF_OK(ctx, wisp_mat_get_props(A, &props));
    assert_true(!props.hermitian && props.largest > 1 && props.asymmetry > 1e-13 && props.asymmetry < 1e-11);
    assert_true(props.nearly_hermitian);
    wisp_mat_free(A);
    /* Single precision rounds earlier. */
    s.noise = 3e-7;
    for (int single = 0; single < 2; single++) {
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.type = single ? WISP_C : WISP_Z}));
        REF_OK(ctx, wisp_mat_get_props(A, &props));
        assert_true(!props.hermitian && props.nearly_hermitian == single);
        wisp_mat_free(A);
    }
    s.noise = 1e-12;
    REF_OK(ctx, wisp_src_hermitian_part(&part, ctx, &src, &change));
    assert_true(change > 1e-14 && change < 2e-12);
    REF_OK(ctx, wisp_mat_create(&A, ctx, &part, &half));
    REF_OK(ctx, wisp_mat_create(&clean, ctx, &s.clean, NULL));
    REF_OK(ctx, wisp_kpm(&m, A, &o));
    wisp_kpm_opts same = o;
    same.bounds.given = m.bounds, same.bounds.method = WISP_BOUNDS_GIVEN;
    REF_OK(ctx, wisp_kpm(&want, clean, &same));
    assert_true(worst_difference(m.mu, want.mu, 4 * 64) < 1e-7 * (double)m.rows);
    wisp_moments_free(&m);
    wisp_moments_free(&want);
    wisp_mat_free(A);
    wisp_mat_free(clean);
    /* A larger difference gets other advice. */
    s.noise = 1e-3;
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, NULL));
    REF_FAILS(ctx, wisp_kpm(&m, A, &o), WISP_ERR_HERMITIAN, "this needs a Hermitian matrix");
    wisp_mat_free(A);
    wisp_src_close(&part);
    wisp_src_close(&s.clean);
}

/* Any number of threads gives the same bits, at a size where they share the work. */
static void threads_agree(void **state)
{
    (void)state;
    char *val[2];
    int64_t *col[2], rows = 0, most = 0, first;
    for (int t = 0; t < 2; t++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1 + 2 * t});
        noisy s = {.noise = 1e-9};
        wisp_src part;
        REF_OK(ctx, wisp_src_open_gallery(&s.clean, ctx, "topi:nx=20,ny=20,nz=10"));
        const wisp_src src = {s.clean.rows, s.clean.cols, s.clean.max_row + 1, WISP_Z, noisy_row, &s, NULL, 0, NULL, 0,
                              NULL};
        REF_OK(ctx, wisp_src_hermitian_part(&part, ctx, &src, NULL));
        rows = own_rows(ctx, part.rows, &first), most = part.max_row;
        col[t] = calloc((size_t)(rows * most), sizeof *col[t]);
        val[t] = calloc((size_t)(rows * most), 16);
        for (int64_t i = 0; i < rows; i++) part.row(part.arg, first + i, col[t] + i * most, val[t] + i * most * 16);
        wisp_src_close(&part);
        wisp_src_close(&s.clean);
        wisp_ctx_free(ctx);
    }
    assert_memory_equal(col[0], col[1], (size_t)(rows * most) * sizeof *col[0]);
    assert_memory_equal(val[0], val[1], (size_t)(rows * most) * 16);
    for (int t = 0; t < 2; t++) free(col[t]), free(val[t]);
}

/* Each allocation fails once: nothing leaks, and there is a status. */
static void memory_runs_out(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* the environment is that of all threads */
    ref_rng r = {8};
    wisp_src src = ref_random_src(&r, WISP_D, 300, 300, 5);
    for (int at = 1, failed = 1; failed && at < 1000; at++) {
        char number[16];
        snprintf(number, sizeof number, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", number, 1);
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.threads = 1});
        wisp_src part;
        int64_t left;
        const wisp_status status = wisp_src_hermitian_part(&part, ctx, &src, NULL);
        failed = status != WISP_OK;
        assert_true(!failed || status == WISP_ERR_NOMEM);
        assert_true(!failed || !part.row);
        assert_true(failed || at > 10);
        wisp_src_close(&part);
        wisp_ctx_memory(ctx, &left, NULL);
        assert_int_equal(left, 0);
        wisp_ctx_free(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    wisp_src_close(&src);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sources),
        cmocka_unit_test_setup_teardown(two_parts, ref_setup_all, ref_teardown),
        cmocka_unit_test_setup_teardown(extreme_values, ref_setup_all, ref_teardown),
        cmocka_unit_test_setup_teardown(up_to_rounding, ref_setup_all, ref_teardown),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(memory_runs_out),
    };
    return REF_RUN(tests);
}
