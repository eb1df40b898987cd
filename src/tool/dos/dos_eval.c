/* From moments to densities of states and counts, with their errors. */
#include "dos.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many moments to use: all, or the fewer that the options ask for (after --from). */
static int choose_moments(tool *t, results *r)
{
    const wisp_moments *m = r->m;
    double h = m->bounds.halfwidth;
    r->n = m->n;
    if (!t->opt.from) return EXIT_FINE;
    if (t->opt.moments) r->n = t->opt.moments;
    if (t->opt.resolution > 0) r->n = wisp_moments_for(h, t->opt.resolution);
    if (r->n > m->n)
        return tool_fail(t, "%s holds %lld moments, which reach a resolution of %.4g; %lld are asked for", t->opt.from,
                         (long long)m->n, wisp_resolution(h, m->n), (long long)r->n);
    return EXIT_FINE;
}

/* Vectors of --sites and --left-sites are named by their rows; in files of moments they have no names. */
static int name_pairs(tool *t, results *r)
{
    const options *o = &t->opt;
    if (o->from || !o->site_count || !o->left_site_count) return EXIT_FINE;
    if (wisp_alloc(t->ctx, &r->left_site, (size_t)r->curves, sizeof *r->left_site)) return tool_fail_ctx(t);
    const int64_t wanted = o->site_count > 1 ? o->site_count : o->left_site_count;
    for (int64_t c = 0; c < r->curves; c++) {
        r->site[c] = o->sites[o->site_count > 1 ? c % wanted : 0];
        r->left_site[c] = o->left_sites[o->left_site_count > 1 ? c % wanted : 0];
    }
    return EXIT_FINE;
}

/* ldos, green: the rows of the moments, or those that --sites picks among them; or the vectors that were given. */
static int choose_sites(tool *t, results *r)
{
    const wisp_moments *m = r->m;
    const bool pick = t->opt.from && t->opt.site_count;
    const int64_t N = m->realizations > 1 ? m->realizations : 1, each = m->vectors / N;
    r->given = m->trace == WISP_TRACE_GIVEN;
    if (pick && r->given) return tool_fail(t, "%s holds the moments of vectors, and --sites picks rows", t->opt.from);
    const int64_t wanted = pick ? t->opt.site_count : each;
    r->curves = N * wanted;
    if (wisp_alloc(t->ctx, &r->site, (size_t)r->curves, sizeof *r->site) ||
        wisp_alloc(t->ctx, &r->vector, (size_t)r->curves, sizeof *r->vector))
        return tool_fail_ctx(t);
    for (int64_t c = 0; c < r->curves; c++) {
        int64_t v = pick ? 0 : c % wanted;
        if (pick)
            while (v < each && m->sites[v] != t->opt.sites[c % wanted]) v++;
        if (v == each)
            return tool_fail(t, "%s holds no moments of row %lld", t->opt.from, (long long)t->opt.sites[c % wanted]);
        r->site[c] = r->given ? v : m->sites[v];
        r->vector[c] = c / wanted * each + v;
    }
    return r->given ? name_pairs(t, r) : EXIT_FINE;
}

static int make_grid(tool *t, results *r)
{
    const int64_t listed = t->opt.energy_count;
    r->points = listed ? listed : t->opt.points ? t->opt.points : r->n > 512 ? 2 * r->n : 1024;
    if (wisp_alloc(t->ctx, &r->energy, (size_t)r->points, sizeof(double)) ||
        wisp_alloc(t->ctx, &r->dos, (size_t)r->points, (size_t)r->curves * sizeof(double)) ||
        wisp_alloc(t->ctx, &r->error, (size_t)r->points, (size_t)r->curves * sizeof(double)) ||
        wisp_alloc(t->ctx, &r->low, (size_t)r->points, (size_t)r->curves * sizeof(double)) ||
        wisp_alloc(t->ctx, &r->high, (size_t)r->points, (size_t)r->curves * sizeof(double)) ||
        wisp_alloc(t->ctx, &r->integral, (size_t)r->curves, sizeof(double)) ||
        (r->m->imag && !of_green(t) &&
         wisp_alloc(t->ctx, &r->dos_im_error, (size_t)r->points, (size_t)r->curves * sizeof(double))) ||
        (r->m->imag && !of_green(t) &&
         wisp_alloc(t->ctx, &r->dos_im, (size_t)r->points, (size_t)r->curves * sizeof(double))))
        return tool_fail_ctx(t);
    if (listed) {
        memcpy(r->energy, t->opt.energies, (size_t)listed * sizeof *r->energy);
        return EXIT_FINE;
    }
    /* A count is drawn with the whole spectrum around it. */
    if (!r->interval_given || t->cmd->bit == CMD_COUNT) {
        wisp_energies(&r->m->bounds, r->points, r->energy);
        return EXIT_FINE;
    }
    double a = r->interval[0], b = r->interval[1];
    for (int64_t i = 0; i < r->points; i++) r->energy[i] = a + (b - a) * ((double)i / (double)(r->points - 1));
    r->energy[r->points - 1] = b;
    return EXIT_FINE;
}

