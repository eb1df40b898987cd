/* Interleaved steps of a recurrence: schedules of (group, step) by which each step finds rows and vectors in cache. A
   group is some consecutive row blocks; a task is one step of one group; a schedule is a list of tasks. A schedule is
   made by the cascade (cascade_make.c) from a walk, which is an order of the groups (walk.c). */
#ifndef WISP_CASCADE_H
#define WISP_CASCADE_H
#include "../data/shape.h"
#include "../order/graph.h"

/* One schedule, kept with the matrix. */
typedef struct wisp__cascade {
    wisp__schedule schedule; /* without tasks: there is none */
    const char *why;         /* there is none, or it is of no use; NULL: it is */
    int steps;               /* that it interleaves: the depth */
    wisp_type type;          /* of the blocks it was made for */
    int width;
    int64_t row_bytes;           /* of them */
    double budget;               /* of the cache, in bytes */
    wisp__rates rates;           /* of the machine, by which its time was worked out */
    wisp__step_cost step, plain; /* each of its steps; the same for one sweep after the other */
    int users;                   /* who have found and not yet released it */
    int64_t last_use;            /* counted in finds */
    struct wisp__cascade *next;
} wisp__cascade;

/* The schedule for `steps` steps with blocks of that type and width, from the graph of the matrix and for so many bytes
   of cache (0: those of the context), until it is released. *c is NULL if there is none: rows reach too far or are too
   few, half of the matrix is stored, threads are on several memory nodes, or there is no memory for it; the log says
   which when that is found out. */
wisp_status wisp__cascade_find(const wisp_mat *A, wisp_type type, int width, int steps, int64_t cache_budget,
                               const wisp__cascade **c);
/* c may be NULL. */
void wisp__cascade_release(const wisp_mat *A, const wisp__cascade *c);

/* depth.c: the schedule of the depth that a model of time finds best: 2, 4, .. up to `steps` and the most. It is kept
   until it is released; NULL: one sweep after the other. */
wisp_status wisp__depth_find(const wisp_mat *A, wisp_type type, int width, int steps, int64_t cache_budget,
                             const wisp__cascade **c);

/* ---- for the files of the cascade alone -------------------------------------------------------- */

/* Which row blocks are next to each other, in both directions, some twice. */
typedef struct {
    wisp__graph graph;
    bool known, far; /* it was made; it has too many entries, and is not kept */
} wisp__block_graph;

/* depth.c: for which blocks, on which machine, nothing is to be gained, or something. */
typedef struct {
    wisp_type type;
    int width; /* 0: not known */
    int64_t kept;
    wisp__rates rates;
    bool hopeless;
} wisp__foreseen;

/* What is kept with a matrix. */
struct wisp__cascades {
    pthread_mutex_t lock;
    wisp__block_graph blocks;
    wisp__foreseen foreseen;
    int64_t finds;
    const char *last_why; /* why there was none, or none of use, last time */
    wisp__cascade *first;
};

/* Groups of row blocks, with memory to make a schedule of their steps and to run it through the model. */
typedef struct {
    wisp_ctx *ctx;
    const wisp__tuned *tuned;
    int64_t groups, group_blocks, group_rows;
    wisp__graph graph;                 /* of the groups: each is its own first neighbour */
    double vector_bytes, matrix_bytes; /* of a group */
    double budget;                     /* of the cache */
    int steps;
    int64_t wave_groups; /* of the walk, that begin with a wave; 0: there are no waves */
    int32_t *walk, *step;
    int32_t *stack; /* [3][groups]: ready; whether a group is among them; the task by which it became that */
    double *when; /* [2][3][groups]: v of even and odd steps, matrix; in the last cache, and in the second-level ones */
} wisp__groups;

/* cascade_make.c: a schedule for c->steps, c->row_bytes and c->budget, and by c->rates what its steps cost and c->why
   they gain nothing; without tasks if there is none. */
wisp_status wisp__cascade_make(const wisp_mat *A, const wisp__block_graph *g, wisp__cascade *c);

/* walk.c: in which order the groups begin. By rows: as they are stored, in slices through levels of `reach`
   consecutive groups, which nearly all neighbours are within. By levels: breadth first from a pseudo-peripheral group,
   component by component; where steps + 2 levels are more than `most` bytes, cut by levels of another direction into up
   to `pieces` pieces at once, each of which is walked by levels of its own, and so on. */
typedef struct {
    bool by_levels;
    int64_t reach, slices;
    double most;
    int pieces;
} wisp__walk_way;
enum { WISP__WALK_WAYS = 10 };
/* Ways that are worth a look; *n of them. */
wisp_status wisp__walk_ways(const wisp__groups *p, wisp__walk_way way[WISP__WALK_WAYS], int *n);
/* Fills p->walk; *parts: slices, or pieces that were not cut again. */
wisp_status wisp__walk_make(const wisp__groups *p, const wisp__walk_way *way, int64_t *parts);
#endif
