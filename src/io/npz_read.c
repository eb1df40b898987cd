/* Matrices of scipy.sparse.save_npz in: compressed rows or columns, or triplets. Entries are read in the order of the
   file, some at a time, and sorted by row. Rank 0 alone reads them, and gives them to the ranks that have their rows.
 */
#include "../comm/comm.h"
#include "npy.h"
#include <string.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { RUN = 8, POINTERS = 4 };
#else
enum { RUN = 1 << 16, POINTERS = 1 << 12 }; /* entries, and pointers, that are read at once */
#endif

typedef enum { FORMAT_CSR, FORMAT_CSC, FORMAT_COO } npz_format;

/* What all ranks are told. */
typedef struct {
    npz_format format;
    wisp_type type;
    int64_t rows, cols, nnz;
} npz_head;

/* Major is the row of triplets and of compressed rows, the column of compressed columns. */
typedef struct {
    wisp_ctx *ctx;
    const wisp__input *in;
    wisp__zip zip;
    npz_head h;
    wisp__npy data, major, minor; /* major: pointers, unless it is of triplets */
    int64_t majors, minors;       /* how many there can be */
    int64_t done;                 /* entries so far */
    int64_t line, end;            /* pointers that were taken; the last one of these */
    int64_t pointer[POINTERS], at, have;
    void *buffer; /* of a run's numbers, as they are in the file */
    wisp__coo coo;
} npz;

/* ---- what kind of matrix ------------------------------------------------------------------------------ */

static wisp_status read_format(npz *n)
{
    static const char *const known[] = {"csr", "csc", "coo"};
    char word[65] = "";
    wisp__npy a;
    wisp_status status;
    WISP_TRY(wisp__npy_open(&a, &n->zip, "format"));
    if (a.kind != 'S' || a.count != 1) {
        status = wisp__npy_fail(&a, WISP_ERR_FORMAT, "it is no word");
        goto out;
    }
    WISP_TRY(wisp__npy_read(&a, word, 1));
    WISP_TRY(wisp__npy_end(&a));
    for (int i = 0; i < 3; i++)
        if (strcmp(word, known[i]) == 0) {
            n->h.format = (npz_format)i;
            goto out;
        }
    for (char *p = word; *p; p++)
        if (*p < ' ' || *p > '~') *p = '?';
    status = wisp__npy_fail(&a, WISP_ERR_UNSUPPORTED,
                            "the format is %s; csr, csc and coo are read: save A.tocsr() in its place", word);
out:
    wisp__npy_close(&a);
    return status;
}

/* Whole numbers, some of which are read at a time. */
static wisp_status open_ints(npz *n, wisp__npy *a, const char *name, int64_t count)
{
    const wisp_status status = wisp__npy_open(a, &n->zip, name);
    if (status != WISP_OK) return status;
    if (a->kind != 'i' || (a->bytes != 4 && a->bytes != 8))
        return wisp__npy_fail(a, WISP_ERR_UNSUPPORTED, "its numbers are of type %c%d; int32 and int64 are read",
                              a->kind, a->bytes);
    if (a->dims == 1 && a->count == count) return WISP_OK;
    return wisp__npy_fail(a, WISP_ERR_FORMAT, "it has %lld numbers in %d dimensions, and not %lld in one",
                          (long long)a->count, a->dims, (long long)count);
}

static wisp_status read_ints(npz *n, wisp__npy *a, int64_t *to, int64_t count)
{
    const wisp_status status = wisp__npy_read(a, n->buffer, count);
    const int32_t *narrow = n->buffer;
    if (status != WISP_OK) return status;
    if (a->bytes == 8)
        memcpy(to, n->buffer, (size_t)count * sizeof *to);
    else
        for (int64_t i = 0; i < count; i++) to[i] = narrow[i];
    return WISP_OK;
}

static wisp_status read_shape(npz *n)
{
    wisp__npy a = {0};
    wisp_status status;
    int64_t shape[2];
    WISP_TRY(open_ints(n, &a, "shape", 2));
    WISP_TRY(read_ints(n, &a, shape, 2));
    WISP_TRY(wisp__npy_end(&a));
    n->h.rows = shape[0], n->h.cols = shape[1];
    if (shape[0] < 0 || shape[1] < 0)
        status = wisp__npy_fail(&a, WISP_ERR_FORMAT, "%lld by %lld is no size of a matrix", (long long)shape[0],
                                (long long)shape[1]);
    else
        status = wisp__check_size(n->ctx, n->in->path, ": shape.npy", shape[0], shape[1]);
out:
    wisp__npy_close(&a);
    return status;
}

