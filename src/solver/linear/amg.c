/* Algebraic multigrid by HYPRE's BoomerAMG (Henson and Yang 2002, Appl. Numer. Math. 41, 155): one V-cycle from 0. Its
   library is opened when it is first asked for, for it loads others, and a BLAS with threads among them. It exchanges
   by MPI, also in a process alone. */
#include "../../late/late.h"
#include "amg_calls.h"
#include "precond.h"
#include "config.h"
#ifdef WISP_HAVE_HYPRE
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wisp/mpi.h>

/* ---- the library ---------------------------------------------------------------------------------- */

static struct {
#define MEMBER(name) __typeof__(HYPRE_##name) *name;
    WISP__HYPRE(MEMBER)
} hypre;

/* HYPRE has globals. Calls of several processes come in the order in which process 0 has the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *refusal; /* NULL: it may be called, once it is open */
static char why[WISP__LATE_WHY];
static bool tried;

static void end_mpi(void)
{
    int ended;
    MPI_Finalized(&ended);
    if (!ended) MPI_Finalize();
}

/* Whether a launcher waits for all of its processes to begin MPI: one alone would wait for the others. */
static bool is_one_of_many(void)
{
    static const char *const name[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *size = getenv(name[i]);
        if (size && atoi(size) > 1) return true;
    }
    return false;
}

/* Who has begun it ends it. Open MPI starts no daemon for a process that says it is alone. */
static void begin_mpi(void)
{
    static const char alone[] = "OMPI_MCA_ess_singleton_isolated";
    const bool set = !getenv(alone) && !setenv(alone, "1", 0);
    int level;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (set) unsetenv(alone);
    atexit(end_mpi);
}

static void open_library(void)
{
    static const char *const name[] = {
#define NAME(name) "HYPRE_" #name,
        WISP__HYPRE(NAME)};
    int begun, ended;
    if (!wisp__late_open(WISP_HYPRE_LIBRARY, name, sizeof name / sizeof *name, &hypre, why)) {
        refusal = why;
        return;
    }
    MPI_Finalized(&ended);
    if (ended) {
        refusal = "MPI has been ended, and it needs that";
        return;
    }
    MPI_Initialized(&begun);
    if (!begun && is_one_of_many()) {
        refusal = "it needs MPI, which all processes of mpirun have to start: call MPI_Init_thread before";
        return;
    }
    if (!begun) begin_mpi();
    hypre.Init();
}

static wisp_status find_library(wisp_ctx *ctx)
{
    pthread_mutex_lock(&lock);
    if (!tried) open_library();
    tried = true;
    pthread_mutex_unlock(&lock);
    if (!refusal) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "opts.precond: multigrid needs HYPRE's library (Debian: libhypre-dev): %s", refusal);
}

/* ---- made ---------------------------------------------------------------------------------------- */

struct wisp__amg {
    wisp_ctx *ctx;
    MPI_Comm comm; /* a copy, or that of this process alone */
    bool copied;
    HYPRE_IJMatrix matrix;
    HYPRE_IJVector b, x;
    HYPRE_Solver solver;
    HYPRE_ParCSRMatrix A;
    HYPRE_ParVector B, X;
    bool shares; /* it counts in `shared` */
    int64_t rows;
    double *column;    /* [rows] */
    double other_rows; /* of all ranks: those that do not sum to 0; -1: not known yet */
};

/* Those of several processes, whose calls wait for each other: of one group, whose process 0 says whose turn it is. */
static struct {
    int count;
    MPI_Group group;
} shared;

/* No rank waits within HYPRE for one that has failed before it. */
static wisp_status agree(wisp_ctx *ctx)
{
    return wisp_ctx_processes(ctx) > 1 ? wisp_ctx_sum(ctx, &(double){0}, 1) : WISP_OK;
}

/* Calls of HYPRE from here to leave: meanwhile no thread has others, of any process that shares the work. After a
   failure there is nothing to leave. */
