/* Pairs of any matrix whose values lie outermost: Krylov-Schur (Stewart 2002), a Krylov decomposition of which a
   restart keeps the leading part of an ordered Schur form. A real matrix keeps its real form, in which conjugate pairs
   stay together. For a Hermitian matrix all this is Lanczos with thick restarts. As there, the space becomes that of a
   polynomial of the matrix, where values of largest real part are wanted and the others lie near a line. */
#include "krylov_schur.h"
#include "inverse.h"
#include <string.h>

enum { LEAST_SEARCH = 20, MORE = 15, MORE_MULTIPLETS = 64, TRIES = 4 };

static const double strict = 0.5;
static const double growth = 1000; /* of a polynomial, to the first value */

/* ---- polynomials ---------------------------------------------------------------------------------------- */

/* Values that the polynomial would put before wanted ones, or that it could not tell from them, forbid it. */
static bool suits(const wisp__schur *K, const wisp__op *op, int count)
{
    const double least = wisp__op_axis(op, K->value[K->order[count - 1]]);
    for (int i = 0; i < K->a.active; i++) {
        const wisp_scalar v = K->value[K->order[i]];
        if (i < count && !(v.re > op->center + op->scale && fabs(v.im) <= 1e-2 * (v.re - op->center) / op->degree))
            return false;
        if (i >= count && !(wisp__op_axis(op, v) < least)) return false;
    }
    return true;
}

/* Op becomes a polynomial, if values of largest real part are wanted and it pays; V is made anew then from what was
   found. */
static wisp_status raise_degree(wisp__schur *K, bool *raised)
{
    wisp_status status = WISP_OK;
    const wisp_eig_opts *o = &K->k->o;
    const int m = K->a.active, b = K->a.block, outside = wisp__op_outside(o->count);
    const int beyond = outside < m ? outside : m - 1;
    wisp__op op = K->a.op;
    *raised = false;
    if (o->which != WISP_EIG_LARGEST_REAL || K->plain || o->count >= m) goto out;
    const double first = K->value[K->order[0]].re, last = K->value[K->order[beyond]].re;
    double far = op.center - op.scale;
    if (op.degree == 1) {
        for (int i = 0; i < m; i++) far = i == 0 ? K->value[i].re : fmin(far, K->value[i].re);
        far -= 0.1 * (first - far);
    }
    *raised = wisp__op_raise(&op, 1, first, last, far, growth, K->most_degree) && suits(K, &op, o->count);
    if (!*raised) goto out;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < b; j++) {
            wisp__z z = 0;
            for (int l = j; l <= beyond; l += b) z += wisp__z_of(K->Y[i * m + K->order[l]]);
            K->X[i * b + j] = K->k->is_complex ? wisp__of_z(z) : wisp__real(creal(z));
        }
    WISP_TRY(wisp__arnoldi_rotate(&K->a, K->X, b));
    K->a.op = op;
    K->a.rounding = 0; /* of A's products, till now */
    WISP_TRY(wisp__arnoldi_start(&K->a, false));
out:
    return status;
}

/* How far out the first value that is not wanted may lie, by the ellipses and its bound; half the way to the last one
   that is wanted at most. */
static double reach(const wisp__schur *K, int wanted)
{
    if (wanted == K->a.active) return -INFINITY;
    const int i = K->order[wanted];
    const double last = wisp__op_axis(&K->a.op, K->value[K->order[wanted - 1]]);
    const double at = wisp__op_axis(&K->a.op, K->value[i]);
    return fmin(at + K->residual[i] * wisp__schur_over(&K->a, K->value[i]), (at + last) / 2);
}

/* ---- the search ----------------------------------------------------------------------------------------- */

/* V takes in columns until it has m, or until all that is wanted is within the tolerance: *good of the *wanted first
   ones are. To look takes little. */
