/* Sets of some of a chain's sites, numbered by the combinatorial number system: the set of p_1 < p_2 < ... has the
   number C(p_1, 1) + C(p_2, 2) + ..., so that no table of all sets is stored. A set is a pattern of bits. */
#ifndef WISP_GALLERY_SUBSETS_H
#define WISP_GALLERY_SUBSETS_H
#include "gallery.h"

enum { WISP__GAL_MOST_SITES = 62 }; /* Pascal's triangle fits in 64 bits */

typedef struct {
    int64_t choose[WISP__GAL_MOST_SITES + 1][WISP__GAL_MOST_SITES + 1]; /* [k][n]: n over k */
} wisp__gal_subsets;

void wisp__gal_subsets_fill(wisp__gal_subsets *s);
/* The values of the keys `sites` and `name`, where sites/2 is the default of the latter, checked. */
wisp_status wisp__gal_subsets_read(wisp_ctx *ctx, const char *entry, const char *name, const wisp__gal_value *sites,
                                   const wisp__gal_value *count, int *out);

static inline uint64_t wisp__gal_subset_of(const wisp__gal_subsets *s, int sites, int count, int64_t number)
{
    uint64_t set = 0;
    int at = sites;
    for (int k = count; k > 0; k--) {
        do at--;
        while (s->choose[k][at] > number);
        number -= s->choose[k][at];
        set |= (uint64_t)1 << at;
    }
    return set;
}

static inline int64_t wisp__gal_subset_number(const wisp__gal_subsets *s, uint64_t set)
{
    int64_t number = 0;
    for (int k = 1; set; k++, set &= set - 1) number += s->choose[k][__builtin_ctzll(set)];
    return number;
}

/* Bit i: of the sites i and i + 1 one is in the set. */
static inline uint64_t wisp__gal_subset_edges(uint64_t set, int sites)
{
    return (set ^ (set >> 1)) & (((uint64_t)1 << (sites - 1)) - 1);
}

/* By how much the number changes when the member at one of the sites `at` and at + 1 moves to the other. */
static inline int64_t wisp__gal_subset_move(const wisp__gal_subsets *s, uint64_t set, int at)
{
    const uint64_t low = (uint64_t)1 << at;
    const int64_t change = s->choose[__builtin_popcountll(set & (low - 1))][at]; /* C(at + 1, k) - C(at, k) */
    return set & low ? change : -change;
}
#endif
