/* Matrices from sources: a counting pass, an order, a filling pass. */
#include "assemble.h"
#include "../data/store/store.h"
#include "../order/order.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- maps ------------------------------------------------------------------------------------ */

/* On a map of rows that were partitioned anew only a source with these numbers has the same rows; all ranks together.
 */
static wisp_status check_numbers(wisp_ctx *ctx, const wisp_map *map, const wisp_src *whole)
{
    const int64_t *number = wisp_src_numbers(whole);
    double differ = 0;
    if (map->number && map->local > 0)
        differ = !number || memcmp(number, map->number, (size_t)map->local * sizeof *number) != 0;
    const wisp_status status = wisp_ctx_sum(ctx, &differ, 1);
    if (status != WISP_OK || differ == 0) return status;
    return wisp_ctx_fail(
        ctx, WISP_ERR_UNSUPPORTED,
        "opts.map is of rows that were partitioned anew, and this source has other numbers of rows: take "
        "the matrix without wisp_src_partition");
}

wisp_status wisp__make_maps(wisp_mat *A, const wisp__part *part, const wisp_mat_opts *o, const int32_t *len)
{
    wisp_ctx *ctx = A->ctx;
    const wisp_src *whole = part->whole;
    int64_t levels;
    wisp__order_want want = {A->order, o->tiles_on, o->slices};
    if (wisp__near_levels(whole, &levels) && !want.order) want.order = WISP_ROWS_NATURAL;
    wisp_status status = WISP_OK;
    if (o->map) {
        if (o->map->rows != whole->rows)
            return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "a matrix of %lld rows on a map of %lld rows",
                                  (long long)whole->rows, (long long)o->map->rows);
        WISP_TRY(check_numbers(ctx, o->map, whole));
        A->map = wisp__map_retain(o->map);
    } else if (A->square) {
        WISP_TRY(wisp__map_ordered(&A->map, ctx, &part->src, len, &want, A->type, WISP__MAX(o->width, 1)));
        WISP_TRY(wisp__map_share(A->map, whole->rows, part->weights));
        WISP_TRY(wisp__map_number(A->map, wisp_src_numbers(whole)));
    } else {
        WISP_TRY(wisp_map_create_weighted(&A->map, ctx, whole->rows, part->weights));
    }
    A->order = A->map->order;
    if (o->cols && o->cols->rows != whole->cols)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "a matrix of %lld columns on a map of %lld",
                              (long long)whole->cols, (long long)o->cols->rows);
    if (A->square && o->cols && o->cols != A->map)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "a square matrix has its columns on the map of its rows");
    if (A->square || o->cols)
        A->col_map = wisp__map_retain(A->square ? A->map : o->cols);
    else
        WISP_TRY(wisp_map_create_weighted(&A->col_map, ctx, whole->cols, part->weights));
out:
    return status;
}

wisp_status wisp_map_create_ordered(wisp_map **out, wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts)
{
    WISP_NEED(ctx, out);
    const wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    wisp_mat A = {.ctx = ctx};
    wisp__part part = {0};
    int32_t *len = NULL;
    wisp_status status;
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__part_open(&part, ctx, src, o.map));
    A.square = src->rows == src->cols;
    WISP_TRY(wisp__mat_shape(&part.src, &o, &A));
    WISP_TRY(wisp__count_rows(ctx, &part.src, 0, part.src.rows, &len));
    WISP_TRY(wisp__make_maps(&A, &part, &o, len));
out:
    if ((status = wisp_ctx_leave(ctx, status)) == WISP_OK) *out = wisp__map_retain(A.map);
    wisp_free(ctx, len);
    wisp__part_close(&part);
    wisp_map_free(A.map);
    wisp_map_free(A.col_map);
    return status;
}

/* ---- filling --------------------------------------------------------------------------------- */

typedef struct {
    wisp_mat *A;
    wisp__compression *c;
    atomic_llong nnz;
    atomic_bool empty_rows;
} fill_run;

