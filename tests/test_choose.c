/* The model of a sweep against closed forms, and the width that is chosen by it. */
#include "backend/backend.h"
#include "make/assemble.h"
#include "model/model.h"
#include "ref.h"
#include <math.h>

enum { BAND = 3 };

/* Rows of a band of three, in the middle of so many. */
static void band_open(wisp_ctx *ctx, wisp__sample *s)
{
    int64_t at = 0;
    REF_OK(ctx, wisp__sample_open(s, ctx, WISP__RUN, WISP__RUN * BAND));
    for (int64_t i = 0; i < WISP__RUN; i++) {
        s->place[at++] = 100 + i;
        for (int k = 0; k < BAND; k++) s->place[at++] = 100 + i + k - 1;
        s->first[i + 1] = at;
    }
    wisp__sample_finish(s);
}

static wisp__shape shape_of(const wisp__sample *s, double rows, double bytes)
{
    return (wisp__shape){.rows = rows, .entries = BAND * rows, .bytes = bytes, .type = WISP_D, .sample = s};
}

/* Only memory takes time, or only the core's loads. */
static void only_memory(wisp_ctx *ctx)
{
    ctx->rates = (wisp__rates){.memory = 1e9, .l3 = 1e18, .l2 = 1e18, .exchange = 1e18, .loads = 1e18, .l2_bytes = 1e6};
}
static void only_loads(wisp_ctx *ctx)
{
    ctx->rates = (wisp__rates){.memory = 1e18, .l3 = 1e18, .l2 = 1e18, .exchange = 1e18, .loads = 1e9, .l2_bytes = 1e6};
}

static double sweep(wisp_ctx *ctx, const wisp__shape *m, int width, wisp__step_cost *c)
{
    const wisp__facts f = wisp__facts_of(ctx);
    REF_OK(ctx, wisp__sweep_find(ctx, &f, m, WISP_D, width, 1, c));
    return c->seconds;
}

static void samples(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp__sample s;
    band_open(ctx, &s);
    assert_true(s.entries == BAND && s.follows == 1);
    assert_true(s.reach >= 1 && s.reach < 1.2);
    /* All rows are alike; with an entry of each second row one farther away, those that are two apart. */
    assert_true(wisp__sample_alike(&s, 4, 1) == 1);
    for (int64_t i = 0; i < WISP__RUN; i += 2) s.place[s.first[i + 1] - 1]++;
    assert_true(wisp__sample_alike(&s, 4, 1) == 0 && wisp__sample_alike(&s, 4, 2) == 1);
    for (int64_t i = 0; i < WISP__RUN; i += 2) s.place[s.first[i + 1] - 1]--;
    /* Two returns after a row each: lost where a row's bytes are more than the cache, none where they are few. */
    wisp__comings x;
    REF_OK(ctx, wisp__comings_find(ctx, wisp__tuned_of(ctx), &s, 128, 1000,
                                   &(wisp__caches){.l3 = 1e6, .l2 = 1000, .l1 = 100}, &x));
    assert_true(x.last == 1 && x.l2 > 1 && x.l2 < BAND && x.l1 == BAND);
    /* Eight rows of 8 bytes share a line, which ten rows of the band gather: nine returns. */
    REF_OK(ctx, wisp__comings_find(ctx, wisp__tuned_of(ctx), &s, 8, 1000,
                                   &(wisp__caches){.l3 = 100, .l2 = 100, .l1 = 100}, &x));
    assert_true(fabs(x.last - 10) < 1e-9);
    /* Two threads that take two rows each in turn: half of the rows have a neighbour with the other thread, at either
       end, and are met by both. */
    const wisp__caches turns = {.l3 = 1e6, .l2 = 1e6, .l1 = 1e6, .threads = 2, .block_rows = 2};
    REF_OK(ctx, wisp__comings_find(ctx, wisp__tuned_of(ctx), &s, 128, 1000, &turns, &x));
    assert_true(x.last == 1 && x.l2 == 2 && x.l1 == 2 && x.threads == 2);
    wisp__sample_close(&s, ctx);
    wisp_ctx_free(ctx);
}

