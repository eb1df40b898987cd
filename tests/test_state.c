/* States and checkpoints: items there and back by any number of ranks; files that are damaged; hashes of matrices; a
   disk that fails. */
#include "state_folder.h"
#include <math.h>
#include "base/base.h"

static wisp_ctx *own_ctx(int threads) { return ref_isa_ctx(NULL, threads); }

/* ---- items ---------------------------------------------------------------------------------------- */

enum { WIDTHS = 3, LONG = 1500 };
static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
static const int widths[WIDTHS] = {1, 3, 33};

typedef struct {
    wisp_ctx *ctx;
    int64_t rows;
    bool reads;
    double some[LONG], part[LONG]; /* part: this rank's */
    wisp_blk *x[4][WIDTHS];
} shelf;

static wisp_status shelf_items(void *arg, wisp_state *s)
{
    shelf *h = arg;
    wisp_status status;
    char name[32];
    int32_t little = h->reads ? 0 : 77;
    WISP_TRY(wisp_state_samef(s, "rows", "%lld", (long long)h->rows));
    WISP_TRY(wisp_state_data(s, "little", &little, sizeof little));
    if (h->reads) assert_int_equal(little, 77);
    WISP_TRY(wisp_state_data(s, "some", h->some, sizeof h->some));
    WISP_TRY(wisp_state_sums(s, "part", h->part, LONG));
    WISP_TRY(wisp_state_data(s, "nothing", NULL, 0));
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < WIDTHS; w++) {
            snprintf(name, sizeof name, "x%d,%d", t, w);
            WISP_TRY(wisp_state_block(s, name, h->x[t][w]));
        }
out:
    return status;
}

typedef struct {
    int64_t rows;
    wisp_order order;
    wisp_partition partition;
    int ranks; /* that wrote */
} shelf_case;

/* Weights of the source, of whoever is at it; NULL: the context's. */
static const int64_t *own_weights;

static void shelf_open(shelf *h, wisp_ctx *ctx, const shelf_case *c)
{
    ref_rng r = {(uint64_t)c->rows + 5};
    wisp_src src = ref_random_src(&r, WISP_D, c->rows, c->rows, 5), parts;
    wisp_map *map;
    const bool partitions = c->partition != WISP_PARTITION_ROWS && wisp_ctx_processes(ctx) > 1;
    src.weights = own_weights;
    *h = (shelf){.ctx = ctx, .rows = c->rows};
    if (partitions) REF_OK(ctx, wisp_src_partition(&parts, ctx, &src, c->partition));
    REF_OK(ctx, wisp_map_create_ordered(&map, ctx, partitions ? &parts : &src, &(wisp_mat_opts){.order = c->order}));
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < WIDTHS; w++) REF_OK(ctx, wisp_blk_create(&h->x[t][w], ctx, map, types[t], widths[w]));
    if (partitions) wisp_src_close(&parts);
    wisp_map_free(map);
    src.free_arg(src.arg);
}

static void shelf_close(shelf *h)
{
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < WIDTHS; w++) wisp_blk_free(h->x[t][w]);
    wisp_ctx_free(h->ctx);
}

/* Random numbers go by the rows' own numbers, whatever number they were dealt: all layouts are filled alike. */
static void shelf_fill(shelf *h)
{
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < WIDTHS; w++)
            REF_OK(h->ctx, wisp_blk_fill_random(h->x[t][w], WISP_RANDOM_GAUSS, (uint64_t)t, 9, (uint32_t)(40 * w)));
    for (int i = 0; i < LONG; i++) h->some[i] = i * 0.25, h->part[i] = i + (wisp_ctx_rank(h->ctx) == 0 ? 0.5 : 2);
}

static void shelf_compare(shelf *h, int writers)
{
    double sum[LONG];
    for (int i = 0; i < LONG; i++) assert_true(h->some[i] == i * 0.25);
    memcpy(sum, h->part, sizeof sum);
    REF_OK(h->ctx, wisp_ctx_sum(h->ctx, sum, LONG));
    for (int i = 0; i < LONG; i++) assert_true(sum[i] == writers * i + 0.5 + 2 * (writers - 1));
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < WIDTHS; w++) {
            wisp_blk *want;
            double off[40];
            REF_OK(h->ctx, wisp_blk_create(&want, h->ctx, wisp_blk_map(h->x[t][w]), types[t], widths[w]));
            REF_OK(h->ctx, wisp_blk_fill_random(want, WISP_RANDOM_GAUSS, (uint64_t)t, 9, (uint32_t)(40 * w)));
            REF_OK(h->ctx, wisp_axpy(want, (wisp_scalar){-1, 0}, h->x[t][w]));
            REF_OK(h->ctx, wisp_norm(want, off));
            for (int j = 0; j < widths[w]; j++) assert_true(off[j] == 0);
            wisp_blk_free(want);
        }
}