static wisp_status fill_rows(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    fill_run *r = arg;
    wisp_mat *A = r->A;
    wisp__stored *s = &A->local;
    int64_t nnz = 0;
    int32_t merged[WISP__PIECE]; /* counted lengths stay until all is well: a piece that failed is run again */
    wisp_status status = WISP_OK;
    for (int64_t i = begin; i < end; i++) {
        int n;
        WISP_TRY(wisp__read_row(reader, A->ctx, wisp__map_row(A->map, i), &n));
        WISP_TRY(wisp__same_count(A->ctx, reader->src, wisp__map_row(A->map, i), reader->raw, s->row_len[i]));
        WISP_TRY(wisp__refuse_too_large(reader, A->ctx, wisp__map_row(A->map, i), n, A->type));
        if (n == 0) atomic_store(&r->empty_rows, true);
        const int64_t chunk = i >> A->log_c, width = (s->chunk[chunk + 1] - s->chunk[chunk]) >> A->log_c;
        if (n > width || !s->how->put(A, r->c, reader, i, n, width))
            return wisp_ctx_failf(A->ctx, WISP_ERR_CALLBACK, "row %lld has other entries than it counted before",
                                  (long long)wisp__map_user(A->map, i));
        merged[i - begin] = n;
        nnz += n;
    }
    memcpy(s->row_len + begin, merged, (size_t)(end - begin) * sizeof *merged);
    atomic_fetch_add(&r->nnz, nnz);
out:
    return status;
}

/* Rows that fill the last chunk have entries, too: all padding. */
static void fill_tail(wisp_mat *A, wisp__compression *c)
{
    const wisp__stored *s = &A->local;
    for (int64_t i = A->local_rows; i < s->chunks << A->log_c; i++)
        s->how->put(A, c, NULL, i, 0, (s->entries - s->chunk[s->chunks - 1]) >> A->log_c);
}

/* Which neighbour's rows these rows need: -1: none, from_count: several. Columns rise, so that those in the halo come
   last. */
static int neighbour_of(const wisp_mat *A, int64_t begin, int64_t end)
{
    const wisp__halo *h = A->halo;
    int which = -1;
    for (int64_t i = begin; i < end; i++) {
        const wisp__row r = wisp__row_of(A, i);
        for (int k = r.n - 1; k >= 0 && wisp__row_col(&r, k) >= A->col_map->local; k--) {
            const int64_t row = wisp__row_col(&r, k) - A->col_map->local;
            if (which >= 0 && row >= h->from[which].first && row < h->from[which].first + h->from[which].count)
                continue;
            if (which >= 0) return h->from_count;
            which = wisp__halo_source(h, row);
        }
    }
    return which;
}

wisp_status wisp__visit_halo_last(wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    wisp__grid *g = &A->grid;
    wisp__halo *h = A->halo;
    const int64_t per = g->chunks_per_block << A->log_c;
    const int groups = h->from_count + 2; /* the first one needs no neighbour */
    const int32_t *order = A->map->visit;
    int *need = NULL;
    int64_t *at = NULL;
    wisp_status status;
    wisp_free(ctx, A->visit);
    wisp_free(ctx, h->group);
    WISP_TRY(wisp_alloc(ctx, &A->visit, (size_t)g->blocks, sizeof *A->visit));
    WISP_TRY(wisp_alloc(ctx, &h->group, (size_t)groups, sizeof *h->group));
    WISP_TRY(wisp_alloc(ctx, &need, (size_t)g->blocks, sizeof *need));
    WISP_TRY(wisp_alloc(ctx, &at, (size_t)groups + 1, sizeof *at));
    for (int64_t b = 0; b < g->blocks; b++) {
        need[b] = 1 + neighbour_of(A, b * per, WISP__MIN((b + 1) * per, A->local_rows));
        at[need[b] + 1]++;
    }
    for (int i = 0; i < groups; i++) h->group[i] = at[i + 1] += at[i];
    g->early = h->group[0];
    for (int64_t i = 0; i < g->blocks; i++) {
        const int32_t b = order ? order[i] : (int32_t)i;
        A->visit[at[need[b]]++] = b;
    }
    g->order = A->visit;
    g->weight = NULL;
out:
    wisp_free(ctx, need);
    wisp_free(ctx, at);
    return status;
}

