/* Reads the values of options. */
#include "parse.h"
#include "names.h"
#include "out/out.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool refuse(const option_value *v, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(v->why, WHY, format, ap);
    va_end(ap);
    return false;
}

bool parse_flag(option_value *v)
{
    *(bool *)v->value = true;
    return true;
}

bool parse_string(option_value *v)
{
    if (!*v->text) return refuse(v, "the name is empty");
    *(const char **)v->value = v->text;
    return true;
}

/* What is not taken twice, as a list that may be thought to be added to. */
bool parse_once(option_value *v)
{
    if (*(const char **)v->value) return refuse(v, "it is given twice; one list with commas holds all");
    return parse_string(v);
}

/* A file that is written, whose name ends in one of the choices. */
bool parse_output(option_value *v)
{
    const char *const *e = v->def->choices;
    char list[WHY] = "";
    size_t n = 0;
    for (int i = 0; *v->text && e[i] && !has_extension(v->text, e[i]); i++) {
        n += (size_t)snprintf(list + n, WHY - n, "%s.%s", !i ? "" : e[i + 1] ? ", " : " or ", e[i]);
        if (!e[i + 1]) return refuse(v, "the name must end in %s", list);
    }
    return parse_string(v);
}

/* One more name in a list of *count. */
static bool parse_one_more(option_value *v, const char **list, int *count)
{
    if (*count == LIST - 1) return refuse(v, "too many files");
    v->value = &list[*count];
    if (!parse_string(v)) return false;
    ++*count;
    return true;
}

/* One more file of moments. */
bool parse_from(option_value *v)
{
    options *o = v->o;
    if (!parse_one_more(v, o->from_list, &o->froms)) return false;
    o->from = o->from_list[0];
    return true;
}

bool parse_operator(option_value *v) { return parse_one_more(v, v->o->operator_list, &v->o->operators); }

bool parse_drive(option_value *v) { return parse_one_more(v, v->o->drive_list, &v->o->drives); }

/* Whether there are all of them, with commas between them. */
static bool there_are(const char *devices)
{
    char name[64];
    for (const char *c = devices;; c++) {
        const int length = (int)strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", length, c);
        if (wisp_device_find(name) < 0) return false;
        c += length;
        if (!*c) return true;
    }
}

bool parse_device(option_value *v)
{
    wisp_device d;
    char names[WHY / 2] = "";
    if (there_are(v->text)) return parse_string(v);
    for (int i = 0; wisp_device_info(i, &d); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? "|" : "", d.name);
    const char *needs = strstr(v->text, "cuda") ? "; cuda needs NVIDIA's driver (libcuda.so.1) and a GPU that it sees"
                        : strstr(v->text, "opencl")
                            ? "; opencl needs libOpenCL.so.1, a vendor's driver, and double precision"
                            : "";
    return refuse(v, "expected one of %s; wisp machine tells what they are%s", names, needs);
}

/* ---- numbers --------------------------------------------------------------------------------------- */

