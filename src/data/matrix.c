/* What a matrix is: shape, exact properties, fill-in. */
#include "patterns.h"
#include <math.h>

void wisp__sell_free(wisp_ctx *ctx, wisp__sell *s)
{
    void *own[] = {s->row_len,    s->short_col, s->follow,   s->code, s->list,
                   s->list_first, s->pattern,   s->diagonal, s->fresh};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) wisp_free(ctx, own[i]);
    wisp__pieces_free(ctx, s->pieces);
    wisp__bundles_free(ctx, s->bundles);
    if (!s->borrowed) {
        wisp_free(ctx, s->chunk);
        wisp_free(ctx, s->col);
        wisp_free(ctx, s->val);
    }
    *s = (wisp__sell){0};
}

void wisp_mat_free(wisp_mat *A)
{
    if (!A) return;
    wisp__half_free(A);
    wisp__cascades_free(A);
    wisp__sell_free(A->ctx, &A->local);
    wisp__sell_free(A->ctx, &A->remote);
    wisp_map_free(A->map);
    wisp_map_free(A->col_map);
    wisp_free(A->ctx, A);
}

static int64_t sell_bytes(const wisp_mat *A, const wisp__sell *s, bool all)
{
    const int64_t size = (int64_t)wisp_type_size(A->type), real = (int64_t)wisp_type_size(wisp__real_type(A->type));
    if (s->chunks == 0) return 0;
    const int64_t entries = all || s->pattern ? s->entries : s->nnz, rows = A->rows;
    int64_t bytes = s->list ? rows * 2 + s->lists * 8 + s->list_first[s->lists] * 4 : entries * (s->short_col ? 2 : 4);
    bytes += s->code ? entries + s->values * size : entries * size;
    bytes += ((s->pattern ? s->patterns : s->chunks) + all) * 8;
    const int64_t others = s->bundles ? s->bundles->rows : 1; /* that share a number */
    if (s->pattern) bytes += (all ? rows : rows / others) * 2;
    if (s->diagonal) bytes += rows * real;
    if (all && s->row_len) bytes += rows * 4;
    if (all && s->follow) bytes += wisp__follow_bytes(rows);
    if (all && s->fresh) bytes += (s->pattern ? s->patterns : rows) * 4;
    return bytes;
}

int64_t wisp__mat_bytes(const wisp_mat *A, bool all)
{
    if (A->half) return wisp__half_bytes(A, all);
    const int64_t beside = all ? wisp__pieces_bytes(A) + wisp__bundles_bytes(A) : 0;
    return sell_bytes(A, &A->local, all) + sell_bytes(A, &A->remote, all) + beside;
}

void wisp_mat_get_info(const wisp_mat *A, wisp_mat_info *info)
{
    if (!info) return;
    *info = (wisp_mat_info){0};
    if (!A) return;
    *info = (wisp_mat_info){.rows = A->rows,
                            .cols = A->cols,
                            .nnz = A->local.nnz,
                            .type = A->type,
                            .C = 1 << A->log_c,
                            .sigma = A->sigma,
                            .bytes = wisp__mat_bytes(A, true),
                            .spill_bytes = A->half ? A->half->h.slots * (int64_t)wisp_type_size(A->type) : 0,
                            .order = A->order,
                            .format = A->format,
                            .work_blocks = A->grid.blocks};
}

wisp_map *wisp_mat_map(const wisp_mat *A) { return A ? A->map : NULL; }

wisp_map *wisp_mat_col_map(const wisp_mat *A) { return A ? A->col_map : NULL; }

wisp_ctx *wisp_mat_ctx(const wisp_mat *A) { return A ? A->ctx : NULL; }

/* ---- properties ------------------------------------------------------------------------------ */

wisp_scalar wisp__entry_value(const wisp_mat *A, int64_t row, int64_t k)
{
    const wisp__sell *s = &A->local;
    int64_t at = wisp__sell_at(s, A->log_c, row, k);
    if (s->diagonal && wisp__entry_col(A, row, k) == row) {
        const wisp_type real = wisp__real_type(A->type);
        return wisp__load(real, (const char *)s->diagonal + (size_t)row * wisp_type_size(real));
    }
    if (s->code) at = s->code[at];
    return wisp__load(A->type, (const char *)s->val + (size_t)at * wisp_type_size(A->type));
}

