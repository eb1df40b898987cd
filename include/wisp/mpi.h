/* Contexts whose work is shared by the processes of an MPI communicator. It is there in builds with MPI, which
 * wisp_features names. Everything else is as base.h says of ranks. */
#ifndef WISP_MPI_H
#define WISP_MPI_H

#include <mpi.h>
#include "wisp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As wisp_ctx_create, by all processes of comm together, which are the ranks of the context; they free it together,
   too, and before MPI_Finalize. MPI has been started by then, with MPI_THREAD_FUNNELED or more: the threads of a
   context leave MPI to the one that calls. Messages go over a copy of comm. Processes on one machine that may use the
   same cores divide them evenly; options that name threads hold for each process. WISP_ERR_ARG: MPI has not been
   started, or comm is MPI_COMM_NULL or an intercommunicator. */
WISP_API wisp_status wisp_ctx_create_mpi_sized(wisp_ctx **ctx, MPI_Comm comm, const wisp_ctx_opts *opts,
                                               size_t opts_size);
#ifndef WISP_BUILDING
static inline wisp_status wisp_ctx_create_mpi(wisp_ctx **ctx, MPI_Comm comm, const wisp_ctx_opts *opts)
{
    return wisp_ctx_create_mpi_sized(ctx, comm, opts, sizeof *opts);
}
#else
wisp_status wisp_ctx_create_mpi(wisp_ctx **ctx, MPI_Comm comm, const wisp_ctx_opts *opts);
#endif

/* *comm becomes the communicator of the context's processes, for a library that exchanges by itself: it copies it
   (MPI_Comm_dup), so that messages do not meet. 0: the context is not of MPI, and *comm is left alone; else 1. */
WISP_API int wisp_ctx_mpi_comm(const wisp_ctx *ctx, MPI_Comm *comm);

#ifdef __cplusplus
}
#endif
#endif