static void traffic(void **state)
{
    (void)state;
    enum { WIDTH = 4 };
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp__sample s;
    wisp__step_cost c;
    const double rows = 1e11, block = rows * WIDTH * 8;
    band_open(ctx, &s);
    only_memory(ctx);
    wisp__shape m = shape_of(&s, rows, 36 * rows);
    const double seconds = sweep(ctx, &m, WIDTH, &c);
    assert_true(fabs(c.read / (m.bytes + 2 * block) - 1) < 1e-6 && fabs(c.written / block - 1) < 1e-6);
    assert_true(fabs(seconds / (1e-9 * (c.read + 0.37 * c.written)) - 1) < 1e-3);
    assert_string_equal(c.limit, "memory");
    /* Half of what a sweep meets fits: h = exp(-2 (1 - h)) = 0.2032 of it are still there. All of it: none is read. */
    wisp_ctx_set_cache(ctx, (int64_t)(0.5 * (m.bytes + 2 * block)));
    sweep(ctx, &m, WIDTH, &c);
    assert_true(fabs(c.written / block - (1 - 0.2032)) < 1e-4);
    wisp_ctx_set_cache(ctx, (int64_t)(1.1 * (m.bytes + 2 * block)));
    sweep(ctx, &m, WIDTH, &c);
    assert_true(c.read == 0 && c.written == 0 && fabs(c.from_l3 / (m.bytes + 2.37 * block) - 1) < 1e-3);
    only_loads(ctx);
    sweep(ctx, &m, WIDTH, &c);
    assert_string_equal(c.limit, "core");
    m.rows = 0;
    assert_true(sweep(ctx, &m, WIDTH, &c) == 0);
    wisp__sample_close(&s, ctx);
    wisp_ctx_free(ctx);
}

/* By a device that asks for so many columns at once. */
static int chosen_of(wisp_ctx *ctx, const wisp__shape *m, int64_t vectors, int columns)
{
    wisp_choice c = {0}, given;
    wisp__facts f = wisp__facts_of(ctx);
    f.columns = columns;
    REF_OK(ctx, wisp__width_find(ctx, &f, m, WISP_D, vectors, 1, &c));
    given = (wisp_choice){.width = c.width};
    REF_OK(ctx, wisp__width_find(ctx, &f, m, WISP_D, vectors, 1, &given));
    assert_true(given.seconds == c.seconds && given.width == c.width);
    return c.width;
}
static int chosen(wisp_ctx *ctx, const wisp__shape *m, int64_t vectors) { return chosen_of(ctx, m, vectors, 1); }

static void widths(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_ctx(NULL);
    wisp__sample s;
    const double rows = 1e10;
    band_open(ctx, &s);
    only_memory(ctx);
    wisp__shape heavy = shape_of(&s, rows, 1000 * rows), light = shape_of(&s, rows, 0);
    light.patterns = true;
    /* The matrix is most of the traffic: the more columns share it the better. */
    assert_int_equal(chosen(ctx, &heavy, 32), 32);
    assert_int_equal(chosen(ctx, &heavy, 64), 32);
    assert_int_equal(chosen(ctx, &heavy, 5), 5);
    assert_int_equal(chosen(ctx, &heavy, 1), 1);
    /* It is nothing, and two single columns stay in the cache, where wider blocks do not. */
    wisp_ctx_set_cache(ctx, (int64_t)(2.2 * 8 * rows));
    assert_int_equal(chosen(ctx, &light, 32), 1);
    /* All is the same to memory: the narrowest of those that are as good. */
    wisp_ctx_set_cache(ctx, 1);
    assert_int_equal(chosen(ctx, &light, 32), 1);
    /* As many as the device asks for, or as there are, or as are ever taken. */
    assert_int_equal(chosen_of(ctx, &light, 32, 4), 4);
    assert_int_equal(chosen_of(ctx, &light, 32, 5), 8);
    assert_int_equal(chosen_of(ctx, &light, 3, 4), 3);
    assert_int_equal(chosen_of(ctx, &light, 1, 4), 1);
    assert_int_equal(chosen_of(ctx, &light, 100, 1000), 32);
    assert_int_equal(chosen_of(ctx, &heavy, 32, 4), 32);
    /* Only loads count: a value and a column for as many columns as a register takes, and more. */
    only_loads(ctx);
    heavy.follows = 0;
    assert_true(chosen(ctx, &heavy, 32) * 8 >= ctx->register_bytes);
    wisp__sample_close(&s, ctx);
    wisp_ctx_free(ctx);
}

