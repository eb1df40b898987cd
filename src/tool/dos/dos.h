/* The files of wisp dos, ldos, green, spectral, count, thermal and trace share this. */
#ifndef WISP_TOOL_DOS_H
#define WISP_TOOL_DOS_H
#include "../average.h"
#include "../more.h"
#include "../out/out.h"
#include "../pencil.h"
#include "../plan.h"

/* The rows of --where; without it there are none. */
typedef struct {
    wisp_ctx *ctx;
    char *in; /* [rows] 1: it is one of them, else 0 */
    int64_t rows, count;
} where;
/* kpath.c: the k at which A(k, E) is wanted. */
typedef struct {
    wisp_positions at;        /* of the rows, and their orbitals */
    where within;             /* the rows that waves are on, of --where; else all */
    int64_t count;            /* of waves, each once */
    double (*k)[3];           /* [count] */
    int64_t points, *wave;    /* [points]: the wave of each point; -1: it is missing */
    double *way;              /* [points]: the length of the path up to each, as it was asked for */
    int64_t corners, *corner; /* [corners]: which points they are */
    int64_t columns;          /* of a grid of points, row by row; 0: they are a path */
    double moved;             /* the largest step to a wave that fits the sample */
} kpath;
enum { KPATH_MAPS = 16 }; /* of a grid, in a picture */

/* The results of dos, ldos and count; of the moments, also those of thermal and trace. */
typedef struct {
    wisp_moments *m;
    wisp_eval_opts eval;
    int64_t n;              /* moments used */
    double resolution, t95; /* t95 times a moment's error is half of its 95% bar; NaN for a single random vector */
    bool has_error;         /* errors are numbers: more than one vector, or exact */
    bool interval_given;
    double interval[2];
    int64_t curves, *site, *vector; /* ldos, green: rows, or numbers of the vectors that were given, and which vector */
                                    /* of m; else one curve, vector -1 */
    int64_t *left_site;             /* [curves] rows on the left, where vectors of both sides are rows; else NULL */
    bool given;                     /* vectors, not rows */
    int64_t points;
    double per;                     /* by which densities are divided */
    double *energy, *dos, *error;   /* dos[curve][point] */
    double *dos_im_error;           /* [curves][points] of it */
    double *dos_im;                 /* likewise, of moments with left vectors; else NULL */
    double *low, *high;             /* the ends of its 95% bar, likewise */
    double spacing;                 /* the largest between two energies */
    double *integral;               /* [curves]; NaN with --energies */
    double *mean, *mean_error;      /* [n]; not for ldos */
    double count, count_error, bar; /* bar: half of a typical 95% bar, over the DOS; NaN without one */
    double count_low, count_high;   /* its 95% bar */
    double count_smearing;          /* states within one resolution of an end of the interval */
    int64_t agreed;                 /* energies at which all random vectors agree: a bar of 0 */
    int64_t few;                    /* others at which few states, or few rows, make up the density */
    double assemble_seconds, evaluate_seconds, total_seconds;
    const char *matrix;
    int64_t where_rows;     /* of --where; 0: without it */
    char *where, *operator; /* what these options are, or were in a kept run; NULL: nothing */
    more_run more;
    int runs; /* of --from; seed of each: */
    uint64_t seed[LIST];
    wisp_mat_info stored;          /* not with --from */
    int64_t near_rows, near_steps; /* likewise, of a part of the matrix; 0: it is whole */
    int64_t cache_budget;          /* likewise */
    char precision[512];           /* why --precision auto took the one it took; empty without it */
    wisp_ensemble *heat;           /* [options.temperature_count], thermal; what is not served has terms = 0 */
    int64_t served;
    bool served_known;
    char refused[WISP_MESSAGE]; /* why not all of them are */
    wisp_cooled cooled;         /* --cool, of the lowest temperatures */
    double cool_seconds;
    bool cool_cut;          /* it was stopped */
    wisp_scalar *green;     /* [curves][points]; NULL: not of green */
    double *beside;         /* [curves][points] likewise: how far G is off at most */
    double *green_error;    /* [2][curves][points] of several realizations: standard errors of both parts; else NULL */
    wisp_traced traced;     /* trace */
    kpath path;             /* spectral */
    double *spectral;       /* [path.count][points], likewise; with their standard errors, of several realizations */
    double *spectral_error; /* likewise; NULL: there is one */
    average average;        /* of a run with --average */
    pencil pencil;          /* of --overlap */
} results;

