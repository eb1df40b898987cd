/* The machine, what it allows, and the model of time. Part of wisp.h, which says what holds for all calls. */
#ifndef WISP_H
#include "wisp.h" /* all of it: functions of one header are inline in another */
#endif
#ifndef WISP_PUBLIC_MACHINE_H
#define WISP_PUBLIC_MACHINE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the machine and what it allows ------------------------------------------------------------ */

typedef enum { WISP_L1, WISP_L2, WISP_L3, WISP_MEMORY, WISP_LEVELS } wisp_level;
WISP_API const char *wisp_level_name(int level); /* "L1", ..., "memory"; NULL: there is no such level */
/* load: sum of b; copy: a = b; triad: a = b + s c; update: a = s a. PAST: with stores past the caches. */
typedef enum {
    WISP_LOAD,
    WISP_COPY,
    WISP_COPY_PAST,
    WISP_TRIAD,
    WISP_TRIAD_PAST,
    WISP_UPDATE,
    WISP_STREAMS
} wisp_stream;
/* Figures for wisp_machine_measure to find. MEMORY, CACHES: gbs of these levels; LOADS: gbs of WISP_LOAD alone, of all
   levels; FMA: fma_gflops; KEPT: kept_bytes; EXCHANGE: exchange_gbs, or the seconds of a device. */
enum {
    WISP_MEASURE_MEMORY = 1,
    WISP_MEASURE_CACHES = 2,
    WISP_MEASURE_FMA = 4,
    WISP_MEASURE_LOADS = 8,
    WISP_MEASURE_KEPT = 16,
    WISP_MEASURE_EXCHANGE = 32
};

/* How a matrix has its rows, as far as the kernels of sweeps differ by it. */
typedef enum {
    WISP_ROWS_STORED,  /* each with its columns and values, all of one length */
    WISP_ROWS_UNEVEN,  /* the same, of lengths that change from row to row */
    WISP_ROWS_SHARED,  /* of patterns or lists that many rows have, in no order */
    WISP_ROWS_IN_TURN, /* two of them in turn */
    WISP_ROWS_ALIKE,   /* one of them, row after row */
    WISP_ROW_KINDS
} wisp_rows;
WISP_API const char *wisp_rows_name(int kind);          /* "stored", ..., "alike"; NULL: there is no such kind */
enum { WISP_KERNEL_TYPES = 4, WISP_KERNEL_WIDTHS = 6 }; /* WISP_S, D, C, Z; 1, 2, 4, 8, 16, 32 columns */
typedef struct {
    char cpu[128];                            /* the processor's name */
    int packages, nodes, cores, cpus;         /* sockets, memory nodes, cores, hardware threads */
    int64_t memory_bytes;                     /* installed */
    int64_t cache_bytes[WISP_MEMORY];         /* of one cache of this level; 0: there is none, or it is not known */
    int cache_cores[WISP_MEMORY];             /* cores that share it */
    int threads;                              /* of the context */
    char isa[16];                             /* of its kernels */
    double gbs[WISP_STREAMS][WISP_LEVELS][2]; /* GB/s with one thread and with all; 0: not measured. Bytes that the */
                                              /* loop names, without write-allocate */
    double fma_gflops[2][2];                  /* single, double; one thread, all */
    int64_t kept_bytes;  /* of the last cache: the largest set that all threads together load again and again at */
                         /* 3/4 or more of the rate of small ones; 0: not measured, or there is no such cache */
    double exchange_gbs; /* at which all threads load data that another one has just written, from its caches; 0: */
                         /* not measured, or one thread */
    char device[32];     /* of a GPU's figures the device's name; "": they are those of the CPU. A GPU has units for */
                         /* threads and cores, its kind for isa, all of its units for "all", and of caches L2 alone */
    double launch_seconds, round_trip_seconds; /* of a launch among many, and of one that is waited for; 0: not */
                                               /* measured, or the CPU */
    int64_t measure_bytes;                     /* of a GPU's own memory that measuring it takes; 0: the CPU */
    /* Nanoseconds of one core for each entry, and for each row beside its entries, in a step of the recurrence on rows
       of this kind, of matrices and blocks of this type and width, with all in the first-level cache; 0: not measured
     */
    double kernel_ns[WISP_ROW_KINDS][WISP_KERNEL_TYPES][WISP_KERNEL_WIDTHS][2];
} wisp_machine;
/* Finds the topology, and measures the ceilings that `what` (WISP_MEASURE_...) asks for: a second or two for all. On a
   GPU they are the device's own. The context takes over the figures, as by wisp_ctx_set_machine, unless they can't be
   true. */
