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
    wisp_mat_opts mo;
    int width, energies;
    const double *energy;
    wisp_bounds bounds;
    wisp_bounds_method method;
    where where;
    int64_t rows, *row;     /* those of the region */
    int64_t sites, *begin;  /* [sites + 1]: where each begins in row */
    double (*at)[3];        /* [sites]; NULL: not known */
    bool exact;             /* by unit vectors */
    int64_t done;           /* vectors */
    double *value, *square; /* [energies][sites] sums over the vectors, of the density and its square; then mean and */
                            /* standard error */
    double *low, *high;     /* likewise, the 95% bar */
    wisp_mat_info info;
    double assemble_seconds, bounds_seconds, seconds, total_seconds;
} map_run;

enum { MAP_ROWS = 1024 }; /* of an exact map, whose moments are held at once */
static inline bool map_has_bars(const map_run *r) { return !r->exact && r->done > 1; }
double map_resolution(const map_run *r);
int64_t map_terms(int64_t moments); /* of f, whose square has about so many */
/* c[map_terms(moments)] becomes the Chebyshev series of f around an energy; outside the bounds it is 0. */
void map_series(const wisp_bounds *b, int64_t moments, double energy, wisp_scalar *c);

/* map_plan.c */
int map_plan_check(tool *t, const map_run *r, const wisp_src *src);
int map_plan_show(tool *t, const map_run *r, const wisp_src *src);

/* map_out.c, map_plot.c */
void map_summary(const tool *t, const map_run *r);
int map_write(tool *t, const map_run *r);
plot_script_fn map_script; /* of map_run */
#endif
