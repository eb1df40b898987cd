/* The CPU backend: kernels of the best instruction set, run by the pinned team. */
#include "prepare.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wisp__combo wisp__combo_of(wisp_type matrix, wisp_type block)
{
    static const struct {
        wisp_type matrix, block;
    } pair[] = {
#define PAIR(name, matrix, block) {WISP_##matrix, WISP_##block},
        WISP__COMBO_LIST(PAIR)
#undef PAIR
    };
    const bool pairs = wisp__type_ok(block) && !wisp_type_is_complex(matrix);
    const wisp_type like = pairs ? wisp__real_type(block) : block;
    int k = 0;
    while (k < WISP__COMBOS && (pair[k].matrix != matrix || pair[k].block != like)) k++;
    return (wisp__combo)k;
}

/* ---- instruction sets ------------------------------------------------------------------------ */

extern const wisp__isa wisp__isa_generic, wisp__isa_avx2, wisp__isa_avx512, wisp__isa_neon;

typedef struct {
    const char *name;
    bool runs;                /* on this CPU */
    const wisp__isa *kernels; /* NULL: not in this build */
} isa_choice;

#ifdef WISP_WITH_avx512
#define AVX512 &wisp__isa_avx512
#else
#define AVX512 NULL
#endif
#ifdef WISP_WITH_avx2
#define AVX2 &wisp__isa_avx2
#else
#define AVX2 NULL
#endif
#ifdef WISP_WITH_neon
#define NEON &wisp__isa_neon
#else
#define NEON NULL
#endif

/* The instruction sets of this kind of CPU, best first. */
enum { ISAS = 3 };
static int list_isas(isa_choice list[ISAS])
{
    int n = 0;
#ifdef __x86_64__
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    list[n++] = (isa_choice){"avx512", avx512, AVX512};
    list[n++] = (isa_choice){"avx2", avx2, AVX2};
#endif
#ifdef __aarch64__
    list[n++] = (isa_choice){"neon", true, NEON};
#endif
    list[n++] = (isa_choice){"generic", true, &wisp__isa_generic};
    return n;
}

/* The simulated machine's best one; 0 if it is of another kind. */
static int simulated_top(const wisp_ctx *ctx, const isa_choice *list, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, ctx->topology.isa)) return i;
    return 0;
}

static wisp_status isa_open(wisp_ctx *ctx)
{
    isa_choice list[ISAS];
    const int n = list_isas(list);
    const char *want = ctx->opts.isa ? ctx->opts.isa : getenv("WISP_ISA");
    const bool any = !want || !*want;
    const int top = any && ctx->simulated ? simulated_top(ctx, list, n) : 0;
    for (int i = top; i < n; i++) {
        if (!list[i].runs || !list[i].kernels || !(any || !strcmp(want, list[i].name))) continue;
        ctx->isa = list[i].kernels;
        ctx->isa_name = ctx->isa->name;
        ctx->register_bytes = ctx->isa->register_bytes;
        ctx->bundle_bytes = ctx->isa->bundle_bytes;
        int best = top;
        while (!list[best].runs) best++;
        if (!any || best == i) return WISP_OK;
        char text[160];
        snprintf(text, sizeof text,
                 "this CPU runs %s, but this build has %s kernels: build with -DWISP_ISAS=native or all",
                 list[best].name, list[i].name);
        wisp__log_once(ctx, WISP__ONCE_ISA, WISP_LOG_PERF, text);
        return WISP_OK;
    }
    char names[64] = "";
    for (int i = 0; i < n; i++)
        if (list[i].runs && list[i].kernels)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", list[i].name);
    return wisp_ctx_failf(
        ctx, WISP_ERR_UNSUPPORTED,
        "instruction set '%s' is not one that this CPU runs and this build has (%s); take one of these%s", want, names,
        ctx->opts.isa ? "" : ", or unset WISP_ISA");
}

static wisp_status cpu_open(wisp_ctx *ctx) { return isa_open(ctx); }

static void cpu_close(wisp_ctx *ctx) { (void)ctx; }

/* ---- memory: the host's own ------------------------------------------------------------------- */

static wisp_status cpu_take(wisp_ctx *ctx, void *pointer_to_array)
{
    (void)ctx, (void)pointer_to_array;
    return WISP_OK;
}

static wisp_status cpu_borrow(wisp_ctx *ctx, const void *host)
{
    (void)ctx, (void)host;
    return WISP_OK;
}

