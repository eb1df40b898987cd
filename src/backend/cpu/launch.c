/* The CPU backend: kernels of the best instruction set, run by the pinned team. */
#include "../../topo/features.h"
#include "../../topo/machine.h"
#include "known.h"
#include "prepare.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const unsigned has = wisp__cpu_features();
    list[n++] = (isa_choice){"avx512", has & WISP__CPU_AVX512, AVX512};
    list[n++] = (isa_choice){"avx2", has & WISP__CPU_AVX2, AVX2};
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

static bool cpu_describe(wisp_device *d)
{
    snprintf(d->what, sizeof d->what, "the processors of this machine");
    d->memory_bytes = wisp__memory_installed();
    return d->number == 0;
}

static wisp_status cpu_open(wisp_ctx *ctx)
{
    const wisp_status status = isa_open(ctx);
    if (status == WISP_OK) wisp__known_assume(ctx);
    return status;
}

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

static wisp_status cpu_lend(wisp_ctx *ctx, void *address, size_t bytes, wisp_access how, void *pointer_to_host)
{
    (void)ctx, (void)bytes, (void)how;
    *(void **)pointer_to_host = address;
    return WISP_OK;
}

static void cpu_unlend(wisp_ctx *ctx, void *address) { (void)ctx, (void)address; }

static wisp_status cpu_read(wisp_ctx *ctx, const void *address, void *host, size_t bytes)
{
    (void)ctx;
    if (bytes > 0 && host != address) memcpy(host, address, bytes);
    return WISP_OK;
}

static wisp_status cpu_write(wisp_ctx *ctx, void *address, const void *host, size_t bytes)
{
    return cpu_read(ctx, host, address, bytes);
}

static wisp_status cpu_finish(wisp_ctx *ctx)
{
    (void)ctx;
    return WISP_OK;
}

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
    const int reals = key->pairs ? 2 : 1;
    const char *between = "";
    size_t used = (size_t)snprintf(text, sizeof text, "block width %d has no %s kernel of its own; those of the widths",
                                   key->width / reals, ctx->isa->name);
    for (const wisp__spmmv_entry *e = ctx->isa->spmmv[combo]; e->width && used < sizeof text; e++) {
        if (e->width % reals) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %d", between, e->width / reals);
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
    const int64_t rows_weight = wisp__cpu_row_cut.row_weight;
    if (part >= parts) return g->blocks;
    const int64_t total = wisp__int_at(g->weight, g->weight_int, g->chunks) + rows_weight * g->chunks;
    const int64_t target = wisp__split(total, parts, part);
    int64_t lo = 0, hi = g->blocks;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2, chunk = WISP__MIN(mid * g->chunks_per_block, g->chunks);
        if (wisp__int_at(g->weight, g->weight_int, chunk) + rows_weight * chunk < target)
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
    if (status != WISP_OK) return status;
    wisp__cpu_add_up(ctx, false, partial, grid->blocks, dot_size);
    memcpy(dot, partial, dot_size * sizeof *dot);
    return WISP_OK;
}

const wisp__backend wisp__backend_cpu = {
    .name = "cpu",
    .kinds = WISP__ALL_KINDS,
    .describe = cpu_describe,
    .open = cpu_open,
    .close = cpu_close,
    .tuned = &wisp__cpu_tuned,
    .facts = wisp__cpu_facts,
    .alloc = wisp_alloc,
    .alloc_raw = wisp__alloc_raw,
    .free = wisp_free,
    .take = cpu_take,
    .prepare = wisp__cpu_prepare,
    .release = wisp__cpu_release,
    .foresee = wisp__cpu_foresee,
    .borrow = cpu_borrow,
    .lend = cpu_lend,
    .unlend = cpu_unlend,
    .read = cpu_read,
    .write = cpu_write,
    .finish = cpu_finish,
    .find_spmmv = cpu_find_spmmv,
    .host_memory = true,
    .launch_spmmv = cpu_launch_spmmv,
    .finish_dots = cpu_finish_dots,
    .reserve_steps = wisp__cpu_reserve_steps,
    .launch_steps = wisp__cpu_launch_steps,
    .launch_half = wisp__cpu_launch_half,
    .fill = wisp__cpu_fill,
    .random = wisp__cpu_random,
    .put = wisp__cpu_put,
    .get = wisp__cpu_get,
    .copy_columns = wisp__cpu_copy_columns,
    .pack = wisp__cpu_pack,
    .unpack = wisp__cpu_unpack,
    .axpby = wisp__cpu_axpby,
    .dot = wisp__cpu_dot,
    .fuse = wisp__cpu_fuse,
    .gram = wisp__cpu_gram,
    .join = wisp__cpu_join,
    .update = wisp__cpu_update,
    .scalars = wisp__cpu_scalars,
};
