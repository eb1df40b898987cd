/* Finds rows of SELL whose columns follow one another, entry by entry: there a kernel loads a register of x in place of
   gathering it. */
#include "hints.h"
#include "store.h"

/* Whether the columns of `rows` rows from `row` do, in each entry of their chunk. */
static bool follow(const wisp_mat *A, int64_t row, int rows)
{
    const wisp__stored *s = &A->local;
    const int64_t c = (int64_t)1 << A->log_c, chunk = row >> A->log_c;
    const int64_t n = (s->chunk[chunk + 1] - s->chunk[chunk]) >> A->log_c;
    if (n == 0 || row + rows > A->local_rows) return false;
    for (int i = 0; i < rows; i++)
        if (s->row_len[row + i] != n) return false;
    for (int64_t at = wisp__sell_at(s, A->log_c, row, 0); at < s->chunk[chunk + 1]; at += c) {
        uint32_t differ = 0;
        for (int i = 1; i < rows; i++) differ |= (uint32_t)s->col[at + i] ^ ((uint32_t)s->col[at] + (uint32_t)i);
        if (differ) return false;
    }
    return true;
}

typedef struct {
    const wisp_mat *A;
    atomic_bool found;
} follow_run;

static void find_some(void *arg, int64_t begin, int64_t end, int part)
{
    enum { HALF = K_FOLLOW_ROWS / 2 };
    follow_run *r = arg;
    const wisp_mat *A = r->A;
    bool found = false;
    (void)part;
    for (int64_t u = begin; u < end; u++) {
        const int64_t row = u * K_FOLLOW_ROWS;
        const bool first = follow(A, row, HALF), second = follow(A, row + HALF, HALF);
        const bool all = first && second && follow(A, row, K_FOLLOW_ROWS);
        A->local.follow[u] = (uint8_t)(first * K_FOLLOW_FIRST | second * K_FOLLOW_SECOND | all * K_FOLLOW_ALL);
        found |= first || second;
    }
    if (found) atomic_store(&r->found, true);
}

wisp_status wisp__find_follow(wisp_mat *A)
{
    wisp_ctx *ctx = A->ctx;
    wisp__stored *s = &A->local;
    wisp_status status;
    follow_run run = {.A = A};
    if (1 << A->log_c < K_CHUNKED_C || wisp_type_is_complex(A->type)) return WISP_OK;
    const int64_t units = wisp__follow_bytes(A->local_rows);
    WISP_TRY(wisp__alloc_raw(ctx, &s->follow, (size_t)WISP__MAX(units, 1), sizeof *s->follow));
    wisp__team_each(ctx->team, units, WISP__SMALL / K_FOLLOW_ROWS, find_some, &run);
    if (!atomic_load(&run.found)) {
        wisp_free(ctx, s->follow);
        s->follow = NULL;
    }
out:
    return status;
}
