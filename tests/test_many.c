/* Sources that give many rows at once (wisp_many_fn): all that reads a source gets from them what it gets from one that
   gives row by row; they are called as the header says; and what they do wrong is told. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ref.h"

/* ---- many rows of a source that has them one by one ----------------------------------------------------------- */

typedef enum {
    RIGHT,
    FAILS,
    FIRST_NOT_0,
    FALLS,
    OTHER_SUM,
    TOO_LONG,
    FAR_COLUMN,
    CHANGES,
    CHANGES_ROOM,
    LONG_ONCE
} fault;
typedef struct {
    wisp_src of;
    int64_t low, high; /* rows that it answers for */
    bool serial;       /* it must not be called by two at a time */
    fault wrong;
    int64_t wrong_row;
    atomic_int inside;
    atomic_llong calls, rows, refused, broken; /* refused: calls with too little room; broken: promises to it */
} many;

static int64_t give(many *m, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col, char *val)
{
    const size_t size = wisp_type_size(m->of.type);
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        rowptr[i] = n;
        n += m->of.row(m->of.arg, first + i, NULL, NULL);
    }
    rowptr[count] = n;
    if (n > room) {
        atomic_fetch_add(&m->refused, room > 0);
        return n;
    }
    for (int64_t i = 0; i < count && room > 0; i++)
        m->of.row(m->of.arg, first + i, col + rowptr[i], val + (size_t)rowptr[i] * size);
    return n;
}

static int64_t go_wrong(const many *m, int64_t at, int64_t count, int64_t room, int64_t n, int64_t *rowptr,
                        int64_t *col)
{
    switch (m->wrong) {
    case FAILS: return -7;
    case FIRST_NOT_0: rowptr[0] = 1; break;
    case FALLS: rowptr[at] = rowptr[at + 1] + 1; break;
    case OTHER_SUM: return n + 1;
    case TOO_LONG:
        for (int64_t i = at + 1; i <= count; i++) rowptr[i] += m->of.max_row + 1;
        return n + m->of.max_row + 1;
    case FAR_COLUMN:
        if (room >= n && rowptr[at + 1] > rowptr[at]) col[rowptr[at]] = m->of.cols;
        break;
    case CHANGES: /* where it gives entries there is one less than when it counted */
        for (int64_t i = at + 1; room > 0 && i <= count; i++) rowptr[i]--;
        return n - (room > 0);
    case LONG_ONCE: /* too long where it gives entries, and not when it counts them */
        for (int64_t i = at + 1; room > 0 && i <= count; i++) rowptr[i] += room;
        return n + room;
    case CHANGES_ROOM:
        if (room == 0 || atomic_load(&m->refused) == 0 || n > room) break;
        for (int64_t i = at + 1; i <= count; i++) rowptr[i]--;
        return n - 1;
    case RIGHT: break;
    }
    return n;
}

static int64_t many_rows(void *arg, int64_t first, int64_t count, int64_t room, int64_t *rowptr, int64_t *col,
                         void *val)
{
    many *m = arg;
    const bool alone = atomic_fetch_add(&m->inside, 1) == 0;
    const bool fits = count >= 1 && first >= m->low && first + count <= m->high && room >= 0 && rowptr &&
                      (col != NULL) == (room > 0) && (val != NULL) == (room > 0);
    atomic_fetch_add(&m->calls, 1);
    atomic_fetch_add(&m->rows, count);
    if (!fits || (m->serial && !alone)) atomic_fetch_add(&m->broken, 1);
    int64_t n = fits ? give(m, first, count, room, rowptr, col, val) : -1;
    if (n >= 0 && m->wrong_row >= first && m->wrong_row < first + count)
        n = go_wrong(m, m->wrong_row - first, count, room, n, rowptr, col);
    atomic_fetch_sub(&m->inside, 1);
    return n;
}

static wisp_src many_of(many *m, const wisp_src *of, bool at_once)
{
    *m = (many){.of = *of, .high = of->rows, .serial = !at_once, .wrong_row = -1};
    return (wisp_src){.rows = of->rows,
                      .cols = of->cols,
                      .max_row = of->max_row,
                      .type = of->type,
                      .arg = m,
                      .many = many_rows,
                      .many_at_once = at_once};
}

/* The same, of the rank's own rows alone. */
static wisp_src own_many_of(many *m, wisp_ctx *ctx, const wisp_src *of)
{
    wisp_src src = many_of(m, of, false);
    wisp_map *map;
    REF_OK(ctx, wisp_map_create(&map, ctx, of->rows));
    m->high = wisp_map_local(map, &m->low);
    m->high += m->low;
    wisp_map_free(map);
    src.own_rows = 1;
    return src;
}

