/* Incomplete factors with the pattern of A: ILU(0), and for Hermitian matrices IC(0) as L D L^H (Meijerink and van der
   Vorst 1977, Math. Comp. 31, 148), of a rank's own rows and columns. Rows go by levels: those of one need none of
   each other, and threads share them. A row is done by one thread, in the order of its entries, so that bits do not
   depend on threads. Where a pivot can't be one, the factors are of a matrix with a larger diagonal (Manteuffel 1980,
   Math. Comp. 34, 473). */
#include "precond.h"
#include "../solver.h"
#include <math.h>

enum { AT_A_TIME = 256, LOWER = 0, UPPER = 1 };

typedef struct {
    void (*put)(const wisp__ilu *f, int64_t k, double complex v);
    double (*largest)(const wisp__ilu *f, int64_t i);
    void (*shift)(const wisp__ilu *f, int64_t i, double by);
    double (*factor)(const wisp__ilu *f, int64_t i);
    void (*prune)(const wisp__ilu *f, int64_t i);
    void (*mirror)(const wisp__ilu *f, int64_t i);
    void (*lower)(const wisp__ilu *f, double *x, int width, int64_t i);
    void (*upper)(const wisp__ilu *f, double *x, int width, int64_t i);
} calls;

/* Where row i has its entry of column j; -1: nowhere. */
static int64_t find(const wisp__ilu *f, int64_t i, int64_t j)
{
    int64_t low = f->begin[i], high = f->begin[i + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (f->col[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->begin[i + 1] && f->col[low] == j ? low : -1;
}

/* The first entry from `from` on whose column is not before j; end: there is none. Its steps double, so that a short
   row costs little beside a long one. */
static int64_t seek(const wisp__ilu *f, int64_t from, int64_t end, int32_t j)
{
    if (from >= end || f->col[from] >= j) return from;
    int64_t low = from, step = 1;
    for (; low + step < end && f->col[low + step] < j; step *= 2) low += step;
    int64_t high = low + step < end ? low + step : end;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (f->col[middle] < j)
            low = middle;
        else
            high = middle;
    }
    return high;
}

#define NUMBER double
#define NAME(name) real_##name
static inline double real_times(double a, double b) { return a * b; }
static inline double real_conjugate(double a) { return a; }
#include "ilu_rows.h"

/* Without the library's call that looks for infinities. */
#define NUMBER double complex
#define NAME(name) complex_##name
static inline double complex complex_times(double complex a, double complex b)
{
    return creal(a) * creal(b) - cimag(a) * cimag(b) + I * (creal(a) * cimag(b) + cimag(a) * creal(b));
}
static inline double complex complex_conjugate(double complex a) { return conj(a); }
#include "ilu_rows.h"

static const calls *calls_of(const wisp__ilu *f) { return f->pairs ? &complex_calls : &real_calls; }

/* ---- by threads ---------------------------------------------------------------------------------- */

/* The first row of a thread's that is refused: its number, why, and its pivot or diagonal. */
typedef struct {
    int64_t row; /* -1: none */
    wisp_status why;
    double pivot;
    int64_t *col;
    char *val; /* [max_row] each, to read a row */
} part;

typedef struct run run;
typedef void (*row_fn)(run *r, part *p, int64_t i);
struct run {
    wisp__ilu *f;
    wisp_src src;
    double factor, alpha; /* of A; of the shift */
    part *parts;
    row_fn row;
    const int32_t *order; /* NULL: rows as they come */
    int64_t from, to;
    int64_t at_once; /* rows between two questions whether to stop; 0: none is asked */
    int64_t since;   /* rows since the last one */
    double *x;
    int width;
};

static void some_rows(void *arg, int64_t i, int number_of_part)
{
    run *r = arg;
    const int64_t begin = r->from + i * AT_A_TIME, end = begin + AT_A_TIME < r->to ? begin + AT_A_TIME : r->to;
    for (int64_t k = begin; k < end; k++)
        r->row(r, r->parts ? r->parts + number_of_part : NULL, r->order ? r->order[k] : k);
}

/* Asks whether the user wants to stop, from time to time. */
static wisp_status ask(run *r, int64_t rows)
{
    r->since += rows;
    if (r->at_once == 0 || r->since < r->at_once) return WISP_OK;
    r->since = 0;
    return wisp_ctx_step(r->f->ctx, "factoring", 0, 0);
}

/* Rows from `from` on to `to`, of the order. */
static wisp_status each_row(run *r, const int32_t *order, int64_t from, int64_t to, row_fn row)
{
    wisp_status status = WISP_OK;
    r->order = order, r->row = row;
    for (int64_t next; from < to; from = next) {
        next = r->at_once > 0 && to - from > r->at_once ? from + r->at_once : to;
        r->from = from, r->to = next;
        const int64_t pieces = (next - from + AT_A_TIME - 1) / AT_A_TIME;
        if (pieces == 1) some_rows(r, 0, 0);
        if (pieces > 1) WISP_TRY(wisp_ctx_each(r->f->ctx, pieces, some_rows, r));
        WISP_TRY(ask(r, next - from));
    }
out:
    return status;
}

static const part *first_refused(const run *r)
{
    const part *first = NULL;
    for (int t = 0; t < wisp_ctx_threads(r->f->ctx); t++)
        if (r->parts[t].row >= 0 && (!first || r->parts[t].row < first->row)) first = &r->parts[t];
    return first;
}

/* Level after level, until a row is refused. */
static wisp_status each_level(run *r, int side, row_fn row)
{
    const wisp__levels *l = &r->f->levels[side];
    wisp_status status = WISP_OK;
    for (int64_t k = 0; k < l->count && !(r->parts && first_refused(r)); k++)
        WISP_TRY(each_row(r, l->order, l->begin[k], l->begin[k + 1], row));
out:
    return status;
}

static void refuse(part *p, int64_t row, wisp_status why, double pivot)
{
    if (p->row >= 0 && p->row < row) return;
    p->row = row, p->why = why, p->pivot = pivot;
}

/* ---- the pattern --------------------------------------------------------------------------------- */

/* How many entries row i has among the rank's own; -1: it can't be read. */
static int read_row(const run *r, part *p, int64_t i)
{
    return wisp__read_own(&r->src, r->f->first, r->f->rows, i, p->col, p->val);
}

static void count_row(run *r, part *p, int64_t i)
{
    const int n = read_row(r, p, i);
    if (n < 0) refuse(p, i, WISP_ERR_CALLBACK, 0);
    r->f->begin[i + 1] = n;
}

/* The row's numbers, before it is factored. */
static void fill_row(run *r, part *p, int64_t i)
{
    wisp__ilu *f = r->f;
    const calls *c = calls_of(f);
    const int n = read_row(r, p, i);
    double largest = 0, diagonal = 0;
    if (n < 0 || n != f->begin[i + 1] - f->begin[i]) {
        refuse(p, i, WISP_ERR_CALLBACK, 0);
        return;
    }
    for (int k = 0; k < n; k++) {
        const int64_t at = f->begin[i] + k;
        const double complex v = wisp__number_at(r->src.type, p->val, k);
        f->col[at] = (int32_t)p->col[k];
        c->put(f, at, r->factor * v);
        largest = fmax(largest, fmax(fabs(creal(v)), fabs(cimag(v))));
        if (p->col[k] == i) f->diagonal[i] = at, diagonal = creal(v);
    }
    f->size[i] = c->largest(f, i);
    if (f->hermitian && !(diagonal > 0))
        refuse(p, i, WISP_ERR_INDEFINITE, diagonal);
    else if (f->hermitian ? !(f->size[i] > 0) : largest > 0 && r->factor * largest == 0)
        refuse(p, i, WISP_ERR_NUMERIC, largest);
    if (r->alpha > 0) c->shift(f, i, r->alpha * f->size[i]);
}

/* A row's level is one more than the highest of those that it needs. */
static wisp_status find_levels(wisp__ilu *f, int side)
{
    wisp__levels *l = &f->levels[side];
    int32_t *level = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(f->ctx, &level, (size_t)f->rows + 1, sizeof *level));
    WISP_TRY(wisp_alloc(f->ctx, &l->order, (size_t)f->rows + 1, sizeof *l->order));
    l->count = 0;
    for (int64_t n = 0; n < f->rows; n++) {
        const int64_t i = side == LOWER ? n : f->rows - 1 - n;
        const int64_t begin = side == LOWER ? f->begin[i] : f->diagonal[i] + 1;
        const int64_t end = side == LOWER ? f->diagonal[i] : f->begin[i + 1];
        int32_t own = 0;
        for (int64_t k = begin; k < end; k++)
            if (level[f->col[k]] >= own) own = level[f->col[k]] + 1;
        level[i] = own;
        if (own >= l->count) l->count = own + 1;
    }
    WISP_TRY(wisp_alloc(f->ctx, &l->begin, (size_t)l->count + 2, sizeof *l->begin));
    for (int64_t i = 0; i < f->rows; i++) l->begin[level[i] + 2]++;
    for (int64_t k = 2; k < l->count + 2; k++) l->begin[k] += l->begin[k - 1];
    for (int64_t i = 0; i < f->rows; i++) l->order[l->begin[level[i] + 1]++] = (int32_t)i;
out:
    wisp_free(f->ctx, level);
    return status;
}

static wisp_status refusal(const run *r, const part *p, const char *definite)
{
    wisp_ctx *ctx = r->f->ctx;
    const long long row = r->f->first + p->row;
    if (p->why == WISP_ERR_INDEFINITE)
        return wisp_ctx_failf(ctx, p->why,
                              "the diagonal of row %lld is %g, so that the matrix is not positive definite: take %s",
                              row, p->pivot, definite ? definite : "another opts.precond");
    if (p->why == WISP_ERR_NUMERIC)
        return wisp_ctx_failf(ctx, p->why,
                              "the entries of row %lld, at most %g, are too small for factors in double arithmetic: "
                              "scale rows and columns to one size, or take another opts.precond",
                              row, p->pivot);
    return wisp_ctx_failf(ctx, p->why, "preconditioner: row %lld of the matrix can't be read", row);
}

static wisp_status find_pattern(run *r)
{
    wisp__ilu *f = r->f;
    const size_t rows = (size_t)f->rows + 1, size = f->pairs ? sizeof(double complex) : sizeof(double);
    wisp_status status;
    WISP_TRY(wisp_alloc(f->ctx, &f->begin, rows, sizeof *f->begin));
    WISP_TRY(each_row(r, NULL, 0, f->rows, count_row));
    if (first_refused(r)) WISP_TRY(refusal(r, first_refused(r), NULL));
    for (int64_t i = 0; i < f->rows; i++) f->begin[i + 1] += f->begin[i];
    const size_t entries = (size_t)f->begin[f->rows] + 1;
    WISP_TRY(wisp_alloc(f->ctx, &f->col, entries, sizeof *f->col));
    WISP_TRY(wisp_alloc(f->ctx, &f->val, entries, size));
    WISP_TRY(wisp_alloc(f->ctx, &f->inverse, rows, size));
    WISP_TRY(wisp_alloc(f->ctx, &f->diagonal, rows, sizeof *f->diagonal));
    WISP_TRY(wisp_alloc(f->ctx, &f->size, rows, sizeof *f->size));
out:
    return status;
}

/* ---- the factors --------------------------------------------------------------------------------- */

static void factor_row(run *r, part *p, int64_t i)
{
    const double size = r->f->size[i], pivot = calls_of(r->f)->factor(r->f, i);
    if (!(fabs(pivot) > 0x1p-26 * size))
        refuse(p, i, WISP_ERR_BREAKDOWN, pivot / size);
    else if (pivot < 0)
        refuse(p, i, WISP_ERR_NUMERIC, size / r->factor);
}
static void prune_row(run *r, part *p, int64_t i)
{
    (void)p;
    calls_of(r->f)->prune(r->f, i);
}
static void mirror_row(run *r, part *p, int64_t i)
{
    (void)p;
    calls_of(r->f)->mirror(r->f, i);
}

/* With A's diagonal larger by alpha times a row's size. *bad: ranks where a pivot can't be one. */
static wisp_status try_factors(run *r, double alpha, const char *definite, double *bad)
{
    wisp__ilu *f = r->f;
    wisp_status status;
    for (int t = 0; t < wisp_ctx_threads(f->ctx); t++) r->parts[t].row = -1;
    r->alpha = alpha;
    WISP_TRY(each_row(r, NULL, 0, f->rows, fill_row));
    if (first_refused(r)) WISP_TRY(refusal(r, first_refused(r), definite));
    for (int side = LOWER; side <= UPPER; side++)
        if (!f->levels[side].order) WISP_TRY(find_levels(f, side));
    WISP_TRY(each_level(r, LOWER, factor_row));
    const part *p = first_refused(r);
    if (p && p->why == WISP_ERR_NUMERIC) WISP_TRY(refusal(r, p, definite));
    *bad = p != NULL;
    if (p)
        wisp_ctx_logf(f->ctx, WISP_LOG_DEBUG, "preconditioner: the pivot of row %lld is %.2g of the row's size",
                      (long long)(f->first + p->row), p->pivot);
    WISP_TRY(wisp_ctx_sum(f->ctx, bad, 1));
    if (*bad > 0 || !f->hermitian) goto out;
    WISP_TRY(each_row(r, NULL, 0, f->rows, prune_row));
    WISP_TRY(each_row(r, NULL, 0, f->rows, mirror_row));
out:
    return status;
}

/* The least shift of some that leaves no pivot too small: it is found, at the latest where the diagonal dominates. */
static wisp_status find_factors(run *r, const char *definite)
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
    run r = {.f = f, .src = *src, .factor = factor};
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
    WISP_TRY(find_pattern(&r));
    WISP_TRY(find_factors(&r, definite));
out:
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

static void lower_row(run *r, part *p, int64_t i)
{
    (void)p;
    calls_of(r->f)->lower(r->f, r->x, r->width, i);
}
static void upper_row(run *r, part *p, int64_t i)
{
    (void)p;
    calls_of(r->f)->upper(r->f, r->x, r->width, i);
}

wisp_status wisp__ilu_apply(void *ilu, double *x, int width)
{
    run r = {.f = ilu, .x = x, .width = width};
    wisp_status status;
    WISP_TRY(each_level(&r, LOWER, lower_row));
    status = each_level(&r, UPPER, upper_row);
out:
    return status;
}

double wisp__ilu_plan(const wisp_mat_info *A)
{
    enum { OF_ROW = 4 * sizeof(int64_t) + 3 * sizeof(int32_t) + 2 * sizeof(int64_t) };
    const double size = wisp_type_is_complex(A->type) ? sizeof(double complex) : sizeof(double);
    const double rows = (double)A->local_rows;
    return ((double)A->local_nnz + rows) * (size + sizeof(int32_t)) + rows * (size + OF_ROW);
}

/* Each factor is read once, and what it multiplies. */
double wisp__ilu_bytes(const wisp_mat_info *A)
{
    const double size = wisp_type_is_complex(A->type) ? sizeof(double complex) : sizeof(double);
    return (double)A->local_nnz * (size + sizeof(int32_t)) + (double)A->local_rows * (size + 3 * sizeof(int64_t));
}

void wisp__ilu_free(wisp__ilu *f)
{
    wisp_free(f->ctx, f->begin);
    wisp_free(f->ctx, f->diagonal);
    wisp_free(f->ctx, f->col);
    wisp_free(f->ctx, f->val);
    wisp_free(f->ctx, f->inverse);
    wisp_free(f->ctx, f->size);
    for (int side = LOWER; side <= UPPER; side++) {
        wisp_free(f->ctx, f->levels[side].order);
        wisp_free(f->ctx, f->levels[side].begin);
    }
}
