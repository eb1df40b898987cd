/* What texts of the library name, in the words of the command: a field of a call's options, as `opts.tolerance`,
 * becomes the option of the running subcommand that stands for it, as --tol. */
#include <ctype.h>
#include <string.h>
#include "monitor.h"

/* Several options may stand for one field: the first one that is on the command line is named, else the first that the
   subcommand has. Without one the field stays as it is. An option that its subcommand has in another sense is kept from
   the field by `commands`. */
#define ANY ~0u
#define KPM (CMD_DOS | CMD_LDOS | CMD_COUNT | CMD_GREEN | CMD_SPECTRAL | CMD_THERMAL | CMD_TRACE)
static const struct {
    const char *text; /* of the library; fields below it count as it does: opts.bounds.center as opts.bounds */
    unsigned commands;
    const char *option, *shown; /* its name in the table of options; what is shown where that is not --NAME */
} named[] = {
    {"opts.threads", ANY, "threads", NULL},
    {"opts.memory_limit", ANY, "mem-limit", NULL},
    {"opts.device_memory_limit", ANY, "device-mem-limit", NULL},
    {"opts.weights", ANY, "weights", NULL},
    {"opts.halo", ANY, "halo", NULL},
    {"opts.device", ANY, "device", NULL},
    {"opts.order", ANY, "order", NULL},
    {"opts.format", ANY, "format", NULL},
    {"opts.format = WISP_FORMAT_SELL", ANY, "format", "--format sell"},
    {"opts.type", ANY, "precision", NULL},
    {"opts.type", CMD_BENCH, "types", NULL},
    {"opts.width", ANY, "width", NULL},
    {"opts.width", CMD_BENCH, "widths", NULL},
    {"opts.depth", ANY, "depth", NULL},
    {"opts.cache_budget", ANY, "cache-budget", NULL},
    {"opts.steps", CMD_BENCH, "powers", NULL},
    {"opts.moments", ANY, "moments", NULL},
    {"opts.moments", ANY, "resolution", NULL},
    {"opts.n", ANY, "moments", NULL},
    {"opts.n", ANY, "resolution", NULL},
    {"opts.vectors", ANY, "vectors", NULL},
    {"opts.vectors", CMD_LDOS | CMD_GREEN, "sites", NULL},
    {"opts.right", CMD_LDOS | CMD_GREEN, "start", NULL},
    {"opts.vectors", CMD_SPECTRAL, "k-points", NULL},
    {"opts.left", CMD_LDOS | CMD_GREEN, "left", NULL},
    {"opts.adjoint", CMD_DOS, "operator", NULL},
    {"opts.first_vector", ANY, "first-vector", NULL},
    {"opts.trace", ANY, "trace", NULL},
    {"opts.left_bytes", CMD_SIGMA, "left-bytes", NULL},
    {"opts.left_type", CMD_SIGMA, "precision", NULL},
    {"opts.points", CMD_SIGMA, "points", NULL},
    {"opts.volume", CMD_SIGMA, "volume", NULL},
    {"opts.sites", ANY, "sites", NULL},
    {"opts.seed", ANY, "seed", NULL},
    {"opts.variant", KPM | CMD_SOLVE, "variant", NULL},
    {"opts.reduce_each_step", ANY, "reduce", NULL},
    {"opts.kernel", ANY, "kernel", NULL},
    {"opts.lambda", ANY, "kernel", NULL},
    {"wisp_overlap_opts.bounds", ANY, "overlap-bounds", NULL},
    {"opts.bounds", ANY, "bounds", NULL},
    {"opts.eta", CMD_GREEN, "eta", NULL},
    {"opts.tolerance", ANY, "tolerance", "--tol"},
    {"opts.tolerance", ANY, "tol-abs", NULL},
    {"opts.tolerance_abs", ANY, "tol-abs", NULL},
    {"opts.max_iterations", ANY, "maxit", NULL},
    {"opts.max_rounds", ANY, "maxit", NULL},
    {"opts.restart", ANY, "restart", NULL},
    {"opts.shadow", ANY, "shadow", NULL},
    {"opts.null", ANY, "null", NULL},
    {"opts.damp", ANY, "damp", NULL},
    {"opts.method = WISP_LSMR", ANY, "method", "--method lsmr"},
    {"opts.precond", ANY, "precond", NULL},
    {"opts.side", ANY, "side", NULL},
    {"opts.precond = WISP_ILU", ANY, "precond", "--precond ilu"},
    {"opts.block_rows", ANY, "precond", "--precond block-jacobi:ROWS"},
    {"opts.degree", ANY, "precond", NULL},
    {"opts.method", ANY, "method", NULL},
    {"opts.method = WISP_CHEBFD", ANY, "method", "--method chebfd"},
    {"opts.method = WISP_LANCZOS or WISP_KRYLOV_SCHUR", ANY, "method", "--method lanczos or krylov-schur"},
    {"opts.method = WISP_BICGSTAB or WISP_GMRES", ANY, "method", "--method bicgstab or gmres"},
    {"opts.method = WISP_MINRES or WISP_GMRES", ANY, "method", "--method minres or gmres"},
    {"opts.method = WISP_GMRES", ANY, "method", "--method gmres"},
    {"opts.method = WISP_EIG_INVERT", ANY, "method", "--method invert"},
    {"opts.low", ANY, "interval", NULL},
    {"opts.high", ANY, "interval", NULL},
    {"opts.target", ANY, "target", NULL},
    {"opts.target_im", ANY, "target", "the imaginary part of --target"},
    {"opts.count", CMD_EIG, "count", NULL},
    {"opts.count", CMD_EIG | CMD_SVD, "smallest", NULL},
    {"opts.count", CMD_EIG | CMD_SVD, "largest", NULL},
    {"opts.count", CMD_EIG, "largest-real", NULL},
    {"opts.any", ANY, "any", NULL},
    {"opts.search", ANY, "search", NULL},
    {"opts.filter_type", ANY, "filter-precision", NULL},
    {"opts.start", CMD_EIG, "vectors-in", NULL},
    {"opts.direction", CMD_EVOLVE, "angle", NULL},
    {"opts.start_time", CMD_EVOLVE, "from", "the time of the state of --from"},
    {"opts.start_off", CMD_EVOLVE, "from", "what the state of --from is off"},
    {"opts.non_hermitian", CMD_EVOLVE, "non-hermitian", NULL},
    {"opts.absorption", CMD_EVOLVE, NULL, "bounds of W (in the library: opts.absorption)"},
    {"opts.drive_at", CMD_EVOLVE, "drive", NULL},
    {"opts.drives", CMD_EVOLVE, "drive", NULL},
    {"opts.longest_step", CMD_EVOLVE, "longest-step", NULL},
    {"opts.temperature", CMD_THERMAL, "temperatures", NULL},
    {"opts.breaks", CMD_EVOLVE, "drive", "times of the tables of --drive"},
    {"opts.terms", CMD_TRACE | CMD_APPLY, NULL, "terms"},
    {"opts.jackson", CMD_TRACE | CMD_APPLY, NULL, "damping (in the library: opts.jackson)"},
    {"function 0", CMD_TRACE | CMD_APPLY, NULL, "the function"}, /* there is one */
    {"opts.path", ANY, "checkpoint", NULL},
    {"opts.every", ANY, "every", NULL},
    {"opts.array", ANY, "array", NULL},
    {"opts.pattern", ANY, "pattern", NULL},
    {"opts.symmetry", ANY, "symmetry", NULL},
    {"opts.symmetry = WISP_SYM_GENERAL", ANY, "symmetry", "--symmetry general"},
    {"wisp_src_hermitian_part", ANY, "hermitian-part", NULL},
    {"WISP_PARTITION_LEVELS", ANY, "partition", "--partition levels"},
    {"V_a", CMD_SIGMA, "velocity-a", NULL},
    {"V_b", CMD_SIGMA, "velocity-b", NULL},
    {"V_a", CMD_SIGMA, "direction", NULL},
    {"V_b", CMD_SIGMA, "direction", NULL},
    {"wisp_gallery_list", ANY, NULL, "wisp gen --list"},
};
enum { NAMED = sizeof named / sizeof named[0] };

