/* Predicts the storage of a matrix and its bytes before it is made: at most, over all choices that may be made for it;
   and about, by the choice that its rows lead to (of a large matrix some rows, read as when it is made). */
#include "assemble.h"
#include "../data/store/store.h"
#include "../order/order.h"

/* A matrix as it may come to be: how it is stored, and what is looked for on the way. */
typedef struct {
    const wisp_mat *A; /* of its shape alone */
    const wisp__part *part;
    const wisp_src *src;  /* its rows */
    int64_t nnz, entries; /* without and with padding, before duplicates are added */
    bool compared;        /* rows are compared with one another, */
    bool tried_apart;     /* with their diagonals apart, too */
    const wisp__storage *how;
    bool pattern, list, codes, apart;
    int column_bytes;              /* of an entry; 0: it has no column of its own */
    int64_t strings, string_bytes; /* of patterns or lists */
    int64_t foretold;              /* of what the backend makes of patterns, about; -1: not known */
    int64_t spared;                /* of them that are not read then */
    int64_t values;                /* that have codes */
    bool permuted, sorted;         /* rows are in an order of their own; by length at last */
    int64_t visits;                /* blocks of rows in tiles */
    int64_t order_bytes;           /* held while an order is looked for */
    int64_t spill_rows, outside;   /* half storage: spill rows, entries that have one */
    bool most;                     /* what is small is not left out */
} way;

/* ---- bytes of a way -------------------------------------------------------------------------- */

static int64_t size_of(const way *w) { return (int64_t)wisp_type_size(w->A->type); }
static int64_t real_of(const way *w) { return (int64_t)wisp_type_size(wisp__real_type(w->A->type)); }

static int64_t map_bytes(const way *w) { return (w->permuted || w->sorted ? 8 * w->A->local_rows : 0) + 4 * w->visits; }

/* Entries of the upper half, the diagonal with them, at most. */
static int64_t upper(const way *w) { return (w->nnz + w->A->local_rows) / 2; }

static int64_t half_bytes(const way *w)
{
    const int64_t rows = w->A->local_rows, strips = (rows + K_STRIP - 1) / K_STRIP;
    const int64_t blocks = wisp__facts_of(w->A->ctx).cut.most_blocks;
    const int64_t sources = WISP__MIN(w->spill_rows, blocks * blocks);
    return upper(w) * (size_of(w) + 4) + rows * (8 + 4 + 4) + 8 + (strips + 1) * (8 + 8 + 4) + w->outside * 4 +
           w->spill_rows * 8 + (blocks + 1) * (8 + 8 + 8) + sources * 4;
}

static int64_t pattern_bytes(const way *w)
{
    const int64_t rows = w->A->local_rows;
    return 2 * rows + w->string_bytes + 8 * (w->strings + 1) + (w->apart ? rows * real_of(w) : 0);
}

static int64_t entry_bytes(const way *w)
{
    const wisp_mat *A = w->A;
    const int64_t rows = A->local_rows;
    int64_t columns = w->entries * w->column_bytes;
    const int64_t values = w->codes ? w->entries + w->values * size_of(w) : w->entries * size_of(w);
    if (w->list) columns = 2 * rows + w->string_bytes + 8 * (w->strings + 1);
    return columns + values + (w->apart ? rows * real_of(w) : 0) + 4 * rows + 8 * ((rows >> A->log_c) + 2);
}

/* Those that a product reads at least (wisp__mat_bytes). */
static int64_t sweep_bytes(const way *w)
{
    const wisp_mat *A = w->A;
    const int64_t rows = A->local_rows, chunks = (rows + (1 << A->log_c) - 1) >> A->log_c;
    const int64_t diagonal = w->apart ? rows * real_of(w) : 0, strings = w->string_bytes + 8 * w->strings;
    if (A->format == WISP_FORMAT_HERMITIAN) return upper(w) * (size_of(w) + 4) + rows * 8;
    if (w->pattern) return 2 * rows + strings + diagonal - w->spared;
    const int64_t columns = w->list ? 2 * rows + strings : w->nnz * w->column_bytes;
    const int64_t values = w->codes ? w->nnz + w->values * size_of(w) : w->nnz * size_of(w);
    return columns + values + diagonal + 8 * chunks;
}

