/* What the density of states says, by the kernel polynomial method: how many eigenvalues lie between two energies, and
   whether that agrees with those that were found. */
#include <stdlib.h>
#include "chebfd.h"

wisp_status wisp__chebfd_mean(wisp__chebfd *c)
{
    const int64_t moments = c->m->n;
    free(c->mean.mu);
    c->mean = *c->m;
    c->mean.vectors = 1;
    c->mean.mu = calloc((size_t)moments, sizeof *c->mean.mu);
    if (!c->mean.mu)
        return wisp_ctx_failf(c->k->ctx, WISP_ERR_NOMEM, "eig: out of memory for %lld moments", (long long)moments);
    return wisp_moments_mean(c->k->ctx, c->m, WISP_REAL_PART, c->mean.mu, NULL);
}

wisp_kpm_opts wisp__chebfd_look_opts(const wisp__chebfd *c, int64_t moments)
{
    const wisp__eig *k = c->k;
    return (wisp_kpm_opts){.moments = moments,
                           .vectors = WISP__VECTORS,
                           .seed = k->o.seed,
                           .type = k->type,
                           .bounds = k->o.bounds,
                           .width = c->row_bytes / (int)wisp_type_size(k->type)};
}

double wisp__chebfd_states(void *arg, double from, double to)
{
    const wisp__chebfd *c = arg;
    double count = 0;
    if (!(from < to)) return 0;
    if (wisp_count(c->k->ctx, &c->mean, NULL, -1, from, to, &count, NULL) != WISP_OK) return 0;
    return fmax(count, 0);
}

double wisp__chebfd_beside(void *arg, double from, double to)
{
    wisp__chebfd *c = arg;
    const double level = wisp__chebfd_states(c, c->at.level[0], c->at.level[1]),
                 part = wisp__chebfd_states(c, fmax(from, c->at.level[0]), fmin(to, c->at.level[1]));
    return wisp__chebfd_states(c, from, to) - (level > 0 ? part - part / level * fmin(c->k->o.count, level) : 0);
}

double wisp__chebfd_bar(const wisp__chebfd *c, double low, double high, double *count)
{
    double error = 0, from, to;
    *count = 0;
    if (wisp_count(c->k->ctx, c->m, NULL, -1, low, high, count, &error) != WISP_OK) return INFINITY;
    wisp_bars95(c->m, NULL, 1, count, &error, &from, &to);
    return fmax(to - *count, *count - from);
}

wisp_status wisp__chebfd_compare(const wisp__chebfd *c, int n, const double *theta, double *missing, double *error)
{
    /* The density's count of low .. high sees each eigenvalue through Jackson's kernel: so do the ones that were
       found, as moments of a matrix that has them alone. */
    wisp_moments found = *c->m;
    wisp_status status = WISP_OK;
    double count, seen = 0;
    found.vectors = 1;
    found.mu = calloc((size_t)found.n, sizeof *found.mu);
    if (!found.mu) return wisp_ctx_failf(c->k->ctx, WISP_ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        const double t = acos(fmax(-1, fmin(1, (theta[i] - found.bounds.center) / found.bounds.halfwidth)));
        for (int64_t j = 0; j < found.n; j++) found.mu[j] += cos((double)j * t);
    }
    *error = wisp__chebfd_bar(c, c->low, c->high, &count);
    status = wisp_count(c->k->ctx, &found, NULL, -1, c->low, c->high, &seen, NULL);
    *missing = count - seen;
    free(found.mu);
    return status;
}
