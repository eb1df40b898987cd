/* wisp thermal: ln Z, energy, heat capacity and entropy over temperature. */
#include "dos.h"
#include "../out/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const quantity_names[] = {"log_z", "energy", "heat_capacity", "entropy"};

static const wisp_estimate *quantity(const wisp_ensemble *e, int i)
{
    const wisp_estimate *const all[] = {&e->log_z, &e->energy, &e->heat_capacity, &e->entropy};
    return all[i];
}

static double lowest_temperature(const tool *t)
{
    double least = HUGE_VAL;
    for (int64_t i = 0; i < t->opt.temperature_count; i++) least = fmin(least, t->opt.temperatures[i]);
    return least;
}

/* Lower temperatures than the coldest one no moments serve, by bounds of Lanczos. By other bounds they may; but states
   that are cooled serve these, too, and cost less than so many moments. */
int64_t thermal_moments(const tool *t, const wisp_bounds *b, wisp_bounds_method method)
{
    const double lowest = lowest_temperature(t),
                 least = method == WISP_BOUNDS_LANCZOS || t->opt.cool ? wisp_thermal_coldest(b->halfwidth) : 0;
    return wisp_thermal_moments(b->halfwidth, fmax(lowest, least));
}

/* Of realizations of disorder the quantities themselves are averaged, not Z: that is one of each sample. What series
   and rounding may add to each, its bar without chance, is in the bar of the mean. Returns the scatter. */
static double average_quantity(const wisp_ensemble *of, int64_t N, int i, wisp_estimate *mean)
{
    enum { APART = sizeof *of / sizeof(double) }; /* from one value to the next */
    double error, beside[2] = {0};
    const double value = average_mean(N, APART, &quantity(of, i)->value, &error);
    for (int64_t n = 0; n < N; n++) {
        const wisp_estimate *e = quantity(of + n, i);
        beside[0] += (e->value - e->low) / (double)N, beside[1] += (e->high - e->value) / (double)N;
    }
    const double half = wisp_student95(N) * error;
    *mean = (wisp_estimate){value, error, value - half - beside[0], value + half + beside[1]};
    return error * sqrt((double)N);
}

/* ln Z, and ratios to Z, of few random vectors are off on the mean, which no number of realizations takes away: to
   second order by products of what the vectors scatter. That is no more than what disorder and vectors scatter. */
static void widen_bars(wisp_ensemble *mean, const double scatter[QUANTITIES])
{
    const double T = mean->temperature, z = scatter[LOG_Z], e = scatter[ENERGY] / T;
    const double off[QUANTITIES] = {z * z / 2, e * z * T, scatter[CAPACITY] * z + e * e, z * z / 2 + e * z};
    wisp_estimate *const all[] = {&mean->log_z, &mean->energy, &mean->heat_capacity, &mean->entropy};
    for (int i = 0; i < QUANTITIES; i++) all[i]->low -= i == LOG_Z ? 0 : off[i], all[i]->high += off[i];
}

static wisp_status of_realizations(tool *t, const wisp_moments *m, const wisp_thermal_opts *o, double temperature,
                                   wisp_ensemble *mean)
{
    const int64_t N = m->vectors;
    wisp_ensemble *of = NULL;
    wisp_status status;
    WISP_TRY(wisp_alloc(t->ctx, &of, (size_t)N, sizeof *of));
    for (int64_t n = 0; n < N; n++) {
        wisp_moments one = *m;
        one.mu += n * m->n;
        one.vectors = 1, one.realizations = 0;
        one.trace = WISP_TRACE_EXACT; /* no chance within it */
        WISP_TRY(wisp_thermal(t->ctx, &one, o, temperature, of + n));
    }
    *mean = of[0];
    const double scatter[QUANTITIES] = {
        average_quantity(of, N, LOG_Z, &mean->log_z), average_quantity(of, N, ENERGY, &mean->energy),
        average_quantity(of, N, CAPACITY, &mean->heat_capacity), average_quantity(of, N, ENTROPY, &mean->entropy)};
    if (m->first_vector < 0) widen_bars(mean, scatter);
    for (int64_t n = 1; n < N; n++) mean->beside = fmax(mean->beside, of[n].beside);
out:
    wisp_free(t->ctx, of);
    return status;
}

int thermal_served(tool *t, results *r)
{
    const wisp_thermal_opts o = {.tolerance = t->opt.tolerance};
    const int64_t n = t->opt.temperature_count;
    if (r->served_known) return EXIT_FINE;
    r->served = 0;
    if (!r->heat && wisp_alloc(t->ctx, &r->heat, (size_t)n, sizeof *r->heat)) return tool_fail_ctx(t);
    qsort(t->opt.temperatures, (size_t)n, sizeof *t->opt.temperatures, by_value);
    for (; r->served < n; r->served++) {
        const int64_t k = n - 1 - r->served;
        if (wisp_ctx_step(t->ctx, "temperatures", (double)r->served / (double)n, 0)) return tool_fail_ctx(t);
        const double T = t->opt.temperatures[k];
        const wisp_status status = r->m->realizations ? of_realizations(t, r->m, &o, T, r->heat + k)
                                                      : wisp_thermal(t->ctx, r->m, &o, T, r->heat + k);
        if (status == WISP_OK) continue;
        if (status != WISP_ERR_ARG) return tool_fail_ctx(t);
        const bool cools = r->m->trace == WISP_TRACE_RANDOM && !t->opt.cool && !r->m->realizations;
        snprintf(r->refused, sizeof r->refused, "%s%s%s", tool_message(t), cools ? "; or take --cool" : "",
                 cools && t->opt.from ? " in a new run" : "");
        break;
    }
    r->served_known = true;
    return EXIT_FINE;
}

