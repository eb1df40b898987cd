/* Row numbers beyond 2^33: a matrix whose first 2^33 rows no rank has, and beyond them the rows of a small one. What
   its ranks hold is as small as that; all numbers of rows and columns that they tell each other are large. */
#include "ref.h"
#include <stdlib.h>
#include "base/rng.h"
#include "data/data.h"

static const int64_t FIRST = INT64_C(1) << 33;

/* From now on maps of FIRST + rows rows give the ranks those from FIRST on, in the shares that they have of `rows`. */
static void share_high(wisp_ctx *ctx, int64_t rows)
{
    int64_t *end = calloc((size_t)ctx->ranks + 1, sizeof *end);
    assert_non_null(end);
    for (int r = 0; r <= ctx->ranks; r++) end[r] = FIRST + wisp__share_begin(ctx, NULL, rows, r);
    free(ctx->weight);
    ctx->weight = end;
}

static int high_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wisp_src *low = arg;
    if (row < FIRST) return -1;
    const int n = low->row(low->arg, row - FIRST, col, val);
    for (int k = 0; col && k < n && n <= low->max_row; k++) col[k] += FIRST;
    return n;
}

static wisp_src high_source(wisp_src *low)
{
    wisp_src high = *low;
    high.rows += FIRST;
    high.cols += FIRST;
    high.row = high_row;
    high.arg = low;
    high.free_arg = NULL;
    return high;
}

/* The same matrix twice: [0] as it is, [1] beyond FIRST; each on a context of its own. */
typedef struct {
    wisp_ctx *ctx[2];
    wisp_src src[2];
    wisp_mat *A[2];
    int64_t rows;
} pair;

static bool pair_open(pair *p, const char *name, const wisp_mat_opts *o)
{
    for (int h = 0; h < 2; h++) p->ctx[h] = ref_ctx(NULL);
    const bool several = wisp_ctx_processes(p->ctx[0]) > 1; /* one has all rows, or none */
    if (several) {
        REF_OK(p->ctx[0], wisp_src_open(&p->src[0], p->ctx[0], name));
        p->rows = p->src[0].rows;
        p->src[1] = high_source(&p->src[0]);
        share_high(p->ctx[1], p->rows);
        for (int h = 0; h < 2; h++) REF_OK(p->ctx[h], wisp_mat_create(&p->A[h], p->ctx[h], &p->src[h], o));
        return true;
    }
    for (int h = 0; h < 2; h++) wisp_ctx_free(p->ctx[h]);
    return false;
}

static void pair_close(pair *p)
{
    for (int h = 0; h < 2; h++) wisp_mat_free(p->A[h]);
    wisp_src_close(&p->src[0]);
    for (int h = 0; h < 2; h++) wisp_ctx_free(p->ctx[h]);
}

static wisp_blk *block_of(const pair *p, int h, int width)
{
    wisp_blk *x;
    REF_OK(p->ctx[h], wisp_blk_create(&x, p->ctx[h], wisp_mat_map(p->A[h]), p->src[0].type, width));
    return x;
}

/* The local rows, by `bytes`. */
static char *rows_of(const wisp_blk *x, size_t *bytes)
{
    const int width = wisp_blk_width(x);
    *bytes = (size_t)wisp_blk_nrows(x) * (size_t)width * wisp_type_size(wisp_blk_type(x));
    char *rows = calloc(*bytes + 1, 1);
    assert_non_null(rows);
    REF_OK(wisp_blk_ctx(x), wisp_blk_get(x, WISP_ROW_MAJOR, rows, width));
    return rows;
}

static void same_rows(const wisp_blk *x, const wisp_blk *y)
{
    size_t bytes, bytes_y;
    char *rows = rows_of(x, &bytes), *rows_y = rows_of(y, &bytes_y);
    assert_int_equal(bytes, bytes_y);
    assert_memory_equal(rows, rows_y, bytes + 1);
    free(rows), free(rows_y);
}

