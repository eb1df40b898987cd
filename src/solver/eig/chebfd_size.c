/* Chebyshev filter diagonalization: the size of the search space, the filter, what both take, and the look for what is
   missing. */
#include <float.h>
#include <stdlib.h>
#include "chebfd.h"

enum { MOST_SEARCH = 30000, CHECK_COLUMNS = 16, SMALL = 1 << 16 }; /* SMALL: bytes of lists, views and options */
/* Digits that are gained beyond the tolerance, so that few columns need one more round. */
static const double spare_digits = 0.5;
/* Flops of dense kernels that take as long as all trials of series, per term of theirs. */
static const double series_work = 2e6;

/* ---- memory and work ------------------------------------------------------------------------------ */

/* Bytes that the density held beside the matrix, about or at most: more than all else, where a rank has few rows. */
static int64_t look_bytes(const wisp__chebfd *c, bool most)
{
    const wisp__eig *k = c->k;
    wisp_kpm_opts o = wisp__chebfd_look_opts(c, c->m->n);
    o.bounds = (wisp_bounds_opts){0}; /* they are known, of a matrix that may be another one */
    const int64_t block = wisp__eig_held(k) * o.width * (int64_t)wisp_type_size(k->type);
    wisp_mat_info info;
    wisp_plan plan = {0};
    wisp_mat_get_info(k->A, &info);
    wisp_kpm_plan(&plan, k->ctx, &info, &o, NULL); /* the run had these options */
    return (most ? plan.bytes_most : plan.bytes) + wisp__eig_scaled_blocks(k) * block +
           wisp__eig_beside(k, 0, o.width, 0);
}

int64_t wisp__chebfd_look_bytes(const wisp__chebfd *c) { return look_bytes(c, true); }

/* What products of columns have beside their result, and the dots of the search for what is missing. */
static double sums_bytes(const wisp__eig *k, double search, double width)
{
    enum { DOTS = 3 };
    return (double)wisp__eig_sums_bytes(k, search, search) +
           2.0 * DOTS * wisp__steps_of(k->ctx, 8) * width * sizeof(wisp_scalar);
}

int wisp__chebfd_copied(const wisp__chebfd *c)
{
    const wisp_eigen *e = c->k->e;
    const double asked = c->k->o.which == WISP_EIG_NEAREST ? c->k->o.count : 0;
    return (int)fmin(fmax(e->expected + e->expected_error, asked) + 1, MOST_SEARCH);
}

/* Bytes that a run with so many columns holds beside the matrix: the space, and blocks to filter and for Rayleigh-Ritz
   with those of the search for what is missing, or the vectors that are delivered, with blocks that may repair them. */
static int64_t memory(const wisp__chebfd *c, double search, bool is_single)
{
    const wisp__eig *k = c->k;
    const double held = (double)wisp__eig_held(k), size = (double)wisp_type_size(k->type),
                 width = c->width > 0 ? c->width : 128 / size;
    wisp_mat_info info;
    wisp_mat_get_info(k->A, &info);
    const double scaled = wisp__eig_scaled_blocks(k), numbers = search * search * (k->is_complex ? 2 : 1);
    const double filters = (scaled + 6) * width + fmax(width, CHECK_COLUMNS),
                 delivers = (scaled + 2) * width + fmin(wisp__chebfd_copied(c), search / 2);
    const int64_t copy = is_single && !wisp__is_single(info.type) ? info.bytes + info.exchange_bytes : 0;
    const int more = wisp__steps_of(k->ctx, WISP__FILTER_STEPS) - WISP__FILTER_STEPS; /* steps, each with its factors */
    return (int64_t)(held * size * (search + fmax(filters, delivers)) + 64 * search * (search + 1) +
                     more * (width + 3) * sizeof(wisp_scalar) + sums_bytes(k, search, fmax(width, CHECK_COLUMNS))) +
           SMALL + copy + (int64_t)(fmax(width, CHECK_COLUMNS) * (double)info.spill_bytes) +
           wisp__eig_beside(k, (int)search, (int)fmax(width, CHECK_COLUMNS), (int64_t)numbers);
}

int64_t wisp__chebfd_on_device(const wisp__chebfd *c)
{
    const double blocks = wisp__eig_scaled_blocks(c->k) + 6.0, search = c->search; /* as memory() has them */
    wisp_mat_info info;
    wisp_mat_get_info(c->k->A, &info);
    const int64_t copy = c->is_single && !wisp__is_single(info.type) ? info.bytes / 2 : 0,
                  run = wisp__eig_on_device(c->k, search + blocks * c->width + fmax(c->width, CHECK_COLUMNS),
                                            search * search) +
                        copy,
                  look = c->m->n > 0 ? look_bytes(c, false) : 0;
    return run > look ? run : look;
}

/* The density's memory has gone when filters are chosen. */
int64_t wisp__chebfd_memory(const wisp__chebfd *c)
{
    const int64_t run = memory(c, c->search, c->is_single), look = c->m->n > 0 ? wisp__chebfd_look_bytes(c) : 0;
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
    return wisp__slower * c->k->flops * (products + exact) * search + (2.0 * plan->rounds + 2) * dense;
}

