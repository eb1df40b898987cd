/* What wisp machine measures, keeps, and tells other commands. */
#ifndef WISP_TOOL_MACHINE_H
#define WISP_TOOL_MACHINE_H
#include "../tool.h"

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
void machine_device_table(const wisp_machine *m); /* what a GPU's units load and store, all at once */
/* kernels.c: what sweeps take of a core; the table of those with real and complex double-precision blocks. */
json_t *kernels_json(const wisp_machine *m);
void kernels_read(const json_t *o, wisp_machine *m);
void kernels_print(const wisp_machine *m);
/* ahead.c: compiles the usual kernels of a device. */
int machine_ahead(tool *t);
int machine_measure(tool *t, wisp_machine *m, gemm_rates *g, unsigned what);
json_t *machine_json(const wisp_machine *m, const gemm_rates *g);
/* kept.c: the topology, with the figures that `wisp machine` kept, which the context takes over; false: nothing was
   kept, or it can't be true, as is said once in a run: *m has none. */
bool machine_kept(tool *t, wisp_machine *m);
/* The same, as it is in the file; NULL: nothing is taken. then: what happens without it, in words. */
json_t *machine_read(tool *t, wisp_machine *m, const char *then);
/* Whether $WISP_MACHINE names another machine. */
bool machine_is_simulated(void);
enum { MACHINE_DATE = 32, MACHINE_WHY = 2048 };
/* Whether it has all that `wisp machine` measures; $WISP_MACHINE stands for what it has. */
bool machine_is_whole(const json_t *o);
/* Puts the date into *o, and keeps it for later runs, unless it can't be true. A result that can't be kept is still a
   result. */
int machine_keep(tool *t, const wisp_machine *m, json_t *o);
/* The same for who can do without: whether it is kept, or why not, in words. It is no output file of the run. */
bool machine_store(tool *t, const wisp_machine *m, json_t *o, char *why, size_t size);
/* first.c: measures a machine that was not, and keeps that, before a run of so many seconds by what is assumed, if it
   is long; *is_measured: whether the choices are to be made anew. Where it can't be measured, the run goes on without.
 */
int machine_first(tool *t, double seconds, bool *is_measured);
/* cmd_machine.c. Tells the context how much cache `wisp machine` found it to keep, and gives *budget the bytes that an
   element of opt.budgets stands for; 0: those of the context. */
int machine_cache(tool *t, int64_t asked, int64_t *budget);
int machine_budget(tool *t, const wisp_machine *m, int64_t asked, int64_t *budget); /* the latter alone */
/* The bytes that such a budget counts on. */
int64_t machine_counted(tool *t, int64_t budget);
#endif
