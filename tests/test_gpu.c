/* Kernels of GPUs without a GPU: as plain C and by an OpenCL of CPUs they give the same bits, and those of the oracle
   up to rounding. */
#include "gpu_devices.h"
#include "storage.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- sweeps ------------------------------------------------------------------------------------ */

static void check_sweep(wisp_mat *const A[DEVICES], const ref_call *c, const char *what)
{
    ref_result got[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        if (!A[d]) continue;
        got[d] = ref_run(A[d]->ctx, A[d], c, c->width % 2 ? REF_VIEWS : REF_COMPACT);
        ref_check(c, &got[d], what);
    }
    if (A[0] && A[1]) {
        same_block(got[0].y, got[1].y, what);
        same_block(got[0].z, got[1].z, what);
        for (int i = 0; i < 4 * c->width; i++)
            if (memcmp(got[0].dot + i, got[1].dot + i, sizeof(wisp_scalar)))
                fail_msg("%s: dot %d has other bits", what, i);
    }
    for (int d = 0; d < DEVICES; d++)
        if (A[d]) ref_result_free(&got[d]);
}

/* Each kind of storage meets a pair of types, all of them together all pairs; every width and many terms. The other
   device, which compiles a kernel in a second, sees one kind in five: columns, patterns, lists, and codes with short
   columns, of real and of complex numbers. */
static void sweeps(void **state)
{
    static const int width[] = {1, 2, 3, 5, 8, 33};
    ref_rng r = {171};
    wisp_ctx *ctx[DEVICES];
    (void)state;
    contexts(ctx);
    for (int k = 0; k < storage_kinds; k++) {
        const storage *kind = &storage_kind[k];
        const ref_types types = ref_pair[k % REF_PAIRS];
        if (kind->far) continue;
        wisp_src src = shape_src(&r, kind->shape, types.mat, kind->few, 300, 300);
        ref_sparse sparse = ref_sparse_of(&src, types.mat);
        wisp_mat *A[DEVICES] = {NULL};
        for (int d = 0; d < DEVICES; d++)
            if (ctx[d] && (d == 0 || k % 5 == 0)) A[d] = storage_make(ctx[d], kind, &src);
        for (size_t w = 0; w < sizeof width / sizeof width[0]; w++) {
            if (REF_SANITIZED && (k + (int)w) % 3)
                continue; /* of the kernels, which are compiled without it, it sees nothing */
            const unsigned some = (unsigned)ref_below(&r, REF_ALL_TERMS), terms[] = {0, REF_KPM, some};
            for (int t = 0; t < 3; t++) {
                ref_call c = ref_call_new(&r, &sparse, types.blk, width[w], terms[t], (int)ref_below(&r, 2));
                check_sweep(A, &c, kind->name);
                ref_call_free(&c);
            }
        }
        for (int d = 0; d < DEVICES; d++) wisp_mat_free(A[d]);
        ref_sparse_free(sparse);
        src.free_arg(src.arg);
    }
    contexts_free(ctx);
}