static wisp_status expand(wisp__schur *K, int *wanted, int *good)
{
    wisp_status status = WISP_OK;
    const wisp_eig_opts *o = &K->k->o;
    const int step = wisp__arnoldi_look_step(K->m, K->a.block);
    int to = K->a.active < K->m / 2 ? K->m / 2 : K->a.active;
    do {
        if (K->a.at.to == 0) K->a.at.to = to + step < K->m ? to + step : K->m; /* else it goes on */
        to = K->a.at.to;
        WISP_TRY(wisp__schur_cycle(K, to));
        K->a.at.to = 0;
        const int n = K->a.active, most = n - K->a.block;
        *wanted = wisp__schur_wanted(&K->a, n, K->value, K->mu, K->order), *good = 0;
        if (*wanted > most) *wanted = wisp__schur_untorn(K->k, K->mu, K->order, most);
        while (*good < *wanted && K->residual[K->order[*good]] <= K->a.at.strict * o->tolerance) ++*good;
    } while (to < K->m && (*good < *wanted || *wanted < o->count));
out:
    return status;
}

/* The conditions of the first n values in order, by all of V. */
static void see(wisp__schur *K, int n)
{
    const double tiny = fmax(K->a.rounding, DBL_MIN);
    for (int i = 0; i < n; i++) {
        const int j = K->order[i];
        wisp__schur_see(&K->seen, K->value[j], wisp__schur_condition(K->a.active, K->S, K->mu, K->X, j, tiny, K->room));
    }
}

/* The user gets what the first n columns span. */
static wisp_status deliver(wisp__schur *K, int n, bool *all)
{
    wisp_status status = WISP_OK;
    wisp_blk *V = NULL;
    wisp__ortho how;
    *all = false;
    if (n == 0) return WISP_OK;
    WISP_TRY(wisp_blk_cols(&V, K->a.all, 0, n));
    WISP_TRY(wisp__orthonormal(V, NULL, 1, &how));
    WISP_TRY(wisp__schur_deliver(&K->a, how.rank, all));
out:
    wisp_blk_free(V);
    return status;
}

/* Residuals may be larger than their bounds: by rounding, of which each restart adds some, or because a pair has its
   share of those of the others, however large their values are beside its own. Then all begins anew, with smaller
   bounds, from the locked columns, in which the wanted pairs come first: from good pairs it takes few restarts. *again
   is false, and nothing is changed, after TRIES times, or where the last one did not help. */
static wisp_status begin_again(wisp__schur *K, bool *again)
{
    const int n = K->a.locked;
    const wisp__arnoldi_at *at = &K->a.at;
    const bool helped = at->tries == 0 || at->now.tolerance < 0.5 * at->before.tolerance;
    *again = !K->rounded && helped && at->tries < TRIES;
    if (!*again) return WISP_OK;
    K->a.at = (wisp__arnoldi_at){
        .strict = 0.3 * at->strict, .tries = at->tries + 1, .now = at->now, .before = at->now, .best = at->best};
    K->plain = true;
    K->a.locked = K->sure = 0, K->a.active = n;
    K->seen.n = 0;
    return wisp__arnoldi_anew(&K->a, n);
}

static bool has_all(const wisp__schur *K, const wisp__schur_step *s)
{
    return s->good == s->wanted && s->wanted >= K->k->o.count;
}

/* A step of the search, first part: V takes in columns, and a polynomial where one does. */
static wisp_status look_for_wanted(wisp__schur *K, wisp__schur_step *s)
{
    wisp_status status = WISP_OK;
    WISP_TRY(expand(K, &s->wanted, &s->good));
    wisp__schur_next(K, s, K->order[s->good < s->wanted ? s->good : s->wanted - 1]);
    K->next = reach(K, s->wanted);
    if (has_all(K, s)) see(K, s->wanted);
    const int kept = wisp__schur_kept(K, s->wanted, s->good);
    s->front = s->good == s->wanted ? s->wanted : wisp__schur_untorn(K->k, K->mu, K->order, s->good);
    s->kept = kept > s->front ? kept : s->front;
    if (2 * s->good < s->wanted) WISP_TRY(raise_degree(K, &s->anew));
out:
    return status;
}