/* As a matrix is stored of which this was found. */
static void store_as(way *w, const wisp__compression *c)
{
    w->how = wisp__storage_for(c);
    w->column_bytes = w->how->column_bytes ? w->how->column_bytes(c) : 0;
}

/* All that stays, the maps with it; *making: what is held besides shortly before. */
static int64_t stored_bytes(const way *w, int64_t *making)
{
    const wisp_mat *A = w->A;
    const int64_t bytes = map_bytes(w) + (w->pattern ? pattern_bytes(w) : entry_bytes(w));
    const int64_t stored = w->pattern ? w->string_bytes / (size_of(w) + 4) : w->entries;
    const wisp__given given = {.kind = w->how->kind,
                               .type = A->type,
                               .width = A->width,
                               .log_c = A->log_c,
                               .rows = A->local_rows,
                               .cols = A->local_cols,
                               .patterns = w->pattern ? w->strings : 0,
                               .repeats = w->pattern || w->list || w->most,
                               .stored = stored,
                               .longest = WISP__MIN(w->src->max_row, stored),
                               .bytes = bytes,
                               .foretold = w->most ? -1 : w->foretold};
    int64_t made = 0;
    *making = 0;
    if (A->ctx->backend->foresee && A->format != WISP_FORMAT_HERMITIAN)
        A->ctx->backend->foresee(A->ctx, &given, &made, making);
    return bytes + made;
}

/* The whole matrix, then its half beside it, then what is numbered in this. */
static int64_t half_making_bytes(const way *w, int64_t whole)
{
    const int64_t rows = w->A->local_rows, sets = w->A->ctx->threads * (rows / 64 + 1) * (8 + 4);
    const int64_t both = whole + 8 * rows + upper(w) * (size_of(w) + 4);
    return WISP__MAX(both, map_bytes(w) + half_bytes(w) + sets + 4 * w->spill_rows);
}

/* The most that is held until the matrix stands. */
static int64_t assembly_bytes(const way *w)
{
    const wisp_mat *A = w->A;
    const int64_t rows = A->local_rows, lengths = 4 * rows, map = map_bytes(w);
    const int64_t readers = A->ctx->threads * wisp__row_reader_bytes(w->src);
    int64_t making, strings = 0, bytes = 0, most = lengths + w->order_bytes;
    const int64_t stored = stored_bytes(w, &making);
    if (w->compared) {
        wisp__compression_most(A, w->nnz, &strings, &bytes);
        most =
            WISP__MAX(most, lengths + map + wisp__compression_search_bytes(A, w->nnz, w->src->max_row, w->tried_apart));
    }
    if (w->permuted || w->sorted) most = WISP__MAX(most, lengths + map + 8 * rows);
    const int64_t tables = w->pattern || w->list ? wisp__strings_most(strings, bytes) : 0;
    most = WISP__MAX(most, stored + making + tables + (w->pattern ? lengths : 0));
    if (A->format == WISP_FORMAT_HERMITIAN) most = WISP__MAX(most, half_making_bytes(w, stored));
    return most + readers + WISP_PLAN_LITTLE;
}

static void describe(const way *w, int64_t work_blocks, wisp_mat_info *info)
{
    const wisp_mat *A = w->A;
    const bool half = A->format == WISP_FORMAT_HERMITIAN;
    int64_t making;
    *info = (wisp_mat_info){.rows = w->part->whole->rows,
                            .cols = w->part->whole->cols,
                            .nnz = w->nnz,
                            .type = A->type,
                            .C = 1 << A->log_c,
                            .sigma = WISP__MAX(A->sigma, 1),
                            .bytes = half ? map_bytes(w) + half_bytes(w) : stored_bytes(w, &making),
                            .sweep_bytes = sweep_bytes(w),
                            .order = A->order,
                            .format = A->format,
                            .spill_bytes = half ? w->spill_rows * size_of(w) : 0,
                            .assembly_bytes = assembly_bytes(w),
                            .work_blocks = work_blocks,
                            .local_rows = A->local_rows,
                            .local_nnz = w->nnz};
    wisp__halo_info(w->part->halo, A->way, info);
    if (w->permuted || w->sorted) /* as a rule rows do not follow one another then */
        info->packed_rows = WISP__MAX(info->packed_rows, info->send_rows);
    if (w->how->format == WISP_FORMAT_COMPRESSED) info->format = WISP_FORMAT_COMPRESSED;
}