static wisp_status enter(const wisp__amg *m)
{
    const bool first = wisp_ctx_rank(m->ctx) == 0;
    if (first) pthread_mutex_lock(&lock);
    const wisp_status status = agree(m->ctx);
    if (!first && status == WISP_OK) pthread_mutex_lock(&lock);
    if (first && status != WISP_OK) pthread_mutex_unlock(&lock);
    return status;
}

static wisp_status leave(const wisp__amg *m, wisp_status status)
{
    const bool first = wisp_ctx_rank(m->ctx) == 0;
    if (!first) pthread_mutex_unlock(&lock);
    if (status == WISP_OK) status = agree(m->ctx);
    if (first) pthread_mutex_unlock(&lock);
    return status;
}

/* Of the calls before. */
static wisp_status check_errors(const wisp__amg *m, const char *what)
{
    wisp_ctx *ctx = m->ctx;
    char text[128] = "";
    const HYPRE_Int error = hypre.GetError();
    hypre.ClearAllErrors();
    if (!(error & ~HYPRE_ERROR_CONV)) return WISP_OK;
    hypre.DescribeError(error, text);
    text[strcspn(text, "\n")] = '\0';
    if (m->other_rows == 0 && !(error & HYPRE_ERROR_MEMORY))
        return wisp_ctx_fail(ctx, WISP_ERR_SINGULAR,
                             "multigrid: the matrix is singular: each of its rows sums to 0, so that it makes 0 of the "
                             "constant vector: give that as opts.null, or take another opts.precond");
    return wisp_ctx_failf(ctx, error & HYPRE_ERROR_MEMORY ? WISP_ERR_NOMEM : WISP_ERR_NUMERIC,
                          "HYPRE can't %s the multigrid preconditioner (error %d: %s): take another opts.precond", what,
                          (int)error, text);
}

static wisp_status check(const wisp_mat *A)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    if (info.format == WISP_FORMAT_OPERATOR)
        return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                              "an operator has no entries for a multigrid preconditioner: take a polynomial, or a "
                              "function (WISP_PRECOND_APPLY)");
    if (wisp_type_is_complex(info.type))
        return wisp_ctx_failf(
            ctx, WISP_ERR_UNSUPPORTED,
            "the multigrid preconditioner is for real matrices, and this one is %s: take another opts.precond",
            wisp_type_name(info.type));
    if (sizeof(HYPRE_BigInt) == sizeof(int) && (info.rows > INT32_MAX || info.local_nnz > INT32_MAX))
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW,
                              "HYPRE's integers are too short for %lld rows, %lld entries of a process: take another "
                              "opts.precond",
                              (long long)info.rows, (long long)info.local_nnz);
    return WISP_OK;
}

/* Whether its processes, with their order, are those of all others that are shared: then it is one more of them. */
static bool share(wisp__amg *m)
{
    MPI_Group group;
    int result = MPI_IDENT;
    MPI_Comm_group(m->comm, &group);
    pthread_mutex_lock(&lock);
    if (shared.count > 0) MPI_Group_compare(group, shared.group, &result);
    m->shares = result == MPI_IDENT;
    const bool keeps = m->shares && shared.count == 0;
    if (keeps) shared.group = group;
    shared.count += m->shares;
    pthread_mutex_unlock(&lock);
    if (!keeps) MPI_Group_free(&group);
    return m->shares;
}

/* With the lock. */
static void end_share(wisp__amg *m, bool mpi_ended)
{
    if (!m->shares || --shared.count > 0 || mpi_ended) return;
    MPI_Group_free(&shared.group);
}

