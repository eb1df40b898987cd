/* The yardstick: a KPM step as one would write it plainly, except that it is fused and works on block rows. */
#include "reference.h"
#include "../system.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "config.h"
#include "reference_kernel.h"

struct bench_reference {
    wisp_ctx *ctx;
    reference_fn fn;
    reference_params p;
    int64_t rows;
    int threads, width, parts; /* parts: doubles in an element */
    int64_t *rowptr;
    int32_t *col;
    double *val, *v, *w;
    double *partial; /* [threads][2][width], each thread's on cache lines of its own */
    size_t partial_size;
};

/* Threads take equal numbers of rows: share i begins here, and ends where share i + 1 begins. */
static int64_t share_begin(const bench_reference *r, int64_t i)
{
    return (int64_t)((__int128)r->rows * i / r->threads);
}

/* All zero, on small pages; those that are the array's alone no thread has touched yet, for wisp_alloc's are given
   back. */
static wisp_status alloc_small(wisp_ctx *ctx, void *pointer_to_pointer, size_t count, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const wisp_status status = wisp_alloc(ctx, pointer_to_pointer, count, size);
    if (status != WISP_OK) return status;
    char *p = *(char **)pointer_to_pointer;
    const size_t skip = (page - (uintptr_t)p % page) % page, bytes = count * size;
    if (bytes < skip + page) return WISP_OK;
    const size_t whole = (bytes - skip) / page * page;
    system_huge_pages(p + skip, whole, false);
    madvise(p + skip, whole, MADV_DONTNEED);
    return WISP_OK;
}

/* ---- the matrix ---------------------------------------------------------------------------------- */

typedef struct {
    int64_t col;
    int at; /* where the source wrote it */
} entry;

/* A row as the source gives it, for each thread: [threads][max_row]. */
typedef struct {
    bench_reference *r;
    const wisp_src *src;
    int64_t *col;
    double *val;
    entry *entry;
    atomic_bool failed;
} row_reader;

static int by_column(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return x->at - y->at; /* duplicates are added in the order given */
}

static void count_rows(void *arg, int64_t share, int part)
{
    row_reader *f = arg;
    (void)part;
    for (int64_t row = share_begin(f->r, share); row < share_begin(f->r, share + 1); row++) {
        const int n = f->src->row(f->src->arg, row, NULL, NULL);
        if (n < 0 || n > f->src->max_row) atomic_store(&f->failed, true);
        f->r->rowptr[row + 1] = n;
    }
}

/* The n entries of a row, sorted. What merged duplicates leave behind the last one is zero times its column. */
static void store_row(const bench_reference *r, int64_t row, const entry *e, const double *val, int n)
{
    const int parts = r->parts;
    int32_t *col = r->col + r->rowptr[row];
    double *to = r->val + r->rowptr[row] * parts - parts;
    for (int k = 0, m = 0; k < n; k++) {
        const bool next = k == 0 || e[k].col != e[k - 1].col;
        if (next) {
            to += parts;
            col[m++] = (int32_t)e[k].col;
        }
        for (int p = 0; p < parts; p++) {
            const double v = val[e[k].at * parts + p];
            to[p] = next ? v : to[p] + v;
        }
        if (k == n - 1)
            for (; m < n; m++) col[m] = (int32_t)e[k].col;
    }
}

static void fill_rows(void *arg, int64_t share, int part)
{
    row_reader *f = arg;
    const bench_reference *r = f->r;
    const wisp_src *src = f->src;
    int64_t *col = f->col + part * src->max_row;
    double *val = f->val + part * src->max_row * r->parts;
    entry *e = f->entry + part * src->max_row;
    for (int64_t row = share_begin(r, share); row < share_begin(r, share + 1); row++) {
        const int n = src->row(src->arg, row, col, val);
        bool ok = n == r->rowptr[row + 1] - r->rowptr[row], sorted = true;
        for (int k = 0; ok && k < n; k++) {
            e[k] = (entry){col[k], k};
            ok = col[k] >= 0 && col[k] < r->rows;
            sorted = sorted && (k == 0 || col[k] >= col[k - 1]);
        }
        if (!sorted) qsort(e, (size_t)n, sizeof *e, by_column);
        if (ok)
            store_row(r, row, e, val, n);
        else
            atomic_store(&f->failed, true);
    }
}

/* Each thread fills, and so places, the rows that it will multiply. */
static wisp_status read_matrix(bench_reference *r, const wisp_src *src)
{
    const size_t rows = (size_t)r->rows, size = (size_t)r->parts * sizeof(double);
    const size_t room = (size_t)r->threads * (size_t)src->max_row;
    row_reader f = {.r = r, .src = src};
    wisp_status status;
    WISP_TRY(wisp_alloc(r->ctx, &f.col, room, sizeof *f.col));
    WISP_TRY(wisp_alloc(r->ctx, &f.val, room, size));
    WISP_TRY(wisp_alloc(r->ctx, &f.entry, room, sizeof *f.entry));
    WISP_TRY(wisp_alloc(r->ctx, &r->rowptr, rows + 1, sizeof *r->rowptr));
    WISP_TRY(wisp_ctx_each(r->ctx, r->threads, count_rows, &f));
    if (!f.failed) {
        for (size_t i = 0; i < rows; i++) r->rowptr[i + 1] += r->rowptr[i];
        const size_t entries = (size_t)r->rowptr[rows];
        WISP_TRY(alloc_small(r->ctx, &r->col, entries, sizeof *r->col));
        WISP_TRY(alloc_small(r->ctx, &r->val, entries, size));
        WISP_TRY(wisp_ctx_each(r->ctx, r->threads, fill_rows, &f));
    }
    if (f.failed)
        status = wisp_ctx_failf(r->ctx, WISP_ERR_CALLBACK,
                                "the row callback failed, or its rows are not those of "
                                "a matrix; wisp_mat_create says which one");
out:
    wisp_free(r->ctx, f.col);
    wisp_free(r->ctx, f.val);
    wisp_free(r->ctx, f.entry);
    return status;
}