/* Whole numbers, and bool, become double. */
static bool type_of(const wisp__npy *a, wisp_type *type)
{
    const int b = a->bytes;
    const bool whole = a->kind == 'b' || a->kind == 'i' || a->kind == 'u';
    if (a->kind == 'f' && (b == 4 || b == 8))
        *type = b == 4 ? WISP_S : WISP_D;
    else if (a->kind == 'c' && (b == 8 || b == 16))
        *type = b == 8 ? WISP_C : WISP_Z;
    else if (whole && (b == 1 || b == 2 || b == 4 || b == 8))
        *type = WISP_D;
    else
        return false;
    return true;
}

static wisp_status open_data(npz *n)
{
    const wisp_status status = wisp__npy_open(&n->data, &n->zip, "data");
    if (status != WISP_OK) return status;
    if (!type_of(&n->data, &n->h.type))
        return wisp__npy_fail(&n->data, WISP_ERR_UNSUPPORTED,
                              "its numbers are of type %c%d; float32, float64, complex64, complex128 and whole numbers "
                              "are read",
                              n->data.kind, n->data.bytes);
    if (n->data.dims != 1)
        return wisp__npy_fail(&n->data, WISP_ERR_FORMAT, "it has %d dimensions, and not one", n->data.dims);
    n->h.nnz = n->data.count;
    return WISP_OK;
}

static wisp_status start(npz *n)
{
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(n->ctx, &n->buffer, RUN, 16));
    WISP_TRY(wisp__zip_open(&n->zip, n->ctx, n->in));
    WISP_TRY(read_format(n));
    WISP_TRY(read_shape(n));
    WISP_TRY(open_data(n));
    const bool coo = n->h.format == FORMAT_COO, columns = n->h.format == FORMAT_CSC;
    n->majors = columns ? n->h.cols : n->h.rows;
    n->minors = columns ? n->h.rows : n->h.cols;
    WISP_TRY(open_ints(n, &n->minor, coo ? "col" : "indices", n->h.nnz));
    status = open_ints(n, &n->major, coo ? "row" : "indptr", coo ? n->h.nnz : n->majors + 1);
out:
    return status;
}

/* ---- entries ------------------------------------------------------------------------------------------ */

static wisp_status read_values(npz *n, void *to, int64_t count)
{
    wisp__npy *a = &n->data;
    double *v = to;
    const bool whole = a->kind == 'b' || a->kind == 'i' || a->kind == 'u';
    const wisp_status status = wisp__npy_read(a, whole ? n->buffer : to, count);
    if (status != WISP_OK || !whole) return status;
#define CONVERT(type)                                            \
    do {                                                         \
        const type *p = n->buffer;                               \
        for (int64_t i = 0; i < count; i++) v[i] = (double)p[i]; \
    } while (0)
    switch (a->kind == 'i' ? a->bytes : -a->bytes) {
    case 1: CONVERT(int8_t); break;
    case 2: CONVERT(int16_t); break;
    case 4: CONVERT(int32_t); break;
    case 8: CONVERT(int64_t); break;
    case -1: CONVERT(uint8_t); break;
    case -2: CONVERT(uint16_t); break;
    case -4: CONVERT(uint32_t); break;
    default: CONVERT(uint64_t); break;
    }
#undef CONVERT
    return WISP_OK;
}

static wisp_status read_indices(npz *n, wisp__npy *a, int32_t *to, int64_t count, int64_t limit)
{
    const wisp_status status = wisp__npy_read(a, n->buffer, count);
    if (status != WISP_OK) return status;
    for (int64_t i = 0; i < count; i++) {
        const int64_t x = a->bytes == 8 ? ((const int64_t *)n->buffer)[i] : ((const int32_t *)n->buffer)[i];
        if (x < 0 || x >= limit)
            return wisp__npy_fail(a, WISP_ERR_FORMAT, "number %lld is %lld; it must be 0 to %lld",
                                  (long long)(n->done + i), (long long)x, (long long)limit - 1);
        to[i] = (int32_t)x;
    }
    return WISP_OK;
}

static wisp_status next_pointer(npz *n)
{
    if (n->at == n->have) {
        n->have = WISP__MIN((int64_t)POINTERS, n->majors + 1 - n->line);
        const wisp_status status = read_ints(n, &n->major, n->pointer, n->have);
        if (status != WISP_OK) return status;
        n->at = 0;
    }
    const int64_t p = n->pointer[n->at++];
    if (p < n->end || p > n->h.nnz || (n->line == 0 && p != 0))
        return wisp__npy_fail(&n->major, WISP_ERR_FORMAT, "number %lld is %lld; it must be %lld to %lld",
                              (long long)n->line, (long long)p, (long long)n->end,
                              (long long)(n->line == 0 ? 0 : n->h.nnz));
    n->end = p;
    n->line++;
    return WISP_OK;
}

/* Of entries that follow, by the pointers; *count becomes less where they end. */
static wisp_status read_majors(npz *n, int32_t *to, int64_t *count)
{
    for (int64_t i = 0; i < *count; i++) {
        while (n->done + i >= n->end && n->line <= n->majors) {
            const wisp_status status = next_pointer(n);
            if (status != WISP_OK) return status;
        }
        if (n->done + i >= n->end)
            *count = i;
        else
            to[i] = (int32_t)(n->line - 2);
    }
    return WISP_OK;
}

