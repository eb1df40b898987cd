/* Numbers that were tuned for CPUs and that the rooms above ask for, each with its reason. What is in quotes is a row,
   or a section, of docs/performance.md. Those that the backend alone takes are in tuned.h. */
#include "cpu.h"

const wisp__row_cut wisp__cpu_row_cut = {
    .strip = K_STRIP,
    /* "blocks of rows cut for the second-level cache": x and y of one have so many bytes at most, so that a few make a
       group that stays near from step to step; but strips enough to be worth a turn, and not more than so many blocks,
       whose dots are added up. */
    .most_blocks = 1024,
    .wide_bytes = 128 << 10,
    .least_strips = 2,
    /* Turns of threads in all, or for each of many: in shorter ones a thread gathers more rows that lie in another
       core's cache ("A step that always writes the same block"). */
    .turns = 1024,
    .own_turns = 32,
    /* Narrow blocks stream the matrix, in long ranges best ("How fast are products with blocks (SpMMV)?"). */
    .abreast = 8,
    /* "shares by entries, not rows". */
    .row_weight = 4,
};

const wisp__tuned wisp__cpu_tuned = {
    /* "sweeps of 55 matrices and formats": the numbers that fit times in and out of cache best, with AVX2 and AVX-512,
       rounded (docs/model.md). */
    .core = {.stored = {1.7, 1.1, 3.5},
             .repeated = {1.9, 1.7, 6},
             .together = {1, 0.4, 10},
             .complex_stored = {1.6, 2.2, 0},
             .complex_repeated = {1.4, 1.5, 4},
             .alone = {3, 0, 6},
             .gathered = {1, 0, 3.5},
             .bundled = {5, 0, 8},
             .complex_alone = {4.5, 0, 0},
             .complex_bundled = {4, 0, 4},
             .follows = 0.3,
             .far = 1.45, /* gathers are slower than one stream */
             .wait = 3.5e-6},
    .time =
        {/* "Written bytes beside read ones": the memory of today has a way of its own for writes. */
         .writing = 0.37,
         .writing_past = 0.65,
         /* "Exponents of what overlaps". */
         .overlap = 1.7,
         .ahead = 4,
         .late = 1.2,
         /* The same fit. */
         .own = {0.9, 1.5},
         .shared = {0.5, 1.25}},
    /* "`bench/choice`": of widths that take hardly longer than the best one, the narrowest has the smallest blocks. And
       "Interleaving where the last cache is hardly faster than memory": there the model's error is larger than the
       gain; and hopes of less than 15% did not come true. */
    .width = {.widest = 32, .hardly = 1.03, .deepest = 8, .faster = 1.3, .saves = 0.85},

    /* "Orders judged by bytes from memory, and sought only beyond 1.2 of the least": what the model sees only roughly
       (streams that run longer, gathered rows that the hardware foresees) speaks for the plainer order. And "Orders
       that break up a lattice": rows that repeat keep their numbers. */
    .order = {.worth_it = 0.06,
              .bad = 0.2,
              .levels = 8,
              .per_slice = 4,
              .near_l1 = 0.5,
              .near_l2 = 0.5,
              .repeats = 0.9,
              .judges = 4},
    /* "Interleaved steps: what do they gain?". A schedule must save a part of the time, for what the model does not see
       (waiting for each other, what else uses the cache) is in its way alone; and more steps hold more of the cache. */
    .schedule = {.deepest = 16,
                 .kept = 16,
                 .neighbours = 96,
                 .group_bytes = 256 << 10, /* "Groups of row blocks as large as a part of a second-level cache" */
                 .fewest = 4,
                 .reach = 0.95,
                 .near = 0.08, /* "Tasks whose reads are in cache" */
                 .better_way = 0.97,
                 .good_way = 1.1,
                 .deeper = 0.97,
                 .useful = 0.92,
                 .moves = 0.95},

    /* "`bench/halo`": ways to exchange a halo are mostly within a few hundredths of one another, and that is also by
       how much times of so few sweeps are off. */
    .halo = {.clearly = 0.95},
    /* "Rows sorted by length in windows": entries that are padding are read as others are, so many of them are
       worth that rows are met in another order, which gathers from farther away the longer its windows are; and longer
       ones bring no more. */
    .sorting = {.worth_it = 1.05, .chunks = 32},
    /* "Does half storage pay?": spill rows are written and read beside the block vectors, so there are to be few. */
    .half = {.few_blocks = 8, .spill_part = 8},
    /* The few patterns or lists that most rows have stay in the first-level cache; at the edge of a rank's rows each
       may be of its own, so a small part of the matrix will do. "short columns; codes": what saves less does not pay
       for being decoded. "Lists of columns for lattices of random values": rows of one list must follow one another,
       for kernels along chunks have nothing from lists but where these fill registers (of a 7-point lattice with lines
       of 128 rows an eighth does not, and that takes 1.2 times as long as SELL on one thread), and narrow block rows go
       faster side by side only. */
    .compress = {.strings = 256 << 10, .share = 64, .worth_it = 0.85, .list_run = 128, .list_run_narrow = 8},
    .from_memory = TUNED_FROM_MEMORY,

    .line = WISP__LINE,
    .row_bytes = 128, /* two lines: "How fast is a KPM step?", where wider blocks gain little */
    /* "How fast are tall and skinny products?": each row block has enough to do to be worth its sums, and all of them
       together are not much work to add up. */
    .dots = {.least_blocks = 64,
             .most_blocks = 1024,
             .sums = 1 << 15,
             .fused = 2048,
             .gram_sums = 1 << 18,
             .gram_few = 64,
             .gram_strips = 4,
             .gram_panel = 256},
};
