/* wisp_svd: by which eigenproblem the triplets come, one after the other where the first one does not prove its answer;
   and its plan. */
#include <stdlib.h>
#include <string.h>
#include "svd.h"

/* ---- ways ------------------------------------------------------------------------------------------- */

static wisp_status check_form(wisp__svd *s)
{
    bool is;
    wisp_status status;
    WISP_TRY(wisp__svd_masks(s));
    WISP_TRY(wisp__svd_is_augmented(s, &is));
    if (!is)
        status = wisp_ctx_failf(s->ctx, WISP_ERR_ARG, "svd: the matrix is not [[0, A], [A^H, 0]] with %lld rows of A",
                                (long long)s->rows);
out:
    return status;
}

enum { MOST_WAYS = 3 };

/* The ways in their order, by what the question and the shape are; how many. Far from square a matrix has too many
   zeros in B. A^H A is the last one where values that are repeated may be what the others do not prove. A kept state is
   of one way. */
static int list_ways(const wisp__svd *s, wisp__svd_way way[MOST_WAYS])
{
    enum { FEW = 64, DENSE = 3000 };
    const wisp_eig_opts *o = &s->given;
    const bool far = llabs(s->rows - s->cols) > FEW, many = s->rows + s->cols > DENSE;
    const bool by_default = o->method == WISP_EIG_DEFAULT;
    const char *const kept = o->resume ? wisp_state_words(o->resume, "opts.method:") : NULL;
    const bool of_gram = !kept || strcmp(kept, wisp__eig_method_name(WISP_LANCZOS)) == 0;
    way[0] = WISP__BY_AUGMENTED, way[1] = WISP__BY_LIFTED, way[2] = WISP__BY_GRAM;
    if (o->which != WISP_EIG_SMALLEST || o->invert || o->method == WISP_EIG_DENSE) return 1;
    if (o->method == WISP_LANCZOS) {
        way[0] = WISP__BY_GRAM;
        return 1;
    }
    if (by_default && !many) return 2;
    if (far) {
        const bool both = by_default && of_gram;
        way[0] = both ? WISP__BY_GRAM : WISP__BY_LIFTED;
        return both ? 2 : 1;
    }
    if (o->method == WISP_EIG_INVERT || (by_default && wisp__svd_has_factors(s)))
        way[0] = WISP__BY_LIFTED, way[1] = WISP__BY_AUGMENTED;
    return by_default ? 3 : 2;
}

static wisp_status open_way(wisp__svd *s)
{
    wisp_status status = WISP_OK;
    if (s->way != WISP__BY_AUGMENTED) WISP_TRY(wisp__svd_gram_open(s));
    if (s->way == WISP__BY_LIFTED) status = wisp__svd_lift_open(s);
out:
    return status;
}

/* The matrix may answer another way, or lifted less. */
static bool may_go_on(const wisp__svd *s, wisp_status status)
{
    return (s->over && status == WISP_ERR_CANCELLED) || status == WISP_ERR_INCOMPLETE ||
           status == WISP_ERR_ITERATIONS || status == WISP_ERR_STAGNATION || status == WISP_ERR_UNSUPPORTED ||
           status == WISP_ERR_BREAKDOWN;
}

static wisp_status doubt(wisp__svd *s)
{
    s->e->complete = 0, s->e->proof = WISP_PROOF_NONE;
    return wisp_ctx_failf(s->ctx, WISP_ERR_INCOMPLETE,
                          "svd: %d triplets, but values next to 0 are too close to each other to tell which are the "
                          "smallest; a larger tolerance takes them for 0",
                          s->e->found);
}

/* If values are too close to each other there to tell which are the smallest, some more are looked for, the next of
   which may be farther. Small values that were found say how far it is best lifted: if that was too far, they are too
   close, too, and the search may take long. */
static wisp_status search_this_way(wisp__svd *s)
{
    enum { AGAIN = 4, ROUNDS = 60 };
    const int64_t rounds = s->given.max_rounds;
    bool anew = true;
    wisp_eigen most = {0}; /* of the runs so far, with how it ended */
    wisp_status status, ended = WISP_OK;
    char message[512] = "";
    WISP_TRY(open_way(s));
    if (s->way != WISP__BY_LIFTED) return wisp__svd_go(s);
    for (int again = 0;; again++) {
        const bool last = again == AGAIN || !anew;
        s->asked.max_rounds = rounds == 0 && !last ? ROUNDS : rounds;
        s->last = s->longest = 0;
        status = wisp__svd_go(s);
        const bool hides = status == WISP_OK && wisp__svd_lift_hides(s);
        if (hides) status = doubt(s);
        if (!hides && (last || (status != WISP_ERR_NOMEM && !may_go_on(s, status)))) break;
        anew = hides && wisp__svd_lift_more(s);
        if (anew) again = -1;
        const wisp_status lifted = anew   ? wisp__svd_lift_open(s)
                                   : last ? WISP_OK
                                          : wisp__svd_lift_anew(s, status, &anew);
        if (lifted != WISP_OK) status = lifted;
        if (lifted != WISP_OK || (!anew && (status != WISP_ERR_ITERATIONS || rounds > 0))) break;
        if (s->e->found > most.found) {
            wisp_ctx_message(s->ctx, message, sizeof message);
            wisp_eigen_free(&most);
            most = *s->e, ended = status;
        } else {
            wisp_eigen_free(s->e);
        }
        *s->e = (wisp_eigen){.expected = NAN, .expected_error = NAN, .orthogonality = NAN};
        s->asked.resume = NULL, s->asked.offer = NULL; /* a state is of the first number that is added */
    }
out:
    s->asked.max_rounds = rounds;
    if (status != WISP_OK && most.found > s->e->found) {
        wisp_eigen_free(s->e);
        *s->e = most;
        return status == WISP_ERR_CANCELLED ? status : wisp_ctx_fail(s->ctx, ended, message);
    }
    wisp_eigen_free(&most);
    return status;
}

