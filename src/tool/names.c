/* The words of choices. */
#include "names.h"
#include <stddef.h>

name_list order_names = {"auto", "natural", "rcm", "tiles", "all", NULL};
name_list format_names = {"auto", "sell", "compressed", "hermitian", "all", NULL};
name_list partition_names = {"rows", "levels", "scotch", NULL};
name_list halo_names = {"auto", "none", "overlap", "task", "neighbours", "columns", "nocomm", NULL};
name_list precision_names = {"single", "double", "auto", NULL};
name_list weights_names = {"", "rows", "nonzeros", "measured", NULL};
name_list trace_names = {"random", "exact", "sites", "given", NULL};
name_list damping_names = {"jackson", "lorentz", "fejer", "dirichlet", NULL};
name_list function_names = {"log", "inverse", "sqrt", "inverse-sqrt", "exp", "power", "fermi", "gauss", NULL};
name_list direction_names = {"xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz", NULL};
name_list sigma_formula_names = {"bastin", "greenwood", NULL};
name_list kpm_variant_names = {"blocked", "fused", "naive", NULL};
name_list bounds_names = {"lanczos", "gershgorin", "given", NULL};
name_list solve_method_names = {"default", "cg", "bicgstab", "gmres", "minres", "lsmr", "idr", NULL};
name_list solve_variant_names = {"default", "pipelined", "classical", "predict", "hidden", NULL};
name_list side_names = {"default", "right", "left", NULL};
name_list precond_names = {"none", "jacobi", "block-jacobi", "chebyshev", "neumann", "apply", "amg", "ilu", "ic", NULL};
name_list precond_choices = {"none", "jacobi", "block-jacobi", "chebyshev", "neumann", "amg", "ilu", "ic", NULL};
name_list eig_method_names = {"default", "chebfd", "lanczos", "krylov-schur", "dense", "invert", NULL};
name_list eig_question_names = {"smallest", "largest", "largest-real", "interval", "nearest", NULL};