wisp_status wisp__make_grid(wisp_mat *A)
{
    const wisp_map *map = A->map;
    const int64_t row_bytes = (int64_t)wisp_type_size(A->type) * WISP__MAX(A->width, 1);
    const wisp__facts f = wisp__facts_of(A->ctx);
    const int64_t per = map->visit ? map->visit_rows : wisp__rows_per_wide_block(&f.cut, A->local_rows, row_bytes);
    A->grid = (wisp__grid){.blocks = (A->local_rows + per - 1) / per,
                           .elements = A->local.nnz + A->local_rows,
                           .early = (A->local_rows + per - 1) / per,
                           .chunks_per_block = per >> A->log_c,
                           .chunks = A->local.chunks,
                           .weight = wisp__is_kind(&A->local, WISP__PATTERNS) || map->visit ? NULL : A->local.chunk,
                           .order = map->visit};
    return A->halo ? wisp__visit_halo_last(A) : WISP_OK;
}

/* Of a source whose rows come level by level, the row blocks up to the end of each. */
static wisp_status find_reached(wisp_mat *A, const wisp_src *whole)
{
    int64_t levels, last = -1;
    const int64_t *level = wisp__near_levels(whole, &levels), per = A->grid.chunks_per_block << A->log_c;
    wisp_status status;
    if (levels == 0 || A->grid.order || A->halo || per == 0) return WISP_OK;
    WISP_TRY(wisp__alloc_raw(A->ctx, &A->reached, (size_t)levels, sizeof *A->reached));
    for (int64_t l = 0, row = 0; l < levels; l++) {
        for (; row < level[l]; row++) last = WISP__MAX(last, wisp__map_position(A->map, row));
        A->reached[l] = last / per + 1;
    }
    A->levels = levels;
    A->near_rows = level[0];
out:
    return status;
}

/* The entries, in the kind of storage that suits what was found; len[] becomes the matrix's where rows have entries of
   their own. */
static wisp_status fill(wisp_mat *A, const wisp_src *src, wisp__compression *c, int32_t **len)
{
    wisp_ctx *ctx = A->ctx;
    wisp__stored *s = &A->local;
    wisp_status status;
    s->how = wisp__storage_for(c);
    if (!s->how->put) return s->how->create(A, c);
    s->row_len = *len; /* filled anew with the merged lengths */
    *len = NULL;
    s->chunks = (A->local_rows + (1 << A->log_c) - 1) >> A->log_c;
    WISP_TRY(wisp__alloc_raw(ctx, &s->chunk, (size_t)s->chunks + 1, sizeof *s->chunk));
    s->entries = wisp__padded_entries(s->row_len, NULL, A->local_rows, A->log_c, s->chunk);
    WISP_TRY(s->how->create(A, c));
    fill_run run = {.A = A, .c = c};
    WISP_TRY(wisp__for_rows(ctx, "assembling", src, A->col_map, A->local_rows, WISP__PIECE, fill_rows, &run));
    fill_tail(A, c);
    s->nnz = atomic_load(&run.nnz);
    s->padded = !atomic_load(&run.empty_rows);
out:
    return status;
}

wisp_status wisp__order_lengths(const wisp_mat *A, int32_t **len)
{
    int32_t *ordered;
    if (!A->map->user) return WISP_OK;
    wisp_status status = wisp__alloc_raw(A->ctx, &ordered, (size_t)A->local_rows, sizeof *ordered);
    if (status != WISP_OK) return status;
    for (int64_t i = 0; i < A->local_rows; i++) ordered[i] = (*len)[A->map->user[i]];
    wisp_free(A->ctx, *len);
    *len = ordered;
    return WISP_OK;
}

