/* The memory of wisp_solve. */
#include "krylov.h"

/* What there is beside the numbers in blocks: see prepare of solve.c. */
static int64_t small_bytes(const wisp_solve_opts *o, int width, int blocks, bool gmres)
{
    enum { HEADS = 1 << 16, SCALARS = 32, BLOCK = 256 };
    const int64_t m = gmres ? o->restart : 0, scalars = 6 * m + SCALARS, triangle = gmres ? (m + 4) * (m + 1) : 0;
    const int64_t column = scalars * (int64_t)sizeof(wisp_scalar) + triangle * (int64_t)sizeof(double complex);
    return width * (column + (int64_t)sizeof(wisp__krylov_column)) + blocks * BLOCK + HEADS;
}

/* At most what wisp_fuse takes for so many terms and dots (reserve of op/fuse.c, and its launch: if these change, so
   must this), by 8 threads: sums of each row block and thread; lists. */
static int64_t fuse_bytes(int64_t rows, wisp_type type, int width, int terms, int dots)
{
    enum { STRIP = 128, MOST_BLOCKS = 1024, PERIOD = 16, THREADS = 8, EACH = 256 };
    const int64_t strips = rows / STRIP + 1, blocks = strips < MOST_BLOCKS ? strips : MOST_BLOCKS;
    const int64_t row = (int64_t)width * (wisp_type_is_complex(type) ? 2 : 1);
    return (int64_t)sizeof(double) * dots * row * (blocks + PERIOD * THREADS) + (terms + dots) * EACH * (1 + row);
}

/* MINRES may follow CG and BiCGStab, and takes less than that; without a method it may be any but BiCGStab. */
int64_t wisp_solve_plan(int64_t rows, wisp_type type, int width, const wisp_solve_opts *opts)
{
    static const wisp_method any[] = {WISP_CG, WISP_MINRES, WISP_GMRES, WISP_BICGSTAB};
    wisp__krylov k = {.o = opts ? *opts : (wisp_solve_opts){0}};
    const wisp_method named = k.o.method;
    int most = 0;
    if (named < 0 || named > WISP_MINRES || k.o.restart < 0 || k.o.restart > WISP__MOST_RESTART) return 0;
    wisp__solve_defaults(&k.o, type, rows);
    k.P = k.o.precond != WISP_PRECOND_NONE ? (wisp__precond *)&k : NULL; /* never followed */
    for (int i = 0; i < 4; i++) {
        const bool possible = any[i] == named || (named == WISP_CG && any[i] == WISP_MINRES) ||
                              (named == WISP_METHOD_DEFAULT && any[i] != WISP_BICGSTAB);
        const int blocks = possible ? wisp__method_of(any[i])->blocks(&k) : 0;
        if (blocks > most) most = blocks;
    }
    const int64_t size = (int64_t)wisp_type_size(type), transposed = 32; /* bytes a row: see singular.c */
    const int64_t columns = (3 + most) * width + width / 2;              /* a narrower block beside all of them */
    const bool gmres = named == WISP_GMRES || named == WISP_METHOD_DEFAULT;
    /* Terms, and dots, of one call: GMRES has one for each vector of its basis. */
    const int lists = 16 + (gmres ? k.o.restart : 0);
    return rows * (columns * size + transposed) + wisp__precond_plan(rows, type, width, &k.o) +
           small_bytes(&k.o, width, 4 + most, gmres) + fuse_bytes(rows, type, width, lists, lists);
}
