/* Incomplete factors with the pattern of A: ILU(0), and for Hermitian matrices IC(0) as L D L^H (Meijerink and van der
   Vorst 1977, Math. Comp. 31, 148), of a rank's own rows and columns. Rows go by levels: those of one need none of
   each other, and threads share them. They lie in that order, so that memory is read as it comes. A row is done by one
   thread, in the order of its entries, so that bits do not depend on threads. Where a pivot can't be one, the factors
   are of a matrix with a larger diagonal (Manteuffel 1980, Math. Comp. 34, 473). */
#include "../solver.h"
#include "ilu.h"
#include <math.h>
#include <string.h>

enum { LOWER = WISP__LOWER, UPPER = WISP__UPPER };

typedef wisp__ilu_run run;
typedef wisp__ilu_part part;
typedef wisp__triangle triangle;

typedef struct {
    wisp__ilu_fn fill, factor, clear, mirror, gather, lower, upper, scatter;
} calls;

/* The first entry from `from` on whose column is not before j; end: there is none. Its steps double, so that a short
   row costs little beside a long one. */
static inline int64_t seek(const int32_t *col, int64_t from, int64_t end, int32_t j)
{
    if (from >= end || col[from] >= j) return from;
    int64_t low = from, step = 1;
    for (; low + step < end && col[low + step] < j; step *= 2) low += step;
    int64_t high = low + step < end ? low + step : end;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (col[middle] < j)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static inline double larger(double a, double b) { return a > b ? a : b; }

#define NUMBER double
#define NAME(name) real_##name
static inline double real_times(double a, double b) { return a * b; }
static inline double real_conjugate(double a) { return a; }
static inline double real_number(wisp_type type, const char *p, int k)
{
    return type == WISP_D ? ((const double *)(const void *)p)[k] : creal(wisp__number_at(type, p, k));
}
#include "ilu_rows.h"

/* Without the library's call that looks for infinities. */
#define NUMBER double complex
#define NAME(name) complex_##name
static inline double complex complex_times(double complex a, double complex b)
{
    return creal(a) * creal(b) - cimag(a) * cimag(b) + I * (creal(a) * cimag(b) + cimag(a) * creal(b));
}
static inline double complex complex_conjugate(double complex a) { return conj(a); }
static inline double complex complex_number(wisp_type type, const char *p, int k)
{
    return wisp__number_at(type, p, k);
}
#include "ilu_rows.h"

static const calls *calls_of(const wisp__ilu *f) { return f->pairs ? &complex_calls : &real_calls; }

/* ---- the factors --------------------------------------------------------------------------------- */

/* Columns become rows of the order of levels. */
static void number_columns(triangle *t, const int32_t *where, int64_t from, int64_t to)
{
    for (int64_t k = t->begin[from]; k < t->begin[to]; k++) t->col[k] = where[t->col[k]];
}
static void number_lower(run *r, part *p, int64_t from, int64_t to)
{
    (void)p;
    number_columns(&r->f->side[LOWER], r->f->where, from, to);
}
static void number_upper(run *r, part *p, int64_t from, int64_t to)
{
    (void)p;
    number_columns(&r->f->side[UPPER], r->f->where, from, to);
}

/* With A's diagonal larger by alpha times a row's size. *bad: ranks where a pivot can't be one. */
static wisp_status try_factors(run *r, double alpha, const char *definite, double *bad)
{
    wisp__ilu *f = r->f;
    wisp_status status;
    for (int t = 0; t < wisp_ctx_threads(f->ctx); t++) r->parts[t].row = -1;
    r->alpha = alpha;
    WISP_TRY(wisp__ilu_each_row(r, 0, f->rows, calls_of(f)->fill));
    if (wisp__ilu_refused(r)) WISP_TRY(wisp__ilu_refusal(r, wisp__ilu_refused(r), definite));
    WISP_TRY(wisp__ilu_each_level(r, LOWER, calls_of(f)->factor));
    const part *p = wisp__ilu_refused(r);
    if (p && p->why == WISP_ERR_NUMERIC) WISP_TRY(wisp__ilu_refusal(r, p, definite));
    *bad = p != NULL;
    if (p)
        wisp_ctx_logf(f->ctx, WISP_LOG_DEBUG, "preconditioner: the pivot of row %lld is %.2g of the row's size",
                      (long long)(f->first + p->row), p->pivot);
    status = wisp_ctx_sum(f->ctx, bad, 1);
out:
    return status;
}

/* The least shift of some that leaves no pivot too small: it is found, at the latest where the diagonal dominates. */
static wisp_status find_factors(wisp__ilu_run *r, const char *definite)
{
    enum { MOST = 1000000000 };
    const double least = 1e-3;
    wisp__ilu *f = r->f;
    double bad;
    wisp_status status = try_factors(r, 0, definite, &bad);
    for (double alpha = least; status == WISP_OK && bad > 0; alpha *= 2) {
        if (alpha > MOST)
            return wisp_ctx_fail(f->ctx, WISP_ERR_NUMERIC,
                                 "incomplete factors of the matrix have no pivots, however large its diagonal is made: "
                                 "take another opts.precond");
        f->shift = alpha;
        status = try_factors(r, alpha, definite, &bad);
    }
    if (status == WISP_OK && f->shift > 0 && wisp_ctx_rank(f->ctx) == 0)
        wisp_ctx_logf(f->ctx, WISP_LOG_WARN,
                      "preconditioner: pivots were %s: the factors are of the matrix with its diagonal larger by %g "
                      "times %s",
                      f->hermitian ? "not positive" : "next to 0", f->shift,
                      f->hermitian ? "itself" : "the largest entry of the row");
    return status;
}

/* L of U's numbers where it is to be so, and the columns as factors are applied. */
static wisp_status finish(run *r)
{
    wisp__ilu *f = r->f;
    wisp_status status;
    if (f->hermitian) {
        WISP_TRY(wisp__ilu_each_row(r, 0, f->rows, calls_of(f)->clear));
        WISP_TRY(wisp__ilu_each_row(r, 0, f->rows, calls_of(f)->mirror));
    } else {
        WISP_TRY(wisp__ilu_each_row(r, 0, f->rows, number_upper));
    }
    status = wisp__ilu_each_row(r, 0, f->rows, number_lower);
out:
    return status;
}

static wisp_status check(const wisp_mat *A, const wisp__ilu *f, bool cholesky)
{
    wisp_ctx *ctx = wisp_mat_ctx(A);
    wisp_mat_info info;
    wisp_mat_props props;
    wisp_mat_get_info(A, &info);
    if (info.format == WISP_FORMAT_OPERATOR)
        return wisp_ctx_fail(ctx, WISP_ERR_UNSUPPORTED,
                             "an operator has no entries for incomplete factors: take a polynomial, or a function "
                             "(WISP_PRECOND_APPLY)");
    if (f->rows > INT32_MAX - 1)
        return wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW, "incomplete factors of %lld rows of a rank: at most %d are taken",
                              (long long)f->rows, INT32_MAX - 1);
    if (!cholesky) return WISP_OK;
    const wisp_status status = wisp_mat_get_props(A, &props);
    if (status != WISP_OK || props.nearly_hermitian) return status;
    return wisp_ctx_failf(ctx, WISP_ERR_HERMITIAN,
                          "incomplete Cholesky factors need a Hermitian matrix, and entries (%lld, %lld) and (%lld, "
                          "%lld), counted from 0, are not conjugate; take opts.precond = WISP_ILU",
                          (long long)props.bad_row, (long long)props.bad_col, (long long)props.bad_col,
                          (long long)props.bad_row);
}

