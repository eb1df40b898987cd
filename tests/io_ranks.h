/* For tests of files on several ranks: ways to share rows, and whole files. */
#ifndef IO_RANKS_H
#define IO_RANKS_H
#include "io_naive.h"
#include <pthread.h>
#include <unistd.h>

enum { MOST_RANKS = 5 };

/* Ways to share rows. */
static const struct {
    int ranks;
    const char *weights;
} ways[] = {{1, ""}, {2, ""}, {3, ""}, {3, "2,0,1"}, {5, ""}, {5, "0,3,0,1,0"}};
enum { WAYS = sizeof ways / sizeof *ways };

static inline void run_way(int way, wisp_rank_fn fn, void *arg)
{
    if (*ways[way].weights) setenv("WISP_WEIGHTS", ways[way].weights, 1);
    ref_ranks_each(ways[way].ranks, fn, arg);
    unsetenv("WISP_WEIGHTS");
}

static inline size_t get_bytes(const char *path, unsigned char *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    const size_t n = fread(data, 1, room, f);
    fclose(f);
    return n;
}
#endif
