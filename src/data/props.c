/* The exact properties of a matrix: symmetry, lengths of rows, Gershgorin's discs. */
#include "props.h"
#include "store/store.h"
#include <math.h>

/* ---- a row ----------------------------------------------------------------------------------- */

/* What its own entries say. */
typedef struct {
    double center, radius, largest;
    int64_t bandwidth;
    int n, diagonal, finite;
} row_facts;

typedef struct {
    const wisp_mat *A; /* as the host sees it */
    wisp_mat_props *all;
    double sum2;
    pthread_mutex_t lock;
    row_facts *facts;        /* [patterns] without the diagonal that is stored apart; NULL: rows have their own */
    int64_t *count;          /* [threads][patterns] rows */
    _Atomic uint16_t *known; /* [entries of all patterns] 1 + the pattern that was last seen to hold the conjugate */
} props_run;

static void add_entry(row_facts *f, int64_t distance, wisp_scalar v)
{
    const double size = v.im == 0 ? fabs(v.re) : hypot(v.re, v.im);
    f->n++;
    f->finite &= isfinite(v.re) && isfinite(v.im);
    if (distance == 0) {
        f->diagonal++;
        f->center += v.re;
        f->radius += fabs(v.im);
    } else {
        f->radius += size;
    }
    f->largest = fmax(f->largest, size);
    f->bandwidth = WISP__MAX(f->bandwidth, distance < 0 ? -distance : distance);
}

static row_facts facts_of_row(const wisp_mat *A, int64_t row)
{
    row_facts f = {.finite = 1};
    const wisp__row r = wisp__row_of(A, row);
    const int64_t user = wisp__map_user(A->map, row);
    for (int k = 0; k < r.n; k++)
        add_entry(&f, user - wisp__col_number(A, wisp__row_col(&r, k)), wisp__row_value(&r, A->type, k));
    return f;
}

/* In natural order, where offsets are distances. */
static row_facts facts_of_pattern(const wisp_mat *A, int64_t pattern)
{
    const wisp__stored *s = &A->local;
    row_facts f = {.finite = 1};
    for (int64_t e = s->chunk[pattern]; e < s->chunk[pattern + 1]; e++)
        if (!(s->diagonal && s->col[e] == 0)) add_entry(&f, -(int64_t)s->col[e], wisp__pattern_value(A, e));
    return f;
}

/* The same of the entry at these positions, whose partner is on this rank. */
static bool look_at_partner(const wisp_mat *A, wisp_mat_props *p, int64_t row, int64_t col, wisp_scalar v)
{
    bool found = true;
    const wisp_scalar w = col == row ? v : wisp__value_at(A, col, row, &found);
    return wisp__props_compare(p, wisp__map_user(A->map, row), wisp__map_user(A->map, col), v, w, found);
}

/* Of rows with the same facts. */
static void add_rows(wisp_mat_props *p, const row_facts *f, int64_t rows, double *sum2)
{
    p->diagonal += f->diagonal * rows;
    p->largest = fmax(p->largest, f->largest);
    p->bandwidth = WISP__MAX(p->bandwidth, f->bandwidth);
    p->empty_rows += f->n == 0 ? rows : 0;
    p->min_row = WISP__MIN(p->min_row, f->n);
    p->max_row = WISP__MAX(p->max_row, f->n);
    *sum2 += (double)f->n * f->n * (double)rows;
}

/* The sums were rounded: an ulp a term keeps the discs on the safe side. */
static void add_disc(wisp_mat_props *p, int n, double center, double radius)
{
    radius += (n + 1) * 0x1p-52 * (radius + fabs(center));
    const double low = center - radius, high = center + radius;
    p->gershgorin_min = low < p->gershgorin_min ? low : p->gershgorin_min;
    p->gershgorin_max = high > p->gershgorin_max ? high : p->gershgorin_max;
}

static void look_at_row(const wisp_mat *A, wisp_mat_props *p, int64_t row, double *sum2)
{
    const row_facts f = facts_of_row(A, row);
    if (!f.finite) p->nonfinite_row = WISP__MIN(p->nonfinite_row, wisp__map_user(A->map, row));
    add_rows(p, &f, 1, sum2);
    add_disc(p, f.n, f.center, f.radius);
    const wisp__row r = wisp__row_of(A, row);
    for (int k = 0; p->square && k < r.n; k++) {
        const int64_t col = wisp__row_col(&r, k);
        if (col < A->col_map->local) look_at_partner(A, p, row, col, wisp__row_value(&r, A->type, k));
    }
}

/* ---- rows that repeat, in natural order ------------------------------------------------------ */

/* Of rows [begin, end) of one pattern, those before the end that this returns have no entry in the halo. */
static int64_t without_halo(const wisp_mat *A, int64_t begin, int64_t end)
{
    const wisp__stored *s = &A->local;
    const int64_t pattern = s->patterns.of[begin], after = s->chunk[pattern + 1];
    if (after == s->chunk[pattern]) return end;
    const int64_t first = A->col_map->local - s->col[after - 1]; /* offsets rise */
    return WISP__MAX(begin, WISP__MIN(first, end));
}