static wisp_status cpu_map(wisp_ctx *ctx, void *address, void *pointer_to_host)
{
    (void)ctx;
    *(void **)pointer_to_host = address;
    return WISP_OK;
}

static void cpu_unmap(wisp_ctx *ctx, void *address) { (void)ctx, (void)address; }

/* ---- spmmv ----------------------------------------------------------------------------------- */

/* Once: what kernels there are instead; in columns of the block. */
static void say_no_kernel(wisp_ctx *ctx, const wisp__key *key)
{
    const wisp__combo combo = wisp__combo_of(key->matrix, key->block);
    const wisp__spmmv_entry *last = ctx->isa->spmmv[combo];
    while (last->width) last++;
    if (ctx->isa->spmmv[combo]->fn == last->fn) return;             /* no width has: the generic set */
    if (combo == WISP__COMBO_sd || combo == WISP__COMBO_cz) return; /* mixed precision: wide blocks go in few passes */
    if (atomic_load(&ctx->logged_once) & WISP__ONCE_WIDTH) return;
    char text[512];
    const int parts = key->pairs ? 2 : 1;
    const char *between = "";
    size_t used = (size_t)snprintf(text, sizeof text, "block width %d has no %s kernel of its own; those of the widths",
                                   key->width / parts, ctx->isa->name);
    for (const wisp__spmmv_entry *e = ctx->isa->spmmv[combo]; e->width && used < sizeof text; e++) {
        if (e->width % parts) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %d", between, e->width / parts);
        between = ",";
    }
    if (used < sizeof text) snprintf(text + used, sizeof text - used, " are faster");
    wisp__log_once(ctx, WISP__ONCE_WIDTH, WISP_LOG_PERF, text);
}

/* Whether a kernel of `width` columns takes a block of so many as a whole. */
static bool fits(int width, int columns) { return width == columns || (width >= K_MULTIPLES && columns % width == 0); }

static wisp__kernel cpu_find_spmmv(wisp_ctx *ctx, const wisp__key *key, const wisp__entries *a)
{
    const wisp__cpu_prepared *m = wisp__cpu_prepared_of(a);
    const wisp__spmmv_entry *e = ctx->isa->spmmv[wisp__combo_of(key->matrix, key->block)];
    while (e->width && !fits(e->width, key->width)) e++;
    if (!e->width) say_no_kernel(ctx, key);
    if (e->bundled && m && m->bundles) return wisp__cpu_kernel(e->bundled);
    if (e->chunked && (1 << key->log_c) >= K_CHUNKED_C) return wisp__cpu_kernel(e->chunked);
    return wisp__cpu_kernel(e->fn);
}

typedef struct {
    wisp_ctx *ctx;
    wisp__spmmv_fn fn;
    const wisp__spmmv_params *p;
    const wisp__grid *grid;
    double *partial;
    size_t dot_size;
    int64_t first, end; /* of the blocks, in the grid's order */
    int64_t turn;       /* of them that a thread takes at a time */
    wisp__shares shares;
} spmmv_run;

