/* Numbers to and from text: exact, against the C library. */
#include "io/format.h"
#include "base/scan.h"
#include "io_naive.h"

static const char *scan(const char *text, double *v, locale_t c)
{
    static char padded[4096];
    size_t n = strlen(text);
    memcpy(padded, text, n);
    memset(padded + n, '\n', 16);
    const char *end = wisp__scan_real(padded, v, c);
    return end ? text + (end - padded) : NULL;
}

static void expect_exact(const char *text, locale_t c)
{
    char plain[4096];
    double v = -7;
    const char *end = scan(text, &v, c);
    if (!end || *end) fail_msg("%s: not read to its end", text);
    snprintf(plain, sizeof plain, "%s", text);
    for (char *p = plain; *p; p++)
        if (*p == 'd' || *p == 'D') *p = 'e';
    double expected = strtod(plain, NULL);
    if (memcmp(&v, &expected, sizeof v) != 0) fail_msg("%s: %a, expected %a", text, v, expected);
}

static void random_digits(ref_rng *r, char *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) *to++ = (char)('0' + ref_below(r, 10));
    *to = 0;
}

static double random_bits(ref_rng *r)
{
    uint64_t bits = ref_next(r);
    double v;
    if (ref_below(r, 8) == 0) bits &= 0x800fffffffffffffu; /* denormal */
    memcpy(&v, &bits, 8);
    return isfinite(v) ? v : 1.5;
}

static void test_shapes(void **state)
{
    (void)state;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    ref_rng r = {11};
    char text[2048], a[1024], b[1024];
    for (int i = 0; i < 100000; i++) {
        int64_t long_one = i % 500 == 0 ? 900 : 25;
        random_digits(&r, a, ref_below(&r, i % 3 ? 5 : long_one));
        random_digits(&r, b, ref_below(&r, long_one));
        if (!*a && !*b) strcpy(a, "0");
        static const char *const signs[] = {"", "-", "+"};
        int n =
            snprintf(text, sizeof text, "%s%s%s%s", signs[ref_below(&r, 3)], a, *b || ref_below(&r, 2) ? "." : "", b);
        if (ref_below(&r, 2))
            snprintf(text + n, sizeof text - (size_t)n, "%c%s%lld", "eEdD"[ref_below(&r, 4)],
                     ref_below(&r, 2) ? "-" : "", (long long)ref_below(&r, ref_below(&r, 2) ? 30 : 400));
        expect_exact(text, c);
    }
    freelocale(c);
}

/* Decimal expansions of doubles, and of what lies exactly between two, and next to that. */
static void test_halfway(void **state)
{
    (void)state;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    ref_rng r = {12};
    char text[2048];
    for (int i = 0; i < 20000; i++) {
        double v = i % 2 ? random_bits(&r) : ldexp(ref_uniform(&r), (int)ref_below(&r, 120) - 60);
        snprintf(text, sizeof text, "%.*e", (int)ref_below(&r, 25), v);
        expect_exact(text, c);
        if (fabs(v) < 1e-280 || fabs(v) > 1e280) continue;
        /* (v + next) / 2 is exact in long double. */
        long double half = ((long double)v + (long double)nextafter(v, HUGE_VAL)) / 2;
        int n = snprintf(text, sizeof text, "%.1100Lf", half);
        expect_exact(text, c);
        text[n] = '1';
        text[n + 1] = 0;
        expect_exact(text, c);
        if (i % 2 || fabs(v) < 1e-6) continue;
        n = snprintf(text, sizeof text, "%.18Lg", half);
        expect_exact(text, c);
    }
    freelocale(c);
}

