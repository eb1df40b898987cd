#include "storage.h"
#include "backend/cpu/prepare.h"
#include "data/store/store.h"
#include <math.h>
#include <stdlib.h>

const char *const shape_name[SHAPES] = {"random",
                                        "no empty row",
                                        "clean lattice",
                                        "disordered lattice",
                                        "lattice of cells",
                                        "disordered cells",
                                        "few values, near",
                                        "few values, far",
                                        "few values but for the diagonal",
                                        "near columns",
                                        "band",
                                        "lattice",
                                        "two in turn",
                                        "lattice with holes",
                                        "three rows in turn",
                                        "Hermitian"};

/* ---- rows -------------------------------------------------------------------------------------- */

enum { FEW = 6, MOST = 32, REACH = 200 };
typedef struct {
    shape shape;
    wisp_type type;
    bool few;
    int64_t rows, cols;
    uint64_t seed;
    cplx value[FEW];
} maker;

typedef struct {
    int64_t *col;
    cplx *val;
    int n;
} row;

static void push(row *r, int64_t col, cplx v)
{
    r->col[r->n] = col;
    r->val[r->n++] = v;
}

static bool has(const row *r, int64_t col)
{
    int k = 0;
    while (k < r->n && r->col[k] != col) k++;
    return k < r->n;
}

static double real_value(ref_rng *r, wisp_type type) { return creal(ref_value(r, type)); }

static void random_row(const maker *m, ref_rng *r, row *out)
{
    const bool full = m->shape == SHAPE_FULL;
    const int64_t n = full ? 1 + ref_below(r, 8) : ref_below(r, 6) ? ref_below(r, 10) : 0;
    for (int k = 0; k < n; k++)
        push(out, k && ref_below(r, 8) == 0 ? out->col[k - 1] : ref_below(r, m->cols), ref_value(r, m->type));
}

static void lattice_row(const maker *m, ref_rng *r, int64_t i, row *out)
{
    static const int offset[] = {0, 1, 2, 7, 9};
    const int first = i % (i < m->rows / 2 ? 24 : 150) == 0;
    for (int k = 0; k < 5; k++) {
        const bool own = k == 0 && m->shape == SHAPE_DISORDERED;
        push(out, (i + offset[k]) % m->cols, own ? real_value(r, m->type) : m->value[(k + first) % 5]);
    }
}

static void cells_row(const maker *m, ref_rng *r, int64_t i, row *out)
{
    static const int to[] = {-7, -1, 1, 7};
    const int64_t orbital = i % 4;
    push(out, i, m->shape == SHAPE_DISORDERED_CELLS ? real_value(r, m->type) : 1);
    for (int k = 0; k < 4; k++)
        for (int way = 0; way < 2; way++) {
            const int64_t cell = i / 4 + to[k], j = 4 * cell + (way ? orbital ^ 1 : 3 - orbital);
            const cplx phase = wisp_type_is_complex(m->type) && way ? I : 1;
            if (cell >= 0 && j < m->cols && !has(out, j)) push(out, j, phase * creal(m->value[k]));
        }
    if (orbital == 0 && i + 9 < m->cols && !has(out, i + 9)) push(out, i + 9, m->value[4]);
}

static void near_row(const maker *m, ref_rng *r, int64_t i, row *out)
{
    const bool diagonal = m->shape == SHAPE_FEW_DIAGONAL;
    if (diagonal) push(out, i, real_value(r, m->type));
    for (int64_t k = ref_below(r, 12); k > 0; k--) {
        const int64_t j = m->shape == SHAPE_FEW_FAR ? ref_below(r, m->cols) : i + ref_below(r, REACH) - REACH / 2;
        if (j < 0 || j >= m->cols || has(out, j)) continue;
        push(out, j, m->shape == SHAPE_NEAR ? ref_value(r, m->type) : m->value[ref_below(r, FEW)]);
    }
}

static void list_row(const maker *m, ref_rng *r, int64_t i, row *out)
{
    enum { LINE = 41 };
    static const int64_t step[] = {-3 * LINE, -LINE, -1, 0, 1, LINE, 3 * LINE},
                         turn[2][4] = {{-37, -1, 0, 1}, {-1, 0, 1, 37}};
    const bool holes = m->shape == SHAPE_HOLES, lattice = holes || m->shape == SHAPE_LINES;
    if (holes && i % 50 == 7) return;
    for (int k = 0; k < (m->shape == SHAPE_TURNS ? 4 : 7); k++) {
        const int64_t offset = lattice ? step[k] : m->shape == SHAPE_TURNS ? turn[i % 2][k] : k - 3, j = i + offset;
        if (lattice && ((k == 2 && i % LINE == 0) || (k == 4 && i % LINE == LINE - 1))) continue;
        if ((holes && k == 3 && i % 64 == 9) || j < 0 || j >= m->cols) continue;
        push(out, j, m->few ? m->value[ref_below(r, FEW)] : ref_value(r, m->type));
    }
}

