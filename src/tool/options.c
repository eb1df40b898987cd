/* The table of all options; the command line and --help by this table; the nearest name for one that is misspelt. */
#include "options.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

static const option_def table[] = {
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
    {NULL, "bounds", 0, "A,B", parse_pair, CMD_SOLVE, false, AT(bounds), 0, 0,
     "interval of the spectrum, for --precond chebyshev and neumann\n(found, if the matrix is Hermitian)"},
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
    {NULL, "bounds", 0, "A,B", parse_pair, CMD_EIG, false, AT(bounds), 0, 0,
     "interval of the spectrum of a Hermitian matrix (found)"},
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
    {NULL, "powers", 0, "P", parse_count, KPM | CMD_EVOLVE, true, AT(powers), 1, 1 << 20,
     "depth: the number of steps that are interleaved, so that rows\nare met again in cache (what is found best)"},
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
enum { ROWS = sizeof table / sizeof table[0] };
_Static_assert(sizeof table / sizeof table[0] <= OPTIONS, "options.seen has one for each row");

static size_t smallest(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein's distance of two short words. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    size_t n = strlen(a), m = strlen(b), row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j];
            row[j] = smallest(smallest(above, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[m];
}

const char *nearest_name(const char *word, const char *const *list)
{
    const char *best = NULL;
    size_t least = smallest(3, strlen(word) / 2 + 1);
    for (; *list; list++) {
        size_t d = distance(word, *list);
        if (d < least) least = d, best = *list;
    }
    return best;
}

static int find_row(const char *name, size_t length, unsigned commands)
{
    int found = -1, longer = -1;
    for (int i = 0; i < ROWS; i++) {
        if (!(table[i].commands & commands) || strncmp(table[i].name, name, length)) continue;
        if (table[i].name[length] == '\0') return i;
        int *one = table[i].name[length] == '-' ? &longer : &found; /* --tol is not meant as that of --tol-abs */
        *one = *one == -1 ? i : -2;                                 /* an abbreviation must be the only one */
    }
    return found != -1 ? found : longer;
}

/* Names that users of Kwant, scipy and other programs would type, by the option that does it here. */
static const struct {
    const char *ours, *theirs;
} other_names[] = {
    {"moments", "expansion-order chebyshev-order cheb-order polynomials degree ncheb"},
    {"vectors", "samples realizations nvec nvecs nrandom num-random n-random"},
    {"resolution", "broadening smearing eta sigma fwhm linewidth"},
    {"interval", "energies energy energy-range energy-window erange emin emax range window limits"},
    {"points", "grid bins num-energies n-energies nenergies"},
    {"bounds", "eps spectrum spectral-range"},
    {"kernel", "damping"},
    {"seed", "rng random-state"},
    {"sites", "where index indices orbital orbitals atoms positions"},
    {"weights", "shares balance distribution"},
    {"partition", "decomposition reorder scotch metis parmetis graph-partition"},
    {"threads", "ncores cores nproc num-procs jobs workers"},
    {"precision", "dtype float"},
    {"mem-limit", "memory max-memory maxmem memory-limit ram"},
    {"from", "load input"},
    {"resume", "restart continue"},
    {"save", "store keep"},
    {"checkpoint", "dump restart-file"},
    {"every", "checkpoint-interval checkpoint-every"},
    {"output", "filename file csv"},
    {"plot", "figure fig image draw svg png pdf"},
    {"log", "verbose debug"},
    {"quiet", "silent"},
    {"device", "gpu cuda"},
    {"time", "tmax t-max t-end duration final-time"},
    {"steps", "nt times num-times"},
    {"start", "psi0 v0 initial initial-state"},
    {"tolerance", "tol rtol atol accuracy ksp-rtol"},
    {"rhs", "b right-hand-side righthandside"},
    {"x0", "guess initial-guess initial start restart-from x"},
    {"method", "solver ksp ksp-type algorithm"},
    {"precond", "pc pc-type preconditioner m"},
    {"maxit", "maxiter max-it max-iter max-iterations iterations ksp-max-it"},
    {"restart", "ksp-gmres-restart krylov-dim"},
    {"count", "k nev num num-eigs neig eps-nev"},
    {"target", "sigma shift eps-target near nearest center"},
    {"search", "ncv subspace basis krylov-dim eps-ncv"},
    {"vectors-in", "v0 start initial guess restart"},
    {"vectors-out", "output eigenvectors vecs save vectors"},
};

/* Whether a list with blanks between its words has this one. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; length > 0 && (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

/* The option that a word with a dash before it or after it names, or its singular or plural: resolution in
   energy-resolution. */
static const char *named_inside(const char *word, const char *const *known)
{
    const char *best = NULL, *at = word;
    for (size_t n; *at; at += n + (at[n] == '-')) {
        n = strcspn(at, "-");
        for (int i = 0; known[i]; i++) {
            const size_t length = strlen(known[i]), same = smallest(n, length);
            const bool fits = !strncmp(at, known[i], same) && (n == same || (n == same + 1 && at[same] == 's')) &&
                              (length == same || (length == same + 1 && known[i][same] == 's'));
            if (fits && same > 2) best = known[i];
        }
    }
    return best;
}

/* What was meant by an option that is not there, or NULL. */
static const char *suggest(const char *name, const char *const *known)
{
    char word[48];
    snprintf(word, sizeof word, "%s", name);
    for (char *c = word; *c; c++) *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        for (int k = 0; known[k]; k++)
            if (!strcmp(known[k], other_names[i].ours) && has_word(other_names[i].theirs, word)) return known[k];
    for (int k = 0; known[k]; k++)
        if (!strcmp(known[k], word)) return known[k];
    const char *inside = named_inside(word, known);
    return inside ? inside : nearest_name(word, known);
}

static void unknown_option(const command_def *cmd, const char *name, size_t length, char *error, size_t size)
{
    const char *known[ROWS + 1], *near;
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (table[i].commands & cmd->bit) known[n++] = table[i].name;
    known[n] = NULL;
    char word[48];
    snprintf(word, sizeof word, "%.*s", (int)smallest(length, sizeof word - 1), name);
    int other = length ? find_row(name, length, ~0u) : -1;
    if (other >= 0 && strlen(table[other].name) == length)
        snprintf(error, size, "wisp %s has no option --%s; see wisp %s --help", cmd->name, word, cmd->name);
    else if ((near = suggest(word, known)))
        snprintf(error, size, "unknown option --%s; did you mean --%s?", word, near);
    else
        snprintf(error, size, "unknown option --%s; see wisp %s --help", word, cmd->name);
}

/* Row of the option that argv[*i] is, with its value, which may be the next argument; -1 is an error. */
static int match(const command_def *cmd, int argc, char **argv, int *i, const char **value, char *error, size_t size)
{
    const char *a = argv[*i];
    int row = -1;
    *value = NULL;
    if (a[1] == '-') {
        size_t length = strcspn(a + 2, "=");
        row = length ? find_row(a + 2, length, cmd->bit) : -1;
        if (a[2 + length] == '=') *value = a + 3 + length;
        if (row == -2)
            snprintf(error, size, "%.*s could be one of several options; write it out", (int)smallest(length, 40) + 2,
                     a);
        else if (row < 0)
            unknown_option(cmd, a + 2, length, error, size);
        if (row < 0) return -1;
    } else {
        for (int r = 0; r < ROWS; r++)
            if ((table[r].commands & cmd->bit) && table[r].letter == a[1]) row = r;
        if (row < 0) {
            snprintf(error, size, "unknown option %.40s; see wisp %s --help", a, cmd->name);
            return -1;
        }
        if (a[2]) *value = a[2] == '=' ? a + 3 : a + 2;
    }
    const option_def *def = &table[row];
    if (!def->arg && *value) {
        snprintf(error, size, "--%s takes no value", def->name);
        return -1;
    }
    if (def->arg && !*value && ++*i < argc) *value = argv[*i];
    if (def->arg && !*value) {
        snprintf(error, size, "--%s needs a value: --%s %s", def->name, def->name, def->arg);
        return -1;
    }
    return row;
}

static bool is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return end != text && !*end;
}

/* Two numbers as two words are common elsewhere, so the line says how to write them here. */
static bool two_words(const option_def *def, const char *value, const char *next)
{
    const bool pair = def->parse == parse_pair || def->parse == parse_window || def->parse == parse_bounds;
    return pair && next && is_number(value) && is_number(next);
}

/* The failure is JSON, too, wherever --json stands. */
static bool asks_json(const command_def *cmd, int argc, char **argv)
{
    const int json = find_row("json", strlen("json"), cmd->bit);
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (!strncmp(argv[i], "--", 2) && find_row(argv[i] + 2, strlen(argv[i] + 2), cmd->bit) == json)
            return json >= 0;
    return false;
}

static bool parse_all(options *o, const command_def *cmd, int argc, char **argv, char *error, size_t size)
{
    bool only_args = false;
    const int max_args = cmd->bit == CMD_BENCH ? LIST : cmd->args[1] ? 2 : cmd->args[0] ? 1 : 0;
    for (int i = 0; i < argc; i++) {
        if (!only_args && !strcmp(argv[i], "--")) {
            only_args = true;
        } else if (!only_args && argv[i][0] == '-' && argv[i][1]) {
            const char *value;
            char why[WHY];
            int row = match(cmd, argc, argv, &i, &value, error, size);
            if (row < 0) return false;
            if (!table[row].parse(&table[row], value, (char *)o + table[row].offset, why)) {
                const char *next = i + 1 < argc ? argv[i + 1] : NULL;
                if (two_words(&table[row], value, next))
                    snprintf(error, size, "--%s %.60s %.60s: write it with a comma and no blank: --%s %.60s,%.60s",
                             table[row].name, value, next, table[row].name, value, next);
                else
                    snprintf(error, size, "--%s %.60s: %s", table[row].name, value, why);
                return false;
            }
            o->seen[row] = true;
        } else if (o->args < max_args) {
            o->arg[o->args++] = argv[i];
        } else {
            snprintf(error, size, "\"%.60s\" is one argument too many; see wisp %s --help", argv[i], cmd->name);
            return false;
        }
    }
    return true;
}

bool options_parse(options *o, const command_def *cmd, int argc, char **argv, char *error, size_t size)
{
    memset(o, 0, sizeof *o);
    if (parse_all(o, cmd, argc, argv, error, size)) return true;
    o->json = asks_json(cmd, argc, argv);
    return false;
}

void options_free(options *o)
{
    free(o->sites);
    free(o->watch);
    free(o->weights);
    o->sites = o->watch = o->weights = NULL;
}

bool option_seen(const options *o, const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (o->seen[i] && !strcmp(table[i].name, name)) return true;
    return false;
}

const char *options_new_run(const options *o)
{
    for (int i = 0; i < ROWS; i++)
        if (o->seen[i] && table[i].new_run) return table[i].name;
    return NULL;
}

static void help_row(FILE *out, const option_def *def, const command_def *cmd)
{
    enum { COLUMN = 30 };
    const char *help = def->help, *arg = def->arg;
    if (!strcmp(def->name, "variant") && cmd->bit == CMD_BENCH) arg = "VARIANT"; /* too many for a line */
    if (!strcmp(def->name, "plot"))
        help = cmd->bit == CMD_BENCH
                   ? "draw the roofline, and rates over widths, powers, budgets or\nmatrices (gnuplot)"
               : cmd->bit == CMD_EVOLVE ? "draw the densities of the rows over time (gnuplot)"
               : cmd->bit == CMD_SOLVE  ? "draw the residual over the iterations (gnuplot)"
               : cmd->bit == CMD_EIG
                   ? "draw the density of states, the filter and the eigenvalues that\nwere found (gnuplot)"
                   : "draw the density of states with its error band (gnuplot)";
    if (!strcmp(def->name, "output"))
        help = cmd->bit == CMD_GEN     ? "where to write it: .mtx, .mtx.gz or .crs"
               : cmd->bit == CMD_BENCH ? "the results as JSON"
               : cmd->bit == CMD_POWER ? "the last power, as the columns of a dense .mtx or .mtx.gz"
               : cmd->bit == CMD_SOLVE
                   ? "x, as the columns of a dense .mtx or .mtx.gz, or .h5 with all\nthat --json has"
                   : "the results: .csv, .json or .h5";
    int n = def->letter ? fprintf(out, "  -%c, --%s", def->letter, def->name) : fprintf(out, "      --%s", def->name);
    if (arg) n += fprintf(out, " %s", arg);
    if (n > COLUMN - 2) {
        n = 0;
        fputc('\n', out);
    }
    fprintf(out, "%*s", COLUMN - n, "");
    for (; *help; help++) {
        fputc(*help, out);
        if (*help == '\n') fprintf(out, "%*s", COLUMN, "");
    }
    fputc('\n', out);
}

void options_help(FILE *out, const command_def *cmd)
{
    const char *line = cmd->usage;
    for (const char *head = "Usage:"; line; head = "      ") {
        const char *end = strchr(line, '\n');
        fprintf(out, "%s wisp %s %.*s\n", head, cmd->name, end ? (int)(end - line) : (int)strlen(line), line);
        line = end ? end + 1 : NULL;
    }
    fprintf(out, "\n%s\n", cmd->text);
    const char *group = NULL, *printed = NULL;
    for (int i = 0; i < ROWS; i++) {
        if (table[i].group) group = table[i].group;
        if (!(table[i].commands & cmd->bit)) continue;
        if (group != printed) fprintf(out, "\n%s\n", group), printed = group;
        help_row(out, &table[i], cmd);
    }
}
