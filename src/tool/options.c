/* The command line and --help, by the table of options; the nearest name for one that is misspelt. */
#include "options.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <wisp/wisp.h>

static size_t smallest(size_t a, size_t b) { return a < b ? a : b; }

const char *nearest_name(const char *word, const char *const *list)
{
    const char *best = NULL;
    int least = (int)smallest(3, strlen(word) / 2 + 1);
    for (; *list; list++) {
        const int d = wisp_word_distance(word, *list);
        if (d < least) least = d, best = *list;
    }
    return best;
}

const char *option_words(const option_def *def, char *buf)
{
    size_t n = 0;
    *buf = '\0';
    for (int64_t i = def->min; def->choices[i] && (!def->max || i < def->max) && n < WHY; i++)
        n += (size_t)snprintf(buf + n, WHY - n, "%s%s", n ? "|" : "", def->choices[i]);
    return buf;
}

static int find_row(const char *name, size_t length, unsigned commands)
{
    int found = -1, longer = -1;
    for (int i = 0; i < option_rows; i++) {
        if (!(option_table[i].commands & commands) || strncmp(option_table[i].name, name, length)) continue;
        if (option_table[i].name[length] == '\0') return i;
        int *one = option_table[i].name[length] == '-' ? &longer : &found; /* --tol is not meant as that of --tol-abs */
        *one = *one == -1 ? i : -2;                                        /* an abbreviation must be the only one */
    }
    return found != -1 ? found : longer;
}

