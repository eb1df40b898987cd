/* States of Krylov decompositions: the locked columns, V and W, H with B, and how far the run has come. While products
   look for what is missing, the two blocks of their recurrence are kept, too. */
#include "arnoldi.h"

typedef struct {
    wisp__arnoldi_at at; /* checked.now: seconds since then */
    wisp__op op;
    int columns, locked, active, restarts, most_good, better_at, began, large_at, gains;
    double rounding, smallest, enough, lengths, guess, least;
    bool recurs;
    uint32_t random;
} numbers;

static numbers numbers_of(const wisp__arnoldi *a)
{
    numbers n = {.at = a->at,
                 .op = a->op,
                 .columns = a->columns,
                 .locked = a->locked,
                 .active = a->active,
                 .restarts = a->restarts,
                 .most_good = a->most_good,
                 .better_at = a->better_at,
                 .began = a->began,
                 .large_at = a->large_at,
                 .gains = a->gains,
                 .rounding = a->rounding,
                 .smallest = a->smallest,
                 .enough = a->enough,
                 .lengths = a->lengths,
                 .guess = a->guess,
                 .least = a->least,
                 .recurs = a->recurs,
                 .random = a->random};
    n.at.checked.now = wisp_now() - a->at.checked.now;
    return n;
}

static wisp_status take(wisp__arnoldi *a, const numbers *n)
{
    const int64_t most = a->k->rows + 2 * a->block;
    if (n->locked < 0 || n->active < 0 || n->columns > most || n->locked + n->active + a->block > n->columns ||
        n->op.degree < 1 || n->op.degree > WISP__MOST_DEGREE || n->at.phase > WISP__BETWEEN || n->at.gap.columns < 0 ||
        n->at.gap.columns > n->columns)
        return wisp_ctx_failf(a->k->ctx, WISP_ERR_FORMAT,
                              "a state of eigenpairs that can't be: %d locked and %d other columns of %d", n->locked,
                              n->active, n->columns);
    a->at = n->at;
    a->at.checked.now = wisp_now() - n->at.checked.now;
    if (a->op.inverse != n->op.inverse ||
        (a->op.inverse && (a->op.center != n->op.center || a->op.center_im != n->op.center_im)))
        return wisp_ctx_failf(a->k->ctx, WISP_ERR_MISMATCH, "the state is that of another inverse");
    a->op = n->op;
    a->locked = n->locked, a->active = n->active;
    a->restarts = n->restarts, a->most_good = n->most_good, a->better_at = n->better_at;
    a->began = n->began, a->large_at = n->large_at, a->gains = n->gains;
    a->rounding = n->rounding, a->smallest = n->smallest;
    a->enough = n->enough;
    a->lengths = n->lengths;
    a->guess = n->guess;
    a->least = n->least;
    a->recurs = n->recurs;
    a->random = n->random;
    return n->columns > a->columns ? wisp__arnoldi_enlarge(a, n->columns) : WISP_OK;
}

wisp_status wisp__arnoldi_items(wisp__arnoldi *a, wisp_state *s)
{
    wisp_status status = WISP_OK;
    const bool kept = wisp_state_is_kept(s);
    numbers n = numbers_of(a);
    WISP_TRY(wisp_state_data(s, "numbers", &n, sizeof n));
    if (kept) WISP_TRY(take(a, &n));
    const size_t rows = (size_t)(a->active + a->block), row = (size_t)a->columns * sizeof *a->H;
    WISP_TRY(wisp_state_data(s, "H", a->H, rows * row));
    WISP_TRY(wisp__eig_columns(s, "space", a->all, a->locked + a->active + a->block, &a->view));
    if (a->at.phase == WISP__GAPS) {
        WISP_TRY(wisp_state_block(s, "newest", a->x));
        WISP_TRY(wisp_state_block(s, "before", a->y));
    } else if (kept) {
        WISP_TRY(wisp__arnoldi_take_last(a));
    }
out:
    return status;
}
