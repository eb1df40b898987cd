/* Interleaved steps of a recurrence: row blocks of the tasks of a schedule (wisp__schedule). A task waits for all tasks
   up to number `after`, which is less than its own. sweep.gpu.h stands before this. A launch may have a wave of tasks,
   none of which waits for another: each group takes one row block. Or it has all tasks (p.draws): groups draw row
   blocks from a counter, in the order of the schedule, and wait until all is done that a block waits for. That was
   drawn before, by groups that wait only for what was drawn before it: so all comes to its end, however few groups run
   at a time. OpenCL has no addresses of arrays: a step names its arrays by the numbers of the kernel's arguments, and
   by how many bytes behind these they begin. */
#define TABLE(type, at) ((GLOBAL type *)(array[0] + (at)))
#define STEP_ARRAY(type, i) (step->array[i] < 0 ? (GLOBAL type *)0 : (GLOBAL type *)(array[step->array[i]] + s.at[i]))

/* A chain beyond the first one. Each item finds what it has put into y itself. */
INLINE void chain_block(k_sweep p, GLOBAL const k_chain *c, GLOBAL const elem *y, GLOBAL elem *z, i64 block)
{
    const i64 begin = block * p.rows_per_block, end = block_end(block, p.rows_per_block, p.rows);
    const int lanes = (int)p.lanes, abreast = GROUP_SIZE / lanes;
    for (i64 row = begin + ITEM / lanes; row < end; row += abreast)
        for (int at = ITEM % lanes; at < COLUMNS; at += lanes)
            add_chain(p, c->eta[0], c->eta[1], SEE(y, row * p.ld_y + at), z, row * c->ld + at);
}

KERNEL(interleaved, k_steps)
{
    LOCAL double all[8 * GROUP_SIZE];
    LOCAL i32 drawn[1];
    GLOBAL char *const array[K_PLACES] = {a0 + p.at[0], a1,  a2,  a3,  a4,  a5,  a6,  a7,  a8,  a9,
                                          a10,          a11, a12, a13, a14, a15, a16, a17, a18, a19};
    GLOBAL const k_task *tasks = TABLE(const k_task, p.tasks_at);
    GLOBAL i32 *next = TABLE(i32, p.done_at), *done = next + 1; /* blocks of each task */
    i64 known = 0;                                              /* tasks that are known to be done */
    for (i64 number = p.first + GROUP;;) {
        if (p.draws) {
            if (ITEM == 0) drawn[0] = ATOMIC_ADD(next, 1);
            BARRIER(); /* the number is there */
            number = drawn[0];
        }
        if (number >= p.end) break;
        const i64 task = number / p.group_blocks, after = tasks[task].after;
        if (p.draws) {
            for (i64 i = known + ITEM; i <= after; i += GROUP_SIZE)
                while (LOAD_FLAG(done + i) < p.group_blocks) PAUSE(); /* another group has it */
            FENCE();                                                  /* what was put before is seen */
            BARRIER_ALL();                                            /* all is done that this block waits for */
            if (known <= after) known = after + 1;
        }
        const i64 block = tasks[task].group * p.group_blocks + number % p.group_blocks;
        if (block < p.blocks) {
            GLOBAL const k_step *step = TABLE(const k_step, p.steps_at) + tasks[task].step;
            const k_sweep s = step->sweep;
            sweep_arrays a;
            SWEEP_ARRAYS(a, STEP_ARRAY);
            sweep_block(s, a, block, all);
            for (i64 i = 0; i < step->chains; i++) {
                GLOBAL const k_chain *c = TABLE(const k_chain, p.chains_at) + step->chain + i;
                chain_block(s, c, a.y, (GLOBAL elem *)(array[c->array] + c->at), block);
            }
        }
        if (!p.draws) break;
        BARRIER_ALL(); /* all items have put what is theirs */
        if (ITEM == 0) {
            FENCE(); /* what they have put is seen before this: */
            ATOMIC_ADD(done + task, 1);
        }
    }
}
