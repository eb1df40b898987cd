/* What the properties of this rank's rows and of all ranks' have in common: an entry and its partner; two sets of rows.
 */
#include "props.h"
#include "store/store.h"
#include <math.h>

/* By bisection in the sorted row. */
wisp_scalar wisp__value_at(const wisp_mat *A, int64_t row, int64_t col, bool *found)
{
    const wisp__row r = wisp__row_of(A, row);
    int lo = 0, hi = r.n;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (wisp__row_col(&r, mid) < col)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = lo < r.n && wisp__row_col(&r, lo) == col;
    return *found ? wisp__row_value(&r, A->type, lo) : (wisp_scalar){0, 0};
}

bool wisp__props_compare(wisp_mat_props *p, int64_t i, int64_t j, wisp_scalar v, wisp_scalar w, bool found)
{
    if (!found) p->pattern_symmetric = 0;
    if (!(v.re == w.re && v.im == w.im)) p->symmetric = 0;
    if (!(v.re == -w.re && v.im == -w.im)) p->skew = 0;
    if (v.re == w.re && v.im == -w.im) return true;
    p->hermitian = 0;
    p->asymmetry = fmax(p->asymmetry, hypot(v.re - w.re, v.im + w.im));
    if (i < p->bad_row || (i == p->bad_row && j < p->bad_col)) p->bad_row = i, p->bad_col = j;
    return false;
}

void wisp__props_merge(wisp_mat_props *p, const wisp_mat_props *q)
{
    p->pattern_symmetric &= q->pattern_symmetric;
    p->symmetric &= q->symmetric;
    p->hermitian &= q->hermitian;
    p->skew &= q->skew;
    if (q->bad_row < p->bad_row || (q->bad_row == p->bad_row && q->bad_col < p->bad_col))
        p->bad_row = q->bad_row, p->bad_col = q->bad_col;
    p->asymmetry = fmax(p->asymmetry, q->asymmetry);
    p->largest = fmax(p->largest, q->largest);
    p->bandwidth = WISP__MAX(p->bandwidth, q->bandwidth);
    p->empty_rows += q->empty_rows;
    p->diagonal += q->diagonal;
    p->min_row = WISP__MIN(p->min_row, q->min_row);
    p->max_row = WISP__MAX(p->max_row, q->max_row);
    p->gershgorin_min = fmin(p->gershgorin_min, q->gershgorin_min);
    p->gershgorin_max = fmax(p->gershgorin_max, q->gershgorin_max);
    p->nonfinite_row = WISP__MIN(p->nonfinite_row, q->nonfinite_row);
}