/* The other way, where the first one has ended so. Whichever has found more is given, with its message. */
static wisp_status go_over(wisp__svd *s, wisp__svd_way way, wisp_status first)
{
    wisp_status status;
    char message[512];
    wisp_eigen before = *s->e;
    const int64_t products = before.products;
    const double flops = before.flops;
    wisp_ctx_message(s->ctx, message, sizeof message);
    wisp_ctx_logf(s->ctx, WISP_LOG_INFO, "svd: another way, for %s", message);
    if (s->over) snprintf(message, sizeof message, "svd: by A^H A the search takes long");
    if (s->over) first = WISP_ERR_ITERATIONS;
    *s->e = (wisp_eigen){.expected = NAN, .expected_error = NAN, .orthogonality = NAN};
    if (s->way != WISP__BY_GRAM || way != WISP__BY_LIFTED)
        s->asked.offer = NULL; /* states of others are not known again */
    s->way = way;
    s->asked.resume = NULL;
    status = search_this_way(s);
    const bool none = status == WISP_ERR_UNSUPPORTED || status == WISP_ERR_NOMEM;
    if (status != WISP_OK && (before.found > s->e->found || none)) {
        char other[512];
        wisp_ctx_logf(s->ctx, WISP_LOG_INFO, "svd: by that one: %s", wisp_ctx_message(s->ctx, other, sizeof other));
        wisp_eigen_free(s->e);
        *s->e = before;
        return status == WISP_ERR_CANCELLED ? status : wisp_ctx_fail(s->ctx, first, message);
    }
    wisp_eigen_free(&before);
    s->e->products += products, s->e->flops += flops;
    return status;
}

/* Values far from 1 are scaled by a power of two, but where the user's inverse is that of B as it is. */
static wisp_status open_all(wisp__svd *s, wisp__eig *k, int64_t rows)
{
    wisp_status status;
    wisp_mat_props props;
    WISP_TRY(wisp__svd_check(s, rows));
    WISP_TRY(wisp__require_finite(s->B, "svd: ", &props));
    if (!s->given.invert) WISP_TRY(wisp__eig_scale(k));
    s->B = k->A, s->given = k->o, s->back = -k->scaled.exponent;
    wisp__svd_fill_in(s);
out:
    return status;
}

static wisp_status run(wisp__svd *s, wisp__eig *k, int64_t rows)
{
    wisp_status status;
    wisp__svd_way way[MOST_WAYS];
    int64_t bytes;
    WISP_TRY(open_all(s, k, rows));
    WISP_TRY(check_form(s));
    const int ways = list_ways(s, way);
    s->way = way[0];
    if (s->way == WISP__BY_GRAM) WISP_TRY(wisp__svd_gram_open(s));
    if (s->way == WISP__BY_GRAM && ways > 1) WISP_TRY(wisp__svd_lift_cost(s, &s->budget, &bytes));
    status = search_this_way(s);
    for (int i = 1; i < ways && may_go_on(s, status); i++) status = go_over(s, way[i], status);
out:
    return status;
}

static void close_all(wisp__svd *s)
{
    wisp__svd_drop(s);
    for (int i = 0; i < 2; i++) wisp_blk_free(s->mask[i]);
    wisp__svd_gram_close(s);
    wisp__svd_lift_close(s);
}

/* For eig_scale.c: B, and what is asked of it. */
static wisp__eig scaling_of(const wisp__svd *s)
{
    wisp_mat_info info;
    wisp_mat_get_info(s->B, &info);
    const wisp_type type = s->given.type == WISP_DEFAULT ? info.type : s->given.type;
    return (wisp__eig){.ctx = s->ctx, .A = s->B, .e = s->e, .o = s->given, .type = type, .hermitian = true};
}

