/* The part of a matrix that is near some rows: what its first powers reach from there. */
#include "order.h"
#include <string.h>

typedef struct {
    wisp_ctx *ctx;
    wisp__row_reader reader;
    size_t size;                   /* of a value */
    int64_t rows, rows_room, *row; /* their numbers in the whole, level by level */
    int64_t levels, *level; /* [levels]: rows up to the end of each, the first one being that of the given rows */
    int64_t slots;          /* a power of 2, above twice the rows */
    int32_t *slot;          /* row i + 1 stands where its number is looked for; 0: nothing does */
    int64_t entries, entries_room, longest;
    int64_t *begin; /* [rows_room + 1] */
    int32_t *col;
    char *val;
} ball;

static void ball_free(void *arg)
{
    ball *b = arg;
    if (!b) return;
    wisp_ctx *ctx = b->ctx;
    void *own[] = {b->row, b->level, b->slot, b->begin, b->col, b->val, b};
    wisp__row_reader_close(&b->reader, ctx);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(ctx, own[i]);
}

static int ball_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const ball *b = arg;
    const int64_t begin = b->begin[row], n = b->begin[row + 1] - begin;
    if (!col || n == 0) return (int)n;
    for (int64_t k = 0; k < n; k++) col[k] = b->col[begin + k];
    memcpy(val, b->val + (size_t)begin * b->size, (size_t)n * b->size);
    return (int)n;
}

const int64_t *wisp__near_levels(const wisp_src *src, int64_t *levels)
{
    *levels = 0;
    if (src->row != ball_row) return NULL;
    const ball *b = src->arg;
    *levels = b->levels;
    return b->level;
}

/* Where a row's number stands, or would stand. */
static int32_t *slot_of(const ball *b, int64_t row)
{
    const uint64_t mix = (uint64_t)row * 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio (Knuth, 6.4) */
    int64_t at = (int64_t)(mix >> 20) & (b->slots - 1);
    while (b->slot[at] && b->row[b->slot[at] - 1] != row) at = (at + 1) & (b->slots - 1);
    return b->slot + at;
}

/* Room for `more` further rows. */
static wisp_status more_rows(ball *b, int64_t more)
{
    if (b->rows + more <= b->rows_room) return WISP_OK;
    const int64_t room = 2 * b->rows_room + more + 1024;
    if (room > INT32_MAX)
        return wisp_ctx_failf(b->ctx, WISP_ERR_OVERFLOW, "more than %lld rows are near", (long long)b->rows);
    wisp_status status;
    WISP_TRY(wisp__widen(b->ctx, &b->row, (size_t)b->rows, (size_t)room, sizeof *b->row));
    WISP_TRY(wisp__widen(b->ctx, &b->begin, (size_t)b->rows + 1, (size_t)room + 1, sizeof *b->begin));
    b->rows_room = room;
    for (b->slots = 2048; b->slots < 2 * room;) b->slots *= 2;
    wisp_free(b->ctx, b->slot);
    b->slot = NULL;
    WISP_TRY(wisp_alloc(b->ctx, &b->slot, (size_t)b->slots, sizeof *b->slot));
    for (int64_t i = 0; i < b->rows; i++) *slot_of(b, b->row[i]) = (int32_t)i + 1;
out:
    return status;
}

/* Which one a row of the whole is; if there is none, it becomes one with `adds`, for which there is room; else -1. */
static int32_t find(ball *b, int64_t row, bool adds)
{
    int32_t *slot = slot_of(b, row);
    if (!*slot && adds) {
        b->row[b->rows++] = row;
        *slot = (int32_t)b->rows;
    }
    return *slot - 1;
}