bool read_whole(const char **text, int64_t *value)
{
    if (!isdigit((unsigned char)**text)) return false;
    char *end;
    errno = 0;
    *value = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

bool is_within(const option_def *def, int64_t n) { return n >= def->min && n <= def->max; }

bool parse_count(option_value *v)
{
    const option_def *def = v->def;
    int64_t n;
    if (!read_whole(&v->text, &n) || *v->text || !is_within(def, n))
        return refuse(v, "expected a whole number from %lld to %lld", (long long)def->min, (long long)def->max);
    *(int64_t *)v->value = n;
    return true;
}

bool parse_points(option_value *v)
{
    if (!strcmp(v->text, "1")) return refuse(v, "expected a whole number from 2 on; --energies E gives a single one");
    return parse_count(v);
}

static bool read_seed(const char *text, uint64_t *seed)
{
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno;
}

/* All that the random numbers can take. */
bool parse_seed(option_value *v)
{
    return read_seed(v->text, v->value) || refuse(v, "expected a whole number from 0 to 18446744073709551615");
}

bool read_number(const char **text, double *value)
{
    if (isspace((unsigned char)**text)) return false;
    char *end;
    *value = strtod(*text, &end);
    bool any = end != *text;
    *text = end;
    return any && isfinite(*value);
}

/* The whole text is one. */
static bool is_number(option_value *v, double *value) { return read_number(&v->text, value) && !*v->text; }

bool parse_positive(option_value *v)
{
    double x;
    if (!is_number(v, &x) || x <= 0) return refuse(v, "expected a number above 0");
    *(double *)v->value = x;
    return true;
}

/* A word, or a number. */
bool parse_per(option_value *v)
{
    double x = -1;
    if (strcmp(v->text, "rows") && (!is_number(v, &x) || x <= 0))
        return refuse(v, "expected rows, or a number above 0");
    *(double *)v->value = x;
    return true;
}

bool parse_watchdog(option_value *v)
{
    double x = -1;
    if (strcmp(v->text, "off") && (!is_number(v, &x) || x < 2 || x > 1e6))
        return refuse(v, "expected off, or seconds from 2 to 1000000");
    *(double *)v->value = x;
    return true;
}

bool parse_number(option_value *v)
{
    double x;
    if (!is_number(v, &x)) return refuse(v, "expected a number");
    *(double *)v->value = x;
    return true;
}

/* A number, or its two parts. */
bool parse_complex(option_value *v)
{
    double re, im = 0, *to = v->value;
    bool good = read_number(&v->text, &re);
    if (good && *v->text == ',') v->text++, good = read_number(&v->text, &im);
    if (!good || *v->text) return refuse(v, "expected a number, or RE,IM for a complex one");
    to[0] = re, to[1] = im;
    return true;
}

static bool set_pair(option_value *v, double a, double b)
{
    double *pair = v->value;
    if (!(a < b)) return refuse(v, "the first number must be below the second");
    pair[0] = a, pair[1] = b;
    return true;
}

bool parse_pair(option_value *v)
{
    double a, b;
    if (!read_number(&v->text, &a) || *v->text++ != ',' || !is_number(v, &b))
        return refuse(v, "expected two numbers with a comma between them, such as -1,0.5");
    if (a < b && !isfinite(b - a)) return refuse(v, "the numbers are too far apart");
    return set_pair(v, a, b);
}

/* Likewise, but an end may be infinite. */
bool parse_window(option_value *v)
{
    char *end;
    const char *text = v->text;
    const double a = strtod(text, &end);
    bool well = end != text && *end == ',' && !isspace((unsigned char)*text) && !isspace((unsigned char)end[1]);
    text = well ? end + 1 : text;
    const double b = strtod(text, &end);
    if (!well || end == text || *end || isnan(a) || isnan(b))
        return refuse(v, "expected two numbers with a comma between them, such as -1,0.5 or -inf,0.5");
    return set_pair(v, a, b);
}

/* As in GNU programs: K is 1024, kB is 1000, KiB is 1024; a plain number is bytes. At v->text, which moves behind it.
 */
static bool read_bytes(option_value *v, int64_t *bytes)
{
    static const char letters[] = "KMGTP";
    const char **text = &v->text;
    double x, unit = 1;
    if (!read_number(text, &x) || x <= 0) return refuse(v, "expected a size such as 8000000000, 8G, 8GB or 8GiB");
    const char *letter = **text ? strchr(letters, toupper((unsigned char)**text)) : NULL;
    if (letter) {
        ++*text;
        const bool decimal = (**text == 'B' || **text == 'b') && ((*text)[1] == '\0' || (*text)[1] == ',');
        unit = pow(decimal ? 1000 : 1024, (double)(letter - letters + 1));
        if (**text == 'i') ++*text;
    }
    if (**text == 'B' || **text == 'b') ++*text;
    if (x * unit < 1 || x * unit > 9e18) return refuse(v, "this many bytes cannot be");
    *bytes = (int64_t)(x * unit);
    return true;
}

bool parse_bytes(option_value *v)
{
    int64_t bytes;
    if (!read_bytes(v, &bytes)) return false;
    if (*v->text) return refuse(v, "expected a size such as 8000000000, 8G, 8GB or 8GiB");
    *(int64_t *)v->value = bytes;
    return true;
}

/* ---- words ----------------------------------------------------------------------------------------- */

/* Number of the word that text (up to `length` characters) is, from `first` to before `end`, if that is not 0; or -1.
 */
static int find_word(const char *const *words, int64_t first, int64_t end, const char *text, size_t length)
{
    for (int64_t i = first; words[i] && (!end || i < end); i++)
        if (!strncmp(words[i], text, length) && !words[i][length]) return (int)i;
    return -1;
}

/* That of the option's choices which the text is up to one of these characters, or its end. */
int find_choice(const option_value *v, const char *stop)
{
    return find_word(v->def->choices, v->def->min, v->def->max, v->text, strcspn(v->text, stop));
}

bool parse_choice(option_value *v)
{
    char words[WHY];
    const int i = find_choice(v, "");
    if (i < 0) return refuse(v, "expected one of %s", option_words(v->def, words));
    *(int *)v->value = i;
    return true;
}

bool parse_kernel(option_value *v)
{
    const int i = find_choice(v, ":");
    const char *rest = v->text + strcspn(v->text, ":");
    double lambda = 0;
    if (i < 0) return refuse(v, "expected jackson, lorentz, lorentz:LAMBDA, fejer or dirichlet");
    if (*rest++ == ':') {
        if (i != WISP_LORENTZ) return refuse(v, "only the Lorentz kernel has a parameter");
        if (!read_number(&rest, &lambda) || *rest || lambda <= 0)
            return refuse(v, "expected a number above 0 after \"lorentz:\"");
    }
    v->o->kernel = i;
    v->o->lambda = lambda;
    return true;
}

/* The function, and the number after its colon. */
bool parse_function(option_value *v)
{
    const int i = find_choice(v, ":");
    const char *rest = v->text + strcspn(v->text, ":");
    double number = 1, scale = 1;
    if (i < 0)
        return refuse(v, "expected log, inverse, sqrt, inverse-sqrt, exp, exp:S, power:P, fermi:MU,T or gauss:E,W");
    if (i >= FUNCTION_FERMI) {
        if (*rest++ != ':' || !read_number(&rest, &number) || *rest++ != ',' || !read_number(&rest, &scale) || *rest ||
            !(scale > 0))
            return refuse(v, i == FUNCTION_FERMI ? "expected fermi:MU,T, with a temperature T above 0"
                                                 : "expected gauss:E,W, with a width W above 0");
    } else if (*rest++ == ':') {
        if (i < FUNCTION_EXP) return refuse(v, "only exp, power, fermi and gauss have numbers");
        if (!read_number(&rest, &number) || *rest) return refuse(v, "expected a number after the colon");
    } else if (i == FUNCTION_POWER) {
        return refuse(v, "expected power:P, with a number P");
    }
    v->o->function = i;
    v->o->function_number = number;
    v->o->function_scale = scale;
    return true;
}

bool parse_bounds(option_value *v)
{
    const int i = find_choice(v, "");
    if (i < 0 && !strchr(v->text, ',')) return refuse(v, "expected lanczos, gershgorin, or two numbers such as -5,5");
    v->o->bounds_method = i >= 0 ? i : WISP_BOUNDS_GIVEN;
    v->value = v->o->bounds;
    return i >= 0 || parse_pair(v);
}

wisp_bounds_opts bounds_options(const options *o)
{
    wisp_bounds_opts b = {.method = (wisp_bounds_method)o->bounds_method};
    if (b.method == WISP_BOUNDS_GIVEN)
        b.given = (wisp_bounds){0.5 * (o->bounds[0] + o->bounds[1]), 0.5 * (o->bounds[1] - o->bounds[0]), NAN};
    return b;
}

/* ones, random:SEED[xK], or else the name of a file. */
bool parse_rhs(option_value *v)
{
    rhs_option *r = v->value;
    const char *text = v->text;
    *r = (rhs_option){.kind = RHS_FILE, .text = text, .columns = 1};
    if (!*text) return refuse(v, "the name is empty");
    if (!strcmp(text, "ones")) r->kind = RHS_ONES;
    if (strncmp(text, "random", 6) || (text[6] && text[6] != ':')) return true;
    r->kind = RHS_RANDOM;
    if (!text[6]) return true;
    text += 7;
    const size_t digits = strspn(text, "0123456789");
    char seed[32];
    snprintf(seed, sizeof seed, "%.*s", digits < sizeof seed ? (int)digits : 0, text);
    text += digits;
    if (!read_seed(seed, &r->seed) || (*text && *text != 'x'))
        return refuse(v, "expected random:SEED or random:SEEDxK");
    if (!*text++) return true;
    if (read_whole(&text, &r->columns) && !*text && is_within(v->def, r->columns)) return true;
    return refuse(v, "K, the number of columns, must be %lld to %lld", (long long)v->def->min, (long long)v->def->max);
}

/* The preconditioner, and the number after its colon. */
bool parse_precond(option_value *v)
{
    static const int64_t most[] = {0, 0, 1000, 1000, 1000, 0, 0, 0};
    options *o = v->o;
    const int i = find_choice(v, ":");
    const char *text = v->text + strcspn(v->text, ":");
    if (i < 0)
        return refuse(
            v, "expected one of none, jacobi, block-jacobi[:ROWS], chebyshev[:DEGREE], neumann[:DEGREE], amg, ilu, ic");
    o->precond = i < WISP_PRECOND_APPLY ? i : i + 1; /* that is no choice */
    o->precond_number = 0;
    if (!*text++) return true;
    if (!most[i]) return refuse(v, "it takes no number");
    if (read_whole(&text, &o->precond_number) && !*text && o->precond_number >= 1 && o->precond_number <= most[i])
        return true;
    return refuse(v, "the number after the colon must be 1 to %lld", (long long)most[i]);
}

/* A variant, another order or format, or plain sweeps; they are kept apart from each other by what comes before. */
bool parse_against(option_value *v)
{
    static const struct {
        const char *text, *const *words; /* words NULL: the text is all */
        int what, end;
    } kinds[] = {{"order=", order_names, AGAINST_ORDER, ORDERS},
                 {"format=", format_names, AGAINST_FORMAT, FORMATS},
                 {"plain", NULL, AGAINST_PLAIN, 0},
                 {"single", NULL, AGAINST_SINGLE, 0},
                 {"", bench_variant_names, AGAINST_VARIANT, BENCH_CHOICES}};
    size_t k = 0, length;
    while (length = strlen(kinds[k].text),
           strncmp(v->text, kinds[k].text, length) || (!kinds[k].words && v->text[length]))
        k++;
    const char *name = v->text + length;
    char words[WHY];
    v->o->against_what = kinds[k].what;
    if (!kinds[k].words) return true;
    v->o->against = find_word(kinds[k].words, 0, kinds[k].end, name, strlen(name));
    if (v->o->against >= 0) return true;
    option_words(&(option_def){.choices = kinds[k].words, .max = kinds[k].end}, words);
    if (kinds[k].what != AGAINST_VARIANT) return refuse(v, "expected one of %s after the =", words);
    return refuse(v, "expected one of %s, order=O, format=F, plain or single", words);
}

/* Sizes, or percentages of the last cache: up to def->max of them. */
bool parse_budgets(option_value *v)
{
    static const char one[] = "size such as 20M or 20MiB, or 60% of the last cache";
    int64_t *list = v->value;
    for (int64_t n = 0; n < v->def->max; n++) {
        const char *end = v->text;
        double percent;
        if (read_number(&end, &percent) && *end == '%') {
            if (percent < 0.001 || percent > 10000) return refuse(v, "a percentage must be 0.001 to 10000");
            list[n] = -(int64_t)(1000 * percent + 0.5);
            v->text = end + 1;
        } else if (!read_bytes(v, &list[n])) {
            return refuse(v, "expected a %s", one);
        }
        list[n + 1] = 0;
        if (!*v->text) return true;
        if (*v->text++ != ',') return refuse(v, "expected a %s", one);
    }
    if (v->def->max == 1) return refuse(v, "expected one %s", one);
    return refuse(v, "at most %lld sizes at a time", (long long)v->def->max);
}
