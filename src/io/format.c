/* Numbers to text: 17 digits by exact 128-bit arithmetic (of numbers of extreme size by printf), of which the shortest
   of 15, 16 or 17 is taken that reads back. Short decimals are found before, directly. */
#include "format.h"
#include "../base/scan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445"
    "46474849505152535455565758596061626364656667686970717273747576777879808182838485868788899091"
    "9293949596979899";

static int count_digits(uint64_t w)
{
    int n = 1;
    for (; w >= 10000; w /= 10000) n += 4;
    return n + (w >= 10) + (w >= 100) + (w >= 1000);
}

/* The digits of w, which are n, to `to`. */
static void put_digits(char *to, uint64_t w, int n)
{
    for (; n >= 2; n -= 2, w /= 100) memcpy(to + n - 2, pairs + 2 * (w % 100), 2);
    if (n) *to = (char)('0' + w % 10);
}

char *wisp__format_index(char *to, int64_t i)
{
    int n = count_digits((uint64_t)i);
    put_digits(to, (uint64_t)i, n);
    return to + n;
}

/* w 10^e without trailing zeros, as 123.45, 0.00123 or 1.2345e-07, whichever is usual. */
static char *put_decimal(char *to, uint64_t w, int e)
{
    while (w % 10 == 0) w /= 10, e++;
    int n = count_digits(w), exponent = n - 1 + e; /* of the first digit */
    if (e >= 0 && exponent < 17) {
        put_digits(to, w, n);
        memset(to + n, '0', (size_t)e);
        return to + n + e;
    }
    if (exponent >= 0 && exponent < 17) {
        put_digits(to + 1, w, n);
        memmove(to, to + 1, (size_t)exponent + 1);
        to[exponent + 1] = '.';
        return to + n + 1;
    }
    if (exponent >= -5 && exponent < 0) {
        memcpy(to, "0.0000", 6);
        put_digits(to + 1 - exponent, w, n);
        return to + 1 - exponent + n;
    }
    put_digits(to + 1, w, n);
    to[0] = to[1];
    to[1] = '.';
    to += n == 1 ? 1 : n + 1;
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    uint64_t x = (uint64_t)(exponent < 0 ? -exponent : exponent);
    int digits = x < 100 ? 2 : 3;
    put_digits(to, x, digits);
    return to + digits;
}

/* Seventeen digits of m 2^e (m < 2^53): w 10^-s, rounded; false outside exact 128-bit arithmetic. */
static bool seventeen(uint64_t m, int e, int s, uint64_t *w)
{
    typedef unsigned __int128 wide;
    if (s <= -WISP__POW5 || s >= WISP__POW5) return false;
    int shift = e + s;
    if (s >= 0) {
        wide p = (wide)m * wisp__pow5[s];
        if (shift <= -127 || shift > 10) return false;
        *w = shift >= 0 ? (uint64_t)p << shift : (uint64_t)((p + ((wide)1 << (-shift - 1))) >> -shift);
        return true;
    }
    if (shift < 0 || shift > 74) return false;
    uint64_t d = wisp__pow5[-s];
    *w = (uint64_t)((((wide)m << shift) + d / 2) / d);
    return true;
}

/* Numbers of extreme size, by way of the C library (whose decimal point is the locale's). */
static void seventeen_by_printf(double v, uint64_t *w, int *s)
{
    char text[48];
    snprintf(text, sizeof text, "%.16e", v);
    const char *p = text;
    *w = 0;
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') *w = *w * 10 + (uint64_t)(*p - '0');
    *s = 16 - atoi(p + 1);
}

static bool reads_back(uint64_t w, int e, double v)
{
    double x;
    if (!wisp__decimal_fast(w, e, &x)) {
        char text[40];
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)w, e);
        x = strtod(text, NULL);
    }
    return x == v;
}

/* v > 0, finite. */
static char *put_positive(char *to, double v)
{
    /* Short decimals first: w is exact here, and v is the double nearest to w / 10^k. */
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4};
    if (v < 1e11)
        for (int k = 0; k < 5; k++) {
            double t = v * power[k];
            uint64_t w = (uint64_t)t;
            if ((double)w == t && (double)w / power[k] == v && w > 0) return put_decimal(to, w, -k);
        }
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(v, &e), 53);
    e -= 53;
    /* The decimal exponent from the binary one; off by one at most, which shows in the number of digits. */
    int s = 16 - (int)floor((e + 52) * 0.30102999566398119521);
    uint64_t w;
    bool found = seventeen(m, e, s, &w);
    if (found && w >= UINT64_C(100000000000000000)) found = seventeen(m, e, --s, &w);
    if (!found) seventeen_by_printf(v, &w, &s);
    uint64_t w15 = (w + 50) / 100, w16 = (w + 5) / 10;
    if (reads_back(w15, 2 - s, v)) return put_decimal(to, w15, 2 - s);
    if (reads_back(w16, 1 - s, v)) return put_decimal(to, w16, 1 - s);
    /* A tie of the 17 digits need not be one of the number. */
    if (w % 10 == 5 && reads_back(w16 - 1, 1 - s, v)) return put_decimal(to, w16 - 1, 1 - s);
    return put_decimal(to, w, -s);
}

char *wisp__format_real(char *to, double v)
{
    if (isnan(v)) return memcpy(to, "nan", 3), to + 3;
    if (signbit(v)) {
        *to++ = '-';
        v = -v;
    }
    if (v == 0) return *to = '0', to + 1;
    if (isinf(v)) return memcpy(to, "inf", 3), to + 3;
    return put_positive(to, v);
}