/* ---- the same matrices ---------------------------------------------------------------------------------------- */

static void assert_same(wisp_ctx *ctx, const wisp_mat *a, const wisp_mat *b)
{
    wisp_src sa, sb;
    wisp_map *map;
    int64_t first, rows;
    REF_OK(ctx, wisp_src_open_mat(&sa, a));
    REF_OK(ctx, wisp_src_open_mat(&sb, b));
    assert_true(sa.rows == sb.rows && sa.cols == sb.cols && sa.max_row == sb.max_row && sa.type == sb.type);
    const size_t size = wisp_type_size(sa.type), most = (size_t)sa.max_row + 1;
    int64_t *col[2] = {calloc(most, sizeof **col), calloc(most, sizeof **col)};
    char *val[2] = {calloc(most, size), calloc(most, size)};
    REF_OK(ctx, wisp_map_create(&map, ctx, sa.rows));
    rows = wisp_map_local(map, &first);
    for (int64_t i = first; i < first + rows; i++) {
        const int n = sa.row(sa.arg, i, col[0], val[0]);
        assert_int_equal(sb.row(sb.arg, i, col[1], val[1]), n);
        assert_memory_equal(col[0], col[1], (size_t)n * sizeof **col);
        assert_memory_equal(val[0], val[1], (size_t)n * size);
    }
    wisp_map_free(map);
    for (int k = 0; k < 2; k++) free(col[k]), free(val[k]);
    wisp_src_close(&sa);
    wisp_src_close(&sb);
}

static void assert_kept(const many *m)
{
    if (atomic_load(&m->broken)) fail_msg("%lld calls were not as promised", (long long)atomic_load(&m->broken));
}

static void assert_same_from(wisp_ctx *ctx, const wisp_src *one, const wisp_src *all, const wisp_mat_opts *o)
{
    wisp_mat *A, *B;
    uint64_t hash[2];
    REF_OK(ctx, wisp_mat_create(&A, ctx, one, o));
    REF_OK(ctx, wisp_mat_create(&B, ctx, all, o));
    assert_same(ctx, A, B);
    REF_OK(ctx, wisp_mat_update(B, all));
    assert_same(ctx, A, B);
    REF_OK(ctx, wisp_src_hash(ctx, one, &hash[0]));
    REF_OK(ctx, wisp_src_hash(ctx, all, &hash[1]));
    assert_true(hash[0] == hash[1]);
    wisp_mat_free(A);
    wisp_mat_free(B);
    assert_kept(all->arg);
}

static void same_matrices(void **state)
{
    (void)state;
    static const wisp_type type[] = {WISP_S, WISP_D, WISP_C, WISP_Z};
    static const struct {
        int64_t rows, cols;
        int most;
    } shape[] = {{1, 1, 1}, {2, 2, 0}, {333, 333, 5}, {2777, 2777, 3}, {500, 777, 11}, {1500, 1500, 90}};
    static const wisp_mat_opts opts[] = {{0},
                                         {.order = WISP_ROWS_NATURAL, .C = 8, .sigma = 64},
                                         {.order = WISP_ROWS_RCM, .C = 4, .sigma = 1},
                                         {.width = 8}};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 3);
    ref_rng r = {71};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int t = 0; t < 4; t++) {
            wisp_src one = ref_random_src(&r, type[t], shape[s].rows, shape[s].cols, shape[s].most);
            for (size_t o = 0; o < sizeof opts / sizeof *opts; o++) {
                many m;
                const wisp_src all = (o + (size_t)t) % 3 ? many_of(&m, &one, (o + s) % 2) : own_many_of(&m, ctx, &one);
                wisp_mat_opts options = opts[o];
                if (one.rows != one.cols) options.order = WISP_ROWS_NATURAL;
                assert_same_from(ctx, &one, &all, &options);
            }
            wisp_src_close(&one);
        }
    wisp_ctx_free(ctx);
}

