/* Moments of several runs with random vectors, taken together as those of one. */
#include "../marks.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds that were printed and read again differ by rounding. */
static int same_bounds(const wisp_bounds *a, const wisp_bounds *b)
{
    const double little = 16 * DBL_EPSILON * (fabs(a->center) + a->halfwidth);
    return fabs(a->center - b->center) <= little && fabs(a->halfwidth - b->halfwidth) <= little;
}

static wisp_status no_fit(wisp_ctx *ctx, const char *why) { return wisp_ctx_fail(ctx, WISP_ERR_MISMATCH, why); }

/* Whether a run can be taken together with any other. */
static wisp_status check_run(wisp_ctx *ctx, const wisp_moments *run)
{
    if (!run->mu || run->vectors < 1 || run->n < 1)
        return wisp_ctx_failf(ctx, WISP_ERR_ARG, "there are no moments: no vector was completed");
    if (run->trace != WISP_TRACE_RANDOM)
        return no_fit(ctx, "only the moments of random vectors can be taken together, not exact traces or rows");
    if (run->realizations > 0)
        return no_fit(ctx, "moments of several realizations of disorder can't be taken together with others");
    return WISP_OK;
}

/* What is known of the samples, and of the matrices by what they do. */
static wisp_status check_sample(wisp_ctx *ctx, const wisp_moments *a, const wisp_moments *b)
{
    if (a->direction && b->direction && a->direction != b->direction)
        return no_fit(ctx, "they are of other components of the conductivity");
    if (wisp__marks_differ(a, b, 0)) return no_fit(ctx, "their matrices have other entries");
    if (wisp__marks_differ(a, b, 1))
        return no_fit(ctx, a->square ? "the velocities V_a differ" : "their operators on the left differ");
    if (wisp__marks_differ(a, b, 2)) return no_fit(ctx, "the velocities V_b differ");
    if (a->volume > 0 && b->volume > 0 && !(fabs(a->volume - b->volume) <= 1e-12 * a->volume))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "their volumes differ: %.17g and %.17g", a->volume, b->volume);
    if (a->dimensions && b->dimensions && a->dimensions != b->dimensions)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "they have %d and %d dimensions", a->dimensions, b->dimensions);
    return WISP_OK;
}

wisp_status wisp_moments_fit(wisp_ctx *ctx, const wisp_moments *a, const wisp_moments *b)
{
    wisp_status status;
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, a);
    WISP_NEED(ctx, b);
    if ((status = check_run(ctx, a)) != WISP_OK || (status = check_run(ctx, b)) != WISP_OK) return status;
    if (a->rows != b->rows || a->nnz != b->nnz)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                              "their matrices differ: %lld rows with %lld entries, and %lld with %lld",
                              (long long)a->rows, (long long)a->nnz, (long long)b->rows, (long long)b->nnz);
    if (a->matrix && b->matrix && strcmp(wisp_matrix_name(a->matrix), wisp_matrix_name(b->matrix)))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "their matrices have other names: %.200s and %.200s", a->matrix,
                              b->matrix);
    if (a->type != b->type)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "their vectors differ: %s and %s", wisp_type_name(a->type),
                              wisp_type_name(b->type));
    if (!a->imag != !b->imag)
        return no_fit(ctx, "one of them has an operator on the left (opts.adjoint), the other has none");
    if (a->square != b->square)
        return no_fit(ctx, "one of them has moments of two velocities (wisp_kubo), the other has not, or fewer");
    if (a->n != b->n)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "they have %lld and %lld moments", (long long)a->n,
                              (long long)b->n);
    if ((status = check_sample(ctx, a, b)) != WISP_OK) return status;
    if (!same_bounds(&a->bounds, &b->bounds))
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH,
                              "their bounds differ: give the later run the opts.bounds of the earlier one, %.17g,%.17g",
                              a->bounds.center - a->bounds.halfwidth, a->bounds.center + a->bounds.halfwidth);
    if (a->first_vector < 0 || b->first_vector < 0)
        return no_fit(ctx, "one of them is of several runs already; take these instead");
    if (a->seed == b->seed && a->first_vector < b->first_vector + b->vectors &&
        b->first_vector < a->first_vector + a->vectors)
        return wisp_ctx_failf(ctx, WISP_ERR_MISMATCH, "both have vectors of seed %llu, which would count twice",
                              (unsigned long long)a->seed);
    return WISP_OK;
}

/* All but the moments themselves. */
static void add_run(wisp_moments *m, const wisp_moments *run)
{
    /* One stretch of vectors of one seed is as if it had been one run. */
    if (run->seed != m->seed || run->first_vector != m->first_vector + m->vectors) m->first_vector = -1;
    m->vectors += run->vectors;
    m->seconds += run->seconds;
    m->flops += run->flops;
    m->bounds_seconds += run->bounds_seconds;
    m->partial |= run->partial;
    for (int i = 0; i < 3; i++)
        if (m->mark[i][0] == 0) memcpy(m->mark[i], run->mark[i], sizeof run->mark[i]);
    if (m->volume == 0) m->volume = run->volume;
    if (m->dimensions == 0) m->dimensions = run->dimensions;
    if (m->direction == 0) m->direction = run->direction;
}

wisp_status wisp_moments_merge(wisp_ctx *ctx, wisp_moments *m, const wisp_moments *runs, int64_t count)
{
    wisp_status status = WISP_OK;
    int64_t vectors = 0;
    WISP_NEED(ctx, m);
    *m = (wisp_moments){0};
    WISP_NEED(NULL, ctx);
    WISP_NEED(ctx, runs);
    if (count < 1) return wisp_ctx_failf(ctx, WISP_ERR_ARG, "there are no runs to take together");
    for (int64_t i = 0; i < count; i++) {
        WISP_TRY(check_run(ctx, &runs[i]));
        for (int64_t j = 0; j < i; j++) WISP_TRY(wisp_moments_fit(ctx, &runs[j], &runs[i]));
        vectors += runs[i].vectors;
    }
    const size_t row = (size_t)runs[0].n * sizeof *m->mu;
    *m = runs[0];
    m->sites = NULL, m->matrix = NULL, m->command = NULL, m->mu = m->imag = m->points = NULL;
    if (!(m->mu = calloc((size_t)vectors, row)) || (runs[0].imag && !(m->imag = calloc((size_t)vectors, row)))) {
        status =
            wisp_ctx_failf(ctx, WISP_ERR_NOMEM, "out of memory for the moments of %lld vectors", (long long)vectors);
        goto out;
    }
    m->vectors = 0;
    for (int64_t i = 0; i < count; i++) {
        memcpy(m->mu + m->vectors * m->n, runs[i].mu, (size_t)runs[i].vectors * row);
        if (m->imag) memcpy(m->imag + m->vectors * m->n, runs[i].imag, (size_t)runs[i].vectors * row);
        if (i > 0)
            add_run(m, &runs[i]);
        else
            m->vectors = runs[0].vectors;
    }
    WISP_TRY(wisp_moments_label(ctx, m, runs[0].matrix, runs[0].command));
out:
    if (status != WISP_OK) wisp_moments_free(m);
    return status;
}
