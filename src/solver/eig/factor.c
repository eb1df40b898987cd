/* MUMPS in one process, without MPI: Debian's sequential library. Complex matrices are taken as real ones of twice as
   many rows, in which a + ib is the block (a -b; b a): what is Hermitian stays symmetric, so that L D L^T has pivots of
   1 x 1 and 2 x 2, and as many negative ones as A has eigenvalues below the shift, twice. (For a complex matrix it has
   no L D L^H.) That takes the memory and the flops of a complex L U. */
#include "factor.h"
#include "../../late/late.h"
#include "config.h"

#ifdef WISP_HAVE_MUMPS
#include <dmumps_c.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- the library ---------------------------------------------------------------------------------- */

static void (*mumps)(DMUMPS_STRUC_C *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* it has globals */
static char why[WISP__LATE_WHY];
static bool tried;

static void open_library(void) { wisp__late_open(WISP_MUMPS_LIBRARY, &(const char *){"dmumps_c"}, 1, &mumps, why); }

static wisp_status find_library(wisp_ctx *ctx)
{
    pthread_mutex_lock(&lock);
    if (!tried) open_library();
    tried = true;
    pthread_mutex_unlock(&lock);
    if (mumps) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_UNSUPPORTED,
                          "eig: opts.method: the inverse needs MUMPS' library (Debian: libmumps-seq-dev): %s", why);
}

/* ---- made ---------------------------------------------------------------------------------------- */

struct wisp__factor {
    wisp_ctx *ctx;
    DMUMPS_STRUC_C s;
    bool begun, hermitian;
    int parts; /* real rows of a row */
    int64_t rows;
    int64_t megabytes; /* that MUMPS may hold */
    int64_t counted;   /* bytes of it, among the context's memory */
    int64_t entries;   /* held: those that are multiplied by -shift first */
    int *row, *col;    /* [entries] from 1 */
    double *val;       /* [entries] */
    int64_t at;        /* of them that are there */
    int64_t shifted;   /* the first ones: of the diagonal, or of S */
    double *of_S;      /* [shifted] the numbers of S; NULL: each is 1 */
    bool pencil;
    double shift_im; /* the shift's imaginary part */
};

enum { CALL_BEGIN = -1, CALL_ORDER = 1, CALL_FACTOR = 2, CALL_SOLVE = 3, CALL_END = -2 };
enum { NO_ROOM = -9, MORE_ROOM = -8, SINGULAR = -10, NO_MEMORY = -13, NO_INTEGERS = -17, OVER_LIMIT = -19 };
enum { MEGABYTE = 1000000 };
/* Control parameters and results by their numbers in MUMPS' manual. */
#define ICNTL(i) icntl[(i)-1]
#define INFOG(i) infog[(i)-1]
#define RINFOG(i) rinfog[(i)-1]

static int call(wisp__factor *f, int job)
{
    f->s.job = job;
    pthread_mutex_lock(&lock);
    wisp__lapack_alone(true);
    mumps(&f->s);
    wisp__lapack_alone(false);
    pthread_mutex_unlock(&lock);
    return f->s.INFOG(1);
}

static wisp_status fail(const wisp__factor *f, const char *what)
{
    const int error = f->s.INFOG(1);
    if (error == NO_MEMORY || error == NO_ROOM || error == MORE_ROOM || error == NO_INTEGERS || error == OVER_LIMIT)
        return wisp_ctx_failf(f->ctx, WISP_ERR_NOMEM, "eig: MUMPS has not enough memory to %s the matrix", what);
    return wisp_ctx_failf(f->ctx, WISP_ERR_NUMERIC, "eig: MUMPS can't %s the matrix (its error %d, %d)", what, error,
                          f->s.INFOG(2));
}

/* MUMPS' memory counts among the context's from now on: so many bytes. */
static wisp_status hold(wisp__factor *f, int64_t bytes)
{
    const wisp_status status = wisp_ctx_count_memory(f->ctx, bytes - f->counted);
    if (status != WISP_OK)
        return wisp_ctx_failf(
            f->ctx, status,
            "eig: the factors of A - target %s take about %.3g MB, which would pass the memory limit: "
            "take another opts.method",
            f->pencil ? "S" : "I", (double)bytes / MEGABYTE);
    f->counted = bytes;
    return WISP_OK;
}

