/* Moving data: filling, random numbers, unit vectors, copies in, out and between blocks, rows for other ranks. The same
   bits on every device. What is beside a view stays. On a device with a queue nobody waits but who has to. */
#include "ref.h"
#include "base/rng.h"
#include "data/data.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS = 1003, WIDTH = 7, SIZE = ROWS * WIDTH * 16 };

enum { DEVICES = 3 };
static const char *const device[DEVICES] = {"cpu", "far", "plain"};

static int64_t trips(wisp_ctx *ctx)
{
    wisp_counts c;
    wisp_ctx_counts(ctx, &c);
    return c.round_trips;
}

/* ---- a block, a view of it, and what must be in the block --------------------------------------- */

enum { WHOLE, COLUMNS, PICKED, OF_ROWS, PICKED_OF_ROWS, VIEWS };

typedef struct {
    wisp_ctx *ctx;
    wisp_map *map;
    wisp_type type;
    wisp_blk *base, *view;
    int width, column[WIDTH]; /* of the view */
    int64_t first, rows;
    size_t size; /* of an element */
    char *want;  /* all of the base, row by row as it is stored */
} scene;

static char *want_at(const scene *s, int64_t i, int j)
{
    return s->want + (size_t)((s->first + i) * WIDTH + s->column[j]) * s->size;
}

/* Which of the user's local rows the view's row i is. */
static int64_t row_of(const scene *s, int64_t i) { return wisp__map_row(s->map, s->first + i); }

/* Rows in another order, numbers of their own for random vectors, or both. */
static wisp_map *new_map(wisp_ctx *ctx, ref_rng *r, int kind)
{
    wisp_map *map;
    static _Thread_local int32_t length[ROWS];
    static _Thread_local int64_t number[ROWS];
    REF_OK(ctx, wisp_map_create(&map, ctx, ROWS));
    for (int i = 0; i < ROWS; i++) length[i] = (int32_t)ref_below(r, 9);
    for (int i = 0; i < ROWS; i++) number[i] = ref_below(r, INT64_C(1) << 40);
    if (kind & 1) REF_OK(ctx, wisp__map_sort(map, length, ROWS));
    if (kind & 2) REF_OK(ctx, wisp__map_number(map, number));
    return map;
}

static void look(const scene *s, char *to)
{
    void *data;
    int64_t stride;
    REF_OK(s->ctx, wisp_blk_lend(s->base, WISP_READ, &data, &stride));
    memcpy(to, data, (size_t)(wisp_blk_nrows(s->base) * stride) * s->size);
    REF_OK(s->ctx, wisp_blk_return(s->base));
}

static void set_view(scene *s, int kind)
{
    static const int picked[] = {5, 0, 3};
    const int64_t local = wisp_blk_nrows(s->base);
    wisp_blk *all = s->base, *some;
    s->first = 0, s->rows = local;
    if (kind == OF_ROWS || kind == PICKED_OF_ROWS) s->first = local / 3, s->rows = local / 2;
    REF_OK(s->ctx, wisp_map_is_natural(s->map) ? wisp_blk_rows(&some, all, s->first, s->rows)
                                               : wisp_blk_cols(&some, all, 0, WIDTH));
    s->width = kind == WHOLE ? WIDTH : 3;
    for (int j = 0; j < s->width; j++) s->column[j] = kind == WHOLE ? j : 2 + j;
    if (kind == PICKED || kind == PICKED_OF_ROWS) memcpy(s->column, picked, sizeof picked);
    REF_OK(s->ctx, wisp_blk_pick(&s->view, some, s->width, s->column));
    wisp_blk_free(some);
}

/* Random numbers in it, of which each test changes some. */
static scene scene_new(wisp_ctx *ctx, wisp_map *map, wisp_type type, int kind)
{
    scene s = {.ctx = ctx, .map = map, .type = type, .size = wisp_type_size(type)};
    void *data;
    REF_OK(ctx, wisp_blk_create(&s.base, ctx, map, type, WIDTH));
    s.want = malloc(SIZE);
    assert_non_null(s.want);
    ref_rng r = {77};
    const size_t bytes = (size_t)wisp_blk_nrows(s.base) * WIDTH * s.size;
    for (size_t i = 0; i < bytes; i++) s.want[i] = (char)ref_below(&r, 64); /* no NaN */
    REF_OK(ctx, wisp_blk_lend(s.base, WISP_DISCARD, &data, NULL));
    memcpy(data, s.want, bytes);
    REF_OK(ctx, wisp_blk_return(s.base));
    set_view(&s, kind);
    return s;
}

