/* How fast the kernels of sweeps are: small matrices of each kind, type and width, in cache, whose steps are timed. */
#include "../base/rng.h"
#include "../data/shape.h"
#include "../model/model.h"
#include "op.h"
#include <math.h>

/* Rows have few or many entries: what grows with them is an entry's, the rest a row's. */
enum { FEW = 4, MANY = 16, SIZES = 2, PATTERNS = 16, REACH = 8 };
enum { OF_ROW, OF_PATTERN }; /* streams of random numbers */

/* ---- the matrices ------------------------------------------------------------------------------- */

typedef struct {
    wisp_rows kind;
    wisp_type type;
    int entries; /* of a row */
    int64_t rows;
} sample;

static bool is_shared(wisp_rows kind) { return kind > WISP_ROWS_UNEVEN; }

/* So many of the 4 REACH columns around a row, in the order of their numbers; which of them, and which values, is told
   by the number of its pattern. */
static int sample_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const sample *s = arg;
    uint32_t bits[4];
    wisp__philox(0, row, 0, OF_ROW, bits);
    const int64_t pattern = s->kind == WISP_ROWS_ALIKE     ? 0
                            : s->kind == WISP_ROWS_IN_TURN ? row % 2
                            : s->kind == WISP_ROWS_SHARED  ? bits[0] % PATTERNS
                                                           : row;
    const int half = s->entries / 2,
              all = s->kind == WISP_ROWS_UNEVEN ? half + (int)(bits[0] % (uint32_t)(2 * half + 1)) : s->entries;
    if (!col) return all;
    int n = 0;
    for (int k = 0; k < 4 * REACH && n < all; k++) {
        if (k % 4 == 0) wisp__philox(0, pattern, (uint32_t)k, OF_PATTERN, bits);
        const uint32_t chance = bits[k % 4];
        if ((int)(chance % (uint32_t)(4 * REACH - k)) >= all - n) continue;
        const wisp_scalar v = {1 + 1e-3 * (double)(chance % 97), 0};
        col[n] = ((row - 2 * REACH + k) % s->rows + s->rows) % s->rows;
        wisp__store(s->type, (char *)val + (size_t)n++ * wisp_type_size(s->type), v);
    }
    return n;
}

/* The rows of a sample and of blocks of this width together fill a part of a second-level cache: what a sweep takes to
   begin and to end does not count then. */
static int64_t rows_of(wisp_ctx *ctx, const sample *s, int width)
{
    enum { LEAST = 8 * REACH };
    const double value = (double)wisp_type_size(s->type), part = 0.5;
    const double row = s->entries * ((double)sizeof(int32_t) + value) + 2 * width * value;
    return WISP__MAX((int64_t)(part * wisp__facts_of(ctx).l2 / row), LEAST);
}

/* For blocks of widths first .. last. *A = NULL: such rows would not be shared here. */
static wisp_status make(wisp_mat **A, wisp_ctx *ctx, sample *s, int first, int last)
{
    s->rows = rows_of(ctx, s, last);
    const wisp_src src = {
        .rows = s->rows, .cols = s->rows, .max_row = 2 * s->entries, .type = s->type, .row = sample_row, .arg = s};
    const wisp_mat_opts opts = {.format = is_shared(s->kind) ? WISP_FORMAT_COMPRESSED : WISP_FORMAT_SELL,
                                .order = WISP_ROWS_NATURAL,
                                .width = first};
    const wisp_status status = wisp_mat_create(A, ctx, &src, &opts);
    return status == WISP_ERR_UNSUPPORTED ? WISP_OK : status;
}

/* ---- their times -------------------------------------------------------------------------------- */

typedef struct {
    const wisp_mat *A;
    wisp_blk *const *block;
    wisp_aug step;
} run;

static wisp_status launch(wisp_ctx *ctx, void *arg)
{
    const run *r = arg;
    return (void)ctx, wisp_spmmv(r->block[1], r->A, r->block[0], &r->step);
}

