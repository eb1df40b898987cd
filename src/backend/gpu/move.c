/* Data that moves on a GPU: blocks that are filled, columns that become columns of another block, copies from arrays of
   the host's and to them, rows for other ranks. Between the host and the device goes what is moved alone: some rows at
   a time, without what lies between them. But for pack and unpack no turn is taken here: other threads may be at calls
   of theirs, so a call has memory of its own. */
#include "gpu.h"

wisp_status wisp__gpu_fill(wisp_ctx *ctx, const wisp__fill_params *p)
{
    const wisp__view *v = &p->v;
    k_fill k = {.rows = v->rows, .ld = v->ld, .width = v->width, .words = v->bytes / 4};
    wisp__gpu_buffer *own = NULL;
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    c.staged = &own;
    memcpy(k.value, p->value, (size_t)v->bytes);
    wisp__gpu_at(&c, F_X, v->x);
    const size_t only = (size_t)v->width * sizeof *p->only, column = (size_t)v->width * sizeof *v->column;
    wisp__gpu_expect(&c, p->only, only);
    wisp__gpu_expect(&c, v->column, column);
    wisp__gpu_staged(&c, F_ONLY, p->only, only);
    wisp__gpu_staged(&c, F_COLUMN, v->column, column);
    wisp__gpu_launch(&c, "fill", wisp__gpu_groups(c.g, k.rows * k.width * k.words), "%s", "");
    wisp__gpu_room_free(c.g, own);
    return c.status;
}

/* ---- columns ----------------------------------------------------------------------------------- */

wisp_status wisp__gpu_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows, const wisp__gpu_buffer *from,
                              const wisp__gpu_buffer *to)
{
    k_columns k = {.rows = rows, .ld_from = p->ld_from, .ld_to = p->ld_to, .width = p->width, .reals = p->reals};
    wisp__gpu_buffer *own = NULL;
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    c.staged = &own;
    const size_t list = (size_t)p->width * sizeof *p->from_column;
    /* An element of so many reals; where nothing is rounded, it may be moved as any number of its bytes. */
    const bool same = p->from_bytes == p->to_bytes;
    if (same) k.reals = p->from_bytes / 4;
    if (from)
        wisp__gpu_own(&c, C_FROM, from, 0);
    else
        wisp__gpu_at(&c, C_FROM, p->from);
    if (to)
        wisp__gpu_own(&c, C_TO, to, 0);
    else
        wisp__gpu_at(&c, C_TO, p->to);
    wisp__gpu_expect(&c, p->from_column, list);
    wisp__gpu_expect(&c, p->to_column, list);
    wisp__gpu_staged(&c, C_FROM_COLUMN, p->from_column, list);
    wisp__gpu_staged(&c, C_TO_COLUMN, p->to_column, list);
    wisp__gpu_launch(&c, "columns", wisp__gpu_groups(c.g, rows * k.width * k.reals), "#define FROM %s\n#define TO %s\n",
                     same ? "u32" : WISP__GPU_REAL(p->from_bytes > p->to_bytes),
                     same ? "u32" : WISP__GPU_REAL(p->to_bytes > p->from_bytes));
    wisp__gpu_room_free(c.g, own);
    return c.status;
}

wisp_status wisp__gpu_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    return wisp__gpu_columns(ctx, p, rows, NULL, NULL);
}

/* ---- rows of a view, from the host and to it --------------------------------------------------- */

/* A view's rows, slab by slab. On the way a slab is packed: its elements lie one behind the other. */
typedef struct {
    const wisp__view *v;
    int64_t most;          /* rows of a slab */
    size_t row_bytes;      /* of a row on the way */
    bool packed;           /* the view's own rows are, too */
    char *host;            /* room for a slab; NULL: the host's array is packed */
    wisp__gpu_buffer *own; /* likewise on the device */
} slabs;

