/* How the processes of one program wait for each other. Included by one source each. */
#ifndef PEER_MPI_H
#define PEER_MPI_H
#include "peer.h"
#include <mpi.h>

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* The others look now and then, so that they leave the cores to whom they alternate with. */
static int told(int more)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) usleep(500);
    return more;
}
#endif