/* The view goes before what it was for is looked at. */
static void scene_check(scene *s, const char *what)
{
    static _Thread_local char got[SIZE];
    const size_t row = WIDTH * s->size;
    wisp_blk_free(s->view);
    look(s, got);
    for (int64_t i = 0; i < wisp_blk_nrows(s->base); i++)
        if (memcmp(got + (size_t)i * row, s->want + (size_t)i * row, row))
            fail_msg("%s on %s, %s: row %lld, width %d from %d, first row %lld", what, s->ctx->backend->name,
                     wisp_type_name(s->type), (long long)i, s->width, s->column[0], (long long)s->first);
    wisp_blk_free(s->base);
    free(s->want);
}

/* fn for each device, type, map, and view that there is. */
static void everywhere(void (*fn)(scene *s, ref_rng *r))
{
    for (int d = 0; d < DEVICES; d++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 2});
        for (int kind = 0; kind < 4; kind++) {
            ref_rng r = {5};
            wisp_map *map = new_map(ctx, &r, kind);
            for (wisp_type t = WISP_S; t <= WISP_Z; t++)
                for (int view = 0; view < (wisp_map_is_natural(map) ? VIEWS : OF_ROWS); view++) {
                    scene s = scene_new(ctx, map, t, view);
                    fn(&s, &r);
                }
            wisp_map_free(map);
        }
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
}

/* ---- filling ----------------------------------------------------------------------------------- */

static void fill(scene *s, ref_rng *r)
{
    const wisp_scalar v = ref_scalar(ref_value(r, s->type));
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_blk_fill(s->view, v));
    assert_int_equal(trips(s->ctx) - before, 0);
    for (int64_t i = 0; i < s->rows; i++)
        for (int j = 0; j < s->width; j++) wisp__store(s->type, want_at(s, i, j), v);
    scene_check(s, "fill");
}

static void units(scene *s, ref_rng *r)
{
    int64_t unit[WIDTH], kept[WIDTH], first;
    wisp_blk *other;
    wisp_map_local(s->map, &first);
    REF_OK(s->ctx, wisp_blk_create(&other, s->ctx, s->map, s->type, s->width));
    for (int j = 0; j < s->width; j++) unit[j] = kept[j] = ref_below(r, ROWS);
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_blk_fill_units(s->view, unit));
    assert_int_equal(trips(s->ctx) - before, 0);
    for (int j = 0; j < s->width; j++) unit[j] = 0;   /* it was read, */
    REF_OK(s->ctx, wisp_blk_fill_units(other, unit)); /* and what the call made of it, too */
    wisp_blk_free(other);
    for (int64_t i = 0; i < s->rows; i++)
        for (int j = 0; j < s->width; j++)
            wisp__store(s->type, want_at(s, i, j), (wisp_scalar){first + row_of(s, i) == kept[j], 0});
    scene_check(s, "units");
}

static void random_numbers(scene *s, ref_rng *r)
{
    const wisp_random kind = ref_below(r, 2) ? WISP_RANDOM_GAUSS : WISP_RANDOM_TRACE;
    const uint64_t seed = ref_next(r);
    const uint32_t stream = (uint32_t)ref_below(r, 5), column = (uint32_t)ref_below(r, 100);
    const bool is_complex = wisp_type_is_complex(s->type);
    int64_t first;
    wisp_map_local(s->map, &first);
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_blk_fill_random(s->view, kind, seed, stream, column));
    assert_int_equal(trips(s->ctx) - before, 0);
    for (int64_t i = 0; i < s->rows; i++) {
        const int64_t row = row_of(s, i), number = s->map->number ? s->map->number[row] : first + row;
        for (int j = 0; j < s->width; j++)
            wisp__store(s->type, want_at(s, i, j),
                        wisp__random_value(kind, is_complex, seed, number, column + (uint32_t)j, stream));
    }
    scene_check(s, "random");
}

static void fills(void **state) { (void)state, everywhere(fill); }
static void unit_vectors(void **state) { (void)state, everywhere(units); }
static void randoms(void **state) { (void)state, everywhere(random_numbers); }

/* ---- arrays ------------------------------------------------------------------------------------ */

enum { MORE = 3 }; /* elements between the rows or columns of an array */

/* Where element (row, j) of the view is in an array, in bytes. */
static size_t array_at(const scene *s, wisp_layout layout, int64_t row, int j)
{
    const int64_t at = layout == WISP_ROW_MAJOR ? row * (s->width + MORE) + j : j * (s->rows + MORE) + row;
    return (size_t)at * s->size;
}
static int64_t array_ld(const scene *s, wisp_layout layout)
{
    return (layout == WISP_ROW_MAJOR ? s->width : s->rows) + MORE;
}

