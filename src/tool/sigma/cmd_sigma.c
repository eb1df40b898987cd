/* wisp sigma: conductivities. Moments of two velocities are computed (or loaded), kept, and evaluated. */
#include "sigma.h"
#include "../names.h"
#include "../positions.h"
#include "../machine/machine.h"
#include "../moments.h"
#include "../out/text.h"
#include "../weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Options that contradict each other; EXIT_USAGE with its line. */
static int check_options(tool *t)
{
    const options *o = &t->opt;
    const char *again = options_new_run(o);
    const bool directed = option_seen(o, "direction"), own = o->velocity_a != NULL, more = more_asked(o);
    if (more && more_check(t)) return EXIT_USAGE;
    if (!o->from && !o->args) return tool_usage(t, "MATRIX is missing; see wisp sigma --help");
    if (o->from && again && !more) return tool_usage(t, "--%s needs a new run, so it does not go with --from", again);
    if (o->velocity_b && !own) return tool_usage(t, "--velocity-b needs --velocity-a");
    if (own && directed) return tool_usage(t, "--direction and --velocity-a exclude each other");
    if (o->args && !own && !directed)
        return tool_usage(t, "wisp sigma needs --direction xx, xy, .., or --velocity-a FILE");
    if (o->temperature < 0) return tool_usage(t, "--temperature %g: it must be 0 or more", o->temperature);
    if (o->trace == WISP_TRACE_EXACT && o->vectors)
        return tool_usage(t, "--vectors and --trace exact exclude each other");
    if (o->trace == WISP_TRACE_EXACT && option_seen(o, "first-vector"))
        return tool_usage(t, "--first-vector and --trace exact exclude each other");
    if (o->optical_count && o->mu_count > 1) return tool_usage(t, "--optical takes one chemical potential: --mu X");
    if (o->optical_count && option_seen(o, "formula"))
        return tool_usage(t, "--formula is not for --optical, of which there is one formula");
    if (o->optical_count == 1 && o->plot) return tool_usage(t, "--plot needs two frequencies or more");
    if (!o->optical_count && o->mu_count == 1 && o->plot)
        return tool_usage(t, "--plot needs two chemical potentials or more");
    if (average_check(t)) return EXIT_USAGE;
    if (o->average && o->precision == PRECISION_AUTO)
        return tool_usage(t, "--average and --precision auto exclude each other for sigma; take --precision double");
    return positions_check(t, directed || option_seen(o, "peierls"));
}

/* Greenwood's formula is for equal velocities. */
static int check_formula(tool *t, const sigma_results *r)
{
    const options *o = &t->opt;
    const bool differ = o->velocity_b || r->differ || (r->direction >= 0 && r->direction / 3 != r->direction % 3);
    if (o->formula != WISP_GREENWOOD || !differ) return EXIT_FINE;
    return tool_usage(t, "--formula greenwood is for equal velocities, as of --direction xx; take --formula bastin");
}

static void set_options(const options *o, sigma_results *r)
{
    r->kubo = (wisp_kubo_opts){.moments = o->moments,
                               .vectors = o->vectors,
                               .first_vector = o->first_vector,
                               .trace = (wisp_trace)o->trace,
                               .seed = o->seed,
                               .left_bytes = o->left_bytes ? o->left_bytes : o->bytes,
                               .width = (int)o->width,
                               .bounds = bounds_options(o)};
    r->eval = (wisp_sigma_opts){.formula = (wisp_kubo_formula)o->formula,
                                .kernel = (wisp_damping)o->kernel,
                                .lambda = o->lambda,
                                .volume = o->volume,
                                .points = o->points};
    r->has_volume = o->volume > 0;
    r->optical = o->optical_count > 0;
    r->mu = r->optical && o->mu_count ? o->mu[0] : 0;
    r->temperature = o->temperature;
    r->direction = !o->args || o->velocity_a ? -1 : o->direction;
}

/* ---- the run ------------------------------------------------------------------------------------- */

/* --precision auto is of the left vectors alone. */
static wisp_type source_type(const tool *t, const wisp_src *h)
{
    return t->opt.precision == PRECISION_AUTO ? h->type : tool_type(&t->opt, h->type);
}

/* The sources, and what is asked of them; or the plan alone. */
static int open_run(tool *t, sigma_results *r, sigma_sources *s)
{
    int64_t budget; /* that of the context, which the model of time counts on */
    int rc = source_open(t, &s->h);
    r->kubo.width = (int)t->opt.width; /* with that of a kept state */
    if (!rc) rc = source_square(t, &s->h, "a Hamiltonian is square");
    if (!rc) rc = machine_cache(t, 0, &budget);
    if (!rc) rc = velocity_field(t, s);
    if (rc) return rc;
    s->h_opts = source_options(&t->opt, source_type(t, &s->h), 1);
    rc = velocity_open(t, s, r);
    if (!rc) sigma_left(t, s, r);
    wisp_ctx_memory(t->ctx, NULL, &r->reading);
    if (!rc && t->opt.plan) rc = sigma_plan_show(t, s, r);
    return rc ? rc : sigma_plan_check(t, s, r);
}

