/* The files of wisp sigma share this. */
#ifndef WISP_TOOL_SIGMA_H
#define WISP_TOOL_SIGMA_H
#include "../out/out.h"
#include "../plan.h"

/* The matrix and both velocities, until matrices are made of them. */
typedef struct {
    wisp_src bare, h, a, b; /* bare: h without its field, else empty; b is empty where it is a */
    wisp_positions positions;
    wisp_mat_opts h_opts, a_opts, b_opts;
} sigma_sources;

enum { SIGMA_POTENTIALS = 201 }; /* from one bound to the other, without --mu */

typedef struct {
    wisp_moments m;
    wisp_kubo_opts kubo;
    wisp_sigma_opts eval;
    double temperature, student95;
    int64_t count; /* of chemical potentials, which rise */
    double *mu;
    wisp_estimate *sigma;
    int direction;  /* of direction_names; -1: not known */
    int dimensions; /* of the sample; 0: not known */
    bool has_volume;
    bool differ; /* a kept run had two velocities of the user's */
    int runs;    /* of --from; seed of each: */
    uint64_t seed[LIST];
    const char *matrix;
    int64_t reading;      /* bytes at most while the sources were read */
    wisp_mat_info stored; /* not with --from, nor is the next */
    double assemble_seconds, evaluate_seconds, total_seconds;
} sigma_results;

/* velocity.c: positions, and the field, of a matrix that is open; then velocities. EXIT_FAILED with its line. */
int velocity_field(tool *t, sigma_sources *s);
int velocity_open(tool *t, sigma_sources *s, sigma_results *r);
void velocity_close(sigma_sources *s);
/* What is known of the sample of a kept run: its direction and volume. */
int velocity_of_kept(tool *t, sigma_results *r);
/* Both on the map of A; the same one twice, where they are equal. */
int velocity_make(tool *t, sigma_sources *s, const wisp_mat *A, wisp_mat **V_a, wisp_mat **V_b);
void velocity_free(wisp_mat *V_a, wisp_mat *V_b);

/* sigma_plan.c */
int sigma_plan_check(tool *t, const sigma_sources *s, const sigma_results *r);
int sigma_plan_show(tool *t, const sigma_sources *s, const sigma_results *r);

/* sigma_out.c */
const char *sigma_name(char *buf, const sigma_results *r); /* sigma_xy; TEXT bytes */
void sigma_summary(tool *t, const sigma_results *r);
int sigma_write(tool *t, const sigma_results *r);
plot_script_fn sigma_script; /* sigma_plot.c, of sigma_results */
const char *sigma_unit(const sigma_results *r);
#endif