/* Of all blocks, the first of a part: their running weight reaches its fraction of the total. */
static int64_t first_block(const wisp__grid *g, int part, int parts)
{
    const int64_t rows_weight = TUNED_ROW_WEIGHT;
    if (part >= parts) return g->blocks;
    const int64_t total = g->weight[g->chunks] + rows_weight * g->chunks;
    const int64_t target = wisp__split(total, parts, part);
    int64_t lo = 0, hi = g->blocks;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2, chunk = WISP__MIN(mid * g->chunks_per_block, g->chunks);
        if (g->weight[chunk] + rows_weight * chunk < target)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void spmmv_thread(void *arg, int thread, int threads)
{
    spmmv_run *r = arg;
    const wisp__grid *g = r->grid;
    (void)threads;
    for (int64_t t; (t = wisp__share_next(&r->shares, thread)) >= 0;)
        for (int64_t i = r->first + t * r->turn;
             i < WISP__MIN(r->first + (t + 1) * r->turn, r->end) && !wisp__cancelled(r->ctx->team); i++)
            wisp__run_block(r->fn, r->p, g, g->order ? g->order[i] : i, r->partial, r->dot_size);
}

/* The first turn of a share of the blocks; the last one ends with them. */
static int64_t first_turn(const spmmv_run *r, int share, int shares)
{
    const wisp__grid *g = r->grid;
    const int64_t blocks = r->end - r->first;
    if (share == shares) return (blocks + r->turn - 1) / r->turn;
    return (g->weight ? first_block(g, share, shares) : wisp__split(blocks, shares, share)) / r->turn;
}

static bool is_little(wisp_ctx *ctx, const wisp__spmmv_params *p, const wisp__grid *g, int64_t blocks)
{
    const double each = (double)g->elements / (double)WISP__MAX(g->blocks, 1);
    return blocks <= 1 || wisp__is_little(ctx->team, (int64_t)(each * (double)(blocks * p->reals)));
}

static wisp_status cpu_launch_spmmv(wisp_ctx *ctx, wisp__kernel kernel, const wisp__spmmv_params *p,
                                    const wisp__grid *grid, int64_t first, int64_t end, size_t dot_size)
{
    const int64_t blocks = end - first;
    const bool little = is_little(ctx, p, grid, blocks);
    const wisp__cpu_sweep sweep = {*p, wisp__cpu_advise(ctx, p)};
    const int shares = little || sweep.cpu.in_turn ? 1 : WISP__MIN(ctx->threads, WISP__MOST_SHARES);
    double *partial = NULL;
    wisp_status status = dot_size ? wisp__cpu_room(ctx, &partial, grid->blocks, dot_size) : WISP_OK;
    if (status != WISP_OK) return status;
    spmmv_run run; /* the shares in use are set */
    run.ctx = ctx, run.fn = wisp__cpu_fn(kernel), run.p = &sweep.p, run.grid = grid, run.partial = partial,
    run.dot_size = dot_size, run.first = first, run.end = end;
    run.turn = sweep.cpu.in_turn ? wisp__blocks_per_turn(&wisp__cpu_row_cut, blocks, ctx->threads) : 1;
    run.shares.count = shares;
    for (int i = 0; i < shares; i++)
        wisp__share_set(&run.shares, i, first_turn(&run, i, shares), first_turn(&run, i + 1, shares));
    return wisp__whole(ctx, "multiplying", wisp__run_some(ctx->team, little, spmmv_thread, &run));
}

static wisp_status cpu_finish_dots(wisp_ctx *ctx, const wisp__grid *grid, double *dot, size_t dot_size)
{
    double *partial;
    const wisp_status status = wisp__cpu_room(ctx, &partial, grid->blocks, dot_size);
    if (status == WISP_OK) wisp__cpu_add_up(ctx, false, partial, grid->blocks, dot_size, dot);
    return status;
}

/* ---- rows that move --------------------------------------------------------------------------- */

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

static wisp_status cpu_pack(wisp_ctx *ctx, const wisp__rows_params *p, void *host)
{
    move_all(ctx, p, host, NULL);
    return WISP_OK;
}

static wisp_status cpu_unpack(wisp_ctx *ctx, const wisp__rows_params *p, const void *host)
{
    move_all(ctx, p, NULL, host);
    return WISP_OK;
}

/* ---- element-wise ops and dots --------------------------------------------------------------- */

typedef struct {
    wisp__axpby_fn fn;
    const wisp__axpby_params *p;
    int64_t count;
} axpby_run;

static void axpby_thread(void *arg, int thread, int threads)
{
    const axpby_run *r = arg;
    r->fn(r->p, wisp__split(r->count, threads, thread), wisp__split(r->count, threads, thread + 1));
}

static wisp_status cpu_axpby(wisp_ctx *ctx, bool is_double, const wisp__axpby_params *p, int64_t count)
{
    axpby_run run = {ctx->isa->axpby[is_double], p, count};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, count * p->period), axpby_thread, &run);
    return WISP_OK;
}

typedef struct {
    const wisp__isa *isa;
    wisp__dot_fn fn;
    const wisp__dot_params *p;
    int64_t count, per_block;
    bool cross, compensated, is_double;
    double *partial;
} dot_run;

/* The sums of periods begin .. end - 1. A multiple of a column is made a strip at a time, so that no memory of its size
   is held. */
static void dot_periods(const dot_run *r, int64_t begin, int64_t end, double *work, double *error)
{
    enum { MOST = 64 }; /* numbers of a period of a single column */
    const wisp__dot_params *p = r->p;
    if (p->exponent == 0) {
        r->fn(p, begin, end, r->cross, work, error);
        return;
    }
    double strip[K_STRIP * MOST];
    const wisp__dot_params q = {strip, strip, p->period, p->period, p->period, p->rows, 0};
    const double factor = ldexp(1, p->exponent);
    for (int64_t i = begin, n; i < end; i += n) {
        n = WISP__MIN(K_STRIP, end - i);
        for (int64_t k = 0; k < n * p->period; k++) {
            const int64_t at = (i + k / p->period) * p->ld_x + k % p->period;
            if (r->is_double)
                strip[k] = factor * ((const double *)p->x)[at];
            else
                ((float *)strip)[k] = (float)factor * ((const float *)p->x)[at];
        }
        r->fn(&q, 0, n, r->cross, work, error);
    }
}

