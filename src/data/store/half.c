/* Half of a Hermitian matrix, made from the whole one. The rows are cut at the diagonal, then into row blocks that
   threads take side by side; then the sums that each row block has for rows of others get their spill rows.
   All of it is fixed by the matrix alone. */
#include "store.h"
#include <string.h>

static int64_t strips_of(const wisp__half *h) { return (h->rows + K_STRIP - 1) / K_STRIP; }

static int64_t bytes(const wisp_mat *A, bool all)
{
    const wisp__half_mat *m = A->local.half;
    const wisp__half *h = &m->h;
    const int64_t entry = (int64_t)wisp_type_size(A->type) + 4, strips = strips_of(h);
    if (!all) return m->entries * entry + h->rows * 8;
    return m->entries * entry + (h->rows + 1) * 8 + h->rows * 4 + A->local_rows * 4 /* row_len */ +
           (strips + 1) * (8 + 8 + 4) + m->outside * 4 + h->spill_rows * 8 + (h->blocks + 1) * (8 + 8 + 8) +
           m->sources * 4;
}

/* ---- the upper half -------------------------------------------------------------------------- */

/* The first entry of a row that is not left of the diagonal. */
static int64_t upper_begin(const wisp__stored *s, int64_t row)
{
    int64_t lo = s->chunk[row], hi = lo + s->row_len[row];
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (s->col[mid] < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void fill_thread(void *arg, int thread, int threads)
{
    const wisp_mat *A = arg;
    const wisp__stored *s = &A->local;
    const wisp__half *h = &s->half->h;
    const size_t size = wisp_type_size(A->type);
    const int64_t end = wisp__split(A->local_rows, threads, thread + 1);
    for (int64_t i = wisp__split(A->local_rows, threads, thread); i < end; i++) {
        const int64_t from = upper_begin(s, i);
        const size_t n = (size_t)(h->row[i + 1] - h->row[i]);
        memcpy(h->col + h->row[i], s->col + from, n * sizeof *h->col);
        memcpy((char *)h->val + (size_t)h->row[i] * size, (char *)s->val + (size_t)from * size, n * size);
    }
}

/* The rows from the diagonal on; the whole ones are given back. */
static wisp_status take_upper(wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    wisp__stored *s = &A->local;
    wisp__half *h = &s->half->h;
    wisp_status status;
    h->rows = A->local_rows;
    WISP_TRY(wisp__alloc_raw(ctx, &h->row, (size_t)A->local_rows + 1, sizeof *h->row));
    h->row[0] = 0;
    for (int64_t i = 0; i < A->local_rows; i++)
        h->row[i + 1] = h->row[i] + s->chunk[i] + s->row_len[i] - upper_begin(s, i);
    WISP_TRY(wisp__alloc_raw(ctx, &h->col, (size_t)h->row[A->local_rows], sizeof *h->col));
    WISP_TRY(wisp__alloc_raw(ctx, &h->val, (size_t)h->row[A->local_rows], wisp_type_size(A->type)));
    wisp__run_some(ctx->team, s->nnz < WISP__SMALL, fill_thread, A);
    wisp_free(ctx, s->chunk);
    wisp_free(ctx, s->col);
    wisp_free(ctx, s->val);
    s->chunk = NULL, s->col = NULL, s->val = NULL;
    s->chunks = s->entries = 0;
out:
    return status;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Blocks of about equal work. */
static void cut(const wisp__row_cut *c, wisp__half *h, int64_t blocks)
{
    const int64_t rows_weight = c->row_weight, total = h->row[h->rows] + rows_weight * h->rows;
    h->blocks = blocks;
    for (int64_t b = 0, strip = 0; b <= blocks; b++) {
        const int64_t target = wisp__split(total, (int)WISP__MAX(blocks, 1), (int)b);
        while (strip * K_STRIP < h->rows && h->row[strip * K_STRIP] + rows_weight * strip * K_STRIP < target) strip++;
        h->first[b] = WISP__MIN(strip * K_STRIP, h->rows);
    }
    h->first[0] = 0;
    h->first[blocks] = h->rows;
}

/* A set of rows, and how many of them come before each word of it. */
typedef struct {
    uint64_t *word;
    int32_t *rank;
} row_set;

/* The rows behind its own that a block has sums for; returns how many, and the words in use. */
static int64_t find_spill(const wisp__half *h, int64_t block, row_set *set, int64_t *word_begin, int64_t *word_end)
{
    const int64_t end = h->first[block + 1];
    int64_t last = end - 1, count = 0;
    *word_begin = end / 64;
    for (int64_t i = h->first[block]; i < end; i++)
        for (int64_t e = h->row[i + 1] - 1; e >= h->row[i] && h->col[e] >= end; e--) {
            const int64_t j = h->col[e];
            set->word[j / 64] |= (uint64_t)1 << (j % 64);
            last = WISP__MAX(last, j);
        }
    *word_end = last / 64 + 1;
    for (int64_t w = *word_begin; w < *word_end; w++) {
        set->rank[w] = (int32_t)count;
        count += __builtin_popcountll(set->word[w]);
    }
    return count;
}

static void clear(row_set *set, int64_t word_begin, int64_t word_end)
{
    if (word_end > word_begin) memset(set->word + word_begin, 0, (size_t)(word_end - word_begin) * sizeof *set->word);
}

/* What threads do with blocks, one by one. */
typedef struct {
    wisp__half *h;
    row_set *sets; /* [threads] */
    int32_t *target;
} half_run;

static void count_spill_of(void *arg, int64_t b, int64_t next, int part)
{
    const half_run *r = arg;
    row_set *set = &r->sets[part];
    int64_t begin, end;
    r->h->spill[next] = find_spill(r->h, b, set, &begin, &end);
    clear(set, begin, end);
}

/* Spill rows of each block, as running numbers. */
static void count_spill(wisp_ctx *ctx, wisp__half *h, row_set *sets)
{
    wisp__team_each(ctx->team, h->blocks, 1, count_spill_of, &(half_run){h, sets, NULL});
    h->spill[0] = 0;
    for (int64_t b = 0; b < h->blocks; b++) h->spill[b + 1] += h->spill[b];
    h->spill_rows = h->spill[h->blocks];
}

/* As many blocks as leave few spill rows beside the block vectors themselves. */
static void choose_blocks(wisp_ctx *ctx, wisp__half *h, row_set *sets)
{
    const wisp__facts f = wisp__facts_of(ctx);
    const int few = f.tuned->half.few_blocks;
    int64_t blocks = WISP__MIN(f.cut.most_blocks, strips_of(h));
    for (;; blocks = WISP__MAX(blocks / 2, few)) {
        cut(&f.cut, h, blocks);
        count_spill(ctx, h, sets);
        if (blocks <= few || h->spill_rows <= h->rows / f.tuned->half.spill_part) break;
    }
    if (h->spill_rows > h->rows / 2)
        wisp_ctx_logf(ctx, WISP_LOG_PERF,
                      "half storage: %lld blocks of rows have sums for %.2g other rows per row of the matrix; "
                      "the whole matrix will be faster, or another order of the rows",
                      (long long)h->blocks, (double)h->spill_rows / (double)h->rows);
    else if (ctx->threads > 1 && h->blocks < 2 * ctx->threads)
        wisp_ctx_logf(ctx, WISP_LOG_PERF,
                      "half storage: the matrix falls into %lld blocks of rows only, for %d threads",
                      (long long)h->blocks, ctx->threads);
}

/* ---- inside and outside ---------------------------------------------------------------------- */

static void find_inside_of(void *arg, int64_t b, int64_t next, int part)
{
    const wisp__half *h = ((const half_run *)arg)->h;
    int64_t reach = 0;
    (void)part;
    for (int64_t begin = h->first[b]; begin < h->first[next]; begin += K_STRIP) {
        const int64_t end = WISP__MIN(begin + K_STRIP, h->rows);
        int64_t outside = 0;
        reach = WISP__MAX(reach, end);
        for (int64_t i = begin; i < end; i++) {
            int64_t e = h->row[i + 1];
            while (e > h->row[i] && h->col[e - 1] >= h->first[next]) e--;
            h->inside[i] = (int32_t)(e - h->row[i]);
            outside += h->row[i + 1] - e;
            if (e > h->row[i]) reach = WISP__MAX(reach, h->col[e - 1] + 1);
        }
        h->reach[begin / K_STRIP] = (int32_t)reach;
        h->outside[begin / K_STRIP + 1] = outside;
    }
}

/* Of each row, what stays in its block; of each strip, how far down its block has come. */
static void find_inside(wisp_ctx *ctx, wisp__half *h)
{
    wisp__team_each(ctx->team, h->blocks, 1, find_inside_of, &(half_run){h, NULL, NULL});
    h->outside[0] = 0;
    for (int64_t s = 0; s < strips_of(h); s++) h->outside[s + 1] += h->outside[s];
}

static void number_spill_rows_of(void *arg, int64_t b, int64_t next, int part)
{
    const half_run *r = arg;
    const wisp__half *h = r->h;
    row_set *set = &r->sets[part];
    int64_t begin, end, row = h->spill[b], at = h->outside[h->first[b] / K_STRIP];
    if (h->first[b] == h->first[next]) return;
    find_spill(h, b, set, &begin, &end);
    for (int64_t i = h->first[b]; i < h->first[next]; i++)
        for (int64_t e = h->row[i] + h->inside[i]; e < h->row[i + 1]; e++) {
            const int64_t j = h->col[e], w = j / 64;
            const uint64_t below = set->word[w] & (((uint64_t)1 << (j % 64)) - 1);
            h->spill_row[at++] = (int32_t)(h->spill[b] + set->rank[w] + __builtin_popcountll(below));
        }
    for (int64_t w = begin; w < end; w++)
        for (uint64_t bits = set->word[w]; bits; bits &= bits - 1)
            r->target[row++] = (int32_t)(w * 64 + __builtin_ctzll(bits));
    clear(set, begin, end);
}

/* Numbers the entries outside; target[spill row] is the row of y that it is for. */
static void number_spill_rows(wisp_ctx *ctx, wisp__half *h, row_set *sets, int32_t *target)
{
    wisp__team_each(ctx->team, h->blocks, 1, number_spill_rows_of, &(half_run){h, sets, target});
}

/* Sorts the spill rows by the strip that they are for, and by number. */
static void sort_incoming(wisp__half *h, const int32_t *target)
{
    const int64_t strips = strips_of(h);
    memset(h->incoming, 0, ((size_t)strips + 1) * sizeof *h->incoming);
    for (int64_t k = 0; k < h->spill_rows; k++) h->incoming[target[k] / K_STRIP + 1]++;
    for (int64_t s = 0; s < strips; s++) h->incoming[s + 1] += h->incoming[s];
    for (int64_t k = 0; k < h->spill_rows; k++) {
        const int64_t at = h->incoming[target[k] / K_STRIP]++;
        h->into[at] = target[k];
        h->from[at] = (int32_t)k;
    }
    memmove(h->incoming + 1, h->incoming, (size_t)strips * sizeof *h->incoming);
    h->incoming[0] = 0;
}

/* The blocks that each block takes sums from. With source = NULL it only counts them. */
static void list_sources(wisp__half *h, const int32_t *target, int64_t *count, int32_t *source)
{
    for (int64_t b = 0; b < h->blocks; b++)
        for (int64_t k = h->spill[b], c = b; k < h->spill[b + 1]; k++) {
            if (k > h->spill[b] && target[k] < h->first[c + 1]) continue;
            while (target[k] >= h->first[c + 1]) c++;
            if (source) source[count[c]] = (int32_t)b;
            count[c]++;
        }
}

static wisp_status find_sources(wisp_ctx *ctx, wisp__half *h, const int32_t *target)
{
    const size_t blocks = (size_t)h->blocks;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &h->source_at, blocks + 1, sizeof *h->source_at));
    list_sources(h, target, h->source_at + 1, NULL);
    for (size_t b = 0; b < blocks; b++) h->source_at[b + 1] += h->source_at[b];
    WISP_TRY(wisp__alloc_raw(ctx, &h->source, (size_t)h->source_at[blocks], sizeof *h->source));
    list_sources(h, target, h->source_at, h->source);
    memmove(h->source_at + 1, h->source_at, blocks * sizeof *h->source_at);
    h->source_at[0] = 0;
out:
    return status;
}

/* ---- all together ---------------------------------------------------------------------------- */

static wisp_status alloc_lists(wisp_ctx *ctx, wisp__half *h)
{
    const size_t strips = (size_t)strips_of(h), most = (size_t)wisp__facts_of(ctx).cut.most_blocks;
    wisp_status status;
    WISP_TRY(wisp__alloc_raw(ctx, &h->first, most + 1, sizeof *h->first));
    WISP_TRY(wisp__alloc_raw(ctx, &h->spill, most + 1, sizeof *h->spill));
    WISP_TRY(wisp__alloc_raw(ctx, &h->inside, (size_t)h->rows, sizeof *h->inside));
    WISP_TRY(wisp__alloc_raw(ctx, &h->outside, strips + 1, sizeof *h->outside));
    WISP_TRY(wisp__alloc_raw(ctx, &h->incoming, strips + 1, sizeof *h->incoming));
    WISP_TRY(wisp__alloc_raw(ctx, &h->reach, strips, sizeof *h->reach));
out:
    return status;
}

static wisp_status alloc_sets(wisp_ctx *ctx, row_set *sets, int64_t rows)
{
    const size_t words = (size_t)rows / 64 + 1;
    wisp_status status = WISP_OK;
    for (int t = 0; t < ctx->threads; t++) {
        WISP_TRY(wisp_alloc(ctx, &sets[t].word, words, sizeof *sets[t].word));
        WISP_TRY(wisp_alloc(ctx, &sets[t].rank, words, sizeof *sets[t].rank));
    }
out:
    return status;
}

static wisp_status make_blocks(wisp_ctx *ctx, wisp__half *h)
{
    row_set *sets = NULL;
    int32_t *target = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(ctx, &sets, (size_t)ctx->threads, sizeof *sets));
    WISP_TRY(alloc_sets(ctx, sets, h->rows));
    WISP_TRY(alloc_lists(ctx, h));
    choose_blocks(ctx, h, sets);
    if (h->spill_rows > INT32_MAX) {
        status = wisp_ctx_failf(ctx, WISP_ERR_OVERFLOW,
                                "half storage: blocks of rows have sums for %lld other rows; store the whole matrix",
                                (long long)h->spill_rows);
        goto out;
    }
    find_inside(ctx, h);
    WISP_TRY(wisp__alloc_raw(ctx, &h->spill_row, (size_t)h->outside[strips_of(h)], sizeof *h->spill_row));
    WISP_TRY(wisp__alloc_raw(ctx, &h->into, (size_t)h->spill_rows, sizeof *h->into));
    WISP_TRY(wisp__alloc_raw(ctx, &h->from, (size_t)h->spill_rows, sizeof *h->from));
    WISP_TRY(wisp__alloc_raw(ctx, &target, (size_t)h->spill_rows, sizeof *target));
    number_spill_rows(ctx, h, sets, target);
    sort_incoming(h, target);
    WISP_TRY(find_sources(ctx, h, target));
out:
    for (int t = 0; sets && t < ctx->threads; t++) {
        wisp_free(ctx, sets[t].word);
        wisp_free(ctx, sets[t].rank);
    }
    wisp_free(ctx, sets);
    wisp_free(ctx, target);
    return status;
}