static wisp_status choose_comm(wisp__amg *m)
{
    MPI_Comm comm;
    m->comm = MPI_COMM_SELF;
    if (wisp_ctx_mpi_comm(m->ctx, &comm)) {
        MPI_Comm_dup(comm, &m->comm);
        m->copied = true;
        if (!share(m))
            return wisp_ctx_fail(m->ctx, WISP_ERR_UNSUPPORTED,
                                 "multigrid is in use by another context, of other processes than this one's, which "
                                 "could wait for each other for ever: end that solver before, or take another "
                                 "opts.precond");
    } else if (wisp_ctx_processes(m->ctx) > 1) {
        return wisp_ctx_fail(m->ctx, WISP_ERR_UNSUPPORTED,
                             "the multigrid preconditioner takes ranks that are processes of MPI, not threads: take "
                             "another opts.precond, or one rank");
    }
    return WISP_OK;
}

/* Whether it is so but for rounding. */
static bool sums_to_zero(int count, const double *val)
{
    double sum = 0, all = 0;
    for (int k = 0; k < count; k++) sum += val[k], all += fabs(val[k]);
    return fabs(sum) <= 4 * DBL_EPSILON * count * all;
}

/* The diagonal is in each row, as smoothers need it. */
static wisp_status check_row(wisp_ctx *ctx, int64_t row, int count, const int64_t *col, const double *val,
                             double factor, const char *definite)
{
    double diagonal = 0;
    if (count < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_CALLBACK, "preconditioner: row %lld of the matrix can't be read",
                              (long long)row);
    for (int k = 0; k < count; k++)
        if (col[k] == row) diagonal += val[k];
    if (diagonal == 0)
        return wisp_ctx_failf(ctx, WISP_ERR_BREAKDOWN,
                              "the diagonal of row %lld is zero or missing, and multigrid needs it: take another "
                              "opts.precond",
                              (long long)row);
    if (definite && diagonal < 0)
        return wisp_ctx_failf(ctx, WISP_ERR_INDEFINITE,
                              "the diagonal of row %lld is %g, so that the matrix is not positive definite: take %s",
                              (long long)row, diagonal / factor, definite);
    return WISP_OK;
}

/* A rank's rows, as HYPRE takes them. */
typedef struct {
    HYPRE_Int *count; /* [rows] */
    HYPRE_BigInt *row, *col;
    double *val; /* as col, [entries] */
} rows;

static wisp_status read_rows(wisp__amg *m, rows *r, const wisp_mat *A, double factor, const char *definite,
                             bool singular)
{
    enum { OF_A_STEP = 1 << 14 };
    wisp_src src = {0};
    wisp_mat_info info;
    int64_t first, *col = NULL, at = 0;
    double *val = NULL;
    wisp_status status;
    wisp_map_local(wisp_mat_map(A), &first);
    wisp_mat_get_info(A, &info);
    m->other_rows = 0;
    WISP_TRY(wisp_src_open_mat(&src, A));
    const size_t n = (size_t)m->rows + 1, entries = (size_t)info.local_nnz + 1, longest = (size_t)src.max_row + 1;
    WISP_TRY(wisp_alloc(m->ctx, &r->count, n, sizeof *r->count));
    WISP_TRY(wisp_alloc(m->ctx, &r->row, n, sizeof *r->row));
    WISP_TRY(wisp_alloc(m->ctx, &r->col, entries, sizeof *r->col));
    WISP_TRY(wisp_alloc(m->ctx, &r->val, entries, sizeof *r->val));
    WISP_TRY(wisp_alloc(m->ctx, &col, longest, sizeof *col));
    WISP_TRY(wisp_alloc(m->ctx, &val, longest, sizeof *val));
    for (int64_t i = 0; i < m->rows; i++) {
        const int count = src.row(src.arg, first + i, col, val);
        for (int k = count - 1; k >= 0; k--) val[k] = factor * creal(wisp__number_at(src.type, val, k));
        WISP_TRY(check_row(m->ctx, first + i, count, col, val, factor, definite));
        if (i % OF_A_STEP == 0) WISP_TRY(wisp_ctx_step(m->ctx, "reading for multigrid", 0, 0));
        m->other_rows += !sums_to_zero(count, val);
        for (int k = 0; k < count; k++)
            if (singular && col[k] == first + i) val[k] *= 1 + 1e-8;
        r->count[i] = count;
        r->row[i] = (HYPRE_BigInt)(first + i);
        for (int k = 0; k < count; k++) r->col[at] = (HYPRE_BigInt)col[k], r->val[at++] = val[k];
    }
out:
    wisp_free(m->ctx, col);
    wisp_free(m->ctx, val);
    wisp_src_close(&src);
    return status;
}