/* The diagonal that a row stores apart from its pattern. */
static void look_at_diagonal(const wisp_mat *A, wisp_mat_props *p, const row_facts *f, int64_t row)
{
    const wisp_type real = wisp__real_type(A->type);
    const wisp_scalar d = wisp__load(real, (const char *)A->local.diagonal + (size_t)row * wisp_type_size(real));
    const double size = fabs(d.re);
    p->largest = size > p->largest ? size : p->largest;
    add_disc(p, f->n + 1, d.re, f->radius);
    if (d.re != 0) p->skew = 0;
    if (isfinite(d.re)) return;
    p->nonfinite_row = WISP__MIN(p->nonfinite_row, wisp__map_user(A->map, row));
    look_at_partner(A, p, row, row, d);
}

/* Whether all of these rows have this pattern. */
static inline bool all_are(const uint16_t *pattern, int64_t rows, uint16_t which)
{
    unsigned differ = 0;
    if (rows == 1) return *pattern == which;
    for (int64_t i = 0; i < rows; i++) differ |= (unsigned)(pattern[i] ^ which);
    return !differ;
}

/* Entry e of rows [row, end) of one pattern. */
static __attribute__((noinline)) void look_at_partners(const props_run *r, wisp_mat_props *p, int64_t e, int64_t row,
                                                       int64_t end)
{
    const wisp__stored *s = &r->A->local;
    for (int64_t i = row; i < end; i++) {
        const int64_t col = i + s->col[e];
        const uint16_t seen = (uint16_t)(s->patterns.of[col] + 1);
        if (atomic_load_explicit(&r->known[e], memory_order_relaxed) == seen) continue;
        const wisp__row entries = wisp__row_of(r->A, i);
        if (look_at_partner(r->A, p, i, col, wisp__row_value(&entries, r->A->type, e - entries.at)))
            atomic_store_explicit(&r->known[e], seen, memory_order_relaxed);
    }
}

/* Rows [row, end) of one pattern, which are counted, for what it says is added at the end. Two patterns that were seen
   to fit are not compared again. */
static inline void look_at_repeated(const props_run *r, wisp_mat_props *p, int64_t *count, int64_t row, int64_t end)
{
    const wisp_mat *A = r->A;
    const wisp__stored *s = &A->local;
    const int64_t pattern = s->patterns.of[row], after = s->chunk[pattern + 1];
    const row_facts *f = &r->facts[pattern];
    if (count[pattern] == 0 && !f->finite) p->nonfinite_row = WISP__MIN(p->nonfinite_row, wisp__map_user(A->map, row));
    count[pattern] += end - row;
    for (int64_t i = row; s->diagonal && i < end; i++) look_at_diagonal(A, p, f, i);
    for (int64_t e = s->chunk[pattern]; p->square && e < after; e++) {
        const unsigned known = atomic_load_explicit(&r->known[e], memory_order_relaxed);
        if (known == 0 || !all_are(s->patterns.of + (row + s->col[e]), end - row, (uint16_t)(known - 1)))
            look_at_partners(r, p, e, row, end);
    }
}

static void add_patterns(const props_run *r, wisp_mat_props *p, const int64_t *count, double *sum2)
{
    const wisp__stored *s = &r->A->local;
    for (int64_t i = 0; i < s->patterns.count; i++) {
        row_facts f = r->facts[i];
        if (count[i] == 0) continue;
        if (!s->diagonal) add_disc(p, f.n, f.center, f.radius);
        if (s->diagonal) f.n++, f.diagonal++;
        add_rows(p, &f, count[i], sum2);
    }
}

/* ---- all rows -------------------------------------------------------------------------------- */

