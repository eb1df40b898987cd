/* What is done with the rows that a rank has of a file: planning, assembly, writing; and what memory it takes. */
#include "io_ranks.h"

/* Calls that look at a source see the same in rows of one's own as in all rows. */
static int look_on_rank(void *arg, int rank)
{
    static const char spec[] = "topi:nx=12,ny=10,nz=4";
    const char *path = arg;
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src[2];
    wisp_mat *A[2];
    wisp_map *map[2];
    wisp_mat_info plan[2], bound[2];
    wisp_choice choice[2];
    REF_OK(ctx, wisp_src_open(&src[0], ctx, spec));
    REF_OK(ctx, wisp_src_open(&src[1], ctx, path));
    for (int i = 0; i < 2; i++) {
        REF_OK(ctx, wisp_src_choose(ctx, &src[i], NULL, WISP_Z, 32, 100, &choice[i]));
        REF_OK(ctx, wisp_mat_plan(ctx, &src[i], NULL, &plan[i]));
        REF_OK(ctx, wisp_mat_bound(ctx, &src[i], NULL, &bound[i]));
        REF_OK(ctx, wisp_map_create_ordered(&map[i], ctx, &src[i], &(wisp_mat_opts){.order = WISP_ROWS_RCM}));
        REF_OK(ctx, wisp_mat_create(&A[i], ctx, &src[i], &(wisp_mat_opts){.map = map[0]}));
        REF_OK(ctx, wisp_mat_update(A[i], &src[!i]));
    }
    assert_true(choice[0].width == choice[1].width && choice[0].seconds == choice[1].seconds);
    assert_true(plan[0].bytes == plan[1].bytes && plan[0].nnz == plan[1].nnz && plan[0].order == plan[1].order);
    assert_true(bound[0].bytes == bound[1].bytes && bound[0].assembly_bytes == bound[1].assembly_bytes);
    assert_int_equal(wisp_map_is_natural(map[0]), wisp_map_is_natural(map[1]));
    /* Rows of an assembled matrix go to a file, too. */
    wisp_src rows;
    REF_OK(ctx, wisp_src_open_mat(&rows, A[1]));
    assert_int_equal(rows.own_rows, wisp_ctx_processes(ctx) > 1);
    REF_OK(ctx, wisp_src_write(&rows, ctx, "ranks_again.crs", NULL));
    wisp_src_close(&rows);
    for (int i = 0; i < 2; i++) wisp_mat_free(A[i]), wisp_map_free(map[i]), wisp_src_close(&src[i]);
    wisp_ctx_free(ctx);
    (void)rank;
    return 0;
}

static void looked_at(void **state)
{
    (void)state;
    static unsigned char data[2][1 << 20];
    char path[] = "ranks_look.crs";
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    REF_OK(ctx, wisp_src_open(&src, ctx, "topi:nx=12,ny=10,nz=4"));
    REF_OK(ctx, wisp_src_write(&src, ctx, path, NULL));
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    const size_t bytes = get_bytes(path, data[0], sizeof data[0]);
    for (int way = 0; way < WAYS; way++) {
        run_way(way, look_on_rank, path);
        assert_int_equal(get_bytes("ranks_again.crs", data[1], sizeof data[1]), bytes);
        assert_memory_equal(data[0], data[1], bytes);
    }
    unlink(path), unlink("ranks_again.crs");
}

/* ---- files that ranks write together -------------------------------------------------------------------- */

typedef struct {
    wisp_src src;
    const char *path;
    wisp_write_opts opts;
    wisp_status status; /* alone */
    char message[1024];
} output;

static int write_on_rank(void *arg, int rank)
{
    const output *o = arg;
    wisp_ctx *ctx = naive_ctx(1 + rank % 2);
    wisp_src own = o->src;
    own.own_rows = 1;
    const wisp_status status = wisp_src_write(&own, ctx, o->path, &o->opts);
    if (status != o->status || (status != WISP_OK && !strstr(message_of(ctx), o->message)))
        fail_msg("%s: '%s' on rank %d, and '%s' alone", o->path, message_of(ctx), rank, o->message);
    int64_t held;
    wisp_ctx_memory(ctx, &held, NULL);
    assert_int_equal(held, 0);
    wisp_ctx_free(ctx);
    return 0;
}

/* A rank's rows alone make the same file, byte by byte, whichever of these ways they are shared. */
static void expect_written_by(wisp_src src, const char *path, wisp_write_opts opts, int first_way, int ways_end)
{
    output o = {.src = src, .path = path, .opts = opts};
    static unsigned char one[64 << 20], all[64 << 20];
    wisp_ctx *ctx = naive_ctx(2);
    o.status = wisp_src_write(&src, ctx, path, &opts);
    snprintf(o.message, sizeof o.message, "%s", message_of(ctx));
    wisp_ctx_free(ctx);
    const size_t bytes = o.status == WISP_OK ? get_bytes(path, one, sizeof one) : 0;
    for (int way = first_way; way < ways_end; way++) {
        unlink(path);
        run_way(way, write_on_rank, &o);
        if (o.status != WISP_OK) continue;
        assert_int_equal(get_bytes(path, all, sizeof all), bytes);
        assert_memory_equal(one, all, bytes);
    }
    unlink(path);
}

