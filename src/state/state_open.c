/* A kept state: the files of a generation, of as many ranks as wrote them. */
#include "state.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "../base/outfile.h"
#include "../comm/comm.h"

/* Each rank looks at the hashes of some files. */
static wisp_status check_parts(wisp_state *s)
{
    wisp_status status = WISP_OK;
    const wisp_ctx *ctx = s->ctx;
    for (int p = 1; p < s->ranks; p++) {
        const wisp__state_file *file;
        if (p % ctx->ranks != ctx->rank) continue;
        WISP_TRY(wisp__state_part(s, p, true, &file));
        if (ctx->ranks < s->ranks) wisp__state_file_close(&s->file[p], s->ctx); /* it may not be this rank's to read */
    }
out:
    return status;
}

static bool rising(const wisp__state_file *f)
{
    const uint32_t ranks = f->head.ranks;
    if (f->head.rank != 0 || f->begin[0] != 0 || f->begin[ranks] != f->head.rows) return false;
    for (uint32_t r = 0; r < ranks; r++)
        if (f->begin[r] > f->begin[r + 1]) return false;
    return f->head.local == f->begin[1];
}

/* The generation whose first file this is. */
static wisp_status open_generation(wisp_state **state, wisp_ctx *ctx, const char *path, const char *first)
{
    wisp_state *s = NULL;
    wisp_status status;
    wisp_ctx_enter(ctx);
    WISP_TRY(wisp_alloc(ctx, &s, 1, sizeof *s));
    s->ctx = ctx;
    wisp__state_file head;
    WISP_TRY(wisp__state_file_open(&head, ctx, first, true));
    s->ranks = (int)head.head.ranks;
    const bool fits = rising(&head);
    status = wisp_alloc(ctx, &s->file, (size_t)s->ranks, sizeof *s->file);
    if (status != WISP_OK || !fits) {
        wisp__state_file_close(&head, ctx);
        if (status == WISP_OK)
            status = wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: the checkpoint is damaged: its ranks do not fit", first);
        goto out;
    }
    s->file[0] = head;
    s->path = wisp__strdup(ctx, path);
    status = s->path ? check_parts(s) : WISP_ERR_NOMEM;
out:
    status = wisp_ctx_leave(ctx, status);
    if (status != WISP_OK) {
        wisp_state_free(s);
        s = NULL;
    }
    *state = s;
    return status;
}

wisp_status wisp_state_open(wisp_state **state, wisp_ctx *ctx, const char *path)
{
    char why[512], before[PATH_MAX], real[PATH_MAX];
    WISP_NEED(ctx, state);
    *state = NULL;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, path);
    if (wisp__real_name(path, real)) snprintf(real, sizeof real, "%s", path); /* opening it will say why */
    wisp_status status = open_generation(state, ctx, real, real);
    if (status == WISP_OK || status == WISP_ERR_NOMEM || status == WISP_ERR_CANCELLED) return status;
    wisp_ctx_message(ctx, why, sizeof why);
    const wisp_status second = open_generation(state, ctx, real, wisp__before_name(before, real));
    if (second != WISP_OK) return wisp_ctx_fail(ctx, status, why);
    (*state)->is_before = true;
    wisp_ctx_logf(ctx, WISP_LOG_WARN, "%s; the checkpoint before it is taken", why);
    return WISP_OK;
}
