/* Updates and dots in one pass, against naive arithmetic: random lists over types x widths x rows x instruction sets,
   compact blocks and views; long lists; what is promised of bits, NaN, counts and cost; what is refused. */
#include "fuse_cases.h"
#include <stdio.h>
#include <string.h>

static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};

static void random_lists(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 8, 33};
    static const int64_t rows[] = {0, 1, 17, 64, 129, 1003, 5001};
    ref_rng r = {31};
    call *c = malloc(sizeof *c);
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (int t = 0; t < 4; t++)
            for (int w = 0; w < 5; w++)
                for (int n = 0; n < 7; n++)
                    for (int k = 0; k < (n < 5 ? 12 : 2); k++) {
                        blocks s = blocks_new(ctx, &r, types[t], rows[n], widths[w], k % 2);
                        random_call(c, &r, types[t], widths[w]);
                        check_call(c, &s);
                        blocks_free(&s);
                    }
        wisp_ctx_free(ctx);
    }
    free(c);
}

/* An update with as many terms, and as many dots with one block, as GMRES has. */
static void long_lists(void **state)
{
    (void)state;
    ref_rng r = {32};
    call *c = malloc(sizeof *c);
    for (int isa = 0; isa < REF_ISAS; isa++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[isa], 2);
        if (!ctx) continue;
        for (int t = 0; t < 4; t++)
            for (int w = 1; w <= 3; w += 2) {
                blocks s = blocks_new(ctx, &r, types[t], 3001, w, w == 3 && t % 2);
                *c = (call){.updates = 1, .inners = 50};
                c->update[0].terms = 50;
                for (int i = 0; i < 50; i++) {
                    term *to = c->update[0].term + i;
                    *to = random_term(&r, types[t], w, t % 2);
                    to->scaled = 0;
                    c->inner[i] = (inner){i % BLOCKS, 0, 0, 0};
                }
                check_call(c, &s);
                blocks_free(&s);
            }
        wisp_ctx_free(ctx);
    }
    free(c);
}

enum { SUMS = 11, KEPT = 3, SUM_ROWS = 1237, SUM_WIDTH = 16 };

/* Sums, twice the same, and the blocks that they add. */
typedef struct {
    wisp_blk *y[2][SUMS], *x[KEPT];
    wisp_scalar factor[SUMS][KEPT][SUM_WIDTH];
    wisp_term term[2][SUMS][1 + KEPT];
    wisp_update update[2][SUMS];
} sums;

static void sums_new(sums *s, wisp_ctx *ctx, ref_rng *r, wisp_type type, int width)
{
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, SUM_ROWS));
    for (int i = 0; i < SUMS + KEPT; i++) {
        ref_mat m = ref_random_block(r, type, SUM_ROWS, width);
        for (int way = 0; way < (i < SUMS ? 2 : 1); way++) {
            wisp_blk **b = i < SUMS ? &s->y[way][i] : &s->x[i - SUMS];
            REF_OK(ctx, wisp_blk_create(b, ctx, map, type, width));
            ref_put(*b, m);
        }
        ref_free(m);
    }
    wisp_map_free(map);
    for (int i = 0; i < SUMS * KEPT; i++) {
        const int kind = (i / KEPT + i % KEPT) % 3;
        wisp_scalar f = ref_scalar(ref_value(r, type));
        if (kind == 1) f.im = 0;
        if (kind == 2 && wisp_type_is_complex(type)) f.re = 0;
        for (int j = 0; j < width; j++) s->factor[i / KEPT][i % KEPT][j] = f;
    }
}

/* Sum 6 adds what sum 5 has become, 8 comes twice, and the last one has fewer terms. */
static void sums_update(sums *s, int way)
{
    for (int i = 0; i < SUMS; i++) {
        wisp_blk *y = s->y[way][i == 9 ? 8 : i];
        wisp_term *term = s->term[way][i];
        term[0] = (wisp_term){.x = y};
        for (int t = 0; t < KEPT; t++) term[1 + t] = (wisp_term){.x = s->x[t], .factor = s->factor[i][t]};
        if (i == 6) term[2].x = s->y[way][5];
        s->update[way][i] = (wisp_update){y, i == SUMS - 1 ? KEPT : 1 + KEPT, term};
    }
}

/* Several updates that add the same blocks give what one after the other does, bit by bit: real factors and
   complex ones, parts of which are 0. */
