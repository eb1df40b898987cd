/* Work-items of one group as contexts that take turns on one thread: a barrier passes the turn on. So a kernel runs as
   plain C, and a barrier that not all items reach is found. Part of what is compiled at run time, for tests; turns.h
   stands before it. */
#ifndef WISP_ITEM_H
#define WISP_ITEM_H
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

typedef int64_t i64;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint8_t u8;

#ifndef ITEM_TURN /* a test: items go on from a barrier in another order */
#define ITEM_TURN(i) (i)
#endif
static void item_kernel(const void *p, char *const *a);
static _Thread_local struct {
    turn_place back, item[GROUP_SIZE];
    int now, at[GROUP_SIZE], ended[GROUP_SIZE]; /* at: barriers passed */
    int alone, failed;                          /* alone: no item has met a barrier, so all run one after the other */
    i64 group, groups;
    const void *p;
    char *const *array;
} items;

static inline int item_id(void) { return items.now; }
static inline i64 item_group(void) { return items.group; }
static inline i64 item_groups(void) { return items.groups; }
static inline void item_pass(void) { turn_pass(&items.item[items.now], &items.back); }
static __attribute__((noinline)) void item_barrier(void)
{
    if (items.alone) {
        items.failed = 1;
        return;
    }
    items.at[items.now]++;
    item_pass();
}
static void item_main(void)
{
    for (;;) {
        item_kernel(items.p, items.array);
        items.ended[items.now] = 1;
        item_pass();
    }
}
static inline void item_resume(int i)
{
    items.now = i;
    turn_pass(&items.back, &items.item[i]);
}
/* The first item tells whether there are barriers. */
static int item_group_run(i64 group)
{
    items.group = group, items.alone = 0, items.failed = 0;
    for (int i = 0; i < GROUP_SIZE; i++) items.at[i] = items.ended[i] = 0;
    item_resume(0);
    if (items.ended[0]) {
        items.alone = 1;
        for (int i = 1; i < GROUP_SIZE; i++) items.now = i, item_kernel(items.p, items.array);
        return items.failed;
    }
    for (int i = 1; i < GROUP_SIZE; i++) item_resume(i);
    for (int left = 1; left;) {
        for (int i = 1; i < GROUP_SIZE; i++)
            if (items.ended[i] != items.ended[0] || items.at[i] != items.at[0]) return 1;
        left = !items.ended[0];
        for (int i = 0; i < GROUP_SIZE && left; i++) item_resume(ITEM_TURN(i));
    }
    return 0;
}
/* Groups first, first + step, ... of so many. 1: a barrier that not all items reach; 2: out of memory. */
__attribute__((visibility("default"))) int item_launch(i64 first, i64 step, i64 groups, const void *p, char *const *a)
{
    const size_t bytes = (64 << 10) + TURN_APART;
    char *stack = malloc(bytes * GROUP_SIZE);
    int failed = stack ? 0 : 2;
    items.groups = groups, items.p = p, items.array = a;
    for (int i = 0; i < GROUP_SIZE && stack; i++)
        turn_begin(&items.item[i], stack + bytes * (size_t)i, bytes, item_main);
    for (i64 g = first; g < groups && !failed; g += step) failed = item_group_run(g);
    free(stack);
    return failed;
}
#endif