/* With A itself: all that are wanted are locked. Their residuals are within the tolerance, too, or all begins again, or
   K->rounded says that rounding does not allow it. */
static wisp_status take_of_matrix(wisp__schur *K, wisp__schur_step *s)
{
    wisp_status status = WISP_OK;
    bool right;
    wisp__schur_lock(K, s->wanted);
    WISP_TRY(deliver(K, s->wanted, &right));
    wisp__eig_drop_pairs(K->k->e); /* to have their memory in the search for what is missing */
    if (right) K->sure = K->a.locked;
    if (!right) WISP_TRY(begin_again(K, &s->again));
    s->ended = !s->again;
    K->rounded = !right && !s->again;
out:
    return status;
}

/* After a polynomial: they are, if A itself says that they are right; else bounds have to be smaller. */
static wisp_status take_of_polynomial(wisp__schur *K, wisp__schur_step *s)
{
    wisp_status status = WISP_OK;
    bool right;
    WISP_TRY(wisp__schur_measure(K, s->wanted, &right));
    K->unfit |= !right && ++K->a.at.tries == TRIES;
    K->first = wisp__op_axis(&K->a.op, K->value[K->order[0]]);
    if (right) wisp__arnoldi_lock(&K->a, s->wanted), K->sure = K->a.locked;
    s->ended = right || K->unfit;
    if (!s->ended) K->a.at.strict *= 0.3;
out:
    return status;
}

/* Second part: when the bounds of the first `count` values, and of all that belong to the last, are within the
   tolerance, the run may end. */
static wisp_status take_wanted(wisp__schur *K, wisp__schur_step *s)
{
    if (!has_all(K, s)) return WISP_OK;
    K->wanted_sine = K->sine;
    return K->a.op.degree == 1 ? take_of_matrix(K, s) : take_of_polynomial(K, s);
}

/* An error as large as a tolerance above this could mix the wanted pairs with others: then their residuals prove no
   eigenvalue nearby (docs/solvers.md). */
static double tolerable(const wisp__schur *K)
{
    const double norm = K->a.smallest / K->k->eps, unit = K->k->o.tolerance_abs > 0 ? fmax(norm, DBL_MIN) : 1;
    return K->wanted_sine * K->wanted_sine * unit;
}

static bool far_from_normal(const wisp__schur *K) { return tolerable(K) < K->k->o.tolerance; }

/* ---- the call -------------------------------------------------------------------------------------------- */

/* The items of a state (wisp_items_fn). */
static wisp_status items(void *arg, wisp_state *s)
{
    wisp__schur *K = arg;
    wisp_status status = WISP_OK;
    struct {
        double first, next, wanted_sine;
        int delivered, plain, sure, doubtful;
    } n = {K->first, K->next, K->wanted_sine, K->delivered, K->plain, K->sure, K->doubtful};
    WISP_TRY(wisp__eig_items(K->k, s));
    WISP_TRY(wisp__arnoldi_items(&K->a, s));
    WISP_TRY(wisp__eig_at_most(K->k, "locked values", K->a.locked, K->most + K->m));
    WISP_TRY(wisp_state_data(s, "locked values", K->locked, (size_t)K->a.locked * sizeof *K->locked));
    WISP_TRY(wisp_state_data(s, "of the polynomial", &n, sizeof n));
    WISP_TRY(wisp_state_data(s, "values seen", &K->seen.n, sizeof K->seen.n));
    WISP_TRY(wisp__eig_at_most(K->k, "values seen", K->seen.n, K->seen.most));
    WISP_TRY(wisp_state_data(s, "their numbers", K->seen.value, (size_t)K->seen.n * sizeof *K->seen.value));
    WISP_TRY(wisp_state_data(s, "their conditions", K->seen.condition, (size_t)K->seen.n * sizeof *K->seen.condition));
    K->first = n.first, K->next = n.next, K->wanted_sine = n.wanted_sine;
    K->delivered = n.delivered, K->plain = n.plain, K->sure = n.sure, K->doubtful = n.doubtful;
    WISP_TRY(wisp_state_data(s, "outline", &K->outline, sizeof K->outline));
    if (K->outline.set) WISP_TRY(wisp_state_data(s, "parts of it", K->parts, WISP__PARTS * sizeof *K->parts));
out:
    return status;
}

