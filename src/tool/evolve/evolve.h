/* The plan and the results of wisp evolve: the norm, and the densities of some rows, over time. */
#ifndef WISP_TOOL_EVOLVE_H
#define WISP_TOOL_EVOLVE_H
#include "drives.h"
#include "expectations.h"
#include "states.h"

typedef struct {
    int64_t times, done; /* time 0 among them */
    double *time, *norm; /* [times] */
    int64_t watched;
    const int64_t *watch; /* [watched] rows */
    double *density;      /* [watched][times] */
    double *off;          /* [times] |psi - exact|, estimated */
    double *log_norm;     /* [times] of psi, where it is scaled to norm 1 */
    double deviation;     /* largest |norm - 1| */
    expectations x;
    drives d;
    double tolerance;
    wisp_evolution e;
    wisp_mat_info info;
    wisp_type type; /* of psi */
    wisp_evolve_opts opts;
    double start_off; /* |psi(0) - exact| at most about */
    int64_t cache_budget;
    double assemble_seconds;
    states_kind kind; /* of what --states writes */
    bool damps;       /* times are not real */
    bool absorbs;     /* the matrix need not be Hermitian */
    bool no_states;   /* their file could not be written */
    states_last last; /* --from */
} evolve_results;

/* What is known when the files are open. */
typedef struct {
    const wisp_src *src;
    const wisp_mat_opts *mo;
    const evolve_results *r;
    int64_t reading, start; /* bytes: the most that was held so far; of the file of psi(0) */
    int64_t looked;         /* rows that evolve_look has seen; 0: none, */
    wisp_bounds reach;      /* by which the spectrum lies about here */
} evolve_inputs;
/* evolve_look.c: some rows, where no bounds are given. A run that rounding alone must spoil is refused. */
int evolve_look(tool *t, evolve_inputs *in);
/* evolve_plan.c */
/* Bytes that wisp_evolve may hold beside what is held, of which so much is on a device; or those of --like. */
int evolve_room(tool *t, int64_t held, int64_t on_device, int64_t *bytes);
int evolve_plan_show(tool *t, const evolve_inputs *in);
int evolve_plan_check(tool *t, const evolve_inputs *in);

/* drives_plan.c: sweeps under H(t), estimated by a model of so many rows; NAN: not known. */
double drives_sweeps(tool *t, const wisp_src *src, const evolve_results *r, int64_t *rows);

/* evolve_out.c */
void evolve_summary(tool *t, const evolve_results *r);
int evolve_write(tool *t, const evolve_results *r); /* all outputs that the options ask for */
#endif
