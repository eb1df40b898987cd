/* Moments as items of a state: there and back with all of their arrays, by any number of ranks; what can't be is
   refused, and leaves nothing. */
#include "state_folder.h"

enum { ROWS = 12, N = 20, VECTORS = 3 };

static wisp_ctx *own_ctx(void) { return ref_isa_ctx(NULL, 1); }

/* Writes a state of these items, and opens it. */
static wisp_state *keep(wisp_ctx *ctx, wisp_items_fn items, void *arg)
{
    wisp_state *live, *kept;
    wisp_checkpoint *to;
    REF_OK(ctx, wisp_state_create(&live, ctx, items, arg));
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path}));
    wisp_checkpoint_request(to, 1);
    assert_int_not_equal(wisp_checkpoint_offer(to, live), 0);
    wisp_checkpoint_free(to);
    wisp_state_free(live);
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    return kept;
}

/* ---- there and back ------------------------------------------------------------------------------- */

static const char *const names[] = {"a", "of some length, but not more"};

static wisp_status two_items(void *arg, wisp_state *s)
{
    wisp_moments *m = arg;
    wisp_status status;
    WISP_TRY(wisp_state_moments(s, names[0], m));
    status = wisp_state_moments(s, names[1], m + 1);
out:
    return status;
}

static void same_numbers(const double *a, const double *b, int64_t n)
{
    assert_int_equal(!a, !b);
    if (a) assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static void same_moments(const wisp_moments *a, const wisp_moments *b)
{
    assert_true(a->n == b->n && a->vectors == b->vectors && a->rows == b->rows && a->nnz == b->nnz);
    assert_true(a->bounds.center == b->bounds.center && a->bounds.halfwidth == b->bounds.halfwidth);
    assert_true(a->trace == b->trace && a->seed == b->seed && a->type == b->type && a->flops == b->flops);
    assert_string_equal(a->version, b->version);
    same_numbers(a->mu, b->mu, a->n * a->vectors);
    same_numbers(a->imag, b->imag, a->n * a->vectors);
    assert_int_equal(!a->sites, !b->sites);
    for (int64_t v = 0; a->sites && v < a->vectors; v++) assert_true(a->sites[v] == b->sites[v]);
    assert_int_equal(a->point_count, b->point_count);
    same_numbers(a->points, b->points, a->point_count * WISP_POINT);
    assert_true(!b->matrix && !b->command);
}

static int by_ranks(void *arg, int rank)
{
    static const int64_t sites[VECTORS] = {7, 0, 11};
    double points[2 * WISP_POINT] = {0};
    wisp_ctx *ctx = own_ctx();
    wisp_mat *A;
    wisp_moments m[2], back[2];
    (void)arg, (void)rank;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=3,ny=2,nz=2", &(wisp_mat_opts){.order = WISP_ROWS_NATURAL}));
    wisp_kpm_opts o = {.moments = N, .vectors = VECTORS, .trace = WISP_TRACE_SITES, .sites = sites};
    REF_OK(ctx, wisp_kpm(&m[0], A, &o));
    o = (wisp_kpm_opts){.moments = 600, .vectors = VECTORS, .adjoint = A};
    REF_OK(ctx, wisp_kpm(&m[1], A, &o));
    points[WISP_POINT] = 0.5, points[WISP_POINT + 5] = 1;
    REF_OK(ctx, wisp_moments_points(ctx, &m[1], 2, points));
    REF_OK(ctx, wisp_moments_label(ctx, &m[1], "matrix", "command"));
    assert_true(m[0].sites && !m[0].imag && m[1].imag && !m[1].sites);
    wisp_state *kept = keep(ctx, two_items, m);
    memset(back, 0xff, sizeof back); /* need not be initialised */
    REF_OK(ctx, two_items(back, kept));
    for (int i = 0; i < 2; i++) {
        same_moments(&m[i], &back[i]);
        wisp_moments_free(&m[i]);
        wisp_moments_free(&back[i]);
    }
    wisp_state_free(kept);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return 0;
}

static void there_and_back(void **state)
{
    int result;
    (void)state;
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        assert_int_equal(remove_files(), 0);
        assert_int_equal(wisp_ranks_run(ranks, by_ranks, NULL, &result), WISP_OK);
        assert_int_equal(result, 0);
    }
}

/* ---- what can't be -------------------------------------------------------------------------------- */

/* As a state has them: arrays of so many bytes; 0: without it. */
typedef struct {
    wisp_moments m;
    size_t mu, imag, sites, points;
} forged;

static double numbers[2 * N * VECTORS];