static void sites_row(const maker *m, int64_t i, row *out)
{
    enum { LEFT_OUT = 53 };
    static const int to[3][4] = {{0, 1, 2, 40}, {-1, 0, 1, 3}, {-40, -2, 0}};
    const int64_t orbital = (i + i / LEFT_OUT) % 3;
    for (int k = 0; k < (orbital == 2 ? 3 : 4); k++)
        if (i + to[orbital][k] >= 0 && i + to[orbital][k] < m->cols)
            push(out, i + to[orbital][k], m->value[(orbital + k) % FEW]);
}

/* Both of (i, j) and (j, i) are there or not, and conjugate. */
static void push_pair(const maker *m, int64_t i, int64_t j, int one_in, row *out)
{
    ref_rng r = {m->seed + (uint64_t)(i < j ? i * m->rows + j : j * m->rows + i)};
    const bool there = ref_below(&r, one_in) == 0;
    const cplx v = ref_value(&r, m->type);
    if (j < 0 || j >= m->rows || !there || has(out, j)) return;
    push(out, j, i == j ? creal(v) : i < j ? v : conj(v));
}

static void hermitian_row(const maker *m, int64_t i, row *out)
{
    enum { BAND = 9 };
    for (int64_t j = i - BAND; j <= i + BAND; j++) push_pair(m, i, j, 3, out);
    const int64_t far[] = {i ^ 64, i ^ 257, m->rows - 1 - i};
    for (int k = 0; k < 3; k++)
        if (llabs((long long)(far[k] - i)) > BAND) push_pair(m, i, far[k], 2, out);
}

static int make_row(void *arg, int64_t i, int64_t *col, cplx *val)
{
    const maker *m = arg;
    ref_rng r = {m->seed ^ ((uint64_t)i * 0xd1342543de82ef95u)};
    row out = {col, val, 0};
    switch (m->shape) {
    case SHAPE_RANDOM:
    case SHAPE_FULL: random_row(m, &r, &out); break;
    case SHAPE_CLEAN:
    case SHAPE_DISORDERED: lattice_row(m, &r, i, &out); break;
    case SHAPE_CELLS:
    case SHAPE_DISORDERED_CELLS: cells_row(m, &r, i, &out); break;
    case SHAPE_FEW:
    case SHAPE_FEW_FAR:
    case SHAPE_FEW_DIAGONAL:
    case SHAPE_NEAR: near_row(m, &r, i, &out); break;
    case SHAPE_SITES: sites_row(m, i, &out); break;
    case SHAPE_HERMITIAN: hermitian_row(m, i, &out); break;
    default: list_row(m, &r, i, &out);
    }
    return out.n;
}

wisp_src shape_src(ref_rng *r, shape s, wisp_type type, bool few, int64_t rows, int64_t cols)
{
    maker m = {s, type, few, rows, cols, ref_next(r), {0}};
    for (int i = 0; i < FEW; i++) m.value[i] = ref_value(r, type);
    return ref_rows_src(type, rows, cols, MOST, make_row, &m);
}

ref_mat shape_dense(ref_rng *r, shape s, wisp_type type, bool few, int64_t rows, int64_t cols)
{
    wisp_src src = shape_src(r, s, type, few, rows, cols);
    ref_mat dense = ref_dense(&src);
    src.free_arg(src.arg);
    return dense;
}

/* ---- kinds ------------------------------------------------------------------------------------- */

