/* What every --plan asks: what ranks need together, and what the machine has. */
#ifndef WISP_TOOL_PLAN_H
#define WISP_TOOL_PLAN_H
#include "tool.h"

/* What is compared with a limit, the same on all ranks: with --mem-limit, which is of each process, what the rank needs
   that needs most; else what the ranks of one machine need together, where that is most of the machine's memory; and
   how many ranks that is. */
typedef struct {
    int64_t bytes, limit;
    int ranks;
} plan_need;
int plan_needed(tool *t, int64_t own, plan_need *need);
/* All ranks together: the most that one has, and what is planned for the rank that has most bytes. */
int64_t plan_most(tool *t, int64_t own);
int plan_of_most(tool *t, int64_t bytes, void *plan, size_t size);
const char *plan_whose(const plan_need *need); /* for a message, before the parts of what a process needs */
/* What `wisp machine` kept; else the load bandwidth alone, of now. */
wisp_status plan_ceilings(tool *t, wisp_machine *m, double *load_gbs, bool *kept);
#endif