static const char *const names[] = {"topi:nx=9,ny=7,nz=6", "graphene:nx=30,ny=20,vacancies=0.1,disorder=1",
                                    "laplace:nx=40,ny=30,nz=1"};
enum { NAMES = sizeof names / sizeof *names, WIDTH = 3 };

typedef struct {
    wisp_type type;
    int64_t first;
} fill_arg;

/* A number of the row's, wherever it begins. */
static int fill(void *arg, int64_t row, int column, void *val)
{
    const fill_arg *f = arg;
    double *d = val;
    d[0] = (double)((row - f->first) % 97 - 48) / 32 + column;
    if (wisp_type_is_complex(f->type)) d[1] = (double)((row - f->first) % 31) / 16;
    return 0;
}

/* Halo, product, and dots are the same bit by bit. */
static void products(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++)
        for (wisp_order order = WISP_ROWS_NATURAL; order <= WISP_ROWS_TILES; order++) {
            pair p;
            wisp_blk *x[2], *y[2];
            wisp_scalar dot[2][3 * WIDTH];
            wisp_mat_info info[2];
            if (!pair_open(&p, names[i], &(wisp_mat_opts){.width = WIDTH, .order = order})) skip();
            for (int h = 0; h < 2; h++) {
                int64_t first;
                x[h] = block_of(&p, h, WIDTH), y[h] = block_of(&p, h, WIDTH);
                wisp_map_local(wisp_mat_map(p.A[h]), &first);
                assert_int_equal(first, wisp__share_begin(p.ctx[0], NULL, p.rows, p.ctx[0]->rank) + (h ? FIRST : 0));
                fill_arg f = {p.src[0].type, h ? FIRST : 0};
                REF_OK(p.ctx[h], wisp_blk_fill_fn(x[h], fill, &f));
                REF_OK(p.ctx[h],
                       wisp_spmmv(y[h], p.A[h], x[h],
                                  &(wisp_aug){.terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY, .dot = dot[h]}));
                wisp_mat_get_info(p.A[h], &info[h]);
            }
            same_rows(x[0], x[1]);
            same_rows(y[0], y[1]);
            assert_memory_equal(dot[0], dot[1], sizeof dot[0]);
            assert_true(info[1].rows == p.rows + FIRST && info[1].nnz == info[0].nnz);
            assert_int_equal(info[0].halo_rows, info[1].halo_rows);
            assert_int_equal(info[0].send_rows, info[1].send_rows);
            for (int h = 0; h < 2; h++) wisp_blk_free(x[h]), wisp_blk_free(y[h]);
            pair_close(&p);
        }
}

/* Local moments are those of the small matrix; random vectors have the numbers of their rows. */
static void moments(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        pair p;
        int64_t site[2][4];
        wisp_moments m[2], random;
        if (!pair_open(&p, names[i], &(wisp_mat_opts){.width = 4})) skip();
        for (int h = 0; h < 2; h++) {
            for (int k = 0; k < 4; k++) site[h][k] = (p.rows - 1) * k / 3 + (h ? FIRST : 0);
            wisp_kpm_opts o = {.moments = 64,
                               .vectors = 4,
                               .trace = WISP_TRACE_SITES,
                               .sites = site[h],
                               .width = 4,
                               .bounds.method = WISP_BOUNDS_GIVEN,
                               .bounds.given = {.center = 0, .halfwidth = 12}};
            REF_OK(p.ctx[h], wisp_kpm(&m[h], p.A[h], &o));
        }
        assert_memory_equal(m[0].mu, m[1].mu, (size_t)(m[0].n * m[0].vectors) * sizeof *m[0].mu);
        assert_memory_equal(m[1].sites, site[1], sizeof site[1]);
        REF_OK(p.ctx[1], wisp_kpm(&random, p.A[1], &(wisp_kpm_opts){.moments = 32, .vectors = 4, .width = 4}));
        for (int64_t v = 0; v < random.vectors; v++) assert_true(random.mu[v * random.n] == (double)p.rows);
        for (int h = 0; h < 2; h++) wisp_moments_free(&m[h]);
        wisp_moments_free(&random);
        pair_close(&p);
    }
}

