/* Interleaved steps: every task waits for what it needs, and the results are those of one sweep after the other. */
#include "data/cascade.h"
#include "ref.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12000, MOST_ROW = 8, GRAPHS = 10 };
enum { CHAIN, PERIODIC, LATTICE, TORUS, ONE_WAY, HALVES, STAR, CLIQUES, FAR_LINKS, RANDOM };
static const char *const graph_name[GRAPHS] = {"chain",  "periodic chain", "lattice", "torus",     "one-way band",
                                               "halves", "star",           "cliques", "far links", "random"};

typedef struct {
    int graph;
    wisp_type type;
} pattern;

static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 29;
}

static int add(int64_t *col, int n, int64_t to)
{
    if (to < 0 || to >= ROWS) return n;
    for (int i = 0; i < n; i++)
        if (col[i] == to) return n;
    col[n] = to;
    return n + 1;
}

/* Some rows are empty in every graph. */
static int columns(int graph, int64_t i, int64_t *col)
{
    const int64_t line = 100, plane = 1500;
    int n = 0;
    if (hash((uint64_t)i, 77) % 50 == 0) return 0;
    switch (graph) {
    case PERIODIC: n = add(col, n, (i + 1) % ROWS), n = add(col, n, (i + ROWS - 1) % ROWS); break;
    case LATTICE: n = add(col, n, i + plane), n = add(col, n, i - plane), n = add(col, n, i + line); break;
    case TORUS:
        n = add(col, n, (i + plane) % ROWS), n = add(col, n, (i + ROWS - plane) % ROWS);
        n = add(col, n, i / plane * plane + (i + line) % plane);
        break;
    case ONE_WAY: n = add(col, n, i + (int64_t)(hash((uint64_t)i, 5) % 900)); return n;
    case HALVES: n = add(col, n, i / (ROWS / 2) * (ROWS / 2) + (i + 700) % (ROWS / 2)); break;
    case STAR: n = add(col, n, 0); break;
    case CLIQUES: n = add(col, n, i / 6 * 6 + (int64_t)(hash((uint64_t)i, 6) % 6)); break;
    case FAR_LINKS:
        if (i % 997 == 0) n = add(col, n, (int64_t)(hash((uint64_t)i, 7) % ROWS));
        break;
    case RANDOM:
        for (uint64_t k = 0; k < 4; k++) n = add(col, n, (int64_t)(hash((uint64_t)i, k) % ROWS));
        break;
    default: break;
    }
    n = add(col, n, i), n = add(col, n, i - 1), n = add(col, n, i + 1);
    return n;
}

static int row(void *arg, int64_t i, int64_t *col, void *val)
{
    const pattern *p = arg;
    int64_t mine[MOST_ROW];
    const int n = columns(p->graph, i, col ? col : mine);
    const bool pairs = wisp_type_is_complex(p->type);
    for (int k = 0; col && k < n; k++) {
        double *v = (double *)val + (pairs ? 2 * k : k);
        v[0] = (double)(hash((uint64_t)i, (uint64_t)col[k]) % 1000) / 3000 - 0.16;
        if (pairs) v[1] = 0.1;
    }
    return n;
}

static wisp_mat *make(wisp_ctx *ctx, pattern *p, int width, wisp_format format)
{
    wisp_mat *A;
    wisp_src src = {.rows = ROWS, .cols = ROWS, .max_row = MOST_ROW, .type = p->type, .row = row, .arg = p};
    REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = width, .format = format}));
    return A;
}

/* Each group does each step once, and begins when all that it reads is there, and all that it overwrites was read. */
static void check_order(const wisp_mat *A, const wisp__cascade *c)
{
    const wisp__schedule *s = &c->schedule;
    const int64_t per = (A->grid.chunks_per_block << A->log_c) * s->group_blocks, groups = (A->rows + per - 1) / per;
    const int steps = c->steps;
    int64_t *at = malloc((size_t)(groups * steps) * sizeof *at);
    for (int64_t i = 0; i < groups * steps; i++) at[i] = -1;
    assert_int_equal(s->tasks, groups * steps);
    for (int64_t i = 0; i < s->tasks; i++) {
        const wisp__task t = s->task[i];
        assert_in_range(t.group, 0, groups - 1);
        assert_in_range(t.step, 0, steps - 1);
        assert_true(t.after < i);
        assert_int_equal(at[t.group * steps + t.step], -1);
        at[t.group * steps + t.step] = i;
    }
    for (int64_t i = 0; i < A->rows; i++)
        for (int e = 0; e < wisp__row_len(&A->local, i); e++) {
            const int64_t g = i / per, h = wisp__entry_col(A, i, e) / per;
            for (int k = 1; k < steps; k++) {
                assert_true(at[h * steps + k - 1] <= s->task[at[g * steps + k]].after);
                assert_true(at[g * steps + k - 1] <= s->task[at[h * steps + k]].after);
            }
        }
    free(at);
}