/* A shelf to be written, whose live state is *live. */
static void shelf_begin(shelf *h, wisp_state **live, const shelf_case *c)
{
    wisp_ctx *ctx = own_ctx(2);
    shelf_open(h, ctx, c);
    shelf_fill(h);
    REF_OK(ctx, wisp_state_create(live, ctx, shelf_items, h));
}

static int shelf_end(shelf *h, wisp_state *live)
{
    wisp_state_free(live);
    shelf_close(h);
    return 0;
}

static int offered_whole(void *to, wisp_state *live)
{
    assert_true(wisp_state_is_whole(live));
    return wisp_checkpoint_offer(to, live) ? -1 : 1; /* which does not count */
}

/* A whole state is written when that is asked for, as it was when it was offered, and once. */
static int write_whole_shelf(void *arg, int rank)
{
    wisp_state *live;
    wisp_checkpoint *to;
    wisp_checkpoint_info info;
    shelf h;
    (void)rank;
    shelf_begin(&h, &live, arg);
    wisp_ctx *ctx = h.ctx;
    for (int holds = 0; holds < 2; holds++) {
        const wisp_checkpoint_opts o = {.path = path, .every = 1e-9, .holds = holds};
        REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &o));
        assert_int_equal(wisp_checkpoint_keep(to), WISP_ERR_UNSUPPORTED);
        shelf_fill(&h);
        REF_OK(ctx, wisp_state_offer_whole(live, offered_whole, to));
        assert_false(wisp_state_is_whole(live));
        memset(h.some, 0, sizeof h.some);
        REF_OK(ctx, wisp_checkpoint_wait(to));
        wisp_checkpoint_get_info(to, &info);
        assert_int_equal(info.written, 0);
        assert_int_equal(info.memory > 0, holds);
        if (!holds) wisp_checkpoint_free(to);
    }
    REF_OK(ctx, wisp_checkpoint_keep(to));
    assert_int_equal(wisp_checkpoint_keep(to), WISP_ERR_UNSUPPORTED);
    wisp_checkpoint_get_info(to, &info);
    assert_int_equal(info.written, 1);
    wisp_checkpoint_free(to);
    return shelf_end(&h, live);
}

static int write_shelf(void *arg, int rank)
{
    wisp_state *live;
    wisp_checkpoint *to;
    wisp_checkpoint_info info;
    shelf h;
    (void)rank;
    shelf_begin(&h, &live, arg);
    wisp_ctx *ctx = h.ctx;
    assert_false(wisp_state_is_kept(live));
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path}));
    assert_int_equal(wisp_checkpoint_offer(to, live), 0); /* none is due, nor asked for */
    wisp_checkpoint_get_info(to, &info);
    assert_int_equal(info.written, 0);
    if (wisp_ctx_rank(ctx) == wisp_ctx_processes(ctx) - 1) wisp_checkpoint_request(to, 0); /* one for all */
    while (info.last == 0) { /* at some offer the ranks look at each other */
        assert_int_equal(wisp_checkpoint_offer(to, live), 0);
        wisp_checkpoint_get_info(to, &info);
    }
    REF_OK(ctx, wisp_checkpoint_wait(to));
    wisp_checkpoint_get_info(to, &info);
    assert_int_equal(info.written, 1);
    assert_int_equal(info.failed, 0);
    assert_true(info.bytes > 0 && info.memory >= info.bytes);
    wisp_checkpoint_free(to);
    return shelf_end(&h, live);
}

static int read_shelf(void *arg, int rank)
{
    const shelf_case *c = arg;
    wisp_ctx *ctx = own_ctx(3);
    wisp_state *kept;
    wisp_checkpoint *to;
    shelf h;
    (void)rank;
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    assert_true(wisp_state_is_kept(kept));
    assert_int_equal(wisp_state_bytes(kept, "some"), LONG * sizeof(double));
    assert_int_equal(wisp_state_bytes(kept, "none"), 0);
    assert_null(wisp_state_words(kept, "some"));
    shelf_open(&h, ctx, c);
    h.reads = true;
    REF_OK(ctx, shelf_items(&h, kept));
    shelf_compare(&h, c->ranks);
    /* It may be replaced by who has read it. */
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path, .after = kept}));
    if (wisp_ctx_rank(ctx) == 0) assert_int_equal(wisp_checkpoint_create(NULL, ctx, NULL), WISP_ERR_ARG);
    wisp_checkpoint_free(to);
    /* Not by others. */
    assert_int_equal(wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path}), WISP_ERR_MISMATCH);
    assert_null(to);
    wisp_state_free(kept);
    shelf_close(&h);
    return 0;
}

