/* --average: a quantity of several realizations of the disorder of a lattice, as the commands share it. One realization
   is one sample: of its random vectors the mean alone counts, and each realization has others. So bars over
   realizations hold both the disorder's spread and the vectors'. All are on one interval, which holds the spectra of
   all: then moments of all are of the same polynomials and can be added, and the resolution is the same. */
#ifndef WISP_TOOL_AVERAGE_H
#define WISP_TOOL_AVERAGE_H
#include "out/out.h"

/* A run that was stopped, of which nobody has told yet. */
enum { EXIT_CUT = EXIT_LAYOUT + 2 };

/* What is known of all realizations; zero before. */
typedef struct {
    int64_t done;              /* realizations that are whole */
    wisp_bounds_method method; /* that found the bounds of all; WISP_BOUNDS_GIVEN: they were given */
    wisp_bounds bounds;        /* if they were found; */
    double seconds;            /* and what that took */
    int64_t vectors;           /* of each realization; */
    wisp_trace trace;          /* and what they are, as they were asked for */
} average;

/* How a command computes the realization that t->opt tells. */
typedef struct {
    void *arg;
    int (*bounds)(tool *t, void *arg, wisp_bounds *b); /* its bounds alone */
    int (*run)(tool *t, void *arg); /* all of it, on given bounds, and adds it to the others; with --plan: shows the */
                                    /* plan. EXIT_CUT: it was stopped */
} average_of;

/* Options, before anything is done; EXIT_USAGE with its line. */
int average_check(tool *t);
/* One after the other. EXIT_CUT: a->done of them are whole. t->opt is as it was afterwards. */
int average_run(tool *t, average *a, const average_of *of);

/* The same of moments. *m becomes those of all: of a trace one vector for each realization, the mean of its vectors;
   else all vectors of one realization after the other. A run that was stopped has kept the whole ones, or goes on with
   them (m->partial). */
typedef struct {
    void *arg;
    int (*bounds)(tool *t, void *arg, wisp_bounds *b);
    int (*run)(tool *t, void *arg, wisp_moments *one);
} average_of_moments;
int average_moments(tool *t, average *a, const average_of_moments *of, wisp_moments *m);

/* The realizations of `one` come behind those of m. */
int average_append(tool *t, wisp_moments *m, const wisp_moments *one);

/* average_runs.c. Where the value of a key of a gallery spec begins; NULL: it has none. */
const char *average_key(const char *spec, const char *key);
/* The disorder's seed of a realization, counted from 0, of those that a name of a matrix tells; such a name with other
   seeds, to be freed (NULL: no memory); and in words, in buf[TEXT_BAR], those of so many realizations. */
uint64_t average_seed(const char *spec, int64_t number);
char *average_name(const char *spec, const char *seeds);
const char *average_seeds(const char *spec, int64_t all, char *buf);
/* Kept runs of several realizations each become such as wisp_moments_merge takes (of traces; others serve
   average_append); *name, to be freed, is that of all. EXIT_FAILED with its line: they do not go together. */
int average_fit(tool *t, wisp_moments *runs, int count, char **name);

/* The mean of N numbers, which lie so far apart, and its standard error (NULL: not asked for): NaN of a single one. */
double average_mean(int64_t N, int64_t apart, const double *value, double *error);
/* The same of `count` numbers of each of N realizations, which follow each other: the first ones become means. */
void average_fold(int64_t N, int64_t count, double *value, double *error);
/* Ends of the 95% bars, Student's; those of densities are never below 0. */
void average_bars(int64_t N, int64_t count, bool positive, const double *value, const double *error, double *low,
                  double *high);

/* What a summary and JSON tell, of `done` realizations of this matrix; and, average_end, what is told at the end of a
   run that was stopped: EXIT_FAILED, or EXIT_FINE if it was not (cut). */
void average_summary(const average *a, const char *matrix, int64_t done);
void average_json(json_t *o, const tool *t, const average *a, const char *matrix, int64_t done);
void average_plan(const tool *t); /* a line of the plan */
int average_end(tool *t, int64_t done, bool cut);
/* N of --average; 1 without. */
static inline int64_t average_count(const tool *t) { return t->opt.average ? t->opt.average : 1; }
#endif
