/* Linear systems. */
#include "solver.h"

wisp_status wisp_solve(wisp_solution *s, wisp_blk *x, const wisp_mat *A, const wisp_blk *b, const wisp_solve_opts *opts)
{
    (void)s, (void)x, (void)A, (void)b, (void)opts;
    return WISP_ERR_UNSUPPORTED;
}

void wisp_solution_free(wisp_solution *s) { (void)s; }

int64_t wisp_solve_plan(int64_t rows, wisp_type type, int width, const wisp_solve_opts *opts)
{
    (void)rows, (void)type, (void)width, (void)opts;
    return 0;
}