/* Entries of row i, of which those that lead to no row of the ball are left out, unless it grows. */
static wisp_status take_row(ball *b, int64_t i, bool grows)
{
    wisp_status status;
    int n;
    WISP_TRY(wisp__read_columns(&b->reader, b->ctx, b->row[i], &n));
    if (grows) WISP_TRY(more_rows(b, n));
    if (b->entries + n > b->entries_room) {
        const int64_t room = 2 * b->entries_room + n + 4096;
        WISP_TRY(wisp__widen(b->ctx, &b->col, (size_t)b->entries, (size_t)room, sizeof *b->col));
        WISP_TRY(wisp__widen(b->ctx, &b->val, (size_t)b->entries, (size_t)room, b->size));
        b->entries_room = room;
    }
    const int64_t before = b->entries;
    for (int k = 0; k < n; k++) {
        const int32_t place = find(b, b->reader.col[k], grows);
        if (place < 0) continue;
        b->col[b->entries] = place;
        memcpy(b->val + (size_t)b->entries++ * b->size, (const char *)b->reader.val + (size_t)k * b->size, b->size);
    }
    b->begin[i + 1] = b->entries;
    b->longest = WISP__MAX(b->longest, b->entries - before);
out:
    return status;
}

/* Level by level. *whole: it is no use, since on average more than `most` rows are reached after a step: those of this
   level will be reached after all that are left. */
static wisp_status grow(ball *b, int64_t steps, int64_t most, bool *whole)
{
    const double allowed = (double)most * (double)(steps + 1);
    double before = 0;
    wisp_status status = WISP_OK;
    for (int64_t begin = 0, level = 0; level <= steps && !*whole; level++) {
        const int64_t end = b->rows;
        const double done = (double)level / (double)(steps + 1);
        *whole = before + (double)end * (double)(steps + 1 - level) > allowed;
        if (*whole || begin == end) break;
        WISP_TRY(wisp_ctx_step(b->ctx, "near rows", done, 0));
        b->level[b->levels++] = end;
        before += (double)end;
        for (; begin < end; begin++) WISP_TRY(take_row(b, begin, level < steps));
    }
out:
    return status;
}

static wisp_status check(wisp_ctx *ctx, const wisp_src *other, const int64_t *row, int64_t rows)
{
    if (other->rows != other->cols)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "near rows of a matrix of %lld rows and %lld columns: it must be square",
                              (long long)other->rows, (long long)other->cols);
    if (other->own_rows && ctx->ranks > 1)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "near rows: each rank has its own rows of the source alone");
    for (int64_t i = 0; i < rows; i++)
        if (row[i] < 0 || row[i] >= other->rows)
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "near row %lld: rows are 0 to %lld", (long long)row[i],
                                  (long long)other->rows - 1);
    return WISP_OK;
}

wisp_status wisp_src_near(wisp_src *src, wisp_ctx *ctx, const wisp_src *other, const int64_t *row, int64_t rows,
                          int64_t steps, int64_t most, int64_t *place)
{
    ball *b = NULL;
    bool whole = false;
    wisp_status status;
    WISP_NEED(ctx, src);
    *src = (wisp_src){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, other);
    WISP_NEED(ctx, row);
    WISP_NEED(ctx, place);
    if (rows < 0 || steps < 0 || most < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG,
                              "near %lld rows, %lld steps, at most %lld rows: these can't be negative", (long long)rows,
                              (long long)steps, (long long)most);
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__src_check(ctx, other));
    WISP_TRY(check(ctx, other, row, rows));
    WISP_TRY(wisp_alloc(ctx, &b, 1, sizeof *b));
    *b = (ball){.ctx = ctx, .size = wisp_type_size(other->type)};
    WISP_TRY(wisp__row_reader_open(&b->reader, ctx, other, NULL));
    WISP_TRY(wisp__alloc_raw(ctx, &b->level, (size_t)WISP__MIN(steps, other->rows) + 1, sizeof *b->level));
    WISP_TRY(more_rows(b, rows + 1));
    b->begin[0] = 0;
    for (int64_t i = 0; i < rows; i++) place[i] = find(b, row[i], true);
    WISP_TRY(grow(b, steps, most, &whole));
    if (whole) goto out;
    *src = (wisp_src){.rows = b->rows,
                      .cols = b->rows,
                      .max_row = b->longest,
                      .type = other->type,
                      .row = ball_row,
                      .arg = b,
                      .free_arg = ball_free};
    wisp__row_reader_close(&b->reader, ctx);
    b->reader = (wisp__row_reader){0};
    wisp_free(ctx, b->slot);
    b->slot = NULL;
    b = NULL;
out:
    ball_free(b);
    return wisp_ctx_leave(ctx, status);
}