static wisp_mat_props no_props(const wisp_mat *A)
{
    const int square = A->square;
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

static void props_thread(void *arg, int thread, int threads)
{
    enum { PART = 16384 }; /* rows */
    props_run *r = arg;
    const wisp_mat *A = r->A;
    wisp_mat_props mine = no_props(A);
    double sum2 = 0;
    const uint16_t *pattern = r->facts ? A->local.patterns.of : NULL;
    int64_t *count = r->facts ? r->count + thread * A->local.patterns.count : NULL;
    const int64_t begin = wisp__split(A->local_rows, threads, thread),
                  end = wisp__split(A->local_rows, threads, thread + 1);
    for (int64_t part = begin, i = begin; part < end && !wisp__cancelled(A->ctx->team); part += PART) {
        const int64_t part_end = WISP__MIN(end, part + PART);
        if (thread == 0) wisp__tell_progress(A->ctx, "checking", (double)(part - begin) / (double)(end - begin), 0);
        for (int64_t next; i < part_end; i = next) {
            for (next = i + 1; count && next < part_end && pattern[next] == pattern[i];) next++;
            const int64_t own = count ? without_halo(A, i, next) : i;
            if (own > i) look_at_repeated(r, &mine, count, i, own);
            for (int64_t row = own; row < next; row++) look_at_row(A, &mine, row, &sum2);
        }
    }
    if (count) add_patterns(r, &mine, count, &sum2);
    pthread_mutex_lock(&r->lock);
    wisp__props_merge(r->all, &mine);
    r->sum2 += sum2; /* of integers: exact in any order */
    pthread_mutex_unlock(&r->lock);
}

/* The tables for rows that repeat. */
static wisp_status tables_open(props_run *r)
{
    const wisp_mat *A = r->A;
    const wisp__stored *s = &A->local;
    const bool natural = !A->map->user && !A->col_map->user; /* offsets are distances, but those into the halo */
    wisp_status status = WISP_OK;
    if (!wisp__is_kind(s, WISP__PATTERNS) || !natural) return WISP_OK;
    const size_t patterns = (size_t)s->patterns.count, counts = (size_t)A->ctx->threads * patterns;
    const size_t bytes =
        counts * sizeof *r->count + patterns * sizeof *r->facts + (size_t)s->entries * sizeof *r->known;
    if (bytes > (size_t)wisp__props_tables(A->local_rows)) return WISP_OK;
    WISP_TRY(wisp_alloc(A->ctx, &r->known, (size_t)s->entries, sizeof *r->known));
    WISP_TRY(wisp_alloc(A->ctx, &r->count, counts, sizeof *r->count));
    WISP_TRY(wisp__alloc_raw(A->ctx, &r->facts, patterns, sizeof *r->facts));
    for (int64_t i = 0; i < s->patterns.count; i++) r->facts[i] = facts_of_pattern(A, i);
out:
    return status;
}

/* ---- all together ---------------------------------------------------------------------------- */

static wisp_status look_at_all(const wisp_mat *A, props_run *run)
{
    wisp__host_mat host;
    wisp_mat_props *props = run->all;
    bool whole = false;
    wisp_status status = wisp__mat_lend(A, WISP_READ, &host);
    if (status != WISP_OK) return status;
    run->A = &host.mat;
    if ((status = tables_open(run)) == WISP_OK)
        whole = wisp__run_some(A->ctx->team, A->local.nnz < WISP__SMALL, props_thread, run);
    if (status == WISP_OK) status = wisp__whole(A->ctx, "checking the matrix", whole);
    if (status == WISP_OK && A->halo && A->square) status = wisp__props_across(run->A, props);
    wisp__mat_return(&host);
    run->A = NULL;
    return status != WISP_OK ? status : wisp__props_of_ranks(A, props, &run->sum2);
}

/* They take as long as many products, and solvers ask in each call. The user may change borrowed entries at any time.
   Keeping is no change that a user could see. */
enum { UNKNOWN, KEEPING, KEPT };
static void keep(const wisp_mat *A, const wisp_mat_props *props)
{
    wisp_mat *own = (wisp_mat *)(uintptr_t)A;
    int before = UNKNOWN;
    if (wisp__in_place(A) || !atomic_compare_exchange_strong(&own->props_kept, &before, KEEPING)) return;
    own->props = *props;
    atomic_store(&own->props_kept, KEPT);
}

void wisp__forget_props(wisp_mat *A) { atomic_store(&A->props_kept, UNKNOWN); }

wisp_status wisp_mat_get_props(const wisp_mat *A, wisp_mat_props *props)
{
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, props);
    if (wisp__half_of(A)) {
        *props = wisp__half_of(A)->props;
        return WISP_OK;
    }
    if (atomic_load(&A->props_kept) == KEPT) {
        *props = A->props;
        return WISP_OK;
    }
    *props = no_props(A);
    if (wisp__operator_of(A)) return wisp__need_entries(A, "properties");
    props_run run = {.all = props, .lock = PTHREAD_MUTEX_INITIALIZER};
    wisp_ctx_enter(A->ctx);
    wisp_status status = wisp_ctx_leave(A->ctx, look_at_all(A, &run));
    WISP_TRY(status);
    if (props->bad_row == INT64_MAX) props->bad_row = props->bad_col = -1;
    if (props->nonfinite_row == INT64_MAX) props->nonfinite_row = -1;
    props->nearly_hermitian = props->square && props->asymmetry <= wisp__rounding(A->type) * props->largest;
    const double rows = (double)A->map->rows;
    if (A->map->rows == 0) {
        props->min_row = 0;
        props->gershgorin_min = props->gershgorin_max = 0;
        goto out;
    }
    props->row_mean = (double)A->nnz / rows;
    props->row_sdev = sqrt(fmax(0, run.sum2 / rows - props->row_mean * props->row_mean));
    keep(A, props);
out:
    wisp_free(A->ctx, run.known);
    wisp_free(A->ctx, run.count);
    wisp_free(A->ctx, run.facts);
    return status;
}
