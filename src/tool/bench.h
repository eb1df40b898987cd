/* What the files of `wisp bench` share. */
#ifndef WISP_TOOL_BENCH_H
#define WISP_TOOL_BENCH_H
#include "tool.h"

typedef enum { BENCH_SPMV, BENCH_SPMMV, BENCH_KPM } bench_op;
typedef enum { VARIANT_BLOCKED, VARIANT_NAIVE, VARIANT_REFERENCE } bench_variant;
extern const char *const bench_variant_name[];

/* One way to do an op, with its own matrix and blocks. */
typedef struct bench_runner {
    wisp_ctx *ctx;
    bench_op op;
    bench_variant variant;
    wisp_type type; /* of the blocks */
    int width;
    wisp_mat *A;
    wisp_blk *v, *w, *u;
    wisp_reference *reference;
    wisp_scalar *shift, *dot;
    double center, halfwidth;
    wisp_cost cost;       /* of one step */
    double working_bytes; /* matrix and blocks */
} bench_runner;

/* bench_run.c */
int bench_check(tool *t, const wisp_src *src, bench_op op, bench_variant variant);
int bench_open(tool *t, bench_runner *r, const wisp_src *src);
wisp_status bench_step(bench_runner *r);
void bench_close(bench_runner *r);

typedef struct {
    double q1, median, q3;
} bench_quartiles;
bench_quartiles bench_quartiles_of(double *v, int n); /* sorts v */

/* One row of the table. */
typedef struct {
    bench_op op;
    bench_variant variant;
    wisp_type type;
    int width, threads;
    int64_t steps; /* per repetition */
    bench_quartiles seconds, load, fraction, ratio;
    bool has_ratio;
    wisp_cost cost;
    double model_seconds;
    const char *limit;
} bench_row;

/* bench_out.c */
json_t *bench_row_json(const tool *t, const bench_row *r);
void bench_table_head(const bench_row *r);
void bench_table_row(const bench_row *r);
void bench_stream_table(const wisp_machine *m);
void bench_stream_rows(json_t *rows, const wisp_machine *m);
#endif
