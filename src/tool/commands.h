/* The subcommands, a row each, for whoever defines COMMAND and includes this (so it has no guard):
   COMMAND(its bit in the table of options, the function that runs it, by how many processes it may run,
           its name, what stands after "wisp NAME" (a line each), the names of its arguments,
           how many of them must be there, and may, one line for `wisp --help`, more for `wisp NAME --help`) */
#define A_MATRIX "MATRIX is a file (.mtx, .mtx.gz, .crs, .npz) or names one of the gallery"
#define A_HERMITIAN                                                                    \
    "MATRIX is a file (.mtx, .mtx.gz, .crs, .npz) or names one of the gallery, such\n" \
    "as topi:nx=20,ny=20,nz=10 (wisp gen --list shows them all). It must be Hermitian."

COMMAND(CMD_DOS, cmd_dos, RANKS_ANY, "dos", "MATRIX [options]\n--from FILE.h5 [options]", "MATRIX", 0, 1,
        "density of states",
        "The density of states by the kernel polynomial method: states per unit of energy,\n"
        "with error bars. " A_HERMITIAN)
COMMAND(CMD_LDOS, cmd_dos, RANKS_ANY, "ldos", "MATRIX --sites I,J,..|--start FILE [options]\n--from FILE.h5 [options]",
        "MATRIX", 0, 1, "local density of states at chosen rows, or of vectors",
        "The local density of states by the kernel polynomial method: <i|delta(E - H)|i> of chosen\n"
        "rows i, or <a|delta(E - H)|a> of the vectors of a file, or with others on the left.\n" A_HERMITIAN)
COMMAND(CMD_COUNT, cmd_dos, RANKS_ANY, "count",
        "MATRIX --interval A,B [options]\n--from FILE.h5 --interval A,B [options]", "MATRIX", 0, 1,
        "number of eigenvalues in an interval",
        "The number of eigenvalues in an interval, with its error, by the kernel polynomial\n"
        "method. " A_HERMITIAN)
COMMAND(CMD_GREEN, cmd_dos, RANKS_ANY, "green",
        "MATRIX --sites I,J,..|--start FILE --eta E [options]\n--from FILE.h5 --eta E [options]", "MATRIX", 0, 1,
        "Green's function at chosen rows, or between vectors",
        "The retarded Green's function G(E + i eta), G(z) = 1/(z - H): <i|G|i> of chosen rows i, or\n"
        "<a|G|a> of the vectors of a file, or with others on the left. The same Chebyshev moments\n"
        "serve all energies, without a kernel: each level is a Lorentzian of half width eta.\n" A_HERMITIAN)
COMMAND(CMD_SPECTRAL, cmd_dos, RANKS_ANY, "spectral",
        "MATRIX --path K:K:.. [options]\nMATRIX --grid N,M --energies E,.. [options]\n--from FILE.h5 [options]",
        "MATRIX", 0, 1, "spectral function A(k, E) along a path or over a grid of k",
        "The spectral function A(k, E) = sum over the orbitals of a cell of <k|delta(E - H)|k>, with\n"
        "plane waves |k> on the rows of each orbital, along a path or over a grid of k, by the kernel\n"
        "polynomial method: the bands of a lattice, its Fermi surface, also with disorder.\n" A_HERMITIAN)
COMMAND(CMD_THERMAL, cmd_dos, RANKS_ANY, "thermal",
        "MATRIX --temperatures A,B,.. [options]\n--from FILE.h5 --temperatures A,B,.. [options]", "MATRIX", 0, 1,
        "partition function, energy, heat capacity and entropy over temperature",
        "ln Z, energy, heat capacity and entropy of a system in a heat bath (k_B = 1), with error\n"
        "bars, from Chebyshev moments. Z is the trace of exp(-H/T).\n" A_HERMITIAN)
COMMAND(CMD_TRACE, cmd_dos, RANKS_ANY, "trace",
        "MATRIX --function log|inverse|.. [options]\n--from FILE.h5 --function log|inverse|.. [options]", "MATRIX", 0,
        1, "trace of a function of a matrix, such as log det",
        "The trace of a function of a matrix, with its error bar, from Chebyshev moments; that of\n"
        "the logarithm is log det.\n" A_HERMITIAN)
COMMAND(CMD_SIGMA, cmd_sigma, RANKS_ANY, "sigma",
        "MATRIX --direction xy [options]\nMATRIX --velocity-a FILE [--velocity-b FILE] [options]\n--from FILE.h5 "
        "[options]",
        "MATRIX", 0, 1, "conductivity, longitudinal, Hall or optical",
        "The conductivity sigma_ab (current along a, field along b) at any chemical potential and\n"
        "temperature by the Kubo formula, from Chebyshev moments of two velocities, with error bars;\n"
        "with --optical, over frequency.\n" A_HERMITIAN)
COMMAND(CMD_MAP, cmd_map, RANKS_ANY, "map",
        "MATRIX --energies E,.. [--where ROWS] [options]\n--from FILE.h5 --energies E,.. [options]", "MATRIX", 0, 1,
        "local density of states at all sites of a region",
        "The local density of states at all sites of a region, such as a surface, at some energies, by\n"
        "random vectors, with error bars, or exactly; the density of a site is that of all its rows.\n" A_HERMITIAN)
COMMAND(CMD_POWER, cmd_power, RANKS_ONE, "power", "MATRIX -p N [options]", "MATRIX", 1, 1,
        "powers of a matrix times a vector",
        "Applies a square matrix N times to a random or given vector (or to several side by side),\n"
        "and prints the norms. " A_MATRIX ".")
