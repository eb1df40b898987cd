/* What the library and the command both need of time and words; what a context has counted. */
#include "base.h"
#include "system.h"
#include <sched.h>
#include <string.h>
#include <unistd.h>

double wisp_now(void) { return 1e-9 * (double)wisp__clock_ns(CLOCK_MONOTONIC); }

void wisp__yield(void) { sched_yield(); }

size_t wisp__page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

int wisp_word_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    const int m = b ? (int)strnlen(b, LONGEST) : 0;
    int row[LONGEST + 1];
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 0; a && i < LONGEST && a[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 1; j <= m; j++) {
            const int replace = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            row[j] = WISP__MIN(replace, 1 + WISP__MIN(row[j], row[j - 1]));
        }
    }
    return row[m];
}

void wisp_ctx_counts(const wisp_ctx *ctx, wisp_counts *counts)
{
    if (!counts) return;
    *counts = (wisp_counts){0};
    if (!ctx) return;
    counts->passes = atomic_load(&ctx->passes);
    counts->products = atomic_load(&ctx->products);
    counts->reductions = atomic_load(&ctx->reductions);
    counts->messages = atomic_load(&ctx->messages);
    counts->sent_bytes = atomic_load(&ctx->sent_bytes);
    counts->round_trips = atomic_load(&ctx->round_trips);
}
