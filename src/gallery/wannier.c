/* A crystal of Wannier functions: the Hamiltonian that Wannier90 writes (hr.h), on so many cells, with disorder.
 *
 * Wannier function m of the cell (x, y, z) is row orbitals ((x ny + y) nz + z) + m. */
#include "../comm/comm.h"
#include "../base/system.h"
#include "hr.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define KEYS(X)                                                                                       \
    X(nx, "10", WISP__GAL_SIZE, "cells along the first lattice vector")                               \
    X(ny, "10", WISP__GAL_SIZE, "cells along the second one")                                         \
    X(nz, "1", WISP__GAL_SIZE, "cells along the third one")                                           \
    X(disorder, "0", WISP__GAL_REAL_FROM(0), "W: potential of each function, uniform in [-W/2, W/2]") \
    X(seed, "1", WISP__GAL_SEED, "of the disorder")                                                   \
    X(periodic, "xyz", WISP__GAL_LETTERS_OF("xyz"),                                                   \
      "periodic directions, as xy, or none; an R beyond an open end is left out")

enum { KEY_file, KEYS(WISP__GAL_ENUM) KEY_COUNT };
static const wisp__gal_key keys[] = {{.name = "FILE", .kind = WISP__GAL_FILE}, KEYS(WISP__GAL_ROW)};

typedef struct {
    wisp_ctx *ctx;
    int64_t n[3], orbitals, cells;
    unsigned periodic;
    double disorder;
    uint64_t seed;
    bool complex_values, goes[3]; /* goes: some R leads along this direction, */
    double reach;                 /* and the longest is so long */
    int64_t (*step)[3];           /* [cells] R; along periodic directions from 0 to n - 1 */
    int64_t *begin;               /* [orbitals cells + 1] entries of orbital m and cell c, number m cells + c */
    int32_t *orbital;             /* [entries] */
    wisp_scalar *value;           /* [entries] */
} wannier;

/* The cell that is a step away; false: there is none. */
static inline bool reach(const wannier *w, const int64_t at[3], const int64_t step[3], int64_t *cell)
{
    int64_t number = 0;
    for (int d = 0; d < 3; d++) {
        int64_t to = at[d] + step[d];
        if (to >= w->n[d] && (w->periodic >> d & 1)) to -= w->n[d];
        if (to < 0 || to >= w->n[d]) return false;
        number = number * w->n[d] + to;
    }
    *cell = number;
    return true;
}

static int wannier_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const wannier *w = arg;
    int64_t at[3], m, n = 0, cell;
    const int64_t plane = wisp__gal_divide(wisp__gal_divide(row, w->orbitals, &m), w->n[2], &at[2]);
    at[0] = wisp__gal_divide(plane, w->n[1], &at[1]);
    for (int64_t c = 0; c < w->cells; c++) {
        const int64_t begin = w->begin[m * w->cells + c], end = w->begin[m * w->cells + c + 1];
        if (begin == end || !reach(w, at, w->step[c], &cell)) continue;
        for (int64_t k = begin; col && k < end; k++) {
            col[n + k - begin] = cell * w->orbitals + w->orbital[k];
            if (w->complex_values)
                ((wisp_scalar *)val)[n + k - begin] = w->value[k];
            else
                ((double *)val)[n + k - begin] = w->value[k].re;
        }
        n += end - begin;
    }
    if (w->disorder == 0) return (int)n;
    if (col) {
        const double v = wisp__gal_disorder(w->disorder, w->seed, row);
        col[n] = row;
        if (w->complex_values)
            ((wisp_scalar *)val)[n] = (wisp_scalar){v, 0};
        else
            ((double *)val)[n] = v;
    }
    return (int)n + 1;
}

static void wannier_free(void *arg)
{
    wannier *w = arg;
    wisp_free(w->ctx, w->step);
    wisp_free(w->ctx, w->begin);
    wisp_free(w->ctx, w->orbital);
    wisp_free(w->ctx, w->value);
    wisp_free(w->ctx, w);
}

/* ---- the file --------------------------------------------------------------------------------------- */

static wisp_status read_bytes(wisp_ctx *ctx, int fd, const char *path, char *text, int64_t size)
{
    char why[128];
    for (int64_t got = 0; got < size;) {
        enum { STEP = 1 << 24 };
        const ssize_t n = read(fd, text + got, (size_t)WISP__MIN(size - got, (int64_t)STEP));
        if (n < 0 && errno != EINTR)
            return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot read: %s", path,
                                  wisp__error_text(errno, why, sizeof why));
        if (n == 0) return wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: the file became shorter while it was read", path);
        if (n > 0) got += n;
        if (wisp__cancelled(ctx->team))
            return wisp_ctx_failf(ctx, WISP_ERR_CANCELLED, "%s: cancelled while reading", path);
    }
    return WISP_OK;
}