static void put(wisp__factor *f, int64_t row, int64_t col, double val)
{
    if (val == 0 || (f->hermitian && col > row)) return;
    f->row[f->at] = (int)row + 1, f->col[f->at] = (int)col + 1, f->val[f->at++] = val;
}

/* An entry becomes parts^2 ones. */
static void put_entry(wisp__factor *f, int64_t row, int64_t col, double re, double im)
{
    const int p = f->parts;
    put(f, p * row, p * col, re);
    if (p == 1) return;
    put(f, p * row + 1, p * col + 1, re);
    put(f, p * row, p * col + 1, -im);
    put(f, p * row + 1, p * col, im);
}

static double number(wisp_type type, const void *val, int i)
{
    return wisp__is_single(type) ? (double)((const float *)val)[i] : ((const double *)val)[i];
}

/* Rows of 2^exponent M, behind the entries that are there. */
static wisp_status read_rows(wisp__factor *f, const wisp_mat *M, int exponent)
{
    wisp_src src = {0};
    int64_t *col = NULL;
    double *val = NULL;
    wisp_status status;
    WISP_TRY(wisp_src_open_mat(&src, M));
    const int reals = wisp_type_is_complex(src.type) ? 2 : 1;
    const size_t longest = (size_t)src.max_row + 1;
    WISP_TRY(wisp_alloc(f->ctx, &col, longest, sizeof *col));
    WISP_TRY(wisp_alloc(f->ctx, &val, 2 * longest, sizeof *val));
    for (int64_t i = 0; i < f->rows; i++) {
        const int count = src.row(src.arg, i, col, val);
        for (int k = 0; k < count; k++)
            put_entry(f, i, col[k], ldexp(number(src.type, val, reals * k), exponent),
                      reals == 2 ? ldexp(number(src.type, val, reals * k + 1), exponent) : 0);
    }
out:
    wisp_free(f->ctx, col);
    wisp_free(f->ctx, val);
    wisp_src_close(&src);
    return status;
}

/* The shift's imaginary part, -i b, is the block (0 b; -b 0) of a row, behind all that is of the real one. */
static void shift_by(wisp__factor *f, double shift)
{
    for (int64_t i = 0; i < f->shifted; i++) f->val[i] = -shift * (f->of_S ? f->of_S[i] : 1);
    double *const im = f->val + f->shifted;
    for (int64_t i = 0; f->shift_im != 0 && i < f->parts * f->rows; i++) im[i] = i % 2 ? -f->shift_im : f->shift_im;
}

/* What the shift multiplies. */
static wisp_status read_S(wisp__factor *f, const wisp__pencil *pencil)
{
    wisp_status status = WISP_OK;
    if (!pencil)
        for (; f->at < f->parts * f->rows; f->at++) f->row[f->at] = f->col[f->at] = (int)f->at + 1;
    else
        WISP_TRY(read_rows(f, pencil->S, -pencil->exponent));
    f->shifted = f->at;
    for (int64_t i = 0; f->shift_im != 0 && i < f->parts * f->rows; i++, f->at++)
        f->row[f->at] = (int)i + 1, f->col[f->at] = (int)(i ^ 1) + 1;
    if (!pencil) goto out;
    WISP_TRY(wisp_alloc(f->ctx, &f->of_S, (size_t)f->shifted, sizeof *f->of_S));
    memcpy(f->of_S, f->val, (size_t)f->shifted * sizeof *f->of_S);
out:
    return status;
}

/* The entries of S and A, in k's numbers. */
static wisp_status read_all(wisp__factor *f, const wisp__eig *k, const wisp_mat *A, const wisp__pencil *pencil)
{
    wisp_status status;
    wisp_mat_info a, s = {0};
    const int p = f->parts, scaled = k->scaled.in_products ? k->scaled.exponent : 0;
    wisp_mat_get_info(A, &a);
    if (pencil) wisp_mat_get_info(pencil->S, &s);
    f->entries = (pencil ? p * p * s.local_nnz : p * f->rows) + p * p * a.local_nnz;
    if (f->shift_im != 0) f->entries += p * f->rows;
    WISP_TRY(wisp_alloc(f->ctx, &f->row, (size_t)f->entries, sizeof *f->row));
    WISP_TRY(wisp_alloc(f->ctx, &f->col, (size_t)f->entries, sizeof *f->col));
    WISP_TRY(wisp_alloc(f->ctx, &f->val, (size_t)f->entries, sizeof *f->val));
    WISP_TRY(read_S(f, pencil));
    shift_by(f, k->o.target != 0 ? k->o.target : -DBL_EPSILON); /* numbers count in the order: none is 0 */
    status = read_rows(f, A, scaled - (pencil ? pencil->exponent : 0));
out:
    return status;
}

