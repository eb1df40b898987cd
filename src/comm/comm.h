/* Ranks: processes that share the work, or threads that stand for them. One interface for a single rank (serial.c), for
   threads of one process (threads.c), and for processes by MPI (mpi.c).

   All ranks make its calls together, in the same order. A rank that has failed still takes part in the next of them,
   where it gives its status in place of data, and all ranks get that status. Their further calls then return it at
   once, until the outermost enter is left. So a failure never leaves a rank waiting. */
#ifndef WISP_COMM_H
#define WISP_COMM_H
#include "../base/base.h"

/* Bytes for another rank, or from it. */
typedef struct wisp__message {
    int rank;
    void *data;
    size_t bytes;
} wisp__message;

typedef struct wisp__comm {
    /* Sets ctx->rank, ctx->ranks, ctx->ranks_here and ctx->node. */
    wisp_status (*open)(wisp_ctx *ctx);
    /* Of a context that was opened, as far as it came. NULL: there is nothing to do. */
    void (*close)(wisp_ctx *ctx);
    /* A call that all ranks make begins, and ends with the same status on all of them: that of the lowest rank that
       failed, whose message they get. Calls may be nested; what ends them is the outermost leave. */
    void (*enter)(wisp_ctx *ctx);
    wisp_status (*leave)(wisp_ctx *ctx, wisp_status status);
    /* x[n] becomes its sum over the ranks, added up in their order: the same bits on all of them, at any time. */
    wisp_status (*sum)(wisp_ctx *ctx, double *x, size_t n);
    /* The same sum in two parts, with any calls in between; x stays as it is until the wait. One at a time. A failure
       ends it on all ranks: then no wait is due. */
    wisp_status (*sum_start)(wisp_ctx *ctx, double *x, size_t n);
    wisp_status (*sum_wait)(wisp_ctx *ctx);
    /* all[ranks][bytes] from what each rank has. */
    wisp_status (*gather)(wisp_ctx *ctx, const void *mine, size_t bytes, void *all);
    /* Messages to other ranks, one each at most, and room for those from them, whose bytes are known; the lists and
       what they point to stay until the wait, and nothing else is called in between. */
    wisp_status (*start)(wisp_ctx *ctx, const wisp__message *to, int to_count, const wisp__message *from,
                         int from_count);
    wisp_status (*wait)(wisp_ctx *ctx);
    /* Between them: waits until more of the messages have come, if any are missing; here[from_count]: which have. */
    wisp_status (*some)(wisp_ctx *ctx, bool *here);
} wisp__comm;

extern const wisp__comm wisp__comm_serial, wisp__comm_threads, wisp__comm_mpi;

/* The one for a context that this thread makes; NULL: it stands for no rank, it has set no communicator. */
const wisp__comm *wisp__comm_here(void), *wisp__threads_here(void), *wisp__mpi_here(void);
/* Contexts that this thread makes from now on are for the processes of a communicator (at an MPI_Comm); NULL: no more.
 */
void wisp__mpi_set(const void *comm);

/* The communicator of the context's processes (to an MPI_Comm), for a library that exchanges by itself while no call of
   this one is under way; false: its ranks are no processes of MPI. */
bool wisp__mpi_comm(const wisp_ctx *ctx, void *comm);

/* comm->sum, for sums that wisp_ctx_counts counts: those of ops and of the user. */
wisp_status wisp__reduce(wisp_ctx *ctx, double *x, size_t n);

/* Messages whose bytes the receivers do not know: to[ranks], of which that to oneself is copied.
 *from[ranks] and what they point to is one array of wisp_alloc. */
wisp_status wisp__comm_exchange(wisp_ctx *ctx, const wisp__message *to, wisp__message **from);
#endif
