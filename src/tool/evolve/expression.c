/* Values of an expression, found while it is read: it is short, and asked for a few times a step. */
#include "expression.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at; /* what is read next */
    double t;
    int depth; /* of brackets and signs */
    bool wrong;
} reader;

enum { DEEPEST = 100 };
static const struct {
    const char *name;
    double (*value)(double);
} functions[] = {{"sin", sin}, {"cos", cos},   {"tan", tan},  {"exp", exp},
                 {"log", log}, {"sqrt", sqrt}, {"abs", fabs}, {"tanh", tanh}};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static double read_sum(reader *r);

static bool take(reader *r, char c)
{
    while (*r->at == ' ') r->at++;
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static double refuse(reader *r)
{
    r->wrong = true;
    return 0;
}

static double read_brackets(reader *r)
{
    const double v = read_sum(r);
    return r->wrong || take(r, ')') ? v : refuse(r);
}

/* t, pi, or a function of what is in brackets. */
static double read_name(reader *r)
{
    const char *name = r->at;
    size_t n = 0;
    while (isalnum((unsigned char)name[n])) n++;
    r->at += n;
    if (n == 1 && *name == 't') return r->t;
    if (n == 2 && !strncmp(name, "pi", n)) return acos(-1);
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == n && !strncmp(name, functions[i].name, n))
            return take(r, '(') ? functions[i].value(read_brackets(r)) : refuse(r);
    r->at = name;
    return refuse(r);
}

static double read_atom(reader *r)
{
    if (take(r, '(')) return read_brackets(r);
    if (isalpha((unsigned char)*r->at)) return read_name(r);
    if (!isdigit((unsigned char)*r->at) && *r->at != '.') return refuse(r);
    char *end;
    const double v = strtod(r->at, &end);
    if (end == r->at) return refuse(r);
    r->at = end;
    return v;
}

/* -x^2 is -(x^2), and x^-2 is a power, too. */
static double read_signed(reader *r)
{
    if (r->wrong || ++r->depth > DEEPEST) return refuse(r);
    double v;
    if (take(r, '-'))
        v = -read_signed(r);
    else if (take(r, '+'))
        v = read_signed(r);
    else {
        v = read_atom(r);
        if (!r->wrong && take(r, '^')) v = pow(v, read_signed(r));
    }
    r->depth--;
    return v;
}

static double read_product(reader *r)
{
    double v = read_signed(r);
    while (!r->wrong)
        if (take(r, '*'))
            v *= read_signed(r);
        else if (take(r, '/'))
            v /= read_signed(r);
        else
            break;
    return v;
}

static double read_sum(reader *r)
{
    double v = read_product(r);
    while (!r->wrong)
        if (take(r, '+'))
            v += read_product(r);
        else if (take(r, '-'))
            v -= read_product(r);
        else
            break;
    return v;
}

const char *expression_value(const char *text, double t, double *value)
{
    reader r = {.at = text, .t = t};
    *value = read_sum(&r);
    while (!r.wrong && *r.at == ' ') r.at++;
    return r.wrong || *r.at ? r.at : NULL;
}

void expression_names(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "t, pi");
    for (size_t i = 0; i < FUNCTIONS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, ", %s", functions[i].name);
}
