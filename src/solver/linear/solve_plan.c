/* The memory of wisp_solve. */
#include "krylov.h"
#include <math.h>

/* What there is beside the numbers in blocks: see prepare of solve.c. */
static int64_t small_bytes(const wisp_solve_opts *o, int width, int blocks, bool gmres)
{
    enum { HEADS = 1 << 16, SCALARS = 32, BLOCK = 256 };
    const int64_t m = gmres ? o->restart : 0, scalars = 6 * m + SCALARS, triangle = gmres ? (m + 4) * (m + 1) : 0;
    const int64_t column = scalars * (int64_t)sizeof(wisp_scalar) + triangle * (int64_t)sizeof(double complex);
    return width * (column + (int64_t)sizeof(wisp__krylov_column)) + blocks * BLOCK + HEADS;
}

/* MINRES may follow CG and BiCGStab, and takes less than that; without a method it may be any but BiCGStab. beside:
   columns of a block that is made beside all others. all: rows of all ranks. ctx NULL: without what wisp_fuse takes. 0:
   options are wrong. */
static int64_t plan(const wisp_ctx *ctx, int64_t all, int64_t rows, wisp_type type, int width,
                    const wisp_solve_opts *opts, int beside)
{
    static const wisp_method any[] = {WISP_CG, WISP_MINRES, WISP_GMRES, WISP_BICGSTAB};
    wisp__krylov k = {.o = opts ? *opts : (wisp_solve_opts){0}};
    const wisp_method named = k.o.method;
    int most = 0;
    if (named < 0 || named > WISP_MINRES || k.o.restart < 0 || k.o.restart > WISP__MOST_RESTART) return 0;
    wisp__solve_defaults(&k.o, type, all);
    k.P = k.o.precond != WISP_PRECOND_NONE ? (wisp__precond *)&k : NULL; /* never followed */
    for (int i = 0; i < 4; i++) {
        const bool possible = any[i] == named || (named == WISP_CG && any[i] == WISP_MINRES) ||
                              (named == WISP_METHOD_DEFAULT && any[i] != WISP_BICGSTAB);
        const int blocks = possible ? wisp__method_of(any[i])->blocks(&k) : 0;
        if (blocks > most) most = blocks;
    }
    const int64_t size = (int64_t)wisp_type_size(type), columns = (3 + most) * width + beside;
    const bool gmres = named == WISP_GMRES || named == WISP_METHOD_DEFAULT;
    /* Terms, and dots, of one call: GMRES has one for each vector of its basis. */
    const int lists = 16 + (gmres ? k.o.restart : 0);
    return rows * columns * size + wisp__precond_plan(rows, type, width, &k.o) +
           small_bytes(&k.o, width, 4 + most, gmres) +
           (ctx ? wisp_fuse_bound(ctx, rows, type, width, lists, lists) : 0);
}

int64_t wisp_solve_plan(int64_t rows, wisp_type type, int width, const wisp_solve_opts *opts)
{
    return plan(NULL, rows, rows, type, width, opts, width / 2);
}

/* Of several ranks: what they send each other, and copies of what they sum, which are the dots of a call, or the sizes
   of some columns; the proof has a list of those. */
static double ranks_bytes(const wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                          const wisp_solve_opts *opts)
{
    enum { CHUNK = 1024, DOTS = 16 };
    if (wisp_ctx_processes(ctx) == 1) return 0;
    const double chunk = fmax((double)A->local_rows, CHUNK), restart = opts && opts->restart ? opts->restart : 30;
    const double dots = (DOTS + restart) * width;
    return wisp__exchange_bytes(A, type, width) + (fmax(chunk, dots) + CHUNK) * sizeof(wisp_scalar) +
           (double)A->rows / CHUNK;
}

int64_t wisp_solve_bound(const wisp_ctx *ctx, const wisp_mat_info *A, wisp_type type, int width,
                         const wisp_solve_opts *opts)
{
    const int proof = wisp__proof_columns(type);
    if (!ctx || !A) return 0;
    return plan(ctx, A->rows, A->local_rows + A->halo_rows, type, width, opts, width / 2 > proof ? width / 2 : proof) +
           (int64_t)ranks_bytes(ctx, A, type, width, opts);
}
