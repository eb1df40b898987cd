/* Half of a Hermitian matrix: what it says of itself, what it takes, new values, refusals, memory that fails. */
#include "half_cases.h"

/* All that is known of the whole matrix is known of the half. */
static void same_properties(void **state)
{
    (void)state;
    ref_rng r = {15};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        herm h = herm_new(&r, WISP_Z, pattern == DENSE ? 50 : 400, pattern);
        wisp_src src = herm_src(&h, WISP_Z);
        wisp_mat *A = half_of(ctx, &h, WISP_Z), *B;
        REF_OK(ctx, wisp_mat_create(&B, ctx, &src, &(wisp_mat_opts){.C = 1}));
        wisp_mat_props p, q;
        memset(&p, 0, sizeof p);
        memset(&q, 0, sizeof q);
        REF_OK(ctx, wisp_mat_get_props(A, &p));
        REF_OK(ctx, wisp_mat_get_props(B, &q));
        assert_int_equal(p.hermitian, 1);
        assert_int_equal(p.diagonal, q.diagonal);
        assert_int_equal(p.bandwidth, q.bandwidth);
        assert_int_equal(p.empty_rows, q.empty_rows);
        assert_int_equal(p.max_row, q.max_row);
        assert_true(p.gershgorin_min == q.gershgorin_min && p.gershgorin_max == q.gershgorin_max);
        assert_true(p.row_mean == q.row_mean && p.row_sdev == q.row_sdev);
        int64_t a[9], b[9];
        REF_OK(ctx, wisp_mat_row_histogram(A, a, 9));
        REF_OK(ctx, wisp_mat_row_histogram(B, b, 9));
        assert_memory_equal(a, b, sizeof a);
        double fa, fb;
        REF_OK(ctx, wisp_mat_fill_in(A, 8, 16, &fa));
        REF_OK(ctx, wisp_mat_fill_in(B, 8, 16, &fb));
        assert_true(fa == fb);
        wisp_mat_info ia, ib, plan;
        wisp_mat_get_info(A, &ia);
        wisp_mat_get_info(B, &ib);
        assert_int_equal(ia.nnz, ib.nnz);
        assert_int_equal(ia.format, WISP_FORMAT_HERMITIAN);
        REF_OK(ctx, wisp_mat_bound(ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}, &plan));
        assert_true(plan.bytes >= ia.bytes && plan.format == WISP_FORMAT_HERMITIAN);
        wisp_cost ca, cb;
        REF_OK(ctx, wisp_spmmv_cost(A, WISP_Z, 2, WISP_AXPBY, &ca));
        REF_OK(ctx, wisp_spmmv_cost(B, WISP_Z, 2, WISP_AXPBY, &cb));
        assert_true(ca.flops == cb.flops);
        assert_true(cb.bytes - ca.bytes == 20.0 * (double)(ib.nnz - p.diagonal) / 2);
        wisp_mat_free(A);
        wisp_mat_free(B);
        herm_free(&h);
    }
    wisp_ctx_free(ctx);
}

/* A stencil takes little more than half of what it takes whole. */
static void half_the_bytes(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A, *B;
    wisp_mat_info a, b;
    const char *name = "laplace:nx=30,ny=30,nz=60,points=27";
    REF_OK(ctx, wisp_mat_open(&A, ctx, name, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN}));
    REF_OK(ctx, wisp_mat_open(&B, ctx, name, &(wisp_mat_opts){.C = 1}));
    wisp_mat_get_info(A, &a);
    wisp_mat_get_info(B, &b);
    assert_true((double)a.bytes < 0.6 * (double)b.bytes);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_ctx_free(ctx);
}