/* The value at (row, col), both positions, by bisection in the sorted row; *found says whether it is stored. */
static wisp_scalar value_at(const wisp_mat *A, int64_t row, int64_t col, bool *found)
{
    const int n = wisp__row_len(&A->local, row);
    int lo = 0, hi = n;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (wisp__entry_col(A, row, mid) < col)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = lo < n && wisp__entry_col(A, row, lo) == col;
    return *found ? wisp__entry_value(A, row, lo) : (wisp_scalar){0, 0};
}

static wisp_mat_props no_props(const wisp_mat *A)
{
    const int square = A->rows == A->cols;
    return (wisp_mat_props){.square = square,
                            .pattern_symmetric = square,
                            .symmetric = square,
                            .hermitian = square,
                            .skew = square,
                            .bad_row = INT64_MAX,
                            .bad_col = INT64_MAX,
                            .nonfinite_row = INT64_MAX,
                            .min_row = INT64_MAX,
                            .gershgorin_min = INFINITY,
                            .gershgorin_max = -INFINITY};
}

static void look_at_partner(const wisp_mat *A, wisp_mat_props *p, int64_t row, int64_t col, wisp_scalar v)
{
    bool found;
    const wisp_scalar w = value_at(A, col, row, &found);
    if (!found) p->pattern_symmetric = 0;
    if (!(v.re == w.re && v.im == w.im)) p->symmetric = 0;
    if (!(v.re == -w.re && v.im == -w.im)) p->skew = 0;
    if (v.re == w.re && v.im == -w.im) return;
    p->hermitian = 0;
    p->asymmetry = fmax(p->asymmetry, hypot(v.re - w.re, v.im + w.im));
    const int64_t i = wisp__map_user(A->map, row), j = wisp__map_user(A->map, col);
    if (i < p->bad_row || (i == p->bad_row && j < p->bad_col)) p->bad_row = i, p->bad_col = j;
}

static void look_at_row(const wisp_mat *A, wisp_mat_props *p, int64_t row, double *sum2)
{
    const int n = wisp__row_len(&A->local, row);
    const int64_t user = wisp__map_user(A->map, row);
    double center = 0, radius = 0;
    for (int k = 0; k < n; k++) {
        const int64_t col = wisp__entry_col(A, row, k);
        const wisp_scalar v = wisp__entry_value(A, row, k);
        const double size = hypot(v.re, v.im);
        const int64_t distance = user - wisp__map_user(A->col_map, col);
        if (!isfinite(v.re) || !isfinite(v.im)) p->nonfinite_row = WISP__MIN(p->nonfinite_row, user);
        if (distance == 0) {
            p->diagonal++;
            center += v.re;
            radius += fabs(v.im);
        } else {
            radius += size;
        }
        p->largest = fmax(p->largest, size);
        p->bandwidth = WISP__MAX(p->bandwidth, distance < 0 ? -distance : distance);
        if (p->square) look_at_partner(A, p, row, col, v);
    }
    p->empty_rows += n == 0;
    p->min_row = WISP__MIN(p->min_row, n);
    p->max_row = WISP__MAX(p->max_row, n);
    *sum2 += (double)n * n;
    /* The sums above were rounded: an ulp a term keeps the discs on the safe side. */
    radius += (n + 1) * 0x1p-52 * (radius + fabs(center));
    p->gershgorin_min = fmin(p->gershgorin_min, center - radius);
    p->gershgorin_max = fmax(p->gershgorin_max, center + radius);
}

/* The properties of two sets of rows together. */
static void merge_props(wisp_mat_props *p, const wisp_mat_props *q)
{
    p->pattern_symmetric &= q->pattern_symmetric;
    p->symmetric &= q->symmetric;
    p->hermitian &= q->hermitian;
    p->skew &= q->skew;
    if (q->bad_row < p->bad_row || (q->bad_row == p->bad_row && q->bad_col < p->bad_col))
        p->bad_row = q->bad_row, p->bad_col = q->bad_col;
    p->asymmetry = fmax(p->asymmetry, q->asymmetry);
    p->largest = fmax(p->largest, q->largest);
    p->bandwidth = WISP__MAX(p->bandwidth, q->bandwidth);
    p->empty_rows += q->empty_rows;
    p->diagonal += q->diagonal;
    p->min_row = WISP__MIN(p->min_row, q->min_row);
    p->max_row = WISP__MAX(p->max_row, q->max_row);
    p->gershgorin_min = fmin(p->gershgorin_min, q->gershgorin_min);
    p->gershgorin_max = fmax(p->gershgorin_max, q->gershgorin_max);
    p->nonfinite_row = WISP__MIN(p->nonfinite_row, q->nonfinite_row);
}