static void put_in(scene *s, ref_rng *r)
{
    const wisp_layout layout = ref_below(r, 2) ? WISP_ROW_MAJOR : WISP_COL_MAJOR;
    const size_t bytes = array_at(s, layout, s->rows, s->width);
    char *array = malloc(bytes);
    assert_non_null(array);
    for (size_t i = 0; i < bytes; i++) array[i] = (char)ref_below(r, 64);
    for (int64_t i = 0; i < s->rows; i++)
        for (int j = 0; j < s->width; j++)
            memcpy(want_at(s, i, j), array + array_at(s, layout, row_of(s, i) - s->first, j), s->size);
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_blk_put(s->view, layout, array, array_ld(s, layout)));
    assert_int_equal(trips(s->ctx) - before, 0);
    memset(array, 0x7f, bytes); /* it was read */
    free(array);
    scene_check(s, "put");
}

static void get_out(scene *s, ref_rng *r)
{
    const wisp_layout layout = ref_below(r, 2) ? WISP_ROW_MAJOR : WISP_COL_MAJOR;
    const size_t bytes = array_at(s, layout, s->rows, s->width);
    char *array = malloc(bytes), *expected = malloc(bytes);
    assert_true(array && expected);
    memset(array, 0x55, bytes);
    memset(expected, 0x55, bytes); /* between them nothing is written */
    for (int64_t i = 0; i < s->rows; i++)
        for (int j = 0; j < s->width; j++)
            memcpy(expected + array_at(s, layout, row_of(s, i) - s->first, j), want_at(s, i, j), s->size);
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_blk_get(s->view, layout, array, array_ld(s, layout)));
    assert_int_equal(trips(s->ctx) - before, 1);
    assert_memory_equal(array, expected, bytes);
    free(array);
    free(expected);
    scene_check(s, "get");
}

static void arrays_in(void **state) { (void)state, everywhere(put_in); }
static void arrays_out(void **state) { (void)state, everywhere(get_out); }

/* ---- columns that become columns of another block; rows for other ranks -------------------------- */

/* From a scattered view of a block of the other precision, or of the same one. */
static void copy(scene *s, ref_rng *r)
{
    static const int from[] = {6, 1, 4, 0, 2, 3, 5};
    const int parts = wisp__reals(s->type);
    const wisp_type type = wisp__type_of(parts, ref_below(r, 2));
    wisp_blk *x, *rows, *view;
    REF_OK(s->ctx, wisp_blk_create(&x, s->ctx, s->map, type, WIDTH));
    REF_OK(s->ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 9, 0, 0));
    REF_OK(s->ctx, wisp_map_is_natural(s->map) ? wisp_blk_rows(&rows, x, s->first, s->rows)
                                               : wisp_blk_cols(&rows, x, 0, WIDTH));
    REF_OK(s->ctx, wisp_blk_pick(&view, rows, s->width, from));
    const int64_t before = trips(s->ctx);
    REF_OK(s->ctx, wisp_copy(s->view, view));
    assert_int_equal(trips(s->ctx) - before, 0);
    wisp_blk_free(view);
    wisp_blk_free(rows);
    void *data;
    REF_OK(s->ctx, wisp_blk_lend(x, WISP_READ, &data, NULL));
    for (int64_t i = 0; i < s->rows; i++)
        for (int j = 0; j < s->width; j++) {
            const char *const at = (char *)data + (size_t)((s->first + i) * WIDTH + from[j]) * wisp_type_size(type);
            wisp__store(s->type, want_at(s, i, j), wisp__load(type, at));
        }
    REF_OK(s->ctx, wisp_blk_return(x));
    wisp_blk_free(x);
    scene_check(s, "copy");
}

/* Both without lists of columns: rows with gaps, as a block that moves to where its halo has room copies them. */
static void copy_side_by_side(scene *s, ref_rng *r)
{
    (void)r;
    wisp_blk *x;
    REF_OK(s->ctx, wisp_blk_create(&x, s->ctx, s->map, s->type, 2));
    REF_OK(s->ctx, wisp_blk_fill_random(x, WISP_RANDOM_GAUSS, 9, 0, 0));
    const int64_t local = wisp_blk_nrows(x);
    const wisp__columns_params p = {.from = wisp__at(x),
                                    .to = wisp__at(s->base) + s->size,
                                    .ld_from = 2,
                                    .ld_to = WIDTH,
                                    .width = 2,
                                    .from_bytes = (int)s->size,
                                    .to_bytes = (int)s->size,
                                    .reals = wisp__reals(s->type)};
    REF_OK(s->ctx, s->ctx->backend->copy_columns(s->ctx, &p, local));
    void *data;
    REF_OK(s->ctx, wisp_blk_lend(x, WISP_READ, &data, NULL));
    for (int64_t i = 0; i < local; i++)
        memcpy(s->want + (size_t)(i * WIDTH + 1) * s->size, (char *)data + (size_t)(2 * i) * s->size, 2 * s->size);
    REF_OK(s->ctx, wisp_blk_return(x));
    wisp_blk_free(x);
    scene_check(s, "copy side by side");
}

