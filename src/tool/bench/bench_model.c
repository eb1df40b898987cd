/* The time that a step should take: the refined roofline model of the KPM paper, section V. Its two ceilings are the
   memory's, for the bytes that must come from there, and the cache's, which is the measured speed of the same kernel
   on a matrix so small that all is in cache. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

/* ---- a small matrix like a large one ------------------------------------------------------------- */

/* Rows first .. first + rows - 1 of a source. Columns beyond are wrapped around, so that the rows keep their
   lengths; or left out, so that half of the piece is still the mirror of its other half, and definite. */
typedef struct {
    const wisp_src *src;
    int64_t first, rows;
    bool wrap;
} piece_rows;

/* The entries of one row, with columns of the piece; the counting call needs room of its own for them. */
static int piece_entries(const piece_rows *p, int64_t row, int64_t *col, char *val)
{
    const size_t size = wisp_type_size(p->src->type);
    const int n = p->src->row(p->src->arg, p->first + row, col, val);
    int k = 0;
    for (int i = 0; i < n; i++) {
        int64_t c = (col[i] - p->first) % p->rows;
        if (c < 0) c += p->rows;
        if (!p->wrap && c != col[i] - p->first) continue;
        memmove(val + (size_t)k * size, val + (size_t)i * size, size);
        col[k++] = c;
    }
    return n < 0 ? n : k;
}

static int piece_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const piece_rows *p = arg;
    if (col) return piece_entries(p, row, col, val);
    if (p->wrap) return p->src->row(p->src->arg, p->first + row, NULL, NULL);
    const size_t most = (size_t)p->src->max_row + 1;
    col = malloc(most * (sizeof *col + wisp_type_size(p->src->type)));
    const int n = col ? piece_entries(p, row, col, (char *)(col + most)) : -1;
    free(col);
    return n;
}

/* Bytes that a step touches for one row, about. */
static double bytes_per_row(wisp_ctx *ctx, const bench_case *c, const wisp_src *src)
{
    enum { SAMPLE = 64 };
    double entries = 0;
    for (int i = 0; i < SAMPLE && src->rows > 0; i++) {
        const int n = src->row(src->arg, (int64_t)((double)src->rows * i / SAMPLE), NULL, NULL);
        entries += (double)(n > 0 ? n : 0) / SAMPLE;
    }
    const double blocks = c->op == BENCH_SOLVE ? bench_solve_blocks(ctx, c) : bench_kind_of(c)->third ? 3 : 2;
    return entries * (double)(wisp_type_size(src->type) + sizeof(int32_t)) +
           blocks * c->width * (double)wisp_type_size(c->type);
}

/* Others may use the cache, too: of a quarter, part was often gone (topi, widths 16 and 32: 1.2 times as slow). */
double bench_piece_bytes(const wisp_machine *m)
{
    const int64_t cache = m->cache_bytes[WISP_L3] > 0 ? m->cache_bytes[WISP_L3] : m->cache_bytes[WISP_L2];
    return cache > 0 ? 0.125 * (double)cache : 4e6;
}

wisp_status bench_piece_open(bench_piece *p, const bench_runner *like, wisp_ctx *ctx, const wisp_src *src,
                             double cache_bytes)
{
    enum { LEAST = 64 };
    int64_t rows = (int64_t)(cache_bytes / bytes_per_row(ctx, &like->what, src)) | 1;
    if (rows < LEAST) rows = LEAST;
    if (rows > (src->rows + 1) / 2) rows = (src->rows + 1) / 2;
    const bool wrap = like->info.format != WISP_FORMAT_HERMITIAN && like->what.format != WISP_FORMAT_HERMITIAN &&
                      like->what.op != BENCH_SOLVE;
    piece_rows piece = {src, (src->rows - rows) / 2 / LEAST * LEAST, rows, wrap};
    const wisp_src small = {
        .rows = rows, .cols = rows, .max_row = src->max_row, .type = src->type, .row = piece_row, .arg = &piece};
    *p = (bench_piece){.run = {.what = like->what, .center = like->center, .halfwidth = like->halfwidth}};
    p->run.what.order = WISP_ROWS_NATURAL; /* any is as good in cache */
    p->run.what.powers = 1;                /* and as many steps at a time */
    if (like->info.format != WISP_FORMAT_DEFAULT) p->run.what.format = like->info.format;
    wisp_status status;
    WISP_TRY(bench_open(&p->run, ctx, &small));
    p->scale = (double)src->rows / (double)(rows > 0 ? rows : 1);
    WISP_TRY(bench_find_steps(&p->run, measure_limit(2e-3), &p->steps));
out:
    return status;
}

