/* The files of wisp sigma share this. */
#ifndef WISP_TOOL_SIGMA_H
#define WISP_TOOL_SIGMA_H
#include "../average.h"
#include "../more.h"
#include "../out/out.h"
#include "../plan.h"

/* The matrix and both velocities, until matrices are made of them. */
typedef struct {
    wisp_src bare, h, a, b; /* bare: h without its field, else empty; b is empty where it is a */
    wisp_positions positions;
    wisp_mat_opts h_opts, a_opts, b_opts;
} sigma_sources;

enum { SIGMA_POTENTIALS = 201 }; /* from one bound to the other, without --mu and --optical */

typedef struct {
    wisp_moments m;
    wisp_kubo_opts kubo;
    wisp_sigma_opts eval;
    double temperature, student95;
    bool optical; /* over frequency, at one chemical potential: */
    double mu;
    int64_t count; /* of chemical potentials, or frequencies, which rise */
    double *x;
    wisp_estimate *sigma;
    int direction;  /* of direction_names; -1: not known */
    int dimensions; /* of the sample; 0: not known */
    bool has_volume;
    double kept_volume; /* of a kept run, where --volume is another; 0: there is none */
    bool differ;        /* a kept run had two velocities of the user's */
    average average;    /* of a run with --average */
    more_run more;
    int runs; /* of --from; seed of each: */
    uint64_t seed[LIST];
    const char *matrix;
    int64_t reading;      /* bytes at most while the sources were read */
    wisp_mat_info stored; /* not with --from, nor is the next */
    bool tries;           /* --precision auto: left vectors in single precision, and rounding is looked at */
    char precision[256];  /* what it took, and why; empty without it */
    double rounding;      /* by how much that moves values at most, over half a bar, about; 0: not known */
    double assemble_seconds, evaluate_seconds, total_seconds;
} sigma_results;

/* The numbers of moments, and of random vectors, which wisp_kubo takes where none are given. */
static inline int64_t sigma_moments(const sigma_results *r) { return r->kubo.moments ? r->kubo.moments : 128; }
static inline int64_t sigma_random(const sigma_results *r) { return r->kubo.vectors ? r->kubo.vectors : 4; }

enum { EXIT_AGAIN = EXIT_LAYOUT + 1 }; /* in double precision: single is not enough */

/* How many chemical potentials, or frequencies. */
int64_t sigma_count(const options *o);

/* The chemical potentials, or frequencies, once the bounds are known. */
int sigma_places(tool *t, sigma_results *r);

/* sigma_precision.c: in which precision left vectors are held, once the sources are open; whether their rounding is
   small, when the moments are there: EXIT_AGAIN if it is not. */
void sigma_left(const tool *t, const sigma_sources *s, sigma_results *r);
int sigma_rounding(tool *t, sigma_results *r);

/* velocity.c: positions, and the field, of a matrix that is open; then velocities. EXIT_FAILED with its line. */
int velocity_field(tool *t, sigma_sources *s);
int velocity_open(tool *t, sigma_sources *s, sigma_results *r);
void velocity_close(sigma_sources *s);
/* What is known of the sample of a kept run: its direction and volume. */
int velocity_of_kept(tool *t, sigma_results *r);
/* Both on the map of A; the same one twice, where they are equal. */
int velocity_make(tool *t, sigma_sources *s, const wisp_mat *A, wisp_mat **V_a, wisp_mat **V_b);
void velocity_free(wisp_mat *V_a, wisp_mat *V_b);

/* volume.c: a warning where the volume is far from what these positions, which may be none, extend over. */
void volume_look(tool *t, const sigma_results *r, const wisp_positions *p);

/* sigma_plan.c */
wisp_type sigma_vectors(const sigma_sources *s); /* their type: that of the widest of the three matrices */
int sigma_plan_check(tool *t, const sigma_sources *s, const sigma_results *r);
int sigma_plan_show(tool *t, const sigma_sources *s, const sigma_results *r);

/* sigma_time.c: what is to be done, with blocks of so many right vectors; its seconds. */
typedef struct {
    wisp_type type;
    int width;
    int64_t rows, moments;
    double vectors, sweeps; /* sweeps of all vectors */
} sigma_time_of;
wisp_status sigma_time(tool *t, const sigma_sources *s, const sigma_time_of *of, plan_time *time);

/* sigma_out.c */
const char *sigma_name(char *buf, const sigma_results *r); /* sigma_xy; TEXT bytes */
void sigma_summary(tool *t, const sigma_results *r);
int sigma_write(tool *t, const sigma_results *r);
plot_script_fn sigma_script; /* sigma_plot.c, of sigma_results */
const char *sigma_unit(const sigma_results *r);
const char *sigma_formula(const sigma_results *r);
#endif