/* The entries of all ranks; their status, too. */
static wisp_status join(wisp_ctx *ctx, wisp_status status, wisp_mat_info *info)
{
    double nnz = status == WISP_OK ? (double)info->nnz : 0;
    if (status == WISP_OK) status = ctx->comm->sum(ctx, &nnz, 1);
    if (status == WISP_OK) info->nnz = (int64_t)nnz;
    if (status == WISP_OK && info->format != WISP_FORMAT_HERMITIAN) info->props_bytes = wisp__props_bytes(ctx, info);
    return wisp_ctx_leave(ctx, status);
}

/* ---- at most --------------------------------------------------------------------------------- */

enum { LENGTHS = 256 }; /* that are counted one by one */

typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    int log_c;
    int64_t sigma;
    atomic_llong nnz, entries, rows[LENGTHS], longer_rows, in_longer;
} count_run;

/* A piece is a whole number of sorting windows. */
static wisp_status count_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    count_run *r = arg;
    int32_t *len;
    int64_t nnz = 0, rows[LENGTHS] = {0}, longer_rows = 0, in_longer = 0, entries;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(r->ctx, &len, (size_t)(end - begin), sizeof *len));
    for (int64_t i = begin; i < end; i++) {
        WISP_TRY(wisp__count_row(reader, r->ctx, i, len + (i - begin)));
        const int32_t n = len[i - begin];
        nnz += n;
        if (n < LENGTHS) {
            rows[n]++;
        } else {
            longer_rows++;
            in_longer += n;
        }
    }
    WISP_TRY(wisp__padded_sorted(r->ctx, len, end - begin, r->log_c, r->sigma, &entries));
    atomic_fetch_add(&r->nnz, nnz);
    atomic_fetch_add(&r->entries, entries);
    for (int n = 0; n < LENGTHS; n++)
        if (rows[n]) atomic_fetch_add(&r->rows[n], rows[n]);
    atomic_fetch_add(&r->longer_rows, longer_rows);
    atomic_fetch_add(&r->in_longer, in_longer);
out:
    wisp_free(r->ctx, len);
    return status;
}

/* Entries with padding in whatever order: no chunks are longer than if the longest rows were each in one of its own. */
static int64_t most_padded(count_run *r)
{
    const int64_t c = (int64_t)1 << r->log_c;
    int64_t chunks = (r->src->rows + c - 1) / c, entries = atomic_load(&r->in_longer);
    if (c == 1) return atomic_load(&r->nnz);
    chunks -= atomic_load(&r->longer_rows);
    for (int64_t n = LENGTHS - 1; n > 0 && chunks > 0; n--) {
        const int64_t rows = WISP__MIN(chunks, atomic_load(&r->rows[n]));
        entries += rows * n;
        chunks -= rows;
    }
    return entries * c;
}

static int64_t grid_blocks(const wisp_mat *A)
{
    const int64_t row_bytes = (int64_t)wisp_type_size(A->type) * WISP__MAX(A->width, 1);
    const wisp__facts f = wisp__facts_of(A->ctx);
    const int64_t per = wisp__rows_per_wide_block(&f.cut, A->local_rows, row_bytes);
    return (A->local_rows + per - 1) / per;
}

/* Half storage has two sets of dots for each of its blocks, which are at most a strip each. */
static int64_t most_blocks(const wisp_mat *A, bool tiles)
{
    const int64_t strips = (A->local_rows + K_STRIP - 1) / K_STRIP;
    if (A->format == WISP_FORMAT_HERMITIAN) return 2 * WISP__MIN(strips, wisp__facts_of(A->ctx).cut.most_blocks);
    return tiles ? strips : grid_blocks(A);
}

static wisp_status foresee_order(wisp__order_plan *p, const wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o,
                                 int64_t nnz)
{
    *p = (wisp__order_plan){0};
    if (!A->square || o->map) return WISP_OK;
    return wisp__order_foresee(p, A->ctx, src, nnz, A->order, A->type, WISP__MAX(o->width, 1));
}

