/* Functions of energy by their names. */
#include "function.h"
#include "out/text.h"
#include <math.h>
#include <stdlib.h>

static int value_of(void *arg, double energy, wisp_scalar *value)
{
    const options *o = arg;
    const double at = (energy - o->function_number) / o->function_scale; /* of those that have both */
    double f = 0;
    switch (o->function) {
    case FUNCTION_LOG: f = log(energy); break;
    case FUNCTION_INVERSE: f = 1 / energy; break;
    case FUNCTION_SQRT: f = sqrt(energy); break;
    case FUNCTION_INVERSE_SQRT: f = 1 / sqrt(energy); break;
    case FUNCTION_EXP: f = exp(o->function_number * energy); break;
    case FUNCTION_POWER: f = pow(energy, o->function_number); break;
    case FUNCTION_FERMI: f = 0.5 - 0.5 * tanh(0.5 * at); break;
    case FUNCTION_GAUSS: f = exp(-0.5 * at * at); break;
    }
    *value = (wisp_scalar){f, 0};
    return 0;
}

wisp_function function_of(tool *t) { return (wisp_function){.value = value_of, .arg = &t->opt}; }

/* As few digits as give the number back. */
static const char *digits(char *buf, double v)
{
    enum { ALL = 17 };
    int n = ALL - 2;
    do snprintf(buf, TEXT, "%.*g", n, v);
    while (n++ < ALL && strtod(buf, NULL) != v);
    return buf;
}

const char *function_text(const tool *t, char *buf)
{
    const options *o = &t->opt;
    const char *name = function_names[o->function];
    char a[TEXT], b[TEXT];
    if (o->function >= FUNCTION_FERMI)
        snprintf(buf, TEXT, "%.5s:%.28s,%.28s", name, digits(a, o->function_number), digits(b, o->function_scale));
    else if (o->function == FUNCTION_POWER || o->function_number != 1)
        snprintf(buf, TEXT, "%s:%.28s", name, digits(a, o->function_number));
    else
        snprintf(buf, TEXT, "%s", name);
    return buf;
}

double function_largest(const tool *t, const wisp_bounds *b)
{
    const double low = b->center - b->halfwidth, high = b->center + b->halfwidth;
    const double at[] = {low, high, fmin(fmax(t->opt.function_number, low), high)}; /* where Gauss's curve is highest */
    const int places = t->opt.function == FUNCTION_GAUSS ? 3 : 2;
    double largest = 0;
    for (int i = 0; i < places; i++) {
        wisp_scalar f;
        value_of((void *)&t->opt, at[i], &f);
        largest = fmax(largest, fabs(f.re));
    }
    return largest;
}

int64_t function_points(const tool *t, const wisp_bounds *b)
{
    if (t->opt.function != FUNCTION_GAUSS) return 0;
    const double between = acos(-1.0) * b->halfwidth / t->opt.function_scale;
    return between < WISP_CHEBYSHEV_POINTS ? 0 : wisp_whole_number(ceil(between)) + 1;
}

static int check_width(tool *t, double halfwidth)
{
    const double least = 2 * halfwidth / WISP_CHEBYSHEV_TERMS;
    char name[TEXT];
    if (t->opt.function != FUNCTION_GAUSS || t->opt.function_scale >= least) return EXIT_FINE;
    return tool_fail(
        t, "--function %s is narrower than %d terms of a series show on these bounds: %.2g is the least width",
        function_text(t, name), WISP_CHEBYSHEV_TERMS, least);
}

int function_check(tool *t, const wisp_bounds *b)
{
    const options *o = &t->opt;
    const double low = b->center - b->halfwidth, high = b->center + b->halfwidth;
    const bool whole = o->function == FUNCTION_POWER && o->function_number == floor(o->function_number);
    const bool everywhere =
        o->function == FUNCTION_EXP || o->function >= FUNCTION_FERMI || (whole && o->function_number >= 0);
    const bool not_zero = o->function == FUNCTION_INVERSE || whole;
    char name[TEXT];
    if (everywhere || low > 0 || (not_zero && high < 0)) return check_width(t, b->halfwidth);
    return tool_fail(t,
                     "--function %s needs eigenvalues %s, and the bounds are %.6g to %.6g: if the spectrum lies there, "
                     "give closer ones by --bounds A,B%s; wisp eig finds its ends",
                     function_text(t, name), not_zero ? "on one side of 0" : "above 0", low, high,
                     o->from ? " in a new run" : "");
}
