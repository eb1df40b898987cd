/* What belongs to moments whether or not there are HDF5 files. The moments are the caller's and may outlive the
   context: plain memory. */
#include "moments.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void wisp_moments_free(wisp_moments *m)
{
    if (!m) return;
    free(m->mu);
    free(m->imag);
    free(m->sites);
    free(m->matrix);
    free(m->command);
    free(m->points);
    memset(m, 0, sizeof *m);
}

/* A copy; of a long text (thousands of sites on a command line) its ends, for an HDF5 attribute holds 64 KiB. The last
   words may be the weights of the ranks. */
static char *label(const char *text)
{
    enum { LONGEST = 32000, END = LONGEST / 2 };
    static const char cut[] = " ... ";
    char *copy = text ? strndup(text, LONGEST) : NULL;
    const size_t length = text ? strlen(text) : 0;
    if (!copy || length <= LONGEST) return copy;
    memcpy(copy + LONGEST - END - strlen(cut), cut, strlen(cut));
    memcpy(copy + LONGEST - END, text + length - END, END);
    return copy;
}

wisp_status wisp_moments_label(wisp_ctx *ctx, wisp_moments *m, const char *matrix, const char *command)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    char *new_matrix = label(matrix), *new_command = label(command);
    if ((matrix && !new_matrix) || (command && !new_command)) {
        free(new_matrix);
        free(new_command);
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for the label of the moments");
    }
    free(m->matrix);
    free(m->command);
    m->matrix = new_matrix;
    m->command = new_command;
    return WISP_OK;
}

static bool is_point(const double *p)
{
    for (int i = 0; i < WISP_POINT; i++)
        if (!isfinite(p[i])) return false;
    const double wave = p[WISP_POINT - 1];
    return wave >= 0 && wave <= (double)((int64_t)1 << 40) && wave == floor(wave);
}

wisp_status wisp_moments_points(wisp_ctx *ctx, wisp_moments *m, int64_t count, const double *points)
{
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, m);
    if (count) WISP_NEED(ctx, points);
    for (int64_t i = 0; i < count; i++)
        if (!is_point(points + i * WISP_POINT))
            return wisp_ctx_failf(ctx, WISP_ERR_ARG, "point %lld of k has a number that is none, or not that of a wave",
                                  (long long)i);
    if (count < 0) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "%lld points of k", (long long)count);
    double *copy = count ? calloc((size_t)count, WISP_POINT * sizeof *copy) : NULL;
    if (count && !copy)
        return wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for %lld points of k", (long long)count);
    if (count) memcpy(copy, points, (size_t)count * WISP_POINT * sizeof *copy);
    free(m->points);
    m->points = copy;
    m->point_count = count;
    return WISP_OK;
}

/* ---- what must hold of moments from a file ---------------------------------------------------------- */

static bool not_negative(double x) { return isfinite(x) && x >= 0; }

/* The name of the first number that is out of its range; NULL if there is none. */
static const char *out_of_range(const wisp_moments *m)
{
    const wisp_bounds *b = &m->bounds;
    const int64_t numbers = (int64_t)1 << 32; /* of random vectors */
    const bool random = m->trace == WISP_TRACE_RANDOM;
    if (m->rows < 1) return "rows";
    if (m->nnz < 0 || m->nnz / m->rows > m->rows) return "nnz";
    if (!isfinite(b->center) || !isfinite(b->halfwidth) || !(b->halfwidth > 0)) return "center or halfwidth";
    if (!isnan(b->failure_probability) && !(b->failure_probability >= 0 && b->failure_probability <= 1))
        return "failure_probability";
    if (m->first_vector < (random ? -1 : 0) || (random && m->first_vector > numbers - m->vectors))
        return "first_vector";
    if (m->type == WISP_DEFAULT) return "type";
    if (m->width < 1) return "width";
    if (m->depth < 1) return "depth";
    if (m->threads < 1) return "threads";
    if (m->partial != 0 && m->partial != 1) return "partial";
    if (!not_negative(m->seconds) || !not_negative(m->bounds_seconds)) return "seconds or bounds_seconds";
    if (!not_negative(m->flops)) return "flops";
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (!isfinite(m->mark[i][j])) return "marks";
    if (!not_negative(m->volume)) return "volume";
    if (m->dimensions < 0 || m->dimensions > 3) return "dimensions";
    if (m->orbitals < 0) return "orbitals";
    if (m->points && (m->columns < 0 || (m->columns && m->point_count % m->columns))) return "columns";
    if (m->realizations < 0 || !not_negative(m->moved)) return "realizations or moved";
    if (m->realizations && !m->points && (random ? m->realizations != m->vectors : m->vectors % m->realizations))
        return "realizations";
    for (int64_t i = 0; i < m->point_count; i++)
        if (!is_point(m->points + i * WISP_POINT)) return "points";
    return NULL;
}

