/* States and checkpoints: items there and back by any number of ranks; files that are damaged; runs of KPM that end and
   go on, bit by bit. */
#include "ref.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/base.h"

static char folder[64], path[96];
static wisp_ctx *own_ctx(int threads) { return ref_isa_ctx(NULL, threads); }

/* ---- items ---------------------------------------------------------------------------------------- */

enum { WIDTHS = 3, LONG = 1500 };
static const wisp_type types[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
static const int widths[WIDTHS] = {1, 3, 33};

typedef struct {
    wisp_ctx *ctx;
    int64_t rows;
    wisp_row_order order;
    wisp_partition partition;
    bool reads;
    double some[LONG], part[LONG]; /* part: this rank's */
    wisp_blk *x[4][WIDTHS];
} shelf;

static wisp_status shelf_items(void *arg, wisp_state *s)
{
    shelf *h = arg;
    wisp_status status;
    char name[24];
    int32_t little = h->reads ? 0 : 77;
    WISP_TRY(wisp_state_same(s, "rows", "%lld", (long long)h->rows));
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

static void shelf_open(shelf *h, wisp_ctx *ctx, int64_t rows, wisp_row_order order, wisp_partition partition)
{
    ref_rng r = {(uint64_t)rows + 5};
    wisp_src src = ref_random_src(&r, WISP_D, rows, rows, 5), dealt;
    wisp_map *map;
    const bool dealing = partition != WISP_PARTITION_ROWS && wisp_ctx_processes(ctx) > 1;
    *h = (shelf){.ctx = ctx, .rows = rows, .order = order, .partition = partition};
    if (dealing) REF_OK(ctx, wisp_src_partition(&dealt, ctx, &src, partition));
    REF_OK(ctx, wisp_map_create_ordered(&map, ctx, dealing ? &dealt : &src, &(wisp_mat_opts){.order = order}));
    for (int t = 0; t < 4; t++)
        for (int w = 0; w < WIDTHS; w++) REF_OK(ctx, wisp_blk_create(&h->x[t][w], ctx, map, types[t], widths[w]));
    if (dealing) wisp_src_close(&dealt);
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
            REF_OK(h->ctx, wisp_blk_create(&want, h->ctx, wisp_blk_map_of(h->x[t][w]), types[t], widths[w]));
            REF_OK(h->ctx, wisp_blk_fill_random(want, WISP_RANDOM_GAUSS, (uint64_t)t, 9, (uint32_t)(40 * w)));
            REF_OK(h->ctx, wisp_axpy(want, (wisp_scalar){-1, 0}, h->x[t][w]));
            REF_OK(h->ctx, wisp_norm(want, off));
            for (int j = 0; j < widths[w]; j++) assert_true(off[j] == 0);
            wisp_blk_free(want);
        }
}

typedef struct {
    int64_t rows;
    wisp_row_order order;
    wisp_partition partition;
    int ranks; /* that wrote */
} shelf_case;

static int write_shelf(void *arg, int rank)
{
    const shelf_case *c = arg;
    wisp_ctx *ctx = own_ctx(2);
    wisp_state *live;
    wisp_checkpoint *to;
    wisp_checkpoint_info info;
    shelf h;
    (void)rank;
    shelf_open(&h, ctx, c->rows, c->order, c->partition);
    shelf_fill(&h);
    REF_OK(ctx, wisp_state_create(&live, ctx, shelf_items, &h));
    assert_false(wisp_state_is_kept(live));
    REF_OK(ctx, wisp_checkpoint_create(&to, ctx, &(wisp_checkpoint_opts){.path = path}));
    REF_OK(ctx, wisp_checkpoint_offer(to, live)); /* none is due, nor asked for */
    wisp_checkpoint_get_info(to, &info);
    assert_int_equal(info.written, 0);
    if (wisp_ctx_rank(ctx) == wisp_ctx_processes(ctx) - 1) wisp_checkpoint_request(to, 0); /* one for all */
    while (info.last == 0) { /* at some offer the ranks look at each other */
        REF_OK(ctx, wisp_checkpoint_offer(to, live));
        wisp_checkpoint_get_info(to, &info);
    }
    REF_OK(ctx, wisp_checkpoint_wait(to));
    wisp_checkpoint_get_info(to, &info);
    assert_int_equal(info.written, 1);
    assert_int_equal(info.failed, 0);
    assert_true(info.bytes > 0 && info.memory >= info.bytes);
    wisp_checkpoint_free(to);
    wisp_state_free(live);
    shelf_close(&h);
    return 0;
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
    shelf_open(&h, ctx, c->rows, c->order, c->partition);
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

static int remove_files(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", folder, folder);
    return system(command);
}

static int count_files(void)
{
    char command[160];
    int n = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    return n;
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
                assert_int_equal(remove_files(), 0);
                setenv("WISP_WEIGHTS", way[from].weights, 1);
                assert_int_equal(wisp_ranks_run(way[from].ranks, write_shelf, &s, &result), WISP_OK);
                assert_int_equal(result, 0);
                assert_int_equal(count_files(), way[from].ranks);
                setenv("WISP_WEIGHTS", way[to].weights, 1);
                if (from != to && to == 1) s.order = WISP_ROWS_NATURAL;
                assert_int_equal(wisp_ranks_run(way[to].ranks, read_shelf, &s, &result), WISP_OK);
                assert_int_equal(result, 0);
            }
    unsetenv("WISP_WEIGHTS");
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
        assert_non_null(strstr(wisp_ctx_message(ctx), path));
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
    WISP_TRY(wisp_state_same(s, "seed", "%d", m->change == 1 ? 8 : 7));
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
    assert_int_equal(wisp_checkpoint_offer(to, live), WISP_ERR_CANCELLED);
    wisp_checkpoint_info info;
    wisp_checkpoint_get_info(to, &info);
    assert_true(info.ended && info.saved && info.written == 1);
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    REF_OK(ctx, misfit_items(&m, kept));
    for (m.change = 1; m.change <= 6; m.change++) {
        m.x = m.change == 5 ? wide : m.change == 6 ? tall : good;
        assert_int_equal(misfit_items(&m, kept), WISP_ERR_MISMATCH);
        if (!strstr(wisp_ctx_message(ctx), words[m.change - 1])) fail_msg("%s", wisp_ctx_message(ctx));
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

/* ---- KPM -------------------------------------------------------------------------------------------- */

/* Ends the run at its n-th offer. */
typedef struct {
    wisp_checkpoint *to;
    int left;
    bool between; /* others are asked for before */
    int offers, asked;
} ender;

static wisp_status end_at(void *arg, wisp_state *state)
{
    ender *e = arg;
    e->offers++;
    if (--e->left == 0)
        wisp_checkpoint_request(e->to, 1);
    else if (e->between && e->offers % 3 == 1)
        wisp_checkpoint_request(e->to, 0), e->asked++;
    return wisp_checkpoint_offer(e->to, state);
}

/* How many were written in a piece that one rank ended: `always`, one was due whenever none was under way. */
static void check_written(const ender *e, bool always)
{
    wisp_checkpoint_info info;
    wisp_checkpoint_get_info(e->to, &info);
    assert_true(info.ended && info.saved);
    assert_int_equal(info.failed, 0);
    if (always)
        assert_in_range(info.written, WISP__MIN(e->offers, 2), e->offers);
    else
        assert_int_equal(info.written, e->asked + 1);
}

/* A run that ends `ends` times, after random numbers of offers, and goes on each time. The contexts of its pieces have
   other numbers of threads. */
static void in_pieces(wisp_moments *m, const char *spec, const wisp_mat_opts *mo, wisp_kpm_opts o, ref_rng *r, int ends)
{
    wisp_status status = WISP_ERR_CANCELLED;
    memset(m, 0, sizeof *m);
    for (int piece = 0; status == WISP_ERR_CANCELLED; piece++) {
        wisp_ctx *ctx = own_ctx(1 + piece % 3);
        wisp_mat *A;
        wisp_state *kept = NULL;
        /* Others are written in between, and one may be under way at the end: by requests, or by the clock, always. */
        const bool always = piece % 3 == 2;
        ender e = {.left = piece < ends ? (int)(1 + ref_below(r, 40)) : -1, .between = piece % 3 == 1};
        wisp_moments_free(m);
        REF_OK(ctx, wisp_mat_open(&A, ctx, spec, mo));
        if (piece > 0) REF_OK(ctx, wisp_state_open(&kept, ctx, path));
        REF_OK(ctx, wisp_checkpoint_create(
                        &e.to, ctx, &(wisp_checkpoint_opts){.path = path, .every = always ? 1e-9 : 0, .after = kept}));
        o.offer = end_at, o.offer_arg = &e, o.resume = kept;
        status = wisp_kpm(m, A, &o);
        if (status != WISP_OK && status != WISP_ERR_CANCELLED) fail_msg("%s", wisp_ctx_message(ctx));
        if (status == WISP_ERR_CANCELLED) check_written(&e, always);
        if (status == WISP_OK) wisp_checkpoint_remove(e.to);
        wisp_checkpoint_free(e.to);
        wisp_state_free(kept);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
}

typedef struct {
    const char *spec;
    wisp_kpm_opts o;
    wisp_mat_opts mo;
} kpm_case;

static const int64_t some_sites[] = {3, 0, 17};
static const kpm_case kpm_cases[] = {
    {"topi:nx=5,ny=4,nz=3", {.moments = 201, .vectors = 7, .width = 3, .seed = 4}, {.order = WISP_ROWS_NATURAL}},
    {"topi:nx=5,ny=4,nz=3",
     {.moments = 64, .vectors = 5, .width = 4, .type = WISP_C},
     {.type = WISP_C, .order = WISP_ROWS_RCM}},
    {"anderson:nx=6,ny=5,nz=4,disorder=3",
     {.moments = 99, .trace = WISP_TRACE_EXACT, .width = 33},
     {.order = WISP_ROWS_NATURAL}},
    {"graphene:nx=8,ny=9,vacancies=0.2",
     {.moments = 120, .vectors = 3, .trace = WISP_TRACE_SITES, .sites = some_sites, .width = 1},
     {.order = WISP_ROWS_RCM}},
    {"laplace:nx=9,ny=8,nz=7", {.moments = 150, .vectors = 4, .variant = WISP_KPM_NAIVE}, {.order = WISP_ROWS_NATURAL}},
    {"laplace:nx=9,ny=8,nz=7",
     {.moments = 77, .vectors = 6, .width = 2, .reduce_each_step = 1, .powers = 3},
     {.type = WISP_S, .order = WISP_ROWS_NATURAL}},
    {"spinchain:sites=10,up=5", {.moments = 300, .vectors = 2, .width = 2, .powers = 1}, {.order = WISP_ROWS_NATURAL}},
};
enum { KPM_CASES = sizeof kpm_cases / sizeof *kpm_cases };

static void kpm_goes_on(void **state)
{
    ref_rng r = {21};
    (void)state;
    for (int c = 0; c < KPM_CASES; c++)
        for (int times = 0; times < 3; times++) {
            const kpm_case *k = &kpm_cases[c];
            wisp_ctx *ctx = own_ctx(2);
            wisp_mat *A;
            wisp_moments want, got;
            REF_OK(ctx, wisp_mat_open(&A, ctx, k->spec, &k->mo));
            REF_OK(ctx, wisp_kpm(&want, A, &k->o));
            assert_int_equal(remove_files(), 0);
            in_pieces(&got, k->spec, &k->mo, k->o, &r, 1 + 2 * times);
            assert_int_equal(count_files(), 0);
            assert_true(got.n == want.n && got.vectors == want.vectors && !got.partial);
            assert_memory_equal(&got.bounds, &want.bounds, sizeof want.bounds);
            assert_true(got.flops == want.flops);
            assert_memory_equal(got.mu, want.mu, (size_t)(want.n * want.vectors) * sizeof *want.mu);
            wisp_moments_free(&want);
            wisp_moments_free(&got);
            wisp_mat_free(A);
            wisp_ctx_free(ctx);
        }
}

/* Written by some ranks, gone on with by others. */
typedef struct {
    const kpm_case *k;
    bool ends;
    wisp_moments *want;
} kpm_by_ranks;

/* Several ranks look at each other's requests at their first offer, and then at times of a clock. So they offer nothing
   before the one that ends the run. */
static wisp_status end_ranks_at(void *arg, wisp_state *state)
{
    ender *e = arg;
    return --e->left > 0 ? WISP_OK : wisp_checkpoint_offer(e->to, state);
}

static int kpm_rank(void *arg, int rank)
{
    const kpm_by_ranks *b = arg;
    wisp_ctx *ctx = own_ctx(1);
    wisp_mat *A;
    wisp_state *kept = NULL;
    wisp_moments m;
    wisp_kpm_opts o = b->k->o;
    ender e = {.left = b->ends ? 5 : -1};
    REF_OK(ctx, wisp_mat_open(&A, ctx, b->k->spec, &b->k->mo));
    if (!b->ends) REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    REF_OK(ctx, wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path, .after = kept}));
    o.offer = b->ends ? end_ranks_at : end_at, o.offer_arg = &e, o.resume = kept;
    if (b->ends && rank == 0) wisp_checkpoint_request(e.to, 1); /* for all */
    const wisp_status status = wisp_kpm(&m, A, &o);
    if (status != (b->ends ? WISP_ERR_CANCELLED : WISP_OK))
        fail_msg("%s: %s", wisp_status_string(status), wisp_ctx_message(ctx));
    const double allowed = (o.type == WISP_C || b->k->mo.type == WISP_S ? 1e-5 : 1e-12) * b->want->mu[0];
    for (int64_t i = 0; !b->ends && i < m.n * m.vectors; i++) assert_true(fabs(m.mu[i] - b->want->mu[i]) <= allowed);
    wisp_moments_free(&m);
    if (!b->ends) wisp_checkpoint_remove(e.to);
    wisp_checkpoint_free(e.to);
    wisp_state_free(kept);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return status != WISP_OK;
}

static void kpm_by_other_ranks(void **state)
{
    static const int way[] = {1, 2, 3};
    (void)state;
    for (int c = 0; c < KPM_CASES; c++)
        for (int from = 0; from < 3; from++)
            for (int to = 0; to < 3; to++) {
                wisp_ctx *ctx = own_ctx(1);
                wisp_mat *A;
                wisp_moments want;
                kpm_by_ranks b = {&kpm_cases[c], true, &want};
                int ended, result;
                REF_OK(ctx, wisp_mat_open(&A, ctx, b.k->spec, &b.k->mo));
                REF_OK(ctx, wisp_kpm(&want, A, &b.k->o));
                assert_int_equal(remove_files(), 0);
                assert_int_equal(wisp_ranks_run(way[from], kpm_rank, &b, &ended), WISP_OK);
                assert_int_not_equal(ended, 0);
                b.ends = false;
                assert_int_equal(wisp_ranks_run(way[to], kpm_rank, &b, &result), WISP_OK);
                assert_int_equal(result, 0);
                wisp_moments_free(&want);
                wisp_mat_free(A);
                wisp_ctx_free(ctx);
            }
}

/* Another run than that of the state is refused, with words. */
static void kpm_refuses(void **state)
{
    const kpm_case *k = &kpm_cases[0];
    wisp_ctx *ctx = own_ctx(1);
    wisp_mat *A, *B;
    wisp_state *kept;
    wisp_moments m;
    wisp_kpm_opts o = k->o;
    ender e = {.left = 3};
    (void)state;
    assert_int_equal(remove_files(), 0);
    REF_OK(ctx, wisp_mat_open(&A, ctx, k->spec, &k->mo));
    REF_OK(ctx, wisp_mat_open(&B, ctx, "topi:nx=5,ny=4,nz=2", &k->mo));
    REF_OK(ctx, wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path}));
    o.offer = end_at, o.offer_arg = &e;
    assert_int_equal(wisp_kpm(&m, A, &o), WISP_ERR_CANCELLED);
    wisp_moments_free(&m);
    wisp_checkpoint_free(e.to);
    REF_OK(ctx, wisp_state_open(&kept, ctx, path));
    o.offer = NULL;
    for (int i = 0; i < 8; i++) {
        wisp_kpm_opts other = o;
        const wisp_mat *of = A;
        other.resume = kept;
        switch (i) {
        case 0: other.moments = 200; break;
        case 1: other.vectors = 8; break;
        case 2: other.seed = 5; break;
        case 3: other.width = 4; break;
        case 4: other.variant = WISP_KPM_NAIVE, other.width = 0; break;
        case 5: other.first_vector = 1; break;
        case 6: of = B; break;
        default: other.reduce_each_step = 1;
        }
        assert_int_equal(wisp_kpm(&m, of, &other), WISP_ERR_MISMATCH);
        assert_non_null(strstr(wisp_ctx_message(ctx), "is of a run with"));
        assert_null(m.mu);
    }
    wisp_state_free(kept);
    wisp_mat_free(A);
    wisp_mat_free(B);
    wisp_ctx_free(ctx);
}