/* Commands for traces of functions: without a density of states and its kernel. */
static inline bool of_traces(const tool *t) { return t->cmd->bit & (CMD_THERMAL | CMD_TRACE); }
static inline bool of_green(const tool *t) { return t->cmd->bit == CMD_GREEN; }
static inline bool of_spectral(const tool *t) { return t->cmd->bit == CMD_SPECTRAL; }
/* Curves of single vectors. */
static inline bool of_rows(const tool *t) { return t->cmd->bit & (CMD_LDOS | CMD_GREEN | CMD_SPECTRAL); }
/* Whether the number of moments follows from the bounds. */
static inline bool moments_by_bounds(const tool *t)
{
    return t->opt.resolution > 0 || ((of_traces(t) || of_green(t)) && !t->opt.moments);
}

/* dos_plan.c: what a run takes. */
/* Bytes of what it reads: at most while that is read; that files of --start, --left and --operator hold until their
   blocks and matrix are there; and of that matrix, or S of --overlap, with its product, about and at most, and to make
   it. */
typedef struct {
    int64_t reading, starts, operator[2], making[2];
    const pencil *pencil;
} run_files;
typedef struct {
    wisp_mat_info matrix;
    int64_t blocks, total; /* bytes: of vectors, dots, moments; of all that is held at once */
    plan_sides sides;      /* of the same */
} run_bytes;
typedef struct {
    run_bytes most, about; /* about: total is 0 until it is estimated */
    run_files files;
    int64_t source;   /* bytes that the source holds */
    int64_t choosing; /* the same while the width was chosen */
    bool moments_unknown;
    bool may_be_double; /* `most` is of the run in double precision */
} run_plan;
int plan_make(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, const run_files *files,
              run_plan *p);
int plan_show(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p);
/* Refuses what would not fit in --mem-limit, or else in the memory of this machine, by the estimate; that is made only
   if the run may take more. And when the number of moments is known at last. */
int plan_check_limit(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const wisp_kpm_opts *ko, run_plan *p);
int plan_check_blocks(tool *t, const wisp_mat *A, const wisp_kpm_opts *ko);
int64_t plan_vectors(const wisp_kpm_opts *ko, int64_t rows); /* of the run */
int64_t plan_moments(const wisp_kpm_opts *ko);
int64_t plan_steps(const wisp_kpm_opts *ko); /* of each of them, 1 if none may be interleaved */
wisp_type plan_type(const wisp_mat_opts *mo, const wisp_kpm_opts *ko); /* of the vectors */

/* where.c */
bool where_by_position(const char *text); /* whether it is conditions on positions */
int where_find(tool *t, where *w, int64_t rows);
void where_free(where *w);
void where_projector(where *w, wisp_src *src); /* 1 on the diagonal at these rows, which stay w's */
int where_sites(tool *t, const where *w);      /* they become those of --sites */

/* near.c: the rows that moments can see from --sites and --left-sites, in place of the whole matrix where that pays. */
typedef struct {
    wisp_ctx *ctx;
    int64_t *place;   /* which these rows are, --left-sites behind --sites; NULL: the matrix is whole */
    int64_t of, rows; /* of the whole, and those that are near */
    int64_t steps;    /* within which they are */
} near;
int near_open(tool *t, near *n, wisp_src *src, wisp_kpm_opts *k);   /* *src and k->sites may become others */
const int64_t *near_places(const near *n, const tool *t, int side); /* 1: on the left */
void near_free(near *n);

