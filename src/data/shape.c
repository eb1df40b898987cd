/* Samples of the rows of matrices and sources, by which the model of time judges them (model/model.h). */
#include "shape.h"
#include <math.h>

enum { MOST_RUNS = 128, MOST_ENTRIES = 1 << 20 }; /* at most: a look is to be little work */

/* Which rows are looked at: all, or some runs of them, the fewer the longer rows are. */
typedef struct {
    int64_t all, runs; /* rows there are; 0: all of them */
} pick;

static pick pick_rows(int64_t rows, double entries)
{
    const double fit = MOST_ENTRIES / (WISP__RUN * WISP__MAX(entries, 1));
    const int64_t runs = WISP__MAX(WISP__MIN((int64_t)fit, MOST_RUNS), 1);
    return (pick){rows, rows > runs * WISP__RUN ? runs : 0};
}

static int64_t picked_rows(pick p) { return p.runs ? p.runs * WISP__RUN : p.all; }

static int64_t picked(pick p, int64_t i)
{
    if (!p.runs) return i;
    return p.all / WISP__RUN * (i / WISP__RUN) / p.runs * WISP__RUN + i % WISP__RUN;
}

int64_t wisp__sample_bytes(const wisp_src *src, int64_t nnz)
{
    const int64_t rows = picked_rows(pick_rows(src->rows, (double)src->max_row));
    const int64_t most = WISP__MIN(nnz, rows * src->max_row);
    return 8 * (2 * rows + 1 + most) + 4 * rows + 8 * WISP__RUN * (1 + src->max_row) + wisp__comings_bytes;
}

double wisp__look_bytes(const wisp_mat_info *A)
{
    enum { UNEVEN = 4, LITTLE = 2 * WISP__RUN, MORE = 1 << 10 };
    const double all = (double)A->local_rows, nnz = (double)A->local_nnz;
    const double rows = fmin(MOST_RUNS * WISP__RUN, 2 * all + LITTLE); /* the last row block is filled up */
    const double entries = fmin(nnz, UNEVEN * nnz / fmax(all, 1) * rows);
    return 8 * (2 * rows + 1 + entries) + 4.0 * (double)A->work_blocks + (double)wisp__comings_bytes + MORE;
}

/* ---- of a pattern in an order ---------------------------------------------------------------- */

/* The row that a sweep takes as number i; -1: behind a short last block. */
static int64_t row_at(const wisp__ordered *w, int64_t i)
{
    const int64_t place = w->visit ? w->visit[i / w->visit_rows] * w->visit_rows + i % w->visit_rows : i;
    if (place >= w->rows) return -1;
    return w->user ? w->user[place] : place;
}

/* And when it takes a row that is at this place; turn[]: of each block of rows. (The halo has none.) */
static int64_t time_of(const wisp__ordered *w, const int32_t *turn, int64_t place)
{
    return turn && place < w->rows ? turn[place / w->visit_rows] * w->visit_rows + place % w->visit_rows : place;
}

static void sample_row(const wisp__ordered *w, const int32_t *turn, int64_t i, int64_t *at, wisp__sample *s, int64_t r)
{
    const int64_t row = row_at(w, i);
    const wisp__row entries = row < 0 ? (wisp__row){0} : w->row(w->of, row);
    s->place[(*at)++] = i;
    for (int e = 0; e < entries.n; e++) {
        const int64_t col = wisp__row_col(&entries, e), place = w->place ? w->place[col] : col;
        s->place[(*at)++] = time_of(w, turn, place);
    }
    s->first[r + 1] = *at;
}

static wisp__row row_of(const void *A, int64_t row) { return wisp__row_of(A, row); }

wisp__ordered wisp__ordered_of(const wisp_mat *A)
{
    const wisp__stored *s = &A->local;
    return (wisp__ordered){.of = A,
                           .row = row_of,
                           .rows = A->local_rows,
                           .entries = wisp__is_kind(s, WISP__PATTERNS) ? s->nnz : s->entries};
}

wisp_status wisp__sample_ordered(wisp_ctx *ctx, const wisp__ordered *w, wisp__sample *s)
{
    const int64_t places = w->visit ? w->visits * w->visit_rows : w->rows;
    const pick p = pick_rows(places, (double)w->entries / (double)WISP__MAX(w->rows, 1));
    const int64_t rows = picked_rows(p);
    int64_t entries = 0, at = 0;
    int32_t *turn = NULL;
    wisp_status status;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = row_at(w, picked(p, i));
        entries += row < 0 ? 0 : w->row(w->of, row).n;
    }
    WISP_TRY(wisp__sample_open(s, ctx, rows, entries));
    if (w->visit) WISP_TRY(wisp_alloc(ctx, &turn, (size_t)w->visits, sizeof *turn));
    for (int64_t b = 0; w->visit && b < w->visits; b++) turn[w->visit[b]] = (int32_t)b;
    for (int64_t i = 0; i < rows; i++) sample_row(w, turn, picked(p, i), &at, s, i);
    wisp__sample_finish(s);