/* Names that users of Kwant, KITE, scipy, SLEPc and earlier versions would type, by the option that does it here. */
static const struct {
    const char *ours, *theirs;
} other_names[] = {
    {"moments", "expansion-order chebyshev-order cheb-order polynomials degree ncheb"},
    {"vectors", "samples realizations nvec nvecs nrandom num-random n-random"},
    {"resolution", "broadening smearing eta sigma fwhm linewidth"},
    {"interval", "energies energy energy-range energy-window erange emin emax range window limits eps-interval"},
    {"points", "grid bins num-energies n-energies nenergies"},
    {"energies", "energy at fermi-energy omega omegas"},
    {"per", "normalise normalize normalization normalisation norm volume scale-by divide"},
    {"first-vector", "first offset vector-offset skip start-vector"},
    {"bounds", "eps spectrum spectral-range"},
    {"depth", "powers interleaved interleave"},
    {"kernel", "damping"},
    {"temperatures", "temperature temp temps beta t"},
    {"function", "func f fn"},
    {"mu", "fermi fermi-energy ef chemical-potential potential potentials energy energies e"},
    {"temperature", "temperatures temp temps beta t"},
    {"volume", "area v per"},
    {"direction", "directions component components axes tensor"},
    {"formula", "kind method"},
    {"velocity-a", "operator-a va v-a current-a"},
    {"velocity-b", "operator-b vb v-b current-b"},
    {"site", "sites"},
    {"positions", "coordinates xyz sites"},
    {"cell", "lattice box supercell periodic lattice-vectors"},
    {"peierls", "field flux magnetic-field b"},
    {"left-bytes", "left left-memory chunk"},
    {"seed", "rng random-state"},
    {"sites", "index indices orbital orbitals atoms"},
    {"weights", "shares balance distribution"},
    {"partition", "decomposition reorder scotch metis parmetis graph-partition"},
    {"threads", "ncores cores nproc num-procs jobs workers"},
    {"precision", "dtype float"},
    {"widths", "width block-size"},
    {"width", "widths block-size blocksize"},
    {"types", "precision dtype"},
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
    {"tolerance", "tol rtol atol accuracy ksp-rtol eps-tol"},
    {"rhs", "b right-hand-side righthandside"},
    {"null", "nullspace null-space kernel ker singular near-null-space"},
    {"x0", "guess initial-guess initial start restart-from x"},
    {"method", "solver ksp ksp-type eps-type algorithm"},
    {"precond", "pc pc-type preconditioner m"},
    {"side", "ksp-pc-side pc-side precond-side"},
    {"maxit", "maxiter max-it max-iter max-iterations iterations ksp-max-it eps-max-it"},
    {"restart", "ksp-gmres-restart krylov-dim"},
    {"shadow", "s ksp-idr-s shadow-space idr-s"},
    {"count", "k nev num num-eigs neig eps-nev"},
    {"smallest", "which sa sm smallest-real smallest-magnitude eps-smallest-real eps-smallest-magnitude"},
    {"largest", "la lm largest-magnitude eps-largest-magnitude"},
    {"largest-real", "lr eps-largest-real"},
    {"target", "sigma shift eps-target near nearest center"},
    {"search", "ncv subspace basis krylov-dim eps-ncv"},
    {"vectors-in", "v0 x0 start initial guess restart"},
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

/* A word with dashes and in small letters. */
static void lower(char *word)
{
    for (; *word; word++) *word = *word == '_' ? '-' : (char)tolower((unsigned char)*word);
}

/* The option with this other name, or its own; NULL: none. */
static const char *synonym(const char *word, const char *const *known)
{
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        for (int k = 0; known[k]; k++)
            if (!strcmp(known[k], other_names[i].ours) && has_word(other_names[i].theirs, word)) return known[k];
    for (int k = 0; known[k]; k++)
        if (!strcmp(known[k], word)) return known[k];
    return NULL;
}

/* What was meant by an option that is not there, or NULL. */
static const char *suggest(const char *word, const char *const *known)
{
    const char *near = synonym(word, known);
    if (!near) near = named_inside(word, known);
    return near ? near : nearest_name(word, known);
}

/* `dashes` stand before the name: with one, as other programs have before words, an option must have it as a synonym.
 */
static void unknown_option(const command_def *cmd, int dashes, const char *name, size_t length, char *error,
                           size_t size)
{
    const char *known[option_rows + 1];
    int n = 0;
    for (int i = 0; i < option_rows; i++)
        if (option_table[i].commands & cmd->bit) known[n++] = option_table[i].name;
    known[n] = NULL;
    char word[48], meant[48], what[128], advice[80];
    snprintf(word, sizeof word, "%.*s", (int)smallest(length, sizeof word - 1), name);
    strcpy(meant, word);
    lower(meant);
    int other = dashes > 1 && length ? find_row(name, length, ~0u) : -1;
    if (other >= 0 && strlen(option_table[other].name) != length) other = -1;
    const char *near = other >= 0 || dashes < 2 ? synonym(meant, known) : suggest(meant, known);
    if (other >= 0)
        snprintf(what, sizeof what, "wisp %s has no option --%s", cmd->name, word);
    else
        snprintf(what, sizeof what, "unknown option %.*s%s", dashes, "--", word);
    if (near)
        snprintf(advice, sizeof advice, "did you mean --%s?", near);
    else
        snprintf(advice, sizeof advice, "see wisp %s --help", cmd->name);
    snprintf(error, size, "%s; %s", what, advice);
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
            unknown_option(cmd, 2, a + 2, length, error, size);
        if (row < 0) return -1;
    } else {
        for (int r = 0; r < option_rows; r++)
            if ((option_table[r].commands & cmd->bit) && option_table[r].letter == a[1]) row = r;
        if (row < 0) {
            unknown_option(cmd, 1, a + 1, strcspn(a + 1, "="), error, size);
            return -1;
        }
        if (a[2]) *value = a[2] == '=' ? a + 3 : a + 2;
    }
    const option_def *def = &option_table[row];
    const bool takes = def->arg || def->choices;
    char words[WHY];
    if (takes && !*value && ++*i < argc) *value = argv[*i];
    if (takes == (*value != NULL)) return row;
    if (takes)
        snprintf(error, size, "--%s needs a value: --%s %s", def->name, def->name,
                 def->arg ? def->arg : option_words(def, words));
    else
        snprintf(error, size, "--%s takes no value", def->name);
    return -1;
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

/* The value of the option in that row, which argument `typed` names, perhaps by the first letters of its name; `next`
   is the argument behind the value. */
static bool parse_value(options *o, int row, const char *typed, const char *text, const char *next, char *error,
                        size_t size)
{
    const option_def *def = &option_table[row];
    char why[WHY];
    option_value v = {.def = def, .text = text, .value = (char *)o + def->offset, .o = o, .why = why};
    o->seen[row] = def->parse(&v);
    o->text[row] = text;
    if (o->seen[row]) return true;
    if (two_words(def, text, next))
        snprintf(error, size, "--%s %.60s %.60s: write it with a comma and no blank: --%s %.60s,%.60s", def->name, text,
                 next, def->name, text, next);
    else if (typed[1] == '-')
        snprintf(error, size, "%.*s %.60s: %s", (int)strcspn(typed, "="), typed, *text ? text : "\"\"", why);
    else
        snprintf(error, size, "--%s %.60s: %s", def->name, *text ? text : "\"\"", why);
    return false;
}

static bool parse_all(options *o, const command_def *cmd, int argc, char **argv, char *error, size_t size)
{
    bool only_args = false;
    for (int i = 0; i < argc; i++) {
        if (!only_args && !strcmp(argv[i], "--")) {
            only_args = true;
        } else if (!only_args && argv[i][0] == '-' && argv[i][1]) {
            const char *value, *typed = argv[i];
            const int row = match(cmd, argc, argv, &i, &value, error, size);
            if (row < 0 || !parse_value(o, row, typed, value, i + 1 < argc ? argv[i + 1] : NULL, error, size))
                return false;
        } else if (o->args < cmd->max_args) {
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
    free(o->left_sites);
    free(o->watch);
    free(o->weights);
    free(o->energies);
    free(o->path);
    free(o->temperatures);
    free(o->mu);
    free(o->optical);
    o->temperatures = o->mu = o->optical = NULL;
    o->sites = o->watch = o->weights = NULL;
    o->energies = NULL;
}

bool option_means(unsigned commands, const char *typed, size_t length, const char *name)
{
    const int row = find_row(typed, length, commands);
    return row >= 0 && !strcmp(option_table[row].name, name);
}

bool option_there(const command_def *cmd, const char *name) { return option_means(cmd->bit, name, strlen(name), name); }

bool option_seen(const options *o, const char *name)
{
    for (int i = 0; i < option_rows; i++)
        if (o->seen[i] && !strcmp(option_table[i].name, name)) return true;
    return false;
}

const char *options_new_run(const options *o)
{
    for (int i = 0; i < option_rows; i++)
        if (o->seen[i] && (option_table[i].commands & NEW_RUN)) return option_table[i].name;
    return NULL;
}

/* Words in lines of so many characters, the second and later ones behind so many blanks. */
static void print_wrapped(FILE *out, const char *text, int column, int width)
{
    for (int at = 0; *text; text += *text == ' ') {
        const int n = (int)strcspn(text, " ");
        if (at + 1 + n > width) at = 0, fprintf(out, "\n%*s", column, "");
        at += fprintf(out, "%s%.*s", at ? " " : "", n, text);
        text += n;
    }
    fputc('\n', out);
}

static void help_row(FILE *out, const option_def *def)
{
    enum { COLUMN = 30, WIDTH = 64 };
    char words[WHY];
    const char *arg = def->arg || !def->choices ? def->arg : option_words(def, words);
    int n = def->letter ? fprintf(out, "  -%c, --%s", def->letter, def->name) : fprintf(out, "      --%s", def->name);
    if (arg) n += fprintf(out, " %s", arg);
    if (n > COLUMN - 2) {
        n = 0;
        fputc('\n', out);
    }
    fprintf(out, "%*s", COLUMN - n, "");
    print_wrapped(out, def->help, COLUMN, WIDTH);
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
    for (int i = 0; i < option_rows; i++) {
        if (option_table[i].group) group = option_table[i].group;
        if (!(option_table[i].commands & cmd->bit)) continue;
        if (group != printed) fprintf(out, "\n%s\n", group), printed = group;
        help_row(out, &option_table[i]);
    }
}
