/* Data that moves: blocks that are filled, copies to and from arrays of the user's, columns that become columns of
   another block, rows for other ranks. Of a backend they need the team alone: others call them for memory that is the
   host's. */
#include "../../base/rng.h"
#include "cpu.h"
#include <string.h>

/* Where the row of a view begins; and its column j from there, in elements. */
static char *row_of(const wisp__view *v, int64_t row) { return (char *)v->x + row * v->ld * v->bytes; }
static int column_of(const wisp__view *v, int j) { return v->column ? v->column[j] : j; }

/* Ranges of rows on all threads, unless there are few. */
static void each_rows(wisp_ctx *ctx, const wisp__view *v, wisp__each_fn fn, void *arg)
{
    wisp__team_each(ctx->team, v->rows, WISP__SMALL / WISP__MIN(v->width, WISP__SMALL), fn, arg);
}

/* ---- filling --------------------------------------------------------------------------------- */

typedef struct {
    const wisp__view *v;
    const void *value;
} value_run;

/* `bytes` is a constant where this is called, so that a copy is one store. */
static inline void fill_some(const value_run *r, int64_t begin, int64_t end, size_t bytes)
{
    const wisp__view v = *r->v;
    wisp__value value;
    memcpy(&value, r->value, bytes);
    for (int64_t i = begin; i < end; i++) {
        char *to = row_of(&v, i);
        for (int j = 0; j < v.width; j++) memcpy(to + (size_t)column_of(&v, j) * bytes, &value, bytes);
    }
}

static void fill_rows(void *arg, int64_t begin, int64_t end, int part)
{
    const value_run *r = arg;
    (void)part;
    switch (r->v->bytes) {
    case 4: fill_some(r, begin, end, 4); break;
    case 8: fill_some(r, begin, end, 8); break;
    default: fill_some(r, begin, end, 16); break;
    }
}

wisp_status wisp__cpu_fill(wisp_ctx *ctx, const wisp__fill_params *p)
{
    static const wisp__value zero;
    const wisp__view *v = &p->v;
    each_rows(ctx, v, fill_rows, &(value_run){v, p->only ? &zero : p->value});
    for (int j = 0; p->only && j < v->width; j++)
        if (p->only[j] >= 0) memcpy(row_of(v, p->only[j]) + column_of(v, j) * v->bytes, p->value, (size_t)v->bytes);
    return WISP_OK;
}

typedef struct {
    wisp__team *team;
    const wisp__random_params *p;
} random_run;

/* A number takes some ten nanoseconds, a large block a second: so a look at the cancel flag with each row. */
static void random_thread(void *arg, int thread, int threads)
{
    const random_run *r = arg;
    const wisp__random_params *p = r->p;
    const wisp__view *v = &p->v;
    const wisp_type type = wisp__type_of(p->reals, v->bytes == p->reals * (int)sizeof(double));
    const wisp_random kind = p->gauss ? WISP_RANDOM_GAUSS : WISP_RANDOM_TRACE;
    const int64_t end = wisp__split(v->rows, threads, thread + 1);
    for (int64_t i = wisp__split(v->rows, threads, thread); i < end && !wisp__cancelled(r->team); i++) {
        const int64_t row = p->row ? p->row[i] : i, number = p->number ? p->number[row] : p->first_row + row;
        for (int j = 0; j < v->width; j++)
            wisp__store(type, row_of(v, i) + column_of(v, j) * v->bytes,
                        wisp__random_value(kind, p->reals == 2, p->seed, number, p->first + (uint32_t)j, p->stream));
    }
}

wisp_status wisp__cpu_random(wisp_ctx *ctx, const wisp__random_params *p)
{
    const bool little = p->v.rows * p->v.width <= WISP__SMALL;
    return wisp__whole(ctx, "filling a block",
                       wisp__run_some(ctx->team, little, random_thread, &(random_run){ctx->team, p}));
}

/* ---- copies to and from arrays ----------------------------------------------------------------- */

typedef struct {
    const wisp__array_params *p;
    const char *from; /* one of the two is NULL */
    char *to;
} array_run;

/* Where row i begins in the array. */
static int64_t array_at(const wisp__array_params *p, int64_t i)
{
    return (p->row ? p->row[i] : i) * p->row_step * p->v.bytes;
}

/* `bytes` of an element are a constant where this is called, so that a copy is one load and one store. */
static inline void array_some(const array_run *r, int64_t begin, int64_t end, size_t bytes)
{
    const wisp__view v = r->p->v;
    const size_t step = (size_t)r->p->column_step * bytes;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = array_at(r->p, i);
        char *mine = row_of(&v, i);
        for (int j = 0; j < v.width; j++) {
            char *element = mine + (size_t)column_of(&v, j) * bytes;
            if (r->from)
                memcpy(element, r->from + at + (size_t)j * step, bytes);
            else
                memcpy(r->to + at + (size_t)j * step, element, bytes);
        }
    }
}

static void array_rows(void *arg, int64_t begin, int64_t end, int part)
{
    const array_run *r = arg;
    const wisp__view *v = &r->p->v;
    (void)part;
    if (r->p->column_step == 1 && !v->column && v->ld == v->width && !r->p->row && r->p->row_step == v->width) {
        const size_t at = (size_t)array_at(r->p, begin), size = (size_t)((end - begin) * v->width * v->bytes);
        memcpy(r->from ? row_of(v, begin) : r->to + at, r->from ? r->from + at : row_of(v, begin), size);
        return; /* all lie side by side */
    }
    if (r->p->column_step == 1 && !v->column && v->width > 1) { /* neighbours on both sides go together */
        for (int64_t i = begin; i < end; i++) {
            const int64_t at = array_at(r->p, i);
            const size_t size = (size_t)(v->width * v->bytes);
            if (r->from)
                memcpy(row_of(v, i), r->from + at, size);
            else
                memcpy(r->to + at, row_of(v, i), size);
        }
        return;
    }
    switch (v->bytes) {
    case 4: array_some(r, begin, end, 4); break;
    case 8: array_some(r, begin, end, 8); break;
    default: array_some(r, begin, end, 16); break;
    }
}