wisp_status wisp__half_build(wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    wisp__half_mat *m;
    wisp_mat_props props;
    wisp_status status;
    WISP_TRY(wisp_mat_get_props(A, &props));
    const long long row = props.bad_row, col = props.bad_col;
    if (!props.hermitian)
        return wisp_ctx_failf(
            ctx, WISP_ERR_HERMITIAN,
            "half of the matrix can't be stored, for it is not Hermitian: entries (%lld, %lld) and "
            "(%lld, %lld), counted from 0, are not conjugate; take another opts.format, or, if that is "
            "rounding, the Hermitian part (wisp_src_hermitian_part)",
            row, col, col, row);
    WISP_TRY(wisp_alloc(ctx, &m, 1, sizeof *m));
    m->props = props;
    A->local.how = &wisp__storage_half; /* its whole rows are freed with it, too, until they are given back */
    A->local.half = m;
    WISP_TRY(take_upper(A));
    WISP_TRY(make_blocks(ctx, &m->h));
    m->entries = m->h.row[m->h.rows];
    m->outside = m->h.outside[strips_of(&m->h)];
    m->sources = m->h.source_at[m->h.blocks];
    /* Each block has dots of its own: of the rows that it finishes as it goes, and of those that others add to. */
    A->grid = (wisp__grid){.blocks = 2 * m->h.blocks};
out:
    return status;
}