/* The whole file, made ready for wisp__hr_read. */
static wisp_status read_file(wisp_ctx *ctx, const char *path, char **text, size_t *size)
{
    char why[128];
    struct stat st = {0};
    wisp_status status = WISP_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        status =
            wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot open: %s", path, wisp__error_text(errno, why, sizeof why));
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: this is no file on a disk; a Wannier90 file must be one", path);
        goto out;
    }
    WISP_TRY(wisp__alloc_raw(ctx, text, (size_t)st.st_size + 1 + WISP__HR_SLACK, 1));
    WISP_TRY(read_bytes(ctx, fd, path, *text, st.st_size));
    *size = (size_t)st.st_size;
    if (*size > 0 && (*text)[*size - 1] != '\n') (*text)[(*size)++] = '\n';
    memset(*text + *size, 0, WISP__HR_SLACK);
out:
    if (fd >= 0) close(fd);
    return status;
}

/* Each rank reads the file, and all must see the same one. */
static wisp_status read_together(wisp_ctx *ctx, const char *path, wisp__hr *hr)
{
    char *text = NULL;
    uint64_t *all = NULL, hash;
    size_t size = 0;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(read_file(ctx, path, &text, &size));
    hash = XXH3_64bits(text, size);
    WISP_TRY(ctx->comm->gather(ctx, &hash, sizeof hash, all));
    if (hash != all[0])
        status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: process 0 sees another file of this name", path);
    else
        status = wisp__hr_read(hr, ctx, path, text, size);
out:
    wisp_free(ctx, all);
    wisp_free(ctx, text);
    return status;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* Where R lead, before they are folded. */
static void look_at_cells(wannier *w, const wisp__hr *hr)
{
    const int64_t n = hr->orbitals * hr->orbitals;
    for (int64_t c = 0; c < hr->cells; c++) {
        bool is_there = false;
        double square = 0;
        for (int64_t i = c * n; i < (c + 1) * n; i++) is_there |= hr->value[i].re != 0 || hr->value[i].im != 0;
        for (int d = 0; d < 3 && is_there; d++) {
            w->goes[d] |= hr->cell[c][d] != 0;
            square += (double)hr->cell[c][d] * (double)hr->cell[c][d];
        }
        w->reach = fmax(w->reach, sqrt(square));
    }
}

/* The entries that are not 0, orbital by orbital. */
static wisp_status take_entries(wannier *w, wisp_ctx *ctx, const wisp__hr *hr, int64_t *max_row)
{
    const int64_t n = hr->orbitals, all = hr->cells * n * n;
    int64_t entries = 0;
    wisp_status status;
    for (int64_t i = 0; i < all; i++) entries += hr->value[i].re != 0 || hr->value[i].im != 0;
    WISP_TRY(wisp_alloc(ctx, &w->begin, (size_t)(n * hr->cells + 1), sizeof *w->begin));
    WISP_TRY(wisp_alloc(ctx, &w->orbital, (size_t)entries + 1, sizeof *w->orbital));
    WISP_TRY(wisp_alloc(ctx, &w->value, (size_t)entries + 1, sizeof *w->value));
    entries = 0;
    for (int64_t m = 0; m < n; m++) {
        const int64_t before = entries;
        for (int64_t c = 0; c < hr->cells; c++) {
            for (int64_t k = 0; k < n; k++) {
                const wisp_scalar v = hr->value[(c * n + m) * n + k];
                if (v.re == 0 && v.im == 0) continue;
                w->complex_values |= v.im != 0;
                w->orbital[entries] = (int32_t)k;
                w->value[entries++] = v;
            }
            w->begin[m * hr->cells + c + 1] = entries;
        }
        *max_row = WISP__MAX(*max_row, entries - before);
    }
out:
    return status;
}

static wisp_status open_hr(wisp_src *src, wisp_ctx *ctx, const char *path, wisp__hr *hr, const wisp__gal_value *value)
{
    wannier *w;
    int64_t bound;
    wisp_src shape = {.row = wannier_row, .free_arg = wannier_free, .type = WISP_D};
    wisp_status status = wisp_alloc(ctx, &w, 1, sizeof *w);
    if (status != WISP_OK) return status;
    *w = (wannier){.ctx = ctx,
                   .n = {value[KEY_nx].i, value[KEY_ny].i, value[KEY_nz].i},
                   .orbitals = hr->orbitals,
                   .periodic = (unsigned)value[KEY_periodic].i,
                   .disorder = value[KEY_disorder].real,
                   .seed = (uint64_t)value[KEY_seed].i};
    WISP_TRY(wisp__gal_product(ctx, "wannier", (int64_t[]){w->orbitals, w->n[0], w->n[1], w->n[2]}, 4, &shape.rows));
    look_at_cells(w, hr);
    WISP_TRY(wisp__hr_fold(hr, ctx, w->n, w->periodic));
    w->cells = hr->cells;
    WISP_TRY(take_entries(w, ctx, hr, &shape.max_row));
    shape.max_row += w->disorder > 0;
    w->step = hr->cell;
    hr->cell = NULL;
    if (shape.max_row == 0) status = wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: all entries are 0", path);
    if (shape.max_row > INT32_MAX || __builtin_mul_overflow(shape.rows, shape.max_row, &bound))
        status = wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW,
                                "wannier: the number of nonzeros does not fit in 64 bits; take a smaller size");
out:
    if (status != WISP_OK) {
        wannier_free(w);
        return status;
    }
    *src = shape;
    src->cols = src->rows;
    src->type = w->complex_values ? WISP_Z : WISP_D;
    src->arg = w;
    return WISP_OK;
}

