/* Numbers that were tuned for a device, and that the rooms above its backend ask for: each device has a table of them,
   with their reasons (that of CPUs: backend/cpu/tuned.c). */
#ifndef WISP_MODEL_TUNED_H
#define WISP_MODEL_TUNED_H

/* In loads of a register: what an entry takes whatever the width, what it takes for each register of the block row, and
   what a row takes for each of them beside its entries. */
typedef struct {
    double entry, part, row;
} wisp__loads;
/* What counts as full lies between two parts of a cache's size, evenly. */
typedef struct {
    double from, to;
} wisp__filling;

typedef struct {
    /* ---- the model of a sweep (docs/model.md) ---- */
    struct {
        wisp__loads stored, repeated, together, complex_stored, complex_repeated; /* block rows */
        wisp__loads alone, gathered, bundled, complex_alone, complex_bundled;     /* single columns */
        double follows; /* the part of an entry that is saved where it lies behind that of the row before */
        double far;     /* times the time at the second-level rate */
        double wait;    /* seconds in which threads begin and end a sweep together */
    } core;
    struct {
        double writing, writing_past; /* a byte to memory beside the reading of one: to lines that were read; others */
        double overlap, ahead, late;  /* exponents: as a rule; where kernels ask ahead for most, or for nothing */
        wisp__filling own, shared;    /* caches of a thread; the last one, which has others' lines too */
    } time;
    struct {
        int widest;    /* of kernels: wider blocks go by parts */
        double hardly; /* times the least time that a narrower width may take */
        int deepest;   /* steps whose interleaving a width is judged by, at most; */
        double faster; /* times the rate of memory that the last cache must have, */
        double saves;  /* and of the time of plain sweeps at most */
    } width;

    /* ---- orders of rows, and schedules of interleaved steps ---- */
    struct {
        double worth_it;         /* the part of a sweep's time that one must save over a plainer one */
        double bad;              /* as much over the least time makes a search from scratch worthwhile */
        int levels;              /* that a band has at least */
        int per_slice;           /* row blocks that tiles visit in each slice of a level */
        double near_l1, near_l2; /* the parts of caches that a block, or a slice of three levels, stays in */
        double repeats;          /* rows that have the distances of another one: a lattice, from that part of them on */
        int judges;              /* at once: each takes memory */
    } order;
    struct {
        int deepest;       /* steps */
        int kept;          /* with a matrix */
        int neighbours;    /* of a row block, on average; beyond, everything is next to everything */
        int group_bytes;   /* of a thread's part of a group, with its rows of the matrix */
        int fewest;        /* groups */
        double waves;      /* the part of the cache that waves of tasks have; 0: each goes on when it is ready */
        double reach;      /* the part of neighbours within which levels are taken to reach */
        double near;       /* tasks that miss less of what they read run without prefetch */
        double better_way; /* of the bytes of a plainer walk, at most; */
        double good_way;   /* times the least there can be: no other walk is tried */
        double deeper;     /* of the time at half the depth, at most */
        double useful;     /* of the time of plain sweeps, at most; */
        double moves;      /* of their bytes: whether it is these that are not saved (for the log) */
    } schedule;

    /* ---- exchanged rows of other ranks ---- */
    struct {
        double clearly; /* of the time of the plainest way, at most, that another one is taken for */
    } halo;

    /* ---- how entries are stored ---- */
    struct {
        double worth_it; /* times the entries that there are with padding, from which rows are sorted by length; */
        int chunks;      /* so many of them at a time */
    } sorting;
    struct {
        int few_blocks; /* of rows that are not cut down further, */
        int spill_part; /* and of the rows at most one in so many a spill row */
    } half;
    struct {
        int strings;         /* bytes of all patterns or lists, at most, */
        int share;           /* or so small a part of the matrix */
        double worth_it;     /* of the bytes of SELL, at most */
        int list_run;        /* rows that share a list, on average, in chunks; */
        int list_run_narrow; /* in rows of their own, up to two columns */
    } compress;
    int64_t from_memory; /* bytes: a matrix of more comes from memory */

    /* ---- blocks ---- */
    int line;      /* bytes of a cache line */
    int row_bytes; /* of blocks whose width nothing else decides */
    /* Row blocks of dots: so many at least and at most, and in all so many sums; of gram the same, each of so many
       strips unless it has few sums. Fused passes have so many numbers of a block in each at least. */
    struct {
        int least_blocks, most_blocks, sums, fused;
        int gram_sums, gram_few, gram_strips;
        int gram_panel; /* numbers of a block row that go together: their sums stay in the caches. The same of all */
                        /* devices, for ranks sum panel by panel */
    } dots;
} wisp__tuned;
#endif
