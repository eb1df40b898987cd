/* What kernels of GPUs read from a device's memory and write there, against what the library says that an op must move.
   They are compiled as plain C so that each access calls this program (the compiler's thread sanitizer, without its
   library), which counts sectors of 32 bytes: those that a group meets, each once, as if a first-level cache kept them;
   and those that a whole launch meets. */
#include "gpu_devices.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a device whose accesses are counted ------------------------------------------------------- */

enum { SECTOR = 32, MOST_BUFFERS = 256 };
enum { BY_GROUP, BY_LAUNCH, WAYS };
typedef struct {
    char *at;
    size_t bytes;
    uint32_t *met[2][WAYS]; /* [written]: the number of the group, or launch, that has met a sector last */
    double sectors[2][WAYS];
} buffer;
static buffer memory[MOST_BUFFERS];
static int used;                 /* of them, at most */
static const char *first, *past; /* where all of them have been: what kernels have of their own lies elsewhere mostly */
static struct {
    int64_t group;
    uint32_t number[WAYS];
} now;
static wisp__backend backend;
static wisp__gpu_driver driver, own;

static size_t sectors_of(size_t bytes) { return (bytes + SECTOR - 1) / SECTOR; }

static buffer *buffer_at(const char *at)
{
    static int last;
    if (at < first || at >= past) return NULL;
    if (memory[last].at && at >= memory[last].at && at < memory[last].at + memory[last].bytes) return memory + last;
    for (int i = 0; i < used; i++)
        if (memory[i].at && at >= memory[i].at && at < memory[i].at + memory[i].bytes) return memory + (last = i);
    return NULL;
}

/* What kernels call. */
__attribute__((visibility("default"))) void traffic_seen(int64_t group, const char *at, size_t bytes, int written);
void traffic_seen(int64_t group, const char *at, size_t bytes, int written)
{
    buffer *b = buffer_at(at);
    if (!b) return; /* the host's: parameters, what is LOCAL */
    if (group != now.group) now.group = group, now.number[BY_GROUP]++;
    for (size_t s = (size_t)(at - b->at) / SECTOR; s <= ((size_t)(at - b->at) + bytes - 1) / SECTOR; s++)
        for (int w = 0; w < WAYS; w++)
            if (b->met[written][w][s] != now.number[w]) {
                b->met[written][w][s] = now.number[w];
                b->sectors[written][w]++;
            }
}

static wisp_status alloc(wisp__gpu *g, size_t bytes, void **handle)
{
    const wisp_status status = own.alloc(g, bytes, handle);
    int i = 0;
    while (i < MOST_BUFFERS && memory[i].at) i++;
    assert_true(i < MOST_BUFFERS && status == WISP_OK);
    memory[i] = (buffer){.at = *handle, .bytes = bytes};
    if (i >= used) used = i + 1;
    if (!first || memory[i].at < first) first = memory[i].at;
    if (memory[i].at + bytes > past) past = memory[i].at + bytes;
    for (int k = 0; k < 2 * WAYS; k++)
        memory[i].met[k / WAYS][k % WAYS] = calloc(sectors_of(bytes) + 1, sizeof(uint32_t));
    return status;
}

static void release(wisp__gpu *g, void *handle)
{
    buffer *b = buffer_at(handle);
    for (int k = 0; k < 2 * WAYS; k++) free(b->met[k / WAYS][k % WAYS]);
    b->at = NULL;
    own.free(g, handle);
}

/* The functions that the compiler calls. */
static const char hooks[] = "void traffic_seen(i64 group, const char *at, size_t bytes, int written);\n"
                            "#define HOOK __attribute__((no_sanitize(\"thread\"), visibility(\"hidden\")))\n"
                            "#define SIZE(n) \\\n"
                            "HOOK void __tsan_read##n(void *p) { traffic_seen(items.group, p, n, 0); } \\\n"
                            "HOOK void __tsan_write##n(void *p) { traffic_seen(items.group, p, n, 1); } \\\n"
                            "HOOK void __tsan_unaligned_read##n(void *p) { traffic_seen(items.group, p, n, 0); } \\\n"
                            "HOOK void __tsan_unaligned_write##n(void *p) { traffic_seen(items.group, p, n, 1); }\n"
                            "SIZE(1) SIZE(2) SIZE(4) SIZE(8) SIZE(16)\n"
                            "HOOK void __tsan_read_range(void *p, size_t n) { traffic_seen(items.group, p, n, 0); }\n"
                            "HOOK void __tsan_write_range(void *p, size_t n) { traffic_seen(items.group, p, n, 1); }\n"
                            "HOOK void __tsan_func_entry(void *p) {}\n"
                            "HOOK void __tsan_func_exit(void *p) {}\n"
                            "HOOK void __tsan_init(void) {}\n";