/* What is not stored as it is costs the kernel time. A matrix gives it back if it is most of the traffic from memory,
   and for single columns, whose kernels have constants for them. */
static bool codes_may_pay(const wisp_mat *A, const wisp_mat_opts *o, int64_t nnz)
{
    return o->width <= 1 && nnz * ((int64_t)wisp_type_size(A->type) + 4) > wisp__tuned_of(A->ctx)->from_memory;
}

static bool is_asked_for(const wisp_mat_opts *o) { return o->format == WISP_FORMAT_COMPRESSED; }

bool wisp__may_compress(const wisp_mat_opts *o)
{
    /* Who names C or sigma wants SELL. */
    return is_asked_for(o) || (o->format == WISP_FORMAT_DEFAULT && !o->C && !o->sigma);
}

bool wisp__is_sorted(const wisp_mat *A, const wisp_mat_opts *o) { return A->sigma > 1 && A->local_rows > 0 && !o->map; }

wisp_status wisp__choose_rows(wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o, const wisp__look *look,
                              const int32_t *len, wisp__compression *c)
{
    const int32_t *user = look->rows == A->local_rows ? A->map->user : NULL;
    int64_t nnz = 0;
    wisp_status status = WISP_OK;
    for (int64_t i = 0; i < look->rows; i++) nnz += len[i];
    if (wisp__may_compress(o) && A->local_rows > 0)
        WISP_TRY(wisp__compression_find_rows(c, A, src, look, nnz, A->ctx->backend->kinds, is_asked_for(o)));
    if (A->sigma == 0 && !c->pattern)
        A->sigma = wisp__window_for(A->ctx, wisp__padded_entries(len, user, look->rows, A->log_c, NULL), nnz, A->log_c);
    if (c->pattern || (c->list && !wisp__is_sorted(A, o)))
        A->sigma = 1;
    else if (c->list) /* lists are of rows in their order */
        wisp__compression_free(c, A->ctx);
out:
    return status;
}

wisp_status wisp__choose_values(const wisp_mat *A, const wisp_src *src, const wisp_mat_opts *o, const wisp__look *look,
                                int64_t nnz, int64_t entries, wisp__compression *c)
{
    if (!is_asked_for(o) && !(wisp__may_compress(o) && A->local_rows > 0 && codes_may_pay(A, o, nnz))) return WISP_OK;
    return wisp__compression_find_values(c, A, src, look, entries, is_asked_for(o));
}

static wisp_status build(wisp_mat *A, const wisp__part *part, const wisp_mat_opts *o)
{
    wisp_ctx *ctx = A->ctx;
    const wisp_src *src = &part->src;
    wisp_status status;
    wisp__compression c = {0};
    int32_t *len = NULL;
    wisp__look all = wisp__look_at_all(A->local_rows);
    int64_t nnz = 0;
    WISP_TRY(wisp__count_rows(ctx, src, 0, src->rows, &len));
    for (int64_t i = 0; i < A->local_rows; i++) nnz += len[i];
    WISP_TRY(wisp__make_maps(A, part, o, len));
    all.len = len;
    WISP_TRY(wisp__choose_rows(A, src, o, &all, len, &c)); /* before rows are sorted by length */
    if (!c.pattern) {
        if (wisp__is_sorted(A, o)) WISP_TRY(wisp__map_sort(A->map, len, A->sigma));
        WISP_TRY(wisp__order_lengths(A, &len));
        WISP_TRY(wisp__choose_values(A, src, o, &all, nnz, nnz, &c));
    }
    WISP_TRY(fill(A, src, &c, &len));
    A->nnz = A->local.nnz;
    if (A->format == WISP_FORMAT_SELL) A->format = A->local.how->format;
    if (is_asked_for(o) && A->format != WISP_FORMAT_COMPRESSED && A->local_rows > 0)
        status = wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                                "this matrix can't be compressed: its rows and values do not repeat; take "
                                "opts.format = WISP_FORMAT_SELL");
    if (status == WISP_OK) status = wisp__make_grid(A);
