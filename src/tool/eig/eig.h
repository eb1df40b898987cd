/* wisp eig: what its files share. */
#ifndef WISP_TOOL_EIG_H
#define WISP_TOOL_EIG_H
#include "../names.h"
#include "../out/out.h"
#include "../pencil.h"

typedef struct {
    wisp_eig_opts opts;
    wisp_eigen e;
    wisp_status status; /* of wisp_eig */
    char why[768];      /* its message, unless it is WISP_OK */
    wisp_mat_info info;
    wisp_type type;  /* of the vectors */
    bool hermitian;  /* else eigenvalues are complex numbers */
    bool dense_fits; /* --method dense could answer where another one stopped */
    double assemble_seconds;
    pencil pencil;    /* of --overlap */
    int64_t sides[2]; /* svd: rows and columns of MATRIX; else 0 */
} eig_results;

/* The search, and its plan: wisp_eig, or wisp_svd, which looks for triplets. */
static inline bool eig_singular(const eig_results *r) { return r->sides[0] > 0; }
static inline int64_t eig_rows(const eig_results *r) { return eig_singular(r) ? r->sides[0] : r->info.rows; }
void eig_matrix(const tool *t, const eig_results *r, wisp_type type); /* eig_out.c: its lines of a summary */
static inline int64_t eig_nonzeros(const eig_results *r) { return eig_singular(r) ? r->info.nnz / 2 : r->info.nnz; }
wisp_status eig_plan_of(const eig_results *r, wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *A,
                        const wisp_eig_opts *o);
/* eig_plan.c. reading: the most that was held while the inputs were read; the first one before the matrix is made,
   for what it and the fewest vectors take; the last one when all is made. */
int eig_plan_check_source(tool *t, const wisp_src *src, const wisp_mat_opts *mo, const eig_results *r, int64_t reading);
int eig_plan_check(tool *t, const wisp_mat *A, const eig_results *r);
int eig_plan_show(tool *t, const wisp_mat *A, const eig_results *r);

/* eig_out.c */
const char *eig_question(char *buf, const eig_results *r);          /* TEXT_BAR bytes */
const char *eig_expected(char *buf, double expected, double error); /* TEXT_BAR bytes */
double eig_tolerance(const eig_results *r);                         /* that was asked for, or is by default */
const char *eig_round_word(const wisp_eigen *e);                    /* of what e->rounds counts */
void eig_summary(const tool *t, const eig_results *r);
int eig_write(tool *t, const eig_results *r); /* all outputs that the options ask for */

/* eig_plot.c: of eig_results */
plot_script_fn eig_script;
#endif