/* More factors than a list of blocks takes room for. */
static void wide(void **state)
{
    enum { WIDTH = 3000 };
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp_mat *A;
    wisp_blk *b[3];
    wisp_scalar *f = calloc(WIDTH, sizeof *f);
    (void)state;
    for (int j = 0; j < WIDTH; j++) f[j].re = j;
    REF_OK(ctx, wisp_mat_open(&A, ctx, "laplace:nx=8,ny=8,nz=8", &(wisp_mat_opts){.order = WISP_ROWS_TILES}));
    for (int i = 0; i < 3; i++) {
        REF_OK(ctx, wisp_blk_create(&b[i], ctx, wisp_mat_map(A), WISP_D, WIDTH));
        REF_OK(ctx, wisp_blk_fill(b[i], (wisp_scalar){1, 0}));
    }
    const wisp_aug aug = {.terms = WISP_SHIFT | WISP_ADD, .shift = f, .u = b[2], .add = f};
    REF_OK(ctx, wisp_spmmv(b[1], A, b[0], &aug));
    REF_OK(ctx, wisp_spmmv(b[2], A, b[0], NULL)); /* shift and add cancel */
    ref_mat one = ref_get(b[1]), two = ref_get(b[2]);
    ref_assert_close("a wide block", one, two, 1e-12 * WIDTH);
    ref_free(one);
    ref_free(two);
    for (int i = 0; i < 3; i++) wisp_blk_free(b[i]);
    wisp_mat_free(A);
    free(f);
    wisp_ctx_free(ctx);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

enum { BLOCKS = 4, MOST = 33 };
/* What a device makes of the same numbers. */
typedef struct {
    ref_mat block[BLOCKS];
    wisp_scalar dot[2][MOST], gram[MOST * MOST], square[MOST * MOST], careful[MOST * MOST], norm[MOST];
} made;

/* Ops on blocks, one after the other. */
static void make(wisp_ctx *ctx, wisp_type type, int64_t rows, int width, made *m)
{
    ref_rng r = {(uint64_t)(rows * 100 + width)};
    wisp_map *map;
    wisp_blk *b[BLOCKS], *diagonal;
    wisp_slot *slot;
    wisp_scalar f[MOST], g[MOST], x[MOST * MOST];
    const double imaginary = wisp_type_is_complex(type) ? -0.5 : 0;
    memset(m, 0, sizeof *m);
    for (int j = 0; j < MOST; j++) f[j] = ref_scalar(ref_value(&r, type)), g[j] = ref_scalar(ref_value(&r, type));
    for (int j = 0; j < MOST * MOST; j++) x[j] = ref_scalar(ref_value(&r, type));
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    for (int i = 0; i < BLOCKS; i++) {
        ref_mat v = ref_random_block(&r, type, rows, width);
        REF_OK(ctx, wisp_blk_create(&b[i], ctx, map, type, width));
        ref_put(b[i], v);
        ref_free(v);
    }
    REF_OK(ctx, wisp_blk_create(&diagonal, ctx, map, type, 1));
    REF_OK(ctx, wisp_blk_fill(diagonal, (wisp_scalar){0.75, imaginary}));
    const wisp_term term[] = {{.x = b[0], .factor = f}, {.x = b[1], .rows = diagonal},
                              {.x = b[2], .factor = g}, {.x = b[0]},
                              {.x = b[3], .factor = f}, {.x = b[1], .factor = g}};
    const wisp_update update[] = {{.y = b[3], .terms = 6, .term = term}, {.y = b[2], .terms = 2, .term = term}};
    const wisp_inner inner[] = {{.x = b[2], .y = b[3], .dot = m->dot[0]},
                                {.x = b[0], .y = b[1], .rows = diagonal, .dot = m->dot[1]}};
    REF_OK(ctx, wisp_fuse(update, 2, inner, 2, 0));
    REF_OK(ctx, wisp_axpby(b[1], f[0], b[2], g[0]));
    REF_OK(ctx, wisp_tsm_gram(m->gram, width, (wisp_scalar){1, 0}, b[0], b[3], (wisp_scalar){0}, 0));
    REF_OK(ctx, wisp_slot_create(&slot, ctx, (int64_t)width * width));
    REF_OK(ctx, wisp_tsm_gram_at((wisp_place){slot, 0}, width, b[0], b[0], 0));
    REF_OK(ctx, wisp_slot_read(slot, 0, (int64_t)width * width, m->square));
    REF_OK(ctx, wisp_tsm_gram_at((wisp_place){slot, 0}, width, b[1], b[2], WISP_KAHAN));
    REF_OK(ctx, wisp_slot_read(slot, 0, (int64_t)width * width, m->careful));
    REF_OK(ctx, wisp_slot_write(slot, 0, (int64_t)width * width, x));
    REF_OK(ctx, wisp_tsm_update_at(b[1], f[1], b[3], (wisp_place){slot, 0}, width, g[1], WISP_ADJOINT));
    wisp_slot_free(slot);
    REF_OK(ctx, wisp_tsm_update(b[0], f[1], b[3], x, width, g[1]));
    REF_OK(ctx, wisp_tsm_update(b[2], f[1], b[2], x, width, (wisp_scalar){0}));
    REF_OK(ctx, wisp_dot(b[0], b[2], m->norm));
    for (int i = 0; i < BLOCKS; i++) m->block[i] = ref_get(b[i]), wisp_blk_free(b[i]);
    wisp_blk_free(diagonal);
    wisp_map_free(map);
}

static void made_free(made *m)
{
    for (int i = 0; i < BLOCKS; i++) ref_free(m->block[i]);
}

static void blocks(void **state)
{
    static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    static const int width[] = {1, 3, 4, 33};
    static const int64_t rows[] = {0, 1, 77, 2003};
    wisp_ctx *ctx[DEVICES], *cpu = ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 1});
    made *m = calloc(3, sizeof *m);
    (void)state;
    contexts(ctx);
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < 4; w++)
            for (int n = 0; n < 4; n++) {
                const double eps = 100 * ref_eps(types[t]) * (double)(rows[n] + 10);
                /* OpenCL takes seconds for each kernel, and those of other types differ in a word. */
                const bool compiles = types[t] == WISP_Z || (types[t] == WISP_S && width[w] == 1);
                make(cpu, types[t], rows[n], width[w], m + 2);
                for (int d = 0; d < DEVICES; d++) {
                    if (!ctx[d] || (d && !compiles)) continue;
                    make(ctx[d], types[t], rows[n], width[w], m + d);
                    for (int i = 0; i < BLOCKS; i++)
                        ref_assert_close("a block", m[d].block[i], m[2].block[i], 100 * ref_eps(types[t]));
                    near_scalars(m[d].dot[0], m[2].dot[0], 2 * MOST, eps, "dot");
                    near_scalars(m[d].gram, m[2].gram, MOST * MOST, eps, "product");
                    near_scalars(m[d].square, m[2].square, MOST * MOST, eps, "square");
                    near_scalars(m[d].careful, m[2].careful, MOST * MOST, eps, "compensated product");
                    near_scalars(m[d].norm, m[2].norm, MOST, 100 * eps, "dot");
                }
                if (ctx[0] && ctx[1] && compiles) {
                    for (int i = 0; i < BLOCKS; i++) same_block(m[0].block[i], m[1].block[i], "a block");
                    if (memcmp(m[0].dot, m[1].dot, sizeof m->dot) || memcmp(m[0].gram, m[1].gram, sizeof m->gram) ||
                        memcmp(m[0].square, m[1].square, sizeof m->square) ||
                        memcmp(m[0].careful, m[1].careful, sizeof m->careful) ||
                        memcmp(m[0].norm, m[1].norm, sizeof m->norm))
                        fail_msg("sums have other bits");
                }
                for (int i = 0; i < 3; i++)
                    if (i == 2 || (ctx[i] && (i == 0 || compiles))) made_free(m + i);
            }
    free(m);
    contexts_free(ctx);
    wisp_ctx_free(cpu);
}