static void there_and_back(void **state)
{
    static const shelf_case cases[] = {{103, WISP_ROWS_NATURAL, WISP_PARTITION_ROWS, 0},
                                       {1, WISP_ROWS_NATURAL, WISP_PARTITION_ROWS, 0},
                                       {700, WISP_ROWS_RCM, WISP_PARTITION_ROWS, 0},
                                       {411, WISP_ROWS_RCM, WISP_PARTITION_LEVELS, 0}};
    static const struct {
        int ranks;
        const char *weights;
    } way[] = {{1, ""}, {2, ""}, {3, "2,0,1"}, {5, ""}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int from = 0; from < 4; from++)
            for (int to = 0; to < 4; to++) {
                shelf_case s = cases[c];
                int result;
                s.ranks = way[from].ranks;
                static const int64_t uneven[] = {5, 0, 1, 3, 2};
                assert_int_equal(remove_files(), 0);
                setenv("WISP_WEIGHTS", way[from].weights, 1);
                own_weights = from > to ? uneven : NULL;
                assert_int_equal(wisp_ranks_run(way[from].ranks, write_shelf, &s, &result), WISP_OK);
                assert_int_equal(result, 0);
                assert_int_equal(count_files(), way[from].ranks);
                setenv("WISP_WEIGHTS", way[to].weights, 1);
                own_weights = to > from ? uneven : NULL;
                if (from != to && to == 1) s.order = WISP_ROWS_NATURAL;
                assert_int_equal(wisp_ranks_run(way[to].ranks, read_shelf, &s, &result), WISP_OK);
                assert_int_equal(result, 0);
            }
    unsetenv("WISP_WEIGHTS");
}

static void held(void **state)
{
    (void)state;
    own_weights = NULL;
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        shelf_case s = {103, WISP_ROWS_NATURAL, WISP_PARTITION_ROWS, ranks};
        int result;
        assert_int_equal(remove_files(), 0);
        assert_int_equal(wisp_ranks_run(ranks, write_whole_shelf, &s, &result), WISP_OK);
        assert_int_equal(result, 0);
        assert_int_equal(count_files(), ranks);
        assert_int_equal(wisp_ranks_run(ranks, read_shelf, &s, &result), WISP_OK);
        assert_int_equal(result, 0);
    }
}

/* ---- damage --------------------------------------------------------------------------------------- */

typedef struct {
    char *data;
    size_t bytes;
} image;

static image load(const char *name)
{
    FILE *f = fopen(name, "rb");
    image m = {0};
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    m.bytes = (size_t)ftell(f);
    rewind(f);
    m.data = malloc(m.bytes + 1);
    assert_int_equal(fread(m.data, 1, m.bytes, f), m.bytes);
    fclose(f);
    return m;
}

static void store(const char *name, const char *data, size_t bytes)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

static void damaged_files(void **state)
{
    shelf_case c = {37, WISP_ROWS_NATURAL, WISP_PARTITION_ROWS, 1};
    char before[128];
    ref_rng r = {3};
    (void)state;
    assert_int_equal(remove_files(), 0);
    assert_int_equal(write_shelf(&c, 0), 0);
    const image whole = load(path);
    wisp_ctx *ctx = own_ctx(1);
    wisp_state *kept;
    snprintf(before, sizeof before, "%s.before", path);
    /* Any flipped bit, and any length but its own, is found out; the generation before is taken, if there is one. */
    for (int i = 0; i < 400; i++) {
        const bool flips = i % 2;
        const size_t at = (size_t)(i < 80 ? (size_t)i * 2 : (size_t)ref_below(&r, (int64_t)whole.bytes));
        whole.data[at] = (char)(whole.data[at] ^ (flips ? 1 << i % 8 : 0));
        store(path, whole.data, flips ? whole.bytes : at);
        whole.data[at] = (char)(whole.data[at] ^ (flips ? 1 << i % 8 : 0));
        const wisp_status status = wisp_state_open(&kept, ctx, path);
        if (status != WISP_ERR_FORMAT && status != WISP_ERR_UNSUPPORTED)
            fail_msg("byte %zu %s: %s", at, flips ? "flipped" : "and what follows gone", wisp_status_string(status));
        assert_null(kept);
        assert_non_null(strstr(message_of(ctx), path));
        if (i % 50 > 1) continue;
        store(before, whole.data, whole.bytes);
        REF_OK(ctx, wisp_state_open(&kept, ctx, path));
        wisp_state_free(kept);
        remove(before);
    }
    assert_int_equal(wisp_state_open(&kept, ctx, folder), WISP_ERR_FORMAT);
    remove(path);
    assert_int_equal(wisp_state_open(&kept, ctx, path), WISP_ERR_IO);
    store(before, whole.data, whole.bytes); /* ended between two renamings, where there are no links */
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    wisp_state_free(kept);
    free(whole.data);
    wisp_ctx_free(ctx);
}

