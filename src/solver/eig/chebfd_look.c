/* Preparation of Chebyshev filter diagonalization: the bounds, the density of states by the kernel polynomial method,
   and from these the target (the interval that is searched), the size of the search space and the filter. */
#include <stdlib.h>
#include "chebfd.h"

/* Random vectors of the density, and moments of the first look and at most. */
enum { VECTORS = 32, MOMENTS = 256, MOST_MOMENTS = 1 << 15, LOOKS = 8, MOST_SEARCH = 30000, CHECK_COLUMNS = 16 };
/* Resolutions that the distance from the target's center to the end of the search space's reach has. */
static const double fineness = 12;
/* Digits that are gained beyond the tolerance, so that few columns need one more round. */
static const double spare_digits = 0.5;
/* Flops of dense kernels that take as long as one of a product. */
static const double slower = 5;
/* Flops of dense kernels that take as long as all trials of series, per term of theirs. */
static const double series_work = 2e6;

/* ---- the density ---------------------------------------------------------------------------------- */

wisp_status wisp__chebfd_mean(wisp__chebfd *c)
{
    const int64_t moments = c->m->n;
    free(c->mean.mu);
    c->mean = *c->m;
    c->mean.vectors = 1;
    c->mean.mu = calloc((size_t)moments, sizeof *c->mean.mu);
    if (!c->mean.mu)
        return wisp_ctx_fail(c->k->ctx, WISP_ERR_NOMEM, "eig: out of memory for %lld moments", (long long)moments);
    return wisp_moments_mean(c->k->ctx, c->m, c->mean.mu, NULL);
}

/* The states of the density's moments, with the items of this solver beside theirs. */
static wisp_status offer_look(void *arg, wisp_state *state)
{
    wisp__chebfd *c = arg;
    const wisp_eig_opts *o = &c->k->o;
    const wisp_status status = wisp_state_add(state, wisp__chebfd_items, c);
    return status == WISP_OK ? o->offer(o->offer_arg, state) : status;
}

static wisp_kpm_opts look_opts(const wisp__chebfd *c, int64_t moments)
{
    const wisp__eig *k = c->k;
    return (wisp_kpm_opts){.moments = moments,
                           .vectors = VECTORS,
                           .seed = k->o.seed,
                           .type = k->type,
                           .width = c->row_bytes / (int)wisp_type_size(k->type)};
}

static wisp_status look(wisp__chebfd *c, int64_t moments, wisp_state *resume)
{
    wisp__eig *k = c->k;
    wisp_choice choice;
    wisp_status status = WISP_OK;
    c->look_began = wisp_now();
    if (c->row_bytes == 0) {
        WISP_TRY(wisp_mat_choose(k->A, k->type, VECTORS, moments / 2, &choice));
        c->row_bytes = choice.width * (int)wisp_type_size(k->type);
    }
    wisp_kpm_opts o = look_opts(c, moments);
    o.offer = k->o.offer ? offer_look : NULL;
    o.offer_arg = c;
    o.resume = resume;
    wisp_moments_free(c->m);
    WISP_TRY(wisp__kpm(c->m, k->A, &o, &k->e->bounds, "density of states"));
    k->e->flops += c->m->flops;
    k->e->products += moments / 2 * VECTORS;
    status = wisp__chebfd_mean(c);
out:
    k->e->dos_seconds += wisp_now() - c->look_began;
    return status;
}

/* Eigenvalues from .. to; those that lie outside the bounds are none. */
static double states(void *arg, double from, double to)
{
    const wisp__chebfd *c = arg;
    double count = 0;
    if (!(from < to)) return 0;
    if (wisp_count(c->k->ctx, &c->mean, NULL, -1, from, to, &count, NULL) != WISP_OK) return 0;
    return fmax(count, 0);
}

static double resolution(const wisp__chebfd *c) { return wisp_resolution(c->m->bounds.halfwidth, c->m->n); }

/* The distance around the target's center (or, NEAREST, the target) that holds so many. */
static double distance(wisp__chebfd *c, double center, double wanted)
{
    const wisp_bounds *b = &c->k->e->bounds;
    const double most = fabs(center - b->center) + b->halfwidth;
    return wisp__filter_reach(states, c, center, center, 0, most, b->halfwidth, wanted);
}

