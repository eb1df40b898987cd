/* Numbers for GPUs that the rooms above ask for. None was measured on one yet: those that differ from the CPU's
   (backend/cpu/tuned.c, with the reasons of the others) follow from how GPUs are built, as is said beside them
   (docs/performance.md, "Numbers for GPUs"). */
#include "gpu.h"

const wisp__row_cut wisp__gpu_row_cut = {
    .strip = K_STRIP,
    /* A group has a block of rows: with so many groups the units of a large GPU have as many items as they can hold,
       and units that are through find more. Dots of each are kept until they are added up. */
    .most_blocks = 2048,
    .wide_bytes = 128 << 10,
    .least_strips = 2,
    .turns = 1024,
    .own_turns = 32,
    /* Groups that run at the same time have neighbouring blocks of rows, whatever the width. */
    .abreast = 1,
    .row_weight = 4,
};

const wisp__tuned wisp__gpu_tuned = {
    /* In loads of a register of 128 bytes, which a unit does in a turn. The column and the value of an entry are one
       each for all items of a block row, and an element a part of a register; a single column has a row for each item,
       so that entries next to each other come together, and what is gathered by itself takes a turn of its own. Rows
       that share patterns read the same, but what they read is near; none go side by side, or in bundles. */
    .core = {.stored = {2, 1, 3},
             .repeated = {2, 1, 3},
             .together = {2, 1, 3},
             .complex_stored = {2, 1, 3},
             .complex_repeated = {2, 1, 3},
             .alone = {1.2, 0, 0.2},
             .gathered = {1.2, 0, 0.2},
             .bundled = {1.2, 0, 0.2},
             .complex_alone = {1.4, 0, 0.4},
             .complex_bundled = {1.4, 0, 0.4},
             .follows = 0.8,
             .far = 1,
             .wait = 5e-6}, /* a launch begins and ends so, where it was not measured */
    .time =
        {/* A GPU's memory has one way for both directions. */
         .writing = 1,
         .writing_past = 1,
         /* Other groups work while one waits, so that nearly all overlaps. */
         .overlap = 4,
         .ahead = 4,
         .late = 4,
         .own = {0.9, 1.5},
         .shared = {0.5, 1.25}},
    .width = {.widest = 32, .hardly = 1.03, .deepest = 8, .faster = 1.3, .saves = 0.85},
    .order = {.worth_it = 0.06,
              .bad = 0.2,
              .levels = 8,
              .per_slice = 4,
              .near_l1 = 0.5,
              .near_l2 = 0.5,
              .repeats = 0.9,
              .judges = 4},
    .schedule = {.deepest = 16,
                 .kept = 16,
                 .neighbours = 96,
                 .group_bytes = 256 << 10,
                 .fewest = 4,
                 .waves = 0.5, /* a launch, or all groups at work, have a wave; and some of the next one is in flight */
                 .reach = 0.95,
                 .near = 0.08,
                 .better_way = 0.97,
                 .good_way = 1.1,
                 .deeper = 0.97,
                 .useful = 0.92,
                 .moves = 0.95},
    .halo = {.clearly = 0.95},
    .sorting = {.worth_it = 1.05, .chunks = 32},
    .half = {.few_blocks = 8, .spill_part = 8},
    .compress = {.strings = 256 << 10, .share = 64, .worth_it = 0.85, .list_run = 128, .list_run_narrow = 8},
    .from_memory = 32 << 20,
    .line = 32, /* what comes from memory comes in quarters of a line of 128 bytes */
    .row_bytes = 128,
    .dots = {.least_blocks = 64,
             .most_blocks = 1024,
             .sums = 1 << 15,
             .fused = 2048,
             .gram_sums = 1 << 18,
             .gram_few = 64,
             .gram_strips = 4,
             .gram_panel = 256},
};