/* By the moments, and below by cooled states. */
int thermal_evaluate(tool *t, results *r)
{
    const int64_t n = t->opt.temperature_count;
    const int rc = thermal_served(t, r);
    if (rc) return rc;
    while (r->served < n && cool_fill(t, r, n - 1 - r->served)) r->served++;
    if (r->served == 0) return tool_fail(t, "%s", r->refused);
    if (r->served == n) *r->refused = '\0';
    for (int64_t k = 0; k < n - r->served; k++) {
        const wisp_estimate none = {NAN, NAN, NAN, NAN};
        r->heat[k] = (wisp_ensemble){t->opt.temperatures[k], none, none, none, none, NAN, 0};
    }
    return EXIT_FINE;
}

/* ---- results ---- */

/* A number of each temperature: of a quantity, and which of its estimate. */
static json_t *column(const tool *t, const results *r, int i, size_t offset)
{
    json_t *array = json_array();
    for (int64_t k = 0; array && k < t->opt.temperature_count; k++) {
        const char *estimate = (const char *)quantity(r->heat + k, i);
        double v;
        memcpy(&v, estimate + offset, sizeof v);
        json_array_append_new(array, json_number(v));
    }
    return array;
}

void thermal_json(json_t *o, const tool *t, const results *r)
{
    static const struct {
        const char *name;
        size_t offset;
    } part[] = {{"", offsetof(wisp_estimate, value)},
                {"_error", offsetof(wisp_estimate, error)},
                {"_low", offsetof(wisp_estimate, low)},
                {"_high", offsetof(wisp_estimate, high)}};
    json_t *beside = json_array();
    for (int64_t k = 0; k < t->opt.temperature_count; k++)
        json_array_append_new(beside, json_number(r->heat[k].beside));
    JSON_PUT(o,
             J("units", JSON_NEW(J("temperature", "units of the matrix"), J("energy", "units of the matrix"),
                                 J("heat_capacity", "1"), J("entropy", "1"))),
             J("temperatures_served", r->served), J_MAYBE(t->opt.cool, "temperatures_cooled", r->cooled.temperatures),
             J_MAYBE(t->opt.cool, "cooled_vectors", r->cooled.done),
             J_MAYBE(t->opt.cool, "cool_sweeps", r->cooled.sweeps),
             J_MAYBE(t->opt.cool, "cool_seconds", r->cool_seconds), J_IF(*r->refused, "why", r->refused),
             J("temperatures", json_numbers(t->opt.temperatures, t->opt.temperature_count)),
             J("beside", json_incref(beside)));
    json_decref(beside);
    for (int i = 0; i < QUANTITIES; i++)
        for (size_t p = 0; p < sizeof part / sizeof *part; p++) {
            char name[TEXT];
            snprintf(name, sizeof name, "%s%s", quantity_names[i], part[p].name);
            JSON_PUT(o, J((const char *)name, column(t, r, i, part[p].offset)));
        }
}

/* A value with as many digits as its bar leaves, at most those that people read. */
static const char *value_text(char *buf, const wisp_estimate *v)
{
    static const double least = 1e-10;
    if (isnan(v->value)) return "-";
    if (v->error > least * (1 + fabs(v->value)) && isfinite(v->low))
        return text_with_bar(buf, "+-", v->value, v->low, v->high, 0);
    return text_rounded(buf, v->value, isnan(v->error) ? 0 : fmax(0.5 * (v->high - v->low), least));
}

