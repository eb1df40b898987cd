/* The files of the command share this. The command uses the public interface of the library alone. */
#ifndef WISP_TOOL_H
#define WISP_TOOL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <jansson.h>
#include <wisp/wisp.h>
#include "options.h"
#include "watchdog/watchdog.h"

/* INCOMPLETE: results are there, but not all that was asked for, or not as accurate. LAYOUT: see weights_by_source. */
enum { EXIT_FINE, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_LAYOUT };

/* stop_at.c: where $WISP_STOP_AT=SIGNAL:POINT:NUMBER[@RANK] has a signal raised, by that process itself. POINT is a
   task's name, as progress has it, and NUMBER which part of it is done; or "checkpoint", and how many were tried; or
   "printing", just before JSON is written to the standard output. */
typedef struct {
    char point[32]; /* "": none */
    double from;
    int signal; /* 0: not on this process, or no more */
} stop_point;

/* How a long run shows itself on the standard error. */
typedef enum { MONITOR_SILENT, MONITOR_BAR, MONITOR_TEXT, MONITOR_JSON } monitor_mode;
typedef struct {
    monitor_mode mode;
    wisp_log_level level;
    bool off;      /* nothing is said: another rank does */
    bool terminal; /* what the launcher gets to print goes to one */
    stop_point stop;
    char error[1024]; /* the last one, said or not */
    bool bar_shown;
    bool holding; /* while a context is made: the last message is kept, for it may be why there is none */
    wisp_log_level held_level;
    char held[1024];
    char task[32];
    double started, started_done, started_flops; /* of this task: when it was first seen, how far it was then */
    double printed, printed_done;                /* its last line: when, how far */
    int64_t iteration;                           /* of a solver, and its residual; 0: none yet */
    double residual;
    int found; /* of wanted pairs, of a solver of eigenpairs; wanted NaN: of an unknown number */
    double wanted;
    bool pairs; /* iterations are rounds, found and wanted hold */
} monitor;

/* checkpoint.c: what a run that goes on takes over, unless options say otherwise. */
typedef struct {
    int64_t width, order, format, type;
    int64_t moments;       /* those that --resolution needs; 0: not known */
    wisp_bounds bounds;    /* from which these follow */
    double bounds_seconds; /* that it took to know them */
} checkpoint_layout;

typedef struct {
    const command_def *cmd;
    options opt;
    char *command_line; /* one of these: as it was typed, or with weights that were found */
    char *typed_line, *own_line;
    wisp_ctx *ctx;
    monitor monitor;
    double started;
    int processes, process; /* of one run, by MPI: how many, and which this is; else 1 and 0 */
    bool by_mpi;
    bool read_once; /* MATRIX can't be read a second time, says rank 0; known when it is open */
    bool unlike;    /* its arguments are others than those of process 0 */
    bool failed;    /* some process has, and all know it */
    watchdog watchdog;
    bool printed;                /* JSON was */
    char *done;                  /* names of the output files that are complete; NULL: none */
    bool keeping;                /* the run was stopped, and what it has is being written */
    int64_t *weights;            /* [ranks] that were found in this run; NULL: none */
    wisp_state *resumed;         /* that the run goes on from; NULL: it begins */
    wisp_checkpoint *checkpoint; /* that is written; NULL: none */
    struct {
        uint64_t hash; /* of the matrix */
        checkpoint_layout layout;
        int64_t *weights;
        wisp_items_fn more; /* of the command; NULL: none */
        void *more_arg;
        wisp_checkpoint_info info;
        const char *file; /* with a state of this run, until the results are there; NULL: none */
    } kept;
    double hermitian_change; /* by --hermitian-part, see wisp_src_hermitian_part; NaN: not asked for */
} tool;

/* main.c: one line on the standard error, of a command that ends with this exit status, which is returned. */
int tool_end(tool *t, int rc, const char *format, ...) WISP_PRINTF(3, 4);
#define tool_fail(t, ...) tool_end(t, EXIT_FAILED, __VA_ARGS__)
#define tool_usage(t, ...) tool_end(t, EXIT_USAGE, __VA_ARGS__)
#define tool_incomplete(t, ...) tool_end(t, EXIT_INCOMPLETE, __VA_ARGS__)
/* The last failure of the library, after a Ctrl-C in its words. */
int tool_fail_ctx(tool *t);
/* After a Ctrl-C that still holds (a run that keeps what it has goes on after it). */
bool tool_is_stopped(const tool *t);
int tool_stopped(tool *t); /* says so, and what was kept; returns EXIT_FAILED */
/* Makes t->ctx by the options, with the monitor and Ctrl-C connected to it. */
int tool_start(tool *t);
/* All ranks together: if one has failed, and said why, the others fail with it. */
int tool_agree(tool *t, int rc);
static inline bool type_is_single(wisp_type type) { return type == WISP_S || type == WISP_C; }
double tool_now(void); /* seconds of a clock that only goes forward */

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