/* After a step that brings all into cache; the least of a few times, for they are so short that what disturbs one of
   them may not meet the step on the whole matrix. */
wisp_status bench_piece_time(bench_piece *p, double *seconds)
{
    enum { TIMES = 3 };
    double least = 0;
    wisp_status status = bench_time(&p->run, 1, seconds);
    for (int i = 0; i < TIMES && status == WISP_OK; i++) {
        status = bench_time(&p->run, p->steps, seconds);
        if (i == 0 || *seconds < least) least = *seconds;
    }
    *seconds = p->scale * least;
    return status;
}

void bench_piece_close(bench_piece *p) { bench_close(&p->run); }

/* ---- the model ----------------------------------------------------------------------------------- */

double bench_cache_gbs(const wisp_machine *m, double bytes)
{
    for (int l = WISP_L2; l <= WISP_L3; l++) {
        const int sharing = m->cache_cores[l] > 0 ? m->cache_cores[l] : 1;
        const double caches = (double)((m->threads + sharing - 1) / sharing);
        if (m->gbs[WISP_LOAD][l][1] > 0 && bytes < 0.8 * caches * (double)m->cache_bytes[l])
            return m->gbs[WISP_LOAD][l][1];
    }
    return 0;
}

/* Whether the kernel asks for the matrix ahead, which is most of what it streams. */
static bool asks_ahead(const bench_runner *r)
{
    return r->what.variant != VARIANT_REFERENCE && r->what.variant != VARIANT_NAIVE && r->what.width == 1 &&
           r->info.format != WISP_FORMAT_HERMITIAN && (double)r->info.bytes > r->write_bytes;
}

/* One step, as a sweep of its own. */
static bench_prediction predict_sweep(const bench_runner *r, const bench_limits *l)
{
    const double again = r->gather_excess > 1 ? r->gather_excess - 1 : 0;
    const double reads = r->read_bytes + again * r->gather_bytes;
    const double memory = wisp_model_memory(r->ctx, reads, r->write_bytes, r->stores_past, l->load_gbs);
    const bool in_cache = l->cache_gbs > 0;
    const struct {
        const char *limit;
        double seconds;
    } ceilings[] = {
        {"memory", in_cache ? 0 : memory},
        {"cache", in_cache ? 1e-9 * r->cost.bytes / l->cache_gbs : 0},
        {"core", l->core_seconds},
        {"gemm", l->gemm_gflops > 0 ? 1e-9 * r->cost.flops / l->gemm_gflops : 0},
        {"fma", 1e-9 * r->cost.flops / l->fma_gflops},
    };
    bench_prediction best = {0, "memory"};
    for (size_t i = 0; i < sizeof ceilings / sizeof ceilings[0]; i++)
        if (ceilings[i].seconds > best.seconds) best = (bench_prediction){ceilings[i].seconds, ceilings[i].limit};
    if (!in_cache && l->core_seconds > 0)
        best.seconds = wisp_model_overlap(r->ctx, memory, l->core_seconds, asks_ahead(r));
    return best;
}

/* Of p interleaved steps (of a call of more, maybe) one has its data from memory, the others from cache: 1/P =
   (1/p)/P_memory + (1 - 1/p)/P_cache (Panzlaff 2024, eq. 4.8, whose text lost the first factor). */
bench_prediction bench_predict(const bench_runner *r, const bench_limits *l)
{
    const bench_prediction sweep = predict_sweep(r, l);
    if (r->depth < 2 || l->cache_gbs > 0) return sweep;
    const double fma = 1e-9 * r->cost.flops / l->fma_gflops, first = 1.0 / r->depth;
    const bool core = l->core_seconds > fma;
    const double memory = first * sweep.seconds, cache = (1 - first) * (core ? l->core_seconds : fma);
    return (bench_prediction){memory + cache, memory > cache ? sweep.limit : core ? "core" : "fma"};
}
