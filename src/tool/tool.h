/* The files of the command share this. The command uses the public interface of the library alone. */
#ifndef WISP_TOOL_H
#define WISP_TOOL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <jansson.h>
#include <wisp/wisp.h>
#include "checkpoint.h"
#include "monitor.h"
#include "options.h"
#include "watchdog/watchdog.h"

/* INCOMPLETE: results are there, but not all that was asked for, or not as accurate. LAYOUT: see weights_by_matrix. */
enum { EXIT_FINE, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_LAYOUT };
/* Whether a run that ends so has results, which may have been printed. */
static inline bool tool_has_results(int rc) { return rc == EXIT_FINE || rc == EXIT_INCOMPLETE; }

struct tool {
    const command_def *cmd;
    options opt;
    char *command_line; /* one of these: as it was typed, or with weights that were found */
    char *typed_line, *own_line;
    wisp_ctx *ctx;
    monitor monitor;
    char message[1600]; /* of tool_message */
    double started;
    int processes, process; /* of one run, by MPI: how many, and which this is; else 1 and 0 */
    bool by_mpi;
    int64_t sides[2]; /* svd: rows and columns of MATRIX, once it is open; else 0 */
    bool read_once;   /* MATRIX can't be read a second time, says rank 0; known when it is open */
    bool unlike;      /* its arguments are others than those of process 0 */
    bool failed;      /* some process has, and all know it */
    watchdog watchdog;
    bool printed;                /* JSON was */
    int unprinted;               /* the error that the standard output has failed with; 0: none */
    bool machine_told;           /* what becomes of the file that wisp machine keeps */
    bool machine_unknown;        /* there is none that is taken */
    bool machine_other;          /* it is of this one, but of other threads or kernels */
    char *done;                  /* names of the output files that are complete; NULL: none */
    bool keeping;                /* what the run has is being written, whatever signal has come or comes */
    int64_t *weights;            /* [ranks] that were found in this run; NULL: none */
    bool dealt;                  /* they are not those of the context: sources are dealt out by them */
    wisp_state *resumed;         /* that the run goes on from; NULL: it begins */
    wisp_checkpoint *checkpoint; /* that is written; NULL: none */
    struct {
        uint64_t hash; /* of the matrix */
        checkpoint_layout layout;
        int64_t *weights;
        wisp_items_fn more; /* of the command; NULL: none */
        void *more_arg;
        bool in_parts; /* see checkpoint_offer_whole */
        wisp_checkpoint_info info;
        const char *file; /* with a state of this run, until the results are there; NULL: none */
    } kept;
    struct {
        json_t *chosen;      /* what the results say of that run */
        int64_t *weights;    /* [ranks] */
    } like;                  /* --like; NULL without */
    double hermitian_change; /* by --hermitian-part, see wisp_src_hermitian_part; NaN: not asked for */
};

/* main.c: what was printed goes out; 0, or t->unprinted. */
int tool_flush(tool *t);
/* main.c: one line on the standard error, of a command that ends with this exit status, which is returned. */
int tool_end(tool *t, int rc, const char *format, ...) WISP_PRINTF(3, 4);
#define tool_fail(t, ...) tool_end(t, EXIT_FAILED, __VA_ARGS__)
#define tool_usage(t, ...) tool_end(t, EXIT_USAGE, __VA_ARGS__)
#define tool_incomplete(t, ...) tool_end(t, EXIT_INCOMPLETE, __VA_ARGS__)
/* The library's last message, in the words of the command; until the next call. */
const char *tool_message(tool *t);
const char *tool_message_of(tool *t, const wisp_ctx *ctx); /* of another context, or of calls without one (NULL) */
/* Fails with it, after a Ctrl-C in the words of that. */
int tool_fail_ctx(tool *t);
int tool_fail_matrix(tool *t, wisp_status status); /* the same, of a call that works on MATRIX */
int tool_fail_named(tool *t);                      /* the same, behind the name of MATRIX, whatever the status */
/* After a Ctrl-C that still holds (a run that keeps what it has goes on after it). */
bool tool_is_stopped(const tool *t);
int tool_stopped(tool *t); /* says so, and what was kept; returns EXIT_FAILED */
/* A run that was stopped, be it at the last moment, goes on to write what it has, and no first signal ends that. */
void tool_keep(tool *t);
void tool_heed(tool *t); /* what follows can be stopped again */
/* What a command begins with, once its options are checked: what is given is looked at, the context is made, outputs
   are tried. */