/* How many eigenvalues lie in low .. high, and half of the bar. */
static double bar(const wisp__chebfd *c, double low, double high, double *count)
{
    double error = 0, from, to;
    *count = 0;
    if (wisp_count(c->k->ctx, c->m, NULL, -1, low, high, count, &error) != WISP_OK) return INFINITY;
    wisp_bars95(c->m, NULL, 1, count, &error, &from, &to);
    return fmax(to - *count, *count - from);
}

/* The target as far as it lies in the spectrum's bounds, and how many eigenvalues it has. */
static void clip(wisp__chebfd *c)
{
    const wisp_bounds *b = &c->k->e->bounds;
    const double lowest = b->center - b->halfwidth, highest = b->center + b->halfwidth;
    c->low = fmin(fmax(c->low, lowest), highest), c->high = fmin(fmax(c->high, lowest), highest);
    c->wanted = states(c, c->low, c->high);
}

/* The target, and how many eigenvalues it has: what is asked for, with the bar of NEAREST's count. */
static void set_target(wisp__chebfd *c)
{
    const wisp_eig_opts *o = &c->k->o;
    double count;
    c->low = o->low, c->high = o->high;
    if (o->which == WISP_EIG_NEAREST) {
        double r = distance(c, o->target, o->count);
        r = distance(c, o->target, o->count + bar(c, o->target - r, o->target + r, &count) + 1) + resolution(c);
        c->low = o->target - r, c->high = o->target + r;
    }
    clip(c);
}

/* ---- the search space and the filter -------------------------------------------------------------- */

/* Bytes that the density held beside the matrix: more than all else, where a rank has few rows. */
static int64_t look_bytes(const wisp__chebfd *c)
{
    const wisp__eig *k = c->k;
    const wisp_kpm_opts o = look_opts(c, c->m->n);
    const int64_t block = wisp__eig_held(k) * o.width * (int64_t)wisp_type_size(k->type);
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    return wisp_kpm_bound(k->ctx, &info, &o) + wisp__eig_scaled_blocks(k) * block + wisp__eig_beside(k, 0, o.width, 0);
}

/* Bytes that a run with so many columns holds beside the matrix: the space, blocks to filter and for Rayleigh-Ritz, and
   those of the search for what is missing. */
static int64_t memory(const wisp__chebfd *c, double search, bool is_single)
{
    const wisp__eig *k = c->k;
    const double held = (double)wisp__eig_held(k), size = (double)wisp_type_size(k->type),
                 width = c->width > 0 ? c->width : 128 / size;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    enum { LISTS = 16 }; /* bytes of a row beside those of blocks: a margin */
    const double blocks = wisp__eig_scaled_blocks(k) + 6.0, numbers = search * search * (k->is_complex ? 2 : 1);
    const int64_t copy = is_single && !wisp__is_single(info.type) ? info.bytes + info.exchange_bytes : 0;
    return (int64_t)(held * size * (search + blocks * width + fmax(width, CHECK_COLUMNS)) +
                     64 * search * (search + 1)) +
           4096 + LISTS * info.local_rows + copy + (int64_t)(fmax(width, CHECK_COLUMNS) * (double)info.spill_bytes) +
           wisp__eig_beside(k, (int)search, (int)fmax(width, CHECK_COLUMNS), (int64_t)numbers);
}

/* The density's memory has gone when filters are chosen. */
int64_t wisp__chebfd_memory(const wisp__chebfd *c)
{
    const int64_t run = memory(c, c->search, c->is_single), look = c->m->n > 0 ? look_bytes(c) : 0;
    return run > look ? run : look;
}

/* *yes: on some rank this is more than the user allows. */
static wisp_status lacks_memory(const wisp__chebfd *c, double search, bool is_single, bool *yes)
{
    const int64_t most = c->k->o.bytes;
    double lacks = most > 0 && memory(c, search, is_single) > most;
    const wisp_status status = wisp_ctx_sum(c->k->ctx, &lacks, 1);
    *yes = lacks > 0;
    return status;
}

