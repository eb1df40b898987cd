/* PETSc's KSP without a preconditioner, on as many processes as mpiexec starts. PROGRAM FILE METHOD ITERATIONS
 * TOLERANCE: so many iterations at most; METHOD is a name of PETSc's. */
#include "peer_petsc.h"
#include <petscksp.h>

typedef struct {
    KSP ksp;
    Vec x, b;
} linear_system;

static void step(void *arg)
{
    linear_system *p = arg;
    CHECK(KSPSolve(p->ksp, p->b, p->x));
}

static double square(void *arg)
{
    linear_system *p = arg;
    PetscReal norm;
    CHECK(VecNorm(p->x, NORM_2, &norm));
    return norm * norm;
}

static int64_t iterations(void *arg)
{
    linear_system *p = arg;
    PetscInt n;
    CHECK(KSPGetIterationNumber(p->ksp, &n));
    return n;
}

static void make(linear_system *p, const peer_matrix *m, const char *method, int most, double tolerance)
{
    Mat A;
    PC pc;
    PetscScalar *b;
    const PetscInt n = (PetscInt)m->count, rows = (PetscInt)m->rows, cols = (PetscInt)m->cols;
    CHECK(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, n, n, rows, cols, m->rowptr, m->col, m->val, &A));
    CHECK(MatCreateVecs(A, &p->x, &p->b));
    CHECK(VecGetArray(p->b, &b));
    for (PetscInt i = 0; i < n; i++) b[i] = peer_x(m->first + i, 0, 0);
    CHECK(VecRestoreArray(p->b, &b));
    CHECK(KSPCreate(PETSC_COMM_WORLD, &p->ksp));
    CHECK(KSPSetOperators(p->ksp, A, A));
    CHECK(KSPSetType(p->ksp, method));
    CHECK(KSPGetPC(p->ksp, &pc));
    CHECK(PCSetType(pc, PCNONE));
    CHECK(KSPSetTolerances(p->ksp, tolerance, 0, PETSC_DEFAULT, most));
    CHECK(KSPSetUp(p->ksp));
}

int main(int argc, char **argv)
{
    CHECK(PetscInitialize(&argc, &argv, NULL, NULL));
    if (argc < 5) peer_fail("usage", "FILE METHOD ITERATIONS TOLERANCE");
    int rank, ranks;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    const peer_matrix m = peer_read(argv[1], rank, ranks);
    if (m.reals != 1) peer_fail(argv[1], "real matrices alone are compared");
    linear_system p;
    make(&p, &m, argv[2], atoi(argv[3]), atof(argv[4]));
    free(m.rowptr), free(m.col), free(m.val);
    char version[128];
    snprintf(version, sizeof version, "PETSc %d.%d.%d, Debian's generic-ISA build, AIJ", PETSC_VERSION_MAJOR,
             PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR);
    const peer all = {.version = version,
                      .step = step,
                      .square = square,
                      .arg = &p,
                      .rank = rank,
                      .ranks = ranks,
                      .barrier = barrier,
                      .told = told,
                      .iterations = iterations};
    peer_serve(&all);
    return PetscFinalize();
}