typedef int launch_fn(int64_t first, int64_t step, int64_t groups, const void *p, char *const *a);
typedef struct {
    void *library;
    launch_fn *launch;
} kernel;

static wisp_status compile(wisp__gpu *g, const char *name, const char *text, void **handle)
{
    char folder[] = "/tmp/wisp-traffic-XXXXXX", command[512], path[64];
    const char *rest = text;
    kernel *k = calloc(1, sizeof *k);
    (void)g, (void)name;
    while (*rest == '#') rest += strcspn(rest, "\n") + 1;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/kernel.c", folder);
    FILE *f = fopen(path, "w");
    fprintf(f, "%.*s%s%s%s%s", (int)(rest - text), text, wisp__gpu_text("turns.h"), wisp__gpu_text("item.h"), rest,
            hooks);
    fclose(f);
    snprintf(
        command, sizeof command,
        "cd %s && cc -O1 -w -fPIC -ffp-contract=off -fno-math-errno -U_FORTIFY_SOURCE -fsanitize=thread -c kernel.c "
        "&& cc -shared -o kernel.so kernel.o -lm",
        folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    k->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!k->library) fail_msg("%s", dlerror());
    void *symbol = dlsym(k->library, "item_launch");
    memcpy(&k->launch, &symbol, sizeof symbol);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    *handle = k;
    return WISP_OK;
}

static void drop(wisp__gpu *g, void *handle)
{
    kernel *k = handle;
    (void)g;
    dlclose(k->library);
    free(k);
}

static wisp_status launch(wisp__gpu *g, void *handle, int64_t groups, const void *params, size_t bytes,
                          void *const buffers[K_PLACES])
{
    const kernel *k = handle;
    (void)g, (void)bytes;
    now.number[BY_LAUNCH]++;
    now.group = -1;
    assert_int_equal(k->launch(0, 1, groups, params, (char *const *)buffers), 0);
    return WISP_OK;
}

static wisp_ctx *counted(void)
{
    wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = "plain", .threads = 1});
    wisp__gpu *g = ctx->device;
    backend = *ctx->backend;
    own = driver = *g->driver;
    driver.alloc = alloc, driver.free = release, driver.compile = compile, driver.drop = drop, driver.launch = launch;
    g->driver = &driver;
    ctx->backend = &backend;
    return ctx;
}

/* ---- what was counted -------------------------------------------------------------------------- */

static void forget(void)
{
    for (int i = 0; i < MOST_BUFFERS; i++) memset(memory[i].sectors, 0, sizeof memory[i].sectors);
}

static buffer *buffer_of(wisp_ctx *ctx, const void *address)
{
    void *handle = NULL;
    int64_t at;
    if (address) REF_OK(ctx, wisp__gpu_place(ctx, address, &handle, &at));
    return handle ? buffer_at(handle) : NULL;
}

/* What all groups share, and a larger cache gives them: tables of rows that repeat (A: NULL, or a matrix), and what is
   the backend's own, factors and sums of groups. */
static bool is_shared(wisp_ctx *ctx, const wisp_mat *A, const buffer *b)
{
    const wisp__gpu *g = ctx->device;
    const wisp__entries *e = A ? &A->entries : NULL;
    const bool repeats = e && (e->pattern || e->list);
    if (g->partial && b->at == wisp__gpu_handle(g->partial)) return true;
    if (g->staged && b->at == wisp__gpu_handle(g->staged)) return true;
    return repeats && (b == buffer_of(ctx, e->col) || b == buffer_of(ctx, e->list_first) ||
                       (e->pattern && (b == buffer_of(ctx, e->chunk) || b == buffer_of(ctx, e->val))));
}

/* All bytes. */
static double moved(wisp_ctx *ctx, const wisp_mat *A, bool by_group)
{
    double sectors = 0;
    for (int i = 0; i < MOST_BUFFERS; i++) {
        const buffer *b = memory + i;
        if (!b->at) continue;
        const int way = by_group && !is_shared(ctx, A, b) ? BY_GROUP : BY_LAUNCH;
        sectors += b->sectors[0][way] + b->sectors[1][way];
    }
    return SECTOR * sectors;
}

