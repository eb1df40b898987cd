/* The smallest eigenvalues of a Hermitian matrix by SLEPc, with wisp's product in a shell matrix of PETSc: wisp works
 * on PETSc's vectors in place. For real and complex builds of PETSc, on one process. usage: slepc [MATRIX [COUNT]],
 * where MATRIX is a file (.mtx, .crs) or names one of the gallery
 */
#include <slepceps.h>
#include <stdio.h>
#include <stdlib.h>
#include <wisp/wisp.h>

#ifdef PETSC_USE_COMPLEX
static const wisp_type type = WISP_Z;
#else
static const wisp_type type = WISP_D;
#endif

typedef struct {
    wisp_ctx *ctx;
    wisp_mat *A;
    int products;
} shell;

/* y = A x for arrays of numbers of PETSc's type. */
static wisp_status multiply_arrays(shell *s, const PetscScalar *x, PetscScalar *y)
{
    wisp_blk *in = NULL, *out = NULL;
    wisp_map *map = wisp_mat_map(s->A);
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_blk_borrow(&in, s->ctx, map, type, 1, (void *)(uintptr_t)x, 1)); /* which is read alone */
    WISP_TRY(wisp_blk_borrow(&out, s->ctx, map, type, 1, y, 1));
    status = wisp_spmmv(out, s->A, in, NULL);
    s->products++;
out:
    wisp_blk_free(in);
    wisp_blk_free(out);
    return status;
}

static PetscErrorCode multiply(Mat mat, Vec x, Vec y)
{
    shell *s;
    const PetscScalar *from;
    PetscScalar *to;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(mat, &s));
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(VecGetArrayWrite(y, &to));
    const wisp_status status = multiply_arrays(s, from, to);
    PetscCall(VecRestoreArrayWrite(y, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    char text[WISP_MESSAGE];
    PetscCheck(status == WISP_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "wisp: %s",
               wisp_ctx_message(s->ctx, text, sizeof text));
    PetscFunctionReturn(0);
}

static PetscErrorCode find(shell *s, int count)
{
    wisp_mat_info info;
    Mat mat;
    EPS eps;
    PetscInt found;
    PetscFunctionBeginUser;
    wisp_mat_get_info(s->A, &info);
    const PetscInt n = (PetscInt)info.rows;
    PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, s, &mat));
    PetscCall(MatShellSetOperation(mat, MATOP_MULT, (void (*)(void))multiply));
    PetscCall(EPSCreate(PETSC_COMM_SELF, &eps));
    PetscCall(EPSSetOperators(eps, mat, NULL));
    PetscCall(EPSSetProblemType(eps, EPS_HEP));
    PetscCall(EPSSetWhichEigenpairs(eps, EPS_SMALLEST_REAL));
    PetscCall(EPSSetDimensions(eps, count, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(EPSSetTolerances(eps, 1e-12, 1000));
    PetscCall(EPSSolve(eps));
    PetscCall(EPSGetConverged(eps, &found));
    for (PetscInt i = 0; i < found && i < count; i++) {
        PetscScalar value;
        PetscCall(EPSGetEigenvalue(eps, i, &value, NULL));
        printf("eigenvalue %.12f\n", (double)PetscRealPart(value));
    }
    printf("%d products\n", s->products);
    PetscCall(EPSDestroy(&eps));
    PetscCall(MatDestroy(&mat));
    PetscFunctionReturn(0);
}

static wisp_status open_matrix(shell *s, const char *name)
{
    wisp_mat_info info;
    wisp_status status = WISP_OK;
    WISP_TRY(wisp_ctx_create(&s->ctx, NULL));
    /* Rows in natural order, unsorted, so that PETSc's arrays can be borrowed. */
    WISP_TRY(wisp_mat_open(&s->A, s->ctx, name, &(wisp_mat_opts){.width = 1, .order = WISP_ROWS_NATURAL, .sigma = 1}));
    wisp_mat_get_info(s->A, &info);
    if (type == WISP_D && wisp_type_is_complex(info.type))
        status = wisp_ctx_failf(s->ctx, WISP_ERR_UNSUPPORTED, "%s is complex, and this PETSc takes real numbers", name);
out:
    return status;
}

int main(int argc, char **argv)
{
    shell s = {0};
    const wisp_status status = open_matrix(&s, argc > 1 ? argv[1] : "hubbard:sites=8");
    if (status != WISP_OK) {
        char text[WISP_MESSAGE];
        fprintf(stderr, "%s: %s\n", wisp_status_string(status), wisp_ctx_message(s.ctx, text, sizeof text));
    }
    PetscErrorCode error = status != WISP_OK;
    if (status == WISP_OK && SlepcInitialize(NULL, NULL, NULL, NULL) == 0) {
        error = find(&s, argc > 2 ? atoi(argv[2]) : 6);
        SlepcFinalize();
    }
    wisp_mat_free(s.A);
    wisp_ctx_free(s.ctx);
    return error != 0;
}