static wisp_status read_run(npz *n, int64_t count, int64_t *got)
{
    wisp__run run;
    wisp_status status = wisp__run_alloc(n->ctx, &run, n->h.type, count);
    if (status != WISP_OK) return status;
    const bool columns = n->h.format == FORMAT_CSC;
    int32_t *major = columns ? run.col : run.row, *minor = columns ? run.row : run.col;
    if (n->h.format == FORMAT_COO)
        WISP_TRY(read_indices(n, &n->major, major, count, n->majors));
    else
        WISP_TRY(read_majors(n, major, &count));
    WISP_TRY(read_indices(n, &n->minor, minor, count, n->minors));
    WISP_TRY(read_values(n, run.val, count));
    run.count = *got = count;
    n->done += count;
    return wisp__coo_add(n->ctx, &n->coo, run);
out:
    wisp_free(n->ctx, run.memory);
    return status;
}

/* Some, at most about so many; the last call compares what is left of the arrays with their checksums. */
static wisp_status read_some(npz *n, int64_t most, bool *ended)
{
    wisp_status status;
    for (*ended = false; !*ended && n->coo.entries < most;) {
        int64_t count = WISP__MIN((int64_t)RUN, n->h.nnz - n->done);
        const double done = n->h.nnz > 0 ? (double)n->done / (double)n->h.nnz : 1;
        WISP_TRY(wisp_ctx_step(n->ctx, "reading", 0.9 * done, 0));
        if (count > 0) WISP_TRY(read_run(n, count, &count));
        *ended = count == 0;
    }
    if (!*ended) return WISP_OK;
    while (n->h.format != FORMAT_COO && n->line <= n->majors) WISP_TRY(next_pointer(n));
    WISP_TRY(wisp__npy_end(&n->major));
    WISP_TRY(wisp__npy_end(&n->minor));
    status = wisp__npy_end(&n->data);
out:
    return status;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

/* Rank 0 tells the others what it is. */
static wisp_status share_head(npz *n)
{
    npz_head *all = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(n->ctx, &all, (size_t)n->ctx->ranks, sizeof *all));
    if (n->ctx->rank == 0) WISP_TRY(start(n));
    WISP_TRY(n->ctx->comm->gather(n->ctx, &n->h, sizeof n->h, all));
    n->h = all[0];
out:
    wisp_free(n->ctx, all);
    return status;
}

static wisp_status deal_entries(npz *n)
{
    wisp_ctx *ctx = n->ctx;
    wisp__deal deal = {0};
    wisp_status status;
    bool ended = ctx->rank > 0;
    const int64_t most = WISP__DEAL_BYTES / (int64_t)(wisp_type_size(n->h.type) + 2 * sizeof(int32_t));
    WISP_TRY(wisp__deal_open(&deal, ctx, NULL, n->h.type, n->h.rows, false));
    for (double more = 1; more > 0;) {
        if (!ended) WISP_TRY(read_some(n, most, &ended));
        more = !ended;
        WISP_TRY(ctx->comm->sum(ctx, &more, 1));
        WISP_TRY(wisp__deal_round(&deal, &n->coo));
    }
    status = wisp__deal_take(&deal, &n->coo);
out:
    wisp__deal_close(&deal);
    return status;
}

static wisp_status read_all(npz *n, wisp_src *src)
{
    wisp_status status;
    wisp__crs *crs;
    bool ended;
    WISP_TRY(share_head(n));
    WISP_TRY(n->ctx->ranks == 1 ? read_some(n, INT64_MAX, &ended) : deal_entries(n));
    const wisp__crs shape = wisp__crs_of_rank(n->ctx, NULL, n->h.type, n->h.rows, n->h.cols);
    WISP_TRY(wisp__crs_build(&crs, &shape, &n->coo, WISP_SYM_GENERAL, n->in->path));
    if ((status = wisp__crs_source_of_ranks(src, crs)) != WISP_OK) wisp__crs_free(crs);
out:
    return status;
}

wisp_status wisp__read_npz(wisp_src *src, wisp_ctx *ctx, const wisp__input *in)
{
    memset(src, 0, sizeof *src);
    npz *n;
    wisp_status status = wisp_alloc(ctx, &n, 1, sizeof *n);
    if (status != WISP_OK) return status;
    n->ctx = ctx;
    n->in = in;
    status = read_all(n, src);
    wisp__npy_close(&n->data);
    wisp__npy_close(&n->major);
    wisp__npy_close(&n->minor);
    wisp__zip_close(&n->zip);
    wisp__coo_free(ctx, &n->coo);
    wisp_free(ctx, n->buffer);
    wisp_free(ctx, n);
    return status;
}
