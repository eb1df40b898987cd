/* The list of kernels: the pairs of types that spmmv is made for, and the tables that backend/cpu/ fills, one object
   per instruction set. Which block widths an instruction set has is said in CMake (src/kernels.cmake). Kernel files
   include this and need no C library, so that they compile for any target. */
#ifndef WISP_KERNELS_H
#define WISP_KERNELS_H
#include "../../kernel/params_cpu.h"

/* Matrix value type and precision of the block that one kernel instance is made for: backend/cpu/spmmv_NAME.c. The
   accuracy is the block's: a single-precision matrix takes double blocks. To a real matrix a complex block is a real
   one of twice the width. */
#define WISP__COMBO_LIST(X) \
    X(ss, S, S)             \
    X(dd, D, D)             \
    X(cc, C, C)             \
    X(zz, Z, Z)             \
    X(sd, S, D)             \
    X(cz, C, Z)
#define WISP__COMBO(name, matrix, block) WISP__COMBO_##name,
typedef enum { WISP__COMBO_LIST(WISP__COMBO) WISP__COMBOS } wisp__combo;
#undef WISP__COMBO

/* Widest first. Widths count columns of the matrix's kind, real or complex. */
typedef struct {
    int width; /* 0: any width; ends the list */
    wisp__spmmv_fn fn;
    /* Width 1 only, or NULL: vectorised along the chunk, for C of at least K_CHUNKED_C; for rows in bundles. */
    wisp__spmmv_fn chunked, bundled;
} wisp__spmmv_entry;

typedef struct {
    int width; /* the last one is 1 */
    wisp__half_fn multiply, finish;
} wisp__half_entry;

typedef struct wisp__isa {
    const char *name;
    int register_bytes;
    int bundle_bytes; /* of a bundle of rows, where the instruction set has kernels for them, else 0 */
    const wisp__spmmv_entry *spmmv[WISP__COMBOS];
    const wisp__half_entry *half[WISP__COMBOS];
    wisp__axpby_fn axpby[2]; /* float, double */
    wisp__dot_fn dot[2];
    wisp__fuse_fn fuse[2];
    wisp__sum_fn sum;
    wisp__fold_fn fold;
    wisp__gram_fn gram[2];
    wisp__update_fn update[2];
    const wisp__stream_table *stream[2];
} wisp__isa;
#endif