static wisp_status wannier_open(wisp_src *src, wisp_ctx *ctx, const wisp__gal_value *value)
{
    wisp__hr hr = {0};
    char *path = NULL;
    wisp_status status;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp_alloc(ctx, &path, value[KEY_file].length + 1, 1));
    memcpy(path, value[KEY_file].text, value[KEY_file].length);
    WISP_TRY(read_together(ctx, path, &hr));
    status = open_hr(src, ctx, path, &hr, value);
out:
    wisp__hr_free(ctx, &hr);
    wisp_free(ctx, path);
    status = wisp_ctx_leave(ctx, status);
    if (status == WISP_OK || !src->free_arg) return status;
    src->free_arg(src->arg); /* another rank has failed */
    *src = (wisp_src){0};
    return status;
}

static int position(void *arg, int64_t row, double *xyz)
{
    const wannier *w = arg;
    int64_t m, at[3];
    const int64_t plane = wisp__gal_divide(wisp__gal_divide(row, w->orbitals, &m), w->n[2], &at[2]);
    at[0] = wisp__gal_divide(plane, w->n[1], &at[1]);
    for (int d = 0; d < 3; d++) xyz[d] = (double)at[d];
    return 0;
}

/* They take the source's parameters over. A direction of one cell that no R leads along is left out. */
static wisp_status wannier_positions(wisp_positions *positions, wisp_ctx *ctx, const wisp__gal_value *value)
{
    wisp_src src = {0};
    const wisp_status status = wannier_open(&src, ctx, value);
    if (status != WISP_OK) return status;
    const wannier *w = src.arg;
    *positions = (wisp_positions){.rows = src.rows,
                                  .reach = w->reach,
                                  .orbitals = (int)w->orbitals,
                                  .at = position,
                                  .arg = src.arg,
                                  .free_arg = src.free_arg};
    for (int d = 0; d < 3; d++) {
        const bool periodic = w->periodic >> d & 1;
        if (w->n[d] == 1 && !(periodic && w->goes[d])) continue;
        positions->periodic |= (unsigned)periodic << positions->dimensions;
        positions->cells[positions->dimensions] = w->n[d];
        positions->cell[positions->dimensions++][d] = (double)w->n[d];
    }
    if (positions->dimensions == 0) { /* a single cell */
        positions->dimensions = 1;
        positions->cells[0] = 1;
        positions->cell[0][0] = 1;
    }
    wisp__gal_positions_span(positions);
    return WISP_OK;
}

const wisp__gal_entry wisp__gal_wannier = {
    {"wannier", "Hamiltonian of a Wannier90 file: wannier:seedname_hr.dat,nx=20,ny=20; real if all its entries are",
     "FILE  seedname_hr.dat, first and without a key\n" KEYS(WISP__GAL_HELP)},
    keys,
    KEY_COUNT,
    wannier_open,
    wannier_positions};
