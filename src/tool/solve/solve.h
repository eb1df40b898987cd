/* wisp solve: what its files share. */
#ifndef WISP_TOOL_SOLVE_H
#define WISP_TOOL_SOLVE_H
#include "../names.h"
#include "../out/out.h"

typedef struct {
    wisp_src matrix, rhs, x0, null; /* all but the matrix: without a row function if no file was given */
    wisp_src adjoint;               /* least squares: A^H; else the same */
} solve_inputs;

typedef struct {
    wisp_solve_opts opts;
    wisp_solution s;
    wisp_status status; /* of wisp_solve */
    wisp_mat_info info;
    wisp_type type; /* of b and x */
    int columns;
    int null_columns; /* of the null space; 0: it was not given */
    bool least;       /* least squares */
    double assemble_seconds;
} solve_results;

/* cmd_solve.c: on which side the method has a preconditioner, as wisp_solution says it; 0: it has no choice. */
wisp_side solve_side(const wisp_solve_opts *o, wisp_method method);

/* solve_plan.c: reading: the most that was held while the inputs were read. */
int solve_plan_show(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading);
int solve_plan_check(tool *t, const solve_inputs *in, const wisp_mat_opts *mo, const solve_results *r, int64_t reading);

/* solve_out.c */
bool solve_solved(const wisp_solution *s); /* each column within its tolerance: x is not just that of least residual */
void solve_summary(const tool *t, const solve_results *r);
int solve_write(tool *t, const solve_results *r, const wisp_blk *x); /* all outputs that the options ask for */
#endif
