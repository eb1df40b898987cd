/* The width of blocks for a recurrence, and its limit: found by the model of time, of a matrix that stands or of one as
   it is foreseen. */
#include "assemble.h"
#include "../data/store/store.h"
#include <string.h>

static wisp_status check_choice(wisp_ctx *ctx, int64_t rows, int64_t cols, wisp_type type, int64_t vectors)
{
    if (rows != cols)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a width for a recurrence: the matrix is %lld x %lld, not square",
                              (long long)rows, (long long)cols);
    if (wisp__type_ok(type) && vectors > 0) return WISP_OK;
    return wisp_ctx_failf(ctx, WISP_ERR_ARG, "a width for %lld vectors of type %d", (long long)vectors, (int)type);
}

enum { WORD = 16 };
typedef struct {
    wisp_choice choice;
    char limit[WORD]; /* its word, which another process has at another address */
} proposal;

static const char *limit_of(const proposal *p)
{
    static const char *const known[] = {"memory", "cache", "core"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], p->limit)) return known[i];
    return "";
}

/* The ranks wait for the slowest: its choice is that of all. */
static wisp_status agree(wisp_ctx *ctx, wisp_choice *choice)
{
    proposal *all = NULL, mine = {.choice = *choice};
    const proposal *slowest;
    wisp_status status;
    if (choice->limit) strncpy(mine.limit, choice->limit, WORD - 1);
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ctx->ranks, sizeof *all));
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    slowest = all;
    for (int r = 1; r < ctx->ranks; r++)
        if (all[r].choice.seconds > slowest->choice.seconds) slowest = &all[r];
    *choice = slowest->choice;
    choice->limit = limit_of(slowest);
out:
    wisp_free(ctx, all);
    return status;
}

static wisp_status find_width(wisp_ctx *ctx, const wisp__shape *m, wisp_type type, int64_t vectors, int64_t steps,
                              wisp_choice *choice)
{
    const wisp__facts f = wisp__facts_of(ctx);
    const wisp_status status = wisp__width_find(ctx, &f, m, type, vectors, steps, choice);
    if (status != WISP_OK) return status;
    choice->load_gbs = 1e-9 * f.rates.memory;
    return agree(ctx, choice);
}

wisp_status wisp_src_choose(wisp_ctx *ctx, const wisp_src *src, const wisp_mat_opts *opts, wisp_type type,
                            int64_t vectors, int64_t steps, wisp_choice *choice)
{
    enum { WIDE = 8 }; /* rows are stored one by one: single columns are told apart by the shape */
    wisp_mat_opts o = opts ? *opts : (wisp_mat_opts){0};
    wisp__sample sample = {0};
    wisp__shape m;
    wisp_mat_info info;
    wisp_status status = WISP_OK;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, src);
    WISP_NEED(ctx, choice);
    if ((status = check_choice(ctx, src->rows, src->cols, type, vectors)) != WISP_OK) return status;
    *choice = (wisp_choice){.width = o.width};
    if (ctx->ranks > 1) steps = 1; /* they are not interleaved there */
    o.width = WIDE;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp__mat_foresee(ctx, src, &o, &info, &sample, &m));
    status = find_width(ctx, &m, type, vectors, steps, choice);
out:
    wisp__sample_close(&sample, ctx);
    return wisp_ctx_leave(ctx, status);
}

wisp_status wisp_mat_choose(const wisp_mat *A, wisp_type type, int64_t vectors, int64_t steps, wisp_choice *choice)
{
    wisp__sample sample = {0};
    wisp__shape m;
    wisp_status status;
    WISP_NEED(NULL, A);
    WISP_NEED(A->ctx, choice);
    if ((status = check_choice(A->ctx, A->map->rows, A->col_map->rows, type, vectors)) != WISP_OK) return status;
    *choice = (wisp_choice){0};
    if (A->ctx->ranks > 1) steps = 1;
    if (wisp__operator_of(A)) { /* as wide as wisp_kpm takes them by itself */
        const int wide =
            WISP__MAX(wisp__tuned_of(A->ctx)->row_bytes / (int)wisp_type_size(type), wisp__facts_of(A->ctx).columns);
        *choice = (wisp_choice){.width = (int)WISP__MIN(vectors, wide), .limit = "operator"};
        return WISP_OK;
    }
    wisp_ctx_enter(A->ctx);
    WISP_TRY(wisp__shape_of(A, &sample, &m));
    status = find_width(A->ctx, &m, type, vectors, steps, choice);
out:
    wisp__sample_close(&sample, A->ctx);
    return wisp_ctx_leave(A->ctx, status);
}
