/* Results as files, pictures and JSON. */
#ifndef WISP_TOOL_OUT_H
#define WISP_TOOL_OUT_H
#include "../like.h"
#include "../tool.h"

/* outfile.c: a whole file at once; the context must be there. */
int outfile_check(tool *t, const char *path); /* before a long run: could it be written? */
int outfile_write(tool *t, const char *path, const void *data, size_t size);
void outfile_done(tool *t, const char *path);                 /* it is complete, and stays if the run is stopped */
bool has_extension(const char *path, const char *extensions); /* "csv|json|h5" */

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
/* The same of so many rows of x, from `first` on. */
int columns_save_rows(tool *t, const wisp_blk *x, int64_t first, int64_t rows, const json_t *object, const char *path);

/* json.c. JSON_PUT(object, J("key", value), ...) and, for an object of its own, JSON_NEW(J("key", value), ...): values
   are numbers, words, or JSON, which is taken over; without the condition those of J_IF are null, and those
   of J_MAYBE are not there. Without memory something is missing, or all: NULL. */
typedef struct {
    const char *key;
    json_t *value;
} json_entry;
#define JSON_OF(v) \
    _Generic((v),                 \
        double: json_number,      \
        int: json_integer,        \
        long: json_integer,       \
        long long: json_integer,  \
        char *: json_words,       \
        const char *: json_words, \
        json_t *: json_itself)(v)
#define J(key, v)       \
    {                   \
        key, JSON_OF(v) \
    }
#define J_IF(condition, key, v)                     \
    {                                               \
        key, (condition) ? JSON_OF(v) : json_null() \
    }
#define J_MAYBE(condition, key, v)           \
    {                                        \
        key, (condition) ? JSON_OF(v) : NULL \
    }
#define JSON_PUT(object, ...) json_put(object, (const json_entry[]){__VA_ARGS__, {NULL, NULL}})
#define JSON_NEW(...) JSON_PUT(json_object(), __VA_ARGS__)
json_t *json_put(json_t *object, const json_entry *entry);
static inline json_t *json_itself(json_t *v) { return v; }
json_t *json_words(const char *s);                /* null for NULL; file names need not be UTF-8 */
json_t *json_seed(uint64_t seed);                 /* beyond jansson's numbers (2^63 - 1): its digits as text */
json_t *json_number(double v);                    /* null for NaN */
json_t *json_numbers(const double *v, int64_t n); /* likewise */
json_t *json_wholes(const int64_t *v, int64_t n);
json_t *json_head(const tool *t, const char *matrix); /* of results: the version, the command, and this */
json_t *json_bounds(const wisp_bounds *b, wisp_bounds_method method);
/* The top level a line each, the rest compact; free() the result. */
char *json_text(const json_t *object);
/* How the processes exchanged halos; null: there is one alone. */
json_t *json_halo(const tool *t, const wisp_mat_info *info);
json_t *json_devices(const tool *t);                          /* of each rank */
json_t *json_valid(const tool *t, const wisp_mat_info *info); /* false: they never did, and the results are wrong */
/* How the matrix is stored, where the run was, the most memory that it held, and what it chose. */
void json_run(json_t *o, tool *t, const wisp_mat_info *info, const like_run *run); /* all ranks together */
int json_print(tool *t, const json_t *object);                                     /* to the standard output */
int json_print_new(tool *t, json_t *object); /* likewise, and frees it; NULL: there was no memory */
/* csv.c, hdf5.c, plot.c: the whole file in memory */
/* The comments for an object and then what table() writes. */
typedef void csv_table_fn(const tool *t, const void *arg, FILE *f);
int csv_make_table(tool *t, csv_table_fn *table, const void *arg, const json_t *object, char **data, size_t *size);
/* So many numbers, with commas between them, and before the first one this; nothing for NaN. */
void csv_numbers(FILE *f, const char *before, const double *v, int64_t n);
/* x, which may be NULL, is the data set "x" beside the object. */
int hdf5_make(tool *t, const json_t *object, const columns *x, char **data, size_t *size);
int hdf5_read(tool *t, columns *x, const char *path); /* such an x, by itself; free with columns_free */
const char *hdf5_refusal(void);                       /* NULL: there is an HDF5; else why not */
int plot_check(tool *t);                              /* is there a gnuplot? */
/* The head of a script for the kind of picture that path names; its size in multiples of the usual one. */
void plot_begin(FILE *f, const char *path, double wide, double high);
/* Above the picture, in room for so many lines: the matrix, and below it these lines, up to NULL. */
void plot_title(FILE *f, int room, const char *matrix, const char *const *line);
void plot_quote(FILE *f, const char *text); /* as a string of gnuplot */
const char *plot_color(int64_t i);          /* of curve i */
/* For the script: the colours of densities, from 0 on. */
#define PLOT_PALETTE "set palette defined (0 '#ffffff', 0.1 '#cfe0f5', 0.4 '#4f83cc', 1 '#08204a')\n"
/* The axis 'x' or 'y' goes from low to high; equal ones, of which gnuplot draws nothing, are in its middle. */
void plot_range(FILE *f, char axis, double low, double high);
/* The picture of a script that write() writes; free(*data). */
typedef void plot_script_fn(const tool *t, const void *arg, FILE *f, const char *path);
int plot_run(tool *t, plot_script_fn *write, const void *arg, const char *path, char **data, size_t *size);
/* outputs.c: whether files that are written are others than those that are read, or kept. */
int outputs_names(tool *t);
/* What could fail after a long run is tried before it, but for the HDF5 of this build not with --plan: whether all
   files of the options could be written, and whether there is a gnuplot, if there will be a plot. */
int outputs_check(tool *t);
int outputs_json(tool *t, const json_t *object); /* to the file of -o */
/* What -o, --plot and --json ask for, from one object (which is freed; NULL: there was no memory for it, or
   none is needed) and its table and picture. table NULL: -o is not for them. A failure of one output does not keep the
   others from being written. */
int outputs_write(tool *t, json_t *object, csv_table_fn *table, plot_script_fn *script, const void *arg);
#endif