static void within(double counted_bytes, double told, const char *what, int width, unsigned terms)
{
    if (fabs(counted_bytes / told - 1) > 0.1)
        fail_msg("%s, %d columns, terms %#x: %.0f bytes are moved, %.0f are told (%.3f)", what, width, terms,
                 counted_bytes, told, counted_bytes / told);
}

static wisp_blk *filled(wisp_ctx *ctx, wisp_map *map, wisp_type type, int width)
{
    wisp_blk *x;
    REF_OK(ctx, wisp_blk_create(&x, ctx, map, type, width));
    REF_OK(ctx, wisp_blk_fill_random(x, WISP_RANDOM_TRACE, 1, 0, 0));
    return x;
}

/* ---- sweeps ------------------------------------------------------------------------------------ */

/* Sectors of x that the groups meet, each group those of its rows' columns, by the rows as the source has them. */
static double gathered(const wisp_mat *A, const wisp_src *src, int64_t row_bytes)
{
    const int64_t per = A->grid.chunks_per_block << A->log_c, rows = src->rows;
    int64_t *met = calloc((size_t)(rows * row_bytes / SECTOR + 1), sizeof *met), *col = calloc((size_t)src->max_row, 8);
    void *val = calloc((size_t)src->max_row, 16);
    double sectors = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int n = src->row(src->arg, i, col, val);
        for (int k = 0; k <= n; k++) { /* the row itself, too */
            const int64_t j = k < n ? col[k] : i;
            for (int64_t s = j * row_bytes / SECTOR; s <= ((j + 1) * row_bytes - 1) / SECTOR; s++)
                if (met[s] != 1 + i / per) met[s] = 1 + i / per, sectors++;
        }
    }
    free(met), free(col), free(val);
    return sectors;
}

typedef struct {
    const char *spec;
    wisp_format format;
    wisp_type type;
} sweep_case;

static void check_sweep(wisp_ctx *ctx, const wisp_mat *A, const wisp_src *src, const sweep_case *c, int width,
                        unsigned terms)
{
    wisp_blk *x = filled(ctx, wisp_mat_map(A), c->type, width), *y = filled(ctx, wisp_mat_map(A), c->type, width);
    wisp_scalar shift[32], dot[3 * 32];
    const int64_t row_bytes = width * (int64_t)wisp_type_size(c->type);
    const wisp_aug aug = {
        .terms = terms, .alpha = {0.5, 0}, .beta = {-1, 0}, .shift = terms & WISP_SHIFT ? shift : NULL, .dot = dot};
    char what[160];
    wisp_cost cost;
    for (int j = 0; j < width; j++) shift[j] = ref_scalar(0.25);
    REF_OK(ctx, wisp_spmmv_cost(A, c->type, width, terms, &cost));
    forget();
    REF_OK(ctx, wisp_spmmv(y, A, x, &aug));
    const double once = (double)src->rows * (double)row_bytes, met = gathered(A, src, row_bytes);
    snprintf(what, sizeof what, "%s, %s, format %d", c->spec, wisp_type_name(c->type), (int)c->format);
    within(moved(ctx, A, false), cost.bytes, what, width, terms);
    within(moved(ctx, A, true), cost.bytes - once + SECTOR * met, what, width, terms);
    if (buffer_of(ctx, x->store->at)->sectors[0][BY_GROUP] != met)
        fail_msg("%s, %d columns: %.0f sectors of x are read, %.0f are to be", what, width,
                 buffer_of(ctx, x->store->at)->sectors[0][BY_GROUP], met);
    wisp_blk_free(x);
    wisp_blk_free(y);
}