/* The least of several, for what disturbs one of them may not meet another. */
static wisp_status time_step(wisp_ctx *ctx, run *r, double *seconds)
{
    enum { TIMES = 3 };
    const double wanted = WISP__MIN(1e-4, ctx->measure_seconds);
    int64_t n = 1;
    wisp_status status;
    WISP_TRY(wisp__time_launches(ctx, launch, r, 1, seconds)); /* brings all into the cache */
    WISP_TRY(wisp__time_launches(ctx, launch, r, 1, seconds));
    if (*seconds < wanted) n = (int64_t)ceil(wanted / WISP__MAX(*seconds, 1e-9));
    for (int i = 0; i < TIMES; i++) {
        double now;
        WISP_TRY(wisp__time_launches(ctx, launch, r, n, &now));
        *seconds = i == 0 ? now : WISP__MIN(now, *seconds);
    }
out:
    return status;
}

/* What of it the second-level cache takes, by the model. */
static wisp_status time_of_far(const wisp_mat *A, const wisp__shape *m, int width, double *seconds)
{
    const wisp__facts f = wisp__facts_of(A->ctx);
    wisp__caches caches;
    wisp__comings x;
    wisp__core_work work;
    wisp_status status;
    WISP_TRY(wisp__shape_comings(A->ctx, &f, m, m->type, width, &caches, &x));
    WISP_TRY(wisp__core_work_find(A->ctx, &f, m, m->type, width, &x, &caches, &work));
    work.loads = 0;
    *seconds = wisp__core_seconds(f.tuned, &work, &f.rates);
out:
    return status;
}

/* Seconds of a row with blocks of this width, without what comes from the second-level cache: the least so far. */
static wisp_status time_width(const wisp_mat *A, const wisp__shape *m, int width, double *least)
{
    const double part = 0.2; /* of the time, at least: what the model says of the cache is not that exact */
    wisp_blk *block[2] = {NULL, NULL};
    wisp_scalar dot[3 * (1 << (WISP_KERNEL_WIDTHS - 1))], shift[1 << (WISP_KERNEL_WIDTHS - 1)] = {{0}};
    double all, far;
    wisp_status status;
    for (int i = 0; i < 2; i++) {
        WISP_TRY(wisp_blk_create(&block[i], A->ctx, wisp_mat_map(A), m->type, width));
        WISP_TRY(wisp_blk_fill(block[i], (wisp_scalar){1, 0}));
    }
    run r = {A,
             block,
             {.terms = WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY,
              .alpha = {0.01, 0},
              .beta = {-1, 0},
              .shift = shift,
              .dot = dot}};
    WISP_TRY(time_of_far(A, m, width, &far));
    WISP_TRY(time_step(A->ctx, &r, &all));
    const double row = WISP__MAX(all - far, part * all) / m->rows;
    if (*least == 0 || row < *least) *least = row;
out:
    wisp_blk_free(block[0]);
    wisp_blk_free(block[1]);
    return status;
}

/* Of the widths first, 2 first .. last; least[]: of each, how often the first one is doubled. */
static wisp_status time_widths(wisp_ctx *ctx, sample *s, int first, int last, double least[][SIZES])
{
    wisp_mat *A = NULL;
    wisp__sample rows = {0};
    wisp__shape m;
    wisp_status status;
    WISP_TRY(make(&A, ctx, s, first, last));
    if (!A) goto out;
    WISP_TRY(wisp__shape_of(A, &rows, &m));
    for (int width = first, i = 0; m.patterns == is_shared(s->kind) && width <= last; width *= 2, i++)
        WISP_TRY(time_width(A, &m, width, &least[i][s->entries == MANY]));
out:
    wisp__sample_close(&rows, ctx);
    wisp_mat_free(A);
    return status;
}