/* Sources that are made of it. */
static void same_sources(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    ref_rng r = {72};
    wisp_src one = ref_random_src(&r, WISP_Z, 900, 900, 6);
    many m;
    const wisp_src all = own_many_of(&m, ctx, &one);
    wisp_src a, b;
    double change[2];
    wisp_mat *A, *B;
    REF_OK(ctx, wisp_src_hermitian_part(&a, ctx, &one, &change[0]));
    REF_OK(ctx, wisp_src_hermitian_part(&b, ctx, &all, &change[1]));
    assert_true(change[0] == change[1]);
    for (int pass = 0; pass < 2; pass++) {
        REF_OK(ctx, wisp_mat_create(&A, ctx, &a, NULL));
        REF_OK(ctx, wisp_mat_create(&B, ctx, &b, NULL));
        assert_same(ctx, A, B);
        wisp_mat_free(A);
        wisp_mat_free(B);
        if (pass == 0 || wisp_ctx_processes(ctx) > 1) wisp_src_close(&a), wisp_src_close(&b);
        if (pass == 0) {
            REF_OK(ctx, wisp_src_partition(&a, ctx, &one, WISP_PARTITION_LEVELS));
            REF_OK(ctx, wisp_src_partition(&b, ctx, &all, WISP_PARTITION_LEVELS));
        }
    }
    int64_t weights[2][16];
    REF_OK(ctx, wisp_src_weights(ctx, &one, weights[0]));
    REF_OK(ctx, wisp_src_weights(ctx, &all, weights[1]));
    assert_memory_equal(weights[0], weights[1], (size_t)wisp_ctx_processes(ctx) * sizeof **weights);
    assert_kept(&m);
    wisp_src_close(&one);
    wisp_ctx_free(ctx);
}

static char *contents(const char *path, long *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = ftell(f);
    rewind(f);
    char *text = malloc((size_t)*bytes + 1);
    assert_int_equal(fread(text, 1, (size_t)*bytes, f), *bytes);
    fclose(f);
    return text;
}

static void same_files(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    ref_rng r = {73};
    wisp_src one = ref_random_src(&r, WISP_D, 1300, 1200, 7);
    static const char *const path[][2] = {{"many_a.mtx", "many_b.mtx"}, {"many_a.crs", "many_b.crs"}};
    for (int k = 0; k < 2; k++) {
        many m;
        const wisp_src all = own_many_of(&m, ctx, &one);
        REF_OK(ctx, wisp_src_write(&one, ctx, path[k][0], NULL));
        REF_OK(ctx, wisp_src_write(&all, ctx, path[k][1], NULL));
        assert_kept(&m);
        if (wisp_ctx_rank(ctx) > 0) continue;
        long bytes[2];
        char *a = contents(path[k][0], &bytes[0]), *b = contents(path[k][1], &bytes[1]);
        assert_int_equal(bytes[0], bytes[1]);
        assert_memory_equal(a, b, (size_t)bytes[0]);
        free(a), free(b);
        remove(path[k][0]), remove(path[k][1]);
    }
    wisp_src_close(&one);
    wisp_ctx_free(ctx);
}

/* ---- calls and room ------------------------------------------------------------------------------------------- */

/* Rows in their order are read by few calls: many at a time, and each as often as row by row. */
static void few_calls(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    ref_rng r = {74};
    wisp_src one = ref_random_src(&r, WISP_D, ROWS, ROWS, 4);
    wisp_mat *A;
    many m;
    const wisp_src all = many_of(&m, &one, false);
    REF_OK(ctx,
           wisp_mat_create(&A, ctx, &all, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL, .format = WISP_FORMAT_SELL}));
    const double rows = (double)atomic_load(&m.rows), calls = (double)atomic_load(&m.calls);
    if (rows < 300 * calls) fail_msg("%g calls for %g rows", calls, rows);
    assert_true(rows <= 2.1 * ROWS + 1024 * 4);
    assert_kept(&m);
    wisp_mat_free(A);
    wisp_src_close(&one);
    wisp_ctx_free(ctx);
}

/* A long row among short ones, and rows of which fewer fit than are asked for. */
static int uneven(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const int n = *(const int *)arg == 0 ? (i == 700 ? 20000 : 2) : i < 300 ? 1 : (int)(i % 200);
    for (int k = 0; k < n; k++) col[k] = (i + 7 * k) % 20000, val[k] = (double)(i + k);
    return n;
}

static void room(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
        wisp_src one = ref_rows_src(WISP_D, 2000, 20000, kind ? 200 : 20000, uneven, &kind);
        many m;
        const wisp_src all = many_of(&m, &one, false);
        assert_same_from(ctx, &one, &all, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL});
        if (wisp_ctx_processes(ctx) == 1) assert_true(atomic_load(&m.refused) > 0);
        wisp_src_close(&one);
        wisp_ctx_free(ctx);
    }
}