static int run_moments(tool *t, sigma_results *r, wisp_moments *m, const wisp_mat *A, const wisp_mat *V_a,
                       const wisp_mat *V_b)
{
    const int rc = checkpoint_begin(t, A, r->kubo.width, NULL, NULL);
    if (rc) return rc;
    checkpoint_set(t, &r->kubo);
    const wisp_status status = wisp_kubo(m, A, V_a, V_b, &r->kubo);
    checkpoint_pause(t);
    if (status == WISP_OK) checkpoint_whole(t);
    const int64_t wanted = m->trace == WISP_TRACE_EXACT ? 1 : sigma_random(r);
    if (status && status != WISP_ERR_CANCELLED) return tool_fail_matrix(t, status);
    m->volume = r->has_volume ? r->eval.volume : 0;
    m->dimensions = r->dimensions;
    m->direction = r->direction + 1;
    if (status && t->opt.average) return EXIT_CUT;
    if (status) return moments_stopped(t, m, wanted, t->command_line);
    return tool_agree(t, wisp_moments_label(t->ctx, m, t->opt.arg[0], t->command_line) ? tool_fail_ctx(t) : EXIT_FINE);
}

/* By the options of wisp_kpm, for those that wisp_kubo takes are not public: other numbers of Lanczos steps. */
static int find_bounds(tool *t, const sigma_results *r, const wisp_mat *A, wisp_bounds *b)
{
    wisp_mat_info info;
    wisp_mat_get_info(A, &info);
    const wisp_kpm_opts like = {
        .moments = r->kubo.moments, .vectors = r->kubo.vectors, .seed = r->kubo.seed, .bounds = r->kubo.bounds};
    const wisp_bounds_opts o = wisp_kpm_bounds_opts(info.type, info.rows, &like);
    const wisp_status status = wisp_bounds_find(b, A, &o);
    return status ? tool_fail_matrix(t, status) : EXIT_FINE;
}

/* Sources, plan, matrices, moments, or bounds alone where these are asked for (found); no matrix where only the plan is
   wanted. */
static int compute_once(tool *t, sigma_results *r, wisp_moments *m, wisp_bounds *found)
{
    sigma_sources s = {0};
    wisp_mat *A = NULL, *V_a = NULL, *V_b = NULL;
    const double start = wisp_now();
    int rc = open_run(t, r, &s);
    if (!rc && !t->opt.plan && wisp_mat_create(&A, t->ctx, &s.h, &s.h_opts)) rc = tool_fail_ctx(t);
    if (!rc && A) rc = weights_by_matrix(t, A, s.h_opts.width);
    if (!rc && A && !found) rc = velocity_make(t, &s, A, &V_a, &V_b);
    velocity_close(&s);
    r->assemble_seconds = wisp_now() - start;
    if (!rc && A) {
        wisp_mat_get_info(A, &r->stored);
        like_matrix(t, &r->stored, r->kubo.width);
        rc = found ? find_bounds(t, r, A, found) : run_moments(t, r, m, A, V_a, V_b);
        if (!rc && !found) rc = sigma_rounding(t, r);
        wisp_mat_get_info(A, &r->stored); /* with the halo's way that was found */
    }
    velocity_free(V_a, V_b);
    wisp_mat_free(A);
    return rc;
}

/* Once more on another layout, if one is found. */
static int compute_on_layout(tool *t, sigma_results *r, wisp_moments *m, wisp_bounds *found)
{
    set_options(&t->opt, r); /* of this realization */
    const int rc = compute_once(t, r, m, found);
    return rc == EXIT_LAYOUT ? compute_once(t, r, m, found) : rc;
}

static int bounds_of_one(tool *t, void *arg, wisp_bounds *b) { return compute_on_layout(t, arg, NULL, b); }
static int moments_of_one(tool *t, void *arg, wisp_moments *one) { return compute_on_layout(t, arg, one, NULL); }

static int of_all(tool *t, sigma_results *r)
{
    const average_of_moments of = {r, bounds_of_one, moments_of_one};
    return t->opt.average ? average_moments(t, &r->average, &of, &r->m) : compute_on_layout(t, r, &r->m, NULL);
}

static void forget(tool *t, sigma_results *r)
{
    wisp_free(t->ctx, r->x);
    wisp_free(t->ctx, r->sigma);
    wisp_moments_free(&r->m);
    r->x = NULL, r->sigma = NULL;
}

/* Once more if left vectors in single precision, which --precision auto takes, are not enough. */
static int compute(tool *t, sigma_results *r)
{
    int rc = of_all(t, r);
    if (rc != EXIT_AGAIN) return rc;
    if (checkpoint_ended(t)) return checkpoint_stopped(t);
    tool_heed(t);
    if ((rc = tool_agree(t, tool_is_stopped(t) ? tool_stopped(t) : EXIT_FINE))) return rc;
    t->opt.precision = PRECISION_DOUBLE;
    rc = checkpoint_done(t, EXIT_FINE);
    t->opt.resume = NULL;
    forget(t, r);
    return rc ? rc : of_all(t, r);
}