/* Of two lengths of rows what an entry takes, and what a row takes besides. Times that are known and less stay. */
static void split(const double seconds[SIZES], double ns[2])
{
    const double entry = (seconds[1] - seconds[0]) / (MANY - FEW), row = seconds[0] - FEW * entry;
    const double all = 1e9 * (seconds[0] + seconds[1]), known = (FEW + MANY) * ns[0] + SIZES * ns[1];
    if (seconds[0] == 0 || seconds[1] == 0 || (known > 0 && known <= all)) return;
    ns[0] = 1e9 * (entry > 0 && row > 0 ? entry : seconds[1] / MANY);
    ns[1] = entry > 0 && row > 0 ? 1e9 * row : 0;
}

/* ---- all of them -------------------------------------------------------------------------------- */

enum { KEYS = WISP_ROW_KINDS * WISP_KERNEL_TYPES * WISP_KERNEL_WIDTHS, ROUNDS = 4 };

/* Widths that share a matrix. Those for single columns are others. */
static const struct {
    int first, last, place;
} groups[] = {{1, 1, 0}, {2, 8, 1}, {16, 32, 4}};

/* The least of some rounds: a machine that is shared has slow moments. */
static wisp_status measure(wisp_ctx *ctx, wisp_ctx *one, double seconds[KEYS][SIZES])
{
    const int types = WISP_KERNEL_TYPES, samples = WISP_ROW_KINDS * WISP_KERNEL_TYPES * SIZES;
    const bool is_short = ctx->measure_seconds < 1; /* for tests */
    const int all = is_short ? samples : ROUNDS * samples;
    wisp_status status = WISP_OK;
    for (int i = 0; i < all; i++) {
        const int row = i / SIZES % (samples / SIZES); /* of the table of times */
        sample s = {.kind = (wisp_rows)(row / types),
                    .type = (wisp_type)(WISP_S + row % types),
                    .entries = i % SIZES ? MANY : FEW};
        double(*least)[SIZES] = &seconds[row * WISP_KERNEL_WIDTHS];
        WISP_TRY(wisp_ctx_step(ctx, "measuring kernels", (double)i / all, 0));
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
            WISP_TRY(time_widths(one, &s, groups[g].first, groups[g].last, least + groups[g].place));
    }
    WISP_TRY(wisp_ctx_step(ctx, "measuring kernels", 1, 0));
out:
    return status;
}

/* A context with one thread, and what is known of its second-level cache. */
static wisp_status open_one(wisp_ctx *ctx, const wisp_machine *m, wisp_ctx **one)
{
    const wisp_ctx_opts opts = {.threads = 1, .no_pin = 1, .device = "cpu", .isa = ctx->isa_name};
    wisp_machine alone = {.threads = 1};
    char message[WISP_MESSAGE];
    wisp_status status = wisp_ctx_create(one, &opts);
    for (int i = 0; i < 2; i++) alone.gbs[WISP_LOAD][WISP_L2][i] = m->gbs[WISP_LOAD][WISP_L2][0];
    if (status == WISP_OK) status = wisp_ctx_set_machine(*one, &alone);
    if (status == WISP_OK) return status;
    return wisp_ctx_failf(ctx, status, "%s", wisp_ctx_message(*one, message, sizeof message));
}

wisp_status wisp_machine_kernels(wisp_ctx *ctx, wisp_machine *m)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    wisp_ctx *one = NULL;
    double seconds[KEYS][SIZES] = {{0}};
    char message[WISP_MESSAGE];
    wisp_status status;
    if (ctx->ranks > 1)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED, "kernels are measured by one process alone, not by %d ranks",
                              ctx->ranks);
    if (ctx->backend->measure) return WISP_OK;
    WISP_TRY(open_one(ctx, m, &one));
    status = measure(ctx, one, seconds);
    if (status != WISP_OK && status != WISP_ERR_CANCELLED)
        wisp_ctx_failf(ctx, status, "%s", wisp_ctx_message(one, message, sizeof message));
    if (status != WISP_OK) goto out;
    double(*ns)[2] = &m->kernel_ns[0][0][0];
    for (int k = 0; k < KEYS; k++) split(seconds[k], ns[k]);
    wisp__take_machine(ctx, m);
out:
    wisp_ctx_free(one);
    return status;
}