const storage storage_kind[] = {
    {"CRS, empty rows", SHAPE_RANDOM, .format = WISP_FORMAT_SELL, .C = 1},
    {"CRS", SHAPE_FULL, .format = WISP_FORMAT_SELL, .C = 1, .width = 8, .has = HAS_PADDING},
    {"SELL-4, sorted", SHAPE_RANDOM, .format = WISP_FORMAT_SELL, .C = 4, .sigma = 16},
    {"SELL-16, empty rows", SHAPE_RANDOM, .format = WISP_FORMAT_SELL, .C = 16},
    {"SELL-16", SHAPE_FULL, .format = WISP_FORMAT_SELL, .C = 16, .has = HAS_PADDING},
    {"SELL-32, sorted", SHAPE_RANDOM, .format = WISP_FORMAT_SELL, .C = 32, .sigma = 64},
    {"SELL-64", SHAPE_FULL, .format = WISP_FORMAT_SELL, .C = 64, .sigma = 64, .has = HAS_PADDING},
    {"SELL-16, columns in runs", SHAPE_LINES, .format = WISP_FORMAT_SELL, .C = 16, .has = HAS_PADDING,
     .if_real = HAS_FOLLOW},
    {"SELL-32, columns in runs", SHAPE_LINES, .format = WISP_FORMAT_SELL, .C = 32, .has = HAS_PADDING,
     .if_real = HAS_FOLLOW},
    {"patterns", SHAPE_CLEAN, .format = WISP_FORMAT_COMPRESSED, .width = 4, .has = HAS_PATTERNS},
    {"patterns in runs", SHAPE_CLEAN, .format = WISP_FORMAT_COMPRESSED, .width = 1, .has = HAS_PATTERNS,
     .maybe = HAS_BUNDLES},
    {"patterns, diagonal apart", SHAPE_DISORDERED, .format = WISP_FORMAT_COMPRESSED, .width = 4,
     .has = HAS_PATTERNS | HAS_DIAGONAL},
    {"patterns in runs, diagonal apart", SHAPE_DISORDERED, .format = WISP_FORMAT_COMPRESSED, .width = 1,
     .has = HAS_PATTERNS | HAS_DIAGONAL, .maybe = HAS_BUNDLES},
    {"patterns with pieces", SHAPE_CELLS, .format = WISP_FORMAT_COMPRESSED, .width = 4,
     .has = HAS_PATTERNS | HAS_PERIOD, .if_complex = HAS_PIECES},
    {"bundles", SHAPE_CELLS, .format = WISP_FORMAT_COMPRESSED, .width = 1,
     .has = HAS_PATTERNS | HAS_PERIOD | HAS_BUNDLES, .if_complex = HAS_PIECES},
    {"patterns with pieces, diagonal apart", SHAPE_DISORDERED_CELLS, .format = WISP_FORMAT_COMPRESSED, .width = 4,
     .has = HAS_PATTERNS | HAS_PERIOD | HAS_DIAGONAL, .if_complex = HAS_PIECES},
    {"bundles, diagonal apart", SHAPE_DISORDERED_CELLS, .format = WISP_FORMAT_COMPRESSED, .width = 1,
     .has = HAS_PATTERNS | HAS_PERIOD | HAS_DIAGONAL, .if_complex = HAS_PIECES, .maybe = HAS_BUNDLES},
    {"patterns of single rows in chunks", SHAPE_CELLS, .format = WISP_FORMAT_COMPRESSED, .C = 16, .width = 4,
     .has = HAS_PATTERNS | HAS_PERIOD, .if_complex = HAS_PIECES},
    {"patterns of three rows in turn", SHAPE_SITES, .format = WISP_FORMAT_COMPRESSED, .width = 4,
     .has = HAS_PATTERNS | HAS_PERIOD},
    {"lists", SHAPE_LINES, .format = WISP_FORMAT_COMPRESSED, .C = 1, .has = HAS_LISTS | HAS_PADDING},
    {"lists in turn", SHAPE_TURNS, .format = WISP_FORMAT_COMPRESSED, .C = 1,
     .has = HAS_LISTS | HAS_PERIOD | HAS_PADDING},
    {"lists with holes, C = 4", SHAPE_HOLES, .format = WISP_FORMAT_COMPRESSED, .C = 4, .has = HAS_LISTS},
    {"one list in chunks of 16", SHAPE_BAND, .format = WISP_FORMAT_COMPRESSED, .C = 16, .has = HAS_LISTS | HAS_PADDING},
    {"lists in chunks of 32", SHAPE_LINES, .format = WISP_FORMAT_COMPRESSED, .C = 32, .has = HAS_LISTS | HAS_PADDING},
    {"lists in turn in chunks of 16", SHAPE_TURNS, .format = WISP_FORMAT_COMPRESSED, .C = 16,
     .has = HAS_LISTS | HAS_PERIOD | HAS_PADDING},
    {"lists with holes in chunks of 64", SHAPE_HOLES, .format = WISP_FORMAT_COMPRESSED, .C = 64, .has = HAS_LISTS},
    {"lists and codes", SHAPE_LINES, .few = true, .format = WISP_FORMAT_COMPRESSED, .C = 1,
     .has = HAS_LISTS | HAS_CODES | HAS_PADDING},
    {"lists and codes in chunks", SHAPE_HOLES, .few = true, .format = WISP_FORMAT_COMPRESSED, .C = 32,
     .has = HAS_LISTS | HAS_CODES},
    {"short columns", SHAPE_NEAR, .format = WISP_FORMAT_COMPRESSED, .C = 1, .has = HAS_SHORT_COLUMNS},
    {"short columns in chunks of 16", SHAPE_NEAR, .format = WISP_FORMAT_COMPRESSED, .C = 16, .has = HAS_SHORT_COLUMNS},
    {"codes and short columns", SHAPE_FEW, .format = WISP_FORMAT_COMPRESSED, .C = 1,
     .has = HAS_CODES | HAS_SHORT_COLUMNS},
    {"codes and short columns in chunks of 32", SHAPE_FEW, .format = WISP_FORMAT_COMPRESSED, .C = 32,
     .has = HAS_CODES | HAS_SHORT_COLUMNS},
    {"codes, diagonal apart", SHAPE_FEW_DIAGONAL, .format = WISP_FORMAT_COMPRESSED, .C = 1,
     .has = HAS_CODES | HAS_SHORT_COLUMNS | HAS_DIAGONAL | HAS_PADDING},
    {"codes in chunks, diagonal apart", SHAPE_FEW_DIAGONAL, .format = WISP_FORMAT_COMPRESSED, .C = 16,
     .has = HAS_CODES | HAS_SHORT_COLUMNS | HAS_DIAGONAL | HAS_PADDING},
    {"codes", SHAPE_FEW_FAR, .format = WISP_FORMAT_COMPRESSED, .C = 1, .has = HAS_CODES, .far = true},
    {"codes in chunks", SHAPE_FEW_FAR, .format = WISP_FORMAT_COMPRESSED, .C = 16, .has = HAS_CODES, .far = true},
    {"half", SHAPE_HERMITIAN, .format = WISP_FORMAT_HERMITIAN, .has = HAS_HALF},
};
const int storage_kinds = sizeof storage_kind / sizeof storage_kind[0];