/* ---- data that moves --------------------------------------------------------------------------- */

enum { MOVED = 7, PICKED = 5 };
/* All of a block, into some columns of which data has come, in some order of the rows: random numbers, then an array by
   rows or columns; and what such an array gets of them. */
typedef struct {
    ref_mat all;
    char *array;
    size_t bytes;
} moved;

static moved move(wisp_ctx *ctx, wisp_type type, wisp_random kind, wisp_layout layout, int order, int64_t rows)
{
    static const int picked[PICKED] = {6, 0, 3, 2, 5};
    const int64_t ld = layout == WISP_ROW_MAJOR ? PICKED : rows;
    ref_rng r = {(uint64_t)(100 * rows + order)};
    moved m = {.bytes = (size_t)(rows * PICKED) * wisp_type_size(type)};
    int32_t *length = malloc((size_t)(rows + 1) * sizeof *length);
    int64_t *number = malloc((size_t)(rows + 1) * sizeof *number);
    wisp_map *map;
    wisp_blk *x, *view, *first;
    m.array = malloc(m.bytes + 1);
    REF_OK(ctx, wisp_map_create(&map, ctx, rows));
    for (int64_t i = 0; i < rows; i++) length[i] = (int32_t)ref_below(&r, 9), number[i] = ref_below(&r, 1LL << 40);
    if ((order & 1) && rows > 0) REF_OK(ctx, wisp__map_sort(map, length, rows));
    if (order & 2) REF_OK(ctx, wisp__map_number(map, number));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, type, MOVED));
    REF_OK(ctx, wisp_blk_fill_random(x, kind, 12345678901234567u, 3, 4));
    REF_OK(ctx, wisp_blk_pick(&view, x, PICKED, picked));
    REF_OK(ctx, wisp_blk_fill_random(view, kind, 98765432109876543u, 1, 0));
    REF_OK(ctx, wisp_blk_cols(&first, x, 0, PICKED));
    REF_OK(ctx, wisp_blk_get(first, layout, m.array, ld));
    REF_OK(ctx, wisp_blk_put(view, layout, m.array, ld));
    m.all = ref_get(x);
    REF_OK(ctx, wisp_blk_get(view, layout, m.array, ld));
    wisp_blk_free(first);
    wisp_blk_free(view);
    wisp_blk_free(x);
    wisp_map_free(map);
    free(length);
    free(number);
    return m;
}

