/* Reads the values of options that are lists: rows, energies, weights, numbers, types. */
#include "parse.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* More room for a list. */
static bool extend(option_value *v, int64_t **list, int64_t count)
{
    int64_t *more = realloc(*list, (size_t)count * sizeof *more);
    if (!more) return refuse(v, "out of memory");
    *list = more;
    return true;
}

/* Row numbers and ranges of them: 5,8,10-14. */
static bool read_rows(option_value *v, int64_t **rows, int64_t *count)
{
    static const char what[] = "expected row numbers (from 0) such as 5,8,10-14";
    const char *text = v->text;
    free(*rows);
    *rows = NULL, *count = 0;
    for (;;) {
        int64_t a, b;
        if (!read_whole(&text, &a)) return refuse(v, what);
        b = a;
        if (*text == '-' && (text++, !read_whole(&text, &b))) return refuse(v, what);
        if (b < a) return refuse(v, "a range must go upwards");
        if (b - a >= v->def->max - *count) return refuse(v, "at most %lld rows at a time", (long long)v->def->max);
        const int64_t some = b - a + 1; /* b itself may be the largest number there is */
        if (!extend(v, rows, *count + some)) return false;
        for (int64_t i = 0; i < some; i++) (*rows)[(*count)++] = a + i;
        if (!*text) return true;
        if (*text++ != ',') return refuse(v, what);
    }
}

bool parse_sites(option_value *v) { return read_rows(v, &v->o->sites, &v->o->site_count); }

bool parse_left_sites(option_value *v) { return read_rows(v, &v->o->left_sites, &v->o->left_site_count); }

bool parse_watch(option_value *v) { return read_rows(v, &v->o->watch, &v->o->watch_count); }

/* Numbers that rise. */
bool parse_energies(option_value *v)
{
    static const char what[] = "expected an energy, or several that rise, such as -0.5,0,1";
    options *o = v->o;
    const char *text = v->text;
    o->energy_count = 0;
    for (;;) {
        double e, *more;
        if (!read_number(&text, &e) || (*text && *text != ',')) return refuse(v, what);
        if (o->energy_count > 0 && !(e > o->energies[o->energy_count - 1])) return refuse(v, what);
        if (o->energy_count == v->def->max) return refuse(v, "at most %lld energies at a time", (long long)v->def->max);
        if (!(more = realloc(o->energies, (size_t)(o->energy_count + 1) * sizeof *more)))
            return refuse(v, "out of memory");
        o->energies = more;
        o->energies[o->energy_count++] = e;
        if (!*text++) return true;
    }
}

/* A list of any length, or a word. */
bool parse_weights(option_value *v)
{
    static const int64_t LARGEST = INT64_C(1) << 40;
    options *o = v->o;
    const char *text = v->text;
    free(o->weights);
    o->weights = NULL, o->weight_count = 0;
    o->weights_by = find_choice(v, "");
    if (o->weights_by >= 0) return true;
    o->weights_by = WEIGHTS_GIVEN;
    do {
        int64_t n;
        if (!read_whole(&text, &n) || n > LARGEST || (*text && *text != ','))
            return refuse(v, "expected rows, nonzeros, measured, or a number for each process such as 2,1,1");
        if (!extend(v, &o->weights, o->weight_count + 1)) return false;
        o->weights[o->weight_count++] = n;
    } while (*text++);
    return true;
}

/* Up to LIST - 1 numbers; the option's name says of what. */
bool parse_list(option_value *v)
{
    const option_def *def = v->def;
    int64_t *list = v->value;
    for (int n = 0;; n++) {
        if (n == LIST - 1) return refuse(v, "at most %d %s at a time", LIST - 1, def->name);
        if (!read_whole(&v->text, &list[n]) || !is_within(def, list[n]) || (*v->text && *v->text != ','))
            return refuse(v, "expected %s from %lld to %lld such as 1,4,8", def->name, (long long)def->min,
                          (long long)def->max);
        list[n + 1] = 0;
        if (!*v->text++) return true;
    }
}

/* Letters of BLAS for the types, kept as in wisp_type. */
bool parse_types(option_value *v)
{
    static const char letters[] = "sdcz";
    int64_t *list = v->value;
    for (int n = 0; n < LIST - 1; n++) {
        const char *letter = *v->text ? strchr(letters, tolower((unsigned char)*v->text)) : NULL;
        if (!letter || (v->text[1] && v->text[1] != ',')) break;
        list[n] = letter - letters + 1;
        list[n + 1] = 0;
        if (!v->text[1]) return true;
        v->text += 2;
    }
    return refuse(v, "expected letters s, d, c, z with commas between them");
}