static void updates_that_add_the_same_blocks(void **state)
{
    (void)state;
    enum { WIDTHS = 4 };
    static const int widths[WIDTHS] = {1, 2, 5, SUM_WIDTH};
    ref_rng r = {36};
    sums *s = malloc(sizeof *s);
    for (int k = 0; k < 4 * WIDTHS * REF_ISAS; k++) {
        wisp_ctx *ctx = ref_isa_ctx(ref_isa[k / 4 / WIDTHS], 2);
        if (!ctx) continue;
        sums_new(s, ctx, &r, types[k % 4], widths[k / 4 % WIDTHS]);
        for (int way = 0; way < 2; way++) sums_update(s, way);
        REF_OK(ctx, wisp_fuse(s->update[0], SUMS, NULL, 0, 0));
        for (int i = 0; i < SUMS; i++) REF_OK(ctx, wisp_fuse(s->update[1] + i, 1, NULL, 0, 0));
        for (int i = 0; i < SUMS; i++) {
            ref_mat got = ref_get(s->y[0][i]), want = ref_get(s->y[1][i]);
            assert_memory_equal(got.a, want.a, (size_t)(got.rows * got.cols) * sizeof *got.a);
            ref_free(got), ref_free(want);
            wisp_blk_free(s->y[0][i]), wisp_blk_free(s->y[1][i]);
        }
        for (int i = 0; i < KEPT; i++) wisp_blk_free(s->x[i]);
        wisp_ctx_free(ctx);
    }
    free(s);
}

/* The same layout gives the same bits for any number of threads, in blocks and dots. */
static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        int width;
    } shape[] = {{40001, 1}, {9001, 3}, {3001, 33}};
    call *c = malloc(sizeof *c);
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 3; k++) {
            ref_mat first[BLOCKS] = {0};
            static _Thread_local lists l, l0;
            for (int threads = 1; threads <= 3; threads++) {
                ref_rng r = {33};
                wisp_ctx *ctx = ref_isa_ctx(NULL, threads);
                blocks s = blocks_new(ctx, &r, types[t], shape[k].rows, shape[k].width, 0);
                do random_call(c, &r, types[t], shape[k].width);
                while (c->updates < 2 || c->inners < 2);
                lists_of(&l, c, &s);
                REF_OK(ctx, wisp_fuse(l.update, c->updates, l.inner, c->inners, 0));
                for (int i = 0; i < BLOCKS; i++) {
                    ref_mat got = ref_get(s.b[i]);
                    if (threads > 1)
                        assert_memory_equal(got.a, first[i].a, sizeof(cplx) * (size_t)(got.rows * got.cols));
                    ref_free(threads > 1 ? got : first[i]);
                    if (threads == 1) first[i] = got;
                }
                for (int i = 0; i < c->inners; i++) {
                    const size_t bytes = (size_t)shape[k].width * sizeof(wisp_scalar);
                    if (threads > 1) assert_memory_equal(l.dot[i], l0.dot[i], bytes);
                    memcpy(l0.dot[i], l.dot[i], bytes);
                }
                blocks_free(&s);
                wisp_ctx_free(ctx);
            }
            for (int i = 0; i < BLOCKS; i++) ref_free(first[i]);
        }
    free(c);
}

/* Dots that stay local add up to those of the call; a view of some rows; lists that are empty. */
static void local_dots_and_views(void **state)
{
    (void)state;
    ref_rng r = {34};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    blocks s = blocks_new(ctx, &r, WISP_Z, 300, 2, 0);
    wisp_scalar all[2], local[2];
    wisp_inner inner = {.x = s.b[0], .y = s.b[1], .dot = all};
    REF_OK(ctx, wisp_fuse(NULL, 0, &inner, 1, 0));
    inner.dot = local;
    REF_OK(ctx, wisp_fuse(NULL, 0, &inner, 1, WISP_NOREDUCE));
    REF_OK(ctx, wisp_ctx_sum(ctx, &local->re, 4));
    assert_memory_equal(local, all, sizeof all);
    REF_OK(ctx, wisp_fuse(NULL, 0, NULL, 0, 0));
    if (ref_ranks() == 1) {
        wisp_blk *x, *y;
        REF_OK(ctx, wisp_blk_rows(&x, s.b[0], 10, 77));
        REF_OK(ctx, wisp_blk_rows(&y, s.b[1], 10, 77));
        const wisp_scalar two = {2, 0}, twos[2] = {two, two};
        const wisp_term term[] = {{.x = x, .factor = twos}, {.x = y}};
        REF_OK(ctx, wisp_fuse(&(wisp_update){y, 2, term}, 1, NULL, 0, 0));
        ref_mat got = ref_get(s.b[1]);
        for (int64_t i = 0; i < 300; i++)
            for (int j = 0; j < 2; j++) {
                const cplx old = REF_AT(s.value[1], i, j), want = old + 2 * REF_AT(s.value[0], i, j);
                assert_true(cabs(REF_AT(got, i, j) - (i >= 10 && i < 87 ? want : old)) < 1e-14);
            }
        ref_free(got);
        wisp_blk_free(x), wisp_blk_free(y);
    }
    blocks_free(&s);
    wisp_ctx_free(ctx);
}