static wisp_status begin(wisp_ctx *ctx, slabs *s, const wisp__view *v, bool needs_host)
{
    enum { SLAB = 4 << 20 };
    wisp_status status = WISP_OK;
    *s = (slabs){.v = v, .row_bytes = (size_t)(v->width * v->bytes)};
    s->most = WISP__MIN(WISP__MAX(SLAB / (int64_t)WISP__MAX(s->row_bytes, 1), 1), v->rows);
    s->packed = !v->column && (v->ld == v->width || v->rows == 1);
    if (needs_host) WISP_TRY(wisp__alloc_raw(ctx, &s->host, (size_t)s->most, s->row_bytes));
    if (!s->packed) status = wisp__gpu_room(wisp__gpu_of(ctx), &s->own, (size_t)s->most * s->row_bytes);
out:
    return status;
}

static wisp_status end(wisp_ctx *ctx, slabs *s, wisp_status status)
{
    wisp_free(ctx, s->host);
    wisp__gpu_room_free(wisp__gpu_of(ctx), s->own);
    return status;
}

static char *address_of(const slabs *s, int64_t first) { return (char *)s->v->x + first * s->v->ld * s->v->bytes; }

/* The columns of a slab's rows, in the view (from where they begin) or one behind the other. */
static wisp__columns_params columns_of(const slabs *s, int64_t first, bool to_device)
{
    const wisp__view *v = s->v;
    char *const view = address_of(s, first);
    return (wisp__columns_params){.from = to_device ? NULL : view,
                                  .to = to_device ? view : NULL,
                                  .ld_from = to_device ? v->width : v->ld,
                                  .ld_to = to_device ? v->ld : v->width,
                                  .from_column = to_device ? NULL : v->column,
                                  .to_column = to_device ? v->column : NULL,
                                  .width = v->width,
                                  .from_bytes = v->bytes,
                                  .to_bytes = v->bytes};
}

static wisp_status to_device(wisp_ctx *ctx, const slabs *s, int64_t first, int64_t rows, const void *host)
{
    const size_t bytes = (size_t)rows * s->row_bytes;
    const wisp__columns_params p = columns_of(s, first, true);
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp_status status;
    if (s->packed) return wisp__gpu_write(ctx, address_of(s, first), host, bytes);
    WISP_TRY(g->driver->write(g, wisp__gpu_handle(s->own), 0, host, bytes));
    status = wisp__gpu_columns(ctx, &p, rows, s->own, NULL);
out:
    return status;
}

static wisp_status to_host(wisp_ctx *ctx, const slabs *s, int64_t first, int64_t rows, void *host)
{
    const size_t bytes = (size_t)rows * s->row_bytes;
    const wisp__columns_params p = columns_of(s, first, false);
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp_status status;
    if (s->packed) return wisp__gpu_read(ctx, address_of(s, first), host, bytes);
    WISP_TRY(wisp__gpu_columns(ctx, &p, rows, NULL, s->own));
    status = g->driver->read(g, wisp__gpu_handle(s->own), 0, host, bytes);
out:
    return status;
}

/* ---- arrays ------------------------------------------------------------------------------------ */

/* Whether the array's rows are packed. */
static bool array_is_packed(const wisp__array_params *p)
{
    return !p->row && p->column_step == 1 && p->row_step == p->v.width;
}

/* Those of a slab, as an array from a view in the host's memory, or to it. */
static wisp__array_params array_of(const wisp__array_params *p, const slabs *s, int64_t first, int64_t rows)
{
    wisp__array_params q = *p;
    q.v = (wisp__view){s->host, rows, p->v.width, NULL, p->v.width, p->v.bytes};
    if (p->row) q.row = p->row + first;
    return q;
}

/* Where in the array its list of rows, or else its rows, count from. */
static int64_t array_at(const wisp__array_params *p, int64_t first)
{
    return p->row ? 0 : first * p->row_step * p->v.bytes;
}