/* The sums of a block, one row of them; its sums of a period stay with the thread. */
static void dot_block(const dot_run *r, int64_t block, double *sum)
{
    const wisp__dot_params *p = r->p;
    const int kinds = r->cross ? 2 : 1, parts = r->compensated ? 2 : 1, row = p->period / p->rows;
    const int64_t begin = block * r->per_block, end = WISP__MIN(begin + r->per_block, r->count);
    const size_t sums = (size_t)(kinds * p->period), bytes = (size_t)row * sizeof *sum;
    double period[4 * K_DOT_PERIOD], *work = p->rows > 1 ? period : sum;
    memset(work, 0, (size_t)parts * sums * sizeof *work);
    dot_periods(r, begin, end, work, r->compensated ? work + sums : NULL);
    for (int k = 0; k < kinds && p->rows > 1; k++) {
        double *s = work + k * p->period, *error = r->compensated ? s + sums : NULL;
        r->isa->fold(p->rows, row, s, error);
        memcpy(sum + k * row, s, bytes);
        if (error) memcpy(sum + (kinds + k) * row, error, bytes);
    }
}

static void dot_thread(void *arg, int thread, int threads)
{
    const dot_run *r = arg;
    const int64_t blocks = (r->count + r->per_block - 1) / r->per_block, end = wisp__split(blocks, threads, thread + 1);
    const int64_t step = r->p->period / r->p->rows * (r->cross ? 2 : 1) * (r->compensated ? 2 : 1);
    for (int64_t b = wisp__split(blocks, threads, thread); b < end; b++) dot_block(r, b, r->partial + b * step);
}

static wisp_status cpu_dot(wisp_ctx *ctx, bool is_double, bool cross, bool compensated, const wisp__dot_params *p,
                           int64_t count, int64_t per_block, double *sum)
{
    const int64_t blocks = (count + per_block - 1) / per_block;
    const size_t sums = (size_t)(p->period / p->rows) * (cross ? 2 : 1);
    double *partial;
    const wisp_status status = wisp__cpu_room(ctx, &partial, blocks, compensated ? 2 * sums : sums);
    if (status != WISP_OK) return status;
    dot_run run = {ctx->isa, ctx->isa->dot[is_double], p, count, per_block, cross, compensated, is_double, partial};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, count * p->period), dot_thread, &run);
    wisp__cpu_add_up(ctx, compensated, partial, blocks, sums, sum);
    return WISP_OK;
}

typedef struct {
    wisp__sum_fn fn;
    double *partial;
    int64_t blocks;
    size_t size;
    bool compensated;
} sum_run;

static void sum_thread(void *arg, int thread, int threads)
{
    enum { UNIT = 8 }; /* whole cache lines */
    const sum_run *r = arg;
    const int64_t units = ((int64_t)r->size + UNIT - 1) / UNIT, begin = wisp__split(units, threads, thread) * UNIT,
                  end = WISP__MIN(wisp__split(units, threads, thread + 1) * UNIT, (int64_t)r->size);
    if (begin < end) r->fn(r->partial, r->blocks, r->size, (size_t)begin, (size_t)end, r->compensated);
}

wisp_status wisp__cpu_room(wisp_ctx *ctx, double **partial, int64_t blocks, size_t size)
{
    return wisp__scratch(ctx->team, WISP__DEVICE_SCRATCH, partial, (size_t)WISP__MAX(blocks, 1),
                         size * sizeof **partial);
}

void wisp__cpu_add_up(wisp_ctx *ctx, bool compensated, double *partial, int64_t blocks, size_t size, double *sum)
{
    const size_t all = compensated ? 2 * size : size;
    if (blocks == 0) {
        memset(sum, 0, all * sizeof *sum);
        return;
    }
    sum_run run = {ctx->isa->sum, partial, blocks, size, compensated};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, blocks * (int64_t)size), sum_thread, &run);
    memcpy(sum, partial, all * sizeof *sum);
}

/* ---- tall and skinny ------------------------------------------------------------------------- */

