/* The table of all options. A row for each option and each set of commands that take it in one way. */
#include "names.h"
#include "options.h"

#define DENSITIES (CMD_DOS | CMD_LDOS | CMD_COUNT)
#define TRACES (CMD_THERMAL | CMD_TRACE)
#define KPM (DENSITIES | TRACES | CMD_GREEN | CMD_SPECTRAL)
#define VECTORS (CMD_POWER | CMD_APPLY | CMD_EVOLVE)
#define SYSTEMS (CMD_SOLVE | CMD_EIG | CMD_SVD)
#define PAIRS (CMD_EIG | CMD_SVD)
#define RESUMED (KPM | CMD_EVOLVE | SYSTEMS | CMD_MAP | CMD_SIGMA | CMD_APPLY)
#define WRITE (CMD_GEN | CMD_CONVERT)
#define RUNS (KPM | VECTORS | SYSTEMS | CMD_SIGMA | CMD_MAP)
#define MOMENTS (KPM | CMD_SIGMA | CMD_MAP)
#define ALL (~(unsigned)NEW_RUN)

/* After the help what few rows have: .letter, .group, .min, .max. */
#define VALUE(name_, arg_, parse_, commands_, field, ...)                                                       \
    {                                                                                                           \
        .name = name_, .arg = arg_, .parse = parse_, .commands = commands_, .offset = offsetof(options, field), \
        .help = __VA_ARGS__                                                                                     \
    }
#define FLAG(name, commands, field, ...) VALUE(name, NULL, parse_flag, commands, field, __VA_ARGS__)
#define FILENAME(name, commands, field, ...) VALUE(name, "FILE", parse_string, commands, field, __VA_ARGS__)
/* A whole number, or (_S) several, from `least` to `most`. */
#define COUNT(name, arg, commands, field, least, most, ...) \
    VALUE(name, arg, parse_count, commands, field, __VA_ARGS__, .min = least, .max = most)
#define COUNT_S(name, arg, commands, field, least, most, ...) \
    VALUE(name, arg, parse_list, commands, field, __VA_ARGS__, .min = least, .max = most)
/* A word of the list from number `first` to before number `end`, or to its end. */
#define CHOICE(name, commands, field, words, first, last, ...) \
    VALUE(name, NULL, parse_choice, commands, field, __VA_ARGS__, .choices = words, .min = first, .max = last)
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* A file that is written, with the endings of its name. */
#define WRITTEN(name, arg, commands, field, endings, ...) \
    VALUE(name, arg, parse_output, commands, field, __VA_ARGS__, .choices = endings)
#define OUTPUT(commands, endings, ...) WRITTEN("output", "FILE", commands, output, endings, __VA_ARGS__, .letter = 'o')
#define PICTURE(commands, help) WRITTEN("plot", "FILE.svg|.png|.pdf", commands, plot, WORDS("svg", "png", "pdf"), help)
#define BOUNDS(commands, help)                                                                                      \
    VALUE("bounds", "lanczos|gershgorin|A,B", parse_bounds, commands, bounds_method, help, .choices = bounds_names, \
          .max = WISP_BOUNDS_GIVEN)
#define FUNCTIONS(what)                                                                                       \
    what "; exp(S x), x to the power of P, Fermi's 1/(1 + exp((x - MU)/T)), Gauss's curve exp(-(x - E)^2/(2 " \
         "W^2))"
enum { END = 0 };