/* ---- the search space and the filter -------------------------------------------------------------- */

/* Single precision beside vectors of double precision takes a matrix that can be copied, and values in range. */
void wisp__chebfd_choose_precision(wisp__chebfd *c)
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

/* A product's rounding moves values by about eps times the largest one. Where that takes a value that is damped beyond
   the interval in which T_d is bounded, T_d grows there by exp(d sqrt(2 rounding / halfwidth)), which is no more than
   two digits up to so many products. */
static double most_by_rounding(const wisp__chebfd *c, bool is_single)
{
    static const double most = 5;
    const wisp_bounds *b = &c->k->e->bounds;
    const double eps = is_single ? FLT_EPSILON : c->k->eps;
    return most * sqrt(b->halfwidth / (eps * (b->halfwidth + fabs(b->center))));
}

/* Few products are too few for most targets: that is why there is no filter. */
static bool is_rough(const wisp__chebfd *c)
{
    static const double few = 1000;
    return most_by_rounding(c, false) < few;
}

/* The filter of least work for a space of this size, if it is better than the one that is chosen. In single precision
   the range between the filter's peak and what it damps has to leave digits for the vectors. */
static wisp_status try_filter(wisp__chebfd *c, double search, bool is_single, double *best)
{
    wisp__eig *k = c->k;
    const wisp_bounds *b = &k->e->bounds;
    /* A filter of more products takes longer than LAPACK does, and so does the search for a longer series. */
    const double product = wisp__slower * (is_single ? wisp__single_time : 1) * k->flops * search;
    const double rounding = most_by_rounding(c, is_single);
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
                              .most_degree = (int)fmin(is_single ? 2000 : 1000000000, fmin(worth, rounding)),
                              .most_terms = (int)fmin(20000, findable),
                              .states = c->at.some ? wisp__chebfd_beside : wisp__chebfd_states,
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

/* As wide as products are fast, or as memory allows, but a cache line at least. */
static wisp_status choose_width(wisp__chebfd *c)
{
    const int line = (int)(64 / wisp_type_size(wisp__chebfd_type(c)));
    wisp_status status = WISP_OK;
    bool lacks = true;
    wisp__chebfd_width(c, c->search > 0 ? c->search : WISP__VECTORS);
    while (status == WISP_OK && lacks && c->width > line) {
        status = lacks_memory(c, c->search, c->is_single, &lacks);
        if (lacks) c->width = c->width / 2 > line ? c->width / 2 : line;
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
    return status == WISP_OK ? choose_width(c) : status;
}

void wisp__chebfd_tell_work(const wisp__chebfd *c)
{
    wisp__eig *k = c->k;
    if (!k->inverse) return;
    k->filter_work = c->search > 0 && isfinite(c->work) ? c->work : fmax(k->filter_work, k->most_work);
}

bool wisp__chebfd_is_whole(const wisp__chebfd *c)
{
    enum { ROWS = 3000 };
    if (c->work > c->k->most_work || (c->search == 0 && c->k->inverse)) return true;
    return c->k->rows <= ROWS && (c->search == 0 || 2 * (int64_t)c->search >= c->k->rows);
}

wisp_status wisp__chebfd_refuse(const wisp__chebfd *c)
{
    const wisp_eig_opts *o = &c->k->o;
    const wisp_bounds *b = &c->k->e->bounds;
    const double low = wisp__eig_shown(c->k, c->low), high = wisp__eig_shown(c->k, c->high);
    if (is_rough(c))
        return wisp_ctx_failf(c->k->ctx, WISP_ERR_UNSUPPORTED,
                              "eig: values of up to %.3g lie within %.3g of each other, and rounding in %s arithmetic "
                              "keeps filters from telling those in %.9g .. %.9g from others%s",
                              wisp__eig_shown(c->k, fabs(b->center) + b->halfwidth),
                              wisp__eig_shown(c->k, 2 * b->halfwidth), wisp_type_name(c->k->type), low, high,
                              wisp__is_single(c->k->type) ? ": take vectors in double precision" : "");
    if (o->which == WISP_EIG_NEAREST)
        return wisp_ctx_failf(c->k->ctx, WISP_ERR_UNSUPPORTED,
                              "eig: about %.0f eigenvalues lie around %.6g, in %.6g .. %.6g, and too many next to them "
                              "for a filter; take fewer pairs (opts.count), another opts.target, or opts.method = "
                              "WISP_EIG_INVERT",
                              c->wanted, wisp__eig_shown(c->k, o->target), low, high);
    return wisp_ctx_failf(c->k->ctx, WISP_ERR_UNSUPPORTED,
                          "eig: about %.0f eigenvalues lie in %.6g .. %.6g, and too many around it for a filter; take "
                          "a shorter interval",
                          c->wanted, low, high);
}

/* ---- a look for what is missing --------------------------------------------------------------- */

double wisp__chebfd_narrow(const wisp__chebfd *c)
{
    const double width = c->high - c->low, tolerance = c->k->o.tolerance * c->k->scale;
    return width > 0 ? fmax(0.05 * width, tolerance) : 100 * tolerance;
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