/* All that is asked for, and whether there is more. Where the matrix is far from normal a search proves nothing, and
   its residuals may not fall for long: none begins. */
static wisp_status find_all(wisp__schur *K)
{
    wisp_status status = WISP_OK;
    if (K->a.at.phase == WISP__FINDS) WISP_TRY(wisp__schur_run(K, look_for_wanted, take_wanted));
    K->proven = false;
    if (!K->unfit && !K->rounded && !far_from_normal(K)) WISP_TRY(wisp__schur_missing(K));
out:
    return status;
}

/* What the search for what is missing has locked may spoil what came before: where no further search helps, that is
   given alone. */
static wisp_status deliver_all(wisp__schur *K)
{
    wisp_status status = WISP_OK;
    while (!K->delivered) {
        bool again;
        WISP_TRY(deliver(K, K->a.locked, &K->delivered));
        if (K->delivered) goto out;
        WISP_TRY(begin_again(K, &again));
        if (!again) break;
        WISP_TRY(find_all(K));
    }
    if (K->delivered || K->sure == 0) goto out;
    WISP_TRY(deliver(K, K->sure, &K->delivered));
    K->rounded = true;
    K->proven = false;
out:
    return status;
}

/* Delivers what a run that ended early has. Once it searches for what is missing, the other columns of V may spoil the
   pairs of the locked ones, and the later ones of these those of the first: what comes first is given alone, unless it
   is too few. */
static wisp_status deliver_some(wisp__schur *K)
{
    const int whole = K->a.locked + K->a.active, searches = K->a.at.phase != WISP__FINDS,
              columns[] = {searches ? K->a.locked : whole, searches ? K->sure : 0, searches ? whole : 0};
    wisp_status status = WISP_OK;
    bool all;
    for (int i = 0; i < 3 && status == WISP_OK && (i == 0 || K->k->e->found < K->k->o.count); i++)
        if (columns[i] > 0) status = deliver(K, columns[i], &all);
    return status;
}

static wisp_status make(wisp__schur *K, int block)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = K->k;
    const size_t m = (size_t)K->m;
    WISP_TRY(wisp_alloc(k->ctx, &K->S, 4 * m * m, sizeof *K->S));
    K->U = K->S + m * m, K->X = K->U + m * m, K->Y = K->X + m * m;
    const size_t most = (size_t)K->most + m;
    WISP_TRY(wisp_alloc(k->ctx, &K->value, 2 * (m + most), sizeof *K->value));
    K->mu = K->value + m, K->locked = K->mu + m, K->seen.value = K->locked + most;
    WISP_TRY(wisp_alloc(k->ctx, &K->seen.condition, most, sizeof *K->seen.condition));
    K->seen.most = (int)most;
    WISP_TRY(wisp_alloc(k->ctx, &K->room, m, sizeof *K->room));
    WISP_TRY(wisp_alloc(k->ctx, &K->parts, WISP__PARTS, sizeof *K->parts));
    WISP_TRY(wisp_alloc(k->ctx, &K->order, 2 * m, sizeof *K->order));
    K->chosen = K->order + m;
    WISP_TRY(wisp_alloc(k->ctx, &K->residual, 2 * m, sizeof *K->residual));
    K->bound = K->residual + m;
    WISP_TRY(wisp__arnoldi_make(&K->a, K->m + block, block));
    WISP_TRY(wisp__op_most_degree(&K->a, K->m, &K->most_degree));
out:
    return status;
}