out:
    wisp__compression_free(&c, ctx);
    wisp_free(ctx, len);
    return status;
}

wisp_status wisp__refuse_too_small(const wisp_mat *A, const wisp_src *src)
{
    if ((A->type != WISP_S && A->type != WISP_C) || (src->type != WISP_D && src->type != WISP_Z)) return WISP_OK;
    wisp_ctx *ctx = A->ctx;
    const size_t size = wisp_type_size(src->type);
    wisp__row_reader r = {0};
    double found[2] = {0}; /* numbers that are kept, and all but 0 */
    wisp_status status;
    WISP_TRY(wisp__row_reader_open(&r, ctx, src, A->col_map));
    for (int64_t i = 0; i < src->rows && found[0] == 0; i++) {
        int n;
        WISP_TRY(wisp__read_columns(&r, ctx, i, &n));
        for (int k = 0; k < n; k++) {
            const wisp_scalar v = wisp__load(src->type, (const char *)r.val + (size_t)k * size);
            const double most = fmax(fabs(v.re), fabs(v.im));
            found[0] += !(most < (double)FLT_MIN);
            found[1] += most > 0;
        }
    }
    WISP_TRY(ctx->comm->sum(ctx, found, 2));
    if (found[0] == 0 && found[1] > 0)
        status =
            wisp_ctx_failf(ctx, WISP_ERR_NUMERIC,
                           "the matrix's numbers are too small for single precision: multiply them, or take double "
                           "precision");
out:
    wisp__row_reader_close(&r, ctx);
    return status;
}

void wisp_mat_free(wisp_mat *A)
{
    if (!A) return;
    wisp__halo_free(A->halo);
    wisp_free(A->ctx, A->visit);
    wisp_free(A->ctx, A->reached);
    wisp__cascades_free(A);
    wisp__mat_release(A);
    wisp__stored_free(A->ctx, &A->local);
    wisp_map_free(A->map);
    wisp_map_free(A->col_map);
    wisp_free(A->ctx, A);
}

wisp_status wisp_mat_create(wisp_mat **out, wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts)
{
    WISP_NEED(ctx, out);
    const wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    wisp_mat *A = NULL;
    wisp__part part = {0};
    wisp_status status;
    *out = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__part_open(&part, ctx, src, o.map));
    WISP_TRY(wisp_alloc(ctx, &A, 1, sizeof *A));
    A->ctx = ctx;
    A->square = src->rows == src->cols;
    A->halo = part.halo;
    WISP_TRY(wisp__mat_shape(&part.src, &o, A));
    WISP_TRY(wisp__cascades_open(A));
    WISP_TRY(build(A, &part, &o));
    WISP_TRY(wisp__refuse_too_small(A, &part.src));
    if (A->format == WISP_FORMAT_HERMITIAN) WISP_TRY(wisp__half_build(A));
    WISP_TRY(find_reached(A, part.whole));
    WISP_TRY(wisp__mat_take(A));
    if (A->halo) WISP_TRY(wisp__halo_settle(A->halo, A->col_map));
    WISP_TRY(wisp__mat_join(A));
    part.halo = NULL; /* the matrix's */
out:
    if (A && part.halo) A->halo = NULL;
    wisp__part_close(&part);
    if ((status = wisp_ctx_leave(ctx, status)) == WISP_OK)
        *out = A;
    else
        wisp_mat_free(A);
    return status;
}

wisp_status wisp_mat_open(wisp_mat **A, wisp_ctx *ctx, const char *name, const wisp_mat_opts *opts)
{
    WISP_NEED(ctx, A);
    wisp_src src;
    *A = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, name);
    wisp_ctx_enter(ctx);
    wisp_status status = wisp_src_open(&src, ctx, name);
    if (status == WISP_OK) {
        status = wisp_mat_create(A, ctx, &src, opts);
        wisp_src_close(&src);
    }
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        wisp_mat_free(*A);
        *A = NULL;
    }
    return status;
}