/* ---- the vectors --------------------------------------------------------------------------------- */

static void touch_vectors(void *arg, int64_t share, int part)
{
    const bench_reference *r = arg;
    const int64_t unit = r->width * r->parts, begin = share_begin(r, share) * unit;
    const size_t bytes = (size_t)(share_begin(r, share + 1) * unit - begin) * sizeof(double);
    (void)part;
    memset(r->v + begin, 0, bytes);
    memset(r->w + begin, 0, bytes);
}

static wisp_status make_vectors(bench_reference *r, wisp_type type, uint64_t seed)
{
    const size_t unit = (size_t)(r->width * r->parts) * sizeof(double);
    wisp_map *map = NULL;
    wisp_blk *x = NULL;
    wisp_status status;
    WISP_TRY(alloc_small(r->ctx, &r->v, (size_t)r->rows, unit));
    WISP_TRY(alloc_small(r->ctx, &r->w, (size_t)r->rows, unit));
    WISP_TRY(wisp_ctx_each(r->ctx, r->threads, touch_vectors, r));
    WISP_TRY(wisp_map_create(&map, r->ctx, r->rows));
    WISP_TRY(wisp_blk_borrow(&x, r->ctx, map, type, r->width, r->v, r->width));
    WISP_TRY(wisp_blk_fill_random(x, WISP_RANDOM_TRACE, seed, 0, 0));
out:
    wisp_blk_free(x);
    wisp_map_free(map);
    return status;
}

/* ---- the step ------------------------------------------------------------------------------------ */

/* The kernels for the instruction set that the context's own kernels have. */
#define DECLARE(isa) extern reference_table reference_##isa;
#define NAMED(isa) {#isa, reference_##isa},
WISP_ISA_LIST(DECLARE)
static const struct {
    const char *isa;
    const reference_fn (*fn)[REFERENCE_WIDTHS];
} kernels[] = {WISP_ISA_LIST(NAMED)};

static reference_fn find_kernel(const wisp_ctx *ctx, wisp_type type, int log_width)
{
    size_t i = 0;
    while (strcmp(kernels[i].isa, wisp_ctx_isa(ctx))) i++;
    return kernels[i].fn[wisp_type_is_complex(type)][log_width];
}

wisp_status bench_reference_open(bench_reference **out, wisp_ctx *ctx, const wisp_src *src, int width, uint64_t seed)
{
    bench_reference *r = NULL;
    wisp_status status;
    int n = 0;
    *out = NULL;
    while (n < REFERENCE_WIDTHS && 1 << n != width) n++;
    if (n == REFERENCE_WIDTHS || (src->type != WISP_D && src->type != WISP_Z) || src->rows != src->cols)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "the reference is for square matrices in double precision and widths 1, 2, 4, 8, 16, 32");
    WISP_TRY(wisp_alloc(ctx, &r, 1, sizeof *r));
    r->ctx = ctx;
    r->rows = src->rows;
    r->threads = wisp_ctx_threads(ctx);
    r->width = width;
    r->parts = 1 + wisp_type_is_complex(src->type);
    r->fn = find_kernel(ctx, src->type, n);
    r->partial_size = (2 * (size_t)width + 7) / 8 * 8;
    WISP_TRY(wisp_alloc(ctx, &r->partial, (size_t)r->threads * r->partial_size, sizeof *r->partial));
    WISP_TRY(read_matrix(r, src));
    WISP_TRY(make_vectors(r, src->type, seed));
    *out = r;
    r = NULL;
out:
    bench_reference_close(r);
    return status;
}

static void step_share(void *arg, int64_t share, int part)
{
    const bench_reference *r = arg;
    double *dot = r->partial + (size_t)share * r->partial_size;
    (void)part;
    memset(dot, 0, r->partial_size * sizeof *dot);
    r->fn(&r->p, share_begin(r, share), share_begin(r, share + 1), dot);
}

wisp_status bench_reference_step(bench_reference *r, double alpha, double center, double beta, wisp_scalar *dot)
{
    r->p = (reference_params){r->rowptr, r->col, r->val, r->v, r->w, alpha, center, beta};
    const wisp_status status = wisp_ctx_each(r->ctx, r->threads, step_share, r);
    memset(dot, 0, 2 * (size_t)r->width * sizeof *dot);
    for (int t = 0; t < r->threads; t++)
        for (int j = 0; j < 2 * r->width; j++) dot[j].re += r->partial[(size_t)t * r->partial_size + (size_t)j];
    double *v = r->v;
    r->v = r->w;
    r->w = v;
    return status;
}

void bench_reference_close(bench_reference *r)
{
    if (!r) return;
    wisp_ctx *ctx = r->ctx;
    void *all[] = {r->rowptr, r->col, r->val, r->v, r->w, r->partial, r};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) wisp_free(ctx, all[i]);
}
