/* GHOST's binary CRS file in: a header of 44 bytes, row pointers, columns, values; of either endianness. Each rank
   reads its own rows. A rank that fails has a lower place in the file than those above it, so that the lowest one's
   message is that of the whole file; therefore all ranks finish each part of the file before any goes on. */
#include "../comm/comm.h"
#include "../base/system.h"
#include "ghost.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    wisp_ctx *ctx;
    const wisp__input *in;
    bool swap;
    int64_t base; /* of the column numbers */
    wisp_symmetry symmetry;
    size_t real;            /* bytes of a float or a double */
    int64_t nnz;            /* of the file */
    int64_t col_at, val_at; /* bytes before columns and values: of the file, then of this rank's rows */
    wisp__crs *crs;
    int64_t begin, end; /* entries of the slab at hand */
    atomic_llong bad;   /* the first entry that is wrong */
    atomic_int failed;  /* errno of a read, or -1 if the file became shorter */
} ghost;

static wisp_status complain(const ghost *g, int64_t byte, const char *what, int64_t value)
{
    return wisp_ctx_failf(g->ctx, WISP_ERR_FORMAT, "%s: byte %lld: %s (it is %lld)", g->in->path, (long long)byte, what,
                          (long long)value);
}

static wisp_status cannot_read(const ghost *g, int error)
{
    char text[128];
    const char *why = error < 0 ? "the file became shorter meanwhile" : wisp__error_text(error, text, sizeof text);
    return wisp_ctx_failf(g->ctx, WISP_ERR_IO, "%s: cannot read: %s", g->in->path, why);
}

