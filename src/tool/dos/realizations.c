/* Densities of several realizations of disorder: those of rows, vectors and plane waves, whose moments are all kept,
   are evaluated one by one, and become means with bars. (Of a trace a realization is one vector of the moments.) */
#include "dos.h"

int64_t realizations_of(const results *r) { return r->site && r->m->realizations > 1 ? r->m->realizations : 1; }

static int64_t curves_of_each(const results *r) { return r->curves / realizations_of(r); }

wisp_status realizations_step(tool *t, const results *r, int64_t curve)
{
    if (realizations_of(r) == 1 || curve % curves_of_each(r)) return WISP_OK;
    return wisp_ctx_step(t->ctx, "averaging", (double)curve / (double)r->curves, 0);
}

bool realizations_cut(tool *t, results *r, int64_t curve)
{
    if (!t->opt.average || !r->site || t->done || t->keeping) return false;
    const int64_t each = curves_of_each(r), whole = curve < each ? 1 : curve / each;
    tool_keep(t);
    if (wisp_ctx_rank(t->ctx) > 0) return true; /* it writes nothing, and must not end the first one */
    r->m->partial |= whole < r->m->realizations;
    r->m->realizations = (int)whole;
    r->m->vectors = r->curves = whole * each;
    return true;
}

void realizations_fold(results *r)
{
    const int64_t N = realizations_of(r), each = curves_of_each(r), all = each * r->points;
    if (r->m->realizations == 1 && r->site) r->has_error = false;
    if (N == 1) return;
    average_fold(N, all, r->dos, r->error);
    average_bars(N, all, !r->dos_im && r->eval.kernel != WISP_DIRICHLET, r->dos, r->error, r->low, r->high);
    if (r->dos_im) average_fold(N, all, r->dos_im, r->dos_im_error);
    average_fold(N, each, r->integral, NULL);
    r->curves = each;
    r->t95 = wisp_student95(N);
}

double realizations_moment(const results *r, const double *mu, int64_t vector, int64_t k, double *error)
{
    const wisp_moments *m = r->m;
    const int64_t N = realizations_of(r), each = m->vectors / N;
    const double mean = average_mean(N, each * m->n, mu + vector * m->n + k, error);
    if (N == 1) *error = 0;
    return mean;
}