/* Flops of a run with this plan, where those of products take longer than those of dense kernels, and in single
   precision somewhat more than half as long as in double precision. */
static double work(const wisp__chebfd *c, const wisp__filter_plan *plan, double search, bool is_single)
{
    const double dense = (c->k->is_complex ? 8.0 : 2.0) * (double)c->k->rows * search * search;
    const double exact = 2.0 * plan->rounds,
                 products = is_single ? wisp__single_time * plan->products + exact : plan->products;
    return slower * c->k->flops * (products + exact) * search + (2.0 * plan->rounds + 2) * dense;
}

/* In which precision the filter may be. Single precision beside vectors of double precision takes a matrix that can be
   copied, and values in range. */
static void choose_precision(wisp__chebfd *c)
{
    const wisp__eig *k = c->k;
    const wisp_bounds *b = &k->e->bounds;
    const double largest = fabs(b->center) + b->halfwidth;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    const bool can = !wisp__is_single(k->type) && info.format != WISP_FORMAT_OPERATOR &&
                     info.format != WISP_FORMAT_HERMITIAN && largest < 1e30 && largest > 1e-30 &&
                     b->halfwidth > 0.01 * largest;
    c->must_be_single = can && wisp__is_single(k->o.filter_type);
    c->may_be_single = can && (k->o.filter_type == WISP_DEFAULT || c->must_be_single);
}

void wisp__chebfd_give_up_single(wisp__chebfd *c) { c->may_be_single = c->must_be_single = false; }

/* The filter of least work for a space of this size, if it is better than the one that is chosen. In single precision
   the range between the filter's peak and what it damps has to leave digits for the vectors. */
static wisp_status try_filter(wisp__chebfd *c, double search, bool is_single, double *best)
{
    wisp__eig *k = c->k;
    const wisp_bounds *b = &k->e->bounds;
    /* A filter of more products takes longer than LAPACK does, and so does the search for a longer series. */
    const double product = slower * (is_single ? wisp__single_time : 1) * k->flops * search;
    const double worth = k->most_work / product, findable = k->most_work / (product + series_work);
    wisp__filter_want want = {.lowest = b->center - b->halfwidth,
                              .highest = b->center + b->halfwidth,
                              .low = c->low,
                              .high = c->high,
                              .rows = (double)k->rows,
                              .search = (int)search,
                              .gain = M_LN10 * (spare_digits - log10(k->o.tolerance)),
                              .most_peak = M_LN10 * (wisp__is_single(k->type) ? 4.5
                                                     : is_single              ? 6
                                                                              : 11),
                              .most_degree = (int)fmin(is_single ? 2000 : 1000000000, worth),
                              .most_terms = (int)fmin(20000, findable),
                              .states = states,
                              .states_arg = c};
    wisp__filter_plan plan;
    const wisp_status status = wisp__filter_choose(k->ctx, &want, &plan);
    if (status != WISP_OK) return status;
    if (plan.rounds > 0 && work(c, &plan, search, is_single) < *best) {
        free(c->plan.f.c);
        *best = c->work = work(c, &plan, search, is_single);
        c->plan = plan;
        c->search = (int)search;
        c->is_single = is_single;
    } else {
        free(plan.f.c);
    }
    return WISP_OK;
}

/* In either precision, one of which may be ruled out. The first one that does is taken even if it lacks memory. */
static wisp_status try_filters(wisp__chebfd *c, double search, double *best)
{
    wisp_status status = WISP_OK;
    for (int single = c->must_be_single; single <= c->may_be_single; single++) {
        bool lacks;
        WISP_TRY(lacks_memory(c, search, single, &lacks));
        if (!lacks || !isfinite(*best)) WISP_TRY(try_filter(c, search, single, best));
    }
out:
    return status;
}

