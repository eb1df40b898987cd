/* The table of all options. */
#include "options.h"

#define KPM (CMD_DOS | CMD_LDOS | CMD_COUNT)
#define VECTORS (CMD_POWER | CMD_EVOLVE)
#define SYSTEMS (CMD_SOLVE | CMD_EIG)
#define RESUMED (KPM | CMD_EVOLVE | SYSTEMS)
#define ALL (KPM | VECTORS | SYSTEMS | CMD_INFO | CMD_GEN | CMD_CONVERT | CMD_MACHINE | CMD_BENCH)
#define WRITE (CMD_GEN | CMD_CONVERT)
#define AT(field) offsetof(options, field)
#define FLAG(name, letter, commands, new_run, field, help)                             \
    {                                                                                  \
        NULL, name, letter, NULL, parse_flag, commands, new_run, AT(field), 0, 0, help \
    }

const option_def option_table[] = {
    {"What is computed", "moments", 0, "N", parse_count, KPM, false, AT(moments), 2, 1 << 30,
     "number of Chebyshev moments (512); with --from at most\nthose of the file"},
    {NULL, "resolution", 0, "E", parse_positive, KPM, false, AT(resolution), 0, 0,
     "take as many moments as this resolution needs: standard\ndeviation of the Jackson kernel, in the matrix's units"},
    {NULL, "vectors", 0, "R", parse_count, CMD_DOS | CMD_COUNT, true, AT(vectors), 1, 1 << 30,
     "number of random vectors (32)"},
    {NULL, "trace", 0, "random|exact", parse_choice, CMD_DOS | CMD_COUNT, true, AT(trace), 0, 0,
     "random vectors, or every unit vector (for small matrices)"},
    {NULL, "powers", 'p', "N", parse_count, CMD_POWER, false, AT(powers), 1, 1 << 20,
     "how many powers: v_k = (S A)^k v_0 for k up to N (needed)"},
    {NULL, "scale", 0, "S", parse_positive, CMD_POWER, false, AT(scale), 0, 0, "factor of the matrix in each step (1)"},
    {NULL, "time", 0, "T", parse_positive, CMD_EVOLVE, false, AT(time), 0, 0,
     "how long, in 1/unit of the matrix (needed)"},
    {NULL, "steps", 0, "M", parse_count, CMD_EVOLVE, false, AT(steps), 1, 1000000,
     "times at which results are wanted, T/M apart (100)"},
    {NULL, "site", 0, "I,J,..", parse_sites, CMD_EVOLVE, false, AT(sites), 0, 1000000,
     "start on this row, on several with equal amplitudes"},
    FLAG("random", 0, CMD_EVOLVE, false, random, "start from a random vector"),
    {NULL, "start", 0, "FILE", parse_string, VECTORS, false, AT(start), 0, 0,
     "start from the vector in a file (.mtx, .mtx.gz, .crs, .h5)"},
    {NULL, "watch", 0, "I,J,..", parse_watch, CMD_EVOLVE, false, AT(watch), 0, 10000,
     "rows whose density |psi_i|^2 is wanted (with --site: these)"},
    {NULL, "tolerance", 0, "E", parse_positive, CMD_EVOLVE, false, AT(tolerance), 0, 0,
     "of the norm of the error (1e-10; in single precision 1e-4)"},
    {NULL, "rhs", 0, "FILE|ones|random[:SEED[xK]]", parse_rhs, CMD_SOLVE, false, AT(rhs), 1, 4096,
     "right-hand sides: the columns of a file (.mtx, .mtx.gz, .crs,\n.h5), a column of ones (default), or K random "
     "ones"},
    {NULL, "x0", 0, "FILE", parse_string, CMD_SOLVE, false, AT(x0), 0, 0,
     "begin with the x of a file, such as -o has written (0)"},
    {NULL, "method", 0, "cg|bicgstab|gmres|minres", parse_choice_1, CMD_SOLVE | CMD_BENCH, false, AT(method), 0, 0,
     "cg: Hermitian positive definite matrices; minres: Hermitian\nones; bicgstab, gmres: any (cg if the matrix is "
     "Hermitian,\nelse gmres; bench: cg)"},
    {NULL, "variant", 0, "pipelined|classical|predict|hidden", parse_choice_1, CMD_SOLVE, false, AT(solve_variant), 0,
     0,
     "of the method: updates and dots in few passes; one after the\nother; or (cg without --precond) with the next "
     "residual's\nnorm predicted and then computed; or (cg) with sums of processes\nbeside the product (predict for cg "
     "without --precond, else\npipelined)"},
    {NULL, "precond", 0, "none|jacobi|block-jacobi[:ROWS]|chebyshev[:DEGREE]|neumann[:DEGREE]", parse_precond,
     CMD_SOLVE, false, AT(precond), 0, 0,
     "preconditioner (none): the diagonal; blocks of ROWS rows on it\n(4); polynomials of the matrix of this degree "
     "(4)"},
    {NULL, "bounds", 0, "lanczos|gershgorin|A,B", parse_bounds, CMD_SOLVE, false, AT(bounds_method), 0, 0,
     "how the interval of the spectrum of a Hermitian matrix is found\n(lanczos), or the interval itself; for "
     "--precond "
     "chebyshev and\nneumann"},
    {NULL, "tolerance", 0, "T", parse_positive, CMD_SOLVE, false, AT(tolerance), 0, 0,
     "|b - A x| / |b| of each column, to be reached; may be written\n--tol (1e-8; in single precision 1e-4)"},
    {NULL, "maxit", 0, "N", parse_count, CMD_SOLVE, false, AT(max_iterations), 1, INT64_C(1) << 40,
     "at most so many iterations; bicgstab takes two products in each\n(10000, or 10 times the rows if that is less, "
     "and at least 100)"},
    {NULL, "restart", 0, "M", parse_count, CMD_SOLVE | CMD_BENCH, false, AT(restart), 1, 500,
     "gmres: iterations after which it begins anew, 1 to 500 (30)"},
    {NULL, "interval", 0, "A,B", parse_pair, CMD_EIG, false, AT(interval), 0, 0, "all eigenvalues from A to B"},
    {NULL, "target", 0, "X", parse_number, CMD_EIG, false, AT(target), 0, 0,
     "the K eigenvalues nearest to X, with -n K"},
    {NULL, "count", 'n', "K", parse_count, CMD_EIG, false, AT(count), 1, INT32_MAX, "how many, for --target (1)"},
    {NULL, "smallest", 0, "K", parse_count, CMD_EIG, false, AT(count), 1, INT32_MAX,
     "the K smallest ones; by absolute value, if the matrix is not\nHermitian"},
    {NULL, "largest", 0, "K", parse_count, CMD_EIG, false, AT(count), 1, INT32_MAX, "the K largest ones, likewise"},
    {NULL, "largest-real", 0, "K", parse_count, CMD_EIG, false, AT(count), 1, INT32_MAX,
     "the K ones of largest real part"},
    FLAG("any", 0, CMD_EIG, false, any,
         "no more than K, though others may be equal to the last one\n(without it all that are equal to that are "
         "given)"),
    {NULL, "method", 0, "chebfd|lanczos|krylov-schur|dense", parse_choice_1, CMD_EIG, false, AT(method), 0, 0,
     "chebfd: Chebyshev filters, for --interval and --target; lanczos:\nblock Lanczos, for the others; both take "
     "Hermitian matrices;\nkrylov-schur: for the others, any matrix; dense: all by LAPACK,\nfor small Hermitian "
     "matrices "
     "(dense up to 400 rows, else the\nfirst of these that fits)"},
    {NULL, "bounds", 0, "lanczos|gershgorin|A,B", parse_bounds, CMD_EIG, false, AT(bounds_method), 0, 0,
     "how the interval of the spectrum of a Hermitian matrix is found\n(lanczos), or the interval itself"},
    {NULL, "tolerance", 0, "T", parse_positive, CMD_EIG, false, AT(tolerance), 0, 0,
     "of |A v - lambda v| over the spectrum's halfwidth, over |lambda|\nif the matrix is not Hermitian, but no less "
     "than |A| times T;\nmay be written --tol (1e-8; in single precision 1e-4)"},
    {NULL, "tol-abs", 0, "T", parse_positive, CMD_EIG, false, AT(tolerance_abs), 0, 0,
     "of |A v - lambda v| itself, in place of --tolerance"},
    {NULL, "search", 0, "N", parse_count, CMD_EIG, false, AT(search), 1, INT32_MAX,
     "columns of the search space (chosen)"},
    {NULL, "filter-precision", 0, "single|double|auto", parse_choice, CMD_EIG, true, AT(filter_precision), 0, 0,
     "of the filter's products; single: half as many bytes, and the\nsame digits (auto: the faster)"},
    {NULL, "maxit", 0, "N", parse_count, CMD_EIG, false, AT(max_iterations), 1, INT64_C(1) << 40,
     "at most so many rounds of filtering (30) or restarts (10000)"},
    {NULL, "vectors-in", 0, "FILE", parse_string, CMD_EIG, false, AT(vectors_in), 0, 0,
     "begin with the vectors of a file, such as --vectors-out has\nwritten (random ones)"},
    {NULL, "sites", 0, "I,J,..", parse_sites, CMD_LDOS, false, AT(sites), 0, 1000000,
     "rows (from 0) whose local density of states is wanted;\nranges such as 3-7 count too; with --from a choice of "
     "its rows"},
    {NULL, "seed", 0, "S", parse_seed, KPM | VECTORS | CMD_EIG, true, AT(seed), 0, 0,
     "seed of the random vectors and of the Lanczos starts (0)"},
    {NULL, "bounds", 0, "lanczos|gershgorin|A,B", parse_bounds, KPM | CMD_EVOLVE, true, AT(bounds_method), 0, 0,
     "how the interval of the spectrum is found (lanczos), or\nthe interval itself. Eigenvalues outside stop the run; "
     "but with\nfew moments one just outside may go unnoticed"},
    FLAG("hermitian-part", 0, KPM | CMD_EVOLVE | CMD_EIG, true, hermitian_part,
         "take (A + A^H)/2 of a matrix A that is Hermitian up to rounding,\nand tell by how much that changes it"),
    {"How it is evaluated", "kernel", 0, "jackson|lorentz[:L]|fejer|dirichlet", parse_kernel, KPM, false, AT(kernel), 0,
     0, "damping of the moments (jackson); L is lambda (4)"},
    {NULL, "interval", 0, "A,B", parse_pair, CMD_DOS | CMD_LDOS, false, AT(interval), 0, 0,
     "energy window of the output, on a uniform grid that includes\nboth ends (all energies)"},
    {NULL, "interval", 0, "A,B", parse_window, CMD_COUNT, false, AT(interval), 0, 0,
     "where eigenvalues are counted; A must be below B; -inf,B and\nA,inf have one end"},
    {NULL, "points", 0, "P", parse_count, CMD_DOS | CMD_LDOS, false, AT(points), 2, 1 << 30,
     "number of energies (twice the moments, at least 1024)"},
    {NULL, "from", 0, "FILE.h5", parse_from, KPM, false, AT(from), 0, 0,
     "evaluate the moments of an earlier --save; no MATRIX. Give\nit several times to combine runs with different "
     "seeds"},
    {"How it is run", "variant", 0, "blocked|fused|naive", parse_choice, KPM, true, AT(variant), 0, 0,
     "the same moments in three ways (blocked is fastest)"},
    {NULL, "width", 0, "W", parse_count, KPM, true, AT(width), 1, 4096,
     "vectors that are worked on side by side (default: by\na model of time)"},
    {NULL, "width", 0, "W", parse_count, CMD_POWER, true, AT(width), 1, 4096,
     "vectors that are worked on side by side (1)"},
    {NULL, "ranks", 0, "N", parse_count, CMD_INFO, false, AT(ranks), 2, 1024,
     "how the matrix would lie on so many processes, and what they\nwould send each other; it is not made for that"},
    {NULL, "width", 0, "W", parse_count, CMD_INFO, false, AT(width), 1, 4096,
     "with --ranks: vectors that are worked on side by side (1)"},
    {NULL, "depth", 0, "N", parse_count, KPM | CMD_EVOLVE, true, AT(depth), 1, 1 << 20,
     "the number of steps that are interleaved, so that rows\nare met again in cache (what is found best)"},
    {NULL, "cache-budget", 0, "BYTES|P%", parse_budgets, KPM | VECTORS, true, AT(budgets), 0, 1,
     "what interleaved steps may count on of the last cache (what\nwisp machine measured, else 60%)"},
    {NULL, "precision", 0, "single|double|auto", parse_choice, KPM, true, AT(precision), 0, 0,
     "of matrix and vectors (that of the matrix); auto: single where\nits rounding is far below the error bars"},
    {NULL, "precision", 0, "single|double", parse_choice, VECTORS | SYSTEMS | CMD_INFO, true, AT(precision), 0, 0,
     "of matrix and vectors (that of the matrix)"},
    {NULL, "reduce", 0, "end|step", parse_choice, KPM, true, AT(reduce), 0, 0,
     "one global reduction at the end, or one each step"},
    {NULL, "halo", 0, "auto|none|overlap|task|neighbours|columns|nocomm", parse_choice, KPM | SYSTEMS, true, AT(halo),
     0, 0,
     "when processes exchange rows that they need of each other:\nbefore they multiply; while they do; so, by a thread "
     "of its own;\nneighbour by neighbour; some columns at a time; never, for\nmeasurements: results are wrong (auto: "
     "the fastest, by trial)"},
    {NULL, "threads", 0, "T", parse_count, ALL & ~(unsigned)CMD_BENCH, false, AT(threads), 1, 4096,
     "threads (OMP_NUM_THREADS, else all cores)"},
    {NULL, "threads", 0, "T,T,..", parse_list, CMD_BENCH, false, AT(thread_counts), 1, 4096,
     "numbers of threads, with rows of their own\n(OMP_NUM_THREADS, else all cores)"},
    {NULL, "weights", 0, "N,N,..|rows|nonzeros|measured", parse_weights, KPM | SYSTEMS, true, AT(weights), 0,
     INT64_C(1) << 40,
     "shares of the rows of several processes, one number for each;\nor as many rows each, or nonzeros; or by the rate "
     "of each\nprocess, measured for a moment (rows)"},
    {NULL, "partition", 0, "rows|levels|scotch", parse_choice, CMD_DOS | CMD_COUNT | CMD_INFO, true, AT(partition), 0,
     0,
     "which rows several processes have: as they come, or dealt out\nanew by levels of the graph, or by PT-SCOTCH, so "
     "that "
     "they\nsend less (rows)"},
    {NULL, "device", 0, "D", parse_device, KPM | VECTORS | SYSTEMS, true, 0, 0, 0,
     "where it runs; cpu is the only one so far (cpu)"},
    {NULL, "order", 0, "auto|natural|rcm|tiles", parse_choice, KPM | VECTORS | SYSTEMS | CMD_INFO, true, AT(order), 0,
     0,
     "of the rows in memory: as they come, reverse Cuthill-McKee,\nor in tiles that stay in cache (what a model finds "
     "best)"},
    {NULL, "order", 0, "auto|natural|rcm|tiles|all", parse_choice, CMD_BENCH, false, AT(order), 0, 0,
     "of the rows in memory (what the library chooses); all: a row\nfor each"},
    {NULL, "format", 0, "auto|sell|compressed|hermitian", parse_choice, KPM | VECTORS | SYSTEMS | CMD_INFO, true,
     AT(format), 0, 0,
     "of the stored matrix: as it is, compressed without loss, or\none half of it (compressed where that pays)"},
    {NULL, "format", 0, "auto|sell|compressed|hermitian|all", parse_choice, CMD_BENCH, false, AT(format), 0, 0,
     "of the stored matrix (what the library chooses); all: a row\nfor each that it can have"},
    {NULL, "widths", 0, "W,W,..", parse_list, CMD_BENCH, false, AT(widths), 1, 4096,
     "block widths, one row each (spmv, solve: 1; tsm: 4,8,16,32;\neig: by a model of time; else 1,4,8,16,32)"},
    {NULL, "columns", 0, "K,K,..", parse_list, CMD_BENCH, false, AT(columns), 1, 4096,
     "eig: of the search space, one row each (64,200)"},
    {NULL, "types", 0, "s,d,c,z", parse_types, CMD_BENCH, false, AT(types), 0, 0,
     "of the blocks: single, double, complex single, complex\ndouble (that of the matrix; tsm: d,z)"},
    {NULL, "powers", 0, "P,P,..", parse_list, CMD_BENCH, false, AT(powers_list), 1, 256,
     "mpk: steps of a call, one row each; 1: one sweep after the\nother (1,2,4,8,16)"},
    {NULL, "depth", 0, "N", parse_count, CMD_BENCH, false, AT(depth), 0, 256,
     "mpk: the number of steps that are interleaved, at most all of\na call (as the library chooses: 0)"},
    {NULL, "cache-budget", 0, "B,B,..", parse_budgets, CMD_BENCH, false, AT(budgets), 0, LIST - 1,
     "mpk: bytes or P% of the last cache on which interleaved steps\nmay count, one row each (what is measured first)"},
    {NULL, "rows", 0, "N", parse_count, CMD_BENCH, false, AT(rows), 1, INT32_MAX,
     "tsm: rows of the blocks (4000000, complex: 2000000)"},
    {NULL, "variant", 0, BENCH_VARIANTS, parse_choice, CMD_BENCH, false, AT(bench_variant), 0, 0,
     "spmv, spmmv: blocked alone; kpm: blocked, naive (separate\nvector operations), reference (a plain fused CRS "
     "kernel);\n"
     "mpk: chebyshev (with dots, two blocks), powers (all kept);\ntsm: gram, gram_kahan, update, update_beta, "
     "update_in_place,\n"
     "dot, dot_kahan, and by the BLAS (in a process of its own)\ngram_blas, update_blas, update_beta_blas; solve: "
     "predict (cg),\npipelined, classical; eig: squares, steps (products of the\nfilter), qr, ritz\n"
     "(blocked; mpk: chebyshev; tsm: the first five; solve, eig: all)"},
    {NULL, "against", 0, "VARIANT|order=O|format=F|plain|single", parse_against, CMD_BENCH, false, 0, 0, 0,
     "alternate with this variant, or with the same one in another\norder or format or (mpk) by plain sweeps or "
     "(solve) with its\ncolumns one by one, and give the ratio of the times: how many\ntimes faster the row is"},
    {NULL, "repeats", 0, "N", parse_count, CMD_BENCH, false, AT(repeats), 7, 10000, "repetitions of each row (9)"},
    FLAG("measure", 0, CMD_MACHINE, false, measure, "measure anew, even if an earlier result is kept"),
    {NULL, "watchdog", 0, "off|SECONDS", parse_watchdog, KPM | SYSTEMS, false, AT(watchdog), 0, 0,
     "several processes: after so many seconds without a sign of one,\nor with one stopped alone, all are ended (30)"},
    FLAG("plan", 0, KPM | SYSTEMS, true, plan, "print the memory and the time that the run would take"),
    {NULL, "mem-limit", 0, "BYTES", parse_bytes, ALL, false, AT(mem_limit), 0, 0,
     "limit the library's arrays to this; the machine's own memory\nis then not looked at; 8G and 8GiB are 8 times "
     "1024^3,\n8GB is 8 times 10^9"},
    {"Runs that survive", "checkpoint", 0, "FILE", parse_string, RESUMED, true, AT(checkpoint), 0, 0,
     "write the state of the run to FILE again and again, beside the\ncomputation, so that it can go on after its end; "
     "removed when\nthe results are there"},
    {NULL, "every", 0, "SECONDS", parse_positive, RESUMED, true, AT(every), 0, 0,
     "from one checkpoint to the next (600); SIGUSR1 has one written\nat once, SIGTERM, SIGHUP and Ctrl-C too, before "
     "they end the run"},
    {NULL, "resume", 0, "FILE", parse_string, RESUMED, true, AT(resume), 0, 0,
     "go on from a checkpoint: the same command as before, and this"},
    {"Output", "output", 'o', "FILE", parse_string, KPM | VECTORS | CMD_SOLVE | CMD_GEN | CMD_BENCH, false, AT(output),
     0, 0, NULL},
    {NULL, "vectors-out", 'o', "FILE", parse_string, CMD_EIG, false, AT(vectors_out), 0, 0,
     "the vectors, as the columns of a dense .mtx or .mtx.gz, or .h5\nwith all that --json has"},
    {NULL, "save", 0, "FILE.h5", parse_string, KPM, true, AT(save), 0, 0,
     "keep the moments, one set per vector, for --from"},
    {NULL, "plot", 0, "FILE.svg|.png|.pdf", parse_picture, KPM | CMD_EVOLVE | SYSTEMS | CMD_BENCH, false, AT(plot), 0,
     0, NULL},
    {NULL, "symmetry", 0, "general|symmetric|hermitian|skew", parse_choice, WRITE, false, AT(symmetry), 0, 0,
     ".mtx: store one half of a matrix that has this symmetry"},
    FLAG("all", 0, CMD_POWER, false, all, "keep and write all powers, not the last one alone"),
    FLAG("array", 0, WRITE, false, array, ".mtx: dense, all entries in column order"),
    FLAG("pattern", 0, WRITE, false, pattern, ".mtx: positions without values"),
    FLAG("list", 0, CMD_GEN, false, list, "list the gallery with all keys and their defaults"),
    FLAG("json", 0, KPM | VECTORS | SYSTEMS | CMD_INFO | CMD_MACHINE | CMD_BENCH, false, json,
         "one JSON object on the standard output, nothing else"),
    {NULL, "log", 0, "text|json", parse_choice, ALL, false, AT(log), 0, 0,
     "progress and messages on the standard error, also when it\nis no terminal, as text or as one JSON object a line"},
    FLAG("quiet", 0, ALL, false, quiet, "no summary, no progress bar"),
    FLAG("help", 'h', ALL, false, help, "this text"),
};
const int option_rows = sizeof option_table / sizeof option_table[0];
_Static_assert(sizeof option_table / sizeof option_table[0] <= OPTIONS, "options.seen has one for each row");
