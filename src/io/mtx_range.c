/* Matrix Market: the range of bytes of each rank. */
#include "../comm/comm.h"
#include "../base/system.h"
#include "mtx.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Where the first line begins that begins in [begin, end), begin > 0; -1: none does. A line may be longer than that:
   nobody looks further than their own bytes. */
static wisp_status first_line(wisp_ctx *ctx, const wisp__input *in, int64_t begin, int64_t end, int64_t *line)
{
    enum { SOME = 1 << 16 };
    char *text;
    wisp_status status;
    *line = -1;
    if (begin >= end) return WISP_OK;
    WISP_TRY(wisp__alloc_raw(ctx, &text, SOME, 1));
    for (int64_t at = begin - 1; at < end - 1 && *line < 0;) { /* bytes behind which a line may begin */
        const ssize_t n = pread(in->fd, text, (size_t)WISP__MIN((int64_t)SOME, end - 1 - at), at);
        if (n < 0 && errno != EINTR) {
            char why[100];
            status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot read: %s", in->path,
                                    wisp__error_text(errno, why, sizeof why));
        } else {
            status = wisp_ctx_step(ctx, "reading", 0, 0);
        }
        if (status != WISP_OK || n == 0) break; /* a file that became shorter has too few entries */
        if (n < 0) continue;
        const char *newline = memchr(text, '\n', (size_t)n);
        if (newline) *line = at + (newline - text) + 1;
        at += n;
    }
    wisp_free(ctx, text);
out:
    return status;
}

wisp_status wisp__mtx_range(wisp_ctx *ctx, const wisp__input *in, int64_t head, wisp__input *range)
{
    const int ranks = ctx->ranks, rank = ctx->rank;
    int64_t mine, *all = NULL, end = in->size;
    wisp_status status;
    head = WISP__MIN(head, in->size); /* its last line may lack the end that the reader gave it */
    const int64_t share = in->size - head;
    WISP_TRY(wisp_alloc(ctx, &all, (size_t)ranks, sizeof *all));
    if (rank == 0)
        mine = head;
    else
        WISP_TRY(first_line(ctx, in, head + wisp__split(share, ranks, rank), head + wisp__split(share, ranks, rank + 1),
                            &mine));
    WISP_TRY(ctx->comm->gather(ctx, &mine, sizeof mine, all));
    for (int r = ranks - 1; r > rank; r--)
        if (all[r] >= 0) end = all[r];
    if (mine < 0) mine = end;
    *range = *in;
    range->range = true;
    range->size = end - mine;
    if (lseek(in->fd, mine, SEEK_SET) < 0)
        status = wisp_ctx_failf(ctx, WISP_ERR_IO, "%s: cannot read: the file can't be positioned", in->path);
out:
    wisp_free(ctx, all);
    return status;
}