int tool_begin(tool *t);
/* Makes t->ctx by the options, with the monitor and Ctrl-C connected to it. */
int tool_start(tool *t);
/* wisp_ctx_step between calls of all ranks: all of them are cancelled, or none. A signal is one rank's at first. */
wisp_status tool_step(tool *t, const char *task, double done, double flops);
/* All ranks together: if one has failed, and said why, the others fail with it. */
int tool_agree(tool *t, int rc);
static inline bool type_is_single(wisp_type type) { return type == WISP_S || type == WISP_C; }
/* For qsort of doubles, ascending. */
static inline int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Element i of an array. */
static inline wisp_scalar type_load(wisp_type type, const void *array, int64_t i)
{
    const float *s = array;
    const double *d = array;
    switch (type) {
    case WISP_S: return (wisp_scalar){(double)s[i], 0};
    case WISP_D: return (wisp_scalar){d[i], 0};
    case WISP_C: return (wisp_scalar){(double)s[2 * i], (double)s[2 * i + 1]};
    default: return (wisp_scalar){d[2 * i], d[2 * i + 1]};
    }
}
/* Its size squared. */
static inline double type_size2(wisp_type type, const void *array, int64_t i)
{
    const wisp_scalar v = type_load(type, array, i);
    return v.re * v.re + v.im * v.im;
}
/* Real or complex as `type`, in the precision of the other one. */
static inline wisp_type type_in(wisp_type precise, wisp_type type)
{
    const bool is_complex = wisp_type_is_complex(type);
    return type_is_single(precise) ? (is_complex ? WISP_C : WISP_S) : is_complex ? WISP_Z : WISP_D;
}

/* processes.c: begin and end a run; make t->ctx. */
int processes_begin(tool *t, int argc, char **argv);
void processes_watch(tool *t); /* by the options, once they are known */
int processes_end(tool *t, int rc);
/* All processes together, before there is a context: EXIT_FINE if all of them have that, else what all are to end with.
   The first process says what another one has failed with. */
int processes_agree(tool *t, int rc);
wisp_status processes_context(tool *t, const wisp_ctx_opts *o);
/* Called by all processes, each with its text, or with the exit status of its failure: *all[processes][*size] on the
   first one, to be freed; NULL on the others. Returns EXIT_FINE, or what all are to end with. */
int processes_gather(tool *t, int rc, const char *own, char **all, size_t *size);

/* source.c: the type that --precision single or double asks for; `type` without the option. */
wisp_type tool_type(const options *o, wisp_type type);

/* A matrix in this type for blocks of this width, stored as the options say. */
wisp_mat_opts source_options(const options *o, wisp_type type, int width);
/* MATRIX of dos, ldos, count, thermal, trace, evolve and eig, and its Hermitian part if that is asked for. */
int source_open(tool *t, wisp_src *src);
wisp_status source_partition(const tool *t, wisp_ctx *ctx, wisp_src *src); /* takes src over, if all is well */
/* MATRIX must be square, which the rest of the message is about, and have rows. */
int source_square(tool *t, const wisp_src *src, const char *why);
/* What the option --NAME gives, in the file or of the name `what`, must have so many rows and columns. */
int source_fits(tool *t, const wisp_src *src, const char *name, const char *what, int64_t rows);
/* The rows that an option names, of so many. */
int source_has_rows(tool *t, const char *option, const int64_t *row, int64_t count, int64_t rows);
void source_summary(const tool *t);
/* As this process sees it: a file that can't be read a second time, such as a pipe (t->read_once: MATRIX, as rank 0
   sees it). */
bool file_reads_once(const char *path);

/* start.c: vectors to begin with. */
enum { STREAM_START = 2 }; /* of random numbers; the library has 0 and 1 */
/* Opens a file with `rows` rows, whose columns count as vectors; `what` they are is for messages. */
int start_open(tool *t, wisp_src *src, const char *path, const char *what, int64_t rows);
/* A run that measures its weights may open its files a second time: one that can't be read twice is refused. */
int start_check_pipe(tool *t, const char *path);
/* x becomes the columns of the file; a single one stands for all columns of x. NaN and infinity are errors. */
int start_from_file(tool *t, wisp_blk *x, const wisp_src *src, const char *path);
int start_from_sites(tool *t, wisp_blk *x); /* --site */
/* Columns of norm 1; one that is zero or not finite is an error. */
int start_normalise(tool *t, wisp_blk *x);

/* cmd_NAME of each subcommand: its exit status. */
#define COMMAND(bit, run, ...) int run(tool *t);
#include "commands.h"

/* convert/cmd_convert.c: reads or generates `name` and writes it to path, or what options make of it, and says what. */
int write_matrix(tool *t, wisp_status (*open)(wisp_src *, wisp_ctx *, const char *), const char *name,
                 const char *path);
#endif
