/* Kernels of GPUs without a GPU: as plain C and by an OpenCL of CPUs they give the same bits, and those of the oracle
   up to rounding; loans of a device's memory; compiled kernels that are kept; and what goes wrong is found. */
#include "gpu_devices.h"
#include "storage.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Each kind of storage meets a pair of types, all of them together all pairs; every width and many terms. OpenCL, which
   compiles a kernel in a second, sees one in three. */
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
            if (ctx[d] && (d == 0 || k % 3 == 0)) A[d] = storage_make(ctx[d], kind, &src);
        for (size_t w = 0; w < sizeof width / sizeof width[0]; w++) {
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
    static const int64_t rows[] = {0, 1, 77, 5003};
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

/* ---- several threads on one context ------------------------------------------------------------ */

typedef struct {
    wisp_ctx *ctx;
    wisp_map *map;
    int wrong;
} filler;

/* Unit vectors in a block of its own, again and again. */
static void *fill_again(void *arg)
{
    enum { ROWS = 20, WIDTH = 3, ROUNDS = 100 };
    filler *f = arg;
    wisp_blk *x;
    double got[ROWS * WIDTH];
    if (wisp_blk_create(&x, f->ctx, f->map, WISP_D, WIDTH)) f->wrong = ROUNDS;
    for (int i = 0; i < ROUNDS && f->wrong < ROUNDS; i++) {
        int64_t row[WIDTH];
        bool right = true;
        for (int j = 0; j < WIDTH; j++) row[j] = (7 * i + 3 * j) % ROWS;
        right &= wisp_blk_fill_units(x, row) == WISP_OK && wisp_blk_get(x, WISP_ROW_MAJOR, got, WIDTH) == WISP_OK;
        for (int k = 0; k < ROWS * WIDTH; k++) right &= got[k] == (k / WIDTH == row[k % WIDTH]);
        f->wrong += !right;
    }
    wisp_blk_free(x);
    return NULL;
}

static void threads(void **state)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    filler f[2] = {{.ctx = ctx}, {.ctx = ctx}};
    pthread_t thread[2];
    (void)state;
    REF_OK(ctx, wisp_map_create(&f[0].map, ctx, 20));
    f[1].map = f[0].map;
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_create(&thread[t], NULL, fill_again, f + t), 0);
    for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
    assert_int_equal(f[0].wrong + f[1].wrong, 0);
    wisp_map_free(f[0].map);
    wisp_ctx_free(ctx);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* What is lent twice is the same memory, and goes back when its loan ends; what nobody wrote stays. */