static wisp_status forged_items(void *arg, wisp_state *s)
{
    forged *f = arg;
    wisp_status status;
    WISP_TRY(wisp_state_data(s, "moments of it", &f->m, sizeof f->m));
    if (f->mu) WISP_TRY(wisp_state_data(s, "mu of it", numbers, f->mu));
    if (f->imag) WISP_TRY(wisp_state_data(s, "imag of it", numbers, f->imag));
    if (f->sites) WISP_TRY(wisp_state_data(s, "sites of it", numbers, f->sites));
    status = f->points ? wisp_state_data(s, "points of it", numbers, f->points) : WISP_OK;
out:
    return status;
}

static bool is_empty(const wisp_moments *m)
{
    return !m->mu && !m->imag && !m->sites && !m->points && !m->matrix && !m->command && !m->n && !m->vectors;
}

static void impossible(void **state)
{
    enum { D = sizeof(double), ALL = N * VECTORS * D };
    const wisp_moments m = {.n = N, .vectors = VECTORS, .point_count = 2, .mu = numbers, .imag = numbers};
    const struct {
        int64_t n, vectors, points;
        forged f;
        wisp_status status;
    } cases[] = {
        {N, VECTORS, 2, {.mu = ALL, .imag = ALL, .sites = VECTORS * D, .points = 2 * WISP_POINT * D}, WISP_OK},
        {N, VECTORS, 2, {.mu = ALL}, WISP_OK}, /* pointers of the program that wrote it are none of ours */
        {N, VECTORS, 2, {.mu = 0}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL - D}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL + D}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL - 1}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL + N * D}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL, .imag = ALL / 2}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL, .sites = VECTORS * D + 4}, WISP_ERR_FORMAT},
        {N, VECTORS, 2, {.mu = ALL, .points = WISP_POINT * D}, WISP_ERR_FORMAT},
        {N, VECTORS, -1, {.mu = ALL, .points = WISP_POINT * D}, WISP_ERR_FORMAT},
        {0, VECTORS, 2, {.mu = ALL}, WISP_ERR_FORMAT},
        {N, 0, 2, {.mu = ALL}, WISP_ERR_FORMAT},
        {-N, -VECTORS, 2, {.mu = ALL}, WISP_ERR_FORMAT},
        {N, (1LL << 61) + VECTORS, 2, {.mu = ALL}, WISP_ERR_FORMAT}, /* whose product with N and D wraps */
        {(1LL << 61) + N, VECTORS, 2, {.mu = ALL}, WISP_ERR_FORMAT},
    };
    wisp_ctx *ctx = own_ctx();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forged f = cases[i].f;
        wisp_moments back;
        f.m = m;
        f.m.n = cases[i].n, f.m.vectors = cases[i].vectors, f.m.point_count = cases[i].points;
        assert_int_equal(remove_files(), 0);
        wisp_state *kept = keep(ctx, forged_items, &f);
        memset(&back, 0xff, sizeof back);
        const wisp_status status = wisp_state_moments(kept, "it", &back);
        if (status != cases[i].status) fail_msg("case %zu: %s", i, wisp_status_string(status));
        if (status != WISP_OK) {
            assert_true(is_empty(&back));
            if (!strstr(message_of(ctx), "a state that can't be")) fail_msg("case %zu: %s", i, message_of(ctx));
        } else {
            assert_true(back.mu && back.mu != numbers && !back.imag == !f.imag && back.imag != numbers);
            assert_int_equal(back.point_count, back.points ? 2 : 0);
        }
        wisp_moments_free(&back);
        /* Under another name there are none. */
        assert_int_equal(wisp_state_moments(kept, "else", &back), WISP_ERR_MISMATCH);
        assert_true(is_empty(&back));
        wisp_state_free(kept);
    }
    wisp_ctx_free(ctx);
}

static wisp_status no_items(void *arg, wisp_state *s) { return (void)arg, (void)s, WISP_OK; }

static void live(void **state)
{
    wisp_ctx *ctx = own_ctx();
    wisp_state *s;
    wisp_moments m = {.n = N, .vectors = VECTORS};
    (void)state;
    REF_OK(ctx, wisp_state_create(&s, ctx, no_items, NULL));
    assert_ptr_equal(wisp_state_ctx(s), ctx);
    assert_int_equal(wisp_state_moments(s, "it", &m), WISP_ERR_ARG);
    m.mu = numbers;
    REF_OK(ctx, wisp_state_moments(s, names[1], &m));
    assert_int_equal(wisp_state_moments(s, "of some length, and even more", &m), WISP_ERR_ARG);
    m.n = 0;
    assert_int_equal(wisp_state_moments(s, "it", &m), WISP_ERR_ARG);
    assert_ptr_equal(m.mu, numbers);
    wisp_state_free(s);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(impossible),
                                       cmocka_unit_test(live)};
    return run_in_folder(tests, sizeof tests / sizeof *tests);
}
