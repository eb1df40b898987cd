/* Every way in which a matrix can be stored, with sources that are stored so. */
#ifndef STORAGE_H
#define STORAGE_H
#include "ref.h"
#include <stdbool.h>

/* Rows with some kind of repetition, or none. */
typedef enum {
    SHAPE_RANDOM,           /* anywhere, some rows empty, some entries given in parts */
    SHAPE_FULL,             /* the same, but no row is empty */
    SHAPE_CLEAN,            /* runs of 24 rows, then of 150, that are the same but for the first */
    SHAPE_DISORDERED,       /* the same but for the diagonal */
    SHAPE_CELLS,            /* an open lattice of four rows a cell; links between cells differ, some are imaginary */
    SHAPE_DISORDERED_CELLS, /* the same with a diagonal */
    SHAPE_FEW,              /* few values, near the diagonal */
    SHAPE_FEW_FAR,          /* few values, anywhere */
    SHAPE_FEW_DIAGONAL,     /* few values, but for the diagonal */
    SHAPE_NEAR,             /* near the diagonal */
    SHAPE_BAND,             /* from here on rows repeat but for their values: one list of columns */
    SHAPE_LINES,            /* lines of a lattice with ends */
    SHAPE_TURNS,            /* two lists in turn */
    SHAPE_HOLES,            /* a lattice some of whose rows are empty or miss an entry */
    SHAPE_SITES,            /* three rows in turn, one of which is left out now and then */
    SHAPE_HERMITIAN,        /* a band, and links to rows far away */
    SHAPES
} shape;
extern const char *const shape_name[SHAPES];

/* A source; `few` (of lists): its values are few. */
wisp_src shape_src(ref_rng *r, shape s, wisp_type type, bool few, int64_t rows, int64_t cols);
ref_mat shape_dense(ref_rng *r, shape s, wisp_type type, bool few, int64_t rows, int64_t cols);

/* What a matrix has: see data/data.h. */
enum {
    HAS_PATTERNS = 1,
    HAS_PIECES = 2,
    HAS_BUNDLES = 4,
    HAS_LISTS = 8,
    HAS_CODES = 16,
    HAS_SHORT_COLUMNS = 32,
    HAS_DIAGONAL = 64,
    HAS_FOLLOW = 128,
    HAS_PADDING = 256, /* that may be read */
    HAS_HALF = 512,
    HAS_PERIOD = 1024 /* rows that repeat are two apart or more */
};
unsigned storage_of(const wisp_mat *A);

/* A kind of storage: the source and options of such a matrix, what it must have then, and what it may or may not have.
 */
typedef struct {
    const char *name;
    shape shape;
    bool few;
    wisp_format format;
    int C, width;
    int64_t sigma;
    unsigned has, if_real, if_complex, maybe;
    bool far; /* columns must be farther apart than 16 bits: many rows */
} storage;
extern const storage storage_kind[];
extern const int storage_kinds;

/* The matrix, or failure if it is stored in another way. Bundles need an instruction set that has them. */
wisp_mat *storage_make(wisp_ctx *ctx, const storage *k, const wisp_src *src);
#endif