WISP_SIZED wisp_status wisp_machine_measure(wisp_ctx *ctx, wisp_machine *machine, unsigned what);
/* Measures the kernels of sweeps on small matrices, with one thread, in a few seconds: machine->kernel_ns. What it has
   already stays where that is less, for other work on the machine only makes kernels slower: two calls some time apart
   find more. The rate of the second-level cache, which is part of these times, is machine's own, else assumed. It does
   nothing on a device that is not made of the CPU's cores. The context takes the times over, as by
   wisp_ctx_set_machine. WISP_ERR_UNSUPPORTED: on several ranks. */
WISP_SIZED wisp_status wisp_machine_kernels(wisp_ctx *ctx, wisp_machine *machine);
/* Gives a context the figures that wisp_machine_measure found in an earlier run: how fast all threads load from memory
   and from the caches, and from each other's, and how much of the last cache they keep (as wisp_ctx_set_cache). The
   library chooses by them, for example how many steps are interleaved. A figure of 0 is ignored; so is the whole struct
   if it was measured with other kernels, on another kind of device, or with another number of threads (machine->threads
   = 0 fits any). Without figures the library assumes those of the same kind of CPU, if it knows it, else of a common
   one, and logs that. WISP_ERR_ARG: they can't be true, as those that were measured while other work kept the machine
   busy (all threads together less than half as fast as one alone, a cache less than half as fast as one behind it,
   NaN), and nothing is taken; the message says which. */
WISP_SIZED wisp_status wisp_ctx_set_machine(wisp_ctx *ctx, const wisp_machine *machine);
/* *gbs becomes the load bandwidth of memory at this moment with all threads, measured in 10 to 20 ms. The first call
   takes a buffer of 256 MB or more, which stays with the context. */
WISP_API wisp_status wisp_load_bandwidth(wisp_ctx *ctx, double *gbs);
/* The model of time, for the context's device: the refined roofline of the KPM paper, section V. memory: seconds for so
   many bytes that are read from memory and written to it at a load bandwidth of load_gbs > 0; past: whether they are
   written past the caches, or to lines that were read. overlap: seconds of a step whose traffic and arithmetic take so
   long one by one, and overlap in part; ahead: whether kernels ask ahead for what they stream, so that nearly all of it
   overlaps. */
WISP_API double wisp_model_memory(wisp_ctx *ctx, double read, double written, int past, double load_gbs);
WISP_API double wisp_model_overlap(wisp_ctx *ctx, double traffic, double core, int ahead);
/* A device that this library can run on. */
typedef struct {
    char name[32];        /* as wisp_ctx_opts.device takes it: "cpu", "cuda"; with a number above 0 "cuda:1" */
    char what[96];        /* in words */
    int64_t memory_bytes; /* installed; 0: not known */
    int number;           /* among those of one name, from 0; 0 may be given as well, as in "cpu:0" */
    int for_tests;        /* 1: nobody gains by it; 0 */
} wisp_device;
/* *device, which may be NULL, becomes device i of those that there are, from 0; 0 is the CPU. Returns 1, or 0 if there
   are not so many. */
WISP_SIZED int wisp_device_info(int i, wisp_device *device);
/* Which of them has this name; -1: none. */
WISP_API int wisp_device_find(const char *name);
/* cpu[threads]: the processor that each thread runs on; negative if it may also run elsewhere: -1 - cpu. */
WISP_API wisp_status wisp_ctx_placement(wisp_ctx *ctx, int *cpu);

#ifdef __cplusplus
}
#endif

#endif