out:
    wisp_free(ctx, turn);
    return status;
}

/* ---- of a source ----------------------------------------------------------------------------- */

typedef struct {
    wisp_ctx *ctx;
    wisp__sample *s;
    pick rows;
    int32_t *len; /* of the sampled ones, as counted */
} source_run;

/* A run of rows, by one thread: they are few. */
static wisp_status read_sample(void *arg, wisp__row_reader *reader, int64_t begin, int64_t end)
{
    source_run *r = arg;
    wisp__sample *s = r->s;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = picked(r->rows, i);
        int n;
        wisp_status status = wisp__read_columns(reader, r->ctx, row, &n);
        if (status != WISP_OK) return status;
        if ((status = wisp__same_count(r->ctx, reader->src, row, n, r->len[i])) != WISP_OK) return status;
        int64_t *place = s->place + s->first[i];
        *place++ = row;
        for (int e = 0; e < n; e++) *place++ = reader->col[e];
        s->first[i + 1] = s->first[i] + 1 + n;
    }
    return WISP_OK;
}

wisp_status wisp__sample_source(wisp_ctx *ctx, const wisp_src *src, wisp__sample *s)
{
    const pick p = pick_rows(src->rows, (double)src->max_row);
    const int64_t rows = picked_rows(p);
    source_run run = {.ctx = ctx, .s = s, .rows = p};
    int64_t entries = 0;
    wisp_status status;
    wisp__row_reader reader = {0};
    WISP_TRY(wisp__row_reader_open(&reader, ctx, src, NULL));
    WISP_TRY(wisp__alloc_raw(ctx, &run.len, (size_t)rows, sizeof *run.len));
    for (int64_t i = 0; i < rows; i++) {
        WISP_TRY(wisp__count_row(&reader, ctx, picked(p, i), &run.len[i]));
        entries += run.len[i];
    }
    wisp__row_reader_close(&reader, ctx);
    reader = (wisp__row_reader){0};
    WISP_TRY(wisp__sample_open(s, ctx, rows, entries));
    WISP_TRY(wisp__for_rows(ctx, "sampling", src, NULL, rows, WISP__MAX(rows, 1), read_sample, &run));
    wisp__sample_finish(s);
out:
    wisp__row_reader_close(&reader, ctx);
    wisp_free(ctx, run.len);
    return status;
}

wisp_status wisp__sample_levels(wisp_ctx *ctx, int64_t rows, int64_t nnz, wisp__sample *s)
{
    enum { FLAT = 9, ROWS = 8 * WISP__RUN };
    const double entries = (double)nnz / (double)WISP__MAX(rows, 1);
    const int64_t each = (int64_t)ceil(entries), some = WISP__MIN(rows, ROWS),
                  level = (int64_t)pow((double)rows, entries < FLAT ? 1.0 / 2 : 2.0 / 3);
    int64_t at = 0;
    wisp_status status;
    WISP_TRY(wisp__sample_open(s, ctx, some, some * each));
    for (int64_t i = 0; i < some; i++) {
        s->place[at++] = rows + i; /* so that none is negative */
        for (int64_t k = 0; k < each; k++) s->place[at++] = rows + i + (k % 3 - 1) * level + k / 3;
        s->first[i + 1] = at;
    }
    wisp__sample_finish(s);
out:
    return status;
}

/* ---- what orders are compared by ------------------------------------------------------------- */

wisp__shape wisp__shape_stored(const wisp__sample *s, int64_t rows, wisp_type type)
{
    const double entry = 4 + (double)wisp_type_size(type), row = 8 + 4; /* column and value; offset and length */
    return (wisp__shape){.rows = (double)rows,
                         .entries = s->entries * (double)rows,
                         .bytes = (s->entries * entry + row) * (double)rows,
                         .type = type,
                         .chunks = !wisp_type_is_complex(type), /* for single columns */
                         .follows = s->follows,
                         .sample = s};
}

