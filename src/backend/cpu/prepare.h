/* What the CPU backend makes of a matrix beside its entries, for its kernels alone; and what it tells them of a sweep.
 */
#ifndef WISP_PREPARE_H
#define WISP_PREPARE_H
#include "cpu.h"

typedef struct {
    wisp__prepared known;   /* to the rooms above */
    bool repeats;           /* rows share patterns or lists */
    int64_t cols;           /* of the blocks that are multiplied, without the halo */
    int64_t read;           /* bytes of the matrix that a sweep reads */
    bool large;             /* it comes from memory */
    int period;             /* see params_cpu.h, and so for all that follow */
    uint32_t *fresh;        /* [rows], [patterns]; NULL: not known */
    uint8_t *follow;        /* [wisp__follow_bytes(rows)]; NULL: none */
    wisp__pieces *pieces;   /* of complex patterns; NULL: entries are taken as they are */
    wisp__bundles *bundles; /* for width 1; NULL: none */
} wisp__cpu_prepared;

static inline const wisp__cpu_prepared *wisp__cpu_prepared_of(const wisp__entries *a)
{
    return (const wisp__cpu_prepared *)(const void *)a->prepared;
}

wisp_status wisp__cpu_prepare(wisp_ctx *ctx, const wisp__given *g, wisp__prepared **made);
void wisp__cpu_release(wisp_ctx *ctx, wisp__prepared *made);
void wisp__cpu_foresee(wisp_ctx *ctx, const wisp__given *g, int64_t *kept, int64_t *making);

/* What kernels are told of a sweep by itself. */
wisp__cpu_params wisp__cpu_advise(wisp_ctx *ctx, const wisp__spmmv_params *p);

/* Whether a part (0: real, 1: imaginary) of an entry of a pattern, with this value, is a product of its own: it is not
   zero, or is all there is of the entry. The diagonal that is stored apart is no part of the pattern. */
static inline bool wisp__is_piece(const wisp__entries *a, int64_t entry, wisp_scalar v, int part)
{
    if (a->diagonal && a->col[entry] == 0) return false;
    return part ? v.im != 0 : v.re != 0 || v.im == 0;
}
static inline wisp_scalar wisp__entry_value(const wisp__entries *a, wisp_type type, int64_t entry)
{
    return wisp__load(type, (const char *)a->val + (size_t)entry * wisp_type_size(type));
}

/* Bytes of follow[]. */
static inline int64_t wisp__follow_bytes(int64_t rows) { return (rows + K_FOLLOW_ROWS - 1) / K_FOLLOW_ROWS; }

/* ---- each of them, where it pays, and else nothing ---- */

/* follow.c: which rows of SELL along chunks have columns that follow one another. */
wisp_status wisp__follow_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to);
/* fresh.c: which entries gather from afar, for blocks of the matrix's usual width: block rows that were last met more
   bytes ago than stay near (wisp__near_bytes). */
wisp_status wisp__fresh_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to);
/* Bytes of that for a matrix like this one, which is stored in so many, and what is held besides while it is made. */
void wisp__fresh_bytes(wisp_ctx *ctx, const wisp__given *g, int64_t bytes, int64_t *kept, int64_t *making);
/* Also in fresh.c: whether kernels ask ahead for the block rows that they gather from a block of so many. Not where the
   second-level cache holds the block. Nor for rows of one line, of a matrix whose rows do not repeat, where the last
   cache keeps half of the sweep or more (the matrix and two blocks): there the core runs ahead far enough.
   (docs/performance.md) */
bool wisp__asks_gathered(const wisp__facts *f, bool repeats, double row_bytes, double rows, double matrix_bytes);
int64_t wisp__near_bytes(const wisp__facts *f); /* half of the second-level cache of a core */
/* pieces.c: of patterns of a complex matrix. */
wisp_status wisp__pieces_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to);
void wisp__pieces_free(wisp_ctx *ctx, wisp__pieces *p);
/* The most that they take. */
int64_t wisp__pieces_most(const wisp__given *g);
/* bundles.c: of patterns of a matrix for blocks of width 1. */
wisp_status wisp__bundles_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to);
void wisp__bundles_free(wisp_ctx *ctx, wisp__bundles *b);
/* The most that is held for bundles while they are made (0: there are none of this type). */
int64_t wisp__bundles_most(const wisp_ctx *ctx, const wisp__given *g);
#endif
