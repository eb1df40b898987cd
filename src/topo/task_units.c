/* Which processing units a task has. A child borrows those of its parent first, which waits for it as a rule. */
#include "place.h"
#include "task_queue.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

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
    for (int i = 0; i < CPU_SETSIZE; i++, nodes = end + 1) {
        q->unit[q->units] = (wisp__task_unit){.number = i, .node = (int)strtol(nodes, &end, 10)};
        q->units++;
        if (*end != ',') return;
    }
}

bool wisp__task_units_find(wisp__tasks *q, wisp_ctx *ctx)
{
    const char *nodes = getenv("WISP_TASK_NODES");
    cpu_set_t set = ctx->units;
    int number[CPU_SETSIZE];
    if (CPU_COUNT(&set) == 0) wisp__allowed_cpus(&set);
    const int n = wisp__cpus_side_by_side(&set, number, CPU_SETSIZE);
    q->unit = calloc(CPU_SETSIZE, sizeof *q->unit); /* not wisp_alloc: that would hold the context */
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

/* The task that had a unit before `t` borrowed it. */
static const wisp_task *lender_of(const wisp_task *t, int unit)
{
    for (int i = 0; i < t->o.units; i++)
        if (t->unit[i] == unit) return t->lender[i];
    return NULL;
}

/* Whether a unit is free for t at some time: none of those that have it, one lent by the next, waits for t, but the one
   that lends it to t. */
static bool obtainable(const wisp__tasks *q, const wisp_task *t, int unit)
{
    for (const wisp_task *has = q->unit[unit].has; has; has = lender_of(has, unit)) {
        if (lends(has, t)) return true;
        if (is_ancestor(has, t)) return false;
    }
    return true;
}

static bool on_node(const wisp__tasks *q, const wisp_task *t, int unit)
{
    return t->o.node == 0 || q->unit[unit].node == t->o.node;
}

bool wisp__task_units_suffice(const wisp__tasks *q, const wisp_task *t)
{
    int n = 0;
    for (int i = 0; i < q->units; i++)
        n += obtainable(q, t, i) && (on_node(q, t, i) || !(t->o.flags & WISP_TASK_NODE_ONLY));
    return n >= t->o.units;
}

/* Adds units to n, until they are enough: the parent's or free ones, on the task's node or elsewhere. */
static int pick(const wisp__tasks *q, const wisp_task *t, int n, bool parents, bool node)
{
    for (int i = 0; i < q->units && n < t->o.units; i++) {
        wisp_task *has = q->unit[i].has;
        if (on_node(q, t, i) != node || (parents ? !has || !lends(has, t) : has != NULL)) continue;
        t->unit[n] = i;
        t->lender[n++] = has;
    }
    return n;
}

bool wisp__task_units_take(wisp__tasks *q, wisp_task *t)
{
    int n = 0;
    for (int elsewhere = 0; elsewhere < (t->o.flags & WISP_TASK_NODE_ONLY ? 1 : 2); elsewhere++)
        for (int free = 0; free < 2; free++) n = pick(q, t, n, !free, !elsewhere);
    if (n < t->o.units) return false;
    for (int i = 0; i < n; i++) q->unit[t->unit[i]].has = t;
    return true;
}

void wisp__task_units_return(wisp__tasks *q, wisp_task *t)
{
    for (int i = 0; i < t->o.units; i++) q->unit[t->unit[i]].has = t->lender[i];
}

bool wisp__task_units_set(const wisp__tasks *q, const wisp_task *t, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (int i = 0; i < t->o.units && !q->simulated; i++) CPU_SET((size_t)q->unit[t->unit[i]].number, set);
    return CPU_COUNT(set) > 0;
}
