/* The options of all commands: one table (options_table.c) gives the parsing, the --help text and what the man page
 * must name. */
#ifndef WISP_TOOL_OPTIONS_H
#define WISP_TOOL_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <wisp/wisp.h>

typedef struct tool tool;

/* Each subcommand has a bit. */
enum {
#define COMMAND(bit, ...) bit##_NUMBER,
#include "commands.h"
    COMMANDS
};
enum {
#define COMMAND(bit, ...) bit = 1 << bit##_NUMBER,
#include "commands.h"
    NEW_RUN = 1 << 30 /* of an option: it acts on the computation itself, so it does not go with --from */
};

enum { LIST = 33 };          /* one more than a list may have */
enum { OPTIONS = 192 };      /* more than the rows of the table */
enum { BENCH_CHOICES = 22 }; /* of bench_variant_names, which --variant and --against take */
/* --rhs: a file, or values that are made. */
typedef enum { RHS_ONES, RHS_RANDOM, RHS_FILE } rhs_kind;
typedef struct {
    rhs_kind kind;
    const char *text; /* as it was given, the name of a file too; NULL: not given */
    uint64_t seed;    /* RHS_RANDOM: of so many columns */
    int64_t columns;
} rhs_option;
enum { WEIGHTS_GIVEN, WEIGHTS_ROWS, WEIGHTS_NONZEROS, WEIGHTS_MEASURED }; /* GIVEN: by the list, if there is one */
enum { AGAINST_VARIANT, AGAINST_ORDER, AGAINST_FORMAT, AGAINST_PLAIN, AGAINST_SINGLE };

/* Choices are kept as the number of the alternative, in the order of the table (and of the library's enums). */
typedef struct {
    int64_t moments, vectors, points, width, powers, threads, mem_limit, device_mem_limit; /* 0: not given */
    int64_t ranks;                                                                         /* likewise: info */
    uint64_t seed;
    double resolution, interval[2], lambda, bounds[2], time, tolerance, tolerance_abs, damp, scale;
    int kernel, bounds_method, trace, variant, precision, filter_precision, reduce, halo, log, symmetry;
    int64_t *sites, site_count, *left_sites, left_site_count, *watch, watch_count, *weights, weight_count, steps,
        first_vector;
    double *energies, per; /* per: 0: not given, below 0: rows */
    int64_t energy_count;
    double eta;                             /* green; 0: not given */
    double *temperatures;                   /* thermal: temperature_count of them */
    double function_number, function_scale; /* of --function: S, P, MU or E; T or W */
    int64_t temperature_count;
    double *mu, *optical, temperature, volume; /* sigma: so many of each; temperature 0 and volume 0: not given */
    int64_t mu_count, optical_count, left_bytes;
    int direction, formula; /* of names.h; the former 3 a + b, and -1 by --velocity-a */
    const char *velocity_a, *velocity_b, *positions;
    double cell[3][3], peierls; /* cell_vectors of them; flux quanta for each unit of area */
    int cell_vectors;
    double (*path)[3]; /* spectral: corners of it */
    int64_t corners, k_points, orbitals, average;
    int64_t grid[2]; /* spectral: points along both sides, 0: not given; its corners, 0 or 3 of them: */
    double grid_corner[3][3];
    int grid_corners;
    int function;                                             /* FUNCTION_... of names.h */
    int weights_by;                                           /* WEIGHTS_... */
    const char *save, *from, *output, *plot, *start, *device; /* from: the first of from_list */
    const char *from_list[LIST], *operator_list[LIST], *drive_list[LIST];
    int froms, operators, drives;
    int order, format;                        /* wisp_order, wisp_format; one more: all */
    int partition;                            /* wisp_partition */
    int bench_variant, against_what, against; /* the latter: the number of the variant, order or format */
    int64_t repeats, rows, depth;
    int64_t widths[LIST], types[LIST], thread_counts[LIST], powers_list[LIST],
        columns[LIST];     /* lists that end with 0 */
    int64_t budgets[LIST]; /* likewise: bytes of cache, or below 0 thousandths of a percent */
    const char *x0;        /* solve: a file */
    const char *null;      /* solve: "constant", or a file */
    rhs_option rhs;
    int method, solve_variant, precond; /* wisp_method (eig: wisp_eig_method), wisp_variant, wisp_precond; 0 where it */
                                        /* was not given */
    int side;                           /* wisp_side, of the preconditioner; 0: not given */
    int64_t precond_number;             /* rows of a block, or the degree; 0: not given */
    int64_t max_iterations, restart, shadow;
    int64_t count, search; /* eig: eigenvalues that are wanted, and columns of the search space; 0: not given */
    double target[2];      /* eig: real and imaginary part */
    double watchdog;       /* seconds; 0: not given, below 0: off */
    const char *vectors_in, *vectors_out, *left, *where, *series;
    const char *left_out, *right_out; /* svd: files */
    const char *overlap;              /* eig: a file */
    double overlap_bounds[2];
    const char *checkpoint, *resume, *like; /* files */
    /* What has no option, of --like and --resume; 0: not given. */
    int tiles_on; /* wisp_order */
    int64_t slices, row_bytes, bytes;
    bool takes_precision; /* though it was not given */
    double every;         /* seconds; 0: not given */
    bool measure;
    bool cool; /* thermal */
    bool json, plan, quiet, help, list, array, pattern, random, all, any, hermitian_part, energy, adjoint;
    const char *arg[LIST]; /* what is not an option: MATRIX, or IN and OUT; OP and one MATRIX or more */
    int args;
    const char *positions_out; /* gen: a file */
    int velocity;              /* gen: direction 0 to 2 */
    const char *states;        /* evolve: a file */
    double angle;              /* evolve: of the times, in degrees */
    double longest_step;       /* evolve: of H(t), in time; 0: any */
    bool smooth;               /* evolve: tables of --drive */
    bool imaginary;            /* evolve */
    const char *absorb;        /* evolve: layers, or a file */
    bool non_hermitian;        /* evolve */
    bool seen[OPTIONS];        /* for each row of the table */
    const char *text[OPTIONS]; /* likewise: its value as it was typed; NULL: it has none */
} options;