/* starts.c: the vectors of --start, --left and --left-sites; without these options nothing is done. */
typedef struct {
    wisp_src src[2];  /* on the right, on the left: open until their blocks are filled */
    wisp_blk *blk[2]; /* NULL: there is none */
    int64_t bytes;    /* that the files hold */
    wisp_src op;      /* --operator: likewise */
    wisp_mat *B;
    uint64_t hash; /* of it, where there are checkpoints */
    where where;
    near near;
} starts;
const wisp_blk *starts_some_block(void); /* of a run that is planned, of which it is asked alone whether there is one */
bool starts_are_given(const tool *t);
int starts_open(tool *t, starts *s, int64_t rows, wisp_kpm_opts *k); /* k has what a plan asks for */
void starts_type(const starts *s, wisp_type matrix, wisp_kpm_opts *k);
int starts_make(tool *t, starts *s, const wisp_mat *A, wisp_kpm_opts *k);
void starts_free(starts *s);
int64_t starts_block_bytes(const wisp_kpm_opts *k, const wisp_mat_info *A); /* of a block of them; 0: there is none */
static inline int run_sides(const wisp_kpm_opts *k) { return k->left || k->adjoint ? 2 : 1; }

/* operator.c: the matrix of --operator, likewise; the moments as they are to be; what a kept state knows it by. */
int operator_open(tool *t, starts *s, int64_t rows, wisp_kpm_opts *k);
int operator_plan(tool *t, const starts *s, const wisp_mat_opts *mo, const wisp_kpm_opts *k, run_files *files);
int operator_make(tool *t, starts *s, const wisp_mat *A, wisp_kpm_opts *k);
void operator_conjugate(const wisp_kpm_opts *k, wisp_moments *m);
wisp_status operator_items(const starts *own, wisp_state *s);

/* overlap.c: --overlap. Options; the vectors' type; what S takes; seconds that it adds to a step of so many columns; C,
   or A without it, of which moments are computed; what is told of it. */
int overlap_check(tool *t);
void overlap_type(const tool *t, const pencil *p, wisp_kpm_opts *k);
int overlap_plan(tool *t, const pencil *p, const wisp_mat_opts *mo, const wisp_kpm_opts *k, run_files *files);
wisp_status overlap_time(tool *t, const pencil *p, const wisp_mat_opts *mo, wisp_type type, int64_t columns,
                         wisp_choice *step);
int overlap_make(tool *t, results *r, const wisp_mat *A, int width, const wisp_mat **searched);
void overlap_warn(tool *t, const results *r);
void overlap_json(json_t *o, const tool *t, const results *r);
void overlap_summary(const tool *t, const results *r);

/* dos_eval.c */
int results_evaluate(tool *t, results *r);
void results_free(tool *t, results *r);
/* The longer half of a bar; NaN without one. */
static inline double longer_half(double v, double low, double high) { return v - low > high - v ? v - low : high - v; }
/* dos_results.c: everything as one JSON object; the other outputs are made of it. NULL: out of memory. */
json_t *results_json(tool *t, const results *r);
/* The count and its bar, with the digits that the bar and the kernel's smearing leave; TEXT_BAR bytes. */
const char *results_count(char *buf, const results *r, const char *sign);
const char *results_smearing(char *buf, const results *r);
void results_summary(tool *t, const results *r);
int results_write(tool *t, const results *r); /* all outputs that the options ask for */
/* What the density counts, such as "states per energy"; TEXT_BAR bytes. */
const char *results_unit(char *buf, const tool *t, const results *r);
/* What curve c is of: "row 17", "vector 0"; and in names of columns: "17", "vector_0". TEXT bytes. */
const char *results_curve(char *buf, const results *r, int64_t c);
void results_add_curves(json_t *o, const tool *t, const results *r); /* which rows or vectors they are of */
const char *results_column(char *buf, const results *r, int64_t c);
csv_table_fn results_table;    /* of results */
plot_script_fn results_script; /* likewise */

/* near.c again: m is of the whole; what is told of it. */
void near_done(const near *n, const tool *t, results *r, wisp_moments *m);
void near_json(json_t *o, const results *r);
void near_summary(const results *r);