/* The bound of memory holds for it, too. */
static void memory(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 300, 5000, 40000};
    for (int k = 0; k < 4; k++) {
        wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
        ref_rng r = {75};
        wisp_src one = ref_random_src(&r, WISP_D, rows[k], rows[k], 6);
        many m;
        const wisp_src all = many_of(&m, &one, false);
        wisp_mat_info info;
        wisp_mat *A;
        int64_t now, peak;
        REF_OK(ctx, wisp_mat_bound(ctx, &all, NULL, &info));
        wisp_ctx_free(ctx);
        ctx = ref_isa_ctx(NULL, 2);
        REF_OK(ctx, wisp_mat_create(&A, ctx, &all, NULL));
        wisp_ctx_memory(ctx, &now, &peak);
        if (peak > info.assembly_bytes)
            fail_msg("%lld rows: %lld bytes, bound %lld", (long long)rows[k], (long long)peak,
                     (long long)info.assembly_bytes);
        wisp_mat_free(A);
        wisp_src_close(&one);
        wisp_ctx_free(ctx);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------ */

static int two(void *arg, int64_t i, int64_t *col, cplx *val)
{
    (void)arg;
    col[0] = i, val[0] = 2;
    col[1] = (i + 1) % 3000, val[1] = 1;
    return 2;
}

static void faults(void **state)
{
    (void)state;
    static const struct {
        fault wrong;
        wisp_status status;
        const char *words;
    } row[] = {
        {FAILS, WISP_ERR_CALLBACK, "the callback for many rows failed at rows "},
        {FIRST_NOT_0, WISP_ERR_CALLBACK, "row pointers that do not rise from 0"},
        {FALLS, WISP_ERR_CALLBACK, "row pointers that do not rise from 0"},
        {OTHER_SUM, WISP_ERR_CALLBACK, "row pointers that do not rise from 0"},
        {TOO_LONG, WISP_ERR_ARG, "row 1234 has 5 entries, more than the declared maximum of 2"},
        {FAR_COLUMN, WISP_ERR_ARG, "row 1234 names column 3000; columns are 0 to 2999"},
        {CHANGES, WISP_ERR_CALLBACK, "row 1234: the row callback gave 1 entries, and 2 when it counted them"},
        {LONG_ONCE, WISP_ERR_CALLBACK, "the callback for many rows gave 2 entries of row 1234, and more before"}};
    wisp_ctx *ctx = ref_isa_ctx(NULL, 2);
    wisp_src one = ref_rows_src(WISP_D, 3000, 3000, 2, two, NULL);
    wisp_mat *A;
    many m;
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const wisp_src all = many_of(&m, &one, k % 2);
        m.wrong = row[k].wrong;
        m.wrong_row = 1234;
        if (row[k].wrong == CHANGES && wisp_ctx_processes(ctx) > 1)
            continue; /* the halo is read before it is counted */
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &all, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL}), row[k].status,
                  row[k].words);
        assert_null(A);
    }
    wisp_src all = many_of(&m, &one, false);
    all.row = one.row;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &all, NULL), WISP_ERR_ARG, "row() or many(), not both");
    REF_FAILS(ctx, wisp_src_write(&all, ctx, "both.mtx", NULL), WISP_ERR_ARG, "row() or many(), not both");
    all.row = NULL;
    all.many = NULL;
    REF_FAILS(ctx, wisp_mat_create(&A, ctx, &all, NULL), WISP_ERR_ARG, "row() or many()");
    wisp_src_close(&one);
    wisp_ctx_free(ctx);
}

/* A call that is made again, for what fits, gives other entries. */
static void changes_when_called_again(void **state)
{
    (void)state;
    wisp_ctx *ctx = ref_isa_ctx(NULL, 1);
    const int kind = 1;
    wisp_src one = ref_rows_src(WISP_D, 2000, 20000, 200, uneven, (void *)&kind);
    many m;
    wisp_mat *A;
    const wisp_src all = many_of(&m, &one, false);
    m.wrong = CHANGES_ROOM;
    for (m.wrong_row = 301; m.wrong_row < 400; m.wrong_row++) {
        atomic_store(&m.refused, 0);
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, &all, &(wisp_mat_opts){.order = WISP_ROWS_NATURAL}), WISP_ERR_CALLBACK,
                  "the ");
        assert_null(A);
    }
    wisp_src_close(&one);
    wisp_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_matrices), cmocka_unit_test(same_sources),
                                       cmocka_unit_test(same_files),    cmocka_unit_test(few_calls),
                                       cmocka_unit_test(room),          cmocka_unit_test(memory),
                                       cmocka_unit_test(faults),        cmocka_unit_test(changes_when_called_again)};
    return REF_RUN(tests);
}
