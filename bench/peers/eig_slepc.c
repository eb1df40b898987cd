/* SLEPc's eigensolvers, on as many processes as mpiexec starts. PROGRAM FILE HERMITIAN OPTIONS...: HERMITIAN is 1 or 0,
 * options are SLEPc's own (-eps_nev, -st_type, ...). One run, and one JSON line about it. */
#include "peer_petsc.h"
#include <slepceps.h>

static void report(EPS eps, double seconds)
{
    PetscInt found;
    PetscScalar value, unused;
    PetscReal low = INFINITY, high = -INFINITY, worst = 0, error;
    int rank;
    CHECK(EPSGetConverged(eps, &found));
    for (PetscInt i = 0; i < found; i++) {
        CHECK(EPSGetEigenvalue(eps, i, &value, &unused));
        CHECK(EPSComputeError(eps, i, EPS_ERROR_ABSOLUTE, &error));
        low = fmin(low, PetscRealPart(value)), high = fmax(high, PetscRealPart(value));
        worst = fmax(worst, error);
    }
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    if (rank == 0)
        printf("{\"version\": \"SLEPc %d.%d\", \"seconds\": %.6g, \"found\": %d, \"low\": %.15g, \"high\": %.15g, "
               "\"residual\": %.3g}\n",
               SLEPC_VERSION_MAJOR, SLEPC_VERSION_MINOR, seconds, (int)found, low, high, worst);
}

int main(int argc, char **argv)
{
    CHECK(SlepcInitialize(&argc, &argv, NULL, NULL));
    if (argc < 3) peer_fail("usage", "FILE HERMITIAN OPTIONS...");
    int rank, ranks;
    Mat A;
    EPS eps;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    const peer_matrix m = peer_read(argv[1], rank, ranks);
    if ((m.reals == 2) != (sizeof(PetscScalar) == 16)) peer_fail(argv[1], "another build of PETSc has its numbers");
    const PetscInt n = (PetscInt)m.count, rows = (PetscInt)m.rows;
    CHECK(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, n, n, rows, rows, m.rowptr, m.col, (PetscScalar *)m.val, &A));
    if (*argv[2] == '1') CHECK(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    CHECK(EPSCreate(PETSC_COMM_WORLD, &eps));
    CHECK(EPSSetOperators(eps, A, NULL));
    CHECK(EPSSetProblemType(eps, *argv[2] == '1' ? EPS_HEP : EPS_NHEP));
    CHECK(EPSSetFromOptions(eps));
    MPI_Barrier(PETSC_COMM_WORLD);
    const double began = peer_clock();
    CHECK(EPSSolve(eps));
    report(eps, peer_clock() - began);
    CHECK(EPSDestroy(&eps));
    CHECK(MatDestroy(&A));
    return SlepcFinalize();
}