/* Without MPI, and without a word. One root is left in one piece, or pivots are not counted. */
static wisp_status order(wisp__factor *f)
{
    DMUMPS_STRUC_C *s = &f->s;
    enum { SYMMETRIC = 2, WORLD = -987654, MORE = 30 };
    s->sym = f->hermitian ? SYMMETRIC : 0;
    s->par = 1;
    s->comm_fortran = WORLD;
    if (call(f, CALL_BEGIN) < 0) return fail(f, "take");
    f->begun = true;
    if (strcmp(s->version_number, MUMPS_VERSION))
        return wisp_ctx_failf(f->ctx, WISP_ERR_UNSUPPORTED, "eig: %s is MUMPS %.30s, and this build is for %s",
                              WISP_MUMPS_LIBRARY, s->version_number, MUMPS_VERSION);
    for (int i = 1; i <= 4; i++) s->ICNTL(i) = 0;
    s->ICNTL(13) = 1;
    s->ICNTL(14) = MORE;
    s->n = (int)(f->parts * f->rows);
    s->nnz = f->at;
    s->irn = f->row, s->jcn = f->col, s->a = f->val;
    if (call(f, CALL_ORDER) < 0) return fail(f, "order");
    f->megabytes = s->INFOG(17) + 1;
    return WISP_OK;
}

static wisp_status check(const wisp__eig *k, const wisp_mat_info *info)
{
    if (wisp_ctx_processes(k->ctx) > 1)
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_UNSUPPORTED,
            "eig: factors for the inverse are made on one rank alone, and there are %d: take another opts.method",
            wisp_ctx_processes(k->ctx));
    if (info->format == WISP_FORMAT_OPERATOR)
        return wisp_ctx_failf(k->ctx, WISP_ERR_UNSUPPORTED,
                              "eig: an operator has no entries to factor: take another opts.method");
    if (2 * info->rows > INT32_MAX)
        return wisp_ctx_failf(k->ctx, WISP_ERR_OVERFLOW, "eig: MUMPS' integers are too short for %lld rows",
                              (long long)info->rows);
    return WISP_OK;
}

wisp_status wisp__factor_open(wisp__factor **factor, const wisp__eig *k, const wisp__pencil *pencil)
{
    const wisp_mat *A = pencil ? pencil->A : k->scaled.in_products ? k->scaled.A : k->A;
    wisp_mat_info info;
    wisp_status status;
    wisp_mat_get_info(A, &info);
    *factor = NULL;
    WISP_TRY(check(k, &info));
    WISP_TRY(find_library(k->ctx));
    WISP_TRY(wisp_alloc(k->ctx, factor, 1, sizeof **factor));
    wisp__factor *f = *factor;
    f->ctx = k->ctx;
    f->hermitian = k->hermitian;
    f->pencil = pencil != NULL;
    f->rows = info.rows;
    f->parts = k->is_complex ? 2 : 1;
    f->shift_im = k->o.target_im; /* then all is complex */
    WISP_TRY(read_all(f, k, A, pencil));
    WISP_TRY(order(f));
out:
    return status;
}

void wisp__factor_free(wisp__factor *f)
{
    if (!f) return;
    if (f->begun) call(f, CALL_END);
    wisp_ctx_count_memory(f->ctx, -f->counted);
    wisp_free(f->ctx, f->row);
    wisp_free(f->ctx, f->col);
    wisp_free(f->ctx, f->val);
    wisp_free(f->ctx, f->of_S);
    wisp_free(f->ctx, f);
}

int64_t wisp__factor_bytes(const wisp__factor *f)
{
    return f->megabytes * MEGABYTE + f->entries * (int64_t)(2 * sizeof *f->row + sizeof *f->val) +
           (f->of_S ? f->shifted * (int64_t)sizeof *f->of_S : 0);
}