static void random_rows(void **state)
{
    enum { SEED = 5, STREAM = 3, COLUMN = 2 };
    (void)state;
    for (wisp_random kind = WISP_RANDOM_TRACE; kind <= WISP_RANDOM_GAUSS; kind++)
        for (int i = 0; i < NAMES; i++) {
            pair p;
            size_t bytes;
            if (!pair_open(&p, names[i], &(wisp_mat_opts){.width = WIDTH})) skip();
            wisp_blk *x = block_of(&p, 1, WIDTH);
            const bool is_complex = wisp_type_is_complex(p.src[0].type);
            int64_t first;
            const int64_t local = wisp_map_local(wisp_mat_map(p.A[1]), &first);
            REF_OK(p.ctx[1], wisp_blk_fill_random(x, kind, SEED, STREAM, COLUMN));
            char *rows = rows_of(x, &bytes);
            const double *at = (const double *)rows;
            for (int64_t k = 0; k < local * WIDTH; k++) {
                const wisp_scalar want = wisp__random_value(kind, is_complex, SEED, first + k / WIDTH,
                                                            COLUMN + (uint32_t)(k % WIDTH), STREAM);
                assert_true(*at++ == want.re && (!is_complex || *at++ == want.im));
            }
            free(rows);
            wisp_blk_free(x);
            pair_close(&p);
        }
}

/* Messages and properties name rows as the user does. */
static void properties(void **state)
{
    pair p;
    wisp_mat_props a[2];
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        if (!pair_open(&p, names[i], NULL)) skip();
        for (int h = 0; h < 2; h++) REF_OK(p.ctx[h], wisp_mat_get_props(p.A[h], &a[h]));
        assert_true(a[1].hermitian && a[0].hermitian);
        assert_true(a[0].gershgorin_min == a[1].gershgorin_min && a[0].gershgorin_max == a[1].gershgorin_max);
        assert_true(a[0].bandwidth == a[1].bandwidth && a[0].diagonal == a[1].diagonal);
        pair_close(&p);
    }
    if (!pair_open(&p, TEST_DATA "/cage5.mtx", NULL)) skip();
    for (int h = 0; h < 2; h++) REF_OK(p.ctx[h], wisp_mat_get_props(p.A[h], &a[h]));
    assert_true(!a[1].hermitian && a[1].bad_row == a[0].bad_row + FIRST && a[1].bad_col == a[0].bad_col + FIRST);
    pair_close(&p);
}

/* What must fit into 32 bits is what a rank has, not the numbers of its rows. */
static void index_limit(void **state)
{
    pair p;
    wisp_mat_info info;
    (void)state;
    if (!pair_open(&p, names[0], NULL)) skip();
    wisp_mat_get_info(p.A[1], &info);
    wisp_ctx *ctx = p.ctx[1];
    double need[64] = {0};
    assert_true(ctx->ranks <= 64);
    need[ctx->rank] = (double)(info.local_rows + info.halo_rows);
    REF_OK(ctx, wisp_ctx_sum(ctx, need, 64));
    int64_t most = 0;
    for (int r = 0; r < ctx->ranks; r++) most = (int64_t)need[r] > most ? (int64_t)need[r] : most;
    for (int less = 0; less < 2; less++) {
        wisp_mat *A;
        ctx->index_limit = most - less;
        const wisp_status status = wisp_mat_create(&A, ctx, &p.src[1], NULL);
        assert_int_equal(status, less ? WISP_ERR_OVERFLOW : WISP_OK);
        wisp_mat_free(A);
    }
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(moments),
                                       cmocka_unit_test(random_rows), cmocka_unit_test(properties),
                                       cmocka_unit_test(index_limit)};
    setenv("WISP_RANKS", "3", 0); /* under mpirun there are its processes */
    return REF_RUN(tests);
}