enum { PRECISION_SINGLE, PRECISION_DOUBLE, PRECISION_AUTO }; /* 0 also where none was given: see tool_type */

typedef struct option_def option_def;
enum { WHY = 256 }; /* size of the text that says why a value was refused */

/* A value that is read. */
typedef struct {
    const option_def *def;
    const char *text; /* what is left to be read */
    void *value;      /* its place in o */
    options *o;
    char *why; /* WHY bytes */
} option_value;

/* Reads text into *value; on failure says what was expected. */
typedef bool option_parse_fn(option_value *v);

struct option_def {
    const char *group; /* heading in --help; NULL: as the row before */
    const char *name;
    char letter;
    const char *arg;            /* what --help calls the value, unless that is its choices; neither: a flag */
    const char *const *choices; /* from number `min` to before `max`, if that is not 0; NULL: none */
    option_parse_fn *parse;
    unsigned commands; /* that take it: CMD_..., and NEW_RUN */
    size_t offset;     /* of the value in options */
    int64_t min, max;
    const char *help; /* without ends of lines */
};

typedef struct {
    unsigned bit; /* CMD_... */
    int (*run)(tool *t);
    int ranks;         /* RANKS_... */
    const char *name;  /* and so on, as commands.h says */
    const char *usage; /* one line each */
    const char *args;  /* with a blank between them */
    int min_args, max_args;
    const char *summary, *text;
} command_def;
/* ONE alone; ANY, also as threads by $WISP_RANKS; SHOWN: it tells where they are. */
enum { RANKS_ONE, RANKS_ANY, RANKS_SHOWN };

extern const option_def option_table[]; /* options_table.c */
extern const int option_rows;

/* False: `error` holds the one line that tells why. */
bool options_parse(options *o, const command_def *cmd, int argc, char **argv, char *error, size_t error_size);
void options_free(options *o);
/* Whether the first `length` letters of what was typed are enough to mean the option, for these commands. */
bool option_means(unsigned commands, const char *typed, size_t length, const char *name);
/* Whether the command has the option. */
bool option_there(const command_def *cmd, const char *name);
/* Whether the option was on the command line. */
bool option_seen(const options *o, const char *name);
/* The first option on the command line that needs a new run; NULL if there is none. */
const char *options_new_run(const options *o);
void options_help(FILE *out, const command_def *cmd);
/* The choices of an option with | between them, in buf, which has WHY bytes. */
const char *option_words(const option_def *def, char *buf);
/* The name in list (ended by NULL) that is nearest to `word`, or NULL if none is near. */
const char *nearest_name(const char *word, const char *const *list);

/* parse.c */
wisp_bounds_opts bounds_options(const options *o);
option_parse_fn parse_flag, parse_string, parse_once, parse_output, parse_count, parse_positive, parse_pair,
    parse_choice, parse_kernel, parse_bounds, parse_bytes, parse_sites, parse_left_sites, parse_watch, parse_weights,
    parse_list, parse_budgets, parse_types, parse_against, parse_device, parse_seed, parse_points, parse_window,
    parse_from, parse_operator, parse_drive, parse_rhs, parse_precond, parse_number, parse_complex, parse_watchdog,
    parse_energies, parse_path, parse_per, parse_temperatures, parse_function, parse_potentials, parse_frequencies,
    parse_cell, parse_grid;
#endif