/* Two long lists of columns go with one call. (Views that have them would be looked through for hours.) */
static void many_columns(void **state)
{
    enum { MANY = 800001 };
    int *from = malloc(MANY * sizeof *from), *to = malloc(MANY * sizeof *to);
    assert_true(from && to);
    (void)state;
    for (int j = 0; j < MANY; j++) from[j] = MANY - 1 - j, to[j] = (j + 7) % MANY;
    for (int d = 0; d < DEVICES; d++) {
        wisp_ctx *ctx = ref_ctx(&(wisp_ctx_opts){.device = device[d], .threads = 1});
        float *x = malloc(MANY * sizeof *x), *there[2];
        assert_non_null(x);
        for (int j = 0; j < MANY; j++) x[j] = (float)j;
        for (int k = 0; k < 2; k++) REF_OK(ctx, ctx->backend->alloc(ctx, &there[k], MANY, sizeof *x));
        REF_OK(ctx, ctx->backend->write(ctx, there[0], x, MANY * sizeof *x));
        const wisp__columns_params p = {.from = there[0],
                                        .to = there[1],
                                        .ld_from = MANY,
                                        .ld_to = MANY,
                                        .width = MANY,
                                        .from_column = from,
                                        .to_column = to,
                                        .from_bytes = sizeof *x,
                                        .to_bytes = sizeof *x,
                                        .reals = 1};
        REF_OK(ctx, ctx->backend->copy_columns(ctx, &p, 1));
        REF_OK(ctx, ctx->backend->read(ctx, there[1], x, MANY * sizeof *x));
        for (int j = 0; j < MANY; j++)
            if (x[to[j]] != (float)from[j]) fail_msg("%s: column %d is %g", device[d], to[j], (double)x[to[j]]);
        for (int k = 0; k < 2; k++) ctx->backend->free(ctx, there[k]);
        free(x);
        ref_nothing_left(ctx);
        wisp_ctx_free(ctx);
    }
    free(from);
    free(to);
}

/* Some rows, by a list in the device's memory, go to the host; and others come from there, one after the other. */
static void pack_some(scene *s, ref_rng *r)
{
    enum { SOME = 100 };
    const int64_t local = wisp_blk_nrows(s->base), row = (int64_t)(WIDTH * s->size);
    const wisp__backend *backend = s->ctx->backend;
    int32_t list[SOME], *there;
    static _Thread_local char packed[SOME * WIDTH * 16];
    const int64_t count = local < SOME ? local : SOME;
    for (int64_t i = 0; i < count; i++) list[i] = (int32_t)ref_below(r, local);
    REF_OK(s->ctx, backend->alloc(s->ctx, &there, SOME, sizeof *there));
    REF_OK(s->ctx, backend->write(s->ctx, there, list, sizeof list));
    wisp__rows_params p = {.x = wisp__at(s->base), .ld = row, .bytes = row, .row = there, .count = count};
    REF_OK(s->ctx, backend->pack(s->ctx, &p, packed));
    for (int64_t i = 0; i < count; i++) assert_memory_equal(packed + i * row, s->want + list[i] * row, (size_t)row);
    p.row = NULL, p.first = local - count;
    REF_OK(s->ctx, backend->unpack(s->ctx, &p, packed));
    memcpy(s->want + p.first * row, packed, (size_t)(count * row));
    memset(packed, 0x7f, sizeof packed); /* it was read */
    backend->free(s->ctx, there);
    scene_check(s, "pack");
}

static void copies(void **state) { (void)state, everywhere(copy), everywhere(copy_side_by_side); }
static void packs(void **state) { (void)state, everywhere(pack_some); }

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fills),        cmocka_unit_test(unit_vectors),
                                       cmocka_unit_test(randoms),      cmocka_unit_test(arrays_in),
                                       cmocka_unit_test(arrays_out),   cmocka_unit_test(copies),
                                       cmocka_unit_test(many_columns), cmocka_unit_test(packs)};
    return REF_RUN(tests);
}