static void or_more(const way *w, wisp_mat_info *info)
{
    wisp_mat_info other;
    describe(w, info->work_blocks, &other);
    info->bytes = WISP__MAX(info->bytes, other.bytes);
    info->assembly_bytes = WISP__MAX(info->assembly_bytes, other.assembly_bytes);
}

/* The ways that take most: entries as they are, and, where rows have hardly any, patterns or codes with the diagonal
   apart. */
static void at_most(way *w, const wisp_mat_opts *o, const wisp__order_plan *order, wisp_mat_info *info)
{
    const bool square = w->A->square;
    store_as(w, &(wisp__compression){.codes = false});
    w->most = true;
    w->order_bytes = order->bytes;
    w->permuted = order->looks;
    w->visits = order->looks ? w->A->local_rows / K_STRIP + 1 : 0;
    w->compared = wisp__may_compress(o);
    w->tried_apart = square;
    w->outside = upper(w);
    w->spill_rows =
        WISP__MIN(upper(w), 7 * w->A->local_rows); /* eight blocks; with more of them there are few spill rows */
    describe(w, most_blocks(w->A, order->looks || (o->map && o->map->visits)), info);
    if (!w->compared) return;
    w->apart = square;
    w->codes = true;
    store_as(w, &(wisp__compression){.codes = true});
    w->values = UINT8_MAX + 1;
    or_more(w, info);
    wisp__compression_most(w->A, w->nnz, &w->strings, &w->string_bytes);
    w->pattern = true;
    w->how = &wisp__storage_patterns;
    or_more(w, info);
}

wisp_status wisp_mat_bound(wisp_ctx *ctx, const wisp_src *whole, const wisp_mat_opts *opts, wisp_mat_info *info)
{
    const wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    wisp_mat A = {.ctx = ctx};
    wisp__part part = {0};
    wisp__order_plan order;
    count_run *run = NULL;
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, whole);
    WISP_NEED(ctx, info);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__part_open(&part, ctx, whole, o.map));
    const wisp_src *src = &part.src;
    A.square = whole->rows == whole->cols;
    WISP_TRY(wisp__mat_shape(src, &o, &A));
    WISP_TRY(wisp_alloc(ctx, &run, 1, sizeof *run));
    *run = (count_run){.ctx = ctx, .src = src, .log_c = A.log_c, .sigma = WISP__MAX(A.sigma, 1)};
    const int64_t piece = (WISP__PIECE * 16 + run->sigma - 1) / run->sigma * run->sigma;
    WISP_TRY(wisp__for_rows(ctx, "planning", src, NULL, src->rows, piece, count_rows, run));
    way w = {.A = &A,
             .part = &part,
             .src = src,
             .foretold = -1,
             .nnz = atomic_load(&run->nnz),
             .entries = atomic_load(&run->entries)};
    WISP_TRY(foresee_order(&order, &A, src, &o, w.nnz));
    if (order.looks || o.map) w.entries = most_padded(run);
    if (A.sigma == 0) A.sigma = wisp__window_for(w.entries, w.nnz, A.log_c);
    w.sorted = wisp__is_sorted(&A, &o);
    at_most(&w, &o, &order, info);
out:
    wisp_free(ctx, run);
    wisp__part_close(&part);
    return join(ctx, status, info);
}

/* ---- about ----------------------------------------------------------------------------------- */

/* As many rows tell how the others are stored, in runs long enough to show what follows what; a matrix that is not much
   larger is looked at as a whole, and put in order as when it is made. */
enum { ROWS = 1 << 20, LEAST_ROWS = 1 << 13, RUN = 1 << 12, ENTRIES = 1 << 24 };

static wisp__look choose_look(int64_t rows, int64_t most)
{
    if (rows <= most) return wisp__look_at_all(rows);
    return (wisp__look){.rows = most, .run = RUN, .stride = (rows - RUN) / (most / RUN - 1)};
}

typedef struct {
    wisp_ctx *ctx;
    const wisp_src *src;
    const wisp_map *map; /* NULL: natural */
    const wisp__look *look;
    int32_t *len;
} length_run;

static wisp_status find_lengths(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    const length_run *r = arg;
    for (int64_t i = begin; i < end; i++) {
        const int64_t place = wisp__look_place(r->look, i), row = r->map ? wisp__map_row(r->map, place) : place;
        wisp_status status = wisp__count_row(reader, r->ctx, row, r->len + i);
        if (status != WISP_OK) return status;
    }
    return WISP_OK;
}