static double trapezoid(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 1; i < n; i++) sum += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1]);
    return sum;
}

static double largest_density(const results *r)
{
    double most = 0;
    for (int64_t i = 0; i < r->points; i++) most = fmax(most, r->m->imag ? fabs(r->dos[i]) : r->dos[i]);
    return most;
}

/* Median of half of the 95% bar over the value, where the density is above a twentieth of its maximum; with an
   operator, whose values have either sign, over the largest of them. */
static double typical_bar(tool *t, const results *r)
{
    double *bars, median = NAN;
    const double most = largest_density(r);
    int64_t n = 0;
    if (r->site || !r->has_error || wisp_alloc(t->ctx, &bars, (size_t)r->points, sizeof *bars)) return NAN;
    for (int64_t i = 0; i < r->points; i++)
        if (r->m->imag ? most > 0 : r->dos[i] > 0.05 * most)
            bars[n++] = 0.5 * (r->high[i] - r->low[i]) / (r->m->imag ? most : r->dos[i]);
    if (n > 0) {
        qsort(bars, (size_t)n, sizeof *bars, by_value);
        median = bars[n / 2];
    }
    wisp_free(t->ctx, bars);
    return median;
}

/* Where bars are missing, and where they are less sure: about three states or rows make up the density, or fewer. */
static void count_doubtful(results *r)
{
    const double few = 0.3; /* variance of a vector's density over the square of the mean */
    const double most = largest_density(r);
    for (int64_t i = 0; i < r->points; i++) {
        const double variance = r->error[i] * r->error[i] * (double)r->m->vectors;
        r->agreed += r->dos[i] > 0 && r->low[i] == r->high[i];
        r->few += r->dos[i] > 0.05 * most && variance > few * r->dos[i] * r->dos[i];
    }
}

/* The densities of one curve, and their bars, by what --per says. */
static void divide(results *r, size_t at)
{
    for (int64_t i = 0; r->per != 1 && i < r->points; i++) {
        r->dos[at + (size_t)i] /= r->per;
        r->error[at + (size_t)i] /= r->per;
        r->low[at + (size_t)i] /= r->per;
        r->high[at + (size_t)i] /= r->per;
    }
}

/* The imaginary parts of a curve of <b|delta(E - H)|a> or tr B delta(E - H). */
static wisp_status evaluate_imaginary(tool *t, results *r, int64_t c)
{
    wisp_eval_opts o = r->eval;
    wisp_status status;
    o.part = WISP_IMAGINARY_PART;
    if (!r->dos_im) return WISP_OK;
    double *value = r->dos_im + c * r->points, *error = r->dos_im_error + c * r->points;
    WISP_TRY(wisp_dos(t->ctx, r->m, &o, r->site ? r->vector[c] : -1, r->points, r->energy, value, error));
    for (int64_t i = 0; r->per != 1 && i < r->points; i++) value[i] /= r->per, error[i] /= r->per;
out:
    return status;
}

static wisp_status evaluate_curve(tool *t, results *r, int64_t c)
{
    const size_t at = (size_t)(c * r->points);
    wisp_status status;
    WISP_TRY(wisp_dos(t->ctx, r->m, &r->eval, r->site ? r->vector[c] : -1, r->points, r->energy, r->dos + at,
                      r->error + at));
    wisp_bars95(r->m, &r->eval, r->points, r->dos + at, r->error + at, r->low + at, r->high + at);
    divide(r, at);
    WISP_TRY(evaluate_imaginary(t, r, c));
    r->integral[c] = t->opt.energy_count ? NAN : trapezoid(r->points, r->energy, r->dos + at);
out:
    return status;
}

/* A mean over realizations that were not saved is of those that are whole when the evaluation is stopped. */
static int evaluate_curves(tool *t, results *r)
{
    for (int64_t c = 0; c < r->curves;) {
        wisp_status status = realizations_step(t, r, c);
        if (status == WISP_OK) status = evaluate_curve(t, r, c);
        if (status == WISP_OK)
            c++;
        else if (status != WISP_ERR_CANCELLED || !realizations_cut(t, r, c))
            return tool_fail_ctx(t);
    }
    return EXIT_FINE;
}

static int evaluate_dos(tool *t, results *r)
{
    int rc = make_grid(t, r);
    if (rc) return rc;
    if (of_green(t)) return green_evaluate(t, r);
    if ((rc = evaluate_curves(t, r))) return rc;
    if (of_spectral(t) && (rc = spectral_evaluate(t, r))) return rc;
    realizations_fold(r);
    r->bar = typical_bar(t, r);
    if (r->m->trace == WISP_TRACE_RANDOM && r->has_error && !r->m->imag && !r->m->realizations) count_doubtful(r);
    for (int64_t i = 1; i < r->points; i++) r->spacing = fmax(r->spacing, r->energy[i] - r->energy[i - 1]);
    if (r->spacing > r->resolution && t->cmd->bit != CMD_COUNT && !t->opt.energy_count)
        wisp_ctx_logf(
            t->ctx, WISP_LOG_WARN,
            "energies are up to %.3g apart, more than the resolution of %.3g: peaks may lie between them, and the "
            "integral means nothing; --points gives more",
            r->spacing, r->resolution);
    return EXIT_FINE;
}

