/* Words and numbers from text. Numbers are exact as by strtod, and much faster. The text must be followed by 8 readable
   bytes, and end in a character that is no part of a number. */
#ifndef WISP_SCAN_H
#define WISP_SCAN_H
#include "base.h"
#include <locale.h>
#include <string.h>

/* A word of a line; n = 0 at the end of the line. */
typedef struct {
    const char *p;
    size_t n;
} wisp__word;

static inline bool wisp__blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
/* Lines end in '\n' always. */
wisp__word wisp__next_word(const char **p);
/* A word as messages show it: short and printable. */
enum { WISP__QUOTE = 40 };
const char *wisp__quote(char text[WISP__QUOTE], wisp__word w);

enum { WISP__POW5 = 28 };
extern const uint64_t wisp__pow5[WISP__POW5]; /* all that fit in 64 bits */

/* w 10^e, correctly rounded; false if it is out of the range of exact 128-bit arithmetic. */
bool wisp__decimal(uint64_t w, int e, double *v);
/* wisp__scan_real for long and extreme numbers and for nan and inf; `p` is behind the sign. */
const char *wisp__scan_hard(const char *p, double *v, locale_t c);

/* Appends a run of digits to *w (which may wrap around); returns the end of the run. */
static inline const char *wisp__scan_digits(const char *p, uint64_t *w)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    static const uint32_t power[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (;;) {
        uint64_t t;
        memcpy(&t, p, 8);
        t ^= 0x3030303030303030u; /* digits become 0..9; the first byte that is none is found without carries */
        uint64_t other = ((t + 0x7676767676767676u) | t) & 0x8080808080808080u;
        unsigned n = other ? (unsigned)__builtin_ctzll(other) >> 3 : 8;
        if (n == 0) return p;
        t <<= 64 - 8 * n;
        t = (t * 2561) >> 8 & 0x00ff00ff00ff00ffu; /* pairs, then fours, then eight digits */
        t = (t * 6553601) >> 16 & 0x0000ffff0000ffffu;
        t = (t * 42949672960001u) >> 32;
        *w = *w * power[n] + t;
        p += n;
        if (n < 8) return p;
    }
#else
    for (; *p >= '0' && *p <= '9'; p++) *w = *w * 10 + (uint64_t)(*p - '0');
    return p;
#endif
}

/* An unsigned whole number of at most 18 digits (an optional plus before it); NULL if there is none. */
static inline const char *wisp__scan_index(const char *p, int64_t *i)
{
    uint64_t w = 0;
    if (*p == '+') p++;
    const char *end = wisp__scan_digits(p, &w);
    if (end == p || end - p > 18) return NULL;
    *i = (int64_t)w;
    return end;
}

/* The commonest case, by one exact operation (Clinger 1990), else wisp__decimal. */
static inline bool wisp__decimal_fast(uint64_t w, int e, double *v)
{
    static const double power[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (w >> 53 || e < -22 || e > 22) return wisp__decimal(w, e, v);
    *v = e < 0 ? (double)w / power[-e] : (double)w * power[e];
    return true;
}

/* A decimal number: sign, digits with or without a point, exponent by e, E, d or D; nan, inf, infinity in any case.
   Returns its end, or NULL if there is no number. */
static inline const char *wisp__scan_real(const char *p, double *v, locale_t c)
{
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    uint64_t w = 0;
    const char *begin = p, *end = wisp__scan_digits(p, &w);
    int64_t digits = end - begin;
    int e = 0;
    if (*end == '.') {
        const char *point = end + 1;
        end = wisp__scan_digits(point, &w);
        digits += end - point;
        e = -(int)(end - point);
    }
    bool hard = digits == 0 || digits > 19; /* w may have wrapped around */
    if ((*end | 0x20) == 'e' || (*end | 0x20) == 'd') {
        const char *q = end + 1;
        bool down = *q == '-';
        if (*q == '-' || *q == '+') q++;
        uint64_t x = 0;
        end = wisp__scan_digits(q, &x);
        if (end == q) return NULL;
        if (end - q > 4)
            hard = true;
        else
            e += down ? -(int)x : (int)x;
    }
    double value;
    if (hard || !wisp__decimal_fast(w, e, &value)) {
        end = wisp__scan_hard(begin, &value, c);
        if (!end) return NULL;
    }
    *v = negative ? -value : value;
    return end;
}
#endif