/* To factor a row may take as long as the square of its entries says. */
static int64_t rows_at_once(const wisp_mat_info *A)
{
    enum { MOST = 1 << 16 };
    const double work = 0x1p24, mean = A->local_rows > 0 ? (double)A->local_nnz / (double)A->local_rows : 1;
    return (int64_t)fmax(1, fmin(MOST, work / (mean * mean + 1)));
}

wisp_status wisp__ilu_of_rows(wisp__ilu *f, const wisp_mat *A, const wisp_src *src, double factor, const char *definite)
{
    wisp_ctx *ctx = f->ctx;
    run r = {.f = f, .src = *src, .factor = factor, .at_a_time = 256};
    const int threads = wisp_ctx_threads(ctx);
    const size_t longest = (size_t)src->max_row + 1, value = wisp_type_size(src->type);
    int64_t *col = NULL;
    char *val = NULL;
    wisp_mat_info info;
    wisp_status status;
    wisp_mat_get_info(A, &info);
    r.since = r.at_once = rows_at_once(&info); /* it is asked at once */
    WISP_TRY(wisp_alloc(ctx, &r.parts, (size_t)threads, sizeof *r.parts));
    WISP_TRY(wisp_alloc(ctx, &col, (size_t)threads * longest, sizeof *col));
    WISP_TRY(wisp_alloc(ctx, &val, (size_t)threads * longest, value));
    for (size_t t = 0; t < (size_t)threads; t++)
        r.parts[t] = (part){.row = -1, .col = col + t * longest, .val = val + t * longest * value};
    WISP_TRY(wisp__ilu_levels(&r));
    WISP_TRY(find_factors(&r, definite));
    status = finish(&r);
out:
    wisp_free(ctx, r.order);
    wisp_free(ctx, r.size);
    wisp_free(ctx, r.parts);
    wisp_free(ctx, col);
    wisp_free(ctx, val);
    return status;
}