const option_def option_table[] = {
    COUNT("moments", "N", DENSITIES | CMD_SPECTRAL, moments, 2, 1 << 30,
          "number of Chebyshev moments (512); with --from at most those of the file", .group = "What is computed"),
    COUNT("moments", "N", CMD_MAP, moments, 2, WISP_CHEBYSHEV_TERMS,
          "number of Chebyshev moments (512); with --from at most those of the file"),
    VALUE("energies", "E,..", parse_energies, CMD_MAP, energies, "of the maps, one or more that rise (needed)",
          .max = 64),
    VALUE("temperatures", "A,B,..|A:B:N", parse_temperatures, CMD_THERMAL, temperatures,
          "in the unit of the matrix (needed); A:B:N: N of them from A to B, at equal ratios", .max = 10000),
    FLAG(
        "cool", NEW_RUN | CMD_THERMAL, cool,
        "temperatures too low for the moments are served by states that are cooled, exp(-H/2T)|r>, from as many random "
        "vectors; lower ones take more sweeps"),
    VALUE("function", "log|inverse|sqrt|inverse-sqrt|exp[:S]|power:P|fermi:MU,T|gauss:E,W", parse_function, CMD_TRACE,
          function, FUNCTIONS("whose trace is wanted (needed)"), .choices = function_names),
    VALUE("function", "log|inverse|sqrt|inverse-sqrt|exp[:S]|power:P|fermi:MU,T|gauss:E,W", parse_function, CMD_APPLY,
          function, FUNCTIONS("that is applied (needed, or --series)"), .choices = function_names),
    FILENAME("series", CMD_APPLY, series,
             "in place of --function: a text file with the coefficients c_0, c_1, .. of f(x) = sum of c_k T_k((x - "
             "center)/halfwidth) on --bounds"),
    CHOICE(
        "direction", NEW_RUN | CMD_SIGMA, direction, direction_names, 0, END,
        "the component: xy is the current along x in a field along y. Velocities are i [H, x] by the positions of the "
        "rows, which lattices of the gallery know, or --positions has (needed, or --velocity-a)"),
    FILENAME("velocity-a", NEW_RUN | CMD_SIGMA, velocity_a,
             "the velocity i [H, x] along the current as a matrix of your own: Hermitian, or the real antisymmetric "
             "[H, x] of a real matrix"),
    FILENAME("velocity-b", NEW_RUN | CMD_SIGMA, velocity_b, "likewise along the field (that of --velocity-a)"),
    VALUE("path", "K:K:..", parse_path, NEW_RUN | CMD_SPECTRAL, path,
          "corners of the path, each x,y,z in radians over the unit of positions, as 0,0:2pi/3,0:pi,pi (needed, or "
          "--grid); one alone: that k"),
    VALUE(
        "grid", "N,M[:K:K:K]", parse_grid, NEW_RUN | CMD_SPECTRAL, grid,
        "in place of a path N x M points of k, at some --energies: over a cell of the reciprocal lattice around 0, or "
        "from the first corner K along a side to the second and along the other side to the third",
        .max = 1 << 20),
    COUNT("k-points", "N", NEW_RUN | CMD_SPECTRAL, k_points, 1, 1 << 20,
          "number of k along the path, about (61); in periodic samples those that fit, each once"),
    COUNT("orbitals", "N", NEW_RUN | CMD_SPECTRAL, orbitals, 1, 4096,
          "rows of a cell: row r is orbital r modulo N (what the gallery knows, else 1)"),
    COUNT("average", "N",
          NEW_RUN | CMD_SPECTRAL | CMD_DOS | CMD_LDOS | CMD_COUNT | CMD_THERMAL | CMD_SIGMA | CMD_MAP | CMD_GREEN |
              CMD_TRACE,
          average, 2, 1 << 20,
          "the mean of N realizations of the disorder, of this seed= and the next ones, with bars over them"),
    FILENAME("positions", NEW_RUN | CMD_SIGMA | CMD_DOS | CMD_LDOS | CMD_SPECTRAL | CMD_EVOLVE | CMD_MAP, positions,
             "a text file that tells where the rows are: a line for each, with x, or x y, or x y z (what the gallery "
             "knows)"),
    VALUE("cell", "X,Y,Z:X,Y,Z:..", parse_cell, NEW_RUN | CMD_SIGMA | CMD_SPECTRAL, cell,
          "with --positions: vectors by which the sample repeats, as many as it is periodic along (open)"),
    VALUE("peierls", "B", parse_number, NEW_RUN | CMD_SIGMA, peierls,
          "put the matrix into a magnetic field along z, by Peierls' phases: flux quanta for each unit of area of the "
          "positions"),
    COUNT("moments", "N", CMD_SIGMA, moments, 2, 32768,
          "number of Chebyshev polynomials on each side, N x N moments (128); with --from at most those of the file"),
    VALUE("eta", "E", parse_positive, CMD_GREEN, eta,
          "half width at half height of a level, in the matrix's units (needed)"),
    COUNT("moments", "N", NEW_RUN | CMD_GREEN | TRACES, moments, 2, 1 << 30,
          "number of Chebyshev moments (as many as the tolerance takes)"),
    VALUE("tolerance", "T", parse_positive, CMD_THERMAL, tolerance,
          "how large the error of ln Z, E/T, C and S may be, apart from the scatter of random vectors; may be written "
          "--tol (1e-6; in single precision 1e-2)"),
    VALUE("tolerance", "T", parse_positive, CMD_TRACE, tolerance,
          "how large the error may be, apart from the scatter of random vectors: this times the rows and the largest "
          "|f| on the bounds; may be written --tol (1e-10; in single precision 1e-4)"),
    VALUE(
        "tolerance", "T", parse_positive, CMD_APPLY, tolerance,
        "how large the error of y may be, times |x| and the largest |f| on the bounds; may be written --tol (1e-10; in "
        "single precision 1e-4)"),
    VALUE("tolerance", "T", parse_positive, CMD_GREEN, tolerance,
          "how large the error of G may be, times eta; may be written --tol (1e-10; in single precision 1e-4)"),
    VALUE("resolution", "E", parse_positive, DENSITIES | CMD_SPECTRAL | CMD_MAP, resolution,
          "take as many moments as this resolution needs: standard deviation of the Jackson kernel, in the matrix's "
          "units"),
    COUNT("vectors", "R", NEW_RUN | CMD_DOS | CMD_COUNT | TRACES | CMD_MAP, vectors, 1, 1 << 30,
          "number of random vectors (32)"),
    COUNT("vectors", "R", NEW_RUN | CMD_SIGMA, vectors, 1, 1 << 30, "number of random vectors (4)"),
    COUNT("first-vector", "N", NEW_RUN | CMD_DOS | CMD_COUNT | TRACES | CMD_SIGMA, first_vector, 0, UINT32_MAX,
          "number of the first one (0): runs with other numbers of one --seed add up by --from"),
    CHOICE("trace", NEW_RUN | CMD_MAP, trace, trace_names, 0, 2,
           "random vectors, or a unit vector for each row (for few rows)"),
    CHOICE("trace", NEW_RUN | CMD_DOS | CMD_COUNT | TRACES | CMD_SIGMA, trace, trace_names, 0, 2,
           "random vectors, or every unit vector (for small matrices)"),
    COUNT("powers", "N", CMD_POWER, powers, 1, 1 << 20, "how many powers: v_k = (S A)^k v_0 for k up to N (needed)",
          .letter = 'p'),
    VALUE("scale", "S", parse_positive, CMD_POWER, scale, "factor of the matrix in each step (1)"),
    VALUE("time", "T", parse_number, CMD_EVOLVE, time,
          "until when, in 1/unit of the matrix, from 0 or from the time of --from; below 0: back in time (needed)"),
    FLAG(
        "imaginary", CMD_EVOLVE, imaginary,
        "times are imaginary: exp(-H t), which cools to the ground state; states have norm 1, and the logarithm of the "
        "norm that they would have is told"),
    VALUE("angle", "A", parse_number, CMD_EVOLVE, angle,
          "times are t exp(-i A), A in degrees: 0 is real time (0), 90 --imaginary"),
    VALUE(
        "absorb", "x<A:W,..|FILE", parse_once, CMD_EVOLVE, absorb,
        "evolve under H - iW with an absorbing potential: layers, in which W grows like the square of the depth, to W "
        "at the deepest row; or one number for each row, in a file (.mtx, .mtx.gz, .crs, .h5)"),
    FLAG(
        "non-hermitian", CMD_EVOLVE, non_hermitian,
        "MATRIX need not be Hermitian: the norm goes as it does, and what is left of it is told (--absorb implies it)"),
    COUNT("steps", "M", CMD_EVOLVE, steps, 1, 1000000, "times at which results are wanted, evenly spaced (100)"),
    VALUE("site", "I,J,..", parse_sites, CMD_EVOLVE, sites, "start on this row, on several with equal amplitudes",
          .max = 1000000),
    FLAG("random", CMD_EVOLVE, random, "start from a random vector"),
    VALUE("from", "FILE.h5", parse_from, CMD_EVOLVE, from,
          "go on from the last state in a file of --states, at its time, with its matrix"),
    FILENAME("start", VECTORS, start, "start from the vector in a file (.mtx, .mtx.gz, .crs, .npz, .h5)"),
    VALUE("operator", "MATRIX", parse_operator, CMD_EVOLVE, operator_list,
          "tell <psi|B|psi> of this matrix B at each time, and how far that may be off; can be given several times"),
    VALUE("operator", "MATRIX", parse_operator, NEW_RUN | CMD_DOS, operator_list,
          "the density tr B delta(E - H) of this matrix B, a file or one of the gallery, in place of tr delta(E - H)"),
    VALUE("where", "x<A,..|I,J-K,..|FILE", parse_once, NEW_RUN | CMD_DOS | CMD_LDOS | CMD_SPECTRAL | CMD_MAP, where,
          "the density of states on these rows alone (ldos, map: on each of them; spectral: of waves on them): by "
          "conditions on x, y and z, which "
          "must all hold, with <, <=, > or >=; or by their numbers, here or in a file"),
    VALUE("drive", "MATRIX:F", parse_drive, CMD_EVOLVE, drive_list,
          "evolve under H(t), with F(t) times this matrix added: F is an expression of t, such as "
          "0.1*cos(2*t)*exp(-t^2), or a table of times and values (.txt, .dat, .csv); can be given several times"),
    VALUE("longest-step", "T", parse_positive, CMD_EVOLVE, longest_step,
          "with --drive: no step is longer than this time, so that pulses of F of a 64th of it are seen"),
    FLAG("smooth", CMD_EVOLVE, smooth,
         "with --drive: follow tables along cubic splines, in fewer steps, and not along straight lines"),
    FLAG("energy", CMD_EVOLVE, energy, "tell <psi|H|psi> at each time"),
    VALUE("watch", "I,J,..", parse_watch, CMD_EVOLVE, watch,
          "rows whose density |psi_i|^2 is wanted (with --site: these)", .max = 10000),
    VALUE("tolerance", "E", parse_positive, CMD_EVOLVE, tolerance,
          "of the norm of the error; may be written --tol (1e-10; in single precision 1e-4)"),
    VALUE("rhs", "FILE|ones|random[:SEED[xK]]", parse_rhs, CMD_SOLVE, rhs,
          "right-hand sides: the columns of a file (.mtx, .mtx.gz, .crs, .npz, .h5), a column of ones (default), or K "
          "random "
          "ones",
          .min = 1, .max = 4096),
    FILENAME("x0", CMD_SOLVE, x0, "begin with the x of a file, such as -o has written (0)"),
    VALUE("null", "constant|FILE", parse_string, CMD_SOLVE, null,
          "the matrix is singular, and makes 0 of a constant vector, or of the columns of a file: x and the right-hand "
          "side are taken without their parts there"),
    CHOICE(
        "method", CMD_SOLVE | CMD_BENCH, method, solve_method_names, 1, END,
        "cg: Hermitian positive definite matrices; minres: Hermitian ones; bicgstab, gmres, idr: any; lsmr: of any "
        "shape, x makes |b - A x| least (cg if the matrix is Hermitian, lsmr if it is not square, else gmres; bench: "
        "cg)"),
    CHOICE("variant", CMD_SOLVE, solve_variant, solve_variant_names, 1, END,
           "of the method: updates and dots in few passes; one after the other; or (cg without --precond) with the "
           "next residual's norm predicted and then computed; or (cg) with sums of processes beside the product "
           "(predict for cg without --precond, else pipelined)"),
    VALUE("precond", "none|jacobi|block-jacobi[:ROWS]|chebyshev[:DEGREE]|neumann[:DEGREE]|amg|ilu|ic", parse_precond,
          CMD_SOLVE, precond,
          "preconditioner (none): the diagonal; blocks of ROWS rows on it (4); polynomials of the matrix of this "
          "degree (4); multigrid by HYPRE; incomplete factors with the pattern of the matrix, ic of a Hermitian one",
          .choices = precond_choices),
    CHOICE("side", CMD_SOLVE, side, side_names, 1, END,
           "of the matrix, on which --precond of gmres, bicgstab and idr stands (right): on the left what gmres makes "
           "least is |M^-1 (b - A x)|; what has converged is told by |b - A x| in both cases"),
    BOUNDS(CMD_SOLVE,
           "how the interval of the spectrum of a Hermitian matrix is found (lanczos), or the interval itself; "
           "for --precond chebyshev and neumann"),
    VALUE("tolerance", "T", parse_positive, CMD_SOLVE, tolerance,
          "|b - A x| / |b| of each column, to be reached; may be written --tol (1e-8; in single precision 1e-4)"),
    VALUE("tol-abs", "T", parse_positive, CMD_SOLVE, tolerance_abs,
          "|b - A x| of each column, to be reached in place of --tolerance; if both are given, one of them"),
    VALUE("damp", "D", parse_positive, CMD_SOLVE, damp,
          "lsmr: x makes |b - A x|^2 + D^2 |x|^2 least, for systems whose x hangs too much on small changes of b (0)"),
    COUNT("maxit", "N", CMD_SOLVE, max_iterations, 1, INT64_C(1) << 40,
          "at most so many iterations; bicgstab takes two products in each (10000, or 10 times the rows if that is "
          "less, and at least 100)"),
    COUNT("restart", "M", CMD_SOLVE | CMD_BENCH, restart, 1, 500,
          "gmres: iterations after which it begins anew, 1 to 500 (30)"),
    COUNT("shadow", "S", CMD_SOLVE, shadow, 1, 64,
          "idr: its shadow vectors, 1 to 64: more take fewer products, and 3 vectors each (4)"),
    VALUE("interval", "A,B", parse_pair, CMD_EIG, interval, "all eigenvalues from A to B"),
    VALUE("interval", "A,B", parse_pair, CMD_SVD, interval, "all singular values from A to B, A > 0"),
    COUNT("smallest", "K", CMD_SVD, count, 1, INT32_MAX,
          "the K smallest ones of the min(rows, columns) singular values"),
    COUNT("largest", "K", CMD_SVD, count, 1, INT32_MAX, "the K largest ones"),
    VALUE("target", "X", parse_complex, CMD_EIG, target,
          "the K eigenvalues nearest to X, with -n K; of a matrix that is not Hermitian also to a complex one, RE,IM"),
    COUNT("count", "K", CMD_EIG, count, 1, INT32_MAX, "how many, for --target (1)", .letter = 'n'),
    COUNT("smallest", "K", CMD_EIG, count, 1, INT32_MAX,
          "the K smallest ones; by absolute value, if the matrix is not Hermitian"),
    COUNT("largest", "K", CMD_EIG, count, 1, INT32_MAX, "the K largest ones, likewise"),
    COUNT("largest-real", "K", CMD_EIG, count, 1, INT32_MAX, "the K ones of largest real part"),
    FLAG(
        "any", CMD_EIG, any,
        "no more than K, though others may be equal to the last one (without it all that are equal to that are given)"),
    CHOICE("method", CMD_EIG, method, eig_method_names, 1, END,
           "chebfd: Chebyshev filters, for --interval and --target; lanczos: block Lanczos, for the others; both take "
           "Hermitian matrices; krylov-schur: for the others, any matrix; dense: all by LAPACK, for small matrices, "
           "Hermitian ones with --interval; invert: --target by factors of A - X (MUMPS), any matrix, in one process, "
           "also with --overlap "
           "(dense up to 3000 rows where it takes less, else the first of "
           "these that fits; --target in a matrix that is not Hermitian: dense up to 3000 rows, else invert)"),
    CHOICE(
        "method", CMD_SVD, method, eig_method_names, 1, END,
        "by which eigenvalues of [[0, A], [A^H, 0]] are found. chebfd: Chebyshev filters, for --interval and "
        "--smallest; lanczos: block Lanczos, for --largest, and for --smallest of A^H A; dense: all by LAPACK, for "
        "small matrices; invert: "
        "--smallest by factors (MUMPS), in one process; krylov-schur is for eigenvalues alone (dense up to 3000 rows "
        "and columns together where it takes less, else the first of these that fits, and another one where it does "
        "not prove its answer)"),
    BOUNDS(CMD_EIG,
           "how the interval of the spectrum of a Hermitian matrix is found (lanczos), or the interval itself"),
    VALUE("tolerance", "T", parse_positive, CMD_EIG, tolerance,
          "of |A v - lambda v| over the spectrum's halfwidth; if the matrix is not Hermitian, over the largest of "
          "|lambda|, |A| T and 16 eps |A| / T, eps the rounding unit; may be written --tol (1e-8; in single precision "
          "1e-4)"),
    VALUE("tol-abs", "T", parse_positive, CMD_EIG, tolerance_abs,
          "of |A v - lambda v| itself, in place of --tolerance"),
    VALUE("tolerance", "T", parse_positive, CMD_SVD, tolerance,
          "of |A v - s u| and |A^H u - s v| over the largest singular value; may be written --tol (1e-8; in single "
          "precision 1e-4)"),
    VALUE("tol-abs", "T", parse_positive, CMD_SVD, tolerance_abs,
          "of |A v - s u| and |A^H u - s v| themselves, in place of --tolerance"),
    COUNT("search", "N", PAIRS, search, 1, INT32_MAX, "columns of the search space (chosen)"),
    CHOICE("filter-precision", NEW_RUN | PAIRS, filter_precision, precision_names, 0, END,
           "of the filter's products; single: half as many bytes, and the same digits (auto: the faster)"),
    COUNT("maxit", "N", PAIRS, max_iterations, 1, INT64_C(1) << 40,
          "at most so many rounds of filtering (30) or restarts (10000)"),
    VALUE("overlap", "MATRIX", parse_string, NEW_RUN | CMD_EIG | CMD_DOS | CMD_COUNT, overlap,
          "the pairs, or states, of A x = lambda S x, S this matrix, Hermitian and positive definite: a basis that is "
          "not "
          "orthogonal"),
    VALUE("overlap-bounds", "A,B", parse_window, NEW_RUN | CMD_EIG | CMD_DOS | CMD_COUNT, overlap_bounds,
          "between which S has its eigenvalues, above 0 (found)"),
    FILENAME("vectors-in", CMD_EIG, vectors_in,
             "begin with the vectors of a file, such as --vectors-out has written (random ones)"),
    VALUE("sites", "I,J,..", parse_sites, CMD_LDOS | CMD_GREEN, sites,
          "rows (from 0) whose local density of states, or Green's function, is wanted; ranges such as 3-7 count too; "
          "with --from a choice "
          "of its rows",
          .max = 1000000),
    FILENAME("start", NEW_RUN | CMD_LDOS | CMD_GREEN, start,
             "vectors in place of --sites: each column |a> of a file (.mtx, .mtx.gz, .crs, .npz, .h5) gives "
             "<a|delta(E - H)|a>, or <a|G|a>; nothing is normalised"),
    FILENAME("left", NEW_RUN | CMD_LDOS | CMD_GREEN, left,
             "the columns of a file as vectors <b| on the left, conjugated: <b|delta(E - H)|a>, or <b|G|a>; as many as "
             "there "
             "are |a>, or a single one on either side, for all on the other"),
    VALUE("left-sites", "J,K,..", parse_left_sites, NEW_RUN | CMD_LDOS | CMD_GREEN, left_sites,
          "rows in place of --left: with --sites I the result is G_JI(E + i eta)", .max = 4096),
    VALUE("seed", "S", parse_seed, NEW_RUN | CMD_DOS | CMD_COUNT | TRACES | CMD_SIGMA | CMD_EVOLVE | PAIRS | CMD_MAP,
          seed, "seed of the random vectors and of the Lanczos starts (0)"),
    VALUE("seed", "S", parse_seed, NEW_RUN | CMD_LDOS | CMD_GREEN | CMD_SPECTRAL, seed,
          "seed of the Lanczos starts, by which bounds are found (0)"),
    VALUE("seed", "S", parse_seed, CMD_POWER, seed, "seed of the random vectors (0)"),
    VALUE("seed", "S", parse_seed, CMD_APPLY, seed, "seed of the random vectors and of the Lanczos starts (0)"),
    BOUNDS(NEW_RUN | MOMENTS | CMD_APPLY | CMD_EVOLVE,
           "how the interval of the spectrum is found (lanczos), or the interval itself. Eigenvalues outside stop the "
           "run; but with few moments one just outside may go unnoticed"),
    FLAG("adjoint", CMD_CONVERT, adjoint, "write the adjoint A^H: the transposed matrix with conjugate numbers"),
    FLAG("hermitian-part", NEW_RUN | MOMENTS | CMD_APPLY | CMD_EVOLVE | CMD_EIG, hermitian_part,
         "take (A + A^H)/2 of a matrix A that is Hermitian up to rounding, and tell by how much that changes it"),
    VALUE("kernel", "jackson|lorentz[:L]|fejer|dirichlet", parse_kernel, DENSITIES | CMD_SPECTRAL | CMD_SIGMA, kernel,
          "damping of the moments (jackson); L is lambda (4)", .choices = damping_names,
          .group = "How it is evaluated"),
    VALUE("kernel", "jackson|lorentz[:L]|fejer|dirichlet", parse_kernel, CMD_MAP, kernel,
          "damping of the moments (jackson); L is lambda (4); of random vectors jackson or fejer",
          .choices = damping_names, .group = "How it is evaluated"),
    VALUE("interval", "A,B", parse_pair, CMD_DOS | CMD_LDOS | CMD_GREEN | CMD_SPECTRAL, interval,
          "energy window of the output, on a uniform grid that includes both ends (all energies)"),
    VALUE("interval", "A,B", parse_window, CMD_COUNT, interval,
          "where eigenvalues are counted; A must be below B; -inf,B and A,inf have one end"),
    VALUE("points", "P", parse_points, CMD_DOS | CMD_LDOS | CMD_GREEN | CMD_SPECTRAL, points,
          "number of energies (twice the moments, at least 1024)", .min = 2, .max = 1 << 30),
    VALUE("mu", "A,B,..|A:B:N", parse_potentials, CMD_SIGMA, mu,
          "chemical potentials; A:B:N: N of them from A to B, at equal steps (201 on all of the bounds)",
          .max = 1 << 20),
    VALUE("optical", "A,B,..|A:B:N", parse_frequencies, CMD_SIGMA, optical,
          "the optical conductivity, what absorbs light, at these frequencies above 0 (hbar = 1, in the unit of the "
          "matrix), at one chemical potential, that of --mu (0)",
          .max = 1 << 20),
    VALUE("temperature", "T", parse_number, CMD_SIGMA, temperature, "in the unit of the matrix, k_B = 1 (0)"),
    CHOICE("formula", CMD_SIGMA, formula, sigma_formula_names, 0, END,
           "Kubo-Bastin, for any component, or Kubo-Greenwood, for xx, yy and zz alone (bastin)"),
    VALUE("volume", "V", parse_positive, CMD_SIGMA, volume,
          "area of the sample, or its volume in three dimensions, by which the conductivity is divided, in the unit of "
          "the positions (what the gallery or --cell tells, else 1)"),
    COUNT("points", "P", CMD_SIGMA, points, 2, 1 << 26, "of the integral over energies (8 times the moments)"),
    VALUE("energies", "E,..", parse_energies, CMD_DOS | CMD_LDOS | CMD_GREEN | CMD_SPECTRAL, energies,
          "the energies themselves, one or more that rise, in place of --interval and --points", .max = 1 << 20),
    VALUE("per", "rows|X", parse_per, CMD_DOS, per,
          "divide the density by the number of rows, or by X: a number of sites or cells, a volume (1)"),
    VALUE("from", "FILE.h5", parse_from, MOMENTS, from,
          "evaluate the moments of an earlier --save, without MATRIX. Give it several times to combine runs with other "
          "random vectors (--seed, --first-vector). With MATRIX, that run goes on to more --moments or --vectors"),
    CHOICE("variant", NEW_RUN | KPM, variant, kpm_variant_names, 0, END,
           "the same moments in three ways (blocked is fastest)", .group = "How it is run"),
    COUNT("width", "W", NEW_RUN | KPM, width, 1, 4096,
          "vectors that are worked on side by side (default: by a model of time)"),
    COUNT("width", "W", NEW_RUN | CMD_SIGMA, width, 1, 4096, "vectors that are multiplied side by side (16)"),
    VALUE("left-bytes", "BYTES", parse_bytes, NEW_RUN | CMD_SIGMA, left_bytes,
          "memory for the vectors of one side, of each process: where all fit, the others are made once (1 GiB)"),
    COUNT("width", "W", NEW_RUN | CMD_MAP, width, 1, 4096,
          "vectors that are worked on side by side, each with one more for each energy (4)"),
    COUNT("width", "W", NEW_RUN | CMD_POWER | CMD_APPLY, width, 1, 4096, "vectors that are worked on side by side (1)"),
    COUNT(
        "ranks", "N", CMD_INFO, ranks, 2, 1024,
        "how the matrix would lie on so many processes, and what they would send each other; it is not made for that"),
    COUNT("width", "W", CMD_INFO, width, 1, 4096, "with --ranks: vectors that are worked on side by side (1)"),
    COUNT("depth", "N", NEW_RUN | KPM | CMD_APPLY | CMD_EVOLVE, depth, 1, 1 << 20,
          "the number of steps that are interleaved, so that rows are met again in cache (what is found best)"),
    VALUE("cache-budget", "BYTES|P%", parse_budgets, NEW_RUN | KPM | VECTORS, budgets,
          "what interleaved steps may count on of the last cache (what wisp machine measured, else 60%)", .max = 1),
    CHOICE("precision", NEW_RUN | DENSITIES | CMD_SIGMA, precision, precision_names, 0, END,
           "of matrix and vectors (that of the matrix); auto: single where its rounding is far below the error bars"),
    CHOICE("precision", NEW_RUN | CMD_GREEN | CMD_SPECTRAL | TRACES | VECTORS | SYSTEMS | CMD_INFO | CMD_MAP, precision,
           precision_names, 0, 2, "of matrix and vectors (that of the matrix)"),
    CHOICE("reduce", NEW_RUN | KPM, reduce, WORDS("end", "step"), 0, END,
           "one global reduction at the end, or one each step"),
    CHOICE("halo", NEW_RUN | MOMENTS | CMD_APPLY | SYSTEMS, halo, halo_names, 0, END,
           "when processes exchange rows that they need of each other: before they multiply; while they do; so, by a "
           "thread of its own; neighbour by neighbour; some columns at a time; never, for measurements: results are "
           "wrong (auto: the fastest, by trial)"),
    COUNT("threads", "T", ALL & ~(unsigned)CMD_BENCH, threads, 1, 4096, "threads (OMP_NUM_THREADS, else all cores)"),
    COUNT_S("threads", "T,T,..", CMD_BENCH, thread_counts, 1, 4096,
            "numbers of threads, with rows of their own (OMP_NUM_THREADS, else all cores)"),
    VALUE("weights", "N,N,..|rows|nonzeros|measured", parse_weights, NEW_RUN | MOMENTS | CMD_APPLY | SYSTEMS, weights,
          "shares of the rows of several processes, one number for each; or as many rows each, or nonzeros; or by the "
          "rate of each process, measured for a moment (rows)",
          .choices = weights_names, .min = 1),
    CHOICE("partition", NEW_RUN | CMD_DOS | CMD_COUNT | TRACES | CMD_INFO, partition, partition_names, 0, END,
           "which rows several processes have: as they come, or partitioned by levels of the graph, or by "
           "PT-SCOTCH, so that they send less (rows)"),
    VALUE("device", "NAME[:NUMBER],..", parse_device, NEW_RUN | RUNS | CMD_MACHINE | CMD_BENCH, device,
          "where it runs, or what is measured: cuda, opencl, or another device that wisp machine lists (WISP_DEVICE, "
          "else cpu)"),
    CHOICE("order", NEW_RUN | RUNS | CMD_INFO, order, order_names, 0, ORDERS,
           "of the rows in memory: as they come, reverse Cuthill-McKee, or in tiles that stay in cache (what a model "
           "finds best)"),
    CHOICE("order", CMD_BENCH, order, order_names, 0, END,
           "of the rows in memory (what the library chooses); all: a row for each"),
    CHOICE("format", NEW_RUN | RUNS | CMD_INFO, format, format_names, 0, FORMATS,
           "of the stored matrix: as it is, compressed without loss, or one half of it (compressed where that pays)"),
    CHOICE("format", CMD_BENCH, format, format_names, 0, END,
           "of the stored matrix (what the library chooses); all: a row for each that it can have"),
    COUNT_S("widths", "W,W,..", CMD_BENCH, widths, 1, 4096,
            "block widths, one row each (spmv, solve: 1; tsm: 4,8,16,32; eig: by a model of time; else 1,4,8,16,32)"),
    COUNT_S("columns", "K,K,..", CMD_BENCH, columns, 1, 4096, "eig: of the search space, one row each (64,200)"),
    VALUE("types", "s,d,c,z", parse_types, CMD_BENCH, types,
          "of the blocks: single, double, complex single, complex double (that of the matrix; tsm: d,z)"),
    COUNT_S("powers", "P,P,..", CMD_BENCH, powers_list, 1, 256,
            "mpk: steps of a call, one row each; 1: one sweep after the other (1,2,4,8,16)"),
    COUNT("depth", "N", CMD_BENCH, depth, 0, 256,
          "mpk: the number of steps that are interleaved, at most all of a call (as the library chooses: 0)"),
    VALUE("cache-budget", "B,B,..", parse_budgets, CMD_BENCH, budgets,
          "mpk: bytes or P% of the last cache on which interleaved steps may count, one row each (what is measured "
          "first)",
          .max = LIST - 1),
    COUNT("rows", "N", CMD_BENCH, rows, 1, INT32_MAX, "tsm: rows of the blocks (4000000, complex: 2000000)"),
    VALUE("variant", "VARIANT", parse_choice, CMD_BENCH, bench_variant,
          "spmv, spmmv: blocked alone; kpm: blocked, naive (separate vector operations), reference (a plain fused CRS "
          "kernel); mpk: chebyshev (with dots, two blocks), powers (all kept); tsm: gram, gram_kahan, update, "
          "update_beta, update_in_place, dot, dot_kahan, and by the BLAS (in a process of its own) gram_blas, "
          "update_blas, update_beta_blas; solve: predict (cg), pipelined, classical; eig: squares, steps (products of "
          "the filter), qr, ritz (blocked; mpk: chebyshev; tsm: the first five; solve, eig: all)",
          .choices = bench_variant_names, .max = BENCH_CHOICES),
    VALUE("against", "VARIANT|order=O|format=F|plain|single", parse_against, CMD_BENCH, against,
          "alternate with this variant, or with the same one in another order or format or (mpk) by plain sweeps or "
          "(solve) with its columns one by one, and give the ratio of the times: how many times faster the row is"),
    COUNT("repeats", "N", CMD_BENCH, repeats, 7, 10000, "repetitions of each row (9)"),
    FLAG("measure", CMD_MACHINE, measure, "measure anew, even if an earlier result is kept"),
    VALUE("watchdog", "off|SECONDS", parse_watchdog, MOMENTS | CMD_APPLY | SYSTEMS, watchdog,
          "several processes: after so many seconds without a sign of one, or with one stopped alone, all are ended "
          "(30)"),
    FILENAME("like", NEW_RUN | (RUNS & ~(unsigned)CMD_MAP), like,
             "choose what another run has chosen, so that this one has the same bits: results of the same command, by "
             "--json or in a .json file of -o; what is given beside it is taken instead"),
    FLAG("plan", NEW_RUN | RUNS, plan, "print the memory and the time that the run would take"),
    VALUE("mem-limit", "BYTES", parse_bytes, ALL, mem_limit,
          "limit the library's arrays to this; the machine's own memory is then not looked at; 8G and 8GiB are 8 times "
          "1024^3, 8GB is 8 times 10^9"),
    VALUE("device-mem-limit", "BYTES", parse_bytes, NEW_RUN | RUNS | CMD_BENCH, device_mem_limit,
          "of a device's own memory to hold no more than this, in place of what it has"),
    FILENAME("checkpoint", NEW_RUN | RESUMED, checkpoint,
             "write the state of the run to FILE again and again, beside the computation, so that it can go on after "
             "its end; removed when the results are there",
             .group = "Runs that survive"),
    VALUE("every", "SECONDS", parse_positive, NEW_RUN | RESUMED, every,
          "from one checkpoint to the next (600); SIGUSR1 has one written at once, SIGTERM, SIGHUP and Ctrl-C too, "
          "before they end the run"),
    FILENAME("resume", NEW_RUN | RESUMED, resume, "go on from a checkpoint: the same command as before, and this"),
    OUTPUT(MOMENTS | CMD_EVOLVE, WORDS("csv", "json", "h5"), "the results: .csv, .json or .h5", .group = "Output"),
    OUTPUT(CMD_POWER, WORDS("mtx", "mtx.gz"), "the last power, as the columns of a dense .mtx or .mtx.gz"),
    OUTPUT(CMD_APPLY, WORDS("mtx", "mtx.gz", "h5"),
           "y, as the columns of a dense .mtx or .mtx.gz, or .h5 with all that --json has"),
    OUTPUT(CMD_SOLVE, WORDS("mtx", "mtx.gz", "h5"),
           "x, as the columns of a dense .mtx or .mtx.gz, or .h5 with all that --json has"),
    FILENAME("output", CMD_GEN, output, "where to write it: .mtx, .mtx.gz or .crs", .letter = 'o'),
    OUTPUT(CMD_BENCH, WORDS("json"), "the results as JSON"),
    WRITTEN("vectors-out", "FILE", CMD_EIG, vectors_out, WORDS("mtx", "mtx.gz", "h5"),
            "the vectors, as the columns of a dense .mtx or .mtx.gz, or .h5 with all that --json has", .letter = 'o'),
    WRITTEN("left-out", "FILE", CMD_SVD, left_out, WORDS("mtx", "mtx.gz", "h5"),
            "the left singular vectors u, as the columns of a dense .mtx or .mtx.gz, or .h5 with all that --json has"),
    WRITTEN("right-out", "FILE", CMD_SVD, right_out, WORDS("mtx", "mtx.gz", "h5"), "likewise the right ones, v"),
    WRITTEN("states", "FILE", CMD_EVOLVE, states, WORDS("h5", "mtx"),
            "the states at all times, each as it comes: .h5, for --from, or the columns of a dense .mtx"),
    WRITTEN("save", "FILE.h5", NEW_RUN | MOMENTS, save, WORDS("h5"),
            "keep the moments, one set per vector, for --from"),
    PICTURE(CMD_SPECTRAL,
            "draw A(k, E) over the path and energy, or over the grid at each energy, as colours (gnuplot)"),
    PICTURE(DENSITIES | CMD_GREEN, "draw the density of states with its error band, or -Im G/pi (gnuplot)"),
    PICTURE(CMD_THERMAL, "draw heat capacity and entropy over temperature with their error bands (gnuplot)"),
    PICTURE(CMD_SIGMA,
            "draw the conductivity over the chemical potential, or frequency, with its error band (gnuplot)"),
    PICTURE(CMD_MAP, "draw the map of each energy, as colours (gnuplot)"),
    PICTURE(CMD_EVOLVE, "draw the densities of the rows over time (gnuplot)"),
    PICTURE(CMD_SOLVE, "draw the residual over the iterations (gnuplot)"),
    PICTURE(CMD_EIG, "draw the density of states, the filter and the eigenvalues that were found (gnuplot)"),
    PICTURE(CMD_BENCH, "draw the roofline, and rates over widths, powers, budgets or matrices (gnuplot)"),
    CHOICE("symmetry", WRITE, symmetry, WORDS("general", "symmetric", "hermitian", "skew"), 0, END,
           ".mtx: store one half of a matrix that has this symmetry"),
    FLAG("all", CMD_POWER, all, "keep and write all powers, not the last one alone"),
    FLAG("array", WRITE, array, ".mtx: dense, all entries in column order"),
    FLAG("pattern", WRITE, pattern, ".mtx: positions without values"),
    CHOICE("velocity", WRITE, velocity, WORDS("x", "y", "z"), 0, END,
           "write the velocity i [H, x] along this direction in place of the matrix"),
    VALUE("peierls", "B", parse_number, WRITE, peierls,
          "put the matrix into a magnetic field along z, by Peierls' phases: flux quanta for each unit of area of the "
          "positions"),
    FILENAME("positions", WRITE, positions,
             "a text file that tells where the rows are: a line for each, with x, or x y, or x y z (what the gallery "
             "knows)"),
    VALUE("cell", "X,Y,Z:X,Y,Z:..", parse_cell, WRITE, cell,
          "with --positions: vectors by which the sample repeats, as many as it is periodic along (open)"),
    VALUE("positions-out", "FILE", parse_string, CMD_GEN, positions_out,
          "write where the rows are: a text file with a line for each, x y z"),
    FLAG("list", CMD_GEN, list, "list the gallery with all keys and their defaults"),
    FLAG("json", RUNS | CMD_INFO | CMD_MACHINE | CMD_BENCH, json,
         "one JSON object on the standard output, nothing else"),
    CHOICE("log", ALL, log, WORDS("text", "json"), 0, END,
           "progress and messages on the standard error, also when it is no terminal, as text or as one JSON object a "
           "line"),
    FLAG("quiet", ALL, quiet, "no summary, no progress bar"),
    FLAG("help", ALL, help, "this text", .letter = 'h'),
};
const int option_rows = sizeof option_table / sizeof option_table[0];
_Static_assert(sizeof option_table / sizeof option_table[0] <= OPTIONS, "options.seen has one for each row");