static wisp_status choose_filter(wisp__chebfd *c, double wanted)
{
    static const double part[] = {1.5, 2, 2.5, 3, 4};
    const wisp__eig *k = c->k;
    wisp_status status = WISP_OK;
    const int line = (int)(64 / wisp_type_size(k->type));
    double best = INFINITY, before = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part && status == WISP_OK; i++) {
        const bool given = k->o.search > 0 && c->least == 0; /* where to begin */
        double search = given ? k->o.search : fmax(fmax(part[i] * wanted, wanted + 16), c->least);
        if (!given) search = ceil(search / line) * line;
        search = fmin(search, (double)k->rows);
        if (search > before && search <= MOST_SEARCH) status = try_filters(c, search, &best);
        before = search; /* few wanted ones or few rows: the same space again, whose filters may take long to find */
        if (given) break;
    }
    return status;
}

wisp_status wisp__chebfd_enlarge(wisp__chebfd *c, double wanted)
{
    const int before = c->search;
    free(c->plan.f.c);
    c->plan = (wisp__filter_plan){0};
    c->search = 0;
    wisp_status status = choose_filter(c, wanted);
    if (status == WISP_OK && c->search == 0 && c->must_be_single) { /* its degree is limited */
        wisp__chebfd_give_up_single(c);
        status = choose_filter(c, wanted);
    }
    if (status != WISP_OK) return status;
    if (c->search < before) c->search = before;
    if (c->plan.rounds == 0) c->search = 0;
    status = wisp__chebfd_copy(c);
    if (status != WISP_OK) return status;
    wisp__chebfd_width(c, c->search > 0 ? c->search : VECTORS);
    return WISP_OK;
}

/* The result says which interval is searched and how many eigenvalues are expected in it; states within one resolution
   of an end count as uncertain. */
static void report_expected(wisp__chebfd *c)
{
    wisp_eigen *e = c->k->e;
    const double r = resolution(c);
    e->low = c->low, e->high = c->high;
    e->expected_error =
        bar(c, c->low, c->high, &e->expected) + states(c, c->low - r, c->low + r) + states(c, c->high - r, c->high + r);
}

wisp_status wisp__chebfd_widen(wisp__chebfd *c, int found)
{
    const wisp_bounds *b = &c->k->e->bounds;
    const double target = c->k->o.target, outside = fmax(0, fabs(target - b->center) - b->halfwidth),
                 lack = (c->k->o.count + 1.0) / (found + 1.0);
    const double r = outside +
                     (fmax(fabs(target - c->low), fabs(c->high - target)) - outside) * fmax(1.1, fmin(lack, 4)) +
                     resolution(c);
    c->low = target - r, c->high = target + r;
    clip(c);
    report_expected(c);
    return wisp__chebfd_enlarge(c, c->wanted);
}

/* Whether a pair belongs to the target is told by its residual: so that has to be small beside the target, as far as
   rounding allows, whatever the halfwidth of the spectrum. (A single level has no width.) */
static void fit_tolerance(const wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    const wisp_bounds *b = &k->e->bounds;
    const bool interval = k->o.which == WISP_EIG_INTERVAL;
    const double asked = k->o.high - k->o.low, clipped = c->high - c->low,
                 width = !interval     ? clipped
                         : clipped > 0 ? fmin(clipped, asked)
                                       : asked,
                 enough = fmax(0.05 * width, 256 * k->eps * (b->halfwidth + fabs(b->center)));
    if (width <= 0 || k->o.tolerance * k->scale <= enough) return;
    wisp_ctx_log(
        k->ctx, WISP_LOG_WARN,
        "eig: the tolerance, %.1e, is wide beside the target, which is %.1e wide: residuals of %.1e at most are "
        "asked for",
        wisp__eig_shown(k, k->o.tolerance * k->scale), wisp__eig_shown(k, width), wisp__eig_shown(k, enough));
    k->o.tolerance = enough / k->scale;
}

double wisp__chebfd_narrow(const wisp__chebfd *c)
{
    const double width = c->high - c->low, tolerance = c->k->o.tolerance * c->k->scale;
    return width > 0 ? fmax(0.05 * width, tolerance) : 100 * tolerance;
}