wisp_status wisp__gpu_put(wisp_ctx *ctx, const wisp__array_params *p, const void *host)
{
    const bool packed = array_is_packed(p);
    slabs s;
    wisp_status status;
    if (p->v.rows * p->v.width == 0) return WISP_OK;
    WISP_TRY(begin(ctx, &s, &p->v, !packed));
    for (int64_t first = 0, rows; first < p->v.rows; first += rows) {
        rows = WISP__MIN(s.most, p->v.rows - first);
        const wisp__array_params q = array_of(p, &s, first, rows);
        const char *from = (const char *)host + array_at(p, first);
        if (!packed) WISP_TRY(wisp__backend_cpu.put(ctx, &q, from));
        WISP_TRY(to_device(ctx, &s, first, rows, packed ? from : s.host));
    }
out:
    return end(ctx, &s, status);
}

wisp_status wisp__gpu_get(wisp_ctx *ctx, const wisp__array_params *p, void *host)
{
    const bool packed = array_is_packed(p);
    slabs s = {.v = NULL};
    wisp_status status;
    if (p->v.rows * p->v.width == 0) return wisp__gpu_finish(ctx);
    WISP_TRY(wisp__gpu_told(wisp__gpu_of(ctx)));
    WISP_TRY(begin(ctx, &s, &p->v, !packed));
    for (int64_t first = 0, rows; first < p->v.rows; first += rows) {
        rows = WISP__MIN(s.most, p->v.rows - first);
        const wisp__array_params q = array_of(p, &s, first, rows);
        char *to = (char *)host + array_at(p, first);
        WISP_TRY(to_host(ctx, &s, first, rows, packed ? to : s.host));
        if (!packed) WISP_TRY(wisp__backend_cpu.get(ctx, &q, to));
    }
out:
    return end(ctx, &s, status);
}

/* ---- random numbers ---------------------------------------------------------------------------- */

static int64_t number_of(const wisp__random_params *p, int64_t i)
{
    const int64_t row = p->row ? p->row[i] : i;
    return p->number ? p->number[row] : p->first_row + row;
}

/* Those of traces, made on the device. Rows that have no running numbers are told theirs, some at a time. */
static wisp_status random_signs(wisp_ctx *ctx, const wisp__random_params *p)
{
    enum { LISTED = 1 << 17 };
    const wisp__view *v = &p->v;
    const bool listed = p->row || p->number;
    const int64_t most = listed ? WISP__MIN(LISTED, v->rows) : v->rows;
    wisp__gpu_buffer *own = NULL;
    int64_t *number = NULL;
    wisp_status status = WISP_OK;
    if (listed) WISP_TRY(wisp__alloc_raw(ctx, &number, (size_t)most, sizeof *number));
    for (int64_t first = 0, rows; first < v->rows; first += rows) {
        rows = WISP__MIN(most, v->rows - first);
        k_philox k = {.rows = rows,
                      .ld = v->ld,
                      .width = v->width,
                      .reals = p->reals,
                      .seed = (i64)p->seed,
                      .stream = p->stream,
                      .first = p->first,
                      .first_row = p->first_row + first};
        wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
        c.staged = &own;
        for (int64_t i = 0; listed && i < rows; i++) number[i] = number_of(p, first + i);
        wisp__gpu_at(&c, R_X, (char *)v->x + first * v->ld * v->bytes);
        const size_t numbers = (size_t)rows * sizeof *number, column = (size_t)v->width * sizeof *v->column;
        wisp__gpu_expect(&c, number, numbers);
        wisp__gpu_expect(&c, v->column, column);
        wisp__gpu_staged(&c, R_NUMBER, number, numbers);
        wisp__gpu_staged(&c, R_COLUMN, v->column, column);
        WISP_TRY(wisp__gpu_launch(&c, "philox", wisp__gpu_groups(c.g, rows * v->width),
                                  "#define REAL %s\n#define PARTS 1\n",
                                  WISP__GPU_REAL(v->bytes == p->reals * (int)sizeof(double))));
    }
out:
    wisp_free(ctx, number);
    wisp__gpu_room_free(wisp__gpu_of(ctx), own);
    return status;
}