int wisp__read_at(const wisp__input *in, void *to, size_t bytes, int64_t at)
{
    if (in->fd < 0) {
        if (bytes > 0) memcpy(to, (const char *)in->data + at, bytes);
        return 0;
    }
    for (char *p = to; bytes > 0;) {
        ssize_t n = pread(in->fd, p, bytes, at);
        if (n == 0) return -1;
        if (n < 0 && errno != EINTR) return errno;
        if (n < 0) continue;
        p += n;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void swap_all(void *data, size_t count, size_t size)
{
    char *p = data;
    for (size_t i = 0; i < count; i++, p += size) {
        uint64_t x = 0;
        uint32_t y = 0;
        if (size == 8) {
            memcpy(&x, p, 8);
            x = __builtin_bswap64(x);
            memcpy(p, &x, 8);
        } else {
            memcpy(&y, p, 4);
            y = __builtin_bswap32(y);
            memcpy(p, &y, 4);
        }
    }
}

static int32_t field32(const ghost *g, const unsigned char *head, int at)
{
    int32_t x;
    memcpy(&x, head + at, 4);
    if (g->swap) swap_all(&x, 1, 4);
    return x;
}

static int64_t field64(const ghost *g, const unsigned char *head, int at)
{
    int64_t x;
    memcpy(&x, head + at, 8);
    if (g->swap) swap_all(&x, 1, 8);
    return x;
}

static wisp_status read_kinds(ghost *g, const unsigned char *head)
{
    static const unsigned char little[4] = {0, 0, 0, 0}, big[4] = {0, 0, 0, 1}, also_big[4] = {1, 0, 0, 0};
    bool is_big = memcmp(head, big, 4) == 0 || memcmp(head, also_big, 4) == 0;
    if (!is_big && memcmp(head, little, 4) != 0)
        return complain(g, 0, "the endianness must be 0 (little) or 1 (big)", field32(g, head, 0));
    g->swap = is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    int32_t version = field32(g, head, 4), symmetry = field32(g, head, 12), type = field32(g, head, 16);
    if (version != 1) return complain(g, 4, "the version must be 1", version);
    g->base = field32(g, head, 8);
    if (g->base != 0 && g->base != 1) return complain(g, 8, "the index base must be 0 or 1", g->base);
    switch (symmetry) {
    case GHOST_GENERAL: g->symmetry = WISP_SYM_GENERAL; break;
    case GHOST_SYMMETRIC: g->symmetry = WISP_SYM_SYMMETRIC; break;
    case GHOST_SKEW: g->symmetry = WISP_SYM_SKEW; break;
    case GHOST_HERMITIAN: g->symmetry = WISP_SYM_HERMITIAN; break;
    default:
        return complain(g, 12, "the symmetry must be 1 general, 2 symmetric, 4 skew-symmetric or 8 hermitian",
                        symmetry);
    }
    switch (type) {
    case GHOST_FLOAT | GHOST_REAL: g->crs->type = WISP_S; break;
    case GHOST_DOUBLE | GHOST_REAL: g->crs->type = WISP_D; break;
    case GHOST_FLOAT | GHOST_COMPLEX: g->crs->type = WISP_C; break;
    case GHOST_DOUBLE | GHOST_COMPLEX: g->crs->type = WISP_Z; break;
    default: return complain(g, 16, "the type must be 1 (float) or 2 (double) plus 4 (real) or 8 (complex)", type);
    }
    g->real = type & GHOST_FLOAT ? 4 : 8;
    return WISP_OK;
}

static wisp_status read_sizes(ghost *g, const unsigned char *head)
{
    wisp__crs *a = g->crs;
    a->rows = field64(g, head, 20), a->cols = field64(g, head, 28), g->nnz = field64(g, head, 36);
    if (a->rows < 0) return complain(g, 20, "the number of rows is negative", a->rows);
    if (a->cols < 0) return complain(g, 28, "the number of columns is negative", a->cols);
    if (g->nnz < 0) return complain(g, 36, "the number of nonzeros is negative", g->nnz);
    if (g->symmetry != WISP_SYM_GENERAL && a->rows != a->cols)
        return complain(g, 28, "as many columns as rows are needed for a symmetric matrix", a->cols);
    wisp_status status = wisp__check_size(g->ctx, g->in->path, ": byte 20", a->rows, a->cols);
    if (status != WISP_OK) return status;
    __int128 cols_at = GHOST_HEADER + 8 * ((__int128)a->rows + 1), vals_at = cols_at + 8 * (__int128)g->nnz;
    __int128 size = vals_at + (__int128)g->nnz * (int64_t)wisp_type_size(a->type);
    if (size > g->in->size)
        return wisp_ctx_failf(
            g->ctx, WISP_ERR_FORMAT,
            "%s: byte %lld: the file ends here, too early for its %lld rows and %lld nonzeros (truncated?)",
            g->in->path, (long long)g->in->size, (long long)a->rows, (long long)g->nnz);
    if (size < g->in->size)
        return wisp_ctx_failf(g->ctx, WISP_ERR_FORMAT, "%s: byte %lld: %lld bytes follow the last value", g->in->path,
                              (long long)size, (long long)(g->in->size - size));
    g->col_at = (int64_t)cols_at;
    g->val_at = (int64_t)vals_at;
    return WISP_OK;
}

/* Row pointers of this rank from those of the file, which begin with `first`. Compared before that is taken off, which
   cannot overflow then. */
static wisp_status check_rowptr(const ghost *g, int64_t first)
{
    wisp__crs *a = g->crs;
    for (int64_t i = 0; i <= a->local; i++) {
        int64_t at = GHOST_HEADER + 8 * (a->first + i), before = i == 0 ? 0 : a->rowptr[i - 1];
        if (a->rowptr[i] < first || a->rowptr[i] - first < before)
            return complain(g, at, "the row pointers fall", a->rowptr[i]);
        if (a->rowptr[i] - first > g->nnz) return complain(g, at, "a row pointer beyond the nonzeros", a->rowptr[i]);
        a->rowptr[i] -= first;
        if (i == 0) continue;
        if (a->rowptr[i] - before > INT_MAX) return complain(g, at, "a row of more than 2^31 entries", a->rowptr[i]);
        a->max_row = WISP__MAX(a->max_row, a->rowptr[i] - before);
    }
    if (a->first + a->local == a->rows && a->rowptr[a->local] != g->nnz)
        return complain(g, GHOST_HEADER + 8 * a->rows, "the last row pointer is not the number of nonzeros",
                        a->rowptr[a->local]);
    return WISP_OK;
}

static wisp_status read_rowptr(ghost *g)
{
    wisp__crs *a = g->crs;
    int64_t first, begin;
    a->listed = a->local;
    wisp_status status = wisp__alloc_raw(g->ctx, &a->rowptr, (size_t)a->local + 1, 8);
    if (status != WISP_OK) return status;
    int error = wisp__read_at(g->in, &first, 8, GHOST_HEADER);
    if (!error) error = wisp__read_at(g->in, a->rowptr, ((size_t)a->local + 1) * 8, GHOST_HEADER + 8 * a->first);
    if (error) return cannot_read(g, error);
    if (g->swap) swap_all(&first, 1, 8);
    if (g->swap) swap_all(a->rowptr, (size_t)a->local + 1, 8);
    if (first != 0 && first != g->base) return complain(g, GHOST_HEADER, "the first row pointer must be 0", first);
    if ((status = check_rowptr(g, first)) != WISP_OK) return status;
    begin = a->rowptr[0];
    for (int64_t i = 0; i <= a->local; i++) a->rowptr[i] -= begin;
    a->nnz = a->rowptr[a->local];
    g->col_at += 8 * begin;
    g->val_at += begin * (int64_t)wisp_type_size(a->type);
    return WISP_OK;
}

static void note_bad(ghost *g, int64_t entry)
{
    long long bad = atomic_load(&g->bad);
    while (entry < bad && !atomic_compare_exchange_weak(&g->bad, &bad, entry)) {}
}

/* A thread's part of a slab of entries. */
static void read_part(void *arg, int thread, int threads)
{
    enum { SOME = 4096 };
    ghost *g = arg;
    wisp__crs *a = g->crs;
    int64_t n = g->end - g->begin, begin = g->begin + wisp__split(n, threads, thread);
    int64_t end = g->begin + wisp__split(n, threads, thread + 1), buffer[SOME];
    size_t size = wisp_type_size(a->type);
    for (int64_t k = begin; k < end; k += SOME) {
        size_t some = (size_t)WISP__MIN((int64_t)SOME, end - k);
        char *val = (char *)a->val + (size_t)k * size;
        int error = wisp__read_at(g->in, buffer, some * 8, g->col_at + 8 * k);
        if (!error) error = wisp__read_at(g->in, val, some * size, g->val_at + k * (int64_t)size);
        if (error) {
            atomic_store(&g->failed, error);
            return;
        }
        if (g->swap) {
            swap_all(buffer, some, 8);
            swap_all(val, some * size / g->real, g->real);
        }
        for (size_t i = 0; i < some; i++) {
            if (buffer[i] < g->base || buffer[i] - g->base >= a->cols) {
                note_bad(g, k + (int64_t)i);
                return;
            }
            a->col[k + (int64_t)i] = (int32_t)(buffer[i] - g->base);
        }
    }
}

static wisp_status read_entries(ghost *g)
{
    enum { SLAB = 1 << 22 };
    wisp__crs *a = g->crs;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(g->ctx, &a->col, (size_t)a->nnz, sizeof *a->col));
    WISP_TRY(wisp__alloc_raw(g->ctx, &a->val, (size_t)a->nnz, wisp_type_size(a->type)));
    for (g->begin = 0; g->begin < a->nnz; g->begin = g->end) {
        WISP_TRY(wisp_ctx_step(g->ctx, "reading", (double)g->begin / (double)a->nnz, 0));
        g->end = WISP__MIN(a->nnz, g->begin + SLAB);
        atomic_store(&g->bad, LLONG_MAX);
        atomic_store(&g->failed, 0);
        wisp__run_some(g->ctx->team, g->end - g->begin < 10000, read_part, g);
        int error = atomic_load(&g->failed);
        if (error) return cannot_read(g, error);
        int64_t bad = atomic_load(&g->bad), col = 0;
        if (bad == LLONG_MAX) continue;
        error = wisp__read_at(g->in, &col, 8, g->col_at + 8 * bad);
        if (error) return cannot_read(g, error);
        if (g->swap) swap_all(&col, 1, 8);
        return wisp_ctx_failf(g->ctx, WISP_ERR_FORMAT,
                              "%s: byte %lld: column %lld is out of range (%lld columns from %lld)", g->in->path,
                              (long long)(g->col_at + 8 * bad), (long long)col, (long long)a->cols, (long long)g->base);
    }
    status = wisp_ctx_step(g->ctx, "reading", 1, 0);
out:
    return status;
}

/* 1: below the diagonal, -1: above it, 0: on it. */
static int side_of(const wisp__crs *a, int64_t i, int64_t k)
{
    const int64_t row = a->first + i, col = a->col[k];
    return (row > col) - (row < col);
}

/* Which half the file stores, by its first entry off the diagonal in the rows of lower ranks; 0: there is none. */
static wisp_status find_half(const ghost *g, int *half)
{
    const wisp__crs *a = g->crs;
    wisp_ctx *ctx = g->ctx;
    int *all = NULL, mine = 0;
    wisp_status status;
    *half = 0;
    if (ctx->ranks == 1) return WISP_OK;
    for (int64_t i = 0; i < a->local && !mine; i++)
        for (int64_t k = a->rowptr[i]; k < a->rowptr[i + 1] && !mine; k++) mine = side_of(a, i, k);
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    for (int r = 0; r < ctx->rank && !*half; r++) *half = all[r];
out:
    wisp_free(ctx, all);
    return status;
}

static wisp_status check_diagonal(const ghost *g, int64_t i, int64_t k)
{
    const wisp__crs *a = g->crs;
    const size_t size = wisp_type_size(a->type);
    const wisp_scalar v = wisp__load(a->type, (const char *)a->val + (size_t)k * size);
    const int64_t at = g->val_at + k * (int64_t)size;
    if (g->symmetry == WISP_SYM_SKEW && !(v.re == 0 && v.im == 0))
        return complain(g, at, "a diagonal entry that is not zero (the matrix is skew-symmetric), row", a->first + i);
    if (g->symmetry == WISP_SYM_HERMITIAN && v.im != 0)
        return complain(g, at, "a diagonal entry with an imaginary part (the matrix is hermitian), row", a->first + i);
    return WISP_OK;
}

/* Either half, but not both. */
static wisp_status check_half(const ghost *g, int side)
{
    const wisp__crs *a = g->crs;
    wisp_status status = WISP_OK;
    for (int64_t i = 0; i < a->local && status == WISP_OK; i++)
        for (int64_t k = a->rowptr[i]; k < a->rowptr[i + 1] && status == WISP_OK; k++) {
            const int now = side_of(a, i, k);
            if (side * now < 0)
                return complain(g, g->col_at + 8 * k, "a symmetric file stores one half, and this is in the other",
                                a->col[k]);
            if (now)
                side = now;
            else
                status = check_diagonal(g, i, k);
        }
    return status;
}

/* The entries in runs, as the builder takes them. */
static wisp_status half_to_coo(const ghost *g, wisp__coo *coo)
{
    enum { RUN = 1 << 16 };
    const wisp__crs *a = g->crs;
    const size_t size = wisp_type_size(a->type);
    int64_t i = 0;
    for (int64_t begin = 0; begin < a->nnz; begin += RUN) {
        wisp__run run;
        const int64_t count = WISP__MIN((int64_t)RUN, a->nnz - begin);
        wisp_status status = wisp__run_alloc(g->ctx, &run, a->type, count);
        if (status != WISP_OK) return status;
        run.count = count;
        memcpy(run.val, (const char *)a->val + (size_t)begin * size, (size_t)count * size);
        memcpy(run.col, a->col + begin, (size_t)count * sizeof *a->col);
        for (int64_t k = 0; k < count; k++) {
            while (a->rowptr[i + 1] <= begin + k) i++;
            run.row[k] = (int32_t)(a->first + i);
        }
        if ((status = wisp__coo_add(g->ctx, coo, run)) != WISP_OK) return status;
    }
    return WISP_OK;
}

static wisp_status expand(ghost *g)
{
    const wisp__crs shape = wisp__crs_of_rank(g->ctx, NULL, g->crs->type, g->crs->rows, g->crs->cols);
    wisp__coo coo = {0};
    wisp__deal deal = {0};
    int side;
    wisp_status status;
    WISP_TRY(find_half(g, &side));
    WISP_TRY(check_half(g, side));
    WISP_TRY(half_to_coo(g, &coo));
    wisp__crs_free(g->crs);
    g->crs = NULL;
    if (g->ctx->ranks > 1) {
        WISP_TRY(wisp__deal_open(&deal, g->ctx, NULL, shape.type, shape.rows, true));
        WISP_TRY(wisp__deal_all(&deal, &coo));
    }
    status = wisp__crs_build(&g->crs, &shape, &coo, g->symmetry, g->in->path);
out:
    wisp__deal_close(&deal);
    wisp__coo_free(g->ctx, &coo);
    return status;
}

/* A failure of any rank in what is through now. */
static wisp_status wait_for_all(const ghost *g)
{
    double none = 0;
    return g->ctx->comm->sum(g->ctx, &none, 1);
}

wisp_status wisp__read_crs(wisp_src *src, wisp_ctx *ctx, const wisp__input *in)
{
    memset(src, 0, sizeof *src);
    ghost g = {.ctx = ctx, .in = in};
    unsigned char head[GHOST_HEADER];
    if (in->size < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: a .crs file cannot be read from a pipe (copy it to a file)",
                              in->path);
    if (in->size < GHOST_HEADER)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: byte %lld: the file ends within its header of %d bytes",
                              in->path, (long long)in->size, GHOST_HEADER);
    wisp_status status = wisp_alloc(ctx, &g.crs, 1, sizeof *g.crs);
    if (status != WISP_OK) return status;
    int error = wisp__read_at(in, head, GHOST_HEADER, 0);
    if (error) {
        status = cannot_read(&g, error);
        goto out;
    }
    WISP_TRY(read_kinds(&g, head));
    WISP_TRY(read_sizes(&g, head));
    *g.crs = wisp__crs_of_rank(ctx, NULL, g.crs->type, g.crs->rows, g.crs->cols);
    WISP_TRY(read_rowptr(&g));
    WISP_TRY(wait_for_all(&g));
    WISP_TRY(read_entries(&g));
    WISP_TRY(wait_for_all(&g));
    if (g.symmetry != WISP_SYM_GENERAL) WISP_TRY(expand(&g));
    WISP_TRY(wisp__crs_source_of_ranks(src, g.crs));
    return WISP_OK;
out:
    wisp__crs_free(g.crs);
    return status;
}