/* stop_at.c, see stop_point. */
int stop_at_read(tool *t);
bool stop_at_names(const stop_point *s, const char *point);
void stop_at(stop_point *s, const char *point, double reached);

/* monitor.c */
void monitor_open(monitor *mon, const options *o);
void monitor_clear(monitor *mon); /* takes the bar away, to print something else */
int monitor_progress(void *arg, const wisp_progress *p);
/* What is shown beside the progress from now on. */
void monitor_iteration(monitor *mon, int64_t iteration, double residual);
void monitor_pairs(monitor *mon, int round, int found, double wanted, double residual);
void monitor_log(void *arg, wisp_log_level level, const char *message);
void monitor_error(monitor *mon, const char *message);
void monitor_release(monitor *mon); /* prints what was held */
/* SIGINT, SIGTERM and SIGHUP cancel this context's work; a second one ends the process. NULL: as they were. */
void catch_signals(wisp_ctx *ctx);
const char *caught_signal(void); /* in words; NULL if there was none */

/* From now on SIGUSR1 asks for a checkpoint. */
void catch_requests(void);
/* The three signals have this checkpoint written, and then end the work; NULL: as before. */
void catch_for_checkpoint(wisp_checkpoint *checkpoint);

/* checkpoint.c, in the order of a run. The options, before the context is made; after the source is opened. */
int checkpoint_check(tool *t);
int checkpoint_hash(tool *t, const wisp_src *src);
/* Reads the state that --resume names, into t->resumed, and takes over its layout. EXIT_LAYOUT: begin once more, with
   t->weights. */
int checkpoint_open(tool *t);
/* Before the solver, whose options get checkpoint_offer with t, and t->resumed. more: items of the command's own, which
   may be NULL. */
int checkpoint_begin(tool *t, const wisp_mat *A, int width, wisp_items_fn more, void *more_arg);
wisp_status checkpoint_offer(void *tool, wisp_state *state);
/* After the solver: the last one is on the disk, and signals end the work at once again. All ranks together. */
void checkpoint_pause(tool *t);
bool checkpoint_ended(const tool *t); /* whether a signal ended it, and then in words: EXIT_FAILED */
int checkpoint_stopped(tool *t);
/* Once the results are written, or nothing of it counts any more: its files go, unless rc is a failure on some rank.
   Returns rc; EXIT_FAILED where another rank has failed. */
int checkpoint_done(tool *t, int rc);
void checkpoint_close(tool *t);
json_t *checkpoint_json(const tool *t); /* null without */
void checkpoint_summary(const tool *t);
void checkpoint_plan(int64_t bytes); /* a line of --plan, for a copy of so many bytes */
/* weights.c, called by all ranks, each with the weights or with the exit status of its failure: EXIT_LAYOUT if they
   differ from the present ones. Frees or keeps the array. */
int weights_take(tool *t, int rc, int64_t *weights);

/* outfile.c: a whole file at once; the context must be there. */
int outfile_check(tool *t, const char *path); /* before a long run: could it be written? */
int outfile_write(tool *t, const char *path, const void *data, size_t size);
void outfile_done(tool *t, const char *path);                 /* it is complete, and stays if the run is stopped */
bool has_extension(const char *path, const char *extensions); /* "csv|json|h5" */

