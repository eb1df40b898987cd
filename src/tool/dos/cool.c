/* --cool of wisp thermal: temperatures that moments do not serve, by states that wisp_cool cools. */
#include "dos.h"
#include "../names.h"
#include <stdlib.h>
#include <string.h>

#define COOLED "cooled vectors"
#define COOL_MOMENTS "moments of " COOLED /* only where a state of this part of the run is through */

int cool_check(tool *t)
{
    const options *o = &t->opt;
    if (!o->cool) return EXIT_FINE;
    if (o->trace == WISP_TRACE_EXACT) return tool_usage(t, "--cool is for random vectors, not for --trace exact");
    if (o->partition) return tool_usage(t, "--cool does not go with --partition");
    if (o->average) return tool_usage(t, "--cool does not go with --average");
    return EXIT_FINE;
}

/* ---- states ---- */

typedef struct {
    tool *t;
    wisp_moments *m;
} offered;

/* What moments hang on, and wisp_cool does not look at. */
static wisp_status same_options(const options *o, wisp_state *s)
{
    wisp_status status;
    WISP_TRY(wisp_state_samef(s, "--moments", "%lld", (long long)o->moments));
    if (o->bounds_method == WISP_BOUNDS_GIVEN)
        status = wisp_state_samef(s, "--bounds", "%.17g,%.17g", o->bounds[0], o->bounds[1]);
    else
        status = wisp_state_same(s, "--bounds", bounds_names[o->bounds_method]);
out:
    return status;
}

/* A whole state has the moments, so that they are not computed anew. A wisp_items_fn. */
static wisp_status moments_items(void *arg, wisp_state *s)
{
    const offered *of = arg;
    wisp_moments *m = of->m;
    wisp_status status;
    WISP_TRY(same_options(&of->t->opt, s));
    WISP_TRY(wisp_state_moments(s, COOLED, m));
    if (wisp_state_is_kept(s) && m->n != of->t->kept.layout.moments) {
        status = wisp_ctx_failf(of->t->ctx, WISP_ERR_FORMAT, "a state of cooling that can't be: %lld moments, not %lld",
                                (long long)m->n, (long long)of->t->kept.layout.moments);
        wisp_moments_free(m);
    }
out:
    return status;
}

bool cool_resumes(const tool *t)
{
    const char *solver = t->resumed ? wisp_state_words(t->resumed, "solver") : NULL;
    return solver && !strcmp(solver, "cool");
}

bool cool_has_moments(const tool *t) { return t->resumed && wisp_state_bytes(t->resumed, COOL_MOMENTS) > 0; }

wisp_status cool_take_moments(tool *t, wisp_moments *m)
{
    offered of = {t, m};
    wisp_ctx_enter(t->ctx);
    *m = (wisp_moments){0};
    return wisp_ctx_leave(t->ctx, moments_items(&of, t->resumed));
}

static int offer(void *arg, wisp_state *s)
{
    offered *o = arg;
    if (wisp_state_is_whole(s) && wisp_state_add(s, moments_items, o)) return 1;
    return checkpoint_offer(o->t, s);
}

/* ---- the run ---- */

static wisp_cool_opts options_of(const tool *t, int64_t temperatures)
{
    return (wisp_cool_opts){.temperatures = temperatures,
                            .vectors = t->opt.vectors,
                            .first_vector = t->opt.first_vector,
                            .seed = t->opt.seed};
}

/* Stopped, it keeps the vectors of whole batches. */
int cool_run(tool *t, results *r, const wisp_mat *A)
{
    offered o = {t, r->m};
    double *falling = NULL;
    if (!t->opt.cool) return EXIT_FINE;
    int rc = tool_agree(t, thermal_served(t, r));
    const int64_t count = t->opt.temperature_count - r->served;
    if (rc || !count) return rc;
    const double start = wisp_now();
    wisp_cool_opts c = options_of(t, count);
    wisp_status status;
    WISP_TRY(wisp_alloc(t->ctx, &falling, (size_t)count, sizeof *falling));
    for (int64_t i = 0; i < count; i++) falling[i] = t->opt.temperatures[count - 1 - i];
    c.temperature = falling;
    c.bounds = (wisp_bounds_opts){.method = WISP_BOUNDS_GIVEN, .given = r->m->bounds};
    if (t->checkpoint) c.offer = offer, c.offer_arg = &o;
    if (cool_resumes(t)) c.resume = t->resumed;
    checkpoint_again(t, NULL, NULL);
    status = wisp_cool(&r->cooled, A, &c);
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
out:
    wisp_free(t->ctx, falling);
    r->cool_seconds = wisp_now() - start;
    if (status == WISP_ERR_CANCELLED && (checkpoint_ended(t) || t->kept.file)) return checkpoint_stopped(t);
    r->cool_cut = status == WISP_ERR_CANCELLED;
    if (r->cool_cut)
        tool_keep(t);
    else if (status)
        rc = tool_fail_matrix(t, status);
    return rc;
}

int64_t cool_bytes(const tool *t, const wisp_mat_info *A, int64_t vectors, bool most)
{
    wisp_plan plan;
    const int64_t count = t->opt.temperature_count;
    const wisp_cool_opts o = options_of(t, count);
    if (!t->opt.cool || wisp_cool_plan(&plan, t->ctx, A, &o)) return 0;
    const int64_t width = vectors < WISP_COOL_WIDTH ? vectors : WISP_COOL_WIDTH,
                  copy = A->local_rows * width * (int64_t)wisp_type_size(type_in(A->type, WISP_Z)) +
                         count * (vectors * (int64_t)sizeof(wisp_cooled_state) + 3 * (int64_t)sizeof(double));
    return (most ? plan.bytes_most : plan.bytes) + (t->opt.checkpoint ? copy : 0);
}

bool cool_fill(tool *t, results *r, int64_t k)
{
    const wisp_thermal_opts o = {.tolerance = t->opt.tolerance};
    wisp_ensemble e;
    if (k >= r->cooled.temperatures || r->cooled.done < 1) return false;
    if (wisp_cooled_ensemble(t->ctx, &r->cooled, &o, r->cooled.temperatures - 1 - k, &e)) {
        snprintf(r->refused, sizeof r->refused, "%s", tool_message(t));
        return false;
    }
    e.terms = r->m->n;
    r->heat[k] = e;
    return true;
}