wisp_status wisp__chebfd_look(wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    wisp_status status = wisp__eig_bounds(k, 20000);
    if (status != WISP_OK) return status;
    choose_precision(c);
    /* As many as tell single levels apart, were they spread evenly, are enough. */
    const int64_t most = k->rows < MOST_MOMENTS / 2 ? (k->rows < MOMENTS ? MOMENTS : 2 * k->rows) : MOST_MOMENTS;
    wisp__chebfd_at *at = &c->at;
    wisp_state *resume = k->o.resume;
    if (!resume) at->moments = MOMENTS, at->seen = INFINITY;
    for (; at->look < LOOKS; at->look++) {
        const int64_t moments = at->moments;
        status = look(c, moments, resume);
        if (status != WISP_OK) return status;
        resume = NULL;
        set_target(c);
        const double center = 0.5 * (c->low + c->high), r = distance(c, center, 2 * c->wanted + 16);
        const int64_t needed = wisp_moments_for(k->e->bounds.halfwidth, r / fineness);
        /* A level of many states looks the same at any resolution. */
        const bool level = c->wanted > 0.8 * at->seen && r < 2 * resolution(c);
        if ((double)needed < 1.2 * (double)moments || moments == most || level) break;
        at->seen = c->wanted;
        at->moments = needed < 4 * moments ? needed : 4 * moments; /* what is seen so far is blurred */
        if (at->moments > most) at->moments = most;
    }
    report_expected(c);
    fit_tolerance(c);
    return wisp__chebfd_enlarge(c, c->wanted);
}

/* Five digits, or what it takes to see a pair as one, beyond what random columns lose at first. */
wisp__chebfd_check wisp__chebfd_plan_check(const wisp__chebfd *c)
{
    const double lost = fmax(0, c->plan.edge - c->plan.first),
                 enough = lost + fmax(5 * M_LN10, 1 - log(wisp__chebfd_narrow(c) / c->k->scale));
    /* In single precision residuals are filtered from the second time on, and see as far as in double precision. */
    const int least = c->is_single ? 2 : 1, needed = 1 + (int)(enough / fmax(c->plan.edge, 1)),
              times = needed > least ? needed : least;
    return (wisp__chebfd_check){.columns = c->width > CHECK_COLUMNS ? c->width : CHECK_COLUMNS,
                                .times = times,
                                .terms = wisp__filter_terms(&c->plan, enough / times)};
}

int wisp__chebfd_fresh(const wisp__chebfd *c)
{
    return (int)fmin((double)wisp__chebfd_plan_check(c).columns, (double)c->k->rows - c->columns);
}

bool wisp__chebfd_is_whole(const wisp__chebfd *c)
{
    enum { ROWS = 3000 };
    if (c->work > c->k->most_work) return true;
    return c->k->rows <= ROWS && (c->search == 0 || 2 * (int64_t)c->search >= c->k->rows);
}

wisp_status wisp__chebfd_refuse(const wisp__chebfd *c)
{
    return wisp_ctx_fail(c->k->ctx, WISP_ERR_UNSUPPORTED,
                         "eig: about %.0f eigenvalues lie in %.6g .. %.6g, and too many around it for a filter; take a "
                         "shorter interval",
                         c->wanted, wisp__eig_shown(c->k, c->low), wisp__eig_shown(c->k, c->high));
}

/* ---- afterwards ----------------------------------------------------------------------------------- */

wisp_status wisp__chebfd_compare(const wisp__chebfd *c, int n, const double *theta, double *missing, double *error)
{
    /* The density's count of low .. high sees each eigenvalue through Jackson's kernel: so do the ones that were
       found, as moments of a matrix that has them alone. */
    wisp_moments found = *c->m;
    wisp_status status = WISP_OK;
    double count, seen = 0;
    found.vectors = 1;
    found.mu = calloc((size_t)found.n, sizeof *found.mu);
    if (!found.mu) return wisp_ctx_fail(c->k->ctx, WISP_ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        const double t = acos(fmax(-1, fmin(1, (theta[i] - found.bounds.center) / found.bounds.halfwidth)));
        for (int64_t j = 0; j < found.n; j++) found.mu[j] += cos((double)j * t);
    }
    *error = bar(c, c->low, c->high, &count);
    status = wisp_count(c->k->ctx, &found, NULL, -1, c->low, c->high, &seen, NULL);
    *missing = count - seen;
    free(found.mu);
    return status;
}
