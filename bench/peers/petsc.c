/* PETSc's MatMult (AIJ, SELL) and, for blocks, MatMatMult with a dense matrix (column-major), on as many processes
 * as mpiexec starts. VARIANT: "petsc" AIJ, "petsc-sell". Built against the real and against the complex library. */
#include "peer_petsc.h"
#include <petscmat.h>

typedef struct {
    Mat A, X, Y;
    Vec x, y;
    int width;
} product;

static void step(void *arg)
{
    product *p = arg;
    if (p->width == 1)
        CHECK(MatMult(p->A, p->x, p->y));
    else
        CHECK(MatMatMult(p->A, p->X, MAT_REUSE_MATRIX, PETSC_DEFAULT, &p->Y));
}

static double square(void *arg)
{
    product *p = arg;
    PetscReal norm;
    if (p->width == 1)
        CHECK(VecNorm(p->y, NORM_2, &norm));
    else
        CHECK(MatNorm(p->Y, NORM_FROBENIUS, &norm));
    return norm * norm;
}

static void fill(PetscScalar *x, const peer_matrix *m, int column)
{
    for (int64_t i = 0; i < m->count; i++) {
        const double re = peer_x(m->first + i, column, 0), im = peer_x(m->first + i, column, 1);
#ifdef PETSC_USE_COMPLEX
        x[i] = re + im * PETSC_i;
#else
        x[i] = re, (void)im;
#endif
    }
}

static void make_vectors(product *p, const peer_matrix *m)
{
    PetscScalar *x;
    if (p->width == 1) {
        CHECK(MatCreateVecs(p->A, &p->x, &p->y));
        CHECK(VecGetArray(p->x, &x));
        fill(x, m, 0);
        CHECK(VecRestoreArray(p->x, &x));
        return;
    }
    PetscInt ld;
    const PetscInt n = (PetscInt)m->count, cols = (PetscInt)m->cols;
    CHECK(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, cols, p->width, NULL, &p->X));
    CHECK(MatDenseGetLDA(p->X, &ld));
    CHECK(MatDenseGetArray(p->X, &x));
    for (int j = 0; j < p->width; j++) fill(x + (size_t)j * (size_t)ld, m, j);
    CHECK(MatDenseRestoreArray(p->X, &x));
    CHECK(MatAssemblyBegin(p->X, MAT_FINAL_ASSEMBLY));
    CHECK(MatAssemblyEnd(p->X, MAT_FINAL_ASSEMBLY));
    CHECK(MatMatMult(p->A, p->X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p->Y));
}

int main(int argc, char **argv)
{
    CHECK(PetscInitialize(&argc, &argv, NULL, NULL));
    if (argc < 4 || atoi(argv[2]) < 1) peer_fail("usage", "FILE WIDTH VARIANT");
    int rank, ranks;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    const peer_matrix m = peer_read(argv[1], rank, ranks);
    if ((size_t)m.reals * sizeof(double) != sizeof(PetscScalar)) peer_fail(argv[1], "for the other scalar type");
    product p = {.width = atoi(argv[2])};
    const PetscInt n = (PetscInt)m.count, rows = (PetscInt)m.rows, cols = (PetscInt)m.cols;
    CHECK(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, n, n, rows, cols, m.rowptr, m.col, (PetscScalar *)m.val, &p.A));
    free(m.rowptr), free(m.col), free(m.val);
    const int sell = strcmp(argv[3], "petsc-sell") == 0;
    if (sell) CHECK(MatConvert(p.A, MATSELL, MAT_INPLACE_MATRIX, &p.A));
    make_vectors(&p, &m);

    char version[128];
    snprintf(version, sizeof version, "PETSc %d.%d.%d, Debian's generic-ISA build, %s, %s scalars", PETSC_VERSION_MAJOR,
             PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, sell ? "SELL" : "AIJ", m.reals == 2 ? "complex" : "real");
    const peer all = {.version = version,
                      .step = step,
                      .square = square,
                      .arg = &p,
                      .rank = rank,
                      .ranks = ranks,
                      .barrier = barrier,
                      .told = told};
    peer_serve(&all);
    return PetscFinalize();
}
