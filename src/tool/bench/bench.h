/* The files of `wisp bench` share this; `--plan` uses its steps and its model too. */
#ifndef WISP_TOOL_BENCH_H
#define WISP_TOOL_BENCH_H
#include "../machine/machine.h"
#include "../names.h"
#include "measure_limit.h"
#include "reference.h"

/* Their numbers and names, in the order of the lists of names. */
#define BENCH_OPS(X)                                                                                           \
    X(SPMV, spmv), X(SPMMV, spmmv), X(KPM, kpm), X(MPK, mpk), X(TSM, tsm), X(STREAM, stream), X(SOLVE, solve), \
        X(EIG, eig)
/* The last two stand beside others, and are no choices. */
#define BENCH_VARIANTS(X)                                                                                      \
    X(BLOCKED, blocked), X(NAIVE, naive), X(REFERENCE, reference), X(CHEBYSHEV, chebyshev), X(POWERS, powers), \
        X(GRAM, gram), X(GRAM_KAHAN, gram_kahan), X(UPDATE, update), X(UPDATE_BETA, update_beta),              \
        X(UPDATE_IN_PLACE, update_in_place), X(DOT, dot), X(DOT_KAHAN, dot_kahan), X(GRAM_BLAS, gram_blas),    \
        X(UPDATE_BLAS, update_blas), X(UPDATE_BETA_BLAS, update_beta_blas), X(PREDICT, predict),               \
        X(PIPELINED, pipelined), X(CLASSICAL, classical), X(SQUARES, squares), X(STEPS, steps), X(QR, qr),     \
        X(RITZ, ritz), X(QR_LAPACK, qr_lapack), X(KPM_STEP, kpm_step)
#define BENCH_OP(NAME, name) BENCH_##NAME
#define BENCH_VARIANT(NAME, name) VARIANT_##NAME
#define BENCH_NAME(NAME, name) #name
typedef enum { BENCH_OPS(BENCH_OP) } bench_op;
typedef enum { BENCH_VARIANTS(BENCH_VARIANT), VARIANTS } bench_variant;

/* What a row of the table measures. */
typedef struct {
    bench_op op;
    bench_variant variant;
    wisp_type type;    /* of the blocks */
    int width, powers; /* powers: steps of a call; 1 for all but mpk */
    int depth;         /* the number of steps that are interleaved; 0: as the library chooses */
    wisp_order order;  /* as asked for */
    wisp_format format;
    int64_t rows;         /* of dense blocks */
    int64_t cache_budget; /* mpk: bytes; 0: the context's */
    wisp_method method;   /* solve */
    int restart;          /* gmres; else 0 */
} bench_case;

/* ---- bench_ops.c: tables of ops, and of the variants of each ------------------------------------ */

typedef struct bench_runner bench_runner;
enum {
    STEP_TERMS = WISP_SCALE | WISP_SHIFT | WISP_AXPBY, /* of a step of a recurrence; and with its dots: */
    KPM_TERMS = STEP_TERMS | WISP_DOT_XX | WISP_DOT_XY
};

/* A variant of an op. */
typedef struct {
    bench_op op;
    bench_variant variant;
    wisp_status (*step)(bench_runner *r);                                 /* one call */
    wisp_status (*open)(bench_runner *r);                                 /* NULL: A, v and w are all that it needs */
    wisp_status (*time)(bench_runner *r, int64_t calls, double *seconds); /* in the place of `step` */
    const char *blas; /* likewise: how wisp-blas calls it, which has the blocks */
    int calls;        /* steps of a call; 0: those of the case */
    unsigned terms;   /* of the product */
    bool third;       /* a third block, u */
    bool past;        /* the caches: what is written */
    struct {
        double reads, writes, products, blocks; /* products: of blocks, of width^2 multiply-adds a row; 0: width */
    } dense;                                    /* blocks 0: it is a sparse matrix that is multiplied */
} bench_kind;
const bench_kind *bench_kind_of(const bench_case *c);
bool bench_is_dense(const bench_case *c);

/* ---- bench_run.c: a case with its own matrix and blocks ------------------------------------------ */

struct bench_runner {
    wisp_ctx *ctx;
    bench_case what;
    const bench_kind *kind;
    double center, halfwidth; /* kpm and mpk: set before bench_open */
    wisp_mat *A;
    wisp_mat_info info; /* of A */
    wisp_blk *v, *w, *u;
    wisp_blk **list; /* mpk: [powers + 2], v and w and, if all powers are kept, the others */
    int depth;       /* mpk: of the last call */
    bench_reference *reference;
    blas_process blas;
    wisp_scalar *shift, *dot, *X; /* X[width][width]: tsm; mpk: alpha, beta, gamma of each step */
    wisp_cost cost;               /* of one step, as a sweep of its own */
    double least_bytes;           /* of one step, if what `powers` of them need is moved once */
    double read_bytes, gather_bytes,
        write_bytes;           /* of it; of the read ones, those of the block that is gathered from */
    bool stores_past;          /* the caches */
    double gather_excess;      /* how often the gathered block comes from memory in a sweep; 0: once */
    double working_bytes;      /* matrix and blocks */
    double passes, reductions; /* solve: of an iteration */
};

/* Not WISP_OK: the context has the message. */
wisp_status bench_open(bench_runner *r, wisp_ctx *ctx, const wisp_src *src);
wisp_status bench_step(bench_runner *r); /* mpk: `powers` steps */
void bench_close(bench_runner *r);
/* Seconds of `steps` calls of bench_step, one step's worth. */
wisp_status bench_time(bench_runner *r, int64_t steps, double *seconds);
/* As many steps as take `wanted` seconds; at least one. Everything was touched then. */
wisp_status bench_find_steps(bench_runner *r, double wanted, int64_t *steps);