/* ---- what may fail ------------------------------------------------------------------------------------ */

/* Each allocation of a run that is kept and goes on fails once: the run fails or ends well, the file stays whole, and
   nothing leaks. */
static void no_memory(void **state)
{
    const kpm_case *k = &kpm_cases[0];
    char text[16];
    int done = 0;
    (void)state;
    for (int at = 1; !done && at < 4000; at += at < 200 ? 1 : 17) {
        wisp_ctx *ctx = NULL;
        wisp_mat *A = NULL;
        wisp_state *kept = NULL;
        wisp_moments m = {0};
        wisp_kpm_opts o = k->o;
        ender e = {.left = 4};
        assert_int_equal(remove_files(), 0);
        snprintf(text, sizeof text, "%d", at);
        setenv("WISP_ALLOC_FAIL_AT", text, 1);
        o.moments = 41;
        wisp_status status = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
        unsetenv("WISP_ALLOC_FAIL_AT");
        if (status == WISP_OK) status = wisp_mat_open(&A, ctx, k->spec, &k->mo);
        if (status == WISP_OK) status = wisp_checkpoint_create(&e.to, ctx, &(wisp_checkpoint_opts){.path = path});
        o.offer = end_at, o.offer_arg = &e;
        if (status == WISP_OK) status = wisp_kpm(&m, A, &o);
        wisp_checkpoint_free(e.to);
        wisp_moments_free(&m);
        if (status == WISP_ERR_CANCELLED) status = wisp_state_open(&kept, ctx, path);
        if (status == WISP_OK) {
            o.offer = NULL, o.resume = kept;
            status = wisp_kpm(&m, A, &o);
            done = status == WISP_OK;
        }
        /* The copy or the file may have been what failed: then there is no state. */
        if (status != WISP_OK && status != WISP_ERR_NOMEM && status != WISP_ERR_IO)
            fail_msg("allocation %d: %s", at, ctx ? wisp_ctx_message(ctx) : wisp_status_string(status));
        wisp_moments_free(&m);
        wisp_state_free(kept);
        wisp_mat_free(A);
        wisp_ctx_free(ctx);
    }
    assert_true(done);
}

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
        REF_OK(ctx, wisp_checkpoint_offer(to, live));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(damaged_files), cmocka_unit_test(misfits),
        cmocka_unit_test(hashes),         cmocka_unit_test(kpm_goes_on),   cmocka_unit_test(kpm_by_other_ranks),
        cmocka_unit_test(kpm_refuses),    cmocka_unit_test(no_memory),     cmocka_unit_test(a_disk_that_fails)};
    strcpy(folder, "/tmp/test_state.XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/run.state", folder);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s' '%s.away'", folder, folder);
    return system(command) || failed;
}
