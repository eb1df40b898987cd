/* Results of interleaved steps are those of one sweep after the other. */
#include "sched/cascade.h"
#include "graph_rows.h"
#include <stdio.h>
#include <string.h>

static const char *const graph_name[GRAPHS] = {"chain",        "periodic chain", "lattice", "torus",
                                               "one-way band", "halves",         "star",    "cliques",
                                               "far links",    "shuffled chain", "random"};

enum { STEPS = 7, SUMS = 2, MOST_WIDTH = 33 };

typedef struct {
    wisp_blk *v[STEPS + 2], *z[SUMS];
    wisp_scalar dot[STEPS * 3 * MOST_WIDTH];
} result;

/* What a run begins with; it takes long to make. */
static void make_start(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored, result *start)
{
    for (int i = 0; i < stored + SUMS; i++) {
        wisp_blk **const x = i < stored ? &start->v[i] : &start->z[i - stored];
        REF_OK(ctx, wisp_blk_create(x, ctx, wisp_mat_map(A), type, width));
        REF_OK(ctx, wisp_blk_fill_random(*x, WISP_RANDOM_GAUSS, 4, 9, (uint32_t)(100 * i)));
    }
}

static void free_blocks(result *r, int stored)
{
    for (int i = 0; i < stored; i++) wisp_blk_free(r->v[i]);
    for (int i = 0; i < SUMS; i++) wisp_blk_free(r->z[i]);
}

static void copy_start(wisp_ctx *ctx, wisp_blk **x, const wisp_blk *start)
{
    REF_OK(ctx, wisp_blk_create(x, ctx, wisp_blk_map(start), wisp_blk_type(start), wisp_blk_width(start)));
    REF_OK(ctx, wisp_copy(*x, start));
}

static void run(wisp_ctx *ctx, const wisp_mat *A, const result *start, int stored, int depth, result *r)
{
    wisp_scalar alpha[STEPS], beta[STEPS], gamma[STEPS], eta[SUMS * STEPS];
    for (int k = 0; k < STEPS; k++) {
        alpha[k] = (wisp_scalar){0.5 + 0.1 * k, 0};
        beta[k] = (wisp_scalar){k == 2 ? 0 : -0.7, 0};
        gamma[k] = (wisp_scalar){0.01 * k, 0};
        for (int i = 0; i < SUMS; i++) eta[i * STEPS + k] = (wisp_scalar){i + k == 3 ? 0 : 0.3 + i - 0.1 * k, 0};
    }
    memset(r->dot, 0, sizeof r->dot);
    for (int i = 0; i < stored; i++) copy_start(ctx, &r->v[i], start->v[i]);
    for (int i = 0; i < SUMS; i++) copy_start(ctx, &r->z[i], start->z[i]);
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

static void same(wisp_ctx *ctx, const wisp_blk *a, const wisp_blk *b, const char *what)
{
    const size_t row = (size_t)wisp_blk_width(a) * wisp_type_size(wisp_blk_type(a));
    void *x, *y;
    int64_t stride;
    REF_OK(ctx, wisp_blk_lend(a, WISP_WRITE, &x, &stride));
    REF_OK(ctx, wisp_blk_lend(b, WISP_WRITE, &y, NULL));
    assert_int_equal(stride, wisp_blk_width(a));
    if (memcmp(x, y, (size_t)wisp_blk_nrows(a) * row)) fail_msg("%s", what);
    REF_OK(ctx, wisp_blk_return(a));
    REF_OK(ctx, wisp_blk_return(b));
}

static void compare(wisp_ctx *ctx, const wisp_mat *A, wisp_type type, int width, int stored, const char *what)
{
    static const int depths[] = {2, 3, STEPS, 50, 0};
    static result start, plain, deep; /* large */
    make_start(ctx, A, type, width, stored, &start);
    run(ctx, A, &start, stored, 1, &plain);
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        char text[200];
        if (REF_SANITIZED && (size_t)(width + stored) % 5 != d) continue; /* other graphs and blocks meet the others */
        snprintf(text, sizeof text, "%s, %s, width %d, %d stored, depth %d", what, wisp_type_name(type), width, stored,
                 depths[d]);
        run(ctx, A, &start, stored, depths[d], &deep);
        for (int i = 0; i < stored; i++) same(ctx, plain.v[i], deep.v[i], text);
        for (int i = 0; i < SUMS; i++) same(ctx, plain.z[i], deep.z[i], text);
        free_blocks(&deep, stored);
        if (memcmp(plain.dot, deep.dot, sizeof plain.dot)) fail_msg("%s: dots", text);
    }
    free_blocks(&plain, stored);
    free_blocks(&start, stored);
}

/* Bit by bit. */
static void results(void **state)
{
    (void)state;
    static const int widths[] = {33, 8, 16}, stored[] = {2, 3, STEPS + 2};
    static const wisp_format formats[] = {WISP_FORMAT_SELL, WISP_FORMAT_DEFAULT};
    for (int graph = 0; graph < GRAPHS; graph++) {
        const int i = graph % 3, threads = 1 + graph % 5;
        wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
        graph_rows p = {graph, graph % 2 ? WISP_Z : WISP_D};
        char what[100];
        snprintf(what, sizeof what, "%s, %d threads", graph_name[graph], threads);
        wisp_mat *A = graph_mat(ctx, &p, widths[i], formats[graph / 2 % 2]);
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
    REF_OK(ctx, wisp__cascade_find(A, WISP_D, 8, 4, 0, &c));
    assert_null(c);
    compare(ctx, A, WISP_D, 8, 2, "half");
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(results), cmocka_unit_test(narrow),
                                       cmocka_unit_test(half_is_plain)};
    return REF_RUN(tests);
}
