/* Reads the values of options. */
#include "out/out.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(char *why, const char *text)
{
    snprintf(why, WHY, "%s", text);
    return false;
}

bool parse_flag(const option_def *def, const char *text, void *value, char *why)
{
    (void)def, (void)text, (void)why;
    *(bool *)value = true;
    return true;
}

bool parse_string(const option_def *def, const char *text, void *value, char *why)
{
    (void)def;
    if (!*text) return refuse(why, "the name is empty");
    *(const char **)value = text;
    return true;
}

/* The file of a picture. */
bool parse_picture(const option_def *def, const char *text, void *value, char *why)
{
    if (*text && !has_extension(text, "svg|png|pdf")) return refuse(why, "the name must end in .svg, .png or .pdf");
    return parse_string(def, text, value, why);
}

/* One more file of moments. */
bool parse_from(const option_def *def, const char *text, void *value, char *why)
{
    options *o = (options *)(void *)((char *)value - def->offset);
    if (o->froms == LIST - 1) return refuse(why, "too many files");
    if (!parse_string(def, text, &o->from_list[o->froms], why)) return false;
    o->froms++;
    o->from = o->from_list[0];
    return true;
}

/* A whole number at *text, which moves behind it. No sign, no blanks. */
static bool read_whole(const char **text, int64_t *value)
{
    if (!isdigit((unsigned char)**text)) return false;
    char *end;
    errno = 0;
    *value = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

bool parse_count(const option_def *def, const char *text, void *value, char *why)
{
    int64_t v;
    if (read_whole(&text, &v) && !*text && v >= def->min && v <= def->max) {
        *(int64_t *)value = v;
        return true;
    }
    if (def->max == INT64_MAX)
        snprintf(why, WHY, "expected a whole number of at least %lld", (long long)def->min);
    else
        snprintf(why, WHY, "expected a whole number from %lld to %lld", (long long)def->min, (long long)def->max);
    return false;
}

/* All that the random numbers can take. */
bool parse_seed(const option_def *def, const char *text, void *value, char *why)
{
    char *end;
    (void)def;
    errno = 0;
    const unsigned long long v = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        return refuse(why, "expected a whole number from 0 to 18446744073709551615");
    *(uint64_t *)value = v;
    return true;
}

/* A finite number at *text, which moves behind it. */
static bool read_number(const char **text, double *value)
{
    if (isspace((unsigned char)**text)) return false;
    char *end;
    *value = strtod(*text, &end);
    bool any = end != *text;
    *text = end;
    return any && isfinite(*value);
}

bool parse_positive(const option_def *def, const char *text, void *value, char *why)
{
    (void)def;
    double v;
    if (!read_number(&text, &v) || *text || v <= 0) return refuse(why, "expected a number above 0");
    *(double *)value = v;
    return true;
}

bool parse_watchdog(const option_def *def, const char *text, void *value, char *why)
{
    (void)def;
    double v;
    const bool off = !strcmp(text, "off");
    if (!off && (!read_number(&text, &v) || *text || v < 2 || v > 1e6))
        return refuse(why, "expected off, or seconds from 2 to 1000000");
    *(double *)value = off ? -1 : v;
    return true;
}

bool parse_number(const option_def *def, const char *text, void *value, char *why)
{
    (void)def;
    double v;
    if (!read_number(&text, &v) || *text) return refuse(why, "expected a number");
    *(double *)value = v;
    return true;
}

bool parse_pair(const option_def *def, const char *text, void *value, char *why)
{
    (void)def;
    double *v = value, a, b;
    if (!read_number(&text, &a) || *text++ != ',' || !read_number(&text, &b) || *text)
        return refuse(why, "expected two numbers with a comma between them, such as -1,0.5");
    if (!(a < b)) return refuse(why, "the first number must be below the second");
    if (!isfinite(b - a)) return refuse(why, "the numbers are too far apart");
    v[0] = a, v[1] = b;
    return true;
}

/* Likewise, but an end may be infinite. */
bool parse_window(const option_def *def, const char *text, void *value, char *why)
{
    double *v = value, a, b;
    char *end;
    (void)def;
    a = strtod(text, &end);
    bool well = end != text && *end == ',' && !isspace((unsigned char)*text) && !isspace((unsigned char)end[1]);
    text = well ? end + 1 : text;
    b = strtod(text, &end);
    if (!well || end == text || *end || isnan(a) || isnan(b))
        return refuse(why, "expected two numbers with a comma between them, such as -1,0.5 or -inf,0.5");
    if (!(a < b)) return refuse(why, "the first number must be below the second");
    v[0] = a, v[1] = b;
    return true;
}

/* Number of the alternative in "one|two|three" that text (up to `length` characters) is, or -1. */
static int find_choice(const char *choices, const char *text, size_t length)
{
    int i = 0;
    for (const char *c = choices; c; i++) {
        const char *end = strchr(c, '|');
        size_t n = end ? (size_t)(end - c) : strlen(c);
        if (n == length && !strncmp(c, text, n)) return i;
        c = end ? end + 1 : NULL;
    }
    return -1;
}

bool parse_choice(const option_def *def, const char *text, void *value, char *why)
{
    int i = find_choice(def->arg, text, strlen(text));
    if (i < 0) {
        snprintf(why, WHY, "expected one of %s", def->arg);
        return false;
    }
    *(int *)value = i;
    return true;
}

bool parse_kernel(const option_def *def, const char *text, void *value, char *why)
{
    options *o = (options *)(void *)((char *)value - def->offset);
    size_t length = strcspn(text, ":");
    int i = find_choice("jackson|lorentz|fejer|dirichlet", text, length);
    const char *rest = text + length;
    double lambda = 0;
    if (i < 0) return refuse(why, "expected jackson, lorentz, lorentz:LAMBDA, fejer or dirichlet");
    if (*rest++ == ':') {
        if (i != 1) return refuse(why, "only the Lorentz kernel has a parameter");
        if (!read_number(&rest, &lambda) || *rest || lambda <= 0)
            return refuse(why, "expected a number above 0 after \"lorentz:\"");
    }
    o->kernel = i;
    o->lambda = lambda;
    return true;
}

bool parse_bounds(const option_def *def, const char *text, void *value, char *why)
{
    options *o = (options *)(void *)((char *)value - def->offset);
    int i = find_choice("lanczos|gershgorin", text, strlen(text));
    if (i >= 0) {
        o->bounds_method = i;
        return true;
    }
    if (!strchr(text, ',')) return refuse(why, "expected lanczos, gershgorin, or two numbers such as -5,5");
    o->bounds_method = WISP_BOUNDS_GIVEN;
    return parse_pair(def, text, o->bounds, why);
}

wisp_bounds_opts bounds_options(const options *o)
{
    wisp_bounds_opts b = {.method = (wisp_bounds_method)o->bounds_method};
    if (b.method == WISP_BOUNDS_GIVEN)
        b.given = (wisp_bounds){0.5 * (o->bounds[0] + o->bounds[1]), 0.5 * (o->bounds[1] - o->bounds[0]), NAN};
    return b;
}

/* ones, random:SEED[xK], or else the name of a file. */
bool parse_rhs(const option_def *def, const char *text, void *value, char *why)
{
    rhs_option *r = value;
    *r = (rhs_option){.kind = RHS_FILE, .text = text, .columns = 1};
    if (!*text) return refuse(why, "the name is empty");
    if (!strcmp(text, "ones")) r->kind = RHS_ONES;
    if (strncmp(text, "random", 6) || (text[6] && text[6] != ':')) return true;
    r->kind = RHS_RANDOM;
    if (!text[6]) return true;
    text += 7;
    const size_t digits = strspn(text, "0123456789");
    char seed[32];
    snprintf(seed, sizeof seed, "%.*s", digits < sizeof seed ? (int)digits : 0, text);
    if (!parse_seed(def, seed, &r->seed, why)) return refuse(why, "expected random:SEED or random:SEEDxK");
    text += digits;
    if (!*text) return true;
    if (*text++ != 'x') return refuse(why, "expected random:SEED or random:SEEDxK");
    if (read_whole(&text, &r->columns) && !*text && r->columns >= def->min && r->columns <= def->max) return true;
    snprintf(why, WHY, "K, the number of columns, must be %lld to %lld", (long long)def->min, (long long)def->max);
    return false;
}

/* A choice whose first alternative is 1, as 0 stands for none that was given. */
bool parse_choice_1(const option_def *def, const char *text, void *value, char *why)
{
    if (!parse_choice(def, text, value, why)) return false;
    *(int *)value += 1;
    return true;
}

/* The preconditioner, and the number after its colon. */
bool parse_precond(const option_def *def, const char *text, void *value, char *why)
{
    static const int64_t most[] = {0, 0, 1000, 1000, 1000};
    options *o = (options *)(void *)((char *)value - def->offset);
    const size_t length = strcspn(text, ":");
    const int i = find_choice("none|jacobi|block-jacobi|chebyshev|neumann", text, length);
    if (i < 0)
        return refuse(why, "expected one of none, jacobi, block-jacobi[:ROWS], chebyshev[:DEGREE], neumann[:DEGREE]");
    o->precond = i;
    o->precond_number = 0;
    if (!text[length]) return true;
    text += length + 1;
    if (!most[i]) return refuse(why, "it takes no number");
    if (read_whole(&text, &o->precond_number) && !*text && o->precond_number >= 1 && o->precond_number <= most[i])
        return true;
    snprintf(why, WHY, "the number after the colon must be 1 to %lld", (long long)most[i]);
    return false;
}

/* As in GNU programs: K is 1024, kB is 1000, KiB is 1024; a plain number is bytes. At *text, which moves behind it. */
static bool read_bytes(const char **text, int64_t *bytes, char *why)
{
    static const char letters[] = "KMGTP";
    double v, unit = 1;
    if (!read_number(text, &v) || v <= 0) return refuse(why, "expected a size such as 8000000000, 8G, 8GB or 8GiB");
    const char *letter = **text ? strchr(letters, toupper((unsigned char)**text)) : NULL;
    if (letter) {
        ++*text;
        const bool decimal = (**text == 'B' || **text == 'b') && ((*text)[1] == '\0' || (*text)[1] == ',');
        unit = pow(decimal ? 1000 : 1024, (double)(letter - letters + 1));
        if (**text == 'i') ++*text;
    }
    if (**text == 'B' || **text == 'b') ++*text;
    if (v * unit < 1 || v * unit > 9e18) return refuse(why, "this many bytes cannot be");
    *bytes = (int64_t)(v * unit);
    return true;
}

bool parse_bytes(const option_def *def, const char *text, void *value, char *why)
{
    (void)def;
    int64_t bytes;
    if (!read_bytes(&text, &bytes, why)) return false;
    if (*text) return refuse(why, "expected a size such as 8000000000, 8G, 8GB or 8GiB");
    *(int64_t *)value = bytes;
    return true;
}

/* Sizes, or percentages of the last cache: up to def->max of them. */
bool parse_budgets(const option_def *def, const char *text, void *value, char *why)
{
    int64_t *list = value;
    for (int64_t n = 0; n < def->max; n++) {
        const char *end = text;
        double percent;
        if (read_number(&end, &percent) && *end == '%') {
            if (percent < 0.001 || percent > 10000) return refuse(why, "a percentage must be 0.001 to 10000");
            list[n] = -(int64_t)(1000 * percent + 0.5);
            text = end + 1;
        } else if (!read_bytes(&text, &list[n], why)) {
            return refuse(why, "expected a size such as 20M or 20MiB, or 60% of the last cache");
        }
        list[n + 1] = 0;
        if (!*text) return true;
        if (*text++ != ',') return refuse(why, "expected a size such as 20M or 20MiB, or 60% of the last cache");
    }
    if (def->max == 1) return refuse(why, "expected one size such as 20M or 20MiB, or 60% of the last cache");
    snprintf(why, WHY, "at most %lld sizes at a time", (long long)def->max);
    return false;
}

/* Row numbers and ranges of them: 5,8,10-14. */
static bool read_rows(const option_def *def, const char *text, int64_t **rows, int64_t *count, char *why)
{
    free(*rows);
    *rows = NULL, *count = 0;
    for (;;) {
        int64_t a, b;
        if (!read_whole(&text, &a)) return refuse(why, "expected row numbers (from 0) such as 5,8,10-14");
        b = a;
        if (*text == '-' && (text++, !read_whole(&text, &b)))
            return refuse(why, "expected row numbers (from 0) such as 5,8,10-14");
        if (b < a) return refuse(why, "a range must go upwards");
        if (b - a >= def->max - *count) {
            snprintf(why, WHY, "at most %lld rows at a time", (long long)def->max);
            return false;
        }
        const int64_t some = b - a + 1; /* b itself may be the largest number there is */
        int64_t *more = realloc(*rows, (size_t)(*count + some) * sizeof *more);
        if (!more) return refuse(why, "out of memory");
        *rows = more;
        for (int64_t i = 0; i < some; i++) more[(*count)++] = a + i;
        if (!*text) return true;
        if (*text++ != ',') return refuse(why, "expected row numbers (from 0) such as 5,8,10-14");
    }
}

bool parse_sites(const option_def *def, const char *text, void *value, char *why)
{
    options *o = (options *)(void *)((char *)value - def->offset);
    return read_rows(def, text, &o->sites, &o->site_count, why);
}

bool parse_watch(const option_def *def, const char *text, void *value, char *why)
{
    options *o = (options *)(void *)((char *)value - def->offset);
    return read_rows(def, text, &o->watch, &o->watch_count, why);
}

/* A list of any length, or a word. */
bool parse_weights(const option_def *def, const char *text, void *value, char *why)
{
    options *o = (options *)(void *)((char *)value - def->offset);
    free(o->weights);
    o->weights = NULL, o->weight_count = 0;
    o->weights_by = find_choice("rows|nonzeros|measured", text, strlen(text)) + 1;
    while (!o->weights_by) {
        int64_t v, *more;
        if (!read_whole(&text, &v) || v > def->max || (*text && *text != ','))
            return refuse(why, "expected rows, nonzeros, measured, or a number for each process such as 2,1,1");
        if (!(more = realloc(o->weights, (size_t)(o->weight_count + 1) * sizeof *more)))
            return refuse(why, "out of memory");
        o->weights = more;
        more[o->weight_count++] = v;
        if (!*text++) break;
    }
    return true;
}

/* Up to LIST - 1 numbers; the option's name says of what. */
bool parse_list(const option_def *def, const char *text, void *value, char *why)
{
    int64_t *list = value;
    for (int n = 0;; n++) {
        if (n == LIST - 1) {
            snprintf(why, WHY, "at most %d %s at a time", LIST - 1, def->name);
            return false;
        }
        if (!read_whole(&text, &list[n]) || list[n] < def->min || list[n] > def->max || (*text && *text != ',')) {
            snprintf(why, WHY, "expected %s from %lld to %lld such as 1,4,8", def->name, (long long)def->min,
                     (long long)def->max);
            return false;
        }
        list[n + 1] = 0;
        if (!*text++) return true;
    }
}

/* Letters of BLAS for the types, kept as in wisp_type. */
bool parse_types(const option_def *def, const char *text, void *value, char *why)
{
    static const char letters[] = "sdcz";
    int64_t *list = value;
    (void)def;
    for (int n = 0; n < LIST - 1; n++) {
        const char *letter = *text ? strchr(letters, tolower((unsigned char)*text)) : NULL;
        if (!letter || (text[1] && text[1] != ',')) break;
        list[n] = letter - letters + 1;
        list[n + 1] = 0;
        if (!text[1]) return true;
        text += 2;
    }
    return refuse(why, "expected letters s, d, c, z with commas between them");
}

/* A variant, another order or format, or plain sweeps; they are kept apart from each other by what comes before. */
bool parse_against(const option_def *def, const char *text, void *value, char *why)
{
    static const char orders[] = "auto|natural|rcm|tiles", formats[] = "auto|sell|compressed|hermitian";
    options *o = (options *)(void *)((char *)value - def->offset);
    const char *choices = BENCH_VARIANTS;
    o->against_what = AGAINST_VARIANT;
    if (!strcmp(text, "plain")) {
        o->against_what = AGAINST_PLAIN;
        return true;
    }
    if (!strcmp(text, "single")) {
        o->against_what = AGAINST_SINGLE;
        return true;
    }
    if (!strncmp(text, "order=", 6)) {
        o->against_what = AGAINST_ORDER;
        choices = orders;
        text += 6;
    } else if (!strncmp(text, "format=", 7)) {
        o->against_what = AGAINST_FORMAT;
        choices = formats;
        text += 7;
    }
    o->against = find_choice(choices, text, strlen(text));
    if (o->against >= 0) return true;
    if (o->against_what == AGAINST_VARIANT)
        return refuse(why, "expected one of " BENCH_VARIANTS ", order=O, format=F, plain or single");
    snprintf(why, WHY, "expected one of %s after the =", choices);
    return false;
}

bool parse_device(const option_def *def, const char *text, void *value, char *why)
{
    (void)def, (void)value;
    return !strcmp(text, "cpu") || refuse(why, "devices other than cpu are not there yet");
}