/* The polynomial does not do: all begins anew with A itself. */
static wisp_status begin_plain(wisp__schur *K)
{
    K->a.op = wisp__itself;
    K->a.rounding = K->a.smallest = 0;
    K->unfit = K->delivered = false;
    K->plain = true;
    K->a.locked = K->seen.n = K->sure = 0;
    K->a.at = (wisp__arnoldi_at){.strict = strict};
    return wisp__arnoldi_start(&K->a, true);
}

static wisp_status search(wisp__schur *K)
{
    wisp_status status = WISP_OK;
    wisp__eig *k = K->k;
    WISP_TRY(wisp__eig_state(k, items, K));
    if (!k->o.resume) WISP_TRY(wisp__arnoldi_start(&K->a, false));
    WISP_TRY(find_all(K));
    if (K->unfit) {
        WISP_TRY(begin_plain(K));
        WISP_TRY(find_all(K));
    }
    WISP_TRY(deliver_all(K));
    if (K->delivered) k->e->at_least += K->beside;
    wisp__schur_use_seen(&K->a, &K->seen);
    k->e->complete = K->proven && K->delivered;
out:
    if (!k->inverse) k->e->degree = K->a.op.degree;
    return status;
}

static int block_of(const wisp__eig *k)
{
    const int asked = k->o.block < WISP__MOST_BLOCK ? k->o.block : WISP__MOST_BLOCK;
    return asked > 0 ? asked : 1;
}

/* Columns of V in a search, and that are locked at most; false: for so few rows the whole space is taken. */
static bool choose_sizes(wisp__schur *K, int block)
{
    const wisp_eig_opts *o = &K->k->o;
    const int least = o->count + 2 * block + 1, usual = 2 * o->count > o->count + MORE ? 2 * o->count : o->count + MORE;
    K->m = o->search > 0 ? o->search : usual > LEAST_SEARCH ? usual : LEAST_SEARCH;
    if (K->m < least) K->m = least;
    K->m = (K->m + block - 1) / block * block;
    K->most = 2 * o->count + MORE_MULTIPLETS;
    return K->k->rows > K->most + 2 * K->m + block;
}

/* Why more may be there. */
static wisp_status say_why(const wisp__schur *K)
{
    const wisp__eig *k = K->k;
    if (k->o.which == WISP_EIG_NEAREST)
        return wisp_ctx_failf(k->ctx, WISP_ERR_INCOMPLETE,
                              "eig: products with the inverse prove nothing of a matrix that is not Hermitian: nearer "
                              "eigenvalues may be missing; the dense method finds all, if it has the memory");
    if (k->o.which == WISP_EIG_SMALLEST)
        return wisp_ctx_failf(k->ctx, WISP_ERR_INCOMPLETE,
                              "eig: products prove nothing about inner eigenvalues: smaller ones may be missing; the "
                              "dense method finds all, if it has the memory");
    if (K->rounded)
        return wisp_ctx_failf(
            k->ctx, WISP_ERR_INCOMPLETE,
            "eig: rounding keeps residuals about the tolerance, so that nothing proves that no pair is "
            "missing; try a larger opts.tolerance, or the dense method if it has the memory");
    if (K->doubtful)
        return wisp_ctx_failf(k->ctx, WISP_ERR_INCOMPLETE,
                              "eig: the search for what may be missing came to no sure end; try a larger opts.search, "
                              "or the dense method if it has the memory");
    const bool reached = tolerable(K) > 16 * (k->o.tolerance_abs > 0 ? K->a.smallest : k->eps); /* by rounding */
    return wisp_ctx_failf(k->ctx, WISP_ERR_INCOMPLETE,
                          "eig: the matrix is far from normal (errors in it may move these eigenvalues by %.0e times "
                          "their size): pairs within the tolerance may belong to a matrix nearby; try %sthe dense "
                          "method if it has the memory",
                          1 / K->wanted_sine, reached ? "a smaller opts.tolerance, or " : "");
}

