/* Which processing units a task has. A child borrows those of its parent first, which waits for it as a rule. */
#include "crew.h"
#include "cpus.h"
#include "task_queue.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the process: which task has the unit of each number. */
static wisp_task *has[WISP__UNITS];

/* The memory node of a unit, from 1; 1 where the system does not tell. */
static int node_of(int unit)
{
    char path[64];
    int node = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", unit);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (sscanf(e->d_name, "node%d", &node) == 1) break;
    if (folder) closedir(folder);
    return node + 1;
}

/* $WISP_TASK_NODES, for tests: the nodes of units that there are not, such as 1,1,2,2. */
static void simulate(wisp__tasks *q, const char *nodes)
{
    char *end;
    for (int i = 0; i < WISP__UNITS; i++, nodes = end + 1) {
        q->unit[q->units] = (wisp__task_unit){.number = i, .node = (int)strtol(nodes, &end, 10)};
        q->units++;
        if (*end != ',') return;
    }
}

/* Those that the context's own threads may have: in a context that was made in a task, this one's. */
bool wisp__task_units_find(wisp__tasks *q, wisp_ctx *ctx)
{
    const char *nodes = getenv("WISP_TASK_NODES");
    int number[WISP__UNITS];
    const int n = wisp__cpus_side_by_side(&wisp__crew_of(ctx->team)->allowed, number, WISP__UNITS);
    q->unit = calloc(WISP__UNITS, sizeof *q->unit); /* not wisp_alloc: that would hold the context */
    if (!q->unit) return false;
    q->simulated = nodes != NULL;
    if (nodes) simulate(q, nodes);
    for (; q->units < n && !nodes; q->units++)
        q->unit[q->units] = (wisp__task_unit){.number = number[q->units], .node = node_of(number[q->units])};
    return true;
}

/* Whether a waits until b is over: b is a task that a started, or that one of these started. */
static bool is_ancestor(const wisp_task *a, const wisp_task *b)
{
    for (b = b->parent; b && b != a;) b = b->parent;
    return b == a;
}

static bool lends(const wisp_task *t, const wisp_task *to)
{
    return to->parent == t && !(t->o.flags & WISP_TASK_KEEP_UNITS);
}

/* From whom a task has a unit. */
static wisp_task **lender_of(wisp_task *t, int unit)
{
    for (int i = 0; i < t->o.units; i++)
        if (t->unit[i] == unit) return &t->lender[i];
    return NULL;
}

/* Whether a unit is free for t at some time: all those that have it, one lent by the next, end, up to the one that
   lends it to t. They are marked so; or taken to end if they are none that wait for t. */
static bool obtainable(const wisp_task *t, int unit, bool marked)
{
    for (wisp_task *h = has[unit]; h; h = *lender_of(h, unit)) {
        if (lends(h, t)) return true;
        if (marked ? !h->ends : is_ancestor(h, t)) return false;
    }
    return true;
}

static bool on_node(const wisp__task_unit *unit, const wisp_task *t)
{
    return t->o.node == 0 || unit->node == t->o.node;
}

static bool suffice(const wisp_task *t, bool marked)
{
    const wisp__tasks *q = t->ctx->tasks;
    int n = 0;
    for (const wisp__task_unit *u = q->unit; u < q->unit + q->units; u++)
        n += (on_node(u, t) || !(t->o.flags & WISP_TASK_NODE_ONLY)) && obtainable(t, u->number, marked);
    return n >= t->o.units;
}

bool wisp__task_units_suffice(const wisp_task *t) { return suffice(t, false); }
bool wisp__task_units_come(const wisp_task *t) { return suffice(t, true); }

/* Adds units to n, until they are enough: the parent's or free ones, on the task's node or elsewhere. */
static int pick(const wisp_task *t, int n, bool parents, bool node)
{
    const wisp__tasks *q = t->ctx->tasks;
    for (const wisp__task_unit *u = q->unit; u < q->unit + q->units && n < t->o.units; u++) {
        wisp_task *h = has[u->number];
        if (on_node(u, t) != node || (parents ? !h || !lends(h, t) : h != NULL)) continue;
        t->unit[n] = u->number;
        t->lender[n++] = h;
    }
    return n;
}

bool wisp__task_units_take(wisp_task *t)
{
    int n = 0;
    for (int elsewhere = 0; elsewhere < (t->o.flags & WISP_TASK_NODE_ONLY ? 1 : 2); elsewhere++)
        for (int free = 0; free < 2; free++) n = pick(t, n, !free, !elsewhere);
    if (n < t->o.units) return false;
    for (int i = 0; i < n; i++) has[t->unit[i]] = t;
    return true;
}

void wisp__task_units_return(wisp_task *t)
{
    for (int i = 0; i < t->o.units; i++) {
        wisp_task **from = &has[t->unit[i]];
        while (*from != t) from = lender_of(*from, t->unit[i]);
        *from = t->lender[i];
    }
}

bool wisp__task_units_set(const wisp_task *t, wisp__units *set)
{
    *set = (wisp__units){0};
    for (int i = 0; i < t->o.units && !t->ctx->tasks->simulated; i++) wisp__units_add(set, t->unit[i]);
    return wisp__units_count(set) > 0;
}

const wisp_task *wisp__task_unit_has(int number) { return has[number]; }
