/* Predicts the storage of a matrix and its bytes before it is made: about, by the choice that its rows lead to (of a
   large matrix some rows, read as when it is made). */
#include "way.h"

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
static wisp_status begin(guess *g, wisp__way *w)
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
    WISP_TRY(wisp__way_order(&g->order, A, src, g->o, w->nnz));
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
static wisp_status foretell(const guess *g, wisp__way *w, wisp__compression *c)
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
static wisp_status choose(guess *g, wisp__way *w)
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
    wisp__way_store(w, &c);
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
static wisp_status look_at_rows(guess *g, wisp__way *w)
{
    const guess none = *g;
    const wisp__way nothing = *w;
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
    wisp__way w = {.A = &g.A, .part = &part, .src = src, .foretold = -1};
    wisp_status status;
    WISP_TRY(wisp__part_open(&part, ctx, whole, o->map));
    WISP_TRY(wisp__mat_shape(src, o, &g.A));
    WISP_TRY(look_at_rows(&g, &w));
    w.order_bytes = g.order.likely;
    w.spill_rows = src->rows / 8; /* as a rule */
    w.outside = wisp__way_upper(&w) / 8;
    wisp__way_describe(&w, g.A.map->visits ? g.A.map->visits : wisp__way_blocks(&g.A, false), info);
    if (!m) goto out;
    if (g.order.looks && !g.order.banded)
        WISP_TRY(wisp__sample_levels(ctx, src->rows, w.nnz, sample));
    else
        WISP_TRY(wisp__sample_source(ctx, src, sample));
    const wisp__facts f = wisp__facts_of(ctx);
    *m = (wisp__shape){.rows = (double)info->local_rows,
                       .entries = (double)info->nnz,
                       .bytes = (double)info->sweep_bytes,
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
    return wisp__way_join(ctx, wisp__mat_foresee(ctx, src, &o, info, NULL, NULL), info);
}