wisp_status wisp__eig_krylov_schur(wisp__eig *k)
{
    if (k->hermitian) {
        wisp_ctx_logf(k->ctx, WISP_LOG_INFO, "eig: the matrix is Hermitian: lanczos takes the place of krylov-schur");
        k->e->method = WISP_LANCZOS;
        return wisp__eig_lanczos(k);
    }
    wisp__schur K = {.k = k, .a = {.k = k, .op = wisp__itself, .at.strict = strict}};
    const int block = block_of(k);
    if (!choose_sizes(&K, block)) return wisp__eig_dense(k);
    wisp_status status = make(&K, block);
    if (status == WISP_OK && k->inverse) status = wisp__inverse_begin(k->inverse);
    if (status == WISP_OK && k->inverse) {
        K.a.op = wisp__inverse_op(k->inverse);
        K.a.smallest = k->eps * K.a.op.scale;
    }
    if (status == WISP_OK) status = search(&K);
    wisp_status delivered = WISP_OK;
    if (status != WISP_OK && wisp__eig_last(k, status) && K.a.all)
        delivered = deliver_some(&K);
    else if (status == WISP_OK && !K.delivered)
        delivered = wisp__schur_rounded(&K.a);
    else if (status == WISP_OK && !K.proven && isfinite(k->most_work))
        k->whole = true;
    else if (status == WISP_OK && !K.proven)
        delivered = say_why(&K);
    wisp__arnoldi_free(&K.a);
    wisp_free(k->ctx, K.S);
    wisp_free(k->ctx, K.value);
    wisp_free(k->ctx, K.order);
    wisp_free(k->ctx, K.residual);
    wisp_free(k->ctx, K.seen.condition);
    wisp_free(k->ctx, K.room);
    wisp_free(k->ctx, K.parts);
    return status == WISP_OK ? delivered : status;
}

wisp_status wisp__eig_plan_krylov(wisp__eig *k, wisp_plan *plan, wisp_eig_choice *choice)
{
    if (k->hermitian) return wisp__eig_plan_lanczos(k, plan, choice);
    wisp__schur K = {.k = k};
    const int64_t held = wisp__eig_held(k), size = (int64_t)wisp_type_size(k->type);
    if (!choose_sizes(&K, block_of(k))) return wisp__eig_plan_dense(k, plan, choice);
    choice->search = K.m;
    choice->block = block_of(k);
    /* V, W and three blocks. The search for what is missing has as many beside those that were found, which are held
       twice while there is made room, and H likewise; in the end there are the user's vectors in place of that, which
       are complex and made of two real parts, by way of a column of each. Schur forms, their vectors, and room for
       LAPACK. */
    const int64_t m = K.m, block = choice->block, found = k->o.count + !k->is_complex, parts = k->is_complex ? 2 : 1,
                  more = k->is_complex ? found : 4 * found + 4,
                  all = m + found + (wisp__eig_scaled_blocks(k) + 6) * block,
                  large = (m + found + 2 * block) * (m + found + 2 * block), twice = 48 * (m + block) * (m + block),
                  lapack = parts * (16 * m * m + 528 * m);
    plan->bytes_most = held * size * (all + more) + 48 * large + 64 * m * m + (twice > lapack ? twice : lapack) +
                       wisp__arnoldi_numbers(K.m, k->o.count, choice->block) + WISP__PARTS * (int64_t)sizeof *K.parts +
                       wisp__eig_sums_bytes(k, (double)(m + found + 2 * block), (double)(m + block)) +
                       wisp__eig_beside(k, (int)(m + found), (int)block, 2 * parts * large);
    plan->device_bytes = wisp__eig_on_device(k, (double)(all - 2 * block + more / 2),
                                             (double)wisp__arnoldi_products(m + found, (int)block));
    if (plan->bytes_most < wisp__eig_dense_bytes(k)) plan->bytes_most = wisp__eig_dense_bytes(k);
    return WISP_OK;
}