static void loans(void **state)
{
    enum { BYTES = 1000 };
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        wisp_ctx *all[DEVICES];
        contexts(all);
        wisp_ctx *ctx = all[d];
        if (ctx) {
            const wisp__backend *b = ctx->backend;
            char *a, *one, *two, *three, out[BYTES];
            REF_OK(ctx, b->alloc(ctx, &a, BYTES, 1));
            for (int i = 0; i < BYTES; i++) out[i] = (char)(i % 100);
            REF_OK(ctx, b->write(ctx, a, out, BYTES));
            REF_OK(ctx, b->lend(ctx, a, 100, WISP_WRITE, &one));
            memset(one + 40, 'x', 30);
            REF_OK(ctx, b->lend(ctx, a + 50, 100, WISP_READ, &two));
            assert_int_equal(two[0], 'x');
            assert_int_equal(two[60], 10);
            REF_OK(ctx, b->lend(ctx, a + 500, 100, WISP_DISCARD, &three));
            memset(three, 'y', 100);
            REF_FAILS(ctx, b->lend(ctx, one, 10, WISP_READ, &three), WISP_ERR_ARG, "an address of the host's");
            REF_FAILS(ctx, b->lend(ctx, a + 500, 501, WISP_READ, &three), WISP_ERR_ARG, "past the end");
            b->unlend(ctx, a + 50);
            b->unlend(ctx, a + 500);
            b->unlend(ctx, a);
            memset(out, 0, sizeof out);
            REF_OK(ctx, b->read(ctx, a, out, BYTES));
            for (int i = 0; i < BYTES; i++)
                assert_int_equal(out[i], i >= 40 && i < 70 ? 'x' : i >= 500 && i < 600 ? 'y' : (char)(i % 100));
            /* A loan ends with its array, and the next one knows nothing of it. */
            REF_OK(ctx, b->lend(ctx, a, WISP__WHOLE_ARRAY, WISP_READ, &one));
            b->free(ctx, a);
            REF_OK(ctx, b->alloc(ctx, &a, BYTES, 1));
            memset(out, 'z', sizeof out);
            REF_OK(ctx, b->write(ctx, a, out, BYTES));
            REF_OK(ctx, b->lend(ctx, a, WISP__WHOLE_ARRAY, WISP_READ, &one));
            assert_int_equal(one[BYTES - 1], 'z');
            b->unlend(ctx, a);
            b->free(ctx, a);
        }
        contexts_free(all);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

/* A program of these texts on the device `plain`, and its kernel. */
static void *compiled(wisp__gpu *g, const char *name, const char *head, const char *kernel)
{
    const char *dialect = wisp__gpu_text("dialect.h"), *params = wisp__gpu_text("params_gpu.h");
    char *text = malloc(strlen(head) + strlen(dialect) + strlen(params) + strlen(kernel) + 1);
    void *handle;
    strcpy(stpcpy(stpcpy(stpcpy(text, head), dialect), params), kernel);
    REF_OK(g->ctx, g->driver->compile(g, name, text, &handle));
    free(text);
    return handle;
}

/* A barrier that not all items reach is told; and a sum whose items don't wait for each other is another one. */
static void mutants(void **state)
{
    enum { COUNT = 100 };
    static const char head[] = "#define GROUP_SIZE 32\n#define REAL double\n#define PARTS 1\n";
    static const char hurried[] = "#define GROUP_SIZE 32\n#define REAL double\n#define PARTS 1\n#define HURRIED\n";
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp__gpu *g = ctx->device;
    double from[COUNT], sum[2], *a;
    void *buffer[K_PLACES] = {NULL};
    k_sums k = {.blocks = COUNT, .size = 1, .each = 1};
    (void)state;
    for (int i = 0; i < COUNT; i++) from[i] = i + 1;
    REF_OK(ctx, ctx->backend->alloc(ctx, &a, COUNT + 1, sizeof *a));
    REF_OK(ctx, ctx->backend->write(ctx, a, from, sizeof from));
    REF_OK(ctx, wisp__gpu_place(ctx, a, buffer + S_PARTIAL, k.at + S_PARTIAL));
    REF_OK(ctx, wisp__gpu_place(ctx, a + COUNT, buffer + S_TO, k.at + S_TO));
    void *const some = compiled(g, "sums", head, "KERNEL(some, k_sums) { if (ITEM < 5) BARRIER(); }\n");
    REF_FAILS(ctx, g->driver->launch(g, some, 3, &k, sizeof k, buffer), WISP_ERR_ARG, "a barrier that not all items");
    void *const later = compiled(g, "sums", head, "KERNEL(later, k_sums) { BARRIER(); if (ITEM > 0) BARRIER(); }\n");
    REF_FAILS(ctx, g->driver->launch(g, later, 3, &k, sizeof k, buffer), WISP_ERR_ARG, "a barrier that not all items");
    for (int i = 0; i < 2; i++) {
        void *const sums = compiled(g, "sums", i ? hurried : head, wisp__gpu_text("sums.gpu.h"));
        REF_OK(ctx, g->driver->launch(g, sums, 1, &k, sizeof k, buffer));
        REF_OK(ctx, ctx->backend->read(ctx, a + COUNT, sum + i, sizeof *sum));
        g->driver->drop(g, sums);
    }
    assert_true(sum[0] == COUNT * (COUNT + 1) / 2);
    assert_true(sum[1] != sum[0]);
    g->driver->drop(g, some);
    g->driver->drop(g, later);
    ctx->backend->free(ctx, a);
    wisp_ctx_free(ctx);
}

/* More definitions than a call has room for are told. */
static void too_long(void **state)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    char text[4000] = "", message[WISP_MESSAGE];
    k_fill k = {.rows = 1};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = i % 10 == 9 ? '\n' : ' ';
    assert_int_equal(wisp__gpu_launch(&c, "fill", 1, "%s", text), WISP_ERR_UNSUPPORTED);
    assert_non_null(strstr(wisp_ctx_message(ctx, message, sizeof message), "'fill' has more definitions"));
    wisp_ctx_free(ctx);
}

