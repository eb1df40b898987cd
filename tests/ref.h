/* The oracle: naive dense double-complex arithmetic, and random matrices to feed it. */
#ifndef REF_H
#define REF_H
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <wisp/wisp.h>

typedef double complex cplx;

/* A small generator of its own, so that tests don't lean on the library's. */
typedef struct {
    uint64_t state;
} ref_rng;
uint64_t ref_next(ref_rng *r);
double ref_uniform(ref_rng *r);             /* [-1, 1) */
int64_t ref_below(ref_rng *r, int64_t n);   /* [0, n) */
cplx ref_value(ref_rng *r, wisp_type type); /* rounded to the type */

/* Dense row-major matrices. */
typedef struct {
    int64_t rows, cols;
    cplx *a;
} ref_mat;
#define REF_AT(m, i, j) ((m).a[(i) * (m).cols + (j)])
ref_mat ref_new(int64_t rows, int64_t cols);
void ref_free(ref_mat m);
/* What a source describes, duplicates added. */
ref_mat ref_dense(const wisp_src *src);
/* Rounds every element to a type, as a matrix of that type stores it. */
void ref_round(ref_mat m, wisp_type type);

/* A random sparse source in CRS arrays of its own: rows of 0 to most entries, some empty, some with duplicates. */
wisp_src ref_random_src(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, int most);
/* A dense matrix as a source (zeros left out). */
wisp_src ref_dense_src(ref_mat m, wisp_type type);

/* Block vectors in and out. */
ref_mat ref_random_block(ref_rng *r, wisp_type type, int64_t rows, int width);
void ref_put(wisp_blk *x, ref_mat m);
ref_mat ref_get(const wisp_blk *x);

/* y = alpha (A - shift_j I) x + beta y;  z = delta z + eta y;  dot[3][width]. The terms say what counts. */
typedef struct {
    unsigned terms;
    cplx alpha, beta, delta, eta;
    const cplx *shift;
} ref_aug;
void ref_spmmv(ref_mat y, ref_mat A, ref_mat x, ref_mat z, const ref_aug *aug, cplx *dot);

/* One product with random blocks of this type and these terms, which may be strided: what comes out of A against the
   oracle; what the matrix is, is said when it fails. */
void ref_check_product(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, ref_mat dense, wisp_type type, int width,
                       unsigned terms, int strided, const char *what);
/* Checks that A times a random block is the same bit by bit with and without a dot, and in a view; and so a whole step
   of KPM, with its dots. */
void ref_check_bits(wisp_ctx *ctx, ref_rng *r, const wisp_mat *A, wisp_type type, int width, const char *what);

/* Fails unless two matrices have the same properties. (The struct has padding: not to be compared as bytes.) */
void ref_same_props(const wisp_mat_props *a, const wisp_mat_props *b);

/* Fails unless the matrices agree to `tolerance` times one more than the largest element wanted. */
double ref_largest(ref_mat m);
void ref_assert_close(const char *what, ref_mat got, ref_mat want, double tolerance);

/* Rounding unit of a type, with room for a few dozen operations. */
double ref_eps(wisp_type type);
wisp_scalar ref_scalar(cplx v);

/* Instruction sets by name, and a context on one of them (NULL: on the best), unpinned; NULL if this CPU does not run
   it or the library was built without it. */
enum { REF_ISAS = 4 };
extern const char *const ref_isa[REF_ISAS];
wisp_ctx *ref_isa_ctx(const char *isa, int threads);
/* A context that logs to the test's output; fails the test if it can't be made. */
wisp_ctx *ref_ctx(const wisp_ctx_opts *opts);
/* Asserts success and shows the context's message otherwise. */
#define REF_OK(ctx, call)                                                                                           \
    do {                                                                                                            \
        wisp_status status_ = (call);                                                                               \
        if (status_ != WISP_OK) fail_msg("%s: %s (%s)", #call, wisp_status_string(status_), wisp_ctx_message(ctx)); \
    } while (0)
/* Asserts a failure with this status and a message that has the given words. */
#define REF_FAILS(ctx, call, status, words)                                                                           \
    do {                                                                                                              \
        wisp_status status_ = (call);                                                                                 \
        if (status_ != (status) || !strstr(wisp_ctx_message(ctx), words))                                             \
            fail_msg("%s: %s (%s), expected %s with '%s'", #call, wisp_status_string(status_), wisp_ctx_message(ctx), \
                     wisp_status_string(status), words);                                                              \
    } while (0)
#endif