double wisp__factor_flops(const wisp__factor *f) { return f->s.RINFOG(1); }

/* MUMPS writes a number above what an integer holds as millions, below 0. Each number of L and of U is met once. */
double wisp__factor_solve_flops(const wisp__factor *f)
{
    const double numbers = f->s.INFOG(20) < 0 ? -1e6 * f->s.INFOG(20) : f->s.INFOG(20);
    return (f->hermitian ? 4 : 2) * numbers;
}

/* *all: the entries cancel each other up to rounding, as those of A - X S where A = X S. Their product with a vector
   of numbers that are not alike shows it. MUMPS would ask for ever more memory. */
static wisp_status cancels(const wisp__factor *f, bool *all)
{
    wisp_status status = WISP_OK;
    const size_t n = (size_t)f->s.n;
    double *y = NULL, *size;
    WISP_TRY(wisp_alloc(f->ctx, &y, 2 * n, sizeof *y));
    size = y + n;
    memset(y, 0, 2 * n * sizeof *y);
    for (int64_t i = 0; i < f->at; i++) {
        const int row = f->row[i] - 1;
        const double x = 1 + fmod(0.6180339887498949 * f->col[i], 1);
        y[row] += f->val[i] * x, size[row] += fabs(f->val[i] * x);
    }
    *all = true;
    for (size_t i = 0; i < n && *all; i++) *all = fabs(y[i]) <= 4 * DBL_EPSILON * size[i];
out:
    wisp_free(f->ctx, y);
    return status;
}

/* MUMPS keeps to what is counted for it, and gets more where pivots take more than was expected. */
wisp_status wisp__factor_make(wisp__factor *f, double shift, int64_t *below, bool *singular)
{
    enum { TRIES = 6 };
    int result = 0;
    shift_by(f, shift);
    *below = -1;
    const wisp_status looked = cancels(f, singular);
    if (looked != WISP_OK || *singular) return looked;
    for (int tries = 0; tries < TRIES; tries++) {
        const wisp_status status = hold(f, f->megabytes * MEGABYTE);
        if (status != WISP_OK) return status;
        f->s.ICNTL(23) = (int)(f->megabytes < INT32_MAX ? f->megabytes : 0);
        result = call(f, CALL_FACTOR);
        if (result != NO_ROOM && result != MORE_ROOM && result != OVER_LIMIT) break;
        f->s.ICNTL(14) *= 2;
        f->megabytes += f->megabytes / 2;
    }
    *singular = result == SINGULAR;
    *below = f->hermitian && result >= 0 ? f->s.INFOG(12) / f->parts : -1;
    return result < 0 && !*singular ? fail(f, "factor") : WISP_OK;
}

wisp_status wisp__factor_solve(wisp__factor *f, double *x, int columns)
{
    f->s.rhs = x;
    f->s.nrhs = columns;
    f->s.lrhs = (int)(f->parts * f->rows);
    return call(f, CALL_SOLVE) < 0 ? fail(f, "solve with") : WISP_OK;
}
#else
wisp_status wisp__factor_open(wisp__factor **f, const wisp__eig *k, const wisp__pencil *pencil)
{
    (void)pencil;
    *f = NULL;
    return wisp_ctx_fail(
        k->ctx, WISP_ERR_UNSUPPORTED,
        "eig: opts.method: this build has no factors for the inverse: install libmumps-seq-dev, and build wisp anew");
}
void wisp__factor_free(wisp__factor *f) { (void)f; }
int64_t wisp__factor_bytes(const wisp__factor *f) { return f != NULL; }
double wisp__factor_flops(const wisp__factor *f) { return f != NULL; }
double wisp__factor_solve_flops(const wisp__factor *f) { return f != NULL; }
wisp_status wisp__factor_make(wisp__factor *f, double shift, int64_t *below, bool *singular)
{
    (void)f, (void)shift, (void)below, (void)singular;
    return WISP_ERR_UNSUPPORTED;
}
wisp_status wisp__factor_solve(wisp__factor *f, double *x, int columns)
{
    (void)f, (void)x, (void)columns;
    return WISP_ERR_UNSUPPORTED;
}
#endif