unsigned storage_of(const wisp_mat *A)
{
    const wisp__stored *s = &A->local;
    const wisp__cpu_prepared *made = wisp__cpu_prepared_of(&A->entries);
    unsigned has = (s->code ? HAS_CODES : 0) | (s->diagonal ? HAS_DIAGONAL : 0) | (s->padded ? HAS_PADDING : 0) |
                   (made && made->period > 1 ? HAS_PERIOD : 0);
    switch (s->how->kind) {
    case WISP__SELL: return has | (made && made->follow ? HAS_FOLLOW : 0);
    case WISP__CODED: return has | (s->short_col ? HAS_SHORT_COLUMNS : 0);
    case WISP__LISTS: return has | HAS_LISTS;
    case WISP__PATTERNS:
        return has | HAS_PATTERNS | (made && made->pieces ? HAS_PIECES : 0) | (made && made->bundles ? HAS_BUNDLES : 0);
    case WISP__HALF: return HAS_HALF;
    case WISP__OPERATOR: return 0;
    }
    return has;
}

/* Of a rank's part any kind may be chosen, and some can't be. */
static wisp_mat *storage_make_part(wisp_ctx *ctx, const storage *k, const wisp_src *src, const wisp_mat_opts *o)
{
    wisp_mat *A;
    wisp_mat_opts free = *o;
    if (k->has & HAS_HALF)
        REF_FAILS(ctx, wisp_mat_create(&A, ctx, src, o), WISP_ERR_UNSUPPORTED, "half of a Hermitian matrix");
    if (wisp_mat_create(&A, ctx, src, o) == WISP_OK) return A;
    free.format = WISP_FORMAT_DEFAULT;
    REF_OK(ctx, wisp_mat_create(&A, ctx, src, &free));
    return A;
}

wisp_mat *storage_make(wisp_ctx *ctx, const storage *k, const wisp_src *src)
{
    const wisp_mat_opts o = {.format = k->format,
                             .C = k->C,
                             .sigma = k->sigma ? k->sigma : k->C > 0,
                             .width = k->width,
                             .order = WISP_ROWS_NATURAL};
    if (ref_ranks() > 1) return storage_make_part(ctx, k, src, &o);
    const int bundle = ctx->bundle_bytes / (int)wisp_type_size(src->type);
    const unsigned maybe = k->maybe | (bundle == 2 ? HAS_BUNDLES : 0); /* of two rows, half may be better alone */
    unsigned want = k->has | (wisp_type_is_complex(src->type) ? k->if_complex : k->if_real);
    wisp_mat *A;
    REF_OK(ctx, wisp_mat_create(&A, ctx, src, &o));
    if (bundle < 2) want &= ~(unsigned)HAS_BUNDLES;
    if (!A->prepared) want &= ~(unsigned)(HAS_PIECES | HAS_BUNDLES | HAS_FOLLOW | HAS_PERIOD); /* what CPUs prepare */
    if ((storage_of(A) ^ want) & ~maybe)
        fail_msg("%s: %s, %s matrix: has %#x, should have %#x", wisp_ctx_isa(ctx), k->name, wisp_type_name(src->type),
                 storage_of(A), want);
    return A;
}