wisp_status wisp__cpu_put(wisp_ctx *ctx, const wisp__array_params *p, const void *host)
{
    each_rows(ctx, &p->v, array_rows, &(array_run){p, host, NULL});
    return WISP_OK;
}

wisp_status wisp__cpu_get(wisp_ctx *ctx, const wisp__array_params *p, void *host)
{
    each_rows(ctx, &p->v, array_rows, &(array_run){p, NULL, host});
    return WISP_OK;
}

/* ---- columns that become columns of another block: each row's lines are read and written once ---- */

typedef struct {
    const wisp__columns_params *p;
    int64_t rows;
} columns_run;

/* `bytes` is a constant where this is called, so that a copy is one load and one store. */
static inline void copy_rows(const wisp__columns_params *p, int64_t begin, int64_t end, size_t bytes)
{
    const int width = p->width, *f = p->from_column, *t = p->to_column;
    for (int64_t i = begin; i < end; i++) {
        const char *from = (const char *)p->from + (size_t)(i * p->ld_from) * bytes;
        char *to = (char *)p->to + (size_t)(i * p->ld_to) * bytes;
        if (!f && !t)
            memcpy(to, from, (size_t)width * bytes);
        else if (!t)
            for (int j = 0; j < width; j++) memcpy(to + (size_t)j * bytes, from + (size_t)f[j] * bytes, bytes);
        else if (!f)
            for (int j = 0; j < width; j++) memcpy(to + (size_t)t[j] * bytes, from + (size_t)j * bytes, bytes);
        else
            for (int j = 0; j < width; j++) memcpy(to + (size_t)t[j] * bytes, from + (size_t)f[j] * bytes, bytes);
    }
}

static inline void widen(double *to, const float *from, int reals)
{
    for (int i = 0; i < reals; i++) to[i] = (double)from[i];
}

static inline void round_to_single(float *to, const double *from, int reals)
{
    for (int i = 0; i < reals; i++) to[i] = (float)from[i];
}

static void convert_rows(const wisp__columns_params *p, int64_t begin, int64_t end)
{
    const int width = p->width, *f = p->from_column, *t = p->to_column, reals = p->reals;
    const bool widens = p->to_bytes > p->from_bytes;
    for (int64_t i = begin; i < end; i++) {
        const char *from = (const char *)p->from + i * p->ld_from * p->from_bytes;
        char *to = (char *)p->to + i * p->ld_to * p->to_bytes;
        if (!f && !t) {
            if (widens)
                widen((double *)(void *)to, (const float *)(const void *)from, width * reals);
            else
                round_to_single((float *)(void *)to, (const double *)(const void *)from, width * reals);
            continue;
        }
        for (int j = 0; j < width; j++) {
            const void *one = from + (f ? f[j] : j) * p->from_bytes;
            void *other = to + (t ? t[j] : j) * p->to_bytes;
            if (widens)
                widen(other, one, reals);
            else
                round_to_single(other, one, reals);
        }
    }
}

/* A thread has the rows that ops on blocks give it, too. */
static void columns_thread(void *arg, int thread, int threads)
{
    const columns_run *r = arg;
    const int64_t begin = wisp__split(r->rows, threads, thread), end = wisp__split(r->rows, threads, thread + 1);
    if (r->p->from_bytes != r->p->to_bytes) {
        convert_rows(r->p, begin, end);
        return;
    }
    switch (r->p->from_bytes) {
    case 4: copy_rows(r->p, begin, end, 4); break;
    case 8: copy_rows(r->p, begin, end, 8); break;
    default: copy_rows(r->p, begin, end, 16); break;
    }
}

wisp_status wisp__cpu_copy_columns(wisp_ctx *ctx, const wisp__columns_params *p, int64_t rows)
{
    wisp__run_some(ctx->team, rows * p->width < WISP__SMALL, columns_thread, &(columns_run){p, rows});
    return WISP_OK;
}

/* ---- rows for other ranks, and from there ------------------------------------------------------ */

typedef struct {
    const wisp__rows_params *p;
    char *to_host;
    const char *from_host; /* one of the two is NULL */
} move_run;

static void move_rows(void *arg, int64_t begin, int64_t end, int part)
{
    const move_run *r = arg;
    const wisp__rows_params *p = r->p;
    const size_t bytes = (size_t)p->bytes;
    (void)part;
    for (int64_t i = begin; i < end; i++) {
        char *row = (char *)p->x + (p->row ? p->row[i] : p->first + i) * p->ld;
        if (r->to_host)
            memcpy(r->to_host + (size_t)i * bytes, row, bytes);
        else
            memcpy(row, r->from_host + (size_t)i * bytes, bytes);
    }
}

static void move_all(wisp_ctx *ctx, const wisp__rows_params *p, char *to_host, const char *from_host)
{
    wisp__team_each(ctx->team, p->count, TUNED_MOVED / WISP__MIN(WISP__MAX(p->bytes, 1), TUNED_MOVED), move_rows,
                    &(move_run){p, to_host, from_host});
}

wisp_status wisp__cpu_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    move_all(ctx, p, host, NULL);
    return WISP_OK;
}

wisp_status wisp__cpu_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    move_all(ctx, p, NULL, host);
    return WISP_OK;
}