/* Each block once in each direction; operations as table I of the KPM paper counts them. */
static void cost_is_that_of_each_block_once(void **state)
{
    (void)state;
    ref_rng r = {35};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    blocks s = blocks_new(ctx, &r, WISP_D, 100, 2, 0);
    int64_t local = wisp_blk_nrows(s.b[0]);
    const double block = (double)local * 2 * 8, numbers = (double)local * 2;
    wisp_blk *x = s.b[0], *rr = s.b[1], *p = s.b[2], *q = s.b[3], *nan = s.b[NANS];
    const wisp_scalar half[2] = {{0.5, 0}, {0.5, 0}}, zero[2] = {{0, 0}, {0, 0}};
    const wisp_term to_x[] = {{.x = x}, {.x = p, .factor = half}, {.x = nan, .factor = zero}},
                    to_r[] = {{.x = rr}, {.x = q, .factor = half}},
                    to_p[] = {{.x = rr, .rows = s.diagonal}, {.x = p, .factor = half}};
    const wisp_update update[] = {{x, 3, to_x}, {rr, 2, to_r}, {p, 2, to_p}};
    wisp_scalar dot[2];
    const wisp_inner inner[] = {{.x = rr, .y = rr, .dot = dot},
                                {.x = q, .y = p, .dot = dot},
                                {.x = rr, .y = rr, .rows = s.diagonal, .dot = dot}};
    wisp_cost cost;
    REF_OK(ctx, wisp_fuse_cost(update, 3, inner, 3, &cost));
    assert_true(cost.bytes == 7 * block + block / 2);
    assert_true(cost.flops == numbers * (3 * 2 + 1 + 2 + 2 + 3));
    /* What is written first is not read. */
    REF_OK(ctx, wisp_fuse_cost(&(wisp_update){p, 1, &(wisp_term){.x = x}}, 1, &(wisp_inner){.x = p, .y = p, .dot = dot},
                               1, &cost));
    assert_true(cost.bytes == 2 * block && cost.flops == 2 * numbers);
    REF_OK(ctx, wisp_fuse_cost(NULL, 0, NULL, 0, &cost));
    assert_true(cost.bytes == 0 && cost.flops == 0);
    blocks_free(&s);
    wisp_ctx_free(ctx);
}

static void counts_grow_by(wisp_ctx *ctx, wisp_counts *before, int passes, int products, int reductions)
{
    wisp_counts now;
    wisp_ctx_counts(ctx, &now);
    assert_int_equal(now.passes - before->passes, passes);
    assert_int_equal(now.products - before->products, products);
    assert_int_equal(now.reductions - before->reductions, reductions);
    *before = now;
}