/* bench_blas.c: a case of the BLAS in a process of its own, which has the blocks. */
wisp_status bench_blas_open(const tool *t, bench_runner *r, const char *coretype);
wisp_status bench_blas_time(bench_runner *r, int64_t steps, double *seconds);
void bench_blas_close(bench_runner *r);

/* Whether a plain product writes a y of so many bytes past the caches. */
bool bench_stores_past(const bench_runner *r, double block);

/* bench_solve.c: systems of equations, whose steps are the iterations. A and the blocks are there. */
wisp_status bench_solve_open(bench_runner *r);
/* Seconds of an iteration, the mean of so many calls of wisp_solve. */
wisp_status bench_solve_time(bench_runner *r, int64_t calls, double *seconds);
double bench_solve_blocks(wisp_ctx *ctx, const bench_case *c); /* as large as x, that a call has beside the matrix */

/* ---- bench_model.c: the time that a step should take --------------------------------------------- */

/* The same step on a small piece of the matrix, which stays in cache. */
typedef struct {
    bench_runner run;
    double scale; /* rows of the whole matrix over those of the piece */
    int64_t steps;
} bench_piece;

double bench_piece_bytes(const wisp_machine *m); /* that are surely in cache */
/* A small matrix like that of `src`, and the step of `like` on it. */
wisp_status bench_piece_open(bench_piece *p, const bench_runner *like, wisp_ctx *ctx, const wisp_src *src,
                             double cache_bytes);
wisp_status bench_piece_time(bench_piece *p, double *seconds); /* scaled to the whole matrix */
void bench_piece_close(bench_piece *p);

/* What limits a step at a moment. */
typedef struct {
    double load_gbs;     /* of memory */
    double core_seconds; /* of the step with all in cache; 0: not known */
    double gemm_gflops;  /* tsm: the rate of products of square matrices; else 0 */
    double fma_gflops;
    double cache_gbs; /* of the cache that holds all; 0: it is in memory */
} bench_limits;
typedef struct {
    double seconds;
    const char *limit;
} bench_prediction;
bench_prediction bench_predict(const bench_runner *r, const bench_limits *l);
/* Bandwidth of the cache that holds this many bytes; 0 if none does. */
double bench_cache_gbs(const wisp_machine *m, double bytes);

/* ---- rows of the table --------------------------------------------------------------------------- */

typedef struct {
    double q1, median, q3;
} bench_quartiles;
bench_quartiles bench_quartiles_of(double *v, int n); /* sorts v */

typedef struct {
    bench_case what;
    const char *matrix, *order, *format, *device; /* order and format as they are */
    int threads, depth;
    int64_t cache_budget, matrix_bytes; /* mpk; as stored */
    int64_t repeats, steps;             /* of each repetition, one by one */
    bench_quartiles seconds, load, fraction, model, of_model, core, ratio;
    char against[32];                          /* "": no ratio */
    double passes, reductions, ratio_of_bytes; /* solve; the last one (eig, too) as the ratio of times */
    wisp_cost cost;
    double bytes_per_nonzero, gather_excess; /* 0: no matrix */
    double gemm_gflops;                      /* that its rate is set in relation to; 0: none */
    const char *limit;
} bench_row;

typedef struct bench_op_def bench_op_def;
/* The whole run. */
typedef struct {
    bench_op op;
    const bench_op_def *def; /* of it */
    wisp_machine machine;    /* of the context's number of threads */
    gemm_rates gemm;
    const char *matrix; /* NULL: none */
    bool any_type;      /* blocks are of each matrix's type */
    wisp_src src;
    double center, halfwidth;
    json_t *machines, *rows, *skipped;
    bool counted;       /* row_count holds, and cases are run */
    int row_count, row; /* for the progress bar */
} bench;

/* bench_measure.c: the rows of one case, or of several in turn, the last of which the others are set in relation to
   (eig: in single precision, to the same in double).
   Where the matrix can't have the order or format: with `optional` a note instead of a failure. */
enum { BENCH_MOST_CASES = 5 };
int bench_measure(tool *t, bench *b, const bench_case *list, int count, bool optional);

/* bench_rows.c: the rows of a case, and of those that it is set in relation to. */
typedef int bench_rows_fn(tool *t, bench *b, const bench_case *c, bool optional);
bench_rows_fn bench_rows_one, bench_rows_solve, bench_rows_filter, bench_rows_dense;

/* What it needs: a MATRIX, a square one, bounds of its spectrum. What is told beside: the fraction of gemm's rate, the
   ratio of bytes. */
enum { OP_MATRIX = 1, OP_SQUARE = 2, OP_BOUNDS = 4, OP_OF_GEMM = 8, OP_OF_BYTES = 16 };
/* bench_ops.c: an op. Lists are words with a blank between them. */
struct bench_op_def {
    bench_rows_fn *rows; /* NULL: none but bandwidths */
    bench_rows_fn *more; /* likewise, for each of --columns */
    const char *own;     /* options that are there for it alone */
    const char *refuses; /* others that it does not take */
    int64_t widths[6];   /* usual ones; none: those of most ops */
    unsigned is;         /* OP_... */
    unsigned measures;   /* WISP_MEASURE_..., besides the usual ones */
};
extern const bench_op_def bench_ops[];
/* Whether options can ask for it. */
bool bench_has_variant(bench_op op, int variant);

/* bench_out.c */
json_t *bench_row_json(const bench_row *r);
void bench_table_head(const bench_row *r, bool ratio);
void bench_table_row(const bench_row *r);
void bench_stream_table(const wisp_machine *m);
void bench_stream_rows(json_t *rows, const wisp_machine *m);
/* bench_plot.c: o is the whole JSON object. */
int bench_plot(tool *t, const json_t *o, const char *path);
#endif
