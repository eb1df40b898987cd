/* What every --plan asks: what ranks need together, and what the machine has. */
#ifndef WISP_TOOL_PLAN_H
#define WISP_TOOL_PLAN_H
#include "out/out.h"
#include "tool.h"

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

/* A device with memory of its own holds the matrix and the vectors, and the host the rest, such as what a matrix is
   assembled in: each against its limit. */
typedef struct {
    int64_t device, host;
    int64_t limit; /* of a device of this name, on which there are so many ranks; 0: it has no memory of its own */
    char name[32];
    int ranks;
} plan_sides;
/* What a run takes on this rank. */
typedef struct {
    wisp_mat_info matrix;
    int64_t vectors, total; /* bytes: of blocks and what solvers hold; of all that is held at once; */
    plan_sides sides;       /* of the same */
} plan_bytes;

bool plan_has_sides(const tool *t); /* of this rank */
/* So many parts at once in turn, each of all that is held, the first `held` of which have the matrix and the vectors.
   Of these solvers have some on any host, on_host of them about; all of them are more than it is. */
typedef struct {
    int64_t matrix, vectors, on_host;
    const int64_t *part;
    int held, parts;
} plan_held;
/* All that is held at once, with what a device holds for its calls; and how it lies on both sides. */
int64_t plan_total(const tool *t, const plan_held *p, bool most, plan_sides *sides);
/* Whether a run fits the device; and refuses one that does not. advice: what takes less. */
int plan_fits_device(tool *t, int64_t bytes, bool *fits);
int plan_refuse_device(tool *t, int64_t bytes, int64_t matrix, int64_t vectors, const char *advice);
/* Those of the rank whose device is fullest, in place of each rank's own. */
int plan_sides_of_fullest(tool *t, plan_sides *about, plan_sides *most);
/* Lines, and keys, of both sides, where there are any. */
void plan_sides_show(const plan_sides *about, const plan_sides *most);
void plan_sides_json(json_t *o, const plan_sides *about, const plan_sides *most);
/* Works it out: about, or (most) so that it holds whatever is chosen. */
typedef int plan_find_fn(tool *t, const void *arg, bool most, plan_bytes *b);
/* Refuses a run that takes more than the machine has, or --mem-limit allows. advice: what takes less. */
int plan_check(tool *t, plan_find_fn *find, const void *arg, const char *advice);
/* Both, of the rank that needs most. */
int plan_find(tool *t, plan_find_fn *find, const void *arg, plan_bytes *about, plan_bytes *most);
/* As lines, and as the JSON object that a plan begins with. type, columns: of the blocks. */
void plan_bytes_show(const tool *t, wisp_type type, int columns, const plan_bytes *about, const plan_bytes *most);
json_t *plan_json(const tool *t, wisp_type type, const plan_bytes *about, const plan_bytes *most);
int64_t plan_largest(const int64_t *v, size_t n);
/* What is held while a block's columns are written to a file (NULL: none), the copy of the block among it: about, or at
   most. */
int64_t plan_output(const tool *t, const char *path, wisp_type type, int64_t rows, int64_t width, bool most);

/* The seconds of a run. */
typedef struct {
    bool known, kept;                       /* kept: by the ceilings of an earlier `wisp machine`, not those of now */
    double load_gbs, source, assembly, run; /* source: until it is there, the opening of a device among it */
    const char *limit;                      /* of the run */
} plan_time;
/* All but those of the run itself; the context then has the ceilings. */
wisp_status plan_time_begin(tool *t, const wisp_src *src, const wisp_mat_opts *mo, plan_time *time);
/* What is measured for the time may take more memory than the run: with --mem-limit that is no failure of the plan, and
   a line says so. */
int plan_time_check(tool *t, wisp_status status);
void plan_time_missing(wisp_status status);
void plan_time_show(const plan_time *time, const char *run);
void plan_time_json(json_t *o, const plan_time *time);
/* Assembly and the look at all entries, from those of a part of the matrix. */
wisp_status plan_assembly(tool *t, const wisp_src *src, const wisp_mat_opts *mo, double *seconds);
/* What `wisp machine` kept; else the load bandwidth alone, of now. */
wisp_status plan_ceilings(tool *t, wisp_machine *m, double *load_gbs, bool *kept);
#endif
