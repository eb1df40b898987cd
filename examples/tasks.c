/* Two solvers side by side, in tasks: each has half of the processing units and a context of its own there. A third
   task, after both, says which was the harder one. usage: tasks [MATRIX MATRIX] */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/task.h>

typedef struct {
    const char *matrix;
    wisp_solution s;
} system_of;

/* A x = b, all b 1. The threads are on the task's units alone. */
static wisp_status solve(wisp_task *task, void *arg)
{
    system_of *system = arg;
    wisp_ctx *ctx = NULL;
    wisp_mat *A = NULL;
    wisp_blk *x = NULL, *b = NULL;
    wisp_status status;
    (void)task;
    WISP_TRY(wisp_ctx_create(&ctx, NULL));
    WISP_TRY(wisp_mat_open(&A, ctx, system->matrix, NULL));
    WISP_TRY(wisp_blk_create(&x, ctx, wisp_mat_map(A), WISP_D, 1));
    WISP_TRY(wisp_blk_create(&b, ctx, wisp_mat_map(A), WISP_D, 1));
    WISP_TRY(wisp_blk_fill(b, (wisp_scalar){1, 0}));
    status = wisp_solve(&system->s, x, A, b, NULL);
    printf("%s: %lld iterations on %d thread%s\n", system->matrix, (long long)system->s.iterations,
           wisp_ctx_threads(ctx), wisp_ctx_threads(ctx) > 1 ? "s" : "");
out:
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "tasks: %s: %s\n", system->matrix, wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_blk_free(b);
    wisp_blk_free(x);
    wisp_mat_free(A);
    wisp_ctx_free(ctx);
    return status;
}

static wisp_status compare(wisp_task *task, void *arg)
{
    const system_of *two = arg;
    (void)task;
    printf("the harder one: %s\n", two[two[1].s.iterations > two[0].s.iterations].matrix);
    return WISP_OK;
}

int main(int argc, char **argv)
{
    system_of two[2] = {{argc > 2 ? argv[1] : "laplace:nx=40,ny=40,nz=40", {0}},
                        {argc > 2 ? argv[2] : "laplace:nx=60,ny=20,nz=20", {0}}};
    wisp_ctx *ctx = NULL;
    wisp_task *task[3] = {NULL};
    wisp_status status;
    /* This context only keeps the queue, so one thread is enough. */
    WISP_TRY(wisp_ctx_create(&ctx, &(wisp_ctx_opts){.threads = 1, .no_pin = 1}));
    const int half = wisp_task_map(ctx, NULL, 0) / 2;
    for (int i = 0; i < 2; i++)
        WISP_TRY(wisp_task_start(&task[i], ctx,
                                 &(wisp_task_opts){.fn = solve, .arg = &two[i], .units = half > 1 ? half : 1}));
    WISP_TRY(
        wisp_task_start(&task[2], ctx, &(wisp_task_opts){.fn = compare, .arg = two, .after = task, .after_count = 2}));
    status = wisp_task_wait(task[2]);
out:
    for (int i = 0; i < 3; i++) wisp_task_free(task[i]);
    for (int i = 0; i < 2; i++) wisp_solution_free(&two[i].s);
    if (status != WISP_OK && ctx) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "tasks: %s\n", wisp_ctx_message(ctx, text, sizeof text));
    }
    wisp_ctx_free(ctx);
    return status == WISP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