/* The results of dos, ldos and count. */
typedef struct {
    const wisp_moments *m;
    wisp_eval_opts eval;
    int64_t n;              /* moments used */
    double resolution, t95; /* t95 times a moment's error is half of its 95% bar; NaN for a single random vector */
    bool has_error;         /* errors are numbers: more than one vector, or exact */
    bool interval_given;
    double interval[2];
    int64_t curves, *site, *vector; /* ldos: rows, and which vector of m; else one curve, vector -1 */
    int64_t points;
    double *energy, *dos, *error;   /* dos[curve][point] */
    double *low, *high;             /* the ends of its 95% bar, likewise */
    double spacing;                 /* the largest between two energies */
    double *integral;               /* [curves] */
    double *mean, *mean_error;      /* [n]; not for ldos */
    double count, count_error, bar; /* bar: half of a typical 95% bar, over the DOS; NaN without one */
    double count_low, count_high;   /* its 95% bar */
    double count_smearing;          /* states within one resolution of an end of the interval */
    int64_t agreed;                 /* energies at which all random vectors agree: a bar of 0 */
    int64_t few;                    /* others at which few states, or few rows, make up the density */
    double assemble_seconds, evaluate_seconds, total_seconds;
    const char *matrix;
    int runs; /* of --from; seed of each: */
    uint64_t seed[LIST];
    wisp_mat_info stored; /* not with --from */
    int64_t cache_budget; /* likewise */
    char precision[512];  /* why --precision auto took the one it took; empty without it */
} results;

/* The type that --precision single or double asks for; `type` without the option. */
wisp_type tool_type(const options *o, wisp_type type);

/* source.c: MATRIX of dos, ldos, count, evolve. */
int source_open(tool *t, wisp_src *src);
wisp_status source_partition(const tool *t, wisp_ctx *ctx, wisp_src *src); /* takes src over, if all is well */
void source_summary(const tool *t);
/* As this process sees it: a file that can't be read a second time, such as a pipe (t->read_once: MATRIX, as rank 0
   sees it). */
bool file_reads_once(const char *path);

/* weights.c: shares of rows. Before the context: whether those of --weights are as many as there are processes, and
   MATRIX can be read as often as they need; then those that the context is to have, NULL: not given. */
int weights_check(tool *t);
int weights_refuse_pipe(tool *t);
const int64_t *weights_given(const tool *t);
/* All ranks together: find weights, if --weights asks for such ones and they are not there yet. EXIT_LAYOUT: the run
   should free what it has on the context, call weights_restart, and begin again. */
int weights_by_source(tool *t, const wisp_src *src);
int weights_by_matrix(tool *t, const wisp_mat *A, int width);
int weights_restart(tool *t);
void weights_free(tool *t);
void weights_summary(const tool *t); /* and the exchange of halos: a line each, of several processes */
json_t *weights_json(const tool *t);
/* Once there is a context: those of the environment become part of the command line, so that they can be given again;
   and what the kept command line of another run tells of them, if anything. */
int weights_keep(tool *t);
void weights_summary_of(const char *command);
json_t *weights_json_of(const char *command);

/* info_ranks.c: wisp info --ranks. */
int info_ranks(tool *t, const wisp_src *src, const wisp_mat_opts *mo);

/* start.c: vectors to begin with. */
enum { STREAM_START = 2 }; /* of random numbers; the library has 0 and 1 */
/* Opens a file with `rows` rows, whose columns count as vectors; `what` they are is for messages. */
int start_open(tool *t, wisp_src *src, const char *path, const char *what, int64_t rows);
/* x becomes the columns of the file; a single one stands for all columns of x. NaN and infinity are errors. */
int start_from_file(tool *t, wisp_blk *x, const wisp_src *src, const char *path);
int start_from_sites(tool *t, wisp_blk *x); /* --site */
/* Columns of norm 1; one that is zero or not finite is an error. */
int start_normalise(tool *t, wisp_blk *x);

/* columns.c: a dense matrix in memory: the columns of some blocks, kept side by side as the user's rows. */
typedef struct {
    char *data; /* [blocks][rows][width] */
    int64_t rows, blocks;
    int width;
    wisp_type type;
} columns;
int columns_make(tool *t, columns *c, const wisp_blk *like, int64_t blocks); /* all zero; free with columns_free */
int columns_take(tool *t, columns *c, int64_t block, const wisp_blk *x);     /* all ranks together; each has all rows */
wisp_src columns_source(columns *c);                                         /* reads c, which stays the caller's */
int columns_write(tool *t, columns *c, const char *path);                    /* .mtx or .mtx.gz; likewise together */
void columns_free(columns *c);
/* The columns of x as a dense .mtx or .mtx.gz, or in an .h5 file beside the object. All ranks together have x; the
   first one writes it. */
int columns_save(tool *t, const wisp_blk *x, const json_t *object, const char *path);

