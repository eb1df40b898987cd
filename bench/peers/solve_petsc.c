/* PETSc's KSP, on as many processes as mpiexec starts. PROGRAM FILE METHOD ITERATIONS TOLERANCE PRECOND [OPTION...]: so
 * many iterations at most; METHOD is a name of PETSc's, PRECOND one of wisp's, and options are PETSc's. */
#include "peer_petsc.h"
#include <petscksp.h>

typedef struct {
    Mat A;
    KSP ksp;
    PC pc;
    Vec x, b, other; /* other: room for what is not timed */
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

static double residual(void *arg)
{
    linear_system *p = arg;
    PetscReal r, b;
    CHECK(MatMult(p->A, p->x, p->other));
    CHECK(VecAXPY(p->other, -1, p->b));
    CHECK(VecNorm(p->other, NORM_2, &r));
    CHECK(VecNorm(p->b, NORM_2, &b));
    return r / b;
}

static double apply(linear_system *p)
{
    barrier();
    const double began = peer_clock();
    CHECK(PCApply(p->pc, p->b, p->other));
    barrier();
    return peer_clock() - began;
}

/* What is made by the first application (the diagonal of Jacobi) is the difference of that from a second one. */
static double setup(void *arg)
{
    linear_system *p = arg;
    CHECK(PCReset(p->pc));
    CHECK(KSPSetOperators(p->ksp, p->A, p->A));
    barrier();
    const double began = peer_clock();
    CHECK(KSPSetUp(p->ksp));
    CHECK(KSPSetUpOnBlocks(p->ksp));
    const double seconds = peer_clock() - began + apply(p);
    return seconds - apply(p);
}

/* Named as wisp names them. The factors are those of a process's own rows and columns, as are wisp's of a rank. */
static void choose_precond(linear_system *p, const char *name, const char *method)
{
    const int factors = !strcmp(name, "ilu") || !strcmp(name, "ic"), none = !strcmp(name, "none");
    CHECK(KSPGetPC(p->ksp, &p->pc));
    CHECK(PCSetType(p->pc, none ? PCNONE : factors ? PCBJACOBI : !strcmp(name, "amg") ? PCHYPRE : PCJACOBI));
    if (factors) CHECK(PetscOptionsSetValue(NULL, "-sub_pc_type", name[1] == 'l' ? PCILU : PCICC));
    if (!strcmp(name, "amg")) CHECK(PCHYPRESetType(p->pc, "boomeramg"));
    if (none) return;
    /* A call ends by |b - A x|, as wisp's does. */
    CHECK(KSPSetNormType(p->ksp, KSP_NORM_UNPRECONDITIONED));
    CHECK(KSPSetPCSide(p->ksp, strstr(method, "cg") && !strstr(method, "cgs") ? PC_LEFT : PC_RIGHT));
    CHECK(PCSetFromOptions(p->pc));
}

static void make(linear_system *p, const peer_matrix *m, const char *method, int most, double tolerance,
                 const char *precond)
{
    PetscScalar *b;
    const PetscInt n = (PetscInt)m->count, rows = (PetscInt)m->rows, cols = (PetscInt)m->cols;
    CHECK(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, n, n, rows, cols, m->rowptr, m->col, m->val, &p->A));
    CHECK(MatCreateVecs(p->A, &p->x, &p->b));
    CHECK(VecDuplicate(p->b, &p->other));
    CHECK(VecGetArray(p->b, &b));
    for (PetscInt i = 0; i < n; i++) b[i] = peer_x(m->first + i, 0, 0);
    CHECK(VecRestoreArray(p->b, &b));
    CHECK(KSPCreate(PETSC_COMM_WORLD, &p->ksp));
    CHECK(KSPSetOperators(p->ksp, p->A, p->A));
    CHECK(KSPSetType(p->ksp, strcmp(method, "bicgstab") ? method : KSPBCGS)); /* by either name */
    choose_precond(p, precond, method);
    CHECK(KSPSetTolerances(p->ksp, tolerance, 0, PETSC_DEFAULT, most));
    CHECK(KSPSetUp(p->ksp));
}

int main(int argc, char **argv)
{
    CHECK(PetscInitialize(&argc, &argv, NULL, NULL));
    if (argc < 6) peer_fail("usage", "FILE METHOD ITERATIONS TOLERANCE PRECOND [OPTION...]");
    int rank, ranks;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    const peer_matrix m = peer_read(argv[1], rank, ranks);
    if (m.reals != 1) peer_fail(argv[1], "real matrices alone are compared");
    linear_system p;
    make(&p, &m, argv[2], atoi(argv[3]), atof(argv[4]), argv[5]);
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
                      .iterations = iterations,
                      .residual = residual,
                      .setup = strcmp(argv[5], "none") ? setup : NULL};
    peer_serve(&all);
    return PetscFinalize();
}