typedef struct {
    const wisp_mat *A;
    wisp_mat_props *all;
    double sum2;
    pthread_mutex_t lock;
} props_run;

static void props_thread(void *arg, int thread, int threads)
{
    props_run *r = arg;
    const wisp_mat *A = r->A;
    wisp_mat_props mine = no_props(A);
    double sum2 = 0;
    const int64_t begin = wisp__split(A->rows, threads, thread), end = wisp__split(A->rows, threads, thread + 1);
    for (int64_t i = begin; i < end; i++) {
        if ((i & 16383) == 0) {
            if (thread == 0) wisp_ctx_step(A->ctx, "checking", (double)(i - begin) / (double)(end - begin), 0);
            if (wisp__cancelled(A->ctx)) break;
        }
        look_at_row(A, &mine, i, &sum2);
    }
    pthread_mutex_lock(&r->lock);
    merge_props(r->all, &mine);
    r->sum2 += sum2; /* of integers: exact in any order */
    pthread_mutex_unlock(&r->lock);
}

wisp_status wisp_mat_get_props(const wisp_mat *A, wisp_mat_props *props)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, props);
    if (A->half) {
        *props = A->half->props;
        return WISP_OK;
    }
    *props = no_props(A);
    props_run run = {A, props, 0, PTHREAD_MUTEX_INITIALIZER};
    const bool whole = wisp__run_some(A->ctx, A->local.nnz < WISP__SMALL, props_thread, &run);
    const wisp_status status = wisp__whole(A->ctx, "checking the matrix", whole);
    if (status != WISP_OK) return status;
    if (props->bad_row == INT64_MAX) props->bad_row = props->bad_col = -1;
    if (props->nonfinite_row == INT64_MAX) props->nonfinite_row = -1;
    props->nearly_hermitian = props->square && props->asymmetry <= wisp__rounding(A->type) * props->largest;
    if (A->rows == 0) {
        props->min_row = 0;
        props->gershgorin_min = props->gershgorin_max = 0;
        return WISP_OK;
    }
    props->row_mean = (double)A->local.nnz / (double)A->rows;
    props->row_sdev = sqrt(fmax(0, run.sum2 / (double)A->rows - props->row_mean * props->row_mean));
    return WISP_OK;
}

wisp_status wisp_mat_row_histogram(const wisp_mat *A, int64_t *hist, int bins)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, hist);
    if (bins < 1) return wisp_ctx_fail(A->ctx, WISP_ERR_ARG, "a histogram of %d bins", bins);
    for (int i = 0; i < bins; i++) hist[i] = 0;
    for (int64_t i = 0; i < A->rows; i++) hist[WISP__MIN(wisp__row_len(&A->local, i), bins - 1)]++;
    return WISP_OK;
}

wisp_status wisp_mat_fill_in(const wisp_mat *A, int C, int64_t sigma, double *ratio)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, ratio);
    wisp_ctx *ctx = A->ctx;
    if (C < 1 || C > K_MAX_C || (C & (C - 1)) || sigma < 1 || (sigma > 1 && sigma % C))
        return wisp_ctx_fail(ctx, WISP_ERR_ARG,
                             "fill-in for C = %d, sigma = %lld: C is a power of two, sigma 1 or a multiple of C", C,
                             (long long)sigma);
    sigma = WISP__MIN(sigma, WISP__MAX(1, (A->rows + C - 1) / C * C));
    int32_t *len = NULL;
    int64_t padded = 0;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(ctx, &len, (size_t)A->rows, sizeof *len));
    for (int64_t i = 0; i < A->rows; i++) len[wisp__map_user(A->map, i)] = wisp__row_len(&A->local, i);
    WISP_TRY(wisp__padded_sorted(ctx, len, A->rows, __builtin_ctz((unsigned)C), sigma, &padded));
    *ratio = A->local.nnz ? (double)padded / (double)A->local.nnz : 1;
out:
    wisp_free(ctx, len);
    return status;
}
