/* Numbers as people read them. */
#include "tool.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *text_count(char *buf, int64_t n)
{
    char digits[TEXT];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)(n < 0 ? -n : n)), k = 0;
    if (n < 0) buf[k++] = '-';
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) buf[k++] = ',';
        buf[k++] = digits[i];
    }
    buf[k] = '\0';
    return buf;
}

const char *text_states(char *buf, double v)
{
    if (fabs(v) < 1e5 || fabs(v) > 9e18)
        snprintf(buf, TEXT, "%.6g", v);
    else
        text_count(buf, llround(v));
    return buf;
}

const char *text_with_error(char *buf, const char *sign, double v, double error)
{
    int decimals = error > 0 ? 1 - (int)floor(log10(error)) : 0;
    if (decimals < 0) decimals = 0;
    if (decimals > 12) decimals = 12;
    snprintf(buf, TEXT, "%.*f %s %.*f", decimals, v, sign, decimals, error);
    return buf;
}

const char *text_bytes(char *buf, double bytes)
{
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    int i = 0;
    while (bytes >= 999.5 && i < 6) bytes /= 1000, i++;
    snprintf(buf, TEXT, i ? "%.3g %s" : "%.0f %s", bytes, unit[i]);
    return buf;
}

const char *text_seconds(char *buf, double s)
{
    if (s < 9.995)
        snprintf(buf, TEXT, "%.2f s", s);
    else if (s < 99.95)
        snprintf(buf, TEXT, "%.1f s", s);
    else if (s < 5940)
        snprintf(buf, TEXT, "%.0f min %02.0f s", floor(s / 60), floor(fmod(s, 60)));
    else
        snprintf(buf, TEXT, "%.0f h %02.0f min", floor(s / 3600), floor(fmod(s, 3600) / 60));
    return buf;
}

void text_line(const char *name, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    printf("%-12s", name);
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
}

const char *text_order(wisp_row_order order)
{
    static const char *const name[] = {"auto", "natural", "rcm", "tiles"};
    return name[order];
}

const char *text_format(wisp_format format)
{
    static const char *const name[] = {"auto", "sell", "compressed", "hermitian"};
    return name[format];
}
