/* How long a sweep takes: one model of caches and one of time (docs/model.md). It works on samples of patterns and on
   the numbers of a device, and knows no matrices; of a context it takes memory alone, and its log. */
#ifndef WISP_MODEL_H
#define WISP_MODEL_H
#include "facts.h"

/* Whether interleaved steps could gain anything. They can't gain more than the last cache is faster than memory; where
   that is little, the model's error is larger than the gain. */
bool wisp__may_interleave(const wisp__facts *f);
/* Seconds for so many bytes from memory and to it; past: not to lines that were read. */
double wisp__memory_seconds(const wisp__tuned *t, double read, double written, bool past, double load_gbs);
/* Seconds of work that goes on at once, in part: a larger exponent, more of it. */
double wisp__overlapped(double traffic, double core, double exponent);

/* ---- caches ---------------------------------------------------------------------------------- */

/* Bytes that caches keep while a sweep goes over two blocks of some width and size, and how its threads share rows. */
typedef struct {
    double l2, l3;         /* for what is gathered: of one thread; of the threads that go side by side */
    double l1;             /* of one thread */
    double all_l1, all_l2; /* of all threads */
    double kept;           /* the part of the last cache that is kept from one sweep to the next */
    int threads;
    int64_t block_rows; /* that these take in turn: short blocks, or a long range each */
} wisp__caches;
/* The part of `bytes`, met once in each sweep, that a cache keeps from one to the next. */
double wisp__kept_part(double bytes, double cache);
void wisp__caches_find(const wisp__facts *f, int width, int64_t row_bytes, double rows, wisp__caches *c);

/* Rows of a pattern, in runs of WISP__RUN that follow one another in a sweep, and for each of them where in the sweep
   the rows stand that gather its row of the block. With a symmetric pattern these are the columns of the row itself;
   patterns that are not are taken as if they were. */
enum { WISP__RUN = 32 };
typedef struct {
    int64_t rows;   /* sampled: a multiple of WISP__RUN, or all there are */
    int64_t *first; /* [rows + 1] */
    int64_t *place; /* [first[rows]]; the row itself is among them */
    double entries; /* of a row, on average */
    double reach;   /* nearly all entries are at most so many rows away */
    double follows; /* the part of the entries that is one column behind that of the row before */
    double uneven;  /* the part of the rows that have not as many entries as the row before */
} wisp__sample;
/* The part of a sweep in groups of so many rows (they divide WISP__RUN) that have the same distances, next to each
   other or most_apart rows apart at most; and in groups whose distances are met more than once. */
double wisp__sample_alike(const wisp__sample *s, int64_t group, int64_t most_apart);
wisp_status wisp__sample_repeats(wisp_ctx *ctx, const wisp__sample *s, int64_t group, double *part);
/* Room for so many rows and entries (the rows themselves besides). */
wisp_status wisp__sample_open(wisp__sample *s, wisp_ctx *ctx, int64_t rows, int64_t entries);
void wisp__sample_close(wisp__sample *s, wisp_ctx *ctx);
/* After first[] and place[] are filled: the averages. */
void wisp__sample_finish(wisp__sample *s);

/* How often a line of the gathered block (or a block row, if that is longer) comes to a cache in a sweep, once at
   least: it is lost when more bytes than the cache holds pass between two rows that gather it. Each thread's first and
   second-level caches see its own rows alone. */
typedef struct {
    double last, l2, l1; /* times */
    double threads;      /* that gather it */
} wisp__comings;
/* stream_bytes: of the matrix and of the other blocks, for each row. */
wisp_status wisp__comings_find(wisp_ctx *ctx, const wisp__tuned *t, const wisp__sample *s, int64_t row_bytes,
                               double stream_bytes, const wisp__caches *c, wisp__comings *found);
extern const int64_t wisp__comings_bytes; /* that it holds meanwhile, besides the places of one line */

/* ---- time ------------------------------------------------------------------------------------ */

/* A matrix, as the model sees it. */
typedef struct {
    double rows, entries;
    double bytes; /* that a sweep reads of it */
    wisp_type type;
    bool patterns;  /* rows that repeat are stored once */
    bool bundles;   /* and groups of them that do go a register at a time, if single */
    bool lists;     /* rows share lists of distances: like patterns, some go side by side */
    bool chunks;    /* along chunks: single real columns go a register of rows at a time */
    double follows; /* the part of their entries that needs no gathering */
    const wisp__sample *sample;
} wisp__shape;

/* What a step moves, and how long it takes. */
typedef struct {
    double read, written; /* bytes from memory and to it */
    double from_l3;       /* bytes that come from the last cache alone */
    double from_others;   /* and from other threads' caches */
    double seconds;
    int depth;         /* of sweeps: steps that are interleaved, 1: none */
    const char *limit; /* of sweeps: "memory", "cache", "core" */
} wisp__step_cost;

/* What a step asks of the cores. */
typedef struct {
    double loads; /* registers loaded, and what takes as long */
    double far;   /* bytes that the first-level cache does not hold */
    bool ahead;   /* kernels ask for most of what they stream ahead */
    bool late;    /* they ask for nothing ahead, and wait for what comes from afar */
    int threads;
} wisp__core_work;
wisp_status wisp__shape_comings(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                                wisp__caches *c, wisp__comings *x);
wisp_status wisp__core_work_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                                 const wisp__comings *x, const wisp__caches *c, wisp__core_work *w);
double wisp__core_seconds(const wisp__tuned *t, const wisp__core_work *w, const wisp__rates *r);
double wisp__step_seconds(const wisp__tuned *t, const wisp__step_cost *c, const wisp__core_work *w,
                          const wisp__rates *r);

/* A sweep of the fused KPM step over blocks of this type and width, by what comes to caches; and what it asks of the
   cores. */
wisp_status wisp__sweep_by(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                           const wisp__caches *caches, const wisp__comings *x, wisp__core_work *work,
                           wisp__step_cost *c);
/* The same by its own look at the caches; one of so many, some of which may be interleaved. */
wisp_status wisp__sweep_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int width,
                             int64_t steps, wisp__step_cost *c);
/* The width (if it is 0) in which `vectors` columns take least time, and the time. */
wisp_status wisp__width_find(wisp_ctx *ctx, const wisp__facts *f, const wisp__shape *m, wisp_type type, int64_t vectors,
                             int64_t steps, wisp_choice *choice);
#endif
