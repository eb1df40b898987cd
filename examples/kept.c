/* A solver that is kept for many systems with one matrix: heat that spreads on a plate with cold edges, by implicit
 * steps in time, (1 + dt L) u_new = u_old. There are two plates, columns of one block, which are solved side by side.
 * They begin as waves whose decay is known. Prints what is left of each, and what should be. usage: kept [SIDE [STEPS]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

enum { PLATES = 2 };
static const double pi = 3.14159265358979323846, dt = 5;

/* A row of 1 + dt L, L the Laplacian of a square of points: the point itself and its neighbours within the square. */
static int heat_row(void *arg, int64_t row, int64_t *col, void *val)
{
    const int64_t n = *(const int64_t *)arg, x = row / n, y = row % n;
    const int64_t beside[5] = {row, row - n, row + n, row - 1, row + 1};
    const int inside[5] = {1, x > 0, x<n - 1, y> 0, y < n - 1};
    int entries = 0;
    for (int i = 0; i < 5; i++) {
        if (!inside[i]) continue;
        if (col) {
            col[entries] = beside[i];
            ((double *)val)[entries] = i == 0 ? 1 + 4 * dt : -dt;
        }
        entries++;
    }
    return entries;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 60;
    const int steps = argc > 2 ? atoi(argv[2]) : 20;
    const wisp_src src = {.rows = n * n, .cols = n * n, .max_row = 5, .type = WISP_D, .row = heat_row, .arg = &n};
    double *start = malloc((size_t)(n * n * PLATES) * sizeof *start), before[PLATES], after[PLATES];
    wisp_ctx *ctx = NULL;
    wisp_mat *A = NULL;
    wisp_blk *u = NULL, *old = NULL;
    wisp_solver *solver = NULL;
    wisp_solution s = {0};
    wisp_status status;
    for (int64_t i = 0; start && i < n * n * PLATES; i++) {
        const double wave = pi * (double)(i % PLATES + 1) / (double)(n + 1); /* one half wave, or two */
        start[i] = sin(wave * (double)(i / PLATES / n + 1)) * sin(wave * (double)(i / PLATES % n + 1));
    }
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_create(&A, ctx, &src, &(wisp_mat_opts){.width = PLATES}));
    WISP_TRY(wisp_blk_create(&u, ctx, wisp_mat_map(A), WISP_D, PLATES));
    WISP_TRY(wisp_blk_create(&old, ctx, wisp_mat_map(A), WISP_D, PLATES));
    WISP_TRY(wisp_blk_put(u, WISP_ROW_MAJOR, start, PLATES));
    WISP_TRY(wisp_norm(u, before));
    /* What does not hang on the right-hand side is made once: vectors, and the preconditioner if there is one. */
    WISP_TRY(wisp_solver_create(&solver, A, WISP_D, PLATES, &(wisp_solve_opts){.method = WISP_CG, .tolerance = 1e-10}));
    for (int i = 0; i < steps; i++) {
        WISP_TRY(wisp_copy(old, u));
        WISP_TRY(wisp_solver_solve(solver, &s, u, old, 1)); /* 1: u holds a guess, the temperatures of before */
        wisp_solution_free(&s);
    }
    WISP_TRY(wisp_norm(u, after));
    for (int j = 0; j < PLATES; j++) {
        const double rate = 1 + dt * 4 * (1 - cos(pi * (j + 1) / (double)(n + 1)));
        printf("plate %d: left %.9f exact %.9f\n", j, after[j] / before[j], pow(rate, -steps));
    }
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_solution_free(&s);
    wisp_solver_free(solver);
    wisp_blk_free(old), wisp_blk_free(u), wisp_mat_free(A), wisp_ctx_free(ctx);
    free(start);
    return status != WISP_OK;
}