/* green.c: of the rows r->site, as densities -Im G / pi besides; what was found. */
int64_t green_moments(const tool *t, double halfwidth);
double green_seconds(const tool *t, int64_t moments, double curves, double points); /* NaN: no memory to find out */
int green_evaluate(tool *t, results *r);
void green_json(json_t *o, const tool *t, const results *r);
void green_summary(const tool *t, const results *r);
csv_table_fn green_table;

/* kpath.c: the path or grid of a matrix with so many rows, and of the run that made the moments; what is kept of it
   with moments; whether it goes with the energies; plane waves at its k. */
int kpath_open(tool *t, kpath *p, const char *matrix, int64_t rows, where *within); /* which becomes p's */
int kpath_load(tool *t, kpath *p, const wisp_moments *m);
int kpath_keep(tool *t, const kpath *p, wisp_moments *m);
int kpath_check(tool *t, bool grid);
void kpath_options(kpath *p, wisp_kpm_opts *k);
wisp_status kpath_start(void *path, int64_t first, wisp_blk *x); /* a wisp_start_fn */
wisp_status kpath_items(const kpath *p, wisp_state *s);          /* what a kept state knows them by */
void kpath_free(kpath *p);
/* spectral.c: A(k, E) of the densities of all plane waves. */
int spectral_evaluate(tool *t, results *r);
void spectral_json(json_t *o, const results *r);
void spectral_summary(const results *r);
void spectral_table(const results *r, FILE *f);
void spectral_script(const tool *t, const results *r, FILE *f, const char *path); /* spectral_plot.c */
/* realizations.c: densities of several realizations of disorder. How many their curves are of, 1 without --average;
   before this curve of one of them is evaluated; stopped there, a run that is kept nowhere goes on with the whole ones
   before, or else with the first one (false: it does not); curves of all become their mean, with bars. */
int64_t realizations_of(const results *r);
static inline bool realizations_have_bars(const results *r) { return r->site && r->m->realizations > 1; }
wisp_status realizations_step(tool *t, const results *r, int64_t curve);
bool realizations_cut(tool *t, results *r, int64_t curve);
void realizations_fold(results *r);
/* Moment k of a curve's vector likewise; its standard error. */
double realizations_moment(const results *r, const double *mu, int64_t vector, int64_t k, double *error);

/* traces.c: thermal and trace. What they need is given; the moments that it takes; it is done. */
int traces_check(tool *t);
int traces_moments(tool *t, const wisp_bounds *b, wisp_bounds_method method, int64_t *moments);
int traces_evaluate(tool *t, results *r);
void traces_json(json_t *o, const tool *t, const results *r);
void traces_summary(const tool *t, const results *r);
csv_table_fn traces_table;
/* thermal.c: the same of thermal alone. */
enum { LOG_Z, ENERGY, CAPACITY, ENTROPY, QUANTITIES };
int64_t thermal_moments(const tool *t, const wisp_bounds *b, wisp_bounds_method method);
/* By moments, from the highest temperature down to the first one that these refuse (r->served, r->refused). */
int thermal_served(tool *t, results *r);
int thermal_evaluate(tool *t, results *r);
void thermal_json(json_t *o, const tool *t, const results *r);
void thermal_summary(const tool *t, const results *r);
csv_table_fn thermal_table;
plot_script_fn thermal_script;
/* cool.c: --cool. */
int cool_check(tool *t); /* whether other options go with it */
/* The kept state is one of cooling. It has no moments, which are computed anew, unless all states are cooled. */
bool cool_resumes(const tool *t);
bool cool_has_moments(const tool *t);
wisp_status cool_take_moments(tool *t, wisp_moments *m);
int cool_run(tool *t, results *r, const wisp_mat *A); /* cools states to all temperatures that moments do not serve */
int64_t cool_bytes(const tool *t, const wisp_mat_info *A, int64_t vectors, bool most); /* what that takes */
bool cool_fill(tool *t, results *r, int64_t k); /* r->heat[k] by states; false: r->refused says why, if any are */
#endif
