/* Words, and numbers from text: up to 19 digits by 128-bit arithmetic, correctly rounded; all else by strtod. */
#include "scan.h"
#include "system.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

wisp__word wisp__next_word(const char **p)
{
    while (wisp__blank(**p)) ++*p;
    wisp__word w = {*p, 0};
    while (**p != '\n' && !wisp__blank(**p)) ++*p;
    w.n = (size_t)(*p - w.p);
    return w;
}

const char *wisp__quote(char text[WISP__QUOTE], wisp__word w)
{
    size_t most = WISP__QUOTE - 4, n = WISP__MIN(w.n, most);
    for (size_t i = 0; i < n; i++) text[i] = w.p[i] > ' ' && w.p[i] <= '~' ? w.p[i] : '?';
    snprintf(text + n, 4, "%s", w.n > most ? "..." : "");
    return text;
}

const uint64_t wisp__pow5[WISP__POW5] = {1u,
                                         5u,
                                         25u,
                                         125u,
                                         625u,
                                         3125u,
                                         15625u,
                                         78125u,
                                         390625u,
                                         1953125u,
                                         9765625u,
                                         48828125u,
                                         244140625u,
                                         1220703125u,
                                         6103515625u,
                                         30517578125u,
                                         152587890625u,
                                         762939453125u,
                                         3814697265625u,
                                         19073486328125u,
                                         95367431640625u,
                                         476837158203125u,
                                         2384185791015625u,
                                         11920928955078125u,
                                         59604644775390625u,
                                         298023223876953125u,
                                         1490116119384765625u,
                                         7450580596923828125u};

/* q 2^e (q of 54 to 64 bits), rounded to even; `more` says that bits were lost below q. */
static double to_double(uint64_t q, int e, bool more)
{
    int drop = 11 - __builtin_clzll(q);
    uint64_t kept = q >> drop, low = q & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    if (low > half || (low == half && (more || (kept & 1)))) kept++;
    return ldexp((double)kept, e + drop);
}

bool wisp__decimal(uint64_t w, int e, double *v)
{
    typedef unsigned __int128 wide;
    if (w == 0) {
        *v = 0;
        return true;
    }
    if (e <= -WISP__POW5 || e >= WISP__POW5) return false;
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    if (e >= 0) {
        wide product = (wide)w * wisp__pow5[e]; /* exact; its top bit is bit 63 or above */
        uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
        int lost = high ? 64 - __builtin_clzll(high) : 0;
        uint64_t q = (uint64_t)(product >> lost);
        *v = to_double(q, e + lost - zeros, lost > 0 && (low << (64 - lost)) != 0);
        return true;
    }
    uint64_t d = wisp__pow5[-e];
    int d_zeros = __builtin_clzll(d);
    d <<= d_zeros;
    wide n = (wide)w << 63; /* below d 2^64, so that the quotient fits; it has at least 63 bits */
    uint64_t q = (uint64_t)(n / d);
    *v = to_double(q, e - 63 - zeros + d_zeros, n % d != 0);
    return true;
}

/* Matches a lower-case word in any case, whatever the locale. */
static bool matches(const char *p, const char *word)
{
    for (; *word; p++, word++)
        if ((*p | 0x20) != *word) return false;
    return true;
}

static const char *scan_word(const char *p, double *v)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"infinity", HUGE_VAL}, {"inf", HUGE_VAL}, {"nan", NAN}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (matches(p, words[i].word)) {
            *v = words[i].value;
            return p + strlen(words[i].word);
        }
    return NULL;
}

/* Saturates far beyond any exponent that matters. */
static const char *scan_exponent(const char *p, int64_t *e)
{
    enum { HUGE_EXPONENT = 1000000000 };
    bool down = *p == '-';
    if (*p == '-' || *p == '+') p++;
    int64_t x = 0;
    const char *begin = p;
    for (; *p >= '0' && *p <= '9'; p++)
        if (x < HUGE_EXPONENT) x = x * 10 + (*p - '0');
    *e += down ? -x : x;
    return p == begin ? NULL : p;
}

const char *wisp__scan_hard(const char *p, double *v, locale_t c)
{
    /* No double needs more than 768 digits to decide its rounding, but for whether the rest is zero. */
    enum { KEPT = 800 };
    char text[KEPT + 32];
    size_t n = 0;
    int64_t e = 0;
    bool point = false, any = false, rest = false;
    if ((*p < '0' || *p > '9') && *p != '.') return scan_word(p, v);
    for (;; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9') break;
        any = true;
        e -= point;
        if (n == 0 && *p == '0') continue;
        if (n < KEPT) {
            text[n++] = *p;
        } else {
            rest |= *p != '0';
            e++;
        }
    }
    if (!any) return NULL;
    if (rest) {
        text[n++] = '1';
        e--;
    }
    if ((*p | 0x20) == 'e' || (*p | 0x20) == 'd') p = scan_exponent(p + 1, &e);
    if (!p) return NULL;
    e = WISP__MAX(-99999999, WISP__MIN(99999999, e));
    snprintf(text + n, sizeof text - n, "e%lld", (long long)e);
    *v = n == 0 ? 0 : strtod_l(text, NULL, c);
    return p;
}