/* Normal ones take a logarithm and a cosine, which no two compilers round alike: the host makes them. */
static wisp_status random_normal(wisp_ctx *ctx, const wisp__random_params *p)
{
    slabs s;
    wisp_status status;
    WISP_TRY(begin(ctx, &s, &p->v, true));
    for (int64_t first = 0, rows; first < p->v.rows; first += rows) {
        rows = WISP__MIN(s.most, p->v.rows - first);
        wisp__random_params q = *p;
        q.v = (wisp__view){s.host, rows, p->v.width, NULL, p->v.width, p->v.bytes};
        if (p->row)
            q.row = p->row + first;
        else if (p->number)
            q.number = p->number + first;
        else
            q.first_row = p->first_row + first;
        WISP_TRY(wisp__backend_cpu.random(ctx, &q));
        WISP_TRY(to_device(ctx, &s, first, rows, s.host));
    }
out:
    return end(ctx, &s, status);
}

wisp_status wisp__gpu_random(wisp_ctx *ctx, const wisp__random_params *p)
{
    if (p->v.rows * p->v.width == 0) return WISP_OK;
    return p->gauss ? random_normal(ctx, p) : random_signs(ctx, p);
}

/* ---- rows for other ranks, and from there ------------------------------------------------------ */

wisp_status wisp__gpu_stage(wisp_ctx *ctx, size_t bytes, void *pointer_to_host)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    void *host = NULL;
    if (!g->driver->stage) return wisp_alloc(ctx, pointer_to_host, bytes, 1);
    const wisp_status status = g->driver->stage(g, bytes, &host);
    memcpy(pointer_to_host, &host, sizeof host);
    return status;
}

void wisp__gpu_unstage(wisp_ctx *ctx, void *host)
{
    wisp__gpu *g = wisp__gpu_of(ctx);
    if (g->driver->unstage)
        g->driver->unstage(g, host);
    else
        wisp_free(ctx, host);
}

static bool rows_are_packed(const wisp__rows_params *p) { return !p->row && p->ld == p->bytes; }

static char *first_of(const wisp__rows_params *p) { return (char *)p->x + p->first * p->ld; }

/* Between the block and the backend's own memory. */
static wisp_status move_rows(wisp_ctx *ctx, const wisp__rows_params *p, bool back)
{
    k_pack k = {.count = p->count, .words = p->bytes / 4, .ld = p->ld / 4, .back = back};
    wisp__gpu_call c = WISP__GPU_CALL(ctx, k);
    wisp__gpu_at(&c, M_X, p->row ? p->x : first_of(p));
    wisp__gpu_at(&c, M_ROW, p->row);
    wisp__gpu_own(&c, M_PACKED, c.g->moved, 0);
    return wisp__gpu_launch(&c, "pack", wisp__gpu_groups(c.g, k.count * k.words), "%s", "");
}

wisp_status wisp__gpu_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    const size_t bytes = (size_t)(p->count * p->bytes);
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp_status status;
    if (bytes == 0) return wisp__gpu_finish(ctx);
    if (rows_are_packed(p)) return wisp__gpu_read(ctx, first_of(p), host, bytes);
    WISP_TRY(wisp__gpu_told(g));
    WISP_TRY(wisp__gpu_room(g, &g->moved, bytes));
    WISP_TRY(move_rows(ctx, p, false));
    status = g->driver->read(g, wisp__gpu_handle(g->moved), 0, host, bytes);
out:
    return status;
}

wisp_status wisp__gpu_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    const size_t bytes = (size_t)(p->count * p->bytes);
    wisp__gpu *g = wisp__gpu_of(ctx);
    wisp_status status;
    if (bytes == 0) return WISP_OK;
    if (rows_are_packed(p)) return wisp__gpu_write(ctx, first_of(p), host, bytes);
    WISP_TRY(wisp__gpu_room(g, &g->moved, bytes));
    WISP_TRY(g->driver->write(g, wisp__gpu_handle(g->moved), 0, host, bytes));
    status = move_rows(ctx, p, true);
out:
    return status;
}