/* dos_plan.c: what a run takes. */
typedef struct {
    wisp_mat_info matrix;
    int64_t blocks, total; /* bytes: of vectors, dots, moments; of all that is held at once */
} run_bytes;
typedef struct {
    run_bytes most, about;   /* about: total is 0 until it is estimated */
    int64_t source, reading; /* bytes: that the source holds, and at most while it was read */
    int64_t choosing;        /* the same while the width was chosen */
    bool moments_unknown;
    bool may_be_double; /* `most` is of the run in double precision */
} run_plan;
/* reading: as in run_plan. */
int plan_make(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, int64_t reading,
              run_plan *p);
int plan_show(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p);
/* Refuses what would not fit in --mem-limit, or else in the memory of this machine, by the estimate; that is made only
   if the run may take more. And when the number of moments is known at last. */
int plan_check_limit(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p);
int plan_check_blocks(tool *t, const wisp_mat *A, const wisp_kpm_opts *ko);
/* What is compared with a limit, the same on all ranks: with --mem-limit, which is of each process, what the rank needs
   that needs most; else what the ranks of one machine need together, where that is most of the machine's memory; and
   how many ranks that is. */
typedef struct {
    int64_t bytes, limit;
    int ranks;
} plan_need;
int plan_needed(tool *t, int64_t own, plan_need *need);
/* All ranks together: the most that one has, and what is planned for the rank that has most bytes. */
int64_t plan_most(tool *t, int64_t own);
int plan_of_most(tool *t, int64_t bytes, void *plan, size_t size);
const char *plan_whose(const plan_need *need); /* for a message, before the parts of what a process needs */
/* What `wisp machine` kept; else the load bandwidth alone, of now. */
wisp_status plan_ceilings(tool *t, wisp_machine *m, double *load_gbs, bool *kept);
int64_t plan_vectors(const wisp_kpm_opts *ko, int64_t rows); /* of the run */
int64_t plan_steps(const wisp_kpm_opts *ko);                 /* of each of them, 1 if none may be interleaved */

/* dos_eval.c */
int results_evaluate(tool *t, results *r);
void results_free(tool *t, results *r);
/* The longer half of a bar; NaN without one. */
static inline double longer_half(double v, double low, double high) { return v - low > high - v ? v - low : high - v; }
/* results.c: everything as one JSON object; the other outputs are made of it. NULL: out of memory. */
json_t *results_json(tool *t, const results *r);
/* The count and its bar, with the digits that the bar and the kernel's smearing leave; TEXT_BAR bytes. */
const char *results_count(char *buf, const results *r, const char *sign);
const char *results_smearing(char *buf, const results *r);
void results_summary(tool *t, const results *r);
int results_write(tool *t, const results *r); /* all outputs that the options ask for */

/* json.c: the top level a line each, the rest compact; free() the result. */
char *json_text(const json_t *object);
json_t *json_words(const char *s);                /* null for NULL; file names need not be UTF-8 */
json_t *json_seed(uint64_t seed);                 /* beyond jansson's numbers (2^63 - 1): its digits as text */
json_t *json_number(double v);                    /* null for NaN */
json_t *json_numbers(const double *v, int64_t n); /* likewise */
/* How the processes exchanged halos; null: there is one alone. */
json_t *json_halo(const tool *t);
json_t *json_valid(const tool *t); /* false: they never did, and the results are wrong */
/* How the matrix is stored, where the run was, and the most memory that it held. */
void json_run(json_t *o, tool *t, const wisp_mat_info *info); /* all ranks together */
int json_print(tool *t, const json_t *object);                /* to the standard output */
/* csv.c, hdf5.c, plot.c: the whole file in memory */
/* The comments for an object and then what table() writes. */
typedef void csv_table_fn(const tool *t, const void *arg, FILE *f);
int csv_make_table(tool *t, csv_table_fn *table, const void *arg, const json_t *object, char **data, size_t *size);
void csv_field(FILE *f, const char *before, double v); /* nothing for NaN */
/* x, which may be NULL, is the data set "x" beside the object. */
int hdf5_make(tool *t, const json_t *object, const columns *x, char **data, size_t *size);
int hdf5_read(tool *t, columns *x, const char *path); /* such an x, by itself; free with columns_free */
bool hdf5_available(void);
int plot_check(tool *t); /* is there a gnuplot? */
/* The head of a script for the kind of picture that path names; its size in multiples of the usual one. */
void plot_begin(FILE *f, const char *path, double wide, double high);
void plot_quote(FILE *f, const char *text); /* as a string of gnuplot */
const char *plot_name(const char *matrix);  /* without the folders */
const char *plot_color(int64_t i);          /* of curve i */
/* The picture of a script that write() writes; free(*data). */
typedef void plot_script_fn(const tool *t, const void *arg, FILE *f, const char *path);
int plot_run(tool *t, plot_script_fn *write, const void *arg, const char *path, char **data, size_t *size);
/* outputs.c: what could fail after a long run is tried before it, but not with --plan: whether these files (NULL: none)
   could be written, and whether there is a gnuplot, if there will be a plot. */