/* What a product and the moments hold beside the half is what is told, and what was planned is enough. */
static void spill_is_counted(void **state)
{
    (void)state;
    enum { WIDTH = 16 };
    static const char *const name[] = {"laplace:nx=200,ny=30,nz=30", "topi:nx=100,ny=15,nz=15"};
    for (int i = 0; i < 2; i++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        const wisp_mat_opts o = {.format = WISP_FORMAT_HERMITIAN, .width = WIDTH};
        const wisp_kpm_opts k = {.moments = 4, .vectors = WIDTH, .width = WIDTH};
        wisp_src src;
        wisp_mat *A;
        wisp_mat_info plan, about, info;
        wisp_moments m;
        int64_t before, peak;
        REF_OK(ctx, wisp_src_open(&src, ctx, name[i]));
        REF_OK(ctx, wisp_mat_bound(ctx, &src, &o, &plan));
        REF_OK(ctx, wisp_mat_plan(ctx, &src, &o, &about));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        wisp_ctx_memory(ctx, &before, &peak);
        assert_true(peak <= plan.assembly_bytes);
        wisp_mat_get_info(A, &info);
        assert_true(info.spill_bytes > 0 && info.spill_bytes <= about.spill_bytes &&
                    about.spill_bytes <= plan.spill_bytes);
        REF_OK(ctx, wisp_kpm(&m, A, &k));
        wisp_ctx_memory(ctx, NULL, &peak);
        wisp_plan run;
        REF_OK(ctx, wisp_kpm_plan(&run, ctx, &info, &k, NULL));
        const double told = (double)run.bytes;
        if (!(fabs((double)(peak - before) - told) < 0.05 * told))
            fail_msg("%s: %lld bytes were held, %.0f were told", name[i], (long long)(peak - before), told);
        wisp_moments_free(&m);
        wisp_mat_free(A);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
}

static void new_values(void **state)
{
    (void)state;
    ref_rng r = {16};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    herm h = herm_new(&r, WISP_Z, 900, LATTICE), other = herm_new(&r, WISP_Z, 900, BAND);
    wisp_mat *A = half_of(ctx, &h, WISP_Z);
    for (int64_t k = 0; k < h.n; k++) h.e[k].a *= 3;
    wisp_src src = herm_src(&h, WISP_Z), bad = herm_src(&other, WISP_Z);
    REF_OK(ctx, wisp_mat_update(A, &src));
    ref_sparse s = ref_sparse_of(&src, WISP_Z);
    ref_call c = ref_call_new(&r, &s, WISP_Z, 2, WISP_AXPBY | WISP_DOT_YY, 0);
    ref_check_call(ctx, A, &c, REF_COMPACT, "updated");
    REF_FAILS(ctx, wisp_mat_update(A, &bad), WISP_ERR_MISMATCH, "another pattern");
    int64_t k = 0;
    while (h.e[k].row <= h.e[k].col) k++;
    h.e[k].a += 1;
    REF_FAILS(ctx, wisp_mat_update(A, &src), WISP_ERR_HERMITIAN, "are not conjugate; take another opts.format");
    ref_call_free(&c);
    ref_sparse_free(s);
    wisp_mat_free(A);
    herm_free(&h);
    herm_free(&other);
    wisp_ctx_free(ctx);
}

static void refused(void **state)
{
    (void)state;
    static const wisp_mat_opts half = {.format = WISP_FORMAT_HERMITIAN};
    ref_rng r = {17};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    herm h = herm_new(&r, WISP_Z, 300, BAND);
    wisp_src src = herm_src(&h, WISP_Z);
    int64_t at = h.n / 2;
    while (h.e[at].row <= h.e[at].col) at++;
    const cplx old = h.e[at].a;
    char words[80];
    /* The entry below the diagonal was changed; the first that fails is its partner above. */
    snprintf(words, sizeof words, "entries (%lld, %lld) and", (long long)h.e[at].col, (long long)h.e[at].row);
    const cplx wrong[] = {old + 1e-15, conj(old), 0, NAN};
    for (int i = 0; i < 4; i++) {
        h.e[at].a = wrong[i];
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &half), WISP_ERR_HERMITIAN, words);
        assert_null(A);
    }
    /* Named in the user's numbers though the rows are sorted. */
    h.e[at].a = old + 1;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .sigma = 300}),
              WISP_ERR_HERMITIAN, words);
    h.e[at].a = old;
    at = 0;
    while (h.e[at].row != h.e[at].col) at++;
    h.e[at].a = 1 + I;
    snprintf(words, sizeof words, "entries (%lld, %lld) and", (long long)h.e[at].row, (long long)h.e[at].row);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &half), WISP_ERR_HERMITIAN, words);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .C = 4}),
              WISP_ERR_ARG, "C is 1");
    herm_free(&h);
    wisp_src wide = ref_random_src(&r, WISP_D, 5, 6, 3);
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &wide, &half), WISP_ERR_HERMITIAN, "square");
    wide.free_arg(wide.arg);
    int64_t now;
    wisp_ctx_memory(ctx, &now, NULL);
    assert_true(now < 100000);
    wisp_ctx_free(ctx);
}

/* Each allocation in turn fails, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    ref_rng r = {18};
    herm h = herm_new(&r, WISP_D, 1200, LATTICE);
    wisp_src src = herm_src(&h, WISP_D);
    int done = 0;
    for (int at = 1; at < 200 && !done; at++) {
        char number[16];
        snprintf(number, sizeof number, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", number, 1);
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        unsetenv("WISP_ALLOC_FAIL_AT");
        if (!ctx) continue;
        wisp_mat *A;
        const wisp_status status = wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN});
        assert_true(status == WISP_OK || status == WISP_ERR_NOMEM);
        done = status == WISP_OK;
        wisp_mat_free(A);
        int64_t now;
        wisp_ctx_memory(ctx, &now, NULL);
        assert_true(now < 100000);
        wisp_ctx_free(ctx);
    }
    assert_true(done);
    herm_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_properties), cmocka_unit_test(half_the_bytes), cmocka_unit_test(spill_is_counted),
        cmocka_unit_test(new_values),      cmocka_unit_test(refused),        cmocka_unit_test(no_memory),
    };
    return REF_RUN(tests);
}