static void sweeps(void **state)
{
    static const sweep_case cases[] = {{"laplace:nx=16,ny=16,nz=16", WISP_FORMAT_SELL, WISP_D},
                                       {"laplace:nx=16,ny=16,nz=16", WISP_FORMAT_COMPRESSED, WISP_D},
                                       {"laplace:nx=16,ny=16,nz=16", WISP_FORMAT_SELL, WISP_S},
                                       {"anderson:nx=16,ny=16,nz=16,disorder=2,seed=1", WISP_FORMAT_COMPRESSED, WISP_D},
                                       {"topi:nx=10,ny=10,nz=10", WISP_FORMAT_SELL, WISP_Z},
                                       {"topi:nx=10,ny=10,nz=10,disorder=1", WISP_FORMAT_COMPRESSED, WISP_Z},
                                       {"topi:nx=10,ny=10,nz=10", WISP_FORMAT_COMPRESSED, WISP_C}};
    static const int widths[] = {1, 4, 8, 32};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wisp_ctx *ctx = counted();
        wisp_src src;
        wisp_mat *A;
        const wisp_mat_opts o = {.type = cases[i].type, .format = cases[i].format, .order = WISP_ROWS_NATURAL, .C = 32};
        REF_OK(ctx, wisp_src_open(&src, ctx, cases[i].spec));
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        for (int w = 0; w < 4; w++) {
            check_sweep(ctx, A, &src, cases + i, widths[w], 0);
            check_sweep(ctx, A, &src, cases + i, widths[w], REF_KPM);
        }
        wisp_mat_free(A);
        wisp_src_close(&src);
        wisp_ctx_free(ctx);
    }
}

/* ---- blocks ------------------------------------------------------------------------------------ */

enum { ROWS = 6000 };

/* Two updates and two dots, as in an iteration of CG: each block comes once, and goes once. */
static void fused(void **state)
{
    static const int widths[] = {1, 4, 8, 32};
    wisp_ctx *ctx = counted();
    wisp_map *map;
    (void)state;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    for (int i = 0; i < 8; i++) {
        const int width = widths[i % 4];
        wisp_blk *b[4];
        wisp_scalar factor[32], dot[2 * 32];
        wisp_cost cost;
        for (int j = 0; j < width; j++) factor[j] = ref_scalar(0.5 + j);
        for (int k = 0; k < 4; k++) b[k] = filled(ctx, map, i < 4 ? WISP_D : WISP_C, width);
        const wisp_term x[] = {{.x = b[0]}, {.x = b[1], .factor = factor}},
                        r[] = {{.x = b[2]}, {.x = b[3], .factor = factor}};
        const wisp_update update[] = {{b[0], 2, x}, {b[2], 2, r}};
        const wisp_inner inner[] = {{.x = b[2], .y = b[2], .dot = dot}, {.x = b[2], .y = b[3], .dot = dot + width}};
        REF_OK(ctx, wisp_fuse_cost(update, 2, inner, 2, &cost));
        forget();
        REF_OK(ctx, wisp_fuse(update, 2, inner, 2, 0));
        within(moved(ctx, NULL, true), cost.bytes, "updates and dots", width, 0);
        for (int k = 0; k < 4; k++) wisp_blk_free(b[k]);
    }
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

/* Products of tall blocks: V and W once. Groups that share a block of rows read parts of it each. */
static void tall(void **state)
{
    static const struct {
        wisp_type type;
        int p, q;
    } cases[] = {{WISP_D, 1, 1}, {WISP_D, 8, 8}, {WISP_Z, 4, 16}, {WISP_S, 40, 24}, {WISP_D, 64, 64}};
    wisp_ctx *ctx = counted();
    wisp_map *map;
    (void)state;
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int p = cases[i].p, q = cases[i].q;
        const double size = (double)wisp_type_size(cases[i].type), rows = ROWS;
        const wisp_scalar zero = {0, 0}, one = {1, 0}, half = {0.5, 0};
        wisp_blk *v = filled(ctx, map, cases[i].type, p), *w = filled(ctx, map, cases[i].type, q);
        wisp_scalar *x = calloc((size_t)(p * q), sizeof *x);
        forget();
        REF_OK(ctx, wisp_tsm_gram(x, q, one, v, w, zero, 0));
        within(moved(ctx, NULL, false), rows * (p + q) * size, "V^H W", p, (unsigned)q);
        forget();
        REF_OK(ctx, wisp_tsm_update(w, one, v, x, q, zero));
        within(moved(ctx, NULL, false), rows * (p + q) * size, "W = V X", p, (unsigned)q);
        forget();
        REF_OK(ctx, wisp_tsm_update(w, one, v, x, q, half));
        within(moved(ctx, NULL, false), rows * (p + 2 * q) * size, "W = V X + W / 2", p, (unsigned)q);
        free(x);
        wisp_blk_free(v);
        wisp_blk_free(w);
    }
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sweeps), cmocka_unit_test(fused), cmocka_unit_test(tall)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