static void free_rows(wisp_ctx *ctx, rows *r)
{
    wisp_free(ctx, r->count);
    wisp_free(ctx, r->row);
    wisp_free(ctx, r->col);
    wisp_free(ctx, r->val);
}

static void make_vector(const wisp__amg *m, HYPRE_BigInt first, HYPRE_BigInt last, HYPRE_IJVector *v,
                        HYPRE_ParVector *p)
{
    hypre.IJVectorCreate(m->comm, first, last, v);
    hypre.IJVectorSetObjectType(*v, HYPRE_PARCSR);
    hypre.IJVectorInitialize(*v);
    hypre.IJVectorAssemble(*v);
    hypre.IJVectorGetObject(*v, (void **)p);
}

static void make_matrix(wisp__amg *m, HYPRE_BigInt first, HYPRE_BigInt last, rows *r)
{
    hypre.IJMatrixCreate(m->comm, first, last, first, last, &m->matrix);
    hypre.IJMatrixSetObjectType(m->matrix, HYPRE_PARCSR);
    hypre.IJMatrixSetRowSizes(m->matrix, r->count);
    hypre.IJMatrixInitialize(m->matrix);
    if (m->rows > 0) hypre.IJMatrixSetValues(m->matrix, (HYPRE_Int)m->rows, r->count, r->row, r->col, r->val);
    hypre.IJMatrixAssemble(m->matrix);
    hypre.IJMatrixGetObject(m->matrix, (void **)&m->A);
}

/* HYPRE's own choices are HMIS and extended+i interpolation of four entries a row. An l1-Gauss-Seidel sweep goes
   forward on the way down and backward on the way up, and both ways on the coarsest level, so that M^-1 is symmetric.
   Where rows are as long as in space, fewer of their entries count as strong, or the coarser levels fill up. */
static void make_solver(wisp__amg *m, const wisp_mat *A)
{
    enum { DOWN = 1, UP, COARSEST, FORWARD = 13, BACKWARD = 14, BOTH = 8, ENTRIES_IN_SPACE = 6 };
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    hypre.BoomerAMGCreate(&m->solver);
    hypre.BoomerAMGSetTol(m->solver, 0);
    hypre.BoomerAMGSetMaxIter(m->solver, 1);
    hypre.BoomerAMGSetPrintLevel(m->solver, 0);
    hypre.BoomerAMGSetStrongThreshold(m->solver, info.nnz > ENTRIES_IN_SPACE * info.rows ? 0.5 : 0.25);
    hypre.BoomerAMGSetCycleRelaxType(m->solver, FORWARD, DOWN);
    hypre.BoomerAMGSetCycleRelaxType(m->solver, BACKWARD, UP);
    hypre.BoomerAMGSetCycleRelaxType(m->solver, BOTH, COARSEST);
    hypre.BoomerAMGSetup(m->solver, m->A, m->B, m->X);
}

static wisp_status make(wisp__amg *m, const wisp_mat *A, double factor, const char *definite, bool singular)
{
    rows r = {0};
    int64_t first;
    wisp_status status;
    m->rows = wisp_map_local(wisp_mat_map(A), &first);
    WISP_TRY(choose_comm(m));
    WISP_TRY(wisp_alloc(m->ctx, &m->column, (size_t)m->rows + 1, sizeof *m->column));
    WISP_TRY(read_rows(m, &r, A, factor, definite, singular));
    WISP_TRY(wisp_ctx_sum(m->ctx, &m->other_rows, 1));
    const HYPRE_BigInt begin = (HYPRE_BigInt)first, last = (HYPRE_BigInt)(first + m->rows - 1);
    WISP_TRY(enter(m));
    hypre.ClearAllErrors();
    make_matrix(m, begin, last, &r);
    free_rows(m->ctx, &r);
    r = (rows){0};
    make_vector(m, begin, last, &m->b, &m->B);
    make_vector(m, begin, last, &m->x, &m->X);
    make_solver(m, A);
    status = leave(m, check_errors(m, "make"));
out:
    free_rows(m->ctx, &r);
    return status;
}