static void ops_are_counted(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_mat *A;
    wisp_blk *v[3];
    wisp_scalar dot[12] = {{0, 0}}, one = {1, 0};
    double norm[1];
    wisp_counts c;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=5,ny=4,nz=3", NULL));
    for (int i = 0; i < 3; i++) {
        REF_OK(ctx, wisp_blk_create(&v[i], ctx, wisp_mat_map(A), WISP_D, 1));
        REF_OK(ctx, wisp_blk_fill(v[i], one));
    }
    wisp_ctx_counts(ctx, &c);
    REF_OK(ctx, wisp_spmmv(v[1], A, v[0], NULL));
    counts_grow_by(ctx, &c, 1, 1, 0);
    REF_OK(ctx, wisp_spmmv(v[1], A, v[0], &(wisp_aug){.terms = WISP_DOT_XY, .dot = dot}));
    counts_grow_by(ctx, &c, 1, 1, 1);
    REF_OK(ctx, wisp_spmmv(v[1], A, v[0], &(wisp_aug){.terms = WISP_DOT_XY | WISP_NOREDUCE, .dot = dot}));
    counts_grow_by(ctx, &c, 1, 1, 0);
    REF_OK(ctx, wisp_mpk(v, 3, A, &(wisp_mpk_opts){.steps = 3, .terms = WISP_DOT_YY, .dot = dot}));
    counts_grow_by(ctx, &c, 3, 3, 1);
    REF_OK(ctx, wisp_axpy(v[0], one, v[1]));
    REF_OK(ctx, wisp_scal(v[0], one));
    counts_grow_by(ctx, &c, 2, 0, 0);
    REF_OK(ctx, wisp_dot(v[0], v[1], dot));
    REF_OK(ctx, wisp_norm(v[0], norm));
    REF_OK(ctx, wisp_dot_kahan(v[0], v[1], dot));
    counts_grow_by(ctx, &c, 3, 0, 3);
    REF_OK(ctx, wisp_tsm_gram(dot, 1, one, v[0], v[1], one, 0));
    REF_OK(ctx, wisp_tsm_update(v[0], one, v[1], &one, 1, one));
    counts_grow_by(ctx, &c, 2, 0, 1);
    const wisp_term term = {.x = v[1]};
    const wisp_inner inner[] = {{.x = v[0], .y = v[1], .dot = dot}, {.x = v[2], .y = v[1], .dot = dot + 1}};
    REF_OK(ctx, wisp_fuse(&(wisp_update){v[0], 1, &term}, 1, inner, 2, 0));
    counts_grow_by(ctx, &c, 1, 0, 1);
    REF_OK(ctx, wisp_fuse(&(wisp_update){v[0], 1, &term}, 1, inner, 0, 0));
    counts_grow_by(ctx, &c, 1, 0, 0);
    REF_OK(ctx, wisp_ctx_sum(ctx, norm, 1));
    counts_grow_by(ctx, &c, 0, 0, 1);
    REF_FAILS(ctx, wisp_fuse(&(wisp_update){v[0], 0, &term}, 1, NULL, 0, 0), WISP_ERR_ARG, "0 terms");
    counts_grow_by(ctx, &c, 0, 0, 0);
    for (int i = 0; i < 3; i++) wisp_blk_free(v[i]);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    ref_rng r = {36};
    wisp_ctx *ctx = ref_ctx(NULL);
    blocks s = blocks_new(ctx, &r, WISP_D, 40, 2, 0), other = blocks_new(ctx, &r, WISP_D, 40, 2, 0);
    wisp_blk *x = s.b[0], *y = s.b[1], *left, *right, *first, *narrow;
    REF_OK(ctx, wisp_blk_cols(&narrow, x, 0, 1));
    wisp_blk *four;
    REF_OK(ctx, wisp_blk_create(&four, ctx, wisp_blk_map(x), WISP_D, 4));
    REF_OK(ctx, wisp_blk_cols(&left, four, 0, 2));
    REF_OK(ctx, wisp_blk_cols(&right, four, 1, 2));
    REF_OK(ctx, wisp_blk_cols(&first, four, 1, 1));
    wisp_scalar dot[2], i_times[2] = {{1, 0}, {0, 1}};
    wisp_cost cost;
#define TERM(...) (&(wisp_term){__VA_ARGS__, {0}})
#define FUSE(y, ...) wisp_fuse(&(wisp_update){y, 1, TERM(__VA_ARGS__)}, 1, NULL, 0, 0)
#define DOT(...) wisp_fuse(NULL, 0, &(wisp_inner){__VA_ARGS__, {0}}, 1, 0)
    REF_FAILS(ctx, FUSE(y, NULL, NULL, NULL), WISP_ERR_ARG, "NULL");
    REF_FAILS(ctx, FUSE(y, other.b[0], NULL, NULL), WISP_ERR_MISMATCH, "different maps");
    REF_FAILS(ctx, FUSE(y, narrow, NULL, NULL), WISP_ERR_MISMATCH, "one map, shape and type");
    REF_FAILS(ctx, FUSE(y, x, i_times, NULL), WISP_ERR_ARG, "complex factor");
    REF_FAILS(ctx, FUSE(left, right, NULL, NULL), WISP_ERR_ARG, "overlap");
    REF_FAILS(ctx, FUSE(left, x, NULL, first), WISP_ERR_ARG, "`rows` overlaps");
    REF_FAILS(ctx, FUSE(y, x, NULL, x), WISP_ERR_MISMATCH, "one column");
    REF_FAILS(ctx, FUSE(y, x, NULL, other.diagonal), WISP_ERR_MISMATCH, "one column");
    REF_OK(ctx, FUSE(y, x, NULL, narrow)); /* a column of what is read */
    REF_FAILS(ctx, wisp_fuse(&(wisp_update){y, 0, TERM(x, NULL, NULL)}, 1, NULL, 0, 0), WISP_ERR_ARG, "0 terms");
    REF_FAILS(ctx, wisp_fuse(&(wisp_update){y, 1, NULL}, 1, NULL, 0, 0), WISP_ERR_ARG, "NULL");
    REF_FAILS(ctx, wisp_fuse(&(wisp_update){y, 1, TERM(x, NULL, NULL)}, 1, NULL, -1, 0), WISP_ERR_ARG, "-1 dots");
    REF_FAILS(ctx, wisp_fuse(&(wisp_update){y, 1, TERM(x, NULL, NULL)}, 1, NULL, 0, 1u << 20), WISP_ERR_ARG, "flags");
    REF_FAILS(ctx, wisp_fuse(&(wisp_update){y, 1, TERM(x, NULL, NULL)}, 1, NULL, 1, 0), WISP_ERR_ARG, "inner is NULL");
    REF_FAILS(ctx, DOT(x, NULL, NULL, dot), WISP_ERR_ARG, "NULL");
    REF_FAILS(ctx, DOT(x, y, NULL, NULL), WISP_ERR_ARG, "nowhere to put");
    REF_FAILS(ctx, DOT(x, narrow, NULL, dot), WISP_ERR_MISMATCH, "one map, shape and type");
    REF_FAILS(ctx, DOT(x, y, x, dot), WISP_ERR_MISMATCH, "one column");
    assert_int_equal(FUSE(NULL, x, NULL, NULL), WISP_ERR_ARG);
    assert_int_equal(DOT(NULL, x, NULL, dot), WISP_ERR_ARG);
    assert_int_equal(wisp_fuse(NULL, -1, NULL, 0, 0), WISP_ERR_ARG);
    REF_FAILS(ctx, wisp_fuse_cost(NULL, 0, &(wisp_inner){.x = x, .y = narrow}, 1, &cost), WISP_ERR_MISMATCH, "shape");
    wisp_blk_free(left), wisp_blk_free(right), wisp_blk_free(first), wisp_blk_free(narrow), wisp_blk_free(four);
    blocks_free(&s), blocks_free(&other);
    wisp_ctx_free(ctx);
}