static void moved_free(moved *m)
{
    ref_free(m->all);
    free(m->array);
}

/* On a device as on the CPU, bit by bit; the last ones take more than a slab. */
static void moves(void **state)
{
    static const int64_t rows[] = {0, 1, 33, 1003, 70001};
    wisp_ctx *ctx[DEVICES], *cpu = ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 1});
    (void)state;
    contexts(ctx);
    for (int n = 0; n < 5; n++)
        for (wisp_type t = n < 4 ? WISP_S : WISP_Z; t <= WISP_Z; t++)
            for (int way = 0; way < 4; way++) {
                const wisp_random kind = way & 1 ? WISP_RANDOM_GAUSS : WISP_RANDOM_TRACE;
                const wisp_layout layout = way & 1 ? WISP_ROW_MAJOR : WISP_COL_MAJOR;
                const int order = (way + (int)t) % 4;
                moved want = move(cpu, t, kind, layout, order, rows[n]);
                for (int d = 0; d < DEVICES; d++) {
                    if (!ctx[d]) continue;
                    moved got = move(ctx[d], t, kind, layout, order, rows[n]);
                    if (memcmp(got.all.a, want.all.a, (size_t)(got.all.rows * got.all.cols) * sizeof *got.all.a) ||
                        memcmp(got.array, want.array, got.bytes))
                        fail_msg("%s: %lld rows of %s, way %d, have other bits", device[d], (long long)rows[n],
                                 wisp_type_name(t), way);
                    moved_free(&got);
                }
                moved_free(&want);
            }
    contexts_free(ctx);
    wisp_ctx_free(cpu);
}

/* Rows with numbers of their own are told them, some at a time. */
static void many_rows(void **state)
{
    enum { ROWS = 530000 };
    wisp_ctx *ctx[2] = {ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1}),
                        ref_ctx(&(wisp_ctx_opts){.device = "cpu", .threads = 1})};
    int64_t *number = malloc(ROWS * sizeof *number);
    float *got[2];
    (void)state;
    for (int i = 0; i < ROWS; i++) number[i] = 3 * (int64_t)i;
    for (int d = 0; d < 2; d++) {
        wisp_map *map;
        wisp_blk *x;
        got[d] = malloc(ROWS * sizeof **got);
        REF_OK(ctx[d], wisp_map_create(&map, ctx[d], ROWS));
        REF_OK(ctx[d], wisp__map_number(map, number));
        REF_OK(ctx[d], wisp_blk_create(&x, ctx[d], map, WISP_S, 1));
        REF_OK(ctx[d], wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 7, 0, 0));
        REF_OK(ctx[d], wisp_blk_get(x, WISP_ROW_MAJOR, got[d], 1));
        wisp_blk_free(x);
        wisp_map_free(map);
    }
    assert_memory_equal(got[0], got[1], ROWS * sizeof **got);
    for (int d = 0; d < 2; d++) {
        free(got[d]);
        wisp_ctx_free(ctx[d]);
    }
    free(number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps), cmocka_unit_test(wide),      cmocka_unit_test(blocks),
        cmocka_unit_test(moves),  cmocka_unit_test(many_rows),
    };
    look_for_devices();
    return devices_done("test_gpu", cmocka_run_group_tests(tests, NULL, NULL));
}