typedef struct {
    wisp_mat A;
    const wisp_mat_opts *o;
    wisp__look look;
    int64_t most; /* rows to look at */
    bool again;   /* if there is no memory for that, fewer are looked at */
    bool quick;   /* no order is made */
    bool whole;   /* it looks at all rows, in the order that they will have */
    int64_t nnz;  /* of the rows looked at */
    int32_t *len; /* of these */
    wisp__order_plan order;
} guess;

/* Lengths of rows and the maps. Without a look at the whole, rows stay as they come, or as the map given has them. */
static wisp_status begin(guess *g, way *w)
{
    wisp_mat *A = &g->A;
    const wisp_src *src = w->src;
    wisp_status status;
    g->look = choose_look(src->rows, g->most);
    g->look.needed = g->again;
    const bool all = g->look.rows == src->rows;
    WISP_TRY(wisp__alloc_raw(A->ctx, &g->len, (size_t)g->look.rows, sizeof *g->len));
    length_run run = {A->ctx, src, all ? NULL : g->o->map, &g->look, g->len};
    WISP_TRY(wisp__for_rows(A->ctx, "planning", src, NULL, g->look.rows, WISP__PIECE, find_lengths, &run));
    for (int64_t i = 0; i < g->look.rows; i++) g->nnz += g->len[i];
    if (all)
        w->nnz = g->nnz;
    else
        w->nnz = w->part->halo ? w->part->nnz : (int64_t)((double)g->nnz * ((double)src->rows / (double)g->look.rows));
    WISP_TRY(foresee_order(&g->order, A, src, g->o, w->nnz));
    g->whole = all && (!g->order.looks || (g->nnz <= ENTRIES && !g->quick));
    const wisp_order order = A->order;
    if (!g->whole) A->order = WISP_ROWS_NATURAL;
    WISP_TRY(wisp__make_maps(A, w->part, g->o, g->len));
    if (!g->whole && !g->o->map) A->order = order;
out:
    return status;
}

/* What the backend makes of patterns for single columns, by the rows looked at: tables, which the first rows fill as a
   rule, and what grows with the rows. The patterns go from c into a matrix of these rows alone. */
static wisp_status foretell(const guess *g, way *w, wisp__compression *c)
{
    wisp_mat B = g->A;
    wisp_ctx *ctx = B.ctx;
    wisp_status status;
    B.local_rows = g->look.rows;
    B.local = (wisp__stored){.how = &wisp__storage_patterns};
    w->foretold = 0;
    WISP_TRY(B.local.how->create(&B, c));
    WISP_TRY(wisp__mat_take(&B));
    if (B.prepared) {
        w->foretold = B.prepared->bytes + (int64_t)(B.prepared->per_row * (double)(g->A.local_rows - B.local_rows));
        w->spared = (int64_t)((double)B.prepared->spared * ((double)g->A.local_rows / (double)B.local_rows));
    }
out:
    wisp__mat_release(&B);
    wisp__stored_free(ctx, &B.local);
    return status == WISP_ERR_NOMEM ? WISP_OK : status; /* nor is there room for these then */
}

