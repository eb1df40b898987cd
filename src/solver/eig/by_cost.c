/* NEAREST by default: factors where they fit and take less than a filter. What they take is known once their rows are
   ordered; of a filter a first look at the density tells, so that it may come to factors after that. */
#include <stdlib.h>
#include <string.h>
#include "inverse.h"

enum { MOST_ROWS = 1000000 }; /* to order more takes long */

/* Options that only a filter has ask for one. */
static bool may_invert(const wisp__eig *k)
{
    wisp_mat_info info;
    wisp__pencil pencil;
    const wisp_eig_opts *o = &k->o;
    wisp_mat_get_info(wisp__eig_pencil(k, &pencil) ? pencil.A : k->A, &info);
    return o->method == WISP_CHEBFD && o->which == WISP_EIG_NEAREST && k->hermitian && k->rows <= MOST_ROWS &&
           o->filter_type == WISP_DEFAULT && o->row_bytes == 0 && o->search == 0 &&
           info.format != WISP_FORMAT_OPERATOR && wisp_ctx_processes(k->ctx) == 1 &&
           strcmp(wisp_ctx_device(k->ctx), "cpu") == 0 && strstr(wisp_features(), "mumps") != NULL;
}

/* All that a run with the inverse takes; -1: not known. */
static int64_t bytes_of_run(wisp__eig *k)
{
    const wisp_eig_method method = k->o.method;
    wisp_plan plan = {0};
    wisp_eig_choice choice = {0};
    k->o.method = WISP_EIG_INVERT;
    const wisp_status status = wisp__eig_plan_lanczos(k, &plan, &choice);
    k->o.method = method;
    return status == WISP_OK ? plan.bytes_most + wisp__inverse_bytes(k->inverse) : -1;
}

/* Within the limit of the options, and that of the context, which counts `held` of them already. */
static bool has_room(const wisp__eig *k, int64_t bytes, int64_t held)
{
    if (bytes < 0 || (k->o.bytes > 0 && bytes > k->o.bytes)) return false;
    if (wisp_ctx_count_memory(k->ctx, bytes - held) != WISP_OK) return false;
    wisp_ctx_count_memory(k->ctx, held - bytes);
    return true;
}

static void take_inverse(wisp__eig *k)
{
    k->o.method = WISP_EIG_INVERT;
    k->most_work = k->dense_work;
    if (k->default_rounds) k->o.max_rounds = WISP__RESTARTS;
}

/* A filter it is. What kept the inverse from it is no failure of the call: the log alone has it. */
static wisp_status refuse_inverse(wisp__eig *k, int64_t bytes)
{
    if (bytes > 0)
        wisp_ctx_logf(k->ctx, WISP_LOG_INFO,
                      "eig: chebfd, for with factors of %s a run takes about %.3g MB, and there is less room",
                      wisp__inverse_of(k->inverse), (double)bytes / 1e6);
    wisp__inverse_close(k);
    return WISP_OK;
}

wisp_status wisp__eig_by_cost(wisp__eig *k)
{
    int64_t before, now;
    k->dense_work = k->most_work;
    if (!may_invert(k)) return WISP_OK;
    if (wisp__eig_is_kept(k, WISP_EIG_INVERT)) {
        take_inverse(k);
        return wisp__inverse_open(k);
    }
    wisp_ctx_memory(k->ctx, &before, NULL);
    const wisp_status status = wisp__inverse_open(k);
    wisp_ctx_memory(k->ctx, &now, NULL);
    if (status == WISP_ERR_CANCELLED) return status;
    if (status != WISP_OK) return refuse_inverse(k, 0);
    k->invert_work = wisp__inverse_work(k->inverse);
    k->filter_work = WISP__TIMES_LOOK * wisp__chebfd_least_work(k);
    const int64_t bytes = bytes_of_run(k);
    if (!(k->invert_work < k->most_work)) {
        wisp__inverse_close(k);
    } else if (!has_room(k, bytes, now - before)) {
        return refuse_inverse(k, bytes);
    } else if (k->o.resume || k->invert_work > k->filter_work) {
        k->most_work = k->invert_work;
    } else {
        wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: factors take less than a filter by its first look: invert");
        take_inverse(k);
    }
    return WISP_OK;
}

void wisp__eig_keep_filter(wisp__eig *k)
{
    if (k->o.method != WISP_CHEBFD || !k->inverse) return;
    wisp__inverse_close(k);
    k->most_work = k->dense_work;
}

wisp_status wisp__eig_over_to_inverse(wisp__eig *k)
{
    wisp_eigen *e = k->e;
    wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: factors take less than a filter: invert");
    wisp__eig_begin_anew(k);
    wisp_moments_free(e->moments);
    free(e->moments);
    e->moments = NULL;
    e->expected = e->expected_error = NAN;
    e->low = e->high = 0;
    e->row_bytes = 0;
    take_inverse(k);
    e->method = WISP_EIG_INVERT;
    return wisp__eig_lanczos(k);
}