/* Of sources, and of matrices that stand. */
static void sources(void **state)
{
    (void)state;
    static const char *const names[] = {"topi:nx=12,ny=12,nz=6", "graphene:nx=60,ny=60,vacancies=0.01",
                                        "anderson:nx=20,ny=20,nz=20", "delaunay:nx=50,ny=60", "spinchain:sites=10"};
    wisp_ctx *ctx = ref_ctx(NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        wisp_src src;
        wisp_mat *A;
        wisp_choice c, again, of_matrix;
        REF_OK(ctx, wisp_src_open(&src, ctx, names[i]));
        REF_OK(ctx, wisp_src_choose(ctx, &src, NULL, src.type, 32, 256, &c));
        REF_OK(ctx, wisp_src_choose(ctx, &src, NULL, src.type, 32, 256, &again));
        assert_in_range(c.width, 1, 32);
        assert_true(c.seconds > 0 && c.seconds == again.seconds && c.width == again.width);
        REF_OK(ctx, wisp_src_choose(ctx, &src, &(wisp_mat_opts){.width = 7}, src.type, 32, 256, &again));
        assert_true(again.width == 7 && again.seconds > 0);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = c.width}));
        REF_OK(ctx, wisp_mat_choose(A, src.type, 32, 256, &of_matrix));
        assert_in_range(of_matrix.width, 1, 32);
        REF_FAILS(ctx, wisp_mat_choose(A, src.type, 0, 1, &of_matrix), WISP_ERR_ARG, "0 vectors");
        wisp_mat_free(A);
        src.rows--;
        REF_FAILS(ctx, wisp_src_choose(ctx, &src, NULL, src.type, 32, 256, &c), WISP_ERR_ARG, "not square");
        src.rows++;
        wisp_src_close(&src);
    }
    assert_int_equal(wisp_src_choose(NULL, NULL, NULL, WISP_D, 1, 1, NULL), WISP_ERR_ARG);
    assert_int_equal(wisp_mat_choose(NULL, WISP_D, 1, 1, NULL), WISP_ERR_ARG);
    wisp_ctx_free(ctx);
}

/* Both are judged by the bytes that a product reads, not by all that are stored: those of a matrix that stands, and,
   where all of it is looked at, of the matrix that is foreseen. */
static void read_bytes(void **state)
{
    (void)state;
    enum { ROWS = 3000, WIDTH = 8 };
    wisp_ctx *ctx = ref_ctx(NULL);
    ref_rng r = {7};
    static const wisp_format formats[] = {WISP_FORMAT_SELL, WISP_FORMAT_COMPRESSED, WISP_FORMAT_DEFAULT};
    for (int i = 0; i < 2 * 3; i++) {
        wisp_src src = {0};
        const wisp_mat_opts o = {.format = formats[i % 3], .width = WIDTH};
        wisp__sample sample = {0};
        wisp__shape foreseen, stands;
        wisp_mat_info plan, info;
        wisp_mat *A;
        if (i < 3)
            REF_OK(ctx, wisp_src_open(&src, ctx, "anderson:nx=15,ny=15,nz=15"));
        else
            src = ref_random_src(&r, WISP_D, ROWS, ROWS, 9);
        wisp_ctx_enter(ctx);
        REF_OK(ctx, wisp_ctx_leave(ctx, wisp__mat_foresee(ctx, &src, &o, &plan, &sample, &foreseen)));
        wisp__sample_close(&sample, ctx);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &src, &o));
        wisp_mat_get_info(A, &info);
        wisp_ctx_enter(ctx);
        REF_OK(ctx, wisp_ctx_leave(ctx, wisp__shape_of(A, &sample, &stands)));
        wisp__sample_close(&sample, ctx);
        assert_true(plan.sweep_bytes < plan.bytes && info.sweep_bytes <= info.bytes);
        assert_true(foreseen.bytes == (double)plan.sweep_bytes);
        assert_true(stands.bytes == (double)info.sweep_bytes);
        wisp_mat_free(A);
        wisp_src_close(&src);
    }
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples), cmocka_unit_test(traffic), cmocka_unit_test(widths),
                                       cmocka_unit_test(sources), cmocka_unit_test(read_bytes)};
    return REF_RUN(tests);
}