typedef struct {
    wisp__gram_fn fn;
    const wisp__gram_params *p;
    int64_t per_block;
    bool compensated;
    double *partial;
} gram_run;

static void gram_thread(void *arg, int thread, int threads)
{
    const gram_run *r = arg;
    const int64_t rows = r->p->rows, blocks = (rows + r->per_block - 1) / r->per_block;
    const size_t size = (size_t)r->p->p * (size_t)r->p->q, step = r->compensated ? 2 * size : size;
    const int64_t end = wisp__split(blocks, threads, thread + 1);
    for (int64_t b = wisp__split(blocks, threads, thread); b < end; b++) {
        double *sum = r->partial + (size_t)b * step;
        memset(sum, 0, step * sizeof *sum);
        r->fn(r->p, b * r->per_block, WISP__MIN((b + 1) * r->per_block, rows), sum, r->compensated ? sum + size : NULL);
    }
}

static wisp_status cpu_gram(wisp_ctx *ctx, bool is_double, bool compensated, const wisp__gram_params *p,
                            int64_t per_block, double *sum)
{
    const size_t size = (size_t)p->p * (size_t)p->q;
    const int64_t blocks = (p->rows + per_block - 1) / per_block;
    double *partial;
    const wisp_status status = wisp__cpu_room(ctx, &partial, blocks, compensated ? 2 * size : size);
    if (status != WISP_OK) return status;
    gram_run run = {ctx->isa->gram[is_double], p, per_block, compensated, partial};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, p->rows * p->p * p->q), gram_thread, &run);
    wisp__cpu_add_up(ctx, compensated, partial, blocks, size, sum);
    return WISP_OK;
}

typedef struct {
    wisp__update_fn fn;
    const wisp__update_params *p;
    int64_t rows;
    char *copy;
    size_t copy_bytes;
} update_run;

static void update_thread(void *arg, int thread, int threads)
{
    enum { UNIT = K_UPDATE_ROWS }; /* ranges begin at the same strips of rows for any number of threads */
    const update_run *r = arg;
    const int64_t units = (r->rows + UNIT - 1) / UNIT, begin = wisp__split(units, threads, thread) * UNIT,
                  end = WISP__MIN(wisp__split(units, threads, thread + 1) * UNIT, r->rows);
    char *copy = r->copy ? r->copy + (size_t)thread * r->copy_bytes : NULL;
    if (begin < end) r->fn(r->p, begin, end, copy);
}

static wisp_status cpu_update(wisp_ctx *ctx, bool is_double, const wisp__update_params *p, int64_t rows)
{
    const size_t real = is_double ? sizeof(double) : sizeof(float), bytes = K_UPDATE_ROWS * (size_t)p->p * real;
    char *copy = NULL;
    wisp_status status = WISP_OK;
    if (p->in_place) status = wisp__scratch(ctx->team, WISP__DEVICE_SCRATCH, &copy, (size_t)ctx->threads, bytes);
    if (status != WISP_OK) return status;
    update_run run = {ctx->isa->update[is_double], p, rows, copy, bytes};
    wisp__run_some(ctx->team, wisp__is_little(ctx->team, rows * p->p * p->q), update_thread, &run);
    return WISP_OK;
}

const wisp__backend wisp__backend_cpu = {
    .name = "cpu",
    .kinds = WISP__ALL_KINDS,
    .open = cpu_open,
    .close = cpu_close,
    .facts = wisp__cpu_facts,
    .alloc = wisp_alloc,
    .free = wisp_free,
    .take = cpu_take,
    .prepare = wisp__cpu_prepare,
    .release = wisp__cpu_release,
    .foresee = wisp__cpu_foresee,
    .borrow = cpu_borrow,
    .map = cpu_map,
    .unmap = cpu_unmap,
    .find_spmmv = cpu_find_spmmv,
    .host_memory = true,
    .launch_spmmv = cpu_launch_spmmv,
    .finish_dots = cpu_finish_dots,
    .reserve_steps = wisp__cpu_reserve_steps,
    .launch_steps = wisp__cpu_launch_steps,
    .launch_half = wisp__cpu_launch_half,
    .pack = cpu_pack,
    .unpack = cpu_unpack,
    .copy_columns = wisp__cpu_copy_columns,
    .axpby = cpu_axpby,
    .dot = cpu_dot,
    .fuse = wisp__cpu_fuse,
    .gram = cpu_gram,
    .update = cpu_update,
};