/* ---- items that do not fit -------------------------------------------------------------------------- */

typedef struct {
    wisp_blk *x;
    int change;
} misfit;

static wisp_status misfit_items(void *arg, wisp_state *s)
{
    const misfit *m = arg;
    double v[4] = {1, 2, 3, 4};
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "seed", "%d", m->change == 1 ? 8 : 7));
    WISP_TRY(wisp_state_data(s, m->change == 2 ? "w" : "v", v, sizeof v - (m->change == 3 ? 8 : 0)));
    if (m->change == 4) {
        status = wisp_state_sums(s, "v", v, 4);
        goto out;
    }
    status = wisp_state_block(s, "x", m->x);
out:
    return status;
}

static void misfits(void **state)
{
    static const char *const words[] = {"is of a run with seed 7, and this one has 8",
                                        "\"w\" is missing",
                                        "\"v\" has another length",
                                        "\"v\" is of another kind",
                                        "\"x\" is a block of another type or width",
                                        "\"x\" has another number of rows"};
    wisp_ctx *ctx = own_ctx(1);
    wisp_map *map, *longer;
    misfit m = {0};
    wisp_state *live, *kept;
    wisp_checkpoint *to;
    wisp_blk *good, *wide, *tall;
    (void)state;
    assert_int_equal(remove_files(), 0);
    REF_OK(ctx, wisp_map_create(&map, ctx, 10));
    REF_OK(ctx, wisp_map_create(&longer, ctx, 11));
    REF_OK(ctx, wisp_blk_create(&good, ctx, map, WISP_D, 2));
    REF_OK(ctx, wisp_blk_create(&wide, ctx, map, WISP_Z, 2));
    REF_OK(ctx, wisp_blk_create(&tall, ctx, longer, WISP_D, 2));
    m.x = good;
    REF_OK(ctx, wisp_state_create(&live, ctx, misfit_items, &m));
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path}));
    wisp_checkpoint_request(to, 1);
    assert_int_not_equal(wisp_checkpoint_offer(to, live), 0);
    wisp_checkpoint_info info;
    wisp_checkpoint_get_info(to, &info);
    assert_true(info.ended && info.saved && info.written == 1);
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    REF_OK(ctx, misfit_items(&m, kept));
    for (m.change = 1; m.change <= 6; m.change++) {
        m.x = m.change == 5 ? wide : m.change == 6 ? tall : good;
        assert_int_equal(misfit_items(&m, kept), WISP_ERR_MISMATCH);
        if (!strstr(message_of(ctx), words[m.change - 1])) fail_msg("%s", message_of(ctx));
    }
    assert_int_equal(wisp_state_add(kept, misfit_items, &m), WISP_ERR_ARG);
    wisp_checkpoint_remove(to);
    assert_int_equal(count_files(), 0);
    wisp_checkpoint_free(to);
    wisp_state_free(kept);
    wisp_state_free(live);
    wisp_blk_free(good), wisp_blk_free(wide), wisp_blk_free(tall);
    wisp_map_free(map), wisp_map_free(longer);
    wisp_ctx_free(ctx);
}

/* ---- hashes ---------------------------------------------------------------------------------------- */

static uint64_t hash_of(wisp_ctx *ctx, ref_mat dense, wisp_type type)
{
    wisp_src src = ref_dense_src(dense, type);
    uint64_t hash;
    REF_OK(ctx, wisp_src_hash(ctx, &src, &hash));
    src.free_arg(src.arg);
    return hash;
}

