/* The oracle of the tests: naive dense double-complex arithmetic, and random matrices to feed it. Also the way to run a
   test by several ranks, contexts for tests, and assertions on statuses. */
#ifndef REF_H
#define REF_H
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <wisp/wisp.h>
#include "message.h"

typedef double complex cplx;

/* Runs the tests of a program: with WISP_RANKS=N each of them by N ranks at once, as threads; under mpirun by its
   processes. ref_put and ref_get then take and give the rows of all ranks. */
int ref_ranks(void);
/* Whether wisp_eig can factor matrices of the host: that takes MUMPS, and one rank. */
bool ref_has_factors(void);
int ref_run_tests(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup, CMFixtureFunction teardown);
#define REF_RUN(tests) ref_run_tests(tests, sizeof tests / sizeof tests[0], NULL, NULL)
/* Tests that run ranks by themselves: fn(arg, rank) by so many, as threads. Under mpirun each process runs the tests,
   alone but for this: fn is run by the first `ranks` processes, each with an arg of its own, and by none if there are
   fewer; of 1 rank by each process alone. Others wait at its begin and end. */
void ref_ranks_each(int ranks, wisp_rank_fn fn, void *arg);
int ref_run_rank_tests(const struct CMUnitTest *tests, size_t count);
/* Whether mpirun started this: then ranks share no memory. */
int ref_by_mpi(void);
/* setup and teardown around all tests; with ranks, around each test of each rank. */
#define REF_RUN_WITH(tests, setup, teardown) ref_run_tests(tests, sizeof tests / sizeof tests[0], setup, teardown)
/* The state is a context of two threads; or of all that there are. */
#define REF_RUN_CTX(tests) REF_RUN_WITH(tests, ref_setup, ref_teardown)
#define REF_RUN_ALL(tests) REF_RUN_WITH(tests, ref_setup_all, ref_teardown)
int ref_setup(void **state);
int ref_setup_all(void **state);
int ref_teardown(void **state);

/* A small generator of its own, so that tests don't lean on the library's. */
typedef struct {
    uint64_t state;
} ref_rng;
uint64_t ref_next(ref_rng *r);
double ref_uniform(ref_rng *r);           /* [-1, 1) */
int64_t ref_below(ref_rng *r, int64_t n); /* [0, n) */
/* Methods of wisp_solve one after the other, without LSMR, which takes A^H as well. */
static inline int ref_next_method(int m) { return m == WISP_MINRES ? WISP_IDR : m + 1; }
cplx ref_value(ref_rng *r, wisp_type type); /* rounded to the type */
cplx ref_number(wisp_type type, const void *numbers, int64_t i);

/* Dense row-major matrices. */
typedef struct {
    int64_t rows, cols;
    cplx *a;
} ref_mat;
#define REF_AT(m, i, j) ((m).a[(i) * (m).cols + (j)])
ref_mat ref_new(int64_t rows, int64_t cols);
void ref_free(ref_mat m);
ref_mat ref_times(ref_mat A, ref_mat x);
/* What a source describes, duplicates added. */
ref_mat ref_dense(const wisp_src *src);
/* The same by entries, rounded to a type. */
typedef struct {
    int64_t rows, cols, longest; /* row */
    int64_t *first, *col;
    cplx *val;
} ref_sparse;
ref_sparse ref_sparse_of(const wisp_src *src, wisp_type type);
void ref_sparse_free(ref_sparse s);
/* Rounds every element to a type, as a matrix of that type stores it. */
void ref_round(ref_mat m, wisp_type type);

/* A source in CRS arrays of its own, of rows of `most` entries at most that are made one by one. */
typedef int ref_row_fn(void *arg, int64_t i, int64_t *col, cplx *val);
wisp_src ref_rows_src(wisp_type type, int64_t rows, int64_t cols, int64_t most, ref_row_fn *row, void *arg);
/* A random sparse source: rows of 0 to most entries, some empty, some with duplicates. */
wisp_src ref_random_src(ref_rng *r, wisp_type type, int64_t rows, int64_t cols, int most);
/* A dense matrix as a source (zeros left out). */
wisp_src ref_dense_src(ref_mat m, wisp_type type);
/* The same as a matrix of this type. */
wisp_mat *ref_mat_of(wisp_ctx *ctx, ref_mat m, wisp_type type);

/* Block vectors in and out. */
ref_mat ref_random_block(ref_rng *r, wisp_type type, int64_t rows, int width);
void ref_put(wisp_blk *x, ref_mat m);
ref_mat ref_get(const wisp_blk *x);

/* y = alpha (A - shift_j I) x + beta y + add_j u;  z = delta z + eta y;  dot[3][width], [4] with DOT_UY. The terms say
 * what counts. */
typedef struct {
    unsigned terms;
    cplx alpha, beta, delta, eta;
    const cplx *shift;
    ref_mat u;
    const cplx *add;
} ref_aug;
void ref_spmmv(ref_mat y, ref_mat A, ref_mat x, ref_mat z, const ref_aug *aug, cplx *dot);

/* Pairs of matrix and block types that can be multiplied. */
enum { REF_PAIRS = 9 };
typedef struct {
    wisp_type mat, blk;
} ref_types;
extern const ref_types ref_pair[REF_PAIRS];

/* Block widths to try: those that the library was built with, and some that are put together. */
enum { REF_MOST_WIDTHS = 160 };
int ref_widths(int width[REF_MOST_WIDTHS]);