wisp_status wisp_svd(wisp_eigen *e, const wisp_mat *B, int64_t rows, const wisp_eig_opts *opts)
{
    WISP_NEED(wisp_mat_ctx(B), e);
    *e = (wisp_eigen){.expected = NAN, .expected_error = NAN, .orthogonality = NAN};
    WISP_NEED(NULL, B);
    const double started = wisp_now();
    wisp__svd s = {.ctx = wisp_mat_ctx(B), .B = B, .e = e, .budget = INFINITY};
    if (opts) s.given = *opts;
    wisp__eig k = scaling_of(&s);
    wisp_ctx_enter(s.ctx);
    wisp_status status = run(&s, &k, rows);
    close_all(&s);
    status = wisp_ctx_leave(s.ctx, wisp__eig_end(&k, status));
    e->seconds = wisp_now() - started;
    return status;
}

/* ---- plan ------------------------------------------------------------------------------------------ */

static double column_bytes(const wisp__svd *s)
{
    wisp_mat_info info;
    wisp_mat_get_info(s->B, &info);
    return (double)(info.local_rows + info.halo_rows) * (double)wisp_type_size(s->type);
}

/* Bytes that triplets take from so many eigenvectors: two spaces of them, blocks, and small matrices. */
static double convert_bytes(const wisp__svd *s, double held)
{
    wisp_mat_info info;
    wisp_mat_get_info(s->B, &info);
    const double column = column_bytes(s), width = wisp__svd_width(s, INT32_MAX);
    const double numbers = held * held * sizeof(wisp_scalar);
    return column * (2 * held + 2 + 2 * fmin(width, held)) + 12 * numbers +
           wisp_dot_bytes((double)info.local_rows, 4 * held) + (double)info.spill_bytes * fmin(width, held);
}

static wisp_status plan_all(wisp__svd *s, wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice, int64_t rows)
{
    wisp_status status;
    wisp__svd_way way[MOST_WAYS];
    int64_t other = 0; /* bytes of the second way */
    WISP_TRY(open_all(s, k, rows));
    const int ways = list_ways(s, way);
    s->way = way[0];
    if (s->way != WISP__BY_AUGMENTED) {
        WISP_TRY(wisp__svd_masks(s));
        WISP_TRY(wisp__svd_gram_open(s));
        if (s->way == WISP__BY_GRAM && ways > 1) WISP_TRY(wisp__svd_lift_cost(s, &s->budget, &other));
        WISP_TRY(open_way(s));
    }
    WISP_TRY(wisp__svd_ask(s));
    const wisp_mat *const of[] = {s->B, s->gram ? wisp__svd_gram(s) : NULL, s->lifted};
    WISP_TRY(wisp_eig_plan(plan, choice, of[s->way], &s->o));
    if (s->gram) /* what its products hold, and the masks */
        plan->bytes_most += (int64_t)(column_bytes(s) * (2 * choice->block + 2));
    const bool interval = s->asked.which == WISP_EIG_INTERVAL;
    const double held = !interval                    ? s->o.count
                        : isfinite(choice->expected) ? choice->expected + choice->expected_error
                                                     : choice->search;
    plan->bytes_most =
        (int64_t)fmax((double)plan->bytes_most, convert_bytes(s, fmin(held, (double)(s->rows + s->cols))));
    if (s->lifted) {
        wisp_mat_info info;
        wisp_mat_get_info(s->lifted, &info);
        plan->bytes_most += info.bytes;
    }
    if (other > plan->bytes_most) plan->bytes_most = other;
    if (s->lifted || other > 0) /* linear systems, by which vectors are corrected */
        plan->bytes_most += (int64_t)(9 * wisp__svd_width(s, INT32_MAX) * column_bytes(s));
    plan->bytes_most += k->scaled.bytes;
    plan->bytes = plan->bytes_most;
    if (s->asked.which == WISP_EIG_SMALLEST) choice->expected = choice->expected_error = NAN, choice->low = 0;
out:
    return status;
}

wisp_status wisp_svd_plan(wisp_plan *plan, wisp_eig_choice *choice, const wisp_mat *B, int64_t rows,
                          const wisp_eig_opts *opts)
{
    wisp_eig_choice unused;
    WISP_NEED(wisp_mat_ctx(B), plan);
    if (!choice) choice = &unused;
    *plan =
        (wisp_plan){.products = NAN, .sweeps = NAN, .seconds = NAN, .iteration_bytes = NAN, .iteration_seconds = NAN};
    *choice = (wisp_eig_choice){.expected = NAN, .expected_error = NAN};
    WISP_NEED(NULL, B);
    wisp_eigen e = {.expected = NAN};
    wisp__svd s = {.ctx = wisp_mat_ctx(B), .B = B, .e = &e, .budget = INFINITY};
    if (opts) s.given = *opts;
    s.given.offer = NULL, s.given.resume = NULL;
    wisp__eig k = scaling_of(&s);
    wisp_ctx_enter(s.ctx);
    const wisp_status status = wisp_ctx_leave(s.ctx, plan_all(&s, &k, plan, choice, rows));
    close_all(&s);
    choice->low = wisp__eig_shown(&k, choice->low), choice->high = wisp__eig_shown(&k, choice->high);
    wisp__eig_scale_back(&k);
    return status;
}
