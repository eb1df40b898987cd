/* What programs of PETSc share: calls that must not fail. */
#ifndef PEER_PETSC_H
#define PEER_PETSC_H
#include "peer_mpi.h"
#include <petscsys.h>

#define CHECK(call)                                                   \
    do {                                                              \
        if ((call) != 0) peer_fail("PETSc", "a call failed: " #call); \
    } while (0)
#endif