COMMAND(CMD_APPLY, cmd_apply, RANKS_ANY, "apply",
        "MATRIX --function log|inverse|.. [--start FILE] [-o y.mtx] [options]\n"
        "MATRIX --series FILE --bounds A,B [--start FILE] [-o y.mtx] [options]",
        "MATRIX", 1, 1, "a function of a matrix times vectors",
        "y = f(A) x of a Hermitian matrix, for the vectors x of a file or random ones, by a Chebyshev\n"
        "series of f, to a tolerance; it tells how far y may be off.\n" A_HERMITIAN)
COMMAND(CMD_EVOLVE, cmd_evolve, RANKS_ONE, "evolve",
        "MATRIX --time T --site I|--random|--start FILE|--from FILE.h5 [options]", "MATRIX", 1, 1,
        "time evolution of a quantum state",
        "How a state psi changes in time under the Hamiltonian MATRIX (H): psi(t) = exp(-i H t) psi(0),\n"
        "at evenly spaced times, each to a tolerance. The start, psi(0), is scaled to norm 1. Told at\n"
        "each time: the norm, which stays 1 unless H absorbs; the densities |psi_i|^2 of rows that are\n"
        "named; and, where asked for, energies and other expectation values. --states FILE keeps the\n"
        "states. --absorb puts an absorbing potential beside H, --drive matrices times functions of t.\n" A_MATRIX
        ".\nIt must be Hermitian, but for --non-hermitian.")
COMMAND(CMD_SOLVE, cmd_solve, RANKS_ANY, "solve", "MATRIX [--rhs FILE|ones|random:SEED[xK]] [-o x.mtx] [options]",
        "MATRIX", 1, 1, "solve linear systems A x = b",
        "Solves A x = b for one right-hand side or several at once, by a Krylov method, until\n"
        "|b - A x| / |b|, computed from x, is within the tolerance for each: then the exit status is\n"
        "0. " A_MATRIX "; it must be square.")
COMMAND(CMD_EIG, cmd_eig, RANKS_ANY, "eig",
        "MATRIX --interval A,B|--target X [-n K] [options]\nMATRIX --smallest K|--largest K|--largest-real K [options]",
        "MATRIX", 1, 1, "eigenvalues and eigenvectors",
        "Eigenpairs: all in an interval, those nearest to a number, or those at an end of the\n"
        "spectrum. The exit status is 0 only if all that were asked for were found, as far as the\n"
        "checks tell. " A_MATRIX ".")
COMMAND(CMD_SVD, cmd_eig, RANKS_ANY, "svd", "MATRIX --largest K|--smallest K|--interval A,B [options]", "MATRIX", 1, 1,
        "singular values and vectors",
        "Singular values s with left and right vectors, A v = s u and A^H u = s v, of a matrix A of any\n"
        "shape: the largest ones, the smallest ones, or all in an interval. The exit status is 0 only\n"
        "if all that were asked for were found, as far as the checks tell.\n" A_MATRIX ".")
COMMAND(CMD_INFO, cmd_info, RANKS_ONE, "info", "MATRIX [options]", "MATRIX", 1, 1,
        "size, row lengths, symmetry and storage of a matrix",
        "Looks at every entry of a matrix: sizes, row lengths, bandwidth, symmetry, Gershgorin's\n"
        "interval, and what its storage as SELL-C-sigma costs. MATRIX is a file (.mtx, .mtx.gz,\n"
        ".crs, .npz) or names one of the gallery.")
COMMAND(CMD_GEN, cmd_gen, RANKS_ONE, "gen", "SPEC -o FILE [options]\n--list", "SPEC", 0, 1,
        "write a matrix of the gallery to a file",
        "Writes a matrix of the gallery, such as topi:nx=20,ny=20,nz=10, to a file.")
COMMAND(CMD_CONVERT, cmd_convert, RANKS_ONE, "convert", "IN OUT [options]", "IN OUT", 2, 2,
        "write a matrix in another file format",
        "Reads a matrix and writes it in the format of OUT's name: .mtx and .mtx.gz (Matrix\n"
        "Market), .crs (binary).")
COMMAND(CMD_BENCH, cmd_bench, RANKS_ONE, "bench",
        "spmv|spmmv|kpm|mpk|solve|eig MATRIX.. [options]\ntsm|stream [options]", "OP MATRIX", 1, LIST,
        "speed of an operation, and how far it is from the machine's limit",
        "Times one operation: stream (bandwidths of memory and caches), spmv (sparse matrix times\n"
        "vector), spmmv (times block vector), kpm (one step of the kernel polynomial method),\n"
        "mpk (steps of a recurrence, interleaved), solve (an iteration of a solver of linear\n"
        "systems), eig (the filter, orthogonalisation and Rayleigh-Ritz of eigenpairs), tsm\n"
        "(products of tall and skinny blocks).\n"
        "Every repetition lies between two measurements of the load bandwidth, with which it is\n"
        "compared. " A_MATRIX "; several\n"
        "have rows of their own each.")
COMMAND(CMD_MACHINE, cmd_machine, RANKS_SHOWN, "machine", "[options]", "", 0, 0,
        "what this machine is and what it allows",
        "Processor, placement of the threads, and measured ceilings: bandwidths of memory and\n"
        "caches, rates of multiply-adds and of the BLAS, how much of the last cache the threads\n"
        "really keep, and what the kernels of sweeps take of a core. They are kept in the user's\n"
        "cache folder and measured anew on demand.")
#undef COMMAND
#undef A_MATRIX
#undef A_HERMITIAN