wisp_status wisp__amg_here(wisp_ctx *ctx)
{
    (void)ctx;
    return WISP_OK;
}

wisp_status wisp__amg_make(wisp__amg **amg, const wisp_mat *A, double factor, const char *definite, bool singular)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_status status;
    *amg = NULL;
    WISP_TRY(check(A));
    WISP_TRY(find_library(ctx));
    WISP_TRY(agree(ctx));
    WISP_TRY(wisp_alloc(ctx, amg, 1, sizeof **amg));
    (*amg)->ctx = ctx;
    (*amg)->other_rows = -1;
    WISP_TRY(make(*amg, A, factor, definite, singular));
out:
    return status;
}

/* ---- applied ------------------------------------------------------------------------------------- */

wisp_status wisp__amg_apply(void *amg, double *x, int width)
{
    wisp__amg *m = amg;
    const HYPRE_Int n = (HYPRE_Int)m->rows;
    const wisp_status status = enter(m);
    if (status != WISP_OK) return status;
    for (int j = 0; j < width; j++) {
        for (int64_t i = 0; i < m->rows; i++) m->column[i] = x[i * width + j];
        hypre.IJVectorSetValues(m->b, n, NULL, m->column);
        hypre.ParVectorSetConstantValues(m->X, 0);
        hypre.BoomerAMGSolve(m->solver, m->A, m->B, m->X);
        hypre.IJVectorGetValues(m->x, n, NULL, m->column);
        for (int64_t i = 0; i < m->rows; i++) x[i * width + j] = m->column[i];
    }
    return leave(m, check_errors(m, "apply"));
}

void wisp__amg_free(wisp__amg *m)
{
    int ended;
    if (!m) return;
    MPI_Finalized(&ended);
    pthread_mutex_lock(&lock);
    if (m->solver) hypre.BoomerAMGDestroy(m->solver);
    if (m->matrix) hypre.IJMatrixDestroy(m->matrix);
    if (m->b) hypre.IJVectorDestroy(m->b);
    if (m->x) hypre.IJVectorDestroy(m->x);
    end_share(m, ended);
    pthread_mutex_unlock(&lock);
    if (m->copied && !ended) MPI_Comm_free(&m->comm);
    wisp_free(m->ctx, m->column);
    wisp_free(m->ctx, m);
}
#else
wisp_status wisp__amg_here(wisp_ctx *ctx)
{
    return wisp_ctx_fail(
        ctx, WISP_ERR_UNSUPPORTED,
        "opts.precond: this build has no multigrid: install libhypre-dev and libopenmpi-dev, and build "
        "wisp anew");
}
wisp_status wisp__amg_make(wisp__amg **amg, const wisp_mat *A, double factor, const char *definite, bool singular)
{
    (void)factor, (void)definite, (void)singular;
    *amg = NULL;
    return wisp__amg_here(wisp_mat_ctx(A));
}
wisp_status wisp__amg_apply(void *amg, double *x, int width)
{
    (void)amg, (void)x, (void)width;
    return WISP_ERR_UNSUPPORTED;
}
void wisp__amg_free(wisp__amg *amg) { (void)amg; }
#endif

/* The finest level, and the coarser ones with the interpolation between them, of which it is usual that they have twice
   as many entries together; and what is read of A meanwhile. */
double wisp__amg_plan(const wisp_mat_info *A)
{
    enum { ENTRY = sizeof(double) + sizeof(int), LEVELS = 5, ROW = 160 };
    return (double)A->local_nnz * ENTRY * LEVELS + (double)A->local_rows * ROW;
}
