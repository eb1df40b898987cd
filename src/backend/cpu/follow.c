/* Finds rows of SELL whose columns follow one another, entry by entry: there a kernel loads a register of x in place of
   gathering it. */
#include "prepare.h"

/* Whether the columns of `rows` rows from `row` do, in each entry of their chunk. */
static bool follow(const wisp__entries *a, int64_t row, int rows)
{
    const int64_t c = (int64_t)1 << a->log_c, chunk = row >> a->log_c;
    const int64_t n = (a->chunk[chunk + 1] - a->chunk[chunk]) >> a->log_c;
    if (n == 0 || row + rows > a->rows) return false;
    for (int i = 0; i < rows; i++)
        if (a->row_len[row + i] != n) return false;
    for (int64_t at = a->chunk[chunk] + (row & (c - 1)); at < a->chunk[chunk + 1]; at += c) {
        uint32_t differ = 0;
        for (int i = 1; i < rows; i++) differ |= (uint32_t)a->col[at + i] ^ ((uint32_t)a->col[at] + (uint32_t)i);
        if (differ) return false;
    }
    return true;
}

typedef struct {
    const wisp__entries *a;
    uint8_t *follow;
    atomic_llong halves; /* that do */
} follow_run;

static void find_some(void *arg, int64_t begin, int64_t end, int part)
{
    enum { HALF = K_FOLLOW_ROWS / 2 };
    follow_run *r = arg;
    int64_t halves = 0;
    (void)part;
    for (int64_t u = begin; u < end; u++) {
        const int64_t row = u * K_FOLLOW_ROWS;
        const bool first = follow(r->a, row, HALF), second = follow(r->a, row + HALF, HALF);
        const bool all = first && second && follow(r->a, row, K_FOLLOW_ROWS);
        r->follow[u] = (uint8_t)(first * K_FOLLOW_FIRST | second * K_FOLLOW_SECOND | all * K_FOLLOW_ALL);
        halves += first + second;
    }
    atomic_fetch_add(&r->halves, halves);
}

wisp_status wisp__follow_find(wisp_ctx *ctx, const wisp__given *g, wisp__cpu_prepared *to)
{
    wisp_status status;
    follow_run run = {.a = g->entries};
    if (g->kind != WISP__SELL || 1 << g->log_c < K_CHUNKED_C || wisp_type_is_complex(g->type)) return WISP_OK;
    const int64_t units = wisp__follow_bytes(g->rows);
    WISP_TRY(wisp__alloc_raw(ctx, &to->follow, (size_t)WISP__MAX(units, 1), sizeof *to->follow));
    run.follow = to->follow;
    wisp__team_each(ctx->team, units, WISP__SMALL / K_FOLLOW_ROWS, find_some, &run);
    const int64_t halves = atomic_load(&run.halves);
    to->known.follows = (double)halves / (double)WISP__MAX(2 * units, 1);
    if (halves) {
        to->known.bytes += units;
        return WISP_OK;
    }
    wisp_free(ctx, to->follow);
    to->follow = NULL;
out:
    return status;
}