static int load(tool *t, sigma_results *r)
{
    int rc = moments_load(t, &r->m, r->seed);
    r->runs = t->opt.froms;
    if (rc) return rc;
    if (!r->m.square)
        return tool_fail(t, "%s does not hold the moments of two velocities, as wisp sigma --save keeps them",
                         t->opt.from);
    if (t->opt.moments > r->m.square)
        return tool_fail(t, "%s has %lld moments on each side, fewer than --moments %lld", t->opt.from,
                         (long long)r->m.square, (long long)t->opt.moments);
    r->eval.n = t->opt.moments;
    rc = velocity_of_kept(t, r);
    return rc ? rc : check_formula(t, r);
}

/* ---- what is made of them ------------------------------------------------------------------------ */

/* The one that is nearest to 0 becomes 0, which is where spectra of lattices have their gap, or their point of Dirac.
 */
static void take_zero(sigma_results *r)
{
    int64_t nearest = 0;
    for (int64_t i = 1; i < r->count; i++)
        if (fabs(r->x[i]) < fabs(r->x[nearest])) nearest = i;
    if (r->x[0] < 0 && r->x[r->count - 1] > 0) r->x[nearest] = 0;
}

int64_t sigma_count(const options *o)
{
    return o->optical_count ? o->optical_count : o->mu_count ? o->mu_count : SIGMA_POTENTIALS;
}

/* Those of --optical, of --mu, or all from one bound to the other. */
int sigma_places(tool *t, sigma_results *r)
{
    const options *o = &t->opt;
    const wisp_bounds *b = &r->m.bounds;
    const double *given = r->optical ? o->optical : o->mu;
    if (r->x) return EXIT_FINE;
    r->count = sigma_count(o);
    if (wisp_alloc(t->ctx, &r->x, (size_t)r->count, sizeof *r->x) ||
        wisp_alloc(t->ctx, &r->sigma, (size_t)r->count, sizeof *r->sigma))
        return tool_fail_ctx(t);
    for (int64_t i = 0; i < r->count; i++)
        r->x[i] = given ? given[i] : b->center + b->halfwidth * (2 * (double)i / (SIGMA_POTENTIALS - 1) - 1);
    qsort(r->x, (size_t)r->count, sizeof *r->x, by_value);
    if (!given) take_zero(r);
    return EXIT_FINE;
}

static int evaluate(tool *t, sigma_results *r)
{
    const wisp_moments *m = &r->m;
    const double start = wisp_now();
    const int rc = sigma_places(t, r);
    if (rc) return rc;
    if (r->eval.n == 0) r->eval.n = m->square;
    if (!r->has_volume) r->eval.volume = 1;
    r->student95 = m->trace == WISP_TRACE_RANDOM ? wisp_student95(m->vectors) : 0;
    const wisp_status status =
        r->optical ? wisp_sigma_optical(t->ctx, m, &r->eval, r->temperature, r->mu, r->count, r->x, r->sigma)
                   : wisp_sigma(t->ctx, m, &r->eval, r->temperature, r->count, r->x, r->sigma);
    if (status) return tool_fail_ctx(t);
    r->evaluate_seconds = wisp_now() - start;
    r->total_seconds = wisp_now() - t->started;
    return EXIT_FINE;
}

int cmd_sigma(tool *t)
{
    sigma_results r = {0};
    set_options(&t->opt, &r);
    int rc = check_options(t), save_rc = EXIT_FINE;
    if (!rc) rc = check_formula(t, &r);
    if (!rc) rc = tool_begin(t);
    if (rc) return rc;
    rc = more_asked(&t->opt) ? tool_agree(t, more_begin(t, &r.more)) : EXIT_FINE;
    set_options(&t->opt, &r); /* with what --like and a kept run have */
    if (!rc) rc = t->opt.from ? tool_agree(t, load(t, &r)) : compute(t, &r);
    if (!rc && !t->opt.plan) rc = tool_agree(t, more_end(t, &r.more, &r.m));
    if (rc || t->opt.plan) goto out;
    r.matrix = r.m.matrix ? r.m.matrix : "(not named)";
    /* The moments first: they are what took long. If they cannot be kept, the results are still given. */
    save_rc = moments_save(t, &r.m);
    const bool ended = save_rc && tool_is_stopped(t); /* which is said already */
    if ((rc = tool_agree(t, ended ? save_rc : evaluate(t, &r)))) goto done;
    monitor_clear(&t->monitor);
    if (!t->opt.json && !t->opt.quiet) {
        sigma_summary(t, &r);
        if (t->opt.save && !save_rc) text_line("saved", "%s", t->opt.save);
    }
    rc = sigma_write(t, &r);
    if (!rc && t->opt.average) rc = average_end(t, r.m.realizations, r.m.partial);
    if (!rc) rc = save_rc;
done:
    rc = checkpoint_done(t, rc);
out:
    checkpoint_close(t);
    forget(t, &r);
    more_free(&r.more);
    return rc;
}