static void orders(void **state)
{
    (void)state;
    int made = 0, wanted = 0;
    for (int threads = 1; threads <= 4; threads += threads)
        for (int graph = 0; graph < GRAPHS; graph++) {
            wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
            pattern p = {graph, WISP_D};
            if ((threads == 1 || ctx->one_node) && graph != RANDOM) wanted += 3;
            wisp_mat *A = make(ctx, &p, 64, WISP_FORMAT_DEFAULT);
            for (int steps = 2; steps <= 40; steps = steps * 2 + 1) {
                const wisp__cascade *c, *again;
                REF_OK(ctx, wisp__cascade_find(A, 512, steps, &c));
                REF_OK(ctx, wisp__cascade_find(A, 512, steps, &again));
                assert_ptr_equal(c, again);
                if (!c) continue;
                check_order(A, c);
                made++;
                if (graph == CHAIN && threads == 1) assert_true(c->bytes < 1.3 * c->plain_bytes / steps + 2e6);
            }
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
    assert_true(made > wanted); /* of all but some of the random ones */
}

enum { STEPS = 7, SUMS = 2, MOST_WIDTH = 33 };

typedef struct {
    wisp_blk *v[STEPS + 2], *z[SUMS];
    wisp_scalar dot[STEPS * 3 * MOST_WIDTH];
} result;

static void run(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored, int depth, result *r)
{
    wisp_scalar alpha[STEPS], beta[STEPS], gamma[STEPS], eta[SUMS * STEPS];
    for (int k = 0; k < STEPS; k++) {
        alpha[k] = (wisp_scalar){0.5 + 0.1 * k, 0};
        beta[k] = (wisp_scalar){k == 2 ? 0 : -0.7, 0};
        gamma[k] = (wisp_scalar){0.01 * k, 0};
        for (int i = 0; i < SUMS; i++) eta[i * STEPS + k] = (wisp_scalar){i + k == 3 ? 0 : 0.3 + i - 0.1 * k, 0};
    }
    memset(r->dot, 0, sizeof r->dot);
    for (int i = 0; i < stored; i++) {
        REF_OK(ctx, wisp_blk_create(&r->v[i], ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_fill_random(r->v[i], WISP_RANDOM_GAUSS, 4, 9, (uint32_t)(100 * i)));
    }
    for (int i = 0; i < SUMS; i++) {
        REF_OK(ctx, wisp_blk_create(&r->z[i], ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_fill_random(r->z[i], WISP_RANDOM_GAUSS, 5, 9, (uint32_t)(100 * i)));
    }
    const wisp_mpk_opts o = {.steps = STEPS,
                             .alpha = alpha,
                             .beta = beta,
                             .gamma = gamma,
                             .terms = WISP_DOT_XX | WISP_DOT_XY | WISP_DOT_YY,
                             .dot = r->dot,
                             .sums = stored == 2 ? SUMS : 0,
                             .z = r->z,
                             .eta = eta,
                             .depth = depth};
    REF_OK(ctx, wisp_mpk(r->v, stored, A, &o));
}

static void same(const wisp_blk *a, const wisp_blk *b, const char *what)
{
    ref_mat x = ref_get(a), y = ref_get(b);
    if (memcmp(x.a, y.a, (size_t)(x.rows * x.cols) * sizeof *x.a)) fail_msg("%s", what);
    ref_free(x), ref_free(y);
}

static void compare(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored, const char *what)
{
    static const int depths[] = {2, 3, STEPS, 50, 0};
    static result plain, deep; /* large */
    run(ctx, A, type, width, stored, 1, &plain);
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        char text[200];
        snprintf(text, sizeof text, "%s, %s, width %d, %d stored, depth %d", what, wisp_type_name(type), width, stored,
                 depths[d]);
        run(ctx, A, type, width, stored, depths[d], &deep);
        for (int i = 0; i < stored; i++) same(plain.v[i], deep.v[i], text), wisp_blk_free(deep.v[i]);
        for (int i = 0; i < SUMS; i++) same(plain.z[i], deep.z[i], text), wisp_blk_free(deep.z[i]);
        if (memcmp(plain.dot, deep.dot, sizeof plain.dot)) fail_msg("%s: dots", text);
    }
    for (int i = 0; i < stored; i++) wisp_blk_free(plain.v[i]);
    for (int i = 0; i < SUMS; i++) wisp_blk_free(plain.z[i]);
}

/* Bit by bit. */
static void results(void **state)
{
    (void)state;
    static const int widths[] = {33, 8, 16}, stored[] = {2, 3, STEPS + 2};
    static const wisp_format formats[] = {WISP_FORMAT_SELL, WISP_FORMAT_DEFAULT};
    for (int graph = 0; graph < GRAPHS; graph++) {
        const int i = graph % 3;
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1 + graph % 4);
        pattern p = {graph, graph % 2 ? WISP_Z : WISP_D};
        char what[100];
        snprintf(what, sizeof what, "%s, %d threads", graph_name[graph], 1 + graph % 4);
        wisp_mat *A = make(ctx, &p, widths[i], formats[graph / 2 % 2]);
        compare(ctx, A, graph % 4 == 2 ? WISP_Z : p.type, widths[i], stored[graph / 3 % 3], what);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

/* Chunks of rows, and one column. */
static void narrow(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=16,ny=16,nz=900", &(wisp_mat_opts){.C = 16, .sigma = 1}));
    compare(ctx, A, WISP_D, 1, 2, "7-point, C = 16");
    compare(ctx, A, WISP_D, 1, STEPS + 2, "7-point, C = 16");
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void half_is_plain(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    const wisp__cascade *c;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "graphene:nx=40,ny=50",
                              &(wisp_mat_opts){.format = WISP_FORMAT_HERMITIAN, .width = 8}));
    REF_OK(ctx, wisp__cascade_find(A, 64, 4, &c));
    assert_null(c);
    compare(ctx, A, WISP_D, 8, 2, "half");
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(results), cmocka_unit_test(narrow),
                                       cmocka_unit_test(half_is_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