int outputs_check(tool *t, const char *const *path, int paths);
/* What -o, --plot and --json ask for, from one object (which is freed; NULL: there was no memory for it, or
   none is needed) and its table and picture. table NULL: -o is not for them. A failure of one output does not keep the
   others from being written. */
int outputs_write(tool *t, json_t *object, csv_table_fn *table, plot_script_fn *script, const void *arg);
csv_table_fn results_table;    /* of results */
plot_script_fn results_script; /* likewise */

/* text.c: numbers for people. `buf` is returned; it has TEXT bytes. */
enum { TEXT = 64, TEXT_BAR = 4 * TEXT };
const char *text_count(char *buf, int64_t n); /* 1,600,000 */
const char *text_states(char *buf, double v); /* such a number that need not be whole */
/* A number with the digits that an error of this size leaves: two of the error's. 0: as text_states */
const char *text_rounded(char *buf, double v, double error);
/* A number and its bar, so: 1397 +- 61, or 5.2 +4.1 -1.9; the digits of v as an error of `also` leaves them, if that is
   larger. TEXT_BAR bytes. */
const char *text_with_bar(char *buf, const char *sign, double v, double low, double high, double also);
const char *text_bytes(char *buf, double bytes);    /* 1.23 GB */
const char *text_bytes_up(char *buf, double bytes); /* never less than it is */
const char *text_seconds(char *buf, double seconds);
const char *text_team(char *buf, int processes, int threads);
const char *text_order(wisp_row_order order);
const char *text_partition(wisp_partition how);
const char *text_format(wisp_format format);
/* This thread prints no lines any more. */
void text_silence(void);
/* One line of an aligned summary: a name and a printf. */
void text_line(const char *name, const char *format, ...) WISP_PRINTF(2, 3);

int cmd_dos(tool *t); /* dos, ldos and count */
int cmd_info(tool *t);
int cmd_power(tool *t);
int cmd_evolve(tool *t);
int cmd_solve(tool *t);
int cmd_eig(tool *t);
int cmd_gen(tool *t);
int cmd_convert(tool *t);
int cmd_machine(tool *t);
int cmd_bench(tool *t);

/* gemm.c: Gflop/s of the BLAS with the best of its kernels; 0 if they could not be measured. */
typedef struct {
    double dgemm, zgemm;
    const char *coretype; /* OPENBLAS_CORETYPE that was best, or "default" */
} gemm_rates;
void gemm_measure(const tool *t, gemm_rates *g, double peak_gflops);
/* A process of wisp-blas: what it prints is read from fd, what is written there it reads. */
typedef struct {
    pid_t pid;
    int fd;
} blas_process;
/* Starts `wisp-blas WHAT` with the BLAS's kernels for this core type ("": its own choice), on all processors. */
bool blas_start(const tool *t, const char *what, const char *core, blas_process *child);
/* cmd_machine.c: names of the streams; both measured, as the bench has them too. */
extern const char *const machine_stream[WISP_STREAMS];
int machine_measure(tool *t, wisp_machine *m, gemm_rates *g, unsigned what);
json_t *machine_json(const wisp_machine *m, const gemm_rates *g);
/* The topology, with the loads and multiply-adds that `wisp machine` kept; false: nothing was kept, *m has none. */
bool machine_kept(tool *t, wisp_machine *m);
/* Tells the context how much cache `wisp machine` found it to keep, and gives *budget the bytes that an element of
   opt.budgets stands for; 0: those of the context. */
int machine_cache(tool *t, int64_t asked, int64_t *budget);
int machine_budget(tool *t, const wisp_machine *m, int64_t asked, int64_t *budget); /* the latter alone */
/* The bytes that such a budget counts on. */
int64_t machine_counted(tool *t, int64_t budget);
/* Reads or generates `name` and writes it to path, saying what was written. */
int write_matrix(tool *t, wisp_status (*open)(wisp_src *, wisp_ctx *, const char *), const char *name,
                 const char *path);
#endif
