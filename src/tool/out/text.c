/* Numbers as people read them. */
#include "text.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
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

const char *text_rounded(char *buf, double v, double error)
{
    if (!(error > 0) || !isfinite(error)) return text_states(buf, v);
    char two[TEXT]; /* the error itself can round up to one digit more: 0.0999 to 0.10 */
    snprintf(two, sizeof two, "%.1e", error);
    int decimals = 1 - atoi(strchr(two, 'e') + 1);
    if (decimals > 12) decimals = 12;
    if (decimals <= 0) {
        double unit = pow(10, -decimals);
        return text_states(buf, round(v / unit) * unit);
    }
    snprintf(buf, TEXT, "%.*f", decimals, v);
    if (v < 0 && strtod(buf, NULL) == 0) snprintf(buf, TEXT, "%.*f", decimals, 0.0); /* not -0.00 */
    return buf;
}

const char *text_with_bar(char *buf, const char *sign, double v, double low, double high, double also)
{
    char value[TEXT], up[TEXT], down[TEXT];
    double least = fmin(v - low, high - v);
    text_rounded(value, v, fmax(least, also));
    text_rounded(up, high - v, least);
    text_rounded(down, v - low, least);
    if (strcmp(up, down) == 0)
        snprintf(buf, TEXT_BAR, "%s %s %s", value, sign, up);
    else
        snprintf(buf, TEXT_BAR, "%s +%s -%s", value, up, down);
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

const char *text_bytes_up(char *buf, double bytes)
{
    double unit = 1;
    while (bytes > 999 * unit && unit < 1e18) unit *= 1000;
    double step = unit / 100;
    while (bytes > 999 * step) step *= 10;
    return text_bytes(buf, bytes > 999 ? ceil(bytes / step) * step : bytes);
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

const char *text_team(char *buf, int processes, int threads)
{
    const char *s = threads == 1 ? "" : "s";
    if (processes == 1)
        snprintf(buf, TEXT, "%d thread%s", threads, s);
    else
        snprintf(buf, TEXT, "%d processes of %d thread%s", processes, threads, s);
    return buf;
}

static _Thread_local bool silent;

void text_silence(void) { silent = true; }

void text_line(const char *name, const char *format, ...)
{
    va_list ap;
    if (silent) return;
    va_start(ap, format);
    printf("%-12s", name);
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
}

void text_matrix(const char *name, int64_t rows, int64_t nnz, const char *more)
{
    char a[TEXT], b[TEXT];
    text_line("matrix", "%s", name);
    if (!nnz && rows) /* it was not stored as a whole */
        text_line("rows", "%s%s%s", text_count(a, rows), *more ? "   " : "", more);
    else
        text_line("rows", "%s   nonzeros %s%s%s", text_count(a, rows), text_count(b, nnz), *more ? "   " : "", more);
}

void text_bounds(const wisp_bounds *b, wisp_bounds_method method)
{
    double p = b->failure_probability;
    char how[2 * TEXT] = "given";
    if (method == WISP_BOUNDS_GERSHGORIN) snprintf(how, sizeof how, "Gershgorin, certain");
    if (method == WISP_BOUNDS_LANCZOS) {
        snprintf(how, sizeof how, "Lanczos");
        if (p > 0) { /* rounded up to one digit */
            double power = floor(log10(p)), digit = ceil(p / pow(10, power) - 1e-6);
            if (digit > 9.5) digit = 1, power++;
            snprintf(how, sizeof how, "Lanczos, fails with probability < %.0fe%.0f", digit, power);
        } else if (p == 0) {
            snprintf(how, sizeof how, "Gershgorin, certain (so short a search by Lanczos makes it no tighter)");
        }
    }
    text_line("bounds", "[%.6g, %.6g]   %s", b->center - b->halfwidth, b->center + b->halfwidth, how);
}

void text_kernel(wisp_damping kernel, double lambda)
{
    if (kernel == WISP_LORENTZ)
        text_line("kernel", "lorentz, lambda %.4g", lambda > 0 ? lambda : 4);
    else
        text_line("kernel", "%s", damping_names[kernel]);
}

/* Whether a lower rank has a device of this name. */
static bool is_named(const tool *t, int rank)
{
    const char *name = wisp_ctx_device_of(t->ctx, rank, NULL);
    int r = 0;
    while (strcmp(wisp_ctx_device_of(t->ctx, r, NULL), name) != 0) r++;
    return r < rank;
}

/* "device cuda, ", or each of several once; nothing, where all is on the CPU. */
static const char *text_devices(char *buf, size_t size, const tool *t)
{
    size_t n = 0;
    int count = 0;
    const char *name;
    *buf = '\0';
    for (int r = 0; (name = wisp_ctx_device_of(t->ctx, r, NULL)); r++) count += !is_named(t, r);
    if (count == 1 && !strcmp(wisp_ctx_device(t->ctx), "cpu")) return buf;
    for (int r = 0; (name = wisp_ctx_device_of(t->ctx, r, NULL)) && n < size; r++)
        if (!is_named(t, r))
            n += (size_t)snprintf(buf + n, size - n, "%s%s, ", n ? "" : count > 1 ? "devices " : "device ", name);
    return buf;
}

void text_run(const tool *t, const wisp_mat_info *info, const char *more)
{
    char team[TEXT], devices[8 * TEXT];
    text_line("run", "%s%s%s%s, %s, order %s, format %s", more, *more ? ", " : "",
              text_devices(devices, sizeof devices, t),
              text_team(team, wisp_ctx_processes(t->ctx), wisp_ctx_threads(t->ctx)), wisp_ctx_isa(t->ctx),
              text_order(info->order), text_format(info->format));
}

void text_cell(int width, const char *head, const char *words)
{
    printf("  %*s", width, head ? head : words ? words : "-");
}

void text_number(int width, const char *head, const char *format, double v)
{
    char number[TEXT];
    snprintf(number, sizeof number, format, v);
    text_cell(width, head, isfinite(v) ? number : NULL);
}

double gflops(double flops, double seconds) { return seconds > 0 ? flops / seconds * 1e-9 : NAN; }

void text_rate(double flops, double seconds)
{
    if (isfinite(gflops(flops, seconds))) text_line("rate", "%.3g Gflop/s", gflops(flops, seconds));
}