static void test_special(void **state)
{
    (void)state;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    static const char *const good[] = {"1e+5",
                                       ".5",
                                       "5.",
                                       "1d3",
                                       "1D3",
                                       "+3",
                                       "-0",
                                       "0",
                                       "-0.0e5",
                                       "1e400",
                                       "-1e400",
                                       "1e-400",
                                       "0e99999",
                                       "1e99999999999",
                                       "1e-99999999999",
                                       "inf",
                                       "-INF",
                                       "+Infinity",
                                       "4.9406564584124654e-324",
                                       "2.4703282292062327e-324",
                                       "2.4703282292062328e-324",
                                       "1.7976931348623157e308",
                                       "1.7976931348623159e308",
                                       "9007199254740993",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "99999999999999999999",
                                       "00000000000000000000000000000001",
                                       "0.00000000000000000000000000000000000001",
                                       "9223372036854775807e27",
                                       "1e22",
                                       "1e23",
                                       "123456789012345678e-27",
                                       "1e0000000000005"};
    static const char *const bad[] = {"",    "-", "+",  ".",  "e5",  ".e5", "1e", "1e+",
                                      "1d-", "x", "na", "in", "--1", "+-1", "- 1"};
    double v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) expect_exact(good[i], c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (scan(bad[i], &v, c)) fail_msg("'%s' was taken for a number", bad[i]);
    assert_non_null(scan("NaN", &v, c));
    assert_true(isnan(v));
    freelocale(c);
}

/* Written numbers read back as the same bits; decimals of up to 15 digits are written as they were. */
static void test_format(void **state)
{
    (void)state;
    ref_rng r = {13};
    char text[64], brief[64];
    for (int i = 0; i < 300000; i++) {
        double v;
        switch (i % 5) {
        case 0: v = random_bits(&r); break;
        case 1: v = ref_uniform(&r); break;
        case 2: v = (double)(int64_t)ref_next(&r) / 64; break;
        case 3: v = ldexp(ref_uniform(&r), (int)ref_below(&r, 300) - 150); break;
        default:
            snprintf(brief, sizeof brief, "%lld.%llde%lld", (long long)ref_below(&r, 10),
                     (long long)ref_below(&r, 1000000), (long long)ref_below(&r, 80) - 40);
            v = strtod(brief, NULL);
        }
        char *end = wisp__format_real(text, v);
        assert_true(end - text <= WISP__REAL_TEXT);
        *end = 0;
        double back = strtod(text, &end);
        if (*end || memcmp(&back, &v, sizeof v) != 0) fail_msg("%.17g was written as %s", v, text);
        int digits = 0, zeros = 0;
        bool fraction = false;
        for (const char *p = text; *p && *p != 'e'; p++) {
            fraction = fraction || *p == '.';
            if (*p < '0' || *p > '9' || (*p == '0' && digits == 0)) continue;
            zeros = *p == '0' ? zeros + 1 : 0;
            digits++;
        }
        if (!fraction) digits -= zeros;
        if (i % 5 == 4 && digits > 8) fail_msg("%s was written as %s", brief, text);
        if (digits > 17) fail_msg("%s has %d digits", text, digits);
    }
    static const struct {
        double v;
        const char *text;
    } exact[] = {{0, "0"},
                 {-0.0, "-0"},
                 {1, "1"},
                 {-0.5, "-0.5"},
                 {0.1, "0.1"},
                 {1e16, "10000000000000000"},
                 {1e17, "1e+17"},
                 {123.25, "123.25"},
                 {1e-5, "0.00001"},
                 {1e-6, "1e-06"},
                 {1.5e-7, "1.5e-07"},
                 {-1e300, "-1e+300"},
                 {HUGE_VAL, "inf"},
                 {-HUGE_VAL, "-inf"},
                 {NAN, "nan"},
                 {1.0 / 3, "0.3333333333333333"},
                 {4.9406564584124654e-324, "4.94065645841247e-324"}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        *wisp__format_real(text, exact[i].v) = 0;
        assert_string_equal(text, exact[i].text);
    }
    static const int64_t whole[] = {0, 1, 9, 10, 99, 100, 12345, 99999999, 100000000, INT64_MAX};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        *wisp__format_index(text, whole[i]) = 0;
        snprintf(brief, sizeof brief, "%lld", (long long)whole[i]);
        assert_string_equal(text, brief);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_halfway),
                                       cmocka_unit_test(test_special), cmocka_unit_test(test_format)};
    return REF_RUN(tests);
}