wisp_status wisp__traffic_find(wisp_ctx *ctx, const wisp__shape *m, int width, const wisp__caches *c, wisp__traffic *t)
{
    const wisp__facts f = wisp__facts_of(ctx);
    const wisp__comings once = {.last = 1, .l2 = 1, .l1 = 1, .threads = 1};
    const int64_t row = width * (int64_t)wisp_type_size(m->type);
    const double matrix = m->bytes / m->rows;
    wisp__comings x;
    wisp__core_work work;
    wisp__step_cost cost, least;
    wisp_status status;
    WISP_TRY(wisp__comings_find(ctx, f.tuned, m->sample, row, matrix + (double)row, c, &x));
    WISP_TRY(wisp__sweep_by(ctx, &f, m, m->type, width, c, &x, &work, &cost));
    WISP_TRY(wisp__sweep_by(ctx, &f, m, m->type, width, c, &once, &work, &least));
    *t = (wisp__traffic){
        .excess = x.last, .from_l3 = (x.l2 - x.last) * (double)row, .seconds = cost.seconds, .least = least.seconds};
out:
    return status;
}

wisp_status wisp__ordered_traffic(wisp_ctx *ctx, const wisp__ordered *w, wisp_type type, int width,
                                  const wisp__caches *c, wisp__traffic *t)
{
    wisp__sample s = {0};
    wisp_status status;
    *t = (wisp__traffic){.excess = 1};
    if (w->rows == 0) return WISP_OK;
    WISP_TRY(wisp__sample_ordered(ctx, w, &s));
    const wisp__shape m = wisp__shape_stored(&s, w->rows, type);
    WISP_TRY(wisp__traffic_find(ctx, &m, width, c, t));
out:
    wisp__sample_close(&s, ctx);
    return status;
}

/* ---- the model's terms -------------------------------------------------------------------------- */

double wisp_model_memory(wisp_ctx *ctx, double read, double written, int past, double load_gbs)
{
    return ctx ? wisp__memory_seconds(wisp__tuned_of(ctx), read, written, past, load_gbs) : NAN;
}

double wisp_model_overlap(wisp_ctx *ctx, double traffic, double core, int ahead)
{
    if (!ctx) return NAN;
    const wisp__tuned *t = wisp__tuned_of(ctx);
    return wisp__overlapped(traffic, core, ahead ? t->time.ahead : t->time.overlap);
}

/* ---- of a matrix ----------------------------------------------------------------------------- */

wisp_status wisp__shape_of(const wisp_mat *A, wisp__sample *sample, wisp__shape *m)
{
    const wisp__stored *s = &A->local;
    wisp__host_mat host;
    wisp_status status = wisp__mat_lend(A, WISP_READ, &host);
    if (status != WISP_OK) return status;
    wisp__ordered w = wisp__ordered_of(&host.mat);
    w.visit = A->square ? A->grid.order : NULL;
    w.visits = A->grid.blocks;
    w.visit_rows = A->grid.chunks_per_block << A->log_c;
    *m = (wisp__shape){.rows = (double)A->local_rows,
                       .entries = (double)s->nnz,
                       .bytes = (double)wisp__mat_bytes(A, false),
                       .type = A->type,
                       .chunks = 1 << A->log_c >= wisp__facts_of(A->ctx).C,
                       .sample = sample};
    if (s->how->shape) s->how->shape(&host.mat, m);
    status = s->how->row ? wisp__sample_ordered(A->ctx, &w, sample)
                         : wisp__sample_levels(A->ctx, A->local_rows, s->nnz, sample);
    wisp__mat_return(&host);
    return status;
}

wisp_status wisp_mat_gather(const wisp_mat *A, wisp_type type, int width, wisp_gather *g)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, g);
    wisp__sample sample = {0};
    wisp__shape m;
    wisp__caches caches;
    wisp__comings x;
    wisp_status status;
    *g = (wisp_gather){1, 0};
    if (!wisp__type_ok(type) || width < 1)
        return wisp_ctx_failf(A->ctx, WISP_ERR_ARG, "a sweep over a block of type %d and width %d", (int)type, width);
    WISP_TRY(wisp__need_entries(A, "what is gathered"));
    if (!A->local.how->row || A->local_rows == 0) return WISP_OK; /* what is scattered is not modelled */
    WISP_TRY(wisp__shape_of(A, &sample, &m));
    const wisp__facts f = wisp__facts_of(A->ctx);
    WISP_TRY(wisp__shape_comings(A->ctx, &f, &m, type, width, &caches, &x));
    g->excess = x.last;
    g->from_l3 = m.rows * width * (double)wisp_type_size(type) *
                 WISP__MAX(x.l2 - WISP__MAX(x.threads, x.last), 0); /* again, to the same cache */
out:
    wisp__sample_close(&sample, A->ctx);
    return status;
}
