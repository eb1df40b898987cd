/* Chebyshev filter diagonalization: which move comes next. Plain numbers. */
#include "chebfd_next.h"

enum { MOST_STALLS = 3, MOST_GROWTHS = 3 };

int wisp__chebfd_stalls(const wisp__chebfd_known *n) { return n->worst < 0.3 * n->before ? 0 : n->stalls + 1; }

/* Pairs, converged or not, fill nearly all of the space, so that random columns would add little. Until mixtures can be
   told from pairs nothing is known. */
static bool is_full(const wisp__chebfd_known *n)
{
    return n->tells && n->inside + n->pending > 0.8 * n->search && n->search < n->rows;
}

/* All that is there has converged. */
static wisp__chebfd_move next_by_verdict(const wisp__chebfd_known *n)
{
    switch (n->verdict) {
    case WISP__UNASKED: return WISP__VERIFY;
    case WISP__MISSING: return WISP__ADD_MISSING;
    case WISP__DIFFERS: return n->is_single ? WISP__TAKE_DOUBLE : WISP__END;
    default: return n->inside < n->asked ? WISP__LOOK_FARTHER : WISP__END;
    }
}

wisp__chebfd_move wisp__chebfd_next(const wisp__chebfd_known *n)
{
    if (is_full(n)) return WISP__ENLARGE;
    if (n->pending == 0) return next_by_verdict(n);
    const int stalls = wisp__chebfd_stalls(n);
    if (stalls == MOST_STALLS - 1 && n->growths < MOST_GROWTHS)
        return n->is_single ? WISP__TAKE_DOUBLE : WISP__ADD_COLUMNS;
    return stalls > MOST_STALLS ? WISP__GIVE_UP : WISP__REFINE;
}