/* The first row of which two matrices have another pattern; -1: there is none. */
static int64_t first_difference(const wisp_mat *A, const wisp_mat *B)
{
    const wisp__half *a = &A->local.half->h, *b = &B->local.half->h;
    for (int64_t i = 0; i < A->local_rows; i++) {
        const int64_t n = a->row[i + 1] - a->row[i];
        if (A->local.row_len[i] != B->local.row_len[i] || b->row[i + 1] - b->row[i] != n ||
            memcmp(a->col + a->row[i], b->col + b->row[i], (size_t)n * sizeof *a->col) != 0)
            return i;
    }
    return -1;
}

/* Only if B has the same pattern. */
static wisp_status renew(wisp_mat *A, wisp_mat *B)
{
    wisp__host_mat a, b;
    wisp_status status;
    WISP_TRY(wisp__mat_lend(A, WISP_READ, &a));
    if ((status = wisp__mat_lend(B, WISP_READ, &b)) != WISP_OK) {
        wisp__mat_return(&a);
        return status;
    }
    const int64_t differs = first_difference(&a.mat, &b.mat);
    wisp__mat_return(&a);
    wisp__mat_return(&b);
    if (differs >= 0)
        return wisp_ctx_failf(A->ctx, WISP_ERR_MISMATCH,
                              "row %lld has another pattern than the matrix; make a new matrix",
                              (long long)wisp__map_user(A->map, differs));
    wisp__half_mat *half = A->local.half;
    A->local.half = B->local.half;
    B->local.half = half;
out:
    return status;
}

/* ---- what is done with it -------------------------------------------------------------------- */

static void arrays(wisp__stored *s, wisp__arrays *list)
{
    wisp__half *h = &s->half->h;
    WISP__ARRAYS(list, &h->first, &h->row, &h->inside, &h->col, &h->val, &h->outside, &h->reach, &h->incoming,
                 &h->spill_row, &h->into, &h->from, &h->spill, &h->source_at, &h->source);
}

static void free_struct(wisp_ctx *ctx, wisp__stored *s) { wisp_free(ctx, s->half); }

static void own_struct(wisp__host_mat *host)
{
    host->half = *host->mat.local.half;
    host->mat.local.half = &host->half;
}

const wisp__storage wisp__storage_half = {
    .kind = WISP__HALF,
    .format = WISP_FORMAT_HERMITIAN,
    .never_interleaved = "half of the matrix is stored",
    .arrays = arrays,
    .free = free_struct,
    .own = own_struct,
    .bytes = bytes,
    .renew = renew,
};