static bool goes_on(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Bytes of ".NAME" if that is a field below one of options; 0: it is none. */
static size_t field_below(const char *at)
{
    static const char *const name[] = {".given", ".center", ".halfwidth", ".method", ".seed"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strncmp(at, name[i], strlen(name[i])) && !goes_on(at[strlen(name[i])])) return strlen(name[i]);
    return 0;
}

/* How much of `at` is the text of the row, with the names of fields below it; 0: none, or a part of a file's name. */
static size_t match(const char *text, const char *at)
{
    size_t n = strlen(text), below;
    if (strncmp(at, text, n) || goes_on(at[n])) return 0;
    while (!strncmp(text, "opts.", 5) && !strchr(text, ' ') && (below = field_below(at + n)) > 0) n += below;
    return at[n] == '.' && goes_on(at[n + 1]) ? 0 : n;
}

/* The row for the words that begin at `at`, and how many of their bytes it takes; -1: none. */
static int find(const command_def *cmd, const options *o, const char *at, size_t *length)
{
    int found = -1;
    bool given = false;
    *length = 0;
    for (int i = 0; i < NAMED; i++) {
        const char *option = named[i].option;
        const size_t n = match(named[i].text, at);
        if (n < 1 || n < *length || !(named[i].commands & cmd->bit)) continue;
        if (option && !option_there(cmd, option)) continue;
        const bool seen = option && option_seen(o, option);
        if (n == *length && (given || !seen)) continue;
        found = i, given = seen, *length = n;
    }
    return found;
}

const char *fields_to_options(const monitor *mon, const char *text, char *to, size_t size)
{
    size_t used = 0, length;
    char before = ' ';
    while (*text && used + 1 < size) {
        const bool word = !goes_on(before) && before != '/' && before != '.' &&
                          (*text == 'o' || *text == 'V' || *text == 'f' || tolower(*text) == 'w');
        const int row = word && mon->cmd ? find(mon->cmd, mon->opt, text, &length) : -1;
        if (row < 0) {
            before = to[used++] = *text++;
            continue;
        }
        const int n = named[row].shown ? snprintf(to + used, size - used, "%s", named[row].shown)
                                       : snprintf(to + used, size - used, "--%s", named[row].option);
        used += (size_t)n < size - used ? (size_t)n : size - used - 1;
        text += length;
        before = text[-1];
    }
    to[used] = '\0';
    return to;
}
