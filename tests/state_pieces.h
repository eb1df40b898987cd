/* A run of a solver in pieces: each ends at an offer that a test chooses, and the next one goes on from its checkpoint.
 */
#ifndef STATE_PIECES_H
#define STATE_PIECES_H
#include <stdio.h>
#include <unistd.h>
#include "ref.h"

typedef struct {
    char path[80];
    wisp_checkpoint *checkpoint;
    wisp_state *resume; /* NULL: it begins */
    int64_t offers, end_at;
    int pieces; /* that have ended so far */
} piece;

/* One name for all ranks. */
static inline piece piece_new(wisp_ctx *ctx, const char *name)
{
    piece p = {.offers = 0};
    double number = wisp_ctx_rank(ctx) == 0 ? (double)getpid() : 0;
    REF_OK(ctx, wisp_ctx_sum(ctx, &number, 1));
    snprintf(p.path, sizeof p.path, "/tmp/wisp-%s-%.0f.state", name, number);
    return p;
}

/* wisp_offer_fn */
static inline int piece_offer(void *arg, wisp_state *state)
{
    piece *p = arg;
    if (p->offers++ < p->end_at) return 0;
    wisp_checkpoint_request(p->checkpoint, 1);
    return wisp_checkpoint_offer(p->checkpoint, state);
}

static inline void piece_begin(piece *p, wisp_ctx *ctx, int64_t end_at)
{
    p->offers = 0;
    p->end_at = end_at;
    p->resume = NULL;
    if (p->pieces > 0) REF_OK(ctx, wisp_state_open(&p->resume, ctx, p->path));
    const wisp_checkpoint_opts o = {.path = p->path, .after = p->resume};
    REF_OK(ctx, wisp_checkpoint_create(&p->checkpoint, ctx, &o));
}

/* Whether an offer has ended the run; else its files go. */
static inline int piece_ended(piece *p, wisp_ctx *ctx, wisp_status status)
{
    wisp_checkpoint_info info;
    wisp_checkpoint_get_info(p->checkpoint, &info);
    if (info.ended && (status != WISP_ERR_CANCELLED || !info.saved || !strstr(message_of(ctx), "on request")))
        fail_msg("ended on request: %s (%s), saved %d", wisp_status_string(status), message_of(ctx), info.saved);
    if (!info.ended) wisp_checkpoint_remove(p->checkpoint);
    wisp_checkpoint_free(p->checkpoint);
    wisp_state_free(p->resume);
    p->checkpoint = NULL;
    p->resume = NULL;
    p->pieces += info.ended;
    return info.ended;
}

/* Removes the files of a run that a test has left in the middle. */
static inline void piece_drop(piece *p, wisp_ctx *ctx)
{
    piece_begin(p, ctx, INT64_MAX);
    (void)piece_ended(p, ctx, WISP_OK);
    p->pieces = 0;
}

/* Runs fn on so many ranks. What fails there can't go back to where the tests began. */
static inline void piece_ranks(int ranks, wisp_rank_fn fn, void *arg)
{
    int result = 0;
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    assert_int_equal(wisp_ranks_run(ranks, fn, arg, &result), WISP_OK);
    assert_int_equal(result, 0);
    unsetenv("CMOCKA_TEST_ABORT");
}
#endif
