/* The words of choices: those that options take are those that results are told in. Lists end with NULL, and are in the
   order of the library's enums, whose first one may be no choice ("default") and whose last ones no option's. */
#ifndef WISP_TOOL_NAMES_H
#define WISP_TOOL_NAMES_H
#include <wisp/wisp.h>

typedef const char *const name_list[];
extern name_list order_names, format_names; /* and "all", of the bench alone */
extern name_list partition_names, halo_names, precision_names;
extern name_list weights_names; /* the first one stands for a list */
extern name_list trace_names, damping_names, function_names, kpm_variant_names, bounds_names;
extern name_list direction_names; /* 3 a + b, of sigma_ab */
extern name_list sigma_formula_names;
extern name_list solve_method_names, solve_variant_names, side_names, precond_names;
extern name_list precond_choices; /* those without a program's function */
extern name_list eig_method_names, eig_question_names;
extern name_list bench_op_names, bench_variant_names;

enum { ORDERS = WISP_ROWS_TILES + 1, FORMATS = WISP_FORMAT_HERMITIAN + 1 };

/* Of --function; the last two have two numbers. */
enum {
    FUNCTION_LOG,
    FUNCTION_INVERSE,
    FUNCTION_SQRT,
    FUNCTION_INVERSE_SQRT,
    FUNCTION_EXP,
    FUNCTION_POWER,
    FUNCTION_FERMI,
    FUNCTION_GAUSS
};

static inline const char *text_order(wisp_order order) { return order_names[order]; }
static inline const char *text_partition(wisp_partition how) { return partition_names[how]; }
static inline const char *text_format(wisp_format format) { return format_names[format]; }
static inline const char *solve_method_name(wisp_method method) { return solve_method_names[method]; }
static inline const char *eig_method_name(wisp_eig_method method) { return eig_method_names[method]; }
static inline const char *eig_question_name(wisp_eig_which which) { return eig_question_names[which]; }
#endif