/* The count with its bar, that of the states outside if those are fewer; and the smearing, the states within a
   resolution of the ends. A state at a distance of x resolutions from an end is by Phi(-x) on the wrong side of it
   (Phi: the normal distribution's), and counts Phi(1 - x) - Phi(-1 - x) for the smearing, which is more (but for 1e-4
   in the far tail). */
static int evaluate_count(tool *t, results *r)
{
    const double resolution = r->resolution, rows = (double)r->m->rows;
    double a = r->interval[0], b = r->interval[1], near[2], outside, low, high;
    if (wisp_count(t->ctx, r->m, &r->eval, -1, a, b, &r->count, &r->count_error)) return tool_fail_ctx(t);
    wisp_bars95(r->m, &r->eval, 1, &r->count, &r->count_error, &r->count_low, &r->count_high);
    if (r->count > 0.5 * rows && r->count_high > r->count_low) {
        outside = rows - r->count;
        wisp_bars95(r->m, &r->eval, 1, &outside, &r->count_error, &low, &high);
        r->count_low = rows - high, r->count_high = rows - low;
    }
    for (int i = 0; i < 2; i++) {
        near[i] = 0;
        if (isfinite(r->interval[i]) && wisp_count(t->ctx, r->m, &r->eval, -1, r->interval[i] - resolution,
                                                   r->interval[i] + resolution, &near[i], NULL))
            return tool_fail_ctx(t);
    }
    r->count_smearing = fmax(0, near[0]) + fmax(0, near[1]);
    return EXIT_FINE;
}

int results_evaluate(tool *t, results *r)
{
    const wisp_moments *m = r->m;
    bool local = m->trace == WISP_TRACE_SITES || m->trace == WISP_TRACE_GIVEN;
    if (m->square) return tool_fail(t, "%s holds moments of two velocities, for conductivities", t->opt.from);
    if (m->imag && !local && t->cmd->bit != CMD_DOS)
        return tool_fail(t, "%s holds moments with an operator; see wisp dos --from", t->opt.from);
    if (local != of_rows(t))
        return tool_fail(t, "%s holds the moments of %s; see wisp %s --from", t->opt.from,
                         !local                         ? "a trace"
                         : m->trace == WISP_TRACE_SITES ? "single rows"
                                                        : "vectors that were given",
                         local ? "ldos" : "dos");
    int rc = choose_moments(t, r);
    if (rc) return rc;
    r->eval = (wisp_eval_opts){.kernel = (wisp_damping)t->opt.kernel, .lambda = t->opt.lambda, .n = r->n};
    r->resolution = wisp_resolution(m->bounds.halfwidth, r->n);
    r->has_error = m->trace != WISP_TRACE_RANDOM || m->vectors > 1;
    r->t95 = m->trace == WISP_TRACE_RANDOM ? wisp_student95(m->vectors) : 0;
    r->bar = NAN;
    r->curves = 1;
    r->per = t->opt.per > 0 ? t->opt.per : t->opt.per < 0 ? (double)m->rows : 1;
    r->interval_given = option_seen(&t->opt, "interval");
    memcpy(r->interval, t->opt.interval, sizeof r->interval);
    if (local) {
        if ((rc = choose_sites(t, r))) return rc;
    } else if (wisp_alloc(t->ctx, &r->mean, (size_t)m->n, sizeof(double)) ||
               wisp_alloc(t->ctx, &r->mean_error, (size_t)m->n, sizeof(double)) ||
               wisp_moments_mean(t->ctx, m, WISP_REAL_PART, r->mean, r->mean_error)) {
        return tool_fail_ctx(t);
    }
    if (t->cmd->bit == CMD_COUNT && (rc = evaluate_count(t, r))) return rc;
    return t->cmd->bit != CMD_COUNT || t->opt.plot ? evaluate_dos(t, r) : EXIT_FINE;
}

void results_free(tool *t, results *r)
{
    void *arrays[] = {r->site,         r->vector,   r->energy,         r->dos,        r->error,
                      r->low,          r->high,     r->integral,       r->mean,       r->mean_error,
                      r->heat,         r->green,    r->beside,         r->dos_im,     r->left_site,
                      r->dos_im_error, r->spectral, r->spectral_error, r->green_error};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) wisp_free(t->ctx, arrays[i]);
    wisp_cooled_free(&r->cooled);
    kpath_free(&r->path);
    more_free(&r->more);
    free(r->where);
    free(r->operator);
}
