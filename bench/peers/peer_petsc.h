/* What programs of PETSc share: calls that must not fail, and how the processes wait for each other. Included by one
 * source each. */
#ifndef PEER_PETSC_H
#define PEER_PETSC_H
#include "peer.h"
#include <petscsys.h>

#define CHECK(call)                                                   \
    do {                                                              \
        if ((call) != 0) peer_fail("PETSc", "a call failed: " #call); \
    } while (0)

static void barrier(void) { MPI_Barrier(PETSC_COMM_WORLD); }

/* The others look now and then, so that they leave the cores to whom they alternate with. */
static int told(int more)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibcast(&more, 1, MPI_INT, 0, PETSC_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) usleep(500);
    return more;
}
#endif