/* Of given vectors nothing is known but that mu_0 = <v|v>; with two sides nothing at all. */
static wisp_status check_first(wisp_ctx *ctx, const wisp_moments *m, int64_t v, const char *path)
{
    const double first = m->trace == WISP_TRACE_SITES ? 1 : (double)m->rows, mu_0 = m->mu[v * m->n];
    if (m->imag || (m->trace == WISP_TRACE_GIVEN ? mu_0 >= 0 : mu_0 == first)) return WISP_OK;
    if (m->trace == WISP_TRACE_GIVEN)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                              "%s: moment 0 of vector %lld is %g and can't be negative: the file is damaged", path,
                              (long long)v, mu_0);
    return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                          "%s: moment 0 of vector %lld is %.17g and must be %.17g: the file is damaged", path,
                          (long long)v, mu_0, first);
}

/* mu_0 = <v|v> is exact for every kind of vector, and no |<v|T_n|v>| is larger, but for rounding and the guard's
   allowance. */
static wisp_status check_moments(wisp_ctx *ctx, const wisp_moments *m, const char *path)
{
    const double allowed = wisp__is_single(m->type) ? 1 + 1e-2 : 1 + 1e-4;
    wisp_status status = WISP_OK;
    for (int64_t v = 0; v < m->vectors; v++) {
        const double *mu = m->mu + v * m->n;
        for (int64_t n = 0; n < m->n; n++)
            if (!isfinite(mu[n]) || (m->imag && !isfinite(m->imag[v * m->n + n])))
                return wisp_ctx_failf(ctx, WISP_ERR_NUMERIC, "%s: moment %lld of vector %lld is not finite", path,
                                      (long long)n, (long long)v);
        WISP_TRY(check_first(ctx, m, v, path));
        for (int64_t n = 1; n < m->n && !m->imag; n++)
            if (!(fabs(mu[n]) <= mu[0] * allowed))
                return wisp_ctx_failf(ctx, WISP_ERR_FORMAT,
                                      "%s: moment %lld of vector %lld is %g, more than moment 0: the file is damaged",
                                      path, (long long)n, (long long)v, mu[n]);
    }
out:
    return status;
}

wisp_status wisp__moments_check(wisp_ctx *ctx, const wisp_moments *m, const char *path)
{
    const char *name = out_of_range(m);
    if (name)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: %s is out of range; is it a moments file of wisp?", path,
                              name);
    if (m->trace == WISP_TRACE_EXACT && m->vectors != 1)
        return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: %lld vectors, and an exact trace is one", path,
                              (long long)m->vectors);
    for (int64_t v = 0; m->sites && v < m->vectors; v++)
        if (m->sites[v] < 0 || m->sites[v] >= m->rows)
            return wisp_ctx_failf(ctx, WISP_ERR_FORMAT, "%s: sites names row %lld; the matrix has rows 0 to %lld", path,
                                  (long long)m->sites[v], (long long)m->rows - 1);
    return check_moments(ctx, m, path);
}
