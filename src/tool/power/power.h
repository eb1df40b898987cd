/* wisp power: what it works on, and its plan. */
#ifndef WISP_TOOL_POWER_H
#define WISP_TOOL_POWER_H
#include "../tool.h"

/* Steps that are handed over at once, between two looks at the norms. */
enum { POWER_AT_ONCE = 16 };

typedef struct {
    int64_t n; /* powers */
    int width, stored;
    double scale;
    wisp_mat *A;
    wisp_mat_info info;
    wisp_type type;
    wisp_blk **v;         /* [stored] v_i in v[(i + 1) % stored] */
    double *norm;         /* [n + 1][width] */
    wisp_scalar *work;    /* of a call: alpha[POWER_AT_ONCE], then dots */
    int64_t cache_budget; /* 0: the context's */
    int depth;
    bool one_by_one;              /* steps, with norms of numbers of any size */
    double largest;               /* so: of the entries */
    wisp_blk *kept;               /* v_0 of a file that can't be read twice; else NULL */
    bool keeps;                   /* there will be one */
    int64_t reading, start_bytes; /* the most that was held when the files were open; what that of v_0 holds */
    double assemble_seconds, seconds, flops;
} powers;

/* power_plan.c: when the files are open. */
int power_plan_show(tool *t, const powers *p, const wisp_src *src, const wisp_mat_opts *mo);
int power_plan_check(tool *t, const powers *p, const wisp_src *src, const wisp_mat_opts *mo);
#endif
