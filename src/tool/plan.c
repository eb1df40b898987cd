/* What every --plan asks: memory that ranks need together, and what this machine has; its ceilings. */
#include "plan.h"
#include "bench/bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Who gives a limit is taken at his word: then this machine's memory is not asked about. */
static int64_t limit_of(const tool *t)
{
    return t->opt.mem_limit ? t->opt.mem_limit : (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

/* A number for the machine, the same for all processes on it. */
static double machine_number(void)
{
    char id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || !fgets(id, sizeof id, f)) gethostname(id, sizeof id - 1);
    if (f) fclose(f);
    return (double)(XXH3_64bits(id, strlen(id)) >> 11);
}

enum { BYTES, MACHINE, LIMIT, NUMBERS }; /* of each rank */

/* The machine whose limit is nearest, or passed most; or the rank, if each has a limit of its own. */
static void add_by_machine(const double *all, int ranks, bool together, plan_need *need)
{
    double most = -1;
    for (int r = 0; r < ranks; r++) {
        const double *mine = all + (size_t)r * NUMBERS, *other = all;
        double sum = together ? 0 : mine[BYTES];
        int here = !together;
        for (int s = 0; together && s < ranks; s++, other += NUMBERS)
            if (other[MACHINE] == mine[MACHINE]) sum += other[BYTES], here++;
        if (sum / mine[LIMIT] <= most) continue;
        most = sum / mine[LIMIT];
        *need = (plan_need){(int64_t)fmin(sum, 9e18), (int64_t)mine[LIMIT], here};
    }
}

/* What each rank has, size bytes, one after the other, to be freed; NULL: there was no memory, on any of them. It goes
   by words of 32 bits, which a sum of doubles keeps. */
static void *gather(tool *t, const void *own, size_t size)
{
    enum { WORD = sizeof(uint32_t) };
    const size_t ranks = (size_t)wisp_ctx_processes(t->ctx), rank = (size_t)wisp_ctx_rank(t->ctx);
    const size_t words = (size + WORD - 1) / WORD, tail = size - WORD * (words - 1);
    double *sum = calloc(ranks * words, sizeof *sum);
    wisp_ctx_enter(t->ctx);
    wisp_status status = sum ? WISP_OK : wisp_ctx_failf(t->ctx, WISP_ERR_NOMEM, "out of memory for %zu ranks", ranks);
    for (size_t i = 0; i < words && sum; i++) {
        uint32_t word = 0;
        memcpy(&word, (const char *)own + WORD * i, i + 1 < words ? WORD : tail);
        sum[rank * words + i] = word;
    }
    if (status == WISP_OK) status = wisp_ctx_sum(t->ctx, sum, ranks * words);
    status = wisp_ctx_leave(t->ctx, status);
    char *all = (char *)sum; /* in its place: a word is shorter */
    for (size_t i = 0; i < ranks * words && status == WISP_OK; i++) {
        const uint32_t word = (uint32_t)sum[i];
        memcpy(all + i / words * size + i % words * WORD, &word, (i + 1) % words ? WORD : tail);
    }
    if (status == WISP_OK) return all;
    free(sum);
    return NULL;
}

int64_t plan_most(tool *t, int64_t own)
{
    int64_t *all = gather(t, &own, sizeof own), most = own;
    for (int r = 0; all && r < wisp_ctx_processes(t->ctx); r++)
        if (all[r] > most) most = all[r];
    free(all);
    return most;
}

int plan_of_most(tool *t, int64_t bytes, void *plan, size_t size)
{
    int64_t *all = gather(t, &bytes, sizeof bytes);
    char *plans = gather(t, plan, size);
    int most = 0;
    for (int r = 1; all && r < wisp_ctx_processes(t->ctx); r++)
        if (all[r] > all[most]) most = r;
    const bool fine = all && plans;
    if (fine) memcpy(plan, plans + (size_t)most * size, size);
    free(all);
    free(plans);
    return fine ? EXIT_FINE : tool_fail_ctx(t);
}

int plan_needed(tool *t, int64_t own, plan_need *need)
{
    double *all =
        gather(t, (const double[]){(double)own, machine_number(), (double)limit_of(t)}, NUMBERS * sizeof *all);
    if (!all) return tool_fail_ctx(t);
    add_by_machine(all, wisp_ctx_processes(t->ctx), !t->opt.mem_limit, need);
    free(all);
    return EXIT_FINE;
}

const char *plan_whose(const plan_need *need)
{
    return need->ranks > 1 ? "all processes of a machine together; of the one that needs most: " : "";
}

wisp_status plan_ceilings(tool *t, wisp_machine *m, double *load_gbs, bool *kept)
{
    enum { TIMES = 5 };
    double gbs[TIMES];
    wisp_status status = WISP_OK;
    *kept = machine_kept(t, m);
    for (int i = 0; !*kept && i < TIMES; i++) WISP_TRY(wisp_load_bandwidth(t->ctx, &gbs[i]));
    if (!*kept) {
        m->gbs[WISP_LOAD][WISP_MEMORY][1] = bench_quartiles_of(gbs, TIMES).median;
        m->fma_gflops[0][1] = m->fma_gflops[1][1] = INFINITY;
    }
    *load_gbs = m->gbs[WISP_LOAD][WISP_MEMORY][1];
out:
    return status;
}