wisp_status wisp__ilu_make(wisp__ilu *f, const wisp_mat *A, double factor, bool cholesky, const char *definite)
{
    wisp_src src = {0};
    wisp_mat_info info;
    wisp_status status;
    wisp_mat_get_info(A, &info);
    *f = (wisp__ilu){
        .ctx = wisp_mat_ctx(A), .pairs = wisp_type_is_complex(info.type), .hermitian = cholesky || definite};
    f->rows = wisp_map_local(wisp_mat_map(A), &f->first);
    WISP_TRY(check(A, f, cholesky));
    WISP_TRY(wisp_src_open_mat(&src, A));
    status = wisp__ilu_of_rows(f, A, &src, factor, definite);
out:
    wisp_src_close(&src);
    return status;
}

/* ---- applied ------------------------------------------------------------------------------------- */

wisp_status wisp__ilu_room(wisp__ilu *f, int width)
{
    const size_t numbers = (size_t)f->rows * (size_t)width * (f->pairs ? 2 : 1);
    return wisp_alloc(f->ctx, &f->work, numbers + 1, sizeof *f->work);
}

/* Rows of about two thousand numbers: what a thread does before it looks for more. */
static int64_t rows_at_a_time(const wisp__ilu *f, int width)
{
    enum { NUMBERS = 2048 };
    const int64_t entries = f->side[LOWER].begin[f->rows] + f->side[UPPER].begin[f->rows];
    const int64_t each = f->rows > 0 ? (1 + entries / 2 / f->rows) * width * (f->pairs ? 2 : 1) : 1;
    return each < NUMBERS ? NUMBERS / each : 1;
}

/* x is gathered as its rows come: each level has one place where it grows, and these stay in cache. By the order of
   levels it would be read from all over. */
wisp_status wisp__ilu_between(void *ilu, double *to, const double *from, int width)
{
    wisp__ilu *f = ilu;
    const calls *c = calls_of(f);
    run r = {.f = f, .x = from, .z = to, .width = width, .at_a_time = 1 << 14};
    wisp_status status;
    WISP_TRY(wisp__ilu_each_row(&r, 0, f->rows, c->gather));
    r.at_a_time = rows_at_a_time(f, width);
    WISP_TRY(wisp__ilu_each_level(&r, LOWER, c->lower));
    WISP_TRY(wisp__ilu_each_level(&r, UPPER, c->upper));
    r.at_a_time = 1 << 14;
    status = wisp__ilu_each_row(&r, 0, f->rows, c->scatter);
out:
    return status;
}

wisp_status wisp__ilu_apply(void *ilu, double *x, int width) { return wisp__ilu_between(ilu, x, x, width); }

double wisp__ilu_plan(const wisp_mat_info *A, wisp_type type, int width)
{
    enum { OF_ROW = 6 * sizeof(int64_t) + 4 * sizeof(int32_t) }; /* while the pattern is there, or the sizes are */
    const double size = wisp_type_is_complex(A->type) ? sizeof(double complex) : sizeof(double);
    const double rows = (double)A->local_rows,
                 number = wisp_type_is_complex(type) ? 2 * sizeof(double) : sizeof(double);
    return ((double)A->local_nnz + rows) * (size + sizeof(int32_t)) + rows * (size + OF_ROW) + rows * width * number;
}

/* Each factor is read once, and what it multiplies. */
double wisp__ilu_bytes(const wisp_mat_info *A)
{
    const double size = wisp_type_is_complex(A->type) ? sizeof(double complex) : sizeof(double);
    return (double)A->local_nnz * (size + sizeof(int32_t)) +
           (double)A->local_rows * (2 * sizeof(int64_t) + 2 * sizeof(int32_t));
}

void wisp__ilu_free(wisp__ilu *f)
{
    for (int side = LOWER; side <= UPPER; side++) {
        wisp_free(f->ctx, f->side[side].begin);
        wisp_free(f->ctx, f->side[side].col);
        wisp_free(f->ctx, f->side[side].val);
    }
    wisp_free(f->ctx, f->where);
    wisp_free(f->ctx, f->begin);
    wisp_free(f->ctx, f->inverse);
    wisp_free(f->ctx, f->work);
}