/* The first calls allocate; each of these allocations fails once, and nothing is lost (the sanitizers would tell). */
static void allocations_that_fail(void **state)
{
    (void)state;
    if (ref_ranks() > 1) return; /* they share the environment */
    int failures = 0;
    for (int at = 1; at < 40; at++) {
        char text[16];
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        wisp_ctx *ctx;
        wisp_map *map = NULL;
        wisp_blk *x = NULL;
        wisp_scalar dot;
        wisp_cost cost;
        if (wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 2, .no_pin = 1}) != WISP_OK) continue;
        if (wisp_map_create(&map, ctx, 100) == WISP_OK && wisp_blk_create(&x, ctx, map, WISP_D, 1) == WISP_OK) {
            const wisp_update update = {x, 1, &(wisp_term){.x = x}};
            const wisp_inner inner = {.x = x, .y = x, .dot = &dot};
            const wisp_status fuse = wisp_fuse(&update, 1, &inner, 1, 0),
                              costs = wisp_fuse_cost(&update, 1, &inner, 1, &cost);
            assert_true(fuse == WISP_OK || fuse == WISP_ERR_NOMEM);
            assert_true(costs == WISP_OK || costs == WISP_ERR_NOMEM);
            if (fuse != WISP_OK || costs != WISP_OK) {
                failures++;
                REF_OK(ctx, wisp_fuse(&update, 1, &inner, 1, 0));
            }
        }
        wisp_blk_free(x);
        wisp_map_free(map);
        wisp_ctx_free(ctx);
    }
    unsetenv("WISP_ALLOC_FAIL_AT");
    assert_true(failures >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lists),
        cmocka_unit_test(long_lists),
        cmocka_unit_test(updates_that_add_the_same_blocks),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(local_dots_and_views),
        cmocka_unit_test(cost_is_that_of_each_block_once),
        cmocka_unit_test(ops_are_counted),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(allocations_that_fail),
    };
    return REF_RUN(tests);
}