/* The files of a folder, and their bytes. */
static int files_in(const char *folder, char name[300], int64_t *bytes)
{
    DIR *d = opendir(folder);
    struct stat is;
    int n = 0;
    *bytes = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(name, 300, "%.40s/%.200s", folder, e->d_name);
        assert_int_equal(stat(name, &is), 0);
        *bytes += is.st_size;
        n++;
    }
    if (d) closedir(d);
    return n;
}

static void fill_some(void)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp_map *map;
    wisp_blk *x;
    REF_OK(ctx, wisp_map_create(&map, ctx, 3));
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, WISP_D, 1));
    REF_OK(ctx, wisp_blk_fill(x, (wisp_scalar){2, 0}));
    ref_mat m = ref_get(x);
    assert_true(m.a[2] == 2);
    ref_free(m);
    wisp_blk_free(x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* A kernel is compiled once; a file that is damaged, cut off or empty is made anew; and files are not kept without end.
 */
static void kept(void **state)
{
    char base[] = "/tmp/wisp-test-gpu-XXXXXX", folder[64], name[300], other[300];
    char *before = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    int64_t bytes, again;
    struct stat was, is;
    (void)state;
    assert_non_null(mkdtemp(base));
    setenv("XDG_CACHE_HOME", base, 1);
    snprintf(folder, sizeof folder, "%s/wisp/kernels", base);
    fill_some();
    assert_int_equal(files_in(folder, name, &bytes), 1);
    assert_int_equal(stat(name, &was), 0);
    fill_some(); /* takes it from there */
    assert_int_equal(stat(name, &is), 0);
    assert_int_equal(is.st_ino, was.st_ino);
    for (int damage = 0; damage < 3; damage++) {
        if (damage == 0) {
            FILE *f = fopen(name, "r+");
            assert_non_null(f);
            fseek(f, (long)bytes / 2, SEEK_SET);
            const int c = fgetc(f);
            fseek(f, (long)bytes / 2, SEEK_SET);
            fputc(c ^ 1, f);
            fclose(f);
        } else {
            assert_int_equal(truncate(name, damage == 1 ? bytes - 1 : 0), 0);
        }
        fill_some();
        assert_int_equal(files_in(folder, other, &again), 1);
        assert_string_equal(name, other);
        assert_int_equal(again, bytes);
    }
    char *large = calloc(1, 20 << 20), text[16];
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "%d", i);
        wisp__gpu_keep("a test", text, large, 20 << 20);
    }
    assert_true(files_in(folder, other, &again) >= 1 && again <= 64 << 20);
    size_t size;
    char *last = wisp__gpu_kept("a test", "4", &size);
    assert_true(last && size == 20 << 20);
    free(last);
    free(large);
    while (files_in(folder, name, &bytes)) unlink(name);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/wisp", base);
    rmdir(folder);
    rmdir(base);
    if (before)
        setenv("XDG_CACHE_HOME", before, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps),    cmocka_unit_test(blocks),  cmocka_unit_test(threads),  cmocka_unit_test(wide),
        cmocka_unit_test(loans),     cmocka_unit_test(mutants), cmocka_unit_test(too_long), cmocka_unit_test(moves),
        cmocka_unit_test(many_rows), cmocka_unit_test(kept),
    };
    look_for_devices();
    return devices_done("test_gpu", cmocka_run_group_tests(tests, NULL, NULL));
}