/* Runs the search that chooses the storage, of rows or values. */
static wisp_status choose(guess *g, way *w)
{
    wisp_mat *A = &g->A;
    wisp_ctx *ctx = A->ctx;
    wisp__compression c = {0};
    wisp_status status;
    int64_t padded;
    /* Breadth first, hardly any large matrix has rows that repeat. */
    const bool scattered = !g->whole && g->order.looks && (A->order == WISP_ROWS_RCM || !g->order.banded);
    wisp_mat_opts o = *g->o;
    if (scattered) o.format = WISP_FORMAT_SELL;
    w->compared = wisp__may_compress(g->o);
    w->permuted = scattered || (!o.map && A->map->user);
    w->visits = o.map ? 0 : A->map->visits;
    WISP_TRY(wisp__choose_rows(A, w->src, &o, &g->look, g->len, &c));
    w->sorted = !c.pattern && wisp__is_sorted(A, &o);
    if (g->whole && A->map->user) WISP_TRY(wisp__order_lengths(A, &g->len));
    WISP_TRY(wisp__padded_sorted(ctx, g->len, g->look.rows, A->log_c, w->sorted ? A->sigma : 1, &padded));
    w->entries = g->nnz ? (int64_t)((double)w->nnz * ((double)padded / (double)g->nnz)) : padded;
    if (!c.pattern) WISP_TRY(wisp__choose_values(A, w->src, g->o, &g->look, w->nnz, g->nnz, &c));
    store_as(w, &c);
    w->pattern = c.pattern;
    w->list = c.list;
    w->codes = c.codes;
    w->apart = c.apart;
    w->tried_apart = A->square && (!w->pattern || w->apart);
    w->strings = w->pattern || w->list ? atomic_load(&c.rows.strings) : 0;
    w->string_bytes = w->strings ? c.rows.begin[w->strings] : 0;
    w->values = w->codes ? atomic_load(&c.values.strings) : 0;
    if (w->pattern && A->width <= 1) WISP_TRY(foretell(g, w, &c));
out:
    wisp__compression_free(&c, ctx);
    return status;
}

/* Looks at fewer rows if there is no memory for more: to tell the storage that is meant takes less of it than to have
   it. (One of several ranks would have to ask the others.) */
static wisp_status look(guess *g, way *w)
{
    const guess none = *g;
    const way nothing = *w;
    const int64_t rows = w->src->rows;
    for (int64_t most = ROWS;;) {
        const int64_t next = WISP__MAX(WISP__MIN(most, rows) / (8 * RUN) * RUN, LEAST_ROWS);
        g->most = most;
        g->again = g->A.ctx->ranks == 1 && next < most;
        wisp_status status = begin(g, w);
        if (status == WISP_OK) status = choose(g, w);
        if (status != WISP_ERR_NOMEM || !g->again) return status;
        wisp_free(g->A.ctx, g->len);
        wisp_map_free(g->A.map);
        wisp_map_free(g->A.col_map);
        *g = none;
        *w = nothing;
        most = next;
    }
}

wisp_status wisp__mat_foresee(wisp_ctx *ctx, const wisp_src *whole, const wisp_mat_opts *o, wisp_mat_info *info,
                              wisp__sample *sample, wisp__shape *m)
{
    guess g = {.A = {.ctx = ctx, .square = whole->rows == whole->cols}, .o = o, .quick = m != NULL};
    wisp__part part;
    const wisp_src *src = &part.src;
    way w = {.A = &g.A, .part = &part, .src = src, .foretold = -1};
    wisp_status status;
    WISP_TRY(wisp__part_open(&part, ctx, whole, o->map));
    WISP_TRY(wisp__mat_shape(src, o, &g.A));
    WISP_TRY(look(&g, &w));
    w.order_bytes = g.order.likely;
    w.spill_rows = src->rows / 8; /* as a rule */
    w.outside = upper(&w) / 8;
    describe(&w, g.A.map->visits ? g.A.map->visits : most_blocks(&g.A, false), info);
    if (!m) goto out;
    if (g.order.looks && !g.order.banded)
        WISP_TRY(wisp__sample_levels(ctx, src->rows, w.nnz, sample));
    else
        WISP_TRY(wisp__sample_source(ctx, src, sample));
    const wisp__facts f = wisp__facts_of(ctx);
    *m = (wisp__shape){.rows = (double)info->local_rows,
                       .entries = (double)info->nnz,
                       .bytes = (double)info->bytes,
                       .type = info->type,
                       .patterns = w.pattern,
                       .bundles = w.pattern && wisp__bundle_rows(&f, info->type) >= 2,
                       .lists = w.list,
                       .chunks = !wisp_type_is_complex(info->type), /* for single columns */
                       .follows = w.list ? 1 : sample->follows,
                       .sample = sample};
out:
    wisp_free(ctx, g.len);
    wisp_map_free(g.A.map);
    wisp_map_free(g.A.col_map);
    wisp__part_close(&part);
    return status;
}

wisp_status wisp_mat_plan(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_mat_info *info)
{
    const wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    WISP_NEED(ctx, info);
    wisp_ctx_enter(ctx);
    return join(ctx, wisp__mat_foresee(ctx, src, &o, info, NULL, NULL), info);
}