static int hashes_by_ranks(void *arg, int rank)
{
    wisp_ctx *ctx = own_ctx(2);
    ref_rng r = {11};
    wisp_src src = ref_random_src(&r, WISP_Z, 301, 301, 7);
    uint64_t hash, *first = arg;
    REF_OK(ctx, wisp_src_hash(ctx, &src, &hash));
    if (rank == 0 && *first == 0) *first = hash;
    const bool same = rank > 0 || hash == *first;
    src.free_arg(src.arg);
    wisp_ctx_free(ctx);
    return !same;
}

static void hashes(void **state)
{
    wisp_ctx *ctx = own_ctx(2);
    ref_rng r = {4};
    ref_mat m = ref_random_block(&r, WISP_D, 40, 40);
    const uint64_t first = hash_of(ctx, m, WISP_D);
    int result;
    uint64_t by_ranks = 0;
    (void)state;
    for (int i = 0; i < 200; i++) { /* another value, another place, another sign */
        cplx *a = &REF_AT(m, ref_below(&r, 40), ref_below(&r, 40)), *b = &REF_AT(m, ref_below(&r, 40), i % 40);
        const cplx old = *a, other = *b;
        if (i % 3 == 0) *a = nextafter(creal(old), 9);
        if (i % 3 == 1) *a = -old;
        if (i % 3 == 2) *a = other, *b = old;
        const bool changed = *a != old;
        assert_true((hash_of(ctx, m, WISP_D) != first) == changed);
        if (i % 3 == 2) *b = other;
        *a = old;
    }
    assert_true(hash_of(ctx, m, WISP_D) == first);
    assert_true(hash_of(ctx, m, WISP_Z) != first);
    for (int ranks = 1; ranks <= 5; ranks += 2) {
        assert_int_equal(wisp_ranks_run(ranks, hashes_by_ranks, &by_ranks, &result), WISP_OK);
        assert_int_equal(result, 0);
    }
    ref_free(m);
    wisp_ctx_free(ctx);
}

/* ---- a disk that fails ------------------------------------------------------------------------------ */

/* A folder that goes: one warning, the run goes on; it comes back: they are kept again. */
static int warnings;
static void count_warnings(void *arg, wisp_log_level level, const char *message)
{
    (void)arg;
    if (level == WISP_LOG_WARN && strstr(message, "checkpoint")) warnings++;
}

static void a_disk_that_fails(void **state)
{
    wisp_ctx *ctx;
    wisp_map *map;
    misfit m = {0};
    wisp_state *live, *kept;
    wisp_checkpoint *to;
    wisp_checkpoint_info info;
    (void)state;
    assert_int_equal(remove_files(), 0);
    assert_int_equal(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1, .log = count_warnings}),
                     WISP_OK);
    REF_OK(ctx, wisp_map_create(&map, ctx, 100));
    REF_OK(ctx, wisp_blk_create(&m.x, ctx, map, WISP_D, 2));
    REF_OK(ctx, wisp_state_create(&live, ctx, misfit_items, &m));
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path}));
    for (int i = 0; i < 6; i++) {
        const bool gone = i == 1 || i == 2 || i == 3;
        char command[256];
        snprintf(command, sizeof command, gone ? "mv '%s' '%s.away'" : "true", folder, folder);
        if (i == 1) assert_int_equal(system(command), 0);
        snprintf(command, sizeof command, "mv '%s.away' '%s'", folder, folder);
        if (i == 4) assert_int_equal(system(command), 0);
        wisp_checkpoint_request(to, 0);
        assert_int_equal(wisp_checkpoint_offer(to, live), 0);
        REF_OK(ctx, wisp_checkpoint_wait(to));
        wisp_checkpoint_get_info(to, &info);
        assert_int_equal(info.failed, i == 0 ? 0 : i > 3 ? 3 : i);
    }
    assert_int_equal(info.written, 3);
    assert_int_equal(warnings, 2); /* that they are not kept; that they are again */
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    wisp_state_free(kept);
    assert_int_equal(count_files(), 2);
    wisp_checkpoint_free(to);
    wisp_state_free(live);
    wisp_blk_free(m.x);
    wisp_map_free(map);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(held),
                                       cmocka_unit_test(damaged_files),  cmocka_unit_test(misfits),
                                       cmocka_unit_test(hashes),         cmocka_unit_test(a_disk_that_fails)};
    return run_in_folder(tests, sizeof tests / sizeof *tests);
}