static void expect_written(wisp_src src, const char *path, wisp_write_opts opts)
{
    expect_written_by(src, path, opts, 1, WAYS);
}

static void written(void **state)
{
    (void)state;
    static const char *const names[] = {"ranks_out.mtx", "ranks_out.mtx.gz", "ranks_out.crs"};
    ref_rng r = {37};
    for (int round = 0; round < 36; round++) {
        const wisp_type type = (wisp_type)(WISP_S + round % 4);
        const bool is_complex = wisp_type_is_complex(type);
        wisp_src src = ref_random_src(&r, type, ref_below(&r, 200), 1 + ref_below(&r, 30), 5);
        expect_written(src, names[round % 3],
                       (wisp_write_opts){.pattern = round % 6 == 3, .comment = round % 2 ? "a\nb" : NULL});
        wisp_src_close(&src);
        const wisp_symmetry s = is_complex ? (wisp_symmetry)ref_below(&r, 4) : WISP_SYM_SYMMETRIC;
        ref_mat m = naive_matrix(&r, 20, 20, s, is_complex ? FIELD_COMPLEX : FIELD_REAL);
        if (round % 4 == 0) REF_AT(m, 3 + ref_below(&r, 10), 2) += 1; /* it has not that symmetry */
        for (int64_t i = 0; i < m.rows * m.cols; i++) m.a[i] = naive_round(m.a[i], type);
        src = ref_dense_src(m, type);
        expect_written(src, names[round % 2], (wisp_write_opts){.symmetry = s});
        wisp_src_close(&src);
        ref_free(m);
    }
    wisp_src src = ref_random_src(&r, WISP_D, 9, 9, 3);
    expect_written(src, "no/such/folder.mtx", (wisp_write_opts){0});
    expect_written(src, "ranks_out.txt", (wisp_write_opts){0});
    expect_written(src, "ranks_out.crs", (wisp_write_opts){.array = 1});
    wisp_src_close(&src);
}

/* More rows than go to rank 0 at a time. */
static void large_written(void **state)
{
    (void)state;
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src;
    /* Entries and rows are more than go at once. A sanitizer sees the seams by three ranks, of which one has no rows,
     * as by any. */
    const int first = REF_SANITIZED ? 3 : 1, end = REF_SANITIZED ? 4 : WAYS;
    REF_OK(ctx, wisp_src_open_gallery(&src, ctx, "band:n=190000,bandwidth=5"));
    expect_written_by(src, "ranks_out.crs", (wisp_write_opts){0}, first, end);
    /* To compress is most of the time, and rank 0 does it, whoever has the rows: by three ranks alone. */
    expect_written_by(src, "ranks_out.mtx.gz", (wisp_write_opts){.pattern = 1}, 3, 4);
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
}

static int array_on_rank(void *arg, int rank)
{
    wisp_ctx *ctx = naive_ctx(1);
    (void)rank;
    REF_FAILS(ctx, wisp_src_write(arg, ctx, "ranks_out.mtx", &(wisp_write_opts){.array = 1}), WISP_ERR_UNSUPPORTED,
              "without opts.array");
    wisp_ctx_free(ctx);
    return 0;
}

static int failing_row(void *arg, int64_t row, int64_t *col, void *val)
{
    (void)arg;
    if (row >= 5 && col) return -1;
    if (col) *col = row, *(double *)val = 1;
    return 1;
}

/* Columns are not to be had from rows; and a source that fails. */
static void not_written(void **state)
{
    (void)state;
    ref_rng r = {38};
    wisp_src src = ref_random_src(&r, WISP_D, 9, 9, 3);
    src.own_rows = 1;
    ref_ranks_each(3, array_on_rank, &src);
    wisp_src_close(&src);
    src = (wisp_src){.rows = 10, .cols = 10, .max_row = 1, .type = WISP_D, .row = failing_row};
    expect_written(src, "ranks_out.mtx", (wisp_write_opts){0});
    expect_written(src, "ranks_out.crs", (wisp_write_opts){0});
}

/* ---- memory ------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    int who;
    wisp_status status[MOST_RANKS];
} starved;

/* One allocation of one rank fails. */
static int starved_rank(void *arg, int rank)
{
    starved *s = arg;
    wisp_ctx *ctx;
    wisp_src src, part = {0};
    s->status[rank] = wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1});
    if (s->status[rank] != WISP_OK) return 0;
    s->status[rank] = wisp_src_open_file(&src, ctx, s->path);
    if (s->status[rank] == WISP_OK) s->status[rank] = wisp_src_hermitian_part(&part, ctx, &src, NULL);
    if (s->status[rank] == WISP_OK)
        s->status[rank] =
            wisp_src_write(&part, ctx, "ranks_out.mtx", &(wisp_write_opts){.symmetry = WISP_SYM_SYMMETRIC});
    wisp_src_close(&part);
    wisp_src_close(&src);
    int64_t held;
    wisp_ctx_memory(ctx, &held, NULL);
    assert_int_equal(held, 0);
    wisp_ctx_free(ctx);
    return 0;
}