/* One call of the op, sometimes with WISP_ADD and WISP_DOT_UY beside the terms (but not REF_KPM): random blocks and
   factors, and what must come out. Factors are real, or of the block's type; beta and delta are sometimes 0, but not of
   REF_KPM, so that it goes by the kernels that are made for it. */
#define REF_KPM (WISP_SCALE | WISP_SHIFT | WISP_AXPBY | WISP_DOT_XX | WISP_DOT_XY)
enum { REF_ALL_TERMS = 128 }; /* one more than all of them */
typedef struct {
    wisp_type type;
    int width;
    ref_aug f;
    cplx *shift, *add;
    ref_mat x, y, z, u, want_y, want_z;
    cplx *want_dot;
    double eps; /* of the sums */
} ref_call;
typedef struct {
    ref_mat y, z;
    wisp_scalar *dot;
} ref_result;
ref_call ref_call_new(ref_rng *r, const ref_sparse *A, wisp_type type, int width, unsigned terms, int real_factors);
void ref_call_free(ref_call *c);
/* views: bits 1, 2, 4 and 8 say that x, y, z and u are views of wider blocks, each with another stride; else they are
   blocks without gaps. Fails if x or what is beside a view is written to. */
enum { REF_COMPACT, REF_VIEWS = 15 };
ref_result ref_run(wisp_ctx *ctx, const wisp_mat *A, const ref_call *c, int views);
void ref_result_free(ref_result *s);
/* Fails unless that came out; what the matrix is, is said then. */
void ref_check(const ref_call *c, const ref_result *got, const char *what);
/* Runs the call and checks it. */
void ref_check_call(wisp_ctx *ctx, const wisp_mat *A, const ref_call *c, int views, const char *what);
/* The same with a random call, and blocks that are compact or all views. */
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

/* Zeroed memory for LAPACK: count doubles, and room for a column of `rows` complex numbers behind them, into which
   OpenBLAS 0.3.21 reads. All that a test gives to LAPACK comes from here; free() takes it. */
double *ref_lapack(size_t count, int64_t rows);

/* Rounding unit of a type, with room for a few dozen operations. */
double ref_eps(wisp_type type);
wisp_scalar ref_scalar(cplx v);

/* Instruction sets by name, and a context on one of them (NULL: on the best), unpinned; NULL if this CPU does not run
   it or the library was built without it. On several ranks, and on another device, NULL for all but the best: which
   rank has which rows, and where memory is, is nothing that kernels see. */
enum { REF_ISAS = 4 };
extern const char *const ref_isa[REF_ISAS];
wisp_ctx *ref_isa_ctx(const char *isa, int threads);
/* A context that logs to the test's output; fails the test if it can't be made. */
wisp_ctx *ref_ctx(const wisp_ctx_opts *opts);
/* Asserts that what was made on a context is freed: it has only what it keeps for itself. (The thread of a task may
   hold that a little longer than the task is there.) */
void ref_nothing_left(const wisp_ctx *ctx);
/* Each of the first `each` allocations of a call, on a context of one thread, and then some, fail one by one, until so
   many runs in a row pass: what a call can do without may be refused. A clear status, and nothing stays. Returns how
   many runs failed. For one rank: several share the environment, and tests/test_ranks.c has them. */
int ref_failing_memory(wisp_status (*call)(wisp_ctx *ctx, void *arg), void *arg, int each, int passes);
/* Exit status of a test that leaves out what it is for: ctest says then that it was skipped. */
enum { REF_SKIPPED = 77 };
/* Asserts success and shows the context's message otherwise. */
#define REF_OK(ctx, call)                                                                                     \
    do {                                                                                                      \
        wisp_status status_ = (call);                                                                         \
        if (status_ != WISP_OK) fail_msg("%s: %s (%s)", #call, wisp_status_string(status_), message_of(ctx)); \
    } while (0)
/* Whether an address sanitizer watches each byte of memory. */
#if defined(__SANITIZE_ADDRESS__)
enum { REF_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { REF_SANITIZED = 1 };
#else
enum { REF_SANITIZED = 0 };
#endif
#else
enum { REF_SANITIZED = 0 };
#endif
/* Whether a test is run once more, by several ranks or on the device of WISP_DEVICE. */
static inline int ref_elsewhere(void)
{
    const char *device = getenv("WISP_DEVICE");
    return ref_ranks() > 1 || (device && strcmp(device, "cpu"));
}
/* Whether a test takes a sample of cases that differ in numbers alone: of those a sanitizer sees no difference, and
   several ranks or another device make none. */
static inline int ref_few(void) { return REF_SANITIZED || ref_elsewhere(); }
/* Whether the context's device has memory of its own (WISP_DEVICE=far): arrays can't be used in place there. */
static inline int ref_far(const wisp_ctx *ctx) { return strcmp(wisp_ctx_device(ctx), "cpu") != 0; }
/* Steps that a solver gives wisp_mpk at once, where on the CPU it gives it so many. */
static inline int ref_steps(wisp_ctx *ctx, int steps)
{
    int all = steps;
    while (all < wisp_ctx_steps_per_call(ctx)) all += steps;
    return all;
}
/* Asserts a failure with this status and a message that has the given words. */
#define REF_FAILS(ctx, call, status, words)                                                                     \
    do {                                                                                                        \
        wisp_status status_ = (call);                                                                           \
        if (status_ != (status) || !strstr(message_of(ctx), words))                                             \
            fail_msg("%s: %s (%s), expected %s with '%s'", #call, wisp_status_string(status_), message_of(ctx), \
                     wisp_status_string(status), words);                                                        \
    } while (0)
#endif
