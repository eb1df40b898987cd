/* The files of wisp map share this: the local density of states at all sites of a region, at some energies.
   The estimate of random vectors |r> is |(f(H)|r>)_i|^2 at row i, with f^2 the kernel around the energy: its mean is
   <i|f(H)^2|i>, for the numbers of |r> have size 1 and mean 0. It is never negative, and the scatter of one vector is
   about the density itself, whatever the resolution; that of conj(r_i) (f(H)^2|r>)_i, the usual estimate of a diagonal
   (Bekas, Kokiopoulou, Saad, Appl. Numer. Math. 57, 1214 (2007)), grows where resolutions get finer. */
#ifndef WISP_TOOL_MAP_H
#define WISP_TOOL_MAP_H
#include "../dos/dos.h"

/* Rows at one place whose numbers follow each other are a site, of which the densities are added; without positions
   each row is one. */
typedef struct {
    wisp_kpm_opts kpm; /* moments, vectors, seed, bounds: as wisp dos has them */
    wisp_eval_opts eval;
    wisp_mat_opts mo;
    int width, energies;
    const double *energy;
    wisp_bounds bounds;
    wisp_bounds_method method;
    where where;
    char *asked_where;      /* the words of --where, also of a kept run; NULL: there were none */
    int64_t rows, *row;     /* those of the region */
    int64_t sites, *begin;  /* [sites + 1]: where each begins in row */
    double (*at)[3];        /* [sites]; NULL: not known */
    bool exact;             /* by unit vectors */
    int64_t asked;          /* moments; 0: what --resolution needs */
    int64_t done;           /* vectors, or rows of an exact map */
    double *value, *square; /* [energies][sites] sums over the vectors, of the density and its square; then mean and */
                            /* standard error */
    double *low, *high;     /* likewise, the 95% bar */
    int64_t asked_sites;    /* of which an exact map that was stopped has the first ones; 0: all */
    average average;        /* of a run with --average: value and square are over realizations then, */
    bool cut;               /* of which this one was stopped */
    bool keeps;             /* moments are kept, in: */
    wisp_moments kept;      /* exact: of each row; else (T_n|r>)_i of each vector r and row i, at vector r rows + i */
    const char *matrix;     /* of them, or MATRIX */
    wisp_mat_info info;
    double assemble_seconds, bounds_seconds, seconds, total_seconds;
} map_run;

enum { MAP_ROWS = 1024 }; /* of an exact map, whose moments are held at once */
/* Whether densities are means over chance, and of more than one sample. */
static inline bool map_of_chance(const map_run *r) { return !r->exact || r->average.done > 0; }
static inline bool map_has_bars(const map_run *r)
{
    return r->average.done > 0 ? r->average.done > 1 : !r->exact && r->done > 1;
}
double map_resolution(const map_run *r);
int64_t map_terms(int64_t moments); /* of f, whose square has about so many */

/* map_sums.c. Arrays for the sums; all vectors, or rows, that are not done yet; sums become means and bars. */
wisp_status map_begin(tool *t, map_run *r);
wisp_status map_compute(tool *t, map_run *r, wisp_mat *A);
/* The densities of m's first `count` rows, which are those of the region from `first` on. */
wisp_status map_add_rows(tool *t, map_run *r, const wisp_moments *m, int64_t first, int64_t count);
bool map_cut(map_run *r); /* an exact map that was stopped keeps its whole sites; false: there is none */
void map_finish(map_run *r);
/* map_average.c: --average, by what computes one realization, or finds its bounds alone (found). */
int map_average(tool *t, map_run *r, int (*run)(tool *t, map_run *one, wisp_bounds *found));
void map_free(tool *t, map_run *r);
wisp_status map_items(void *map_run, wisp_state *s); /* what a kept state has of it */

/* map_kept.c: moments that are kept. Room for them (false: there is none); those of all vectors; of rows r->done and
   those behind it; the sums of all of them; to the file of --save; those of a file become the run. */
bool map_kept_begin(map_run *r);
wisp_status map_kept_vectors(tool *t, map_run *r, wisp_mat *A);
wisp_status map_kept_rows(tool *t, map_run *r, const wisp_moments *m);
wisp_status map_kept_evaluate(tool *t, map_run *r);
int map_kept_save(tool *t, map_run *r);
int map_kept_load(tool *t, map_run *r);
static inline int64_t map_kept_numbers(const map_run *r) /* of the file, real and imaginary parts each */
{
    return r->exact ? r->rows * r->kpm.moments : r->kpm.vectors * r->rows * map_terms(r->kpm.moments);
}

/* map_plan.c */
/* Whether there is room for moments that --save keeps, when it is known how many there are. */
int map_plan_check_kept(tool *t, const map_run *r);
int map_plan_check(tool *t, const map_run *r, const wisp_src *src);
int map_plan_show(tool *t, const map_run *r, const wisp_src *src);

/* map_out.c, map_plot.c */
void map_summary(const tool *t, const map_run *r);
int map_write(tool *t, const map_run *r);
plot_script_fn map_script; /* of map_run */
#endif