/* All of a few temperatures, else the first and the last ones. */
void thermal_summary(const tool *t, const results *r)
{
    enum { MOST = 20, WIDTH = 26 };
    const int64_t n = t->opt.temperature_count;
    char a[QUANTITIES][TEXT_BAR], T[TEXT];
    text_line("temperature", "%-*s%-*s%-*s%s", WIDTH, "ln Z", WIDTH, "energy", WIDTH, "heat capacity", "entropy");
    for (int64_t k = 0; k < n; k++) {
        if (n > MOST && k == MOST / 2) {
            text_line("...", "%s", "...");
            k = n - MOST / 2;
        }
        const char *is[QUANTITIES];
        for (int i = 0; i < QUANTITIES; i++) is[i] = value_text(a[i], quantity(r->heat + k, i));
        snprintf(T, sizeof T, "%.6g", t->opt.temperatures[k]);
        text_line(T, "%-*s%-*s%-*s%s", WIDTH, is[LOG_Z], WIDTH, is[ENERGY], WIDTH, is[CAPACITY], is[ENTROPY]);
    }
    const wisp_cooled *c = &r->cooled;
    if (c->temperatures)
        text_line("cooled", "the lowest %s, by states of %s vector%s: %s sweeps, %s", text_count(T, c->temperatures),
                  text_count(a[0], c->done), c->done == 1 ? "" : "s", text_count(a[1], c->sweeps),
                  text_seconds(a[2], r->cool_seconds));
    if (r->m->trace == WISP_TRACE_EXACT)
        text_line("error bar", "none: exact trace");
    else if (!r->has_error)
        text_line("error bar", r->m->realizations ? "none: one realization" : "none: one vector");
    else if (r->m->realizations)
        text_line("error bar", "+-: 95%%, of the realizations, and of series and rounding");
    else
        text_line("error bar", "+-: 95%%, of the random vectors, and of series and rounding");
}

void thermal_table(const tool *t, const void *arg, FILE *f)
{
    const results *r = arg;
    fputs("temperature", f);
    for (int i = 0; i < QUANTITIES; i++)
        fprintf(f, ",%s,%s_error,%s_low,%s_high", quantity_names[i], quantity_names[i], quantity_names[i],
                quantity_names[i]);
    fputs(",beside\n", f);
    for (int64_t k = 0; k < t->opt.temperature_count; k++) {
        csv_numbers(f, "", &t->opt.temperatures[k], 1);
        for (int i = 0; i < QUANTITIES; i++) {
            const wisp_estimate *v = quantity(r->heat + k, i);
            csv_numbers(f, ",", (double[]){v->value, v->error, v->low, v->high}, 4);
        }
        csv_numbers(f, ",", &r->heat[k].beside, 1);
        fputc('\n', f);
    }
}

/* ---- the picture ---- */

static void write_title(const results *r, FILE *f)
{
    const wisp_moments *m = r->m;
    char n[TEXT], v[TEXT], line[4 * TEXT];
    if (m->realizations)
        snprintf(line, sizeof line, "%s moments, mean of %s realizations%s", text_count(n, r->n),
                 text_count(v, m->realizations), m->realizations == 1 ? "" : ", 95% error bands");
    else if (m->trace == WISP_TRACE_RANDOM)
        snprintf(line, sizeof line, "%s moments, %s random vector%s", text_count(n, r->n), text_count(v, m->vectors),
                 m->vectors == 1 ? "" : "s, 95% error bands");
    else
        snprintf(line, sizeof line, "%s moments, exact trace", text_count(n, r->n));
    plot_title(f, 2, r->matrix, (const char *[]){line, NULL});
}

/* Temperature, then heat capacity and entropy with the ends of their bars. */
static void write_data(const tool *t, const results *r, FILE *f)
{
    fputs("$d << EOD\n", f);
    for (int64_t k = 0; k < t->opt.temperature_count; k++) {
        if (!r->heat[k].terms) continue;
        fprintf(f, "%.10g", r->heat[k].temperature);
        for (int i = CAPACITY; i <= ENTROPY; i++) {
            const wisp_estimate *v = quantity(r->heat + k, i);
            fprintf(f, " %.7g %.7g %.7g", v->value, v->low, v->high);
        }
        fputc('\n', f);
    }
    fputs("EOD\n", f);
}

void thermal_script(const tool *t, const void *arg, FILE *f, const char *path)
{
    enum { FEW = 40 };
    static const char *const band[] = {"#a9c3ea", "#efb9bf"}, *const name[] = {"heat capacity", "entropy"};
    const results *r = arg;
    const bool bars = r->has_error && r->t95 > 0;
    const double low = t->opt.temperatures[0], high = t->opt.temperatures[t->opt.temperature_count - 1];
    plot_begin(f, path, 1, 1);
    fputs("set xlabel 'temperature (units of the matrix, k_B = 1)'\nset format x '%g'\nset format y '%g'\n"
          "set ylabel 'heat capacity, entropy (k_B)'\nset key at graph 1,1.01 right bottom horizontal samplen 2\n"
          "set yrange [0:*]\n",
          f);
    if (high > 20 * low) fputs("set logscale x\n", f);
    write_title(r, f);
    write_data(t, r, f);
    fputs("plot ", f);
    for (int i = 0; i < 2; i++) {
        const int at = 2 + 3 * i;
        if (bars)
            fprintf(f, "%s$d using 1:%d:%d with filledcurves fc rgb '%s' fs transparent solid 0.6", i ? ", " : "",
                    at + 1, at + 2, band[i]);
        fprintf(f, "%s$d using 1:%d with %s lw 1.5 lc rgb '%s' title '%s'", i || bars ? ", " : "", at,
                t->opt.temperature_count > FEW ? "lines" : "linespoints pt 7 ps 0.4", plot_color(i), name[i]);
    }
    fputc('\n', f);
}