static void one_has_no_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"ranks_least.mtx", "ranks_least.mtx.gz", "ranks_least.crs"};
    ref_rng r = {36};
    ref_mat a = naive_matrix(&r, 9, 9, WISP_SYM_SYMMETRIC, FIELD_REAL);
    for (int i = 0; i < 3; i++) {
        const naive_form form = {.field = FIELD_REAL, .symmetry = WISP_SYM_SYMMETRIC};
        if (i < 2)
            naive_write_mtx(names[i], a, &form, &r);
        else
            naive_write_crs(names[i], a, WISP_D, WISP_SYM_SYMMETRIC, &(naive_ghost){0});
        for (int who = 0; who < 3; who++) {
            int failures = 0, successes = 0;
            for (int at = 1; at < 1000 && successes < 5; at++) {
                starved s = {.path = names[i], .who = who};
                char where[40];
                snprintf(where, sizeof where, "%d@%d", at, who);
                setenv("WISP_ALLOC_FAIL_AT", where, 1);
                ref_ranks_each(3, starved_rank, &s);
                unsetenv("WISP_ALLOC_FAIL_AT");
                successes += s.status[who] == WISP_OK;
                failures += s.status[who] != WISP_OK;
                for (int k = 0; k < 3; k++)
                    assert_true(s.status[k] == s.status[who] ||
                                (s.status[who] == WISP_ERR_NOMEM && s.status[k] == WISP_ERR_CANCELLED));
            }
            assert_true(failures > 8 && successes == 5);
        }
        unlink(names[i]);
    }
    unlink("ranks_out.mtx");
    ref_free(a);
}

typedef struct {
    const char *path;
    bool take_part;                /* the Hermitian one */
    int64_t rank_peak[MOST_RANKS]; /* bytes */
} peaks;

static int peak_of_rank(void *arg, int rank)
{
    peaks *f = arg;
    wisp_ctx *ctx = naive_ctx(1);
    wisp_src src, part;
    REF_OK(ctx, wisp_src_open_file(&src, ctx, f->path));
    wisp_ctx_memory(ctx, NULL, &f->rank_peak[rank]);
    if (f->take_part) {
        REF_OK(ctx, wisp_src_hermitian_part(&part, ctx, &src, NULL));
        wisp_ctx_memory(ctx, NULL, &f->rank_peak[rank]);
        wisp_src_close(&part);
    }
    wisp_src_close(&src);
    wisp_ctx_free(ctx);
    return 0;
}

/* A rank never holds the whole matrix. What it holds beside its part is bounded: text, and entries on their way. */
static void parts_take_less(void **state)
{
    (void)state;
    enum { EACH = 8 }; /* entries a row, at least */
    static const struct {
        const char *name, *spec;
        int64_t rows;
    } file[] = {{"ranks_large.crs", "band:n=150000,bandwidth=9", 150000},
                {"ranks_large.mtx", "band:n=150000,bandwidth=9", 150000},
                {"ranks_large.mtx.gz", "band:n=300000,bandwidth=9", 300000}};
    wisp_ctx *ctx = naive_ctx(2);
    for (int i = 0; i < 3; i++) {
        if (REF_SANITIZED && i != 1) continue; /* text has the most seams; bytes are counted alike everywhere */
        wisp_src src;
        REF_OK(ctx, wisp_src_open_gallery(&src, ctx, file[i].spec));
        REF_OK(ctx, wisp_src_write(&src, ctx, file[i].name, NULL));
        for (int part = 0; part < (i == 0 ? 2 : 1); part++) {
            peaks alone = {.path = file[i].name, .take_part = part}, parts = alone;
            ref_ranks_each(1, peak_of_rank, &alone);
            ref_ranks_each(5, peak_of_rank, &parts);
            assert_true(alone.rank_peak[0] >= file[i].rows * EACH * (i || part ? 28 : 12));
            for (int r = 0; r < 5; r++)
                if (parts.rank_peak[r] > alone.rank_peak[0] / (i || part ? 2 : 4))
                    fail_msg("%s: rank %d held %lld bytes, and one alone %lld", file[i].name, r,
                             (long long)parts.rank_peak[r], (long long)alone.rank_peak[0]);
        }
        wisp_src_close(&src);
        unlink(file[i].name);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looked_at),   cmocka_unit_test(written),           cmocka_unit_test(large_written),
        cmocka_unit_test(not_written), cmocka_unit_test(one_has_no_memory), cmocka_unit_test(parts_take_less),
    };
    return ref_run_rank_tests(tests, sizeof tests / sizeof tests[0]);
}
